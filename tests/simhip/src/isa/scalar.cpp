// Instructions of the scalar unit that compute; branches and the like are in control.cpp, scalar
// loads in memory.cpp.
#include <algorithm>

#include "lanes.hpp"

namespace simhip::isa {

namespace {

using i16 = std::int16_t;
using u16 = std::uint16_t;
using i32 = std::int32_t;
using u32 = std::uint32_t;
using i64 = std::int64_t;
using u64 = std::uint64_t;

template <class F> struct ScalarSignature : ScalarSignature<decltype(&F::operator())> {};
template <class C, class R, class... A> struct ScalarSignature<R (C::*)(bool &, A...) const> {
  using Result = R;
  using Sources = std::tuple<A...>;
};

template <class T>
T scalar_source(const Wave &wave, const Instruction &instruction, std::size_t index) {
  return static_cast<T>(scalar_value(wave, instruction.source[index], sizeof(T) == 8));
}

template <class F, std::size_t... I>
void run_scalar(Wave &wave, const Instruction &instruction, std::index_sequence<I...>) {
  using Result = typename ScalarSignature<F>::Result;
  using Sources = typename ScalarSignature<F>::Sources;
  const auto call = [&] {
    return (*Stateless<F>::object)(
        wave.scc, scalar_source<std::tuple_element_t<I, Sources>>(wave, instruction, I)...);
  };
  if constexpr (std::is_void_v<Result>)
    call();
  else if constexpr (sizeof(Result) == 8)
    wave.set_pair(instruction.scalar_result, static_cast<u64>(call()));
  else
    wave.scalar[instruction.scalar_result] = static_cast<u32>(call());
}

template <class F> void run_scalar(Wave &wave, const Instruction &instruction) {
  run_scalar<F>(
      wave, instruction,
      std::make_index_sequence<std::tuple_size_v<typename ScalarSignature<F>::Sources>>());
}

template <class Sources, std::size_t... I>
void add_roles(std::vector<Role> &roles, std::index_sequence<I...>) {
  (roles.push_back({Role::Part::source, type_of<std::tuple_element_t<I, Sources>>()}), ...);
}

// [sdst,] sources. The function has SCC and the sources; a comparison has no result.
template <class F> Definition scalar(F f) {
  static const F stored = f;
  Stateless<F>::object = &stored;
  using Result = typename ScalarSignature<F>::Result;
  using Sources = typename ScalarSignature<F>::Sources;
  Definition definition;
  definition.run = run_scalar<F>;
  if constexpr (!std::is_void_v<Result>)
    definition.roles.push_back({Role::Part::scalar_result, type_of<Result>()});
  add_roles<Sources>(definition.roles, std::make_index_sequence<std::tuple_size_v<Sources>>());
  definition.sub_dword = false;
  return definition;
}

// The last source is what sdst holds.
template <class F> Definition scalar_accumulating(F f) {
  Definition definition = scalar(f);
  definition.roles.back().part = Role::Part::accumulator;
  return definition;
}

template <class T> T with_scc(bool &scc, T value) {
  scc = value != 0;
  return value;
}

template <class T> void add_logic(Table &table, const std::string &type) {
  table.add("s_and_" + type, scalar([](bool &scc, T a, T b) { return with_scc<T>(scc, a & b); }));
  table.add("s_or_" + type, scalar([](bool &scc, T a, T b) { return with_scc<T>(scc, a | b); }));
  table.add("s_xor_" + type, scalar([](bool &scc, T a, T b) { return with_scc<T>(scc, a ^ b); }));
  table.add("s_andn2_" + type,
            scalar([](bool &scc, T a, T b) { return with_scc<T>(scc, a & ~b); }));
  table.add("s_orn2_" + type, scalar([](bool &scc, T a, T b) { return with_scc<T>(scc, a | ~b); }));
  table.add("s_nand_" + type,
            scalar([](bool &scc, T a, T b) { return with_scc<T>(scc, ~(a & b)); }));
  table.add("s_nor_" + type,
            scalar([](bool &scc, T a, T b) { return with_scc<T>(scc, ~(a | b)); }));
  table.add("s_xnor_" + type,
            scalar([](bool &scc, T a, T b) { return with_scc<T>(scc, ~(a ^ b)); }));
  table.add("s_not_" + type, scalar([](bool &scc, T a) { return with_scc<T>(scc, ~a); }));
  table.add("s_mov_" + type, scalar([](bool &, T a) { return a; }));
  table.add("s_cselect_" + type, scalar([](bool &scc, T a, T b) { return scc ? a : b; }));
  table.add("s_cmov_" + type,
            scalar_accumulating([](bool &scc, T a, T old) { return scc ? a : old; }));
  table.add("s_brev_" + type, scalar([](bool &, T a) {
              T reversed = 0;
              for (unsigned i = 0; i < 8 * sizeof(T); ++i)
                reversed |= (a >> i & 1u) << (8 * sizeof(T) - 1 - i);
              return reversed;
            }));
}

template <class T> u32 find(T value, bool zeros) {
  const T bits = zeros ? static_cast<T>(~value) : value;
  return bits == 0 ? ~0u : static_cast<u32>(__builtin_ctzll(bits));
}

template <class T> u32 leading_zeros(T value) {
  return value == 0
             ? ~0u
             : static_cast<u32>(__builtin_clzll(value)) - static_cast<u32>(64 - 8 * sizeof(T));
}

template <class T> T field(T value, u32 place) {
  const u32 width = place >> 16 & 0x7fu;
  const u32 offset = place & (8 * sizeof(T) - 1);
  using Unsigned = std::make_unsigned_t<T>;
  if (width == 0)
    return 0;
  const u32 unused = width >= 8 * sizeof(T) ? 0 : static_cast<u32>(8 * sizeof(T)) - width;
  return static_cast<T>(static_cast<T>(static_cast<Unsigned>(value >> offset) << unused) >> unused);
}

void add_arithmetic(Table &table) {
  table.add("s_add_u32", scalar([](bool &scc, u32 a, u32 b) {
              scc = a + b < a;
              return a + b;
            }));
  table.add("s_addc_u32", scalar([](bool &scc, u32 a, u32 b) {
              const u64 sum = static_cast<u64>(a) + b + (scc ? 1 : 0);
              scc = sum >> 32 != 0;
              return static_cast<u32>(sum);
            }));
  table.add("s_sub_u32", scalar([](bool &scc, u32 a, u32 b) {
              scc = a < b;
              return a - b;
            }));
  table.add("s_subb_u32", scalar([](bool &scc, u32 a, u32 b) {
              const u64 difference = static_cast<u64>(a) - b - (scc ? 1 : 0);
              scc = difference >> 32 != 0;
              return static_cast<u32>(difference);
            }));
  table.add("s_add_i32", scalar([](bool &scc, i32 a, i32 b) {
              i32 sum = 0;
              scc = __builtin_add_overflow(a, b, &sum);
              return sum;
            }));
  table.add("s_sub_i32", scalar([](bool &scc, i32 a, i32 b) {
              i32 difference = 0;
              scc = __builtin_sub_overflow(a, b, &difference);
              return difference;
            }));
  table.add("s_addk_i32", scalar_accumulating([](bool &scc, i16 a, i32 old) {
              i32 sum = 0;
              scc = __builtin_add_overflow(i32{a}, old, &sum);
              return sum;
            }));
  table.add("s_mulk_i32", scalar_accumulating([](bool &, i16 a, u32 old) {
              return static_cast<u32>(i32{a}) * old;
            }));
  table.add("s_mul_i32", scalar([](bool &, u32 a, u32 b) { return a * b; }));
  table.add("s_mul_hi_u32", scalar([](bool &, u32 a, u32 b) {
              return static_cast<u32>(static_cast<u64>(a) * b >> 32);
            }));
  table.add("s_mul_hi_i32", scalar([](bool &, i32 a, i32 b) {
              return static_cast<u32>(static_cast<u64>(static_cast<i64>(a) * b) >> 32);
            }));
  table.add("s_absdiff_i32", scalar([](bool &scc, u32 a, u32 b) {
              const u32 difference = a - b;
              return with_scc<u32>(scc,
                                   static_cast<i32>(difference) < 0 ? 0 - difference : difference);
            }));
  table.add("s_abs_i32", scalar([](bool &scc, u32 a) {
              return with_scc<u32>(scc, static_cast<i32>(a) < 0 ? 0 - a : a);
            }));
  const auto choose = [&table](const std::string &type, auto zero) {
    using T = decltype(zero);
    table.add("s_min_" + type, scalar([](bool &scc, T a, T b) {
                scc = a < b;
                return std::min(a, b);
              }));
    table.add("s_max_" + type, scalar([](bool &scc, T a, T b) {
                scc = a > b;
                return std::max(a, b);
              }));
  };
  choose("i32", i32{0});
  choose("u32", u32{0});
}

void add_shifts(Table &table) {
  table.add("s_lshl_b32",
            scalar([](bool &scc, u32 a, u32 b) { return with_scc<u32>(scc, a << (b & 31)); }));
  table.add("s_lshl_b64",
            scalar([](bool &scc, u64 a, u32 b) { return with_scc<u64>(scc, a << (b & 63)); }));
  table.add("s_lshr_b32",
            scalar([](bool &scc, u32 a, u32 b) { return with_scc<u32>(scc, a >> (b & 31)); }));
  table.add("s_lshr_b64",
            scalar([](bool &scc, u64 a, u32 b) { return with_scc<u64>(scc, a >> (b & 63)); }));
  table.add("s_ashr_i32",
            scalar([](bool &scc, i32 a, u32 b) { return with_scc<i32>(scc, a >> (b & 31)); }));
  table.add("s_ashr_i64",
            scalar([](bool &scc, i64 a, u32 b) { return with_scc<i64>(scc, a >> (b & 63)); }));
  const auto shift_add = [&table](const std::string &name, auto shift) {
    table.add(name, scalar([](bool &scc, u32 a, u32 b) {
                const u64 sum = (static_cast<u64>(a) << decltype(shift)::value) + b;
                scc = sum >> 32 != 0;
                return static_cast<u32>(sum);
              }));
  };
  shift_add("s_lshl1_add_u32", std::integral_constant<unsigned, 1>());
  shift_add("s_lshl2_add_u32", std::integral_constant<unsigned, 2>());
  shift_add("s_lshl3_add_u32", std::integral_constant<unsigned, 3>());
  shift_add("s_lshl4_add_u32", std::integral_constant<unsigned, 4>());
}

void add_fields(Table &table) {
  table.add("s_bfe_u32",
            scalar([](bool &scc, u32 a, u32 b) { return with_scc(scc, field(a, b)); }));
  table.add("s_bfe_i32",
            scalar([](bool &scc, i32 a, u32 b) { return with_scc(scc, field(a, b)); }));
  table.add("s_bfe_u64",
            scalar([](bool &scc, u64 a, u32 b) { return with_scc(scc, field(a, b)); }));
  table.add("s_bfe_i64",
            scalar([](bool &scc, i64 a, u32 b) { return with_scc(scc, field(a, b)); }));
  table.add("s_bfm_b32",
            scalar([](bool &, u32 a, u32 b) { return ((1u << (a & 31)) - 1) << (b & 31); }));
  table.add("s_bfm_b64",
            scalar([](bool &, u32 a, u32 b) { return ((u64{1} << (a & 63)) - 1) << (b & 63); }));
  table.add("s_bitset0_b32",
            scalar_accumulating([](bool &, u32 a, u32 old) { return old & ~(1u << (a & 31)); }));
  table.add("s_bitset1_b32",
            scalar_accumulating([](bool &, u32 a, u32 old) { return old | 1u << (a & 31); }));
  table.add("s_bitset0_b64", scalar_accumulating([](bool &, u32 a, u64 old) {
              return old & ~(u64{1} << (a & 63));
            }));
  table.add("s_bitset1_b64",
            scalar_accumulating([](bool &, u32 a, u64 old) { return old | u64{1} << (a & 63); }));
  table.add("s_bcnt0_i32_b32", scalar([](bool &scc, u32 a) {
              return with_scc<u32>(scc, static_cast<u32>(__builtin_popcount(~a)));
            }));
  table.add("s_bcnt1_i32_b32", scalar([](bool &scc, u32 a) {
              return with_scc<u32>(scc, static_cast<u32>(__builtin_popcount(a)));
            }));
  table.add("s_bcnt0_i32_b64", scalar([](bool &scc, u64 a) {
              return with_scc<u32>(scc, static_cast<u32>(__builtin_popcountll(~a)));
            }));
  table.add("s_bcnt1_i32_b64", scalar([](bool &scc, u64 a) {
              return with_scc<u32>(scc, static_cast<u32>(__builtin_popcountll(a)));
            }));
  table.add("s_ff0_i32_b32", scalar([](bool &, u32 a) { return find(a, true); }));
  table.add("s_ff1_i32_b32", scalar([](bool &, u32 a) { return find(a, false); }));
  table.add("s_ff0_i32_b64", scalar([](bool &, u64 a) { return find(a, true); }));
  table.add("s_ff1_i32_b64", scalar([](bool &, u64 a) { return find(a, false); }));
  table.add("s_flbit_i32_b32", scalar([](bool &, u32 a) { return leading_zeros(a); }));
  table.add("s_flbit_i32_b64", scalar([](bool &, u64 a) { return leading_zeros(a); }));
  table.add("s_flbit_i32",
            scalar([](bool &, i32 a) { return leading_zeros(static_cast<u32>(a < 0 ? ~a : a)); }));
  table.add("s_flbit_i32_i64",
            scalar([](bool &, i64 a) { return leading_zeros(static_cast<u64>(a < 0 ? ~a : a)); }));
  table.add("s_sext_i32_i8",
            scalar([](bool &, u32 a) { return static_cast<i32>(static_cast<std::int8_t>(a)); }));
  table.add("s_sext_i32_i16",
            scalar([](bool &, u32 a) { return static_cast<i32>(static_cast<i16>(a)); }));
  table.add("s_pack_ll_b32_b16",
            scalar([](bool &, u32 a, u32 b) { return (a & 0xffffu) | b << 16; }));
  table.add("s_pack_lh_b32_b16",
            scalar([](bool &, u32 a, u32 b) { return (a & 0xffffu) | (b & 0xffff0000u); }));
  table.add("s_pack_hh_b32_b16",
            scalar([](bool &, u32 a, u32 b) { return a >> 16 | (b & 0xffff0000u); }));
  table.add("s_movk_i32", scalar([](bool &, i16 a) { return i32{a}; }));
  table.add("s_cmovk_i32",
            scalar_accumulating([](bool &scc, i16 a, i32 old) { return scc ? i32{a} : old; }));
}

// Constant is the type of the literal in the short form.
template <class T, class Constant> void add_compare(Table &table, const std::string &type) {
  table.add("s_cmp_eq_" + type, scalar([](bool &scc, T a, T b) { scc = a == b; }));
  table.add("s_cmp_lg_" + type, scalar([](bool &scc, T a, T b) { scc = a != b; }));
  table.add("s_cmp_gt_" + type, scalar([](bool &scc, T a, T b) { scc = a > b; }));
  table.add("s_cmp_ge_" + type, scalar([](bool &scc, T a, T b) { scc = a >= b; }));
  table.add("s_cmp_lt_" + type, scalar([](bool &scc, T a, T b) { scc = a < b; }));
  table.add("s_cmp_le_" + type, scalar([](bool &scc, T a, T b) { scc = a <= b; }));
  table.add("s_cmpk_eq_" + type, scalar([](bool &scc, T a, Constant b) { scc = a == T{b}; }));
  table.add("s_cmpk_lg_" + type, scalar([](bool &scc, T a, Constant b) { scc = a != T{b}; }));
  table.add("s_cmpk_gt_" + type, scalar([](bool &scc, T a, Constant b) { scc = a > T{b}; }));
  table.add("s_cmpk_ge_" + type, scalar([](bool &scc, T a, Constant b) { scc = a >= T{b}; }));
  table.add("s_cmpk_lt_" + type, scalar([](bool &scc, T a, Constant b) { scc = a < T{b}; }));
  table.add("s_cmpk_le_" + type, scalar([](bool &scc, T a, Constant b) { scc = a <= T{b}; }));
}

// sdst takes EXEC, and EXEC what f makes of the source and EXEC.
template <class F> void run_save_exec(Wave &wave, const Instruction &instruction) {
  const u64 source = scalar_value(wave, instruction.source[0], true);
  const u64 exec = wave.exec();
  wave.set_pair(instruction.scalar_result, exec);
  const u64 result = (*Stateless<F>::object)(source, exec);
  wave.set_pair(scalar_register::exec, result);
  wave.scc = result != 0;
}

template <class F> void add_save_exec(Table &table, const std::string &name, F f) {
  static const F stored = f;
  Stateless<F>::object = &stored;
  Definition definition;
  definition.run = run_save_exec<F>;
  definition.roles = {{Role::Part::scalar_result, Type::b64}, {Role::Part::source, Type::b64}};
  definition.sub_dword = false;
  table.add(name, definition);
}

} // namespace

void add_scalar(Table &table) {
  add_logic<u32>(table, "b32");
  add_logic<u64>(table, "b64");
  add_arithmetic(table);
  add_shifts(table);
  add_fields(table);
  add_compare<i32, i16>(table, "i32");
  add_compare<u32, u16>(table, "u32");
  table.add("s_cmp_eq_u64", scalar([](bool &scc, u64 a, u64 b) { scc = a == b; }));
  table.add("s_cmp_lg_u64", scalar([](bool &scc, u64 a, u64 b) { scc = a != b; }));
  table.add("s_bitcmp0_b32",
            scalar([](bool &scc, u32 a, u32 b) { scc = (a >> (b & 31) & 1u) == 0; }));
  table.add("s_bitcmp1_b32",
            scalar([](bool &scc, u32 a, u32 b) { scc = (a >> (b & 31) & 1u) != 0; }));
  table.add("s_bitcmp0_b64",
            scalar([](bool &scc, u64 a, u32 b) { scc = (a >> (b & 63) & 1u) == 0; }));
  table.add("s_bitcmp1_b64",
            scalar([](bool &scc, u64 a, u32 b) { scc = (a >> (b & 63) & 1u) != 0; }));
  add_save_exec(table, "s_and_saveexec_b64", [](u64 a, u64 exec) { return a & exec; });
  add_save_exec(table, "s_or_saveexec_b64", [](u64 a, u64 exec) { return a | exec; });
  add_save_exec(table, "s_xor_saveexec_b64", [](u64 a, u64 exec) { return a ^ exec; });
  add_save_exec(table, "s_andn2_saveexec_b64", [](u64 a, u64 exec) { return a & ~exec; });
  add_save_exec(table, "s_orn2_saveexec_b64", [](u64 a, u64 exec) { return a | ~exec; });
  add_save_exec(table, "s_andn1_saveexec_b64", [](u64 a, u64 exec) { return ~a & exec; });
  add_save_exec(table, "s_orn1_saveexec_b64", [](u64 a, u64 exec) { return ~a | exec; });
  add_save_exec(table, "s_nand_saveexec_b64", [](u64 a, u64 exec) { return ~(a & exec); });
  add_save_exec(table, "s_nor_saveexec_b64", [](u64 a, u64 exec) { return ~(a | exec); });
  add_save_exec(table, "s_xnor_saveexec_b64", [](u64 a, u64 exec) { return ~(a ^ exec); });
}

} // namespace simhip::isa
