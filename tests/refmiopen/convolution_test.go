package refmiopen_test

import (
	"bytes"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/tests/oracle"
	"example.com/miopen_hipdnn_shim/tests/refmiopen/convcases"
)

const (
	seed  = 20240607
	count = 300
)

// convrun runs cases through the driver and returns their results and what it said on stderr.
func convrun(t *testing.T, cases []convcases.Case, arguments ...string) ([]convcases.Result, string) {
	t.Helper()
	var in bytes.Buffer
	require.NoError(t, convcases.Write(&in, cases))
	got := run(t, in.String(), client(t, "convrun"), arguments...)
	require.Zero(t, got.exit, got.stderr)
	results, err := convcases.Parse(strings.NewReader(got.stdout))
	require.NoError(t, err)
	require.Len(t, results, len(cases))
	return results, got.stderr
}

func TestConvolutionForward(t *testing.T) {
	cases := convcases.Generate(seed, count)
	require.GreaterOrEqual(t, len(cases), count)
	results, stderr := convrun(t, cases)
	require.Empty(t, stderr)
	routes := map[convcases.Route]int{}
	algorithms := map[convcases.Algorithm]int{}
	scaled := 0
	for i := range cases {
		c, r := &cases[i], results[i]
		require.NoError(t, c.Check(r))
		require.True(t, r.Timed, c.Name)
		solutions := []convcases.Algorithm{convcases.GEMM, convcases.Direct}
		if c.X.Type == oracle.Int8 {
			solutions = solutions[1:]
		}
		require.Equal(t, solutions, r.Solutions, c.Name)
		if c.Route == convcases.Find {
			require.Equal(t, solutions, r.Found, c.Name)
		}
		routes[c.Route]++
		algorithms[c.Algorithm]++
		if c.Alpha != 1 && c.Beta != 0 {
			scaled++
		}
	}
	t.Logf("%d convolutions: %v, %v, %d with alpha and beta", len(cases), routes, algorithms, scaled)
	require.Len(t, routes, 3)
	require.Len(t, algorithms, 2)
	for _, n := range append(slices.Collect(maps.Values(routes)), slices.Collect(maps.Values(algorithms))...) {
		require.Greater(t, n, count/10)
	}
	require.Greater(t, scaled, count/20)
}

// The controls: a result that is right for a case is wrong for a case that differs in one thing.
// Now and then the difference does not show (an input that only padding meets, a filter that is its
// own mirror image), so it is a share that has to be refused.
func TestConvolutionForwardMutationsAreSeen(t *testing.T) {
	cases := convcases.Generate(seed+1, count)
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

// A single byte of the output that is not as it should be, between the elements or in one, is seen.
func TestConvolutionForwardStrayWritesAreSeen(t *testing.T) {
	cases := convcases.Generate(seed+2, count)
	results, _ := convrun(t, cases)
	gaps := 0
	for i := range cases {
		c, r := &cases[i], results[i]
		require.NoError(t, c.Check(r))
		elements := map[int]bool{}
		c.Y.Each(func(_ []int, offset int) {
			for b := range c.Y.Type.Size() {
				elements[offset+b] = true
			}
		})
		for b := range r.Y {
			if !elements[b] {
				gaps++
				r.Y[b] ^= 1
				require.ErrorContains(t, c.Check(r), "between the elements", c.Name)
				break
			}
		}
	}
	require.Greater(t, gaps, 20)
}

func TestConvolutionForwardThreads(t *testing.T) {
	cases := convcases.Generate(seed+3, count)
	one, _ := convrun(t, cases)
	four, _ := convrun(t, cases, "--threads", "4")
	require.Equal(t, one, four)
}

// base is a case that works, for tests that spoil it.
func base() convcases.Case {
	f := func(values ...float64) []byte {
		b := make([]byte, 4*len(values))
		for i, v := range values {
			oracle.Float.Put(b[4*i:], v)
		}
		return b
	}
	return convcases.Case{
		Name:        "base",
		Convolution: oracle.Convolution{Pads: []int{0}, Strides: []int{1}, Dilations: []int{1}, Groups: 1},
		Operands: oracle.Operands{
			X: oracle.Packed(oracle.Float, []int{1, 2, 3}, nil), XData: f(1, 2, 3, 4, 5, 6),
			W: oracle.Packed(oracle.Float, []int{2, 2, 2}, nil), WData: f(1, 2, 3, 4, 5, 6, 7, 8),
			Y: oracle.Packed(oracle.Float, []int{1, 2, 2}, nil), YData: f(-1, -2, -3, -4),
			Alpha: 1,
		},
		Route: convcases.Find, Algorithm: convcases.Direct, Workspace: convcases.Full,
	}
}

func TestConvolutionForwardRefusals(t *testing.T) {
	const noInvoker = "No invoker was registered for convolution forward. Was find executed?"
	for _, c := range []struct {
		name     string
		spoil    func(c *convcases.Case)
		status   int
		function string
		message  string
	}{
		{"nothing was prepared", func(c *convcases.Case) { c.Route = convcases.Unprepared }, 7, "miopenConvolutionForward", noInvoker},
		{"an algorithm that no solver has", func(c *convcases.Case) { c.Algorithm = convcases.Winograd }, 7, "miopenConvolutionForward", noInvoker},
		{"a solution of no solver", func(c *convcases.Case) { c.Algorithm, c.Route = convcases.Winograd, convcases.Compile }, 3, "miopenConvolutionForwardCompileSolution", "no solver has the id 0"},
		{"immediate mode with a solution of no solver", func(c *convcases.Case) { c.Algorithm, c.Route = convcases.Winograd, convcases.Immediate }, 3, "miopenConvolutionForwardImmediate", "no solver has the id 0"},
		{"not found for want of workspace", func(c *convcases.Case) { c.Algorithm, c.Workspace = convcases.GEMM, convcases.Short }, 7, "miopenConvolutionForward", noInvoker},
		{"compiled, but short of workspace", func(c *convcases.Case) {
			c.Route, c.Algorithm, c.Workspace = convcases.Compile, convcases.GEMM, convcases.Short
		}, 7, "miopenConvolutionForward", "not enough workspace for the matrix multiplication: 31 of 32 bytes"},
		{"compiled, but no workspace", func(c *convcases.Case) {
			c.Route, c.Algorithm, c.Workspace = convcases.Compile, convcases.GEMM, convcases.None
		}, 7, "miopenConvolutionForward", "0 of 32 bytes"},
		{"input and filter of different types", func(c *convcases.Case) { c.W.Type = oracle.Int32 }, 3, "miopenGetConvolutionNdForwardOutputDim", "types"},
		{"channels do not fit", func(c *convcases.Case) { c.W.Lengths = []int{2, 1, 2} }, 3, "miopenGetConvolutionNdForwardOutputDim", "channels"},
		{"groups do not fit", func(c *convcases.Case) { c.Convolution.Groups = 2 }, 3, "miopenConvolutionForwardGetWorkSpaceSize", "groups"},
		{"no group", func(c *convcases.Case) { c.Convolution.Groups = 0 }, 3, "miopenConvolutionForwardGetWorkSpaceSize", "group count"},
		{"output of the wrong length", func(c *convcases.Case) { c.Y.Lengths = []int{1, 2, 1} }, 3, "miopenConvolutionForwardGetWorkSpaceSize", "lengths"},
		{"output of the wrong rank", func(c *convcases.Case) { c.Y = oracle.Packed(oracle.Float, []int{1, 2, 2, 1}, nil) }, 3, "miopenConvolutionForwardGetWorkSpaceSize", "dimensions"},
		{"output of the wrong type", func(c *convcases.Case) { c.Y.Type = oracle.Int32 }, 3, "miopenConvolutionForwardGetWorkSpaceSize", "types"},
		{"integers that are not of 8 bits", func(c *convcases.Case) { c.X.Type, c.W.Type, c.Y.Type = oracle.Int32, oracle.Int32, oracle.Int32 }, 3, "miopenConvolutionForwardGetWorkSpaceSize", "types"},
		{"negative pad", func(c *convcases.Case) { c.Convolution.Pads = []int{-1} }, 3, "miopenInitConvolutionNdDescriptor", "pads"},
		{"stride zero", func(c *convcases.Case) { c.Convolution.Strides = []int{0} }, 3, "miopenInitConvolutionNdDescriptor", "strides"},
		{"tensor stride zero", func(c *convcases.Case) { c.X.Strides = []int{6, 0, 1} }, 3, "miopenSetTensorDescriptor", "positive"},
		{"int8 to int8 in 3-D", func(c *convcases.Case) {
			*c = int8in3D()
		}, 3, "miopenConvolutionForwardGetWorkSpaceSize", "types"},
	} {
		t.Run(c.name, func(t *testing.T) {
			spoiled := base()
			c.spoil(&spoiled)
			// A good case afterwards: a refusal leaves nothing behind.
			results, stderr := convrun(t, []convcases.Case{spoiled, base()})
			require.NoError(t, ptr(base()).Check(results[1]))
			r := results[0]
			require.Equal(t, c.status, r.Status, r.Function)
			require.Equal(t, c.function, r.Function)
			require.Contains(t, stderr, "Error ["+c.function+"] ")
			require.Contains(t, stderr, c.message)
			require.Equal(t, spoiled.YData, r.Y, "a refused call wrote to y")
			require.Error(t, spoiled.Check(r))
		})
	}
}

func int8in3D() convcases.Case {
	c := base()
	one := []int{1, 1, 1, 1, 1}
	c.Convolution = oracle.Convolution{Pads: []int{0, 0, 0}, Strides: []int{1, 1, 1}, Dilations: []int{1, 1, 1}, Groups: 1}
	c.X, c.W, c.Y = oracle.Packed(oracle.Int8, one, nil), oracle.Packed(oracle.Int8, one, nil), oracle.Packed(oracle.Int8, one, nil)
	c.XData, c.WData, c.YData = []byte{1}, []byte{1}, []byte{1}
	return c
}

func ptr(c convcases.Case) *convcases.Case { return &c }

// Found or compiled counts for exactly the problem it was done for.
func TestInvokersAreKeyedByProblem(t *testing.T) {
	prepared := base()
	prepared.Route = convcases.Compile
	for name, change := range map[string]func(c *convcases.Case){
		"the same":       func(*convcases.Case) {},
		"another layout": func(c *convcases.Case) { c.X = oracle.Packed(oracle.Float, c.X.Lengths, []int{0, 2, 1}) },
		"another pad": func(c *convcases.Case) {
			c.Convolution.Pads = []int{1}
			c.Y = oracle.Packed(oracle.Float, []int{1, 2, 4}, nil)
			c.YData = make([]byte, c.Y.Bytes())
		},
		"another algorithm": func(c *convcases.Case) { c.Algorithm = convcases.GEMM },
	} {
		t.Run(name, func(t *testing.T) {
			later := base()
			later.Route = convcases.Assume
			change(&later)
			results, _ := convrun(t, []convcases.Case{prepared, later})
			require.Zero(t, results[0].Status)
			if name == "the same" {
				require.NoError(t, later.Check(results[1]))
			} else {
				require.Equal(t, 7, results[1].Status)
			}
		})
	}
}
