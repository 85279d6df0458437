/* An application of hipDNN's, and if it is told so of MIOpen's, which looks at what that makes of
 * its process. Lines on standard input:
 *
 *   hipdnn LIBRARY      loads hipDNN and makes a handle
 *   graph FILE          asks which engines run a serialised graph; says how many
 *   miopen LIBRARY      loads MIOpen and runs a convolution
 *   process             how many libmiopen_hipdnn.so.1 are mapped, and whether there are as many
 *                       threads as there were at the first of these lines
 *
 *   fork ... end        the lines between are a child's
 */
#define _GNU_SOURCE
#include "refhipdnn/hipdnn_backend.h"
#include "tests/clients/process.h"

#include <dlfcn.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void fail(const char *what) {
  printf("FAILED: %s\n", what);
  fflush(stdout);
  _exit(3);
}

static void *open_library(const char *path) {
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library)
    fail(dlerror());
  return library;
}

static void *find(void *library, const char *name) {
  void *function = dlsym(library, name);
  if (!function)
    fail(name);
  return function;
}

static void *backend;
static hipdnnHandle_t handle;

/* A function of hipDNN's that must succeed. */
#define DNN(name, ...)                                                                             \
  do {                                                                                             \
    if (((__typeof__(&name))find(backend, #name))(__VA_ARGS__) != HIPDNN_STATUS_SUCCESS)           \
      fail(#name);                                                                                 \
  } while (0)

static void ask(const char *path) {
  static unsigned char bytes[1 << 16];
  FILE *file = fopen(path, "rb");
  if (!file)
    fail(path);
  size_t size = fread(bytes, 1, sizeof bytes, file);
  fclose(file);
  hipdnnBackendDescriptor_t graph, engines;
  int32_t mode = HIPDNN_HEUR_MODE_FALLBACK;
  int64_t count = -1;
  DNN(hipdnnBackendCreateAndDeserializeGraph_ext, &graph, bytes, size);
  DNN(hipdnnBackendSetAttribute, graph, HIPDNN_ATTR_OPERATIONGRAPH_HANDLE, HIPDNN_TYPE_HANDLE, 1,
      &handle);
  DNN(hipdnnBackendFinalize, graph);
  DNN(hipdnnBackendCreateDescriptor, HIPDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, &engines);
  DNN(hipdnnBackendSetAttribute, engines, HIPDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH,
      HIPDNN_TYPE_BACKEND_DESCRIPTOR, 1, &graph);
  DNN(hipdnnBackendSetAttribute, engines, HIPDNN_ATTR_ENGINEHEUR_MODE, HIPDNN_TYPE_HEUR_MODE, 1,
      &mode);
  DNN(hipdnnBackendFinalize, engines);
  DNN(hipdnnBackendGetAttribute, engines, HIPDNN_ATTR_ENGINEHEUR_RESULTS,
      HIPDNN_TYPE_BACKEND_DESCRIPTOR, 0, &count, NULL);
  DNN(hipdnnBackendDestroyDescriptor, engines);
  DNN(hipdnnBackendDestroyDescriptor, graph);
  printf("%d engines\n", (int)count);
}

/* miopenConvAlgoPerf_t. */
struct performance {
  int algorithm;
  float time;
  size_t memory;
};

#define CALL(name, types, ...)                                                                     \
  do {                                                                                             \
    if (((int(*) types)find(miopen, #name))(__VA_ARGS__))                                          \
      fail(#name);                                                                                 \
  } while (0)

/* A convolution that doubles four numbers. The numbers are miopen.h's. */
static void convolve(const char *path) {
  void *miopen = open_library(path);
  void *own, *small, *filter, *convolution;
  static _Alignas(64) float x[4] = {1, 2, 3, 4}, w[4] = {2}, y[4];
  float one = 1, zero = 0;
  static _Alignas(64) char workspace[1 << 16];
  struct performance best = {0};
  int got = 0;
  CALL(miopenCreate, (void **), &own);
  CALL(miopenCreateTensorDescriptor, (void **), &small);
  CALL(miopenCreateTensorDescriptor, (void **), &filter);
  CALL(miopenCreateConvolutionDescriptor, (void **), &convolution);
  CALL(miopenSet4dTensorDescriptor, (void *, int, int, int, int, int), small, 1, 1, 1, 2, 2);
  CALL(miopenSet4dTensorDescriptor, (void *, int, int, int, int, int), filter, 1, 1, 1, 1, 1);
  CALL(miopenInitConvolutionDescriptor, (void *, int, int, int, int, int, int, int), convolution, 0,
       0, 0, 1, 1, 1, 1);
  CALL(miopenFindConvolutionForwardAlgorithm,
       (void *, void *, void *, void *, void *, void *, void *, void *, int, int *, void *, void *,
        size_t, _Bool),
       own, small, x, filter, w, convolution, small, y, 1, &got, &best, workspace, sizeof workspace,
       0);
  memset(y, 0, sizeof y);
  CALL(miopenConvolutionForward,
       (void *, void *, void *, void *, void *, void *, void *, int, void *, void *, void *, void *,
        size_t),
       own, &one, small, x, filter, w, convolution, best.algorithm, &zero, small, y, workspace,
       sizeof workspace);
  for (int i = 0; i < 4; i++)
    if (y[i] != 2 * x[i])
      fail("the convolution's result");
  CALL(miopenDestroyConvolutionDescriptor, (void *), convolution);
  CALL(miopenDestroyTensorDescriptor, (void *), filter);
  CALL(miopenDestroyTensorDescriptor, (void *), small);
  CALL(miopenDestroy, (void *), own);
  printf("convolved\n");
}

static void say_process(void) {
  static int before;
  int threads = thread_count();
  if (!before)
    before = threads;
  printf("%d libraries, %s\n", forwarding_libraries(),
         threads == before ? "as many threads" : "other threads");
}

static void run(char *line);

static void run_forked(void) {
  char lines[16][1024];
  int count = 0, status;
  while (count < 16 && fgets(lines[count], sizeof lines[count], stdin) &&
         strcmp(lines[count], "end\n") != 0)
    count++;
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    alarm(60);
    for (int i = 0; i < count; i++)
      run(lines[i]);
    fflush(stdout);
    _exit(0);
  }
  if (child < 0 || waitpid(child, &status, 0) != child)
    fail("no child");
  printf("child %s %d\n", WIFEXITED(status) ? "exited" : "killed by",
         WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
}

static void run(char *line) {
  line[strcspn(line, "\n")] = 0;
  char *argument = strchr(line, ' ');
  if (argument)
    *argument++ = 0;
  if (strcmp(line, "hipdnn") == 0) {
    backend = open_library(argument);
    DNN(hipdnnCreate, &handle);
  } else if (strcmp(line, "graph") == 0) {
    ask(argument);
  } else if (strcmp(line, "miopen") == 0) {
    convolve(argument);
  } else if (strcmp(line, "process") == 0) {
    say_process();
  } else if (strcmp(line, "fork") == 0) {
    run_forked();
  } else {
    fail(line);
  }
}

int main(void) {
  char line[1024];
  setvbuf(stdout, NULL, _IOLBF, 0);
  while (fgets(line, sizeof line, stdin))
    run(line);
  printf("end\n");
  return 0;
}
