/* hipDNN's engine plugin ABI: what an engine plugin exports.
 *
 * Names, numbers and signatures from ROCm/rocm-libraries, projects/hipdnn/plugin_sdk/include/
 * hipdnn_plugin_sdk: EnginePluginApi.h at 5551403a, PluginApi.h at 00f73948, PluginApiDataTypes.h
 * at fa042723; severities from HipdnnBackendCallbackTypes.h at 0f778817. A test holds them against
 * those that tests/refhipdnn has.
 *
 * hipDNN asks every plugin in turn and gives up when one fails (EnginePluginResourceManager.cpp at
 * 84b06fc1: GetApplicableEngineIds and SetStream are called in loops that the first error ends), so
 * both succeed here unless the caller is wrong. */
#ifndef MIOPEN_PROVIDER_PLUGIN_ENGINE_PLUGIN_H_
#define MIOPEN_PROVIDER_PLUGIN_ENGINE_PLUGIN_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HIPDNN_PLUGIN_EXPORT __attribute__((visibility("default")))

typedef enum {
  HIPDNN_PLUGIN_STATUS_SUCCESS = 0,
  HIPDNN_PLUGIN_STATUS_BAD_PARAM = 1,
  HIPDNN_PLUGIN_STATUS_INVALID_VALUE = 2,
  HIPDNN_PLUGIN_STATUS_INTERNAL_ERROR = 3,
  HIPDNN_PLUGIN_STATUS_ALLOC_FAILED = 4,
  HIPDNN_PLUGIN_STATUS_NOT_APPLICABLE = 5,
  HIPDNN_PLUGIN_STATUS_NOT_INITIALIZED = 6
} hipdnnPluginStatus_t;

typedef enum {
  HIPDNN_PLUGIN_TYPE_UNSPECIFIED = 0,
  HIPDNN_PLUGIN_TYPE_ENGINE = 1,
  HIPDNN_PLUGIN_TYPE_HEURISTIC = 2
} hipdnnPluginType_t;

typedef enum {
  HIPDNN_SEV_INFO = 0,
  HIPDNN_SEV_WARN = 1,
  HIPDNN_SEV_ERROR = 2,
  HIPDNN_SEV_FATAL = 3,
  HIPDNN_SEV_OFF = 4
} hipdnnSeverity_t;

typedef void (*hipdnnCallback_t)(hipdnnSeverity_t severity, const char *text);

/* With its NUL. */
#define HIPDNN_PLUGIN_ERROR_STRING_MAX_LENGTH 2048

typedef struct {
  const void *ptr;
  size_t size;
} hipdnnPluginConstData_t;

typedef struct {
  int64_t uid;
  void *ptr;
} hipdnnPluginDeviceBuffer_t;

typedef struct HipdnnEnginePluginHandle *hipdnnEnginePluginHandle_t;
typedef struct HipdnnEnginePluginExecutionContext *hipdnnEnginePluginExecutionContext_t;
typedef struct ihipStream_t *hipStream_t;

/* Every plugin. GetApiVersion and the two of the log are optional. */

HIPDNN_PLUGIN_EXPORT hipdnnPluginStatus_t hipdnnPluginGetName(const char **name);
HIPDNN_PLUGIN_EXPORT hipdnnPluginStatus_t hipdnnPluginGetVersion(const char **version);
HIPDNN_PLUGIN_EXPORT hipdnnPluginStatus_t hipdnnPluginGetType(hipdnnPluginType_t *type);
/* The text of this thread's last failure. */
HIPDNN_PLUGIN_EXPORT void hipdnnPluginGetLastErrorString(const char **text);
HIPDNN_PLUGIN_EXPORT hipdnnPluginStatus_t hipdnnPluginGetApiVersion(const char **version);
HIPDNN_PLUGIN_EXPORT hipdnnPluginStatus_t hipdnnPluginSetLoggingCallback(hipdnnCallback_t callback);
HIPDNN_PLUGIN_EXPORT hipdnnPluginStatus_t hipdnnPluginSetLogLevel(hipdnnSeverity_t level);

/* Every engine plugin. */

/* With max 0, count gets how many engines there are; else how many of them are in ids. */
HIPDNN_PLUGIN_EXPORT hipdnnPluginStatus_t hipdnnEnginePluginGetAllEngineIds(int64_t *ids,
                                                                            uint32_t max,
                                                                            uint32_t *count);
HIPDNN_PLUGIN_EXPORT hipdnnPluginStatus_t
hipdnnEnginePluginCreate(hipdnnEnginePluginHandle_t *handle);
HIPDNN_PLUGIN_EXPORT hipdnnPluginStatus_t
hipdnnEnginePluginDestroy(hipdnnEnginePluginHandle_t handle);
HIPDNN_PLUGIN_EXPORT hipdnnPluginStatus_t
hipdnnEnginePluginSetStream(hipdnnEnginePluginHandle_t handle, hipStream_t stream);
/* At most max ids; count gets how many engines apply, even if that is more. */
HIPDNN_PLUGIN_EXPORT hipdnnPluginStatus_t hipdnnEnginePluginGetApplicableEngineIds(
    hipdnnEnginePluginHandle_t handle, const hipdnnPluginConstData_t *graph, int64_t *ids,
    uint32_t max, uint32_t *count);
/* Details are the plugin's until they are destroyed, which clears the structure. */
HIPDNN_PLUGIN_EXPORT hipdnnPluginStatus_t hipdnnEnginePluginGetEngineDetails(
    hipdnnEnginePluginHandle_t handle, int64_t engine, const hipdnnPluginConstData_t *graph,
    hipdnnPluginConstData_t *details);
HIPDNN_PLUGIN_EXPORT hipdnnPluginStatus_t hipdnnEnginePluginDestroyEngineDetails(
    hipdnnEnginePluginHandle_t handle, hipdnnPluginConstData_t *details);
HIPDNN_PLUGIN_EXPORT hipdnnPluginStatus_t hipdnnEnginePluginGetWorkspaceSize(
    hipdnnEnginePluginHandle_t handle, const hipdnnPluginConstData_t *config,
    const hipdnnPluginConstData_t *graph, size_t *bytes);
HIPDNN_PLUGIN_EXPORT hipdnnPluginStatus_t hipdnnEnginePluginCreateExecutionContext(
    hipdnnEnginePluginHandle_t handle, const hipdnnPluginConstData_t *config,
    const hipdnnPluginConstData_t *graph, hipdnnEnginePluginExecutionContext_t *context);
HIPDNN_PLUGIN_EXPORT hipdnnPluginStatus_t hipdnnEnginePluginDestroyExecutionContext(
    hipdnnEnginePluginHandle_t handle, hipdnnEnginePluginExecutionContext_t context);
HIPDNN_PLUGIN_EXPORT hipdnnPluginStatus_t hipdnnEnginePluginGetWorkspaceSizeFromExecutionContext(
    hipdnnEnginePluginHandle_t handle, hipdnnEnginePluginExecutionContext_t context, size_t *bytes);
HIPDNN_PLUGIN_EXPORT hipdnnPluginStatus_t hipdnnEnginePluginExecuteOpGraph(
    hipdnnEnginePluginHandle_t handle, hipdnnEnginePluginExecutionContext_t context,
    void *workspace, const hipdnnPluginDeviceBuffer_t *buffers, uint32_t count);

/* Optional; those of serialisation go together. */

HIPDNN_PLUGIN_EXPORT hipdnnPluginStatus_t hipdnnEnginePluginSerializeExecutionContext(
    hipdnnEnginePluginHandle_t handle, hipdnnEnginePluginExecutionContext_t context,
    hipdnnPluginConstData_t *serialized);
HIPDNN_PLUGIN_EXPORT hipdnnPluginStatus_t hipdnnEnginePluginDestroySerializedExecutionContext(
    hipdnnEnginePluginHandle_t handle, hipdnnPluginConstData_t *serialized);
/* The same, of the engine that built the plan: what later hipDNNs call, and they take a plugin that
 * has the other one alone for one that cannot serialise
 * (docs/rfcs/0009_CompiledPlanSerialization.md). */
HIPDNN_PLUGIN_EXPORT hipdnnPluginStatus_t hipdnnEnginePluginSerializeExecutionContextWithEngineId(
    hipdnnEnginePluginHandle_t handle, int64_t engine, hipdnnEnginePluginExecutionContext_t context,
    hipdnnPluginConstData_t *serialized);
/* hipDNN at 27630224 put the engine's configuration before serialized; the public header never did.
 */
HIPDNN_PLUGIN_EXPORT hipdnnPluginStatus_t hipdnnEnginePluginCreateExecutionContextFromSerialized(
    hipdnnEnginePluginHandle_t handle, const hipdnnPluginConstData_t *serialized,
    hipdnnEnginePluginExecutionContext_t *context);
/* hipDNN calls it for plans of graphs that ask for overrides only, and only if the plugin's API
 * version is 1.1.0 or later. */
HIPDNN_PLUGIN_EXPORT hipdnnPluginStatus_t hipdnnEnginePluginExecuteOpGraphWithOverrides(
    hipdnnEnginePluginHandle_t handle, hipdnnEnginePluginExecutionContext_t context,
    void *workspace, const hipdnnPluginDeviceBuffer_t *buffers, uint32_t count,
    uint32_t override_count, const int64_t *override_uids, const uint32_t *override_ranks,
    const int64_t *const *override_dims, const int64_t *const *override_strides);
/* hipDNN goes by the symbol, not by the plugin's API version. A name hashes to its engine's id. */
HIPDNN_PLUGIN_EXPORT hipdnnPluginStatus_t hipdnnEnginePluginGetEngineName(int64_t engine,
                                                                          const char **name);

#ifdef __cplusplus
}
#endif

#endif
