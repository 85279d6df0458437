// Command forward measures what a forwarded call costs its thread: the wrapper's hook, the reading of MIOpen's descriptors,
// the way into Go, the look-up of the plan, and the calls of hipDNN's backend API that execute it.
//
// The backend does nothing. What the calls of it and of the HIP runtime cost by themselves, which are others' to answer for,
// is measured beside it in the same process, and taken off. On the reference library by
// default; with --config=realmiopen the descriptors are those of the real MIOpen, on the simulated device.
package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/schollz/progressbar/v3"

	"example.com/miopen_hipdnn_shim/tests/bench/bar"
	"example.com/miopen_hipdnn_shim/tests/bench/subject"
	"example.com/miopen_hipdnn_shim/tests/runfile"
)

type arguments struct {
	subject.Flags
	Launches int `help:"Processes." default:"20"`
	Rounds   int `help:"Rounds in a process." default:"20"`
	Calls    int `help:"Calls in a round." default:"5000"`
}

func main() {
	var args arguments
	bar.Parse(&args, "Cost of a forwarded call on the host.")
	bar.Run("forward", func() (*bar.Report, error) { return measure(args) })
}

const timeout = 5 * time.Minute

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

	samples := map[string]bar.Samples{}
	progress := progressbar.NewOptions(args.Launches, progressbar.OptionSetWriter(os.Stderr), progressbar.OptionSetDescription("launches"))
	before := subject.Load()
	for range args.Launches {
		rounds, err := args.launch(s, backend)
		if err != nil {
			return nil, err
		}
		for name, values := range rounds {
			samples[name] = append(samples[name], values.Median())
		}
		_ = progress.Add(1)
	}
	fmt.Fprintln(os.Stderr)

	var report bar.Report
	report.Row("load average, before and after", bar.Samples{before, subject.Load()}, "")
	own := samples["call"].Minus(samples["backend"]).Minus(samples["device"])
	report.Row("forwarded call, all of it", samples["call"], "ns")
	report.Row("calls of the backend alone: variant pack, execute", samples["backend"], "ns")
	report.Row("calls of HIP alone: device, whether the stream is captured", samples["device"], "ns")
	report.Row("forwarded call without them", own, "ns")
	report.Row("two problems in turn, without them", samples["turns"].Minus(samples["backend"]).Minus(samples["device"]), "ns")
	report.AtMost("forwarded-call", own.Median(), "ns", 500)
	return &report, nil
}

// launch runs one process and returns its rounds.
func (args arguments) launch(s *subject.Subject, backend string) (map[string]bar.Samples, error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	cmd, err := s.Command(ctx, true, s.Wrapper, backend, strconv.Itoa(args.Rounds), strconv.Itoa(args.Calls))
	if err != nil {
		return nil, err
	}
	cmd.Env = append(cmd.Env, "MIOPEN_HIPDNN_FORWARDING=1", "HIPDNN_BACKEND_LIBRARY_PATH="+backend)
	rows, err := subject.Read(cmd)
	if err != nil {
		return nil, err
	}
	samples := map[string]bar.Samples{}
	for _, row := range rows {
		samples[row.Name] = append(samples[row.Name], row.Values[0])
	}
	// A call that MIOpen serves is measured as readily.
	if want := float64(1000 + 2*args.Rounds*args.Calls); len(samples["forwarded"]) != 1 || samples["forwarded"][0] != want {
		return nil, fmt.Errorf("of %.0f calls %v were forwarded", want, samples["forwarded"])
	}
	delete(samples, "forwarded")
	return samples, nil
}
