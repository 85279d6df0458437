// Command gate verifies convolutions on the device with MIOpenDriver, through the split or on the stock library, and
// controls each verification by runs that must fail: see tests/miopendriver/verification. It prints a table and a
// verdict.
//
// The device, the ROCm and the split come from Bazel, in the variables that tests/hardware/defs.bzl describes.
//
// Exit status: 0 everything was verified and no control passed, 1 something was not verified, or nothing could be since
// there is nothing to run on, 2 usage, 3 a control passed, so that no verification means anything.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"
	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"example.com/miopen_hipdnn_shim/tests/hardware/device"
	"example.com/miopen_hipdnn_shim/tests/hardware/subject"
	"example.com/miopen_hipdnn_shim/tests/miopendriver"
	"example.com/miopen_hipdnn_shim/tests/miopendriver/shapes"
	"example.com/miopen_hipdnn_shim/tests/miopendriver/verification"
)

type arguments struct {
	Library subject.Library `enum:"split,stock" default:"split" help:"The library to verify: ${enum}."`
	Shapes  int             `default:"24" help:"How many convolutions to draw; each is verified in three directions."`
	Seed    uint64          `default:"1" help:"Another seed draws others."`
	Jobs    int             `default:"2" help:"How many drivers run at once."`
	Kernels string          `placeholder:"DIR" type:"existingdir" help:"A HOME in which MIOpen has compiled its kernels before; it is copied."`
}

// Validate is for kong.
func (a arguments) Validate() error {
	if a.Shapes < 1 || a.Jobs < 1 {
		return errors.New("--shapes and --jobs begin at 1: a verification of nothing proves nothing")
	}
	return nil
}

func main() {
	var args arguments
	kong.Parse(&args, kong.Description("Verifies random convolutions with MIOpenDriver, and that the verifications can fail."),
		kong.Exit(func(code int) {
			if code != 0 {
				code = verification.Usage
			}
			os.Exit(code)
		}))
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	report, err := run(ctx, args)
	if err != nil {
		fmt.Fprintln(os.Stderr, "gate:", err)
		os.Exit(verification.Failed)
	}
	show(report)
	os.Exit(report.Status())
}

func run(ctx context.Context, args arguments) (*verification.Report, error) {
	scratch, err := os.MkdirTemp("", "miopen-gate-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(scratch)
	config, err := device.FromEnvironment(scratch)
	if err != nil {
		return nil, err
	}
	taken, err := device.Open(ctx, config)
	if err != nil {
		return nil, err
	}
	defer taken.Close()
	under, err := subject.New(taken)
	if err != nil {
		return nil, err
	}
	if args.Kernels == "" {
		args.Kernels = filepath.Join(scratch, "kernels")
		if err := under.CompileKernels(ctx, args.Library, args.Kernels); err != nil {
			return nil, err
		}
	}
	workers := make([]verification.Worker, args.Jobs)
	for i := range workers {
		if workers[i], err = under.Worker(args.Library, filepath.Join(scratch, "job-"+strconv.Itoa(i)), args.Kernels); err != nil {
			return nil, err
		}
	}
	fmt.Printf("MIOpenDriver on %s, %s library, seed %d\n", taken, args.Library, args.Seed)
	return verification.Run(ctx, workers, requests(args))
}

// requests are the drawn convolutions, each for all three directions, with the solvers whose kernels compute a
// convolution as it is defined: simulated devices know those, and every type, layout and geometry has them.
func requests(args arguments) (all []miopendriver.Request) {
	for _, c := range shapes.Draw(args.Seed, args.Shapes) {
		all = append(all, miopendriver.Request{
			Operation: c, Directions: miopendriver.AllDirections, Iterations: 1, Solvers: miopendriver.AllDirections.NaiveSolvers(),
		})
	}
	return all
}

func show(report *verification.Report) {
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	t.Style().Format.Header = text.FormatDefault
	header := table.Row{"convolution", "errors: forward, data, weights"}
	for _, control := range verification.Controls {
		header = append(header, "control: "+string(control))
	}
	t.AppendHeader(append(header, "seconds"))
	for _, c := range report.Cases {
		row := table.Row{c.Request.Operation, errorsOf(c)}
		for _, control := range verification.Controls {
			why, ran := c.Passed[control]
			switch {
			case !ran:
				row = append(row, "-")
			case len(why) == 0:
				row = append(row, "fails, as it must")
			default:
				row = append(row, "PASSES")
			}
		}
		t.AppendRow(append(row, fmt.Sprintf("%.1f", c.Elapsed.Seconds())))
	}
	fmt.Println(t.Render())
	for _, c := range report.Cases {
		for _, finding := range c.Findings {
			fmt.Printf("NOT VERIFIED %v: %s\n", c.Request.Operation, finding)
		}
		for _, control := range verification.Controls {
			for _, why := range c.Passed[control] {
				fmt.Printf("CONTROL PASSES %v, %s: %s\n", c.Request.Operation, control, why)
			}
		}
	}
	fmt.Printf("problems verified: %v; verdicts: %v\n", report.Problems(), report.Verdicts())
	for _, control := range verification.Controls {
		if n := report.Control(control); n.Of > 0 {
			fmt.Printf("control %s: fails for %v problems\n", control, n)
		} else {
			fmt.Printf("control %s: not on this device\n", control)
		}
	}
	fmt.Println(map[int]string{
		verification.Held:          "HOLDS",
		verification.Failed:        "DOES NOT HOLD",
		verification.ControlPassed: "A CONTROL PASSES: nothing that was verified here means anything",
	}[report.Status()])
}

func errorsOf(c verification.Case) string {
	if len(c.Findings) > 0 || c.Output == nil {
		return "NOT VERIFIED"
	}
	var parts []string
	for _, v := range c.Output.Report.Verdicts {
		parts = append(parts, strconv.FormatFloat(v.Error, 'g', 3, 64))
	}
	return strings.Join(parts, ", ")
}
