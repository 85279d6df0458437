package verify

import (
	"bytes"
	"debug/elf"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestUnreadable gives files that are no ELF64 little-endian x86-64 shared objects, on both sides.
func TestUnreadable(t *testing.T) {
	good := compile(t, "-Wl,--hash-style=gnu")
	im := open(t, good)
	p := patch{t: t, im: im}
	dir := t.TempDir()
	path := filepath.Join(dir, "good.so")
	require.NoError(t, os.WriteFile(path, good, 0o644))

	for _, c := range []struct {
		name      string
		spoil     func(patch) []byte
		structure string
		offset    uint64
	}{
		{"empty", func(patch) []byte { return nil }, "ELF header", 0},
		{"truncated header", func(p patch) []byte { return p.b[:40] }, "ELF header", 0},
		{"no magic number", func(p patch) []byte { p.flip(0); return p.b }, "ELF header", 0},
		{"32 bits", func(p patch) []byte { p.b[4] = 1; return p.b }, "ELF header", 4},
		{"big-endian", func(p patch) []byte { p.b[5] = 2; return p.b }, "ELF header", 5},
		{"executable", func(p patch) []byte { p.b[16] = 2; return p.b }, "ELF header", 16},
		{"another machine", func(p patch) []byte { p.b[18] = 0xb7; return p.b }, "ELF header", 18},
		{"program headers of another size", func(p patch) []byte { p.b[54]++; return p.b }, "ELF header", 54},
		{"program headers past the end", func(p patch) []byte { p.u64(32, set(^uint64(0)-8)); return p.b }, "program header table", ^uint64(0) - 8},
		{"no program headers", func(p patch) []byte { p.u16(56, set[uint16](0)); return p.b }, "program header table", 64},
		{"no PT_DYNAMIC", func(p patch) []byte { p.u32(p.prog(elf.PT_DYNAMIC), set[uint32](0)); return p.b }, "program header table", 64},
		{"truncated in the last PT_LOAD", func(p patch) []byte { return p.b[:im.progs[im.last].Off+8] }, "program header table", p.lastLoad()},
		{"no DT_NULL", func(p patch) []byte {
			for off := im.dynSpan.off; off < im.dynSpan.end(); off += dynSize {
				p.u64(off, func(v uint64) uint64 { return max(v, uint64(elf.DT_DEBUG)) })
			}
			return p.b
		}, "dynamic section", im.dynSpan.off},
		{"no DT_STRTAB", func(p patch) []byte { p.u64(p.dyn(elf.DT_STRTAB), set(uint64(elf.DT_DEBUG))); return p.b }, "dynamic section", im.dynSpan.off},
		{"huge string table", func(p patch) []byte { p.u64(p.dyn(elf.DT_STRSZ)+8, set(uint64(1)<<62)); return p.b }, "dynamic string table (DT_STRTAB)", 0},
		{"symbols outside all segments", func(p patch) []byte { p.u64(p.dyn(elf.DT_SYMTAB)+8, set(^uint64(0))); return p.b }, "dynamic symbol table (DT_SYMTAB)", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			bad := filepath.Join(t.TempDir(), "bad.so")
			require.NoError(t, os.WriteFile(bad, c.spoil(patch{t: t, im: im, b: slices.Clone(good)}), 0o644))
			for _, pair := range [][2]string{{bad, path}, {path, bad}} {
				_, err := Files(pair[0], pair[1], Expect{})
				var read *ReadError
				require.ErrorAs(t, err, &read)
				require.Equal(t, bad, read.File)
				require.Equal(t, c.structure, read.Structure)
				require.Equal(t, c.offset, read.Offset)
				require.ErrorContains(t, err, bad)
			}
		})
	}

	t.Run("missing", func(t *testing.T) {
		_, err := Files(path, filepath.Join(dir, "none.so"), Expect{})
		require.ErrorIs(t, err, fs.ErrNotExist)
	})
	t.Run("a folder", func(t *testing.T) {
		_, err := Files(dir, path, Expect{})
		require.ErrorContains(t, err, "not a regular file")
	})
	t.Run("a pipe that nobody writes to", func(t *testing.T) {
		pipe := filepath.Join(dir, "pipe")
		require.NoError(t, syscall.Mkfifo(pipe, 0o600))
		_, err := Files(path, pipe, Expect{})
		require.ErrorContains(t, err, "not a regular file")
	})
}

// check compares two hostile files, and fails when that takes more than such small files can justify.
func check(t testing.TB, stock, edited []byte, want Expect) (Report, error) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := time.Now()
	r, err := verifyBytes(stock, edited, want)
	took := time.Since(start)
	runtime.ReadMemStats(&after)
	require.Less(t, took, 20*time.Second)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(64<<20))
	if err != nil {
		var read *ReadError
		require.True(t, errors.As(err, &read), "%T: %v", err, err)
	}
	return r, err
}

// TestTruncated cuts either file at many places.
func TestTruncated(t *testing.T) {
	stock := compile(t, "-Wl,--hash-style=both", "-g")
	want := everything()
	edited := edit(t, stock, want, editOptions{moveDynamic: true})
	for _, whole := range [][]byte{stock, edited} {
		for n := 0; n < len(whole); n += 1 + n/16 + len(whole)/200 {
			a, b := stock, whole[:n]
			if &whole[0] == &stock[0] {
				a, b = whole[:n], edited
			}
			r, err := check(t, a, b, want)
			require.False(t, err == nil && r.Clean(), "cut at %d of %d", n, len(whole))
		}
	}
}

// extremes are the values that break arithmetic.
var extremes = []uint64{0, 1, 2, 8, 0x7f, 0xff, 0xffff, 0x7fffffff, 0xffffffff, 1 << 32, 1 << 40, 1<<63 - 1, 1 << 63, ^uint64(0), ^uint64(7)}

// corrupt writes a few random values to places that matter.
func corrupt(rng *rand.Rand, b []byte, places []span) {
	for range 1 + rng.IntN(4) {
		at := places[rng.IntN(len(places))]
		off := at.off + rng.Uint64N(at.size)
		if rng.IntN(2) == 0 {
			off = at.off + off%at.size&^7 // fields of 8 bytes are aligned
		}
		if off+8 > uint64(len(b)) {
			continue
		}
		v := extremes[rng.IntN(len(extremes))]
		switch rng.IntN(4) {
		case 0:
			b[off] = byte(rng.Uint32())
		case 1:
			le.PutUint32(b[off:], uint32(v))
		case 2:
			le.PutUint64(b[off:], v)
		case 3:
			le.PutUint64(b[off:], uint64(rng.IntN(2*len(b))))
		}
	}
}

// tables lists where a loader reads, and the section headers.
func (im *image) tables(t testing.TB) []span {
	l := []span{{0, headerSize}, {im.phoff(), progSize * uint64(len(im.progs))}, im.dynSpan, im.symtab, im.sectSpan, im.strSpan}
	if im.versym.size > 0 {
		l = append(l, im.versym)
	}
	for _, tag := range []elf.DynTag{elf.DT_GNU_HASH, elf.DT_HASH, elf.DT_VERDEF, elf.DT_VERNEED} {
		if addr, ok := im.dynValue(tag); ok {
			s, err := im.locate(addr, 64, "")
			require.NoError(t, err)
			l = append(l, s)
		}
	}
	relocs, err := im.relocTables()
	require.NoError(t, err)
	for _, r := range relocs {
		l = append(l, r.span)
	}
	return l
}

// TestCorrupt spoils both files at random.
func TestCorrupt(t *testing.T) {
	for i, flags := range [][]string{{"-Wl,--hash-style=gnu"}, {"-Wl,--hash-style=sysv"}, {"-Wl,--hash-style=both", "-g"}} {
		stock := compile(t, flags...)
		want := everything()
		edited := edit(t, stock, want, editOptions{moveDynamic: i == 2})
		inStock, inEdited := open(t, stock).tables(t), open(t, edited).tables(t)
		rng := rand.New(rand.NewPCG(uint64(i), 7))
		for range 1500 {
			a, b := slices.Clone(stock), slices.Clone(edited)
			which := rng.IntN(3)
			if which != 0 {
				corrupt(rng, a, inStock)
			}
			if which != 1 {
				corrupt(rng, b, inEdited)
			}
			r, err := check(t, a, b, want)
			if err == nil && r.Clean() {
				// Stock's own damage may lie where an edit writes anyway.
				require.True(t, bytes.Equal(b, edited), "the corruption of the edited file was not reported")
			}
		}
	}
}

// FuzzFiles compares arbitrary files with each other.
func FuzzFiles(f *testing.F) {
	for _, flags := range [][]string{{"-Wl,--hash-style=both", "-s"}, {"-Wl,--hash-style=gnu", "-s"}} {
		stock := compile(f, flags...)
		f.Add(stock, edit(f, stock, everything(), editOptions{}))
		f.Add(stock, stock)
	}
	f.Fuzz(func(t *testing.T, stock, edited []byte) {
		check(t, stock, edited, everything())
	})
}
