package refhipdnn_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/tests/runfile"
	"example.com/miopen_hipdnn_shim/tests/workshop"
)

// table reads a file of tab-separated lines with a header, by the first column.
func table(t *testing.T, file string, columns int) map[string][]string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", file))
	require.NoError(t, err)
	out := map[string][]string{}
	for _, line := range strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")[1:] {
		fields := strings.Split(line, "\t")
		require.Len(t, fields, columns, line)
		require.NotContains(t, out, fields[0])
		require.NotEmpty(t, fields[columns-1], "no source: %s", line)
		out[fields[0]] = fields[1:]
	}
	require.NotEmpty(t, out)
	return out
}

// Every mistake has the status and the text of the table, in both numberings.
func TestMisuse(t *testing.T) {
	late := table(t, "misuse.tsv", 4)
	early := table(t, "misuse-early.tsv", 4)
	for version, environment := range map[string][]string{"late": nil, "early": {"REFHIPDNN_VERSION=0.9.0.0"}} {
		t.Run(version, func(t *testing.T) {
			r := run(t, environment, "", "misuse")
			require.Zero(t, r.exit, r.out)
			seen := 0
			for _, line := range strings.Split(strings.TrimSpace(r.out), "\n") {
				fields := strings.Split(line, "\t")
				want := late[fields[0]]
				if other, ok := early[fields[0]]; ok && version == "early" {
					want = other
				}
				require.NotNil(t, want, "not in the table: %s", line)
				// The last line may have lost its empty column.
				require.Equal(t, want[0], fields[1], "status of %s", fields[0])
				require.Equal(t, want[1], strings.Join(fields[2:], ""), "text of %s", fields[0])
				seen++
			}
			require.Len(t, late, seen)
			require.Greater(t, seen, 100)
			require.Empty(t, r.report.live())
			// What the real library would not survive is listed as misuse.
			require.Len(t, r.report.Misuse, 4)
		})
	}
}

// scenario is a run of the driver that has to end with ok, and a control: the same run, with one
// thing wrong, has to end otherwise.
type scenario struct {
	name        string
	environment []string
	arguments   []string
	control     []string // replaces the environment
}

func TestScenarios(t *testing.T) {
	plan := filepath.Join(t.TempDir(), "plan")
	scenarios := []scenario{
		{"attributes", nil, nil, []string{"REFHIPDNN_FAIL=hipdnnBackendGetAttribute/HIPDNN_ATTR_KNOB_INFO_TYPE=9"}},
		{"attributes", []string{"REFHIPDNN_VERSION=0.9.0.0"}, nil, []string{"REFHIPDNN_FAIL=hipdnnBackendFinalize/CONVOLUTION_FORWARD=9"}},
		{"serial", nil, []string{plan}, []string{"REFHIPDNN_FAIL=hipdnnBackendCreateAndDeserializeExecutionPlan_ext:9=14"}},
		{"restore", nil, []string{plan}, []string{"REFHIPDNN_VERSION=1.3.0.1"}},
		{"errors", nil, nil, []string{"REFHIPDNN_FAIL=hipdnnCreate=9"}},
		{"log", nil, nil, []string{"REFHIPDNN_FAIL=hipdnnSetUserLogCallback_ext:3=9"}},
		{"threads", nil, nil, []string{"REFHIPDNN_FAIL=hipdnnBackendExecute:400=9"}},
		{"plan-time", []string{"REFHIPDNN_PLAN_MS=400"}, []string{"400"}, nil},
		{"execution-time", []string{"REFHIPDNN_DURATION_US=400000"}, []string{"400"}, nil},
		{"workspace", []string{"REFHIPDNN_WORKSPACE=100001"}, []string{"100001"}, []string{"REFHIPDNN_WORKSPACE=100000"}},
		{"version", nil, []string{"1.3.0.0"}, []string{"REFHIPDNN_VERSION=1.4.0.0"}},
		{"version", []string{"REFHIPDNN_VERSION=0.9.0.0"}, []string{"0.9.0.0"}, nil},
		{"plugins", nil, []string{pluginDir(t, "a.so"), "TEST_ENGINE"}, []string{"TESTPLUGIN_DEFECT=execute"}},
		{"alignment", []string{"TESTPLUGIN_DEFECT=old"}, []string{pluginDir(t, "a.so")}, nil},
	}
	for _, s := range scenarios {
		t.Run(strings.Join(append([]string{s.name}, s.environment...), ","), func(t *testing.T) {
			arguments := append([]string{s.name}, s.arguments...)
			r := run(t, s.environment, "", arguments...)
			require.Equal(t, 0, r.exit, r.out)
			require.True(t, strings.HasSuffix(r.out, "ok\n"), r.out)
			require.Empty(t, r.report.live())
			require.Empty(t, r.report.ExecutionErrors)
			require.Empty(t, r.report.Misuse)

			control := run(t, s.control, "", arguments...)
			require.Equal(t, 1, control.exit, "the control succeeded:\n%s", control.out)
		})
	}
}

// A plan of another version is told apart from a damaged one.
func TestPlanOfAnotherVersion(t *testing.T) {
	plan := filepath.Join(t.TempDir(), "plan")
	require.Zero(t, run(t, nil, "", "serial", plan).exit)
	r := run(t, []string{"REFHIPDNN_VERSION=1.9.0.0"}, "", "restore", plan)
	require.Contains(t, r.out, "status 15 hipdnnBackendCreateAndDeserializeExecutionPlan_ext")
	require.Equal(t, 1, run(t, nil, "", "restore", plan).report.Plans["deserialized"])
}

func TestReportOfLeaksAndMisuse(t *testing.T) {
	r := run(t, nil, "", "leaks")
	require.Zero(t, r.exit, r.out)
	require.Equal(t, map[string]int{
		"handle": 1, "TENSOR": 3, "CONVOLUTION_FORWARD": 1, "OPERATIONGRAPH": 1, "ENGINECFG": 1,
		"EXECUTION_PLAN": 1, "execution context": 1,
	}, r.report.live())
	require.Equal(t, []string{"a handle was destroyed before 1 of its plans"}, r.report.Misuse)
	require.Equal(t, 2, r.report.Plans["built"])
	require.Equal(t, map[string]int{"REF_DIRECT": 1}, r.report.Executions)
}

// simhip is the simulated HIP runtime. It comes from Bazel, or is a file that the variable names.
func simhip(t *testing.T) string {
	t.Helper()
	if os.Getenv("SIMHIP") == "" {
		t.Skip("SIMHIP names no libamdhip64.so.7 of tests/simhip")
	}
	path, err := runfile.Path("SIMHIP")
	require.NoError(t, err)
	return path
}

// A stream's order, on the simulated HIP runtime.
func TestStream(t *testing.T) {
	hip := simhip(t)
	r := run(t, nil, "", "stream", hip)
	require.Equal(t, 0, r.exit, r.out)
	require.Empty(t, r.report.live())
	require.Equal(t, 2, r.report.Executions["REF_DIRECT"])
	require.Equal(t, 1, run(t, []string{"REFHIPDNN_FAIL=hipdnnSetStream:2=9"}, "", "stream", hip).exit)
}

// Events see the duration that was set.
func TestDeviceTime(t *testing.T) {
	hip := simhip(t)
	r := run(t, []string{"REFHIPDNN_DURATION_US=2000"}, "", "device-time", hip, "2000")
	require.Equal(t, 0, r.exit, r.out)
	t.Log(r.out)
	require.Equal(t, 1, run(t, []string{"REFHIPDNN_DURATION_US=1000"}, "", "device-time", hip, "2000").exit)
}

const tinyCase = `case tiny
tensor 11 0 1,1,3,3 9,9,3,1 real 0000803f0000004000004040000080400000a0400000c0400000e0400000004100001041
tensor 12 0 1,1,2,2 4,4,2,1 real 0000803f0000803f0000803f0000803f
tensor 13 0 1,1,2,2 4,4,2,1 real 00000000000000000000000000000000
convolution forward 11 12 13 0,0 0,0 1,1 1,1 1 0
run -
`

// Every call of the usual path is made to fail, one at a time: it fails with the status, once, and
// what came before it is cleaned up. This is how a client's own handling of failures is to be walked.
func TestInjection(t *testing.T) {
	clean := run(t, nil, tinyCase, "graphs")
	require.Zero(t, answers(t, clean.out)["tiny"].Status)
	require.Empty(t, clean.report.Failures)
	var functions []string
	for function := range clean.report.Calls {
		functions = append(functions, function)
	}
	sort.Strings(functions)
	require.Len(t, functions, 10)
	walked := 0
	for _, function := range functions {
		for n := 1; n <= clean.report.Calls[function].Count; n++ {
			r := run(t, []string{fmt.Sprintf("REFHIPDNN_FAIL=%s:%d=ALLOC_FAILED", function, n)}, tinyCase, "graphs")
			var injected []string
			for _, f := range r.report.Failures {
				require.True(t, f.Injected, "%s after %s:%d", f.Text, function, n)
				injected = append(injected, f.Function)
				require.Equal(t, 10, f.Status)
				require.Contains(t, f.Text, "REFHIPDNN_FAIL")
			}
			require.Equal(t, []string{function}, injected, "%s:%d", function, n)
			walked++
			switch function {
			case "hipdnnBackendDestroyDescriptor", "hipdnnDestroy": // the driver cannot help it
				require.NotEmpty(t, r.report.live())
				continue
			case "hipdnnCreate":
				require.Equal(t, 1, r.exit)
			default:
				a := answers(t, r.out)["tiny"]
				require.Equal(t, 10, a.Status)
				require.Equal(t, function, a.Function)
			}
			require.Empty(t, r.report.live(), "%s:%d", function, n)
		}
	}
	t.Logf("%d calls of %d functions", walked, len(functions))
	require.Greater(t, walked, 70)
}

func TestInjectionRules(t *testing.T) {
	status := func(rules string) (int, string) {
		a := answers(t, run(t, []string{"REFHIPDNN_FAIL=" + rules}, tinyCase+strings.Replace(tinyCase, "tiny", "again", 1), "graphs").out)
		return a["tiny"].Status, fmt.Sprint(a["again"].Status)
	}
	for _, c := range []struct {
		rules, name string
		tiny, again int
	}{
		{"hipdnnBackendFinalize/EXECUTION_PLAN=14", "a kind, always", 14, 14},
		{"hipdnnBackendFinalize/EXECUTION_PLAN:1=14", "a kind, the first", 14, 0},
		{"hipdnnBackendFinalize/EXECUTION_PLAN:2+=PLUGIN_ERROR", "a kind, from the second on", 0, 14},
		{"hipdnnBackendSetAttribute/HIPDNN_ATTR_CONVOLUTION_CONV_MODE:2=HIPDNN_STATUS_BAD_PARAM", "an attribute, the second", 0, 2},
		{"hipdnnBackendExecute:2=13,hipdnnBackendFinalize/TENSOR:1=9", "two rules", 9, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			tiny, again := status(c.rules)
			require.Equal(t, c.tiny, tiny)
			require.Equal(t, fmt.Sprint(c.again), again)
		})
	}
}

// A setting that cannot be understood fails every call, with the reason.
func TestBadSettings(t *testing.T) {
	for _, setting := range []string{
		"REFHIPDNN_FAIL=hipdnnCreate", "REFHIPDNN_FAIL=hipdnnCreate=0", "REFHIPDNN_FAIL=hipdnnCreate:0=9",
		"REFHIPDNN_FAIL=hipdnnCreate=NO_SUCH_STATUS", "REFHIPDNN_FAIL=create=9", "REFHIPDNN_FAIL=hipdnnCreate:x=9",
		"REFHIPDNN_VERSION=1.3", "REFHIPDNN_VERSION=newest", "REFHIPDNN_PLAN_MS=-1", "REFHIPDNN_DURATION_US=1s", "REFHIPDNN_WORKSPACE=1k",
	} {
		r := run(t, []string{setting}, tinyCase, "graphs")
		require.Equal(t, 1, r.exit, setting)
		require.Contains(t, r.out, setting[:strings.Index(setting, "=")+1], setting)
		require.Equal(t, 9, r.report.Failures[0].Status)
	}
}

func TestLogFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	require.Zero(t, run(t, []string{"REFHIPDNN_LOG=" + path}, tinyCase, "graphs").exit)
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Contains(t, string(data), "refhipdnn: info: hipdnnBackendFinalize EXECUTION_PLAN\n")
	require.NotContains(t, string(data), "error")
	r := run(t, []string{"REFHIPDNN_LOG=stderr", "REFHIPDNN_FAIL=hipdnnBackendExecute=13"}, tinyCase, "graphs")
	require.Regexp(t, regexp.MustCompile(`refhipdnn: error: hipdnnBackendExecute: HIPDNN_STATUS_EXECUTION_FAILED: .*REFHIPDNN_FAIL`), r.stderr)
}

// Which plugins are loaded, and which of their engines.
func TestPluginGates(t *testing.T) {
	for _, c := range []struct {
		defect, log    string
		files, engines int
	}{
		{"", "", 1, 3},
		{"api-version", "plugin API version 2.0.0, this library has 1", 0, 2},
		{"version-text", `plugin API version "newest" is none`, 0, 2},
		{"type", "is a plugin of type 2", 0, 2},
		{"no-engines", "no engines", 0, 2},
		{"duplicate", "one twice", 0, 2},
		{"name", "which is not its id; dropped", 1, 2},
		{"taken", "engine REF_DIRECT is there already; dropped", 1, 2},
		{"create", "no handle today", 0, 2},
	} {
		t.Run("defect="+c.defect, func(t *testing.T) {
			r := run(t, []string{"TESTPLUGIN_DEFECT=" + c.defect, "REFHIPDNN_LOG=stderr"}, "", "plugins", pluginDir(t, "p.so"))
			require.Zero(t, r.exit, r.out)
			require.Contains(t, r.out, fmt.Sprintf("files %d engines %d\n", c.files, c.engines))
			require.Contains(t, r.stderr, c.log)
			require.Equal(t, c.log != "", strings.Contains(r.stderr, "refhipdnn: error: "), r.stderr)
			if c.defect != "type" {
				require.Contains(t, r.stderr, "the test plugin has a log")
			}
		})
	}
	// What a plugin fails in at work comes out as its own error.
	for defect, want := range map[string]string{
		"applicable": "status 14 hipdnnBackendFinalize .*: no opinion on the graph",
		"context":    "status 14 hipdnnBackendFinalize .*: no context for the graph",
		"execute":    "status 14 hipdnnBackendExecute .*: no execution today",
		"details":    "status 2 hipdnnBackendGetAttribute .*details that cannot be read",
	} {
		r := run(t, []string{"TESTPLUGIN_DEFECT=" + defect}, "", "plugins", pluginDir(t, "p.so"), "TEST_ENGINE")
		require.Equal(t, 1, r.exit)
		require.Regexp(t, want, r.out)
		require.Empty(t, r.report.live())
	}
}

// Only regular files named *.so, in the directory that is meant, in the order of their names.
func TestPluginSearch(t *testing.T) {
	dir := pluginDir(t, "b.so", "versioned.so.1", "other.txt")
	require.NoError(t, os.Symlink(filepath.Join(dir, "versioned.so.1"), filepath.Join(dir, "a.so")))
	r := run(t, []string{"REFHIPDNN_LOG=stderr"}, "", "plugins", dir, "TEST_ENGINE")
	require.Zero(t, r.exit, r.out)
	require.Contains(t, r.out, "files 1 engines 3\n")
	require.Contains(t, r.stderr, "b.so")

	// A second copy loads, but its engine is there already.
	twice := run(t, []string{"REFHIPDNN_LOG=stderr"}, "", "plugins", pluginDir(t, "a.so", "b.so"), "TEST_ENGINE")
	require.Zero(t, twice.exit, twice.out)
	require.Contains(t, twice.out, "files 2 engines 3\n")
	require.Contains(t, twice.stderr, "b.so: engine TEST_ENGINE is there already; dropped")

	// A file instead of a directory; garbage; nothing.
	require.Contains(t, run(t, nil, "", "plugins", filepath.Join(dir, "b.so"), "TEST_ENGINE").out, "files 1 engines 3\n")
	garbage := filepath.Join(t.TempDir(), "garbage.so")
	require.NoError(t, os.WriteFile(garbage, []byte("no ELF"), 0o755))
	require.Contains(t, run(t, nil, "", "plugins", garbage).out, "files 0 engines 2\n")
	require.Contains(t, run(t, nil, "", "plugins", "/nowhere").out, "files 0 engines 2\n")

	// HIPDNN_PLUGIN_DIR takes the place of the directory beside the library, which is not asked here.
	graphs := func(environment ...string) []string {
		return answers(t, run(t, environment, tinyCase, "graphs").out)["tiny"].Engines
	}
	require.Equal(t, engineNames, graphs())
	require.Equal(t, slices.Concat([]string{"TEST_ENGINE"}, engineNames), graphs("HIPDNN_PLUGIN_DIR="+dir))

	// Beside the library.
	beside := t.TempDir()
	workshop.Copy(t, library(t), filepath.Join(beside, "libhipdnn_backend.so"))
	plugins := filepath.Join(beside, "hipdnn_plugins", "engines")
	require.NoError(t, os.MkdirAll(plugins, 0o755))
	workshop.Copy(t, filepath.Join(dir, "b.so"), filepath.Join(plugins, "b.so"))
	require.Contains(t, runOn(t, filepath.Join(beside, "libhipdnn_backend.so"), tinyCase), "engines TEST_ENGINE REF_DIRECT REF_DETERMINISTIC\n")
}
