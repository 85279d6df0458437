// Source of the checks: EngineHeuristicDescriptor.cpp @ 02dc267b.

#include "descriptors.hpp"

namespace refhipdnn {
namespace {

class HeuristicsDescriptor : public Descriptor {
public:
  HeuristicsDescriptor() : Descriptor(Kind::Heuristics) {}

protected:
  hipdnnStatus_t unreadable() const override {
    return HIPDNN_STATUS_BAD_PARAM_NOT_FINALIZED;
  }

  void do_finalize() override {
    want(graph_ != nullptr, "OPERATION_GRAPH");
    want(mode_set_, "MODE");
    // No engine is a result like any other. The graph's preferred engine is the client's to honour.
    engines_ = graph_->handle().engines()->applicable(graph_->value(), graph_->bytes(), first_);
  }

  void do_set(const Set &call) override {
    switch (call.name) {
    case HIPDNN_ATTR_ENGINEHEUR_MODE:
      call.is(HIPDNN_TYPE_HEUR_MODE);
      call.one();
      if (call.scalar<int32_t>(HIPDNN_TYPE_HEUR_MODE) != HIPDNN_HEUR_MODE_FALLBACK) {
        call.fail(HIPDNN_STATUS_NOT_SUPPORTED, "the only mode is FALLBACK");
      }
      mode_set_ = true;
      return;
    case HIPDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH:
      call.is(HIPDNN_TYPE_BACKEND_DESCRIPTOR);
      call.one();
      graph_ = call.descriptor<GraphDescriptor>(Kind::Graph, HIPDNN_STATUS_BAD_PARAM_NULL_POINTER);
      return;
    case HIPDNN_ATTR_ENGINEHEUR_FIND_FIRST_EXT:
      first_ = call.scalar<bool>(HIPDNN_TYPE_BOOLEAN);
      return;
    default:
      call.unsupported();
    }
  }

  void do_get(const Get &call) const override {
    switch (call.name) {
    case HIPDNN_ATTR_ENGINEHEUR_MODE:
      call.exactly<int32_t>(HIPDNN_TYPE_HEUR_MODE, HIPDNN_HEUR_MODE_FALLBACK);
      return;
    case HIPDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH:
      call.exact_descriptor(graph_);
      return;
    case HIPDNN_ATTR_ENGINEHEUR_FIND_FIRST_EXT:
      call.scalar(HIPDNN_TYPE_BOOLEAN, first_);
      return;
    case HIPDNN_ATTR_ENGINEHEUR_RESULTS:
      results(call);
      return;
    default:
      call.unsupported();
    }
  }

private:
  // The client passes engine configurations of its own in; each gets an engine.
  void results(const Get &call) const {
    call.is(HIPDNN_TYPE_BACKEND_DESCRIPTOR);
    if (call.count == nullptr) {
      call.fail(HIPDNN_STATUS_BAD_PARAM_NULL_POINTER, "no count to be written");
    }
    auto available = static_cast<int64_t>(engines_.size());
    if (call.requested == 0) {
      *call.count = available;
      return;
    }
    call.pointer();
    if (call.requested < 0) {
      call.fail(HIPDNN_STATUS_BAD_PARAM, std::to_string(call.requested) + " elements requested");
    }
    int64_t n = std::min(call.requested, available);
    for (int64_t i = 0; i < n; i++) {
      auto object = static_cast<hipdnnBackendDescriptor_t *>(call.elements)[i];
      if (object == nullptr) {
        call.fail(HIPDNN_STATUS_BAD_PARAM_NULL_POINTER,
                  "an engine configuration passed in is null");
      }
      auto found = find(object);
      if (found->kind != Kind::EngineConfig) {
        call.fail(HIPDNN_STATUS_BAD_PARAM,
                  std::string("wants an ENGINECFG passed in, got a ") + kind_name(found->kind));
      }
      static_cast<EngineConfigDescriptor &>(*found).take_engine(
          EngineDescriptor::of(graph_, engines_[static_cast<size_t>(i)]));
    }
    call.say(n);
  }

  std::shared_ptr<GraphDescriptor> graph_;
  bool mode_set_ = false;
  bool first_ = false;
  std::vector<int64_t> engines_;
};

} // namespace

std::shared_ptr<Descriptor> make_heuristics() {
  return std::make_shared<HeuristicsDescriptor>();
}

} // namespace refhipdnn
