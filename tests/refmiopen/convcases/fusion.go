package convcases

import (
	"fmt"
	"math/rand/v2"

	"example.com/miopen_hipdnn_shim/tests/oracle"
)

// GenerateFused returns at least n fused convolutions that should succeed, the same for the same seed.
// They cover every sequence of operations, type, layout, number of dimensions and activation that MIOpen
// fuses; the geometry is drawn.
func GenerateFused(seed uint64, n int) []Case {
	rng := rand.New(rand.NewPCG(seed, 0x66757365))
	var cases []Case
	for round := 0; len(cases) < n; round++ {
		for _, family := range []struct {
			name        string
			types       []oracle.Type
			layouts     []layout
			maxSpatial  int
			groupings   []grouping
			bias        []bool
			activations []string
			routes      []Route
		}{
			{"any", []oracle.Type{oracle.Float, oracle.Half}, layouts[:1], 2, groupings[:1], []bool{false, true},
				[]string{"", "identity", "relu", "clippedrelu", "leakyrelu"}, []Route{Plan}},
			{"activated", []oracle.Type{oracle.Float, oracle.Half, oracle.BFloat16}, layouts[:2], 3, groupings, []bool{false, true},
				[]string{"relu", "clippedrelu", "clamp"}, []Route{Plan}},
			{"added", []oracle.Type{oracle.Float, oracle.Half, oracle.BFloat16}, layouts[1:2], 3, groupings, []bool{true},
				[]string{"relu"}, []Route{Fused}},
		} {
			for _, t := range family.types {
				for _, l := range family.layouts {
					for spatial := 2; spatial <= family.maxSpatial; spatial++ {
						for _, g := range family.groupings {
							for _, bias := range family.bias {
								for _, activation := range family.activations {
									for _, route := range family.routes {
										c := generateFused(rng, t, spatial, l, g, bias, activation, route)
										c.Name = fmt.Sprintf("%d/%s/%v/%dd/%s/%s/bias=%v/%s", round, family.name, t, spatial, l.name, g.name, bias, activation)
										cases = append(cases, c)
									}
								}
							}
						}
					}
				}
			}
		}
	}
	return cases
}

func generateFused(rng *rand.Rand, t oracle.Type, spatial int, l layout, g grouping, bias bool, activation string, route Route) Case {
	c := generate(rng, oracle.Forward, typePair{t, t, false, 3}, spatial, l, g, rng.IntN(3) == 0)
	for product(c.X.Lengths[1:]) == 1 {
		// The layout of a single element is every layout, and MIOpen would have to guess y's.
		c = generate(rng, oracle.Forward, typePair{t, t, false, 3}, spatial, l, g, rng.IntN(3) == 0)
	}
	// All three tensors have the layout.
	length := c.W.Lengths[1] * product(c.W.Lengths[2:])
	c.X, c.W, c.Y = l.apply(rng, t, c.X.Lengths), l.apply(rng, t, c.W.Lengths), l.apply(rng, t, c.Y.Lengths)
	c.XData, c.WData, c.YData = contents(rng, c.X, length), contents(rng, c.W, length), contents(rng, c.Y, 1)
	c.Route, c.Algorithm, c.Workspace = route, Direct, Full
	c.Fusion = &Fusion{Activation: Activation{Name: activation}}
	switch activation {
	case "clippedrelu":
		c.Fusion.Activation.Alpha = 0.75
	case "leakyrelu":
		c.Fusion.Activation.Alpha = 0.125
	case "clamp":
		c.Fusion.Activation.Alpha, c.Fusion.Activation.Beta = -0.25, 0.5
	}
	if bias {
		lengths := make([]int, len(c.Y.Lengths))
		for i := range lengths {
			lengths[i] = 1
		}
		lengths[1] = c.Y.Lengths[1]
		c.Fusion.Bias = oracle.Packed(t, lengths, nil)
		c.Fusion.BiasData = contents(rng, c.Fusion.Bias, 1)
	}
	if route == Fused {
		c.Alpha = []float64{1, 0.5, -2}[rng.IntN(3)]
		c.Fusion.AddScale = []float64{1, -0.5}[rng.IntN(2)]
		c.Fusion.Add, c.Fusion.AddData = c.Y, contents(rng, c.Y, 1)
	}
	return c
}

// FusionMutations are to fused convolutions what Mutations are to others.
var FusionMutations = map[string]func(Case) (Case, bool){
	"no bias": func(c Case) (Case, bool) {
		f := *c.Fusion
		changes := f.BiasData != nil
		f.BiasData = nil
		c.Fusion = &f
		return c, changes
	},
	"bias of the next channel": func(c Case) (Case, bool) {
		f := *c.Fusion
		c.Fusion = &f
		if f.BiasData == nil || f.Bias.Lengths[1] < 2 {
			return c, false
		}
		size := f.Bias.Type.Size()
		f.BiasData = append(append([]byte(nil), f.BiasData[size:]...), f.BiasData[:size]...)
		return c, true
	},
	"no activation": func(c Case) (Case, bool) {
		f := *c.Fusion
		changes := f.Activation.Name != "" && f.Activation.Name != "identity"
		f.Activation = Activation{}
		c.Fusion = &f
		return c, changes
	},
	"another activation": func(c Case) (Case, bool) {
		f := *c.Fusion
		changes := f.Activation.Name != ""
		f.Activation = Activation{"leakyrelu", 0.5, 0}
		c.Fusion = &f
		return c, changes
	},
	"nothing added": func(c Case) (Case, bool) {
		f := *c.Fusion
		changes := f.AddData != nil
		f.AddData = nil
		c.Fusion = &f
		return c, changes
	},
	"alpha dropped":               Mutations["alpha dropped"],
	"stride and dilation swapped": Mutations["stride and dilation swapped"],
}
