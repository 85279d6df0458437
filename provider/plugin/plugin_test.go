package plugin_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/hipdnnbridge/graph"
	"example.com/miopen_hipdnn_shim/provider/engine"
	"example.com/miopen_hipdnn_shim/tests/workshop"
)

// TestStatic: what hipDNN asks of each plugin that it finds is answered without anything being loaded, and so are graphs
// of others.
func TestStatic(t *testing.T) {
	i := install(t, toldLibrary(t))
	a, b := graph.EngineID(graph.EngineName), graph.EngineID(graph.DeterministicEngineName)
	out := scene{dir: files(t)}.play(t, "plugin "+i.plugin(), "static", "ids 0", "ids 1", "ids 2", "ids 9", "nulls", "create 0", "create 1", "stream 0 4096",
		"applicable 0 matmul 2", "applicable 0 malformed 2", "applicable 0 malformed 0", "details 0 1 matmul", "details 0 1 malformed", "workspace 0 config matmul",
		"prepare 0 0 config matmul", "destroy 0", "destroy 1", "process")
	require.Equal(t, fmt.Sprintf(`loaded
miopen_private_plugin 0.1.0, API 1.1.0, type 1
engine %d MIOPEN_PRIVATE_ENGINE
engine %d MIOPEN_PRIVATE_ENGINE_DETERMINISTIC
ids 0 of 2:
ids 0 of 1: %[1]d
ids 0 of 2: %[1]d %[2]d
ids 0 of 2: %[1]d %[2]d
83 refusals
ok
ok
ok
applicable 0:
applicable 0:
applicable 0:
status 5: hipdnnEnginePluginGetEngineDetails: no engine of this plugin runs the graph: it has operations other than convolutions and pointwise ones
status 1: hipdnnEnginePluginGetEngineDetails: the graph is no serialised graph of hipDNN's: its root table is not in it
status 5: hipdnnEnginePluginGetWorkspaceSize: no engine of this plugin runs the graph: it has operations other than convolutions and pointwise ones
status 5: hipdnnEnginePluginCreateExecutionContext: no engine of this plugin runs the graph: it has operations other than convolutions and pointwise ones
ok
ok
0 libraries, one thread
`, a, b), out)

	var names []string
	for _, e := range engine.Engines {
		names = append(names, e.Name)
	}
	require.Equal(t, []string{graph.EngineName, graph.DeterministicEngineName}, names)
}

// TestCalls: each function that needs the other half gets there with its arguments, and its results back.
func TestCalls(t *testing.T) {
	i := install(t, toldLibrary(t))
	dir := files(t)
	out := scene{dir: dir}.play(t, "plugin "+i.plugin(), "log on", "create 0", "stream 0 4096",
		"applicable 0 forward 0", "applicable 0 forward 1", "applicable 0 activated 2", "applicable 0 backward-data 9", "process", "stream 0 8192",
		"details 0 100 forward", "workspace 0 config backward-weights", "prepare 0 0 config forward", "contextnulls 0 0", "size 0 0",
		"serialize 0 0 serialised", "restore 0 1 serialised", "buffer 1 config", "buffer -2 config", "execute 0 0 0", "execute 0 1 100", "overrides 0 0 0", "overrides 0 0 1",
		"create 1", "execute 1 0 0", "drop 0 0", "drop 0 1", "destroy 0", "create 2", "destroy 2", "destroy 1")
	require.Equal(t, `loaded
ok
ok
ok
  library opened with MIOpen 3.5.1
  log 0: an information
  log 2: an error
  library create of 1, device -1
  library stream 1 0x1000
  library applicable 1 of some bytes, at most 0
applicable 2:
  library applicable 1 of some bytes, at most 1
applicable 2: 100
  library applicable 1 of some bytes, at most 2
applicable 2: 100 101
  library applicable 1 of some bytes, at most 9
applicable 2: 100 101
1 libraries, one thread
  library stream 1 0x2000
ok
  library details 1 of 100 of some bytes
7 bytes of details
  library workspace 1 of 24 and some bytes
ok
64 bytes
  library prepare 1 of 24 and some bytes
ok
5 refusals
  library workspace of context 2
ok
32 bytes
  library serialize 2
ok
  library restore 1 of 10 bytes
ok
  library execute 1 2 with no workspace, 2 buffers, the last -2
ok
  library execute 1 3 with a workspace, 2 buffers, the last -2
ok
  library execute 1 2 with no workspace, 2 buffers, the last -2
ok
status 5: hipdnnEnginePluginExecuteOpGraphWithOverrides: no engine of this plugin runs a graph with other shapes than its own
ok
  library create of 1, device -1
  library execute 4 2 with no workspace, 2 buffers, the last -2
ok
  library context 2 destroyed
ok
  library context 3 destroyed
ok
  library destroy 1
ok
ok
ok
  library destroy 4
ok
`, out)
	serialised, err := os.ReadFile(filepath.Join(dir, "serialised"))
	require.NoError(t, err)
	require.Equal(t, "serialised", string(serialised))
}

// TestFailures: what the other half fails at is an error with its text, but for the search for engines, which goes on in
// other plugins.
func TestFailures(t *testing.T) {
	i := install(t, toldLibrary(t))
	dir := files(t)
	start := slices.Clip([]string{"plugin " + i.plugin(), "log on", "create 0", "applicable 0 forward 2"})
	context := slices.Clip(append(start, "buffer 1 config", "prepare 0 0 config forward", "serialize 0 0 serialised"))
	for function, lines := range map[string][]string{
		"details":           append(start, "details 0 1 forward"),
		"workspace":         append(start, "workspace 0 config forward"),
		"prepare":           append(start, "prepare 0 0 config forward"),
		"restore":           append(context, "restore 0 1 serialised"),
		"context-destroy":   append(context, "drop 0 0"),
		"context-workspace": append(context, "size 0 0"),
		"serialize":         append(context, "serialize 0 0 serialised"),
		"execute":           append(context, "execute 0 0 0"),
		"stream":            append(start, "stream 0 4096"),
		"destroy":           append(start, "destroy 0"),
	} {
		out := scene{dir: dir, environment: []string{"LIBRARY_FAILS=" + function}}.play(t, lines...)
		require.True(t, strings.HasSuffix(out, "status 3: "+function+" does not work today\n"), "%s", out)
		// A text as long as texts can be.
		out = scene{dir: dir, environment: []string{"LIBRARY_FAILS=" + function, "LIBRARY_TALKS=1"}}.play(t, append(lines, "error")...)
		require.True(t, strings.HasSuffix(out, "status 3: "+strings.Repeat("x", 2047)+"\nerror of 2047 bytes\n"), "%s", out)
	}
	for _, function := range []string{"applicable", "create"} {
		out := scene{dir: dir, environment: []string{"LIBRARY_FAILS=" + function}}.play(t, start...)
		require.True(t, strings.HasSuffix(out, "  log 2: "+function+" does not work today\napplicable 0:\n"), "%s", out)
	}
	// A stream that was set before there was a handle for it.
	out := scene{dir: dir, environment: []string{"LIBRARY_FAILS=stream"}}.play(t, "plugin "+i.plugin(), "log on", "create 0", "stream 0 4096", "applicable 0 forward 2",
		"details 0 1 forward", "stream 0 0", "details 0 1 forward")
	require.Contains(t, out, "  log 2: stream does not work today\napplicable 0:\n")
	require.Contains(t, out, "  library stream 2 0x1000\n  library destroy 2\nstatus 3: stream does not work today\n")
	require.True(t, strings.HasSuffix(out, "ok\n  library create of 1, device -1\n  library details 3 of 1 of some bytes\n7 bytes of details\n"), "%s", out)
}

// TestLog: the callback and its level may change at any time.
func TestLog(t *testing.T) {
	i := install(t, toldLibrary(t))
	out := scene{dir: files(t)}.play(t, "plugin "+i.plugin(), "create 0", "applicable 0 malformed 1", "log on", "applicable 0 malformed 1", "log 2", "applicable 0 malformed 1",
		"applicable 0 forward 0", "log 4", "applicable 0 malformed 1", "log 0", "applicable 0 malformed 1", "log off", "applicable 0 malformed 1")
	line := "  log 1: hipdnnEnginePluginGetApplicableEngineIds: the graph is no serialised graph of hipDNN's: its root table is not in it\n"
	require.Equal(t, "loaded\nok\napplicable 0:\nok\n"+line+"applicable 0:\nok\napplicable 0:\n"+
		"  library opened with MIOpen 3.5.1\n  log 2: an error\n  library create of 1, device -1\n  library applicable 1 of some bytes, at most 0\napplicable 2:\n"+
		"ok\napplicable 0:\nok\n"+line+"applicable 0:\nok\napplicable 0:\n", out)
}

// TestCannotOpen: whatever is in the way of the other half is said once, engines do not apply, and everything else is an
// error that says it.
func TestCannotOpen(t *testing.T) {
	dir := files(t)
	other := filepath.Join(t.TempDir(), "other.c")
	require.NoError(t, os.WriteFile(other, []byte("int other;\n"), 0o644))
	for name, c := range map[string]struct {
		library     func(t *testing.T, at string)
		environment string
		says        string
	}{
		"absent": {says: "there is no libmiopen_hipdnn.so.1 two folders above this plugin, nor beside the private library"},
		"a text": {
			library: func(t *testing.T, at string) { require.NoError(t, os.WriteFile(at, []byte("not a library"), 0o644)) },
			says:    "LIBRARY does not load: LIBRARY: file too short",
		},
		"another": {
			library: func(t *testing.T, at string) { compile(t, "-shared", "-fPIC", other, "-o", at) },
			says:    "the loaded libmiopen_hipdnn.so.1 has no part for hipDNN's plugin: install both from one release",
		},
		"refuses": {
			library:     func(t *testing.T, at string) { workshop.Copy(t, toldLibrary(t), at) },
			environment: "LIBRARY_FAILS=open",
			says:        "open does not work today",
		},
		"parent's": {
			library:     func(t *testing.T, at string) { workshop.Copy(t, toldLibrary(t), at) },
			environment: "LIBRARY_FAILS=forked",
			says:        "this process was forked with libmiopen_hipdnn.so.1 loaded, which does not work in a child: start the process by exec, or fork before the first use",
		},
	} {
		t.Run(name, func(t *testing.T) {
			i := install(t, "")
			if c.library != nil {
				c.library(t, i.library())
			}
			says := strings.ReplaceAll(c.says, "LIBRARY", i.library())
			out := scene{dir: dir, environment: []string{c.environment}}.play(t, "plugin "+i.plugin(), "log on", "create 0", "stream 0 4096", "applicable 0 forward 2",
				"applicable 0 forward 2", "details 0 1 forward", "prepare 0 0 config forward", "restore 0 0 forward", "stream 0 0", "destroy 0", "create 0", "applicable 0 forward 2", "destroy 0")
			out = strings.Replace(out, "  library opened with MIOpen 3.5.1\n", "", 1)
			failed := "status 5: the plugin cannot run graphs in this process: " + says + "\n"
			require.Equal(t, "loaded\nok\nok\nok\n  log 2: no graph is run by the private MIOpen: "+says+"\napplicable 0:\napplicable 0:\n"+
				failed+failed+failed+"ok\nok\nok\napplicable 0:\nok\n", out)
		})
	}
}

// TestBesideThePrivateLibrary: a plugin alone in a folder, which HIPDNN_PLUGIN_DIR may name.
func TestBesideThePrivateLibrary(t *testing.T) {
	i := install(t, toldLibrary(t))
	alone := filepath.Join(t.TempDir(), "alone", "plugin.so")
	workshop.Copy(t, i.plugin(), alone)
	out := scene{dir: files(t), environment: []string{"LD_LIBRARY_PATH=" + string(i)}}.play(t, "plugin "+alone, "create 0", "applicable 0 forward 1", "process")
	require.True(t, strings.HasSuffix(out, "applicable 2: 100\n1 libraries, one thread\n"), "%s", out)
	out = scene{dir: files(t)}.play(t, "plugin "+alone)
	require.Contains(t, out, "does not load: libMIOpen_private.so.1: cannot open shared object file")
}

// TestOneLibrary: a library that is loaded already is shared if it is the plugin's own or a copy of it, and nothing else is
// loaded beside one.
func TestOneLibrary(t *testing.T) {
	i := install(t, toldLibrary(t))
	elsewhere := install(t, toldLibrary(t))
	dir := files(t)
	applies := []string{"log on", "create 0", "applicable 0 forward 1", "process"}

	out := scene{dir: dir}.play(t, append([]string{"preload " + i.library(), "plugin " + i.plugin()}, applies...)...)
	require.True(t, strings.HasSuffix(out, "applicable 2: 100\n1 libraries, one thread\n"), "%s", out)

	out = scene{dir: dir}.play(t, append([]string{"preload " + elsewhere.library(), "plugin " + i.plugin()}, applies...)...)
	require.True(t, strings.HasSuffix(out, "applicable 2: 100\n1 libraries, one thread\n"), "%s", out)

	// Two plugins.
	out = scene{dir: dir}.play(t, append([]string{"plugin " + i.plugin(), "create 1", "applicable 1 forward 2", "plugin " + elsewhere.plugin()}, applies...)...)
	require.Contains(t, out, "library create of 2, device -1\n")
	require.True(t, strings.HasSuffix(out, "applicable 2: 100\n1 libraries, one thread\n"), "%s", out)

	// Another build.
	compile(t, "-fPIC", "-shared", "-DANOTHER", "-O0", "testdata/library.c", "-Wl,-soname,libmiopen_hipdnn.so.1", "-Wl,--build-id", "-o", elsewhere.library())
	out = scene{dir: dir}.play(t, append([]string{"preload " + elsewhere.library(), "plugin " + i.plugin()}, append(applies, "details 0 1 forward")...)...)
	require.Regexp(t, "  log 2: no graph is run by the private MIOpen: "+elsewhere.library()+` \(build [0-9a-f]{40}\) is loaded and this plugin belongs to `+i.library()+
		` \(build [0-9a-f]{40}\): a process can have one of them; install both from one release\napplicable 0:\n1 libraries, one thread\nstatus 5: .*elsewhere|belongs to`, out)
	require.NotContains(t, out, "library opened")

	// A library that cannot be told from others.
	compile(t, "-fPIC", "-shared", "testdata/library.c", "-Wl,-soname,libmiopen_hipdnn.so.1", "-Wl,--build-id=none", "-o", elsewhere.library())
	workshop.Copy(t, elsewhere.library(), i.library())
	out = scene{dir: dir}.play(t, append([]string{"preload " + elsewhere.library(), "plugin " + i.plugin()}, applies...)...)
	require.Contains(t, out, "(build none) is loaded and this plugin belongs to "+i.library()+" (build none)")
	require.NotContains(t, out, "library opened")
}

// TestStreamsDoNotWait: a handle whose stream cannot be set yet, since a plan is being built on it, keeps neither the
// stream of another one waiting nor the first graph of a third.
func TestStreamsDoNotWait(t *testing.T) {
	i := install(t, toldLibrary(t))
	out := scene{dir: files(t)}.play(t, "plugin "+i.plugin(), "create 0", "create 1", "create 2", "applicable 0 forward 1", "applicable 1 forward 1",
		"behind stream 0 7", "stream 2 32", "applicable 2 forward 1", "stream 1 16", "join")
	require.Equal(t, 1, strings.Count(out, "library stream 1 0x7\n"), "%s", out)
	require.NotContains(t, out, "in vain")
	require.Less(t, strings.Index(out, "library applicable 3"), strings.Index(out, "library stream 1 is set\n"), "%s", out)
	require.Contains(t, out, "library stream 3 0x20\n", "what was set before there was a handle for it")
}

// TestConstructor: a thread that has the loader's lock, and asks about a graph while another one opens the library, which
// needs that lock, goes on without an engine.
func TestConstructor(t *testing.T) {
	i := install(t, toldLibrary(t))
	source := filepath.Join(t.TempDir(), "constructor.c")
	library := filepath.Join(t.TempDir(), "constructor.so")
	require.NoError(t, os.WriteFile(source, []byte("extern void constructing(void);\n__attribute__((constructor)) static void loaded(void) { constructing(); }\n"), 0o644))
	compile(t, "-shared", "-fPIC", source, "-o", library)
	out := scene{dir: files(t)}.play(t, "plugin "+i.plugin(), "create 0", "create 1", "constructor "+library+" forward", "join", "applicable 1 forward 1")
	require.True(t, strings.HasPrefix(out, "loaded\nok\nok\napplicable 0:\n  library opened "), "%s", out)
	require.Equal(t, 2, strings.Count(out, "applicable 2: 100\n"), "%s", out)
}

// hip stands for HIP in the place that the private library's has: MIOpen's own functions are in another file.
const hip = `
static int device = 1;
int hipGetDevice(int *now) { *now = device; return 0; }
int hipSetDevice(int wanted) { device = wanted; return 0; }
int hipStreamGetDevice(void *stream, int *of) { *of = stream == (void *)4096 ? 3 : -1; return 0; }
int miopenCreate_impl(void **handle) { (void)handle; return 7; } // what the private library is found by
`

// TestDevice: the library gets HIP's functions for devices, of the HIP of the private library, and learns which device was the
// thread's when each handle was made.
func TestDevice(t *testing.T) {
	i := install(t, toldLibrary(t))
	private := filepath.Join(string(i), "libMIOpen_private.so.1")
	data, err := os.ReadFile(private)
	require.NoError(t, err)
	const moved = "libMIOpen_another.so.1"
	data = bytes.ReplaceAll(data, []byte("libMIOpen_private.so.1"), []byte(moved))
	require.NoError(t, os.Remove(private))
	require.NoError(t, os.WriteFile(filepath.Join(string(i), moved), data, 0o755))
	source := filepath.Join(t.TempDir(), "hip.c")
	require.NoError(t, os.WriteFile(source, []byte(hip), 0o644))
	compile(t, "-shared", "-fPIC", source, "-o", private, "-Wl,-soname,libMIOpen_private.so.1", "-Wl,--no-as-needed", filepath.Join(string(i), moved), "-Wl,--allow-shlib-undefined", "-Wl,-rpath,$ORIGIN")

	out := scene{dir: files(t)}.play(t, "plugin "+i.plugin(), "create 0", "applicable 0 forward 1", "create 1", "applicable 1 forward 1")
	require.Contains(t, out, "  library device 2, of the stream 3\n")
	require.Contains(t, out, "  library create of 1, device 1\n")
	require.Contains(t, out, "  library create of 1, device 2\n")
}

// TestThreads: handles of several threads, with the log going on and off.
func TestThreads(t *testing.T) {
	i := install(t, toldLibrary(t))
	out := scene{dir: files(t)}.play(t, "plugin "+i.plugin(), "threads 8 forward", "process")
	require.Contains(t, out, "\n0 wrong\n1 libraries, ")
	require.Equal(t, 1, strings.Count(out, "library opened"))
	require.Equal(t, 400, strings.Count(out, "library destroy"))
}
