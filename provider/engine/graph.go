package engine

import (
	"errors"

	"example.com/miopen_hipdnn_shim/hipdnnbridge/graph"
	"example.com/miopen_hipdnn_shim/hipdnnbridge/miopen"
	"example.com/miopen_hipdnn_shim/hipdnnbridge/translate"
	"example.com/miopen_hipdnn_shim/provider/wire"
)

// readOperation is what MIOpen is to run for a serialised graph. Graphs that are not for the engines
// are a decline, bytes that are no graph StatusBadParam.
func readOperation(b []byte) (translate.Operation, error) {
	w, err := wire.ReadGraph(b)
	if err != nil {
		var e *wire.Error
		if errors.As(err, &e) && e.Unknown {
			return nil, decline(translate.OperationUnsupported, "%v", err) // of a newer hipDNN
		}
		return nil, fail(StatusBadParam, "the graph of %d bytes: %v", len(b), err)
	}
	if err := w.Check(); err != nil {
		return nil, decline(translate.GraphInvalid, "%v", err)
	}
	g, err := graphOf(w)
	if err != nil {
		return nil, err
	}
	op, err := translate.ToMIOpen(g)
	if err != nil {
		return nil, asDecline(err)
	}
	if c := convolutionOf(op); c != nil {
		if _, ok := translate.Packed(c); !ok {
			return nil, decline(translate.NotPacked, "x %v strides %v, w %v strides %v, y %v strides %v",
				c.X.Dims, c.X.Strides, c.W.Dims, c.W.Strides, c.Y.Dims, c.Y.Strides)
		}
	}
	return op, nil
}

// convolutionOf is the problem of a convolution alone; that of a fused one was looked at by translate.
func convolutionOf(op translate.Operation) *miopen.Convolution {
	switch op := op.(type) {
	case *translate.ConvolutionForward:
		return &op.Problem
	case *translate.ConvolutionBackwardData:
		return &op.Problem
	case *translate.ConvolutionBackwardWeights:
		return &op.Problem
	}
	return nil
}

// asDecline turns translate's errors, which are declines all, into this package's.
func asDecline(err error) error {
	if d, ok := err.(*translate.Decline); ok {
		return declined(d)
	}
	return fail(StatusInternalError, "%v", err)
}

// graphOf is a graph that was read, as the core has it. What the core has no words for is declined.
func graphOf(w *wire.Graph) (*graph.Graph, error) {
	if v := w.RequiredVersion; v != nil && newer(*v, APIVersion) {
		return nil, decline(translate.OperationUnsupported, "the graph needs version %d.%d.%d of the plugin API, this is %d.%d.%d",
			v.Major, v.Minor, v.Patch, APIVersion.Major, APIVersion.Minor, APIVersion.Patch)
	}
	if w.OverrideShapes {
		return nil, decline(translate.ShapeOverride, "the graph says that shapes may be replaced")
	}
	g := &graph.Graph{
		Name: w.Name, ComputeType: w.Compute, IntermediateType: w.Intermediate, IOType: w.IO,
		Tensors: make([]graph.Tensor, len(w.Tensors)), Nodes: make([]graph.Node, len(w.Nodes)),
	}
	for i := range w.Tensors {
		var err error
		if g.Tensors[i], err = tensorOf(w, &w.Tensors[i]); err != nil {
			return nil, err
		}
	}
	for i := range w.Nodes {
		var err error
		if g.Nodes[i], err = nodeOf(w, &w.Nodes[i]); err != nil {
			return nil, err
		}
	}
	return g, nil
}

func newer(a, b wire.Version) bool {
	switch {
	case a.Major != b.Major:
		return a.Major > b.Major
	case a.Minor != b.Minor:
		return a.Minor > b.Minor
	}
	return a.Patch > b.Patch
}

func tensorOf(w *wire.Graph, t *wire.Tensor) (graph.Tensor, error) {
	switch {
	case t.RuntimePassByValue:
		return graph.Tensor{}, decline(translate.RuntimeValue, "tensor %d", t.UID)
	case t.Value != nil:
		return graph.Tensor{}, decline(translate.ConstantValue, "tensor %d", t.UID)
	case t.RaggedOffsetUID != nil:
		return graph.Tensor{}, decline(translate.RaggedTensor, "tensor %d has its offsets in tensor %d", t.UID, *t.RaggedOffsetUID)
	case !t.Virtual && t.Alignment < translate.Alignment:
		// MIOpen has no word for alignment; its kernels load vectors of this size.
		return graph.Tensor{}, decline(translate.BufferMisaligned, "tensor %d is aligned to %d bytes, %d are needed", t.UID, t.Alignment, translate.Alignment)
	}
	typ := t.Type
	if typ == graph.Unset {
		if typ = w.IO; t.Virtual {
			typ = w.Intermediate
		}
	}
	return graph.Tensor{
		UID: graph.UID(t.UID), Name: t.Name, Type: typ, Dims: t.Dims, Strides: t.Strides, Virtual: t.Virtual,
	}, nil
}

func nodeOf(w *wire.Graph, n *wire.Node) (graph.Node, error) {
	compute := n.Compute
	if compute == graph.Unset {
		compute = w.Compute
	}
	geometry := func(c *wire.Window) graph.Geometry {
		return graph.Geometry{
			PrePads: c.PrePadding, PostPads: c.PostPadding, Strides: c.Stride, Dilations: c.Dilation,
			Mode: c.Mode, Compute: compute,
		}
	}
	switch a := n.Attributes.(type) {
	case *wire.ConvolutionFwd:
		return &graph.ConvolutionForward{X: graph.UID(a.X), W: graph.UID(a.W), Y: graph.UID(a.Y), Geometry: geometry(&a.Window)}, nil
	case *wire.ConvolutionBwd:
		return &graph.ConvolutionBackwardData{DY: graph.UID(a.DY), W: graph.UID(a.W), DX: graph.UID(a.DX), Geometry: geometry(&a.Window)}, nil
	case *wire.ConvolutionWrw:
		return &graph.ConvolutionBackwardWeights{X: graph.UID(a.X), DY: graph.UID(a.DY), DW: graph.UID(a.DW), Geometry: geometry(&a.Window)}, nil
	case *wire.Pointwise:
		return pointwiseOf(a, compute)
	}
	return nil, decline(translate.OperationUnsupported, "node %q is a %T", n.Name, n.Attributes)
}

func pointwiseOf(a *wire.Pointwise, compute graph.DataType) (graph.Node, error) {
	p := &graph.Pointwise{
		Mode: a.Mode, In: []graph.UID{graph.UID(a.In0)}, Out: graph.UID(a.Out0), Compute: compute,
		Clip: graph.Clip{Lower: a.ReLULowerClip, Upper: a.ReLUUpperClip, Slope: a.ReLULowerClipSlope},
	}
	if a.Mode.Operands() == 0 {
		return nil, decline(translate.OperationUnsupported, "pointwise mode %d", a.Mode)
	}
	for _, in := range []*int64{a.In1, a.In2} {
		if in != nil {
			p.In = append(p.In, graph.UID(*in))
		}
	}
	return p, nil
}
