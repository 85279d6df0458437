package hook_test

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

// The tests drive the forwarding library as the wrapper does, through testdata/host.c. What they run
// on comes from Bazel, which names each file in an environment variable, or is built here where the
// variable is not set.

func TestMain(m *testing.M) { workshop.Main(m) }

func compile(t testing.TB, arguments ...string) {
	t.Helper()
	workshop.Run(t, workshop.CC(), append([]string{"-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror"}, arguments...)...)
}

// bridge returns libmiopen_hipdnn.so.1.
func bridge(t testing.TB) string {
	return workshop.File(t, "MIOPEN_HIPDNN_LIBRARY", "libmiopen_hipdnn.so.1", func(dir string) {
		workshop.Run(t, "sh", "../../provider/lib/build.sh", dir)
	})
}

func hostProgram(t testing.TB) string {
	return workshop.File(t, "HOST", "host", func(dir string) {
		compile(t, "-I../..", "testdata/host.c", "-o", filepath.Join(dir, "host"), "-pthread", "-ldl", "-lm")
	})
}

// privateLibrary returns a library that depends on no HIP run time.
func privateLibrary(t testing.TB) string {
	return workshop.File(t, "PRIVATE_LIBRARY", "libprivate.so", func(dir string) {
		compile(t, "-fPIC", "-shared", "testdata/private.c", "-o", filepath.Join(dir, "libprivate.so"))
	})
}

// nullBackend returns a backend that does nothing.
func nullBackend(t testing.TB) string {
	return workshop.File(t, "NULL_BACKEND", "libhipdnn_backend.so", func(dir string) {
		compile(t, "-fPIC", "-shared", "testdata/backend.c", "-o", filepath.Join(dir, "libhipdnn_backend.so"))
	})
}

// reference returns the reference backend, tests/refhipdnn.
func reference(t testing.TB) string { return refhipdnn(t, "REFHIPDNN", "libhipdnn_backend.so") }

// testPlugin returns a plugin of the reference backend.
func testPlugin(t testing.TB) string { return refhipdnn(t, "TESTPLUGIN", "testplugin.so") }

func refhipdnn(t testing.TB, variable, name string) string {
	if path := workshop.Named(t, variable); path != "" {
		return path
	}
	return filepath.Join(workshop.Folder(t, "refhipdnn", func(dir string) {
		workshop.Run(t, "sh", "../../tests/refhipdnn/build.sh", dir)
	}), name)
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
			!strings.HasPrefix(entry, "REFHIPDNN_") && !strings.HasPrefix(entry, "LD_") &&
			// Without them no plans are kept, unless the scene names a folder.
			!strings.HasPrefix(entry, "HOME=") && !strings.HasPrefix(entry, "XDG_") {
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
