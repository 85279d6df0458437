package translate_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/hipdnnbridge/translate"
)

// numeric compares problems of every kind that the oracle has types for.
func numeric(tr translator, seed uint64, rounds int) error {
	rng := rand.New(rand.NewPCG(seed, 0))
	for range rounds {
		for _, k := range kinds(3) {
			if _, ok := oracleMIOpenTypes[k.x]; !ok {
				continue // 8-bit floats: what becomes of them is in the field table
			}
			c := k.random(rng)
			if err := compare(tr, &c, rng); err != nil {
				return &failure{k, c, err}
			}
		}
	}
	return nil
}

func TestTranslatedGraphsComputeTheProblem(t *testing.T) {
	require.NoError(t, numeric(translate.Forward, 1, 3))
}
