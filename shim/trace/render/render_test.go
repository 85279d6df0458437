package render_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/shim/trace"
	"example.com/miopen_hipdnn_shim/shim/trace/render"
	"example.com/miopen_hipdnn_shim/shim/trace/tracetest"
	"example.com/miopen_hipdnn_shim/shim/trace/tsc"
)

func noClock() (tsc.Moment, bool) { return tsc.Moment{}, false }

func open(t *testing.T, files ...tracetest.File) *trace.Trace {
	t.Helper()
	dir := t.TempDir()
	for i, f := range files {
		f.Write(t, dir, fmt.Sprintf("%d.0.trace", i))
	}
	tr, err := trace.OpenAt(dir, noClock)
	require.NoError(t, err)
	return tr
}

func rendered(t *testing.T, tr *trace.Trace, format render.Format) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, render.Write(&b, tr, format))
	return b.String()
}

func TestCalls(t *testing.T) {
	want := `     since start       pid       tid   sequence  function duration
     0.000001000       100       100          0  miopenAlpha -
     0.000002000       100       100          1  miopenBeta 500ns
     0.000003500       100       101          2  miopenBeta 300ns
     0.000004500       100       101          3  miopenBeta 400ns
     0.000005500       100       101          4  miopenBeta 500ns
     0.000006500       100       101          5  miopenBeta 600ns
     0.000007500       100       101          6  miopenBeta 700ns
     0.000008500       100       101          7  miopenBeta 800ns
     0.000009500       100       101          8  miopenBeta 900ns
     0.000010500       100       101          9  miopenBeta 1µs
     0.000020000       100       100          2  miopenGamma open
`
	require.Equal(t, want, rendered(t, open(t, tracetest.Sample()), render.Calls))
}

// TestWideCalls: numbers beyond their columns, and a clock before the start, stay apart and readable.
func TestWideCalls(t *testing.T) {
	f := tracetest.Sample()
	f.PID = 4_000_000_000
	f.Rings = []tracetest.Ring{{TID: 4_100_000_000, Calls: []tracetest.Call{{Clock: 0}, {Clock: 1 << 63}}}}
	want := `     since start       pid       tid   sequence  function duration
    -0.000500000 4000000000 4100000000          0  miopenAlpha -
 4611686018.426887904 4000000000 4100000000          1  miopenAlpha -
`
	require.Equal(t, want, rendered(t, open(t, f), render.Calls))
}

func TestThreads(t *testing.T) {
	f := tracetest.Sample()
	f.Rings[1].Calls = f.Rings[1].Calls[:2]
	want := `     since start       pid       tid   sequence  function duration
process 100 (sample), thread 100: 3 calls, 1 open
     0.000001000       100       100          0  miopenAlpha -
     0.000002000       100       100          1  miopenBeta 500ns
     0.000020000       100       100          2  miopenGamma open
process 100 (sample), thread 101: 2 calls
     0.000001500       100       101          0  miopenBeta 100ns
     0.000002500       100       101          1  miopenBeta 200ns
`
	require.Equal(t, want, rendered(t, open(t, f), render.Threads))
}

func TestTSV(t *testing.T) {
	f := tracetest.Sample()
	f.Rings = f.Rings[:1]
	f.LastClock, f.LastNanos = 0, 0
	want := "start\tunit\tpid\ttid\tring\tsequence\tfunction\tstate\tduration\n" +
		"2000\tticks\t100\t100\t0\t0\tmiopenAlpha\tinstant\t\n" +
		"4000\tticks\t100\t100\t0\t1\tmiopenBeta\treturned\t1000\n" +
		"40000\tticks\t100\t100\t0\t2\tmiopenGamma\topen\t\n"
	require.Equal(t, want, rendered(t, open(t, f), render.TSV))
}

func TestTable(t *testing.T) {
	text := rendered(t, open(t, tracetest.Sample()), render.Table)
	squeezed := strings.Join(strings.Fields(text), " ")
	for _, row := range []string{
		"│ 100 │ 1 │ sample │ 0.000000000 │ 2 │ 13 │ 2 │ 0 │ 0 │ 1 │ 0 │",
		"│ miopenBeta │ 9 │ 5.7µs │ 633ns │ 600ns │ 1µs │ 0.000002000 │ 0.000010500 │",
		"│ miopenAlpha │ 1 │ - │ - │ - │ - │ 0.000001000 │ 0.000001000 │",
		"│ all │ 11 │",
	} {
		require.Contains(t, squeezed, row)
	}
}

func TestFunctions(t *testing.T) {
	f := tracetest.Sample()
	f.Capacity = 256
	f.Rings = f.Rings[:1]
	f.Rings[0].Calls = nil
	for i := range uint64(200) { // 200, 199, … 1 ns
		f.Rings[0].Calls = append(f.Rings[0].Calls, tracetest.Call{Clock: f.StartClock + 2*i, Function: 2, Flags: 1, Duration: 2 * (200 - i)})
	}
	for range 3 {
		f.Rings[0].Calls = append(f.Rings[0].Calls, tracetest.Call{Clock: f.StartClock + 1000, Function: 1})
	}
	f.Rings[0].Calls = append(f.Rings[0].Calls, tracetest.Call{Clock: f.StartClock + 1000, Function: 0})
	all := render.Functions(open(t, f))
	require.Len(t, all, 3)
	require.Equal(t, []string{"miopenGamma", "miopenBeta", "miopenAlpha"}, []string{all[0].Name, all[1].Name, all[2].Name})
	require.Equal(t, &render.Durations{Calls: 200, Total: 20100, Mean: 100, P50: 100, P99: 198}, all[0].Durations)
	require.Equal(t, []int64{0, 199}, []int64{all[0].First, all[0].Last})
	require.Nil(t, all[1].Durations)
	require.Equal(t, 3, all[1].Calls)

	// Durations that a damaged file may hold.
	f.Rings[0].Calls = []tracetest.Call{{Flags: 1, Duration: 1<<64 - 1}, {Flags: 1, Duration: 1<<64 - 1}}
	d := render.Functions(open(t, f))[0].Durations
	require.Positive(t, d.Total)
	require.Positive(t, d.Mean)
}

func TestJSON(t *testing.T) {
	f := tracetest.Sample()
	f.Command = "a\"\x1b[2J\xff"
	other := tracetest.Sample()
	other.PID, other.Rings = 7, nil
	type document struct {
		Processes []struct {
			PID     int
			Command string
			Clock   struct {
				Source, Unit string
				Rate         float64 `json:"ticks_per_ns"`
			}
			Threads []struct{ TID, Calls, Overwritten, Open int }
			Damage  []any
		}
		Functions []render.Function
		Calls     []struct {
			Start    int64
			PID, TID int
			Sequence int
			Function string
			State    string
			Duration *int64
			Unit     string
		}
	}
	var d document
	require.NoError(t, json.Unmarshal([]byte(rendered(t, open(t, f, other), render.JSON)), &d))
	require.Len(t, d.Processes, 2)
	require.Len(t, d.Functions, 3)
	require.Len(t, d.Calls, 11)
	require.Equal(t, []int{101, 10, 2, 0}, []int{d.Processes[1].Threads[1].TID, d.Processes[1].Threads[1].Calls, d.Processes[1].Threads[1].Overwritten, d.Processes[1].Threads[1].Open})
	require.Equal(t, int64(500), *d.Calls[1].Duration)
	require.Nil(t, d.Calls[0].Duration)
	require.Equal(t, "open", d.Calls[10].State)
	require.Equal(t, 2.0, d.Processes[0].Clock.Rate)
	require.True(t, json.Valid([]byte(rendered(t, open(t, other), render.JSON))), "without a call")
}

// TestTerminal: nothing that a traced process chose reaches a terminal as it is.
func TestTerminal(t *testing.T) {
	f := tracetest.Sample()
	f.Command = "\x1b[2J\nx"
	tr := open(t, f)
	for _, format := range render.Formats {
		require.NotContains(t, rendered(t, tr, format), "\x1b", format)
	}
	require.Contains(t, rendered(t, tr, render.Threads), `("\x1b[2J\nx")`)
}

func TestNotes(t *testing.T) {
	complete := tracetest.Sample()
	complete.Rings = complete.Rings[:1]
	require.Empty(t, render.Notes(open(t, complete)))

	f := tracetest.Sample()
	f.RingsLost, f.ThreadsBeyond, f.CallsLost = 1, 3, 12
	f.LastClock, f.LastNanos = 0, 0
	f.Rings[0].Calls[1].Clock = 0
	tr := open(t, f)
	tr.Processes[0].Threads[0].Missing = 3
	tr.Processes[0].Threads[0].Gaps = []trace.Gap{{First: 1, Count: 2}, {First: 9, Count: 1}}
	notes := strings.Join(render.Notes(tr), "\n")
	for _, want := range []string{
		"12 calls are not in the trace (no ring could be made for 1 threads: there was no room, or",
		"; 3 threads came when the file had all the rings",
		"times are in ticks",
		"2 calls were overwritten by newer ones, the oldest of 1 of its 2 threads",
		"3 calls of 1 threads were counted and not recorded",
		"(thread 100: call 1 to 2, 9)",
		"the clock of 1 calls is before",
	} {
		require.Contains(t, notes, want)
	}
}

type full struct{}

var errFull = errors.New("no space left")

func (full) Write([]byte) (int, error) { return 0, errFull }

func TestWriteErrors(t *testing.T) {
	tr := open(t, tracetest.Sample())
	for _, format := range render.Formats {
		require.ErrorIs(t, render.Write(full{}, tr, format), errFull, format)
	}
	require.ErrorContains(t, render.Write(&bytes.Buffer{}, tr, "xml"), `no format "xml"`)
}
