#ifndef REFHIPDNN_ENGINE_PLUGIN_H
#define REFHIPDNN_ENGINE_PLUGIN_H

/*
 * hipDNN's engine plugin ABI: what a plugin exports and the loader of tests/refhipdnn calls.
 * Written from ROCm/rocm-libraries projects/hipdnn/plugin_sdk/include/hipdnn_plugin_sdk:
 * EnginePluginApi.h @ 0574176a, PluginApi.h @ 00f73948, PluginApiDataTypes.h @ fa042723.
 *
 * Every function returns a status unless its type says otherwise. Serialised data in goes by
 * pointer and belongs to the caller; EngineDetails and serialised contexts belong to the plugin
 * until the matching Destroy function. Error text is the calling thread's.
 */

#include "refhipdnn/hipdnn_backend.h"

#if defined(__cplusplus)
extern "C" {
#endif

typedef enum REFHIPDNN_INT {
  HIPDNN_PLUGIN_STATUS_SUCCESS = 0,
  HIPDNN_PLUGIN_STATUS_BAD_PARAM = 1,
  HIPDNN_PLUGIN_STATUS_INVALID_VALUE = 2,
  HIPDNN_PLUGIN_STATUS_INTERNAL_ERROR = 3,
  HIPDNN_PLUGIN_STATUS_ALLOC_FAILED = 4,
  HIPDNN_PLUGIN_STATUS_NOT_APPLICABLE = 5,
  HIPDNN_PLUGIN_STATUS_NOT_INITIALIZED = 6
} hipdnnPluginStatus_t;

typedef enum REFHIPDNN_INT {
  HIPDNN_PLUGIN_TYPE_UNSPECIFIED = 0,
  HIPDNN_PLUGIN_TYPE_ENGINE = 1,
  HIPDNN_PLUGIN_TYPE_HEURISTIC = 2
} hipdnnPluginType_t;

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

/* Required of every plugin, except GetApiVersion ("1.0.0" when absent) and the log functions. */
hipdnnPluginStatus_t hipdnnPluginGetName(const char **name);
hipdnnPluginStatus_t hipdnnPluginGetVersion(const char **version);
hipdnnPluginStatus_t hipdnnPluginGetType(hipdnnPluginType_t *type);
void hipdnnPluginGetLastErrorString(const char **text);
hipdnnPluginStatus_t hipdnnPluginGetApiVersion(const char **version);
hipdnnPluginStatus_t hipdnnPluginSetLoggingCallback(hipdnnCallback_t callback);
hipdnnPluginStatus_t hipdnnPluginSetLogLevel(hipdnnSeverity_t level);

/* Required of an engine plugin. GetAllEngineIds is asked with (NULL, 0) first. */
hipdnnPluginStatus_t hipdnnEnginePluginGetAllEngineIds(int64_t *ids, uint32_t max, uint32_t *count);
hipdnnPluginStatus_t hipdnnEnginePluginCreate(hipdnnEnginePluginHandle_t *handle);
hipdnnPluginStatus_t hipdnnEnginePluginDestroy(hipdnnEnginePluginHandle_t handle);
hipdnnPluginStatus_t hipdnnEnginePluginSetStream(hipdnnEnginePluginHandle_t handle,
                                                 hipdnnRefStream_t stream);
hipdnnPluginStatus_t hipdnnEnginePluginGetApplicableEngineIds(hipdnnEnginePluginHandle_t handle,
                                                              const hipdnnPluginConstData_t *graph,
                                                              int64_t *ids, uint32_t max,
                                                              uint32_t *count);
hipdnnPluginStatus_t hipdnnEnginePluginGetEngineDetails(hipdnnEnginePluginHandle_t handle,
                                                        int64_t id,
                                                        const hipdnnPluginConstData_t *graph,
                                                        hipdnnPluginConstData_t *details);
hipdnnPluginStatus_t hipdnnEnginePluginDestroyEngineDetails(hipdnnEnginePluginHandle_t handle,
                                                            hipdnnPluginConstData_t *details);
hipdnnPluginStatus_t hipdnnEnginePluginGetWorkspaceSize(hipdnnEnginePluginHandle_t handle,
                                                        const hipdnnPluginConstData_t *config,
                                                        const hipdnnPluginConstData_t *graph,
                                                        size_t *size);
hipdnnPluginStatus_t hipdnnEnginePluginCreateExecutionContext(
    hipdnnEnginePluginHandle_t handle, const hipdnnPluginConstData_t *config,
    const hipdnnPluginConstData_t *graph, hipdnnEnginePluginExecutionContext_t *context);
hipdnnPluginStatus_t
hipdnnEnginePluginDestroyExecutionContext(hipdnnEnginePluginHandle_t handle,
                                          hipdnnEnginePluginExecutionContext_t context);
hipdnnPluginStatus_t hipdnnEnginePluginGetWorkspaceSizeFromExecutionContext(
    hipdnnEnginePluginHandle_t handle, hipdnnEnginePluginExecutionContext_t context, size_t *size);
hipdnnPluginStatus_t hipdnnEnginePluginExecuteOpGraph(hipdnnEnginePluginHandle_t handle,
                                                      hipdnnEnginePluginExecutionContext_t context,
                                                      void *workspace,
                                                      const hipdnnPluginDeviceBuffer_t *buffers,
                                                      uint32_t count);

/* Optional: the three of serialisation go together; a name must hash to its id (FNV-1a, 64 bits).
 */
hipdnnPluginStatus_t
hipdnnEnginePluginSerializeExecutionContext(hipdnnEnginePluginHandle_t handle,
                                            hipdnnEnginePluginExecutionContext_t context,
                                            hipdnnPluginConstData_t *serialized);
hipdnnPluginStatus_t
hipdnnEnginePluginDestroySerializedExecutionContext(hipdnnEnginePluginHandle_t handle,
                                                    hipdnnPluginConstData_t *serialized);
hipdnnPluginStatus_t hipdnnEnginePluginCreateExecutionContextFromSerialized(
    hipdnnEnginePluginHandle_t handle, const hipdnnPluginConstData_t *serialized,
    hipdnnEnginePluginExecutionContext_t *context);
hipdnnPluginStatus_t hipdnnEnginePluginGetEngineName(int64_t id, const char **name);

#if defined(__cplusplus)
}
#endif
#endif
