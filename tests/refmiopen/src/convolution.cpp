#define MIOPEN_BETA_API // for the FP8 rounding attribute
#include "convolution.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace miopen {

ConvolutionDescriptor::ConvolutionDescriptor()
    : ConvolutionDescriptor(miopenConvolution, {0, 0}, {1, 1}, {1, 1}) {}

ConvolutionDescriptor::ConvolutionDescriptor(miopenConvolutionMode_t m, std::vector<int> p,
                                             std::vector<int> s, std::vector<int> d)
    : mode(m), pads(std::move(p)), strides(std::move(s)), dilations(std::move(d)),
      transpose_output_pads(pads.size(), 0) {
  const auto below = [](const std::vector<int> &values, int limit) {
    return std::any_of(values.begin(), values.end(), [=](int v) { return v < limit; });
  };
  if (strides.size() != pads.size() || dilations.size() != pads.size() || below(pads, 0) ||
      below(strides, 1) || below(dilations, 1))
    Throw(miopenStatusBadParm, "pads must be >= 0, strides and dilations >= 1");
  switch (mode) {
  case miopenConvolution:
  case miopenTranspose:
    break;
  case miopenGroupConv:
  case miopenDepthwise:
    // Old names of the plain mode: the group count alone says that a convolution is grouped.
    mode = miopenConvolution;
    break;
  default:
    Throw(miopenStatusBadParm, "unknown convolution mode");
  }
}

void ConvolutionDescriptor::SetGroupCount(int count) {
  group_count = count;
}

void ConvolutionDescriptor::SetTransposeOutputPads(std::vector<int> adjust) {
  if (adjust.size() != SpatialDimensions())
    Throw(miopenStatusUnknownError, "the number of spatial dimensions does not match");
  transpose_output_pads = std::move(adjust);
}

int ConvolutionDescriptor::Attribute(miopenConvolutionAttrib_t attribute) const {
  switch (attribute) {
  case MIOPEN_CONVOLUTION_ATTRIB_FP16_ALT_IMPL:
    return fp16_alternative;
  case MIOPEN_CONVOLUTION_ATTRIB_DETERMINISTIC:
    return deterministic;
  case MIOPEN_CONVOLUTION_ATTRIB_FP8_ROUNDING_MODE:
    return fp8_rounding;
  }
  Throw(miopenStatusBadParm, "unknown convolution attribute");
}

void ConvolutionDescriptor::SetAttribute(miopenConvolutionAttrib_t attribute, int value) {
  const auto in = [&](int low, int high) {
    if (value < low || value > high)
      Throw(miopenStatusBadParm, "value " + std::to_string(value) + " is not allowed here");
    return value;
  };
  switch (attribute) {
  case MIOPEN_CONVOLUTION_ATTRIB_FP16_ALT_IMPL:
    fp16_alternative = in(-1, 1);
    return;
  case MIOPEN_CONVOLUTION_ATTRIB_DETERMINISTIC:
    deterministic = in(0, 1);
    return;
  case MIOPEN_CONVOLUTION_ATTRIB_FP8_ROUNDING_MODE:
    fp8_rounding = in(miopenF8RoundingModeStandard, miopenF8RoundingModeStochastic);
    return;
  }
  Throw(miopenStatusBadParm, "unknown convolution attribute");
}

std::vector<std::size_t>
ConvolutionDescriptor::ForwardOutputLengths(const TensorDescriptor &x,
                                            const TensorDescriptor &w) const {
  const std::size_t spatial = SpatialDimensions();
  if (x.Dimensions() != spatial + 2 || w.Dimensions() != spatial + 2)
    Throw(miopenStatusBadParm, "the tensors do not have this convolution's dimensions");
  if (x.Type() != w.Type())
    Throw(miopenStatusBadParm, "the types of input and filter differ");

  // A group count below one passes here, as in the real library; running the convolution refuses
  // it.
  const auto groups = static_cast<std::size_t>(std::max(group_count, 0));
  const std::size_t channels = x.Lengths()[1];
  const std::size_t filter_k = w.Lengths()[0];
  const std::size_t filter_c = w.Lengths()[1];

  std::vector<std::size_t> out{x.Lengths()[0]};
  if (mode == miopenTranspose) {
    if (channels != filter_k || (groups > 1 && filter_k % groups != 0))
      Throw(miopenStatusBadParm, "the channels of input and filter do not fit");
    out.push_back(filter_c * groups);
  } else {
    if ((groups == 1 && channels != filter_c) ||
        (groups > 1 && (channels % filter_c != 0 || filter_k % (channels / filter_c) != 0)))
      Throw(miopenStatusBadParm, "the channels of input and filter do not fit");
    out.push_back(filter_k);
  }

  for (std::size_t i = 0; i < spatial; ++i) {
    const auto in = static_cast<std::int64_t>(x.Lengths()[2 + i]);
    const auto extent = 1 + dilations[i] * (static_cast<std::int64_t>(w.Lengths()[2 + i]) - 1);
    std::int64_t length;
    if (mode == miopenTranspose) {
      if (transpose_output_pads[i] >= strides[i])
        Throw(miopenStatusBadParm, "the output padding must be smaller than the stride");
      length =
          strides[i] * (in - 1) + extent - 2 * std::int64_t{pads[i]} + transpose_output_pads[i];
    } else {
      length = (in - extent + 2 * std::int64_t{pads[i]}) / strides[i] + 1;
    }
    out.push_back(static_cast<std::size_t>(std::max<std::int64_t>(1, length)));
  }
  return out;
}

} // namespace miopen
