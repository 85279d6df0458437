// Package publish puts a folder of files in place as one step.
//
// The files are written into a stage, a hidden folder beside the destination. Commit exchanges stage and destination by
// rename, so a reader sees the old folder or the new one, complete, and a run that fails or is killed leaves the old one
// as it was. Two runs for one destination do not disturb each other; the last to commit wins.
//
// The destination belongs to its producer as a whole: a folder that holds anything else is refused, because the
// exchange would take it away. The package knows nothing of what the files are.
//
// A stage carries a lock (flock) for as long as its process lives. A stage without one was left behind by a killed run,
// and the next run for the same destination removes it.
package publish

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// ForeignError says that the destination holds something that is not the producer's.
type ForeignError struct {
	Dir    string
	Reason string
}

func (e *ForeignError) Error() string {
	return fmt.Sprintf("%s: %s; it is left as it is: name a folder that does not exist, is empty, or holds an earlier result",
		e.Dir, e.Reason)
}

// Owner decides whether a folder that holds files may be replaced. files are the names of everything in it that is not a
// folder, relative to it, with slashes. A reason that is not empty says why it may not.
type Owner func(dir string, files []string) (reason string)

// Stage is a folder that is being filled. It is not safe for concurrent use.
type Stage struct {
	dest  string // absolute, without symbolic links
	dir   string
	lock  *os.File
	owner Owner
	// exchange swaps two names in one step; a test puts a file system without it in its place.
	exchange func(a, b string) error
}

// maxAttempts bounds the races with other runs that a call goes through before it gives up.
const maxAttempts = 100

// NewStage creates an empty stage for the destination. Missing parents of the destination are created. The error is a
// *ForeignError when owner refuses the destination as it is now; Commit asks again.
func NewStage(dest string, owner Owner) (*Stage, error) {
	dest, err := filepath.Abs(dest)
	if err != nil {
		return nil, err
	}
	if real, err := filepath.EvalSymlinks(dest); err == nil {
		dest = real // replace what a symbolic link leads to, not the link
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(dest), 0o777); err != nil {
		return nil, err
	}
	s := &Stage{dest: dest, owner: owner, exchange: exchange}
	mode, err := s.inspect()
	if err != nil {
		return nil, err
	}
	s.sweep()
	for range maxAttempts {
		made, err := s.create(mode)
		if err != nil {
			return nil, err
		}
		if made {
			return s, nil
		}
	}
	return nil, fmt.Errorf("%s: cannot create a temporary folder beside it: other runs keep removing it", dest)
}

// inspect checks that the destination may be replaced and returns the mode that the new folder gets.
func (s *Stage) inspect() (fs.FileMode, error) {
	st, err := os.Stat(s.dest)
	if errors.Is(err, fs.ErrNotExist) {
		return 0o777, nil
	}
	if err != nil {
		return 0, err
	}
	if !st.IsDir() {
		return 0, &ForeignError{Dir: s.dest, Reason: "is not a folder"}
	}
	var files []string
	err = filepath.WalkDir(s.dest, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // another run exchanged the folder meanwhile
		}
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(s.dest, path)
		files = append(files, filepath.ToSlash(rel))
		return err
	})
	if err != nil {
		return 0, err
	}
	if len(files) > 0 {
		if reason := s.owner(s.dest, files); reason != "" {
			return 0, &ForeignError{Dir: s.dest, Reason: reason}
		}
	}
	return st.Mode().Perm(), nil
}

func (s *Stage) prefix() string { return "." + filepath.Base(s.dest) + ".stage-" }

// create makes and locks a stage. It reports false when another run removed the folder before it was locked.
func (s *Stage) create(mode fs.FileMode) (bool, error) {
	dir := filepath.Join(filepath.Dir(s.dest), fmt.Sprintf("%s%016x", s.prefix(), rand.Uint64()))
	if err := os.Mkdir(dir, mode); err != nil {
		return false, err
	}
	lock, ok := tryLock(dir)
	if !ok {
		return false, nil
	}
	locked, err := lock.Stat()
	if err != nil {
		lock.Close()
		return false, err
	}
	if now, err := os.Stat(dir); err != nil || !os.SameFile(locked, now) {
		lock.Close()
		return false, nil
	}
	s.dir, s.lock = dir, lock
	return true, nil
}

// tryLock opens a folder and locks it, unless a living process holds the lock.
func tryLock(dir string) (*os.File, bool) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, false
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		f.Close()
		return nil, false
	}
	return f, true
}

// sweep removes what killed runs left behind. It is a courtesy: failures do not matter.
func (s *Stage) sweep() {
	entries, err := os.ReadDir(filepath.Dir(s.dest))
	if err != nil {
		return
	}
	for _, e := range entries {
		if !e.IsDir() || !strings.HasPrefix(e.Name(), s.prefix()) {
			continue
		}
		dir := filepath.Join(filepath.Dir(s.dest), e.Name())
		if lock, ok := tryLock(dir); ok {
			os.RemoveAll(dir)
			lock.Close()
		}
	}
}

// Dest returns the destination, absolute and without symbolic links.
func (s *Stage) Dest() string { return s.dest }

// Path returns where in the stage a file belongs, and creates the folders above it. name has slashes.
func (s *Stage) Path(name string) (string, error) {
	p := filepath.Join(s.dir, filepath.FromSlash(name))
	return p, os.MkdirAll(filepath.Dir(p), 0o777)
}

// Write writes a file of the stage.
func (s *Stage) Write(name string, content []byte) error {
	p, err := s.Path(name)
	if err != nil {
		return err
	}
	return os.WriteFile(p, content, 0o666)
}

// Discard removes the stage and leaves the destination as it is. After Commit it does nothing.
func (s *Stage) Discard() {
	if s.lock == nil {
		return
	}
	os.RemoveAll(s.dir)
	s.lock.Close()
	s.lock = nil
}

// Commit puts the stage in the destination's place. After an error the destination is as it was, and Discard removes the
// stage.
func (s *Stage) Commit() error {
	for range maxAttempts {
		done, err := s.tryCommit()
		if err != nil {
			return fmt.Errorf("putting the result in place: %w", err)
		}
		if done {
			s.lock.Close()
			s.lock = nil
			return nil
		}
	}
	return fmt.Errorf("%s: cannot put the result in place: other runs keep replacing it", s.dest)
}

// tryCommit reports false when another run changed the destination at the same moment.
func (s *Stage) tryCommit() (bool, error) {
	// Onto nothing, or onto an empty folder, which rename(2) replaces and os.Rename refuses.
	err := unix.Rename(s.dir, s.dest)
	if err == nil {
		return true, nil
	}
	if !isTaken(err) {
		return false, &os.LinkError{Op: "rename", Old: s.dir, New: s.dest, Err: err}
	}
	if _, err := s.inspect(); err != nil {
		return false, err
	}
	err = s.exchange(s.dir, s.dest)
	switch {
	case err == nil:
		os.RemoveAll(s.dir) // the old result; what cannot be removed now, a later run sweeps
		return true, nil
	case errors.Is(err, unix.ENOENT):
		return false, nil
	case errors.Is(err, unix.EINVAL), errors.Is(err, unix.ENOSYS):
		return s.commitAside()
	}
	return false, &os.LinkError{Op: "exchange", Old: s.dir, New: s.dest, Err: err}
}

func exchange(a, b string) error {
	return unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE)
}

// commitAside is for file systems that cannot exchange. There is an instant without a destination; the old result
// survives it under a name that no sweep takes.
func (s *Stage) commitAside() (bool, error) {
	aside := filepath.Join(filepath.Dir(s.dest), fmt.Sprintf(".%s.old-%016x", filepath.Base(s.dest), rand.Uint64()))
	if err := unix.Rename(s.dest, aside); err != nil {
		if errors.Is(err, unix.ENOENT) {
			return false, nil
		}
		return false, &os.LinkError{Op: "rename", Old: s.dest, New: aside, Err: err}
	}
	err := unix.Rename(s.dir, s.dest)
	if err == nil {
		os.RemoveAll(aside)
		return true, nil
	}
	if back := unix.Rename(aside, s.dest); back == nil {
		return false, &os.LinkError{Op: "rename", Old: s.dir, New: s.dest, Err: err}
	}
	if isTaken(err) { // another run's result is there
		os.RemoveAll(aside)
		return false, nil
	}
	return false, fmt.Errorf("%w; the earlier result is in %s", &os.LinkError{Op: "rename", Old: s.dir, New: s.dest, Err: err}, aside)
}

// isTaken says that a rename failed because the new name is a folder that is not empty.
func isTaken(err error) bool { return errors.Is(err, unix.ENOTEMPTY) || errors.Is(err, unix.EEXIST) }
