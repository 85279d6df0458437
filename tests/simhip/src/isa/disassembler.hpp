// A kernel's machine code as text, by AMD's code object manager (libamd_comgr), which every process
// that uses MIOpen has loaded.
#pragma once

#include <string>
#include <vector>

#include "assembler.hpp"
#include "image.hpp"

namespace simhip::isa {

// The instructions of a function, one after the other. False with a reason in error when there is
// no disassembler, or when some bytes are no instruction. One call at a time: the caller's lock.
bool disassemble(const Image &image, const Symbol &function, std::vector<Line> &lines,
                 std::string &error);

} // namespace simhip::isa
