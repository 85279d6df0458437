package kernelstest

import (
	"bytes"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/tests/oracle"
)

// finish sets up the tensors of a problem whose lengths are known: strides with gaps, and in any order, where the
// kernel looks at them; random contents.
func (p *problem) finish(rng *rand.Rand) {
	p.input = tensor{typ: p.source, groups: p.groups, outer: p.images, channels: p.c, positions: p.in}
	p.weights = tensor{typ: p.source, groups: p.groups, outer: p.k, channels: p.c, positions: p.filter}
	p.output = tensor{typ: p.source, groups: p.groups, outer: p.images, channels: p.k, positions: p.out}
	p.tensors()[p.destination()].typ = p.types.destination
	for i, t := range p.tensors() {
		lengths, strides := t.dimensions(p.variant, i == 1)
		order := make([]int, len(lengths))
		for j := range order {
			order[j] = j
		}
		if !p.packed && rng.IntN(2) == 0 {
			rng.Shuffle(len(order), func(a, b int) { order[a], order[b] = order[b], order[a] })
		}
		next := 1
		t.elements = 1
		for _, j := range order {
			if !p.packed && rng.IntN(4) == 0 {
				next += rng.IntN(4)
			}
			*strides[j] = next
			t.elements += (lengths[j] - 1) * next
			next *= lengths[j]
		}
		content := make([]byte, t.elements*t.typ.Size())
		for at := 0; at < len(content); at += t.typ.Size() {
			v := 2*rng.Float64() - 1
			if t.typ.IsInteger() || p.source == oracle.Int8 {
				v *= 127
			} else if p.mixed {
				v = mixture(rng, t.typ, v)
			}
			t.typ.Put(content[at:], v)
		}
		*p.contents()[i] = content
	}
}

// mixture makes sums whose last digits tell the order of addition: large numbers cancel, and what remains depends on
// when they met the small ones.
func mixture(rng *rand.Rand, typ oracle.Type, v float64) float64 {
	large := 40
	if typ == oracle.Half {
		large = 14
	}
	switch rng.IntN(4) {
	case 0:
		return math.Ldexp(1, large)
	case 1:
		return -math.Ldexp(1, large)
	case 2:
		return math.Ldexp(v, -rng.IntN(large))
	}
	return v
}

// draw makes a random problem for a kernel. Lanes are the channels that the executor works on at once: some shapes have
// more of them than fit in its largest block.
func draw(rng *rand.Rand, v variant) *problem {
	p := &problem{variant: v, alpha: 1, threads: 1 + rng.IntN(3), blockX: 64 << rng.IntN(3), mixed: rng.IntN(3) == 0}
	one := [3]int{1, 1, 1}
	p.in, p.out, p.filter, p.stride, p.dilation = one, one, one, one, one
	p.groups = []int{1, 1, 1, 2, 3}[rng.IntN(5)]
	p.images = 1 + rng.IntN(3)
	p.c, p.k = 1+rng.IntN(5), 1+rng.IntN(5)
	longest := 9
	switch rng.IntN(6) {
	case 0: // depthwise
		p.groups, p.c, p.k = 1+rng.IntN(6), 1, 1+rng.IntN(2)
	case 1:
		p.k, longest = 15+rng.IntN(60), 4
	case 2:
		p.c, longest = 15+rng.IntN(60), 4
	}
	if v.spatial == 3 {
		longest = (longest + 2) / 2
	}
	for d := 3 - v.spatial; d < 3; d++ {
		for p.out[d] = 0; p.out[d] < 1; {
			p.in[d] = 1 + rng.IntN(longest)
			p.filter[d] = 1 + rng.IntN(4)
			p.stride[d] = 1 + rng.IntN(3)
			p.dilation[d] = 1 + rng.IntN(3)
			p.pad[d] = rng.IntN(4)
			room := p.in[d] + 2*p.pad[d] - p.dilation[d]*(p.filter[d]-1) - 1
			if room >= 0 {
				p.out[d] = room/p.stride[d] + 1
			}
		}
	}
	if rng.IntN(3) == 0 {
		p.alpha = []float64{1, 2, -0.5, 2.75, 0}[rng.IntN(5)]
		p.beta = []float64{0, 1, -1, 0.3, 3.5}[rng.IntN(5)]
	}
	p.finish(rng)
	return p
}

// differences are the places where the buffers are not what they have to be after the launch.
func differences(p *problem, r result) int {
	count := 0
	for i, t := range p.tensors() {
		want := *p.contents()[i]
		if i == p.destination() {
			want = p.expected()
		}
		for at := 0; at < len(want); at += t.typ.Size() {
			if !bytes.Equal(want[at:at+t.typ.Size()], r.buffers[i][at:at+t.typ.Size()]) {
				count++
			}
		}
	}
	return count
}

// The accesses of an execution are the tensors, each to its last element and no further; the destination is also read
// when alpha and beta say so.
func (p *problem) accesses() []access {
	var out []access
	for i, t := range p.tensors() {
		a := access{buffer: i, bytes: t.elements * t.typ.Size(), argument: []string{"p_in", "p_wei", "p_out"}[i]}
		if i != p.destination() || p.alpha != 1 || p.beta != 0 {
			out = append(out, a)
		}
		if i == p.destination() {
			a.writes = true
			out = append(out, a)
		}
	}
	return out
}

func TestKernelNames(t *testing.T) {
	names := map[string]bool{}
	for _, v := range variants() {
		names[v.name()] = true
	}
	require.Len(t, names, 92)
	for _, name := range []string{"naive_conv_ab_packed_fwd_nchw_float_double_float", "naive_conv_ab_nonpacked_wrw_ndhwc_ushort_double_ushort",
		"naive_conv_ab_nonpacked_fwd_nhwc_int8_t_int32_t_int8_t", "naive_conv_ab_packed_fwd_ncdhw_int8_t_int32_t_float"} {
		require.Contains(t, names, name)
	}
}

// Every kernel, on random shapes, gives each bit of what the reference says, and touches nothing else.
func TestKernels(t *testing.T) {
	const rounds = 6
	rng := rand.New(rand.NewPCG(3, 4))
	l := start(t)
	elements := 0
	for round := range rounds {
		for _, v := range variants() {
			p := draw(rng, v)
			r := l.launch(p.launch())
			require.Equal(t, ran, r.outcome, "%v: %s", p, r.failure)
			require.ElementsMatch(t, p.accesses(), r.accesses, p)
			require.Zero(t, differences(p, r), "elements differ in round %d: %v", round, p)
			elements += p.tensors()[p.destination()].elements
		}
	}
	require.Greater(t, elements, rounds*92*50)
}

// dense copies a tensor's elements to one that the oracle understands: N (or K), all channels, positions.
func (p *problem) dense(i int, content []byte) (oracle.Tensor, []byte) {
	t := p.tensors()[i]
	lengths := []int{t.outer, t.groups * t.channels}
	if i == 1 {
		lengths = []int{t.groups * t.outer, t.channels}
	}
	packed := oracle.Packed(t.typ, append(lengths, t.positions[3-p.spatial:]...), nil)
	b := make([]byte, packed.Bytes())
	size := t.typ.Size()
	positions := t.positions[0] * t.positions[1] * t.positions[2]
	eachElement(t, func(g, o, c int, at [3]int) {
		row := o*t.groups*t.channels + g*t.channels + c
		if i == 1 {
			row = (g*t.outer+o)*t.channels + c
		}
		to := row*positions + (at[0]*t.positions[1]+at[1])*t.positions[2] + at[2]
		copy(b[to*size:][:size], content[t.at(g, o, c, at)*size:])
	})
	return packed, b
}

func (p *problem) geometry() oracle.Convolution {
	from := 3 - p.spatial
	return oracle.Convolution{Pads: p.pad[from:], Strides: p.stride[from:], Dilations: p.dilation[from:], Groups: p.groups}
}

// forwardValues is what the oracle says of a forward convolution with the problem's input and weights.
func (p *problem) forwardValues(alpha, beta float64) ([]oracle.Value, error) {
	x, xData := p.dense(0, p.inputB)
	w, wData := p.dense(1, p.weightsB)
	y, yData := p.dense(2, p.outputB)
	return p.geometry().Forward(oracle.Operands{X: x, XData: xData, W: w, WData: wData, Y: y, YData: yData, Alpha: alpha, Beta: beta})
}

// The oracle shares nothing with the reference: not the order, not the precision.
func TestForwardAgainstOracle(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	l := start(t)
	for range 3 {
		for _, v := range variants() {
			if v.direction != forward {
				continue
			}
			p := draw(rng, v)
			if p.source == oracle.Int8 {
				p.alpha, p.beta = 1, 0 // they lose their fractions, which the oracle knows nothing of
			}
			want, err := p.forwardValues(p.alpha, p.beta)
			require.NoError(t, err, p)
			r := l.launch(p.launch())
			require.Equal(t, ran, r.outcome, r.failure)
			y, got := p.dense(2, r.buffers[2])
			mismatches, err := oracle.Compare(p.source, y, got, want)
			require.NoError(t, err)
			require.Empty(t, mismatches, p)
		}
	}
}

// The gradients are adjoint to the forward convolution: <dy, conv(x, w)> = <bwd(dy, w), x> = <wrw(x, dy), w>, where
// the oracle computes the first. With random x, w and dy that holds for nothing but the gradients.
func TestGradientsAgainstOracle(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	l := start(t)
	compared := 0
	for range 2 {
		for _, v := range variants() {
			if v.direction == forward || v.source != oracle.Float {
				continue
			}
			p := draw(rng, v)
			p.alpha, p.beta = 1, 0
			r := l.launch(p.launch())
			require.Equal(t, ran, r.outcome, r.failure)
			values, err := p.forwardValues(1, 0)
			require.NoError(t, err)
			_, dy := p.dense(2, p.outputB)
			var want, magnitude float64
			for i, value := range values {
				gradient := oracle.Float.Get(dy[4*i:])
				want += gradient * value.Exact
				magnitude += math.Abs(gradient) * value.Magnitude
			}
			d := p.tensors()[p.destination()]
			var got float64
			eachElement(d, func(g, o, c int, at [3]int) {
				i := 4 * d.at(g, o, c, at)
				got += oracle.Float.Get(r.buffers[p.destination()][i:]) * oracle.Float.Get((*p.contents()[p.destination()])[i:])
			})
			require.InDelta(t, want, got, magnitude*0x1p-22, p)
			if magnitude > 0 { // else the filter only ever lies on the padding
				compared++
			}
		}
	}
	require.Greater(t, compared, 20)
}

// Values at the types' edges: what is not finite, subnormal, and halves whose double is just beside a tie.
func TestSpecialValues(t *testing.T) {
	l := start(t)
	for _, c := range []struct {
		typ               types
		x, w, alpha, beta float64
		old, want         float64
	}{
		{floating[0], math.Inf(1), -2, 1, 0, 0, math.Inf(-1)},
		{floating[0], math.Inf(1), 0, 1, 0, 0, math.NaN()},
		{floating[0], 0x1p-100, 0x1p-49, 1, 0, 7, 0x1p-149},
		{floating[0], 2, 3, 1, 0, math.NaN(), 6},          // does not look at what was there
		{floating[0], 2, 3, 2, 0, math.NaN(), math.NaN()}, // but here
		{floating[0], 2, 3, 2, 0, 5, 12},
		// The product with alpha is not rounded before the addition.
		{floating[0], 1 + 0x1p-23, 1, 1 + 0x1p-52, -1, 1 + 0x1p-23, 0x1p-52 + 0x1p-75},
		{floating[1], 300, 300, 1, 0, 0, math.Inf(1)},
		{floating[1], -65504, 1, 1, 0, 0, -65504},
		{floating[1], 0x1p-14, 0x1p-10, 1, 0, 0, 0x1p-24},
		{floating[1], 0x1p-14, 0x1p-11, 1, 0, 0, 0}, // a tie with nothing
		{floating[1], math.NaN(), 1, 1, 0, 0, math.NaN()},
		// One and a half units and a bit that a float would lose: rounding twice would end at 1.
		{floating[1], 1, 1, 1 + 0x1p-11 + 0x1p-40, 0, 0, 1 + 0x1p-10},
		// A bfloat16 is rounded by way of a float, which does end there.
		{floating[2], 1, 1, 1 + 0x1p-8 + 0x1p-40, 0, 0, 1},
		{floating[2], 1, 1, 1 + 0x3p-8, 0, 0, 1 + 0x1p-6},
		{floating[2], 0x1p127, 4, 1, 0, 0, math.Inf(1)},
		{floating[2], math.NaN(), 1, 1, 0, 0, math.NaN()},
		{toInt8, 100, 3, 1, 0, 0, 44},
		{toInt8, 100, 3, -1.9, 2.9, 5, -34}, // -300 + 10, modulo 256
		{integer[0], -128, -128, 1, 0, 0, 16384},
		{integer[1], -128, 127, 1, 0, math.NaN(), -16256},
		{integer[1], -128, 127, 2, 1, math.NaN(), -32512}, // converted to an integer it is 0
		{integer[1], 1, 1, 1, 1, 1e30, math.MinInt32},     // and this the largest; the sum wraps around
	} {
		one := [3]int{1, 1, 1}
		p := &problem{variant: variant{false, forward, 2, false, c.typ}, images: 1, k: 1, c: 1, groups: 1, in: one, out: one, filter: one,
			stride: one, dilation: one, alpha: c.alpha, beta: c.beta, threads: 1, blockX: 256}
		p.finish(rand.New(rand.NewPCG(1, 1)))
		p.source.Put(p.inputB, c.x)
		p.source.Put(p.weightsB, c.w)
		p.output.typ.Put(p.outputB, c.old)
		r := l.launch(p.launch())
		require.Equal(t, ran, r.outcome, r.failure)
		got := p.output.typ.Get(r.buffers[2])
		if math.IsNaN(c.want) {
			require.True(t, math.IsNaN(got), "%v gives %v", p, got)
		} else {
			require.Equal(t, c.want, got, p)
		}
	}
}

// Padding is left out of the sums: zeros in its place would turn infinite weights into not-a-number.
func TestPaddingIsNotMultiplied(t *testing.T) {
	l := start(t)
	for _, v := range variants() {
		if v.direction == backwardWeights || v.source == oracle.Int8 {
			continue
		}
		p := plain(v)
		for at := 0; at < len(p.weightsB); at += v.source.Size() {
			v.source.Put(p.weightsB[at:], math.Inf(1))
		}
		for _, content := range [][]byte{p.inputB, p.outputB} {
			for at := 0; at < len(content); at += v.source.Size() {
				v.source.Put(content[at:], 1)
			}
		}
		r := l.launch(p.launch())
		require.Equal(t, ran, r.outcome, r.failure)
		require.Zero(t, differences(p, r), p)
		require.Equal(t, math.Inf(1), v.source.Get(r.buffers[p.destination()]), p)
	}
}

// plain is a problem for which every part of the arithmetic matters.
func plain(v variant) *problem {
	p := &problem{variant: v, images: 2, k: 3, c: 2, groups: 2, alpha: 1, threads: 2, blockX: 256,
		in: [3]int{1, 1, 1}, out: [3]int{1, 1, 1}, filter: [3]int{1, 1, 1}, stride: [3]int{1, 1, 1}, dilation: [3]int{1, 1, 1}}
	for d := 3 - v.spatial; d < 3; d++ {
		p.in[d], p.filter[d], p.stride[d], p.dilation[d], p.pad[d] = 8+d, 3, 2, 2, 2
		p.out[d] = (p.in[d]+4-5)/2 + 1
	}
	p.finish(rand.New(rand.NewPCG(9, 10)))
	return p
}

// Sums are added up in the kernel's order, with contents for which the other one gives another result.
func TestOrderOfAddition(t *testing.T) {
	l := start(t)
	for _, v := range variants() {
		if v.source == oracle.Int8 || v.source == oracle.Half {
			continue // the sums are exact, or so nearly that a half does not show it
		}
		rng := rand.New(rand.NewPCG(13, 14))
		p, q := plain(v), problem{}
		for tries := 0; tries == 0 || bytes.Equal(p.expected(), q.expected()); tries++ {
			require.Less(t, tries, 200, "%v does not depend on the order", p)
			p.mixed = true
			p.finish(rng)
			q = *p
			q.swapped = true
		}
		require.Zero(t, differences(p, l.launch(p.launch())), p)
	}
}

// Kernels that do something else are caught, each by each kernel's comparison.
func TestControls(t *testing.T) {
	l := start(t)
	mutants := map[string]func(p *problem, n *launch){
		"does nothing":       func(_ *problem, n *launch) { n.unrun = true },
		"skips a tap":        func(p *problem, n *launch) { q := *p; q.filter[2]--; n.arguments = q.arguments() },
		"skips a channel":    func(p *problem, n *launch) { q := *p; q.c--; q.relaunch(n) },
		"skips images":       func(p *problem, n *launch) { q := *p; q.images--; q.relaunch(n) },
		"other padding":      func(p *problem, n *launch) { q := *p; q.pad[1]--; n.arguments = q.arguments() },
		"other stride":       func(p *problem, n *launch) { q := *p; q.stride[2]--; n.arguments = q.arguments() },
		"other dilation":     func(p *problem, n *launch) { q := *p; q.dilation[1]--; n.arguments = q.arguments() },
		"scales":             func(p *problem, n *launch) { q := *p; q.alpha = 1.5; n.arguments = q.arguments() },
		"adds to what was":   func(p *problem, n *launch) { q := *p; q.beta = 1; n.arguments = q.arguments() },
		"stores other types": func(p *problem, n *launch) { n.retype(p) },
	}
	for name, mutate := range mutants {
		t.Run(name, func(t *testing.T) {
			for _, v := range variants() {
				p := plain(v)
				n := p.launch()
				mutate(p, &n)
				if n.kernel == "" {
					continue
				}
				if p.source == oracle.Int8 && name == "scales" {
					continue // by 1.5, which is 1
				}
				r := l.launch(n)
				require.NotEqual(t, unknown, r.outcome)
				require.NotZero(t, differences(p, r), "%v passes although it %s", p, name)
			}
		})
	}
	// And without a change all of them pass.
	for _, v := range variants() {
		p := plain(v)
		require.Zero(t, differences(p, l.launch(p.launch())))
	}
}

// relaunch puts a changed problem's arguments and grid into a launch of the other's buffers.
func (p *problem) relaunch(n *launch) {
	n.arguments = p.arguments()
	n.grid[0] = uint32(p.grid())
}

// retype makes it a launch of the kernel for another type of the same size, where there is one.
func (n *launch) retype(p *problem) {
	q := *p
	switch p.types.name {
	case floating[1].name:
		q.types = floating[2]
	case floating[2].name:
		q.types = floating[1]
	case integer[0].name:
		q.types = integer[1]
	case integer[1].name:
		q.types = integer[0]
	default:
		*n = launch{}
		return
	}
	*n = q.launch()
}

// Kernels of other names, or with other parameters than those of the name, are nobody's.
func TestUnknownKernels(t *testing.T) {
	l := start(t)
	p := plain(variant{false, forward, 2, false, floating[0]})
	for _, name := range []string{
		"naive_conv_ab_nonpacked_fwd_nchw_float_float_float", "naive_conv_ab_nonpacked_fwd_nchw_double_double_double",
		"naive_conv_ab_nonpacked_fwd_nchw_float_double_float_tf32", "naive_conv_ab_nonpacked_bwd_nchw_int8_t_int32_t_float",
		"naive_conv_ab_nonpacked_fwd_ncdhw_int8_t_int32_t_int8_t", "naive_conv_nonpacked_fwd_nchw_half_half_half",
		"naive_conv_nonpacked_fwd_nchw_float_double_float", "naive_conv_ab_fwd_nchw_float_double_float", "naive_conv_ab_packed_fwd_nchw_",
		"naive_conv_ab_packed_fwd_", "naive_conv_", "n", "Op1dTensorGeneric",
	} {
		n := p.launch()
		k := p.describe()
		k.name = name
		n.image, n.kernel = elf(metadata{"", []kernel{k}}.note(), usual), name
		r := l.launch(n)
		require.Equal(t, unknown, r.outcome, name)
		require.Equal(t, [][]byte{p.inputB, p.weightsB, p.outputB}, r.buffers)
	}
	for what, change := range map[string]func(k *kernel){
		"one less":       func(k *kernel) { k.arguments = k.arguments[1:] },
		"one more":       func(k *kernel) { k.arguments = append(k.arguments, argument{kind: "by_value", offset: 300, size: 4}) },
		"another size":   func(k *kernel) { k.arguments[10].size = 8 },
		"another kind":   func(k *kernel) { k.arguments[0].kind = "by_value" },
		"another name":   func(k *kernel) { k.arguments[2].name = "beta" },
		"3-D parameters": func(k *kernel) { k.arguments = variant{spatial: 3}.describe().arguments; k.argumentBytes = 480 },
	} {
		n := p.launch()
		k := p.describe()
		change(&k)
		n.image = elf(metadata{"", []kernel{k}}.note(), usual)
		require.Equal(t, unknown, l.launch(n).outcome, what)
	}
}

// The metadata decides where an argument is.
func TestArgumentsElsewhere(t *testing.T) {
	l := start(t)
	for _, named := range []bool{false, true} {
		p := plain(variant{false, backwardWeights, 3, true, floating[2]})
		k := p.describe()
		n := p.launch()
		moved := make([]byte, 0, 1000)
		for i, parameter := range p.parameters() {
			a := &k.arguments[i]
			moved = append(moved, make([]byte, 8*(i%3)+8-len(moved)%8)...)
			old := a.offset
			a.offset = len(moved)
			moved = append(moved, n.arguments[old:old+a.size]...)
			if named {
				a.name = parameter.name
			}
			for j := range n.buffers {
				if parameter.pointer && p.launch().buffers[j].pointer == old {
					n.buffers[j].pointer = a.offset
				}
			}
		}
		k.arguments = k.arguments[:len(p.parameters())]
		k.argumentBytes = len(moved)
		n.arguments = moved
		n.image = elf(metadata{"", []kernel{k}}.note(), usual)
		r := l.launch(n)
		require.Equal(t, ran, r.outcome, r.failure)
		require.Zero(t, differences(p, r))
	}
}

// A launch that makes no sense fails, and says why, before it touches anything.
func TestRefusedLaunches(t *testing.T) {
	l := start(t)
	for _, v := range []variant{{false, forward, 2, false, floating[0]}, {true, backwardData, 3, true, floating[1]}, {false, backwardWeights, 3, false, floating[2]}} {
		for reason, change := range map[string]func(p *problem, n *launch){
			"n is 0":                                 func(p *problem, n *launch) { q := *p; q.images = 0; n.arguments = q.arguments() },
			"k_per_group is -1":                      func(p *problem, n *launch) { q := *p; q.k = -1; n.arguments = q.arguments() },
			"c_per_group is 0":                       func(p *problem, n *launch) { q := *p; q.c = 0; n.arguments = q.arguments() },
			"group is 0":                             func(p *problem, n *launch) { q := *p; q.groups = 0; n.arguments = q.arguments() },
			"the stride in dimension y is 0":         func(p *problem, n *launch) { q := *p; q.stride[1] = 0; n.arguments = q.arguments() },
			"the dilation in dimension x is 0":       func(p *problem, n *launch) { q := *p; q.dilation[2] = 0; n.arguments = q.arguments() },
			"the padding in dimension x is -2":       func(p *problem, n *launch) { q := *p; q.pad[2] = -2; n.arguments = q.arguments() },
			"the filter length in dimension y is -3": func(p *problem, n *launch) { q := *p; q.filter[1] = -3; n.arguments = q.arguments() },
			"the input length in dimension x is 0":   func(p *problem, n *launch) { q := *p; q.in[2] = 0; n.arguments = q.arguments() },
			"the output length in dimension x is 0":  func(p *problem, n *launch) { q := *p; q.out[2] = 0; n.arguments = q.arguments() },
			"p_wei is a null pointer":                func(_ *problem, n *launch) { n.buffers[1].pointer = 0; n.buffers[0].pointer = 0 },
			"bytes of arguments":                     func(_ *problem, n *launch) { n.arguments = n.arguments[:200] },
			"work-groups, the convolution needs":     func(_ *problem, n *launch) { n.grid[0]++ },
			"more than one dimension":                func(_ *problem, n *launch) { n.block[1] = 2 },
			"the tensor p_in of":                     func(p *problem, n *launch) { n.buffers[0].content = p.inputB[p.input.typ.Size():] },
			"the tensor p_wei of":                    func(p *problem, n *launch) { n.buffers[1].content = p.weightsB[p.weights.typ.Size():] },
			"the tensor p_out of":                    func(p *problem, n *launch) { n.buffers[2].content = p.outputB[p.output.typ.Size():] },
			"larger than all of memory": func(p *problem, n *launch) {
				q := *p
				q.output.group = math.MaxInt64
				n.arguments = q.arguments()
			},
		} {
			if v.packed && reason == "larger than all of memory" {
				continue // by its strides
			}
			p := plain(v)
			n := p.launch()
			change(p, &n)
			r := l.launch(n)
			require.Equal(t, failed, r.outcome, "%s: %v", reason, p)
			require.Contains(t, r.failure, reason)
			require.Contains(t, r.failure, p.name())
			for i, b := range n.buffers {
				require.Equal(t, b.content, r.buffers[i])
			}
		}
	}
}

// A layer of a real network takes a fraction of a second on two cores: tests of the whole library run many such.
func TestLargeLayer(t *testing.T) {
	l := start(t)
	rng := rand.New(rand.NewPCG(11, 12))
	for _, v := range variants() {
		if v.packed || v.spatial == 3 || v.types.name != floating[0].name {
			continue
		}
		p := &problem{variant: v, images: 16, k: 64, c: 64, groups: 1, in: [3]int{1, 28, 28}, out: [3]int{1, 28, 28}, filter: [3]int{1, 3, 3},
			stride: [3]int{1, 1, 1}, dilation: [3]int{1, 1, 1}, pad: [3]int{0, 1, 1}, alpha: 1, threads: 2, blockX: 256}
		p.finish(rng)
		r := l.launch(p.launch())
		require.Equal(t, ran, r.outcome, r.failure)
		require.Less(t, r.time, 5*time.Second, p.name())
		t.Logf("%s: %v", p.name(), r.time)

		// The reference would take minutes for all of it.
		reference, d := p.reference(), p.tensors()[p.destination()]
		for range 50 {
			o, c, at := rng.IntN(d.outer), rng.IntN(d.channels), [3]int{0, rng.IntN(d.positions[1]), rng.IntN(d.positions[2])}
			var want [4]byte
			p.store(want[:], reference.sum(0, o, c, at))
			require.Equal(t, want[:], r.buffers[p.destination()][4*d.at(0, o, c, at):][:4], p.name())
		}
	}
}
