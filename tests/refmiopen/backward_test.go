package refmiopen_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/tests/oracle"
	"example.com/miopen_hipdnn_shim/tests/refmiopen/convcases"
)

// solutions are the algorithms that the library has for a case, in its order.
func solutions(c *convcases.Case) []convcases.Algorithm {
	switch {
	case c.X.Type == oracle.Int8:
		return []convcases.Algorithm{convcases.Direct}
	case c.Direction == oracle.BackwardWeights && !c.Deterministic:
		return []convcases.Algorithm{convcases.ImplicitGEMM, convcases.GEMM, convcases.Direct}
	}
	return []convcases.Algorithm{convcases.GEMM, convcases.Direct}
}

func TestConvolutionBackward(t *testing.T) {
	cases := convcases.GenerateBackward(seed, count)
	results, stderr := convrun(t, cases)
	require.Empty(t, stderr)
	seen := map[string]int{}
	for i := range cases {
		c, r := &cases[i], results[i]
		require.NoError(t, c.Check(r))
		require.True(t, r.Timed, c.Name)
		require.Equal(t, solutions(c), r.Solutions, c.Name)
		if c.Route == convcases.Find || c.Route == convcases.Find2 {
			require.Equal(t, solutions(c), r.Found, c.Name)
		}
		seen[c.Direction.String()+" "+string(c.Route)]++
		seen[c.Direction.String()+" "+string(c.Algorithm)]++
		if c.Alpha != 1 && c.Beta != 0 {
			seen[c.Direction.String()+" scaled"]++
		}
	}
	t.Logf("%d convolutions: %v", len(cases), seen)
	require.Len(t, seen, 4+2+1+4+3+1)
	for what, n := range seen {
		require.Greater(t, n, 15, what)
	}
}

// The controls, as for the forward direction.
func TestConvolutionBackwardMutationsAreSeen(t *testing.T) {
	cases := convcases.GenerateBackward(seed+1, count)
	results, _ := convrun(t, cases)
	for name, mutate := range convcases.Mutations {
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
			require.Greater(t, applied, 20)
			require.Greater(t, refused*10, applied*7)
		})
	}
}

// What was found or compiled for one direction does not serve another.
func TestInvokersAreKeyedByDirection(t *testing.T) {
	for _, prepared := range []oracle.Direction{oracle.Forward, oracle.BackwardData, oracle.BackwardWeights} {
		for _, later := range []oracle.Direction{oracle.Forward, oracle.BackwardData, oracle.BackwardWeights} {
			first, second := base(), base()
			first.Direction, first.Route = prepared, convcases.Compile
			second.Direction, second.Route = later, convcases.Assume
			results, stderr := convrun(t, []convcases.Case{first, second})
			require.NoError(t, first.Check(results[0]))
			if prepared == later {
				require.NoError(t, second.Check(results[1]))
				continue
			}
			require.Equal(t, 7, results[1].Status, "%v after %v", later, prepared)
			word := map[oracle.Direction]string{oracle.Forward: "forward", oracle.BackwardData: "backward", oracle.BackwardWeights: "weights"}[later]
			require.Contains(t, stderr, "No invoker was registered for convolution "+word+". Was find executed?")
		}
	}
}

func TestConvolutionBackwardRefusals(t *testing.T) {
	type row struct {
		name     string
		spoil    func(c *convcases.Case)
		status   int
		function string // without the direction
		message  string
	}
	const (
		full    = ""
		compile = "CompileSolution"
		size    = "GetWorkSpaceSize"
	)
	rows := []row{
		{"nothing was prepared", func(c *convcases.Case) { c.Route = convcases.Unprepared }, 7, full, "Was find executed?"},
		{"an algorithm that no solver has", func(c *convcases.Case) { c.Algorithm = convcases.Winograd }, 7, full, "Was find executed?"},
		{"a solution of no solver", func(c *convcases.Case) { c.Algorithm, c.Route = convcases.Winograd, convcases.Compile }, 3, compile, "no solver has the id 0"},
		{"immediate mode with a solution of no solver", func(c *convcases.Case) { c.Algorithm, c.Route = convcases.Winograd, convcases.Immediate }, 3, "Immediate", "no solver has the id 0"},
		{"not found for want of workspace", func(c *convcases.Case) { c.Algorithm, c.Workspace = convcases.GEMM, convcases.None }, 7, full, "Was find executed?"},
		{"compiled, but no workspace", func(c *convcases.Case) {
			c.Route, c.Algorithm, c.Workspace = convcases.Compile, convcases.GEMM, convcases.None
		}, 7, full, "not enough workspace for the matrix multiplication: 0 of"},
		{"channels do not fit", func(c *convcases.Case) { c.W.Lengths = []int{2, 1, 2} }, 3, "miopenGetConvolutionNdForwardOutputDim", "channels"},
		{"groups do not fit", func(c *convcases.Case) { c.Convolution.Groups = 2 }, 3, size, "groups"},
		{"no group", func(c *convcases.Case) { c.Convolution.Groups = 0 }, 3, size, "group count"},
		{"output of the wrong length", func(c *convcases.Case) { c.Y.Lengths = []int{1, 2, 1} }, 3, size, "lengths"},
		{"output of the wrong rank", func(c *convcases.Case) { c.Y = oracle.Packed(oracle.Float, []int{1, 2, 2, 1}, nil) }, 3, size, "dimensions"},
		{"output of the wrong type", func(c *convcases.Case) { c.Y.Type = oracle.Int32 }, 3, size, "types"},
		{"integers", func(c *convcases.Case) { c.X.Type, c.W.Type, c.Y.Type = oracle.Int8, oracle.Int8, oracle.Int8 }, 3, size, "types"},
		{"integers to floats", func(c *convcases.Case) { c.X.Type, c.W.Type = oracle.Int8, oracle.Int8 }, 3, size, "types"},
	}
	for d, prefix := range map[oracle.Direction]string{oracle.BackwardData: "miopenConvolutionBackwardData", oracle.BackwardWeights: "miopenConvolutionBackwardWeights"} {
		all := rows
		if d == oracle.BackwardWeights {
			all = append(all[:len(all):len(all)],
				row{"partial sums without workspace", func(c *convcases.Case) {
					c.Route, c.Algorithm, c.Workspace = convcases.Compile, convcases.ImplicitGEMM, convcases.None
				}, 7, full, "not enough workspace for the partial sums: 0 of 32 bytes"},
				row{"partial sums, deterministic", func(c *convcases.Case) {
					c.Route, c.Algorithm, c.Deterministic = convcases.Find, convcases.ImplicitGEMM, true
				}, 7, full, "Was find executed?"})
		}
		for _, c := range all {
			t.Run(d.String()+"/"+c.name, func(t *testing.T) {
				good, spoiled := base(), base()
				good.Direction, spoiled.Direction = d, d
				c.spoil(&spoiled)
				// A good case afterwards: a refusal leaves nothing behind.
				results, stderr := convrun(t, []convcases.Case{spoiled, good})
				require.NoError(t, good.Check(results[1]))
				r := results[0]
				function := c.function
				if len(function) < 6 || function[:6] != "miopen" {
					function = prefix + function
				}
				require.Equal(t, c.status, r.Status, r.Function)
				require.Equal(t, function, r.Function)
				require.Contains(t, stderr, "Error ["+function+"] ")
				require.Contains(t, stderr, c.message)
				_, before := spoiled.Result(d)
				require.Equal(t, before, r.Y, "a refused call wrote its result")
			})
		}
	}
}

// A workspace that is one byte short of the largest takes the solver that needs all of it.
func TestConvolutionBackwardShortWorkspace(t *testing.T) {
	for _, d := range []oracle.Direction{oracle.BackwardData, oracle.BackwardWeights} {
		c := base()
		c.Direction, c.Route, c.Algorithm, c.Workspace = d, convcases.Find, convcases.Direct, convcases.Short
		results, stderr := convrun(t, []convcases.Case{c})
		require.Empty(t, stderr)
		require.NoError(t, c.Check(results[0]))
		require.NotContains(t, results[0].Found, convcases.GEMM)
		require.Contains(t, results[0].Solutions, convcases.GEMM)
	}
}
