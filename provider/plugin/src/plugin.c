/* The entry points that hipDNN calls. What can be answered without MIOpen is answered here; the
 * rest goes to the forwarding library once a graph has arrived that it may run.
 *
 * A plugin that hipDNN only looked at costs nothing: nothing is done when it is loaded, and when a
 * handle is made HIP is asked which device is the thread's. */

#define _GNU_SOURCE
#include "engine_plugin.h"
#include "filter.h"
#include "library.h"
#include "private_api.h"
#include "report.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

/* The names are also in hipdnnbridge/graph; ids are FNV-1a hashes of 64 bits (hipDNN's RFC 0003).
 */
static const struct {
  int64_t id;
  const char *name;
} engines[] = {
    {(int64_t)0xBBC3A655F2138BC6, "MIOPEN_PRIVATE_ENGINE"},
    {(int64_t)0xD305E185A90565D7, "MIOPEN_PRIVATE_ENGINE_DETERMINISTIC"},
};

enum { ENGINES = sizeof engines / sizeof engines[0] };

/* The first words of the structures that hipDNN holds, to tell them from others' and from destroyed
 * ones. */
enum { HANDLE = 0x4d504831, CONTEXT = 0x4d504331 };

struct HipdnnEnginePluginHandle {
  uint32_t kind;
  int32_t device; /* HIP's, of the thread that made the handle; -1 where that is not known */
  _Atomic hipStream_t stream; /* the last that was set */
  /* The forwarding library's handle, 0 until there was a graph for it. */
  _Atomic uint64_t provided;
  /* Held while that is made or has its stream set, and never in a process that may not call the
   * library, since there it may be a parent's thread that has it. The thread that has it may take
   * it again: the log's callback may call the plugin. */
  pthread_mutex_t lock;
};

struct HipdnnEnginePluginExecutionContext {
  uint32_t kind;
  uint64_t provided;
};

#define REQUIRE(condition, text)                                                                   \
  do {                                                                                             \
    if (!(condition))                                                                              \
      return report_error(HIPDNN_PLUGIN_STATUS_BAD_PARAM, "%s: " text, __func__);                  \
  } while (0)

#define REQUIRE_HANDLE(handle)                                                                     \
  REQUIRE((handle) && (handle)->kind == HANDLE, "there is no such handle")
#define REQUIRE_CONTEXT(context)                                                                   \
  REQUIRE((context) && (context)->kind == CONTEXT, "there is no such execution context")
/* Offsets of a FlatBuffer are of 32 bits. */
#define REQUIRE_BYTES(bytes, what)                                                                 \
  REQUIRE((bytes) && (bytes)->ptr && (bytes)->size <= INT32_MAX, "there is no " what)

static struct miopen_provider_bytes bytes_of(const hipdnnPluginConstData_t *data) {
  return (struct miopen_provider_bytes){data->ptr, data->size};
}

hipdnnPluginStatus_t hipdnnPluginGetName(const char **name) {
  REQUIRE(name, "name is null");
  *name = "miopen_private_plugin";
  return HIPDNN_PLUGIN_STATUS_SUCCESS;
}

hipdnnPluginStatus_t hipdnnPluginGetVersion(const char **version) {
  REQUIRE(version, "version is null");
  *version = "0.1.0";
  return HIPDNN_PLUGIN_STATUS_SUCCESS;
}

#define TEXT_OF(number) #number
#define VERSION_TEXT(major, minor) TEXT_OF(major) "." TEXT_OF(minor) ".0"

/* 1.1.0 is the version that ExecuteOpGraphWithOverrides needs; GetEngineName is found whatever the
 * version. A higher one would have hipDNN offer graphs with scalars that are passed at execution
 * (1.2.0) and ragged tensors (1.3.0), which are all declined. */
hipdnnPluginStatus_t hipdnnPluginGetApiVersion(const char **version) {
  REQUIRE(version, "version is null");
  *version = VERSION_TEXT(FILTER_API_MAJOR, FILTER_API_MINOR);
  return HIPDNN_PLUGIN_STATUS_SUCCESS;
}

hipdnnPluginStatus_t hipdnnPluginGetType(hipdnnPluginType_t *type) {
  REQUIRE(type, "type is null");
  *type = HIPDNN_PLUGIN_TYPE_ENGINE;
  return HIPDNN_PLUGIN_STATUS_SUCCESS;
}

void hipdnnPluginGetLastErrorString(const char **text) {
  if (text)
    *text = report_text();
}

hipdnnPluginStatus_t hipdnnPluginSetLoggingCallback(hipdnnCallback_t callback) {
  report_set_callback(callback);
  return HIPDNN_PLUGIN_STATUS_SUCCESS;
}

hipdnnPluginStatus_t hipdnnPluginSetLogLevel(hipdnnSeverity_t level) {
  REQUIRE((int)level >= HIPDNN_SEV_INFO && (int)level <= HIPDNN_SEV_OFF,
          "there is no such level of the log");
  report_set_level(level);
  return HIPDNN_PLUGIN_STATUS_SUCCESS;
}

hipdnnPluginStatus_t hipdnnEnginePluginGetAllEngineIds(int64_t *ids, uint32_t max,
                                                       uint32_t *count) {
  REQUIRE(count, "count is null");
  REQUIRE(ids || !max, "ids is null");
  for (uint32_t i = 0; i < max && i < ENGINES; i++)
    ids[i] = engines[i].id;
  *count = max && max < ENGINES ? max : ENGINES;
  return HIPDNN_PLUGIN_STATUS_SUCCESS;
}

/* NULL where it is not of this plugin. */
static const char *engine_name(int64_t engine) {
  for (uint32_t i = 0; i < ENGINES; i++)
    if (engines[i].id == engine)
      return engines[i].name;
  return NULL;
}

hipdnnPluginStatus_t hipdnnEnginePluginGetEngineName(int64_t engine, const char **name) {
  REQUIRE(name, "name is null");
  const char *found = engine_name(engine);
  if (found) {
    *name = found;
    return HIPDNN_PLUGIN_STATUS_SUCCESS;
  }
  return report_error(HIPDNN_PLUGIN_STATUS_BAD_PARAM, "%s: this plugin has no engine 0x%016llX",
                      __func__, (unsigned long long)engine);
}

static int32_t current_device(void) {
  const struct miopen_private_api *miopen = private_api();
  int host_errno = errno, device = -1;
  if (miopen->get_device && miopen->get_device(&device) != 0)
    device = -1;
  errno = host_errno;
  return device;
}

hipdnnPluginStatus_t hipdnnEnginePluginCreate(hipdnnEnginePluginHandle_t *handle) {
  REQUIRE(handle, "handle is null");
  library_prepare();
  struct HipdnnEnginePluginHandle *made = calloc(1, sizeof *made);
  if (!made)
    return report_error(HIPDNN_PLUGIN_STATUS_ALLOC_FAILED, "%s: there is no memory", __func__);
  made->kind = HANDLE;
  made->device = current_device();
  made->lock = (pthread_mutex_t)PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
  *handle = made;
  return HIPDNN_PLUGIN_STATUS_SUCCESS;
}

hipdnnPluginStatus_t hipdnnEnginePluginDestroy(hipdnnEnginePluginHandle_t handle) {
  REQUIRE_HANDLE(handle);
  int32_t status = HIPDNN_PLUGIN_STATUS_SUCCESS;
  uint64_t provided = atomic_load(&handle->provided);
  const struct miopen_provider_table *library = library_opened();
  if (provided && library)
    status = library->destroy(provided, report_text());
  handle->kind = 0;
  pthread_mutex_destroy(&handle->lock);
  free(handle);
  return (hipdnnPluginStatus_t)status;
}

hipdnnPluginStatus_t hipdnnEnginePluginSetStream(hipdnnEnginePluginHandle_t handle,
                                                 hipStream_t stream) {
  REQUIRE_HANDLE(handle);
  int32_t status = HIPDNN_PLUGIN_STATUS_SUCCESS;
  /* Who makes the other handle reads the stream after the library was found to be open. So either
   * it is seen there, or the library is open here. */
  atomic_store(&handle->stream, stream);
  const struct miopen_provider_table *library = library_opened();
  if (library) {
    pthread_mutex_lock(&handle->lock);
    uint64_t provided = atomic_load(&handle->provided);
    if (provided)
      status = library->set_stream(provided, stream, report_text());
    pthread_mutex_unlock(&handle->lock);
  }
  return (hipdnnPluginStatus_t)status;
}

/* The library's handle for one of hipDNN's, with the stream that was set before. */
static hipdnnPluginStatus_t provide(const struct miopen_provider_table *library,
                                    hipdnnEnginePluginHandle_t handle, uint64_t *provided) {
  *provided = atomic_load_explicit(&handle->provided, memory_order_acquire);
  if (*provided)
    return HIPDNN_PLUGIN_STATUS_SUCCESS;
  int32_t status = HIPDNN_PLUGIN_STATUS_SUCCESS;
  pthread_mutex_lock(&handle->lock);
  *provided = atomic_load(&handle->provided);
  if (!*provided) {
    uint64_t made = 0;
    status = library->create(library->provider, handle->device, &made, report_text());
    hipStream_t stream = atomic_load(&handle->stream);
    if (status == HIPDNN_PLUGIN_STATUS_SUCCESS && stream) {
      status = library->set_stream(made, stream, report_text());
      if (status != HIPDNN_PLUGIN_STATUS_SUCCESS) {
        char ignored[MIOPEN_PROVIDER_TEXT];
        library->destroy(made, ignored);
      }
    }
    if (status == HIPDNN_PLUGIN_STATUS_SUCCESS) {
      atomic_store_explicit(&handle->provided, made, memory_order_release);
      *provided = made;
    }
  }
  pthread_mutex_unlock(&handle->lock);
  return (hipdnnPluginStatus_t)status;
}

/* The library and its handle; opens and makes them where they are not. */
static hipdnnPluginStatus_t open_for(hipdnnEnginePluginHandle_t handle,
                                     const struct miopen_provider_table **library,
                                     uint64_t *provided) {
  *library = library_open(report_text());
  return *library ? provide(*library, handle, provided) : HIPDNN_PLUGIN_STATUS_NOT_APPLICABLE;
}

/* The same, for a graph that must be one that engines here may run. */
static hipdnnPluginStatus_t open_for_graph(const char *function, hipdnnEnginePluginHandle_t handle,
                                           const hipdnnPluginConstData_t *graph,
                                           const struct miopen_provider_table **library,
                                           uint64_t *provided) {
  const char *reason;
  switch (filter_graph(graph->ptr, graph->size, &reason)) {
  case FILTER_PASSES:
    return open_for(handle, library, provided);
  case FILTER_FOREIGN:
    return report_error(HIPDNN_PLUGIN_STATUS_NOT_APPLICABLE,
                        "%s: no engine of this plugin runs the graph: %s", function, reason);
  default:
    return report_error(HIPDNN_PLUGIN_STATUS_BAD_PARAM,
                        "%s: the graph is no serialised graph of hipDNN's: %s", function, reason);
  }
}

#define FORWARD_GRAPH(handle, graph)                                                               \
  const struct miopen_provider_table *library;                                                     \
  uint64_t provided;                                                                               \
  do {                                                                                             \
    hipdnnPluginStatus_t opened =                                                                  \
        open_for_graph(__func__, (handle), (graph), &library, &provided);                          \
    if (opened != HIPDNN_PLUGIN_STATUS_SUCCESS)                                                    \
      return opened;                                                                               \
  } while (0)

/* An error here would end hipDNN's search for engines in all plugins: whatever is wrong with the
 * graph, or with this plugin, no engine applies then, and the log says why. */
hipdnnPluginStatus_t hipdnnEnginePluginGetApplicableEngineIds(hipdnnEnginePluginHandle_t handle,
                                                              const hipdnnPluginConstData_t *graph,
                                                              int64_t *ids, uint32_t max,
                                                              uint32_t *count) {
  REQUIRE_HANDLE(handle);
  REQUIRE_BYTES(graph, "graph");
  REQUIRE(ids || !max, "ids is null");
  REQUIRE(count, "count is null");
  *count = 0;
  const char *reason;
  switch (filter_graph(graph->ptr, graph->size, &reason)) {
  case FILTER_PASSES:
    break;
  case FILTER_MALFORMED:
    report_error(HIPDNN_PLUGIN_STATUS_SUCCESS,
                 "%s: the graph is no serialised graph of hipDNN's: %s", __func__, reason);
    report_log(HIPDNN_SEV_WARN, report_text());
    return HIPDNN_PLUGIN_STATUS_SUCCESS;
  default:
    return HIPDNN_PLUGIN_STATUS_SUCCESS;
  }
  const struct miopen_provider_table *library;
  uint64_t provided;
  uint32_t found = 0;
  if (open_for(handle, &library, &provided) != HIPDNN_PLUGIN_STATUS_SUCCESS) {
    if (library) /* else it was logged when it happened */
      report_log(HIPDNN_SEV_ERROR, report_text());
    return HIPDNN_PLUGIN_STATUS_SUCCESS;
  }
  int32_t status = library->applicable(provided, bytes_of(graph), ids, max, &found, report_text());
  if (status != HIPDNN_PLUGIN_STATUS_SUCCESS) {
    /* A decline is an answer as good as any; hipDNN asks every engine. */
    report_log(status == HIPDNN_PLUGIN_STATUS_NOT_APPLICABLE ? HIPDNN_SEV_INFO : HIPDNN_SEV_ERROR,
               report_text());
    return HIPDNN_PLUGIN_STATUS_SUCCESS;
  }
  *count = found;
  return HIPDNN_PLUGIN_STATUS_SUCCESS;
}

/* What the library gives out in memory of malloc. */
static void hand_out(hipdnnPluginConstData_t *to, void *data, size_t size) {
  to->ptr = data;
  to->size = size;
}

static void take_back(hipdnnPluginConstData_t *data) {
  free((void *)data->ptr);
  data->ptr = NULL;
  data->size = 0;
}

hipdnnPluginStatus_t hipdnnEnginePluginGetEngineDetails(hipdnnEnginePluginHandle_t handle,
                                                        int64_t engine,
                                                        const hipdnnPluginConstData_t *graph,
                                                        hipdnnPluginConstData_t *details) {
  REQUIRE_HANDLE(handle);
  REQUIRE_BYTES(graph, "graph");
  REQUIRE(details, "details is null");
  FORWARD_GRAPH(handle, graph);
  void *data;
  size_t size;
  int32_t status = library->details(provided, engine, bytes_of(graph), &data, &size, report_text());
  if (status == HIPDNN_PLUGIN_STATUS_SUCCESS)
    hand_out(details, data, size);
  return (hipdnnPluginStatus_t)status;
}

hipdnnPluginStatus_t hipdnnEnginePluginDestroyEngineDetails(hipdnnEnginePluginHandle_t handle,
                                                            hipdnnPluginConstData_t *details) {
  REQUIRE_HANDLE(handle);
  REQUIRE_BYTES(details, "engine details");
  take_back(details);
  return HIPDNN_PLUGIN_STATUS_SUCCESS;
}

hipdnnPluginStatus_t hipdnnEnginePluginGetWorkspaceSize(hipdnnEnginePluginHandle_t handle,
                                                        const hipdnnPluginConstData_t *config,
                                                        const hipdnnPluginConstData_t *graph,
                                                        size_t *bytes) {
  REQUIRE_HANDLE(handle);
  REQUIRE_BYTES(config, "engine configuration");
  REQUIRE_BYTES(graph, "graph");
  REQUIRE(bytes, "bytes is null");
  FORWARD_GRAPH(handle, graph);
  return (hipdnnPluginStatus_t)library->workspace(provided, bytes_of(config), bytes_of(graph),
                                                  bytes, report_text());
}

/* Takes over the library's context. */
static hipdnnPluginStatus_t keep(const struct miopen_provider_table *library, uint64_t provided,
                                 hipdnnEnginePluginExecutionContext_t *context) {
  struct HipdnnEnginePluginExecutionContext *made = malloc(sizeof *made);
  if (!made) {
    library->context_destroy(provided, report_text());
    return report_error(HIPDNN_PLUGIN_STATUS_ALLOC_FAILED, "no memory for an execution context");
  }
  *made = (struct HipdnnEnginePluginExecutionContext){CONTEXT, provided};
  *context = made;
  return HIPDNN_PLUGIN_STATUS_SUCCESS;
}

hipdnnPluginStatus_t hipdnnEnginePluginCreateExecutionContext(
    hipdnnEnginePluginHandle_t handle, const hipdnnPluginConstData_t *config,
    const hipdnnPluginConstData_t *graph, hipdnnEnginePluginExecutionContext_t *context) {
  REQUIRE_HANDLE(handle);
  REQUIRE_BYTES(config, "engine configuration");
  REQUIRE_BYTES(graph, "graph");
  REQUIRE(context, "context is null");
  FORWARD_GRAPH(handle, graph);
  uint64_t prepared;
  int32_t status =
      library->prepare(provided, bytes_of(config), bytes_of(graph), &prepared, report_text());
  if (status != HIPDNN_PLUGIN_STATUS_SUCCESS)
    return (hipdnnPluginStatus_t)status;
  return keep(library, prepared, context);
}

/* Copies memory that may not be there. */
static bool copy_checked(void *to, const void *from, size_t size) {
  struct iovec into = {to, size}, of = {(void *)from, size};
  return process_vm_readv(getpid(), &into, 1, &of, 1, 0) == (ssize_t)size;
}

/* A copy of the data that a structure says, for free; NULL where it is none. */
static void *copy_data(const void *structure, size_t *size) {
  hipdnnPluginConstData_t data = {NULL, 0};
  int host_errno = errno;
  void *copy = NULL;
  if (copy_checked(&data, structure, sizeof data) && data.size && data.size <= INT32_MAX &&
      (copy = malloc(data.size)) && !copy_checked(copy, data.ptr, data.size)) {
    free(copy);
    copy = NULL;
  }
  errno = host_errno;
  *size = data.size;
  return copy;
}

static hipdnnPluginStatus_t restore(hipdnnEnginePluginHandle_t handle,
                                    struct miopen_provider_bytes serialized,
                                    hipdnnEnginePluginExecutionContext_t *context) {
  const struct miopen_provider_table *library;
  uint64_t provided, restored;
  int32_t status = open_for(handle, &library, &provided);
  if (status == HIPDNN_PLUGIN_STATUS_SUCCESS)
    status = library->restore(provided, serialized, &restored, report_text());
  if (status != HIPDNN_PLUGIN_STATUS_SUCCESS)
    return (hipdnnPluginStatus_t)status;
  return keep(library, restored, context);
}

/* Exported as hipdnnEnginePluginCreateExecutionContextFromSerialized. A hipDNN of some months
 * (EnginePlugin.cpp at 27630224) has four arguments, as the header never had: the engine's
 * configuration comes before the serialised context. The second argument tells which it is, since
 * one of these engines' configurations is no serialised context. But who wrote the bytes may have
 * wanted that: so the third one is read as what may not be there, and the fourth, which is whatever
 * is in its register where the caller passes none, is not used before a context came out. */
hipdnnPluginStatus_t CreateExecutionContextFromSerialized(
    hipdnnEnginePluginHandle_t handle, const hipdnnPluginConstData_t *serialized, void *third,
    hipdnnEnginePluginExecutionContext_t
        *fourth) __asm__("hipdnnEnginePluginCreateExecutionContextFromSerialized")
    __attribute__((visibility("default")));

hipdnnPluginStatus_t
CreateExecutionContextFromSerialized(hipdnnEnginePluginHandle_t handle,
                                     const hipdnnPluginConstData_t *serialized, void *third,
                                     hipdnnEnginePluginExecutionContext_t *fourth) {
  REQUIRE_HANDLE(handle);
  REQUIRE_BYTES(serialized, "serialised execution context");
  REQUIRE(third, "context is null");
  int64_t engine;
  if (!filter_config(serialized->ptr, serialized->size, &engine) || !engine_name(engine))
    return restore(handle, bytes_of(serialized), third);
  size_t size;
  void *copy = copy_data(third, &size);
  if (!copy)
    return report_error(HIPDNN_PLUGIN_STATUS_INVALID_VALUE,
                        "%s: an engine's configuration is no serialised context", __func__);
  hipdnnPluginStatus_t status = restore(handle, (struct miopen_provider_bytes){copy, size}, fourth);
  free(copy);
  return status;
}

hipdnnPluginStatus_t
hipdnnEnginePluginDestroyExecutionContext(hipdnnEnginePluginHandle_t handle,
                                          hipdnnEnginePluginExecutionContext_t context) {
  REQUIRE_HANDLE(handle);
  REQUIRE_CONTEXT(context);
  int32_t status = HIPDNN_PLUGIN_STATUS_SUCCESS;
  const struct miopen_provider_table *library = library_opened();
  if (library)
    status = library->context_destroy(context->provided, report_text());
  context->kind = 0;
  free(context);
  return (hipdnnPluginStatus_t)status;
}

/* There are contexts, so it is open, unless this is a child of that process. */
#define FORWARD_CONTEXT()                                                                          \
  const struct miopen_provider_table *library = library_open(report_text());                       \
  do {                                                                                             \
    if (!library)                                                                                  \
      return HIPDNN_PLUGIN_STATUS_NOT_APPLICABLE;                                                  \
  } while (0)

hipdnnPluginStatus_t
hipdnnEnginePluginGetWorkspaceSizeFromExecutionContext(hipdnnEnginePluginHandle_t handle,
                                                       hipdnnEnginePluginExecutionContext_t context,
                                                       size_t *bytes) {
  REQUIRE_HANDLE(handle);
  REQUIRE_CONTEXT(context);
  REQUIRE(bytes, "bytes is null");
  FORWARD_CONTEXT();
  return (hipdnnPluginStatus_t)library->context_workspace(context->provided, bytes, report_text());
}

hipdnnPluginStatus_t
hipdnnEnginePluginSerializeExecutionContext(hipdnnEnginePluginHandle_t handle,
                                            hipdnnEnginePluginExecutionContext_t context,
                                            hipdnnPluginConstData_t *serialized) {
  REQUIRE_HANDLE(handle);
  REQUIRE_CONTEXT(context);
  REQUIRE(serialized, "serialized is null");
  FORWARD_CONTEXT();
  void *data;
  size_t size;
  int32_t status = library->serialize(context->provided, &data, &size, report_text());
  if (status == HIPDNN_PLUGIN_STATUS_SUCCESS)
    hand_out(serialized, data, size);
  return (hipdnnPluginStatus_t)status;
}

hipdnnPluginStatus_t hipdnnEnginePluginSerializeExecutionContextWithEngineId(
    hipdnnEnginePluginHandle_t handle, int64_t engine, hipdnnEnginePluginExecutionContext_t context,
    hipdnnPluginConstData_t *serialized) {
  REQUIRE(engine_name(engine), "the engine is not of this plugin");
  return hipdnnEnginePluginSerializeExecutionContext(handle, context, serialized);
}

hipdnnPluginStatus_t
hipdnnEnginePluginDestroySerializedExecutionContext(hipdnnEnginePluginHandle_t handle,
                                                    hipdnnPluginConstData_t *serialized) {
  REQUIRE_HANDLE(handle);
  REQUIRE_BYTES(serialized, "serialised execution context");
  take_back(serialized);
  return HIPDNN_PLUGIN_STATUS_SUCCESS;
}

/* The buffers go through as they are. */
_Static_assert(sizeof(hipdnnPluginDeviceBuffer_t) == sizeof(struct miopen_provider_buffer) &&
                   offsetof(hipdnnPluginDeviceBuffer_t, ptr) ==
                       offsetof(struct miopen_provider_buffer, address),
               "a buffer is an id and an address");

hipdnnPluginStatus_t hipdnnEnginePluginExecuteOpGraph(hipdnnEnginePluginHandle_t handle,
                                                      hipdnnEnginePluginExecutionContext_t context,
                                                      void *workspace,
                                                      const hipdnnPluginDeviceBuffer_t *buffers,
                                                      uint32_t count) {
  REQUIRE_HANDLE(handle);
  REQUIRE_CONTEXT(context);
  REQUIRE(buffers && count, "there are no buffers");
  FORWARD_CONTEXT();
  uint64_t provided;
  hipdnnPluginStatus_t status = provide(library, handle, &provided);
  if (status != HIPDNN_PLUGIN_STATUS_SUCCESS)
    return status;
  return (hipdnnPluginStatus_t)library->execute(provided, context->provided, workspace,
                                                (const struct miopen_provider_buffer *)buffers,
                                                count, report_text());
}

/* Graphs that ask for overrides are never accepted, so that there can be none. */
hipdnnPluginStatus_t hipdnnEnginePluginExecuteOpGraphWithOverrides(
    hipdnnEnginePluginHandle_t handle, hipdnnEnginePluginExecutionContext_t context,
    void *workspace, const hipdnnPluginDeviceBuffer_t *buffers, uint32_t count,
    uint32_t override_count, const int64_t *override_uids, const uint32_t *override_ranks,
    const int64_t *const *override_dims, const int64_t *const *override_strides) {
  (void)override_uids;
  (void)override_ranks;
  (void)override_dims;
  (void)override_strides;
  REQUIRE_HANDLE(handle);
  REQUIRE_CONTEXT(context);
  if (override_count)
    return report_error(HIPDNN_PLUGIN_STATUS_NOT_APPLICABLE,
                        "%s: no engine of this plugin runs a graph with other shapes than its own",
                        __func__);
  return hipdnnEnginePluginExecuteOpGraph(handle, context, workspace, buffers, count);
}
