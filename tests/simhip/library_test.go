package simhip_test

import (
	"bytes"
	"debug/elf"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/tests/runfile"
	"example.com/miopen_hipdnn_shim/tests/workshop"
	"example.com/miopen_hipdnn_shim/toolchains/rocm/layout"
)

// Whether what applications are linked against is what HIP is: the exports with their version nodes, and the header.
//
// libamdhip64.map and the header are ours; the imports in testdata were read from Debian's packages of ROCm 7.2.4 and
// 6.4.3: what MIOpen, rocBLAS, rocRAND, MIOpenDriver and miopen_gtest need. Where there is a real ROCm
// (:real_library_test), exports, nodes and header are compared with its own.

var (
	comment  = regexp.MustCompile(`(?s)/\*.*?\*/`)
	mapNode  = regexp.MustCompile(`(?s)(hip_[0-9.]+) \{(.*?)\}`)
	mapName  = regexp.MustCompile(`(\w+);`)
	function = regexp.MustCompile(`(?m)\b((?:__)?hip[A-Z]\w*)\(`)
)

func readFile(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	require.NoError(t, err)
	return string(data)
}

// versionScript is the version node of each function in libamdhip64.map.
func versionScript(t *testing.T) map[string]string {
	t.Helper()
	nodes := map[string]string{}
	for _, node := range mapNode.FindAllStringSubmatch(comment.ReplaceAllString(readFile(t, "libamdhip64.map"), ""), -1) {
		for _, name := range mapName.FindAllStringSubmatch(node[2], -1) {
			nodes[name[1]] = node[1]
		}
	}
	require.Greater(t, len(nodes), 100)
	return nodes
}

// exported is the version node of each symbol that a library exports; a symbol without one has "".
func exported(t *testing.T, path string) map[string]string {
	t.Helper()
	file, err := elf.Open(path)
	require.NoError(t, err)
	defer file.Close()
	symbols, err := file.DynamicSymbols()
	require.NoError(t, err)
	nodes := map[string]string{}
	for _, s := range symbols {
		absolute := s.Section == elf.SHN_ABS // the version nodes themselves
		if s.Section != elf.SHN_UNDEF && !absolute && elf.ST_BIND(s.Info) != elf.STB_LOCAL {
			nodes[s.Name] = s.Version
		}
	}
	return nodes
}

// imported is what a library or program needs of HIP.
func imported(t *testing.T, path string) map[string]string {
	t.Helper()
	file, err := elf.Open(path)
	require.NoError(t, err)
	defer file.Close()
	symbols, err := file.DynamicSymbols()
	require.NoError(t, err)
	nodes := map[string]string{}
	for _, s := range symbols {
		if s.Section == elf.SHN_UNDEF && strings.HasPrefix(s.Library, "libamdhip64.so.") {
			nodes[s.Name] = s.Version
		}
	}
	return nodes
}

// missing lists what of the wanted symbols is not there, or not at its node.
func missing(have, want map[string]string) []string {
	var names []string
	for name, node := range want {
		if have[name] != node {
			names = append(names, fmt.Sprintf("%s@%s (here %q)", name, node, have[name]))
		}
	}
	slices.Sort(names)
	return names
}

func list(t *testing.T, file string) map[string]string {
	t.Helper()
	nodes := map[string]string{}
	for _, line := range strings.Fields(readFile(t, file)) {
		name, node, ok := strings.Cut(line, "@")
		require.True(t, ok, line)
		nodes[name] = node
	}
	require.NotEmpty(t, nodes)
	return nodes
}

func declared(t *testing.T) []string {
	t.Helper()
	names := map[string]bool{}
	for _, m := range function.FindAllStringSubmatch(comment.ReplaceAllString(readFile(t, "include/hip/hip_runtime_api.h"), ""), -1) {
		names[m[1]] = true
	}
	return slices.Sorted(maps.Keys(names))
}

func TestExports(t *testing.T) {
	script := versionScript(t)
	require.Equal(t, declared(t), slices.Sorted(maps.Keys(script)), "the header and the version script")
	for soname, path := range map[string]string{"libamdhip64.so.7": library(t), "libamdhip64.so.6": previous(t)} {
		t.Run(soname, func(t *testing.T) {
			require.Equal(t, script, exported(t, path))
			file, err := elf.Open(path)
			require.NoError(t, err)
			defer file.Close()
			names, err := file.DynString(elf.DT_SONAME)
			require.NoError(t, err)
			require.Equal(t, []string{soname}, names)
			// The C++ library of the compiler that built it is inside: the one beside a ROCm may be older.
			needed, err := file.DynString(elf.DT_NEEDED)
			require.NoError(t, err)
			for _, library := range needed {
				require.Regexp(t, `^(libc|libm|libdl|libpthread|ld-linux-x86-64)\.so\.[0-9]$`, library)
			}
		})
	}
}

func TestImports(t *testing.T) {
	for soname, path := range map[string]string{"7.2": library(t), "6.4": previous(t)} {
		want := list(t, "testdata/imports-"+soname+".txt")
		require.Empty(t, missing(exported(t, path), want), soname)
		// Controls: a name and a node that are not there.
		want["hipNowhere"] = "hip_4.2"
		want["hipMalloc"] = "hip_5.1"
		require.Len(t, missing(exported(t, path), want), 2)
	}
}

var (
	constant   = regexp.MustCompile(`(?m)^#define ((?:hip|HIP_)\w+) \(?[^ ]`)
	enum       = regexp.MustCompile(`(?s)typedef enum (?:\w+ )?\{(.*?)\}`)
	enumerator = regexp.MustCompile(`(\w+) = `)
	structure  = regexp.MustCompile(`(?s)typedef struct (\w+) \{(.*?)\n\}`)
	member     = regexp.MustCompile(`(\w+)(?:\[\d+\])?;`)
	signature  = regexp.MustCompile(`(?s)\n((?:const )?\w+ ?\**)(hip[A-Z]\w*)\(([^;]*)\);`)
	byDefault  = regexp.MustCompile(`SIMHIP_DEFAULT\([^)]*\)`)
)

const abiTable = "testdata/header-abi-7.2.txt"

// probe is the source of a program that prints the ABI facts of every name in our header. For a function of another
// type it does not compile: a pointer of our type chooses among what HIP's header overloads for C++. What only the
// compiler's code calls, __hip*, is not in HIP's header.
func probe(t *testing.T) string {
	t.Helper()
	text := comment.ReplaceAllString(readFile(t, "include/hip/hip_runtime_api.h"), "")
	var b strings.Builder
	// A template in hip_ext.h uses a name that only HIP's own compiler's headers declare.
	b.WriteString("#include <hip/hip_runtime_api.h>\n#if __has_include(<hip/hip_ext.h>)\n" +
		"#include <tuple>\ntemplate <int, typename T> void pArgs(T &, void *);\n#include <hip/hip_ext.h>\n#endif\n" +
		"#include <cstddef>\n#include <cstdio>\n#include <typeinfo>\nint main() {\n")
	functions, constants, enumerators, members := 0, 0, 0, 0
	for _, m := range signature.FindAllStringSubmatch(text, -1) {
		functions++
		fmt.Fprintf(&b, "std::printf(\"function %s %%s\\n\", typeid(decltype(static_cast<%s(*)(%s)>(::%s))).name());\n",
			m[2], m[1], byDefault.ReplaceAllString(m[3], ""), m[2])
	}
	for _, m := range constant.FindAllStringSubmatch(text, -1) {
		if name := m[1]; name != "hipDeviceProp_t" && name != "hipGetDeviceProperties" && !strings.HasPrefix(name, "HIP_VERSION") {
			constants++
			fmt.Fprintf(&b, "std::printf(\"constant %s %%llu\\n\", (unsigned long long)(%s));\n", name, name)
		}
	}
	for _, e := range enum.FindAllStringSubmatch(text, -1) {
		for _, m := range enumerator.FindAllStringSubmatch(e[1], -1) {
			if m[1] == "hipJitOptionMaxRegisters" { // the real one is another type's, of the compiler
				continue
			}
			enumerators++
			fmt.Fprintf(&b, "std::printf(\"enumerator %s %%lld %%zu\\n\", (long long)(%s), sizeof(%s));\n", m[1], m[1], m[1])
		}
	}
	for _, s := range structure.FindAllStringSubmatch(text, -1) {
		fmt.Fprintf(&b, "std::printf(\"structure %s %%zu\\n\", sizeof(%s));\n", s[1], s[1])
		body := regexp.MustCompile(`(?s)#ifdef.*#endif`).ReplaceAllString(s[2], "")
		for _, m := range member.FindAllStringSubmatch(body, -1) {
			members++
			fmt.Fprintf(&b, "std::printf(\"member %s.%s %%zu\\n\", offsetof(%s, %s));\n", s[1], m[1], s[1], m[1])
		}
	}
	b.WriteString("hipDeviceArch_t a{};\nunsigned n = 0;\n")
	bits := regexp.MustCompile(`unsigned (has\w+) : 1;`).FindAllStringSubmatch(text, -1)
	for _, m := range bits {
		fmt.Fprintf(&b, "a = hipDeviceArch_t{}; a.%s = 1; __builtin_memcpy(&n, &a, sizeof n); std::printf(\"bit %s %%u\\n\", n);\n", m[1], m[1])
	}
	b.WriteString("}\n")
	require.Greater(t, functions, 110)
	require.Greater(t, constants, 35)
	require.Greater(t, enumerators, 180)
	require.Greater(t, members, 110)
	require.Len(t, bits, 17)
	return b.String()
}

// facts compiles the probe against the header that include finds, and runs it.
func facts(t *testing.T, include string) (string, error) {
	t.Helper()
	dir := t.TempDir()
	source, program := filepath.Join(dir, "probe.cc"), filepath.Join(dir, "probe")
	require.NoError(t, os.WriteFile(source, []byte(probe(t)), 0o644))
	args := []string{"-std=c++17", "-w", "-D__HIP_PLATFORM_AMD__", "-isystem", include, source, "-o", program}
	if out, err := exec.Command(workshop.CXX(), args...).CombinedOutput(); err != nil {
		return "", fmt.Errorf("compiling the probe against %s: %w\n%s", include, err, out)
	}
	out, err := exec.Command(program).Output()
	return string(out), err
}

func TestHeaderABI(t *testing.T) {
	got, err := facts(t, "include")
	require.NoError(t, err)
	require.Equal(t, readFile(t, abiTable), got)
}

// The control: a header with one wrong number, layout or parameter does not pass.
func TestHeaderABISeesAChange(t *testing.T) {
	header := readFile(t, "include/hip/hip_runtime_api.h")
	for what, edit := range map[string][2]string{
		"enumerator": {"hipErrorNotReady = 600", "hipErrorNotReady = 601"},
		"constant":   {"#define hipStreamNonBlocking 0x01", "#define hipStreamNonBlocking 0x02"},
		"member":     {"  int warpSize;", "  size_t warpSize;"},
		"parameter":  {"hipEventElapsedTime(float *", "hipEventElapsedTime(double *"},
	} {
		t.Run(what, func(t *testing.T) {
			require.Contains(t, header, edit[0])
			dir := t.TempDir()
			require.NoError(t, os.Mkdir(filepath.Join(dir, "hip"), 0o755))
			changed := strings.Replace(header, edit[0], edit[1], 1)
			require.NoError(t, os.WriteFile(filepath.Join(dir, "hip", "hip_runtime_api.h"), []byte(changed), 0o644))
			got, err := facts(t, dir)
			if what == "parameter" { // a function's type is held against the table when the probe is compiled
				require.ErrorContains(t, err, "compiling the probe")
				require.ErrorContains(t, err, "hipEventElapsedTime")
				return
			}
			require.NoError(t, err)
			require.NotEqual(t, readFile(t, abiTable), got)
		})
	}
}

// rocm is the layout of a real ROCm; the test is skipped where there is none. By hand, SIMHIP_REAL_PREFIX is the folder
// that has include and the libraries' folder in it.
func rocm(t *testing.T) *layout.Layout {
	t.Helper()
	if prefix := os.Getenv("SIMHIP_REAL_PREFIX"); prefix != "" {
		return &layout.Layout{Prefix: prefix, LibraryPath: []string{filepath.Join(prefix, "lib/x86_64-linux-gnu")}}
	}
	if os.Getenv("LAYOUT") == "" {
		t.Skip("neither LAYOUT nor SIMHIP_REAL_PREFIX says where a ROCm is")
	}
	path, err := runfile.Path("LAYOUT")
	require.NoError(t, err)
	l, err := layout.Load(path)
	require.NoError(t, err)
	return l
}

func TestRealHeader(t *testing.T) {
	got, err := facts(t, filepath.Join(rocm(t).Prefix, "include"))
	require.NoError(t, err)
	if os.Getenv("SIMHIP_UPDATE") != "" {
		require.NoError(t, os.WriteFile(abiTable, []byte(got), 0o644))
	}
	require.Equal(t, readFile(t, abiTable), got)
}

// TestRealLibrary: the real library has what ours has, at the same nodes, and ours has all that anything in the ROCm
// needs of it.
func TestRealLibrary(t *testing.T) {
	ours := exported(t, library(t))
	users, found := 0, false
	for _, dir := range rocm(t).LibraryPath {
		if path := filepath.Join(dir, "libamdhip64.so.7"); exists(path) {
			found = true
			require.Empty(t, missing(exported(t, path), ours))
		}
		files, err := filepath.Glob(filepath.Join(dir, "lib*.so.*"))
		require.NoError(t, err)
		for _, file := range files {
			header := make([]byte, 4)
			if f, err := os.Open(file); err == nil {
				_, _ = f.Read(header)
				f.Close()
			}
			if !bytes.Equal(header, []byte(elf.ELFMAG)) {
				continue
			}
			if needs := imported(t, file); len(needs) > 0 {
				users++
				require.Empty(t, missing(ours, needs), file)
			}
		}
	}
	require.True(t, found, "the ROCm has no libamdhip64.so.7")
	require.GreaterOrEqual(t, users, 2, "the ROCm has fewer libraries that use HIP than MIOpen and rocBLAS")
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
