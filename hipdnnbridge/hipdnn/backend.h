/* The hipDNN backend library and calls of it. Everything here is plain C, so that a call that fails
 * and the reading of its error text are one step: hipDNN keeps the text per thread, and a goroutine
 * may be on another thread after every call. */
#ifndef HIPDNNBRIDGE_HIPDNN_BACKEND_H_
#define HIPDNNBRIDGE_HIPDNN_BACKEND_H_

#include "api.h"
#include "hip.h"

/* The call that failed. */
struct hipdnn_failure {
  int32_t status;       /* hipdnnStatus_t */
  const char *function; /* of hipDNN, static */
  char text[512];       /* hipDNN's message, or empty */
};

struct hipdnn_backend {
  void *library;
  struct hipdnn_functions call;
};

/* Opens a library. A name without a slash goes through the loader's search. With loaded set only a
 * library that the process has already is found. Returns 0, or 1 with the loader's words in error.
 */
int hipdnn_backend_open(struct hipdnn_backend *backend, const char *name, int loaded, char *error,
                        size_t size);
void hipdnn_backend_close(struct hipdnn_backend *backend);

/* The file that the library was opened from, as the loader has it; empty when it does not say. */
void hipdnn_backend_path(const struct hipdnn_backend *backend, char *path, size_t size);

/* The library's own words for its version, or empty. */
const char *hipdnn_backend_version(const struct hipdnn_backend *backend);

/* Adds an engine plugin, for handles that are made later. NOT_SUPPORTED where hipDNN cannot, and
 * while there are handles. */
int hipdnn_add_plugin(const struct hipdnn_backend *backend, const char *path,
                      struct hipdnn_failure *failure);

/* The files of the engine plugins that a handle's engines come from. With paths NULL it writes how
 * many there are and the size of the longest, its NUL included; otherwise paths is count buffers of
 * longest bytes, one after the other. NOT_SUPPORTED where hipDNN cannot tell. */
int hipdnn_plugin_paths(const struct hipdnn_backend *backend, uintptr_t handle, size_t *count,
                        char *paths, size_t *longest, struct hipdnn_failure *failure);

/* Calls of the functions of the same names. All return hipdnnStatus_t and fill failure when it is
 * not success.
 *
 * What only hipDNN and HIP know as pointers are integers here: Go's run time looks at everything
 * that has a pointer's type and ends the process over some that are none, such as
 * hipStreamPerThread, which is 2. */
int hipdnn_create(const struct hipdnn_backend *backend, uintptr_t *handle,
                  struct hipdnn_failure *failure);
int hipdnn_destroy(const struct hipdnn_backend *backend, uintptr_t handle,
                   struct hipdnn_failure *failure);
int hipdnn_set_stream(const struct hipdnn_backend *backend, uintptr_t handle, uintptr_t stream,
                      struct hipdnn_failure *failure);
int hipdnn_create_descriptor(const struct hipdnn_backend *backend, int type, uintptr_t *descriptor,
                             struct hipdnn_failure *failure);
int hipdnn_destroy_descriptor(const struct hipdnn_backend *backend, uintptr_t descriptor,
                              struct hipdnn_failure *failure);
int hipdnn_finalize(const struct hipdnn_backend *backend, uintptr_t descriptor,
                    struct hipdnn_failure *failure);
int hipdnn_set_attribute(const struct hipdnn_backend *backend, uintptr_t descriptor, int name,
                         int type, int64_t count, const void *elements,
                         struct hipdnn_failure *failure);
int hipdnn_get_attribute(const struct hipdnn_backend *backend, uintptr_t descriptor, int name,
                         int type, int64_t requested, int64_t *count, void *elements,
                         struct hipdnn_failure *failure);

/* Plans as bytes, for other handles of the device. Bytes NULL: only tells the size. NOT_SUPPORTED
 * when hipDNN or the engine's plugin cannot. */
int hipdnn_serialize_plan(const struct hipdnn_backend *backend, uintptr_t plan, size_t requested,
                          size_t *size, uint8_t *bytes, struct hipdnn_failure *failure);
int hipdnn_deserialize_plan(const struct hipdnn_backend *backend, uintptr_t handle, uintptr_t *plan,
                            const uint8_t *bytes, size_t size, struct hipdnn_failure *failure);

/* An execution. The structure belongs to a handle and is used again; one call at a time. */
#define HIPDNN_MAX_TENSORS 16

struct hipdnn_execution {
  const struct hipdnn_backend *backend;
  uintptr_t handle;
  int32_t device;        /* the handle's */
  const struct hip *hip; /* NULL: there are no streams, execution is over when the call returns */

  uintptr_t plan;
  uintptr_t stream;
  uintptr_t workspace; /* 0: none */
  int64_t count;
  int64_t uids[HIPDNN_MAX_TENSORS];
  uintptr_t pointers[HIPDNN_MAX_TENSORS];
  /* Events to record before and after, 0: the execution is not timed. Without HIP they are int64_t
   * that take nanoseconds. */
  uintptr_t start, stop;

  /* What happened. */
  int32_t began;    /* hipdnnBackendExecute was called: something may be enqueued */
  int32_t captured; /* the stream was capturing */
  int32_t timed;    /* both events were recorded */
  struct hipdnn_failure failure;
};

/* Makes the variant pack, executes and destroys it, with the handle's device as the thread's.
 * Returns the status of the first call that failed. The address of the structure is a number: Go's
 * run time would look through what is behind a pointer at each call. */
int hipdnn_execute(uintptr_t execution);

/* A copy that lives as long as the process. Tools that look for leaks see it, which they would not
 * if only Go knew of it. NULL: no memory. */
void *hipdnn_keep(const void *from, size_t size);

/* Memory and events where there is no HIP. */
uintptr_t hipdnn_host_allocate(size_t size);
void hipdnn_host_release(uintptr_t memory);
void hipdnn_host_record(uintptr_t event);
/* Nanoseconds. */
int64_t hipdnn_host_elapsed(uintptr_t start, uintptr_t stop);

/* hipDNN's log, from warnings up, in a ring of the last lines. Collecting goes on until the process
 * ends; the callback is C and takes one lock. */
void hipdnn_collect_log(const struct hipdnn_backend *backend);
/* Lines that came so far. */
uint64_t hipdnn_log_count(void);
/* Copies line number index, counted from 0, with a NUL. Returns 0 when it is not in the ring any
 * more. */
int hipdnn_log_line(uint64_t index, char *text, size_t size);

#endif
