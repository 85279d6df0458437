package shapes

import (
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/tests/miopendriver"
)

// TestDraw: what is drawn can be asked of the driver, is not all of one kind, and does not change.
func TestDraw(t *testing.T) {
	type kind struct {
		t       miopendriver.Type
		layout  miopendriver.Layout
		spatial int
	}
	for _, n := range []int{24, 200} {
		drawn := Draw(1, n)
		require.Len(t, drawn, n)
		require.Equal(t, drawn, Draw(1, n))
		require.NotEqual(t, drawn, Draw(2, n))
		kinds, features, names := map[kind]int{}, map[Features]int{}, map[string]bool{}
		for _, c := range drawn {
			_, err := miopendriver.Request{Operation: c, Directions: miopendriver.AllDirections, Verify: true}.Arguments()
			require.NoError(t, err)
			require.LessOrEqual(t, c.Products(), maxProducts)
			kinds[kind{c.Type, c.Layout, len(c.Axes)}]++
			for f := Features(1); f <= allFeatures; f <<= 1 {
				if FeaturesOf(c)&f != 0 {
					features[f]++
				}
			}
			names[c.String()] = true
		}
		require.Len(t, names, n)
		require.Len(t, kinds, 3*2*2)
		for k, count := range kinds {
			require.GreaterOrEqual(t, count, n/12, "%+v", k)
		}
		require.Len(t, features, 6)
		for f, count := range features {
			require.GreaterOrEqual(t, count, n/8, "feature %d of %d shapes", f, n)
		}
	}
	require.Equal(t, Draw(1, 24), Draw(1, 200)[:24])
}
