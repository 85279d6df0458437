// Source of the checks: ConvolutionFwdOperationDescriptor.cpp @ a7961675 (early: the mode is an
// INT64 in the numbering of the FlatBuffers) and, for the late form, the table of attribute types
// (CONVOLUTION_MODE, the C numbering); backward data and weights are alike.

#include "config.hpp"
#include "descriptors.hpp"
#include "errors.hpp"

namespace refhipdnn {
namespace {

struct Names {
  Kind kind;
  hipdnnBackendAttributeName_t image, filter, output;
};

const Names &names(ConvKind kind) {
  static const Names kNames[] = {
      {Kind::ConvolutionForward, HIPDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
       HIPDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, HIPDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y},
      {Kind::ConvolutionBackwardData, HIPDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
       HIPDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W, HIPDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY},
      {Kind::ConvolutionBackwardWeights, HIPDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
       HIPDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
       HIPDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY},
  };
  return kNames[static_cast<int>(kind)];
}

using TensorPtr = std::shared_ptr<TensorDescriptor>;

class ConvolutionDescriptor : public OperationDescriptor {
public:
  explicit ConvolutionDescriptor(ConvKind kind) : OperationDescriptor(names(kind).kind) {
    value_.kind = kind;
  }
  ConvolutionDescriptor(const Node &node, TensorPtr image, TensorPtr filter, TensorPtr output)
      : ConvolutionDescriptor(std::get<Convolution>(node.operation).kind) {
    value_ = std::get<Convolution>(node.operation);
    compute_ = node.compute;
    image_ = std::move(image);
    filter_ = std::move(filter);
    output_ = std::move(output);
  }

  Node node() const override {
    Node n;
    n.compute = compute_;
    n.operation = value_;
    return n;
  }

  std::vector<TensorPtr> tensors() const override {
    switch (value_.kind) { // the order of each operation's own attributes
    case ConvKind::Forward:
      return {image_, filter_, output_};
    case ConvKind::BackwardData:
      return {output_, filter_, image_};
    default:
      return {image_, output_, filter_};
    }
  }

protected:
  void do_finalize() override {
    want(image_ != nullptr, "image tensor (X or DX)");
    want(filter_ != nullptr, "filter tensor (W or DW)");
    want(output_ != nullptr, "output tensor (Y or DY)");
    want(!value_.pre_padding.empty(), "PRE_PADDINGS");
    want(!value_.post_padding.empty(), "POST_PADDINGS");
    want(!value_.stride.empty(), "FILTER_STRIDES");
    want(!value_.dilation.empty(), "DILATIONS");
    want(compute_ != DataType::Unset, "COMP_TYPE");
    want(value_.mode != ConvMode::Unset, "CONV_MODE");
  }

  void do_set(const Set &call) override {
    const Names &n = names(value_.kind);
    if (call.name == n.image) {
      set_tensor(call, image_, value_.image);
    } else if (call.name == n.filter) {
      set_tensor(call, filter_, value_.filter);
    } else if (call.name == n.output) {
      set_tensor(call, output_, value_.output);
    } else if (std::vector<int64_t> *v = list(value_, call.name)) {
      *v = call.vector<int64_t>(HIPDNN_TYPE_INT64);
    } else if (call.name == HIPDNN_ATTR_CONVOLUTION_COMP_TYPE) {
      compute_ = call.data_type();
    } else if (call.name == HIPDNN_ATTR_CONVOLUTION_CONV_MODE) {
      set_mode(call);
    } else {
      call.unsupported();
    }
  }

  void do_get(const Get &call) const override {
    const Names &n = names(value_.kind);
    Convolution copy = value_;
    if (call.name == n.image) {
      call.descriptor(image_);
    } else if (call.name == n.filter) {
      call.descriptor(filter_);
    } else if (call.name == n.output) {
      call.descriptor(output_);
    } else if (const std::vector<int64_t> *v = list(copy, call.name)) {
      call.vector(HIPDNN_TYPE_INT64, *v);
    } else if (call.name == HIPDNN_ATTR_CONVOLUTION_COMP_TYPE) {
      call.data_type(compute_);
    } else if (call.name == HIPDNN_ATTR_CONVOLUTION_CONV_MODE) {
      if (config().early) {
        call.scalar<int64_t>(HIPDNN_TYPE_INT64, static_cast<int64_t>(value_.mode));
      } else {
        call.scalar<int32_t>(HIPDNN_TYPE_CONVOLUTION_MODE, static_cast<int32_t>(value_.mode) - 1);
      }
    } else {
      call.unsupported();
    }
  }

private:
  static void set_tensor(const Set &call, TensorPtr &tensor, int64_t &uid) {
    call.array(HIPDNN_TYPE_BACKEND_DESCRIPTOR);
    call.one();
    tensor = call.descriptor<TensorDescriptor>(Kind::Tensor, HIPDNN_STATUS_BAD_PARAM);
    uid = tensor->value().uid;
  }

  static std::vector<int64_t> *list(Convolution &c, hipdnnBackendAttributeName_t name) {
    switch (name) {
    case HIPDNN_ATTR_CONVOLUTION_PRE_PADDINGS:
      return &c.pre_padding;
    case HIPDNN_ATTR_CONVOLUTION_POST_PADDINGS:
      return &c.post_padding;
    case HIPDNN_ATTR_CONVOLUTION_FILTER_STRIDES:
      return &c.stride;
    case HIPDNN_ATTR_CONVOLUTION_DILATIONS:
      return &c.dilation;
    default:
      return nullptr;
    }
  }

  void set_mode(const Set &call) {
    int64_t mode = config().early ? call.scalar<int64_t>(HIPDNN_TYPE_INT64)
                                  : call.scalar<int32_t>(HIPDNN_TYPE_CONVOLUTION_MODE) + int64_t{1};
    if (mode < (config().early ? 0 : 1) || mode > 2) {
      call.fail(HIPDNN_STATUS_BAD_PARAM, "no such convolution mode");
    }
    value_.mode = static_cast<ConvMode>(mode);
  }

  Convolution value_;
  DataType compute_ = DataType::Unset;
  TensorPtr image_, filter_, output_;
};

} // namespace

std::shared_ptr<Descriptor> make_convolution(ConvKind kind) {
  return std::make_shared<ConvolutionDescriptor>(kind);
}

std::shared_ptr<OperationDescriptor> convolution_of(const Node &node, TensorPtr image,
                                                    TensorPtr filter, TensorPtr output) {
  return std::make_shared<ConvolutionDescriptor>(node, std::move(image), std::move(filter),
                                                 std::move(output));
}

} // namespace refhipdnn
