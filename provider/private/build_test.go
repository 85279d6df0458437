package private_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/provider/engine"
	"example.com/miopen_hipdnn_shim/provider/private"
	"example.com/miopen_hipdnn_shim/provider/private/privatetest"
	"example.com/miopen_hipdnn_shim/tests/runfile"
)

// The library that the tests run on is the plugin's table (provider/plugin/src/private_api.cpp) over
// the reference MIOpen as a private library, every entry point renamed. Bazel names it in
// PRIVATE_TABLE; otherwise it is built with the machine's compiler.
const variable = "PRIVATE_TABLE"

var built struct {
	sync.Once
	dir, file string
	err       error
}

func TestMain(m *testing.M) {
	code := m.Run()
	if built.dir != "" {
		os.RemoveAll(built.dir)
	}
	os.Exit(code)
}

func build() (string, error) {
	if os.Getenv(variable) != "" {
		return runfile.Path(variable)
	}
	dir, err := os.MkdirTemp("", "private")
	if err != nil {
		return "", err
	}
	built.dir = dir
	names, err := os.ReadFile("../../tests/refmiopen/exports-3.5.1.txt")
	if err != nil {
		return "", err
	}
	var macros bytes.Buffer
	for _, name := range strings.Fields(string(names)) {
		fmt.Fprintf(&macros, "#define %s %s_impl\n", name, name)
	}
	rename := filepath.Join(dir, "rename.h")
	if err := os.WriteFile(rename, macros.Bytes(), 0o644); err != nil {
		return "", err
	}
	cxx := os.Getenv("CXX")
	if cxx == "" {
		cxx = "c++"
	}
	file := filepath.Join(dir, "table.so")
	for _, command := range [][]string{
		{"sh", "../../tests/refmiopen/build.sh", dir, "--private", rename},
		{cxx, "-std=c++17", "-O1", "-fPIC", "-shared", "-I../..", "-I../../tests/refmiopen/include", "-DMIOPEN_BUILDING_PRIVATE", "-include", rename,
			"../plugin/src/private_api.cpp", "-o", file, "-Wl,-rpath," + dir, filepath.Join(dir, "libMIOpen_private.so.1")},
	} {
		if out, err := exec.Command(command[0], command[1:]...).CombinedOutput(); err != nil {
			return "", fmt.Errorf("%s: %w\n%s", strings.Join(command, " "), err, out)
		}
	}
	return file, nil
}

// table is the plugin's table over the reference library.
func table(t testing.TB) unsafe.Pointer {
	t.Helper()
	built.Do(func() { built.file, built.err = build() })
	require.NoError(t, built.err)
	p, err := privatetest.Table(built.file)
	require.NoError(t, err)
	return p
}

// library is the reference library as the engines see it.
func library(t testing.TB) engine.MIOpen {
	t.Helper()
	m, err := private.Open(table(t))
	require.NoError(t, err)
	return m
}
