package oracle

import (
	"encoding/binary"
	"fmt"
	"math"
)

// Type is the storage type of a tensor's elements. The zero value is no type.
type Type uint8

// The element types. Half is IEEE 754 binary16, BFloat16 the upper half of binary32. Float8 and BFloat8
// are the 8-bit numbers of gfx942, MIOpen's float8_fnuz and bfloat8_fnuz: 4 bits of exponent and 3 of
// fraction, or 5 and 2; one zero, one NaN, no infinity (AMD's "CDNA3 Instruction Set Architecture", data
// formats FP8 and BF8).
const (
	Half Type = iota + 1
	BFloat16
	Float
	Double
	Int8
	Int32
	Float8
	BFloat8
)

// form describes a type. For a floating type, digits counts significand bits with the hidden one,
// minExponent is the exponent of the smallest normal number and maxFinite the largest number. A finite
// type has no infinity and no negative zero: what is too large becomes the largest number.
type form struct {
	name        string
	size        int
	digits      int
	minExponent int
	maxFinite   float64
	finite      bool
}

var forms = map[Type]form{
	Half:     {"half", 2, 11, -14, 65504, false},
	BFloat16: {"bfloat16", 2, 8, -126, math.Ldexp(255, 120), false},
	Float:    {"float", 4, 24, -126, math.MaxFloat32, false},
	Double:   {"double", 8, 53, -1022, math.MaxFloat64, false},
	Int8:     {name: "int8", size: 1},
	Int32:    {name: "int32", size: 4},
	Float8:   {"float8_fnuz", 1, 4, -7, 240, true},
	BFloat8:  {"bfloat8_fnuz", 1, 3, -15, 57344, true},
}

func (t Type) form() form {
	f, ok := forms[t]
	if !ok {
		panic(fmt.Sprintf("oracle: %d is not an element type", uint8(t)))
	}
	return f
}

// ParseType returns the type with the given name.
func ParseType(name string) (Type, error) {
	for t, f := range forms {
		if f.name == name {
			return t, nil
		}
	}
	return 0, fmt.Errorf("oracle: no element type is named %q", name)
}

func (t Type) String() string {
	if f, ok := forms[t]; ok {
		return f.name
	}
	return fmt.Sprintf("Type(%d)", uint8(t))
}

// Size is the number of bytes of one element.
func (t Type) Size() int { return t.form().size }

// IsInteger reports whether the type holds integers.
func (t Type) IsInteger() bool { return t.form().digits == 0 }

// UnitRoundoff is the largest relative error of rounding a number to the type, 0 for integers.
func (t Type) UnitRoundoff() float64 {
	if t.IsInteger() {
		return 0
	}
	return math.Ldexp(1, -t.form().digits)
}

// Round returns the type's number nearest to v, ties to even. Floating types overflow to an
// infinity as IEEE 754 says, those without one to their largest number, and an infinity is NaN in them;
// integers are limited to their range. NaN stays NaN in a floating type and becomes 0 in an integer.
func (t Type) Round(v float64) float64 {
	f := t.form()
	switch {
	case t.IsInteger():
		if math.IsNaN(v) {
			return 0
		}
		limit := math.Ldexp(1, 8*f.size-1)
		return math.Min(math.Max(math.RoundToEven(v), -limit), limit-1)
	case f.finite && math.IsInf(v, 0):
		return math.NaN()
	case math.IsNaN(v) || math.IsInf(v, 0) || v == 0 && !f.finite:
		return v
	case v == 0:
		return 0
	}
	exponent := max(math.Ilogb(v), f.minExponent)
	rounded := roundToMultiple(v, exponent-f.digits+1)
	switch {
	case f.finite && rounded == 0:
		return 0 // without its sign
	case f.finite:
		return f.limit(rounded)
	case math.Abs(rounded) > f.maxFinite:
		return math.Inf(int(math.Copysign(1, v)))
	}
	return rounded
}

// limit is the number of the type's range that is nearest to v.
func (f form) limit(v float64) float64 {
	return math.Min(math.Max(v, -f.maxFinite), f.maxFinite)
}

// roundToMultiple rounds v to a multiple of 2^exponent. Scaling is done in two steps where one
// would leave the range of a double.
func roundToMultiple(v float64, exponent int) float64 {
	if exponent < -1000 {
		return math.Ldexp(math.RoundToEven(math.Ldexp(math.Ldexp(v, 1000), -exponent-1000)), exponent)
	}
	return math.Ldexp(math.RoundToEven(math.Ldexp(v, -exponent)), exponent)
}

// Put stores v, rounded to the type, in the first Size bytes of b, little-endian.
func (t Type) Put(b []byte, v float64) {
	v = t.Round(v)
	switch t {
	case Int8:
		b[0] = byte(int8(v))
	case Int32:
		binary.LittleEndian.PutUint32(b, uint32(int32(v)))
	case Float:
		binary.LittleEndian.PutUint32(b, math.Float32bits(float32(v)))
	case Double:
		binary.LittleEndian.PutUint64(b, math.Float64bits(v))
	case BFloat16: // a rounded value has no bits in the lower half
		binary.LittleEndian.PutUint16(b, uint16(math.Float32bits(float32(v))>>16))
	case Half:
		binary.LittleEndian.PutUint16(b, halfBits(v))
	case Float8, BFloat8:
		b[0] = t.octet(v)
	}
}

// octetNaN is the only NaN of an 8-bit floating type: where the negative zero would be.
const octetNaN = 0x80

// octet encodes a value that the 8-bit type can hold exactly. Numbers are counted in the type's smallest:
// those below the first normal one have their count as their pattern, and from there on each power of two
// starts the next exponent.
func (t Type) octet(v float64) byte {
	if math.IsNaN(v) {
		return octetNaN
	}
	f := t.form()
	ones := 1 << (f.digits - 1)
	count := math.Ldexp(math.Abs(v), f.digits-1-f.minExponent)
	exponent := 0
	for ; count >= float64(2*ones); exponent++ {
		count /= 2
	}
	pattern := byte(exponent*ones) + byte(count)
	if v < 0 {
		pattern |= 0x80
	}
	return pattern
}

// What the patterns of the 8-bit floating types are worth.
var float8Values, bfloat8Values = Float8.octetValues(), BFloat8.octetValues()

func (t Type) octetValues() (values [256]float64) {
	f := t.form()
	ones := 1 << (f.digits - 1)
	for pattern := range 128 {
		exponent, fraction := pattern/ones, pattern%ones
		v := math.Ldexp(float64(fraction), f.minExponent-f.digits+1)
		if exponent > 0 {
			v = math.Ldexp(float64(ones+fraction), exponent+f.minExponent-f.digits)
		}
		values[pattern], values[0x80|pattern] = v, -v
	}
	values[octetNaN] = math.NaN()
	return values
}

// halfBits encodes a value that Half can hold exactly.
func halfBits(v float64) uint16 {
	var sign uint16
	if math.Signbit(v) {
		sign = 0x8000
	}
	v = math.Abs(v)
	switch {
	case math.IsNaN(v):
		return sign | 0x7e00
	case math.IsInf(v, 0):
		return sign | 0x7c00
	case v < 0x1p-14: // zero or subnormal: units of 2^-24
		return sign | uint16(math.Ldexp(v, 24))
	}
	exponent := math.Ilogb(v)
	fraction := math.Ldexp(v, 10-exponent) - 1024
	return sign | uint16(exponent+15)<<10 | uint16(fraction)
}

// Get loads the element in the first Size bytes of b.
func (t Type) Get(b []byte) float64 {
	switch t {
	case Int8:
		return float64(int8(b[0]))
	case Int32:
		return float64(int32(binary.LittleEndian.Uint32(b)))
	case Float:
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(b)))
	case Double:
		return math.Float64frombits(binary.LittleEndian.Uint64(b))
	case BFloat16:
		return float64(math.Float32frombits(uint32(binary.LittleEndian.Uint16(b)) << 16))
	case Half:
		return halfValue(binary.LittleEndian.Uint16(b))
	case Float8:
		return float8Values[b[0]]
	case BFloat8:
		return bfloat8Values[b[0]]
	}
	panic(fmt.Sprintf("oracle: %d is not an element type", uint8(t)))
}

func halfValue(bits uint16) float64 {
	sign := 1.0
	if bits&0x8000 != 0 {
		sign = -1
	}
	exponent := int(bits>>10) & 31
	fraction := float64(bits & 1023)
	switch exponent {
	case 0:
		return sign * math.Ldexp(fraction, -24)
	case 31:
		if fraction != 0 {
			return math.NaN()
		}
		return math.Inf(int(sign))
	}
	return sign * math.Ldexp(1024+fraction, exponent-25)
}
