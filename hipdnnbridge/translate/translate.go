package translate

import (
	"fmt"
	"math"
	"math/bits"
	"slices"

	"example.com/miopen_hipdnn_shim/hipdnnbridge/graph"
	"example.com/miopen_hipdnn_shim/hipdnnbridge/miopen"
)

// Forward translates a call of miopenConvolutionForward. The error is always a *Decline.
//
// The graph depends on the problem alone. A caller that keeps it for further calls of the same
// problem asks CheckScalars and Binding.Check for each of them, which is what Forward does besides.
func Forward(problem *miopen.Convolution, scalars miopen.Scalars, buffers Buffers) (graph.Graph, Binding, error) {
	if r := CheckScalars(scalars); r != NoReason {
		return graph.Graph{}, Binding{}, decline(r, "alpha %v (set: %v), beta %v (set: %v)",
			scalars.Alpha, scalars.AlphaSet, scalars.Beta, scalars.BetaSet)
	}
	g, binding, err := Problem(problem)
	if err != nil {
		return graph.Graph{}, Binding{}, err
	}
	if r := binding.Check(buffers); r != NoReason {
		return graph.Graph{}, Binding{}, decline(r, "x %#x (%d bytes), w %#x (%d bytes), y %#x (%d bytes)",
			buffers.X, binding.Bytes[0], buffers.W, binding.Bytes[1], buffers.Y, binding.Bytes[2])
	}
	return g, binding, nil
}

// Problem translates the part of a call that does not change from one call to the next. The error is
// always a *Decline.
func Problem(c *miopen.Convolution) (graph.Graph, Binding, error) {
	var none graph.Graph
	shapes, err := checkShapes(c)
	if err != nil {
		return none, Binding{}, err
	}
	op, err := modeOf(c.Mode)
	if err != nil {
		return none, Binding{}, err
	}
	types, err := typesOf(c)
	if err != nil {
		return none, Binding{}, err
	}
	if err := checkGeometry(c, op); err != nil {
		return none, Binding{}, err
	}
	if err := checkSums(c, op, types); err != nil {
		return none, Binding{}, err
	}
	if err := checkAttributes(c, op); err != nil {
		return none, Binding{}, err
	}

	tensor := func(uid graph.UID, name string, t *miopen.Tensor, typ graph.DataType) graph.Tensor {
		return graph.Tensor{UID: uid, Name: name, Type: typ, Dims: slices.Clone(t.Dims), Strides: slices.Clone(t.Strides)}
	}
	geometry := graph.Geometry{
		PrePads: slices.Clone(c.Pads), PostPads: slices.Clone(c.Pads), // MIOpen pads both sides alike
		Strides: slices.Clone(c.Strides), Dilations: slices.Clone(c.Dilations),
		Mode: graph.CrossCorrelation, Compute: types.compute,
	}
	return graph.Graph{
		Name: op.name,
		Tensors: []graph.Tensor{
			tensor(UIDX, "x", &c.X, types.x),
			tensor(UIDW, "w", &c.W, types.w),
			tensor(UIDY, "y", &c.Y, types.y),
		},
		Nodes:       []graph.Node{op.node(UIDX, UIDW, UIDY, geometry)},
		ComputeType: types.compute, IntermediateType: types.compute, IOType: types.x,
	}, Binding{UIDs: [3]graph.UID{UIDX, UIDW, UIDY}, Bytes: shapes}, nil
}

func decline(r Reason, format string, args ...any) error {
	return &Decline{r, fmt.Sprintf(format, args...)}
}

// checkShapes returns how many bytes x, w and y reach.
func checkShapes(c *miopen.Convolution) (reach [3]uintptr, err error) {
	if c.Spatial < 1 {
		return reach, decline(DescriptorUnreadable, "a convolution of %d spatial dimensions", c.Spatial)
	}
	if c.Spatial > miopen.MaxSpatial {
		return reach, decline(TooManyDims, "%d spatial dimensions, at most %d are translated", c.Spatial, miopen.MaxSpatial)
	}
	if len(c.Pads) != c.Spatial || len(c.Strides) != c.Spatial || len(c.Dilations) != c.Spatial {
		return reach, decline(DescriptorUnreadable, "%d pads, %d strides and %d dilations for %d spatial dimensions",
			len(c.Pads), len(c.Strides), len(c.Dilations), c.Spatial)
	}
	for i, t := range []*miopen.Tensor{&c.X, &c.W, &c.Y} {
		if reach[i], err = checkTensor("xwy"[i:i+1], t, c.Spatial+2); err != nil {
			return reach, err
		}
	}
	return reach, nil
}

func checkTensor(name string, t *miopen.Tensor, rank int) (uintptr, error) {
	switch {
	case t.Rank < 1:
		return 0, decline(DescriptorUnreadable, "%s has rank %d", name, t.Rank)
	case t.Rank > miopen.MaxRank:
		return 0, decline(TooManyDims, "%s has rank %d, at most %d are translated", name, t.Rank, miopen.MaxRank)
	case len(t.Dims) != t.Rank || len(t.Strides) != t.Rank:
		return 0, decline(DescriptorUnreadable, "%s of rank %d has %d dimensions and %d strides", name, t.Rank, len(t.Dims), len(t.Strides))
	case t.Vectorised:
		return 0, decline(VectorisedLayout, "%s", name)
	case t.Cast != miopen.NoCast:
		return 0, decline(CastType, "%s is cast to %v", name, t.Cast)
	case !t.Type.Valid():
		return 0, decline(TypeUnknown, "%s is of %v", name, t.Type)
	case t.Rank != rank:
		return 0, decline(RankMismatch, "%s has rank %d, the convolution wants %d", name, t.Rank, rank)
	}
	for i, d := range t.Dims {
		if d < 1 {
			return 0, decline(DimNotPositive, "%s has the dimensions %v", name, t.Dims)
		}
		if t.Strides[i] < 1 {
			return 0, decline(StrideNotPlain, "%s has the strides %v", name, t.Strides)
		}
	}
	bytes, ok := reachOf(t)
	if !ok {
		return 0, decline(TooLarge, "%s with dimensions %v and strides %v of %v", name, t.Dims, t.Strides, t.Type)
	}
	if !plain(t) {
		return 0, decline(StrideNotPlain, "elements of %s with dimensions %v and strides %v can overlap", name, t.Dims, t.Strides)
	}
	return bytes, nil
}

// reachOf returns the bytes from the first element to the end of the last, false if the address
// space ends before.
func reachOf(t *miopen.Tensor) (uintptr, bool) {
	elements := uint64(1)
	for i, d := range t.Dims {
		high, low := bits.Mul64(uint64(d-1), uint64(t.Strides[i]))
		sum, carry := bits.Add64(elements, low, 0)
		if high != 0 || carry != 0 {
			return 0, false
		}
		elements = sum
	}
	high, low := bits.Mul64(elements, uint64(t.Type.Size()))
	if high != 0 || low > math.MaxInt64 {
		return 0, false
	}
	return uintptr(low), true
}

// plain reports whether each dimension steps over all that lies inside it, so that no two elements
// share memory. It is what every layout of MIOpen and any slice of a packed tensor is like; other
// strides can be free of overlap too, but nobody has them. The tensor's reach has been checked.
func plain(t *miopen.Tensor) bool {
	var order [miopen.MaxRank]int
	n := 0
	for i, d := range t.Dims {
		if d == 1 {
			continue // its stride is never used
		}
		at := n
		for at > 0 && t.Strides[order[at-1]] > t.Strides[i] {
			order[at] = order[at-1]
			at--
		}
		order[at] = i
		n++
	}
	inside := int64(0) // distance of the last element of the dimensions so far
	for _, i := range order[:n] {
		if t.Strides[i] <= inside {
			return false
		}
		inside += (t.Dims[i] - 1) * t.Strides[i]
	}
	return true
}

// checkGeometry holds pads, strides, dilations, channels and y's dimensions against each other.
func checkGeometry(c *miopen.Convolution, op *operation) error {
	for i := range c.Spatial {
		if c.Pads[i] < 0 || c.Strides[i] < 1 || c.Dilations[i] < 1 ||
			c.Pads[i] > math.MaxInt32 || c.Strides[i] > math.MaxInt32 || c.Dilations[i] > math.MaxInt32 {
			return decline(GeometryInvalid, "pads %v, strides %v, dilations %v", c.Pads, c.Strides, c.Dilations)
		}
	}
	wide, narrow := op.sides(c)
	// hipDNN has no number of groups: it is what the channels say. MIOpen has one besides.
	groups := wide.Dims[1] / c.W.Dims[1]
	switch {
	case wide.Dims[1]%c.W.Dims[1] != 0, c.W.Dims[0]%groups != 0, int64(c.Groups) != groups:
		return decline(GroupMismatch, "%d channels, %v weights and %d groups", wide.Dims[1], c.W.Dims, c.Groups)
	case narrow.Dims[1] != c.W.Dims[0], narrow.Dims[0] != wide.Dims[0]:
		return decline(OutputMismatch, "x %v, w %v, y %v", c.X.Dims, c.W.Dims, c.Y.Dims)
	}
	for i := range c.Spatial {
		// Dimensions below 2^31 cannot overflow here; larger ones do not exist in MIOpen.
		length, filter := wide.Dims[2+i], c.W.Dims[2+i]
		if length > math.MaxInt32 || filter > math.MaxInt32 {
			return decline(TooLarge, "x %v, w %v, y %v", c.X.Dims, c.W.Dims, c.Y.Dims)
		}
		room := length + 2*c.Pads[i] - (c.Dilations[i]*(filter-1) + 1)
		if room < 0 || room/c.Strides[i]+1 != narrow.Dims[2+i] {
			return decline(OutputMismatch, "x %v, w %v, y %v with pads %v, strides %v, dilations %v",
				c.X.Dims, c.W.Dims, c.Y.Dims, c.Pads, c.Strides, c.Dilations)
		}
	}
	return nil
}

// checkSums declines integer sums that could leave what their type holds exactly: MIOpen's kernels
// and other engines then keep different bits.
func checkSums(c *miopen.Convolution, op *operation, types *typeRow) error {
	if types.exactSums == 0 {
		return nil
	}
	// No more than w has elements, which fit the address space.
	terms := uint64(op.channels(c))
	for _, f := range c.W.Dims[2:] {
		terms *= uint64(f)
	}
	const largestProduct = 128 * 128
	if terms > types.exactSums/largestProduct {
		return decline(IntegerOverflow, "up to %d products of %v in a sum that %v holds", terms, c.X.Type, c.Y.Type)
	}
	return nil
}

// checkAttributes declines what a hipDNN graph cannot ask an engine for.
func checkAttributes(c *miopen.Convolution, op *operation) error {
	switch {
	case c.Deterministic == miopen.Unread:
		return decline(AttributeUnreadable, "MIOPEN_CONVOLUTION_ATTRIB_DETERMINISTIC")
	case c.Deterministic != 0:
		return decline(Deterministic, "MIOPEN_CONVOLUTION_ATTRIB_DETERMINISTIC is %d", c.Deterministic)
	}
	if c.X.Type == miopen.Half && c.FP16Alternative != miopen.Unread && c.FP16Alternative != op.alternative {
		return decline(FP16Alternative, "MIOPEN_CONVOLUTION_ATTRIB_FP16_ALT_IMPL is %d", c.FP16Alternative)
	}
	if c.X.Type == miopen.Float8Fnuz || c.X.Type == miopen.BFloat8Fnuz {
		if c.FP8Rounding == miopen.Unread {
			return decline(AttributeUnreadable, "MIOPEN_CONVOLUTION_ATTRIB_FP8_ROUNDING_MODE")
		}
		if c.FP8Rounding != miopen.RoundingStandard {
			return decline(FP8Rounding, "MIOPEN_CONVOLUTION_ATTRIB_FP8_ROUNDING_MODE is %d", c.FP8Rounding)
		}
	}
	return nil
}
