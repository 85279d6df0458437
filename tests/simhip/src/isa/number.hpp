// Numbers as the vector unit has them: half precision, bit patterns, the floating-point mode.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

namespace simhip::isa {

template <class To, class From> To bits(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(&to, &from, sizeof to);
  return to;
}

// IEEE 754 binary16. Arithmetic is done in float or double and rounded once.
struct Half {
  std::uint16_t pattern;
};

inline float widen(Half half) {
  const std::uint32_t sign = static_cast<std::uint32_t>(half.pattern & 0x8000u) << 16;
  const std::uint32_t exponent = (half.pattern >> 10) & 31u;
  const std::uint32_t fraction = half.pattern & 0x3ffu;
  if (exponent == 31)
    return bits<float>(sign | 0x7f800000u | (fraction << 13));
  if (exponent == 0) {
    const float magnitude = static_cast<float>(fraction) * 0x1p-24f;
    return sign != 0 ? -magnitude : magnitude;
  }
  return bits<float>(sign | ((exponent + 112u) << 23) | (fraction << 13));
}

// To the nearest, ties to even. Every float is a double, so one conversion serves both without
// rounding twice.
inline Half narrow(double value) {
  const std::uint64_t pattern = bits<std::uint64_t>(value);
  const auto sign = static_cast<std::uint16_t>((pattern >> 48) & 0x8000u);
  const std::uint64_t magnitude = pattern & 0x7fffffffffffffffu;
  if (magnitude > 0x7ff0000000000000u) // a quiet NaN with what fits of the payload
    return {static_cast<std::uint16_t>(sign | 0x7e00u | ((magnitude >> 42) & 0x3ffu))};
  const double size = bits<double>(magnitude);
  if (size >= 65520.0)
    return {static_cast<std::uint16_t>(sign | 0x7c00u)};
  if (size < 0x1p-14) // 2^52 has no bits for a fraction: the addition rounds to a whole number of
                      // the smallest subnormal
    return {static_cast<std::uint16_t>(
        sign | static_cast<std::uint16_t>(size * 0x1p24 + 0x1p52 - 0x1p52))};
  const std::uint64_t rounded = (magnitude + 0x1ffffffffffu + ((magnitude >> 42) & 1u)) >> 42;
  return {static_cast<std::uint16_t>(sign | (rounded - (1008u << 10)))};
}

// a * b + c for halves, rounded once: the product is exact in double, and the sum is rounded to odd
// there, which keeps the second rounding honest.
inline Half fma(Half a, Half b, Half c) {
  const double product = static_cast<double>(widen(a)) * static_cast<double>(widen(b));
  const double addend = widen(c);
  const double sum = product + addend;
  if (!std::isfinite(sum))
    return narrow(sum);
  const double of_addend = sum - product;
  const double lost = (product - (sum - of_addend)) + (addend - of_addend);
  std::uint64_t pattern = bits<std::uint64_t>(sum);
  if (lost != 0 && (pattern & 1u) == 0)
    pattern += ((lost > 0) == (sum > 0)) ? 1 : -1;
  return narrow(bits<double>(pattern));
}

// What the kernel's descriptor says of floating point; rounding to nearest even is the only one
// supported.
struct Mode {
  bool flush_sources_32 = false;
  bool flush_results_32 = false;
  bool flush_sources_16_64 = false;
  bool flush_results_16_64 = false;
  bool ieee = true;       // minimum and maximum make signalling NaNs quiet first
  bool dx10_clamp = true; // clamp makes a NaN zero
};

template <class T> struct Float { static constexpr bool is = false; };
template <> struct Float<Half> {
  static constexpr bool is = true;
  using Pattern = std::uint16_t;
  static constexpr Pattern sign = 0x8000, infinity = 0x7c00, quiet = 0x0200;
};
template <> struct Float<float> {
  static constexpr bool is = true;
  using Pattern = std::uint32_t;
  static constexpr Pattern sign = 0x80000000u, infinity = 0x7f800000u, quiet = 0x00400000u;
};
template <> struct Float<double> {
  static constexpr bool is = true;
  using Pattern = std::uint64_t;
  static constexpr Pattern sign = 0x8000000000000000u, infinity = 0x7ff0000000000000u,
                           quiet = 0x0008000000000000u;
};

template <class T> typename Float<T>::Pattern pattern_of(T value) {
  return bits<typename Float<T>::Pattern>(value);
}
template <class T> typename Float<T>::Pattern magnitude_of(T value) {
  return static_cast<typename Float<T>::Pattern>(
      pattern_of(value) & static_cast<typename Float<T>::Pattern>(~Float<T>::sign));
}
template <class T> bool is_nan(T value) {
  return magnitude_of(value) > Float<T>::infinity;
}
template <class T> bool is_signalling(T value) {
  return is_nan(value) && (pattern_of(value) & Float<T>::quiet) == 0;
}
template <class T> bool is_infinite(T value) {
  return magnitude_of(value) == Float<T>::infinity;
}
template <class T> bool is_negative(T value) {
  return (pattern_of(value) & Float<T>::sign) != 0;
}
// The smallest normal number has the lowest bit of the exponent alone: twice the bit that makes a
// NaN quiet.
template <class T> bool is_subnormal(T value) {
  return magnitude_of(value) != 0 &&
         magnitude_of(value) < 2u * static_cast<std::uint64_t>(Float<T>::quiet);
}
template <class T> T quieted(T value) {
  return bits<T>(static_cast<typename Float<T>::Pattern>(pattern_of(value) | Float<T>::quiet));
}
template <class T> T signed_like(T magnitude, T sign) {
  return bits<T>(static_cast<typename Float<T>::Pattern>(magnitude_of(magnitude) |
                                                         (pattern_of(sign) & Float<T>::sign)));
}
template <class T> T negated(T value) {
  return bits<T>(static_cast<typename Float<T>::Pattern>(pattern_of(value) ^ Float<T>::sign));
}
template <class T> T flushed(T value) {
  return is_subnormal(value)
             ? bits<T>(static_cast<typename Float<T>::Pattern>(pattern_of(value) & Float<T>::sign))
             : value;
}

// Smaller or larger as the hardware has it: a number wins over a NaN, and -0 is less than +0.
template <class T> T less(const Mode &mode, T a, T b) {
  if (mode.ieee && is_signalling(a))
    return quieted(a);
  if (mode.ieee && is_signalling(b))
    return quieted(b);
  if (is_nan(a))
    return b;
  if (is_nan(b))
    return a;
  if constexpr (std::is_same_v<T, Half>) {
    if (widen(a) == widen(b))
      return is_negative(a) ? a : b;
    return widen(a) < widen(b) ? a : b;
  } else {
    if (a == b)
      return is_negative(a) ? a : b;
    return a < b ? a : b;
  }
}

template <class T> T more(const Mode &mode, T a, T b) {
  if (mode.ieee && is_signalling(a))
    return quieted(a);
  if (mode.ieee && is_signalling(b))
    return quieted(b);
  if (is_nan(a))
    return b;
  if (is_nan(b))
    return a;
  return negated(less(mode, negated(a), negated(b)));
}

} // namespace simhip::isa
