// Conversions between number types.
#include <algorithm>

#include "lanes.hpp"

namespace simhip::isa {

namespace {

using i16 = std::int16_t;
using u16 = std::uint16_t;
using i32 = std::int32_t;
using u32 = std::uint32_t;

// Toward zero, to the nearest end of the range beyond it; a NaN is zero.
template <class To, class From> To saturated(From value) {
  if (value != value)
    return 0;
  if (value <= static_cast<From>(std::numeric_limits<To>::min()))
    return std::numeric_limits<To>::min();
  // The largest i32 or u32 is no float: the next power of two is.
  if (value >= std::ldexp(From{1}, std::numeric_limits<To>::digits))
    return std::numeric_limits<To>::max();
  return static_cast<To>(value);
}

template <unsigned Byte> Definition from_byte() {
  return vector([](u32 a) { return static_cast<float>(a >> (8 * Byte) & 0xffu); });
}

// To a half, toward zero.
Half chopped(float value) {
  const Half nearest = narrow(value);
  if (is_nan(nearest))
    return nearest;
  if (is_infinite(nearest) && !is_infinite(value))
    return {static_cast<u16>(nearest.pattern - 1)};
  return std::fabs(widen(nearest)) > std::fabs(value) ? Half{static_cast<u16>(nearest.pattern - 1)}
                                                      : nearest;
}

u32 pair_of(u16 low, u16 high) {
  return low | static_cast<u32>(high) << 16;
}

} // namespace

void add_vector_convert(Table &table) {
  table.add("v_cvt_f32_f16", vector([](Half a) { return widen(a); }));
  table.add("v_cvt_f16_f32", vector([](float a) { return narrow(a); }));
  table.add("v_cvt_f64_f32", vector([](float a) { return static_cast<double>(a); }));
  table.add("v_cvt_f32_f64", vector([](double a) { return static_cast<float>(a); }));
  table.add("v_cvt_i32_f32", vector([](float a) { return saturated<i32>(a); }));
  table.add("v_cvt_u32_f32", vector([](float a) { return saturated<u32>(a); }));
  table.add("v_cvt_i32_f64", vector([](double a) { return saturated<i32>(a); }));
  table.add("v_cvt_u32_f64", vector([](double a) { return saturated<u32>(a); }));
  table.add("v_cvt_rpi_i32_f32", vector([](float a) {
              return saturated<i32>(std::floor(static_cast<double>(a) + 0.5));
            }));
  table.add("v_cvt_flr_i32_f32", vector([](float a) { return saturated<i32>(std::floor(a)); }));
  table.add("v_cvt_f32_i32", vector([](i32 a) { return static_cast<float>(a); }));
  table.add("v_cvt_f32_u32", vector([](u32 a) { return static_cast<float>(a); }));
  table.add("v_cvt_f64_i32", vector([](i32 a) { return static_cast<double>(a); }));
  table.add("v_cvt_f64_u32", vector([](u32 a) { return static_cast<double>(a); }));
  table.add("v_cvt_f16_i16", vector([](i16 a) { return narrow(a); }));
  table.add("v_cvt_f16_u16", vector([](u16 a) { return narrow(a); }));
  table.add("v_cvt_i16_f16", vector([](Half a) { return saturated<i16>(widen(a)); }));
  table.add("v_cvt_u16_f16", vector([](Half a) { return saturated<u16>(widen(a)); }));
  table.add("v_cvt_f32_ubyte0", from_byte<0>());
  table.add("v_cvt_f32_ubyte1", from_byte<1>());
  table.add("v_cvt_f32_ubyte2", from_byte<2>());
  table.add("v_cvt_f32_ubyte3", from_byte<3>());
  table.add("v_cvt_pkrtz_f16_f32", vector([](float a, float b) {
              return pair_of(chopped(a).pattern, chopped(b).pattern);
            }));
  table.add("v_cvt_pk_u16_u32", vector([](u32 a, u32 b) {
              return pair_of(static_cast<u16>(std::min(a, 0xffffu)),
                             static_cast<u16>(std::min(b, 0xffffu)));
            }));
  table.add("v_cvt_pk_i16_i32", vector([](i32 a, i32 b) {
              return pair_of(static_cast<u16>(std::clamp(a, -32768, 32767)),
                             static_cast<u16>(std::clamp(b, -32768, 32767)));
            }));

  Definition pack = vector([](Half a, Half b) { return pair_of(a.pattern, b.pattern); });
  pack.halves = Definition::Halves::op_sel;
  table.add("v_pack_b32_f16", pack);
}

} // namespace simhip::isa
