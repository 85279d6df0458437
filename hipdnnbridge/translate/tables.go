package translate

import (
	"example.com/miopen_hipdnn_shim/hipdnnbridge/graph"
	"example.com/miopen_hipdnn_shim/hipdnnbridge/miopen"
)

// dataTypes maps element types one to one. Source: the field table of the investigation's section 6,
// which says that every type of MIOpen has an equivalent.
var dataTypes = [...]struct {
	miopen miopen.DataType
	graph  graph.DataType
}{
	{miopen.Half, graph.Half},
	{miopen.Float, graph.Float},
	{miopen.BFloat16, graph.BFloat16},
	{miopen.Double, graph.Double},
	{miopen.Int8, graph.Int8},
	{miopen.Int32, graph.Int32},
	{miopen.Int64, graph.Int64},
	{miopen.Float8Fnuz, graph.FP8E4M3FNUZ},
	{miopen.BFloat8Fnuz, graph.FP8E5M2FNUZ},
}

// DataType returns hipDNN's type for one of MIOpen.
func DataType(t miopen.DataType) (graph.DataType, bool) {
	for _, row := range dataTypes {
		if row.miopen == t {
			return row.graph, true
		}
	}
	return graph.Unset, false
}

// MIOpenDataType returns MIOpen's type for one of hipDNN. hipDNN has more types than MIOpen.
func MIOpenDataType(t graph.DataType) (miopen.DataType, bool) {
	for _, row := range dataTypes {
		if row.graph == t {
			return row.miopen, true
		}
	}
	return miopen.NoCast, false
}

// typeRow is a combination of types that is translated.
type typeRow struct {
	x, w, y graph.DataType
	compute graph.DataType
	// exactSums is the largest sum that every way of adding up integers gives exactly; 0 for
	// floating types, where results may differ by rounding.
	exactSums uint64
	// engine is set where the plugin offers the combination: its engines are for the types that
	// MIOpen has convolutions of every direction for.
	engine bool
}

// typeCombinations are the types that x, w and y have together. MIOpen's floating convolutions have
// one type for all tensors. Of the integer ones, int8 results are what is left of a sum that did not
// fit, which no graph can express; float results are exact as long as a float holds every sum.
var typeCombinations = [...]typeRow{
	{graph.Half, graph.Half, graph.Half, graph.Float, 0, true},
	{graph.BFloat16, graph.BFloat16, graph.BFloat16, graph.Float, 0, true},
	{graph.Float, graph.Float, graph.Float, graph.Float, 0, true},
	{graph.Double, graph.Double, graph.Double, graph.Double, 0, false},
	{graph.FP8E4M3FNUZ, graph.FP8E4M3FNUZ, graph.FP8E4M3FNUZ, graph.Float, 0, false},
	{graph.FP8E5M2FNUZ, graph.FP8E5M2FNUZ, graph.FP8E5M2FNUZ, graph.Float, 0, false},
	{graph.Int8, graph.Int8, graph.Int32, graph.Int32, 1<<31 - 1, false},
	{graph.Int8, graph.Int8, graph.Float, graph.Int32, 1 << 24, false},
}

func typesOf(c *miopen.Convolution) (*typeRow, error) {
	var t [3]graph.DataType
	for i, m := range [3]miopen.DataType{c.X.Type, c.W.Type, c.Y.Type} {
		t[i], _ = DataType(m) // what is no type is in no combination
	}
	for i := range typeCombinations {
		if row := &typeCombinations[i]; row.x == t[0] && row.w == t[1] && row.y == t[2] {
			return row, nil
		}
	}
	return nil, decline(TypeCombination, "x %v, w %v, y %v", c.X.Type, c.W.Type, c.Y.Type)
}

// operation is what a convolution mode of MIOpen is in a graph.
type operation struct {
	name string
	mode miopen.Mode // that the way back gives
	// alternative is MIOpen's default for FP16_ALT_IMPL in this direction, which is what an engine
	// that is not told otherwise does.
	alternative int32
	node        func(x, w, y graph.UID, g graph.Geometry) graph.Node
	// sides returns the tensor that a convolution with these weights reads and the one it writes:
	// x and y, or y and x for what goes the other way.
	sides func(c *miopen.Convolution) (wide, narrow *miopen.Tensor)
	// channels is the number of channels that a sum goes over.
	channels func(c *miopen.Convolution) int64
}

// operations are the rows of the modes. The deprecated modes are miopenConvolution by another name:
// MIOpen's descriptor replaces them when it is initialised (src/convolution.cpp at 08cfec83).
var operations = [...]*operation{
	miopen.ModeConvolution: &forward,
	miopen.ModeTranspose:   &transpose,
	miopen.ModeGroup:       &forward,
	miopen.ModeDepthwise:   &forward,
}

var forward = operation{
	name: "convolution", mode: miopen.ModeConvolution,
	node: func(x, w, y graph.UID, g graph.Geometry) graph.Node {
		return &graph.ConvolutionForward{X: x, W: w, Y: y, Geometry: g}
	},
	sides:    func(c *miopen.Convolution) (wide, narrow *miopen.Tensor) { return &c.X, &c.Y },
	channels: func(c *miopen.Convolution) int64 { return c.W.Dims[1] },
}

// A transposed convolution is the gradient by its data of the convolution from y to x.
var transpose = operation{
	name: "transposed convolution", mode: miopen.ModeTranspose, alternative: 1,
	node: func(x, w, y graph.UID, g graph.Geometry) graph.Node {
		return &graph.ConvolutionBackwardData{DY: x, W: w, DX: y, Geometry: g}
	},
	sides:    func(c *miopen.Convolution) (wide, narrow *miopen.Tensor) { return &c.Y, &c.X },
	channels: func(c *miopen.Convolution) int64 { return c.W.Dims[0] / int64(c.Groups) },
}

func modeOf(m miopen.Mode) (*operation, error) {
	if m < 0 || int(m) >= len(operations) {
		return nil, decline(ModeUnknown, "%v", m)
	}
	return operations[m], nil
}
