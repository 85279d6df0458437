package loop_test

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/shim/trace"
	"example.com/miopen_hipdnn_shim/tests/hardware/device"
	"example.com/miopen_hipdnn_shim/tests/miopendriver"
)

// Timed calls that the driver makes; it makes one more before them.
const iterations = 3

var checks = []miopendriver.Check{miopendriver.ForwardConvolution}

func axes(spatial int) []miopendriver.Axis {
	all := []miopendriver.Axis{
		{Input: 7, Filter: 2, Pad: 1, Stride: 1, Dilation: 1},
		{Input: 16, Filter: 3, Pad: 1, Stride: 1, Dilation: 1},
		{Input: 16, Filter: 3, Pad: 2, Stride: 2, Dilation: 2},
	}
	return all[3-spatial:]
}

var problems = map[string]miopendriver.Convolution{
	"float":     {Batch: 4, Channels: 8, Outputs: 6, Groups: 1, Axes: axes(2)},
	"half":      {Type: miopendriver.Half, Batch: 4, Channels: 8, Outputs: 6, Groups: 1, Axes: axes(2)},
	"bfloat16":  {Type: miopendriver.BFloat16, Batch: 4, Channels: 8, Outputs: 6, Groups: 1, Axes: axes(2)},
	"grouped":   {Batch: 4, Channels: 8, Outputs: 12, Groups: 4, Axes: axes(2)},
	"NHWC":      {Layout: miopendriver.ChannelsLast, Batch: 4, Channels: 8, Outputs: 6, Groups: 1, Axes: axes(2)},
	"3-D":       {Batch: 2, Channels: 4, Outputs: 6, Groups: 1, Axes: axes(3)},
	"3-D NDHWC": {Type: miopendriver.Half, Layout: miopendriver.ChannelsLast, Batch: 2, Channels: 4, Outputs: 6, Groups: 2, Axes: axes(3)},
	"investigation": {Batch: 16, Channels: 16, Outputs: 16, Groups: 1, Axes: []miopendriver.Axis{
		{Input: 16, Filter: 3, Pad: 1, Stride: 1, Dilation: 1}, {Input: 16, Filter: 3, Pad: 1, Stride: 1, Dilation: 1},
	}},
}

// outcome is one run of the driver.
type outcome struct {
	*miopendriver.Output
	routes     string         // the bridge's report
	executions map[string]int // by engine
	entered    map[string]int // the wrapper's entry points
	launches   int            // of kernels
	device     *device.Report
}

// run has the driver compute one problem forward on a device, with forwarding on.
func (w world) run(t *testing.T, on *device.Device, problem miopendriver.Convolution) outcome {
	t.Helper()
	dir := t.TempDir()
	driver := w.driver
	driver.Starter = on
	out, err := driver.Run(t.Context(), miopendriver.Request{
		Operation: problem, Directions: miopendriver.Forward, Verify: true, Timing: true, Iterations: iterations,
		Solvers: miopendriver.Forward.NaiveSolvers(),
		Env: []string{
			"MIOPEN_HIPDNN_FORWARDING=1",
			"MIOPEN_HIPDNN_FORWARDING_REPORT=file:" + filepath.Join(dir, "routes"),
			"MIOPEN_HIPDNN_TRACE=stderr",
			"REFHIPDNN_REPORT=" + filepath.Join(dir, "hipdnn"),
		},
	})
	require.NoError(t, err)
	o := outcome{Output: out, entered: map[string]int{}}
	routes, err := os.ReadFile(filepath.Join(dir, "routes"))
	require.NoError(t, err, out.Stderr)
	o.routes = string(routes)
	text, err := os.ReadFile(filepath.Join(dir, "hipdnn"))
	require.NoError(t, err, out.Stderr)
	var report struct{ Executions map[string]int }
	require.NoError(t, json.Unmarshal(text, &report), "%s", text)
	o.executions = report.Executions
	calls, err := trace.ReadLines(strings.NewReader(out.Stderr))
	require.NoError(t, err)
	for _, name := range calls {
		o.entered[name]++
	}
	o.device, err = on.Report(out.Command)
	require.NoError(t, err)
	for _, k := range o.device.Kernels {
		o.launches += k.Executed + k.NoOp + k.Failed
	}
	return o
}

var convolutionRow = regexp.MustCompile(`miopenConvolutionForward\s*│\s*(\d+)\s*│\s*(\d+)\s*│\s*0\s*│\s*0\s*│`)

// requireWay requires that every call went the whole way, and entered the wrapper once.
func (o outcome) requireWay(t *testing.T) (calls int) {
	t.Helper()
	m := convolutionRow.FindStringSubmatch(o.routes)
	require.NotNil(t, m, "%s\n%s", o.routes, o.Stderr)
	require.Equal(t, m[1], m[2], o.routes)
	calls, err := strconv.Atoi(m[1])
	require.NoError(t, err)
	require.GreaterOrEqual(t, calls, iterations, o.routes)
	require.Equal(t, map[string]int{engine: calls}, o.executions, "what hipDNN executed, and on which engine")

	// The plugin's calls of MIOpen are of the immediate mode, which the driver does not use here.
	require.Equal(t, calls, o.entered["miopenConvolutionForward"])
	for name := range o.entered {
		require.NotContains(t, name, "Immediate")
		require.NotContains(t, name, "CompileSolution")
	}
	require.Equal(t, 1, o.entered["miopenCreateWithStream"]+o.entered["miopenCreate"], "the plugin has a handle of its own, which the wrapper does not see")
	require.Empty(t, o.device.Violations)
	return calls
}

// TestLoop: each problem verifies against the driver's computation on the CPU. The driver has MIOpen find a solution first,
// which leaves the right result behind; so a first run fills MIOpen's database of finds, after which a find launches no kernel
// and what is verified was computed by the forwarded calls. The control, with kernels that do nothing, goes the same way and fails.
func TestLoop(t *testing.T) {
	w := newWorld(t)
	idle, err := w.device.WithoutKernels()
	require.NoError(t, err)
	for _, name := range slices.Sorted(maps.Keys(problems)) {
		t.Run(name, func(t *testing.T) {
			first := w.run(t, idle, problems[name])
			calls := first.requireWay(t)
			require.Greater(t, first.launches, calls, "the find launches kernels")

			control := w.run(t, idle, problems[name])
			require.Equal(t, calls, control.requireWay(t))
			require.Equal(t, calls, control.launches, "one kernel for each call, and none for the find")
			require.Empty(t, control.Report.Undetected(checks), "%s%s", control.Stdout, control.Stderr)

			o := w.run(t, w.device, problems[name])
			require.Equal(t, calls, o.requireWay(t))
			require.Equal(t, calls, o.launches)
			require.Empty(t, o.Findings(checks), "%s%s", o.Stdout, o.Stderr)
			t.Logf("%d calls, each once through the wrapper, on %s: %s", calls, engine, o.device.Kernels[0].Name)
		})
	}
}
