// Command load measures what it costs a process to open the wrapper and the private library instead of the stock library:
// time, page faults, context switches and memory, in fresh processes, with the files in the page cache and without.
//
// The dependencies are the same on both sides and take nearly all the time of a process that opens them too. So a warm
// launch is measured both ways: as an application has it, and with the dependencies loaded before, where only the files
// that differ are left.
package main

import (
	"debug/elf"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/schollz/progressbar/v3"

	"example.com/miopen_hipdnn_shim/tests/bench/bar"
	"example.com/miopen_hipdnn_shim/tests/bench/subject"
)

type arguments struct {
	subject.Flags
	Pairs int `help:"Launches on the stock library and as many on the split, of each kind." default:"60"`
}

func main() {
	var args arguments
	bar.Parse(&args, "Cost of loading the split instead of the stock library.")
	bar.Run("load", func() (*bar.Report, error) { return measure(args) })
}

func measure(args arguments) (*bar.Report, error) {
	s, err := args.Open()
	if err != nil {
		return nil, err
	}
	defer s.Close()
	dependencies, err := needed(s.Stock)
	if err != nil {
		return nil, err
	}
	progress := progressbar.NewOptions(3*args.Pairs, progressbar.OptionSetWriter(os.Stderr), progressbar.OptionSetDescription("pairs"))
	run := bench{s, args.Pairs, progress}
	before := subject.Load()
	warm, err := run.pairs(nil, nil)
	if err != nil {
		return nil, err
	}
	alone, err := run.pairs(dependencies, nil)
	if err != nil {
		return nil, err
	}
	cold, notCold := run.pairs(dependencies, []string{s.Stock, s.Wrapper, s.Private})
	fmt.Fprintln(os.Stderr)

	var report bar.Report
	report.Row("load average, before and after", bar.Samples{before, subject.Load()}, "")
	warm.rows(&report, "warm")
	alone.rows(&report, "warm, dependencies loaded")
	// One more file and a look-up for each entry point take the loader 0.2 to 0.3 ms. The reference library loads in 2 ms with all
	// that it needs, the real one in 100, so 5 % would say nothing of the one or of the other.
	report.RatioAtMost("load-time", warm[nanoseconds].ratio(), max(1.05, 1+0.5e6/warm[nanoseconds].stock.Median()))
	report.AtMost("load-rss", warm[rss].difference().Median(), "KB", 1024)
	if notCold != nil {
		fmt.Fprintln(os.Stderr, "load: nothing is known of a cold start:", notCold)
	} else {
		cold.rows(&report, "cold, dependencies loaded")
	}
	report.AtMost("load-cold-major-faults", cold[majorFaults].difference().Median(), "", 6)
	return &report, nil
}

// needed is what the library's DT_NEEDED lists, without the dynamic loader, which every process has.
func needed(library string) ([]string, error) {
	file, err := elf.Open(library)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	libraries, err := file.ImportedLibraries()
	return slices.DeleteFunc(libraries, func(name string) bool { return strings.HasPrefix(name, "ld-linux") }), err
}

// The worker's fields.
const (
	nanoseconds = iota
	cpu
	majorFaults
	minorFaults
	voluntary
	involuntary
	rss
	fields
)

// paired is one quantity, launch by launch.
type paired struct{ stock, split bar.Samples }

func (p paired) difference() bar.Samples { return p.split.Minus(p.stock) }
func (p paired) ratio() bar.Samples      { return p.split.Over(p.stock) }

// launches are all quantities of one kind of launch.
type launches [fields]paired

func (l launches) rows(report *bar.Report, kind string) {
	milliseconds := func(s bar.Samples) bar.Samples {
		var out bar.Samples
		for _, value := range s {
			out = append(out, value/1e6)
		}
		return out
	}
	report.Row(kind+": stock", milliseconds(l[nanoseconds].stock), "ms")
	report.Row(kind+": split", milliseconds(l[nanoseconds].split), "ms")
	report.Row(kind+": split - stock", milliseconds(l[nanoseconds].difference()), "ms")
	report.Row(kind+": split / stock", l[nanoseconds].ratio(), "x")
	report.Row(kind+": processor time, split - stock", milliseconds(l[cpu].difference()), "ms")
	report.Row(kind+": processor time, split / stock", l[cpu].ratio(), "x")
	for _, quantity := range []struct {
		field      int
		what, unit string
	}{
		{majorFaults, "major faults", ""},
		{minorFaults, "minor faults", ""},
		{voluntary, "voluntary context switches", ""},
		{involuntary, "involuntary context switches", ""},
		{rss, "peak resident size", "KB"},
	} {
		p := l[quantity.field]
		report.Row(fmt.Sprintf("%s: %s, stock %.0f, split - stock", kind, quantity.what, p.stock.Median()), p.difference(), quantity.unit)
	}
}

type bench struct {
	*subject.Subject
	count    int
	progress *progressbar.ProgressBar
}

// pairs launches the worker on both, in turn first, with the dependencies opened before; each time after the files in
// cold have been taken out of the page cache.
func (b bench) pairs(dependencies, cold []string) (launches, error) {
	var out launches
	for pair := -1; pair < b.count; pair++ {
		var values [2][]float64
		for i := range 2 {
			which := (pair + 1 + i) % 2
			library := b.Stock
			if which == 1 {
				library = b.Wrapper
			}
			if err := evict(cold...); err != nil {
				return launches{}, err
			}
			rows, err := b.Run(which == 1, append([]string{library}, dependencies...)...)
			if err != nil {
				return launches{}, err
			}
			if len(rows) != 1 || len(rows[0].Values) != fields {
				return launches{}, fmt.Errorf("the worker printed %v", rows)
			}
			values[which] = rows[0].Values
		}
		if pair < 0 { // the first pair warms the cache
			continue
		}
		for field := range fields {
			out[field].stock = append(out[field].stock, values[0][field])
			out[field].split = append(out[field].split, values[1][field])
		}
		_ = b.progress.Add(1)
	}
	return out, nil
}
