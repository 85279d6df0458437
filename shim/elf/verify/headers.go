package verify

import (
	"bytes"
	"debug/elf"
	"fmt"
)

// shoffField is the place of e_shoff in the ELF header.
var shoffField = span{40, 8}

// headers compares the ELF header and the program headers. An edit may move the section header table, let the last
// PT_LOAD grow, and move PT_DYNAMIC into what grew.
func (c *comparison) headers() (Check, error) {
	k := Check{Name: CheckHeaders}
	s, e := c.stock, c.edited

	for off := uint64(0); off < headerSize; off++ {
		if off == shoffField.off {
			off = shoffField.end()
		}
		k.Compared++
		if s.header[off] != e.header[off] {
			k.finding("ELF header: byte %d is %#02x, stock has %#02x", off, e.header[off], s.header[off])
		}
	}
	if (s.shoff() == 0) != (e.shoff() == 0) {
		k.finding("ELF header: e_shoff is %#x, stock has %#x", e.shoff(), s.shoff())
	}

	if len(s.progs) != len(e.progs) {
		k.finding("%d program headers, stock has %d", len(e.progs), len(s.progs))
		return k, nil
	}
	for i, p := range e.progs {
		k.Compared++
		c.program(&k, i, s.progs[i], p)
	}
	c.segments(&k)
	return k, nil
}

// program compares one program header with its original.
func (c *comparison) program(k *Check, i int, s, e elf.Prog64) {
	if s == e {
		return
	}
	allowed := s
	switch {
	case i == c.stock.last:
		allowed.Filesz, allowed.Memsz = e.Filesz, e.Memsz
		if e.Filesz != e.Memsz || e.Memsz < s.Memsz {
			k.finding("program header %d: the last PT_LOAD has p_filesz %#x and p_memsz %#x; grown from %#x and %#x, both must be the same and no smaller",
				i, e.Filesz, e.Memsz, s.Filesz, s.Memsz)
		}
	case i == c.stock.dynSeg && e.Vaddr != s.Vaddr:
		allowed.Off, allowed.Vaddr, allowed.Filesz, allowed.Memsz = e.Off, e.Vaddr, e.Filesz, e.Memsz
		allowed.Paddr = e.Vaddr + (s.Paddr - s.Vaddr)
		at := span{e.Off, e.Filesz}
		if e.Filesz > c.edited.size || e.Off > c.edited.size || !c.layout.tail.contains(at) {
			k.finding("program header %d: PT_DYNAMIC moved to file range %#x+%#x, outside the tail of the last PT_LOAD %v",
				i, e.Off, e.Filesz, c.layout.tail)
		}
		if e.Filesz != e.Memsz || e.Vaddr%8 != 0 {
			k.finding("program header %d: moved PT_DYNAMIC has address %#x, p_filesz %#x, p_memsz %#x", i, e.Vaddr, e.Filesz, e.Memsz)
		}
		// The loader relocates .dynamic in place.
		if w := elf.PF_W; c.stock.flagsAt(s.Vaddr)&w != c.edited.flagsAt(e.Vaddr)&w {
			k.finding("program header %d: PT_DYNAMIC moved between a writable and a read-only segment", i)
		}
	}
	if allowed != e {
		k.finding("program header %d (%v) differs: %s, stock has %s", i, elf.ProgType(s.Type), describeProg(e), describeProg(s))
	}
}

func describeProg(p elf.Prog64) string {
	return fmt.Sprintf("type %v flags %v offset %#x address %#x/%#x filesz %#x memsz %#x align %#x",
		elf.ProgType(p.Type), elf.ProgFlag(p.Flags), p.Off, p.Vaddr, p.Paddr, p.Filesz, p.Memsz, p.Align)
}

// flagsAt gives the protection of the segment that holds an address.
func (im *image) flagsAt(addr uint64) elf.ProgFlag {
	for _, p := range im.progs {
		if elf.ProgType(p.Type) == elf.PT_LOAD && addr >= p.Vaddr && addr-p.Vaddr < p.Memsz {
			return elf.ProgFlag(p.Flags)
		}
	}
	return 0
}

// segments checks what must hold for the edited file's segments together.
func (c *comparison) segments(k *Check) {
	e := c.edited
	previous := -1
	for i, p := range e.progs {
		if p.Filesz > 0 && (p.Off > e.size || p.Filesz > e.size-p.Off) {
			k.finding("program header %d (%v): file range %#x+%#x ends past the end of the file (%#x)",
				i, elf.ProgType(p.Type), p.Off, p.Filesz, e.size)
		}
		if elf.ProgType(p.Type) != elf.PT_LOAD {
			continue
		}
		if p.Align > 1 && (p.Align&(p.Align-1) != 0 || (p.Off-p.Vaddr)%p.Align != 0) {
			k.finding("program header %d: offset %#x and address %#x do not agree modulo the alignment %#x", i, p.Off, p.Vaddr, p.Align)
		}
		if p.Filesz > p.Memsz || p.Vaddr+p.Memsz < p.Vaddr {
			k.finding("program header %d: p_filesz %#x, p_memsz %#x at address %#x is no segment", i, p.Filesz, p.Memsz, p.Vaddr)
		}
		if previous >= 0 {
			if q := e.progs[previous]; p.Vaddr < q.Vaddr+q.Memsz {
				k.finding("program headers %d and %d: PT_LOAD segments overlap or are out of order", previous, i)
			}
		}
		previous = i
		if i != e.last && p.Filesz > 0 && p.Off < c.layout.newEnd && p.Off+p.Filesz > c.layout.oldEnd {
			k.finding("program header %d: its file range %#x+%#x lies where the last PT_LOAD grew", i, p.Off, p.Filesz)
		}
	}
	// The loader goes by address and everything else by offset; both must mean the same bytes.
	if d := e.progs[e.dynSeg]; d.Off != e.dynSpan.off {
		k.finding("PT_DYNAMIC has file offset %#x, but its address is at %#x of the file", d.Off, e.dynSpan.off)
	}
}

// notes compares the note segments note by note. The bytes check sees the same bytes; this one says what they are.
func (c *comparison) notes() (Check, error) {
	k := Check{Name: CheckNotes, Absent: true}
	for i, p := range c.stock.progs {
		if elf.ProgType(p.Type) != elf.PT_NOTE || p.Filesz == 0 { // objcopy leaves an empty one where it removes the last note
			continue
		}
		k.Absent = false
		if p.Filesz > maxNotes {
			k.finding("program header %d: a note segment of %d bytes is not read", i, p.Filesz)
			continue
		}
		stock, err := c.stock.read(p.Off, p.Filesz, "note segment")
		if err != nil {
			return k, err
		}
		edited, err := c.edited.read(p.Off, p.Filesz, "note segment")
		if err != nil {
			return k, err
		}
		align := uint64(4)
		if p.Align == 8 {
			align = 8
		}
		for len(stock) > 0 {
			n, name := noteSize(stock, align)
			if !bytes.Equal(stock[:n], edited[:n]) {
				k.finding("%s at file offset %#x differs: %x, stock has %x", name, p.Off+p.Filesz-uint64(len(stock)), clip(edited[:n]), clip(stock[:n]))
			}
			k.Compared++
			stock, edited = stock[n:], edited[n:]
		}
	}
	return k, nil
}

// maxNotes bounds the size of a note segment that is read as a whole.
const maxNotes = 16 << 20

// noteSize gives the size of the first note, descriptor and padding included, and what to call it. What is no note is
// taken whole.
func noteSize(b []byte, align uint64) (int, string) {
	if len(b) < 12 {
		return len(b), "note"
	}
	up := func(n uint64) uint64 { return (n + align - 1) &^ (align - 1) }
	nameLen, descLen, typ := uint64(le.Uint32(b)), uint64(le.Uint32(b[4:])), le.Uint32(b[8:])
	total := up(up(12+nameLen) + descLen)
	if total > uint64(len(b)) {
		return len(b), "note"
	}
	name := string(bytes.TrimRight(b[12:12+nameLen], "\x00"))
	if name == "GNU" && typ == 3 { // NT_GNU_BUILD_ID
		return int(total), "build-id"
	}
	return int(total), fmt.Sprintf("note %q type %#x", name, typ)
}

func clip(b []byte) []byte { return b[:min(len(b), 48)] }
