package verify

import (
	"bytes"
	"debug/elf"
	"errors"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// reshape changes tags and values of .dynamic, so that a file from any linker has what not every linker makes.
func reshape(t *testing.T, stock []byte, change func(p patch)) []byte {
	p := patch{t: t, im: open(t, stock), b: slices.Clone(stock)}
	change(p)
	return p.b
}

// entry replaces an entry of .dynamic.
func (p patch) entry(old, tag elf.DynTag, value uint64) {
	at := p.dyn(old)
	p.u64(at, set(uint64(tag)))
	p.u64(at+8, set(value))
}

func TestPackedRelativeRelocations(t *testing.T) {
	var words uint64
	stock := reshape(t, compile(t, "-Wl,--hash-style=gnu"), func(p patch) {
		// The code's own start will do as words.
		words = p.content(".text").off
		_, text := p.section(".text")
		p.entry(elf.DT_INIT_ARRAY, dtRELR, text.Addr)
		p.entry(elf.DT_INIT_ARRAYSZ, dtRELRSZ, 32)
	})
	base := verdict(t, stock, stock, Expect{})
	require.True(t, base.Clean(), "%+v", base)

	b := slices.Clone(stock)
	b[words+24] ^= 1
	r := verdict(t, stock, b, Expect{})
	require.Equal(t, []string{CheckRelocations, CheckBytes}, complaints(r), "%+v", r)

	shorter := reshape(t, stock, func(p patch) { p.u64(p.dyn(dtRELRSZ)+8, set[uint64](24)) })
	r = verdict(t, stock, shorter, Expect{})
	require.Equal(t, []string{CheckRelocations, CheckDynamic}, complaints(r), "%+v", r)
}

func TestRELRelocations(t *testing.T) {
	stock := reshape(t, compile(t, "-Wl,--hash-style=gnu"), func(p patch) {
		rela, _ := p.im.dynValue(elf.DT_RELA)
		p.entry(elf.DT_RELA, elf.DT_REL, rela)
		p.entry(elf.DT_RELASZ, elf.DT_RELSZ, relSize)
		p.entry(elf.DT_PLTREL, elf.DT_PLTREL, uint64(elf.DT_REL))
		p.entry(elf.DT_PLTRELSZ, elf.DT_PLTRELSZ, relSize)
	})
	r := verdict(t, stock, stock, Expect{})
	require.True(t, r.Clean(), "%+v", r)
	for _, tag := range []elf.DynTag{elf.DT_REL, elf.DT_JMPREL} {
		b := slices.Clone(stock)
		im := open(t, stock)
		addr, _ := im.dynValue(tag)
		at, err := im.locate(addr, relSize, "")
		require.NoError(t, err)
		le.PutUint32(b[at.off+12:], le.Uint32(b[at.off+12:])+3)
		r := verdict(t, stock, b, Expect{})
		require.Equal(t, []string{CheckRelocations}, complaints(r), "%+v", r)
	}
}

func TestOpaqueTables(t *testing.T) {
	for _, tag := range opaque {
		stock := reshape(t, compile(t, "-Wl,--hash-style=gnu"), func(p patch) { p.u64(p.dyn(elf.DT_RELACOUNT), set(uint64(tag))) })
		r := verdict(t, stock, stock, Expect{})
		require.Equal(t, []string{CheckRelocations}, complaints(r), "%+v", r)
	}
}

// TestNothingHashed has a hash table that does not tell the number of symbols.
func TestNothingHashed(t *testing.T) {
	good := compile(t, "-Wl,--hash-style=gnu")
	highest := uint64(0)
	require.NoError(t, open(t, good).eachRelocation(func(r relocation) { highest = max(highest, uint64(r.symbol())) }))
	stock := reshape(t, good, func(p patch) {
		_, buckets, chain, head := p.gnu()
		clear(p.b[buckets:chain])
		p.u32(buckets-8*uint64(head.bloom)-gnuHeadSize+4, set[uint32](1))
	})
	im, err := newImage("sections", bytes.NewReader(stock), uint64(len(stock)))
	require.NoError(t, err)
	n, err := im.countSymbols()
	require.NoError(t, err)
	require.EqualValues(t, len(open(t, good).symbols), n)

	clear(stock[shoffField.off:shoffField.end()])
	im, err = newImage("no sections", bytes.NewReader(stock), uint64(len(stock)))
	require.NoError(t, err)
	n, err = im.countSymbols()
	require.NoError(t, err)
	require.Equal(t, highest+1, n)

	// Where no name can be looked up, nothing was proven.
	r, err := verifyBytes(stock, stock, Expect{})
	require.NoError(t, err)
	require.False(t, r.Clean())
}

// TestNoSectionHeaders removes what no loader reads.
func TestNoSectionHeaders(t *testing.T) {
	bare := func(b []byte) []byte {
		b = slices.Clone(b)
		clear(b[shoffField.off:shoffField.end()])
		clear(b[60:64]) // e_shnum, e_shstrndx
		return b
	}
	for _, style := range []string{"gnu", "sysv", "both"} {
		stock := compile(t, "-Wl,--hash-style="+style)
		edited := edit(t, bare(stock), everything(), editOptions{})
		r := verdict(t, bare(stock), edited, everything())
		require.True(t, r.Clean(), "%+v", r)
		require.True(t, r.Checks[slices.IndexFunc(r.Checks, func(k Check) bool { return k.Name == CheckSections })].Absent)
		// What lies behind the last PT_LOAD is still compared.
		edited[len(edited)-100] ^= 1
		r = verdict(t, bare(stock), edited, everything())
		require.Equal(t, []string{CheckBytes}, complaints(r), "%+v", r)
		// They may not get lost on the way.
		r = verdict(t, stock, bare(edit(t, stock, everything(), editOptions{})), everything())
		require.Contains(t, complaints(r), CheckSections)
	}
}

func TestTooManySteps(t *testing.T) {
	stock := compile(t, "-Wl,--hash-style=both")
	c, err := newComparison(open(t, stock), open(t, stock), Expect{})
	require.NoError(t, err)
	c.maxSteps = 20
	r, err := c.run()
	require.NoError(t, err)
	require.Contains(t, complaints(r), CheckHash)
	require.Contains(t, strings.Join(r.Checks[2].Findings, "\n"), "given up after 20 steps")
}

// failing is a file whose reads fail from some read on.
type failing struct {
	io.ReaderAt
	left atomic.Int64
}

var errDisk = errors.New("the disk is gone")

func (f *failing) ReadAt(b []byte, off int64) (int, error) {
	if f.left.Add(-1) < 0 {
		return 0, errDisk
	}
	return f.ReaderAt.ReadAt(b, off)
}

// TestFailingReads lets each single read of either file fail. Damaged section headers and versions are findings, so such
// a failure may show as one; it may never pass.
func TestFailingReads(t *testing.T) {
	stock := compile(t, "-Wl,--hash-style=both")
	edited := edit(t, stock, everything(), editOptions{moveDynamic: true})
	for _, side := range []int{0, 1} {
		failures := 0
		for n := int64(0); ; n++ {
			files := [2]*failing{{ReaderAt: bytes.NewReader(stock)}, {ReaderAt: bytes.NewReader(edited)}}
			files[side].left.Store(n)
			files[1-side].left.Store(1 << 30)
			r, err := func() (Report, error) {
				s, err := newImage("stock", files[0], uint64(len(stock)))
				if err != nil {
					return Report{}, err
				}
				e, err := newImage("edited", files[1], uint64(len(edited)))
				if err != nil {
					return Report{}, err
				}
				return compare(s, e, everything())
			}()
			if files[side].left.Load() >= 0 { // every read succeeded
				require.NoError(t, err)
				require.True(t, r.Clean())
				break
			}
			failures++
			require.False(t, err == nil && r.Clean(), "read %d", n)
			if err != nil {
				var read *ReadError
				require.ErrorAs(t, err, &read)
				require.ErrorIs(t, err, errDisk)
			}
		}
		require.Greater(t, failures, 10)
	}
}
