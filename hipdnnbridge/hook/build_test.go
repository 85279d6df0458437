package hook_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/tests/runfile"
)

// The tests drive the forwarding library as the wrapper does, through testdata/host.c. What they run
// on comes from Bazel, which names each file in an environment variable, or is built here where the
// variable is not set.

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

// once returns the file that variable names, if it is set, or the one that create makes in a directory
// of its own, which happens once in a test run.
func once(t testing.TB, variable string, create func(dir string) string) string {
	t.Helper()
	if os.Getenv(variable) != "" {
		path, err := runfile.Path(variable)
		require.NoError(t, err)
		return path
	}
	workshop.Lock()
	defer workshop.Unlock()
	if workshop.dir == "" {
		dir, err := os.MkdirTemp("", "hook")
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

func compiler(variable, otherwise string) string {
	if c := os.Getenv(variable); c != "" {
		return c
	}
	return otherwise
}

func build(t testing.TB, command string, arguments ...string) {
	t.Helper()
	cmd := exec.Command(command, arguments...)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%v:\n%s", cmd, out)
}

func compile(t testing.TB, arguments ...string) {
	t.Helper()
	build(t, compiler("CC", "cc"), append([]string{"-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror"}, arguments...)...)
}

// bridge returns libmiopen_hipdnn.so.1.
func bridge(t testing.TB) string {
	return once(t, "MIOPEN_HIPDNN_LIBRARY", func(dir string) string {
		library := filepath.Join(dir, "libmiopen_hipdnn.so.1")
		build(t, "sh", "../../provider/lib/build.sh", dir)
		return library
	})
}

func hostProgram(t testing.TB) string {
	return once(t, "HOST", func(dir string) string {
		out := filepath.Join(dir, "host")
		compile(t, "-I../..", "testdata/host.c", "-o", out, "-pthread", "-ldl", "-lm")
		return out
	})
}

// privateLibrary returns a library that depends on no HIP run time.
func privateLibrary(t testing.TB) string {
	return once(t, "PRIVATE_LIBRARY", func(dir string) string {
		out := filepath.Join(dir, "libprivate.so")
		compile(t, "-fPIC", "-shared", "testdata/private.c", "-o", out)
		return out
	})
}

// nullBackend returns a backend that does nothing.
func nullBackend(t testing.TB) string {
	return once(t, "NULL_BACKEND", func(dir string) string {
		out := filepath.Join(dir, "libhipdnn_backend.so")
		compile(t, "-fPIC", "-shared", "testdata/backend.c", "-o", out)
		return out
	})
}

// reference returns the reference backend, tests/refhipdnn.
func reference(t testing.TB) string {
	return once(t, "REFHIPDNN", func(dir string) string {
		build(t, "sh", "../../tests/refhipdnn/build.sh", dir)
		return filepath.Join(dir, "libhipdnn_backend.so")
	})
}

// testPlugin returns a plugin of the reference backend.
func testPlugin(t testing.TB) string {
	return once(t, "TESTPLUGIN", func(dir string) string {
		build(t, "sh", "../../tests/refhipdnn/build.sh", dir)
		return filepath.Join(dir, "testplugin.so")
	})
}

// copyFile copies a library, as it is installed: no link.
func copyFile(t testing.TB, from, to string) string {
	t.Helper()
	data, err := os.ReadFile(from)
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(filepath.Dir(to), 0o755))
	require.NoError(t, os.WriteFile(to, data, 0o755))
	return to
}

// scene is a process of the host program.
type scene struct {
	backend     string // library; "" leaves the search to the bridge
	bridge      string // library; "" is the one that was built
	private     string // library; "" is privateLibrary
	wrapper     string // path that the host says it is; "" is one where nothing is
	environment []string
}

// output is what a process left behind.
type output struct {
	stdout, stderr []string
	report         report
}

// report is what the reference backend writes at exit.
type report struct {
	Calls map[string]struct {
		Count, Failed int
	}
	Objects map[string]struct {
		Created, Live int
	}
	Plans           struct{ Built int }
	Executions      map[string]int
	ExecutionErrors []any `json:"execution_errors"`
	Misuse          []any
}

// play runs the host program with lines on its standard input.
func (s scene) play(t testing.TB, lines ...string) output {
	t.Helper()
	private, wrapper := s.private, s.wrapper
	if private == "" {
		private = privateLibrary(t)
	}
	if wrapper == "" {
		wrapper = filepath.Join(t.TempDir(), "libMIOpen.so.1")
	}
	library := s.bridge
	if library == "" {
		library = bridge(t)
	}
	reportFile := filepath.Join(t.TempDir(), "report.json")
	cmd := exec.Command(hostProgram(t), library, wrapper, private)
	cmd.Stdin = strings.NewReader(strings.Join(lines, "\n") + "\n")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	for _, entry := range os.Environ() {
		if !strings.HasPrefix(entry, "MIOPEN_") && !strings.HasPrefix(entry, "HIPDNN_") &&
			!strings.HasPrefix(entry, "REFHIPDNN_") && !strings.HasPrefix(entry, "LD_") {
			cmd.Env = append(cmd.Env, entry)
		}
	}
	cmd.Env = append(cmd.Env, "MIOPEN_HIPDNN_FORWARDING=1", "REFHIPDNN_REPORT="+reportFile)
	if s.backend != "" {
		cmd.Env = append(cmd.Env, "HIPDNN_BACKEND_LIBRARY_PATH="+s.backend)
	}
	cmd.Env = append(cmd.Env, s.environment...)
	kill := time.AfterFunc(2*time.Minute, func() { _ = cmd.Process.Kill() })
	defer kill.Stop()
	err := cmd.Run()
	require.NoError(t, err, "stdout:\n%s\nstderr:\n%s", stdout.String(), stderr.String())
	out := output{stdout: linesOf(stdout.String()), stderr: linesOf(stderr.String())}
	if data, err := os.ReadFile(reportFile); err == nil {
		require.NoError(t, json.Unmarshal(data, &out.report))
	}
	return out
}

func linesOf(text string) []string {
	text = strings.TrimSuffix(text, "\n")
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

// live lists the objects of the reference backend that were not destroyed.
func (r report) live() (list []string) {
	for name, o := range r.Objects {
		if o.Live != 0 {
			list = append(list, name)
		}
	}
	return list
}

// requireClean requires that the backend was used as it wants to be and that nothing is left of it.
func (o output) requireClean(t testing.TB) {
	t.Helper()
	require.NotEmpty(t, o.report.Calls, "there is a report")
	require.Empty(t, o.report.live())
	require.Empty(t, o.report.Misuse)
	require.Empty(t, o.report.ExecutionErrors)
}
