package forwarding_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/tests/runfile"
)

// process is what a process of the client made and counted.
type process struct {
	calls, right int
	counts       counts // of the library
}

// fork runs a scenario of the client with forwarding on, and returns its processes by name and the report.
func fork(t *testing.T, environment []string, scenario ...string) (map[string][]process, string) {
	t.Helper()
	split, err := runfile.Dir("SHIM", "manifest.json")
	require.NoError(t, err)
	report := filepath.Join(t.TempDir(), "report")
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(t.Context(), file(t, "FORKING"), scenario...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.Env = append(os.Environ(), "MIOPEN_HIPDNN_FORWARDING=1", "MIOPEN_HIPDNN_FORWARDING_REPORT=file:"+report,
		"LD_LIBRARY_PATH="+strings.Join([]string{split, filepath.Dir(file(t, "BRIDGE")), filepath.Dir(file(t, "REFHIPDNN"))}, ":"))
	cmd.Env = append(cmd.Env, environment...)
	require.NoError(t, cmd.Run(), "%v: %s%s", scenario, stdout.String(), stderr.String())
	// Every process that reads its switches says so, and there is nothing else to be said.
	require.Empty(t, strings.ReplaceAll(stderr.String(), "[MIOPEN_HIPDNN_WRAPPER] MIOPEN_HIPDNN_FORWARDING is enabled\n", ""))
	processes := map[string][]process{}
	for line := range strings.Lines(stdout.String()) {
		var name string
		var p process
		n, err := fmt.Sscan(line, &name, &p.calls, &p.right, &p.counts.forwarded, &p.counts.native, &p.counts.failed)
		require.NoError(t, err, line)
		require.Equal(t, 6, n)
		p.counts.calls = p.counts.forwarded + p.counts.native + p.counts.failed
		processes[name] = append(processes[name], p)
	}
	text, err := os.ReadFile(report)
	require.NoError(t, err)
	return processes, string(text)
}

// nothing is the environment in which hipDNN computes nothing: results tell who served a call.
var nothing = []string{"REFHIPDNN_EXECUTE=none"}

// requireForwarded requires that all calls of a process were forwarded.
func requireForwarded(t *testing.T, p process, right bool) {
	t.Helper()
	require.Positive(t, p.calls)
	require.Equal(t, counts{p.calls, p.calls, 0, 0}, p.counts)
	if right {
		require.Equal(t, p.calls, p.right)
	} else {
		require.Zero(t, p.right)
	}
}

// requireNative requires that MIOpen served all calls of a process, which is not counted in a child of fork.
func requireNative(t *testing.T, p process) {
	t.Helper()
	require.Positive(t, p.calls)
	require.Equal(t, p.calls, p.right)
	require.Zero(t, p.counts)
}

// TestFork: after fork children are served by MIOpen, also with the handle that they have from their parent, which goes on forwarding,
// as do other threads of it at the time.
func TestFork(t *testing.T) {
	for _, environment := range [][]string{nil, nothing} {
		processes, report := fork(t, environment, "late")
		require.Len(t, processes["parent"], 1)
		parent := processes["parent"][0]
		requireForwarded(t, parent, environment == nil)
		require.Greater(t, parent.calls, 20*19, "and those of the other thread")
		m := convolutionRow.FindStringSubmatch(report)
		require.NotNil(t, m, report)
		require.Equal(t, strconv.Itoa(parent.calls), m[1], "the report is the parent's")
		require.Len(t, processes["child"], 9)
		require.Len(t, processes["grandchild"], 3)
		for _, p := range append(processes["child"], processes["grandchild"]...) {
			requireNative(t, p)
		}
	}
}

// TestEarlyFork: a child that was forked before the first call forwards as its parent does.
func TestEarlyFork(t *testing.T) {
	for _, environment := range [][]string{nil, nothing} {
		processes, _ := fork(t, environment, "early")
		for _, name := range []string{"parent", "child"} {
			require.Len(t, processes[name], 1)
			requireForwarded(t, processes[name][0], environment == nil)
		}
	}
}

// TestForkRace: while the forwarding library is being opened, a child either forwards all calls or none, and does not hang.
func TestForkRace(t *testing.T) {
	routes := map[string]int{}
	// It takes some ten milliseconds, of which the first are those in which a child can still do it itself.
	for microseconds := 0; microseconds < 40_000; microseconds += 10 + microseconds/5 {
		processes, _ := fork(t, nothing, "race", strconv.Itoa(microseconds))
		require.Len(t, processes["parent"], 1)
		requireForwarded(t, processes["parent"][0], false)
		require.Len(t, processes["child"], 1)
		if p := processes["child"][0]; p.counts.forwarded > 0 {
			requireForwarded(t, p, false)
			routes["hipdnn"]++
		} else {
			requireNative(t, p)
			routes["miopen"]++
		}
	}
	t.Log(routes)
	require.NotZero(t, routes["miopen"], "no child was forked late enough")
}

// TestPrograms: programs that a forwarding process starts forward for themselves, and so does what a child of fork executes.
func TestPrograms(t *testing.T) {
	for _, environment := range [][]string{nil, nothing} {
		processes, _ := fork(t, environment, "programs")
		for _, name := range []string{"parent", "spawned", "executed"} {
			require.Len(t, processes[name], 1, name)
			requireForwarded(t, processes[name][0], environment == nil)
		}
	}
}
