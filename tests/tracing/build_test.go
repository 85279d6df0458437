package tracing_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/tests/runfile"
	"example.com/miopen_hipdnn_shim/tests/workshop"
)

// What the tests run on comes from Bazel, which names each file in an environment variable, or is built here with
// build.sh, the C compiler and Go where the variables are not set.

// subject is what is tested.
type subject struct {
	stock, split string // directories
	tool         string
}

func TestMain(m *testing.M) { workshop.Main(m) }

func theSubject(t *testing.T) subject {
	t.Helper()
	if os.Getenv("SHIM") != "" {
		split, err := runfile.Dir("SHIM", "manifest.json")
		require.NoError(t, err)
		return subject{stock: filepath.Dir(workshop.Named(t, "STOCK")), split: split, tool: workshop.Named(t, "TOOL")}
	}
	within := func(dir string) subject {
		return subject{stock: filepath.Join(dir, "stock"), split: filepath.Join(dir, "split"), tool: filepath.Join(dir, "miopen-shim")}
	}
	return within(workshop.Folder(t, "subject", func(dir string) {
		s := within(dir)
		workshop.Run(t, "sh", "../refmiopen/build.sh", s.stock)
		workshop.Run(t, "go", "build", "-o", s.tool, "../../shim/cmd/miopen-shim")
		workshop.Run(t, s.tool, "split", "--in", filepath.Join(s.stock, "libMIOpen.so.1"), "--out", s.split, "--header", "../refmiopen/include/miopen/miopen.h", "--quiet")
	}))
}

// program returns a program of the folder clients or of tests/clients, linked against the stock library.
func program(t *testing.T, name string) string {
	t.Helper()
	return workshop.File(t, strings.ToUpper(name), name, func(dir string) {
		source := filepath.Join("clients", name+".c")
		if _, err := os.Stat(source); err != nil {
			source = filepath.Join("..", "clients", name+".c")
		}
		library := "-ldl"
		if name != "dlhost" {
			library = filepath.Join(theSubject(t).stock, "libMIOpen.so.1")
		}
		workshop.Run(t, workshop.CC(), "-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror", "-I../refmiopen/include", source, "-o", filepath.Join(dir, name), "-pthread", library)
	})
}
