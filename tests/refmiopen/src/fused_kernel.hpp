// A forward convolution and what is done with its sums before they are stored.
#ifndef REFMIOPEN_FUSED_KERNEL_HPP
#define REFMIOPEN_FUSED_KERNEL_HPP

#include <cstddef>
#include <optional>

#include <miopen/miopen.h>

#include "conv_kernel.hpp"
#include "tensor.hpp"

namespace miopen {

// y = activation(alpha * conv(x, w) + add_scale * add + bias), all of it in the type that sums are
// kept in, so that it is rounded once.
struct FusedBuffers {
  const void *x;
  const void *w;
  void *y;
  double alpha;
  const void *bias; // one element for each channel of y; null for none
  const void *add;  // shaped like y, with y's strides; null for none
  double add_scale;
  miopenActivationMode_t mode; // one that IsFusible names
  double activation_alpha;
  double activation_beta;
};

// Whether ConvolveFused knows the mode: PASTHRU, RELU, CLIPPEDRELU, LEAKYRELU and CLAMP.
bool IsFusible(miopenActivationMode_t mode);

// For floating types.
void ConvolveFused(const ConvGeometry &geometry, const FusedBuffers &buffers);

// y = alpha * y + alpha * bias + beta * y, where each length of the bias is y's or 1.
void AddBias(const TensorDescriptor &bias_desc, const void *bias, const TensorDescriptor &y_desc,
             void *y, double alpha, double beta);

} // namespace miopen

#endif // REFMIOPEN_FUSED_KERNEL_HPP
