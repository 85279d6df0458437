package miopen

import (
	"encoding/binary"
	"fmt"
)

// FlatSize is the number of bytes of struct miopen_bridge_convolution.
const FlatSize = 3*flatTensor + 12 + 3*4*MaxSpatial + 12

// flatTensor is the number of bytes of struct miopen_bridge_tensor.
const flatTensor = 8 + 2*4*MaxRank + 8

// DecodeFlat reads a struct miopen_bridge_convolution (shim/runtime/src/bridge.h) from its bytes,
// which are those of a little-endian machine. The only error is a wrong number of bytes; what makes
// no sense as a convolution is left to whoever uses it.
func DecodeFlat(b []byte) (Convolution, error) {
	if len(b) != FlatSize {
		return Convolution{}, fmt.Errorf("miopen: a flat convolution has %d bytes, not %d: the wrapper and this library are of different releases",
			FlatSize, len(b))
	}
	r := reader{b}
	c := Convolution{X: r.tensor(), W: r.tensor(), Y: r.tensor(), Mode: Mode(r.int32()), Groups: r.int32()}
	c.Spatial = int(r.int32())
	c.Pads = r.array(c.Spatial, MaxSpatial)
	c.Strides = r.array(c.Spatial, MaxSpatial)
	c.Dilations = r.array(c.Spatial, MaxSpatial)
	c.FP16Alternative = r.int32()
	c.Deterministic = r.int32()
	c.FP8Rounding = Rounding(r.int32())
	return c, nil
}

// AppendFlat appends the bytes that DecodeFlat reads. Bytes without a meaning are zero.
func AppendFlat(b []byte, c *Convolution) []byte {
	for _, t := range []*Tensor{&c.X, &c.W, &c.Y} {
		b = appendInt32(b, int32(t.Type))
		b = appendInt32(b, int32(t.Rank))
		b = appendArray(b, t.Dims, MaxRank)
		b = appendArray(b, t.Strides, MaxRank)
		b = appendInt32(b, int32(t.Cast))
		vectorised := int32(0)
		if t.Vectorised {
			vectorised = 1
		}
		b = appendInt32(b, vectorised)
	}
	b = appendInt32(b, int32(c.Mode))
	b = appendInt32(b, c.Groups)
	b = appendInt32(b, int32(c.Spatial))
	for _, values := range [][]int64{c.Pads, c.Strides, c.Dilations} {
		b = appendArray(b, values, MaxSpatial)
	}
	b = appendInt32(b, c.FP16Alternative)
	b = appendInt32(b, c.Deterministic)
	return appendInt32(b, int32(c.FP8Rounding))
}

func appendInt32(b []byte, v int32) []byte { return binary.LittleEndian.AppendUint32(b, uint32(v)) }

func appendArray(b []byte, values []int64, room int) []byte {
	for i := range room {
		v := int32(0)
		if i < len(values) {
			v = int32(values[i])
		}
		b = appendInt32(b, v)
	}
	return b
}

// reader takes values from the front of bytes that are known to be enough.
type reader struct{ b []byte }

func (r *reader) int32() int32 {
	v := int32(binary.LittleEndian.Uint32(r.b))
	r.b = r.b[4:]
	return v
}

// array reads the first n of room elements, none if n is out of range.
func (r *reader) array(n, room int) []int64 {
	b := r.b[:4*room]
	r.b = r.b[4*room:]
	if n < 0 || n > room {
		return nil
	}
	values := make([]int64, n)
	for i := range values {
		values[i] = int64(int32(binary.LittleEndian.Uint32(b[4*i:])))
	}
	return values
}

func (r *reader) tensor() Tensor {
	t := Tensor{Type: DataType(r.int32()), Rank: int(r.int32())}
	t.Dims = r.array(t.Rank, MaxRank)
	t.Strides = r.array(t.Rank, MaxRank)
	t.Cast = DataType(r.int32())
	t.Vectorised = r.int32() != 0
	return t
}
