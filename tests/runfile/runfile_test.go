package runfile_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/tests/runfile"
)

func TestPath(t *testing.T) {
	tree := t.TempDir()
	file := filepath.Join(tree, "_main", "file")
	require.NoError(t, os.Mkdir(filepath.Dir(file), 0o755))
	require.NoError(t, os.WriteFile(file, nil, 0o644))
	t.Setenv("TEST_SRCDIR", tree)
	for value, found := range map[string]bool{"_main/file": true, file: true, "_main/none": false, file + ".none": false, "": false} {
		t.Setenv("FILE", value)
		path, err := runfile.Path("FILE")
		require.Equal(t, found, err == nil, value)
		if found {
			require.Equal(t, file, path)
		}
	}
}
