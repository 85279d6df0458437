// Makes a vector instruction out of what it does in one lane: fetching sources with their
// modifiers, the EXEC mask, writing results.
#pragma once

#include <array>
#include <cstring>
#include <tuple>
#include <type_traits>
#include <utility>

#include "table.hpp"
#include "wave.hpp"

namespace simhip::isa {

template <class T> struct alignas(64) Lanes { T lane[lanes_per_wave]; };

// Bits of a mask that an instruction handles as such: VCC or a pair of scalar registers, a bit for
// each lane.
struct MaskBit {
  bool set = false;
};

template <class T> constexpr Type type_of() {
  if constexpr (std::is_same_v<T, Half>)
    return Type::f16;
  else if constexpr (std::is_same_v<T, float>)
    return Type::f32;
  else if constexpr (std::is_same_v<T, double>)
    return Type::f64;
  else if constexpr (std::is_same_v<T, MaskBit>)
    return Type::b64;
  else if constexpr (std::is_same_v<T, std::int64_t>)
    return Type::i64;
  else if constexpr (sizeof(T) == 8)
    return Type::b64;
  else if constexpr (sizeof(T) == 2)
    return Type::b16;
  else
    return Type::b32;
}

inline std::uint64_t scalar_value(const Wave &wave, const Source &source, bool wide) {
  switch (source.kind) {
  case Source::Kind::scalar:
    return wide ? wave.pair(source.reg) : wave.scalar[source.reg];
  case Source::Kind::special:
    return wave.special(source.reg);
  default:
    return source.constant;
  }
}

inline std::uint32_t selected(std::uint32_t value, Select select, bool sign_extend) {
  switch (select) {
  case Select::dword:
    return value;
  case Select::word0:
  case Select::word1: {
    const auto word = static_cast<std::uint16_t>(value >> (select == Select::word1 ? 16 : 0));
    return sign_extend ? static_cast<std::uint32_t>(static_cast<std::int16_t>(word)) : word;
  }
  default: {
    const auto byte = static_cast<std::uint8_t>(
        value >> (8 * (static_cast<unsigned>(select) - static_cast<unsigned>(Select::byte0))));
    return sign_extend ? static_cast<std::uint32_t>(static_cast<std::int8_t>(byte)) : byte;
  }
  }
}

// Where each lane's value comes from, and which lanes may be written (a bit each); a lane whose
// source is not there, out of bounds or not active, reads the wave's own zero when the instruction
// says so.
struct ExchangePlan {
  std::uint8_t from[lanes_per_wave];
  std::uint64_t zero = 0;
  std::uint64_t write = 0;
};
ExchangePlan plan_exchange(const Exchange &exchange, std::uint64_t exec);

inline void fetch_words(const Wave &wave, const Source &source, std::uint32_t *words) {
  if (source.kind == Source::Kind::vector) {
    std::memcpy(words, wave.vectors[source.reg].lane, sizeof(Row));
    return;
  }
  const auto value = static_cast<std::uint32_t>(scalar_value(wave, source, false));
  for (unsigned i = 0; i < lanes_per_wave; ++i)
    words[i] = value;
}

inline void exchange_words(const ExchangePlan &plan, std::uint32_t *words) {
  Row old;
  std::memcpy(old.lane, words, sizeof old);
  for (unsigned i = 0; i < lanes_per_wave; ++i)
    words[i] = (plan.zero >> i & 1u) != 0 ? 0 : old.lane[plan.from[i]];
}

template <class T>
void fetch(const Wave &wave, const Instruction &instruction, unsigned index,
           const ExchangePlan *plan, Lanes<T> &out) {
  const Source &source = instruction.source[index];
  if constexpr (std::is_same_v<T, MaskBit>) {
    const std::uint64_t mask = scalar_value(wave, source, true);
    for (unsigned i = 0; i < lanes_per_wave; ++i)
      out.lane[i].set = (mask >> i & 1u) != 0;
    return;
  } else if constexpr (sizeof(T) == 8) {
    if (source.kind == Source::Kind::vector) {
      Row low = wave.vectors[source.reg];
      Row high = wave.vectors[source.reg + 1u];
      if (index == 0 && plan != nullptr) {
        exchange_words(*plan, low.lane);
        exchange_words(*plan, high.lane);
      }
      for (unsigned i = 0; i < lanes_per_wave; ++i)
        out.lane[i] = bits<T>(low.lane[i] | static_cast<std::uint64_t>(high.lane[i]) << 32);
    } else {
      const T value = bits<T>(scalar_value(wave, source, true));
      for (unsigned i = 0; i < lanes_per_wave; ++i)
        out.lane[i] = value;
    }
  } else {
    Row words;
    fetch_words(wave, source, words.lane);
    if (index == 0 && plan != nullptr)
      exchange_words(*plan, words.lane);
    if (source.select != Select::dword || source.sign_extend)
      for (std::uint32_t &word : words.lane)
        word = selected(word, source.select, source.sign_extend);
    for (unsigned i = 0; i < lanes_per_wave; ++i) {
      if constexpr (sizeof(T) == 2)
        out.lane[i] = bits<T>(static_cast<std::uint16_t>(words.lane[i]));
      else
        out.lane[i] = bits<T>(words.lane[i]);
    }
  }
  // On a type that is no float, these are v_cndmask_b32's and v_mov's: the sign bit of the 32.
  using Sign = std::conditional_t<Float<T>::is, T, float>;
  if constexpr (sizeof(T) == sizeof(Sign)) {
    if (source.absolute)
      for (T &value : out.lane)
        value = bits<T>(magnitude_of(bits<Sign>(value)));
    if (source.negative)
      for (T &value : out.lane)
        value = bits<T>(negated(bits<Sign>(value)));
  }
  if constexpr (Float<T>::is) {
    if (sizeof(T) == 4 ? wave.mode.flush_sources_32 : wave.mode.flush_sources_16_64)
      for (T &value : out.lane)
        value = flushed(value);
  }
}

template <class T> T clamped(T value, const Mode &mode) {
  double number = 0;
  if constexpr (std::is_same_v<T, Half>)
    number = widen(value);
  else
    number = value;
  if (is_nan(value))
    return mode.dx10_clamp ? bits<T>(typename Float<T>::Pattern{0}) : value;
  if (number > 0 && number <= 1)
    return value;
  if constexpr (std::is_same_v<T, Half>)
    return narrow(number > 1 ? 1.0 : 0.0);
  else
    return number > 1 ? T{1} : T{0};
}

// A float result's output modifiers.
template <class T> void finish(const Wave &wave, const Instruction &instruction, Lanes<T> &out) {
  if constexpr (Float<T>::is) {
    if (sizeof(T) == 4 ? wave.mode.flush_results_32 : wave.mode.flush_results_16_64)
      for (T &value : out.lane)
        value = flushed(value);
    if (instruction.clamp)
      for (T &value : out.lane)
        value = clamped(value, wave.mode);
  }
}

inline void put_words(Row &row, const std::uint32_t *words, std::uint64_t mask) {
  if (mask == ~std::uint64_t{0}) {
    std::memcpy(row.lane, words, sizeof row);
    return;
  }
  for (unsigned i = 0; i < lanes_per_wave; ++i)
    row.lane[i] = (mask >> i & 1u) != 0 ? words[i] : row.lane[i];
}

// Puts the low bits of words where the instruction's result goes in the register.
void put_selected(Row &row, const std::uint32_t *words, std::uint64_t mask, Select select,
                  Instruction::Unused unused);

template <class T>
void put(Wave &wave, const Instruction &instruction, const Lanes<T> &result, std::uint64_t mask) {
  Row &row = wave.vectors[instruction.vector_result];
  Row words;
  if constexpr (sizeof(T) == 8) {
    Row high;
    for (unsigned i = 0; i < lanes_per_wave; ++i) {
      const auto value = bits<std::uint64_t>(result.lane[i]);
      words.lane[i] = static_cast<std::uint32_t>(value);
      high.lane[i] = static_cast<std::uint32_t>(value >> 32);
    }
    put_words(row, words.lane, mask);
    put_words(wave.vectors[instruction.vector_result + 1u], high.lane, mask);
  } else {
    for (unsigned i = 0; i < lanes_per_wave; ++i) {
      if constexpr (sizeof(T) == 2)
        words.lane[i] = bits<std::uint16_t>(result.lane[i]);
      else
        words.lane[i] = bits<std::uint32_t>(result.lane[i]);
    }
    if (instruction.result_select != Select::dword)
      put_selected(row, words.lane, mask, instruction.result_select, instruction.unused);
    else if (sizeof(T) == 2 && instruction.keep_high)
      put_selected(row, words.lane, mask, Select::word0, Instruction::Unused::preserve);
    else
      put_words(row, words.lane, mask);
  }
}

// What a lane's register, or pair of them, holds.
template <class T> T register_value(const Wave &wave, unsigned reg, unsigned lane) {
  if constexpr (sizeof(T) == 8)
    return bits<T>(wave.vectors[reg].lane[lane] |
                   static_cast<std::uint64_t>(wave.vectors[reg + 1].lane[lane]) << 32);
  else
    return bits<T>(wave.vectors[reg].lane[lane]);
}

// Calls f(lane) for the mask's lanes.
template <class F> void each_lane(std::uint64_t mask, F f) {
  for (; mask != 0; mask &= mask - 1)
    f(static_cast<unsigned>(__builtin_ctzll(mask)));
}

// A function object without state, by its type: what an instruction does in a lane.
template <class F> struct Stateless { static inline const F *object = nullptr; };

template <class F> struct Signature : Signature<decltype(&F::operator())> {};
template <class C, class R, class... A> struct Signature<R (C::*)(A...) const> {
  using Result = R;
  using Sources = std::tuple<A...>;
  static constexpr bool with_mode = false;
};
template <class C, class R, class... A> struct Signature<R (C::*)(const Mode &, A...) const> {
  using Result = R;
  using Sources = std::tuple<A...>;
  static constexpr bool with_mode = true;
};

// Few active lanes are done one by one, since what some instructions do is slow; else all, which
// compilers vectorise: what inactive lanes compute is not written.
constexpr int few_lanes = 16;

template <class F, std::size_t... I>
void compute(const Wave &wave, const Instruction &instruction, std::uint64_t mask,
             const ExchangePlan *plan, Lanes<typename Signature<F>::Result> &result,
             std::index_sequence<I...>) {
  using Sources = typename Signature<F>::Sources;
  std::tuple<Lanes<std::tuple_element_t<I, Sources>>...> sources;
  (fetch(wave, instruction, I, plan, std::get<I>(sources)), ...);
  const auto one = [&](unsigned i) {
    if constexpr (Signature<F>::with_mode)
      result.lane[i] = (*Stateless<F>::object)(wave.mode, std::get<I>(sources).lane[i]...);
    else
      result.lane[i] = (*Stateless<F>::object)(std::get<I>(sources).lane[i]...);
  };
  if (__builtin_popcountll(mask) < few_lanes) {
    result = {};
    each_lane(mask, one);
  } else {
    for (unsigned i = 0; i < lanes_per_wave; ++i)
      one(i);
  }
}

template <class F>
std::uint64_t compute(const Wave &wave, const Instruction &instruction,
                      Lanes<typename Signature<F>::Result> &result) {
  std::uint64_t mask = wave.exec();
  constexpr auto sources =
      std::make_index_sequence<std::tuple_size_v<typename Signature<F>::Sources>>();
  if (instruction.exchange.kind == Exchange::Kind::none) {
    compute<F>(wave, instruction, mask, nullptr, result, sources);
    return mask;
  }
  const ExchangePlan plan = plan_exchange(instruction.exchange, mask);
  mask &= plan.write;
  compute<F>(wave, instruction, mask, &plan, result, sources);
  return mask;
}

template <class F> void run_vector(Wave &wave, const Instruction &instruction) {
  Lanes<typename Signature<F>::Result> result;
  const std::uint64_t mask = compute<F>(wave, instruction, result);
  finish(wave, instruction, result);
  put(wave, instruction, result, mask);
}

template <class F> void run_compare(Wave &wave, const Instruction &instruction) {
  Lanes<bool> result;
  const std::uint64_t mask = compute<F>(wave, instruction, result);
  std::uint64_t holds = 0;
  for (unsigned i = 0; i < lanes_per_wave; ++i)
    holds |= static_cast<std::uint64_t>(result.lane[i]) << i;
  wave.set_pair(instruction.scalar_result, holds & mask);
}

template <class F> void run_compare_exec(Wave &wave, const Instruction &instruction) {
  run_compare<F>(wave, instruction);
  wave.set_pair(scalar_register::exec, wave.pair(instruction.scalar_result));
}

// A result and a bit, such as a carry.
template <class T> struct WithBit {
  T value;
  bool bit;
};

template <class F> void run_with_bit(Wave &wave, const Instruction &instruction) {
  using Pair = typename Signature<F>::Result;
  using Value = decltype(Pair::value);
  Lanes<Pair> result;
  const std::uint64_t mask = compute<F>(wave, instruction, result);
  Lanes<Value> values;
  std::uint64_t holds = 0;
  for (unsigned i = 0; i < lanes_per_wave; ++i) {
    values.lane[i] = result.lane[i].value;
    holds |= static_cast<std::uint64_t>(result.lane[i].bit) << i;
  }
  finish(wave, instruction, values);
  put(wave, instruction, values, mask);
  wave.set_pair(instruction.scalar_result, holds & mask);
}

template <class Sources, std::size_t... I>
void add_source_roles(std::vector<Role> &roles, std::index_sequence<I...>) {
  (roles.push_back({Role::Part::source, type_of<std::tuple_element_t<I, Sources>>()}), ...);
}

template <class Sources, std::size_t... I> constexpr bool any_float(std::index_sequence<I...>) {
  return (Float<std::tuple_element_t<I, Sources>>::is || ...);
}

template <class F> Definition definition_of(F f, Run run, std::vector<Role> results) {
  static const F stored = f;
  Stateless<F>::object = &stored;
  using Sources = typename Signature<F>::Sources;
  constexpr auto indices = std::make_index_sequence<std::tuple_size_v<Sources>>();
  Definition definition;
  definition.run = run;
  definition.roles = std::move(results);
  add_source_roles<Sources>(definition.roles, indices);
  definition.float_modifiers = any_float<Sources>(indices);
  return definition;
}

// dst, sources
template <class F> Definition vector(F f) {
  using Result = typename Signature<F>::Result;
  Definition definition =
      definition_of(f, run_vector<F>, {{Role::Part::vector_result, type_of<Result>()}});
  if (Float<Result>::is)
    definition.clamped = run_vector<F>;
  return definition;
}

// As vector(), for an integer operation whose clamp is another one.
template <class F, class G> Definition vector(F f, G saturating) {
  Definition definition = vector(f);
  static const G stored = saturating;
  Stateless<G>::object = &stored;
  definition.clamped = run_vector<G>;
  return definition;
}

// dst, sources; the last source is what dst holds.
template <class F> Definition vector_accumulating(F f) {
  Definition definition = vector(f);
  definition.roles.back().part = Role::Part::accumulator;
  return definition;
}

// A 16-bit operation that came with GFX9: it can take and write either half and leaves the other.
inline Definition with_op_sel(Definition definition) {
  definition.halves = Definition::Halves::op_sel;
  definition.keeps_high =
      definition.roles.front().type == Type::f16 || definition.roles.front().type == Type::b16;
  return definition;
}

inline Definition with_float_modifiers(Definition definition) {
  definition.float_modifiers = true;
  return definition;
}

// mask, sources
template <class F> Definition compare(F f) {
  return definition_of(f, run_compare<F>, {{Role::Part::scalar_result, Type::b64}});
}
template <class F> Definition compare_exec(F f) {
  return definition_of(f, run_compare_exec<F>, {{Role::Part::scalar_result, Type::b64}});
}

// dst, mask, sources
template <class F> Definition vector_with_bit(F f) {
  using Value = decltype(Signature<F>::Result::value);
  return definition_of(
      f, run_with_bit<F>,
      {{Role::Part::vector_result, type_of<Value>()}, {Role::Part::scalar_result, Type::b64}});
}

} // namespace simhip::isa
