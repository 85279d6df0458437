package hipdnn

// #include <stdlib.h>
// #include "backend.h"
import "C"

import (
	"errors"
	"fmt"
	"runtime"
	"time"
	"unsafe"
)

// Event is a point on a stream, 0 is none.
type Event uintptr

// Device is the memory and the streams that plans execute with. Which of the process's devices is
// meant is a property of the thread, as HIP has it.
type Device interface {
	// Current gets the thread's device.
	Current() (int, error)
	// On calls f with a device as the thread's, and with the thread allowed to do what would otherwise
	// end another thread's capture of a stream: allocate, wait, load code.
	On(device int, f func() error) error
	Allocate(bytes uint64) (uintptr, error)
	Release(memory uintptr) error
	// Memory tells how much memory of the device is free and how much it has, in bytes.
	Memory() (free, total uint64, err error)
	// Identity names a device, among those of all machines, and the run time that drives it.
	Identity(device int) (string, error)
	// Capturing tells whether a graph is being recorded from the stream.
	Capturing(stream uintptr) (bool, error)

	NewEvent() (Event, error)
	DestroyEvent(Event) error
	Record(e Event, stream uintptr) error
	// Done tells whether the stream has come to where the event was recorded.
	Done(Event) (bool, error)
	// Elapsed is the time between two events, which it waits for.
	Elapsed(start, stop Event) (time.Duration, error)

	// Synchronize waits for all that the thread's device has to do.
	Synchronize() error

	// table is nil for the host.
	table() *C.struct_hip
}

// OpenDevice finds the HIP run time that a library depends on, which the process has loaded. A
// library that depends on none works on the host, and so does the Device: memory is the host's, and
// work is done when a call returns.
func OpenDevice(library string) (Device, error) {
	name := C.CString(library)
	defer C.free(unsafe.Pointer(name))
	hip := new(C.struct_hip)
	var missing *C.char
	switch C.hip_find(hip, name, &missing) {
	case C.HIP_FOUND:
		kept := (*C.struct_hip)(C.hipdnn_keep(unsafe.Pointer(hip), C.sizeof_struct_hip))
		if kept == nil {
			return nil, errors.New("there is no memory left")
		}
		return &hipDevice{kept}, nil
	case C.HIP_NONE:
		return hostDevice{}, nil
	case C.HIP_INCOMPLETE:
		return nil, fmt.Errorf("the HIP run time of %s, %s, has no function %s", library, fileOf(C.hip_any_address(hip)), C.GoString(missing))
	}
	return nil, fmt.Errorf("%s is not a library that this process has loaded, so its HIP run time cannot be found", library)
}

// hipDevice is a HIP run time.
type hipDevice struct{ hip *C.struct_hip }

// HIPError is a HIP function that failed.
type HIPError struct {
	Function string
	Code     int // hipError_t
	Message  string
}

// OutOfMemory reports whether the device has not enough memory.
func (e *HIPError) OutOfMemory() bool { return e.Code == C.HIP_ERROR_OUT_OF_MEMORY }

// Error implements error.
func (e *HIPError) Error() string {
	return fmt.Sprintf("%s: error %d: %s", e.Function, e.Code, e.Message)
}

func (d *hipDevice) check(function string, code C.int) error {
	if code == C.HIP_SUCCESS {
		return nil
	}
	return &HIPError{function, int(code), C.GoString(C.hip_error(d.hip, code))}
}

func (d *hipDevice) Current() (int, error) {
	var device C.int
	err := d.check("hipGetDevice", C.hip_current_device(d.hip, &device))
	return int(device), err
}

func (d *hipDevice) On(device int, f func() error) error {
	// What is set is the thread's, and a goroutine that did not come from C may change threads.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var scope C.struct_hip_scope
	if err := d.check("hipSetDevice", C.hip_enter(d.hip, C.int(device), &scope)); err != nil {
		return err
	}
	defer C.hip_leave(d.hip, &scope)
	return f()
}

func (d *hipDevice) Allocate(bytes uint64) (uintptr, error) {
	var memory C.uintptr_t
	err := d.check("hipMalloc", C.hip_allocate(d.hip, &memory, C.size_t(bytes)))
	return uintptr(memory), err
}

func (d *hipDevice) Release(memory uintptr) error {
	return d.check("hipFree", C.hip_release(d.hip, C.uintptr_t(memory)))
}

func (d *hipDevice) Memory() (free, total uint64, err error) {
	var f, t C.size_t
	err = d.check("hipMemGetInfo", C.hip_memory(d.hip, &f, &t))
	return uint64(f), uint64(t), err
}

func (d *hipDevice) Identity(device int) (string, error) {
	var identity C.struct_hip_identity
	var function *C.char
	code := C.hip_identify(d.hip, C.int(device), &identity, &function)
	if err := d.check(C.GoString(function), code); err != nil {
		return "", err
	}
	p := &identity.device
	return fmt.Sprintf("%s %x, %s, %d compute units, %d bytes, HIP %d", C.GoString(&p.name[0]), C.GoBytes(unsafe.Pointer(&p.uuid[0]), C.int(len(p.uuid))),
		C.GoString(&p.gcn_arch_name[0]), int(p.multi_processor_count), uint64(p.total_global_mem), int(identity.version)), nil
}

func (d *hipDevice) Capturing(stream uintptr) (bool, error) {
	answer := C.hip_capturing(d.hip, C.uintptr_t(stream))
	if answer < 0 {
		return false, d.check("hipStreamIsCapturing", -answer)
	}
	return answer != 0, nil
}

func (d *hipDevice) NewEvent() (Event, error) {
	var e C.uintptr_t
	err := d.check("hipEventCreate", C.hip_new_event(d.hip, &e))
	return Event(e), err
}

func (d *hipDevice) DestroyEvent(e Event) error {
	return d.check("hipEventDestroy", C.hip_destroy_event(d.hip, C.uintptr_t(e)))
}

func (d *hipDevice) Record(e Event, stream uintptr) error {
	return d.check("hipEventRecord", C.hip_record(d.hip, C.uintptr_t(e), C.uintptr_t(stream)))
}

func (d *hipDevice) Done(e Event) (bool, error) {
	code := C.hip_query(d.hip, C.uintptr_t(e))
	if code == C.HIP_ERROR_NOT_READY {
		return false, nil
	}
	return code == C.HIP_SUCCESS, d.check("hipEventQuery", code)
}

func (d *hipDevice) Elapsed(start, stop Event) (time.Duration, error) {
	if err := d.check("hipEventSynchronize", C.hip_wait(d.hip, C.uintptr_t(stop))); err != nil {
		return 0, err
	}
	var ms C.float
	err := d.check("hipEventElapsedTime", C.hip_elapsed(d.hip, &ms, C.uintptr_t(start), C.uintptr_t(stop)))
	return time.Duration(float64(ms) * float64(time.Millisecond)), err
}

func (d *hipDevice) Synchronize() error {
	return d.check("hipDeviceSynchronize", C.hip_synchronize(d.hip))
}

func (d *hipDevice) table() *C.struct_hip { return d.hip }

// hostDevice is the process's own memory. There is one device, number 0, and its streams are always
// at their end; an event is a place in C memory for the time.
type hostDevice struct{}

func (hostDevice) Current() (int, error)          { return 0, nil }
func (hostDevice) On(_ int, f func() error) error { return f() }

func (hostDevice) Allocate(bytes uint64) (uintptr, error) {
	memory := C.hipdnn_host_allocate(C.size_t(bytes))
	if memory == 0 {
		return 0, fmt.Errorf("no %d bytes of memory", bytes)
	}
	return uintptr(memory), nil
}

func (hostDevice) Release(memory uintptr) error {
	C.hipdnn_host_release(C.uintptr_t(memory))
	return nil
}

func (hostDevice) Memory() (free, total uint64, err error) {
	return 0, 0, fmt.Errorf("MIOpen depends on no HIP run time")
}

// The host's engines make plans that any processor runs.
func (hostDevice) Identity(int) (string, error) { return "the host", nil }

func (hostDevice) Capturing(uintptr) (bool, error) { return false, nil }

func (d hostDevice) NewEvent() (Event, error) {
	memory, err := d.Allocate(C.sizeof_int64_t)
	return Event(memory), err
}

func (d hostDevice) DestroyEvent(e Event) error { return d.Release(uintptr(e)) }

func (hostDevice) Record(e Event, _ uintptr) error {
	C.hipdnn_host_record(C.uintptr_t(e))
	return nil
}

func (hostDevice) Done(Event) (bool, error) { return true, nil }

func (hostDevice) Elapsed(start, stop Event) (time.Duration, error) {
	return time.Duration(C.hipdnn_host_elapsed(C.uintptr_t(start), C.uintptr_t(stop))), nil
}

func (hostDevice) Synchronize() error { return nil }

func (hostDevice) table() *C.struct_hip { return nil }
