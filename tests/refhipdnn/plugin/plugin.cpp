// An engine plugin for the loader's tests. Its one engine, TEST_ENGINE, computes what the built-in
// engines compute, from the serialised graph. TESTPLUGIN_DEFECT makes it misbehave in one way:
//
//   api-version   says 2.0.0                 version-text  says something that is no version
//   type          is a heuristics plugin     no-engines    has none
//   duplicate     has its engine twice       name          names it as its id does not hash to
//   taken         has REF_DIRECT's id        create        cannot make a handle
//   details       gives details that are no FlatBuffer
//   applicable    fails to say which engines apply         context       cannot prepare a graph
//   execute       cannot execute
//   old           says 1.0.0 (graphs that require more are kept from it)
//
// TESTPLUGIN_ENGINES=FILE=NAME,... names the engine of a copy of the plugin that has that file
// name.

#include "refhipdnn/engine_plugin.h"

#include "cpu/program.hpp"
#include "wire.hpp"

#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <string>

using namespace refhipdnn;

struct HipdnnEnginePluginHandle {
  hipdnnRefStream_t stream;
};

struct HipdnnEnginePluginExecutionContext {
  Graph graph;
};

namespace {

thread_local const char *last_error = "";

bool defect(const char *which) {
  const char *value = std::getenv("TESTPLUGIN_DEFECT");
  return value != nullptr && std::strcmp(value, which) == 0;
}

hipdnnPluginStatus_t refuse(hipdnnPluginStatus_t status, const char *text) {
  last_error = text;
  return status;
}

std::string named() {
  const char *names = std::getenv("TESTPLUGIN_ENGINES");
  Dl_info info;
  if (names == nullptr || dladdr(reinterpret_cast<void *>(&named), &info) == 0) {
    return "TEST_ENGINE";
  }
  std::string list = std::string(",") + names + ",", file = info.dli_fname;
  size_t at = list.find("," + file.substr(file.rfind('/') + 1) + "=");
  if (at == std::string::npos) {
    return "TEST_ENGINE";
  }
  at = list.find('=', at) + 1;
  return list.substr(at, list.find(',', at) - at);
}

const char *engine_name() {
  static const std::string name = named();
  return defect("taken") ? "REF_DIRECT" : name.c_str();
}

int64_t engine() {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const char *c = engine_name(); *c != '\0'; c++) {
    hash = (hash ^ static_cast<unsigned char>(*c)) * 0x100000001b3u;
  }
  return static_cast<int64_t>(hash);
}

constexpr size_t kWorkspace = 64;

Graph read(const hipdnnPluginConstData_t *graph) {
  return wire::decode_graph(static_cast<const uint8_t *>(graph->ptr), graph->size);
}

} // namespace

#define API extern "C" __attribute__((visibility("default")))

API hipdnnPluginStatus_t hipdnnPluginGetName(const char **name) {
  *name = "test plugin";
  return HIPDNN_PLUGIN_STATUS_SUCCESS;
}

API hipdnnPluginStatus_t hipdnnPluginGetVersion(const char **version) {
  *version = "0.1.0";
  return HIPDNN_PLUGIN_STATUS_SUCCESS;
}

API hipdnnPluginStatus_t hipdnnPluginGetApiVersion(const char **version) {
  *version = defect("api-version")    ? "2.0.0"
             : defect("version-text") ? "newest"
             : defect("old")          ? "1.0.0"
                                      : "1.4.0";
  return HIPDNN_PLUGIN_STATUS_SUCCESS;
}

API hipdnnPluginStatus_t hipdnnPluginGetType(hipdnnPluginType_t *type) {
  *type = defect("type") ? HIPDNN_PLUGIN_TYPE_HEURISTIC : HIPDNN_PLUGIN_TYPE_ENGINE;
  return HIPDNN_PLUGIN_STATUS_SUCCESS;
}

API void hipdnnPluginGetLastErrorString(const char **text) {
  *text = last_error;
}

API hipdnnPluginStatus_t hipdnnPluginSetLoggingCallback(hipdnnCallback_t callback) {
  callback(HIPDNN_SEV_INFO, "the test plugin has a log");
  return HIPDNN_PLUGIN_STATUS_SUCCESS;
}

API hipdnnPluginStatus_t hipdnnEnginePluginGetAllEngineIds(int64_t *ids, uint32_t max,
                                                           uint32_t *count) {
  *count = defect("no-engines") ? 0 : defect("duplicate") ? 2 : 1;
  for (uint32_t i = 0; i < max && i < *count; i++) {
    ids[i] = engine();
  }
  return HIPDNN_PLUGIN_STATUS_SUCCESS;
}

API hipdnnPluginStatus_t hipdnnEnginePluginGetEngineName(int64_t, const char **name) {
  *name = defect("name") ? "ANOTHER_ENGINE" : engine_name();
  return HIPDNN_PLUGIN_STATUS_SUCCESS;
}

API hipdnnPluginStatus_t hipdnnEnginePluginCreate(hipdnnEnginePluginHandle_t *handle) {
  if (defect("create")) {
    return refuse(HIPDNN_PLUGIN_STATUS_ALLOC_FAILED, "no handle today");
  }
  *handle = new HipdnnEnginePluginHandle{nullptr};
  return HIPDNN_PLUGIN_STATUS_SUCCESS;
}

API hipdnnPluginStatus_t hipdnnEnginePluginDestroy(hipdnnEnginePluginHandle_t handle) {
  delete handle;
  return HIPDNN_PLUGIN_STATUS_SUCCESS;
}

API hipdnnPluginStatus_t hipdnnEnginePluginSetStream(hipdnnEnginePluginHandle_t handle,
                                                     hipdnnRefStream_t stream) {
  handle->stream = stream;
  return HIPDNN_PLUGIN_STATUS_SUCCESS;
}

API hipdnnPluginStatus_t hipdnnEnginePluginGetApplicableEngineIds(
    hipdnnEnginePluginHandle_t, const hipdnnPluginConstData_t *graph, int64_t *ids, uint32_t max,
    uint32_t *count) {
  if (defect("applicable")) {
    return refuse(HIPDNN_PLUGIN_STATUS_INTERNAL_ERROR, "no opinion on the graph");
  }
  std::string why;
  *count = max > 0 && cpu::supported(read(graph), why) ? 1 : 0;
  if (*count == 1) {
    ids[0] = engine();
  }
  return HIPDNN_PLUGIN_STATUS_SUCCESS;
}

API hipdnnPluginStatus_t hipdnnEnginePluginGetEngineDetails(hipdnnEnginePluginHandle_t, int64_t id,
                                                            const hipdnnPluginConstData_t *,
                                                            hipdnnPluginConstData_t *details) {
  EngineDetails d;
  d.engine = id;
  d.name = engine_name();
  flatbuffer::Bytes bytes = wire::encode(d);
  if (defect("details")) {
    bytes.assign(16, 0xff);
  }
  auto *copy = new uint8_t[bytes.size()];
  std::memcpy(copy, bytes.data(), bytes.size());
  *details = {copy, bytes.size()};
  return HIPDNN_PLUGIN_STATUS_SUCCESS;
}

API hipdnnPluginStatus_t hipdnnEnginePluginDestroyEngineDetails(hipdnnEnginePluginHandle_t,
                                                                hipdnnPluginConstData_t *details) {
  delete[] static_cast<const uint8_t *>(details->ptr);
  *details = {nullptr, 0};
  return HIPDNN_PLUGIN_STATUS_SUCCESS;
}

API hipdnnPluginStatus_t hipdnnEnginePluginGetWorkspaceSize(hipdnnEnginePluginHandle_t,
                                                            const hipdnnPluginConstData_t *,
                                                            const hipdnnPluginConstData_t *,
                                                            size_t *size) {
  *size = kWorkspace;
  return HIPDNN_PLUGIN_STATUS_SUCCESS;
}

API hipdnnPluginStatus_t hipdnnEnginePluginCreateExecutionContext(
    hipdnnEnginePluginHandle_t, const hipdnnPluginConstData_t *config,
    const hipdnnPluginConstData_t *graph, hipdnnEnginePluginExecutionContext_t *context) {
  EngineConfig read_config =
      wire::decode_engine_config(static_cast<const uint8_t *>(config->ptr), config->size);
  if (defect("context") || read_config.engine != engine()) {
    return refuse(HIPDNN_PLUGIN_STATUS_INTERNAL_ERROR, "no context for the graph");
  }
  *context = new HipdnnEnginePluginExecutionContext{read(graph)};
  return HIPDNN_PLUGIN_STATUS_SUCCESS;
}

API hipdnnPluginStatus_t hipdnnEnginePluginDestroyExecutionContext(
    hipdnnEnginePluginHandle_t, hipdnnEnginePluginExecutionContext_t context) {
  delete context;
  return HIPDNN_PLUGIN_STATUS_SUCCESS;
}

API hipdnnPluginStatus_t hipdnnEnginePluginGetWorkspaceSizeFromExecutionContext(
    hipdnnEnginePluginHandle_t, hipdnnEnginePluginExecutionContext_t, size_t *size) {
  *size = kWorkspace;
  return HIPDNN_PLUGIN_STATUS_SUCCESS;
}

API hipdnnPluginStatus_t hipdnnEnginePluginExecuteOpGraph(
    hipdnnEnginePluginHandle_t, hipdnnEnginePluginExecutionContext_t context, void *workspace,
    const hipdnnPluginDeviceBuffer_t *buffers, uint32_t count) {
  if (defect("execute")) {
    return refuse(HIPDNN_PLUGIN_STATUS_INTERNAL_ERROR, "no execution today");
  }
  std::memset(workspace, 0, kWorkspace);
  std::map<int64_t, void *> pointers;
  for (uint32_t i = 0; i < count; i++) {
    pointers[buffers[i].uid] = buffers[i].ptr;
  }
  cpu::run(context->graph, cpu::Method::Deterministic, pointers, 1);
  return HIPDNN_PLUGIN_STATUS_SUCCESS;
}

API hipdnnPluginStatus_t hipdnnEnginePluginSerializeExecutionContext(
    hipdnnEnginePluginHandle_t, hipdnnEnginePluginExecutionContext_t context,
    hipdnnPluginConstData_t *serialized) {
  flatbuffer::Bytes bytes = wire::encode(context->graph);
  auto *copy = new uint8_t[bytes.size()];
  std::memcpy(copy, bytes.data(), bytes.size());
  *serialized = {copy, bytes.size()};
  return HIPDNN_PLUGIN_STATUS_SUCCESS;
}

API hipdnnPluginStatus_t hipdnnEnginePluginDestroySerializedExecutionContext(
    hipdnnEnginePluginHandle_t handle, hipdnnPluginConstData_t *serialized) {
  return hipdnnEnginePluginDestroyEngineDetails(handle, serialized);
}

API hipdnnPluginStatus_t hipdnnEnginePluginCreateExecutionContextFromSerialized(
    hipdnnEnginePluginHandle_t, const hipdnnPluginConstData_t *serialized,
    hipdnnEnginePluginExecutionContext_t *context) {
  *context = new HipdnnEnginePluginExecutionContext{read(serialized)};
  return HIPDNN_PLUGIN_STATUS_SUCCESS;
}
