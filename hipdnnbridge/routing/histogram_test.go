package routing

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestBuckets(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 0))
	values := []uint64{0, 1, 15, 16, 17, 31, 32, 33, 63, 64, 1 << 62, math.MaxInt64, math.MaxUint64}
	for range 10000 {
		values = append(values, rng.Uint64()>>rng.IntN(64))
	}
	slices.Sort(values)
	last := 0
	for _, v := range values {
		b := bucketOf(v)
		require.GreaterOrEqual(t, b, last, "%d", v)
		require.Less(t, b, len(histogram{}.buckets))
		last = b
		require.InDelta(t, float64(v), float64(middle(b)), float64(v)/32+0.5, "%d", v)
		require.Equal(t, b, bucketOf(middle(b)))
	}
}

func TestQuantiles(t *testing.T) {
	var h histogram
	require.Equal(t, []uint64{0, 0}, h.quantiles(0.5, 1))
	for v := range uint64(10001) {
		h.add(v)
	}
	got := h.quantiles(0.01, 0.5, 0.9, 0.99)
	for i, want := range []float64{100, 5000, 9000, 9900} {
		require.InDelta(t, want, float64(got[i]), want/16)
	}
	require.EqualValues(t, 10000, h.largest.Load())
}
