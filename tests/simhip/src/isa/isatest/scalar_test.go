package isatest

import (
	"math/bits"
	"math/rand"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// scalarCase is an instruction whose result is s0 or s[0:1], of sources s[2:3] and s[4:5]; want has those as 64 bits and SCC. What a
// comparison gives is SCC.
type scalarCase struct {
	text string
	wide bool
	want func(a, b uint64, scc uint64) (result, newSCC uint64)
}

func scalarCases() []scalarCase {
	low := func(v uint64) uint64 { return v & 0xffffffff }
	nonZero := func(v uint64) (uint64, uint64) { return v, ofBool(v != 0) }
	return []scalarCase{
		{"s_add_u32 s0, s2, s4", false, func(a, b, _ uint64) (uint64, uint64) { return low(a + b), (low(a) + low(b)) >> 32 }},
		{"s_addc_u32 s0, s2, s4", false, func(a, b, c uint64) (uint64, uint64) { return low(a + b + c), (low(a) + low(b) + c) >> 32 }},
		{"s_sub_u32 s0, s2, s4", false, func(a, b, _ uint64) (uint64, uint64) { return low(a - b), ofBool(low(a) < low(b)) }},
		{"s_subb_u32 s0, s2, s4", false, func(a, b, c uint64) (uint64, uint64) { return low(a - b - c), ofBool(low(a) < low(b)+c) }},
		{"s_add_i32 s0, s2, s4", false, func(a, b, _ uint64) (uint64, uint64) {
			sum := int64(int32(a)) + int64(int32(b))
			return low(uint64(sum)), ofBool(sum != int64(int32(sum)))
		}},
		{"s_mul_i32 s0, s2, s4", false, func(a, b, c uint64) (uint64, uint64) { return low(a * b), c }},
		{"s_mul_hi_u32 s0, s2, s4", false, func(a, b, c uint64) (uint64, uint64) { return low(a) * low(b) >> 32, c }},
		{"s_mul_hi_i32 s0, s2, s4", false, func(a, b, c uint64) (uint64, uint64) { return low(uint64(int64(int32(a)) * int64(int32(b)) >> 32)), c }},
		{"s_abs_i32 s0, s2", false, func(a, _, _ uint64) (uint64, uint64) {
			if int32(a) < 0 {
				a = -a
			}
			return nonZero(low(a))
		}},
		{"s_min_i32 s0, s2, s4", false, func(a, b, _ uint64) (uint64, uint64) {
			return low(uint64(min(int32(a), int32(b)))), ofBool(int32(a) < int32(b))
		}},
		{"s_and_b32 s0, s2, s4", false, func(a, b, _ uint64) (uint64, uint64) { return nonZero(low(a & b)) }},
		{"s_andn2_b64 s[0:1], s[2:3], s[4:5]", true, func(a, b, _ uint64) (uint64, uint64) { return nonZero(a &^ b) }},
		{"s_orn2_b64 s[0:1], s[2:3], s[4:5]", true, func(a, b, _ uint64) (uint64, uint64) { return nonZero(a | ^b) }},
		{"s_nor_b64 s[0:1], s[2:3], s[4:5]", true, func(a, b, _ uint64) (uint64, uint64) { return nonZero(^(a | b)) }},
		{"s_xor_b64 s[0:1], s[2:3], s[4:5]", true, func(a, b, _ uint64) (uint64, uint64) { return nonZero(a ^ b) }},
		{"s_not_b64 s[0:1], s[2:3]", true, func(a, _, _ uint64) (uint64, uint64) { return nonZero(^a) }},
		{"s_mov_b64 s[0:1], s[2:3]", true, func(a, _, c uint64) (uint64, uint64) { return a, c }},
		{"s_mov_b64 s[0:1], -1", true, func(_, _, c uint64) (uint64, uint64) { return ^uint64(0), c }},
		{"s_mov_b32 s0, 0xbd5c1c4e", false, func(_, _, c uint64) (uint64, uint64) { return 0xbd5c1c4e, c }},
		{"s_mov_b32 s0, 0.5", false, func(_, _, c uint64) (uint64, uint64) { return 0x3f000000, c }},
		{"s_movk_i32 s0, 0xff80", false, func(_, _, c uint64) (uint64, uint64) { return 0xffffff80, c }},
		{"s_cselect_b32 s0, s2, s4", false, func(a, b, c uint64) (uint64, uint64) { return low([]uint64{b, a}[c]), c }},
		{"s_cselect_b64 s[0:1], -1, 0", true, func(_, _, c uint64) (uint64, uint64) { return -c, c }},
		{"s_brev_b32 s0, s2", false, func(a, _, c uint64) (uint64, uint64) { return uint64(bits.Reverse32(uint32(a))), c }},
		{"s_lshl_b64 s[0:1], s[2:3], s4", true, func(a, b, _ uint64) (uint64, uint64) { return nonZero(a << (b & 63)) }},
		{"s_lshr_b32 s0, s2, s4", false, func(a, b, _ uint64) (uint64, uint64) { return nonZero(low(a) >> (b & 31)) }},
		{"s_ashr_i32 s0, s2, s4", false, func(a, b, _ uint64) (uint64, uint64) { return nonZero(low(uint64(int32(a) >> (b & 31)))) }},
		{"s_lshl3_add_u32 s0, s2, s4", false, func(a, b, _ uint64) (uint64, uint64) {
			return low(low(a)<<3 + low(b)), ofBool((low(a)<<3+low(b))>>32 != 0)
		}},
		{"s_bfe_u32 s0, s2, 0x70003", false, func(a, _, _ uint64) (uint64, uint64) { return nonZero(a >> 3 & 127) }},
		{"s_bfe_i32 s0, s2, 0x80008", false, func(a, _, _ uint64) (uint64, uint64) { return nonZero(low(uint64(int32(int8(a >> 8))))) }},
		{"s_bcnt1_i32_b64 s0, s[2:3]", false, func(a, _, _ uint64) (uint64, uint64) { return nonZero(uint64(bits.OnesCount64(a))) }},
		{"s_ff1_i32_b64 s0, s[2:3]", false, func(a, _, c uint64) (uint64, uint64) {
			if a == 0 {
				return 0xffffffff, c
			}
			return uint64(bits.TrailingZeros64(a)), c
		}},
		{"s_flbit_i32_b32 s0, s2", false, func(a, _, c uint64) (uint64, uint64) {
			if low(a) == 0 {
				return 0xffffffff, c
			}
			return uint64(bits.LeadingZeros32(uint32(a))), c
		}},
		{"s_sext_i32_i16 s0, s2", false, func(a, _, c uint64) (uint64, uint64) { return low(uint64(int16(a))), c }},
		{"s_pack_ll_b32_b16 s0, s2, s4", false, func(a, b, c uint64) (uint64, uint64) { return a&0xffff | b&0xffff<<16, c }},
		{"s_cmp_gt_i32 s2, s4", false, func(a, b, _ uint64) (uint64, uint64) { return 0, ofBool(int32(a) > int32(b)) }},
		{"s_cmp_ge_u32 s2, s4", false, func(a, b, _ uint64) (uint64, uint64) { return 0, ofBool(low(a) >= low(b)) }},
		{"s_cmp_lg_u64 s[2:3], s[4:5]", false, func(a, b, _ uint64) (uint64, uint64) { return 0, ofBool(a != b) }},
		{"s_cmpk_lt_i32 s2, 0xfff0", false, func(a, _, _ uint64) (uint64, uint64) { return 0, ofBool(int32(a) < -16) }},
		{"s_bitcmp1_b32 s2, 7", false, func(a, _, _ uint64) (uint64, uint64) { return 0, a >> 7 & 1 }},
	}
}

func TestScalarInstructions(t *testing.T) {
	r := start(t)
	random := rand.New(rand.NewSource(5))
	for _, c := range scalarCases() {
		r.wave(c.text)
		for i := range 40 {
			a, b := draw(random, u32)|draw(random, u32)<<32, draw(random, u32)|draw(random, u32)<<32
			if i%8 == 0 {
				b = a
			}
			scc := random.Uint64() & 1
			r.tell("wave")
			r.tell("set s0 0 0 %x %x %x %x", uint32(a), a>>32, uint32(b), b>>32)
			r.tell("set scc %x", scc)
			r.run()
			got := r.number("s0")
			if c.wide {
				got |= r.number("s1") << 32
			}
			want, wantSCC := c.want(a, b, scc)
			require.Equal(t, []uint64{want, wantSCC}, []uint64{got, r.number("scc")}, "%s of %x, %x, SCC %d", c.text, a, b, scc)
		}
	}
}

func TestSavingExec(t *testing.T) {
	r := start(t)
	const exec, source = 0xf0f0f0f0f0f0f0f0, 0xff00ff00ff00ff00
	for text, want := range map[string]uint64{
		"s_and_saveexec_b64":   exec & source,
		"s_or_saveexec_b64":    exec | source,
		"s_xor_saveexec_b64":   exec ^ source,
		"s_andn2_saveexec_b64": source &^ exec,
	} {
		r.wave(text + " s[2:3], s[2:3]") // the same registers: the source is read first
		r.tell("set exec %x", uint64(exec))
		r.tell("set s2 %x %x", uint32(source&0xffffffff), uint32(source>>32))
		r.run()
		require.Equal(t, want, r.number("exec"), text)
		require.Equal(t, uint64(exec), r.number("s2")|r.number("s3")<<32, text)
		require.Equal(t, uint64(1), r.number("scc"))
	}
}

// TestBranches counts in a loop, with every kind of branch once taken and once not.
func TestBranches(t *testing.T) {
	r := start(t)
	for _, c := range []struct{ name, set string }{
		{"scc0", "set scc 0"}, {"scc1", "set scc 1"}, {"vccz", "set vcc 0"}, {"vccnz", "set vcc 1"}, {"execz", "set exec 0"}, {"execnz", "set exec 8"},
	} {
		other := map[string]string{"scc0": "set scc 1", "scc1": "set scc 0", "vccz": "set vcc 1", "vccnz": "set vcc 0", "execz": "set exec 1", "execnz": "set exec 0"}[c.name]
		for set, want := range map[string]uint64{c.set: 1, other: 2} {
			r.wave("s_mov_b32 s0, 1", "s_cbranch_"+c.name+" 1", "s_mov_b32 s0, 2")
			r.tell("%s", set)
			r.run()
			require.Equal(t, want, r.number("s0"), "%s after %s", c.name, set)
		}
	}
	r.wave("s_mov_b32 s0, 0", "s_add_u32 s0, s0, 3", "s_cmp_lg_u32 s0, 30", "s_cbranch_scc1 65533") // -3
	r.run()
	require.Equal(t, uint64(30), r.number("s0"))
}

// TestRefusal: what is not known in every part is not run. The texts are such as a disassembler prints.
func TestRefusal(t *testing.T) {
	r := start(t)
	for text, reason := range map[string]string{
		"v_mfma_f32_32x32x1f32 a[0:31], v0, v1, a[0:31]":  "not known",
		"buffer_load_dword v0, v1, s[0:3], 0 offen":       "not known",
		"s_swappc_b64 s[30:31], s[4:5]":                   "not known",
		"v_add_f32_e64 v0, v1, v2 mul:2":                  "mul",
		"v_add_u32_e32 v0, v1":                            "too few",
		"v_add_u32_e32 v0, v1, v2, v3":                    "too many",
		"v_add_f64 v[0:1], v2, v[4:5]":                    "registers",
		"v_mul_lo_u32 v0, -v1, v2":                        "sign",
		"v_add_u32_e32 v0, 3.0, v2":                       "constant",
		"v_mad_u32_u24 v0, v1, v2, v3 clamp":              "clamp",
		"v_pk_add_f16 v0, v1, 1.0":                        "half",
		"v_fma_mix_f32 v0, v1, 1.0, v2 op_sel_hi:[1,1,0]": "half",
		"v_add_f32_sdwa v0, v1, v2 dst_sel:WORD_7 dst_unused:UNUSED_PAD src0_sel:DWORD src1_sel:DWORD": "dst_sel",
		"v_add_f32_dpp v0, v1, v2 row_spin:3 row_mask:0xf bank_mask:0xf":                               "row_spin",
		"v_add_f32_dpp v0, s1, v2 row_shl:1 row_mask:0xf bank_mask:0xf":                                "exchange",
		"global_load_dword v0, v[2:3], off offset:16 lds":                                              "lds",
		"global_load_dword v0, v2, off":                                                                "registers",
		"global_load_dwordx4 v[0:2], v[2:3], off":                                                      "registers",
		"s_load_dwordx4 s[4:7], s[0:1], vcc":                                                           "offset",
		"s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 4), 3":                                               "subnormal",
		"s_setreg_imm32_b32 hwreg(HW_REG_TRAPSTS, 4, 2), 3":                                            "subnormal",
		"s_cbranch_scc1 100":                           "leaves",
		"ds_swizzle_b32 v0, v1 offset:swizzle(SWAP,1)": "not known",
		"v_readlane_b32 v0, v1, 0":                     "result",
		"":                                             "not known",
	} {
		answer := r.program(text)
		require.True(t, strings.HasPrefix(answer, "refused ") && strings.Contains(answer, reason), "%s: %s", text, answer)
	}
	require.Equal(t, "ok", r.program("s_nop 0"))
}

// TestMangledText changes known texts at random: whatever comes out is refused or run, and the program survives.
func TestMangledText(t *testing.T) {
	r := start(t)
	random := rand.New(rand.NewSource(6))
	var texts []string
	for _, c := range vectorCases() {
		texts = append(texts, c.text)
	}
	for _, c := range scalarCases() {
		texts = append(texts, c.text)
	}
	texts = append(texts, "v_pk_fma_f32 v[0:1], v[22:23], s[10:11], v[16:17] op_sel:[0,0,1] op_sel_hi:[1,0,1] neg_lo:[1,0,0]",
		"v_add_f16_sdwa v5, v2, -|v5| dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE src0_sel:WORD_1 src1_sel:DWORD",
		"v_add_f32_dpp v0, v1, v2 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf bound_ctrl:0",
		"ds_read2_b32 v[6:7], v10 offset0:6 offset1:18", "s_load_dwordx4 s[4:7], s[0:1], 0x60")
	const alphabet = "vs[]0123456789:,.-|()x e_abcl\x00\xff"
	refused := 0
	for range 3000 {
		text := []byte(texts[random.Intn(len(texts))])
		for range 1 + random.Intn(3) {
			at := random.Intn(len(text))
			switch random.Intn(3) {
			case 0:
				text[at] = alphabet[random.Intn(len(alphabet))]
			case 1:
				text = append(text[:at], text[min(at+1+random.Intn(4), len(text)):]...)
			case 2:
				text = append(text[:at:at], append([]byte{alphabet[random.Intn(len(alphabet))]}, text[at:]...)...)
			}
			if len(text) == 0 {
				text = []byte(" ")
			}
		}
		if string(text) == "end" {
			continue
		}
		answer := r.program(string(text))
		if answer != "ok" {
			require.True(t, strings.HasPrefix(answer, "refused "), answer)
			refused++
		}
	}
	require.Greater(t, refused, 1000)
}
