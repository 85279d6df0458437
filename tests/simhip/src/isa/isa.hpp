// Executes kernels from their machine code, for those whose arguments alone do not tell what they
// compute.
//
// A functional simulator of the gfx942 instruction set: waves of 64 lanes with their registers,
// masks and LDS, memory accesses checked, no timing. Instructions are known completely or not at
// all. A kernel with one that is not known, in whatever part of it, is not executed.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "../kernels/kernel.hpp"

namespace simhip::isa {

// The execution of a launch, or null when the kernel is not on the list of those that are executed
// here, or cannot be: then refusals() says why. Any thread.
std::unique_ptr<kernels::Execution> prepare(kernels::Launch launch);

// As prepare(), for every kernel, whether it is on the list or not: for checking other executors
// against the machine code.
std::unique_ptr<kernels::Execution> prepare_any(kernels::Launch launch);

// For each kernel that could not be executed "NAME: reason", once. Any thread.
std::vector<std::string> refusals();

} // namespace simhip::isa
