package oracle

import "fmt"

// Tensor is the shape of a tensor in memory. Lengths and strides are in elements, all positive.
type Tensor struct {
	Type    Type
	Lengths []int
	Strides []int
}

// Packed returns a tensor without gaps whose dimensions lie in memory in the given order, outermost
// first. A nil order is the order of the lengths.
func Packed(t Type, lengths, order []int) Tensor {
	strides := make([]int, len(lengths))
	stride := 1
	for i := len(lengths) - 1; i >= 0; i-- {
		dim := i
		if order != nil {
			dim = order[i]
		}
		strides[dim] = stride
		stride *= lengths[dim]
	}
	return Tensor{t, lengths, strides}
}

// Check says what is wrong with the tensor's shape.
func (t Tensor) Check() error {
	if _, ok := forms[t.Type]; !ok {
		return fmt.Errorf("oracle: %v is not an element type", t.Type)
	}
	if len(t.Lengths) != len(t.Strides) {
		return fmt.Errorf("oracle: %d lengths but %d strides", len(t.Lengths), len(t.Strides))
	}
	for i := range t.Lengths {
		if t.Lengths[i] < 1 || t.Strides[i] < 1 {
			return fmt.Errorf("oracle: dimension %d has length %d and stride %d, both must be positive", i, t.Lengths[i], t.Strides[i])
		}
	}
	return nil
}

// Count is the number of elements.
func (t Tensor) Count() int {
	n := 1
	for _, l := range t.Lengths {
		n *= l
	}
	return n
}

// Bytes is the size of a buffer that holds the tensor, gaps included.
func (t Tensor) Bytes() int {
	last := 0
	for i, l := range t.Lengths {
		last += (l - 1) * t.Strides[i]
	}
	return (last + 1) * t.Type.Size()
}

// Each calls visit with every index in lexical order and the byte offset of its element. The index
// is valid during the call.
func (t Tensor) Each(visit func(index []int, offset int)) {
	index := make([]int, len(t.Lengths))
	size := t.Type.Size()
	var walk func(dim, offset int)
	walk = func(dim, offset int) {
		if dim == len(t.Lengths) {
			visit(index, offset*size)
			return
		}
		for i := range t.Lengths[dim] {
			index[dim] = i
			walk(dim+1, offset+i*t.Strides[dim])
		}
	}
	walk(0, 0)
}

// position is the place of an index among all indices in lexical order.
func (t Tensor) position(index []int) int {
	p := 0
	for i, l := range t.Lengths {
		p = p*l + index[i]
	}
	return p
}

// at loads the element at an index from the tensor's contents.
func (t Tensor) at(data []byte, index []int) float64 {
	offset := 0
	for i, v := range index {
		offset += v * t.Strides[i]
	}
	return t.Type.Get(data[offset*t.Type.Size():])
}
