/**
 * @file
 * A process as users have it: a handle, descriptors, a find, convolutions forward.
 *
 *     worker LIBRARY CALLS
 *
 * LIBRARY is a libMIOpen.so.1. The problem is the original investigation's: float, a batch of 16
 * with 16 channels of 16 by 16, 16 filters of 3 by 3, pads 1. As MIOpenDriver does it, the find
 * comes first, whoever serves the calls then.
 *
 * Output: "forwarded", tab, calls that hipDNN served, tab, plans that were built, tab, plans that
 * came from the disk; all 0 while forwarding is off. Exit status: 0; 1 when something failed, with
 * the reason on stderr; 2 for usage.
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* MIOpen's API, as far as it is used here. The numbers are miopen.h's. */
enum { miopenFloat = 1, miopenConvolution = 0 };

struct performance { /* miopenConvAlgoPerf_t */
  int algorithm;
  float time;
  size_t memory;
};

struct statistics { /* miopenForwardingStatistics */
  unsigned long forwarded, native, failed, plan_hits, plan_builds, plan_loads;
};

static int (*create)(void **handle);
static int (*destroy)(void *handle);
static int (*create_tensor)(void **descriptor);
static int (*set_tensor)(void *descriptor, int type, int n, int c, int h, int w);
static int (*create_convolution)(void **descriptor);
static int (*init_convolution)(void *descriptor, int mode, int pad_h, int pad_w, int stride_h,
                               int stride_w, int dilation_h, int dilation_w);
static int (*workspace_size)(void *handle, void *w_desc, void *x_desc, void *convolution,
                             void *y_desc, size_t *bytes);
static int (*find_algorithm)(void *handle, void *x_desc, const void *x, void *w_desc, const void *w,
                             void *convolution, void *y_desc, void *y, int requested, int *returned,
                             struct performance *results, void *workspace, size_t bytes,
                             bool exhaustive);
static int (*forward)(void *handle, const void *alpha, void *x_desc, const void *x, void *w_desc,
                      const void *w, void *convolution, int algorithm, const void *beta,
                      void *y_desc, void *y, void *workspace, size_t workspace_bytes);
static int (*statistics)(struct statistics *numbers, size_t bytes);

static const struct {
  const char *name;
  void *function;
} functions[] = {
    {"miopenCreate", &create},
    {"miopenDestroy", &destroy},
    {"miopenCreateTensorDescriptor", &create_tensor},
    {"miopenSet4dTensorDescriptor", &set_tensor},
    {"miopenCreateConvolutionDescriptor", &create_convolution},
    {"miopenInitConvolutionDescriptor", &init_convolution},
    {"miopenConvolutionForwardGetWorkSpaceSize", &workspace_size},
    {"miopenFindConvolutionForwardAlgorithm", &find_algorithm},
    {"miopenConvolutionForward", &forward},
    {"miopenGetForwardingStatistics", &statistics},
};

enum { batch = 16, channels = 16, filters = 16, edge = 16, window = 3 };

static _Alignas(256) float x[batch * channels * edge * edge], y[batch * filters * edge * edge];
static _Alignas(256) float w[filters * channels * window * window];

#define CHECK(call)                                                                                \
  do {                                                                                             \
    int status = (call);                                                                           \
    if (status != 0) {                                                                             \
      fprintf(stderr, "worker: %s: status %d\n", #call, status);                                   \
      return 1;                                                                                    \
    }                                                                                              \
  } while (0)

int main(int argc, char **argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: worker LIBRARY CALLS\n");
    return 2;
  }
  long calls = strtol(argv[2], NULL, 10);
  void *miopen = dlopen(argv[1], RTLD_NOW);
  if (miopen == NULL) {
    fprintf(stderr, "worker: %s\n", dlerror());
    return 1;
  }
  for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
    if ((*(void **)functions[i].function = dlsym(miopen, functions[i].name)) == NULL) {
      fprintf(stderr, "worker: %s\n", dlerror());
      return 1;
    }
  void *handle, *x_desc, *w_desc, *y_desc, *convolution;
  CHECK(create(&handle));
  CHECK(create_tensor(&x_desc));
  CHECK(create_tensor(&w_desc));
  CHECK(create_tensor(&y_desc));
  CHECK(set_tensor(x_desc, miopenFloat, batch, channels, edge, edge));
  CHECK(set_tensor(w_desc, miopenFloat, filters, channels, window, window));
  CHECK(set_tensor(y_desc, miopenFloat, batch, filters, edge, edge));
  CHECK(create_convolution(&convolution));
  CHECK(init_convolution(convolution, miopenConvolution, 1, 1, 1, 1, 1, 1));

  size_t bytes = 0;
  CHECK(workspace_size(handle, w_desc, x_desc, convolution, y_desc, &bytes));
  void *workspace = bytes == 0 ? NULL : aligned_alloc(256, (bytes + 255) / 256 * 256);
  struct performance best;
  int found = 0;
  CHECK(find_algorithm(handle, x_desc, x, w_desc, w, convolution, y_desc, y, 1, &found, &best,
                       workspace, bytes, false));
  if (found != 1) {
    fprintf(stderr, "worker: the find found nothing\n");
    return 1;
  }
  const float alpha = 1, beta = 0;
  for (long i = 0; i < calls; i++)
    CHECK(forward(handle, &alpha, x_desc, x, w_desc, w, convolution, best.algorithm, &beta, y_desc,
                  y, workspace, bytes));
  struct statistics numbers;
  CHECK(statistics(&numbers, sizeof numbers));
  CHECK(destroy(handle));
  printf("forwarded\t%lu\t%lu\t%lu\n", numbers.forwarded, numbers.plan_builds, numbers.plan_loads);
  return fflush(stdout) == 0 ? 0 : 1;
}
