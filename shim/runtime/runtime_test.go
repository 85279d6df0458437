package runtime_test

import (
	"bytes"
	"context"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/shim/exports/exportstest"
	"example.com/miopen_hipdnn_shim/shim/runtime"
	"example.com/miopen_hipdnn_shim/shim/split"
)

const prefix = "[MIOPEN_HIPDNN_WRAPPER] "

// source returns the path of a file below testdata.
func source(t *testing.T, name string) string {
	t.Helper()
	p, err := filepath.Abs(filepath.Join("testdata", name))
	require.NoError(t, err)
	return p
}

// stockLibrary builds library.c as a libMIOpen.so.1 in a folder.
func stockLibrary(t *testing.T, dir string, flags ...string) string {
	t.Helper()
	require.NoError(t, os.MkdirAll(dir, 0o755))
	script := exportstest.Write(t, filepath.Join(t.TempDir(), "library.map"), "MIOPEN_HIP_1 { global: miopen*; local: *; };\n")
	out := filepath.Join(dir, "libMIOpen.so.1")
	args := []string{"-shared", "-fPIC", "-O1", "-o", out, "-Wl,-soname,libMIOpen.so.1", "-Wl,--version-script=" + script}
	exportstest.Compile(t, append(append(args, flags...), source(t, "library.c"))...)
	return out
}

// pair is a split of library.c and a program on it.
type pair struct {
	stock string // libMIOpen.so.1, before the split
	dir   string // of the split
	host  string // host.c
}

// makePair splits library.c. With a header the wrapper knows the signatures.
func makePair(t *testing.T, header string, compiler ...string) pair {
	t.Helper()
	return makePairIn(t, t.TempDir(), header, compiler...)
}

func makePairIn(t *testing.T, dir, header string, compiler ...string) pair {
	t.Helper()
	p := pair{stock: stockLibrary(t, filepath.Join(dir, "stock")), dir: filepath.Join(dir, "out"), host: filepath.Join(dir, "host")}
	makeSplit(t, split.Options{Library: p.stock, Out: p.dir, Header: header, Compiler: compiler})
	exportstest.Compile(t, "-O1", "-pthread", "-o", p.host, source(t, "host.c"), p.stock)
	return p
}

// The two pairs that most tests use, made once: a wrapper that knows the signatures, and one that does not. The tests
// leave them as they are.
var shared struct {
	sync.Mutex
	folder         string
	typed, untyped *pair
}

func TestMain(m *testing.M) {
	status := m.Run()
	os.RemoveAll(shared.folder)
	os.Exit(status)
}

func sharedPair(t *testing.T, known bool) pair {
	t.Helper()
	shared.Lock()
	defer shared.Unlock()
	p, name, header := &shared.untyped, "untyped", ""
	if known {
		p, name, header = &shared.typed, "typed", source(t, "library.h")
	}
	if *p == nil {
		if shared.folder == "" {
			dir, err := os.MkdirTemp("", "runtime-test-")
			require.NoError(t, err)
			shared.folder = dir
		}
		made := makePairIn(t, filepath.Join(shared.folder, name), header)
		*p = &made
	}
	return **p
}

// typedPair is a pair whose wrapper knows the signatures.
func typedPair(t *testing.T) pair { t.Helper(); return sharedPair(t, true) }

// untypedPair is a pair whose wrapper knows no signature.
func untypedPair(t *testing.T) pair { t.Helper(); return sharedPair(t, false) }

func makeSplit(t *testing.T, o split.Options) {
	t.Helper()
	_, err := split.Split(t.Context(), o)
	require.NoError(t, err)
}

// output is what a program did.
type output struct {
	stdout, stderr string
	status         int            // below 0 when a signal ended it
	signal         syscall.Signal // that did
	busy           time.Duration  // of processors
}

// lines returns what the program wrote to standard error, line by line.
func (o output) lines() []string {
	return strings.Split(strings.TrimSuffix(o.stderr, "\n"), "\n")
}

// runOn runs a program on the libraries of a folder. One that hangs ends with a status below 0.
func runOn(t *testing.T, dir string, env []string, stdin, program string, args ...string) output {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.WaitDelay = time.Second // a child may live on
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "LD_") && !strings.HasPrefix(v, "MIOPEN_") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	cmd.Env = append(append(cmd.Env, "LD_LIBRARY_PATH="+dir), env...)
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &stdout, &stderr
	err := cmd.Run()
	if cmd.ProcessState == nil {
		require.NoError(t, err)
	}
	end := cmd.ProcessState
	return output{
		stdout.String(), stderr.String(), end.ExitCode(), end.Sys().(syscall.WaitStatus).Signal(), end.UserTime() + end.SystemTime(),
	}
}

// run runs a scenario of the host, which has to succeed.
func (p pair) run(t *testing.T, env []string, args ...string) output {
	t.Helper()
	o := runOn(t, p.dir, env, "", p.host, args...)
	require.Zero(t, o.status, "%v: %s", args, o.stderr)
	return o
}

// ringCall is one record of a ring.
type ringCall struct {
	sequence, clock, duration uint64
	function                  string
	flags                     uint32
}

// ring is what one thread recorded.
type ring struct {
	thread uint32
	total  uint64 // calls, those that were overwritten among them
	calls  []ringCall
}

// ringFile is a file of MIOPEN_HIPDNN_TRACE=ring.
type ringFile struct {
	path                   string
	process, parent, clock uint32
	command                string
	start, last            [2]uint64
	realtime               uint64
	header, stride         uint64
	opened, lost           uint64
	beyond                 uint64 // threads without a ring because there were as many as a file may have
	callsLost              uint64 // of the threads without a ring
	rings                  []ring
}

func (f ringFile) total() (n uint64) {
	for _, r := range f.rings {
		n += r.total
	}
	return n
}

// readRings reads all files of a folder by the description in ringfile.h, sorted by name, and checks what has to hold in
// each.
func readRings(t *testing.T, dir string) []ringFile {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.trace"))
	require.NoError(t, err)
	slices.Sort(names)
	var out []ringFile
	for _, name := range names {
		out = append(out, readRing(t, name))
		require.Equal(t, strconv.Itoa(int(out[len(out)-1].process)), strings.SplitN(filepath.Base(name), ".", 2)[0])
	}
	return out
}

func readRing(t *testing.T, path string) ringFile {
	t.Helper()
	c, err := os.ReadFile(path)
	require.NoError(t, err)
	st, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), st.Mode())
	u32 := func(at uint64) uint32 { return binary.LittleEndian.Uint32(c[at:]) }
	u64 := func(at uint64) uint64 { return binary.LittleEndian.Uint64(c[at:]) }
	require.Equal(t, "MIOTRC02", string(c[:8]))
	header, capacity, stride := uint64(u32(8)), uint64(u32(16)), uint64(u32(20))
	require.EqualValues(t, 32, u32(12))
	require.EqualValues(t, 4096+capacity*32, stride)
	require.Zero(t, header%4096)
	f := ringFile{
		path: path, process: u32(24), parent: u32(28), clock: u32(32), command: string(bytes.TrimRight(c[96:112], "\x00")),
		start: [2]uint64{u64(40), u64(48)}, last: [2]uint64{u64(56), u64(64)}, realtime: u64(72),
		header: header, stride: stride, opened: u64(88), lost: u64(112), beyond: u64(128), callsLost: u64(120),
	}
	names := strings.Split(strings.TrimSuffix(string(c[u32(80):][:u32(84)]), "\x00"), "\x00")
	require.Len(t, names, int(u32(36)))
	for k := range f.opened {
		at := header + k*stride
		if at+stride > uint64(len(c)) || u32(at) == 0 {
			continue // a gap
		}
		r := ring{thread: u32(at), total: u64(at + 8)}
		first := uint64(0)
		if r.total > capacity {
			first = r.total - capacity
		}
		for s := first; s < r.total; s++ {
			rec := at + 4096 + s%capacity*32
			require.Equal(t, s+1, u64(rec), "%s: record %d of thread %d is torn or lost", path, s, r.thread)
			require.Less(t, u32(rec+16), u32(36))
			call := ringCall{sequence: s, clock: u64(rec + 8), function: names[u32(rec+16)], flags: u32(rec + 20), duration: u64(rec + 24)}
			require.GreaterOrEqual(t, call.clock, f.start[0])
			r.calls = append(r.calls, call)
		}
		f.rings = append(f.rings, r)
	}
	return f
}

// traces are the ways to record, with the values of MIOPEN_HIPDNN_TRACE that choose them; "" is none.
func traces(t *testing.T) map[string]string {
	return map[string]string{"off": "", "stderr": "stderr", "summary": "summary", "ring": "ring:" + filepath.Join(t.TempDir(), "ring")}
}

// names271 are the entry points of MIOpen 3.5.1.
func names271(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "tests", "refmiopen", "exports-3.5.1.txt"))
	require.NoError(t, err)
	names := strings.Fields(string(text))
	require.Len(t, names, 271)
	require.True(t, slices.IsSorted(names))
	return names
}

// unhooked gives other names to those functions that the wrapper knows the types of: they cannot be declared with others.
func unhooked(t *testing.T, names []string) []string {
	t.Helper()
	names = slices.Clone(names)
	hooked, used := runtime.Hooked()
	for _, known := range append(hooked, used...) {
		i := slices.Index(names, known)
		require.GreaterOrEqual(t, i, 0, known)
		names[i] += "Unhooked"
	}
	slices.Sort(names)
	return names
}

// sentinelLibrary builds a library with those functions, each of which records what it is given.
func sentinelLibrary(t *testing.T, dir string, names []string) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("\t.text\n")
	for i, n := range names {
		fmt.Fprintf(&b, "\t.globl %[1]s\n\t.type %[1]s, @function\n%[1]s:\n\tendbr64\n\tmovq $%[2]d, callee_index(%%rip)\n\tjmp callee\n"+
			"\t.size %[1]s, .-%[1]s\n", n, i)
	}
	b.WriteString("\t.section .note.GNU-stack, \"\", @progbits\n")
	text := exportstest.Write(t, filepath.Join(dir, "functions.s"), b.String())
	out := filepath.Join(dir, "libMIOpen.so.1")
	script := exportstest.Write(t, filepath.Join(dir, "library.map"), "MIOPEN_HIP_1 { global: miopen*; callee_record; local: *; };\n")
	exportstest.Compile(t, "-shared", "-o", out, text, source(t, "callee.S"), "-Wl,-soname,libMIOpen.so.1", "-Wl,-Bsymbolic",
		"-Wl,--version-script="+script)
	return out
}

// sentinelHeader declares all functions with as many arguments as the test gives them.
func sentinelHeader(t *testing.T, dir string, names []string) string {
	t.Helper()
	parameters := strings.TrimSuffix(strings.Repeat("long, ", 6)+strings.Repeat("double, ", 8)+strings.Repeat("long, ", 32), ", ")
	var b strings.Builder
	b.WriteString("extern \"C\" {\n")
	for _, n := range names {
		fmt.Fprintf(&b, "int %s(%s);\n", n, parameters)
	}
	b.WriteString("}\n")
	return exportstest.Write(t, filepath.Join(dir, "miopen.h"), b.String())
}

func sentinelHost(t *testing.T, dir string) string {
	t.Helper()
	out := filepath.Join(dir, "sentinels")
	exportstest.Compile(t, "-O1", "-o", out, source(t, "sentinels.c"), source(t, "caller.S"))
	return out
}

// TestArgumentsArriveUnchanged calls every entry point of MIOpen 3.5.1 through the wrapper, in every way in which a call
// can be recorded, with a value of its own in every register and in 32 words of stack.
func TestArgumentsArriveUnchanged(t *testing.T) {
	host := sentinelHost(t, t.TempDir())
	for what, declared := range map[string]bool{"instants": false, "durations": true} {
		dir, names, header := t.TempDir(), names271(t), ""
		if declared {
			names = unhooked(t, names)
			header = sentinelHeader(t, dir, names)
		}
		stdin := strings.Join(names, "\n")
		library := sentinelLibrary(t, dir, names)
		out := filepath.Join(dir, what)
		makeSplit(t, split.Options{Library: library, Out: out, Header: header})
		for trace, value := range traces(t) {
			t.Run(what+"/"+trace, func(t *testing.T) {
				frame := "none"
				if header != "" && trace == "ring" {
					frame = "frame"
				}
				o := runOn(t, out, []string{"MIOPEN_HIPDNN_TRACE=" + value}, stdin, host, filepath.Join(out, "libMIOpen.so.1"), frame)
				require.Equal(t, "271 calls, 0 differences\n", o.stdout)
				require.Zero(t, o.status, o.stderr)
				switch trace {
				case "off":
					require.Empty(t, o.stderr)
				case "stderr":
					require.Equal(t, prefix+strings.Join(names, "\n"+prefix)+"\n", o.stderr)
				case "summary":
					lines := o.lines()
					require.Len(t, lines, 272)
					require.Regexp(t, `process [0-9]+: 271 calls of 271 functions$`, lines[0])
					for i, n := range names {
						require.Regexp(t, `^\[MIOPEN_HIPDNN_WRAPPER\] process [0-9]+: 1 `+n+`$`, lines[i+1])
					}
				case "ring":
					require.Empty(t, o.stderr)
					files := readRings(t, strings.TrimPrefix(value, "ring:"))
					require.Len(t, files, 1)
					require.Len(t, files[0].rings, 1)
					var got []string
					for _, c := range files[0].rings[0].calls {
						got = append(got, c.function)
						if header == "" {
							require.Zero(t, c.flags)
							require.Zero(t, c.duration)
						} else {
							require.EqualValues(t, 1, c.flags)
							require.NotZero(t, c.duration)
						}
					}
					require.Equal(t, names, got)
				}
			})
		}
	}
}

// mutant returns a compiler that changes a source of the wrapper by a sed script before it compiles it.
func mutant(t *testing.T, file, script string) []string {
	t.Helper()
	cc := exportstest.Write(t, filepath.Join(t.TempDir(), "cc"), fmt.Sprintf(`#!/bin/bash
for a in "$@"; do
  case "$a" in
  */%[1]s) ;;
  */runtime.c) [[ %[1]s == *.[ch] ]] || continue; a=${a%%/*}/%[1]s ;; # the unit that includes it
  *) continue ;;
  esac
  cp "$a" "$a.before"
  sed -i -e '%[2]s' "$a"
  if cmp -s "$a" "$a.before"; then echo "nothing changed" >&2; exit 1; fi
done
exec cc "$@"
`, file, script))
	require.NoError(t, os.Chmod(cc, 0o755))
	return []string{cc}
}

// TestArgumentsControl: a trampoline that loses one register, or one word of the stack, is found out.
func TestArgumentsControl(t *testing.T) {
	dir := t.TempDir()
	names := names271(t)[:3]
	library := sentinelLibrary(t, dir, names)
	header := sentinelHeader(t, dir, names)
	host := sentinelHost(t, dir)
	for name, c := range map[string]struct{ script, finding string }{
		"r10":          {`s/movq.*(%rbp), %r10$/movq $-1, %r10/`, "integer 7: 0xffffffffffffffff"},
		"rax":          {`s/movq.*+48-.*(%rbp), %rax$/xorl %eax, %eax/`, "integer 0: 0,"},
		"rdx":          {`s/movq.*+16-.*(%rbp), %rdx$/movq $-1, %rdx/`, "integer 3: 0xffffffffffffffff"},
		"xmm7":         {`s/movaps.*(%rbp), %xmm7$/pcmpeqd %xmm7, %xmm7/`, "vector half 14: 0xffffffffffffffff"},
		"half of xmm0": {`s/movaps.*(%rbp), %xmm0$/movsd SHIM_FRAME_VECTORS-SHIM_FRAME_SIZE(%rbp), %xmm0/`, "vector half 1: 0"},
		"one word":     {`s/movl.*SHIM_CALL_WORDS.*/&; decl %ecx/`, "stack word 31:"},
		"words' order": {`s/movq.*-8(%rsp,%rcx,8)/movq %rax, -16(%rsp,%rcx,8)/`, "stack word 0:"},
		"alignment":    {`s/leaq.*1(%rcx), %rax/leaq 2(%rcx), %rax/; s/andq.*\$-2, %rax/orq $1, %rax/`, "alignment 0: 0,"},
		"result":       {`s/movq.*(%rbp), %rdx$/movq $-1, %rdx/`, "rdx 0: 0xffffffffffffffff"},
	} {
		t.Run(name, func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "out")
			makeSplit(t, split.Options{Library: library, Out: out, Header: header, Compiler: mutant(t, "slow.S", c.script)})
			trace := "MIOPEN_HIPDNN_TRACE=ring:" + filepath.Join(t.TempDir(), "ring")
			o := runOn(t, out, []string{trace}, strings.Join(names, "\n"), host, filepath.Join(out, "libMIOpen.so.1"), "frame")
			require.NotZero(t, o.status)
			require.Contains(t, o.stdout, c.finding)
		})
	}
}

// stepsHost builds steps.c against the split's stock library.
func stepsHost(t *testing.T, stock string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "steps")
	exportstest.Compile(t, "-O1", "-fcf-protection", "-o", out, source(t, "steps.c"), stock)
	return out
}

var stepsOutput = regexp.MustCompile(`^(\d+) in the stub, (\d+) elsewhere in the wrapper, (\d+) of them system calls, (\d+) failures to unwind\n`)

func steps(t *testing.T, dir, host, trace string) (stub, elsewhere, systemCalls, failures int) {
	t.Helper()
	o := runOn(t, dir, []string{"MIOPEN_HIPDNN_TRACE=" + trace}, "", host)
	if o.status < 0 {
		return 0, 0, 0, -1 // the unwinder lost its way and took the process with it
	}
	require.Zero(t, o.status, o.stdout+o.stderr)
	m := stepsOutput.FindStringSubmatch(o.stdout)
	require.NotNil(t, m, o.stdout)
	for i, n := range []*int{&stub, &elsewhere, &systemCalls, &failures} {
		*n, _ = strconv.Atoi(m[i+1])
	}
	return stub, elsewhere, systemCalls, failures
}

// TestInstructionByInstruction single-steps a call. With the trace off, nothing runs but the four instructions of the
// stub; and at every instruction of the wrapper, in every mode, the stack can be unwound to main. A call that is recorded in
// memory asks the system for nothing, memory among it.
func TestInstructionByInstruction(t *testing.T) {
	p := typedPair(t)
	host := stepsHost(t, p.stock)
	for trace, value := range traces(t) {
		t.Run(trace, func(t *testing.T) {
			stub, elsewhere, systemCalls, failures := steps(t, p.dir, host, value)
			require.Zero(t, failures)
			require.Equal(t, trace == "stderr", systemCalls > 0)
			if trace == "off" {
				require.Equal(t, 4, stub)
				require.Zero(t, elsewhere)
			} else {
				require.Equal(t, 5, stub)
				require.Greater(t, elsewhere, 30)
			}
		})
	}
	// Control: without its unwind information, or with wrong one, the trampoline cannot be passed.
	for _, script := range []string{`/\.cfi_def_cfa %rsp, 8/d`, `/\.cfi_def_cfa_register/d`} {
		p := makePair(t, source(t, "library.h"), mutant(t, "slow.S", script)...)
		_, _, _, failures := steps(t, p.dir, host, "ring:"+filepath.Join(t.TempDir(), "ring"))
		require.NotZero(t, failures, script)
	}
}

// TestCodeIsTheSame: what differs between the modes is data. The wrapper's code in memory is that of the file, whatever
// is recorded and whether or not calls are refused.
func TestCodeIsTheSame(t *testing.T) {
	p := typedPair(t)
	w, err := elf.Open(filepath.Join(p.dir, "libMIOpen.so.1"))
	require.NoError(t, err)
	defer w.Close()
	hash := uint64(14695981039346656037) // FNV-1a, as host.c has it
	for _, s := range w.Progs {
		if s.Type == elf.PT_LOAD && s.Flags&elf.PF_X != 0 {
			code := make([]byte, s.Filesz)
			_, err := s.ReadAt(code, 0)
			require.NoError(t, err)
			for _, b := range code {
				hash = (hash ^ uint64(b)) * 1099511628211
			}
		}
	}
	want := fmt.Sprintf("%x\n", hash)
	for trace, value := range traces(t) {
		for _, forward := range []string{"off", "on"} {
			o := p.run(t, []string{"MIOPEN_HIPDNN_TRACE=" + value, forwarding + forward}, "code")
			require.Equal(t, want, o.stdout, trace)
		}
	}
}

// TestExceptions: what is thrown inside of the implementation arrives at the caller, past the trampoline that waits for the
// call to return. The call's record stays open.
func TestExceptions(t *testing.T) {
	p := typedPair(t)
	host := filepath.Join(t.TempDir(), "throw")
	exportstest.Compile(t, "-o", host, source(t, "throw.cpp"), p.stock, "-lstdc++")
	for trace, value := range traces(t) {
		o := runOn(t, p.dir, []string{"MIOPEN_HIPDNN_TRACE=" + value}, "", host)
		require.Zero(t, o.status, o.stderr)
		require.Equal(t, "caught\n", o.stdout)
		if trace != "ring" {
			continue
		}
		calls := readRings(t, strings.TrimPrefix(value, "ring:"))[0].rings[0].calls
		require.Len(t, calls, 6)
		require.EqualValues(t, 2, calls[0].flags, "the call has not returned")
		require.EqualValues(t, 1, calls[1].flags)
	}
}

// TestNoWarnings compiles the sources as the split does, and with the warnings that it does not ask users' compilers for.
func TestNoWarnings(t *testing.T) {
	dir := t.TempDir()
	units, err := runtime.Write(dir)
	require.NoError(t, err)
	for _, unit := range []string{units.C, units.Assembly} {
		args := append(runtime.CompileFlags(), "-std=gnu11", "-Wall", "-Wextra", "-Wshadow", "-Wstrict-prototypes", "-Wundef", "-Werror")
		exportstest.Compile(t, append(args, "-c", "-o", os.DevNull, unit)...)
	}
	_, err = runtime.Write(filepath.Join(dir, "none"))
	require.ErrorContains(t, err, "writing a source of the wrapper")
}
