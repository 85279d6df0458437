package verify

import (
	"bytes"
	"debug/elf"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// patch is an edited file about to be spoiled.
type patch struct {
	t     testing.TB
	stock *image
	im    *image // the file as it was edited
	b     []byte
}

func (p patch) u16(off uint64, f func(uint16) uint16) {
	le.PutUint16(p.b[off:], f(le.Uint16(p.b[off:])))
}
func (p patch) u32(off uint64, f func(uint32) uint32) {
	le.PutUint32(p.b[off:], f(le.Uint32(p.b[off:])))
}
func (p patch) u64(off uint64, f func(uint64) uint64) {
	le.PutUint64(p.b[off:], f(le.Uint64(p.b[off:])))
}
func (p patch) flip(off uint64) { p.b[off] ^= 0x40 }

// swap exchanges two ranges of one size.
func (p patch) swap(a, b, size uint64) {
	t := slices.Clone(p.b[a : a+size])
	copy(p.b[a:a+size], p.b[b:b+size])
	copy(p.b[b:b+size], t)
}

func plus[T uint16 | uint32 | uint64](d T) func(T) T { return func(v T) T { return v + d } }
func set[T uint16 | uint32 | uint64](v T) func(T) T  { return func(T) T { return v } }
func flip[T uint16 | uint32 | uint64](m T) func(T) T { return func(v T) T { return v ^ m } }

// symbol finds a symbol by name and hidden bit.
func (p patch) symbol(name string, hidden bool) uint64 {
	i := slices.IndexFunc(p.im.symbols, func(y symbol) bool { return y.name == name && (y.version&versionHidden != 0) == hidden })
	require.GreaterOrEqual(p.t, i, 0, "no symbol %s", name)
	return uint64(i)
}
func (p patch) symAt(i uint64) uint64 { return p.im.symtab.off + i*symSize }
func (p patch) verAt(i uint64) uint64 { return p.im.versym.off + i*2 }

func (p patch) section(name string) (int, section) {
	i := slices.IndexFunc(p.im.sects, func(h section) bool { return h.name == name })
	require.GreaterOrEqual(p.t, i, 0, "no section %s", name)
	return i, p.im.sects[i]
}
func (p patch) header(name string) uint64 {
	i, _ := p.section(name)
	return p.im.shoff() + uint64(i)*sectionSize
}
func (p patch) content(name string) span {
	_, h := p.section(name)
	return span{h.Off, h.Size}
}

func (p patch) prog(typ elf.ProgType) uint64 {
	for i, g := range p.im.progs {
		if elf.ProgType(g.Type) == typ {
			return p.im.phoff() + uint64(i)*progSize
		}
	}
	require.Fail(p.t, "no program header", typ)
	return 0
}
func (p patch) lastLoad() uint64 { return p.im.phoff() + uint64(p.im.last)*progSize }

func (p patch) dyn(tag elf.DynTag) uint64 {
	i := slices.IndexFunc(p.im.dyn, func(e dynEntry) bool { return e.tag == tag })
	require.GreaterOrEqual(p.t, i, 0, "no %v", tag)
	return p.im.dynSpan.off + uint64(i)*dynSize
}

func (p patch) gnu() (bloom, buckets, chain uint64, head gnuHead) {
	addr, ok := p.im.dynValue(elf.DT_GNU_HASH)
	require.True(p.t, ok)
	head, err := p.im.readGNUHead(addr)
	require.NoError(p.t, err)
	s, err := p.im.locate(addr, gnuHeadSize, "")
	require.NoError(p.t, err)
	return s.off + gnuHeadSize, head.bucketsAt(s.off), head.chainAt(s.off), head
}

// sysv gives the place of the buckets and of the chain words.
func (p patch) sysv() (heads, chain uint64, buckets uint32) {
	addr, ok := p.im.dynValue(elf.DT_HASH)
	require.True(p.t, ok)
	s, err := p.im.locate(addr, 8, "")
	require.NoError(p.t, err)
	buckets = le.Uint32(p.b[s.off:])
	return s.off + 8, s.off + 8 + 4*uint64(buckets), buckets
}

// reloc finds the first relocation against a symbol.
func (p patch) reloc(name string) uint64 {
	tables, err := p.im.relocTables()
	require.NoError(p.t, err)
	for _, t := range tables {
		for at := t.off; at < t.end(); at += t.entry {
			if p.im.symbols[le.Uint32(p.b[at+12:])].name == name {
				return at
			}
		}
	}
	require.Fail(p.t, "no relocation", name)
	return 0
}

func (p patch) base() versionDef {
	i := slices.IndexFunc(p.im.defs, versionDef.base)
	require.GreaterOrEqual(p.t, i, 0)
	return p.im.defs[i]
}

func (p patch) need(file string) versionNeed {
	i := slices.IndexFunc(p.im.needs, func(n versionNeed) bool { return n.file == file })
	require.GreaterOrEqual(p.t, i, 0)
	return p.im.needs[i]
}

// text finds a string of the string table.
func (p patch) text(s string) uint64 {
	i := bytes.Index([]byte(p.im.strings), []byte("\x00"+s+"\x00"))
	require.GreaterOrEqual(p.t, i, 0, s)
	return uint64(i) + 1
}

// controls spoil an edited file that is right in all other respects. Each names every check that must complain, and no
// other check may: a check that answers for another one's table hides that the other one is blind.
var controls = []struct {
	name    string
	spoil   func(patch)
	checks  []string
	moved   bool // .dynamic is in the tail
	mention string
}{
	// Headers.
	{name: "last PT_LOAD has memory behind its file bytes", checks: []string{CheckHeaders},
		spoil: func(p patch) { p.u64(p.lastLoad()+40, plus[uint64](8)) }},
	{name: "PT_DYNAMIC moved and its memory size not", checks: []string{CheckHeaders}, moved: true,
		spoil: func(p patch) { p.u64(p.prog(elf.PT_DYNAMIC)+40, plus[uint64](16)) }},
	{name: "PT_DYNAMIC has another file offset than its address", checks: []string{CheckHeaders, CheckSections}, moved: true,
		spoil: func(p patch) { p.u64(p.prog(elf.PT_DYNAMIC)+8, plus[uint64](16)) }},
	{name: "PT_GNU_RELRO shrinks", checks: []string{CheckHeaders, CheckBytes}, mention: "PT_GNU_RELRO",
		spoil: func(p patch) { p.u64(p.prog(elf.PT_GNU_RELRO)+40, plus[uint64](^uint64(15))) }},
	{name: "executable stack", checks: []string{CheckHeaders, CheckBytes}, mention: "PT_GNU_STACK",
		spoil: func(p patch) { p.u32(p.prog(elf.PT_GNU_STACK)+4, flip[uint32](1)) }},
	{name: "alignment of the last PT_LOAD", checks: []string{CheckHeaders, CheckBytes},
		spoil: func(p patch) { p.u64(p.lastLoad()+48, set[uint64](1<<13)) }},
	{name: "entry point", checks: []string{CheckHeaders, CheckBytes},
		spoil: func(p patch) { p.u64(24, plus[uint64](1)) }},
	{name: "e_shstrndx", checks: []string{CheckHeaders, CheckBytes, CheckSections},
		spoil: func(p patch) { p.u16(62, plus[uint16](^uint16(0))) }},
	{name: "e_shoff is 0", checks: []string{CheckHeaders, CheckSections, CheckBytes},
		spoil: func(p patch) { p.u64(40, set[uint64](0)) }},

	// Symbols.
	{name: "size of a symbol", checks: []string{CheckSymbols}, mention: "apiCreate_impl",
		spoil: func(p patch) { p.u64(p.symAt(p.symbol("apiCreate_impl", false))+16, plus[uint64](1)) }},
	{name: "value of a symbol", checks: []string{CheckSymbols},
		spoil: func(p patch) { p.u64(p.symAt(p.symbol("filler_1", false))+8, plus[uint64](4)) }},
	{name: "visibility of a symbol", checks: []string{CheckSymbols},
		spoil: func(p patch) { p.b[p.symAt(p.symbol("protected_public", false))+5] = byte(elf.STV_DEFAULT) }},
	{name: "binding of a symbol", checks: []string{CheckSymbols},
		spoil: func(p patch) {
			p.flip(p.symAt(p.symbol("weak_public", false)) + 4)
			p.b[p.symAt(p.symbol("weak_public", false))+4] = 0x12
		}},
	{name: "type of a symbol", checks: []string{CheckSymbols},
		spoil: func(p patch) { p.b[p.symAt(p.symbol("filler_1", false))+4] = 0x11 }},
	{name: "section of a symbol", checks: []string{CheckSymbols},
		spoil: func(p patch) { p.u16(p.symAt(p.symbol("filler_1", false))+6, plus[uint16](1)) }},
	{name: "an old version becomes a default one", checks: []string{CheckSymbols, CheckHash}, mention: "hidden",
		spoil: func(p patch) { p.u16(p.verAt(p.symbol("aliased_impl", true)), flip[uint16](versionHidden)) }},
	{name: "an old version becomes the base version", checks: []string{CheckSymbols, CheckHash}, mention: "API_1",
		spoil: func(p patch) {
			p.u16(p.verAt(p.symbol("aliased_impl", true)), set[uint16](versionHidden|versionGlobal))
		}},
	{name: "version of an undefined symbol", checks: []string{CheckSymbols}, mention: "getenv",
		spoil: func(p patch) { p.u16(p.verAt(p.symbol("getenv", false)), set[uint16](versionGlobal)) }},
	{name: "a symbol that should be renamed is not", checks: []string{CheckSymbols, CheckHash}, mention: "filler_3",
		spoil: func(p patch) { p.u32(p.symAt(p.symbol("filler_3_impl", false)), set(uint32(p.text("filler_3")))) }},
	{name: "a symbol that should not be renamed is", checks: []string{CheckSymbols, CheckHash}, mention: "filler_4",
		spoil: func(p patch) { p.u32(p.symAt(p.symbol("filler_4", false)), set(uint32(p.text("filler_3_impl")))) }},
	{name: "name outside the string table", checks: []string{CheckSymbols, CheckHash}, mention: "outside DT_STRTAB",
		spoil: func(p patch) { p.u32(p.symAt(p.symbol("filler_4", false)), set[uint32](1<<24)) }},
	{name: "undefined symbols change places", checks: []string{CheckSymbols, CheckRelocations, CheckHash}, mention: "must keep its place",
		spoil: func(p patch) {
			a, b := p.symbol("getenv", false), p.symbol("strlen", false)
			p.swap(p.symAt(a), p.symAt(b), symSize)
		}},

	{name: "an undefined and a hashed symbol change places", checks: []string{CheckSymbols, CheckRelocations, CheckHash}, mention: "is hashed, in stock it is not",
		spoil: func(p patch) {
			a, b := p.symbol("getenv", false), p.symbol("filler_1", false)
			p.swap(p.symAt(a), p.symAt(b), symSize)
			p.swap(p.verAt(a), p.verAt(b), 2)
		}},

	// Hash tables.
	{name: "hashed symbols change places without their hashes", checks: []string{CheckHash},
		spoil: func(p patch) {
			a, b := p.symbol("filler_1", false), p.symbol("filler_2", false)
			p.swap(p.symAt(a), p.symAt(b), symSize)
			p.swap(p.verAt(a), p.verAt(b), 2)
		}},
	{name: "bloom filter lacks a bit", checks: []string{CheckHash}, mention: "not found",
		spoil: func(p patch) {
			bloom, _, _, head := p.gnu()
			word, mask := head.bloomBits(gnuHash("apiCreate_impl"))
			p.u64(bloom+8*uint64(word), func(v uint64) uint64 { return v &^ mask })
		}},
	{name: "bloom filter has a bit too many", checks: []string{CheckHash},
		spoil: func(p patch) {
			bloom, _, _, _ := p.gnu()
			p.u64(bloom, func(v uint64) uint64 { return v | (v + 1) })
		}},
	{name: "hash of a chain word", checks: []string{CheckHash},
		spoil: func(p patch) {
			_, _, chain, head := p.gnu()
			p.u32(chain+4*(p.symbol("apiDestroy_impl", false)-uint64(head.offset)), flip[uint32](2))
		}},
	{name: "end bit of a chain word", checks: []string{CheckHash},
		spoil: func(p patch) {
			_, _, chain, head := p.gnu()
			p.u32(chain+4*(p.symbol("apiDestroy_impl", false)-uint64(head.offset)), flip[uint32](1))
		}},
	{name: "bucket of DT_GNU_HASH", checks: []string{CheckHash},
		spoil: func(p patch) {
			_, buckets, _, head := p.gnu()
			p.u32(buckets+4*uint64(gnuHash("apiName_impl")%head.buckets), plus[uint32](1))
		}},
	{name: "first hashed symbol of DT_GNU_HASH", checks: []string{CheckHash}, mention: "header",
		spoil: func(p patch) { bloom, _, _, _ := p.gnu(); p.u32(bloom-gnuHeadSize+4, plus[uint32](1)) }},
	{name: "no buckets in DT_GNU_HASH", checks: []string{CheckHash}, mention: "header",
		spoil: func(p patch) { bloom, _, _, _ := p.gnu(); p.u32(bloom-gnuHeadSize, set[uint32](0)) }},
	{name: "bucket of DT_HASH", checks: []string{CheckHash}, mention: "DT_HASH",
		spoil: func(p patch) {
			heads, _, buckets := p.sysv()
			p.u32(heads+4*uint64(sysvHash("apiName_impl")%buckets), set[uint32](0))
		}},
	{name: "a chain of DT_HASH is a circle", checks: []string{CheckHash}, mention: "reached before",
		spoil: func(p patch) {
			_, chain, _ := p.sysv()
			i := p.symbol("apiName_impl", false)
			p.u32(chain+4*i, set(uint32(i)))
		}},
	{name: "a chain of DT_HASH leaves the table", checks: []string{CheckHash}, mention: "DT_HASH",
		spoil: func(p patch) {
			_, chain, _ := p.sysv()
			p.u32(chain+4*p.symbol("apiName_impl", false), set[uint32](1<<31))
		}},
	{name: "chain word of the null symbol", checks: []string{CheckHash}, mention: "in no bucket",
		spoil: func(p patch) { _, chain, _ := p.sysv(); p.u32(chain, set[uint32](3)) }},
	{name: "number of chain words of DT_HASH", checks: []string{CheckHash},
		spoil: func(p patch) { heads, _, _ := p.sysv(); p.u32(heads-4, plus[uint32](1)) }},

	// Relocations.
	{name: "symbol of a relocation", checks: []string{CheckRelocations}, mention: "apiDestroy_impl",
		spoil: func(p patch) {
			p.u32(p.reloc("apiDestroy_impl")+12, set(uint32(p.symbol("apiCreate_impl", false))))
		}},
	{name: "a relocation loses its symbol", checks: []string{CheckRelocations},
		spoil: func(p patch) { p.u32(p.reloc("data_public")+12, set[uint32](0)) }},
	{name: "symbol of a relocation outside the table", checks: []string{CheckRelocations},
		spoil: func(p patch) { p.u32(p.reloc("data_public")+12, set[uint32](1<<30)) }},
	{name: "type of a relocation", checks: []string{CheckRelocations, CheckBytes},
		spoil: func(p patch) { p.u32(p.reloc("apiDestroy_impl")+8, plus[uint32](1)) }},
	{name: "addend of a relocation", checks: []string{CheckRelocations, CheckBytes},
		spoil: func(p patch) { p.u64(p.reloc("bss_public")+16, plus[uint64](8)) }},
	{name: "place of a relocation", checks: []string{CheckRelocations, CheckBytes},
		spoil: func(p patch) { p.u64(p.reloc("cos"), plus[uint64](8)) }},
	{name: "relocations change places", checks: []string{CheckRelocations, CheckBytes},
		spoil: func(p patch) { p.swap(p.reloc("bss_public"), p.reloc("bss_public")+relaSize, relaSize) }},

	// Versions.
	{name: "hash of the base version", checks: []string{CheckVersions},
		spoil: func(p patch) { p.flip(p.base().hashSpan.off) }},
	{name: "name of the base version", checks: []string{CheckVersions}, mention: "libtest.so.1",
		spoil: func(p patch) { p.u32(p.base().nameSpan.off, set(uint32(p.text("libtest.so.1")))) }},
	{name: "file of a version need", checks: []string{CheckVersions}, mention: "libm",
		spoil: func(p patch) { p.u32(p.need("libm_other.so.6").fileSpan.off, set(uint32(p.text("libm.so.6")))) }},
	{name: "file of another version need", checks: []string{CheckVersions, CheckBytes}, mention: "libc",
		spoil: func(p patch) { p.u32(p.need("libc.so.6").fileSpan.off, set(uint32(p.text("libm.so.6")))) }},
	{name: "flags of a version definition", checks: []string{CheckVersions, CheckBytes},
		spoil: func(p patch) { p.flip(p.im.defs[1].hashSpan.off - 6) }},
	{name: "version definitions end early", checks: []string{CheckVersions, CheckBytes, CheckHash}, mention: "damaged",
		spoil: func(p patch) { p.u32(p.base().hashSpan.off+8, set[uint32](0)) }},
	{name: "hash of a needed version", checks: []string{CheckVersions, CheckBytes},
		spoil: func(p patch) { p.flip(p.need("libc.so.6").fileSpan.off - 4 + verneedSize) }},

	// .dynamic and its strings.
	{name: "behind DT_NULL", checks: []string{CheckDynamic},
		spoil: func(p patch) { p.b[p.im.dynSpan.end()-1] = 1 }},
	{name: "DT_NULL has a value", checks: []string{CheckDynamic}, moved: true,
		spoil: func(p patch) { p.b[p.im.dynSpan.off+uint64(len(p.im.dyn))*dynSize+8] = 1 }},
	{name: "an entry gets another tag", checks: []string{CheckDynamic},
		spoil: func(p patch) { p.u64(p.dyn(elf.DT_RELACOUNT), set(uint64(elf.DT_DEBUG))) }},
	{name: "value of DT_FINI", checks: []string{CheckDynamic}, moved: true,
		spoil: func(p patch) { p.u64(p.dyn(elf.DT_FINI)+8, plus[uint64](1)) }},
	{name: "entries change places", checks: []string{CheckDynamic},
		spoil: func(p patch) { p.swap(p.dyn(elf.DT_INIT), p.dyn(elf.DT_FINI), dynSize) }},
	{name: "a string that nobody asked for", checks: []string{CheckDynamic}, mention: "nobody asked",
		spoil: func(p patch) { copy(p.b[p.im.strSpan.end()-6:], "extra") }},
	{name: "strings of stock are overwritten", checks: []string{CheckDynamic}, mention: "does not begin",
		spoil: func(p patch) { p.flip(p.im.strSpan.off + p.text("libtest.so.1")) }},
	{name: "bytes of no table in the tail", checks: []string{CheckDynamic}, mention: "no table",
		spoil: func(p patch) { p.b[p.im.strSpan.off-1] = 1 }},

	// Identity.
	{name: "RUNPATH", checks: []string{CheckDynamic, CheckIdentity}, mention: "RUNPATH",
		spoil: func(p patch) { p.flip(p.im.strSpan.off + p.text("$ORIGIN/../lib") + 11) }},
	{name: "SONAME", checks: []string{CheckDynamic, CheckIdentity}, mention: "SONAME",
		spoil: func(p patch) { p.u64(p.dyn(elf.DT_SONAME)+8, set(p.text("libtest.so.1"))) }},
	{name: "an added NEEDED comes first", checks: []string{CheckIdentity}, mention: "NEEDED",
		spoil: func(p patch) {
			i := uint64(len(p.im.stringList(elf.DT_NEEDED)) - 1)
			first := p.dyn(elf.DT_NEEDED)
			added := slices.Clone(p.b[first+i*dynSize : first+(i+1)*dynSize])
			copy(p.b[first+dynSize:], p.b[first:first+i*dynSize])
			copy(p.b[first:], added)
		}},

	// Bytes.
	{name: "a byte of code", checks: []string{CheckBytes}, mention: ".text",
		spoil: func(p patch) { p.flip(p.content(".text").off + 5) }},
	{name: "a byte of data", checks: []string{CheckBytes}, mention: ".data",
		spoil: func(p patch) { p.flip(p.content(".data").end() - 1) }},
	{name: "a byte of what was .bss", checks: []string{CheckBytes}, mention: "memory that became file bytes",
		spoil: func(p patch) { p.b[p.content(".bss").end()-1] = 1 }},
	{name: "the first byte of what was .bss", checks: []string{CheckBytes},
		spoil: func(p patch) { p.b[p.content(".bss").off] = 1 }},
	{name: "the old string table", checks: []string{CheckBytes}, mention: ".dynstr",
		spoil: func(p patch) { p.flip(p.stock.strSpan.off + 20) }},
	{name: "the old .dynamic", checks: []string{CheckBytes}, moved: true, mention: ".dynamic",
		spoil: func(p patch) { p.flip(p.content(".got").off - 3) }},
	{name: "static symbol table", checks: []string{CheckBytes}, mention: ".symtab",
		spoil: func(p patch) { p.flip(p.content(".symtab").off + 50) }},
	{name: "debug information", checks: []string{CheckBytes}, mention: ".debug_info",
		spoil: func(p patch) { p.flip(p.content(".debug_info").off + 9) }},
	{name: "padding behind the last PT_LOAD", checks: []string{CheckBytes}, mention: "padding",
		spoil: func(p patch) { p.b[p.content(".comment").off-1] = 1 }},

	// Notes. Their bytes are bytes like any other.
	{name: "build-id", checks: []string{CheckNotes, CheckBytes}, mention: "build-id",
		spoil: func(p patch) { p.flip(p.content(".note.gnu.build-id").end() - 1) }},

	// Sections.
	{name: "address of .dynstr", checks: []string{CheckSections}, mention: ".dynstr",
		spoil: func(p patch) { p.u64(p.header(".dynstr")+16, plus[uint64](16)) }},
	{name: "size of .dynstr", checks: []string{CheckSections}, mention: ".dynstr",
		spoil: func(p patch) { p.u64(p.header(".dynstr")+32, plus[uint64](^uint64(0))) }},
	{name: ".bss has no bytes in the file", checks: []string{CheckSections}, mention: ".bss",
		spoil: func(p patch) { p.u32(p.header(".bss")+4, set(uint32(elf.SHT_NOBITS))) }},
	{name: ".tbss has bytes in the file", checks: []string{CheckSections}, mention: ".tbss",
		spoil: func(p patch) { p.u32(p.header(".tbss")+4, set(uint32(elf.SHT_PROGBITS))) }},
	{name: ".dynamic is left behind", checks: []string{CheckSections}, moved: true, mention: ".dynamic",
		spoil: func(p patch) { p.u64(p.header(".dynamic")+24, plus[uint64](16)) }},
	{name: "link of .gnu.hash", checks: []string{CheckSections}, mention: ".gnu.hash",
		spoil: func(p patch) { p.u32(p.header(".gnu.hash")+40, plus[uint32](1)) }},
	{name: "alignment of .text", checks: []string{CheckSections}, mention: ".text",
		spoil: func(p patch) { p.u64(p.header(".text")+48, plus[uint64](1)) }},
	{name: "offset of .symtab", checks: []string{CheckSections}, mention: ".symtab",
		spoil: func(p patch) { p.u64(p.header(".symtab")+24, plus[uint64](8)) }},
	{name: "a section past the end of the file", checks: []string{CheckSections}, mention: "past the end",
		spoil: func(p patch) { p.u64(p.header(".comment")+32, set(uint64(len(p.b)))) }},
	{name: "name of a section", checks: []string{CheckSections}, mention: ".comment",
		spoil: func(p patch) { p.u32(p.header(".comment"), plus[uint32](1)) }},
}

func TestControls(t *testing.T) {
	stock := compile(t, "-Wl,--hash-style=both", "-g", "-Wl,-z,now")
	want := everything()
	base := map[bool][]byte{}
	for _, moved := range []bool{false, true} {
		base[moved] = edit(t, stock, want, editOptions{moveDynamic: moved})
		require.True(t, verdict(t, stock, base[moved], want).Clean())
	}
	alone := map[string]bool{}
	for _, c := range controls {
		t.Run(c.name, func(t *testing.T) {
			p := patch{t: t, stock: open(t, stock), b: slices.Clone(base[c.moved])}
			p.im = open(t, base[c.moved])
			c.spoil(p)
			require.NotEqual(t, base[c.moved], p.b, "the control changes nothing")
			r := verdict(t, stock, p.b, want)
			require.False(t, r.Clean())
			require.ElementsMatch(t, c.checks, complaints(r), "%+v", r)
			var all string
			for _, k := range r.Checks {
				for _, f := range k.Findings {
					all += f + "\n"
				}
			}
			require.Contains(t, all, c.mention)
		})
		if len(c.checks) == 1 {
			alone[c.checks[0]] = true
		}
	}
	// Every check but one has a control that only it can see. The bytes of notes are compared as bytes too.
	for _, k := range checkOrder {
		require.True(t, alone[k.name] || k.name == CheckNotes, "no control for %s alone", k.name)
	}
}
