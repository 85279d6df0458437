package oracle_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/tests/hardware/float8"
	"example.com/miopen_hipdnn_shim/tests/oracle"
)

var floating = []oracle.Type{oracle.Half, oracle.BFloat16, oracle.Float, oracle.Double}

func encode(t oracle.Type, values ...float64) []byte {
	b := make([]byte, len(values)*t.Size())
	for i, v := range values {
		t.Put(b[i*t.Size():], v)
	}
	return b
}

func random(rng *rand.Rand, t oracle.Tensor) []byte {
	b := make([]byte, t.Bytes())
	for i := 0; i < len(b); i += t.Type.Size() {
		v := 2*rng.Float64() - 1
		if t.Type.IsInteger() {
			v *= 100
		}
		t.Type.Put(b[i:], v)
	}
	return b
}

func exact(values []oracle.Value) []float64 {
	out := make([]float64, len(values))
	for i, v := range values {
		out[i] = v.Exact
	}
	return out
}

// forward runs a convolution on packed tensors with alpha 1 and beta 0.
func forward(t *testing.T, c oracle.Convolution, e oracle.Type, x []int, xData []byte, w []int, wData []byte) ([]int, []oracle.Value) {
	t.Helper()
	lengths, err := c.OutputLengths(x, w)
	require.NoError(t, err)
	values, err := c.Forward(oracle.Operands{
		X: oracle.Packed(e, x, nil), XData: xData,
		W: oracle.Packed(e, w, nil), WData: wData,
		Y: oracle.Packed(e, lengths, nil), Alpha: 1,
	})
	require.NoError(t, err)
	return lengths, values
}

func plain(spatial int) oracle.Convolution {
	c := oracle.Convolution{Groups: 1}
	for range spatial {
		c.Pads, c.Strides, c.Dilations = append(c.Pads, 0), append(c.Strides, 1), append(c.Dilations, 1)
	}
	return c
}

func TestTypesKnownValues(t *testing.T) {
	for _, c := range []struct {
		typ   oracle.Type
		value float64
		bytes []byte
	}{
		{oracle.Half, 1, []byte{0x00, 0x3c}},
		{oracle.Half, -2, []byte{0x00, 0xc0}},
		{oracle.Half, 65504, []byte{0xff, 0x7b}},
		{oracle.Half, 65519.99, []byte{0xff, 0x7b}},
		{oracle.Half, 65520, []byte{0x00, 0x7c}},
		{oracle.Half, 0x1p-24, []byte{0x01, 0x00}},
		{oracle.Half, 0x1p-25, []byte{0x00, 0x00}},     // a tie with zero goes to even
		{oracle.Half, 0x1.8p-24, []byte{0x02, 0x00}},   // a tie goes to even
		{oracle.Half, 0x1p-14, []byte{0x00, 0x04}},     // smallest normal
		{oracle.Half, 1 + 0x1p-11, []byte{0x00, 0x3c}}, // tie down
		{oracle.Half, 1 + 0x3p-11, []byte{0x02, 0x3c}}, // tie up
		{oracle.Half, math.Inf(-1), []byte{0x00, 0xfc}},
		{oracle.BFloat16, 1, []byte{0x80, 0x3f}},
		{oracle.BFloat16, -3.140625, []byte{0x49, 0xc0}},
		{oracle.BFloat16, 1 + 0x1p-8, []byte{0x80, 0x3f}},
		{oracle.BFloat16, 1 + 0x3p-8, []byte{0x82, 0x3f}},
		{oracle.BFloat16, math.MaxFloat32, []byte{0x80, 0x7f}},
		{oracle.BFloat16, 0x1p-133, []byte{0x01, 0x00}},
		{oracle.Float, 0.1, []byte{0xcd, 0xcc, 0xcc, 0x3d}},
		{oracle.Double, 0x1p-1074, []byte{1, 0, 0, 0, 0, 0, 0, 0}},
		{oracle.Int8, 127.4, []byte{0x7f}},
		{oracle.Int8, -300, []byte{0x80}},
		{oracle.Int8, 2.5, []byte{2}},
		{oracle.Int32, -2, []byte{0xfe, 0xff, 0xff, 0xff}},
		{oracle.Int32, 3e9, []byte{0xff, 0xff, 0xff, 0x7f}},
		{oracle.Float8, 1, []byte{0x40}},
		{oracle.Float8, -1.125, []byte{0xc1}},
		{oracle.Float8, 0x1p-10, []byte{0x01}},
		{oracle.Float8, 0x7p-10, []byte{0x07}},
		{oracle.Float8, 0x1p-7, []byte{0x08}},  // smallest normal
		{oracle.Float8, 0x1p-11, []byte{0x00}}, // a tie with zero
		{oracle.Float8, 1 + 0x1p-4, []byte{0x40}},
		{oracle.Float8, 1 + 0x3p-4, []byte{0x42}},
		{oracle.Float8, 240, []byte{0x7f}},
		{oracle.Float8, -1e6, []byte{0xff}},
		{oracle.Float8, math.Copysign(0, -1), []byte{0x00}},
		{oracle.Float8, -0x1p-30, []byte{0x00}},
		{oracle.BFloat8, -1, []byte{0xc0}},
		{oracle.BFloat8, 1.25, []byte{0x41}},
		{oracle.BFloat8, 0x1p-17, []byte{0x01}},
		{oracle.BFloat8, 0x1p-15, []byte{0x04}},
		{oracle.BFloat8, 1 + 0x1p-3, []byte{0x40}},
		{oracle.BFloat8, 1 + 0x3p-3, []byte{0x42}},
		{oracle.BFloat8, 57344, []byte{0x7f}},
		{oracle.BFloat8, 1e6, []byte{0x7f}},
	} {
		require.Equal(t, c.bytes, encode(c.typ, c.value), "%v of %v", c.typ, c.value)
		require.Equal(t, c.typ.Round(c.value), c.typ.Get(c.bytes), "%v of %v", c.typ, c.value)
	}
	for _, typ := range floating {
		require.True(t, math.IsNaN(typ.Get(encode(typ, math.NaN()))), typ)
		require.True(t, math.Signbit(typ.Get(encode(typ, math.Copysign(0, -1)))), typ)
	}
}

// Every bit pattern of the two 16-bit types is a number that survives the way out and back.
func TestSixteenBitTypesRoundTrip(t *testing.T) {
	for _, typ := range []oracle.Type{oracle.Half, oracle.BFloat16} {
		for bits := range 1 << 16 {
			in := []byte{byte(bits), byte(bits >> 8)}
			v := typ.Get(in)
			if math.IsNaN(v) {
				continue
			}
			if got := encode(typ, v); got[0] != in[0] || got[1] != in[1] {
				require.Equal(t, in, got, "%v %04x is %v", typ, bits, v)
			}
		}
	}
}

// Every pattern of the two 8-bit types is a number that survives the way out and back, but for the one NaN; numbers ascend with
// their patterns, and what lies between two goes to the nearer one. A list of numbers that was written in another way agrees.
func TestEightBitTypes(t *testing.T) {
	for typ, other := range map[oracle.Type]*float8.Format{oracle.Float8: float8.FP8, oracle.BFloat8: float8.BF8} {
		for bits := range 256 {
			v := typ.Get([]byte{byte(bits)})
			if bits == 0x80 {
				require.True(t, math.IsNaN(v))
				continue
			}
			require.Equal(t, other.Value(byte(bits)), v, "%v %02x", typ, bits)
			require.Equal(t, []byte{byte(bits)}, encode(typ, v), "%v %02x", typ, bits)
			if bits%128 == 127 {
				continue // the last of its sign
			}
			next := typ.Get([]byte{byte(bits + 1)})
			require.Greater(t, math.Abs(next), math.Abs(v))
			for _, share := range []float64{0.01, 0.49, 0.5, 0.51, 0.99} {
				between := v + share*(next-v)
				require.Equal(t, other.Round(between), typ.Round(between), "%v %v", typ, between)
			}
		}
		require.Equal(t, other.Largest(), typ.Round(math.MaxFloat64))
		for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
			require.Equal(t, []byte{0x80}, encode(typ, v), "%v of %v", typ, v)
		}
	}
}

func TestParseType(t *testing.T) {
	for _, typ := range append(floating, oracle.Int8, oracle.Int32, oracle.Float8, oracle.BFloat8) {
		got, err := oracle.ParseType(typ.String())
		require.NoError(t, err)
		require.Equal(t, typ, got)
	}
	_, err := oracle.ParseType("float8")
	require.ErrorContains(t, err, `"float8"`)
}

func TestHandComputed(t *testing.T) {
	t.Run("1-D, padded", func(t *testing.T) {
		c := plain(1)
		c.Pads = []int{1}
		lengths, got := forward(t, c, oracle.Float, []int{1, 1, 4}, encode(oracle.Float, 1, 2, 3, 4),
			[]int{1, 1, 3}, encode(oracle.Float, 10, 20, 30))
		require.Equal(t, []int{1, 1, 4}, lengths)
		require.Equal(t, []float64{20*1 + 30*2, 10*1 + 20*2 + 30*3, 10*2 + 20*3 + 30*4, 10*3 + 20*4}, exact(got))
		require.Equal(t, []int{2, 3, 3, 2}, []int{got[0].Terms, got[1].Terms, got[2].Terms, got[3].Terms})
	})
	t.Run("2-D", func(t *testing.T) {
		_, got := forward(t, plain(2), oracle.Double, []int{1, 1, 3, 3}, encode(oracle.Double, 1, 2, 3, 4, 5, 6, 7, 8, 9),
			[]int{1, 1, 2, 2}, encode(oracle.Double, 1, -1, 2, 0.5))
		require.Equal(t, []float64{1 - 2 + 8 + 2.5, 2 - 3 + 10 + 3, 4 - 5 + 14 + 4, 5 - 6 + 16 + 4.5}, exact(got))
		require.Equal(t, 1+2+8+2.5, got[0].Magnitude)
	})
	t.Run("stride and dilation are different things", func(t *testing.T) {
		c := plain(1)
		c.Strides, c.Dilations = []int{3}, []int{2}
		lengths, got := forward(t, c, oracle.Float, []int{1, 1, 8}, encode(oracle.Float, 1, 2, 3, 4, 5, 6, 7, 8),
			[]int{1, 1, 2}, encode(oracle.Float, 1, 100))
		require.Equal(t, []int{1, 1, 2}, lengths)
		require.Equal(t, []float64{301, 604}, exact(got))
	})
	t.Run("groups", func(t *testing.T) {
		c := plain(1)
		c.Groups = 2
		_, got := forward(t, c, oracle.Float, []int{1, 4, 1}, encode(oracle.Float, 1, 2, 3, 4),
			[]int{4, 2, 1}, encode(oracle.Float, 1, 10, 100, 1000, 1, 10, 100, 1000))
		require.Equal(t, []float64{21, 2100, 43, 4300}, exact(got))
	})
	t.Run("3-D", func(t *testing.T) {
		_, got := forward(t, plain(3), oracle.Float, []int{1, 1, 2, 2, 2}, encode(oracle.Float, 1, 2, 3, 4, 5, 6, 7, 8),
			[]int{1, 1, 2, 1, 2}, encode(oracle.Float, 1, 10, 100, 1000))
		require.Equal(t, []float64{1 + 20 + 500 + 6000, 3 + 40 + 700 + 8000}, exact(got))
	})
	t.Run("int8", func(t *testing.T) {
		c := plain(1)
		values, err := c.Forward(oracle.Operands{
			X: oracle.Packed(oracle.Int8, []int{1, 2, 1}, nil), XData: encode(oracle.Int8, -128, 127),
			W: oracle.Packed(oracle.Int8, []int{1, 2, 1}, nil), WData: encode(oracle.Int8, -128, 127),
			Y: oracle.Packed(oracle.Int32, []int{1, 1, 1}, nil), Alpha: 1,
		})
		require.NoError(t, err)
		require.Equal(t, []float64{128*128 + 127*127}, exact(values))
		require.Zero(t, oracle.Tolerance(oracle.Int8, oracle.Int32, values[0]))
	})
	t.Run("alpha and beta", func(t *testing.T) {
		values, err := plain(1).Forward(oracle.Operands{
			X: oracle.Packed(oracle.Float, []int{1, 1, 2}, nil), XData: encode(oracle.Float, 3, 5),
			W: oracle.Packed(oracle.Float, []int{1, 1, 1}, nil), WData: encode(oracle.Float, 2),
			Y: oracle.Packed(oracle.Float, []int{1, 1, 2}, nil), YData: encode(oracle.Float, 100, -7),
			Alpha: -0.5, Beta: 2,
		})
		require.NoError(t, err)
		require.Equal(t, []float64{-3 + 200, -5 - 14}, exact(values))
		require.Equal(t, 203.0, values[0].Magnitude)
	})
}

// An impulse in the middle of the input returns the filter, mirrored around it.
func TestImpulseResponse(t *testing.T) {
	x := make([]float64, 5*5*5)
	x[2*25+2*5+2] = 1
	w := make([]float64, 3*3*3)
	for i := range w {
		w[i] = float64(i + 1)
	}
	_, got := forward(t, plain(3), oracle.Float, []int{1, 1, 5, 5, 5}, encode(oracle.Float, x...), []int{1, 1, 3, 3, 3}, encode(oracle.Float, w...))
	for i := range w {
		require.Equal(t, w[len(w)-1-i], got[i].Exact)
	}
}

// A filter of one element is a product of matrices.
func TestPointwiseIsMatrixProduct(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const n, c, k, p = 2, 5, 7, 6
	xt, wt := oracle.Packed(oracle.Double, []int{n, c, 2, 3}, nil), oracle.Packed(oracle.Double, []int{k, c, 1, 1}, nil)
	x, w := random(rng, xt), random(rng, wt)
	_, got := forward(t, plain(2), oracle.Double, xt.Lengths, x, wt.Lengths, w)
	at := func(b []byte, i int) float64 { return oracle.Double.Get(b[8*i:]) }
	for in := range n {
		for ik := range k {
			for ip := range p {
				want := 0.0
				for ic := range c {
					want += at(w, ik*c+ic) * at(x, (in*c+ic)*p+ip)
				}
				require.InDelta(t, want, got[(in*k+ik)*p+ip].Exact, 1e-14)
			}
		}
	}
}

// conv(a*x1 + x2, w) is a*conv(x1, w) + conv(x2, w), for a geometry with everything in it.
func TestLinearity(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	c := oracle.Convolution{Pads: []int{1, 2}, Strides: []int{2, 1}, Dilations: []int{1, 2}, Groups: 2}
	xt, wt := oracle.Packed(oracle.Double, []int{2, 4, 6, 7}, nil), oracle.Packed(oracle.Double, []int{6, 2, 3, 2}, nil)
	x1, x2, w := random(rng, xt), random(rng, xt), random(rng, wt)
	both := make([]byte, len(x1))
	const a = 0.375
	for i := 0; i < len(both); i += 8 {
		oracle.Double.Put(both[i:], a*oracle.Double.Get(x1[i:])+oracle.Double.Get(x2[i:]))
	}
	_, y1 := forward(t, c, oracle.Double, xt.Lengths, x1, wt.Lengths, w)
	_, y2 := forward(t, c, oracle.Double, xt.Lengths, x2, wt.Lengths, w)
	_, y := forward(t, c, oracle.Double, xt.Lengths, both, wt.Lengths, w)
	for i := range y {
		require.InDelta(t, a*y1[i].Exact+y2[i].Exact, y[i].Exact, 1e-13)
	}
}

// Strides are where elements lie, not what they are: the result does not depend on them.
func TestStridesDoNotChangeTheResult(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	c := oracle.Convolution{Pads: []int{1, 0}, Strides: []int{1, 2}, Dilations: []int{2, 1}, Groups: 1}
	packed := oracle.Packed(oracle.Float, []int{2, 3, 6, 7}, nil)
	x := random(rng, packed)
	w := random(rng, oracle.Packed(oracle.Float, []int{4, 3, 2, 2}, nil))
	_, want := forward(t, c, oracle.Float, packed.Lengths, x, []int{4, 3, 2, 2}, w)

	for _, other := range []oracle.Tensor{
		oracle.Packed(oracle.Float, packed.Lengths, []int{0, 2, 3, 1}),
		oracle.Packed(oracle.Float, packed.Lengths, []int{1, 2, 3, 0}),
		{Type: oracle.Float, Lengths: packed.Lengths, Strides: []int{1000, 200, 20, 2}},
	} {
		moved := make([]byte, other.Bytes())
		from := 0
		other.Each(func(_ []int, offset int) {
			copy(moved[offset:offset+4], x[from:])
			from += 4
		})
		y := oracle.Packed(oracle.Float, []int{2, 4, 6, 3}, []int{0, 2, 3, 1})
		got, err := c.Forward(oracle.Operands{X: other, XData: moved, W: oracle.Packed(oracle.Float, []int{4, 3, 2, 2}, nil), WData: w, Y: y, Alpha: 1})
		require.NoError(t, err)
		require.ElementsMatch(t, exact(want), exact(got))
		require.InDeltaSlice(t, exact(want), exact(got), 1e-15)
	}
}

func TestRefusals(t *testing.T) {
	c := plain(1)
	good := oracle.Operands{
		X: oracle.Packed(oracle.Float, []int{1, 2, 4}, nil), XData: make([]byte, 32),
		W: oracle.Packed(oracle.Float, []int{2, 2, 3}, nil), WData: make([]byte, 48),
		Y: oracle.Packed(oracle.Float, []int{1, 2, 2}, nil), Alpha: 1,
	}
	_, err := c.Forward(good)
	require.NoError(t, err)
	for what, change := range map[string]func(o *oracle.Operands, c *oracle.Convolution){
		"needs 32 bytes":   func(o *oracle.Operands, _ *oracle.Convolution) { o.XData = o.XData[:28] },
		"needs 16 bytes":   func(o *oracle.Operands, _ *oracle.Convolution) { o.Beta = 1 },
		"the lengths":      func(o *oracle.Operands, _ *oracle.Convolution) { o.Y.Lengths = []int{1, 2, 3} },
		"do not make":      func(_ *oracle.Operands, c *oracle.Convolution) { c.Groups = 2 },
		"do not fit":       func(_ *oracle.Operands, c *oracle.Convolution) { c.Pads = []int{0, 0} },
		"the filter spans": func(_ *oracle.Operands, c *oracle.Convolution) { c.Dilations = []int{2} },
		"must be positive": func(o *oracle.Operands, _ *oracle.Convolution) { o.X.Strides = []int{8, 0, 1} },
		"not an element":   func(o *oracle.Operands, _ *oracle.Convolution) { o.X.Type = 0 },
		"but 2 strides":    func(o *oracle.Operands, _ *oracle.Convolution) { o.W.Strides = []int{3, 1} },
	} {
		o, changed := good, c
		change(&o, &changed)
		_, err := changed.Forward(o)
		require.ErrorContains(t, err, what)
	}
	_, err = oracle.Compare(oracle.Float, good.Y, make([]byte, 15), make([]oracle.Value, 4))
	require.ErrorContains(t, err, "15 bytes")
}

// A dot product of two vectors by the plainest code there is, in float32 with a chosen rounding of
// the result: what the tolerance has to accept, and the faults that it has to see.
func dot(x, w []byte, t oracle.Type, step func(sum, product float64) float64) float64 {
	s := 0.0
	for i := 0; i < len(x); i += t.Size() {
		s = step(s, t.Get(x[i:])*t.Get(w[i:]))
	}
	return s
}

func TestTolerance(t *testing.T) {
	inFloat := func(s, p float64) float64 { return float64(float32(s) + float32(p)) }
	truncated := func(typ oracle.Type, v float64) float64 {
		r := typ.Round(v)
		if math.Abs(r) > math.Abs(v) {
			r = math.Copysign(math.Abs(r)-math.Ldexp(typ.UnitRoundoff()*2, math.Ilogb(v)), v)
		}
		return r
	}
	rng := rand.New(rand.NewPCG(7, 8))
	const length, rounds = 144, 400
	for _, typ := range []oracle.Type{oracle.Half, oracle.BFloat16, oracle.Float, oracle.Float8, oracle.BFloat8} {
		seen := map[string]int{}
		for range rounds {
			vector := oracle.Packed(typ, []int{1, length, 1}, nil)
			x, w := random(rng, vector), random(rng, vector)
			_, values := forward(t, plain(1), typ, vector.Lengths, x, vector.Lengths, w)
			y := oracle.Packed(typ, []int{1, 1, 1}, nil)
			wrong := func(v float64) int {
				m, err := oracle.Compare(typ, y, encode(typ, v), values)
				require.NoError(t, err)
				return len(m)
			}
			require.Zero(t, wrong(dot(x, w, typ, inFloat)), "a correct %v result was refused", typ)
			seen["truncating store"] += wrong(truncated(typ, dot(x, w, typ, inFloat)))
			seen["sum in the storage type"] += wrong(dot(x, w, typ, func(s, p float64) float64 { return typ.Round(s + p) }))
			seen["missing term"] += wrong(dot(x[typ.Size():], w[typ.Size():], typ, inFloat))
			seen["not a number"] += wrong(math.NaN())
		}
		t.Logf("%v: %v", typ, seen)
		require.Equal(t, rounds, seen["not a number"])
		least := rounds * 9 / 10
		if typ.Size() == 1 {
			least = rounds / 5 // a term is often smaller than half the distance of two numbers
		}
		require.Greater(t, seen["missing term"], least, typ)
		if typ != oracle.Float {
			// Most truncations of one element lie within the tolerance of its sum; a tensor has many.
			require.Greater(t, seen["truncating store"], rounds/20, typ)
			require.Greater(t, seen["sum in the storage type"], rounds/4, typ)
		}
	}
}

func TestCompareSpecialValues(t *testing.T) {
	y := oracle.Packed(oracle.Half, []int{1}, nil)
	for _, c := range []struct {
		exact, got float64
		right      bool
	}{
		{math.NaN(), math.NaN(), true},
		{math.NaN(), 1, false},
		{1, math.NaN(), false},
		{70000, math.Inf(1), true},
		{70000, math.Inf(-1), false},
		{-70000, math.Inf(-1), true},
		{60000, math.Inf(1), false},
		{math.Inf(1), math.Inf(1), true},
	} {
		m, err := oracle.Compare(oracle.Half, y, encode(oracle.Half, c.got), []oracle.Value{{Exact: c.exact, Magnitude: math.Abs(c.exact), Terms: 1}})
		require.NoError(t, err)
		require.Equal(t, c.right, len(m) == 0, "%v for %v", c.got, c.exact)
	}
}

// A sum that leaves the range of a type without infinities is its largest number, and no other.
func TestCompareAtTheEndOfARange(t *testing.T) {
	for typ, largest := range map[oracle.Type]float64{oracle.Float8: 240, oracle.BFloat8: 57344} {
		y := oracle.Packed(typ, []int{1}, nil)
		value := oracle.Value{Exact: -1.5 * largest, Magnitude: 2 * largest, Terms: 9}
		for pattern := range 256 {
			m, err := oracle.Compare(typ, y, []byte{byte(pattern)}, []oracle.Value{value})
			require.NoError(t, err)
			require.Equal(t, pattern == 0xff, len(m) == 0, "%v %02x", typ, pattern)
		}
	}
}

// Sums of int8 products that leave int8 keep their low byte.
func TestCompareInt8Wraps(t *testing.T) {
	y := oracle.Packed(oracle.Int8, []int{1}, nil)
	for value, right := range map[float64]bool{-56: true, -55: false, 127: false} {
		m, err := oracle.Compare(oracle.Int8, y, encode(oracle.Int8, value), []oracle.Value{{Exact: 200, Magnitude: 200, Terms: 3}})
		require.NoError(t, err)
		require.Equal(t, right, len(m) == 0, "%v", value)
	}
}
