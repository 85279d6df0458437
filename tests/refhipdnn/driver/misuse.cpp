// Mistakes that a client can make, one after the other. For each it prints its name, the status and
// the thread's error text, with tabs between; what they ought to be is in testdata/misuse.tsv.

#include "backend.hpp"
#include "scenarios.hpp"

#include <cstdio>
#include <functional>

namespace {

using Mistake = std::function<hipdnnStatus_t()>;

hipdnnStatus_t set(Object &o, int name, int type, int64_t count, const void *elements) {
  return backend->hipdnnBackendSetAttribute(
      o.get(), static_cast<hipdnnBackendAttributeName_t>(name),
      static_cast<hipdnnBackendAttributeType_t>(type), count, elements);
}

hipdnnStatus_t get(Object &o, int name, int type, int64_t requested, int64_t *count,
                   void *elements) {
  return backend->hipdnnBackendGetAttribute(
      o.get(), static_cast<hipdnnBackendAttributeName_t>(name),
      static_cast<hipdnnBackendAttributeType_t>(type), requested, count, elements);
}

hipdnnStatus_t finalize(Object &o) {
  return backend->hipdnnBackendFinalize(o.get());
}

// y = conv(x, w) of 1x1x3x3 with 1x1x2x2, and everything that leads to it.
struct World {
  alignas(16) float x[9] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  alignas(16) float w[4] = {1, 1, 1, 1};
  alignas(16) float y[4] = {};

  HandleObject handle;
  Object tx = make_tensor(1, HIPDNN_DATA_FLOAT, {1, 1, 3, 3}, {9, 9, 3, 1}, false);
  Object tw = make_tensor(2, HIPDNN_DATA_FLOAT, {1, 1, 2, 2}, {4, 4, 2, 1}, false);
  Object ty = make_tensor(3, HIPDNN_DATA_FLOAT, {1, 1, 2, 2}, {4, 4, 2, 1}, false);
  Object conv = convolution(ty);
  Object graph = make_graph(handle.get(), {&conv});
  std::vector<Object> configs = engine_configs(graph);

  World() {
    configs[0].finalize();
  }
  Object plan() {
    return make_plan(configs[0]);
  }
  Object pack() {
    return make_pack({1, 2, 3}, {x, w, y}, nullptr);
  }
  // Not finalised where finish is false.
  Object convolution(const Object &out, bool finish = true) {
    Object op(HIPDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR);
    op.set(HIPDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, tx);
    op.set(HIPDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, tw);
    op.set(HIPDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, out);
    set_convolution(op, {{0, 0}, {0, 0}, {1, 1}, {1, 1}, 1, HIPDNN_DATA_FLOAT});
    if (finish) {
      op.finalize();
    }
    return op;
  }
};

Object empty(int type) {
  return Object(type);
}

std::vector<std::pair<std::string, Mistake>> mistakes(World &world) {
  static int64_t numbers[2] = {1, 1};
  static hipdnnDataType_t real = HIPDNN_DATA_FLOAT;
  static int32_t no_type = 99;
  static hipdnnBackendDescriptor_t null_object = nullptr;
  const int kTensor = HIPDNN_BACKEND_TENSOR_DESCRIPTOR;
  const int kConv = HIPDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR;
  const int kGraph = HIPDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR;
  World *w = &world;
  std::vector<std::pair<std::string, Mistake>> out = {
      // Handles.
      {"create/null", [] { return backend->hipdnnCreate(nullptr); }},
      {"destroy/null", [] { return backend->hipdnnDestroy(nullptr); }},
      {"destroy/twice",
       [] {
         hipdnnHandle_t h;
         backend->hipdnnCreate(&h);
         backend->hipdnnDestroy(h);
         return backend->hipdnnDestroy(h);
       }},
      {"set-stream/null-handle", [] { return backend->hipdnnSetStream(nullptr, nullptr); }},
      {"get-stream/null-place", [w] { return backend->hipdnnGetStream(w->handle.get(), nullptr); }},

      // Descriptors in general.
      {"create-descriptor/null-place",
       [] {
         return backend->hipdnnBackendCreateDescriptor(HIPDNN_BACKEND_TENSOR_DESCRIPTOR, nullptr);
       }},
      {"create-descriptor/type-0",
       [] {
         hipdnnBackendDescriptor_t d;
         return backend->hipdnnBackendCreateDescriptor(HIPDNN_BACKEND_INVALID_TYPE_EXT, &d);
       }},
      {"create-descriptor/layout-info",
       [] {
         hipdnnBackendDescriptor_t d;
         return backend->hipdnnBackendCreateDescriptor(HIPDNN_BACKEND_LAYOUT_INFO_DESCRIPTOR, &d);
       }},
      {"destroy-descriptor/null", [] { return backend->hipdnnBackendDestroyDescriptor(nullptr); }},
      {"destroy-descriptor/twice",
       [] {
         hipdnnBackendDescriptor_t d;
         backend->hipdnnBackendCreateDescriptor(HIPDNN_BACKEND_TENSOR_DESCRIPTOR, &d);
         backend->hipdnnBackendDestroyDescriptor(d);
         return backend->hipdnnBackendDestroyDescriptor(d);
       }},
      {"finalize/null", [] { return backend->hipdnnBackendFinalize(nullptr); }},
      {"set-attribute/null-descriptor",
       [] {
         return backend->hipdnnBackendSetAttribute(nullptr, HIPDNN_ATTR_TENSOR_UNIQUE_ID,
                                                   HIPDNN_TYPE_INT64, 1, numbers);
       }},

      // Tensors.
      {"tensor/set-after-finalize",
       [w] { return set(w->tx, HIPDNN_ATTR_TENSOR_UNIQUE_ID, HIPDNN_TYPE_INT64, 1, numbers); }},
      {"tensor/get-before-finalize",
       [=] {
         Object t(kTensor);
         int64_t n;
         return get(t, HIPDNN_ATTR_TENSOR_UNIQUE_ID, HIPDNN_TYPE_INT64, 1, &n, numbers);
       }},
      {"tensor/uid-type",
       [=] {
         Object t(kTensor);
         return set(t, HIPDNN_ATTR_TENSOR_UNIQUE_ID, HIPDNN_TYPE_INT32, 1, numbers);
       }},
      {"tensor/uid-count",
       [=] {
         Object t(kTensor);
         return set(t, HIPDNN_ATTR_TENSOR_UNIQUE_ID, HIPDNN_TYPE_INT64, 2, numbers);
       }},
      {"tensor/uid-null",
       [=] {
         Object t(kTensor);
         return set(t, HIPDNN_ATTR_TENSOR_UNIQUE_ID, HIPDNN_TYPE_INT64, 1, nullptr);
       }},
      {"tensor/dims-empty",
       [=] {
         Object t(kTensor);
         return set(t, HIPDNN_ATTR_TENSOR_DIMENSIONS, HIPDNN_TYPE_INT64, 0, numbers);
       }},
      {"tensor/no-such-data-type",
       [=] {
         Object t(kTensor);
         return set(t, HIPDNN_ATTR_TENSOR_DATA_TYPE, HIPDNN_TYPE_DATA_TYPE, 1, &no_type);
       }},
      {"tensor/data-type-as-int64",
       [=] {
         Object t(kTensor);
         return set(t, HIPDNN_ATTR_TENSOR_DATA_TYPE, HIPDNN_TYPE_INT64, 1, numbers);
       }},
      {"tensor/virtual-as-int64",
       [=] {
         Object t(kTensor);
         return set(t, HIPDNN_ATTR_TENSOR_IS_VIRTUAL, HIPDNN_TYPE_INT64, 1, numbers);
       }},
      {"tensor/value-before-type",
       [=] {
         Object t(kTensor);
         return set(t, HIPDNN_ATTR_TENSOR_VALUE_EXT, HIPDNN_TYPE_CHAR, 4, numbers);
       }},
      {"tensor/set-is-by-value",
       [=] {
         Object t(kTensor);
         return set(t, HIPDNN_ATTR_TENSOR_IS_BY_VALUE, HIPDNN_TYPE_BOOLEAN, 1, numbers);
       }},
      {"tensor/foreign-attribute",
       [=] {
         Object t(kTensor);
         return set(t, HIPDNN_ATTR_CONVOLUTION_CONV_MODE, HIPDNN_TYPE_INT64, 1, numbers);
       }},
      {"tensor/finalize-empty",
       [=] {
         Object t(kTensor);
         return finalize(t);
       }},
      {"tensor/finalize-no-strides",
       [=] {
         Object t(kTensor);
         t.set(HIPDNN_ATTR_TENSOR_DIMENSIONS, std::vector<int64_t>{1, 2});
         t.set(HIPDNN_ATTR_TENSOR_DATA_TYPE, real);
         return finalize(t);
       }},
      {"tensor/finalize-ranks-differ",
       [] {
         Object t = make_tensor(1, HIPDNN_DATA_FLOAT, {1, 2, 3}, {6, 1}, false, false);
         return finalize(t);
       }},
      {"tensor/finalize-no-data-type",
       [=] {
         Object t(kTensor);
         t.set(HIPDNN_ATTR_TENSOR_DIMENSIONS, std::vector<int64_t>{1});
         t.set(HIPDNN_ATTR_TENSOR_STRIDES, std::vector<int64_t>{1});
         return finalize(t);
       }},
      {"tensor/finalize-twice", [w] { return finalize(w->tx); }},
      {"tensor/get-neither-count-nor-elements",
       [w] {
         return get(w->tx, HIPDNN_ATTR_TENSOR_DIMENSIONS, HIPDNN_TYPE_INT64, 0, nullptr, nullptr);
       }},
      {"tensor/get-negative-count",
       [w] {
         int64_t n;
         return get(w->tx, HIPDNN_ATTR_TENSOR_DIMENSIONS, HIPDNN_TYPE_INT64, -1, &n, numbers);
       }},
      {"tensor/get-wrong-type",
       [w] {
         int64_t n;
         return get(w->tx, HIPDNN_ATTR_TENSOR_DIMENSIONS, HIPDNN_TYPE_INT32, 1, &n, numbers);
       }},

      // Convolutions.
      {"conv/tensor-not-finalized",
       [=] {
         Object op(kConv);
         Object t = make_tensor(1, real, {1}, {1}, false, false);
         hipdnnBackendDescriptor_t d = t.get();
         return set(op, HIPDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, HIPDNN_TYPE_BACKEND_DESCRIPTOR,
                    1, &d);
       }},
      {"conv/tensor-is-a-graph",
       [=] {
         Object op(kConv);
         hipdnnBackendDescriptor_t d = w->graph.get();
         return set(op, HIPDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, HIPDNN_TYPE_BACKEND_DESCRIPTOR,
                    1, &d);
       }},
      {"conv/tensor-null-in-array",
       [=] {
         Object op(kConv);
         return set(op, HIPDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, HIPDNN_TYPE_BACKEND_DESCRIPTOR,
                    1, &null_object);
       }},
      {"conv/tensor-null-array",
       [=] {
         Object op(kConv);
         return set(op, HIPDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, HIPDNN_TYPE_BACKEND_DESCRIPTOR,
                    1, nullptr);
       }},
      {"conv/tensor-two",
       [=] {
         Object op(kConv);
         hipdnnBackendDescriptor_t d[2] = {w->tx.get(), w->tx.get()};
         return set(op, HIPDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, HIPDNN_TYPE_BACKEND_DESCRIPTOR,
                    2, d);
       }},
      {"conv/tensor-destroyed",
       [=] {
         Object op(kConv);
         hipdnnBackendDescriptor_t d;
         {
           Object t = make_tensor(1, real, {1}, {1}, false);
           d = t.get();
         }
         return set(op, HIPDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, HIPDNN_TYPE_BACKEND_DESCRIPTOR,
                    1, &d);
       }},
      {"conv/mode-wrong-type",
       [=] {
         Object op(kConv);
         int64_t mode = 1;
         int type = backend->early ? HIPDNN_TYPE_CONVOLUTION_MODE : HIPDNN_TYPE_INT64;
         return set(op, HIPDNN_ATTR_CONVOLUTION_CONV_MODE, type, 1, &mode);
       }},
      {"conv/mode-out-of-range",
       [=] {
         Object op(kConv);
         int64_t mode = 3;
         int type = backend->early ? HIPDNN_TYPE_INT64 : HIPDNN_TYPE_CONVOLUTION_MODE;
         return set(op, HIPDNN_ATTR_CONVOLUTION_CONV_MODE, type, 1, &mode);
       }},
      {"conv/other-operations-tensor",
       [=] {
         Object op(kConv);
         hipdnnBackendDescriptor_t d = w->tx.get();
         return set(op, HIPDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
                    HIPDNN_TYPE_BACKEND_DESCRIPTOR, 1, &d);
       }},
      {"conv/finalize-empty",
       [=] {
         Object op(kConv);
         return finalize(op);
       }},
  };
  // A convolution that lacks one thing.
  static const struct {
    const char *name;
    int attribute;
  } lacking[] = {
      {"x", HIPDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X},
      {"w", HIPDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W},
      {"y", HIPDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y},
      {"pre", HIPDNN_ATTR_CONVOLUTION_PRE_PADDINGS},
      {"post", HIPDNN_ATTR_CONVOLUTION_POST_PADDINGS},
      {"strides", HIPDNN_ATTR_CONVOLUTION_FILTER_STRIDES},
      {"dilations", HIPDNN_ATTR_CONVOLUTION_DILATIONS},
      {"compute", HIPDNN_ATTR_CONVOLUTION_COMP_TYPE},
      {"mode", HIPDNN_ATTR_CONVOLUTION_CONV_MODE},
  };
  for (const auto &lack : lacking) {
    out.push_back(
        {std::string("conv/finalize-without-") + lack.name, [=] {
           Object op(kConv);
           const int64_t ones[2] = {1, 1};
           const struct {
             int attribute;
             const Object *tensor;
           } tensors[] = {{HIPDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, &w->tx},
                          {HIPDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, &w->tw},
                          {HIPDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, &w->ty}};
           for (const auto &t : tensors) {
             if (t.attribute != lack.attribute) {
               op.set(static_cast<hipdnnBackendAttributeName_t>(t.attribute), *t.tensor);
             }
           }
           for (int a :
                {HIPDNN_ATTR_CONVOLUTION_PRE_PADDINGS, HIPDNN_ATTR_CONVOLUTION_POST_PADDINGS,
                 HIPDNN_ATTR_CONVOLUTION_FILTER_STRIDES, HIPDNN_ATTR_CONVOLUTION_DILATIONS}) {
             if (a != lack.attribute) {
               check(set(op, a, HIPDNN_TYPE_INT64, 2, ones), "set");
             }
           }
           if (lack.attribute != HIPDNN_ATTR_CONVOLUTION_COMP_TYPE) {
             op.set(HIPDNN_ATTR_CONVOLUTION_COMP_TYPE, real);
           }
           if (lack.attribute != HIPDNN_ATTR_CONVOLUTION_CONV_MODE) {
             int64_t mode = 1;
             check(set(op, HIPDNN_ATTR_CONVOLUTION_CONV_MODE,
                       backend->early ? HIPDNN_TYPE_INT64 : HIPDNN_TYPE_CONVOLUTION_MODE, 1, &mode),
                   "set");
           }
           return finalize(op);
         }});
  }
  std::vector<std::pair<std::string, Mistake>> rest = {
      // Graphs.
      {"graph/finalize-without-handle",
       [=] {
         Object g(kGraph);
         g.set(HIPDNN_ATTR_OPERATIONGRAPH_OPS, w->conv);
         return finalize(g);
       }},
      {"graph/finalize-without-ops",
       [=] {
         Object g(kGraph);
         hipdnnHandle_t h = w->handle.get();
         g.set(HIPDNN_ATTR_OPERATIONGRAPH_HANDLE, HIPDNN_TYPE_HANDLE, 1, &h);
         return finalize(g);
       }},
      {"graph/handle-null",
       [=] {
         Object g(kGraph);
         hipdnnHandle_t h = nullptr;
         return set(g, HIPDNN_ATTR_OPERATIONGRAPH_HANDLE, HIPDNN_TYPE_HANDLE, 1, &h);
       }},
      {"graph/handle-as-pointer",
       [=] {
         Object g(kGraph);
         hipdnnHandle_t h = w->handle.get();
         return set(g, HIPDNN_ATTR_OPERATIONGRAPH_HANDLE, HIPDNN_TYPE_VOID_PTR, 1, &h);
       }},
      {"graph/op-not-finalized",
       [=] {
         Object g(kGraph);
         Object op = w->convolution(w->ty, false);
         hipdnnBackendDescriptor_t d = op.get();
         return set(g, HIPDNN_ATTR_OPERATIONGRAPH_OPS, HIPDNN_TYPE_BACKEND_DESCRIPTOR, 1, &d);
       }},
      {"graph/op-is-a-tensor",
       [=] {
         Object g(kGraph);
         hipdnnBackendDescriptor_t d = w->tx.get();
         return set(g, HIPDNN_ATTR_OPERATIONGRAPH_OPS, HIPDNN_TYPE_BACKEND_DESCRIPTOR, 1, &d);
       }},
      {"graph/op-null-in-array",
       [=] {
         Object g(kGraph);
         return set(g, HIPDNN_ATTR_OPERATIONGRAPH_OPS, HIPDNN_TYPE_BACKEND_DESCRIPTOR, 1,
                    &null_object);
       }},
      {"graph/uid-on-two-descriptors",
       [=] {
         Object twin = make_tensor(1, real, {1, 1, 2, 2}, {4, 4, 2, 1}, false);
         Object op = w->convolution(twin);
         Object g(kGraph);
         hipdnnHandle_t h = w->handle.get();
         g.set(HIPDNN_ATTR_OPERATIONGRAPH_HANDLE, HIPDNN_TYPE_HANDLE, 1, &h);
         g.set(HIPDNN_ATTR_OPERATIONGRAPH_OPS, op);
         return finalize(g);
       }},
      {"graph/set-after-finalize",
       [=] {
         hipdnnHandle_t h = w->handle.get();
         return set(w->graph, HIPDNN_ATTR_OPERATIONGRAPH_HANDLE, HIPDNN_TYPE_HANDLE, 1, &h);
       }},
      {"graph/get-handle",
       [=] {
         int64_t n;
         hipdnnHandle_t h;
         return get(w->graph, HIPDNN_ATTR_OPERATIONGRAPH_HANDLE, HIPDNN_TYPE_HANDLE, 1, &n, &h);
       }},
      {"graph/deserialize-nothing",
       [] {
         hipdnnBackendDescriptor_t d;
         uint8_t byte = 0;
         return backend->hipdnnBackendCreateAndDeserializeGraph_ext(&d, &byte, 0);
       }},
      {"graph/deserialize-garbage",
       [] {
         hipdnnBackendDescriptor_t d;
         uint8_t bytes[64] = {200, 1, 2, 3, 4, 5, 6, 7};
         return backend->hipdnnBackendCreateAndDeserializeGraph_ext(&d, bytes, sizeof(bytes));
       }},
      {"graph/serialize-too-small",
       [=] {
         size_t size;
         uint8_t byte;
         return backend->hipdnnBackendGetSerializedBinaryGraph_ext(w->graph.get(), 1, &size, &byte);
       }},

      // Heuristics, engines, configurations.
      {"heuristics/finalize-without-graph",
       [] {
         Object h = empty(HIPDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
         int32_t mode = HIPDNN_HEUR_MODE_FALLBACK;
         h.set(HIPDNN_ATTR_ENGINEHEUR_MODE, HIPDNN_TYPE_HEUR_MODE, 1, &mode);
         return finalize(h);
       }},
      {"heuristics/finalize-without-mode",
       [=] {
         Object h = empty(HIPDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
         h.set(HIPDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, w->graph);
         return finalize(h);
       }},
      {"heuristics/other-mode",
       [] {
         Object h = empty(HIPDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
         int32_t mode = 1;
         return set(h, HIPDNN_ATTR_ENGINEHEUR_MODE, HIPDNN_TYPE_HEUR_MODE, 1, &mode);
       }},
      {"heuristics/graph-not-finalized",
       [=] {
         Object h = empty(HIPDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
         Object g(kGraph);
         hipdnnBackendDescriptor_t d = g.get();
         return set(h, HIPDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, HIPDNN_TYPE_BACKEND_DESCRIPTOR, 1,
                    &d);
       }},
      {"heuristics/get-before-finalize",
       [] {
         Object h = empty(HIPDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
         int64_t n;
         return get(h, HIPDNN_ATTR_ENGINEHEUR_RESULTS, HIPDNN_TYPE_BACKEND_DESCRIPTOR, 0, &n,
                    nullptr);
       }},
      {"engine/not-applicable",
       [=] {
         Object e = empty(HIPDNN_BACKEND_ENGINE_DESCRIPTOR);
         e.set(HIPDNN_ATTR_ENGINE_OPERATION_GRAPH, w->graph);
         e.set(HIPDNN_ATTR_ENGINE_GLOBAL_INDEX, int64_t{12345});
         return finalize(e);
       }},
      {"engine/finalize-without-index",
       [=] {
         Object e = empty(HIPDNN_BACKEND_ENGINE_DESCRIPTOR);
         e.set(HIPDNN_ATTR_ENGINE_OPERATION_GRAPH, w->graph);
         return finalize(e);
       }},
      {"config/finalize-without-engine",
       [] {
         Object c = empty(HIPDNN_BACKEND_ENGINECFG_DESCRIPTOR);
         return finalize(c);
       }},
      {"config/finalize-twice", [=] { return finalize(w->configs[0]); }},
      {"config/get-before-finalize",
       [=] {
         int64_t n, size;
         return get(w->configs[1], HIPDNN_ATTR_ENGINECFG_WORKSPACE_SIZE, HIPDNN_TYPE_INT64, 1, &n,
                    &size);
       }},
      {"config/engine-null-in-array",
       [] {
         Object c = empty(HIPDNN_BACKEND_ENGINECFG_DESCRIPTOR);
         return set(c, HIPDNN_ATTR_ENGINECFG_ENGINE, HIPDNN_TYPE_BACKEND_DESCRIPTOR, 1,
                    &null_object);
       }},
      {"config/get-workspace-two",
       [=] {
         int64_t n, sizes[2];
         return get(w->configs[0], HIPDNN_ATTR_ENGINECFG_WORKSPACE_SIZE, HIPDNN_TYPE_INT64, 2, &n,
                    sizes);
       }},

      // Plans.
      {"plan/finalize-without-config",
       [] {
         Object p = empty(HIPDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
         return finalize(p);
       }},
      {"plan/config-not-finalized",
       [=] {
         Object p = empty(HIPDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
         hipdnnBackendDescriptor_t d = w->configs[1].get();
         return set(p, HIPDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, HIPDNN_TYPE_BACKEND_DESCRIPTOR, 1,
                    &d);
       }},
      {"plan/get-before-finalize",
       [] {
         Object p = empty(HIPDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
         int64_t n, size;
         return get(p, HIPDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, HIPDNN_TYPE_INT64, 1, &n, &size);
       }},
      {"plan/finalize-twice",
       [=] {
         Object p = w->plan();
         return finalize(p);
       }},
      {"plan/deserialize-garbage",
       [=] {
         hipdnnBackendDescriptor_t d;
         uint8_t bytes[32] = {};
         return backend->hipdnnBackendCreateAndDeserializeExecutionPlan_ext(w->handle.get(), &d,
                                                                            bytes, sizeof(bytes));
       }},

      // Variant packs and execution.
      {"pack/finalize-empty",
       [] {
         Object p = empty(HIPDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
         return finalize(p);
       }},
      {"pack/counts-differ",
       [=] {
         Object p = empty(HIPDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
         void *pointer = w->x;
         p.set(HIPDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, std::vector<int64_t>{1, 2});
         p.set(HIPDNN_ATTR_VARIANT_PACK_DATA_POINTERS, HIPDNN_TYPE_VOID_PTR, 1, &pointer);
         return finalize(p);
       }},
      {"pack/pointers-as-int64",
       [=] {
         Object p = empty(HIPDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
         void *pointer = w->x;
         return set(p, HIPDNN_ATTR_VARIANT_PACK_DATA_POINTERS, HIPDNN_TYPE_INT64, 1, &pointer);
       }},
      {"execute/null-handle",
       [=] {
         Object plan = w->plan(), pack = w->pack();
         return backend->hipdnnBackendExecute(nullptr, plan.get(), pack.get());
       }},
      {"execute/null-plan",
       [=] {
         Object pack = w->pack();
         return backend->hipdnnBackendExecute(w->handle.get(), nullptr, pack.get());
       }},
      {"execute/plan-is-a-graph",
       [=] {
         Object pack = w->pack();
         return backend->hipdnnBackendExecute(w->handle.get(), w->graph.get(), pack.get());
       }},
      {"execute/plan-not-finalized",
       [=] {
         Object plan = empty(HIPDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR), pack = w->pack();
         return backend->hipdnnBackendExecute(w->handle.get(), plan.get(), pack.get());
       }},
      {"execute/pack-not-finalized",
       [=] {
         Object plan = w->plan(), pack = empty(HIPDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
         return backend->hipdnnBackendExecute(w->handle.get(), plan.get(), pack.get());
       }},
      {"execute/tensor-missing",
       [=] {
         Object plan = w->plan(), pack = make_pack({1, 2}, {w->x, w->w}, nullptr);
         return backend->hipdnnBackendExecute(w->handle.get(), plan.get(), pack.get());
       }},
      {"execute/tensor-null",
       [=] {
         Object plan = w->plan(), pack = make_pack({1, 2, 3}, {w->x, w->w, nullptr}, nullptr);
         return backend->hipdnnBackendExecute(w->handle.get(), plan.get(), pack.get());
       }},
      {"execute/tensor-unknown",
       [=] {
         Object plan = w->plan();
         Object pack = make_pack({1, 2, 3, 4}, {w->x, w->w, w->y, w->y}, nullptr);
         return backend->hipdnnBackendExecute(w->handle.get(), plan.get(), pack.get());
       }},
      {"execute/misaligned",
       [=] {
         Object plan = w->plan();
         Object pack = make_pack({1, 2, 3}, {w->x, w->w + 1, w->y}, nullptr);
         return backend->hipdnnBackendExecute(w->handle.get(), plan.get(), pack.get());
       }},
      {"execute/other-handle",
       [=] {
         HandleObject other;
         Object plan = w->plan(), pack = w->pack();
         return backend->hipdnnBackendExecute(other.get(), plan.get(), pack.get());
       }},

      // Knobs, log, engines.
      {"knob/unknown",
       [=] {
         Object choice = empty(HIPDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR);
         const int64_t one = 1;
         choice.set(HIPDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, HIPDNN_TYPE_CHAR, 4, "none");
         choice.set(HIPDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, HIPDNN_TYPE_INT64, 1, &one);
         choice.finalize();
         std::vector<Object> configs = engine_configs(w->graph);
         configs[0].set(HIPDNN_ATTR_ENGINECFG_KNOB_CHOICES, choice);
         return finalize(configs[0]);
       }},
      {"knob/out-of-range",
       [=] {
         Object choice = empty(HIPDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR);
         const int64_t many = 65;
         choice.set(HIPDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, HIPDNN_TYPE_CHAR, 11, "ref.threads");
         choice.set(HIPDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, HIPDNN_TYPE_INT64, 1, &many);
         choice.finalize();
         std::vector<Object> configs = engine_configs(w->graph);
         configs[0].set(HIPDNN_ATTR_ENGINECFG_KNOB_CHOICES, choice);
         return finalize(configs[0]);
       }},
      {"knob/value-as-boolean",
       [] {
         Object choice = empty(HIPDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR);
         bool yes = true;
         return set(choice, HIPDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, HIPDNN_TYPE_BOOLEAN, 1, &yes);
       }},
      {"log/no-user-handle",
       [] {
         return backend->hipdnnSetUserLogCallback_ext([](void *, hipdnnSeverity_t, const char *) {},
                                                      HIPDNN_SEV_INFO,
                                                      HIPDNN_LOG_CALLBACK_MODE_SYNC, nullptr);
       }},
      {"log/level",
       [] {
         return backend->hipdnnBackendSetGlobalLogLevel_ext(static_cast<hipdnnSeverity_t>(9));
       }},
      {"engines/index",
       [=] {
         size_t n = 0;
         int64_t id;
         return backend->hipdnnGetEngineInfo_ext(w->handle.get(), 99, &id, nullptr, &n, nullptr, &n,
                                                 nullptr, &n, nullptr, &n);
       }},
      {"engines/name",
       [=] {
         int64_t id;
         return backend->hipdnnGetEngineIdByName_ext(w->handle.get(), "NO_ENGINE", &id);
       }},
      {"plugins/paths-with-live-handle",
       [] {
         const char *path = "/nowhere";
         return backend->hipdnnSetEnginePluginPaths_ext(1, &path, HIPDNN_PLUGIN_LOADING_ADDITIVE);
       }},
  };
  for (auto &mistake : rest) {
    out.push_back(std::move(mistake));
  }
  return out;
}

} // namespace

int run_misuse() {
  World world;
  for (auto &[name, mistake] : mistakes(world)) {
    last_error(); // nothing of an earlier mistake
    hipdnnStatus_t status = mistake();
    std::printf("%s\t%s\t%s\n", name.c_str(), backend->hipdnnGetErrorString(status),
                last_error().c_str());
  }
  // After all of them the library still works.
  Object plan = world.plan(), pack = world.pack();
  CHECK(hipdnnBackendExecute, world.handle.get(), plan.get(), pack.get());
  std::printf("result\t%g %g %g %g\t\n", world.y[0], world.y[1], world.y[2], world.y[3]);
  return 0;
}
