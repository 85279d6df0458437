// The instructions that are known: how the operands of each one's text are bound, and what runs it.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "instruction.hpp"
#include "syntax.hpp"

namespace simhip::isa {

// What an operand's bits are. Constants are printed by type: 1.0 is another pattern in a half, a
// float and a double.
enum class Type : std::uint8_t {
  b16,
  f16,
  b32,
  f32,
  b64,
  i64,
  f64,
  packed16,
  packed_f16,
  packed32,
  wide
};

// The part that an operand of the text plays.
struct Role {
  enum class Part : std::uint8_t {
    vector_result,
    scalar_result,
    source,
    accumulator, // no operand of its own: the result's old value is the next source
    implicit_vcc // no operand of its own: VCC is the next source
  };
  Part part = Part::source;
  Type type = Type::b32;
};

struct Definition {
  Run run = nullptr;
  std::vector<Role> roles;
  bool keeps_high = false;      // a 16-bit result preserves the other half of its register
  bool float_modifiers = false; // neg and abs of sources have a meaning
  Run clamped = nullptr;        // what runs it when the text says clamp; may be run itself
  bool sub_dword = true;        // SDWA and DPP have a meaning where the text uses them
  enum class Halves : std::uint8_t { none, op_sel, packed, mixed } halves = Halves::none;

  // For instructions whose operands are not as simple; then roles are not looked at. Returns false
  // with a reason.
  bool (*bind)(const Syntax &, Instruction &, std::string &error) = nullptr;
};

class Table {
public:
  void add(const std::string &mnemonic, Definition definition) {
    definitions_.emplace(mnemonic, std::move(definition));
  }
  const Definition *find(const std::string &mnemonic) const {
    const auto found = definitions_.find(mnemonic);
    return found == definitions_.end() ? nullptr : &found->second;
  }
  std::size_t size() const {
    return definitions_.size();
  }

private:
  std::unordered_map<std::string, Definition> definitions_;
};

// Each in the file that is named after it.
void add_scalar(Table &);
void add_vector_integer(Table &);
void add_vector_float(Table &);
void add_vector_convert(Table &);
void add_vector_packed(Table &);
void add_vector_compare(Table &);
void add_vector_lane(Table &);
void add_memory(Table &);
void add_lds(Table &);
void add_control(Table &);

// All of them; made at first use, then constant.
const Table &known_instructions();

} // namespace simhip::isa
