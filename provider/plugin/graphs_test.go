package plugin_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/hipdnnbridge/graph"
	"example.com/miopen_hipdnn_shim/provider/wire"
)

func tensor(uid int64, dims ...int64) wire.Tensor {
	strides := make([]int64, len(dims))
	step := int64(1)
	for i := len(dims) - 1; i >= 0; i-- {
		strides[i] = step
		step *= dims[i]
	}
	return wire.Tensor{UID: uid, Type: graph.Float, Dims: dims, Strides: strides, Alignment: 16, RaggedOffsetMultiplier: 1}
}

func window() wire.Window {
	return wire.Window{PrePadding: []int64{1, 1}, PostPadding: []int64{1, 1}, Stride: []int64{1, 1}, Dilation: []int64{1, 1}, Mode: graph.CrossCorrelation}
}

// forward is a graph of one convolution: uids 1, 2 and 3 are the input, the weights and the output.
func forward() *wire.Graph {
	return &wire.Graph{
		Name: "forward", Compute: graph.Float, Intermediate: graph.Float, IO: graph.Float,
		Tensors: []wire.Tensor{tensor(1, 2, 3, 5, 6), tensor(2, 4, 3, 3, 3), tensor(3, 2, 4, 5, 6)},
		Nodes:   []wire.Node{{Name: "conv", Compute: graph.Float, Attributes: &wire.ConvolutionFwd{X: 1, W: 2, Y: 3, Window: window()}}},
	}
}

// activated is a convolution with a bias and an activation.
func activated() *wire.Graph {
	g := forward()
	four, six := int64(4), int64(6)
	y := tensor(3, 2, 4, 5, 6)
	y.Virtual = true
	sum := tensor(5, 2, 4, 5, 6)
	sum.Virtual = true
	g.Tensors = []wire.Tensor{g.Tensors[0], g.Tensors[1], y, tensor(four, 1, 4, 1, 1), sum, tensor(six, 2, 4, 5, 6)}
	g.Nodes = append(g.Nodes,
		wire.Node{Name: "bias", Compute: graph.Float, Attributes: &wire.Pointwise{Mode: graph.PointwiseAdd, In0: 3, In1: &four, Out0: 5}},
		wire.Node{Name: "relu", Compute: graph.Float, Attributes: &wire.Pointwise{Mode: graph.PointwiseReLU, In0: 5, Out0: 6}})
	return g
}

func backwardData() *wire.Graph {
	g := forward()
	g.Nodes[0].Attributes = &wire.ConvolutionBwd{DY: 3, W: 2, DX: 1, Window: window()}
	return g
}

func backwardWeights() *wire.Graph {
	g := forward()
	g.Nodes[0].Attributes = &wire.ConvolutionWrw{X: 1, DY: 3, DW: 2, Window: window()}
	return g
}

// ours are graphs that engines may run.
func ours() []*wire.Graph {
	old := forward()
	old.RequiredVersion = &wire.Version{Major: 1, Minor: 1}
	return []*wire.Graph{forward(), activated(), backwardData(), backwardWeights(), old}
}

// foreign are graphs that are nobody's here.
func foreign() []*wire.Graph {
	with := func(change func(g *wire.Graph)) *wire.Graph {
		g := activated()
		change(g)
		return g
	}
	return []*wire.Graph{
		with(func(g *wire.Graph) { g.Nodes = nil }),
		with(func(g *wire.Graph) { g.Nodes = g.Nodes[1:] }),
		with(func(g *wire.Graph) { g.Nodes[1] = g.Nodes[0] }),
		with(func(g *wire.Graph) { g.Nodes = append(g.Nodes, g.Nodes[2]) }),
		with(func(g *wire.Graph) { g.Nodes[1].Attributes = &wire.Matmul{A: 1, B: 2, C: 3} }),
		with(func(g *wire.Graph) { g.Nodes[2].Attributes = wire.Unread{Type: 12} }),
		with(func(g *wire.Graph) { g.Nodes[0].Attributes = &wire.Batchnorm{X: 1, Y: 3} }),
		with(func(g *wire.Graph) { g.OverrideShapes = true }),
		with(func(g *wire.Graph) { g.RequiredVersion = &wire.Version{Major: 1, Minor: 2} }),
		with(func(g *wire.Graph) { g.RequiredVersion = &wire.Version{Major: 1, Minor: 1, Patch: 1} }),
		with(func(g *wire.Graph) { g.RequiredVersion = &wire.Version{Major: 2} }),
	}
}

// isOurs says of a graph that was read what the filter is to say of its bytes.
func isOurs(g *wire.Graph) bool {
	if g.OverrideShapes || len(g.Nodes) > 3 {
		return false
	}
	if v := g.RequiredVersion; v != nil && (v.Major > 1 || v.Major == 1 && (v.Minor > 1 || v.Minor == 1 && v.Patch > 0)) {
		return false
	}
	convolutions := 0
	for _, n := range g.Nodes {
		switch n.Attributes.(type) {
		case *wire.ConvolutionFwd, *wire.ConvolutionBwd, *wire.ConvolutionWrw:
			convolutions++
		case *wire.Pointwise:
		default:
			return false
		}
	}
	return convolutions == 1
}

// files writes the graphs and a configuration that lines of the host program name.
func files(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	write := func(name string, data []byte) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), data, 0o644))
	}
	write("forward", wire.WriteGraph(forward()))
	write("activated", wire.WriteGraph(activated()))
	write("backward-data", wire.WriteGraph(backwardData()))
	write("backward-weights", wire.WriteGraph(backwardWeights()))
	write("matmul", wire.WriteGraph(foreign()[4]))
	write("malformed", make([]byte, 64))
	write("config", wire.WriteEngineConfig(&wire.EngineConfig{EngineID: graph.EngineID(graph.EngineName)}))
	write("deterministic", wire.WriteEngineConfig(&wire.EngineConfig{EngineID: graph.EngineID(graph.DeterministicEngineName)}))
	return dir
}
