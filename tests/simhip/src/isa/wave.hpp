// The state of a wave and of the work-group that it belongs to.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "instruction.hpp"
#include "number.hpp"
#include "reach.hpp"

namespace simhip::isa {

// A vector register: one 32-bit value for each lane.
struct alignas(64) Row {
  std::uint32_t lane[lanes_per_wave];
};

// Where flat addresses mean LDS and scratch. No address of a process has these upper halves.
constexpr std::uint64_t shared_aperture = 0x0001000000000000u;
constexpr std::uint64_t private_aperture = 0x0002000000000000u;

// What the waves of a work-group share.
struct Group {
  std::vector<std::byte> lds;
  Reach *reach = nullptr;
  std::uintptr_t image = 0; // where address 0 of the code object is
};

class Wave {
public:
  enum class State : std::uint8_t { running, at_barrier, ended, failed };

  std::uint32_t scalar[scalar_register::count] = {};
  bool scc = false;
  State state = State::running;
  Mode mode;
  std::uint32_t next = 0; // index in the program
  Group *group = nullptr;
  std::vector<Row> vectors;
  std::vector<std::byte> scratch;   // of all lanes, one after the other
  std::size_t scratch_per_lane = 0; // bytes
  std::string fault;                // why it failed; says nothing of where

  std::uint64_t pair(unsigned reg) const {
    return scalar[reg] | static_cast<std::uint64_t>(scalar[reg + 1]) << 32;
  }
  void set_pair(unsigned reg, std::uint64_t value) {
    scalar[reg] = static_cast<std::uint32_t>(value);
    scalar[reg + 1] = static_cast<std::uint32_t>(value >> 32);
  }
  std::uint64_t exec() const {
    return pair(scalar_register::exec);
  }
  std::uint64_t vcc() const {
    return pair(scalar_register::vcc);
  }

  std::uint64_t special(unsigned reg) const {
    switch (reg) {
    case scalar_register::shared_base:
      return shared_aperture;
    case scalar_register::shared_limit:
      return shared_aperture | 0xffffffffu;
    case scalar_register::private_base:
      return private_aperture;
    case scalar_register::private_limit:
      return private_aperture | 0xffffffffu;
    case scalar_register::vccz:
      return vcc() == 0 ? 1 : 0;
    case scalar_register::execz:
      return exec() == 0 ? 1 : 0;
    default:
      return scc ? 1 : 0;
    }
  }

  void fail(std::string why) {
    state = State::failed;
    fault = std::move(why);
  }
};

} // namespace simhip::isa
