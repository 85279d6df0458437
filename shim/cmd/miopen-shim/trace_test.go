package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"example.com/miopen_hipdnn_shim/shim/trace/tracetest"
)

// script writes an executable shell script. Its first line leaves a trace as the wrapper would.
func script(t *testing.T, body string) string {
	t.Helper()
	dir := t.TempDir()
	sample := tracetest.Sample().Write(t, dir, "sample")
	path := tracetest.Write(t, dir, "program", fmt.Appendf(nil, "#!/bin/sh\ncp %s \"${MIOPEN_HIPDNN_TRACE#ring:}/$$.0.trace\"\n%s\n", sample, body))
	require.NoError(t, os.Chmod(path, 0o755))
	return path
}

// untraced is a script that leaves no trace.
func untraced(t *testing.T, body string) string {
	t.Helper()
	path := tracetest.Write(t, t.TempDir(), "program", []byte("#!/bin/sh\n"+body+"\n"))
	require.NoError(t, os.Chmod(path, 0o755))
	return path
}

func TestTraceReport(t *testing.T) {
	dir := t.TempDir()
	path := tracetest.Sample().Write(t, dir, "100.0.trace")
	for _, what := range []string{path, dir} {
		stdout, stderr := requireStatus(t, 0, "trace", "--report", what)
		require.Contains(t, stdout, "miopenBeta")
		require.Contains(t, stderr, "note: process 100: 2 calls were overwritten by newer ones, the oldest of 1 of its 2 threads")
	}
	for format, want := range map[string]string{"calls": "since start", "threads": "process 100 (sample), thread 101: 10 calls, 2 overwritten", "tsv": "start\tunit", "table": "p99"} {
		stdout, _ := requireStatus(t, 0, "trace", "--report", path, "--format", format)
		require.Contains(t, stdout, want)
	}
	stdout, _ := requireStatus(t, 0, "trace", "--report", path, "--format", "json")
	require.True(t, json.Valid([]byte(stdout)))

	out := filepath.Join(dir, "report")
	stdout, _ = requireStatus(t, 0, "trace", "--report", path, "--format", "json", "--output", out)
	require.Empty(t, stdout)
	data, err := os.ReadFile(out)
	require.NoError(t, err)
	require.True(t, json.Valid(data))
	_, stderr := requireStatus(t, 1, "trace", "--report", path, "--output", filepath.Join(dir, "none", "report"))
	require.Contains(t, stderr, "cannot write the report")
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 2, "nothing else is left")
}

func TestTraceOutputThatIsNoFile(t *testing.T) {
	path := tracetest.Sample().Write(t, t.TempDir(), "1.trace")
	fifo := filepath.Join(t.TempDir(), "fifo")
	require.NoError(t, syscall.Mkfifo(fifo, 0o600))
	read := make(chan string)
	go func() {
		data, err := os.ReadFile(fifo)
		read <- fmt.Sprint(string(data), err)
	}()
	requireStatus(t, 0, "trace", "--report", path, "--output", fifo)
	require.Contains(t, <-read, "miopenBeta")
	info, err := os.Stat(fifo)
	require.NoError(t, err)
	require.NotZero(t, info.Mode()&os.ModeNamedPipe)
}

func TestTraceReportOfDamage(t *testing.T) {
	dir := t.TempDir()
	sample := tracetest.Sample()
	data := sample.Bytes()
	data[sample.RecordOffset(0, 1)]++
	path := tracetest.Write(t, dir, "100.0.trace", data)
	stdout, stderr := requireStatus(t, 1, "trace", "--report", path)
	require.Contains(t, stdout, "miopenBeta", "what can be read is shown")
	require.Contains(t, stderr, "record of call 1 in ring 0 at file offset 0x3020")

	tracetest.Write(t, dir, "7.0.trace", []byte("text"))
	_, stderr = requireStatus(t, 1, "trace", "--report", dir)
	require.Contains(t, stderr, "not read: "+filepath.Join(dir, "7.0.trace"))
	for _, c := range [][2]string{{filepath.Join(dir, "7.0.trace"), "ends after 4 of 136 bytes"}, {filepath.Join(dir, "none"), "no such file"}, {t.TempDir(), "holds no *.trace file"}} {
		_, stderr = requireStatus(t, 3, "trace", "--report", c[0])
		require.Contains(t, stderr, c[1])
		require.Equal(t, 1, strings.Count(stderr, c[0]), stderr)
	}
}

func TestTraceUsage(t *testing.T) {
	kept := t.TempDir()
	tracetest.Sample().Write(t, kept, "1.0.trace")
	for _, args := range [][]string{
		{"trace"}, {"trace", "--report", "x", "--", "y"}, {"trace", "--report", "x", "--keep", "y"}, {"trace", "--format", "xml", "--report", "x"},
		{"trace", "--no-such-flag", "--", "true"}, {"trace", "--", ""}, {"trace", "--keep", kept, "--", "true"},
	} {
		stdout, stderr := requireStatus(t, 2, args...)
		require.Empty(t, stdout, args)
		require.NotEmpty(t, stderr, args)
	}
}

func TestTraceProgram(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	t.Setenv(traceVariable, "stderr")
	program := script(t, `printf 'out %s|' "$@"; echo err >&2; test "$(env | grep -c ^MIOPEN_HIPDNN_TRACE=)" = 1`)
	stdout, stderr := requireStatus(t, 0, "trace", "--", program, "a b", "--format", "--", "")
	require.Equal(t, "out a b|out --format|out --|out |", stdout, "standard output is the program's alone")
	require.True(t, strings.HasPrefix(stderr, "err\n"), stderr)
	require.Contains(t, stderr, "miopenBeta")
	entries, err := os.ReadDir(os.Getenv("TMPDIR"))
	require.NoError(t, err)
	require.Empty(t, entries, "the temporary folder is removed")

	keep, report := filepath.Join(t.TempDir(), "new", "kept[1]"), filepath.Join(t.TempDir(), "report")
	_, stderr = requireStatus(t, 0, "trace", "--keep", keep, "--output", report, "--format", "tsv", "--", program, "x")
	require.NotContains(t, stderr, "miopenBeta")
	data, err := os.ReadFile(report)
	require.NoError(t, err)
	require.Contains(t, string(data), "\tmiopenBeta\treturned\t")
	requireStatus(t, 0, "trace", "--report", keep)
	_, stderr = requireStatus(t, 2, "trace", "--keep", keep, "--", program, "x")
	require.Contains(t, stderr, "earlier trace")
}

// A relative TMPDIR means the folder that it means here, wherever the program goes; and a program that outlives the one
// that was started finds no place for a trace.
func TestTraceTemporaryFolder(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.MkdirAll("tmp", 0o700))
	require.NoError(t, os.MkdirAll("elsewhere/tmp", 0o700))
	t.Setenv("TMPDIR", "tmp")
	dir := t.TempDir()
	sample := tracetest.Sample().Write(t, dir, "sample")
	moves := untraced(t, `cd elsewhere; cp `+sample+` "${MIOPEN_HIPDNN_TRACE#ring:}/$$.0.trace"`)
	_, stderr := requireStatus(t, 0, "trace", "--", moves)
	require.Contains(t, stderr, "miopenBeta")

	// The wrapper's own way: mkdir, one level, and then the file.
	late := filepath.Join(dir, "late")
	outlives := script(t, `(sleep 0.3; mkdir "${MIOPEN_HIPDNN_TRACE#ring:}" 2>/dev/null && echo made >`+late+` || echo none >`+late+`) </dev/null >/dev/null 2>&1 &`)
	requireStatus(t, 0, "trace", "--", outlives)
	require.Eventually(t, func() bool {
		said, err := os.ReadFile(late)
		return err == nil && len(said) > 0
	}, 30*time.Second, 10*time.Millisecond)
	said, err := os.ReadFile(late)
	require.NoError(t, err)
	require.Equal(t, "none\n", string(said))
	for _, folder := range []string{"tmp", "elsewhere/tmp"} {
		entries, err := os.ReadDir(folder)
		require.NoError(t, err)
		require.Empty(t, entries, folder)
	}
}

// Links to trace files are as good as the files.
func TestTraceReportOfLinks(t *testing.T) {
	file := tracetest.Sample().Write(t, t.TempDir(), "1.0.trace")
	links := t.TempDir()
	require.NoError(t, os.Symlink(file, filepath.Join(links, "1.0.trace")))
	stdout, _ := requireStatus(t, 0, "trace", "--report", links)
	require.Contains(t, stdout, "miopenBeta")
}

func TestTraceStatus(t *testing.T) {
	for status, body := range map[int]string{7: "exit 7", 128 + 9: "kill -KILL $$", 128 + 15: "kill -TERM $$", 1: "exit 1"} {
		_, stderr := requireStatus(t, status, "trace", "--", script(t, body))
		require.Contains(t, stderr, "miopenBeta", "it is reported all the same")
	}
	_, stderr := requireStatus(t, 1, "trace", "--", untraced(t, "exit 0"))
	for _, why := range []string{"left no trace", "made no call of MIOpen", "miopen-shim inspect", "LD_LIBRARY_PATH"} {
		require.Contains(t, stderr, why)
	}
	_, stderr = requireStatus(t, 9, "trace", "--", untraced(t, "exit 9"))
	require.Contains(t, stderr, "left no trace")
	setuid := untraced(t, "exit 0")
	require.NoError(t, os.Chmod(setuid, 0o755|os.ModeSetuid))
	_, stderr = requireStatus(t, 1, "trace", "--", setuid)
	require.Contains(t, stderr, "It is setuid")
	require.NotContains(t, stderr, "Either")

	dir := t.TempDir()
	for _, program := range []string{filepath.Join(dir, "none"), "no-such-program-on-any-path", dir, tracetest.Write(t, dir, "text", []byte("text"))} {
		_, stderr = requireStatus(t, 3, "trace", "--", program)
		require.Contains(t, stderr, program)
	}
	// A trace of which nothing can be read.
	_, stderr = requireStatus(t, 3, "trace", "--", untraced(t, `echo text >"${MIOPEN_HIPDNN_TRACE#ring:}/1.0.trace"`))
	require.Contains(t, stderr, "ends after 5 of 136 bytes")
}

// TestTraceSignals: a program that is traced gets its signals and its standard input as without this one in between.
func TestTraceSignals(t *testing.T) {
	for name, s := range map[string]syscall.Signal{"TERM": syscall.SIGTERM, "INT": syscall.SIGINT, "HUP": syscall.SIGHUP, "USR1": syscall.SIGUSR1, "QUIT": syscall.SIGQUIT} {
		t.Run(name, func(t *testing.T) {
			// The shell runs its trap when read has returned.
			program := script(t, "trap 'echo got "+name+"; exit 5' "+name+"; echo ready; read line; while :; do sleep 0.05; done")
			cmd := exec.Command(os.Args[0], "trace", "--", program)
			cmd.Env = append(os.Environ(), programVariable+"=1")
			cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // no terminal that could be the sender
			var stdout, stderr lockedBuffer
			cmd.Stdout, cmd.Stderr = &stdout, &stderr
			stdin, err := cmd.StdinPipe()
			require.NoError(t, err)
			require.NoError(t, cmd.Start())
			require.Eventually(t, func() bool { return stdout.String() == "ready\n" }, 30*time.Second, 5*time.Millisecond)
			_, err = stdin.Write([]byte("line\n"))
			require.NoError(t, err)
			require.NoError(t, cmd.Process.Signal(s))
			require.Error(t, cmd.Wait())
			require.Equal(t, 5, cmd.ProcessState.ExitCode(), stderr.String())
			require.Equal(t, "ready\ngot "+name+"\n", stdout.String())
			require.Contains(t, stderr.String(), "miopenBeta")
		})
	}
}

// TestTraceIgnoredSignals: nohup keeps its word for the program too.
func TestTraceIgnoredSignals(t *testing.T) {
	program := script(t, "kill -HUP $PPID; kill -HUP $$; echo alive; exit 5")
	for trap, want := range map[string]int{"trap '' HUP": 5, "true": 128 + 1} {
		cmd := exec.Command("/bin/sh", "-c", trap+`; exec "$@"`, "sh", os.Args[0], "trace", "--", program)
		cmd.Env = append(os.Environ(), programVariable+"=1")
		out, err := cmd.CombinedOutput()
		require.Error(t, err)
		require.Equal(t, want, cmd.ProcessState.ExitCode(), string(out))
		require.Equal(t, want == 5, strings.Contains(string(out), "alive\n"), string(out))
	}
}

// TestTraceTerminal: the terminal sends an interrupt to the program itself, so it is not passed on a second time.
func TestTraceTerminal(t *testing.T) {
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)
	defer master.Close()
	require.NoError(t, unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0))
	number, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	require.NoError(t, err)
	terminal, err := os.OpenFile(fmt.Sprint("/dev/pts/", number), os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)
	defer terminal.Close()

	program := script(t, `n=0; trap 'n=$((n+1))' INT; echo ready; i=0; while [ $i -lt 20 ]; do sleep 0.05; i=$((i+1)); done; echo "got $n"; exit 5`)
	cmd := exec.Command(os.Args[0], "trace", "--", program)
	cmd.Env = append(os.Environ(), programVariable+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	var stdout, stderr lockedBuffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = terminal, &stdout, &stderr
	require.NoError(t, cmd.Start())
	require.Eventually(t, func() bool { return stdout.String() == "ready\n" }, 30*time.Second, 5*time.Millisecond)
	_, err = master.Write([]byte{3}) // ^C
	require.NoError(t, err)
	require.Error(t, cmd.Wait())
	require.Equal(t, 5, cmd.ProcessState.ExitCode(), stderr.String())
	require.Equal(t, "ready\ngot 1\n", stdout.String())
	require.Contains(t, stderr.String(), "miopenBeta")
}

// lockedBuffer is read while a process writes to it.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func TestTraceHelp(t *testing.T) {
	stdout, stderr := requireStatus(t, 0, "trace", "-h")
	require.Empty(t, stderr)
	for _, text := range []string{"--report=PATH", "--format=", "--output=FILE", "--keep=DIR", "128+N", "-- PROGRAM"} {
		require.Contains(t, stdout, text)
	}
}
