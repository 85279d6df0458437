package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"example.com/miopen_hipdnn_shim/shim/exports"
	"example.com/miopen_hipdnn_shim/shim/trace"
)

// traceVariable is the wrapper's switch, and ringTrace starts its value for trace files in a folder.
const (
	traceVariable = "MIOPEN_HIPDNN_TRACE"
	ringTrace     = "ring:"
)

// programStatus is the exit status of a program that this one ran, never 0.
type programStatus int

func (s programStatus) Error() string { return fmt.Sprintf("the program ended with status %d", int(s)) }

func (c traceCommand) runProgram(env environment) error {
	dir, cleanUp, err := c.traceFolder()
	if err != nil {
		return err
	}
	defer cleanUp()
	program, err := exec.LookPath(c.Program[0])
	// ErrDot says that it was found in the working directory, which is fine when PATH has that.
	if err != nil && !errors.Is(err, exec.ErrDot) {
		return &exports.ReadError{Path: c.Program[0], Err: err}
	}
	status, err := runTraced(env, dir, program, c.Program)
	if err != nil {
		return &exports.ReadError{Path: program, Err: err}
	}
	reported := c.reportProgram(env, dir, program)
	if status == 0 {
		return reported
	}
	if reported != nil && !errors.Is(reported, errDoesNotHold) {
		fmt.Fprintf(env.Stderr, "miopen-shim: %v\n", reported)
	}
	return programStatus(status)
}

// traceFolder is where the program's trace goes, and what to do with it in the end. Its path is absolute, since the program
// may change its working directory before its first call.
func (c traceCommand) traceFolder() (dir string, cleanUp func(), err error) {
	if c.Keep == "" {
		return temporaryFolder()
	}
	if dir, err = filepath.Abs(c.Keep); err != nil {
		return "", nil, err
	}
	if err = os.MkdirAll(dir, 0o777); err != nil {
		return "", nil, err
	}
	old, err := filepath.Glob(filepath.Join(escapeGlob(dir), "*"+trace.Suffix))
	if err != nil {
		return "", nil, err
	}
	if len(old) > 0 {
		return "", nil, &usageError{fmt.Sprintf("--keep %s: it holds an earlier trace, %s: name another folder, or remove it", c.Keep, filepath.Base(old[0]))}
	}
	return dir, func() {}, nil
}

// temporaryFolder is a folder in a folder: the wrapper makes a trace's folder if it is not there, but not what that is in,
// so that programs which outlive the one that was started leave nothing behind.
func temporaryFolder() (dir string, cleanUp func(), err error) {
	base, err := filepath.Abs(os.TempDir())
	if err != nil {
		return "", nil, err
	}
	if base, err = os.MkdirTemp(base, "miopen-shim-trace"); err != nil {
		return "", nil, err
	}
	cleanUp = func() { os.RemoveAll(base) }
	dir = filepath.Join(base, "rings")
	if err = os.Mkdir(dir, 0o700); err != nil {
		cleanUp()
	}
	return dir, cleanUp, err
}

func escapeGlob(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// runTraced runs a program and returns its exit status. The error says that it could not be started.
func runTraced(env environment, dir, program string, args []string) (int, error) {
	cmd := &exec.Cmd{
		Path: program, Args: args, Env: append(withoutVariable(os.Environ(), traceVariable), traceVariable+"="+ringTrace+dir),
		Stdin: os.Stdin, Stdout: env.Stdout, Stderr: env.Stderr,
	}
	signals := make(chan os.Signal, 16)
	if passed := heeded(unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGTERM, unix.SIGUSR1, unix.SIGUSR2, unix.SIGWINCH); len(passed) > 0 {
		signal.Notify(signals, passed...) // none would mean all
	}
	defer signal.Stop(signals)
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	ended := make(chan struct{})
	passing := make(chan struct{})
	go func() {
		defer close(passing)
		for {
			select {
			case s := <-signals:
				if !fromTerminal(s) {
					_ = cmd.Process.Signal(s) // that it has ended already is no failure
				}
			case <-ended:
				return
			}
		}
	}()
	err := cmd.Wait()
	close(ended)
	<-passing
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal()), nil
	}
	if code := cmd.ProcessState.ExitCode(); code != 0 {
		return code, nil
	}
	return 0, err
}

// fromTerminal reports whether a signal came from a terminal, which sends it to every process of the foreground group:
// the program has it already, and a second SIGINT makes many programs give up an orderly end.
func fromTerminal(s os.Signal) bool {
	if s != unix.SIGINT && s != unix.SIGQUIT && s != unix.SIGWINCH {
		return false
	}
	terminal, err := os.Open("/dev/tty")
	if err != nil {
		return false
	}
	defer terminal.Close()
	group, err := unix.IoctlGetInt(int(terminal.Fd()), unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}

func withoutVariable(environ []string, name string) []string {
	var rest []string
	for _, entry := range environ {
		if !strings.HasPrefix(entry, name+"=") {
			rest = append(rest, entry)
		}
	}
	return rest
}

// reportProgram shows the trace that a program left.
func (c traceCommand) reportProgram(env environment, dir, program string) error {
	t, err := trace.Open(dir)
	var none *trace.NoFileError
	switch {
	case errors.As(err, &none):
		fmt.Fprintf(env.Stderr, "miopen-shim: %s left no trace. %s\n", c.Program[0], whyNoTrace(program))
		return errDoesNotHold
	case err != nil:
		return &exports.ReadError{Path: dir, Err: err}
	}
	return c.show(env, env.Stderr, t)
}

// whyNoTrace names what can be seen to be the reason, else the possible ones.
func whyNoTrace(program string) string {
	info, err := os.Stat(program)
	if err == nil && info.Mode()&(os.ModeSetuid|os.ModeSetgid) != 0 {
		return "It is setuid or setgid, and the wrapper ignores its switches in such a program: run it as its owner, or a copy without the bit."
	}
	if n, err := unix.Getxattr(program, "security.capability", nil); err == nil && n > 0 {
		return "It has file capabilities, and the wrapper ignores its switches in such a program: run a copy without them."
	}
	return fmt.Sprintf(`Either
  - it made no call of MIOpen,
  - or its libMIOpen.so.1 is not one that was split: see miopen-shim inspect %[1]s, and whether LD_LIBRARY_PATH has the split's folder,
  - or it cleared the variable %[2]s, or could not write into its folder: then the wrapper said so above.`, program, traceVariable)
}
