package translate_test

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/hipdnnbridge/graph"
	"example.com/miopen_hipdnn_shim/hipdnnbridge/miopen"
	"example.com/miopen_hipdnn_shim/hipdnnbridge/translate"
	"example.com/miopen_hipdnn_shim/tests/oracle"
)

// provider is translate.ToMIOpen, or a mutant of it.
type provider func(*graph.Graph) (translate.Operation, error)

// operationKinds make an operation from the problem of a forward convolution.
var operationKinds = map[string]func(rng *rand.Rand, c miopen.Convolution) translate.Operation{
	"forward": func(_ *rand.Rand, c miopen.Convolution) translate.Operation {
		return &translate.ConvolutionForward{Problem: c, X: 7, W: 3, Y: 5}
	},
	"backward data": func(_ *rand.Rand, c miopen.Convolution) translate.Operation {
		return &translate.ConvolutionBackwardData{Problem: c, DY: 7, W: 3, DX: 5}
	},
	"backward weights": func(_ *rand.Rand, c miopen.Convolution) translate.Operation {
		return &translate.ConvolutionBackwardWeights{Problem: c, X: 7, DY: 3, DW: 5}
	},
	"bias": func(_ *rand.Rand, c miopen.Convolution) translate.Operation {
		return &translate.ConvolutionBiasActivation{Problem: c, X: 7, W: 1, Y: 5, Bias: biasFor(&c)}
	},
	"activation": func(rng *rand.Rand, c miopen.Convolution) translate.Operation {
		return &translate.ConvolutionBiasActivation{Problem: c, X: 7, W: 2, Y: 5, Activation: anActivation(rng)}
	},
	"bias and activation": func(rng *rand.Rand, c miopen.Convolution) translate.Operation {
		return &translate.ConvolutionBiasActivation{Problem: c, X: 7, W: 2, Y: 1, Bias: biasFor(&c), Activation: anActivation(rng)}
	},
}

func biasFor(c *miopen.Convolution) *translate.Bias {
	dims := make([]int64, c.Y.Rank)
	for i := range dims {
		dims[i] = 1
	}
	dims[1] = c.Y.Dims[1]
	return &translate.Bias{UID: 4, Tensor: tensorOf(c.X.Type, miopen.ChannelsLastStrides, dims...)}
}

var someActivations = []miopen.Activation{
	{Mode: miopen.ActivationReLU},
	{Mode: miopen.ActivationClippedReLU, Alpha: 6},
	{Mode: miopen.ActivationLeakyReLU, Alpha: 0.5},
	{Mode: miopen.ActivationLeakyReLU, Alpha: -2},
	{Mode: miopen.ActivationClamp, Alpha: -3, Beta: 4},
	{Mode: miopen.ActivationClamp, Alpha: 1, Beta: 2},
	{Mode: miopen.ActivationClamp, Alpha: -1, Beta: math.Inf(1)},
}

func anActivation(rng *rand.Rand) *miopen.Activation {
	a := someActivations[rng.IntN(len(someActivations))]
	return &a
}

// operations calls f with an operation of every kind, type, rank, layout and grouping that is run.
func operations(seed uint64, f func(name string, op translate.Operation, rng *rand.Rand) error) error {
	rng := rand.New(rand.NewPCG(seed, 0))
	for _, k := range kinds(3) {
		if k.mode != miopen.ModeConvolution || k.x != k.y || !slices.Contains([]miopen.DataType{miopen.Half, miopen.Float, miopen.BFloat16}, k.x) {
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(operationKinds)) {
			c := k.random(rng)
			if !slices.Contains([]string{"forward", "backward data", "backward weights"}, name) {
				pack(&c, k.layout)
			}
			op := operationKinds[name](rng, c)
			if err := f(fmt.Sprintf("%s of %v", name, k), op, rng); err != nil {
				return fmt.Errorf("%s of %v: %w", name, k, err)
			}
		}
	}
	return nil
}

// pack gives the tensors of a problem one of the layouts that are fused. x looks like another one
// where it has a single channel or element, so it has not.
func pack(c *miopen.Convolution, layout string) {
	strides := miopen.PackedStrides
	if layout == "channels-last" && c.X.Dims[1] > 1 && c.X.Dims[c.X.Rank-1] > 1 {
		strides = miopen.ChannelsLastStrides
	}
	for _, t := range []*miopen.Tensor{&c.X, &c.W, &c.Y} {
		t.Strides = strides(t.Dims)
	}
}

// identityOf says how an operation differs from what its graph leads back to.
func identityOf(p provider, op translate.Operation) error {
	g, err := translate.ToGraph(op)
	if err != nil {
		return err
	}
	if err := g.Validate(); err != nil {
		return err
	}
	back, err := p(&g)
	if err != nil {
		return err
	}
	if !reflect.DeepEqual(op, back) {
		return fmt.Errorf("%+v became %+v", op, back)
	}
	again, err := translate.ToGraph(back)
	if err != nil {
		return err
	}
	if !reflect.DeepEqual(g, again) {
		return fmt.Errorf("%+v became %+v", g, again)
	}
	return nil
}

func TestOperationsLeadBack(t *testing.T) {
	n := 0
	require.NoError(t, operations(11, func(_ string, op translate.Operation, _ *rand.Rand) error {
		n++
		return identityOf(translate.ToMIOpen, op)
	}))
	require.Greater(t, n, 600)
}

// execute is MIOpen's operation by the words of its API: the terms of a convolution, added up by
// whichever tensor is computed.
func execute(op translate.Operation, buffers map[graph.UID][]byte) (err error) {
	defer func() { // a buffer that is too short for what the problem says
		if r := recover(); r != nil {
			err = fmt.Errorf("executor: %v", r)
		}
	}()
	var c miopen.Convolution
	var names [3]graph.UID // x, w, y
	computed := 2
	var bias *translate.Bias
	var activation *miopen.Activation
	switch op := op.(type) {
	case *translate.ConvolutionForward:
		c, names = op.Problem, [3]graph.UID{op.X, op.W, op.Y}
	case *translate.ConvolutionBackwardData:
		c, names, computed = op.Problem, [3]graph.UID{op.DX, op.W, op.DY}, 0
	case *translate.ConvolutionBackwardWeights:
		c, names, computed = op.Problem, [3]graph.UID{op.X, op.DW, op.DY}, 1
	case *translate.ConvolutionBiasActivation:
		c, names, bias, activation = op.Problem, [3]graph.UID{op.X, op.W, op.Y}, op.Bias, op.Activation
	}
	if c.Mode != miopen.ModeConvolution {
		return fmt.Errorf("executor: mode %v", c.Mode)
	}
	c = translate.Padded(&c)
	if c.Spatial < 2 || c.X.Rank != c.Spatial+2 || len(c.X.Dims) != c.X.Rank {
		return fmt.Errorf("executor: %d spatial dimensions, x %v", c.Spatial, c.X.Dims)
	}
	tensors := [3]*miopen.Tensor{&c.X, &c.W, &c.Y}
	typ := oracleMIOpenTypes[c.X.Type]
	get := func(i int, offset int64) float64 { return typ.Get(buffers[names[i]][offset*int64(typ.Size()):]) }
	offset := func(i int, at []int64) (sum int64) {
		for d := range at {
			if at[d] >= tensors[i].Dims[d] {
				panic("an index beyond the tensor")
			}
			sum += at[d] * tensors[i].Strides[d]
		}
		return sum
	}
	sums := map[int64]float64{}
	perGroup := c.W.Dims[0] / int64(c.Groups)
	each(c.Y.Dims, func(yi []int64) {
		each(c.W.Dims[1:], func(tap []int64) {
			xi := []int64{yi[0], yi[1]/perGroup*c.W.Dims[1] + tap[0]}
			for i := range c.Spatial {
				at := yi[2+i]*c.Strides[i] + tap[1+i]*c.Dilations[i] - c.Pads[i]
				if at < 0 || at >= c.X.Dims[2+i] {
					return
				}
				xi = append(xi, at)
			}
			at := [3]int64{offset(0, xi), offset(1, append([]int64{yi[1]}, tap...)), offset(2, yi)}
			product := 1.0
			for i := range at {
				if i != computed {
					product *= get(i, at[i])
				}
			}
			sums[at[computed]] += product
		})
	})
	out := buffers[names[computed]]
	each(tensors[computed].Dims, func(at []int64) {
		o := offset(computed, at)
		v := sums[o]
		if bias != nil {
			v += typ.Get(buffers[bias.UID][at[1]*bias.Tensor.Strides[1]*int64(typ.Size()):])
		}
		if activation != nil {
			v = activated(activation, v)
		}
		typ.Put(out[o*int64(typ.Size()):], v+0) // a zero has no sign here
	})
	return nil
}

// activated is the formula of the comment in miopen.h.
func activated(a *miopen.Activation, v float64) float64 {
	switch a.Mode {
	case miopen.ActivationReLU:
		return max(0, v)
	case miopen.ActivationClippedReLU:
		return max(0, min(a.Alpha, v))
	case miopen.ActivationLeakyReLU:
		if v <= 0 {
			return a.Alpha * v
		}
		return v
	case miopen.ActivationClamp:
		return max(a.Alpha, min(a.Beta, v))
	}
	panic("an activation of another kind")
}

// same says how what a graph computes differs from what the operation does that it became.
func same(p provider, g *graph.Graph, rng *rand.Rand) error {
	op, err := p(g)
	if err != nil {
		return err
	}
	want, got := map[graph.UID][]byte{}, map[graph.UID][]byte{}
	for i := range g.Tensors {
		if t := &g.Tensors[i]; !t.Virtual {
			want[t.UID] = fill(rng, oracle.Tensor{Type: oracleTypes[t.Type], Lengths: ints(t.Dims), Strides: ints(t.Strides)})
			got[t.UID] = bytes.Clone(want[t.UID])
		}
	}
	if err := run(g, want); err != nil {
		return err
	}
	if err := execute(op, got); err != nil {
		return err
	}
	for uid := range want {
		if !bytes.Equal(want[uid], got[uid]) {
			return fmt.Errorf("tensor %d differs", uid)
		}
	}
	return nil
}

// otherOperand exchanges the operands of sums: either may be the bias.
func otherOperand(g graph.Graph) graph.Graph {
	for i, n := range g.Nodes {
		if p, ok := n.(*graph.Pointwise); ok && len(p.In) == 2 {
			other := *p
			other.In = []graph.UID{p.In[1], p.In[0]}
			g.Nodes = slices.Clone(g.Nodes)
			g.Nodes[i] = &other
		}
	}
	return g
}

// operationNumeric compares graphs and their operations.
func operationNumeric(p provider) error {
	return operations(12, func(_ string, op translate.Operation, rng *rand.Rand) error {
		g, err := translate.ToGraph(op)
		if err != nil {
			return err
		}
		if err := same(p, &g, rng); err != nil {
			return err
		}
		g = otherOperand(g)
		return same(p, &g, rng)
	})
}

func TestOperationsComputeTheirGraphs(t *testing.T) {
	require.NoError(t, operationNumeric(translate.ToMIOpen))
}

// fusedSample is a graph of three operations, from sample's problem.
func fusedSample() graph.Graph {
	c := sample()
	pack(&c, "channels-last")
	g, err := translate.ToGraph(&translate.ConvolutionBiasActivation{
		Problem: c, X: 1, W: 2, Y: 3, Bias: biasFor(&c), Activation: &miopen.Activation{Mode: miopen.ActivationReLU},
	})
	if err != nil {
		panic(err)
	}
	return g
}

// alone is the graph of one operation, from sample's problem.
func alone(kind string) graph.Graph {
	g, err := translate.ToGraph(operationKinds[kind](nil, sample()))
	if err != nil {
		panic(err)
	}
	return g
}

func windowOf(g *graph.Graph) *graph.Geometry {
	switch n := g.Nodes[0].(type) {
	case *graph.ConvolutionForward:
		return &n.Geometry
	case *graph.ConvolutionBackwardData:
		return &n.Geometry
	case *graph.ConvolutionBackwardWeights:
		return &n.Geometry
	}
	return nil
}

func number(v float64) *float32 {
	f := float32(v)
	return &f
}

type spoiledGraph struct {
	reason translate.Reason
	graph  func() graph.Graph
	spoil  func(g *graph.Graph)
}

func pointwise(g *graph.Graph, i int) *graph.Pointwise { return g.Nodes[i].(*graph.Pointwise) }

// operationDeclines are graphs that have no exact operation.
var operationDeclines = map[string]spoiledGraph{
	"flipped": {translate.Flipped, fusedSample, func(g *graph.Graph) { windowOf(g).Mode = graph.Convolution }},
	"flipped backward data": {translate.Flipped, func() graph.Graph { return alone("backward data") },
		func(g *graph.Graph) { windowOf(g).Mode = graph.Convolution }},
	"flipped backward weights": {translate.Flipped, func() graph.Graph { return alone("backward weights") },
		func(g *graph.Graph) { windowOf(g).Mode = graph.Convolution }},
	"pads that differ": {translate.PaddingAsymmetric, func() graph.Graph { return alone("backward data") },
		func(g *graph.Graph) { windowOf(g).PostPads[0]-- }},
	"sums in half":        {translate.ComputeType, func() graph.Graph { return alone("backward weights") }, func(g *graph.Graph) { windowOf(g).Compute = graph.Half }},
	"sums in double":      {translate.ComputeType, fusedSample, func(g *graph.Graph) { windowOf(g).Compute = graph.Double }},
	"bias added in half":  {translate.ComputeType, fusedSample, func(g *graph.Graph) { pointwise(g, 1).Compute = graph.Half }},
	"rectified in double": {translate.ComputeType, fusedSample, func(g *graph.Graph) { pointwise(g, 2).Compute = graph.Double }},
	"double":              {translate.TypeCombination, func() graph.Graph { return alone("forward") }, func(g *graph.Graph) { types(g, graph.Double); windowOf(g).Compute = graph.Double }},
	"8-bit":               {translate.TypeCombination, func() graph.Graph { return alone("forward") }, func(g *graph.Graph) { types(g, graph.FP8E4M3FNUZ) }},
	"integers": {translate.TypeCombination, func() graph.Graph { return alone("forward") }, func(g *graph.Graph) {
		types(g, graph.Int8)
		g.Tensors[2].Type = graph.Int32
		windowOf(g).Compute = graph.Int32
	}},
	"mixed types":          {translate.TypeCombination, func() graph.Graph { return alone("backward data") }, func(g *graph.Graph) { g.Tensors[1].Type = graph.Half }},
	"half to float, fused": {translate.TypeCombination, fusedSample, func(g *graph.Graph) { g.Tensors[0].Type, g.Tensors[1].Type = graph.Half, graph.Half }},
	"bias of another type": {translate.TypeCombination, fusedSample, func(g *graph.Graph) { g.Tensors[3].Type = graph.Half }},
	"a type without a name in MIOpen": {translate.TypeUnknown, func() graph.Graph { return alone("forward") },
		func(g *graph.Graph) { types(g, graph.FP8E4M3) }},
	"a bias of such a type": {translate.TypeUnknown, fusedSample, func(g *graph.Graph) { g.Tensors[3].Type = graph.FP8E4M3 }},
	"four dimensions": {translate.TooManyDims, func() graph.Graph {
		c := spatialRank(4)
		g, err := translate.ToGraph(&translate.ConvolutionForward{Problem: c, X: 1, W: 2, Y: 3})
		if err != nil {
			panic(err)
		}
		return g
	}, func(*graph.Graph) {}},
	"not well formed":       {translate.GraphInvalid, fusedSample, func(g *graph.Graph) { g.Tensors[0].UID = 2 }},
	"overlapping elements":  {translate.StrideNotPlain, func() graph.Graph { return alone("backward weights") }, func(g *graph.Graph) { g.Tensors[0].Strides[3] = 7 }},
	"virtual result":        {translate.TensorVirtual, func() graph.Graph { return alone("forward") }, func(g *graph.Graph) { g.Tensors[2].Virtual = true }},
	"virtual fused result":  {translate.TensorVirtual, fusedSample, func(g *graph.Graph) { g.Tensors[2].Virtual = true }},
	"result wanted between": {translate.IntermediateStored, fusedSample, func(g *graph.Graph) { g.Tensors[4].Virtual = false }},
	"sum wanted between":    {translate.IntermediateStored, fusedSample, func(g *graph.Graph) { g.Tensors[5].Virtual = false }},
	"result rounded":        {translate.IntermediateType, fusedSample, func(g *graph.Graph) { g.Tensors[4].Type = graph.Half }},
	"sum rounded":           {translate.IntermediateType, fusedSample, func(g *graph.Graph) { g.Tensors[5].Type = graph.BFloat16 }},
	"results kept in double": {translate.IntermediateType, fusedSample, func(g *graph.Graph) {
		g.Tensors[4].Type, g.Tensors[5].Type = graph.Double, graph.Double
	}},
	"a bias per element": {translate.BiasShape, fusedSample, func(g *graph.Graph) {
		g.Tensors[3].Dims, g.Tensors[3].Strides = slices.Clone(g.Tensors[2].Dims), slices.Clone(g.Tensors[2].Strides)
	}},
	"one bias for all": {translate.BiasShape, fusedSample, func(g *graph.Graph) { g.Tensors[3].Dims[1] = 1 }},
	"a bias per column": {translate.BiasShape, fusedSample, func(g *graph.Graph) {
		g.Tensors[3].Dims = []int64{1, 1, 1, g.Tensors[2].Dims[3]}
	}},
	"a bias with gaps": {translate.StrideNotPlain, fusedSample, func(g *graph.Graph) { g.Tensors[3].Strides[1] = 2 }},
	"a result that spreads": {translate.OutputMismatch, fusedSample, func(g *graph.Graph) {
		for _, i := range []int{2, 5} {
			g.Tensors[i].Dims[0] *= 3
			g.Tensors[4].Dims[0] = 1
		}
		g.Tensors[0].Dims[0], g.Tensors[2].Dims[0], g.Tensors[5].Dims[0] = 1, 3, 3
	}},
	"y in another layout": {translate.FusedLayout, fusedSample, func(g *graph.Graph) { g.Tensors[2].Strides = miopen.PackedStrides(g.Tensors[2].Dims) }},
	"w in another layout": {translate.FusedLayout, fusedSample, func(g *graph.Graph) { g.Tensors[1].Strides = miopen.PackedStrides(g.Tensors[1].Dims) }},
	"x with gaps":         {translate.FusedLayout, fusedSample, func(g *graph.Graph) { g.Tensors[0].Strides[0]++ }},
	"a third layout": {translate.FusedLayout, fusedSample, func(g *graph.Graph) {
		for i := range g.Tensors[:3] { // channels outermost
			d := g.Tensors[i].Dims
			g.Tensors[i].Strides = []int64{d[2] * d[3], d[0] * d[2] * d[3], d[3], 1}
		}
	}},
	"bounds that cross":        {translate.ActivationClip, fusedSample, func(g *graph.Graph) { pointwise(g, 2).Clip = graph.Clip{Lower: number(2), Upper: number(1)} }},
	"upper bound below 0":      {translate.ActivationClip, fusedSample, func(g *graph.Graph) { pointwise(g, 2).Clip = graph.Clip{Upper: number(-1)} }},
	"slope and a lower bound":  {translate.ActivationClip, fusedSample, func(g *graph.Graph) { pointwise(g, 2).Clip = graph.Clip{Lower: number(1), Slope: number(0.5)} }},
	"slope and an upper bound": {translate.ActivationClip, fusedSample, func(g *graph.Graph) { pointwise(g, 2).Clip = graph.Clip{Upper: number(6), Slope: number(0.5)} }},
	"a bound that is no number": {translate.ActivationClip, fusedSample, func(g *graph.Graph) {
		pointwise(g, 2).Clip = graph.Clip{Upper: number(math.NaN())}
	}},
	"no lower bound": {translate.ActivationClip, fusedSample, func(g *graph.Graph) {
		pointwise(g, 2).Clip = graph.Clip{Lower: number(math.Inf(-1))}
	}},
	"a sum with itself": {translate.OperationUnsupported, fusedSample, func(g *graph.Graph) {
		id := pointwise(g, 1).In[0]
		pointwise(g, 1).In = []graph.UID{id, id}
		g.Tensors = slices.Delete(g.Tensors, 3, 4)
	}},
	"another function": {translate.OperationUnsupported, fusedSample, func(g *graph.Graph) { pointwise(g, 2).Mode = graph.PointwiseIdentity }},
	"two sums": {translate.OperationUnsupported, fusedSample, func(g *graph.Graph) {
		g.Nodes[2] = &graph.Pointwise{Mode: graph.PointwiseAdd, In: []graph.UID{pointwise(g, 1).Out, 4}, Out: 3, Compute: graph.Float}
	}},
	"rectified before the sum": {translate.OperationUnsupported, fusedSample, func(g *graph.Graph) {
		add, relu := pointwise(g, 1), pointwise(g, 2)
		g.Nodes[1] = &graph.Pointwise{Mode: graph.PointwiseReLU, In: []graph.UID{add.In[0]}, Out: add.Out, Compute: graph.Float}
		g.Nodes[2] = &graph.Pointwise{Mode: graph.PointwiseAdd, In: []graph.UID{relu.In[0], add.In[1]}, Out: relu.Out, Compute: graph.Float}
	}},
	"a gradient before a rectifier": {translate.OperationUnsupported, func() graph.Graph { return alone("backward data") }, func(g *graph.Graph) {
		out := g.Tensors[0]
		out.UID, out.Virtual = 50, false
		g.Tensors[0].Virtual = true
		g.Tensors = append(g.Tensors, out)
		g.Nodes = append(g.Nodes, &graph.Pointwise{Mode: graph.PointwiseReLU, In: []graph.UID{g.Tensors[0].UID}, Out: 50, Compute: graph.Float})
	}},
	"a rectifier alone": {translate.OperationUnsupported, func() graph.Graph { return alone("forward") }, func(g *graph.Graph) {
		x := g.Tensors[0]
		g.Tensors = []graph.Tensor{x, x}
		g.Tensors[1].UID = 50
		g.Nodes = []graph.Node{&graph.Pointwise{Mode: graph.PointwiseReLU, In: []graph.UID{x.UID}, Out: 50, Compute: graph.Float}}
	}},
}

func types(g *graph.Graph, t graph.DataType) {
	for i := range g.Tensors {
		g.Tensors[i].Type = t
	}
}

// copyGraph is a graph that can be changed.
func copyGraph(g *graph.Graph) *graph.Graph {
	out := *g
	out.Tensors = slices.Clone(g.Tensors)
	for i := range out.Tensors {
		t := &out.Tensors[i]
		t.Dims, t.Strides = slices.Clone(t.Dims), slices.Clone(t.Strides)
	}
	out.Nodes = slices.Clone(g.Nodes)
	window := func(c graph.Geometry) graph.Geometry {
		c.PrePads, c.PostPads = slices.Clone(c.PrePads), slices.Clone(c.PostPads)
		return c
	}
	for i, n := range out.Nodes {
		switch n := n.(type) {
		case *graph.ConvolutionForward:
			c := *n
			c.Geometry, out.Nodes[i] = window(n.Geometry), &c
		case *graph.ConvolutionBackwardData:
			c := *n
			c.Geometry, out.Nodes[i] = window(n.Geometry), &c
		case *graph.ConvolutionBackwardWeights:
			c := *n
			c.Geometry, out.Nodes[i] = window(n.Geometry), &c
		case *graph.Pointwise:
			c := *n
			out.Nodes[i] = &c
		}
	}
	return &out
}

func declinedGraph(p provider, name string, c spoiledGraph) error {
	g := c.graph()
	if name != "four dimensions" {
		if _, err := p(copyGraph(&g)); err != nil {
			return fmt.Errorf("%s: the control is declined: %w", name, err)
		}
	}
	c.spoil(&g)
	_, err := p(&g)
	d, ok := err.(*translate.Decline)
	switch {
	case !ok:
		return fmt.Errorf("%s: %v, not a decline", name, err)
	case d.Reason != c.reason:
		return fmt.Errorf("%s: %w, not %v", name, d, c.reason)
	}
	return nil
}

// operationSuite is every check of this file that looks at a translation from outside.
func operationSuite(p provider) error {
	for _, name := range slices.Sorted(maps.Keys(operationDeclines)) {
		if err := declinedGraph(p, name, operationDeclines[name]); err != nil {
			return err
		}
	}
	for _, row := range clips {
		g := fusedSample()
		pointwise(&g, 2).Clip = row.clip
		op, err := p(&g)
		if err != nil {
			return err
		}
		if got := op.(*translate.ConvolutionBiasActivation).Activation; got == nil || *got != row.activation {
			return fmt.Errorf("%+v became %+v, not %+v", row.clip, got, row.activation)
		}
	}
	if err := operations(13, func(_ string, op translate.Operation, _ *rand.Rand) error { return identityOf(p, op) }); err != nil {
		return err
	}
	return operationNumeric(p)
}

// clips are rectifiers and what they are in MIOpen.
var clips = []struct {
	clip       graph.Clip
	activation miopen.Activation
}{
	{graph.Clip{}, miopen.Activation{Mode: miopen.ActivationReLU}},
	{graph.Clip{Lower: number(0), Slope: number(0)}, miopen.Activation{Mode: miopen.ActivationReLU}},
	{graph.Clip{Upper: number(math.Inf(1))}, miopen.Activation{Mode: miopen.ActivationReLU}},
	{graph.Clip{Upper: number(6)}, miopen.Activation{Mode: miopen.ActivationClippedReLU, Alpha: 6}},
	{graph.Clip{Lower: number(0), Upper: number(6)}, miopen.Activation{Mode: miopen.ActivationClippedReLU, Alpha: 6}},
	{graph.Clip{Lower: number(-1), Upper: number(6)}, miopen.Activation{Mode: miopen.ActivationClamp, Alpha: -1, Beta: 6}},
	{graph.Clip{Lower: number(1)}, miopen.Activation{Mode: miopen.ActivationClamp, Alpha: 1, Beta: math.Inf(1)}},
	{graph.Clip{Slope: number(0.25)}, miopen.Activation{Mode: miopen.ActivationLeakyReLU, Alpha: 0.25}},
	{graph.Clip{Lower: number(0), Slope: number(-1)}, miopen.Activation{Mode: miopen.ActivationLeakyReLU, Alpha: -1}},
}

func TestOperationSuiteHolds(t *testing.T) {
	require.NoError(t, operationSuite(translate.ToMIOpen), "the control: the translation is no mutant")
}

// onOperation makes the mistake on the way out; on the way in it is made by onSource.
func onOperation(mutate func(op translate.Operation)) provider {
	return func(g *graph.Graph) (translate.Operation, error) {
		op, err := translate.ToMIOpen(g)
		if err == nil {
			mutate(op)
		}
		return op, err
	}
}

func onSource(mutate func(g *graph.Graph)) provider {
	return func(g *graph.Graph) (translate.Operation, error) {
		c := copyGraph(g)
		mutate(c)
		return translate.ToMIOpen(c)
	}
}

func onOperationProblem(mutate func(c *miopen.Convolution)) provider {
	return onOperation(func(op translate.Operation) {
		switch op := op.(type) {
		case *translate.ConvolutionForward:
			mutate(&op.Problem)
		case *translate.ConvolutionBackwardData:
			mutate(&op.Problem)
		case *translate.ConvolutionBackwardWeights:
			mutate(&op.Problem)
		case *translate.ConvolutionBiasActivation:
			mutate(&op.Problem)
		}
	})
}

func onFused(mutate func(op *translate.ConvolutionBiasActivation)) provider {
	return onOperation(func(op translate.Operation) {
		if f, ok := op.(*translate.ConvolutionBiasActivation); ok {
			mutate(f)
		}
	})
}

func onWindow(mutate func(c *graph.Geometry)) provider {
	return onSource(func(g *graph.Graph) {
		if c := windowOf(g); c != nil {
			mutate(c)
		}
	})
}

func onPointwise(mutate func(n *graph.Pointwise)) provider {
	return onSource(func(g *graph.Graph) {
		for _, n := range g.Nodes {
			if p, ok := n.(*graph.Pointwise); ok {
				mutate(p)
			}
		}
	})
}

// wrongOperations compute something else: running them is enough to tell.
var wrongOperations = map[string]provider{
	"stride and dilation exchanged":  onOperationProblem(func(c *miopen.Convolution) { c.Strides, c.Dilations = c.Dilations, c.Strides }),
	"pads dropped":                   onOperationProblem(func(c *miopen.Convolution) { c.Pads = make([]int64, len(c.Pads)) }),
	"pads exchanged between dims":    onOperationProblem(func(c *miopen.Convolution) { slices.Reverse(c.Pads) }),
	"strides exchanged between dims": onOperationProblem(func(c *miopen.Convolution) { slices.Reverse(c.Strides) }),
	"groups dropped":                 onOperationProblem(func(c *miopen.Convolution) { c.Groups = 1 }),
	"x packed":                       onOperationProblem(func(c *miopen.Convolution) { c.X.Strides = miopen.PackedStrides(c.X.Dims) }),
	"w packed":                       onOperationProblem(func(c *miopen.Convolution) { c.W.Strides = miopen.PackedStrides(c.W.Dims) }),
	"y packed":                       onOperationProblem(func(c *miopen.Convolution) { c.Y.Strides = miopen.PackedStrides(c.Y.Dims) }),
	"half for bfloat16": onOperationProblem(func(c *miopen.Convolution) {
		if c.X.Type == miopen.BFloat16 {
			c.X.Type = miopen.Half
		}
	}),
	"transposed for backward data": onOperation(func(op translate.Operation) {
		if b, ok := op.(*translate.ConvolutionBackwardData); ok {
			b.Problem.X, b.Problem.Y = b.Problem.Y, b.Problem.X
			b.DX, b.DY = b.DY, b.DX
		}
	}),
	"dx and dy exchanged": onOperation(func(op translate.Operation) {
		if b, ok := op.(*translate.ConvolutionBackwardData); ok {
			b.DX, b.DY = b.DY, b.DX
		}
	}),
	"x and dw exchanged": onOperation(func(op translate.Operation) {
		if b, ok := op.(*translate.ConvolutionBackwardWeights); ok {
			b.X, b.DW = b.DW, b.X
		}
	}),
	"x and dy exchanged": onOperation(func(op translate.Operation) {
		if b, ok := op.(*translate.ConvolutionBackwardWeights); ok {
			b.X, b.DY = b.DY, b.X
		}
	}),
	"x and w exchanged": onOperation(func(op translate.Operation) {
		if f, ok := op.(*translate.ConvolutionForward); ok {
			f.X, f.W = f.W, f.X
		}
	}),
	"backward weights as backward data": func(g *graph.Graph) (translate.Operation, error) {
		op, err := translate.ToMIOpen(g)
		if b, ok := op.(*translate.ConvolutionBackwardWeights); ok {
			return &translate.ConvolutionBackwardData{Problem: b.Problem, DY: b.DY, W: b.DW, DX: b.X}, nil
		}
		return op, err
	},
	"bias dropped":         onFused(func(op *translate.ConvolutionBiasActivation) { op.Bias = nil }),
	"activation dropped":   onFused(func(op *translate.ConvolutionBiasActivation) { op.Activation = nil }),
	"always plain relu":    onActivation(func(a *miopen.Activation) { *a = miopen.Activation{Mode: miopen.ActivationReLU} }),
	"bounds exchanged":     onActivation(func(a *miopen.Activation) { a.Alpha, a.Beta = a.Beta, a.Alpha }),
	"clipped as clamp":     onActivation(func(a *miopen.Activation) { a.Mode = miopen.ActivationClamp }),
	"slope as upper bound": onActivation(func(a *miopen.Activation) { a.Mode = miopen.ActivationClippedReLU }),
	"bias of the wrong operand": onFused(func(op *translate.ConvolutionBiasActivation) {
		if op.Bias != nil {
			op.Bias.UID = op.X
		}
	}),
	"result before the activation": func(g *graph.Graph) (translate.Operation, error) {
		op, err := translate.ToMIOpen(g)
		if f, ok := op.(*translate.ConvolutionBiasActivation); ok && f.Bias != nil && f.Activation != nil {
			f.Activation = nil
		}
		return op, err
	},
}

func onActivation(mutate func(a *miopen.Activation)) provider {
	return onFused(func(op *translate.ConvolutionBiasActivation) {
		if op.Activation != nil {
			a := *op.Activation
			mutate(&a)
			op.Activation = &a
		}
	})
}

// wrongAcceptance run what is to be declined, or say it in other words.
var wrongAcceptance = map[string]provider{
	"flip not looked at":         onWindow(func(c *graph.Geometry) { c.Mode = graph.CrossCorrelation }),
	"pads before for both":       onWindow(func(c *graph.Geometry) { c.PostPads = c.PrePads }),
	"type of sums not looked at": onWindow(func(c *graph.Geometry) { c.Compute = graph.Float }),
	"type of pointwise sums not looked at": onPointwise(func(n *graph.Pointwise) {
		n.Compute = graph.Float
	}),
	"intermediate types not looked at": onSource(func(g *graph.Graph) {
		for i := range g.Tensors {
			if g.Tensors[i].Virtual {
				g.Tensors[i].Type = graph.Float
			}
		}
	}),
	"intermediates never stored": onSource(func(g *graph.Graph) {
		for _, n := range g.Nodes[:len(g.Nodes)-1] {
			if t := g.Tensor(n.Output()); t != nil {
				t.Virtual = true
			}
		}
	}),
	"virtual results are stored": onSource(func(g *graph.Graph) {
		if t := g.Tensor(g.Nodes[len(g.Nodes)-1].Output()); t != nil {
			t.Virtual = false
		}
	}),
	"bias strides not looked at": onSource(func(g *graph.Graph) {
		if t := g.Tensor(4); t != nil && t.Name == "bias" && t.Strides[1] == 2 {
			t.Strides[1] = 1
		}
	}),
	"slope dropped": onPointwise(func(n *graph.Pointwise) { n.Clip.Slope = nil }),
	"upper bound dropped": onPointwise(func(n *graph.Pointwise) {
		n.Clip.Upper = nil
	}),
	"double run as float": onSource(func(g *graph.Graph) {
		for i := range g.Tensors {
			if g.Tensors[i].Type == graph.Double && !g.Tensors[i].Virtual {
				g.Tensors[i].Type = graph.Float
			}
		}
		if c := windowOf(g); c != nil && c.Compute == graph.Double && len(g.Nodes) == 1 {
			c.Compute = graph.Float
		}
	}),
}

func TestOperationMutants(t *testing.T) {
	for name, mutant := range wrongOperations {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := operationNumeric(mutant)
			require.Error(t, err, "the mutant survives")
			t.Logf("caught: %.300v", err)
		})
	}
	for name, mutant := range wrongAcceptance {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := operationSuite(mutant)
			require.Error(t, err, "the mutant survives")
			t.Logf("caught: %.300v", err)
		})
	}
}

// What ToGraph cannot say is declined too.
func TestOperationsWithoutAGraph(t *testing.T) {
	c := sample()
	bad := sample()
	bad.Y.Dims[0] = 9
	transposed := transposed()
	bias := biasFor(&c)
	bias.Tensor.Type = 4
	for _, op := range []translate.Operation{
		nil,
		&translate.ConvolutionForward{Problem: bad, X: 1, W: 2, Y: 3},
		&translate.ConvolutionBackwardData{Problem: transposed, DY: 1, W: 2, DX: 3},
		&translate.ConvolutionBackwardWeights{Problem: bad, X: 1, DY: 2, DW: 3},
		&translate.ConvolutionBiasActivation{Problem: bad, X: 1, W: 2, Y: 3, Bias: biasFor(&c)},
		&translate.ConvolutionBiasActivation{Problem: c, X: 1, W: 2, Y: 3, Bias: bias},
	} {
		_, err := translate.ToGraph(op)
		var d *translate.Decline
		require.ErrorAs(t, err, &d)
	}
}

func TestPadding(t *testing.T) {
	c := spatialRank(1)
	p := translate.Padded(&c)
	require.Equal(t, 2, p.Spatial)
	for _, v := range []struct{ from, to []int64 }{{c.Pads, p.Pads}, {c.Strides, p.Strides}, {c.Dilations, p.Dilations}} {
		require.Len(t, v.to, 2)
		require.Equal(t, v.from[0], v.to[0])
	}
	require.Equal(t, []int64{0, 1, 1}, []int64{p.Pads[1], p.Strides[1], p.Dilations[1]})
	// Both layouts stay what they were.
	for _, layout := range []func([]int64) []int64{miopen.PackedStrides, miopen.ChannelsLastStrides} {
		one := tensorOf(miopen.Half, layout, 2, 3, 5)
		require.Equal(t, tensorOf(miopen.Half, layout, 2, 3, 5, 1), translate.PaddedTensor(&one))
	}
	two := sample()
	require.Equal(t, two, translate.Padded(&two))
}

// What MIOpen would take for another layout than it is, is not fused.
func TestFusable(t *testing.T) {
	problem := func(x, w, y []int64, strides func([]int64) []int64) miopen.Convolution {
		n := len(x) - 2
		return miopen.Convolution{
			X: tensorOf(miopen.Float, strides, x...), W: tensorOf(miopen.Float, strides, w...), Y: tensorOf(miopen.Float, strides, y...),
			Groups: 1, Spatial: n, Pads: make([]int64, n), Strides: slices.Repeat([]int64{1}, n), Dilations: slices.Repeat([]int64{1}, n),
		}
	}
	first, last := miopen.PackedStrides, miopen.ChannelsLastStrides
	for _, c := range []struct {
		problem miopen.Convolution
		want    func([]int64) []int64 // nil: not fusable
	}{
		{problem([]int64{2, 3, 5, 4}, []int64{6, 3, 2, 2}, []int64{2, 6, 4, 3}, first), first},
		{problem([]int64{2, 3, 5, 4}, []int64{6, 3, 2, 2}, []int64{2, 6, 4, 3}, last), last},
		{problem([]int64{2, 3, 5}, []int64{6, 3, 2}, []int64{2, 6, 4}, first), first},
		{problem([]int64{2, 3, 5}, []int64{6, 3, 2}, []int64{2, 6, 4}, last), last},
		{problem([]int64{2, 1, 5, 4}, []int64{6, 1, 2, 2}, []int64{2, 6, 4, 3}, last), last},
		// x's channels cannot be told from its columns.
		{problem([]int64{2, 1, 5, 1}, []int64{6, 1, 2, 1}, []int64{2, 6, 4, 1}, last), nil},
		{problem([]int64{2, 1, 5}, []int64{6, 1, 2}, []int64{2, 6, 4}, last), nil},
		// Nothing but a column: both layouts are one, and the first is taken.
		{problem([]int64{2, 1, 5}, []int64{1, 1, 2}, []int64{2, 1, 4}, last), first},
	} {
		p, ok := translate.Fusable(&c.problem)
		require.Equal(t, c.want != nil, ok, "%+v", c.problem)
		if ok {
			for _, got := range []miopen.Tensor{p.X, p.W, p.Y} {
				require.Len(t, got.Dims, max(4, c.problem.X.Rank))
				require.Equal(t, c.want(got.Dims), got.Strides)
			}
		}
	}
}

// Every reason that only ToMIOpen has is reached; those of the engine are its own tests' business.
func TestEveryReasonOfOperationsIsTested(t *testing.T) {
	seen := map[translate.Reason]bool{}
	for _, c := range operationDeclines {
		seen[c.reason] = true
	}
	for r := translate.OperationUnsupported; r < translate.ShapeOverride; r++ {
		require.True(t, seen[r], "%v", r)
	}
}
