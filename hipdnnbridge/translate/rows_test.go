package translate_test

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/hipdnnbridge/graph"
	"example.com/miopen_hipdnn_shim/hipdnnbridge/miopen"
	"example.com/miopen_hipdnn_shim/hipdnnbridge/translate"
)

// row is a row of one of the tables that say what is translated to what. The check must hold for the
// translation and, all rows together, for none of its mutants.
type row struct {
	name  string
	check func(tr translator) error
}

// want returns an error unless two values are equal.
func want[T any](what string, expected, got T) error {
	if !reflect.DeepEqual(expected, got) {
		return fmt.Errorf("%s: expected %v, got %v", what, expected, got)
	}
	return nil
}

// graphOf translates what must be translated and hands the graph's parts to a check.
func graphOf(c miopen.Convolution, check func(g *graph.Graph, b *translate.Binding) error) func(tr translator) error {
	return func(tr translator) error {
		c := c
		g, b, err := tr(&c, identity, apart)
		if err != nil {
			return err
		}
		if err := g.Validate(); err != nil {
			return err
		}
		return check(&g, &b)
	}
}

func tensorsOf(c miopen.Convolution, check func(x, w, y *graph.Tensor) error) func(tr translator) error {
	return graphOf(c, func(g *graph.Graph, b *translate.Binding) error {
		x, w, y := g.Tensor(b.UIDs[0]), g.Tensor(b.UIDs[1]), g.Tensor(b.UIDs[2])
		if len(g.Tensors) != 3 || x == nil || w == nil || y == nil {
			return fmt.Errorf("the binding %v does not name three tensors of %+v", b.UIDs, g.Tensors)
		}
		return check(x, w, y)
	})
}

func geometryOf(c miopen.Convolution, check func(g *graph.Geometry) error) func(tr translator) error {
	return graphOf(c, func(g *graph.Graph, _ *translate.Binding) error {
		switch n := g.Nodes[0].(type) {
		case *graph.ConvolutionForward:
			return check(&n.Geometry)
		case *graph.ConvolutionBackwardData:
			return check(&n.Geometry)
		}
		return fmt.Errorf("the operation is %s", g.Nodes[0].Kind())
	})
}

// declined translates what must be declined for one reason.
func declined(reason translate.Reason, spoil func(c *miopen.Convolution)) func(tr translator) error {
	return func(tr translator) error {
		c := sample()
		spoil(&c)
		return declinedCall(tr, &c, identity, apart, reason)
	}
}

func declinedCall(tr translator, c *miopen.Convolution, s miopen.Scalars, b translate.Buffers, reason translate.Reason) error {
	g, binding, err := tr(c, s, b)
	var decline *translate.Decline
	if !errors.As(err, &decline) {
		return fmt.Errorf("expected a decline for %v, got %v", reason, err)
	}
	if decline.Reason != reason {
		return fmt.Errorf("expected %v, got %v", reason, decline)
	}
	if !reflect.DeepEqual(g, graph.Graph{}) || binding != (translate.Binding{}) {
		return fmt.Errorf("declined for %v with half a translation: %+v", reason, g)
	}
	return nil
}

func all(rows ...func(tr translator) error) func(tr translator) error {
	return func(tr translator) error {
		for i, check := range rows {
			if err := check(tr); err != nil {
				return fmt.Errorf("%d: %w", i, err)
			}
		}
		return nil
	}
}

// twoSpatial is a filter of one element, under which y is as large as x and its pads.
func twoSpatial(typ miopen.DataType, pads []int64) miopen.Convolution {
	c := miopen.Convolution{
		X: tensorOf(typ, miopen.PackedStrides, 1, 1, 5, 5), W: tensorOf(typ, miopen.PackedStrides, 1, 1, 1, 1),
		Y:      tensorOf(typ, miopen.PackedStrides, 1, 1, 5+2*pads[0], 5+2*pads[1]),
		Groups: 1, Spatial: 2, Pads: pads, Strides: []int64{1, 1}, Dilations: []int64{1, 1}, FP16Alternative: miopen.Unread,
	}
	return c
}

// spatialRank is a plain convolution in a number of spatial dimensions.
func spatialRank(n int) miopen.Convolution {
	ones := slices.Repeat([]int64{1}, n)
	dims := func(n0, c int64, length int64) []int64 {
		return append([]int64{n0, c}, slices.Repeat([]int64{length}, n)...)
	}
	return miopen.Convolution{
		X: tensorOf(miopen.Float, miopen.PackedStrides, dims(1, 2, 4)...), W: tensorOf(miopen.Float, miopen.PackedStrides, dims(3, 2, 2)...),
		Y: tensorOf(miopen.Float, miopen.PackedStrides, dims(1, 3, 3)...), Groups: 1, Spatial: n,
		Pads: make([]int64, n), Strides: ones, Dilations: slices.Clone(ones), FP16Alternative: miopen.Unread,
	}
}

// fieldTable is the investigation's table of the fields that map. A row for the handle is the
// bridge's, since a graph has none.
var fieldTable = []row{
	{"dims", tensorsOf(sample(), func(x, w, y *graph.Tensor) error {
		return errors.Join(want("x", []int64{2, 6, 10, 7}, x.Dims), want("w", []int64{4, 3, 3, 2}, w.Dims), want("y", []int64{2, 4, 5, 6}, y.Dims))
	})},
	{"strides, the layout", tensorsOf(sample(), func(x, w, y *graph.Tensor) error {
		return errors.Join(want("x", []int64{420, 70, 7, 1}, x.Strides), want("w", []int64{18, 6, 2, 1}, w.Strides), want("y", []int64{120, 1, 24, 4}, y.Strides))
	})},
	{"strides with gaps", func(tr translator) error {
		c := sample()
		c.X.Strides = []int64{2000, 300, 20, 2}
		return all(tensorsOf(c, func(x, _, _ *graph.Tensor) error { return want("x", []int64{2000, 300, 20, 2}, x.Strides) }),
			graphOf(c, func(_ *graph.Graph, b *translate.Binding) error {
				return want("bytes", [3]uintptr{4 * (2000 + 5*300 + 9*20 + 6*2 + 1), 4 * 72, 4 * 240}, b.Bytes)
			}))(tr)
	}},
	{"the stride of a dimension of one element does not count", func(tr translator) error {
		c := twoSpatial(miopen.Float, []int64{0, 0})
		c.X.Strides = []int64{1, 1, 5, 1}
		return graphOf(c, func(_ *graph.Graph, b *translate.Binding) error { return want("bytes", 100, b.Bytes[0]) })(tr)
	}},
	{"data type", func(tr translator) error {
		for _, c := range []struct {
			x, w, y          miopen.DataType
			xOut, wOut, yOut graph.DataType
		}{
			{miopen.Half, miopen.Half, miopen.Half, graph.Half, graph.Half, graph.Half},
			{miopen.Float, miopen.Float, miopen.Float, graph.Float, graph.Float, graph.Float},
			{miopen.BFloat16, miopen.BFloat16, miopen.BFloat16, graph.BFloat16, graph.BFloat16, graph.BFloat16},
			{miopen.Double, miopen.Double, miopen.Double, graph.Double, graph.Double, graph.Double},
			{miopen.Float8Fnuz, miopen.Float8Fnuz, miopen.Float8Fnuz, graph.FP8E4M3FNUZ, graph.FP8E4M3FNUZ, graph.FP8E4M3FNUZ},
			{miopen.BFloat8Fnuz, miopen.BFloat8Fnuz, miopen.BFloat8Fnuz, graph.FP8E5M2FNUZ, graph.FP8E5M2FNUZ, graph.FP8E5M2FNUZ},
			// Types are per tensor: int8 in, int32 or float out.
			{miopen.Int8, miopen.Int8, miopen.Int32, graph.Int8, graph.Int8, graph.Int32},
			{miopen.Int8, miopen.Int8, miopen.Float, graph.Int8, graph.Int8, graph.Float},
		} {
			if err := tensorsOf(retype(sample(), c.x, c.w, c.y), func(x, w, y *graph.Tensor) error {
				return errors.Join(want("x", c.xOut, x.Type), want("w", c.wOut, w.Type), want("y", c.yOut, y.Type))
			})(tr); err != nil {
				return fmt.Errorf("%v: %w", c.y, err)
			}
		}
		return nil
	}},
	{"tensor identity", all(
		graphOf(sample(), func(g *graph.Graph, b *translate.Binding) error {
			n, ok := g.Nodes[0].(*graph.ConvolutionForward)
			if !ok {
				return fmt.Errorf("the operation is %s", g.Nodes[0].Kind())
			}
			return want("uids", [3]graph.UID{n.X, n.W, n.Y}, b.UIDs)
		}),
		graphOf(spatialRank(3), func(_ *graph.Graph, b *translate.Binding) error {
			return want("uids are stable", [3]graph.UID{translate.UIDX, translate.UIDW, translate.UIDY}, b.UIDs)
		}),
		tensorsOf(sample(), func(x, w, y *graph.Tensor) error {
			if x.UID == 0 || w.UID == 0 || y.UID == 0 || x.Virtual || w.Virtual || y.Virtual {
				return fmt.Errorf("uids %d, %d, %d of tensors with memory", x.UID, w.UID, y.UID)
			}
			return nil
		}))},
	{"pads", all(
		geometryOf(sample(), func(g *graph.Geometry) error {
			return errors.Join(want("pre", []int64{2, 1}, g.PrePads), want("post", []int64{2, 1}, g.PostPads))
		}),
		// Where y could also be reached by other pads.
		geometryOf(twoSpatial(miopen.Float, []int64{0, 3}), func(g *graph.Geometry) error {
			return errors.Join(want("pre", []int64{0, 3}, g.PrePads), want("post", []int64{0, 3}, g.PostPads))
		}))},
	{"strides of the filter", geometryOf(sample(), func(g *graph.Geometry) error { return want("strides", []int64{2, 1}, g.Strides) })},
	{"dilations", geometryOf(sample(), func(g *graph.Geometry) error { return want("dilations", []int64{2, 3}, g.Dilations) })},
	{"convolution mode", all(
		geometryOf(sample(), func(g *graph.Geometry) error { return want("mode", graph.CrossCorrelation, g.Mode) }),
		geometryOf(transposed(), func(g *graph.Geometry) error { return want("mode", graph.CrossCorrelation, g.Mode) }))},
	{"deprecated modes are convolutions", func(tr translator) error {
		for _, mode := range []miopen.Mode{miopen.ModeGroup, miopen.ModeDepthwise} {
			c := sample()
			c.Mode = mode
			if err := graphOf(c, func(g *graph.Graph, _ *translate.Binding) error {
				return want("operation", "convolution forward", g.Nodes[0].Kind())
			})(tr); err != nil {
				return err
			}
		}
		return nil
	}},
	{"spatial dimensions", func(tr translator) error {
		for n := 1; n <= miopen.MaxSpatial; n++ {
			if err := geometryOf(spatialRank(n), func(g *graph.Geometry) error {
				return want("dimensions", []int{n, n, n, n}, []int{len(g.PrePads), len(g.PostPads), len(g.Strides), len(g.Dilations)})
			})(tr); err != nil {
				return err
			}
		}
		return nil
	}},
	{"compute type", func(tr translator) error {
		for y, compute := range map[miopen.DataType]graph.DataType{
			miopen.Half: graph.Float, miopen.Float: graph.Float, miopen.BFloat16: graph.Float, miopen.Double: graph.Double,
			miopen.Float8Fnuz: graph.Float, miopen.BFloat8Fnuz: graph.Float,
		} {
			if err := computeType(retype(sample(), y, y, y), y, compute)(tr); err != nil {
				return err
			}
		}
		return all(computeType(retype(sample(), miopen.Int8, miopen.Int8, miopen.Int32), miopen.Int8, graph.Int32),
			computeType(retype(sample(), miopen.Int8, miopen.Int8, miopen.Float), miopen.Int8, graph.Int32))(tr)
	}},
	{"device pointers", func(tr translator) error {
		// The graph does not depend on them.
		c := sample()
		first, _, err := tr(&c, identity, apart)
		if err != nil {
			return err
		}
		second, _, err := tr(&c, identity, translate.Buffers{X: 0x7000_0000, W: 0x8000_0000, Y: 0x9000_0000})
		if err != nil {
			return err
		}
		return want("graph", first, second)
	}},
	{"x and w may be one buffer", func(tr translator) error {
		c := sample()
		_, _, err := tr(&c, identity, translate.Buffers{X: 0x7000_0000, W: 0x7000_0000, Y: 0x9000_0000})
		return err
	}},
	{"buffers may touch", func(tr translator) error {
		// x, then y, then w, each where the one before ends.
		c := sample()
		const x, y = 4 * 2 * 6 * 10 * 7, 4 * 2 * 4 * 5 * 6
		_, _, err := tr(&c, identity, translate.Buffers{X: 0x1000, Y: 0x1000 + x, W: 0x1000 + x + y})
		return err
	}},
	{"groups from the dims", graphOf(sample(), func(g *graph.Graph, _ *translate.Binding) error {
		return want("channels of x over those of w", 2, int(g.Tensors[0].Dims[1]/g.Tensors[1].Dims[1]))
	})},
	{"depthwise", tensorsOf(depthwise(), func(x, w, _ *graph.Tensor) error {
		return errors.Join(want("x", []int64{1, 5, 4, 4}, x.Dims), want("w", []int64{10, 1, 3, 3}, w.Dims))
	})},
	{"transpose is the gradient by the data", all(
		graphOf(transposed(), func(g *graph.Graph, b *translate.Binding) error {
			n, ok := g.Nodes[0].(*graph.ConvolutionBackwardData)
			if !ok {
				return fmt.Errorf("the operation is %s", g.Nodes[0].Kind())
			}
			return want("dy, w, dx", [3]graph.UID{n.DY, n.W, n.DX}, b.UIDs)
		}),
		tensorsOf(transposed(), func(x, _, y *graph.Tensor) error {
			return errors.Join(want("x", []int64{2, 4, 5, 6}, x.Dims), want("y", []int64{2, 6, 10, 7}, y.Dims))
		}))},
	{"transpose with output padding", func(tr translator) error {
		// y is one longer than it must be: its last row is under no filter and becomes zero.
		c := miopen.Convolution{
			X: tensorOf(miopen.Float, miopen.PackedStrides, 1, 2, 3), W: tensorOf(miopen.Float, miopen.PackedStrides, 2, 1, 1),
			Y: tensorOf(miopen.Float, miopen.PackedStrides, 1, 1, 6), Mode: miopen.ModeTranspose, Groups: 1, Spatial: 1,
			Pads: []int64{0}, Strides: []int64{2}, Dilations: []int64{1}, FP16Alternative: miopen.Unread,
		}
		return tensorsOf(c, func(_, _, y *graph.Tensor) error { return want("y", []int64{1, 1, 6}, y.Dims) })(tr)
	}},
	{"int8 to float while a float holds every sum", func(tr translator) error {
		_, _, err := tr(ptr(longSum(miopen.Float, 1024)), identity, apart)
		return err
	}},
	{"int8 to int32 while an int32 holds every sum", func(tr translator) error {
		_, _, err := tr(ptr(longSum(miopen.Int32, 131071)), identity, apart)
		return err
	}},
	{"attributes without effect", func(tr translator) error {
		// Rounding of 8-bit types and alternatives of half say nothing about other types.
		for _, typ := range []miopen.DataType{miopen.Float, miopen.Double, miopen.BFloat16} {
			c := retype(sample(), typ, typ, typ)
			c.FP16Alternative, c.FP8Rounding = 1, miopen.RoundingStochastic
			if _, _, err := tr(&c, identity, apart); err != nil {
				return err
			}
		}
		return nil
	}},
	{"half at the default implementation", func(tr translator) error {
		for _, a := range []int32{miopen.Unread, 0} {
			c := retype(sample(), miopen.Half, miopen.Half, miopen.Half)
			c.FP16Alternative = a
			if _, _, err := tr(&c, identity, apart); err != nil {
				return err
			}
		}
		for _, a := range []int32{miopen.Unread, 1} {
			c := retype(transposed(), miopen.Half, miopen.Half, miopen.Half)
			c.FP16Alternative = a
			if _, _, err := tr(&c, identity, apart); err != nil {
				return err
			}
		}
		return nil
	}},
}

func ptr[T any](v T) *T { return &v }

func computeType(c miopen.Convolution, x miopen.DataType, compute graph.DataType) func(tr translator) error {
	return all(geometryOf(c, func(g *graph.Geometry) error { return want("compute type of "+x.String(), compute, g.Compute) }),
		graphOf(c, func(g *graph.Graph, _ *translate.Binding) error {
			io, _ := translate.DataType(x)
			return errors.Join(want("of the graph", compute, g.ComputeType), want("of intermediates", compute, g.IntermediateType), want("of x", io, g.IOType))
		}))
}

func depthwise() miopen.Convolution {
	return miopen.Convolution{
		X: tensorOf(miopen.Float, miopen.PackedStrides, 1, 5, 4, 4), W: tensorOf(miopen.Float, miopen.PackedStrides, 10, 1, 3, 3),
		Y: tensorOf(miopen.Float, miopen.PackedStrides, 1, 10, 2, 2), Groups: 5, Spatial: 2,
		Pads: []int64{0, 0}, Strides: []int64{1, 1}, Dilations: []int64{1, 1}, FP16Alternative: miopen.Unread,
	}
}

// longSum is an int8 convolution whose results are sums of n products.
func longSum(y miopen.DataType, n int64) miopen.Convolution {
	return miopen.Convolution{
		X: tensorOf(miopen.Int8, miopen.PackedStrides, 1, n, 1), W: tensorOf(miopen.Int8, miopen.PackedStrides, 1, n, 1),
		Y: tensorOf(y, miopen.PackedStrides, 1, 1, 1), Groups: 1, Spatial: 1,
		Pads: []int64{0}, Strides: []int64{1}, Dilations: []int64{1}, FP16Alternative: miopen.Unread,
	}
}

func scalars(alpha, beta float64, alphaSet, betaSet bool, reason translate.Reason) func(tr translator) error {
	return func(tr translator) error {
		c := sample()
		return declinedCall(tr, &c, miopen.Scalars{Alpha: alpha, Beta: beta, AlphaSet: alphaSet, BetaSet: betaSet}, apart, reason)
	}
}

// buffers are declined at addresses given by the sizes of x, w and y.
func buffers(reason translate.Reason, at func(x, w, y uintptr) translate.Buffers) func(tr translator) error {
	return func(tr translator) error {
		c := sample()
		return declinedCall(tr, &c, identity, at(4*2*6*10*7, 4*4*3*3*2, 4*2*4*5*6), reason)
	}
}

// declineTable is what has no exact translation: the rows of the investigation that are still
// declined, and those that it let through.
var declineTable = []row{
	{"alpha not 1", all(scalars(2, 0, true, true, translate.ScalarValue), scalars(0, 0, true, true, translate.ScalarValue),
		scalars(math.NaN(), 0, true, true, translate.ScalarValue), scalars(math.Nextafter(1, 2), 0, true, true, translate.ScalarValue))},
	{"beta not 0", all(scalars(1, 1, true, true, translate.ScalarValue), scalars(1, math.SmallestNonzeroFloat64, true, true, translate.ScalarValue),
		scalars(1, math.NaN(), true, true, translate.ScalarValue))},
	{"alpha null", scalars(1, 0, false, true, translate.ScalarNull)},
	{"beta null", scalars(1, 0, true, false, translate.ScalarNull)},
	{"group count not what the channels say", all(
		declined(translate.GroupMismatch, func(c *miopen.Convolution) { c.Groups = 1 }),
		declined(translate.GroupMismatch, func(c *miopen.Convolution) { c.Groups = 6 }),
		declined(translate.GroupMismatch, func(c *miopen.Convolution) { c.Groups = 0 }),
		declined(translate.GroupMismatch, func(c *miopen.Convolution) { c.Groups = -2 }),
		func(tr translator) error {
			c := transposed()
			c.Groups = 1
			return declinedCall(tr, &c, identity, apart, translate.GroupMismatch)
		})},
	{"channels that make no groups", all(
		declined(translate.GroupMismatch, func(c *miopen.Convolution) {
			c.W = tensorOf(miopen.Float, miopen.PackedStrides, 4, 4, 3, 2)
		}),
		declined(translate.GroupMismatch, func(c *miopen.Convolution) {
			c.W = tensorOf(miopen.Float, miopen.PackedStrides, 4, 12, 3, 2)
		}),
		declined(translate.GroupMismatch, func(c *miopen.Convolution) {
			c.W = tensorOf(miopen.Float, miopen.PackedStrides, 3, 3, 3, 2)
			c.Y = tensorOf(miopen.Float, miopen.PackedStrides, 2, 3, 5, 6)
		}))},
	{"more than five spatial dimensions", declined(translate.TooManyDims, func(c *miopen.Convolution) {
		c.Spatial, c.Pads, c.Strides, c.Dilations = 6, nil, nil, nil
		for _, t := range []*miopen.Tensor{&c.X, &c.W, &c.Y} {
			t.Rank, t.Dims, t.Strides = 8, nil, nil
		}
	})},
	{"vectorised layout", all(
		declined(translate.VectorisedLayout, func(c *miopen.Convolution) { c.X.Vectorised = true }),
		declined(translate.VectorisedLayout, func(c *miopen.Convolution) { c.W.Vectorised = true }),
		declined(translate.VectorisedLayout, func(c *miopen.Convolution) { c.Y.Vectorised = true }))},
	{"cast type", all(
		declined(translate.CastType, func(c *miopen.Convolution) { c.X.Cast = miopen.Float8Fnuz }),
		declined(translate.CastType, func(c *miopen.Convolution) { c.W.Cast = miopen.BFloat8Fnuz }),
		declined(translate.CastType, func(c *miopen.Convolution) { c.Y.Cast = miopen.Float }))},
	{"padding mode", all(
		// Same and valid cannot be read from a descriptor. They show in y's dimensions, which are
		// then not what the pads give; where they are, the mode makes no difference.
		declined(translate.OutputMismatch, func(c *miopen.Convolution) {
			c.Y = tensorOf(miopen.Float, miopen.PackedStrides, 2, 4, 5, 7)
		}),
		declined(translate.OutputMismatch, func(c *miopen.Convolution) {
			c.Y = tensorOf(miopen.Float, miopen.PackedStrides, 2, 4, 4, 6)
		}))},
	{"deterministic", all(
		declined(translate.Deterministic, func(c *miopen.Convolution) { c.Deterministic = 1 }),
		declined(translate.Deterministic, func(c *miopen.Convolution) { c.Deterministic = 2 }))},
	{"deterministic attribute unreadable", declined(translate.AttributeUnreadable, func(c *miopen.Convolution) { c.Deterministic = miopen.Unread })},
	{"alternative half implementation", all(
		declined(translate.FP16Alternative, func(c *miopen.Convolution) {
			*c = retype(*c, miopen.Half, miopen.Half, miopen.Half)
			c.FP16Alternative = 1
		}),
		declined(translate.FP16Alternative, func(c *miopen.Convolution) {
			*c = retype(transposed(), miopen.Half, miopen.Half, miopen.Half)
			c.FP16Alternative = 0
		}))},
	{"stochastic rounding of 8-bit types", all(
		declined(translate.FP8Rounding, func(c *miopen.Convolution) {
			*c = retype(*c, miopen.Float8Fnuz, miopen.Float8Fnuz, miopen.Float8Fnuz)
			c.FP8Rounding = miopen.RoundingStochastic
		}),
		declined(translate.FP8Rounding, func(c *miopen.Convolution) {
			*c = retype(*c, miopen.BFloat8Fnuz, miopen.BFloat8Fnuz, miopen.BFloat8Fnuz)
			c.FP8Rounding = 7
		}))},
	{"rounding of 8-bit types unreadable", declined(translate.AttributeUnreadable, func(c *miopen.Convolution) {
		*c = retype(*c, miopen.Float8Fnuz, miopen.Float8Fnuz, miopen.Float8Fnuz)
		c.FP8Rounding = miopen.Unread
	})},
	{"misaligned buffers", all(
		buffers(translate.BufferMisaligned, func(_, _, _ uintptr) translate.Buffers {
			return translate.Buffers{X: 1<<40 + 4, W: 1 << 41, Y: 1 << 42}
		}),
		buffers(translate.BufferMisaligned, func(_, _, _ uintptr) translate.Buffers {
			return translate.Buffers{X: 1 << 40, W: 1<<41 + 8, Y: 1 << 42}
		}),
		buffers(translate.BufferMisaligned, func(_, _, _ uintptr) translate.Buffers {
			return translate.Buffers{X: 1 << 40, W: 1 << 41, Y: 1<<42 + 2}
		}))},
	{"y overlaps x", all(
		buffers(translate.BuffersOverlap, func(_, _, _ uintptr) translate.Buffers {
			return translate.Buffers{X: 0x10000, W: 0x90000, Y: 0x10000}
		}),
		buffers(translate.BuffersOverlap, func(x, _, _ uintptr) translate.Buffers {
			return translate.Buffers{X: 0x10000, W: 0x90000, Y: 0x10000 + x - 1}
		}),
		buffers(translate.BuffersOverlap, func(_, _, y uintptr) translate.Buffers {
			return translate.Buffers{X: 0x10000 + y - 1, W: 0x90000, Y: 0x10000}
		}))},
	{"y overlaps w", all(
		buffers(translate.BuffersOverlap, func(_, w, _ uintptr) translate.Buffers {
			return translate.Buffers{X: 0x10000, W: 0x90000, Y: 0x90000 + w - 1}
		}),
		buffers(translate.BuffersOverlap, func(_, _, y uintptr) translate.Buffers {
			return translate.Buffers{X: 0x10000, W: 0x90000 + y - 1, Y: 0x90000}
		}))},
	{"y overlaps x through a gap", func(tr translator) error {
		// The ranges count, not the elements: y lies in what x steps over.
		c := sample()
		c.X.Strides = []int64{20000, 1000, 7, 1}
		return declinedCall(tr, &c, identity, translate.Buffers{X: 0x10000, W: 0x9000000, Y: 0x10000 + 4*500}, translate.BuffersOverlap)
	}},
	{"null buffers", all(
		buffers(translate.BufferNull, func(_, _, _ uintptr) translate.Buffers { return translate.Buffers{W: 1 << 20, Y: 1 << 30} }),
		buffers(translate.BufferNull, func(_, _, _ uintptr) translate.Buffers { return translate.Buffers{X: 1 << 20, Y: 1 << 30} }),
		buffers(translate.BufferNull, func(_, _, _ uintptr) translate.Buffers { return translate.Buffers{X: 1 << 20, W: 1 << 30} }))},
	{"descriptor unreadable", all(
		declined(translate.DescriptorUnreadable, func(c *miopen.Convolution) { c.W.Rank, c.W.Dims, c.W.Strides = 0, nil, nil }),
		declined(translate.DescriptorUnreadable, func(c *miopen.Convolution) { c.X.Rank = -4 }),
		declined(translate.DescriptorUnreadable, func(c *miopen.Convolution) { c.X.Dims = c.X.Dims[1:] }),
		declined(translate.DescriptorUnreadable, func(c *miopen.Convolution) { c.Spatial, c.Pads, c.Strides, c.Dilations = 0, nil, nil, nil }),
		declined(translate.DescriptorUnreadable, func(c *miopen.Convolution) { c.Pads = nil }),
		declined(translate.DescriptorUnreadable, func(c *miopen.Convolution) { c.Spatial = -1 }))},
	{"rank", all(
		declined(translate.RankMismatch, func(c *miopen.Convolution) {
			c.Y = tensorOf(miopen.Float, miopen.PackedStrides, 2, 4, 1, 5, 6)
		}),
		declined(translate.RankMismatch, func(c *miopen.Convolution) {
			c.Spatial, c.Pads, c.Strides, c.Dilations = 1, []int64{0}, []int64{1}, []int64{1}
		}),
		declined(translate.TooManyDims, func(c *miopen.Convolution) { c.X.Rank, c.X.Dims, c.X.Strides = 9, nil, nil }))},
	{"zero dimension", all(
		declined(translate.DimNotPositive, func(c *miopen.Convolution) { c.X.Dims[0] = 0 }),
		declined(translate.DimNotPositive, func(c *miopen.Convolution) { c.W.Dims[1] = 0 }),
		declined(translate.DimNotPositive, func(c *miopen.Convolution) { c.W.Dims[0] = 0 }))},
	{"negative dimension", declined(translate.DimNotPositive, func(c *miopen.Convolution) { c.Y.Dims[3] = -6 })},
	{"zero stride", declined(translate.StrideNotPlain, func(c *miopen.Convolution) { c.X.Strides[1] = 0 })},
	{"negative stride", declined(translate.StrideNotPlain, func(c *miopen.Convolution) { c.W.Strides[0] = -18 })},
	{"strides that let elements overlap", all(
		declined(translate.StrideNotPlain, func(c *miopen.Convolution) { c.Y.Strides = []int64{120, 1, 24, 3} }),
		declined(translate.StrideNotPlain, func(c *miopen.Convolution) { c.X.Strides = []int64{420, 70, 1, 1} }),
		declined(translate.StrideNotPlain, func(c *miopen.Convolution) { c.Y.Strides = []int64{1, 1, 24, 4} }))},
	{"too large", all(
		declined(translate.TooLarge, func(c *miopen.Convolution) { c.X.Strides[0] = math.MaxInt64 }),
		declined(translate.TooLarge, func(c *miopen.Convolution) { c.X.Dims[0], c.X.Strides[0] = math.MaxInt64, math.MaxInt64 }),
		declined(translate.TooLarge, func(c *miopen.Convolution) { c.X.Strides[0] = math.MaxInt64/4 - 300 }),
		declined(translate.TooLarge, func(c *miopen.Convolution) { c.X.Dims[0], c.X.Strides[0] = 1<<33+1, 1<<31 }),   // 2^64
		declined(translate.TooLarge, func(c *miopen.Convolution) { c.X.Dims[0], c.X.Strides[0] = 3, math.MaxInt64 }), // and more
		func(tr translator) error {
			c := longSum(miopen.Int32, 2)
			c.X = tensorOf(miopen.Int8, miopen.PackedStrides, 1, 2, 1<<31)
			c.Y = tensorOf(miopen.Int32, miopen.PackedStrides, 1, 1, 1<<31)
			return declinedCall(tr, &c, identity, apart, translate.TooLarge)
		})},
	{"unknown type", all(
		declined(translate.TypeUnknown, func(c *miopen.Convolution) { c.X.Type = 4 }),
		declined(translate.TypeUnknown, func(c *miopen.Convolution) { c.Y.Type = 10 }),
		declined(translate.TypeUnknown, func(c *miopen.Convolution) { c.W.Type = -1 }))},
	{"types of x, w and y together", func(tr translator) error {
		mapped := map[[3]miopen.DataType]bool{
			{miopen.Int8, miopen.Int8, miopen.Int32}: true, {miopen.Int8, miopen.Int8, miopen.Float}: true,
		}
		for _, t := range []miopen.DataType{miopen.Half, miopen.Float, miopen.BFloat16, miopen.Double, miopen.Float8Fnuz, miopen.BFloat8Fnuz} {
			mapped[[3]miopen.DataType{t, t, t}] = true
		}
		for _, x := range miopen.DataTypes {
			for _, w := range miopen.DataTypes {
				for _, y := range miopen.DataTypes {
					c := retype(sample(), x, w, y)
					if mapped[[3]miopen.DataType{x, w, y}] {
						if _, _, err := tr(&c, identity, apart); err != nil {
							return err
						}
					} else if err := declinedCall(tr, &c, identity, apart, translate.TypeCombination); err != nil {
						return fmt.Errorf("%v, %v, %v: %w", x, w, y, err)
					}
				}
			}
		}
		return nil
	}},
	{"int8 to float beyond a float's whole numbers", func(tr translator) error {
		return declinedCall(tr, ptr(longSum(miopen.Float, 1025)), identity, apart, translate.IntegerOverflow)
	}},
	{"int8 to int32 beyond an int32", all(
		func(tr translator) error {
			return declinedCall(tr, ptr(longSum(miopen.Int32, 131072)), identity, apart, translate.IntegerOverflow)
		},
		func(tr translator) error { // the filter counts too
			c := longSum(miopen.Int32, 1<<16)
			c.X, c.W = tensorOf(miopen.Int8, miopen.PackedStrides, 1, 1<<16, 2), tensorOf(miopen.Int8, miopen.PackedStrides, 1, 1<<16, 2)
			return declinedCall(tr, &c, identity, apart, translate.IntegerOverflow)
		},
		func(tr translator) error { // a transposed sum goes over the other channels
			c := longSum(miopen.Int32, 131072)
			c.Mode = miopen.ModeTranspose
			c.W = tensorOf(miopen.Int8, miopen.PackedStrides, 131072, 1, 1)
			return declinedCall(tr, &c, identity, apart, translate.IntegerOverflow)
		})},
	{"unknown mode", all(
		declined(translate.ModeUnknown, func(c *miopen.Convolution) { c.Mode = 4 }),
		declined(translate.ModeUnknown, func(c *miopen.Convolution) { c.Mode = -1 }))},
	{"negative pad", declined(translate.GeometryInvalid, func(c *miopen.Convolution) { c.Pads[1] = -1 })},
	{"zero filter stride", declined(translate.GeometryInvalid, func(c *miopen.Convolution) { c.Strides[0] = 0 })},
	{"zero dilation", declined(translate.GeometryInvalid, func(c *miopen.Convolution) { c.Dilations[0] = 0 })},
	{"geometry beyond an int", all(
		declined(translate.GeometryInvalid, func(c *miopen.Convolution) { c.Pads[0] = math.MaxInt64 }),
		declined(translate.GeometryInvalid, func(c *miopen.Convolution) { c.Strides[0] = math.MaxInt64 }),
		declined(translate.GeometryInvalid, func(c *miopen.Convolution) {
			// The filter spans 4*(2^62+1)+1 elements, which is 5 in 64 bits.
			c.Dilations[0] = 1<<62 + 1
			c.W = tensorOf(miopen.Float, miopen.PackedStrides, 4, 3, 5, 2)
			c.X = tensorOf(miopen.Float, miopen.PackedStrides, 2, 6, 9, 7)
		}))},
	{"output dims", all(
		declined(translate.OutputMismatch, func(c *miopen.Convolution) {
			c.Y = tensorOf(miopen.Float, miopen.PackedStrides, 3, 4, 5, 6)
		}),
		declined(translate.OutputMismatch, func(c *miopen.Convolution) {
			c.Y = tensorOf(miopen.Float, miopen.PackedStrides, 2, 6, 5, 6)
		}),
		declined(translate.OutputMismatch, func(c *miopen.Convolution) { // exchanged
			c.Y = tensorOf(miopen.Float, miopen.PackedStrides, 2, 4, 6, 5)
		}),
		declined(translate.OutputMismatch, func(c *miopen.Convolution) { // a filter that does not fit: MIOpen says 1
			c.Dilations[0] = 50
			c.Y = tensorOf(miopen.Float, miopen.PackedStrides, 2, 4, 1, 6)
		}))},
}

// notFaithful are the fields that the investigation maps with a difference that can be observed.
var notFaithful = []row{
	{"the algorithm is not looked at", func(translator) error {
		// Nothing that a translation sees could hold it.
		for _, v := range []any{miopen.Convolution{}, miopen.Scalars{}, translate.Buffers{}} {
			for _, f := range reflect.VisibleFields(reflect.TypeOf(v)) {
				if strings.Contains(strings.ToLower(f.Name), "algo") {
					return fmt.Errorf("%T has a field %s", v, f.Name)
				}
			}
		}
		return nil
	}},
	{"the workspace is the caller's where it shares nothing with the tensors", func(tr translator) error {
		c := sample()
		b := translate.Buffers{X: 0x10000, W: 0x20000, Y: 0x30000}
		_, binding, err := tr(&c, identity, b)
		if err != nil {
			return err
		}
		for at, free := range map[[2]uintptr]bool{
			{0x40000, 1 << 20}: true, {0x8000, 0x8000}: true, {0, 0}: true, {0x10000, 0}: true,
			{0x8000, 0x8001}: false, {0x10000, 1}: false, {0x20000 + 4*72 - 1, 1}: false, {0x20000 + 4*72, 1}: true, {0x30010, 4}: false, {0x30010, 0}: true, {0x1, 1 << 40}: false,
		} {
			if got := binding.CheckWorkspace(b, at[0], at[1]); got != free {
				return fmt.Errorf("%d bytes at %#x: %v", at[1], at[0], got)
			}
		}
		return nil
	}},
}

func check(t *testing.T, rows []row) {
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) { require.NoError(t, r.check(translate.Forward)) })
	}
}

func TestFieldTable(t *testing.T)           { check(t, fieldTable) }
func TestDeclineTable(t *testing.T)         { check(t, declineTable) }
func TestMapsButNotFaithfully(t *testing.T) { check(t, notFaithful) }
func TestRowsHaveDifferentNames(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range slices.Concat(fieldTable, declineTable, notFaithful) {
		require.False(t, seen[r.name], r.name)
		seen[r.name] = true
	}
}
