package main

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/tests/bench/subject"
)

// What a process leaves that did not trace, or traced something else, is not taken for a trace of its calls.
func TestIncomplete(t *testing.T) {
	line := []byte("[MIOPEN_HIPDNN_WRAPPER] miopenGetVersion\n")
	require.NoError(t, modes[off].complete("", nil, 3))
	require.NoError(t, modes[summary].complete("", []byte("process 7: 3 miopenGetVersion\n"), 3))
	require.NoError(t, modes[lines].complete("", bytes.Repeat(line, 3), 3))

	for name, c := range map[string]struct {
		mode   int
		stderr []byte
	}{
		"off, and a trace":         {off, line},
		"summary, none":            {summary, nil},
		"summary, fewer calls":     {summary, []byte("process 7: 2 miopenGetVersion\n")},
		"summary, more calls":      {summary, []byte("process 7: 13 miopenGetVersion\n")},
		"summary, another":         {summary, []byte("process 7: 3 miopenCreate\n")},
		"stderr, none":             {lines, nil},
		"stderr, fewer":            {lines, bytes.Repeat(line, 2)},
		"stderr, something beside": {lines, append(bytes.Repeat(line, 3), "warning\n"...)},
		"ring, no folder":          {ring, nil},
	} {
		t.Run(name, func(t *testing.T) {
			require.Error(t, modes[c.mode].complete(t.TempDir(), c.stderr, 3))
		})
	}
}

// The bar that is no matter of time: a thread that has its ring allocates nothing, also when the ring comes round. The
// worker's own control makes sure that its watch sees what there is.
func TestAllocations(t *testing.T) {
	s, err := subject.Flags{}.Open()
	require.NoError(t, err)
	defer s.Close()
	allocations, err := countAllocations(s, 100_000)
	require.NoError(t, err)
	require.Zero(t, allocations.Median())
}
