/* An engine plugin that is linked against the public libMIOpen.so.1 and calls it from within every
 * call that it gets, as AMD's plugin of that kind does: on the calling thread, and in executions on
 * one of its own too. In a forwarding process that library is the wrapper, and what comes back must
 * end in MIOpen.
 *
 * The graphs are served by another plugin, the one that REENTRY_PLUGIN names. At exit a line on
 * stderr tells how many convolutions MIOpen did for it, and how many of them were wrong. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* MIOpen's API, as far as it is used here. The numbers are miopen.h's. */
enum { miopenFloat = 1, miopenConvolution = 0 };
struct performance {
  int algorithm;
  float time;
  size_t memory;
};
extern int miopenCreate(void **handle);
extern int miopenDestroy(void *handle);
extern int miopenSetStream(void *handle, void *stream);
extern int miopenCreateTensorDescriptor(void **descriptor);
extern int miopenDestroyTensorDescriptor(void *descriptor);
extern int miopenSet4dTensorDescriptor(void *descriptor, int type, int n, int c, int h, int w);
extern int miopenCreateConvolutionDescriptor(void **descriptor);
extern int miopenDestroyConvolutionDescriptor(void *descriptor);
extern int miopenInitConvolutionDescriptor(void *descriptor, int mode, int pad_h, int pad_w,
                                           int stride_h, int stride_w, int dilation_h,
                                           int dilation_w);
extern int miopenFindConvolutionForwardAlgorithm(void *handle, void *x_desc, const void *x,
                                                 void *w_desc, const void *w, void *convolution,
                                                 void *y_desc, void *y, int requested, int *got,
                                                 struct performance *results, void *workspace,
                                                 size_t bytes, _Bool exhaustive);
extern int miopenConvolutionForward(void *handle, const void *alpha, void *x_desc, const void *x,
                                    void *w_desc, const void *w, void *convolution, int algorithm,
                                    const void *beta, void *y_desc, void *y, void *workspace,
                                    size_t workspace_bytes);

static atomic_int done, wrong, live;

/* A convolution that doubles four numbers. */
static void convolve(void *handle) {
  void *small = NULL, *filter = NULL, *convolution = NULL;
  float x[4] = {1, 2, 3, 4}, w[1] = {2}, y[4] = {0}, one = 1, zero = 0;
  static _Alignas(64) char workspace[1 << 16];
  struct performance best = {0};
  int got = 0, bad = miopenCreateTensorDescriptor(&small) | miopenCreateTensorDescriptor(&filter) |
                     miopenCreateConvolutionDescriptor(&convolution);
  bad |= miopenSet4dTensorDescriptor(small, miopenFloat, 1, 1, 2, 2);
  bad |= miopenSet4dTensorDescriptor(filter, miopenFloat, 1, 1, 1, 1);
  bad |= miopenInitConvolutionDescriptor(convolution, miopenConvolution, 0, 0, 1, 1, 1, 1);
  bad |= miopenFindConvolutionForwardAlgorithm(handle, small, x, filter, w, convolution, small, y,
                                               1, &got, &best, workspace, sizeof workspace, 0);
  y[0] = y[1] = y[2] = y[3] = 0;
  bad |= miopenConvolutionForward(handle, &one, small, x, filter, w, convolution, best.algorithm,
                                  &zero, small, y, workspace, sizeof workspace);
  for (int i = 0; i < 4; i++)
    bad |= y[i] != 2 * x[i];
  miopenDestroyConvolutionDescriptor(convolution);
  miopenDestroyTensorDescriptor(filter);
  miopenDestroyTensorDescriptor(small);
  atomic_fetch_add(&done, 1);
  atomic_fetch_add(&wrong, bad != 0);
}

static void *on_thread(void *handle) {
  convolve(handle);
  return NULL;
}

static void report(void) {
  fprintf(stderr, "reentry: %d convolutions, %d wrong, %d handles left\n", atomic_load(&done),
          atomic_load(&wrong), atomic_load(&live));
}

static void *behind(const char *name) {
  static void *library;
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&lock);
  if (!library) {
    library = dlopen(getenv("REENTRY_PLUGIN"), RTLD_NOW | RTLD_LOCAL);
    atexit(report);
  }
  pthread_mutex_unlock(&lock);
  void *function = library ? dlsym(library, name) : NULL;
  if (!function) {
    fprintf(stderr, "reentry: no %s: %s\n", name, dlerror());
    abort();
  }
  return function;
}

/* A handle of the plugin's: the other one's, and MIOpen's. */
struct handle {
  void *behind, *miopen;
};

#define EXPORT __attribute__((visibility("default")))

/* Functions that are handed on as they are. */
#define HAND_ON(name, parameters, arguments)                                                       \
  EXPORT int name parameters {                                                                     \
    return ((int(*) parameters)behind(#name))arguments;                                            \
  }
HAND_ON(hipdnnPluginGetName, (const char **text), (text))
HAND_ON(hipdnnPluginGetVersion, (const char **text), (text))
HAND_ON(hipdnnPluginGetApiVersion, (const char **text), (text))
HAND_ON(hipdnnPluginGetType, (int *type), (type))
HAND_ON(hipdnnPluginSetLoggingCallback, (void *callback), (callback))
HAND_ON(hipdnnEnginePluginGetAllEngineIds, (int64_t * ids, uint32_t max, uint32_t *count),
        (ids, max, count))
HAND_ON(hipdnnEnginePluginGetEngineName, (int64_t id, const char **name), (id, name))

EXPORT void hipdnnPluginGetLastErrorString(const char **text) {
  ((void (*)(const char **))behind(__func__))(text);
}

EXPORT int hipdnnEnginePluginCreate(struct handle **handle) {
  struct handle *made = calloc(1, sizeof *made);
  int status = ((int (*)(void **))behind(__func__))(&made->behind);
  if (miopenCreate(&made->miopen) || miopenSetStream(made->miopen, NULL))
    atomic_fetch_add(&wrong, 1);
  atomic_fetch_add(&live, 1);
  convolve(made->miopen);
  *handle = made;
  return status;
}

EXPORT int hipdnnEnginePluginDestroy(struct handle *handle) {
  int status = ((int (*)(void *))behind(__func__))(handle->behind);
  if (miopenDestroy(handle->miopen))
    atomic_fetch_add(&wrong, 1);
  atomic_fetch_sub(&live, 1);
  free(handle);
  return status;
}

/* Functions that call MIOpen first. */
#define CALL_BACK(name, parameters, types, arguments)                                              \
  EXPORT int name parameters {                                                                     \
    convolve(handle->miopen);                                                                      \
    return ((int(*) types)behind(#name))arguments;                                                 \
  }
CALL_BACK(hipdnnEnginePluginSetStream, (struct handle * handle, void *stream), (void *, void *),
          (handle->behind, stream))
CALL_BACK(hipdnnEnginePluginGetApplicableEngineIds,
          (struct handle * handle, const void *graph, int64_t *ids, uint32_t max, uint32_t *count),
          (void *, const void *, int64_t *, uint32_t, uint32_t *),
          (handle->behind, graph, ids, max, count))
CALL_BACK(hipdnnEnginePluginGetEngineDetails,
          (struct handle * handle, int64_t id, const void *graph, void *details),
          (void *, int64_t, const void *, void *), (handle->behind, id, graph, details))
CALL_BACK(hipdnnEnginePluginDestroyEngineDetails, (struct handle * handle, void *details),
          (void *, void *), (handle->behind, details))
CALL_BACK(hipdnnEnginePluginGetWorkspaceSize,
          (struct handle * handle, const void *config, const void *graph, size_t *size),
          (void *, const void *, const void *, size_t *), (handle->behind, config, graph, size))
CALL_BACK(hipdnnEnginePluginCreateExecutionContext,
          (struct handle * handle, const void *config, const void *graph, void **context),
          (void *, const void *, const void *, void **), (handle->behind, config, graph, context))
CALL_BACK(hipdnnEnginePluginDestroyExecutionContext, (struct handle * handle, void *context),
          (void *, void *), (handle->behind, context))
CALL_BACK(hipdnnEnginePluginGetWorkspaceSizeFromExecutionContext,
          (struct handle * handle, void *context, size_t *size), (void *, void *, size_t *),
          (handle->behind, context, size))

EXPORT int hipdnnEnginePluginExecuteOpGraph(struct handle *handle, void *context, void *workspace,
                                            const void *buffers, uint32_t count) {
  pthread_t thread;
  convolve(handle->miopen);
  if (pthread_create(&thread, NULL, on_thread, handle->miopen) || pthread_join(thread, NULL))
    atomic_fetch_add(&wrong, 1);
  return ((int (*)(void *, void *, void *, const void *, uint32_t))behind(__func__))(
      handle->behind, context, workspace, buffers, count);
}
