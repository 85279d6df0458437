// Source of the checks: GraphDescriptor.cpp @ 07265454, EnginePluginResourceManager.cpp @ 84b06fc1
// (what a graph requires of a plugin). The API version that a tensor's alignment requires is
// assumed: it lies between 1.2.0 (scalars at run time) and 1.4.0 (engine names).

#include "config.hpp"
#include "descriptors.hpp"
#include "errors.hpp"

#include <map>
#include <random>

namespace refhipdnn {

namespace {

constexpr int64_t kDefaultAlignment = 16;
constexpr ApiVersion kOverrides{1, 1, 0};
constexpr ApiVersion kAlignment{1, 3, 0};
constexpr ApiVersion kNewest{1, 4, 0};

std::array<uint8_t, 16> random_id() {
  std::random_device random;
  std::array<uint8_t, 16> id;
  for (uint8_t &byte : id) {
    byte = static_cast<uint8_t>(random());
  }
  id[6] = static_cast<uint8_t>((id[6] & 0x0f) | 0x40); // version 4
  id[8] = static_cast<uint8_t>((id[8] & 0x3f) | 0x80); // variant 1
  return id;
}

ApiVersion required(const Graph &g) {
  ApiVersion version;
  if (g.override_shapes) {
    version = kOverrides;
  }
  for (const Tensor &t : g.tensors) {
    if (t.alignment != kDefaultAlignment) {
      version = kAlignment;
    }
  }
  return version;
}

} // namespace

void GraphDescriptor::build() {
  graph_.tensors.clear();
  graph_.nodes.clear();
  std::map<int64_t, TensorDescriptor *> seen;
  for (const auto &operation : operations_) {
    for (const auto &tensor : operation->tensors()) {
      auto [found, added] = seen.emplace(tensor->value().uid, tensor.get());
      if (added) {
        graph_.tensors.push_back(tensor->value());
      } else if (found->second != tensor.get()) {
        bad("two tensor descriptors have the uid " + std::to_string(tensor->value().uid));
      }
    }
    graph_.nodes.push_back(operation->node());
  }
  graph_.required = required(graph_);
  bytes_ = wire::encode(graph_);
  // The reader is another half of the wire than the writer: each vouches for the other.
  if (!(wire::decode_graph(bytes_.data(), bytes_.size()) == graph_)) {
    bad("the serialised graph reads back as another one", HIPDNN_STATUS_INTERNAL_ERROR);
  }
}

void GraphDescriptor::do_finalize() {
  want(handle_ != nullptr, "HANDLE");
  want(!operations_.empty(), "OPS");
  if (!graph_.id) {
    graph_.id = random_id();
  }
  build();
}

Handle &GraphDescriptor::handle() const {
  if (handle_ == nullptr) {
    bad("HANDLE not set");
  }
  return get_handle(handle_);
}

Bytes GraphDescriptor::serialize() {
  if (bytes_.empty()) {
    build();
  }
  return bytes_;
}

void GraphDescriptor::set_operations(const Set &call) {
  call.array(HIPDNN_TYPE_BACKEND_DESCRIPTOR);
  std::vector<std::shared_ptr<OperationDescriptor>> more;
  for (int64_t i = 0; i < call.count; i++) {
    auto object = static_cast<const hipdnnBackendDescriptor_t *>(call.elements)[i];
    if (object == nullptr) {
      call.fail(HIPDNN_STATUS_BAD_PARAM_NULL_POINTER, "the descriptor in it is null");
    }
    auto found = find(object);
    if (!found->finalized()) {
      call.fail(HIPDNN_STATUS_BAD_PARAM_NOT_FINALIZED,
                std::string("the ") + kind_name(found->kind) + " is not finalised");
    }
    auto operation = std::dynamic_pointer_cast<OperationDescriptor>(found);
    if (operation == nullptr) {
      call.fail(HIPDNN_STATUS_NOT_SUPPORTED,
                std::string("a ") + kind_name(found->kind) + " is no operation");
    }
    more.push_back(std::move(operation));
  }
  // All or nothing; calls add up.
  operations_.insert(operations_.end(), more.begin(), more.end());
}

void GraphDescriptor::do_set(const Set &call) {
  switch (call.name) {
  case HIPDNN_ATTR_OPERATIONGRAPH_HANDLE: {
    call.is(HIPDNN_TYPE_HANDLE);
    call.one();
    auto handle = call.scalar<hipdnnHandle_t>(HIPDNN_TYPE_HANDLE);
    get_handle(handle);
    handle_ = handle;
    return; // no part of the graph's contents
  }
  case HIPDNN_ATTR_OPERATIONGRAPH_OPS:
    set_operations(call);
    break;
  case HIPDNN_ATTR_OPERATIONGRAPH_COMPUTE_DATA_TYPE_EXT:
    graph_.compute = call.data_type();
    break;
  case HIPDNN_ATTR_OPERATIONGRAPH_INTERMEDIATE_DATA_TYPE_EXT:
    graph_.intermediate = call.data_type();
    break;
  case HIPDNN_ATTR_OPERATIONGRAPH_IO_DATA_TYPE_EXT:
    graph_.io = call.data_type();
    break;
  case HIPDNN_ATTR_OPERATIONGRAPH_PREFERRED_ENGINE_ID_EXT:
    graph_.preferred_engine = call.scalar<int64_t>(HIPDNN_TYPE_INT64);
    break;
  case HIPDNN_ATTR_OPERATIONGRAPH_IS_OVERRIDE_SHAPE_ENABLED_EXT:
    graph_.override_shapes = call.scalar<bool>(HIPDNN_TYPE_BOOLEAN);
    break;
  case HIPDNN_ATTR_OPERATIONGRAPH_NAME_EXT:
    graph_.name = call.string();
    break;
  default:
    call.unsupported();
  }
  bytes_.clear();
  graph_.id.reset();
}

void GraphDescriptor::do_get(const Get &call) const {
  switch (call.name) {
  case HIPDNN_ATTR_OPERATIONGRAPH_OPS: {
    call.is(HIPDNN_TYPE_BACKEND_DESCRIPTOR);
    auto n = static_cast<int64_t>(operations_.size());
    if (call.asks_count(n)) {
      return;
    }
    if (call.requested < n) {
      call.fail(HIPDNN_STATUS_BAD_PARAM, "there are " + std::to_string(n) + " operations");
    }
    for (int64_t i = 0; i < n; i++) {
      call.hand_out(i, operations_[static_cast<size_t>(i)]);
    }
    call.say(n);
    return;
  }
  case HIPDNN_ATTR_OPERATIONGRAPH_COMPUTE_DATA_TYPE_EXT:
    call.data_type(graph_.compute);
    return;
  case HIPDNN_ATTR_OPERATIONGRAPH_INTERMEDIATE_DATA_TYPE_EXT:
    call.data_type(graph_.intermediate);
    return;
  case HIPDNN_ATTR_OPERATIONGRAPH_IO_DATA_TYPE_EXT:
    call.data_type(graph_.io);
    return;
  case HIPDNN_ATTR_OPERATIONGRAPH_PREFERRED_ENGINE_ID_EXT:
    call.optional(HIPDNN_TYPE_INT64, graph_.preferred_engine);
    return;
  case HIPDNN_ATTR_OPERATIONGRAPH_IS_OVERRIDE_SHAPE_ENABLED_EXT:
    call.scalar(HIPDNN_TYPE_BOOLEAN, graph_.override_shapes);
    return;
  case HIPDNN_ATTR_OPERATIONGRAPH_NAME_EXT:
    call.string(graph_.name);
    return;
  default:
    call.unsupported();
  }
}

std::shared_ptr<GraphDescriptor> GraphDescriptor::of(const Graph &graph) {
  auto out = std::make_shared<GraphDescriptor>();
  if (kNewest < graph.required.value_or(ApiVersion{})) {
    out->bad("the serialised graph requires a newer plugin API", HIPDNN_STATUS_NOT_SUPPORTED);
  }
  std::map<int64_t, std::shared_ptr<TensorDescriptor>> tensors;
  for (const Tensor &t : graph.tensors) {
    if (!tensors.emplace(t.uid, TensorDescriptor::of(t)).second) {
      out->bad("two tensors have the uid " + std::to_string(t.uid));
    }
  }
  auto tensor = [&](int64_t uid) {
    auto found = tensors.find(uid);
    if (found == tensors.end()) {
      out->bad("no tensor has the uid " + std::to_string(uid) + ", which a node names");
    }
    return found->second;
  };
  auto maybe = [&](std::optional<int64_t> uid) {
    return uid ? tensor(*uid) : std::shared_ptr<TensorDescriptor>();
  };
  for (const Node &n : graph.nodes) {
    std::shared_ptr<OperationDescriptor> operation;
    if (const auto *c = std::get_if<Convolution>(&n.operation)) {
      operation = convolution_of(n, tensor(c->image), tensor(c->filter), tensor(c->output));
    } else {
      const auto &p = std::get<Pointwise>(n.operation);
      operation = pointwise_of(n, tensor(p.in_0), maybe(p.in_1), maybe(p.in_2), tensor(p.out_0));
    }
    operation->finalize();
    out->operations_.push_back(std::move(operation));
  }
  out->graph_ = graph;
  return out;
}

std::shared_ptr<Descriptor> make_graph() {
  return std::make_shared<GraphDescriptor>();
}

} // namespace refhipdnn
