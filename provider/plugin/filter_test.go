package plugin_test

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/provider/wire"
)

// filterProgram asks the filter, watched by the compiler's sanitizers where it has them.
func filterProgram(t testing.TB, flags ...string) string {
	if len(flags) == 0 && os.Getenv("FILTER") != "" {
		return once(t, "FILTER", "", nil)
	}
	out := filepath.Join(t.TempDir(), "filter")
	arguments := append([]string{"-std=c11", "-O1", "-g", "-Wall", "-Wextra", "-I../..", "testdata/filter.c", "src/filter.c", "-o", out}, flags...)
	sanitized := append([]string{"-fsanitize=address,undefined", "-fno-sanitize-recover=all"}, arguments...)
	if err := exec.Command(compiler(), sanitized...).Run(); err != nil {
		t.Logf("%s has no sanitizers: reading beyond a buffer goes unnoticed", compiler())
		build(t, compiler(), arguments...)
	}
	return out
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
	return cmd.Output()
}

func TestFilter(t *testing.T) {
	program := filterProgram(t)
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
}

// TestMutatedGraphs: whatever the bytes are, the filter reads nothing else, and takes each graph that can be read and is
// one of ours. MUTATED_GRAPHS is how many there are.
func TestMutatedGraphs(t *testing.T) {
	count := 1000
	if v := os.Getenv("MUTATED_GRAPHS"); v != "" {
		var err error
		count, err = strconv.Atoi(v)
		require.NoError(t, err)
	}
	random := rand.New(rand.NewPCG(6, 4))
	var seeds [][]byte
	for _, g := range append(ours(), foreign()...) {
		seeds = append(seeds, wire.WriteGraph(g))
	}
	buffers := make([][]byte, count)
	for i := range buffers {
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
		buffers[i] = b
	}
	got, err := verdicts(t, filterProgram(t), buffers)
	require.NoError(t, err)
	require.Len(t, got, count)
	read, passed := 0, 0
	for i, b := range buffers {
		g, err := wire.ReadGraph(b)
		if err == nil {
			read++
			if isOurs(g) {
				passed++
				require.Equal(t, "P", string(got[i]), "graph %d: %x", i, b)
			} else {
				require.NotEqual(t, "P", string(got[i]), "graph %d: %x", i, b)
			}
		}
	}
	t.Logf("%d of %d are graphs, %d of them ours; the filter passed %d, and called %d malformed", read, count, passed, bytes.Count(got, []byte("P")), bytes.Count(got, []byte("M")))
	require.Greater(t, passed, count/20)
	require.Greater(t, bytes.Count(got, []byte("M")), count/20)
	require.Greater(t, read-passed, count/20)
}

// TestFilterIsWatched: with a compiler that has sanitizers, reading one byte beyond a buffer ends the program.
func TestFilterIsWatched(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty.c")
	require.NoError(t, os.WriteFile(empty, []byte("int main(void) { return 0; }\n"), 0o644))
	if exec.Command(compiler(), "-fsanitize=address,undefined", empty, "-o", empty+".out").Run() != nil {
		t.Logf("%s has no sanitizers", compiler())
		return
	}
	_, err := verdicts(t, filterProgram(t, "-DREAD_BEYOND"), [][]byte{make([]byte, 16)})
	require.Error(t, err)
}
