// Package graph holds hipDNN operation graphs as values: tensors, operations and what makes a graph
// well formed.
//
// It is what both directions of the translation meet in: the bridge turns a graph into backend
// descriptors, the plugin reads one from the wire. The package knows hipDNN's numbers and its rules
// for graphs; it makes no calls and knows nothing of MIOpen.
//
// Supported: convolutions (forward, backward data, backward weights) and pointwise operations.
package graph

// UID names a tensor within a graph. It is a name and nothing else; hipDNN reserves no value, but 0
// is what an absent field reads as on the wire, so it is not used.
type UID int64

// Tensor is a tensor of a graph. Dims and Strides are in elements, batch first, then channels, then
// the spatial dimensions from the outermost; the layout is in the strides. A virtual tensor exists
// only inside the graph: one operation writes it, others read it, and no memory is bound to it.
type Tensor struct {
	UID     UID
	Name    string
	Type    DataType
	Dims    []int64
	Strides []int64
	Virtual bool
}

// Node is an operation: ConvolutionForward, ConvolutionBackwardData, ConvolutionBackwardWeights or
// Pointwise.
type Node interface {
	// Inputs and Output name the tensors that the operation reads, in its own order, and writes.
	Inputs() []UID
	Output() UID
	// Kind is the operation's name in messages.
	Kind() string
	node()
}

// Geometry is how a filter moves over a tensor: one entry for each spatial dimension in each slice.
// The number of groups is not here: it is the channels of the input divided by those of the filter.
type Geometry struct {
	PrePads, PostPads  []int64
	Strides, Dilations []int64
	Mode               ConvolutionMode
	// Compute is the type that products are added up in.
	Compute DataType
}

// ConvolutionForward computes y from x and w.
type ConvolutionForward struct {
	X, W, Y UID
	Geometry
}

// ConvolutionBackwardData computes dx from dy and w.
type ConvolutionBackwardData struct {
	DY, W, DX UID
	Geometry
}

// ConvolutionBackwardWeights computes dw from x and dy.
type ConvolutionBackwardWeights struct {
	X, DY, DW UID
	Geometry
}

// Pointwise applies Mode to every element of In, of one shape or broadcast to Out's.
type Pointwise struct {
	Mode    PointwiseMode
	In      []UID // as many as the mode takes
	Out     UID
	Compute DataType
	// Clip holds the bounds and slope of a rectifier where they differ from the defaults: 0, none, 0.
	Clip Clip
}

// Clip are the optional parameters of RELU_FWD and RELU_BWD; nil is a parameter that was not set.
type Clip struct {
	Lower, Upper, Slope *float32
}

// Inputs implements Node.
func (n *ConvolutionForward) Inputs() []UID { return []UID{n.X, n.W} }

// Output implements Node.
func (n *ConvolutionForward) Output() UID { return n.Y }

// Kind implements Node.
func (n *ConvolutionForward) Kind() string { return "convolution forward" }

// Inputs implements Node.
func (n *ConvolutionBackwardData) Inputs() []UID { return []UID{n.DY, n.W} }

// Output implements Node.
func (n *ConvolutionBackwardData) Output() UID { return n.DX }

// Kind implements Node.
func (n *ConvolutionBackwardData) Kind() string { return "convolution backward data" }

// Inputs implements Node.
func (n *ConvolutionBackwardWeights) Inputs() []UID { return []UID{n.X, n.DY} }

// Output implements Node.
func (n *ConvolutionBackwardWeights) Output() UID { return n.DW }

// Kind implements Node.
func (n *ConvolutionBackwardWeights) Kind() string { return "convolution backward weights" }

// Inputs implements Node.
func (n *Pointwise) Inputs() []UID { return n.In }

// Output implements Node.
func (n *Pointwise) Output() UID { return n.Out }

// Kind implements Node.
func (n *Pointwise) Kind() string { return "pointwise " + n.Mode.String() }

func (*ConvolutionForward) node()         {}
func (*ConvolutionBackwardData) node()    {}
func (*ConvolutionBackwardWeights) node() {}
func (*Pointwise) node()                  {}

// Graph is an operation graph. Nodes are in an order in which they can be executed.
type Graph struct {
	Name    string
	Tensors []Tensor
	Nodes   []Node
	// ComputeType, IntermediateType and IOType are the defaults that operations and tensors without
	// a type of their own take. Ours all have one; hipDNN wants the defaults all the same.
	ComputeType, IntermediateType, IOType DataType
}

// Tensor returns the tensor of that name, nil if there is none.
func (g *Graph) Tensor(id UID) *Tensor {
	for i := range g.Tensors {
		if g.Tensors[i].UID == id {
			return &g.Tensors[i]
		}
	}
	return nil
}
