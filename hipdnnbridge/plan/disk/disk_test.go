package disk_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/hipdnnbridge/plan/disk"
)

var roomy = disk.Limits{Bytes: 1 << 30, Plans: 1 << 20}

func open(t *testing.T, dir string, limits disk.Limits) *disk.Store {
	t.Helper()
	s, err := disk.Open(dir, limits)
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
		"link":   func(path string) error { return os.Symlink(filepath.Join(filepath.Dir(path), "..", "good"), path) },
		"loop":   func(path string) error { return os.Symlink(path, path) },
	} {
		t.Run(name, func(t *testing.T) {
			above := t.TempDir()
			dir := filepath.Join(above, "plans")
			s := open(t, dir, roomy)
			require.NoError(t, s.Save([]byte("key"), []byte("plan")))
			path := only(t, dir)
			require.NoError(t, os.Rename(path, filepath.Join(above, "good")))
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

// Whose folder it is decides, not who made it: root with a user's HOME neither makes folders in it nor takes plans from it.
func TestOwner(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, roomy)
	require.NoError(t, s.Save([]byte("key"), []byte("plan")))
	if os.Chown(dir, 1000, 1000) != nil {
		// Only root can give files away, and not in a sandbox. The root folder is another's there.
		dir = "/"
	}
	info, err := os.Stat(dir)
	require.NoError(t, err)
	owner := info.Sys().(*syscall.Stat_t).Uid
	if int(owner) == os.Geteuid() {
		t.Skip("nothing here belongs to another user")
	}
	belongs := fmt.Sprintf("%s belongs to user %d", dir, owner)
	_, err = disk.Open(dir, roomy)
	require.ErrorContains(t, err, belongs)
	if owner != 0 { // where that is root, an ordinary user has no right to make folders
		_, err = disk.Open(filepath.Join(dir, ".cache", "plans"), roomy)
		require.ErrorContains(t, err, belongs)
		require.NoDirExists(t, filepath.Join(dir, ".cache"))
	}
	if dir != "/" {
		_, found := s.Load([]byte("key"))
		require.False(t, found)
	}
}

// A name can come to mean another folder, which is looked at as the first was.
func TestReplacedFolder(t *testing.T) {
	above := t.TempDir()
	dir, other := filepath.Join(above, "plans"), filepath.Join(above, "other")
	s := open(t, dir, roomy)
	require.NoError(t, open(t, other, roomy).Save([]byte("key"), []byte("another's")))
	require.NoError(t, os.Chmod(other, 0o777))
	require.NoError(t, os.Rename(dir, filepath.Join(above, "gone")))
	require.NoError(t, os.Rename(other, dir))
	_, found := s.Load([]byte("key"))
	require.False(t, found)
	require.ErrorContains(t, s.Save([]byte("key"), []byte("plan")), "can be written to by others")
	require.NoError(t, os.Chmod(dir, 0o700))
	_, found = s.Load([]byte("key"))
	require.True(t, found, "the control")
}

// fill saves plans of that many bytes under keys 0, 1, ...; the later ones were used a little less long ago, and key 0 is in use.
func fill(t *testing.T, s *disk.Store, dir string, plans, size int) {
	t.Helper()
	long := time.Now().Add(-24 * time.Hour)
	for i := range plans {
		require.NoError(t, s.Save(name(i), bytes.Repeat([]byte{byte(i)}, size)))
		for _, f := range files(t, dir) {
			if info, err := os.Stat(f); err == nil && time.Since(info.ModTime()) < time.Hour && i > 0 {
				then := long.Add(time.Duration(i) * time.Second)
				require.NoError(t, os.Chtimes(f, then, then))
			}
		}
		_, found := s.Load(name(0))
		require.True(t, found, "after %d plans", i+1)
		s.Tidy()
	}
}

func name(i int) []byte { return fmt.Appendf(nil, "key %d", i) }

func files(t *testing.T, dir string) []string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(dir, "*.plan"))
	require.NoError(t, err)
	return list
}

// The folder stays within its limits, of bytes on the disk and of plans, and what was used last stays.
func TestLimits(t *testing.T) {
	const plans = 60
	for what, c := range map[string]struct {
		limits disk.Limits
		size   int
		most   int // plans that may be there in the end
	}{
		"bytes": {disk.Limits{Bytes: 160_000, Plans: plans}, 10_000, 16},
		// A small file takes a block of the disk.
		"blocks": {disk.Limits{Bytes: 20 * 4096, Plans: plans}, 10, 20 + 4},
		"plans":  {disk.Limits{Bytes: 1 << 30, Plans: 10}, 10, 10 + 2},
	} {
		dir := t.TempDir()
		s := open(t, dir, c.limits)
		fill(t, s, dir, plans, c.size)
		left := len(files(t, dir))
		require.LessOrEqual(t, left, c.most, what)
		require.Equal(t, uint64(plans-left), s.Statistics().Removed, what)
		_, found := s.Load(name(1))
		require.False(t, found, what)
		_, found = s.Load(name(plans - 1))
		require.True(t, found, what)
	}
	dir := t.TempDir()
	fill(t, open(t, dir, roomy), dir, plans, 10)
	require.Len(t, files(t, dir), plans, "the control")
}

// What else is in the folder is not touched, however old and whatever it is called; what was left unfinished is removed.
func TestOtherFiles(t *testing.T) {
	dir := t.TempDir()
	old := time.Now().Add(-100 * time.Hour)
	digest := strings.Repeat("0123456789", 4)
	others := []string{
		".bashrc", ".netrc", ".env", "notes", "prod.plan", "cafe.plan", ".cafe.plan1", ".old.plan1", digest, digest + ".plans", "A" + digest[1:] + ".plan",
		"." + digest + ".plan", "." + digest + ".plan1x", "x." + digest + ".plan1",
	}
	unfinished := []string{"." + digest + ".plan1", "." + digest + ".plan18446744073709551615"}
	for _, name := range append(others, unfinished...) {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, make([]byte, 10_000), 0o600))
		require.NoError(t, os.Chtimes(path, old, old))
	}
	recent := filepath.Join(dir, "."+digest+".plan2")
	require.NoError(t, os.WriteFile(recent, nil, 0o600))
	s := open(t, dir, disk.Limits{Bytes: 1, Plans: 1})
	require.NoError(t, s.Save([]byte("key"), []byte("plan")))
	s.Tidy()
	require.Equal(t, uint64(1), s.Statistics().Removed, "the control")
	for _, name := range others {
		require.FileExists(t, filepath.Join(dir, name))
	}
	for _, name := range unfinished {
		require.NoFileExists(t, filepath.Join(dir, name))
	}
	require.FileExists(t, recent, "somebody may be writing it")
}

// Of many processes one an hour looks through the folder, as long as none has put much into it.
func TestSeldom(t *testing.T) {
	dir := t.TempDir()
	put := func(i int) uint64 {
		s := open(t, dir, disk.Limits{Bytes: 3 * 4096, Plans: 100})
		require.NoError(t, s.Save(name(i), nil))
		s.Tidy()
		return s.Statistics().Removed
	}
	for i := range 6 {
		require.Zero(t, put(i), "somebody has just looked")
	}
	then := time.Now().Add(-2 * time.Hour)
	require.NoError(t, os.Chtimes(filepath.Join(dir, ".plans-looked-at"), then, then))
	require.Equal(t, uint64(5), put(6))
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
	s.Tidy()
	unlock, waited := s.Lock([]byte("key"), time.Minute)
	require.Zero(t, waited)
	unlock()
	require.NoDirExists(t, dir)
}
