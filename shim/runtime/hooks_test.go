package runtime_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/hipdnnbridge/routing"
	"example.com/miopen_hipdnn_shim/shim/exports/exportstest"
	"example.com/miopen_hipdnn_shim/shim/runtime"
	"example.com/miopen_hipdnn_shim/shim/split"
)

const (
	strictPolicy = "MIOPEN_HIPDNN_FORWARDING_POLICY=strict"
	forwardingOn = prefix + "MIOPEN_HIPDNN_FORWARDING is enabled"
	notPossible  = prefix + "forwarding to hipDNN is not possible: "
)

// forwardingPair is a split of hooked.c, with a forwarding library beside it unless it is to be missing.
func forwardingPair(t *testing.T, bridge bool, flags ...string) pair {
	t.Helper()
	dir := t.TempDir()
	stock := filepath.Join(dir, "stock", "libMIOpen.so.1")
	require.NoError(t, os.Mkdir(filepath.Dir(stock), 0o755))
	script := exportstest.Write(t, filepath.Join(dir, "library.map"), "MIOPEN_HIP_1 { global: miopen*; local: *; };\n")
	exportstest.Compile(t, append([]string{
		"-shared", "-fPIC", "-O1", "-o", stock, "-Wl,-soname,libMIOpen.so.1", "-Wl,--version-script=" + script, source(t, "hooked.c"),
	}, flags...)...)
	p := pair{stock: stock, dir: filepath.Join(dir, "out"), host: filepath.Join(dir, "host")}
	makeSplit(t, split.Options{Library: stock, Out: p.dir, Header: source(t, "hooked.h")})
	if bridge {
		src := filepath.Join(dir, "src")
		require.NoError(t, os.Mkdir(src, 0o755))
		_, err := runtime.Write(src)
		require.NoError(t, err)
		exportstest.Compile(t, "-shared", "-fPIC", "-O1", "-I", src, "-o", filepath.Join(p.dir, "libmiopen_hipdnn.so.1"), source(t, "bridge.c"))
	}
	exportstest.Compile(t, "-O1", "-pthread", "-I", filepath.Join(p.dir, "include", "miopen"), "-o", p.host, source(t, "hookedhost.c"),
		filepath.Join(p.dir, "libMIOpen.so.1"), "-Wl,--allow-shlib-undefined")
	return p
}

func TestHookedNames(t *testing.T) {
	hooked, used := runtime.Hooked()
	require.Contains(t, hooked, "miopenConvolutionForward")
	require.Contains(t, used, "miopenGetTensorCastType")
	require.Len(t, append(hooked, used...), 16)
}

const nativeSession = `native create
status 0 errno 77
native stream 0x50
native profiling 1
native convolution 0x10 0x20 0x30 algorithm 1 workspace 0x40 50
status 7
time 0.25 text native text of 7 error 0
statistics 0: 0 0 0 0 0
short 0 99 null 3
native destroy
native create with stream 0x60
native destroy
`

// nativeSession for a process that was to forward and could not.
var countedSession = strings.Replace(nativeSession, "statistics 0: 0 0 0", "statistics 0: 0 1 0", 1)

// TestNotForwarded: without the switch, and with it where nothing can be forwarded, MIOpen serves every call.
func TestNotForwarded(t *testing.T) {
	p := forwardingPair(t, true)
	o := p.run(t, nil, "session")
	require.Equal(t, nativeSession, o.stdout)
	require.Empty(t, o.stderr)

	o = p.run(t, []string{forwarding + "1", "BRIDGE_REFUSES=1"}, "session")
	require.Equal(t, "bridge opened by /libMIOpen.so.1 with /libMIOpen_private.so.1\n", strings.Replace(o.stdout, strings.TrimPrefix(countedSession, "native create\n"), "", 1)[len("native create\n"):])
	require.Equal(t, []string{forwardingOn, prefix + "hello", notPossible + "the forwarding library cannot serve this process; MIOpen serves every call"}, o.lines())

	p = forwardingPair(t, false)
	o = p.run(t, []string{forwarding + "1"}, "session")
	require.Equal(t, countedSession, o.stdout)
	require.Len(t, o.lines(), 2)
	require.Equal(t, forwardingOn, o.lines()[0])
	require.Contains(t, o.lines()[1], notPossible+"the forwarding library does not load: libmiopen_hipdnn.so.1: cannot open")
	require.Contains(t, o.lines()[1], "MIOpen serves every call")
	o = p.run(t, []string{forwarding + "1", "MIOPEN_HIPDNN_FORWARDING_POLICY=Strict"}, "session")
	refused := strings.NewReplacer("native convolution 0x10 0x20 0x30 algorithm 1 workspace 0x40 50\nstatus 7", "status 5",
		"native text of 7 error 0", "native text of 7 error 1", "statistics 0: 0 0 0", "statistics 0: 0 0 1").Replace(nativeSession)
	require.Equal(t, refused, o.stdout)
	require.Contains(t, o.lines()[1], "calls that are to be forwarded fail")
	o = p.run(t, []string{forwarding + "1", "MIOPEN_HIPDNN_FORWARDING_POLICY=strict"}, "error")
	require.Contains(t, o.stdout, "status 5 error 1 text [hipDNN-forwarded] miopenConvolutionForward: the forwarding library cannot be used")

	exportstest.Compile(t, "-shared", "-fPIC", "-x", "c", "-o", filepath.Join(p.dir, "libmiopen_hipdnn.so.1"),
		exportstest.Write(t, filepath.Join(t.TempDir(), "o.c"), "int other;\n"))
	o = p.run(t, []string{forwarding + "1"}, "session")
	require.Equal(t, countedSession, o.stdout)
	require.Contains(t, o.stderr, "libmiopen_hipdnn.so.1 is not of this shim")

	p = forwardingPair(t, true, "-DWITHOUT_SPATIAL_DIM", "-Wl,--unresolved-symbols=ignore-all")
	o = p.run(t, []string{forwarding + "1"}, "session")
	require.Equal(t, nativeSession, o.stdout, "a function that the hooks call is missing")
	require.Equal(t, banner+"\n", o.stderr)
}

// TestNativeVariables: the wrapper has the variables of MIOpen that the forwarding library would obey.
func TestNativeVariables(t *testing.T) {
	functions := map[routing.When]string{routing.Set: "is_set", routing.On: "is_on", routing.NotZero: "is_not_zero"}
	var want []string
	for _, v := range routing.Environment {
		for _, name := range v.Names {
			if v.Effect == routing.KeepsNative {
				require.NotContains(t, name, "*", "the wrapper looks variables up by their names")
				want = append(want, "SHIM_NATIVE("+name+", "+functions[v.When]+")")
			}
		}
	}
	dir := t.TempDir()
	_, err := runtime.Write(dir)
	require.NoError(t, err)
	text, err := os.ReadFile(filepath.Join(dir, "native.def"))
	require.NoError(t, err)
	_, lines, _ := strings.Cut(string(text), "*/\n\n")
	require.Equal(t, strings.Join(want, "\n")+"\n", lines, "copy these lines into shim/runtime/src/native.def")
}

// TestStrictWithoutLibrary: where the forwarding library is missing and the policy is strict, the wrapper refuses the calls that the library
// would refuse without hipDNN, and no others, whatever the environment says.
func TestStrictWithoutLibrary(t *testing.T) {
	variables := map[string][]string{
		routing.VarConv: {"", "Off", "0", "1", "ENABLED", "2", " 1"},
		routing.VarDisable: {"", "*", " * ", ",", "miopenCreate,\tmiopenConvolutionForward ,x", "miopenConvolutionForwardBias", "miopenConvolution",
			"miopenconvolutionforward", "x,miopenConvolutionForward", "miopenConvolutionForward miopenCreate", "miopenConvolutionForward,"},
		routing.VarPolicy: {"", "Strict", "strict ", "fallback"},
		"MIOPEN_UNKNOWN":  {"1"},
	}
	for _, v := range routing.Environment {
		for i, name := range v.Names {
			name = strings.ReplaceAll(name, "*", "X")
			variables[name] = []string{"1"}
			if i == 0 && v.Effect == routing.KeepsNative {
				variables[name] = []string{"", " ", "0", "1", "On", "off", " 1", " 00\t", "0X0", "0x", "0x10", "00 0", "0b0", "-0", "yes"}
			}
		}
	}
	p := forwardingPair(t, false)
	outcomes := map[bool]int{}
	for name, values := range variables {
		for _, value := range values {
			environment := []string{name + "=" + value, forwarding + "1"}
			if name != routing.VarPolicy {
				environment = append(environment, strictPolicy)
			}
			refused := routing.New(routing.Parse(environment)).Decide(routing.ConvolutionForward, false).Refuse
			outcomes[refused]++
			want := "status 7 error 0 text native text of 7\n"
			if refused {
				want = "status 5 error 1 text [hipDNN-forwarded] miopenConvolutionForward: the forwarding library cannot be used"
			}
			require.Contains(t, p.run(t, environment, "error").stdout, want, "%q", environment)
		}
	}
	require.Greater(t, outcomes[true], 40)
	require.Greater(t, outcomes[false], 40)
}

func TestForwarded(t *testing.T) {
	p := forwardingPair(t, true)
	const snapshot = `bridge convolution alpha 1 1 beta 2 1 0x10 0x20 0x30 workspace 0x40 50
bridge x type 1 rank 4 vectorised 0 cast -1: 2/60 3/20 4/5 5/1 0/0 0/0 0/0
bridge w type 1 rank 4 vectorised 0 cast -1: 6/6 3/2 1/2 2/1 0/0 0/0 0/0
bridge y type 0 rank 4 vectorised 0 cast -1: 2/96 6/1 4/24 4/6 0/0 0/0 0/0
bridge mode 1 groups 7 spatial 2 attributes -1 9 -1: 1/3/5 2/4/6 0/0/0 0/0/0 0/0/0
`
	session := func(convolution string) string {
		return `native create
bridge opened by /libMIOpen.so.1 with /libMIOpen_private.so.1
bridge created 1 stream (nil)
status 0 errno 77
native stream 0x50
bridge stream 1 0x50
native profiling 1
bridge profiling 1 1
` + snapshot + convolution + `time 0.5 text [7] native text of 7 error 8
statistics 0: 1 2 3 4 5
short 1 99 null 3
bridge destroyed 1
native destroy
native create with stream 0x60
bridge created 1 stream 0x60
bridge destroyed 1
native destroy
bridge finished, not asked 0 0
`
	}
	o := p.run(t, []string{forwarding + "1"}, "session")
	require.Equal(t, session("status 0\n"), o.stdout)
	require.Equal(t, []string{forwardingOn, prefix + "hello"}, o.lines())
	o = p.run(t, []string{forwarding + "1", "BRIDGE_STATUS=5"}, "session")
	require.Equal(t, session("status 5\n"), o.stdout)
	o = p.run(t, []string{forwarding + "1", "BRIDGE_NATIVE=1"}, "session")
	require.Equal(t, session("native convolution 0x10 0x20 0x30 algorithm 1 workspace 0x40 50\nbridge told of a native call 1\nstatus 7\n"), o.stdout)

	// A trace sees each call once, whoever serves it.
	o = p.run(t, []string{forwarding + "1", traceStderr}, "session")
	require.Equal(t, session("status 0\n"), o.stdout)
	require.Equal(t, 1, count(o.lines(), prefix+"miopenConvolutionForward"))
	require.Equal(t, 1, count(o.lines(), prefix+"miopenCreate"))
}

// TestForwardedLimits: what the flat structures have no room for is told, and not written.
func TestForwardedLimits(t *testing.T) {
	o := forwardingPair(t, true).run(t, []string{forwarding + "1"}, "limits")
	for _, want := range []string{
		"bridge convolution alpha 0 0 beta 0 0 ",
		"bridge x type 0 rank 8 vectorised 0 cast -1: 0/0 0/0 0/0 0/0 0/0 0/0 0/0\n",
		"bridge convolution alpha 3 1 beta 3 1 ",
		"bridge x type 6 rank 4 vectorised 0 cast -1: 2/60 ",
		"bridge x type 1 rank 4 vectorised 1 cast -1: 2/60 ",
		"bridge w type 0 rank 0 vectorised 0 cast -1: 0/0 0/0 0/0 0/0 0/0 0/0 0/0\n",
		"bridge mode 0 groups 0 spatial 6 attributes -1 9 -1: 0/0/0 0/0/0 0/0/0 0/0/0 0/0/0\n",
		"native convolution (nil) (nil) (nil) algorithm 1 workspace (nil) 0\nbridge told of a native call 1\nnull 7\n",
	} {
		require.Contains(t, o.stdout, want)
	}
}

// TestForwardedReentry: an engine that is linked against the wrapper itself gets MIOpen.
func TestForwardedReentry(t *testing.T) {
	o := forwardingPair(t, true).run(t, []string{forwarding + "1", "BRIDGE_CALLS_BACK=1"}, "session")
	require.Contains(t, o.stdout, "\nnative create\nnative destroy\nbridge called back: 0\nstatus 0\n")
	require.Equal(t, 2, strings.Count(o.stdout, "bridge created"), "the application's two handles")
}

// TestForwardedAttributes: those that say something of the types are read.
func TestForwardedAttributes(t *testing.T) {
	o := forwardingPair(t, true).run(t, []string{forwarding + "1"}, "attributes")
	for _, want := range []string{
		"bridge mode 1 groups 7 spatial 2 attributes 8 9 -1: 1/3/5 2/4/6 0/0/0 0/0/0 0/0/0\n",    // half
		"bridge mode 1 groups 7 spatial 2 attributes -1 9 10: 1/3/5 2/4/6 0/0/0 0/0/0 0/0/0\n",   // 8 bits
		"bridge mode 1 groups 7 spatial 2 attributes -1 9 -1: 1/3/5 2/4/6 0/0/0 0/0/0 0/0/0\n",   // of another rank than the convolution
		"bridge mode 1 groups 7 spatial 3 attributes -1 9 -1: 1/3/5 2/4/6 7/8/9 0/0/0 0/0/0\n",   // the same
		"bridge mode 0 groups 0 spatial 0 attributes -1 9 -1: 0/0/0 0/0/0 0/0/0 0/0/0 0/0/0\n"} { // one that cannot be read
		require.Contains(t, o.stdout, want)
	}
}

// TestForwardedPipe: a library that takes SIGPIPE for itself, as Go's run time does, does not keep it; a host's handler it does, and calls it.
func TestForwardedPipe(t *testing.T) {
	p := forwardingPair(t, true)
	o := p.run(t, []string{forwarding + "1", "BRIDGE_TAKES_SIGPIPE=1"}, "pipe")
	require.Contains(t, o.stdout, "sigpipe default\n")
	o = p.run(t, []string{forwarding + "1", "BRIDGE_TAKES_SIGPIPE=1", "BRIDGE_FORKED=1"}, "pipe")
	require.NotContains(t, o.stdout, "bridge opened")
	require.Contains(t, o.stdout, "sigpipe default\n", "one that cannot be used does not either")
	o = p.run(t, []string{forwarding + "1", "BRIDGE_TAKES_SIGPIPE=1", "HOST_HANDLES_SIGPIPE=1"}, "pipe")
	require.Contains(t, o.stdout, "sigpipe another's\n")
}

// TestForwardedLoader: a thread that calls MIOpen with the loader's lock held, while another one opens the forwarding library, does not
// wait for ever, and its call is in the account.
func TestForwardedLoader(t *testing.T) {
	p := forwardingPair(t, true)
	constructor := filepath.Join(t.TempDir(), "constructor.so")
	exportstest.Compile(t, "-shared", "-fPIC", "-o", constructor, source(t, "constructor.c"), "-I", filepath.Dir(source(t, "hooked.h")))
	o := p.run(t, []string{forwarding + "1", "CONSTRUCTOR=" + constructor}, "loader")
	for _, want := range []string{
		"bridge opened", "native convolution (nil) (nil) (nil) algorithm 0 workspace (nil) 0\nstatus 7\n", "refused before 0\n", "status 0\nrefused now 0\n",
		"statistics 0: 1 3 3 4 5\n", "bridge finished, not asked 1 0\n",
	} {
		require.Contains(t, o.stdout, want)
	}
	o = p.run(t, []string{forwarding + "1", strictPolicy, "CONSTRUCTOR=" + constructor, "HOST_ASKS_NOTHING=1"}, "loader")
	for _, want := range []string{
		"bridge opened", "status 5\n", "refused before 1\n", "status 0\nrefused now 0\n", "bridge finished, not asked 0 1\n",
	} {
		require.Contains(t, o.stdout, want)
	}
	require.NotContains(t, o.stdout, "native convolution")
}

// TestForwardedFork: a child never enters the forwarding library, made by fork or without its handlers.
func TestForwardedFork(t *testing.T) {
	p, without := forwardingPair(t, true), forwardingPair(t, false)
	// child returns what a child says, whose parent goes on as before.
	child := func(p pair, way string, environment ...string) string {
		o := p.run(t, append(environment, forwarding+"1"), way)
		require.NotContains(t, o.stderr, "seccomp")
		before, after, _ := strings.Cut(o.stdout, "child\n")
		said, parent, _ := strings.Cut(after, "parent\n")
		require.Contains(t, parent, "convolution")
		require.Contains(t, before, strings.TrimSuffix(parent, "bridge finished, not asked 0 0\n"))
		return said
	}
	const served = "native convolution 0x10 0x20 0x30 algorithm 1 workspace 0x40 50\nstatus 7\nstatistics 0: 0 0 0 0 0\n"
	for _, way := range []string{"fork", "clone"} {
		require.Equal(t, served, child(p, way))
		require.Equal(t, served, child(p, way, strictPolicy))
		require.Equal(t, served, child(without, way))
	}
	// Where the kernel wipes no page there are the handlers; and, as a control, nothing else.
	require.Equal(t, served, child(p, "fork", "HOST_KEEPS_PAGES=1"))
	require.Contains(t, child(p, "clone", "HOST_KEEPS_PAGES=1"), "bridge convolution")

	// Nor does a child of a process in which hipDNN's plugin loaded it.
	for _, policy := range []string{"fallback", "strict"} {
		o := p.run(t, []string{forwarding + "1", "BRIDGE_FORKED=1", "MIOPEN_HIPDNN_FORWARDING_POLICY=" + policy}, "session")
		require.Equal(t, nativeSession, o.stdout)
		require.Equal(t, []string{forwardingOn}, o.lines())
	}
}

// TestForwardedThreads: threads whose first calls come at once open one library.
func TestForwardedThreads(t *testing.T) {
	o := forwardingPair(t, true).run(t, []string{forwarding + "1"}, "threads")
	lines := strings.Split(o.stdout, "\n")
	require.Equal(t, 1, count(lines, "bridge opened by /libMIOpen.so.1 with /libMIOpen_private.so.1"))
	require.Equal(t, 16, strings.Count(o.stdout, "bridge convolution"))
	require.False(t, slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, "native") }))
}

// TestHookTypes: a header in which a hooked function is another one is refused, whatever differs.
func TestHookTypes(t *testing.T) {
	p := forwardingPair(t, false)
	text, err := os.ReadFile(source(t, "hooked.h"))
	require.NoError(t, err)
	for name, c := range map[string][2]string{
		"miopenEnableProfiling":          {"bool enable", "int enable"},
		"miopenConvolutionForward":       {"size_t workspace_bytes", "int workspace_bytes"},
		"miopenCreateWithStream":         {"handle_t *handle, stream_t stream", "handle_t *handle, stream_t stream, int flags"},
		"miopenGetErrorString":           {"const char *miopenGetErrorString", "int miopenGetErrorString"},
		"miopenGetConvolutionSpatialDim": {"convolution_t convolution, int *spatial);\n", "int convolution, int *spatial);\n"},
	} {
		require.Contains(t, string(text), c[0], name)
		header := exportstest.Write(t, filepath.Join(t.TempDir(), "hooked.h"), strings.Replace(string(text), c[0], c[1], 1))
		_, err := split.Split(t.Context(), split.Options{Library: p.stock, Out: filepath.Join(t.TempDir(), "out"), Header: header})
		require.ErrorContains(t, err, name+" is not the function that the wrapper forwards")
	}
}
