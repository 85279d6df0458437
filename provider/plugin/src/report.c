#include "report.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>

/* Not in the static block of thread-local storage, of which the loader keeps little for libraries
 * that come late: a shared library's default model allocates it at a thread's first use. */
static _Thread_local char last_error[HIPDNN_PLUGIN_ERROR_STRING_MAX_LENGTH];

static _Atomic(hipdnnCallback_t) log_callback;
/* hipDNN filters once more. */
static _Atomic int32_t log_level = HIPDNN_SEV_INFO;

char *report_text(void) {
  return last_error;
}

hipdnnPluginStatus_t report_error(hipdnnPluginStatus_t status, const char *format, ...) {
  int host_errno = errno;
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(last_error, sizeof last_error, format, arguments);
  va_end(arguments);
  errno = host_errno;
  return status;
}

void report_set_callback(hipdnnCallback_t callback) {
  atomic_store(&log_callback, callback);
}

void report_set_level(hipdnnSeverity_t level) {
  atomic_store(&log_level, (int32_t)level);
}

void report_log(int32_t severity, const char *text) {
  hipdnnCallback_t callback = atomic_load(&log_callback);
  int32_t level = atomic_load(&log_level);
  if (!callback || level >= HIPDNN_SEV_OFF || severity < level)
    return;
  int host_errno = errno;
  callback((hipdnnSeverity_t)severity, text);
  errno = host_errno;
}

void report_logf(hipdnnSeverity_t severity, const char *format, ...) {
  char text[HIPDNN_PLUGIN_ERROR_STRING_MAX_LENGTH];
  int host_errno = errno;
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  report_log(severity, text);
  errno = host_errno;
}
