// Package exportstest builds small libraries and programs for the tests of the shim, with the machine's C compiler, and
// runs programs on them.
//
// The sample library has what makes a real MIOpen awkward: two version nodes, one of them inheriting from the other, a
// third without any C function, names that the header does not declare, a weak function, calls to its own entry points
// through the procedure linkage table, data and C++ names.
package exportstest

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Library is the recipe of a shared library.
type Library struct {
	Source string // C++
	Script string // version script; empty for none
	SONAME string // empty for none
	Flags  []string
}

// Header is the sample's miopen/miopen.h. Like MIOpen's it is not valid C by itself: it names a structure without
// "struct", and the part for C++ has default arguments.
const Header = `#ifndef MIOPEN_SAMPLE_H_
#define MIOPEN_SAMPLE_H_
/* miopenCommented(int) is not declared, nor is "miopenQuoted(int)" */
#ifdef __cplusplus
extern "C" {
#endif
#define MIOPEN_EXPORT __attribute__((visibility("default")))
#define MIOPEN_DECLARE(name) struct name { int unused; }
MIOPEN_DECLARE(miopenMacroMade);
struct miopenArgument_t {
  int id;
  double value;
};
typedef struct miopenArgument_t* miopenArgumentPtr;
MIOPEN_EXPORT int miopenAlpha(int x);
MIOPEN_EXPORT double miopenBeta(int a, double b, int c, int d, int e, int f, int g, int h, double i);
MIOPEN_EXPORT int miopenTake(const miopenArgument_t* argument);
MIOPEN_EXPORT int miopenWeak(void);
#ifdef MIOPEN_BETA_API
MIOPEN_EXPORT int miopenNewer(int x, int scale = 2);
#endif
#ifdef __cplusplus
}
#endif
#endif
`

// Sample is the sample library in its stock form.
func Sample() Library {
	return Library{
		SONAME: "libMIOpen.so.1",
		Source: `#define MIOPEN_BETA_API
` + Header + `
namespace miopen {
int Twice(int x) { return 2 * x; }
int counter = 7;
}
extern "C" {
extern const int miopen_table_data[2] = {1, 2};
int helper_function(void) { return 3; }
int miopenBare(void);
int miopenAlpha(int x) { return x + 1; }
double miopenBeta(int a, double b, int c, int d, int e, int f, int g, int h, double i) {
  return miopenAlpha(a) + b + c + d + e + f + g + h + i;
}
int miopenTake(const miopenArgument_t *argument) { return argument->id + (int)argument->value; }
__attribute__((weak)) int miopenWeak(void) { return 5; }
int miopenNewer(int x, int scale) { return miopen::Twice(x) * scale; }
int miopenHiddenGetMode(void) { return miopenBare() + 1; }
int miopenBare(void) { return 40; }
int miopen_lower_init(void) { return miopenHiddenGetMode(); }
const char *miopenOpens(void) { return "libsample_runtime.so.3"; }
}
`,
		Script: `MIOPEN_HIP_1 { global: miopen*; helper_function; };
MIOPEN_HIP_2 { global: miopenNewer; } MIOPEN_HIP_1;
MIOPEN_CXX_1 { global: _ZN6miopen5TwiceEi; };
`,
	}
}

// SampleNames are the entry points of the sample, in byte order.
func SampleNames() []string {
	return []string{
		"miopenAlpha", "miopenBare", "miopenBeta", "miopenHiddenGetMode", "miopenNewer", "miopenOpens", "miopenTake", "miopenWeak",
		"miopen_lower_init",
	}
}

// Unversioned is the sample without version nodes.
func Unversioned() Library {
	l := Sample()
	l.Script = ""
	return l
}

// TwoVersions is a library with two definitions of one name, at two nodes.
func TwoVersions() Library {
	return Library{
		SONAME: "libMIOpen.so.1",
		Source: `extern "C" {
int miopenAlpha_old(void) { return 1; }
int miopenAlpha(void) { return 2; }
int miopenOther(void) { return 3; }
}
__asm__(".symver miopenAlpha_old, miopenAlpha@MIOPEN_HIP_1");
`,
		Script: "MIOPEN_HIP_1 { global: miopenOther; };\nMIOPEN_HIP_2 { global: miopenAlpha; } MIOPEN_HIP_1;\nMIOPEN_CXX_1 { local: *; };\n",
	}
}

// Build builds the library in dir under the given file name and returns its path.
func (l Library) Build(t testing.TB, dir, name string) string {
	t.Helper()
	require.NoError(t, os.MkdirAll(dir, 0o755))
	scratch := t.TempDir()
	out := filepath.Join(dir, name)
	args := []string{"-x", "c++", "-shared", "-fPIC", "-O1", "-o", out, "-Wl,--build-id=sha1"}
	if l.SONAME != "" {
		args = append(args, "-Wl,-soname,"+l.SONAME)
	}
	if l.Script != "" {
		script := Write(t, filepath.Join(scratch, "script.map"), l.Script)
		args = append(args, "-Wl,--version-script="+script)
	}
	source := Write(t, filepath.Join(scratch, "library.cpp"), l.Source)
	args = append(args, source, "-x", "none")
	Compile(t, append(args, l.Flags...)...)
	return out
}

// Compile runs the C compiler: the variable CC, else cc.
func Compile(t testing.TB, args ...string) {
	t.Helper()
	if output, err := TryCompile(args...); err != nil {
		require.NoError(t, err, "cc %s\n%s", strings.Join(args, " "), output)
	}
}

// TryCompile is Compile for a compilation that may fail. It returns what the compiler printed.
func TryCompile(args ...string) (string, error) {
	cc := os.Getenv("CC")
	if cc == "" {
		cc = "cc"
	}
	output, err := exec.Command(cc, args...).CombinedOutput()
	return string(output), err
}

// Write writes a file, with the folders above it, and returns its path.
func Write(t testing.TB, path, content string) string {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(content), 0o644))
	return path
}

// WriteHeader writes the sample's header below dir/include and returns its path.
func WriteHeader(t testing.TB, dir string) string {
	t.Helper()
	return Write(t, filepath.Join(dir, "include", "miopen", "miopen.h"), Header)
}

// Run runs a program with variables added to an environment without LD_* and returns its output.
func Run(t testing.TB, env []string, program string, args ...string) string {
	t.Helper()
	output, err := TryRun(env, program, args...)
	require.NoError(t, err, "%s: %s", program, output)
	return output
}

// TryRun is Run for a program that may fail.
func TryRun(env []string, program string, args ...string) (string, error) {
	cmd := exec.Command(program, args...)
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "LD_") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	cmd.Env = append(cmd.Env, env...)
	output, err := cmd.CombinedOutput()
	return string(output), err
}

// StripSectionHeaders removes the section headers of an ELF64 file, as sstrip does: the loader still reads it.
func StripSectionHeaders(t testing.TB, path string) {
	t.Helper()
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	require.True(t, bytes.HasPrefix(content, []byte("\x7fELF")))
	clear(content[40:48]) // e_shoff
	clear(content[58:64]) // e_shentsize, e_shnum, e_shstrndx
	require.NoError(t, os.WriteFile(path, content, 0o755))
}
