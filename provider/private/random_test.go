package private_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/hipdnnbridge/graph"
	"example.com/miopen_hipdnn_shim/hipdnnbridge/miopen"
	"example.com/miopen_hipdnn_shim/hipdnnbridge/translate"
	"example.com/miopen_hipdnn_shim/provider/engine"
	"example.com/miopen_hipdnn_shim/provider/engine/enginetest"
	"example.com/miopen_hipdnn_shim/provider/private/privatetest"
	"example.com/miopen_hipdnn_shim/provider/wire"
	"example.com/miopen_hipdnn_shim/tests/oracle"
)

// The graphs go the whole way: serialised bytes, engine, the plugin's table, the reference MIOpen.
// The judge reads the same graph with no look at any of these and asks the oracle.

var oracleTypes = map[graph.DataType]oracle.Type{graph.Float: oracle.Float, graph.Half: oracle.Half, graph.BFloat16: oracle.BFloat16}

func ints(v []int64) []int {
	out := make([]int, len(v))
	for i := range v {
		out[i] = int(v[i])
	}
	return out
}

// resolved is a graph with every default written out.
func resolved(g *wire.Graph) *wire.Graph {
	out := *g
	out.Tensors, out.Nodes = slices.Clone(g.Tensors), slices.Clone(g.Nodes)
	for i := range out.Tensors {
		if t := &out.Tensors[i]; t.Type == graph.Unset {
			if t.Type = g.IO; t.Virtual {
				t.Type = g.Intermediate
			}
		}
	}
	for i := range out.Nodes {
		if n := &out.Nodes[i]; n.Compute == graph.Unset {
			n.Compute = g.Compute
		}
	}
	return &out
}

// judge says how the tensors of a graph after its execution differ from what they have to be.
func judge(g *wire.Graph, before, after map[int64][]byte) error {
	tensors := map[int64]*wire.Tensor{}
	for i := range g.Tensors {
		tensors[g.Tensors[i].UID] = &g.Tensors[i]
	}
	shape := func(uid int64) oracle.Tensor {
		t := tensors[uid]
		return oracle.Tensor{Type: oracleTypes[t.Type], Lengths: ints(t.Dims), Strides: ints(t.Strides)}
	}
	var x, w, y int64
	var window *wire.Window
	direction := oracle.Forward
	switch a := g.Nodes[0].Attributes.(type) {
	case *wire.ConvolutionFwd:
		x, w, y, window = a.X, a.W, a.Y, &a.Window
	case *wire.ConvolutionBwd:
		x, w, y, window, direction = a.DX, a.W, a.DY, &a.Window, oracle.BackwardData
	case *wire.ConvolutionWrw:
		x, w, y, window, direction = a.X, a.DW, a.DY, &a.Window, oracle.BackwardWeights
	default:
		return fmt.Errorf("a graph that begins with a %T was run", a)
	}
	if window.Mode != graph.CrossCorrelation || !slices.Equal(window.PrePadding, window.PostPadding) {
		return fmt.Errorf("a graph with mode %v and pads %v and %v was run", window.Mode, window.PrePadding, window.PostPadding)
	}
	for i := range g.Nodes {
		if g.Nodes[i].Compute != graph.Float {
			return fmt.Errorf("a graph that computes in %v was run", g.Nodes[i].Compute)
		}
	}
	conv := oracle.Convolution{
		Pads: ints(window.PrePadding), Strides: ints(window.Stride), Dilations: ints(window.Dilation),
		Groups: int(tensors[x].Dims[1] / tensors[w].Dims[1]),
	}
	result := map[oracle.Direction]int64{oracle.Forward: y, oracle.BackwardData: x, oracle.BackwardWeights: w}[direction]
	var epilogue oracle.Epilogue
	for i := range g.Nodes[1:] {
		a, ok := g.Nodes[1+i].Attributes.(*wire.Pointwise)
		if t := tensors[result]; !ok || !t.Virtual || t.Type != graph.Float {
			return fmt.Errorf("a graph that does not fuse was run")
		}
		if a.Mode == graph.PointwiseAdd {
			bias := a.In0
			if bias == result {
				bias = *a.In1
			}
			epilogue.Bias, epilogue.BiasData = shape(bias), before[bias]
		} else {
			epilogue.Activation = rectifier(a)
		}
		result = a.Out0
	}
	if direction == oracle.Forward {
		y = result
	}
	o := oracle.Operands{X: shape(x), W: shape(w), Y: shape(y), XData: before[x], WData: before[w], YData: before[y], Alpha: 1}
	for uid := range before {
		if uid != result && string(before[uid]) != string(after[uid]) {
			return fmt.Errorf("tensor %d, which is only read, was changed", uid)
		}
	}
	if err := gaps(shape(result), before[result], after[result]); err != nil {
		return err
	}
	var wrong []oracle.Mismatch
	if len(g.Nodes) > 1 {
		want, err := conv.Fused(o, epilogue)
		if err != nil {
			return err
		}
		if wrong, err = oracle.CompareBounds(o.Y, after[result], want); err != nil {
			return err
		}
	} else {
		want, err := conv.Compute(direction, o)
		if err != nil {
			return err
		}
		if wrong, err = oracle.Compare(o.X.Type, shape(result), after[result], want); err != nil {
			return err
		}
	}
	if len(wrong) > 0 {
		return fmt.Errorf("%d elements differ, the first: %v", len(wrong), wrong[0])
	}
	return nil
}

// gaps holds what lies between a tensor's elements against what was there before.
func gaps(t oracle.Tensor, before, after []byte) error {
	element := make([]bool, len(before))
	t.Each(func(_ []int, offset int) {
		for i := range t.Type.Size() {
			element[offset+i] = true
		}
	})
	for i := range before {
		if !element[i] && before[i] != after[i] {
			return fmt.Errorf("byte %d, which is no element's, was written", i)
		}
	}
	return nil
}

// rectifier is RELU_FWD as hipDNN's CPU reference has it.
func rectifier(a *wire.Pointwise) oracle.Activation {
	lower, upper, slope := 0.0, 3.4e38, 0.0
	if a.ReLULowerClip != nil {
		lower = float64(*a.ReLULowerClip)
	}
	if a.ReLUUpperClip != nil {
		upper = float64(*a.ReLUUpperClip)
	}
	if a.ReLULowerClipSlope != nil {
		slope = float64(*a.ReLULowerClipSlope)
	}
	return func(v float64) float64 {
		switch {
		case v <= lower:
			return lower + slope*(v-lower)
		case v >= upper:
			return upper
		}
		return v
	}
}

// outcome is what became of a graph.
type outcome struct {
	declined *translate.Decline // nil: it was run
	refused  *engine.Error      // by MIOpen when the plan was built
}

// runGraph takes a graph the whole way and judges what comes out. Bytes is the graph that the engine
// gets, g the one that is judged by: they differ in controls only.
func runGraph(h *engine.Handle, g *wire.Graph, bytes []byte, rng *rand.Rand, settings ...wire.KnobSetting) (outcome, error) {
	ids, err := h.Applicable(bytes)
	if err != nil {
		var d *translate.Decline
		if !errors.As(err, &d) || d.Reason == translate.NoReason {
			return outcome{}, fmt.Errorf("no reason: %w", err)
		}
		return outcome{declined: d}, nil
	}
	config := wire.WriteEngineConfig(&wire.EngineConfig{EngineID: ids[rng.IntN(len(ids))], Knobs: settings})
	bound, err := h.WorkspaceSize(config, bytes)
	if err != nil {
		return outcome{}, err
	}
	x, err := h.Prepare(config, bytes)
	if err != nil {
		var e *engine.Error
		if errors.As(err, &e) && e.Status == engine.StatusNotApplicable && len(g.Nodes) > 1 {
			return outcome{refused: e}, nil
		}
		return outcome{}, err
	}
	if x.WorkspaceSize() > bound {
		return outcome{}, fmt.Errorf("the plan needs %d bytes of workspace, %d were told", x.WorkspaceSize(), bound)
	}
	if rng.IntN(4) == 0 {
		b := x.Serialize()
		if err := x.Close(); err != nil {
			return outcome{}, err
		}
		if x, err = h.Restore(b); err != nil {
			return outcome{}, fmt.Errorf("restoring: %w", err)
		}
	}
	defer x.Close()
	return outcome{}, executeAndJudge(h, x, resolved(g), rng)
}

// executeAndJudge runs a context on random data.
func executeAndJudge(h *engine.Handle, x *engine.Context, g *wire.Graph, rng *rand.Rand) error {
	workspace := privatetest.Allocate(int(x.WorkspaceSize()))
	defer workspace.Free()
	before, after := map[int64][]byte{}, map[int64][]byte{}
	var buffers []engine.Buffer
	for i := range g.Tensors {
		t := &g.Tensors[i]
		if t.Virtual {
			continue
		}
		shape := oracle.Tensor{Type: oracleTypes[t.Type], Lengths: ints(t.Dims), Strides: ints(t.Strides)}
		m := privatetest.Allocate(shape.Bytes())
		defer m.Free()
		shape.Each(func(_ []int, offset int) { shape.Type.Put(m[offset:], rng.NormFloat64()) })
		before[t.UID], after[t.UID] = slices.Clone(m), m
		buffers = append(buffers, engine.Buffer{UID: t.UID, Address: m.Address()})
	}
	rng.Shuffle(len(buffers), func(i, j int) { buffers[i], buffers[j] = buffers[j], buffers[i] })
	if err := x.Execute(h, workspace.Address(), buffers); err != nil {
		return err
	}
	return judge(g, before, after)
}

// draw is a graph of any kind, most of them such that the engines run them.
func draw(rng *rand.Rand) (*wire.Graph, enginetest.Kind, bool) {
	k := enginetest.Kind(rng.IntN(int(enginetest.Kinds)))
	layouts := enginetest.Layouts
	if k >= enginetest.Bias {
		layouts = layouts[:2] // others are not fused
	}
	g := enginetest.Random(rng, k, enginetest.Types[rng.IntN(3)], 1+rng.IntN(3), layouts[rng.IntN(len(layouts))])
	w := enginetest.Wire(g)
	spoilt := rng.IntN(3) == 0
	if spoilt {
		for range 1 + rng.IntN(2) {
			enginetest.Spoil(rng, w)
		}
	}
	return w, k, spoilt
}

// graphs is how many random graphs are run.
func graphs(t *testing.T) int {
	t.Helper()
	text := os.Getenv("PROVIDER_GRAPHS")
	if text == "" {
		return 1000
	}
	n, err := strconv.Atoi(text)
	require.NoError(t, err)
	return n
}

func TestRandomGraphs(t *testing.T) {
	n := graphs(t)
	rng := rand.New(rand.NewPCG(17, 0))
	h, err := engine.Open(library(t))
	require.NoError(t, err)
	run := map[string]int{}
	reasons := map[translate.Reason]int{}
	sound, accepted, refused, spoiltRun := 0, 0, 0, 0
	for i := range n {
		g, k, spoilt := draw(rng)
		settings := []wire.KnobSetting{}
		if rng.IntN(8) == 0 {
			settings = append(settings, wire.KnobSetting{KnobID: "global.benchmarking", Value: wire.IntValue(1)})
		}
		o, err := runGraph(h, g, wire.WriteGraph(g), rng, settings...)
		require.NoError(t, err, "graph %d, %v: %+v", i, k, g)
		switch {
		case o.declined != nil:
			// MIOpen fuses little: not every graph that is one of a fused convolution.
			require.True(t, spoilt || k >= enginetest.Bias && (o.declined.Reason == translate.FusedLayout || o.declined.Reason == translate.NoSolution), "graph %d, %v: %v: %+v", i, k, o.declined, g)
			reasons[o.declined.Reason]++
			continue
		case o.refused != nil:
			require.Contains(t, o.refused.Text, "miopenCompileFusionPlan: miopenStatusUnsupportedOp", "graph %d", i)
			refused++
			continue
		}
		accepted++
		if spoilt {
			spoiltRun++
		} else {
			sound++
		}
		run[k.String()]++
	}
	require.NoError(t, h.Close())
	t.Logf("%d graphs: %d run (%d of them though spoilt) %v; %d refused by MIOpen; declined %v", n, accepted, spoiltRun, run, refused, reasons)
	require.Greater(t, accepted, n/2)
	require.Less(t, refused, n/50, "the engine's rules for fused graphs are the reference library's")
	for k := range enginetest.Kinds {
		floor := n / 12
		if k >= enginetest.Bias {
			floor = n / 80 // few of these are fused
		}
		require.Greater(t, run[k.String()], floor, k)
	}
	require.Greater(t, len(reasons), 10)
}

// misreading is a library that is told something else than the graph says: what a translation with a
// mistake would do. Each has to be noticed.
type misreading struct {
	engine.MIOpen
	tensor     func(dims, strides []uint64) []uint64
	window     func(pads, strides, dilations []int32)
	activation func(a miopen.Activation) miopen.Activation
	addresses  func(at engine.Addresses) engine.Addresses
}

func (m *misreading) SetTensor(o engine.Object, typ miopen.DataType, dims, strides []uint64) miopen.Status {
	if m.tensor != nil {
		strides = m.tensor(dims, strides)
	}
	return m.MIOpen.SetTensor(o, typ, dims, strides)
}

func (m *misreading) InitConvolution(o engine.Object, pads, strides, dilations []int32, mode miopen.Mode) miopen.Status {
	if m.window != nil {
		m.window(pads, strides, dilations)
	}
	return m.MIOpen.InitConvolution(o, pads, strides, dilations, mode)
}

func (m *misreading) SetArgsActivation(args, op engine.Object, a miopen.Activation) miopen.Status {
	if m.activation != nil {
		a = m.activation(a)
	}
	return m.MIOpen.SetArgsActivation(args, op, a)
}

func (m *misreading) Run(h engine.Object, c *engine.Convolution, at engine.Addresses, workspace uintptr, bytes, id uint64) miopen.Status {
	if m.addresses != nil {
		at = m.addresses(at)
	}
	return m.MIOpen.Run(h, c, at, workspace, bytes, id)
}

func TestMisreadingsAreSeen(t *testing.T) {
	for name, m := range map[string]*misreading{
		"packed strides": {tensor: func(dims, strides []uint64) []uint64 {
			out, next := make([]uint64, len(dims)), uint64(1)
			for i := len(dims) - 1; i >= 0; i-- {
				out[i], next = next, next*dims[i]
			}
			return out
		}},
		"strides and dilations exchanged": {window: func(_, strides, dilations []int32) {
			for i := range strides {
				strides[i], dilations[i] = dilations[i], strides[i]
			}
		}},
		"parameters of activations dropped": {activation: func(a miopen.Activation) miopen.Activation { a.Alpha, a.Beta = 0, 0; return a }},
		"x where w is":                      {addresses: func(at engine.Addresses) engine.Addresses { at.X = at.W; return at }},
	} {
		m.MIOpen = library(t)
		h, err := engine.Open(m)
		require.NoError(t, err)
		rng := rand.New(rand.NewPCG(18, 0))
		var seen error
		for i := 0; i < 400 && seen == nil; i++ {
			k := enginetest.Kind(i) % enginetest.Kinds
			// Small strides keep what is misread within the tensors.
			g := enginetest.Random(rng, k, graph.Float, 2, "channels-last")
			w := enginetest.Wire(g)
			if name == "x where w is" && len(w.Tensors) > 1 && !fits(&w.Tensors[0], &w.Tensors[1]) {
				continue
			}
			_, seen = runGraph(h, w, wire.WriteGraph(w), rng)
		}
		require.Error(t, seen, "%s goes unnoticed", name)
		t.Logf("%s: %.200v", name, seen)
		require.NoError(t, h.Close())
	}
}

// fits reports whether the memory of b holds a.
func fits(a, b *wire.Tensor) bool {
	size := func(t *wire.Tensor) int64 {
		n := int64(1)
		for i := range t.Dims {
			n += (t.Dims[i] - 1) * t.Strides[i]
		}
		return n
	}
	return size(a) <= size(b)
}
