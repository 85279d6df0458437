/* What the plugin and the forwarding library, libmiopen_hipdnn.so.1, know of each other.
 *
 * The plugin opens the library when a graph arrives that may be for it, asks for
 * miopen_provider_open and calls it through the table that it gets. Statuses are
 * hipdnnPluginStatus_t (PluginApiDataTypes.h at fa042723), severities hipdnnSeverity_t. Both sides
 * come from one release and are installed together; the version is there to refuse files of two.
 *
 * Every function may be called by any number of threads at once, never in a child of fork that was
 * made with the library loaded, and never changes errno. All pointers are the caller's and are not
 * kept, unless said otherwise. What is given out is written only on success. */
#ifndef MIOPEN_PROVIDER_ENTRY_PROVIDER_H_
#define MIOPEN_PROVIDER_ENTRY_PROVIDER_H_

#include "provider/private/api.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MIOPEN_PROVIDER_VERSION 1
#define MIOPEN_PROVIDER_LIBRARY "libmiopen_hipdnn.so.1"
#define MIOPEN_PROVIDER_OPEN "miopen_provider_open"
#define MIOPEN_PROVIDER_FORKED "miopen_hipdnn_forked"

/* Bytes that an error text may take, with its NUL (HIPDNN_PLUGIN_ERROR_STRING_MAX_LENGTH). Where a
 * function takes a text, it writes there when it fails, and never more than this. */
#define MIOPEN_PROVIDER_TEXT 2048

/* Serialised data of the caller's. */
struct miopen_provider_bytes {
  const void *data;
  size_t size;
};

/* Where a tensor is, as hipdnnPluginDeviceBuffer_t has it. */
struct miopen_provider_buffer {
  int64_t uid;
  void *address; /* in the device's memory */
};

/* One opening of the library, with the private library that it is for. */
struct miopen_provider_host {
  uint32_t version; /* MIOPEN_PROVIDER_VERSION */
  uint32_t size;    /* of this structure */
  /* Valid until the process ends, as log is. */
  const struct miopen_private_api *miopen;
  /* One line without its newline for hipDNN's log. Any thread. */
  void (*log)(int32_t severity, const char *text);
};

/* Handles and contexts are numbers that are never given out twice, and never 0. */
struct miopen_provider_table {
  uint32_t version; /* MIOPEN_PROVIDER_VERSION */
  uint32_t size;    /* of this structure */

  uint64_t provider; /* this opening, for create */

  /* device is HIP's that was the thread's when hipDNN's handle was made, -1 where that is unknown.
   */
  int32_t (*create)(uint64_t provider, int32_t device, uint64_t *handle, char *text);
  int32_t (*destroy)(uint64_t handle, char *text);
  int32_t (*set_stream)(uint64_t handle, void *stream, char *text); /* hipStream_t */

  /* At most max ids; count gets how many engines apply, which may be more. */
  int32_t (*applicable)(uint64_t handle, struct miopen_provider_bytes graph, int64_t *ids,
                        uint32_t max, uint32_t *count, char *text);
  /* EngineDetails, in memory that the caller gives to free(). */
  int32_t (*details)(uint64_t handle, int64_t engine, struct miopen_provider_bytes graph,
                     void **data, size_t *size, char *text);
  int32_t (*workspace)(uint64_t handle, struct miopen_provider_bytes config,
                       struct miopen_provider_bytes graph, size_t *bytes, char *text);

  int32_t (*prepare)(uint64_t handle, struct miopen_provider_bytes config,
                     struct miopen_provider_bytes graph, uint64_t *context, char *text);
  int32_t (*restore)(uint64_t handle, struct miopen_provider_bytes serialized, uint64_t *context,
                     char *text);
  int32_t (*context_destroy)(uint64_t context, char *text);
  int32_t (*context_workspace)(uint64_t context, size_t *bytes, char *text);
  /* In memory that the caller gives to free(). */
  int32_t (*serialize)(uint64_t context, void **data, size_t *size, char *text);

  int32_t (*execute)(uint64_t handle, uint64_t context, void *workspace,
                     const struct miopen_provider_buffer *buffers, uint32_t count, char *text);
};

/* Fills the table, which is valid until the process ends. Returns 0, or something else having
 * written why: the two do not fit, or this process cannot call the library. May be called more than
 * once, by several plugins. */
int miopen_provider_open(const struct miopen_provider_host *host,
                         struct miopen_provider_table *table, char *text);

/* Whether this process is a child of the one that loaded the library. The library's threads are not
 * there, so nothing else of it may be called: that would hang. May be called anywhere. */
int miopen_hipdnn_forked(void);

#ifdef __cplusplus
}
#endif

#endif
