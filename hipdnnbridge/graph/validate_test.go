package graph_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/hipdnnbridge/graph"
)

func tensor(uid graph.UID, dims ...int64) graph.Tensor {
	strides := make([]int64, len(dims))
	next := int64(1)
	for i := len(dims) - 1; i >= 0; i-- {
		strides[i] = next
		next *= dims[i]
	}
	return graph.Tensor{UID: uid, Type: graph.Float, Dims: dims, Strides: strides}
}

func geometry() graph.Geometry {
	return graph.Geometry{
		PrePads: []int64{1, 0}, PostPads: []int64{1, 2}, Strides: []int64{2, 1}, Dilations: []int64{1, 3},
		Mode: graph.CrossCorrelation, Compute: graph.Float,
	}
}

// fused is y = relu(conv(x, w) + b) with two groups.
func fused() *graph.Graph {
	virtual := func(uid graph.UID, dims ...int64) graph.Tensor {
		v := tensor(uid, dims...)
		v.Virtual = true
		return v
	}
	return &graph.Graph{
		Tensors: []graph.Tensor{
			tensor(1, 2, 6, 7, 9), tensor(2, 4, 3, 3, 2), tensor(3, 1, 4, 1, 1),
			virtual(4, 2, 4, 4, 8), virtual(5, 2, 4, 4, 8), tensor(6, 2, 4, 4, 8),
		},
		Nodes: []graph.Node{
			&graph.ConvolutionForward{X: 1, W: 2, Y: 4, Geometry: geometry()},
			&graph.Pointwise{Mode: graph.PointwiseAdd, In: []graph.UID{4, 3}, Out: 5, Compute: graph.Float},
			&graph.Pointwise{Mode: graph.PointwiseReLU, In: []graph.UID{5}, Out: 6, Compute: graph.Float},
		},
	}
}

// single is one of the three convolutions.
func single(n graph.Node) *graph.Graph {
	return &graph.Graph{
		Tensors: []graph.Tensor{tensor(1, 2, 6, 7, 9), tensor(2, 4, 3, 3, 2), tensor(3, 2, 4, 4, 8)},
		Nodes:   []graph.Node{n},
	}
}

func TestValid(t *testing.T) {
	require.NoError(t, fused().Validate())
	for _, n := range []graph.Node{
		&graph.ConvolutionForward{X: 1, W: 2, Y: 3, Geometry: geometry()},
		&graph.ConvolutionBackwardData{DY: 3, W: 2, DX: 1, Geometry: geometry()},
		&graph.ConvolutionBackwardWeights{X: 1, DY: 3, DW: 2, Geometry: geometry()},
	} {
		require.NoError(t, single(n).Validate(), n.Kind())
	}
}

func TestInvalid(t *testing.T) {
	conv := func(g *graph.Graph) *graph.ConvolutionForward { return g.Nodes[0].(*graph.ConvolutionForward) }
	add := func(g *graph.Graph) *graph.Pointwise { return g.Nodes[1].(*graph.Pointwise) }
	for name, c := range map[string]struct {
		spoil   func(g *graph.Graph)
		message string
	}{
		"same uid":                 {func(g *graph.Graph) { g.Tensors[2].UID = 1 }, "two tensors have the uid 1"},
		"no type":                  {func(g *graph.Graph) { g.Tensors[2].Type = graph.Unset }, "tensor 3 has no type"},
		"no dimensions":            {func(g *graph.Graph) { g.Tensors[2].Dims = nil }, "tensor 3 has no dimensions"},
		"a stride too few":         {func(g *graph.Graph) { g.Tensors[2].Strides = g.Tensors[2].Strides[1:] }, "4 dimensions and 3 strides"},
		"a zero dimension":         {func(g *graph.Graph) { g.Tensors[2].Dims[1] = 0 }, "must be positive"},
		"a negative stride":        {func(g *graph.Graph) { g.Tensors[2].Strides[1] = -4 }, "must be positive"},
		"no operations":            {func(g *graph.Graph) { g.Nodes = nil }, "no operations"},
		"an operation of nothing":  {func(g *graph.Graph) { g.Nodes[1] = nil }, "operation 1 is none"},
		"input missing":            {func(g *graph.Graph) { conv(g).X = 9 }, "reads tensor 9, which is not there"},
		"output missing":           {func(g *graph.Graph) { conv(g).Y = 9 }, "writes tensor 9, which is not there"},
		"order":                    {func(g *graph.Graph) { g.Nodes[0], g.Nodes[1] = g.Nodes[1], g.Nodes[0] }, "reads the virtual tensor 4 before it is written"},
		"cycle":                    {func(g *graph.Graph) { add(g).In[1] = 6 }, "writes tensor 6, which was read or written before"},
		"written twice":            {func(g *graph.Graph) { add(g).Out = 4 }, "writes tensor 4, which was read or written before"},
		"unused tensor":            {func(g *graph.Graph) { g.Tensors = append(g.Tensors, tensor(7, 1)) }, "no operation uses tensor 7"},
		"no convolution mode":      {func(g *graph.Graph) { conv(g).Mode = 0 }, "no convolution mode"},
		"unknown convolution mode": {func(g *graph.Graph) { conv(g).Mode = 3 }, "no convolution mode"},
		"no compute type":          {func(g *graph.Graph) { conv(g).Compute = graph.Unset }, "no compute type"},
		"a pad too few":            {func(g *graph.Graph) { conv(g).PostPads = []int64{1} }, "one entry for each spatial dimension"},
		"no spatial dimensions": {func(g *graph.Graph) {
			conv(g).PrePads, conv(g).PostPads, conv(g).Strides, conv(g).Dilations = nil, nil, nil, nil
		}, "one entry for each spatial dimension"},
		"rank":             {func(g *graph.Graph) { g.Tensors[1] = tensor(2, 4, 3, 3) }, "rank 4, 3 and 4"},
		"batch":            {func(g *graph.Graph) { g.Tensors[0] = tensor(1, 3, 6, 7, 9) }, "do not fit"},
		"output channels":  {func(g *graph.Graph) { g.Tensors[1] = tensor(2, 2, 3, 3, 2) }, "do not fit"},
		"no whole groups":  {func(g *graph.Graph) { g.Tensors[0] = tensor(1, 2, 7, 7, 9) }, "do not make groups"},
		"groups of output": {func(g *graph.Graph) { g.Tensors[0] = tensor(1, 2, 9, 7, 9) }, "do not make groups"},
		"negative pad":     {func(g *graph.Graph) { conv(g).PrePads[0] = -1 }, "spatial dimension 0"},
		"zero stride":      {func(g *graph.Graph) { conv(g).Strides[1] = 0 }, "spatial dimension 1"},
		"zero dilation":    {func(g *graph.Graph) { conv(g).Dilations[0] = 0 }, "spatial dimension 0"},
		"huge dilation":    {func(g *graph.Graph) { conv(g).Dilations[0] = math.MaxInt64 }, "spatial dimension 0"},
		"a span that wraps around": {func(g *graph.Graph) {
			// 4*(2^62+1)+1 is 5 in 64 bits.
			conv(g).Dilations[0] = 1<<62 + 1
			g.Tensors[0], g.Tensors[1] = tensor(1, 2, 6, 9, 9), tensor(2, 4, 3, 5, 2)
		}, "spatial dimension 0"},
		"filter too large": {func(g *graph.Graph) { conv(g).Dilations[0] = 100 }, "do not give 4"},
		"output size":      {func(g *graph.Graph) { conv(g).PostPads[1] = 1 }, "do not give 8"},
		"no pointwise":     {func(g *graph.Graph) { add(g).Mode = 3 }, "no pointwise mode"},
		"operands":         {func(g *graph.Graph) { add(g).In = add(g).In[:1] }, "1 inputs, 2 are needed"},
		"pointwise type":   {func(g *graph.Graph) { add(g).Compute = 200 }, "no compute type"},
		"pointwise rank":   {func(g *graph.Graph) { g.Tensors[2] = tensor(3, 4, 1, 1) }, "input of rank 3"},
		"broadcast":        {func(g *graph.Graph) { g.Tensors[2] = tensor(3, 1, 3, 1, 1) }, "does not broadcast"},
	} {
		g := fused()
		c.spoil(g)
		require.ErrorContains(t, g.Validate(), c.message, name)
	}
}

// The shape rules look at what the convolution reads and gives, whichever of the three is computed.
func TestInvalidBackward(t *testing.T) {
	for _, n := range []graph.Node{
		&graph.ConvolutionBackwardData{DY: 1, W: 2, DX: 3, Geometry: geometry()},
		&graph.ConvolutionBackwardWeights{X: 3, DY: 1, DW: 2, Geometry: geometry()},
		&graph.ConvolutionBackwardWeights{X: 1, DY: 2, DW: 3, Geometry: geometry()},
	} {
		require.Error(t, single(n).Validate(), n.Kind())
	}
}

func TestTensorByName(t *testing.T) {
	g := fused()
	require.Same(t, &g.Tensors[4], g.Tensor(5))
	require.Nil(t, g.Tensor(99))
	require.Equal(t, "pointwise ADD", g.Nodes[1].Kind())
}
