package elf

import (
	stdelf "debug/elf"
)

// patch is content for a place in the output. Below the end of the last
// PT_LOAD's old file range, output offsets are input offsets.
type patch struct {
	off  uint64
	data []byte
}

// plan is everything that distinguishes the output from the input.
type plan struct {
	patches  []patch
	insert   uint64 // input offset at which the file grows
	shift    uint64 // by how many bytes
	newIndex []uint32
	rel      *relocations
	result   Result
}

// spareEntries are DT_NULLs that a moved .dynamic gets for later edits.
const spareEntries = 4

// tailAlign is the alignment of what is put behind .bss. Elf64_Dyn needs 8.
const tailAlign = 16

// grow plans the tail of the last PT_LOAD:
//
//	old file range | .bss as zeros | .dynamic, if it moves | .dynstr
//
// with .dynstr last, so that a later edit only appends to it. Then the bytes
// behind the segment follow, moved back by a distance that keeps their
// alignment.
func (p *plan) grow(im *image, d *dynamic, strs *strtab, secs *sections) error {
	last := im.last()
	bss := last.Memsz - last.Filesz
	p.insert = last.fileEnd()
	if err := canGrow(im, last); err != nil {
		return err
	}
	align, err := secs.movable(im, last, p.insert)
	if err != nil {
		return err
	}

	at := func(addr uint64) uint64 { return last.Off + (addr - last.Vaddr) }
	addr := last.memEnd()
	atEnd := bss == 0 && strs.off+uint64(len(strs.data)) == p.insert
	strSec := secs.at(stdelf.SHT_STRTAB, strs.vaddr)
	dynSec := secs.at(stdelf.SHT_DYNAMIC, im.dynamic.Vaddr)
	strAlign, err := secs.alignment(im, strSec)
	if err != nil {
		return err
	}
	dynAlign, err := secs.alignment(im, dynSec)
	if err != nil {
		return err
	}
	newStr := strs.vaddr
	if atEnd {
		p.add(at(addr), strs.added)
		addr += uint64(len(strs.added))
	}
	if !d.fits() {
		if !im.writable(im.dynamic.Vaddr) || !im.writable(last.Vaddr) {
			return &EditError{Path: im.path, What: ".dynamic", Msg: "has no room for another entry, and cannot move from and to where the loader can write; link with GNU ld, which leaves room, or without -z rodynamic"}
		}
		addr, _ = alignUp(addr, max(tailAlign, dynAlign))
		slots := len(d.entries) + 1 + spareEntries
		p.moveDynamic(im, d, dynSec, at(addr), addr, uint64(slots)*dynSize)
		addr += uint64(slots) * dynSize
	}
	if !atEnd && len(strs.added) > 0 {
		addr, _ = alignUp(addr, max(tailAlign, strAlign))
		newStr = addr
		p.add(at(addr), strs.data)
		p.add(at(addr)+uint64(len(strs.data)), strs.added)
		addr += strs.size()
	}
	d.set(stdelf.DT_STRTAB, newStr)
	d.set(stdelf.DT_STRSZ, strs.size())
	if strSec != nil {
		strSec.Addr, strSec.Off, strSec.Size = newStr, strs.off, strs.size()
		if newStr != strs.vaddr {
			strSec.Off = at(newStr)
		}
	}

	size := addr - last.Vaddr
	p.shift = at(addr) - p.insert
	if p.insert < im.size {
		p.shift, _ = alignUp(p.shift, align)
	}
	p.add(last.headerOff+progFilesz, words(size, size)) // p_filesz, p_memsz
	p.result.BSS = int64(bss)
	return p.moveSections(im, secs, last)
}

// canGrow says whether the last PT_LOAD is also the last in the file.
func canGrow(im *image, last *segment) error {
	const what = "last PT_LOAD"
	insert := last.fileEnd()
	for i := range im.loads[:len(im.loads)-1] {
		if s := &im.loads[i]; s.Filesz > 0 && s.fileEnd() > insert {
			return im.errorf(last.headerOff, what, "the file range of PT_LOAD %d, up to %#x, lies behind its end %#x: it cannot grow", i, s.fileEnd(), insert)
		}
	}
	for _, s := range im.others {
		if s.Filesz > 0 && s.fileEnd() > insert {
			return im.errorf(s.headerOff, "program header table", "the file range of a %v, up to %#x, lies behind the end %#x of the last PT_LOAD, which has to grow", stdelf.ProgType(s.Type), s.fileEnd(), insert)
		}
	}
	if end := im.header.Phoff + uint64(im.header.Phnum)*progSize; end > insert {
		return im.errorf(im.header.Phoff, "program header table", "lies behind the end %#x of the last PT_LOAD, which has to grow", insert)
	}
	if bss := last.Memsz - last.Filesz; bss > maxBSS {
		return im.errorf(last.headerOff, what, "%d bytes of .bss would have to be written out as zeros; the limit is %d", bss, uint64(maxBSS))
	}
	// User space on x86-64 ends far below; what follows cannot overflow.
	if last.memEnd() > 1<<62 {
		return im.errorf(last.headerOff, what, "address %#x is out of range", last.memEnd())
	}
	return nil
}

// moveDynamic moves .dynamic and the headers that lead to it. Its content is
// added with that of every other edit, by finish.
func (p *plan) moveDynamic(im *image, d *dynamic, sec *stdelf.Section64, off, vaddr, size uint64) {
	ph := &im.dynamic
	p.add(ph.headerOff+progOff, words(off, vaddr, ph.Paddr+(vaddr-ph.Vaddr), size, size))
	if sec != nil {
		sec.Off, sec.Addr, sec.Size = off, vaddr, size
	}
	d.off, d.room = off, int(size/dynSize)-1
	d.changed = true
	p.result.DynamicMoved = true
}

func (p *plan) moveSections(im *image, secs *sections, last *segment) error {
	if secs.off == 0 {
		return nil
	}
	secs.shift(last, p.insert, p.shift)
	content, err := secs.encode()
	if err != nil {
		return err
	}
	off := secs.off
	if off >= p.insert {
		off += p.shift
		p.add(headerShoff, words(off))
	}
	p.add(off, content)
	return nil
}

func (p *plan) add(off uint64, data []byte) {
	if len(data) > 0 {
		p.patches = append(p.patches, patch{off, data})
	}
}

// words encodes 64-bit fields.
func words(vals ...uint64) []byte {
	var b []byte
	for _, v := range vals {
		b = le.AppendUint64(b, v)
	}
	return b
}

// word encodes a 32-bit field.
func word(v uint32) []byte { return le.AppendUint32(nil, v) }
