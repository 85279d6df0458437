#include "tensor.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <utility>

namespace miopen {

namespace {

// Memory order of a layout, outermost first, as indices into the default order.
std::vector<std::size_t> MemoryOrder(miopenTensorLayout_t layout) {
  switch (layout) {
  case miopenTensorNCHW:
  case miopenTensorNCHWc4:
  case miopenTensorNCHWc8:
  // The lengths of these two are kept in C, H, W, N order, so they are packed as they stand.
  case miopenTensorCHWNc4:
  case miopenTensorCHWNc8:
    return {0, 1, 2, 3};
  case miopenTensorNHWC:
    return {0, 2, 3, 1};
  case miopenTensorCHWN:
    return {1, 2, 3, 0};
  case miopenTensorNCDHW:
    return {0, 1, 2, 3, 4};
  case miopenTensorNDHWC:
    return {0, 2, 3, 4, 1};
  }
  Throw(miopenStatusBadParm, "unknown tensor layout");
}

std::size_t LayoutVectorLength(miopenTensorLayout_t layout) {
  switch (layout) {
  case miopenTensorNCHWc4:
  case miopenTensorCHWNc4:
    return 4;
  case miopenTensorNCHWc8:
  case miopenTensorCHWNc8:
    return 8;
  default:
    return 1;
  }
}

std::vector<std::size_t> PackedStrides(const std::vector<std::size_t> &lengths,
                                       const std::vector<std::size_t> &order,
                                       std::size_t innermost) {
  std::vector<std::size_t> strides(lengths.size());
  std::size_t stride = innermost;
  for (std::size_t i = order.size(); i-- > 0;) {
    strides[order[i]] = stride;
    if (__builtin_mul_overflow(stride, lengths[order[i]], &stride))
      Throw(miopenStatusBadParm, "the tensor has more elements than an address can count");
  }
  return strides;
}

} // namespace

std::size_t TypeSize(miopenDataType_t type) {
  switch (type) {
  case miopenInt8:
  case miopenFloat8_fnuz:
  case miopenBFloat8_fnuz:
    return 1;
  case miopenHalf:
  case miopenBFloat16:
    return 2;
  case miopenFloat:
  case miopenInt32:
    return 4;
  case miopenDouble:
  case miopenInt64:
    return 8;
  }
  Throw(miopenStatusBadParm, "unsupported data type");
}

TensorDescriptor::TensorDescriptor(miopenDataType_t t, std::vector<std::size_t> l)
    : type(t), lengths(std::move(l)) {
  std::vector<std::size_t> order(lengths.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  strides = PackedStrides(lengths, order, 1);
  Check();
}

TensorDescriptor::TensorDescriptor(miopenDataType_t t, std::vector<std::size_t> l,
                                   std::vector<std::size_t> s)
    : type(t), lengths(std::move(l)), strides(std::move(s)) {
  if (lengths.size() != strides.size())
    Throw(miopenStatusBadParm, "as many strides as lengths are needed");
  Check();
}

TensorDescriptor::TensorDescriptor(miopenDataType_t t, miopenTensorLayout_t layout,
                                   std::vector<std::size_t> l)
    : type(t), lengths(std::move(l)), vector_length(LayoutVectorLength(layout)) {
  const std::vector<std::size_t> order = MemoryOrder(layout);
  if (order.size() != lengths.size())
    Throw(miopenStatusBadParm, "the layout does not have this number of dimensions");
  if (vector_length > 1) {
    std::size_t channel = 1;
    if (layout == miopenTensorCHWNc4 || layout == miopenTensorCHWNc8) {
      lengths = {lengths[1], lengths[2], lengths[3], lengths[0]};
      channel = 0;
    }
    if (lengths[channel] % vector_length != 0)
      Throw(miopenStatusBadParm, "the number of channels is not a multiple of the vector");
    lengths[channel] /= vector_length;
  }
  strides = PackedStrides(lengths, order, vector_length);
  Check();
}

void TensorDescriptor::Check() const {
  TypeSize(type); // throws for an unsupported one
  if (lengths.empty())
    Throw(miopenStatusBadParm, "a tensor needs at least one dimension");
  constexpr auto limit = static_cast<std::size_t>(std::numeric_limits<std::int64_t>::max());
  const auto bad = [](std::size_t v) { return v == 0 || v > limit; };
  if (std::any_of(lengths.begin(), lengths.end(), bad))
    Throw(miopenStatusBadParm, "lengths must be positive");
  if (std::any_of(strides.begin(), strides.end(), bad))
    Throw(miopenStatusBadParm, "strides must be positive");
}

std::size_t TensorDescriptor::NumBytes() const {
  if (lengths.empty())
    return 0;
  std::size_t elements = vector_length;
  for (std::size_t i = 0; i < lengths.size(); ++i)
    elements += (lengths[i] - 1) * strides[i];
  return elements * TypeSize(type);
}

void TensorDescriptor::SetCastType(miopenDataType_t t) {
  TypeSize(t); // throws for an unsupported one
  cast_type = t;
}

} // namespace miopen
