package wire

import "example.com/miopen_hipdnn_shim/hipdnnbridge/graph"

// Graph is an operation graph (graph.fbs).
type Graph struct {
	Name string
	// The defaults of nodes and tensors without a type of their own.
	Compute, Intermediate, IO graph.DataType
	Tensors                   []Tensor
	Nodes                     []Node
	// PreferredEngine is the id of the engine that the client asked for.
	PreferredEngine *int64
	// OverrideShapes says that shapes may be replaced at each execution.
	OverrideShapes bool
	// RequiredVersion is the least version of the plugin API that an engine has to have; nil is 1.0.0.
	RequiredVersion *Version
	ID              *[16]byte // UUID
}

// Version is EngineApiVersion of graph.fbs.
type Version struct{ Major, Minor, Patch uint32 }

// Tensor is TensorAttributes of tensor_attributes.fbs. Strides and Dims are in elements.
type Tensor struct {
	UID           int64
	Name          string
	Type          graph.DataType
	Strides, Dims []int64
	Virtual       bool
	// Value is what a tensor that is passed by value holds; nil for all others.
	Value Value
	// RuntimePassByValue says that the value comes at each execution, in host memory.
	RuntimePassByValue bool
	// RaggedOffsetUID is the tensor of the offsets of a ragged one.
	RaggedOffsetUID *int64
	// Alignment is that of the data, in bytes. An absent one reads as 16.
	Alignment int64
	// RaggedOffsetMultiplier: an absent one reads as 1.
	RaggedOffsetMultiplier int64
}

// Value is a number that a tensor holds, a member of the union TensorValue: Float32Value, Float16Value,
// BFloat16Value, Float8Value, Int32Value, Float64Value, Int64Value or BoolValue.
type Value interface{ tensorValue() }

// The members of Value. The 16-bit types travel as a float, the 8-bit ones as their code.
type (
	Float32Value  float32
	Float16Value  float32
	BFloat16Value float32
	Float8Value   uint8
	Int32Value    int32
	Float64Value  float64
	Int64Value    int64
	BoolValue     bool
)

// Node is an operation (Node of graph.fbs).
type Node struct {
	Name    string
	Compute graph.DataType
	// Attributes say which operation it is. A node that was read has some.
	Attributes Attributes
}

// Attributes are those of an operation, a member of the union NodeAttributes: *BatchnormInference, *Pointwise,
// *BatchnormBackward, *Batchnorm, *ConvolutionFwd, *ConvolutionBwd, *ConvolutionWrw, *BatchnormInferenceVarianceExt,
// *Matmul, or Unread for an operation that exists and is not known here.
type Attributes interface{ nodeAttributes() }

// Window is what the three convolutions have in common: a number for each spatial dimension.
type Window struct {
	PrePadding, PostPadding []int64
	Stride, Dilation        []int64
	Mode                    graph.ConvolutionMode // 0 if it was not set
	UMDFlops, UMDBytes      string
}

// ConvolutionFwd computes Y from X and W.
type ConvolutionFwd struct {
	X, W, Y int64
	Window
}

// ConvolutionBwd computes DX from DY and W.
type ConvolutionBwd struct {
	DY, W, DX int64
	Window
}

// ConvolutionWrw computes DW from X and DY.
type ConvolutionWrw struct {
	X, DY, DW int64
	Window
}

// Pointwise applies a function to each element. What a function does not take is nil.
type Pointwise struct {
	Mode                              graph.PointwiseMode // any of hipDNN's, 0 if it was not set
	ReLULowerClip, ReLUUpperClip      *float32
	ReLULowerClipSlope                *float32
	Axis                              *int64
	In0                               int64
	In1, In2                          *int64
	Out0                              int64
	SwishBeta, ELUAlpha, SoftplusBeta *float32
}

// Matmul computes C from A and B.
type Matmul struct {
	A, B, C            int64
	UMDFlops, UMDBytes string
}

// Batchnorm is the training form of batch normalisation, forward.
type Batchnorm struct {
	X, Scale, Bias, Epsilon              int64
	PeerStats                            []int64
	PrevRunningMean, PrevRunningVariance *int64
	Momentum                             *int64
	Y                                    int64
	Mean, InvVariance                    *int64
	NextRunningMean, NextRunningVariance *int64
}

// BatchnormBackward is batch normalisation, backward.
type BatchnormBackward struct {
	DY, X             int64
	Mean, InvVariance *int64
	Scale             int64
	PeerStats         []int64
	DX, DScale, DBias int64
}

// BatchnormInference is batch normalisation with fixed statistics.
type BatchnormInference struct {
	X, Mean, InvVariance, Scale, Bias, Y int64
}

// BatchnormInferenceVarianceExt is BatchnormInference with the variance instead of its inverse root.
type BatchnormInferenceVarianceExt struct {
	X, Mean, Variance, Scale, Bias, Y, Epsilon int64
}

// Unread stands for an operation whose attributes are not read: 10 RMSNorm, 11 Layernorm, 12 Sdpa,
// 13 BlockScaleDequantize, 14 BlockScaleQuantize, 15 SdpaBackward, 16 CustomOp, 17 RMSNormBackward, 18 Reduction,
// 19 ResampleFwd, 20 LayernormBackward, 21 ResampleBwd, 22 MoeGroupedMatmul, 23 MoeGroupedMatmulBwd. It is written
// without any attribute.
type Unread struct{ Type uint8 }

func (Float32Value) tensorValue()  {}
func (Float16Value) tensorValue()  {}
func (BFloat16Value) tensorValue() {}
func (Float8Value) tensorValue()   {}
func (Int32Value) tensorValue()    {}
func (Float64Value) tensorValue()  {}
func (Int64Value) tensorValue()    {}
func (BoolValue) tensorValue()     {}

func (*ConvolutionFwd) nodeAttributes()                {}
func (*ConvolutionBwd) nodeAttributes()                {}
func (*ConvolutionWrw) nodeAttributes()                {}
func (*Pointwise) nodeAttributes()                     {}
func (*Matmul) nodeAttributes()                        {}
func (*Batchnorm) nodeAttributes()                     {}
func (*BatchnormBackward) nodeAttributes()             {}
func (*BatchnormInference) nodeAttributes()            {}
func (*BatchnormInferenceVarianceExt) nodeAttributes() {}
func (Unread) nodeAttributes()                         {}
