package verification_test

import (
	"context"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/tests/launch"
	"example.com/miopen_hipdnn_shim/tests/miopendriver"
	"example.com/miopen_hipdnn_shim/tests/miopendriver/fakedriver"
	"example.com/miopen_hipdnn_shim/tests/miopendriver/verification"
)

func TestMain(m *testing.M) {
	if os.Getenv(fakedriver.Variable) != "" {
		fakedriver.Main(os.Args[1:])
	}
	os.Exit(m.Run())
}

// starter is a device on which the fake driver behaves in one way.
type starter struct {
	home string
	env  []string
}

func (s starter) Command(ctx context.Context, host launch.Host, dirs []string, program string, args ...string) (*exec.Cmd, error) {
	cmd, err := host.Command(ctx, s.home, dirs, program, args...)
	if err == nil {
		cmd.Env = append(cmd.Env, s.env...)
	}
	return cmd, err
}

func worker(t *testing.T, behaviour string, idle bool) verification.Worker {
	self, err := os.Executable()
	require.NoError(t, err)
	env := []string{fakedriver.Variable + "=" + behaviour}
	w := verification.Worker{
		Driver:  miopendriver.Driver{Starter: starter{t.TempDir(), env}, Program: self, Timeout: 20 * time.Second},
		Scratch: t.TempDir(),
	}
	if behaviour == fakedriver.Hangs {
		w.Driver.Timeout = time.Second
	}
	if idle {
		driver := w.Driver
		driver.Starter = starter{t.TempDir(), append(env, fakedriver.Idle)}
		w.Idle = &driver
	}
	return w
}

func requests(n int) (all []miopendriver.Request) {
	for i := range n {
		all = append(all, miopendriver.Request{Directions: miopendriver.AllDirections, Operation: miopendriver.Convolution{
			Batch: 1, Channels: 2 + i, Outputs: 3, Groups: 1, Axes: []miopendriver.Axis{{Input: 5, Filter: 3, Stride: 1, Dilation: 1}, {Input: 4, Filter: 2, Stride: 1, Dilation: 1}},
		}})
	}
	return all
}

func TestRun(t *testing.T) {
	const n = 5
	all, none := verification.Count{n, n}, verification.Count{0, n}
	notRun := verification.Count{}
	for name, c := range map[string]struct {
		behaviour     string
		idle          bool
		status        int
		problems      verification.Count
		verdicts      verification.Count
		negated, idly verification.Count
		says          string
	}{
		"holds":                       {fakedriver.Honest, true, verification.Held, all, verification.Count{3 * n, 3 * n}, all, all, ""},
		"holds on hardware":           {fakedriver.Honest, false, verification.Held, all, verification.Count{3 * n, 3 * n}, all, notRun, ""},
		"control passes":              {fakedriver.Blind, true, verification.ControlPassed, all, verification.Count{3 * n, 3 * n}, none, none, ""},
		"control passes on hardware":  {fakedriver.Blind, false, verification.ControlPassed, all, verification.Count{3 * n, 3 * n}, none, notRun, ""},
		"control does not run":        {fakedriver.Lifeless, true, verification.ControlPassed, all, verification.Count{3 * n, 3 * n}, all, none, ""},
		"wrong results":               {fakedriver.Wrong, true, verification.Failed, none, verification.Count{0, 3 * n}, notRun, notRun, "forward convolution differs"},
		"crashes at the end":          {fakedriver.Crashes, true, verification.Failed, none, verification.Count{3 * n, 3 * n}, notRun, notRun, "the driver ended with exit status 139"},
		"compared with itself":        {fakedriver.Itself, false, verification.Failed, none, verification.Count{3 * n, 3 * n}, notRun, notRun, "compared with the device itself"},
		"a direction without verdict": {fakedriver.Silent, false, verification.Failed, none, verification.Count{2 * n, 3 * n}, notRun, notRun, "backward weights convolution: no verdict"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			workers := []verification.Worker{worker(t, c.behaviour, c.idle), worker(t, c.behaviour, c.idle)}
			report, err := verification.Run(t.Context(), workers, requests(n))
			require.NoError(t, err)
			require.Equal(t, c.status, report.Status())
			require.Equal(t, c.problems, report.Problems())
			require.Equal(t, c.verdicts, report.Verdicts())
			require.Equal(t, c.negated, report.Control(verification.NegatedReferences))
			require.Equal(t, c.idly, report.Control(verification.IdleKernels))
			for _, one := range report.Cases {
				if c.says == "" {
					require.Empty(t, one.Findings)
				} else {
					require.Contains(t, one.Findings[0], c.says)
				}
			}
		})
	}
}

// TestTimeout: a run that takes too long fails, and what it had said is kept.
func TestTimeout(t *testing.T) {
	report, err := verification.Run(t.Context(), []verification.Worker{worker(t, fakedriver.Hangs, false)}, requests(1))
	require.NoError(t, err)
	require.Equal(t, verification.Failed, report.Status())
	require.Contains(t, report.Cases[0].Findings[0], "took too long")
	require.Equal(t, verification.Count{1, 3}, report.Verdicts())
}

// TestNothing: no problems are no success, and a program that is not there no failure of a problem.
func TestNothing(t *testing.T) {
	w := worker(t, fakedriver.Honest, false)
	report, err := verification.Run(t.Context(), []verification.Worker{w}, nil)
	require.NoError(t, err)
	require.Equal(t, verification.Failed, report.Status())
	_, err = verification.Run(t.Context(), nil, requests(1))
	require.Error(t, err)
	w.Driver.Program = "/nonexistent"
	_, err = verification.Run(t.Context(), []verification.Worker{w, w}, requests(3))
	require.ErrorIs(t, err, os.ErrNotExist)
}

// TestUncontrolled: an activation has no control where kernels cannot be kept from running.
func TestUncontrolled(t *testing.T) {
	report := &verification.Report{Cases: []verification.Case{
		{Passed: map[verification.Control][]string{verification.IdleKernels: nil}}, {},
	}}
	require.Len(t, report.Uncontrolled(), 1)
	require.Equal(t, verification.Held, report.Status())
	report.Cases[1].Passed = map[verification.Control][]string{verification.IdleKernels: {"verified"}}
	require.Equal(t, verification.ControlPassed, report.Status())
}
