package refmiopen_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/tests/oracle"
	"example.com/miopen_hipdnn_shim/tests/refmiopen/convcases"
)

func TestFusion(t *testing.T) {
	cases := convcases.GenerateFused(seed, 1)
	results, stderr := convrun(t, cases)
	require.Empty(t, stderr)
	seen := map[string]int{}
	for i := range cases {
		c, r := &cases[i], results[i]
		require.NoError(t, c.Check(r))
		require.True(t, r.Timed, c.Name)
		seen[string(c.Route)]++
		if r.Workspace > 0 {
			seen["with workspace"]++
		}
	}
	t.Logf("%d fused convolutions: %v", len(cases), seen)
	for _, what := range []string{"plan", "fused", "with workspace"} {
		require.Greater(t, seen[what], 15, what)
	}
}

// The controls: another activation, no bias and so on.
func TestFusionMutationsAreSeen(t *testing.T) {
	cases := convcases.GenerateFused(seed+1, 1)
	results, _ := convrun(t, cases)
	for name, mutate := range convcases.FusionMutations {
		t.Run(name, func(t *testing.T) {
			applied, refused := 0, 0
			for i := range cases {
				if changed, ok := mutate(cases[i]); ok {
					applied++
					if changed.Check(results[i]) != nil {
						refused++
					}
				}
			}
			t.Logf("%d of %d refused", refused, applied)
			require.Greater(t, applied, 8)
			// Where a sum is negative, ReLU leaves nothing of what was done to it.
			require.Greater(t, refused*10, applied*4)
		})
	}
}

// One bias for all of y, for each channel or for each element of a row, in each type, rounded once.
func TestForwardBias(t *testing.T) {
	for _, typ := range []oracle.Type{oracle.Float, oracle.Half, oracle.Double} {
		for _, lengths := range [][]int{{1, 1, 1, 1}, {1, 3, 1, 1}, {1, 1, 1, 2}, {2, 3, 2, 2}} {
			for _, scale := range [][2]float64{{1, 0}, {0.5, 0}, {2, -1}, {1.0 / 3, 0.25}} {
				c := fusible()
				c.X, c.W = oracle.Packed(typ, []int{2, 1, 2, 2}, nil), oracle.Packed(typ, []int{3, 1, 1, 1}, nil)
				c.Y = oracle.Packed(typ, []int{2, 3, 2, 2}, []int{0, 2, 3, 1})
				c.XData, c.WData = make([]byte, c.X.Bytes()), make([]byte, c.W.Bytes())
				c.Fusion = &convcases.Fusion{Bias: oracle.Packed(typ, lengths, nil)}
				numbers := func(tensor oracle.Tensor, first float64) []byte {
					data := make([]byte, tensor.Bytes())
					i := 0
					tensor.Each(func(_ []int, offset int) {
						typ.Put(data[offset:], first+1.25*float64(i))
						i++
					})
					return data
				}
				c.YData, c.Fusion.BiasData = numbers(c.Y, -7), numbers(c.Fusion.Bias, 1000)
				c.Route, c.Alpha, c.Beta = convcases.ForwardBias, scale[0], scale[1]
				results, stderr := convrun(t, []convcases.Case{c})
				require.Zero(t, results[0].Status, stderr)
				c.Y.Each(func(index []int, offset int) {
					at := 0
					for i, l := range lengths {
						at = at*l + index[i]%l
					}
					y, b := typ.Get(c.YData[offset:]), typ.Get(c.Fusion.BiasData[at*typ.Size():])
					round := func(v float64) float64 {
						if typ == oracle.Double {
							return v
						}
						return float64(float32(v))
					}
					want := round(round(round(scale[0])*y) + round(round(scale[0])*b))
					if scale[1] != 0 {
						want = round(want + round(scale[1]*y))
					}
					require.Equal(t, typ.Round(want), typ.Get(results[0].Y[offset:]), "%v %v %v %v", typ, lengths, scale, index)
				})
			}
		}
	}
}

// Several threads on one handle get the same bits as one, in whichever direction and fused.
func TestBackwardAndFusedThreads(t *testing.T) {
	cases := append(convcases.GenerateBackward(seed+3, 1), convcases.GenerateFused(seed+3, 1)...)
	one, _ := convrun(t, cases)
	four, _ := convrun(t, cases, "--threads", "4")
	require.Equal(t, one, four)
}

// fusible is a convolution, bias and ReLU that is fused.
func fusible() convcases.Case {
	one := []int{1, 1, 1, 1}
	float := func(v float64) []byte {
		b := make([]byte, 4)
		oracle.Float.Put(b, v)
		return b
	}
	tensor := oracle.Packed(oracle.Float, one, nil)
	return convcases.Case{
		Name:        "fusible",
		Convolution: oracle.Convolution{Pads: []int{0, 0}, Strides: []int{1, 1}, Dilations: []int{1, 1}, Groups: 1},
		Operands: oracle.Operands{
			X: tensor, XData: float(2), W: tensor, WData: float(3), Y: tensor, YData: float(99), Alpha: 1,
		},
		Fusion: &convcases.Fusion{Bias: tensor, BiasData: float(-1), Activation: convcases.Activation{Name: "relu"}},
		Route:  convcases.Plan, Algorithm: convcases.Direct, Workspace: convcases.Full,
	}
}

func TestFusionRefusals(t *testing.T) {
	const compile, execute = "miopenCompileFusionPlan", "miopenExecuteFusionPlan"
	// Of a shape for which the layouts differ.
	shaped := func(c *convcases.Case, typ oracle.Type, rank int, order []int) {
		for _, tensor := range []*oracle.Tensor{&c.X, &c.W, &c.Y} {
			lengths := make([]int, rank)
			for i := range lengths {
				lengths[i] = 1
			}
			lengths[1], lengths[2] = 2, 2
			if tensor == &c.W {
				lengths[0], lengths[2] = 2, 1
			}
			*tensor = oracle.Packed(typ, lengths, order)
		}
		c.XData, c.WData, c.YData = make([]byte, c.X.Bytes()), make([]byte, c.W.Bytes()), make([]byte, c.Y.Bytes())
		spatial := rank - 2
		c.Convolution = oracle.Convolution{Groups: 1}
		for range spatial {
			c.Convolution.Pads = append(c.Convolution.Pads, 0)
			c.Convolution.Strides = append(c.Convolution.Strides, 1)
			c.Convolution.Dilations = append(c.Convolution.Dilations, 1)
		}
		bias := make([]int, rank)
		for i := range bias {
			bias[i] = 1
		}
		bias[1] = 2
		c.Fusion.Bias = oracle.Packed(typ, bias, nil)
		c.Fusion.BiasData = make([]byte, c.Fusion.Bias.Bytes())
	}
	last := []int{0, 2, 3, 1}
	for _, c := range []struct {
		name     string
		spoil    func(c *convcases.Case)
		status   int
		function string
	}{
		{"nothing is wrong", func(*convcases.Case) {}, 0, execute},
		{"bfloat16, channels last", func(c *convcases.Case) { shaped(c, oracle.BFloat16, 4, last) }, 0, execute},
		{"bfloat16, channels first", func(c *convcases.Case) { shaped(c, oracle.BFloat16, 4, nil) }, 0, execute + "_v2"},
		{"without the workspace it needs", func(c *convcases.Case) { shaped(c, oracle.BFloat16, 4, nil); c.Workspace = convcases.None }, 3, execute},
		{"with a byte less", func(c *convcases.Case) { shaped(c, oracle.BFloat16, 4, nil); c.Workspace = convcases.Short }, 3, execute + "_v2"},
		{"an activation that is not fused", func(c *convcases.Case) { c.Fusion.Activation.Name = "tanh" }, 8, compile},
		{"one dimension", func(c *convcases.Case) { shaped(c, oracle.Float, 3, nil) }, 8, compile},
		{"double", func(c *convcases.Case) { shaped(c, oracle.Double, 4, nil) }, 8, compile},
		{"bfloat16 without activation", func(c *convcases.Case) { shaped(c, oracle.BFloat16, 4, last); c.Fusion.Activation.Name = "" }, 8, compile},
		{"leaky, channels last", func(c *convcases.Case) { shaped(c, oracle.Float, 4, last); c.Fusion.Activation.Name = "leakyrelu" }, 8, compile},
		{"deterministic, channels last", func(c *convcases.Case) { shaped(c, oracle.Float, 4, last); c.Deterministic = true }, 8, compile},
		{"deterministic, channels first", func(c *convcases.Case) { shaped(c, oracle.Float, 4, nil); c.Deterministic = true }, 0, execute},
		{"gaps", func(c *convcases.Case) { shaped(c, oracle.Float, 4, nil); c.X.Strides[0] *= 2 }, 8, compile},
		{"a filter of another layout", func(c *convcases.Case) {
			shaped(c, oracle.Float, 4, nil)
			c.W = oracle.Packed(oracle.Float, c.W.Lengths, last)
		}, 8, compile},
		{"an output of another layout", func(c *convcases.Case) {
			shaped(c, oracle.Float, 4, last)
			c.Y = oracle.Packed(oracle.Float, c.Y.Lengths, nil)
		}, 3, execute},
		{"a bias of the wrong length", func(c *convcases.Case) {
			shaped(c, oracle.Float, 4, nil)
			c.Fusion.Bias = oracle.Packed(oracle.Float, []int{1, 1, 1, 1}, nil)
		}, 8, compile},
		{"groups that do not fit", func(c *convcases.Case) { shaped(c, oracle.Float, 4, nil); c.Convolution.Groups = 2 }, 8, compile},
		{"alpha", func(c *convcases.Case) { c.Alpha = 2 }, 6, execute},
		{"beta", func(c *convcases.Case) { c.Beta = 1 }, 6, execute},
		{"a tensor added, channels first", func(c *convcases.Case) {
			shaped(c, oracle.Float, 4, nil)
			c.Route = convcases.Fused
			c.Fusion.Add, c.Fusion.AddData, c.Fusion.AddScale = c.Y, c.YData, 1
		}, 8, "miopenConvolutionBiasActivationForward"},
		{"a tensor added and another activation", func(c *convcases.Case) {
			shaped(c, oracle.Float, 4, last)
			c.Route, c.Fusion.Activation.Name = convcases.Fused, "clamp"
			c.Fusion.Add, c.Fusion.AddData, c.Fusion.AddScale = c.Y, c.YData, 1
		}, 6, "miopenConvolutionBiasActivationForward"},
	} {
		t.Run(c.name, func(t *testing.T) {
			spoiled := fusible()
			c.spoil(&spoiled)
			results, stderr := convrun(t, []convcases.Case{spoiled, fusible()})
			good := fusible()
			require.NoError(t, good.Check(results[1]))
			require.Equal(t, c.status, results[0].Status, "%s: %s", results[0].Function, stderr)
			if c.status == 0 {
				require.NoError(t, spoiled.Check(results[0]))
			} else {
				require.Equal(t, spoiled.YData, results[0].Y, "a refused call wrote to y")
			}
			if c.status != 0 || c.function != execute {
				require.Equal(t, c.function, results[0].Function)
			}
		})
	}
}
