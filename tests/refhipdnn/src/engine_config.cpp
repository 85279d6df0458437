// Source of the checks: EngineConfigDescriptor.cpp @ 272ae967.

#include "descriptors.hpp"

#include <set>

namespace refhipdnn {

void EngineConfigDescriptor::take_engine(std::shared_ptr<EngineDescriptor> engine) {
  if (finalized()) {
    bad("is finalised already", HIPDNN_STATUS_NOT_INITIALIZED);
  }
  engine_ = std::move(engine);
  config_.engine = engine_->id();
}

void EngineConfigDescriptor::do_finalize() {
  want(engine_ != nullptr, "ENGINE");
  std::set<std::string> names;
  for (const auto &[name, value] : config_.knobs) {
    if (!names.insert(name).second) {
      bad("knob " + name + " is set twice");
    }
  }
  const GraphDescriptor &graph = *engine_->graph();
  EngineHandle &opened = graph.handle().engines()->of(engine_->id());
  workspace_ = static_cast<int64_t>(opened.workspace(bytes(), graph.bytes()));
}

void EngineConfigDescriptor::do_set(const Set &call) {
  switch (call.name) {
  case HIPDNN_ATTR_ENGINECFG_ENGINE:
    call.is(HIPDNN_TYPE_BACKEND_DESCRIPTOR);
    call.one();
    take_engine(
        call.descriptor<EngineDescriptor>(Kind::Engine, HIPDNN_STATUS_BAD_PARAM_NULL_POINTER));
    return;
  case HIPDNN_ATTR_ENGINECFG_KNOB_CHOICES: {
    call.array(HIPDNN_TYPE_BACKEND_DESCRIPTOR);
    std::vector<std::pair<std::string, KnobValue>> knobs;
    for (int64_t i = 0; i < call.count; i++) {
      auto choice = std::static_pointer_cast<KnobChoiceDescriptor>(
          call.unpack(i, Kind::KnobChoice, HIPDNN_STATUS_BAD_PARAM_NULL_POINTER));
      knobs.emplace_back(choice->knob(), choice->value());
    }
    config_.knobs = std::move(knobs);
    return;
  }
  default:
    call.unsupported();
  }
}

void EngineConfigDescriptor::do_get(const Get &call) const {
  switch (call.name) {
  case HIPDNN_ATTR_ENGINECFG_ENGINE:
    call.exact_descriptor(engine_);
    return;
  case HIPDNN_ATTR_ENGINECFG_WORKSPACE_SIZE:
    call.exactly(HIPDNN_TYPE_INT64, workspace_);
    return;
  default:
    call.unsupported();
  }
}

std::shared_ptr<Descriptor> make_engine_config() {
  return std::make_shared<EngineConfigDescriptor>();
}

} // namespace refhipdnn
