package plugin_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/tests/workshop"
)

// What the tests run on comes from Bazel, which names each file in an environment variable, or is built here where the
// variable is not set.

func TestMain(m *testing.M) { workshop.Main(m) }

func compile(t testing.TB, arguments ...string) {
	t.Helper()
	workshop.Run(t, workshop.CC(), append([]string{"-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror", "-I../.."}, arguments...)...)
}

// split is the reference MIOpen in two parts.
func split(t testing.TB) string {
	return filepath.Join(workshop.Folder(t, "reference", func(dir string) {
		stock := filepath.Join(dir, "stock")
		workshop.Run(t, "sh", "../../tests/refmiopen/build.sh", stock)
		workshop.Run(t, "go", "run", "../../shim/cmd/miopen-shim", "split", "--quiet", "--in", filepath.Join(stock, "libMIOpen.so.1"), "--out", filepath.Join(dir, "split"))
	}), "split")
}

func privateLibrary(t testing.TB) string {
	if path := workshop.Named(t, "PRIVATE_LIBRARY"); path != "" {
		return path
	}
	return filepath.Join(split(t), "libMIOpen_private.so.1")
}

func pluginFile(t testing.TB) string {
	return workshop.File(t, "PLUGIN", "hipdnn_plugins/engines/libmiopen_private_plugin.so", func(dir string) {
		workshop.Run(t, "sh", "build.sh", dir, split(t), "../../tests/refmiopen/include")
	})
}

// forwardingLibrary is the one with Go in it.
func forwardingLibrary(t testing.TB) string {
	return workshop.File(t, "MIOPEN_HIPDNN_LIBRARY", "libmiopen_hipdnn.so.1", func(dir string) {
		workshop.Run(t, "sh", "../lib/build.sh", dir)
	})
}

// toldLibrary is one in its place that says what it is asked.
func toldLibrary(t testing.TB) string {
	return workshop.File(t, "TOLD_LIBRARY", "libmiopen_hipdnn.so.1", func(dir string) {
		compile(t, "-fPIC", "-shared", "testdata/library.c", "-Wl,-soname,libmiopen_hipdnn.so.1", "-Wl,--build-id", "-o", filepath.Join(dir, "libmiopen_hipdnn.so.1"))
	})
}

func hostProgram(t testing.TB) string {
	return workshop.File(t, "HOST", "host", func(dir string) {
		compile(t, "testdata/host.c", "-o", filepath.Join(dir, "host"), "-rdynamic", "-pthread", "-ldl")
	})
}

// installed is a directory with the plugin where hipDNN looks for it, and the libraries where the plugin does.
type installed string

func (i installed) plugin() string {
	return filepath.Join(string(i), "hipdnn_plugins", "engines", "libmiopen_private_plugin.so")
}

func (i installed) library() string { return filepath.Join(string(i), "libmiopen_hipdnn.so.1") }

// install makes one; without a library if that is "".
func install(t testing.TB, library string) installed {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	i := installed(dir)
	workshop.Copy(t, pluginFile(t), i.plugin())
	workshop.Copy(t, privateLibrary(t), filepath.Join(dir, "libMIOpen_private.so.1"))
	if library != "" {
		workshop.Copy(t, library, i.library())
	}
	return i
}

// scene is a process of the host program.
type scene struct {
	environment []string
	dir         string // where it runs, and finds files that lines name
}

// play runs lines and returns what was printed before the last one, "end".
func (s scene) play(t testing.TB, lines ...string) string {
	t.Helper()
	cmd := exec.Command(hostProgram(t))
	cmd.Dir = s.dir
	cmd.Stdin = strings.NewReader(strings.Join(lines, "\n") + "\n")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	for _, entry := range os.Environ() {
		if !strings.HasPrefix(entry, "MIOPEN_") && !strings.HasPrefix(entry, "HIPDNN_") && !strings.HasPrefix(entry, "LD_") {
			cmd.Env = append(cmd.Env, entry)
		}
	}
	cmd.Env = append(cmd.Env, s.environment...)
	kill := time.AfterFunc(2*time.Minute, func() { _ = cmd.Process.Kill() })
	defer kill.Stop()
	err := cmd.Run()
	require.NoError(t, err, "stdout:\n%s\nstderr:\n%s", stdout.String(), stderr.String())
	require.Empty(t, stderr.String(), "a plugin does not write to the host's standard error")
	out, ok := strings.CutSuffix(stdout.String(), "end\n")
	require.True(t, ok, "%s", stdout.String())
	return out
}
