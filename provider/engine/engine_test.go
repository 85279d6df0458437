package engine_test

import (
	"encoding/binary"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/cespare/xxhash/v2"
	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/hipdnnbridge/graph"
	"example.com/miopen_hipdnn_shim/hipdnnbridge/miopen"
	"example.com/miopen_hipdnn_shim/hipdnnbridge/translate"
	"example.com/miopen_hipdnn_shim/provider/engine"
	"example.com/miopen_hipdnn_shim/provider/engine/enginetest"
	"example.com/miopen_hipdnn_shim/provider/wire"
)

var (
	standard      = engine.Engines[0].ID
	deterministic = engine.Engines[1].ID
)

// sample is a graph of a kind, always the same, that both engines run.
func sample(k enginetest.Kind) *wire.Graph {
	for seed := uint64(7); ; seed++ {
		g := enginetest.Random(rand.New(rand.NewPCG(seed, uint64(k))), k, graph.Float, 2, "channels-first")
		relu, ok := g.Nodes[len(g.Nodes)-1].(*graph.Pointwise)
		if ok && (g.Tensors[0].Dims[1] != g.Tensors[1].Dims[1] || relu.Clip.Lower != nil) {
			continue // groups, and bounds on both sides
		}
		return enginetest.Wire(g)
	}
}

func configOf(id int64, settings ...wire.KnobSetting) []byte {
	return wire.WriteEngineConfig(&wire.EngineConfig{EngineID: id, Knobs: settings})
}

func setting(name string, v int64) wire.KnobSetting {
	return wire.KnobSetting{KnobID: name, Value: wire.IntValue(v)}
}

const (
	benchmarking   = "global.benchmarking"
	workspaceLimit = "global.workspace_size_limit"
)

// buffers binds every tensor with memory to 1000 plus its index.
func buffers(g *wire.Graph) []engine.Buffer {
	var out []engine.Buffer
	for i, t := range g.Tensors {
		if !t.Virtual {
			out = append(out, engine.Buffer{UID: t.UID, Address: uintptr(1000 + i)})
		}
	}
	return out
}

func open(t *testing.T, m engine.MIOpen) *engine.Handle {
	t.Helper()
	h, err := engine.Open(m)
	require.NoError(t, err)
	return h
}

func fails(t *testing.T, err error, status engine.Status, text string) {
	t.Helper()
	var e *engine.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, status, e.Status, e.Text)
	require.Contains(t, e.Text, text)
}

func declines(t *testing.T, err error, reason translate.Reason) {
	t.Helper()
	fails(t, err, engine.StatusNotApplicable, reason.String())
	var d *translate.Decline
	require.ErrorAs(t, err, &d)
	require.Equal(t, reason, d.Reason)
}

func TestEngines(t *testing.T) {
	require.Len(t, engine.Engines, 2)
	require.Equal(t, "MIOPEN_PRIVATE_ENGINE", engine.Engines[0].Name)
	require.Equal(t, "MIOPEN_PRIVATE_ENGINE_DETERMINISTIC", engine.Engines[1].Name)
	require.True(t, engine.Engines[1].Deterministic)
	require.False(t, engine.Engines[0].Deterministic)
}

func TestApplicable(t *testing.T) {
	for k := range enginetest.Kinds {
		f := newFake()
		h := open(t, f)
		ids, err := h.Applicable(wire.WriteGraph(sample(k)))
		require.NoError(t, err, k)
		require.Equal(t, []int64{standard, deterministic}, ids, k)
		for _, call := range f.calls {
			require.NotContains(t, call, "Compile", "applicability compiles nothing")
		}
		require.NoError(t, h.Close())
		require.Empty(t, f.live)
	}
}

// MIOpen fuses little, and less with the deterministic attribute.
func TestFusible(t *testing.T) {
	number := func(v float32) *float32 { return &v }
	for name, c := range map[string]struct {
		kind    enginetest.Kind
		typ     graph.DataType
		spatial int
		layout  string
		groups  bool
		clip    graph.Clip
		ids     []int64
	}{
		"bias":                   {enginetest.Bias, graph.Half, 2, "channels-first", false, graph.Clip{}, []int64{standard, deterministic}},
		"bias, one dimension":    {enginetest.Bias, graph.Half, 1, "channels-first", false, graph.Clip{}, []int64{standard, deterministic}},
		"bias, three dimensions": {enginetest.Bias, graph.Half, 3, "channels-first", false, graph.Clip{}, nil},
		"bias, channels last":    {enginetest.Bias, graph.Half, 2, "channels-last", false, graph.Clip{}, nil},
		"bias, groups":           {enginetest.Bias, graph.Half, 2, "channels-first", true, graph.Clip{}, nil},
		"bias, bfloat16":         {enginetest.Bias, graph.BFloat16, 2, "channels-first", false, graph.Clip{}, nil},
		"relu":                   {enginetest.BiasReLU, graph.Float, 2, "channels-first", false, graph.Clip{}, []int64{standard, deterministic}},
		"relu, channels last":    {enginetest.BiasReLU, graph.Float, 2, "channels-last", false, graph.Clip{}, []int64{standard}},
		"relu, three dimensions": {enginetest.ReLU, graph.Float, 3, "channels-first", false, graph.Clip{}, []int64{standard}},
		"relu, groups":           {enginetest.ReLU, graph.Float, 2, "channels-first", true, graph.Clip{}, []int64{standard}},
		"relu, bfloat16":         {enginetest.ReLU, graph.BFloat16, 2, "channels-first", false, graph.Clip{}, []int64{standard}},
		"clipped, bfloat16":      {enginetest.ReLU, graph.BFloat16, 2, "channels-first", false, graph.Clip{Upper: number(6)}, []int64{standard}},
		"clamp":                  {enginetest.ReLU, graph.Float, 2, "channels-first", false, graph.Clip{Lower: number(1), Upper: number(6)}, []int64{standard}},
		"slope":                  {enginetest.ReLU, graph.Float, 2, "channels-first", false, graph.Clip{Slope: number(0.5)}, []int64{standard, deterministic}},
		"slope, channels last":   {enginetest.ReLU, graph.Float, 2, "channels-last", false, graph.Clip{Slope: number(0.5)}, nil},
		"slope, bfloat16":        {enginetest.ReLU, graph.BFloat16, 2, "channels-first", false, graph.Clip{Slope: number(0.5)}, nil},
	} {
		var g *graph.Graph
		for seed := uint64(0); ; seed++ {
			g = enginetest.Random(rand.New(rand.NewPCG(seed, 9)), c.kind, c.typ, c.spatial, c.layout)
			x, w := g.Tensors[0].Dims, g.Tensors[1].Dims
			if (x[1] != w[1]) == c.groups && x[1] > 1 && x[len(x)-1] > 1 { // and the layout can be told
				break
			}
		}
		if relu := g.Nodes[len(g.Nodes)-1].(*graph.Pointwise); relu.Mode == graph.PointwiseReLU {
			relu.Clip = c.clip
		}
		b := wire.WriteGraph(enginetest.Wire(g))
		h := open(t, newFake())
		ids, err := h.Applicable(b)
		if c.ids == nil {
			declines(t, err, translate.NoSolution)
		} else {
			require.NoError(t, err, name)
		}
		require.Equal(t, c.ids, ids, name)
		// What is not offered is not built either.
		for _, e := range engine.Engines {
			_, err := h.Prepare(configOf(e.ID), b)
			if slices.Contains(c.ids, e.ID) {
				require.NoError(t, err, name)
			} else {
				declines(t, err, translate.NoSolution)
			}
		}
	}
}

func TestNoSolutionIsNotApplicable(t *testing.T) {
	f := newFake()
	f.solutions = nil
	h := open(t, f)
	_, err := h.Applicable(wire.WriteGraph(sample(enginetest.Forward)))
	declines(t, err, translate.NoSolution)
	_, err = h.Prepare(configOf(standard), wire.WriteGraph(sample(enginetest.Forward)))
	declines(t, err, translate.NoSolution)
}

// What the core has no words for is declined with the reason, whichever function is asked.
func TestDeclines(t *testing.T) {
	for name, c := range map[string]struct {
		reason translate.Reason
		spoil  func(g *wire.Graph)
	}{
		"override":      {translate.ShapeOverride, func(g *wire.Graph) { g.OverrideShapes = true }},
		"newer minor":   {translate.OperationUnsupported, func(g *wire.Graph) { g.RequiredVersion = &wire.Version{Major: 1, Minor: 2} }},
		"newer patch":   {translate.OperationUnsupported, func(g *wire.Graph) { g.RequiredVersion = &wire.Version{Major: 1, Minor: 1, Patch: 1} }},
		"newer major":   {translate.OperationUnsupported, func(g *wire.Graph) { g.RequiredVersion = &wire.Version{Major: 2} }},
		"runtime value": {translate.RuntimeValue, func(g *wire.Graph) { g.Tensors[0].RuntimePassByValue = true }},
		"constant":      {translate.ConstantValue, func(g *wire.Graph) { g.Tensors[1].Value = wire.Float32Value(1) }},
		"ragged":        {translate.RaggedTensor, func(g *wire.Graph) { uid := g.Tensors[0].UID; g.Tensors[2].RaggedOffsetUID = &uid }},
		"alignment":     {translate.BufferMisaligned, func(g *wire.Graph) { g.Tensors[0].Alignment = 4 }},
		"matmul": {translate.OperationUnsupported, func(g *wire.Graph) {
			g.Nodes[0].Attributes = &wire.Matmul{A: g.Tensors[0].UID, B: g.Tensors[1].UID, C: g.Tensors[2].UID}
		}},
		"unread operation": {translate.OperationUnsupported, func(g *wire.Graph) { g.Nodes[0].Attributes = wire.Unread{Type: 12} }},
		"pointwise mode": {translate.OperationUnsupported, func(g *wire.Graph) {
			g.Nodes[0].Attributes = &wire.Pointwise{Mode: 3, In0: g.Tensors[0].UID, Out0: g.Tensors[2].UID}
		}},
		"flipped":        {translate.Flipped, func(g *wire.Graph) { g.Nodes[0].Attributes.(*wire.ConvolutionFwd).Mode = graph.Convolution }},
		"no nodes":       {translate.GraphInvalid, func(g *wire.Graph) { g.Nodes = nil }},
		"two of a name":  {translate.GraphInvalid, func(g *wire.Graph) { g.Tensors[1].UID = g.Tensors[0].UID }},
		"no such tensor": {translate.GraphInvalid, func(g *wire.Graph) { g.Nodes[0].Attributes.(*wire.ConvolutionFwd).X = 12345 }},
		"no type": {translate.GraphInvalid, func(g *wire.Graph) {
			g.Tensors[0].Type, g.IO = graph.Unset, graph.Unset
		}},
	} {
		f := newFake()
		h := open(t, f)
		g := sample(enginetest.Forward)
		c.spoil(g)
		b := wire.WriteGraph(g)
		_, err := h.Applicable(b)
		declines(t, err, c.reason)
		_, err = h.Details(standard, b)
		declines(t, err, c.reason)
		_, err = h.WorkspaceSize(configOf(standard), b)
		declines(t, err, c.reason)
		_, err = h.Prepare(configOf(standard), b)
		declines(t, err, c.reason)
		require.Empty(t, f.calls, "%s: MIOpen is not asked", name)
	}
	// The control: as old as can be, and of our own version.
	for _, v := range []*wire.Version{nil, {Major: 1}, {Major: 1, Minor: 1}} {
		g := sample(enginetest.Forward)
		g.RequiredVersion = v
		_, err := open(t, newFake()).Applicable(wire.WriteGraph(g))
		require.NoError(t, err)
	}
}

// Types that a graph leaves out are its defaults.
func TestDefaultTypes(t *testing.T) {
	g := sample(enginetest.BiasReLU)
	for i := range g.Tensors {
		g.Tensors[i].Type = graph.Unset
	}
	for i := range g.Nodes {
		g.Nodes[i].Compute = graph.Unset
	}
	h := open(t, newFake())
	_, err := h.Applicable(wire.WriteGraph(g))
	require.NoError(t, err)
	g.Intermediate = graph.Half
	_, err = h.Applicable(wire.WriteGraph(g))
	declines(t, err, translate.IntermediateType)
}

func TestBytesThatAreNoGraph(t *testing.T) {
	h := open(t, newFake())
	good := wire.WriteGraph(sample(enginetest.Forward))
	for _, b := range [][]byte{nil, {1, 2, 3}, good[:len(good)/2]} {
		_, err := h.Applicable(b)
		fails(t, err, engine.StatusBadParam, "plugin: the graph")
		_, err = h.Prepare(configOf(standard), b)
		fails(t, err, engine.StatusBadParam, "plugin: the graph")
	}
	_, err := h.Prepare([]byte{0}, good)
	fails(t, err, engine.StatusBadParam, "plugin: the engine configuration")
}

func TestDetails(t *testing.T) {
	h := open(t, newFake())
	for _, e := range engine.Engines {
		b, err := h.Details(e.ID, wire.WriteGraph(sample(enginetest.Forward)))
		require.NoError(t, err)
		d, err := wire.ReadEngineDetails(b)
		require.NoError(t, err)
		require.Equal(t, e.ID, d.EngineID)
		require.Equal(t, e.Name, d.Name)
		require.Equal(t, []int32{0, 2, 3, 4}, d.BehaviorNotes)
		require.Len(t, d.Knobs, 2)
		k := d.Knobs[0]
		require.Equal(t, benchmarking, k.Name)
		require.Equal(t, int64(-0x3381aaf3977f1b97), k.ID, "hipDNN's id of global.benchmarking, 0xCC7E550C6880E469")
		require.Equal(t, wire.IntValue(0), k.DefaultValue)
		require.Equal(t, &wire.IntConstraint{Min: 0, Max: 1, Step: 1}, k.Constraints)
		require.Equal(t, workspaceLimit, d.Knobs[1].Name)
		require.Equal(t, wire.IntValue(math.MaxInt64), d.Knobs[1].DefaultValue)
	}
	_, err := h.Details(5, wire.WriteGraph(sample(enginetest.Forward)))
	fails(t, err, engine.StatusInvalidValue, "no engine has the id 5")
}

func TestConfigurations(t *testing.T) {
	h := open(t, newFake())
	g := wire.WriteGraph(sample(enginetest.Forward))
	for _, c := range []struct {
		config []byte
		text   string
	}{
		{configOf(99), "no engine has the id 99"},
		{configOf(standard, setting("global.deterministic", 1)), `has no knob "global.deterministic"`},
		{configOf(standard, setting(benchmarking, 2)), `knob "global.benchmarking" is 2`},
		{configOf(standard, setting(benchmarking, -1)), `knob "global.benchmarking" is -1`},
		{configOf(standard, setting(workspaceLimit, -1)), `knob "global.workspace_size_limit" is -1`},
		{configOf(standard, setting(benchmarking, 0), setting(benchmarking, 1)), "set twice"},
		{configOf(standard, wire.KnobSetting{KnobID: benchmarking, Value: wire.FloatValue(1)}), "whole number"},
		{configOf(standard, wire.KnobSetting{KnobID: benchmarking, Value: wire.StringValue("1")}), "whole number"},
	} {
		_, err := h.Prepare(c.config, g)
		fails(t, err, engine.StatusInvalidValue, c.text)
		_, err = h.WorkspaceSize(c.config, g)
		fails(t, err, engine.StatusInvalidValue, c.text)
	}
}

func TestChoiceOfSolution(t *testing.T) {
	g := sample(enginetest.Forward)
	for name, c := range map[string]struct {
		settings  []wire.KnobSetting
		spoil     func(f *fake)
		solution  string
		workspace uint64 // of the context
		bound     uint64 // told before
	}{
		"MIOpen's first":      {nil, nil, "solution 91", 4096, 4096},
		"the first that fits": {[]wire.KnobSetting{setting(workspaceLimit, 4095)}, nil, "solution 85", 0, 0},
		"at the limit":        {[]wire.KnobSetting{setting(workspaceLimit, 4096)}, nil, "solution 91", 4096, 4096},
		"the fastest":         {[]wire.KnobSetting{setting(benchmarking, 1)}, nil, "solution 85", 0, 4096},
		"benchmarking off":    {[]wire.KnobSetting{setting(benchmarking, 0)}, nil, "solution 91", 4096, 4096},
		"the fastest that fits": {[]wire.KnobSetting{setting(benchmarking, 1), setting(workspaceLimit, 1)}, func(f *fake) {
			f.found[0].ID, f.found[1].ID = 91, 85
			f.found[0].Workspace, f.found[1].Workspace = 4096, 0
		}, "solution 85", 0, 0},
		"the first that compiles": {nil, func(f *fake) { f.uncompilable = map[uint64]bool{91: true} }, "solution 85", 0, 4096},
		"the last that compiles": {nil, func(f *fake) {
			f.solutions[0].Workspace, f.solutions[1].Workspace = 0, 4096
			f.uncompilable = map[uint64]bool{91: true}
		}, "solution 85", 4096, 4096},
		"the first needs none":     {nil, func(f *fake) { f.solutions[0].Workspace, f.solutions[1].Workspace = 0, 4096 }, "solution 91", 0, 4096},
		"needs more than was said": {[]wire.KnobSetting{setting(workspaceLimit, 100)}, func(f *fake) { f.solutions[1].Workspace = 100 }, "solution 85", 100, 100},
	} {
		f := newFake()
		if c.spoil != nil {
			c.spoil(f)
		}
		h := open(t, f)
		bound, err := h.WorkspaceSize(configOf(standard, c.settings...), wire.WriteGraph(g))
		require.NoError(t, err, name)
		require.Equal(t, c.bound, bound, name)
		x, err := h.Prepare(configOf(standard, c.settings...), wire.WriteGraph(g))
		require.NoError(t, err, name)
		require.Equal(t, c.workspace, x.WorkspaceSize(), name)
		require.NoError(t, x.Execute(h, 77, buffers(g)))
		require.True(t, strings.HasSuffix(f.run[0], c.solution), "%s: %s", name, f.run[0])
		require.NoError(t, x.Close())
		require.NoError(t, h.Close())
		require.Empty(t, f.live)
	}
}

func TestNoSolutionFits(t *testing.T) {
	f := newFake()
	f.solutions = []engine.Solution{{ID: 91, Workspace: 4096}, {ID: 92, Workspace: 100}}
	h := open(t, f)
	g := wire.WriteGraph(sample(enginetest.Forward))
	_, err := h.Prepare(configOf(standard, setting(workspaceLimit, 99)), g)
	fails(t, err, engine.StatusNotApplicable, "99 bytes of workspace are less than any of 2 solutions of MIOpen needs, the least 100")
	_, err = h.WorkspaceSize(configOf(standard, setting(workspaceLimit, 99)), g)
	fails(t, err, engine.StatusNotApplicable, "99 bytes")

	f.uncompilable = map[uint64]bool{91: true, 92: true}
	_, err = h.Prepare(configOf(standard), g)
	fails(t, err, engine.StatusInternalError, "solution 91")
	require.Contains(t, err.Error(), "then: MIOpen (private): miopenConvolutionForwardCompileSolution: miopenStatusUnknownError (7): solution 92")

	// What MIOpen's list says and what it says of the solution can differ: the latter counts.
	f = newFake()
	f.solutions[0].Workspace = 4096
	f.found = []engine.Solution{{ID: 91, Workspace: 0}}
	_, err = open(t, f).Prepare(configOf(standard, setting(benchmarking, 1), setting(workspaceLimit, 5)), g)
	fails(t, err, engine.StatusNotApplicable, "4096 bytes of workspace are needed, the limit is 5")
	f.found = nil
	_, err = open(t, f).Prepare(configOf(standard, setting(benchmarking, 1)), g)
	declines(t, err, translate.NoSolution)
}

func TestDeterministicAttribute(t *testing.T) {
	for k := range enginetest.Kinds {
		for _, e := range engine.Engines {
			f := newFake()
			_, err := open(t, f).Prepare(configOf(e.ID), wire.WriteGraph(sample(k)))
			require.NoError(t, err)
			want := map[int32]int32{}
			if e.Deterministic {
				want[1] = 1 // MIOPEN_CONVOLUTION_ATTRIB_DETERMINISTIC
			}
			require.Equal(t, want, f.attributes, "%v %s", k, e.Name)
		}
	}
}

// One spatial dimension is two for MIOpen, of a layout that is the same.
func TestPadding(t *testing.T) {
	for _, layout := range enginetest.Layouts {
		f := newFake()
		const tensors = 4
		g := enginetest.Random(rand.New(rand.NewPCG(1, 4)), enginetest.BiasReLU, graph.Half, 1, layout)
		_, err := open(t, f).Prepare(configOf(standard), wire.WriteGraph(enginetest.Wire(g)))
		require.NoError(t, err)
		require.Len(t, f.tensors, tensors)
		for _, d := range f.tensors {
			require.Len(t, d.dims, 4)
			require.Equal(t, uint64(1), d.dims[3])
			require.Equal(t, d.strides[2], d.strides[3])
			require.Equal(t, miopen.Half, d.typ)
		}
	}
}

func TestExecute(t *testing.T) {
	for k, want := range map[enginetest.Kind][]string{
		enginetest.Forward:         {"miopenConvolutionForward {1000 1001 1002} 77/4096 solution 91"},
		enginetest.BackwardData:    {"miopenConvolutionBackwardData {1000 1001 1002} 77/4096 solution 91"},
		enginetest.BackwardWeights: {"miopenConvolutionBackwardWeights {1000 1001 1002} 77/4096 solution 91"},
		enginetest.Bias:            {"w 1001", "bias 1004", "fused x 1000 y 1002 77/10"},
		enginetest.BiasReLU:        {"w 1001", "bias 1004", "miopenActivationRELU 0 0", "fused x 1000 y 1002 77/10"},
		enginetest.ReLU:            {"w 1001", "miopenActivationRELU 0 0", "fused x 1000 y 1002 77/10"},
	} {
		g := sample(k)
		for _, n := range g.Nodes {
			if p, ok := n.Attributes.(*wire.Pointwise); ok {
				p.ReLULowerClip, p.ReLUUpperClip, p.ReLULowerClipSlope = nil, nil, nil
			}
		}
		f := newFake()
		f.fusedBytes = 10
		h := open(t, f)
		x, err := h.Prepare(configOf(standard), wire.WriteGraph(g))
		require.NoError(t, err, k)
		before := len(f.calls)

		fails(t, x.Execute(h, 0, buffers(g)), engine.StatusBadParam, "no workspace")
		fails(t, x.Execute(h, 77, nil), engine.StatusBadParam, "none of 0 buffers")
		for i := range buffers(g) {
			b := buffers(g)
			b[i].Address = 0
			fails(t, x.Execute(h, 77, b), engine.StatusBadParam, "null pointer")
			b[i] = engine.Buffer{UID: 4321, Address: 5}
			fails(t, x.Execute(h, 77, b), engine.StatusBadParam, "none of")
		}
		require.Len(t, f.calls, before, "nothing is called when the call is wrong")
		require.Empty(t, f.run)

		b := append([]engine.Buffer{{UID: 4321, Address: 1}}, buffers(g)...)
		require.NoError(t, x.Execute(h, 77, b), k)
		require.Equal(t, want, f.run, k)

		other := open(t, f)
		fails(t, x.Execute(other, 77, b), engine.StatusInvalidValue, "another handle")
		require.NoError(t, x.Close())
		fails(t, x.Execute(h, 77, b), engine.StatusBadParam, "the context is closed")
		fails(t, x.Close(), engine.StatusBadParam, "closed already")
		require.NoError(t, h.Close())
		require.Empty(t, f.live)
	}
}

func TestContextOutlivesItsHandle(t *testing.T) {
	f := newFake()
	h := open(t, f)
	g := sample(enginetest.BiasReLU)
	x, err := h.Prepare(configOf(standard), wire.WriteGraph(g))
	require.NoError(t, err)
	require.NoError(t, h.Close())
	fails(t, x.Execute(h, 1, buffers(g)), engine.StatusBadParam, "handle is closed")
	require.NoError(t, x.Close())
	require.Empty(t, f.live)

	fails(t, h.Close(), engine.StatusBadParam, "closed already")
	fails(t, h.SetStream(3), engine.StatusBadParam, "closed")
	_, err = h.Applicable(wire.WriteGraph(g))
	fails(t, err, engine.StatusBadParam, "closed")
	_, err = h.Prepare(configOf(standard), wire.WriteGraph(g))
	fails(t, err, engine.StatusBadParam, "closed")
}

func TestStreams(t *testing.T) {
	f := newFake()
	h := open(t, f)
	require.Empty(t, f.calls, "MIOpen's handle is not made before it is needed")
	require.NoError(t, h.SetStream(11))
	require.Empty(t, f.calls)
	_, err := h.Applicable(wire.WriteGraph(sample(enginetest.Forward)))
	require.NoError(t, err)
	require.Equal(t, uintptr(11), f.stream)
	require.NoError(t, h.SetStream(2))
	require.Equal(t, uintptr(2), f.stream)
	require.NoError(t, h.Close())

	f = newFake()
	_, err = open(t, f).Applicable(wire.WriteGraph(sample(enginetest.Forward)))
	require.NoError(t, err)
	require.NotContains(t, f.calls, "miopenSetStream", "without a stream of hipDNN's, it is MIOpen's default")
	_, err = engine.Open(nil)
	fails(t, err, engine.StatusInternalError, "no MIOpen")
}

func TestExecuteDoesNotAllocate(t *testing.T) {
	for k := range enginetest.Kinds {
		h := open(t, still{newFake()})
		g := sample(k)
		x, err := h.Prepare(configOf(standard), wire.WriteGraph(g))
		require.NoError(t, err)
		b := buffers(g)
		require.Zero(t, testing.AllocsPerRun(100, func() {
			if err := x.Execute(h, 77, b); err != nil {
				t.Fatal(err)
			}
		}), k)
	}
}

func TestThreads(t *testing.T) {
	f := newFake()
	h := open(t, f)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			g := sample(enginetest.Kind(i) % enginetest.Kinds)
			for range 20 {
				x, err := h.Prepare(configOf(standard), wire.WriteGraph(g))
				if err != nil {
					panic(err)
				}
				if err := x.Execute(h, 77, buffers(g)); err != nil {
					panic(err)
				}
				if err := x.Close(); err != nil {
					panic(err)
				}
			}
		}()
	}
	wg.Wait()
	require.NoError(t, h.Close())
	require.Empty(t, f.live)
}

func TestSerialisedContexts(t *testing.T) {
	for k := range enginetest.Kinds {
		for _, settings := range [][]wire.KnobSetting{nil, {setting(workspaceLimit, 5000), setting(benchmarking, 1)}} {
			f := newFake()
			h := open(t, f)
			g := sample(k)
			x, err := h.Prepare(configOf(deterministic, settings...), wire.WriteGraph(g))
			require.NoError(t, err)
			b := x.Serialize()
			require.NoError(t, x.Close())

			second := open(t, f)
			y, err := second.Restore(b)
			require.NoError(t, err, k)
			require.Equal(t, x.WorkspaceSize(), y.WorkspaceSize())
			require.Equal(t, b, y.Serialize(), "the way back is exact")
			require.NoError(t, y.Execute(second, 77, buffers(g)))
			fails(t, y.Execute(h, 77, buffers(g)), engine.StatusInvalidValue, "another handle")
			require.NoError(t, y.Close())
			require.NoError(t, second.Close())
			require.NoError(t, h.Close())
			require.Empty(t, f.live)
		}
	}
}

// resum writes the checksum that the bytes have now.
func resum(b []byte) []byte {
	binary.LittleEndian.PutUint64(b[16:], xxhash.Sum64(b[24:]))
	return b
}

func TestSpoiltSerialisedContexts(t *testing.T) {
	f := newFake()
	h := open(t, f)
	x, err := h.Prepare(configOf(standard), wire.WriteGraph(sample(enginetest.Forward)))
	require.NoError(t, err)
	good := x.Serialize()
	require.NoError(t, x.Close())
	live := len(f.live)
	spoilt := func(change func(b []byte) []byte) error {
		_, err := h.Restore(change(append([]byte(nil), good...)))
		return err
	}
	for at := range good {
		err := spoilt(func(b []byte) []byte { b[at] ^= 1 << (at % 8); return b })
		fails(t, err, engine.StatusInvalidValue, "plugin: ")
	}
	for n := range good {
		fails(t, spoilt(func(b []byte) []byte { return b[:n] }), engine.StatusInvalidValue, "plugin: ")
	}
	fails(t, spoilt(func(b []byte) []byte { return append(b, 0) }), engine.StatusInvalidValue, "bytes, it was written with")
	put := func(at int, v uint64) func(b []byte) []byte {
		return func(b []byte) []byte { binary.LittleEndian.PutUint64(b[at:], v); return resum(b) }
	}
	fails(t, spoilt(put(24, 4)), engine.StatusInvalidValue, "serialised with MIOpen 4.5.1, this is 3.5.1")
	fails(t, spoilt(put(40, 9)), engine.StatusInvalidValue, "serialised with MIOpen 3.5.9, this is 3.5.1")
	fails(t, spoilt(put(48, 9)), engine.StatusInvalidValue, "no engine has the id 9")
	fails(t, spoilt(put(56, 2)), engine.StatusInvalidValue, "benchmarking 2")
	fails(t, spoilt(put(64, 9)), engine.StatusNotApplicable, "4096 bytes of workspace are needed, the limit is 9")
	fails(t, spoilt(put(72, 7)), engine.StatusInvalidValue, "solution 7 is none of the 2 that MIOpen has here: build the plan anew")
	fails(t, spoilt(put(80, 1<<60)), engine.StatusBadParam, "plugin: the graph")
	require.Len(t, f.live, live, "failures leave nothing behind")
	require.NoError(t, spoilt(func(b []byte) []byte { return resum(b) }), "the control")
}

func TestFusedWorkspace(t *testing.T) {
	g := wire.WriteGraph(sample(enginetest.BiasReLU))
	f := newFake()
	f.fusedBytes = 100
	h := open(t, f)
	bytes, err := h.WorkspaceSize(configOf(standard), g)
	require.NoError(t, err)
	require.Equal(t, uint64(100), bytes)
	require.NotContains(t, f.calls, "miopenCompileFusionPlan")
	bytes, err = h.WorkspaceSize(configOf(standard, setting(workspaceLimit, 50)), g)
	require.NoError(t, err)
	require.Equal(t, uint64(50), bytes, "a plan that needs more would not be made")
	_, err = h.Prepare(configOf(standard, setting(workspaceLimit, 50)), g)
	fails(t, err, engine.StatusNotApplicable, "100 bytes of workspace are needed, the limit is 50")
	f.oldFusion = true
	_, err = h.Prepare(configOf(standard), g)
	fails(t, err, engine.StatusNotApplicable, "cannot be given")
	f.fusedBytes = 0
	_, err = h.Prepare(configOf(standard), g)
	require.NoError(t, err)
}

// Every call of MIOpen fails once, with every kind of status: the failure is named, and nothing is
// left behind.
func TestEveryCallFails(t *testing.T) {
	use := func(k enginetest.Kind, settings ...wire.KnobSetting) func(h *engine.Handle) error {
		return func(h *engine.Handle) error {
			g := sample(k)
			if err := h.SetStream(5); err != nil {
				return err
			}
			if _, err := h.Applicable(wire.WriteGraph(g)); err != nil {
				return err
			}
			if _, err := h.WorkspaceSize(configOf(deterministic, settings...), wire.WriteGraph(g)); err != nil {
				return err
			}
			x, err := h.Prepare(configOf(deterministic, settings...), wire.WriteGraph(g))
			if err != nil {
				return err
			}
			b := x.Serialize()
			if err := errors.Join(x.Execute(h, 77, buffers(g)), x.Close()); err != nil {
				return err
			}
			if x, err = h.Restore(b); err != nil {
				return err
			}
			return errors.Join(h.SetStream(6), x.Execute(h, 77, buffers(g)), x.Close())
		}
	}
	total, survived := 0, 0
	for name, scenario := range map[string]func(h *engine.Handle) error{
		"forward": use(enginetest.Forward), "backward data": use(enginetest.BackwardData), "backward weights": use(enginetest.BackwardWeights),
		"fused": use(enginetest.BiasReLU), "bias": use(enginetest.Bias), "benchmarking": use(enginetest.Forward, setting(benchmarking, 1)),
	} {
		control := newFake()
		h := open(t, control)
		require.NoError(t, scenario(h), name)
		require.NoError(t, h.Close())
		require.Empty(t, control.live)
		n := len(control.calls)
		require.Greater(t, n, 20)
		for at := range n {
			for status, want := range map[miopen.Status]engine.Status{
				miopen.StatusAllocFailed:    engine.StatusAllocFailed,
				miopen.StatusUnsupportedOp:  engine.StatusNotApplicable,
				miopen.StatusInternalError:  engine.StatusInternalError,
				miopen.StatusNotInitialized: engine.StatusInternalError,
				99:                          engine.StatusInternalError,
			} {
				f := newFake()
				f.failAt, f.status = at, status
				h := open(t, f)
				err := errors.Join(scenario(h), h.Close())
				call := f.calls[at]
				require.Empty(t, f.live, "%s: after %s failed", name, call)
				if err == nil {
					// Another solution was there, or another engine that applies.
					require.Regexp(t, "(CompileSolution|GetSolutionWorkspaceSize|GetSolution)$", call)
					survived++
					continue
				}
				var e *engine.Error
				require.ErrorAs(t, err, &e, "%s: %s", name, call)
				require.Equal(t, want, e.Status, "%s: %v", name, e)
				require.Contains(t, e.Text, call)
				require.Contains(t, e.Text, status.String())
				require.Contains(t, e.Text, "MIOpen")
				total++
			}
		}
	}
	require.Greater(t, total, 1000)
	require.Less(t, survived, total/20)
	t.Logf("%d failures told, %d made up for", total, survived)
}

// anyBytes gives the functions of a handle bytes of any kind: none may panic, or leave something
// behind. It returns how many plans were made.
func anyBytes(t *testing.T, config, graph, serialised []byte) (plans int) {
	t.Helper()
	m := newFake()
	h := open(t, m)
	closing := func(x *engine.Context, err error) {
		if err == nil {
			require.NoError(t, x.Close())
			plans++
		}
	}
	if ids, err := h.Applicable(graph); err == nil {
		require.NotEmpty(t, ids)
	}
	_, _ = h.Details(standard, graph)
	_, _ = h.WorkspaceSize(config, graph)
	closing(h.Prepare(config, graph))
	closing(h.Restore(serialised))
	if len(serialised) > 24 {
		closing(h.Restore(resum(slices.Clone(serialised))))
	}
	require.NoError(t, h.Close())
	require.Empty(t, m.live)
	return plans
}

// seeds are calls that are right.
func seeds(t testing.TB) (out [][3][]byte) {
	t.Helper()
	for k := range enginetest.Kinds {
		h, err := engine.Open(newFake())
		require.NoError(t, err)
		x, err := h.Prepare(configOf(deterministic, setting(workspaceLimit, 5000)), wire.WriteGraph(sample(k)))
		require.NoError(t, err)
		out = append(out, [3][]byte{configOf(deterministic, setting(benchmarking, 1)), wire.WriteGraph(sample(k)), x.Serialize()})
	}
	return out
}

func TestMutatedBytes(t *testing.T) {
	rng := rand.New(rand.NewPCG(23, 0))
	all := seeds(t)
	plans := 0
	const n = 5000
	for range n {
		s := all[rng.IntN(len(all))]
		for i := range s {
			s[i] = slices.Clone(s[i])
			for range rng.IntN(3) {
				s[i][rng.IntN(len(s[i]))] ^= 1 << rng.IntN(8)
			}
		}
		plans += anyBytes(t, s[0], s[1], s[2])
	}
	t.Logf("%d plans from %d calls", plans, n)
	require.Greater(t, plans, n/3)
	require.Less(t, plans, 2*n)
}

func FuzzHandle(f *testing.F) {
	for _, s := range seeds(f) {
		f.Add(s[0], s[1], s[2])
	}
	f.Fuzz(func(t *testing.T, config, graph, serialised []byte) { anyBytes(t, config, graph, serialised) })
}
