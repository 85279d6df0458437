package refmiopen_test

import (
	"debug/elf"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/tests/workshop"
)

func open(t *testing.T, path string) *elf.File {
	t.Helper()
	f, err := elf.Open(path)
	require.NoError(t, err)
	t.Cleanup(func() { f.Close() })
	return f
}

// exported returns the symbols that a library defines, by name.
func exported(t *testing.T, f *elf.File) map[string]elf.Symbol {
	t.Helper()
	symbols, err := f.DynamicSymbols()
	require.NoError(t, err)
	out := map[string]elf.Symbol{}
	for _, s := range symbols {
		if s.Section != elf.SHN_UNDEF {
			out[s.Name] = s
		}
	}
	return out
}

// public returns the names of the exported entry points, sorted, after checking that each is a
// global function at MIOpen's version node.
func public(t *testing.T, symbols map[string]elf.Symbol) []string {
	t.Helper()
	var out []string
	for name, s := range symbols {
		if !strings.HasPrefix(name, "miopen") {
			continue
		}
		require.Equal(t, elf.STT_FUNC, elf.ST_TYPE(s.Info), name)
		require.Equal(t, elf.STB_GLOBAL, elf.ST_BIND(s.Info), name)
		require.Equal(t, "MIOPEN_HIP_1", s.Version, name)
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

func TestExportsAreThoseOfTheRealLibrary(t *testing.T) {
	for _, c := range []struct {
		build  built
		list   string
		count  int
		suffix string
	}{
		{current, "exports-3.5.1.txt", 271, ""},
		{previous, "exports-3.4.0.txt", 263, ""},
		{private, "exports-3.5.1.txt", 271, "_impl"},
	} {
		t.Run(c.build.variable, func(t *testing.T) {
			want := names(t, c.list)
			require.Len(t, want, c.count)
			for i := range want {
				want[i] += c.suffix
			}
			slices.Sort(want)
			require.Equal(t, want, public(t, exported(t, open(t, library(t, c.build)))))
		})
	}
}

// ownReferences returns, by relocation type, the entry points that a library refers to through its
// own dynamic symbols: what a loader could bind to another library's definition.
func ownReferences(t *testing.T, f *elf.File) map[elf.R_X86_64][]string {
	t.Helper()
	symbols, err := f.DynamicSymbols()
	require.NoError(t, err)
	out := map[elf.R_X86_64][]string{}
	for _, section := range f.Sections {
		if section.Type != elf.SHT_RELA {
			continue
		}
		data, err := section.Data()
		require.NoError(t, err)
		for ; len(data) > 0; data = data[24:] {
			info := binary.LittleEndian.Uint64(data[8:])
			index := info >> 32
			if index == 0 {
				continue
			}
			s := symbols[index-1] // DynamicSymbols leaves the null symbol out
			if s.Section != elf.SHN_UNDEF && strings.HasPrefix(s.Name, "miopen") {
				kind := elf.R_X86_64(info & 0xffffffff)
				out[kind] = append(out[kind], s.Name)
			}
		}
	}
	for _, list := range out {
		slices.Sort(list)
	}
	return out
}

// The properties for which a real library is hard to split: each must be there for a test on this
// one to mean something.
func TestShapeOfTheLibrary(t *testing.T) {
	f := open(t, library(t, current))
	symbols := exported(t, f)

	dynamic := func(tag elf.DynTag) []string {
		values, err := f.DynString(tag)
		require.NoError(t, err)
		return values
	}
	require.Equal(t, []string{"libMIOpen.so.1"}, dynamic(elf.DT_SONAME))
	require.Equal(t, []string{"$ORIGIN"}, dynamic(elf.DT_RUNPATH))
	require.Empty(t, dynamic(elf.DT_RPATH))
	needed := dynamic(elf.DT_NEEDED)
	require.Contains(t, needed, "libstdc++.so.6")
	require.Contains(t, needed, "libc.so.6")
	for _, n := range needed {
		require.NotContains(t, n, "hip")
	}
	flags, err := f.DynValue(elf.DT_FLAGS_1)
	require.NoError(t, err)
	require.NotZero(t, flags[0]&uint64(elf.DF_1_NOW))

	require.NotNil(t, f.Section(".gnu.hash"))
	require.Nil(t, f.Section(".hash"))
	require.NotNil(t, f.Section(".note.gnu.build-id"))
	require.NotZero(t, f.Section(".tbss").Size)
	require.NotZero(t, f.Section(".bss").Size)
	// One entry: the compiler's own frame_dummy. Ours would be a second.
	require.EqualValues(t, 8, f.Section(".init_array").Size)

	own := ownReferences(t, f)
	require.Equal(t, []string{"miopenCreate"}, own[elf.R_X86_64_GLOB_DAT])
	require.Equal(t, []string{"miopenCreateWithStream", "miopenGetTensorDescriptorSize", "miopenInitConvolutionNdDescriptor", "miopenSetTensorDescriptor"},
		own[elf.R_X86_64_JMP_SLOT])

	for _, c := range []struct {
		name    string
		kind    elf.SymType
		binding elf.SymBind
		version string
	}{
		{"_ZN6miopen5ThrowE14miopenStatus_tRKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE", elf.STT_FUNC, elf.STB_GLOBAL, "MIOPEN_HIP_1"},
		{"_ZN6miopen6HandleC1EP12ihipStream_t", elf.STT_FUNC, elf.STB_GLOBAL, "MIOPEN_HIP_1"},
		{"_ZN6miopen5debug12LoggingQuietE", elf.STT_OBJECT, elf.STB_GLOBAL, "MIOPEN_HIP_1"},
		{"_ZTVN6miopen9ExceptionE", elf.STT_OBJECT, elf.STB_GLOBAL, ""},
		{"_ZTIN6miopen9ExceptionE", elf.STT_OBJECT, elf.STB_GLOBAL, ""},
		{"_ZTIN6miopen10ConvSolverE", elf.STT_OBJECT, elf.STB_WEAK, ""},
	} {
		s, ok := symbols[c.name]
		require.True(t, ok, c.name)
		require.Equal(t, c.kind, elf.ST_TYPE(s.Info), c.name)
		if c.name != "_ZTIN6miopen9ExceptionE" && c.name != "_ZTVN6miopen9ExceptionE" {
			require.Equal(t, c.binding, elf.ST_BIND(s.Info), c.name)
		}
		require.Equal(t, c.version, s.Version, c.name)
	}
	weakFunctions := 0
	for name, s := range symbols {
		if strings.HasPrefix(name, "_ZNSt") && elf.ST_BIND(s.Info) == elf.STB_WEAK {
			weakFunctions++
			require.Empty(t, s.Version, name)
		}
	}
	require.NotZero(t, weakFunctions, "no inline function of the standard library is exported")
}

func TestPrivateBuildRefersToItself(t *testing.T) {
	f := open(t, library(t, private))
	own := ownReferences(t, f)
	require.Equal(t, []string{"miopenCreate_impl"}, own[elf.R_X86_64_GLOB_DAT])
	require.Len(t, own[elf.R_X86_64_JMP_SLOT], 4)
	for _, name := range own[elf.R_X86_64_JMP_SLOT] {
		require.True(t, strings.HasSuffix(name, "_impl"), name)
	}
	undefined, err := f.ImportedSymbols()
	require.NoError(t, err)
	for _, s := range undefined {
		require.False(t, strings.HasPrefix(s.Name, "miopen"), s.Name)
	}
}

// Every entry point, called with nothing but zeros, returns: those that are not implemented say so.
func TestNothingCrashesOnNull(t *testing.T) {
	all := names(t, "exports-3.5.1.txt")
	implemented := names(t, "src/implemented.txt")
	got := run(t, strings.Join(append(all, "miopenNoSuchFunction"), "\n")+"\n", client(t, "zerocall"), library(t, current))
	require.Zero(t, got.exit, got.stderr)
	lines := strings.Split(strings.TrimSpace(got.stdout), "\n")
	require.Len(t, lines, len(all)+1)
	require.Equal(t, "missing miopenNoSuchFunction", lines[len(all)])
	answers := map[string]string{
		"miopenDestroy":                         "0",
		"miopenDestroyTensorDescriptor":         "0",
		"miopenDestroyConvolutionDescriptor":    "0",
		"miopenDestroyActivationDescriptor":     "0",
		"miopenDestroyFusionPlan":               "0",
		"miopenDestroyOperatorArgs":             "0",
		"miopenDestroyProblem":                  "0",
		"miopenDestroyFindOptions":              "0",
		"miopenDestroySolution":                 "0",
		"miopenCompileFusionPlan":               "7",
		"miopenCreateOpConvForward":             "7",
		"miopenCreateOpBiasForward":             "7",
		"miopenCreateOpActivationForward":       "7",
		"miopenFusionPlanGetWorkSpaceSize":      "7",
		"miopenFusionPlanConvolutionGetAlgo":    "7",
		"miopenFusionPlanConvolutionSetAlgo":    "7",
		"miopenGetVersion":                      "0",
		"miopenSetTensorDescriptor":             "2",
		"miopenSetTensorDescriptorV2":           "2",
		"miopenSetNdTensorDescriptorWithLayout": "2",
		"miopen_sqlite3_memvfs_init":            "1",
	}
	for i, name := range all {
		status, rest, _ := strings.Cut(lines[i], " ")
		require.Equal(t, name, rest)
		want := "6"
		if slices.Contains(implemented, name) {
			want = "3"
			if special, ok := answers[name]; ok {
				want = special
			}
		}
		if name == "miopenGetErrorString" { // an address
			continue
		}
		require.Equal(t, want, status, name)
	}
}

// The header is what a C program and a C++ program include, with and without the beta functions.
func TestHeaderCompiles(t *testing.T) {
	source := filepath.Join(t.TempDir(), "include.c")
	require.NoError(t, os.WriteFile(source, []byte("#include <miopen/miopen.h>\n"), 0o644))
	hip := filepath.Join(t.TempDir(), "hip.c")
	require.NoError(t, os.WriteFile(hip, []byte("typedef struct ihipStream_t *hipStream_t;\n#include <miopen/miopen.h>\ntypedef struct ihipStream_t *hipStream_t;\n"), 0o644))
	for _, compile := range [][]string{
		{workshop.CC(), "-std=c11", source},
		{workshop.CC(), "-std=c11", "-DMIOPEN_BETA_API", source},
		{workshop.CC(), "-std=c11", hip},
		{workshop.CXX(), "-x", "c++", "-std=c++11", source},
		{workshop.CXX(), "-x", "c++", "-std=c++17", "-DMIOPEN_BETA_API", source},
		{workshop.CXX(), "-x", "c++", "-std=c++17", hip},
	} {
		out, err := exec.Command(compile[0], append(compile[1:], "-Wall", "-Wextra", "-Werror", "-Iinclude", "-fsyntax-only")...).CombinedOutput()
		require.NoError(t, err, "%v\n%s", compile, out)
	}
}

// C++ names bind to the library, exceptions and data are shared with it.
func TestCxxNames(t *testing.T) {
	got := run(t, "", client(t, "cxxnames"))
	require.Zero(t, got.exit, got.stderr)
	require.Empty(t, got.stderr)
	directory, err := filepath.EvalSymlinks(library(t, current))
	require.NoError(t, err)
	require.Equal(t, `caught status 2: thrown by the library
status 3
last error [miopenGetKernelTime] the handle is null
invoker 1 0
kernel time status 0
library directory `+filepath.Dir(directory)+"\n", got.stdout)
}
