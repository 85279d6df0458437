/* What the C and the Go half of this package have of each other, beside the exported Go functions.
 */
#ifndef HIPDNNBRIDGE_HOOK_TABLE_H_
#define HIPDNNBRIDGE_HOOK_TABLE_H_

#include "shim/runtime/src/bridge.h"

/* struct miopen_bridge_call for Go: device addresses are integers, since Go's run time looks at
 * everything that has a pointer's type. */
struct bridge_call {
  void *handle;
  double alpha, beta;
  int32_t alpha_set, beta_set;
  uintptr_t buffers[3]; /* x, w, y */
  uintptr_t workspace;
  uint64_t workspace_bytes;
  uintptr_t thread; /* names the calling thread among those that live */
};

/* Sets this thread's last error, which is cleared whenever a call begins. The text is copied, and
 * the copy lives as long as the process. */
void bridge_set_error(int32_t status, int32_t hipdnn_status, const char *text);

/* The file that this library was opened from, as the loader has it, or an empty text. */
const char *bridge_own_file(void);

/* The host's functions. */
void bridge_message(const char *text);
/* 0 when MIOpen cannot be asked. */
int bridge_native_time(void *handle, float *milliseconds);

/* Writes a line, which has its newline, to stderr in one piece if the kernel takes it. */
void bridge_write(const char *text, size_t length);

/* The process's environment, NULL-terminated, or an empty one in a process with more rights than
 * who started it. */
char **bridge_environment(void);

#endif
