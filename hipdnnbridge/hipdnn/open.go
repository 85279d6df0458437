package hipdnn

/*
#cgo CFLAGS: -O2 -std=gnu11 -Wall -Wextra
#cgo LDFLAGS: -ldl -lpthread
#include <stdlib.h>
#include "backend.h"
*/
import "C"

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unsafe"
)

// Variable names the environment variable that says where the backend library is. hipDNN's own
// loader takes it as the absolute path of the folder; the file is understood as well.
const Variable = "HIPDNN_BACKEND_LIBRARY_PATH"

// names are those the library may have. Versioned ones come first: the other belongs to development
// packages, but wheels have nothing else.
var names = []string{"libhipdnn_backend.so.1", "libhipdnn_backend.so.0", "libhipdnn_backend.so"}

// Search says where the backend library is looked for.
type Search struct {
	// Explicit is the value of Variable; nothing else is tried when it is not empty.
	Explicit string
	// Beside is the folder that is searched before the loader's path, if the process has not loaded
	// the library yet.
	Beside string
}

// Attempt is a library that was not taken.
type Attempt struct {
	Name, Reason string
}

// OpenError lists what was tried before the search was given up.
type OpenError struct {
	Attempts []Attempt
}

// Error implements error.
func (e *OpenError) Error() string {
	var b strings.Builder
	b.WriteString("hipDNN's backend library cannot be used; tried ")
	for i, a := range e.Attempts {
		if i > 0 {
			b.WriteString("; ")
		}
		fmt.Fprintf(&b, "%s: %s", a.Name, a.Reason)
	}
	b.WriteString(". Install hipDNN, or name its folder in " + Variable)
	return b.String()
}

// Backend is a hipDNN backend library that is loaded and whose version is known.
type Backend struct {
	c *C.struct_hipdnn_backend
	// Path is the file, as the loader has it.
	Path string
	// Version is hipDNN's, as it says it.
	Version string

	numbering numbering
}

// candidate is a name to open. What comes after a library that is last is not tried if there is such
// a library and it is refused: the process must not have two.
type candidate struct {
	name   string
	loaded bool // only if the process has it
	last   bool
}

func (s Search) candidates() (list []candidate) {
	if s.Explicit != "" {
		if !filepath.IsAbs(s.Explicit) {
			return []candidate{{name: s.Explicit, last: true}}
		}
		if info, err := os.Stat(s.Explicit); err != nil || !info.IsDir() {
			return []candidate{{name: s.Explicit, last: true}}
		}
		for _, n := range names {
			list = append(list, candidate{name: filepath.Join(s.Explicit, n)})
		}
		return list
	}
	for _, n := range names {
		list = append(list, candidate{name: n, loaded: true, last: true})
	}
	if s.Beside != "" {
		for _, n := range names {
			list = append(list, candidate{name: filepath.Join(s.Beside, n)})
		}
	}
	for _, n := range names {
		list = append(list, candidate{name: n})
	}
	return list
}

// Open finds the backend library and makes it ready. The error is an *OpenError with every path that
// was tried.
func Open(s Search) (*Backend, error) {
	failed := &OpenError{}
	if s.Explicit != "" && !filepath.IsAbs(s.Explicit) {
		failed.Attempts = append(failed.Attempts, Attempt{Variable + "=" + s.Explicit, "it is not an absolute path"})
		return nil, failed
	}
	for _, c := range s.candidates() {
		b, there, err := open(c)
		if err == nil {
			return b, nil
		}
		name := c.name
		if c.loaded {
			name += " in this process"
		}
		failed.Attempts = append(failed.Attempts, Attempt{name, err.Error()})
		if there && c.last {
			break
		}
	}
	return nil, failed
}

// open opens one library; there is false when there was nothing to open.
func open(c candidate) (b *Backend, there bool, err error) {
	name := C.CString(c.name)
	defer C.free(unsafe.Pointer(name))
	backend := new(C.struct_hipdnn_backend)
	var text [1024]C.char
	loaded := C.int(0)
	if c.loaded {
		loaded = 1
	}
	if C.hipdnn_backend_open(backend, name, loaded, &text[0], C.size_t(len(text))) != 0 {
		// The loader begins with the name, which the attempt has.
		return nil, false, fmt.Errorf("%s", strings.TrimPrefix(C.GoString(&text[0]), c.name+": "))
	}
	b = &Backend{c: backend}
	b.Version = C.GoString(C.hipdnn_backend_version(backend))
	C.hipdnn_backend_path(backend, &text[0], C.size_t(len(text)))
	b.Path = C.GoString(&text[0])
	early, err := checkVersion(b.Version)
	if err == nil {
		err = b.probe(early)
	}
	if err != nil {
		// The library stays mapped if somebody else has it.
		C.hipdnn_backend_close(backend)
		return nil, true, err
	}
	b.c = (*C.struct_hipdnn_backend)(C.hipdnn_keep(unsafe.Pointer(backend), C.sizeof_struct_hipdnn_backend))
	if b.c == nil {
		C.hipdnn_backend_close(backend)
		return nil, true, errors.New("there is no memory left")
	}
	C.hipdnn_collect_log(b.c)
	return b, true, nil
}

// checkVersion accepts the versions whose API is the one of api.h, and says whether the numbering is
// expected to be that of early 2026.
func checkVersion(version string) (early bool, err error) {
	parts := strings.Split(version, ".")
	if len(parts) < 3 {
		return false, fmt.Errorf("its version %q is not MAJOR.MINOR.PATCH", version)
	}
	var numbers [3]int
	for i := range numbers {
		if numbers[i], err = strconv.Atoi(parts[i]); err != nil || numbers[i] < 0 {
			return false, fmt.Errorf("its version %q is not MAJOR.MINOR.PATCH", version)
		}
	}
	if numbers[0] > 1 {
		return false, fmt.Errorf("its version is %s, and only the API of hipDNN 0 and 1 is known here", version)
	}
	return numbers[0] == 0, nil
}

// AddPlugin makes handles that are made later have the engines of a plugin, beside those that hipDNN
// finds by itself.
func (b *Backend) AddPlugin(path string) error {
	name := C.CString(path)
	defer C.free(unsafe.Pointer(name))
	var f C.struct_hipdnn_failure
	if C.hipdnn_add_plugin(b.c, name, &f) != C.HIPDNN_STATUS_SUCCESS {
		return failureOf(&f, path)
	}
	return nil
}

// Fits returns an error when the backend and the device cannot go together: device memory of one HIP
// run time means nothing to another.
func (b *Backend) Fits(d Device) error {
	theirs := C.hip_of_library(b.c.library)
	if theirs == nil {
		return nil // it finds HIP in some other way, or executes on the host
	}
	ours := d.table()
	if ours == nil {
		return fmt.Errorf("%s depends on a HIP run time, %s, and MIOpen on none", b.Path, fileOf(theirs))
	}
	if at := C.hip_get_device_address(ours); at != theirs {
		return fmt.Errorf("%s and MIOpen depend on two HIP run times, %s and %s", b.Path, fileOf(theirs), fileOf(at))
	}
	return nil
}

func fileOf(address unsafe.Pointer) string {
	if name := C.hip_file_of(address); name != nil {
		return C.GoString(name)
	}
	return "memory of no file"
}

// LogCount returns how many lines hipDNN has logged, warnings and above.
func LogCount() uint64 { return uint64(C.hipdnn_log_count()) }

// LogSince returns the lines after the first n of them, the last few if there are many, and each text
// once.
func LogSince(n uint64) (lines []string) {
	const most = 8
	end := LogCount()
	if end > n+most {
		n = end - most
	}
	var text [512]C.char
	for ; n < end; n++ {
		if C.hipdnn_log_line(C.uint64_t(n), &text[0], C.size_t(len(text))) == 0 {
			continue
		}
		if line := C.GoString(&text[0]); !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	return lines
}
