package verify

import (
	"bufio"
	"cmp"
	"debug/elf"
	"fmt"
	"io"
)

// relocation is one entry of a RELA or REL table. REL entries keep their addend in the relocated place, which the bytes
// check covers.
type relocation struct {
	offset, info uint64
	addend       int64
}

func (r relocation) symbol() uint32 { return uint32(r.info >> 32) }
func (r relocation) typ() uint32    { return uint32(r.info) }

// relocTable is a table of relocations that hold symbol indices.
type relocTable struct {
	tag elf.DynTag
	span
	entry uint64 // bytes of an entry
}

func (t relocTable) count() uint64 { return t.size / t.entry }

const (
	relaSize = 24
	relSize  = 16
	relrSize = 8
)

// opaque lists what holds symbol indices or relocations in a form that is not decoded here. A file that has it cannot be
// proven right.
var opaque = []elf.DynTag{
	elf.DT_SYMINFO, elf.DT_GNU_CONFLICT,
	0x6000000f, // DT_ANDROID_REL
	0x60000011, // DT_ANDROID_RELA
}

// relocTables lists the tables that a file has.
func (im *image) relocTables() ([]relocTable, error) {
	pltEntry := uint64(relaSize)
	if kind, ok := im.dynValue(elf.DT_PLTREL); ok && elf.DynTag(kind) == elf.DT_REL {
		pltEntry = relSize
	}
	var tables []relocTable
	for _, t := range []struct {
		addr, size elf.DynTag
		entry      uint64
	}{
		{elf.DT_RELA, elf.DT_RELASZ, relaSize},
		{elf.DT_REL, elf.DT_RELSZ, relSize},
		{elf.DT_JMPREL, elf.DT_PLTRELSZ, pltEntry},
	} {
		addr, ok := im.dynValue(t.addr)
		if !ok {
			continue
		}
		size, err := im.mustValue(t.size)
		if err != nil {
			return nil, err
		}
		at, err := im.locate(addr, size, t.addr.String())
		if err != nil {
			return nil, err
		}
		if size%t.entry != 0 {
			return nil, im.failure(at.off, t.addr.String(), fmt.Errorf("%d bytes are no whole number of entries of %d bytes", size, t.entry))
		}
		tables = append(tables, relocTable{t.addr, at, t.entry})
	}
	return tables, nil
}

// relrTable gives the place of DT_RELR, empty where there is none.
func (im *image) relrTable() (span, error) {
	addr, ok := im.dynValue(dtRELR)
	if !ok {
		return span{}, nil
	}
	size, err := im.mustValue(dtRELRSZ)
	if err != nil {
		return span{}, err
	}
	return im.locate(addr, size, "DT_RELR")
}

// Not in debug/elf.
const (
	dtRELRSZ elf.DynTag = 35
	dtRELR   elf.DynTag = 36
)

// entryReader reads the entries of a table in order.
type entryReader struct {
	im    *image
	what  string
	at    uint64
	entry uint64
	r     *bufio.Reader
	buf   [relaSize]byte
}

func (im *image) entries(s span, entry uint64, what string) *entryReader {
	return &entryReader{im: im, what: what, at: s.off, entry: entry,
		r: bufio.NewReaderSize(io.NewSectionReader(im.file, int64(s.off), int64(s.size)), int(min(s.size, 1<<16)))}
}

// next returns the next entry, valid until the next call.
func (e *entryReader) next() ([]byte, error) {
	b := e.buf[:e.entry]
	if _, err := io.ReadFull(e.r, b); err != nil {
		return nil, e.im.failure(e.at, e.what, err)
	}
	e.at += e.entry
	return b, nil
}

func decodeReloc(b []byte) relocation {
	r := relocation{offset: le.Uint64(b), info: le.Uint64(b[8:])}
	if len(b) == relaSize {
		r.addend = int64(le.Uint64(b[16:]))
	}
	return r
}

func (im *image) eachRelocation(f func(relocation)) error {
	tables, err := im.relocTables()
	if err != nil {
		return err
	}
	for _, t := range tables {
		r := im.entries(t.span, t.entry, t.tag.String())
		for range t.count() {
			b, err := r.next()
			if err != nil {
				return err
			}
			f(decodeReloc(b))
		}
	}
	return nil
}

// relocations compares every relocation, in order: place, type and addend as they were, and the same symbol under the
// rename.
func (c *comparison) relocations() (Check, error) {
	k := Check{Name: CheckRelocations}
	for _, tag := range opaque {
		if _, ok := c.stock.dynValue(tag); ok {
			k.finding("stock has %v, whose symbol indices are not understood here", tag)
		}
	}
	st, err := c.stock.relocTables()
	if err != nil {
		return k, err
	}
	et, err := c.edited.relocTables()
	if err != nil {
		return k, err
	}
	if len(st) != len(et) {
		k.finding("%d relocation tables, stock has %d", len(et), len(st))
		return k, nil
	}
	for i := range st {
		if st[i].tag != et[i].tag || st[i].size != et[i].size || st[i].entry != et[i].entry {
			k.finding("%v has %d bytes, stock has %v with %d", et[i].tag, et[i].size, st[i].tag, st[i].size)
			continue
		}
		if err := c.relocTable(&k, st[i], et[i]); err != nil {
			return k, err
		}
	}
	relrErr := c.relr(&k)
	k.Absent = k.Compared == 0 && k.Total == 0
	return k, relrErr
}

func (c *comparison) relocTable(k *Check, st, et relocTable) error {
	s, e := c.stock.entries(st.span, st.entry, st.tag.String()), c.edited.entries(et.span, et.entry, et.tag.String())
	for i := range st.count() {
		sb, err := s.next()
		if err != nil {
			return err
		}
		eb, err := e.next()
		if err != nil {
			return err
		}
		a, b := decodeReloc(sb), decodeReloc(eb)
		k.Compared++
		if a.offset != b.offset || a.typ() != b.typ() || a.addend != b.addend {
			k.finding("%v entry %d: offset %#x type %d addend %#x, stock has %#x %d %#x", st.tag, i, b.offset, b.typ(), b.addend, a.offset, a.typ(), a.addend)
		}
		// An index that is outside stock's table must at least not have changed.
		was, is := a.symbol(), b.symbol()
		if int(was) >= len(c.stockClass) || int(is) >= len(c.editedClass) {
			if was != is {
				k.finding("%v entry %d (offset %#x): symbol %d of %d, stock has symbol %d of %d", st.tag, i, b.offset, is, len(c.editedClass), was, len(c.stockClass))
			}
			continue
		}
		if c.stockClass[was] != c.editedClass[is] {
			k.finding("%v entry %d (offset %#x): symbol %d is %s, it should be %s", st.tag, i, b.offset, is,
				c.edited.describe(int(is)), c.stock.describeAs(int(was), c.renamed(c.stock.symbols[was])))
		}
	}
	return nil
}

func (c *comparison) relr(k *Check) error {
	st, err := c.stock.relrTable()
	if err != nil {
		return err
	}
	et, err := c.edited.relrTable()
	if err != nil {
		return err
	}
	if st.size != et.size || st.size%relrSize != 0 {
		k.finding("DT_RELR has %d bytes, stock has %d", et.size, st.size)
		return nil
	}
	s, e := c.stock.entries(st, relrSize, "DT_RELR"), c.edited.entries(et, relrSize, "DT_RELR")
	for i := range st.size / relrSize {
		sb, sErr := s.next()
		eb, eErr := e.next()
		if err := cmp.Or(sErr, eErr); err != nil {
			return err
		}
		k.Compared++
		if a, b := le.Uint64(sb), le.Uint64(eb); a != b {
			k.finding("DT_RELR word %d is %#x, stock has %#x", i, b, a)
		}
	}
	return nil
}
