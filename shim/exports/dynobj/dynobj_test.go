package dynobj_test

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/shim/exports/dynobj"
	"example.com/miopen_hipdnn_shim/shim/exports/exportstest"
)

func open(t *testing.T, path string) *dynobj.Object {
	t.Helper()
	o, err := dynobj.Open(path)
	require.NoError(t, err)
	t.Cleanup(func() { o.Close() })
	return o
}

// TestAgreesWithSections compares with debug/elf, which reads section headers.
func TestAgreesWithSections(t *testing.T) {
	for name, flags := range map[string][]string{
		"gnu hash":  {"-Wl,--hash-style=gnu"},
		"sysv hash": {"-Wl,--hash-style=sysv"},
		"both":      {"-Wl,--hash-style=both", "-Wl,-rpath,$ORIGIN/x", "-Wl,--enable-new-dtags"},
	} {
		t.Run(name, func(t *testing.T) {
			lib := exportstest.Sample()
			lib.Flags = flags
			path := lib.Build(t, t.TempDir(), "lib.so")
			o := open(t, path)

			f, err := elf.Open(path)
			require.NoError(t, err)
			defer f.Close()
			want, err := f.DynamicSymbols()
			require.NoError(t, err)
			require.Len(t, o.Symbols, len(want)+1) // debug/elf leaves out entry 0
			for i, w := range want {
				s := o.Symbols[i+1]
				require.Equal(t, w.Name, s.Name)
				require.Equal(t, w.Value, s.Value)
				require.Equal(t, w.Size, s.Size)
				require.Equal(t, w.Section, s.Section)
				require.Equal(t, elf.ST_TYPE(w.Info), s.Type)
				require.Equal(t, elf.ST_BIND(w.Info), s.Bind)
				if w.HasVersion && w.VersionIndex.Index() > 1 {
					require.Equal(t, w.Version, s.Node, s.Name)
					require.Equal(t, w.VersionIndex.IsHidden(), s.Hidden, s.Name)
				} else {
					require.Empty(t, s.Node, s.Name)
				}
			}
			needed, err := f.ImportedLibraries()
			require.NoError(t, err)
			require.Equal(t, needed, o.Needed)
			require.Equal(t, "libMIOpen.so.1", o.SONAME)
			require.Equal(t, []dynobj.VersionDef{
				{Name: "MIOPEN_HIP_1", Parents: []string{}},
				{Name: "MIOPEN_HIP_2", Parents: []string{"MIOPEN_HIP_1"}},
				{Name: "MIOPEN_CXX_1", Parents: []string{}},
			}, o.VersionDefs)
			id, err := o.BuildID()
			require.NoError(t, err)
			require.Len(t, id, 40)
			if name == "both" {
				require.NotNil(t, o.RunPath)
				require.Equal(t, "$ORIGIN/x", *o.RunPath)
			} else {
				require.Nil(t, o.RunPath)
			}
			require.Nil(t, o.RPath)
		})
	}
}

func TestSectionHeadersAreNotNeeded(t *testing.T) {
	path := exportstest.Sample().Build(t, t.TempDir(), "lib.so")
	with := open(t, path)
	before, err := with.Relocs()
	require.NoError(t, err)
	require.NotEmpty(t, before)
	exportstest.StripSectionHeaders(t, path)
	without := open(t, path)
	after, err := without.Relocs()
	require.NoError(t, err)
	require.Equal(t, with.Symbols, without.Symbols)
	require.Equal(t, with.VersionDefs, without.VersionDefs)
	require.Equal(t, with.VersionNeeds, without.VersionNeeds)
	require.Equal(t, before, after)
}

// TestProgramWithoutExports: the GNU hash table of a program hashes nothing, so that only relocations tell how many
// symbols there are.
func TestProgramWithoutExports(t *testing.T) {
	dir := t.TempDir()
	lib := exportstest.Sample().Build(t, dir, "libMIOpen.so.1")
	for _, mode := range []string{"-Wl,-z,lazy", "-Wl,-z,now", "-static-libgcc"} {
		program := filepath.Join(dir, "program")
		source := exportstest.Write(t, filepath.Join(dir, "p.c"),
			"int miopenAlpha(int); int miopenBare(void); int main(void) { return miopenAlpha(1) + miopenBare(); }\n")
		exportstest.Compile(t, "-o", program, source, lib, "-Wl,--hash-style=gnu", mode)
		var undefined []string
		for _, s := range open(t, program).Symbols {
			if !s.Defined() && s.From == "libMIOpen.so.1" {
				require.Equal(t, "MIOPEN_HIP_1", s.Node)
				undefined = append(undefined, s.Name)
			}
		}
		require.ElementsMatch(t, []string{"miopenAlpha", "miopenBare"}, undefined, mode)
	}
}

func TestRefusals(t *testing.T) {
	dir := t.TempDir()
	lib := exportstest.Sample().Build(t, dir, "lib.so")
	good, err := os.ReadFile(lib)
	require.NoError(t, err)
	static := filepath.Join(dir, "object.o")
	exportstest.Compile(t, "-c", "-o", static, "-x", "c", os.DevNull)
	object, err := os.ReadFile(static)
	require.NoError(t, err)
	edit := func(off int, b ...byte) []byte {
		c := append([]byte(nil), good...)
		copy(c[off:], b)
		return c
	}
	for name, c := range map[string]struct {
		content []byte
		reason  string
	}{
		"empty":       {nil, "is not an ELF file"},
		"text":        {[]byte("INPUT(libMIOpen.so.1 and more text, more than sixty-four bytes of it)"), "is not an ELF file"},
		"header only": {good[:40], "ends after 40 of 64 bytes"},
		"32 bit":      {edit(4, 1), "ELFCLASS32"},
		"big endian":  {edit(5, 2), "ELFDATA2MSB"},
		"AArch64":     {edit(18, 183), "EM_AARCH64"},
		"object file": {object, "ET_REL"},
		"no segments": {edit(56, 0, 0), "0 program headers"},
		"truncated":   {good[:len(good)/2], "truncated"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "bad.so")
			require.NoError(t, os.WriteFile(path, c.content, 0o644))
			_, err := dynobj.Open(path)
			var format *dynobj.FormatError
			require.ErrorAs(t, err, &format)
			require.Equal(t, path, format.Path)
			require.Contains(t, err.Error(), c.reason)
		})
	}
	_, err = dynobj.Open(filepath.Join(dir, "none"))
	require.True(t, errors.Is(err, fs.ErrNotExist))
	_, err = dynobj.Open(dir)
	require.ErrorContains(t, err, "is not a regular file")
}

// TestDamage truncates and mutates a library. Whatever comes out, nothing panics and errors name the file.
func TestDamage(t *testing.T) {
	dir := t.TempDir()
	good, err := os.ReadFile(exportstest.Sample().Build(t, dir, "lib.so"))
	require.NoError(t, err)
	path := filepath.Join(dir, "bad.so")
	refused := 0
	try := func(content []byte) {
		require.NoError(t, os.WriteFile(path, content, 0o644))
		o, err := dynobj.Open(path)
		if err == nil {
			_, relocErr := o.Relocs()
			_, noteErr := o.Notes()
			err = errors.Join(relocErr, noteErr)
			o.Close()
		}
		if err != nil {
			refused++
			var format *dynobj.FormatError
			require.ErrorAs(t, err, &format)
		}
	}
	for n := 0; n < len(good); n += 211 {
		try(good[:n])
	}
	require.Positive(t, refused)
	refused = 0
	// The tables that are read lie in the first segment and in .dynamic.
	r := rand.New(rand.NewPCG(1, 2))
	dynamic := int(open(t, filepath.Join(dir, "lib.so")).Segments[0].Filesz)
	for range 800 {
		c := append([]byte(nil), good...)
		for range 1 + r.IntN(4) {
			at := r.IntN(dynamic)
			switch r.IntN(3) {
			case 0:
				c[at] ^= byte(1 << r.IntN(8))
			case 1:
				c[at] = byte(r.Uint32())
			case 2:
				binary.LittleEndian.PutUint32(c[at&^3:], []uint32{0, 1, 0x7fffffff, 0xffffffff, 0x10000}[r.IntN(5)])
			}
		}
		try(c)
	}
	require.Positive(t, refused)
}

// FuzzOpen: whatever a file holds, reading it neither panics nor takes memory beyond its size.
func FuzzOpen(f *testing.F) {
	for _, flags := range [][]string{{"-Wl,--hash-style=gnu"}, {"-Wl,--hash-style=sysv"}} {
		lib := exportstest.Sample()
		lib.Flags = append(flags, "-s")
		content, err := os.ReadFile(lib.Build(f, f.TempDir(), "lib.so"))
		require.NoError(f, err)
		f.Add(content)
	}
	path := filepath.Join(f.TempDir(), "fuzzed.so")
	f.Fuzz(func(t *testing.T, content []byte) {
		require.NoError(t, os.WriteFile(path, content, 0o644))
		o, err := dynobj.Open(path)
		if err != nil {
			return
		}
		defer o.Close()
		_, _ = o.Relocs()
		_, _ = o.BuildID()
	})
}
