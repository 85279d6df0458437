package wire_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/provider/wire"
	"example.com/miopen_hipdnn_shim/tests/wire/draw"
	"example.com/miopen_hipdnn_shim/tests/workshop"
)

// cases is how many values of each form are compared.
const cases = 1000

func TestMain(m *testing.M) { workshop.Main(m) }

// program is the C++ side.
func program(t *testing.T) string {
	t.Helper()
	return workshop.File(t, "WIRE_REWRITE", "rewrite", func(dir string) {
		module, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/google/flatbuffers").Output()
		require.NoError(t, err)
		ref := "../refhipdnn/"
		workshop.Run(t, workshop.CXX(), "-std=c++17", "-O1", "-Wall", "-Wextra", "-Werror", "-I"+ref+"src", "-I"+ref+"include",
			"-isystem", filepath.Join(strings.TrimSpace(string(module)), "include"), "rewrite/rewrite.cpp", ref+"src/wire.cpp",
			ref+"src/flatbuffer.cpp", ref+"src/graph.cpp", ref+"src/cpu/number.cpp", "-o", filepath.Join(dir, "rewrite"))
	})
}

// run gives the program buffers and returns those that it answers with.
func run(t *testing.T, buffers [][]byte, arguments ...string) [][]byte {
	t.Helper()
	var in bytes.Buffer
	for _, b := range buffers {
		require.NoError(t, binary.Write(&in, binary.LittleEndian, uint32(len(b))))
		in.Write(b)
	}
	var stderr bytes.Buffer
	cmd := exec.Command(program(t), arguments...)
	cmd.Stdin, cmd.Stderr = &in, &stderr
	out, err := cmd.Output()
	require.NoError(t, err, "%v: %s", arguments, stderr.String())
	var answers [][]byte
	for len(out) > 0 {
		require.GreaterOrEqual(t, len(out), 4)
		n := int(binary.LittleEndian.Uint32(out))
		require.GreaterOrEqual(t, len(out)-4, n)
		answers = append(answers, out[4:4+n])
		out = out[4+n:]
	}
	return answers
}

// form is one of the three kinds of buffers.
type form struct {
	name string
	// draw draws a value. known leaves of it what the reference backend has too.
	draw  func(seed uint64) any
	known func(v any) any
	write func(v any) []byte
	read  func(b []byte) (any, error)
	// missing are the fields that no value had yet.
	fields func() map[string]bool
}

var forms = []form{
	{
		name:   "graph",
		draw:   func(seed uint64) any { return draw.Graph(draw.Source(seed)) },
		known:  func(v any) any { return knownGraph(v.(*wire.Graph)) },
		write:  func(v any) []byte { return wire.WriteGraph(v.(*wire.Graph)) },
		read:   func(b []byte) (any, error) { return wire.ReadGraph(b) },
		fields: draw.Fields[wire.Graph],
	},
	{
		name:   "config",
		draw:   func(seed uint64) any { return draw.EngineConfig(draw.Source(seed)) },
		known:  func(v any) any { return knownConfig(v.(*wire.EngineConfig)) },
		write:  func(v any) []byte { return wire.WriteEngineConfig(v.(*wire.EngineConfig)) },
		read:   func(b []byte) (any, error) { return wire.ReadEngineConfig(b) },
		fields: draw.Fields[wire.EngineConfig],
	},
	{
		name:   "details",
		draw:   func(seed uint64) any { return draw.EngineDetails(draw.Source(seed)) },
		known:  func(v any) any { return knownDetails(v.(*wire.EngineDetails)) },
		write:  func(v any) []byte { return wire.WriteEngineDetails(v.(*wire.EngineDetails)) },
		read:   func(b []byte) (any, error) { return wire.ReadEngineDetails(b) },
		fields: draw.Fields[wire.EngineDetails],
	},
}

func (f form) all(change func(any) any) (values []any, buffers [][]byte) {
	for seed := range uint64(cases) {
		v := f.draw(seed)
		if change != nil {
			v = change(v)
		}
		values = append(values, v)
		buffers = append(buffers, f.write(v))
	}
	return values, buffers
}

// same counts the buffers that are equal in both.
func same(t *testing.T, a, b [][]byte) (n int) {
	t.Helper()
	require.Len(t, b, len(a))
	for i := range a {
		if bytes.Equal(a[i], b[i]) {
			n++
		}
	}
	return n
}

// Go writes, C++ reads and writes: the same bytes, with every field and every member of a union.
func TestGoFirst(t *testing.T) {
	for _, f := range forms {
		values, buffers := f.all(nil)
		missing := f.fields()
		require.NotEmpty(t, missing)
		for _, v := range values {
			draw.Seen(v, missing)
		}
		require.Empty(t, missing, "%s: fields that were never drawn", f.name)
		answers := run(t, buffers, "full", f.name)
		require.Equal(t, cases, same(t, buffers, answers), f.name)
	}
}

// The comparison notices a slot that is another, a default that is written, an optional number that is not.
func TestGoFirstControl(t *testing.T) {
	for control, names := range map[string][]string{
		"slot":     {"graph"},
		"default":  {"graph", "config", "details"},
		"optional": {"graph"},
	} {
		for _, f := range forms {
			_, buffers := f.all(nil)
			n := same(t, buffers, run(t, buffers, "full", f.name, control))
			if !strings.Contains(strings.Join(names, " "), f.name) {
				require.Equal(t, cases, n, "%s has nothing that %s concerns", f.name, control)
				continue
			}
			require.Less(t, n, cases*3/4, "%s %s", f.name, control)
		}
	}
}

// C++ draws and writes, Go reads and writes: the same bytes, with every field.
func TestCppFirst(t *testing.T) {
	for _, f := range forms {
		missing := f.fields()
		for i, b := range run(t, nil, "draw", f.name, "1", strconv.Itoa(cases)) {
			v, err := f.read(b)
			require.NoError(t, err, "%s %d", f.name, i)
			require.True(t, bytes.Equal(b, f.write(v)), "%s %d: %+v", f.name, i, v)
			draw.Seen(v, missing)
		}
		require.Empty(t, missing, "%s: fields that were never drawn", f.name)
	}
}

// The reference backend's own code, which is what reads our plugin's answers and writes the graphs that the plugin gets.
func TestRefhipdnn(t *testing.T) {
	for _, f := range forms {
		_, buffers := f.all(f.known)
		answers := run(t, buffers, "refhipdnn", f.name)
		require.Equal(t, cases, same(t, buffers, answers), f.name)
	}
	// It has not all of the fields, and the comparison notices that.
	_, buffers := forms[0].all(func(v any) any {
		g := knownGraph(v.(*wire.Graph))
		for i := range g.Tensors {
			g.Tensors[i].RaggedOffsetMultiplier = 7
		}
		return g
	})
	require.Less(t, same(t, buffers, run(t, buffers, "refhipdnn", "graph")), cases/2)
}

// The reference backend understands a graph as it was meant: fields of one type are not exchanged.
func TestMeaning(t *testing.T) {
	values, buffers := forms[0].all(func(v any) any {
		g := knownGraph(v.(*wire.Graph))
		g.Name = "g"
		for i := range g.Tensors {
			g.Tensors[i].Name = fmt.Sprint("t", i)
		}
		for i := range g.Nodes {
			g.Nodes[i].Name = fmt.Sprint("n", i)
			if p, ok := g.Nodes[i].Attributes.(*wire.Pointwise); ok { // numbers that both sides print alike
				for k, v := range []**float32{&p.ReLULowerClip, &p.ReLUUpperClip, &p.ReLULowerClipSlope} {
					if *v != nil {
						**v = float32(k) + 0.5
					}
				}
			}
		}
		return g
	})
	for i, text := range run(t, buffers, "describe") {
		require.Equal(t, describe(values[i].(*wire.Graph)), string(text))
	}
	g := values[0].(*wire.Graph)
	before := describe(g)
	g.Nodes = append(g.Nodes, wire.Node{Attributes: &wire.ConvolutionBwd{DY: 1, DX: 2}})
	after := describe(g)
	g.Nodes[len(g.Nodes)-1].Attributes = &wire.ConvolutionBwd{DY: 2, DX: 1}
	require.NotEqual(t, before, after)
	require.NotEqual(t, after, describe(g))
}

func describe(g *wire.Graph) string {
	var out strings.Builder
	number := func(b bool) int {
		if b {
			return 1
		}
		return 0
	}
	fmt.Fprintf(&out, "graph name=%s compute=%d intermediate=%d io=%d override=%d", g.Name, g.Compute.Wire(), g.Intermediate.Wire(),
		g.IO.Wire(), number(g.OverrideShapes))
	if g.PreferredEngine != nil {
		fmt.Fprintf(&out, " preferred=%d", *g.PreferredEngine)
	}
	if v := g.RequiredVersion; v != nil {
		fmt.Fprintf(&out, " required=%d.%d.%d", v.Major, v.Minor, v.Patch)
	}
	out.WriteByte('\n')
	for _, t := range g.Tensors {
		fmt.Fprintf(&out, "tensor uid=%d name=%s type=%d virtual=%d alignment=%d dims=%v strides=%v\n", t.UID, t.Name, t.Type.Wire(),
			number(t.Virtual), t.Alignment, t.Dims, t.Strides)
	}
	for _, n := range g.Nodes {
		fmt.Fprintf(&out, "node name=%s compute=%d", n.Name, n.Compute.Wire())
		convolution := func(kind int, image, filter, output int64, w wire.Window) {
			fmt.Fprintf(&out, " convolution=%d image=%d filter=%d output=%d mode=%d pre=%v post=%v stride=%v dilation=%v", kind, image,
				filter, output, w.Mode, w.PrePadding, w.PostPadding, w.Stride, w.Dilation)
		}
		switch a := n.Attributes.(type) {
		case *wire.ConvolutionFwd:
			convolution(0, a.X, a.W, a.Y, a.Window)
		case *wire.ConvolutionBwd:
			convolution(1, a.DX, a.W, a.DY, a.Window)
		case *wire.ConvolutionWrw:
			convolution(2, a.X, a.DW, a.DY, a.Window)
		case *wire.Pointwise:
			fmt.Fprintf(&out, " pointwise=%d in_0=%d out_0=%d", a.Mode, a.In0, a.Out0)
			for _, o := range []struct {
				name string
				v    *int64
			}{{"in_1", a.In1}, {"in_2", a.In2}} {
				if o.v != nil {
					fmt.Fprintf(&out, " %s=%d", o.name, *o.v)
				}
			}
			for _, o := range []struct {
				name string
				v    *float32
			}{{"lower", a.ReLULowerClip}, {"upper", a.ReLUUpperClip}, {"slope", a.ReLULowerClipSlope}} {
				if o.v != nil {
					fmt.Fprintf(&out, " %s=%v", o.name, *o.v)
				}
			}
		}
		out.WriteByte('\n')
	}
	return out.String()
}

// knownGraph leaves of a graph what the reference backend's code has: convolutions and pointwise operations, values
// of their tensor's type.
func knownGraph(g *wire.Graph) *wire.Graph {
	for i := range g.Tensors {
		t := &g.Tensors[i]
		t.RuntimePassByValue, t.RaggedOffsetUID, t.RaggedOffsetMultiplier = false, nil, 1
		if t.Value != nil {
			t.Value = valueOf(t)
		}
	}
	nodes := g.Nodes
	g.Nodes = nil
	for _, n := range nodes {
		switch a := n.Attributes.(type) {
		case *wire.ConvolutionFwd:
			a.UMDFlops, a.UMDBytes = "", ""
		case *wire.ConvolutionBwd:
			a.UMDFlops, a.UMDBytes = "", ""
		case *wire.ConvolutionWrw:
			a.UMDFlops, a.UMDBytes = "", ""
		case *wire.Pointwise:
			a.Axis, a.SwishBeta, a.ELUAlpha, a.SoftplusBeta = nil, nil, nil, nil
		default:
			continue
		}
		g.Nodes = append(g.Nodes, n)
	}
	return g
}

// valueOf is a value that a tensor of that type can hold exactly.
func valueOf(t *wire.Tensor) wire.Value {
	switch t.Type.String() {
	case "FLOAT":
		return wire.Float32Value(math.Pi)
	case "HALF":
		return wire.Float16Value(-1.5)
	case "BFLOAT16":
		return wire.BFloat16Value(-2.5)
	case "DOUBLE":
		return wire.Float64Value(math.E)
	case "INT32":
		return wire.Int32Value(-3)
	case "INT64":
		return wire.Int64Value(1 << 40)
	case "UINT8", "INT8", "FP8_E4M3", "FP8_E5M2", "FP8_E8M0", "FP8_E4M3_FNUZ", "FP8_E5M2_FNUZ":
		return wire.Float8Value(0x35)
	}
	return nil
}

func knownConfig(c *wire.EngineConfig) *wire.EngineConfig {
	c.RankingMetric = ""
	for i := range c.Knobs {
		if c.Knobs[i].Value == nil {
			c.Knobs[i].Value = wire.IntValue(0)
		}
	}
	return c
}

func knownDetails(d *wire.EngineDetails) *wire.EngineDetails {
	d.CandidatePage = nil
	for i := range d.Knobs {
		k := &d.Knobs[i]
		k.ID = 0
		if k.DefaultValue == nil {
			k.DefaultValue = wire.IntValue(3)
		}
		switch k.DefaultValue.(type) {
		case wire.IntValue:
			k.ValueType = wire.IntValue(0)
		case wire.FloatValue:
			k.ValueType = wire.FloatValue(0)
		case wire.StringValue:
			k.ValueType = wire.StringValue("")
		}
		c, ok := k.Constraints.(*wire.IntConstraint)
		if !ok {
			c = &wire.IntConstraint{Min: -1, Max: 5, Step: 2}
		}
		c.Valid = nil
		k.Constraints = c
	}
	return d
}
