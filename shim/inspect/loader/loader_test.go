package loader_test

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/shim/exports/exportstest"
	"example.com/miopen_hipdnn_shim/shim/inspect/loader"
)

// predicted returns the files that a program's libraries of the test come from, by NEEDED name.
func predicted(t *testing.T, program, ldLibraryPath string) map[string]string {
	t.Helper()
	scope, err := loader.Host(ldLibraryPath).Open(program)
	require.NoError(t, err)
	defer scope.Close()
	out := map[string]string{}
	for _, o := range scope.Objects[1:] {
		out[filepath.Base(o.Path)] = o.Path
	}
	for _, name := range scope.Missing {
		out[name] = "not found"
	}
	return out
}

var listed = regexp.MustCompile(`(?m)^\s+(\S+) => (not found|\S+)`)

// actual asks the loader itself (LD_TRACE_LOADED_OBJECTS, as ldd does).
func actual(t *testing.T, program, ldLibraryPath string) map[string]string {
	t.Helper()
	env := []string{"LD_TRACE_LOADED_OBJECTS=1"}
	if ldLibraryPath != "" {
		env = append(env, "LD_LIBRARY_PATH="+ldLibraryPath)
	}
	output, err := exportstest.TryRun(env, program)
	require.NoError(t, err, output)
	out := map[string]string{}
	for _, m := range listed.FindAllStringSubmatch(output, -1) {
		path := m[2]
		if dir, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil && path != "not found" {
			path = filepath.Join(dir, filepath.Base(path))
		}
		out[m[1]] = path
	}
	return out
}

// TestAgreesWithTheLoader builds the arrangements in which the search paths differ and compares the prediction with what
// the machine's loader does.
func TestAgreesWithTheLoader(t *testing.T) {
	dir := t.TempDir()
	lib := func(sub, name, source string, flags ...string) string {
		l := exportstest.Library{Source: `extern "C" { ` + source + ` }`, SONAME: name, Flags: flags}
		return l.Build(t, filepath.Join(dir, sub), name)
	}
	// The same two leaves in two folders each.
	leaf := lib("one", "libleaf.so.1", "int leaf(void) { return 1; }")
	lib("two", "libleaf.so.1", "int leaf(void) { return 2; }")
	lib("gone", "libvanish.so.1", "int vanish(void) { return 1; }")
	one, two := filepath.Join(dir, "one"), filepath.Join(dir, "two")
	newTags, oldTags := "-Wl,--enable-new-dtags", "-Wl,--disable-new-dtags"
	const call = "int leaf(void); int middle(void) { return leaf(); }"
	middle := map[string]string{
		"no path":        lib("m1", "libmiddle.so.1", call, leaf),
		"RUNPATH":        lib("m2", "libmiddle.so.1", call, leaf, "-Wl,-rpath,$ORIGIN/../one", newTags),
		"RPATH":          lib("m3", "libmiddle.so.1", call, leaf, "-Wl,-rpath,${ORIGIN}/../one", oldTags),
		"RUNPATH, empty": lib("m4", "libmiddle.so.1", call, leaf, "-Wl,-rpath,/nonexistent", newTags),
	}
	main := exportstest.Write(t, filepath.Join(dir, "main.c"), "int middle(void); int main(void) { return middle(); }\n")
	for name, m := range middle {
		folder := filepath.Dir(m)
		for mode, flags := range map[string][]string{
			"program with RPATH":   {"-Wl,-rpath," + folder + ":" + two, oldTags},
			"program with RUNPATH": {"-Wl,-rpath," + folder + ":" + two, newTags},
		} {
			bin := filepath.Join(t.TempDir(), "program")
			exportstest.Compile(t, append([]string{"-o", bin, main, m, "-Wl,--allow-shlib-undefined"}, flags...)...)
			for _, env := range []string{"", two, one + ":" + two} {
				want, got := actual(t, bin, env), predicted(t, bin, env)
				for _, l := range []string{"libmiddle.so.1", "libleaf.so.1"} {
					require.NotEmpty(t, want[l])
					require.Equal(t, want[l], got[l], "%s, %s, LD_LIBRARY_PATH=%q: %s", name, mode, env, l)
				}
				require.Equal(t, want["libc.so.6"], got["libc.so.6"])
			}
		}
	}
}

// TestScopeIsBreadthFirst: of two definitions the one that is nearer to the root wins, whatever the order of the files.
func TestScopeIsBreadthFirst(t *testing.T) {
	dir := t.TempDir()
	deep := exportstest.Library{Source: `extern "C" { int miopenA(void) { return 1; } int miopenDeep(void) { return 1; } }`, SONAME: "libdeep.so"}.
		Build(t, dir, "libdeep.so")
	first := exportstest.Library{Source: `extern "C" { int miopenDeep(void); int first(void) { return miopenDeep(); } }`, SONAME: "libfirst.so",
		Flags: []string{deep, "-Wl,-rpath,$ORIGIN"}}.Build(t, dir, "libfirst.so")
	second := exportstest.Library{Source: `extern "C" int miopenA(void) { return 2; }`, SONAME: "libsecond.so"}.Build(t, dir, "libsecond.so")
	main := exportstest.Write(t, filepath.Join(dir, "main.c"), "int miopenA(void); int first(void); int main(void) { return 10 * miopenA() + first(); }\n")
	bin := filepath.Join(dir, "program")
	exportstest.Compile(t, "-o", bin, main, first, second, "-Wl,-rpath,$ORIGIN")
	_, err := exportstest.TryRun(nil, bin)
	require.ErrorContains(t, err, "21", "the loader takes the one of libsecond.so")

	scope, err := loader.Host("").Open(bin)
	require.NoError(t, err)
	defer scope.Close()
	require.Equal(t, second, scope.Lookup("miopenA", "").Object.Path)
	require.Equal(t, deep, scope.Lookup("miopenDeep", "").Object.Path)
	require.Nil(t, scope.Lookup("miopenNone", "").Object)
	require.Equal(t, []string{"libfirst.so", "libsecond.so", "libc.so.6"}, func() (names []string) {
		for _, n := range scope.Needs {
			require.NotNil(t, n.Object, n.Name)
			names = append(names, n.Name)
		}
		return names
	}())
}

func TestVersions(t *testing.T) {
	dir := t.TempDir()
	versioned := exportstest.TwoVersions().Build(t, dir, "libMIOpen.so.1")
	scope, err := loader.Host("").Open(versioned)
	require.NoError(t, err)
	defer scope.Close()
	require.Equal(t, "MIOPEN_HIP_2", scope.Lookup("miopenAlpha", "").Symbol.Node, "the default")
	require.Equal(t, "MIOPEN_HIP_1", scope.Lookup("miopenAlpha", "MIOPEN_HIP_1").Symbol.Node)
	missing := scope.Lookup("miopenOther", "MIOPEN_HIP_2")
	require.Nil(t, missing.Object)
	require.Equal(t, versioned, missing.Other.Path)

	plain := exportstest.Library{Source: `extern "C" int miopenAlpha(void) { return 1; }`,
		Flags: []string{"-Wl,--no-as-needed", "-lm"}}.Build(t, dir, "plain.so")
	scope, err = loader.Search{}.Open(plain)
	require.NoError(t, err)
	defer scope.Close()
	require.NotNil(t, scope.Lookup("miopenAlpha", "MIOPEN_HIP_1").Object, "a definition without a version satisfies any")
	require.Contains(t, scope.Missing, "libm.so.6", "without default folders nothing is found")
}

// TestOtherFilesAreSkipped: a file of that name that is no x86-64 object does not end the search.
func TestOtherFilesAreSkipped(t *testing.T) {
	dir := t.TempDir()
	good := exportstest.Sample().Build(t, filepath.Join(dir, "good"), "libMIOpen.so.1")
	exportstest.Write(t, filepath.Join(dir, "bad", "libMIOpen.so.1"), "INPUT(x)")
	user := exportstest.Library{Source: `extern "C" { int miopenBare(void); int f(void) { return miopenBare(); } }`, Flags: []string{good}}.
		Build(t, dir, "user.so")
	scope, err := loader.Search{LibraryPath: []string{filepath.Join(dir, "bad"), filepath.Join(dir, "good")}}.Open(user)
	require.NoError(t, err)
	defer scope.Close()
	require.Equal(t, good, scope.Lookup("miopenBare", "MIOPEN_HIP_1").Object.Path)
}

func TestCache(t *testing.T) {
	text, err := os.ReadFile("/etc/ld.so.cache")
	if err == nil { // the machine's own, when it has one
		if cache := loader.ParseCache(text); cache["libc.so.6"] != "" {
			require.FileExists(t, cache["libc.so.6"])
		}
	}
	build := func(prefix string, entries ...[3]any) []byte {
		var b, strs bytes.Buffer
		offset := 48 + 24*len(entries)
		put := func(s string) uint32 {
			at := offset + strs.Len()
			strs.WriteString(s + "\x00")
			return uint32(at)
		}
		b.WriteString("glibc-ld.so.cache1.1")
		b.Write(binary.LittleEndian.AppendUint32(nil, uint32(len(entries))))
		b.Write(make([]byte, 48-b.Len()))
		for _, e := range entries {
			record := binary.LittleEndian.AppendUint32(nil, uint32(e[2].(int)))
			record = binary.LittleEndian.AppendUint32(record, put(e[0].(string)))
			record = binary.LittleEndian.AppendUint32(record, put(e[1].(string)))
			b.Write(append(record, make([]byte, 12)...))
		}
		return append([]byte(prefix), append(b.Bytes(), strs.Bytes()...)...)
	}
	entries := [][3]any{
		{"liba.so.1", "/opt/rocm/lib/liba.so.1", 0x0303},
		{"liba.so.1", "/usr/lib/liba.so.1", 0x0303},
		{"libb.so.1", "/usr/lib32/libb.so.1", 0x0003},
	}
	want := loader.Cache{"liba.so.1": "/opt/rocm/lib/liba.so.1"}
	require.Equal(t, want, loader.ParseCache(build("", entries...)))
	require.Equal(t, want, loader.ParseCache(build("ld.so-1.7.0\x00"+strings.Repeat("x", 100), entries...)), "behind the older format")
	whole := build("", entries...)
	for n := range whole {
		loader.ParseCache(whole[:n]) // does not panic
	}
	require.Empty(t, loader.ParseCache([]byte("something else")))

	// The cache comes after the object's own path and before the default folders.
	dir := t.TempDir()
	cached := exportstest.Sample().Build(t, filepath.Join(dir, "cached"), "libMIOpen.so.1")
	exportstest.Sample().Build(t, filepath.Join(dir, "default"), "libMIOpen.so.1")
	user := exportstest.Library{Source: `extern "C" { int miopenBare(void); int f(void) { return miopenBare(); } }`, Flags: []string{cached}}.
		Build(t, dir, "user.so")
	scope, err := loader.Search{Cache: loader.Cache{"libMIOpen.so.1": cached}, Default: []string{filepath.Join(dir, "default")}}.Open(user)
	require.NoError(t, err)
	defer scope.Close()
	require.Equal(t, cached, scope.Needs[0].Object.Path)
}
