// Command testsummary turns Bazel's build event files into one line that a person or a CI system can trust:
//
//	N passed, N failed, N skipped
//
// It counts test cases where a target reports them (test.xml) and targets elsewhere, lists what was skipped,
// and compares that with a committed list: a test that stops running must not go unnoticed. An invocation that took longer
// than its limit is a failure too; one whose tests came from the cache says little about that, so how many did is said
// with the time. It knows Bazel's build event protocol (JSON form) and JUnit's test.xml; it knows nothing of what the tests test.
//
// Exit status: 0 all passed, the skips are as listed and no limit was exceeded, 1 otherwise, 2 usage, 3 an event file is unreadable.
package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/alecthomas/kong"
)

type arguments struct {
	Events []string                 `arg:"" name:"event-file" help:"Files written by --build_event_json_file, one per invocation of Bazel." type:"existingfile"`
	Limits map[string]time.Duration `name:"limit" help:"How long an invocation may take at most, such as default=25m for the event file default.json." placeholder:"NAME=TIME"`
	Skips  string                   `help:"File with the expected skips, one per line, sorted; # starts a comment." required:"" type:"existingfile"`
}

func main() {
	var args arguments
	parser := kong.Must(&args, kong.Description("Counts what Bazel tested and compares the skips with a list."),
		kong.Exit(func(code int) {
			if code != 0 {
				code = 2
			}
			os.Exit(code)
		}))
	_, err := parser.Parse(os.Args[1:])
	parser.FatalIfErrorf(err)

	total, err := readAll(args.Events)
	if err != nil {
		fmt.Fprintln(os.Stderr, "testsummary:", err)
		os.Exit(3)
	}
	expected, err := readSkips(args.Skips)
	if err != nil {
		fmt.Fprintln(os.Stderr, "testsummary:", err)
		os.Exit(3)
	}
	problems := append(total.problems(expected), total.late(args.Limits)...)
	for _, name := range slices.Sorted(maps.Keys(args.Limits)) {
		cost := total.took[name]
		fmt.Fprintf(os.Stderr, "testsummary: %s took %v of at most %v, with %d of %d test results from the cache\n",
			name, cost.time.Round(time.Second), args.Limits[name], cost.cached, cost.results)
	}
	for _, problem := range problems {
		fmt.Fprintln(os.Stderr, "testsummary:", problem)
	}
	fmt.Printf("%d passed, %d failed, %d skipped\n", total.passed, len(total.failed), len(total.skipped))
	if len(problems) > 0 {
		os.Exit(1)
	}
}

func readAll(paths []string) (*tally, error) {
	total := newTally()
	var errs []error
	for _, path := range paths {
		if err := total.addEventFile(path); err != nil {
			errs = append(errs, err)
		}
	}
	return total, errors.Join(errs...)
}
