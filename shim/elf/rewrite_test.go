package elf_test

import (
	stdelf "debug/elf"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/shim/elf"
)

// editable are the fixtures that every edit applies to.
func editable(t testing.TB) []string {
	return slices.DeleteFunc(fixtures(t), func(p string) bool {
		// Nothing writable in it, so .dynamic cannot move; and nothing exported.
		return strings.Contains(p, "rodynamic") || strings.Contains(p, "imports")
	})
}

func TestEveryEditOnEveryFixture(t *testing.T) {
	edits := map[string]func(t *testing.T, path string) elf.Edit{
		"nothing":        func(*testing.T, string) elf.Edit { return elf.Edit{} },
		"rename all":     func(t *testing.T, p string) elf.Edit { return elf.Edit{Rename: renameAll(t, p)} },
		"soname":         func(*testing.T, string) elf.Edit { return elf.Edit{SONAME: "libother.so.7"} },
		"runpath":        func(*testing.T, string) elf.Edit { return elf.Edit{RunPath: pointer("$ORIGIN/../lib")} },
		"remove runpath": func(*testing.T, string) elf.Edit { return elf.Edit{RunPath: pointer("")} },
		"add needed": func(*testing.T, string) elf.Edit {
			return elf.Edit{AddNeeded: []string{"libextra.so.1", "libmore.so.2"}}
		},
		"everything": func(t *testing.T, p string) elf.Edit {
			e := elf.Edit{
				Rename: renameAll(t, p), SONAME: "libother.so.7", RunPath: pointer("/opt/x"),
				AddNeeded: []string{"libextra.so.1"},
			}
			if slices.Contains(readIdentity(t, p).needed, "libc.so.6") {
				e.Needed = map[string]string{"libc.so.6": "libnotc.so.6"}
			}
			return e
		},
	}
	for _, path := range editable(t) {
		for _, name := range slices.Sorted(maps.Keys(edits)) {
			t.Run(filepath.Base(path)+"/"+name, func(t *testing.T) {
				e := edits[name](t, path)
				out, res := rewrite(t, path, e)
				for old, to := range e.Rename {
					require.NotContains(t, exports(t, out), old)
					require.Contains(t, exports(t, out), to)
				}
				if e.Rename != nil {
					require.GreaterOrEqual(t, res.Renamed, len(e.Rename))
				}
				stock, got := readIdentity(t, path), readIdentity(t, out)
				if e.SONAME != "" {
					require.Equal(t, []string{e.SONAME}, got.soname)
				} else {
					require.Equal(t, stock.soname, got.soname)
				}
				switch {
				case e.RunPath == nil:
					require.Equal(t, stock.runpath, got.runpath)
					require.Equal(t, stock.rpath, got.rpath)
				case *e.RunPath == "":
					require.Empty(t, got.runpath)
					require.Empty(t, got.rpath)
				default:
					require.Equal(t, []string{*e.RunPath}, got.runpath)
					require.Empty(t, got.rpath)
				}
				want := slices.Clone(stock.needed)
				for i, n := range want {
					if to, ok := e.Needed[n]; ok {
						want[i] = to
					}
				}
				require.Equal(t, append(want, e.AddNeeded...), got.needed)
			})
		}
	}
}

func TestNothingToChangeIsACopy(t *testing.T) {
	for _, path := range fixtures(t) {
		out := filepath.Join(t.TempDir(), "out.so")
		res, err := elf.Rewrite(path, out, elf.Edit{})
		require.NoError(t, err)
		require.Equal(t, read(t, path), read(t, out), path)
		require.Positive(t, res.Symbols)
		require.Zero(t, res.Growth)
	}
}

func TestRepeatedEditChangesNothing(t *testing.T) {
	for _, path := range editable(t) {
		e := elf.Edit{SONAME: "libother.so.7", RunPath: pointer("/opt/x"), AddNeeded: []string{"libextra.so.1"}}
		once, _ := rewrite(t, path, e)
		twice, res := rewrite(t, once, e)
		require.Equal(t, read(t, once), read(t, twice), path)
		require.Zero(t, res.Growth)
	}
}

// Edits of an edited object: each grows the tail that the first made, and the
// first has room for entries that a later one adds.
func TestEditsOnTopOfEdits(t *testing.T) {
	for _, path := range editable(t) {
		first, _ := rewrite(t, path, elf.Edit{Rename: renameAll(t, path), SONAME: "liba.so.1"})
		second, res := rewrite(t, first, elf.Edit{SONAME: "libbb.so.1", RunPath: pointer("/opt/x")})
		require.Zero(t, res.BSS, "%s: .bss was in the file already", path)
		third, res := rewrite(t, second, elf.Edit{RunPath: pointer("/opt/another/place"), AddNeeded: []string{"libextra.so.1"}})
		require.False(t, res.DynamicMoved, "%s: .dynamic moves once", path)
		fourth, _ := rewrite(t, third, elf.Edit{RunPath: pointer("")})
		got := readIdentity(t, fourth)
		require.Equal(t, []string{"libbb.so.1"}, got.soname)
		require.Empty(t, got.runpath)
		require.Contains(t, got.needed, "libextra.so.1")
		back := map[string]string{}
		for old, to := range renameAll(t, path) {
			back[to] = old
		}
		fifth, _ := rewrite(t, fourth, elf.Edit{Rename: back})
		require.ElementsMatch(t, exports(t, path), exports(t, fifth))
	}
}

// Going back to names that are in .dynstr still needs no new string.
func TestStringsAreReused(t *testing.T) {
	path := fixture("bfd-both")
	there, _ := rewrite(t, path, elf.Edit{Rename: renameAll(t, path), SONAME: "liba.so.1"})
	back := map[string]string{}
	for old, to := range renameAll(t, path) {
		back[to] = old
	}
	again, res := rewrite(t, there, elf.Edit{Rename: back, SONAME: "libfixture.so.1"})
	require.Zero(t, res.Growth)
	require.ElementsMatch(t, exports(t, path), exports(t, again))
}

func TestDynamicMovesWhereItHasNoSpareEntry(t *testing.T) {
	e := elf.Edit{RunPath: pointer("/opt/x")}
	_, res := rewrite(t, fixture("bfd-stripped"), e)
	require.False(t, res.DynamicMoved, "GNU ld leaves spare entries")
	for _, name := range []string{"bfd-nospare", "lld-gnu", "lld-nobss"} {
		_, res := rewrite(t, fixture(name), e)
		require.True(t, res.DynamicMoved, name)
	}
}

// More entries than a moved .dynamic has room for: it moves once more, to
// behind .dynstr, which is at the end by then.
func TestDynamicMovesTwice(t *testing.T) {
	first, res := rewrite(t, fixture("lld-gnu"), elf.Edit{RunPath: pointer("/opt/x")})
	require.True(t, res.DynamicMoved)
	more := []string{"liba.so.1", "libb.so.1", "libc.so.1", "libd.so.1", "libe.so.1"}
	second, res := rewrite(t, first, elf.Edit{AddNeeded: more, Rename: renameAll(t, first)})
	require.True(t, res.DynamicMoved)
	third, res := rewrite(t, second, elf.Edit{SONAME: "libthird.so.1"})
	require.False(t, res.DynamicMoved)
	fourth, _ := rewrite(t, third, elf.Edit{SONAME: "libfourth.so.1"})
	require.Subset(t, readIdentity(t, fourth).needed, more)
	require.Equal(t, []string{"libfourth.so.1"}, readIdentity(t, fourth).soname)
}

func TestResultCounts(t *testing.T) {
	path := fixture("bfd-gnu")
	_, res := rewrite(t, path, elf.Edit{Rename: renameAll(t, path)})
	// readelf --dyn-syms: 22 symbols, of them 16 exports, one name twice.
	require.Equal(t, 22, res.Symbols)
	require.Equal(t, len(renameAll(t, path))+1, res.Renamed)
	require.Positive(t, res.Relocations)
	require.Positive(t, res.BSS)
}

// The order of symbols is the GNU hash table's; without it nothing moves.
func TestSysvHashAloneMovesNoSymbol(t *testing.T) {
	path := fixture("bfd-sysv")
	_, res := rewrite(t, path, elf.Edit{Rename: renameAll(t, path)})
	require.Zero(t, res.Relocations)
}

func TestOutputReplacesWhatWasThere(t *testing.T) {
	dir := t.TempDir()
	dst := filepath.Join(dir, "out.so")
	require.NoError(t, os.WriteFile(dst, []byte("older"), 0o600))
	_, err := elf.Rewrite(fixture("bfd-gnu"), dst, elf.Edit{SONAME: "libx.so.1"})
	require.NoError(t, err)
	require.Equal(t, []string{"libx.so.1"}, readIdentity(t, dst).soname)
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 1, "a temporary file was left behind")
}

func TestPermissionsAreKept(t *testing.T) {
	for _, mode := range []os.FileMode{0o755, 0o444, 0o640} {
		in := write(t, read(t, fixture("bfd-gnu")))
		require.NoError(t, os.Chmod(in, mode))
		rewrite(t, in, elf.Edit{SONAME: "libx.so.1"}) // compares the modes
	}
}

// gABI lets DT_RELA include the range of DT_JMPREL; then each entry must be
// renumbered once, and not twice.
func TestJumpRelocationsInsideTheOthers(t *testing.T) {
	stock := fixture("bfd-both")
	b := read(t, stock)
	rela, size := dynEntry(t, b, stdelf.DT_RELA), dynEntry(t, b, stdelf.DT_RELASZ)
	jmprel, jmpSize := dynEntry(t, b, stdelf.DT_JMPREL), dynEntry(t, b, stdelf.DT_PLTRELSZ)
	require.Equal(t, le.Uint64(rela[8:])+le.Uint64(size[8:]), le.Uint64(jmprel[8:]), "GNU ld puts them side by side")
	le.PutUint64(size[8:], le.Uint64(size[8:])+le.Uint64(jmpSize[8:]))
	e := elf.Edit{Rename: renameAll(t, stock)}
	nested, res := rewrite(t, write(t, b), e)
	_, apart := rewrite(t, stock, e)
	require.Equal(t, apart.Relocations, res.Relocations)

	code, msg := run(t, nil, hostProgram(t), nested, suffix, "versions")
	require.Zero(t, code, msg)
}

// With 0xff00 sections and more, counts move into section 0.
func TestExtendedSectionNumbering(t *testing.T) {
	b := read(t, fixture("bfd-both"))
	first := b[le.Uint64(b[40:]):]
	le.PutUint64(first[32:], uint64(le.Uint16(b[60:]))) // sh_size: their number
	le.PutUint32(first[40:], uint32(le.Uint16(b[62:]))) // sh_link: the names
	le.PutUint16(b[60:], 0)
	le.PutUint16(b[62:], uint16(stdelf.SHN_XINDEX))
	out, res := rewrite(t, write(t, b), elf.Edit{Rename: renameAll(t, fixture("bfd-both")), SONAME: "libother.so.1"})
	got := read(t, out)
	require.Equal(t, le.Uint64(b[40:])+uint64(res.Growth), le.Uint64(got[40:]))
	require.Equal(t, uint64(res.Growth), le.Uint64(section(t, withCount(got), stdelf.SHT_SYMTAB)[24:])-le.Uint64(section(t, withCount(b), stdelf.SHT_SYMTAB)[24:]))
}

// withCount is b with the number of sections back in the ELF header.
func withCount(b []byte) []byte {
	b = slices.Clone(b)
	le.PutUint16(b[60:], uint16(le.Uint64(b[le.Uint64(b[40:])+32:])))
	return b
}

func TestAllRunPathsBecomeOne(t *testing.T) {
	b := read(t, fixture("bfd-rpath"))
	// A DT_RUNPATH beside the DT_RPATH, with the same string.
	spare := dynEntry(t, b, stdelf.DT_NULL)
	le.PutUint64(spare, uint64(stdelf.DT_RUNPATH))
	copy(spare[8:], dynEntry(t, b, stdelf.DT_RPATH)[8:])
	src := write(t, b)
	require.Equal(t, []string{"$ORIGIN"}, readIdentity(t, src).rpath)
	require.Equal(t, []string{"$ORIGIN"}, readIdentity(t, src).runpath)

	out, _ := rewrite(t, src, elf.Edit{RunPath: pointer("/opt/x")})
	require.Equal(t, []string{"/opt/x"}, readIdentity(t, out).runpath)
	require.Empty(t, readIdentity(t, out).rpath)
	out, _ = rewrite(t, src, elf.Edit{RunPath: pointer("$ORIGIN")})
	require.Equal(t, []string{"$ORIGIN"}, readIdentity(t, out).runpath)
	require.Empty(t, readIdentity(t, out).rpath)
	out, _ = rewrite(t, src, elf.Edit{RunPath: pointer("")})
	require.Empty(t, readIdentity(t, out).runpath)
	require.Empty(t, readIdentity(t, out).rpath)
}
