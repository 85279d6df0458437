package layout

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// write makes a ROCm with a library, changes its layout and writes that.
func write(t *testing.T, change func(*Layout)) (string, *Layout) {
	t.Helper()
	dir := t.TempDir()
	library := filepath.Join(dir, "libMIOpen.so.1")
	require.NoError(t, os.WriteFile(library, nil, 0o644))
	l := &Layout{Kind: "local", Prefix: dir, LibraryPath: []string{dir}, MIOpenLibrary: library}
	change(l)
	data, err := json.Marshal(l)
	require.NoError(t, err)
	path := filepath.Join(dir, "layout.json")
	require.NoError(t, os.WriteFile(path, data, 0o644))
	return path, l
}

func TestLoad(t *testing.T) {
	path, want := write(t, func(l *Layout) { l.Packages = []Package{{Name: "libmiopen1", Version: "1", SHA256: "00"}} })
	got, err := Load(path)
	require.NoError(t, err)
	require.Equal(t, want, got)
}

func TestLoadRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Layout)
		says   string
	}{
		"no ROCm":       {func(l *Layout) { *l = Layout{} }, "describes no ROCm"},
		"relative":      {func(l *Layout) { l.Driver = "bin/MIOpenDriver" }, "not an absolute path"},
		"loader gone":   {func(l *Layout) { l.Loader = l.Prefix + "/ld.so" }, "has changed, build again"},
		"database gone": {func(l *Layout) { l.SystemDB = l.Prefix + "/db" }, "has changed, build again"},
	} {
		t.Run(name, func(t *testing.T) {
			path, _ := write(t, c.change)
			_, err := Load(path)
			require.ErrorContains(t, err, c.says)
			require.ErrorContains(t, err, path)
		})
	}
	_, err := Load(filepath.Join(t.TempDir(), "none.json"))
	require.ErrorIs(t, err, os.ErrNotExist)
	text := filepath.Join(t.TempDir(), "text.json")
	require.NoError(t, os.WriteFile(text, []byte("text"), 0o644))
	_, err = Load(text)
	require.ErrorContains(t, err, "is not a layout.json")
}
