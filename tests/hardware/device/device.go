package device

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"example.com/miopen_hipdnn_shim/tests/launch"
	"example.com/miopen_hipdnn_shim/tests/runfile"
)

// A Kind is what a device is made of.
type Kind string

// The kinds, with the names that //toolchains/gpu:device has.
const (
	Hardware  Kind = "hardware"
	Simulated Kind = "simulated"
)

// Config says which device to take, and where to look for it.
type Config struct {
	Kind         Kind   `json:"kind"`
	Architecture string `json:"architecture"` // such as gfx942
	// Libraries are the files of the simulated device's HIP runtime, in one directory.
	Libraries []string `json:"libraries"`

	// Root is the directory that has dev and sys: "" for the machine's own.
	Root string `json:"-"`
	// LockDir has the GPUs' locks.
	LockDir string `json:"-"`
	// Wait is how long to wait for a GPU that others use.
	Wait time.Duration `json:"-"`
	// Dir is a directory of the caller's own, for the device's Home and its reports.
	Dir string `json:"-"`
	// Visible has the caller's ROCR_VISIBLE_DEVICES and HIP_VISIBLE_DEVICES, in that order: "" for all.
	Visible [2]string `json:"-"`
}

// FromEnvironment is the device that the build chose: its description is in the file that the variable DEVICE names,
// as $(rlocationpath LABEL), and GPU_LOCK_DIR replaces the directory of the locks. dir becomes Config.Dir.
func FromEnvironment(dir string) (Config, error) {
	path, err := runfile.Path("DEVICE")
	if err != nil {
		return Config{}, fmt.Errorf("no device was chosen: %w", err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return Config{}, err
	}
	c := Config{
		Wait:    10 * time.Minute,
		LockDir: defaultLockDir,
		Dir:     dir,
		Visible: [2]string{os.Getenv("ROCR_VISIBLE_DEVICES"), os.Getenv("HIP_VISIBLE_DEVICES")},
	}
	if lockDir := os.Getenv("GPU_LOCK_DIR"); lockDir != "" {
		c.LockDir = lockDir
	}
	if err := json.Unmarshal(data, &c); err != nil {
		return Config{}, fmt.Errorf("%s is not the description of a device: %w", path, err)
	}
	for i, library := range c.Libraries {
		if c.Libraries[i], err = runfile.Find(library); err != nil {
			return Config{}, err
		}
	}
	return c, nil
}

// A Device is what a test runs its programs on. Methods may be called by several goroutines.
type Device struct {
	Architecture string // such as gfx942
	Simulated    bool
	// LibraryPath has the directories that must come before all others, none for a GPU.
	LibraryPath []string
	// Env makes a program use this device and no other.
	Env []string
	// Home is a directory for the programs' HOME and caches: kernels that one run compiled are there for the next.
	Home string

	name    string
	idle    bool     // a simulated device whose kernels do nothing
	lock    *os.File // nil for a simulated device
	reports string
}

// Take takes the device that the build chose, for one test: it is free again when the test ends. The test fails when
// there is none. Half the test's time is for waiting at most.
func Take(t testing.TB) *Device {
	t.Helper()
	c, err := FromEnvironment(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if test, ok := t.(interface{ Deadline() (time.Time, bool) }); ok {
		if deadline, ok := test.Deadline(); ok {
			c.Wait = time.Until(deadline) / 2
		}
	}
	start := time.Now()
	d, err := Open(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	t.Logf("device: %s, after %v", d, time.Since(start).Round(time.Millisecond))
	return d
}

// Open takes the device that c describes. Close gives it back.
func Open(ctx context.Context, c Config) (*Device, error) {
	d := &Device{
		Architecture: c.Architecture,
		Home:         filepath.Join(c.Dir, "home"),
		reports:      filepath.Join(c.Dir, "reports"),
	}
	for _, dir := range []string{d.Home, d.reports} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, err
		}
	}
	var err error
	switch c.Kind {
	case Hardware:
		err = d.takeGPU(ctx, c)
	case Simulated:
		err = d.simulate(c)
	default:
		err = fmt.Errorf("%q is not a kind of device: choose one with --config=simulated or --config=gfx942", c.Kind)
	}
	if err != nil {
		return nil, err
	}
	return d, nil
}

// takeGPU makes d one of the machine's GPUs.
func (d *Device) takeGPU(ctx context.Context, c Config) error {
	fitting, all, rejected, err := findGPUs(c)
	if err != nil {
		return err
	}
	if len(fitting) == 0 {
		return noGPU(c, rejected)
	}
	chosen, lock, err := lockAny(ctx, c.LockDir, fitting, c.Wait, fmt.Sprintf("process %d (%s)", os.Getpid(), self()))
	if err != nil {
		return err
	}
	d.lock = lock
	d.name = fmt.Sprintf("GPU %s of this machine, %s", chosen, lock.Name())
	// HIP counts within what ROCm was told to see. Naming it here replaces a caller's value, which counted elsewhere.
	d.Env = []string{"ROCR_VISIBLE_DEVICES=" + chosen.selector(all), "HIP_VISIBLE_DEVICES=0"}
	return nil
}

// findGPUs sorts what KFD lists into GPUs that fit and reasons why others do not.
func findGPUs(c Config) (fitting, all []gpu, rejected []string, err error) {
	root := c.Root
	if root == "" {
		root = "/"
	}
	if err := unix.Access(filepath.Join(root, kfd), unix.R_OK|unix.W_OK); err != nil {
		return nil, nil, []string{fmt.Sprintf("%s: %v", filepath.Join(root, kfd), err)}, nil
	}
	all, err = listGPUs(root)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil, []string{err.Error()}, nil
	}
	if err != nil {
		return nil, nil, nil, err
	}
	candidates := all
	for i, name := range []string{"ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES"} {
		if value := c.Visible[i]; value != "" {
			left := visible(candidates, value)
			for _, g := range candidates {
				if !slices.Contains(left, g) {
					rejected = append(rejected, fmt.Sprintf("%s: not in %s=%s", g, name, value))
				}
			}
			candidates = left
		}
	}
	for _, g := range candidates {
		if g.architecture != c.Architecture {
			rejected = append(rejected, fmt.Sprintf("%s: not %s", g, c.Architecture))
		} else if err := g.unusable(root); err != nil {
			rejected = append(rejected, fmt.Sprintf("%s: %v", g, err))
		} else {
			fitting = append(fitting, g)
		}
	}
	if len(all) == 0 {
		rejected = append(rejected, filepath.Join(root, nodes)+": no GPU that this process may see")
	}
	return fitting, all, rejected, nil
}

// noGPU is the error for a machine without a GPU that fits.
func noGPU(c Config, rejected []string) error {
	return fmt.Errorf(`this test needs a %s GPU, and this machine has none to use:
  %s
It needs the amdgpu driver, and read and write access to /dev/kfd and /dev/dri/renderD* (the groups render and video;
in a container --device=/dev/kfd --device=/dev/dri). In a pool, see that the target's test.Pool is one with such
machines. Without a GPU, run it on the simulated device: --config=simulated`, c.Architecture, strings.Join(rejected, "\n  "))
}

// self names this process to others that wait for its GPU.
func self() string {
	if target := os.Getenv("TEST_TARGET"); target != "" {
		return target
	}
	return filepath.Base(os.Args[0])
}

func (d *Device) String() string { return d.name }

// Close gives the device back, once the programs that it started have ended too.
func (d *Device) Close() {
	if d.lock != nil {
		d.lock.Close()
	}
}

// Command prepares program to run on the device, with the libraries of host and before them those in dirs: see
// launch.Host.Command.
func (d *Device) Command(ctx context.Context, host launch.Host, dirs []string, program string, args ...string) (*exec.Cmd, error) {
	cmd, err := host.Command(ctx, d.Home, slices.Concat(d.LibraryPath, dirs), program, args...)
	if err != nil {
		return nil, err
	}
	cmd.Env = append(cmd.Env, d.Env...)
	if d.lock != nil {
		cmd.ExtraFiles = append(cmd.ExtraFiles, d.lock)
	}
	if d.Simulated {
		report, err := newReport(d.reports)
		if err != nil {
			return nil, err
		}
		cmd.Env = append(cmd.Env, reportVariable+"="+report)
	}
	return cmd, nil
}
