package verify

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

const (
	headerSize  = 64
	progSize    = 56
	sectionSize = 64
	dynSize     = 16
	symSize     = 24
)

var le = binary.LittleEndian

// span is a range of a file, in bytes.
type span struct{ off, size uint64 }

func (s span) end() uint64 { return s.off + s.size }

// contains says whether t lies in s. Both must be ranges of a file, so that their ends do not overflow.
func (s span) contains(t span) bool { return s.off <= t.off && t.end() <= s.end() }

// dynEntry is one entry of .dynamic.
type dynEntry struct {
	tag elf.DynTag
	val uint64
}

// symbol is one dynamic symbol by what it means, not by how it is stored: two symbols are interchangeable for a loader
// when their values of this type are equal.
type symbol struct {
	name    string
	value   uint64
	size    uint64
	section uint16
	version uint16 // .gnu.version: index and the hidden bit; versionGlobal where there is no such table
	info    uint8
	other   uint8
}

func (s symbol) defined() bool     { return elf.SectionIndex(s.section) != elf.SHN_UNDEF }
func (s symbol) bind() elf.SymBind { return elf.ST_BIND(s.info) }
func (s symbol) typ() elf.SymType  { return elf.ST_TYPE(s.info) }

// image is a shared object as a loader sees it.
type image struct {
	path string
	file io.ReaderAt
	shut func() error
	size uint64

	header [headerSize]byte
	progs  []elf.Prog64
	last   int // index of the PT_LOAD with the highest address
	dynSeg int // index of PT_DYNAMIC

	dynSpan  span   // .dynamic in the file
	dynTail  []byte // what follows its DT_NULL
	dyn      []dynEntry
	strings  string // the dynamic string table
	strSpan  span
	symtab   span
	versym   span // empty where there is none
	symbols  []symbol
	badNames []int // symbols whose name lies outside the string table

	defs     []versionDef
	needs    []versionNeed
	nodes    map[uint16]versionNode
	versErrs [2]error // damage of verdef and verneed
	sects    []section
	sectSpan span
	sectErr  error // damage of the section header table
}

func openImage(path string) (*image, error) {
	fail := func(err error) (*image, error) {
		return nil, &ReadError{File: path, Structure: "file", Err: err}
	}
	// Opening a FIFO would wait for a writer, so look first.
	st, err := os.Stat(path)
	if err != nil {
		return fail(errors.Unwrap(err))
	}
	if !st.Mode().IsRegular() {
		return fail(fmt.Errorf("not a regular file (%v)", st.Mode().Type()))
	}
	f, err := os.Open(path)
	if err != nil {
		return fail(errors.Unwrap(err))
	}
	im, err := newImage(path, f, uint64(st.Size()))
	if err != nil {
		f.Close()
		return nil, err
	}
	im.shut = f.Close
	return im, nil
}

func (im *image) close() {
	if im.shut != nil {
		im.shut() // read only: there is nothing to lose
	}
}

func newImage(path string, file io.ReaderAt, size uint64) (*image, error) {
	im := &image{path: path, file: file, size: size}
	for _, step := range []func() error{im.readHeader, im.readProgs, im.readDynamic, im.readStrings} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return im, nil
}

func (im *image) failure(off uint64, structure string, err error) error {
	return &ReadError{File: im.path, Offset: off, Structure: structure, Err: err}
}

// read returns n bytes of the file. It allocates only what the file really holds.
func (im *image) read(off, n uint64, structure string) ([]byte, error) {
	if off > im.size || n > im.size-off {
		return nil, im.failure(off, structure, fmt.Errorf("%d bytes end past the end of the file (%d bytes)", n, im.size))
	}
	b := make([]byte, n)
	if _, err := im.file.ReadAt(b, int64(off)); err != nil {
		return nil, im.failure(off, structure, err)
	}
	return b, nil
}

// locate gives the file range of n bytes of memory. Memory that no segment backs with bytes of the file is an error.
func (im *image) locate(addr, n uint64, structure string) (span, error) {
	for _, p := range im.progs {
		if elf.ProgType(p.Type) != elf.PT_LOAD || addr < p.Vaddr {
			continue
		}
		if in := addr - p.Vaddr; in <= p.Filesz && n <= p.Filesz-in {
			return span{p.Off + in, n}, nil
		}
	}
	return span{}, im.failure(0, structure, fmt.Errorf("no PT_LOAD holds the %d bytes at address %#x", n, addr))
}

// rest gives the file range from addr to the end of the segment that holds it, for tables that do not tell their size.
func (im *image) rest(addr uint64, structure string) (span, error) {
	s, err := im.locate(addr, 0, structure)
	if err != nil {
		return span{}, err
	}
	for _, p := range im.progs {
		if elf.ProgType(p.Type) == elf.PT_LOAD && addr >= p.Vaddr && addr-p.Vaddr <= p.Filesz {
			s.size = p.Filesz - (addr - p.Vaddr)
			return s, nil
		}
	}
	return s, nil
}

func (im *image) readAddr(addr, n uint64, structure string) ([]byte, error) {
	s, err := im.locate(addr, n, structure)
	if err != nil {
		return nil, err
	}
	return im.read(s.off, s.size, structure)
}

func (im *image) readHeader() error {
	const what = "ELF header"
	b, err := im.read(0, headerSize, what)
	if err != nil {
		return err
	}
	copy(im.header[:], b)
	bad := func(off uint64, format string, args ...any) error {
		return im.failure(off, what, fmt.Errorf(format, args...))
	}
	switch {
	case string(b[:4]) != elf.ELFMAG:
		return bad(0, "no ELF magic number")
	case elf.Class(b[elf.EI_CLASS]) != elf.ELFCLASS64:
		return bad(elf.EI_CLASS, "%v where ELFCLASS64 was expected", elf.Class(b[elf.EI_CLASS]))
	case elf.Data(b[elf.EI_DATA]) != elf.ELFDATA2LSB:
		return bad(elf.EI_DATA, "%v where ELFDATA2LSB was expected", elf.Data(b[elf.EI_DATA]))
	case elf.Type(le.Uint16(b[16:])) != elf.ET_DYN:
		return bad(16, "%v where ET_DYN was expected", elf.Type(le.Uint16(b[16:])))
	case elf.Machine(le.Uint16(b[18:])) != elf.EM_X86_64:
		return bad(18, "%v where EM_X86_64 was expected", elf.Machine(le.Uint16(b[18:])))
	case le.Uint16(b[54:]) != progSize:
		return bad(54, "program headers of %d bytes where %d were expected", le.Uint16(b[54:]), progSize)
	}
	return nil
}

func (im *image) phoff() uint64 { return le.Uint64(im.header[32:]) }
func (im *image) shoff() uint64 { return le.Uint64(im.header[40:]) }

func (im *image) readProgs() error {
	const what = "program header table"
	n := uint64(le.Uint16(im.header[56:]))
	b, err := im.read(im.phoff(), n*progSize, what)
	if err != nil {
		return err
	}
	im.last, im.dynSeg = -1, -1
	for i := range int(n) {
		p := decodeProg(b[i*progSize:])
		im.progs = append(im.progs, p)
		switch elf.ProgType(p.Type) {
		case elf.PT_LOAD:
			if p.Off > im.size || p.Filesz > im.size-p.Off {
				return im.failure(im.phoff()+uint64(i)*progSize, what, fmt.Errorf(
					"PT_LOAD at file range %#x+%#x ends past the end of the file (%d bytes)", p.Off, p.Filesz, im.size))
			}
			if im.last < 0 || p.Vaddr >= im.progs[im.last].Vaddr {
				im.last = i
			}
		case elf.PT_DYNAMIC:
			if im.dynSeg >= 0 {
				return im.failure(im.phoff()+uint64(i)*progSize, what, errors.New("a second PT_DYNAMIC"))
			}
			im.dynSeg = i
		}
	}
	if im.last < 0 {
		return im.failure(im.phoff(), what, errors.New("no PT_LOAD"))
	}
	if im.dynSeg < 0 {
		return im.failure(im.phoff(), what, errors.New("no PT_DYNAMIC: not a dynamic object"))
	}
	return nil
}

func decodeProg(b []byte) elf.Prog64 {
	return elf.Prog64{
		Type: le.Uint32(b), Flags: le.Uint32(b[4:]), Off: le.Uint64(b[8:]), Vaddr: le.Uint64(b[16:]),
		Paddr: le.Uint64(b[24:]), Filesz: le.Uint64(b[32:]), Memsz: le.Uint64(b[40:]), Align: le.Uint64(b[48:]),
	}
}

func (im *image) readDynamic() error {
	const what = "dynamic section"
	p := im.progs[im.dynSeg]
	s, err := im.locate(p.Vaddr, p.Filesz, what)
	if err != nil {
		return err
	}
	b, err := im.read(s.off, s.size, what)
	if err != nil {
		return err
	}
	im.dynSpan = s
	for ; len(b) >= dynSize; b = b[dynSize:] {
		e := dynEntry{elf.DynTag(int64(le.Uint64(b))), le.Uint64(b[8:])}
		if e.tag == elf.DT_NULL {
			// Its d_un is ignored, yet it is not the rewriter's to write.
			im.dynTail = b[8:]
			return nil
		}
		im.dyn = append(im.dyn, e)
	}
	return im.failure(s.off, what, errors.New("no DT_NULL ends it"))
}

// dynValue gives the value of a tag. Where a tag occurs more than once the last one counts, as it does for the loader.
func (im *image) dynValue(tag elf.DynTag) (uint64, bool) {
	for i := len(im.dyn) - 1; i >= 0; i-- {
		if im.dyn[i].tag == tag {
			return im.dyn[i].val, true
		}
	}
	return 0, false
}

func (im *image) mustValue(tag elf.DynTag) (uint64, error) {
	v, ok := im.dynValue(tag)
	if !ok {
		return 0, im.failure(im.dynSpan.off, "dynamic section", fmt.Errorf("no %v", tag))
	}
	return v, nil
}

func (im *image) readStrings() error {
	const what = "dynamic string table (DT_STRTAB)"
	addr, err := im.mustValue(elf.DT_STRTAB)
	if err != nil {
		return err
	}
	size, err := im.mustValue(elf.DT_STRSZ)
	if err != nil {
		return err
	}
	if im.strSpan, err = im.locate(addr, size, what); err != nil {
		return err
	}
	var b strings.Builder
	b.Grow(int(size))
	if _, err := io.Copy(&b, io.NewSectionReader(im.file, int64(im.strSpan.off), int64(size))); err != nil {
		return im.failure(im.strSpan.off, what, err)
	}
	im.strings = b.String()
	return nil
}

// text returns the string at an offset of the dynamic string table.
func (im *image) text(off uint64) (string, bool) {
	if off >= uint64(len(im.strings)) {
		return "", false
	}
	s := im.strings[off:]
	n := strings.IndexByte(s, 0)
	if n < 0 {
		return "", false
	}
	return s[:n], true
}

// quoted returns the string at an offset of the dynamic string table for comparison and for messages. A bad offset gives
// text that no string table can hold.
func (im *image) quoted(off uint64) string {
	if s, ok := im.text(off); ok {
		return s
	}
	return fmt.Sprintf("\x00offset %#x, outside DT_STRTAB", off)
}

// countSymbols finds the number of dynamic symbols, which no entry of .dynamic gives. DT_HASH states it. DT_GNU_HASH ends
// with the last symbol, unless it hashes none: then the section headers tell, and without them the highest index that a
// relocation uses is all that a loader can ever see.
func (im *image) countSymbols() (uint64, error) {
	if addr, ok := im.dynValue(elf.DT_HASH); ok {
		b, err := im.readAddr(addr, 8, "hash table (DT_HASH)")
		if err != nil {
			return 0, err
		}
		return uint64(le.Uint32(b[4:])), nil
	}
	addr, ok := im.dynValue(elf.DT_GNU_HASH)
	if !ok {
		return 0, im.failure(im.dynSpan.off, "dynamic section", errors.New("neither DT_HASH nor DT_GNU_HASH: no symbol can be looked up"))
	}
	head, err := im.readGNUHead(addr)
	if err != nil {
		return 0, err
	}
	n, hashes, err := im.countGNU(addr, head)
	if err != nil || hashes {
		return n, err
	}
	symtab, err := im.mustValue(elf.DT_SYMTAB)
	if err != nil {
		return 0, err
	}
	if s, _, err := im.readSections(); err == nil {
		for _, h := range s {
			if elf.SectionType(h.Type) == elf.SHT_DYNSYM && h.Addr == symtab {
				return max(n, h.Size/symSize), nil
			}
		}
	}
	err = im.eachRelocation(func(r relocation) { n = max(n, uint64(r.symbol())+1) })
	return n, err
}

// nameFactor bounds the bytes of all symbol names together, in sizes of the string table. Linkers share strings and
// their ends, so names may add up to more than the table; but a table without terminators would make every name as long
// as the table, and reading it would take for ever.
const nameFactor = 64

func (im *image) loadSymbols(count uint64) error {
	const what = "dynamic symbol table (DT_SYMTAB)"
	if count > im.size/symSize {
		return im.failure(im.dynSpan.off, what, fmt.Errorf("%d symbols do not fit a file of %d bytes", count, im.size))
	}
	addr, err := im.mustValue(elf.DT_SYMTAB)
	if err != nil {
		return err
	}
	if im.symtab, err = im.locate(addr, count*symSize, what); err != nil {
		return err
	}
	b, err := im.read(im.symtab.off, im.symtab.size, what)
	if err != nil {
		return err
	}
	var versions []byte
	if addr, ok := im.dynValue(elf.DT_VERSYM); ok {
		const what = "symbol version table (DT_VERSYM)"
		if im.versym, err = im.locate(addr, count*2, what); err != nil {
			return err
		}
		if versions, err = im.read(im.versym.off, im.versym.size, what); err != nil {
			return err
		}
	}
	im.symbols = make([]symbol, count)
	budget := nameFactor*uint64(len(im.strings)) + 1<<16
	for i := range im.symbols {
		e := b[i*symSize:]
		s := symbol{
			info: e[4], other: e[5], section: le.Uint16(e[6:]), value: le.Uint64(e[8:]), size: le.Uint64(e[16:]),
			version: versionGlobal,
		}
		if versions != nil {
			s.version = le.Uint16(versions[2*i:])
		}
		name := uint64(le.Uint32(e))
		if _, ok := im.text(name); !ok {
			im.badNames = append(im.badNames, i)
		}
		s.name = im.quoted(name)
		if uint64(len(s.name)) > budget {
			return im.failure(im.strSpan.off, "dynamic string table (DT_STRTAB)", fmt.Errorf(
				"the names of the first %d symbols are %d times longer than the table: terminators are missing", i, nameFactor))
		}
		budget -= uint64(len(s.name))
		im.symbols[i] = s
	}
	return nil
}
