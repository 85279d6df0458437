// Command load measures what it costs a process to open the wrapper and the private library instead of the stock library:
// time, page faults, context switches and memory, in fresh processes, with the files in the page cache and without.
//
// The dependencies are the same on both sides and take nearly all the time of a process that opens them too. So a warm
// launch is measured both ways: as an application has it, and with the dependencies loaded before, where only the files
// that differ are left.
//
// Of what the split costs, part is the price of any wrapper: the loader has one more file to map and a name to look up for
// each entry point. So a third library is measured beside the two: a bare one, with these references and nothing else.
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
	Pairs int `help:"Launches of each kind on the stock library, and as many on the bare wrapper and the split." default:"60"`
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
	bare, err := linkBare(s.Scratch(), s.Private)
	if err != nil {
		return nil, err
	}
	progress := progressbar.NewOptions(3*args.Pairs, progressbar.OptionSetWriter(os.Stderr), progressbar.OptionSetDescription("pairs"))
	run := bench{s, [libraries]string{stock: s.Stock, bareWrapper: bare, split: s.Wrapper}, args.Pairs, progress}
	before := subject.Load()
	warm, err := run.pairs([]int{stock, bareWrapper, split}, nil, nil)
	if err != nil {
		return nil, err
	}
	alone, err := run.pairs([]int{stock, bareWrapper, split}, dependencies, nil)
	if err != nil {
		return nil, err
	}
	// The bare wrapper lies among temporary files, which may have no other place than memory.
	cold, notCold := run.pairs([]int{stock, split}, dependencies, []string{s.Stock, s.Wrapper, s.Private})
	fmt.Fprintln(os.Stderr)

	var report bar.Report
	report.Row("load average, before and after", bar.Samples{before, subject.Load()}, "")
	warm.rows(&report, "warm")
	alone.rows(&report, "warm, dependencies loaded")
	// Where a bare wrapper costs more than 5 % of the stock library's time already, which it does when that takes two
	// milliseconds with all that it needs, ours may cost 5 % more than the bare one; on the real library it is 5 % of stock.
	time := warm[nanoseconds]
	floor := max(1, time.ratio(bareWrapper).Median())
	report.RatioAtMost("load-time", time.ratio(split), 1.05*floor)
	report.AtMost("load-rss", warm[rss].difference(split).Median(), "KB", 1024)
	if notCold != nil {
		fmt.Fprintln(os.Stderr, "load: nothing is known of a cold start:", notCold)
	} else {
		cold.rows(&report, "cold, dependencies loaded")
	}
	report.AtMost("load-cold-major-faults", cold[majorFaults].difference(split).Median(), "", 6)
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

// The libraries that are compared.
const (
	stock = iota
	bareWrapper
	split
	libraries
)

// compared is one quantity of each library, launch by launch.
type compared [libraries]bar.Samples

func (c compared) difference(library int) bar.Samples { return c[library].Minus(c[stock]) }
func (c compared) ratio(library int) bar.Samples      { return c[library].Over(c[stock]) }

// launches are all quantities of one kind of launch.
type launches [fields]compared

func (l launches) rows(report *bar.Report, kind string) {
	milliseconds := func(s bar.Samples) bar.Samples {
		var out bar.Samples
		for _, value := range s {
			out = append(out, value/1e6)
		}
		return out
	}
	time, processor := l[nanoseconds], l[cpu]
	report.Row(kind+": stock", milliseconds(time[stock]), "ms")
	if len(time[bareWrapper]) > 0 {
		report.Row(kind+": bare wrapper - stock", milliseconds(time.difference(bareWrapper)), "ms")
		report.Row(kind+": bare wrapper / stock", time.ratio(bareWrapper), "x")
	}
	report.Row(kind+": split", milliseconds(time[split]), "ms")
	report.Row(kind+": split - stock", milliseconds(time.difference(split)), "ms")
	report.Row(kind+": split / stock", time.ratio(split), "x")
	report.Row(kind+": processor time, split - stock", milliseconds(processor.difference(split)), "ms")
	report.Row(kind+": processor time, split / stock", processor.ratio(split), "x")
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
		c := l[quantity.field]
		report.Row(fmt.Sprintf("%s: %s, stock %.0f, split - stock", kind, quantity.what, c[stock].Median()), c.difference(split), quantity.unit)
	}
}

type bench struct {
	*subject.Subject
	libraries [libraries]string
	count     int
	progress  *progressbar.ProgressBar
}

// pairs launches the worker on each of the compared libraries, in turn first, with the dependencies opened before; each time
// after the files in cold have been taken out of the page cache.
func (b bench) pairs(compared []int, dependencies, cold []string) (launches, error) {
	var out launches
	for pair := -1; pair < b.count; pair++ {
		var values [libraries][]float64
		for i := range compared {
			which := compared[(pair+1+i)%len(compared)]
			if err := evict(cold...); err != nil {
				return launches{}, err
			}
			rows, err := b.Run(which != stock, append([]string{b.libraries[which]}, dependencies...)...)
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
			for _, library := range compared {
				out[field][library] = append(out[field][library], values[library][field])
			}
		}
		_ = b.progress.Add(1)
	}
	return out, nil
}
