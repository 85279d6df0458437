package translate

// Reason is why a call has no exact translation.
type Reason uint8

// The reasons. The text of each is stable: reports and tests name it.
const (
	NoReason             Reason = iota
	ScalarNull                  // alpha or beta is a null pointer
	ScalarValue                 // alpha is not 1 or beta is not 0
	BufferNull                  // x, w or y is a null pointer
	BuffersOverlap              // y shares bytes with x or w
	BufferMisaligned            // x, w or y is not where hipDNN expects tensors to be
	DescriptorUnreadable        // a descriptor could not be read
	TooManyDims                 // more than five spatial dimensions
	RankMismatch                // tensors and convolution differ in the number of dimensions
	VectorisedLayout            // elements are vectors of channels
	CastType                    // elements are cast before they are used
	DimNotPositive              // a dimension is zero or negative
	StrideNotPlain              // strides are zero, negative, or let elements of a tensor overlap
	TooLarge                    // a tensor does not fit the address space
	TypeUnknown                 // a type number that the header does not have
	TypeCombination             // types of x, w and y that are not translated together
	IntegerOverflow             // an integer sum could leave what its type holds exactly
	ModeUnknown                 // a convolution mode that the header does not have
	GeometryInvalid             // a negative pad, or a stride or dilation below 1
	GroupMismatch               // the channels do not make the descriptor's number of groups
	OutputMismatch              // y's dimensions are not what the convolution gives
	Deterministic               // deterministic results are asked for
	FP16Alternative             // the choice of the alternative half precision implementation
	FP8Rounding                 // stochastic or unknown rounding of 8-bit floating types
	AttributeUnreadable         // an attribute that decides about results could not be read
	OperationUnsupported        // graph to MIOpen: an operation with no MIOpen call
	GraphInvalid                // graph to MIOpen: the graph is not well formed
	PaddingAsymmetric           // graph to MIOpen: pads before and after differ
	ComputeType                 // graph to MIOpen: a type of sums that MIOpen does not use
	Flipped                     // graph to MIOpen: the filter is to be flipped
	TensorVirtual               // graph to MIOpen: memory is needed where the graph has a virtual tensor
	IntermediateStored          // graph to MIOpen: a result between fused operations is wanted in memory
	IntermediateType            // graph to MIOpen: a result between fused operations is to be rounded
	BiasShape                   // graph to MIOpen: what is added is not one value per channel
	ActivationClip              // graph to MIOpen: bounds or slope that no activation of MIOpen has
	FusedLayout                 // graph to MIOpen: the tensors of a fused convolution are not packed in one layout
	ShapeOverride               // graph to MIOpen: shapes may change from one execution to the next
	RuntimeValue                // graph to MIOpen: a tensor is a value that executions pass
	ConstantValue               // graph to MIOpen: a tensor is a value in the graph
	RaggedTensor                // graph to MIOpen: rows of a tensor have lengths of their own
	NotPacked                   // graph to MIOpen: the tensors are not packed in one layout
	NoSolution                  // graph to MIOpen: MIOpen has no solution for the problem
	reasons
)

var reasonTexts = [reasons]string{
	NoReason:             "none",
	ScalarNull:           "scalar-null",
	ScalarValue:          "scalar-value",
	BufferNull:           "buffer-null",
	BuffersOverlap:       "buffers-overlap",
	BufferMisaligned:     "buffer-misaligned",
	DescriptorUnreadable: "descriptor-unreadable",
	TooManyDims:          "too-many-dims",
	RankMismatch:         "rank-mismatch",
	VectorisedLayout:     "vectorised-layout",
	CastType:             "cast-type",
	DimNotPositive:       "dim-not-positive",
	StrideNotPlain:       "stride-not-plain",
	TooLarge:             "too-large",
	TypeUnknown:          "type-unknown",
	TypeCombination:      "type-combination",
	IntegerOverflow:      "integer-overflow",
	ModeUnknown:          "mode-unknown",
	GeometryInvalid:      "geometry-invalid",
	GroupMismatch:        "group-mismatch",
	OutputMismatch:       "output-mismatch",
	Deterministic:        "deterministic",
	FP16Alternative:      "fp16-alternative",
	FP8Rounding:          "fp8-rounding",
	AttributeUnreadable:  "attribute-unreadable",
	OperationUnsupported: "operation-unsupported",
	GraphInvalid:         "graph-invalid",
	PaddingAsymmetric:    "padding-asymmetric",
	ComputeType:          "compute-type",
	Flipped:              "filter-flipped",
	TensorVirtual:        "tensor-virtual",
	IntermediateStored:   "intermediate-stored",
	IntermediateType:     "intermediate-type",
	BiasShape:            "bias-shape",
	ActivationClip:       "activation-clip",
	FusedLayout:          "fused-layout",
	ShapeOverride:        "shape-override",
	RuntimeValue:         "runtime-value",
	ConstantValue:        "constant-value",
	RaggedTensor:         "ragged-tensor",
	NotPacked:            "not-packed",
	NoSolution:           "no-solution",
}

// Reasons is the number of reasons, NoReason included; every Reason is below it.
const Reasons = int(reasons)

// String is the reason's stable name.
func (r Reason) String() string {
	if r >= reasons {
		return "unknown"
	}
	return reasonTexts[r]
}

// Decline is the error of a problem that has no exact translation. It is no failure: nothing was
// tried, and MIOpen can serve the call.
type Decline struct {
	Reason Reason
	Text   string // what was seen, for people
}

func (d *Decline) Error() string {
	if d.Text == "" {
		return "no exact translation: " + d.Reason.String()
	}
	return "no exact translation: " + d.Reason.String() + ": " + d.Text
}
