package isatest

import (
	"math"
	"math/big"
	"sort"
)

// halfValue is the number that an IEEE binary16 stands for.
func halfValue(pattern uint16) float64 {
	exponent, fraction := int(pattern>>10&31), float64(pattern&1023)
	var v float64
	switch exponent {
	case 31:
		if fraction != 0 {
			return math.NaN()
		}
		v = math.Inf(1)
	case 0:
		v = math.Ldexp(fraction, -24)
	default:
		v = math.Ldexp(1024+fraction, exponent-25)
	}
	if pattern>>15 != 0 {
		return math.Copysign(v, -1)
	}
	return v
}

// nearestHalf rounds by search among all halves: a tie goes to the pattern with an even last bit, and what is nearer to the power of
// two behind the largest half than to that is infinite.
func nearestHalf(v *big.Float) uint16 {
	sign := uint16(0)
	if v.Signbit() {
		sign = 0x8000
	}
	size := new(big.Float).Abs(v)
	if size.IsInf() {
		return sign | 0x7c00
	}
	of := func(pattern int) *big.Float {
		if pattern == 0x7c00 {
			return big.NewFloat(65536)
		}
		return big.NewFloat(halfValue(uint16(pattern)))
	}
	above := sort.Search(0x7c00, func(i int) bool { return of(i).Cmp(size) >= 0 })
	if above == 0 || of(above).Cmp(size) == 0 {
		return sign | uint16(above)
	}
	up := new(big.Float).SetPrec(4096).Sub(of(above), size)
	down := new(big.Float).SetPrec(4096).Sub(size, of(above-1))
	switch order := down.Cmp(up); {
	case order < 0, order == 0 && above%2 == 1:
		return sign | uint16(above-1)
	default:
		return sign | uint16(above)
	}
}

func halfOf(v float64) uint16 {
	if math.IsNaN(v) {
		return 0x7e00
	}
	f := new(big.Float).SetPrec(4096).SetFloat64(v)
	return nearestHalf(f)
}

func isHalfNaN(pattern uint16) bool { return pattern&0x7fff > 0x7c00 }
