package hook_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/tests/workshop"
)

// later is a scene of a process that keeps plans in a folder.
func later(t *testing.T, dir string, environment ...string) scene {
	t.Helper()
	return scene{backend: reference(t), environment: append(environment, "MIOPEN_HIPDNN_PLAN_CACHE="+dir, "MIOPEN_HIPDNN_FORWARDING_REPORT=stderr")}
}

// disk is the line of the report about the plans on disk, without the folder.
func (o output) disk(t testing.TB) string {
	t.Helper()
	line := regexp.MustCompile(`plans on disk: (.*), in /`).FindStringSubmatch(strings.Join(o.stderr, "\n"))
	require.NotNil(t, line, "%q", o.stderr)
	return line[1]
}

// kept are the files of the plans in a folder.
func kept(t testing.TB, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.plan"))
	require.NoError(t, err)
	return files
}

// A process has the plans of one before it: it builds none, and gets the same results. The second handle
// has them from memory.
func TestKept(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "plans")
	play := func() output {
		return later(t, dir).play(t, "create 1", "conv 1", "conv 1", "create 2", "conv 2", "destroy 1", "destroy 2", "stats", "finish")
	}
	first := play()
	require.Equal(t, []string{opened, served, served, served, "forwarded=3 native=0 failed=0 hits=1 builds=1"}, first.stdout)
	require.Equal(t, "0 loaded, 1 saved, 0 broken, 0 refused by hipDNN, 0 removed", first.disk(t))
	require.Len(t, kept(t, dir), 1)
	first.requireClean(t)

	second := play()
	require.Equal(t, []string{opened, served, served, served, "forwarded=3 native=0 failed=0 hits=1 builds=0 loads=1"}, second.stdout)
	require.Equal(t, "1 loaded, 0 saved, 0 broken, 0 refused by hipDNN, 0 removed", second.disk(t))
	require.Zero(t, second.report.Plans.Built)
	second.requireClean(t)

	// Control: without the folder it builds.
	off := later(t, "off").play(t, "create 1", "conv 1", "destroy 1", "stats", "finish")
	require.Contains(t, off.stdout, "forwarded=1 native=0 failed=0 hits=0 builds=1")
	require.NotContains(t, strings.Join(off.stderr, "\n"), "plans on disk")
}

// By default the folder is below the user's folder for caches, and nobody needs to know.
func TestKeptByDefault(t *testing.T) {
	home := t.TempDir()
	o := scene{backend: reference(t), environment: []string{"HOME=" + home}}.play(t, "create 1", "conv 1", "destroy 1", "finish")
	require.Empty(t, o.stderr)
	require.Len(t, kept(t, filepath.Join(home, ".cache/miopen_hipdnn_shim/plans")), 1)
}

// What a plan depends on besides the problem is a part of its key.
func TestKeptFor(t *testing.T) {
	dir := t.TempDir()
	play := func(s scene) string { return s.play(t, "create 1", "conv 1", "destroy 1", "stats", "finish").stdout[2] }
	const builds, loads = "forwarded=1 native=0 failed=0 hits=0 builds=1", "forwarded=1 native=0 failed=0 hits=0 builds=0 loads=1"
	require.Equal(t, builds, play(later(t, dir)))
	require.Equal(t, loads, play(later(t, dir)))

	anotherBuild := workshop.Copy(t, reference(t), filepath.Join(t.TempDir(), "libhipdnn_backend.so"))
	changeBuildID(t, anotherBuild)
	sameBuild := workshop.Copy(t, reference(t), filepath.Join(t.TempDir(), "libhipdnn_backend.so"))
	anotherMIOpen := workshop.Copy(t, privateLibrary(t), filepath.Join(t.TempDir(), "libprivate.so"))
	changeBuildID(t, anotherMIOpen)
	anotherBridge := workshop.Copy(t, bridge(t), filepath.Join(t.TempDir(), "libmiopen_hipdnn.so.1"))
	changeBuildID(t, anotherBridge)
	plugins := filepath.Join(t.TempDir(), "plugins")
	workshop.Copy(t, testPlugin(t), filepath.Join(plugins, "testplugin.so"))

	for name, s := range map[string]scene{
		"hipDNN's version":     later(t, dir, "REFHIPDNN_VERSION=1.2.0.0"),
		"hipDNN's build":       {backend: anotherBuild, environment: later(t, dir).environment},
		"MIOpen's build":       {backend: reference(t), private: anotherMIOpen, environment: later(t, dir).environment},
		"plugins":              later(t, dir, "HIPDNN_PLUGIN_DIR="+plugins),
		"MIOpen's databases":   later(t, dir, "MIOPEN_USER_DB_PATH=/tuned"),
		"this library's build": {backend: reference(t), bridge: anotherBridge, environment: later(t, dir).environment},
		"MIOpen's environment": later(t, dir, "MIOPEN_DEBUG_CONV_GEMM=0"),
		"hipDNN's environment": later(t, dir, "HIPDNN_HEUR_POLICY=first"),
		"the preferred engine": later(t, dir, "MIOPEN_HIPDNN_ENGINE=REF_DETERMINISTIC"),
	} {
		require.Equal(t, builds, play(s), name)
		require.Equal(t, loads, play(s), name)
	}
	require.Equal(t, loads, play(scene{backend: sameBuild, environment: later(t, dir).environment}), "the same build in another place")
	require.Equal(t, loads, play(later(t, dir, "HIPDNN_LOG_LEVEL=off", "PATH=/bin")))
	require.Equal(t, loads, play(later(t, dir)))
}

// changeBuildID changes a byte of a library's build-id.
func changeBuildID(t *testing.T, path string) {
	t.Helper()
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	note := []byte("\x03\x00\x00\x00GNU\x00") // NT_GNU_BUILD_ID, and the note's name
	at := bytes.Index(content, note)
	require.Positive(t, at, "%s has a build-id", path)
	content[at+len(note)] ^= 0xff
	require.NoError(t, os.WriteFile(path, content, 0o755))
}

// Files that are damaged, and plans that hipDNN does not take, are built again and replaced.
func TestKeptAndBad(t *testing.T) {
	dir := t.TempDir()
	lines := []string{"create 1", "conv 1", "destroy 1", "stats", "finish"}
	require.Equal(t, "0 loaded, 1 saved, 0 broken, 0 refused by hipDNN, 0 removed", later(t, dir).play(t, lines...).disk(t))
	for name, damage := range map[string]func(content []byte) []byte{
		"empty":   func([]byte) []byte { return nil },
		"cut off": func(c []byte) []byte { return c[:len(c)/2] },
		"changed": func(c []byte) []byte { c[len(c)/2] ^= 1; return c },
	} {
		file := kept(t, dir)[0]
		content, err := os.ReadFile(file)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(file, damage(content), 0o600))
		o := later(t, dir).play(t, lines...)
		require.Equal(t, []string{opened, served, "forwarded=1 native=0 failed=0 hits=0 builds=1"}, o.stdout, name)
		require.Equal(t, "0 loaded, 1 saved, 1 broken, 0 refused by hipDNN, 0 removed", o.disk(t), name)
		o.requireClean(t)
		require.Equal(t, "1 loaded, 0 saved, 0 broken, 0 refused by hipDNN, 0 removed", later(t, dir).play(t, lines...).disk(t), name)
	}

	refuses := later(t, dir, "REFHIPDNN_FAIL=hipdnnBackendCreateAndDeserializeExecutionPlan_ext=PLUGIN_ERROR")
	o := refuses.play(t, lines...)
	require.Equal(t, []string{opened, served, "forwarded=1 native=0 failed=0 hits=0 builds=1"}, o.stdout)
	require.Equal(t, "0 loaded, 1 saved, 0 broken, 1 refused by hipDNN, 0 removed", o.disk(t))

	// Should it be the plan's fault that an execution fails, no later process is to have it.
	fails := later(t, dir, "REFHIPDNN_FAIL=hipdnnBackendExecute=EXECUTION_FAILED").play(t, "create 1", "conv 1", "destroy 1", "finish")
	require.Equal(t, "1 loaded, 0 saved, 0 broken, 0 refused by hipDNN, 0 removed", fails.disk(t))
	require.Empty(t, kept(t, dir))
}

// Engines that cannot serialise a plan have nothing to be kept but that.
func TestKeptNot(t *testing.T) {
	dir := t.TempDir()
	s := later(t, dir, "REFHIPDNN_FAIL=hipdnnBackendGetSerializedExecutionPlan_ext=NOT_SUPPORTED")
	for _, want := range []string{"0 loaded, 1 saved, 0 broken", "0 loaded, 0 saved, 0 broken"} {
		o := s.play(t, "create 1", "create 2", "conv 1", "conv 2", "conv 1", "destroy 1", "destroy 2", "stats", "finish")
		require.Equal(t, []string{opened, served, served, served, "forwarded=3 native=0 failed=0 hits=1 builds=2"}, o.stdout)
		require.Contains(t, o.disk(t), want)
		o.requireClean(t)
	}
}

// A folder that cannot be used costs a line if the user named it, and nothing else.
func TestKeptNowhere(t *testing.T) {
	dir := t.TempDir()
	open := filepath.Join(dir, "open")
	require.NoError(t, os.Mkdir(open, 0o700))
	require.NoError(t, os.Chmod(open, 0o777))
	file := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	for name, why := range map[string]string{open: "can be written to by others", file: "not a directory"} {
		o := later(t, name).play(t, "create 1", "conv 1", "create 2", "conv 2", "destroy 1", "destroy 2", "stats", "finish")
		require.Equal(t, []string{opened, served, served, "forwarded=2 native=0 failed=0 hits=0 builds=1"}, o.stdout)
		text := strings.Join(o.stderr, "\n")
		require.Contains(t, text, why)
		require.Equal(t, 1, strings.Count(text, "plans are not kept for later processes"), text)
		o.requireClean(t)

		quiet := scene{backend: reference(t), environment: []string{"HOME=" + name}}
		if name == file {
			require.Empty(t, quiet.play(t, "create 1", "conv 1", "destroy 1", "finish").stderr)
		}
	}
	unknown := later(t, filepath.Join(dir, "plans"), "REFHIPDNN_FAIL=hipdnnGetLoadedEnginePluginPaths_ext=INTERNAL_ERROR")
	o := unknown.play(t, "create 1", "conv 1", "destroy 1", "stats", "finish")
	require.Equal(t, []string{opened, served, "forwarded=1 native=0 failed=0 hits=0 builds=1"}, o.stdout)
	require.Contains(t, strings.Join(o.stderr, "\n"), "hipdnnGetLoadedEnginePluginPaths_ext")
}

// Processes that start at once build each plan once.
func TestKeptByProcesses(t *testing.T) {
	const processes, shapes = 16, 3
	dir := t.TempDir()
	outputs := make([]output, processes)
	var all sync.WaitGroup
	for i := range processes {
		all.Go(func() {
			outputs[i] = later(t, dir, "REFHIPDNN_PLAN_MS=300").play(t, fmt.Sprintf("threads %d 1 %d own", shapes, shapes), "finish")
		})
	}
	all.Wait()
	built, loaded := 0, 0
	for _, o := range outputs {
		require.Regexp(t, `^threads done=3 right=3 `, o.stdout[1])
		o.requireClean(t)
		var l, s int
		_, err := fmt.Sscanf(o.disk(t), "%d loaded, %d saved, 0 broken, 0 refused by hipDNN, 0 removed", &l, &s)
		require.NoError(t, err)
		require.Equal(t, s, o.report.Plans.Built)
		built, loaded = built+s, loaded+l
	}
	require.Equal(t, shapes, built)
	require.Equal(t, processes*shapes-shapes, loaded)
}

// A preferred engine that could not for a moment is asked again by the next process. One that cannot is not, and that another
// engine serves is as visible there as where it was found out.
func TestKeptOfOthers(t *testing.T) {
	lines := []string{"create 1", "conv 1", "destroy 1", "stats", "finish"}
	const wanted = "MIOPEN_HIPDNN_ENGINE=REF_DETERMINISTIC"
	const warning, byIt, byOthers = "hipDNN's order of engines is followed", "engines: 1 plans by REF_DETERMINISTIC, 0 by others", "engines: 0 plans by REF_DETERMINISTIC, 1 by others"
	play := func(dir, status string) (output, string) {
		environment := []string{wanted}
		if status != "" {
			environment = append(environment, "REFHIPDNN_FAIL=hipdnnBackendFinalize/EXECUTION_PLAN:1="+status)
		}
		o := later(t, dir, environment...).play(t, lines...)
		o.requireClean(t)
		return o, strings.Join(o.stderr, "\n")
	}
	dir := t.TempDir()
	o, text := play(dir, "ALLOC_FAILED")
	require.Contains(t, text, warning)
	require.Contains(t, text, byOthers)
	require.Equal(t, map[string]int{"REF_DIRECT": 1}, o.report.Executions)
	require.Empty(t, kept(t, dir))
	for _, want := range []string{"0 loaded, 1 saved", "1 loaded, 0 saved"} {
		o, text = play(dir, "")
		require.Contains(t, o.disk(t), want)
		require.NotContains(t, text, warning)
		require.Contains(t, text, byIt)
		require.Equal(t, map[string]int{"REF_DETERMINISTIC": 1}, o.report.Executions)
	}

	dir = t.TempDir()
	for _, c := range []struct{ status, want string }{{"NOT_SUPPORTED", "0 loaded, 1 saved"}, {"", "1 loaded, 0 saved"}} {
		o, text = play(dir, c.status)
		require.Contains(t, o.disk(t), c.want)
		require.Contains(t, text, warning)
		require.Contains(t, text, byOthers)
		require.Equal(t, map[string]int{"REF_DIRECT": 1}, o.report.Executions)
	}
}

// The environment of a plan is the one it is built in, which a host may have changed since this library was opened.
func TestKeptEnvironment(t *testing.T) {
	dir := t.TempDir()
	lines := []string{"setenv HIPDNN_HEUR_POLICY first", "create 1", "conv 1", "destroy 1", "stats", "finish"}
	require.Contains(t, later(t, dir).play(t, lines...).disk(t), "0 loaded, 1 saved")
	require.Contains(t, later(t, dir).play(t, lines[1:]...).disk(t), "0 loaded, 1 saved")
	require.Contains(t, later(t, dir).play(t, lines...).disk(t), "1 loaded, 0 saved")
	require.Contains(t, later(t, dir).play(t, lines[1:]...).disk(t), "1 loaded, 0 saved")
}

// A host that may write no files goes on, and is told once.
func TestKeptUnderLimit(t *testing.T) {
	dir := t.TempDir()
	o := later(t, dir).play(t, "limit 0", "create 1", "conv 1", "conv 1 h=7", "conv 1 h=9", "destroy 1", "stats", "limit -1", "finish")
	require.Contains(t, o.stdout, "forwarded=3 native=0 failed=0 hits=0 builds=3")
	require.Contains(t, o.disk(t), "0 loaded, 0 saved")
	require.Equal(t, 1, strings.Count(strings.Join(o.stderr, "\n"), "RLIMIT_FSIZE"))
	report := filepath.Join(dir, "report")
	s := scene{backend: reference(t), environment: []string{"MIOPEN_HIPDNN_FORWARDING_REPORT=file:" + report}}
	o = s.play(t, "limit 0", "create 1", "conv 1", "destroy 1", "finish", "limit -1")
	require.Contains(t, strings.Join(o.stderr, "\n"), "the report cannot be written")
	require.NoFileExists(t, report)
}
