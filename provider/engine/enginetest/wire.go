// Package enginetest makes graphs for the tests of the engines: serialised ones, and random ones of
// every kind that is run and of many that are not.
package enginetest

import (
	"math/rand/v2"
	"slices"
	"strings"

	"example.com/miopen_hipdnn_shim/hipdnnbridge/graph"
	"example.com/miopen_hipdnn_shim/provider/wire"
)

// Wire is a graph as hipDNN hands it to a plugin.
func Wire(g *graph.Graph) *wire.Graph {
	w := &wire.Graph{Name: g.Name, Compute: g.ComputeType, Intermediate: g.IntermediateType, IO: g.IOType}
	for i := range g.Tensors {
		t := &g.Tensors[i]
		w.Tensors = append(w.Tensors, wire.Tensor{
			UID: int64(t.UID), Name: t.Name, Type: t.Type, Dims: t.Dims, Strides: t.Strides, Virtual: t.Virtual,
			Alignment: 16, RaggedOffsetMultiplier: 1,
		})
	}
	for _, n := range g.Nodes {
		w.Nodes = append(w.Nodes, node(n))
	}
	return w
}

func node(n graph.Node) wire.Node {
	window := func(g *graph.Geometry) wire.Window {
		return wire.Window{PrePadding: g.PrePads, PostPadding: g.PostPads, Stride: g.Strides, Dilation: g.Dilations, Mode: g.Mode}
	}
	out := wire.Node{Name: n.Kind()}
	switch n := n.(type) {
	case *graph.ConvolutionForward:
		out.Compute, out.Attributes = n.Compute, &wire.ConvolutionFwd{X: int64(n.X), W: int64(n.W), Y: int64(n.Y), Window: window(&n.Geometry)}
	case *graph.ConvolutionBackwardData:
		out.Compute, out.Attributes = n.Compute, &wire.ConvolutionBwd{DY: int64(n.DY), W: int64(n.W), DX: int64(n.DX), Window: window(&n.Geometry)}
	case *graph.ConvolutionBackwardWeights:
		out.Compute, out.Attributes = n.Compute, &wire.ConvolutionWrw{X: int64(n.X), DY: int64(n.DY), DW: int64(n.DW), Window: window(&n.Geometry)}
	case *graph.Pointwise:
		p := &wire.Pointwise{
			Mode: n.Mode, In0: int64(n.In[0]), Out0: int64(n.Out),
			ReLULowerClip: n.Clip.Lower, ReLUUpperClip: n.Clip.Upper, ReLULowerClipSlope: n.Clip.Slope,
		}
		if len(n.In) > 1 {
			second := int64(n.In[1])
			p.In1 = &second
		}
		out.Compute, out.Attributes = n.Compute, p
	}
	return out
}

// Kind is what a random graph computes.
type Kind int

// The kinds of graphs that the engines run.
const (
	Forward Kind = iota
	BackwardData
	BackwardWeights
	Bias
	ReLU
	BiasReLU
	Kinds
)

// String names the kind.
func (k Kind) String() string {
	return [...]string{"forward", "backward data", "backward weights", "bias", "relu", "bias and relu"}[k]
}

// Types are the element types that the engines run.
var Types = []graph.DataType{graph.Float, graph.Half, graph.BFloat16}

// Layouts are how tensors lie in memory in graphs that are run.
var Layouts = []string{"channels-first", "channels-last"}

// Loose are the layouts with gaps between rows, channels, batches or elements, anywhere but where the draw leaves them out.
var Loose = []string{"channels-first with gaps", "channels-last with gaps"}

// Random draws a graph of a kind that the engines run, with small tensors. Tensors have the same
// layout, names are drawn.
func Random(rng *rand.Rand, k Kind, typ graph.DataType, spatial int, layout string) *graph.Graph {
	groups, c, n := int64(1), 1+rng.Int64N(4), 1+rng.Int64N(4) // channels and results per group
	if rng.IntN(3) == 0 {
		groups = 2 + rng.Int64N(2)
	}
	x := []int64{1 + rng.Int64N(3), groups * c}
	w := []int64{groups * n, c}
	y := []int64{x[0], groups * n}
	g := graph.Geometry{Mode: graph.CrossCorrelation, Compute: graph.Float}
	room := []int64{0, 12, 7, 4}[spatial]
	for range spatial {
		f, pad, stride, dilation := 1+rng.Int64N(3), rng.Int64N(3), 1+rng.Int64N(3), 1+rng.Int64N(3)
		reach := dilation*(f-1) + 1
		length := max(1, reach-2*pad) + rng.Int64N(room)
		g.PrePads, g.PostPads = append(g.PrePads, pad), append(g.PostPads, pad)
		g.Strides, g.Dilations = append(g.Strides, stride), append(g.Dilations, dilation)
		x, w, y = append(x, length), append(w, f), append(y, (length+2*pad-reach)/stride+1)
	}
	names := rng.Perm(100)
	out := &graph.Graph{Name: k.String(), ComputeType: graph.Float, IntermediateType: graph.Float, IOType: typ}
	tensor := func(name string, typ graph.DataType, dims []int64, virtual bool) graph.UID {
		uid := graph.UID(names[len(out.Tensors)] - 10) // any number is a name
		out.Tensors = append(out.Tensors, graph.Tensor{
			UID: uid, Name: name, Type: typ, Dims: dims, Strides: strides(rng, layout, dims), Virtual: virtual,
		})
		return uid
	}
	xt, wt, yt := tensor("x", typ, x, false), tensor("w", typ, w, false), tensor("y", typ, y, false)
	switch k {
	case Forward:
		out.Nodes = []graph.Node{&graph.ConvolutionForward{X: xt, W: wt, Y: yt, Geometry: g}}
		return out
	case BackwardData:
		out.Nodes = []graph.Node{&graph.ConvolutionBackwardData{DX: xt, W: wt, DY: yt, Geometry: g}}
		return out
	case BackwardWeights:
		out.Nodes = []graph.Node{&graph.ConvolutionBackwardWeights{X: xt, DW: wt, DY: yt, Geometry: g}}
		return out
	}
	result := tensor("result", graph.Float, y, true)
	out.Nodes = []graph.Node{&graph.ConvolutionForward{X: xt, W: wt, Y: result, Geometry: g}}
	if k == Bias || k == BiasReLU {
		dims := make([]int64, len(y))
		for i := range dims {
			dims[i] = 1
		}
		dims[1] = y[1]
		bias := tensor("bias", typ, dims, false)
		b := &out.Tensors[len(out.Tensors)-1]
		b.Strides = make([]int64, len(dims))
		for i := range b.Strides {
			b.Strides[i] = dims[1]
		}
		b.Strides[1] = 1
		sum := yt
		if k == BiasReLU {
			sum = tensor("sum", graph.Float, y, true)
		}
		in := []graph.UID{result, bias}
		if rng.IntN(2) == 0 {
			in[0], in[1] = in[1], in[0]
		}
		out.Nodes = append(out.Nodes, &graph.Pointwise{Mode: graph.PointwiseAdd, In: in, Out: sum, Compute: graph.Float})
		result = sum
	}
	if k != Bias {
		out.Nodes = append(out.Nodes, &graph.Pointwise{Mode: graph.PointwiseReLU, In: []graph.UID{result}, Out: yt, Compute: graph.Float, Clip: clip(rng)})
	}
	return out
}

// clip draws parameters of a rectifier that MIOpen has an activation for.
func clip(rng *rand.Rand) graph.Clip {
	number := func(v float32) *float32 { return &v }
	switch rng.IntN(6) {
	case 0:
		return graph.Clip{Upper: number(float32(1 + rng.IntN(6)))}
	case 1:
		lower := float32(rng.IntN(5) - 2)
		return graph.Clip{Lower: number(lower), Upper: number(lower + float32(rng.IntN(5)))}
	case 2:
		return graph.Clip{Slope: number(0.25)}
	case 3:
		return graph.Clip{Lower: number(0), Slope: number(0)}
	}
	return graph.Clip{}
}

func strides(rng *rand.Rand, layout string, dims []int64) []int64 {
	layout, gaps := strings.CutSuffix(layout, " with gaps")
	order := make([]int, 0, len(dims)) // from the inside
	if layout == "channels-last" {
		order = append(order, 1)
	}
	for i := len(dims) - 1; i >= 0; i-- {
		if i != 1 || layout != "channels-last" {
			order = append(order, i)
		}
	}
	out := make([]int64, len(dims))
	next := int64(1)
	for _, i := range order {
		if gaps && rng.IntN(4) == 0 {
			next += 1 + rng.Int64N(6)
		}
		out[i] = next
		next *= dims[i]
	}
	return out
}

// Loosen draws the strides of dimensions of one element, which are never used.
func Loosen(rng *rand.Rand, g *wire.Graph) {
	for i := range g.Tensors {
		t := &g.Tensors[i]
		t.Strides = slices.Clone(t.Strides)
		for d := range t.Strides {
			if t.Dims[d] == 1 && rng.IntN(2) == 0 {
				t.Strides[d] = 1 + rng.Int64N(40)
			}
		}
	}
}

// Spoil changes something about a graph. Most graphs that were changed are no longer run; some are,
// and then as they are now.
func Spoil(rng *rand.Rand, g *wire.Graph) {
	t := &g.Tensors[rng.IntN(len(g.Tensors))]
	n := &g.Nodes[rng.IntN(len(g.Nodes))]
	window := func() *wire.Window {
		switch a := g.Nodes[0].Attributes.(type) {
		case *wire.ConvolutionFwd:
			return &a.Window
		case *wire.ConvolutionBwd:
			return &a.Window
		case *wire.ConvolutionWrw:
			return &a.Window
		}
		return &wire.Window{PrePadding: []int64{0}, PostPadding: []int64{0}, Stride: []int64{1}, Dilation: []int64{1}}
	}
	others := []graph.DataType{graph.Unset, graph.Float, graph.Double, graph.Half, graph.BFloat16, graph.Int8, graph.FP8E4M3, graph.FP8E4M3FNUZ}
	other := others[rng.IntN(len(others))]
	number := func(v float32) *float32 { return &v }
	choices := []func(){
		func() { g.OverrideShapes = true },
		func() { g.RequiredVersion = &wire.Version{Major: uint32(rng.IntN(3)), Minor: uint32(rng.IntN(3))} },
		func() { t.RuntimePassByValue = true },
		func() { t.Value = wire.Float32Value(1) },
		func() { uid := t.UID; t.RaggedOffsetUID = &uid },
		func() { t.Alignment = 1 << rng.IntN(9) },
		func() { t.Virtual = !t.Virtual },
		func() { t.Type = other },
		func() {
			for i := range g.Tensors {
				g.Tensors[i].Type = other
			}
		},
		func() { t.Dims = changed(rng, t.Dims, -1, 1, 1<<40) },
		func() { t.Strides = changed(rng, t.Strides, -1, 1, 2, 50) }, // no more: the memory has to be there
		func() { t.UID = g.Tensors[0].UID },
		func() { n.Compute = other },
		func() { n.Attributes = wire.Unread{Type: uint8(10 + rng.IntN(14))} },
		func() { w := window(); w.Mode = graph.ConvolutionMode(rng.IntN(3)) },
		func() { w := window(); w.PrePadding = changed(rng, w.PrePadding, -1, 1, 2, 1<<40) },
		func() { w := window(); w.PostPadding = changed(rng, w.PostPadding, -1, 1, 2, 1<<40) },
		func() { w := window(); w.Dilation = changed(rng, w.Dilation, -1, 1, 2, 1<<40) },
		func() { w := window(); w.Stride = changed(rng, w.Stride, -1, 1, 2, 1<<40) },
		func() { g.Nodes = append(g.Nodes, g.Nodes[0]) },
		func() { g.Nodes[0], g.Nodes[len(g.Nodes)-1] = g.Nodes[len(g.Nodes)-1], g.Nodes[0] },
		func() {
			if p, ok := n.Attributes.(*wire.Pointwise); ok {
				p.Mode = graph.PointwiseMode(rng.IntN(48))
			}
		},
		func() {
			if p, ok := g.Nodes[len(g.Nodes)-1].Attributes.(*wire.Pointwise); ok {
				p.ReLULowerClip, p.ReLUUpperClip = number(float32(rng.IntN(5)-2)), number(float32(rng.IntN(5)-2))
			}
		},
		func() {
			if p, ok := g.Nodes[len(g.Nodes)-1].Attributes.(*wire.Pointwise); ok {
				p.ReLULowerClipSlope = number(0.5)
			}
		},
	}
	choices[rng.IntN(len(choices))]()
}

// changed is a copy with one of the numbers added to an element.
func changed(rng *rand.Rand, v []int64, by ...int64) []int64 {
	out := append([]int64(nil), v...)
	if len(out) > 0 {
		out[rng.IntN(len(out))] += by[rng.IntN(len(by))]
	}
	return out
}
