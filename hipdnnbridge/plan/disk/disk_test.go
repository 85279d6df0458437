package disk_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/hipdnnbridge/plan/disk"
)

const roomy = 1 << 30

func open(t *testing.T, dir string, limit int64) *disk.Store {
	t.Helper()
	s, err := disk.Open(dir, limit)
	require.NoError(t, err)
	return s
}

// only returns the one plan of a folder.
func only(t *testing.T, dir string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.plan"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	return files[0]
}

// What one store saves another one loads, byte by byte; empty plans and keys too.
func TestKept(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "not", "there", "yet")
	a, b := open(t, dir, roomy), open(t, dir, roomy)
	for _, size := range []int{0, 1, 4096, 3 << 20} {
		for _, key := range []string{"", "key", string(bytes.Repeat([]byte{0}, 512))} {
			plan := bytes.Repeat([]byte{byte(size), 7}, size)
			require.NoError(t, a.Save([]byte(key), plan))
			got, found := b.Load([]byte(key))
			require.True(t, found)
			require.True(t, bytes.Equal(plan, got))
		}
	}
	_, found := b.Load([]byte("another key"))
	require.False(t, found)
	b.Forget([]byte("key"))
	_, found = a.Load([]byte("key"))
	require.False(t, found)
	require.Equal(t, disk.Statistics{Saves: 12, Misses: 1}, a.Statistics())
	require.Equal(t, disk.Statistics{Hits: 12, Misses: 1}, b.Statistics())

	info, err := os.Stat(dir)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o700), info.Mode().Perm())
	require.Error(t, a.Save([]byte("key"), make([]byte, disk.MaxPlan+1)))
}

// A file with any byte changed, cut off anywhere or longer is a miss and goes; the plan can be saved
// again. The control is the file as it was.
func TestBroken(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, roomy)
	key, plan := []byte("the key"), []byte("the plan, a little longer")
	require.NoError(t, s.Save(key, plan))
	path := only(t, dir)
	good, err := os.ReadFile(path)
	require.NoError(t, err)

	var cases [][]byte
	for i := range good {
		changed := bytes.Clone(good)
		changed[i] ^= 0x10
		cases = append(cases, changed, good[:i])
	}
	cases = append(cases, append(bytes.Clone(good), 0), bytes.Repeat([]byte{0}, len(good)), bytes.Repeat([]byte{0xff}, len(good)))
	for i, file := range cases {
		require.NoError(t, os.WriteFile(path, file, 0o600))
		_, found := s.Load(key)
		require.False(t, found, "case %d", i)
		require.NoFileExists(t, path)
	}
	require.Equal(t, uint64(len(cases)), s.Statistics().Broken)

	require.NoError(t, os.WriteFile(path, good, 0o600))
	got, found := s.Load(key)
	require.True(t, found)
	require.Equal(t, plan, got)
}

// A whole file of another key under this key's name is a miss.
func TestOtherKey(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, roomy)
	require.NoError(t, s.Save([]byte("one"), []byte("plan of one")))
	one := only(t, dir)
	file, err := os.ReadFile(one)
	require.NoError(t, err)
	s.Forget([]byte("one"))
	require.NoError(t, s.Save([]byte("two"), []byte("plan of two")))
	two := only(t, dir)
	require.NotEqual(t, one, two)
	require.NoError(t, os.WriteFile(two, file, 0o600))
	_, found := s.Load([]byte("two"))
	require.False(t, found)
}

// What is no file of this user's under a plan's name neither stops nor harms anybody.
func TestNoFile(t *testing.T) {
	for name, make := range map[string]func(path string) error{
		"folder": func(path string) error { return os.Mkdir(path, 0o700) },
		"pipe":   mkfifo,
		"link":   func(path string) error { return os.Symlink("/etc/passwd", path) },
		"loop":   func(path string) error { return os.Symlink(path, path) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s := open(t, dir, roomy)
			require.NoError(t, s.Save([]byte("key"), []byte("plan")))
			path := only(t, dir)
			require.NoError(t, os.Remove(path))
			require.NoError(t, make(path))
			_, found := s.Load([]byte("key"))
			require.False(t, found)
		})
	}
}

// A folder in which somebody else could put plans is refused, and so is what is no folder.
func TestRefused(t *testing.T) {
	dir := t.TempDir()
	for _, mode := range []os.FileMode{0o770, 0o707, 0o777} {
		require.NoError(t, os.Chmod(dir, mode))
		_, err := disk.Open(dir, roomy)
		require.ErrorContains(t, err, "can be written to by others", mode)
	}
	require.NoError(t, os.Chmod(dir, 0o755))
	open(t, dir, roomy)
	file := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	_, err := disk.Open(file, roomy)
	require.Error(t, err)
	_, err = disk.Open(filepath.Join(file, "below"), roomy)
	require.Error(t, err)
}

// The folder stays within its limit, what was used last stays, and what was left unfinished long ago
// goes, but nothing else that lies there does.
func TestLimit(t *testing.T) {
	dir := t.TempDir()
	const plans, size = 100, 10_000
	s := open(t, dir, plans*size/4)
	for name, age := range map[string]time.Duration{".old.plan1": 2 * time.Hour, ".new.plan2": 0, "notes": 100 * time.Hour} {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(name), 0o600))
		then := time.Now().Add(-age)
		require.NoError(t, os.Chtimes(path, then, then))
	}
	key := func(i int) []byte { return fmt.Appendf(nil, "key %d", i) }
	long := time.Now().Add(-24 * time.Hour)
	for i := range plans {
		require.NoError(t, s.Save(key(i), bytes.Repeat([]byte{byte(i)}, size)))
		// All are old, the later ones a little less.
		files, err := filepath.Glob(filepath.Join(dir, "*.plan"))
		require.NoError(t, err)
		for _, f := range files {
			if info, err := os.Stat(f); err == nil && time.Since(info.ModTime()) < time.Hour && i > 0 {
				then := long.Add(time.Duration(i) * time.Second)
				require.NoError(t, os.Chtimes(f, then, then))
			}
		}
		_, found := s.Load(key(0)) // in use, so it is not old
		require.True(t, found, "after %d plans", i+1)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.plan"))
	require.NoError(t, err)
	var total int64
	for _, f := range files {
		info, err := os.Stat(f)
		require.NoError(t, err)
		total += info.Size()
	}
	require.LessOrEqual(t, total, int64(plans*size/4+plans*size/4/8+2*size))
	require.Equal(t, uint64(plans-len(files)), s.Statistics().Removed)
	_, found := s.Load(key(plans - 1))
	require.True(t, found)
	_, found = s.Load(key(1))
	require.False(t, found)
	require.NoFileExists(t, filepath.Join(dir, ".old.plan1"))
	require.FileExists(t, filepath.Join(dir, ".new.plan2"))
	require.FileExists(t, filepath.Join(dir, "notes"))
}

// A folder that has become read-only, or full, or is gone: saving fails and says so, loading goes on.
func TestFolderGone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "plans")
	s := open(t, dir, roomy)
	require.NoError(t, s.Save([]byte("key"), []byte("plan")))
	require.NoError(t, os.RemoveAll(dir))
	_, found := s.Load([]byte("key"))
	require.False(t, found)
	require.Error(t, s.Save([]byte("key"), []byte("plan")))
	unlock, waited := s.Lock([]byte("key"), time.Minute)
	require.False(t, waited)
	unlock()
}
