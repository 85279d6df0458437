// Package splitsuite is what must hold for every split MIOpen, be it refmiopen's or AMD's: one set of tests
// that tests/hermetic and tests/realmiopen run on their own subject. It knows the files of a split, ELF and
// the dynamic loader's behaviour; it knows nothing of how a split is made.
package splitsuite

import (
	"bytes"
	"context"
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/tests/launch"
)

// Subject is one stock library, its split, and the programs that exercise both.
type Subject struct {
	Stock   string      // the stock libMIOpen.so.1
	Split   string      // directory with libMIOpen.so.1, libMIOpen_private.so.1, libMIOpen.so, manifest.json
	Host    launch.Host // where the library's own dependencies are
	Exports int         // how many entry points the stock library has; 0 is not accepted

	// LinkFlags lets the machine's linker accept a library that was built for a newer C library than the machine has.
	LinkFlags []string

	Descriptors string // a program linked against a stock libMIOpen.so.1, at least 75 API calls
	Dlhost      string // tests/clients/dlhost.c
}

const (
	wrapperName = "libMIOpen.so.1"
	privateName = "libMIOpen_private.so.1"
	linkName    = "libMIOpen.so"
)

// timeout bounds one program: loading a ROCm from a cold disk takes seconds, never minutes.
const timeout = 3 * time.Minute

// outcome is what a program did.
type outcome struct {
	stdout, stderr string
	status         int
}

// run starts program on the libraries in dirs. Environment entries in env come last and win.
func (s Subject) run(t *testing.T, dirs, env []string, program string, args ...string) outcome {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	cmd, err := s.Host.Command(ctx, t.TempDir(), dirs, program, args...)
	require.NoError(t, err)
	cmd.Env = append(cmd.Env, env...)
	return finish(t, cmd)
}

func finish(t *testing.T, cmd *exec.Cmd) outcome {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil {
		require.ErrorAs(t, err, &exit, "%s did not start", cmd)
	}
	return outcome{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
}

// stockDir is a directory that has the stock library alone, under the name that programs ask for.
func (s Subject) stockDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	symlink(t, s.Stock, filepath.Join(dir, wrapperName))
	return dir
}

// copyOfSplit is a writable copy of the split's libraries.
func (s Subject) copyOfSplit(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{wrapperName, privateName} {
		copyFile(t, filepath.Join(s.Split, name), filepath.Join(dir, name))
	}
	require.NoError(t, os.Symlink(wrapperName, filepath.Join(dir, linkName)))
	return dir
}

func symlink(t *testing.T, target, link string) {
	t.Helper()
	absolute, err := filepath.Abs(target)
	require.NoError(t, err)
	require.NoError(t, os.Symlink(absolute, link))
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	content, err := os.ReadFile(from)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(to, content, 0o755))
}

// fileOffset is where the file has the byte that is at a virtual address.
func fileOffset(t *testing.T, path string, address uint64) int64 {
	t.Helper()
	file, err := elf.Open(path)
	require.NoError(t, err)
	defer file.Close()
	for _, p := range file.Progs {
		if p.Type == elf.PT_LOAD && address >= p.Vaddr && address < p.Vaddr+p.Filesz {
			return int64(address - p.Vaddr + p.Off)
		}
	}
	require.FailNow(t, "no such address", "%s %#x", path, address)
	return 0
}

// tool runs a build tool of the machine and returns its combined output.
func tool(t *testing.T, name string, args ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	out, err := exec.CommandContext(ctx, name, args...).CombinedOutput()
	return string(out), err
}
