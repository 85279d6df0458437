package isatest

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The second word of the descriptor's resources: four user registers, ids of the work-group in all directions and of the work-item; and the
// properties: dispatch packet and arguments.
const resources, properties = 4<<1 | 7<<7 | 2<<11, 2 | 8

type grid struct{ items, block [3]int }

// launch runs the program over a grid with a pointer to a buffer and hidden arguments, by so many threads.
func (r *runner) launch(g grid, lds, threads int, arguments ...string) string {
	r.t.Helper()
	return r.ask("launch %x %x %x %x %x %x %x %x %x %x %s", resources, properties, g.items[0], g.items[1], g.items[2], g.block[0], g.block[1], g.block[2], lds, threads,
		strings.Join(arguments, " "))
}

// TestWorkItems has each work-item write its own ids at its place, for grids with partial groups: those that are not there must write nothing.
func TestWorkItems(t *testing.T) {
	r := start(t)
	for _, g := range []grid{
		{[3]int{64, 1, 1}, [3]int{64, 1, 1}}, {[3]int{105, 1, 1}, [3]int{256, 1, 1}}, {[3]int{1000, 1, 1}, [3]int{256, 1, 1}},
		{[3]int{20, 9, 5}, [3]int{8, 4, 2}}, {[3]int{3, 300, 2}, [3]int{1, 256, 1}},
	} {
		items := g.items[0] * g.items[1] * g.items[2]
		buffer := r.buffer(items * 8)
		require.Equal(t, "ok", r.program(
			"s_load_dwordx2 s[8:9], s[2:3], 0x0",
			"s_load_dwordx2 s[12:13], s[2:3], 0x8",
			"s_load_dwordx2 s[14:15], s[2:3], 0x10", // group sizes x and y, z and nothing
			"s_and_b32 s16, s14, 0xffff", "s_lshr_b32 s17, s14, 16", "s_and_b32 s18, s15, 0xffff",
			"s_mul_i32 s16, s16, s4", "s_mul_i32 s17, s17, s5", "s_mul_i32 s18, s18, s6",
			"v_and_b32_e32 v1, 0x3ff, v0", "v_bfe_u32 v2, v0, 10, 10", "v_lshrrev_b32_e32 v3, 20, v0",
			"v_add_u32_e32 v1, s16, v1", "v_add_u32_e32 v2, s17, v2", "v_add_u32_e32 v3, s18, v3",
			"v_mul_lo_u32 v4, v3, s13", "v_add_u32_e32 v4, v4, v2", "v_mul_lo_u32 v4, v4, s12", "v_add_u32_e32 v4, v4, v1",
			"v_lshlrev_b32_e32 v4, 3, v4",
			"s_lshl_b32 s19, s5, 8", "s_lshl_b32 s20, s6, 16", "s_or_b32 s19, s19, s20", "s_or_b32 s19, s19, s4",
			"v_mov_b32_e32 v5, v0", "v_mov_b32_e32 v6, s19",
			"global_store_dwordx2 v4, v[5:6], s[8:9]"))
		require.Equal(t, "ok", r.launch(g, 0, 2, fmt.Sprintf("%x:0:8", buffer), fmt.Sprintf("%x:8:4", g.items[0]), fmt.Sprintf("%x:c:4", g.items[1]),
			"hidden_group_size_x:10:2", "hidden_group_size_y:12:2", "hidden_group_size_z:14:2"))
		got := r.peek(buffer, items*8)
		for i := range items {
			x, y, z := i%g.items[0], i/g.items[0]%g.items[1], i/g.items[0]/g.items[1]
			item := x%g.block[0] | y%g.block[1]<<10 | z%g.block[2]<<20
			group := x/g.block[0] | y/g.block[1]<<8 | z/g.block[2]<<16
			require.Equal(t, []uint32{uint32(item), uint32(group)}, []uint32{binary.LittleEndian.Uint32(got[8*i:]), binary.LittleEndian.Uint32(got[8*i+4:])},
				"%v, work-item %d,%d,%d", g, x, y, z)
		}
	}
}

func TestHiddenArguments(t *testing.T) {
	r := start(t)
	buffer := r.buffer(64 + 64)
	require.Equal(t, "ok", r.program("s_load_dwordx2 s[8:9], s[2:3], 0x0", "s_load_dwordx8 s[12:19], s[2:3], 0x8", "s_load_dwordx16 s[20:35], s[0:1], 0x0",
		"v_cmp_eq_u32_e32 vcc, 0, v0", "s_and_b64 exec, exec, vcc",
		"v_mov_b32_e32 v4, s12", "v_mov_b32_e32 v5, s13", "v_mov_b32_e32 v6, s14", "v_mov_b32_e32 v7, s15",
		"v_mov_b32_e32 v8, s16", "v_mov_b32_e32 v9, s17", "v_mov_b32_e32 v10, s18", "v_mov_b32_e32 v11, s19",
		"v_mov_b32_e32 v12, s21", "v_mov_b32_e32 v13, s22", "v_mov_b32_e32 v14, s23", "v_mov_b32_e32 v15, s24",
		"v_mov_b32_e32 v1, 0", "global_store_dwordx4 v1, v[4:7], s[8:9]", "global_store_dwordx4 v1, v[8:11], s[8:9] offset:16",
		"global_store_dwordx4 v1, v[12:15], s[8:9] offset:32"))
	g := grid{[3]int{1, 600, 5}, [3]int{1, 256, 2}}
	require.Equal(t, "ok", r.launch(g, 0x40, 1, fmt.Sprintf("%x:0:8", buffer), "hidden_block_count_x:8:4", "hidden_block_count_y:c:4", "hidden_block_count_z:10:4",
		"hidden_remainder_x:14:2", "hidden_remainder_y:16:2", "hidden_remainder_z:18:2", "hidden_grid_dims:1a:2", "hidden_global_offset_x:20:8"))
	var words []uint32
	for b := r.peek(buffer, 48); len(b) > 0; b = b[4:] {
		words = append(words, binary.LittleEndian.Uint32(b))
	}
	require.Equal(t, []uint32{1, 2, 2, 88 << 16, 1 | 3<<16}, words[:5], "whole groups, remainders, dimensions")
	require.Equal(t, []uint32{0, 0}, words[6:8], "offset")
	require.Equal(t, []uint32{1 | 256<<16, 2, 1, 600}, words[8:12], "the packet's sizes of group and grid")
}

// TestBarrier sums a group's work-item numbers through LDS: the waves must wait for each other.
func TestBarrier(t *testing.T) {
	r := start(t)
	sum := []string{
		"s_load_dwordx2 s[8:9], s[2:3], 0x0", "v_lshlrev_b32_e32 v1, 2, v0", "ds_write_b32 v1, v0", "s_waitcnt lgkmcnt(0)", "s_barrier",
		"v_mov_b32_e32 v2, 0", "v_mov_b32_e32 v3, 0", "s_mov_b32 s10, 0x100",
		"ds_read_b32 v4, v3", "v_add_u32_e32 v2, v2, v4", "v_add_u32_e32 v3, 4, v3", "s_sub_u32 s10, s10, 1", "s_cmp_lg_u32 s10, 0", "s_cbranch_scc1 65530",
		"s_lshl_b32 s4, s4, 10", "v_add_u32_e32 v1, s4, v1", "global_store_dword v1, v2, s[8:9]",
	}
	buffer := r.buffer(7 * 1024)
	run := func(lines []string) map[uint32]int {
		require.Equal(t, "ok", r.program(lines...))
		require.Equal(t, "ok", r.launch(grid{[3]int{7 * 256, 1, 1}, [3]int{256, 1, 1}}, 1024, 2, fmt.Sprintf("%x:0:8", buffer)))
		results := map[uint32]int{}
		for b := r.peek(buffer, 7*1024); len(b) > 0; b = b[4:] {
			results[binary.LittleEndian.Uint32(b)]++
		}
		return results
	}
	require.Equal(t, map[uint32]int{255 * 256 / 2: 7 * 256}, run(sum))
	sum[4] = "s_nop 0" // the control: without the barrier the first waves see what nobody has written yet
	require.NotEqual(t, map[uint32]int{255 * 256 / 2: 7 * 256}, run(sum))
}

func TestFaultOfALaunch(t *testing.T) {
	r := start(t)
	buffer := r.buffer(4 * 1000)
	require.Equal(t, "ok", r.program("s_load_dwordx2 s[8:9], s[2:3], 0x0", "s_lshl_b32 s4, s4, 6", "v_add_u32_e32 v0, s4, v0", "v_lshlrev_b32_e32 v0, 2, v0",
		"global_store_dword v0, v0, s[8:9]"))
	argument := fmt.Sprintf("%x:0:8", buffer)
	require.Equal(t, "ok", r.launch(grid{[3]int{1000, 1, 1}, [3]int{64, 1, 1}}, 0, 2, argument))
	answer := r.launch(grid{[3]int{1001, 1, 1}, [3]int{64, 1, 1}}, 0, 2, argument)
	require.Contains(t, answer, fmt.Sprintf("kernel test at 0x10, work-group 15,0,0, 'global_store_dword v0, v0, s[8:9]': lane 40 writes 4 bytes at %#x", buffer+4000))

	// Arguments may be read and not written.
	require.Equal(t, "ok", r.program("v_mov_b32_e32 v0, 0", "global_store_dword v0, v0, s[2:3]"))
	require.Contains(t, r.launch(grid{[3]int{1, 1, 1}, [3]int{64, 1, 1}}, 0, 1, argument), "writes")
}

func TestDescriptorsThatAreRefused(t *testing.T) {
	r := start(t)
	require.Equal(t, "ok", r.program("s_nop 0"))
	one := "1 1 1 1 1 1 0 1"
	require.Equal(t, "ok", r.ask("launch %x %x %s", resources, properties, one))
	for _, bit := range []int{0, 2, 5, 6, 10, 11} {
		require.Contains(t, r.ask("launch %x %x %s", resources, properties|1<<bit, one), "refused", bit)
	}
	require.Contains(t, r.ask("launch %x %x %s", resources|1<<10, properties, one), "refused")
	for _, bit := range []int{12, 14, 20, 26} {
		r.tell("mode %x", 1<<bit)
		require.Contains(t, r.ask("launch %x %x %s", resources, properties, one), "refused", bit)
	}
	r.tell("mode f0000")
	require.Equal(t, "ok", r.ask("launch %x %x %s", resources, properties, one))
}

// BenchmarkLanes reports lane-instructions per second of one core, over a mix as in real kernels.
func BenchmarkLanes(b *testing.B) {
	r := start(b)
	body := []string{"v_add_f32_e32 v0, v0, v1", "v_fma_f32 v2, v0, v1, v3", "v_add_u32_e32 v4, v5, v6", "v_cmp_lt_f32_e32 vcc, v0, v1", "v_cndmask_b32_e32 v3, v4, v5, vcc",
		"v_lshl_add_u64 v[8:9], v[10:11], 0, v[8:9]", "v_pk_mul_f32 v[12:13], v[10:11], v[12:13]", "v_exp_f32_e32 v7, v1"}
	const rounds = 10000
	lines := append([]string{fmt.Sprintf("s_mov_b32 s0, %#x", rounds)}, body...)
	lines = append(lines, "s_sub_u32 s0, s0, 1", "s_cmp_lg_u32 s0, 0", fmt.Sprintf("s_cbranch_scc1 %d", 65536-len(body)-3))
	begin := time.Now()
	for range b.N {
		r.wave(lines...)
		for register := range 14 {
			r.tell("set v%d 3f800000", register)
		}
		r.run()
	}
	b.ReportMetric(float64(b.N)*rounds*float64(len(body)*lanes)/time.Since(begin).Seconds()/1e6, "Mlanes/s")
}
