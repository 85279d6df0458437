// MIOpen's naive convolution kernels, executed.
#pragma once

#include <memory>

#include "kernel.hpp"

namespace simhip::kernels {

// The execution of a launch of a naive_conv_ab_* kernel, which needs the launch no longer, or null
// when the kernel is not one of those.
std::unique_ptr<Execution> prepare_naive_convolution(const Launch &launch);

} // namespace simhip::kernels
