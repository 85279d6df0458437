package elf

import (
	stdelf "debug/elf"
	"encoding/binary"
	"fmt"
)

// sections is the section header table (gABI, "Section Header"), which the
// loader does not read: it may be missing, and only follows what changes.
type sections struct {
	off     uint64 // in the input; 0 where there is none
	headers []stdelf.Section64
}

func readSections(im *image) (*sections, error) {
	const what = "section header table"
	h := &im.header
	if h.Shoff == 0 {
		return &sections{}, nil
	}
	if h.Shentsize != sectionSize {
		return nil, im.errorf(58, "ELF header", "e_shentsize is %d, not %d", h.Shentsize, sectionSize)
	}
	count := uint64(h.Shnum)
	if count == shnumExtended {
		raw, err := im.bytes(h.Shoff, sectionSize, what)
		if err != nil {
			return nil, err
		}
		if count = le.Uint64(raw[32:]); count == 0 { // sh_size
			return nil, im.errorf(h.Shoff, what, "e_shoff is set, and e_shnum says that there are none: the file is corrupt")
		}
		if count > im.size/sectionSize {
			return nil, im.errorf(h.Shoff, what, "%d entries do not fit into the file (size %d)", count, im.size)
		}
	}
	raw, err := im.bytes(h.Shoff, count*sectionSize, what)
	if err != nil {
		return nil, err
	}
	im.claims.add(h.Shoff, uint64(len(raw)), what)
	s := &sections{off: h.Shoff, headers: make([]stdelf.Section64, count)}
	for i := range s.headers {
		sec := &s.headers[i]
		if _, err := binary.Decode(raw[i*sectionSize:], le, sec); err != nil {
			return nil, im.errorf(h.Shoff, what, "%v", err)
		}
		if err := im.checkSection(sec, fmt.Sprintf("section %d", i)); err != nil {
			return nil, err
		}
	}
	return s, s.checkNames(im)
}

// checkNames holds that every section has a terminated name: tools refuse a
// file in which one has not.
func (s *sections) checkNames(im *image) error {
	if len(s.headers) == 0 {
		return nil
	}
	names := uint64(im.header.Shstrndx)
	if names == uint64(stdelf.SHN_XINDEX) {
		names = uint64(s.headers[0].Link)
	}
	if names >= uint64(len(s.headers)) {
		return im.errorf(62, "ELF header", "e_shstrndx is %d, there are %d sections", names, len(s.headers))
	}
	what := fmt.Sprintf("section %d (names of sections)", names)
	sec := &s.headers[names]
	if stdelf.SectionType(sec.Type) != stdelf.SHT_STRTAB || sec.Size == 0 {
		return im.errorf(sec.Off, what, "is no string table")
	}
	im.kept.add(sec.Off, sec.Size, what)
	end, err := im.bytes(sec.Off+sec.Size-1, 1, what)
	if err != nil {
		return err
	}
	if end[0] != 0 {
		return im.errorf(sec.Off, what, "the last name is not terminated")
	}
	for i := range s.headers {
		if n := uint64(s.headers[i].Name); n >= sec.Size {
			return im.errorf(s.off+uint64(i)*sectionSize, fmt.Sprintf("header of section %d", i), "the name %#x is outside the %#x bytes of names", n, sec.Size)
		}
	}
	return nil
}

// checkSection holds that a section is in the file, that a PT_LOAD maps it to
// its address if it is loaded, and that none does if it is not.
func (im *image) checkSection(s *stdelf.Section64, what string) error {
	if isZeros(s) && !im.inMemory(s.Addr, s.Size) {
		return im.errorf(s.Off, what, "%d bytes at address %#x are in no PT_LOAD's memory", s.Size, s.Addr)
	}
	if !hasBytes(s) {
		return nil
	}
	if err := im.check(s.Off, s.Size, what); err != nil {
		return err
	}
	if !allocated(s) {
		for i := range im.loads {
			if l := &im.loads[i]; s.Off < l.fileEnd() && l.Off < s.Off+s.Size {
				return im.errorf(s.Off, what, "is not loaded (no SHF_ALLOC), but %d bytes of it lie in PT_LOAD %d, [%#x, %#x)", s.Size, i, l.Off, l.fileEnd())
			}
		}
		return nil
	}
	off, err := im.fileRange(s.Addr, s.Size, what)
	if err == nil && off != s.Off {
		err = im.errorf(s.Off, what, "its address %#x is loaded from file offset %#x", s.Addr, off)
	}
	return err
}

// hasBytes says whether the section occupies space in the file.
func hasBytes(s *stdelf.Section64) bool {
	t := stdelf.SectionType(s.Type)
	return t != stdelf.SHT_NULL && t != stdelf.SHT_NOBITS && s.Size > 0
}

// isZeros says whether the section is memory without bytes in the file, such
// as .bss. .tbss is not: it describes what each thread gets.
func isZeros(s *stdelf.Section64) bool {
	return stdelf.SectionType(s.Type) == stdelf.SHT_NOBITS && allocated(s) &&
		stdelf.SectionFlag(s.Flags)&stdelf.SHF_TLS == 0 && s.Size > 0
}

func allocated(s *stdelf.Section64) bool {
	return stdelf.SectionFlag(s.Flags)&stdelf.SHF_ALLOC != 0
}

// at is the allocated section of this type at this address, nil if none is.
func (s *sections) at(typ stdelf.SectionType, vaddr uint64) *stdelf.Section64 {
	for i := range s.headers {
		sec := &s.headers[i]
		if stdelf.SectionType(sec.Type) == typ && allocated(sec) && sec.Addr == vaddr {
			return sec
		}
	}
	return nil
}

// checkTables holds that the sections of the two tables that may move or that
// name others are the ones that the loader uses.
func (s *sections) checkTables(im *image, d *dynamic) error {
	symtab, _ := d.find(stdelf.DT_SYMTAB)
	for i := range s.headers {
		sec := &s.headers[i]
		want := sec.Addr
		switch stdelf.SectionType(sec.Type) {
		case stdelf.SHT_DYNAMIC:
			want = im.dynamic.Vaddr
		case stdelf.SHT_DYNSYM:
			want = symtab
		}
		if sec.Addr != want {
			return im.errorf(s.off+uint64(i)*sectionSize, fmt.Sprintf("header of section %d", i), "%v is at address %#x, the loader's is at %#x: the file is corrupt", stdelf.SectionType(sec.Type), sec.Addr, want)
		}
	}
	return nil
}

// movable checks that what lies from file offset insert on can move back as a
// block, that the table can be written, and that sections whose zeros will be
// in the file can be there. It says what alignment (a power of two) the
// distance must keep.
func (s *sections) movable(im *image, last *segment, insert uint64) (align uint64, err error) {
	if s.off == 0 {
		return 1, nil
	}
	// patchelf leaves the table where it was, before the PT_LOAD it appends.
	if end := s.off + uint64(len(s.headers))*sectionSize; s.off < insert {
		for i := range im.loads {
			if l := &im.loads[i]; s.off < l.fileEnd() && l.Off < end {
				return 0, im.errorf(s.off, "section header table", "is part of PT_LOAD %d, [%#x, %#x), so the program may use it; remove it with llvm-strip --strip-sections", i, l.Off, l.fileEnd())
			}
		}
	}
	align = 8 // of the table itself
	for i := range s.headers {
		sec := &s.headers[i]
		becomesBytes := isZeros(sec) && sec.Addr >= last.Vaddr+last.Filesz
		moves := !allocated(sec) && hasBytes(sec) && sec.Off >= insert
		if !becomesBytes && !moves {
			continue
		}
		a, err := s.alignment(im, sec)
		if err != nil {
			return 0, err
		}
		switch {
		case becomesBytes && (last.Off+(sec.Addr-last.Vaddr))%a != 0:
			return 0, im.errorf(s.off+uint64(i)*sectionSize, fmt.Sprintf("header of section %d", i), "address %#x is not aligned to sh_addralign %d in the file", sec.Addr, a)
		case moves:
			align = max(align, a)
		}
	}
	return align, nil
}

// alignment is the alignment of a section that moves, 1 where sec is nil.
func (s *sections) alignment(im *image, sec *stdelf.Section64) (uint64, error) {
	if sec == nil {
		return 1, nil
	}
	a := max(sec.Addralign, 1)
	if a&(a-1) != 0 || a > maxAlignment {
		return 0, im.unsupported("section header table", "sh_addralign %d of the section at file offset %#x is no power of two up to %d", a, sec.Off, maxAlignment)
	}
	return a, nil
}

// shift moves the sections behind insert, and turns those that the last
// PT_LOAD now holds as zeros in the file from NOBITS into PROGBITS. NOBITS
// sections elsewhere stay: .tbss occupies no memory of its own, and lld's
// .relro_padding belongs to an earlier PT_LOAD.
func (s *sections) shift(last *segment, insert, by uint64) {
	for i := range s.headers {
		sec := &s.headers[i]
		switch {
		case stdelf.SectionType(sec.Type) == stdelf.SHT_NULL:
		case !allocated(sec):
			if sec.Off >= insert {
				sec.Off += by
			}
		case isZeros(sec) && sec.Addr >= last.Vaddr+last.Filesz:
			sec.Type = uint32(stdelf.SHT_PROGBITS)
			sec.Off = last.Off + (sec.Addr - last.Vaddr)
		}
	}
}

// encode is the table's content.
func (s *sections) encode() ([]byte, error) {
	return binary.Append(nil, le, s.headers)
}
