package hipdnn

// #include <stdlib.h>
// #include "backend.h"
// #include "identity.h"
import "C"

import (
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"unsafe"

	"example.com/miopen_hipdnn_shim/hipdnnbridge/graph"
)

// Build names the build of a library that the process has loaded from a file: its build-id, or, where it
// has none, what the file system says of the file.
func Build(file string) (string, error) {
	name := C.CString(file)
	defer C.free(unsafe.Pointer(name))
	var id [64]C.uchar
	if n := C.identity_build_id(name, &id[0], C.size_t(len(id))); n > 0 {
		return "build-id " + hex.EncodeToString(C.GoBytes(unsafe.Pointer(&id[0]), C.int(n))), nil
	}
	info, err := os.Stat(file)
	if err != nil {
		return "", err
	}
	s := info.Sys().(*syscall.Stat_t)
	return fmt.Sprintf("file %d:%d of %d bytes, changed %d.%09d", s.Dev, s.Ino, s.Size, s.Mtim.Sec, s.Mtim.Nsec), nil
}

// Identity names all of hipDNN that a plan of the handle depends on: the version and build of the backend,
// and the builds of the engine plugins that it loaded. A backend that does not tell its plugins has none.
func (h *Handle) Identity() (string, error) {
	plugins, err := h.plugins()
	if err != nil {
		return "", err
	}
	slices.Sort(plugins) // their order is that of a folder
	identity := []string{"hipDNN " + h.b.Version}
	for _, file := range append([]string{h.b.Path}, plugins...) {
		build, err := Build(file)
		if err != nil {
			return "", err
		}
		identity = append(identity, build)
	}
	return strings.Join(identity, "\n"), nil
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
