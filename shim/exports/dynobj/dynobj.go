// Package dynobj reads an ELF64 x86-64 dynamic object the way the loader sees it: from the program headers and
// PT_DYNAMIC alone.
//
// Section headers are never consulted, so a library whose section headers were stripped (sstrip) reads the same as the
// library it was made from, and section headers that disagree with the dynamic section cannot mislead a caller. The
// package knows ELF and nothing about MIOpen; it never writes. Every count and address in the file is checked against
// the file's size before it is used: bad input yields a *FormatError, never a panic and never an allocation larger
// than the file.
//
// It shares no code with the rewriter of package elf, on purpose: what the rewriter writes is read back here.
package dynobj

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
)

// FormatError says that a file is not an ELF64 x86-64 dynamic object that this package can read, or that one of its
// structures is damaged.
type FormatError struct {
	Path      string // the file, as it was named to Open
	Structure string // the ELF structure that was being read, e.g. "program header" or "DT_GNU_HASH"
	Offset    int64  // file offset of the structure; -1 when it has none
	Reason    string
}

func (e *FormatError) Error() string {
	if e.Offset < 0 {
		return fmt.Sprintf("%s: %s: %s", e.Path, e.Structure, e.Reason)
	}
	return fmt.Sprintf("%s: %s at file offset %#x: %s", e.Path, e.Structure, e.Offset, e.Reason)
}

// Symbol is one dynamic symbol with its version.
type Symbol struct {
	Index      uint32 // index in DT_SYMTAB
	Name       string
	Node       string // version node; empty when the symbol is unversioned or at the base version
	Hidden     bool   // not the default version of its name (name@NODE rather than name@@NODE)
	From       string // for an undefined, versioned symbol: the file that DT_VERNEED names
	Bind       elf.SymBind
	Type       elf.SymType
	Visibility elf.SymVis
	Section    elf.SectionIndex
	Value      uint64
	Size       uint64
}

// Defined reports whether the object itself defines the symbol.
func (s Symbol) Defined() bool { return s.Section != elf.SHN_UNDEF }

// Exported reports whether other objects can bind to the symbol: defined, global or weak (or unique), and not hidden
// by its visibility.
func (s Symbol) Exported() bool {
	global := s.Bind == elf.STB_GLOBAL || s.Bind == elf.STB_WEAK || s.Bind == stbGNUUnique
	visible := s.Visibility == elf.STV_DEFAULT || s.Visibility == elf.STV_PROTECTED
	return s.Defined() && global && visible
}

// stbGNUUnique is STB_GNU_UNIQUE of the GNU extensions, which debug/elf has no name for. GNU C++ uses it for inline
// statics; the loader treats it as global.
const stbGNUUnique = elf.SymBind(10)

// VersionDef is one version node that the object defines. The base definition, which carries the file's own name, is
// not listed.
type VersionDef struct {
	Name    string
	Parents []string // the nodes it inherits from, in file order
	Weak    bool     // VER_FLG_WEAK: no symbol is needed from it
}

// VersionNeed is the set of version nodes that the object requires of one file.
type VersionNeed struct {
	File  string // a DT_NEEDED name
	Nodes []NeededNode
}

// NeededNode is one required version node.
type NeededNode struct {
	Name string
	Weak bool // the loader only warns when it is missing
}

// Reloc is a relocation that refers to a symbol.
type Reloc struct {
	Offset uint64 // virtual address it patches
	Type   elf.R_X86_64
	Symbol uint32 // index in Object.Symbols, never 0
	Addend int64
}

// Note is one entry of a PT_NOTE segment.
type Note struct {
	Owner string
	Type  uint32
	Desc  []byte
}

// Object is a dynamic object. It is immutable after Open apart from Close, and safe for concurrent readers until then.
type Object struct {
	Path         string
	Size         int64 // of the file, bytes
	Type         elf.Type
	Segments     []elf.ProgHeader
	Dynamic      []elf.Dyn64 // up to and without DT_NULL
	SONAME       string      // empty when there is none
	Needed       []string    // in file order
	RPath        *string     // nil when there is no DT_RPATH
	RunPath      *string     // nil when there is no DT_RUNPATH
	Flags        elf.DynFlag
	Flags1       elf.DynFlag1
	Symbols      []Symbol // DT_SYMTAB in file order, entry 0 included
	VersionDefs  []VersionDef
	VersionNeeds []VersionNeed

	file   *os.File
	strtab []byte
}

// Close releases the file. Contents, Relocs, Notes and ReadSegment fail afterwards; everything else stays valid.
func (o *Object) Close() error { return o.file.Close() }

// Tag returns the value of the first dynamic entry with that tag.
func (o *Object) Tag(tag elf.DynTag) (uint64, bool) {
	for _, d := range o.Dynamic {
		if elf.DynTag(d.Tag) == tag {
			return d.Val, true
		}
	}
	return 0, false
}

const (
	ehdrSize = 64
	phdrSize = 56
	dynSize  = 16
	symSize  = 24
	relaSize = 24
	// maxPhnum bounds e_phnum below PN_XNUM (0xffff), whose real count would be in a section header.
	maxPhnum = 0xfffe
)

// Open reads the dynamic object at path. The caller closes it. The error is a *FormatError when the file could be read
// but is not such an object, and an *fs.PathError when it could not be read.
func Open(path string) (*Object, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	o := &Object{Path: path, file: f}
	if err := o.load(); err != nil {
		f.Close()
		return nil, err
	}
	return o, nil
}

func (o *Object) errorf(structure string, offset int64, format string, args ...any) error {
	return &FormatError{Path: o.Path, Structure: structure, Offset: offset, Reason: fmt.Sprintf(format, args...)}
}

func (o *Object) load() error {
	st, err := o.file.Stat()
	if err != nil {
		return err
	}
	if !st.Mode().IsRegular() {
		return o.errorf("file", -1, "is not a regular file")
	}
	o.Size = st.Size()
	if err := o.loadHeaders(); err != nil {
		return err
	}
	if err := o.loadDynamic(); err != nil {
		return err
	}
	if err := o.loadSymbols(); err != nil {
		return err
	}
	return o.loadVersions()
}

// pread reads n bytes at a file offset.
func (o *Object) pread(structure string, off, n uint64) ([]byte, error) {
	if off > uint64(o.Size) || n > uint64(o.Size)-off {
		return nil, o.errorf(structure, int64(min(off, 1<<62)), "needs %d bytes, but the file ends at %#x", n, o.Size)
	}
	b := make([]byte, n)
	if _, err := io.ReadFull(io.NewSectionReader(o.file, int64(off), int64(n)), b); err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
			return nil, o.errorf(structure, int64(off), "the file became shorter while it was read")
		}
		return nil, err
	}
	return b, nil
}

func (o *Object) loadHeaders() error {
	ident, err := o.pread("ELF header", 0, min(ehdrSize, uint64(o.Size)))
	if err != nil {
		return err
	}
	if len(ident) < elf.EI_NIDENT || string(ident[:4]) != elf.ELFMAG {
		return o.errorf("ELF header", 0, "is not an ELF file")
	}
	if c := elf.Class(ident[elf.EI_CLASS]); c != elf.ELFCLASS64 {
		return o.errorf("ELF header", elf.EI_CLASS, "class is %v; only ELFCLASS64 is supported", c)
	}
	if d := elf.Data(ident[elf.EI_DATA]); d != elf.ELFDATA2LSB {
		return o.errorf("ELF header", elf.EI_DATA, "byte order is %v; only ELFDATA2LSB is supported", d)
	}
	if len(ident) < ehdrSize {
		return o.errorf("ELF header", 0, "the file ends after %d of %d bytes", len(ident), ehdrSize)
	}
	var h elf.Header64
	decode(ident, &h)
	if m := elf.Machine(h.Machine); m != elf.EM_X86_64 {
		return o.errorf("ELF header", 18, "machine is %v; only EM_X86_64 is supported", m)
	}
	o.Type = elf.Type(h.Type)
	if o.Type != elf.ET_DYN && o.Type != elf.ET_EXEC {
		return o.errorf("ELF header", 16, "type is %v; expected a shared library or an executable", o.Type)
	}
	if h.Phentsize != phdrSize || h.Phnum == 0 || h.Phnum > maxPhnum {
		return o.errorf("ELF header", 54, "%d program headers of %d bytes; expected 1 to %d of %d bytes",
			h.Phnum, h.Phentsize, maxPhnum, phdrSize)
	}
	raw, err := o.pread("program headers", h.Phoff, uint64(h.Phnum)*phdrSize)
	if err != nil {
		return err
	}
	for i := range int(h.Phnum) {
		var p elf.Prog64
		decode(raw[i*phdrSize:(i+1)*phdrSize], &p)
		o.Segments = append(o.Segments, elf.ProgHeader{
			Type: elf.ProgType(p.Type), Flags: elf.ProgFlag(p.Flags), Off: p.Off, Vaddr: p.Vaddr, Paddr: p.Paddr,
			Filesz: p.Filesz, Memsz: p.Memsz, Align: p.Align,
		})
		if elf.ProgType(p.Type) == elf.PT_LOAD && (p.Off > uint64(o.Size) || p.Filesz > uint64(o.Size)-p.Off) {
			return o.errorf("program header", int64(h.Phoff)+int64(i)*phdrSize,
				"PT_LOAD covers file bytes %#x to %#x, but the file ends at %#x; it is truncated",
				p.Off, p.Off+p.Filesz, o.Size)
		}
	}
	return nil
}

func (o *Object) loadDynamic() error {
	i := 0
	for i < len(o.Segments) && o.Segments[i].Type != elf.PT_DYNAMIC {
		i++
	}
	if i == len(o.Segments) {
		return o.errorf("program headers", -1, "there is no PT_DYNAMIC: the file is statically linked or not a library")
	}
	seg := o.Segments[i]
	raw, err := o.pread("PT_DYNAMIC", seg.Off, seg.Filesz)
	if err != nil {
		return err
	}
	for ; len(raw) >= dynSize; raw = raw[dynSize:] {
		var d elf.Dyn64
		decode(raw[:dynSize], &d)
		if elf.DynTag(d.Tag) == elf.DT_NULL {
			break
		}
		o.Dynamic = append(o.Dynamic, d)
	}
	strAddr, ok := o.Tag(elf.DT_STRTAB)
	strSize, ok2 := o.Tag(elf.DT_STRSZ)
	if !ok || !ok2 {
		return o.errorf("PT_DYNAMIC", int64(seg.Off), "DT_STRTAB or DT_STRSZ is missing")
	}
	if o.strtab, err = o.Contents("DT_STRTAB", strAddr, strSize); err != nil {
		return err
	}
	for _, d := range o.Dynamic {
		var s string
		switch tag := elf.DynTag(d.Tag); tag {
		case elf.DT_NEEDED, elf.DT_SONAME, elf.DT_RPATH, elf.DT_RUNPATH:
			if s, err = o.str(tag.String(), d.Val); err != nil {
				return err
			}
			switch tag {
			case elf.DT_NEEDED:
				o.Needed = append(o.Needed, s)
			case elf.DT_SONAME:
				o.SONAME = s
			case elf.DT_RPATH:
				o.RPath = &s
			case elf.DT_RUNPATH:
				o.RunPath = &s
			}
		case elf.DT_FLAGS:
			o.Flags = elf.DynFlag(d.Val)
		case elf.DT_FLAGS_1:
			o.Flags1 = elf.DynFlag1(d.Val)
		}
	}
	return nil
}

// str returns the string at an offset of the dynamic string table.
func (o *Object) str(structure string, off uint64) (string, error) {
	if off >= uint64(len(o.strtab)) {
		return "", o.errorf(structure, -1, "string offset %#x is outside the string table of %d bytes", off, len(o.strtab))
	}
	end := bytes.IndexByte(o.strtab[off:], 0)
	if end < 0 {
		return "", o.errorf(structure, -1, "the string at offset %#x has no end", off)
	}
	return string(o.strtab[off : off+uint64(end)]), nil
}

// fileRange maps a virtual address to its file offset and to the number of file bytes that follow it in its segment.
func (o *Object) fileRange(addr uint64) (off, avail uint64, ok bool) {
	for _, p := range o.Segments {
		if p.Type == elf.PT_LOAD && addr >= p.Vaddr && addr-p.Vaddr < p.Filesz {
			return p.Off + (addr - p.Vaddr), p.Filesz - (addr - p.Vaddr), true
		}
	}
	return 0, 0, false
}

// Contents reads n bytes of the image at a virtual address. structure names what is read, for the error.
func (o *Object) Contents(structure string, addr, n uint64) ([]byte, error) {
	off, avail, ok := o.fileRange(addr)
	if !ok {
		return nil, o.errorf(structure, -1, "address %#x is in no PT_LOAD segment", addr)
	}
	if n > avail {
		return nil, o.errorf(structure, int64(off), "needs %d bytes, but its segment has %d", n, avail)
	}
	return o.pread(structure, off, n)
}

// symbolCount derives the number of dynamic symbols. No dynamic entry states it: the hash tables do, and where they
// hash nothing (an executable that exports nothing) the relocations bound it from below, which loses no symbol that
// the loader would ever look up.
func (o *Object) symbolCount() (uint64, error) {
	if addr, ok := o.Tag(elf.DT_HASH); ok {
		b, err := o.Contents("DT_HASH", addr, 8)
		if err != nil {
			return 0, err
		}
		return uint64(binary.LittleEndian.Uint32(b[4:])), nil
	}
	count := uint64(0)
	if addr, ok := o.Tag(elf.DT_GNU_HASH); ok {
		n, err := o.gnuHashCount(addr)
		if err != nil {
			return 0, err
		}
		count = n
	}
	if count == 0 {
		err := o.eachRela(func(r elf.Rela64) {
			count = max(count, uint64(elf.R_SYM64(r.Info))+1)
		})
		if err != nil {
			return 0, err
		}
	}
	return count, nil
}

// gnuHashCount returns one more than the highest symbol that DT_GNU_HASH reaches, 0 when it reaches none.
func (o *Object) gnuHashCount(addr uint64) (uint64, error) {
	const what = "DT_GNU_HASH"
	hdr, err := o.Contents(what, addr, 16)
	if err != nil {
		return 0, err
	}
	nbuckets := uint64(binary.LittleEndian.Uint32(hdr))
	symoffset := uint64(binary.LittleEndian.Uint32(hdr[4:]))
	bloom := uint64(binary.LittleEndian.Uint32(hdr[8:]))
	bucketAddr := addr + 16 + bloom*8
	buckets, err := o.Contents(what, bucketAddr, nbuckets*4)
	if err != nil {
		return 0, err
	}
	last := uint64(0)
	for ; len(buckets) >= 4; buckets = buckets[4:] {
		last = max(last, uint64(binary.LittleEndian.Uint32(buckets)))
	}
	if last == 0 {
		return 0, nil
	}
	if last < symoffset {
		return 0, o.errorf(what, -1, "a bucket starts at symbol %d, before the first hashed symbol %d", last, symoffset)
	}
	chain := bucketAddr + nbuckets*4 + (last-symoffset)*4
	off, avail, ok := o.fileRange(chain)
	if !ok {
		return 0, o.errorf(what, -1, "the chain of symbol %d is in no PT_LOAD segment", last)
	}
	for avail >= 4 {
		n := min(avail, 4096) &^ 3
		words, err := o.pread(what, off, n)
		if err != nil {
			return 0, err
		}
		for ; len(words) >= 4; words = words[4:] {
			last++
			if binary.LittleEndian.Uint32(words)&1 != 0 {
				return last, nil
			}
		}
		off, avail = off+n, avail-n
	}
	return 0, o.errorf(what, int64(off), "the last chain has no end")
}

func (o *Object) loadSymbols() error {
	addr, ok := o.Tag(elf.DT_SYMTAB)
	if !ok {
		return o.errorf("PT_DYNAMIC", -1, "DT_SYMTAB is missing")
	}
	count, err := o.symbolCount()
	if err != nil {
		return err
	}
	raw, err := o.Contents("DT_SYMTAB", addr, count*symSize)
	if err != nil {
		return err
	}
	o.Symbols = make([]Symbol, count)
	for i := range o.Symbols {
		var s elf.Sym64
		decode(raw[i*symSize:(i+1)*symSize], &s)
		name, err := o.str(fmt.Sprintf("dynamic symbol %d", i), uint64(s.Name))
		if err != nil {
			return err
		}
		o.Symbols[i] = Symbol{
			Index: uint32(i), Name: name, Bind: elf.ST_BIND(s.Info), Type: elf.ST_TYPE(s.Info),
			Visibility: elf.ST_VISIBILITY(s.Other), Section: elf.SectionIndex(s.Shndx), Value: s.Value, Size: s.Size,
		}
	}
	return nil
}

// eachRela calls f for every entry of DT_RELA and DT_JMPREL. DT_RELR holds only relative relocations, which refer to
// no symbol.
func (o *Object) eachRela(f func(elf.Rela64)) error {
	for _, t := range []struct{ addr, size elf.DynTag }{{elf.DT_RELA, elf.DT_RELASZ}, {elf.DT_JMPREL, elf.DT_PLTRELSZ}} {
		addr, ok := o.Tag(t.addr)
		if !ok {
			continue
		}
		size, _ := o.Tag(t.size)
		if size == 0 {
			continue
		}
		raw, err := o.Contents(t.addr.String(), addr, size)
		if err != nil {
			return err
		}
		for ; len(raw) >= relaSize; raw = raw[relaSize:] {
			f(elf.Rela64{
				Off:    binary.LittleEndian.Uint64(raw),
				Info:   binary.LittleEndian.Uint64(raw[8:]),
				Addend: int64(binary.LittleEndian.Uint64(raw[16:])),
			})
		}
	}
	return nil
}

// Relocs returns the relocations that refer to a symbol, in table order.
func (o *Object) Relocs() ([]Reloc, error) {
	var out []Reloc
	bad := uint32(0)
	err := o.eachRela(func(r elf.Rela64) {
		sym := elf.R_SYM64(r.Info)
		if sym >= uint32(len(o.Symbols)) {
			bad = sym
			return
		}
		if sym != 0 {
			out = append(out, Reloc{Offset: r.Off, Type: elf.R_X86_64(elf.R_TYPE64(r.Info)), Symbol: sym, Addend: r.Addend})
		}
	})
	if err == nil && bad != 0 {
		err = o.errorf("DT_RELA", -1, "a relocation names symbol %d of %d", bad, len(o.Symbols))
	}
	return out, err
}

// Notes returns the entries of all PT_NOTE segments. Entries are taken to be aligned to four bytes, whatever p_align
// says: mold puts entries of both alignments into one segment, and the one kind that is aligned to eight,
// NT_GNU_PROPERTY_TYPE_0, is padded to that size itself.
func (o *Object) Notes() ([]Note, error) {
	var out []Note
	for _, p := range o.Segments {
		if p.Type != elf.PT_NOTE {
			continue
		}
		raw, err := o.pread("PT_NOTE", p.Off, p.Filesz)
		if err != nil {
			return nil, err
		}
		size, pos := uint64(len(raw)), uint64(0)
		for size-pos >= 12 {
			namesz := uint64(binary.LittleEndian.Uint32(raw[pos:]))
			descsz := uint64(binary.LittleEndian.Uint32(raw[pos+4:]))
			typ := binary.LittleEndian.Uint32(raw[pos+8:])
			desc := roundUp(pos + 12 + namesz)
			if desc > size || descsz > size-desc {
				return nil, o.errorf("PT_NOTE", int64(p.Off+pos), "a note of %d + %d bytes does not fit", namesz, descsz)
			}
			out = append(out, Note{
				Owner: string(bytes.TrimRight(raw[pos+12:pos+12+namesz], "\x00")),
				Type:  typ,
				Desc:  raw[desc : desc+descsz],
			})
			pos = min(roundUp(desc+descsz), size)
		}
	}
	return out, nil
}

// BuildID returns the GNU build-id as lower-case hexadecimal digits, empty when the object has none.
func (o *Object) BuildID() (string, error) {
	const ntGNUBuildID = 3
	notes, err := o.Notes()
	if err != nil {
		return "", err
	}
	for _, n := range notes {
		if n.Owner == "GNU" && n.Type == ntGNUBuildID {
			return hex.EncodeToString(n.Desc), nil
		}
	}
	return "", nil
}

// ReadSegment returns a reader of the file bytes of one segment.
func (o *Object) ReadSegment(p elf.ProgHeader) io.Reader {
	return io.NewSectionReader(o.file, int64(p.Off), int64(p.Filesz))
}

func roundUp(n uint64) uint64 { return (n + 3) &^ 3 }

// decode fills a debug/elf structure. The callers pass exactly its size, so it cannot fail.
func decode(b []byte, v any) {
	if _, err := binary.Decode(b, binary.LittleEndian, v); err != nil {
		panic(fmt.Sprintf("dynobj: %T does not fit %d bytes: %v", v, len(b), err))
	}
}
