package refmiopen_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/tests/oracle"
	"example.com/miopen_hipdnn_shim/tests/refmiopen/convcases"
)

// pointwise is a convolution of a single row of input with k filters of one element.
func pointwise(name string, x, y oracle.Type, xData, wData []byte, alpha float64) convcases.Case {
	n, k := len(xData)/x.Size(), len(wData)/x.Size()
	out := oracle.Packed(y, []int{1, k, n}, nil)
	return convcases.Case{
		Name:        name,
		Convolution: oracle.Convolution{Pads: []int{0}, Strides: []int{1}, Dilations: []int{1}, Groups: 1},
		Operands: oracle.Operands{
			X: oracle.Packed(x, []int{1, 1, n}, nil), XData: xData,
			W: oracle.Packed(x, []int{k, 1, 1}, nil), WData: wData,
			Y: out, YData: make([]byte, out.Bytes()), Alpha: alpha,
		},
		Route: convcases.Compile, Algorithm: convcases.Direct, Workspace: convcases.None,
	}
}

// Every bit pattern of half and bfloat16 goes in; what comes out, scaled in float, is rounded to the
// nearest, ties to even, over the whole range: subnormals, overflow, infinities and NaN.
func TestSixteenBitNumbersExhaustively(t *testing.T) {
	all := make([]byte, 0, 2<<16)
	for bits := range 1 << 16 {
		all = append(all, byte(bits), byte(bits>>8))
	}
	var cases []convcases.Case
	for _, typ := range []oracle.Type{oracle.Half, oracle.BFloat16} {
		one := make([]byte, 2)
		typ.Put(one, 1)
		for _, alpha := range []float32{1, 0.5, 0.125, 3, 1 + 1.0/(1<<11), 1 + 3.0/(1<<11), 1 + 1.0/(1<<8), 1.0 / 3, -0x1p-20, 0x1p-30} {
			for _, algorithm := range []convcases.Algorithm{convcases.Direct, convcases.GEMM} {
				c := pointwise(fmt.Sprintf("%v*%v/%v", typ, alpha, algorithm), typ, typ, all, one, float64(alpha))
				c.Algorithm = algorithm
				c.Workspace = convcases.Full
				cases = append(cases, c)
			}
		}
	}
	results, _ := convrun(t, cases)
	ties, infinities, subnormals := 0, 0, 0
	for i, c := range cases {
		require.Zero(t, results[i].Status, c.Name)
		typ := c.X.Type
		for at := 0; at < len(all); at += 2 {
			in := typ.Get(all[at:])
			product := float64(float32(c.Alpha) * float32(in)) // in float, as the sums are kept
			want, got := typ.Round(product), typ.Get(results[i].Y[at:])
			if math.IsNaN(want) {
				require.True(t, math.IsNaN(got), "%s: %v gave %v", c.Name, in, got)
				continue
			}
			if want != got {
				require.Equal(t, want, got, "%s: %v times %v is %v", c.Name, in, c.Alpha, product)
			}
			// Half-way between two numbers of the type: the one on the other side is one too.
			if opposite := 2*product - want; product != want && typ.Round(opposite) == opposite {
				ties++
			}
			if math.IsInf(want, 0) && !math.IsInf(in, 0) {
				infinities++
			}
			if want != 0 && typ == oracle.Half && math.Abs(want) < 0x1p-14 {
				subnormals++
			}
		}
	}
	// The sweep went where it was meant to go.
	require.Greater(t, infinities, 100)
	require.Greater(t, subnormals, 1000)
	require.Greater(t, ties, 1000)
}

// Every product of two int8 numbers, in each of the output types.
func TestInt8ProductsExhaustively(t *testing.T) {
	var all []byte
	for v := range 256 {
		all = append(all, byte(v))
	}
	cases := []convcases.Case{
		pointwise("int32", oracle.Int8, oracle.Int32, all, all, 1),
		pointwise("float", oracle.Int8, oracle.Float, all, all, 1),
		pointwise("int8", oracle.Int8, oracle.Int8, all, all, 1),
	}
	results, _ := convrun(t, cases)
	for i := range cases {
		require.NoError(t, cases[i].Check(results[i]))
	}
	// The lowest product that leaves int8 wraps: 2 * 64.
	last := results[2]
	position := 256*slices.Index(all, 2) + slices.Index(all, 64)
	require.Equal(t, byte(0x80), last.Y[position])
}

// A scaled integer sum is rounded to the nearest, ties to even, and limited to the range of int32.
func TestInt32Scaling(t *testing.T) {
	x := []byte{0, 1, 2, 3, 5, 127, 0xff, 0xfd, 0x80}
	one := []byte{1}
	half := pointwise("half", oracle.Int8, oracle.Int32, x, one, 0.5)
	big := pointwise("big", oracle.Int8, oracle.Int32, x, one, 1e9)
	sum := pointwise("sum", oracle.Int8, oracle.Int32, x, one, 1)
	sum.Beta = 0.5
	for i := range x {
		oracle.Int32.Put(sum.YData[4*i:], float64(2*i+1))
	}
	results, _ := convrun(t, []convcases.Case{half, big, sum})
	get := func(r convcases.Result) []float64 {
		require.Zero(t, r.Status)
		var out []float64
		for at := 0; at < len(r.Y); at += 4 {
			out = append(out, oracle.Int32.Get(r.Y[at:]))
		}
		return out
	}
	require.Equal(t, []float64{0, 0, 1, 2, 2, 64, 0, -2, -64}, get(results[0]))
	require.Equal(t, []float64{0, 1e9, 2e9, math.MaxInt32, math.MaxInt32, math.MaxInt32, -1e9, math.MinInt32, math.MinInt32}, get(results[1]))
	require.Equal(t, []float64{0, 2, 4, 6, 10, 132, 6, 4, -120}, get(results[2]))
}
