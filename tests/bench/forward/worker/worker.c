/**
 * @file
 * Nanoseconds per forwarded call of miopenConvolutionForward, and per execution of the calls that
 * each of them makes of the backend and of the HIP runtime.
 *
 *     worker LIBRARY BACKEND ROUNDS CALLS
 *
 * LIBRARY is a libMIOpen.so.1 with forwarding on, BACKEND the hipDNN library that it forwards to,
 * which does nothing when it is asked to execute. A round is CALLS calls of the one and CALLS times
 * the calls of the other, in turn; the first call, which builds the plan, and a warm-up are not
 * counted.
 *
 * Output, for each round: "call", tab, nanoseconds; the same for "turns", calls of two problems in
 * turn, as a network makes them, for "backend" and for "device", which is 0 where MIOpen depends on
 * no HIP runtime. At the end "forwarded", tab, calls that were forwarded since the start. Exit
 * status: 0; 1 when something cannot be measured, with the reason on stderr; 2 for usage.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* MIOpen's API, as far as it is used here. The numbers are miopen.h's. */
enum { miopenFloat = 1, miopenConvolution = 0 };

static int (*create)(void **handle);
static int (*create_tensor)(void **descriptor);
static int (*set_tensor)(void *descriptor, int type, int n, int c, int h, int w);
static int (*create_convolution)(void **descriptor);
static int (*init_convolution)(void *descriptor, int mode, int pad_h, int pad_w, int stride_h,
                               int stride_w, int dilation_h, int dilation_w);
static int (*forward)(void *handle, const void *alpha, void *x_desc, const void *x, void *w_desc,
                      const void *w, void *convolution, int algorithm, const void *beta,
                      void *y_desc, void *y, void *workspace, size_t workspace_bytes);
static int (*statistics)(unsigned long *numbers, size_t bytes);

/* hipDNN's. The numbers are hipdnn_backend.h's and those of the headers that it includes. */
enum { variant_pack = 11, unique_ids = 700, data_pointers = 701, workspace_pointer = 703 };
enum { type_int64 = 3, type_pointer = 6 };

static int (*create_descriptor)(int kind, void **descriptor);
static int (*set_attribute)(void *descriptor, int name, int type, int64_t count, const void *value);
static int (*finalize)(void *descriptor);
static int (*execute)(void *handle, void *plan, void *variant_pack);
static int (*destroy_descriptor)(void *descriptor);

static int find(void *library, const char *name, void *function) {
  void *address = dlsym(library, name);
  if (address == NULL)
    fprintf(stderr, "worker: %s\n", dlerror());
  *(void **)function = address;
  return address != NULL;
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void *handle, *x_desc[2], *w_desc, *y_desc[2], *convolution;
static _Alignas(256) float x[2 * 2 * 6 * 6], w[3 * 2 * 3 * 3], y[2 * 3 * 6 * 6];

static int convolve(unsigned problem) {
  const float alpha = 1, beta = 0;
  return forward(handle, &alpha, x_desc[problem], x, w_desc, w, convolution, 1, &beta,
                 y_desc[problem], y, NULL, 0);
}

static int call(void) {
  return convolve(0);
}

static int turns(void) {
  static unsigned turn;
  return convolve(turn++ % 2);
}

/* What an execution costs in the backend alone. */
static int pack(void) {
  const int64_t ids[] = {1, 2, 3};
  void *pointers[] = {x, w, y}, *workspace = NULL, *descriptor = NULL;
  int bad = create_descriptor(variant_pack, &descriptor);
  bad |= set_attribute(descriptor, unique_ids, type_int64, 3, ids);
  bad |= set_attribute(descriptor, data_pointers, type_pointer, 3, pointers);
  bad |= set_attribute(descriptor, workspace_pointer, type_pointer, 1, &workspace);
  bad |= finalize(descriptor);
  bad |= execute(NULL, NULL, descriptor);
  bad |= destroy_descriptor(descriptor);
  return bad;
}

static int (*stream_is_capturing)(void *stream, int *status); /* NULL: there is no HIP runtime */
static int (*get_device)(int *device);

static int device(void) {
  int status = 0, number = 0;
  if (stream_is_capturing == NULL)
    return 0;
  return get_device(&number) | number | stream_is_capturing(NULL, &status) | status;
}

static int measure(const char *name, int (*what)(void), long calls) {
  int bad = 0;
  double start = now();
  for (long i = 0; i < calls; i++)
    bad |= what();
  printf("%s\t%.3f\n", name, (now() - start) / (double)calls);
  if (bad != 0)
    fprintf(stderr, "worker: %s: OR of the statuses %d\n", name, bad);
  return bad;
}

int main(int argc, char **argv) {
  if (argc != 5) {
    fprintf(stderr, "usage: worker LIBRARY BACKEND ROUNDS CALLS\n");
    return 2;
  }
  long rounds = strtol(argv[3], NULL, 10), calls = strtol(argv[4], NULL, 10);
  void *miopen = dlopen(argv[1], RTLD_NOW), *backend = dlopen(argv[2], RTLD_NOW);
  if (miopen == NULL || backend == NULL) {
    fprintf(stderr, "worker: %s\n", dlerror());
    return 1;
  }
  if (!find(miopen, "miopenCreate", &create) ||
      !find(miopen, "miopenCreateTensorDescriptor", &create_tensor) ||
      !find(miopen, "miopenSet4dTensorDescriptor", &set_tensor) ||
      !find(miopen, "miopenCreateConvolutionDescriptor", &create_convolution) ||
      !find(miopen, "miopenInitConvolutionDescriptor", &init_convolution) ||
      !find(miopen, "miopenConvolutionForward", &forward) ||
      !find(miopen, "miopenGetForwardingStatistics", &statistics) ||
      !find(backend, "hipdnnBackendCreateDescriptor", &create_descriptor) ||
      !find(backend, "hipdnnBackendSetAttribute", &set_attribute) ||
      !find(backend, "hipdnnBackendFinalize", &finalize) ||
      !find(backend, "hipdnnBackendExecute", &execute) ||
      !find(backend, "hipdnnBackendDestroyDescriptor", &destroy_descriptor))
    return 1;
  *(void **)&stream_is_capturing = dlsym(miopen, "hipStreamIsCapturing");
  *(void **)&get_device = dlsym(miopen, "hipGetDevice");
  int bad = create(&handle) | create_tensor(&w_desc) | create_convolution(&convolution);
  if (bad == 0)
    bad = set_tensor(w_desc, miopenFloat, 3, 2, 3, 3) |
          init_convolution(convolution, miopenConvolution, 1, 1, 1, 1, 1, 1);
  for (int batch = 1; batch <= 2 && bad == 0; batch++)
    if ((bad = create_tensor(&x_desc[batch - 1]) | create_tensor(&y_desc[batch - 1])) == 0)
      bad = set_tensor(x_desc[batch - 1], miopenFloat, batch, 2, 6, 6) |
            set_tensor(y_desc[batch - 1], miopenFloat, batch, 3, 6, 6);
  if (bad != 0) {
    fprintf(stderr, "worker: no handle or no descriptors can be made here\n");
    return 1;
  }
  for (int i = 0; i < 1000; i++)
    if (turns() != 0 || pack() != 0) {
      fprintf(stderr, "worker: a call failed\n");
      return 1;
    }
  for (long round = 0; round < rounds; round++)
    if (measure("call", call, calls) != 0 || measure("turns", turns, calls) != 0 ||
        measure("backend", pack, calls) != 0 || measure("device", device, calls) != 0)
      return 1;
  unsigned long numbers[5];
  if (statistics(numbers, sizeof numbers) != 0)
    return 1;
  printf("forwarded\t%lu\n", numbers[0]);
  return fflush(stdout) == 0 ? 0 : 1;
}
