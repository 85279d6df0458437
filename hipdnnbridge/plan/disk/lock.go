package disk

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"io"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// locks are the bytes of one file that is never written: each key has its own byte of the 2^62 that a
// file could have. They are the process's, so that the kernel gives them up when it ends, whatever way,
// and forked children have no part in them. Closing the file gives all of them up, so it is open as long
// as there is one.
type locks struct {
	path string

	mu   sync.Mutex
	held int // and waited for
	file int // while held is not 0
	is   unix.Stat_t
}

// Lock makes the caller the only one, of all processes, that builds the plan of a key, until it calls
// unlock. It waits while another process does, at most for patience; after that, and where the file
// system has no locks, the caller builds beside others. Two threads of one process do not keep each
// other out. Whoever has the lock looks for the plan again: it may have been saved since.
func (s *Store) Lock(key []byte, patience time.Duration) (unlock func(), waited time.Duration) {
	l := &s.locks
	file, err := l.open()
	if err != nil {
		return func() {}, 0
	}
	digest := sha256.Sum256(key)
	at := int64(binary.LittleEndian.Uint64(digest[:]) >> 2)
	start := time.Now()
	const shortest, longest = time.Millisecond, 50 * time.Millisecond
	for pause := shortest; ; pause = min(2*pause, longest) {
		err := set(file, unix.F_WRLCK, at)
		if err == nil {
			return sync.OnceFunc(func() {
				_ = set(file, unix.F_UNLCK, at)
				l.close()
			}), waited
		}
		left := patience - time.Since(start)
		if !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EACCES) && !errors.Is(err, unix.EINTR) || left <= 0 {
			l.close()
			return func() {}, waited
		}
		time.Sleep(min(pause, left))
		waited = time.Since(start)
	}
}

func (l *locks) open() (file int, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held == 0 {
		if err := standardDescriptors(); err != nil {
			return 0, err
		}
		if l.file, err = unix.Open(l.path, unix.O_RDWR|unix.O_CREAT|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0o600); err != nil {
			return 0, err
		}
		if err := unix.Fstat(l.file, &l.is); err != nil {
			_ = unix.Close(l.file)
			return 0, err
		}
	}
	l.held++
	return l.file, nil
}

// close closes the file if nobody needs it, unless the host has done so and the number is another file's.
func (l *locks) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held--
	var is unix.Stat_t
	if l.held == 0 && unix.Fstat(l.file, &is) == nil && is.Dev == l.is.Dev && is.Ino == l.is.Ino {
		_ = unix.Close(l.file)
	}
}

// set takes or gives up one byte, without waiting.
func set(file int, kind int16, at int64) error {
	return unix.FcntlFlock(uintptr(file), unix.F_SETLK, &unix.Flock_t{Type: kind, Whence: io.SeekStart, Start: at, Len: 1})
}
