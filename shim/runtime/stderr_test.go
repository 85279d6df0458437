package runtime_test

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/shim/exports/exportstest"
)

func stderrHost(t *testing.T, stock string) string {
	t.Helper()
	host := filepath.Join(t.TempDir(), "stderr")
	exportstest.Compile(t, "-O1", "-pthread", "-o", host, source(t, "stderr.c"), stock)
	return host
}

const (
	wrongSwitch = prefix + `warning: MIOPEN_HIPDNN_FORWARDING="x" is none of enable, enabled, 1, yes, on, true, disable, disabled, 0, no, off, ` +
		"false: forwarding is disabled\n"
	wrongTrace = prefix + `warning: MIOPEN_HIPDNN_TRACE="y" is none of stderr, summary, ring:FOLDER: tracing is off` + "\n"
)

// TestFullStderr: a process whose standard error nobody reads can be ended, handles its signals, and only the thread that has
// something to say waits.
func TestFullStderr(t *testing.T) {
	p := typedPair(t)
	host := stderrHost(t, p.stock)
	env := []string{forwarding + "x", "MIOPEN_HIPDNN_TRACE=y"}
	for _, way := range []string{"blocking", "non-blocking"} {
		t.Run(way, func(t *testing.T) {
			for _, scenario := range []string{"handler", "others"} {
				o := runOn(t, p.dir, env, "", host, scenario, way)
				require.Zero(t, o.status, "%s: %s", scenario, o.stdout)
				require.Equal(t, wrongSwitch+wrongTrace, o.stdout, scenario)
			}
			require.Equal(t, syscall.SIGTERM, runOn(t, p.dir, env, "", host, "end", way).signal)

			// The handler's line cannot wait for those of the thread that it interrupts.
			o := runOn(t, p.dir, []string{forwarding + "x", traceStderr}, "", host, "handler", way)
			require.Equal(t, prefix+"miopenBare\n"+wrongSwitch+prefix+"miopenAlpha\n", o.stdout)
			o = runOn(t, p.dir, []string{forwarding + "x", traceStderr}, "", host, "leave", way)
			require.Equal(t, strings.Repeat(prefix+"miopenAlpha\n", 3), o.stdout)
			require.Zero(t, o.status)
		})
	}
}

// TestSlowReader: lines for which a non-blocking standard error has no room at once are not lost.
func TestSlowReader(t *testing.T) {
	lines := func(p pair) int {
		t.Helper()
		o := runOn(t, p.dir, []string{traceStderr}, "", stderrHost(t, p.stock), "slow reader")
		require.Zero(t, o.status, o.stdout)
		return count(strings.Split(o.stdout, "\n"), prefix+"miopenAlpha")
	}
	require.Equal(t, 1000, lines(typedPair(t)))
	require.Less(t, lines(makePair(t, "", mutant(t, "os.c", `s/n == -EAGAIN/0/`)...)), 1000, "the control")
}

// TestNoReader: that nobody reads standard error is nothing to the host, whatever it does with SIGPIPE.
func TestNoReader(t *testing.T) {
	p := typedPair(t)
	host := stderrHost(t, p.stock)
	everything := [][]string{
		{forwarding + "on"}, {forwarding + "x"}, {"MIOPEN_HIPDNN_TRACE=y"}, {traceStderr}, {traceSummary}, {traceRing("/nonexistent/folder")},
	}
	for _, how := range []string{"default", "ignored", "handled", "blocked", "pending"} {
		for _, env := range everything {
			o := runOn(t, p.dir, env, "", host, "no reader", how)
			require.Equal(t, "alive\n", o.stdout, "%s, %v", how, env)
			require.Zero(t, o.status, "%s, %v", how, env)
		}
	}
	for script, how := range map[string]string{
		`s/SYS_rt_sigprocmask, SIG_BLOCK/SYS_rt_sigprocmask, SIG_UNBLOCK/`: "default", `s/== -EPIPE/== 1/`: "blocked", `s/!(pending & sigpipe)/1/`: "pending",
	} {
		control := makePair(t, "", mutant(t, "os.c", script)...)
		require.NotEqual(t, "alive\n", runOn(t, control.dir, []string{traceStderr}, "", host, "no reader", how).stdout, script)
	}
}

// TestWaitingForTheFirst: threads that wait for the one that reads the environment are asleep.
func TestWaitingForTheFirst(t *testing.T) {
	preload := filepath.Join(t.TempDir(), "getenv.so")
	exportstest.Compile(t, "-shared", "-fPIC", "-o", preload, source(t, "getenv.c"))
	busy := func(p pair) time.Duration {
		t.Helper()
		o := p.run(t, []string{"LD_PRELOAD=" + preload, "GETENV_MODE=slow", forwarding + "on"}, "threads", "20", "2")
		require.Equal(t, banner+"\n", o.stderr)
		return o.busy
	}
	const limit = 100 * time.Millisecond // they wait for a second
	require.Less(t, busy(untypedPair(t)), limit)
	require.Greater(t, busy(makePair(t, "", mutant(t, "os.c", `s/SYS_futex, done, FUTEX_WAIT/SYS_sched_yield, done, FUTEX_WAIT/`)...)), limit, "the control")
}
