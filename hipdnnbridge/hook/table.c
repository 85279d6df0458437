#include "table.h"

#include "_cgo_export.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

static struct miopen_bridge_host host;

/* The last error of a thread. The thread-local part is a pointer and two numbers, since a library
 * with Go in it lives from the little static TLS that the loader has left; the text comes with the
 * first failure and goes with the thread. */
struct text {
  size_t size;
  char characters[];
};

static __thread struct {
  struct text *text;
  int32_t status; /* miopenStatus_t, 0: no error */
  int32_t hipdnn_status;
} last;

static pthread_key_t text_key;
static int text_key_made; /* 0: texts of threads that end are lost */

/* At a thread's end. Destructors of others may still call MIOpen. */
static void drop_text(void *text) {
  free(text);
  last.text = NULL;
}

static void clear_error(void) {
  last.status = 0;
  last.hipdnn_status = 0;
}

void bridge_set_error(int32_t status, int32_t hipdnn_status, const char *words) {
  last.status = status;
  last.hipdnn_status = hipdnn_status;
  size_t size = strlen(words) + 1;
  if (!last.text || last.text->size < size) {
    struct text *grown = realloc(last.text, sizeof *grown + size);
    if (!grown) {
      /* Better the old block with as much of the text as it holds than none. */
      size = last.text ? last.text->size : 0;
    } else {
      grown->size = size;
      last.text = grown;
      if (text_key_made)
        pthread_setspecific(text_key, grown);
    }
  }
  if (!size)
    return;
  memcpy(last.text->characters, words, size - 1);
  last.text->characters[size - 1] = 0;
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
    };
    bridgeConvolutionForward(&copy, (struct miopen_bridge_convolution *)problem, answer);
  }
  errno = host_errno;
}

static void served_natively(void *handle, int32_t status) {
  int host_errno = errno;
  clear_error();
  if (is_pointer(handle))
    bridgeServedNatively(handle, status);
  errno = host_errno;
}

static const char *error_text(int32_t status, const char *native) {
  return last.status && last.status == status && last.text ? last.text->characters : native;
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
                    "install both from one; MIOpen serves every call");
    return 1;
  }
  int host_errno = errno;
  memcpy(&host, from, from->size < sizeof host ? from->size : sizeof host);
  text_key_made = pthread_key_create(&text_key, drop_text) == 0;
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
        .error_text = error_text,
        .last_error = last_error,
        .statistics = statistics,
        .finish = finish,
    };
  errno = host_errno;
  return failed;
}
