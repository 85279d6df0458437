#pragma once

// The backend under test, opened by name, so that the same program runs on any library with this
// ABI.

#include "refhipdnn/hipdnn_backend.h"

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

// Every function of the API that the driver calls.
#define BACKEND_FUNCTIONS(F)                                                                       \
  F(hipdnnCreate)                                                                                  \
  F(hipdnnDestroy)                                                                                 \
  F(hipdnnSetStream)                                                                               \
  F(hipdnnGetStream)                                                                               \
  F(hipdnnBackendCreateDescriptor)                                                                 \
  F(hipdnnBackendDestroyDescriptor)                                                                \
  F(hipdnnBackendFinalize)                                                                         \
  F(hipdnnBackendSetAttribute)                                                                     \
  F(hipdnnBackendGetAttribute)                                                                     \
  F(hipdnnBackendExecute)                                                                          \
  F(hipdnnGetErrorString)                                                                          \
  F(hipdnnGetLastErrorString)                                                                      \
  F(hipdnnPeekLastErrorString_ext)                                                                 \
  F(hipdnnBackendCreateAndDeserializeGraph_ext)                                                    \
  F(hipdnnBackendGetSerializedBinaryGraph_ext)                                                     \
  F(hipdnnBackendGetSerializedExecutionPlan_ext)                                                   \
  F(hipdnnBackendCreateAndDeserializeExecutionPlan_ext)                                            \
  F(hipdnnBackendGetSerializedBinaryGraphAndPlan_ext)                                              \
  F(hipdnnBackendGetSerializedBinaryContents_ext)                                                  \
  F(hipdnnLoggingCallback_ext)                                                                     \
  F(hipdnnSetUserLogCallback_ext)                                                                  \
  F(hipdnnBackendSetGlobalLogLevel_ext)                                                            \
  F(hipdnnBackendGetGlobalLogLevel_ext)                                                            \
  F(hipdnnSetEnginePluginPaths_ext)                                                                \
  F(hipdnnSetPluginUnloadMode_ext)                                                                 \
  F(hipdnnGetLoadedEnginePluginPaths_ext)                                                          \
  F(hipdnnGetEngineCount_ext)                                                                      \
  F(hipdnnGetEngineInfo_ext)                                                                       \
  F(hipdnnGetEngineIdByName_ext)                                                                   \
  F(hipdnnGetVersion_ext)                                                                          \
  F(hipdnnVersionString_ext)

struct Backend {
#define DECLARE(name) decltype(&::name) name = nullptr;
  BACKEND_FUNCTIONS(DECLARE)
#undef DECLARE

  bool early = false; // by the version string

  // Throws std::runtime_error when the library or a function is missing.
  explicit Backend(const std::string &path);
};

// The backend that the program was started with.
extern Backend *backend;

// A call that returned a failure: which, with what, and the thread's text.
struct CallFailed : std::runtime_error {
  CallFailed(const char *function, hipdnnStatus_t status, const std::string &text)
      : std::runtime_error(text), function(function), status(status) {}
  const char *function;
  hipdnnStatus_t status;
};

std::string last_error();
void check(hipdnnStatus_t status, const char *function);
#define CHECK(function, ...) check(backend->function(__VA_ARGS__), #function)

// A descriptor, destroyed with the object.
class Object {
public:
  Object() = default;
  explicit Object(int type);
  explicit Object(hipdnnBackendDescriptor_t taken) : object_(taken) {}
  ~Object();
  Object(Object &&other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Object &operator=(Object &&other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  hipdnnBackendDescriptor_t get() const {
    return object_;
  }

  void set(hipdnnBackendAttributeName_t name, hipdnnBackendAttributeType_t type, int64_t count,
           const void *elements);
  void set(hipdnnBackendAttributeName_t name, const std::vector<int64_t> &values) {
    set(name, HIPDNN_TYPE_INT64, static_cast<int64_t>(values.size()), values.data());
  }
  void set(hipdnnBackendAttributeName_t name, int64_t value) {
    set(name, HIPDNN_TYPE_INT64, 1, &value);
  }
  void set(hipdnnBackendAttributeName_t name, bool value) {
    set(name, HIPDNN_TYPE_BOOLEAN, 1, &value);
  }
  void set(hipdnnBackendAttributeName_t name, float value) {
    set(name, HIPDNN_TYPE_FLOAT, 1, &value);
  }
  void set(hipdnnBackendAttributeName_t name, hipdnnDataType_t value) {
    set(name, HIPDNN_TYPE_DATA_TYPE, 1, &value);
  }
  void set(hipdnnBackendAttributeName_t name, const Object &value) {
    hipdnnBackendDescriptor_t object = value.get();
    set(name, HIPDNN_TYPE_BACKEND_DESCRIPTOR, 1, &object);
  }
  int64_t number(hipdnnBackendAttributeName_t name);
  Object object(hipdnnBackendAttributeName_t name);
  void finalize();

private:
  hipdnnBackendDescriptor_t object_ = nullptr;
};

class HandleObject {
public:
  HandleObject();
  ~HandleObject();
  HandleObject(const HandleObject &) = delete;
  HandleObject &operator=(const HandleObject &) = delete;
  hipdnnHandle_t get() const {
    return handle_;
  }

private:
  hipdnnHandle_t handle_ = nullptr;
};

// The usual steps.
int descriptor_type(int late); // in the numbering of the backend's version
Object make_tensor(int64_t uid, hipdnnDataType_t type, const std::vector<int64_t> &dims,
                   const std::vector<int64_t> &strides, bool is_virtual, bool finalize = true);
struct ConvolutionParameters {
  std::vector<int64_t> pre, post, strides, dilations;
  int mode; // hipdnnConvolutionMode_t
  hipdnnDataType_t compute;
};
void set_convolution(Object &operation, const ConvolutionParameters &parameters);
Object make_graph(hipdnnHandle_t handle, const std::vector<const Object *> &operations);
std::vector<Object> engine_configs(const Object &graph); // with engines, not finalised
int64_t engine_of(Object &config);
Object make_plan(const Object &config);
std::vector<uint8_t> plan_bytes(Object &plan); // serialised
Object plan_from(hipdnnHandle_t handle, const std::vector<uint8_t> &bytes);
Object make_pack(const std::vector<int64_t> &uids, const std::vector<void *> &pointers,
                 void *workspace);
std::string engine_name(hipdnnHandle_t handle, int64_t id);
