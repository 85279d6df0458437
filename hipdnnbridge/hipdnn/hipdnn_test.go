package hipdnn_test

import (
	"encoding/csv"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/hipdnnbridge/graph"
	"example.com/miopen_hipdnn_shim/hipdnnbridge/hipdnn"
	"example.com/miopen_hipdnn_shim/tests/runfile"
)

// TestNumbers holds the constants of api.h against the table that the reference backend is made from,
// which has a source for each.
func TestNumbers(t *testing.T) {
	name := "../../tests/refhipdnn/testdata/numbers.tsv"
	file, err := os.Open(name)
	require.NoError(t, err)
	defer file.Close()
	reader := csv.NewReader(file)
	reader.Comma, reader.FieldsPerRecord = '\t', 3
	rows, err := reader.ReadAll()
	require.NoError(t, err)
	table := map[string]string{}
	for _, row := range rows {
		require.NotEmpty(t, row[2], "%s has a source", row[0])
		table[row[0]] = row[1]
	}
	header, err := os.ReadFile("api.h")
	require.NoError(t, err)
	constants := regexp.MustCompile(`(?m)^  (HIPDNN_\w+) = (\d+),`).FindAllStringSubmatch(string(header), -1)
	require.Greater(t, len(constants), 40)
	for _, c := range constants {
		require.Equal(t, table[c[1]], c[2], c[1])
	}
	for s := graph.StatusSuccess; s <= graph.StatusVersionMismatch; s++ {
		require.Equal(t, table["HIPDNN_STATUS_"+s.String()], strconv.Itoa(int(s)), s)
	}
	checked := 0
	for number := range int32(32) {
		if d, ok := graph.DataTypeFromAPI(number); ok {
			if value, listed := table["HIPDNN_DATA_"+d.String()]; listed {
				require.Equal(t, value, strconv.Itoa(int(number)), d)
				checked++
			}
		}
	}
	require.Greater(t, checked, 8)
	for _, m := range []graph.ConvolutionMode{graph.Convolution, graph.CrossCorrelation} {
		require.Equal(t, table["HIPDNN_CONVOLUTION_MODE_"+m.String()], strconv.Itoa(int(m.API())), m)
	}
}

// backend opens the reference backend, which reads its environment once: a test that wants another one
// runs in a process of its own.
func backend(t *testing.T) *hipdnn.Backend {
	t.Helper()
	library := os.Getenv("REFHIPDNN")
	if library != "" {
		var err error
		library, err = runfile.Path("REFHIPDNN")
		require.NoError(t, err)
	}
	if library == "" {
		dir, err := os.MkdirTemp("", "hipdnn") // the library stays mapped
		require.NoError(t, err)
		t.Cleanup(func() { os.RemoveAll(dir) })
		out, err := exec.Command("sh", "../../tests/refhipdnn/build.sh", dir).CombinedOutput()
		require.NoError(t, err, "%s", out)
		library = filepath.Join(dir, "libhipdnn_backend.so")
	}
	b, err := hipdnn.Open(hipdnn.Search{Explicit: library})
	require.NoError(t, err)
	require.Equal(t, library, b.Path)
	return b
}

// TestVersions runs TestConvolutions with each numbering, and with a library that has neither.
func TestVersions(t *testing.T) {
	if os.Getenv("REFHIPDNN_VERSION") != "" {
		t.Skip("this is one of the processes that the test starts")
	}
	for _, version := range []string{"0.9.0.0", "1.0.0.0", "1.3.0.0"} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestConvolutions$", "-test.v")
		cmd.Env = append(os.Environ(), "REFHIPDNN_VERSION="+version)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s:\n%s", version, out)
		require.Contains(t, string(out), "hipDNN "+version+"\n")
		require.Contains(t, string(out), "--- PASS: TestConvolutions")
	}
}

func device(t *testing.T) hipdnn.Device {
	t.Helper()
	d, err := hipdnn.OpenDevice("libc.so.6") // is loaded, and depends on no HIP run time
	require.NoError(t, err)
	return d
}

// memory returns floats that do not move, and their address.
func memory(t *testing.T, n int, value func() float32) ([]float32, uintptr) {
	t.Helper()
	s := make([]float32, n)
	for i := range s {
		s[i] = value()
	}
	var pinner runtime.Pinner
	pinner.Pin(&s[0])
	t.Cleanup(pinner.Unpin)
	return s, uintptr(unsafe.Pointer(&s[0]))
}

func dot(a, b []float32) (sum float64) {
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}

// TestConvolutions: the three convolutions of one geometry are one bilinear form, so that
// <forward(x, w), dy> = <x, backward data(dy, w)> = <w, backward weights(x, dy)>. Forward alone is
// compared with a plain convolution in package hook.
func TestConvolutions(t *testing.T) {
	b := backend(t)
	t.Logf("hipDNN %s", b.Version)
	d := device(t)
	require.NoError(t, b.Fits(d))
	h, err := b.NewHandle(d, 0, 0)
	require.NoError(t, err)
	random := rand.New(rand.NewPCG(1, 2))
	value := func() float32 { return float32(random.IntN(17)-8) / 8 }
	zero := func() float32 { return 1e30 }

	tensor := func(uid graph.UID, name string, dims ...int64) graph.Tensor {
		strides := make([]int64, len(dims))
		next := int64(1)
		for i := len(dims) - 1; i >= 0; i-- {
			strides[i] = next
			next *= dims[i]
		}
		return graph.Tensor{UID: uid, Name: name, Type: graph.Float, Dims: dims, Strides: strides}
	}
	geometry := graph.Geometry{PrePads: []int64{1, 0}, PostPads: []int64{1, 0}, Strides: []int64{2, 1}, Dilations: []int64{1, 2},
		Mode: graph.CrossCorrelation, Compute: graph.Float}
	x, w, y := tensor(11, "x", 2, 4, 7, 9), tensor(12, "w", 6, 2, 3, 2), tensor(13, "y", 2, 6, 4, 7)

	run := func(node graph.Node, a, b, out graph.Tensor, pa, pb, pout uintptr) {
		g := &graph.Graph{Name: "test", Tensors: []graph.Tensor{a, b, out}, Nodes: []graph.Node{node}, ComputeType: graph.Float, IntermediateType: graph.Float, IOType: graph.Float}
		require.NoError(t, g.Validate())
		p, phases, err := h.Build(g, 0)
		require.NoError(t, err)
		defer p.Close()
		require.Positive(t, phases.Total())
		require.Zero(t, p.Workspace)
		_, err = h.Execute(p, []uintptr{pa, pb}, 0, hipdnn.Timer{})
		require.ErrorContains(t, err, "2 addresses for the 3 tensors")
		e, err := h.Execute(p, []uintptr{pa, pb, pout}, 0, hipdnn.Timer{})
		require.NoError(t, err)
		require.Equal(t, hipdnn.Execution{Began: true}, e)
	}
	xs, px := memory(t, 2*4*7*9, value)
	ws, pw := memory(t, 6*2*3*2, value)
	dys, pdy := memory(t, 2*6*4*7, value)
	ys, py := memory(t, len(dys), zero)
	dxs, pdx := memory(t, len(xs), zero)
	dws, pdw := memory(t, len(ws), zero)
	run(&graph.ConvolutionForward{X: 11, W: 12, Y: 13, Geometry: geometry}, x, w, y, px, pw, py)
	run(&graph.ConvolutionBackwardData{DY: 13, W: 12, DX: 11, Geometry: geometry}, y, w, x, pdy, pw, pdx)
	run(&graph.ConvolutionBackwardWeights{X: 11, DY: 13, DW: 12, Geometry: geometry}, x, y, w, px, pdy, pdw)
	want := dot(ys, dys)
	require.NotZero(t, want)
	require.InDelta(t, want, dot(xs, dxs), 1e-3)
	require.InDelta(t, want, dot(ws, dws), 1e-3)

	_, _, err = h.Build(&graph.Graph{Nodes: []graph.Node{&graph.Pointwise{Mode: graph.PointwiseReLU, In: []graph.UID{1}, Out: 2}}}, 0)
	var call *hipdnn.Error
	require.ErrorAs(t, err, &call)
	require.Equal(t, graph.StatusNotSupported, call.Status)
	before := hipdnn.LogCount()
	y.Dims[3]++
	_, _, err = h.Build(&graph.Graph{Name: "bad", Tensors: []graph.Tensor{x, w, y}, ComputeType: graph.Float,
		Nodes: []graph.Node{&graph.ConvolutionForward{X: 11, W: 12, Y: 13, Geometry: geometry}}}, 0)
	require.ErrorAs(t, err, &call)
	require.NotEmpty(t, call.Message, "%v", err)
	t.Logf("%v; log: %q", err, hipdnn.LogSince(before))
	require.NoError(t, h.Close())
}

func TestHostDevice(t *testing.T) {
	d := device(t)
	start, err := d.NewEvent()
	require.NoError(t, err)
	stop, err := d.NewEvent()
	require.NoError(t, err)
	require.NoError(t, d.Record(start, 0))
	require.NoError(t, d.Record(stop, 0))
	elapsed, err := d.Elapsed(start, stop)
	require.NoError(t, err)
	require.GreaterOrEqual(t, elapsed.Nanoseconds(), int64(0))
	require.NoError(t, d.DestroyEvent(start))
	require.NoError(t, d.DestroyEvent(stop))
	capturing, err := d.Capturing(0)
	require.NoError(t, err)
	require.False(t, capturing)

	_, err = hipdnn.OpenDevice("libnowhere.so.9")
	require.ErrorContains(t, err, "libnowhere.so.9 is not a library that this process has loaded")
}
