// Source of the checks: TensorDescriptor.cpp @ 014b75c9.

#include "descriptors.hpp"

namespace refhipdnn {

void TensorDescriptor::do_finalize() {
  want(!tensor_.dims.empty(), "dimensions");
  want(!tensor_.strides.empty(), "strides");
  if (tensor_.dims.size() != tensor_.strides.size()) {
    bad(std::to_string(tensor_.dims.size()) + " dimensions and " +
        std::to_string(tensor_.strides.size()) + " strides");
  }
  want(tensor_.type != DataType::Unset, "element type");
}

void TensorDescriptor::set_value(const Set &call) {
  call.array(HIPDNN_TYPE_CHAR);
  size_t size = size_of(tensor_.type);
  if (tensor_.type == DataType::Unset || size == 0) {
    call.fail(HIPDNN_STATUS_BAD_PARAM, "the element type comes first, and has whole bytes");
  }
  if (call.count != static_cast<int64_t>(size)) {
    call.fail(HIPDNN_STATUS_BAD_PARAM,
              "wants the " + std::to_string(size) + " bytes of an element");
  }
  const auto *bytes = static_cast<const uint8_t *>(call.elements);
  tensor_.value.assign(bytes, bytes + size);
}

void TensorDescriptor::do_set(const Set &call) {
  switch (call.name) {
  case HIPDNN_ATTR_TENSOR_UNIQUE_ID:
    tensor_.uid = call.scalar<int64_t>(HIPDNN_TYPE_INT64);
    return;
  case HIPDNN_ATTR_TENSOR_NAME_EXT:
    tensor_.name = call.string();
    return;
  case HIPDNN_ATTR_TENSOR_DATA_TYPE:
    tensor_.type = call.data_type();
    return;
  case HIPDNN_ATTR_TENSOR_DIMENSIONS:
    tensor_.dims = call.vector<int64_t>(HIPDNN_TYPE_INT64);
    return;
  case HIPDNN_ATTR_TENSOR_STRIDES:
    tensor_.strides = call.vector<int64_t>(HIPDNN_TYPE_INT64);
    return;
  case HIPDNN_ATTR_TENSOR_IS_VIRTUAL:
    tensor_.is_virtual = call.scalar<bool>(HIPDNN_TYPE_BOOLEAN);
    return;
  case HIPDNN_ATTR_TENSOR_VALUE_EXT:
    set_value(call);
    return;
  case HIPDNN_ATTR_TENSOR_BYTE_ALIGNMENT:
    tensor_.alignment = call.scalar<int64_t>(HIPDNN_TYPE_INT64);
    return;
  default:
    call.unsupported();
  }
}

void TensorDescriptor::do_get(const Get &call) const {
  switch (call.name) {
  case HIPDNN_ATTR_TENSOR_UNIQUE_ID:
    call.scalar(HIPDNN_TYPE_INT64, tensor_.uid);
    return;
  case HIPDNN_ATTR_TENSOR_NAME_EXT:
    call.string(tensor_.name);
    return;
  case HIPDNN_ATTR_TENSOR_DATA_TYPE:
    call.data_type(tensor_.type);
    return;
  case HIPDNN_ATTR_TENSOR_DIMENSIONS:
    call.vector(HIPDNN_TYPE_INT64, tensor_.dims);
    return;
  case HIPDNN_ATTR_TENSOR_STRIDES:
    call.vector(HIPDNN_TYPE_INT64, tensor_.strides);
    return;
  case HIPDNN_ATTR_TENSOR_IS_VIRTUAL:
    call.scalar(HIPDNN_TYPE_BOOLEAN, tensor_.is_virtual);
    return;
  case HIPDNN_ATTR_TENSOR_IS_BY_VALUE:
    call.scalar(HIPDNN_TYPE_BOOLEAN, !tensor_.value.empty());
    return;
  case HIPDNN_ATTR_TENSOR_VALUE_EXT:
    if (tensor_.value.empty()) {
      call.fail(HIPDNN_STATUS_BAD_PARAM, "no value set");
    }
    call.vector(HIPDNN_TYPE_CHAR, tensor_.value);
    return;
  case HIPDNN_ATTR_TENSOR_BYTE_ALIGNMENT:
    call.scalar(HIPDNN_TYPE_INT64, tensor_.alignment);
    return;
  default:
    call.unsupported();
  }
}

std::shared_ptr<TensorDescriptor> TensorDescriptor::of(Tensor tensor) {
  auto out = std::make_shared<TensorDescriptor>();
  out->tensor_ = std::move(tensor);
  out->finalize();
  return out;
}

std::shared_ptr<Descriptor> make_tensor() {
  return std::make_shared<TensorDescriptor>();
}

} // namespace refhipdnn
