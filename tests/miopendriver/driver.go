// Package miopendriver runs AMD's MIOpenDriver and reads what it says.
//
// The driver builds one problem, lets MIOpen compute it on the device and, with -V 1, compares the result with a
// computation of its own. Its exit status is 0 whether the two agree or not, and it says nothing at all of a direction
// that it did not reach. So what counts here are its verdict lines: each one that the request calls for has to be there,
// once, and nothing else that could be a verdict. Report.Findings says what is wrong.
//
// The driver's computation is by default the same kernel on the same device, which agrees with itself even where kernels
// do nothing. MIOPEN_DRIVER_USE_GPU_REFERENCE=0 makes it one on the CPU. It is always set, and a verdict that names
// another reference is a finding.
//
// The package knows the driver's options and its text. It must not know what the device is: its user gives a Starter that
// prepares programs for it.
package miopendriver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.com/miopen_hipdnn_shim/tests/launch"
)

// A Starter prepares programs to run on a device, with the libraries of host and before them those in dirs:
// device.Device of tests/hardware/device. HOME and the caches of MIOpen that a program finds are the starter's choice.
type Starter interface {
	Command(ctx context.Context, host launch.Host, dirs []string, program string, args ...string) (*exec.Cmd, error)
}

// Driver is a MIOpenDriver on one MIOpen. It may run several requests at once, but then MIOpen's processes share their
// caches and wait for each other's locks.
type Driver struct {
	Starter   Starter
	Host      launch.Host
	Program   string
	Libraries []string // folders that are searched before the host's, such as a split's; may be empty
	SystemDB  string   // folder of MIOpen's databases, "" for the one that MIOpen finds from its library
	Env       []string // what the ROCm needs besides

	// Timeout bounds one run, 0 for DefaultTimeout.
	Timeout time.Duration
}

// DefaultTimeout is long enough to compile a kernel on a busy machine.
const DefaultTimeout = 5 * time.Minute

// Request is what the driver is to do.
type Request struct {
	Operation  Operation
	Directions Directions
	Verify     bool     // compare with a computation on the CPU
	Timing     bool     // say which solver ran and how long it took
	Iterations int      // 0 for the driver's ten
	Solvers    []string // the only solvers that MIOpen may use; nil for all
	Env        []string // wins over the driver's

	// References is a folder in which the driver keeps the results of its own computation, and takes them from if they
	// are there. Convolutions only; "" for none.
	References string
}

// Arguments are the command line without the program.
func (r Request) Arguments() ([]string, error) {
	args, err := r.Operation.arguments()
	if err != nil {
		return nil, err
	}
	direction, _, err := r.Operation.direction(r.Directions)
	if err != nil {
		return nil, err
	}
	args = append(args, direction...)
	args = append(args, "-t", flag(r.Timing))
	if r.Iterations < 0 {
		return nil, fmt.Errorf("%v: %d iterations", r.Operation, r.Iterations)
	}
	if r.Iterations > 0 {
		args = append(args, "-i", strconv.Itoa(r.Iterations))
	}
	args = append(args, "-V", flag(r.Verify))
	if r.References != "" {
		if _, ok := r.Operation.(Convolution); !ok {
			return nil, fmt.Errorf("%v: the driver keeps references of convolutions only", r.Operation)
		}
		args = append(args, "-C", r.References)
	}
	return args, nil
}

func flag(on bool) string {
	if on {
		return "1"
	}
	return "0"
}

// Checks are the verdicts that the driver owes.
func (r Request) Checks() ([]Check, error) {
	_, checks, err := r.Operation.direction(r.Directions)
	if err != nil || !r.Verify {
		return nil, err
	}
	return checks, nil
}

// Output is what a run left behind.
type Output struct {
	Command *exec.Cmd // has ended
	Stdout  string
	Stderr  string
	Status  int // exit status, -1 when a signal ended the process. 0 does not mean that a verification held.
	Elapsed time.Duration
	Report  Report
}

// Findings says what keeps the run from having verified each of the checks: Report.Findings, and an end that is not a
// success. That a run ended well proves nothing; that it did not, something.
func (o *Output) Findings(checks []Check) []string {
	findings := o.Report.Findings(checks)
	if o.Status != 0 {
		findings = append(findings, "the driver ended with "+o.Command.ProcessState.String())
	}
	return findings
}

// gpuReference is the variable that says what the driver compares with.
const gpuReference = "MIOPEN_DRIVER_USE_GPU_REFERENCE"

// ErrTimeout is the error of a run that was ended because it took too long. The output has what was said until then.
var ErrTimeout = errors.New("the driver was ended because it took too long")

// Run runs the driver once. It fails when the request makes no sense, the program does not start, or takes too long;
// what the program did is in the output.
func (d Driver) Run(ctx context.Context, r Request) (*Output, error) {
	args, err := r.Arguments()
	if err != nil {
		return nil, err
	}
	timeout := d.Timeout
	if timeout == 0 {
		timeout = DefaultTimeout
	}
	bounded, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	cmd, err := d.Starter.Command(bounded, d.Host, d.Libraries, d.Program, args...)
	if err != nil {
		return nil, err
	}
	own := []string{gpuReference + "=0"}
	if d.SystemDB != "" {
		own = append(own, "MIOPEN_SYSTEM_DB_PATH="+d.SystemDB)
	}
	if r.Solvers != nil {
		own = append(own, "MIOPEN_DEBUG_FIND_ONLY_SOLVER="+strings.Join(r.Solvers, ";"))
	}
	for _, entry := range slices.Concat(d.Env, r.Env) {
		if strings.HasPrefix(entry, gpuReference+"=") {
			return nil, fmt.Errorf("%s is not for the caller to set: a device that checks itself proves nothing", gpuReference)
		}
		own = append(own, entry)
	}
	cmd.Env = append(cmd.Env, own...)
	cmd.WaitDelay = 10 * time.Second // a child that holds the pipes must not hold us
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	start := time.Now()
	err = cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) && cmd.ProcessState == nil {
		return nil, fmt.Errorf("run MIOpenDriver %s: %w", strings.Join(args, " "), err)
	}
	out := &Output{
		Command: cmd, Stdout: stdout.String(), Stderr: stderr.String(),
		Status: cmd.ProcessState.ExitCode(), Elapsed: time.Since(start), Report: Parse(stdout.String()),
	}
	if bounded.Err() != nil {
		if ctx.Err() != nil {
			return out, ctx.Err()
		}
		return out, fmt.Errorf("%w: MIOpenDriver %s, %v", ErrTimeout, strings.Join(args, " "), timeout)
	}
	return out, nil
}
