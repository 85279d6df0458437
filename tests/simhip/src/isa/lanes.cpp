#include "lanes.hpp"

namespace simhip::isa {

namespace {

constexpr unsigned row_size = 16;

// The lane whose value lane takes, or -1 when there is none.
int origin(const Exchange &exchange, int lane) {
  const int row = lane / static_cast<int>(row_size) * static_cast<int>(row_size);
  const int in_row = lane - row;
  const int amount = exchange.amount;
  switch (exchange.kind) {
  case Exchange::Kind::quad_perm:
    return (lane & ~3) + (amount >> (2 * (lane & 3)) & 3);
  case Exchange::Kind::row_shl:
    return in_row + amount < 16 ? lane + amount : -1;
  case Exchange::Kind::row_shr:
    return in_row >= amount ? lane - amount : -1;
  case Exchange::Kind::row_ror:
    return row + ((in_row + 16 - amount) & 15);
  case Exchange::Kind::row_mirror:
    return row + 15 - in_row;
  case Exchange::Kind::row_half_mirror:
    return row + (in_row & 8) + 7 - (in_row & 7);
  case Exchange::Kind::row_newbcast:
    return row + amount;
  case Exchange::Kind::wave_shl:
    return lane < 63 ? lane + 1 : -1;
  case Exchange::Kind::wave_rol:
    return (lane + 1) & 63;
  case Exchange::Kind::wave_shr:
    return lane > 0 ? lane - 1 : -1;
  case Exchange::Kind::wave_ror:
    return (lane + 63) & 63;
  case Exchange::Kind::row_bcast15:
    return row > 0 ? row - 1 : -1;
  case Exchange::Kind::row_bcast31:
    return lane >= 32 ? 31 : -1;
  case Exchange::Kind::none:
    break;
  }
  return lane;
}

} // namespace

ExchangePlan plan_exchange(const Exchange &exchange, std::uint64_t exec) {
  ExchangePlan plan;
  for (unsigned lane = 0; lane < lanes_per_wave; ++lane) {
    const std::uint64_t bit = std::uint64_t{1} << lane;
    const int from = origin(exchange, static_cast<int>(lane));
    const bool there = from >= 0 && (exec >> from & 1u) != 0;
    plan.from[lane] = static_cast<std::uint8_t>(there ? from : 0);
    if (!there)
      plan.zero |= bit;
    const bool row_enabled = (exchange.row_mask >> (lane / row_size) & 1u) != 0;
    const bool bank_enabled = (exchange.bank_mask >> (lane % row_size / 4) & 1u) != 0;
    if (row_enabled && bank_enabled && (there || exchange.bound_zero))
      plan.write |= bit;
  }
  return plan;
}

void put_selected(Row &row, const std::uint32_t *words, std::uint64_t mask, Select select,
                  Instruction::Unused unused) {
  const bool word = select == Select::word0 || select == Select::word1;
  const unsigned shift =
      word ? (select == Select::word1 ? 16 : 0)
           : 8 * (static_cast<unsigned>(select) - static_cast<unsigned>(Select::byte0));
  const std::uint32_t part = (word ? 0xffffu : 0xffu) << shift;
  each_lane(mask, [&](unsigned lane) {
    const std::uint32_t value = words[lane] << shift & part;
    std::uint32_t rest = 0;
    if (unused == Instruction::Unused::preserve)
      rest = row.lane[lane] & ~part;
    else if (unused == Instruction::Unused::sext && (value >> (shift + (word ? 15 : 7)) & 1u) != 0)
      rest = static_cast<std::uint32_t>(~std::uint64_t{0} << (shift + (word ? 16 : 8)));
    row.lane[lane] = value | rest;
  });
}

} // namespace simhip::isa
