#include "fused_kernel.hpp"

#include <algorithm>
#include <type_traits>
#include <vector>

#include "conv_loops.hpp"

namespace miopen {

namespace {

template <class Sum> Sum Activate(miopenActivationMode_t mode, Sum v, Sum alpha, Sum beta) {
  switch (mode) {
  case miopenActivationPASTHRU:
    return v;
  case miopenActivationRELU:
    return v > 0 ? v : Sum{0};
  case miopenActivationCLIPPEDRELU:
    return std::min(alpha, v > 0 ? v : Sum{0});
  case miopenActivationLEAKYRELU:
    return v > 0 ? v : alpha * v;
  case miopenActivationCLAMP:
    return std::min(beta, std::max(alpha, v));
  default:
    Throw(miopenStatusInternalError, "an activation that has no kernel");
  }
}

template <class Data, class Sum> void Fused(const ConvGeometry &g, const FusedBuffers &b) {
  const auto *bias = static_cast<const Data *>(b.bias);
  const auto *add = static_cast<const Data *>(b.add);
  auto *y = static_cast<Data *>(b.y);
  ForwardSums<Data, Sum>(g, static_cast<const Data *>(b.x), static_cast<const Data *>(b.w),
                         [&](std::size_t, std::size_t k, std::size_t offset, Sum sum) {
                           Sum v = static_cast<Sum>(b.alpha) * sum;
                           if (add != nullptr)
                             v += static_cast<Sum>(b.add_scale) * Widen(add[offset]);
                           if (bias != nullptr)
                             v += Widen(bias[k]);
                           y[offset] = Narrow<Data>(Activate(b.mode, v,
                                                             static_cast<Sum>(b.activation_alpha),
                                                             static_cast<Sum>(b.activation_beta)));
                         });
}

} // namespace

bool IsFusible(miopenActivationMode_t mode) {
  return mode == miopenActivationPASTHRU || mode == miopenActivationRELU ||
         mode == miopenActivationCLIPPEDRELU || mode == miopenActivationLEAKYRELU ||
         mode == miopenActivationCLAMP;
}

void ConvolveFused(const ConvGeometry &g, const FusedBuffers &b) {
  VisitFloating(g.x_type, [&](auto *data, auto *sum) {
    Fused<std::decay_t<decltype(*data)>, std::decay_t<decltype(*sum)>>(g, b);
  });
}

void AddBias(const TensorDescriptor &bias_desc, const void *bias, const TensorDescriptor &y_desc,
             void *y, double alpha, double beta) {
  VisitFloating(y_desc.Type(), [&](auto *data, auto *accumulator) {
    using Data = std::decay_t<decltype(*data)>;
    using Sum = std::decay_t<decltype(*accumulator)>;
    const auto a = static_cast<Sum>(alpha);
    const auto b = static_cast<Sum>(beta);
    const std::vector<std::size_t> &lengths = y_desc.Lengths();
    std::vector<std::size_t> index(lengths.size(), 0);
    for (;;) {
      std::size_t y_offset = 0;
      std::size_t bias_offset = 0;
      for (std::size_t i = 0; i < index.size(); ++i) {
        y_offset += index[i] * y_desc.Strides()[i];
        if (bias_desc.Lengths()[i] != 1)
          bias_offset += index[i] * bias_desc.Strides()[i];
      }
      Data &element = static_cast<Data *>(y)[y_offset];
      Sum v = a * Widen(element) + a * Widen(static_cast<const Data *>(bias)[bias_offset]);
      if (beta != 0)
        v += b * Widen(element);
      element = Narrow<Data>(v);
      std::size_t dim = index.size();
      while (dim > 0 && ++index[dim - 1] == lengths[dim - 1])
        index[--dim] = 0;
      if (dim == 0)
        return;
    }
  });
}

} // namespace miopen
