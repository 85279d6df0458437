package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"example.com/miopen_hipdnn_shim/shim/exports"
	"example.com/miopen_hipdnn_shim/shim/inspect"
	"example.com/miopen_hipdnn_shim/shim/inspect/loader"
	"example.com/miopen_hipdnn_shim/shim/inspect/plugin"
	"example.com/miopen_hipdnn_shim/shim/split"
	"example.com/miopen_hipdnn_shim/shim/split/check"
)

type splitCommand struct {
	In      string   `required:"" placeholder:"LIB" help:"The stock libMIOpen.so.1, or a private library whose names were changed when it was compiled (-DMIOPEN_BUILDING_PRIVATE -include miopen_private_rename.h). It is only read."`
	Out     string   `required:"" placeholder:"DIR" help:"The folder of the result: missing, empty, or an earlier result, which is replaced when the new one is complete."`
	RunPath []string `name:"runpath" sep:"none" placeholder:"P" help:"Folder in which the private library looks for its dependencies, instead of its own RUNPATH; repeatable. $ORIGIN is the private library's folder. An empty P removes the RUNPATH."`
	Header  string   `placeholder:"H" help:"The miopen/miopen.h that belongs to the library. With it include/miopen/miopen_impl.h is written, and traces have durations. It is compiled as C++."`
	Include []string `short:"I" name:"include" sep:"none" placeholder:"DIR" help:"Folder of headers that H includes, HIP's for example; repeatable. If H is in a folder miopen, the one above it is searched last."`
	CC      string   `name:"cc" placeholder:"CC" help:"C compiler that assembles and links the wrapper; GCC, Clang or one that takes their options. Default: the variable CC, else cc."`
	Quiet   bool     `help:"Print errors only."`
	CCFlags []string `name:"cc-flag" sep:"none" placeholder:"F" help:"Further argument of the compiler; repeatable. Write --cc-flag=-mfoo."`
}

// Help is shown with the options.
func (splitCommand) Help() string {
	return `Reads the exported miopen* functions of LIB with their version nodes and writes into DIR:

  libMIOpen_private.so.1           the implementation, its entry points renamed miopenFoo_impl
  libMIOpen.so.1                   the wrapper: the same entry points at the same nodes
  libMIOpen.so                     link to the wrapper, for -lMIOpen and for hosts that open that name
  cxx/libMIOpen.so                 linker script for consumers of the C++ names: -L DIR/cxx -L DIR -lMIOpen
  include/miopen/miopen_impl.h     typed declarations of the private names (with --header)
  include/miopen/miopen_hipdnn_shim.h    what the wrapper exports beyond MIOpen
  include/miopen_private_rename.h  macros that rename the public names to the private ones
  libmiopen1.symbols               for dpkg-gensymbols
  manifest.json                    names, nodes, build-ids, digests, layout fingerprint

The wrapper is checked before anything appears in DIR. The result is the same for the same input, options and compiler.`
}

// Run splits.
func (c splitCommand) Run(ctx context.Context, env environment) error {
	compiler := []string{c.CC}
	if c.CC == "" {
		compiler = split.ParseCompiler(env.CC)
	}
	start := time.Now()
	r, err := split.Split(ctx, split.Options{
		Library: c.In, Out: c.Out, RunPath: c.RunPath, Header: c.Header, Include: c.Include, Compiler: compiler, CompilerFlags: c.CCFlags,
	})
	if err != nil {
		return err
	}
	elapsed := time.Since(start)
	if c.Quiet {
		return nil
	}
	for _, w := range r.Warnings {
		fmt.Fprintf(env.Stderr, "miopen-shim: note: %s\n", w)
	}
	m := r.Manifest
	t := newTable(env.Stdout)
	t.SetTitle("%s", c.Out)
	t.AppendRows([]table.Row{
		{"input", fmt.Sprintf("%s library, %s, %d bytes", m.Input.Form, m.Input.SONAME, m.Input.Size)},
		{"entry points", len(m.EntryPoints)},
		{"private library", fmt.Sprintf("%s, %d bytes", m.Private.File, m.Private.Size)},
		{"wrapper", fmt.Sprintf("%s, %d bytes, %d checks hold", m.Wrapper.File, m.Wrapper.Size, len(r.Checks))},
		{"layout", m.LayoutFingerprint},
		{"time", elapsed.Round(time.Millisecond)},
	})
	t.Render()
	return nil
}

type verifyCommand struct {
	Stock string `required:"" placeholder:"LIB" help:"The library that was split."`
	Dir   string `required:"" placeholder:"DIR" help:"The folder of the split."`
	JSON  bool   `name:"json" help:"Print the checks as JSON."`
}

// Help is shown with the options.
func (verifyCommand) Help() string {
	return `Holds everything in DIR against LIB: the private library byte by byte, where only the tables of the rename may
differ; the wrapper's entry points, nodes, and for each stub the function that it jumps to; its hardening, size and needs;
the links, headers and the manifest. Findings name the file and the symbol.`
}

// Run verifies.
func (c verifyCommand) Run(env environment) error {
	report, err := check.Dir(c.Stock, c.Dir)
	if err != nil {
		return err
	}
	if c.JSON {
		err = writeJSON(env.Stdout, report)
	} else {
		writeChecks(env.Stdout, report)
	}
	if err != nil {
		return err
	}
	if !report.Holds() {
		return errDoesNotHold
	}
	return nil
}

func writeChecks(w io.Writer, report check.Report) {
	t := newTable(w)
	t.AppendHeader(table.Row{"check", "compared", "result"})
	failed := 0
	for _, r := range report {
		switch {
		case !r.Holds():
			failed++
			t.AppendRow(table.Row{r.Name, r.Compared, "DOES NOT HOLD"})
			for _, f := range r.Findings {
				t.AppendRow(table.Row{"", "", f})
			}
		case r.NotApplicable != "":
			t.AppendRow(table.Row{r.Name, "-", r.NotApplicable})
		default:
			t.AppendRow(table.Row{r.Name, r.Compared, "holds"})
		}
	}
	verdict := "all hold"
	if failed > 0 {
		verdict = fmt.Sprintf("%d do not hold", failed)
	}
	t.AppendFooter(table.Row{fmt.Sprintf("%d checks", len(report)), "", verdict})
	t.Render()
}

type inspectCommand struct {
	Files   []string `arg:"" name:"file" help:"Libraries and programs, ELF64 x86-64."`
	JSON    bool     `name:"json" help:"Print everything as JSON."`
	Verbose bool     `short:"v" help:"List every export instead of counting them."`

	Plugin bool   `help:"Take the files for hipDNN engine plugins: show how they are linked to MIOpen, and what the dynamic loader binds them to."`
	Loader string `placeholder:"LD" help:"With --plugin: the dynamic loader to ask, for a MIOpen that needs another C library than this machine's. Default: ${loader}."`

	LibraryPath *string `name:"library-path" placeholder:"DIRS" help:"Folders to search as LD_LIBRARY_PATH says, separated by colons, instead of that variable's value."`
}

// Help is shown with the options.
func (inspectCommand) Help() string {
	return `Shows SONAME, build-id, NEEDED entries and the files they lead to, RUNPATH, the oldest glibc, exports by kind and version
node, and for every undefined miopen* name the file and node that it binds to. The files are found as the dynamic loader
would find them on this machine, with DT_RPATH, LD_LIBRARY_PATH, DT_RUNPATH, ldconfig's cache and the default folders.

Exit status 1 when a miopen* name binds to nothing.

With --plugin a file is held against what a hipDNN engine plugin must be, so that hipDNN's calls of MIOpen do not come back
through the wrapper: its MIOpen names are the private ones (miopenFoo_impl), they are bound to libMIOpen_private.so.1, and none is
bound to libMIOpen.so.1, also in a program that is linked to it. The dynamic loader is asked: it maps the plugin and what it needs
and resolves everything, as dlopen with RTLD_NOW does, but runs no code of it. Exit status 1 when this does not hold.`
}

// Run inspects. All files that can be read are shown, also when another one cannot.
func (c inspectCommand) Run(ctx context.Context, env environment) error {
	libraryPath := env.LibraryPath
	if c.LibraryPath != nil {
		libraryPath = *c.LibraryPath
	}
	search := loader.Host(libraryPath)
	if c.Plugin {
		program := loader.Program{Path: c.Loader, LibraryPath: search.LibraryPath}
		return inspectAll(c, env, func(file string) (plugin.Report, error) {
			return plugin.File(ctx, file, search, program)
		}, plugin.WriteTables, plugin.WriteJSON)
	}
	if c.Loader != "" {
		return &usageError{"--loader is for --plugin: without it the loader is predicted, not asked"}
	}
	return inspectAll(c, env, func(file string) (inspect.Report, error) {
		return inspect.File(file, search)
	}, func(w io.Writer, reports []inspect.Report) error {
		return inspect.WriteTables(w, reports, c.Verbose)
	}, inspect.WriteJSON)
}

// inspectAll makes one report of each file and writes those that could be made.
func inspectAll[R interface{ Holds() bool }](c inspectCommand, env environment, inspectFile func(string) (R, error), tables, asJSON func(io.Writer, []R) error) error {
	reports := []R{}
	var unreadable error
	for _, file := range c.Files {
		r, err := inspectFile(file)
		if err != nil {
			if unreadable != nil {
				fmt.Fprintf(env.Stderr, "miopen-shim: %v\n", unreadable)
			}
			unreadable = &exports.ReadError{Path: file, Err: err}
			continue
		}
		reports = append(reports, r)
	}
	write := tables
	if c.JSON {
		write = asJSON
	}
	if err := write(env.Stdout, reports); err != nil {
		return err
	}
	if unreadable != nil {
		return unreadable
	}
	for _, r := range reports {
		if !r.Holds() {
			return errDoesNotHold
		}
	}
	return nil
}

func newTable(w io.Writer) table.Writer {
	t := table.NewWriter()
	t.SetOutputMirror(w)
	t.SetStyle(table.StyleLight)
	t.Style().Format.Header = text.FormatDefault
	t.Style().Format.Footer = text.FormatDefault
	return t
}

func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
