package runtime_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/shim/exports/exportstest"
)

// exitsHost builds exits.cpp, and a program that opens the library itself.
func exitsHost(t *testing.T, stock string) (exits, opens string) {
	t.Helper()
	dir := t.TempDir()
	exits, opens = filepath.Join(dir, "exits"), filepath.Join(dir, "dlexits")
	exportstest.Compile(t, "-O1", "-fno-exceptions", "-o", exits, source(t, "exits.cpp"), stock)
	exportstest.Compile(t, "-O1", "-o", opens, source(t, "dlexits.c"), "-ldl")
	return exits, opens
}

// summaries returns the numbers of calls of all summaries, which have to be of one function, in ascending order.
func summaries(t *testing.T, o output) (calls []int) {
	t.Helper()
	require.Zero(t, o.status, o.stderr)
	lines := o.lines()
	for len(lines) > 1 {
		var total, pid, again, n int
		_, err := fmt.Sscanf(strings.TrimPrefix(lines[0], prefix), "process %d: %d calls of 1 functions", &pid, &total)
		require.NoError(t, err, o.stderr)
		_, err = fmt.Sscanf(strings.TrimPrefix(lines[1], prefix), "process %d: %d miopenAlpha", &again, &n)
		require.NoError(t, err, o.stderr)
		require.Equal(t, []int{pid, total}, []int{again, n})
		calls, lines = append(calls, n), lines[2:]
	}
	slices.Sort(calls)
	return calls
}

// TestCallsAtExit: the summary is printed, and a ring is ended, after the calls that a host makes when it exits.
func TestCallsAtExit(t *testing.T) {
	p := typedPair(t)
	exits, opens := exitsHost(t, p.stock)
	for scenario, want := range map[string][]int{
		"static": {2}, "atexit": {2}, "first in static": {1}, "first in atexit": {1}, "fork": {1, 2}, "no call": nil,
	} {
		t.Run(scenario, func(t *testing.T) {
			require.Equal(t, want, summaries(t, runOn(t, p.dir, []string{traceSummary}, "", exits, scenario)))
			require.Empty(t, runOn(t, p.dir, nil, "", exits, scenario).stderr)
			dir := filepath.Join(t.TempDir(), "ring")
			o := runOn(t, p.dir, []string{traceRing(dir)}, "", exits, scenario)
			require.Zero(t, o.status, o.stderr)
			files := readRings(t, dir)
			require.Len(t, files, len(want))
			for _, f := range files {
				for _, c := range f.rings[0].calls {
					require.Less(t, c.clock, f.last[0], "the last moment is after the last call")
				}
			}
		})
	}
	library := filepath.Join(p.dir, "libMIOpen.so.1")
	require.Equal(t, []int{2}, summaries(t, runOn(t, "", []string{traceSummary}, "", opens, library)))
	// Each namespace has a C library of its own, whose exit functions nobody runs.
	require.Equal(t, []int{1, 2, 3}, summaries(t, runOn(t, "", []string{traceSummary}, "", opens, library, "3")))

	// Control: as an exit function of the first call.
	early := makePair(t, "", mutant(t, "trace.c",
		`s/static void finish(void)/static void nothing(void) { __asm__ volatile(""); }\nvoid finish(void)/; `+
			`s/^  if (counts)$/  extern void finish(void);\n  __cxa_atexit((void (*)(void *))finish, 0, 0);\n&/`)...)
	require.Equal(t, []int{1}, summaries(t, runOn(t, early.dir, []string{traceSummary}, "", exits, "static")))
	require.Equal(t, []int{1}, summaries(t, runOn(t, early.dir, []string{traceSummary}, "", exits, "atexit")))
	o := runOn(t, early.dir, []string{traceSummary}, "", exits, "in malloc")
	require.Equal(t, 4, o.status, "the first call allocates")
}

// TestFirstCallTakesNoLock: a handler whose call is the process's first may interrupt an allocation, or the C library's
// registration of exit functions.
func TestFirstCallTakesNoLock(t *testing.T) {
	p := typedPair(t)
	exits, _ := exitsHost(t, p.stock)
	for _, scenario := range []string{"in malloc", "in atexit"} {
		for trace, value := range traces(t) {
			o := runOn(t, p.dir, []string{"MIOPEN_HIPDNN_TRACE=" + value, forwarding + "on"}, "", exits, scenario)
			require.Zero(t, o.status, "%s, %s: %s", scenario, trace, o.stderr)
		}
	}
}
