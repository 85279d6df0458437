package oracle

import (
	"fmt"
	"math"
)

// Convolution is the geometry of a convolution: one entry for each spatial dimension in each slice.
// As everywhere in this field it is a cross-correlation: the filter is not flipped.
type Convolution struct {
	Pads      []int // added on both sides
	Strides   []int
	Dilations []int
	Groups    int
}

// Direction says which of a convolution's tensors is computed from the other two.
type Direction uint8

// The directions. Backward, the computed tensor and y stand for the gradients of a function of y.
const (
	Forward         Direction = iota // y from x and w
	BackwardData                     // the gradient of x from w and that of y
	BackwardWeights                  // the gradient of w from x and that of y
)

func (d Direction) String() string {
	switch d {
	case Forward:
		return "forward"
	case BackwardData:
		return "backward data"
	case BackwardWeights:
		return "backward weights"
	}
	return fmt.Sprintf("Direction(%d)", uint8(d))
}

// Operands are the tensors of result = Alpha * (the convolution in some direction) + Beta * result
// with their contents: x is N, C, D..., w is K, C/Groups, F... and y is N, K, O.... The contents of
// the tensor that is computed are what it held before; they are not looked at when Beta is 0.
type Operands struct {
	X, W, Y             Tensor
	XData, WData, YData []byte
	Alpha, Beta         float64
}

// Result is the tensor that is computed in a direction, with what it held before.
func (o *Operands) Result(d Direction) (Tensor, []byte) {
	switch d {
	case BackwardData:
		return o.X, o.XData
	case BackwardWeights:
		return o.W, o.WData
	default:
		return o.Y, o.YData
	}
}

// Value is one element of the result.
type Value struct {
	// Exact is the result before it is rounded to y's type.
	Exact float64
	// Magnitude is the result with every term replaced by its absolute value: rounding errors are
	// relative to this, not to Exact, which may have cancelled.
	Magnitude float64
	// Terms is the number of products that were added up.
	Terms int
}

// OutputLengths returns the lengths of y.
func (c Convolution) OutputLengths(x, w []int) ([]int, error) {
	spatial := len(c.Pads)
	if len(c.Strides) != spatial || len(c.Dilations) != spatial || len(x) != spatial+2 || len(w) != spatial+2 {
		return nil, fmt.Errorf("oracle: %d pads, %d strides, %d dilations, input of rank %d and filter of rank %d do not fit together",
			spatial, len(c.Strides), len(c.Dilations), len(x), len(w))
	}
	if c.Groups < 1 || w[1]*c.Groups != x[1] || w[0]%c.Groups != 0 {
		return nil, fmt.Errorf("oracle: %d input channels and a filter of %d by %d do not make %d groups", x[1], w[0], w[1], c.Groups)
	}
	out := []int{x[0], w[0]}
	for i := range spatial {
		reach := c.Dilations[i]*(w[2+i]-1) + 1 // what one position of the filter spans
		room := x[2+i] + 2*c.Pads[i] - reach
		if room < 0 {
			return nil, fmt.Errorf("oracle: in spatial dimension %d the filter spans %d of %d elements", i, reach, x[2+i]+2*c.Pads[i])
		}
		out = append(out, room/c.Strides[i]+1)
	}
	return out, nil
}

// Compute returns the elements of the tensor that the direction computes, in lexical order of their
// indices.
func (c Convolution) Compute(d Direction, o Operands) ([]Value, error) {
	result, before := o.Result(d)
	if err := c.check(d, o); err != nil {
		return nil, err
	}
	sums := c.sums(d, o)
	values := make([]Value, len(sums))
	result.Each(func(index []int, offset int) {
		p := result.position(index)
		s := sums[p]
		v := Value{Exact: o.Alpha * s.value(), Magnitude: math.Abs(o.Alpha) * s.magnitude, Terms: s.terms}
		if o.Beta != 0 {
			old := o.Beta * result.Type.Get(before[offset:])
			v.Exact += old
			v.Magnitude += math.Abs(old)
		}
		values[p] = v
	})
	return values, nil
}

// Forward computes y.
func (c Convolution) Forward(o Operands) ([]Value, error) { return c.Compute(Forward, o) }

// BackwardData computes the gradient of x, which takes x's place in the operands.
func (c Convolution) BackwardData(o Operands) ([]Value, error) { return c.Compute(BackwardData, o) }

// BackwardWeights computes the gradient of w, which takes w's place in the operands.
func (c Convolution) BackwardWeights(o Operands) ([]Value, error) {
	return c.Compute(BackwardWeights, o)
}

func (c Convolution) check(d Direction, o Operands) error {
	for _, t := range []struct {
		name   string
		tensor Tensor
		data   []byte
		result bool
	}{{"x", o.X, o.XData, d == BackwardData}, {"w", o.W, o.WData, d == BackwardWeights}, {"y", o.Y, o.YData, d == Forward}} {
		if err := t.tensor.Check(); err != nil {
			return fmt.Errorf("tensor %s: %w", t.name, err)
		}
		if unread := t.result && o.Beta == 0; !unread && len(t.data) < t.tensor.Bytes() {
			return fmt.Errorf("oracle: tensor %s needs %d bytes, has %d", t.name, t.tensor.Bytes(), len(t.data))
		}
	}
	if d > BackwardWeights {
		return fmt.Errorf("oracle: %v is not a direction", d)
	}
	lengths, err := c.OutputLengths(o.X.Lengths, o.W.Lengths)
	if err != nil {
		return err
	}
	if fmt.Sprint(lengths) != fmt.Sprint(o.Y.Lengths) {
		return fmt.Errorf("oracle: y has the lengths %v, the convolution gives %v", o.Y.Lengths, lengths)
	}
	return nil
}

// sums adds up, for each element of the result in lexical order, the products that reach it. A
// convolution is the set of triples of an element of x, one of w and one of y that belong together;
// in each direction two of them are multiplied and added to the third.
func (c Convolution) sums(d Direction, o Operands) []sum {
	result, _ := o.Result(d)
	sums := make([]sum, result.Count())
	load := func(t Tensor, data []byte, offset int, of bool) float64 {
		if of {
			return 0 // it is what is computed
		}
		return t.Type.Get(data[offset:])
	}
	kPerGroup := o.W.Lengths[0] / c.Groups
	cPerGroup := o.W.Lengths[1]
	target := make([]int, len(o.Y.Lengths))
	o.W.Each(func(wi []int, wOffset int) {
		weight := load(o.W, o.WData, wOffset, d == BackwardWeights)
		channel := wi[0]/kPerGroup*cPerGroup + wi[1]
		tap := append([]int(nil), wi[2:]...)
		target[1] = wi[0]
		o.X.Each(func(xi []int, xOffset int) {
			if xi[1] != channel || !c.reaches(xi[2:], tap, target[2:], o.Y.Lengths[2:]) {
				return
			}
			target[0] = xi[0]
			input := load(o.X, o.XData, xOffset, d == BackwardData)
			switch d {
			case Forward:
				sums[o.Y.position(target)].addProduct(input, weight)
			case BackwardData:
				sums[o.X.position(xi)].addProduct(o.Y.at(o.YData, target), weight)
			case BackwardWeights:
				sums[o.W.position(wi)].addProduct(o.Y.at(o.YData, target), input)
			}
		})
	})
	return sums
}

// reaches finds the output position in which the filter's tap lies on the input position, and
// reports whether there is one.
func (c Convolution) reaches(in, tap, out, limits []int) bool {
	for i := range in {
		start := in[i] + c.Pads[i] - tap[i]*c.Dilations[i]
		if start < 0 || start%c.Strides[i] != 0 || start/c.Strides[i] >= limits[i] {
			return false
		}
		out[i] = start / c.Strides[i]
	}
	return true
}

// sum adds products with their rounding errors kept apart, which doubles the precision.
type sum struct {
	high, low float64
	magnitude float64
	terms     int
}

func (s *sum) addProduct(a, b float64) {
	p := a * b
	e := math.FMA(a, b, -p)
	t := s.high + p
	z := t - s.high
	e += (s.high - (t - z)) + (p - z)
	s.high = t
	s.low += e
	s.magnitude += math.Abs(p)
	s.terms++
}

func (s *sum) value() float64 { return s.high + s.low }
