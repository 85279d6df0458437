package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"

	"example.com/miopen_hipdnn_shim/shim/exports"
	"example.com/miopen_hipdnn_shim/shim/trace"
	"example.com/miopen_hipdnn_shim/shim/trace/render"
)

type traceCommand struct {
	Report  string        `placeholder:"PATH" help:"Show a trace that is there: a file, or the folder that was named in MIOPEN_HIPDNN_TRACE=ring:DIR."`
	Format  render.Format `enum:"table,calls,threads,tsv,json" default:"table" help:"table: calls and times of each function; calls: each call in time order; threads: the same, thread by thread; tsv, json: for programs."`
	Output  string        `placeholder:"FILE" help:"Write the report to FILE. Default: standard output with --report, standard error, after PROGRAM's own, without."`
	Keep    string        `placeholder:"DIR" help:"Leave the trace files of PROGRAM in DIR, which must not hold any. Default: a temporary folder, removed at the end."`
	Program []string      `arg:"" optional:"" name:"program" sep:"none" help:"The program to run and its arguments. Write -- before it."`
}

// Help is shown with the options.
func (traceCommand) Help() string {
	return `Either shows a trace, or runs PROGRAM, traced, and shows its trace:

  miopen-shim trace --report PATH
  miopen-shim trace -- PROGRAM ARGS...

PROGRAM has to use a libMIOpen.so.1 that was split. It runs with MIOPEN_HIPDNN_TRACE=ring:DIR and this program's standard
input, output and error; signals are passed on to it. The programs that it starts are traced too; what they do after
PROGRAM has ended is not waited for. Each thread keeps its newest 65536 calls, in 2 MiB of DIR (TMPDIR without --keep),
also when it has ended. The first 1024 threads of each process do; calls of others are counted.

Times are from a call's beginning to its return; functions that the wrapper knows no signature of have none (-), and
calls that had not returned are open. Calls that MIOpen makes itself are not seen.

Exit status of PROGRAM: its own, or 128+N when signal N ended it. When that is 0, as of --report: 1 when the trace is
damaged or there is none, 3 when PROGRAM cannot be started or nothing of the trace can be read.`
}

// Validate is called by the parser; what it returns is wrong usage.
func (c traceCommand) Validate() error {
	switch {
	case c.Report == "" && len(c.Program) == 0:
		return errors.New("neither --report PATH nor -- PROGRAM was given")
	case c.Report != "" && len(c.Program) > 0:
		return errors.New("--report PATH shows a trace that is there: it does not go with a program")
	case c.Report != "" && c.Keep != "":
		return errors.New("--keep DIR is for the trace of a program: it does not go with --report")
	case len(c.Program) > 0 && c.Program[0] == "":
		return errors.New("the program's name is empty")
	}
	return nil
}

// Run shows a trace, of a program that it runs or one that is there.
func (c traceCommand) Run(env environment) error {
	if len(c.Program) > 0 {
		return c.runProgram(env)
	}
	t, err := trace.Open(c.Report)
	if err != nil {
		return &exports.ReadError{Path: c.Report, Err: err}
	}
	return c.show(env, env.Stdout, t)
}

// show writes the report, to otherwise unless a file was named, and what is not right with the trace to standard error.
func (c traceCommand) show(env environment, otherwise io.Writer, t *trace.Trace) error {
	for _, note := range render.Notes(t) {
		fmt.Fprintf(env.Stderr, "miopen-shim: note: %s\n", note)
	}
	for _, p := range t.Processes {
		for _, d := range p.Damage {
			fmt.Fprintf(env.Stderr, "miopen-shim: damaged: %v\n", d)
		}
		if more := p.DamageCount - len(p.Damage); more > 0 {
			fmt.Fprintf(env.Stderr, "miopen-shim: damaged: %s: %d more places\n", p.Path, more)
		}
	}
	for _, err := range t.Unreadable {
		fmt.Fprintf(env.Stderr, "miopen-shim: not read: %v\n", err)
	}
	var err error
	if c.Output == "" {
		err = render.Write(otherwise, t, c.Format)
	} else {
		err = writeFile(c.Output, func(w io.Writer) error { return render.Write(w, t, c.Format) })
	}
	if err != nil {
		return fmt.Errorf("cannot write the report: %w", err)
	}
	if t.Damaged() > 0 {
		return errDoesNotHold
	}
	return nil
}

// writeFile replaces a file by what write writes, when that is complete. What is there and not a regular file, as a
// terminal or a pipe, is written to directly.
func writeFile(path string, write func(io.Writer) error) (err error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		return errors.Join(write(f), f.Close())
	}
	var f *os.File
	for {
		// Not os.CreateTemp, which ignores the umask in favour of 0600.
		f, err = os.OpenFile(filepath.Join(filepath.Dir(path), fmt.Sprintf(".%s.%x", filepath.Base(path), rand.Uint32())), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if !errors.Is(err, fs.ErrExist) {
			break
		}
	}
	if err != nil {
		return err
	}
	if err = errors.Join(write(f), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}
