package hook

/*
#cgo CFLAGS: -O2 -std=gnu11 -Wall -Wextra -I${SRCDIR}/../..
#cgo LDFLAGS: -lpthread
#include <stdlib.h>
#include "table.h"
*/
import "C"

import (
	"fmt"
	"sync/atomic"
	"unsafe"

	"example.com/miopen_hipdnn_shim/hipdnnbridge/graph"
	"example.com/miopen_hipdnn_shim/hipdnnbridge/miopen"
	"example.com/miopen_hipdnn_shim/hipdnnbridge/routing"
)

// process is the bridge that the exported functions work with, set by bridgeOpen.
var process atomic.Pointer[bridge]

// The flat problem's size is a constant of package miopen; this is a compile error when C's differs.
var _ [miopen.FlatSize]byte = [C.sizeof_struct_miopen_bridge_convolution]byte{}

// caught ends an exported function whose Go code panicked: the host goes on.
func caught() {
	r := recover()
	if r == nil {
		return
	}
	text := fmt.Sprintf("internal error: %v", r)
	line := "error: libmiopen_hipdnn.so.1: " + text
	if b := process.Load(); b != nil {
		b.sayOnce(line)
	} else {
		message(line)
	}
}

// message writes a line with the wrapper's prefix.
func message(text string) {
	c := C.CString(text)
	defer C.free(unsafe.Pointer(c))
	C.bridge_message(c)
}

// writeLine writes a line that has a prefix of its own.
func writeLine(text string) {
	c := C.CString(text + "\n")
	defer C.free(unsafe.Pointer(c))
	C.bridge_write(c, C.size_t(len(text)+1))
}

func setError(status miopen.Status, hipdnn graph.Status, text string) {
	c := C.CString(text)
	defer C.free(unsafe.Pointer(c))
	C.bridge_set_error(C.int32_t(status), C.int32_t(hipdnn), c)
}

// nativeTime asks MIOpen for the kernel time of a handle, in milliseconds.
func nativeTime(handle unsafe.Pointer) (float32, bool) {
	var milliseconds C.float
	ok := C.bridge_native_time(handle, &milliseconds) != 0
	return float32(milliseconds), ok
}

// environment returns a copy of the process's variables.
func environment() (list []string) {
	first := C.bridge_environment()
	for i := 0; ; i++ {
		entry := *(**C.char)(unsafe.Add(unsafe.Pointer(first), i*int(unsafe.Sizeof(first))))
		if entry == nil {
			return list
		}
		list = append(list, C.GoString(entry))
	}
}

//export bridgeOpen
func bridgeOpen(wrapper, privateLibrary *C.char) (failed C.int) {
	failed = 1
	defer caught()
	b := newBridge(C.GoString(wrapper), C.GoString(privateLibrary), host{message, writeLine, nativeTime, environment})
	b.ownFile = C.GoString(C.bridge_own_file())
	process.Store(b)
	return 0
}

//export bridgeHandleCreated
func bridgeHandleCreated(at unsafe.Pointer, stream C.uintptr_t) {
	defer caught()
	process.Load().handleCreated(at, uintptr(stream))
}

//export bridgeHandleDestroyed
func bridgeHandleDestroyed(at unsafe.Pointer) {
	defer caught()
	process.Load().handleDestroyed(at)
}

//export bridgeStreamSet
func bridgeStreamSet(at unsafe.Pointer, stream C.uintptr_t) {
	defer caught()
	process.Load().streamSet(at, uintptr(stream))
}

//export bridgeProfilingSet
func bridgeProfilingSet(at unsafe.Pointer, enabled C.int32_t) {
	defer caught()
	process.Load().profilingSet(at, enabled != 0)
}

//export bridgeKernelTime
func bridgeKernelTime(at unsafe.Pointer, native C.float) (milliseconds C.float) {
	milliseconds = native
	defer caught()
	return C.float(process.Load().kernelTime(at, float32(native)))
}

// bridgeConvolutionForward leaves an answer alone that is to be MIOPEN_BRIDGE_NATIVE.
//
//export bridgeConvolutionForward
func bridgeConvolutionForward(c *C.struct_bridge_call, problem *C.struct_miopen_bridge_convolution, answer *C.struct_miopen_bridge_answer) {
	b := process.Load()
	// On the stack: nothing keeps it.
	goCall := call{
		handle:         c.handle,
		scalars:        miopen.Scalars{Alpha: float64(c.alpha), Beta: float64(c.beta), AlphaSet: c.alpha_set != 0, BetaSet: c.beta_set != 0},
		buffers:        [3]uintptr{uintptr(c.buffers[0]), uintptr(c.buffers[1]), uintptr(c.buffers[2])},
		workspace:      uintptr(c.workspace),
		workspaceBytes: uint64(c.workspace_bytes),
		thread:         uintptr(c.thread),
	}
	var status miopen.Status
	var done bool
	defer func() {
		if r := recover(); r != nil {
			status, done = b.broken(routing.ConvolutionForward, &goCall, r)
		}
		if done {
			answer.route = C.MIOPEN_BRIDGE_DONE
			answer.status = C.int32_t(status)
		}
	}()
	status, done = b.convolutionForward(&goCall, (*[miopen.FlatSize]byte)(unsafe.Pointer(problem)))
}

//export bridgeServedNatively
func bridgeServedNatively(at unsafe.Pointer) {
	defer caught()
	process.Load().servedNatively(at)
}

//export bridgeUnasked
func bridgeUnasked(native, failed C.uint64_t) {
	defer caught()
	process.Load().router.CountUnasked(routing.ConvolutionForward, uint64(native), uint64(failed))
}

//export bridgeStatistics
func bridgeStatistics(out *C.struct_miopen_bridge_statistics) {
	defer caught()
	s := process.Load().statistics()
	*out = C.struct_miopen_bridge_statistics{
		forwarded: C.uint64_t(s.forwarded), native: C.uint64_t(s.native), failed: C.uint64_t(s.failed),
		plan_hits: C.uint64_t(s.hits), plan_builds: C.uint64_t(s.builds), plan_loads: C.uint64_t(s.loads),
	}
}

//export bridgeFinish
func bridgeFinish() {
	defer caught()
	process.Load().finish()
}
