package splitsuite

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/shim/exports"
	"example.com/miopen_hipdnn_shim/shim/split/check"
)

// Verify holds everything in the folder split against the library stock, which has so many entry points; the
// libraries need not run here. The control is one changed byte of the private library's code.
func Verify(t *testing.T, stock, split string, entryPoints int) {
	installed := materialise(t, split)
	report, err := check.Dir(stock, installed)
	require.NoError(t, err)
	require.Empty(t, report.Findings())
	require.True(t, report.Holds())
	for _, result := range report {
		t.Logf("%-30s %d compared", result.Name, result.Compared)
	}

	private := filepath.Join(installed, privateName)
	library, err := exports.Read(private)
	require.NoError(t, err)
	api, err := library.API()
	require.NoError(t, err)
	require.Len(t, api.Entries, entryPoints)

	flipByte(t, private, fileOffset(t, private, api.Entries[0].Address))
	report, err = check.Dir(stock, installed)
	require.NoError(t, err)
	require.False(t, report.Holds(), "a changed instruction went unnoticed")
}

// materialise copies a split out of a tree of symbolic links, as an installation would have it: files are
// files, and only libMIOpen.so is a link.
func materialise(t *testing.T, split string) string {
	t.Helper()
	dir := t.TempDir()
	err := filepath.WalkDir(split, func(path string, entry fs.DirEntry, err error) error {
		require.NoError(t, err)
		relative, err := filepath.Rel(split, path)
		require.NoError(t, err)
		to := filepath.Join(dir, relative)
		switch {
		case entry.IsDir():
			require.NoError(t, os.MkdirAll(to, 0o755))
		case relative == linkName:
			require.NoError(t, os.Symlink(wrapperName, to))
		default:
			copyFile(t, path, to)
		}
		return nil
	})
	require.NoError(t, err)
	return dir
}

func flipByte(t *testing.T, path string, offset int64) {
	t.Helper()
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	require.NoError(t, err)
	defer file.Close()
	var b [1]byte
	_, err = file.ReadAt(b[:], offset)
	require.NoError(t, err)
	b[0] ^= 1
	_, err = file.WriteAt(b[:], offset)
	require.NoError(t, err)
}
