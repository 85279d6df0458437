package refhipdnn_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/tests/workshop"
)

// What the tests run on comes from Bazel, which names each file in an environment variable, or from
// build.sh where the variable is not set.

func TestMain(m *testing.M) { workshop.Main(m) }

func built(t *testing.T, variable, file string) string {
	t.Helper()
	if path := workshop.Named(t, variable); path != "" {
		return path
	}
	return filepath.Join(workshop.Folder(t, "refhipdnn", func(dir string) {
		require.Empty(t, workshop.Run(t, "sh", "build.sh", dir), "build.sh has warnings")
	}), file)
}

func library(t *testing.T) string { return built(t, "REFHIPDNN", "libhipdnn_backend.so") }
func driver(t *testing.T) string  { return built(t, "REFDRIVER", "refdriver") }

// pluginDir is a directory with a copy of the test plugin under each of the names: a plugin has to be
// a regular file, and Bazel's are links.
func pluginDir(t *testing.T, names ...string) string {
	t.Helper()
	data, err := os.ReadFile(built(t, "TESTPLUGIN", "testplugin.so"))
	require.NoError(t, err)
	dir := t.TempDir()
	for _, name := range names {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), data, 0o755))
	}
	return dir
}

// report is what the library writes at exit.
type report struct {
	Version string
	Calls   map[string]struct{ Count, Failed int }
	Objects map[string]struct{ Created, Live, Most int }
	Plans   map[string]int
	// Executions by engine.
	Executions      map[string]int
	ExecutionErrors []string `json:"execution_errors"`
	Misuse          []string
	Failures        []struct {
		Function, Text string
		Status         int
		Injected       bool
	}
}

// live lists the kinds of objects that were left.
func (r report) live() map[string]int {
	out := map[string]int{}
	for kind, o := range r.Objects {
		if o.Live != 0 {
			out[kind] = o.Live
		}
	}
	return out
}

type result struct {
	out    string
	stderr string
	exit   int
	report report
}

// run runs the driver on the library, with only the given variables of this project's and hipDNN's in
// the environment.
func run(t *testing.T, environment []string, stdin string, arguments ...string) result {
	t.Helper()
	path := filepath.Join(t.TempDir(), "report.json")
	cmd := exec.Command(driver(t), append([]string{library(t)}, arguments...)...)
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &stdout, &stderr
	for _, entry := range os.Environ() {
		if !strings.HasPrefix(entry, "REFHIPDNN") && !strings.HasPrefix(entry, "HIPDNN_") && !strings.HasPrefix(entry, "LD_") {
			cmd.Env = append(cmd.Env, entry)
		}
	}
	cmd.Env = append(append(cmd.Env, environment...), "REFHIPDNN_REPORT="+path)
	timer := time.AfterFunc(2*time.Minute, func() { cmd.Process.Kill() })
	defer timer.Stop()
	if err := cmd.Run(); err != nil {
		require.IsType(t, &exec.ExitError{}, err)
		require.True(t, cmd.ProcessState.Exited(), "%v: %v\n%s%s", arguments, err, stdout.String(), stderr.String())
	}
	r := result{out: stdout.String(), stderr: stderr.String(), exit: cmd.ProcessState.ExitCode()}
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, &r.report), "%s", data)
	return r
}
