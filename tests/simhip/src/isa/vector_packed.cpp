// Packed instructions, two numbers to a register or pair of registers, and those that mix halves
// and floats.
#include <algorithm>

#include "lanes.hpp"

namespace simhip::isa {

namespace {

using i16 = std::int16_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

// The part of a source's register that op_sel's bits choose, with its sign.
template <class Part, class Word>
Part part_of(const Wave &wave, Word word, bool high, bool negative) {
  using Pattern = std::conditional_t<sizeof(Part) == 2, u16, u32>;
  Part part = bits<Part>(static_cast<Pattern>(word >> (high ? 8 * sizeof(Part) : 0)));
  if constexpr (Float<Part>::is) {
    if (negative)
      part = negated(part);
    if (sizeof(Part) == 4 ? wave.mode.flush_sources_32 : wave.mode.flush_sources_16_64)
      part = flushed(part);
  }
  return part;
}

template <class Part> Part finished(const Wave &wave, const Instruction &instruction, Part part) {
  if constexpr (Float<Part>::is) {
    if (sizeof(Part) == 4 ? wave.mode.flush_results_32 : wave.mode.flush_results_16_64)
      part = flushed(part);
    if (instruction.clamp)
      part = clamped(part, wave.mode);
  }
  return part;
}

bool bit(unsigned mask, std::size_t index) {
  return (mask >> index & 1u) != 0;
}

template <class F, std::size_t... I>
void run_packed(Wave &wave, const Instruction &instruction, std::index_sequence<I...>) {
  using Part = typename Signature<F>::Result;
  using Word = std::conditional_t<sizeof(Part) == 2, u32, u64>;
  constexpr unsigned width = 8 * sizeof(Part);
  Lanes<Word> sources[sizeof...(I)];
  (fetch(wave, instruction, I, nullptr, sources[I]), ...);
  Lanes<Word> result = {};
  const auto part = [&](std::size_t source, unsigned lane, unsigned selectors, unsigned signs) {
    return part_of<Part>(wave, sources[source].lane[lane], bit(selectors, source),
                         bit(signs, source));
  };
  const auto call = [&](auto... parts) {
    if constexpr (Signature<F>::with_mode)
      return (*Stateless<F>::object)(wave.mode, parts...);
    else
      return (*Stateless<F>::object)(parts...);
  };
  each_lane(wave.exec(), [&](unsigned lane) {
    const Part low =
        finished(wave, instruction, call(part(I, lane, instruction.op_sel, instruction.neg_lo)...));
    const Part high = finished(wave, instruction,
                               call(part(I, lane, instruction.op_sel_hi, instruction.neg_hi)...));
    using Pattern = std::conditional_t<sizeof(Part) == 2, u16, u32>;
    result.lane[lane] =
        static_cast<Word>(bits<Pattern>(low)) | static_cast<Word>(bits<Pattern>(high)) << width;
  });
  put(wave, instruction, result, wave.exec());
}

template <class F> void run_packed(Wave &wave, const Instruction &instruction) {
  run_packed<F>(wave, instruction,
                std::make_index_sequence<std::tuple_size_v<typename Signature<F>::Sources>>());
}

template <class F> Definition packed(F f) {
  using Part = typename Signature<F>::Result;
  Definition definition =
      definition_of(f, run_packed<F>, {{Role::Part::vector_result, Type::packed32}});
  const Type type = sizeof(Part) == 4 ? Type::packed32
                    : Float<Part>::is ? Type::packed_f16
                                      : Type::packed16;
  for (Role &role : definition.roles)
    role.type = type;
  definition.halves = Definition::Halves::packed;
  definition.float_modifiers = false; // neg_lo and neg_hi say it
  definition.sub_dword = false;
  if (Float<Part>::is)
    definition.clamped = run_packed<F>;
  return definition;
}

template <class F, class G> Definition packed(F f, G saturating) {
  Definition definition = packed(f);
  static const G stored = saturating;
  Stateless<G>::object = &stored;
  definition.clamped = run_packed<G>;
  return definition;
}

template <class T> T saturated(int value) {
  return static_cast<T>(
      std::clamp<int>(value, std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
}

// Takes one half of each source to the result's halves; op_sel's bit 0 is for the lower, bit 1 for
// the upper.
void run_packed_move(Wave &wave, const Instruction &instruction) {
  Lanes<u64> low;
  Lanes<u64> high;
  fetch(wave, instruction, 0, nullptr, low);
  fetch(wave, instruction, 1, nullptr, high);
  Lanes<u64> result;
  for (unsigned lane = 0; lane < lanes_per_wave; ++lane) {
    const u64 first = low.lane[lane] >> (bit(instruction.op_sel, 0) ? 32 : 0) & 0xffffffffu;
    const u64 second = high.lane[lane] >> (bit(instruction.op_sel, 1) ? 32 : 0) & 0xffffffffu;
    result.lane[lane] = first | second << 32;
  }
  put(wave, instruction, result, wave.exec());
}

enum class Into { word, low, high };

// A float's fma in which op_sel_hi's bits make a source a half, the one that op_sel's bit names.
template <Into into> void run_mixed(Wave &wave, const Instruction &instruction) {
  Lanes<float> values[3];
  for (unsigned index = 0; index < 3; ++index) {
    const Source &source = instruction.source[index];
    Row words;
    fetch_words(wave, source, words.lane);
    for (unsigned lane = 0; lane < lanes_per_wave; ++lane) {
      float value = 0;
      if (bit(instruction.op_sel_hi, index))
        value = widen(part_of<Half>(wave, words.lane[lane], bit(instruction.op_sel, index), false));
      else
        value = part_of<float>(wave, words.lane[lane], false, false);
      if (source.absolute)
        value = std::fabs(value);
      values[index].lane[lane] = source.negative ? -value : value;
    }
  }
  Row &row = wave.vectors[instruction.vector_result];
  each_lane(wave.exec(), [&](unsigned lane) {
    const float sum =
        finished(wave, instruction,
                 std::fma(values[0].lane[lane], values[1].lane[lane], values[2].lane[lane]));
    u32 &register_word = row.lane[lane];
    if constexpr (into == Into::word) {
      register_word = bits<u32>(sum);
    } else {
      Half half = narrow(sum);
      if (wave.mode.flush_results_16_64)
        half = flushed(half);
      register_word = into == Into::low
                          ? (register_word & 0xffff0000u) | half.pattern
                          : (register_word & 0xffffu) | static_cast<u32>(half.pattern) << 16;
    }
  });
}

template <Into into> Definition mixed() {
  Definition definition;
  definition.run = run_mixed<into>;
  definition.clamped = run_mixed<into>;
  definition.roles = {{Role::Part::vector_result, Type::b32},
                      {Role::Part::source, Type::f32},
                      {Role::Part::source, Type::f32},
                      {Role::Part::source, Type::f32}};
  definition.float_modifiers = true;
  definition.sub_dword = false;
  definition.halves = Definition::Halves::mixed;
  return definition;
}

} // namespace

void add_vector_packed(Table &table) {
  table.add("v_pk_add_f32", packed([](float a, float b) { return a + b; }));
  table.add("v_pk_mul_f32", packed([](float a, float b) { return a * b; }));
  table.add("v_pk_fma_f32", packed([](float a, float b, float c) { return std::fma(a, b, c); }));

  table.add("v_pk_add_f16", packed([](Half a, Half b) { return narrow(widen(a) + widen(b)); }));
  table.add("v_pk_mul_f16", packed([](Half a, Half b) { return narrow(widen(a) * widen(b)); }));
  table.add("v_pk_fma_f16", packed([](Half a, Half b, Half c) { return fma(a, b, c); }));
  table.add("v_pk_min_f16",
            packed([](const Mode &mode, Half a, Half b) { return less(mode, a, b); }));
  table.add("v_pk_max_f16",
            packed([](const Mode &mode, Half a, Half b) { return more(mode, a, b); }));

  table.add("v_pk_add_u16", packed([](u16 a, u16 b) { return static_cast<u16>(a + b); },
                                   [](u16 a, u16 b) { return saturated<u16>(a + b); }));
  table.add("v_pk_sub_u16", packed([](u16 a, u16 b) { return static_cast<u16>(a - b); },
                                   [](u16 a, u16 b) { return saturated<u16>(a - b); }));
  table.add("v_pk_add_i16", packed([](i16 a, i16 b) { return static_cast<i16>(a + b); },
                                   [](i16 a, i16 b) { return saturated<i16>(a + b); }));
  table.add("v_pk_sub_i16", packed([](i16 a, i16 b) { return static_cast<i16>(a - b); },
                                   [](i16 a, i16 b) { return saturated<i16>(a - b); }));
  table.add("v_pk_mul_lo_u16", packed([](u16 a, u16 b) { return static_cast<u16>(u32{a} * b); }));
  table.add("v_pk_mad_u16",
            packed([](u16 a, u16 b, u16 c) { return static_cast<u16>(u32{a} * b + c); }));
  table.add("v_pk_mad_i16",
            packed([](u16 a, u16 b, u16 c) { return static_cast<u16>(u32{a} * b + c); }));
  table.add("v_pk_lshlrev_b16",
            packed([](u16 a, u16 b) { return static_cast<u16>(b << (a & 15)); }));
  table.add("v_pk_lshrrev_b16",
            packed([](u16 a, u16 b) { return static_cast<u16>(b >> (a & 15)); }));
  table.add("v_pk_ashrrev_i16",
            packed([](i16 a, i16 b) { return static_cast<i16>(b >> (a & 15)); }));
  table.add("v_pk_min_i16", packed([](i16 a, i16 b) { return std::min(a, b); }));
  table.add("v_pk_max_i16", packed([](i16 a, i16 b) { return std::max(a, b); }));
  table.add("v_pk_min_u16", packed([](u16 a, u16 b) { return std::min(a, b); }));
  table.add("v_pk_max_u16", packed([](u16 a, u16 b) { return std::max(a, b); }));

  Definition move;
  move.run = run_packed_move;
  move.roles = {{Role::Part::vector_result, Type::packed32},
                {Role::Part::source, Type::packed32},
                {Role::Part::source, Type::packed32}};
  move.halves = Definition::Halves::packed;
  move.sub_dword = false;
  table.add("v_pk_mov_b32", move);

  table.add("v_fma_mix_f32", mixed<Into::word>());
  table.add("v_fma_mixlo_f16", mixed<Into::low>());
  table.add("v_fma_mixhi_f16", mixed<Into::high>());
}

} // namespace simhip::isa
