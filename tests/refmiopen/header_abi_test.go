package refmiopen_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/tests/runfile"
	"example.com/miopen_hipdnn_shim/tests/workshop"
	"example.com/miopen_hipdnn_shim/toolchains/rocm/layout"
)

// The header's claim is that a program compiled against it is the same, at the ABI, as one compiled
// against MIOpen 3.5.1's. header-abi-3.5.1.txt holds what the real header says about every name in
// ours: the mangled type of each function, the value of each enumerator, the size and the offsets of
// each structure. A C++ program that prints these lines is generated from the names and compiled
// against a header; its output must equal the table.
//
// TestRealHeaderABI compares the real header with the same table, so that neither can move unseen. It
// is a target of its own, :real_header_test, which Bazel runs where there is a real MIOpen; by hand,
// REFMIOPEN_REAL_INCLUDE lists the include directories with the real miopen/miopen.h and HIP's
// headers. To write the table anew, set REFMIOPEN_UPDATE=1 too.
const abiTable = "header-abi-3.5.1.txt"

var (
	comment    = regexp.MustCompile(`(?s)/\*.*?\*/`)
	function   = regexp.MustCompile(`MIOPEN_EXPORT\s+(?:miopenStatus_t|const char \*)\s*(miopen\w+)\s*\(`)
	enum       = regexp.MustCompile(`(?s)typedef enum \{(.*?)\}`)
	enumerator = regexp.MustCompile(`(?m)^\s*(\w+)\s*=`)
	structure  = regexp.MustCompile(`(?s)(?:typedef struct|struct miopenTensorArgument_t) \{(.*?)\n\}\s*(\w*);`)
	member     = regexp.MustCompile(`(\w+);`)
)

// probe returns the source of a program that prints the ABI facts of every name in header.
func probe(t *testing.T, header []byte) string {
	t.Helper()
	text := comment.ReplaceAll(header, nil)
	var b strings.Builder
	b.WriteString("#define MIOPEN_BETA_API\n#include <miopen/miopen.h>\n#include <cstddef>\n#include <cstdio>\n#include <typeinfo>\nint main() {\n")
	functions := function.FindAllSubmatch(text, -1)
	require.GreaterOrEqual(t, len(functions), 140, "the header declares fewer functions than it is known to")
	for _, m := range functions {
		fmt.Fprintf(&b, "std::printf(\"function %s %%s\\n\", typeid(decltype(::%s)).name());\n", m[1], m[1])
	}
	enumerators := 0
	for _, e := range enum.FindAllSubmatch(text, -1) {
		for _, m := range enumerator.FindAllSubmatch(e[1], -1) {
			enumerators++
			fmt.Fprintf(&b, "std::printf(\"enumerator %s %%lld %%zu\\n\", (long long)(%s), sizeof(%s));\n", m[1], m[1], m[1])
		}
	}
	require.GreaterOrEqual(t, enumerators, 150)
	structures := 0
	for _, s := range structure.FindAllSubmatch(text, -1) {
		name := string(s[2])
		if name == "" {
			name = "miopenTensorArgument_t"
		}
		structures++
		fmt.Fprintf(&b, "std::printf(\"structure %s %%zu\\n\", sizeof(%s));\n", name, name)
		for _, m := range member.FindAllSubmatch(s[1], -1) {
			fmt.Fprintf(&b, "std::printf(\"member %s.%s %%zu\\n\", offsetof(%s, %s));\n", name, m[1], name, m[1])
		}
	}
	require.Equal(t, 3, structures)
	b.WriteString("}\n")
	return b.String()
}

// facts compiles the probe of our header's names against the header that include finds, and runs it.
func facts(t *testing.T, header []byte, include ...string) string {
	t.Helper()
	dir := t.TempDir()
	source := filepath.Join(dir, "probe.cc")
	program := filepath.Join(dir, "probe")
	require.NoError(t, os.WriteFile(source, []byte(probe(t, header)), 0o644))
	args := []string{"-std=c++17", "-w", "-Wno-invalid-offsetof", "-D__HIP_PLATFORM_AMD__"}
	for _, dir := range include {
		args = append(args, "-isystem", dir)
	}
	args = append(args, source, "-o", program)
	out, err := exec.Command(workshop.CXX(), args...).CombinedOutput()
	require.NoError(t, err, "compiling the probe against %v:\n%s", include, out)
	out, err = exec.Command(program).Output()
	require.NoError(t, err)
	return string(out)
}

func readFile(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(name)
	require.NoError(t, err)
	return data
}

func TestHeaderABI(t *testing.T) {
	header := readFile(t, "include/miopen/miopen.h")
	require.Equal(t, string(readFile(t, abiTable)), facts(t, header, "include"))
}

// The control: a header with one wrong number, or one wrong parameter, must not pass.
func TestHeaderABISeesAChange(t *testing.T) {
	header := readFile(t, "include/miopen/miopen.h")
	want := string(readFile(t, abiTable))
	for what, edit := range map[string][2]string{
		"enumerator": {"miopenBFloat16 = 5", "miopenBFloat16 = 4"},
		"parameter":  {"miopenGetKernelTime(miopenHandle_t handle, float *time)", "miopenGetKernelTime(miopenHandle_t handle, double *time)"},
		"member":     {"  float time;\n  size_t memory;", "  double time;\n  size_t memory;"},
	} {
		t.Run(what, func(t *testing.T) {
			require.Contains(t, string(header), edit[0])
			changed := bytes.Replace(header, []byte(edit[0]), []byte(edit[1]), 1)
			dir := filepath.Join(t.TempDir(), "miopen")
			require.NoError(t, os.Mkdir(dir, 0o755))
			headers, err := filepath.Glob("include/miopen/*.h")
			require.NoError(t, err)
			for _, h := range headers { // the contents: under Bazel the files are links to read-only ones
				require.NoError(t, os.WriteFile(filepath.Join(dir, filepath.Base(h)), readFile(t, h), 0o644))
			}
			require.NoError(t, os.WriteFile(filepath.Join(dir, "miopen.h"), changed, 0o644))
			require.NotEqual(t, want, facts(t, changed, filepath.Dir(dir)))
		})
	}
}

func TestRealHeaderABI(t *testing.T) {
	include := os.Getenv("REFMIOPEN_REAL_INCLUDE")
	if os.Getenv("LAYOUT") != "" {
		path, err := runfile.Path("LAYOUT")
		require.NoError(t, err)
		rocm, err := layout.Load(path)
		require.NoError(t, err)
		include = filepath.Join(rocm.Prefix, "include")
	}
	if include == "" {
		t.Skip("REFMIOPEN_REAL_INCLUDE does not name the real header's include directories")
	}
	header := readFile(t, "include/miopen/miopen.h")
	got := facts(t, header, filepath.SplitList(include)...)
	if os.Getenv("REFMIOPEN_UPDATE") != "" {
		require.NoError(t, os.WriteFile(abiTable, []byte(got), 0o644))
	}
	require.Equal(t, string(readFile(t, abiTable)), got)
}
