// Source of the checks: EngineDescriptor.cpp @ 02dc267b.

#include "descriptors.hpp"

#include <algorithm>

namespace refhipdnn {

void EngineDescriptor::do_finalize() {
  want(graph_ != nullptr, "OPERATION_GRAPH");
  want(id_.has_value(), "GLOBAL_INDEX");
  Engines &engines = *graph_->handle().engines();
  auto ids = engines.applicable(graph_->value(), graph_->bytes(), false);
  if (std::find(ids.begin(), ids.end(), *id_) == ids.end()) {
    bad("engine " + std::to_string(*id_) + " is not applicable to the graph");
  }
  details_ = engines.of(*id_).details(*id_, graph_->bytes());
  for (const auto &info : engines.infos()) {
    if (info.id == *id_) {
      name_ = info.name;
    }
  }
}

void EngineDescriptor::do_set(const Set &call) {
  switch (call.name) {
  case HIPDNN_ATTR_ENGINE_OPERATION_GRAPH:
    call.is(HIPDNN_TYPE_BACKEND_DESCRIPTOR);
    call.one();
    graph_ = call.descriptor<GraphDescriptor>(Kind::Graph, HIPDNN_STATUS_BAD_PARAM_NULL_POINTER);
    return;
  case HIPDNN_ATTR_ENGINE_GLOBAL_INDEX:
    call.is(HIPDNN_TYPE_INT64);
    call.one();
    id_ = call.scalar<int64_t>(HIPDNN_TYPE_INT64);
    return;
  default:
    call.unsupported();
  }
}

void EngineDescriptor::do_get(const Get &call) const {
  switch (call.name) {
  case HIPDNN_ATTR_ENGINE_OPERATION_GRAPH:
    call.exact_descriptor(graph_);
    return;
  case HIPDNN_ATTR_ENGINE_GLOBAL_INDEX:
    call.exactly(HIPDNN_TYPE_INT64, *id_);
    return;
  case HIPDNN_ATTR_ENGINE_NAME_EXT:
    call.string(name_);
    return;
  case HIPDNN_ATTR_ENGINE_BEHAVIOR_NOTE:
    call.vector(HIPDNN_TYPE_BEHAVIOR_NOTE, details_.notes);
    return;
  case HIPDNN_ATTR_ENGINE_KNOB_INFO: {
    call.is(HIPDNN_TYPE_BACKEND_DESCRIPTOR);
    auto available = static_cast<int64_t>(details_.knobs.size());
    if (call.asks_count(available)) {
      return;
    }
    int64_t n = std::min(call.requested, available);
    for (int64_t i = 0; i < n; i++) {
      call.hand_out(i, knob_info_of(details_.knobs[static_cast<size_t>(i)]));
    }
    call.say(n);
    return;
  }
  default:
    call.unsupported();
  }
}

std::shared_ptr<EngineDescriptor> EngineDescriptor::of(std::shared_ptr<GraphDescriptor> graph,
                                                       int64_t id) {
  auto out = std::make_shared<EngineDescriptor>();
  out->graph_ = std::move(graph);
  out->id_ = id;
  out->finalize();
  return out;
}

std::shared_ptr<Descriptor> make_engine() {
  return std::make_shared<EngineDescriptor>();
}

} // namespace refhipdnn
