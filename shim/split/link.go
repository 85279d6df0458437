package split

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"example.com/miopen_hipdnn_shim/shim/runtime"
	"example.com/miopen_hipdnn_shim/shim/stubgen"
)

// CompilerError says that the C compiler could not be run, or failed.
type CompilerError struct {
	Step    string // what it was to do
	Command []string
	Output  string // what it printed
	Err     error
}

func (e *CompilerError) Error() string {
	text := fmt.Sprintf("%s with %q: %v", e.Step, e.Command, e.Err)
	if e.Output != "" {
		text += "\n" + e.Output
	}
	return text
}

// Unwrap returns the cause.
func (e *CompilerError) Unwrap() error { return e.Err }

// HeaderError says that the header that was given cannot be compiled, so that the signatures of the entry points are not
// known.
type HeaderError struct {
	Header string
	Err    *CompilerError
}

func (e *HeaderError) Error() string {
	return fmt.Sprintf("%s does not compile as C++: name the folders of the headers that it includes with --include (those of "+
		"HIP among them), and what it needs to be defined with --cc-flag; or split without --header, which leaves out "+
		"miopen_impl.h and makes traces without durations\n%v", e.Header, e.Err)
}

// Unwrap returns the compiler's failure.
func (e *HeaderError) Unwrap() error { return e.Err }

// linkFlags are the options of the link, apart from files.
func linkFlags(soname string) []string {
	return []string{
		"-shared",
		// No start files, so that nothing runs when the wrapper is loaded, and no libraries but those that are listed.
		"-nostdlib",
		"-Wl,-soname," + soname,
		// Full RELRO: all slots are filled when the library is loaded, and read-only from then on.
		"-Wl,-z,now", "-Wl,-z,relro",
		// A host that dlopens and dlcloses MIOpen must not unmap stubs that other code has pointers to.
		"-Wl,-z,nodelete",
		"-Wl,-z,noexecstack",
		// What neither of the stand-ins has is found now, not when a program starts.
		"-Wl,-z,defs",
		"-Wl,--build-id=sha1", // of the content, so it is the same in every run
		"-Wl,--hash-style=gnu",
		// DT_RUNPATH, which LD_LIBRARY_PATH overrides, as users of the stock library can.
		"-Wl,--enable-new-dtags", "-Wl,-rpath,$ORIGIN",
	}
}

// link makes the wrapper: stand-ins for the private library and the C library, the signatures if there is a header, and the
// wrapper from them, the stubs and the run time. That the wrapper fits the real private library is checked afterwards.
//
// The commands run in the caller's working directory, so that relative paths among the flags keep their meaning. Sources
// come through standard input or are files whose folder no option lets into the result, so that no temporary name does.
func (s *splitter) link(ctx context.Context, wrapper string) error {
	scratch, err := os.MkdirTemp("", "miopen-shim-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	write := func(name string, content []byte) (string, error) {
		p := filepath.Join(scratch, name)
		return p, os.WriteFile(p, content, 0o600)
	}

	units, err := runtime.Write(scratch)
	if err != nil {
		return err
	}
	object := filepath.Join(scratch, "runtime.o")
	var standIn, libc, signatures string
	if err := concurrently(
		func() error {
			return s.compile(ctx, "compiling the wrapper's run time", nil, slices.Concat(
				runtime.CompileFlags(), []string{"-std=gnu11", "-c", units.C, "-o", object}))
		},
		func() (err error) {
			if s.header == nil {
				signatures, err = write("signatures.c", stubgen.UnknownSignatures(s.api))
			} else {
				signatures, err = s.signatures(ctx, scratch)
			}
			return err
		},
		func() (err error) {
			standIn, err = s.standIn(ctx, scratch, s.names.Private(), stubgen.StandIn(s.api), stubgen.StandInScript(s.api, s.lib.Nodes))
			return err
		},
		func() (err error) {
			assembly, nodes := stubgen.LibC()
			libc, err = s.standIn(ctx, scratch, "libc.so.6", assembly, nodes)
			return err
		},
	); err != nil {
		return err
	}

	script, err := write("wrapper.map", stubgen.VersionScript(s.api, s.lib.Nodes))
	if err != nil {
		return err
	}
	return s.compile(ctx, "linking the wrapper", stubgen.Assembly(s.api, Version), slices.Concat(
		runtime.CompileFlags(), []string{"-std=gnu11"}, linkFlags(s.names.Wrapper()), versionScript(script),
		[]string{"-o", wrapper, "-x", "assembler", "-", "-x", "none", units.Assembly, object, signatures},
		// The NEEDED entry has to stay whatever the compiler's default is.
		[]string{"-Wl,--no-as-needed", standIn, libc}))
}

// concurrently runs all steps at once and returns the first error in their order: when the compiler cannot be run, one
// step says so for all.
func concurrently(steps ...func() error) error {
	errs := make([]error, len(steps))
	var all sync.WaitGroup
	for i, step := range steps {
		all.Go(func() { errs[i] = step() })
	}
	all.Wait()
	return cmp.Or(errs...)
}

// standIn links a library that has the names of another one, and nothing behind them.
func (s *splitter) standIn(ctx context.Context, scratch, soname string, assembly, nodes []byte) (string, error) {
	script, library := filepath.Join(scratch, soname+".map"), filepath.Join(scratch, soname)
	if err := os.WriteFile(script, nodes, 0o600); err != nil {
		return "", err
	}
	return library, s.compile(ctx, "linking a stand-in for "+soname, assembly, slices.Concat(
		[]string{"-shared", "-nostdlib", "-Wl,-soname," + soname}, versionScript(script),
		[]string{"-o", library, "-x", "assembler", "-"}))
}

// signatures compiles the unit with the signatures against the header, and returns the object.
func (s *splitter) signatures(ctx context.Context, scratch string) (string, error) {
	source := filepath.Join(scratch, "signatures.cpp")
	if err := os.WriteFile(source, stubgen.Signatures(s.api, s.header), 0o600); err != nil {
		return "", err
	}
	object := filepath.Join(scratch, "signatures.o")
	args := slices.Concat(runtime.CompileFlags(), []string{
		"-std=gnu++17",
		// What MIOpen's own headers want, and the part of them that is for C++ only.
		"-D__HIP_PLATFORM_AMD__", "-DMIOPEN_BETA_API",
	})
	for _, dir := range s.Include {
		args = append(args, "-I", dir)
	}
	// The header includes its neighbours as <miopen/...>.
	if dir := filepath.Dir(s.Header); filepath.Base(dir) == "miopen" {
		args = append(args, "-I", filepath.Dir(dir))
	}
	args = append(args, "-include", s.Header, "-c", "-o", object, "-x", "c++", source)
	err := s.compile(ctx, "compiling the signatures", nil, args)
	var failed *CompilerError
	if errors.As(err, &failed) {
		return "", &HeaderError{Header: s.Header, Err: failed}
	}
	return object, err
}

// versionScript returns the options that make the linker read a version script.
func versionScript(path string) []string {
	return []string{"-Xlinker", "--version-script", "-Xlinker", path} // -Wl would split a path at commas
}

// compile runs the compiler. args come after the caller's.
func (s *splitter) compile(ctx context.Context, step string, stdin []byte, args []string) error {
	cmd := exec.CommandContext(ctx, s.Compiler[0], slices.Concat(s.Compiler[1:], s.CompilerFlags, args)...)
	cmd.Stdin = bytes.NewReader(stdin)
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	cmd.Env = append(os.Environ(), "LC_ALL=C") // messages in one language
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return &CompilerError{Step: step, Command: cmd.Args, Output: trimOutput(output.Bytes()), Err: err}
	}
	return nil
}

// trimOutput shortens what a compiler printed to what fits a message.
func trimOutput(b []byte) string {
	const limit = 4000
	b = bytes.TrimSpace(b)
	if len(b) > limit {
		b = append(bytes.Clone(b[:limit]), " ..."...)
	}
	return string(b)
}

// ParseCompiler turns the value of the variable CC into a command: a program, or a program and its arguments separated
// by white space, as make(1) takes it.
func ParseCompiler(cc string) []string {
	if _, err := exec.LookPath(cc); err == nil {
		return []string{cc} // also a path with spaces
	}
	return strings.Fields(cc)
}
