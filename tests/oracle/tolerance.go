package oracle

import (
	"fmt"
	"math"
)

// Tolerance is how far from v.Exact an element of type y may be when the inputs are of type x, the
// products are added one by one in the type that the sums are kept in, and the result is rounded
// once to y:
//
//   - Sums are kept in float for the floating types up to float, in double for double, exactly for int8.
//     Adding n products in a type of unit roundoff u is off by at most n*u/(1-n*u) times the sum of
//     their absolute values, whatever the order. Two roundings each for alpha and beta come on top.
//   - Rounding the result to y adds one unit roundoff of y, or half of its smallest number. What is
//     beyond the range of a type without infinities is held against the range's end.
//
// The bound holds for every order of summation, hence also for a blocked or vectorised
// implementation. It is tight enough to see a wrong sum type, a truncating store and a missing term.
func Tolerance(x, y Type, v Value) float64 {
	tolerance := sumError(x, v)
	if y.IsInteger() {
		if v.Exact == math.Trunc(v.Exact) {
			// A whole result has nothing to round.
			return math.Floor(tolerance)
		}
		return tolerance + 0.5
	}
	f := y.form()
	exact := v.Exact
	if f.finite {
		exact = f.limit(exact)
	}
	tolerance += (math.Abs(exact) + tolerance) * y.UnitRoundoff()
	return tolerance + math.Ldexp(1, f.minExponent-f.digits)
}

// sumError is the first part of the tolerance: how far a sum of products of elements of type x may
// be from v.Exact before it is rounded.
func sumError(x Type, v Value) float64 {
	n := float64(v.Terms + 4)
	if x.IsInteger() {
		n = 4
	}
	u := accumulator(x).UnitRoundoff()
	return n * u / (1 - n*u) * v.Magnitude
}

// accumulator is the type that sums of elements of type x are kept in. Those of integers are exact,
// and scaled by alpha and beta in double precision.
func accumulator(x Type) Type {
	if x == Double || x.IsInteger() {
		return Double
	}
	return Float
}

// Mismatch is an element that is further from the oracle than it may be.
type Mismatch struct {
	Index     []int
	Got       float64
	Want      Value
	Tolerance float64
}

func (m Mismatch) String() string {
	return fmt.Sprintf("element %v is %v, the oracle says %v and allows %.3g", m.Index, m.Got, m.Want.Exact, m.Tolerance)
}

// Compare returns the elements of got, a buffer of shape y (the tensor that was computed, whichever
// it is), that are not within the tolerance of the values that Compute returned. A NaN matches only a NaN; an overflow to infinity is right
// where the value rounds to one.
func Compare(x Type, y Tensor, got []byte, want []Value) ([]Mismatch, error) {
	if len(got) < y.Bytes() || len(want) != y.Count() {
		return nil, fmt.Errorf("oracle: %d bytes and %d values for a tensor of %d bytes and %d elements", len(got), len(want), y.Bytes(), y.Count())
	}
	var out []Mismatch
	y.Each(func(index []int, offset int) {
		v := want[y.position(index)]
		g := y.Type.Get(got[offset:])
		tolerance := Tolerance(x, y.Type, v)
		if !within(y.Type, g, v, tolerance) {
			out = append(out, Mismatch{append([]int(nil), index...), g, v, tolerance})
		}
	})
	return out, nil
}

func within(y Type, got float64, v Value, tolerance float64) bool {
	if y == Int8 {
		// A sum that does not fit loses its upper bits: the comparison is modulo 256.
		d := math.Mod(got-v.Exact, 256)
		return math.Abs(d) <= tolerance || 256-math.Abs(d) <= tolerance
	}
	switch {
	case math.IsNaN(v.Exact):
		return math.IsNaN(got)
	case math.IsInf(got, 0):
		edge := math.Copysign(math.Abs(v.Exact)+tolerance, v.Exact)
		return y.Round(edge) == got
	case y.form().finite:
		return math.Abs(got-y.form().limit(v.Exact)) <= tolerance
	}
	return math.Abs(got-v.Exact) <= tolerance
}
