// Floating-point instructions of the vector unit.
//
// Where AMD's documents allow an error of one unit in the last place (reciprocal, square root,
// exponential, logarithm, sine, cosine), results come from the C library, which is nearly always
// the correctly rounded one: they may differ from a device's in that last place. As documented
// there, the 32-bit ones among them take and give zero for subnormal numbers.
#include <algorithm>

#include "lanes.hpp"

namespace simhip::isa {

namespace {

using i16 = std::int16_t;
using i32 = std::int32_t;

constexpr double two_pi = 6.283185307179586476925286766559;

template <class T> T median(const Mode &mode, T a, T b, T c) {
  if (is_nan(a) || is_nan(b) || is_nan(c))
    return less(mode, less(mode, a, b), c);
  return more(mode, less(mode, a, b), less(mode, more(mode, a, b), c));
}

// One-operand functions of all three types, computed in the wider of float and the type.
template <class F> Half on_half(F f, Half a) {
  return narrow(f(static_cast<double>(widen(a))));
}

template <class T> T fraction(T a) {
  const T largest =
      sizeof(T) == 4 ? static_cast<T>(0x1.fffffep-1) : static_cast<T>(0x1.fffffffffffffp-1);
  const T result = a - std::floor(a);
  return is_nan(result) ? result : std::min(result, largest);
}

float documented_flush(float result) {
  return flushed(result);
}

int exponent_of(float value) {
  return static_cast<int>(pattern_of(value) >> 23 & 0xffu);
}
int exponent_of(double value) {
  return static_cast<int>(pattern_of(value) >> 52 & 0x7ffu);
}

// The numbers that the division's steps differ in between float and double.
template <class T> struct Division;
template <> struct Division<float> {
  static constexpr int scale = 64, far = 96, small = 23, underflow = -150, special = 255,
                       middle = 127;
};
template <> struct Division<double> {
  static constexpr int scale = 128, far = 768, small = 53, underflow = -1075, special = 2047,
                       middle = 1023;
};

// Step one of a division: a, which is the denominator or the numerator, scaled so that the steps
// between lose nothing; the bit tells the last but one step to scale back.
template <class T> WithBit<T> div_scale(T a, T denominator, T numerator) {
  using D = Division<T>;
  const bool is_denominator = pattern_of(a) == pattern_of(denominator);
  const bool is_numerator = pattern_of(a) == pattern_of(numerator);
  if (denominator == 0 || numerator == 0)
    return {std::numeric_limits<T>::quiet_NaN(), false};
  const bool tiny_inverse = is_subnormal(static_cast<T>(T{1} / denominator));
  const bool tiny_quotient = is_subnormal(static_cast<T>(numerator / denominator));
  if (exponent_of(numerator) - exponent_of(denominator) >= D::far)
    return {is_denominator ? std::ldexp(a, D::scale) : a, true};
  if (is_subnormal(denominator))
    return {std::ldexp(a, D::scale), false};
  if (tiny_inverse && tiny_quotient) // a denominator so large can only be made smaller
    return {is_denominator ? std::ldexp(a, -D::scale) : a, true};
  if (tiny_inverse)
    return {std::ldexp(a, -D::scale), false};
  if (tiny_quotient)
    return {is_numerator ? std::ldexp(a, D::scale) : a, true};
  if (exponent_of(numerator) <= D::small)
    return {std::ldexp(a, D::scale), false};
  return {a, false};
}

// The last but one step: a fma whose result is scaled back, and rounded only then.
template <class T> T div_fmas(T a, T b, T c, bool scaled) {
  using D = Division<T>;
  if (!scaled || is_nan(a) || is_nan(b) || is_nan(c))
    return std::fma(a, b, c);
  using Wide = __float128;
  const Wide power = std::ldexp(1.0, exponent_of(c) > D::middle ? D::scale : -D::scale);
  return static_cast<T>((static_cast<Wide>(a) * static_cast<Wide>(b) + static_cast<Wide>(c)) *
                        power);
}

template <class T> T div_fixup(T quotient, T denominator, T numerator) {
  using P = typename Float<T>::Pattern;
  const bool negative = is_negative(denominator) != is_negative(numerator);
  const auto with_sign = [&](P magnitude) {
    return bits<T>(static_cast<P>(magnitude | (negative ? Float<T>::sign : P{0})));
  };
  const bool zero_denominator = magnitude_of(denominator) == 0;
  const bool zero_numerator = magnitude_of(numerator) == 0;
  if (is_nan(numerator))
    return quieted(numerator);
  if (is_nan(denominator))
    return quieted(denominator);
  if ((zero_denominator && zero_numerator) || (is_infinite(denominator) && is_infinite(numerator)))
    return bits<T>(static_cast<P>(Float<T>::sign | Float<T>::infinity | Float<T>::quiet));
  if (zero_denominator || is_infinite(numerator))
    return with_sign(Float<T>::infinity);
  if (is_infinite(denominator) || zero_numerator)
    return with_sign(0);
  if constexpr (!std::is_same_v<T, Half>) {
    if (exponent_of(numerator) - exponent_of(denominator) < Division<T>::underflow)
      return with_sign(0);
  }
  if (is_nan(quotient)) // of two numbers: the steps before went beyond the range
    return with_sign(Float<T>::infinity);
  return with_sign(magnitude_of(quotient));
}

template <class T> T mantissa(T a) {
  int exponent = 0;
  return is_nan(a) || is_infinite(a) ? a : std::frexp(a, &exponent);
}

template <class T> i32 exponent(T a) {
  int exponent = 0;
  if (is_nan(a) || is_infinite(a))
    return 0;
  static_cast<void>(std::frexp(a, &exponent));
  return exponent;
}

template <class T> void add_order(Table &table, const std::string &type) {
  table.add("v_min_" + type, vector([](const Mode &mode, T a, T b) { return less(mode, a, b); }));
  table.add("v_max_" + type, vector([](const Mode &mode, T a, T b) { return more(mode, a, b); }));
  if (sizeof(T) == 8)
    return;
  const auto finish = [](Definition definition) {
    return sizeof(T) == 2 ? with_op_sel(std::move(definition)) : definition;
  };
  table.add("v_min3_" + type, finish(vector([](const Mode &mode, T a, T b, T c) {
              return less(mode, less(mode, a, b), c);
            })));
  table.add("v_max3_" + type, finish(vector([](const Mode &mode, T a, T b, T c) {
              return more(mode, more(mode, a, b), c);
            })));
  table.add("v_med3_" + type,
            finish(vector([](const Mode &mode, T a, T b, T c) { return median(mode, a, b, c); })));
}

void add_single(Table &table) {
  const auto fma = [](float a, float b, float c) { return std::fma(a, b, c); };
  table.add("v_add_f32", vector([](float a, float b) { return a + b; }));
  table.add("v_sub_f32", vector([](float a, float b) { return a - b; }));
  table.add("v_subrev_f32", vector([](float a, float b) { return b - a; }));
  table.add("v_mul_f32", vector([](float a, float b) { return a * b; }));
  table.add("v_fma_f32", vector(fma));
  table.add("v_fmac_f32", vector_accumulating(fma));
  table.add("v_fmamk_f32", vector(fma));
  table.add("v_fmaak_f32", vector(fma));
  add_order<float>(table, "f32");
  table.add("v_trunc_f32", vector([](float a) { return std::trunc(a); }));
  table.add("v_ceil_f32", vector([](float a) { return std::ceil(a); }));
  table.add("v_floor_f32", vector([](float a) { return std::floor(a); }));
  table.add("v_rndne_f32", vector([](float a) { return std::nearbyint(a); }));
  table.add("v_fract_f32", vector([](float a) { return fraction(a); }));
  table.add("v_ldexp_f32", vector([](float a, i32 b) { return std::ldexp(a, b); }));
  table.add("v_frexp_mant_f32", vector([](float a) { return mantissa(a); }));
  table.add("v_frexp_exp_i32_f32", vector([](float a) { return exponent(a); }));

  const auto reciprocal = [](float a) { return documented_flush(1.0f / flushed(a)); };
  table.add("v_rcp_f32", vector(reciprocal));
  table.add("v_rcp_iflag_f32", vector(reciprocal));
  table.add("v_rsq_f32", vector([](float a) {
              return documented_flush(
                  static_cast<float>(1.0 / std::sqrt(static_cast<double>(flushed(a)))));
            }));
  table.add("v_sqrt_f32", vector([](float a) { return documented_flush(std::sqrt(flushed(a))); }));
  table.add("v_exp_f32", vector([](float a) { return documented_flush(std::exp2(flushed(a))); }));
  table.add("v_log_f32", vector([](float a) { return documented_flush(std::log2(flushed(a))); }));
  table.add("v_sin_f32", vector([](float a) { return static_cast<float>(std::sin(a * two_pi)); }));
  table.add("v_cos_f32", vector([](float a) { return static_cast<float>(std::cos(a * two_pi)); }));

  table.add("v_div_scale_f32",
            vector_with_bit([](float a, float b, float c) { return div_scale(a, b, c); }));
  Definition fmas = vector(
      [](float a, float b, float c, MaskBit scaled) { return div_fmas(a, b, c, scaled.set); });
  fmas.roles.back().part = Role::Part::implicit_vcc;
  table.add("v_div_fmas_f32", fmas);
  table.add("v_div_fixup_f32",
            vector([](float a, float b, float c) { return div_fixup(a, b, c); }));
}

void add_double(Table &table) {
  const auto fma = [](double a, double b, double c) { return std::fma(a, b, c); };
  table.add("v_add_f64", vector([](double a, double b) { return a + b; }));
  table.add("v_mul_f64", vector([](double a, double b) { return a * b; }));
  table.add("v_fma_f64", vector(fma));
  table.add("v_fmac_f64", vector_accumulating(fma));
  add_order<double>(table, "f64");
  table.add("v_trunc_f64", vector([](double a) { return std::trunc(a); }));
  table.add("v_ceil_f64", vector([](double a) { return std::ceil(a); }));
  table.add("v_floor_f64", vector([](double a) { return std::floor(a); }));
  table.add("v_rndne_f64", vector([](double a) { return std::nearbyint(a); }));
  table.add("v_fract_f64", vector([](double a) { return fraction(a); }));
  table.add("v_ldexp_f64", vector([](double a, i32 b) { return std::ldexp(a, b); }));
  table.add("v_frexp_mant_f64", vector([](double a) { return mantissa(a); }));
  table.add("v_frexp_exp_i32_f64", vector([](double a) { return exponent(a); }));
  // Compilers refine these; here they are exact from the start.
  table.add("v_rcp_f64", vector([](double a) { return 1.0 / a; }));
  table.add("v_rsq_f64", vector([](double a) { return 1.0 / std::sqrt(a); }));
  table.add("v_sqrt_f64", vector([](double a) { return std::sqrt(a); }));

  table.add("v_div_scale_f64",
            vector_with_bit([](double a, double b, double c) { return div_scale(a, b, c); }));
  Definition fmas = vector(
      [](double a, double b, double c, MaskBit scaled) { return div_fmas(a, b, c, scaled.set); });
  fmas.roles.back().part = Role::Part::implicit_vcc;
  table.add("v_div_fmas_f64", fmas);
  table.add("v_div_fixup_f64",
            vector([](double a, double b, double c) { return div_fixup(a, b, c); }));
}

void add_half(Table &table) {
  const auto fused = [](Half a, Half b, Half c) { return fma(a, b, c); };
  table.add("v_add_f16", vector([](Half a, Half b) { return narrow(widen(a) + widen(b)); }));
  table.add("v_sub_f16", vector([](Half a, Half b) { return narrow(widen(a) - widen(b)); }));
  table.add("v_subrev_f16", vector([](Half a, Half b) { return narrow(widen(b) - widen(a)); }));
  table.add("v_mul_f16", vector([](Half a, Half b) { return narrow(widen(a) * widen(b)); }));
  table.add("v_fma_f16", with_op_sel(vector(fused)));
  table.add("v_fma_legacy_f16", vector(fused));
  table.add("v_fmac_f16", vector_accumulating(fused));
  add_order<Half>(table, "f16");
  table.add("v_trunc_f16",
            vector([](Half a) { return on_half([](double x) { return std::trunc(x); }, a); }));
  table.add("v_ceil_f16",
            vector([](Half a) { return on_half([](double x) { return std::ceil(x); }, a); }));
  table.add("v_floor_f16",
            vector([](Half a) { return on_half([](double x) { return std::floor(x); }, a); }));
  table.add("v_rndne_f16",
            vector([](Half a) { return on_half([](double x) { return std::nearbyint(x); }, a); }));
  table.add("v_ldexp_f16", vector([](Half a, i16 b) {
              return narrow(std::ldexp(static_cast<double>(widen(a)), b));
            }));
  table.add("v_frexp_mant_f16", vector([](Half a) { return narrow(mantissa(widen(a))); }));
  table.add("v_frexp_exp_i16_f16",
            vector([](Half a) { return static_cast<i16>(exponent(widen(a))); }));
  table.add("v_rcp_f16",
            vector([](Half a) { return on_half([](double x) { return 1.0 / x; }, a); }));
  table.add("v_rsq_f16",
            vector([](Half a) { return on_half([](double x) { return 1.0 / std::sqrt(x); }, a); }));
  table.add("v_sqrt_f16",
            vector([](Half a) { return on_half([](double x) { return std::sqrt(x); }, a); }));
  table.add("v_exp_f16",
            vector([](Half a) { return on_half([](double x) { return std::exp2(x); }, a); }));
  table.add("v_log_f16",
            vector([](Half a) { return on_half([](double x) { return std::log2(x); }, a); }));
  table.add("v_sin_f16", vector([](Half a) {
              return on_half([](double x) { return std::sin(x * two_pi); }, a);
            }));
  table.add("v_cos_f16", vector([](Half a) {
              return on_half([](double x) { return std::cos(x * two_pi); }, a);
            }));
  table.add("v_div_fixup_f16",
            with_op_sel(vector([](Half a, Half b, Half c) { return div_fixup(a, b, c); })));
}

} // namespace

void add_vector_float(Table &table) {
  add_single(table);
  add_double(table);
  add_half(table);
}

} // namespace simhip::isa
