package oracle_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/tests/oracle"
)

// channels is a tensor with one element for each channel.
func channels(e oracle.Type, rank, n int) oracle.Tensor {
	lengths := make([]int, rank)
	for i := range lengths {
		lengths[i] = 1
	}
	lengths[1] = n
	return oracle.Packed(e, lengths, nil)
}

func TestFusedHandComputed(t *testing.T) {
	o := oracle.Operands{
		X: oracle.Packed(oracle.Float, []int{1, 1, 3}, nil), XData: encode(oracle.Float, 1, -2, 3),
		W: oracle.Packed(oracle.Float, []int{2, 1, 1}, nil), WData: encode(oracle.Float, 2, -1),
		Y: oracle.Packed(oracle.Float, []int{1, 2, 3}, nil), Alpha: 1,
	}
	for name, c := range map[string]struct {
		epilogue oracle.Epilogue
		want     []float64
	}{
		"nothing":    {oracle.Epilogue{}, []float64{2, -4, 6, -1, 2, -3}},
		"bias":       {oracle.Epilogue{Bias: channels(oracle.Float, 3, 2), BiasData: encode(oracle.Float, 10, -1)}, []float64{12, 6, 16, -2, 1, -4}},
		"ReLU":       {oracle.Epilogue{Activation: oracle.ReLU}, []float64{2, 0, 6, 0, 2, 0}},
		"clipped":    {oracle.Epilogue{Activation: oracle.ClippedReLU(3)}, []float64{2, 0, 3, 0, 2, 0}},
		"clamp":      {oracle.Epilogue{Activation: oracle.Clamp(-2, 3)}, []float64{2, -2, 3, -1, 2, -2}},
		"leaky":      {oracle.Epilogue{Activation: oracle.LeakyReLU(0.5)}, []float64{2, -2, 6, -0.5, 2, -1.5}},
		"bias first": {oracle.Epilogue{Bias: channels(oracle.Float, 3, 2), BiasData: encode(oracle.Float, 3, 2), Activation: oracle.ReLU}, []float64{5, 0, 9, 1, 4, 0}},
		"added": {oracle.Epilogue{Add: oracle.Packed(oracle.Float, []int{1, 2, 3}, []int{2, 1, 0}), AddData: encode(oracle.Float, 1, 2, 3, 4, 5, 6), AddScale: 10,
			Bias: channels(oracle.Float, 3, 2), BiasData: encode(oracle.Float, 0, 100), Activation: oracle.ReLU}, []float64{12, 26, 56, 119, 142, 157}},
	} {
		bounds, err := plain(1).Fused(o, c.epilogue)
		require.NoError(t, err)
		var got []float64
		for i, b := range bounds {
			got = append(got, b.Exact)
			require.LessOrEqual(t, b.Low, c.want[i], name)
			require.GreaterOrEqual(t, b.High, c.want[i], name)
			require.Less(t, b.High-b.Low, 1e-4, name)
		}
		require.Equal(t, c.want, got, name)
	}
}

// What an implementation gets that keeps its sums in float and stores the steps in between in a type,
// or does not, and what each of the two forms of the oracle says about it.
func TestFusedSeesWhereIsRounded(t *testing.T) {
	const length, rounds = 36, 2000
	rng := rand.New(rand.NewPCG(21, 22))
	float := func(v float64) float64 { return float64(float32(v)) }
	for _, typ := range []oracle.Type{oracle.Half, oracle.BFloat16} {
		seen := map[string]int{}
		for range rounds {
			vector := oracle.Packed(typ, []int{1, length, 1}, nil)
			o := oracle.Operands{X: vector, XData: random(rng, vector), W: vector, WData: random(rng, vector),
				Y: oracle.Packed(typ, []int{1, 1, 1}, nil), Alpha: 1}
			bias := channels(typ, 3, 1)
			e := oracle.Epilogue{Bias: bias, BiasData: random(rng, bias), Activation: oracle.ReLU}
			b := typ.Get(e.BiasData)
			sum := dot(o.XData, o.WData, typ, func(s, p float64) float64 { return float(s + float(p)) })
			once := math.Max(float(sum+b), 0)
			each := math.Max(typ.Round(float(typ.Round(sum)+b)), 0)
			judge := func(name string, v float64, intermediate oracle.Type) {
				e.Intermediate = intermediate
				bounds, err := plain(1).Fused(o, e)
				require.NoError(t, err)
				wrong, err := oracle.CompareBounds(o.Y, encode(typ, v), bounds)
				require.NoError(t, err)
				seen[name] += len(wrong)
			}
			judge("once, rightly", once, 0)
			judge("each, rightly", each, typ)
			judge("once, wrongly", once, typ)
			judge("each, wrongly", each, 0)
			judge("no bias", math.Max(sum, 0), 0)
			judge("no ReLU", sum+b, 0)
			judge("ReLU first", math.Max(sum, 0)+b, 0)
			judge("missing term", math.Max(sum-typ.Get(o.XData)*typ.Get(o.WData)+b, 0), 0)
		}
		t.Logf("%v: %v of %d refused", typ, seen, rounds)
		require.Zero(t, seen["once, rightly"])
		require.Zero(t, seen["each, rightly"])
		// Two roundings agree with one more often than not, and negative results are all 0.
		require.Greater(t, seen["once, wrongly"], rounds/50)
		require.Greater(t, seen["each, wrongly"], rounds/50)
		for _, fault := range []string{"no bias", "no ReLU", "ReLU first", "missing term"} {
			require.Greater(t, seen[fault], rounds/4, fault)
		}
	}
}

func TestFusedRefusals(t *testing.T) {
	o := oracle.Operands{
		X: oracle.Packed(oracle.Float, []int{1, 1, 2}, nil), XData: encode(oracle.Float, 1, 2),
		W: oracle.Packed(oracle.Float, []int{3, 1, 1}, nil), WData: encode(oracle.Float, 1, 2, 3),
		Y: oracle.Packed(oracle.Float, []int{1, 3, 2}, nil), Alpha: 1,
	}
	e := oracle.Epilogue{Bias: channels(oracle.Float, 3, 3), BiasData: encode(oracle.Float, 1, 2, 3)}
	bounds, err := plain(1).Fused(o, e)
	require.NoError(t, err)
	for what, change := range map[string]func(o *oracle.Operands, e *oracle.Epilogue){
		"the factor 1 for y":    func(o *oracle.Operands, _ *oracle.Epilogue) { o.Beta, o.YData = 1, make([]byte, 24) },
		"needs 12 bytes":        func(_ *oracle.Operands, e *oracle.Epilogue) { e.BiasData = e.BiasData[1:] },
		"length 2 in dimension": func(_ *oracle.Operands, e *oracle.Epilogue) { e.Bias = channels(oracle.Float, 3, 2) },
		"has rank 4":            func(_ *oracle.Operands, e *oracle.Epilogue) { e.Bias = channels(oracle.Float, 4, 3) },
		"tensor added":          func(_ *oracle.Operands, e *oracle.Epilogue) { e.Add, e.AddData = e.Bias, e.BiasData },
		"int32 is not a type":   func(_ *oracle.Operands, e *oracle.Epilogue) { e.Intermediate = oracle.Int32 },
		"is NaN":                func(o *oracle.Operands, _ *oracle.Epilogue) { o.XData = encode(oracle.Float, 1, math.NaN()) },
		"needs 8 bytes":         func(o *oracle.Operands, _ *oracle.Epilogue) { o.XData = nil },
		"of integers": func(o *oracle.Operands, _ *oracle.Epilogue) {
			o.X.Type, o.W.Type, o.Y.Type = oracle.Int8, oracle.Int8, oracle.Int32
		},
	} {
		changed, epilogue := o, e
		change(&changed, &epilogue)
		_, err := plain(1).Fused(changed, epilogue)
		require.ErrorContains(t, err, what)
	}
	_, err = oracle.CompareBounds(o.Y, make([]byte, 23), bounds)
	require.ErrorContains(t, err, "23 bytes")
	// NaN is never within bounds.
	wrong, err := oracle.CompareBounds(o.Y, encode(oracle.Float, math.NaN(), 3, 4, 6, 6, 9), bounds)
	require.NoError(t, err)
	require.Len(t, wrong, 1)
	require.Equal(t, []int{0, 0, 0}, wrong[0].Index)
}
