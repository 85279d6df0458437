package main_test

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/tests/runfile"
)

func library(t *testing.T) string {
	t.Helper()
	if os.Getenv("MIOPEN_HIPDNN_LIBRARY") != "" {
		path, err := runfile.Path("MIOPEN_HIPDNN_LIBRARY")
		require.NoError(t, err)
		return path
	}
	dir := t.TempDir()
	out, err := exec.Command("sh", "build.sh", dir).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return filepath.Join(dir, "libmiopen_hipdnn.so.1")
}

// TestLibrary: what a process gets that maps the library.
func TestLibrary(t *testing.T) {
	f, err := elf.Open(library(t))
	require.NoError(t, err)
	defer f.Close()

	symbols, err := f.DynamicSymbols()
	require.NoError(t, err)
	var exported []string
	floor := "GLIBC_2.2.5"
	for _, s := range symbols {
		if s.Section != elf.SHN_UNDEF {
			exported = append(exported, s.Name)
			continue
		}
		if newer(s.Version, floor) {
			floor = s.Version
		}
		require.NotContains(t, s.Name, "hip", "HIP and hipDNN are found at run time")
		require.NotContains(t, s.Name, "miopen")
	}
	slices.Sort(exported)
	require.Equal(t, []string{"miopen_bridge_open", "miopen_hipdnn_forked", "miopen_provider_open"}, exported)
	t.Logf("needs %s; a process with an older glibc cannot load the library and keeps pass-through", floor)

	soname, err := f.DynString(elf.DT_SONAME)
	require.NoError(t, err)
	require.Equal(t, []string{"libmiopen_hipdnn.so.1"}, soname)
	needed, err := f.ImportedLibraries()
	require.NoError(t, err)
	for _, n := range needed {
		require.True(t, slices.Contains([]string{"libc.so.6", "libpthread.so.0", "libdl.so.2", "ld-linux-x86-64.so.2"}, n), n)
	}
	flags, err := f.DynValue(elf.DT_FLAGS_1)
	require.NoError(t, err)
	require.Len(t, flags, 1)
	require.NotZero(t, flags[0]&uint64(elf.DF_1_NODELETE), "threads of Go's cannot be ended")
	require.NotZero(t, flags[0]&uint64(elf.DF_1_NOW))
	textrel, err := f.DynValue(elf.DT_TEXTREL)
	require.NoError(t, err)
	require.Empty(t, textrel)
	for _, p := range f.Progs {
		if p.Type == elf.PT_TLS {
			// Go makes it static, and what the loader keeps for libraries that come later is 512 bytes
			// for all of them (glibc's tunable rtld.optional_static_tls).
			require.LessOrEqual(t, p.Memsz, uint64(64), "thread-local storage")
		}
	}
}

// newer compares version nodes of glibc.
func newer(a, b string) bool {
	numbers := func(s string) (n []int) {
		text, ok := strings.CutPrefix(s, "GLIBC_")
		if !ok {
			return nil
		}
		for _, part := range strings.Split(text, ".") {
			v := 0
			for _, digit := range part {
				v = 10*v + int(digit-'0')
			}
			n = append(n, v)
		}
		return n
	}
	return slices.Compare(numbers(a), numbers(b)) > 0
}
