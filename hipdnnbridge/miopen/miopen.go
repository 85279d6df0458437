// Package miopen holds the values of MIOpen's API that forwarding looks at: types, statuses, modes,
// tensor and convolution descriptors.
//
// Every number is that of MIOpen 3.5.1's header miopen/miopen.h; a test holds them against the header.
// The package reads descriptors from the flat structures that the wrapper fills, and knows nothing of
// what happens to them: no hipDNN, no routing, no calls.
package miopen

import "strconv"

// DataType is miopenDataType_t. Number 4 was a packed type, which is discontinued.
type DataType int32

// The element types of miopenDataType_t.
const (
	Half        DataType = 0
	Float       DataType = 1
	Int32       DataType = 2
	Int8        DataType = 3
	BFloat16    DataType = 5
	Double      DataType = 6
	Float8Fnuz  DataType = 7
	BFloat8Fnuz DataType = 8
	Int64       DataType = 9
)

// NoCast is the cast type of a tensor that has none.
const NoCast DataType = -1

type typeRow struct {
	name string
	size int64
}

// types is indexed by DataType; a row without a name is no type.
var types = [...]typeRow{
	Half:        {"miopenHalf", 2},
	Float:       {"miopenFloat", 4},
	Int32:       {"miopenInt32", 4},
	Int8:        {"miopenInt8", 1},
	BFloat16:    {"miopenBFloat16", 2},
	Double:      {"miopenDouble", 8},
	Float8Fnuz:  {"miopenFloat8_fnuz", 1},
	BFloat8Fnuz: {"miopenBFloat8_fnuz", 1},
	Int64:       {"miopenInt64", 8},
}

// DataTypes are all element types in the order of their numbers.
var DataTypes = []DataType{Half, Float, Int32, Int8, BFloat16, Double, Float8Fnuz, BFloat8Fnuz, Int64}

// Valid reports whether t is an element type of the header.
func (t DataType) Valid() bool { return t >= 0 && int(t) < len(types) && types[t].name != "" }

// Size is the number of bytes of an element, 0 for what is no type.
func (t DataType) Size() int64 {
	if !t.Valid() {
		return 0
	}
	return types[t].size
}

// String is the header's name.
func (t DataType) String() string {
	if !t.Valid() {
		return "miopenDataType_t(" + strconv.Itoa(int(t)) + ")"
	}
	return types[t].name
}

// Status is miopenStatus_t.
type Status int32

// The values of miopenStatus_t.
const (
	StatusSuccess              Status = 0
	StatusNotInitialized       Status = 1
	StatusInvalidValue         Status = 2
	StatusBadParm              Status = 3
	StatusAllocFailed          Status = 4
	StatusInternalError        Status = 5
	StatusNotImplemented       Status = 6
	StatusUnknownError         Status = 7
	StatusUnsupportedOp        Status = 8
	StatusGPUOperationsSkipped Status = 9
	StatusVersionMismatch      Status = 10
)

var statuses = [...]string{
	StatusSuccess:              "miopenStatusSuccess",
	StatusNotInitialized:       "miopenStatusNotInitialized",
	StatusInvalidValue:         "miopenStatusInvalidValue",
	StatusBadParm:              "miopenStatusBadParm",
	StatusAllocFailed:          "miopenStatusAllocFailed",
	StatusInternalError:        "miopenStatusInternalError",
	StatusNotImplemented:       "miopenStatusNotImplemented",
	StatusUnknownError:         "miopenStatusUnknownError",
	StatusUnsupportedOp:        "miopenStatusUnsupportedOp",
	StatusGPUOperationsSkipped: "miopenStatusGpuOperationsSkipped",
	StatusVersionMismatch:      "miopenStatusVersionMismatch",
}

// String is the header's name.
func (s Status) String() string {
	if s < 0 || int(s) >= len(statuses) {
		return "miopenStatus_t(" + strconv.Itoa(int(s)) + ")"
	}
	return statuses[s]
}

// Mode is miopenConvolutionMode_t.
type Mode int32

// The values of miopenConvolutionMode_t. The last two are deprecated.
const (
	ModeConvolution Mode = 0
	ModeTranspose   Mode = 1
	ModeGroup       Mode = 2
	ModeDepthwise   Mode = 3
)

var modes = [...]string{
	ModeConvolution: "miopenConvolution",
	ModeTranspose:   "miopenTranspose",
	ModeGroup:       "miopenGroupConv",
	ModeDepthwise:   "miopenDepthwise",
}

// String is the header's name.
func (m Mode) String() string {
	if m < 0 || int(m) >= len(modes) {
		return "miopenConvolutionMode_t(" + strconv.Itoa(int(m)) + ")"
	}
	return modes[m]
}

// ActivationMode is miopenActivationMode_t. Only functions that are translated are listed.
type ActivationMode int32

// The values of miopenActivationMode_t that are rectifiers. Their formulas are those of the header's
// comments.
const (
	ActivationReLU        ActivationMode = 3  // max(0, x)
	ActivationClippedReLU ActivationMode = 7  // max(0, min(alpha, x))
	ActivationLeakyReLU   ActivationMode = 8  // alpha*x below 0, x above
	ActivationClamp       ActivationMode = 10 // max(alpha, min(beta, x))
)

// String is the header's name.
func (m ActivationMode) String() string {
	switch m {
	case ActivationReLU:
		return "miopenActivationRELU"
	case ActivationClippedReLU:
		return "miopenActivationCLIPPEDRELU"
	case ActivationLeakyReLU:
		return "miopenActivationLEAKYRELU"
	case ActivationClamp:
		return "miopenActivationCLAMP"
	}
	return "miopenActivationMode_t(" + strconv.Itoa(int(m)) + ")"
}

// Activation is an activation with its parameters; those that the mode has no use for are 0.
type Activation struct {
	Mode               ActivationMode
	Alpha, Beta, Gamma float64
}

// Rounding is miopenF8RoundingMode_t, the value of MIOPEN_CONVOLUTION_ATTRIB_FP8_ROUNDING_MODE.
type Rounding int32

// The values of miopenF8RoundingMode_t.
const (
	RoundingStandard   Rounding = 0
	RoundingStochastic Rounding = 1
)

// Unread is the value of an attribute that this MIOpen does not have or does not tell. For
// FP16Alternative it is also MIOpen's own number for the default.
const Unread = -1

// MaxSpatial and MaxRank bound the descriptors that can be read.
const (
	MaxSpatial = 5
	MaxRank    = MaxSpatial + 2
)

// Tensor is a tensor descriptor. Dims and Strides are in elements and in the descriptor's order,
// which does not depend on the layout: batch, channels, spatial from the outermost; for weights
// output channels, channels per group, filter. The layout is in the strides.
type Tensor struct {
	Type    DataType
	Dims    []int64
	Strides []int64 // as many as Dims
	// Rank is the descriptor's rank, len(Dims) unless the descriptor could not be read (0) or has
	// more than MaxRank dimensions: then there are no Dims and Strides.
	Rank int
	// Cast is NoCast, or the type that elements are rounded to before they are used.
	Cast DataType
	// Vectorised elements are vectors of channels: Dims and Strides do not tell all.
	Vectorised bool
}

// Convolution is what decides about the result of a convolution, apart from the data.
type Convolution struct {
	X, W, Y Tensor
	Mode    Mode
	Groups  int32
	// Spatial is the number of spatial dimensions, the length of the three slices unless it is more
	// than MaxSpatial: then they are empty.
	Spatial                  int
	Pads, Strides, Dilations []int64 // pads are added on both sides

	// FP16Alternative is MIOPEN_CONVOLUTION_ATTRIB_FP16_ALT_IMPL: 0 or 1, Unread for the default,
	// which is 0 for the forward direction and 1 for the backward ones. It has an effect on gfx90a
	// only (source: the attribute's comment in miopen.h).
	FP16Alternative int32
	// Deterministic is MIOPEN_CONVOLUTION_ATTRIB_DETERMINISTIC: 0 (default) or 1.
	Deterministic int32
	// FP8Rounding is MIOPEN_CONVOLUTION_ATTRIB_FP8_ROUNDING_MODE. Only 8-bit floating types care.
	FP8Rounding Rounding
}

// Scalars are alpha and beta of a call: the result is alpha*conv(x, w) + beta*y. A value whose Set
// is false was a null pointer.
type Scalars struct {
	Alpha, Beta       float64
	AlphaSet, BetaSet bool
}

// PackedStrides are the strides of a tensor without gaps whose dimensions lie in memory in their
// own order, the layouts NCHW and NCDHW.
func PackedStrides(dims []int64) []int64 {
	strides := make([]int64, len(dims))
	next := int64(1)
	for i := len(dims) - 1; i >= 0; i-- {
		strides[i] = next
		next *= dims[i]
	}
	return strides
}

// ChannelsLastStrides are the strides of a tensor without gaps whose channels, dimension 1, lie
// innermost: the layouts NHWC and NDHWC.
func ChannelsLastStrides(dims []int64) []int64 {
	if len(dims) < 2 {
		return PackedStrides(dims)
	}
	strides := make([]int64, len(dims))
	strides[1] = 1
	next := dims[1]
	for i := len(dims) - 1; i >= 2; i-- {
		strides[i] = next
		next *= dims[i]
	}
	strides[0] = next
	return strides
}
