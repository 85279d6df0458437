#define MIOPEN_BETA_API
#include <miopen/miopen.h>

#include <vector>

#include "errors.hpp"
#include "tensor.hpp"

using miopen::deref;
using miopen::TensorDescriptor;
using miopen::Throw;
using miopen::Try;

namespace {

template <class T> std::vector<std::size_t> Positive(const T *values, int count) {
  std::vector<std::size_t> out;
  out.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) {
    if (values[i] <= 0)
      Throw(miopenStatusBadParm, "lengths and strides must be positive");
    out.push_back(static_cast<std::size_t>(values[i]));
  }
  return out;
}

template <class T>
TensorDescriptor MakeDescriptor(miopenDataType_t type, int dimensions, const T *lengths,
                                const T *strides) {
  if (lengths == nullptr || dimensions <= 0)
    Throw(miopenStatusInvalidValue, "the lengths are missing");
  if (strides == nullptr)
    return TensorDescriptor(type, Positive(lengths, dimensions));
  return TensorDescriptor(type, Positive(lengths, dimensions), Positive(strides, dimensions));
}

} // namespace

extern "C" {

MIOPEN_EXPORT miopenStatus_t miopenCreateTensorDescriptor(miopenTensorDescriptor_t *tensorDesc) {
  return Try(__func__, [&] {
    auto &created =
        deref(tensorDesc); // first: an assignment would allocate before it looks at this
    created = new TensorDescriptor();
  });
}

MIOPEN_EXPORT miopenStatus_t miopenDestroyTensorDescriptor(miopenTensorDescriptor_t tensorDesc) {
  return Try(__func__, [&] { delete static_cast<TensorDescriptor *>(tensorDesc); });
}

MIOPEN_EXPORT miopenStatus_t miopenSetTensorDescriptor(miopenTensorDescriptor_t tensorDesc,
                                                       miopenDataType_t dataType, int nbDims,
                                                       const int *dimsA, const int *stridesA) {
  return Try(__func__,
             [&] { deref(tensorDesc) = MakeDescriptor(dataType, nbDims, dimsA, stridesA); });
}

MIOPEN_EXPORT miopenStatus_t miopenSetTensorDescriptorV2(miopenTensorDescriptor_t tensorDesc,
                                                         miopenDataType_t dataType, int nbDims,
                                                         const size_t *dimsA,
                                                         const size_t *stridesA) {
  return Try(__func__,
             [&] { deref(tensorDesc) = MakeDescriptor(dataType, nbDims, dimsA, stridesA); });
}

// Through the exported name, like the real library's internal callers.
MIOPEN_EXPORT miopenStatus_t miopenSet4dTensorDescriptor(miopenTensorDescriptor_t tensorDesc,
                                                         miopenDataType_t dataType, int n, int c,
                                                         int h, int w) {
  miopen::LogEntry(__func__);
  const int lengths[] = {n, c, h, w};
  return miopenSetTensorDescriptor(tensorDesc, dataType, 4, lengths, nullptr);
}

MIOPEN_EXPORT miopenStatus_t miopenSet4dTensorDescriptorEx(miopenTensorDescriptor_t tensorDesc,
                                                           miopenDataType_t dataType, int n, int c,
                                                           int h, int w, int nStride, int cStride,
                                                           int hStride, int wStride) {
  miopen::LogEntry(__func__);
  const int lengths[] = {n, c, h, w};
  const int strides[] = {nStride, cStride, hStride, wStride};
  return miopenSetTensorDescriptor(tensorDesc, dataType, 4, lengths, strides);
}

MIOPEN_EXPORT miopenStatus_t miopenSetNdTensorDescriptorWithLayout(
    miopenTensorDescriptor_t tensorDesc, miopenDataType_t dataType,
    miopenTensorLayout_t tensorLayout, const int *lens, int num_lens) {
  return Try(__func__, [&] {
    if (lens == nullptr || num_lens <= 0)
      Throw(miopenStatusInvalidValue, "the lengths are missing");
    deref(tensorDesc) = TensorDescriptor(dataType, tensorLayout, Positive(lens, num_lens));
  });
}

MIOPEN_EXPORT miopenStatus_t miopenGet4dTensorDescriptor(miopenTensorDescriptor_t tensorDesc,
                                                         miopenDataType_t *dataType, int *n, int *c,
                                                         int *h, int *w, int *nStride, int *cStride,
                                                         int *hStride, int *wStride) {
  return Try(__func__, [&] {
    const TensorDescriptor &d = deref(tensorDesc);
    // Of more than four dimensions the real library gives the first four; of fewer it reads past
    // their end, which is not imitated.
    if (d.Dimensions() < 4)
      Throw(miopenStatusBadParm, "the tensor has fewer than four dimensions");
    int *const lengths[] = {n, c, h, w};
    int *const strides[] = {nStride, cStride, hStride, wStride};
    deref(dataType) = d.Type();
    for (std::size_t i = 0; i < 4; ++i) {
      deref(lengths[i]) = static_cast<int>(d.Lengths()[i]);
      deref(strides[i]) = static_cast<int>(d.Strides()[i]);
    }
  });
}

MIOPEN_EXPORT miopenStatus_t miopenGetTensorDescriptorSize(miopenTensorDescriptor_t tensorDesc,
                                                           int *size) {
  return Try(__func__, [&] { deref(size) = static_cast<int>(deref(tensorDesc).Dimensions()); });
}

MIOPEN_EXPORT miopenStatus_t miopenGetTensorDescriptor(miopenTensorDescriptor_t tensorDesc,
                                                       miopenDataType_t *dataType, int *dimsA,
                                                       int *stridesA) {
  return Try(__func__, [&] {
    const TensorDescriptor &d = deref(tensorDesc);
    if (dataType != nullptr)
      *dataType = d.Type();
    for (std::size_t i = 0; i < d.Dimensions(); ++i) {
      if (dimsA != nullptr)
        dimsA[i] = static_cast<int>(d.Lengths()[i]);
      if (stridesA != nullptr)
        stridesA[i] = static_cast<int>(d.Strides()[i]);
    }
  });
}

MIOPEN_EXPORT miopenStatus_t miopenGetTensorNumBytes(miopenTensorDescriptor_t tensorDesc,
                                                     size_t *numBytes) {
  return Try(__func__, [&] { deref(numBytes) = deref(tensorDesc).NumBytes(); });
}

MIOPEN_EXPORT miopenStatus_t miopenSetTensorCastType(miopenTensorDescriptor_t tensorDesc,
                                                     miopenDataType_t cast_type) {
  return Try(__func__, [&] { deref(tensorDesc).SetCastType(cast_type); });
}

// Exported but declared in no header; the real library takes a reference, which is a pointer at
// the ABI. The tensor's own type when no cast type was set.
MIOPEN_EXPORT miopenStatus_t miopenGetTensorCastType(miopenTensorDescriptor_t tensorDesc,
                                                     miopenDataType_t *cast_type) {
  return Try(__func__, [&] {
    const TensorDescriptor &d = deref(tensorDesc);
    deref(cast_type) = d.CastType().value_or(d.Type());
  });
}

} // extern "C"
