package wire_test

import (
	"bytes"
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"
	"time"

	flatbuffers "github.com/google/flatbuffers/go"
	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/hipdnnbridge/graph"
	"example.com/miopen_hipdnn_shim/provider/wire"
	"example.com/miopen_hipdnn_shim/tests/wire/draw"
)

func pointer[T any](v T) *T { return &v }

// form is one of the three kinds of buffers.
type form struct {
	name string
	// draw draws one and writes it; rewrite reads and writes.
	draw    func(seed uint64) (value any, bytes []byte)
	read    func(b []byte) (any, error)
	write   func(v any) []byte
	missing map[string]bool // the fields that no drawn one had
}

var forms = []form{
	{
		name:    "graph",
		draw:    func(seed uint64) (any, []byte) { g := draw.Graph(draw.Source(seed)); return g, wire.WriteGraph(g) },
		read:    func(b []byte) (any, error) { return wire.ReadGraph(b) },
		write:   func(v any) []byte { return wire.WriteGraph(v.(*wire.Graph)) },
		missing: draw.Fields[wire.Graph](),
	},
	{
		name: "engine config",
		draw: func(seed uint64) (any, []byte) {
			c := draw.EngineConfig(draw.Source(seed))
			return c, wire.WriteEngineConfig(c)
		},
		read:    func(b []byte) (any, error) { return wire.ReadEngineConfig(b) },
		write:   func(v any) []byte { return wire.WriteEngineConfig(v.(*wire.EngineConfig)) },
		missing: draw.Fields[wire.EngineConfig](),
	},
	{
		name: "engine details",
		draw: func(seed uint64) (any, []byte) {
			d := draw.EngineDetails(draw.Source(seed))
			return d, wire.WriteEngineDetails(d)
		},
		read:    func(b []byte) (any, error) { return wire.ReadEngineDetails(b) },
		write:   func(v any) []byte { return wire.WriteEngineDetails(v.(*wire.EngineDetails)) },
		missing: draw.Fields[wire.EngineDetails](),
	},
}

// What is written reads back as it was, with every field and every union member.
func TestRoundTrip(t *testing.T) {
	for _, f := range forms {
		require.NotEmpty(t, f.missing)
		for seed := range uint64(500) {
			v, b := f.draw(seed)
			back, err := f.read(b)
			require.NoError(t, err, "%s %d", f.name, seed)
			require.True(t, draw.Equal(v, back), "%s %d:\n%+v\n%+v", f.name, seed, v, back)
			require.Equal(t, b, f.write(back), "%s %d", f.name, seed)
			draw.Seen(v, f.missing)
		}
		require.Empty(t, f.missing, "%s: fields that were never drawn", f.name)
	}
}

// The comparison notices a difference in any one place.
func TestRoundTripControl(t *testing.T) {
	seed := uint64(0)
	g := draw.Graph(draw.Source(seed))
	for len(g.Tensors) == 0 || len(g.Nodes) == 0 {
		seed++
		g = draw.Graph(draw.Source(seed))
	}
	b := wire.WriteGraph(g)
	for name, change := range map[string]func(g *wire.Graph){
		"name":      func(g *wire.Graph) { g.Name += "x" },
		"type":      func(g *wire.Graph) { g.IO = (g.IO + 1) % 17 },
		"tensor":    func(g *wire.Graph) { g.Tensors = append(g.Tensors, wire.Tensor{}) },
		"alignment": func(g *wire.Graph) { g.Tensors[0].Alignment++ },
		"attributes": func(g *wire.Graph) {
			g.Nodes[0].Attributes = &wire.Matmul{A: 77}
		},
		"engine": func(g *wire.Graph) { g.PreferredEngine = pointer[int64](5) },
		"id":     func(g *wire.Graph) { g.ID = &[16]byte{5} },
	} {
		other, err := wire.ReadGraph(b)
		require.NoError(t, err)
		require.True(t, draw.Equal(g, other))
		change(other)
		require.False(t, draw.Equal(g, other), name)
		require.NotEqual(t, b, wire.WriteGraph(other), name)
	}
}

// The bytes of a small graph, written out: fields in the order of flatc's code, no field with its default.
func TestBytes(t *testing.T) {
	got := wire.WriteGraph(&wire.Graph{
		Compute: graph.Float,
		Tensors: []wire.Tensor{{UID: 7, Alignment: 16, RaggedOffsetMultiplier: 1, Dims: []int64{3}, Virtual: true}},
	})
	require.Equal(t, []byte{
		24, 0, 0, 0, // the root's place
		0, 0, 0, 0, 0, 0, // padding
		14, 0, 12, 0, 0, 0, 7, 0, 0, 0, 0, 0, 8, 0, // vtable of 14 bytes: compute type at 7, tensors at 8
		14, 0, 0, 0, // the graph: distance to its vtable
		0, 0, 0, 1, 4, 0, 0, 0, // compute type, distance to the tensors
		1, 0, 0, 0, 20, 0, 0, 0, // one tensor
		16, 0, 24, 0, 12, 0, 0, 0, 0, 0, 0, 0, 8, 0, 7, 0, // vtable of 16 bytes: uid at 12, dims at 8, virtual at 7
		16, 0, 0, 0, // the tensor: distance to its vtable
		0, 0, 0, 1, 16, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, // virtual, distance to dims, uid
		0, 0, 0, 0, // padding
		1, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, // dims
	}, got)
	back, err := wire.ReadGraph(got)
	require.NoError(t, err)
	require.Equal(t, []int64{3}, back.Tensors[0].Dims)
	// The numbers that have defaults other than 0 are written when they are 0, as are optional ones.
	for name, spoil := range map[string]func(v *wire.Tensor){
		"alignment":  func(v *wire.Tensor) { v.Alignment = 0 },
		"multiplier": func(v *wire.Tensor) { v.RaggedOffsetMultiplier = 0 },
		"ragged":     func(v *wire.Tensor) { v.RaggedOffsetUID = new(int64) },
	} {
		v := *back
		v.Tensors = []wire.Tensor{back.Tensors[0]}
		spoil(&v.Tensors[0])
		require.Greater(t, len(wire.WriteGraph(&v)), len(got), name)
	}
}

func TestDefaults(t *testing.T) {
	// A graph whose only field is a tensor without any field.
	b := flatbuffers.NewBuilder(0)
	b.StartObject(0)
	tensor := b.EndObject()
	b.StartVector(4, 1, 4)
	b.PrependUOffsetT(tensor)
	tensors := b.EndVector(1)
	b.StartObject(5)
	b.PrependUOffsetTSlot(4, tensors, 0)
	b.Finish(b.EndObject())
	g, err := wire.ReadGraph(b.FinishedBytes())
	require.NoError(t, err)
	require.Equal(t, &wire.Graph{Tensors: []wire.Tensor{{Alignment: 16, RaggedOffsetMultiplier: 1}}}, g)
	require.Equal(t, b.FinishedBytes(), wire.WriteGraph(g))

	// Absent is not zero.
	g.PreferredEngine, g.Tensors[0].RaggedOffsetUID = new(int64), new(int64)
	g.Nodes = []wire.Node{{Attributes: &wire.Pointwise{ReLULowerClip: new(float32), In1: new(int64)}}}
	back, err := wire.ReadGraph(wire.WriteGraph(g))
	require.NoError(t, err)
	require.Equal(t, g, back)
	require.Nil(t, back.Nodes[0].Attributes.(*wire.Pointwise).ReLUUpperClip)

	d := &wire.EngineDetails{Knobs: []wire.Knob{{Constraints: &wire.FloatConstraint{Min: math.Copysign(0, -1)}}}}
	before := wire.WriteEngineDetails(d)
	require.True(t, math.Signbit(d.Knobs[0].Constraints.(*wire.FloatConstraint).Min), "writing changes nothing")
	d.Knobs[0].Constraints = &wire.FloatConstraint{}
	require.Equal(t, before, wire.WriteEngineDetails(d), "-0.0 is the default")
}

// Nothing that was read points into the buffer.
func TestCopies(t *testing.T) {
	for _, f := range forms {
		for seed := range uint64(20) {
			v, b := f.draw(seed)
			back, err := f.read(b)
			require.NoError(t, err)
			clear(b)
			require.True(t, draw.Equal(v, back), "%s %d", f.name, seed)
		}
	}
}

// Unread operations keep their type.
func TestUnread(t *testing.T) {
	for kind := uint8(10); kind <= 23; kind++ {
		g := &wire.Graph{Nodes: []wire.Node{{Name: "n", Attributes: wire.Unread{Type: kind}}}}
		back, err := wire.ReadGraph(wire.WriteGraph(g))
		require.NoError(t, err)
		require.Equal(t, g, back)
	}
	_, err := wire.ReadGraph(wire.WriteGraph(&wire.Graph{Nodes: []wire.Node{{Attributes: wire.Unread{Type: 24}}}}))
	require.ErrorContains(t, err, "nodes[0].attributes at byte")
	require.ErrorContains(t, err, "there is no type 24")
}

// Tables of different sizes with the same offsets have vtables of their own: the runtime's builder would share one.
func TestVtablesOfOneShape(t *testing.T) {
	d := &wire.EngineDetails{Knobs: []wire.Knob{
		{ValueType: wire.IntValue(1), DefaultValue: wire.StringValue("a")},
		{ValueType: wire.StringValue("b"), DefaultValue: wire.IntValue(2)},
	}}
	back, err := wire.ReadEngineDetails(wire.WriteEngineDetails(d))
	require.NoError(t, err)
	require.Equal(t, d, back)
}

func TestCheck(t *testing.T) {
	valid := func() *wire.Graph {
		return &wire.Graph{
			Tensors: []wire.Tensor{{UID: 1}, {UID: 2, RaggedOffsetUID: pointer[int64](3)}, {UID: 3}},
			Nodes: []wire.Node{
				{Attributes: &wire.ConvolutionFwd{X: 1, W: 2, Y: 3}},
				{Attributes: wire.Unread{Type: 16}},
				{Attributes: &wire.Pointwise{In0: 3, In1: pointer[int64](1), Out0: 2}},
				{Attributes: &wire.Batchnorm{X: 1, Scale: 1, Bias: 1, Epsilon: 1, Y: 1, PeerStats: []int64{1, 2}}},
			},
		}
	}
	require.NoError(t, valid().Check())
	require.NoError(t, (&wire.Graph{}).Check())
	for want, spoil := range map[string]func(g *wire.Graph){
		"wire: tensors[2].uid: 1 is the uid of tensors[0] too":               func(g *wire.Graph) { g.Tensors[2].UID = 1 },
		"wire: tensors[1].ragged_offset_tensor_uid: no tensor has the uid 9": func(g *wire.Graph) { *g.Tensors[1].RaggedOffsetUID = 9 },
		"wire: nodes[0].attributes.w_tensor_uid: no tensor has the uid 8": func(g *wire.Graph) {
			g.Nodes[0].Attributes.(*wire.ConvolutionFwd).W = 8
		},
		"wire: nodes[2].attributes.in_1_tensor_uid: no tensor has the uid 0": func(g *wire.Graph) {
			g.Nodes[2].Attributes.(*wire.Pointwise).In1 = new(int64)
		},
		"wire: nodes[3].attributes.peer_stats_tensor_uid: no tensor has the uid 7": func(g *wire.Graph) {
			g.Nodes[3].Attributes.(*wire.Batchnorm).PeerStats[1] = 7
		},
	} {
		g := valid()
		spoil(g)
		require.EqualError(t, g.Check(), want)
	}
}

// builder makes buffers that no writer of ours makes.
type builder struct{ *flatbuffers.Builder }

// table writes a table; each field is put by its function, at the slot of its index.
func (b builder) table(fields ...func(slot int)) flatbuffers.UOffsetT {
	b.StartObject(len(fields))
	for i := len(fields) - 1; i >= 0; i-- {
		if fields[i] != nil {
			fields[i](i)
		}
	}
	return b.EndObject()
}

func (b builder) at(to flatbuffers.UOffsetT) func(int) {
	return func(slot int) { b.PrependUOffsetTSlot(slot, to, 0) }
}

func (b builder) byte(v byte) func(int) {
	return func(slot int) { b.PrependByte(v); b.Slot(slot) }
}

func (b builder) vector(places ...flatbuffers.UOffsetT) flatbuffers.UOffsetT {
	return b.CreateVectorOfTables(places)
}

// make builds a buffer with the root that f writes.
func build(f func(b builder) flatbuffers.UOffsetT) []byte {
	b := builder{flatbuffers.NewBuilder(0)}
	b.Finish(f(b))
	return b.FinishedBytes()
}

func readGraph(b []byte) error   { _, err := wire.ReadGraph(b); return err }
func readConfig(b []byte) error  { _, err := wire.ReadEngineConfig(b); return err }
func readDetails(b []byte) error { _, err := wire.ReadEngineDetails(b); return err }

// What can be built and is not allowed.
func TestDeclined(t *testing.T) {
	tensorWith := func(fields func(b builder) []func(int)) []byte {
		return build(func(b builder) flatbuffers.UOffsetT {
			tensor := b.table(fields(b)...)
			return b.table(nil, nil, nil, nil, b.at(b.vector(b.table(), tensor)))
		})
	}
	nodeWith := func(fields func(b builder) []func(int)) []byte {
		return build(func(b builder) flatbuffers.UOffsetT {
			node := b.table(fields(b)...)
			return b.table(nil, nil, nil, nil, nil, b.at(b.vector(node)))
		})
	}
	page := func(without int) []byte {
		return build(func(b builder) flatbuffers.UOffsetT {
			fields := make([]func(int), 5)
			for i := range fields {
				if i != without {
					fields[i] = b.at(b.CreateString(""))
				}
			}
			return b.table(nil, nil, nil, nil, b.at(b.table(fields...)))
		})
	}
	require.NoError(t, readDetails(page(-1)))
	for _, c := range []struct {
		name, path, text string
		read             func([]byte) error
		b                []byte
	}{
		{"nothing", "the buffer", "0 bytes are less", readGraph, nil},
		{"seven bytes", "the buffer", "7 bytes are less", readGraph, make([]byte, 7)},
		{"no root", "the buffer", "an offset of 0", readGraph, make([]byte, 8)},
		{"root outside", "the buffer", "an offset of 8", readGraph, []byte{8, 0, 0, 0, 0, 0, 0, 0}},
		{"root unaligned", "the buffer", "multiple of 4", readGraph, []byte{6, 0, 0, 0, 4, 0, 4, 0, 0, 0, 0, 0}},
		{"vtable before the buffer", "the buffer", "the vtable at -4", readGraph, []byte{8, 0, 0, 0, 4, 0, 4, 0, 12, 0, 0, 0}},
		{"vtable behind the buffer", "the buffer", "the vtable at 264", readGraph, []byte{8, 0, 0, 0, 4, 0, 4, 0, 0, 255, 255, 255}},
		{"vtable at the end", "the buffer", "4 bytes are outside", readGraph, []byte{8, 0, 0, 0, 4, 0, 4, 0, 254, 255, 255, 255}},
		{"vtable unaligned", "the buffer", "multiple of 2", readGraph, []byte{8, 0, 0, 0, 4, 0, 4, 0, 3, 0, 0, 0}},
		{"vtable of two bytes", "the buffer", "a vtable of 2 bytes", readGraph, []byte{8, 0, 0, 0, 2, 0, 4, 0, 4, 0, 0, 0}},
		{"vtable of odd length", "the buffer", "a vtable of 5 bytes", readGraph, []byte{8, 0, 0, 0, 5, 0, 4, 0, 4, 0, 0, 0}},
		{"vtable too long", "the buffer", "outside", readGraph, []byte{8, 0, 0, 0, 64, 0, 4, 0, 4, 0, 0, 0}},
		{"table without its own head", "the buffer", "a table of 3 bytes", readGraph, []byte{8, 0, 0, 0, 4, 0, 3, 0, 4, 0, 0, 0}},
		{"table too long", "the buffer", "outside", readGraph, []byte{8, 0, 0, 0, 4, 0, 5, 0, 4, 0, 0, 0}},
		{"field over its table's head", "name", "at byte 2 of a table", readGraph, []byte{12, 0, 0, 0, 0, 0, 6, 0, 8, 0, 2, 0, 6, 0, 0, 0, 0, 0, 0, 0}},
		{"field outside its table", "name", "at byte 4 of a table of 4", readGraph, []byte{12, 0, 0, 0, 0, 0, 6, 0, 4, 0, 4, 0, 6, 0, 0, 0, 0, 0, 0, 0}},
		{"field unaligned", "engine_id", "not at a multiple of 8", readConfig, append([]byte{12, 0, 0, 0, 0, 0, 6, 0, 16, 0, 8, 0, 6, 0, 0, 0}, make([]byte, 12)...)},

		{"name without end", "tensors[1].name", "not followed by a zero", readGraph, tensorWith(func(b builder) []func(int) {
			b.PrependUint32(math.MaxUint32) // what follows
			b.StartVector(1, 4, 1)
			for range 4 {
				b.PlaceByte('a')
			}
			return []func(int){nil, b.at(b.EndVector(4))}
		})},
		{"unknown element type", "tensors[1].data_type", "no data type 18", readGraph, tensorWith(func(b builder) []func(int) {
			return []func(int){nil, nil, b.byte(18)}
		})},
		{"negative element type", "tensors[1].data_type", "no data type -1", readGraph, tensorWith(func(b builder) []func(int) {
			return []func(int){nil, nil, b.byte(255)}
		})},
		{"value of unknown type", "tensors[1].value", "no type 9", readGraph, tensorWith(func(b builder) []func(int) {
			b.PrependInt64(1)
			return []func(int){nil, nil, nil, nil, nil, nil, b.byte(9), b.at(b.Offset())}
		})},
		{"value without a type", "tensors[1].value", "without a type", readGraph, tensorWith(func(b builder) []func(int) {
			b.PrependInt64(1)
			return []func(int){nil, nil, nil, nil, nil, nil, nil, b.at(b.Offset())}
		})},
		{"type without a value", "tensors[1].value", "missing", readGraph, tensorWith(func(b builder) []func(int) {
			return []func(int){nil, nil, nil, nil, nil, nil, b.byte(1)}
		})},
		{"value unaligned", "tensors[1].value", "multiple of 8", readGraph, tensorWith(func(b builder) []func(int) {
			b.PrependInt64(1)
			b.PrependInt32(1)
			return []func(int){nil, nil, nil, nil, nil, nil, b.byte(7), b.at(b.Offset())}
		})},
		{"dims unaligned", "tensors[1].dims", "multiple of 8", readGraph, tensorWith(func(b builder) []func(int) {
			b.PrependInt64(1)
			b.StartVector(4, 2, 4)
			b.PrependUint32(1)
			b.PrependUint32(1)
			b.EndVector(2)
			b.PrependUint32(1)
			return []func(int){nil, nil, nil, nil, b.at(b.Offset())}
		})},
		{"dims too long", "tensors[1].dims", "536870911 elements of 8 bytes are outside", readGraph, tensorWith(func(b builder) []func(int) {
			b.PrependUint32(1<<29 - 1)
			return []func(int){nil, nil, nil, nil, b.at(b.Offset())}
		})},

		{"no operation", "nodes[0].attributes", "missing", readGraph, nodeWith(func(builder) []func(int) { return nil })},
		{"operation of an unknown type", "nodes[0].attributes", "no type 24", readGraph, nodeWith(func(b builder) []func(int) {
			return []func(int){nil, nil, b.byte(24), b.at(b.table())}
		})},
		{"operation without a type", "nodes[0].attributes", "without a type", readGraph, nodeWith(func(b builder) []func(int) {
			return []func(int){nil, nil, nil, b.at(b.table())}
		})},
		{"type without an operation", "nodes[0].attributes", "missing", readGraph, nodeWith(func(b builder) []func(int) {
			return []func(int){nil, nil, b.byte(5)}
		})},
		{"unknown convolution mode", "nodes[0].attributes.conv_mode", "no value 3", readGraph, nodeWith(func(b builder) []func(int) {
			return []func(int){nil, nil, b.byte(5), b.at(b.table(nil, nil, nil, nil, nil, nil, nil, b.byte(3)))}
		})},
		{"negative convolution mode", "nodes[0].attributes.conv_mode", "no value -1", readGraph, nodeWith(func(b builder) []func(int) {
			return []func(int){nil, nil, b.byte(7), b.at(b.table(nil, nil, nil, nil, nil, nil, nil, b.byte(255)))}
		})},
		{"unknown pointwise mode", "nodes[0].attributes.operation", "no value 48, the last is 47", readGraph, nodeWith(func(b builder) []func(int) {
			return []func(int){nil, nil, b.byte(2), b.at(b.table(b.byte(48)))}
		})},

		{"setting of an unknown type", "knobs[0].value", "no type 4", readConfig, build(func(b builder) flatbuffers.UOffsetT {
			setting := b.table(nil, b.byte(4), b.at(b.table()))
			return b.table(nil, b.at(b.vector(setting)))
		})},
		{"constraint of an unknown type", "knobs[0].constraints", "no type 4", readDetails, build(func(b builder) flatbuffers.UOffsetT {
			knob := b.table(nil, nil, nil, nil, nil, nil, nil, b.byte(4), b.at(b.table()))
			return b.table(nil, b.at(b.vector(knob)))
		})},
		{"string list with a bad one", "knobs[0].constraints.valid_values[1]", "outside", readDetails, build(func(b builder) flatbuffers.UOffsetT {
			good := b.CreateString("x")
			b.PrependUint32(1 << 30)
			list := b.vector(good, b.Offset())
			knob := b.table(nil, nil, nil, nil, nil, nil, nil, b.byte(3), b.at(b.table(nil, b.at(list))))
			return b.table(nil, b.at(b.vector(knob)))
		})},
		{"page without a graph id", "candidate_page.graph_id", "missing", readDetails, page(0)},
		{"page without device features", "candidate_page.device_features", "missing", readDetails, page(4)},
		{"candidate without an id", "candidate_page.candidates[0].id", "missing", readDetails, build(func(b builder) flatbuffers.UOffsetT {
			s := b.CreateString("")
			list := b.vector(b.table(nil, nil, b.at(s)))
			return b.table(nil, nil, nil, nil, b.at(b.table(b.at(s), b.at(s), b.at(s), b.at(s), b.at(s), nil, nil, b.at(list))))
		})},
	} {
		err := c.read(c.b)
		require.Error(t, err, c.name)
		require.IsType(t, &wire.Error{}, err, c.name)
		require.True(t, strings.HasPrefix(err.Error(), "wire: "+c.path+" at byte "), "%s: %v", c.name, err)
		require.ErrorContains(t, err, c.text, c.name)
	}
}

// Google's builder does not align the elements of a vector that has none.
func TestEmptyVector(t *testing.T) {
	for padding := range 2 {
		b := build(func(b builder) flatbuffers.UOffsetT {
			b.PrependUint64(0)
			for range padding {
				b.PrependUint32(0)
			}
			b.PrependUint32(0)
			return b.table(nil, nil, nil, nil, b.at(b.vector(b.table(nil, nil, nil, nil, b.at(b.Offset())))))
		})
		g, err := wire.ReadGraph(b)
		require.NoError(t, err)
		require.Nil(t, g.Tensors[0].Dims)
	}
}

// An offset that leads to itself or back cannot be written down: they are unsigned, and 0 is declined.
func TestCycle(t *testing.T) {
	b := wire.WriteGraph(&wire.Graph{Nodes: []wire.Node{{Attributes: &wire.Matmul{}}}})
	at := 0
	for i := 0; i+4 <= len(b); i += 4 {
		spoiled := bytes.Clone(b)
		clear(spoiled[i : i+4])
		if err := readGraph(spoiled); err != nil && strings.Contains(err.Error(), "an offset of 0") {
			at++
		}
	}
	require.GreaterOrEqual(t, at, 4, "the root, the vector, its element and the union")
}

// Buffers may share their parts, as flatc does with strings, but the work stays in proportion to the bytes.
func TestSharedParts(t *testing.T) {
	shared := func(tensors, dims int) []byte {
		return build(func(b builder) flatbuffers.UOffsetT {
			b.StartVector(8, dims, 8)
			for range dims {
				b.PrependInt64(1)
			}
			list := b.EndVector(dims)
			places := make([]flatbuffers.UOffsetT, tensors)
			tensor := b.table(nil, nil, nil, nil, b.at(list))
			for i := range places {
				places[i] = tensor
			}
			return b.table(nil, nil, nil, nil, b.at(b.vector(places...)))
		})
	}
	g, err := wire.ReadGraph(shared(6, 5))
	require.NoError(t, err)
	require.Len(t, g.Tensors, 6)
	require.Equal(t, g.Tensors[0], g.Tensors[5])

	b := shared(10_000, 20_000) // 1.6 GB if it were followed
	require.Less(t, len(b), 250_000)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := time.Now()
	require.ErrorContains(t, readGraph(b), "shared too often")
	runtime.ReadMemStats(&after)
	require.Less(t, time.Since(start), 5*time.Second)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(20<<20))
}

// A vector whose first element is broken takes no memory for the others.
func TestBrokenElement(t *testing.T) {
	const tensors = 100_000
	b := build(func(b builder) flatbuffers.UOffsetT {
		b.StartVector(8, 1, 8)
		b.PrependInt64(-1)
		number := b.EndVector(1)
		places := make([]flatbuffers.UOffsetT, tensors)
		tensor := b.table(nil, b.at(number))
		for i := range places {
			places[i] = tensor
		}
		return b.table(nil, nil, nil, nil, b.at(b.vector(places...)))
	})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	require.ErrorContains(t, readGraph(b), "tensors[0].name")
	runtime.ReadMemStats(&after)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(64<<10))
}

// What is left of a buffer is declined, or is one whose end was not needed; it never panics.
func TestTruncated(t *testing.T) {
	for _, f := range forms {
		declined := 0
		for seed := range uint64(10) {
			_, b := f.draw(seed)
			for n := range b {
				if _, err := f.read(b[:n:n]); err != nil {
					declined++
				}
			}
			require.Greater(t, declined, len(b)/4, "%s %d", f.name, seed)
		}
	}
}

func TestErrorText(t *testing.T) {
	require.Equal(t, "wire: the buffer at byte 4: x", (&wire.Error{Offset: 4, Text: "x"}).Error())
	require.Equal(t, "wire: a: x", (&wire.Error{Path: "a", Offset: -1, Text: "x"}).Error())
	require.Equal(t, "wire: the buffer at byte 0: 3 bytes are less than a FlatBuffer has", fmt.Sprint(readGraph([]byte{1, 2, 3})))
}
