package private_test

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/hipdnnbridge/graph"
	"example.com/miopen_hipdnn_shim/provider/engine"
	"example.com/miopen_hipdnn_shim/provider/engine/enginetest"
	"example.com/miopen_hipdnn_shim/provider/private/privatetest"
	"example.com/miopen_hipdnn_shim/provider/wire"
)

// smallest is a graph of a kind whose layout can be told and whose groups and rectifier MIOpen fuses.
func smallest(k enginetest.Kind) *wire.Graph {
	for seed := uint64(1); ; seed++ {
		g := enginetest.Random(rand.New(rand.NewPCG(seed, uint64(k))), k, graph.Float, 2, "channels-first")
		relu, ok := g.Nodes[len(g.Nodes)-1].(*graph.Pointwise)
		if x, w := g.Tensors[0].Dims, g.Tensors[1].Dims; x[1] == w[1] && (!ok || relu.Clip == graph.Clip{}) {
			return enginetest.Wire(g)
		}
	}
}

// prepared is a context with its buffers.
func prepared(t testing.TB, h *engine.Handle, g *wire.Graph) (*engine.Context, privatetest.Memory, []engine.Buffer) {
	t.Helper()
	x, workspace, buffers, _ := preparedIn(t, h, g)
	return x, workspace, buffers
}

// preparedIn is prepared with the memory of the tensors by their names.
func preparedIn(t testing.TB, h *engine.Handle, g *wire.Graph) (*engine.Context, privatetest.Memory, []engine.Buffer, map[int64]privatetest.Memory) {
	t.Helper()
	memory := map[int64]privatetest.Memory{}
	config := wire.WriteEngineConfig(&wire.EngineConfig{EngineID: engine.Engines[0].ID})
	x, err := h.Prepare(config, wire.WriteGraph(g))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, x.Close()) })
	workspace := privatetest.Allocate(int(x.WorkspaceSize()))
	t.Cleanup(workspace.Free)
	var buffers []engine.Buffer
	for i := range g.Tensors {
		if n := int64(1); !g.Tensors[i].Virtual {
			for d := range g.Tensors[i].Dims {
				n += (g.Tensors[i].Dims[d] - 1) * g.Tensors[i].Strides[d]
			}
			m := privatetest.Allocate(int(4 * n))
			t.Cleanup(m.Free)
			clear(m)
			memory[g.Tensors[i].UID] = m
			buffers = append(buffers, engine.Buffer{UID: g.Tensors[i].UID, Address: m.Address()})
		}
	}
	return x, workspace, buffers, memory
}

// From hipDNN's call down to MIOpen's, nothing is allocated in Go.
func TestExecuteDoesNotAllocate(t *testing.T) {
	h, err := engine.Open(library(t))
	require.NoError(t, err)
	for k := range enginetest.Kinds {
		x, workspace, buffers := prepared(t, h, smallest(k))
		require.NoError(t, x.Execute(h, workspace.Address(), buffers), k)
		require.Zero(t, testing.AllocsPerRun(100, func() {
			if err := x.Execute(h, workspace.Address(), buffers); err != nil {
				t.Fatal(err)
			}
		}), k)
	}
}

// A handle takes streams that are no pointers, such as hipStreamPerThread.
func TestStreams(t *testing.T) {
	h, err := engine.Open(library(t))
	require.NoError(t, err)
	require.NoError(t, h.SetStream(2))
	_, err = h.Applicable(wire.WriteGraph(smallest(enginetest.Forward)))
	require.NoError(t, err)
	require.NoError(t, h.SetStream(1))
	require.NoError(t, h.SetStream(0))
	require.NoError(t, h.Close())
}

func BenchmarkExecute(b *testing.B) {
	h, err := engine.Open(library(b))
	require.NoError(b, err)
	for _, k := range []enginetest.Kind{enginetest.Forward, enginetest.BiasReLU} {
		x, workspace, buffers := prepared(b, h, smallest(k))
		b.Run(k.String(), func(b *testing.B) {
			for b.Loop() {
				if err := x.Execute(h, workspace.Address(), buffers); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// A rectifier without an upper bound leaves a sum that overflowed infinite, as hipDNN has it.
func TestInfinity(t *testing.T) {
	h, err := engine.Open(library(t))
	require.NoError(t, err)
	g := smallest(enginetest.ReLU)
	relu, lower := g.Nodes[1].Attributes.(*wire.Pointwise), float32(1)
	relu.ReLULowerClip = &lower
	x, workspace, buffers, memory := preparedIn(t, h, g)
	conv := g.Nodes[0].Attributes.(*wire.ConvolutionFwd)
	for _, uid := range []int64{conv.X, conv.W} {
		for m := memory[uid]; len(m) > 0; m = m[4:] {
			binary.LittleEndian.PutUint32(m, math.Float32bits(3e38))
		}
	}
	require.NoError(t, x.Execute(h, workspace.Address(), buffers))
	infinite := 0
	for m := memory[relu.Out0]; len(m) > 0; m = m[4:] {
		if v := math.Float32frombits(binary.LittleEndian.Uint32(m)); math.IsInf(float64(v), 1) {
			infinite++
		} else {
			require.Equal(t, lower, v, "nothing but padding")
		}
	}
	require.Positive(t, infinite)
	require.NoError(t, h.Close())
}
