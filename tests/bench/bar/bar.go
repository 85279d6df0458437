// Package bar is how every benchmark of this repository measures and reports: paired runs with a warm-up,
// medians with their spread, a table, and one line per bar that a script can read:
//
//	BAR <name> <value> <unit> limit <x> ok|short
//
// It knows nothing of what is measured.
package bar

import (
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
)

// Exit statuses of a benchmark.
const (
	Held     = 0 // every bar holds
	Short    = 1 // a bar does not hold
	Usage    = 2
	Measured = 3 // nothing was measured, so nothing can be said
)

// Samples are repeated measurements of one thing, in one unit.
type Samples []float64

// Seconds appends a duration.
func (s *Samples) Seconds(d time.Duration) { *s = append(*s, d.Seconds()) }

// Median is the middle value, NaN when there is none.
func (s Samples) Median() float64 { return s.quantile(0.5) }

// Spread is the interquartile range.
func (s Samples) Spread() float64 { return s.quantile(0.75) - s.quantile(0.25) }

func (s Samples) quantile(q float64) float64 {
	if len(s) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(s))
	at := q * float64(len(sorted)-1)
	low := int(at)
	if low+1 == len(sorted) {
		return sorted[low]
	}
	return sorted[low] + (at-float64(low))*(sorted[low+1]-sorted[low])
}

// Report collects rows and bars.
type Report struct {
	rows []table.Row
	bars []bound
}

type bound struct {
	name, unit   string
	value, limit float64
}

// Row adds a line to the table: what was measured, its samples and their unit.
func (r *Report) Row(what string, samples Samples, unit string) {
	r.rows = append(r.rows, table.Row{what, len(samples), fmt.Sprintf("%.4g", samples.Median()), fmt.Sprintf("%.2g", samples.Spread()), unit})
}

// AtMost adds a bar that holds when value <= limit.
func (r *Report) AtMost(name string, value float64, unit string, limit float64) {
	r.bars = append(r.bars, bound{name, unit, value, limit})
}

// Finish writes the table and the bars, and returns the exit status.
func (r *Report) Finish(w io.Writer) int {
	t := table.NewWriter()
	t.AppendHeader(table.Row{"measured", "runs", "median", "spread", "unit"})
	t.AppendRows(r.rows)
	fmt.Fprintln(w, t.Render())
	status := Held
	if len(r.bars) == 0 {
		return Measured
	}
	for _, b := range r.bars {
		verdict := "ok"
		switch {
		case math.IsNaN(b.value):
			verdict, status = "short", Measured
		case b.value > b.limit:
			verdict = "short"
			if status == Held {
				status = Short
			}
		}
		fmt.Fprintf(w, "BAR %s %.4g %s limit %.4g %s\n", b.name, b.value, b.unit, b.limit, verdict)
	}
	return status
}
