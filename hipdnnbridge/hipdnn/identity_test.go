package hipdnn_test

import (
	"bytes"
	"debug/elf"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/hipdnnbridge/hipdnn"
	"example.com/miopen_hipdnn_shim/tests/runfile"
)

// buildID reads a file's build-id as readers of files do, and returns it as Build words it.
func buildID(t *testing.T, path string) string {
	t.Helper()
	file, err := elf.Open(path)
	require.NoError(t, err)
	defer file.Close()
	section := file.Section(".note.gnu.build-id")
	require.NotNil(t, section, path)
	note, err := section.Data()
	require.NoError(t, err)
	_, id, found := bytes.Cut(note, []byte("GNU\x00"))
	require.True(t, found)
	return fmt.Sprintf("build-id %x", id)
}

// A library's build is the build-id that it has in memory, whatever has become of its file since; a library
// that is not loaded is known by its file, which is another one when it was written anew.
func TestBuild(t *testing.T) {
	b := backend(t)
	id, err := hipdnn.Build(b.Path)
	require.NoError(t, err)
	require.Equal(t, buildID(t, b.Path), id)

	link := filepath.Join(t.TempDir(), "link.so")
	require.NoError(t, os.Symlink(b.Path, link))
	same, err := hipdnn.Build(link)
	require.NoError(t, err)
	require.Equal(t, id, same, "the same file by another name")

	other := filepath.Join(t.TempDir(), "other.so")
	content, err := os.ReadFile(b.Path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(other, content, 0o600))
	first, err := hipdnn.Build(other)
	require.NoError(t, err)
	require.Contains(t, first, fmt.Sprintf(" of %d bytes", len(content)))
	again, err := hipdnn.Build(other)
	require.NoError(t, err)
	require.Equal(t, first, again)
	require.NoError(t, os.WriteFile(other, content[:100], 0o600))
	second, err := hipdnn.Build(other)
	require.NoError(t, err)
	require.NotEqual(t, first, second)

	_, err = hipdnn.Build(filepath.Join(t.TempDir(), "nothing.so"))
	require.ErrorIs(t, err, os.ErrNotExist)
}

// A handle's identity has the backend and each plugin that it loaded; with one plugin more it is another.
func TestIdentity(t *testing.T) {
	b, d := backend(t), device(t)
	identity := func() string {
		h, err := b.NewHandle(d, 0, 0)
		require.NoError(t, err)
		defer func() { require.NoError(t, h.Close()) }()
		s, err := h.Identity()
		require.NoError(t, err)
		return s
	}
	without := identity()
	require.Equal(t, without, identity())
	require.Equal(t, "hipDNN "+b.Version+"\n"+buildID(t, b.Path), without)

	plugin, err := runfile.Path("TESTPLUGIN")
	if err != nil {
		t.Skip("no plugin: Bazel names one in TESTPLUGIN")
	}
	require.NoError(t, b.AddPlugin(plugin))
	require.Equal(t, without+"\n"+buildID(t, plugin), identity())
}

// The host is a device of its own.
func TestDeviceIdentity(t *testing.T) {
	name, err := device(t).Identity(0)
	require.NoError(t, err)
	require.Equal(t, "the host", name)
}
