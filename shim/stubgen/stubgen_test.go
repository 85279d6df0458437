package stubgen_test

import (
	"debug/elf"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/shim/exports"
	"example.com/miopen_hipdnn_shim/shim/exports/exportstest"
	"example.com/miopen_hipdnn_shim/shim/runtime"
	"example.com/miopen_hipdnn_shim/shim/stubgen"
	"example.com/miopen_hipdnn_shim/shim/stubgen/header"
)

func sample(t *testing.T, l exportstest.Library) (exports.API, []exports.Node) {
	t.Helper()
	lib, err := exports.Read(l.Build(t, t.TempDir(), "lib.so"))
	require.NoError(t, err)
	api, err := lib.API()
	require.NoError(t, err)
	return api, lib.Nodes
}

// TestDeterminism: nothing depends on the order of a map or on an earlier call.
func TestDeterminism(t *testing.T) {
	api, nodes := sample(t, exportstest.Sample())
	h, err := header.Parse([]byte(exportstest.Header))
	require.NoError(t, err)
	all := func() string {
		impl, undeclared := stubgen.ImplHeader(api, h)
		return fmt.Sprintf("%s%s%s%s%s%s%s%q", stubgen.Assembly(api, "1.2.3"), stubgen.Signatures(api, h),
			stubgen.UnknownSignatures(api), stubgen.VersionScript(api, nodes),
			stubgen.RenameHeader(api), stubgen.DebianSymbols(api, nodes, "libMIOpen.so.1"), impl, undeclared)
	}
	first := all()
	for range 20 {
		require.Equal(t, first, all())
	}
}

func TestOrder(t *testing.T) {
	api, nodes := sample(t, exportstest.Sample())
	for what, c := range map[string]struct {
		text    []byte
		pattern string
	}{
		"stubs":   {stubgen.Assembly(api, "1.2.3"), `(?m)^(miopen\w+):\n\t\.cfi_startproc$`},
		"renames": {stubgen.RenameHeader(api), `(?m)^#define (miopen\w+) miopen\w+_impl$`},
		"symbols": {stubgen.DebianSymbols(api, nodes, "libMIOpen.so.1"), `(?m)^ (miopen\w+)@MIOPEN_HIP_[12] 0$`},
	} {
		var names []string
		for _, m := range regexp.MustCompile(c.pattern).FindAllSubmatch(c.text, -1) {
			if name := string(m[1]); !slices.Contains(stubgen.Additions, name) {
				names = append(names, name)
			}
		}
		require.Equal(t, exportstest.SampleNames(), names, what)
	}
}

func TestVersionScript(t *testing.T) {
	api, nodes := sample(t, exportstest.Sample())
	script := string(stubgen.VersionScript(api, nodes))
	require.Contains(t, script, "MIOPEN_HIP_2 {\n  global:\n    miopenNewer;\n} MIOPEN_HIP_1;\n")
	require.Contains(t, script, "MIOPEN_CXX_1 {\n};\n", "nodes without an entry point are kept")
	require.Contains(t, script, "    miopenGetForwardingStatistics;\n    miopenGetLastForwardedError;\n    miopenHipdnnShimVersion;\n  local:\n    *;\n};\n")
	require.Equal(t, 1, strings.Count(script, "miopenAlpha;"))

	api, nodes = sample(t, exportstest.Unversioned())
	require.Equal(t, "MIOPEN_HIPDNN_SHIM_1 {\n  global:\n    miopenGetForwardingStatistics;\n    miopenGetLastForwardedError;\n    miopenHipdnnShimVersion;\n  local:\n    __miopen_shim_*;\n"+
		"    __bss_start;\n    _edata;\n    _end;\n};\n", string(stubgen.VersionScript(api, nodes)))
}

func TestDebianSymbols(t *testing.T) {
	api, nodes := sample(t, exportstest.TwoVersions())
	require.Equal(t, `# Minimal version 0 stands for "not known": dpkg-gensymbols -v sets it.
libMIOpen.so.1 libmiopen1 #MINVER#
 (optional)MIOPEN_CXX_1@MIOPEN_CXX_1 0
 (optional)MIOPEN_HIPDNN_SHIM_1@MIOPEN_HIPDNN_SHIM_1 0
 (optional)MIOPEN_HIP_1@MIOPEN_HIP_1 0
 (optional)MIOPEN_HIP_2@MIOPEN_HIP_2 0
 miopenAlpha@MIOPEN_HIP_1 0
 miopenAlpha@MIOPEN_HIP_2 0
 miopenGetForwardingStatistics@MIOPEN_HIPDNN_SHIM_1 0
 miopenGetLastForwardedError@MIOPEN_HIPDNN_SHIM_1 0
 miopenHipdnnShimVersion@MIOPEN_HIPDNN_SHIM_1 0
 miopenOther@MIOPEN_HIP_1 0
`, string(stubgen.DebianSymbols(api, nodes, "libMIOpen.so.1")))
	api, nodes = sample(t, exportstest.Unversioned())
	require.Contains(t, string(stubgen.DebianSymbols(api, nodes, "libMIOpen.so.2")), "\nlibMIOpen.so.2 libmiopen2 #MINVER#\n")
	require.Contains(t, string(stubgen.DebianSymbols(api, nodes, "libMIOpen.so.2")), "\n miopenAlpha@Base 0\n")
}

// TestStubs assembles the stubs and looks at what the assembler and the linker made of them.
func TestStubs(t *testing.T) {
	api, nodes := sample(t, exportstest.Sample())
	dir := t.TempDir()
	source := exportstest.Write(t, filepath.Join(dir, "w.s"), string(stubgen.Assembly(api, "1.2.3")))
	script := exportstest.Write(t, filepath.Join(dir, "w.map"), string(stubgen.VersionScript(api, nodes)))
	out := filepath.Join(dir, "w.so")
	units, err := runtime.Write(dir)
	require.NoError(t, err)
	inputs := append([]string{units.C, units.Assembly}, source, exportstest.Write(t, filepath.Join(dir, "signatures.c"), string(stubgen.UnknownSignatures(api))))
	flags := append(runtime.CompileFlags(), "-shared", "-nostdlib", "-o", out, "-Wl,--version-script="+script)
	exportstest.Compile(t, append(append(flags, inputs...), "-lc")...)
	lib, err := exports.Read(out)
	require.NoError(t, err)
	shim := lib.OfKind(exports.KindShim)
	var additions []string
	for _, e := range shim {
		additions = append(additions, e.Name)
	}
	require.ElementsMatch(t, stubgen.Additions, additions)
	for _, e := range lib.OfKind(exports.KindAPI) {
		require.Zero(t, e.Address%32, e.Name)
		require.EqualValues(t, stubgen.StubSize, e.Size, e.Name)
		require.Equal(t, e.Name == "miopenWeak", e.Weak, e.Name)
	}
	got, err := lib.API()
	require.NoError(t, err)
	require.True(t, exports.Compare(api, got).Empty())

	// The version function, which this file alone can run.
	program := filepath.Join(dir, "p")
	exportstest.Write(t, filepath.Join(dir, "include", "miopen", "miopen_hipdnn_shim.h"), string(stubgen.ShimHeader))
	main := exportstest.Write(t, filepath.Join(dir, "p.c"), `#include <miopen/miopen_hipdnn_shim.h>
#include <stdio.h>
int main(void) {
  struct miopenForwardingStatistics statistics;
  if (miopenGetForwardingStatistics(&statistics, sizeof statistics) != 0 || statistics.forwarded != 0 || miopenGetLastForwardedError() != 0)
    return 1;
  return puts(miopenHipdnnShimVersion()) < 0;
}
`)
	exportstest.Compile(t, "-std=c89", "-Wall", "-Wextra", "-Werror", "-pedantic", "-I", filepath.Join(dir, "include"), "-o", program, main, out,
		"-Wl,--allow-shlib-undefined,--unresolved-symbols=ignore-in-shared-libs")
	require.Equal(t, "1.2.3\n", exportstest.Run(t, []string{"LD_LIBRARY_PATH=" + dir}, program))
}

// headers writes all headers for the sample below dir/include and returns the flags that find them.
func headers(t *testing.T, dir string) []string {
	t.Helper()
	api, _ := sample(t, exportstest.Sample())
	exportstest.WriteHeader(t, dir)
	h, err := header.Parse([]byte(exportstest.Header))
	require.NoError(t, err)
	impl, undeclared := stubgen.ImplHeader(api, h)
	require.Equal(t, []string{"miopenBare", "miopenHiddenGetMode", "miopenOpens", "miopen_lower_init"}, undeclared)
	for _, name := range undeclared {
		require.Contains(t, string(impl), " *   "+name+"\n")
	}
	exportstest.Write(t, filepath.Join(dir, "include", "miopen", "miopen_impl.h"), string(impl))
	exportstest.Write(t, filepath.Join(dir, "include", "miopen_private_rename.h"), string(stubgen.RenameHeader(api)))
	return []string{"-I", filepath.Join(dir, "include"), "-Wall", "-Wextra", "-Werror", "-c", "-o", os.DevNull}
}

func TestImplHeaderCompiles(t *testing.T) {
	dir := t.TempDir()
	flags := headers(t, dir)
	// Every declaration has to have the type of the public one; a wrong one does not compile.
	c := `#include <miopen/miopen_impl.h>
#include <miopen/miopen_impl.h>
int (*alpha)(int) = miopenAlpha_impl;
double (*beta)(int, double, int, int, int, int, int, int, double) = miopenBeta_impl;
int (*take)(const struct miopenArgument_t *) = miopenTake_impl;
int (*weak)(void) = miopenWeak_impl;
`
	for _, std := range []string{"-std=c99", "-std=c11", "-std=gnu17"} {
		source := exportstest.Write(t, filepath.Join(dir, "a.c"), c)
		exportstest.Compile(t, append(slices.Clone(flags), std, source)...)
	}
	cxx := c + "#ifdef MIOPEN_BETA_API\nint (*newer)(int, int) = miopenNewer_impl;\n#endif\n"
	for _, std := range []string{"-std=c++11", "-std=c++17", "-DMIOPEN_BETA_API"} {
		source := exportstest.Write(t, filepath.Join(dir, "a.cpp"), cxx)
		exportstest.Compile(t, append(slices.Clone(flags), std, source)...)
	}
	// Without the beta API its names are not there.
	source := exportstest.Write(t, filepath.Join(dir, "b.cpp"), "#include <miopen/miopen_impl.h>\nvoid *p = (void *)miopenNewer_impl;\n")
	output, err := exportstest.TryCompile(append(slices.Clone(flags), source)...)
	require.Error(t, err)
	require.Contains(t, output, "miopenNewer_impl")
	// Nor are undeclared ones, and the types are checked.
	source = exportstest.Write(t, filepath.Join(dir, "c.c"), "#include <miopen/miopen_impl.h>\nlong (*p)(void) = miopenAlpha_impl;\n")
	_, err = exportstest.TryCompile(append(slices.Clone(flags), source)...)
	require.Error(t, err)
}

func TestRenameHeader(t *testing.T) {
	dir := t.TempDir()
	flags := headers(t, dir)
	rename := filepath.Join(dir, "include", "miopen_private_rename.h")
	source := exportstest.Write(t, filepath.Join(dir, "client.c"), `struct miopenArgument_t;
typedef struct miopenArgument_t miopenArgument_t;
#include <miopen/miopen.h>
int miopenHiddenGetMode(void);
void *addresses[] = {(void *)miopenBeta, (void *)miopenHiddenGetMode};
int call(void) { return miopenAlpha(1); }
`)
	undefined := func(extra ...string) []string {
		t.Helper()
		out := filepath.Join(dir, "client.so")
		args := append([]string{"-shared", "-fPIC", "-I", filepath.Join(dir, "include"), "-o", out, source}, extra...)
		exportstest.Compile(t, args...)
		lib, err := exports.Read(out)
		require.NoError(t, err)
		var names []string
		for _, u := range lib.Undefined {
			names = append(names, u.Name)
		}
		return names
	}
	require.Equal(t, []string{"miopenAlpha_impl", "miopenBeta_impl", "miopenHiddenGetMode_impl"},
		undefined("-DMIOPEN_BUILDING_PRIVATE", "-include", rename))
	require.Equal(t, []string{"miopenAlpha", "miopenBeta", "miopenHiddenGetMode"}, undefined("-include", rename),
		"without the macro it does nothing")

	// Together with miopen_impl.h it is an error, in either order.
	for what, text := range map[string]string{
		"impl first":   "#include <miopen/miopen_impl.h>\n#define MIOPEN_BUILDING_PRIVATE\n#include <miopen_private_rename.h>\n",
		"rename first": "#define MIOPEN_BUILDING_PRIVATE\n#include <miopen_private_rename.h>\n#include <miopen/miopen_impl.h>\n",
		"inactive":     "#include <miopen_private_rename.h>\n#include <miopen/miopen_impl.h>\n",
		"macro only":   "#define MIOPEN_BUILDING_PRIVATE\n#include <miopen/miopen_impl.h>\n",
	} {
		source := exportstest.Write(t, filepath.Join(dir, "both.c"), text)
		output, err := exportstest.TryCompile(append(slices.Clone(flags), source)...)
		require.Error(t, err, what)
		require.Contains(t, output, "use one of them in a translation unit", what)
	}
}

// TestSignatures compiles the unit with the signatures and looks at the table that the compiler made.
func TestSignatures(t *testing.T) {
	api, _ := sample(t, exportstest.Sample())
	table := func(t *testing.T, text string, flags ...string) (map[string][2]byte, string) {
		t.Helper()
		dir := t.TempDir()
		_, err := runtime.Write(dir)
		require.NoError(t, err)
		h, err := header.Parse([]byte(text))
		require.NoError(t, err)
		unit := exportstest.Write(t, filepath.Join(dir, "s.cpp"), string(stubgen.Signatures(api, h)))
		object := filepath.Join(dir, "s.o")
		args := append(runtime.CompileFlags(), "-std=gnu++17", "-Wall", "-Wextra", "-Werror", "-c", "-o", object,
			"-include", exportstest.Write(t, filepath.Join(dir, "h.h"), text), unit)
		if output, err := exportstest.TryCompile(append(args, flags...)...); err != nil {
			return nil, output
		}
		f, err := elf.Open(object)
		require.NoError(t, err)
		defer f.Close()
		symbols, err := f.Symbols()
		require.NoError(t, err)
		i := slices.IndexFunc(symbols, func(s elf.Symbol) bool { return s.Name == "miopen_shim_signatures" })
		require.GreaterOrEqual(t, i, 0)
		require.Equal(t, elf.STV_HIDDEN, elf.ST_VISIBILITY(symbols[i].Other))
		section := f.Sections[symbols[i].Section]
		require.Zero(t, section.Flags&elf.SHF_WRITE, "the table is constant data")
		data, err := section.Data()
		require.NoError(t, err)
		data = data[symbols[i].Value:][:symbols[i].Size]
		require.Len(t, data, 2*len(api.Entries))
		out := map[string][2]byte{}
		for i, e := range api.Entries {
			out[e.Name] = [2]byte(data[2*i:])
		}
		require.Nil(t, f.Section(".init_array"), "nothing is computed when the library is loaded")
		return out, ""
	}
	const status, text, zero, unknown = 0, 1, 2, 0xff
	got, output := table(t, exportstest.Header, "-DMIOPEN_BETA_API")
	require.Empty(t, output)
	require.Equal(t, map[string][2]byte{
		"miopenAlpha": {0, status}, "miopenBeta": {1, zero}, "miopenTake": {0, status}, "miopenWeak": {0, status},
		"miopenNewer": {0, status}, "miopenBare": {unknown, status}, "miopenHiddenGetMode": {unknown, status},
		"miopenOpens": {unknown, status}, "miopen_lower_init": {unknown, status},
	}, got)
	// Without the macro the declaration is not there.
	got, _ = table(t, exportstest.Header)
	require.Equal(t, [2]byte{unknown, status}, got["miopenNewer"])

	got, output = table(t, `extern "C" {
enum E { e };
struct S;
const char *miopenAlpha(E, bool, char, short, long, S *, unsigned);
void miopenBare(float, float, float, float, float, float, float, float, float, double, int, int, int, int, int, int, int) noexcept;
E miopenBeta(int, ...);
S *miopenHiddenGetMode(void (*)(int), const int *, S &, int, int, int);
#if defined(ONE)
int miopenTake(int);
#endif
#if defined(ONE) || defined(TWO)
int miopenTake(int);
#endif
float miopenWeak(double);
}
`, "-DONE")
	require.Empty(t, output)
	require.Equal(t, map[string][2]byte{
		"miopenAlpha": {1, text}, "miopenBare": {3, zero}, "miopenBeta": {unknown, status}, "miopenHiddenGetMode": {0, zero},
		"miopenTake": {0, status}, "miopenWeak": {0, zero}, "miopenNewer": {unknown, status}, "miopenOpens": {unknown, status},
		"miopen_lower_init": {unknown, status},
	}, got)
	// What the trampoline does not keep is refused: it would arrive changed.
	for _, declaration := range []string{
		"struct S { int a; }; int miopenAlpha(S);", "int miopenAlpha(long double);", "int miopenAlpha(__int128);",
		"typedef float V __attribute__((vector_size(32))); int miopenAlpha(V);", "struct S { long a[9]; }; S miopenAlpha(void);",
		"long double miopenAlpha(void);", "int miopenAlpha(_Complex double);",
	} {
		_, output := table(t, "extern \"C\" { "+declaration+" }\n")
		require.Contains(t, output, "the wrapper does not keep its registers", declaration)
	}
}

func TestDecodeStub(t *testing.T) {
	code := []byte{
		0xf3, 0x0f, 0x1e, 0xfa,
		0x80, 0x3d, 0xf5, 0x0f, 0, 0, 1, // 0x1000 + 11 + 0xff5
		0x75, 6,
		0xff, 0x25, 0xed, 0x1f, 0, 0, // 0x1000 + 19 + 0x1fed
		0x41, 0xbb, 7, 1, 0, 0,
		0xe9, 0xe2, 0xff, 0xff, 0xff, // 0x1000 + 30 - 30
	}
	s, err := stubgen.DecodeStub(0x1000, code)
	require.NoError(t, err)
	require.Equal(t, stubgen.Stub{State: 0x2000, Slot: 0x3000, Index: 0x107, Slow: 0x1000}, s)
	// Every byte that is no displacement or index is looked at.
	free := map[int]bool{}
	for _, r := range [][2]int{{6, 10}, {15, 19}, {21, 25}, {26, 30}} {
		for i := r[0]; i < r[1]; i++ {
			free[i] = true
		}
	}
	for i := range code {
		damaged := slices.Clone(code)
		damaged[i] ^= 0x10
		_, err := stubgen.DecodeStub(0x1000, damaged)
		require.Equal(t, free[i], err == nil, "byte %d", i)
	}
	_, err = stubgen.DecodeStub(0x1000, code[:len(code)-1])
	require.Error(t, err)
}
