#include "descriptor.hpp"

#include "attributes.hpp"
#include "config.hpp"
#include "descriptors.hpp"
#include "errors.hpp"
#include "report.hpp"

#include <algorithm>
#include <mutex>
#include <unordered_set>

struct HipdnnBackendDescriptor {
  std::shared_ptr<refhipdnn::Descriptor> descriptor;
};

namespace refhipdnn {
namespace {

const char *const kKindNames[] = {
    "TENSOR",
    "CONVOLUTION_FORWARD",
    "CONVOLUTION_BACKWARD_DATA",
    "CONVOLUTION_BACKWARD_FILTER",
    "POINTWISE",
    "OPERATIONGRAPH",
    "ENGINEHEUR",
    "ENGINE",
    "ENGINECFG",
    "KNOB_CHOICE",
    "KNOB_INFO",
    "EXECUTION_PLAN",
    "VARIANT_PACK",
};
constexpr size_t kKinds = sizeof(kKindNames) / sizeof(kKindNames[0]);

struct Numbered {
  int number;
  Kind kind;
};

// What both numberings agree in.
const Numbered kCommon[] = {
    {HIPDNN_BACKEND_ENGINE_DESCRIPTOR, Kind::Engine},
    {HIPDNN_BACKEND_ENGINECFG_DESCRIPTOR, Kind::EngineConfig},
    {HIPDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, Kind::Heuristics},
    {HIPDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, Kind::Plan},
    {HIPDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR, Kind::KnobChoice},
    {HIPDNN_BACKEND_KNOB_INFO_DESCRIPTOR, Kind::KnobInfo},
    {HIPDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, Kind::Graph},
    {HIPDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, Kind::VariantPack},
    {HIPDNN_BACKEND_TENSOR_DESCRIPTOR, Kind::Tensor},
    {HIPDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR, Kind::ConvolutionForward},
    {HIPDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
     Kind::ConvolutionBackwardWeights},
};
const Numbered kLate[] = {
    {HIPDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR, Kind::Pointwise},
    {HIPDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR, Kind::ConvolutionBackwardData},
};
const Numbered kEarly[] = {
    {HIPDNN_EARLY_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR, Kind::ConvolutionBackwardData},
};

// The client's descriptors that are alive.
class Objects {
public:
  Objects() {
    for (size_t i = 0; i < kKinds; i++) {
      kinds_[i] = new ObjectKind(kKindNames[i]);
    }
  }

  hipdnnBackendDescriptor_t add(std::shared_ptr<Descriptor> descriptor) {
    kind(*descriptor).created();
    auto *object = new HipdnnBackendDescriptor{std::move(descriptor)};
    std::lock_guard<std::mutex> lock(mutex_);
    alive_.insert(object);
    return object;
  }

  std::shared_ptr<Descriptor> get(hipdnnBackendDescriptor_t object) {
    std::lock_guard<std::mutex> lock(mutex_);
    return alive_.count(object) != 0 ? object->descriptor : nullptr;
  }

  void remove(hipdnnBackendDescriptor_t object) {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      if (alive_.erase(object) == 0) {
        object = nullptr;
      }
    }
    if (object == nullptr) {
      dead();
    }
    kind(*object->descriptor).destroyed();
    delete object;
  }

  [[noreturn]] static void dead() {
    report_misuse("a descriptor was used that is destroyed or never was one");
    fail(HIPDNN_STATUS_BAD_PARAM, "the descriptor is destroyed or never was one");
  }

private:
  ObjectKind &kind(const Descriptor &d) {
    return *kinds_[static_cast<size_t>(d.kind)];
  }

  std::mutex mutex_;
  std::unordered_set<hipdnnBackendDescriptor_t> alive_;
  ObjectKind *kinds_[kKinds];
};

Objects &objects() {
  static Objects *o = new Objects;
  return *o;
}

std::string attribute(hipdnnBackendAttributeName_t name) {
  const char *text = attribute_name(name);
  return text != nullptr ? text : "attribute " + std::to_string(name);
}

} // namespace

const char *kind_name(Kind kind) {
  return kKindNames[static_cast<size_t>(kind)];
}

std::shared_ptr<Descriptor> make_descriptor(Kind kind) {
  switch (kind) {
  case Kind::Tensor:
    return make_tensor();
  case Kind::ConvolutionForward:
    return make_convolution(ConvKind::Forward);
  case Kind::ConvolutionBackwardData:
    return make_convolution(ConvKind::BackwardData);
  case Kind::ConvolutionBackwardWeights:
    return make_convolution(ConvKind::BackwardWeights);
  case Kind::Pointwise:
    return make_pointwise();
  case Kind::Graph:
    return make_graph();
  case Kind::Heuristics:
    return make_heuristics();
  case Kind::Engine:
    return make_engine();
  case Kind::EngineConfig:
    return make_engine_config();
  case Kind::KnobChoice:
    return make_knob_choice();
  case Kind::KnobInfo:
    return make_knob_info();
  case Kind::Plan:
    return make_plan();
  case Kind::VariantPack:
    return make_variant_pack();
  }
  return nullptr;
}

std::optional<Kind> descriptor_kind(int number) {
  for (const Numbered &n : kCommon) {
    if (n.number == number) {
      return n.kind;
    }
  }
  if (config().early) {
    for (const Numbered &n : kEarly) {
      if (n.number == number) {
        return n.kind;
      }
    }
  } else {
    for (const Numbered &n : kLate) {
      if (n.number == number) {
        return n.kind;
      }
    }
  }
  return std::nullopt;
}

hipdnnBackendDescriptor_t hand_out(std::shared_ptr<Descriptor> descriptor) {
  return objects().add(std::move(descriptor));
}

std::shared_ptr<Descriptor> find(hipdnnBackendDescriptor_t object) {
  if (object == nullptr) {
    fail(HIPDNN_STATUS_BAD_PARAM_NULL_POINTER, "the descriptor is null");
  }
  auto found = objects().get(object);
  if (found == nullptr) {
    Objects::dead();
  }
  return found;
}

std::shared_ptr<Descriptor> find_alive(hipdnnBackendDescriptor_t object) {
  return objects().get(object);
}

void destroy(hipdnnBackendDescriptor_t object) {
  if (object == nullptr) {
    fail(HIPDNN_STATUS_BAD_PARAM_NULL_POINTER, "the descriptor is null");
  }
  objects().remove(object);
}

void Descriptor::bad(const std::string &why, hipdnnStatus_t status) const {
  refhipdnn::fail(status, std::string(kind_name(kind)) + ": " + why);
}

void Descriptor::finalize() {
  if (finalized_ && once()) {
    bad("is finalised already");
  }
  do_finalize();
  finalized_ = true;
}

void Descriptor::set(const Set &call) {
  if (finalized_) {
    call.fail(HIPDNN_STATUS_NOT_INITIALIZED, "the descriptor is finalised already");
  }
  do_set(call);
}

void Descriptor::get(const Get &call) const {
  if (!readable()) {
    call.fail(unreadable(), "the descriptor is not finalised");
  }
  do_get(call);
}

void Set::fail(hipdnnStatus_t status, const std::string &why) const {
  refhipdnn::fail(status,
                  std::string(kind_name(on_.kind)) + ", set " + attribute(name) + ": " + why);
}

void Set::unsupported() const {
  fail(HIPDNN_STATUS_NOT_SUPPORTED, "the descriptor has no such attribute to be set");
}

void Set::is(hipdnnBackendAttributeType_t wanted) const {
  if (type != wanted) {
    fail(HIPDNN_STATUS_BAD_PARAM,
         "wants type " + std::to_string(wanted) + ", got " + std::to_string(type));
  }
}

void Set::array(hipdnnBackendAttributeType_t wanted) const {
  is(wanted);
  if (elements == nullptr) {
    fail(HIPDNN_STATUS_BAD_PARAM_NULL_POINTER, "the elements are null");
  }
}

void Set::one() const {
  if (count != 1) {
    fail(HIPDNN_STATUS_BAD_PARAM, "wants one element, got " + std::to_string(count));
  }
}

DataType Set::data_type() const {
  auto number = scalar<int32_t>(HIPDNN_TYPE_DATA_TYPE);
  auto found = from_c(number);
  if (!found) {
    fail(HIPDNN_STATUS_BAD_PARAM, "no element type " + std::to_string(number));
  }
  return *found;
}

std::string Set::string(size_t least) const {
  array(HIPDNN_TYPE_CHAR);
  if (count < static_cast<int64_t>(least)) {
    fail(HIPDNN_STATUS_BAD_PARAM, "wants at least " + std::to_string(least) + " characters");
  }
  std::string out(static_cast<const char *>(elements), static_cast<size_t>(count));
  while (!out.empty() && out.back() == '\0') {
    out.pop_back();
  }
  return out;
}

std::shared_ptr<Descriptor> Set::unpack(int64_t index, Kind kind, hipdnnStatus_t null) const {
  if (elements == nullptr) {
    fail(null, "the elements are null");
  }
  auto object = static_cast<const hipdnnBackendDescriptor_t *>(elements)[index];
  if (object == nullptr) {
    fail(null, "the descriptor in it is null");
  }
  auto found = find(object);
  if (found->kind != kind) {
    fail(HIPDNN_STATUS_BAD_PARAM,
         std::string("wants ") + kind_name(kind) + ", got " + kind_name(found->kind));
  }
  if (!found->finalized()) {
    fail(HIPDNN_STATUS_BAD_PARAM_NOT_FINALIZED,
         std::string("the ") + kind_name(kind) + " is not finalised");
  }
  return found;
}

void Get::fail(hipdnnStatus_t status, const std::string &why) const {
  refhipdnn::fail(status,
                  std::string(kind_name(on_.kind)) + ", get " + attribute(name) + ": " + why);
}

void Get::unsupported() const {
  fail(HIPDNN_STATUS_NOT_SUPPORTED, "the descriptor has no such attribute to be read");
}

void Get::is(hipdnnBackendAttributeType_t wanted) const {
  if (type != wanted) {
    fail(HIPDNN_STATUS_BAD_PARAM,
         "wants type " + std::to_string(wanted) + ", got " + std::to_string(type));
  }
}

bool Get::asks_count(int64_t available) const {
  if (elements == nullptr || requested == 0) {
    if (count == nullptr) {
      fail(HIPDNN_STATUS_BAD_PARAM_NULL_POINTER, "neither elements nor a count to be written");
    }
    *count = available;
    return true;
  }
  if (requested < 0) {
    fail(HIPDNN_STATUS_BAD_PARAM, std::to_string(requested) + " elements requested");
  }
  return false;
}

void Get::pointer() const {
  if (elements == nullptr) {
    fail(HIPDNN_STATUS_BAD_PARAM_NULL_POINTER, "the elements are null");
  }
}

void Get::say(int64_t n) const {
  if (count != nullptr) {
    *count = n;
  }
}

void Get::data_type(DataType value) const {
  if (value == DataType::Unset && type == HIPDNN_TYPE_DATA_TYPE) {
    fail(HIPDNN_STATUS_BAD_PARAM, "no element type set");
  }
  scalar<int32_t>(HIPDNN_TYPE_DATA_TYPE, to_c(value).value_or(0));
}

void Get::string(const std::string &value) const {
  is(HIPDNN_TYPE_CHAR);
  if (asks_count(static_cast<int64_t>(value.size() + 1))) {
    return;
  }
  size_t n = std::min(value.size(), static_cast<size_t>(requested) - 1);
  std::memcpy(elements, value.data(), n);
  static_cast<char *>(elements)[n] = '\0';
  say(static_cast<int64_t>(n + 1));
}

void Get::descriptor(const std::shared_ptr<Descriptor> &value) const {
  is(HIPDNN_TYPE_BACKEND_DESCRIPTOR);
  if (asks_count(1)) {
    return;
  }
  hand_out(0, value);
  say(1);
}

void Get::exact_descriptor(const std::shared_ptr<Descriptor> &value) const {
  is(HIPDNN_TYPE_BACKEND_DESCRIPTOR);
  if (requested != 1) {
    fail(HIPDNN_STATUS_BAD_PARAM, "wants exactly one element requested");
  }
  pointer();
  hand_out(0, value);
  say(1);
}

void Get::hand_out(int64_t index, const std::shared_ptr<Descriptor> &value) const {
  static_cast<hipdnnBackendDescriptor_t *>(elements)[index] = refhipdnn::hand_out(value);
}

} // namespace refhipdnn
