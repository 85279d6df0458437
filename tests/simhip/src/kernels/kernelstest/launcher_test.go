package kernelstest

import (
	"bufio"
	"encoding/binary"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/tests/workshop"
)

// launcher is a running launcher program; launcher.cpp says what it understands.
type launcher struct {
	t  *testing.T
	in io.WriteCloser
	w  *bufio.Writer
	r  *bufio.Reader
}

func TestMain(m *testing.M) { workshop.Main(m) }

func program(t testing.TB) string {
	t.Helper()
	return workshop.File(t, "LAUNCHER", "launcher", func(dir string) {
		workshop.Run(t, workshop.CXX(), "-std=c++17", "-O3", "-pthread", "-o", filepath.Join(dir, "launcher"), "launcher/launcher.cpp", "../code_object.cpp", "../image.cpp",
			"../msgpack.cpp", "../target_id.cpp", "../naive_conv.cpp", "../contraction.cpp", "../parallel.cpp")
	})
}

// start runs the program until the test ends. It must then end well, or it has touched what it must not.
func start(t *testing.T) *launcher {
	t.Helper()
	command := exec.Command(program(t))
	command.Stderr = os.Stderr
	in, err := command.StdinPipe()
	require.NoError(t, err)
	out, err := command.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, command.Start())
	l := &launcher{t: t, in: in, w: bufio.NewWriter(in), r: bufio.NewReader(out)}
	t.Cleanup(func() {
		in.Close()
		require.NoError(t, command.Wait(), "the launcher")
	})
	return l
}

func (l *launcher) put(values ...any) {
	for _, v := range values {
		switch v := v.(type) {
		case string:
			l.put(uint32(len(v)))
			_, err := l.w.WriteString(v)
			require.NoError(l.t, err)
		case []byte:
			l.put(string(v))
		default:
			require.NoError(l.t, binary.Write(l.w, binary.LittleEndian, v))
		}
	}
}

func get[T any](l *launcher) T {
	var value T
	require.NoError(l.t, binary.Read(l.r, binary.LittleEndian, &value), "the launcher ended")
	return value
}

func (l *launcher) text() string {
	b := make([]byte, get[uint32](l))
	_, err := io.ReadFull(l.r, b)
	require.NoError(l.t, err, "the launcher ended")
	return string(b)
}

// parse reads a code object. The error is the reader's, "" for none.
func (l *launcher) parse(image []byte, architecture string) ([]kernel, string) {
	l.put(byte('P'), image, architecture)
	require.NoError(l.t, l.w.Flush())
	failure := l.text()
	kernels := make([]kernel, get[uint32](l))
	for i := range kernels {
		k := &kernels[i]
		k.name, k.symbol = l.text(), l.text()
		k.argumentBytes = int(get[uint64](l))
		k.lds, k.scratch, k.lanes = int(get[uint32](l)), int(get[uint32](l)), int(get[uint32](l))
		k.arguments = make([]argument, get[uint32](l))
		for j := range k.arguments {
			a := &k.arguments[j]
			a.name, a.kind = l.text(), l.text()
			a.offset, a.size = int(get[uint64](l)), int(get[uint64](l))
		}
	}
	return kernels, failure
}

type buffer struct {
	pointer int // the offset of its address in the arguments
	content []byte
}

type launch struct {
	image       []byte
	kernel      string
	grid, block [3]uint32
	threads     uint32
	unrun       bool // stops before run()
	arguments   []byte
	buffers     []buffer
}

type outcome byte

const (
	unknown outcome = iota // nobody executes the kernel
	ran
	failed
)

// access is a range that an execution named; offset is from the buffer's begin.
type access struct {
	buffer, offset, bytes int
	writes                bool
	argument              string
}

type result struct {
	outcome  outcome
	failure  string
	accesses []access
	time     time.Duration // in run()
	buffers  [][]byte      // the contents afterwards
}

func (l *launcher) launch(n launch) result {
	run := byte(1)
	if n.unrun {
		run = 0
	}
	l.put(byte('L'), n.image, architecture, n.kernel, n.grid, n.block, n.threads, run, n.arguments, uint32(len(n.buffers)))
	for _, b := range n.buffers {
		l.put(uint32(b.pointer), b.content)
	}
	require.NoError(l.t, l.w.Flush())
	r := result{outcome: get[outcome](l), failure: l.text()}
	for range get[uint32](l) {
		r.accesses = append(r.accesses, access{int(get[uint32](l)), int(get[uint64](l)), int(get[uint64](l)), get[byte](l) != 0, l.text()})
	}
	r.time = time.Duration(get[uint64](l))
	for range n.buffers {
		r.buffers = append(r.buffers, []byte(l.text()))
	}
	return r
}
