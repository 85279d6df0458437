package verify

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
)

// section is a section header with its name.
type section struct {
	elf.Section64
	name string
}

// inFile says whether the section has bytes in the file.
func (h section) inFile() bool {
	t := elf.SectionType(h.Type)
	return t != elf.SHT_NOBITS && t != elf.SHT_NULL
}

// loadSections reads the section headers. No loader needs them, so damage is kept for the sections check to report.
func (im *image) loadSections() {
	im.sects, im.sectSpan, im.sectErr = im.readSections()
}

func (im *image) readSections() ([]section, span, error) {
	const what = "section header table"
	n, strIndex := uint64(le.Uint16(im.header[60:])), uint32(le.Uint16(im.header[62:]))
	off := im.shoff()
	if off == 0 {
		return nil, span{}, nil
	}
	if size := le.Uint16(im.header[58:]); size != sectionSize {
		return nil, span{}, im.failure(58, "ELF header", fmt.Errorf("section headers of %d bytes where %d were expected", size, sectionSize))
	}
	// Header 0 holds what does not fit the fields of the ELF header.
	b, err := im.read(off, sectionSize, what)
	if err != nil {
		return nil, span{}, err
	}
	first := decodeSection(b)
	if n == 0 {
		n = first.Size
	}
	if elf.SectionIndex(strIndex) == elf.SHN_XINDEX {
		strIndex = first.Link
	}
	if n > im.size/sectionSize {
		return nil, span{}, im.failure(off, what, fmt.Errorf("%d section headers do not fit a file of %d bytes", n, im.size))
	}
	at := span{off, n * sectionSize}
	if b, err = im.read(at.off, at.size, what); err != nil {
		return nil, span{}, err
	}
	sects := make([]section, n)
	for i := range sects {
		sects[i].Section64 = decodeSection(b[i*sectionSize:])
	}
	if uint64(strIndex) >= n {
		return nil, at, im.failure(off, what, fmt.Errorf("e_shstrndx is %d, there are %d sections", strIndex, n))
	}
	str := sects[strIndex]
	names, err := im.read(str.Off, str.Size, "section names")
	if err != nil {
		return nil, at, err
	}
	for i := range sects {
		if sects[i].name, err = sectionName(names, sects[i].Name); err != nil {
			return nil, at, im.failure(off+uint64(i)*sectionSize, what, err)
		}
	}
	return sects, at, nil
}

// maxSectionName bounds the name of a section, so that names without terminators do not make reading quadratic.
const maxSectionName = 4096

func sectionName(names []byte, off uint32) (string, error) {
	if uint64(off) >= uint64(len(names)) {
		return "", fmt.Errorf("a section name at %#x of %#x bytes of names", off, len(names))
	}
	b := names[off:]
	b = b[:min(len(b), maxSectionName)]
	n := bytes.IndexByte(b, 0)
	if n < 0 {
		return "", errors.New("a section name without end")
	}
	return string(b[:n]), nil
}

func decodeSection(b []byte) elf.Section64 {
	return elf.Section64{
		Name: le.Uint32(b), Type: le.Uint32(b[4:]), Flags: le.Uint64(b[8:]), Addr: le.Uint64(b[16:]), Off: le.Uint64(b[24:]),
		Size: le.Uint64(b[32:]), Link: le.Uint32(b[40:]), Info: le.Uint32(b[44:]), Addralign: le.Uint64(b[48:]), Entsize: le.Uint64(b[56:]),
	}
}

// sectionAt names the section that a file offset lies in, for messages.
func (im *image) sectionAt(off uint64) string {
	for _, h := range im.sects {
		if h.inFile() && off >= h.Off && off-h.Off < h.Size {
			return fmt.Sprintf(" (%s)", h.name)
		}
	}
	return ""
}

// sections compares the section headers. The dynamic string table follows DT_STRTAB and .dynamic follows PT_DYNAMIC;
// what only was memory of the last PT_LOAD and now has bytes says so; what lies behind that segment moved. Tools such as
// strip and objcopy rewrite the file by these headers, so they must describe what the program headers describe.
func (c *comparison) sections() (Check, error) {
	k := Check{Name: CheckSections}
	s, e := c.stock, c.edited
	for _, err := range []error{s.sectErr, e.sectErr} {
		if err != nil {
			k.finding("damaged: %v", err)
		}
	}
	if len(s.sects) != len(e.sects) {
		k.finding("%d section headers, stock has %d", len(e.sects), len(s.sects))
		return k, nil
	}
	k.Absent = len(s.sects) == 0 && k.Total == 0
	for i, h := range e.sects {
		k.Compared++
		want, why := c.expectedSection(s.sects[i], h)
		if want != h {
			k.finding("section %d (%s)%s is %s, it should be %s", i, want.name, why, describeSection(h), describeSection(want))
		}
		c.sectionPlace(&k, i, s.sects[i], h)
	}
	// Readers that map the file take it as it lies there.
	if e.shoff()%8 != 0 && s.shoff()%8 == 0 {
		k.finding("the section header table moved to %#x, which is not aligned to 8 bytes", e.shoff())
	}
	return k, nil
}

func describeSection(h section) string {
	return fmt.Sprintf("%q %v flags %#x address %#x offset %#x size %#x link %d info %d align %d entsize %d", h.name, elf.SectionType(h.Type),
		h.Flags, h.Addr, h.Off, h.Size, h.Link, h.Info, h.Addralign, h.Entsize)
}

// expectedSection gives what a section header of stock becomes, and what kind of change that is.
func (c *comparison) expectedSection(a, now section) (want section, why string) {
	s, e, l := c.stock, c.edited, c.layout
	alloc := elf.SectionFlag(a.Flags)&elf.SHF_ALLOC != 0
	strAddr, _ := s.dynValue(elf.DT_STRTAB)
	p := s.progs[s.last]

	switch {
	case alloc && elf.SectionType(a.Type) == elf.SHT_STRTAB && a.Addr == strAddr:
		a.Addr, _ = e.dynValue(elf.DT_STRTAB)
		a.Off, a.Size = e.strSpan.off, e.strSpan.size
		return a, ", the dynamic string table,"
	case elf.SectionType(a.Type) == elf.SHT_DYNAMIC && l.dynMoved:
		q := e.progs[e.dynSeg]
		a.Addr, a.Off, a.Size = q.Vaddr, q.Off, q.Filesz
		return a, ", which PT_DYNAMIC moved,"
	case elf.SectionType(a.Type) == elf.SHT_NOBITS && alloc:
		// Thread-local NOBITS take no room in a segment, whatever address they have.
		inLast := elf.SectionFlag(a.Flags)&elf.SHF_TLS == 0 && a.Addr >= p.Vaddr+p.Filesz && a.Addr <= p.Vaddr+p.Memsz
		if l.grew() && inLast {
			off := p.Off + (a.Addr - p.Vaddr)
			// An empty section may keep its type, and its offset is a mere convention.
			if a.Size > 0 || elf.SectionType(now.Type) == elf.SHT_PROGBITS {
				a.Type, a.Off = uint32(elf.SHT_PROGBITS), off
			} else if now.Off == off {
				a.Off = off
			}
			return a, ", whose zeros are file bytes now,"
		}
		return a, ""
	case !alloc && a.Off >= l.oldEnd && elf.SectionType(a.Type) != elf.SHT_NULL:
		a.Off += l.shift
		return a, fmt.Sprintf(", moved by %#x,", l.shift)
	}
	return a, ""
}

// sectionPlace checks that the bytes of a section are bytes of the file, aligned as they were, and bytes of memory when it
// is loaded.
func (c *comparison) sectionPlace(k *Check, i int, stock, h section) {
	e := c.edited
	if !h.inFile() || h.Size == 0 {
		return
	}
	if h.Off > e.size || h.Size > e.size-h.Off {
		k.finding("section %d (%s): file range %#x+%#x ends past the end of the file (%#x)", i, h.name, h.Off, h.Size, e.size)
		return
	}
	if align := stock.Addralign; align > 1 && h.Off%align != 0 && stock.Off%align == 0 {
		k.finding("section %d (%s): file offset %#x is not aligned to %d bytes", i, h.name, h.Off, align)
	}
	if elf.SectionFlag(h.Flags)&elf.SHF_ALLOC == 0 {
		return
	}
	if at, err := e.locate(h.Addr, h.Size, h.name); err != nil || at.off != h.Off {
		k.finding("section %d (%s): no PT_LOAD maps its file range %#x+%#x to address %#x", i, h.name, h.Off, h.Size, h.Addr)
	}
}
