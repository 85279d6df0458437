package main

import (
	"fmt"
	"os"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// evict takes files out of the page cache, so that the next to open them reads them from the disk, and makes sure of it:
// the kernel keeps pages that are dirty or that a process has mapped, and files of a tmpfs have no other place.
func evict(paths ...string) error {
	for _, path := range paths {
		if err := evictOne(path); err != nil {
			return err
		}
	}
	for _, path := range paths {
		if err := mustBeCold(path); err != nil {
			return err
		}
	}
	return nil
}

// attempts: pages on their way to the kernel's lists cannot be taken out until they have arrived.
const attempts = 20

func evictOne(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	if err := file.Sync(); err != nil {
		return err
	}
	for attempt := 0; ; attempt++ {
		if err := unix.Fadvise(int(file.Fd()), 0, 0, unix.FADV_DONTNEED); err != nil {
			return fmt.Errorf("%s: posix_fadvise: %w", path, err)
		}
		if mustBeCold(path) == nil || attempt == attempts {
			return nil // the caller looks again, at all files
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func mustBeCold(path string) error {
	in, all, err := resident(path)
	if err != nil {
		return err
	}
	if in != 0 {
		return fmt.Errorf("%s cannot be made cold: %d of its %d pages stay in memory; another process has it mapped, "+
			"its file system is in memory, or it belongs to another user, whose files the kernel says nothing about", path, in, all)
	}
	return nil
}

// resident counts the pages of a file that are in the page cache, and all.
func resident(path string) (in, all int, err error) {
	file, err := os.Open(path)
	if err != nil {
		return 0, 0, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return 0, 0, err
	}
	if info.Size() == 0 {
		return 0, 0, nil
	}
	mapped, err := unix.Mmap(int(file.Fd()), 0, int(info.Size()), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return 0, 0, fmt.Errorf("%s: mmap: %w", path, err)
	}
	defer unix.Munmap(mapped)
	pages := make([]byte, (len(mapped)+os.Getpagesize()-1)/os.Getpagesize())
	if _, _, errno := unix.Syscall(unix.SYS_MINCORE, uintptr(unsafe.Pointer(&mapped[0])), uintptr(len(mapped)), uintptr(unsafe.Pointer(&pages[0]))); errno != 0 {
		return 0, 0, fmt.Errorf("%s: mincore: %w", path, errno)
	}
	for _, page := range pages {
		in += int(page & 1)
	}
	return in, len(pages), nil
}
