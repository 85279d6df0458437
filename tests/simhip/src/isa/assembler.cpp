#include "assembler.hpp"

#include <unordered_map>

#include "number.hpp"
#include "syntax.hpp"
#include "table.hpp"

namespace simhip::isa {

namespace {

// Registers of 32 bits.
unsigned width(Type type) {
  switch (type) {
  case Type::b64:
  case Type::i64:
  case Type::f64:
  case Type::packed32:
    return 2;
  default:
    return 1;
  }
}

bool decimal_constant(const Operand &operand, Type type, std::uint64_t &value) {
  // One over two pi is the only inline constant that is rounded; its patterns are given, not
  // computed.
  const bool negative = operand.text.front() == '-';
  const double magnitude = negative ? -operand.decimal : operand.decimal;
  const bool inverse_pi = magnitude > 0.159 && magnitude < 0.160 && !negative;
  if (!inverse_pi && magnitude != 0.5 && magnitude != 1.0 && magnitude != 2.0 && magnitude != 4.0)
    return false;
  switch (type) {
  case Type::f16:
  case Type::packed_f16:
    value = inverse_pi ? 0x3118u : narrow(operand.decimal).pattern;
    return true;
  case Type::f32:
  case Type::b32:
  case Type::packed32:
    value = inverse_pi ? 0x3e22f983u : bits<std::uint32_t>(static_cast<float>(operand.decimal));
    return true;
  case Type::f64:
  case Type::b64:
  case Type::i64:
    value = inverse_pi ? 0x3fc45f306dc9c882u : bits<std::uint64_t>(operand.decimal);
    return true;
  default:
    return false;
  }
}

std::uint64_t integer_constant(const Operand &operand, Type type) {
  const auto value = static_cast<std::uint64_t>(operand.integer);
  if (width(type) == 2 && type != Type::packed32) {
    if (!operand.hexadecimal)
      return value; // an inline constant: sign-extended
    if (type == Type::f64)
      return value << 32; // a literal is the upper half
    if (type == Type::i64)
      return static_cast<std::uint64_t>(
          static_cast<std::int64_t>(static_cast<std::int32_t>(value)));
    return value & 0xffffffffu;
  }
  return value & 0xffffffffu;
}

bool bind_source(const Operand &operand, Type type, const Definition &definition, Source &source,
                 std::string &error) {
  switch (operand.kind) {
  case Operand::Kind::vector:
  case Operand::Kind::scalar:
  case Operand::Kind::special:
    if (operand.registers != width(type)) {
      error = "operand " + operand.text + " has " + std::to_string(operand.registers) +
              " registers in place of " + std::to_string(width(type));
      return false;
    }
    source.kind = operand.kind == Operand::Kind::vector   ? Source::Kind::vector
                  : operand.kind == Operand::Kind::scalar ? Source::Kind::scalar
                                                          : Source::Kind::special;
    source.reg = operand.first;
    break;
  case Operand::Kind::integer:
    source.kind = Source::Kind::constant;
    source.constant = integer_constant(operand, type);
    break;
  case Operand::Kind::decimal:
    source.kind = Source::Kind::constant;
    if (!decimal_constant(operand, type, source.constant)) {
      error = "constant " + operand.text + " has no pattern for this operand";
      return false;
    }
    break;
  case Operand::Kind::name:
    error = "operand " + operand.text + " is not understood";
    return false;
  }
  if ((operand.negative || operand.absolute) && !definition.float_modifiers) {
    error = "operand " + operand.text + " has a sign modifier";
    return false;
  }
  source.negative = operand.negative;
  source.absolute = operand.absolute;
  source.sign_extend = operand.sign_extend;
  return true;
}

bool select_of(const std::string &word, Select &select) {
  constexpr const char *words[] = {"DWORD",  "BYTE_0", "BYTE_1", "BYTE_2",
                                   "BYTE_3", "WORD_0", "WORD_1"};
  for (unsigned i = 0; i < 7; ++i)
    if (word == words[i]) {
      select = static_cast<Select>(i);
      return true;
    }
  return false;
}

bool apply_sub_dword(const Modifier &modifier, Instruction &instruction) {
  if (modifier.name == "dst_sel")
    return select_of(modifier.word, instruction.result_select);
  if (modifier.name == "src0_sel")
    return select_of(modifier.word, instruction.source[0].select);
  if (modifier.name == "src1_sel")
    return select_of(modifier.word, instruction.source[1].select);
  if (modifier.name != "dst_unused")
    return false;
  if (modifier.word == "UNUSED_PAD")
    instruction.unused = Instruction::Unused::pad;
  else if (modifier.word == "UNUSED_SEXT")
    instruction.unused = Instruction::Unused::sext;
  else if (modifier.word == "UNUSED_PRESERVE")
    instruction.unused = Instruction::Unused::preserve;
  else
    return false;
  return true;
}

struct NamedExchange {
  const char *name;
  Exchange::Kind kind;
  std::int64_t least, most; // of the number; both zero when there is none
};

constexpr NamedExchange exchanges[] = {
    {"row_shl", Exchange::Kind::row_shl, 1, 15},
    {"row_shr", Exchange::Kind::row_shr, 1, 15},
    {"row_ror", Exchange::Kind::row_ror, 1, 15},
    {"row_mirror", Exchange::Kind::row_mirror, 0, 0},
    {"row_half_mirror", Exchange::Kind::row_half_mirror, 0, 0},
    {"row_newbcast", Exchange::Kind::row_newbcast, 0, 15},
    {"wave_shl", Exchange::Kind::wave_shl, 1, 1},
    {"wave_rol", Exchange::Kind::wave_rol, 1, 1},
    {"wave_shr", Exchange::Kind::wave_shr, 1, 1},
    {"wave_ror", Exchange::Kind::wave_ror, 1, 1},
};

bool apply_exchange(const Modifier &modifier, Exchange &exchange) {
  const std::vector<std::int64_t> &values = modifier.values;
  const std::int64_t value = values.size() == 1 ? values[0] : 0;
  if (modifier.name == "quad_perm" && values.size() == 4) {
    exchange.kind = Exchange::Kind::quad_perm;
    exchange.amount = 0;
    for (unsigned i = 0; i < 4; ++i) {
      if (values[i] < 0 || values[i] > 3)
        return false;
      exchange.amount = static_cast<std::uint8_t>(exchange.amount | values[i] << (2 * i));
    }
    return true;
  }
  if (modifier.name == "row_bcast" && (value == 15 || value == 31)) {
    exchange.kind = value == 15 ? Exchange::Kind::row_bcast15 : Exchange::Kind::row_bcast31;
    return true;
  }
  if (modifier.name == "row_mask" || modifier.name == "bank_mask") {
    if (values.size() != 1 || value < 0 || value > 15)
      return false;
    (modifier.name == "row_mask" ? exchange.row_mask : exchange.bank_mask) =
        static_cast<std::uint8_t>(value);
    return true;
  }
  if (modifier.name ==
      "bound_ctrl") { // printed only when the bit is set, as 0 or 1 by the disassembler's age
    exchange.bound_zero = true;
    return true;
  }
  for (const NamedExchange &named : exchanges)
    if (modifier.name == named.name && value >= named.least && value <= named.most) {
      exchange.kind = named.kind;
      exchange.amount = static_cast<std::uint8_t>(value);
      return true;
    }
  return false;
}

bool bit_list(const Modifier &modifier, std::size_t least, std::size_t most, std::uint8_t &mask) {
  if (modifier.values.size() < least || modifier.values.size() > most)
    return false;
  mask = 0;
  for (std::size_t i = 0; i < modifier.values.size(); ++i)
    mask = static_cast<std::uint8_t>(mask | (modifier.values[i] != 0 ? 1u << i : 0u));
  return true;
}

bool apply_halves(const Modifier &modifier, const Definition &definition, std::size_t sources,
                  Instruction &instruction) {
  using Halves = Definition::Halves;
  const bool packed = definition.halves == Halves::packed;
  if (modifier.name == "op_sel" && definition.halves != Halves::none) {
    const std::size_t most = packed ? sources : sources + 1;
    if (!bit_list(modifier, sources, most, instruction.op_sel))
      return false;
    if (definition.halves != Halves::op_sel)
      return true;
    for (std::size_t i = 0; i < sources; ++i)
      if ((instruction.op_sel >> i & 1u) != 0)
        instruction.source[i].select = Select::word1;
    if ((instruction.op_sel >> sources & 1u) != 0) {
      instruction.result_select = Select::word1;
      instruction.unused = Instruction::Unused::preserve;
    }
    return true;
  }
  if (modifier.name == "op_sel_hi" && (packed || definition.halves == Halves::mixed))
    return bit_list(modifier, sources, sources, instruction.op_sel_hi);
  if (modifier.name == "neg_lo" && packed)
    return bit_list(modifier, sources, sources, instruction.neg_lo);
  if (modifier.name == "neg_hi" && packed)
    return bit_list(modifier, sources, sources, instruction.neg_hi);
  return false;
}

// A constant has no upper half, and the disassembler's rules for printing one there are not ours to
// guess.
bool constants_have_no_halves(const Definition &definition, std::size_t sources,
                              const Instruction &instruction) {
  using Halves = Definition::Halves;
  for (std::size_t i = 0; i < sources; ++i) {
    const Source &source = instruction.source[i];
    const bool zero =
        source.kind == Source::Kind::constant && source.constant == 0; // whatever half of it
    if (zero || (source.kind != Source::Kind::constant && source.kind != Source::Kind::special))
      continue;
    const bool high = ((instruction.op_sel | instruction.op_sel_hi) >> i & 1u) != 0;
    if (high && (definition.halves == Halves::packed || definition.halves == Halves::mixed))
      return false;
    if (source.select != Select::dword && definition.halves == Halves::op_sel)
      return false;
  }
  return true;
}

bool bind_roles(const Syntax &syntax, const Definition &definition, Instruction &instruction,
                std::string &error) {
  std::size_t operand = 0;
  std::size_t source = 0;
  bool dword_roles_only = true;
  for (const Role &role : definition.roles) {
    if (role.part == Role::Part::accumulator) {
      Source &accumulator = instruction.source[source++];
      const bool scalar = definition.roles.front().part == Role::Part::scalar_result;
      accumulator.kind = scalar ? Source::Kind::scalar : Source::Kind::vector;
      accumulator.reg = scalar ? instruction.scalar_result : instruction.vector_result;
      continue;
    }
    if (role.part == Role::Part::implicit_vcc) {
      Source &mask = instruction.source[source++];
      mask.kind = Source::Kind::scalar;
      mask.reg = scalar_register::vcc;
      continue;
    }
    if (operand == syntax.operands.size()) {
      error = "too few operands";
      return false;
    }
    const Operand &text = syntax.operands[operand++];
    if (width(role.type) != 1)
      dword_roles_only = false;
    if (role.part == Role::Part::source) {
      if (!bind_source(text, role.type, definition, instruction.source[source++], error))
        return false;
      continue;
    }
    const bool vector = role.part == Role::Part::vector_result;
    if (text.kind != (vector ? Operand::Kind::vector : Operand::Kind::scalar) ||
        text.registers != width(role.type) || text.negative || text.absolute || text.sign_extend) {
      error = "result " + text.text + " does not fit";
      return false;
    }
    (vector ? instruction.vector_result : instruction.scalar_result) = text.first;
  }
  if (operand != syntax.operands.size()) {
    error = "too many operands";
    return false;
  }

  instruction.run = definition.run;
  instruction.keep_high = definition.keeps_high;
  if (definition.halves == Definition::Halves::packed)
    instruction.op_sel_hi = static_cast<std::uint8_t>((1u << source) - 1);
  const bool extended =
      syntax.encoding == Syntax::Encoding::sdwa || syntax.encoding == Syntax::Encoding::dpp;
  if (extended && !definition.sub_dword) {
    error = "has no such encoding here";
    return false;
  }
  if (syntax.encoding == Syntax::Encoding::sdwa && !dword_roles_only &&
      definition.roles.front().part == Role::Part::vector_result &&
      width(definition.roles.front().type) != 1) {
    error = "parts of 64-bit registers";
    return false;
  }
  for (const Modifier &modifier : syntax.modifiers) {
    bool known = false;
    if (modifier.name == "clamp" && definition.clamped != nullptr) {
      instruction.run = definition.clamped;
      instruction.clamp = true;
      known = true;
    } else if (syntax.encoding == Syntax::Encoding::sdwa) {
      known = apply_sub_dword(modifier, instruction);
    } else if (syntax.encoding == Syntax::Encoding::dpp) {
      known = apply_exchange(modifier, instruction.exchange);
    } else {
      known = apply_halves(modifier, definition, source, instruction);
    }
    if (!known) {
      error = "modifier " + modifier.name + " is not supported";
      return false;
    }
  }
  for (std::size_t i = 0; i < source; ++i)
    if (instruction.source[i].sign_extend && syntax.encoding != Syntax::Encoding::sdwa) {
      error = "sext outside of SDWA";
      return false;
    }
  if (syntax.encoding == Syntax::Encoding::dpp &&
      (instruction.exchange.kind == Exchange::Kind::none ||
       instruction.source[0].kind != Source::Kind::vector)) {
    error = "no exchange of lanes given";
    return false;
  }
  if (!constants_have_no_halves(definition, source, instruction)) {
    error = "upper half of a constant";
    return false;
  }
  return true;
}

bool assemble_line(const Line &line, Instruction &instruction, Program &program,
                   std::string &error) {
  Syntax syntax;
  if (!parse(line.text, syntax, error))
    return false;
  const Definition *definition = known_instructions().find(syntax.mnemonic);
  if (definition == nullptr) {
    error = "the instruction is not known";
    return false;
  }
  instruction.address = line.address;
  instruction.size = line.size;
  if (definition->bind != nullptr) {
    instruction.run = definition->run;
    if (!definition->bind(syntax, instruction, error))
      return false;
  } else if (!bind_roles(syntax, *definition, instruction, error)) {
    return false;
  }
  for (const Operand &operand : syntax.operands)
    if (operand.kind == Operand::Kind::vector &&
        operand.first + operand.registers > program.vector_registers)
      program.vector_registers = operand.first + operand.registers;
  return true;
}

} // namespace

bool assemble(const std::vector<Line> &lines, Program &program, std::string &error) {
  std::unordered_map<std::uint64_t, std::uint32_t> index_of;
  for (const Line &line : lines) {
    Instruction instruction;
    if (!assemble_line(line, instruction, program, error)) {
      error = "'" + line.text + "': " + error;
      return false;
    }
    index_of.emplace(line.address, static_cast<std::uint32_t>(program.code.size()));
    program.code.push_back(instruction);
    program.text.push_back(line.text);
  }
  for (std::size_t i = 0; i < program.code.size(); ++i) {
    Instruction &instruction = program.code[i];
    if (instruction.target != unresolved_target)
      continue;
    const auto found = index_of.find(instruction.source[0].constant);
    if (found == index_of.end()) {
      error = "'" + program.text[i] + "': leaves the kernel";
      return false;
    }
    instruction.target = found->second;
  }
  return true;
}

const Table &known_instructions() {
  static const Table table = [] {
    Table made;
    add_scalar(made);
    add_vector_integer(made);
    add_vector_float(made);
    add_vector_convert(made);
    add_vector_packed(made);
    add_vector_compare(made);
    add_vector_lane(made);
    add_memory(made);
    add_lds(made);
    add_control(made);
    return made;
  }();
  return table;
}

} // namespace simhip::isa
