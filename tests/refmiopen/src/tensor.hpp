#ifndef REFMIOPEN_TENSOR_HPP
#define REFMIOPEN_TENSOR_HPP

#include <cstddef>
#include <optional>
#include <vector>

#include <miopen/miopen.h>

#include "errors.hpp"

namespace miopen {

std::size_t TypeSize(miopenDataType_t type);

// Type, lengths and strides of a tensor. Never holds a zero length or stride; the default value has
// no dimension at all and stands for a descriptor that was created and not set.
class MIOPEN_EXPORT TensorDescriptor : public miopenTensorDescriptor {
public:
  TensorDescriptor() = default;
  // Packed in the default order of the dimensions.
  TensorDescriptor(miopenDataType_t type, std::vector<std::size_t> lengths);
  TensorDescriptor(miopenDataType_t type, std::vector<std::size_t> lengths,
                   std::vector<std::size_t> strides);
  // Packed in the order that the layout names. For the vectorised layouts the length of C counts
  // vectors, as the real library reports it.
  TensorDescriptor(miopenDataType_t type, miopenTensorLayout_t layout,
                   std::vector<std::size_t> lengths);

  miopenDataType_t Type() const {
    return type;
  }
  const std::vector<std::size_t> &Lengths() const {
    return lengths;
  }
  const std::vector<std::size_t> &Strides() const {
    return strides;
  }
  std::size_t Dimensions() const {
    return lengths.size();
  }
  std::size_t VectorLength() const {
    return vector_length;
  }
  std::size_t NumBytes() const;

  std::optional<miopenDataType_t> CastType() const {
    return cast_type;
  }
  void SetCastType(miopenDataType_t t);

private:
  void Check() const;

  miopenDataType_t type = miopenFloat;
  std::vector<std::size_t> lengths;
  std::vector<std::size_t> strides;
  std::size_t vector_length = 1;
  std::optional<miopenDataType_t> cast_type;
};

inline TensorDescriptor &deref(miopenTensorDescriptor_t descriptor) {
  if (descriptor == nullptr)
    Throw(miopenStatusBadParm, "the tensor descriptor is null");
  return *static_cast<TensorDescriptor *>(descriptor);
}

} // namespace miopen

#endif // REFMIOPEN_TENSOR_HPP
