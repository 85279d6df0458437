package forwarding_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/tests/refmiopen/convcases"
	"example.com/miopen_hipdnn_shim/tests/runfile"
)

// reentrant returns a folder with a plugin that is linked against the public library.
func reentrant(t *testing.T) (plugins string) {
	t.Helper()
	split, err := runfile.Dir("SHIM", "manifest.json")
	require.NoError(t, err)
	compiler := os.Getenv("CC")
	if compiler == "" {
		compiler = "cc"
	}
	plugins = t.TempDir()
	out, err := exec.CommandContext(t.Context(), compiler, "-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared", "-pthread", "reentry/plugin.c",
		"-o", filepath.Join(plugins, "reentrant.so"), filepath.Join(split, "libMIOpen.so.1"), "-Wl,--allow-shlib-undefined", "-Wl,-z,now").CombinedOutput()
	require.NoError(t, err, "%s", out)
	return plugins
}

var (
	reentries = regexp.MustCompile(`reentry: (\d+) convolutions, 0 wrong, 0 handles left`)
	foreign   = regexp.MustCompile(`foreign-handle\s*│\s*(\d+)`)
)

// TestReentry: an engine that itself runs on the public library gets MIOpen whenever it asks, on whichever thread, also when what is not
// forwarded has to fail; and the application's calls are forwarded as ever.
func TestReentry(t *testing.T) {
	plugins := reentrant(t)
	var cases []convcases.Case
	for _, c := range problems(11, 120) {
		if forwardable(t, &c) {
			cases = append(cases, c)
		}
	}
	require.Greater(t, len(cases), 40)
	for _, more := range [][]string{nil, {"MIOPEN_HIPDNN_FORWARDING_POLICY=strict"}, {"MIOPEN_HIPDNN_FORWARDING_EAGER=1"}} {
		o := drive(t, cases, append([]string{"HIPDNN_PLUGIN_DIR=" + plugins, "REENTRY_PLUGIN=" + file(t, "TESTPLUGIN"), "MIOPEN_HIPDNN_ENGINE=TEST_ENGINE"}, more...)...)
		for i := range cases {
			require.NoError(t, cases[i].Check(o.results[i]), "%v", more)
		}
		m := reentries.FindStringSubmatch(o.stderr)
		require.NotNil(t, m, o.stderr)
		calls, err := strconv.Atoi(m[1])
		require.NoError(t, err)
		require.Greater(t, calls, 5*len(cases), "the plugin called back in every call")
		// On threads of the engine's own the handle tells; calls from within are not the application's and not counted.
		m = foreign.FindStringSubmatch(o.report)
		require.NotNil(t, m, o.report)
		require.Equal(t, strconv.Itoa(len(cases)), m[1])
		require.Equal(t, counts{2 * len(cases), len(cases), len(cases), 0}, o.counts, o.report)
		require.Contains(t, o.report, "by TEST_ENGINE, 0 by others")
	}
}
