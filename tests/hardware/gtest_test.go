package hardware_test

import (
	"bytes"
	"context"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/tests/gtest"
	"example.com/miopen_hipdnn_shim/tests/hardware/device"
	"example.com/miopen_hipdnn_shim/tests/launch"
	"example.com/miopen_hipdnn_shim/tests/runfile"
	"example.com/miopen_hipdnn_shim/toolchains/rocm/layout"
)

// cpuSuites are the tests of miopen_gtest that need no kernel to run. Most of them call the C API.
const cpuSuites = "*CPU_*"

// tuningSuite is where the split that is compiled, not made of a finished library, was seen to differ: it logs
// miopenGetTuningPolicy_impl. MIOpen 3.5.2 has tests of that log, 3.5.1 none: see TestLogNames.
const tuningSuite = "CPU_TuningPolicy_NONE."

// logSuite holds the commands in MIOpen's log, which repeat a call with MIOpenDriver, against the calls.
const logSuite = "CPU_LOG_TEST_ASSERT_NONE."

// suites is miopen_gtest of a ROCm on a device.
type suites struct {
	rocm   *layout.Layout
	split  string // directory
	device *device.Device
}

func newSuites(t *testing.T) suites {
	t.Helper()
	path, err := runfile.Path("LAYOUT")
	require.NoError(t, err)
	rocm, err := layout.Load(path)
	require.NoError(t, err)
	require.NotEmpty(t, rocm.GTest, "the ROCm in %s has no miopen_gtest: install the package with MIOpen's tests", rocm.Prefix)
	split, err := runfile.Dir("SHIM", "manifest.json")
	require.NoError(t, err)
	return suites{rocm: rocm, split: split, device: device.Take(t)}
}

// runner runs miopen_gtest with the libraries in dirs before the ROCm's, in a home of its own: what MIOpen finds in its
// caches changes what the tests see.
func (s suites) runner(t *testing.T, dirs ...string) gtest.Runner {
	t.Helper()
	dir := t.TempDir()
	on := *s.device
	on.Home = filepath.Join(dir, "home")
	require.NoError(t, os.Mkdir(on.Home, 0o700))
	return gtest.Runner{
		Command: func(ctx context.Context, args ...string) (*exec.Cmd, error) {
			host := launch.Host{Loader: s.rocm.Loader, Libraries: s.rocm.LibraryPath}
			return on.Command(ctx, host, dirs, s.rocm.GTest, args...)
		},
		Dir:   dir,
		Limit: 2 * time.Minute,
	}
}

func (s suites) list(t *testing.T, r gtest.Runner, filter string) []string {
	t.Helper()
	names, err := r.List(t.Context(), filter)
	require.NoError(t, err)
	return names
}

func (s suites) run(t *testing.T, what string, r gtest.Runner, names []string) *gtest.Run {
	t.Helper()
	start := time.Now()
	run, err := r.Run(t.Context(), names)
	require.NoError(t, err)
	t.Logf("%s: %s, %v", what, run, time.Since(start).Round(100*time.Millisecond))
	return run
}

func describe(differences []gtest.Difference) string {
	var lines []string
	for _, d := range differences {
		lines = append(lines, d.String())
	}
	return strings.Join(lines, "\n")
}

// TestCPUSuites: MIOpen's own tests of its API do through the split what they do on the stock library, test by test.
// They need not pass: some look for files that a ROCm's packages do not have.
func TestCPUSuites(t *testing.T) {
	s := newSuites(t)
	stock, split := s.runner(t), s.runner(t, s.split)
	names := s.list(t, stock, cpuSuites)
	require.Equal(t, names, s.list(t, split, cpuSuites))

	first := s.run(t, "stock", stock, names)
	second := s.run(t, "split", split, names)
	compared, err := gtest.Compare(first, second, gtest.WithoutAddresses)
	require.NoError(t, err)
	require.Empty(t, compared.Differences, describe(compared.Differences))
	require.Empty(t, compared.Undecided)
	require.Empty(t, compared.Textless)
	require.Equal(t, first.Ends, second.Ends)

	// What a run without its libraries or data would not reach. MIOpen 3.5.1 has 6710 tests, of which 6666 pass.
	require.Greater(t, first.Count(gtest.OK), 5000)
	tuning := 0
	for _, name := range names {
		if strings.HasPrefix(name, tuningSuite) {
			require.Equal(t, gtest.OK, second.Results[name].Outcome, name)
			tuning++
		}
	}
	require.NotZero(t, tuning, "no test of %s", tuningSuite)
}

// How many tests that run kernels are drawn, in the default set and in the nightly one.
const (
	gpuTestsDrawn   = 16
	gpuTestsNightly = 200
)

// TestGPUSuites: tests that run kernels, drawn from all. Here too it is the same outcome on both libraries that counts.
// On a simulated device the kernels do nothing, since numbers are for the driver's tests to look at: most of these tests
// then fail, for the same reason on both libraries, after the same calls.
func TestGPUSuites(t *testing.T) {
	s := newSuites(t)
	if idle, err := s.device.WithoutKernels(); err == nil {
		s.device = idle
	} else {
		require.ErrorIs(t, err, device.ErrHardware)
	}
	drawn := gpuTestsDrawn
	if os.Getenv("MIOPEN_SHIM_NIGHTLY") != "" {
		drawn = gpuTestsNightly
	}
	stock, split := s.runner(t), s.runner(t, s.split)
	names := draw(t, s.list(t, stock, "*GPU_*"), drawn)
	first := s.run(t, "stock", stock, names)
	second := s.run(t, "split", split, names)
	compared, err := gtest.Compare(first, second, gtest.WithoutNumbers)
	require.NoError(t, err)
	require.Empty(t, compared.Differences, describe(compared.Differences))
	t.Logf("%d compared, %d undecided: %s", compared.Compared, len(compared.Undecided), compared.Undecided)
	t.Logf("without a text: %v", compared.Textless)
	require.LessOrEqual(t, len(compared.Textless), len(names)/8, "too many failed in processes that crashed twice")
	require.LessOrEqual(t, len(compared.Undecided), len(names)/8, "too many took longer than %v", stock.Limit)
	if first.Count(gtest.TimedOut)+second.Count(gtest.TimedOut) == 0 { // which ends a process, too
		require.Equal(t, first.Ends, second.Ends)
	}
	require.GreaterOrEqual(t, compared.Compared, len(names)/4, "too few ran")
}

// draw chooses n of the tests that are not disabled: the same in every run.
func draw(t *testing.T, names []string, n int) []string {
	t.Helper()
	enabled := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return strings.Contains(name, "DISABLED_") })
	require.GreaterOrEqual(t, len(enabled), n)
	random := rand.New(rand.NewPCG(20, 26))
	random.Shuffle(len(enabled), func(i, j int) { enabled[i], enabled[j] = enabled[j], enabled[i] })
	return enabled[:n]
}

// TestLogNames: functions are logged under their names of the API, as MIOpen 3.5.2 tests for those of tuning. 3.5.1 does
// not log these, but others.
func TestLogNames(t *testing.T) {
	s := newSuites(t)
	names := s.list(t, s.runner(t), "CPU_ConvApi_NONE.*:"+tuningSuite+"*")
	logOf := func(what string, dirs ...string) []string {
		r := s.runner(t, dirs...)
		command := r.Command
		r.Command = func(ctx context.Context, args ...string) (*exec.Cmd, error) {
			cmd, err := command(ctx, args...)
			if err == nil {
				cmd.Env = append(cmd.Env, "MIOPEN_ENABLE_LOGGING=1")
			}
			return cmd, err
		}
		run := s.run(t, what, r, names)
		require.Equal(t, len(names), run.Count(gtest.OK))
		logs, err := filepath.Glob(filepath.Join(r.Dir, "process*", "stderr"))
		require.NoError(t, err)
		require.Len(t, logs, 1)
		log, err := os.ReadFile(logs[0])
		require.NoError(t, err)
		require.NotContains(t, string(log), "_impl")
		return regexp.MustCompile(`miopenStatus_t miopen\w+\(`).FindAllString(string(log), -1)
	}
	stock := logOf("stock")
	require.Contains(t, stock, "miopenStatus_t miopenCreateConvolutionDescriptor(")
	require.Equal(t, stock, logOf("split", s.split))
}

// TestCPUSuitesFindOtherText is the control: a split that differs in one word of MIOpen's log must be found out, and
// nothing else of it. It also shows that the tests run on the private library that they were given.
func TestCPUSuitesFindOtherText(t *testing.T) {
	s := newSuites(t)
	stock, other := s.runner(t), s.runner(t, s.withOtherText(t, "] ./bin/MIOpenDriver ", "] ./bin/MIOpenDrivex "))
	names := s.list(t, stock, logSuite+"*:"+tuningSuite+"*")
	first := s.run(t, "stock", stock, names)
	require.Equal(t, len(names), first.Count(gtest.OK))

	second := s.run(t, "other text", other, names)
	compared, err := gtest.Compare(first, second, gtest.WithoutAddresses)
	require.NoError(t, err)
	require.NotEmpty(t, compared.Differences)
	for _, d := range compared.Differences {
		require.Contains(t, d.Test, logSuite, d)
		require.Equal(t, gtest.Failed, d.B.Outcome, d)
		require.Contains(t, d.B.Text, "MIOpenDrivex", d)
	}
	t.Logf("found out:\n%s", describe(compared.Differences))
}

// withOtherText is a copy of the split's libraries in which the private library has a text replaced by one as long.
func (s suites) withOtherText(t *testing.T, from, to string) string {
	t.Helper()
	require.Len(t, to, len(from))
	dir := t.TempDir()
	for _, name := range []string{"libMIOpen.so.1", "libMIOpen_private.so.1"} {
		content, err := os.ReadFile(filepath.Join(s.split, name)) // a link, in a tree of run files
		require.NoError(t, err)
		if name == "libMIOpen_private.so.1" {
			require.True(t, bytes.Contains(content, []byte(from)), "%s has no text %q", name, from)
			content = bytes.ReplaceAll(content, []byte(from), []byte(to))
		}
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), content, 0o700))
	}
	return dir
}
