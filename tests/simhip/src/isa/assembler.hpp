// From the text of a kernel's instructions to a program.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "instruction.hpp"

namespace simhip::isa {

struct Line {
  std::uint64_t address = 0; // in the code object
  std::uint32_t size = 0;    // bytes
  std::string text;
};

// False with the first reason in error when some instruction is not known in all that its text
// says: then nothing of the kernel can be run.
bool assemble(const std::vector<Line> &lines, Program &program, std::string &error);

} // namespace simhip::isa
