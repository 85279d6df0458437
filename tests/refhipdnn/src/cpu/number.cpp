#include "cpu/number.hpp"

#include <cmath>
#include <cstring>
#include <limits>

namespace refhipdnn::cpu {
namespace {

// A floating format below 32 bits: sign, exponent, mantissa from the top.
struct Format {
  int bits;
  int mantissa;
  int bias;
  // What the encodings at the top mean. Ieee: the largest exponent is infinity and NaN. OneNan:
  // only all ones is NaN and there is no infinity (OCP E4M3). Fnuz: only the negative zero is NaN.
  enum Top { Ieee, OneNan, Fnuz } top;
};

constexpr Format kHalf = {16, 10, 15, Format::Ieee};
constexpr Format kBFloat16 = {16, 7, 127, Format::Ieee};
constexpr Format kE4M3 = {8, 3, 7, Format::OneNan};
constexpr Format kE5M2 = {8, 2, 15, Format::Ieee};
constexpr Format kE4M3Fnuz = {8, 3, 8, Format::Fnuz};
constexpr Format kE5M2Fnuz = {8, 2, 16, Format::Fnuz};

const Format *format(DataType type) {
  switch (type) {
  case DataType::Half:
    return &kHalf;
  case DataType::BFloat16:
    return &kBFloat16;
  case DataType::FP8E4M3:
    return &kE4M3;
  case DataType::FP8E5M2:
    return &kE5M2;
  case DataType::FP8E4M3Fnuz:
    return &kE4M3Fnuz;
  case DataType::FP8E5M2Fnuz:
    return &kE5M2Fnuz;
  default:
    return nullptr;
  }
}

double decode(const Format &f, uint32_t bits) {
  uint32_t sign = bits >> (f.bits - 1);
  uint32_t magnitude = bits & ((1u << (f.bits - 1)) - 1);
  int exponent_bits = f.bits - 1 - f.mantissa;
  int exponent = static_cast<int>(magnitude >> f.mantissa);
  uint32_t fraction = magnitude & ((1u << f.mantissa) - 1);
  int top = (1 << exponent_bits) - 1;
  double nan = std::numeric_limits<double>::quiet_NaN();
  switch (f.top) {
  case Format::Ieee:
    if (exponent == top) {
      if (fraction != 0) {
        return nan;
      }
      return sign != 0 ? -HUGE_VAL : HUGE_VAL;
    }
    break;
  case Format::OneNan:
    if (magnitude == (1u << (f.bits - 1)) - 1) {
      return nan;
    }
    break;
  case Format::Fnuz:
    if (sign != 0 && magnitude == 0) {
      return nan;
    }
    break;
  }
  double value = exponent == 0
                     ? std::ldexp(fraction, 1 - f.bias - f.mantissa)
                     : std::ldexp(fraction + (1u << f.mantissa), exponent - f.bias - f.mantissa);
  return sign != 0 ? -value : value;
}

uint32_t encode(const Format &f, double value) {
  uint32_t sign_bit = 1u << (f.bits - 1);
  uint32_t ones = sign_bit - 1; // all of exponent and mantissa
  uint32_t infinity = ones ^ ((1u << f.mantissa) - 1);
  uint32_t sign = std::signbit(value) ? sign_bit : 0;
  if (std::isnan(value)) {
    switch (f.top) {
    case Format::Ieee:
      return sign | infinity | (1u << (f.mantissa - 1));
    case Format::OneNan:
      return sign | ones;
    case Format::Fnuz:
      return sign_bit;
    }
  }
  double magnitude = std::fabs(value);
  // The largest finite encoding; what rounds above it overflows.
  uint32_t largest = f.top == Format::Ieee     ? infinity - 1
                     : f.top == Format::OneNan ? ones - 1
                                               : ones;
  uint32_t bits;
  if (std::isinf(magnitude)) {
    bits = largest + 1;
  } else if (magnitude == 0) {
    bits = 0;
  } else {
    int exponent = std::max(std::ilogb(magnitude), 1 - f.bias);
    // In units of the last place: exact in a double, then rounded by the current mode, to nearest.
    double units = std::nearbyint(std::ldexp(magnitude, f.mantissa - exponent));
    // The hidden one and a carry both move into the exponent field by themselves.
    int64_t field = exponent + f.bias - 1;
    int64_t encoded = (field << f.mantissa) + static_cast<int64_t>(units);
    bits = encoded > largest ? largest + 1 : static_cast<uint32_t>(encoded);
  }
  if (bits > largest) {
    switch (f.top) {
    case Format::Ieee:
      return sign | infinity;
    case Format::OneNan:
    case Format::Fnuz:
      // Formats without infinity saturate, as the conversions of the hardware do by default.
      return sign | largest;
    }
  }
  if (f.top == Format::Fnuz && bits == 0) {
    return 0;
  }
  return sign | bits;
}

template <class T> double get(const void *at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return static_cast<double>(value);
}

template <class T> void put_integer(void *at, double value) {
  double limited = std::isnan(value) ? 0 : std::nearbyint(value);
  T out;
  if (limited <= static_cast<double>(std::numeric_limits<T>::min())) {
    out = std::numeric_limits<T>::min();
  } else if (limited >= static_cast<double>(std::numeric_limits<T>::max())) {
    out = std::numeric_limits<T>::max();
  } else {
    out = static_cast<T>(limited);
  }
  std::memcpy(at, &out, sizeof(T));
}

} // namespace

double load(DataType type, const void *at) {
  if (const Format *f = format(type)) {
    uint16_t bits = 0;
    std::memcpy(&bits, at, f->bits / 8);
    return decode(*f, bits);
  }
  switch (type) {
  case DataType::Float:
    return get<float>(at);
  case DataType::Double:
    return get<double>(at);
  case DataType::Int8:
    return get<int8_t>(at);
  case DataType::UInt8:
    return get<uint8_t>(at);
  case DataType::Int32:
    return get<int32_t>(at);
  default:
    return std::numeric_limits<double>::quiet_NaN();
  }
}

void store(DataType type, void *at, double value) {
  if (const Format *f = format(type)) {
    uint16_t bits = static_cast<uint16_t>(encode(*f, value));
    std::memcpy(at, &bits, f->bits / 8);
    return;
  }
  switch (type) {
  case DataType::Float: {
    float out = static_cast<float>(value);
    std::memcpy(at, &out, sizeof(out));
    return;
  }
  case DataType::Double:
    std::memcpy(at, &value, sizeof(value));
    return;
  case DataType::Int8:
    return put_integer<int8_t>(at, value);
  case DataType::UInt8:
    return put_integer<uint8_t>(at, value);
  case DataType::Int32:
    return put_integer<int32_t>(at, value);
  default:
    return;
  }
}

bool is_integer(DataType type) {
  return type == DataType::Int8 || type == DataType::UInt8 || type == DataType::Int32;
}

bool is_number(DataType type) {
  return format(type) != nullptr || type == DataType::Float || type == DataType::Double ||
         is_integer(type);
}

} // namespace refhipdnn::cpu
