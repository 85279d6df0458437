package refmiopen_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/tests/runfile"
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

var workshop = struct {
	sync.Mutex
	dir  string
	done map[string]string // by variable
}{done: map[string]string{}}

func TestMain(m *testing.M) {
	code := m.Run()
	if workshop.dir != "" {
		os.RemoveAll(workshop.dir)
	}
	os.Exit(code)
}

// once returns the file that variable names, or the one that create makes in a directory of its own,
// which happens once in a test run.
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
		dir, err := os.MkdirTemp("", "refmiopen")
		require.NoError(t, err)
		workshop.dir = dir
	}
	if workshop.done[variable] == "" {
		dir := filepath.Join(workshop.dir, variable)
		require.NoError(t, os.MkdirAll(dir, 0o755))
		workshop.done[variable] = create(dir)
	}
	return workshop.done[variable]
}

// library returns the path of a build of the library.
func library(t *testing.T, b built) string {
	t.Helper()
	return once(t, b.variable, func(dir string) string {
		arguments := append([]string{"build.sh", dir}, b.arguments...)
		if last := len(arguments) - 1; arguments[last] == "RENAME" {
			arguments[last] = renameHeader(t, dir)
		}
		out, err := exec.Command("sh", arguments...).CombinedOutput()
		require.NoError(t, err, "sh %s:\n%s", strings.Join(arguments, " "), out)
		return filepath.Join(dir, b.file)
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
	return once(t, strings.ToUpper(name), func(dir string) string {
		sources, err := filepath.Glob("../clients/" + name + ".c*")
		require.NoError(t, err)
		if name == "convrun" || name == "operations" {
			sources = []string{"driver/" + name + ".c"}
		}
		require.Len(t, sources, 1)
		compile := []string{compiler("CC", "cc"), "-std=gnu11"}
		if strings.HasSuffix(sources[0], ".cpp") {
			compile = []string{compiler("CXX", "c++"), "-std=c++17", "-Isrc"}
		}
		program := filepath.Join(dir, name)
		compile = append(compile, "-O1", "-Wall", "-Wextra", "-Werror", "-Iinclude", sources[0], "-o", program, "-pthread", lib, "-ldl")
		out, err := exec.Command(compile[0], compile[1:]...).CombinedOutput()
		require.NoError(t, err, "%s:\n%s", strings.Join(compile, " "), out)
		return program
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

func compiler(variable, otherwise string) string {
	if c := os.Getenv(variable); c != "" {
		return c
	}
	return otherwise
}

// names reads a list of names, one a line.
func names(t *testing.T, file string) []string {
	t.Helper()
	list := strings.Fields(string(readFile(t, file)))
	require.NotEmpty(t, list)
	return list
}
