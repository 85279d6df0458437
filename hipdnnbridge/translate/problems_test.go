package translate_test

import (
	"fmt"
	"math/rand/v2"

	"example.com/miopen_hipdnn_shim/hipdnnbridge/graph"
	"example.com/miopen_hipdnn_shim/hipdnnbridge/miopen"
	"example.com/miopen_hipdnn_shim/hipdnnbridge/translate"
)

// translator is translate.Forward, or a mutant of it.
type translator func(*miopen.Convolution, miopen.Scalars, translate.Buffers) (graph.Graph, translate.Binding, error)

var identity = miopen.Scalars{Alpha: 1, Beta: 0, AlphaSet: true, BetaSet: true}

// apart are addresses that no tensor of a test is large enough to reach from one another.
var apart = translate.Buffers{X: 0x1000_0000_0000, W: 0x2000_0000_0000, Y: 0x3000_0000_0000}

func tensorOf(typ miopen.DataType, strides func([]int64) []int64, dims ...int64) miopen.Tensor {
	return miopen.Tensor{Type: typ, Rank: len(dims), Dims: dims, Strides: strides(dims), Cast: miopen.NoCast}
}

// sample is a problem in which no two numbers that could be confused are the same: y 2x4x5x6 from x
// 2x6x10x7 by a 3x2 filter in two groups, pads 2 1, strides 2 1, dilations 2 3.
func sample() miopen.Convolution {
	return miopen.Convolution{
		X:    tensorOf(miopen.Float, miopen.PackedStrides, 2, 6, 10, 7),
		W:    tensorOf(miopen.Float, miopen.PackedStrides, 4, 3, 3, 2),
		Y:    tensorOf(miopen.Float, miopen.ChannelsLastStrides, 2, 4, 5, 6),
		Mode: miopen.ModeConvolution, Groups: 2, Spatial: 2,
		Pads: []int64{2, 1}, Strides: []int64{2, 1}, Dilations: []int64{2, 3},
		FP16Alternative: miopen.Unread,
	}
}

// transposed is the sample the other way round: from y's shape to x's.
func transposed() miopen.Convolution {
	c := sample()
	c.Mode = miopen.ModeTranspose
	c.X, c.Y = c.Y, c.X
	return c
}

// retype gives a problem other element types.
func retype(c miopen.Convolution, x, w, y miopen.DataType) miopen.Convolution {
	c.X.Type, c.W.Type, c.Y.Type = x, w, y
	return c
}

// kind is what a random problem is one of: the cells that have to be covered.
type kind struct {
	x, y     miopen.DataType
	spatial  int
	layout   string
	grouping string
	mode     miopen.Mode
}

func (k kind) String() string {
	return fmt.Sprintf("%v-%v/%dd/%s/%s/%v", k.x, k.y, k.spatial, k.layout, k.grouping, k.mode)
}

var (
	typePairs = [][2]miopen.DataType{
		{miopen.Half, miopen.Half}, {miopen.BFloat16, miopen.BFloat16}, {miopen.Float, miopen.Float}, {miopen.Double, miopen.Double},
		{miopen.Int8, miopen.Int32}, {miopen.Int8, miopen.Float}, {miopen.Float8Fnuz, miopen.Float8Fnuz}, {miopen.BFloat8Fnuz, miopen.BFloat8Fnuz},
	}
	layouts   = []string{"channels-first", "channels-last", "permuted", "gaps"}
	groupings = []string{"one", "several", "depthwise"}
)

func kinds(maxSpatial int) []kind {
	var out []kind
	for _, types := range typePairs {
		for spatial := 1; spatial <= maxSpatial; spatial++ {
			for _, layout := range layouts {
				for _, grouping := range groupings {
					for _, mode := range []miopen.Mode{miopen.ModeConvolution, miopen.ModeTranspose} {
						out = append(out, kind{types[0], types[1], spatial, layout, grouping, mode})
					}
				}
			}
		}
	}
	return out
}

// random draws a problem of a kind that is to be translated.
func (k kind) random(rng *rand.Rand) miopen.Convolution {
	groups, c, n := int64(1), 1+rng.Int64N(4), 1+rng.Int64N(4) // channels and results per group
	switch k.grouping {
	case "several":
		groups = 2 + rng.Int64N(2)
	case "depthwise":
		groups, c, n = 2+rng.Int64N(3), 1, 1+rng.Int64N(2)
	}
	conv := miopen.Convolution{Mode: k.mode, Groups: int32(groups), Spatial: k.spatial, FP16Alternative: miopen.Unread}
	wide := []int64{1 + rng.Int64N(3), groups * c}
	filter := []int64{groups * n, c}
	narrow := []int64{wide[0], groups * n}
	room := []int64{0, 12, 7, 4, 3, 2}[k.spatial]
	for range k.spatial {
		f, pad, stride, dilation := 1+rng.Int64N(3), rng.Int64N(3), 1+rng.Int64N(3), 1+rng.Int64N(3)
		reach := dilation*(f-1) + 1
		length := max(1, reach-2*pad) + rng.Int64N(room)
		conv.Pads, conv.Strides, conv.Dilations = append(conv.Pads, pad), append(conv.Strides, stride), append(conv.Dilations, dilation)
		wide, filter = append(wide, length), append(filter, f)
		narrow = append(narrow, (length+2*pad-reach)/stride+1)
	}
	tensor := func(t miopen.DataType, dims []int64) miopen.Tensor {
		out := miopen.Tensor{Type: t, Rank: len(dims), Dims: dims, Cast: miopen.NoCast}
		layout := k.layout
		if rng.IntN(3) == 0 {
			layout = layouts[rng.IntN(len(layouts))] // not all tensors of a call have one layout
		}
		out.Strides = strides(rng, layout, dims)
		return out
	}
	conv.W = tensor(k.x, filter)
	if k.mode == miopen.ModeTranspose {
		conv.X, conv.Y = tensor(k.x, narrow), tensor(k.y, wide)
	} else {
		conv.X, conv.Y = tensor(k.x, wide), tensor(k.y, narrow)
	}
	return conv
}

func strides(rng *rand.Rand, layout string, dims []int64) []int64 {
	switch layout {
	case "channels-first":
		return miopen.PackedStrides(dims)
	case "channels-last":
		return miopen.ChannelsLastStrides(dims)
	}
	out := make([]int64, len(dims))
	next := int64(1)
	if layout == "gaps" {
		next += rng.Int64N(2)
	}
	for _, i := range rng.Perm(len(dims)) {
		out[i] = next
		next *= dims[i]
		if layout == "gaps" {
			next += rng.Int64N(4)
		}
	}
	return out
}

// failure is a problem on which a check failed.
type failure struct {
	kind    kind
	problem miopen.Convolution
	err     error
}

func (f *failure) Error() string {
	return fmt.Sprintf("%v: %v\n%+v", f.kind, f.err, f.problem)
}
