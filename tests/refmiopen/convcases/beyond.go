package convcases

import (
	"fmt"
	"math"
	"math/rand/v2"

	"example.com/miopen_hipdnn_shim/tests/oracle"
)

// beyondModes are what GenerateBeyond has of each mode.
var beyondModes = []struct {
	name       string
	transposed bool
	types      []typePair
}{
	{"convolution", false, []typePair{
		{oracle.Float8, oracle.Float8, false, 3},
		{oracle.BFloat8, oracle.BFloat8, false, 3},
	}},
	{"transposed", true, []typePair{
		{oracle.Float, oracle.Float, false, 3},
		{oracle.Half, oracle.Half, false, 3},
		{oracle.BFloat16, oracle.BFloat16, false, 3},
		{oracle.Double, oracle.Double, false, 3},
		{oracle.Int8, oracle.Int32, false, 3},
		{oracle.Int8, oracle.Float, false, 3},
		{oracle.Float8, oracle.Float8, false, 3},
		{oracle.BFloat8, oracle.BFloat8, false, 3},
	}},
}

// GenerateBeyond is Generate for what the reference library does not compute and refuses: convolutions of
// 8-bit floating types, and transposed ones of every type. Nothing is called but the convolution, with
// alpha 1 and beta 0, and y is filled with what no result is, NaN or a number out of reach: a result that
// is right was computed.
func GenerateBeyond(seed uint64, n int) []Case {
	rng := rand.New(rand.NewPCG(seed, 0x6265796f6e64))
	var cases []Case
	for round := 0; len(cases) < n; round++ {
		for _, mode := range beyondModes {
			for _, types := range mode.types {
				for spatial := 1; spatial <= types.maxSpatial; spatial++ {
					for _, l := range layouts {
						for _, g := range groupings {
							for _, dilated := range []bool{false, true} {
								c := generateBeyond(rng, mode.transposed, types, spatial, l, g, dilated)
								c.Name = fmt.Sprintf("%d/%v-%v/%dd/%s/%s/%s/dilated=%v", round, types.x, types.y, spatial, l.name, g.name, mode.name, dilated)
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

func generateBeyond(rng *rand.Rand, transposed bool, types typePair, spatial int, l layout, g grouping, dilated bool) Case {
	direction := oracle.Forward
	if transposed {
		direction = oracle.BackwardData
	}
	c := generate(rng, direction, types, spatial, l, g, dilated)
	if c.Transposed = transposed; transposed {
		c.X, c.XData, c.Y, c.YData = c.Y, c.YData, c.X, c.XData
	}
	c.Direction, c.Deterministic = oracle.Forward, false
	c.Route, c.Algorithm, c.Workspace = Alone, Direct, None
	c.Alpha, c.Beta = 1, 0
	c.StandardRounding = isFloat8(types.x)
	outOfReach := math.NaN()
	if types.y.IsInteger() {
		outOfReach = math.MinInt32
	}
	fill(types.y, c.YData, outOfReach)
	return c
}

func isFloat8(t oracle.Type) bool { return t == oracle.Float8 || t == oracle.BFloat8 }

// BeyondMutations are to the cases of GenerateBeyond what Mutations are to others.
var BeyondMutations = map[string]func(Case) (Case, bool){
	// In the formats of these sizes that have a negative zero, patterns are worth twice as much.
	"8-bit numbers of another bias": func(c Case) (Case, bool) {
		c.Alpha = 2
		return c.fits(isFloat8(c.X.Type))
	},
	"8-bit numbers of the other kind": func(c Case) (Case, bool) {
		other := map[oracle.Type]oracle.Type{oracle.Float8: oracle.BFloat8, oracle.BFloat8: oracle.Float8}[c.X.Type]
		if other == 0 {
			return c, false
		}
		c.X.Type, c.W.Type, c.Y.Type = other, other, other
		return c.fits(true)
	},
	// A transposed convolution is one with a mirrored filter, twice mirrored is the mistake.
	"filter flipped":              Mutations["filter flipped"],
	"groups interleaved":          Mutations["groups interleaved"],
	"one input changed":           Mutations["one input changed"],
	"stride and dilation swapped": Mutations["stride and dilation swapped"],
}
