// The arithmetic of the convolution, on host memory.
#ifndef REFMIOPEN_CONV_KERNEL_HPP
#define REFMIOPEN_CONV_KERNEL_HPP

#include <array>
#include <cstddef>
#include <cstdint>

#include "convolution.hpp"
#include "tensor.hpp"

namespace miopen {

// A checked forward convolution, brought to three spatial dimensions: missing ones lead with length
// 1. Lengths and strides are in elements.
struct ConvGeometry {
  miopenDataType_t x_type;
  miopenDataType_t y_type;
  std::size_t batch;
  std::size_t groups;
  std::size_t c_per_group;
  std::size_t k_per_group;
  std::array<std::int64_t, 3> in;
  std::array<std::int64_t, 3> filter;
  std::array<std::int64_t, 3> out;
  std::array<std::int64_t, 3> pad;
  std::array<std::int64_t, 3> stride;
  std::array<std::int64_t, 3> dilation;
  std::array<std::size_t, 5> x_strides; // N, C, D, H, W
  std::array<std::size_t, 5> w_strides; // K, C, D, H, W
  std::array<std::size_t, 5> y_strides; // N, K, D, H, W

  std::size_t FilterElements() const;  // c_per_group * filter volume: one sum's length
  std::size_t OutputPositions() const; // output volume of one image
  std::size_t MultiplyAdds() const;    // of the whole convolution
};

// Refuses what the real library refuses: mismatched dimensions, types, channels and lengths.
ConvGeometry MakeGeometry(const ConvolutionDescriptor &convolution, const TensorDescriptor &x,
                          const TensorDescriptor &w, const TensorDescriptor &y);

// y = alpha * conv(x, w) + beta * y; y is not read when beta is 0.
struct ConvBuffers {
  const void *x;
  const void *w;
  void *y;
  double alpha;
  double beta;
};

// Sums in the order of the filter. Sums are kept in float, in double for doubles and in 32-bit
// integers for 8-bit ones.
void ConvolveDirect(const ConvGeometry &geometry, const ConvBuffers &buffers);

// Gathers the inputs of every output position of one image and group into `columns`, then
// multiplies. Floating types only. `columns` holds GemmWorkspaceBytes(geometry) bytes.
void ConvolveGemm(const ConvGeometry &geometry, const ConvBuffers &buffers, void *columns);
std::size_t GemmWorkspaceBytes(const ConvGeometry &geometry);

} // namespace miopen

#endif // REFMIOPEN_CONV_KERNEL_HPP
