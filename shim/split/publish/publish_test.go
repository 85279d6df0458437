package publish

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// owned lets folders be replaced that hold only "a" and "b/c".
func owned(_ string, files []string) string {
	for _, f := range files {
		if f != "a" && f != "b/c" {
			return "holds " + f
		}
	}
	return ""
}

// fill makes a stage with the two files.
func fill(t *testing.T, dest, content string) *Stage {
	t.Helper()
	s, err := NewStage(dest, owned)
	require.NoError(t, err)
	require.NoError(t, s.Write("a", []byte(content)))
	require.NoError(t, s.Write("b/c", []byte(content)))
	return s
}

func publish(t *testing.T, dest, content string) {
	t.Helper()
	s := fill(t, dest, content)
	require.NoError(t, s.Commit())
	s.Discard() // does nothing
}

func requireContent(t *testing.T, dest, content string) {
	t.Helper()
	for _, name := range []string{"a", "b/c"} {
		b, err := os.ReadFile(filepath.Join(dest, name))
		require.NoError(t, err)
		require.Equal(t, content, string(b))
	}
}

// requireNames checks that a folder holds exactly these entries, hidden ones included.
func requireNames(t *testing.T, dir string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	slices.Sort(want)
	require.Equal(t, want, got)
}

func TestCommit(t *testing.T) {
	dir := t.TempDir()
	dest := filepath.Join(dir, "deep", "down", "out")
	publish(t, dest, "1") // missing, with its parents
	requireContent(t, dest, "1")
	publish(t, dest, "2") // an earlier result
	requireContent(t, dest, "2")
	requireNames(t, filepath.Dir(dest), "out")

	empty := filepath.Join(dir, "empty")
	require.NoError(t, os.MkdirAll(filepath.Join(empty, "b", "x"), 0o755)) // folders without files count as empty
	require.NoError(t, os.Chmod(empty, 0o2751&0o777))
	publish(t, empty, "3")
	requireContent(t, empty, "3")
	requireNames(t, empty, "a", "b")
	st, err := os.Stat(empty)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o751), st.Mode().Perm())
}

func TestSymbolicLinkToDestination(t *testing.T) {
	dir := t.TempDir()
	publish(t, filepath.Join(dir, "real"), "1")
	link := filepath.Join(dir, "link")
	require.NoError(t, os.Symlink("real", link))
	publish(t, link, "2")
	requireContent(t, filepath.Join(dir, "real"), "2")
	target, err := os.Readlink(link)
	require.NoError(t, err)
	require.Equal(t, "real", target)
	requireNames(t, dir, "link", "real")
}

func TestForeign(t *testing.T) {
	dir := t.TempDir()
	dest := filepath.Join(dir, "out")
	publish(t, dest, "1")
	require.NoError(t, os.WriteFile(filepath.Join(dest, "mine"), []byte("precious"), 0o644))
	_, err := NewStage(dest, owned)
	var foreign *ForeignError
	require.ErrorAs(t, err, &foreign)
	require.ErrorContains(t, err, "holds mine")
	requireNames(t, dir, "out")

	file := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o644))
	_, err = NewStage(file, owned)
	require.ErrorAs(t, err, &foreign)
	_, err = NewStage(filepath.Join(file, "below"), owned)
	require.Error(t, err)
	requireNames(t, dir, "file", "out")
}

// TestForeignMeanwhile: a file that appears while the stage is filled is not taken away.
func TestForeignMeanwhile(t *testing.T) {
	dest := filepath.Join(t.TempDir(), "out")
	publish(t, dest, "1")
	s := fill(t, dest, "2")
	require.NoError(t, os.WriteFile(filepath.Join(dest, "mine"), []byte("precious"), 0o644))
	var foreign *ForeignError
	require.ErrorAs(t, s.Commit(), &foreign)
	s.Discard()
	requireContent(t, dest, "1")
	requireNames(t, dest, "a", "b", "mine")
	requireNames(t, filepath.Dir(dest), "out")
}

func TestDiscard(t *testing.T) {
	dir := t.TempDir()
	dest := filepath.Join(dir, "out")
	publish(t, dest, "1")
	s := fill(t, dest, "2")
	s.Discard()
	s.Discard()
	requireContent(t, dest, "1")
	requireNames(t, dir, "out")
}

func TestWithoutExchange(t *testing.T) {
	dir := t.TempDir()
	dest := filepath.Join(dir, "out")
	for i := range 3 {
		s := fill(t, dest, fmt.Sprint(i))
		s.exchange = func(string, string) error { return unix.EINVAL }
		require.NoError(t, s.Commit())
		requireContent(t, dest, fmt.Sprint(i))
		requireNames(t, dir, "out")
	}
	// Another failure is not worked around, and leaves everything as it was.
	s := fill(t, dest, "x")
	s.exchange = func(string, string) error { return unix.EIO }
	require.True(t, errors.Is(s.Commit(), unix.EIO))
	s.Discard()
	requireContent(t, dest, "2")
	requireNames(t, dir, "out")
}

// TestConcurrent: whoever reads the destination while many runs replace it sees one of the results, whole.
func TestConcurrent(t *testing.T) {
	for name, swap := range map[string]func(a, b string) error{
		"exchange": exchange,
		"without":  func(string, string) error { return unix.ENOSYS },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			dest := filepath.Join(dir, "out")
			publish(t, dest, "start")
			var wg sync.WaitGroup
			for w := range 8 {
				wg.Go(func() {
					for i := range 10 {
						s, err := NewStage(dest, owned)
						if err != nil {
							t.Error(err)
							return
						}
						s.exchange = swap
						text := fmt.Appendf(nil, "%d.%d", w, i)
						err = errors.Join(s.Write("a", text), s.Write("b/c", text), s.Commit())
						s.Discard()
						if err != nil {
							t.Error(err)
						}
					}
				})
			}
			stop := make(chan struct{})
			readers := sync.WaitGroup{}
			readers.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
					}
					root, err := os.OpenRoot(dest)
					if err != nil {
						if name == "exchange" {
							t.Errorf("the destination was away: %v", err)
						}
						continue
					}
					// The folder may be removed between the two reads, but never be a mixture.
					a, errA := root.ReadFile("a")
					c, errC := root.ReadFile("b/c")
					if errA == nil && errC == nil && string(a) != string(c) {
						t.Errorf("a mixture: %s and %s", a, c)
					}
					root.Close()
				}
			})
			wg.Wait()
			close(stop)
			readers.Wait()
			requireNames(t, dir, "out")
		})
	}
}

const killedVariable = "PUBLISH_TEST_KILLED"

// TestKilled kills a run with a filled stage. The earlier result stays, a living run's stage is not touched, and the next
// run cleans up.
func TestKilled(t *testing.T) {
	if dest := os.Getenv(killedVariable); dest != "" {
		fill(t, dest, "killed")
		fmt.Println("ready")
		select {}
	}
	dir := t.TempDir()
	dest := filepath.Join(dir, "out")
	publish(t, dest, "1")
	living := fill(t, dest, "2")

	cmd := exec.Command(os.Args[0], "-test.run=^TestKilled$")
	cmd.Env = append(os.Environ(), killedVariable+"="+dest)
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	line, err := bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "ready\n", line)
	require.NoError(t, cmd.Process.Kill())
	require.Error(t, cmd.Wait())

	requireContent(t, dest, "1")
	left, err := filepath.Glob(filepath.Join(dir, ".out.stage-*"))
	require.NoError(t, err)
	require.Len(t, left, 2, "the killed run's and the living one's")

	publish(t, dest, "3")
	requireContent(t, dest, "3")
	left, err = filepath.Glob(filepath.Join(dir, ".out.stage-*"))
	require.NoError(t, err)
	require.Equal(t, []string{living.dir}, left)
	require.NoError(t, living.Commit())
	requireContent(t, dest, "2")
	requireNames(t, dir, "out")
}
