// Source of the checks: PointwiseOperationDescriptor.cpp @ 6bf73996.

#include "descriptors.hpp"

namespace refhipdnn {
namespace {

using TensorPtr = std::shared_ptr<TensorDescriptor>;

class PointwiseDescriptor : public OperationDescriptor {
public:
  PointwiseDescriptor() : OperationDescriptor(Kind::Pointwise) {}
  PointwiseDescriptor(const Node &node, TensorPtr in_0, TensorPtr in_1, TensorPtr in_2,
                      TensorPtr out_0)
      : PointwiseDescriptor() {
    value_ = std::get<Pointwise>(node.operation);
    compute_ = node.compute;
    in_0_ = std::move(in_0);
    in_1_ = std::move(in_1);
    in_2_ = std::move(in_2);
    out_0_ = std::move(out_0);
  }

  Node node() const override {
    Node n;
    n.compute = compute_;
    n.operation = value_;
    return n;
  }

  std::vector<TensorPtr> tensors() const override {
    std::vector<TensorPtr> out = {in_0_, out_0_};
    for (const TensorPtr &t : {in_1_, in_2_}) {
      if (t != nullptr) {
        out.push_back(t);
      }
    }
    return out;
  }

protected:
  void do_finalize() override {
    want(in_0_ != nullptr, "IN_0");
    want(out_0_ != nullptr, "OUT_0");
    want(compute_ != DataType::Unset, "MATH_PREC");
    want(value_.mode != 0, "MODE");
  }

  void do_set(const Set &call) override {
    switch (call.name) {
    case HIPDNN_ATTR_OPERATION_POINTWISE_IN_0_EXT:
      value_.in_0 = set_tensor(call, in_0_);
      return;
    case HIPDNN_ATTR_OPERATION_POINTWISE_IN_1_EXT:
      value_.in_1 = set_tensor(call, in_1_);
      return;
    case HIPDNN_ATTR_OPERATION_POINTWISE_IN_2_EXT:
      value_.in_2 = set_tensor(call, in_2_);
      return;
    case HIPDNN_ATTR_OPERATION_POINTWISE_OUT_0_EXT:
      value_.out_0 = set_tensor(call, out_0_);
      return;
    case HIPDNN_ATTR_POINTWISE_MODE: {
      auto mode = call.scalar<int32_t>(HIPDNN_TYPE_POINTWISE_MODE);
      if (mode < 1 || mode > HIPDNN_POINTWISE_TANH_FWD) {
        call.fail(HIPDNN_STATUS_BAD_PARAM, "no pointwise mode " + std::to_string(mode));
      }
      value_.mode = static_cast<int8_t>(mode);
      return;
    }
    case HIPDNN_ATTR_POINTWISE_RELU_LOWER_CLIP:
      value_.relu_lower_clip = call.scalar<float>(HIPDNN_TYPE_FLOAT);
      return;
    case HIPDNN_ATTR_POINTWISE_RELU_UPPER_CLIP:
      value_.relu_upper_clip = call.scalar<float>(HIPDNN_TYPE_FLOAT);
      return;
    case HIPDNN_ATTR_POINTWISE_RELU_LOWER_CLIP_SLOPE:
      value_.relu_lower_clip_slope = call.scalar<float>(HIPDNN_TYPE_FLOAT);
      return;
    case HIPDNN_ATTR_POINTWISE_MATH_PREC:
      compute_ = call.data_type();
      return;
    default:
      call.unsupported();
    }
  }

  void do_get(const Get &call) const override {
    switch (call.name) {
    case HIPDNN_ATTR_OPERATION_POINTWISE_IN_0_EXT:
      call.descriptor(in_0_);
      return;
    case HIPDNN_ATTR_OPERATION_POINTWISE_IN_1_EXT:
      get_optional(call, in_1_);
      return;
    case HIPDNN_ATTR_OPERATION_POINTWISE_IN_2_EXT:
      get_optional(call, in_2_);
      return;
    case HIPDNN_ATTR_OPERATION_POINTWISE_OUT_0_EXT:
      call.descriptor(out_0_);
      return;
    case HIPDNN_ATTR_POINTWISE_MODE:
      call.scalar<int32_t>(HIPDNN_TYPE_POINTWISE_MODE, value_.mode);
      return;
    case HIPDNN_ATTR_POINTWISE_RELU_LOWER_CLIP:
      call.optional(HIPDNN_TYPE_FLOAT, value_.relu_lower_clip);
      return;
    case HIPDNN_ATTR_POINTWISE_RELU_UPPER_CLIP:
      call.optional(HIPDNN_TYPE_FLOAT, value_.relu_upper_clip);
      return;
    case HIPDNN_ATTR_POINTWISE_RELU_LOWER_CLIP_SLOPE:
      call.optional(HIPDNN_TYPE_FLOAT, value_.relu_lower_clip_slope);
      return;
    case HIPDNN_ATTR_POINTWISE_MATH_PREC:
      call.data_type(compute_);
      return;
    default:
      call.unsupported();
    }
  }

private:
  static int64_t set_tensor(const Set &call, TensorPtr &tensor) {
    call.array(HIPDNN_TYPE_BACKEND_DESCRIPTOR);
    call.one();
    tensor = call.descriptor<TensorDescriptor>(Kind::Tensor, HIPDNN_STATUS_BAD_PARAM);
    return tensor->value().uid;
  }
  static void get_optional(const Get &call, const TensorPtr &tensor) {
    if (tensor == nullptr) {
      call.is(HIPDNN_TYPE_BACKEND_DESCRIPTOR);
      call.say(0);
      return;
    }
    call.descriptor(tensor);
  }

  Pointwise value_;
  DataType compute_ = DataType::Unset;
  TensorPtr in_0_, in_1_, in_2_, out_0_;
};

} // namespace

std::shared_ptr<Descriptor> make_pointwise() {
  return std::make_shared<PointwiseDescriptor>();
}

std::shared_ptr<OperationDescriptor> pointwise_of(const Node &node, TensorPtr in_0, TensorPtr in_1,
                                                  TensorPtr in_2, TensorPtr out_0) {
  return std::make_shared<PointwiseDescriptor>(node, std::move(in_0), std::move(in_1),
                                               std::move(in_2), std::move(out_0));
}

} // namespace refhipdnn
