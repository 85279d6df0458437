#ifndef REFMIOPEN_CONVOLUTION_HPP
#define REFMIOPEN_CONVOLUTION_HPP

#include <cstddef>
#include <string>
#include <vector>

#include <miopen/miopen.h>

#include "errors.hpp"
#include "tensor.hpp"

namespace miopen {

// Geometry and switches of a convolution. The vectors have one entry for each spatial dimension,
// outermost first. Pads are >= 0, strides and dilations >= 1.
class MIOPEN_EXPORT ConvolutionDescriptor : public miopenConvolutionDescriptor {
public:
  // Two spatial dimensions, no padding, unit strides and dilations.
  ConvolutionDescriptor();
  ConvolutionDescriptor(miopenConvolutionMode_t mode, std::vector<int> pads,
                        std::vector<int> strides, std::vector<int> dilations);

  std::size_t SpatialDimensions() const {
    return pads.size();
  }
  miopenConvolutionMode_t Mode() const {
    return mode;
  }
  const std::vector<int> &Pads() const {
    return pads;
  }
  const std::vector<int> &Strides() const {
    return strides;
  }
  const std::vector<int> &Dilations() const {
    return dilations;
  }

  int GroupCount() const {
    return group_count;
  }
  void SetGroupCount(int count);
  void SetTransposeOutputPads(std::vector<int> adjust);

  int Attribute(miopenConvolutionAttrib_t attribute) const;
  void SetAttribute(miopenConvolutionAttrib_t attribute, int value);
  int FindMode() const {
    return find_mode;
  }
  // Without a check: the undeclared entry point of the real library has none.
  void SetFindMode(int m) {
    find_mode = m;
  }

  // The lengths of y. Checks that x and w fit each other and this descriptor.
  std::vector<std::size_t> ForwardOutputLengths(const TensorDescriptor &x,
                                                const TensorDescriptor &w) const;

private:
  miopenConvolutionMode_t mode = miopenConvolution;
  std::vector<int> pads;
  std::vector<int> strides;
  std::vector<int> dilations;
  std::vector<int> transpose_output_pads;
  int group_count = 1;
  int fp16_alternative = -1; // -1: the library decides
  int deterministic = 0;
  int fp8_rounding = 1; // stochastic
  int find_mode = miopenConvolutionFindModeDefault;
};

inline ConvolutionDescriptor &deref(miopenConvolutionDescriptor_t descriptor) {
  if (descriptor == nullptr)
    Throw(miopenStatusBadParm, "the convolution descriptor is null");
  return *static_cast<ConvolutionDescriptor *>(descriptor);
}

} // namespace miopen

#endif // REFMIOPEN_CONVOLUTION_HPP
