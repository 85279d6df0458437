package hook_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/tests/runfile"
	"example.com/miopen_hipdnn_shim/tests/workshop"
)

// sanitized is a directory with the forwarding library, the reference backend and the host that were built with one of the
// compiler's sanitizers. Bazel names it; plain builds are made here, a minute each.
func sanitized(t *testing.T, sanitizer string) string {
	t.Helper()
	if variable := "SANITIZED_" + strings.ToUpper(sanitizer); os.Getenv(variable) != "" {
		dir, err := runfile.Dir(variable, "host")
		require.NoError(t, err)
		return dir
	}
	if sanitizer == "address" {
		sanitizer = "address,undefined"
	}
	dir := t.TempDir()
	flags := "-O1 -g -fno-omit-frame-pointer -fsanitize=" + sanitizer
	run := func(environment []string, command string, arguments ...string) {
		cmd := exec.CommandContext(t.Context(), command, arguments...)
		cmd.Env = append(os.Environ(), environment...)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%v:\n%s", cmd, out)
	}
	run([]string{"CGO_CFLAGS=" + flags, "CGO_LDFLAGS=-fsanitize=" + sanitizer, "LDFLAGS=-fsanitize=" + sanitizer}, "sh", "../../provider/lib/build.sh", dir)
	run([]string{"CXXFLAGS=" + flags}, "sh", "../../tests/refhipdnn/build.sh", dir)
	run(nil, workshop.CC(), append(append([]string{"-std=gnu11"}, strings.Fields(flags)...), "-I../..", "testdata/host.c", "-o", filepath.Join(dir, "host"), "-pthread", "-ldl", "-lm")...)
	return dir
}

// TestSanitizers runs the C of the forwarding library, of the host and of the reference backend under the compiler's sanitizers.
func TestSanitizers(t *testing.T) {
	for _, sanitizer := range []string{"address", "thread"} {
		t.Run(sanitizer, func(t *testing.T) {
			dir := sanitized(t, sanitizer)
			host := filepath.Join(dir, "host")
			play := func(lines string, environment ...string) (stdout, stderr string, err error) {
				cmd := exec.CommandContext(t.Context(), host, filepath.Join(dir, "libmiopen_hipdnn.so.1"), "/nowhere/libMIOpen.so.1", privateLibrary(t))
				cmd.Stdin = strings.NewReader(lines)
				var out, said strings.Builder
				cmd.Stdout, cmd.Stderr = &out, &said
				// Leaks are the backend's own to count; Go's memory looks like one.
				cmd.Env = append(os.Environ(), "MIOPEN_HIPDNN_FORWARDING=1", "HIPDNN_BACKEND_LIBRARY_PATH="+filepath.Join(dir, "libhipdnn_backend.so"),
					"ASAN_OPTIONS=detect_leaks=0:halt_on_error=1", "UBSAN_OPTIONS=halt_on_error=1", "TSAN_OPTIONS=halt_on_error=1")
				cmd.Env = append(cmd.Env, environment...)
				err = cmd.Run()
				return out.String(), said.String(), err
			}
			stdout, stderr, err := play("create 1\nprofiling 1 1\nconv 1\ntime 1\nconv 1 alpha=2\nthreads 8 10 4 shared\nthreads 8 10 4 own\nchurn 5\ndestroy 1\nstats\nfinish\n",
				"REFHIPDNN_WORKSPACE=1000")
			require.NoError(t, err, "%s%s", stdout, stderr)
			require.NotContains(t, stderr, "Sanitizer")
			require.Equal(t, 2, strings.Count(stdout, "done=80 right=80"), stdout)
			stdout, stderr, err = play("texts 20\n", "REFHIPDNN_FAIL=hipdnnBackendExecute=EXECUTION_FAILED")
			require.NoError(t, err, "%s%s", stdout, stderr)
			require.NotContains(t, stderr, "Sanitizer")
			require.Contains(t, stdout, "texts kept=20")

			// The control: they look.
			_, stderr, err = play("misuse\n")
			require.Error(t, err, stderr)
			require.Contains(t, stderr, "Sanitizer")
		})
	}
}
