package tracing_test

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

// What the tests run on comes from Bazel, which names each file in an environment variable, or is built here with
// build.sh, the C compiler and Go where the variables are not set.

// subject is what is tested.
type subject struct {
	stock, split string // directories
	tool         string
	programs     string // directory of what was built here, "" under Bazel
}

var (
	workshop string
	built    = sync.OnceValues(build)
)

func TestMain(m *testing.M) {
	code := m.Run()
	if workshop != "" {
		os.RemoveAll(workshop)
	}
	os.Exit(code)
}

func theSubject(t *testing.T) subject {
	t.Helper()
	s, err := built()
	require.NoError(t, err)
	return s
}

func build() (s subject, err error) {
	if os.Getenv("SHIM") != "" {
		if s.split, err = runfile.Dir("SHIM", "manifest.json"); err != nil {
			return s, err
		}
		stock, err := runfile.Path("STOCK")
		if err != nil {
			return s, err
		}
		s.stock = filepath.Dir(stock)
		s.tool, err = runfile.Path("TOOL")
		return s, err
	}
	if workshop, err = os.MkdirTemp("", "tracing"); err != nil {
		return s, err
	}
	s = subject{
		stock: filepath.Join(workshop, "stock"), split: filepath.Join(workshop, "split"),
		tool: filepath.Join(workshop, "miopen-shim"), programs: workshop,
	}
	for _, command := range [][]string{
		{"sh", "../refmiopen/build.sh", s.stock},
		{"go", "build", "-o", s.tool, "../../shim/cmd/miopen-shim"},
		{s.tool, "split", "--in", filepath.Join(s.stock, "libMIOpen.so.1"), "--out", s.split, "--header", "../refmiopen/include/miopen/miopen.h", "--quiet"},
	} {
		if err := runCommand(command); err != nil {
			return s, err
		}
	}
	return s, nil
}

type commandError struct {
	command []string
	err     error
	output  string
}

func (e *commandError) Error() string {
	return strings.Join(e.command, " ") + ": " + e.err.Error() + "\n" + e.output
}

func runCommand(command []string) error {
	out, err := exec.Command(command[0], command[1:]...).CombinedOutput()
	if err != nil {
		return &commandError{command, err, string(out)}
	}
	return nil
}

var compiling sync.Mutex

// program returns a program of the folder clients or of tests/clients, linked against the stock library.
func program(t *testing.T, name string) string {
	t.Helper()
	s := theSubject(t)
	if s.programs == "" {
		path, err := runfile.Path(strings.ToUpper(name))
		require.NoError(t, err)
		return path
	}
	compiling.Lock()
	defer compiling.Unlock()
	path := filepath.Join(s.programs, name)
	if _, err := os.Stat(path); err == nil {
		return path
	}
	source := filepath.Join("clients", name+".c")
	if _, err := os.Stat(source); err != nil {
		source = filepath.Join("..", "clients", name+".c")
	}
	cc := os.Getenv("CC")
	if cc == "" {
		cc = "cc"
	}
	command := []string{cc, "-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror", "-I../refmiopen/include", source, "-o", path, "-pthread"}
	if name == "dlhost" {
		command = append(command, "-ldl")
	} else {
		command = append(command, filepath.Join(s.stock, "libMIOpen.so.1"))
	}
	require.NoError(t, runCommand(command))
	return path
}
