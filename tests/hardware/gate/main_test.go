package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/tests/miopendriver/fakedriver"
	"example.com/miopen_hipdnn_shim/tests/miopendriver/verification"
)

// This program is the gate in the processes that tests start, and MIOpenDriver in those that the gate starts.
func TestMain(m *testing.M) {
	switch {
	case os.Getenv(fakedriver.Variable) == "":
		os.Exit(m.Run())
	case len(os.Args) > 1 && strings.HasPrefix(os.Args[1], "conv"):
		fakedriver.Main(os.Args[1:])
	default:
		main()
	}
}

// gate runs the gate on a driver that behaves in one way, on a device that is said to be simulated.
func gate(t *testing.T, behaviour string, args ...string) (output string, status int) {
	t.Helper()
	dir := t.TempDir()
	self, err := os.Executable()
	require.NoError(t, err)
	write := func(name string, content any) string {
		data, err := json.Marshal(content)
		require.NoError(t, err)
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, data, 0o600))
		return name
	}
	library := filepath.Join(dir, write("rocm/libMIOpen.so.1", nil))
	variables := map[string]string{
		"TEST_SRCDIR":       dir,
		"DEVICE":            write("device.json", map[string]any{"architecture": "gfx942", "kind": "simulated", "libraries": []string{write("hip/libamdhip64.so", nil), write("hip/libamdhip64.so.7", nil)}}),
		"LAYOUT":            write("layout.json", map[string]any{"kind": "local", "prefix": dir, "library_path": []string{filepath.Dir(library)}, "miopen_library": library, "driver": self}),
		"SHIM":              write("split/manifest.json", nil),
		fakedriver.Variable: behaviour,
	}
	cmd := exec.CommandContext(t.Context(), self, args...)
	cmd.Env = os.Environ()
	for name, value := range variables {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		require.IsType(t, &exec.ExitError{}, err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// TestStatus: each way in which a verification can go ends with the status that it has.
func TestStatus(t *testing.T) {
	const n = 13 // of all types, layouts and numbers of dimensions
	shapes := fmt.Sprint("--shapes=", n)
	for name, c := range map[string]struct {
		behaviour string
		args      []string
		status    int
		says      []string
	}{
		"holds": {fakedriver.Honest, []string{shapes}, verification.Held,
			[]string{"split library", "problems verified: 13 of 13; verdicts: 39 of 39\n", "control negated references: fails for 13 of 13 problems\n", "control idle kernels: fails for 13 of 13 problems\n", "\nHOLDS\n"}},
		"holds on stock":   {fakedriver.Honest, []string{"--library=stock", "--shapes=2", "--jobs=3"}, verification.Held, []string{"stock library", "problems verified: 2 of 2"}},
		"wrong":            {fakedriver.Wrong, []string{shapes}, verification.Failed, []string{"problems verified: 0 of 13; verdicts: 0 of 39\n", "NOT VERIFIED conv float NCHW", "\nDOES NOT HOLD\n"}},
		"silent":           {fakedriver.Silent, []string{shapes, "--kernels=."}, verification.Failed, []string{"problems verified: 0 of 13; verdicts: 26 of 39\n", "backward weights convolution: no verdict"}},
		"does not compile": {fakedriver.Silent, []string{shapes}, verification.Failed, []string{"gate: MIOpenDriver ran 2 of 3 directions"}},
		"itself":           {fakedriver.Itself, []string{"--shapes=1"}, verification.Failed, []string{"compared with the device itself"}},
		"blind":            {fakedriver.Blind, []string{shapes}, verification.ControlPassed, []string{"problems verified: 13 of 13", "control negated references: fails for 0 of 13 problems\n", "control idle kernels: fails for 0 of 13 problems\n", "CONTROL PASSES conv", "A CONTROL PASSES"}},
		"lifeless":         {fakedriver.Lifeless, []string{"--shapes=1"}, verification.ControlPassed, []string{"not run", "A CONTROL PASSES"}},
		"no shapes":        {fakedriver.Honest, []string{"--shapes=0"}, verification.Usage, []string{"begin at 1"}},
		"no jobs":          {fakedriver.Honest, []string{"--jobs=0"}, verification.Usage, []string{"begin at 1"}},
		"no library":       {fakedriver.Honest, []string{"--library=other"}, verification.Usage, []string{"--library"}},
		"no such option":   {fakedriver.Honest, []string{"--nothing"}, verification.Usage, []string{"--nothing"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			output, status := gate(t, c.behaviour, c.args...)
			require.Equal(t, c.status, status, output)
			for _, text := range c.says {
				require.Contains(t, output, text)
			}
		})
	}
}

// TestNothingToRunOn: without a device there is no verdict.
func TestNothingToRunOn(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = append(os.Environ(), fakedriver.Variable+"="+fakedriver.Honest, "DEVICE=")
	out, err := cmd.CombinedOutput()
	require.Error(t, err)
	require.Equal(t, verification.Failed, cmd.ProcessState.ExitCode())
	require.Contains(t, string(out), "no device was chosen")
	require.NotContains(t, string(out), "HOLDS")
}
