package refhipdnn_test

import (
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// runOn runs graphs on another copy of the library.
func runOn(t *testing.T, library, stdin string) string {
	t.Helper()
	cmd := exec.Command(driver(t), library, "graphs")
	cmd.Stdin = strings.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return string(out)
}

var enumerator = regexp.MustCompile(`\b(HIPDNN_[A-Z0-9_a-z]+) = (\d+)`)

func headers(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	for _, name := range []string{"hipdnn_backend.h", "engine_plugin.h"} {
		data, err := os.ReadFile(filepath.Join("include", "refhipdnn", name))
		require.NoError(t, err)
		all.Write(data)
	}
	return all.String()
}

// The headers' numbers are those of the table, which was made from the public headers on its own: none
// is missing on either side.
func TestNumbers(t *testing.T) {
	want := map[string]string{}
	for name, row := range table(t, "numbers.tsv", 3) {
		want[name] = row[0]
	}
	got := map[string]string{}
	for _, m := range enumerator.FindAllStringSubmatch(headers(t), -1) {
		got[m[1]] = m[2]
	}
	require.Equal(t, want, got)
	require.Greater(t, len(got), 190)
}

// The control of TestNumbers: a wrong number in a header is seen.
func TestNumbersSeesAChange(t *testing.T) {
	changed := strings.Replace(headers(t), "HIPDNN_ATTR_TENSOR_STRIDES = 1304", "HIPDNN_ATTR_TENSOR_STRIDES = 1305", 1)
	require.NotEqual(t, headers(t), changed)
	for _, m := range enumerator.FindAllStringSubmatch(changed, -1) {
		if m[1] == "HIPDNN_ATTR_TENSOR_STRIDES" {
			require.NotEqual(t, table(t, "numbers.tsv", 3)[m[1]][0], m[2])
			return
		}
	}
	require.Fail(t, "the name is not there")
}

// The compiler reads the same numbers as the regular expression, in C.
func TestHeadersAreC(t *testing.T) {
	var program strings.Builder
	program.WriteString("#include \"refhipdnn/engine_plugin.h\"\n")
	for name, row := range table(t, "numbers.tsv", 3) {
		fmt.Fprintf(&program, "_Static_assert(%s == %s, \"%s\");\n", name, row[0], name)
	}
	source := filepath.Join(t.TempDir(), "numbers.c")
	compile := func(text string) error {
		require.NoError(t, os.WriteFile(source, []byte(text), 0o644))
		cc := os.Getenv("CC")
		if cc == "" {
			cc = "cc"
		}
		out, err := exec.Command(cc, "-std=c11", "-Wall", "-Wextra", "-Werror", "-Iinclude", "-fsyntax-only", source).CombinedOutput()
		t.Logf("%.500s", out)
		return err
	}
	require.NoError(t, compile(program.String()))
	require.Error(t, compile(program.String()+"_Static_assert(HIPDNN_DATA_HALF == 3, \"control\");\n"))
}

// What a program sees of the library: the API and nothing else, no C++ runtime, nothing that runs
// when it is loaded but registrations of the compiler's.
func TestShapeOfTheLibrary(t *testing.T) {
	f, err := elf.Open(library(t))
	require.NoError(t, err)
	defer f.Close()
	soname, err := f.DynString(elf.DT_SONAME)
	require.NoError(t, err)
	require.Equal(t, []string{"libhipdnn_backend.so"}, soname)

	needed, err := f.ImportedLibraries()
	require.NoError(t, err)
	for _, name := range needed {
		require.Contains(t, []string{"libc.so.6", "libm.so.6", "ld-linux-x86-64.so.2", "libdl.so.2", "libpthread.so.0"}, name)
	}

	symbols, err := f.DynamicSymbols()
	require.NoError(t, err)
	var exported []string
	for _, s := range symbols {
		if s.Section != elf.SHN_UNDEF {
			exported = append(exported, s.Name)
		}
	}
	sort.Strings(exported)
	declared := map[string]bool{}
	header, err := os.ReadFile("include/refhipdnn/hipdnn_backend.h")
	require.NoError(t, err)
	for _, m := range regexp.MustCompile(`\b(hipdnn[A-Za-z_]+)\(`).FindAllStringSubmatch(string(header), -1) {
		declared[m[1]] = true
	}
	var want []string
	for name := range declared {
		want = append(want, name)
	}
	sort.Strings(want)
	require.Equal(t, want, exported)
	require.Len(t, want, 31)
}
