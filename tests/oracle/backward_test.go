package oracle_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/tests/oracle"
)

// geometries have everything in them, in one to three spatial dimensions.
var geometries = []struct {
	c    oracle.Convolution
	x, w []int
}{
	{oracle.Convolution{Pads: []int{2}, Strides: []int{3}, Dilations: []int{2}, Groups: 1}, []int{2, 3, 9}, []int{2, 3, 3}},
	{oracle.Convolution{Pads: []int{1, 2}, Strides: []int{2, 1}, Dilations: []int{1, 2}, Groups: 2}, []int{2, 4, 6, 7}, []int{6, 2, 3, 2}},
	{oracle.Convolution{Pads: []int{0, 1, 2}, Strides: []int{1, 2, 3}, Dilations: []int{2, 1, 1}, Groups: 3}, []int{1, 3, 5, 4, 6}, []int{6, 1, 2, 3, 2}},
}

func operands(t *testing.T, rng *rand.Rand, c oracle.Convolution, e oracle.Type, x, w []int) oracle.Operands {
	t.Helper()
	y, err := c.OutputLengths(x, w)
	require.NoError(t, err)
	o := oracle.Operands{X: oracle.Packed(e, x, nil), W: oracle.Packed(e, w, nil), Y: oracle.Packed(e, y, nil), Alpha: 1}
	o.XData, o.WData, o.YData = random(rng, o.X), random(rng, o.W), random(rng, o.Y)
	return o
}

// inner is the sum of the products of two lists.
func inner(a []oracle.Value, b []byte) float64 {
	s := 0.0
	for i, v := range a {
		s += v.Exact * oracle.Double.Get(b[8*i:])
	}
	return s
}

func TestGradientsHandComputed(t *testing.T) {
	c := oracle.Convolution{Pads: []int{1}, Strides: []int{2}, Dilations: []int{1}, Groups: 1}
	o := oracle.Operands{
		X: oracle.Packed(oracle.Float, []int{1, 1, 4}, nil), XData: encode(oracle.Float, 1, 2, 3, 4),
		W: oracle.Packed(oracle.Float, []int{1, 1, 3}, nil), WData: encode(oracle.Float, 10, 20, 30),
		Y: oracle.Packed(oracle.Float, []int{1, 1, 2}, nil), YData: encode(oracle.Float, 5, 7),
		Alpha: 1,
	}
	dx, err := c.BackwardData(o)
	require.NoError(t, err)
	// y[0] reads x[0], x[1] by taps 1, 2; y[1] reads x[1], x[2], x[3] by taps 0, 1, 2.
	require.Equal(t, []float64{5 * 20, 5*30 + 7*10, 7 * 20, 7 * 30}, exact(dx))
	require.Equal(t, []int{1, 2, 1, 1}, []int{dx[0].Terms, dx[1].Terms, dx[2].Terms, dx[3].Terms})
	dw, err := c.BackwardWeights(o)
	require.NoError(t, err)
	require.Equal(t, []float64{7 * 2, 5*1 + 7*3, 5*2 + 7*4}, exact(dw))

	o.Alpha, o.Beta = -2, 0.5
	dx, err = c.BackwardData(o)
	require.NoError(t, err)
	require.Equal(t, []float64{-200 + 0.5, -440 + 1, -280 + 1.5, -420 + 2}, exact(dx))
	require.Equal(t, 440.0+1, dx[1].Magnitude)
	dw, err = c.BackwardWeights(o)
	require.NoError(t, err)
	require.Equal(t, []float64{-28 + 5, -52 + 10, -76 + 15}, exact(dw))
}

// Groups keep gradients apart.
func TestGradientsOfGroups(t *testing.T) {
	c := plain(1)
	c.Groups = 2
	o := oracle.Operands{
		X: oracle.Packed(oracle.Float, []int{1, 2, 1}, nil), XData: encode(oracle.Float, 3, 5),
		W: oracle.Packed(oracle.Float, []int{4, 1, 1}, nil), WData: encode(oracle.Float, 1, 10, 100, 1000),
		Y: oracle.Packed(oracle.Float, []int{1, 4, 1}, nil), YData: encode(oracle.Float, 1, 2, 3, 4),
		Alpha: 1,
	}
	dx, err := c.BackwardData(o)
	require.NoError(t, err)
	require.Equal(t, []float64{21, 4300}, exact(dx))
	dw, err := c.BackwardWeights(o)
	require.NoError(t, err)
	require.Equal(t, []float64{3, 6, 15, 20}, exact(dw))
}

// The three directions are one trilinear form: <conv(x, w), y> = <x, dx> = <w, dw>.
func TestGradientsAreAdjoint(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	for _, g := range geometries {
		o := operands(t, rng, g.c, oracle.Double, g.x, g.w)
		y, err := g.c.Forward(o)
		require.NoError(t, err)
		dx, err := g.c.BackwardData(o)
		require.NoError(t, err)
		dw, err := g.c.BackwardWeights(o)
		require.NoError(t, err)
		want := inner(y, o.YData)
		require.NotZero(t, want)
		require.InDelta(t, want, inner(dx, o.XData), 1e-12)
		require.InDelta(t, want, inner(dw, o.WData), 1e-12)
		// Another gradient: the form is not fulfilled by accident.
		require.Greater(t, math.Abs(want-inner(dw, slices.Concat(o.WData[8:], o.WData[:8]))), 1e-3)
	}
}

// A gradient is the change of the result when one element changes, which Forward alone tells.
func TestGradientsAreDifferences(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 14))
	for _, g := range geometries {
		o := operands(t, rng, g.c, oracle.Double, g.x, g.w)
		dx, err := g.c.BackwardData(o)
		require.NoError(t, err)
		dw, err := g.c.BackwardWeights(o)
		require.NoError(t, err)
		before, err := g.c.Forward(o)
		require.NoError(t, err)
		difference := func(data *[]byte, at int) float64 {
			whole := *data
			changed := slices.Clone(whole)
			oracle.Double.Put(changed[8*at:], oracle.Double.Get(changed[8*at:])+1)
			*data = changed
			after, err := g.c.Forward(o)
			require.NoError(t, err)
			*data = whole
			return inner(after, o.YData) - inner(before, o.YData)
		}
		for range 20 {
			i, j := rng.IntN(len(dx)), rng.IntN(len(dw))
			require.InDelta(t, dx[i].Exact, difference(&o.XData, i), 1e-12)
			require.InDelta(t, dw[j].Exact, difference(&o.WData, j), 1e-12)
		}
	}
}

func TestGradientsDoNotDependOnStrides(t *testing.T) {
	rng := rand.New(rand.NewPCG(15, 16))
	g := geometries[1]
	o := operands(t, rng, g.c, oracle.Float, g.x, g.w)
	moved := o
	move := func(tensor oracle.Tensor, data []byte) (oracle.Tensor, []byte) {
		to := oracle.Packed(tensor.Type, tensor.Lengths, []int{0, 2, 3, 1})
		out := make([]byte, to.Bytes())
		from := 0
		to.Each(func(_ []int, offset int) {
			copy(out[offset:offset+4], data[from:])
			from += 4
		})
		return to, out
	}
	moved.X, moved.XData = move(o.X, o.XData)
	moved.W, moved.WData = move(o.W, o.WData)
	moved.Y, moved.YData = move(o.Y, o.YData)
	for _, d := range []oracle.Direction{oracle.Forward, oracle.BackwardData, oracle.BackwardWeights} {
		want, err := g.c.Compute(d, o)
		require.NoError(t, err)
		got, err := g.c.Compute(d, moved)
		require.NoError(t, err)
		require.InDeltaSlice(t, exact(want), exact(got), 1e-15, d)
	}
}

func TestGradientRefusals(t *testing.T) {
	rng := rand.New(rand.NewPCG(17, 18))
	g := geometries[0]
	good := operands(t, rng, g.c, oracle.Float, g.x, g.w)
	for _, d := range []oracle.Direction{oracle.BackwardData, oracle.BackwardWeights} {
		o := good
		o.YData = o.YData[1:]
		_, err := g.c.Compute(d, o)
		require.ErrorContains(t, err, "tensor y needs")
	}
	// What is computed need not be there, unless it is added to.
	o := good
	o.XData = nil
	_, err := g.c.BackwardData(o)
	require.NoError(t, err)
	_, err = g.c.BackwardWeights(o)
	require.ErrorContains(t, err, "tensor x needs")
	o.Beta = 1
	_, err = g.c.BackwardData(o)
	require.ErrorContains(t, err, "tensor x needs")
	o = good
	o.WData = nil
	_, err = g.c.BackwardWeights(o)
	require.NoError(t, err)
	_, err = g.c.BackwardData(o)
	require.ErrorContains(t, err, "tensor w needs")
	_, err = g.c.Compute(3, good)
	require.ErrorContains(t, err, "Direction(3) is not a direction")
}
