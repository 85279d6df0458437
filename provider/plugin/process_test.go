package plugin_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/hipdnnbridge/graph"
	"example.com/miopen_hipdnn_shim/provider/wire"
	"example.com/miopen_hipdnn_shim/tests/oracle"
	"example.com/miopen_hipdnn_shim/tests/workshop"
)

// The tests here are of processes with both halves: the plugin and the library with Go in it.

var (
	defaultID       = graph.EngineID(graph.EngineName)
	deterministicID = graph.EngineID(graph.DeterministicEngineName)
)

func floats(n int, f func(i int) float32) []byte {
	data := make([]byte, 0, 4*n)
	for i := range n {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(f(i)))
	}
	return data
}

// TestConvolution: the whole way from hipDNN's side to the private MIOpen and back.
func TestConvolution(t *testing.T) {
	i := install(t, forwardingLibrary(t))
	dir := files(t)
	operands := oracle.Operands{
		X: oracle.Packed(oracle.Float, []int{2, 3, 5, 6}, nil), W: oracle.Packed(oracle.Float, []int{4, 3, 3, 3}, nil), Y: oracle.Packed(oracle.Float, []int{2, 4, 5, 6}, nil),
		XData: floats(2*3*5*6, func(i int) float32 { return float32(i%7) - 3.25 }),
		WData: floats(4*3*3*3, func(i int) float32 { return float32(i%5)*0.5 - 1 }),
		YData: floats(2*4*5*6, func(int) float32 { return float32(math.NaN()) }),
		Alpha: 1,
	}
	for name, data := range map[string][]byte{"x": operands.XData, "w": operands.WData, "y": operands.YData} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), data, 0o644))
	}
	want, err := oracle.Convolution{Pads: []int{1, 1}, Strides: []int{1, 1}, Dilations: []int{1, 1}, Groups: 1}.Forward(operands)
	require.NoError(t, err)
	for _, config := range []string{"config", "deterministic"} {
		out := scene{dir: dir}.play(t, "plugin "+i.plugin(), "log on", "create 0", "applicable 0 forward 2", "workspace 0 "+config+" forward", "prepare 0 0 "+config+" forward",
			"buffer 1 x", "buffer 2 w", "buffer 3 y", "execute 0 0 4096", "store 3 result", "size 0 0", "serialize 0 0 serialised", "restore 0 1 serialised",
			"execute 0 1 4096", "store 3 again", "buffer 3 y", fmt.Sprintf("newserialize 0 0 serialised-anew %d", defaultID), "newserialize 0 0 serialised-anew 17",
			"oldrestore 0 2 "+config+" serialised-anew", "execute 0 2 4096", "store 3 old", "oldrestore 0 3 config config", "restore 0 3 config", "oldrestore 0 3 forward serialised",
			"drop 0 0", "drop 0 1", "drop 0 2", "execute 0 1 4096", fmt.Sprintf("details 0 %d forward details", defaultID), "details 0 17 forward", "destroy 0", "process")
		require.Contains(t, out, fmt.Sprintf("applicable 2: %d %d\n", defaultID, deterministicID))
		lines := strings.Split(out, "\n")
		failed := 0
		for _, l := range lines {
			if strings.HasPrefix(l, "status ") {
				failed++
			}
		}
		require.Equal(t, 6, failed, "%s", out) // of bytes that are no context, of a destroyed context, of engines that are not there
		require.True(t, strings.HasSuffix(out, "\nok\n1 libraries, several threads\n"), "%s", out)
		for _, name := range []string{"result", "again", "old"} {
			got, err := os.ReadFile(filepath.Join(dir, name))
			require.NoError(t, err)
			mismatches, err := oracle.Compare(oracle.Float, operands.Y, got, want)
			require.NoError(t, err)
			require.Empty(t, mismatches)
			mismatches, err = oracle.Compare(oracle.Float, operands.Y, operands.YData, want)
			require.NoError(t, err)
			require.NotEmpty(t, mismatches, "what was there before")
		}
		data, err := os.ReadFile(filepath.Join(dir, "details"))
		require.NoError(t, err)
		details, err := wire.ReadEngineDetails(data)
		require.NoError(t, err)
		require.Equal(t, defaultID, details.EngineID)
	}
}

// TestNoGo: no graph of ours, no library and no thread, and children work.
func TestNoGo(t *testing.T) {
	i := install(t, forwardingLibrary(t))
	out := scene{dir: files(t)}.play(t, "plugin "+i.plugin(), "static", "create 0", "applicable 0 matmul 2", "process",
		"fork", "applicable 0 matmul 2", "process", "applicable 0 forward 2", "process", "destroy 0", "end", "process", "destroy 0")
	require.Contains(t, out, "\napplicable 0:\n0 libraries, one thread\napplicable 0:\n0 libraries, one thread\napplicable 2: ", "the child's own library works")
	require.Contains(t, out, "\n1 libraries, several threads\nok\nchild exited 0\n0 libraries, one thread\nok\n")
}

// TestFork: a child of a process with the library gets no engine and an error for everything else, and can give back what
// it has; the parent goes on. So it is for a child that was made without fork's handlers being called.
func TestFork(t *testing.T) {
	i := install(t, forwardingLibrary(t))
	dir := files(t)
	child := "this process was forked with libmiopen_hipdnn.so.1 loaded, which does not work in a child: start the process by exec, or fork before the first use"
	says := "status 5: the plugin cannot run graphs in this process: " + strings.TrimPrefix(child, "this process ")
	says = strings.Replace(says, "process: was", "process: it was", 1)
	lines := []string{"plugin " + i.plugin(), "create 0", "create 1", "applicable 0 forward 2", "prepare 0 0 config forward", "prepare 0 1 config forward"}
	lines = append(lines, "fork", "stream 0 64", "stream 1 64", "applicable 0 forward 2", "applicable 1 forward 2", "details 0 1 forward", "prepare 0 2 config forward",
		"execute 0 0 64", "size 0 0", "serialize 0 0 serialised", "restore 0 0 forward", "drop 0 0", "destroy 0", "create 2", "applicable 2 forward 2", "destroy 2", "destroy 1", "end")
	lines = append(lines, "size 0 0", "drop 0 1", "drop 0 0", "destroy 0", "destroy 1")
	lines = append(lines[:6], append([]string{"buffer 1 config"}, lines[6:]...)...)
	fork := slices.Index(lines, "fork")
	for _, way := range []string{"fork", "barefork"} {
		lines[fork] = way
		out := scene{dir: dir}.play(t, lines...)
		answers := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
		require.Equal(t, []string{
			"ok", "ok", "applicable 0:", "applicable 0:", says, says, says, says, says, says, "ok", "ok", "ok", "applicable 0:", "ok", "ok",
			"child exited 0", "ok",
		}, answers[6:24], "%s", out)
		require.Equal(t, []string{"ok", "ok", "ok", "ok"}, answers[len(answers)-4:])
	}

	// The library is the parent's, the plugin the child's own.
	for _, first := range []string{"preload ", "bridge "} {
		out := scene{dir: dir}.play(t, first+i.library(), "fork", "plugin "+i.plugin(), "log on", "create 0", "applicable 0 forward 2", "applicable 0 forward 2", "details 0 1 forward", "destroy 0", "bridge "+i.library(), "end")
		require.Contains(t, out, "loaded\nok\nok\n  log 2: no graph is run by the private MIOpen: "+child+"\napplicable 0:\napplicable 0:\nstatus 5: the plugin cannot run graphs in this process: "+child+
			"\nok\nforked\nchild exited 0\n")
	}
	// The plugin's library in a child that wants to forward.
	out := scene{dir: dir}.play(t, "plugin "+i.plugin(), "create 0", "applicable 0 forward 2", "fork", "bridge "+i.library(), "end")
	require.True(t, strings.HasSuffix(out, "\nforked\nchild exited 0\n"), "%s", out)
}

// TestBothHalves: the wrapper's half and the plugin's are one library, whichever comes first and from wherever.
func TestBothHalves(t *testing.T) {
	i := install(t, forwardingLibrary(t))
	copied := install(t, forwardingLibrary(t))
	dir := files(t)
	for _, bridge := range []string{i.library(), copied.library()} {
		out := scene{dir: dir}.play(t, "bridge "+bridge, "process", "plugin "+i.plugin(), "log on", "create 0", "applicable 0 forward 2", "process", "bridgecall", "destroy 0")
		require.Equal(t, 2, strings.Count(out, "1 libraries, several threads\n"), "%s", out)
		require.Contains(t, out, fmt.Sprintf("applicable 2: %d %d\n", defaultID, deterministicID))
		require.Contains(t, out, "bridge open\n")
		require.Contains(t, out, "bridge forwarded 0\n")
	}
	// As the wrapper does it, by name: the loader finds the one that is there, whatever it would find else.
	out := scene{dir: dir, environment: []string{"LD_LIBRARY_PATH=" + string(copied)}}.play(t, "plugin "+i.plugin(), "create 0", "applicable 0 forward 2", "bridge libmiopen_hipdnn.so.1", "process", "bridgecall", "destroy 0")
	require.Contains(t, out, "bridge open\n1 libraries, several threads\nbridge forwarded 0\n")

	// Two plugins, both with their own library beside them.
	out = scene{dir: dir}.play(t, "plugin "+i.plugin(), "create 0", "applicable 0 forward 2", "plugin "+copied.plugin(), "create 1", "applicable 1 forward 2", "process")
	require.Equal(t, 2, strings.Count(out, fmt.Sprintf("applicable 2: %d %d\n", defaultID, deterministicID)), "%s", out)
	require.True(t, strings.HasSuffix(out, "1 libraries, several threads\n"), "%s", out)

	// What two would look like.
	stranger := filepath.Join(string(copied), "other", "libmiopen_hipdnn.so.1")
	workshop.Copy(t, forwardingLibrary(t), stranger)
	out = scene{dir: dir}.play(t, "preload "+i.library(), "preload "+stranger, "process")
	require.Equal(t, "2 libraries, several threads\n", out)
}

// TestThreadsOfLibrary: handles of several threads in the library with Go.
func TestThreadsOfLibrary(t *testing.T) {
	i := install(t, forwardingLibrary(t))
	out := scene{dir: files(t)}.play(t, "plugin "+i.plugin(), "threads 8 forward", "process")
	require.True(t, strings.HasSuffix(out, "\n0 wrong\n1 libraries, several threads\n"), "%s", out)
}

// pipeBreaker is a library that has MIOpen write into a broken pipe when a handle is made.
const pipeBreaker = `
#include <unistd.h>
int miopenCreate_impl(void **handle) {
	int ends[2];
	if (pipe(ends) || close(ends[0]) || write(ends[1], "", 1) == 1 || close(ends[1]))
		return 3;
	*handle = 0;
	return 7;
}
`

// TestSIGPIPE: a broken pipe has the effect that it had before Go's run time came into the process, and took the signal: on
// threads of the host's, and within MIOpen, which Go calls.
func TestSIGPIPE(t *testing.T) {
	i := install(t, forwardingLibrary(t))
	dir := files(t)
	out := scene{dir: dir}.play(t, "fork", "plugin "+i.plugin(), "create 0", "sigpipe", "end", "fork", "plugin "+i.plugin(), "create 0", "applicable 0 forward 2", "sigpipe", "end")
	require.Equal(t, 2, strings.Count(out, "child killed by 13\n"), "%s", out)
	require.Contains(t, out, "applicable 2: ")

	source, breaker := filepath.Join(dir, "breaker.c"), filepath.Join(dir, "breaker.so")
	require.NoError(t, os.WriteFile(source, []byte(pipeBreaker), 0o644))
	compile(t, "-shared", "-fPIC", source, "-o", breaker)
	lines := []string{"plugin " + i.plugin(), "create 0", "applicable 0 forward 2", "process", "end"}
	s := scene{dir: dir, environment: []string{"LD_PRELOAD=" + breaker}}
	out = s.play(t, append([]string{"fork"}, lines...)...)
	require.Contains(t, out, "child killed by 13\n")
	out = s.play(t, append([]string{"ignoresigpipe", "fork"}, lines...)...)
	require.Contains(t, out, "applicable 0:\n1 libraries, several threads\nchild exited 0\n", "a handle could not be made")
}

// sigpipeTaker is a library that takes SIGPIPE when it is loaded, as one with Go in it does, and has no part for the plugin.
const sigpipeTaker = `
#include <signal.h>
static void handle(int number) { (void)number; }
__attribute__((constructor)) static void loaded(void) { signal(SIGPIPE, handle); }
`

// TestSIGPIPEOfRefused: SIGPIPE is put back also where nothing comes of the library.
func TestSIGPIPEOfRefused(t *testing.T) {
	i := install(t, "")
	dir := files(t)
	source := filepath.Join(dir, "taker.c")
	require.NoError(t, os.WriteFile(source, []byte(sigpipeTaker), 0o644))
	compile(t, "-shared", "-fPIC", source, "-o", i.library())
	applies := []string{"plugin " + i.plugin(), "create 0", "applicable 0 forward 2", "disposition", "process"}
	out := scene{dir: dir}.play(t, applies...)
	require.Equal(t, "loaded\nok\napplicable 0:\nSIGPIPE ends the process\n1 libraries, one thread\n", out)
	out = scene{dir: dir}.play(t, append([]string{"ignoresigpipe"}, applies...)...)
	require.Contains(t, out, "\nSIGPIPE is ignored\n")
	out = scene{dir: dir}.play(t, "preload "+i.library(), "disposition")
	require.Equal(t, "SIGPIPE is handled\n", out, "the control")
}
