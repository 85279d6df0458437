package disk

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// What a broken off writing left is of no use after a while.
	abandoned = time.Hour
	// When a plan was last used is written down once in a while, not at each use, and so is when the
	// folder was last looked through.
	stale = time.Hour
)

// Limits bound a folder.
type Limits struct {
	Bytes int64 // on the disk
	Plans int
}

// Store is a folder of plans. Its methods may be called by several threads.
type Store struct {
	dir    string
	limits Limits
	locks  locks

	// Looking through the folder is for one thread at a time. Bytes and plans are what this process has
	// put into it since it last did.
	tidying      sync.Mutex
	looked       atomic.Bool
	bytes, plans atomic.Int64

	hits, misses, broken, saves, removed atomic.Uint64
}

// Statistics are counts since the store was opened.
type Statistics struct {
	Hits    uint64 // plans that were loaded
	Misses  uint64 // keys that had none, those of Broken among them
	Broken  uint64 // files that were no plan of their key
	Saves   uint64
	Removed uint64 // plans that had to go since the folder had outgrown its limits
}

// Open returns the plans in a folder, which is made if it is not there.
func Open(dir string, limits Limits) (*Store, error) {
	s := &Store{dir: dir, limits: limits}
	s.locks.path = filepath.Join(dir, "lock")
	if err := standardDescriptors(); err != nil {
		return nil, err
	}
	if err := create(dir); err != nil {
		return nil, err
	}
	return s, s.within(func(*os.Root) error { return nil })
}

// create makes a folder, but not among somebody else's: whom root has lent his HOME could not use his own
// folder for caches any more.
func create(dir string) error {
	for above := dir; ; above = filepath.Dir(above) {
		info, err := os.Stat(above)
		if errors.Is(err, fs.ErrNotExist) && above != filepath.Dir(above) {
			continue
		}
		if err != nil {
			return err
		}
		if owner := ownerOf(info); above != dir && owner != 0 && owner != os.Geteuid() {
			return fmt.Errorf("%s belongs to user %d, not to this process's, %d", above, owner, os.Geteuid())
		}
		return os.MkdirAll(dir, 0o700)
	}
}

func ownerOf(info fs.FileInfo) int { return int(info.Sys().(*syscall.Stat_t).Uid) }

// standardDescriptors is an error where one is closed: a file that is opened would get its number, and
// what the host writes there.
func standardDescriptors() error {
	for number := range 3 {
		if _, err := unix.FcntlInt(uintptr(number), unix.F_GETFD, 0); err != nil {
			return fmt.Errorf("descriptor %d, one of the standard ones, is closed", number)
		}
	}
	return nil
}

// within calls f with the folder. It is opened and looked at each time: a name can come to mean another
// folder, and a descriptor that is kept another file, when a host closes what it does not know.
func (s *Store) within(f func(folder *os.Root) error) error {
	if err := standardDescriptors(); err != nil {
		return err
	}
	folder, err := os.OpenRoot(s.dir)
	if err != nil {
		return err
	}
	defer folder.Close()
	info, err := folder.Stat(".")
	if err != nil {
		return err
	}
	const others = 0o022
	switch owner := ownerOf(info); {
	case owner != os.Geteuid():
		return fmt.Errorf("%s belongs to user %d, not to this process's, %d", s.dir, owner, os.Geteuid())
	case info.Mode()&others != 0:
		return fmt.Errorf("%s can be written to by others (%v): plans in it cannot be trusted", s.dir, info.Mode().Perm())
	}
	return f(folder)
}

// Dir is the folder.
func (s *Store) Dir() string { return s.dir }

// Load returns the plan of a key, if there is one.
func (s *Store) Load(key []byte) (plan []byte, found bool) {
	name := fileName(key)
	_ = s.within(func(folder *os.Root) error { // what is wrong with the folder is for Save to say
		file, err := read(folder, name)
		if err != nil {
			return err
		}
		if plan, err = decode(file, key); err != nil {
			s.broken.Add(1)
			return folder.Remove(name) // or the next who saves the plan replaces it
		}
		found = true
		// A folder that can only be read has nothing to be sorted by.
		if info, err := folder.Stat(name); err == nil && time.Since(info.ModTime()) > stale {
			now := time.Now()
			return folder.Chtimes(name, now, now)
		}
		return nil
	})
	if found {
		s.hits.Add(1)
	} else {
		s.misses.Add(1)
	}
	return plan, found
}

func read(folder *os.Root, name string) ([]byte, error) {
	// A pipe would keep the caller waiting.
	file, err := folder.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK, 0)
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

// Save keeps the plan of a key, in place of the one that is there.
func (s *Store) Save(key, plan []byte) error {
	if len(plan) > MaxPlan {
		return fmt.Errorf("a plan of %d bytes, at most %d are kept", len(plan), MaxPlan)
	}
	file := encode(key, plan)
	if err := Writable(len(file)); err != nil {
		return err
	}
	err := s.within(func(folder *os.Root) error { return write(folder, fileName(key), file) })
	if err == nil {
		s.saves.Add(1)
		s.bytes.Add(int64(len(file)))
		s.plans.Add(1)
	}
	return err
}

// Writable is an error where a file may not have so many bytes: to write more than RLIMIT_FSIZE ends the
// process, unless it has provided for that.
func Writable(size int) error {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &limit); err != nil {
		return err
	}
	if uint64(size) > limit.Cur {
		return fmt.Errorf("a file of %d bytes, and RLIMIT_FSIZE is %d", size, limit.Cur)
	}
	return nil
}

// write makes a file, whole or not at all for those who read it. It does not wait for the disk, which takes
// longer than many a build: what a crash of the machine tears, its digest tells.
func write(folder *os.Root, name string, content []byte) error {
	temporary := unfinishedName(name)
	file, err := folder.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	if err = errors.Join(err, file.Close()); err == nil {
		err = folder.Rename(temporary, name)
	}
	if err != nil {
		_ = folder.Remove(temporary) // what led here is the error
	}
	return err
}

// Forget removes the plan of a key, which turned out to be of no use.
func (s *Store) Forget(key []byte) {
	_ = s.within(func(folder *os.Root) error { return folder.Remove(fileName(key)) })
}

// Tidy makes the folder smaller if it has outgrown its limits. It is to be called now and then by who saves,
// without a lock: it looks at every file, though seldom.
func (s *Store) Tidy() {
	much := s.bytes.Load() > s.limits.Bytes/8 || s.plans.Load() > int64(s.limits.Plans/8)
	if s.looked.Load() && !much || !s.tidying.TryLock() {
		return
	}
	defer s.tidying.Unlock()
	s.looked.Store(true)
	s.bytes.Store(0)
	s.plans.Store(0)
	_ = s.within(func(folder *os.Root) error {
		// Short-lived processes are many, and each would look.
		if info, err := folder.Stat(lastLook); !much && err == nil && time.Since(info.ModTime()) < stale {
			return nil
		}
		file, err := folder.Create(lastLook)
		if err != nil {
			return err
		}
		now := time.Now()
		if err := errors.Join(file.Close(), folder.Chtimes(lastLook, now, now)); err != nil {
			return err
		}
		return s.shrink(folder)
	})
}

// plan is one in the folder.
type plan struct {
	name string
	used time.Time
	disk int64 // bytes
}

func (s *Store) shrink(folder *os.Root) error {
	plans, total, err := list(folder)
	if err != nil || total <= s.limits.Bytes && len(plans) <= s.limits.Plans {
		return err
	}
	slices.SortFunc(plans, func(a, b plan) int { return cmp.Or(a.used.Compare(b.used), strings.Compare(a.name, b.name)) })
	left := len(plans)
	for _, p := range plans {
		// Some more than has to go, so that not every plan that comes needs another look.
		if total <= s.limits.Bytes/4*3 && left <= s.limits.Plans/4*3 {
			return nil
		}
		err := folder.Remove(p.name)
		if err == nil {
			s.removed.Add(1)
		}
		if err == nil || errors.Is(err, fs.ErrNotExist) { // another process is at it too
			total -= p.disk
			left--
		}
	}
	return nil
}

// list returns the plans and what they take on the disk, and removes what was left unfinished. The user may
// have other files in the folder.
func list(folder *os.Root) (plans []plan, total int64, err error) {
	all, err := folder.Open(".")
	if err != nil {
		return nil, 0, err
	}
	defer all.Close()
	entries, err := all.ReadDir(-1)
	if err != nil {
		return nil, 0, err
	}
	for _, e := range entries {
		if !isPlan(e.Name()) && !isUnfinished(e.Name()) {
			continue
		}
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		if isPlan(e.Name()) {
			const block = 512 // of st_blocks, whatever the file system's are
			disk := info.Sys().(*syscall.Stat_t).Blocks * block
			plans = append(plans, plan{e.Name(), info.ModTime(), disk})
			total += disk
		} else if time.Since(info.ModTime()) > abandoned {
			_ = folder.Remove(e.Name())
		}
	}
	return plans, total, nil
}

// unfinishedName is where a file of that name is written to.
func unfinishedName(name string) string { return "." + name + strconv.FormatUint(rand.Uint64(), 10) }

// Statistics returns what was counted so far.
func (s *Store) Statistics() Statistics {
	return Statistics{
		Hits: s.hits.Load(), Misses: s.misses.Load(), Broken: s.broken.Load(),
		Saves: s.saves.Load(), Removed: s.removed.Load(),
	}
}
