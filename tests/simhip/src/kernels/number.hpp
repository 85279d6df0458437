// The number types of tensors in device memory, and conversions between them and the types that
// kernels add up in, as gfx942 does them: to the nearest, ties to even, subnormal numbers kept.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

namespace simhip::kernels {

enum class Element { float32, float16, bfloat16, int8, int32 };

constexpr std::size_t size_of(Element element) {
  switch (element) {
  case Element::float32:
  case Element::int32:
    return 4;
  case Element::float16:
  case Element::bfloat16:
    return 2;
  case Element::int8:
    return 1;
  }
  return 0;
}

template <typename To, typename From> To same_bits(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(&to, &from, sizeof to);
  return to;
}

inline float half_to_float(std::uint16_t bits) {
  std::uint32_t sign = std::uint32_t{bits} << 16 & 0x80000000u;
  std::uint32_t exponent = bits >> 10 & 0x1f, fraction = bits & 0x3ff;
  if (exponent == 0)
    return std::copysign(static_cast<float>(fraction) * 0x1p-24f, same_bits<float>(sign));
  if (exponent == 0x1f)
    return same_bits<float>(sign | 0x7f800000u | fraction << 13);
  return same_bits<float>(sign | (exponent + 127 - 15) << 23 | fraction << 13);
}

// Rounds once, from all of the double's digits.
inline std::uint16_t double_to_half(double value) {
  std::uint64_t bits = same_bits<std::uint64_t>(value);
  auto sign = static_cast<std::uint16_t>(bits >> 48 & 0x8000);
  int exponent = static_cast<int>(bits >> 52 & 0x7ff) - 1023;
  std::uint64_t fraction = bits & 0xfffffffffffff;
  if (exponent == 1024)
    return sign | (fraction != 0 ? 0x7e00 : 0x7c00);
  if (exponent > 15)
    return sign | 0x7c00;
  // Below the smallest normal number, 2^-14, every halving costs a digit; below 2^-25 none is left.
  int shift = 52 - 10 + (exponent < -14 ? -14 - exponent : 0);
  if (shift > 53)
    return sign;
  fraction |= std::uint64_t{1} << 52;
  std::uint64_t kept = fraction >> shift, tie = std::uint64_t{1} << (shift - 1);
  std::uint64_t lost = fraction & (2 * tie - 1);
  if (lost > tie || (lost == tie && (kept & 1) != 0))
    kept++;
  // The leading digit, and a carry out of the fraction, count in the exponent's field; the largest
  // exponent's overflow gives the pattern of infinity.
  std::uint64_t field = exponent < -14 ? 0 : static_cast<std::uint64_t>(exponent + 14);
  return static_cast<std::uint16_t>(sign | ((field << 10) + kept));
}

inline float bfloat16_to_float(std::uint16_t bits) {
  return same_bits<float>(std::uint32_t{bits} << 16);
}

inline std::uint16_t float_to_bfloat16(float value) {
  auto bits = same_bits<std::uint32_t>(value);
  if (std::isnan(value)) {
    if ((bits & 0xffff) != 0)
      bits |= 0x10000; // else the upper half could look like an infinity
  } else if (!std::isinf(value)) {
    bits += 0x7fff + (bits >> 16 & 1);
  }
  return static_cast<std::uint16_t>(bits >> 16);
}

// Towards zero, to the nearest end when it is out of range; not a number is 0.
inline std::int32_t double_to_int32(double value) {
  if (std::isnan(value))
    return 0;
  if (value <= std::numeric_limits<std::int32_t>::min())
    return std::numeric_limits<std::int32_t>::min();
  if (value >= std::numeric_limits<std::int32_t>::max())
    return std::numeric_limits<std::int32_t>::max();
  return static_cast<std::int32_t>(value);
}

// A tensor's element type as it lies in memory, with what it is worth to arithmetic in doubles and
// in 32-bit integers. Integers are std::uint32_t there, since sums wrap around.
template <Element> struct Stored;

template <> struct Stored<Element::float32> {
  using Memory = float;
  static void load(float memory, double &value) {
    value = memory;
  }
  static void load(float memory, std::uint32_t &value) {
    value = static_cast<std::uint32_t>(double_to_int32(memory));
  }
  static float store(double value) {
    return static_cast<float>(value);
  }
  static float store(std::uint32_t value) {
    return static_cast<float>(static_cast<std::int32_t>(value));
  }
};

template <> struct Stored<Element::float16> {
  using Memory = std::uint16_t;
  static void load(Memory memory, double &value) {
    value = half_to_float(memory);
  }
  static Memory store(double value) {
    return double_to_half(value);
  }
};

template <> struct Stored<Element::bfloat16> {
  using Memory = std::uint16_t;
  static void load(Memory memory, double &value) {
    value = bfloat16_to_float(memory);
  }
  static Memory store(double value) {
    return float_to_bfloat16(static_cast<float>(value));
  }
};

template <> struct Stored<Element::int8> {
  using Memory = std::int8_t;
  static void load(Memory memory, std::uint32_t &value) {
    value = static_cast<std::uint32_t>(std::int32_t{memory});
  }
  static Memory store(std::uint32_t value) {
    return static_cast<std::int8_t>(value); // the low byte
  }
};

template <> struct Stored<Element::int32> {
  using Memory = std::int32_t;
  static void load(Memory memory, std::uint32_t &value) {
    value = static_cast<std::uint32_t>(memory);
  }
  static Memory store(std::uint32_t value) {
    return static_cast<std::int32_t>(value);
  }
};

} // namespace simhip::kernels
