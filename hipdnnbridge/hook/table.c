#define _GNU_SOURCE /* dladdr */
#include "table.h"

#include "_cgo_export.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

static struct miopen_bridge_host host;

/* The last error of a thread. Small, for it takes of the static TLS that the loader has left, as
 * Go's run time does: a call of the loader for each access would be a hundredth of a call. */
static __thread struct {
  const char *text; /* lives as long as the process */
  int32_t status;   /* miopenStatus_t, 0: no error */
  int32_t hipdnn_status;
} last __attribute__((tls_model("initial-exec")));

static void clear_error(void) {
  last.status = 0;
  last.hipdnn_status = 0;
}

/* MIOpen's error strings are constants, which callers keep and hand to other threads. So texts are
 * never freed, and each is there once. */
static const char *keep(const char *words) {
  enum { most = 256 };
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  static char *kept[most];
  const char *text =
      "[hipDNN-forwarded] the call failed, with a text that is one too many to be kept";
  pthread_mutex_lock(&lock);
  int i = 0;
  while (i < most && kept[i] && strcmp(kept[i], words))
    i++;
  if (i < most && (kept[i] || (kept[i] = strdup(words))))
    text = kept[i];
  pthread_mutex_unlock(&lock);
  return text;
}

void bridge_set_error(int32_t status, int32_t hipdnn_status, const char *words) {
  last.text = keep(words);
  last.status = status;
  last.hipdnn_status = hipdnn_status;
}

const char *bridge_own_file(void) {
  Dl_info info;
  return dladdr((const void *)miopen_bridge_open, &info) && info.dli_fname ? info.dli_fname : "";
}

void bridge_message(const char *text) {
  host.message(text);
}

int bridge_native_time(void *handle, float *milliseconds) {
  if (!host.kernel_time)
    return 0;
  *milliseconds = host.kernel_time(handle);
  return 1;
}

void bridge_write(const char *text, size_t length) {
  while (length) {
    ssize_t written = write(STDERR_FILENO, text, length);
    if (written < 0 && errno == EINTR)
      continue;
    if (written <= 0)
      return;
    text += written;
    length -= (size_t)written;
  }
}

extern char **environ;

char **bridge_environment(void) {
  static char *nothing[] = {NULL};
  return getauxval(AT_SECURE) || !environ ? nothing : environ;
}

/* The table. */

/* Handles are kept by address, and Go's run time ends a process that has such a number among its
 * pointers. MIOpen is to find out what it is. */
static int is_pointer(const void *handle) {
  return (uintptr_t)handle >= 4096;
}

static void handle_created(void *handle, void *stream) {
  if (!is_pointer(handle))
    return;
  int host_errno = errno;
  bridgeHandleCreated(handle, (uintptr_t)stream);
  errno = host_errno;
}

static void handle_destroyed(void *handle) {
  if (!is_pointer(handle))
    return;
  int host_errno = errno;
  bridgeHandleDestroyed(handle);
  errno = host_errno;
}

static void stream_set(void *handle, void *stream) {
  if (!is_pointer(handle))
    return;
  int host_errno = errno;
  bridgeStreamSet(handle, (uintptr_t)stream);
  errno = host_errno;
}

static void profiling_set(void *handle, int32_t enabled) {
  if (!is_pointer(handle))
    return;
  int host_errno = errno;
  bridgeProfilingSet(handle, enabled);
  errno = host_errno;
}

static float kernel_time(void *handle, float native) {
  if (!is_pointer(handle))
    return native;
  int host_errno = errno;
  float milliseconds = bridgeKernelTime(handle, native);
  errno = host_errno;
  return milliseconds;
}

static void convolution_forward(const struct miopen_bridge_call *call,
                                const struct miopen_bridge_convolution *problem,
                                struct miopen_bridge_answer *answer) {
  int host_errno = errno;
  /* Whatever becomes of the call, what an earlier one left is not of it. */
  clear_error();
  answer->route = MIOPEN_BRIDGE_NATIVE;
  if (is_pointer(call->handle)) {
    struct bridge_call copy = {
        .handle = call->handle,
        .alpha = call->alpha,
        .beta = call->beta,
        .alpha_set = call->alpha_set,
        .beta_set = call->beta_set,
        .buffers = {(uintptr_t)call->x, (uintptr_t)call->w, (uintptr_t)call->y},
        .workspace = (uintptr_t)call->workspace,
        .workspace_bytes = call->workspace_bytes,
        .thread = (uintptr_t)pthread_self(),
    };
    bridgeConvolutionForward(&copy, (struct miopen_bridge_convolution *)problem, answer);
  }
  errno = host_errno;
}

static void served_natively(void *handle) {
  int host_errno = errno;
  clear_error();
  if (is_pointer(handle))
    bridgeServedNatively(handle);
  errno = host_errno;
}

static void unasked(uint64_t native, uint64_t failed) {
  int host_errno = errno;
  bridgeUnasked(native, failed);
  errno = host_errno;
}

static const char *error_text(int32_t status, const char *native) {
  return last.status && last.status == status ? last.text : native;
}

static int32_t last_error(void) {
  return last.hipdnn_status;
}

static void statistics(struct miopen_bridge_statistics *out) {
  int host_errno = errno;
  bridgeStatistics(out);
  errno = host_errno;
}

static void finish(void) {
  int host_errno = errno;
  bridgeFinish();
  errno = host_errno;
}

#define EXPORT __attribute__((visibility("default")))

EXPORT int miopen_bridge_open(const struct miopen_bridge_host *from,
                              struct miopen_bridge_table *table) {
  if (from->version != MIOPEN_BRIDGE_VERSION ||
      from->size < offsetof(struct miopen_bridge_host, kernel_time)) {
    if (from->size >= offsetof(struct miopen_bridge_host, kernel_time))
      from->message("error: libmiopen_hipdnn.so.1 and libMIOpen.so.1 are of different releases: "
                    "install both from one");
    return 1;
  }
  int host_errno = errno;
  memcpy(&host, from, from->size < sizeof host ? from->size : sizeof host);
  int failed = bridgeOpen((char *)host.wrapper, (char *)host.private_library);
  if (!failed)
    *table = (struct miopen_bridge_table){
        .version = MIOPEN_BRIDGE_VERSION,
        .size = sizeof *table,
        .handle_created = handle_created,
        .handle_destroyed = handle_destroyed,
        .stream_set = stream_set,
        .profiling_set = profiling_set,
        .kernel_time = kernel_time,
        .convolution_forward = convolution_forward,
        .served_natively = served_natively,
        .unasked = unasked,
        .error_text = error_text,
        .last_error = last_error,
        .statistics = statistics,
        .finish = finish,
    };
  errno = host_errno;
  return failed;
}
