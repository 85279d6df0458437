package realmiopen_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/tests/launch"
	"example.com/miopen_hipdnn_shim/tests/runfile"
	"example.com/miopen_hipdnn_shim/tests/splitsuite"
	"example.com/miopen_hipdnn_shim/toolchains/rocm/layout"
)

func file(t *testing.T, variable string) string {
	t.Helper()
	path, err := runfile.Path(variable)
	require.NoError(t, err)
	return path
}

func dir(t *testing.T, variable string) string {
	t.Helper()
	path, err := runfile.Dir(variable, "manifest.json")
	require.NoError(t, err)
	return path
}

// How many entry points the two releases export.
const (
	exportsOf351 = 271
	exportsOf340 = 263
)

func TestSplit(t *testing.T) {
	rocm, err := layout.Load(file(t, "LAYOUT"))
	require.NoError(t, err)
	splitsuite.Run(t, splitsuite.Subject{
		Stock:       rocm.MIOpenLibrary,
		Split:       dir(t, "SHIM"),
		Host:        launch.Host{Loader: rocm.Loader, Libraries: rocm.LibraryPath},
		Exports:     exportsOf351,
		LinkFlags:   []string{"-Wl,--allow-shlib-undefined", "-Wl,--unresolved-symbols=ignore-in-shared-libs"},
		Descriptors: file(t, "DESCRIPTORS"),
		Dlhost:      file(t, "DLHOST"),
	})
}

// TestPrevious: the release before has other entry points, and they are read from it, not from a list.
func TestPrevious(t *testing.T) {
	splitsuite.Verify(t, file(t, "PREVIOUS"), dir(t, "SHIM_OF_PREVIOUS"), exportsOf340)
}
