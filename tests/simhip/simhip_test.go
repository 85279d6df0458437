package simhip_test

import (
	"bytes"
	"context"
	"debug/elf"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Durations of the client's kernels that do nothing, in microseconds: 50 ms, 2 ms, a second and an hour.
const kernelTimes = "slow=50000,brief=2000,long=1000000,endless=3600000000"

// report is what SIMHIP_REPORT holds.
type report struct {
	Device struct {
		Architecture string `json:"architecture"`
		ComputeUnits int    `json:"compute_units"`
		Devices      int    `json:"devices"`
		Memory       int64  `json:"memory"`
		Execute      bool   `json:"execute"`
	} `json:"device"`
	Kernels []struct {
		Name         string  `json:"name"`
		Executed     int     `json:"executed"`
		Noop         int     `json:"noop"`
		Failed       int     `json:"failed"`
		Microseconds float64 `json:"microseconds"`
	} `json:"kernels"`
	ViolationCount int `json:"violation_count"`
	Violations     []struct {
		Kind string `json:"kind"`
		Text string `json:"text"`
	} `json:"violations"`
	Leaks struct {
		Count       int   `json:"count"`
		Bytes       int64 `json:"bytes"`
		Allocations []struct {
			What  string `json:"what"`
			Bytes int64  `json:"bytes"`
			By    string `json:"by"`
		} `json:"allocations"`
	} `json:"leaks"`
	Pending int `json:"pending"`
}

// outcome is what a run of the client left behind.
type outcome struct {
	stdout, stderr string
	status         syscall.WaitStatus
	report         *report // nil when none was written
	took           time.Duration
}

// run runs a scenario, with variables in its environment.
func run(t *testing.T, scenario string, environment ...string) outcome {
	t.Helper()
	return runClient(t, scenarios(t), filepath.Dir(library(t)), scenario, environment...)
}

// runClient is run with the client and the library's folder by name.
func runClient(t *testing.T, client, libraries, scenario string, environment ...string) outcome {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	path := filepath.Join(t.TempDir(), "report.json")
	cmd := exec.CommandContext(ctx, client, scenario)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.Env = append([]string{
		"LD_LIBRARY_PATH=" + libraries,
		"SIMHIP_DURATION=" + kernelTimes,
		"SIMHIP_REPORT=" + path,
	}, environment...)
	start := time.Now()
	err := cmd.Run()
	o := outcome{stdout: stdout.String(), stderr: stderr.String(), took: time.Since(start)}
	require.NoError(t, ctx.Err(), "%s hangs:\n%s%s", scenario, o.stdout, o.stderr)
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		require.NoError(t, err)
	}
	o.status = cmd.ProcessState.Sys().(syscall.WaitStatus)
	if data, err := os.ReadFile(path); err == nil {
		o.report = &report{}
		require.NoError(t, json.Unmarshal(data, o.report), "%s", data)
	}
	return o
}

// passes requires that the scenario found everything as it should.
func passes(t *testing.T, scenario string, environment ...string) outcome {
	t.Helper()
	o := run(t, scenario, environment...)
	require.Zero(t, o.status, "%s: %s%s", scenario, o.stdout, o.stderr)
	require.Equal(t, "done\n", o.stdout)
	require.NotNil(t, o.report)
	return o
}

// silent requires that simhip had nothing to say about the scenario.
func silent(t *testing.T, scenario string, environment ...string) outcome {
	t.Helper()
	o := passes(t, scenario, environment...)
	require.Empty(t, o.stderr)
	require.Empty(t, o.report.Violations)
	require.Zero(t, o.report.ViolationCount)
	require.Zero(t, o.report.Leaks.Count)
	return o
}

// TestBehaviour: scenarios that do everything as they should, and check in themselves what they get.
func TestBehaviour(t *testing.T) {
	for _, c := range []struct {
		scenario    string
		environment []string
	}{
		{"ordering", nil},
		{"async", nil},
		{"durations", nil},
		{"event-errors", nil},
		{"waits", nil},
		{"late-waiter", []string{"SIMHIP_DURATION=brief=2000,naive*=1"}},
		{"null-stream", nil},
		{"host-functions", nil},
		{"fresh", nil},
		{"queries", nil},
		{"out-of-memory", []string{"SIMHIP_MEMORY=1M"}},
		{"in-order", nil},
		{"capture", nil},
		{"capture-rules", nil},
		{"injection", []string{"SIMHIP_FAIL=hipMalloc:3=hipErrorOutOfMemory,hipModuleLaunchKernel:2+=hipErrorLaunchFailure"}},
		{"devices", []string{"SIMHIP_DEVICES=2", "SIMHIP_CU=110", "SIMHIP_ARCH=gfx90a:sramecc+:xnack-"}},
		{"launches", nil},
		{"stress", nil},
		{"forked", nil},
		{"ordered-right", nil},
	} {
		t.Run(c.scenario, func(t *testing.T) { silent(t, c.scenario, c.environment...) })
	}
	t.Run("unversioned", func(t *testing.T) { // makes no use of a device, so there is no report
		o := run(t, "unversioned")
		require.Zero(t, o.status, o.stdout)
	})
	t.Run("no-device", func(t *testing.T) { // which has no runtime and so no report
		o := run(t, "no-device", "SIMHIP_DEVICES=0")
		require.Zero(t, o.status, o.stdout)
		require.Empty(t, o.stderr)
	})
	t.Run("forked-first", func(t *testing.T) { // where the child has the runtime, and writes the report
		silent(t, "forked-first")
	})
}

// TestPrevious runs scenarios that were linked against libamdhip64.so.6, in a folder where nothing else is.
func TestPrevious(t *testing.T) {
	client, folder := previousScenarios(t), t.TempDir()
	require.NoError(t, os.Symlink(previous(t), filepath.Join(folder, "libamdhip64.so.6")))
	file, err := elf.Open(client)
	require.NoError(t, err)
	defer file.Close()
	needed, err := file.DynString(elf.DT_NEEDED)
	require.NoError(t, err)
	require.Contains(t, needed, "libamdhip64.so.6")
	require.NotContains(t, needed, "libamdhip64.so.7")
	for _, scenario := range []string{"ordering", "durations", "waits", "fresh", "capture", "launches", "kernel-past-end-right", "leak-right"} {
		t.Run(scenario, func(t *testing.T) {
			o := runClient(t, client, folder, scenario)
			require.Zero(t, o.status, "%s%s", o.stdout, o.stderr)
			require.NotNil(t, o.report)
			require.Zero(t, o.report.ViolationCount)
		})
	}
	for _, scenario := range []string{"kernel-past-end", "use-after-free", "streams-unordered"} {
		t.Run(scenario, func(t *testing.T) { require.NotZero(t, runClient(t, client, folder, scenario).report.ViolationCount) })
	}
	require.Equal(t, 2, runClient(t, client, folder, "leak").report.Leaks.Count)
	// The control: it is the library in that folder and no other.
	broken := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(broken, "libamdhip64.so.6"), nil, 0o600))
	o := runClient(t, client, broken, "ordering")
	require.NotZero(t, o.status)
	require.Contains(t, o.stderr, filepath.Join(broken, "libamdhip64.so.6"))
}

// TestBehaviourIsChecked is the control of TestBehaviour: a scenario whose environment is not what it expects fails.
func TestBehaviourIsChecked(t *testing.T) {
	for scenario, environment := range map[string]string{
		"durations":     "SIMHIP_DURATION=slow=50000,brief=2200,endless=1",
		"async":         "SIMHIP_DURATION=slow=1000",
		"out-of-memory": "SIMHIP_MEMORY=1G",
		"injection":     "SIMHIP_FAIL=hipMalloc:4=hipErrorOutOfMemory",
		"devices":       "SIMHIP_DEVICES=3",
	} {
		t.Run(scenario, func(t *testing.T) {
			o := run(t, scenario, environment)
			require.Equal(t, 1, o.status.ExitStatus(), o.stdout)
			require.Contains(t, o.stdout, "line ")
		})
	}
}

// TestViolations: each misuse is reported, with these texts among what is said, and its twin that does it right is not.
func TestViolations(t *testing.T) {
	for _, c := range []struct {
		scenario, kind string
		count          int
		texts          []string
	}{
		{"copy-past-end", "out of bounds", 3, []string{
			"hipMemcpy writes 1001 bytes (destination) at offset 0 of device allocation 1 (1000 bytes from hipMalloc), 1 bytes past its end",
			"hipMemcpyAsync reads 1000 bytes (source) at offset 1 of device allocation 1",
			"hipMemcpy reads 1 bytes (source) at offset 1000 of device allocation 1",
		}},
		{"fill-past-end", "out of bounds", 1, []string{"hipMemset writes 991 bytes (destination) at offset 10 of device allocation 1"}},
		{"kernel-past-end", "out of bounds", 1, []string{
			"naive_conv_ab_packed_fwd_nchw_float_double_float writes 400 bytes (p_out) at offset 0 of device allocation 3 (396 bytes from hipMalloc), 4 bytes past its end",
		}},
		{"host-past-end", "out of bounds", 1, []string{"1 bytes were written past its end: offset 0 of pinned allocation 1 (1000 bytes from hipHostMalloc)"}},
		{"use-after-free", "use after free", 3, []string{
			"hipMemcpy writes 10 bytes (destination) at offset 0 of device allocation 1 (1000 bytes from hipMalloc), freed by hipFree",
			"hipMemset writes 10 bytes (destination) at offset 500",
			"reads 4 bytes (p_in) at offset 0 of device allocation 1",
		}},
		{"use-after-free-async", "use after free", 1, []string{"hipMemsetAsync writes 1000 bytes (destination) at offset 0 of device allocation 1 (1000 bytes from hipMallocAsync), freed by hipFreeAsync"}},
		{"wrong-free", "wrong free", 5, []string{
			"hipFree of offset 0 of pinned allocation 2",
			"hipHostFree of offset 0 of device allocation 1",
			"hipFree of offset 256 of device allocation 1",
			"hipFree of a pointer that is no allocation",
			"freed by hipFree before",
		}},
		{"wrong-direction", "wrong direction", 3, []string{
			"hipMemcpy of kind device to host from memory of the host that is not registered to offset 0 of device allocation 1",
			"of kind device to device",
			"of kind host to host",
		}},
		{"host-reads-too-soon", "missing synchronisation with the host", 1, []string{"the host reads byte 40 of the host memory of hipMemcpyAsync into offset 0 of pinned allocation 2"}},
		{"host-writes-too-soon", "missing synchronisation with the host", 1, []string{"the host writes byte 12 of the host memory of hipMemcpyAsync out of offset 0 of pinned allocation 2"}},
		{"streams-unordered", "missing synchronisation", 2, []string{
			"hipMemcpyAsync on stream 3 reads 4096 bytes (source) at offset 0 of device allocation 1 (4096 bytes from hipMalloc), some of which hipMemsetAsync on stream 2 writes",
			"hipMemsetAsync on stream 2 writes 100 bytes (destination) at offset 100 of device allocation 1 (4096 bytes from hipMalloc), some of which hipMemcpyAsync on stream 3 reads",
		}},
		{"kernels-unordered", "missing synchronisation", 1, []string{"reads 256 bytes (p_in) at offset 0 of device allocation 3"}},
	} {
		t.Run(c.scenario, func(t *testing.T) {
			o := passes(t, c.scenario)
			require.Equal(t, c.count, o.report.ViolationCount)
			require.Len(t, o.report.Violations, c.count)
			for i, text := range c.texts {
				require.Equal(t, c.kind, o.report.Violations[i].Kind)
				require.Contains(t, o.report.Violations[i].Text, text)
				require.Contains(t, o.stderr, "simhip: "+c.kind+": ")
				require.Contains(t, o.stderr, text)
			}
			require.Len(t, strings.Split(strings.TrimSpace(o.stderr), "\n"), c.count)
		})
		t.Run(c.scenario+"-right", func(t *testing.T) { silent(t, c.scenario+"-right") })
	}
	t.Run("call-in-host-function", func(t *testing.T) {
		o := passes(t, "call-in-host-function")
		require.Len(t, o.report.Violations, 1)
		require.Equal(t, "call in a host function", o.report.Violations[0].Kind)
	})
	t.Run("host-far-past-end", func(t *testing.T) { // is named before it ends the process as usual
		o := run(t, "host-far-past-end")
		require.True(t, o.status.Signaled())
		require.Equal(t, syscall.SIGSEGV, o.status.Signal())
		require.Equal(t, "simhip: out of bounds: the host writes offset 1024 of pinned allocation 1 (1000 bytes from hipHostMalloc)\n", o.stderr)
		silent(t, "host-far-past-end-right")
	})
	t.Run("fault-handled", func(t *testing.T) {
		o := run(t, "fault-handled")
		require.Equal(t, 42, o.status.ExitStatus(), o.stdout)
		require.Contains(t, o.stderr, "simhip: use after free: the host writes offset 1 of device allocation 1 (4096 bytes from hipMalloc), freed by hipFree\n")
	})
	t.Run("abort", func(t *testing.T) {
		o := run(t, "fill-past-end", "SIMHIP_VIOLATION=abort")
		require.True(t, o.status.Signaled())
		require.Equal(t, syscall.SIGABRT, o.status.Signal())
		require.Contains(t, o.stderr, "simhip: out of bounds: hipMemset writes")
		silent(t, "fill-past-end-right", "SIMHIP_VIOLATION=abort")
	})
}

func TestLeaks(t *testing.T) {
	o := passes(t, "leak")
	require.Equal(t, "simhip: leak: 2 allocations, 13122 bytes in all\n"+
		"simhip: leak: 1 x 12345 bytes of device memory from hipMalloc\n"+
		"simhip: leak: 1 x 777 bytes of pinned memory from hipHostMalloc\n", o.stderr)
	require.Equal(t, 2, o.report.Leaks.Count)
	require.EqualValues(t, 13122, o.report.Leaks.Bytes)
	require.Len(t, o.report.Leaks.Allocations, 2)
	silent(t, "leak-right")
}

// TestKernels: what is executed, what is not, and how that is counted.
func TestKernels(t *testing.T) {
	const naive = "naive_conv_ab_packed_fwd_nchw_float_double_float"
	type counts struct{ executed, noop, failed int }
	kernels := func(o outcome) map[string]counts {
		found := map[string]counts{}
		for _, k := range o.report.Kernels {
			found[k.Name] = counts{k.Executed, k.Noop, k.Failed}
		}
		return found
	}
	require.Equal(t, map[string]counts{naive: {executed: 1}}, kernels(silent(t, "kernel-past-end-right")))
	require.Equal(t, map[string]counts{naive: {failed: 1}}, kernels(passes(t, "kernel-past-end")))
	require.Equal(t, map[string]counts{"unknown": {noop: 1}}, kernels(silent(t, "unknown-counted")))
	require.Equal(t, map[string]counts{naive: {noop: 1}}, kernels(silent(t, "not-executed", "SIMHIP_EXECUTE=none")))

	o := passes(t, "unknown-refused", "SIMHIP_UNKNOWN=error")
	require.Equal(t, map[string]counts{"unknown": {failed: 1}}, kernels(o))
	require.Contains(t, o.stderr, "simhip: kernel failed: unknown: nobody knows how to execute it")

	o = silent(t, "durations")
	for _, k := range o.report.Kernels {
		if k.Name == "slow" {
			require.GreaterOrEqual(t, k.Noop, 2)
			require.Equal(t, 50000*float64(k.Noop), k.Microseconds)
		}
	}
}

// TestExit: a process may end with work in a queue. It is done if that does not take long.
func TestExit(t *testing.T) {
	o := silent(t, "exit-pending")
	require.Zero(t, o.report.Pending)
	require.GreaterOrEqual(t, o.took, 100*time.Millisecond)
	o = passes(t, "exit-abandoned")
	require.Equal(t, 2, o.report.Pending)
	require.Less(t, o.took, time.Minute)
}

func TestTrace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "trace")
	silent(t, "unknown-counted", "SIMHIP_TRACE="+path)
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	var calls []string
	for _, line := range strings.Split(strings.TrimSpace(string(data)), "\n") {
		_, call, ok := strings.Cut(line, " ") // the thread's number
		require.True(t, ok, line)
		calls = append(calls, call)
	}
	require.Equal(t, []string{
		"hipModuleLoadData = hipSuccess",
		"hipModuleGetFunction = hipSuccess",
		"launch unknown grid 1,1,1 block 64,1,1 arguments 12 bytes on the null stream",
		"hipModuleLaunchKernel = hipSuccess",
		"hipDeviceSynchronize = hipSuccess",
	}, calls)
}

// TestEnvironment: a value that makes no sense ends the process, so that no test passes because of a typing error.
func TestEnvironment(t *testing.T) {
	for _, setting := range []string{
		"SIMHIP_ARCH=mi300", "SIMHIP_ARCH=gfx94x", "SIMHIP_ARCH=gfx942:sramec+", "SIMHIP_CU=0", "SIMHIP_CU=x", "SIMHIP_DEVICES=65", "SIMHIP_DEVICES=-1", "SIMHIP_MEMORY=1T",
		"SIMHIP_THREADS=0", "SIMHIP_EXECUTE=all", "SIMHIP_UNKNOWN=ignore", "SIMHIP_VIOLATION=warn",
		"SIMHIP_DURATION=slow", "SIMHIP_DURATION=slow=-1", "SIMHIP_DURATION==1", "SIMHIP_DURATION=slow=nan",
		"SIMHIP_FAIL=hipMalloc", "SIMHIP_FAIL=hipMalloz:1=hipErrorOutOfMemory", "SIMHIP_FAIL=hipMalloc:0=hipErrorOutOfMemory", "SIMHIP_FAIL=hipMalloc:1=hipErrorNone",
		"SIMHIP_FAIL=hipMalloc:1=hipSuccess", "SIMHIP_FAIL=hipMalloc:x=hipErrorUnknown",
	} {
		t.Run(setting, func(t *testing.T) {
			o := run(t, "unknown-counted", setting)
			require.Equal(t, 2, o.status.ExitStatus())
			require.Contains(t, o.stderr, "simhip: "+setting+": expected ")
		})
	}
	silent(t, "unknown-counted", "SIMHIP_MEMORY=2G", "SIMHIP_THREADS=1", "SIMHIP_DURATION=unk*=12.5,*=1", "SIMHIP_EXECUTE=isa")
}
