// Integer and bit instructions of the vector unit.
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

u32 unsigned24(u32 value) {
  return value & 0xffffffu;
}
i32 signed24(u32 value) {
  return static_cast<i32>(value << 8) >> 8;
}
u32 low(u64 value) {
  return static_cast<u32>(value);
}
u32 high(u64 value) {
  return static_cast<u32>(value >> 32);
}
u64 signed_product(i32 a, i32 b) {
  return static_cast<u64>(static_cast<i64>(a) * b);
}

template <class T> T saturated(i64 value) {
  return static_cast<T>(
      std::clamp<i64>(value, std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
}

template <class T> T median(T a, T b, T c) {
  return std::max(std::min(a, b), std::min(std::max(a, b), c));
}

u32 count_leading_zeros(u32 value) {
  return value == 0 ? ~0u : static_cast<u32>(__builtin_clz(value));
}

u32 permute(u32 upper, u32 lower, u32 selectors) {
  const u64 bytes = static_cast<u64>(upper) << 32 | lower;
  u32 result = 0;
  for (unsigned i = 0; i < 4; ++i) {
    const u32 selector = selectors >> (8 * i) & 0xffu;
    u32 byte = 0xff;
    if (selector < 8)
      byte = static_cast<u32>(bytes >> (8 * selector)) & 0xffu;
    else if (selector < 12) // the sign of the byte 1, 3, 5 or 7
      byte = (bytes >> (16 * (selector - 8) + 15) & 1u) != 0 ? 0xff : 0;
    else if (selector == 12)
      byte = 0;
    result |= byte << (8 * i);
  }
  return result;
}

u32 sum_of_differences(u32 a, u32 b, u32 sum, unsigned width) {
  const u32 mask = width == 32 ? ~0u : (1u << width) - 1;
  for (unsigned shift = 0; shift < 32; shift += width) {
    const u32 x = a >> shift & mask;
    const u32 y = b >> shift & mask;
    sum += x > y ? x - y : y - x;
  }
  return sum;
}

void add_arithmetic(Table &table) {
  table.add("v_add_u32", vector([](u32 a, u32 b) { return a + b; },
                                [](u32 a, u32 b) { return a + b < a ? ~0u : a + b; }));
  table.add("v_sub_u32", vector([](u32 a, u32 b) { return a - b; },
                                [](u32 a, u32 b) { return a < b ? 0u : a - b; }));
  table.add("v_subrev_u32", vector([](u32 a, u32 b) { return b - a; },
                                   [](u32 a, u32 b) { return b < a ? 0u : b - a; }));
  table.add("v_add_i32",
            vector([](u32 a, u32 b) { return a + b; },
                   [](i32 a, i32 b) { return saturated<i32>(static_cast<i64>(a) + b); }));
  table.add("v_sub_i32",
            vector([](u32 a, u32 b) { return a - b; },
                   [](i32 a, i32 b) { return saturated<i32>(static_cast<i64>(a) - b); }));
  table.add("v_add3_u32", vector([](u32 a, u32 b, u32 c) { return a + b + c; }));
  table.add("v_mul_lo_u32", vector([](u32 a, u32 b) { return a * b; }));
  table.add("v_mul_hi_u32", vector([](u32 a, u32 b) { return high(static_cast<u64>(a) * b); }));
  table.add("v_mul_hi_i32", vector([](i32 a, i32 b) { return high(signed_product(a, b)); }));
  table.add("v_mul_u32_u24", vector([](u32 a, u32 b) { return unsigned24(a) * unsigned24(b); }));
  table.add("v_mul_i32_i24",
            vector([](u32 a, u32 b) { return low(signed_product(signed24(a), signed24(b))); }));
  table.add("v_mul_hi_u32_u24", vector([](u32 a, u32 b) {
              return high(static_cast<u64>(unsigned24(a)) * unsigned24(b));
            }));
  table.add("v_mul_hi_i32_i24",
            vector([](u32 a, u32 b) { return high(signed_product(signed24(a), signed24(b))); }));
  table.add("v_mad_u32_u24",
            vector([](u32 a, u32 b, u32 c) { return unsigned24(a) * unsigned24(b) + c; }));
  table.add("v_mad_i32_i24", vector([](u32 a, u32 b, u32 c) {
              return low(signed_product(signed24(a), signed24(b))) + c;
            }));
  table.add("v_mad_u64_u32", vector_with_bit([](u32 a, u32 b, u64 c) {
              const u64 product = static_cast<u64>(a) * b;
              return WithBit<u64>{product + c, product + c < c};
            }));
  table.add("v_mad_i64_i32", vector_with_bit([](i32 a, i32 b, i64 c) {
              i64 sum = 0;
              const bool overflow = __builtin_add_overflow(static_cast<i64>(a) * b, c, &sum);
              return WithBit<i64>{sum, overflow};
            }));

  const auto add = [](u32 a, u32 b) { return WithBit<u32>{a + b, a + b < a}; };
  const auto sub = [](u32 a, u32 b) { return WithBit<u32>{a - b, a < b}; };
  const auto subrev = [](u32 a, u32 b) { return WithBit<u32>{b - a, b < a}; };
  table.add("v_add_co_u32", vector_with_bit(add));
  table.add("v_sub_co_u32", vector_with_bit(sub));
  table.add("v_subrev_co_u32", vector_with_bit(subrev));
  table.add("v_addc_co_u32", vector_with_bit([](u32 a, u32 b, MaskBit carry) {
              const u64 sum = static_cast<u64>(a) + b + (carry.set ? 1 : 0);
              return WithBit<u32>{low(sum), high(sum) != 0};
            }));
  table.add("v_subb_co_u32", vector_with_bit([](u32 a, u32 b, MaskBit borrow) {
              const u64 difference = static_cast<u64>(a) - b - (borrow.set ? 1 : 0);
              return WithBit<u32>{low(difference), high(difference) != 0};
            }));
  table.add("v_subbrev_co_u32", vector_with_bit([](u32 a, u32 b, MaskBit borrow) {
              const u64 difference = static_cast<u64>(b) - a - (borrow.set ? 1 : 0);
              return WithBit<u32>{low(difference), high(difference) != 0};
            }));
}

void add_bits(Table &table) {
  const auto move = [](u32 a) { return a; };
  table.add("v_mov_b32", with_float_modifiers(vector(move)));
  table.add("v_accvgpr_read_b32", vector(move));
  table.add("v_accvgpr_write_b32", vector(move));
  table.add("v_accvgpr_mov_b32", vector(move));
  table.add("v_mov_b64", vector([](u64 a) { return a; }));
  table.add("v_cndmask_b32", with_float_modifiers(vector(
                                 [](u32 a, u32 b, MaskBit choose) { return choose.set ? b : a; })));
  table.add("v_not_b32", vector([](u32 a) { return ~a; }));
  table.add("v_and_b32", vector([](u32 a, u32 b) { return a & b; }));
  table.add("v_or_b32", vector([](u32 a, u32 b) { return a | b; }));
  table.add("v_xor_b32", vector([](u32 a, u32 b) { return a ^ b; }));
  table.add("v_xnor_b32", vector([](u32 a, u32 b) { return ~(a ^ b); }));
  table.add("v_or3_b32", vector([](u32 a, u32 b, u32 c) { return a | b | c; }));
  table.add("v_and_or_b32", vector([](u32 a, u32 b, u32 c) { return (a & b) | c; }));
  table.add("v_lshl_or_b32", vector([](u32 a, u32 b, u32 c) { return a << (b & 31) | c; }));
  table.add("v_lshl_add_u32", vector([](u32 a, u32 b, u32 c) { return (a << (b & 31)) + c; }));
  table.add("v_add_lshl_u32", vector([](u32 a, u32 b, u32 c) { return (a + b) << (c & 31); }));
  table.add("v_lshl_add_u64", vector([](u64 a, u32 b, u64 c) { return (a << (b & 7)) + c; }));
  table.add("v_xad_u32", vector([](u32 a, u32 b, u32 c) { return (a ^ b) + c; }));
  table.add("v_lshlrev_b32", vector([](u32 a, u32 b) { return b << (a & 31); }));
  table.add("v_lshrrev_b32", vector([](u32 a, u32 b) { return b >> (a & 31); }));
  table.add("v_ashrrev_i32", vector([](u32 a, i32 b) { return b >> (a & 31); }));
  table.add("v_lshlrev_b64", vector([](u32 a, u64 b) { return b << (a & 63); }));
  table.add("v_lshrrev_b64", vector([](u32 a, u64 b) { return b >> (a & 63); }));
  table.add("v_ashrrev_i64", vector([](u32 a, i64 b) { return b >> (a & 63); }));
  table.add("v_bfe_u32",
            vector([](u32 a, u32 b, u32 c) { return a >> (b & 31) & ((1u << (c & 31)) - 1); }));
  table.add("v_bfe_i32", vector([](u32 a, u32 b, u32 c) {
              const u32 width = c & 31;
              const u32 field = static_cast<u32>(static_cast<i32>(a) >> (b & 31));
              return width == 0 ? 0 : static_cast<i32>(field << (32 - width)) >> (32 - width);
            }));
  table.add("v_bfi_b32", vector([](u32 a, u32 b, u32 c) { return (a & b) | (~a & c); }));
  table.add("v_bfm_b32", vector([](u32 a, u32 b) { return ((1u << (a & 31)) - 1) << (b & 31); }));
  table.add("v_alignbit_b32", vector([](u32 a, u32 b, u32 c) {
              return low((static_cast<u64>(a) << 32 | b) >> (c & 31));
            }));
  table.add("v_alignbyte_b32", vector([](u32 a, u32 b, u32 c) {
              return low((static_cast<u64>(a) << 32 | b) >> (8 * (c & 3)));
            }));
  table.add("v_perm_b32", vector([](u32 a, u32 b, u32 c) { return permute(a, b, c); }));
  table.add("v_bfrev_b32", vector([](u32 a) {
              u32 reversed = 0;
              for (unsigned i = 0; i < 32; ++i)
                reversed |= (a >> i & 1u) << (31 - i);
              return reversed;
            }));
  table.add("v_ffbh_u32", vector([](u32 a) { return count_leading_zeros(a); }));
  table.add("v_ffbh_i32",
            vector([](u32 a) { return count_leading_zeros(static_cast<i32>(a) < 0 ? ~a : a); }));
  table.add("v_ffbl_b32",
            vector([](u32 a) { return a == 0 ? ~0u : static_cast<u32>(__builtin_ctz(a)); }));
  table.add("v_bcnt_u32_b32",
            vector([](u32 a, u32 b) { return static_cast<u32>(__builtin_popcount(a)) + b; }));
  table.add("v_sad_u8", vector([](u32 a, u32 b, u32 c) { return sum_of_differences(a, b, c, 8); }));
  table.add("v_sad_u16",
            vector([](u32 a, u32 b, u32 c) { return sum_of_differences(a, b, c, 16); }));
  table.add("v_sad_u32",
            vector([](u32 a, u32 b, u32 c) { return sum_of_differences(a, b, c, 32); }));
}

template <class T> void add_order(Table &table, const std::string &type) {
  table.add("v_min_" + type, vector([](T a, T b) { return std::min(a, b); }));
  table.add("v_max_" + type, vector([](T a, T b) { return std::max(a, b); }));
  const auto finish = [](Definition definition) {
    return sizeof(T) == 2 ? with_op_sel(std::move(definition)) : definition;
  };
  table.add("v_min3_" + type, finish(vector([](T a, T b, T c) { return std::min({a, b, c}); })));
  table.add("v_max3_" + type, finish(vector([](T a, T b, T c) { return std::max({a, b, c}); })));
  table.add("v_med3_" + type, finish(vector([](T a, T b, T c) { return median(a, b, c); })));
}

void add_16_bit(Table &table) {
  table.add("v_add_u16", vector([](u16 a, u16 b) { return static_cast<u16>(a + b); },
                                [](u16 a, u16 b) { return saturated<u16>(i64{a} + b); }));
  table.add("v_sub_u16", vector([](u16 a, u16 b) { return static_cast<u16>(a - b); },
                                [](u16 a, u16 b) { return saturated<u16>(i64{a} - b); }));
  table.add("v_subrev_u16", vector([](u16 a, u16 b) { return static_cast<u16>(b - a); },
                                   [](u16 a, u16 b) { return saturated<u16>(i64{b} - a); }));
  table.add("v_mul_lo_u16", vector([](u16 a, u16 b) { return static_cast<u16>(u32{a} * b); }));
  table.add("v_lshlrev_b16", vector([](u16 a, u16 b) { return static_cast<u16>(b << (a & 15)); }));
  table.add("v_lshrrev_b16", vector([](u16 a, u16 b) { return static_cast<u16>(b >> (a & 15)); }));
  table.add("v_ashrrev_i16", vector([](u16 a, i16 b) { return static_cast<i16>(b >> (a & 15)); }));
  table.add("v_add_i16",
            with_op_sel(vector([](u16 a, u16 b) { return static_cast<u16>(a + b); },
                               [](i16 a, i16 b) { return saturated<i16>(i64{a} + b); })));
  table.add("v_sub_i16",
            with_op_sel(vector([](u16 a, u16 b) { return static_cast<u16>(a - b); },
                               [](i16 a, i16 b) { return saturated<i16>(i64{a} - b); })));
  table.add("v_mad_u16", with_op_sel(vector([](u16 a, u16 b, u16 c) {
              return static_cast<u16>(u32{a} * b + c);
            })));
  table.add("v_mad_i16", with_op_sel(vector([](u16 a, u16 b, u16 c) {
              return static_cast<u16>(u32{a} * b + c);
            })));
  table.add("v_mad_legacy_u16",
            vector([](u16 a, u16 b, u16 c) { return static_cast<u16>(u32{a} * b + c); }));
  table.add("v_mad_legacy_i16",
            vector([](u16 a, u16 b, u16 c) { return static_cast<u16>(u32{a} * b + c); }));
  table.add("v_mad_u32_u16",
            with_op_sel(vector([](u16 a, u16 b, u32 c) { return u32{a} * b + c; })));
  table.add("v_mad_i32_i16", with_op_sel(vector([](i16 a, i16 b, u32 c) {
              return static_cast<u32>(i32{a} * b) + c;
            })));
}

} // namespace

void add_vector_integer(Table &table) {
  add_arithmetic(table);
  add_bits(table);
  add_order<i16>(table, "i16");
  add_order<u16>(table, "u16");
  add_order<i32>(table, "i32");
  add_order<u32>(table, "u32");
  add_16_bit(table);
}

} // namespace simhip::isa
