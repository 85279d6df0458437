// Runs a program for all work-groups of a launch.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "../kernels/kernel.hpp"
#include "image.hpp"
#include "instruction.hpp"
#include "number.hpp"

namespace simhip::isa {

// A kernel that can be run: what does not change from launch to launch.
struct Loaded {
  const std::byte *image = nullptr; // where address 0 of the code object is; not owned
  std::size_t image_bytes = 0;
  Descriptor descriptor;
  Program program;
  std::uint32_t entry = 0; // index in the program
};

// How a kernel's waves treat floating point.
Mode mode_of(const Descriptor &descriptor);

// False with a reason in error when the descriptor asks for something that waves here do not have.
bool supported(const Descriptor &descriptor, std::string &error);

// As kernels::Execution::run. arguments are complete, hidden ones included.
std::string dispatch(const Loaded &loaded, const kernels::Launch &launch,
                     const std::vector<std::byte> &arguments, const kernels::Memory &memory,
                     unsigned threads);

// The launch's arguments with the hidden ones filled in, as the metadata's value_kind names them.
std::vector<std::byte> complete_arguments(const kernels::Launch &launch);

} // namespace simhip::isa
