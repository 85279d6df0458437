package subject_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/shim/split/manifest"
	"example.com/miopen_hipdnn_shim/tests/bench/subject"
)

func TestRead(t *testing.T) {
	rows, err := subject.Read(exec.Command("printf", `a\t1\t2.5\nb\t-3\n`))
	require.NoError(t, err)
	require.Equal(t, subject.Rows{{Name: "a", Values: []float64{1, 2.5}}, {Name: "b", Values: []float64{-3}}}, rows)
}

// split writes what Open looks at of a split of the library.
func split(t *testing.T, library string) string {
	t.Helper()
	digest, err := manifest.Digest(library)
	require.NoError(t, err)
	text, err := manifest.Manifest{
		Schema:  manifest.Schema,
		Tool:    manifest.Tool{Name: manifest.ToolName},
		Input:   manifest.Input{Identity: manifest.Identity{Digest: digest}},
		Wrapper: manifest.Library{File: "libMIOpen.so.1"},
		Private: manifest.Library{File: "libMIOpen_private.so.1"},
	}.Encode()
	require.NoError(t, err)
	dir := t.TempDir()
	for name, content := range map[string]string{"manifest.json": string(text), "libMIOpen.so.1": "w", "libMIOpen_private.so.1": "p"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644))
	}
	return dir
}

func TestOpen(t *testing.T) {
	dir := t.TempDir()
	library := filepath.Join(dir, "libMIOpen.so.1.0")
	require.NoError(t, os.WriteFile(library, []byte("stock"), 0o644))
	link := filepath.Join(dir, "libMIOpen.so.1")
	require.NoError(t, os.Symlink(library, link))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "worker"), []byte("#!/bin/sh\nprintf '%s\\t1\\n' \"$LD_LIBRARY_PATH\"\n"), 0o755))
	t.Setenv("RUNFILES_DIR", dir)
	t.Setenv("TEST_SRCDIR", "")
	t.Setenv("WORKER", "worker")

	of := split(t, library)
	s, err := subject.Flags{Miopen: link, Split: of}.Open()
	require.NoError(t, err)
	require.Equal(t, library, s.Stock)
	require.Equal(t, filepath.Join(of, "libMIOpen_private.so.1"), s.Private)
	for onSplit, path := range map[bool]string{false: dir, true: of + ":" + dir} {
		rows, err := s.Run(onSplit)
		require.NoError(t, err)
		require.Equal(t, subject.Rows{{Name: path, Values: []float64{1}}}, rows)
	}
	require.NoError(t, s.Close())
	require.NoDirExists(t, s.Scratch())

	// Control: the split of another library.
	require.NoError(t, os.WriteFile(library, []byte("other"), 0o644))
	_, err = subject.Flags{Miopen: link, Split: of}.Open()
	require.ErrorContains(t, err, "is not a split of "+link)
}

// A worker that fails, or prints something else, has measured nothing.
func TestReadRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		cmd  *exec.Cmd
		says string
	}{
		"failure":   {exec.Command("sh", "-c", "echo why >&2; exit 1"), "why"},
		"nothing":   {exec.Command("true"), "line 1"},
		"no number": {exec.Command("printf", `a\t1\nb\tx\n`), "line 2"},
		"no tab":    {exec.Command("echo", "status 0"), "line 1"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := subject.Read(c.cmd)
			require.ErrorContains(t, err, c.says)
		})
	}
}
