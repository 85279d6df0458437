// Loads, stores and atomics: scalar, global, flat and scratch. Buffer instructions are not known.
//
// Every access is checked. The cache bits (sc0, sc1, nt, glc, slc, dlc) say nothing to one coherent
// memory, but for the bit that makes an atomic hand back what was there.
#include <algorithm>
#include <atomic>

#include "lanes.hpp"

namespace simhip::isa {

namespace {

using u8 = std::uint8_t;
using i8 = std::int8_t;
using u16 = std::uint16_t;
using i16 = std::int16_t;
using u32 = std::uint32_t;
using i32 = std::int32_t;
using u64 = std::uint64_t;
using i64 = std::int64_t;

enum class Space { global, flat, scratch };

// Places of the sources of a memory instruction.
constexpr unsigned address_source = 0, scalar_source = 1, data_source = 2;

std::string hexadecimal(u64 value) {
  constexpr char digits[] = "0123456789abcdef";
  std::string text;
  do {
    text.insert(text.begin(), digits[value & 15u]);
    value >>= 4;
  } while (value != 0);
  return "0x" + text;
}

void out_of_memory(Wave &wave, unsigned lane, u64 address, std::size_t size, bool writes) {
  wave.fail("lane " + std::to_string(lane) + (writes ? " writes " : " reads ") +
            std::to_string(size) + " bytes at " + hexadecimal(address) +
            ", which is inside of no live allocation" + (writes ? " that may be written" : ""));
}

// Where each active lane's access goes in the memory of this process.
struct Places {
  u8 *at[lanes_per_wave];
};

u64 lane_address(const Wave &wave, const Instruction &instruction, Space space, unsigned lane) {
  const Source &vector = instruction.source[address_source];
  const Source &scalar = instruction.source[scalar_source];
  const auto offset = static_cast<u64>(static_cast<i64>(instruction.offset));
  u64 address = 0;
  if (space == Space::scratch) {
    u32 place = 0;
    if (vector.kind == Source::Kind::vector)
      place += wave.vectors[vector.reg].lane[lane];
    if (scalar.kind != Source::Kind::none)
      place += static_cast<u32>(scalar_value(wave, scalar, false));
    return place + static_cast<u32>(offset);
  }
  address = wave.vectors[vector.reg].lane[lane];
  if (scalar.kind != Source::Kind::none) // the vector register is an offset of 32 bits then
    address += scalar_value(wave, scalar, true);
  else
    address |= static_cast<u64>(wave.vectors[vector.reg + 1u].lane[lane]) << 32;
  return address + offset;
}

u8 *scratch_place(Wave &wave, u64 offset, unsigned lane, std::size_t size) {
  if (offset > wave.scratch_per_lane || size > wave.scratch_per_lane - offset) {
    wave.fail("lane " + std::to_string(lane) + " accesses " + std::to_string(size) + " bytes at " +
              hexadecimal(offset) + " of its " + std::to_string(wave.scratch_per_lane) +
              " bytes of scratch memory");
    return nullptr;
  }
  return reinterpret_cast<u8 *>(wave.scratch.data()) + lane * wave.scratch_per_lane + offset;
}

u8 *lds_place(Wave &wave, u64 offset, unsigned lane, std::size_t size) {
  std::vector<std::byte> &lds = wave.group->lds;
  if (offset > lds.size() || size > lds.size() - offset) {
    wave.fail("lane " + std::to_string(lane) + " accesses " + std::to_string(size) + " bytes at " +
              hexadecimal(offset) + " of the group's " + std::to_string(lds.size()) +
              " bytes of LDS");
    return nullptr;
  }
  return reinterpret_cast<u8 *>(lds.data()) + offset;
}

template <Space space>
bool locate(Wave &wave, const Instruction &instruction, std::size_t size, bool writes,
            Places &places) {
  const u64 mask = wave.exec();
  u64 addresses[lanes_per_wave];
  u64 lowest = ~u64{0};
  u64 highest = 0;
  each_lane(mask, [&](unsigned lane) {
    addresses[lane] = lane_address(wave, instruction, space, lane);
    lowest = std::min(lowest, addresses[lane]);
    highest = std::max(highest, addresses[lane]);
  });
  if (mask == 0)
    return true;
  Reach &reach = *wave.group->reach;
  if (space != Space::scratch && highest < shared_aperture && highest - lowest < (u64{1} << 40) &&
      reach.allows(lowest, highest - lowest + size, writes)) {
    each_lane(mask,
              [&](unsigned lane) { places.at[lane] = reinterpret_cast<u8 *>(addresses[lane]); });
    return true;
  }
  for (u64 rest = mask; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(__builtin_ctzll(rest));
    const u64 address = addresses[lane];
    u8 *place = nullptr;
    if (space == Space::scratch) {
      place = scratch_place(wave, address, lane, size);
    } else if (space == Space::flat && (address & ~u64{0xffffffffu}) == shared_aperture) {
      place = lds_place(wave, address & 0xffffffffu, lane, size);
    } else if (space == Space::flat && (address & ~u64{0xffffffffu}) == private_aperture) {
      place = scratch_place(wave, address & 0xffffffffu, lane, size);
    } else if (reach.allows(address, size, writes)) {
      place = reinterpret_cast<u8 *>(address);
    } else {
      out_of_memory(wave, lane, address, size, writes);
    }
    if (place == nullptr)
      return false;
    places.at[lane] = place;
  }
  return true;
}

template <class T> T read(const u8 *place) {
  T value;
  std::memcpy(&value, place, sizeof value);
  return value;
}

template <class T> void write(u8 *place, T value) {
  std::memcpy(place, &value, sizeof value);
}

// What of a register a small load fills.
enum class Fill { word, low_half, high_half };

template <Space space, class T, Fill fill>
void load_part(Wave &wave, const Instruction &instruction) {
  Places places;
  if (!locate<space>(wave, instruction, sizeof(T), false, places))
    return;
  Row &row = wave.vectors[instruction.vector_result];
  each_lane(wave.exec(), [&](unsigned lane) {
    const auto value = static_cast<u32>(static_cast<i32>(read<T>(places.at[lane])));
    u32 &word = row.lane[lane];
    if (fill == Fill::word)
      word = value;
    else if (fill == Fill::low_half)
      word = (word & 0xffff0000u) | (value & 0xffffu);
    else
      word = (word & 0xffffu) | value << 16;
  });
}

template <Space space, unsigned words> void load_words(Wave &wave, const Instruction &instruction) {
  Places places;
  if (!locate<space>(wave, instruction, 4 * words, false, places))
    return;
  Row *rows = &wave.vectors[instruction.vector_result];
  each_lane(wave.exec(), [&](unsigned lane) {
    u32 values[words];
    std::memcpy(values, places.at[lane], sizeof values);
    for (unsigned i = 0; i < words; ++i)
      rows[i].lane[lane] = values[i];
  });
}

template <Space space, class T, bool upper>
void store_part(Wave &wave, const Instruction &instruction) {
  Places places;
  if (!locate<space>(wave, instruction, sizeof(T), true, places))
    return;
  const Row &row = wave.vectors[instruction.source[data_source].reg];
  each_lane(wave.exec(), [&](unsigned lane) {
    write(places.at[lane], static_cast<T>(row.lane[lane] >> (upper ? 16 : 0)));
  });
}

template <Space space, unsigned words>
void store_words(Wave &wave, const Instruction &instruction) {
  Places places;
  if (!locate<space>(wave, instruction, 4 * words, true, places))
    return;
  const Row *rows = &wave.vectors[instruction.source[data_source].reg];
  each_lane(wave.exec(), [&](unsigned lane) {
    u32 values[words];
    for (unsigned i = 0; i < words; ++i)
      values[i] = rows[i].lane[lane];
    std::memcpy(places.at[lane], values, sizeof values);
  });
}

template <class F>
constexpr bool takes_expected = std::tuple_size_v<typename Signature<F>::Sources> == 3;

// Replaces what is there by f(old, data), with a compare-and-swap loop for other threads' sake. For
// a compare-and-swap of the kernel's own, the data are the new value and, in the registers behind
// it, the old one.
template <Space space, class T, class F>
void run_atomic(Wave &wave, const Instruction &instruction) {
  using Pattern = std::conditional_t<sizeof(T) == 8, u64, u32>;
  Places places;
  if (!locate<space>(wave, instruction, sizeof(T), true, places))
    return;
  const unsigned data = instruction.source[data_source].reg;
  constexpr unsigned registers = sizeof(T) / 4;
  for (u64 rest = wave.exec(); rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(__builtin_ctzll(rest));
    u8 *place = places.at[lane];
    if (reinterpret_cast<std::uintptr_t>(place) % sizeof(T) != 0) {
      wave.fail("lane " + std::to_string(lane) + ": atomic access to a misaligned address");
      return;
    }
    auto *word = reinterpret_cast<Pattern *>(place);
    Pattern old = __atomic_load_n(word, __ATOMIC_RELAXED);
    Pattern desired = 0;
    do {
      const T given = register_value<T>(wave, data, lane);
      if constexpr (takes_expected<F>)
        desired = bits<Pattern>((*Stateless<F>::object)(
            bits<T>(old), given, register_value<T>(wave, data + registers, lane)));
      else
        desired = bits<Pattern>((*Stateless<F>::object)(bits<T>(old), given));
    } while (!__atomic_compare_exchange_n(word, &old, desired, false, __ATOMIC_SEQ_CST,
                                          __ATOMIC_RELAXED));
    if (instruction.returns) {
      wave.vectors[instruction.vector_result].lane[lane] = static_cast<u32>(old);
      if constexpr (sizeof(T) == 8)
        wave.vectors[instruction.vector_result + 1u].lane[lane] = static_cast<u32>(old >> 32);
    }
  }
}

template <unsigned words> void load_scalar(Wave &wave, const Instruction &instruction) {
  const u64 base = scalar_value(wave, instruction.source[0], true);
  const u64 offset = scalar_value(wave, instruction.source[1], false);
  // A literal offset is signed, a register's is not; the two lowest bits of the address do not
  // count.
  const u64 displacement = instruction.source[1].kind == Source::Kind::constant
                               ? static_cast<u64>(static_cast<i64>(static_cast<i32>(offset)))
                               : offset;
  const u64 address =
      (base + displacement + static_cast<u64>(static_cast<i64>(instruction.offset))) & ~u64{3};
  if (!wave.group->reach->allows(address, 4 * words, false)) {
    wave.fail("reads " + std::to_string(4 * words) + " bytes at " + hexadecimal(address) +
              ", which is inside of no live allocation");
    return;
  }
  std::memcpy(&wave.scalar[instruction.scalar_result], reinterpret_cast<const void *>(address),
              4 * words);
}

bool is_cache_bit(const std::string &name) {
  return name == "sc0" || name == "sc1" || name == "nt" || name == "glc" || name == "slc" ||
         name == "dlc" || name == "scc";
}

bool memory_modifiers(const Syntax &syntax, Instruction &instruction, std::string &error) {
  for (const Modifier &modifier : syntax.modifiers) {
    if (modifier.name == "offset" && modifier.values.size() == 1) {
      instruction.offset = static_cast<i32>(modifier.values[0]);
    } else if (is_cache_bit(modifier.name)) {
      if (modifier.name == "sc0" || modifier.name == "glc")
        instruction.returns = true;
    } else {
      error = "modifier " + modifier.name + " is not supported";
      return false;
    }
  }
  return true;
}

enum class Shape { load, store, atomic };

bool vector_operand(const Operand &operand, unsigned registers, std::string &error) {
  if (operand.kind == Operand::Kind::vector && operand.registers == registers)
    return true;
  error = "operand " + operand.text + " is not " + std::to_string(registers) + " vector registers";
  return false;
}

bool bind_address(const Operand &vector, const Operand *scalar, Space space,
                  Instruction &instruction, std::string &error) {
  Source &by_scalar = instruction.source[scalar_source];
  Source &by_vector = instruction.source[address_source];
  const bool has_scalar = scalar != nullptr && scalar->text != "off";
  if (has_scalar) {
    if (scalar->kind != Operand::Kind::scalar ||
        scalar->registers != (space == Space::scratch ? 1 : 2)) {
      error = "operand " + scalar->text + " is no address";
      return false;
    }
    by_scalar.kind = Source::Kind::scalar;
    by_scalar.reg = scalar->first;
  }
  if (space == Space::scratch && vector.text == "off")
    return true;
  if (!vector_operand(vector, space == Space::scratch || has_scalar ? 1 : 2, error))
    return false;
  by_vector.kind = Source::Kind::vector;
  by_vector.reg = vector.first;
  return true;
}

// load: dst, address[, scalar]; store: address, data[, scalar]; atomic: [dst,] address, data[,
// scalar]. Flat ones have no scalar.
template <Space space, Shape shape, unsigned result_registers, unsigned data_registers>
bool bind_memory(const Syntax &syntax, Instruction &instruction, std::string &error) {
  if (!memory_modifiers(syntax, instruction, error))
    return false;
  const bool has_result = shape == Shape::load || (shape == Shape::atomic && instruction.returns);
  const std::size_t expected = (has_result ? 1u : 0u) + 1u + (shape == Shape::load ? 0u : 1u) +
                               (space == Space::flat ? 0u : 1u);
  if (syntax.operands.size() != expected) {
    error = "has " + std::to_string(syntax.operands.size()) + " operands in place of " +
            std::to_string(expected);
    return false;
  }
  std::size_t next = 0;
  if (has_result) {
    if (!vector_operand(syntax.operands[next], result_registers, error))
      return false;
    instruction.vector_result = syntax.operands[next++].first;
  }
  const Operand &address = syntax.operands[next++];
  if (shape != Shape::load) {
    if (!vector_operand(syntax.operands[next], data_registers, error))
      return false;
    instruction.source[data_source].kind = Source::Kind::vector;
    instruction.source[data_source].reg = syntax.operands[next++].first;
  }
  const Operand *scalar = space == Space::flat ? nullptr : &syntax.operands[next];
  return bind_address(address, scalar, space, instruction, error);
}

template <Space space, unsigned registers> Definition load_definition(Run run) {
  Definition definition;
  definition.run = run;
  definition.bind = bind_memory<space, Shape::load, registers, 0>;
  return definition;
}

template <Space space, unsigned registers> Definition store_definition(Run run) {
  Definition definition;
  definition.run = run;
  definition.bind = bind_memory<space, Shape::store, 0, registers>;
  return definition;
}

template <Space space> void add_loads_and_stores(Table &table, const std::string &prefix) {
  table.add(prefix + "_load_ubyte", load_definition<space, 1>(load_part<space, u8, Fill::word>));
  table.add(prefix + "_load_sbyte", load_definition<space, 1>(load_part<space, i8, Fill::word>));
  table.add(prefix + "_load_ushort", load_definition<space, 1>(load_part<space, u16, Fill::word>));
  table.add(prefix + "_load_sshort", load_definition<space, 1>(load_part<space, i16, Fill::word>));
  table.add(prefix + "_load_ubyte_d16",
            load_definition<space, 1>(load_part<space, u8, Fill::low_half>));
  table.add(prefix + "_load_ubyte_d16_hi",
            load_definition<space, 1>(load_part<space, u8, Fill::high_half>));
  table.add(prefix + "_load_sbyte_d16",
            load_definition<space, 1>(load_part<space, i8, Fill::low_half>));
  table.add(prefix + "_load_sbyte_d16_hi",
            load_definition<space, 1>(load_part<space, i8, Fill::high_half>));
  table.add(prefix + "_load_short_d16",
            load_definition<space, 1>(load_part<space, u16, Fill::low_half>));
  table.add(prefix + "_load_short_d16_hi",
            load_definition<space, 1>(load_part<space, u16, Fill::high_half>));
  table.add(prefix + "_load_dword", load_definition<space, 1>(load_words<space, 1>));
  table.add(prefix + "_load_dwordx2", load_definition<space, 2>(load_words<space, 2>));
  table.add(prefix + "_load_dwordx3", load_definition<space, 3>(load_words<space, 3>));
  table.add(prefix + "_load_dwordx4", load_definition<space, 4>(load_words<space, 4>));
  table.add(prefix + "_store_byte", store_definition<space, 1>(store_part<space, u8, false>));
  table.add(prefix + "_store_byte_d16_hi", store_definition<space, 1>(store_part<space, u8, true>));
  table.add(prefix + "_store_short", store_definition<space, 1>(store_part<space, u16, false>));
  table.add(prefix + "_store_short_d16_hi",
            store_definition<space, 1>(store_part<space, u16, true>));
  table.add(prefix + "_store_dword", store_definition<space, 1>(store_words<space, 1>));
  table.add(prefix + "_store_dwordx2", store_definition<space, 2>(store_words<space, 2>));
  table.add(prefix + "_store_dwordx3", store_definition<space, 3>(store_words<space, 3>));
  table.add(prefix + "_store_dwordx4", store_definition<space, 4>(store_words<space, 4>));
}

template <Space space, class T, class F>
void add_atomic(Table &table, const std::string &name, F f) {
  static const F stored = f;
  Stateless<F>::object = &stored;
  constexpr unsigned registers = sizeof(T) / 4;
  Definition definition;
  definition.run = run_atomic<space, T, F>;
  definition.bind = bind_memory < space, Shape::atomic, registers,
  takes_expected<F> ? 2 * registers : registers > ;
  table.add(name, definition);
}

template <Space space, class Unsigned, class Signed>
void add_integer_atomics(Table &table, const std::string &prefix, const std::string &suffix) {
  using U = Unsigned;
  using S = Signed;
  add_atomic<space, U>(table, prefix + "_atomic_swap" + suffix, [](U, U data) { return data; });
  add_atomic<space, U>(table, prefix + "_atomic_cmpswap" + suffix,
                       [](U old, U data, U expected) { return old == expected ? data : old; });
  add_atomic<space, U>(table, prefix + "_atomic_add" + suffix,
                       [](U old, U data) { return static_cast<U>(old + data); });
  add_atomic<space, U>(table, prefix + "_atomic_sub" + suffix,
                       [](U old, U data) { return static_cast<U>(old - data); });
  add_atomic<space, S>(table, prefix + "_atomic_smin" + suffix,
                       [](S old, S data) { return std::min(old, data); });
  add_atomic<space, U>(table, prefix + "_atomic_umin" + suffix,
                       [](U old, U data) { return std::min(old, data); });
  add_atomic<space, S>(table, prefix + "_atomic_smax" + suffix,
                       [](S old, S data) { return std::max(old, data); });
  add_atomic<space, U>(table, prefix + "_atomic_umax" + suffix,
                       [](U old, U data) { return std::max(old, data); });
  add_atomic<space, U>(table, prefix + "_atomic_and" + suffix,
                       [](U old, U data) { return static_cast<U>(old & data); });
  add_atomic<space, U>(table, prefix + "_atomic_or" + suffix,
                       [](U old, U data) { return static_cast<U>(old | data); });
  add_atomic<space, U>(table, prefix + "_atomic_xor" + suffix,
                       [](U old, U data) { return static_cast<U>(old ^ data); });
  add_atomic<space, U>(table, prefix + "_atomic_inc" + suffix,
                       [](U old, U data) { return old >= data ? U{0} : static_cast<U>(old + 1); });
  add_atomic<space, U>(table, prefix + "_atomic_dec" + suffix, [](U old, U data) {
    return old == 0 || old > data ? data : static_cast<U>(old - 1);
  });
}

template <Space space> void add_atomics(Table &table, const std::string &prefix) {
  add_integer_atomics<space, u32, i32>(table, prefix, "");
  add_integer_atomics<space, u64, i64>(table, prefix, "_x2");
  add_atomic<space, float>(table, prefix + "_atomic_add_f32",
                           [](float old, float data) { return old + data; });
  add_atomic<space, double>(table, prefix + "_atomic_add_f64",
                            [](double old, double data) { return old + data; });
  add_atomic<space, double>(table, prefix + "_atomic_min_f64",
                            [](double old, double data) { return less(Mode{}, old, data); });
  add_atomic<space, double>(table, prefix + "_atomic_max_f64",
                            [](double old, double data) { return more(Mode{}, old, data); });
  add_atomic<space, u32>(table, prefix + "_atomic_pk_add_f16", [](u32 old, u32 data) {
    const auto sum = [](u32 a, u32 b) {
      return narrow(widen(Half{static_cast<u16>(a)}) + widen(Half{static_cast<u16>(b)})).pattern;
    };
    return static_cast<u32>(sum(old, data)) | static_cast<u32>(sum(old >> 16, data >> 16)) << 16;
  });
}

template <unsigned words>
bool bind_scalar_load(const Syntax &syntax, Instruction &instruction, std::string &error) {
  if (!memory_modifiers(syntax, instruction, error))
    return false;
  if (syntax.operands.size() != 3) {
    error = "not three operands";
    return false;
  }
  const Operand &result = syntax.operands[0];
  const Operand &base = syntax.operands[1];
  const Operand &offset = syntax.operands[2];
  if (result.kind != Operand::Kind::scalar || result.registers != words ||
      base.kind != Operand::Kind::scalar || base.registers != 2) {
    error = "operands do not fit";
    return false;
  }
  instruction.scalar_result = result.first;
  instruction.source[0].kind = Source::Kind::scalar;
  instruction.source[0].reg = base.first;
  if (offset.kind == Operand::Kind::integer) {
    instruction.source[1].kind = Source::Kind::constant;
    instruction.source[1].constant = static_cast<u64>(offset.integer);
  } else if (offset.kind == Operand::Kind::scalar && offset.registers == 1) {
    instruction.source[1].kind = Source::Kind::scalar;
    instruction.source[1].reg = offset.first;
  } else {
    error = "offset " + offset.text + " is not understood";
    return false;
  }
  return true;
}

template <unsigned words> Definition scalar_load() {
  Definition definition;
  definition.run = load_scalar<words>;
  definition.bind = bind_scalar_load<words>;
  return definition;
}

} // namespace

void add_memory(Table &table) {
  table.add("s_load_dword", scalar_load<1>());
  table.add("s_load_dwordx2", scalar_load<2>());
  table.add("s_load_dwordx4", scalar_load<4>());
  table.add("s_load_dwordx8", scalar_load<8>());
  table.add("s_load_dwordx16", scalar_load<16>());
  add_loads_and_stores<Space::global>(table, "global");
  add_loads_and_stores<Space::flat>(table, "flat");
  add_loads_and_stores<Space::scratch>(table, "scratch");
  add_atomics<Space::global>(table, "global");
  add_atomics<Space::flat>(table, "flat");
}

} // namespace simhip::isa
