package disk

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// locks are the bytes of one file that is never written: each key has its own byte of the 2^62 that a
// file could have. The kernel gives a lock up when its process ends, whatever way.
type locks struct {
	path string
	once sync.Once
	file *os.File // nil: there are no locks
}

// Lock makes the caller the only one, of all processes, that builds the plan of a key, until it calls
// unlock. It waits while another process does, at most for patience; after that, and where the file
// system has no locks, the caller builds beside others. Two threads of one process do not keep each
// other out. Waited tells that another process had the key, so that it may have saved the plan since.
func (s *Store) Lock(key []byte, patience time.Duration) (unlock func(), waited bool) {
	file := s.locks.open()
	if file == nil {
		return func() {}, false
	}
	digest := sha256.Sum256(key)
	at := int64(binary.LittleEndian.Uint64(digest[:]) >> 2)
	deadline := time.Now().Add(patience)
	const shortest, longest = time.Millisecond, 50 * time.Millisecond
	for pause := shortest; ; pause = min(2*pause, longest) {
		err := set(file, unix.F_WRLCK, at)
		if err == nil {
			return func() { _ = set(file, unix.F_UNLCK, at) }, waited
		}
		left := time.Until(deadline)
		if !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EACCES) && !errors.Is(err, unix.EINTR) || left <= 0 {
			return func() {}, waited
		}
		waited = true
		time.Sleep(min(pause, left))
	}
}

func (l *locks) open() *os.File {
	l.once.Do(func() {
		if file, err := os.OpenFile(l.path, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600); err == nil {
			l.file = file
		}
	})
	return l.file
}

// set takes or gives up one byte, without waiting. The lock belongs to the open file: one of the process
// would go when anybody in it closed the file.
func set(file *os.File, kind int16, at int64) error {
	return unix.FcntlFlock(file.Fd(), unix.F_OFD_SETLK, &unix.Flock_t{Type: kind, Whence: io.SeekStart, Start: at, Len: 1})
}
