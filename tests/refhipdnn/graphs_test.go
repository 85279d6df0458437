package refhipdnn_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/tests/oracle"
	"example.com/miopen_hipdnn_shim/tests/refhipdnn/graphtext"
	"example.com/miopen_hipdnn_shim/tests/refmiopen/convcases"
)

// hipDNN's numbers for the element types, C API.
var typeNumbers = map[oracle.Type]int{
	oracle.Float: 0, oracle.Double: 1, oracle.Half: 2, oracle.Int8: 3, oracle.Int32: 4, oracle.BFloat16: 6,
}

const (
	uidX, uidW, uidY = 11, 12, 13

	crossCorrelation = 1
	convolutionMode  = 0
)

// computeType is the C number of the type that a convolution of x is computed in.
func computeType(x oracle.Type) int {
	switch x {
	case oracle.Double:
		return typeNumbers[oracle.Double]
	case oracle.Int8:
		return typeNumbers[oracle.Int32]
	}
	return typeNumbers[oracle.Float]
}

func tensorLine(uid int, t oracle.Tensor, data []byte) string {
	return graphtext.Tensor(uid, typeNumbers[t.Type], t, data)
}

func convolutionLine(kind string, c oracle.Convolution, pre, post []int, mode, compute int) string {
	return graphtext.Convolution(kind, uidX, uidW, uidY, c, pre, post, mode, compute)
}

func answers(t *testing.T, out string) map[string]graphtext.Answer {
	t.Helper()
	return graphtext.Answers(t, out, false)
}

// forwardCases are the geometries and contents of the reference MIOpen's tests, without scaling.
func forwardCases(t *testing.T) []convcases.Case {
	t.Helper()
	cases := convcases.Generate(20261130, 300)
	for i := range cases {
		cases[i].Alpha, cases[i].Beta = 1, 0
	}
	return cases
}

func forwardInput(cases []convcases.Case, engine func(int) string) string {
	var in strings.Builder
	for i := range cases {
		c := &cases[i]
		fmt.Fprintf(&in, "case %s\n%s%s%s", c.Name, tensorLine(uidX, c.X, c.XData), tensorLine(uidW, c.W, c.WData), tensorLine(uidY, c.Y, c.YData))
		in.WriteString(convolutionLine("forward", c.Convolution, c.Convolution.Pads, c.Convolution.Pads, crossCorrelation, computeType(c.X.Type)))
		fmt.Fprintf(&in, "run %s\n", engine(i))
	}
	return in.String()
}

var engineNames = []string{"REF_DIRECT", "REF_DETERMINISTIC"}

func TestForward(t *testing.T) {
	cases := forwardCases(t)
	for version, environment := range map[string][]string{"late": nil, "early": {"REFHIPDNN_VERSION=0.9.0.0"}} {
		t.Run(version, func(t *testing.T) {
			r := run(t, environment, forwardInput(cases, func(i int) string { return engineNames[i%2] }), "graphs")
			require.Zero(t, r.exit, r.stderr)
			all := answers(t, r.out)
			require.Len(t, all, len(cases))
			computed, refused := 0, 0
			for i := range cases {
				c, a := &cases[i], all[cases[i].Name]
				if c.Y.Type == oracle.Int8 { // sums that do not fit: no engine takes that on
					require.Equal(t, -1, a.Status, c.Name)
					require.Equal(t, "no engine", a.Text)
					require.Empty(t, a.Engines)
					refused++
					continue
				}
				require.Zero(t, a.Status, "%s: %s: %s", c.Name, a.Function, a.Text)
				require.Equal(t, engineNames, a.Engines)
				// The gaps between elements are looked at too.
				require.NoError(t, c.Check(convcases.Result{Name: c.Name, Output: c.Y.Lengths, Y: a.Tensors[uidY]}))
				require.Equal(t, c.XData, a.Tensors[uidX])
				require.Equal(t, c.WData, a.Tensors[uidW])
				computed++
			}
			t.Logf("%d computed, %d refused", computed, refused)
			require.Greater(t, computed, 300)
			require.Greater(t, refused, 20)
			require.Empty(t, r.report.live())
			require.Empty(t, r.report.Misuse)
			require.Empty(t, r.report.ExecutionErrors)
			require.Equal(t, computed, r.report.Executions["REF_DIRECT"]+r.report.Executions["REF_DETERMINISTIC"])
		})
	}
}

// The control: what is right for a case is wrong for a case that differs in one thing.
func TestForwardMutationsAreSeen(t *testing.T) {
	cases := forwardCases(t)
	r := run(t, nil, forwardInput(cases, func(i int) string { return engineNames[i%2] }), "graphs")
	all := answers(t, r.out)
	for _, name := range []string{"stride and dilation swapped", "filter flipped", "groups interleaved", "one input changed"} {
		applied, refused := 0, 0
		for i := range cases {
			changed, ok := convcases.Mutations[name](cases[i])
			if !ok || changed.Y.Type == oracle.Int8 {
				continue
			}
			applied++
			if changed.Check(convcases.Result{Name: changed.Name, Output: changed.Y.Lengths, Y: all[changed.Name].Tensors[uidY]}) != nil {
				refused++
			}
		}
		t.Logf("%s: %d of %d refused", name, refused, applied)
		require.Greater(t, applied, 15)
		require.Greater(t, refused*10, applied*7)
	}
}

// small is a convolution with whole numbers so small that every type holds every sum exactly.
type small struct {
	conv      oracle.Convolution
	pre, post []int
	x, w, y   oracle.Tensor
	xs, ws    []float64 // in lexical order
	ys        []float64
}

func drawSmall(rng *rand.Rand, typ oracle.Type, spatial int) small {
	groups := 1 + rng.IntN(2)
	s := small{conv: oracle.Convolution{Groups: groups}}
	x := []int{1 + rng.IntN(2), groups * (1 + rng.IntN(2))}
	w := []int{groups * (1 + rng.IntN(2)), x[1] / groups}
	y := []int{x[0], w[0]}
	for range spatial {
		filter, dilation, stride := 1+rng.IntN(2), 1+rng.IntN(2), 1+rng.IntN(2)
		pre, post := rng.IntN(2), rng.IntN(3)
		reach := dilation*(filter-1) + 1
		in := max(1, reach-pre-post) + rng.IntN(3)
		s.pre, s.post = append(s.pre, pre), append(s.post, post)
		s.conv.Pads = append(s.conv.Pads, 0)
		s.conv.Strides = append(s.conv.Strides, stride)
		s.conv.Dilations = append(s.conv.Dilations, dilation)
		x, w = append(x, in), append(w, filter)
		y = append(y, (in+pre+post-reach)/stride+1)
	}
	tensor := func(lengths []int) oracle.Tensor {
		t := oracle.Packed(typ, lengths, rng.Perm(len(lengths)))
		return t
	}
	s.x, s.w, s.y = tensor(x), tensor(w), tensor(y)
	values := func(t oracle.Tensor) []float64 {
		out := make([]float64, t.Count())
		for i := range out {
			out[i] = float64(rng.IntN(5) - 2)
		}
		return out
	}
	s.xs, s.ws, s.ys = values(s.x), values(s.w), values(s.y)
	return s
}

func put(t oracle.Tensor, values []float64) []byte {
	data := make([]byte, t.Bytes())
	i := 0
	t.Each(func(_ []int, offset int) {
		t.Type.Put(data[offset:], values[i])
		i++
	})
	return data
}

func get(t oracle.Tensor, data []byte) []float64 {
	var out []float64
	t.Each(func(_ []int, offset int) { out = append(out, t.Type.Get(data[offset:])) })
	return out
}

// forward is what the oracle says, in lexical order. It has no unequal pads, so the input is put into
// one that has the zeros.
func (s small) forward(t *testing.T, xs, ws []float64) []float64 {
	t.Helper()
	wide := append([]int(nil), s.x.Lengths...)
	for i := range s.pre {
		wide[2+i] += s.pre[i] + s.post[i]
	}
	padded := oracle.Packed(oracle.Double, wide, nil)
	data := make([]byte, padded.Bytes())
	n := 0
	s.x.Each(func(index []int, _ int) {
		at := index[0]*padded.Strides[0] + index[1]*padded.Strides[1]
		for i := range s.pre {
			at += (index[2+i] + s.pre[i]) * padded.Strides[2+i]
		}
		oracle.Double.Put(data[at*8:], xs[n])
		n++
	})
	w := oracle.Packed(oracle.Double, s.w.Lengths, nil)
	y := oracle.Packed(oracle.Double, s.y.Lengths, nil)
	values, err := s.conv.Forward(oracle.Operands{
		X: padded, W: w, Y: y, XData: data, WData: put(w, ws), YData: make([]byte, y.Bytes()), Alpha: 1,
	})
	require.NoError(t, err)
	out := make([]float64, len(values))
	for i, v := range values {
		out[i] = v.Exact
	}
	return out
}

func dot(a, b []float64) float64 {
	sum := 0.0
	for i := range a {
		sum += a[i] * b[i]
	}
	return sum
}

// gradient is the gradient of <ys, forward> for an operand of n elements: one unit vector after the
// other goes through the oracle's forward convolution, which is linear in each operand.
func gradient(n int, ys []float64, forward func(unit []float64) []float64) []float64 {
	out := make([]float64, n)
	for i := range out {
		unit := make([]float64, n)
		unit[i] = 1
		out[i] = dot(ys, forward(unit))
	}
	return out
}

// All three directions, unequal pads, both modes, every type: bit for bit.
func TestDirectionsExactly(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 11))
	types := []oracle.Type{oracle.Float, oracle.Double, oracle.Half, oracle.BFloat16, oracle.Int8}
	var in strings.Builder
	type expected struct {
		uid    int
		tensor oracle.Tensor
		values []float64
	}
	want := map[string]expected{}
	flipped := func(s small) []float64 {
		out := make([]float64, len(s.ws))
		plane := 1
		for _, l := range s.w.Lengths[2:] {
			plane *= l
		}
		for i := range out { // the filter of a true convolution is read backwards
			out[i] = s.ws[i/plane*plane+plane-1-i%plane]
		}
		return out
	}
	for n := range 240 {
		typ := types[n%len(types)]
		s := drawSmall(rng, typ, 1+n/5%3)
		kind := []string{"forward", "data", "weights"}[n/15%3]
		mode := []int{crossCorrelation, convolutionMode}[n/45%2]
		name := fmt.Sprintf("%d/%v/%s/%d", n, typ, kind, mode)
		ws := s.ws
		if mode == convolutionMode {
			ws = flipped(s)
		}
		image, filter, output := s.x, s.w, s.y
		e := expected{}
		result := typ
		if typ == oracle.Int8 {
			result = oracle.Int32
		}
		switch kind {
		case "forward":
			output.Type = result
			e = expected{uidY, output, s.forward(t, s.xs, ws)}
		case "data":
			image.Type = result
			e = expected{uidX, image, gradient(len(s.xs), s.ys, func(unit []float64) []float64 { return s.forward(t, unit, ws) })}
		case "weights":
			filter.Type = result
			e = expected{uidW, filter, gradient(len(s.ws), s.ys, func(unit []float64) []float64 { return s.forward(t, s.xs, unit) })}
			if mode == convolutionMode {
				turned := s
				turned.ws = e.values
				e.values = flipped(turned)
			}
		}
		want[name] = e
		fmt.Fprintf(&in, "case %s\n%s%s%s", name, tensorLine(uidX, image, put(image, s.xs)), tensorLine(uidW, filter, put(filter, s.ws)), tensorLine(uidY, output, put(output, s.ys)))
		in.WriteString(convolutionLine(kind, s.conv, s.pre, s.post, mode, computeType(typ)))
		fmt.Fprintf(&in, "run %s\n", engineNames[n%2])
	}
	r := run(t, nil, in.String(), "graphs")
	require.Zero(t, r.exit, r.stderr)
	all := answers(t, r.out)
	require.Len(t, all, len(want))
	nonzero := 0
	for name, e := range want {
		a := all[name]
		require.Zero(t, a.Status, "%s: %s: %s", name, a.Function, a.Text)
		got := get(e.tensor, a.Tensors[e.uid])
		for i := range got {
			got[i] += 0 // no negative zero
			if got[i] != 0 {
				nonzero++
			}
		}
		require.Equal(t, e.values, got, name)
	}
	require.Greater(t, nonzero, 1000)
}

// conv -> add (bias) -> relu with virtual tensors between.
func TestFused(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 5))
	var in strings.Builder
	want := map[string]struct {
		y      oracle.Tensor
		values []float64
	}{}
	for n := range 60 {
		typ := []oracle.Type{oracle.Float, oracle.Half, oracle.BFloat16}[n%3]
		s := drawSmall(rng, typ, 1+n%3)
		name := fmt.Sprint(n)
		biasLengths := []int{1, s.y.Lengths[1]}
		for range s.y.Lengths[2:] {
			biasLengths = append(biasLengths, 1)
		}
		bias := oracle.Packed(typ, biasLengths, nil)
		bs := make([]float64, bias.Count())
		for i := range bs {
			bs[i] = float64(rng.IntN(7) - 3)
		}
		values := s.forward(t, s.xs, s.ws)
		channel := len(values) / s.y.Lengths[0] / s.y.Lengths[1]
		for i := range values {
			values[i] = min(max(values[i]+bs[i/channel%len(bs)], 0), 6)
		}
		want[name] = struct {
			y      oracle.Tensor
			values []float64
		}{s.y, values}
		virtual := func(uid int) string {
			return fmt.Sprintf("tensor %d 0 %s %s virtual -\n", uid, graphtext.List(s.y.Lengths), graphtext.List(oracle.Packed(oracle.Float, s.y.Lengths, nil).Strides))
		}
		fmt.Fprintf(&in, "case %s\n%s%s%s%s", name, tensorLine(uidX, s.x, put(s.x, s.xs)), tensorLine(uidW, s.w, put(s.w, s.ws)), virtual(uidY), virtual(14))
		in.WriteString(tensorLine(15, bias, put(bias, bs)) + tensorLine(16, s.y, put(s.y, s.ys)))
		in.WriteString(convolutionLine("forward", s.conv, s.pre, s.post, crossCorrelation, 0))
		fmt.Fprintf(&in, "pointwise 2 %d 15 14 0\npointwise 34 14 - 16 0 0 6\nrun %s\n", uidY, engineNames[n%2])
	}
	r := run(t, nil, in.String(), "graphs")
	require.Zero(t, r.exit, r.stderr)
	all := answers(t, r.out)
	clipped := 0
	for name, w := range want {
		a := all[name]
		require.Zero(t, a.Status, "%s: %s: %s", name, a.Function, a.Text)
		got := get(w.y, a.Tensors[16])
		for i := range got {
			got[i] += 0
			if got[i] == 0 || got[i] == 6 {
				clipped++
			}
		}
		require.Equal(t, w.values, got, name)
		require.NotContains(t, a.Tensors, uidY)
	}
	require.Greater(t, clipped, 50)
}

// narrow is a format of 8 bits: its C number and how an encoding is read, by the definition.
var narrowFormats = map[string]struct {
	number int
	value  func(code int) float64
}{
	"e4m3":      {7, func(c int) float64 { return minifloat(c, 3, 7, c&0x7f == 0x7f, false) }},
	"e5m2":      {8, func(c int) float64 { return minifloat(c, 2, 15, c&0x7f > 0x7c, c&0x7f == 0x7c) }},
	"e4m3-fnuz": {16, func(c int) float64 { return minifloat(c, 3, 8, c == 0x80, false) }},
	"e5m2-fnuz": {17, func(c int) float64 { return minifloat(c, 2, 16, c == 0x80, false) }},
}

func minifloat(code, mantissa, bias int, nan, infinite bool) float64 {
	sign := 1.0
	if code&0x80 != 0 {
		sign = -1
	}
	exponent, fraction := code&0x7f>>mantissa, float64(code&(1<<mantissa-1))
	switch {
	case nan:
		return math.NaN()
	case infinite:
		return math.Inf(int(sign))
	case exponent == 0:
		return sign * math.Ldexp(fraction, 1-bias-mantissa)
	}
	return sign * math.Ldexp(fraction+math.Ldexp(1, mantissa), exponent-bias-mantissa)
}

// Every 8-bit encoding to float, and floats of all sizes to 8 bits, through a pointwise identity.
func TestNarrowNumbers(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for name, f := range narrowFormats {
		t.Run(name, func(t *testing.T) {
			codes := make([]byte, 256)
			for i := range codes {
				codes[i] = byte(i)
			}
			// Floats: every value, every middle of two neighbours, and what is near them.
			var finite []float64
			for c := range 256 {
				if v := f.value(c); !math.IsNaN(v) && !math.IsInf(v, 0) {
					finite = append(finite, v)
				}
			}
			var floats []float32
			for i, v := range finite {
				floats = append(floats, float32(v))
				if i > 0 {
					middle := float32((v + finite[i-1]) / 2)
					floats = append(floats, middle, math.Nextafter32(middle, 1e30), math.Nextafter32(middle, -1e30))
				}
			}
			for range 500 {
				floats = append(floats, float32(math.Ldexp(rng.Float64()*2-1, rng.IntN(40)-22)))
			}
			floats = append(floats, float32(math.Inf(1)), float32(math.NaN()), 1e30, -1e30)
			data := make([]byte, 4*len(floats))
			for i, v := range floats {
				oracle.Float.Put(data[4*i:], float64(v))
				if v != v {
					copy(data[4*i:], []byte{0, 0, 0xc0, 0x7f})
				}
			}
			n := len(floats)
			in := fmt.Sprintf("case decode\ntensor 1 %d 256 1 real %x\ntensor 2 0 256 1 real %s\npointwise 23 1 - 2 0\nrun -\n", f.number, codes, strings.Repeat("00", 1024)) +
				fmt.Sprintf("case encode\ntensor 1 0 %d 1 real %x\ntensor 2 %d %d 1 real %s\npointwise 23 1 - 2 0\nrun -\n", n, data, f.number, n, strings.Repeat("00", n))
			all := answers(t, run(t, nil, in, "graphs").out)
			require.Zero(t, all["decode"].Status, all["decode"].Text)
			require.Zero(t, all["encode"].Status, all["encode"].Text)
			for c := range 256 {
				want, got := f.value(c), oracle.Float.Get(all["decode"].Tensors[2][4*c:])
				require.True(t, got == want || math.IsNaN(got) && math.IsNaN(want), "code %#x is %v, got %v", c, want, got)
			}
			ties := 0
			for i, v := range floats {
				got := f.value(int(all["encode"].Tensors[2][i]))
				want, tie := nearest(f.value, float64(v))
				if tie {
					ties++
				}
				require.True(t, got == want || math.IsNaN(got) && math.IsNaN(want), "%v becomes %v, should be %v", v, got, want)
			}
			require.Greater(t, ties, 100)
		})
	}
}

// nearest looks through all encodings. Ties go to the even one; beyond the largest value formats
// without infinity saturate.
func nearest(value func(int) float64, v float64) (want float64, tie bool) {
	if math.IsNaN(v) {
		return v, false
	}
	best, largest, infinity := math.Inf(1), 0.0, false
	for c := range 256 {
		if u := value(c); !math.IsNaN(u) && !math.IsInf(u, 0) {
			largest = max(largest, u)
		} else if math.IsInf(u, 0) {
			infinity = true
		}
	}
	if infinity {
		// Rounds to infinity from half a step above the largest on.
		step := largest - previous(value, largest)
		if math.Abs(v) >= largest+step/2 {
			return math.Inf(int(math.Copysign(1, v))), false
		}
	}
	v = max(min(v, largest), -largest)
	bestCode := 0
	for c := range 256 {
		u := value(c)
		if math.IsNaN(u) || math.IsInf(u, 0) {
			continue
		}
		d := math.Abs(u - v)
		if d < best {
			best, want, tie, bestCode = d, u, false, c
		} else if d == best && u != want {
			tie = true
			if c%2 == 0 && bestCode%2 == 1 {
				want, bestCode = u, c
			}
		}
	}
	return want, tie
}

func previous(value func(int) float64, largest float64) float64 {
	out := 0.0
	for c := range 128 {
		if u := value(c); u < largest && u > out {
			out = u
		}
	}
	return out
}

// 16-bit rounding: against the oracle's, on ties, subnormals and everything between.
func TestSixteenBitNumbers(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 9))
	for _, typ := range []oracle.Type{oracle.Half, oracle.BFloat16} {
		var values []float64
		for range 3000 {
			v := float64(float32(math.Ldexp(rng.Float64()*2-1, rng.IntN(45)-28)))
			exact := typ.Round(v)
			next := float64(float32(exact + math.Ldexp(math.Abs(exact), -8)))
			values = append(values, v, exact, float64(float32((exact+typ.Round(next))/2)))
		}
		n := len(values)
		data := make([]byte, 4*n)
		for i, v := range values {
			oracle.Float.Put(data[4*i:], v)
		}
		in := fmt.Sprintf("case one\ntensor 1 0 %d 1 real %x\ntensor 2 %d %d 1 real %s\npointwise 23 1 - 2 0\nrun -\n", n, data, typeNumbers[typ], n, strings.Repeat("0000", n))
		a := answers(t, run(t, nil, in, "graphs").out)["one"]
		require.Zero(t, a.Status, a.Text)
		for i, v := range values {
			require.Equal(t, typ.Round(v), typ.Get(a.Tensors[2][2*i:]), "%v in %v", v, typ)
		}
	}
}
