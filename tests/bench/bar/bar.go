// Package bar is how every benchmark of this repository measures and reports: paired runs with a warm-up,
// medians with their spread, a table, and one line per bar that a script can read:
//
//	BAR <name> <value> <unit> limit <x> ok|short
//
// Runs on a machine that does other things too are skewed and have outliers, so the middle is the median, and how well it
// is known is a bootstrap interval, which assumes no distribution.
//
// It knows nothing of what is measured.
package bar

import (
	"fmt"
	"io"
	"math"
	"math/rand/v2"
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

// resamples of a bootstrap: enough for the ends of a 95 % interval to be settled to a few percent of its width.
const resamples = 4000

// Interval is the 95 % bootstrap interval of the median, by the percentile method; NaN when there are no samples. The same
// samples give the same interval.
func (s Samples) Interval() (low, high float64) {
	random := rand.New(rand.NewPCG(uint64(len(s)), resamples))
	medians := make(Samples, resamples)
	drawn := make(Samples, len(s))
	for i := range medians {
		for j := range drawn {
			drawn[j] = s[random.IntN(len(s))]
		}
		medians[i] = drawn.Median()
	}
	return medians.quantile(0.025), medians.quantile(0.975)
}

// Minus is the differences of pairs; s and other are of the same length, pair by pair.
func (s Samples) Minus(other Samples) Samples {
	return s.pairs(other, func(a, b float64) float64 { return a - b })
}

// Over is the ratios of pairs; s and other are of the same length, pair by pair.
func (s Samples) Over(other Samples) Samples {
	return s.pairs(other, func(a, b float64) float64 { return a / b })
}

func (s Samples) pairs(other Samples, combine func(a, b float64) float64) Samples {
	if len(s) != len(other) {
		panic(fmt.Sprintf("bar: %d samples cannot be paired with %d", len(s), len(other)))
	}
	out := make(Samples, len(s))
	for i := range s {
		out[i] = combine(s[i], other[i])
	}
	return out
}

// Report collects rows and bars.
type Report struct {
	rows []table.Row
	bars []bound
}

type bound struct {
	name, unit   string
	value, limit float64
	held         bool
}

// Row adds a line to the table: what was measured, its samples and their unit.
func (r *Report) Row(what string, samples Samples, unit string) {
	low, high := samples.Interval()
	r.rows = append(r.rows, table.Row{what, len(samples), fmt.Sprintf("%.4g", samples.Median()),
		fmt.Sprintf("%.4g to %.4g", low, high), fmt.Sprintf("%.2g", samples.Spread()), unit})
}

// AtMost adds a bar that holds when value <= limit.
func (r *Report) AtMost(name string, value float64, unit string, limit float64) {
	r.bars = append(r.bars, bound{name, unit, value, limit, value <= limit})
}

// RatioAtMost adds a bar on ratios of pairs. It holds when their median is <= limit, and also when the interval of the
// median reaches down to 1: then the runs do not tell the two apart.
func (r *Report) RatioAtMost(name string, ratios Samples, limit float64) {
	median := ratios.Median()
	low, _ := ratios.Interval()
	r.bars = append(r.bars, bound{name, "x", median, limit, median <= limit || low <= 1})
}

// Finish writes the table and the bars, and returns the exit status.
func (r *Report) Finish(w io.Writer) int {
	t := table.NewWriter()
	t.AppendHeader(table.Row{"measured", "runs", "median", "95 % interval", "spread", "unit"})
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
		case !b.held:
			verdict = "short"
			if status == Held {
				status = Short
			}
		}
		fmt.Fprintf(w, "BAR %s %.4g %s limit %.4g %s\n", b.name, b.value, b.unit, b.limit, verdict)
	}
	return status
}
