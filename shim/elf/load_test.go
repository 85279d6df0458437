package elf_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/shim/elf"
)

// compiler is the C compiler of the machine.
func compiler(t testing.TB) string {
	t.Helper()
	if cc := os.Getenv("CC"); cc != "" {
		return cc
	}
	for _, name := range []string{"cc", "gcc", "clang"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	require.Fail(t, "no C compiler: set CC")
	return ""
}

func compile(t testing.TB, args ...string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "built")
	msg, err := exec.Command(compiler(t), append([]string{"-o", out}, args...)...).CombinedOutput()
	require.NoError(t, err, "%s", msg)
	return out
}

// run runs a program and gives its exit status and what it said.
func run(t testing.TB, env []string, program string, args ...string) (int, string) {
	t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		require.NoError(t, err)
	}
	return cmd.ProcessState.ExitCode(), string(out)
}

func hostProgram(t testing.TB) string {
	return compile(t, "testdata/src/host.c", "-rdynamic", "-ldl")
}

// loadable are the fixtures with everything in them, from every linker. Not
// among them are DT_RELR from lld 14 and mold 1.10, which do not ask for the
// version GLIBC_ABI_DT_RELR, without which glibc refuses to load DT_RELR.
func loadable(t testing.TB) []string {
	return slices.DeleteFunc(fixtures(t), func(p string) bool {
		switch name := filepath.Base(p); name {
		case "lld-relr.so", "mold-relr.so", "lld-rodynamic.so", "bfd-imports.so":
			return true
		default:
			return strings.Contains(name, "bare")
		}
	})
}

// refusesRELR says that this machine's loader is older than DT_RELR (glibc
// 2.36), and holds that it then refuses all of the objects.
func refusesRELR(t *testing.T, host, stock string, edited ...string) bool {
	t.Helper()
	code, msg := run(t, nil, host, abs(t, stock), "", versionsArg(stock))
	if code != 2 || !strings.Contains(stock, "relr") {
		return false
	}
	require.Contains(t, msg, "DT_RELR")
	for _, path := range edited {
		code, msg := run(t, nil, host, abs(t, path), suffix, versionsArg(stock))
		require.Equal(t, 2, code)
		require.Contains(t, msg, "DT_RELR")
	}
	return true
}

func versionsArg(path string) string {
	if strings.Contains(path, "noversion") {
		return "none"
	}
	return "versions"
}

// checkLoads holds that host finds everything in stock, and in the renamed
// object under the new names only.
func checkLoads(t *testing.T, host, stock, renamed string) {
	t.Helper()
	if refusesRELR(t, host, stock, renamed) {
		return
	}
	code, msg := run(t, nil, host, abs(t, stock), "", versionsArg(stock))
	require.Zero(t, code, "stock: %s", msg)
	code, msg = run(t, nil, host, abs(t, renamed), suffix, versionsArg(stock))
	require.Zero(t, code, "renamed: %s", msg)

	// The controls: each object fails what the other has to pass.
	code, _ = run(t, nil, host, abs(t, renamed), "", versionsArg(stock))
	require.Equal(t, 1, code, "the renamed object passed for a stock one")
	code, _ = run(t, nil, host, abs(t, stock), suffix, versionsArg(stock))
	require.Equal(t, 1, code, "the stock object passed for a renamed one")
}

func abs(t testing.TB, path string) string {
	t.Helper()
	a, err := filepath.Abs(path)
	require.NoError(t, err)
	return a
}

func TestRenamedFixturesLoadAndWork(t *testing.T) {
	host := hostProgram(t)
	for _, path := range loadable(t) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			out, _ := rewrite(t, path, elf.Edit{
				Rename: renameAll(t, path), SONAME: "libfixture_private.so.1", RunPath: pointer("$ORIGIN/somewhere"),
			})
			checkLoads(t, host, path, out)

			// Once more on top, so that a tail that has grown twice runs, too.
			again, _ := rewrite(t, out, elf.Edit{SONAME: "libfixture_renamed_again.so.1", RunPath: pointer("/opt/x")})
			checkLoads(t, host, path, again)
		})
	}
}

func TestObjectsWithoutSectionHeadersLoadAndWork(t *testing.T) {
	host := hostProgram(t)
	for _, path := range loadable(t) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			bare := write(t, dropSections(t, read(t, path)))
			out, _ := rewrite(t, bare, elf.Edit{
				Rename: renameAll(t, path), SONAME: "libfixture_private.so.1", RunPath: pointer("$ORIGIN/somewhere"),
			})
			if refusesRELR(t, host, path, out) {
				return
			}
			code, msg := run(t, nil, host, bare, "", versionsArg(path))
			require.Zero(t, code, msg)
			code, msg = run(t, nil, host, out, suffix, versionsArg(path))
			require.Zero(t, code, msg)
		})
	}
}

// strip lays the file out again from its section headers: they have to tell
// the truth about the tail.
func TestStripOfTheOutputStillLoads(t *testing.T) {
	strip, err := exec.LookPath("strip")
	require.NoError(t, err, "strip comes with every compiler's binutils")
	host := hostProgram(t)
	for _, path := range loadable(t) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			stripped := filepath.Join(t.TempDir(), "stripped.so")
			if refusesRELR(t, host, path) {
				return
			}
			// Control: an object that this strip breaks by itself proves nothing.
			msg, err := exec.Command(strip, "-o", stripped, path).CombinedOutput()
			require.NoError(t, err, "the stock object: %s", msg)
			code, text := run(t, nil, host, stripped, "", versionsArg(path))
			require.Zero(t, code, "the stock object: %s", text)

			out, _ := rewrite(t, path, elf.Edit{Rename: renameAll(t, path), SONAME: "libfixture_private.so.1"})
			msg, err = exec.Command(strip, "-o", stripped, out).CombinedOutput()
			require.NoError(t, err, "%s", msg)
			code, text = run(t, nil, host, stripped, suffix, versionsArg(path))
			require.Zero(t, code, text)
		})
	}
}

// A program that was linked against the stock object runs with an object whose
// SONAME and RUNPATH changed, and does not start with one that was renamed.
func TestLinkedProgram(t *testing.T) {
	for _, linker := range []string{"bfd", "lld", "mold"} {
		t.Run(linker, func(t *testing.T) {
			dir := t.TempDir()
			lib := filepath.Join(dir, "libfixture.so.1")
			stock := fixture(linker + "-both")
			require.NoError(t, os.WriteFile(lib, read(t, stock), 0o755))
			program := compile(t, "testdata/src/program.c", lib, "-Wl,-rpath,"+dir)
			code, msg := run(t, nil, program)
			require.Zero(t, code, msg)

			_, err := elf.Rewrite(stock, lib, elf.Edit{SONAME: "libfixture.so.1", RunPath: pointer("$ORIGIN")})
			require.NoError(t, err)
			code, msg = run(t, nil, program)
			require.Zero(t, code, msg)

			_, err = elf.Rewrite(stock, lib, elf.Edit{Rename: renameAll(t, stock)})
			require.NoError(t, err)
			code, msg = run(t, []string{"LD_BIND_NOW=1"}, program)
			require.NotZero(t, code)
			require.Contains(t, msg, "fx_answer")
		})
	}
}

// The loader aborts when a version requirement names a file that is not
// needed, so vn_file has to follow DT_NEEDED.
func TestNeededFollowsIntoVersionRequirements(t *testing.T) {
	dir := t.TempDir()
	stock := fixture("bfd-both")
	lib := filepath.Join(dir, "libfixture.so.1")
	require.NoError(t, os.WriteFile(lib, read(t, stock), 0o755))
	program := compile(t, "testdata/src/program.c", lib, "-pie", "-fPIE", "-Wl,-rpath,"+dir, "-Wl,-z,now")

	// The program, which is an ET_DYN, too, now wants another file.
	const other = "libfixture_under_another_name.so.1"
	moved := filepath.Join(dir, "program")
	_, err := elf.Rewrite(program, moved, elf.Edit{Needed: map[string]string{"libfixture.so.1": other}})
	require.NoError(t, err)
	require.NoError(t, os.Remove(lib))
	code, _ := run(t, nil, moved)
	require.NotZero(t, code, "the other library is not there yet")

	_, err = elf.Rewrite(stock, filepath.Join(dir, other), elf.Edit{SONAME: other})
	require.NoError(t, err)
	code, msg := run(t, nil, moved)
	require.Zero(t, code, msg)
}

func TestAddedNeededIsLoaded(t *testing.T) {
	for _, linker := range []string{"bfd", "lld", "mold"} {
		dir := t.TempDir()
		stock := fixture(linker + "-gnu")
		_, err := elf.Rewrite(stock, filepath.Join(dir, "libextra.so.1"), elf.Edit{SONAME: "libextra.so.1"})
		require.NoError(t, err)
		out, _ := rewrite(t, stock, elf.Edit{Rename: renameAll(t, stock), SONAME: "libfirst.so.1", AddNeeded: []string{"libextra.so.1"}, RunPath: pointer(dir)})
		host := hostProgram(t)
		code, msg := run(t, []string{"LD_DEBUG=files"}, host, out, suffix, "versions")
		// The old names come from the added library now, so host complains of
		// each; what counts here is that the library was found and loaded.
		require.Equal(t, 1, code)
		require.Contains(t, msg, filepath.Join(dir, "libextra.so.1"))
	}
}

// What this machine's compiler makes, with debug information and start files.
func TestLocallyCompiledLibrary(t *testing.T) {
	host := hostProgram(t)
	for _, flags := range [][]string{
		{"-g", "-O0"},
		{"-O2", "-Wl,-z,now", "-Wl,--hash-style=both"},
		{"-O2", "-Wl,-z,lazy", "-Wl,--hash-style=sysv", "-Wl,-z,norelro"},
		{"-O2", "-nostartfiles", "-s"},
	} {
		lib := compile(t, append([]string{"-shared", "-fPIC", "testdata/src/fixture.c", "-Wl,--version-script=testdata/src/fixture.map"}, flags...)...)
		// It has no SONAME; one is added.
		out, _ := rewrite(t, lib, elf.Edit{
			Rename: renameAll(t, lib), SONAME: "libfixture_private.so.1", RunPath: pointer("$ORIGIN/somewhere"),
		})
		require.Equal(t, []string{"libfixture_private.so.1"}, readIdentity(t, out).soname)
		checkLoads(t, host, lib, out)
	}
}

// Calls through the PLT of a library that was renamed go to its own function,
// also with a C++ library and exceptions that pass through it.
func TestCxxLibrary(t *testing.T) {
	lib := compile(t, "-shared", "-fPIC", "testdata/src/cxx.cc", "-lstdc++")
	host := compile(t, "testdata/src/cxxhost.cc", "-ldl", "-lstdc++")
	names := map[string]string{"cx_call": "cx_call" + suffix, "cx_throw": "cx_throw" + suffix}
	code, msg := run(t, nil, host, lib, "")
	require.Zero(t, code, msg)
	out, _ := rewrite(t, lib, elf.Edit{Rename: names})
	code, msg = run(t, nil, host, out, suffix)
	require.Zero(t, code, msg)
	code, _ = run(t, nil, host, out, "")
	require.NotZero(t, code)
}
