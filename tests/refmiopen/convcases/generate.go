package convcases

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"example.com/miopen_hipdnn_shim/tests/oracle"
)

// typePair is a combination of input and output type. scaled says whether alpha and beta may be
// anything else than 1 and 0, and maxSpatial how many spatial dimensions MIOpen has kernels for.
type typePair struct {
	x, y       oracle.Type
	scaled     bool
	maxSpatial int
}

var typePairs = []typePair{
	{oracle.Float, oracle.Float, true, 3},
	{oracle.Half, oracle.Half, true, 3},
	{oracle.BFloat16, oracle.BFloat16, true, 3},
	{oracle.Double, oracle.Double, true, 3},
	{oracle.Int8, oracle.Int32, true, 3},
	{oracle.Int8, oracle.Float, true, 3},
	// Sums that do not fit lose their upper bits, which leaves nothing to scale.
	{oracle.Int8, oracle.Int8, false, 2},
}

// layout places a tensor's dimensions in memory.
type layout struct {
	name  string
	apply func(rng *rand.Rand, t oracle.Type, lengths []int) oracle.Tensor
}

var layouts = []layout{
	{"packed", func(_ *rand.Rand, t oracle.Type, lengths []int) oracle.Tensor {
		return oracle.Packed(t, lengths, nil)
	}},
	{"channelslast", func(_ *rand.Rand, t oracle.Type, lengths []int) oracle.Tensor {
		order := []int{0}
		for i := 2; i < len(lengths); i++ {
			order = append(order, i)
		}
		return oracle.Packed(t, lengths, append(order, 1))
	}},
	{"permuted", func(rng *rand.Rand, t oracle.Type, lengths []int) oracle.Tensor {
		return oracle.Packed(t, lengths, rng.Perm(len(lengths)))
	}},
	{"gaps", func(rng *rand.Rand, t oracle.Type, lengths []int) oracle.Tensor {
		wider := make([]int, len(lengths))
		for i, l := range lengths {
			wider[i] = l + rng.IntN(3)
		}
		padded := oracle.Packed(t, wider, nil)
		inner := 1 + rng.IntN(2)
		for i := range padded.Strides {
			padded.Strides[i] *= inner
		}
		return oracle.Tensor{Type: t, Lengths: lengths, Strides: padded.Strides}
	}},
}

// grouping divides the channels.
type grouping struct {
	name string
	pick func(rng *rand.Rand) (groups, cPerGroup, kPerGroup int)
}

var groupings = []grouping{
	{"one", func(rng *rand.Rand) (int, int, int) { return 1, 1 + rng.IntN(5), 1 + rng.IntN(5) }},
	{"several", func(rng *rand.Rand) (int, int, int) { return 2 + rng.IntN(2), 1 + rng.IntN(3), 1 + rng.IntN(3) }},
	{"depthwise", func(rng *rand.Rand) (int, int, int) { return 2 + rng.IntN(4), 1, 1 + rng.IntN(2) }},
}

// Generate returns at least n cases that should succeed. The same seed gives the same cases. They
// cover every combination of type pair, number of spatial dimensions, layout, grouping and dilation
// on or off; sizes, the other layouts, pads, strides, route, algorithm, alpha and beta are drawn.
func Generate(seed uint64, n int) []Case {
	rng := rand.New(rand.NewPCG(seed, 0x636f6e76))
	var cases []Case
	for round := 0; len(cases) < n; round++ {
		for _, types := range typePairs {
			for spatial := 1; spatial <= types.maxSpatial; spatial++ {
				for _, l := range layouts {
					for _, g := range groupings {
						for _, dilated := range []bool{false, true} {
							c := generate(rng, oracle.Forward, types, spatial, l, g, dilated)
							c.Name = fmt.Sprintf("%d/%v-%v/%dd/%s/%s/dilated=%v", round, types.x, types.y, spatial, l.name, g.name, dilated)
							cases = append(cases, c)
						}
					}
				}
			}
		}
	}
	return cases
}

// GenerateBackward is Generate for both backward directions: the floating types, and the routes
// that the forward direction has, find 2.0 and the deterministic attribute besides.
func GenerateBackward(seed uint64, n int) []Case {
	rng := rand.New(rand.NewPCG(seed, 0x67726164))
	var cases []Case
	for round := 0; len(cases) < n; round++ {
		for _, d := range []oracle.Direction{oracle.BackwardData, oracle.BackwardWeights} {
			for _, types := range typePairs {
				if types.x.IsInteger() {
					continue
				}
				for spatial := 1; spatial <= types.maxSpatial; spatial++ {
					for _, l := range layouts {
						for _, g := range groupings {
							for _, dilated := range []bool{false, true} {
								c := generate(rng, d, types, spatial, l, g, dilated)
								c.Name = fmt.Sprintf("%d/%v/%v/%dd/%s/%s/dilated=%v", round, d, types.x, spatial, l.name, g.name, dilated)
								c.Name = strings.ReplaceAll(c.Name, " ", "-")
								cases = append(cases, c)
							}
						}
					}
				}
			}
		}
	}
	return cases
}

// generate draws a case. Types are those of what is read and what is computed.
func generate(rng *rand.Rand, d oracle.Direction, types typePair, spatial int, l layout, g grouping, dilated bool) Case {
	groups, cPerGroup, kPerGroup := g.pick(rng)
	conv := oracle.Convolution{Groups: groups}
	x := []int{1 + rng.IntN(3), groups * cPerGroup}
	w := []int{groups * kPerGroup, cPerGroup}
	y := []int{x[0], w[0]}
	sizes := []int{0, 24, 9, 5} // the more dimensions, the smaller each
	for range spatial {
		filter := 1 + rng.IntN(3)
		dilation := 1
		if dilated {
			filter = 2 + rng.IntN(2)
			dilation = 2 + rng.IntN(2)
		}
		pad, stride := rng.IntN(3), 1+rng.IntN(3)
		reach := dilation*(filter-1) + 1
		in := max(1, reach-2*pad) + rng.IntN(sizes[spatial])
		conv.Pads = append(conv.Pads, pad)
		conv.Strides = append(conv.Strides, stride)
		conv.Dilations = append(conv.Dilations, dilation)
		x = append(x, in)
		w = append(w, filter)
		y = append(y, (in+2*pad-reach)/stride+1)
	}

	// The layout under test is x's or y's; the others follow it or go their own way.
	other := func() layout {
		if rng.IntN(2) == 0 {
			return l
		}
		return layouts[rng.IntN(len(layouts))]
	}
	xLayout, yLayout := l, other()
	if rng.IntN(2) == 0 {
		xLayout, yLayout = yLayout, xLayout
	}
	c := Case{Convolution: conv, Direction: d, Workspace: Full}
	xType, yType := types.x, types.y
	if d == oracle.BackwardData {
		xType, yType = yType, xType
	}
	c.X = xLayout.apply(rng, xType, x)
	c.W = other().apply(rng, types.x, w)
	c.Y = yLayout.apply(rng, yType, y)
	c.Alpha = 1
	if types.scaled {
		c.Alpha = []float64{1, 1, 0.5, -1.25, 3}[rng.IntN(5)]
		c.Beta = []float64{0, 0, 1, 0.5, -2}[rng.IntN(5)]
	}
	c.Route = []Route{Find, Compile, Immediate}[rng.IntN(3)]
	if c.Route == Immediate {
		c.Alpha, c.Beta = 1, 0
	}
	c.Algorithm = []Algorithm{GEMM, Direct}[rng.IntN(2)]
	if types.x.IsInteger() {
		c.Algorithm = Direct
	}
	if d != oracle.Forward {
		c.drawBackward(rng)
	}
	if c.Algorithm == Direct && c.Route != Find && c.Route != Find2 && rng.IntN(2) == 0 {
		c.Workspace = None
	}

	length := cPerGroup * product(w[2:]) // of a sum
	switch d {
	case oracle.BackwardData:
		length = kPerGroup * product(w[2:])
	case oracle.BackwardWeights:
		length = y[0] * product(y[2:])
	}
	draw := func(t oracle.Tensor, own oracle.Direction) []byte {
		if d != own {
			return contents(rng, t, length)
		}
		data := contents(rng, t, 1)
		if c.Beta == 0 && !t.Type.IsInteger() && rng.IntN(2) == 0 {
			// What is computed must not be read: nothing of these may come through.
			fill(t.Type, data, math.NaN())
		}
		return data
	}
	c.XData = draw(c.X, oracle.BackwardData)
	c.WData = draw(c.W, oracle.BackwardWeights)
	c.YData = draw(c.Y, oracle.Forward)
	return c
}

// drawBackward draws again what backward convolutions have more of.
func (c *Case) drawBackward(rng *rand.Rand) {
	c.Deterministic = rng.IntN(4) == 0
	if c.Direction == oracle.BackwardWeights && !c.Deterministic && rng.IntN(3) == 0 {
		c.Algorithm = ImplicitGEMM
	}
	if rng.IntN(5) == 0 {
		c.Route, c.Alpha, c.Beta = Find2, 1, 0
	}
}

func product(values []int) int {
	p := 1
	for _, v := range values {
		p *= v
	}
	return p
}

// contents fills a buffer, gaps included, with values whose sums of the given length stay in the
// range of every type that has infinities.
func contents(rng *rand.Rand, t oracle.Tensor, length int) []byte {
	data := make([]byte, t.Bytes())
	scale := 1.0
	switch t.Type { // some sums are to leave the range of these
	case oracle.Float8:
		scale = []float64{1, 1, 24}[rng.IntN(3)]
	case oracle.BFloat8:
		scale = []float64{1, 1, 384}[rng.IntN(3)]
	}
	for i := 0; i < len(data); i += t.Type.Size() {
		v := scale * (2*rng.Float64() - 1)
		switch t.Type {
		case oracle.Int8:
			v *= 127
		case oracle.Int32:
			v *= 1e6
		case oracle.Half:
			v *= min(1, 100/math.Sqrt(float64(length)))
		}
		t.Type.Put(data[i:], v)
	}
	return data
}

func fill(t oracle.Type, data []byte, v float64) {
	for i := 0; i < len(data); i += t.Size() {
		t.Put(data[i:], v)
	}
}

// Mutations are changes of a case after which the library's result for the case as it was must be
// refused. Each returns the changed case, or false where it would change nothing.
var Mutations = map[string]func(Case) (Case, bool){
	"stride and dilation swapped": func(c Case) (Case, bool) {
		c.Convolution.Strides, c.Convolution.Dilations = c.Convolution.Dilations, c.Convolution.Strides
		return c.fits(!slices.Equal(c.Convolution.Strides, c.Convolution.Dilations))
	},
	"filter flipped": func(c Case) (Case, bool) {
		c.WData = flip(c.W, c.WData)
		return c.fits(c.Direction != oracle.BackwardWeights && product(c.W.Lengths[2:]) > 1)
	},
	"groups interleaved": func(c Case) (Case, bool) {
		// The channels of an operand that is read.
		groups, t, data := c.Convolution.Groups, c.X, &c.XData
		if c.Direction != oracle.Forward {
			t, data = c.Y, &c.YData
		}
		channels := t.Lengths[1]
		*data = permute(t, *data, func(index []int) {
			index[1] = index[1]%groups*(channels/groups) + index[1]/groups
		})
		return c.fits(groups > 1 && channels > groups)
	},
	"beta dropped": func(c Case) (Case, bool) {
		changed := c.Beta != 0
		c.Beta = 0
		return c.fits(changed)
	},
	"alpha dropped": func(c Case) (Case, bool) {
		changed := c.Alpha != 1
		c.Alpha = 1
		return c.fits(changed)
	},
	"one input changed": func(c Case) (Case, bool) {
		// The first element is read in every case: where it is padded around, by a later tap.
		t, data := c.W, &c.WData
		if c.Direction == oracle.BackwardWeights {
			t, data = c.Y, &c.YData
		}
		changed := slices.Clone(*data)
		before := t.Type.Get(changed)
		t.Type.Put(changed, before+largeStep(t.Type, before))
		*data = changed
		return c.fits(true)
	},
}

// largeStep is a step from a number that is seen in a sum of such numbers.
func largeStep(t oracle.Type, from float64) float64 {
	switch {
	case t.IsInteger():
		return -16
	case t.Size() == 1:
		return max(0.5, math.Abs(from)) // these have few digits
	}
	return 0.5
}

// fits reports whether the changed case is one that the oracle can compute with y's lengths.
func (c Case) fits(changed bool) (Case, bool) {
	if !changed {
		return c, false
	}
	_, o := c.computation()
	lengths, err := c.Convolution.OutputLengths(o.X.Lengths, o.W.Lengths)
	return c, err == nil && slices.Equal(lengths, o.Y.Lengths)
}

func flip(t oracle.Tensor, data []byte) []byte {
	return permute(t, data, func(index []int) {
		for i := 2; i < len(index); i++ {
			index[i] = t.Lengths[i] - 1 - index[i]
		}
	})
}

// permute returns a copy of data in which every element comes from the index that source makes of
// its own.
func permute(t oracle.Tensor, data []byte, source func(index []int)) []byte {
	out := slices.Clone(data)
	size := t.Type.Size()
	t.Each(func(index []int, offset int) {
		from := slices.Clone(index)
		source(from)
		at := 0
		for i, v := range from {
			at += v * t.Strides[i]
		}
		copy(out[offset:offset+size], data[at*size:])
	})
	return out
}
