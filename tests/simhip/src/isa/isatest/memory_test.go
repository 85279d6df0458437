package isatest

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand"
	"testing"

	"github.com/stretchr/testify/require"
)

func randomBytes(random *rand.Rand, count int) []byte {
	bytes := make([]byte, count)
	random.Read(bytes)
	return bytes
}

// TestLoadsAndStores copies within a buffer, each lane at its own place, through every width.
func TestLoadsAndStores(t *testing.T) {
	r := start(t)
	random := rand.New(rand.NewSource(9))
	const stride, displacement = 32, 24
	for _, c := range []struct {
		name, registers string
		store           string
		bytes           int
		want            func(b []byte) uint32 // of the first register
	}{
		{"ubyte", "v4", "byte", 1, func(b []byte) uint32 { return uint32(b[0]) }},
		{"sbyte", "v4", "byte", 1, func(b []byte) uint32 { return uint32(int32(int8(b[0]))) }},
		{"ushort", "v4", "short", 2, func(b []byte) uint32 { return uint32(binary.LittleEndian.Uint16(b)) }},
		{"sshort", "v4", "short", 2, func(b []byte) uint32 { return uint32(int32(int16(binary.LittleEndian.Uint16(b)))) }},
		{"short_d16", "v4", "short", 2, func(b []byte) uint32 { return 0xabcd0000 | uint32(binary.LittleEndian.Uint16(b)) }},
		{"short_d16_hi", "v4", "short_d16_hi", 2, func(b []byte) uint32 { return uint32(binary.LittleEndian.Uint16(b))<<16 | 0x1234 }},
		{"ubyte_d16_hi", "v4", "byte_d16_hi", 1, func(b []byte) uint32 { return uint32(b[0])<<16 | 0x1234 }},
		{"dword", "v4", "dword", 4, binary.LittleEndian.Uint32},
		{"dwordx2", "v[4:5]", "dwordx2", 8, binary.LittleEndian.Uint32},
		{"dwordx3", "v[4:6]", "dwordx3", 12, binary.LittleEndian.Uint32},
		{"dwordx4", "v[4:7]", "dwordx4", 16, binary.LittleEndian.Uint32},
	} {
		for _, form := range []struct{ prefix, load, store string }{
			{"global", "v0, s[0:1]", "v0, %s, s[2:3]"},
			{"global", "v[0:1], off", "v[2:3], %s, off"},
			{"flat", "v[0:1]", "v[2:3], %s"},
		} {
			source, result := r.buffer(lanes*stride), r.buffer(lanes*stride)
			content := randomBytes(random, lanes*stride)
			r.poke(source, content)
			blank := randomBytes(random, lanes*stride)
			r.poke(result, blank)
			exec := random.Uint64() | random.Uint64()
			r.wave(fmt.Sprintf("%s_load_%s %s, %s offset:%d", form.prefix, c.name, c.registers, form.load, displacement-16),
				fmt.Sprintf("%s_store_%s "+form.store+" offset:%d", form.prefix, c.store, c.registers, displacement-16))
			r.setAddress(0, source)
			r.setAddress(2, result)
			low, high, resultLow, resultHigh := make([]uint32, lanes), make([]uint32, lanes), make([]uint32, lanes), make([]uint32, lanes)
			for lane := range lanes {
				place := uint64(lane * stride)
				if form.load == "v0, s[0:1]" {
					low[lane] = uint32(place)
					continue
				}
				low[lane], high[lane] = uint32(source+place), uint32((source+place)>>32)
				resultLow[lane], resultHigh[lane] = uint32(result+place), uint32((result+place)>>32)
			}
			r.setLanes(0, low)
			r.setLanes(1, high)
			r.setLanes(2, resultLow)
			r.setLanes(3, resultHigh)
			r.tell("set v4 abcd1234")
			r.tell("set exec %x", exec)
			r.run()
			got, registers := r.peek(result, lanes*stride), r.lanes(4)
			for lane := range lanes {
				at := lane*stride + displacement - 16
				if exec>>lane&1 != 0 {
					copy(blank[at:at+c.bytes], content[at:at+c.bytes])
					require.Equal(t, c.want(content[at:]), registers[lane], "%s_load_%s", form.prefix, c.name)
				}
			}
			require.Equal(t, blank, got, "%s %s", form.prefix, c.name)
		}
	}
}

// TestAccessOutside: one byte beyond either end of a buffer, by each kind of access, and its twin at the end, which is none.
func TestAccessOutside(t *testing.T) {
	r := start(t)
	const size = 4096 + 20
	buffer := r.buffer(size)
	for _, c := range []struct {
		text   string
		scalar bool
		bytes  int
	}{
		{"global_load_dword v4, v[0:1], off", false, 4},
		{"global_load_dwordx4 v[4:7], v[0:1], off", false, 16},
		{"global_store_byte v[0:1], v4, off", false, 1},
		{"flat_store_dwordx2 v[0:1], v[4:5]", false, 8},
		{"global_atomic_add v[0:1], v4, off", false, 4},
		{"s_load_dwordx2 s[4:5], s[0:1], 0x0", true, 8},
	} {
		for place, fits := range map[int]bool{0: true, size - c.bytes: true, -4: false, size - c.bytes + 4: false, 1 << 20: false} {
			address := uint64(int64(buffer) + int64(place))
			r.wave(c.text)
			r.setAddress(0, address)
			low, high := make([]uint32, lanes), make([]uint32, lanes)
			for lane := range lanes {
				low[lane], high[lane] = uint32(buffer), uint32(buffer>>32)
			}
			low[37], high[37] = uint32(address), uint32(address>>32)
			r.setLanes(0, low)
			r.setLanes(1, high)
			answer := r.ask("run")
			if fits {
				require.Equal(t, "ended", answer, "%s at %d", c.text, place)
				continue
			}
			require.Contains(t, answer, "fault", "%s at %d", c.text, place)
			require.Contains(t, answer, fmt.Sprintf("%#x", address))
			if !c.scalar {
				require.Contains(t, answer, "lane 37")
				r.tell("wave") // the same, but that lane is not active
				r.setLanes(0, low)
				r.setLanes(1, high)
				r.tell("set exec %x", ^uint64(1<<37))
				require.Equal(t, "ended", r.ask("run"))
			}
		}
	}
	r.wave("global_store_dword v[0:1], v4, off") // as a program that never had a pointer would
	require.Contains(t, r.ask("run"), "fault")
}

func TestAtomics(t *testing.T) {
	r := start(t)
	for _, c := range []struct {
		text      string
		old, data uint64
		want      uint64
		bytes     int
	}{
		{"add v2, v[0:1], v[4:5], off sc0", 5, 7, 12, 4},
		{"sub v2, v[0:1], v[4:5], off sc0", 5, 7, 0xfffffffe, 4},
		{"swap v2, v[0:1], v[4:5], off sc0", 5, 7, 7, 4},
		{"smax v2, v[0:1], v[4:5], off sc0", 0xffffffff, 7, 7, 4},
		{"umax v2, v[0:1], v[4:5], off sc0", 0xffffffff, 7, 0xffffffff, 4},
		{"inc v2, v[0:1], v[4:5], off sc0", 7, 7, 0, 4},
		{"dec v2, v[0:1], v[4:5], off sc0", 0, 7, 7, 4},
		{"add_f32 v2, v[0:1], v[4:5], off sc0", ofSingle(1.5), ofSingle(2), ofSingle(3.5), 4},
		{"add_x2 v[2:3], v[0:1], v[4:5], off sc0", 0xffffffff, 1, 1 << 32, 8},
		{"add_f64 v[2:3], v[0:1], v[4:5], off sc0", ofDouble(1e300), ofDouble(1e299), ofDouble(1e300 + 1e299), 8},
		{"cmpswap v2, v[0:1], v[4:5], off sc0", 5, 9 | 5<<32, 9, 4},
		{"cmpswap v2, v[0:1], v[4:5], off sc0", 6, 9 | 5<<32, 6, 4},
	} {
		var name string
		_, err := fmt.Sscan(c.text, &name)
		require.NoError(t, err)
		text := "global_atomic_" + c.text
		if c.bytes == 4 && name != "cmpswap" {
			text = "global_atomic_" + name + " v2, v[0:1], v4, off sc0"
		}
		buffer := r.buffer(8)
		r.poke(buffer, binary.LittleEndian.AppendUint64(nil, c.old))
		r.wave(text)
		r.tell("set v0 %x", uint32(buffer))
		r.tell("set v1 %x", buffer>>32)
		r.tell("set v4 %x", uint32(c.data))
		r.tell("set v5 %x", c.data>>32)
		r.tell("set exec 400")
		r.run()
		require.Equal(t, c.want, binary.LittleEndian.Uint64(r.peek(buffer, 8)), text)
		require.Equal(t, uint32(c.old), r.lanes(2)[10], text)
	}
	buffer := r.buffer(8)
	r.wave("global_atomic_add v[0:1], v4, off")
	r.tell("set v0 %x", uint32(buffer)+2)
	r.tell("set v1 %x", buffer>>32)
	require.Contains(t, r.ask("run"), "misaligned")
}

func TestLDSAndScratch(t *testing.T) {
	r := start(t)
	random := rand.New(rand.NewSource(10))
	values, addresses := drawLanes(random), make([]uint32, lanes)
	for i := range addresses {
		addresses[i] = uint32(8 * i)
	}
	r.wave("ds_write_b32 v0, v1 offset:4", "ds_write_b16 v0, v1", "ds_read2_b32 v[2:3], v0 offset1:1", "ds_read_i8 v4, v0 offset:4",
		"ds_add_rtn_u32 v5, v0, v1 offset:4", "ds_read_b64 v[6:7], v0", "ds_write2_b32 v0, v1, v1 offset0:0 offset1:1", "ds_read_u16_d16_hi v8, v0",
		"scratch_store_dword off, v1, off offset:4", "scratch_load_dword v9, v10, off offset:-4", "scratch_load_ubyte v11, off, s0")
	r.tell("lds 200")
	r.tell("scratch 8")
	r.setLanes(0, addresses)
	r.setLanes(1, values)
	r.tell("set v10 8")
	r.tell("set s0 5")
	r.run()
	for i, v := range values {
		require.Equal(t, 0xffff0000|v&0xffff, r.lanes(2)[i])
		require.Equal(t, v, r.lanes(3)[i])
		require.Equal(t, uint32(int32(int8(v))), r.lanes(4)[i])
		require.Equal(t, v, r.lanes(5)[i])
		require.Equal(t, 2*v, r.lanes(7)[i])
		require.Equal(t, v<<16|0xffff, r.lanes(8)[i])
		require.Equal(t, v, r.lanes(9)[i])
		require.Equal(t, v>>8&255, r.lanes(11)[i])
		if i == 5 {
			break // the rest is the same; asking for it takes time
		}
	}
	for text, what := range map[string]string{
		"ds_read_b32 v0, v1 offset:509":             "bytes of LDS",
		"ds_write_b64 v1, v[2:3] offset:508":        "bytes of LDS",
		"scratch_load_dword v0, off, off offset:5":  "bytes of scratch",
		"scratch_store_byte off, v0, off offset:-1": "bytes of scratch",
		"flat_load_dword v0, v[2:3] offset:509":     "bytes of LDS",
		"flat_store_dword v[4:5], v0 offset:5":      "bytes of scratch",
	} {
		r.wave(text)
		r.tell("lds 200")
		r.tell("scratch 8")
		r.tell("set v1 0")
		r.tell("set v2 0")
		r.tell("set v3 10000") // the aperture of LDS
		r.tell("set v4 0")
		r.tell("set v5 20000") // and of scratch
		answer := r.ask("run")
		require.Contains(t, answer, what, text)
	}
	r.wave("s_mov_b64 s[2:3], src_shared_base", "v_mov_b32_e32 v2, 16", "v_mov_b32_e32 v3, s3", "v_mov_b32_e32 v4, 2.0", "flat_store_dword v[2:3], v4", "ds_read_b32 v0, v2")
	r.tell("lds 200")
	r.run()
	require.Equal(t, math.Float32bits(2), r.lanes(0)[0])
}
