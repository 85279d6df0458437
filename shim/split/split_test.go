package split_test

import (
	"bytes"
	"context"
	"debug/elf"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/shim/exports"
	"example.com/miopen_hipdnn_shim/shim/exports/dynobj"
	"example.com/miopen_hipdnn_shim/shim/exports/exportstest"
	"example.com/miopen_hipdnn_shim/shim/split"
	"example.com/miopen_hipdnn_shim/shim/split/check"
	"example.com/miopen_hipdnn_shim/shim/split/layout"
	"example.com/miopen_hipdnn_shim/shim/split/manifest"
	"example.com/miopen_hipdnn_shim/shim/split/publish"
)

// stock builds the sample library in a folder of its own, with its header, and returns both paths.
func stock(t *testing.T, l exportstest.Library) (library, header string) {
	t.Helper()
	dir := t.TempDir()
	return l.Build(t, filepath.Join(dir, "lib"), "libMIOpen.so.1"), exportstest.WriteHeader(t, dir)
}

func run(t *testing.T, o split.Options) split.Result {
	t.Helper()
	r, err := split.Split(t.Context(), o)
	require.NoError(t, err)
	return r
}

// tree returns the content of every file below dir, and the target of every link.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		if d.Type()&fs.ModeSymlink != 0 {
			target, err := os.Readlink(path)
			out[rel] = "-> " + target
			return err
		}
		content, err := os.ReadFile(path)
		out[rel] = string(content)
		return err
	}))
	return out
}

func names(dir string) []string {
	entries, _ := os.ReadDir(dir)
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

const program = `#include <miopen/miopen.h>
#include <stdio.h>
extern "C" {
int miopenHiddenGetMode(void);
int miopenBare(void);
extern const int miopen_table_data[2];
int helper_function(void);
}
int main() {
  miopenArgument_t argument = {3, 4.5};
  printf("%d %g %d %d %d %d %d\n", miopenAlpha(1), miopenBeta(1, 0.5, 3, 4, 5, 6, 7, 8, 9.25), miopenTake(&argument),
         miopenWeak(), miopenNewer(4), miopenHiddenGetMode(), miopenBare());
  printf("%d %d\n", miopen_table_data[1], helper_function());
}
`

const programOutput = "2 44.75 7 5 16 41 40\n2 3\n"

// buildProgram links the program against a library.
func buildProgram(t *testing.T, header, source string, link ...string) string {
	t.Helper()
	dir := t.TempDir()
	out := filepath.Join(dir, "program")
	args := []string{"-x", "c++", "-DMIOPEN_BETA_API", "-I", filepath.Dir(filepath.Dir(header)), "-o", out,
		exportstest.Write(t, filepath.Join(dir, "program.cpp"), source), "-x", "none"}
	exportstest.Compile(t, append(args, link...)...)
	return out
}

func libraryPath(dir string) []string { return []string{"LD_LIBRARY_PATH=" + dir} }

func TestSplitRunsAnUnmodifiedProgram(t *testing.T) {
	for name, l := range map[string]exportstest.Library{
		"versioned": exportstest.Sample(), "unversioned": exportstest.Unversioned(),
	} {
		t.Run(name, func(t *testing.T) {
			library, header := stock(t, l)
			before, err := os.ReadFile(library)
			require.NoError(t, err)
			bin := buildProgram(t, header, program, library)
			require.Equal(t, programOutput, exportstest.Run(t, libraryPath(filepath.Dir(library)), bin))

			out := filepath.Join(t.TempDir(), "out")
			r := run(t, split.Options{Library: library, Out: out, Header: header})
			require.Equal(t, programOutput, exportstest.Run(t, libraryPath(out), bin))
			require.True(t, r.Checks.Holds())
			require.Len(t, r.Manifest.EntryPoints, len(exportstest.SampleNames()))

			after, err := os.ReadFile(library)
			require.NoError(t, err)
			require.True(t, bytes.Equal(before, after), "the input is only read")
			report, err := check.Dir(library, out)
			require.NoError(t, err)
			require.Empty(t, report.Findings())
			require.True(t, report.Holds())

			// Every call of the program goes to the wrapper, and from there to the private library.
			trace, err := exportstest.TryRun(append(libraryPath(out), "LD_DEBUG=bindings"), bin)
			require.NoError(t, err)
			for _, n := range []string{"miopenAlpha", "miopenBeta", "miopenHiddenGetMode"} {
				require.Regexp(t, fmt.Sprintf(`binding file \S*/program \[0\] to \S*/out/libMIOpen\.so\.1 \[0\]: normal symbol .%s'`, n), trace)
				require.Regexp(t, fmt.Sprintf(`binding file \S*/out/libMIOpen\.so\.1 \[0\] to \S*/libMIOpen_private\.so\.1 \[0\]: normal symbol .%s_impl'`, n), trace)
			}
			require.Regexp(t, `libMIOpen_private\.so\.1 \[0\] to \S*/libMIOpen_private\.so\.1 \[0\]: normal symbol .miopenAlpha_impl'`, trace,
				"calls inside the library stay inside")
			require.NotRegexp(t, `libMIOpen_private\.so\.1 \[0\] to \S*/libMIOpen\.so\.1 `, trace)
			require.NotContains(t, trace, "no version information", "the loader has nothing to warn about")

			// Without the private library nothing starts, and the message names it.
			require.NoError(t, os.Remove(filepath.Join(out, "libMIOpen_private.so.1")))
			message, err := exportstest.TryRun(libraryPath(out), bin)
			require.Error(t, err)
			require.Contains(t, message, "libMIOpen_private.so.1: cannot open shared object file")
		})
	}
}

func TestSplitKeepsOlderVersionsOfAName(t *testing.T) {
	library, header := stock(t, exportstest.TwoVersions())
	source := `#include <cstdio>
extern "C" { int miopenAlpha(void); int miopenAlpha_v1(void); int miopenOther(void); }
__asm__(".symver miopenAlpha_v1, miopenAlpha@MIOPEN_HIP_1");
int main() { printf("%d %d %d\n", miopenAlpha_v1(), miopenAlpha(), miopenOther()); }
`
	bin := buildProgram(t, header, source, library)
	require.Equal(t, "1 2 3\n", exportstest.Run(t, libraryPath(filepath.Dir(library)), bin))
	out := filepath.Join(t.TempDir(), "out")
	run(t, split.Options{Library: library, Out: out})
	require.Equal(t, "1 2 3\n", exportstest.Run(t, libraryPath(out), bin))
	report, err := check.Dir(library, out)
	require.NoError(t, err)
	require.Empty(t, report.Findings())
}

func TestSplitOfALibraryWithoutSectionHeaders(t *testing.T) {
	library, header := stock(t, exportstest.Sample())
	bin := buildProgram(t, header, program, library)
	exportstest.StripSectionHeaders(t, library)
	out := filepath.Join(t.TempDir(), "out")
	run(t, split.Options{Library: library, Out: out})
	require.Equal(t, programOutput, exportstest.Run(t, libraryPath(out), bin))
	report, err := check.Dir(library, out)
	require.NoError(t, err)
	require.Empty(t, report.Findings())
}

// TestConsumers links against the result in the ways that its documentation names.
func TestConsumers(t *testing.T) {
	library, header := stock(t, exportstest.Sample())
	out := filepath.Join(t.TempDir(), "out")
	run(t, split.Options{Library: library, Out: out, Header: header})
	include := filepath.Dir(filepath.Dir(header))
	flags := []string{"-I", include, "-I", filepath.Join(out, "include"), "-L", out, "-Wl,-rpath," + out}
	compile := func(t *testing.T, name, text string, extra ...string) string {
		t.Helper()
		bin := filepath.Join(t.TempDir(), "program")
		source := exportstest.Write(t, filepath.Join(t.TempDir(), name), text)
		args := append(slices.Clone(flags), "-o", bin, source)
		exportstest.Compile(t, append(args, extra...)...)
		return bin
	}
	needed := func(t *testing.T, bin string) []string {
		t.Helper()
		lib, err := exports.Read(bin)
		require.NoError(t, err)
		return lib.Needed
	}

	t.Run("only -lMIOpen", func(t *testing.T) {
		bin := compile(t, "a.cpp", `#include <miopen/miopen.h>
#include <cstdio>
int main() { printf("%d\n", miopenAlpha(1)); }`, "-lMIOpen")
		require.Equal(t, "2\n", exportstest.Run(t, nil, bin))
		require.Contains(t, needed(t, bin), "libMIOpen.so.1")
		require.NotContains(t, needed(t, bin), "libMIOpen_private.so.1")
	})
	t.Run("C++ names", func(t *testing.T) {
		text := `#include <miopen/miopen.h>
#include <cstdio>
namespace miopen { int Twice(int); extern int counter; }
int main() { printf("%d %d %d\n", miopenAlpha(1), miopen::Twice(4), miopen::counter); }`
		for _, linker := range []string{"", "bfd", "lld", "mold"} {
			extra := []string{"-L", filepath.Join(out, "cxx"), "-lMIOpen"}
			if linker != "" {
				if !hasLinker(linker) {
					t.Logf("skipped: no %s on this machine", linker)
					continue
				}
				extra = append(extra, "-fuse-ld="+linker)
			}
			// The subfolder has to come first on the search path.
			withScript := append([]string{"-L", filepath.Join(out, "cxx")}, flags...)
			bin := filepath.Join(t.TempDir(), "program")
			source := exportstest.Write(t, filepath.Join(t.TempDir(), "a.cpp"), text)
			exportstest.Compile(t, append(append(withScript, "-o", bin, source), extra...)...)
			require.Equal(t, "2 8 7\n", exportstest.Run(t, nil, bin), linker)
			require.Subset(t, needed(t, bin), []string{"libMIOpen.so.1", "libMIOpen_private.so.1"}, linker)

			// A program that needs no C++ name does not get the private library from the script.
			plain := exportstest.Write(t, filepath.Join(t.TempDir(), "b.cpp"), "#include <miopen/miopen.h>\nint main() { return miopenAlpha(1) - 2; }")
			exportstest.Compile(t, append(append(withScript, "-o", bin, plain), extra...)...)
			require.NotContains(t, needed(t, bin), "libMIOpen_private.so.1", linker)
		}
		// Control: without the script the C++ names are not found.
		source := exportstest.Write(t, filepath.Join(t.TempDir(), "a.cpp"), text)
		output, err := exportstest.TryCompile(append(slices.Clone(flags), "-o", os.DevNull, source, "-lMIOpen")...)
		require.Error(t, err)
		require.Contains(t, output, "Twice")
	})
	private := filepath.Join(out, "libMIOpen_private.so.1")
	t.Run("miopen_impl.h", func(t *testing.T) {
		text := `#include <miopen/miopen_impl.h>
#include <stdio.h>
int main(void) {
  struct miopenArgument_t argument = {3, 4.5};
  printf("%d %d\n", miopenAlpha_impl(1), miopenTake_impl(&argument));
  return 0;
}`
		for _, name := range []string{"a.c", "a.cpp"} {
			bin := compile(t, name, text, private)
			require.Equal(t, "2 7\n", exportstest.Run(t, nil, bin))
			require.NotContains(t, needed(t, bin), "libMIOpen.so.1", "it does not come through the wrapper")
		}
	})
	t.Run("rename header", func(t *testing.T) {
		bin := compile(t, "a.cpp", `#include <miopen/miopen.h>
#include <cstdio>
int main() { printf("%d\n", miopenAlpha(1)); }`, "-DMIOPEN_BUILDING_PRIVATE", "-include", filepath.Join(out, "include", "miopen_private_rename.h"), private)
		require.Equal(t, "2\n", exportstest.Run(t, nil, bin))
		require.NotContains(t, needed(t, bin), "libMIOpen.so.1")
	})
	t.Run("dlopen", func(t *testing.T) {
		bin := compile(t, "a.c", `#include <dlfcn.h>
#include <stdio.h>
int main(int argc, char **argv) {
  void *host = dlopen(argv[argc - 1], RTLD_NOW | RTLD_LOCAL);
  if (!host) { puts(dlerror()); return 1; }
  int (*alpha)(int) = (int (*)(int))dlsym(host, "miopenAlpha");
  int (*twice)(int) = (int (*)(int))dlsym(host, "_ZN6miopen5TwiceEi");
  const char *(*version)(void) = (const char *(*)(void))dlsym(host, "miopenHipdnnShimVersion");
  printf("%d %d %s\n", alpha(1), twice(4), version());
  if (dlclose(host)) return 2;
  printf("%d\n", alpha(2)); /* the library is never unloaded */
  return 0;
}`, "-ldl")
		require.Equal(t, "2 8 "+split.Version+"\n3\n", exportstest.Run(t, nil, bin, filepath.Join(out, layout.DevLink)))
	})
}

func hasLinker(name string) bool {
	_, err := exec.LookPath("ld." + name)
	return err == nil
}

// TestDeterminism: neither the destination, nor the working directory, nor a temporary name gets into the result.
func TestDeterminism(t *testing.T) {
	library, header := stock(t, exportstest.Sample())
	first, second := filepath.Join(t.TempDir(), "a"), filepath.Join(t.TempDir(), "other", "b")
	run(t, split.Options{Library: library, Out: first, Header: header})
	copied := filepath.Join(t.TempDir(), "copied", "libMIOpen.so.1.0.42")
	content, err := os.ReadFile(library)
	require.NoError(t, err)
	exportstest.Write(t, copied, string(content))
	t.Chdir(t.TempDir())
	t.Setenv("TMPDIR", t.TempDir())
	run(t, split.Options{Library: copied, Out: second, Header: header})
	a, b := tree(t, first), tree(t, second)
	require.ElementsMatch(t, []string{
		"libMIOpen_private.so.1", "libMIOpen.so.1", "libMIOpen.so", "cxx/libMIOpen.so", "manifest.json", "libmiopen1.symbols",
		"include/miopen/miopen_impl.h", "include/miopen/miopen_hipdnn_shim.h", "include/miopen_private_rename.h",
	}, keys(a))
	for name := range a {
		require.True(t, a[name] == b[name], "%s differs", name)
		require.NotContains(t, a[name], filepath.Dir(first), name)
		require.NotContains(t, b[name], os.Getenv("TMPDIR"), name)
	}
	require.Equal(t, keys(a), keys(b))
	require.Equal(t, []string{"b"}, names(filepath.Dir(second)))
	require.Empty(t, names(os.Getenv("TMPDIR")), "temporary files are removed")
}

func keys(m map[string]string) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

// TestRelativePaths: paths mean what they mean where the tool was started, those among the compiler's flags too.
func TestRelativePaths(t *testing.T) {
	library, header := stock(t, exportstest.Sample())
	dir := filepath.Dir(filepath.Dir(library))
	t.Chdir(dir)
	relLibrary, err := filepath.Rel(dir, library)
	require.NoError(t, err)
	relHeader, err := filepath.Rel(dir, header)
	require.NoError(t, err)
	cc := exportstest.Write(t, filepath.Join(dir, "tools", "my cc"), "#!/bin/sh\ntest -f tools/marker || exit 9\nexec cc \"$@\"\n")
	require.NoError(t, os.Chmod(cc, 0o755))
	exportstest.Write(t, filepath.Join(dir, "tools", "marker"), "")
	r := run(t, split.Options{
		Library: relLibrary, Header: relHeader, Out: "out, with comma", Compiler: []string{"tools/my cc"},
		CompilerFlags: []string{"-Ltools"},
	})
	require.True(t, r.Checks.Holds())
}

func TestManifest(t *testing.T) {
	library, header := stock(t, exportstest.Sample())
	out := filepath.Join(t.TempDir(), "out")
	r := run(t, split.Options{Library: library, Out: out, Header: header, RunPath: []string{"$ORIGIN/../deps", "/opt/x"}})
	text, err := os.ReadFile(filepath.Join(out, layout.Manifest))
	require.NoError(t, err)
	m, err := manifest.Decode(text)
	require.NoError(t, err)
	require.Equal(t, r.Manifest, m)
	require.Equal(t, "stock", m.Input.Form)
	require.Equal(t, m.Input.BuildID, m.Private.BuildID)
	require.NotEqual(t, m.Input.BuildID, m.Wrapper.BuildID)
	require.Equal(t, "$ORIGIN/../deps:/opt/x", *m.Private.RunPath)
	require.Equal(t, []string{"libMIOpen_private.so.1", "libc.so.6"}, m.Wrapper.Needed)
	require.Equal(t, []string{"miopenBare", "miopenHiddenGetMode", "miopenOpens", "miopen_lower_init"}, m.Undeclared)
	require.Len(t, m.RunTime.Libraries, 1)
	require.Equal(t, "libsample_runtime.so.3", m.RunTime.Libraries[0].Name)
	require.Nil(t, m.RunTime.SystemDatabase)
	lib, err := exports.Read(filepath.Join(out, "libMIOpen_private.so.1"))
	require.NoError(t, err)
	api, err := lib.API()
	require.NoError(t, err)
	require.Equal(t, api.Fingerprint(), m.LayoutFingerprint)
	report, err := check.Dir(library, out)
	require.NoError(t, err)
	require.Empty(t, report.Findings())
}

// TestPrivateInput splits a library that was renamed when it was compiled, with the header that a split wrote.
func TestPrivateInput(t *testing.T) {
	library, header := stock(t, exportstest.Sample())
	first := filepath.Join(t.TempDir(), "first")
	run(t, split.Options{Library: library, Out: first, Header: header})
	bin := buildProgram(t, header, program, library)
	for _, soname := range []string{"libMIOpen_private.so.1", "libMIOpen.so.1"} {
		l := exportstest.Sample()
		l.SONAME = soname
		l.Script = strings.ReplaceAll(l.Script, "miopenNewer", "miopenNewer_impl")
		l.Flags = []string{"-DMIOPEN_BUILDING_PRIVATE", "-include", filepath.Join(first, layout.RenameHeader)}
		renamed := l.Build(t, t.TempDir(), "libMIOpen_private.so.1")
		out := filepath.Join(t.TempDir(), "out")
		r := run(t, split.Options{Library: renamed, Out: out, Header: header})
		require.Equal(t, "private", r.Manifest.Input.Form)
		require.Equal(t, programOutput, exportstest.Run(t, libraryPath(out), bin))
		report, err := check.Dir(renamed, out)
		require.NoError(t, err)
		require.Empty(t, report.Findings())

		// Renamed in the binary or at compile time: the same names at the same nodes, and the same generated files.
		a, b := tree(t, first), tree(t, out)
		for _, name := range []string{layout.RenameHeader, layout.ImplHeader, "libmiopen1.symbols"} {
			require.Equal(t, a[name], b[name], name)
		}
		wantAPI, gotAPI := apiOf(t, filepath.Join(first, "libMIOpen_private.so.1")), apiOf(t, filepath.Join(out, "libMIOpen_private.so.1"))
		require.True(t, exports.Compare(wantAPI, gotAPI).Empty())
		if soname == "libMIOpen_private.so.1" {
			require.Equal(t, tree(t, filepath.Dir(renamed))["libMIOpen_private.so.1"], b["libMIOpen_private.so.1"], "nothing had to change")
		}
	}
}

func apiOf(t *testing.T, path string) exports.API {
	t.Helper()
	lib, err := exports.Read(path)
	require.NoError(t, err)
	api, err := lib.API()
	require.NoError(t, err)
	return api
}

func TestRefusals(t *testing.T) {
	library, _ := stock(t, exportstest.Sample())
	dir := t.TempDir()
	done := filepath.Join(dir, "done")
	run(t, split.Options{Library: library, Out: done})
	out := filepath.Join(dir, "out")
	one := func(source string) string {
		return exportstest.Library{Source: `extern "C" { ` + source + ` }`, SONAME: "libMIOpen.so.1"}.Build(t, t.TempDir(), "libMIOpen.so.1")
	}
	text := exportstest.Write(t, filepath.Join(dir, "text"), "no library")
	badHeader := exportstest.Write(t, filepath.Join(dir, "bad.h"), "#ifdef X\n")
	unnamed := exportstest.Library{Source: `extern "C" int miopenA(void) { return 1; }`}.Build(t, t.TempDir(), "libMIOpen.so.1")

	for name, c := range map[string]struct {
		options split.Options
		as      any
		text    string
	}{
		"missing":         {split.Options{Library: filepath.Join(dir, "none")}, new(*exports.ReadError), "none: no such file"},
		"no library":      {split.Options{Library: text}, new(*exports.ReadError), "is not an ELF file"},
		"missing header":  {split.Options{Library: library, Header: filepath.Join(dir, "none.h")}, new(*exports.ReadError), "none.h"},
		"bad header":      {split.Options{Library: library, Header: badHeader}, new(*exports.ReadError), "bad.h: line 1: the conditional has no #endif"},
		"no MIOpen":       {split.Options{Library: one("int other(void) { return 1; }")}, new(*exports.NoAPIError), "exports no function named miopen*"},
		"already split":   {split.Options{Library: filepath.Join(done, "libMIOpen.so.1")}, new(*split.WrapperError), "is already split"},
		"half renamed":    {split.Options{Library: one("int miopenA_impl(void) { return 1; } int miopenB_impl(void) { return 1; } int miopenHidden(void) { return 1; }")}, new(*exports.MixedError), "miopenHidden"},
		"no SONAME":       {split.Options{Library: unnamed}, new(*layout.SONAMEError), "there is no SONAME"},
		"no compiler":     {split.Options{Library: library, Compiler: []string{filepath.Join(dir, "nocc")}}, new(*split.CompilerError), "nocc"},
		"failing":         {split.Options{Library: library, Compiler: []string{"false"}}, new(*split.CompilerError), "exit status 1"},
		"bad flag":        {split.Options{Library: library, CompilerFlags: []string{"-Wl,--no-such-option"}}, new(*split.CompilerError), "no-such-option"},
		"silent compiler": {split.Options{Library: library, Compiler: []string{"true"}}, new(error), "what the linker wrote"},
	} {
		t.Run(name, func(t *testing.T) {
			c.options.Out = out
			_, err := split.Split(t.Context(), c.options)
			require.Error(t, err)
			require.ErrorAs(t, err, c.as)
			require.ErrorContains(t, err, c.text)
			require.NoFileExists(t, out)
			require.ElementsMatch(t, []string{"done", "text", "bad.h"}, names(dir), "nothing is left behind")
		})
	}
}

// TestSelfCheck: a compiler that gives something else than it was asked for is found out, by the finding that names it.
func TestSelfCheck(t *testing.T) {
	library, _ := stock(t, exportstest.Sample())
	dir := t.TempDir()
	out := filepath.Join(dir, "out")
	wrap := func(t *testing.T, script string) []string {
		t.Helper()
		cc := exportstest.Write(t, filepath.Join(t.TempDir(), "cc"), "#!/bin/bash\n"+script)
		require.NoError(t, os.Chmod(cc, 0o755))
		return []string{cc}
	}
	source := func(file, script string) string {
		return fmt.Sprintf(`for a in "$@"; do case "$a" in */%s) sed -i '%s' "$a";; esac; done; exec cc "$@"`, file, script)
	}
	for name, c := range map[string]struct{ script, finding string }{
		"lazy binding":   {`exec cc "${@/-Wl,-z,now/-Wl,-z,lazy}"`, "wrapper: hardening: not bound at load time"},
		"no relro":       {`exec cc "${@/-Wl,-z,relro/-Wl,-z,norelro}"`, "wrapper: hardening: PT_GNU_RELRO is missing"},
		"unloadable":     {`exec cc "${@/-Wl,-z,nodelete/-Wl,-z,now}"`, "wrapper: hardening: may be unloaded"},
		"stack":          {`exec cc "${@/-Wl,-z,noexecstack/-Wl,-z,execstack}"`, "wrapper: hardening: asks for an executable stack"},
		"start files":    {`exec cc "${@/-nostdlib/-nodefaultlibs}"`, "wrapper: start-up: has DT_INIT"},
		"a library":      {`exec cc "$@" -Wl,--no-as-needed -lm`, "wrapper: identity: NEEDED is"},
		"no search path": {`exec cc "${@/-Wl,-rpath,\$ORIGIN/-Wl,-z,now}"`, "wrapper: identity: RUNPATH is not"},
		"old tags":       {`exec cc "${@/-Wl,--enable-new-dtags/-Wl,--disable-new-dtags}"`, "wrapper: identity: DT_RPATH"},
		"another SONAME": {`exec cc "${@/-Wl,-soname,libMIOpen.so.1/-Wl,-soname,libMIOpen.so.2}"`, `wrapper: identity: SONAME is "libMIOpen.so.2"`},
		"no versions":    {`a=(); for x in "$@"; do case "$x" in --version-script) a+=(-O1);; *.map) a+=(-O1);; *) a+=("$x");; esac; done; exec cc "${a[@]}"`, "wrapper: version nodes: MIOPEN_HIP_1 is not defined"},
		"lost function":  {`sed 's/\bmiopenTake\b/other_Take/g' | exec cc "$@"`, "wrapper: entry points: miopenTake is missing"},
		"crossed":        {`sed 's/quad.*miopenTake_impl/quad miopenWeak_impl/' | exec cc "$@"`, "wrapper: bindings: miopenTake: jumps to miopenWeak_impl"},
		"strong":         {`sed '/weak.*miopenTake_impl/d' | exec cc "$@"`, "wrapper: bindings: miopenTake: miopenTake_impl is not a weak reference"},
		"another index":  {`sed 's/\$3, %r11d/$4, %r11d/' | exec cc "$@"`, "wrapper: bindings: miopenHiddenGetMode: is number 3, its stub says 4"},
		"another word":   {`sed '0,/miopen_shim_state+0(/s/miopen_shim_state+0(/miopen_shim_slots(/' | exec cc "$@"`, "others have"},
		"another path":   {`sed '0,/jmp.miopen_shim_slow/s/jmp.miopen_shim_slow/jmp miopen_shim_enter/' | exec cc "$@"`, "has its slow path at"},
		"another order":  {`sed 's/\*miopen_shim_slots+8(/*miopen_shim_slots+16(/;t;s/\*miopen_shim_slots+16(/*miopen_shim_slots+8(/' | exec cc "$@"`, "wrapper: bindings: miopenBare: jumps to miopenBeta_impl"},
		"a preset state": {source("slow.S", "s/SHIM_BOTH(SHIM_GATE_UNREAD)/0x0101/"), "wrapper: bindings: the state word at"},
		"constant state": {source("slow.S", "s/^.\\.data$/.section .rodata/"), "is not in writable data"},
		"a constructor":  {`(cat; echo '.section .init_array, "aw", @init_array; .quad 0') | exec cc "$@"`, "wrapper: start-up: has DT_INIT_ARRAY"},
		"a finaliser":    {`(cat; echo '.section .fini_array, "aw", @fini_array; .quad 0') | exec cc "$@"`, "wrapper: start-up: DT_FINI_ARRAY has 2 functions"},
		"no finaliser":   {source("runtime.c", "1i #define destructor unused"), "wrapper: start-up: DT_FINI_ARRAY has 0 functions"},
		"an old one":     {`exec cc "$@" -Wl,-fini,miopen_shim_enter`, "wrapper: start-up: has DT_FINI"},
		"a writable one": {`exec cc "${@/-Wl,-z,relro/-Wl,-z,norelro}"`, "wrapper: hardening: DT_FINI_ARRAY"},
		"an import":      {`case "$*" in */libc.so.6.map*) exec cc "$@";; esac; (cat; echo '.text; call getenv@PLT') | exec cc "${@/*\/libc.so.6/-lc}"`, "wrapper: imports: wants getenv"},
		"a hook":         {`(cat; echo '.data; .globl tempting; .quad tempting; .weak tempting') | exec cc "$@"`, "wrapper: imports: wants tempting"},
		"a new glibc":    {`case "$*" in */libc.so.6.map*) exec cc "$@";; esac; (cat; echo '.text; call __libc_start_main@PLT') | exec cc "${@/*\/libc.so.6/-lc}"`, "wrapper: glibc: needs glibc 2.34, newer than 2.17"},
		"another layout": {`sed 's/quad.\([1-9][0-9]*\)$/quad 8+\1/' | exec cc "$@"`, "wrapper: pairing: the layout of"},
		"writable table": {`sed '/miopen_shim_offsets$/i .data' | exec cc "$@"`, "wrapper: pairing: the layout of"},
		"other code":     {`sed '/^miopenTake:/a nop' | exec cc "$@"`, "wrapper: bindings: miopenTake: the code at"},
		"too large":      {`(cat; echo '.section .rodata; .zero 200000') | exec cc "$@"`, "wrapper: size: "},
		"writable code":  {`exec cc "$@" -Wl,-N`, "is writable and executable"},
		"an extra":       {`case "$*" in */libc.so.6.map*) exec cc "$@";; esac; (cat; echo '.globl miopenExtra; .type miopenExtra,@function; .text; miopenExtra: ret; .symver miopenExtra, miopenExtra@@@MIOPEN_HIP_1') | exec cc "$@"`, "wrapper: entry points: miopenExtra is not in the stock library"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := split.Split(t.Context(), split.Options{Library: library, Out: out, Compiler: wrap(t, c.script)})
			var failed *split.CheckError
			require.ErrorAs(t, err, &failed)
			require.Contains(t, strings.Join(failed.Report.Findings(), "\n"), c.finding)
			require.Empty(t, names(dir))
		})
	}
	// The control of the control: the same detour without a change passes.
	run(t, split.Options{Library: library, Out: out, Compiler: wrap(t, `exec cc "$@"`)})
}

// TestNothingOfTheMachine: neither the folder in which the sources are compiled, nor that of the header, nor options for
// debugging leave a trace in the wrapper.
func TestNothingOfTheMachine(t *testing.T) {
	library, header := stock(t, exportstest.Sample())
	dir := t.TempDir()
	var wrappers [][]byte
	for i, flags := range [][]string{nil, {"-g3", "-ggdb"}, {"-flto", "-fstack-protector-all", "-D_FORTIFY_SOURCE=2", "-O0"}} {
		scratch := filepath.Join(dir, strings.Repeat("scratch", i+1))
		require.NoError(t, os.Mkdir(scratch, 0o755))
		t.Setenv("TMPDIR", scratch)
		moved := exportstest.WriteHeader(t, filepath.Join(scratch, "headers"))
		out := filepath.Join(dir, "out", strconv.Itoa(i))
		run(t, split.Options{Library: library, Out: out, Header: moved, CompilerFlags: flags})
		content, err := os.ReadFile(filepath.Join(out, "libMIOpen.so.1"))
		require.NoError(t, err)
		require.NotContains(t, string(content), "scratch")
		require.NotContains(t, string(content), filepath.Dir(header))
		wrappers = append(wrappers, content)
		require.Equal(t, []string{"headers"}, names(scratch), "nothing is left in the folder for temporary files")
	}
	require.True(t, bytes.Equal(wrappers[0], wrappers[1]))
	require.True(t, bytes.Equal(wrappers[0], wrappers[2]))
}

// TestHeaderDoesNotCompile: a header that was given is used or is an error, which says what to do.
func TestHeaderDoesNotCompile(t *testing.T) {
	library, _ := stock(t, exportstest.Sample())
	dir := t.TempDir()
	out := filepath.Join(dir, "out")
	header := exportstest.Write(t, filepath.Join(dir, "api", "miopen", "miopen.h"), `#include <hip/hip_types.h>
#include <miopen/config.h>
#ifndef __HIP_PLATFORM_AMD__
#error "the platform"
#endif
`+exportstest.Header)
	exportstest.Write(t, filepath.Join(dir, "api", "miopen", "config.h"), "#ifndef CONFIGURED\n#error \"not configured\"\n#endif\n")
	hip := filepath.Join(dir, "hip-headers")
	exportstest.Write(t, filepath.Join(hip, "hip", "hip_types.h"), "typedef int hipType;\n")

	var failed *split.HeaderError
	_, err := split.Split(t.Context(), split.Options{Library: library, Out: out, Header: header})
	require.ErrorAs(t, err, &failed)
	require.ErrorContains(t, err, "hip/hip_types.h")
	require.ErrorContains(t, err, "--include")
	require.NoFileExists(t, out)
	_, err = split.Split(t.Context(), split.Options{Library: library, Out: out, Header: header, Include: []string{hip}})
	require.ErrorAs(t, err, &failed)
	require.ErrorContains(t, err, "not configured")
	require.NoFileExists(t, out)
	run(t, split.Options{Library: library, Out: out, Header: header, Include: []string{hip}, CompilerFlags: []string{"-DCONFIGURED"}})

	// What the wrapper could not keep is an error too.
	header = exportstest.Write(t, filepath.Join(dir, "vector.h"), "typedef float V __attribute__((vector_size(32)));\nextern \"C\" int miopenAlpha(V);\n")
	_, err = split.Split(t.Context(), split.Options{Library: library, Out: out, Header: header})
	require.ErrorAs(t, err, &failed)
	require.ErrorContains(t, err, "does not keep its registers")
}

func TestFailureKeepsTheEarlierResult(t *testing.T) {
	library, header := stock(t, exportstest.Sample())
	dir := t.TempDir()
	out := filepath.Join(dir, "out")
	run(t, split.Options{Library: library, Out: out, Header: header})
	before := tree(t, out)
	_, err := split.Split(t.Context(), split.Options{Library: library, Out: out, Compiler: []string{"false"}})
	require.Error(t, err)
	require.Equal(t, before, tree(t, out))
	require.Equal(t, []string{"out"}, names(dir))

	// A run that is interrupted while the compiler works.
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	cc := exportstest.Write(t, filepath.Join(t.TempDir(), "cc"), "#!/bin/sh\nexec sleep 60\n")
	require.NoError(t, os.Chmod(cc, 0o755))
	start := time.Now()
	_, err = split.Split(ctx, split.Options{Library: library, Out: out, Compiler: []string{cc}})
	require.True(t, split.IsInterrupted(err), "%v", err)
	require.Less(t, time.Since(start), 30*time.Second)
	require.Equal(t, before, tree(t, out))
	require.Equal(t, []string{"out"}, names(dir))

	// And again, with success: the same bytes.
	run(t, split.Options{Library: library, Out: out, Header: header})
	require.Equal(t, before, tree(t, out))
}

func TestForeignDestination(t *testing.T) {
	library, _ := stock(t, exportstest.Sample())
	dir := t.TempDir()
	other := exportstest.Write(t, filepath.Join(dir, "lib", "libMIOpen.so.1"), "somebody's stock library")
	var foreign *publish.ForeignError
	_, err := split.Split(t.Context(), split.Options{Library: library, Out: filepath.Dir(other)})
	require.ErrorAs(t, err, &foreign)
	require.ErrorContains(t, err, "no manifest.json")
	_, err = split.Split(t.Context(), split.Options{Library: library, Out: filepath.Dir(library)})
	require.ErrorAs(t, err, &foreign)
	require.ErrorContains(t, err, "holds the library that is to be split")
	_, err = split.Split(t.Context(), split.Options{Library: library, Out: library})
	require.ErrorAs(t, err, &foreign)

	out := filepath.Join(dir, "out")
	run(t, split.Options{Library: library, Out: out})
	mine := exportstest.Write(t, filepath.Join(out, "notes.txt"), "mine")
	_, err = split.Split(t.Context(), split.Options{Library: library, Out: out})
	require.ErrorAs(t, err, &foreign)
	require.ErrorContains(t, err, "notes.txt")
	require.FileExists(t, mine)
	require.NoError(t, os.Remove(mine))
	exportstest.Write(t, filepath.Join(out, layout.Manifest), `{"tool": {"name": "another"}}`)
	_, err = split.Split(t.Context(), split.Options{Library: library, Out: out})
	require.ErrorAs(t, err, &foreign)
}

func TestConcurrentRuns(t *testing.T) {
	library, header := stock(t, exportstest.Sample())
	dir := t.TempDir()
	out := filepath.Join(dir, "out")
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			_, err := split.Split(t.Context(), split.Options{Library: library, Out: out, Header: header})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	require.Equal(t, []string{"out"}, names(dir))
	report, err := check.Dir(library, out)
	require.NoError(t, err)
	require.Empty(t, report.Findings())
}

func TestRunPathWarning(t *testing.T) {
	dir := t.TempDir()
	l := exportstest.Sample()
	l.Flags = []string{"-Wl,-rpath,$ORIGIN/../deps:$ORIGIN/../gone:/opt/abs", "-Wl,--enable-new-dtags"}
	library := l.Build(t, filepath.Join(dir, "stock", "lib"), "libMIOpen.so.1")
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "stock", "deps"), 0o755))
	out := filepath.Join(dir, "far", "away", "out")
	warnings := func(o split.Options) string {
		t.Helper()
		o.Library = library
		return strings.Join(run(t, o).Warnings, "\n")
	}
	w := warnings(split.Options{Out: out})
	require.Contains(t, w, "--runpath '$ORIGIN/../../../stock/deps' --runpath '$ORIGIN/../gone' --runpath '/opt/abs'")
	require.Contains(t, w, filepath.Join(dir, "far", "away", "deps"))
	// With the flags as suggested there is nothing to warn about, and the dependencies are found where they were.
	w = warnings(split.Options{Out: out, RunPath: []string{"$ORIGIN/../../../stock/deps", "$ORIGIN/../gone", "/opt/abs"}})
	require.NotContains(t, w, "runpath")
	require.DirExists(t, filepath.Join(out, "../../../stock/deps"))
	report, err := check.Dir(library, out)
	require.NoError(t, err)
	require.Empty(t, report.Findings())
	// Nor without any.
	w = warnings(split.Options{Out: out, RunPath: []string{""}})
	require.NotContains(t, w, "runpath")
	private, err := exports.Read(filepath.Join(out, "libMIOpen_private.so.1"))
	require.NoError(t, err)
	require.Nil(t, private.RunPath)
	report, err = check.Dir(library, out)
	require.NoError(t, err)
	require.Empty(t, report.Findings())
	// Nor is there in a folder from which the entries lead to the same places.
	require.NotContains(t, warnings(split.Options{Out: filepath.Join(dir, "stock", "lib2")}), "runpath")
	require.Contains(t, warnings(split.Options{Out: filepath.Join(dir, "stock", "lib3")}), "no header was given")
}

func TestSmallestBars(t *testing.T) {
	library, _ := stock(t, exportstest.Sample())
	out := filepath.Join(t.TempDir(), "out")
	r := run(t, split.Options{Library: library, Out: out})
	require.Less(t, r.Manifest.Wrapper.Size, int64(check.MaxWrapperSize))
	require.LessOrEqual(t, r.Manifest.Wrapper.Glibc.Compare(check.MaxWrapperGlibc), 0)
	w, err := dynobj.Open(filepath.Join(out, "libMIOpen.so.1"))
	require.NoError(t, err)
	defer w.Close()
	// The stubs are marked for indirect branch tracking and shadow stacks.
	notes, err := w.Notes()
	require.NoError(t, err)
	require.True(t, slices.ContainsFunc(notes, func(n dynobj.Note) bool {
		return n.Owner == "GNU" && n.Type == 5 && bytes.Contains(n.Desc, []byte{2, 0, 0, 0xc0, 4, 0, 0, 0, 3, 0, 0, 0})
	}), "%v", notes)
	// Debuggers and exception handling can walk through a stub.
	require.True(t, slices.ContainsFunc(w.Segments, func(p elf.ProgHeader) bool { return p.Type == elf.PT_GNU_EH_FRAME }))
}
