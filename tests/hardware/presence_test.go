package hardware_test

import (
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/tests/hardware/device"
	"example.com/miopen_hipdnn_shim/tests/runfile"
)

// TestPresence fails where the device or the MIOpen that the build chose is not there. Bazel skips targets whose ROCm is
// missing, so without this test nothing would fail in a pool of machines that lost theirs.
func TestPresence(t *testing.T) {
	t.Run("ROCm", func(t *testing.T) {
		path, err := runfile.Path("ROCM_STATUS")
		require.NoError(t, err, "choose a MIOpen with --//toolchains/rocm:miopen, as --config=gfx942 and --config=simulated do")
		status, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Regexp(t, regexp.MustCompile(`(?m)^FOUND = True$`), string(status),
			"there is no MIOpen where the status of its repository says it was looked for: install ROCm's MIOpen there, or set ROCM_PATH")
	})
	t.Run("device", func(t *testing.T) { device.Take(t) })
}
