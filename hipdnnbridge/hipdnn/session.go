package hipdnn

// #include "backend.h"
import "C"

import (
	"slices"
	"unsafe"

	"example.com/miopen_hipdnn_shim/hipdnnbridge/graph"
)

// descriptor is a hipdnnBackendDescriptor_t and what to call it in messages.
type descriptor struct {
	at   C.uintptr_t
	what string
}

// session makes descriptors. After the first failure it does nothing any more, so that a sequence of
// steps is checked once, at its end. What it made is destroyed by release.
type session struct {
	b       *Backend
	made    []descriptor
	failure *Error
}

// error returns the first failure.
func (s *session) error() error {
	if s.failure == nil {
		return nil
	}
	return s.failure
}

// check keeps a failure. What comes after the first one is of no interest.
func (s *session) check(status C.int, f *C.struct_hipdnn_failure, what string) {
	if status != C.HIPDNN_STATUS_SUCCESS && s.failure == nil {
		s.failure = failureOf(f, what)
	}
}

func failureOf(f *C.struct_hipdnn_failure, what string) *Error {
	return &Error{graph.Status(f.status), C.GoString(f.function), what, C.GoString(&f.text[0])}
}

func (s *session) create(kind C.int, what string) descriptor {
	d := descriptor{what: what}
	if s.failure != nil {
		return d
	}
	var f C.struct_hipdnn_failure
	s.check(C.hipdnn_create_descriptor(s.b.c, kind, &d.at, &f), &f, what)
	if s.failure == nil {
		s.made = append(s.made, d)
	}
	return d
}

func (s *session) set(d descriptor, name, kind C.int, count int, elements unsafe.Pointer) {
	if s.failure != nil {
		return
	}
	var f C.struct_hipdnn_failure
	s.check(C.hipdnn_set_attribute(s.b.c, d.at, name, kind, C.int64_t(count), elements, &f), &f, d.what)
}

func (s *session) setInt64s(d descriptor, name C.int, values []int64) {
	s.set(d, name, C.HIPDNN_TYPE_INT64, len(values), unsafe.Pointer(unsafe.SliceData(values)))
}

func (s *session) setInt64(d descriptor, name C.int, value int64) {
	s.set(d, name, C.HIPDNN_TYPE_INT64, 1, unsafe.Pointer(&value))
}

// setNumber sets an attribute that is an enumeration.
func (s *session) setNumber(d descriptor, name, kind C.int, value int32) {
	s.set(d, name, kind, 1, unsafe.Pointer(&value))
}

// offer sets an INT64 attribute that not every hipDNN has.
func (s *session) offer(d descriptor, name C.int, value int64) {
	if s.failure == nil {
		s.setInt64(d, name, value)
		s.failure = nil
	}
}

func (s *session) setDescriptor(d descriptor, name C.int, value descriptor) {
	at := value.at // alone: what is passed must not lie beside a pointer of Go's, such as a string's
	s.set(d, name, C.HIPDNN_TYPE_BACKEND_DESCRIPTOR, 1, unsafe.Pointer(&at))
}

func (s *session) get(d descriptor, name, kind C.int, requested int, elements unsafe.Pointer) (count int) {
	if s.failure != nil {
		return 0
	}
	var f C.struct_hipdnn_failure
	var n C.int64_t
	s.check(C.hipdnn_get_attribute(s.b.c, d.at, name, kind, C.int64_t(requested), &n, elements, &f), &f, d.what)
	return int(n)
}

func (s *session) finalize(d descriptor) {
	if s.failure != nil {
		return
	}
	var f C.struct_hipdnn_failure
	s.check(C.hipdnn_finalize(s.b.c, d.at, &f), &f, d.what)
}

// drop destroys the descriptors made after the first n, the last first.
func (s *session) drop(n int) {
	for i := len(s.made) - 1; i >= n; i-- {
		s.destroy(s.made[i])
	}
	s.made = s.made[:n]
}

// dropIf destroys the descriptors that a condition holds for, the last first.
func (s *session) dropIf(condition func(descriptor) bool) {
	for i := len(s.made) - 1; i >= 0; i-- {
		if condition(s.made[i]) {
			s.destroy(s.made[i])
			s.made = slices.Delete(s.made, i, i+1)
		}
	}
}

// destroy ends a descriptor. One that cannot be destroyed is lost; there is nothing to be done about
// it, and what led here is what is to be reported.
func (s *session) destroy(d descriptor) {
	var f C.struct_hipdnn_failure
	C.hipdnn_destroy_descriptor(s.b.c, d.at, &f)
}

func (s *session) release() { s.drop(0) }
