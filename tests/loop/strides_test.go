package loop_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/tests/oracle"
)

// laid is a problem with its tensors as loosen leaves them, from packed ones.
func laid(rng *rand.Rand, name string, d oracle.Direction, groups int, x, w []int, channelsLast bool, loosen func(t *oracle.Tensor)) problem {
	p := problem{direction: d, conv: oracle.Convolution{Groups: groups}}
	for range len(x) - 2 {
		p.conv.Pads, p.conv.Strides, p.conv.Dilations = append(p.conv.Pads, 0), append(p.conv.Strides, 1), append(p.conv.Dilations, 1)
	}
	y, err := p.conv.OutputLengths(x, w)
	if err != nil {
		panic(err)
	}
	order := []int{0, 1, 2, 3, 4}[:len(x)]
	if channelsLast {
		order = append(append([]int{0}, order[2:]...), 1)
	}
	for _, t := range []struct {
		lengths []int
		shape   *oracle.Tensor
		to      *[]byte
	}{{x, &p.X, &p.XData}, {w, &p.W, &p.WData}, {y, &p.Y, &p.YData}} {
		*t.shape = oracle.Packed(oracle.Float, t.lengths, order)
		loosen(t.shape)
		*t.to = contents(rng, *t.shape)
	}
	p.Alpha = 1
	p.name = strings.ReplaceAll(fmt.Sprintf("%v/%s/%v", d, name, channelsLast), " ", "-")
	return p
}

// TestStrides: on the real MIOpen, strides of dimensions of one element, which mean nothing, change no result and reach no
// memory that is not the tensors', in either layout. Tensors that are not packed, which it takes and reads wrongly, are not
// run by the plugin's engines.
func TestStrides(t *testing.T) {
	rng := rand.New(rand.NewPCG(20261130, 7))
	var run, declined []problem
	for _, d := range directions {
		for _, last := range []bool{false, true} {
			for _, stride := range []int{1, 7} {
				one := func(t *oracle.Tensor) {
					for i, n := range t.Lengths {
						if n == 1 {
							t.Strides[i] = stride
						}
					}
				}
				for name, shape := range map[string][2][]int{
					"one column":  {{2, 3, 4, 1}, {2, 3, 2, 1}},
					"one row":     {{2, 3, 1, 5}, {2, 3, 1, 2}},
					"one batch":   {{1, 3, 4, 5}, {2, 3, 2, 2}},
					"one channel": {{2, 1, 4, 5}, {2, 1, 2, 2}},
					"one result":  {{2, 3, 4, 5}, {1, 3, 2, 2}},
					"one pixel":   {{2, 3, 1, 1}, {2, 3, 1, 1}},
					"one plane":   {{2, 3, 1, 4, 5}, {2, 3, 1, 2, 2}},
					"a line":      {{1, 3, 5}, {2, 3, 2}},
				} {
					run = append(run, laid(rng, fmt.Sprintf("%s of stride %d", name, stride), d, 1, shape[0], shape[1], last, one))
				}
				run = append(run, laid(rng, fmt.Sprintf("groups, one batch of stride %d", stride), d, 2, []int{1, 4, 3, 3}, []int{4, 2, 2, 2}, last, one))
			}
			outermost := func(t *oracle.Tensor) { t.Strides[0] += 6 }
			for groups := 1; groups <= 2; groups++ {
				declined = append(declined,
					laid(rng, fmt.Sprintf("%d groups, batches apart", groups), d, groups, []int{2, 4, 3, 3}, []int{4, 4 / groups, 2, 2}, last, outermost),
					laid(rng, fmt.Sprintf("%d groups, all apart", groups), d, groups, []int{2, 4, 3, 3}, []int{4, 4 / groups, 2, 2}, last, func(t *oracle.Tensor) {
						for i := range t.Strides {
							t.Strides[i] *= 2
						}
					}))
			}
		}
	}
	c := newClient(t)
	var graphs strings.Builder
	for i, p := range slices.Concat(run, declined) {
		graphs.WriteString(p.graph(p.name, engines[i%2], "directly"))
	}
	s := c.serve(t, c.device, graphs.String(), byDefinition...)
	for i := range run {
		a := s.answers[run[i].name]
		require.Zero(t, a.Status, "%s: %s: %s", run[i].name, a.Function, a.Text)
		require.Subset(t, a.Engines, engines)
		require.NoError(t, run[i].check(a.Tensors), run[i].name)
	}
	for i := range declined {
		a := s.answers[declined[i].name]
		require.NotZero(t, a.Status, declined[i].name)
		for _, e := range engines {
			require.NotContains(t, a.Engines, e, declined[i].name)
		}
	}
	require.Equal(t, len(run), s.executed)
	s.requireClean(t)
}
