// Source of the checks: KnobSettingDescriptor.cpp @ 61350fef; the knob's description follows the
// attributes' comments in HipdnnBackendAttributeName.h @ 969801db.

#include "descriptors.hpp"

namespace refhipdnn {
namespace {

constexpr int64_t kLongestString = 4096;

hipdnnBackendAttributeType_t type_of(const KnobValue &value) {
  return value.index() == 0   ? HIPDNN_TYPE_INT64
         : value.index() == 1 ? HIPDNN_TYPE_DOUBLE
                              : HIPDNN_TYPE_CHAR;
}

void get_value(const Get &call, const KnobValue &value) {
  if (const auto *s = std::get_if<std::string>(&value)) {
    call.string(*s);
  } else if (const auto *i = std::get_if<int64_t>(&value)) {
    call.exactly(HIPDNN_TYPE_INT64, *i);
  } else {
    call.exactly(HIPDNN_TYPE_DOUBLE, std::get<double>(value));
  }
}

class KnobInfoDescriptor : public Descriptor {
public:
  KnobInfoDescriptor() : Descriptor(Kind::KnobInfo) {}
  static std::shared_ptr<KnobInfoDescriptor> of(const Knob &knob) {
    auto out = std::make_shared<KnobInfoDescriptor>();
    out->knob_ = knob;
    out->finalize();
    return out;
  }

protected:
  void do_finalize() override {
    want(!knob_.name.empty(), "TYPE");
  }
  void do_set(const Set &call) override {
    call.unsupported();
  }
  void do_get(const Get &call) const override {
    switch (call.name) {
    case HIPDNN_ATTR_KNOB_INFO_TYPE:
      call.string(knob_.name);
      return;
    case HIPDNN_ATTR_KNOB_INFO_DESCRIPTION:
      call.string(knob_.description);
      return;
    case HIPDNN_ATTR_KNOB_INFO_MINIMUM_VALUE:
      call.scalar(HIPDNN_TYPE_INT64, knob_.least);
      return;
    case HIPDNN_ATTR_KNOB_INFO_MAXIMUM_VALUE:
      call.scalar(HIPDNN_TYPE_INT64, knob_.most);
      return;
    case HIPDNN_ATTR_KNOB_INFO_STRIDE:
      call.scalar(HIPDNN_TYPE_INT64, knob_.step);
      return;
    case HIPDNN_ATTR_KNOB_INFO_DEPRECATED:
      call.scalar(HIPDNN_TYPE_BOOLEAN, knob_.deprecated);
      return;
    case HIPDNN_ATTR_KNOB_INFO_DEFAULT_VALUE:
      get_value(call, knob_.initial);
      return;
    case HIPDNN_ATTR_KNOB_INFO_DEFAULT_VALUE_TYPE:
      call.scalar<int64_t>(HIPDNN_TYPE_INT64, type_of(knob_.initial));
      return;
    default:
      call.unsupported();
    }
  }

private:
  Knob knob_;
};

} // namespace

void KnobChoiceDescriptor::do_finalize() {
  want(!knob_.empty(), "KNOB_TYPE");
  want(value_.has_value(), "KNOB_VALUE");
}

void KnobChoiceDescriptor::do_set(const Set &call) {
  switch (call.name) {
  case HIPDNN_ATTR_KNOB_CHOICE_KNOB_TYPE:
    knob_ = call.string(1);
    return;
  case HIPDNN_ATTR_KNOB_CHOICE_KNOB_VALUE:
    switch (call.type) {
    case HIPDNN_TYPE_INT64:
      value_ = call.scalar<int64_t>(HIPDNN_TYPE_INT64);
      return;
    case HIPDNN_TYPE_DOUBLE:
      value_ = call.scalar<double>(HIPDNN_TYPE_DOUBLE);
      return;
    case HIPDNN_TYPE_CHAR:
      if (call.count > kLongestString) {
        call.fail(HIPDNN_STATUS_BAD_PARAM, "the string is too long");
      }
      value_ = call.string();
      return;
    default:
      call.fail(HIPDNN_STATUS_BAD_PARAM, "wants INT64, DOUBLE or CHAR");
    }
  default:
    call.unsupported();
  }
}

void KnobChoiceDescriptor::do_get(const Get &call) const {
  switch (call.name) {
  case HIPDNN_ATTR_KNOB_CHOICE_KNOB_TYPE:
    call.string(knob_);
    return;
  case HIPDNN_ATTR_KNOB_CHOICE_KNOB_VALUE:
    get_value(call, *value_);
    return;
  default:
    call.unsupported();
  }
}

std::shared_ptr<Descriptor> make_knob_choice() {
  return std::make_shared<KnobChoiceDescriptor>();
}

std::shared_ptr<Descriptor> make_knob_info() {
  return std::make_shared<KnobInfoDescriptor>();
}

std::shared_ptr<Descriptor> knob_info_of(const Knob &knob) {
  return KnobInfoDescriptor::of(knob);
}

} // namespace refhipdnn
