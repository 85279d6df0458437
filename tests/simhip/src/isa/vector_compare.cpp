// Comparisons: a bit for each active lane into VCC or a pair of scalar registers, for v_cmpx into
// EXEC too.
#include "lanes.hpp"

namespace simhip::isa {

namespace {

template <class F> void add(Table &table, const std::string &name, F f) {
  table.add("v_cmp_" + name, compare(f));
  table.add("v_cmpx_" + name, compare_exec(f));
}

template <class T> void add_integers(Table &table, const std::string &type) {
  add(table, "f_" + type, [](T, T) { return false; });
  add(table, "lt_" + type, [](T a, T b) { return a < b; });
  add(table, "eq_" + type, [](T a, T b) { return a == b; });
  add(table, "le_" + type, [](T a, T b) { return a <= b; });
  add(table, "gt_" + type, [](T a, T b) { return a > b; });
  add(table, "ne_" + type, [](T a, T b) { return a != b; });
  add(table, "ge_" + type, [](T a, T b) { return a >= b; });
  add(table, "t_" + type, [](T, T) { return true; });
}

float value(Half a) {
  return widen(a);
}
float value(float a) {
  return a;
}
double value(double a) {
  return a;
}

// The conditions with n are true for a NaN, those without are not.
template <class T> void add_floats(Table &table, const std::string &type) {
  add(table, "f_" + type, [](T, T) { return false; });
  add(table, "lt_" + type, [](T a, T b) { return value(a) < value(b); });
  add(table, "eq_" + type, [](T a, T b) { return value(a) == value(b); });
  add(table, "le_" + type, [](T a, T b) { return value(a) <= value(b); });
  add(table, "gt_" + type, [](T a, T b) { return value(a) > value(b); });
  add(table, "lg_" + type, [](T a, T b) { return value(a) < value(b) || value(a) > value(b); });
  add(table, "ge_" + type, [](T a, T b) { return value(a) >= value(b); });
  add(table, "o_" + type, [](T a, T b) { return !is_nan(a) && !is_nan(b); });
  add(table, "u_" + type, [](T a, T b) { return is_nan(a) || is_nan(b); });
  add(table, "nge_" + type, [](T a, T b) { return !(value(a) >= value(b)); });
  add(table, "nlg_" + type, [](T a, T b) { return !(value(a) < value(b) || value(a) > value(b)); });
  add(table, "ngt_" + type, [](T a, T b) { return !(value(a) > value(b)); });
  add(table, "nle_" + type, [](T a, T b) { return !(value(a) <= value(b)); });
  add(table, "neq_" + type, [](T a, T b) { return value(a) != value(b); });
  add(table, "nlt_" + type, [](T a, T b) { return !(value(a) < value(b)); });
  add(table, "tru_" + type, [](T, T) { return true; });
}

// The bit in v_cmp_class's mask that stands for the kind of number.
template <class T> unsigned class_bit(T a) {
  if (is_nan(a))
    return is_signalling(a) ? 0 : 1;
  const bool negative = is_negative(a);
  if (is_infinite(a))
    return negative ? 2 : 9;
  if (magnitude_of(a) == 0)
    return negative ? 5 : 6;
  if (is_subnormal(a))
    return negative ? 4 : 7;
  return negative ? 3 : 8;
}

} // namespace

void add_vector_compare(Table &table) {
  add_integers<std::int16_t>(table, "i16");
  add_integers<std::uint16_t>(table, "u16");
  add_integers<std::int32_t>(table, "i32");
  add_integers<std::uint32_t>(table, "u32");
  add_integers<std::int64_t>(table, "i64");
  add_integers<std::uint64_t>(table, "u64");
  add_floats<Half>(table, "f16");
  add_floats<float>(table, "f32");
  add_floats<double>(table, "f64");
  add(table, "class_f16",
      [](Half a, std::uint32_t kinds) { return (kinds >> class_bit(a) & 1u) != 0; });
  add(table, "class_f32",
      [](float a, std::uint32_t kinds) { return (kinds >> class_bit(a) & 1u) != 0; });
  add(table, "class_f64",
      [](double a, std::uint32_t kinds) { return (kinds >> class_bit(a) & 1u) != 0; });
}

} // namespace simhip::isa
