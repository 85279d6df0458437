// Source of the checks: ExecutionPlanDescriptor.cpp @ 52e53843; at execution,
// EnginePluginResourceManager.cpp @ 84b06fc1. The form of a serialised plan is our own, as it is
// opaque to clients.

#include "config.hpp"
#include "descriptors.hpp"
#include "errors.hpp"
#include "report.hpp"

#include <chrono>
#include <thread>

namespace refhipdnn {
namespace {

// A serialised plan: magic, checksum of the rest, version, engine, and so on, each length first.
const char kMagic[8] = {'R', 'E', 'F', 'P', 'L', 'A', 'N', '1'};

class Writer {
public:
  void number(int64_t n) {
    const auto *p = reinterpret_cast<const uint8_t *>(&n);
    out.insert(out.end(), p, p + sizeof(n));
  }
  void block(const void *data, size_t size) {
    number(static_cast<int64_t>(size));
    const auto *p = static_cast<const uint8_t *>(data);
    out.insert(out.end(), p, p + size);
  }
  Bytes out;
};

class Reader {
public:
  Reader(const uint8_t *at, size_t left) : at_(at), left_(left) {}
  int64_t number() {
    int64_t n;
    std::memcpy(&n, take(sizeof(n)), sizeof(n));
    return n;
  }
  Bytes block() {
    int64_t size = number();
    const uint8_t *p = take(size < 0 ? SIZE_MAX : static_cast<size_t>(size));
    return Bytes(p, p + size);
  }
  std::vector<int64_t> numbers() {
    Bytes bytes = block();
    std::vector<int64_t> out(bytes.size() / sizeof(int64_t));
    std::memcpy(out.data(), bytes.data(), out.size() * sizeof(int64_t));
    return out;
  }

private:
  const uint8_t *take(size_t n) {
    if (n > left_) {
      fail(HIPDNN_STATUS_BAD_PARAM, "the serialised plan is cut short");
    }
    const uint8_t *p = at_;
    at_ += n;
    left_ -= n;
    return p;
  }
  const uint8_t *at_;
  size_t left_;
};

int64_t checksum(const Bytes &b, size_t from) {
  return engine_id(std::string(b.begin() + static_cast<std::ptrdiff_t>(from), b.end()));
}

} // namespace

void PlanDescriptor::take(Handle &handle, int64_t engine) {
  engines_ = handle.engines();
  engine_ = engine;
}

void PlanDescriptor::do_finalize() {
  want(config_ != nullptr, "ENGINE_CONFIG");
  EngineDescriptor &engine = *config_->engine();
  const GraphDescriptor &graph = *engine.graph();
  Handle &handle = graph.handle();
  if (config().plan_ms > 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(config().plan_ms));
  }
  context_ = handle.engines()->of(engine.id()).prepare(config_->bytes(), graph.bytes());
  take(handle, engine.id());
  override_shapes_ = graph.value().override_shapes;
  for (const Tensor &t : graph.value().tensors) {
    if (!t.is_virtual && t.value.empty()) {
      uids_.push_back(t.uid);
      alignments_.push_back(t.alignment);
    }
  }
  report_plan("built");
}

void PlanDescriptor::do_set(const Set &call) {
  switch (call.name) {
  case HIPDNN_ATTR_EXECUTION_PLAN_HANDLE: // checked and then ignored: the graph has the handle
    call.is(HIPDNN_TYPE_HANDLE);
    call.one();
    get_handle(call.scalar<hipdnnHandle_t>(HIPDNN_TYPE_HANDLE));
    return;
  case HIPDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG:
    call.is(HIPDNN_TYPE_BACKEND_DESCRIPTOR);
    call.one();
    config_ = call.descriptor<EngineConfigDescriptor>(Kind::EngineConfig,
                                                      HIPDNN_STATUS_BAD_PARAM_NULL_POINTER);
    return;
  default:
    call.unsupported();
  }
}

void PlanDescriptor::do_get(const Get &call) const {
  switch (call.name) {
  case HIPDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE:
    call.exactly(HIPDNN_TYPE_INT64, static_cast<int64_t>(context_->workspace()));
    return;
  case HIPDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG:
    if (config_ == nullptr) {
      call.fail(HIPDNN_STATUS_BAD_PARAM_NULL_POINTER, "a deserialised plan has none");
    }
    call.exact_descriptor(config_);
    return;
  case HIPDNN_ATTR_EXECUTION_PLAN_TENSOR_UIDS_EXT:
    call.vector(HIPDNN_TYPE_INT64, uids_);
    return;
  case HIPDNN_ATTR_EXECUTION_PLAN_ENGINE_GLOBAL_INDEX_EXT:
    call.exactly(HIPDNN_TYPE_INT64, engine_);
    return;
  case HIPDNN_ATTR_EXECUTION_PLAN_IS_OVERRIDE_SHAPE_ENABLED_EXT:
    call.scalar(HIPDNN_TYPE_BOOLEAN, override_shapes_);
    return;
  default:
    call.unsupported();
  }
}

void PlanDescriptor::execute(Handle &handle, const VariantPackDescriptor &pack) const {
  if (!finalized()) {
    bad("is not finalised");
  }
  if (!pack.finalized()) {
    bad("the variant pack is not finalised");
  }
  if (handle.engines() != engines_) {
    report_misuse("a plan was executed on a handle that it was not built for");
    bad("was built for another handle");
  }
  for (const DeviceBuffer &buffer : pack.buffers()) {
    for (size_t i = 0; i < uids_.size(); i++) {
      if (uids_[i] == buffer.uid && !config().early && alignments_[i] > 0 &&
          reinterpret_cast<uintptr_t>(buffer.ptr) % static_cast<uintptr_t>(alignments_[i]) != 0) {
        bad("the buffer of uid " + std::to_string(buffer.uid) + " is not aligned to " +
            std::to_string(alignments_[i]) + " bytes");
      }
    }
  }
  context_->execute(pack.workspace(), pack.buffers());
}

Bytes PlanDescriptor::serialize() const {
  if (!finalized()) {
    bad("is not finalised");
  }
  Bytes payload = context_->serialize();
  Writer rest;
  rest.block(config().version.data(), config().version.size());
  rest.number(engine_);
  rest.number(override_shapes_ ? 1 : 0);
  rest.block(uids_.data(), uids_.size() * sizeof(int64_t));
  rest.block(alignments_.data(), alignments_.size() * sizeof(int64_t));
  rest.block(payload.data(), payload.size());
  Writer all;
  all.out.insert(all.out.end(), kMagic, kMagic + sizeof(kMagic));
  all.number(checksum(rest.out, 0));
  all.out.insert(all.out.end(), rest.out.begin(), rest.out.end());
  return all.out;
}

std::shared_ptr<PlanDescriptor> PlanDescriptor::restore(Handle &handle, const Bytes &bytes) {
  constexpr size_t kHead = sizeof(kMagic) + sizeof(int64_t);
  if (bytes.size() < kHead || std::memcmp(bytes.data(), kMagic, sizeof(kMagic)) != 0) {
    fail(HIPDNN_STATUS_BAD_PARAM,
         "these " + std::to_string(bytes.size()) + " bytes are no serialised plan");
  }
  int64_t sum;
  std::memcpy(&sum, bytes.data() + sizeof(kMagic), sizeof(sum));
  if (sum != checksum(bytes, kHead)) {
    fail(HIPDNN_STATUS_BAD_PARAM, "the serialised plan is damaged");
  }
  Reader in(bytes.data() + kHead, bytes.size() - kHead);
  Bytes version = in.block();
  if (std::string(version.begin(), version.end()) != config().version) {
    fail(HIPDNN_STATUS_VERSION_MISMATCH,
         "the serialised plan is of version " + std::string(version.begin(), version.end()));
  }
  auto out = std::make_shared<PlanDescriptor>();
  out->take(handle, in.number());
  out->override_shapes_ = in.number() != 0;
  out->uids_ = in.numbers();
  out->alignments_ = in.numbers();
  out->context_ = out->engines_->of(out->engine_).restore(out->engine_, in.block());
  out->mark_finalized();
  report_plan("deserialized");
  return out;
}

std::shared_ptr<Descriptor> make_plan() {
  return std::make_shared<PlanDescriptor>();
}

} // namespace refhipdnn
