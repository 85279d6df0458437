package elf

import (
	"bytes"
	stdelf "debug/elf"
	"math"
)

// strtab is the dynamic string table (gABI, "String Table"): the old bytes,
// and the strings that are appended to them. No old offset changes.
type strtab struct {
	table
	vaddr uint64
	added []byte
	index map[string]uint32 // offsets of the strings the edit needs
}

func readStrtab(im *image, d *dynamic) (*strtab, error) {
	const what = ".dynstr"
	vaddr, ok := d.find(stdelf.DT_STRTAB)
	size, okSize := d.find(stdelf.DT_STRSZ)
	if !ok || !okSize {
		return nil, im.errorf(d.off, ".dynamic", "no DT_STRTAB and DT_STRSZ: the object has no dynamic symbols to edit")
	}
	if size == 0 || size > math.MaxUint32 {
		return nil, im.errorf(d.off, what, "DT_STRSZ %d is out of range", size)
	}
	t, err := im.table(vaddr, size, what)
	if err != nil {
		return nil, err
	}
	// With both ends NUL, every offset inside is a terminated string.
	if t.data[0] != 0 || t.data[size-1] != 0 {
		return nil, im.errorf(t.off, what, "does not begin and end with a NUL byte: the file is corrupt")
	}
	return &strtab{table: t, vaddr: vaddr}, nil
}

// has says whether off is a valid offset.
func (s *strtab) has(off uint64) bool { return off < uint64(len(s.data)) }

// at is the string at a valid offset, without its NUL. The bytes are shared.
func (s *strtab) at(off uint32) []byte {
	b := s.data[off:]
	return b[:bytes.IndexByte(b, 0)]
}

// locate finds which of the wanted strings are in the table already. They are
// reused, which makes an edit that is applied again change nothing. Only
// whole strings count, not the ends of longer ones.
func (s *strtab) locate(wanted map[string]bool) {
	s.index = make(map[string]uint32, len(wanted))
	for off := 0; off < len(s.data); {
		n := bytes.IndexByte(s.data[off:], 0)
		if str := s.data[off : off+n]; wanted[string(str)] {
			if _, ok := s.index[string(str)]; !ok {
				s.index[string(str)] = uint32(off)
			}
		}
		off += n + 1
	}
}

// add is the offset of str, appended if it is not there yet.
func (s *strtab) add(str string) uint32 {
	if off, ok := s.index[str]; ok {
		return off
	}
	off := uint32(len(s.data) + len(s.added))
	s.added = append(append(s.added, str...), 0)
	s.index[str] = off
	return off
}

// size is the table's new size in bytes; it may not exceed what st_name holds.
func (s *strtab) size() uint64 { return uint64(len(s.data) + len(s.added)) }
