package hipdnn

// #include "backend.h"
import "C"

import (
	"fmt"
	"unsafe"

	"example.com/miopen_hipdnn_shim/hipdnnbridge/graph"
)

// numbering is what differs between versions of the backend's API.
type numbering struct {
	backwardData C.int // descriptor type, 0: there is no such operation
	modeType     C.int // attribute type of the convolution's mode
}

// mode returns the element for the convolution's mode attribute. In early 2026 it was the number that a
// serialised graph has, as INT64 (ConvolutionFwdOperationDescriptor.cpp at a7961675 and ef6a14aa).
func (n numbering) mode(m graph.ConvolutionMode) unsafe.Pointer {
	if n.modeType == C.HIPDNN_TYPE_INT64 {
		wire := int64(m)
		return unsafe.Pointer(&wire)
	}
	number := m.API()
	return unsafe.Pointer(&number)
}

var (
	lateNumbering  = numbering{C.HIPDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR, C.HIPDNN_TYPE_CONVOLUTION_MODE}
	earlyNumbering = numbering{C.HIPDNN_EARLY_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR, C.HIPDNN_TYPE_INT64}
)

// probe finds out which numbering the library has. The version only says where to start: in which
// release the numbers changed is not written anywhere, and a wrong one would make another operation
// of a graph. What is asked is whether a descriptor of the number takes an attribute that only a
// convolution has.
func (b *Backend) probe(early bool) error {
	order := []numbering{lateNumbering, earlyNumbering}
	if early {
		order = []numbering{earlyNumbering, lateNumbering}
	}
	var first error
	for _, n := range order {
		err := b.takes(C.HIPDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR, C.HIPDNN_ATTR_CONVOLUTION_CONV_MODE, n.modeType, n.mode(graph.CrossCorrelation))
		if err == nil {
			dilation := int64(1)
			if b.takes(n.backwardData, C.HIPDNN_ATTR_CONVOLUTION_DILATIONS, C.HIPDNN_TYPE_INT64, unsafe.Pointer(&dilation)) != nil {
				// Neither is known to be right: forward convolutions are, and the rest is declined.
				n.backwardData = 0
			}
			b.numbering = n
			return nil
		}
		if first == nil {
			first = err
		}
	}
	return fmt.Errorf("its version is %s, and its convolution takes the mode in none of the known ways: %w", b.Version, first)
}

// takes tries an attribute of one element on a descriptor of a type.
func (b *Backend) takes(descriptor, name, kind C.int, element unsafe.Pointer) error {
	s := session{b: b}
	defer s.release()
	d := s.create(descriptor, "probe")
	s.set(d, name, kind, 1, element)
	return s.error()
}
