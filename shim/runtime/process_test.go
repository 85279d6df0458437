package runtime_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/shim/exports/exportstest"
	"example.com/miopen_hipdnn_shim/shim/split"
)

const (
	traceStderr  = "MIOPEN_HIPDNN_TRACE=stderr"
	traceSummary = "MIOPEN_HIPDNN_TRACE=summary"
	forwarding   = "MIOPEN_HIPDNN_FORWARDING="
	banner       = prefix + "MIOPEN_HIPDNN_FORWARDING is enabled; this libMIOpen has no function that can be forwarded, MIOpen serves every call"
)

func traceRing(dir string) string { return "MIOPEN_HIPDNN_TRACE=ring:" + dir }

// count returns how many lines equal one.
func count(lines []string, line string) (n int) {
	for _, l := range lines {
		if l == line {
			n++
		}
	}
	return n
}

func TestForwardingVariable(t *testing.T) {
	p := untypedPair(t)
	for _, value := range []string{"enable", "enabled", "1", "yes", "on", "true", "ENABLED", "Yes", "oN", "TRUE"} {
		require.Equal(t, banner+"\n", p.run(t, []string{forwarding + value}, "threads", "3", "2").stderr, value)
	}
	for _, value := range []string{"", "disable", "disabled", "0", "no", "off", "false", "DISABLED", "No", "oFF", "False"} {
		require.Empty(t, p.run(t, []string{forwarding + value}, "threads", "3", "2").stderr, value)
	}
	require.Empty(t, p.run(t, nil, "calls", "2").stderr)
	for value, shown := range map[string]string{
		"2": "2", "enable ": "enable ", " 1": " 1", "truee": "truee", "tru": "tru", "-": "-", "a\nb\x1b[1m": "a?b?[1m", "été": "été",
		strings.Repeat("x", 5000): strings.Repeat("x", 200) + "...",
	} {
		o := p.run(t, []string{forwarding + value}, "threads", "3", "2")
		require.Equal(t, prefix+`warning: MIOPEN_HIPDNN_FORWARDING="`+shown+`" is none of enable, enabled, 1, yes, on, true, disable, `+
			"disabled, 0, no, off, false: forwarding is disabled\n", o.stderr)
	}
}

func TestTraceVariable(t *testing.T) {
	p := untypedPair(t)
	for _, value := range []string{"", "stderr", "summary", "STDERR", "Summary"} {
		require.NotContains(t, p.run(t, []string{"MIOPEN_HIPDNN_TRACE=" + value}, "calls", "1").stderr, "warning", value)
	}
	for _, value := range []string{"1", "on", "ring", "ring:", "stderr,summary", "rin", "RING:/x"} {
		o := p.run(t, []string{"MIOPEN_HIPDNN_TRACE=" + value}, "threads", "3", "2")
		require.Equal(t, prefix+`warning: MIOPEN_HIPDNN_TRACE="`+value+`" is none of stderr, summary, ring:FOLDER: tracing is off`+"\n", o.stderr)
	}
}

// TestStdout: whatever is recorded, standard output is the host's.
func TestStdout(t *testing.T) {
	p := typedPair(t)
	want := p.run(t, nil, "all")
	require.Equal(t, "2 43.75 text 40\n", want.stdout)
	for trace, value := range traces(t) {
		o := p.run(t, []string{"MIOPEN_HIPDNN_TRACE=" + value, forwarding + "on"}, "all")
		require.Equal(t, want.stdout, o.stdout, trace)
		require.Contains(t, o.stderr, banner)
	}
	require.Equal(t, prefix+strings.Join([]string{
		"miopenBare", "miopenText", "miopenBeta", "miopenAlpha", "miopenNothing", "miopenAlpha",
	}, "\n"+prefix)+"\n", inOrder(t, p.run(t, []string{traceStderr}, "all").stderr))
}

// inOrder sorts the first four lines, which are the arguments of one call and come in any order, the way in which GCC
// evaluates them.
func inOrder(t *testing.T, text string) string {
	t.Helper()
	lines := strings.SplitAfter(text, "\n")
	require.Greater(t, len(lines), 4)
	order := []string{"miopenBare", "miopenText", "miopenBeta", "miopenAlpha"}
	slices.SortFunc(lines[:4], func(a, b string) int {
		rank := func(line string) int {
			return slices.IndexFunc(order, func(n string) bool { return strings.Contains(line, n) })
		}
		return rank(a) - rank(b)
	})
	return strings.Join(lines, "")
}

// TestFirstCalls: the environment is read once, by whoever comes first, and all calls are recorded.
func TestFirstCalls(t *testing.T) {
	p := typedPair(t)
	const threads, calls = 100, 20
	args := []string{"threads", strconv.Itoa(threads), strconv.Itoa(calls)}
	for range 3 {
		o := p.run(t, []string{traceStderr, forwarding + "on"}, args...)
		require.Len(t, o.lines(), threads*calls+1, "one banner")
		require.Equal(t, banner, o.lines()[0], "before everything else")
		require.Equal(t, threads*calls, count(o.lines(), prefix+"miopenAlpha"), "no line is torn")

		o = p.run(t, []string{traceSummary, forwarding + "garbage"}, args...)
		require.Len(t, o.lines(), 3)
		require.Contains(t, o.lines()[0], "garbage")
		require.Contains(t, o.lines()[1], fmt.Sprintf(": %d calls of 1 functions", threads*calls))
	}
	dir := filepath.Join(t.TempDir(), "ring")
	o := p.run(t, []string{traceRing(dir), forwarding + "on"}, args...)
	require.Equal(t, banner+"\n", o.stderr)
	files := readRings(t, dir)
	require.Len(t, files, 1)
	require.EqualValues(t, threads, files[0].opened)
	require.Zero(t, files[0].lost)
	require.Zero(t, files[0].callsLost)
	require.Len(t, files[0].rings, threads)
	seen := map[uint32]bool{}
	for _, r := range files[0].rings {
		seen[r.thread] = true
		require.Len(t, r.calls, calls)
		for _, c := range r.calls {
			require.Equal(t, "miopenAlpha", c.function)
			require.EqualValues(t, 1, c.flags)
		}
	}
	require.Len(t, seen, threads)
}

func TestSignalHandlers(t *testing.T) {
	p := typedPair(t)
	require.Equal(t, prefix+"miopenBare\n"+prefix+"miopenAlpha\n", p.run(t, []string{traceStderr}, "signal").stderr)
	require.Equal(t, banner+"\n", p.run(t, []string{forwarding + "1"}, "signal").stderr)
	dir := filepath.Join(t.TempDir(), "first")
	p.run(t, []string{traceRing(dir)}, "signal")
	require.Len(t, readRings(t, dir)[0].rings[0].calls, 2)

	// A handler that interrupts the slow path, wherever that is.
	made := func(o output) (main, handler int) {
		t.Helper()
		_, err := fmt.Sscan(o.stdout, &main, &handler)
		require.NoError(t, err)
		return main, handler
	}
	const interruptions = "300"
	o := p.run(t, []string{traceStderr}, "interrupt", interruptions)
	main, handler := made(o)
	require.Equal(t, main, count(o.lines(), prefix+"miopenAlpha"))
	require.Equal(t, handler, count(o.lines(), prefix+"miopenBare"))
	require.Len(t, o.lines(), main+handler)

	o = p.run(t, []string{traceSummary}, "interrupt", interruptions)
	main, handler = made(o)
	require.Contains(t, o.lines()[1], fmt.Sprintf(" %d miopenAlpha", main))
	require.Contains(t, o.lines()[2], fmt.Sprintf(" %d miopenBare", handler))

	dir = filepath.Join(t.TempDir(), "ring")
	o = p.run(t, []string{traceRing(dir)}, "interrupt", interruptions)
	main, handler = made(o)
	r := readRings(t, dir)[0].rings
	require.Len(t, r, 1)
	require.EqualValues(t, main+handler, r[0].total)
}

func TestSetenv(t *testing.T) {
	p := untypedPair(t)
	require.Equal(t, strings.Repeat(prefix+"miopenAlpha\n", 2), p.run(t, nil, "setenv").stderr, "set before the first call")
	require.Empty(t, p.run(t, nil, "setenv late").stderr, "set after the first call")
}

// TestReadingIsInterrupted: the thread that reads the environment does not exist in the child that is forked meanwhile; and
// what it calls may come back.
func TestReadingIsInterrupted(t *testing.T) {
	p := untypedPair(t)
	preload := filepath.Join(t.TempDir(), "getenv.so")
	exportstest.Compile(t, "-shared", "-fPIC", "-o", preload, source(t, "getenv.c"))
	env := []string{"LD_PRELOAD=" + preload, traceStderr, forwarding + "on"}
	o := p.run(t, append(env, "GETENV_MODE=slow"), "fork while reading")
	require.Equal(t, 2, count(o.lines(), prefix+"miopenAlpha"), o.stderr)
	require.Equal(t, 2, count(o.lines(), banner), "one of each process")
	o = p.run(t, append(env, "GETENV_MODE=slow"), "threads", "20", "2")
	require.Equal(t, 1, count(o.lines(), banner))
	require.Equal(t, 40, count(o.lines(), prefix+"miopenAlpha"))
	o = p.run(t, append(env, "GETENV_MODE=within"), "calls", "2")
	require.Equal(t, banner+"\n"+strings.Repeat(prefix+"miopenAlpha\n", 2), o.stderr, "the call within passes through")
}

func TestErrno(t *testing.T) {
	p := untypedPair(t)
	for _, value := range traces(t) {
		p.run(t, []string{"MIOPEN_HIPDNN_TRACE=" + value, forwarding + "x"}, "errno")
	}
	p.run(t, []string{traceRing("/nonexistent/folder")}, "errno")
}

func TestDlopen(t *testing.T) {
	p := typedPair(t)
	host := filepath.Join(t.TempDir(), "dlhost")
	exportstest.Compile(t, "-o", host, source(t, "dlhost.c"))
	library := filepath.Join(p.dir, "libMIOpen.so.1")
	dir := filepath.Join(t.TempDir(), "ring")
	for env, want := range map[string]string{
		traceStderr: strings.Repeat(prefix+"miopenAlpha\n", 2), forwarding + "1": banner + "\n", traceRing(dir): "",
	} {
		o := runOn(t, "", []string{env}, "", host, library)
		require.Zero(t, o.status, o.stderr)
		require.Equal(t, want, o.stderr)
	}
	require.EqualValues(t, 2, readRings(t, dir)[0].total(), "closing the library does not end the trace")
}

// TestSecureExecution: a program that runs with more rights than its caller has takes no file name from its caller.
func TestSecureExecution(t *testing.T) {
	p := untypedPair(t)
	// The one way in which the environment is read is the one that is blind in such programs; `wrapper: imports` of the
	// split's check holds the list.
	content, err := os.ReadFile(filepath.Join(p.dir, "libMIOpen.so.1"))
	require.NoError(t, err)
	require.Contains(t, string(content), "\x00secure_getenv\x00")
	require.NotContains(t, string(content), "\x00getenv\x00")
	require.NotContains(t, string(content), "\x00environ\x00")

	// The user that a setuid program runs as has to reach the library.
	for d := p.dir; len(d) > len(os.TempDir()); d = filepath.Dir(d) {
		require.NoError(t, os.Chmod(d, 0o755))
	}
	compile := func(dir string) string {
		program := filepath.Join(dir, "host")
		exportstest.Compile(t, "-pthread", "-o", program, source(t, "host.c"), p.stock, "-Wl,-rpath,"+p.dir, "-Wl,--enable-new-dtags")
		return program
	}
	env := []string{traceStderr, forwarding + "on"}
	plain := compile(t.TempDir())
	o := runOn(t, "", env, "", plain, "secure")
	require.Equal(t, "0\n", o.stdout)
	require.Equal(t, banner+"\n"+prefix+"miopenAlpha\n", o.stderr)

	var failed []string
	for _, way := range moreRights {
		program := compile(t.TempDir())
		err := way.give(program)
		if err == nil {
			command := append(way.run(plain, program), "secure")
			if o = runOn(t, "", env, "", command[0], command[1:]...); o.stdout == "1\n" {
				require.Empty(t, o.stderr, way.name)
				require.Zero(t, o.status, way.name)
				return
			}
			err = fmt.Errorf("the program runs as any other (%s%s)", o.stdout, o.stderr)
		}
		failed = append(failed, fmt.Sprintf("%s: %v", way.name, err))
	}
	t.Skipf("this user can give no program more rights here; only the imported names were checked\n%s", strings.Join(failed, "\n"))
}

// moreRights are the ways to a program that runs with more rights than its caller has.
var moreRights = []struct {
	name string
	give func(program string) error
	run  func(plain, program string) []string
}{
	{"setuid, which takes root", func(program string) error {
		const nobody = 65534
		return errors.Join(os.Chown(program, nobody, nobody), os.Chmod(program, 0o755|os.ModeSetuid))
	}, direct},
	{"setgid, which takes a second group", func(program string) error {
		groups, err := os.Getgroups()
		if i := slices.IndexFunc(groups, func(g int) bool { return g != os.Getgid() }); i >= 0 {
			return errors.Join(os.Chown(program, -1, groups[i]), os.Chmod(program, 0o755|os.ModeSetgid))
		}
		return errors.Join(err, errors.New("no second group"))
	}, direct},
	{"a capability, which takes user namespaces", func(string) error { return nil },
		func(plain, program string) []string { return []string{plain, "capable", program} }},
}

func direct(_, program string) []string { return []string{program} }

func TestFork(t *testing.T) {
	p := typedPair(t)
	o := p.run(t, []string{traceStderr}, "fork")
	require.Equal(t, strings.Repeat(prefix+"miopenAlpha\n", 6), o.stderr)
	o = p.run(t, []string{traceSummary}, "fork")
	require.Len(t, o.lines(), 4, "the child without a call says nothing")
	require.Contains(t, o.lines()[0], ": 2 calls of 1 functions")
	require.Contains(t, o.lines()[2], ": 4 calls of 1 functions")

	dir := filepath.Join(t.TempDir(), "ring")
	p.run(t, []string{traceRing(dir)}, "fork")
	files := readRings(t, dir)
	require.Len(t, files, 2)
	parent, child := files[0], files[1]
	if parent.process != child.parent {
		parent, child = child, parent
	}
	require.Equal(t, parent.process, child.parent)
	require.EqualValues(t, 4, parent.total())
	require.EqualValues(t, 2, child.total())
	require.Len(t, parent.rings, 1)
	require.Equal(t, "host", parent.command)

	// Without glibc's fork handlers.
	dir = filepath.Join(t.TempDir(), "raw")
	p.run(t, []string{traceRing(dir)}, "raw fork")
	files = readRings(t, dir)
	require.Len(t, files, 2)
	require.EqualValues(t, 3, files[0].total()+files[1].total())
	require.NotEqual(t, files[0].total(), files[1].total())

	// In the middle of a call, which returns in both processes; its record is the parent's.
	dir = filepath.Join(t.TempDir(), "within")
	p.run(t, []string{traceRing(dir)}, "fork within")
	files = readRings(t, dir)
	require.Len(t, files, 2)
	slices.SortFunc(files, func(a, b ringFile) int { return int(b.total()) - int(a.total()) })
	require.Equal(t, "miopenCallsBack", files[0].rings[0].calls[0].function)
	require.EqualValues(t, 1, files[0].rings[0].calls[0].flags)
	require.EqualValues(t, 2, files[0].total())
	require.EqualValues(t, 1, files[1].total())

	dir = filepath.Join(t.TempDir(), "many")
	const children = 20
	p.run(t, []string{traceRing(dir)}, "fork among threads", strconv.Itoa(children))
	total, threads := uint64(0), 0
	for _, f := range readRings(t, dir) {
		require.Zero(t, f.callsLost)
		total += f.total()
		threads += len(f.rings)
	}
	require.EqualValues(t, 4*20000+children*7, total)
	require.Equal(t, 4+children, threads)
}

// oneAfterAnother runs so many threads, each of which ends before the next one starts, and returns how many rings were mapped
// at once.
func oneAfterAnother(t *testing.T, p pair, threads int) float64 {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "ring")
	o := p.run(t, []string{traceRing(dir)}, "one after another", strconv.Itoa(threads))
	files := readRings(t, dir)
	require.Len(t, files, 1)
	f := files[0]
	require.Zero(t, f.lost)
	require.Len(t, f.rings, 1+threads)
	for i, r := range f.rings {
		require.Len(t, r.calls, map[bool]int{true: 2, false: 3}[i == 0], "ring %d", i)
	}
	var mapped uint64
	_, err := fmt.Sscan(o.stdout, &mapped)
	require.NoError(t, err)
	return float64(mapped-f.header) / float64(f.stride)
}

// TestThreadsThatEnd: the address space of their rings is given back, and their records stay.
func TestThreadsThatEnd(t *testing.T) {
	const most = 4 // twice as many as run: the main thread and one other
	small := makePair(t, "", mutant(t, "ringfile.h", smallRings)...)
	require.LessOrEqual(t, oneAfterAnother(t, small, 500), float64(most))
	p := typedPair(t)
	require.LessOrEqual(t, oneAfterAnother(t, p, 20), float64(most))

	// In several threads at once, while the process is copied.
	dir := filepath.Join(t.TempDir(), "ring")
	p.run(t, []string{traceRing(dir)}, "come and go", "15")
	files := readRings(t, dir)
	require.Len(t, files, 1+3)
	slices.SortFunc(files, func(a, b ringFile) int { return int(b.total()) - int(a.total()) })
	for i, makers := range []uint64{4, 1, 1, 1} {
		require.Zero(t, files[i].lost)
		require.Len(t, files[i].rings, int(makers*(1+15)))
		require.EqualValues(t, makers*(2+15*3), files[i].total())
	}

	// A child of vfork calls in the place of its parent's thread, whose ring is not the child's and outlives it.
	for _, before := range []int{0, 3} {
		dir := filepath.Join(t.TempDir(), "vfork")
		p.run(t, []string{traceRing(dir)}, "vfork", strconv.Itoa(before))
		files := readRings(t, dir)
		require.Len(t, files, 1)
		require.Len(t, files[0].rings, before+1+5)
		require.EqualValues(t, before*3+2+5*3, files[0].total())
	}
}

func TestFolderIsAbsolute(t *testing.T) {
	p := untypedPair(t)
	work := t.TempDir()
	cwd, err := os.Getwd()
	require.NoError(t, err)
	require.NoError(t, os.Chdir(work))
	defer os.Chdir(cwd)
	p.run(t, []string{traceRing("relative")}, "change directory")
	require.Len(t, readRings(t, filepath.Join(work, "relative")), 2)
}

func TestExec(t *testing.T) {
	p := untypedPair(t)
	dir := filepath.Join(t.TempDir(), "ring")
	p.run(t, []string{traceRing(dir)}, "exec")
	files := readRings(t, dir)
	require.Len(t, files, 2, "the same process, two programs, two files")
	require.Equal(t, files[0].process, files[1].process)
	require.EqualValues(t, 1, files[0].total())
	require.EqualValues(t, 2, files[1].total())
}

// TestClosedDescriptors: a host that closes what it does not know, and opens files of its own at these numbers.
func TestClosedDescriptors(t *testing.T) {
	p := untypedPair(t)
	dir := filepath.Join(t.TempDir(), "ring")
	mine := filepath.Join(t.TempDir(), "mine")
	p.run(t, []string{traceRing(dir)}, "close", mine)
	content, err := os.ReadFile(mine)
	require.NoError(t, err)
	require.Equal(t, "mine", string(content))
	total := uint64(0)
	for _, f := range readRings(t, dir) {
		require.Zero(t, f.lost)
		total += f.total()
	}
	require.EqualValues(t, 8, total)
}

// TestManyThreads: those that have ended do not fill the disk. A file has so many rings, and further threads are counted.
func TestManyThreads(t *testing.T) {
	const rings, threads, calls = 5, 60, 3
	p := makePair(t, "", mutant(t, "ringfile.h", smallRings+`; s/SHIM_RINGS 1024/SHIM_RINGS 5/`)...)
	for _, args := range [][]string{
		{"threads", strconv.Itoa(threads), strconv.Itoa(calls)}, // at once
		{"one after another", strconv.Itoa(threads)},            // and two calls of the main thread
	} {
		dir := filepath.Join(t.TempDir(), "ring")
		p.run(t, []string{traceRing(dir)}, args...)
		files := readRings(t, dir)
		require.Len(t, files, 1)
		f := files[0]
		require.Len(t, f.rings, rings)
		require.EqualValues(t, rings, f.opened)
		require.Zero(t, f.lost)
		mainCalls := uint64(0)
		if args[0] != "threads" {
			mainCalls = 2
			require.EqualValues(t, mainCalls, f.rings[0].total, "a thread that has a ring keeps it")
		}
		require.EqualValues(t, threads+mainCalls/2-rings, f.beyond)
		require.EqualValues(t, f.beyond*calls, f.callsLost)
		require.EqualValues(t, threads*calls+mainCalls, f.total()+f.callsLost)
		info, err := os.Stat(f.path)
		require.NoError(t, err)
		require.EqualValues(t, f.header+rings*f.stride, info.Size())
	}
}

// withoutDescriptors runs a program that was started without these descriptors, and writes to them while 100 threads make
// their first calls. The status is 4 when a write did not fail as it does without a trace.
func withoutDescriptors(t *testing.T, p pair, digits string) (dir string, status int) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "ring")
	return dir, runOn(t, p.dir, []string{traceRing(dir)}, "", p.host, "without", digits).status
}

// TestWithoutStandardDescriptors: the trace file never has the number of a standard descriptor, at which the program writes.
func TestWithoutStandardDescriptors(t *testing.T) {
	p := typedPair(t)
	for _, digits := range []string{"0", "1", "2", "012"} {
		dir, status := withoutDescriptors(t, p, digits)
		require.Zero(t, status, "a write to %s did not fail", digits)
		f := readRings(t, dir)[0]
		require.Len(t, f.rings, 100)
		require.EqualValues(t, 100*2, f.total())
		require.Zero(t, f.lost)
	}
}

// smallRings is what makes a wrapper whose rings take little of the disk.
const smallRings = `s/SHIM_RING_CAPACITY 65536/SHIM_RING_CAPACITY 1024/`

// redirects runs a program that opens and closes its standard error while 900 threads make their first calls. The status is not 0
// when it got another number than without a trace, or lost what it had there.
func redirects(t *testing.T, p pair) (dir string, status int) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "ring")
	return dir, runOn(t, p.dir, []string{traceRing(dir)}, "", p.host, "redirect", "900").status
}

// TestDescriptorsAreTheHosts: opening a ring takes no descriptor of the program's, and closes none.
func TestDescriptorsAreTheHosts(t *testing.T) {
	p := makePair(t, source(t, "library.h"), mutant(t, "ringfile.h", smallRings)...)
	dir, status := redirects(t, p)
	require.Zero(t, status)
	f := readRings(t, dir)[0]
	require.Len(t, f.rings, 900)
	require.EqualValues(t, 900, f.total())
}

// TestSandbox: where the thread that opens the file is forbidden, or to have descriptors of its own, the host's table has to do,
// unless a standard descriptor is closed: then there is no trace. Nothing else is missing, and nothing ends the program.
func TestSandbox(t *testing.T) {
	p := typedPair(t)
	const threads = 5
	sandbox := func(forbidden, shell string) (output, string) {
		dir := filepath.Join(t.TempDir(), "ring")
		return runOn(t, p.dir, []string{traceRing(dir)}, "", "/bin/sh", "-c",
			fmt.Sprintf("%s exec %s sandbox %d '%s' 0<&%s", strings.TrimSuffix(shell, "<&-"), p.host, threads, forbidden,
				map[bool]string{true: "-", false: "0"}[strings.HasSuffix(shell, "<&-")])), dir
	}
	for _, forbidden := range []string{"clone", "unshare close_range", "unshare", "close_range"} {
		for _, when := range []string{"", "late "} {
			o, dir := sandbox(when+forbidden, "")
			require.Zero(t, o.status)
			require.Empty(t, o.stderr)
			f := readRings(t, dir)[0]
			require.GreaterOrEqual(t, len(f.rings), threads)
			require.Zero(t, f.lost)

			o, _ = sandbox(when+forbidden, "ulimit -f 1000;")
			require.Zero(t, o.status, "%s: %v, %s", forbidden, o.signal, o.stderr)
		}
	}
	for forbidden, want := range map[string]string{"clone": "(error 11, see errno(3)): tracing is off", "unshare close_range": "(error 1, see errno(3)): tracing is off"} {
		o, dir := sandbox(forbidden, "<&-")
		require.Zero(t, o.status)
		require.Len(t, o.lines(), 1)
		require.Contains(t, o.stderr, want)
		require.Empty(t, readRings(t, dir))
	}
}

// interruptFirstCalls runs threads whose first call is interrupted by handlers that call, and returns what the trace has
// and how many calls were made.
func interruptFirstCalls(t *testing.T, p pair, threads int) (ringFile, uint64) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "ring")
	o := p.run(t, []string{traceRing(dir)}, "interrupt first calls", strconv.Itoa(threads))
	var handled uint64
	_, err := fmt.Sscan(o.stdout, &handled)
	require.NoError(t, err)
	return readRings(t, dir)[0], uint64(threads) + handled
}

// TestFirstCallsInterrupted: a thread has one ring, although a handler calls while it is opened.
func TestFirstCallsInterrupted(t *testing.T) {
	const threads = 200
	f, made := interruptFirstCalls(t, typedPair(t), threads)
	require.EqualValues(t, threads, f.opened)
	require.Zero(t, f.lost)
	require.EqualValues(t, made, f.total())
}

// TestFiber: a call that returns on another thread stays open, and that thread's calls are as they were.
func TestFiber(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "ring")
	typedPair(t).run(t, []string{traceRing(dir)}, "fiber")
	rings := readRings(t, dir)[0].rings
	require.Len(t, rings, 2)
	left, other := rings[0].calls[0], rings[1].calls[0]
	require.Equal(t, "miopenCallsBack", left.function)
	require.EqualValues(t, 2, left.flags)
	require.Equal(t, "miopenAlpha", other.function)
	require.EqualValues(t, 1, other.flags)
	require.Less(t, other.duration, other.clock-left.clock)
}

// replaced runs a program whose trace file is replaced by an empty one, and returns that.
func replaced(t *testing.T, p pair) (moved string, content []byte) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "ring")
	p.run(t, []string{traceRing(dir)}, "replaced", dir)
	files, err := filepath.Glob(filepath.Join(dir, "*.trace"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	content, err = os.ReadFile(files[0])
	require.NoError(t, err)
	return files[0] + ".moved", content
}

// TestReplacedFile: what has the trace file's name and is not the file stays as it is.
func TestReplacedFile(t *testing.T) {
	moved, content := replaced(t, typedPair(t))
	require.Empty(t, content)
	f := readRing(t, moved)
	require.EqualValues(t, 1, f.lost)
	require.EqualValues(t, 3, f.callsLost)
	require.EqualValues(t, 2, f.total())
}

// TestSuspend: the clock that gives the counter its unit runs on, as the counter does, while the machine sleeps.
func TestSuspend(t *testing.T) {
	preload := filepath.Join(t.TempDir(), "suspended.so")
	exportstest.Compile(t, "-shared", "-fPIC", "-o", preload, source(t, "suspended.c"))
	for what, p := range map[string]pair{
		"this machine's clock": typedPair(t), "no invariant counter": makePair(t, source(t, "library.h"), noCounter(t)...),
	} {
		dir := filepath.Join(t.TempDir(), "ring")
		p.run(t, []string{"LD_PRELOAD=" + preload, traceRing(dir)}, "pause")
		f := readRings(t, dir)[0]
		passed := f.last[1] - f.start[1]
		require.GreaterOrEqual(t, passed, uint64(200e6), what)
		require.Less(t, passed, uint64(60e9), what)
		calls := f.rings[0].calls
		ticksPerNano := float64(f.last[0]-f.start[0]) / float64(passed)
		require.GreaterOrEqual(t, float64(calls[1].clock-calls[0].clock)/ticksPerNano, 200e6*0.99, what)
	}
}

// noCounter is a compiler for a machine whose time stamp counter is no clock.
func noCounter(t *testing.T) []string {
	t.Helper()
	return mutant(t, "ring.c", `s/return __get_cpuid/return 0 \&\& __get_cpuid/`)
}

func TestRingOverflow(t *testing.T) {
	t.Run("this machine's clock", func(t *testing.T) { ringOverflow(t, typedPair(t)) })
	t.Run("no invariant counter", func(t *testing.T) {
		p := makePair(t, source(t, "library.h"), noCounter(t)...)
		require.Zero(t, ringOverflow(t, p).clock)
	})
}

func ringOverflow(t *testing.T, p pair) ringFile {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "ring")
	p.run(t, []string{traceRing(dir)}, "calls", "70000")
	f := readRings(t, dir)[0]
	require.EqualValues(t, 70000, f.total())
	calls := f.rings[0].calls
	require.Len(t, calls, 65536)
	require.EqualValues(t, 70000-65536, calls[0].sequence, "the oldest are overwritten")
	require.True(t, slices.IsSortedFunc(calls, func(a, b ringCall) int { return int(int64(a.clock - b.clock)) }))
	require.NotZero(t, f.last[0], "the clocks were compared at exit")
	require.Greater(t, f.last[1], f.start[1])
	if f.clock == 1 {
		ticks, ns := float64(f.last[0]-f.start[0]), float64(f.last[1]-f.start[1])
		require.Greater(t, ticks/ns, 0.1)
		require.Less(t, ticks/ns, 10.0)
	} else {
		require.Equal(t, f.last[0]-f.start[0], f.last[1]-f.start[1])
	}
	require.Greater(t, f.realtime, uint64(1600000000e9))
	return f
}

// TestRingFailures: what cannot be recorded is said, and the host goes on.
func TestRingFailures(t *testing.T) {
	p := typedPair(t)
	dir := t.TempDir()
	file := exportstest.Write(t, filepath.Join(dir, "file"), "x")
	for what, folder := range map[string]string{
		"no such folder": filepath.Join(dir, "none", "deeper"), "is a file": file, "too long": "/" + strings.Repeat("x/", 2100),
		"longer name": filepath.Join(dir, strings.Repeat("y", 300)),
	} {
		o := p.run(t, []string{traceRing(folder)}, "threads", "5", "3")
		require.Len(t, o.lines(), 1, what)
		require.Contains(t, o.stderr, "tracing is off", what)
		require.Contains(t, o.stderr, prefix+"warning: ", what)
	}

	// Names that are taken, by a file and by a link that leads elsewhere, are passed over.
	ring := filepath.Join(dir, "ring")
	require.NoError(t, os.Mkdir(ring, 0o755))
	shell := fmt.Sprintf(`echo taken > %[1]s/$$.0.trace; ln -s %[2]s %[1]s/$$.1.trace; ln -s /nonexistent %[1]s/$$.2.trace; exec %[3]s calls 4`, ring, file, p.host)
	o := runOn(t, p.dir, []string{traceRing(ring)}, "", "/bin/sh", "-c", shell)
	require.Zero(t, o.status, o.stderr)
	content, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, "x", string(content))
	made, err := filepath.Glob(filepath.Join(ring, "*.3.trace"))
	require.NoError(t, err)
	require.Len(t, made, 1)
	require.EqualValues(t, 4, readRing(t, made[0]).total())

	// The folder goes away: no ring for a new thread, no file for a child, and the rest goes on.
	gone := filepath.Join(dir, "gone")
	o = p.run(t, []string{traceRing(gone)}, "folder gone", gone)
	require.Len(t, o.lines(), 1)
	require.Contains(t, o.stderr, "cannot make the trace file")
	before := readRings(t, gone+".moved")
	require.Len(t, before, 1)
	require.EqualValues(t, 2, before[0].total())
	require.EqualValues(t, 1, before[0].lost)
	require.EqualValues(t, 3, before[0].callsLost)

	// Without room for a ring, the calls are counted. The limit of the shell is in units of 512 or 1024 bytes; room for the
	// header and not for a ring either way. Going beyond it would end the process with a signal.
	limited := filepath.Join(dir, "limited")
	o = runOn(t, p.dir, []string{traceRing(limited)}, "", "/bin/sh", "-c",
		fmt.Sprintf("ulimit -f 1000; exec %s threads 3 5", p.host))
	require.Zero(t, o.status, o.stderr)
	f := readRings(t, limited)[0]
	require.EqualValues(t, 3, f.opened)
	require.EqualValues(t, 3, f.lost)
	require.EqualValues(t, 15, f.callsLost)
	require.Empty(t, f.rings)
	// And for the header neither.
	o = runOn(t, p.dir, []string{traceRing(filepath.Join(dir, "nothing"))}, "", "/bin/sh", "-c",
		fmt.Sprintf("ulimit -f 1; exec %s threads 3 5", p.host))
	require.Zero(t, o.status, o.stderr)
	require.Contains(t, o.stderr, "tracing is off")
	left, err := filepath.Glob(filepath.Join(dir, "nothing", "*"))
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestPairing(t *testing.T) {
	p := makePair(t, source(t, "library.h"))
	private := filepath.Join(p.dir, "libMIOpen_private.so.1")
	wrapper := filepath.Join(p.dir, "libMIOpen.so.1")
	right, err := os.ReadFile(private)
	require.NoError(t, err)

	// foreign makes the private library of another build.
	foreign := func(t *testing.T, flags ...string) string {
		t.Helper()
		dir := t.TempDir()
		out := filepath.Join(dir, "out")
		makeSplit(t, split.Options{Library: stockLibrary(t, filepath.Join(dir, "stock"), flags...), Out: out})
		content, err := os.ReadFile(filepath.Join(out, "libMIOpen_private.so.1"))
		require.NoError(t, err)
		return string(content)
	}
	refused := func(t *testing.T, o output, names ...string) {
		t.Helper()
		require.Len(t, o.lines(), 1)
		require.True(t, strings.HasPrefix(o.stderr, prefix+"error: "+wrapper+" was not made for "), o.stderr)
		for _, n := range names {
			require.Contains(t, o.stderr, n)
		}
		require.Contains(t, o.stderr, "Install both files of one split")
		require.Equal(t, "5 0 refused: libMIOpen.so.1 and libMIOpen_private.so.1 are not of the same split 5\n", o.stdout)
	}
	all := func(t *testing.T, env ...string) output {
		t.Helper()
		return p.run(t, append([]string{forwarding + "on"}, env...), "all")
	}
	t.Run("right", func(t *testing.T) {
		o := all(t)
		require.Equal(t, "2 43.75 text 40\n", o.stdout)
		require.Equal(t, banner+"\n", o.stderr)
	})
	t.Run("another layout", func(t *testing.T) {
		exportstest.Write(t, private, foreign(t, "-O0"))
		refused(t, all(t), private, "_impl is not where it was")
		// With a trace, and by many threads at once, too.
		o := runOn(t, p.dir, []string{traceStderr}, "", p.host, "threads", "50", "3")
		require.Equal(t, 1, strings.Count(o.stderr, prefix), o.stderr)
	})
	t.Run("a function is missing", func(t *testing.T) {
		text := foreign(t)
		require.Contains(t, text, "miopenNothing_impl\x00")
		exportstest.Write(t, private, strings.ReplaceAll(text, "miopenNothing_impl\x00", "miopenNothing_imp1\x00"))
		refused(t, all(t), private, "miopenNothing_impl is missing")
	})
	t.Run("the first one is missing", func(t *testing.T) {
		exportstest.Write(t, private, strings.ReplaceAll(string(right), "miopenAlpha_impl\x00", "miopenAlpha_imp1\x00"))
		refused(t, all(t), private, "miopenAlpha_impl is missing")
	})
	t.Run("an interposer", func(t *testing.T) {
		exportstest.Write(t, private, string(right))
		for _, name := range []string{"miopenAlpha_impl", "miopenBeta_impl"} {
			interposer := filepath.Join(t.TempDir(), "interposer.so")
			exportstest.Compile(t, "-shared", "-fPIC", "-x", "c", "-o", interposer,
				exportstest.Write(t, filepath.Join(t.TempDir(), "i.c"), "int "+name+"(int x) { return x; }\n"))
			refused(t, all(t, "LD_PRELOAD="+interposer), interposer, private)
		}
		require.Equal(t, "2 43.75 text 40\n", all(t).stdout)
	})
	t.Run("nothing is known of the types", func(t *testing.T) {
		q := makePair(t, "")
		exportstest.Write(t, filepath.Join(q.dir, "libMIOpen_private.so.1"), foreign(t, "-O0"))
		// A function of any type refuses with a status.
		o := runOn(t, q.dir, nil, "", q.host, "calls", "1")
		require.Equal(t, 3, o.status, "the host noticed")
		require.Contains(t, o.stderr, "every MIOpen call is refused")
	})
}

func TestSecondLibrary(t *testing.T) {
	p := untypedPair(t)
	q := makePair(t, "")
	ourWrapper, theirWrapper := filepath.Join(p.dir, "libMIOpen.so.1"), filepath.Join(q.dir, "libMIOpen.so.1")
	for what, c := range map[string]struct {
		library string
		named   []string
	}{
		"stock":     {p.stock, []string{p.stock}},
		"two shims": {theirWrapper, []string{theirWrapper}},
		"private":   {filepath.Join(q.dir, "libMIOpen_private.so.1"), []string{filepath.Join(q.dir, "libMIOpen_private.so.1")}},
	} {
		t.Run(what, func(t *testing.T) {
			for _, env := range []string{traceStderr, forwarding + "on"} {
				o := p.run(t, []string{env}, "beside", c.library)
				var warnings []string
				for _, l := range o.lines() {
					if strings.Contains(l, "more than one MIOpen") {
						warnings = append(warnings, l)
					}
				}
				require.Len(t, warnings, 1, o.stderr)
				for _, n := range append(c.named, ourWrapper) {
					require.Contains(t, warnings[0], n)
				}
			}
			require.Empty(t, p.run(t, nil, "beside", c.library).stderr, "nobody asked")
		})
	}
	// Control: other libraries, whatever they are called.
	for _, name := range []string{"libMIOpenX.so.1", "libMIOpen_private2.so", "libMIOpen.so1", "xlibMIOpen.so.1"} {
		other := filepath.Join(t.TempDir(), name)
		exportstest.Compile(t, "-shared", "-fPIC", "-x", "c", "-o", other, exportstest.Write(t, filepath.Join(t.TempDir(), "o.c"), "int other;\n"))
		require.Equal(t, strings.Repeat(prefix+"miopenAlpha\n", 2), p.run(t, []string{traceStderr}, "beside", other).stderr)
	}
	named := filepath.Join(t.TempDir(), "libMIOpen.so")
	exportstest.Compile(t, "-shared", "-fPIC", "-x", "c", "-o", named, exportstest.Write(t, filepath.Join(t.TempDir(), "o.c"), "int other;\n"))
	require.Contains(t, p.run(t, []string{traceStderr}, "beside", named).stderr, "more than one MIOpen")
}

// TestControls: without the means that the sources use, the tests above see the difference.
func TestControls(t *testing.T) {
	preload := filepath.Join(t.TempDir(), "getenv.so")
	exportstest.Compile(t, "-shared", "-fPIC", "-o", preload, source(t, "getenv.c"))

	unclaimed := makePair(t, "", mutant(t, "enter.c", `s/shim_claim(.*) == SHIM_CLAIM_OURS/1/`)...)
	o := unclaimed.run(t, []string{"LD_PRELOAD=" + preload, "GETENV_MODE=slow", forwarding + "on"}, "threads", "20", "2")
	require.Greater(t, count(o.lines(), banner), 1, "without the claim, several threads read")

	copied := makePair(t, "", mutant(t, "trace.c", `s/MADV_WIPEONFORK/MADV_NORMAL/`)...)
	dir := filepath.Join(t.TempDir(), "ring")
	copied.run(t, []string{traceRing(dir)}, "fork")
	require.Len(t, readRings(t, dir), 1, "a child that does not notice the fork writes into its parent's file")
	o = copied.run(t, []string{traceSummary}, "fork")
	require.Contains(t, o.stderr, ": 5 calls of 1 functions", "and counts on from its parent's calls")

	mapped := makePair(t, "", mutant(t, "ring.c", `s/!= -ESRCH/!= 1/`)...)
	require.EqualValues(t, 1+20, oneAfterAnother(t, mapped, 20), "the rings of all threads")
	strangers := makePair(t, "", mutant(t, "ring.c", `s/pid != p->header->process/0/`)...)
	o = runOn(t, strangers.dir, []string{traceRing(filepath.Join(t.TempDir(), "ring"))}, "", strangers.host, "vfork", "3")
	require.NotZero(t, o.status, "the ring of a thread that runs is unmapped")

	// With the program's own table of descriptors, a write to standard error gets into the trace file, and a file that it opens
	// gets another number.
	exposed := makePair(t, source(t, "library.h"), mutant(t, "os.c", `s/SYS_unshare, CLONE_FILES/SYS_unshare, 0/`)...)
	_, status := withoutDescriptors(t, exposed, "2")
	require.Equal(t, 4, status)
	_, status = redirects(t, exposed)
	require.Contains(t, []int{5, 6, 7}, status)
	entered := makePair(t, source(t, "library.h"), mutant(t, "ring.c", `/^static void open_thread/,/^}/s/shim_block_signals()/0/`)...)
	f, _ := interruptFirstCalls(t, entered, 200)
	require.Greater(t, f.opened, uint64(200), "a thread has two rings, one opened by a handler")
	unlooked := makePair(t, source(t, "library.h"), mutant(t, "ring.c", `s/identity.st_ino != p->inode/0/`)...)
	_, content := replaced(t, unlooked)
	require.NotEmpty(t, content, "a ring in the file of somebody else")
	generous := makePair(t, source(t, "library.h"), mutant(t, "ring.c", `/^bool shim_ring_call/,/^}/s/bool timed = /shim_own_memory(1); &/`)...)
	_, _, systemCalls, _ := steps(t, generous.dir, stepsHost(t, generous.stock), "ring:"+filepath.Join(t.TempDir(), "ring"))
	require.Equal(t, 2, systemCalls, "memory for every call")

	kept := makePair(t, "", mutant(t, "enter.c", `s/errno = host_errno;/errno = 1;/`)...)
	o = runOn(t, kept.dir, nil, "", kept.host, "errno")
	require.Equal(t, 3, o.status)

	unblocked := makePair(t, "", mutant(t, "ring.c", `/^static void open_thread/,/^}/s/shim_block_signals()/0/`)...)
	o = runOn(t, unblocked.dir, []string{traceRing(filepath.Join(t.TempDir(), "ring"))}, "", "/bin/sh", "-c",
		fmt.Sprintf("ulimit -f 1000; exec %s threads 3 5", unblocked.host))
	require.Equal(t, syscall.SIGXFSZ, o.signal)
}
