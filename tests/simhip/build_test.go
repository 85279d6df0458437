package simhip_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/tests/runfile"
)

// What the tests run on comes from Bazel, which names each file in an environment variable. By hand, SIMHIP_LIBRARY may
// name a library that was built before; otherwise the machine's compiler builds it, which takes a minute.

var workshop struct {
	sync.Mutex
	dir  string
	done map[string]string
}

func TestMain(m *testing.M) {
	code := m.Run()
	if workshop.dir != "" {
		os.RemoveAll(workshop.dir)
	}
	os.Exit(code)
}

// once returns the file that the variable names, or the one that create makes, which happens once in a test run.
func once(t *testing.T, variable string, create func(dir string) string) string {
	t.Helper()
	if os.Getenv(variable) != "" {
		path, err := runfile.Path(variable)
		require.NoError(t, err)
		return path
	}
	workshop.Lock()
	defer workshop.Unlock()
	if workshop.dir == "" {
		dir, err := os.MkdirTemp("", "simhip")
		require.NoError(t, err)
		workshop.dir, workshop.done = dir, map[string]string{}
	}
	if workshop.done[variable] == "" {
		dir := filepath.Join(workshop.dir, variable)
		require.NoError(t, os.MkdirAll(dir, 0o755))
		workshop.done[variable] = create(dir)
	}
	return workshop.done[variable]
}

func compiler() string {
	if c := os.Getenv("CXX"); c != "" {
		return c
	}
	return "c++"
}

func compile(t *testing.T, args ...string) {
	t.Helper()
	out, err := exec.Command(compiler(), append([]string{"-std=c++17", "-Iinclude"}, args...)...).CombinedOutput()
	require.NoError(t, err, "%s %s:\n%s", compiler(), strings.Join(args, " "), out)
}

// library returns the path of libamdhip64.so.7.
func library(t *testing.T) string {
	t.Helper()
	return once(t, "SIMHIP_LIBRARY", func(dir string) string {
		path := build(t, dir, "libamdhip64.so.7")
		compile(t, "-fPIC", "-shared", "unversioned/unversioned.cpp", path, "-o", filepath.Join(dir, "libamdhip64.so"),
			"-Wl,-soname,libamdhip64.so", "-Wl,-rpath,$ORIGIN")
		return path
	})
}

// previous returns the path of libamdhip64.so.6.
func previous(t *testing.T) string {
	t.Helper()
	return once(t, "SIMHIP_LIBRARY_6", func(dir string) string { return build(t, dir, "libamdhip64.so.6") })
}

func build(t *testing.T, dir, soname string) string {
	t.Helper()
	var sources []string
	for _, pattern := range []string{"src/*.cpp", "src/kernels/*.cpp", "src/isa/*.cpp"} {
		found, err := filepath.Glob(pattern)
		require.NoError(t, err)
		sources = append(sources, found...)
	}
	path := filepath.Join(dir, soname)
	compile(t, append([]string{"-O1", "-fPIC", "-fvisibility=hidden", "-fvisibility-inlines-hidden", "-Isrc", "-shared",
		"-o", path, "-Wl,-soname," + soname, "-Wl,--version-script=libamdhip64.map", "-Wl,-z,nodelete", "-Wl,-z,now",
		"-Wl,--no-undefined", "-static-libstdc++", "-static-libgcc", "-pthread", "-ldl"}, sources...)...)
	return path
}

// scenarios returns the path of the client.
func scenarios(t *testing.T) string {
	t.Helper()
	lib := library(t)
	return once(t, "SCENARIOS", func(dir string) string { return client(t, dir, lib) })
}

// previousScenarios returns the path of the client that was linked against libamdhip64.so.6.
func previousScenarios(t *testing.T) string {
	t.Helper()
	lib := previous(t)
	return once(t, "SCENARIOS_6", func(dir string) string { return client(t, dir, lib) })
}

func client(t *testing.T, dir, lib string) string {
	t.Helper()
	path := filepath.Join(dir, "scenarios")
	compile(t, "-O1", "-Wall", "-Wextra", "-Werror", "clients/scenarios.cpp", "-o", path, lib, "-pthread", "-ldl")
	return path
}
