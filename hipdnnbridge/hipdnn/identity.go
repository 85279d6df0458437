package hipdnn

// #include <stdlib.h>
// #include "backend.h"
// #include "identity.h"
import "C"

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"unsafe"

	"example.com/miopen_hipdnn_shim/hipdnnbridge/graph"
)

// library is one that the process has loaded.
type library struct {
	file    string // as the loader has it, "" for the program
	soname  string // "" if there is none
	buildID string // in hexadecimal digits, "" if there is none
	needs   []string
}

// loaded lists the process's libraries in the loader's order.
func loaded() (list []*library) {
	items := make([]byte, 1<<16)
	for {
		size := int(C.identity_loaded((*C.char)(unsafe.Pointer(&items[0])), C.size_t(len(items))))
		if size <= len(items) {
			items = items[:size]
			break
		}
		items = make([]byte, 2*size) // another thread may be loading more
	}
	var l *library // never nil: a file comes first
	for item := range bytes.SplitSeq(bytes.TrimSuffix(items, []byte{0}), []byte{0}) {
		switch text := string(item[1:]); item[0] {
		case C.IDENTITY_FILE:
			l = &library{file: text}
			list = append(list, l)
		case C.IDENTITY_BUILD_ID:
			l.buildID = text
		case C.IDENTITY_SONAME:
			l.soname = text
		case C.IDENTITY_NEEDED:
			l.needs = append(l.needs, text)
		}
	}
	return list
}

// from returns the library that was loaded from a file, by whatever name, nil if none was.
func from(list []*library, file string) *library {
	for _, l := range list {
		if l.file == file {
			return l
		}
	}
	info, err := os.Stat(file)
	if err != nil {
		return nil
	}
	for _, l := range list {
		if other, err := os.Stat(l.file); err == nil && os.SameFile(info, other) {
			return l
		}
	}
	return nil
}

// build names the build of a library by its build-id or, where it has none or is not loaded (nil), by
// what the file system says of the file.
func build(l *library, file string) (string, error) {
	if l != nil && l.buildID != "" {
		return "build-id " + l.buildID, nil
	}
	info, err := os.Stat(file)
	if err != nil {
		return "", err
	}
	s := info.Sys().(*syscall.Stat_t)
	return fmt.Sprintf("file %d:%d of %d bytes, changed %d.%09d", s.Dev, s.Ino, s.Size, s.Mtim.Sec, s.Mtim.Nsec), nil
}

// Builds names the builds of libraries that the process has loaded from files, a line each: the build-id or,
// where there is none, what the file system says of the file. In one line more it names all that these
// depend on, directly or not, as the loader resolves it. What they open at run time is not among that.
func Builds(files ...string) (string, error) {
	list := loaded()
	named := map[string]*library{}
	for _, l := range list {
		for _, name := range []string{l.file, filepath.Base(l.file), l.soname} {
			if named[name] == nil { // the loader, too, takes the first
				named[name] = l
			}
		}
	}
	var lines []string
	var pending []*library
	seen := map[*library]bool{}
	for _, file := range files {
		l := from(list, file)
		line, err := build(l, file)
		if err != nil {
			return "", err
		}
		lines = append(lines, line)
		if l != nil && !seen[l] {
			seen[l] = true
			pending = append(pending, l)
		}
	}
	needed := map[string]bool{}
	for len(pending) > 0 {
		l := pending[0]
		pending = pending[1:]
		for _, name := range l.needs {
			dependency := named[name]
			if seen[dependency] {
				continue
			}
			line := name
			if dependency != nil {
				seen[dependency] = true
				pending = append(pending, dependency)
				if id, err := build(dependency, dependency.file); err == nil {
					line += " " + id
				}
			}
			needed[line] = true
		}
	}
	all := strings.Join(slices.Sorted(maps.Keys(needed)), "\n")
	return strings.Join(append(lines, fmt.Sprintf("%d libraries that these need %x", len(needed), sha256.Sum256([]byte(all)))), "\n"), nil
}

// Identity names the code that a plan of the handle depends on: hipDNN's version, and the builds of the
// backend, of the engine plugins that it loaded and of the files, which are what else has a say, with all
// that these depend on. A backend that does not tell its plugins has none.
func (h *Handle) Identity(files ...string) (string, error) {
	plugins, err := h.plugins()
	if err != nil {
		return "", err
	}
	slices.Sort(plugins) // their order is that of a folder
	builds, err := Builds(slices.Concat([]string{h.b.Path}, plugins, files)...)
	return "hipDNN " + h.b.Version + "\n" + builds, err
}

// plugins are the files of the loaded engine plugins.
func (h *Handle) plugins() ([]string, error) {
	var f C.struct_hipdnn_failure
	var count, longest C.size_t
	if C.hipdnn_plugin_paths(h.b.c, h.call.handle, &count, nil, &longest, &f) != C.HIPDNN_STATUS_SUCCESS {
		return nil, failureOf(&f, "")
	}
	const most = 1 << 20
	if count > most || longest > most || count*longest > most {
		return nil, &Error{graph.StatusInternalError, "hipdnnGetLoadedEnginePluginPaths_ext", "",
			fmt.Sprintf("%d paths of %d bytes", count, longest)}
	}
	if count == 0 {
		return nil, nil
	}
	memory := C.calloc(count, longest)
	if memory == nil {
		return nil, errors.New("hipdnn: no memory for the plugins' paths")
	}
	defer C.free(memory)
	size := longest // hipDNN writes to both
	room := count
	if C.hipdnn_plugin_paths(h.b.c, h.call.handle, &count, (*C.char)(memory), &longest, &f) != C.HIPDNN_STATUS_SUCCESS {
		return nil, failureOf(&f, "")
	}
	files := make([]string, 0, room)
	for i := range min(count, room) {
		files = append(files, C.GoString((*C.char)(unsafe.Add(memory, i*size))))
	}
	return files, nil
}
