package private_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/provider/engine"
	"example.com/miopen_hipdnn_shim/provider/private"
	"example.com/miopen_hipdnn_shim/provider/private/privatetest"
	"example.com/miopen_hipdnn_shim/tests/workshop"
)

func TestMain(m *testing.M) { workshop.Main(m) }

// table is the plugin's table (provider/plugin/src/private_api.cpp) over the reference library, a private one with every entry
// point renamed.
func table(t testing.TB) unsafe.Pointer {
	t.Helper()
	p, err := privatetest.Table(workshop.File(t, "PRIVATE_TABLE", "table.so", func(dir string) {
		names, err := os.ReadFile("../../tests/refmiopen/exports-3.5.1.txt")
		require.NoError(t, err)
		var macros bytes.Buffer
		for _, name := range strings.Fields(string(names)) {
			fmt.Fprintf(&macros, "#define %s %s_impl\n", name, name)
		}
		rename := filepath.Join(dir, "rename.h")
		require.NoError(t, os.WriteFile(rename, macros.Bytes(), 0o644))
		workshop.Run(t, "sh", "../../tests/refmiopen/build.sh", dir, "--private", rename)
		workshop.Run(t, workshop.CXX(), "-std=c++17", "-O1", "-fPIC", "-shared", "-I../..", "-I../../tests/refmiopen/include", "-DMIOPEN_BUILDING_PRIVATE", "-include", rename,
			"../plugin/src/private_api.cpp", "-o", filepath.Join(dir, "table.so"), "-Wl,-rpath,"+dir, filepath.Join(dir, "libMIOpen_private.so.1"))
	}))
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
