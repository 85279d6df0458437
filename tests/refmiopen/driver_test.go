package refmiopen_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/tests/refmiopen/convcases"
)

// Input that is not in the driver's format ends it with status 2 and the number of the line.
func TestDriverRefusesBadInput(t *testing.T) {
	var good bytes.Buffer
	require.NoError(t, convcases.Write(&good, []convcases.Case{base()}))
	lines := strings.SplitAfter(good.String(), "\n")
	require.Len(t, lines, 8) // seven and the empty rest
	program := client(t, "convrun")
	require.Zero(t, run(t, good.String(), program).exit)
	require.Zero(t, run(t, "\n# a comment\n"+good.String(), program).exit)

	for what, c := range map[string]struct {
		line int
		text string
	}{
		"unknown word quadruple":      {1, "x quadruple 1 1 00\n"},
		"unknown line z":              {1, "z float 1 1 00\n"},
		"half a byte":                 {1, "x float 1 1 000\n"},
		"lower-case":                  {1, "x float 1 1 0G\n"},
		"differ in number":            {2, "w float 1,2 1 00\n"},
		"the buffer is missing":       {3, "y float 1,2 1,2\n"},
		"more than 5 numbers":         {4, "conv 1,1,1,1,1,1 1 1 1\n"},
		"a number is wrong":           {4, "conv 99999999999 1 1 1\n"},
		"a comma is missing":          {4, "conv 1;2 1 1 1\n"},
		"alpha is not a number":       {5, "scale one 0\n"},
		"unknown word guess":          {6, "run guess direct full\n"},
		"unknown word magic":          {6, "run find magic full\n"},
		"unknown word huge":           {6, "run find direct huge\n"},
		"the input ends inside":       {6, ""},
		"run before it is complete":   {3, ""},
		"the workspace is missing":    {6, "run find direct\n"},
		"the name is too long":        {0, "case " + strings.Repeat("n", 100) + "\n"},
		"pads, strides and dilations": {4, "conv 1 1,1 1 1\n"},
	} {
		t.Run(what, func(t *testing.T) {
			changed := append([]string(nil), lines...)
			changed[c.line] = c.text
			got := run(t, strings.Join(changed, ""), program)
			require.Equal(t, 2, got.exit)
			require.Contains(t, got.stderr, what)
			require.Contains(t, got.stderr, "convrun: line ")
			require.Empty(t, got.stdout)
		})
	}
	for _, arguments := range [][]string{{"--threads"}, {"--threads", "0"}, {"--threads", "65"}, {"x", "1"}} {
		got := run(t, "", program, arguments...)
		require.Equal(t, 2, got.exit)
		require.Contains(t, got.stderr, "usage: convrun")
	}
}

// With MIOPEN_ENABLE_LOGGING=1 the library says which entry points it came through, its own calls
// included; without it, nothing.
func TestLoggingNamesEntryPoints(t *testing.T) {
	var in bytes.Buffer
	require.NoError(t, convcases.Write(&in, []convcases.Case{base()}))
	program := client(t, "convrun")
	silent := run(t, in.String(), program)
	require.Empty(t, silent.stderr)
	logged := runWith(t, []string{"MIOPEN_ENABLE_LOGGING=1"}, in.String(), program)
	require.Equal(t, silent.stdout, logged.stdout)
	require.True(t, strings.HasPrefix(logged.stderr, "MIOpen(REF): miopenCreate\nMIOpen(REF): miopenCreateWithStream\n"), logged.stderr)
	require.Contains(t, logged.stderr, "MIOpen(REF): miopenConvolutionForward\nMIOpen(REF): miopenGetTensorDescriptorSize\n")
	require.NotContains(t, logged.stderr, "_impl")
	for _, value := range []string{"0", "", "yes"} {
		require.Empty(t, runWith(t, []string{"MIOPEN_ENABLE_LOGGING=" + value}, in.String(), program).stderr)
	}
}
