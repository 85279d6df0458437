package translate_test

import (
	"encoding/binary"
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/hipdnnbridge/graph"
	"example.com/miopen_hipdnn_shim/hipdnnbridge/miopen"
	"example.com/miopen_hipdnn_shim/hipdnnbridge/translate"
)

// There and back is where one was, for every kind of problem.
func TestInverseIsTheIdentity(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 0))
	n := 0
	for range 3 {
		for _, k := range kinds(miopen.MaxSpatial) {
			c := k.random(rng)
			g, binding, err := translate.Problem(&c)
			require.NoError(t, err, "%v: %+v", k, c)
			back, bound, err := translate.Inverse(&g)
			require.NoError(t, err, "%v: %+v", k, c)
			require.Equal(t, c, back, k)
			require.Equal(t, binding, bound, k)
			n++
		}
	}
	require.Greater(t, n, 2000)
}

// Attributes without an effect on the problem come back as MIOpen's defaults.
func TestInverseGivesDefaultAttributes(t *testing.T) {
	c := sample()
	c.FP16Alternative, c.FP8Rounding, c.Mode = 1, miopen.RoundingStochastic, miopen.ModeGroup
	g, _, err := translate.Problem(&c)
	require.NoError(t, err)
	back, _, err := translate.Inverse(&g)
	require.NoError(t, err)
	require.Equal(t, sample(), back)
}

func TestInverseDeclines(t *testing.T) {
	forward := func(g *graph.Graph) *graph.ConvolutionForward { return g.Nodes[0].(*graph.ConvolutionForward) }
	for name, c := range map[string]struct {
		reason translate.Reason
		spoil  func(g *graph.Graph)
	}{
		"graph that is not well formed": {translate.GraphInvalid, func(g *graph.Graph) { g.Tensors[0].UID = 3 }},
		"several operations": {translate.OperationUnsupported, func(g *graph.Graph) {
			g.Tensors = append(g.Tensors, g.Tensors[2])
			g.Tensors[3].UID = 4
			g.Nodes = append(g.Nodes, &graph.Pointwise{Mode: graph.PointwiseReLU, In: []graph.UID{3}, Out: 4, Compute: graph.Float})
		}},
		"another operation": {translate.OperationUnsupported, func(g *graph.Graph) {
			n := forward(g)
			g.Nodes[0] = &graph.ConvolutionBackwardWeights{X: n.X, DY: n.Y, DW: n.W, Geometry: n.Geometry}
		}},
		"flipped filter": {translate.Flipped, func(g *graph.Graph) { forward(g).Mode = graph.Convolution }},
		"pads that differ": {translate.PaddingAsymmetric, func(g *graph.Graph) {
			forward(g).PrePads[0]--
			forward(g).PostPads[0]++
		}},
		"sums in double": {translate.ComputeType, func(g *graph.Graph) { forward(g).Compute = graph.Double }},
		"a type that MIOpen has not": {translate.TypeUnknown, func(g *graph.Graph) {
			for i := range g.Tensors {
				g.Tensors[i].Type = graph.FP8E4M3
			}
		}},
		"types that do not go together": {translate.TypeCombination, func(g *graph.Graph) { g.Tensors[2].Type = graph.Half }},
		"elements that overlap":         {translate.StrideNotPlain, func(g *graph.Graph) { g.Tensors[0].Strides[3] = 7 }},
		"too many groups": {translate.TooLarge, func(g *graph.Graph) {
			*g = wideGraph(1 << 32)
		}},
		"six spatial dimensions": {translate.TooManyDims, func(g *graph.Graph) {
			c := spatialRank(5)
			six, _, err := translate.Problem(&c)
			require.NoError(t, err)
			n := forward(&six)
			n.PrePads, n.PostPads, n.Strides, n.Dilations = append(n.PrePads, 0), append(n.PostPads, 0), append(n.Strides, 1), append(n.Dilations, 1)
			for i := range six.Tensors {
				six.Tensors[i].Dims = append(six.Tensors[i].Dims, []int64{4, 2, 3}[i])
				six.Tensors[i].Strides = append(six.Tensors[i].Strides, 1)
			}
			*g = six
		}},
	} {
		p := sample()
		g, _, err := translate.Problem(&p)
		require.NoError(t, err)
		c.spoil(&g)
		_, _, err = translate.Inverse(&g)
		var decline *translate.Decline
		require.ErrorAs(t, err, &decline, name)
		require.Equal(t, c.reason, decline.Reason, "%s: %v", name, decline)
	}
}

// wideGraph is a depthwise convolution of one element per channel.
func wideGraph(channels int64) graph.Graph {
	tensor := func(uid graph.UID, dims ...int64) graph.Tensor {
		return graph.Tensor{UID: uid, Type: graph.Float, Dims: dims, Strides: miopen.PackedStrides(dims)}
	}
	zero, one := []int64{0}, []int64{1}
	return graph.Graph{
		Tensors: []graph.Tensor{tensor(1, 1, channels, 1), tensor(2, channels, 1, 1), tensor(3, 1, channels, 1)},
		Nodes: []graph.Node{&graph.ConvolutionForward{X: 1, W: 2, Y: 3, Geometry: graph.Geometry{
			PrePads: zero, PostPads: zero, Strides: one, Dilations: one, Mode: graph.CrossCorrelation, Compute: graph.Float,
		}}},
	}
}

// hold says what must be true of any call whatever: no panic, a decline with a reason and nothing
// else, or a graph that is well formed and leads back.
func hold(t *testing.T, c *miopen.Convolution, s miopen.Scalars, b translate.Buffers) bool {
	g, binding, err := translate.Forward(c, s, b)
	if err != nil {
		var decline *translate.Decline
		require.True(t, errors.As(err, &decline), "%v", err)
		require.NotEqual(t, translate.NoReason, decline.Reason)
		require.Less(t, int(decline.Reason), translate.Reasons)
		require.Contains(t, err.Error(), decline.Reason.String())
		return false
	}
	require.Equal(t, translate.NoReason, translate.CheckScalars(s))
	require.Equal(t, translate.NoReason, binding.Check(b))
	require.NoError(t, g.Validate())
	back, bound, err := translate.Inverse(&g)
	require.NoError(t, err)
	require.Equal(t, binding, bound)
	again, _, err := translate.Problem(&back)
	require.NoError(t, err)
	require.Equal(t, g, again)
	return true
}

// interesting are numbers on which arithmetic goes wrong.
var interesting = []int64{
	0, 1, -1, 2, 3, 4, 7, math.MaxInt8, math.MaxInt32, math.MinInt32, math.MaxInt32 + 1, 1 << 32, math.MaxInt64, math.MinInt64, math.MaxInt64 / 2, 1 << 62,
}

// spoil changes up to three numbers of a flat problem.
func spoil(rng *rand.Rand, flat []byte) {
	for range rng.IntN(4) {
		v := uint64(interesting[rng.IntN(len(interesting))])
		if rng.IntN(4) == 0 {
			v = rng.Uint64()
		}
		if at := rng.IntN(len(flat) / 4); rng.IntN(2) == 0 || 4*at+8 > len(flat) {
			binary.LittleEndian.PutUint32(flat[4*at:], uint32(v))
		} else {
			binary.LittleEndian.PutUint64(flat[4*at:], v)
		}
	}
}

func TestAnyProblemIsTranslatedOrDeclined(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 0))
	all := kinds(miopen.MaxSpatial)
	translated, rounds := 0, 20000
	for range rounds {
		p := all[rng.IntN(len(all))].random(rng)
		flat := miopen.AppendFlat(nil, &p)
		spoil(rng, flat)
		c, err := miopen.DecodeFlat(flat)
		require.NoError(t, err)
		s, b := identity, apart
		if rng.IntN(8) == 0 {
			b.Y = uintptr(rng.Uint64())
			s.Alpha = math.Float64frombits(rng.Uint64())
		}
		if hold(t, &c, s, b) {
			translated++
		}
	}
	require.Greater(t, translated, rounds/4, "too few problems were left whole")
	require.Less(t, translated, rounds*3/4, "too few problems were spoilt")
}

func FuzzForward(f *testing.F) {
	rng := rand.New(rand.NewPCG(5, 0))
	for _, k := range kinds(miopen.MaxSpatial) {
		c := k.random(rng)
		f.Add(miopen.AppendFlat(nil, &c), 1.0, 0.0, true, true, uint64(apart.X), uint64(apart.W), uint64(apart.Y))
	}
	f.Fuzz(func(t *testing.T, flat []byte, alpha, beta float64, alphaSet, betaSet bool, x, w, y uint64) {
		c, err := miopen.DecodeFlat(flat)
		if err != nil {
			return
		}
		hold(t, &c, miopen.Scalars{Alpha: alpha, Beta: beta, AlphaSet: alphaSet, BetaSet: betaSet},
			translate.Buffers{X: uintptr(x), W: uintptr(w), Y: uintptr(y)})
	})
}

// What is asked on every call must not allocate.
func TestChecksOfEveryCallDoNotAllocate(t *testing.T) {
	c := sample()
	_, binding, err := translate.Forward(&c, identity, apart)
	require.NoError(t, err)
	sink := translate.NoReason
	require.Zero(t, testing.AllocsPerRun(100, func() {
		sink |= translate.CheckScalars(identity) | binding.Check(apart)
		if !binding.CheckWorkspace(apart, 0x4000_0000_0000, 1<<20) {
			sink = translate.BuffersOverlap
		}
	}))
	require.Equal(t, translate.NoReason, sink)
}

func BenchmarkProblem(b *testing.B) {
	c := sample()
	for b.Loop() {
		if _, _, err := translate.Problem(&c); err != nil {
			b.Fatal(err)
		}
	}
}
