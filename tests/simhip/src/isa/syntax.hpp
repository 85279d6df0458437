// The text of one instruction taken apart: AMD's assembly as LLVM's disassembler prints it for GFX9
// processors.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace simhip::isa {

struct Operand {
  enum class Kind : std::uint8_t {
    vector,  // v7, v[2:3], a7: first is the register with accumulation registers after the vector
             // ones
    scalar,  // s7, s[2:3], vcc, exec_lo, m0
    special, // src_scc, src_shared_base and their like
    integer, // 12, -4, 0x3f: an inline constant or a literal
    decimal, // 1.0, -0.5, 0.15915494: an inline constant
    name     // off, hwreg(...), vmcnt(0)
  };
  Kind kind = Kind::name;
  std::uint16_t first = 0;
  std::uint16_t registers = 1;
  std::int64_t integer = 0;
  double decimal = 0;
  bool hexadecimal = false; // a literal, not an inline constant
  bool negative = false;
  bool absolute = false;
  bool sign_extend = false;
  std::string text;
};

struct Modifier {
  std::string name;                 // clamp, offset, op_sel, src0_sel
  std::string word;                 // what follows the colon when that is no number and no list
  std::vector<std::int64_t> values; // one, or those of a list
};

struct Syntax {
  enum class Encoding : std::uint8_t { plain, e32, e64, sdwa, dpp };
  std::string mnemonic; // without the suffix that names the encoding
  Encoding encoding = Encoding::plain;
  std::vector<Operand> operands;
  std::vector<Modifier> modifiers;
};

// False with the reason in error when the text has a form that is not known.
bool parse(const std::string &text, Syntax &syntax, std::string &error);

} // namespace simhip::isa
