package hook

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/hipdnnbridge/miopen"
	"example.com/miopen_hipdnn_shim/tests/runfile"
)

// The tests of this file run the bridge in the test's own process, where allocations can be counted and
// the race detector looks on.

// inProcess returns a bridge on the backend that does nothing. The C library stands in for MIOpen's: it
// is loaded and depends on no HIP run time.
func inProcess(t testing.TB) *bridge {
	t.Helper()
	backend, err := runfile.Path("NULL_BACKEND")
	if os.Getenv("NULL_BACKEND") == "" {
		backend = filepath.Join(t.TempDir(), "libhipdnn_backend.so")
		var out []byte
		out, err = exec.Command("cc", "-O2", "-fPIC", "-shared", "testdata/backend.c", "-o", backend).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	require.NoError(t, err)
	said := func(line string) { t.Error(line) }
	environment := []string{"MIOPEN_HIPDNN_FORWARDING=1", "HIPDNN_BACKEND_LIBRARY_PATH=" + backend}
	b := newBridge("/nowhere/libMIOpen.so.1", "libc.so.6", host{said, said, func(unsafe.Pointer) (float32, bool) { return 0, false },
		func() []string { return environment }})
	require.NoError(t, b.engine().err)
	return b
}

// problem returns the bytes of a convolution, of one for each width.
func problem(width int64) *[miopen.FlatSize]byte {
	tensor := func(dims ...int64) miopen.Tensor {
		return miopen.Tensor{Type: miopen.Float, Dims: dims, Strides: miopen.PackedStrides(dims), Rank: len(dims), Cast: miopen.NoCast}
	}
	c := miopen.Convolution{
		X: tensor(1, 2, 4, width), W: tensor(2, 2, 1, 1), Y: tensor(1, 2, 4, width), Groups: 1, Spatial: 2,
		Pads: []int64{0, 0}, Strides: []int64{1, 1}, Dilations: []int64{1, 1}, FP16Alternative: miopen.Unread,
	}
	return (*[miopen.FlatSize]byte)(miopen.AppendFlat(nil, &c))
}

func callOn(handle *byte) call {
	return call{
		handle:  unsafe.Pointer(handle),
		scalars: miopen.Scalars{Alpha: 1, AlphaSet: true, BetaSet: true},
		buffers: [3]uintptr{0x100000, 0x200000, 0x300000},
	}
}

// TestNoAllocation: a call whose plan is there leaves nothing for the collector, and neither does one
// that is declined.
func TestNoAllocation(t *testing.T) {
	b := inProcess(t)
	var handle byte
	b.handleCreated(unsafe.Pointer(&handle), 0)
	c, p := callOn(&handle), problem(5)
	scaled := c
	scaled.scalars.Alpha = 2
	overlapping := c
	overlapping.buffers[2] = overlapping.buffers[0]
	unsupported := problem(5)
	unsupported[0] = 99 // the type of x
	for name, f := range map[string]func() bool{
		"forwarded":           func() bool { _, done := b.convolutionForward(&c, p); return done },
		"declined by scalars": func() bool { _, done := b.convolutionForward(&scaled, p); return !done },
		"declined by buffers": func() bool { _, done := b.convolutionForward(&overlapping, p); return !done },
		"declined by problem": func() bool { _, done := b.convolutionForward(&c, unsupported); return !done },
	} {
		require.True(t, f(), name)
		if !raceDetector {
			require.Zero(t, testing.AllocsPerRun(1000, func() { f() }), name)
		}
	}
	b.handleDestroyed(unsafe.Pointer(&handle))
}

// TestConcurrently: handles come and go, plans are built and thrown out, and all calls are served.
func TestConcurrently(t *testing.T) {
	saved := limits
	limits.Plans = 3
	defer func() { limits = saved }()
	b := inProcess(t)
	var handles [9]byte
	shared := &handles[8]
	b.handleCreated(unsafe.Pointer(shared), 0)
	const calls = 100
	var wait sync.WaitGroup
	for i := range 8 {
		wait.Go(func() {
			for n := range calls {
				own := &handles[i]
				b.handleCreated(unsafe.Pointer(own), 0)
				for _, h := range []*byte{own, shared, own} {
					c := callOn(h)
					if status, done := b.convolutionForward(&c, problem(int64(1+(n+i)%5))); !done || status != 0 {
						t.Errorf("done %v, status %v", done, status)
					}
				}
				b.profilingSet(unsafe.Pointer(shared), n%2 == 0)
				b.streamSet(unsafe.Pointer(shared), uintptr(n%3))
				b.kernelTime(unsafe.Pointer(shared), 1)
				b.statistics()
				b.handleDestroyed(unsafe.Pointer(own))
			}
		})
	}
	wait.Wait()
	b.handleDestroyed(unsafe.Pointer(shared))
	s := b.statistics()
	require.EqualValues(t, 8*calls*3, s.forwarded)
	require.Zero(t, s.native+s.failed)
	require.Greater(t, b.allPlans().Evictions, uint64(0))
}

// TestSayOnce: a failure that goes on is written once, and many failures end in silence.
func TestSayOnce(t *testing.T) {
	var said []string
	b := &bridge{host: host{message: func(line string) { said = append(said, line) }}, said: map[string]bool{}}
	for range 3 {
		for i := range 100 {
			b.sayOnce(fmt.Sprint("line ", i))
		}
	}
	require.Len(t, said, 65)
	require.Equal(t, "warning: further failures of hipDNN are counted, not written", said[64])
}

func BenchmarkForward(b *testing.B) {
	bridge := inProcess(b)
	var handle byte
	bridge.handleCreated(unsafe.Pointer(&handle), 0)
	defer bridge.handleDestroyed(unsafe.Pointer(&handle))
	c, p := callOn(&handle), problem(5)
	b.ReportAllocs()
	for b.Loop() {
		bridge.convolutionForward(&c, p)
	}
}
