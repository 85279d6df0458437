package oracle

import (
	"errors"
	"fmt"
	"math"
)

// Activation is a function that is applied to every element. It must not decrease, it must be
// evaluated without error or with a single rounding, and it is never called with a NaN.
type Activation func(float64) float64

// ReLU replaces negative values by 0.
func ReLU(v float64) float64 { return math.Max(v, 0) }

// ClippedReLU is ReLU with an upper limit.
func ClippedReLU(limit float64) Activation { return Clamp(0, limit) }

// Clamp limits values to a range.
func Clamp(low, high float64) Activation {
	return func(v float64) float64 { return math.Min(math.Max(v, low), high) }
}

// LeakyReLU multiplies negative values by slope, which is not negative.
func LeakyReLU(slope float64) Activation {
	return func(v float64) float64 {
		if v < 0 {
			return slope * v
		}
		return v
	}
}

// Epilogue is what happens to the elements of a forward convolution before they are stored: y =
// Activation(Alpha * conv(x, w) + AddScale * Add + Bias).
type Epilogue struct {
	Bias       Tensor // of y's rank, with the length 1 everywhere but in dimension 1
	BiasData   []byte // nil for no bias
	Add        Tensor // of y's lengths
	AddData    []byte // nil for no tensor
	AddScale   float64
	Activation Activation // nil for none

	// Intermediate is the type in which the results of the steps between the convolution and the last
	// one are stored, each of them rounded to it. The zero value says that nothing is rounded but y.
	Intermediate Type
}

// Bounds are the limits of what an element may be before it is rounded to y's type, both included.
type Bounds struct {
	Exact     float64 // without any rounding
	Low, High float64
}

// Fused computes y with an epilogue. The steps are in the order in which Epilogue's formula has them. o.Beta must be 0: there is no y before. NaN and infinities are
// refused, since kernels differ in what activations make of them.
//
// The bounds come from the tolerance of a plain convolution. Where Compute says that a sum may be off
// by some amount, both ends of that range go through the steps that follow, each of which widens it by
// the error of an addition in the type that sums are kept in, or rounds both ends to Intermediate. No
// step reverses the order of values, so what a correct implementation gets lies between the ends, and
// an implementation that does not round where it should, or rounds where it should not, falls out
// wherever that shows.
func (c Convolution) Fused(o Operands, e Epilogue) ([]Bounds, error) {
	if o.Beta != 0 {
		return nil, fmt.Errorf("oracle: a fused convolution with the factor %v for y", o.Beta)
	}
	values, err := c.Compute(Forward, o)
	if err != nil {
		return nil, err
	}
	if o.X.Type.IsInteger() || o.Y.Type.IsInteger() {
		return nil, errors.New("oracle: a fused convolution of integers")
	}
	if err := e.check(o.Y); err != nil {
		return nil, err
	}
	u := accumulator(o.X.Type).UnitRoundoff()
	bounds := make([]Bounds, len(values))
	o.Y.Each(func(index []int, _ int) {
		p := o.Y.position(index)
		v := values[p]
		slack := sumError(o.X.Type, v)
		b := Bounds{v.Exact, v.Exact - slack, v.Exact + slack}
		// A step rounds once more, and product is what it multiplied and rounded before it added.
		step := func(product float64, apply Activation) {
			if e.Intermediate != 0 {
				b.Low, b.High = e.Intermediate.Round(b.Low), e.Intermediate.Round(b.High)
			}
			b.Exact = apply(b.Exact)
			low, high := apply(b.Low), apply(b.High)
			b.Low = low - 2*u*math.Abs(product) - u*math.Abs(low)
			b.High = high + 2*u*math.Abs(product) + u*math.Abs(high)
		}
		if e.AddData != nil {
			a := e.AddScale * e.Add.at(e.AddData, index)
			step(a, func(v float64) float64 { return v + a })
		}
		if e.BiasData != nil {
			at := make([]int, len(index))
			at[1] = index[1]
			bias := e.Bias.at(e.BiasData, at)
			step(0, func(v float64) float64 { return v + bias })
		}
		if e.Activation != nil {
			step(0, e.Activation)
		}
		if math.IsNaN(b.Low) || math.IsNaN(b.High) || math.IsInf(v.Exact, 0) {
			err = fmt.Errorf("oracle: element %v of the convolution is %v", index, v.Exact)
		}
		bounds[p] = b
	})
	if err != nil {
		return nil, err
	}
	return bounds, nil
}

func (e Epilogue) check(y Tensor) error {
	for _, t := range []struct {
		name   string
		tensor Tensor
		data   []byte
		want   func(dim int) int
	}{
		{"bias", e.Bias, e.BiasData, func(dim int) int {
			if dim == 1 {
				return y.Lengths[1]
			}
			return 1
		}},
		{"added", e.Add, e.AddData, func(dim int) int { return y.Lengths[dim] }},
	} {
		if t.data == nil {
			continue
		}
		if err := t.tensor.Check(); err != nil {
			return fmt.Errorf("tensor %s: %w", t.name, err)
		}
		if len(t.data) < t.tensor.Bytes() {
			return fmt.Errorf("oracle: tensor %s needs %d bytes, has %d", t.name, t.tensor.Bytes(), len(t.data))
		}
		if len(t.tensor.Lengths) != len(y.Lengths) {
			return fmt.Errorf("oracle: tensor %s has rank %d, y has %d", t.name, len(t.tensor.Lengths), len(y.Lengths))
		}
		for i, l := range t.tensor.Lengths {
			if l != t.want(i) {
				return fmt.Errorf("oracle: tensor %s has length %d in dimension %d, not %d", t.name, l, i, t.want(i))
			}
		}
	}
	if e.Intermediate != 0 && forms[e.Intermediate].digits == 0 {
		return fmt.Errorf("oracle: %v is not a type for intermediate results", e.Intermediate)
	}
	return nil
}

// CompareBounds returns the elements of got, a buffer of shape y, that are outside the bounds that
// Fused returned once these are rounded to y's type.
func CompareBounds(y Tensor, got []byte, want []Bounds) ([]Mismatch, error) {
	if len(got) < y.Bytes() || len(want) != y.Count() {
		return nil, fmt.Errorf("oracle: %d bytes and %d bounds for a tensor of %d bytes and %d elements", len(got), len(want), y.Bytes(), y.Count())
	}
	var out []Mismatch
	y.Each(func(index []int, offset int) {
		b := want[y.position(index)]
		g := y.Type.Get(got[offset:])
		if low, high := y.Type.Round(b.Low), y.Type.Round(b.High); !(low <= g && g <= high) {
			out = append(out, Mismatch{append([]int(nil), index...), g, Value{Exact: b.Exact}, math.Max(high-b.Exact, b.Exact-low)})
		}
	})
	return out, nil
}
