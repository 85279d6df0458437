package stubgen_test

import (
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
		return fmt.Sprintf("%s%s%s%s%s%q", stubgen.Assembly(api, "1.2.3"), stubgen.VersionScript(api, nodes),
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
		"stubs":   {stubgen.Assembly(api, "1.2.3"), `(?m)^(miopen\w+):$`},
		"renames": {stubgen.RenameHeader(api), `(?m)^#define (miopen\w+) miopen\w+_impl$`},
		"symbols": {stubgen.DebianSymbols(api, nodes, "libMIOpen.so.1"), `(?m)^ (miopen\w+)@MIOPEN_HIP_[12] 0$`},
	} {
		var names []string
		for _, m := range regexp.MustCompile(c.pattern).FindAllSubmatch(c.text, -1) {
			if name := string(m[1]); name != stubgen.VersionFunction {
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
	require.Contains(t, script, "    miopenHipdnnShimVersion;\n  local:\n    *;\n};\n")
	require.Equal(t, 1, strings.Count(script, "miopenAlpha;"))

	api, nodes = sample(t, exportstest.Unversioned())
	require.Equal(t, "MIOPEN_HIPDNN_SHIM_1 {\n  global:\n    miopenHipdnnShimVersion;\n  local:\n    __miopen_shim_*;\n"+
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
	exportstest.Compile(t, "-shared", "-nostdlib", "-o", out, source, "-Wl,--version-script="+script)
	lib, err := exports.Read(out)
	require.NoError(t, err)
	shim := lib.OfKind(exports.KindShim)
	require.Len(t, shim, 1)
	require.Equal(t, stubgen.VersionFunction, shim[0].Name)
	for _, e := range lib.OfKind(exports.KindAPI) {
		require.Zero(t, e.Address%16, e.Name)
		require.EqualValues(t, len(stubgen.StubCode)+4, e.Size, e.Name)
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
int main(void) { return puts(miopenHipdnnShimVersion()) < 0; }
`)
	exportstest.Compile(t, "-std=c89", "-Wall", "-Wextra", "-Werror", "-pedantic", "-I", filepath.Join(dir, "include"), "-o", program, main, out,
		"-Wl,--allow-shlib-undefined,--unresolved-symbols=ignore-in-shared-libs")
	// Lazy binding is off for the slots of the stubs, so they have to be defined for the run.
	var stand strings.Builder
	for _, n := range api.Names() {
		fmt.Fprintf(&stand, "void %s_impl(void) {}\n", n)
	}
	implementations := exportstest.Write(t, filepath.Join(dir, "i.c"), stand.String())
	preload := filepath.Join(dir, "i.so")
	exportstest.Compile(t, "-shared", "-fPIC", "-o", preload, implementations)
	require.Equal(t, "1.2.3\n", exportstest.Run(t, []string{"LD_PRELOAD=" + preload, "LD_LIBRARY_PATH=" + dir}, program))
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
