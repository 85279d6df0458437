// One instruction in the form in which waves run it: everything that its text says is resolved.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace simhip::isa {

class Wave;
struct Instruction;
using Run = void (*)(Wave &, const Instruction &);

// Scalar registers by their number in the encoding of operands, AMD's "Instruction Set
// Architecture" documents of the GFX9 family, table of scalar operands.
namespace scalar_register {
constexpr std::uint16_t flat_scratch = 102, xnack_mask = 104, vcc = 106, ttmp = 108, m0 = 124,
                        exec = 126, count = 128;
constexpr std::uint16_t shared_base = 235, shared_limit = 236, private_base = 237,
                        private_limit = 238;
constexpr std::uint16_t vccz = 251, execz = 252, scc = 253;
} // namespace scalar_register

// Accumulation registers a0 to a255 follow v0 to v255.
constexpr std::uint16_t first_accumulator = 256;
constexpr unsigned lanes_per_wave = 64;

// A branch whose target address, in source[0].constant, has not been looked up yet.
constexpr std::uint32_t unresolved_target = 0xffffffffu;

// Which part of a register SDWA takes or writes.
enum class Select : std::uint8_t { dword, byte0, byte1, byte2, byte3, word0, word1 };

struct Source {
  enum class Kind : std::uint8_t { none, vector, scalar, special, constant };
  Kind kind = Kind::none;
  bool negative = false; // applied after absolute
  bool absolute = false;
  bool sign_extend = false; // of the selected part
  Select select = Select::dword;
  std::uint16_t reg = 0;
  std::uint64_t constant = 0;
};

// The first source's lanes exchanged before use (data parallel primitives).
struct Exchange {
  enum class Kind : std::uint8_t {
    none,
    quad_perm,
    row_shl,
    row_shr,
    row_ror,
    row_mirror,
    row_half_mirror,
    row_newbcast,
    wave_shl,
    wave_rol,
    wave_shr,
    wave_ror,
    row_bcast15,
    row_bcast31
  };
  Kind kind = Kind::none;
  std::uint8_t amount =
      0; // of a shift or the lane of a broadcast; four two-bit fields for quad_perm
  std::uint8_t row_mask = 15;
  std::uint8_t bank_mask = 15;
  bool bound_zero =
      false; // a source lane that is not there counts as zero, else the lane is not written
};

struct Instruction {
  Run run = nullptr;
  Source source[4];
  std::uint16_t vector_result = 0;
  std::uint16_t scalar_result = 0;

  // Of packed and of 16-bit instructions, a bit for each source; bit 3 of op_sel is the result's.
  std::uint8_t op_sel = 0;
  std::uint8_t op_sel_hi = 0;
  std::uint8_t neg_lo = 0;
  std::uint8_t neg_hi = 0;

  bool clamp = false;
  bool keep_high = false; // a 16-bit result leaves the register's other half as it is
  Select result_select = Select::dword;
  enum class Unused : std::uint8_t { pad, sext, preserve } unused = Unused::pad;
  Exchange exchange;

  std::int32_t offset = 0;  // bytes; of memory instructions
  std::int32_t offset1 = 0; // the second one of those that access two places
  bool returns = false;     // an atomic that hands back what was there
  std::uint32_t target = 0; // of a branch: index in the program

  std::uint64_t address = 0; // in the code object, for messages and for s_getpc_b64
  std::uint32_t size = 0;    // bytes
};

// A kernel's instructions in the order of their addresses.
struct Program {
  std::vector<Instruction> code;
  std::vector<std::string> text; // of each, for messages
  unsigned vector_registers =
      0; // how many rows of lanes a wave needs, accumulation registers included
};

} // namespace simhip::isa
