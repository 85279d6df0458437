// Package float8 is the 8-bit floating-point numbers of gfx942, which MIOpen calls float8_fnuz and bfloat8_fnuz: what each
// pattern is worth, and what a number is rounded to. They have one zero, one NaN (0x80) and no infinity, and their exponent's
// bias is one more than that of IEEE 754 (AMD's "CDNA3 Instruction Set Architecture", data formats FP8 and BF8).
//
// Numbers are looked up among all that there are, and not computed from bits as the kernels do that this package judges.
// It knows numbers alone.
package float8

import (
	"math"
	"sort"
)

// A Format is one of the two. The zero value is no format.
type Format struct {
	name   string
	values [128]float64 // of the patterns without sign, which ascend
}

func newFormat(name string, fractionBits, bias int) *Format {
	f := &Format{name: name}
	ones := 1 << fractionBits
	for pattern := range f.values {
		exponent, fraction := pattern/ones, pattern%ones
		if exponent == 0 {
			f.values[pattern] = math.Ldexp(float64(fraction), 1-bias-fractionBits)
		} else {
			f.values[pattern] = math.Ldexp(float64(ones+fraction), exponent-bias-fractionBits)
		}
	}
	return f
}

// The formats: FP8 has 3 bits of fraction and numbers up to 240, BF8 has 2 and goes to 57344.
var (
	FP8 = newFormat("fp8", 3, 8)
	BF8 = newFormat("bf8", 2, 16)
)

func (f *Format) String() string { return f.name }

// NotANumber is the pattern of the only NaN, in both formats.
const NotANumber = 0x80

// Value is what a pattern is worth.
func (f *Format) Value(pattern byte) float64 {
	switch {
	case pattern == NotANumber:
		return math.NaN()
	case pattern > NotANumber:
		return -f.values[pattern-NotANumber]
	}
	return f.values[pattern]
}

// Largest is the largest number of the format.
func (f *Format) Largest() float64 { return f.values[127] }

// Around are the nearest numbers that are not above, and not below x: the same one if x is a number of the format. x must
// be within the format's range.
func (f *Format) Around(x float64) (below, above float64) {
	if x < 0 {
		below, above = f.Around(-x)
		return -above, -below
	}
	i := sort.SearchFloat64s(f.values[:], x)
	if f.values[i] == x {
		return x, x
	}
	return f.values[i-1], f.values[i]
}

// Nearest is the pattern of the number nearest to x: of two that are as near, the one with an even pattern. Beyond the
// largest number it is that one; NaN and infinities become NaN.
func (f *Format) Nearest(x float64) byte {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return NotANumber
	}
	size := math.Min(math.Abs(x), f.Largest())
	i := sort.SearchFloat64s(f.values[:], size)
	if f.values[i] != size {
		below, above := size-f.values[i-1], f.values[i]-size
		if below < above || below == above && i%2 == 1 {
			i--
		}
	}
	if x < 0 && i > 0 {
		return NotANumber + byte(i)
	}
	return byte(i)
}

// Round is the value of the number nearest to x.
func (f *Format) Round(x float64) float64 { return f.Value(f.Nearest(x)) }
