package runtime_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/shim/runtime"
	"example.com/miopen_hipdnn_shim/shim/stubgen"
)

// TestSanitizers runs the wrapper's run time under the compiler's sanitizers. A wrapper is linked in a way that they do not fit into, so
// its C is in the host program here, without the stubs: the hooks, the opening of the forwarding library and its claim, not the assembly.
func TestSanitizers(t *testing.T) {
	compiler := os.Getenv("CC")
	if compiler == "" {
		compiler = "cc"
	}
	for _, sanitizer := range []string{"address,undefined", "thread"} {
		t.Run(sanitizer, func(t *testing.T) {
			dir := t.TempDir()
			units, err := runtime.Write(dir)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(filepath.Join(dir, "miopen_hipdnn_shim.h"), stubgen.ShimHeader, 0o644))
			compile := func(arguments ...string) {
				arguments = append([]string{"-std=gnu11", "-O1", "-g", "-fPIC", "-fsanitize=" + sanitizer, "-I", dir, "-I", "testdata"}, arguments...)
				out, err := exec.CommandContext(t.Context(), compiler, arguments...).CombinedOutput()
				require.NoError(t, err, "%s", out)
			}
			host := filepath.Join(dir, "host")
			compile("-shared", source(t, "bridge.c"), "-o", filepath.Join(dir, "libmiopen_hipdnn.so.1"))
			compile(source(t, "sanitized.c"), source(t, "hooked.c"), units.C, units.Assembly, "-o", host, "-pthread", "-ldl")
			play := func(scenario string, environment ...string) (stdout, stderr string, err error) {
				cmd := exec.CommandContext(t.Context(), host, scenario)
				cmd.Env = append(append(os.Environ(), "LD_LIBRARY_PATH="+dir, "ASAN_OPTIONS=detect_leaks=0:halt_on_error=1", "UBSAN_OPTIONS=halt_on_error=1",
					"TSAN_OPTIONS=halt_on_error=1:die_after_fork=0"), environment...)
				var out, said strings.Builder
				cmd.Stdout, cmd.Stderr = &out, &said
				err = cmd.Run()
				return out.String(), said.String(), err
			}
			for _, scenario := range []string{"session", "limits", "attributes", "threads", "pipe", "fork", "clone"} {
				stdout, stderr, err := play(scenario)
				require.NoError(t, err, "%s: %s%s", scenario, stdout, stderr)
				require.NotContains(t, stderr, "Sanitizer", scenario)
				require.Contains(t, stdout, "bridge convolution", scenario)
			}
			require.NoError(t, os.Remove(filepath.Join(dir, "libmiopen_hipdnn.so.1")))
			stdout, stderr, err := play("error", "MIOPEN_HIPDNN_FORWARDING_POLICY=strict", "MIOPEN_DISABLE_HIPDNN_FOR= a,b ,, ")
			require.NoError(t, err, "%s%s", stdout, stderr)
			require.Contains(t, stdout, "status 5 error 1 text [hipDNN-forwarded]")
			require.NotContains(t, stderr, "Sanitizer")

			// The control: they look.
			_, stderr, err = play("session", "MISUSE=1")
			require.Error(t, err)
			require.Contains(t, stderr, "Sanitizer")
		})
	}
}
