// Storage types of tensor elements and their conversion to and from the type that sums are kept in.
// Every narrowing rounds to the nearest value, ties to even.
#ifndef REFMIOPEN_NUMBER_HPP
#define REFMIOPEN_NUMBER_HPP

#include <cstdint>
#include <cstring>

namespace miopen {

// IEEE 754 binary16.
struct Half {
  std::uint16_t bits;
};

// The upper half of an IEEE 754 binary32.
struct BFloat16 {
  std::uint16_t bits;
};

namespace number {

inline std::uint32_t Bits(float f) {
  std::uint32_t b;
  std::memcpy(&b, &f, sizeof b);
  return b;
}

inline float FromBits(std::uint32_t b) {
  float f;
  std::memcpy(&f, &b, sizeof f);
  return f;
}

// Drops the low `count` bits of v, 1 <= count <= 31, rounding to nearest even.
inline std::uint32_t ShiftRounded(std::uint32_t v, unsigned count) {
  const std::uint32_t half = std::uint32_t{1} << (count - 1);
  const std::uint32_t odd = (v >> count) & 1;
  return (v + half - 1 + odd) >> count;
}

} // namespace number

// All overloads are in this one namespace: an overload in an inner one would hide the others from
// arguments of built-in type and take them by conversion.
inline std::int32_t Widen(std::int8_t v) {
  return v;
}

inline float Widen(float v) {
  return v;
}

inline double Widen(double v) {
  return v;
}

inline float Widen(Half h) {
  const std::uint32_t sign = static_cast<std::uint32_t>(h.bits & 0x8000u) << 16;
  const std::uint32_t exponent = (h.bits >> 10) & 0x1fu;
  const std::uint32_t mantissa = h.bits & 0x3ffu;
  if (exponent == 0x1f)
    return number::FromBits(sign | 0x7f800000u | (mantissa << 13));
  if (exponent != 0)
    return number::FromBits(sign | ((exponent + 112) << 23) | (mantissa << 13));
  // Zero or subnormal: mantissa units of 2^-24, exact in binary32.
  const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
  return sign != 0 ? -magnitude : magnitude;
}

inline float Widen(BFloat16 b) {
  return number::FromBits(static_cast<std::uint32_t>(b.bits) << 16);
}

template <class T> T Narrow(double v);
template <class T> T Narrow(float v);

template <> inline float Narrow<float>(float v) {
  return v;
}

template <> inline double Narrow<double>(double v) {
  return v;
}

template <> inline BFloat16 Narrow<BFloat16>(float v) {
  const std::uint32_t b = number::Bits(v);
  if ((b & 0x7fffffffu) > 0x7f800000u) // NaN: rounding could carry it into an infinity
    return {static_cast<std::uint16_t>((b >> 16) | 0x40u)};
  return {static_cast<std::uint16_t>(number::ShiftRounded(b, 16))};
}

template <> inline Half Narrow<Half>(float v) {
  const std::uint32_t b = number::Bits(v);
  const auto sign = static_cast<std::uint16_t>((b >> 16) & 0x8000u);
  const std::uint32_t magnitude = b & 0x7fffffffu;
  if (magnitude > 0x7f800000u)
    return {static_cast<std::uint16_t>(sign | 0x7e00u)};
  if (magnitude >= 0x47800000u) // 65536 and above, infinity included
    return {static_cast<std::uint16_t>(sign | 0x7c00u)};
  if (magnitude >= 0x38800000u) { // normal in binary16; a carry out of 65504 gives infinity
    const std::uint32_t rebased = magnitude - (std::uint32_t{112} << 23);
    return {static_cast<std::uint16_t>(sign | number::ShiftRounded(rebased, 13))};
  }
  const std::uint32_t exponent = magnitude >> 23;
  if (exponent < 102) // below half of the smallest subnormal
    return {sign};
  const std::uint32_t mantissa = (magnitude & 0x7fffffu) | 0x800000u;
  return {static_cast<std::uint16_t>(sign | number::ShiftRounded(mantissa, 126 - exponent))};
}

} // namespace miopen

#endif // REFMIOPEN_NUMBER_HPP
