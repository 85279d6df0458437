// The arithmetic of the convolution, on host memory.
#ifndef REFMIOPEN_CONV_KERNEL_HPP
#define REFMIOPEN_CONV_KERNEL_HPP

#include <array>
#include <cstddef>
#include <cstdint>

#include "convolution.hpp"
#include "tensor.hpp"

namespace miopen {

// What is computed: y from x and w, dx from dy and w, or dw from dy and x. The numbers are
// miopenProblemDirection_t's.
enum class ConvDirection { Forward = 0, BackwardData = 1, BackwardWeights = 2 };

// A checked convolution, brought to three spatial dimensions: missing ones lead with length 1.
// x, w and y are the forward convolution's tensors in every direction; backward, the one that is
// computed and y stand for their gradients. Lengths and strides are in elements.
struct ConvGeometry {
  ConvDirection direction;
  bool deterministic; // the attribute
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

  std::size_t FilterElements() const;  // c_per_group * filter volume: one forward sum's length
  std::size_t OutputPositions() const; // output volume of one image
  std::size_t MultiplyAdds() const;    // of the whole convolution, in any direction
};

// Refuses what the real library refuses: mismatched dimensions, types, channels and lengths.
ConvGeometry MakeGeometry(ConvDirection direction, const ConvolutionDescriptor &convolution,
                          const TensorDescriptor &x, const TensorDescriptor &w,
                          const TensorDescriptor &y);

// result = alpha * convolution + beta * result; result is not read when beta is 0.
struct ConvBuffers {
  const void *first;  // x forward, dy backward
  const void *second; // w; x for the gradient of the weights
  void *result;       // y, dx, dw
  double alpha;
  double beta;
};

// All kernels keep sums in float, in double for doubles and in 32-bit integers for 8-bit ones. Only
// ConvolveDirect forward takes integers.

// One result after the other, each summed up where it is stored.
void ConvolveDirect(const ConvGeometry &geometry, const ConvBuffers &buffers);

// Through a matrix of filter elements by output positions of one image and group: forward and for
// the weights it holds the inputs, for the data the products that are then added up where they
// overlap. `workspace` holds GemmWorkspaceBytes(geometry) bytes.
void ConvolveGemm(const ConvGeometry &geometry, const ConvBuffers &buffers, void *workspace);
std::size_t GemmWorkspaceBytes(const ConvGeometry &geometry);

// The gradient of the weights from partial sums, one for each image.
void ConvolveSplitWeights(const ConvGeometry &geometry, const ConvBuffers &buffers,
                          void *workspace);
std::size_t SplitWorkspaceBytes(const ConvGeometry &geometry);

} // namespace miopen

#endif // REFMIOPEN_CONV_KERNEL_HPP
