// Package workshop has the files that tests run on: Bazel names each in an environment variable, and where it does not, with
// plain `go test`, they are built with the machine's compilers, once in a run of a package's tests.
//
// It knows nothing of what is built.
package workshop

import (
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/tests/runfile"
)

// folder is where something is built.
type folder struct {
	sync.Once
	made bool
}

var shop struct {
	dir string // "" outside of Main
	sync.Mutex
	folders map[string]*folder
}

// Main runs a package's tests, removes what was built for them and ends the process. It is the package's TestMain.
func Main(m *testing.M) {
	dir, err := os.MkdirTemp("", "workshop-")
	if err != nil {
		panic(err)
	}
	shop.dir, shop.folders = dir, map[string]*folder{}
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// Named is the path of the file that Bazel names in the variable, "" if that is not set.
func Named(t testing.TB, variable string) string {
	t.Helper()
	if os.Getenv(variable) == "" {
		return ""
	}
	path, err := runfile.Path(variable)
	require.NoError(t, err)
	return path
}

// Folder is a folder in which build was called by whoever wanted it first; others wait for that. It fails all of them if the
// build failed. A build may want other folders.
func Folder(t testing.TB, name string, build func(dir string)) string {
	t.Helper()
	require.NotEmpty(t, shop.dir, "TestMain has to call workshop.Main")
	shop.Lock()
	f := shop.folders[name]
	if f == nil {
		f = &folder{}
		shop.folders[name] = f
	}
	shop.Unlock()
	dir := filepath.Join(shop.dir, name)
	f.Do(func() {
		require.NoError(t, os.Mkdir(dir, 0o755))
		build(dir)
		f.made = true
	})
	require.True(t, f.made, "%s was not built, see the first failure", name)
	return dir
}

// File is the file that Bazel names in the variable, or if that is not set the file of that name in the variable's Folder.
func File(t testing.TB, variable, name string, build func(dir string)) string {
	t.Helper()
	if path := Named(t, variable); path != "" {
		return path
	}
	return filepath.Join(Folder(t, variable, build), name)
}

// Run runs a command and returns what it printed. It fails the test if the command fails.
func Run(t testing.TB, command string, arguments ...string) string {
	t.Helper()
	cmd := exec.Command(command, arguments...)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%v:\n%s", cmd, out)
	return string(out)
}

// CC is the command of the C compiler.
func CC() string { return compiler("CC", "cc") }

// CXX is the command of the C++ compiler.
func CXX() string { return compiler("CXX", "c++") }

func compiler(variable, otherwise string) string {
	if c := os.Getenv(variable); c != "" {
		return c
	}
	return otherwise
}

// Copy copies a library or a program to where it is as if installed, no link, and returns that path.
func Copy(t testing.TB, from, to string) string {
	t.Helper()
	data, err := os.ReadFile(from)
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(filepath.Dir(to), 0o755))
	require.NoError(t, os.WriteFile(to, data, 0o755))
	return to
}
