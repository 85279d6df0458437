package translate

import (
	"cmp"
	"math"
	"slices"

	"example.com/miopen_hipdnn_shim/hipdnnbridge/graph"
	"example.com/miopen_hipdnn_shim/hipdnnbridge/miopen"
)

// Operation is what MIOpen runs for a graph: *ConvolutionForward, *ConvolutionBackwardData,
// *ConvolutionBackwardWeights or *ConvolutionBiasActivation.
//
// Each has the problem of the convolution whose results or gradients are computed: Problem.X is what
// that convolution reads, Problem.Y what it gives, whichever of the tensors is the one that is
// written. The mode is always miopenConvolution. The UIDs are the graph's names of the tensors.
type Operation interface {
	operation()
}

// ConvolutionForward computes y from x and w.
type ConvolutionForward struct {
	Problem miopen.Convolution
	X, W, Y graph.UID
}

// ConvolutionBackwardData computes dx, shaped as Problem.X, from dy and w.
type ConvolutionBackwardData struct {
	Problem   miopen.Convolution
	DY, W, DX graph.UID
}

// ConvolutionBackwardWeights computes dw, shaped as Problem.W, from x and dy.
type ConvolutionBackwardWeights struct {
	Problem   miopen.Convolution
	X, DY, DW graph.UID
}

// ConvolutionBiasActivation computes y from x and w, adds a bias to it and rectifies it, with one
// rounding at the end. At least one of Bias and Activation is there.
type ConvolutionBiasActivation struct {
	Problem    miopen.Convolution
	X, W, Y    graph.UID
	Bias       *Bias
	Activation *miopen.Activation
}

// Bias is one value for each channel of y.
type Bias struct {
	UID    graph.UID
	Tensor miopen.Tensor
}

func (*ConvolutionForward) operation()         {}
func (*ConvolutionBackwardData) operation()    {}
func (*ConvolutionBackwardWeights) operation() {}
func (*ConvolutionBiasActivation) operation()  {}

// maxEngineSpatial is the number of spatial dimensions that MIOpen has solvers for.
const maxEngineSpatial = 3

// ToMIOpen translates a graph to the operation of MIOpen that computes it: a convolution of any
// direction, or a forward one with a bias, a rectifier or both after it. The error is always a
// *Decline.
func ToMIOpen(g *graph.Graph) (Operation, error) {
	if err := g.Validate(); err != nil {
		return nil, &Decline{GraphInvalid, err.Error()}
	}
	if len(g.Nodes) > 1 {
		return fused(g)
	}
	for i := range g.Tensors {
		if t := &g.Tensors[i]; t.Virtual {
			return nil, decline(TensorVirtual, "tensor %d has no memory", t.UID)
		}
	}
	switch n := g.Nodes[0].(type) {
	case *graph.ConvolutionForward:
		p, err := engineProblem(g, &n.Geometry, [3]graph.UID{n.X, n.W, n.Y})
		if err != nil {
			return nil, err
		}
		return &ConvolutionForward{p, n.X, n.W, n.Y}, nil
	case *graph.ConvolutionBackwardData:
		p, err := engineProblem(g, &n.Geometry, [3]graph.UID{n.DX, n.W, n.DY})
		if err != nil {
			return nil, err
		}
		return &ConvolutionBackwardData{p, n.DY, n.W, n.DX}, nil
	case *graph.ConvolutionBackwardWeights:
		p, err := engineProblem(g, &n.Geometry, [3]graph.UID{n.X, n.DW, n.DY})
		if err != nil {
			return nil, err
		}
		return &ConvolutionBackwardWeights{p, n.X, n.DY, n.DW}, nil
	}
	return nil, decline(OperationUnsupported, "%s alone", g.Nodes[0].Kind())
}

// engineProblem is problemOf for what the plugin's engines take.
func engineProblem(g *graph.Graph, geometry *graph.Geometry, xwy [3]graph.UID) (miopen.Convolution, error) {
	if n := len(geometry.Strides); n > maxEngineSpatial {
		return miopen.Convolution{}, decline(TooManyDims, "%d spatial dimensions, at most %d are run", n, maxEngineSpatial)
	}
	c, _, err := problemOf(g, &forward, geometry, xwy)
	if err != nil {
		return miopen.Convolution{}, err
	}
	types, err := typesOf(&c)
	if err != nil {
		return miopen.Convolution{}, err
	}
	if !types.engine {
		return miopen.Convolution{}, decline(TypeCombination, "x %v, w %v, y %v: not run by the engines", c.X.Type, c.W.Type, c.Y.Type)
	}
	return c, nil
}

// fused translates a valid graph of several operations.
func fused(g *graph.Graph) (Operation, error) {
	conv, ok := g.Nodes[0].(*graph.ConvolutionForward)
	if !ok {
		return nil, decline(OperationUnsupported, "%s before others", g.Nodes[0].Kind())
	}
	op := &ConvolutionBiasActivation{X: conv.X, W: conv.W, Y: conv.Y}
	var bias graph.UID
	for _, node := range g.Nodes[1:] {
		n, ok := node.(*graph.Pointwise)
		switch {
		case !ok, op.Activation != nil:
			return nil, decline(OperationUnsupported, "%s after %s", node.Kind(), g.Nodes[0].Kind())
		case n.Compute != graph.Float:
			return nil, decline(ComputeType, "%s in %v", n.Kind(), n.Compute)
		case n.Mode == graph.PointwiseAdd && op.Bias == nil:
			// Either operand may be the bias.
			switch {
			case n.In[0] == op.Y && n.In[1] != op.Y:
				bias = n.In[1]
			case n.In[1] == op.Y && n.In[0] != op.Y:
				bias = n.In[0]
			default:
				return nil, decline(OperationUnsupported, "the sum of tensors %v is not that of a result and a bias", n.In)
			}
			op.Bias = &Bias{UID: bias}
		case n.Mode == graph.PointwiseReLU && n.In[0] == op.Y:
			a, err := activationOf(n.Clip)
			if err != nil {
				return nil, err
			}
			op.Activation = &a
		default:
			return nil, decline(OperationUnsupported, "%s of tensors %v", n.Kind(), n.In)
		}
		if err := checkIntermediate(g.Tensor(op.Y), g.Tensor(n.Out)); err != nil {
			return nil, err
		}
		op.Y = n.Out
	}
	for _, id := range []graph.UID{op.X, op.W, op.Y} {
		if g.Tensor(id).Virtual {
			return nil, decline(TensorVirtual, "tensor %d has no memory", id)
		}
	}
	var err error
	if op.Problem, err = engineProblem(g, &conv.Geometry, [3]graph.UID{op.X, op.W, op.Y}); err != nil {
		return nil, err
	}
	if _, ok := Fusable(&op.Problem); !ok {
		c := &op.Problem
		return nil, decline(FusedLayout, "x %v strides %v, w %v strides %v, y %v strides %v",
			c.X.Dims, c.X.Strides, c.W.Dims, c.W.Strides, c.Y.Dims, c.Y.Strides)
	}
	if op.Bias == nil {
		return op, nil
	}
	if op.Bias.Tensor, err = biasOf(g.Tensor(bias), &op.Problem); err != nil {
		return nil, err
	}
	return op, nil
}

// checkIntermediate holds a result between fused operations against the result of the next one.
func checkIntermediate(t, out *graph.Tensor) error {
	switch {
	case !t.Virtual:
		return decline(IntermediateStored, "tensor %d has memory", t.UID)
	case t.Type != graph.Float:
		// MIOpen's fused kernels keep it in float, whatever the type of x.
		return decline(IntermediateType, "tensor %d is of %v", t.UID, t.Type)
	case !slices.Equal(t.Dims, out.Dims):
		return decline(OutputMismatch, "%v of tensor %d becomes %v", t.Dims, t.UID, out.Dims)
	}
	return nil
}

func biasOf(t *graph.Tensor, c *miopen.Convolution) (miopen.Tensor, error) {
	if t.Virtual {
		return miopen.Tensor{}, decline(TensorVirtual, "the bias, tensor %d, has no memory", t.UID)
	}
	for i, d := range t.Dims {
		if want := c.Y.Dims[1]; i == 1 && d != want || i != 1 && d != 1 {
			return miopen.Tensor{}, decline(BiasShape, "%v is added to %v", t.Dims, c.Y.Dims)
		}
	}
	b, err := tensorOf(t)
	switch {
	case err != nil:
		return b, err
	case b.Type != c.X.Type:
		return miopen.Tensor{}, decline(TypeCombination, "x %v, bias %v", c.X.Type, b.Type)
	case b.Dims[1] > 1 && b.Strides[1] != 1: // the kernels do not look at strides of a bias
		return miopen.Tensor{}, decline(StrideNotPlain, "the bias has the strides %v", b.Strides)
	}
	return b, nil
}

// activationOf is the activation of MIOpen that a rectifier is. hipDNN's gives the lower bound plus
// the slope times what is below it, the upper bound above it, and x between; without parameters the
// bounds are 0 and none and the slope is 0 (source: the CPU reference of its test SDK).
func activationOf(c graph.Clip) (miopen.Activation, error) {
	value := func(p *float32, otherwise float64) float64 {
		if p == nil {
			return otherwise
		}
		return float64(*p)
	}
	lower, upper, slope := value(c.Lower, 0), value(c.Upper, math.Inf(1)), value(c.Slope, 0)
	unbounded := math.IsInf(upper, 1)
	switch {
	case math.IsNaN(lower), math.IsNaN(upper), math.IsNaN(slope), math.IsInf(lower, 0), math.IsInf(slope, 0), lower > upper:
	case slope != 0 && (lower != 0 || !unbounded):
	case slope != 0:
		return miopen.Activation{Mode: miopen.ActivationLeakyReLU, Alpha: slope}, nil
	case lower == 0 && unbounded:
		return miopen.Activation{Mode: miopen.ActivationReLU}, nil
	case lower == 0:
		return miopen.Activation{Mode: miopen.ActivationClippedReLU, Alpha: upper}, nil
	default:
		return miopen.Activation{Mode: miopen.ActivationClamp, Alpha: lower, Beta: upper}, nil
	}
	return miopen.Activation{}, decline(ActivationClip, "bounds %v and %v, slope %v", lower, upper, slope)
}

// clipOf is the way back of activationOf.
func clipOf(a miopen.Activation) graph.Clip {
	number := func(v float64) *float32 {
		f := float32(v)
		return &f
	}
	switch a.Mode {
	case miopen.ActivationLeakyReLU:
		return graph.Clip{Slope: number(a.Alpha)}
	case miopen.ActivationClippedReLU:
		return graph.Clip{Upper: number(a.Alpha)}
	case miopen.ActivationClamp:
		return graph.Clip{Lower: number(a.Alpha), Upper: number(a.Beta)}
	}
	return graph.Clip{}
}

// ToGraph is the graph that an operation computes. Virtual tensors get the first names that are free. The error is always
// a *Decline.
func ToGraph(op Operation) (graph.Graph, error) {
	switch op := op.(type) {
	case *ConvolutionForward:
		g, geometry, err := graphOf(&op.Problem, op.X, op.W, op.Y)
		g.Name, g.Nodes = "convolution", []graph.Node{&graph.ConvolutionForward{X: op.X, W: op.W, Y: op.Y, Geometry: geometry}}
		return g, err
	case *ConvolutionBackwardData:
		g, geometry, err := graphOf(&op.Problem, op.DX, op.W, op.DY)
		g.Name, g.Nodes = "convolution backward data", []graph.Node{&graph.ConvolutionBackwardData{DY: op.DY, W: op.W, DX: op.DX, Geometry: geometry}}
		return g, err
	case *ConvolutionBackwardWeights:
		g, geometry, err := graphOf(&op.Problem, op.X, op.DW, op.DY)
		g.Name, g.Nodes = "convolution backward weights", []graph.Node{&graph.ConvolutionBackwardWeights{X: op.X, DY: op.DY, DW: op.DW, Geometry: geometry}}
		return g, err
	case *ConvolutionBiasActivation:
		return op.graph()
	}
	return graph.Graph{}, decline(OperationUnsupported, "%T", op)
}

func (op *ConvolutionBiasActivation) graph() (graph.Graph, error) {
	g, geometry, err := graphOf(&op.Problem, op.X, op.W, op.Y)
	if err != nil {
		return g, err
	}
	g.Name = "convolution, bias, activation"
	if op.Bias != nil {
		typ, ok := DataType(op.Bias.Tensor.Type)
		if !ok {
			return g, decline(TypeUnknown, "the bias is of %v", op.Bias.Tensor.Type)
		}
		g.Tensors = append(g.Tensors, graph.Tensor{
			UID: op.Bias.UID, Name: "bias", Type: typ,
			Dims: slices.Clone(op.Bias.Tensor.Dims), Strides: slices.Clone(op.Bias.Tensor.Strides),
		})
	}
	y := g.Tensor(op.Y)
	next := graph.UID(0)
	virtual := func() graph.UID {
		for next++; g.Tensor(next) != nil; next++ {
		}
		g.Tensors = append(g.Tensors, graph.Tensor{
			UID: next, Type: graph.Float, Dims: slices.Clone(y.Dims), Strides: slices.Clone(y.Strides), Virtual: true,
		})
		return next
	}
	result := virtual()
	g.Nodes = []graph.Node{&graph.ConvolutionForward{X: op.X, W: op.W, Y: result, Geometry: geometry}}
	if op.Bias != nil {
		sum := op.Y
		if op.Activation != nil {
			sum = virtual()
		}
		g.Nodes = append(g.Nodes, &graph.Pointwise{Mode: graph.PointwiseAdd, In: []graph.UID{result, op.Bias.UID}, Out: sum, Compute: graph.Float})
		result = sum
	}
	if op.Activation != nil {
		g.Nodes = append(g.Nodes, &graph.Pointwise{
			Mode: graph.PointwiseReLU, In: []graph.UID{result}, Out: op.Y, Compute: graph.Float, Clip: clipOf(*op.Activation),
		})
	}
	return g, nil
}

// graphOf is the graph of a problem with other names and without its operation, and the operation's
// geometry.
func graphOf(c *miopen.Convolution, x, w, y graph.UID) (graph.Graph, graph.Geometry, error) {
	g, _, err := Problem(c)
	if err != nil {
		return g, graph.Geometry{}, err
	}
	conv, ok := g.Nodes[0].(*graph.ConvolutionForward)
	if !ok {
		return g, graph.Geometry{}, decline(ModeUnknown, "operations are of %v, not %v", miopen.ModeConvolution, c.Mode)
	}
	for i, uid := range []graph.UID{x, w, y} {
		g.Tensors[i].UID = uid
	}
	g.Nodes = nil
	return g, conv.Geometry, nil
}

// Padded is the problem with at least two spatial dimensions: MIOpen has no solvers for one. A
// trailing dimension of one element changes no result; its stride, which is never used, is such that
// the layout stays what it was.
func Padded(c *miopen.Convolution) miopen.Convolution {
	if c.Spatial != 1 {
		return *c
	}
	p := *c
	p.Spatial = 2
	p.Pads, p.Strides, p.Dilations = with(c.Pads, 0), with(c.Strides, 1), with(c.Dilations, 1)
	p.X, p.W, p.Y = PaddedTensor(&c.X), PaddedTensor(&c.W), PaddedTensor(&c.Y)
	return p
}

// PaddedTensor is the tensor with a trailing dimension of one element if it has three dimensions.
func PaddedTensor(t *miopen.Tensor) miopen.Tensor {
	if t.Rank != 3 {
		return *t
	}
	p := *t
	p.Rank = 4
	p.Dims, p.Strides = with(t.Dims, 1), with(t.Strides, t.Strides[2])
	return p
}

func with(v []int64, last int64) []int64 { return append(slices.Clone(v), last) }

// layouts are those that MIOpen has solvers for, in the order in which it looks for them.
var layouts = [...]func(dims []int64) []int64{miopen.PackedStrides, miopen.ChannelsLastStrides}

// Packed is the padded problem of a convolution as MIOpen takes it: all tensors packed in one layout,
// channels first or last. False if they are not.
//
// Strides of dimensions of one element mean nothing in a graph and are set to what the layout gives:
// MIOpen sorts strides before it gives them to its kernels (MakeStrideArray in
// conv_direct_naive_conv.hpp), and versions of it differ in whether they tell a layout by them.
//
// Gaps, which MIOpen's descriptors can have, are not safe with any layout, and nothing fails. Channels
// first, solvers by matrix products, which MIOpen prefers to all others that take such tensors, read
// lengths alone (gemm.cpp, up to 3.5 at least; newer ones refuse). With groups, a group's stride is
// taken to be that of what is around the channels, divided by the groups (SplitStrideCtoGC). Channels
// last, solvers of Composable Kernel keep the strides that they were compiled with, and MIOpen finds
// what it compiled by a key without strides (MakeNetworkConfig).
func Packed(c *miopen.Convolution) (miopen.Convolution, bool) {
	p := Padded(c)
	for _, layout := range layouts {
		if q, ok := laid(p, layout); ok {
			return q, true
		}
	}
	return p, false
}

// laid is a problem with the strides of a layout, if that is how its tensors lie in memory.
func laid(p miopen.Convolution, layout func([]int64) []int64) (miopen.Convolution, bool) {
	for _, t := range []*miopen.Tensor{&p.X, &p.W, &p.Y} {
		strides := layout(t.Dims)
		if !alike(t, strides) {
			return p, false
		}
		t.Strides = strides
	}
	return p, true
}

// Fusable is Packed for a fused convolution. A fusion plan derives y's descriptor from x's and compares
// all strides when it is executed: false also if x alone, which is all that MIOpen looks at, looks like
// another layout.
func Fusable(c *miopen.Convolution) (miopen.Convolution, bool) {
	p := Padded(c)
	for _, layout := range layouts {
		if q, ok := laid(p, layout); ok && slices.Equal(q.Y.Strides, derived(q.X.Dims, q.X.Strides, q.Y.Dims)) {
			return q, true
		}
	}
	return p, false
}

// alike reports whether a tensor lies in memory as it would with these strides.
func alike(t *miopen.Tensor, strides []int64) bool {
	for i, d := range t.Dims {
		if d > 1 && t.Strides[i] != strides[i] {
			return false
		}
	}
	return true
}

// derived are the strides that MIOpen gives a tensor whose layout it takes from x: packed, in the
// order of x's strides, of x's lengths where strides are equal, and of the dimensions where these are
// too (tensor.cpp's find_permutation).
func derived(xDims, xStrides, dims []int64) []int64 {
	order := make([]int, len(dims))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		if c := cmp.Compare(xStrides[b], xStrides[a]); c != 0 {
			return c
		}
		return cmp.Compare(xDims[b], xDims[a])
	})
	strides := make([]int64, len(dims))
	next := int64(1)
	for i := len(order) - 1; i >= 0; i-- {
		strides[order[i]] = next
		next *= dims[order[i]]
	}
	return strides
}
