// Package privatetest gives tests what they need of C: a table of MIOpen's functions out of a shared
// library, and memory that is not Go's. The reference MIOpen computes on the CPU, so memory is device
// memory.
package privatetest

/*
#cgo LDFLAGS: -ldl
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static void *table_of(void *library) {
  void *(*get)(void) = (void *(*)(void))dlsym(library, "private_api");
  return get ? get() : NULL;
}

// Devices 0 to 3, and streams whose device are their lowest two bits.
static _Thread_local int current;
static int32_t get_device(int *device) {
  *device = current;
  return 0;
}
static int32_t set_device(int device) {
  if (device < 0 || device > 3)
    return 101; // hipErrorInvalidDevice
  current = device;
  return 0;
}
static int32_t stream_device(void *stream, int *device) {
  if ((uintptr_t)stream < 16)
    return 400; // hipErrorInvalidHandle
  *device = (uintptr_t)stream & 3;
  return 0;
}

static void *with_devices(const void *table) {
  const uint32_t size = ((const uint32_t *)table)[1];
  char *copy = malloc(size);
  memcpy(copy, table, size);
  void *const functions[] = {(void *)get_device, (void *)set_device, (void *)stream_device};
  memcpy(copy + size - sizeof functions, functions, sizeof functions);
  return copy;
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

// WithDevices is a table with a HIP of four devices, numbered from 0, in its last three members. A stream is of the device of
// its two lowest bits, and is none below 16.
func WithDevices(table unsafe.Pointer) unsafe.Pointer { return C.with_devices(table) }

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
