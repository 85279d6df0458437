package forwarding_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/tests/refmiopen/convcases"
	"example.com/miopen_hipdnn_shim/tests/runfile"
)

// TestPipe: a program whose reader has gone ends by SIGPIPE with forwarding as without, and if it ignores the signal it does not. The
// forwarding library has a Go run time in it, which takes the signal when it starts.
func TestPipe(t *testing.T) {
	split, err := runfile.Dir("SHIM", "manifest.json")
	require.NoError(t, err)
	for _, forwarding := range []string{"0", "1"} {
		for _, ignored := range []bool{false, true} {
			var in bytes.Buffer
			require.NoError(t, convcases.Write(&in, problems(5, 60)))
			read, write, err := os.Pipe()
			require.NoError(t, err)
			require.NoError(t, read.Close())
			cmd := exec.CommandContext(t.Context(), file(t, "CONVRUN"))
			if ignored {
				cmd = exec.CommandContext(t.Context(), "sh", "-c", `trap "" PIPE; exec "$0"`, file(t, "CONVRUN"))
			}
			cmd.Stdin, cmd.Stdout = &in, write
			cmd.Env = append(os.Environ(), "MIOPEN_HIPDNN_FORWARDING="+forwarding,
				"LD_LIBRARY_PATH="+strings.Join([]string{split, filepath.Dir(file(t, "BRIDGE")), filepath.Dir(file(t, "REFHIPDNN"))}, ":"))
			err = cmd.Run()
			require.NoError(t, write.Close())
			ended := false
			var exit *exec.ExitError
			if errors.As(err, &exit) {
				status, ok := exit.Sys().(syscall.WaitStatus)
				ended = ok && status.Signaled() && status.Signal() == syscall.SIGPIPE
			}
			require.Equal(t, !ignored, ended, "forwarding %s, ignored %v: %v", forwarding, ignored, err)
		}
	}
}
