// Command trace measures what the traces of the wrapper add to a call, and that a ring, once a thread has it, allocates
// nothing.
//
// The wrapper reads the environment once, so each mode is a process of its own; the same stub and the same loop run in
// all, and the modes take turns. Every process's trace is read afterwards: one that is not complete has measured
// something else.
package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/schollz/progressbar/v3"

	"example.com/miopen_hipdnn_shim/shim/trace"
	"example.com/miopen_hipdnn_shim/tests/bench/bar"
	"example.com/miopen_hipdnn_shim/tests/bench/subject"
)

type arguments struct {
	subject.Flags
	Launches int `help:"Processes of each mode." default:"20"`
	Rounds   int `help:"Blocks of calls in a process." default:"100"`
	Calls    int `help:"Calls in a block; of the mode that writes a line for each, a hundredth." default:"20000"`
	Watched  int `help:"Calls whose allocations are counted, in a process of its own. More than a ring has records, so that it comes round." default:"100000"`
}

func main() {
	var args arguments
	bar.Parse(&args, "Cost of the wrapper's traces.")
	bar.Run("trace", func() (*bar.Report, error) { return measure(args) })
}

const (
	variable = "MIOPEN_HIPDNN_TRACE"
	function = "miopenGetVersion"
	timeout  = 5 * time.Minute
)

// A mode is a value of the variable. A process is started with a folder of its own and a file for its standard error.
type mode struct {
	name  string
	value func(dir string) string
	calls func(args arguments) int // in a block
	// complete is nil if the process left the trace of so many calls of function, and of nothing else.
	complete func(dir string, stderr []byte, calls int) error
}

const (
	off = iota
	ring
	summary
	lines
)

var modes = [...]mode{
	off: {
		"off", func(string) string { return "" }, func(a arguments) int { return a.Calls },
		func(_ string, stderr []byte, _ int) error {
			if len(stderr) != 0 {
				return fmt.Errorf("something was written to standard error: %.200q", stderr)
			}
			return nil
		},
	},
	ring: {
		"ring", func(dir string) string { return "ring:" + dir }, func(a arguments) int { return a.Calls },
		func(dir string, stderr []byte, calls int) error {
			read, err := trace.Open(dir)
			if err != nil {
				return fmt.Errorf("%w; standard error: %.200q", err, stderr)
			}
			if len(read.Processes) != 1 || len(read.Processes[0].Threads) != 1 || read.Damaged() != 0 {
				return fmt.Errorf("%s is not the trace of one thread: %d processes, %d contradictions", dir, len(read.Processes), read.Damaged())
			}
			process := read.Processes[0]
			thread := process.Threads[0]
			if thread.Made != uint64(calls) || len(thread.Calls) == 0 {
				return fmt.Errorf("%s has %d calls, and the records of %d; %d were made", process.Path, thread.Made, len(thread.Calls), calls)
			}
			for _, call := range thread.Calls {
				if name := process.Functions[call.Function]; name != function {
					return fmt.Errorf("%s has a call of %s; only %s was called", process.Path, name, function)
				}
			}
			return nil
		},
	},
	summary: {
		"summary", func(string) string { return "summary" }, func(a arguments) int { return a.Calls },
		func(_ string, stderr []byte, calls int) error {
			if want := fmt.Sprintf(" %d %s\n", calls, function); !bytes.Contains(stderr, []byte(want)) {
				return fmt.Errorf("the summary does not have %q: %.200q", want, stderr)
			}
			return nil
		},
	},
	lines: {
		"stderr, to a file", func(string) string { return "stderr" }, func(a arguments) int { return max(1, a.Calls/100) },
		func(_ string, stderr []byte, calls int) error {
			if want := "[MIOPEN_HIPDNN_WRAPPER] " + function + "\n"; !bytes.Equal(stderr, bytes.Repeat([]byte(want), calls)) {
				return fmt.Errorf("standard error is not %d times %q: %d bytes, %.200q", calls, want, len(stderr), stderr)
			}
			return nil
		},
	},
}

func measure(args arguments) (*bar.Report, error) {
	s, err := args.Open()
	if err != nil {
		return nil, err
	}
	defer s.Close()
	before := subject.Load()
	var calls [len(modes)]bar.Samples
	progress := progressbar.NewOptions(args.Launches, progressbar.OptionSetWriter(os.Stderr), progressbar.OptionSetDescription("launches"))
	for launch := range args.Launches {
		for i := range modes {
			m := (i + launch) % len(modes) // each comes first as often as the others
			inBlock := modes[m].calls(args)
			rows, err := modes[m].run(s, 1+args.Rounds*inBlock, "time", s.Wrapper, strconv.Itoa(args.Rounds), strconv.Itoa(inBlock))
			if err != nil {
				return nil, err
			}
			var blocks bar.Samples
			for _, row := range rows {
				blocks = append(blocks, row.Values[0])
			}
			calls[m] = append(calls[m], blocks.Median())
		}
		_ = progress.Add(1)
	}
	fmt.Fprintln(os.Stderr)
	allocations, err := countAllocations(s, args.Watched)
	if err != nil {
		fmt.Fprintln(os.Stderr, "trace: nothing is known of allocations:", err)
	}

	var report bar.Report
	report.Row("load average, before and after", bar.Samples{before, subject.Load()}, "")
	for m := range modes {
		report.Row("call, "+modes[m].name, calls[m], "ns")
		if m != off {
			report.Row(modes[m].name+" - off", calls[m].Minus(calls[off]), "ns")
		}
	}
	report.Row(fmt.Sprintf("ring: allocations in %d calls after the first", args.Watched), allocations, "")
	report.AtMost("trace-ring", calls[ring].Minus(calls[off]).Median(), "ns", 60)
	report.AtMost("trace-ring-allocations", allocations.Median(), "", 0)
	return &report, nil
}

// countAllocations is all that the worker saw in the mode ring, of the C library and of the kernel.
func countAllocations(s *subject.Subject, calls int) (bar.Samples, error) {
	rows, err := modes[ring].run(s, 1+calls, "allocations", s.Wrapper, strconv.Itoa(calls))
	if err != nil {
		return nil, err
	}
	if len(rows) != 1 || len(rows[0].Values) != 4 {
		return nil, fmt.Errorf("the worker printed %v", rows)
	}
	seen, control := rows[0].Values[:2], rows[0].Values[2:]
	if control[0] != 1 || control[1] != 1 {
		return nil, fmt.Errorf("of one call each of malloc and mmap the watch saw %v and %v", control[0], control[1])
	}
	return bar.Samples{seen[0] + seen[1]}, nil
}

// run runs the worker in this mode and makes sure that it traced its calls.
func (m mode) run(s *subject.Subject, calls int, args ...string) (subject.Rows, error) {
	dir, err := os.MkdirTemp(s.Scratch(), "trace-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	cmd, err := s.Command(ctx, true, args...)
	if err != nil {
		return nil, err
	}
	if value := m.value(filepath.Join(dir, "rings")); value != "" {
		cmd.Env = append(cmd.Env, variable+"="+value)
	}
	said, err := os.Create(filepath.Join(dir, "stderr"))
	if err != nil {
		return nil, err
	}
	defer said.Close()
	cmd.Stderr = said
	rows, runErr := subject.Read(cmd)
	stderr, err := os.ReadFile(said.Name())
	if err != nil {
		return nil, err
	}
	if runErr != nil {
		return nil, fmt.Errorf("%s: %w\n%.400s", m.name, runErr, stderr)
	}
	if err := m.complete(filepath.Join(dir, "rings"), stderr, calls); err != nil {
		return nil, fmt.Errorf("the calls in mode %s left no complete trace, so their time says nothing: %w", m.name, err)
	}
	return rows, nil
}
