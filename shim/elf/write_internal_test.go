package elf

import (
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// planned opens a copy of a fixture and plans an edit that grows it.
func planned(t *testing.T) (in *input, p *plan, src, dst string) {
	t.Helper()
	content, err := os.ReadFile("testdata/bfd-both.so")
	require.NoError(t, err)
	src, dst = filepath.Join(t.TempDir(), "in.so"), filepath.Join(t.TempDir(), "out.so")
	require.NoError(t, os.WriteFile(src, content, 0o644))
	in, err = openInput(src, dst)
	require.NoError(t, err)
	t.Cleanup(in.close)
	p, err = makePlan(in.source(), Edit{Rename: map[string]string{"fx_answer": "fx_other"}})
	require.NoError(t, err)
	return in, p, src, dst
}

func requireNothingWritten(t *testing.T, dst string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(dst))
	require.NoError(t, err)
	require.Empty(t, entries)
}

// The control of the tests below: undisturbed, the same steps succeed.
func TestWriteUndisturbed(t *testing.T) {
	in, p, _, dst := planned(t)
	require.NoError(t, p.write(in, dst))
	require.FileExists(t, dst)
}

func TestInputThatChangesWhileItIsRead(t *testing.T) {
	t.Run("modified", func(t *testing.T) {
		in, p, src, dst := planned(t)
		require.NoError(t, os.Chtimes(src, time.Time{}, time.Now().Add(time.Hour)))
		require.ErrorContains(t, p.write(in, dst), "changed while it was read")
		requireNothingWritten(t, dst)
	})
	t.Run("longer", func(t *testing.T) {
		in, p, src, dst := planned(t)
		require.NoError(t, os.Truncate(src, in.info.Size()+1))
		require.ErrorContains(t, p.write(in, dst), "changed while it was read")
		requireNothingWritten(t, dst)
	})
	t.Run("shorter", func(t *testing.T) {
		in, p, src, dst := planned(t)
		require.NoError(t, os.Truncate(src, in.info.Size()-1))
		require.ErrorIs(t, p.write(in, dst), io.ErrUnexpectedEOF)
		requireNothingWritten(t, dst)
	})
}

// A failure at each step of writing leaves nothing behind.
func TestFailuresWhileWriting(t *testing.T) {
	t.Run("patch", func(t *testing.T) {
		in, p, _, dst := planned(t)
		p.add(1<<63, []byte{1}) // a negative offset for the system
		require.Error(t, p.write(in, dst))
		requireNothingWritten(t, dst)
	})
	t.Run("copy", func(t *testing.T) {
		in, p, _, dst := planned(t)
		require.NoError(t, in.file.Close())
		require.ErrorIs(t, p.write(in, dst), os.ErrClosed)
		requireNothingWritten(t, dst)
	})
	t.Run("size", func(t *testing.T) {
		in, p, _, dst := planned(t)
		p.shift = 1 << 62 // larger than any file can be
		require.Error(t, p.write(in, dst))
		requireNothingWritten(t, dst)
	})
	t.Run("rename", func(t *testing.T) {
		in, p, _, dst := planned(t)
		require.NoError(t, os.MkdirAll(filepath.Join(dst, "not empty"), 0o755))
		require.Error(t, p.write(in, dst))
		entries, err := os.ReadDir(filepath.Dir(dst))
		require.NoError(t, err)
		require.Len(t, entries, 1, "only the folder that was in the way")
	})
}

// Values that are published with the format: gABI's for "printf" and the ones
// that GNU's implementation gives.
func TestHashFunctions(t *testing.T) {
	require.Equal(t, uint32(0), sysvHash(nil))
	require.Equal(t, uint32(0x077905a6), sysvHash([]byte("printf")))
	require.Equal(t, uint32(0x09691a75), sysvHash([]byte("GLIBC_2.2.5")))
	require.Equal(t, uint32(0x0d696914), sysvHash([]byte("GLIBC_2.4")))
	require.Equal(t, uint32(5381), gnuHash(nil))
	require.Equal(t, uint32(0x156b2bb8), gnuHash([]byte("printf")))
	require.Equal(t, uint32(0x7c967e3f), gnuHash([]byte("exit")))
}
