// Command pairing measures what a hipDNN handle beside each of MIOpen's costs, and whether the order in which the two are made
// matters: the investigation had a mode for hipDNN first, and no number for it.
//
// Fresh processes, in turn: MIOpen's handle alone; both, MIOpen's first; both, hipDNN's first; and the wrapper making the
// pair by itself in miopenCreate (MIOPEN_HIPDNN_FORWARDING_EAGER), which brings the forwarding library with its Go runtime.
// hipDNN is the reference backend, whose handles cost little: only the order's effect and the wrapper's share are of use.
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"

	"example.com/miopen_hipdnn_shim/tests/bench/bar"
	"example.com/miopen_hipdnn_shim/tests/bench/subject"
	"example.com/miopen_hipdnn_shim/tests/runfile"
)

type arguments struct {
	subject.Flags
	Launches int `help:"Processes of each kind." default:"40"`
}

func main() {
	var args arguments
	bar.Parse(&args, "Cost of paired handles, by the order in which they are made.")
	bar.Run("pairing", func() (*bar.Report, error) { return measure(args) })
}

const timeout = time.Minute

// The orders, as the worker has them.
const (
	alone   = "miopen"
	first   = "first"
	reverse = "reverse"
	eager   = "eager"
)

var orders = []string{alone, first, reverse, eager}

// The worker's fields.
const (
	all = iota
	miopen
	hipdnn
	rss
	fields
)

func measure(args arguments) (*bar.Report, error) {
	s, err := args.Open()
	if err != nil {
		return nil, err
	}
	defer s.Close()
	backend, err := runfile.Path("BACKEND")
	if err != nil {
		return nil, err
	}
	if err := s.Beside("BRIDGE", "SIMHIP"); err != nil {
		return nil, err
	}
	samples := map[string][fields]bar.Samples{}
	progress := progressbar.NewOptions(args.Launches, progressbar.OptionSetWriter(os.Stderr), progressbar.OptionSetDescription("launches"))
	before := subject.Load()
	for launch := -1; launch < args.Launches; launch++ {
		for i := range orders {
			order := orders[(launch+1+i)%len(orders)]
			values, err := run(s, backend, order)
			if err != nil {
				return nil, err
			}
			if launch < 0 { // the first of each warms the caches
				continue
			}
			of := samples[order]
			for field, value := range values {
				if field != rss {
					value /= 1e3
				}
				of[field] = append(of[field], value)
			}
			samples[order] = of
		}
		if launch >= 0 {
			_ = progress.Add(1)
		}
	}
	fmt.Fprintln(os.Stderr)

	var report bar.Report
	report.Row("load average, before and after", bar.Samples{before, subject.Load()}, "")
	report.Row("miopenCreate, no hipDNN", samples[alone][miopen], "us")
	for _, of := range []struct{ order, what string }{{first, "MIOpen, then hipDNN"}, {reverse, "hipDNN, then MIOpen"}} {
		report.Row(of.what+": both", samples[of.order][all], "us")
		report.Row(of.what+": miopenCreate", samples[of.order][miopen], "us")
		report.Row(of.what+": hipdnnCreate", samples[of.order][hipdnn], "us")
		report.Row(of.what+": peak resident size", samples[of.order][rss], "KB")
	}
	report.Row("hipDNN first / MIOpen first", samples[reverse][all].Over(samples[first][all]), "x")
	report.Row("hipDNN first - MIOpen first: peak resident size", samples[reverse][rss].Minus(samples[first][rss]), "KB")
	report.Row("miopenCreate that pairs, the first of a process", samples[eager][miopen], "us")
	report.Row("miopenCreate that pairs: peak resident size over MIOpen alone", samples[eager][rss].Minus(samples[alone][rss]), "KB")
	return &report, nil
}

func run(s *subject.Subject, backend, order string) ([]float64, error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	cmd, err := s.Command(ctx, true, s.Wrapper, backend, order)
	if err != nil {
		return nil, err
	}
	if order == eager {
		cmd.Env = append(cmd.Env, "MIOPEN_HIPDNN_FORWARDING=1", "MIOPEN_HIPDNN_FORWARDING_EAGER=1", "HIPDNN_BACKEND_LIBRARY_PATH="+backend)
	}
	rows, err := subject.Read(cmd)
	if err != nil {
		return nil, err
	}
	if len(rows) != 1 || len(rows[0].Values) != fields {
		return nil, fmt.Errorf("the worker printed %v", rows)
	}
	return rows[0].Values, nil
}
