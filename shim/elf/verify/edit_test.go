package verify

import (
	"bytes"
	"debug/elf"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// open reads a file that is in memory.
func open(t testing.TB, b []byte) *image {
	t.Helper()
	im, err := newImage("memory", bytes.NewReader(b), uint64(len(b)))
	require.NoError(t, err)
	count, err := im.countSymbols()
	require.NoError(t, err)
	require.NoError(t, im.loadSymbols(count))
	im.loadVersions()
	im.loadSections()
	return im
}

// editOptions are choices that a rewriter has, or would be wrong to make.
type editOptions struct {
	moveDynamic bool
	slack       uint64 // additional bytes before what follows the last PT_LOAD
}

// edit is a second, plain rewriter: whole files in memory, small libraries only, no checks. It makes what the verifier
// must accept, so that a mutation of it is the only thing that a control can find.
func edit(t testing.TB, stock []byte, want Expect, o editOptions) []byte {
	t.Helper()
	im := open(t, stock)
	out := slices.Clone(stock)
	u16 := func(off uint64, v uint16) { le.PutUint16(out[off:], v) }
	u32 := func(off uint64, v uint32) { le.PutUint32(out[off:], v) }
	u64 := func(off, v uint64) { le.PutUint64(out[off:], v) }

	str := []byte(im.strings)
	intern := func(s string) uint64 {
		at := len(str)
		str = append(append(str, s...), 0)
		return uint64(at)
	}

	// The new order: by bucket, for those symbols that DT_GNU_HASH covers.
	order := make([]int, len(im.symbols))
	for i := range order {
		order[i] = i
	}
	names := make([]string, len(im.symbols))
	for i, y := range im.symbols {
		names[i] = y.name
		if to, ok := want.Rename[y.name]; ok && y.defined() {
			names[i] = to
		}
	}
	var head gnuHead
	gnuAddr, hasGNU := im.dynValue(elf.DT_GNU_HASH)
	if hasGNU {
		var err error
		head, err = im.readGNUHead(gnuAddr)
		require.NoError(t, err)
		slices.SortStableFunc(order[head.offset:], func(a, b int) int {
			return int(gnuHash(names[a])%head.buckets) - int(gnuHash(names[b])%head.buckets)
		})
	}
	place := make([]uint32, len(order))
	interned := map[string]uint64{}
	for to, from := range order {
		place[from] = uint32(to)
		at := im.symtab.off + uint64(to)*symSize
		copy(out[at:at+symSize], stock[im.symtab.off+uint64(from)*symSize:])
		if name := names[from]; name != im.symbols[from].name {
			if interned[name] == 0 {
				interned[name] = intern(name)
			}
			u32(at, uint32(interned[name]))
		}
		if im.versym.size != 0 {
			u16(im.versym.off+2*uint64(to), im.symbols[from].version)
		}
	}
	name := func(to int) string { return names[order[to]] }

	if hasGNU {
		table, err := im.loadGNU(gnuAddr, head)
		require.NoError(t, err)
		at, err := im.locate(gnuAddr, table.size(), "")
		require.NoError(t, err)
		bloom, buckets := at.off+gnuHeadSize, at.off+gnuHeadSize+uint64(len(table.filter))
		chain := buckets + uint64(len(table.heads))
		clear(out[bloom:at.end()])
		for i := int(head.offset); i < len(order); i++ {
			h := gnuHash(name(i))
			word, bits := head.bloomBits(h)
			w := bloom + 8*uint64(word)
			u64(w, le.Uint64(out[w:])|bits)
			b := buckets + 4*uint64(h%head.buckets)
			if le.Uint32(out[b:]) == 0 {
				u32(b, uint32(i))
			}
			h &^= 1
			if i+1 == len(order) || gnuHash(name(i+1))%head.buckets != gnuHash(name(i))%head.buckets {
				h |= 1
			}
			u32(chain+4*uint64(i-int(head.offset)), h)
		}
	}
	if addr, ok := im.dynValue(elf.DT_HASH); ok {
		table, err := im.loadSysV(addr)
		require.NoError(t, err)
		at, err := im.locate(addr, table.size(), "")
		require.NoError(t, err)
		chain := at.off + 8 + uint64(len(table.heads))
		clear(out[at.off+8 : at.end()])
		for i := 1; i < len(order); i++ {
			b := at.off + 8 + 4*uint64(sysvHash(name(i))%table.buckets)
			u32(chain+4*uint64(i), le.Uint32(out[b:]))
			u32(b, uint32(i))
		}
	}

	tables, err := im.relocTables()
	require.NoError(t, err)
	for _, r := range tables {
		for at := r.off; at < r.end(); at += r.entry {
			u32(at+12, place[le.Uint32(out[at+12:])])
		}
	}

	soname := uint64(0)
	if want.SONAME != "" {
		soname = intern(want.SONAME)
		for _, d := range im.defs {
			if d.base() {
				u32(d.nameSpan.off, uint32(soname))
				u32(d.hashSpan.off, sysvHash(want.SONAME))
			}
		}
	}
	for _, n := range im.needs {
		if to, ok := want.Needed[n.file]; ok {
			u32(n.fileSpan.off, uint32(intern(to)))
		}
	}

	var dyn []dynEntry
	last := 0
	for _, e := range im.dyn {
		switch {
		case e.tag == elf.DT_NEEDED:
			if to, ok := want.Needed[im.quoted(e.val)]; ok {
				e.val = intern(to)
			}
			last = len(dyn) + 1
		case e.tag == elf.DT_SONAME && want.SONAME != "":
			e.val = soname
		case e.tag == elf.DT_RUNPATH && want.RunPath != nil:
			continue
		}
		dyn = append(dyn, e)
	}
	for _, n := range want.AddNeeded {
		dyn = slices.Insert(dyn, last, dynEntry{elf.DT_NEEDED, intern(n)})
		last++
	}
	if want.RunPath != nil && *want.RunPath != "" {
		dyn = append(dyn, dynEntry{elf.DT_RUNPATH, intern(*want.RunPath)})
	}

	// Room for nothing, so that a control can put something there.
	str = append(str, make([]byte, 8)...)

	// The tail of the last PT_LOAD.
	p := im.progs[im.last]
	dynProg := im.progs[im.dynSeg]
	up := func(n, align uint64) uint64 { return (n + align - 1) &^ (align - 1) }
	strAt := up(p.Off+p.Memsz, 16)
	end := strAt + uint64(len(str))
	dynAt := im.dynSpan.off
	if o.moveDynamic {
		dynAt = up(end, 16)
		end = dynAt + uint64(len(dyn)+3)*dynSize
		dynProg.Off, dynProg.Vaddr, dynProg.Paddr = dynAt, dynAt-p.Off+p.Vaddr, dynAt-p.Off+p.Vaddr
		dynProg.Filesz, dynProg.Memsz = end-dynAt, end-dynAt
	}
	oldEnd := p.Off + p.Filesz
	shift := up(end-oldEnd, 64) + o.slack
	grown := make([]byte, uint64(len(out))+shift)
	copy(grown, out[:oldEnd])
	copy(grown[strAt:], str)
	copy(grown[oldEnd+shift:], out[oldEnd:])
	out = grown

	strAddr := strAt - p.Off + p.Vaddr
	if !o.moveDynamic {
		require.LessOrEqual(t, uint64(len(dyn)+1)*dynSize, im.dynSpan.size, "no spare entries")
		clear(out[dynAt : dynAt+im.dynSpan.size])
	}
	for i, e := range dyn {
		switch e.tag {
		case elf.DT_STRTAB:
			e.val = strAddr
		case elf.DT_STRSZ:
			e.val = uint64(len(str))
		}
		u64(dynAt+uint64(i)*dynSize, uint64(e.tag))
		u64(dynAt+uint64(i)*dynSize+8, e.val)
	}

	prog := func(i int) uint64 { return im.phoff() + uint64(i)*progSize }
	u64(prog(im.last)+32, end-p.Off)
	u64(prog(im.last)+40, end-p.Off)
	for i, v := range []uint64{dynProg.Off, dynProg.Vaddr, dynProg.Paddr, dynProg.Filesz, dynProg.Memsz} {
		u64(prog(im.dynSeg)+8+8*uint64(i), v)
	}

	if len(im.sects) > 0 {
		shoff := im.shoff() + shift
		u64(shoffField.off, shoff)
		for i, h := range im.sects {
			at := shoff + uint64(i)*sectionSize
			typ, flags := elf.SectionType(h.Type), elf.SectionFlag(h.Flags)
			switch {
			case h.name == ".dynstr":
				u64(at+16, strAddr)
				u64(at+24, strAt)
				u64(at+32, uint64(len(str)))
			case h.name == ".dynamic":
				u64(at+16, dynProg.Vaddr)
				u64(at+24, dynProg.Off)
				u64(at+32, dynProg.Filesz)
			case typ == elf.SHT_NOBITS && flags&elf.SHF_TLS == 0 && h.Addr >= p.Vaddr+p.Filesz:
				u32(at+4, uint32(elf.SHT_PROGBITS))
				u64(at+24, h.Addr-p.Vaddr+p.Off)
			case flags&elf.SHF_ALLOC == 0 && h.Off >= oldEnd:
				u64(at+24, h.Off+shift)
			}
		}
	}
	return out
}

// verdict compares two files that are in memory.
func verdict(t testing.TB, stock, edited []byte, want Expect) Report {
	t.Helper()
	r, err := verifyBytes(stock, edited, want)
	require.NoError(t, err)
	return r
}

func verifyBytes(stock, edited []byte, want Expect) (Report, error) {
	s, err := newImage("stock", bytes.NewReader(stock), uint64(len(stock)))
	if err != nil {
		return Report{}, err
	}
	e, err := newImage("edited", bytes.NewReader(edited), uint64(len(edited)))
	if err != nil {
		return Report{}, err
	}
	return compare(s, e, want)
}

// complaints names the checks that found something.
func complaints(r Report) []string {
	var l []string
	for _, c := range r.Checks {
		if c.Total > 0 {
			l = append(l, c.Name)
		}
	}
	return l
}
