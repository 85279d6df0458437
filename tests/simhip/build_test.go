package simhip_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/tests/workshop"
)

// What the tests run on comes from Bazel, which names each file in an environment variable. By hand, SIMHIP_LIBRARY may
// name a library that was built before; otherwise the machine's compiler builds it, which takes a minute.

func TestMain(m *testing.M) { workshop.Main(m) }

func compile(t *testing.T, args ...string) {
	t.Helper()
	workshop.Run(t, workshop.CXX(), append([]string{"-std=c++17", "-Iinclude"}, args...)...)
}

// library returns the path of libamdhip64.so.7.
func library(t *testing.T) string {
	t.Helper()
	return workshop.File(t, "SIMHIP_LIBRARY", "libamdhip64.so.7", func(dir string) {
		path := build(t, dir, "libamdhip64.so.7")
		compile(t, "-fPIC", "-shared", "unversioned/unversioned.cpp", path, "-o", filepath.Join(dir, "libamdhip64.so"),
			"-Wl,-soname,libamdhip64.so", "-Wl,-rpath,$ORIGIN")
	})
}

// previous returns the path of libamdhip64.so.6.
func previous(t *testing.T) string {
	t.Helper()
	return workshop.File(t, "SIMHIP_LIBRARY_6", "libamdhip64.so.6", func(dir string) { build(t, dir, "libamdhip64.so.6") })
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
	return workshop.File(t, "SCENARIOS", "scenarios", func(dir string) { client(t, dir, lib) })
}

// previousScenarios returns the path of the client that was linked against libamdhip64.so.6.
func previousScenarios(t *testing.T) string {
	t.Helper()
	lib := previous(t)
	return workshop.File(t, "SCENARIOS_6", "scenarios", func(dir string) { client(t, dir, lib) })
}

func client(t *testing.T, dir, lib string) {
	t.Helper()
	compile(t, "-O1", "-Wall", "-Wextra", "-Werror", "clients/scenarios.cpp", "-o", filepath.Join(dir, "scenarios"), lib, "-pthread", "-ldl")
}
