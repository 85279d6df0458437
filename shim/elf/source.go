package elf

import (
	"fmt"
	"io"
)

// source reads ranges of the input file. Every length is checked against the
// file's size before memory is taken for it.
type source struct {
	r    io.ReaderAt
	path string
	size uint64
}

// errorf makes a FormatError about the structure what at file offset off.
func (s *source) errorf(off uint64, what, format string, args ...any) error {
	return &FormatError{Path: s.path, Offset: int64(off), What: what, Msg: fmt.Sprintf(format, args...)}
}

// unsupported makes a FormatError about the file as a whole.
func (s *source) unsupported(what, format string, args ...any) error {
	return &FormatError{Path: s.path, Offset: -1, What: what, Msg: fmt.Sprintf(format, args...)}
}

// check says whether n bytes at file offset off are in the file.
func (s *source) check(off, n uint64, what string) error {
	if end, ok := rangeEnd(off, n); !ok || end > s.size {
		return s.errorf(off, what, "%d bytes end past the end of the file (size %d): the file is truncated or corrupt", n, s.size)
	}
	return nil
}

// bytes reads n bytes at file offset off.
func (s *source) bytes(off, n uint64, what string) ([]byte, error) {
	if err := s.check(off, n, what); err != nil {
		return nil, err
	}
	if n > maxTableSize {
		return nil, s.errorf(off, what, "%d bytes are more than the supported %d", n, maxTableSize)
	}
	b := make([]byte, n)
	return b, s.readAt(b, off, what)
}

// readAt fills b from file offset off, which the caller has checked.
func (s *source) readAt(b []byte, off uint64, what string) error {
	if _, err := s.r.ReadAt(b, int64(off)); err != nil {
		return fmt.Errorf("%s: reading %s (%d bytes at file offset %#x): %w", s.path, what, len(b), off, err)
	}
	return nil
}
