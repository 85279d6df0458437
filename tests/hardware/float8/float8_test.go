package float8_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/tests/hardware/float8"
)

var formats = []*float8.Format{float8.FP8, float8.BF8}

func TestKnownValues(t *testing.T) {
	for pattern, value := range map[byte]float64{
		0x00: 0, 0x01: 0x1p-10, 0x07: 7 * 0x1p-10, 0x08: 0x1p-7, 0x40: 1, 0x41: 1.125, 0x7f: 240, 0xc0: -1, 0xff: -240, 0x81: -0x1p-10,
	} {
		require.Equal(t, value, float8.FP8.Value(pattern), "%#x", pattern)
	}
	for pattern, value := range map[byte]float64{
		0x00: 0, 0x01: 0x1p-17, 0x04: 0x1p-15, 0x40: 1, 0x41: 1.25, 0x7f: 57344, 0xc0: -1, 0xff: -57344,
	} {
		require.Equal(t, value, float8.BF8.Value(pattern), "%#x", pattern)
	}
}

// TestAllPatterns: every number is the nearest to itself, and what lies between neighbours goes to the nearer.
func TestAllPatterns(t *testing.T) {
	for _, f := range formats {
		require.True(t, math.IsNaN(f.Value(float8.NotANumber)))
		for pattern := range 256 {
			if pattern == float8.NotANumber {
				continue
			}
			value := f.Value(byte(pattern))
			require.Equal(t, byte(pattern), f.Nearest(value), "%v %#x", f, pattern)
			below, above := f.Around(value)
			require.Equal(t, []float64{value, value}, []float64{below, above})
			if pattern == 0x7f || pattern == 0xff {
				continue
			}
			next := f.Value(byte(pattern + 1)) // away from zero
			if pattern == 0 {
				next = f.Value(1)
			}
			gap := next - value
			require.Equal(t, value, f.Round(value+gap*0.49), "%v %#x", f, pattern)
			require.Equal(t, next, f.Round(value+gap*0.51), "%v %#x", f, pattern)
			even := value
			if pattern%2 == 1 {
				even = next
			}
			require.Equal(t, even, f.Round(value+gap/2), "%v %#x", f, pattern)
			below, above = f.Around(value + gap/3)
			require.Equal(t, []float64{math.Min(value, next), math.Max(value, next)}, []float64{below, above})
		}
	}
}

func TestEnds(t *testing.T) {
	for _, f := range formats {
		require.Equal(t, f.Largest(), f.Round(1e30))
		require.Equal(t, -f.Largest(), f.Round(-1e30))
		for _, x := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
			require.Equal(t, byte(float8.NotANumber), f.Nearest(x))
		}
		require.Zero(t, f.Nearest(math.Copysign(0, -1)), "there is one zero")
		require.Zero(t, f.Nearest(-1e-30))
	}
}
