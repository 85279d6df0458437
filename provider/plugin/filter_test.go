package plugin_test

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/hipdnnbridge/graph"
	"example.com/miopen_hipdnn_shim/provider/wire"
	"example.com/miopen_hipdnn_shim/tests/runfile"
	"example.com/miopen_hipdnn_shim/tests/workshop"
)

// filterProgram asks the filter, watched by the compiler's sanitizers. The one that is named filter_reads_beyond reads a byte
// beyond each graph.
func filterProgram(t testing.TB, name string) string {
	t.Helper()
	if os.Getenv("FILTERS") != "" {
		dir, err := runfile.Dir("FILTERS", name)
		require.NoError(t, err)
		return filepath.Join(dir, name)
	}
	return filepath.Join(workshop.Folder(t, name, func(dir string) {
		arguments := []string{"-g", "-fsanitize=address,undefined", "testdata/filter.c", "src/filter.c", "-o", filepath.Join(dir, name)}
		if name == "filter_reads_beyond" {
			arguments = append(arguments, "-DREAD_BEYOND")
		}
		compile(t, arguments...)
	}), name)
}

func verdicts(t testing.TB, program string, buffers [][]byte) ([]byte, error) {
	t.Helper()
	var in bytes.Buffer
	for _, b := range buffers {
		require.NoError(t, binary.Write(&in, binary.LittleEndian, uint32(len(b))))
		in.Write(b)
	}
	cmd := exec.Command(program)
	cmd.Stdin = &in
	cmd.Env = append(os.Environ(), "ASAN_OPTIONS=halt_on_error=1", "UBSAN_OPTIONS=halt_on_error=1")
	return cmd.Output()
}

func TestFilter(t *testing.T) {
	program := filterProgram(t, "filter")
	var buffers [][]byte
	want := ""
	for _, g := range ours() {
		require.True(t, isOurs(g))
		buffers = append(buffers, wire.WriteGraph(g))
		want += "P"
	}
	for _, g := range foreign() {
		require.False(t, isOurs(g))
		buffers = append(buffers, wire.WriteGraph(g))
		want += "F"
	}
	whole := wire.WriteGraph(activated())
	for _, b := range [][]byte{{}, make([]byte, 7), make([]byte, 8), make([]byte, 1000), bytes.Repeat([]byte{0xff}, 1000), []byte("HDGP, a text that is none of it")} {
		buffers = append(buffers, b)
		want += "M"
	}
	got, err := verdicts(t, program, buffers)
	require.NoError(t, err)
	require.Equal(t, want, string(got))

	// A graph that is cut off: what comes after its nodes is not looked at.
	buffers = nil
	for n := range whole {
		buffers = append(buffers, whole[:n])
	}
	got, err = verdicts(t, program, buffers)
	require.NoError(t, err)
	cut := bytes.LastIndexByte(got, 'M') + 1
	require.Equal(t, bytes.Repeat([]byte("M"), cut), got[:cut])
	require.Equal(t, bytes.Repeat([]byte("P"), len(whole)-cut), got[cut:])
	require.Greater(t, cut, len(whole)/4)

	// A configuration that is cut off.
	buffers = nil
	config := wire.WriteEngineConfig(&wire.EngineConfig{EngineID: graph.EngineID(graph.EngineName)})
	for n := range config {
		buffers = append(buffers, config[:n])
	}
	_, err = verdicts(t, program, buffers)
	require.NoError(t, err)
}

// spoiled is one of the seeds, changed in one to three places.
func spoiled(random *rand.Rand, seeds [][]byte) []byte {
	b := bytes.Clone(seeds[random.IntN(len(seeds))])
	for range 1 + random.IntN(3) {
		if len(b) == 0 {
			break
		}
		at := random.IntN(len(b))
		switch random.IntN(6) {
		case 0:
			b[at] ^= 1 << random.IntN(8)
		case 1:
			b[at] = byte(random.Uint32())
		case 2:
			b = b[:at]
		case 3:
			copy(b[at:], []byte{0xff, 0xff, 0xff, 0x7f}[:min(4, len(b)-at)])
		case 4:
			copy(b[at&^3:], []byte{byte(random.IntN(16)), 0, 0, 0})
		case 5:
			other := seeds[random.IntN(len(seeds))]
			copy(b[at:], other[min(at, len(other)):])
		}
	}
	return b
}

// TestMutatedGraphs: whatever the bytes are, the filter reads nothing else, and takes each graph that can be read and is
// one of ours: 10,000, or with MIOPEN_SHIM_NIGHTLY a million.
func TestMutatedGraphs(t *testing.T) {
	count := 10_000
	if os.Getenv("MIOPEN_SHIM_NIGHTLY") != "" {
		count = 1_000_000
	}
	random := rand.New(rand.NewPCG(6, 4))
	var seeds [][]byte
	for _, g := range append(ours(), foreign()...) {
		seeds = append(seeds, wire.WriteGraph(g))
	}
	// As many at a time as fit into memory.
	const batch = 10_000
	read, passed, passes, malformed := 0, 0, 0, 0
	for range count / batch {
		buffers := make([][]byte, batch)
		for i := range buffers {
			buffers[i] = spoiled(random, seeds)
		}
		got, err := verdicts(t, filterProgram(t, "filter"), buffers)
		require.NoError(t, err)
		require.Len(t, got, batch)
		passes, malformed = passes+bytes.Count(got, []byte("P")), malformed+bytes.Count(got, []byte("M"))
		for i, b := range buffers {
			g, err := wire.ReadGraph(b)
			if err != nil {
				continue
			}
			read++
			if isOurs(g) {
				passed++
				require.Equal(t, "P", string(got[i]), "graph %d: %x", i, b)
			} else {
				require.NotEqual(t, "P", string(got[i]), "graph %d: %x", i, b)
			}
		}
	}
	t.Logf("%d of %d are graphs, %d of them ours; the filter passed %d, and called %d malformed", read, count, passed, passes, malformed)
	require.Greater(t, passed, count/20)
	require.Greater(t, malformed, count/20)
	require.Greater(t, read-passed, count/20)
}

// TestFilterIsWatched: reading one byte beyond a buffer ends the program.
func TestFilterIsWatched(t *testing.T) {
	_, err := verdicts(t, filterProgram(t, "filter_reads_beyond"), [][]byte{make([]byte, 16)})
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit)
	require.Contains(t, string(exit.Stderr), "heap-buffer-overflow")
}
