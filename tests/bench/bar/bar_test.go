package bar_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/tests/bench/bar"
)

func TestMedianAndSpread(t *testing.T) {
	require.InDelta(t, 2.5, bar.Samples{4, 1, 3, 2}.Median(), 1e-12)
	require.InDelta(t, 7, bar.Samples{7}.Median(), 1e-12)
	require.InDelta(t, 2, bar.Samples{1, 2, 3, 4, 5}.Spread(), 1e-12)
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
