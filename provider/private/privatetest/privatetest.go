// Package privatetest gives tests what they need of C: a table of MIOpen's functions out of a shared
// library, and memory that is not Go's. The reference MIOpen computes on the CPU, so memory is device
// memory.
package privatetest

/*
#cgo LDFLAGS: -ldl
#include <dlfcn.h>
#include <stdlib.h>

static void *table_of(void *library) {
  void *(*get)(void) = (void *(*)(void))dlsym(library, "private_api");
  return get ? get() : NULL;
}
*/
import "C"

import (
	"fmt"
	"runtime"
	"unsafe"
)

// Table opens the library in a file and returns what its function private_api returns, a
// const struct miopen_private_api *. The library stays open.
func Table(file string) (unsafe.Pointer, error) {
	runtime.LockOSThread() // dlerror is the thread's
	defer runtime.UnlockOSThread()
	name := C.CString(file)
	defer C.free(unsafe.Pointer(name))
	library := C.dlopen(name, C.RTLD_NOW|C.RTLD_LOCAL)
	if library == nil {
		return nil, fmt.Errorf("privatetest: %s", C.GoString(C.dlerror()))
	}
	table := C.table_of(library)
	if table == nil {
		return nil, fmt.Errorf("privatetest: %s has no private_api", file)
	}
	return table, nil
}

// Memory is a block of C's.
type Memory []byte

// Allocate returns a block of n bytes, with a pattern in it. Blocks are aligned to 16 bytes, and
// have some bytes also when n is 0.
func Allocate(n int) Memory {
	m := Memory(unsafe.Slice((*byte)(C.malloc(C.size_t(n+1))), n+1))[:n]
	for i := range m {
		m[i] = 0x5a
	}
	return m
}

// Address is where the block begins.
func (m Memory) Address() uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(m))) }

// Free ends the block.
func (m Memory) Free() { C.free(unsafe.Pointer(unsafe.SliceData(m))) }
