package hipdnn

// #include <stdlib.h>
// #include "backend.h"
import "C"

import (
	"errors"
	"fmt"
	"unsafe"
)

// MaxTensors bounds the tensors that an execution binds to memory.
const MaxTensors = C.HIPDNN_MAX_TENSORS

// Handle is a hipDNN handle: the engines of the plugins, on one device and stream. Plans belong to
// the handle that built them and are to be closed before it.
type Handle struct {
	b *Backend
	// call is C memory, written by Execute and read by one C function, so that an execution costs
	// one call and no allocation.
	call *C.struct_hipdnn_execution
}

// NewHandle makes a handle on a device, which is the calling thread's, and a stream of it.
func (b *Backend) NewHandle(d Device, device int, stream uintptr) (*Handle, error) {
	call := (*C.struct_hipdnn_execution)(C.calloc(1, C.sizeof_struct_hipdnn_execution))
	if call == nil {
		return nil, errors.New("hipdnn: no memory for a handle")
	}
	var f C.struct_hipdnn_failure
	var at C.uintptr_t
	if C.hipdnn_create(b.c, &at, &f) != C.HIPDNN_STATUS_SUCCESS {
		C.free(unsafe.Pointer(call))
		return nil, failureOf(&f, "")
	}
	h := &Handle{b: b, call: call}
	call.backend, call.handle, call.device, call.hip = b.c, at, C.int32_t(device), d.table()
	// A new handle is on the default stream.
	if stream != 0 {
		if err := h.SetStream(stream); err != nil {
			return nil, errors.Join(err, h.Close())
		}
	}
	return h, nil
}

// SetStream makes executions that follow use another stream.
func (h *Handle) SetStream(stream uintptr) error {
	var f C.struct_hipdnn_failure
	if C.hipdnn_set_stream(h.b.c, h.call.handle, C.uintptr_t(stream), &f) != C.HIPDNN_STATUS_SUCCESS {
		return failureOf(&f, "")
	}
	h.call.stream = C.uintptr_t(stream)
	return nil
}

// Close destroys the handle.
func (h *Handle) Close() error {
	var f C.struct_hipdnn_failure
	status := C.hipdnn_destroy(h.b.c, h.call.handle, &f)
	C.free(unsafe.Pointer(h.call))
	h.call = nil
	if status != C.HIPDNN_STATUS_SUCCESS {
		return failureOf(&f, "")
	}
	return nil
}

// Timer asks for the time that an execution takes on the device. The zero value asks for nothing.
type Timer struct {
	Start, Stop Event
}

// Execution is what became of a call of Execute.
type Execution struct {
	// Began: hipDNN was asked to execute. If false, nothing was enqueued and no memory was written.
	Began bool
	// Captured: the stream was capturing, so that what was enqueued may run many times, for as long
	// as the caller's graph lives.
	Captured bool
	// Timed: both events were recorded.
	Timed bool
}

// Execute enqueues the plan on the handle's stream. The tensors' addresses are in the order in which
// the graph had those that are not virtual; workspace is at least as large as the plan says. Without
// an error it does not allocate.
func (h *Handle) Execute(p *Plan, tensors []uintptr, workspace uintptr, t Timer) (Execution, error) {
	if len(tensors) != len(p.uids) {
		return Execution{}, fmt.Errorf("hipdnn: %d addresses for the %d tensors of a plan", len(tensors), len(p.uids))
	}
	c := h.call
	c.plan = p.plan.at
	c.count = C.int64_t(len(tensors))
	for i, uid := range p.uids {
		c.uids[i] = C.int64_t(uid)
		c.pointers[i] = C.uintptr_t(tensors[i])
	}
	c.workspace = C.uintptr_t(workspace)
	c.start, c.stop = C.uintptr_t(t.Start), C.uintptr_t(t.Stop)
	status := C.hipdnn_execute(C.uintptr_t(uintptr(unsafe.Pointer(c))))
	e := Execution{Began: c.began != 0, Captured: c.captured != 0, Timed: c.timed != 0}
	if status != C.HIPDNN_STATUS_SUCCESS {
		return e, failureOf(&c.failure, "execution")
	}
	return e, nil
}
