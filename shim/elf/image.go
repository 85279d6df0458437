package elf

import (
	"bytes"
	stdelf "debug/elf"
	"encoding/binary"
	"fmt"
	"slices"
)

// segment is one program header.
type segment struct {
	stdelf.Prog64
	headerOff uint64 // file offset of the header itself
}

// fileEnd is the file offset behind the segment's bytes; checked when read.
func (s *segment) fileEnd() uint64 { return s.Off + s.Filesz }

// memEnd is the address behind the segment; checked when read.
func (s *segment) memEnd() uint64 { return s.Vaddr + s.Memsz }

// image is the input as the loader sees it: header and segments.
type image struct {
	*source
	header  stdelf.Header64
	loads   []segment // PT_LOAD, by address
	dynamic segment   // PT_DYNAMIC
	others  []segment // all that are not PT_LOAD
	claims  claims    // what the rewriter relies on or may write
	kept    claims    // what others read and must find as it was
}

// last is the PT_LOAD with the highest address, the one that grows.
func (im *image) last() *segment { return &im.loads[len(im.loads)-1] }

func readImage(src *source) (*image, error) {
	im := &image{source: src}
	if err := im.readHeader(); err != nil {
		return nil, err
	}
	if err := im.readSegments(); err != nil {
		return nil, err
	}
	return im, nil
}

// readHeader reads and judges the ELF header (gABI, "ELF Header").
func (im *image) readHeader() error {
	const what = "ELF header"
	raw, err := im.bytes(0, min(headerSize, im.size), what)
	if err != nil {
		return err
	}
	if !bytes.HasPrefix(raw, []byte(stdelf.ELFMAG)) {
		return im.errorf(0, what, "no ELF magic number: this is not an ELF file")
	}
	if len(raw) < headerSize {
		return im.errorf(0, what, "the file has %d bytes, the header alone needs %d: the file is truncated", im.size, headerSize)
	}
	if c := stdelf.Class(raw[stdelf.EI_CLASS]); c != stdelf.ELFCLASS64 {
		return im.errorf(stdelf.EI_CLASS, what, "%v: only 64-bit objects (ELFCLASS64) are supported", c)
	}
	if d := stdelf.Data(raw[stdelf.EI_DATA]); d != stdelf.ELFDATA2LSB {
		return im.errorf(stdelf.EI_DATA, what, "%v: only little-endian objects (ELFDATA2LSB) are supported", d)
	}
	if _, err := binary.Decode(raw, le, &im.header); err != nil {
		return im.errorf(0, what, "%v", err)
	}
	h := &im.header
	if raw[stdelf.EI_VERSION] != byte(stdelf.EV_CURRENT) || h.Version != uint32(stdelf.EV_CURRENT) {
		return im.errorf(stdelf.EI_VERSION, what, "ELF version %d/%d is not the current one (1)", raw[stdelf.EI_VERSION], h.Version)
	}
	if m := stdelf.Machine(h.Machine); m != stdelf.EM_X86_64 {
		return im.errorf(18, what, "machine %v: only EM_X86_64 is supported", m)
	}
	if t := stdelf.Type(h.Type); t != stdelf.ET_DYN {
		return im.errorf(16, what, "type %v: only shared objects (ET_DYN) are supported", t)
	}
	im.claims.add(0, headerSize, what)
	return nil
}

// readSegments reads the program header table (gABI, "Program Header") and
// checks what the rewriter builds on: PT_LOADs in ascending order with ranges
// that do not overlap, and one PT_DYNAMIC inside them.
func (im *image) readSegments() error {
	const what = "program header table"
	h := &im.header
	if h.Phnum == 0 {
		return im.unsupported(what, "there is none: this is not a shared object that can be loaded")
	}
	if h.Phentsize != progSize {
		return im.errorf(54, "ELF header", "e_phentsize is %d, not %d", h.Phentsize, progSize)
	}
	if h.Phnum == 0xffff { // PN_XNUM, "Linux extension": count in section 0
		return im.errorf(56, "ELF header", "extended numbering of program headers is not supported")
	}
	raw, err := im.bytes(h.Phoff, uint64(h.Phnum)*progSize, what)
	if err != nil {
		return err
	}
	im.claims.add(h.Phoff, uint64(len(raw)), what)

	dynamics := 0
	for i := range int(h.Phnum) {
		s := segment{headerOff: h.Phoff + uint64(i)*progSize}
		if _, err := binary.Decode(raw[i*progSize:], le, &s.Prog64); err != nil {
			return im.errorf(s.headerOff, what, "%v", err)
		}
		if err := im.check(s.Off, s.Filesz, fmt.Sprintf("segment %d (%v)", i, stdelf.ProgType(s.Type))); err != nil {
			return err
		}
		switch stdelf.ProgType(s.Type) {
		case stdelf.PT_LOAD:
			if err := im.addLoad(s); err != nil {
				return err
			}
		case stdelf.PT_DYNAMIC:
			dynamics++
			im.dynamic = s
		}
		if stdelf.ProgType(s.Type) != stdelf.PT_LOAD {
			im.others = append(im.others, s)
		}
		if stdelf.ProgType(s.Type) == stdelf.PT_NOTE {
			im.kept.add(s.Off, s.Filesz, "PT_NOTE")
		}
	}
	switch {
	case len(im.loads) == 0:
		return im.errorf(h.Phoff, what, "no PT_LOAD: nothing of this file is loaded")
	case dynamics == 0:
		return im.errorf(h.Phoff, what, "no PT_DYNAMIC: the object is static, it has no dynamic symbols to edit")
	case dynamics > 1:
		return im.errorf(h.Phoff, what, "%d PT_DYNAMIC entries, there may be one", dynamics)
	}
	if err := im.checkFileOverlap(); err != nil {
		return err
	}
	off, err := im.fileRange(im.dynamic.Vaddr, im.dynamic.Filesz, "PT_DYNAMIC")
	if err != nil {
		return err
	}
	if off != im.dynamic.Off {
		return im.errorf(im.dynamic.headerOff, "PT_DYNAMIC", "p_offset is %#x, but its address %#x is loaded from %#x", im.dynamic.Off, im.dynamic.Vaddr, off)
	}
	return nil
}

func (im *image) addLoad(s segment) error {
	what := fmt.Sprintf("PT_LOAD %d", len(im.loads))
	if s.Filesz > s.Memsz {
		return im.errorf(s.headerOff, what, "p_filesz %#x is larger than p_memsz %#x", s.Filesz, s.Memsz)
	}
	if _, ok := rangeEnd(s.Vaddr, s.Memsz); !ok {
		return im.errorf(s.headerOff, what, "address %#x plus size %#x overflows", s.Vaddr, s.Memsz)
	}
	if s.Align > 1 {
		if s.Align&(s.Align-1) != 0 {
			return im.errorf(s.headerOff, what, "p_align %#x is not a power of two", s.Align)
		}
		if (s.Vaddr-s.Off)%s.Align != 0 {
			return im.errorf(s.headerOff, what, "address %#x and file offset %#x differ modulo p_align %#x", s.Vaddr, s.Off, s.Align)
		}
	}
	if len(im.loads) > 0 {
		prev := im.last()
		if s.Vaddr < prev.memEnd() {
			return im.errorf(s.headerOff, what, "address %#x lies before the end %#x of the PT_LOAD before it: they must ascend and not overlap", s.Vaddr, prev.memEnd())
		}
	}
	im.loads = append(im.loads, s)
	return nil
}

// checkFileOverlap declines PT_LOADs that share bytes of the file: two
// addresses for one byte would make an edit of the one a silent edit of the
// other.
func (im *image) checkFileOverlap() error {
	var ranges claims
	for i := range im.loads {
		ranges.add(im.loads[i].Off, im.loads[i].Filesz, fmt.Sprintf("PT_LOAD %d", i))
	}
	return ranges.disjoint(im.source)
}

// fileRange is the file offset of n bytes at address vaddr, which must come
// from one PT_LOAD's file range.
func (im *image) fileRange(vaddr, n uint64, what string) (uint64, error) {
	end, ok := rangeEnd(vaddr, n)
	if !ok {
		return 0, im.unsupported(what, "address %#x plus size %#x overflows", vaddr, n)
	}
	for i := range im.loads {
		if s := &im.loads[i]; vaddr >= s.Vaddr && vaddr < s.Vaddr+s.Filesz {
			if end > s.Vaddr+s.Filesz {
				return 0, im.errorf(s.Off+(vaddr-s.Vaddr), what, "%d bytes at address %#x end past the file range of PT_LOAD %d", n, vaddr, i)
			}
			return s.Off + (vaddr - s.Vaddr), nil
		}
	}
	return 0, im.unsupported(what, "address %#x is in no PT_LOAD's file range", vaddr)
}

// writable says whether the PT_LOAD of an address has PF_W.
func (im *image) writable(vaddr uint64) bool {
	return slices.ContainsFunc(im.loads, func(s segment) bool {
		return vaddr >= s.Vaddr && vaddr < s.memEnd() && stdelf.ProgFlag(s.Flags)&stdelf.PF_W != 0
	})
}

// inMemory says whether n bytes at address vaddr, from the file or not, are in
// one PT_LOAD.
func (im *image) inMemory(vaddr, n uint64) bool {
	end, ok := rangeEnd(vaddr, n)
	return ok && slices.ContainsFunc(im.loads, func(s segment) bool {
		return vaddr >= s.Vaddr && end <= s.memEnd()
	})
}

// table is a structure of the file that is held in memory.
type table struct {
	off  uint64 // in the file
	data []byte
}

// table reads n bytes at address vaddr and claims them.
func (im *image) table(vaddr, n uint64, what string) (table, error) {
	off, err := im.fileRange(vaddr, n, what)
	if err != nil {
		return table{}, err
	}
	data, err := im.bytes(off, n, what)
	if err != nil {
		return table{}, err
	}
	im.claims.add(off, n, what)
	return table{off: off, data: data}, nil
}
