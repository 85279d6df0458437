package verify

import (
	"bytes"
	"cmp"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"slices"
)

// layout says how the bytes of the two files correspond.
//
// Up to the end of the last PT_LOAD's file bytes they have the same offsets. There, in the edited file, follow the zeros
// that were only memory before, then the tail with the new tables. What stock has behind that segment (sections that are
// not loaded, the section header table) follows, moved by one distance.
type layout struct {
	oldEnd, newEnd uint64 // file offset of the end of the last PT_LOAD's file bytes
	bss            span   // memory that became file bytes
	tail           span   // what else the last PT_LOAD gained
	shift          uint64 // by how much what follows moved
	shiftErr       error  // it did not move by one distance
	dynMoved       bool
}

func (l layout) grew() bool { return l.newEnd > l.oldEnd }

func (s span) String() string { return fmt.Sprintf("%#x-%#x", s.off, s.end()) }

func overlap(a, b span) bool {
	return a.size > 0 && b.size > 0 && a.off < b.end() && b.off < a.end()
}

func (c *comparison) findLayout() layout {
	s, e := c.stock, c.edited
	p := s.progs[s.last]
	l := layout{
		oldEnd:   p.Off + p.Filesz,
		dynMoved: e.progs[e.dynSeg].Vaddr != s.progs[s.dynSeg].Vaddr,
	}
	l.newEnd = l.oldEnd
	if s.last < len(e.progs) {
		if q := e.progs[s.last]; q.Type == p.Type && q.Off == p.Off && q.Filesz > p.Filesz {
			l.newEnd = q.Off + q.Filesz
		}
	}
	l.bss = span{l.oldEnd, min(l.newEnd-l.oldEnd, p.Memsz-min(p.Filesz, p.Memsz))}
	l.tail = span{l.bss.end(), l.newEnd - l.bss.end()}
	l.shift, l.shiftErr = c.findShift(l)
	return l
}

// findShift finds the distance by which most of the sections behind the last PT_LOAD moved. Those that moved by another
// one show as different bytes. Without such sections the ends of the files tell.
func (c *comparison) findShift(l layout) (uint64, error) {
	s, e := c.stock, c.edited
	votes := map[uint64]int{}
	best := uint64(0)
	for i := range min(len(s.sects), len(e.sects)) {
		a, b := s.sects[i], e.sects[i]
		if a.inFile() && elf.SectionFlag(a.Flags)&elf.SHF_ALLOC == 0 && a.Size > 0 && a.Off >= l.oldEnd && b.Off >= a.Off {
			d := b.Off - a.Off
			votes[d]++
			if best == 0 && votes[best] == 0 || votes[d] > votes[best] {
				best = d
			}
		}
	}
	if len(votes) == 0 {
		if e.size < s.size {
			return 0, fmt.Errorf("the file has %d bytes, stock has %d", e.size, s.size)
		}
		best = e.size - s.size
		if s.sectSpan.size > 0 && s.sectSpan.off >= l.oldEnd && e.sectSpan.off >= s.sectSpan.off {
			// The section header table may have been aligned anew, so let what lies before it decide.
			best = l.newEnd - l.oldEnd
		}
	}
	if best < l.newEnd-l.oldEnd {
		return best, fmt.Errorf("what follows the last PT_LOAD moved by %#x bytes, but that segment grew by %#x", best, l.newEnd-l.oldEnd)
	}
	return best, nil
}

// mask is a range of stock whose bytes may differ, because another check looks at what they mean.
type mask struct {
	span
	// stride, when it is not 0, restricts the mask to the bytes [at, at+width) of each stride bytes.
	stride, at, width uint64
}

// hide zeroes the masked bytes of a buffer that holds the file from offset off on.
func (m mask) hide(b []byte, off uint64) {
	from, to := max(m.off, off), min(m.end(), off+uint64(len(b)))
	if from >= to {
		return
	}
	if m.stride == 0 {
		clear(b[from-off : to-off])
		return
	}
	for at := m.off + (from-m.off)/m.stride*m.stride; at < to; at += m.stride {
		lo, hi := max(at+m.at, from), min(at+m.at+m.width, to)
		if lo < hi {
			clear(b[lo-off : hi-off])
		}
	}
}

// masks lists what may change in place: the closed list of places where an edit writes.
func (c *comparison) masks() ([]mask, error) {
	s := c.stock
	all := func(at ...span) (m []mask) {
		for _, s := range at {
			m = append(m, mask{span: s})
		}
		return m
	}
	m := all(shoffField, s.symtab, s.versym, s.sectSpan)
	prog := func(i int, at, size uint64) { m = append(m, all(span{s.phoff() + uint64(i)*progSize + at, size})...) }
	prog(s.last, 32, 16) // p_filesz, p_memsz
	if c.layout.dynMoved {
		prog(s.dynSeg, 8, 40) // p_offset to p_memsz
	} else {
		m = append(m, mask{span: s.dynSpan})
	}

	if addr, ok := s.dynValue(elf.DT_GNU_HASH); ok {
		head, err := s.readGNUHead(addr)
		if err != nil {
			return nil, err
		}
		t, err := s.loadGNU(addr, head)
		if err != nil {
			return nil, err
		}
		at, err := s.locate(addr, t.size(), gnuWhat)
		if err != nil {
			return nil, err
		}
		m = append(m, mask{span: at})
	}
	if addr, ok := s.dynValue(elf.DT_HASH); ok {
		t, err := s.loadSysV(addr)
		if err != nil {
			return nil, err
		}
		at, err := s.locate(addr, t.size(), sysvWhat)
		if err != nil {
			return nil, err
		}
		m = append(m, mask{span: at})
	}

	tables, err := s.relocTables()
	if err != nil {
		return nil, err
	}
	for _, t := range tables {
		m = append(m, mask{span: t.span, stride: t.entry, at: 12, width: 4}) // the symbol's half of r_info
	}

	for _, d := range s.defs {
		if d.base() && c.want.SONAME != "" {
			m = append(m, all(d.hashSpan, d.nameSpan)...)
		}
	}
	for _, n := range s.needs {
		if _, ok := c.want.Needed[n.file]; ok {
			m = append(m, mask{span: n.fileSpan})
		}
	}
	return m, nil
}

// bytes compares every byte of the two files, but for those that the masks leave to other checks.
func (c *comparison) bytes() (Check, error) {
	k := Check{Name: CheckBytes}
	s, e, l := c.stock, c.edited, c.layout
	masks, err := c.masks()
	if err != nil {
		return k, err
	}
	if l.shiftErr != nil {
		k.finding("%v", l.shiftErr)
	}
	buffer := min(chunk, max(s.size, e.size))
	d := differ{c: c, k: &k, masks: masks, a: make([]byte, buffer), b: make([]byte, buffer)}
	if err := d.same(span{0, l.oldEnd}, 0); err != nil {
		return k, err
	}
	if err := d.zero(l.bss, "memory that became file bytes"); err != nil {
		return k, err
	}

	// Behind the last PT_LOAD. The section header table is compared by its meaning, and the place it moved to may be
	// aligned anew.
	covered := []span{e.sectSpan}
	err = s.eachHole(span{l.oldEnd, s.size - l.oldEnd}, []span{s.sectSpan}, func(at span) error {
		covered = append(covered, span{at.off + l.shift, at.size})
		return d.same(at, l.shift)
	})
	if err != nil {
		return k, err
	}
	err = e.eachHole(span{l.newEnd, e.size - min(l.newEnd, e.size)}, covered, func(at span) error {
		if at.size > c.padding() {
			k.finding("file range %v has no counterpart in stock", at)
		}
		return d.zero(at, "padding")
	})
	return k, err
}

// padding bounds what may lie between two moved parts: what aligning either of them can take.
func (c *comparison) padding() uint64 {
	n := c.stock.progs[c.stock.last].Align
	for _, h := range c.stock.sects {
		n = max(n, h.Addralign)
	}
	return min(max(n, 64), 1<<16)
}

// eachHole calls f for the parts of a range that none of the taken ranges covers.
func (im *image) eachHole(in span, taken []span, f func(span) error) error {
	taken = slices.Clone(taken)
	slices.SortFunc(taken, func(a, b span) int { return cmp.Compare(a.off, b.off) })
	at := in.off
	for _, t := range taken {
		if t.size == 0 || t.end() <= at {
			continue
		}
		if t.off >= in.end() {
			break
		}
		if t.off > at {
			if err := f(span{at, t.off - at}); err != nil {
				return err
			}
		}
		at = t.end()
	}
	if at < in.end() {
		return f(span{at, in.end() - at})
	}
	return nil
}

// chunk bounds the buffers that the files are streamed through.
const chunk = 1 << 20

// differ compares ranges of the two files.
type differ struct {
	c     *comparison
	k     *Check
	masks []mask
	a, b  []byte
}

// fill reads a range of a file. A file that ends early was checked to be longer, so it is changing under us.
func (im *image) fill(b []byte, off uint64) error {
	n, err := im.file.ReadAt(b, int64(off))
	if n == len(b) || err == nil {
		return nil
	}
	if errors.Is(err, io.EOF) {
		err = errors.New("the file became shorter while it was read")
	}
	return im.failure(off, "file", err)
}

// same compares a range of stock with the one of the edited file that lies shift bytes further on.
func (d *differ) same(at span, shift uint64) error {
	e := d.c.edited
	if at.end()+shift < at.end() || at.end()+shift > e.size {
		d.k.finding("stock's file range %v should be at %#x, where the file (%#x bytes) has ended", at, at.off+shift, e.size)
		return nil
	}
	for at.size > 0 {
		n := min(at.size, uint64(len(d.a)))
		a, b := d.a[:n], d.b[:n]
		if err := d.c.stock.fill(a, at.off); err != nil {
			return err
		}
		if err := e.fill(b, at.off+shift); err != nil {
			return err
		}
		d.k.Compared += int(n)
		if !bytes.Equal(a, b) {
			for _, m := range d.masks {
				m.hide(a, at.off)
				m.hide(b, at.off)
			}
			d.report(a, b, at.off, shift)
		}
		at = span{at.off + n, at.size - n}
	}
	return nil
}

// report makes one finding of each run of different bytes.
func (d *differ) report(a, b []byte, off, shift uint64) {
	for i := 0; i < len(a); i++ {
		if a[i] == b[i] {
			continue
		}
		j := i + 1
		for j < len(a) && a[j] != b[j] {
			j++
		}
		at := span{off + uint64(i), uint64(j - i)}
		d.k.finding("file range %v%s differs: %x, stock has %x", span{at.off + shift, at.size}, d.c.stock.sectionAt(at.off), clip(b[i:j]), clip(a[i:j]))
		i = j
	}
}

// zero wants a range of the edited file to be zeros.
func (d *differ) zero(at span, what string) error {
	d.k.Compared += int(at.size)
	return d.c.edited.eachNonZero(at, d.b, func(off uint64) {
		d.k.finding("%s has a byte that is not zero at file offset %#x", what, off)
	})
}

// eachNonZero streams a range of a file through a buffer, and calls f with the offset of the first byte of each buffer that
// is not zero.
func (im *image) eachNonZero(at span, buffer []byte, f func(off uint64)) error {
	for at.size > 0 {
		n := min(at.size, uint64(len(buffer)))
		if err := im.fill(buffer[:n], at.off); err != nil {
			return err
		}
		if rest := bytes.TrimLeft(buffer[:n], "\x00"); len(rest) > 0 {
			f(at.off + n - uint64(len(rest)))
		}
		at = span{at.off + n, at.size - n}
	}
	return nil
}
