/* The three ways to record calls. All functions may be called in any thread and any signal handler
 * once their start function has returned. */
#ifndef MIOPEN_SHIM_TRACE_H_
#define MIOPEN_SHIM_TRACE_H_

#include "state.h"

#include <stdbool.h>

struct shim_line; /* of os.h */

/* MIOPEN_HIPDNN_TRACE=stderr: writes the line of one call. */
void shim_stderr_call(uint32_t index);

/* MIOPEN_HIPDNN_TRACE=summary. A forked child starts counting at zero. Start returns false, and has
 * a message that says why, when there can be no summary. Both start functions are for work under a
 * claim. */
bool shim_summary_start(struct shim_line *messages);
void shim_summary_call(uint32_t index);

/* MIOPEN_HIPDNN_TRACE=ring:FOLDER. The folder's name is copied. ring_call returns false when the
 * process can record nothing (a forked child that could not make its file, which it has said): the
 * caller turns the trace off. */
bool shim_ring_start(const char *folder, struct shim_line *messages);
bool shim_ring_call(uint32_t index, struct shim_call *call);
/* To be called when the process exits: the two clocks at that moment. */
void shim_ring_finish(void);
/* Ends a call that shim_ring_call marked as timed. */
SHIM_HIDDEN void miopen_shim_leave(const struct shim_call *call);

/* The process's own memory: a copy that fork makes reads as zeros. NULL when there is none to have.
 */
void *shim_own_memory(size_t bytes);

static inline const char *shim_name(uint32_t index) {
  return miopen_shim_names + miopen_shim_name_offsets[index];
}

#endif
