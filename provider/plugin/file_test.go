package plugin_test

import (
	"debug/elf"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/provider/engine"
)

// abi is what a header or a list says of hipDNN's plugin ABI.
type abi struct {
	numbers   map[string]string
	functions map[string]string // parameter types by name
}

var (
	comments   = regexp.MustCompile(`(?s)/\*.*?\*/|//[^\n]*`)
	enumerator = regexp.MustCompile(`\b(HIPDNN_[A-Z_]+) = (\d+)`)
	prototype  = regexp.MustCompile(`\b(hipdnnPluginStatus_t|void) (hipdnn\w+)\(([^)]*)\);`)
	ends       = regexp.MustCompile(`^(.*?[ *])\w+$`)
)

// readHeader reads the enumerators and prototypes of a C header that clang-format laid out.
func readHeader(text string) abi {
	text = comments.ReplaceAllString(text, "")
	text = strings.Join(strings.Fields(text), " ")
	// hipStream_t's names.
	text = strings.ReplaceAll(text, "hipdnnRefStream_t", "hipStream_t")
	a := abi{map[string]string{}, map[string]string{}}
	for _, m := range enumerator.FindAllStringSubmatch(text, -1) {
		a.numbers[m[1]] = m[2]
	}
	for _, m := range prototype.FindAllStringSubmatch(text, -1) {
		types := []string{m[1]}
		for _, parameter := range strings.Split(m[3], ",") {
			types = append(types, strings.ReplaceAll(ends.ReplaceAllString(strings.TrimSpace(parameter), "$1"), " ", ""))
		}
		a.functions[m[2]] = strings.Join(types, " ")
	}
	return a
}

func own(t *testing.T) string {
	data, err := os.ReadFile("src/engine_plugin.h")
	require.NoError(t, err)
	return string(data)
}

// differences lists what a has otherwise than the backend that is tests/refhipdnn.
func differences(t *testing.T, a abi) (list []string) {
	data, err := os.ReadFile("../../tests/refhipdnn/include/refhipdnn/engine_plugin.h")
	require.NoError(t, err)
	other := readHeader(string(data))
	require.Len(t, other.functions, 23)
	numbers, err := os.ReadFile("../../tests/refhipdnn/testdata/numbers.tsv")
	require.NoError(t, err)
	for _, line := range strings.Split(string(numbers), "\n") {
		if f := strings.Split(line, "\t"); len(f) == 3 && (strings.HasPrefix(f[0], "HIPDNN_PLUGIN_STATUS_") || strings.HasPrefix(f[0], "HIPDNN_PLUGIN_TYPE_") || strings.HasPrefix(f[0], "HIPDNN_SEV_")) {
			other.numbers[f[0]] = f[1]
		}
	}
	require.Len(t, other.numbers, 15)
	for name, number := range other.numbers {
		if a.numbers[name] != number {
			list = append(list, name)
		}
	}
	for name, types := range other.functions {
		if a.functions[name] != types {
			list = append(list, name)
		}
	}
	for name := range a.functions {
		if _, ok := other.functions[name]; !ok {
			list = append(list, name)
		}
	}
	slices.Sort(list)
	return list
}

// The double has no graphs with overrides, and asks for serialised contexts as hipDNN first did.
const (
	withOverrides = "hipdnnEnginePluginExecuteOpGraphWithOverrides"
	withEngineID  = "hipdnnEnginePluginSerializeExecutionContextWithEngineId"
)

// TestHeader: the ABI here is that of the double, which was written for itself.
func TestHeader(t *testing.T) {
	header := own(t)
	require.Equal(t, []string{withOverrides, withEngineID}, differences(t, readHeader(header)))
	require.Equal(t, "hipdnnPluginStatus_t hipdnnEnginePluginHandle_t hipdnnEnginePluginExecutionContext_t void* consthipdnnPluginDeviceBuffer_t* uint32_t uint32_t constint64_t* constuint32_t* constint64_t*const* constint64_t*const*",
		readHeader(header).functions[withOverrides])
	require.Equal(t, "hipdnnPluginStatus_t hipdnnEnginePluginHandle_t int64_t hipdnnEnginePluginExecutionContext_t hipdnnPluginConstData_t*", readHeader(header).functions[withEngineID])

	for change, noticed := range map[[2]string]string{
		{"STATUS_NOT_APPLICABLE = 5", "STATUS_NOT_APPLICABLE = 4"}: "HIPDNN_PLUGIN_STATUS_NOT_APPLICABLE",
		{"SEV_OFF = 4", "SEV_OFF = 5"}:                             "HIPDNN_SEV_OFF",
		{"SetStream(hipdnnEnginePluginHandle_t handle, hipStream_t stream)", "SetStream(hipStream_t stream, hipdnnEnginePluginHandle_t handle)"}: "hipdnnEnginePluginSetStream",
		{"hipdnnPluginGetVersion(const char **version)", "hipdnnPluginGetVersion(char **version)"}:                                               "hipdnnPluginGetVersion",
	} {
		changed := strings.Replace(header, change[0], change[1], 1)
		require.NotEqual(t, header, changed)
		require.Contains(t, differences(t, readHeader(changed)), noticed)
	}
}

// TestFile: what a process gets that loads the plugin.
func TestFile(t *testing.T) {
	f, err := elf.Open(pluginFile(t))
	require.NoError(t, err)
	defer f.Close()

	symbols, err := f.DynamicSymbols()
	require.NoError(t, err)
	var exported, wanted []string
	private := 0
	for _, s := range symbols {
		if s.Section != elf.SHN_UNDEF {
			exported = append(exported, s.Name)
			continue
		}
		if strings.HasPrefix(s.Name, "miopen") {
			require.True(t, strings.HasSuffix(s.Name, "_impl"), "%s is the wrapper's", s.Name)
			require.Equal(t, "libMIOpen_private.so.1", s.Library)
			private++
		}
		require.NotContains(t, s.Name, "hip", "HIP is the private library's affair")
		require.False(t, strings.HasPrefix(s.Name, "_Z"), "%s: no C++ run time", s.Name)
	}
	for name := range readHeader(own(t)).functions {
		wanted = append(wanted, name)
	}
	require.ElementsMatch(t, wanted, exported)
	require.Len(t, exported, 25)
	require.Greater(t, private, 40)

	needed, err := f.ImportedLibraries()
	require.NoError(t, err)
	for _, n := range needed {
		require.Contains(t, []string{"libMIOpen_private.so.1", "libc.so.6", "libpthread.so.0", "libdl.so.2", "ld-linux-x86-64.so.2"}, n)
	}
	require.Contains(t, needed, "libMIOpen_private.so.1")
	runpath, err := f.DynString(elf.DT_RUNPATH)
	require.NoError(t, err)
	require.NotEmpty(t, runpath)
	require.Equal(t, "$ORIGIN/../..", strings.Split(runpath[0], ":")[0])
	flags, err := f.DynValue(elf.DT_FLAGS_1)
	require.NoError(t, err)
	require.Len(t, flags, 1)
	require.NotZero(t, flags[0]&uint64(elf.DF_1_NODELETE), "the other half keeps pointers into it")
	require.NotZero(t, flags[0]&uint64(elf.DF_1_NOW))
	static, err := f.DynValue(elf.DT_FLAGS)
	require.NoError(t, err)
	for _, v := range static {
		require.Zero(t, v&uint64(elf.DF_STATIC_TLS), "thread-local storage from what the loader keeps for late libraries")
	}
	// One entry is what the compiler puts into every library.
	if array := f.Section(".init_array"); array != nil {
		require.LessOrEqual(t, array.Size, uint64(8), "there are constructors")
	}
}

// TestAPIVersion: the filter, in C, and the engines, in Go, take graphs of the same versions.
func TestAPIVersion(t *testing.T) {
	data, err := os.ReadFile("src/filter.h")
	require.NoError(t, err)
	m := regexp.MustCompile(`(?s)#define FILTER_API_MAJOR (\d+)\n#define FILTER_API_MINOR (\d+)\n`).FindStringSubmatch(string(data))
	require.NotNil(t, m)
	v := engine.APIVersion
	require.Equal(t, fmt.Sprintf("%s.%s.0", m[1], m[2]), fmt.Sprintf("%d.%d.%d", v.Major, v.Minor, v.Patch))
}

// TestOnce: what stands in several files is the same in each.
func TestOnce(t *testing.T) {
	found := func(path, pattern string) string {
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		all := regexp.MustCompile(pattern).FindAllStringSubmatch(string(data), -1)
		require.Len(t, all, 1, "%s in %s", pattern, path)
		return all[0][1]
	}
	require.Equal(t, found("../../MODULE.bazel", `(?m)^    version = "(.*)",$`), found("src/plugin.c", `\*version = "(.*)";`), "of the release")

	const plugin = "libmiopen_private_plugin.so"
	folder := found("../defs.bzl", `(?m)^_FOLDER = "(.*)"$`)
	require.Equal(t, folder, found("build.sh", `(?m)^out=\$1/(\S*)$`))
	require.Equal(t, folder+"/"+plugin, found("../../hipdnnbridge/hook/engines.go", `"(hipdnn_plugins/\S*)"`))
	require.Equal(t, plugin, found("build.sh", `-soname,(\S+)`))
	require.Equal(t, plugin, found("../defs.bzl", `-soname,([^"]+)`))

	// MIOpen's numbers, in Go and where a compiler holds them against miopen.h.
	numbers := func(path, pattern string) (all []string) {
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(string(data), -1) {
			all = append(all, strings.Join(m[1:], " "))
		}
		slices.Sort(all)
		return all
	}
	asserted := numbers("src/private_api.cpp", `static_assert\((\w+) == (\d+), "(\w+)"\);`)
	require.Len(t, asserted, 5)
	var want []string
	for _, m := range numbers("../engine/miopen.go", `(?m)^\t((?:Attribute|Tensor|By)\w+) += (\d+) +// (\w+)$`) {
		f := strings.Fields(m)
		want = append(want, strings.Join([]string{f[2], f[1], f[0]}, " "))
	}
	slices.Sort(want)
	require.Equal(t, want, asserted)
}
