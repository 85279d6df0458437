package gtest

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// An Outcome is what became of a test.
type Outcome string

// The outcomes. Skipped is a decision of the test itself, NotRun one of Google Test, which leaves out tests whose name
// starts with DISABLED_. A program that died or was stopped left its test Crashed or TimedOut.
const (
	OK       Outcome = "ok"
	Failed   Outcome = "failed"
	Skipped  Outcome = "skipped"
	NotRun   Outcome = "not run"
	Crashed  Outcome = "crashed"
	TimedOut Outcome = "timed out"
)

var outcomes = []Outcome{OK, Failed, Skipped, NotRun, Crashed, TimedOut}

// A Result is one test's outcome, with Google Test's text of each failed assertion, or the reason for the skip or crash.
// Text is "" where a program died before it wrote its report, and again when the test was repeated.
type Result struct {
	Outcome Outcome
	Text    string
}

func (r Result) String() string {
	if r.Text == "" {
		return string(r.Outcome)
	}
	return fmt.Sprintf("%s: %s", r.Outcome, strings.TrimSpace(r.Text))
}

// A Run has the results of one list of tests.
type Run struct {
	Results map[string]Result
	// Ends has how each process ended, in order: one more than there were crashes and time-outs, save after the last test.
	Ends []string
}

// Count is how many tests had the outcome.
func (r *Run) Count(outcome Outcome) int {
	n := 0
	for _, result := range r.Results {
		if result.Outcome == outcome {
			n++
		}
	}
	return n
}

func (r *Run) String() string {
	parts := []string{fmt.Sprintf("%d tests", len(r.Results))}
	for _, outcome := range outcomes {
		if n := r.Count(outcome); n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, outcome))
		}
	}
	return strings.Join(parts, ", ")
}

// textless are the tests that failed and nobody knows how, sorted.
func (r *Run) textless() []string {
	var names []string
	for _, name := range r.Names() {
		if result := r.Results[name]; result.Outcome == Failed && result.Text == "" {
			names = append(names, name)
		}
	}
	return names
}

// ran says whether the test's body had a say in its outcome.
func (r Result) ran() bool {
	return r.Outcome != NotRun && r.Outcome != Skipped
}

// A Difference is a test that did not do the same in both runs. A nil result: the run does not have the test.
type Difference struct {
	Test string
	A, B *Result
}

func (d Difference) String() string {
	side := func(r *Result) string {
		if r == nil {
			return "no such test"
		}
		return r.String()
	}
	return fmt.Sprintf("%s\n  first:  %s\n  second: %s", d.Test, side(d.A), side(d.B))
}

// ErrNothing is a comparison without a test that ran: it would find no difference whatever the runs are.
var ErrNothing = errors.New("no test ran in both runs, so there is nothing to compare")

// A Normal form of a text lacks what the same failure says differently in every run.
type Normal func(text string) string

var (
	address = regexp.MustCompile(`0x[0-9a-f]{6,}`)
	number  = regexp.MustCompile(`-?\b\d+(\.\d+)?([eE][-+]?\d+)?\b|-?\b(nan|inf)\b`)
)

// WithoutAddresses is for tests that compute the same in every run.
func WithoutAddresses(text string) string {
	return address.ReplaceAllString(text, "ADDRESS")
}

// WithoutNumbers is for tests that add in the order in which threads arrive, on a GPU or a processor.
func WithoutNumbers(text string) string {
	return number.ReplaceAllString(WithoutAddresses(text), "NUMBER")
}

// differs compares outcomes, and texts where both are known.
func differs(a, b Result, normal Normal) bool {
	return a.Outcome != b.Outcome || a.Text != "" && b.Text != "" && normal(a.Text) != normal(b.Text)
}

// A Comparison is what two runs say of each other.
type Comparison struct {
	// Compared is how many tests ran in at least one of the runs and were decided.
	Compared int
	// Differences are the tests whose outcome, or text in its normal form, is not the same, sorted by name.
	Differences []Difference
	// Textless are tests that failed in both runs, and whose text one of them does not know, sorted: they are compared by
	// that alone.
	Textless []string
	// Undecided are tests that took too long in one of the runs, sorted: how busy the machine was is no difference.
	Undecided []string
}

// Compare compares all tests of two runs.
func Compare(a, b *Run, normal Normal) (*Comparison, error) {
	c := &Comparison{}
	for name, first := range a.Results {
		second, found := b.Results[name]
		switch {
		case !found:
			c.Differences = append(c.Differences, Difference{Test: name, A: &first})
		case first.Outcome == TimedOut || second.Outcome == TimedOut:
			c.Undecided = append(c.Undecided, name)
		default:
			if differs(first, second, normal) {
				c.Differences = append(c.Differences, Difference{Test: name, A: &first, B: &second})
			}
			if first.ran() || second.ran() {
				c.Compared++
			}
			if first.Outcome == Failed && second.Outcome == Failed && (first.Text == "" || second.Text == "") {
				c.Textless = append(c.Textless, name)
			}
		}
	}
	for name, second := range b.Results {
		if _, found := a.Results[name]; !found {
			c.Differences = append(c.Differences, Difference{Test: name, B: &second})
		}
	}
	if c.Compared == 0 {
		return nil, fmt.Errorf("%w: the first has %s, the second %s", ErrNothing, a, b)
	}
	slices.SortFunc(c.Differences, func(x, y Difference) int { return cmp.Compare(x.Test, y.Test) })
	slices.Sort(c.Textless)
	slices.Sort(c.Undecided)
	return c, nil
}

// Names are the tests of the run, sorted.
func (r *Run) Names() []string {
	return slices.Sorted(maps.Keys(r.Results))
}
