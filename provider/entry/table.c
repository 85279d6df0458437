#include "provider.h"

#include "_cgo_export.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "entry.h"

/* Go's run time starts when the library is loaded, whoever does that, and its threads stay in that
 * process. The process's number is for children that are made without fork's handlers. */
static pid_t loaded_by;
static int forked;

static void after_fork_in_child(void) {
  forked = 1;
}

__attribute__((constructor)) static void loaded(void) {
  loaded_by = getpid();
  pthread_atfork(NULL, NULL, after_fork_in_child);
}

#define EXPORT __attribute__((visibility("default")))

EXPORT int miopen_hipdnn_forked(void) {
  return forked || getpid() != loaded_by;
}

void entry_log(uintptr_t log, int32_t severity, const char *text) {
  ((void (*)(int32_t, const char *))log)(severity, text);
}

void *entry_copy(const void *data, size_t size) {
  void *copy = malloc(size);
  if (copy)
    memcpy(copy, data, size);
  return copy;
}

/* The table's functions: the exported Go functions, with the host's errno kept. */

#define KEEPING_ERRNO(call)                                                                        \
  int host_errno = errno;                                                                          \
  int32_t status = call;                                                                           \
  errno = host_errno;                                                                              \
  return status

static int32_t create(uint64_t provider, int32_t device, uint64_t *handle, char *text) {
  KEEPING_ERRNO(entryCreate(provider, device, handle, text));
}

static int32_t destroy(uint64_t handle, char *text) {
  KEEPING_ERRNO(entryDestroy(handle, text));
}

static int32_t set_stream(uint64_t handle, void *stream, char *text) {
  KEEPING_ERRNO(entrySetStream(handle, (uintptr_t)stream, text));
}

static int32_t applicable(uint64_t handle, struct miopen_provider_bytes graph, int64_t *ids,
                          uint32_t max, uint32_t *count, char *text) {
  KEEPING_ERRNO(entryApplicable(handle, (void *)graph.data, graph.size, ids, max, count, text));
}

static int32_t details(uint64_t handle, int64_t engine, struct miopen_provider_bytes graph,
                       void **data, size_t *size, char *text) {
  KEEPING_ERRNO(entryDetails(handle, engine, (void *)graph.data, graph.size, data, size, text));
}

static int32_t workspace(uint64_t handle, struct miopen_provider_bytes config,
                         struct miopen_provider_bytes graph, size_t *bytes, char *text) {
  KEEPING_ERRNO(entryWorkspace(handle, (void *)config.data, config.size, (void *)graph.data,
                               graph.size, bytes, text));
}

static int32_t prepare(uint64_t handle, struct miopen_provider_bytes config,
                       struct miopen_provider_bytes graph, uint64_t *context, char *text) {
  KEEPING_ERRNO(entryPrepare(handle, (void *)config.data, config.size, (void *)graph.data,
                             graph.size, context, text));
}

static int32_t restore(uint64_t handle, struct miopen_provider_bytes serialized, uint64_t *context,
                       char *text) {
  KEEPING_ERRNO(entryRestore(handle, (void *)serialized.data, serialized.size, context, text));
}

static int32_t context_destroy(uint64_t context, char *text) {
  KEEPING_ERRNO(entryContextDestroy(context, text));
}

static int32_t context_workspace(uint64_t context, size_t *bytes, char *text) {
  KEEPING_ERRNO(entryContextWorkspace(context, bytes, text));
}

static int32_t serialize(uint64_t context, void **data, size_t *size, char *text) {
  KEEPING_ERRNO(entrySerialize(context, data, size, text));
}

static int32_t execute(uint64_t handle, uint64_t context, void *workspace,
                       const struct miopen_provider_buffer *buffers, uint32_t count, char *text) {
  KEEPING_ERRNO(entryExecute(handle, context, (uintptr_t)workspace,
                             (struct miopen_provider_buffer *)buffers, count, text));
}

EXPORT int miopen_provider_open(const struct miopen_provider_host *host,
                                struct miopen_provider_table *table, char *text) {
  if (host->version != MIOPEN_PROVIDER_VERSION || host->size < sizeof *host ||
      table->version != MIOPEN_PROVIDER_VERSION || table->size < sizeof *table) {
    snprintf(text, MIOPEN_PROVIDER_TEXT,
             "the plugin has version %u of what is between it and " MIOPEN_PROVIDER_LIBRARY
             ", which has %u: install both from one release",
             host->version, MIOPEN_PROVIDER_VERSION);
    return 1;
  }
  if (miopen_hipdnn_forked()) {
    snprintf(text, MIOPEN_PROVIDER_TEXT,
             "this process was forked with " MIOPEN_PROVIDER_LIBRARY " loaded");
    return 1;
  }
  int host_errno = errno;
  uint64_t provider;
  int failed = entryOpen((void *)host->miopen, (uintptr_t)host->log, &provider, text);
  if (!failed)
    *table = (struct miopen_provider_table){
        .version = MIOPEN_PROVIDER_VERSION,
        .size = sizeof *table,
        .provider = provider,
        .create = create,
        .destroy = destroy,
        .set_stream = set_stream,
        .applicable = applicable,
        .details = details,
        .workspace = workspace,
        .prepare = prepare,
        .restore = restore,
        .context_destroy = context_destroy,
        .context_workspace = context_workspace,
        .serialize = serialize,
        .execute = execute,
    };
  errno = host_errno;
  return failed;
}
