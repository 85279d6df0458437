// Branches, barriers, the program's end, and what has no effect in a simulator whose memory
// accesses are done at once.
#include <chrono>
#include <cstdio>

#include "lanes.hpp"

namespace simhip::isa {

namespace {

using u64 = std::uint64_t;

void branch(Wave &wave, const Instruction &instruction) {
  wave.next = instruction.target;
}

void branch_scc0(Wave &wave, const Instruction &instruction) {
  if (!wave.scc)
    wave.next = instruction.target;
}

void branch_scc1(Wave &wave, const Instruction &instruction) {
  if (wave.scc)
    wave.next = instruction.target;
}

void branch_vccz(Wave &wave, const Instruction &instruction) {
  if (wave.vcc() == 0)
    wave.next = instruction.target;
}

void branch_vccnz(Wave &wave, const Instruction &instruction) {
  if (wave.vcc() != 0)
    wave.next = instruction.target;
}

void branch_execz(Wave &wave, const Instruction &instruction) {
  if (wave.exec() == 0)
    wave.next = instruction.target;
}

void branch_execnz(Wave &wave, const Instruction &instruction) {
  if (wave.exec() != 0)
    wave.next = instruction.target;
}

void nothing(Wave &, const Instruction &) {}

void end(Wave &wave, const Instruction &) {
  wave.state = Wave::State::ended;
}

void barrier(Wave &wave, const Instruction &) {
  wave.state = Wave::State::at_barrier;
}

// The address of the next instruction, in this process's copy of the code object: constants lie
// behind it.
void get_program_counter(Wave &wave, const Instruction &instruction) {
  wave.set_pair(instruction.scalar_result,
                wave.group->image + instruction.address + instruction.size);
}

// A clock of a hundred megahertz, as the device's constant one.
void get_time(Wave &wave, const Instruction &instruction) {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  wave.set_pair(
      instruction.scalar_result,
      static_cast<u64>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count() / 10));
}

// source[0] is the value, offset the first bit in the MODE register and offset1 how many.
void set_mode(Wave &wave, const Instruction &instruction) {
  const auto value = static_cast<unsigned>(instruction.source[0].constant);
  const auto set = [&](int bit, bool &flush) {
    if (bit >= instruction.offset && bit < instruction.offset + instruction.offset1)
      flush = (value >> (bit - instruction.offset) & 1u) == 0;
  };
  set(4, wave.mode.flush_sources_32);
  set(5, wave.mode.flush_results_32);
  set(6, wave.mode.flush_sources_16_64);
  set(7, wave.mode.flush_results_16_64);
}

bool bind_branch(const Syntax &syntax, Instruction &instruction, std::string &error) {
  if (syntax.operands.size() != 1 || syntax.operands[0].kind != Operand::Kind::integer) {
    error = "no distance";
    return false;
  }
  // In words of four bytes from the next instruction, printed without its sign.
  const auto distance = static_cast<std::int16_t>(syntax.operands[0].integer);
  instruction.target = unresolved_target;
  instruction.source[0].constant =
      instruction.address + instruction.size + static_cast<u64>(std::int64_t{4} * distance);
  return true;
}

bool bind_anything(const Syntax &, Instruction &, std::string &) {
  return true;
}

bool bind_pair_result(const Syntax &syntax, Instruction &instruction, std::string &error) {
  if (syntax.operands.size() != 1 || syntax.operands[0].kind != Operand::Kind::scalar ||
      syntax.operands[0].registers != 2 || !syntax.modifiers.empty()) {
    error = "not one pair of scalar registers";
    return false;
  }
  instruction.scalar_result = syntax.operands[0].first;
  return true;
}

// hwreg(HW_REG_MODE, first bit, bits), value; of that register only the bits for subnormal numbers.
bool bind_set_mode(const Syntax &syntax, Instruction &instruction, std::string &error) {
  int first = 0;
  int count = 0;
  int end_of_text = 0;
  if (syntax.operands.size() != 2 || syntax.operands[1].kind != Operand::Kind::integer ||
      std::sscanf(syntax.operands[0].text.c_str(), "hwreg(HW_REG_MODE, %d, %d)%n", &first, &count,
                  &end_of_text) != 2 ||
      static_cast<std::size_t>(end_of_text) != syntax.operands[0].text.size() || first < 4 ||
      count < 1 || first + count > 8) {
    error = "sets more than how subnormal numbers are treated";
    return false;
  }
  instruction.offset = first;
  instruction.offset1 = count;
  instruction.source[0].kind = Source::Kind::constant;
  instruction.source[0].constant = static_cast<u64>(syntax.operands[1].integer);
  return true;
}

Definition control(Run run, bool (*bind)(const Syntax &, Instruction &, std::string &)) {
  Definition definition;
  definition.run = run;
  definition.bind = bind;
  return definition;
}

} // namespace

void add_control(Table &table) {
  table.add("s_branch", control(branch, bind_branch));
  table.add("s_cbranch_scc0", control(branch_scc0, bind_branch));
  table.add("s_cbranch_scc1", control(branch_scc1, bind_branch));
  table.add("s_cbranch_vccz", control(branch_vccz, bind_branch));
  table.add("s_cbranch_vccnz", control(branch_vccnz, bind_branch));
  table.add("s_cbranch_execz", control(branch_execz, bind_branch));
  table.add("s_cbranch_execnz", control(branch_execnz, bind_branch));
  table.add("s_endpgm", control(end, bind_anything));
  table.add("s_barrier", control(barrier, bind_anything));
  table.add("s_getpc_b64", control(get_program_counter, bind_pair_result));
  table.add("s_memtime", control(get_time, bind_pair_result));
  table.add("s_memrealtime", control(get_time, bind_pair_result));
  table.add("s_setreg_imm32_b32", control(set_mode, bind_set_mode));
  // Waits, hints and caches.
  for (const char *name :
       {"s_nop", "v_nop", "s_waitcnt", "s_sleep", "s_setprio", "s_icache_inv", "s_dcache_inv",
        "s_dcache_wb", "buffer_wbl2", "buffer_inv", "buffer_wbinvl1", "buffer_wbinvl1_vol"})
    table.add(name, control(nothing, bind_anything));
}

} // namespace simhip::isa
