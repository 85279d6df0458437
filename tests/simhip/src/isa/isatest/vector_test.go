package isatest

import (
	"fmt"
	"math"
	"math/big"
	"math/bits"
	"math/rand"
	"testing"

	"github.com/stretchr/testify/require"
)

// kind is what an operand's bits are.
type kind int

const (
	u16 kind = iota
	u32
	u64
	f16
	f32
	f64
	mask // a bit for each lane, in vcc
)

// vectorCase is an instruction whose result is v0 or v[0:1], and vcc if it has one, and whose sources are v2, v4 and v6 or the pairs that
// begin there; where the last source is a mask it is vcc.
type vectorCase struct {
	text    string
	sources []kind
	result  kind
	want    func(s []uint64) (result, bit uint64)
}

func single(v uint64) float32   { return math.Float32frombits(uint32(v)) }
func double(v uint64) float64   { return math.Float64frombits(v) }
func half(v uint64) float64     { return halfValue(uint16(v)) }
func ofSingle(f float32) uint64 { return uint64(math.Float32bits(f)) }
func ofDouble(f float64) uint64 { return math.Float64bits(f) }
func ofHalf(f float64) uint64   { return uint64(halfOf(f)) }
func ofBool(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}
func signed24(v uint64) int64 { return int64(int32(uint32(v)<<8)) >> 8 }

// only makes a result without a bit.
func only(f func(s []uint64) uint64) func([]uint64) (uint64, uint64) {
	return func(s []uint64) (uint64, uint64) { return f(s), 0 }
}

// singleFMA rounds once: through big.Float, not through the host's fma.
func singleFMA(a, b, c float32) float32 {
	if v := float64(a) * float64(b); math.IsNaN(v+float64(c)) || math.IsInf(v+float64(c), 0) {
		return float32(v + float64(c))
	}
	exact := new(big.Float).SetPrec(2000).SetFloat64(float64(a) * float64(b))
	exact.Add(exact, new(big.Float).SetFloat64(float64(c)))
	f, _ := exact.Float32()
	if f == 0 && exact.Sign() == 0 {
		return float32(float64(a)*float64(b) + float64(c)) // for the sign of zero
	}
	return f
}

func halfFMA(a, b, c float64) uint64 {
	v := a*b + c
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return ofHalf(v)
	}
	exact := new(big.Float).SetPrec(4096).SetFloat64(a * b)
	exact.Add(exact, new(big.Float).SetFloat64(c))
	if exact.Sign() == 0 {
		return ofHalf(v)
	}
	return uint64(nearestHalf(exact))
}

func truncated(v, least, most float64) float64 {
	switch {
	case math.IsNaN(v):
		return 0
	case v < least:
		return least
	case v > most:
		return most
	}
	return math.Trunc(v)
}

func vectorCases() []vectorCase {
	two32, three32 := []kind{u32, u32}, []kind{u32, u32, u32}
	return []vectorCase{
		{"v_mov_b32_e32 v0, v2", []kind{u32}, u32, only(func(s []uint64) uint64 { return s[0] })},
		{"v_mov_b64_e32 v[0:1], v[2:3]", []kind{u64}, u64, only(func(s []uint64) uint64 { return s[0] })},
		{"v_add_u32_e32 v0, v2, v4", two32, u32, only(func(s []uint64) uint64 { return s[0] + s[1] })},
		{"v_add_u32_e64 v0, v2, v4 clamp", two32, u32, only(func(s []uint64) uint64 { return min(s[0]+s[1], 0xffffffff) })},
		{"v_sub_u32_e32 v0, v2, v4", two32, u32, only(func(s []uint64) uint64 { return s[0] - s[1] })},
		{"v_sub_u32_e64 v0, v2, v4 clamp", two32, u32, only(func(s []uint64) uint64 { return s[0] - min(s[0], s[1]) })},
		{"v_subrev_u32_e32 v0, v2, v4", two32, u32, only(func(s []uint64) uint64 { return s[1] - s[0] })},
		{"v_add_i32 v0, v2, v4 clamp", two32, u32, only(func(s []uint64) uint64 {
			return uint64(max(min(int64(int32(s[0]))+int64(int32(s[1])), math.MaxInt32), math.MinInt32))
		})},
		{"v_add3_u32 v0, v2, v4, v6", three32, u32, only(func(s []uint64) uint64 { return s[0] + s[1] + s[2] })},
		{"v_mul_lo_u32 v0, v2, v4", two32, u32, only(func(s []uint64) uint64 { return s[0] * s[1] })},
		{"v_mul_hi_u32 v0, v2, v4", two32, u32, only(func(s []uint64) uint64 { return s[0] * s[1] >> 32 })},
		{"v_mul_hi_i32 v0, v2, v4", two32, u32, only(func(s []uint64) uint64 { return uint64(int64(int32(s[0])) * int64(int32(s[1])) >> 32) })},
		{"v_mul_u32_u24_e32 v0, v2, v4", two32, u32, only(func(s []uint64) uint64 { return s[0] & 0xffffff * (s[1] & 0xffffff) })},
		{"v_mul_i32_i24_e32 v0, v2, v4", two32, u32, only(func(s []uint64) uint64 { return uint64(signed24(s[0]) * signed24(s[1])) })},
		{"v_mul_hi_i32_i24_e32 v0, v2, v4", two32, u32, only(func(s []uint64) uint64 { return uint64(signed24(s[0]) * signed24(s[1]) >> 32) })},
		{"v_mad_u32_u24 v0, v2, v4, v6", three32, u32, only(func(s []uint64) uint64 { return s[0]&0xffffff*(s[1]&0xffffff) + s[2] })},
		{"v_mad_i32_i24 v0, v2, v4, v6", three32, u32, only(func(s []uint64) uint64 { return uint64(signed24(s[0])*signed24(s[1])) + s[2] })},
		{"v_mad_u64_u32 v[0:1], vcc, v2, v4, v[6:7]", []kind{u32, u32, u64}, u64, func(s []uint64) (uint64, uint64) {
			return bits.Add64(s[0]*s[1], s[2], 0)
		}},
		{"v_add_co_u32_e32 v0, vcc, v2, v4", two32, u32, func(s []uint64) (uint64, uint64) { return s[0] + s[1], (s[0] + s[1]) >> 32 }},
		{"v_sub_co_u32_e32 v0, vcc, v2, v4", two32, u32, func(s []uint64) (uint64, uint64) { return s[0] - s[1], ofBool(s[0] < s[1]) }},
		{"v_subrev_co_u32_e32 v0, vcc, v2, v4", two32, u32, func(s []uint64) (uint64, uint64) { return s[1] - s[0], ofBool(s[1] < s[0]) }},
		{"v_addc_co_u32_e32 v0, vcc, v2, v4, vcc", []kind{u32, u32, mask}, u32, func(s []uint64) (uint64, uint64) {
			return s[0] + s[1] + s[2], (s[0] + s[1] + s[2]) >> 32
		}},
		{"v_subb_co_u32_e32 v0, vcc, v2, v4, vcc", []kind{u32, u32, mask}, u32, func(s []uint64) (uint64, uint64) {
			return s[0] - s[1] - s[2], ofBool(s[0] < s[1]+s[2])
		}},
		{"v_subbrev_co_u32_e32 v0, vcc, v2, v4, vcc", []kind{u32, u32, mask}, u32, func(s []uint64) (uint64, uint64) {
			return s[1] - s[0] - s[2], ofBool(s[1] < s[0]+s[2])
		}},
		{"v_cndmask_b32_e32 v0, v2, v4, vcc", []kind{u32, u32, mask}, u32, only(func(s []uint64) uint64 { return s[s[2]] })},
		{"v_cndmask_b32_e64 v0, -v2, |v4|, vcc", []kind{u32, u32, mask}, u32, only(func(s []uint64) uint64 {
			return []uint64{s[0] ^ 0x80000000, s[1] & 0x7fffffff}[s[2]]
		})},
		{"v_not_b32_e32 v0, v2", []kind{u32}, u32, only(func(s []uint64) uint64 { return ^s[0] })},
		{"v_and_or_b32 v0, v2, v4, v6", three32, u32, only(func(s []uint64) uint64 { return s[0]&s[1] | s[2] })},
		{"v_or3_b32 v0, v2, v4, v6", three32, u32, only(func(s []uint64) uint64 { return s[0] | s[1] | s[2] })},
		{"v_lshl_or_b32 v0, v2, v4, v6", three32, u32, only(func(s []uint64) uint64 { return s[0]<<(s[1]&31) | s[2] })},
		{"v_lshl_add_u32 v0, v2, v4, v6", three32, u32, only(func(s []uint64) uint64 { return s[0]<<(s[1]&31) + s[2] })},
		{"v_add_lshl_u32 v0, v2, v4, v6", three32, u32, only(func(s []uint64) uint64 { return (s[0] + s[1]) << (s[2] & 31) })},
		{"v_lshl_add_u64 v[0:1], v[2:3], 2, v[6:7]", []kind{u64, u32, u64}, u64, only(func(s []uint64) uint64 { return s[0]<<2 + s[2] })},
		{"v_lshlrev_b32_e32 v0, v2, v4", two32, u32, only(func(s []uint64) uint64 { return s[1] << (s[0] & 31) })},
		{"v_ashrrev_i32_e32 v0, v2, v4", two32, u32, only(func(s []uint64) uint64 { return uint64(int32(s[1]) >> (s[0] & 31)) })},
		{"v_lshlrev_b64 v[0:1], v2, v[4:5]", []kind{u32, u64}, u64, only(func(s []uint64) uint64 { return s[1] << (s[0] & 63) })},
		{"v_ashrrev_i64 v[0:1], v2, v[4:5]", []kind{u32, u64}, u64, only(func(s []uint64) uint64 { return uint64(int64(s[1]) >> (s[0] & 63)) })},
		{"v_bfe_u32 v0, v2, v4, v6", three32, u32, only(func(s []uint64) uint64 { return s[0] >> (s[1] & 31) & (1<<(s[2]&31) - 1) })},
		{"v_bfe_i32 v0, v2, v4, v6", three32, u32, only(func(s []uint64) uint64 {
			width := s[2] & 31
			if width == 0 {
				return 0
			}
			field := uint64(int64(int32(s[0]))>>(s[1]&31)) & (1<<width - 1)
			if field>>(width-1) != 0 {
				field |= ^uint64(0) << width
			}
			return field
		})},
		{"v_bfi_b32 v0, v2, v4, v6", three32, u32, only(func(s []uint64) uint64 { return s[0]&s[1] | ^s[0]&s[2] })},
		{"v_alignbit_b32 v0, v2, v4, v6", three32, u32, only(func(s []uint64) uint64 { return (s[0]<<32 | s[1]) >> (s[2] & 31) })},
		{"v_perm_b32 v0, v2, v4, v6", three32, u32, only(func(s []uint64) uint64 {
			both, result := s[0]<<32|s[1], uint64(0)
			for i := range 4 {
				selector, b := s[2]>>(8*i)&255, uint64(0xff)
				switch {
				case selector < 8:
					b = both >> (8 * selector) & 255
				case selector < 12:
					b = uint64(int64(both<<(64-16*(selector-7)))>>63) & 255
				case selector == 12:
					b = 0
				}
				result |= b << (8 * i)
			}
			return result
		})},
		{"v_bfrev_b32_e32 v0, v2", []kind{u32}, u32, only(func(s []uint64) uint64 { return uint64(bits.Reverse32(uint32(s[0]))) })},
		{"v_ffbh_u32_e32 v0, v2", []kind{u32}, u32, only(func(s []uint64) uint64 {
			if s[0] == 0 {
				return 0xffffffff
			}
			return uint64(bits.LeadingZeros32(uint32(s[0])))
		})},
		{"v_bcnt_u32_b32 v0, v2, v4", two32, u32, only(func(s []uint64) uint64 { return uint64(bits.OnesCount64(s[0])) + s[1] })},
		{"v_med3_i32 v0, v2, v4, v6", three32, u32, only(func(s []uint64) uint64 {
			a, b, c := int32(s[0]), int32(s[1]), int32(s[2])
			return uint64(int64(a) + int64(b) + int64(c) - int64(min(a, b, c)) - int64(max(a, b, c)))
		})},
		{"v_max_i32_e32 v0, v2, v4", two32, u32, only(func(s []uint64) uint64 { return uint64(max(int32(s[0]), int32(s[1]))) })},
		{"v_min_u32_e32 v0, v2, v4", two32, u32, only(func(s []uint64) uint64 { return min(s[0], s[1]) })},
		{"v_add_u16_e32 v0, v2, v4", []kind{u16, u16}, u16, only(func(s []uint64) uint64 { return s[0] + s[1] })},
		{"v_mul_lo_u16_e32 v0, v2, v4", []kind{u16, u16}, u16, only(func(s []uint64) uint64 { return s[0] * s[1] })},
		{"v_mad_u16 v0, v2, v4, v6", []kind{u16, u16, u16}, u16, only(func(s []uint64) uint64 { return s[0]*s[1] + s[2] })},

		{"v_add_f32_e32 v0, v2, v4", []kind{f32, f32}, f32, only(func(s []uint64) uint64 { return ofSingle(single(s[0]) + single(s[1])) })},
		{"v_subrev_f32_e32 v0, v2, v4", []kind{f32, f32}, f32, only(func(s []uint64) uint64 { return ofSingle(single(s[1]) - single(s[0])) })},
		{"v_mul_f32_e64 v0, -|v2|, v4", []kind{f32, f32}, f32, only(func(s []uint64) uint64 {
			return ofSingle(single(s[0]|0x80000000) * single(s[1]))
		})},
		{"v_mul_f32_e64 v0, v2, v4 clamp", []kind{f32, f32}, f32, only(func(s []uint64) uint64 {
			v := single(s[0]) * single(s[1])
			if v != v || v <= 0 {
				return 0
			}
			return ofSingle(min(v, 1))
		})},
		{"v_fma_f32 v0, v2, v4, v6", []kind{f32, f32, f32}, f32, only(func(s []uint64) uint64 {
			return ofSingle(singleFMA(single(s[0]), single(s[1]), single(s[2])))
		})},
		{"v_trunc_f32_e32 v0, v2", []kind{f32}, f32, only(func(s []uint64) uint64 { return ofSingle(float32(math.Trunc(float64(single(s[0]))))) })},
		{"v_rndne_f32_e32 v0, v2", []kind{f32}, f32, only(func(s []uint64) uint64 { return ofSingle(float32(math.RoundToEven(float64(single(s[0]))))) })},
		{"v_floor_f32_e32 v0, v2", []kind{f32}, f32, only(func(s []uint64) uint64 { return ofSingle(float32(math.Floor(float64(single(s[0]))))) })},
		{"v_ldexp_f32 v0, v2, 7", []kind{f32}, f32, only(func(s []uint64) uint64 { return ofSingle(float32(math.Ldexp(float64(single(s[0])), 7))) })},
		{"v_frexp_mant_f32_e32 v0, v2", []kind{f32}, f32, only(func(s []uint64) uint64 {
			m, _ := math.Frexp(float64(single(s[0])))
			return ofSingle(float32(m))
		})},
		{"v_frexp_exp_i32_f32_e32 v0, v2", []kind{f32}, u32, only(func(s []uint64) uint64 {
			if v := float64(single(s[0])); math.IsInf(v, 0) || math.IsNaN(v) {
				return 0
			}
			_, e := math.Frexp(float64(single(s[0])))
			return uint64(e)
		})},
		{"v_sqrt_f64_e32 v[0:1], v[2:3]", []kind{f64}, f64, only(func(s []uint64) uint64 { return ofDouble(math.Sqrt(double(s[0]))) })},
		{"v_add_f64 v[0:1], v[2:3], v[4:5]", []kind{f64, f64}, f64, only(func(s []uint64) uint64 { return ofDouble(double(s[0]) + double(s[1])) })},
		{"v_mul_f64 v[0:1], v[2:3], -v[4:5]", []kind{f64, f64}, f64, only(func(s []uint64) uint64 { return ofDouble(double(s[0]) * -double(s[1])) })},
		{"v_fma_f64 v[0:1], v[2:3], v[4:5], v[6:7]", []kind{f64, f64, f64}, f64, only(func(s []uint64) uint64 {
			return ofDouble(math.FMA(double(s[0]), double(s[1]), double(s[2])))
		})},
		{"v_add_f16_e32 v0, v2, v4", []kind{f16, f16}, f16, only(func(s []uint64) uint64 { return ofHalf(half(s[0]) + half(s[1])) })},
		{"v_mul_f16_e32 v0, v2, v4", []kind{f16, f16}, f16, only(func(s []uint64) uint64 { return ofHalf(half(s[0]) * half(s[1])) })},
		{"v_fma_f16 v0, v2, v4, v6", []kind{f16, f16, f16}, f16, only(func(s []uint64) uint64 { return halfFMA(half(s[0]), half(s[1]), half(s[2])) })},

		{"v_cvt_f32_f16_e32 v0, v2", []kind{f16}, f32, only(func(s []uint64) uint64 { return ofSingle(float32(half(s[0]))) })},
		{"v_cvt_f16_f32_e32 v0, v2", []kind{f32}, f16, only(func(s []uint64) uint64 { return ofHalf(float64(single(s[0]))) })},
		{"v_cvt_f64_f32_e32 v[0:1], v2", []kind{f32}, f64, only(func(s []uint64) uint64 { return ofDouble(float64(single(s[0]))) })},
		{"v_cvt_f32_f64_e32 v0, v[2:3]", []kind{f64}, f32, only(func(s []uint64) uint64 { return ofSingle(float32(double(s[0]))) })},
		{"v_cvt_i32_f32_e32 v0, v2", []kind{f32}, u32, only(func(s []uint64) uint64 {
			return uint64(int64(truncated(float64(single(s[0])), math.MinInt32, math.MaxInt32)))
		})},
		{"v_cvt_u32_f32_e32 v0, v2", []kind{f32}, u32, only(func(s []uint64) uint64 { return uint64(truncated(float64(single(s[0])), 0, math.MaxUint32)) })},
		{"v_cvt_i32_f64_e32 v0, v[2:3]", []kind{f64}, u32, only(func(s []uint64) uint64 {
			return uint64(int64(truncated(double(s[0]), math.MinInt32, math.MaxInt32)))
		})},
		{"v_cvt_f32_u32_e32 v0, v2", []kind{u32}, f32, only(func(s []uint64) uint64 { return ofSingle(float32(uint32(s[0]))) })},
		{"v_cvt_f32_i32_e32 v0, v2", []kind{u32}, f32, only(func(s []uint64) uint64 { return ofSingle(float32(int32(s[0]))) })},
		{"v_cvt_f32_ubyte2_e32 v0, v2", []kind{u32}, f32, only(func(s []uint64) uint64 { return ofSingle(float32(s[0] >> 16 & 255)) })},
		{"v_pack_b32_f16 v0, v2, v4", []kind{f16, f16}, u32, only(func(s []uint64) uint64 { return s[0]&0xffff | s[1]&0xffff<<16 })},

		{"v_cmp_lt_f32_e32 vcc, v2, v4", []kind{f32, f32}, mask, func(s []uint64) (uint64, uint64) { return 0, ofBool(single(s[0]) < single(s[1])) }},
		{"v_cmp_nlt_f32_e32 vcc, v2, v4", []kind{f32, f32}, mask, func(s []uint64) (uint64, uint64) { return 0, ofBool(!(single(s[0]) < single(s[1]))) }},
		{"v_cmp_lg_f64_e32 vcc, v[2:3], v[4:5]", []kind{f64, f64}, mask, func(s []uint64) (uint64, uint64) {
			return 0, ofBool(double(s[0]) < double(s[1]) || double(s[0]) > double(s[1]))
		}},
		{"v_cmp_ge_f16_e32 vcc, v2, v4", []kind{f16, f16}, mask, func(s []uint64) (uint64, uint64) { return 0, ofBool(half(s[0]) >= half(s[1])) }},
		{"v_cmp_u_f32_e32 vcc, v2, v4", []kind{f32, f32}, mask, func(s []uint64) (uint64, uint64) {
			return 0, ofBool(single(s[0]) != single(s[0]) || single(s[1]) != single(s[1]))
		}},
		{"v_cmp_gt_i32_e32 vcc, v2, v4", two32, mask, func(s []uint64) (uint64, uint64) { return 0, ofBool(int32(s[0]) > int32(s[1])) }},
		{"v_cmp_le_u32_e32 vcc, v2, v4", two32, mask, func(s []uint64) (uint64, uint64) { return 0, ofBool(s[0] <= s[1]) }},
		{"v_cmp_gt_i64_e32 vcc, v[2:3], v[4:5]", []kind{u64, u64}, mask, func(s []uint64) (uint64, uint64) { return 0, ofBool(int64(s[0]) > int64(s[1])) }},
		{"v_cmp_class_f32_e32 vcc, v2, v4", []kind{f32, u32}, mask, func(s []uint64) (uint64, uint64) {
			v, class := single(s[0]), 0
			switch {
			case v != v && s[0]&0x400000 == 0:
			case v != v:
				class = 1
			case math.IsInf(float64(v), -1):
				class = 2
			case v < 0 && -v >= 0x1p-126:
				class = 3
			case v < 0:
				class = 4
			case v == 0 && s[0]>>31 != 0:
				class = 5
			case v == 0:
				class = 6
			case v < 0x1p-126:
				class = 7
			case math.IsInf(float64(v), 1):
				class = 9
			default:
				class = 8
			}
			return 0, s[1] >> class & 1
		}},
	}
}

var special = map[kind][]uint64{
	u16: {0, 1, 0x7fff, 0x8000, 0xffff},
	u32: {0, 1, 2, 31, 32, 0x7fffffff, 0x80000000, 0xffffffff},
	u64: {0, 1, 0x7fffffffffffffff, 0x8000000000000000, 0xffffffffffffffff},
	f16: {0, 0x8000, 1, 0x8001, 0x3ff, 0x400, 0x3c00, 0x3c01, 0xbc00, 0x7bff, 0x7c00, 0xfc00, 0x7e00, 0x3555},
	f32: {0, 0x80000000, 1, 0x80000001, 0x7fffff, 0x800000, 0x3f800000, 0xbf800000, 0x3f000000, 0x3fc00000, 0x4f000000, 0xcf000000, 0x4f800000, 0x7f7fffff, 0x7f800000,
		0xff800000, 0x7fc00000, 0x477fefff, 0x477ff000, 0x33000000, 0x33000001, 0x38800000, 0x387fe000},
	f64: {0, 1 << 63, 1, 0x3ff0000000000000, 0xbff0000000000000, 0x41dfffffffc00000, 0x41e0000000000000, 0xc1e0000000000000, 0x7fefffffffffffff, 0x7ff0000000000000,
		0xfff0000000000000, 0x7ff8000000000000, 0x36a0000000000000, 0x47efffffe0000000},
	mask: {0, 1},
}

func draw(random *rand.Rand, k kind) uint64 {
	if random.Intn(3) == 0 {
		return special[k][random.Intn(len(special[k]))]
	}
	switch k {
	case u16, f16:
		return random.Uint64() & 0xffff
	case u32:
		return random.Uint64() & (0xffffffff >> random.Intn(32))
	case f32:
		if random.Intn(2) == 0 { // of like size, so that sums cancel and products stay in range
			return ofSingle(float32(random.NormFloat64()))
		}
		return random.Uint64() & 0xffffffff
	case f64:
		if random.Intn(2) == 0 {
			return ofDouble(random.NormFloat64() * math.Ldexp(1, random.Intn(64)-32))
		}
	case mask:
		return random.Uint64() & 1
	}
	return random.Uint64()
}

func wide(k kind) bool { return k == u64 || k == f64 }

func isNaN(k kind, v uint64) bool {
	switch k {
	case f16:
		return isHalfNaN(uint16(v))
	case f32:
		return single(v) != single(v)
	case f64:
		return double(v) != double(v)
	}
	return false
}

// mismatch runs a case on sources that it draws, with a random EXEC, and describes the first lane that is not as wanted.
func mismatch(r *runner, random *rand.Rand, c vectorCase) string {
	exec := random.Uint64() | random.Uint64()
	r.wave(c.text)
	r.tell("set exec %x", exec)
	sources := make([][]uint64, lanes)
	vcc := random.Uint64()
	for lane := range sources {
		sources[lane] = make([]uint64, len(c.sources))
		for i, k := range c.sources {
			sources[lane][i] = draw(random, k)
			if k == mask {
				vcc = vcc&^(1<<lane) | sources[lane][i]<<lane
			}
		}
	}
	r.tell("set vcc %x", vcc)
	for i := range c.sources {
		low, high := make([]uint32, lanes), make([]uint32, lanes)
		for lane, s := range sources {
			low[lane], high[lane] = uint32(s[i]), uint32(s[i]>>32)
			if c.sources[i] == u16 || c.sources[i] == f16 {
				low[lane] |= random.Uint32() << 16 // which must not matter
			}
		}
		r.setLanes(2+2*i, low)
		r.setLanes(3+2*i, high)
	}
	old := random.Uint32()
	r.tell("set v0 %x", old)
	r.tell("set v1 %x", old)
	r.run()
	low, high, bit := r.lanes(0), r.lanes(1), r.number("vcc")
	for lane, s := range sources {
		want, wantBit := c.want(s)
		got := uint64(low[lane])
		switch {
		case wide(c.result):
			got |= uint64(high[lane]) << 32
		case c.result == u16 || c.result == f16:
			got, want = got&0xffff, want&0xffff
		default:
			want &= 0xffffffff
		}
		if exec>>lane&1 == 0 {
			if low[lane] != old || high[lane] != old {
				return fmt.Sprintf("%s: inactive lane %d was written", c.text, lane)
			}
			continue
		}
		if c.result != mask && got != want && !(isNaN(c.result, got) && isNaN(c.result, want)) {
			return fmt.Sprintf("%s: lane %d of %x is %x in place of %x", c.text, lane, s, got, want)
		}
		if hasBit := c.result == mask || len(c.text) > 2 && containsResultMask(c.text); hasBit && bit>>lane&1 != wantBit {
			return fmt.Sprintf("%s: lane %d's bit of %x is %d", c.text, lane, s, bit>>lane&1)
		}
	}
	return ""
}

// containsResultMask tells whether the second operand is a mask that the instruction writes.
func containsResultMask(text string) bool {
	var mnemonic, first, second string
	_, err := fmt.Sscan(text, &mnemonic, &first, &second)
	return err == nil && second == "vcc,"
}

func TestVectorInstructions(t *testing.T) {
	r := start(t)
	random := rand.New(rand.NewSource(1))
	cases := vectorCases()
	for _, c := range cases {
		for range 8 {
			require.Empty(t, mismatch(r, random, c))
		}
	}
	t.Logf("%d instructions, %d lanes each", len(cases), 8*lanes)
}

// TestVectorInstructionsControl gives every case another instruction's definition: a check that cannot fail would not see it.
func TestVectorInstructionsControl(t *testing.T) {
	r := start(t)
	random := rand.New(rand.NewSource(2))
	for _, c := range vectorCases() {
		want := c.want
		c.want = func(s []uint64) (uint64, uint64) {
			result, bit := want(s)
			return result ^ 0x10, bit ^ 1
		}
		require.NotEmpty(t, mismatch(r, random, c), c.text)
	}
}

func TestAllHalves(t *testing.T) {
	r := start(t)
	for first := 0; first < 65536; first += lanes {
		halves := make([]uint32, lanes)
		for i := range halves {
			halves[i] = uint32(first + i)
		}
		r.wave("v_cvt_f32_f16_e32 v1, v0", "v_cvt_f16_f32_e32 v2, v1")
		r.setLanes(0, halves)
		r.run()
		for i, f := range r.lanes(1) {
			if want := halfValue(uint16(halves[i])); !math.IsNaN(want) {
				require.Equal(t, math.Float32bits(float32(want)), f, "%#x", halves[i])
			}
		}
		for i, h := range r.lanes(2) {
			if !isHalfNaN(uint16(halves[i])) {
				require.Equal(t, halves[i], h)
			}
		}
	}
}

// TestDivision divides as LLVM has it done, with the instructions that exist for nothing else: the quotient must be the correctly rounded
// one over the whole range.
func TestDivision(t *testing.T) {
	r := start(t)
	random := rand.New(rand.NewSource(3))
	for range 200 {
		r.wave("v_div_scale_f32 v2, s[4:5], v1, v1, v0", "v_div_scale_f32 v3, vcc, v0, v1, v0", "v_rcp_f32_e32 v4, v2",
			"v_fma_f32 v5, -v2, v4, 1.0", "v_fmac_f32_e32 v4, v5, v4", "v_mul_f32_e32 v5, v3, v4", "v_fma_f32 v6, -v2, v5, v3",
			"v_fmac_f32_e32 v5, v6, v4", "v_fma_f32 v6, -v2, v5, v3", "v_div_fmas_f32 v6, v6, v4, v5", "v_div_fixup_f32 v7, v6, v1, v0")
		numerators, denominators := make([]uint32, lanes), make([]uint32, lanes)
		for i := range numerators {
			numerators[i], denominators[i] = uint32(draw(random, f32)), uint32(draw(random, f32))
		}
		r.setLanes(0, numerators)
		r.setLanes(1, denominators)
		r.run()
		for i, q := range r.lanes(7) {
			a, b := math.Float32frombits(numerators[i]), math.Float32frombits(denominators[i])
			if want := a / b; !isNaN(f32, ofSingle(want)) || !isNaN(f32, uint64(q)) {
				require.Equal(t, math.Float32bits(want), q, "%g / %g (%#x / %#x)", a, b, numerators[i], denominators[i])
			}
		}
	}
}

// TestApproximations: those for which AMD's documents allow one unit in the last place.
func TestApproximations(t *testing.T) {
	r := start(t)
	random := rand.New(rand.NewSource(4))
	for text, f := range map[string]func(float64) float64{
		"v_exp_f32_e32 v1, v0":  math.Exp2,
		"v_log_f32_e32 v1, v0":  math.Log2,
		"v_rcp_f32_e32 v1, v0":  func(x float64) float64 { return 1 / x },
		"v_rsq_f32_e32 v1, v0":  func(x float64) float64 { return 1 / math.Sqrt(x) },
		"v_sqrt_f32_e32 v1, v0": math.Sqrt,
		"v_sin_f32_e32 v1, v0":  func(x float64) float64 { return math.Sin(2 * math.Pi * x) },
	} {
		worst := 0.0
		for range 20 {
			r.wave(text)
			xs := make([]uint32, lanes)
			for i := range xs {
				xs[i] = math.Float32bits(float32(random.NormFloat64() * 8))
			}
			r.setLanes(0, xs)
			r.run()
			for i, got := range r.lanes(1) {
				want := f(float64(math.Float32frombits(xs[i])))
				if math.IsNaN(want) {
					require.True(t, isNaN(f32, uint64(got)), text)
					continue
				}
				unit := math.Ldexp(1, max(math.Ilogb(want), -126)-23)
				worst = max(worst, math.Abs(float64(math.Float32frombits(got))-want)/unit)
			}
		}
		require.LessOrEqual(t, worst, 1.0, text)
	}
}

func TestSubnormalNumbers(t *testing.T) {
	r := start(t)
	const flushing, keeping = 0, 0xf0000 // bits 16 to 19 of the descriptor's word
	for _, c := range []struct {
		mode uint32
		text string
		a, b uint32
		want uint32
	}{
		{keeping, "v_add_f32_e32 v0, v2, v4", 0x00000001, 0x00000001, 0x00000002},
		{flushing, "v_add_f32_e32 v0, v2, v4", 0x00000001, 0x00000001, 0},
		{flushing, "v_mul_f32_e32 v0, v2, v4", 0x00800000, 0xbf000000, 0x80000000},
		{keeping, "v_mul_f32_e32 v0, v2, v4", 0x00800000, 0xbf000000, 0x80400000},
		{flushing, "v_add_f16_e32 v0, v2, v4", 0x0001, 0x0001, 0},
		{keeping, "v_add_f16_e32 v0, v2, v4", 0x0001, 0x0001, 2},
		{flushing, "v_mov_b32_e32 v0, v2", 0x00000001, 0, 0x00000001},
		{keeping, "v_rcp_f32_e32 v0, v2", 0x00000001, 0, 0x7f800000}, // as documented, whatever the mode
		{keeping, "v_exp_f32_e32 v0, v2", 0xc3020000, 0, 0},          // 2^-130
	} {
		r.wave(c.text)
		r.tell("mode %x", c.mode)
		r.tell("set v2 %x", c.a)
		r.tell("set v4 %x", c.b)
		r.run()
		require.Equal(t, c.want, r.lanes(0)[0], c)
	}
	r.wave("s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 2), 3", "v_add_f32_e32 v0, v2, v2", "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 2), 0",
		"v_add_f32_e32 v1, v2, v2")
	r.tell("mode 0")
	r.tell("set v2 1")
	r.run()
	require.Equal(t, uint32(2), r.lanes(0)[0])
	require.Zero(t, r.lanes(1)[0])
}

func TestMinimumOfNotANumber(t *testing.T) {
	r := start(t)
	const ieee = 1 << 23
	for _, c := range []struct{ mode, a, b, min, max uint32 }{
		{ieee, 0x7fc00000, 0x3f800000, 0x3f800000, 0x3f800000}, // a number wins over a quiet NaN
		{ieee, 0x7f800001, 0x3f800000, 0x7fc00001, 0x7fc00001}, // a signalling one becomes quiet
		{0, 0x7f800001, 0x3f800000, 0x3f800000, 0x3f800000},
		{ieee, 0x00000000, 0x80000000, 0x80000000, 0x00000000},
		{ieee, 0x80000000, 0x00000000, 0x80000000, 0x00000000},
	} {
		r.wave("v_min_f32_e32 v0, v2, v4", "v_max_f32_e32 v1, v2, v4")
		r.tell("mode %x", c.mode|0xf0000)
		r.tell("set v2 %x", c.a)
		r.tell("set v4 %x", c.b)
		r.run()
		require.Equal(t, []uint32{c.min, c.max}, []uint32{r.lanes(0)[0], r.lanes(1)[0]}, c)
	}
}
