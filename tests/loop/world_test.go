package loop_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/tests/hardware/device"
	"example.com/miopen_hipdnn_shim/tests/hardware/subject"
	"example.com/miopen_hipdnn_shim/tests/miopendriver"
	"example.com/miopen_hipdnn_shim/tests/runfile"
)

const engine = "MIOPEN_PRIVATE_ENGINE"

// world is the installation: every library in one folder, the plugin where hipDNN and the bridge look for it.
type world struct {
	device *device.Device
	driver miopendriver.Driver
	lib    string
}

func file(t *testing.T, variable string) string {
	t.Helper()
	path, err := runfile.Path(variable)
	require.NoError(t, err)
	return path
}

// install puts a copy of the file that the variable names into folder: hipDNN passes over links.
func install(t *testing.T, variable, folder string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(folder, 0o755))
	from := file(t, variable)
	text, err := os.ReadFile(from)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(folder, filepath.Base(from)), text, 0o755))
}

func newWorld(t *testing.T) world {
	t.Helper()
	d := device.Take(t)
	s, err := subject.New(d)
	require.NoError(t, err)
	driver, err := s.Driver(subject.Split, filepath.Join(t.TempDir(), "home"))
	require.NoError(t, err)
	lib := filepath.Join(t.TempDir(), "lib")
	install(t, "BRIDGE", lib)
	install(t, "PLUGIN", filepath.Join(lib, "hipdnn_plugins", "engines"))
	for _, name := range []string{"libMIOpen.so.1", "libMIOpen_private.so.1"} {
		target, err := filepath.Abs(filepath.Join(s.Split, name))
		require.NoError(t, err)
		require.NoError(t, os.Symlink(target, filepath.Join(lib, name)))
	}
	driver.Libraries = append([]string{lib, filepath.Dir(file(t, "REFHIPDNN"))}, driver.Libraries...)
	return world{d, driver, lib}
}
