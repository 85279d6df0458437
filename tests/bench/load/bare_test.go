package main

import (
	"debug/elf"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/shim/exports"
	"example.com/miopen_hipdnn_shim/tests/bench/subject"
)

// The bare wrapper has what no wrapper can be without, and nothing else: the private library as its only dependency, a
// weak reference to each of its entry points, one relocation for each.
func TestBare(t *testing.T) {
	s, err := subject.Flags{}.Open()
	require.NoError(t, err)
	defer s.Close()
	wrapper, err := exports.Read(s.Wrapper)
	require.NoError(t, err)
	api, err := wrapper.API()
	require.NoError(t, err)
	require.NotEmpty(t, api.Names())

	bare, err := linkBare(t.TempDir(), s.Private)
	require.NoError(t, err)
	file, err := elf.Open(bare)
	require.NoError(t, err)
	defer file.Close()

	needed, err := file.ImportedLibraries()
	require.NoError(t, err)
	require.Equal(t, []string{"libMIOpen_private.so.1"}, needed)
	symbols, err := file.DynamicSymbols()
	require.NoError(t, err)
	var references []string
	for _, symbol := range symbols {
		require.Equal(t, elf.SHN_UNDEF, symbol.Section, symbol.Name)
		require.Equal(t, elf.STB_WEAK, elf.ST_BIND(symbol.Info), symbol.Name)
		references = append(references, strings.TrimSuffix(symbol.Name, exports.ImplSuffix))
	}
	require.ElementsMatch(t, api.Names(), references)
	relocations := file.Section(".rela.dyn")
	require.NotNil(t, relocations)
	require.EqualValues(t, len(references), relocations.Size/relocations.Entsize)
	for _, section := range file.Sections {
		require.False(t, section.Flags&elf.SHF_EXECINSTR != 0 && section.Size > 0, "code in %s", section.Name)
	}
	require.True(t, slices.ContainsFunc(file.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_GNU_RELRO }))

	// Control: a library without entry points has no bare wrapper.
	_, err = linkBare(t.TempDir(), bare)
	require.ErrorAs(t, err, new(*exports.NoAPIError))
}
