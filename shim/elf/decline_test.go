package elf_test

import (
	"bytes"
	stdelf "debug/elf"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/shim/elf"
)

// declines runs an edit that must fail, and holds that nothing was written.
func declines(t *testing.T, src string, e elf.Edit) error {
	t.Helper()
	dir := t.TempDir()
	_, err := elf.Rewrite(src, filepath.Join(dir, "out.so"), e)
	require.Error(t, err)
	entries, readErr := os.ReadDir(dir)
	require.NoError(t, readErr)
	require.Empty(t, entries, "something was written")
	return err
}

// growing is an edit that needs a longer .dynstr, and so a longer file.
var growing = elf.Edit{SONAME: "a name that is in no string table"}

// Objects that cannot be read as what is supported. Each is a fixture with one
// thing changed, so that the message can only come from that.
func TestUnsupportedAndCorruptObjects(t *testing.T) {
	retag := func(from, to stdelf.DynTag) func(*testing.T, []byte) []byte {
		return func(t *testing.T, b []byte) []byte {
			le.PutUint64(dynEntry(t, b, from), uint64(to))
			return b
		}
	}
	setDyn := func(tag stdelf.DynTag, val uint64) func(*testing.T, []byte) []byte {
		return func(t *testing.T, b []byte) []byte {
			le.PutUint64(dynEntry(t, b, tag)[8:], val)
			return b
		}
	}
	poke := func(tag stdelf.DynTag, off int, val uint32) func(*testing.T, []byte) []byte {
		return func(t *testing.T, b []byte) []byte {
			le.PutUint32(at(t, b, tag)[off:], val)
			return b
		}
	}
	set8 := func(off int, val byte) func(*testing.T, []byte) []byte {
		return func(t *testing.T, b []byte) []byte { b[off] = val; return b }
	}
	set16 := func(off int, val uint16) func(*testing.T, []byte) []byte {
		return func(t *testing.T, b []byte) []byte { le.PutUint16(b[off:], val); return b }
	}
	set64 := func(off int, val uint64) func(*testing.T, []byte) []byte {
		return func(t *testing.T, b []byte) []byte { le.PutUint64(b[off:], val); return b }
	}
	load64 := func(off int, change func(uint64) uint64) func(*testing.T, []byte) []byte {
		return func(t *testing.T, b []byte) []byte {
			p := lastLoad(t, b)
			le.PutUint64(p[off:], change(le.Uint64(p[off:])))
			return b
		}
	}
	sec := func(typ stdelf.SectionType, off int, val uint64) func(*testing.T, []byte) []byte {
		return func(t *testing.T, b []byte) []byte { le.PutUint64(section(t, b, typ)[off:], val); return b }
	}
	keep := func(n int) func(*testing.T, []byte) []byte {
		return func(t *testing.T, b []byte) []byte { return b[:n] }
	}

	const dynsym = ".dynsym"
	cases := []struct {
		name    string
		fixture string // bfd-both where empty
		change  func(t *testing.T, b []byte) []byte
		what    string
		message string
	}{
		{"empty", "", keep(0), "ELF header", "not an ELF file"},
		{"text", "", func(t *testing.T, b []byte) []byte { return []byte("#!/bin/sh\necho no\n") }, "ELF header", "not an ELF file"},
		{"cut in the header", "", keep(40), "ELF header", "40 bytes, the header alone needs 64: the file is truncated"},
		{"cut in the program headers", "", keep(100), "program header table", "truncated"},
		{"cut in the middle", "", keep(3000), "segment 1 (PT_LOAD)", "truncated"},
		{"32-bit", "", set8(stdelf.EI_CLASS, byte(stdelf.ELFCLASS32)), "ELF header", "ELFCLASS32: only 64-bit"},
		{"big-endian", "", set8(stdelf.EI_DATA, byte(stdelf.ELFDATA2MSB)), "ELF header", "ELFDATA2MSB: only little-endian"},
		{"ELF version", "", set8(stdelf.EI_VERSION, 2), "ELF header", "version 2/1"},
		{"aarch64", "", set16(18, uint16(stdelf.EM_AARCH64)), "ELF header", "EM_AARCH64: only EM_X86_64"},
		{"GPU code object", "", set16(18, 224), "ELF header", "only EM_X86_64"},
		{"executable", "", set16(16, uint16(stdelf.ET_EXEC)), "ELF header", "ET_EXEC: only shared objects"},
		{"relocatable", "", set16(16, uint16(stdelf.ET_REL)), "ELF header", "ET_REL: only shared objects"},
		{"no program headers", "", set16(56, 0), "program header table", "there is none"},
		{"size of program headers", "", set16(54, 32), "ELF header", "e_phentsize is 32"},
		{"extended program headers", "", set16(56, 0xffff), "ELF header", "extended numbering"},
		{"program headers far away", "", set64(32, 1<<63), "program header table", "past the end of the file"},
		{"nothing loaded", "", func(t *testing.T, b []byte) []byte {
			for i := range programs(b) {
				le.PutUint32(program(b, i), uint32(stdelf.PT_NULL))
			}
			return b
		}, "program header table", "no PT_LOAD"},
		{"static", "", func(t *testing.T, b []byte) []byte {
			le.PutUint32(programOf(t, b, stdelf.PT_DYNAMIC), uint32(stdelf.PT_NULL))
			return b
		}, "program header table", "the object is static"},
		{"two PT_DYNAMIC", "", func(t *testing.T, b []byte) []byte {
			copy(programOf(t, b, stdelf.PT_NOTE), programOf(t, b, stdelf.PT_DYNAMIC))
			return b
		}, "program header table", "2 PT_DYNAMIC"},
		{"PT_DYNAMIC elsewhere", "", func(t *testing.T, b []byte) []byte {
			p := programOf(t, b, stdelf.PT_DYNAMIC)
			le.PutUint64(p[8:], le.Uint64(p[8:])+16)
			return b
		}, "PT_DYNAMIC", "is loaded from"},
		{"PT_DYNAMIC not loaded", "", func(t *testing.T, b []byte) []byte {
			le.PutUint64(programOf(t, b, stdelf.PT_DYNAMIC)[16:], 1<<40)
			return b
		}, "PT_DYNAMIC", "in no PT_LOAD"},
		{"PT_DYNAMIC wraps", "", func(t *testing.T, b []byte) []byte {
			le.PutUint64(programOf(t, b, stdelf.PT_DYNAMIC)[16:], ^uint64(0))
			return b
		}, "PT_DYNAMIC", "overflows"},
		{"PT_LOAD file size", "", load64(40, func(uint64) uint64 { return 1 }), "PT_LOAD 1", "is larger than p_memsz"},
		{"PT_LOAD wraps", "", load64(40, func(uint64) uint64 { return ^uint64(0) }), "PT_LOAD 1", "overflows"},
		{"PT_LOAD alignment", "", load64(48, func(uint64) uint64 { return 0x1001 }), "PT_LOAD 1", "not a power of two"},
		{"PT_LOAD congruence", "", load64(16, func(v uint64) uint64 { return v + 8 }), "PT_LOAD 1", "differ modulo p_align"},
		{"PT_LOADs descend", "lld-gnu", load64(16, func(v uint64) uint64 { return v % 0x1000 }), "PT_LOAD 3", "must ascend"},
		{"PT_LOADs share bytes", "lld-gnu", func(t *testing.T, b []byte) []byte {
			relro := loads(b)[2]
			le.PutUint64(relro[32:], le.Uint64(relro[32:])+8)
			le.PutUint64(relro[40:], le.Uint64(relro[40:])+8)
			return b
		}, "PT_LOAD 3", "overlaps PT_LOAD 2"},
		{"no DT_NULL", "", func(t *testing.T, b []byte) []byte {
			p := programOf(t, b, stdelf.PT_DYNAMIC)
			for off := le.Uint64(p[8:]); off < le.Uint64(p[8:])+le.Uint64(p[32:]); off += 16 {
				if le.Uint64(b[off:]) == 0 {
					le.PutUint64(b[off:], uint64(stdelf.DT_AUXILIARY))
				}
			}
			return b
		}, ".dynamic", "no DT_NULL"},
		{"tag out of range", "", retag(stdelf.DT_VERSYM, 1<<40), ".dynamic", "out of range"},
		{"DT_REL", "", retag(stdelf.DT_PLTGOT, stdelf.DT_REL), ".dynamic", "DT_REL: relocations without addend"},
		{"DT_ANDROID_REL", "", retag(stdelf.DT_PLTGOT, 0x6000000f), ".dynamic", "Android's packed relocations"},
		{"DT_ANDROID_RELA", "", retag(stdelf.DT_PLTGOT, 0x60000011), ".dynamic", "Android's packed relocations"},
		{"DT_ANDROID_RELR", "", retag(stdelf.DT_PLTGOT, 0x6fffe000), ".dynamic", "DT_ANDROID_RELR"},
		{"DT_CREL", "", retag(stdelf.DT_PLTGOT, 0x40000026), ".dynamic", "compact relocations"},
		{"DT_SYMINFO", "", retag(stdelf.DT_PLTGOT, stdelf.DT_SYMINFO), ".dynamic", "symbol information table"},
		{"DT_GNU_CONFLICT", "", retag(stdelf.DT_PLTGOT, stdelf.DT_GNU_CONFLICT), ".dynamic", "prelinked"},
		{"DT_GNU_LIBLIST", "", retag(stdelf.DT_PLTGOT, stdelf.DT_GNU_LIBLIST), ".dynamic", "prelinked"},
		{"DT_SYMTAB_SHNDX", "", retag(stdelf.DT_PLTGOT, stdelf.DT_SYMTAB_SHNDX), ".dynamic", "extended section indices"},
		{"DT_GNU_XHASH", "", retag(stdelf.DT_PLTGOT, 0x6ffffef4), ".dynamic", "MIPS"},
		{"tag twice", "", retag(stdelf.DT_PLTGOT, stdelf.DT_STRTAB), ".dynamic", "DT_STRTAB occurs twice"},
		{"no DT_STRTAB", "", retag(stdelf.DT_STRTAB, stdelf.DT_DEBUG), ".dynamic", "no DT_STRTAB"},
		{"no DT_STRSZ", "", retag(stdelf.DT_STRSZ, stdelf.DT_DEBUG), ".dynamic", "no dynamic symbols"},
		{"no DT_SYMTAB", "", retag(stdelf.DT_SYMTAB, stdelf.DT_DEBUG), ".dynamic", "no dynamic symbols"},
		{"DT_SYMENT", "", setDyn(stdelf.DT_SYMENT, 16), ".dynamic", "DT_SYMENT is 16"},
		{"empty .dynstr", "", setDyn(stdelf.DT_STRSZ, 0), ".dynstr", "out of range"},
		{"huge .dynstr", "", setDyn(stdelf.DT_STRSZ, 1<<33), ".dynstr", "out of range"},
		{"long .dynstr", "", setDyn(stdelf.DT_STRSZ, 1<<20), ".dynstr", "past the file range"},
		{".dynstr unterminated", "", func(t *testing.T, b []byte) []byte {
			e := dynEntry(t, b, stdelf.DT_STRSZ)
			le.PutUint64(e[8:], le.Uint64(e[8:])-1)
			return b
		}, ".dynstr", "NUL"},
		{"SONAME outside .dynstr", "", setDyn(stdelf.DT_SONAME, 1<<30), ".dynamic", "DT_SONAME: the name 0x40000000 is outside"},
		{"NEEDED outside .dynstr", "", setDyn(stdelf.DT_NEEDED, 1<<62), ".dynamic", "DT_NEEDED: the name"},
		{"DT_FILTER outside .dynstr", "", func(t *testing.T, b []byte) []byte {
			e := dynEntry(t, b, stdelf.DT_PLTGOT)
			le.PutUint64(e, uint64(stdelf.DT_FILTER))
			le.PutUint64(e[8:], 1<<20)
			return b
		}, ".dynamic", "DT_FILTER: the name 0x100000 is outside"},
		{"DT_RELAENT", "", setDyn(stdelf.DT_RELAENT, 16), ".dynamic", "DT_RELAENT is 16"},
		{"DT_RELASZ odd", "", setDyn(stdelf.DT_RELASZ, 25), ".dynamic", "not a multiple"},
		{"no DT_RELASZ", "", retag(stdelf.DT_RELASZ, stdelf.DT_DEBUG), ".dynamic", "one of DT_RELA and DT_RELASZ is missing"},
		{"no DT_PLTRELSZ", "", retag(stdelf.DT_PLTRELSZ, stdelf.DT_DEBUG), ".dynamic", "one of DT_JMPREL and DT_PLTRELSZ is missing"},
		{"DT_PLTREL", "", setDyn(stdelf.DT_PLTREL, uint64(stdelf.DT_REL)), ".dynamic", "not DT_RELA"},
		{"DT_RELA outside", "", setDyn(stdelf.DT_RELA, 1<<40), "DT_RELA", "in no PT_LOAD"},
		{"empty DT_JMPREL outside", "", func(t *testing.T, b []byte) []byte {
			le.PutUint64(dynEntry(t, b, stdelf.DT_PLTRELSZ)[8:], 0)
			le.PutUint64(dynEntry(t, b, stdelf.DT_JMPREL)[8:], 1<<40)
			return b
		}, "DT_JMPREL", "in no PT_LOAD"},
		{"alignment of .dynstr", "", func(t *testing.T, b []byte) []byte {
			le.PutUint64(section(t, b, stdelf.SHT_STRTAB)[48:], 3)
			return b
		}, "section header table", "sh_addralign 3"},
		{"alignment of .dynamic", "", sec(stdelf.SHT_DYNAMIC, 48, 3), "section header table", "sh_addralign 3"},
		{"DT_JMPREL in the middle", "", func(t *testing.T, b []byte) []byte {
			rela := le.Uint64(dynEntry(t, b, stdelf.DT_RELA)[8:])
			le.PutUint64(dynEntry(t, b, stdelf.DT_JMPREL)[8:], rela+8)
			return b
		}, ".dynamic", "in the middle of an entry"},
		{"DT_JMPREL overlaps DT_RELA", "", func(t *testing.T, b []byte) []byte {
			rela, size := le.Uint64(dynEntry(t, b, stdelf.DT_RELA)[8:]), le.Uint64(dynEntry(t, b, stdelf.DT_RELASZ)[8:])
			le.PutUint64(dynEntry(t, b, stdelf.DT_JMPREL)[8:], rela+size-24)
			return b
		}, "DT_JMPREL", "overlaps DT_RELA"},
		{"relocation's symbol", "", poke(stdelf.DT_RELA, 12, 5000), "relocation", "symbol 5000 of 23"},
		{"Bloom filter size", "", poke(stdelf.DT_GNU_HASH, 8, 3), ".gnu.hash", "not a power of two"},
		{"Bloom filter size 0", "", poke(stdelf.DT_GNU_HASH, 8, 0), ".gnu.hash", "not a power of two"},
		{"Bloom filter shift", "", poke(stdelf.DT_GNU_HASH, 12, 32), ".gnu.hash", "more than 31"},
		{"Bloom filter past the end", "", poke(stdelf.DT_GNU_HASH, 8, 1<<31), ".gnu.hash", "past the file range"},
		{"GNU hash symoffset 0", "", poke(stdelf.DT_GNU_HASH, 4, 0), ".gnu.hash", "null symbol"},
		{"GNU hash symoffset", "", poke(stdelf.DT_GNU_HASH, 4, 6), ".gnu.hash", "below the first hashed symbol 6"},
		{"no hash table", "bfd-gnu", retag(stdelf.DT_GNU_HASH, stdelf.DT_DEBUG), ".dynamic", "neither DT_GNU_HASH nor DT_HASH"},
		{"GNU hash outside", "", setDyn(stdelf.DT_GNU_HASH, 1<<40), ".gnu.hash", "in no PT_LOAD"},
		{"GNU hash bucket below", "", func(t *testing.T, b []byte) []byte {
			h := at(t, b, stdelf.DT_GNU_HASH)
			le.PutUint32(h[16+8*le.Uint32(h[8:]):], 1)
			return b
		}, ".gnu.hash", "below the first hashed symbol"},
		{"GNU hash bucket beyond", "bfd-gnu", func(t *testing.T, b []byte) []byte {
			h := at(t, b, stdelf.DT_GNU_HASH)
			le.PutUint32(h[16+8*le.Uint32(h[8:]):], 1<<30)
			return b
		}, ".gnu.hash", "does not end in its segment"},
		{"GNU hash chain", "", func(t *testing.T, b []byte) []byte {
			h := at(t, b, stdelf.DT_GNU_HASH)
			h[16+8*le.Uint32(h[8:])+4*le.Uint32(h)+1] ^= 1
			return b
		}, ".gnu.hash", "its name and place want"},
		{"GNU hash bucket", "lld-gnu", func(t *testing.T, b []byte) []byte {
			h := at(t, b, stdelf.DT_GNU_HASH)
			bucket := h[16+8*le.Uint32(h[8:]):]
			le.PutUint32(bucket, le.Uint32(bucket)+1)
			return b
		}, ".gnu.hash", "the names want"},
		{"hash tables disagree", "", func(t *testing.T, b []byte) []byte {
			h := at(t, b, stdelf.DT_HASH)
			le.PutUint32(h[4:], le.Uint32(h[4:])-1)
			return b
		}, ".hash", "the file is corrupt"},
		{"no buckets", "", poke(stdelf.DT_HASH, 0, 0), ".hash", "has no buckets"},
		{"no GNU hash buckets", "", poke(stdelf.DT_GNU_HASH, 0, 0), ".gnu.hash", "has no buckets"},
		{"hash outside", "", setDyn(stdelf.DT_HASH, 1<<40), ".hash", "in no PT_LOAD"},
		{"hash buckets", "", poke(stdelf.DT_HASH, 0, 1<<31), ".hash", "past the file range"},
		{"hash bucket beyond", "bfd-sysv", poke(stdelf.DT_HASH, 8, 999), ".hash", "leads to symbol 999 of 23"},
		{"hash chain loops", "bfd-sysv", func(t *testing.T, b []byte) []byte {
			h := at(t, b, stdelf.DT_HASH)
			for i := range le.Uint32(h) {
				if sym := le.Uint32(h[8+4*i:]); sym != 0 {
					le.PutUint32(h[8+4*le.Uint32(h)+4*sym:], sym)
					return b
				}
			}
			return b
		}, ".hash", "a second time"},
		{"hash bucket is another's", "bfd-sysv", func(t *testing.T, b []byte) []byte {
			h := at(t, b, stdelf.DT_HASH)
			first, second := h[8:12], h[12:16]
			for i := range 4 {
				first[i], second[i] = second[i], first[i]
			}
			return b
		}, ".hash", "belongs into another"},
		{"no symbol at all", "bfd-sysv", poke(stdelf.DT_HASH, 4, 1), dynsym, "no dynamic symbols"},
		{"symbol's name", "", poke(stdelf.DT_SYMTAB, 24, 1<<24), dynsym, "of symbol 1 is outside .dynstr"},
		{"symbols outside", "", setDyn(stdelf.DT_SYMTAB, 1<<40), dynsym, "in no PT_LOAD"},
		{"versions outside", "", setDyn(stdelf.DT_VERSYM, 1<<40), ".gnu.version", "in no PT_LOAD"},
		{"tables overlap", "", func(t *testing.T, b []byte) []byte {
			le.PutUint64(dynEntry(t, b, stdelf.DT_VERSYM)[8:], le.Uint64(dynEntry(t, b, stdelf.DT_SYMTAB)[8:])+24)
			return b
		}, ".gnu.version", "overlaps .dynsym"},
		{"vd_version", "", poke(stdelf.DT_VERDEF, 0, 9), ".gnu.version_d", "vd_version is 9"},
		{"vd_cnt 0", "", poke(stdelf.DT_VERDEF, 4, 1), ".gnu.version_d", "without a name"},
		{"vda_name", "", poke(stdelf.DT_VERDEF, 20, 1<<24), ".gnu.version_d", "outside .dynstr"},
		{"vd_aux", "", poke(stdelf.DT_VERDEF, 12, 1<<24), ".gnu.version_d auxiliary record", "in no PT_LOAD"},
		{"vd_next 0", "", poke(stdelf.DT_VERDEF, 16, 0), ".gnu.version_d", "record 1 of 3 (DT_VERDEFNUM) links to 0x0"},
		{"vd_next", "", poke(stdelf.DT_VERDEF, 16, 1<<24), ".gnu.version_d record 1", "in no PT_LOAD"},
		{"verdef records overlap", "", poke(stdelf.DT_VERDEF, 16, 1), ".gnu.version_d", "vd_version"},
		{"vd_cnt", "", poke(stdelf.DT_VERDEF, 4, 3<<16|1), ".gnu.version_d", "auxiliary record 1 of 3 links to 0x0"},
		{"too few in DT_VERDEFNUM", "", setDyn(stdelf.DT_VERDEFNUM, 2), ".gnu.version_d", "record 2 of 2 (DT_VERDEFNUM) links to"},
		{"DT_VERDEFNUM", "", setDyn(stdelf.DT_VERDEFNUM, 1<<40), ".gnu.version_d", "cannot be more than 32768"},
		{"no DT_VERDEFNUM", "", retag(stdelf.DT_VERDEFNUM, stdelf.DT_DEBUG), ".dynamic", "is missing"},
		{"vn_version", "", poke(stdelf.DT_VERNEED, 0, 2), ".gnu.version_r", "vn_version is 2"},
		{"vn_file", "", poke(stdelf.DT_VERNEED, 4, 1<<24), ".gnu.version_r", "vn_file 0x1000000 is outside"},
		{"vn_cnt", "", poke(stdelf.DT_VERNEED, 0, 0xffff<<16|1), ".gnu.version_r", "more than 32768 auxiliary records"},
		{"no DT_VERNEEDNUM", "", retag(stdelf.DT_VERNEEDNUM, stdelf.DT_DEBUG), ".dynamic", "is missing"},
		{"e_shstrndx", "", set16(62, 99), "ELF header", "e_shstrndx is 99"},
		{"size of section headers", "", set16(58, 40), "ELF header", "e_shentsize is 40"},
		{"section headers far away", "", set64(40, 1<<40), "section header table", "truncated or corrupt"},
		{"section headers wrap", "", set64(40, ^uint64(0)-8), "section header table", "truncated or corrupt"},
		{"extended section count", "", func(t *testing.T, b []byte) []byte {
			le.PutUint16(b[60:], 0)
			le.PutUint64(b[le.Uint64(b[40:])+32:], 1<<50)
			return b
		}, "section header table", "do not fit into the file"},
		{"section past the end", "", sec(stdelf.SHT_SYMTAB, 32, 1<<40), "section", "truncated or corrupt"},
		{"section across the end", "", func(t *testing.T, b []byte) []byte {
			p := lastLoad(t, b)
			s := section(t, b, stdelf.SHT_SYMTAB)
			le.PutUint64(s[24:], le.Uint64(p[8:])+le.Uint64(p[32:])-8)
			return b
		}, "section", "is not loaded (no SHF_ALLOC), but"},
		{"segment behind the last PT_LOAD", "", func(t *testing.T, b []byte) []byte {
			p := programOf(t, b, stdelf.PT_GNU_RELRO)
			le.PutUint64(p[8:], uint64(len(b))-le.Uint64(p[32:]))
			return b
		}, "program header table", "the file range of a PT_GNU_RELRO"},
		{"no sections", "", func(t *testing.T, b []byte) []byte {
			le.PutUint16(b[60:], 0)
			return b
		}, "section header table", "says that there are none"},
		{"no section names", "", set16(62, 0), "names of sections", "is no string table"},
		{"section names unterminated", "", func(t *testing.T, b []byte) []byte {
			s := b[le.Uint64(b[40:])+64*uint64(le.Uint16(b[62:])):][:64]
			le.PutUint64(s[32:], le.Uint64(s[32:])-1)
			return b
		}, "names of sections", "not terminated"},
		{"section names in another table", "", func(t *testing.T, b []byte) []byte {
			for i := range le.Uint16(b[60:]) {
				if s := b[le.Uint64(b[40:])+64*uint64(i):]; stdelf.SectionType(le.Uint32(s[4:])) == stdelf.SHT_STRTAB {
					le.PutUint16(b[62:], i) // .dynstr comes first
					break
				}
			}
			for i := range le.Uint16(b[60:]) {
				le.PutUint32(b[le.Uint64(b[40:])+64*uint64(i):], 0)
			}
			return b
		}, "names of sections", "overlaps .dynstr"},
		{"section's name", "", func(t *testing.T, b []byte) []byte {
			le.PutUint32(section(t, b, stdelf.SHT_DYNSYM), 1<<20)
			return b
		}, "header of section", "is outside the"},
		{".bss alignment", "bfd-noversion", func(t *testing.T, b []byte) []byte {
			tbss := section(t, b, stdelf.SHT_NOBITS)
			le.PutUint32(tbss[4:], uint32(stdelf.SHT_NULL))
			le.PutUint64(section(t, b, stdelf.SHT_NOBITS)[48:], 1<<12)
			return b
		}, "header of section", "is not aligned to sh_addralign 4096 in the file"},
		{"no DT_RELRSZ", "bfd-relr", retag(35, stdelf.DT_DEBUG), ".dynamic", "one of DT_RELR and DT_RELRSZ"},
		{"DT_RELRENT", "lld-relr", setDyn(37, 16), ".dynamic", "the entry size is 8"},
		{"DT_RELR outside", "mold-relr", setDyn(36, 1<<40), "DT_RELR", "in no PT_LOAD"},
		{"another .dynamic", "", func(t *testing.T, b []byte) []byte {
			s := section(t, b, stdelf.SHT_DYNAMIC)
			le.PutUint64(s[16:], le.Uint64(s[16:])+16)
			le.PutUint64(s[24:], le.Uint64(s[24:])+16)
			return b
		}, "header of section", "SHT_DYNAMIC is at address"},
		{"another .dynsym", "", func(t *testing.T, b []byte) []byte {
			s := section(t, b, stdelf.SHT_DYNSYM)
			le.PutUint64(s[16:], le.Uint64(s[16:])+24)
			le.PutUint64(s[24:], le.Uint64(s[24:])+24)
			return b
		}, "header of section", "SHT_DYNSYM is at address"},
		{"section that is not loaded", "", sec(stdelf.SHT_DYNSYM, 16, 1<<40), "section", "in no PT_LOAD"},
		{"section that is loaded from elsewhere", "", func(t *testing.T, b []byte) []byte {
			s := section(t, b, stdelf.SHT_DYNSYM)
			le.PutUint64(s[24:], le.Uint64(s[24:])+8)
			return b
		}, "section", "is loaded from"},
		{"section alignment", "", sec(stdelf.SHT_SYMTAB, 48, 1<<40), "section header table", "sh_addralign"},
		{"section alignment 3", "", sec(stdelf.SHT_SYMTAB, 48, 3), "section header table", "sh_addralign"},
		{"large .bss", "", load64(40, func(uint64) uint64 { return 1<<30 + 1<<20 }), "last PT_LOAD", "bytes of .bss would have to be written out"},
		{"last PT_LOAD far up", "lld-stripped", func(t *testing.T, b []byte) []byte {
			b = dropSections(t, b)
			p := lastLoad(t, b)
			le.PutUint64(p[16:], le.Uint64(p[16:])+1<<62)
			return b
		}, "last PT_LOAD", "out of range"},
		{".bss outside", "", load64(40, func(v uint64) uint64 { return v - 8 }), "section", "are in no PT_LOAD's memory"},
		{"note over a table", "", func(t *testing.T, b []byte) []byte {
			p := programOf(t, b, stdelf.PT_NOTE)
			le.PutUint64(p[32:], le.Uint64(p[32:])+40)
			return b
		}, "PT_NOTE", "overlaps .hash"},
		{"Bloom filter without a symbol", "", func(t *testing.T, b []byte) []byte {
			h := at(t, b, stdelf.DT_GNU_HASH)
			le.PutUint64(h[16:], 0)
			return b
		}, ".gnu.hash", "hides a symbol"},
		{"another PT_LOAD lies behind", "lld-separate", swapLastLoads, "last PT_LOAD", "it cannot grow"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			name := c.fixture
			if name == "" {
				name = "bfd-both"
			}
			src := write(t, c.change(t, read(t, fixture(name))))
			err := declines(t, src, growing)
			var format *elf.FormatError
			require.ErrorAs(t, err, &format)
			require.Equal(t, src, format.Path)
			require.Contains(t, format.What, c.what)
			require.ErrorContains(t, err, c.message)
			require.ErrorContains(t, err, src)
		})
	}
}

// swapLastLoads exchanges the file ranges of the last two PT_LOADs.
func swapLastLoads(t *testing.T, b []byte) []byte {
	all := loads(b)
	last, other := all[len(all)-1], all[len(all)-2]
	lastOff, otherOff := le.Uint64(last[8:]), le.Uint64(other[8:])
	require.Less(t, otherOff, lastOff)
	// Room for both behind the file's end, page for page.
	size := (uint64(len(b)) + 0xfff) &^ 0xfff
	grown := make([]byte, size+0x3000)
	copy(grown, b)
	newOff := size + otherOff%0x1000
	copy(grown[newOff:], b[otherOff:][:le.Uint64(other[32:])])
	for i := range programs(grown) {
		p := program(grown, i)
		if off := le.Uint64(p[8:]); off >= otherOff && off < otherOff+le.Uint64(other[32:]) {
			le.PutUint64(p[8:], off-otherOff+newOff)
		}
	}
	// Without sections: they would be in the way before the segments are.
	le.PutUint64(grown[40:], 0)
	return grown
}

// withSectionHeadersAt moves the section header table to another place.
func withSectionHeadersAt(b []byte, off uint64) []byte {
	shoff, size := le.Uint64(b[40:]), uint64(le.Uint16(b[60:]))*64
	headers := append([]byte(nil), b[shoff:][:size]...)
	copy(b[off:], headers)
	le.PutUint64(b[40:], off)
	return b
}

// patchelf leaves section headers in front of the PT_LOAD that it appends.
func TestSectionHeadersBeforeTheLastSegment(t *testing.T) {
	path := fixture("bfd-separate")
	b := read(t, path)
	// The gap between two PT_LOADs is padding.
	gap := le.Uint64(lastLoad(t, b)[8:]) - uint64(le.Uint16(b[60:]))*64 - 8
	src := write(t, withSectionHeadersAt(b, gap))
	out, _ := rewrite(t, src, elf.Edit{Rename: renameAll(t, path), SONAME: "libother.so.1", RunPath: pointer("/opt/x")})
	require.Equal(t, gap, le.Uint64(read(t, out)[40:]))
	require.Equal(t, []string{"/opt/x"}, readIdentity(t, out).runpath)
	code, msg := run(t, nil, hostProgram(t), out, suffix, "versions")
	require.Zero(t, code, msg)
}

func TestSectionHeadersInsideASegment(t *testing.T) {
	// After an edit .bss is in the file, with room for the table.
	once, _ := rewrite(t, fixture("bfd-separate"), elf.Edit{SONAME: "libonce.so.1"})
	b := read(t, once)
	p := lastLoad(t, b)
	zeros := bytes.LastIndex(b[:le.Uint64(p[8:])+le.Uint64(p[32:])], make([]byte, 2400))
	require.Greater(t, zeros, int(le.Uint64(p[8:])))
	err := declines(t, write(t, withSectionHeadersAt(b, (uint64(zeros)+15)&^7)), growing)
	var format *elf.FormatError
	require.ErrorAs(t, err, &format)
	require.ErrorContains(t, err, "is part of PT_LOAD")
}

func TestNotAFile(t *testing.T) {
	_, err := elf.Rewrite(filepath.Join(t.TempDir(), "absent.so"), filepath.Join(t.TempDir(), "out.so"), elf.Edit{})
	require.ErrorIs(t, err, os.ErrNotExist)

	var format *elf.FormatError
	require.ErrorAs(t, declines(t, t.TempDir(), elf.Edit{}), &format)
	require.Contains(t, format.Msg, "not a regular file")

	fifo := filepath.Join(t.TempDir(), "fifo")
	require.NoError(t, syscall.Mkfifo(fifo, 0o600))
	require.ErrorAs(t, declines(t, fifo, elf.Edit{}), &format)
	require.Contains(t, format.Msg, "not a regular file")
}

func TestHugeFile(t *testing.T) {
	src := write(t, read(t, fixture("bfd-gnu")))
	if err := os.Truncate(src, 100<<30); err != nil {
		t.Skipf("no sparse file of 100 GiB here: %v", err)
	}
	var format *elf.FormatError
	require.ErrorAs(t, declines(t, src, growing), &format)
	require.Contains(t, format.Msg, "more than the supported")
}

func TestEditsThatDoNotApply(t *testing.T) {
	both := fixture("bfd-both")
	renamed, _ := rewrite(t, both, elf.Edit{Rename: map[string]string{"fx_answer": "fx_answer" + suffix}})
	cases := []struct {
		name    string
		src     string
		edit    elf.Edit
		message string
	}{
		{"no such symbol", both, elf.Edit{Rename: map[string]string{"fx_nothing": "x"}}, "has no dynamic symbol fx_nothing"},
		{"an import", both, elf.Edit{Rename: map[string]string{"strlen": "x"}}, "not an export"},
		{"an import, no GNU hash", fixture("bfd-sysv"), elf.Edit{Rename: map[string]string{"strlen": "x"}}, "not an export"},
		{"nothing is exported", fixture("bfd-imports"), elf.Edit{Rename: map[string]string{"imported": "x"}}, "not an export"},
		{"in no hash table", unhashed(t), elf.Edit{Rename: map[string]string{"fx_answer": "x"}}, "in no hash table"},
		{"the name exists", both, elf.Edit{Rename: map[string]string{"fx_answer": "fx_self"}}, "has a symbol fx_self already"},
		{"the name is imported", both, elf.Edit{Rename: map[string]string{"fx_answer": "strlen"}}, "has a symbol strlen already"},
		{"renamed already", renamed, elf.Edit{Rename: map[string]string{"fx_answer": "fx_answer" + suffix}}, "renamed already; take the stock one"},
		{"to itself", both, elf.Edit{Rename: map[string]string{"fx_answer": "fx_answer"}}, "already"},
		{"two to one", both, elf.Edit{Rename: map[string]string{"fx_answer": "x", "fx_self": "x"}}, "both fx_answer and fx_self become x"},
		{"to nothing", both, elf.Edit{Rename: map[string]string{"fx_answer": ""}}, "a symbol needs a name"},
		{"from nothing", both, elf.Edit{Rename: map[string]string{"": "x"}}, "a symbol needs a name"},
		{"NUL in a name", both, elf.Edit{Rename: map[string]string{"fx_answer": "a\x00b"}}, "NUL"},
		{"NUL in SONAME", both, elf.Edit{SONAME: "a\x00b"}, "NUL"},
		{"NUL in RUNPATH", both, elf.Edit{RunPath: pointer("a\x00b")}, "NUL"},
		{"NUL in NEEDED", both, elf.Edit{Needed: map[string]string{"libc.so.6": "a\x00b"}}, "NUL"},
		{"NUL in added NEEDED", both, elf.Edit{AddNeeded: []string{"a\x00b"}}, "NUL"},
		{"empty NEEDED", both, elf.Edit{Needed: map[string]string{"libc.so.6": ""}}, "empty name"},
		{"empty added NEEDED", both, elf.Edit{AddNeeded: []string{""}}, "needs a name"},
		{"not needed", both, elf.Edit{Needed: map[string]string{"libm.so.6": "libx.so"}}, "it needs ld-linux-x86-64.so.2, libc.so.6"},
		{"needs nothing", fixture("bfd-bare"), elf.Edit{Needed: map[string]string{"libm.so.6": "libx.so"}}, "it needs nothing"},
		{"needed already", both, elf.Edit{Needed: map[string]string{"libc.so.6": "ld-linux-x86-64.so.2"}}, "needs already"},
		{"two NEEDED to one", both, elf.Edit{Needed: map[string]string{"libc.so.6": "x", "ld-linux-x86-64.so.2": "x"}}, "two entries become x"},
		{"SONAME in a shared record", sharedVersionRecord(t), elf.Edit{SONAME: "libother.so.1"}, "link without --default-symver"},
		{".dynamic cannot move", fixture("lld-rodynamic"), elf.Edit{RunPath: pointer("/opt/x")}, "cannot move from and to where the loader can write"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			err := declines(t, c.src, c.edit)
			var edit *elf.EditError
			require.ErrorAs(t, err, &edit)
			require.ErrorContains(t, err, c.message)
			require.ErrorContains(t, err, c.src)
		})
	}
}

// unhashed is a fixture whose hash table has lost fx_answer.
func unhashed(t *testing.T) string {
	b := read(t, fixture("bfd-sysv"))
	f, err := stdelf.NewFile(bytes.NewReader(b))
	require.NoError(t, err)
	syms, err := f.DynamicSymbols()
	require.NoError(t, err)
	lost := uint32(1 + slices.IndexFunc(syms, func(s stdelf.Symbol) bool { return s.Name == "fx_answer" }))
	h := at(t, b, stdelf.DT_HASH)
	nbucket, nchain := le.Uint32(h), le.Uint32(h[4:])
	next := le.Uint32(h[8+4*(nbucket+lost):])
	for i := range nbucket + nchain {
		if word := h[8+4*i:]; le.Uint32(word) == lost {
			le.PutUint32(word, next)
		}
	}
	return write(t, b)
}

// sharedVersionRecord is a fixture whose base definition has the name record
// of the next one, as GNU ld makes it for --default-symver.
func sharedVersionRecord(t *testing.T) string {
	b := read(t, fixture("bfd-both"))
	le.PutUint32(at(t, b, stdelf.DT_VERDEF)[12:], 48)
	return write(t, b)
}

func TestSharedVersionRecordTakesOtherEdits(t *testing.T) {
	rewrite(t, sharedVersionRecord(t), elf.Edit{Rename: renameAll(t, fixture("bfd-both")), RunPath: pointer("/opt/x")})
}

// An object may import a name, from one version, that it also exports, at
// another: libattr has fgetxattr twice. Only the export is renamed.
func TestImportOfARenamedName(t *testing.T) {
	b := read(t, fixture("bfd-gnu"))
	f, err := stdelf.NewFile(bytes.NewReader(b))
	require.NoError(t, err)
	syms, err := f.DynamicSymbols()
	require.NoError(t, err)
	index := func(name string) int {
		return 1 + slices.IndexFunc(syms, func(s stdelf.Symbol) bool { return s.Name == name })
	}
	table := at(t, b, stdelf.DT_SYMTAB)
	copy(table[24*index("strlen"):][:4], table[24*index("fx_weak"):][:4])
	src := write(t, b)
	out, res := rewrite(t, src, elf.Edit{Rename: map[string]string{"fx_weak": "fx_weak" + suffix}})
	require.Equal(t, 1, res.Renamed)
	require.NotContains(t, exports(t, out), "fx_weak")
	require.Contains(t, exports(t, out), "fx_weak"+suffix)
	f, err = stdelf.Open(out)
	require.NoError(t, err)
	imports, err := f.ImportedSymbols()
	require.NoError(t, err)
	require.True(t, slices.ContainsFunc(imports, func(s stdelf.ImportedSymbol) bool { return s.Name == "fx_weak" }))
}

// What needs no growth works where nothing can grow.
func TestReadOnlyObjectTakesOtherEdits(t *testing.T) {
	path := fixture("lld-rodynamic")
	rewrite(t, path, elf.Edit{Rename: renameAll(t, path), SONAME: "libother.so.7"})
}

func TestObjectWithoutExports(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out.so")
	res, err := elf.Rewrite(fixture("bfd-imports"), out, elf.Edit{SONAME: "libother.so.7", RunPath: pointer("/opt/x")})
	require.NoError(t, err)
	require.Equal(t, 1, res.Symbols)
	require.Equal(t, []string{"libother.so.7"}, readIdentity(t, out).soname)

	// Without section headers the relocations tell how many symbols there are.
	res, err = elf.Rewrite(write(t, dropSections(t, read(t, fixture("bfd-imports")))), out, elf.Edit{SONAME: "libother.so.7"})
	require.NoError(t, err)
	require.Equal(t, 1, res.Symbols)
}

func TestInputIsNeverTheOutput(t *testing.T) {
	dir := t.TempDir()
	src := filepath.Join(dir, "lib.so")
	content := read(t, fixture("bfd-gnu"))
	require.NoError(t, os.WriteFile(src, content, 0o755))
	hard, soft := filepath.Join(dir, "hard.so"), filepath.Join(dir, "soft.so")
	require.NoError(t, os.Link(src, hard))
	require.NoError(t, os.Symlink("lib.so", soft))
	for _, dst := range []string{src, hard, soft, filepath.Join(dir, ".", "lib.so")} {
		for _, in := range []string{src, hard, soft} {
			_, err := elf.Rewrite(in, dst, growing)
			var edit *elf.EditError
			require.ErrorAs(t, err, &edit)
			require.ErrorContains(t, err, "is the same file")
		}
	}
	require.Equal(t, content, read(t, src))

	_, err := elf.Rewrite(src, dir, growing)
	require.ErrorContains(t, err, "is a folder")
	_, err = elf.Rewrite(src, filepath.Join(dir, "absent", "out.so"), growing)
	require.ErrorIs(t, err, os.ErrNotExist)
}
