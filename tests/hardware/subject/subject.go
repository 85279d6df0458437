// Package subject puts MIOpenDriver on the device, on the stock MIOpen and through the split, for the tests of this
// folder and the command gate. The ROCm and the split come in the environment, as tests/hardware/defs.bzl describes.
//
// It knows how the pieces fit together. It must not know what is right: tests and gate do.
package subject

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"example.com/miopen_hipdnn_shim/tests/hardware/device"
	"example.com/miopen_hipdnn_shim/tests/miopendriver"
	"example.com/miopen_hipdnn_shim/tests/miopendriver/verification"
	"example.com/miopen_hipdnn_shim/tests/runfile"
	"example.com/miopen_hipdnn_shim/toolchains/rocm/layout"
)

// Library is a build of MIOpen under test.
type Library string

// The libraries.
const (
	Stock Library = "stock"
	Split Library = "split"
)

// Subject is a ROCm and its split, on a device.
type Subject struct {
	ROCm   *layout.Layout
	Split  string // folder
	device *device.Device
}

// New finds the ROCm and the split.
func New(d *device.Device) (*Subject, error) {
	path, err := runfile.Path("LAYOUT")
	if err != nil {
		return nil, err
	}
	rocm, err := layout.Load(path)
	if err != nil {
		return nil, err
	}
	split, err := runfile.Dir("SHIM", "manifest.json")
	if err != nil {
		return nil, err
	}
	return &Subject{ROCm: rocm, Split: split, device: d}, nil
}

// Driver is MIOpenDriver on a library, with home for HOME and caches: what MIOpen finds there decides what it does, and
// processes that share one wait for each other.
func (s *Subject) Driver(library Library, home string) (miopendriver.Driver, error) {
	own, err := s.at(home)
	if err != nil {
		return miopendriver.Driver{}, err
	}
	return s.driver(library, own)
}

// at is the device with a home of its own.
func (s *Subject) at(home string) (*device.Device, error) {
	own := *s.device
	own.Home = home
	return &own, os.MkdirAll(home, 0o700)
}

func (s *Subject) driver(library Library, on *device.Device) (miopendriver.Driver, error) {
	d, err := miopendriver.Of(s.ROCm, on)
	if err != nil {
		return miopendriver.Driver{}, err
	}
	switch library {
	case Stock:
		return d, nil
	case Split:
		return d.On(s.Split), nil
	}
	return miopendriver.Driver{}, fmt.Errorf("there is no library %q", library)
}

// CompileKernels makes a home in which the kernels of the naive solvers are compiled, for all types: half a minute of
// work that homes which are copied from it need not repeat.
//
// Each type is run twice. A second run of a problem finds it in the database that the first left, and on that way MIOpen
// asks for the same kernel with its options twice over, which for its cache is another kernel.
func (s *Subject) CompileKernels(ctx context.Context, library Library, home string) error {
	d, err := s.Driver(library, home)
	if err != nil {
		return err
	}
	axis := miopendriver.Axis{Input: 4, Filter: 3, Stride: 1, Dilation: 1}
	for _, t := range []miopendriver.Type{miopendriver.Float, miopendriver.Half, miopendriver.BFloat16} {
		request := miopendriver.Request{
			Operation:  miopendriver.Convolution{Type: t, Batch: 1, Channels: 1, Outputs: 1, Groups: 1, Axes: []miopendriver.Axis{axis, axis}},
			Directions: miopendriver.AllDirections, Timing: true, Iterations: 1, Solvers: miopendriver.AllDirections.NaiveSolvers(),
		}
		for range 2 {
			out, err := d.Run(ctx, request)
			if err != nil {
				return err
			}
			if n := len(out.Report.Solutions); n != len(request.Directions.List()) {
				return fmt.Errorf("MIOpenDriver ran %d of 3 directions of %v on the %s library, exit status %d:\n%s%s", n, t, library, out.Status, out.Stdout, out.Stderr)
			}
		}
	}
	return nil
}

// Worker verifies requests that name their solvers, and has all it writes below dir. Its home is a copy of kernels.
func (s *Subject) Worker(library Library, dir, kernels string) (w verification.Worker, err error) {
	home := filepath.Join(dir, "home")
	if err := os.CopyFS(home, os.DirFS(kernels)); err != nil {
		return w, err
	}
	own, err := s.at(home)
	if err != nil {
		return w, err
	}
	w.Scratch = filepath.Join(dir, "references")
	empty := filepath.Join(dir, "no-databases")
	for _, folder := range []string{w.Scratch, empty} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return w, err
		}
	}
	if w.Driver, err = s.driver(library, own); err != nil {
		return w, err
	}
	// Where the solvers are given nothing is looked up, and reading MIOpen's databases is most of a run's time.
	w.Driver.SystemDB = empty
	w.Inspect = s.Complaints
	idle, err := own.WithoutKernels()
	switch {
	case errors.Is(err, device.ErrHardware):
	case err != nil:
		return w, err
	default:
		driver := w.Driver
		driver.Starter = idle
		w.Idle = &driver
	}
	return w, nil
}

// Misuse is what the device has against how a run used it, whatever it computed: misuse of HIP, and kernels whose
// execution failed. A GPU has none that it could tell.
func (s *Subject) Misuse(out *miopendriver.Output) []string {
	report, err := s.device.Report(out.Command)
	if errors.Is(err, device.ErrHardware) {
		return nil
	}
	if err != nil {
		return []string{err.Error()}
	}
	var misuse []string
	for _, v := range report.Violations {
		misuse = append(misuse, fmt.Sprintf("the device reports %s: %s", v.Kind, v.Text))
	}
	for _, k := range report.Kernels {
		if k.Failed > 0 {
			misuse = append(misuse, fmt.Sprintf("%d launches of kernel %s failed: %s", k.Failed, k.Name, k.Note))
		}
	}
	return misuse
}

// Complaints is Misuse, and kernels that the device did not execute, whose results are nobody's. A GPU executes all.
func (s *Subject) Complaints(out *miopendriver.Output) []string {
	complaints := s.Misuse(out)
	report, err := s.device.Report(out.Command)
	if err != nil {
		return complaints // which has it, or the device is a GPU
	}
	launches := 0
	for _, k := range report.Kernels {
		launches += k.Executed
		if k.NoOp > 0 {
			complaints = append(complaints, fmt.Sprintf("the device executed %d launches of kernel %s and left out %d", k.Executed, k.Name, k.NoOp))
		}
	}
	if launches == 0 {
		complaints = append(complaints, "the device executed no kernel at all")
	}
	return complaints
}

// Leaks is the device memory that a run did not give back; none on a GPU, which cannot tell.
func (s *Subject) Leaks(out *miopendriver.Output) (device.Leaks, error) {
	report, err := s.device.Report(out.Command)
	if errors.Is(err, device.ErrHardware) {
		return device.Leaks{}, nil
	}
	if err != nil {
		return device.Leaks{}, err
	}
	return report.Leaks, nil
}

// LeftOut are the kernels of a run that the device did not execute. What such a run computed is meaningless, and only
// hardware can tell whether it is right.
func (s *Subject) LeftOut(out *miopendriver.Output) ([]string, error) {
	report, err := s.device.Report(out.Command)
	if errors.Is(err, device.ErrHardware) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var names []string
	for _, k := range report.Kernels {
		if k.NoOp > 0 {
			names = append(names, k.Name)
		}
	}
	return names, nil
}
