#include "backend.hpp"

#include <cstdlib>
#include <dlfcn.h>

Backend *backend;

Backend::Backend(const std::string &path) {
  void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    throw std::runtime_error(dlerror());
  }
#define FIND(name)                                                                                 \
  this->name = reinterpret_cast<decltype(&::name)>(dlsym(library, #name));                         \
  if (this->name == nullptr) {                                                                     \
    throw std::runtime_error(path + " has no " #name);                                             \
  }
  BACKEND_FUNCTIONS(FIND)
#undef FIND
  early = std::atoi(hipdnnVersionString_ext()) < 1;
}

std::string last_error() {
  char text[2048];
  backend->hipdnnGetLastErrorString(text, sizeof(text));
  return text;
}

void check(hipdnnStatus_t status, const char *function) {
  if (status != HIPDNN_STATUS_SUCCESS) {
    throw CallFailed(function, status, last_error());
  }
}

Object::Object(int type) {
  CHECK(hipdnnBackendCreateDescriptor, static_cast<hipdnnBackendDescriptorType_t>(type), &object_);
}

Object::~Object() {
  if (object_ != nullptr) {
    backend->hipdnnBackendDestroyDescriptor(object_);
  }
}

void Object::set(hipdnnBackendAttributeName_t name, hipdnnBackendAttributeType_t type,
                 int64_t count, const void *elements) {
  CHECK(hipdnnBackendSetAttribute, object_, name, type, count, elements);
}

int64_t Object::number(hipdnnBackendAttributeName_t name) {
  int64_t value = 0, count = 0;
  CHECK(hipdnnBackendGetAttribute, object_, name, HIPDNN_TYPE_INT64, 1, &count, &value);
  return value;
}

Object Object::object(hipdnnBackendAttributeName_t name) {
  hipdnnBackendDescriptor_t out = nullptr;
  int64_t count = 0;
  CHECK(hipdnnBackendGetAttribute, object_, name, HIPDNN_TYPE_BACKEND_DESCRIPTOR, 1, &count, &out);
  return Object(out);
}

void Object::finalize() {
  CHECK(hipdnnBackendFinalize, object_);
}

HandleObject::HandleObject() {
  CHECK(hipdnnCreate, &handle_);
}

HandleObject::~HandleObject() {
  backend->hipdnnDestroy(handle_);
}

int descriptor_type(int late) {
  if (backend->early && late == HIPDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR) {
    return HIPDNN_EARLY_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR;
  }
  return late;
}

Object make_tensor(int64_t uid, hipdnnDataType_t type, const std::vector<int64_t> &dims,
                   const std::vector<int64_t> &strides, bool is_virtual, bool finalize) {
  Object t(HIPDNN_BACKEND_TENSOR_DESCRIPTOR);
  t.set(HIPDNN_ATTR_TENSOR_UNIQUE_ID, uid);
  t.set(HIPDNN_ATTR_TENSOR_DATA_TYPE, type);
  t.set(HIPDNN_ATTR_TENSOR_DIMENSIONS, dims);
  t.set(HIPDNN_ATTR_TENSOR_STRIDES, strides);
  t.set(HIPDNN_ATTR_TENSOR_IS_VIRTUAL, is_virtual);
  if (finalize) {
    t.finalize();
  }
  return t;
}

void set_convolution(Object &operation, const ConvolutionParameters &p) {
  operation.set(HIPDNN_ATTR_CONVOLUTION_COMP_TYPE, p.compute);
  if (backend->early) { // the numbering of the FlatBuffers
    operation.set(HIPDNN_ATTR_CONVOLUTION_CONV_MODE, int64_t{p.mode} + 1);
  } else {
    operation.set(HIPDNN_ATTR_CONVOLUTION_CONV_MODE, HIPDNN_TYPE_CONVOLUTION_MODE, 1, &p.mode);
  }
  operation.set(HIPDNN_ATTR_CONVOLUTION_PRE_PADDINGS, p.pre);
  operation.set(HIPDNN_ATTR_CONVOLUTION_POST_PADDINGS, p.post);
  operation.set(HIPDNN_ATTR_CONVOLUTION_FILTER_STRIDES, p.strides);
  operation.set(HIPDNN_ATTR_CONVOLUTION_DILATIONS, p.dilations);
}

Object make_graph(hipdnnHandle_t handle, const std::vector<const Object *> &operations) {
  Object graph(HIPDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  std::vector<hipdnnBackendDescriptor_t> objects;
  for (const Object *o : operations) {
    objects.push_back(o->get());
  }
  graph.set(HIPDNN_ATTR_OPERATIONGRAPH_OPS, HIPDNN_TYPE_BACKEND_DESCRIPTOR,
            static_cast<int64_t>(objects.size()), objects.data());
  graph.set(HIPDNN_ATTR_OPERATIONGRAPH_HANDLE, HIPDNN_TYPE_HANDLE, 1, &handle);
  graph.finalize();
  return graph;
}

std::vector<Object> engine_configs(const Object &graph) {
  Object heuristics(HIPDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  heuristics.set(HIPDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph);
  hipdnnBackendHeurMode_t mode = HIPDNN_HEUR_MODE_FALLBACK;
  heuristics.set(HIPDNN_ATTR_ENGINEHEUR_MODE, HIPDNN_TYPE_HEUR_MODE, 1, &mode);
  heuristics.finalize();
  int64_t count = 0;
  CHECK(hipdnnBackendGetAttribute, heuristics.get(), HIPDNN_ATTR_ENGINEHEUR_RESULTS,
        HIPDNN_TYPE_BACKEND_DESCRIPTOR, 0, &count, nullptr);
  std::vector<Object> out;
  std::vector<hipdnnBackendDescriptor_t> objects;
  for (int64_t i = 0; i < count; i++) {
    out.emplace_back(HIPDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    objects.push_back(out.back().get());
  }
  if (count > 0) {
    CHECK(hipdnnBackendGetAttribute, heuristics.get(), HIPDNN_ATTR_ENGINEHEUR_RESULTS,
          HIPDNN_TYPE_BACKEND_DESCRIPTOR, count, &count, objects.data());
  }
  return out;
}

int64_t engine_of(Object &config) {
  Object engine = config.object(HIPDNN_ATTR_ENGINECFG_ENGINE);
  return engine.number(HIPDNN_ATTR_ENGINE_GLOBAL_INDEX);
}

Object make_plan(const Object &config) {
  Object plan(HIPDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
  plan.set(HIPDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, config);
  plan.finalize();
  return plan;
}

std::vector<uint8_t> plan_bytes(Object &plan) {
  size_t size = 0;
  CHECK(hipdnnBackendGetSerializedExecutionPlan_ext, plan.get(), 0, &size, nullptr);
  std::vector<uint8_t> out(size);
  CHECK(hipdnnBackendGetSerializedExecutionPlan_ext, plan.get(), size, &size, out.data());
  return out;
}

Object plan_from(hipdnnHandle_t handle, const std::vector<uint8_t> &bytes) {
  hipdnnBackendDescriptor_t d = nullptr;
  CHECK(hipdnnBackendCreateAndDeserializeExecutionPlan_ext, handle, &d, bytes.data(), bytes.size());
  return Object(d);
}

Object make_pack(const std::vector<int64_t> &uids, const std::vector<void *> &pointers,
                 void *workspace) {
  Object pack(HIPDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  pack.set(HIPDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, uids);
  pack.set(HIPDNN_ATTR_VARIANT_PACK_DATA_POINTERS, HIPDNN_TYPE_VOID_PTR,
           static_cast<int64_t>(pointers.size()), pointers.data());
  pack.set(HIPDNN_ATTR_VARIANT_PACK_WORKSPACE, HIPDNN_TYPE_VOID_PTR, 1, &workspace);
  pack.finalize();
  return pack;
}

std::string engine_name(hipdnnHandle_t handle, int64_t id) {
  size_t count = 0;
  CHECK(hipdnnGetEngineCount_ext, handle, &count);
  for (size_t i = 0; i < count; i++) {
    int64_t found = 0;
    char name[256], plugin[256], version[256], type[256];
    size_t a = sizeof(name), b = sizeof(plugin), c = sizeof(version), d = sizeof(type);
    CHECK(hipdnnGetEngineInfo_ext, handle, i, &found, name, &a, plugin, &b, version, &c, type, &d);
    if (found == id) {
      return name;
    }
  }
  return "unknown";
}
