package hipdnn_test

import (
	"errors"
	"os"
	"os/exec"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/hipdnnbridge/graph"
	"example.com/miopen_hipdnn_shim/hipdnnbridge/hipdnn"
)

// TestNamedBackend runs on the backend library that HIPDNN_BACKEND_LIBRARY_PATH names, such as AMD's, and on the reference backend, by
// the same variable, when that is not set.
//
// A green run says that the library has the functions and one of the numberings that are known here, that it takes handles, tensors
// and convolution graphs of ours, and, where an engine applies, that it builds a plan and executes it without an error. It says that
// results are right only of a library that works on the host's memory. That no engine applies, as where there is no device, is logged
// and is no failure: the number of executed graphs is in the last line.
func TestNamedBackend(t *testing.T) {
	path := os.Getenv(hipdnn.Variable)
	if path == "" {
		reference := backend(t).Path
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestNamedBackend$", "-test.v")
		cmd.Env = append(os.Environ(), hipdnn.Variable+"="+reference)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		require.Contains(t, string(out), "on "+reference+"\n")
		require.Contains(t, string(out), "3 of 3 graphs executed, 3 results right\n")

		// The control: what the backend computes is looked at.
		cmd = exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestNamedBackend$", "-test.v")
		cmd.Env = append(os.Environ(), hipdnn.Variable+"="+reference, "REFHIPDNN_EXECUTE=none")
		out, err = cmd.CombinedOutput()
		require.Error(t, err, "%s", out)
		return
	}
	b, err := hipdnn.Open(hipdnn.Search{Explicit: path})
	require.NoError(t, err)
	t.Logf("hipDNN %s on %s", b.Version, b.Path)
	// The HIP run time that the library depends on, if it does.
	d, err := hipdnn.OpenDevice(b.Path)
	require.NoError(t, err)
	require.NoError(t, b.Fits(d))
	_, _, err = d.Memory()
	onHost := err != nil
	device, err := d.Current()
	if err != nil {
		t.Logf("there is no device: %v", err)
		device = 0
	}
	h, err := b.NewHandle(d, device, 0)
	require.NoError(t, err)

	// One filter of ones over a picture of ones: sums of 4 that are easy to know in all three directions.
	tensor := func(uid graph.UID, name string, n, c, height, width int64) graph.Tensor {
		return graph.Tensor{UID: uid, Name: name, Type: graph.Float, Dims: []int64{n, c, height, width}, Strides: []int64{c * height * width, height * width, width, 1}}
	}
	x, w, y := tensor(1, "x", 1, 1, 3, 3), tensor(2, "w", 1, 1, 2, 2), tensor(3, "y", 1, 1, 2, 2)
	geometry := graph.Geometry{PrePads: []int64{0, 0}, PostPads: []int64{0, 0}, Strides: []int64{1, 1}, Dilations: []int64{1, 1},
		Mode: graph.CrossCorrelation, Compute: graph.Float}
	executed, right := 0, 0
	cases := []struct {
		node    graph.Node
		tensors []graph.Tensor // the last is the result
		want    []float32
	}{
		{&graph.ConvolutionForward{X: 1, W: 2, Y: 3, Geometry: geometry}, []graph.Tensor{x, w, y}, []float32{4, 4, 4, 4}},
		{&graph.ConvolutionBackwardData{DY: 3, W: 2, DX: 1, Geometry: geometry}, []graph.Tensor{y, w, x}, []float32{1, 2, 1, 2, 4, 2, 1, 2, 1}},
		{&graph.ConvolutionBackwardWeights{X: 1, DY: 3, DW: 2, Geometry: geometry}, []graph.Tensor{x, y, w}, []float32{4, 4, 4, 4}},
	}
	for _, c := range cases {
		g := &graph.Graph{Name: c.node.Kind(), Tensors: c.tensors, Nodes: []graph.Node{c.node},
			ComputeType: graph.Float, IntermediateType: graph.Float, IOType: graph.Float}
		p, _, err := h.Build(g, 0)
		var refused *hipdnn.Error
		if errors.As(err, &refused) && refused.Status == graph.StatusNotSupported {
			t.Logf("%s: %v", c.node.Kind(), err)
			continue
		}
		require.NoError(t, err, c.node.Kind())
		var addresses []uintptr
		for i := range c.tensors {
			memory, err := d.Allocate(4096)
			require.NoError(t, err)
			defer func() { require.NoError(t, d.Release(memory)) }()
			addresses = append(addresses, memory)
			if onHost {
				for j := range floats(memory, 9) {
					floats(memory, 9)[j] = map[bool]float32{true: -1, false: 1}[i == len(c.tensors)-1]
				}
			}
		}
		workspace := uintptr(0)
		if p.Workspace > 0 {
			workspace, err = d.Allocate(p.Workspace)
			require.NoError(t, err)
			defer func() { require.NoError(t, d.Release(workspace)) }()
		}
		_, err = h.Execute(p, addresses, workspace, hipdnn.Timer{})
		require.NoError(t, err, c.node.Kind())
		require.NoError(t, d.Synchronize())
		executed++
		if onHost {
			require.Equal(t, c.want, floats(addresses[len(addresses)-1], len(c.want)), c.node.Kind())
			right++
		}
		p.Close()
	}
	require.NoError(t, h.Close())
	t.Logf("%d of %d graphs executed, %d results right", executed, len(cases), right)
}

// floats are the numbers at an address of C memory.
func floats(at uintptr, n int) []float32 {
	return unsafe.Slice((*float32)(*(*unsafe.Pointer)(unsafe.Pointer(&at))), n)
}
