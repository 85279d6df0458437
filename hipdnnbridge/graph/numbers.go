package graph

import "strconv"

// DataType is the type of a tensor's elements or of a computation. The value is the package's own:
// hipDNN numbers types one way in its C API and another on the wire. Zero is no type.
type DataType uint8

// The element types that both numberings have.
const (
	Unset DataType = iota
	Float
	Double
	Half
	Int8
	Int32
	UInt8
	BFloat16
	FP8E4M3
	FP8E5M2
	FP8E8M0
	FP4E2M1
	Int4
	FP6E2M3
	FP6E3M2
	Int64
	FP8E4M3FNUZ
	FP8E5M2FNUZ
	dataTypes
)

type dataTypeRow struct {
	name string
	bits int64
	api  int32 // hipdnnDataType_t, HipdnnDataType.h; releases of early 2026 (a4e33964) end with FP8_E5M2
	wire int8  // DataType in data_types.fbs at 0f9f111b
}

var dataTypeTable = [dataTypes]dataTypeRow{
	Float:       {"FLOAT", 32, 0, 1},
	Double:      {"DOUBLE", 64, 1, 4},
	Half:        {"HALF", 16, 2, 2},
	Int8:        {"INT8", 8, 3, 7},
	Int32:       {"INT32", 32, 4, 6},
	UInt8:       {"UINT8", 8, 5, 5},
	BFloat16:    {"BFLOAT16", 16, 6, 3},
	FP8E4M3:     {"FP8_E4M3", 8, 7, 8},
	FP8E5M2:     {"FP8_E5M2", 8, 8, 9},
	FP8E8M0:     {"FP8_E8M0", 8, 9, 10},
	FP4E2M1:     {"FP4_E2M1", 4, 10, 11},
	Int4:        {"INT4", 4, 11, 14},
	FP6E2M3:     {"FP6_E2M3", 6, 12, 12},
	FP6E3M2:     {"FP6_E3M2", 6, 13, 13},
	Int64:       {"INT64", 64, 14, 15},
	FP8E4M3FNUZ: {"FP8_E4M3_FNUZ", 8, 16, 16},
	FP8E5M2FNUZ: {"FP8_E5M2_FNUZ", 8, 17, 17},
}

// Valid reports whether t is a type.
func (t DataType) Valid() bool { return t > Unset && t < dataTypes }

// API is the number of hipdnnDataType_t, -1 for what is no type.
func (t DataType) API() int32 {
	if !t.Valid() {
		return -1
	}
	return dataTypeTable[t].api
}

// Wire is the number in a serialised graph; Unset has one, 0.
func (t DataType) Wire() int8 {
	if !t.Valid() {
		return 0
	}
	return dataTypeTable[t].wire
}

// Bits is the size of an element in bits, 0 for what is no type.
func (t DataType) Bits() int64 {
	if !t.Valid() {
		return 0
	}
	return dataTypeTable[t].bits
}

// String is hipDNN's name without its prefix.
func (t DataType) String() string {
	if !t.Valid() {
		return "DataType(" + strconv.Itoa(int(t)) + ")"
	}
	return dataTypeTable[t].name
}

// DataTypeFromAPI returns the type with that number of hipdnnDataType_t.
func DataTypeFromAPI(number int32) (DataType, bool) {
	for t := Unset + 1; t < dataTypes; t++ {
		if dataTypeTable[t].api == number {
			return t, true
		}
	}
	return Unset, false
}

// DataTypeFromWire returns the type with that number in a serialised graph; 0 is Unset.
func DataTypeFromWire(number int8) (DataType, bool) {
	if number == 0 {
		return Unset, true
	}
	for t := Unset + 1; t < dataTypes; t++ {
		if dataTypeTable[t].wire == number {
			return t, true
		}
	}
	return Unset, false
}

// ConvolutionMode says whether the filter is flipped. The value is the number on the wire; hipDNN's
// C API has numbers that are one less. Zero is no mode.
type ConvolutionMode uint8

// The modes. What machine learning calls convolution is CrossCorrelation.
const (
	Convolution      ConvolutionMode = 1
	CrossCorrelation ConvolutionMode = 2
)

// Valid reports whether m is a mode.
func (m ConvolutionMode) Valid() bool { return m == Convolution || m == CrossCorrelation }

// API is the number of hipdnnConvolutionMode_t, -1 for what is no mode (hipdnn_backend.h at 969801db).
func (m ConvolutionMode) API() int32 { return int32(m) - 1 }

// String is hipDNN's name without its prefix.
func (m ConvolutionMode) String() string {
	switch m {
	case Convolution:
		return "CONVOLUTION"
	case CrossCorrelation:
		return "CROSS_CORRELATION"
	}
	return "ConvolutionMode(" + strconv.Itoa(int(m)) + ")"
}

// PointwiseMode is the function of a Pointwise node. The value is hipDNN's number, the same in its C
// API and on the wire (HipdnnPointwiseMode.h at 8b7455ae). Only functions that are translated are
// listed.
type PointwiseMode uint8

// The pointwise functions.
const (
	PointwiseAdd      PointwiseMode = 2
	PointwiseIdentity PointwiseMode = 23
	PointwiseReLU     PointwiseMode = 34
)

// Operands is the number of inputs, 0 for a function that is not listed.
func (m PointwiseMode) Operands() int {
	switch m {
	case PointwiseAdd:
		return 2
	case PointwiseIdentity, PointwiseReLU:
		return 1
	}
	return 0
}

// String is hipDNN's name without its prefix.
func (m PointwiseMode) String() string {
	switch m {
	case PointwiseAdd:
		return "ADD"
	case PointwiseIdentity:
		return "IDENTITY"
	case PointwiseReLU:
		return "RELU_FWD"
	}
	return "PointwiseMode(" + strconv.Itoa(int(m)) + ")"
}
