package hook_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	strict    = "MIOPEN_HIPDNN_FORWARDING_POLICY=strict"
	served    = "done status=0 y=right last=0 text=NATIVE"
	native    = "native status=0 y=untouched last=0 text=NATIVE"
	opened    = "open 0"
	forwarded = "[hipDNN-forwarded] miopenConvolutionForward: hipDNN "
)

func TestForward(t *testing.T) {
	o := scene{backend: reference(t)}.play(t,
		"create 1", "conv 1", "conv 1", "conv 1 n=2 c=6 k=9 groups=3 stride=2", "conv 1 nhwc=1 dilation=2 pad=2",
		"conv 1 r=1 pad=0", "conv 1 groups=4", "stats", "destroy 1", "stats", "finish")
	require.Equal(t, []string{opened, served, served, served, served, served, served,
		"forwarded=6 native=0 failed=0 hits=1 builds=5", "forwarded=6 native=0 failed=0 hits=1 builds=5"}, o.stdout)
	require.Empty(t, o.stderr)
	o.requireClean(t)
	require.Equal(t, map[string]int{"REF_DIRECT": 6}, o.report.Executions)
}

// TestControl: the host's comparison notices a backend that computes nothing.
func TestControl(t *testing.T) {
	o := scene{backend: nullBackend(t)}.play(t, "create 1", "conv 1")
	require.Equal(t, []string{opened, "done status=0 y=untouched last=0 text=NATIVE"}, o.stdout)
}

func TestDeclines(t *testing.T) {
	for reason, options := range map[string]string{
		"scalar-value": "alpha=2", "scalar-null": "nullalpha=1", "buffer-null": "nullx=1", "buffers-overlap": "overlap=1", "buffer-misaligned": "shift=4",
		"vectorised-layout": "vectorised=1", "cast-type": "cast=0", "deterministic": "deterministic=1",
		"attribute-unreadable": "deterministic=-1", "too-many-dims": "rank=9", "descriptor-unreadable": "rank=0",
		"output-mismatch": "yh=7", "group-mismatch": "descriptorgroups=2", "type-combination": "ytype=0",
	} {
		t.Run(reason, func(t *testing.T) {
			lines := []string{"create 1", "conv 1", "conv 1 " + options, "conv 1 " + options, "conv 1", "stats", "destroy 1", "finish"}
			s := scene{backend: reference(t), environment: []string{"MIOPEN_HIPDNN_FORWARDING_REPORT=stderr"}}
			o := s.play(t, lines...)
			require.Equal(t, []string{opened, served}, o.stdout[:2])
			require.Regexp(t, "^native status=0 y=(untouched|wrong) last=0 text=NATIVE$", o.stdout[2])
			require.Equal(t, o.stdout[2], o.stdout[3])
			require.Equal(t, served, o.stdout[4])
			require.Regexp(t, "^forwarded=2 native=2 failed=0 ", o.stdout[5])
			require.Contains(t, strings.Join(o.stderr, "\n"), "declined:"+reason+" ")
			o.requireClean(t)
			require.Equal(t, map[string]int{"REF_DIRECT": 2}, o.report.Executions)

			s.environment = []string{strict}
			o = s.play(t, lines...)
			require.Equal(t, []string{opened, served}, o.stdout[:2])
			require.Regexp(t, `^done status=8 y=(untouched|wrong) last=8 text=\[hipDNN-forwarded\] miopenConvolutionForward: `+
				`hipDNN NOT_SUPPORTED: no exact translation: `+reason, o.stdout[2])
			require.Equal(t, served, o.stdout[4], "the error is not that of the next call")
			require.Regexp(t, "^forwarded=2 native=0 failed=2 ", o.stdout[5])
			o.requireClean(t)
		})
	}
}

// TestFailures makes each call of hipDNN fail once, of those that a process makes that forwards two
// convolutions. What fails before the execution leaves the call to MIOpen or, if the policy is strict,
// fails it; what fails in the execution fails it. The next call works.
func TestFailures(t *testing.T) {
	lines := []string{"create 1", "conv 1", "conv 1", "text 5", "destroy 1", "finish"}
	s := scene{backend: reference(t), environment: []string{"REFHIPDNN_WORKSPACE=100"}}
	golden := s.play(t, lines...)
	require.Equal(t, []string{opened, served, served, "text=NATIVE last=0"}, golden.stdout)
	golden.requireClean(t)
	requireFailures(t, s, golden, lines, 100)
}

// TestFailuresOfPreferred is TestFailures with an engine that is asked for by name.
func TestFailuresOfPreferred(t *testing.T) {
	lines := []string{"create 1", "conv 1", "conv 1", "text 5", "destroy 1", "finish"}
	s := scene{backend: reference(t), environment: []string{"REFHIPDNN_WORKSPACE=100", "MIOPEN_HIPDNN_ENGINE=REF_DETERMINISTIC"}}
	golden := s.play(t, lines...)
	require.Equal(t, []string{opened, served, served, "text=NATIVE last=0"}, golden.stdout)
	require.Equal(t, map[string]int{"REF_DETERMINISTIC": 2}, golden.report.Executions)
	golden.requireClean(t)
	requireFailures(t, s, golden, lines, 100)
}

func requireFailures(t *testing.T, s scene, golden output, lines []string, atLeast int) {
	t.Helper()
	calls := 0
	for function, counted := range golden.report.Calls {
		if function == "hipdnnSetUserLogCallback_ext" {
			continue // nothing depends on it
		}
		require.Positive(t, counted.Count)
		for n := range counted.Count {
			for _, policy := range []string{"fallback", "strict"} {
				calls++
				where := fmt.Sprintf("%s:%d=INTERNAL_ERROR", function, n+1)
				s := s
				s.environment = append(slices.Clone(s.environment), "REFHIPDNN_FAIL="+where, "MIOPEN_HIPDNN_FORWARDING_POLICY="+policy)
				requireOneFailure(t, s.play(t, lines...), function, where+" "+policy, policy == "strict")
			}
		}
	}
	require.Greater(t, calls, atLeast)
}

func requireOneFailure(t *testing.T, o output, function, where string, strict bool) {
	t.Helper()
	said := strings.Join(o.stderr, "\n")
	// What the bridge asks the library before it takes it.
	probed := strings.Contains(said, "in none of the known ways")
	failed, fellBack := 0, 0
	stale := regexp.MustCompile(`^done status=5 y=untouched last=9 text=\[hipDNN-forwarded\] miopenConvolutionForward: hipDNN INTERNAL_ERROR: ` + function)
	results := slices.DeleteFunc(slices.Clone(o.stdout), func(l string) bool { return l == opened || strings.HasPrefix(l, "text=") })
	require.Len(t, results, 2, where)
	for _, r := range results {
		switch {
		case r == served:
		case r == native:
			fellBack++
		case stale.MatchString(r), probed && strings.HasPrefix(r, "done status=5 y=untouched last=1 text="+forwarded+"NOT_INITIALIZED: "):
			failed++
		default:
			require.Fail(t, "unexpected result", "%s: %s\n%s", where, r, said)
		}
	}
	switch {
	case probed:
		require.Equal(t, 2, failed+fellBack, where)
		require.Equal(t, strict, failed == 2, where)
		return // what was made for asking is left when it is not destroyed
	case function == "hipdnnBackendExecute":
		require.Equal(t, []int{1, 0}, []int{failed, fellBack}, where)
	case function == "hipdnnBackendDestroyDescriptor", function == "hipdnnDestroy":
		require.Equal(t, []int{0, 0}, []int{failed, fellBack}, where)
		return // what is not destroyed is left
	case function == "hipdnnCreate":
		// It is not tried again: all calls of the handle have one fate.
		require.Equal(t, 2, failed+fellBack, where)
		require.Equal(t, strict, failed == 2, where)
	default:
		if strict {
			require.LessOrEqual(t, failed, 1, where)
			require.Zero(t, fellBack, where)
		} else {
			require.LessOrEqual(t, fellBack, 1, where)
			require.Zero(t, failed, where)
		}
		if failed+fellBack == 0 {
			// Another engine was taken, or the probe found out what it wanted.
			return
		}
	}
	if failed+fellBack > 0 {
		require.Contains(t, said, function, where)
	}
	require.Empty(t, o.report.live(), where)
	require.Empty(t, o.report.ExecutionErrors, where)
}

// TestStaleError: whatever becomes of a call, the error of the one before it is gone.
func TestStaleError(t *testing.T) {
	fails := forwarded + "EXECUTION_FAILED: hipdnnBackendExecute"
	s := scene{backend: reference(t), environment: []string{"REFHIPDNN_FAIL=hipdnnBackendExecute:1=EXECUTION_FAILED,hipdnnBackendExecute:3=EXECUTION_FAILED,hipdnnBackendExecute:4=EXECUTION_FAILED"}}
	o := s.play(t, "create 1",
		"conv 1", "text 5", "text 3", // failed; the text is for its status alone
		"conv 1", "text 5", // forwarded
		"conv 1", "text 5", "conv 1 alpha=2", "text 5", // failed, declined
		"conv 1", "text 5", "served 1", "text 5", // failed, then MIOpen served something
		"destroy 1", "finish")
	require.Len(t, o.stdout, 13)
	require.Regexp(t, `^done status=5 y=untouched last=13 text=`+regexp.QuoteMeta(fails), o.stdout[1])
	require.Regexp(t, `^text=`+regexp.QuoteMeta(fails), o.stdout[2])
	require.Equal(t, "text=NATIVE last=13", o.stdout[3])
	require.Equal(t, []string{served, "text=NATIVE last=0"}, o.stdout[4:6])
	require.Contains(t, o.stdout[7], fails)
	require.Equal(t, []string{native, "text=NATIVE last=0"}, o.stdout[8:10])
	require.Contains(t, o.stdout[11], fails)
	require.Equal(t, "text=NATIVE last=0", o.stdout[12])
}

// TestPanic: a bug in the bridge before anything was enqueued is a failure like any other.
func TestPanic(t *testing.T) {
	lines := []string{"create 1", "conv 1", "conv 1 nullproblem=1", "conv 1 nullproblem=1", "conv 1", "stats", "destroy 1", "finish"}
	s := scene{backend: reference(t)}
	o := s.play(t, lines...)
	require.Equal(t, []string{opened, served, native, native, served, "forwarded=2 native=2 failed=0 hits=1 builds=1"}, o.stdout)
	require.Len(t, o.stderr, 1)
	require.Regexp(t, "internal error of the forwarding library: runtime error: .*nil pointer.*; MIOpen serves the call", o.stderr[0])
	o.requireClean(t)

	s.environment = []string{strict}
	o = s.play(t, lines...)
	require.Regexp(t, `^done status=5 y=untouched last=9 text=\[hipDNN-forwarded\] miopenConvolutionForward: hipDNN INTERNAL_ERROR: internal error of the forwarding library: runtime error: `, o.stdout[2])
	require.Equal(t, o.stdout[2], o.stdout[3])
	require.Equal(t, served, o.stdout[4])
	o.requireClean(t)
}

func TestStatusIsTranslated(t *testing.T) {
	for hipdnn, status := range map[string]int{
		"BAD_PARAM": 3, "NOT_SUPPORTED": 8, "ALLOC_FAILED": 4, "PLUGIN_ERROR": 5, "NOT_INITIALIZED": 5,
	} {
		o := scene{backend: reference(t), environment: []string{"REFHIPDNN_FAIL=hipdnnBackendExecute=" + hipdnn}}.play(t, "create 1", "conv 1", "destroy 1")
		require.Regexp(t, fmt.Sprintf(`^done status=%d y=untouched last=\d+ text=\[hipDNN-forwarded\] miopenConvolutionForward: hipDNN %s: `, status, hipdnn), o.stdout[1])
	}
}

// TestEnginesCannot: that no engine can run a graph is found out once.
func TestEnginesCannot(t *testing.T) {
	s := scene{backend: reference(t), environment: []string{"REFHIPDNN_FAIL=hipdnnBackendFinalize/EXECUTION_PLAN=NOT_SUPPORTED"}}
	o := s.play(t, "create 1", "conv 1", "conv 1", "stats", "destroy 1", "finish")
	require.Equal(t, []string{opened, native, native, "forwarded=0 native=2 failed=0 hits=0 builds=0"}, o.stdout)
	require.Empty(t, o.report.live())
	require.Equal(t, 2, o.report.Calls["hipdnnBackendFinalize"].Failed, "each engine is asked once")
	require.Len(t, slices.DeleteFunc(o.stderr, func(l string) bool { return !strings.HasPrefix(l, "[HOST] warning") }), 1, "said once")
}

// TestFailedBuilds: a plan that cannot be built is tried again at the next call, and then ever more seldom; each call says so.
func TestFailedBuilds(t *testing.T) {
	const fails = "REFHIPDNN_FAIL=hipdnnBackendFinalize/EXECUTION_PLAN"
	lines := []string{"create 1"}
	for range 40 {
		lines = append(lines, "conv 1")
	}
	lines = append(lines, "stats", "destroy 1", "finish")
	s := scene{backend: reference(t), environment: []string{fails + "=INTERNAL_ERROR"}}
	o := s.play(t, lines...)
	require.Equal(t, 40, count(o.stdout, native))
	require.Equal(t, "forwarded=0 native=40 failed=0 hits=0 builds=0", o.stdout[41])
	require.Equal(t, 2*6, o.report.Calls["hipdnnBackendFinalize"].Failed, "both engines, at calls 1, 2, 4, 8, 16 and 32")
	require.Len(t, slices.DeleteFunc(o.stderr, func(l string) bool { return !strings.HasPrefix(l, "[HOST] warning") }), 1, "said once")
	require.Empty(t, o.report.live())

	s.environment = append(s.environment, strict)
	o = s.play(t, lines...)
	for _, line := range o.stdout[1:41] {
		require.Regexp(t, `^done status=5 y=untouched last=9 text=\[hipDNN-forwarded\] .*hipdnnBackendFinalize`, line)
	}
	require.Equal(t, "forwarded=0 native=0 failed=40 hits=0 builds=0", o.stdout[41])
	require.Equal(t, 2*6, o.report.Calls["hipdnnBackendFinalize"].Failed)

	// What passes is found out.
	s.environment = []string{fails + ":1=PLUGIN_ERROR," + fails[len("REFHIPDNN_FAIL="):] + ":2=PLUGIN_ERROR," +
		fails[len("REFHIPDNN_FAIL="):] + ":3=ALLOC_FAILED," + fails[len("REFHIPDNN_FAIL="):] + ":4=ALLOC_FAILED"}
	o = s.play(t, lines...)
	require.Equal(t, []string{native, native, native, served, served}, o.stdout[1:6])
	require.Equal(t, "forwarded=37 native=3 failed=0 hits=36 builds=1", o.stdout[41])
	o.requireClean(t)

	// That one engine cannot run the graph is not the last word while the other one only failed.
	for _, first := range []string{"NOT_SUPPORTED", "INTERNAL_ERROR"} {
		second := map[string]string{"NOT_SUPPORTED": "INTERNAL_ERROR", "INTERNAL_ERROR": "NOT_SUPPORTED"}[first]
		s.environment = []string{fails + ":1=" + first + "," + fails[len("REFHIPDNN_FAIL="):] + ":2=" + second}
		o = s.play(t, "create 1", "conv 1", "conv 1", "destroy 1", "finish")
		require.Equal(t, []string{opened, native, served}, o.stdout, first)
		require.Contains(t, strings.Join(o.stderr, "\n"), "INTERNAL_ERROR")
	}
}

// TestTextsStay: a text is there after the next failure, and after its thread.
func TestTextsStay(t *testing.T) {
	o := scene{backend: reference(t), environment: []string{"REFHIPDNN_FAIL=hipdnnBackendExecute=EXECUTION_FAILED"}}.play(t, "texts 300")
	require.Equal(t, []string{opened, "texts kept=300"}, o.stdout)
}

func TestWorkspace(t *testing.T) {
	for _, size := range []int{1, 4096, 3 << 20} {
		s := scene{backend: reference(t), environment: []string{"REFHIPDNN_WORKSPACE=" + strconv.Itoa(size)}}
		o := s.play(t, "create 1", "conv 1", "conv 1 workspace="+strconv.Itoa(size), "conv 1 workspace="+strconv.Itoa(max(1, size-1)),
			"conv 1 c=8 workspace="+strconv.Itoa(2*size), "destroy 1", "finish")
		require.Equal(t, []string{opened, served, served, served, served}, o.stdout, size)
		require.Empty(t, o.stderr)
		o.requireClean(t)
	}
}

func TestThreads(t *testing.T) {
	slow := []string{"REFHIPDNN_PLAN_MS=200"}
	for _, handles := range []string{"own", "shared"} {
		o := scene{backend: reference(t), environment: slow}.play(t, "threads 64 1 64 "+handles, "stats", "finish")
		require.Regexp(t, `^threads done=64 right=64 ms=\d+$`, o.stdout[1], handles)
		require.Equal(t, "forwarded=64 native=0 failed=0 hits=0 builds=64", o.stdout[2], handles)
		ms, err := strconv.Atoi(o.stdout[1][strings.LastIndex(o.stdout[1], "=")+1:])
		require.NoError(t, err)
		t.Logf("64 threads, 64 shapes, %s handles: %d ms", handles, ms)
		require.Less(t, ms, 64*200/4, "plans of different shapes are built at the same time")
		o.requireClean(t)
	}
	for _, handles := range []string{"own", "shared"} {
		o := scene{backend: reference(t), environment: slow}.play(t, "threads 64 1 1 "+handles, "stats", "finish")
		require.Regexp(t, `^threads done=64 right=64 ms=\d+$`, o.stdout[1])
		require.Equal(t, "forwarded=64 native=0 failed=0 hits=0 builds=1", o.stdout[2])
		require.Equal(t, 1, o.report.Plans.Built, handles)
		o.requireClean(t)
	}
	o := scene{backend: reference(t)}.play(t, "threads 16 30 8 shared", "threads 16 30 8 own", "stats", "finish")
	require.Regexp(t, `^threads done=480 right=480 `, o.stdout[1])
	require.Regexp(t, `^threads done=480 right=480 `, o.stdout[2])
	require.Contains(t, o.stdout[3], "builds=8")
	o.requireClean(t)
}

func TestHandles(t *testing.T) {
	o := scene{backend: reference(t)}.play(t, "churn 60", "destroy 7", "conv 7", "create 8", "create 8", "conv 8", "create 8", "conv 8", "destroy 8",
		"create 9", "destroy 9", "stats", "finish")
	require.Equal(t, 60, count(o.stdout[1:61], served))
	require.Equal(t, []string{native, served, served}, o.stdout[61:64], "of a handle that was not made here the stream is not known")
	o2 := scene{backend: reference(t), environment: []string{strict, "MIOPEN_HIPDNN_FORWARDING_REPORT=stderr"}}.play(t, "conv 7", "finish")
	require.Equal(t, []string{opened, native}, o2.stdout, "an engine's own: strict or not")
	require.Contains(t, strings.Join(o2.stderr, "\n"), "foreign-handle")
	require.Equal(t, "forwarded=62 native=1 failed=0 hits=0 builds=1", o.stdout[64])
	require.Equal(t, 62, o.report.Calls["hipdnnCreate"].Count, "a handle that is not used costs nothing")
	o.requireClean(t)
}

// TestEnginesCannotSerialise: then each handle builds its own plans.
func TestEnginesCannotSerialise(t *testing.T) {
	for _, where := range []string{"hipdnnBackendGetSerializedExecutionPlan_ext=NOT_SUPPORTED", "hipdnnBackendCreateAndDeserializeExecutionPlan_ext=PLUGIN_ERROR"} {
		o := scene{backend: reference(t), environment: []string{"REFHIPDNN_FAIL=" + where}}.play(t, "create 1", "create 2", "conv 1", "conv 2", "conv 1", "stats", "destroy 1", "destroy 2", "finish")
		require.Equal(t, []string{opened, served, served, served, "forwarded=3 native=0 failed=0 hits=1 builds=2"}, o.stdout)
		o.requireClean(t)
	}
}

// TestAfterFinish: when the process ends, libraries may be gone that hipDNN wants.
func TestAfterFinish(t *testing.T) {
	o := scene{backend: reference(t)}.play(t, "create 1", "conv 1", "finish", "destroy 1")
	require.Equal(t, []string{opened, served}, o.stdout)
	require.Zero(t, o.report.Calls["hipdnnDestroy"].Count)
}

func TestEager(t *testing.T) {
	s := scene{backend: reference(t), environment: []string{"MIOPEN_HIPDNN_FORWARDING_EAGER=1"}}
	o := s.play(t, "create 1", "destroy 1", "finish")
	require.Equal(t, 1, o.report.Calls["hipdnnCreate"].Count)
	o.requireClean(t)
	s.environment = append(s.environment, "REFHIPDNN_FAIL=hipdnnCreate=ALLOC_FAILED")
	o = s.play(t, "create 1", "conv 1", "destroy 1", "finish")
	require.Equal(t, []string{opened, native}, o.stdout, "creation of the handle does not fail")
	s.environment = append(s.environment, strict)
	o = s.play(t, "create 1", "conv 1", "destroy 1", "finish")
	require.Regexp(t, `^done status=4 y=untouched last=10 text=.*hipdnnCreate`, o.stdout[1])
}

func TestStreams(t *testing.T) {
	o := scene{backend: reference(t)}.play(t, "create 1 0x10", "conv 1", "stream 1 0x20", "stream 1 0x10", "conv 1", "stream 1 0x20", "conv 1", "destroy 1", "finish")
	require.Equal(t, []string{opened, served, served, served}, o.stdout)
	require.Equal(t, 2, o.report.Calls["hipdnnSetStream"].Count, "hipDNN is told of changes that matter")
	o.requireClean(t)
}

func TestKernelTime(t *testing.T) {
	s := scene{backend: reference(t), environment: []string{"REFHIPDNN_DURATION_US=20000"}}
	o := s.play(t, "create 1", "native 1 3", "time 1", "conv 1", "time 1", // not profiling: MIOpen's
		"profiling 1 1", "time 1", "conv 1", "time 1", "time 1", "native 1 4", "time 1", // MIOpen did something since
		"conv 1", "time 1", "conv 1 alpha=2", "time 1", // declined, and served by MIOpen
		"conv 1", "time 1", "profiling 1 0", "time 1", "destroy 1", "finish")
	var times []float64
	for _, line := range o.stdout {
		if text, ok := strings.CutPrefix(line, "time "); ok {
			ms, err := strconv.ParseFloat(text, 64)
			require.NoError(t, err)
			times = append(times, ms)
		}
	}
	require.Len(t, times, 10)
	for i, want := range []float64{3, 3, 3, 0, 0, 4, 0, 4, 0, 4} {
		if want == 0 {
			// Not less than what the backend takes; how much more depends on what else the machine does.
			require.Greater(t, times[i], 19.9, "time %d", i)
			require.Less(t, times[i], 2000., "time %d", i)
		} else {
			require.Equal(t, want, times[i], "time %d", i)
		}
	}
	require.Equal(t, times[3], times[4])
	o.requireClean(t)
}

// TestKernelTimeOfOldHost: when MIOpen cannot be asked, what it serves after a forwarded call is noticed
// all the same if the call was to be forwarded.
func TestKernelTimeOfOldHost(t *testing.T) {
	s := scene{backend: reference(t), environment: []string{"REFHIPDNN_DURATION_US=5000", "HOST_CANNOT_TELL_TIME=1"}}
	o := s.play(t, "create 1", "profiling 1 1", "native 1 3", "conv 1", "time 1", "conv 1 alpha=2", "time 1", "destroy 1", "finish")
	require.Regexp(t, `^time ([5-9]|\d\d)\.`, o.stdout[2])
	require.Equal(t, "time 3.000000", o.stdout[4])
}

func TestMissingLibrary(t *testing.T) {
	beside := filepath.Join(t.TempDir(), "libMIOpen.so.1")
	s := scene{wrapper: beside}
	o := s.play(t, "create 1", "conv 1", "conv 1", "stats", "destroy 1", "finish")
	require.Equal(t, []string{opened, native, native, "forwarded=0 native=2 failed=0 hits=0 builds=0"}, o.stdout)
	said := strings.Join(o.stderr, "\n")
	for _, path := range []string{"libhipdnn_backend.so.1 in this process", "libhipdnn_backend.so in this process",
		filepath.Join(filepath.Dir(beside), "libhipdnn_backend.so.1:"), filepath.Join(filepath.Dir(beside), "libhipdnn_backend.so:"),
		"  libhipdnn_backend.so.1:", "  libhipdnn_backend.so:"} {
		require.Equal(t, 1, strings.Count(said, path), path)
	}
	s.environment = []string{strict}
	o = s.play(t, "create 1", "conv 1", "stats", "destroy 1", "finish")
	require.Regexp(t, `^done status=5 y=untouched last=1 text=\[hipDNN-forwarded\] miopenConvolutionForward: hipDNN NOT_INITIALIZED: .*libhipdnn_backend\.so`, o.stdout[1])
	require.Equal(t, "forwarded=0 native=0 failed=1 hits=0 builds=0", o.stdout[2])

	// Explicit names are not made up for.
	for value, reason := range map[string]string{
		"lib/hipdnn": "not an absolute path", "/nowhere/lib.so": "No such file", privateLibrary(t): "it has no function hipdnn",
	} {
		o = scene{backend: value}.play(t, "create 1", "conv 1")
		require.Equal(t, []string{opened, native}, o.stdout)
		require.Len(t, o.stderr, 2)
		require.Contains(t, o.stderr[1], value)
		require.Contains(t, o.stderr[1], reason)
	}
}

// TestSearch: the library is found by its folder, beside the wrapper, and by the loader.
func TestSearch(t *testing.T) {
	dir := filepath.Dir(reference(t))
	for name, s := range map[string]scene{
		"folder": {backend: dir},
		"beside": {wrapper: filepath.Join(dir, "libMIOpen.so.1")},
		"loader": {environment: []string{"LD_LIBRARY_PATH=" + dir}},
		"loaded": {environment: []string{"LD_PRELOAD=" + reference(t)}},
	} {
		o := s.play(t, "create 1", "conv 1", "destroy 1", "finish")
		require.Equal(t, []string{opened, served}, o.stdout, name)
		require.Empty(t, o.stderr, name)
		o.requireClean(t)
	}
}

func TestVersions(t *testing.T) {
	for version, expected := range map[string]string{
		"1.3.0.0": served, "1.0.0.0": served, "0.0.1.0": served, "2.0.0.0": native,
	} {
		o := scene{backend: reference(t), environment: []string{"REFHIPDNN_VERSION=" + version}}.play(t, "create 1", "conv 1", "destroy 1", "finish")
		require.Equal(t, []string{opened, expected}, o.stdout, version)
		if expected == native {
			require.Contains(t, strings.Join(o.stderr, "\n"), "its version is "+version)
		} else {
			o.requireClean(t)
		}
	}
	for _, version := range []string{"", "banana", "1", "1.x.0", "-1.0.0", "1.0"} {
		o := scene{backend: nullBackend(t), environment: []string{"NULL_BACKEND_VERSION=" + version}}.play(t, "create 1", "conv 1")
		require.Equal(t, []string{opened, native}, o.stdout, version)
		require.Contains(t, strings.Join(o.stderr, "\n"), "is not MAJOR.MINOR.PATCH", version)
	}
}

func TestOtherRelease(t *testing.T) {
	o := scene{backend: reference(t), environment: []string{"HOST_VERSION=1"}}.play(t)
	require.Equal(t, []string{"open 1"}, o.stdout)
	require.Len(t, o.stderr, 1)
	require.Contains(t, o.stderr[0], "of different releases")
}

func TestSwitches(t *testing.T) {
	line := "[MIOpen] hipDNN routing: miopenConvolutionForward mode=%s route=%s reason=%s"
	for _, c := range []struct {
		environment         []string
		mode, route, reason string
		result              string
	}{
		{nil, "enabled", "hipdnn", "in-forwarding-set", served},
		{[]string{"MIOPEN_HIPDNN_FORWARDING=0"}, "disabled", "miopen", "forwarding-off", native},
		{[]string{"MIOPEN_HIPDNN_FORWARDING_CONV=0"}, "enabled", "miopen", "disabled-by-env", native},
		{[]string{"MIOPEN_DISABLE_HIPDNN_FOR=miopenConvolutionForward"}, "enabled", "miopen", "disabled-by-env", native},
		{[]string{"HIPDNN_BACKEND_LIBRARY_PATH=/nowhere"}, "enabled", "miopen", "hipdnn-unavailable", native},
	} {
		s := scene{backend: reference(t), environment: append([]string{"MIOPEN_LOG_LEVEL=6"}, c.environment...)}
		o := s.play(t, "create 1", "conv 1", "conv 1", "destroy 1", "finish")
		require.Equal(t, []string{opened, c.result, c.result}, o.stdout, c.environment)
		require.Equal(t, 1, count(o.stderr, fmt.Sprintf(line, c.mode, c.route, c.reason)), "%v\n%v", c.environment, o.stderr)
	}
}

// TestUnasked: what the wrapper did before it had the library is in the numbers and in the report.
func TestUnasked(t *testing.T) {
	o := scene{backend: reference(t), environment: []string{reportHere}}.play(t, "create 1", "unasked 2 3", "conv 1", "unasked 1 0", "stats", "destroy 1", "finish")
	require.Equal(t, []string{opened, served, "forwarded=1 native=3 failed=3 hits=0 builds=1"}, o.stdout)
	said := strings.Join(o.stderr, "\n")
	require.Contains(t, said, "miopenConvolutionForward │     7 │         1 │      3 │      3 │")
	require.Contains(t, said, "library-opening │     3 │")
}

func TestTimingAndReport(t *testing.T) {
	path := filepath.Join(t.TempDir(), "report.txt")
	s := scene{backend: reference(t), environment: []string{"MIOPEN_HIPDNN_FORWARDING_TIMING=1", "MIOPEN_HIPDNN_FORWARDING_MEMINFO=1",
		"MIOPEN_HIPDNN_FORWARDING_REPORT=file:" + path}}
	o := s.play(t, "create 1", "profiling 1 1", "conv 1", "time 1", "conv 1", "conv 1 alpha=3", "destroy 1", "finish")
	d := `\d+(\.\d+)?(ns|µs|ms|s)`
	for i, pattern := range []string{
		"memory before hipdnnCreate: .*", "hipdnnCreate: " + d, "memory after hipdnnCreate: .*",
		"conv plan build: " + d + ` \(descriptors ` + d + ", finalise " + d + ", heuristics " + d + ", config " + d + ", compile " + d + `\) workspace 0, miopenFloat .*`,
		`conv execute \(cold\): ` + d, `conv execute \(warm\): ` + d, "hipdnnDestroy: " + d,
	} {
		require.Regexp(t, `^\[MIOpen->hipDNN\] `+pattern+"$", o.stderr[i])
	}
	require.Len(t, o.stderr, 7)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Contains(t, string(text), "miopenConvolutionForward │     3 │         2 │      1 │      0 │")
	require.Contains(t, string(text), "declined:scalar-value")
	require.Contains(t, string(text), "plans: 1 hits, 1 builds")
}

func count(lines []string, line string) (n int) {
	for _, l := range lines {
		if l == line {
			n++
		}
	}
	return n
}
