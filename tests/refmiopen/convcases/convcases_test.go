package convcases_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/tests/oracle"
	"example.com/miopen_hipdnn_shim/tests/refmiopen/convcases"
)

func TestGenerateIsDeterministicAndCoversEverything(t *testing.T) {
	cases := convcases.Generate(1, 480)
	require.Equal(t, cases, convcases.Generate(1, 480))
	require.NotEqual(t, cases, convcases.Generate(2, 480))
	require.Greater(t, len(convcases.Generate(1, 481)), 481)

	names := map[string]bool{}
	for i := range cases {
		c := &cases[i]
		require.False(t, names[c.Name], c.Name)
		names[c.Name] = true
		lengths, err := c.Convolution.OutputLengths(c.X.Lengths, c.W.Lengths)
		require.NoError(t, err, c.Name)
		require.Equal(t, lengths, c.Y.Lengths, c.Name)
		require.Len(t, c.XData, c.X.Bytes())
		require.Len(t, c.WData, c.W.Bytes())
		require.Len(t, c.YData, c.Y.Bytes())
		if strings.HasSuffix(c.Name, "dilated=true") {
			require.Greater(t, c.Convolution.Dilations[0], 1)
			require.Greater(t, c.W.Lengths[2], 1)
		}
		if strings.Contains(c.Name, "depthwise") {
			require.Equal(t, c.X.Lengths[1], c.Convolution.Groups)
		}
	}
	// Six pairs of types in three ranks and one in two; four layouts, three groupings, two dilations.
	require.Len(t, names, (6*3+2)*4*3*2)
}

func TestWrite(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, convcases.Write(&b, []convcases.Case{{
		Name:        "n",
		Convolution: oracle.Convolution{Pads: []int{1, 0}, Strides: []int{2, 3}, Dilations: []int{1, 4}, Groups: 5},
		Operands: oracle.Operands{
			X: oracle.Packed(oracle.Int8, []int{1, 2}, nil), XData: []byte{1, 255},
			W: oracle.Packed(oracle.Int8, []int{2, 1}, nil), WData: []byte{3, 4},
			Y: oracle.Packed(oracle.Float, []int{1}, nil), YData: []byte{0, 0, 128, 63},
			Alpha: 0.5, Beta: -2,
		},
		Route: convcases.Find, Algorithm: convcases.GEMM, Workspace: convcases.None,
	}}))
	require.Equal(t, `case n
x int8 1,2 2,1 01ff
w int8 2,1 1,1 0304
y float 1 1 0000803f
conv 1,0 2,3 1,4 5
scale 0x1p-01 -0x1p+01
run find gemm none
`, b.String())
}

func TestParse(t *testing.T) {
	const good = "case a\noutput 1,2,3\nworkspace 4\nsolution 91 gemm 4\nsolution 85 direct 0\nfound gemm 4\ntimed 1\ny 00ff\nstatus 0 f\ncase b\ntimed 0\ny \nstatus 7 g\n"
	got, err := convcases.Parse(strings.NewReader(good))
	require.NoError(t, err)
	require.Equal(t, []convcases.Result{
		{Name: "a", Output: []int{1, 2, 3}, Workspace: 4, Solutions: []convcases.Algorithm{"gemm", "direct"}, Found: []convcases.Algorithm{"gemm"}, Timed: true, Y: []byte{0, 255}, Status: 0, Function: "f"},
		{Name: "b", Workspace: -1, Y: []byte{}, Status: 7, Function: "g"},
	}, got)

	for text, message := range map[string]string{
		"case a\ntimed 1\n":             "ends inside case a",
		"case a\ncase b\nstatus 0 f\n":  "line 2: case a has no status",
		"status 7 miopenCreate\n":       "line 1",
		"case a\nsomething\n":           "line 2: case a: unknown line",
		"case a\ny 0g\nstatus 0 f\n":    "invalid byte",
		"case a\noutput 1,x\n":          "invalid syntax",
		"case a\nstatus seven f\n":      "invalid syntax",
		"case a\nworkspace\n":           "unknown line",
		"case a\ntimed 1\nstatus 0 f":   "EOF",
		"case a\nsolution 91 gemm\n":    "unknown line",
		"case a\nstatus 0 f\nleftover ": "EOF",
	} {
		_, err := convcases.Parse(strings.NewReader(text))
		require.ErrorContains(t, err, message, "%q", text)
	}
}

// perfect is what the driver would print for a case if everything were right.
func perfect(t *testing.T, c *convcases.Case) convcases.Result {
	t.Helper()
	values, err := c.Convolution.Forward(c.Operands)
	require.NoError(t, err)
	r := convcases.Result{Name: c.Name, Output: c.Y.Lengths, Y: bytes.Clone(c.YData)}
	i := 0
	c.Y.Each(func(_ []int, offset int) {
		c.Y.Type.Put(r.Y[offset:], values[i].Exact)
		i++
	})
	return r
}

func TestCheck(t *testing.T) {
	for _, c := range convcases.Generate(3, 480) {
		if c.Y.Type == oracle.Int8 {
			continue // sums wrap, which Put does not
		}
		require.NoError(t, c.Check(perfect(t, &c)), c.Name)
		for what, spoil := range map[string]func(r *convcases.Result){
			"got the result of": func(r *convcases.Result) { r.Name = "another" },
			"gave status 3":     func(r *convcases.Result) { r.Status = 3 },
			"the output is":     func(r *convcases.Result) { r.Output = r.Output[1:] },
			"bytes":             func(r *convcases.Result) { r.Y = append(r.Y, 0) },
			"wrong":             func(r *convcases.Result) { c.Y.Type.Put(r.Y, c.Y.Type.Get(r.Y)+50) },
		} {
			r := perfect(t, &c)
			spoil(&r)
			require.ErrorContains(t, c.Check(r), what, c.Name)
		}
	}
}

func TestGenerateBackwardCoversEverything(t *testing.T) {
	cases := convcases.GenerateBackward(1, 500)
	require.Equal(t, cases, convcases.GenerateBackward(1, 500))
	names := map[string]bool{}
	seen := map[string]int{}
	for i := range cases {
		c := &cases[i]
		require.False(t, names[c.Name], c.Name)
		names[c.Name] = true
		require.NotEqual(t, oracle.Forward, c.Direction)
		require.False(t, c.Deterministic && c.Algorithm == convcases.ImplicitGEMM)
		for _, what := range []string{c.Direction.String(), string(c.Route), string(c.Algorithm), fmt.Sprint("deterministic ", c.Deterministic)} {
			seen[what]++
		}
	}
	// Two directions of four types in three ranks; four layouts, three groupings, two dilations.
	require.Len(t, names, 2*4*3*4*3*2)
	for _, what := range []string{"find", "compile", "immediate", "find2", "gemm", "direct", "implicitgemm", "deterministic true", "backward data", "backward weights"} {
		require.Greater(t, seen[what], 50, what)
	}
}

func TestCheckBackward(t *testing.T) {
	for _, c := range convcases.GenerateBackward(3, 500) {
		result, before := c.Result(c.Direction)
		values, err := c.Convolution.Compute(c.Direction, c.Operands)
		require.NoError(t, err)
		r := convcases.Result{Name: c.Name, Output: c.Y.Lengths, Y: bytes.Clone(before)}
		i := 0
		result.Each(func(_ []int, offset int) {
			result.Type.Put(r.Y[offset:], values[i].Exact)
			i++
		})
		require.NoError(t, c.Check(r), c.Name)
		result.Type.Put(r.Y, result.Type.Get(r.Y)+50)
		require.ErrorContains(t, c.Check(r), "wrong", c.Name)
	}
}

func TestGenerateFusedCoversEverything(t *testing.T) {
	cases := convcases.GenerateFused(1, 1)
	require.Equal(t, cases, convcases.GenerateFused(1, 1))
	names := map[string]bool{}
	for i := range cases {
		names[cases[i].Name] = true
		require.Zero(t, cases[i].Beta)
	}
	require.Len(t, names, len(cases))
	require.Len(t, names, 2*2*5+3*2*2*3*2*3+3*2*3)
}

// What a fused convolution gets is written, and what it must not be like is refused.
func TestCheckFused(t *testing.T) {
	c := convcases.Case{
		Name:        "f",
		Convolution: oracle.Convolution{Pads: []int{0, 0}, Strides: []int{1, 1}, Dilations: []int{1, 1}, Groups: 1},
		Operands: oracle.Operands{
			X: oracle.Packed(oracle.BFloat16, []int{1, 1, 1, 1}, nil), XData: []byte{0, 64},
			W: oracle.Packed(oracle.BFloat16, []int{1, 1, 1, 1}, nil), WData: []byte{0, 64},
			Y: oracle.Packed(oracle.BFloat16, []int{1, 1, 1, 1}, nil), YData: []byte{0, 0}, Alpha: 1,
		},
		Fusion: &convcases.Fusion{
			Bias: oracle.Packed(oracle.BFloat16, []int{1, 1, 1, 1}, nil), BiasData: []byte{128, 63},
			Add: oracle.Packed(oracle.BFloat16, []int{1, 1, 1, 1}, nil), AddData: []byte{0, 64}, AddScale: 0.5,
			Activation: convcases.Activation{Name: "clamp", Alpha: -1, Beta: 8},
		},
		Route: convcases.Plan, Algorithm: convcases.Direct, Workspace: convcases.Full,
	}
	var b bytes.Buffer
	require.NoError(t, convcases.Write(&b, []convcases.Case{c}))
	require.Contains(t, b.String(), "bias bfloat16 1,1,1,1 1,1,1,1 803f\nadd 0x1p-01 bfloat16 1,1,1,1 1,1,1,1 0040\nactivation clamp -0x1p+00 0x1p+03\nrun plan direct full\n")
	r := convcases.Result{Name: "f", Output: c.Y.Lengths, Y: []byte{192, 64}} // 2*2 + 0.5*2 + 1 = 6
	require.NoError(t, c.Check(r))
	r.Y = []byte{193, 64}
	require.ErrorContains(t, c.Check(r), "1 elements are wrong")
	c.Fusion.Activation.Name = "tanh"
	require.ErrorContains(t, c.Check(r), "no activation tanh")
}

func TestGenerateBeyondCoversEverything(t *testing.T) {
	cases := convcases.GenerateBeyond(1, 700)
	require.NotEqual(t, cases[0].XData, convcases.GenerateBeyond(2, 1)[0].XData)
	var again, first bytes.Buffer // since a NaN is unequal to itself
	require.NoError(t, convcases.Write(&first, cases))
	require.NoError(t, convcases.Write(&again, convcases.GenerateBeyond(1, 700)))
	require.Equal(t, first.String(), again.String())
	names := map[string]bool{}
	for i := range cases {
		c := &cases[i]
		require.False(t, names[c.Name], c.Name)
		names[c.Name] = true
		require.Equal(t, convcases.Alone, c.Route)
		require.Equal(t, []float64{1, 0}, []float64{c.Alpha, c.Beta})
		require.Equal(t, strings.Contains(c.Name, "/transposed/"), c.Transposed)
		require.Equal(t, strings.Contains(c.Name, "float8"), c.StandardRounding)
		require.Len(t, c.XData, c.X.Bytes())
		require.Len(t, c.YData, c.Y.Bytes())
		wide, narrow := c.X.Lengths, c.Y.Lengths
		if c.Transposed {
			wide, narrow = narrow, wide
		}
		lengths, err := c.Convolution.OutputLengths(wide, c.W.Lengths)
		require.NoError(t, err, c.Name)
		require.Equal(t, lengths, narrow, c.Name)
		// What y holds is no result, and what the oracle gets is one.
		r := beyondResult(t, c)
		require.NoError(t, c.Check(r), c.Name)
		c.Y.Type.Put(r.Y, c.Y.Type.Get(c.YData))
		require.ErrorContains(t, c.Check(r), "wrong", c.Name)
	}
	require.Contains(t, first.String(), "\ntranspose 1", "an output that is padded")
	// Two types, and eight transposed; three ranks, four layouts, three groupings, two dilations.
	require.Len(t, names, (2+8)*3*4*3*2)
}

// beyondResult is what the driver would print if everything were right.
func beyondResult(t *testing.T, c *convcases.Case) convcases.Result {
	t.Helper()
	o, direction := c.Operands, oracle.Forward
	if c.Transposed {
		direction = oracle.BackwardData
		o.X, o.XData, o.Y, o.YData = o.Y, o.YData, o.X, o.XData
	}
	values, err := c.Convolution.Compute(direction, o)
	require.NoError(t, err)
	r := convcases.Result{Name: c.Name, Output: c.Y.Lengths, Y: bytes.Clone(c.YData)}
	i := 0
	c.Y.Each(func(_ []int, offset int) {
		c.Y.Type.Put(r.Y[offset:], values[i].Exact)
		i++
	})
	return r
}

// A transposed convolution spreads each element of x over y, with weights that the filter has in the same order.
func TestCheckTransposed(t *testing.T) {
	c := convcases.Case{
		Name:        "t",
		Convolution: oracle.Convolution{Pads: []int{1}, Strides: []int{2}, Dilations: []int{1}, Groups: 1},
		Transposed:  true, StandardRounding: true,
		Operands: oracle.Operands{
			X: oracle.Packed(oracle.Float8, []int{1, 1, 2}, nil), XData: []byte{0x52, 0x56}, // 5, 7
			W: oracle.Packed(oracle.Float8, []int{1, 1, 3}, nil), WData: []byte{0x40, 0x48, 0x50}, // 1, 2, 4
			Y: oracle.Packed(oracle.Float8, []int{1, 1, 4}, nil), YData: []byte{0x80, 0x80, 0x80, 0x80}, Alpha: 1,
		},
		Route: convcases.Alone, Algorithm: convcases.Direct, Workspace: convcases.None,
	}
	var b bytes.Buffer
	require.NoError(t, convcases.Write(&b, []convcases.Case{c}))
	require.Contains(t, b.String(), "\nconv 1 2 1 1\ntranspose 1\nrounding 0\nscale ")
	require.Contains(t, b.String(), "x float8_fnuz 1,1,2 2,2,1 5256\n")
	// 5*2, 5*4 + 7*1, 7*2, 7*4; 27 is between 26 and 28, nearer to the even one.
	r := convcases.Result{Name: "t", Output: []int{1, 1, 4}, Y: []byte{0x5a, 0x66, 0x5e, 0x66}}
	require.NoError(t, c.Check(r))
	for _, wrong := range [][]byte{{0x66, 0x5e, 0x66, 0x5a}, {0x5a, 0x66, 0x5e, 0x80}, {0x5a, 0x68, 0x5e, 0x66}} {
		r.Y = wrong
		require.ErrorContains(t, c.Check(r), "wrong", "%x", wrong)
	}
	c.Transposed = false
	require.ErrorContains(t, c.Check(r), "the convolution gives")
}
