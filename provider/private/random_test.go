package private_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
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

// wrong is the error of a graph that was run and gave something else than it should.
type wrong struct{ error }

// judge says how the tensors of a graph after its execution differ from what they have to be.
func judge(g *wire.Graph, before, after map[int64][]byte) error {
	if err := compare(g, before, after); err != nil {
		return wrong{err}
	}
	return nil
}

func compare(g *wire.Graph, before, after map[int64][]byte) error {
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
	var differ []oracle.Mismatch
	if len(g.Nodes) > 1 {
		want, err := conv.Fused(o, epilogue)
		if err != nil {
			return err
		}
		if differ, err = oracle.CompareBounds(o.Y, after[result], want); err != nil {
			return err
		}
	} else {
		want, err := conv.Compute(direction, o)
		if err != nil {
			return err
		}
		if differ, err = oracle.Compare(o.X.Type, shape(result), after[result], want); err != nil {
			return err
		}
	}
	if len(differ) > 0 {
		return fmt.Errorf("%d elements differ, the first: %v", len(differ), differ[0])
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
	lower, upper, slope := 0.0, math.Inf(1), 0.0
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

// runGraph takes a graph the whole way and judges what comes out.
func runGraph(h *engine.Handle, g *wire.Graph, rng *rand.Rand, settings ...wire.KnobSetting) (outcome, error) {
	serialized := wire.WriteGraph(g)
	ids, err := h.Applicable(serialized)
	if err != nil {
		var d *translate.Decline
		if !errors.As(err, &d) || d.Reason == translate.NoReason {
			return outcome{}, fmt.Errorf("no reason: %w", err)
		}
		return outcome{declined: d}, nil
	}
	config := wire.WriteEngineConfig(&wire.EngineConfig{EngineID: ids[rng.IntN(len(ids))], Knobs: settings})
	bound, err := h.WorkspaceSize(config, serialized)
	if err != nil {
		return outcome{}, err
	}
	x, err := h.Prepare(config, serialized)
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
	const room = 1 << 14 // for what reaches further than it should
	var beyond [][]byte
	for i := range g.Tensors {
		t := &g.Tensors[i]
		if t.Virtual {
			continue
		}
		shape := oracle.Tensor{Type: oracleTypes[t.Type], Lengths: ints(t.Dims), Strides: ints(t.Strides)}
		block := privatetest.Allocate(shape.Bytes() + room)
		defer block.Free()
		m := block[:shape.Bytes()]
		shape.Each(func(_ []int, offset int) { shape.Type.Put(m[offset:], rng.NormFloat64()) })
		before[t.UID], after[t.UID] = slices.Clone(m), m
		beyond = append(beyond, block[len(m):])
		buffers = append(buffers, engine.Buffer{UID: t.UID, Address: m.Address()})
	}
	rng.Shuffle(len(buffers), func(i, j int) { buffers[i], buffers[j] = buffers[j], buffers[i] })
	if err := x.Execute(h, workspace.Address(), buffers); err != nil {
		return err
	}
	for _, b := range beyond {
		if bytes.Count(b, b[:1]) != len(b) {
			return wrong{errors.New("something beyond a tensor was written")}
		}
	}
	return judge(g, before, after)
}

// drawn is a graph of any kind, most of them such that the engines run them.
type drawn struct {
	*wire.Graph
	kind   enginetest.Kind
	loose  bool // has gaps
	spoilt bool
}

func draw(rng *rand.Rand) drawn {
	d := drawn{kind: enginetest.Kind(rng.IntN(int(enginetest.Kinds)))}
	layouts := enginetest.Layouts
	if rng.IntN(6) == 0 {
		layouts = enginetest.Loose
	}
	d.Graph = enginetest.Wire(enginetest.Random(rng, d.kind, enginetest.Types[rng.IntN(3)], 1+rng.IntN(3), layouts[rng.IntN(len(layouts))]))
	for i := range d.Tensors {
		d.loose = d.loose || !d.Tensors[i].Virtual && !packed(&d.Tensors[i])
	}
	if rng.IntN(2) == 0 {
		enginetest.Loosen(rng, d.Graph)
	}
	if d.spoilt = rng.IntN(3) == 0; d.spoilt {
		for range 1 + rng.IntN(2) {
			enginetest.Spoil(rng, d.Graph)
		}
	}
	return d
}

// packed reports whether a tensor has nothing between its elements, which do not overlap.
func packed(t *wire.Tensor) bool {
	elements, reach := int64(1), int64(1)
	for i, n := range t.Dims {
		elements *= n
		reach += (n - 1) * t.Strides[i]
	}
	return elements == reach
}

// strict is MIOpen as it is, where the reference honours whatever strides it is given. Tensors lie channels first if their
// strides allow it, those of dimensions of one element left out, else channels last. The naive solvers then sort a tensor's
// strides and take them for those of its layout; the solvers by matrix products read of the strides the layout alone.
type strict struct {
	engine.MIOpen
	layoutAlone bool
	tensors     []described // of the convolution that is being described
}

type described struct {
	tensor        engine.Object
	typ           miopen.DataType
	dims, strides []uint64
}

func (m *strict) SetTensor(o engine.Object, typ miopen.DataType, dims, strides []uint64) miopen.Status {
	m.tensors = append(m.tensors, described{o, typ, dims, strides})
	return m.MIOpen.SetTensor(o, typ, dims, strides)
}

func (m *strict) InitConvolution(o engine.Object, pads, strides, dilations []int32, mode miopen.Mode) miopen.Status {
	channelsFirst := true
	for _, t := range m.tensors {
		last := uint64(math.MaxUint64)
		for i, n := range t.dims {
			if n > 1 {
				channelsFirst = channelsFirst && t.strides[i] <= last
				last = t.strides[i]
			}
		}
	}
	for _, t := range m.tensors {
		order := make([]int, 0, len(t.dims)) // from the outside
		for i := range t.dims {
			order = append(order, i)
		}
		if !channelsFirst {
			order = append(slices.Delete(order, 1, 2), 1)
		}
		taken := slices.Clone(t.strides)
		slices.Sort(taken)
		slices.Reverse(taken)
		if m.layoutAlone {
			next := uint64(1)
			for i := len(order) - 1; i >= 0; i-- {
				taken[i], next = next, next*t.dims[order[i]]
			}
		}
		read := make([]uint64, len(taken))
		for i, at := range order {
			read[at] = taken[i]
		}
		if s := m.MIOpen.SetTensor(t.tensor, t.typ, t.dims, read); s != miopen.StatusSuccess {
			return s
		}
	}
	m.tensors = nil
	return m.MIOpen.InitConvolution(o, pads, strides, dilations, mode)
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
	var handles [2]*engine.Handle
	for i := range handles {
		h, err := engine.Open(&strict{MIOpen: library(t), layoutAlone: i == 1})
		require.NoError(t, err)
		handles[i] = h
	}
	run := map[string]int{}
	reasons := map[translate.Reason]int{}
	sound, accepted, refused, spoiltRun, loose := 0, 0, 0, 0, 0
	for i := range n {
		d := draw(rng)
		g, k, spoilt := d.Graph, d.kind, d.spoilt
		h := handles[i%2]
		settings := []wire.KnobSetting{}
		if rng.IntN(8) == 0 {
			settings = append(settings, wire.KnobSetting{KnobID: "global.benchmarking", Value: wire.IntValue(1)})
		}
		o, err := runGraph(h, g, rng, settings...)
		require.NoError(t, err, "graph %d, %v: %+v", i, k, g)
		switch {
		case o.declined != nil:
			// MIOpen fuses little: not every graph that is one of a fused convolution.
			require.True(t, spoilt || d.loose || k >= enginetest.Bias && (o.declined.Reason == translate.FusedLayout || o.declined.Reason == translate.NoSolution), "graph %d, %v: %v: %+v", i, k, o.declined, g)
			if d.loose && !spoilt {
				want := translate.NotPacked
				if k >= enginetest.Bias {
					want = translate.FusedLayout
				}
				require.Equal(t, want, o.declined.Reason, "graph %d, %v: %v: %+v", i, k, o.declined, g)
				loose++
			}
			reasons[o.declined.Reason]++
			continue
		case o.refused != nil:
			require.Contains(t, o.refused.Text, "miopenCompileFusionPlan: miopenStatusUnsupportedOp", "graph %d", i)
			refused++
			continue
		}
		require.True(t, spoilt || !d.loose, "graph %d, %v, has gaps and was run: %+v", i, k, g)
		accepted++
		if spoilt {
			spoiltRun++
		} else {
			sound++
		}
		run[k.String()]++
	}
	for _, h := range handles {
		require.NoError(t, h.Close())
	}
	t.Logf("%d graphs: %d run (%d of them though spoilt) %v; %d refused by MIOpen; declined %v, %d sound ones with gaps", n, accepted, spoiltRun, run, refused, reasons, loose)
	require.Greater(t, accepted, 2*n/5)
	require.Greater(t, loose, n/20)
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
		for i := 0; i < 400 && !errors.As(seen, &wrong{}); i++ {
			k := enginetest.Kind(i) % enginetest.Kinds
			// Small strides keep what is misread within the tensors.
			g := enginetest.Random(rng, k, graph.Float, 2, "channels-last")
			w := enginetest.Wire(g)
			if name == "x where w is" && len(w.Tensors) > 1 && !fits(&w.Tensors[0], &w.Tensors[1]) {
				continue
			}
			_, seen = runGraph(h, w, rng)
		}
		require.ErrorAs(t, seen, &wrong{}, "%s goes unnoticed", name)
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
