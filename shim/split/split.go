// Package split makes the two libraries of a split, and what belongs to them, from one MIOpen library.
//
// It orders the work of the packages below it: exports reads the API, elf renames it, stubgen writes the sources of the
// wrapper, the C compiler makes the wrapper, check holds the result against the input, publish puts it in place. The
// result is a function of the input, the options and the compiler: no date, no temporary path and nothing of the machine
// gets into it.
//
// Nothing appears at the destination before every check held, and a failed or killed run leaves an earlier result as it
// was. The input is only read. Runs may happen at the same time, also for one destination.
package split

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"example.com/miopen_hipdnn_shim/shim/elf"
	"example.com/miopen_hipdnn_shim/shim/exports"
	"example.com/miopen_hipdnn_shim/shim/exports/dynobj"
	"example.com/miopen_hipdnn_shim/shim/exports/opened"
	"example.com/miopen_hipdnn_shim/shim/split/check"
	"example.com/miopen_hipdnn_shim/shim/split/layout"
	"example.com/miopen_hipdnn_shim/shim/split/manifest"
	"example.com/miopen_hipdnn_shim/shim/split/publish"
	"example.com/miopen_hipdnn_shim/shim/stubgen"
	"example.com/miopen_hipdnn_shim/shim/stubgen/header"
)

// Version is the version of the shim.
const Version = "0.1.0"

// Options say what to split, and how.
type Options struct {
	// Library is the stock library, or a private library that was renamed when it was compiled.
	Library string
	// Out is the folder of the result. It belongs to the split as a whole: it may be missing, empty, or an earlier result.
	Out string
	// RunPath is the DT_RUNPATH of the private library, one folder an element; nil keeps that of Library, and a single
	// empty element removes it.
	RunPath []string
	// Header is the miopen.h that belongs to Library. Without it no miopen_impl.h is written, and the wrapper knows no
	// signature: its traces have no durations, and all that it refuses, it refuses with a status.
	Header string
	// Include are the folders in which Header finds what it includes, in order; if Header is in a folder named miopen, the
	// folder above that comes after them.
	Include []string
	// Compiler is the C compiler and its leading arguments; empty means cc. It must understand GCC's options, and assemble
	// and link for x86-64. A name without a slash is looked up in PATH.
	Compiler []string
	// CompilerFlags are further arguments, before those of the split, which therefore win.
	CompilerFlags []string
}

// Result is a finished split.
type Result struct {
	Manifest manifest.Manifest
	// Checks are the checks that the wrapper passed before it was put in place.
	Checks check.Report
	// Warnings are sentences for the user about things that hold and may still surprise.
	Warnings []string
}

// CheckError says that the result does not hold. Nothing was put in place.
type CheckError struct{ Report check.Report }

func (e *CheckError) Error() string {
	return "the result failed its own check, nothing was written:\n  " + strings.Join(e.Report.Findings(), "\n  ")
}

// input is what is read before anything is written.
type input struct {
	lib    *exports.Library
	api    exports.API
	names  layout.Layout
	header *header.Header // nil when none was given
}

// Split does the whole. The error is an *exports.ReadError for an input that cannot be read, a *publish.ForeignError for a
// destination that is not the split's, one of the errors of exports.Library.API or a *layout.SONAMEError for a library
// that cannot be split, an *elf.EditError, a *CompilerError or *HeaderError, a *CheckError, ctx's error, or one of the
// operating system about the destination.
func Split(ctx context.Context, o Options) (Result, error) {
	if len(o.Compiler) == 0 {
		o.Compiler = []string{"cc"}
	}
	in, err := read(o)
	if err != nil {
		return Result{}, err
	}
	stage, err := publish.NewStage(o.Out, mayReplace(o.Library))
	if err != nil {
		return Result{}, err
	}
	defer stage.Discard()
	s := splitter{
		Options: o, input: in, stage: stage,
		files: map[string]string{},
		manifest: manifest.Manifest{
			Schema: manifest.Schema, Tool: manifest.Tool{Name: manifest.ToolName, Version: Version},
			Nodes: manifest.Nodes(in.lib.Nodes), LayoutFingerprint: in.api.Fingerprint(),
			EntryPoints: manifest.EntryPoints(in.api),
		},
	}
	// The input is digested and searched while it is rewritten; both take about as long on a large library.
	described := make(chan error, 1)
	go func() { described <- s.describeInput() }()
	err = s.build(ctx)
	if derr := <-described; derr != nil {
		return Result{}, &exports.ReadError{Path: o.Library, Err: derr}
	}
	if err != nil {
		return Result{}, err
	}
	if err := s.finish(); err != nil {
		return Result{}, err
	}
	if err := ctx.Err(); err != nil {
		return Result{}, err
	}
	if err := stage.Commit(); err != nil {
		return Result{}, err
	}
	return Result{Manifest: s.manifest, Checks: s.checks, Warnings: s.warnings()}, nil
}

func read(o Options) (input, error) {
	lib, err := exports.Read(o.Library)
	if err != nil {
		return input{}, err
	}
	api, err := lib.API()
	if err != nil {
		return input{}, err
	}
	if api.Form == exports.FormWrapper {
		return input{}, &WrapperError{Path: o.Library}
	}
	names, err := layout.For(lib.SONAME)
	if err != nil {
		return input{}, fmt.Errorf("%s: %w", o.Library, err)
	}
	in := input{lib: lib, api: api, names: names}
	if o.Header != "" {
		text, err := os.ReadFile(o.Header)
		if err != nil {
			return input{}, &exports.ReadError{Path: o.Header, Err: err}
		}
		if in.header, err = header.Parse(text); err != nil {
			return input{}, &exports.ReadError{Path: o.Header, Err: err}
		}
	}
	return in, nil
}

// WrapperError says that the input is itself a wrapper.
type WrapperError struct{ Path string }

func (e *WrapperError) Error() string {
	return e.Path + ": is already split: it is a wrapper, whose entry points another library implements; start from the stock library"
}

// mayReplace lets a split replace an earlier one and nothing else.
func mayReplace(library string) publish.Owner {
	return func(dir string, files []string) string {
		if in, err := filepath.EvalSymlinks(library); err == nil {
			if abs, err := filepath.Abs(in); err == nil && strings.HasPrefix(abs, dir+string(filepath.Separator)) {
				return "holds the library that is to be split"
			}
		}
		for _, f := range files {
			if !layout.Owned(f) {
				return fmt.Sprintf("holds %s, which no split made", f)
			}
		}
		text, err := os.ReadFile(filepath.Join(dir, layout.Manifest))
		if err != nil {
			return fmt.Sprintf("holds %s and no %s of an earlier split", files[0], layout.Manifest)
		}
		if !manifest.IsOurs(text) {
			return layout.Manifest + " is not that of a split"
		}
		return ""
	}
}

// splitter is one run.
type splitter struct {
	Options
	input
	stage    *publish.Stage
	manifest manifest.Manifest
	files    map[string]string // digests of the text files
	checks   check.Report
}

func (s *splitter) describeInput() error {
	scan, err := opened.ScanFile(s.Library)
	if err != nil {
		return err
	}
	s.manifest.RunTime = manifest.NewRunTime(scan)
	d, err := manifest.Describe("", s.lib)
	s.manifest.Input = manifest.Input{Form: s.api.Form.String(), Identity: d.Identity}
	return err
}

// build writes everything but the manifest into the stage. It must not touch what describeInput writes.
func (s *splitter) build(ctx context.Context) error {
	private, err := s.stage.Path(s.names.Private())
	if err != nil {
		return err
	}
	wrapper, err := s.stage.Path(s.names.Wrapper())
	if err != nil {
		return err
	}
	// The one waits for the disk, the other for the compiler, and neither for the other.
	linked := make(chan error, 1)
	linkContext, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() { linked <- s.link(linkContext, wrapper) }()
	err = s.rewrite(private)
	if err != nil {
		cancel()
	}
	if linkErr := <-linked; err == nil {
		err = linkErr
	}
	if err != nil {
		return err
	}
	if err := s.texts(); err != nil {
		return err
	}
	if err := s.selfCheck(private, wrapper); err != nil {
		return err
	}
	for _, l := range []struct {
		path, name string
		record     *manifest.Library
	}{{private, s.names.Private(), &s.manifest.Private}, {wrapper, s.names.Wrapper(), &s.manifest.Wrapper}} {
		lib, err := exports.Read(l.path)
		if err != nil {
			return err
		}
		if *l.record, err = manifest.Describe(l.name, lib); err != nil {
			return err
		}
	}
	return nil
}

// rewrite makes the private library. A library that was renamed when it was compiled only gets its SONAME and RUNPATH.
func (s *splitter) rewrite(private string) error {
	var edit elf.Edit
	if s.api.Form == exports.FormStock {
		edit.Rename = s.api.Rename()
	}
	if s.lib.SONAME != s.names.Private() {
		edit.SONAME = s.names.Private()
	}
	if s.RunPath != nil {
		joined := strings.Join(s.RunPath, ":")
		edit.RunPath = &joined
	}
	_, err := elf.Rewrite(s.Library, private, edit)
	var format *elf.FormatError
	if errors.As(err, &format) {
		return &exports.ReadError{Path: s.Library, Err: err}
	}
	return err
}

// texts writes the headers, the linker script, the symbols file and the symbolic link.
func (s *splitter) texts() error {
	type text struct {
		name    string
		content []byte
	}
	texts := []text{
		{layout.ShimHeader, stubgen.ShimHeader},
		{layout.RenameHeader, stubgen.RenameHeader(s.api)},
		{layout.LinkerScript, s.names.LinkerScriptText()},
		{s.names.Symbols(), stubgen.DebianSymbols(s.api, s.lib.Nodes, s.names.Wrapper())},
	}
	if s.header != nil {
		content, undeclared := stubgen.ImplHeader(s.api, s.header)
		texts = append(texts, text{layout.ImplHeader, content})
		s.manifest.Undeclared = append([]string{}, undeclared...)
	}
	for _, t := range texts {
		if err := s.stage.Write(t.name, t.content); err != nil {
			return err
		}
		p, err := s.stage.Path(t.name)
		if err != nil {
			return err
		}
		if s.files[t.name], err = manifest.Digest(p); err != nil {
			return err
		}
	}
	link, err := s.stage.Path(layout.DevLink)
	if err != nil {
		return err
	}
	return os.Symlink(s.names.Wrapper(), link)
}

func (s *splitter) selfCheck(private, wrapper string) error {
	p, err := dynobj.Open(private)
	if err != nil {
		return err
	}
	defer p.Close()
	w, err := dynobj.Open(wrapper)
	if err != nil {
		return fmt.Errorf("what the linker wrote cannot be read: %w", err)
	}
	defer w.Close()
	s.checks, err = check.Wrapper(check.Stock{API: s.api, Nodes: s.lib.Nodes}, s.names, w, p)
	if err != nil {
		return err
	}
	if !s.checks.Holds() {
		return &CheckError{Report: s.checks}
	}
	return nil
}

func (s *splitter) finish() error {
	s.manifest.Files = s.files
	text, err := s.manifest.Encode()
	if err != nil {
		return err
	}
	return s.stage.Write(layout.Manifest, text)
}

func (s *splitter) warnings() []string {
	var out []string
	if s.header == nil {
		out = append(out, fmt.Sprintf("no header was given: %s is not written, and traces have no durations", layout.ImplHeader))
	} else if len(s.manifest.Undeclared) == len(s.api.Names()) {
		out = append(out, fmt.Sprintf("%s declares none of the entry points of %s: %s is empty", s.Header, s.Library, layout.ImplHeader))
	}
	if w := s.runPathWarning(); w != "" {
		out = append(out, w)
	}
	return out
}

// runPathWarning tells when the private library, in its new folder, looks for its dependencies elsewhere than the input
// did. Entries whose folder does not exist at the old place lead to nothing, so nothing is lost with them.
func (s *splitter) runPathWarning() string {
	stock := s.lib.RunPath
	if stock == nil {
		stock = s.lib.RPath
	}
	if s.RunPath != nil || stock == nil {
		return ""
	}
	oldDir, err := realDir(s.Library)
	if err != nil {
		return ""
	}
	newDir := s.stage.Dest()
	var moved []string
	var flags strings.Builder
	for entry := range strings.SplitSeq(*stock, ":") {
		suggested := entry
		rest, relative := cutOrigin(entry)
		if relative {
			was, is := filepath.Join(oldDir, rest), filepath.Join(newDir, rest)
			if st, err := os.Stat(was); was != is && err == nil && st.IsDir() {
				moved = append(moved, fmt.Sprintf("%s was %s and is %s", entry, was, is))
				if rel, err := filepath.Rel(newDir, was); err == nil {
					suggested = "$ORIGIN/" + filepath.ToSlash(rel) // not path.Join, which takes $ORIGIN for a folder and ".." away with it
				}
			}
		}
		fmt.Fprintf(&flags, " --runpath '%s'", suggested)
	}
	if len(moved) == 0 {
		return ""
	}
	return fmt.Sprintf("%s keeps the RUNPATH of %s, which leads elsewhere from its new folder (%s); if dependencies are found there, "+
		"split with%s", s.names.Private(), s.Library, strings.Join(moved, ", "), flags.String())
}

// realDir returns the folder in which the loader would see a library of that path, without symbolic links to folders.
func realDir(library string) (string, error) {
	abs, err := filepath.Abs(library)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(filepath.Dir(abs))
}

// cutOrigin returns what follows $ORIGIN at the start of a search path entry.
func cutOrigin(entry string) (rest string, ok bool) {
	for _, token := range []string{"$ORIGIN", "${ORIGIN}"} {
		if rest, ok = strings.CutPrefix(entry, token); ok && (rest == "" || rest[0] == '/') {
			return rest, true
		}
	}
	return "", false
}

// IsInterrupted reports whether an error is due to the end of the context that Split was given.
func IsInterrupted(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}
