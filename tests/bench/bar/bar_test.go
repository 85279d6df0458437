package bar_test

import (
	"bytes"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/tests/bench/bar"
)

func TestMedianAndSpread(t *testing.T) {
	require.InDelta(t, 2.5, bar.Samples{4, 1, 3, 2}.Median(), 1e-12)
	require.InDelta(t, 7, bar.Samples{7}.Median(), 1e-12)
	require.InDelta(t, 2, bar.Samples{1, 2, 3, 4, 5}.Spread(), 1e-12)
}

func TestInterval(t *testing.T) {
	low, high := bar.Samples{}.Interval()
	require.True(t, math.IsNaN(low) && math.IsNaN(high), "%v %v", low, high)

	low, high = bar.Samples{7}.Interval()
	require.Equal(t, [2]float64{7, 7}, [2]float64{low, high})

	// Of ten samples the exact interval between order statistics is the second to the ninth, at 97.9 %.
	low, high = bar.Samples{10, 2, 3, 4, 5, 6, 7, 8, 9, 1}.Interval()
	require.InDelta(t, 3, low, 1)
	require.InDelta(t, 8, high, 1)
	again, _ := bar.Samples{10, 2, 3, 4, 5, 6, 7, 8, 9, 1}.Interval()
	require.Equal(t, low, again)
}

// The interval has the median that samples are drawn from in 95 of 100 experiments. An interval of the mean, or of the
// samples themselves, does not.
func TestIntervalCovers(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	const experiments = 200
	covered, width := 0, 0.0
	for range experiments {
		var samples bar.Samples
		for range 41 {
			samples = append(samples, random.ExpFloat64())
		}
		low, high := samples.Interval()
		if low <= math.Ln2 && math.Ln2 <= high {
			covered++
		}
		width += high - low
	}
	require.InDelta(t, 0.95, float64(covered)/experiments, 0.04)
	require.InDelta(t, 2*1.96/math.Sqrt(41), width/experiments, 0.15, "two times 1.96 standard errors of the median")
}

func TestPairs(t *testing.T) {
	a, b := bar.Samples{6, 8}, bar.Samples{2, 4}
	require.Equal(t, bar.Samples{4, 4}, a.Minus(b))
	require.Equal(t, bar.Samples{3, 2}, a.Over(b))
	require.Panics(t, func() { a.Minus(b[:1]) })
}

func TestRatioAtMost(t *testing.T) {
	for _, c := range []struct {
		name   string
		ratios bar.Samples
		status int
		last   string
	}{
		{"better", bar.Samples{0.9, 0.9, 0.9}, bar.Held, "BAR x 0.9 x limit 1.05 ok\n"},
		{"within the limit", bar.Samples{1.04, 1.04, 1.04}, bar.Held, "BAR x 1.04 x limit 1.05 ok\n"},
		{"over it", bar.Samples{1.06, 1.06, 1.06}, bar.Short, "BAR x 1.06 x limit 1.05 short\n"},
		{"over it, not told from 1", bar.Samples{0.9, 1.1, 1.2}, bar.Held, "BAR x 1.1 x limit 1.05 ok\n"},
		{"nothing measured", nil, bar.Measured, "BAR x NaN x limit 1.05 short\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var r bar.Report
			r.RatioAtMost("x", c.ratios, 1.05)
			var out bytes.Buffer
			require.Equal(t, c.status, r.Finish(&out))
			require.True(t, bytes.HasSuffix(out.Bytes(), []byte(c.last)), out.String())
		})
	}
}

func TestFinish(t *testing.T) {
	for _, c := range []struct {
		name   string
		value  float64
		status int
		last   string
	}{
		{"holds", 1, bar.Held, "BAR x 1 s limit 2 ok\n"},
		{"equal", 2, bar.Held, "BAR x 2 s limit 2 ok\n"},
		{"short", 3, bar.Short, "BAR x 3 s limit 2 short\n"},
		{"nothing measured", bar.Samples{}.Median(), bar.Measured, "BAR x NaN s limit 2 short\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var r bar.Report
			r.Row("x", bar.Samples{c.value}, "s")
			r.AtMost("x", c.value, "s", 2)
			var out bytes.Buffer
			require.Equal(t, c.status, r.Finish(&out))
			require.True(t, bytes.HasSuffix(out.Bytes(), []byte(c.last)), out.String())
		})
	}
	require.Equal(t, bar.Measured, new(bar.Report).Finish(&bytes.Buffer{}), "a benchmark with no bar proves nothing")
}
