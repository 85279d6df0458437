package driver_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/tests/hardware/device"
	"example.com/miopen_hipdnn_shim/tests/hardware/subject"
	"example.com/miopen_hipdnn_shim/tests/miopendriver"
	"example.com/miopen_hipdnn_shim/tests/runfile"
)

const iterations = 100

// request is the investigation's: -n 16 -c 16 -H 16 -W 16 -k 16 -y 3 -x 3 -p 1 -q 1 -F 1 -i 100 -t 1. The naive solver is
// for the find that precedes it, whose kernels the simulated device executes.
func request(env ...string) miopendriver.Request {
	axis := miopendriver.Axis{Input: 16, Filter: 3, Pad: 1, Stride: 1, Dilation: 1}
	return miopendriver.Request{
		Operation:  miopendriver.Convolution{Batch: 16, Channels: 16, Outputs: 16, Groups: 1, Axes: []miopendriver.Axis{axis, axis}},
		Directions: miopendriver.Forward, Verify: true, Timing: true, Iterations: iterations,
		Solvers: miopendriver.Forward.NaiveSolvers(), Env: env,
	}
}

var checks = []miopendriver.Check{miopendriver.ForwardConvolution}

// run runs the driver with forwarding on, as a user whom nobody knows yet, and returns its report of where calls went.
func run(t *testing.T, env ...string) (*miopendriver.Output, string) {
	t.Helper()
	return runAt(t, filepath.Join(t.TempDir(), "home"), env...)
}

// runAt is run for the user with this home, where MIOpen's caches and the plans of earlier processes are. The device
// executes no kernel: the find before the calls leaves the right result behind otherwise, and what is verified would be
// MIOpen's.
func runAt(t *testing.T, home string, env ...string) (*miopendriver.Output, string) {
	t.Helper()
	d := device.Take(t)
	s, err := subject.New(d)
	require.NoError(t, err)
	driver, err := s.Driver(subject.Split, home)
	require.NoError(t, err)
	idle, err := d.WithoutKernels()
	require.NoError(t, err)
	idle.Home = home
	driver.Starter = idle
	for _, variable := range []string{"BRIDGE", "REFHIPDNN"} {
		library, err := runfile.Path(variable)
		require.NoError(t, err)
		driver.Libraries = append(driver.Libraries, filepath.Dir(library))
	}
	report := filepath.Join(t.TempDir(), "report")
	out, err := driver.Run(t.Context(), request(append(env, "MIOPEN_HIPDNN_FORWARDING=1", "MIOPEN_HIPDNN_FORWARDING_REPORT=file:"+report)...))
	require.NoError(t, err)
	text, err := os.ReadFile(report)
	require.NoError(t, err, out.Stderr)
	return out, string(text)
}

var convolutionRow = regexp.MustCompile(`miopenConvolutionForward\s*│\s*(\d+)\s*│\s*(\d+)\s*│\s*0\s*│\s*0\s*│`)

// requireForwarded requires that all calls were forwarded.
func requireForwarded(t *testing.T, report string) {
	t.Helper()
	m := convolutionRow.FindStringSubmatch(report)
	require.NotNil(t, m, report)
	require.Equal(t, m[1], m[2], report)
	calls, err := strconv.Atoi(m[1])
	require.NoError(t, err)
	require.GreaterOrEqual(t, calls, iterations, report)
}

func TestVerified(t *testing.T) {
	out, report := run(t)
	require.Empty(t, out.Findings(checks), "%s%s", out.Stdout, out.Stderr)
	requireForwarded(t, report)
	t.Log(report)
}

// TestLaterProcess: the investigation's second process built its plan again, for four seconds. Here it has the plan of the
// first, and the same verified result; with the kept plans switched off it builds.
func TestLaterProcess(t *testing.T) {
	home := filepath.Join(t.TempDir(), "home")
	for _, later := range []struct {
		env  []string
		want string
	}{
		{nil, "plans on disk: 0 loaded, 1 saved, 0 broken, 0 refused by hipDNN, 0 removed"},
		{nil, "plans on disk: 1 loaded, 0 saved, 0 broken, 0 refused by hipDNN, 0 removed"},
		{[]string{"MIOPEN_HIPDNN_PLAN_CACHE=off"}, " 1 builds,"},
	} {
		out, report := runAt(t, home, later.env...)
		require.Empty(t, out.Findings(checks), "%s%s", out.Stdout, out.Stderr)
		requireForwarded(t, report)
		require.Contains(t, report, later.want)
	}
}

// TestControl: with a backend that computes nothing the same verdict is a failure.
func TestControl(t *testing.T) {
	out, report := run(t, "REFHIPDNN_EXECUTE=none")
	require.Empty(t, out.Report.Undetected(checks), "%s%s", out.Stdout, out.Stderr)
	requireForwarded(t, report)
}

// TestKernelTime: the driver reports what the device took, not the 0.000 ms of the investigation.
func TestKernelTime(t *testing.T) {
	const microseconds = 20_000
	out, report := run(t, "REFHIPDNN_EXECUTE=none", "REFHIPDNN_DURATION_US="+strconv.Itoa(microseconds))
	requireForwarded(t, report)
	elapsed := regexp.MustCompile(`Elapsed: (\S+) ms`).FindStringSubmatch(strings.Join(out.Report.Elapsed, "\n"))
	require.NotNil(t, elapsed, out.Stdout)
	milliseconds, err := strconv.ParseFloat(elapsed[1], 64)
	require.NoError(t, err)
	require.InDelta(t, microseconds, milliseconds*1000, 0.05*microseconds+5, out.Stdout)
}
