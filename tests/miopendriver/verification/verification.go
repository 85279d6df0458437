// Package verification lets MIOpenDriver verify problems, and controls each verification by runs in which the same
// verdicts must be failures.
//
// A verification whose control passes has proved nothing: its numbers were never compared, or not with anything of its
// own. That is worse than a failure and has an exit status of its own.
//
// The package knows controls and counts. It must not know which device it runs on: whoever has a device on which kernels
// can be kept from running hands it over.
package verification

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"example.com/miopen_hipdnn_shim/tests/miopendriver"
)

// Worker runs one problem at a time.
type Worker struct {
	Driver miopendriver.Driver
	// Idle is the same driver on a device whose kernels do nothing; nil where there is no such device.
	Idle *miopendriver.Driver
	// Scratch is a folder for the driver's references.
	Scratch string
	// Inspect says what else is wrong with a run of Driver, such as a misuse of the device; nil for nothing.
	Inspect func(*miopendriver.Output) []string
}

// Control is the name of a control.
type Control string

// The controls. The first is for convolutions on any device, the second for every problem on a device that can do it.
const (
	NegatedReferences Control = "negated references"
	IdleKernels       Control = "idle kernels"
)

// Controls are all controls, in the order of a report.
var Controls = []Control{NegatedReferences, IdleKernels}

// Case is what became of one problem.
type Case struct {
	Request  miopendriver.Request
	Findings []string // why the problem is not verified; empty when it is
	Output   *miopendriver.Output
	// Passed has for each control that was run why it did not fail as it must; an empty list when it did. Controls are run
	// for verified problems.
	Passed  map[Control][]string
	Elapsed time.Duration
}

// Report is the outcome of all problems.
type Report struct {
	Cases []Case
}

// The exit statuses of a gate. ControlPassed is stronger than Failed: with it no other result means anything.
const (
	Held          = 0
	Failed        = 1
	Usage         = 2
	ControlPassed = 3
)

// Status is the exit status for the report. A report of nothing has failed.
func (r *Report) Status() int {
	status := Held
	if len(r.Cases) == 0 {
		status = Failed
	}
	for _, c := range r.Cases {
		if len(c.Findings) > 0 {
			status = Failed
		}
	}
	for _, c := range r.Cases {
		for _, why := range c.Passed {
			if len(why) > 0 {
				return ControlPassed
			}
		}
	}
	return status
}

// Count is a number of comparisons that came out as they must, of a number that should.
type Count struct{ Held, Of int }

func (c Count) String() string { return fmt.Sprintf("%d of %d", c.Held, c.Of) }

// Problems counts verified problems.
func (r *Report) Problems() (n Count) {
	for _, c := range r.Cases {
		n.add(len(c.Findings) == 0, 1)
	}
	return n
}

// Verdicts counts the comparisons of all problems that the driver says it made and that held.
func (r *Report) Verdicts() (n Count) {
	for _, c := range r.Cases {
		checks, err := c.Request.Checks()
		if err != nil {
			continue
		}
		n.Of += len(checks)
		if c.Output == nil {
			continue
		}
		for _, v := range c.Output.Report.Verdicts {
			if v.Outcome == miopendriver.Verified {
				n.Held++
			}
		}
	}
	return n
}

// Control counts the problems whose control failed as it must; of 0 when it was not run.
func (r *Report) Control(control Control) (n Count) {
	for _, c := range r.Cases {
		if why, ran := c.Passed[control]; ran {
			n.add(len(why) == 0, 1)
		}
	}
	return n
}

// Uncontrolled are the verified problems that the device has no control for.
func (r *Report) Uncontrolled() (cases []Case) {
	for _, c := range r.Cases {
		if len(c.Findings) == 0 && len(c.Passed) == 0 {
			cases = append(cases, c)
		}
	}
	return cases
}

func (c *Count) add(held bool, n int) {
	c.Of += n
	if held {
		c.Held += n
	}
}

// Run verifies the requests, each once, on whichever worker is free. Their Verify is set, and their References are
// replaced. An error means that the work was not done, such as a program that does not start; what is wrong with a
// problem is in the report.
func Run(ctx context.Context, workers []Worker, requests []miopendriver.Request) (*Report, error) {
	if len(workers) == 0 {
		return nil, errors.New("no worker")
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	report := &Report{Cases: make([]Case, len(requests))}
	numbers := make(chan int)
	var running sync.WaitGroup
	for _, w := range workers {
		running.Go(func() {
			for i := range numbers {
				c, err := w.verify(ctx, i, requests[i])
				if err != nil {
					cancel(fmt.Errorf("%v: %w", requests[i].Operation, err))
					continue // takes the rest of the numbers, each of which fails at once
				}
				report.Cases[i] = c
			}
		})
	}
	for i := range requests {
		numbers <- i
	}
	close(numbers)
	running.Wait()
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	return report, nil
}

// verify runs problem number i and its controls.
func (w Worker) verify(ctx context.Context, i int, r miopendriver.Request) (Case, error) {
	if err := ctx.Err(); err != nil {
		return Case{}, err
	}
	start := time.Now()
	r.Verify, r.References = true, ""
	_, convolution := r.Operation.(miopendriver.Convolution)
	if convolution {
		r.References = filepath.Join(w.Scratch, fmt.Sprintf("references-%d", i))
		if err := os.Mkdir(r.References, 0o700); err != nil {
			return Case{}, err
		}
		defer os.RemoveAll(r.References)
	}
	checks, err := r.Checks()
	if err != nil {
		return Case{}, err
	}
	c := Case{Request: r, Passed: map[Control][]string{}}
	var timedOut []string
	if c.Output, timedOut, err = run(ctx, w.Driver, r); err != nil {
		return Case{}, err
	}
	c.Findings = append(timedOut, c.Output.Findings(checks)...)
	if convolution && len(c.Output.Report.Wrote) != len(checks) {
		c.Findings = append(c.Findings, fmt.Sprintf("the driver computed %d references for %d verdicts", len(c.Output.Report.Wrote), len(checks)))
	}
	if w.Inspect != nil && timedOut == nil {
		c.Findings = append(c.Findings, w.Inspect(c.Output)...)
	}
	if len(c.Findings) == 0 { // else there is nothing to control
		if err := w.control(ctx, &c, checks); err != nil {
			return Case{}, err
		}
	}
	c.Elapsed = time.Since(start)
	return c, nil
}

// control runs the controls of a verified problem.
func (w Worker) control(ctx context.Context, c *Case, checks []miopendriver.Check) error {
	if w.Idle != nil {
		// Before the references are changed: nothing but the kernels differs from the run that has to pass.
		out, passed, err := run(ctx, *w.Idle, c.Request)
		if err != nil {
			return err
		}
		c.Passed[IdleKernels] = append(passed, out.Report.Undetected(checks)...)
	}
	if c.Request.References != "" {
		passed, err := w.negated(ctx, c.Request, checks)
		if err != nil {
			return err
		}
		c.Passed[NegatedReferences] = passed
	}
	return nil
}

// negated runs the verified request r again on its references with their signs changed, and says why that did not fail as
// it must. A control that cannot be made has not failed either.
func (w Worker) negated(ctx context.Context, r miopendriver.Request, checks []miopendriver.Check) ([]string, error) {
	if err := r.NegateReferences(); err != nil {
		return []string{"cannot be made: " + err.Error()}, nil
	}
	out, passed, err := run(ctx, w.Driver, r)
	if err != nil {
		return nil, err
	}
	passed = append(passed, out.Report.Undetected(checks)...)
	if len(out.Report.Read) != len(checks) {
		passed = append(passed, fmt.Sprintf("the driver read %d of %d references", len(out.Report.Read), len(checks)))
	}
	return passed, nil
}

// run makes a time-out a finding, and keeps what was said until then.
func run(ctx context.Context, d miopendriver.Driver, r miopendriver.Request) (*miopendriver.Output, []string, error) {
	out, err := d.Run(ctx, r)
	if errors.Is(err, miopendriver.ErrTimeout) {
		return out, []string{err.Error()}, nil
	}
	return out, nil, err
}
