// Package tracing_test proves the trace of the real wrapper on the reference library: programs count their own calls, and
// every one of them has to be in the trace, once and in its place, whatever the program does with threads, processes and
// signals. What a trace of AMD's library shows is not its question: the wrapper is the same.
package tracing_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/shim/trace"
	"example.com/miopen_hipdnn_shim/tests/launch"
)

// capacity is how many calls the wrapper's ring of a thread holds.
const capacity = 65536

// turn are the functions of calls.h, in turn.
var turn = []string{"miopenGetVersion", "miopenGetErrorString", "miopenDestroy"}

// output is what a program left behind.
type output struct {
	stdout, stderr []byte
	status         int
}

// run runs a program on the libraries in folder, with additional variables in its environment.
func run(t *testing.T, folder string, variables []string, path string, args ...string) output {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd, err := launch.Host{}.Command(ctx, t.TempDir(), []string{folder}, path, args...)
	require.NoError(t, err)
	cmd.Env = append(cmd.Env, variables...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		require.IsType(t, &exec.ExitError{}, err)
	}
	return output{stdout.Bytes(), stderr.Bytes(), cmd.ProcessState.ExitCode()}
}

// traced runs a program of this folder with a trace of files and returns what it printed, the trace and its folder.
func traced(t *testing.T, name string, args ...string) (output, *trace.Trace, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "trace") // made by the wrapper
	out := run(t, theSubject(t).split, []string{"MIOPEN_HIPDNN_TRACE=ring:" + dir}, program(t, name), args...)
	require.Zero(t, out.status, string(out.stderr))
	tr, err := trace.Open(dir)
	require.NoError(t, err)
	return out, tr, dir
}

// stream is one thread's calls as the program counted them.
type stream struct {
	pid, tid, calls, start int
}

func streams(t *testing.T, stdout []byte) (all []stream) {
	t.Helper()
	for line := range strings.Lines(string(stdout)) {
		var s stream
		_, err := fmt.Sscanf(line, "stream %d %d %d %d\n", &s.pid, &s.tid, &s.calls, &s.start)
		require.NoError(t, err, line)
		all = append(all, s)
	}
	require.NotEmpty(t, all)
	return all
}

// account holds a trace against the programs' own counts: each stream has a ring of its own in which every call is in
// its place with the right function and has returned, and there is nothing else.
func account(tr *trace.Trace, want []stream) error {
	if n := tr.Damaged(); n > 0 {
		return fmt.Errorf("%d places of the trace are damaged", n)
	}
	type ring struct {
		p  *trace.Process
		th *trace.Thread
	}
	var rings []ring
	for _, p := range tr.Processes {
		if p.RingsLost > 0 || p.CallsLost > 0 {
			return fmt.Errorf("process %d lost %d rings and %d calls", p.PID, p.RingsLost, p.CallsLost)
		}
		for _, th := range p.Threads {
			rings = append(rings, ring{p, th})
		}
	}
	for _, s := range want {
		var why error = fmt.Errorf("no ring of that process and thread is left")
		found := slices.IndexFunc(rings, func(r ring) bool {
			if int(r.p.PID) != s.pid || int(r.th.TID) != s.tid {
				return false
			}
			why = s.matches(r.p, r.th)
			return why == nil
		})
		if found < 0 {
			return fmt.Errorf("stream %+v is not in the trace: %w", s, why)
		}
		rings = slices.Delete(rings, found, found+1)
	}
	if len(rings) > 0 {
		return fmt.Errorf("the trace has %d threads that made no call, the first is thread %d of process %d", len(rings), rings[0].th.TID, rings[0].p.PID)
	}
	return nil
}

func (s stream) matches(p *trace.Process, th *trace.Thread) error {
	if th.Made != uint64(s.calls) {
		return fmt.Errorf("%d calls in the trace", th.Made)
	}
	if th.Missing > 0 || th.Damaged > 0 || th.Backwards > 0 {
		return fmt.Errorf("%d missing, %d damaged, %d before the one before", th.Missing, th.Damaged, th.Backwards)
	}
	if want := max(0, s.calls-capacity); th.Overwritten != uint64(want) {
		return fmt.Errorf("%d overwritten, not %d", th.Overwritten, want)
	}
	if len(th.Calls) != min(s.calls, capacity) {
		return fmt.Errorf("%d calls are left", len(th.Calls))
	}
	for i, c := range th.Calls {
		sequence := th.Overwritten + uint64(i)
		switch want := turn[(s.start+int(sequence))%len(turn)]; {
		case c.Sequence != sequence:
			return fmt.Errorf("call %d is in the place of call %d", c.Sequence, sequence)
		case p.Functions[c.Function] != want:
			return fmt.Errorf("call %d is of %s, not %s", sequence, p.Functions[c.Function], want)
		case c.State != trace.StateReturned:
			return fmt.Errorf("call %d is %v", sequence, c.State)
		}
	}
	return nil
}

// requireTimes: the trace's times lie within the time that the test saw, and in time order nothing goes back.
func requireTimes(t *testing.T, tr *trace.Trace, passed time.Duration) {
	t.Helper()
	last := int64(0)
	for e := range tr.InTimeOrder() {
		require.Equal(t, trace.Nanoseconds, e.Process.Clock.Unit, e.Process.Clock.Calibration)
		require.GreaterOrEqual(t, e.Since(), last)
		last = e.Since()
		require.LessOrEqual(t, e.Process.Clock.Span(e.Duration), int64(passed))
	}
	require.LessOrEqual(t, last, int64(passed))
}

func TestThreads(t *testing.T) {
	before := time.Now()
	out, tr, _ := traced(t, "threads", "100", "1000")
	want := streams(t, out.stdout)
	require.Len(t, want, 100)
	require.NoError(t, account(tr, want))
	require.Empty(t, string(out.stderr))
	requireTimes(t, tr, time.Since(before))

	// Controls.
	for name, change := range map[string]func(s []stream) []stream{
		"a call more":     func(s []stream) []stream { s[17].calls++; return s },
		"another thread":  func(s []stream) []stream { s[17].tid++; return s },
		"another order":   func(s []stream) []stream { s[17].start++; return s },
		"a stream more":   func(s []stream) []stream { return append(s, s[17]) },
		"a stream less":   func(s []stream) []stream { return s[1:] },
		"another process": func(s []stream) []stream { s[17].pid++; return s },
	} {
		require.Error(t, account(tr, change(slices.Clone(want))), name)
	}
}

func TestOverflow(t *testing.T) {
	for _, calls := range []int{capacity - 1, capacity, capacity + 1, 2*capacity + 4321} {
		out, tr, _ := traced(t, "threads", "2", strconv.Itoa(calls))
		want := streams(t, out.stdout)
		require.Equal(t, []int{calls, calls}, []int{want[0].calls, want[1].calls})
		require.NoError(t, account(tr, want))
	}
}

func TestFork(t *testing.T) {
	before := time.Now()
	out, tr, dir := traced(t, "forks", "6", "500")
	want := streams(t, out.stdout)
	require.Len(t, want, 2+6+3)
	require.NoError(t, account(tr, want))
	requireTimes(t, tr, time.Since(before))
	parents := map[uint32]uint32{}
	for _, p := range tr.Processes {
		parents[p.PID] = p.ParentPID
	}
	root := tr.Processes[0].PID
	children := 0
	for pid, parent := range parents {
		if pid != root && parent == root {
			children++
		}
	}
	require.Equal(t, 6, children)

	// Control: one process's file is gone.
	require.NoError(t, os.Remove(tr.Processes[3].Path))
	fewer, err := trace.Open(dir)
	require.NoError(t, err)
	require.ErrorContains(t, account(fewer, want), "is not in the trace")
}

func TestExec(t *testing.T) {
	before := time.Now()
	out, tr, _ := traced(t, "execs", "3", "40")
	want := streams(t, out.stdout)
	require.Len(t, want, 4+2*3)
	require.NoError(t, account(tr, want))
	requireTimes(t, tr, time.Since(before))

	// The program is one process after the other, so the clocks have to put them into the order of their lines.
	var order []int
	for e := range tr.InTimeOrder() {
		if n := len(order); n == 0 || order[n-1] != int(e.Process.PID) {
			order = append(order, int(e.Process.PID))
		}
	}
	var expected []int
	for _, s := range want {
		if n := len(expected); n == 0 || expected[n-1] != s.pid {
			expected = append(expected, s.pid)
		}
	}
	require.Equal(t, expected, order)
}

// TestSignalHandler: a handler that makes calls interrupts the wrapper at any instruction. Each call has a place of its
// own all the same.
func TestSignalHandler(t *testing.T) {
	out, tr, _ := traced(t, "signals", "60000")
	var count [2]int
	_, err := fmt.Sscanf(string(out.stdout), "miopenGetErrorString %d\nmiopenGetVersion %d\n", &count[0], &count[1])
	require.NoError(t, err)
	require.Equal(t, 60000, count[0])
	require.Positive(t, count[1], "no signal arrived")
	require.Zero(t, tr.Damaged())
	require.Len(t, tr.Processes, 1)
	require.Len(t, tr.Processes[0].Threads, 1)
	th := tr.Processes[0].Threads[0]
	require.Equal(t, uint64(count[0]+count[1]), th.Made)
	require.Zero(t, th.Missing)
	require.LessOrEqual(t, th.Backwards, count[1])
	seen := map[string]int{}
	for e := range tr.InTimeOrder() {
		require.Equal(t, trace.StateReturned, e.State)
		seen[e.Name()]++
	}
	if th.Overwritten == 0 {
		require.Equal(t, map[string]int{"miopenGetErrorString": count[0], "miopenGetVersion": count[1]}, seen)
	}
}

// TestWhileRunning reads a trace again and again while the program writes it: what is read is always whole, and right.
func TestWhileRunning(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "trace")
	cmd, err := launch.Host{}.Command(t.Context(), t.TempDir(), []string{theSubject(t).split}, program(t, "threads"), "2", "6000000")
	require.NoError(t, err)
	cmd.Env = append(cmd.Env, "MIOPEN_HIPDNN_TRACE=ring:"+dir)
	var stdout bytes.Buffer
	cmd.Stdout = &stdout
	require.NoError(t, cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	readings := 0
	for running := true; running; {
		select {
		case err := <-ended:
			require.NoError(t, err)
			running = false
		default:
		}
		tr, err := trace.Open(dir)
		if err != nil && running {
			continue // the folder or the header is not there yet
		}
		require.NoError(t, err)
		require.Zero(t, tr.Damaged())
		for _, th := range tr.Processes[0].Threads {
			require.LessOrEqual(t, th.Missing, uint64(1))
			if len(th.Calls) == 0 {
				continue
			}
			readings++
			c := th.Calls[0]
			start := slices.Index(turn, tr.Processes[0].Functions[c.Function]) - int(c.Sequence%3) + 3
			for _, c := range th.Calls {
				require.Equal(t, turn[(start+int(c.Sequence%3))%3], tr.Processes[0].Functions[c.Function])
			}
		}
	}
	tr, err := trace.Open(dir)
	require.NoError(t, err)
	require.NoError(t, account(tr, streams(t, stdout.Bytes())))
	require.Positive(t, readings, "the program ended before it was read")
}

// TestNoRoom: a program of which the trace may not grow goes on, and the trace says what is not in it.
func TestNoRoom(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "trace")
	// In blocks of 512 bytes, or of 1024 with some shells: room for one to three rings.
	out := run(t, theSubject(t).split, []string{"MIOPEN_HIPDNN_TRACE=ring:" + dir}, "/bin/sh", "-c", `ulimit -f 8000; exec "$@"`, "sh", program(t, "threads"), "10", "100")
	require.Zero(t, out.status, "a limit on the size of files must not end the program: %s", out.stderr)
	require.Len(t, streams(t, out.stdout), 10)
	tr, err := trace.Open(dir)
	require.NoError(t, err)
	require.Zero(t, tr.Damaged())
	p := tr.Processes[0]
	require.NotEmpty(t, p.Threads)
	require.Positive(t, p.RingsLost)
	require.Equal(t, uint64(10), uint64(len(p.Threads))+p.RingsLost)
	require.Equal(t, 100*p.RingsLost, p.CallsLost)
	for _, th := range p.Threads {
		require.Equal(t, uint64(100), th.Made)
	}
}

// conv is what order.c calls.
var conv = strings.Fields(`
	miopenCreate miopenEnableProfiling
	miopenCreateTensorDescriptor miopenCreateTensorDescriptor miopenCreateTensorDescriptor miopenCreateConvolutionDescriptor
	miopenSet4dTensorDescriptor miopenSet4dTensorDescriptor miopenInitConvolutionDescriptor
	miopenGetConvolutionForwardOutputDim miopenSet4dTensorDescriptor miopenConvolutionForwardGetWorkSpaceSize
	miopenFindConvolutionForwardAlgorithm miopenConvolutionForward miopenGetKernelTime
	miopenDestroyTensorDescriptor miopenDestroyTensorDescriptor miopenDestroyTensorDescriptor
	miopenDestroyConvolutionDescriptor miopenDestroy`)

// TestOrder: the trace on standard error is the list of calls, in order and nothing else, and so is the one in a file.
func TestOrder(t *testing.T) {
	s := theSubject(t)
	stderr := run(t, s.split, []string{"MIOPEN_HIPDNN_TRACE=stderr"}, program(t, "order"))
	require.Zero(t, stderr.status, string(stderr.stderr))
	got, err := trace.ReadLines(bytes.NewReader(stderr.stderr))
	require.NoError(t, err)
	require.Nil(t, trace.Compare(conv, got))
	require.Contains(t, string(stderr.stderr), "order: unfinished[MIOPEN_HIPDNN_WRAPPER] miopenFindConvolutionForwardAlgorithm\n", "the program's own lines stay")

	_, tr, _ := traced(t, "order")
	var names []string
	for e := range tr.InTimeOrder() {
		require.Equal(t, trace.StateReturned, e.State)
		names = append(names, e.Name())
	}
	require.Nil(t, trace.Compare(conv, names))

	// Controls: two calls exchanged, and one that is missing.
	swapped := slices.Clone(got)
	swapped[12], swapped[13] = swapped[13], swapped[12]
	require.EqualError(t, trace.Compare(conv, swapped), "call 12 differs: the first has miopenFindConvolutionForwardAlgorithm, the second miopenConvolutionForward; "+
		"before it both have miopenGetConvolutionForwardOutputDim, miopenSet4dTensorDescriptor, miopenConvolutionForwardGetWorkSpaceSize; both have the same calls, in another order")
	require.Error(t, trace.Compare(conv, got[1:]))
	stock := run(t, s.stock, []string{"MIOPEN_HIPDNN_TRACE=stderr"}, program(t, "order"))
	got, err = trace.ReadLines(bytes.NewReader(stock.stderr))
	require.NoError(t, err)
	require.Empty(t, got, "the stock library traces nothing")
}

// TestUntouched: standard output and the exit status are the same whether a program runs on the stock library or on the
// split, traced in any way or not; and without a trace, or with the files' one, so is standard error.
func TestUntouched(t *testing.T) {
	s := theSubject(t)
	for _, c := range []struct {
		program string
		calls   int // 0: printed by the program
	}{{"order", len(conv)}, {"descriptors", 0}} {
		path := program(t, c.program)
		stock := run(t, s.stock, nil, path)
		require.NotEmpty(t, stock.stdout)
		if c.calls == 0 {
			lines := strings.Split(strings.TrimSpace(string(stock.stdout)), "\n")
			var functions int
			_, err := fmt.Sscanf(lines[len(lines)-1], "%d calls of %d functions", &c.calls, &functions)
			require.NoError(t, err)
		}
		dir := filepath.Join(t.TempDir(), "trace")
		for _, mode := range []string{"", "stderr", "summary", "ring:" + dir} {
			var variables []string
			if mode != "" {
				variables = []string{"MIOPEN_HIPDNN_TRACE=" + mode}
			}
			got := run(t, s.split, variables, path)
			require.Equal(t, stock.status, got.status)
			require.Equal(t, string(stock.stdout), string(got.stdout), mode)
			switch mode {
			case "stderr":
				names, err := trace.ReadLines(bytes.NewReader(got.stderr))
				require.NoError(t, err)
				require.Len(t, names, c.calls)
			case "summary":
				require.Contains(t, string(got.stderr), fmt.Sprintf(" %d calls of ", c.calls))
			default:
				require.Equal(t, string(stock.stderr), string(got.stderr), mode)
			}
		}
		tr, err := trace.Open(dir)
		require.NoError(t, err)
		require.Equal(t, uint64(c.calls), tr.Processes[0].Threads[0].Made)
	}
}

// TestUndeclared: functions that the header does not declare are traced too, as instants.
func TestUndeclared(t *testing.T) {
	_, tr, _ := traced(t, "descriptors")
	undeclared := []string{"miopenHiddenSetConvolutionFindMode", "miopenHiddenGetConvolutionFindMode", "miopenGetTensorCastType"}
	seen := map[string]bool{}
	for e := range tr.InTimeOrder() {
		want := trace.StateReturned
		if slices.Contains(undeclared, e.Name()) {
			seen[e.Name()] = true
			want = trace.StateInstant
		}
		require.Equal(t, want, e.State, e.Name())
	}
	require.Len(t, seen, len(undeclared))
}

// TestLocalScope: a host that opens the library RTLD_LOCAL, where a preloaded tracer would see nothing, is traced.
func TestLocalScope(t *testing.T) {
	for _, scope := range []string{"local", "global"} {
		_, tr, _ := traced(t, "dlhost", filepath.Join(theSubject(t).split, "libMIOpen.so.1"), scope)
		var names []string
		for e := range tr.InTimeOrder() {
			names = append(names, e.Name())
		}
		require.Equal(t, []string{"miopenGetVersion"}, names)
	}
}

// TestTool: the same through the command line, and its verdict on a trace that was damaged.
func TestTool(t *testing.T) {
	s := theSubject(t)
	dir, report := filepath.Join(t.TempDir(), "kept"), filepath.Join(t.TempDir(), "report.tsv")
	plain := run(t, s.split, nil, program(t, "order"))
	out := run(t, s.split, nil, s.tool, "trace", "--keep", dir, "--format", "tsv", "--output", report, "--", program(t, "order"))
	require.Zero(t, out.status, string(out.stderr))
	require.Equal(t, string(plain.stdout), string(out.stdout))
	require.Equal(t, string(plain.stderr), string(out.stderr))
	data, err := os.ReadFile(report)
	require.NoError(t, err)
	rows := strings.Split(strings.TrimSpace(string(data)), "\n")[1:]
	var names []string
	for _, row := range rows {
		names = append(names, strings.Split(row, "\t")[6])
	}
	require.Nil(t, trace.Compare(conv, names))

	stock := run(t, s.stock, nil, s.tool, "trace", "--", program(t, "order"))
	require.Equal(t, 1, stock.status)
	require.Contains(t, string(stock.stderr), "left no trace")

	files, err := filepath.Glob(filepath.Join(dir, "*"+trace.Suffix))
	require.NoError(t, err)
	require.Len(t, files, 1)
	good, err := os.ReadFile(files[0])
	require.NoError(t, err)
	records := int(binary.LittleEndian.Uint32(good[8:])) + 4096
	for name, damage := range map[string]func(b []byte) []byte{
		"record of call 5 in ring 0":  func(b []byte) []byte { b[records+5*32]++; return b },
		"record of call 12 in ring 0": func(b []byte) []byte { swap(b, records+12*32, records+13*32); return b },
		"record of call 7 in ring 0":  func(b []byte) []byte { b[records+7*32+19] = 1; return b },
		"it is cut off":               func(b []byte) []byte { return b[:records+100] },
	} {
		require.NoError(t, os.WriteFile(files[0], damage(slices.Clone(good)), 0o600))
		out = run(t, s.split, nil, s.tool, "trace", "--report", dir)
		require.Equal(t, 1, out.status, name)
		require.Contains(t, string(out.stderr), name)
		require.Contains(t, string(out.stderr), files[0])
	}
	require.NoError(t, os.WriteFile(files[0], good, 0o600))
	require.Zero(t, run(t, s.split, nil, s.tool, "trace", "--report", dir).status, "control")
}

func swap(b []byte, x, y int) {
	tmp := slices.Clone(b[x : x+32])
	copy(b[x:x+32], b[y:y+32])
	copy(b[y:y+32], tmp)
}
