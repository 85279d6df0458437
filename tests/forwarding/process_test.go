package forwarding_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/hipdnnbridge/graph"
	"example.com/miopen_hipdnn_shim/provider/wire"
	"example.com/miopen_hipdnn_shim/tests/runfile"
)

// installed is a folder with everything in it, as it is after an installation: hipDNN looks for plugins beside itself.
func installed(t *testing.T) string {
	t.Helper()
	split, err := runfile.Dir("SHIM", "manifest.json")
	require.NoError(t, err)
	lib := t.TempDir()
	plugins := filepath.Join(lib, "hipdnn_plugins", "engines")
	require.NoError(t, os.MkdirAll(plugins, 0o755))
	for from, to := range map[string]string{
		file(t, "BRIDGE"): lib, file(t, "REFHIPDNN"): lib, file(t, "PLUGIN"): plugins,
		filepath.Join(split, "libMIOpen.so.1"): lib, filepath.Join(split, "libMIOpen_private.so.1"): lib,
	} {
		data, err := os.ReadFile(from)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(to, filepath.Base(from)), data, 0o755))
	}
	return lib
}

// graphs writes two: one that no engine of the plugin runs, and a convolution.
func graphs(t *testing.T) (foreign, convolution string) {
	t.Helper()
	tensor := func(uid int64, dims ...int64) wire.Tensor {
		strides := []int64{dims[1] * dims[2] * dims[3], dims[2] * dims[3], dims[3], 1}
		return wire.Tensor{UID: uid, Type: graph.Float, Dims: dims, Strides: strides, Alignment: 16, RaggedOffsetMultiplier: 1}
	}
	write := func(name string, attributes wire.Attributes, tensors ...wire.Tensor) string {
		path := filepath.Join(t.TempDir(), name)
		require.NoError(t, os.WriteFile(path, wire.WriteGraph(&wire.Graph{
			Name: name, Compute: graph.Float, Intermediate: graph.Float, IO: graph.Float, Tensors: tensors,
			Nodes: []wire.Node{{Name: name, Compute: graph.Float, Attributes: attributes}},
		}), 0o644))
		return path
	}
	window := wire.Window{PrePadding: []int64{1, 1}, PostPadding: []int64{1, 1}, Stride: []int64{1, 1}, Dilation: []int64{1, 1}, Mode: graph.CrossCorrelation}
	return write("activation", &wire.Pointwise{Mode: graph.PointwiseReLU, In0: 1, Out0: 2}, tensor(1, 2, 3, 5, 6), tensor(2, 2, 3, 5, 6)),
		write("convolution", &wire.ConvolutionFwd{X: 1, W: 2, Y: 3, Window: window}, tensor(1, 2, 3, 5, 6), tensor(2, 4, 3, 3, 3), tensor(3, 2, 4, 5, 6))
}

// ask runs the client and returns what it printed before the last line.
func ask(t *testing.T, environment []string, lines ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), file(t, "CLIENT"))
	cmd.Env = append(os.Environ(), environment...)
	cmd.Stdin = strings.NewReader(strings.Join(lines, "\n") + "\n")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	require.NoError(t, cmd.Run(), "%s%s", stdout.String(), stderr.String())
	out, ok := strings.CutSuffix(stdout.String(), "end\n")
	require.True(t, ok, "%s%s", stdout.String(), stderr.String())
	return out
}

// TestProcess: a process of hipDNN's with the plugin in it is as it was until it sends a graph that the plugin may run, and
// so are its children; then there is one Go run time, also where the process forwards MIOpen's calls, whichever comes first.
func TestProcess(t *testing.T) {
	lib := installed(t)
	foreign, convolution := graphs(t)
	hipdnn, miopen := "hipdnn "+filepath.Join(lib, "libhipdnn_backend.so"), "miopen "+filepath.Join(lib, "libMIOpen.so.1")
	foreign, convolution = "graph "+foreign, "graph "+convolution
	const none, one = "0 libraries, as many threads\n", "1 libraries, other threads\n"

	out := ask(t, nil, "process", hipdnn, "process", foreign, "process", "fork", foreign, "process", convolution, "process", "end", "process", foreign, convolution, "process")
	m := regexp.MustCompile(`^` + none + none + `(\d) engines\n` + none + `(\d) engines\n` + none + `(\d) engines\n` + one + "child exited 0\n" + none + `(\d) engines\n(\d) engines\n` + one + `$`).FindStringSubmatch(out)
	require.NotNil(t, m, "%s", out)
	require.Equal(t, m[1], m[2])
	require.Equal(t, m[1], m[4])
	require.Equal(t, m[3], m[5], "in the child, which loads a library of its own, and in its parent")
	require.Equal(t, "4", m[3], "both engines of the plugin, and two of the backend's own")

	report := filepath.Join(t.TempDir(), "report")
	environment := []string{"MIOPEN_HIPDNN_FORWARDING=1", "MIOPEN_HIPDNN_FORWARDING_REPORT=file:" + report, "LD_LIBRARY_PATH=" + lib}
	for _, order := range [][]string{{hipdnn, convolution, "process", miopen, "process"}, {miopen, "process", hipdnn, convolution, "process"}} {
		out = ask(t, environment, append([]string{"process"}, order...)...)
		require.Contains(t, out, "4 engines\n")
		require.Contains(t, out, "convolved\n")
		require.Equal(t, 2, strings.Count(out, one), "%s", out)
		text, err := os.ReadFile(report)
		require.NoError(t, err)
		m := convolutionRow.FindSubmatch(text)
		require.NotNil(t, m, "%s", text)
		require.Equal(t, "1", string(m[2]), "forwarded: %s", text)
		require.NoError(t, os.Remove(report))
	}
}
