package isatest

import (
	"math"
	"math/rand"
	"testing"

	"github.com/stretchr/testify/require"
)

// drawLanes is a register of random numbers.
func drawLanes(random *rand.Rand) []uint32 {
	values := make([]uint32, lanes)
	for i := range values {
		values[i] = random.Uint32()
	}
	return values
}

// TestExchange moves lanes by each pattern; -1 is a lane that does not exist.
func TestExchange(t *testing.T) {
	r := start(t)
	random := rand.New(rand.NewSource(7))
	for pattern, from := range map[string]func(lane int) int{
		"quad_perm:[3,0,2,1]": func(l int) int { return l&^3 + []int{3, 0, 2, 1}[l&3] },
		"row_shl:3": func(l int) int {
			if l%16+3 > 15 {
				return -1
			}
			return l + 3
		},
		"row_shr:5": func(l int) int {
			if l%16 < 5 {
				return -1
			}
			return l - 5
		},
		"row_ror:4":       func(l int) int { return l&^15 + (l+12)%16 },
		"row_mirror":      func(l int) int { return l ^ 15 },
		"row_half_mirror": func(l int) int { return l ^ 7 },
		"row_newbcast:9":  func(l int) int { return l&^15 + 9 },
		"wave_shr:1":      func(l int) int { return l - 1 },
		"wave_rol:1":      func(l int) int { return (l + 1) % 64 },
		"row_bcast:15":    func(l int) int { return l&^15 - 1 },
		"row_bcast:31": func(l int) int {
			if l < 32 {
				return -1
			}
			return 31
		},
	} {
		for _, bound := range []string{"", " bound_ctrl:1"} {
			exec := random.Uint64() | random.Uint64()
			data := drawLanes(random)
			r.wave("v_mov_b32_dpp v1, v0 " + pattern + " row_mask:0xd bank_mask:0xb" + bound)
			r.tell("set exec %x", exec)
			r.setLanes(0, data)
			r.tell("set v1 12345678")
			r.run()
			for lane, got := range r.lanes(1) {
				source, want := from(lane), uint32(0x12345678)
				there := source >= 0 && exec>>source&1 != 0
				enabled := exec>>lane&1 != 0 && 0xd>>(lane/16)&1 != 0 && 0xb>>(lane%16/4)&1 != 0
				if enabled && there {
					want = data[source]
				} else if enabled && bound != "" {
					want = 0
				}
				require.Equal(t, want, got, "%s%s lane %d, EXEC %x", pattern, bound, lane, exec)
			}
		}
	}
}

func TestPartsOfRegisters(t *testing.T) {
	r := start(t)
	const a, b, old = 0x8899aabb, 0x11f2d3c4, 0x01020304
	for _, c := range []struct {
		text string
		want uint32
	}{
		{"v_add_u32_sdwa v0, v2, v4 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:WORD_1 src1_sel:BYTE_2", 0x8899 + 0xf2},
		{"v_add_u32_sdwa v0, sext(v2), v4 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_0 src1_sel:WORD_0", 0xffffffbb - 0xffffffff + 0xd3c4 - 1},
		{"v_mov_b32_sdwa v0, v2 dst_sel:BYTE_1 dst_unused:UNUSED_PAD src0_sel:BYTE_3", 0x00008800},
		{"v_mov_b32_sdwa v0, v2 dst_sel:BYTE_1 dst_unused:UNUSED_SEXT src0_sel:BYTE_3", 0xffff8800},
		{"v_mov_b32_sdwa v0, v2 dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE src0_sel:WORD_0", 0xaabb0304},
		{"v_mov_b32_sdwa v0, v2 dst_sel:WORD_0 dst_unused:UNUSED_PRESERVE src0_sel:WORD_1", 0x01028899},
		{"v_add_u16_e32 v0, v2, v4", (0xaabb + 0xd3c4) & 0xffff},                            // clears the other half
		{"v_mad_u16 v0, v2, 2, v4", 0x01020000 | (0xaabb*2+0xd3c4)&0xffff},                  // leaves it
		{"v_mad_u16 v0, v2, 2, v4 op_sel:[1,0,0,1]", 0x0304 | (0x8899*2+0xd3c4)&0xffff<<16}, // takes and writes the upper
		{"v_pack_b32_f16 v0, v2, v4 op_sel:[1,0,0]", 0xd3c48899},
	} {
		r.wave(c.text)
		r.tell("set v0 %x", old)
		r.tell("set v2 %x", uint32(a))
		r.tell("set v4 %x", uint32(b))
		r.run()
		require.Equal(t, c.want, r.lanes(0)[5], c.text)
	}
	r.wave("v_cmp_gt_f16_sdwa s[0:1], v2, v4 src0_sel:WORD_1 src1_sel:DWORD")
	r.tell("set v2 40003c00")
	r.tell("set v4 3e00")
	r.run()
	require.Equal(t, uint64(0xffffffff), r.number("s0"))
}

func TestPackedInstructions(t *testing.T) {
	r := start(t)
	f := func(v float32) uint32 { return math.Float32bits(v) }
	r.wave("v_pk_fma_f32 v[0:1], v[2:3], s[0:1], v[4:5] op_sel:[0,0,1] op_sel_hi:[1,0,0] neg_lo:[1,0,0]",
		"v_pk_mul_f32 v[6:7], v[2:3], 2.0 op_sel_hi:[1,0]", "v_pk_mov_b32 v[8:9], v[2:3], v[4:5] op_sel:[1,0]",
		"v_pk_add_f16 v10, v12, v13 op_sel:[1,0] op_sel_hi:[0,1] neg_hi:[0,1]", "v_pk_max_f16 v11, v12, 0",
		"v_pk_mad_u16 v14, v12, v13, v12", "v_pk_sub_u16 v15, v12, v13 clamp")
	for register, value := range map[int]uint32{2: f(3), 3: f(5), 4: f(10), 5: f(20), 12: 0xc0003c00, 13: 0x44004200} {
		r.tell("set v%d %x", register, value)
	}
	r.tell("set s0 %x %x", f(2), f(7))
	r.run()
	lane := func(register int) uint32 { return r.lanes(register)[9] }
	require.Equal(t, []uint32{f(-3*2 + 20), f(5*2 + 10)}, []uint32{lane(0), lane(1)})
	require.Equal(t, []uint32{f(6), f(10)}, []uint32{lane(6), lane(7)})
	require.Equal(t, []uint32{f(5), f(10)}, []uint32{lane(8), lane(9)})
	require.Equal(t, uint32(0xc2003c00), lane(10), "-2 + 3 and 1 - 4")
	require.Equal(t, uint32(0x00003c00), lane(11))
	mad := func(a, b uint32) uint32 { return (a*b + a) & 0xffff }
	require.Equal(t, mad(0xc000, 0x4400)<<16|mad(0x3c00, 0x4200), lane(14))
	require.Equal(t, uint32(0xc000-0x4400)<<16, lane(15), "the lower saturates")

	r.wave("v_fma_mix_f32 v0, -v2, v3, v4 op_sel:[1,0,0] op_sel_hi:[1,0,0]", "v_fma_mixlo_f16 v1, v3, v3, 0", "v_fma_mixhi_f16 v5, |v6|, v3, 0 op_sel_hi:[1,0,0]")
	for register, value := range map[int]uint32{1: 0xabcdabcd, 2: 0x42000000, 3: f(1.5), 4: f(0.25), 5: 0xabcdabcd, 6: 0x0000c000} {
		r.tell("set v%d %x", register, value)
	}
	r.run()
	require.Equal(t, []uint32{f(-3*1.5 + 0.25), 0xabcd0000 | uint32(halfOf(2.25)), uint32(halfOf(3))<<16 | 0xabcd}, []uint32{lane(0), lane(1), lane(5)})
}

func TestAcrossLanes(t *testing.T) {
	r := start(t)
	random := rand.New(rand.NewSource(8))
	data, addresses := drawLanes(random), drawLanes(random)
	for i := range addresses {
		addresses[i] &= 0xff
	}
	const exec = 0x0ffffffffffffff0
	r.wave("v_readfirstlane_b32 s0, v0", "v_readlane_b32 s1, v0, 63", "v_readlane_b32 s2, v0, s3", "v_writelane_b32 v4, s0, 2",
		"v_mbcnt_lo_u32_b32 v2, -1, 0", "v_mbcnt_hi_u32_b32 v2, -1, v2", "ds_bpermute_b32 v3, v1, v0", "v_mov_b32_e32 v5, v0", "v_swap_b32 v5, v1")
	r.setLanes(0, data)
	r.setLanes(1, addresses)
	r.tell("set v3 77")
	r.tell("set v4 88")
	r.tell("set s3 45") // 69: lane 5
	r.tell("set exec %x", uint64(exec))
	r.run()
	require.Equal(t, []uint64{uint64(data[4]), uint64(data[63]), uint64(data[5])}, []uint64{r.number("s0"), r.number("s1"), r.number("s2")})
	written := r.lanes(4)
	require.Equal(t, data[4], written[2], "though the lane is not active")
	require.Equal(t, uint32(0x88), written[3])
	counts, permuted := r.lanes(2), r.lanes(3)
	for lane := range lanes {
		if exec>>lane&1 == 0 {
			require.Equal(t, uint32(0x77), permuted[lane])
			continue
		}
		require.Equal(t, uint32(lane), counts[lane])
		want := uint32(0)
		if from := addresses[lane] / 4; exec>>from&1 != 0 {
			want = data[from]
		}
		require.Equal(t, want, permuted[lane])
	}
	require.Equal(t, addresses[10], r.lanes(5)[10])
	require.Equal(t, data[10], r.lanes(1)[10])
}
