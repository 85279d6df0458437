package disk

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	suffix = ".plan"
	// Files whose writing was broken off begin with this, and are of no use after a while.
	unfinished = "."
	abandoned  = time.Hour
	// A plan's time of last use is written down once in a while, not at each use.
	stale = time.Hour
)

// Store is a folder of plans. Its methods may be called by several threads.
type Store struct {
	dir   string
	limit int64
	locks locks

	// grown is how many bytes were written since the folder was last looked through, negative: it was
	// not yet. Looking through is one thread's at a time.
	grown  atomic.Int64
	sizing sync.Mutex

	hits, misses, broken, saves, removed atomic.Uint64
}

// Statistics are counts since the store was opened.
type Statistics struct {
	Hits    uint64 // plans that were loaded
	Misses  uint64 // keys that had none, those of Broken among them
	Broken  uint64 // files that were no plan of their key
	Saves   uint64
	Removed uint64 // plans that had to go since the folder had outgrown its limit
}

// Open returns the plans in a folder, which is made if it is not there. Limit bounds the bytes of all
// plans in it.
func Open(dir string, limit int64) (*Store, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	info, err := os.Stat(dir)
	if err != nil {
		return nil, err
	}
	const others = 0o022
	owner := info.Sys().(*syscall.Stat_t).Uid
	switch {
	case !info.IsDir():
		return nil, fmt.Errorf("%s is not a folder", dir)
	case int(owner) != os.Geteuid():
		return nil, fmt.Errorf("%s belongs to user %d, not to this process's, %d", dir, owner, os.Geteuid())
	case info.Mode()&others != 0:
		return nil, fmt.Errorf("%s can be written to by others (%v): plans in it cannot be trusted", dir, info.Mode().Perm())
	}
	s := &Store{dir: dir, limit: limit}
	s.locks.path = filepath.Join(dir, "lock")
	s.grown.Store(-1)
	return s, nil
}

// Dir is the folder.
func (s *Store) Dir() string { return s.dir }

// Load returns the plan of a key, if there is one.
func (s *Store) Load(key []byte) (plan []byte, found bool) {
	path := filepath.Join(s.dir, fileName(key))
	file, err := readFile(path)
	if err == nil {
		plan, err = decode(file, key)
		if err == nil {
			s.hits.Add(1)
			s.touch(path)
			return plan, true
		}
		s.broken.Add(1)
		_ = os.Remove(path) // or the next who saves the plan replaces it
	}
	s.misses.Add(1)
	return nil, false
}

func readFile(path string) ([]byte, error) {
	// What is not a regular file could keep the caller waiting.
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	const most = MaxPlan + 1<<16
	if !info.Mode().IsRegular() || info.Size() > most {
		return nil, nil // no plan of anything
	}
	return io.ReadAll(io.LimitReader(file, most))
}

// touch notes that a plan is in use. A folder that can only be read has nothing to be sorted by.
func (s *Store) touch(path string) {
	if info, err := os.Stat(path); err == nil && time.Since(info.ModTime()) > stale {
		now := time.Now()
		_ = os.Chtimes(path, now, now)
	}
}

// Save keeps the plan of a key, in place of the one that is there.
func (s *Store) Save(key, plan []byte) error {
	if len(plan) > MaxPlan {
		return fmt.Errorf("a plan of %d bytes, at most %d are kept", len(plan), MaxPlan)
	}
	file := encode(key, plan)
	if err := s.write(fileName(key), file); err != nil {
		return err
	}
	s.saves.Add(1)
	if grown := s.grown.Load(); grown < 0 || s.grown.Add(int64(len(file))) > s.limit/8 {
		s.shrink()
	}
	return nil
}

// write makes a file, whole or not at all for those who read it. It does not wait for the disk, which takes
// longer than many a build: what a crash of the machine tears, its digest tells.
func (s *Store) write(name string, content []byte) error {
	file, err := os.CreateTemp(s.dir, unfinished+name)
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	err = errors.Join(err, file.Close())
	if err == nil {
		err = os.Rename(file.Name(), filepath.Join(s.dir, name))
	}
	if err != nil {
		_ = os.Remove(file.Name()) // what led here is the error
	}
	return err
}

// Forget removes the plan of a key, which turned out to be of no use.
func (s *Store) Forget(key []byte) { _ = os.Remove(filepath.Join(s.dir, fileName(key))) }

// shrink looks the folder through and makes it smaller if it is larger than its limit.
func (s *Store) shrink() {
	if !s.sizing.TryLock() {
		return
	}
	defer s.sizing.Unlock()
	s.grown.Store(0)
	plans, total := s.list()
	if total <= s.limit {
		return
	}
	slices.SortFunc(plans, func(a, b fs.FileInfo) int {
		return cmp.Or(a.ModTime().Compare(b.ModTime()), strings.Compare(a.Name(), b.Name()))
	})
	// Some more than has to go, so that not every plan that comes needs another look.
	for _, p := range plans {
		if total <= s.limit/4*3 {
			return
		}
		err := os.Remove(filepath.Join(s.dir, p.Name()))
		if err == nil {
			s.removed.Add(1)
		}
		if err == nil || errors.Is(err, fs.ErrNotExist) { // another process is at it too
			total -= p.Size()
		}
	}
}

// list returns the plans and their size, and removes what others left unfinished.
func (s *Store) list() (plans []fs.FileInfo, total int64) {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return nil, 0
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		switch {
		case strings.HasPrefix(e.Name(), unfinished):
			if time.Since(info.ModTime()) > abandoned {
				_ = os.Remove(filepath.Join(s.dir, e.Name()))
			}
		case strings.HasSuffix(e.Name(), suffix):
			plans = append(plans, info)
			total += info.Size()
		}
	}
	return plans, total
}

// Statistics returns what was counted so far.
func (s *Store) Statistics() Statistics {
	return Statistics{
		Hits: s.hits.Load(), Misses: s.misses.Load(), Broken: s.broken.Load(),
		Saves: s.saves.Load(), Removed: s.removed.Load(),
	}
}
