package split

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"example.com/miopen_hipdnn_shim/shim/stubgen"
)

// CompilerError says that the C compiler could not be run, or failed.
type CompilerError struct {
	Command []string
	Output  string // what it printed
	Err     error
}

func (e *CompilerError) Error() string {
	text := fmt.Sprintf("linking the wrapper with %q: %v", e.Command, e.Err)
	if e.Output != "" {
		text += "\n" + e.Output
	}
	return text
}

// Unwrap returns the cause.
func (e *CompilerError) Unwrap() error { return e.Err }

// linkFlags are the options of the link, apart from files.
func linkFlags(soname string) []string {
	return []string{
		"-shared",
		// No start files and no libraries: nothing runs when the wrapper is loaded, and nothing ties it to a glibc.
		"-nostdlib",
		"-Wl,-soname," + soname,
		// Full RELRO: all slots are filled when the library is loaded, and read-only from then on.
		"-Wl,-z,now", "-Wl,-z,relro",
		// A host that dlopens and dlcloses MIOpen must not unmap stubs that other code has pointers to.
		"-Wl,-z,nodelete",
		"-Wl,-z,noexecstack",
		// An implementation that the private library lacks is found now, not when a program starts.
		"-Wl,-z,defs",
		"-Wl,--build-id=sha1", // of the content, so it is the same in every run
		"-Wl,--hash-style=gnu",
		// DT_RUNPATH, which LD_LIBRARY_PATH overrides, as users of the stock library can.
		"-Wl,--enable-new-dtags", "-Wl,-rpath,$ORIGIN",
	}
}

// link assembles and links the wrapper, in two steps: a stand-in for the private library, and the wrapper against it. That
// the wrapper fits the real one is checked afterwards.
//
// Sources come through standard input and the commands run in the caller's working directory, so that no temporary name
// gets into the result and relative paths among the flags keep their meaning.
func (s *splitter) link(ctx context.Context, wrapper string) error {
	scratch, err := os.MkdirTemp("", "miopen-shim-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	script := filepath.Join(scratch, "stand-in.map")
	if err := os.WriteFile(script, stubgen.StandInScript(s.api, s.lib.Nodes), 0o600); err != nil {
		return err
	}
	standIn := filepath.Join(scratch, s.names.Private())
	err = s.compile(ctx, stubgen.StandIn(s.api), script, standIn, []string{"-shared", "-nostdlib", "-Wl,-soname," + s.names.Private()})
	if err != nil {
		return err
	}
	script = filepath.Join(scratch, "wrapper.map")
	if err := os.WriteFile(script, stubgen.VersionScript(s.api, s.lib.Nodes), 0o600); err != nil {
		return err
	}
	return s.compile(ctx, stubgen.Assembly(s.api, Version), script, wrapper, linkFlags(s.names.Wrapper()),
		// The NEEDED entry has to stay whatever the compiler's default is.
		"-Wl,--no-as-needed", standIn)
}

// compile makes a shared library from an assembler source. flags come after the caller's, libraries last.
func (s *splitter) compile(ctx context.Context, source []byte, script, out string, flags []string, libraries ...string) error {
	args := slices.Concat(s.Compiler[1:], s.CompilerFlags, flags, []string{
		"-Xlinker", "--version-script", "-Xlinker", script, // -Wl would split a path at commas
		"-o", out, "-x", "assembler", "-", "-x", "none",
	}, libraries)
	cmd := exec.CommandContext(ctx, s.Compiler[0], args...)
	cmd.Stdin = bytes.NewReader(source)
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	cmd.Env = append(os.Environ(), "LC_ALL=C") // messages in one language
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return &CompilerError{Command: cmd.Args, Output: trimOutput(output.Bytes()), Err: err}
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
