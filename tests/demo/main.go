// Command demo splits a MIOpen, verifies the split, runs programs that were linked against a stock library
// through the wrapper, checks what they print, and says what was proven and how long it took.
// `bazel run //:demo` does it on the reference library, `bazel run //:demo -- --miopen PATH` on a real one.
//
// Exit status: 0 everything held, 1 something did not, 2 usage, 3 the library could not be read.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"time"

	"github.com/alecthomas/kong"
	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"example.com/miopen_hipdnn_shim/tests/runfile"
)

type arguments struct {
	Miopen string `placeholder:"LIB" help:"A stock libMIOpen.so.1 to use instead of the reference library."`
	Out    string `placeholder:"DIR" help:"Keep the split in this folder."`
}

// failure is an error with the exit status that it means.
type failure struct {
	status int
	error
}

func main() {
	var args arguments
	kong.Parse(&args, kong.Description("Splits a MIOpen library, runs unmodified programs on it and proves that nothing was lost."),
		kong.Exit(func(code int) {
			if code != 0 {
				code = 2
			}
			os.Exit(code)
		}))
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	args.Miopen, args.Out = runfile.UserPath(args.Miopen), runfile.UserPath(args.Out)
	err := run(ctx, args)
	if err == nil {
		return
	}
	fmt.Fprintln(os.Stderr, "demo:", err)
	status := 1
	var f failure
	if errors.As(err, &f) {
		status = f.status
	}
	os.Exit(status)
}

func run(ctx context.Context, args arguments) error {
	work, err := os.MkdirTemp("", "miopen-shim-demo-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	d, err := newDemo(args, work)
	if err != nil {
		return err
	}
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	t.Style().Format.Header = text.FormatDefault
	t.SetTitle("%s", d.name)
	t.AppendHeader(table.Row{"step", "proven", "seconds"})
	var failed error
	for _, step := range d.steps() {
		start := time.Now()
		proven, err := step.do(ctx)
		if err != nil {
			proven, failed = "DOES NOT HOLD", fmt.Errorf("%s: %w", step.name, err)
		}
		t.AppendRow(table.Row{step.name, proven, fmt.Sprintf("%.2f", time.Since(start).Seconds())})
		if failed != nil {
			break
		}
	}
	fmt.Println(t.Render())
	if failed == nil && args.Out != "" {
		fmt.Println("the split is in", args.Out)
	}
	return failed
}

// newDemo finds the programs among the run files, and the library: the reference library, or the one named.
func newDemo(args arguments, work string) (*demo, error) {
	d := &demo{name: "the reference library, tests/refmiopen", out: args.Out, home: work}
	if d.out == "" {
		d.out = filepath.Join(work, "split")
	}
	files := []struct {
		variable string
		path     *string
	}{{"TOOL", &d.tool}, {"DESCRIPTORS", &d.descriptors}, {"CONVRUN", &d.convrun}, {"HEADER", &d.header}, {"STOCK", &d.stock}}
	for _, f := range files {
		var err error
		if *f.path, err = runfile.Path(f.variable); err != nil {
			return nil, err
		}
	}
	if args.Miopen != "" {
		d.name, d.stock, d.header, d.convrun = args.Miopen, args.Miopen, headerOf(args.Miopen), ""
	}
	return d, nil
}
