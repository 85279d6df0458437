package engine_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/hipdnnbridge/graph"
	"example.com/miopen_hipdnn_shim/hipdnnbridge/miopen"
	"example.com/miopen_hipdnn_shim/provider/engine"
	"example.com/miopen_hipdnn_shim/provider/engine/enginetest"
	"example.com/miopen_hipdnn_shim/provider/wire"
)

// asked is how often MIOpen was asked for a list of solutions since the last time.
func (f *fake) asked() (n int) {
	for _, call := range f.calls {
		if strings.HasSuffix(call, "GetSolution") || strings.HasSuffix(call, "GetSolutionCount") {
			n++
		}
	}
	f.calls = nil
	return n
}

// MIOpen's list is asked for once for each engine, however often hipDNN asks about a graph before its plan is built.
func TestOneGraphAsksOnce(t *testing.T) {
	f := newFake()
	h := open(t, f)
	b := wire.WriteGraph(sample(enginetest.BackwardData))
	ask := func(g []byte) {
		t.Helper()
		_, err := h.Applicable(g)
		require.NoError(t, err)
		for _, e := range engine.Engines {
			_, err = h.Details(e.ID, g)
			require.NoError(t, err)
			_, err = h.WorkspaceSize(configOf(e.ID), g)
			require.NoError(t, err)
		}
	}
	build := func(id int64, settings ...wire.KnobSetting) (solution int) {
		t.Helper()
		x, err := h.Prepare(configOf(id, settings...), b)
		require.NoError(t, err)
		serialised := x.Serialize()
		require.NoError(t, x.Close())
		x, err = h.Restore(serialised) // asks whether it has the solution now
		require.NoError(t, err)
		require.Equal(t, serialised, x.Serialize())
		require.NoError(t, x.Close())
		return int(serialised[72])
	}
	for range 3 {
		ask(b)
	}
	require.Equal(t, 2, f.asked())
	require.Equal(t, 91, build(standard))
	require.Equal(t, 91, build(deterministic))
	require.Equal(t, 2, f.asked(), "of those that restore")

	// Somebody has MIOpen find: the next plan is built by what it says then.
	f.solutions[0], f.solutions[1] = f.solutions[1], f.solutions[0]
	require.Equal(t, 85, build(standard))
	require.Equal(t, 2, f.asked(), "to build and to restore")

	// Or the engine does, which changes the list for both.
	ask(b)
	require.Equal(t, 2, f.asked())
	require.Equal(t, 85, build(standard, setting(benchmarking, 1)))
	require.Equal(t, 1, f.asked(), "to restore")
	build(deterministic)
	require.Equal(t, 2, f.asked())
}

// An answer is one problem's, with all that MIOpen is told of it, whatever the tensors are called in the graph.
func TestAnswerIsOfOneProblem(t *testing.T) {
	type problem struct {
		kind                        enginetest.Kind
		typ                         graph.DataType
		batch                       int64
		pad, stride, dilation, size int64 // of what is written
		groups                      int64
		last                        bool
		name                        graph.UID // of the first tensor
	}
	serialised := func(p problem) []byte {
		g := &graph.Graph{ComputeType: graph.Float, IntermediateType: graph.Float, IOType: p.typ}
		for i, dims := range [][]int64{{p.batch, 4, 5, 5}, {4, 4 / p.groups, 3, 3}, {p.batch, 4, p.size, p.size}} {
			strides := miopen.PackedStrides(dims)
			if p.last {
				strides = miopen.ChannelsLastStrides(dims)
			}
			g.Tensors = append(g.Tensors, graph.Tensor{UID: p.name + graph.UID(i), Type: p.typ, Dims: dims, Strides: strides})
		}
		pads := []int64{p.pad, p.pad}
		w := graph.Geometry{PrePads: pads, PostPads: pads, Strides: []int64{p.stride, p.stride}, Dilations: []int64{p.dilation, p.dilation},
			Mode: graph.CrossCorrelation, Compute: graph.Float}
		var n graph.Node = &graph.ConvolutionForward{X: p.name, W: p.name + 1, Y: p.name + 2, Geometry: w}
		switch p.kind {
		case enginetest.BackwardData:
			n = &graph.ConvolutionBackwardData{DX: p.name, W: p.name + 1, DY: p.name + 2, Geometry: w}
		case enginetest.BackwardWeights:
			n = &graph.ConvolutionBackwardWeights{X: p.name, DW: p.name + 1, DY: p.name + 2, Geometry: w}
		}
		g.Nodes = []graph.Node{n}
		return wire.WriteGraph(enginetest.Wire(g))
	}
	first := problem{enginetest.Forward, graph.Float, 2, 1, 1, 1, 5, 1, false, 0}
	for name, c := range map[string]struct {
		change func(p *problem)
		asked  int
	}{
		"nothing":        {func(*problem) {}, 0},
		"names":          {func(p *problem) { p.name = 7 }, 0},
		"data":           {func(p *problem) { p.kind = enginetest.BackwardData }, 2},
		"weights":        {func(p *problem) { p.kind = enginetest.BackwardWeights }, 2},
		"type":           {func(p *problem) { p.typ = graph.Half }, 2},
		"batch":          {func(p *problem) { p.batch = 3 }, 2},
		"pads, dilation": {func(p *problem) { p.pad, p.dilation = 2, 2 }, 2},
		"pads, results":  {func(p *problem) { p.pad, p.size = 2, 7 }, 2},
		"stride":         {func(p *problem) { p.stride, p.size = 2, 3 }, 2},
		"groups":         {func(p *problem) { p.groups = 2 }, 2},
		"layout":         {func(p *problem) { p.last = true }, 2},
	} {
		f := newFake()
		h := open(t, f)
		second := first
		c.change(&second)
		for i, p := range []problem{first, second, first} {
			_, err := h.Applicable(serialised(p))
			require.NoError(t, err, name)
			if i > 0 {
				require.Equal(t, c.asked, f.asked(), name)
			}
			f.calls = nil
		}
		require.NoError(t, h.Close())
		require.Empty(t, f.live)
	}
}
