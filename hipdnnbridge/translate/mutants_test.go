package translate_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/hipdnnbridge/graph"
	"example.com/miopen_hipdnn_shim/hipdnnbridge/miopen"
	"example.com/miopen_hipdnn_shim/hipdnnbridge/translate"
)

// The mutants are translations with one mistake each, of the kinds that are made: the tests of this
// package must tell each from the translation. A mutant that gets through is a test that is missing.

// suite is every check of the package that looks at a translation from outside.
func suite(tr translator) error {
	for _, rows := range [][]row{fieldTable, declineTable, notFaithful} {
		for _, r := range rows {
			if err := r.check(tr); err != nil {
				return errors.Join(errors.New(r.name), err)
			}
		}
	}
	return numeric(tr, 2, 1)
}

// onProblem makes the mistake on the way in.
func onProblem(mutate func(c *miopen.Convolution)) translator {
	return func(c *miopen.Convolution, s miopen.Scalars, b translate.Buffers) (graph.Graph, translate.Binding, error) {
		mutant := clone(c)
		mutate(&mutant)
		return translate.Forward(&mutant, s, b)
	}
}

// onCall makes the mistake in what is looked at besides the problem.
func onCall(mutate func(s *miopen.Scalars, b *translate.Buffers)) translator {
	return func(c *miopen.Convolution, s miopen.Scalars, b translate.Buffers) (graph.Graph, translate.Binding, error) {
		mutate(&s, &b)
		return translate.Forward(c, s, b)
	}
}

// onGraph makes the mistake on the way out.
func onGraph(mutate func(g *graph.Graph, b *translate.Binding)) translator {
	return func(c *miopen.Convolution, s miopen.Scalars, b translate.Buffers) (graph.Graph, translate.Binding, error) {
		g, binding, err := translate.Forward(c, s, b)
		if err == nil {
			mutate(&g, &binding)
		}
		return g, binding, err
	}
}

func onGeometry(mutate func(g *graph.Geometry)) translator {
	return onGraph(func(g *graph.Graph, _ *translate.Binding) {
		switch n := g.Nodes[0].(type) {
		case *graph.ConvolutionForward:
			mutate(&n.Geometry)
		case *graph.ConvolutionBackwardData:
			mutate(&n.Geometry)
		}
	})
}

func onForward(mutate func(n *graph.ConvolutionForward)) translator {
	return onGraph(func(g *graph.Graph, _ *translate.Binding) {
		if n, ok := g.Nodes[0].(*graph.ConvolutionForward); ok {
			mutate(n)
		}
	})
}

func onBackward(mutate func(n *graph.ConvolutionBackwardData)) translator {
	return onGraph(func(g *graph.Graph, _ *translate.Binding) {
		if n, ok := g.Nodes[0].(*graph.ConvolutionBackwardData); ok {
			mutate(n)
		}
	})
}

func clone(c *miopen.Convolution) miopen.Convolution {
	out := *c
	for _, t := range []*miopen.Tensor{&out.X, &out.W, &out.Y} {
		t.Dims, t.Strides = slices.Clone(t.Dims), slices.Clone(t.Strides)
	}
	out.Pads, out.Strides, out.Dilations = slices.Clone(c.Pads), slices.Clone(c.Strides), slices.Clone(c.Dilations)
	return out
}

// wrongResults are mutants whose graphs compute something else, or nothing. Running the graphs is enough
// to tell.
var wrongResults = map[string]translator{
	"stride and dilation exchanged":    onGeometry(func(g *graph.Geometry) { g.Strides, g.Dilations = g.Dilations, g.Strides }),
	"stride dropped":                   onGeometry(func(g *graph.Geometry) { clear1(g.Strides) }),
	"dilation dropped":                 onGeometry(func(g *graph.Geometry) { clear1(g.Dilations) }),
	"pads dropped":                     onGeometry(func(g *graph.Geometry) { clear(g.PrePads); clear(g.PostPads) }),
	"pads exchanged between dims":      onGeometry(func(g *graph.Geometry) { slices.Reverse(g.PrePads); slices.Reverse(g.PostPads) }),
	"strides exchanged between dims":   onGeometry(func(g *graph.Geometry) { slices.Reverse(g.Strides) }),
	"dilations exchanged between dims": onGeometry(func(g *graph.Geometry) { slices.Reverse(g.Dilations) }),
	"pads all before":                  onGeometry(func(g *graph.Geometry) { double(g.PrePads); clear(g.PostPads) }),
	"pads all after":                   onGeometry(func(g *graph.Geometry) { double(g.PostPads); clear(g.PrePads) }),
	"pad after one less":               onGeometry(func(g *graph.Geometry) { g.PostPads[0]-- }),
	"filter flipped":                   onGeometry(func(g *graph.Geometry) { g.Mode = graph.Convolution }),
	"type of y from x":                 onGraph(func(g *graph.Graph, _ *translate.Binding) { g.Tensors[2].Type = g.Tensors[0].Type }),
	"type of x from y":                 onGraph(func(g *graph.Graph, _ *translate.Binding) { g.Tensors[0].Type = g.Tensors[2].Type }),
	"type of w always float":           onGraph(func(g *graph.Graph, _ *translate.Binding) { g.Tensors[1].Type = graph.Float }),
	"bfloat16 for half":                onTypes(graph.Half, graph.BFloat16),
	"half for bfloat16":                onTypes(graph.BFloat16, graph.Half),
	"dims of x reversed":               onGraph(func(g *graph.Graph, _ *translate.Binding) { slices.Reverse(g.Tensors[0].Dims) }),
	"dims of y reversed":               onGraph(func(g *graph.Graph, _ *translate.Binding) { slices.Reverse(g.Tensors[2].Dims) }),
	"strides of x packed": onGraph(func(g *graph.Graph, _ *translate.Binding) {
		g.Tensors[0].Strides = miopen.PackedStrides(g.Tensors[0].Dims)
	}),
	"strides of w packed": onGraph(func(g *graph.Graph, _ *translate.Binding) {
		g.Tensors[1].Strides = miopen.PackedStrides(g.Tensors[1].Dims)
	}),
	"strides of y packed": onGraph(func(g *graph.Graph, _ *translate.Binding) {
		g.Tensors[2].Strides = miopen.PackedStrides(g.Tensors[2].Dims)
	}),
	"strides of y channels last": onGraph(func(g *graph.Graph, _ *translate.Binding) {
		g.Tensors[2].Strides = miopen.ChannelsLastStrides(g.Tensors[2].Dims)
	}),
	"strides of y from x":               onGraph(func(g *graph.Graph, _ *translate.Binding) { g.Tensors[2].Strides = g.Tensors[0].Strides }),
	"strides of w from x":               onGraph(func(g *graph.Graph, _ *translate.Binding) { g.Tensors[1].Strides = g.Tensors[0].Strides }),
	"x and w mixed up in the pack":      onGraph(func(_ *graph.Graph, b *translate.Binding) { b.UIDs[0], b.UIDs[1] = b.UIDs[1], b.UIDs[0] }),
	"x and y mixed up in the pack":      onGraph(func(_ *graph.Graph, b *translate.Binding) { b.UIDs[0], b.UIDs[2] = b.UIDs[2], b.UIDs[0] }),
	"x and w mixed up in the operation": onForward(func(n *graph.ConvolutionForward) { n.X, n.W = n.W, n.X }),
	"x and y mixed up in the operation": onForward(func(n *graph.ConvolutionForward) { n.X, n.Y = n.Y, n.X }),
	"dy and dx mixed up":                onBackward(func(n *graph.ConvolutionBackwardData) { n.DY, n.DX = n.DX, n.DY }),
	"transpose as forward": onGraph(func(g *graph.Graph, _ *translate.Binding) {
		if n, ok := g.Nodes[0].(*graph.ConvolutionBackwardData); ok {
			g.Nodes[0] = &graph.ConvolutionForward{X: n.DY, W: n.W, Y: n.DX, Geometry: n.Geometry}
		}
	}),
	"transpose as forward from y to x": onGraph(func(g *graph.Graph, _ *translate.Binding) {
		if n, ok := g.Nodes[0].(*graph.ConvolutionBackwardData); ok {
			g.Nodes[0] = &graph.ConvolutionForward{X: n.DX, W: n.W, Y: n.DY, Geometry: n.Geometry}
		}
	}),
	"forward as gradient": onGraph(func(g *graph.Graph, _ *translate.Binding) {
		if n, ok := g.Nodes[0].(*graph.ConvolutionForward); ok {
			g.Nodes[0] = &graph.ConvolutionBackwardData{DY: n.Y, W: n.W, DX: n.X, Geometry: n.Geometry}
		}
	}),
	"groups dropped": onGraph(func(g *graph.Graph, _ *translate.Binding) {
		if _, ok := g.Nodes[0].(*graph.ConvolutionForward); ok {
			g.Tensors[1].Dims[1] = g.Tensors[0].Dims[1]
		}
	}),
	"reach without gaps": onGraph(packedReach),
	"reach in elements":  onGraph(elementReach),
}

// wrongDecisions are mutants that translate what is to be declined, decline what is not, or give a
// graph that computes the same with other words or in another precision. The tables tell.
var wrongDecisions = map[string]translator{
	"sums in the type of the data": onGeometry(func(g *graph.Geometry) { g.Compute = graph.Half }),
	"sums always float":            onGeometry(func(g *graph.Geometry) { g.Compute = graph.Float }),
	"sums always double":           onGeometry(func(g *graph.Geometry) { g.Compute = graph.Double }),
	"graph's compute type always float": onGraph(func(g *graph.Graph, _ *translate.Binding) {
		g.ComputeType, g.IntermediateType = graph.Float, graph.Float
	}),
	"8-bit types without fnuz": onTypes(graph.FP8E4M3FNUZ, graph.FP8E4M3),
	"8-bit types exchanged":    onTypes(graph.FP8E5M2FNUZ, graph.FP8E4M3FNUZ),
	"y virtual":                onGraph(func(g *graph.Graph, _ *translate.Binding) { g.Tensors[2].Virtual = true }),
	"uids from 0": onGraph(func(g *graph.Graph, b *translate.Binding) {
		for i := range g.Tensors {
			g.Tensors[i].UID--
			b.UIDs[i]--
		}
		switch n := g.Nodes[0].(type) {
		case *graph.ConvolutionForward:
			n.X, n.W, n.Y = n.X-1, n.W-1, n.Y-1
		case *graph.ConvolutionBackwardData:
			n.DY, n.W, n.DX = n.DY-1, n.W-1, n.DX-1
		}
	}),
	"group count not looked at": onProblem(func(c *miopen.Convolution) {
		if len(c.W.Dims) < 2 || c.W.Dims[1] < 1 {
			return
		}
		wide := &c.X
		if c.Mode == miopen.ModeTranspose {
			wide = &c.Y
		}
		if len(wide.Dims) > 1 {
			c.Groups = int32(wide.Dims[1] / c.W.Dims[1])
		}
	}),
	"alpha not looked at": onCall(func(s *miopen.Scalars, _ *translate.Buffers) { s.Alpha = 1 }),
	"beta not looked at":  onCall(func(s *miopen.Scalars, _ *translate.Buffers) { s.Beta = 0 }),
	"null alpha is 1": onCall(func(s *miopen.Scalars, _ *translate.Buffers) {
		if !s.AlphaSet {
			s.Alpha, s.AlphaSet = 1, true
		}
	}),
	"null beta is 0": onCall(func(s *miopen.Scalars, _ *translate.Buffers) {
		if !s.BetaSet {
			s.Beta, s.BetaSet = 0, true
		}
	}),
	"overlap not looked at":        onCall(func(_ *miopen.Scalars, b *translate.Buffers) { *b = nullOr(*b, apart) }),
	"overlap with w not looked at": onCall(func(_ *miopen.Scalars, b *translate.Buffers) { b.W = nullOr(*b, apart).W }),
	"only equal buffers overlap":   onCall(equalOnly),
	"null buffers pass":            onCall(func(_ *miopen.Scalars, b *translate.Buffers) { *b = notNull(*b, apart) }),
	"alignment not looked at": onCall(func(_ *miopen.Scalars, b *translate.Buffers) {
		b.X, b.W, b.Y = b.X&^15, b.W&^15, b.Y&^15
	}),
	"overlap of x and w declined":       overlapOfInputs,
	"deterministic not looked at":       onProblem(func(c *miopen.Convolution) { c.Deterministic = 0 }),
	"alternative half not looked at":    onProblem(func(c *miopen.Convolution) { c.FP16Alternative = miopen.Unread }),
	"alternative half declined for all": alternativeForAll,
	"rounding not looked at":            onProblem(func(c *miopen.Convolution) { c.FP8Rounding = miopen.RoundingStandard }),
	"cast not looked at": onProblem(func(c *miopen.Convolution) {
		c.X.Cast, c.W.Cast, c.Y.Cast = miopen.NoCast, miopen.NoCast, miopen.NoCast
	}),
	"vectors not looked at":                 onProblem(func(c *miopen.Convolution) { c.X.Vectorised, c.W.Vectorised, c.Y.Vectorised = false, false, false }),
	"a filter that does not fit, as MIOpen": tooLargeFilter,
	"int8 results": onProblem(func(c *miopen.Convolution) {
		if c.X.Type == miopen.Int8 && c.Y.Type == miopen.Int8 {
			c.Y.Type = miopen.Int32
		}
	}),
	"long int8 sums": onProblem(func(c *miopen.Convolution) {
		if c.X.Type == miopen.Int8 && c.Y.Type == miopen.Float && c.W.Rank > 1 && c.W.Dims[1] == 1025 {
			*c = longSum(miopen.Float, 1024)
		}
	}),
}

func clear1(v []int64) {
	for i := range v {
		v[i] = 1
	}
}

func double(v []int64) {
	for i := range v {
		v[i] *= 2
	}
}

func onTypes(from, to graph.DataType) translator {
	return onGraph(func(g *graph.Graph, _ *translate.Binding) {
		for i := range g.Tensors {
			if g.Tensors[i].Type == from {
				g.Tensors[i].Type = to
			}
		}
	})
}

// nullOr replaces addresses, but not null pointers; notNull replaces only these.
func nullOr(b, by translate.Buffers) translate.Buffers {
	return translate.Buffers{X: pick(b.X != 0, by.X, 0), W: pick(b.W != 0, by.W, 0), Y: pick(b.Y != 0, by.Y, 0)}
}

func notNull(b, by translate.Buffers) translate.Buffers {
	return translate.Buffers{X: pick(b.X == 0, by.X, b.X), W: pick(b.W == 0, by.W, b.W), Y: pick(b.Y == 0, by.Y, b.Y)}
}

func pick(first bool, a, b uintptr) uintptr {
	if first {
		return a
	}
	return b
}

func equalOnly(_ *miopen.Scalars, b *translate.Buffers) {
	if b.Y != b.X && b.Y != b.W {
		*b = nullOr(*b, apart)
	}
}

func overlapOfInputs(c *miopen.Convolution, s miopen.Scalars, b translate.Buffers) (graph.Graph, translate.Binding, error) {
	if b.X == b.W && b.X != 0 {
		return graph.Graph{}, translate.Binding{}, &translate.Decline{Reason: translate.BuffersOverlap}
	}
	return translate.Forward(c, s, b)
}

func packedReach(g *graph.Graph, b *translate.Binding) {
	for i := range g.Tensors {
		n := uintptr(g.Tensors[i].Type.Bits() / 8)
		for _, d := range g.Tensors[i].Dims {
			n *= uintptr(d)
		}
		b.Bytes[i] = n
	}
}

func elementReach(g *graph.Graph, b *translate.Binding) {
	for i := range g.Tensors {
		b.Bytes[i] /= uintptr(g.Tensors[i].Type.Bits() / 8)
	}
}

func alternativeForAll(c *miopen.Convolution, s miopen.Scalars, b translate.Buffers) (graph.Graph, translate.Binding, error) {
	if c.FP16Alternative == 1 {
		return graph.Graph{}, translate.Binding{}, &translate.Decline{Reason: translate.FP16Alternative}
	}
	return translate.Forward(c, s, b)
}

func tooLargeFilter(c *miopen.Convolution, s miopen.Scalars, b translate.Buffers) (graph.Graph, translate.Binding, error) {
	g, binding, err := translate.Forward(c, s, b)
	if len(c.Dilations) > 0 && c.Dilations[0] == 50 {
		return g, binding, nil
	}
	return g, binding, err
}

func TestTheSuiteHolds(t *testing.T) {
	require.NoError(t, suite(translate.Forward), "the control: the translation is no mutant")
}

func TestMutants(t *testing.T) {
	require.GreaterOrEqual(t, len(wrongResults)+len(wrongDecisions), 15)
	for name, mutant := range wrongResults {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := numeric(mutant, 2, 1)
			require.Error(t, err, "the mutant survives")
			t.Logf("caught: %.300v", err)
		})
	}
	for name, mutant := range wrongDecisions {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := suite(mutant)
			require.Error(t, err, "the mutant survives")
			t.Logf("caught: %.300v", err)
		})
	}
}
