package device

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/tests/launch"
	"example.com/miopen_hipdnn_shim/tests/runfile"
)

// A test starts this program again, with the variable set, as another process that uses a GPU.
const holderVariable = "DEVICE_TEST_HOLDER"

func TestMain(m *testing.M) {
	if root := os.Getenv(holderVariable); root != "" {
		hold(root)
		return
	}
	os.Exit(m.Run())
}

// hold takes the GPU in root, says so, and keeps it until the other end of standard input is closed.
func hold(root string) {
	dir, err := os.MkdirTemp(root, "holder")
	if err != nil {
		panic(err)
	}
	d, err := Open(context.Background(), config(root, dir))
	if err != nil {
		panic(err)
	}
	fmt.Println(d)
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
	d.Close()
}

func startHolder(t *testing.T, root string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), holderVariable+"="+root, "TEST_TARGET=//some:other_test")
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	t.Cleanup(func() { stdin.Close() })
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	line, err := bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, err)
	require.Contains(t, line, "renderD128")
	return cmd
}

// node is a node of KFD's topology: a CPU without a version.
type node struct {
	version      int
	uniqueID     uint64
	minor        int
	noDeviceFile bool
}

// machine is a root directory with KFD's files for the nodes.
func machine(t *testing.T, list ...node) string {
	t.Helper()
	root := t.TempDir()
	write := func(path, content string) {
		path = filepath.Join(root, path)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(content), 0o644))
	}
	write(kfd, "")
	for i, n := range list {
		simds := 0
		if n.version != 0 {
			simds = 1216
		}
		properties := filepath.Join(nodes, fmt.Sprint(i), "properties")
		write(properties, fmt.Sprintf("cpu_cores_count 0\nsimd_count %d\ngfx_target_version %d\ndrm_render_minor %d\nunique_id %d\n", simds, n.version, n.minor, n.uniqueID))
		if n.version != 0 && !n.noDeviceFile {
			write(fmt.Sprintf("dev/dri/renderD%d", n.minor), "")
		}
	}
	return root
}

func config(root, dir string) Config {
	return Config{
		Kind: Hardware, Architecture: "gfx942", Root: root, LockDir: filepath.Join(root, "locks"),
		Wait: 300 * time.Millisecond, Dir: dir,
	}
}

func open(t *testing.T, root string, change ...func(*Config)) (*Device, error) {
	t.Helper()
	c := config(root, t.TempDir())
	for _, f := range change {
		f(&c)
	}
	d, err := Open(t.Context(), c)
	if err == nil {
		t.Cleanup(d.Close)
	}
	return d, err
}

var (
	cpu    = node{}
	mi300  = node{version: 90402, uniqueID: 0x18f2a8c1d3e4b567, minor: 128}
	second = node{version: 90402, uniqueID: 0x0000a8c1d3e4b568, minor: 129}
	mi250  = node{version: 90010, uniqueID: 0x1111, minor: 130}
)

func TestArchitecture(t *testing.T) {
	for version, name := range map[uint64]string{90402: "gfx942", 90010: "gfx90a", 90500: "gfx950", 90006: "gfx906", 110000: "gfx1100", 100306: "gfx1036", 120001: "gfx1201"} {
		require.Equal(t, name, architectureOf(version))
	}
}

func TestOneGPU(t *testing.T) {
	root := machine(t, cpu, cpu, mi300)
	d, err := open(t, root)
	require.NoError(t, err)
	require.Equal(t, "gfx942", d.Architecture)
	require.False(t, d.Simulated)
	require.Empty(t, d.LibraryPath)
	require.Equal(t, []string{"ROCR_VISIBLE_DEVICES=GPU-18f2a8c1d3e4b567", "HIP_VISIBLE_DEVICES=0"}, d.Env)
	require.DirExists(t, d.Home)
	require.Contains(t, d.String(), "node 2: gfx942, renderD128")
}

func TestSeveralGPUs(t *testing.T) {
	root := machine(t, cpu, mi250, mi300, second)
	first, err := open(t, root)
	require.NoError(t, err)
	other, err := open(t, root)
	require.NoError(t, err)
	require.Equal(t, "ROCR_VISIBLE_DEVICES=GPU-18f2a8c1d3e4b567", first.Env[0])
	require.Equal(t, "ROCR_VISIBLE_DEVICES=GPU-0000a8c1d3e4b568", other.Env[0])

	_, err = open(t, root)
	require.ErrorContains(t, err, "no GPU became free within 300ms")
	require.ErrorContains(t, err, fmt.Sprintf("node 2: gfx942, renderD128: process %d", os.Getpid()))
	require.ErrorContains(t, err, "node 3: gfx942, renderD129: process")
	require.ErrorContains(t, err, "--local_resources=gpu=2")

	first.Close()
	again, err := open(t, root)
	require.NoError(t, err)
	require.Equal(t, first.Env, again.Env)
}

// The partitions of one card share its identity, and cards without one have 0: then the number names them.
func TestSelectors(t *testing.T) {
	partition := mi300
	partition.minor = 131
	d, err := open(t, machine(t, cpu, mi300, partition))
	require.NoError(t, err)
	require.Equal(t, "ROCR_VISIBLE_DEVICES=0", d.Env[0])

	nameless := mi300
	nameless.uniqueID = 0
	d, err = open(t, machine(t, cpu, mi250, nameless))
	require.NoError(t, err)
	require.Equal(t, "ROCR_VISIBLE_DEVICES=1", d.Env[0])
}

// A caller that was given some of the machine's GPUs keeps to them.
func TestVisibleDevices(t *testing.T) {
	root := machine(t, cpu, mi250, mi300, second)
	for name, c := range map[string]struct {
		visible [2]string
		want    string
	}{
		"by number":              {[2]string{"2", ""}, "GPU-0000a8c1d3e4b568"},
		"by identity":            {[2]string{"GPU-0000A8C1D3E4B568", ""}, "GPU-0000a8c1d3e4b568"},
		"within what ROCm shows": {[2]string{"0, 2,1", "1"}, "GPU-0000a8c1d3e4b568"},
		"up to a wrong entry":    {[2]string{"1,7,2", ""}, "GPU-18f2a8c1d3e4b567"},
	} {
		t.Run(name, func(t *testing.T) {
			d, err := open(t, root, func(c2 *Config) { c2.Visible = c.visible })
			require.NoError(t, err)
			defer d.Close()
			require.Equal(t, "ROCR_VISIBLE_DEVICES="+c.want, d.Env[0])
		})
	}
	_, err := open(t, root, func(c *Config) { c.Visible[0] = "0" })
	require.ErrorContains(t, err, "node 1: gfx90a, renderD130: not gfx942")
	require.ErrorContains(t, err, "node 2: gfx942, renderD128: not in ROCR_VISIBLE_DEVICES=0")
}

// Without a GPU that fits the test fails: it says what was looked for, what there is, and what to do.
func TestNoGPU(t *testing.T) {
	gone := mi300
	gone.noDeviceFile = true
	for name, c := range map[string]struct {
		root string
		says string
	}{
		"no driver":            {t.TempDir(), "dev/kfd: no such file or directory"},
		"processors only":      {machine(t, cpu, cpu), "nodes: no GPU that this process may see"},
		"another architecture": {machine(t, cpu, mi250), "node 1: gfx90a, renderD130: not gfx942"},
		"no device file":       {machine(t, cpu, gone), "dev/dri/renderD128: no such file or directory"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := open(t, c.root)
			require.ErrorContains(t, err, "needs a gfx942 GPU")
			require.ErrorContains(t, err, c.says)
			require.ErrorContains(t, err, "--config=simulated")
			require.NoDirExists(t, filepath.Join(c.root, "locks"))
		})
	}
	root := machine(t)
	require.NoDirExists(t, filepath.Join(root, nodes))
	_, err := open(t, root)
	require.ErrorContains(t, err, "topology/nodes: no such file or directory")

	_, err = open(t, machine(t, cpu, mi250), func(c *Config) { c.Architecture = "gfx90a" })
	require.NoError(t, err)
}

func TestForeignTopology(t *testing.T) {
	root := machine(t, cpu, mi300)
	path := filepath.Join(root, nodes, "1", "properties")
	require.NoError(t, os.WriteFile(path, []byte("simd_count 12\nname gfx942\n"), 0o644))
	_, err := open(t, root)
	require.ErrorContains(t, err, path)
	require.ErrorContains(t, err, `"name gfx942"`)
}

// TestOtherProcess: a lock holds between processes, is waited for, and ends with the process, however it ends.
func TestOtherProcess(t *testing.T) {
	root := machine(t, cpu, mi300)
	holder := startHolder(t, root)
	_, err := open(t, root)
	require.ErrorContains(t, err, fmt.Sprintf("process %d (//some:other_test)", holder.Process.Pid))

	time.AfterFunc(200*time.Millisecond, func() { _ = holder.Process.Signal(syscall.SIGKILL) })
	start := time.Now()
	_, err = open(t, root, func(c *Config) { c.Wait = time.Minute })
	require.NoError(t, err)
	require.GreaterOrEqual(t, time.Since(start), 150*time.Millisecond)
}

// TestProgramKeepsGPU: the GPU is not free while a program that the test started still runs.
func TestProgramKeepsGPU(t *testing.T) {
	root := machine(t, cpu, mi300)
	d, err := open(t, root)
	require.NoError(t, err)
	ctx, kill := context.WithCancel(t.Context())
	defer kill()
	cmd, err := d.Command(ctx, launch.Host{}, nil, "/bin/sh", "-c", "exec sleep 60")
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	d.Close()
	_, err = open(t, root)
	require.ErrorContains(t, err, "no GPU became free")
	kill()
	require.Error(t, cmd.Wait())
	_, err = open(t, root)
	require.NoError(t, err)
}

func TestWaitEndsWithContext(t *testing.T) {
	root := machine(t, cpu, mi300)
	_, err := open(t, root)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	c := config(root, t.TempDir())
	c.Wait = time.Hour
	_, err = Open(ctx, c)
	require.ErrorIs(t, err, context.Canceled)
}

// All users of a machine can lock, whatever the umask of the first.
func TestLockModes(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0o077))
	root := machine(t, cpu, mi300)
	_, err := open(t, root)
	require.NoError(t, err)
	info, err := os.Stat(filepath.Join(root, "locks"))
	require.NoError(t, err)
	require.Equal(t, os.ModeDir|os.ModeSticky|0o777, info.Mode())
	info, err = os.Stat(filepath.Join(root, "locks/renderD128.lock"))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o666), info.Mode())
	entries, err := os.ReadDir(root)
	require.NoError(t, err)
	for _, entry := range entries {
		require.NotRegexp(t, `^locks\.`, entry.Name(), "left over")
	}
}

func TestLockIsNoLink(t *testing.T) {
	root := machine(t, cpu, mi300)
	victim := filepath.Join(root, "victim")
	require.NoError(t, os.WriteFile(victim, []byte("precious"), 0o644))
	require.NoError(t, os.Mkdir(filepath.Join(root, "locks"), 0o777))
	require.NoError(t, os.Symlink(victim, filepath.Join(root, "locks/renderD128.lock")))
	_, err := open(t, root)
	require.ErrorIs(t, err, syscall.ELOOP)
	content, err := os.ReadFile(victim)
	require.NoError(t, err)
	require.Equal(t, "precious", string(content))
}

// The variables that name the GPU win over the caller's, and the caller's other devices stay unseen.
func TestCommandOnGPU(t *testing.T) {
	t.Setenv("HIP_VISIBLE_DEVICES", "5")
	d, err := open(t, machine(t, cpu, mi300))
	require.NoError(t, err)
	cmd, err := d.Command(t.Context(), launch.Host{Libraries: []string{"/rocm/lib"}}, []string{"/split"}, "/bin/sh", "-c",
		`echo "$HIP_VISIBLE_DEVICES $ROCR_VISIBLE_DEVICES $LD_LIBRARY_PATH $HOME $SIMHIP_REPORT"`)
	require.NoError(t, err)
	out, err := cmd.Output()
	require.NoError(t, err)
	require.Equal(t, "0 GPU-18f2a8c1d3e4b567 /split:/rocm/lib "+d.Home+" \n", string(out))
	_, err = d.Report(cmd)
	require.ErrorIs(t, err, ErrHardware)
	_, err = d.WithoutKernels()
	require.ErrorIs(t, err, ErrHardware)
}

func simhip(t *testing.T, names ...string) Config {
	t.Helper()
	dir := t.TempDir()
	c := Config{Kind: Simulated, Architecture: "gfx942", Dir: t.TempDir()}
	for _, name := range names {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, nil, 0o644))
		c.Libraries = append(c.Libraries, path)
	}
	return c
}

func TestSimulated(t *testing.T) {
	c := simhip(t, "libamdhip64.so", "libamdhip64.so.7")
	d, err := Open(t.Context(), c)
	require.NoError(t, err)
	defer d.Close()
	require.True(t, d.Simulated)
	require.Equal(t, "simulated gfx942", d.String())
	require.Equal(t, []string{filepath.Dir(c.Libraries[0])}, d.LibraryPath)

	const script = `echo "$LD_LIBRARY_PATH $SIMHIP_ARCH $SIMHIP_EXECUTE"; echo '{"device": {"execute": true},
		"kernels": [{"name": "k", "executed": 1, "noop": 2, "failed": 3, "microseconds": 4.5, "note": "n"}],
		"violation_count": 1, "violations": [{"kind": "use after free", "text": "why"}], "leaks": {"count": 5, "bytes": 6}}' > $SIMHIP_REPORT`
	cmd, err := d.Command(t.Context(), launch.Host{}, []string{"/split"}, "/bin/sh", "-c", script)
	require.NoError(t, err)
	_, err = d.Report(cmd)
	require.ErrorContains(t, err, "wrote no report")
	out, err := cmd.Output()
	require.NoError(t, err)
	require.Equal(t, d.LibraryPath[0]+":/split gfx942:sramecc+:xnack- \n", string(out))
	report, err := d.Report(cmd)
	require.NoError(t, err)
	require.True(t, report.Device.Execute)
	require.Equal(t, []Kernel{{Name: "k", Executed: 1, NoOp: 2, Failed: 3, Microseconds: 4.5, Note: "n"}}, report.Kernels)
	require.Equal(t, []Violation{{Kind: "use after free", Text: "why"}}, report.Violations)
	require.Equal(t, Leaks{Count: 5, Bytes: 6}, report.Leaks)

	idle, err := d.WithoutKernels()
	require.NoError(t, err)
	cmd, err = idle.Command(t.Context(), launch.Host{}, nil, "/bin/sh", "-c", `echo "$SIMHIP_EXECUTE $HOME"`)
	require.NoError(t, err)
	out, err = cmd.Output()
	require.NoError(t, err)
	require.Equal(t, "none "+d.Home+"\n", string(out))
	require.NotContains(t, strings.Join(d.Env, " "), "SIMHIP_EXECUTE", "the control leaves its device alone")

	// A control whose kernels ran is none.
	cmd, err = idle.Command(t.Context(), launch.Host{}, nil, "/bin/sh", "-c", script)
	require.NoError(t, err)
	require.NoError(t, cmd.Run())
	_, err = idle.Report(cmd)
	require.ErrorContains(t, err, "kernels that should be executed: false, that were: true")
}

// TestLeak: what a program does not give back is in the report, and nothing is that it does.
func TestLeak(t *testing.T) {
	if os.Getenv("SCENARIOS") == "" {
		t.Skip("neither Bazel nor the caller names simhip and a client of it, in SIMHIP_LIBRARIES and SCENARIOS")
	}
	client, err := runfile.Path("SCENARIOS")
	require.NoError(t, err)
	c := Config{Kind: Simulated, Architecture: "gfx942", Dir: t.TempDir()}
	for _, name := range strings.Fields(os.Getenv("SIMHIP_LIBRARIES")) {
		path, err := runfile.Find(name)
		require.NoError(t, err)
		c.Libraries = append(c.Libraries, path)
	}
	d, err := Open(t.Context(), c)
	require.NoError(t, err)
	defer d.Close()
	leaks := func(scenario string) Leaks {
		cmd, err := d.Command(t.Context(), launch.Host{}, nil, client, scenario)
		require.NoError(t, err)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		report, err := d.Report(cmd)
		require.NoError(t, err)
		require.Zero(t, report.ViolationCount)
		return report.Leaks
	}
	require.Equal(t, Leaks{Count: 2, Bytes: 12345 + 777}, leaks("leak"))
	require.Zero(t, leaks("leak-right"))
}

func TestTargetID(t *testing.T) {
	require.Equal(t, "gfx90a:sramecc+:xnack-", targetID("gfx90a"))
	require.Equal(t, "gfx1100", targetID("gfx1100"))
}

func TestSimulatedRefuses(t *testing.T) {
	for name, names := range map[string][]string{
		"nothing":             nil,
		"no unversioned name": {"libamdhip64.so.7"},
		"no library":          {"libamdhip64.so"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Open(t.Context(), simhip(t, names...))
			require.ErrorContains(t, err, "the simulated device's HIP runtime must be libamdhip64.so and")
		})
	}
	c := simhip(t, "libamdhip64.so", "libamdhip64.so.7")
	c.Libraries[1] = simhip(t, "libamdhip64.so.7").Libraries[0]
	_, err := Open(t.Context(), c)
	require.ErrorContains(t, err, "in one directory")
	require.NoError(t, os.Remove(c.Libraries[1]))
	_, err = Open(t.Context(), c)
	require.ErrorIs(t, err, os.ErrNotExist)
}

// A report of another format is an error: read as one without violations it would prove what was not looked at.
func TestParseReportRefuses(t *testing.T) {
	for name, c := range map[string][2]string{
		"not JSON":       {`{"kernels": [`, "unexpected end"},
		"empty":          {`{}`, `no "device"`},
		"no kernels":     {`{"device": {}}`, `no "kernels"`},
		"no violations":  {`{"device": {}, "kernels": [], "violation_count": 0, "leaks": {}}`, `no "violations"`},
		"no leaks":       {`{"device": {}, "kernels": [], "violation_count": 0, "violations": []}`, `no "leaks"`},
		"another format": {`{"device": {}, "kernels": 3, "violation_count": 0, "violations": [], "leaks": {}}`, "cannot unmarshal"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := parseReport([]byte(c[0]))
			require.ErrorContains(t, err, c[1])
		})
	}
}

func TestFromEnvironment(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TEST_SRCDIR", dir)
	t.Setenv("ROCR_VISIBLE_DEVICES", "1")
	t.Setenv("HIP_VISIBLE_DEVICES", "")
	t.Setenv("GPU_LOCK_DIR", "")
	t.Setenv("DEVICE", "")
	_, err := FromEnvironment(dir)
	require.ErrorContains(t, err, "no device was chosen")

	t.Setenv("DEVICE", "m/device.json")
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "m"), 0o755))
	description, err := json.Marshal(Config{Kind: Simulated, Architecture: "gfx942", Libraries: []string{"m/libamdhip64.so"}})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "m/device.json"), description, 0o644))
	_, err = FromEnvironment(dir)
	require.ErrorContains(t, err, "no file m/libamdhip64.so")

	library := filepath.Join(dir, "m/libamdhip64.so")
	require.NoError(t, os.WriteFile(library, nil, 0o644))
	c, err := FromEnvironment("/mine")
	require.NoError(t, err)
	require.Equal(t, Config{
		Kind: Simulated, Architecture: "gfx942", Libraries: []string{library}, LockDir: defaultLockDir,
		Wait: 10 * time.Minute, Dir: "/mine", Visible: [2]string{"1", ""},
	}, c)

	t.Setenv("GPU_LOCK_DIR", "/locks")
	c, err = FromEnvironment("/mine")
	require.NoError(t, err)
	require.Equal(t, "/locks", c.LockDir)

	require.NoError(t, os.WriteFile(filepath.Join(dir, "m/device.json"), []byte("text"), 0o644))
	_, err = FromEnvironment(dir)
	require.ErrorContains(t, err, "is not the description of a device")
}

func TestNoKind(t *testing.T) {
	_, err := Open(t.Context(), Config{Dir: t.TempDir()})
	require.ErrorContains(t, err, "is not a kind of device")
}
