package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/shim/exports/exportstest"
	"example.com/miopen_hipdnn_shim/shim/inspect"
	"example.com/miopen_hipdnn_shim/shim/split"
	"example.com/miopen_hipdnn_shim/shim/split/check"
)

// programVariable makes the test binary be the program, for tests that need a process of its own.
const programVariable = "MIOPEN_SHIM_TEST_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(programVariable) != "" {
		main()
	}
	os.Exit(m.Run())
}

// call runs the program in this process.
func call(t *testing.T, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, err bytes.Buffer
	status = run(t.Context(), args, environment{Stdout: &out, Stderr: &err})
	return status, out.String(), err.String()
}

func requireStatus(t *testing.T, want int, args ...string) (stdout, stderr string) {
	t.Helper()
	status, stdout, stderr := call(t, args...)
	require.Equal(t, want, status, "%s\n%s%s", strings.Join(args, " "), stdout, stderr)
	return stdout, stderr
}

func TestCommands(t *testing.T) {
	dir := t.TempDir()
	library := exportstest.Sample().Build(t, filepath.Join(dir, "stock"), "libMIOpen.so.1")
	header := exportstest.WriteHeader(t, dir)
	out := filepath.Join(dir, "out")

	stdout, stderr := requireStatus(t, 0, "split", "--in", library, "--out", out, "--header", header,
		"--runpath", "$ORIGIN/../a,b", "--runpath", "/opt/c", "--cc-flag=-O1", "--cc-flag=-Wl,-O1")
	require.Contains(t, stdout, "entry points")
	require.Empty(t, stderr)
	stdout, stderr = requireStatus(t, 0, "verify", "--stock", library, "--dir", out)
	require.Contains(t, stdout, "all hold")
	require.Empty(t, stderr)
	stdout, _ = requireStatus(t, 0, "verify", "--stock", library, "--dir", out, "--json")
	var report check.Report
	require.NoError(t, json.Unmarshal([]byte(stdout), &report))
	require.True(t, report.Holds())

	stdout, stderr = requireStatus(t, 0, "inspect", filepath.Join(out, "libMIOpen.so.1"), filepath.Join(out, "libMIOpen_private.so.1"))
	require.Contains(t, stdout, "$ORIGIN/../a,b:/opt/c")
	require.Contains(t, stdout, "libMIOpen_private.so.1 @ MIOPEN_HIP_2")
	require.Empty(t, stderr)
	stdout, _ = requireStatus(t, 0, "inspect", "--json", library)
	var reports []inspect.Report
	require.NoError(t, json.Unmarshal([]byte(stdout), &reports))
	require.Equal(t, "stock", reports[0].Form)

	// What the split's notes say goes to standard error.
	stdout, stderr = requireStatus(t, 0, "split", "--in", library, "--out", out)
	require.NotContains(t, stdout, "note")
	require.Contains(t, stderr, "no header was given")

	for _, args := range [][]string{{"version"}, {"--version"}} {
		stdout, _ = requireStatus(t, 0, args...)
		require.Equal(t, split.Version+"\n", stdout)
	}
}

func TestStatusDoesNotHold(t *testing.T) {
	dir := t.TempDir()
	library := exportstest.Sample().Build(t, filepath.Join(dir, "stock"), "libMIOpen.so.1")
	out := filepath.Join(dir, "out")
	requireStatus(t, 0, "split", "--in", library, "--out", out)

	link := filepath.Join(out, "libMIOpen.so")
	require.NoError(t, os.Remove(link))
	require.NoError(t, os.Symlink("libMIOpen_private.so.1", link))
	stdout, _ := requireStatus(t, 1, "verify", "--stock", library, "--dir", out)
	require.Contains(t, stdout, "libMIOpen.so leads to libMIOpen_private.so.1")
	require.Contains(t, stdout, "1 do not hold")
	stdout, _ = requireStatus(t, 1, "verify", "--stock", library, "--dir", out, "--json")
	require.Contains(t, stdout, "libMIOpen.so leads to libMIOpen_private.so.1")

	_, stderr := requireStatus(t, 1, "split", "--in", library, "--out", filepath.Join(dir, "x"), "--cc", "false")
	require.Contains(t, stderr, "exit status 1")
	_, stderr = requireStatus(t, 1, "split", "--in", filepath.Join(out, "libMIOpen.so.1"), "--out", filepath.Join(dir, "x"))
	require.Contains(t, stderr, "already split")
	needy := exportstest.Write(t, filepath.Join(dir, "needy.h"), "#include <hip/hip_types.h>\n"+exportstest.Header)
	include := filepath.Join(dir, "include")
	exportstest.Write(t, filepath.Join(include, "hip", "hip_types.h"), "typedef int hipType;\n")
	_, stderr = requireStatus(t, 1, "split", "--in", library, "--out", filepath.Join(dir, "x"), "--header", needy)
	require.Contains(t, stderr, "does not compile as C++: name the folders of the headers that it includes with --include")
	requireStatus(t, 0, "split", "--in", library, "--out", filepath.Join(dir, "x"), "--header", needy, "-I", include)
	requireStatus(t, 0, "split", "--in", library, "--out", filepath.Join(dir, "x"), "--header", needy, "--include", filepath.Join(dir, "none"),
		"--include", include)
	other := exportstest.Library{Source: `extern "C" int other(void) { return 1; }`, SONAME: "libother.so"}.Build(t, dir, "libother.so")
	_, stderr = requireStatus(t, 1, "split", "--in", other, "--out", filepath.Join(dir, "x"))
	require.Contains(t, stderr, "exports no function named miopen*")

	require.NoError(t, os.Remove(filepath.Join(out, "libMIOpen_private.so.1")))
	stdout, _ = requireStatus(t, 1, "inspect", filepath.Join(out, "libMIOpen.so.1"))
	require.Contains(t, stdout, "NOT FOUND")
}

func TestStatusUsage(t *testing.T) {
	dir := t.TempDir()
	library := exportstest.Sample().Build(t, filepath.Join(dir, "stock"), "libMIOpen.so.1")
	for _, args := range [][]string{
		{}, {"frobnicate"}, {"split"}, {"split", "--in", library}, {"split", "--in", library, "--out"}, {"verify", "--stock", library},
		{"inspect"}, {"split", "--in", library, "--out", dir, "--no-such-flag"}, {"split", "--in", library, "--out", dir, "extra"},
		{"split", "--in", library, "--out", filepath.Dir(library)}, // holds the input
	} {
		stdout, stderr := requireStatus(t, 2, args...)
		require.Empty(t, stdout, args)
		require.NotEmpty(t, stderr, args)
	}
}

func TestStatusUnreadable(t *testing.T) {
	dir := t.TempDir()
	library := exportstest.Sample().Build(t, filepath.Join(dir, "stock"), "libMIOpen.so.1")
	text := exportstest.Write(t, filepath.Join(dir, "text"), "text")
	none, out := filepath.Join(dir, "none"), filepath.Join(dir, "out")
	requireStatus(t, 0, "split", "--in", library, "--out", out)
	for _, args := range [][]string{
		{"split", "--in", none, "--out", filepath.Join(dir, "x")},
		{"split", "--in", text, "--out", filepath.Join(dir, "x")},
		{"split", "--in", dir, "--out", filepath.Join(dir, "x")},
		{"split", "--in", library, "--out", filepath.Join(dir, "x"), "--header", none},
		{"verify", "--stock", none, "--dir", out},
		{"verify", "--stock", text, "--dir", out},
		{"verify", "--stock", library, "--dir", none},
		{"verify", "--stock", library, "--dir", text},
		{"inspect", none},
		{"inspect", text},
	} {
		_, stderr := requireStatus(t, 3, args...)
		require.Contains(t, stderr, "miopen-shim: ", args)
		require.NotContains(t, stderr, "panic")
	}
	// What can be read is shown all the same.
	stdout, stderr := requireStatus(t, 3, "inspect", text, library, none)
	require.Contains(t, stdout, "MIOPEN_CXX_1")
	require.Contains(t, stderr, text)
	require.Contains(t, stderr, none)
}

func TestHelp(t *testing.T) {
	for _, args := range [][]string{{"-h"}, {"split", "-h"}, {"verify", "--help"}, {"inspect", "-h"}} {
		stdout, stderr := requireStatus(t, 0, args...)
		require.Contains(t, stdout, "Usage: miopen-shim")
		require.Empty(t, stderr)
	}
	stdout, _ := requireStatus(t, 0, "-h")
	require.Contains(t, stdout, "Exit status: 0")
	stdout, _ = requireStatus(t, 0, "split", "-h")
	for _, text := range []string{"--in=LIB", "--out=DIR", "--runpath=P", "--header=H", "--include=DIR", "--cc=CC", "--cc-flag=F", "manifest.json"} {
		require.Contains(t, stdout, text)
	}
}

func TestCompilerFromEnvironment(t *testing.T) {
	dir := t.TempDir()
	library := exportstest.Sample().Build(t, filepath.Join(dir, "stock"), "libMIOpen.so.1")
	var out, err bytes.Buffer
	args := []string{"split", "--in", library, "--out", filepath.Join(dir, "out")}
	require.Equal(t, 1, run(context.Background(), args, environment{Stdout: &out, Stderr: &err, CC: "/nonexistent/cc -m64"}))
	require.Contains(t, err.String(), `"/nonexistent/cc" "-m64"`)
	require.Equal(t, 0, run(context.Background(), args, environment{Stdout: &out, Stderr: &err, CC: "cc -m64"}))
	require.Equal(t, 0, run(context.Background(), append(args, "--cc", "cc"), environment{Stdout: &out, Stderr: &err, CC: "/nonexistent/cc"}))
}

// TestProcess runs the program as one, and interrupts it while the compiler works.
func TestProcess(t *testing.T) {
	dir := t.TempDir()
	library := exportstest.Sample().Build(t, filepath.Join(dir, "stock"), "libMIOpen.so.1")
	out := filepath.Join(dir, "result", "out")
	start := func(cc string) *exec.Cmd {
		cmd := exec.Command(os.Args[0], "split", "--in", library, "--out", out)
		cmd.Env = append(os.Environ(), programVariable+"=1", "CC="+cc)
		return cmd
	}
	require.NoError(t, start("cc").Run())
	before, err := os.ReadFile(filepath.Join(out, "manifest.json"))
	require.NoError(t, err)

	marker := filepath.Join(dir, "running")
	slow := exportstest.Write(t, filepath.Join(dir, "slow"), "#!/bin/sh\ntouch "+marker+"\nexec sleep 60\n")
	require.NoError(t, os.Chmod(slow, 0o755))
	cmd := start(slow)
	require.NoError(t, cmd.Start())
	require.Eventually(t, func() bool { _, err := os.Stat(marker); return err == nil }, 30*time.Second, 10*time.Millisecond)
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	require.Error(t, cmd.Wait())
	require.Equal(t, 1, cmd.ProcessState.ExitCode())
	after, err := os.ReadFile(filepath.Join(out, "manifest.json"))
	require.NoError(t, err)
	require.Equal(t, before, after)
	entries, err := os.ReadDir(filepath.Dir(out))
	require.NoError(t, err)
	require.Len(t, entries, 1, "no temporary folder is left")
}
