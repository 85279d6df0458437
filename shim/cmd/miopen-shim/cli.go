package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/alecthomas/kong"

	"example.com/miopen_hipdnn_shim/shim/exports"
	"example.com/miopen_hipdnn_shim/shim/inspect/loader"
	"example.com/miopen_hipdnn_shim/shim/split"
	"example.com/miopen_hipdnn_shim/shim/split/publish"
)

// The exit codes.
const (
	exitHolds      = 0
	exitDoesNot    = 1
	exitUsage      = 2
	exitUnreadable = 3
)

const description = `Put a thin libMIOpen.so.1 in front of MIOpen that keeps its API and ABI.

Exit status: 0 the result holds, 1 it does not, 2 wrong usage, 3 an input cannot be read.`

// environment is what the commands take from the process.
type environment struct {
	Stdout, Stderr io.Writer
	CC             string // the variable CC
	LibraryPath    string // the variable LD_LIBRARY_PATH
}

type cli struct {
	Split   splitCommand   `cmd:"" help:"Make the wrapper and the private library from a MIOpen library."`
	Verify  verifyCommand  `cmd:"" help:"Check a split against the library that it was made from."`
	Inspect inspectCommand `cmd:"" help:"Show what libraries and programs need and export, and where their MIOpen names bind."`
	Trace   traceCommand   `cmd:"" help:"Show which entry points were called, when, and for how long: of a program that is run, or of an earlier run."`
	Version versionCommand `cmd:"" help:"Print the version of this program and exit."`

	ShowVersion kong.VersionFlag `name:"version" help:"Print the version of this program and exit."`
}

// usageError is wrong usage that shows only when a command is at work.
type usageError struct{ reason string }

func (e *usageError) Error() string { return e.reason }

// errDoesNotHold ends a command whose findings were printed already.
var errDoesNotHold = errors.New("does not hold")

// exited is how kong's request to exit gets out of the parser.
type exited int

// run is the program. It returns the exit status.
func run(ctx context.Context, args []string, env environment) (status int) {
	defer func() {
		if r := recover(); r != nil {
			code, ok := r.(exited)
			if !ok {
				panic(r)
			}
			status = int(code)
		}
	}()
	var c cli
	parser, err := kong.New(&c,
		kong.Name("miopen-shim"),
		kong.Description(description),
		kong.Writers(env.Stdout, env.Stderr),
		kong.Exit(func(code int) { panic(exited(code)) }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: false, WrapUpperBound: 100}),
		kong.Vars{"version": split.Version, "loader": loader.DefaultProgram},
		kong.BindTo(ctx, (*context.Context)(nil)),
		kong.Bind(env),
	)
	if err != nil {
		panic(err) // the declaration above is wrong
	}
	k, err := parser.Parse(args)
	if err != nil {
		fmt.Fprintf(env.Stderr, "miopen-shim: %v\nmiopen-shim -h lists the commands and their options.\n", err)
		return exitUsage
	}
	err = k.Run()
	if program := programStatus(0); errors.As(err, &program) {
		return int(program)
	}
	status = exitStatus(err)
	if err != nil && !errors.Is(err, errDoesNotHold) {
		fmt.Fprintf(env.Stderr, "miopen-shim: %v\n", err)
	}
	return status
}

func exitStatus(err error) int {
	var (
		foreign *publish.ForeignError
		usage   *usageError
		read    *exports.ReadError
	)
	switch {
	case err == nil:
		return exitHolds
	case errors.As(err, &foreign), errors.As(err, &usage):
		return exitUsage
	case errors.As(err, &read):
		return exitUnreadable
	}
	return exitDoesNot
}

type versionCommand struct{}

// Run prints the version.
func (versionCommand) Run(env environment) error {
	_, err := fmt.Fprintln(env.Stdout, split.Version)
	return err
}
