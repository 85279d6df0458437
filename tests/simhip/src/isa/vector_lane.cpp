// Instructions that look across a wave's lanes.
#include <utility>

#include "lanes.hpp"

namespace simhip::isa {

namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;

// Of lane's value of a source that may also be scalar.
u32 value_in(const Wave &wave, const Source &source, unsigned lane) {
  return source.kind == Source::Kind::vector ? wave.vectors[source.reg].lane[lane]
                                             : static_cast<u32>(scalar_value(wave, source, false));
}

void read_first_lane(Wave &wave, const Instruction &instruction) {
  const u64 mask = wave.exec();
  const unsigned lane = mask == 0 ? 0 : static_cast<unsigned>(__builtin_ctzll(mask));
  wave.scalar[instruction.scalar_result] = value_in(wave, instruction.source[0], lane);
}

void read_lane(Wave &wave, const Instruction &instruction) {
  const auto lane = static_cast<unsigned>(scalar_value(wave, instruction.source[1], false)) &
                    (lanes_per_wave - 1);
  wave.scalar[instruction.scalar_result] = value_in(wave, instruction.source[0], lane);
}

void write_lane(Wave &wave, const Instruction &instruction) {
  const auto lane = static_cast<unsigned>(scalar_value(wave, instruction.source[1], false)) &
                    (lanes_per_wave - 1);
  wave.vectors[instruction.vector_result].lane[lane] =
      static_cast<u32>(scalar_value(wave, instruction.source[0], false));
}

// How many of the mask's bits below the own lane's are set; the instruction has half of the mask.
template <bool upper> void count_below(Wave &wave, const Instruction &instruction) {
  Row result = {};
  for (unsigned lane = 0; lane < lanes_per_wave; ++lane) {
    const u64 below = (u64{1} << lane) - 1;
    const u32 bits =
        value_in(wave, instruction.source[0], lane) & static_cast<u32>(upper ? below >> 32 : below);
    result.lane[lane] =
        static_cast<u32>(__builtin_popcount(bits)) + value_in(wave, instruction.source[1], lane);
  }
  put_words(wave.vectors[instruction.vector_result], result.lane, wave.exec());
}

void swap(Wave &wave, const Instruction &instruction) {
  Row &a = wave.vectors[instruction.vector_result];
  Row &b = wave.vectors[instruction.source[0].reg];
  each_lane(wave.exec(), [&](unsigned lane) { std::swap(a.lane[lane], b.lane[lane]); });
}

Definition across(Run run, Role::Part result, unsigned sources) {
  Definition definition;
  definition.run = run;
  definition.roles = {{result, Type::b32}};
  for (unsigned i = 0; i < sources; ++i)
    definition.roles.push_back({Role::Part::source, Type::b32});
  definition.sub_dword = false;
  return definition;
}

bool bind_swap(const Syntax &syntax, Instruction &instruction, std::string &error) {
  if (syntax.operands.size() != 2 || !syntax.modifiers.empty() ||
      syntax.operands[0].kind != Operand::Kind::vector ||
      syntax.operands[1].kind != Operand::Kind::vector) {
    error = "not two vector registers";
    return false;
  }
  instruction.vector_result = syntax.operands[0].first;
  instruction.source[0].kind = Source::Kind::vector;
  instruction.source[0].reg = syntax.operands[1].first;
  return true;
}

} // namespace

void add_vector_lane(Table &table) {
  table.add("v_readfirstlane_b32", across(read_first_lane, Role::Part::scalar_result, 1));
  table.add("v_readlane_b32", across(read_lane, Role::Part::scalar_result, 2));
  table.add("v_writelane_b32", across(write_lane, Role::Part::vector_result, 2));
  table.add("v_mbcnt_lo_u32_b32", across(count_below<false>, Role::Part::vector_result, 2));
  table.add("v_mbcnt_hi_u32_b32", across(count_below<true>, Role::Part::vector_result, 2));
  Definition exchange;
  exchange.run = swap;
  exchange.bind = bind_swap;
  table.add("v_swap_b32", exchange);
}

} // namespace simhip::isa
