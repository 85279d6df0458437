package isatest

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/tests/workshop"
)

const lanes = 64

// runner is a running runner program; runner.cpp says what it understands.
type runner struct {
	t   testing.TB
	in  io.Writer
	out *bufio.Reader
}

func TestMain(m *testing.M) { workshop.Main(m) }

func program(t testing.TB) string {
	t.Helper()
	return workshop.File(t, "RUNNER", "runner", func(dir string) {
		sources, err := filepath.Glob("../*.cpp")
		require.NoError(t, err)
		arguments := append([]string{"-std=c++17", "-O1", "-ffp-contract=off", "-pthread", "-o", filepath.Join(dir, "runner"), "runner/runner.cpp", "../../kernels/parallel.cpp"}, sources...)
		workshop.Run(t, workshop.CXX(), append(arguments, "-ldl")...)
	})
}

// start runs the program until the test ends. It must then end well.
func start(t testing.TB) *runner {
	t.Helper()
	command := exec.Command(program(t))
	command.Stderr = os.Stderr
	in, err := command.StdinPipe()
	require.NoError(t, err)
	out, err := command.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, command.Start())
	t.Cleanup(func() {
		in.Close()
		require.NoError(t, command.Wait(), "the runner")
	})
	return &runner{t: t, in: in, out: bufio.NewReader(out)}
}

// ask sends a command and returns the answer.
func (r *runner) ask(format string, arguments ...any) string {
	r.t.Helper()
	_, err := fmt.Fprintf(r.in, format+"\n", arguments...)
	require.NoError(r.t, err)
	answer, err := r.out.ReadString('\n')
	require.NoError(r.t, err, "the runner ended")
	return strings.TrimSpace(answer)
}

// tell sends a command that has no other answer than ok.
func (r *runner) tell(format string, arguments ...any) {
	r.t.Helper()
	require.Equal(r.t, "ok", r.ask(format, arguments...), format, arguments)
}

func (r *runner) program(lines ...string) string {
	r.t.Helper()
	return r.ask("program\n%s\ns_endpgm\nend", strings.Join(lines, "\n"))
}

// wave loads the instructions and makes a new wave at their begin.
func (r *runner) wave(lines ...string) {
	r.t.Helper()
	require.Equal(r.t, "ok", r.program(lines...), lines)
	r.tell("wave")
}

func (r *runner) run() {
	r.t.Helper()
	require.Equal(r.t, "ended", r.ask("run"))
}

func (r *runner) setLanes(register int, values []uint32) {
	r.t.Helper()
	require.Len(r.t, values, lanes)
	words := make([]string, lanes)
	for i, v := range values {
		words[i] = strconv.FormatUint(uint64(v), 16)
	}
	r.tell("set v%d %s", register, strings.Join(words, " "))
}

func (r *runner) numbers(answer string) []uint64 {
	r.t.Helper()
	var numbers []uint64
	for _, word := range strings.Fields(answer) {
		n, err := strconv.ParseUint(word, 16, 64)
		require.NoError(r.t, err, answer)
		numbers = append(numbers, n)
	}
	return numbers
}

func (r *runner) lanes(register int) []uint32 {
	r.t.Helper()
	values := r.numbers(r.ask("get v%d", register))
	require.Len(r.t, values, lanes)
	words := make([]uint32, lanes)
	for i, v := range values {
		words[i] = uint32(v)
	}
	return words
}

func (r *runner) number(register string) uint64 {
	r.t.Helper()
	values := r.numbers(r.ask("get %s", register))
	require.Len(r.t, values, 1)
	return values[0]
}

func (r *runner) buffer(bytes int) uint64 {
	r.t.Helper()
	return r.numbers(r.ask("buffer %x", bytes))[0]
}

func (r *runner) poke(address uint64, bytes []byte) {
	r.t.Helper()
	r.tell("poke %x %s", address, strings.Trim(fmt.Sprintf("% x", bytes), "[]"))
}

func (r *runner) peek(address uint64, count int) []byte {
	r.t.Helper()
	bytes := make([]byte, 0, count)
	for _, v := range r.numbers(r.ask("peek %x %x", address, count)) {
		bytes = append(bytes, byte(v))
	}
	require.Len(r.t, bytes, count)
	return bytes
}

// setAddress puts an address into a pair of scalar registers.
func (r *runner) setAddress(register int, address uint64) {
	r.t.Helper()
	r.tell("set s%d %x %x", register, uint32(address), uint32(address>>32))
}
