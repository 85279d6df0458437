package refmiopen_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/tests/workshop"
)

// What the tests run on comes from Bazel, which names each file in an environment variable, or from
// build.sh and the C compiler where the variable is not set.

// built is one way of building the library.
type built struct {
	variable  string   // names the library's file under Bazel
	file      string   // the file that build.sh makes
	arguments []string // of build.sh
}

// The builds of the library: the current version, the one before it, and the current one with every
// entry point renamed at compile time.
var (
	current  = built{"REFMIOPEN", "libMIOpen.so.1", nil}
	previous = built{"REFMIOPEN_3_4", "libMIOpen.so.1", []string{"--version", "3.4.0"}}
	private  = built{"REFMIOPEN_PRIVATE", "libMIOpen_private.so.1", []string{"--private", "RENAME"}}
)

func TestMain(m *testing.M) { workshop.Main(m) }

// library returns the path of a build of the library.
func library(t *testing.T, b built) string {
	t.Helper()
	return workshop.File(t, b.variable, b.file, func(dir string) {
		arguments := append([]string{"build.sh", dir}, b.arguments...)
		if last := len(arguments) - 1; arguments[last] == "RENAME" {
			arguments[last] = renameHeader(t, dir)
		}
		workshop.Run(t, "sh", arguments...)
	})
}

// renameHeader writes the macros that turn a build into a private library's.
func renameHeader(t *testing.T, dir string) string {
	t.Helper()
	var b bytes.Buffer
	for _, name := range names(t, "exports-3.5.1.txt") {
		fmt.Fprintf(&b, "#define %s %s_impl\n", name, name)
	}
	path := filepath.Join(dir, "rename.h")
	require.NoError(t, os.WriteFile(path, b.Bytes(), 0o644))
	return path
}

// client returns a program from tests/clients or from driver, linked against the current library.
func client(t *testing.T, name string) string {
	t.Helper()
	lib := library(t, current)
	return workshop.File(t, strings.ToUpper(name), name, func(dir string) {
		sources, err := filepath.Glob("../clients/" + name + ".c*")
		require.NoError(t, err)
		if name == "convrun" || name == "operations" {
			sources = []string{"driver/" + name + ".c"}
		}
		require.Len(t, sources, 1)
		compile := []string{workshop.CC(), "-std=gnu11"}
		if strings.HasSuffix(sources[0], ".cpp") {
			compile = []string{workshop.CXX(), "-std=c++17", "-Isrc"}
		}
		compile = append(compile, "-O1", "-Wall", "-Wextra", "-Werror", "-Iinclude", sources[0], "-o", filepath.Join(dir, name), "-pthread", lib, "-ldl")
		workshop.Run(t, compile[0], compile[1:]...)
	})
}

// output is what a program left behind.
type output struct {
	stdout, stderr string
	exit           int
}

// run runs a program on the current library, with nothing in the environment that changes MIOpen.
func run(t *testing.T, stdin, program string, arguments ...string) output {
	t.Helper()
	return runWith(t, nil, stdin, program, arguments...)
}

// runWith runs a program with additional variables in its environment.
func runWith(t *testing.T, environment []string, stdin, program string, arguments ...string) output {
	t.Helper()
	cmd := exec.Command(program, arguments...)
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &stdout, &stderr
	for _, entry := range os.Environ() {
		if !strings.HasPrefix(entry, "MIOPEN_") && !strings.HasPrefix(entry, "LD_") {
			cmd.Env = append(cmd.Env, entry)
		}
	}
	cmd.Env = append(cmd.Env, "LD_LIBRARY_PATH="+filepath.Dir(library(t, current)))
	cmd.Env = append(cmd.Env, environment...)
	if err := cmd.Run(); err != nil {
		require.IsType(t, &exec.ExitError{}, err, "%s", program)
		require.True(t, cmd.ProcessState.Exited(), "%s: %v\n%s", program, err, stderr.String())
	}
	return output{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
}

// names reads a list of names, one a line.
func names(t *testing.T, file string) []string {
	t.Helper()
	list := strings.Fields(string(readFile(t, file)))
	require.NotEmpty(t, list)
	return list
}
