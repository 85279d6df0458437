package refmiopen_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// operations-3.5.1.txt is what driver/operations.c prints on the real MIOpen 3.5.1 on a simulated gfx942
// (tests/simhip).
const operations = "testdata/operations-3.5.1.txt"

// What is wrong with a call is answered with the real library's status, call by call.
func TestOperationsAsTheRealLibrary(t *testing.T) {
	got := run(t, "", client(t, "operations"))
	require.Zero(t, got.exit, got.stderr)
	have, want := sections(t, got.stdout), sections(t, string(readFile(t, operations)))
	require.Len(t, want, 8)
	compared := 0
	for name, lines := range want {
		require.Equal(t, lines, have[name], name)
		compared += len(lines)
	}
	require.Len(t, have, len(want))
	require.Greater(t, compared, 250)

	// Every function that is new in it is called, and refuses something.
	for _, name := range names(t, "src/implemented.txt") {
		backward := strings.Contains(name, "Backward") && name != "miopenConvolutionBackwardBias"
		if backward || strings.Contains(name, "Fus") || strings.Contains(name, "OpArgs") || strings.Contains(name, "CreateOp") ||
			strings.Contains(name, "ActivationDescriptor") || strings.Contains(name, "BiasActivation") || strings.Contains(name, "ForwardBias") ||
			strings.Contains(name, "FindOption") || strings.Contains(name, "Problem") {
			require.Regexp(t, `(?m)^\d `+name+`\(`, got.stdout)
			if !strings.Contains(name, "Destroy") {
				require.Regexp(t, `(?m)^[1-9] `+name+`\(`, got.stdout)
			}
		}
	}
}

// What the real library would crash on is refused here, so that a test of whoever calls it says so.
func TestFatalCallsAreRefused(t *testing.T) {
	got := run(t, "", client(t, "operations"), "fatal")
	require.Zero(t, got.exit, got.stderr)
	var executed, refused []string
	for _, line := range strings.Split(strings.TrimSpace(got.stdout), "\n") {
		switch {
		case strings.Contains(line, "miopenExecuteFusionPlan("):
			executed = append(executed, line[:1])
		case line[0] != '0':
			refused = append(refused, line[:strings.Index(line, "(")])
		}
	}
	// Without arguments, without the bias's, with null for the bias, the input, the output; then as it should
	// be; with null for the filter; after a change; with arguments of another kind.
	require.Equal(t, []string{"3", "3", "3", "3", "3", "0", "3", "3", "7"}, executed, got.stderr)
	require.Equal(t, []string{
		"3 miopenConvolutionForwardImmediate", "3 miopenConvolutionBackwardDataImmediate", "3 miopenConvolutionBackwardWeightsImmediate",
		"3 miopenConvolutionForwardBias", "3 miopenConvolutionForwardBias", "3 miopenCreateConvProblem", "3 miopenCreateConvProblem",
	}, refused)
	require.Contains(t, got.stderr, "the arguments of operation 0 were not set")
	require.Contains(t, got.stderr, "the arguments of operation 1 were not set")
	require.Contains(t, got.stderr, "the arguments of operation 0 are those of another kind")

	mistake := run(t, "", client(t, "operations"), "more")
	require.Equal(t, 2, mistake.exit)
	require.Contains(t, mistake.stderr, "usage: operations")
}
