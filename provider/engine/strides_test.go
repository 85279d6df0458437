package engine_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/hipdnnbridge/graph"
	"example.com/miopen_hipdnn_shim/hipdnnbridge/miopen"
	"example.com/miopen_hipdnn_shim/hipdnnbridge/translate"
	"example.com/miopen_hipdnn_shim/provider/engine"
	"example.com/miopen_hipdnn_shim/provider/engine/enginetest"
	"example.com/miopen_hipdnn_shim/provider/wire"
)

// Whatever strides dimensions of one element have in a graph, MIOpen gets those of the layout.
func TestStridesOfOneElement(t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 0))
	loose, last := 0, 0
	for range 300 {
		k := enginetest.Kind(rng.IntN(int(enginetest.Kinds)))
		layout := enginetest.Layouts[rng.IntN(2)]
		w := enginetest.Wire(enginetest.Random(rng, k, graph.Float, 1+rng.IntN(3), layout))
		before := wire.WriteGraph(w)
		enginetest.Loosen(rng, w)
		after := wire.WriteGraph(w)

		f := newFake()
		h := open(t, f)
		ids, err := h.Applicable(after)
		was, errBefore := open(t, newFake()).Applicable(before)
		require.Equal(t, was, ids, "they decide nothing")
		if k < enginetest.Bias {
			require.NoError(t, err)
		} else if errBefore != nil {
			require.Equal(t, errBefore.Error()[:40], err.Error()[:40])
			continue
		}
		if !slices.Equal(before, after) {
			loose++
		}
		x, err := h.Prepare(configOf(ids[0]), after)
		require.NoError(t, err)
		isFirst, isLast := true, true
		for _, d := range f.tensors {
			dims, strides := int64s(d.dims), int64s(d.strides)
			if len(f.tensors) == 4 && !slices.ContainsFunc(append(dims[:1:1], dims[2:]...), func(n int64) bool { return n > 1 }) {
				continue // a bias, or no less packed than one
			}
			isFirst = isFirst && slices.Equal(strides, miopen.PackedStrides(dims))
			isLast = isLast && slices.Equal(strides, miopen.ChannelsLastStrides(dims))
		}
		require.True(t, isFirst || isLast, "%+v: %+v", w, f.tensors)
		if !isFirst {
			last++
		}
		require.NoError(t, x.Close())
		require.NoError(t, h.Close())
	}
	t.Logf("%d graphs with strides that mean nothing, %d channels last", loose, last)
	require.Greater(t, loose, 100)
	require.Greater(t, last, 50)
}

func int64s(v []uint64) []int64 {
	out := make([]int64, len(v))
	for i := range v {
		out[i] = int64(v[i])
	}
	return out
}

// Layouts that MIOpen takes for others, or reads as if there were no gaps, and says nothing.
func TestTensorsThatAreNotPacked(t *testing.T) {
	type strides [3][]int64 // of x, w and y
	for name, c := range map[string]struct {
		x, w, y []int64
		strides
		run bool
	}{
		"packed":            {[]int64{2, 4, 3, 3}, []int64{4, 4, 2, 2}, []int64{2, 4, 2, 2}, strides{{36, 9, 3, 1}, {16, 4, 2, 1}, {16, 4, 2, 1}}, true},
		"channels last":     {[]int64{2, 4, 3, 3}, []int64{4, 4, 2, 2}, []int64{2, 4, 2, 2}, strides{{36, 1, 12, 4}, {16, 1, 8, 4}, {16, 1, 8, 4}}, true},
		"rows apart":        {[]int64{2, 4, 3, 3}, []int64{4, 4, 2, 2}, []int64{2, 4, 2, 2}, strides{{48, 12, 4, 1}, {16, 4, 2, 1}, {16, 4, 2, 1}}, false},
		"elements apart":    {[]int64{2, 4, 3, 3}, []int64{4, 4, 2, 2}, []int64{2, 4, 2, 2}, strides{{72, 18, 6, 2}, {16, 4, 2, 1}, {16, 4, 2, 1}}, false},
		"filters apart":     {[]int64{2, 4, 3, 3}, []int64{4, 4, 2, 2}, []int64{2, 4, 2, 2}, strides{{36, 9, 3, 1}, {20, 5, 2, 1}, {16, 4, 2, 1}}, false},
		"results apart":     {[]int64{2, 4, 3, 3}, []int64{4, 4, 2, 2}, []int64{2, 4, 2, 2}, strides{{36, 9, 3, 1}, {16, 4, 2, 1}, {17, 4, 2, 1}}, false},
		"pixels apart":      {[]int64{2, 4, 3, 3}, []int64{4, 4, 2, 2}, []int64{2, 4, 2, 2}, strides{{45, 1, 15, 5}, {16, 1, 8, 4}, {16, 1, 8, 4}}, false},
		"x channels last":   {[]int64{2, 4, 3, 3}, []int64{4, 4, 2, 2}, []int64{2, 4, 2, 2}, strides{{36, 1, 12, 4}, {16, 4, 2, 1}, {16, 4, 2, 1}}, false},
		"batches innermost": {[]int64{2, 4, 3, 3}, []int64{4, 4, 2, 2}, []int64{2, 4, 2, 2}, strides{{1, 18, 6, 2}, {16, 4, 2, 1}, {16, 4, 2, 1}}, false},
		"channels in rows":  {[]int64{2, 4, 3, 3}, []int64{4, 4, 2, 2}, []int64{2, 4, 2, 2}, strides{{36, 3, 12, 1}, {16, 4, 2, 1}, {16, 4, 2, 1}}, false},
		// A group's stride is what is around the channels, divided by the groups.
		"groups":                        {[]int64{2, 4, 3, 3}, []int64{4, 2, 2, 2}, []int64{2, 4, 2, 2}, strides{{36, 9, 3, 1}, {8, 4, 2, 1}, {16, 4, 2, 1}}, true},
		"groups, batches apart":         {[]int64{2, 4, 3, 3}, []int64{4, 2, 2, 2}, []int64{2, 4, 2, 2}, strides{{42, 9, 3, 1}, {8, 4, 2, 1}, {16, 4, 2, 1}}, false},
		"groups, indivisible":           {[]int64{2, 4, 3, 3}, []int64{4, 2, 2, 2}, []int64{2, 4, 2, 2}, strides{{41, 9, 3, 1}, {8, 4, 2, 1}, {16, 4, 2, 1}}, false},
		"groups, one batch":             {[]int64{1, 4, 3, 3}, []int64{4, 2, 2, 2}, []int64{1, 4, 2, 2}, strides{{41, 9, 3, 1}, {8, 4, 2, 1}, {7, 4, 2, 1}}, true},
		"groups, pixels apart":          {[]int64{2, 4, 3, 3}, []int64{4, 2, 2, 2}, []int64{2, 4, 2, 2}, strides{{45, 1, 15, 5}, {8, 1, 4, 2}, {16, 1, 8, 4}}, false},
		"groups, one column, last":      {[]int64{2, 4, 3, 1}, []int64{4, 2, 2, 1}, []int64{2, 4, 2, 1}, strides{{12, 1, 4, 5}, {4, 1, 2, 9}, {8, 1, 4, 5}}, true},
		"one batch, batch innermost":    {[]int64{1, 3, 4, 5}, []int64{2, 3, 2, 2}, []int64{1, 2, 3, 4}, strides{{1, 20, 5, 1}, {12, 4, 2, 1}, {1, 12, 4, 1}}, true},
		"one column, wide":              {[]int64{2, 3, 4, 1}, []int64{2, 3, 2, 1}, []int64{2, 2, 3, 1}, strides{{12, 4, 1, 7}, {6, 2, 1, 50}, {6, 3, 1, 60}}, true},
		"one channel, wide":             {[]int64{2, 1, 4, 5}, []int64{2, 1, 2, 2}, []int64{2, 2, 3, 4}, strides{{20, 1, 5, 1}, {4, 1, 2, 1}, {24, 12, 4, 1}}, true},
		"one of all":                    {[]int64{1, 1, 1, 1}, []int64{1, 1, 1, 1}, []int64{1, 1, 1, 1}, strides{{1, 2, 3, 4}, {4, 3, 2, 1}, {9, 9, 9, 9}}, true},
		"channels alone, then pixels":   {[]int64{2, 3, 1, 1}, []int64{2, 3, 1, 1}, []int64{2, 2, 1, 1}, strides{{3, 1, 7, 7}, {3, 1, 1, 1}, {2, 1, 2, 2}}, true},
		"channels alone, batches apart": {[]int64{2, 3, 1, 1}, []int64{2, 3, 1, 1}, []int64{2, 2, 1, 1}, strides{{4, 1, 7, 7}, {3, 1, 1, 1}, {2, 1, 2, 2}}, false},
	} {
		for _, k := range []enginetest.Kind{enginetest.Forward, enginetest.BackwardData, enginetest.BackwardWeights} {
			g := &graph.Graph{ComputeType: graph.Float, IntermediateType: graph.Float, IOType: graph.Float}
			for i, dims := range [][]int64{c.x, c.w, c.y} {
				g.Tensors = append(g.Tensors, graph.Tensor{UID: graph.UID(i), Type: graph.Float, Dims: dims, Strides: c.strides[i]})
			}
			zero, one := []int64{0, 0}, []int64{1, 1}
			w := graph.Geometry{PrePads: zero, PostPads: zero, Strides: one, Dilations: one, Mode: graph.CrossCorrelation, Compute: graph.Float}
			switch k {
			case enginetest.Forward:
				g.Nodes = []graph.Node{&graph.ConvolutionForward{X: 0, W: 1, Y: 2, Geometry: w}}
			case enginetest.BackwardData:
				g.Nodes = []graph.Node{&graph.ConvolutionBackwardData{DX: 0, W: 1, DY: 2, Geometry: w}}
			case enginetest.BackwardWeights:
				g.Nodes = []graph.Node{&graph.ConvolutionBackwardWeights{X: 0, DW: 1, DY: 2, Geometry: w}}
			}
			f := newFake()
			h := open(t, f)
			b := wire.WriteGraph(enginetest.Wire(g))
			_, err := h.Applicable(b)
			_, errPlan := h.Prepare(configOf(deterministic), b)
			if c.run {
				require.NoError(t, err, "%s, %v", name, k)
				require.NoError(t, errPlan, "%s, %v", name, k)
				continue
			}
			require.Error(t, err, "%s, %v", name, k)
			declines(t, err, translate.NotPacked)
			declines(t, errPlan, translate.NotPacked)
			require.Empty(t, f.calls, "%s: MIOpen is not asked", name)
		}
	}
}

// MIOpen finds what it compiled by a key that has neither strides nor attributes in it: each plan runs what was compiled
// for it all the same.
func TestEnginesDoNotShareWhatIsCompiled(t *testing.T) {
	for _, order := range [][]int{{0, 1}, {1, 0}} {
		f := newFake()
		h := open(t, f)
		g := sample(enginetest.Forward)
		b := wire.WriteGraph(g)
		_, err := h.Applicable(b)
		require.NoError(t, err)
		require.Len(t, f.streams, 0)
		var contexts [2]*engine.Context
		for _, i := range order {
			contexts[i], err = h.Prepare(configOf(engine.Engines[i].ID), b)
			require.NoError(t, err)
		}
		for i, want := range []string{"deterministic false", "deterministic true"} {
			require.NoError(t, contexts[i].Execute(h, 77, buffers(g)))
			require.Equal(t, want, f.ran)
		}
		require.NoError(t, h.SetStream(8))
		require.Len(t, f.streams, 2)
		for _, s := range f.streams {
			require.Equal(t, uintptr(8), s, "both handles are on the stream")
		}
		require.NoError(t, h.Close())
		for _, x := range contexts {
			require.NoError(t, x.Close())
		}
		require.Empty(t, f.live)
	}
}

// A handle of MIOpen has device memory: there are no more than are needed.
func TestHandlesOfMIOpen(t *testing.T) {
	for i := range engine.Engines {
		f := newFake()
		h := open(t, f)
		b := wire.WriteGraph(sample(enginetest.Forward))
		_, err := h.Applicable(b)
		require.NoError(t, err)
		_, err = h.Prepare(configOf(engine.Engines[i].ID), b)
		require.NoError(t, err)
		_, err = h.WorkspaceSize(configOf(engine.Engines[1-i].ID), b)
		require.NoError(t, err)
		_, err = h.Applicable(b)
		require.NoError(t, err)
		made := 0
		for _, call := range f.calls {
			if call == "miopenCreate" {
				made++
			}
		}
		require.Equal(t, 1, made, "one engine, one handle")
	}
}

// A plan is restored only if MIOpen has its solution for the problem, the engine and the device at hand.
func TestRestoreAsksForTheSolution(t *testing.T) {
	g := wire.WriteGraph(sample(enginetest.BackwardData))
	for _, settings := range [][]wire.KnobSetting{nil, {setting(benchmarking, 1)}} {
		f := newFake()
		h := open(t, f)
		x, err := h.Prepare(configOf(deterministic, settings...), g)
		require.NoError(t, err)
		b := x.Serialize()
		require.NoError(t, x.Close())
		_, err = h.Restore(b)
		require.NoError(t, err, "the control")

		f.solutions = []engine.Solution{{ID: 120}}
		before := len(f.calls)
		_, err = h.Restore(b)
		fails(t, err, engine.StatusInvalidValue, "none of the 1 that MIOpen has here: build the plan anew")
		for _, call := range f.calls[before:] {
			require.NotContains(t, call, "Compile")
		}
		f.solutions = nil
		_, err = h.Restore(b)
		declines(t, err, translate.NoSolution)
	}
}

// Everything is done on the handle's device, and the thread's is put back. The fake panics when a handle is used on another
// device than the one where it was made.
func TestDevices(t *testing.T) {
	g := sample(enginetest.Forward)
	b := wire.WriteGraph(g)
	use := func(f *fake, h *engine.Handle, device, other int32) {
		t.Helper()
		check := func(err error) {
			t.Helper()
			require.NoError(t, err)
			require.Equal(t, other, f.devices.current, "the thread's device is put back")
		}
		_, err := h.Applicable(b)
		check(err)
		for _, e := range engine.Engines {
			_, err = h.WorkspaceSize(configOf(e.ID), b)
			check(err)
			x, err := h.Prepare(configOf(e.ID), b)
			check(err)
			check(x.Execute(h, 77, buffers(g)))
			serialized := x.Serialize()
			check(x.Close())
			x, err = h.Restore(serialized)
			check(err)
			check(x.Close())
		}
		check(h.SetStream(0))
		check(h.SetStream(2)) // hipStreamPerThread is of no device
		check(h.Close())
		require.Len(t, f.devices.of, 2)
		for _, made := range f.devices.of {
			require.Equal(t, device, made)
		}
		require.Empty(t, f.live)
	}

	f := newFake()
	f.devices.current = 3
	h := open(t, f)
	require.NoError(t, h.OnDevice(1))
	use(f, h, 1, 3) // the one that it was made for

	f = newFake()
	f.devices.current = 3
	h = open(t, f)
	require.NoError(t, h.OnDevice(-1))
	_, err := h.Applicable(b)
	require.NoError(t, err)
	f.devices.current = 0
	use(f, h, 3, 0) // the thread's when it was needed first

	f = newFake()
	f.devices.current = 3
	f.devices.streams = map[uintptr]int32{4096: 2, 8192: 2, 12288: 5}
	h = open(t, f)
	require.NoError(t, h.OnDevice(1))
	require.NoError(t, h.SetStream(12288))
	require.NoError(t, h.SetStream(4096))
	_, err = h.Applicable(b)
	require.NoError(t, err)
	require.NoError(t, h.SetStream(8192))
	fails(t, h.SetStream(12288), engine.StatusInvalidValue, "the stream is of device 5 and the handle's plans are compiled for device 2")
	fails(t, h.OnDevice(1), engine.StatusBadParam, "has a device already")
	require.Equal(t, uintptr(8192), f.stream)
	require.NoError(t, h.SetStream(16384), "a stream that HIP cannot tell")
	use(f, h, 2, 3) // the stream's

	f = newFake()
	f.devices.current = 3
	h = open(t, f)
	require.NoError(t, h.OnDevice(1))
	f.devices.refused = true
	_, err = h.Applicable(b)
	fails(t, err, engine.StatusInternalError, "hipSetDevice(1): hipError 101")
	require.Empty(t, f.calls)

	f = newFake() // without HIP
	h = open(t, f)
	use(f, h, -1, -1)
	require.Zero(t, f.devices.sets)
}

// Numbers that a newer hipDNN may have are no failure.
func TestNumbersOfANewerHipDNN(t *testing.T) {
	g := sample(enginetest.ReLU)
	g.Nodes[1].Attributes.(*wire.Pointwise).Mode = 47
	g.Tensors[2].Type = graph.FP8E4M3FNUZ
	b := wire.WriteGraph(g)
	_, err := open(t, newFake()).Applicable(b)
	declines(t, err, translate.OperationUnsupported) // 47 is no rectifier
	for field, number := range map[string]byte{"nodes[1].attributes.operation": 47, "tensors[2].data_type": byte(graph.FP8E4M3FNUZ.Wire())} {
		seen := 0
		for i := range b {
			if b[i] != number {
				continue
			}
			newer := slices.Clone(b)
			newer[i] = 100
			if _, err := open(t, newFake()).Applicable(newer); err != nil && strings.Contains(err.Error(), field) {
				declines(t, err, translate.OperationUnsupported)
				require.Contains(t, err.Error(), "100")
				seen++
			}
		}
		require.Equal(t, 1, seen, field)
	}
}
