package elf_test

import (
	stdelf "debug/elf"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/shim/elf"
	"example.com/miopen_hipdnn_shim/shim/elf/verify"
)

// fixtures are the committed shared objects; testdata/build.sh makes them.
func fixtures(t testing.TB) []string {
	t.Helper()
	paths, err := filepath.Glob("testdata/*.so")
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(paths), 30, "fixtures are missing: run testdata/build.sh")
	return paths
}

func fixture(name string) string { return filepath.Join("testdata", name+".so") }

// exports are the names of an object's defined dynamic symbols, read with
// debug/elf, which knows nothing of the rewriter.
func exports(t testing.TB, path string) []string {
	t.Helper()
	f, err := stdelf.Open(path)
	require.NoError(t, err)
	defer func() { require.NoError(t, f.Close()) }()
	syms, err := f.DynamicSymbols()
	require.NoError(t, err)
	var names []string
	seen := map[string]bool{}
	for _, s := range syms {
		if s.Section != stdelf.SHN_UNDEF && s.Section != stdelf.SHN_ABS && !seen[s.Name] {
			seen[s.Name] = true
			names = append(names, s.Name)
		}
	}
	return names
}

const suffix = "_impl"

// renameAll renames every export. The names of objects without section
// headers come from the fixture that they were made from.
func renameAll(t testing.TB, path string) map[string]string {
	t.Helper()
	m := map[string]string{}
	for _, n := range exports(t, path) {
		m[n] = n + suffix
	}
	return m
}

func pointer(s string) *string { return &s }

// identity is the part of an object's .dynamic that an edit can set.
type identity struct {
	soname, rpath, runpath, needed []string
}

func readIdentity(t testing.TB, path string) identity {
	t.Helper()
	f, err := stdelf.Open(path)
	require.NoError(t, err)
	defer func() { require.NoError(t, f.Close()) }()
	get := func(tag stdelf.DynTag) []string {
		v, err := f.DynString(tag)
		require.NoError(t, err)
		return v
	}
	return identity{get(stdelf.DT_SONAME), get(stdelf.DT_RPATH), get(stdelf.DT_RUNPATH), get(stdelf.DT_NEEDED)}
}

// rewrite applies the edit, lets the verifier compare, and returns the path of
// the output.
func rewrite(t testing.TB, src string, e elf.Edit) (string, elf.Result) {
	t.Helper()
	before, err := os.ReadFile(src)
	require.NoError(t, err)
	dst := filepath.Join(t.TempDir(), "out.so")
	res, err := elf.Rewrite(src, dst, e)
	require.NoError(t, err)
	verifyClean(t, src, dst, e)
	after, err := os.ReadFile(src)
	require.NoError(t, err)
	require.Equal(t, before, after, "the input was modified")
	in, err := os.Stat(src)
	require.NoError(t, err)
	out, err := os.Stat(dst)
	require.NoError(t, err)
	require.Equal(t, in.Mode(), out.Mode())
	require.Equal(t, res.Growth, out.Size()-in.Size())
	return dst, res
}

func verifyClean(t testing.TB, src, dst string, e elf.Edit) {
	t.Helper()
	report, err := verify.Files(src, dst, expectation(e))
	require.NoError(t, err)
	require.True(t, report.Clean(), "%+v", report)
}

func expectation(e elf.Edit) verify.Expect {
	return verify.Expect{Rename: e.Rename, SONAME: e.SONAME, RunPath: e.RunPath, Needed: e.Needed, AddNeeded: e.AddNeeded}
}

func read(t testing.TB, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	return b
}

func write(t testing.TB, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "in.so")
	require.NoError(t, os.WriteFile(path, content, 0o755))
	return path
}
