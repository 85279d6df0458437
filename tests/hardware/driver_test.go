// Package hardware_test runs the real MIOpen, stock and split, on a device.
package hardware_test

import (
	"context"
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/shim/trace"
	"example.com/miopen_hipdnn_shim/tests/hardware/device"
	"example.com/miopen_hipdnn_shim/tests/hardware/subject"
	"example.com/miopen_hipdnn_shim/tests/miopendriver"
	"example.com/miopen_hipdnn_shim/tests/miopendriver/shapes"
	"example.com/miopen_hipdnn_shim/tests/miopendriver/verification"
	"example.com/miopen_hipdnn_shim/tests/runfile"
)

// The problems of the investigation's smoke runs, §1.
var (
	smokeConvolution = miopendriver.Convolution{Batch: 1, Channels: 3, Outputs: 16, Groups: 1, Axes: []miopendriver.Axis{
		{Input: 32, Filter: 3, Pad: 1, Stride: 1, Dilation: 1}, {Input: 32, Filter: 3, Pad: 1, Stride: 1, Dilation: 1},
	}}
	smokeGemm       = miopendriver.Gemm{M: 64, N: 64, K: 64}
	smokeActivation = miopendriver.Activation{Function: miopendriver.ReLU, Batch: 1, Channels: 3, Height: 32, Width: 32}
)

// tracedRequest is the run whose calls the investigation listed, §2. MIOpen chose the solver there by itself; here it is
// given, since MIOpen chooses by what it measures.
var tracedRequest = miopendriver.Request{
	Operation: miopendriver.Convolution{Type: miopendriver.Half, Batch: 1, Channels: 1, Outputs: 1, Groups: 1, Axes: []miopendriver.Axis{
		{Input: 8, Filter: 3, Pad: 1, Stride: 1, Dilation: 1}, {Input: 8, Filter: 3, Pad: 1, Stride: 1, Dilation: 1},
	}},
	Directions: miopendriver.Forward, Timing: true, Iterations: 1, Solvers: miopendriver.Forward.NaiveSolvers(),
}

// seed draws the random shapes.
const seed = 1

var libraries = []subject.Library{subject.Stock, subject.Split}

// workshop is a folder of this process.
var workshop string

func TestMain(m *testing.M) {
	var err error
	if workshop, err = os.MkdirTemp("", "driver-test-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	os.RemoveAll(workshop)
	os.Exit(code)
}

// compiled makes a home with compiled kernels, once for all tests; each starts from copies of it. It takes the device for
// that, so a test calls it before it takes the device itself.
var compiled = sync.OnceValues(func() (home string, err error) {
	config, err := device.FromEnvironment(filepath.Join(workshop, "device"))
	if err != nil {
		return "", err
	}
	d, err := device.Open(context.Background(), config)
	if err != nil {
		return "", err
	}
	defer d.Close()
	s, err := subject.New(d)
	if err != nil {
		return "", err
	}
	home = filepath.Join(workshop, "kernels")
	return home, s.CompileKernels(context.Background(), subject.Split, home)
})

// fixture is the device with what runs on it.
type fixture struct {
	*subject.Subject
	kernels string
}

func take(t *testing.T) fixture {
	t.Helper()
	kernels, err := compiled()
	require.NoError(t, err)
	s, err := subject.New(device.Take(t))
	require.NoError(t, err)
	return fixture{s, kernels}
}

// driver is MIOpenDriver on a library, with a home in which nothing but the naive kernels is compiled.
func (f fixture) driver(t *testing.T, library subject.Library) miopendriver.Driver {
	t.Helper()
	home := filepath.Join(t.TempDir(), "home")
	require.NoError(t, os.CopyFS(home, os.DirFS(f.kernels)))
	d, err := f.Driver(library, home)
	require.NoError(t, err)
	return d
}

// verify verifies requests on a library, with their controls.
func (f fixture) verify(t *testing.T, library subject.Library, requests []miopendriver.Request) *verification.Report {
	t.Helper()
	w, err := f.Worker(library, t.TempDir(), f.kernels)
	require.NoError(t, err)
	report, err := verification.Run(t.Context(), []verification.Worker{w}, requests)
	require.NoError(t, err)
	for _, c := range report.Cases {
		require.Empty(t, c.Findings, "%v %v on the %s library:\n%s%s", c.Request.Operation, c.Request.Directions, library, c.Output.Stdout, c.Output.Stderr)
		for control, why := range c.Passed {
			require.Empty(t, why, "%v %v on the %s library: the control %s passes", c.Request.Operation, c.Request.Directions, library, control)
		}
	}
	require.Equal(t, verification.Held, report.Status())
	if w.Idle != nil {
		require.Equal(t, verification.Count{Held: len(requests), Of: len(requests)}, report.Control(verification.IdleKernels))
	}
	for _, c := range report.Uncontrolled() {
		t.Logf("no control for %v on this device", c.Request.Operation)
	}
	t.Logf("%s: problems verified: %v, verdicts: %v, controls failed: %s %v, %s %v", library, report.Problems(), report.Verdicts(),
		verification.NegatedReferences, report.Control(verification.NegatedReferences), verification.IdleKernels, report.Control(verification.IdleKernels))
	return report
}

// run runs a request that has no control, and requires that the device has nothing against how it was used.
func (f fixture) run(t *testing.T, d miopendriver.Driver, request miopendriver.Request) *miopendriver.Output {
	t.Helper()
	out, err := d.Run(t.Context(), request)
	require.NoError(t, err)
	require.Empty(t, f.Misuse(out), "%v", request.Operation)
	return out
}

// requireSame: stock and split said the same of a request, times aside, and gave back the same memory.
func (f fixture) requireSame(t *testing.T, stock, split *miopendriver.Output, rules ...miopendriver.Rule) {
	t.Helper()
	f.requireSameLeaks(t, stock, split)
	rules = append(rules, miopendriver.OutputRules...)
	require.NotEmpty(t, stock.Stdout)
	require.Equal(t, miopendriver.Normalise(stock.Stdout, rules...), miopendriver.Normalise(split.Stdout, rules...))
	require.Equal(t, stock.Report.Solutions, split.Report.Solutions)
	require.Equal(t, stock.Status, split.Status)
	require.NotContains(t, stock.Stderr, trace.LinePrefix)
	require.NotContains(t, split.Stderr, trace.LinePrefix)
}

// requireSameLeaks: stock and split left as much device memory behind.
func (f fixture) requireSameLeaks(t *testing.T, stock, split *miopendriver.Output) {
	t.Helper()
	ofStock, err := f.Leaks(stock)
	require.NoError(t, err)
	ofSplit, err := f.Leaks(split)
	require.NoError(t, err)
	require.Equal(t, ofStock, ofSplit)
	t.Logf("leaks on both: %+v", ofStock)
}

// TestConvolution: the smoke runs of the convolution, with solvers whose kernels are known to compute just that; all
// directions in one run, and each by itself with times.
func TestConvolution(t *testing.T) {
	f := take(t)
	requests := []miopendriver.Request{{
		Operation: smokeConvolution, Directions: miopendriver.AllDirections, Solvers: miopendriver.AllDirections.NaiveSolvers(),
	}}
	for _, direction := range miopendriver.AllDirections.List() {
		requests = append(requests, miopendriver.Request{
			Operation: smokeConvolution, Directions: direction, Timing: true, Solvers: direction.NaiveSolvers(),
		})
	}
	reports := map[subject.Library]*verification.Report{}
	for _, library := range libraries {
		reports[library] = f.verify(t, library, requests)
		require.Equal(t, verification.Count{Held: len(requests), Of: len(requests)}, reports[library].Control(verification.NegatedReferences))
	}
	for i, r := range requests {
		stock, split := reports[subject.Stock].Cases[i].Output, reports[subject.Split].Cases[i].Output
		f.requireSame(t, stock, split)
		if r.Timing {
			require.Len(t, split.Report.Solutions, 1)
			require.Equal(t, r.Directions.NaiveSolver(), split.Report.Solutions[0].Solver)
			require.Equal(t, r.Directions, split.Report.Solutions[0].Direction)
			require.Len(t, split.Report.Stats, 1)
		}
	}
}

// TestActivation: the smoke run of the activation, forward and backward.
func TestActivation(t *testing.T) {
	f := take(t)
	requests := []miopendriver.Request{
		{Operation: smokeActivation, Directions: miopendriver.Forward | miopendriver.BackwardData},
		{Operation: smokeActivation, Directions: miopendriver.Forward | miopendriver.BackwardData, Timing: true},
	}
	stock, split := f.verify(t, subject.Stock, requests), f.verify(t, subject.Split, requests)
	for i := range requests {
		f.requireSame(t, stock.Cases[i].Output, split.Cases[i].Output)
	}
}

// TestActivations: every function forward, in both types that the driver has. The driver's reference for the gradient of
// most of them is made from the device's own forward result, so that idle kernels verify: that is no check.
func TestActivations(t *testing.T) {
	var requests []miopendriver.Request
	for _, typ := range []miopendriver.Type{miopendriver.Float, miopendriver.Half} {
		for _, function := range miopendriver.Functions {
			requests = append(requests, miopendriver.Request{
				Operation:  miopendriver.Activation{Type: typ, Function: function, Batch: 2, Channels: 3, Height: 5, Width: 7},
				Directions: miopendriver.Forward,
			})
		}
	}
	take(t).verify(t, subject.Split, requests)
}

// TestUnforced: left alone, MIOpen chooses the same solvers in stock and split, and the smoke runs say the same. Whether
// they are right is the driver's to say where the device executed what was chosen, and hardware's alone where it did not.
func TestUnforced(t *testing.T) {
	convolution := miopendriver.Request{Operation: smokeConvolution, Directions: miopendriver.AllDirections, Verify: true, Timing: true}
	unmeasured := convolution
	unmeasured.Env = []string{"MIOPEN_FIND_MODE=FAST"} // by databases and heuristics alone
	for name, c := range map[string]struct {
		request miopendriver.Request
		// MIOpen chooses by what it measures. Solvers that are equally fast for once may change places, in stock as in
		// split; a difference that the split makes is there each time.
		attempts int
	}{
		"convolution":            {convolution, 3},
		"convolution unmeasured": {unmeasured, 1},
		"gemm":                   {miopendriver.Request{Operation: smokeGemm, Directions: miopendriver.Forward, Verify: true}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			f := take(t)
			var stock, split *miopendriver.Output
			for range c.attempts {
				stock, split = f.unforced(t, subject.Stock, c.request), f.unforced(t, subject.Split, c.request)
				if slices.Equal(stock.Report.Solutions, split.Report.Solutions) {
					break
				}
				t.Logf("stock chose %v, split %v", stock.Report.Solutions, split.Report.Solutions)
			}
			for _, s := range split.Report.Solutions {
				t.Logf("%v: %d/%s", s.Direction, s.ID, s.Solver)
			}
			f.requireSame(t, stock, split, miopendriver.ErrorRule)
		})
	}
}

// unforced runs a request from a fresh home.
func (f fixture) unforced(t *testing.T, library subject.Library, request miopendriver.Request) *miopendriver.Output {
	t.Helper()
	out := f.run(t, f.driver(t, library), request)
	require.Zero(t, out.Status, out.Stderr)
	checks, err := request.Checks()
	require.NoError(t, err)
	if request.Timing {
		require.Len(t, out.Report.Solutions, len(checks))
	}
	leftOut, err := f.LeftOut(out)
	require.NoError(t, err)
	if len(leftOut) == 0 {
		require.Empty(t, out.Findings(checks), out.Stdout)
		return out
	}
	t.Logf("hardware only: results of %v on the %s library, since the device left out %d kernels, such as %.60s", request.Operation, library, len(leftOut), leftOut[0])
	return out
}

// TestTrace: the calls that the driver makes go through the wrapper, all of them and in the order that is known (§2), and
// the wrapper changes nothing of what the driver prints.
func TestTrace(t *testing.T) {
	f := take(t)
	args, err := tracedRequest.Arguments()
	require.NoError(t, err)
	require.Equal(t, "convfp16 -n 1 -c 1 -H 8 -W 8 -k 1 -y 3 -x 3 -p 1 -q 1 -u 1 -v 1 -l 1 -j 1 -m conv -g 1 -F 1 -t 1 -i 1 -V 0", strings.Join(args, " "))

	traced := tracedRequest
	traced.Env = []string{"MIOPEN_HIPDNN_TRACE=stderr"}
	outputs := map[subject.Library]*miopendriver.Output{}
	for _, library := range libraries {
		out := f.run(t, f.driver(t, library), traced)
		require.Zero(t, out.Status, out.Stderr)
		require.Equal(t, []miopendriver.Solution{{Direction: miopendriver.Forward, Algorithm: 1, ID: 85, Solver: "ConvDirectNaiveConvFwd"}}, out.Report.Solutions)
		outputs[library] = out
	}
	stock, split := outputs[subject.Stock], outputs[subject.Split]
	calls, err := trace.ReadLines(strings.NewReader(split.Stderr))
	require.NoError(t, err)
	want, of, err := miopendriver.Calls(split.Report.Version)
	require.NoError(t, err)
	if difference := trace.Compare(want, calls); difference != nil {
		require.Fail(t, "other calls than are known", "MIOpenDriver %s, compared with the list of %s: %+v\nIf this is another driver, and not another wrapper, its list and the reasons belong in tests/miopendriver/calls.\nAll calls:\n%s",
			split.Report.Version, of, *difference, strings.Join(calls, "\n"))
	}
	t.Logf("MIOpenDriver %s: %d calls, as in the list of %s", split.Report.Version, len(calls), of)

	// What the wrapper saw is what the driver can call.
	imported := imports(t, f.ROCm.Driver)
	for _, call := range calls {
		require.Contains(t, imported, call)
	}
	require.Empty(t, callsOf(t, stock.Stderr), "the stock library has no wrapper")
	plain := f.run(t, f.driver(t, subject.Split), tracedRequest)
	require.Empty(t, callsOf(t, plain.Stderr), "tracing is off")
	for _, out := range []*miopendriver.Output{split, plain} {
		f.requireSameLeaks(t, stock, out)
		require.Equal(t, miopendriver.Normalise(stock.Stdout, miopendriver.OutputRules...), miopendriver.Normalise(out.Stdout, miopendriver.OutputRules...))
	}
}

func callsOf(t *testing.T, stderr string) []string {
	t.Helper()
	calls, err := trace.ReadLines(strings.NewReader(stderr))
	require.NoError(t, err)
	return calls
}

// imports are the names that a program imports.
func imports(t *testing.T, path string) []string {
	t.Helper()
	file, err := elf.Open(path)
	require.NoError(t, err)
	defer file.Close()
	symbols, err := file.ImportedSymbols()
	require.NoError(t, err)
	var names []string
	for _, s := range symbols {
		names = append(names, s.Name)
	}
	return names
}

// TestLog: MIOpen's own log, in full, has the same lines from the split as from the stock library, and no name of a
// renamed entry point.
func TestLog(t *testing.T) {
	f := take(t)
	logged := []string{"MIOPEN_ENABLE_LOGGING=1", "MIOPEN_ENABLE_LOGGING_CMD=1", "MIOPEN_LOG_LEVEL=6"}
	for name, request := range map[string]miopendriver.Request{
		"convolution": {Operation: smokeConvolution, Directions: miopendriver.AllDirections, Timing: true, Iterations: 1, Solvers: miopendriver.AllDirections.NaiveSolvers()},
		"activation":  {Operation: smokeActivation, Directions: miopendriver.Forward | miopendriver.BackwardData, Iterations: 1},
	} {
		t.Run(name, func(t *testing.T) {
			logs := map[subject.Library]miopendriver.Log{}
			home := filepath.Join(t.TempDir(), "home") // one path for both: it is all over the log
			for _, library := range libraries {
				require.NoError(t, os.RemoveAll(home))
				require.NoError(t, os.CopyFS(home, os.DirFS(f.kernels)))
				d, err := f.Driver(library, home)
				require.NoError(t, err)
				request.Env = logged
				out := f.run(t, d, request)
				require.Zero(t, out.Status, out.Stderr)
				require.NotContains(t, out.Stderr, "_impl")
				require.NotContains(t, out.Stdout, "_impl")
				logs[library] = miopendriver.ParseLog(out.Stderr, miopendriver.LogRules...)
			}
			stock, split := logs[subject.Stock], logs[subject.Split]
			require.Greater(t, len(stock.Lines), 100, "MIOpen logs next to nothing")
			require.Contains(t, strings.Join(stock.Lines, "\n"), "miopenStatus_t miopenCreateTensorDescriptor(", "MIOpen does not log its entry points")
			// Not the lines of the thread that keeps locks alive: how many there are is a matter of time.
			require.Equal(t, stock.Lines, split.Lines)
			t.Logf("%d lines, identical", len(stock.Lines))
		})
	}
}

// counts are how many shapes are drawn: a few, or with MIOPEN_SHIM_NIGHTLY all of them.
func counts() (split, stock int) {
	if os.Getenv("MIOPEN_SHIM_NIGHTLY") != "" {
		return 200, 50
	}
	return 24, 6
}

// TestShapes: random convolutions verify in all three directions, and not one of them does in its controls.
func TestShapes(t *testing.T) {
	gate, err := runfile.Path("GATE")
	require.NoError(t, err)
	kernels, err := compiled()
	require.NoError(t, err)
	config, err := device.FromEnvironment(t.TempDir())
	require.NoError(t, err)
	onSplit, onStock := counts()
	for library, n := range map[subject.Library]int{subject.Split: onSplit, subject.Stock: onStock} {
		t.Run(string(library), func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), gate, "--library", string(library), "--shapes", strconv.Itoa(n), "--seed", strconv.Itoa(seed), "--kernels", kernels)
			out, err := cmd.CombinedOutput()
			t.Logf("%s", out)
			var exit *exec.ExitError
			if err != nil {
				require.ErrorAs(t, err, &exit)
			}
			require.Equal(t, verification.Held, cmd.ProcessState.ExitCode(), "1: not verified, 2: usage, 3: a control passes")
			require.Contains(t, string(out), fmt.Sprintf("problems verified: %d of %d; verdicts: %d of %d\n", n, n, 3*n, 3*n))
			require.Contains(t, string(out), fmt.Sprintf("control %s: fails for %d of %d problems\n", verification.NegatedReferences, n, n))
			if config.Kind == device.Simulated {
				require.Contains(t, string(out), fmt.Sprintf("control %s: fails for %d of %d problems\n", verification.IdleKernels, n, n))
			}
		})
	}
}

// TestShapesOnBoth: of random convolutions stock and split say the same.
func TestShapesOnBoth(t *testing.T) {
	f := take(t)
	_, n := counts()
	drivers := map[subject.Library]miopendriver.Driver{subject.Stock: f.driver(t, subject.Stock), subject.Split: f.driver(t, subject.Split)}
	for _, c := range shapes.Draw(seed, n) {
		request := miopendriver.Request{
			Operation: c, Directions: miopendriver.AllDirections, Verify: true, Timing: true, Iterations: 1, Solvers: miopendriver.AllDirections.NaiveSolvers(),
		}
		outputs := map[subject.Library]*miopendriver.Output{}
		for library, d := range drivers {
			out := f.run(t, d, request)
			require.Empty(t, out.Findings([]miopendriver.Check{
				miopendriver.ForwardConvolution, miopendriver.BackwardConvolutionData, miopendriver.BackwardConvolutionWeights,
			}), out.Stdout)
			require.Len(t, out.Report.Solutions, 3, out.Stdout)
			outputs[library] = out
		}
		f.requireSame(t, outputs[subject.Stock], outputs[subject.Split])
	}
	t.Logf("%d shapes, identical", n)
}
