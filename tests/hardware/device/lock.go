package device

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

const defaultLockDir = "/dev/shm/miopen-hipdnn-shim-gpus"

// poll is how often a process that waits for a GPU tries again: flock can wait for one file, not for the first of many.
const poll = 100 * time.Millisecond

// prepareLockDir makes the directory for locks, for all users. It appears with its mode: between Mkdir, whose mode goes
// through the umask, and Chmod another user would fail.
func prepareLockDir(dir string) error {
	if info, err := os.Stat(dir); err == nil && info.IsDir() {
		return nil
	}
	made, err := os.MkdirTemp(filepath.Dir(dir), filepath.Base(dir)+".")
	if err != nil {
		return fmt.Errorf("make the directory for the GPUs' locks: %w", err)
	}
	err = os.Chmod(made, 0o777|fs.ModeSticky)
	if err == nil {
		err = os.Rename(made, dir)
	}
	if err == nil {
		return nil
	}
	os.Remove(made)
	if info, statErr := os.Stat(dir); statErr == nil && info.IsDir() {
		return nil // another process was faster
	}
	return fmt.Errorf("make the directory for the GPUs' locks: %w", err)
}

// openLock opens a lock file, which it makes when there is none.
func openLock(path string) (*os.File, error) {
	for {
		file, err := os.OpenFile(path, os.O_RDWR|unix.O_NOFOLLOW, 0)
		if !errors.Is(err, fs.ErrNotExist) {
			return file, err
		}
		file, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
		if errors.Is(err, fs.ErrExist) {
			continue // another process was faster
		}
		if err != nil {
			return nil, err
		}
		if err := file.Chmod(0o666); err != nil {
			file.Close()
			return nil, err
		}
		return file, nil
	}
}

// tryLock takes the lock in path. held is true when another process has it; holder is what that one wrote of itself.
func tryLock(path, self string) (file *os.File, holder string, held bool, err error) {
	file, err = openLock(path)
	if err != nil {
		return nil, "", false, fmt.Errorf("open the lock of a GPU: %w", err)
	}
	switch err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB); {
	case errors.Is(err, unix.EWOULDBLOCK):
		var text [200]byte
		n, _ := file.ReadAt(text[:], 0)
		file.Close()
		return nil, strings.TrimSpace(string(text[:n])), true, nil
	case err != nil:
		file.Close()
		return nil, "", false, fmt.Errorf("lock %s: %w", path, err)
	}
	// For whoever waits: the lock does not depend on it, so a full disk does not matter.
	if file.Truncate(0) == nil {
		_, _ = file.WriteAt([]byte(self+"\n"), 0)
	}
	return file, "", false, nil
}

// lockAny takes the first of gpus that is free, and waits for one until ctx or the limit ends.
func lockAny(ctx context.Context, dir string, gpus []gpu, wait time.Duration, self string) (gpu, *os.File, error) {
	if err := prepareLockDir(dir); err != nil {
		return gpu{}, nil, err
	}
	limit, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	for {
		var holders []string
		for _, g := range gpus {
			path := filepath.Join(dir, fmt.Sprintf("renderD%d.lock", g.renderMinor))
			file, holder, held, err := tryLock(path, self)
			if err != nil {
				return gpu{}, nil, err
			}
			if !held {
				return g, file, nil
			}
			holders = append(holders, fmt.Sprintf("  %s: %s has %s", g, holder, path))
		}
		select {
		case <-limit.Done():
			return gpu{}, nil, fmt.Errorf("no GPU became free within %v (%w):\n%s\nRun fewer GPU tests at once: one for each GPU (--local_resources=gpu=%d)",
				wait, limit.Err(), strings.Join(holders, "\n"), len(gpus))
		case <-time.After(poll):
		}
	}
}
