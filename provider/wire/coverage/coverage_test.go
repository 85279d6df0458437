// Package coverage_test holds the tests of package wire to what they run of it.
package coverage_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/tests/runfile"
)

// floor is the share of the statements of provider/wire, in percent, that its own tests run.
const floor = 90

// covered is the test program of provider/wire that counts statements.
func covered(t *testing.T) string {
	t.Helper()
	if os.Getenv("COVERED") != "" {
		path, err := runfile.Path("COVERED")
		require.NoError(t, err)
		return path
	}
	program := filepath.Join(t.TempDir(), "wire.test")
	out, err := exec.CommandContext(t.Context(), "go", "test", "-c", "-cover", "-o", program, "..").CombinedOutput()
	require.NoError(t, err, "%s", out)
	return program
}

// share runs the program and returns what it says of itself.
func share(t *testing.T, program, tests string) float64 {
	t.Helper()
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), program, "-test.run="+tests, "-test.coverprofile="+filepath.Join(dir, "profile"))
	// Without what is between Bazel and this test.
	cmd.Dir, cmd.Env = "..", []string{"TMPDIR=" + dir}
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	m := regexp.MustCompile(`coverage: ([0-9.]+)% of statements`).FindSubmatch(out)
	require.NotNil(t, m, "%s", out)
	percent, err := strconv.ParseFloat(string(m[1]), 64)
	require.NoError(t, err)
	return percent
}

func TestCoverage(t *testing.T) {
	program := covered(t)
	all := share(t, program, ".")
	t.Logf("the tests of provider/wire run %.1f %% of its statements", all)
	require.GreaterOrEqual(t, all, float64(floor))
	// They are counted.
	require.Less(t, share(t, program, "^TestNothing$"), float64(floor)/2)
}
