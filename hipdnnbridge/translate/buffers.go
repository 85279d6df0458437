package translate

import (
	"example.com/miopen_hipdnn_shim/hipdnnbridge/graph"
	"example.com/miopen_hipdnn_shim/hipdnnbridge/miopen"
)

// The tensors of a translated convolution. The names are the same for every problem, so that the
// variant pack does not depend on it; they start at 1, since 0 on the wire is an absent name.
const (
	UIDX graph.UID = 1
	UIDW graph.UID = 2
	UIDY graph.UID = 3
)

// Buffers are the device addresses of a call, 0 for a null pointer.
type Buffers struct {
	X, W, Y uintptr
}

// Binding says which buffer is which tensor of the graph and how far each reaches. It is all that
// has to be kept of a translation to serve further calls of the same problem; it is immutable.
type Binding struct {
	// UIDs are the graph's names of x, w and y, in the order of Buffers.
	UIDs [3]graph.UID
	// Bytes is how far x, w and y reach from their addresses, gaps included.
	Bytes [3]uintptr
}

// CheckScalars returns NoReason if the result is the convolution itself. It does not allocate.
func CheckScalars(s miopen.Scalars) Reason {
	switch {
	case !s.AlphaSet || !s.BetaSet:
		return ScalarNull
	case s.Alpha != 1 || s.Beta != 0: // NaN is unequal to both
		return ScalarValue
	}
	return NoReason
}

// Alignment is what an engine may count on for the address of a tensor that does not say otherwise, in
// bytes (default of TensorAttributes.alignment in tensor_attributes.fbs at 33f48644). To say otherwise
// would leave out every engine plugin that was made before it could be said.
const Alignment = 16

// Check returns NoReason if the buffers can hold the tensors of the binding: none is null, y shares no
// byte with what is read, and all are aligned. That x and w overlap changes nothing, since both are only read.
// It does not allocate, so it can be asked for every call.
func (b *Binding) Check(buffers Buffers) Reason {
	switch {
	case buffers.X == 0 || buffers.W == 0 || buffers.Y == 0:
		return BufferNull
	case overlap(buffers.Y, b.Bytes[2], buffers.X, b.Bytes[0]),
		overlap(buffers.Y, b.Bytes[2], buffers.W, b.Bytes[1]):
		return BuffersOverlap
	case (buffers.X|buffers.W|buffers.Y)%Alignment != 0:
		return BufferMisaligned
	}
	return NoReason
}

// CheckWorkspace reports whether a workspace shares no byte with x, w and y.
func (b *Binding) CheckWorkspace(buffers Buffers, workspace, bytes uintptr) bool {
	return !overlap(workspace, bytes, buffers.X, b.Bytes[0]) &&
		!overlap(workspace, bytes, buffers.W, b.Bytes[1]) &&
		!overlap(workspace, bytes, buffers.Y, b.Bytes[2])
}

// overlap reports whether two ranges share a byte. The distance is taken rather than the ends, which
// can lie beyond the address space.
func overlap(a, aBytes, b, bBytes uintptr) bool {
	if aBytes == 0 || bBytes == 0 {
		return false
	}
	if a <= b {
		return b-a < aBytes
	}
	return a-b < bBytes
}
