// The work-group's memory (LDS), and the instructions that use its crossbar to exchange lanes.
#include <algorithm>

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

constexpr unsigned address_source = 0, data_source = 1, second_data_source = 2;

u8 *locate(Wave &wave, const Instruction &instruction, std::int32_t offset, unsigned lane,
           std::size_t size) {
  std::vector<std::byte> &lds = wave.group->lds;
  const u64 place = u64{wave.vectors[instruction.source[address_source].reg].lane[lane]} +
                    static_cast<u32>(offset);
  if (place > lds.size() || size > lds.size() - place) {
    wave.fail("lane " + std::to_string(lane) + " accesses " + std::to_string(size) + " bytes at " +
              std::to_string(place) + " of the group's " + std::to_string(lds.size()) +
              " bytes of LDS");
    return nullptr;
  }
  return reinterpret_cast<u8 *>(lds.data()) + place;
}

// Calls f(lane, place) for each active lane until an access is out of bounds.
template <class F>
void each_place(Wave &wave, const Instruction &instruction, std::int32_t offset, std::size_t size,
                F f) {
  for (u64 rest = wave.exec(); rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(__builtin_ctzll(rest));
    u8 *place = locate(wave, instruction, offset, lane, size);
    if (place == nullptr)
      return;
    f(lane, place);
  }
}

enum class Fill { word, low_half, high_half };

template <class T, Fill fill> void read_part(Wave &wave, const Instruction &instruction) {
  Row &row = wave.vectors[instruction.vector_result];
  Row old = row; // the result may be the address
  each_place(wave, instruction, instruction.offset, sizeof(T), [&](unsigned lane, const u8 *place) {
    T part;
    std::memcpy(&part, place, sizeof part);
    const auto value = static_cast<u32>(static_cast<i32>(part));
    u32 &word = old.lane[lane];
    word = fill == Fill::word       ? value
           : fill == Fill::low_half ? (word & 0xffff0000u) | (value & 0xffffu)
                                    : (word & 0xffffu) | value << 16;
  });
  row = old;
}

template <unsigned words> void read_words(Wave &wave, const Instruction &instruction) {
  Row results[words];
  std::memcpy(results, &wave.vectors[instruction.vector_result], sizeof results);
  each_place(wave, instruction, instruction.offset, 4 * words, [&](unsigned lane, const u8 *place) {
    for (unsigned i = 0; i < words; ++i)
      std::memcpy(&results[i].lane[lane], place + 4 * i, 4);
  });
  std::memcpy(&wave.vectors[instruction.vector_result], results, sizeof results);
}

// Two of so many words each, at two offsets.
template <unsigned words> void read_two(Wave &wave, const Instruction &instruction) {
  Row results[2 * words];
  std::memcpy(results, &wave.vectors[instruction.vector_result], sizeof results);
  for (unsigned which = 0; which < 2; ++which)
    each_place(wave, instruction, which == 0 ? instruction.offset : instruction.offset1, 4 * words,
               [&](unsigned lane, const u8 *place) {
                 for (unsigned i = 0; i < words; ++i)
                   std::memcpy(&results[which * words + i].lane[lane], place + 4 * i, 4);
               });
  std::memcpy(&wave.vectors[instruction.vector_result], results, sizeof results);
}

template <class T, bool upper> void write_part(Wave &wave, const Instruction &instruction) {
  const Row &row = wave.vectors[instruction.source[data_source].reg];
  each_place(wave, instruction, instruction.offset, sizeof(T), [&](unsigned lane, u8 *place) {
    const auto value = static_cast<T>(row.lane[lane] >> (upper ? 16 : 0));
    std::memcpy(place, &value, sizeof value);
  });
}

template <unsigned words>
void write_at(Wave &wave, const Instruction &instruction, unsigned source, std::int32_t offset) {
  const Row *rows = &wave.vectors[instruction.source[source].reg];
  each_place(wave, instruction, offset, 4 * words, [&](unsigned lane, u8 *place) {
    for (unsigned i = 0; i < words; ++i)
      std::memcpy(place + 4 * i, &rows[i].lane[lane], 4);
  });
}

template <unsigned words> void write_words(Wave &wave, const Instruction &instruction) {
  write_at<words>(wave, instruction, data_source, instruction.offset);
}

template <unsigned words> void write_two(Wave &wave, const Instruction &instruction) {
  write_at<words>(wave, instruction, data_source, instruction.offset);
  if (wave.state == Wave::State::running)
    write_at<words>(wave, instruction, second_data_source, instruction.offset1);
}

// A work-group's waves take turns in one thread: nothing here needs to be atomic.
template <class T, class F, bool returns> void update(Wave &wave, const Instruction &instruction) {
  constexpr unsigned registers = sizeof(T) / 4;
  Row results[registers];
  std::memcpy(results, &wave.vectors[instruction.vector_result], sizeof results);
  each_place(wave, instruction, instruction.offset, sizeof(T), [&](unsigned lane, u8 *place) {
    T old;
    std::memcpy(&old, place, sizeof old);
    const T value = (*Stateless<F>::object)(
        old, register_value<T>(wave, instruction.source[data_source].reg, lane));
    std::memcpy(place, &value, sizeof value);
    u32 words[registers];
    std::memcpy(words, &old, sizeof words);
    for (unsigned i = 0; i < registers; ++i)
      results[i].lane[lane] = words[i];
  });
  if (returns)
    std::memcpy(&wave.vectors[instruction.vector_result], results, sizeof results);
}

// The lane that another lane's address names, four bytes to a lane.
unsigned named_lane(const Wave &wave, const Instruction &instruction, unsigned lane) {
  const u32 address = wave.vectors[instruction.source[address_source].reg].lane[lane] +
                      static_cast<u32>(instruction.offset);
  return address / 4 % lanes_per_wave;
}

void backward_permute(Wave &wave, const Instruction &instruction) {
  const Row data = wave.vectors[instruction.source[data_source].reg];
  const u64 exec = wave.exec();
  Row result = {};
  each_lane(exec, [&](unsigned lane) {
    const unsigned from = named_lane(wave, instruction, lane);
    result.lane[lane] = (exec >> from & 1u) != 0 ? data.lane[from] : 0;
  });
  put_words(wave.vectors[instruction.vector_result], result.lane, exec);
}

void forward_permute(Wave &wave, const Instruction &instruction) {
  const Row data = wave.vectors[instruction.source[data_source].reg];
  Row result = {};
  each_lane(wave.exec(), [&](unsigned lane) {
    result.lane[named_lane(wave, instruction, lane)] = data.lane[lane];
  });
  put_words(wave.vectors[instruction.vector_result], result.lane, wave.exec());
}

// Scale is what the offsets of the two-place instructions count in; 0 for those that have one
// offset, in bytes.
template <unsigned results, unsigned data, unsigned data_count, unsigned scale>
bool bind_lds(const Syntax &syntax, Instruction &instruction, std::string &error) {
  for (const Modifier &modifier : syntax.modifiers) {
    const bool one = modifier.values.size() == 1;
    if (scale == 0 && modifier.name == "offset" && one) {
      instruction.offset = static_cast<i32>(modifier.values[0]);
    } else if (scale != 0 && modifier.name == "offset0" && one) {
      instruction.offset = static_cast<i32>(modifier.values[0] * scale);
    } else if (scale != 0 && modifier.name == "offset1" && one) {
      instruction.offset1 = static_cast<i32>(modifier.values[0] * scale);
    } else {
      error = "modifier " + modifier.name + " is not supported";
      return false;
    }
  }
  constexpr std::size_t expected = (results != 0 ? 1 : 0) + 1 + data_count;
  if (syntax.operands.size() != expected) {
    error = "has " + std::to_string(syntax.operands.size()) + " operands in place of " +
            std::to_string(expected);
    return false;
  }
  std::size_t next = 0;
  for (const Operand &operand : syntax.operands) {
    const unsigned registers = results != 0 && next == 0          ? results
                               : next == (results != 0 ? 1u : 0u) ? 1u
                                                                  : data;
    if (operand.kind != Operand::Kind::vector || operand.registers != registers) {
      error =
          "operand " + operand.text + " is not " + std::to_string(registers) + " vector registers";
      return false;
    }
    if (results != 0 && next == 0) {
      instruction.vector_result = operand.first;
    } else {
      Source &source = instruction.source[next - (results != 0 ? 1u : 0u)];
      source.kind = Source::Kind::vector;
      source.reg = operand.first;
    }
    ++next;
  }
  return true;
}

template <unsigned results, unsigned data, unsigned data_count, unsigned scale>
Definition lds(Run run) {
  Definition definition;
  definition.run = run;
  definition.bind = bind_lds<results, data, data_count, scale>;
  return definition;
}

template <class T, class F>
void add_update(Table &table, const std::string &name, const std::string &type, F f) {
  static const F stored = f;
  Stateless<F>::object = &stored;
  constexpr unsigned registers = sizeof(T) / 4;
  table.add("ds_" + name + "_" + type, lds<0, registers, 1, 0>(update<T, F, false>));
  table.add("ds_" + name + "_rtn_" + type, lds<registers, registers, 1, 0>(update<T, F, true>));
}

template <class U, class S> void add_updates(Table &table, const std::string &width) {
  add_update<U>(table, "add", "u" + width,
                [](U old, U data) { return static_cast<U>(old + data); });
  add_update<U>(table, "sub", "u" + width,
                [](U old, U data) { return static_cast<U>(old - data); });
  add_update<U>(table, "rsub", "u" + width,
                [](U old, U data) { return static_cast<U>(data - old); });
  add_update<U>(table, "inc", "u" + width,
                [](U old, U data) { return old >= data ? U{0} : static_cast<U>(old + 1); });
  add_update<U>(table, "dec", "u" + width, [](U old, U data) {
    return old == 0 || old > data ? data : static_cast<U>(old - 1);
  });
  add_update<S>(table, "min", "i" + width, [](S old, S data) { return std::min(old, data); });
  add_update<S>(table, "max", "i" + width, [](S old, S data) { return std::max(old, data); });
  add_update<U>(table, "min", "u" + width, [](U old, U data) { return std::min(old, data); });
  add_update<U>(table, "max", "u" + width, [](U old, U data) { return std::max(old, data); });
  add_update<U>(table, "and", "b" + width,
                [](U old, U data) { return static_cast<U>(old & data); });
  add_update<U>(table, "or", "b" + width, [](U old, U data) { return static_cast<U>(old | data); });
  add_update<U>(table, "xor", "b" + width,
                [](U old, U data) { return static_cast<U>(old ^ data); });
}

} // namespace

void add_lds(Table &table) {
  table.add("ds_read_u8", lds<1, 0, 0, 0>(read_part<u8, Fill::word>));
  table.add("ds_read_i8", lds<1, 0, 0, 0>(read_part<i8, Fill::word>));
  table.add("ds_read_u16", lds<1, 0, 0, 0>(read_part<u16, Fill::word>));
  table.add("ds_read_i16", lds<1, 0, 0, 0>(read_part<i16, Fill::word>));
  table.add("ds_read_u8_d16", lds<1, 0, 0, 0>(read_part<u8, Fill::low_half>));
  table.add("ds_read_u8_d16_hi", lds<1, 0, 0, 0>(read_part<u8, Fill::high_half>));
  table.add("ds_read_i8_d16", lds<1, 0, 0, 0>(read_part<i8, Fill::low_half>));
  table.add("ds_read_i8_d16_hi", lds<1, 0, 0, 0>(read_part<i8, Fill::high_half>));
  table.add("ds_read_u16_d16", lds<1, 0, 0, 0>(read_part<u16, Fill::low_half>));
  table.add("ds_read_u16_d16_hi", lds<1, 0, 0, 0>(read_part<u16, Fill::high_half>));
  table.add("ds_read_b32", lds<1, 0, 0, 0>(read_words<1>));
  table.add("ds_read_b64", lds<2, 0, 0, 0>(read_words<2>));
  table.add("ds_read_b96", lds<3, 0, 0, 0>(read_words<3>));
  table.add("ds_read_b128", lds<4, 0, 0, 0>(read_words<4>));
  table.add("ds_read2_b32", lds<2, 0, 0, 4>(read_two<1>));
  table.add("ds_read2_b64", lds<4, 0, 0, 8>(read_two<2>));
  table.add("ds_read2st64_b32", lds<2, 0, 0, 256>(read_two<1>));
  table.add("ds_read2st64_b64", lds<4, 0, 0, 512>(read_two<2>));
  table.add("ds_write_b8", lds<0, 1, 1, 0>(write_part<u8, false>));
  table.add("ds_write_b8_d16_hi", lds<0, 1, 1, 0>(write_part<u8, true>));
  table.add("ds_write_b16", lds<0, 1, 1, 0>(write_part<u16, false>));
  table.add("ds_write_b16_d16_hi", lds<0, 1, 1, 0>(write_part<u16, true>));
  table.add("ds_write_b32", lds<0, 1, 1, 0>(write_words<1>));
  table.add("ds_write_b64", lds<0, 2, 1, 0>(write_words<2>));
  table.add("ds_write_b96", lds<0, 3, 1, 0>(write_words<3>));
  table.add("ds_write_b128", lds<0, 4, 1, 0>(write_words<4>));
  table.add("ds_write2_b32", lds<0, 1, 2, 4>(write_two<1>));
  table.add("ds_write2_b64", lds<0, 2, 2, 8>(write_two<2>));
  table.add("ds_write2st64_b32", lds<0, 1, 2, 256>(write_two<1>));
  table.add("ds_write2st64_b64", lds<0, 2, 2, 512>(write_two<2>));
  add_updates<u32, i32>(table, "32");
  add_updates<u64, i64>(table, "64");
  add_update<u32>(table, "wrxchg", "b32", [](u32, u32 data) { return data; });
  add_update<float>(table, "add", "f32", [](float old, float data) { return old + data; });
  add_update<double>(table, "add", "f64", [](double old, double data) { return old + data; });
  add_update<float>(table, "min", "f32",
                    [](float old, float data) { return less(Mode{}, old, data); });
  add_update<float>(table, "max", "f32",
                    [](float old, float data) { return more(Mode{}, old, data); });
  table.add("ds_bpermute_b32", lds<1, 1, 1, 0>(backward_permute));
  table.add("ds_permute_b32", lds<1, 1, 1, 0>(forward_permute));
}

} // namespace simhip::isa
