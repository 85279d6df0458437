package translate

import (
	"slices"

	"example.com/miopen_hipdnn_shim/hipdnnbridge/graph"
	"example.com/miopen_hipdnn_shim/hipdnnbridge/miopen"
)

// Inverse translates a graph of one convolution back to the problem of miopenConvolutionForward that
// computes it, with attributes at MIOpen's defaults. A gradient by the data is a transposed
// convolution. The error is always a *Decline.
//
// The binding's UIDs are the graph's names of x, w and y.
func Inverse(g *graph.Graph) (miopen.Convolution, Binding, error) {
	var none miopen.Convolution
	if err := g.Validate(); err != nil {
		return none, Binding{}, &Decline{GraphInvalid, err.Error()}
	}
	if len(g.Nodes) != 1 {
		return none, Binding{}, decline(OperationUnsupported, "a graph of %d operations", len(g.Nodes))
	}
	var binding Binding
	var geometry *graph.Geometry
	var op *operation
	switch n := g.Nodes[0].(type) {
	case *graph.ConvolutionForward:
		op, geometry, binding.UIDs = &forward, &n.Geometry, [3]graph.UID{n.X, n.W, n.Y}
	case *graph.ConvolutionBackwardData:
		op, geometry, binding.UIDs = &transpose, &n.Geometry, [3]graph.UID{n.DY, n.W, n.DX}
	default:
		return none, Binding{}, decline(OperationUnsupported, "%s", n.Kind())
	}
	c, bytes, err := problemOf(g, op, geometry, binding.UIDs)
	if err != nil {
		return none, Binding{}, err
	}
	binding.Bytes = bytes
	return c, binding, nil
}

// problemOf is the problem of MIOpen that a convolution of a valid graph is, x, w and y being the
// tensors with these names, and how many bytes the three reach.
func problemOf(g *graph.Graph, op *operation, geometry *graph.Geometry, uids [3]graph.UID) (miopen.Convolution, [3]uintptr, error) {
	var none miopen.Convolution
	var reach [3]uintptr
	if geometry.Mode != graph.CrossCorrelation {
		return none, reach, decline(Flipped, "the mode is %v", geometry.Mode)
	}
	if !slices.Equal(geometry.PrePads, geometry.PostPads) {
		return none, reach, decline(PaddingAsymmetric, "%v before, %v after", geometry.PrePads, geometry.PostPads)
	}
	spatial := len(geometry.PrePads)
	if spatial > miopen.MaxSpatial {
		return none, reach, decline(TooManyDims, "%d spatial dimensions", spatial)
	}
	c := miopen.Convolution{
		Mode: op.mode, Spatial: spatial,
		Pads: slices.Clone(geometry.PrePads), Strides: slices.Clone(geometry.Strides), Dilations: slices.Clone(geometry.Dilations),
		FP16Alternative: miopen.Unread,
	}
	for i, t := range []*miopen.Tensor{&c.X, &c.W, &c.Y} {
		var err error
		if *t, err = tensorOf(g.Tensor(uids[i])); err != nil {
			return none, reach, err
		}
	}
	wide, _ := op.sides(&c)
	groups := wide.Dims[1] / c.W.Dims[1] // dimensions of a valid graph are positive
	if groups > 1<<31-1 {
		return none, reach, decline(TooLarge, "%d groups", groups)
	}
	c.Groups = int32(groups)

	// The way back is exact if the way there gives the same graph.
	again, bound, err := Problem(&c)
	if err != nil {
		return none, reach, err
	}
	if compute := again.ComputeType; geometry.Compute != compute {
		return none, reach, decline(ComputeType, "sums of %v are kept in %v, not %v", c.X.Type, compute, geometry.Compute)
	}
	return c, bound.Bytes, nil
}

func tensorOf(t *graph.Tensor) (miopen.Tensor, error) {
	typ, ok := MIOpenDataType(t.Type)
	if !ok {
		return miopen.Tensor{}, decline(TypeUnknown, "tensor %d is of %v", t.UID, t.Type)
	}
	return miopen.Tensor{
		Type: typ, Dims: slices.Clone(t.Dims), Strides: slices.Clone(t.Strides), Rank: len(t.Dims),
		Cast: miopen.NoCast,
	}, nil
}
