package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// A file that was just read is in the page cache and then is not. On a file system in memory it stays, and evict says so.
func TestEvict(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	const pages = 16
	require.NoError(t, os.WriteFile(path, bytes.Repeat([]byte{1}, pages*os.Getpagesize()-1), 0o644))
	in, all, err := resident(path)
	require.NoError(t, err)
	require.Equal(t, [2]int{pages, pages}, [2]int{in, all})

	var fs unix.Statfs_t
	require.NoError(t, unix.Statfs(path, &fs))
	if fs.Type == unix.TMPFS_MAGIC {
		require.ErrorContains(t, evict(path), "16 of its 16 pages stay in memory")
		return
	}
	require.NoError(t, evict(path))
	in, _, err = resident(path)
	require.NoError(t, err)
	require.Zero(t, in)
}

// Control: pages that a process has mapped stay, which must not go unnoticed.
func TestEvictMapped(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(path, bytes.Repeat([]byte{1}, os.Getpagesize()), 0o644))
	file, err := os.Open(path)
	require.NoError(t, err)
	defer file.Close()
	mapped, err := unix.Mmap(int(file.Fd()), 0, os.Getpagesize(), unix.PROT_READ, unix.MAP_SHARED)
	require.NoError(t, err)
	require.Equal(t, byte(1), mapped[0])
	require.ErrorContains(t, evict(path), "1 of its 1 pages stay in memory")
	require.NoError(t, unix.Munmap(mapped))
}
