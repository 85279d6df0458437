package hook_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/tests/workshop"
)

// simhip returns a private library that depends on the simulated HIP run time, and the environment
// that it takes.
func simhip(t testing.TB) (private string, report func() simhipReport, environment []string) {
	t.Helper()
	library := workshop.Named(t, "SIMHIP")
	if library == "" {
		t.Skip("SIMHIP names no libamdhip64.so.7 of tests/simhip")
	}
	private = workshop.File(t, "PRIVATE_LIBRARY_OF_SIMHIP", "libprivate.so", func(dir string) {
		compile(t, "-fPIC", "-shared", "testdata/private.c", "-o", filepath.Join(dir, "libprivate.so"), "-Wl,--no-as-needed", library)
	})
	path := filepath.Join(t.TempDir(), "simhip.json")
	report = func() (r simhipReport) {
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(data, &r))
		return r
	}
	return private, report, []string{"LD_LIBRARY_PATH=" + filepath.Dir(library), "SIMHIP_REPORT=" + path}
}

// simhipReport is what the simulated run time has to complain of.
type simhipReport struct {
	Violations []struct{ Kind, Text string }
	Leaks      struct{ Count, Bytes int }
}

func TestDevice(t *testing.T) {
	private, report, environment := simhip(t)
	s := scene{backend: reference(t), private: private, environment: append(environment, "REFHIPDNN_WORKSPACE=3000000")}
	o := s.play(t, "create 1", "conv 1", "conv 1 workspace=3000000", "conv 1 workspace=2999999",
		"newstream 1", "conv 1", "conv 1 c=8", "destroy 1", "churn 5", "finish")
	require.Equal(t, 10, count(o.stdout, served), o.stdout)
	require.Len(t, o.stdout, 11)
	require.Empty(t, o.stderr)
	o.requireClean(t)
	require.Empty(t, report().Violations)
	require.Zero(t, report().Leaks.Count)
}

func TestDeviceTime(t *testing.T) {
	private, report, environment := simhip(t)
	const us = 30000
	s := scene{backend: reference(t), private: private, environment: append(environment, "REFHIPDNN_DURATION_US="+strconv.Itoa(us))}
	o := s.play(t, "create 1", "newstream 1", "profiling 1 1", "native 1 7", "conv 1", "time 1", "native 1 8", "time 1",
		"conv 1", "time 1", "conv 1 alpha=2", "time 1", "profiling 1 0", "conv 1", "time 1", "destroy 1", "finish")
	var times []float64
	for _, line := range o.stdout {
		if text, ok := strings.CutPrefix(line, "time "); ok {
			ms, err := strconv.ParseFloat(text, 64)
			require.NoError(t, err)
			times = append(times, ms)
		}
	}
	require.Len(t, times, 5)
	for _, i := range []int{0, 2} {
		require.Greater(t, times[i], us/1e3-0.1)
		require.Less(t, times[i], us/1e3*50) // the machine may have much else to do
	}
	require.Equal(t, []float64{8, 8, 8}, []float64{times[1], times[3], times[4]})
	o.requireClean(t)
	require.Empty(t, report().Violations)
	require.Zero(t, report().Leaks.Count)
}

// TestCapture: while a stream is captured nothing is allocated, waited for or timed.
func TestCapture(t *testing.T) {
	private, report, environment := simhip(t)
	s := scene{backend: reference(t), private: private, environment: append(environment, "REFHIPDNN_WORKSPACE=5000000", "MIOPEN_HIPDNN_FORWARDING_REPORT=stderr")}
	captured := "done status=0 y=untouched last=0 text=NATIVE"
	o := s.play(t, "create 1", "newstream 1", "native 1 7",
		"conv 1 capture=1",                                      // there is no hipDNN handle yet
		"conv 1", "profiling 1 1", "conv 1 capture=1", "time 1", // the workspace is the handle's own
		"conv 1 c=2 capture=1",            // there is no plan yet
		"newstream 1", "conv 1 capture=1", // there is no workspace yet
		"conv 1 capture=1 workspace=5000000", "conv 1", "destroy 1", "finish")
	require.Equal(t, []string{opened, native, served, native, "time 7.000000", native, native, captured, served}, o.stdout)
	said := strings.Join(o.stderr, "\n")
	require.Regexp(t, `capturing-needs-workspace │ +4 │`, said)
	o.requireClean(t)
	require.Empty(t, report().Violations)
	require.Zero(t, report().Leaks.Count)
}

// strictHIP returns libraries on the HIP run time of testdata/hip.c.
func strictHIP(t *testing.T) (private, backend string, environment []string) {
	t.Helper()
	dir := t.TempDir()
	hip := filepath.Join(dir, "libamdhip64.so.7")
	compile(t, "-fPIC", "-shared", "testdata/hip.c", "-o", hip, "-Wl,-soname,libamdhip64.so.7")
	private, backend = filepath.Join(dir, "libprivate.so"), filepath.Join(dir, "libhipdnn_backend.so")
	compile(t, "-fPIC", "-shared", "testdata/private.c", "-o", private, "-Wl,--no-as-needed", hip)
	compile(t, "-fPIC", "-shared", "testdata/backend.c", "-o", backend, "-Wl,--no-as-needed", hip)
	return private, backend, []string{"LD_LIBRARY_PATH=" + dir}
}

// TestOtherDevice: whatever device the thread has, hipDNN, events and memory are used on the handle's, and in a way that leaves
// captures of other threads alone.
func TestOtherDevice(t *testing.T) {
	const done = "done status=0 y=untouched last=0 text=NATIVE"
	private, backend, environment := strictHIP(t)
	s := scene{private: private, backend: backend, environment: append(environment, "NULL_BACKEND_DEVICE=1", "NULL_BACKEND_WORKSPACE=100", "HIP_LOG=1")}
	lines := []string{"device 1", "create 1 0x1010", "device 0", "profiling 1 1", "native 1 3", "conv 1", "time 1", "stream 1 0x1020", "conv 1", "conv 1 c=8",
		"stream 1 0x1030", "conv 1", "stream 1 0x1040", "conv 1", "stream 1 0x1050", "conv 1", "destroy 1", "device 0"}
	o := s.play(t, lines...)
	require.Equal(t, []string{opened, "device 0", "device 1", done, "time 5.000000", done, done, done, done, done, "device 0"}, o.stdout)
	own := 0
	for _, line := range o.stderr {
		require.Regexp(t, "^hip: allocated on device [01]$", line)
		if line == "hip: allocated on device 1" {
			own++
		}
	}
	require.Equal(t, 5, own, "a workspace for each stream")

	// The control: what is expected is looked at.
	s.environment[len(s.environment)-3] = "NULL_BACKEND_DEVICE=0"
	require.Contains(t, s.play(t, lines...).stderr, "backend: hipdnnBackendExecute on device 1 in capture mode 0")
}

// TestStreamPerThread: it is another stream in each thread, so that threads do not share a workspace.
func TestStreamPerThread(t *testing.T) {
	private, backend, environment := strictHIP(t)
	s := scene{private: private, backend: backend, environment: append(environment, "NULL_BACKEND_WORKSPACE=100")}
	o := s.play(t, "threads 3 20 4 shared 2")
	require.Regexp(t, "^threads done=60 ", o.stdout[1])
	require.Empty(t, o.stderr)
	// The control: another stream is the same one in all threads.
	o = s.play(t, "threads 3 20 4 shared 0x10")
	require.Regexp(t, "^threads done=60 ", o.stdout[1])
	require.Contains(t, o.stderr, "backend: two threads have one workspace")
}

// TestCapturingUnknown: that HIP cannot tell whether a stream is captured is an error of its own, except while another stream is
// captured that would take the default one in.
func TestCapturingUnknown(t *testing.T) {
	private, backend, environment := strictHIP(t)
	s := scene{private: private, backend: backend, environment: append(environment, "HIP_CAPTURING=400", "MIOPEN_HIPDNN_FORWARDING_REPORT=stderr")}
	o := s.play(t, "create 1", "conv 1", "finish")
	require.Equal(t, []string{opened, native}, o.stdout)
	said := strings.Join(o.stderr, "\n")
	require.Contains(t, said, "hipStreamIsCapturing: error 400: invalid resource handle; MIOpen serves the call")
	require.Contains(t, said, "hipdnn-failed")
	s.environment = append(s.environment, strict)
	o = s.play(t, "create 1", "conv 1")
	require.Regexp(t, `^done status=5 .*text=\[hipDNN-forwarded\] .*hipStreamIsCapturing: error 400`, o.stdout[1])

	s.environment = append(environment, "HIP_CAPTURING=906", "MIOPEN_HIPDNN_FORWARDING_REPORT=stderr")
	o = s.play(t, "create 1", "conv 1", "finish")
	require.Equal(t, []string{opened, native}, o.stdout)
	require.Contains(t, strings.Join(o.stderr, "\n"), "capturing-needs-workspace")
}

// TestHIPRefused: device memory of one HIP run time is nothing to another.
func TestHIPRefused(t *testing.T) {
	dir := t.TempDir()
	hip := filepath.Join(dir, "libamdhip64.so.7")
	compile(t, "-fPIC", "-shared", "-DPARTIAL", "testdata/hip.c", "-o", hip, "-Wl,-soname,libamdhip64.so.7")
	private := filepath.Join(dir, "libprivate.so")
	compile(t, "-fPIC", "-shared", "testdata/private.c", "-o", private, "-Wl,--no-as-needed", hip)
	backend := filepath.Join(dir, "libhipdnn_backend.so")
	compile(t, "-fPIC", "-shared", "testdata/backend.c", "-o", backend, "-Wl,--no-as-needed", hip)
	path := []string{"LD_LIBRARY_PATH=" + dir}

	o := scene{backend: nullBackend(t), private: private, environment: path}.play(t, "create 1", "conv 1")
	require.Equal(t, []string{opened, native}, o.stdout)
	require.Len(t, o.stderr, 1)
	require.Contains(t, o.stderr[0], "the HIP run time of "+private+", "+hip+", has no function hipSetDevice")

	o = scene{backend: backend, environment: path}.play(t, "create 1", "conv 1")
	require.Equal(t, []string{opened, native}, o.stdout)
	require.Len(t, o.stderr, 1)
	require.Contains(t, o.stderr[0], backend+" depends on a HIP run time, "+hip+", and MIOpen on none")

	private, _, environment := simhip(t)
	other := filepath.Join(t.TempDir(), "other.so")
	compile(t, "-fPIC", "-shared", "-DPARTIAL", "testdata/hip.c", "-o", other, "-Wl,-soname,other.so")
	compile(t, "-fPIC", "-shared", "testdata/backend.c", "-o", backend, "-Wl,--no-as-needed", "-Wl,-rpath,"+filepath.Dir(other), other)
	o = scene{backend: backend, private: private, environment: environment}.play(t, "create 1", "conv 1")
	require.Equal(t, []string{opened, native}, o.stdout)
	require.Len(t, o.stderr, 1)
	require.Contains(t, o.stderr[0], "depend on two HIP run times, "+other+" and ")
}
