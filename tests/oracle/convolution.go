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

// Operands are the tensors of y = Alpha * conv(x, w) + Beta * y with their contents: x is N, C, D...,
// w is K, C/Groups, F... and y is N, K, O.... YData is what y held before; it is not looked at when
// Beta is 0.
type Operands struct {
	X, W, Y             Tensor
	XData, WData, YData []byte
	Alpha, Beta         float64
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

// Forward returns the elements of y in lexical order of their indices.
func (c Convolution) Forward(o Operands) ([]Value, error) {
	for name, t := range map[string]struct {
		tensor Tensor
		data   []byte
		unread bool
	}{"x": {o.X, o.XData, false}, "w": {o.W, o.WData, false}, "y": {o.Y, o.YData, o.Beta == 0}} {
		if err := t.tensor.Check(); err != nil {
			return nil, fmt.Errorf("tensor %s: %w", name, err)
		}
		if !t.unread && len(t.data) < t.tensor.Bytes() {
			return nil, fmt.Errorf("oracle: tensor %s needs %d bytes, has %d", name, t.tensor.Bytes(), len(t.data))
		}
	}
	lengths, err := c.OutputLengths(o.X.Lengths, o.W.Lengths)
	if err != nil {
		return nil, err
	}
	if fmt.Sprint(lengths) != fmt.Sprint(o.Y.Lengths) {
		return nil, fmt.Errorf("oracle: y has the lengths %v, the convolution gives %v", o.Y.Lengths, lengths)
	}

	sums := make([]sum, o.Y.Count())
	kPerGroup := o.W.Lengths[0] / c.Groups
	cPerGroup := o.W.Lengths[1]
	target := make([]int, len(lengths))
	o.W.Each(func(wi []int, wOffset int) {
		weight := o.W.Type.Get(o.WData[wOffset:])
		channel := wi[0]/kPerGroup*cPerGroup + wi[1]
		tap := append([]int(nil), wi[2:]...)
		target[1] = wi[0]
		o.X.Each(func(xi []int, xOffset int) {
			if xi[1] != channel || !c.reaches(xi[2:], tap, target[2:], lengths[2:]) {
				return
			}
			target[0] = xi[0]
			sums[o.Y.position(target)].addProduct(o.X.Type.Get(o.XData[xOffset:]), weight)
		})
	})

	values := make([]Value, len(sums))
	o.Y.Each(func(index []int, offset int) {
		p := o.Y.position(index)
		s := sums[p]
		v := Value{Exact: o.Alpha * s.value(), Magnitude: math.Abs(o.Alpha) * s.magnitude, Terms: s.terms}
		if o.Beta != 0 {
			old := o.Beta * o.Y.Type.Get(o.YData[offset:])
			v.Exact += old
			v.Magnitude += math.Abs(old)
		}
		values[p] = v
	})
	return values, nil
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
