package elf

import "fmt"

// FormatError says that a file cannot be read as a shared object that this
// package supports: it is truncated, corrupt, or of another kind.
type FormatError struct {
	Path   string // the file
	Offset int64  // file offset of the structure; -1 where there is none to name
	What   string // the structure, in the words of the ELF specification
	Msg    string // what is wrong with it
}

func (e *FormatError) Error() string {
	if e.Offset < 0 {
		return fmt.Sprintf("%s: %s: %s", e.Path, e.What, e.Msg)
	}
	return fmt.Sprintf("%s: %s at file offset %#x: %s", e.Path, e.What, e.Offset, e.Msg)
}

// EditError says that the file was read, but the edit does not apply to it.
type EditError struct {
	Path string // the file
	What string // the part of the edit: "rename miopenCreate", "RUNPATH", ...
	Msg  string // why it does not apply, and what would
}

func (e *EditError) Error() string {
	return fmt.Sprintf("%s: %s: %s", e.Path, e.What, e.Msg)
}
