package device

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

const reportVariable = "SIMHIP_REPORT"

// hipLinkName is what libhiprtc opens. A directory without it would let a ROCm's own HIP into the process beside simhip.
const hipLinkName = "libamdhip64.so"

// simulate makes d a simulated device, which needs no lock: every process has its own.
func (d *Device) simulate(c Config) error {
	dirs := map[string]bool{}
	names := map[string]bool{}
	for _, library := range c.Libraries {
		if _, err := os.Stat(library); err != nil {
			return fmt.Errorf("the simulated device's HIP runtime: %w", err)
		}
		dirs[filepath.Dir(library)] = true
		names[filepath.Base(library)] = true
	}
	if len(dirs) != 1 || !names[hipLinkName] || len(names) < 2 {
		return fmt.Errorf("the simulated device's HIP runtime must be %s and the libraries that programs name, in one directory: there are %q", hipLinkName, c.Libraries)
	}
	for dir := range dirs {
		d.LibraryPath = []string{dir}
	}
	d.Simulated = true
	d.name = "simulated " + c.Architecture
	d.Env = []string{"SIMHIP_ARCH=" + targetID(c.Architecture)}
	return nil
}

// dataCentre matches the architectures whose target has the features that a target ID names.
var dataCentre = regexp.MustCompile(`^gfx9[0-9a-f]{2}$`)

// targetID is what HIP calls a device of the architecture in its usual state: with ECC, without page migration.
func targetID(architecture string) string {
	if dataCentre.MatchString(architecture) {
		return architecture + ":sramecc+:xnack-"
	}
	return architecture
}

// ErrHardware is what a GPU answers to questions that only a simulated device can.
var ErrHardware = errors.New("the device is a GPU, not a simulated one")

// WithoutKernels is the same device with kernels that do nothing, for controls: what passes on it as well was not
// verified. Its Home is d's. A GPU always executes its kernels: ErrHardware.
func (d *Device) WithoutKernels() (*Device, error) {
	if !d.Simulated {
		return nil, ErrHardware
	}
	idle := *d
	idle.name += ", kernels do nothing"
	idle.idle = true
	idle.Env = append(append([]string{}, d.Env...), "SIMHIP_EXECUTE=none")
	return &idle, nil
}

// A Report is what a simulated device saw in one process.
type Report struct {
	Device struct {
		Execute bool `json:"execute"` // false: kernels do nothing
	} `json:"device"`
	Kernels []Kernel `json:"kernels"`
	// ViolationCount is how many there were: Violations has the first 10000.
	ViolationCount int         `json:"violation_count"`
	Violations     []Violation `json:"violations"`
	Leaks          Leaks       `json:"leaks"`
}

// A Kernel counts the launches of one kernel by what became of them.
type Kernel struct {
	Name         string  `json:"name"`
	Executed     int     `json:"executed"`
	NoOp         int     `json:"noop"` // not known to simhip, or told to do nothing: its outputs were not written
	Failed       int     `json:"failed"`
	Microseconds float64 `json:"microseconds"` // of all launches together, on the device's clock
	Note         string  `json:"note"`         // why it was not executed
}

// A Violation is a misuse of HIP, such as a copy past the end of an allocation.
type Violation struct {
	Kind string `json:"kind"`
	Text string `json:"text"`
}

// Leaks is memory that was not freed when the process ended.
type Leaks struct {
	Count int    `json:"count"`
	Bytes uint64 `json:"bytes"`
}

func newReport(dir string) (string, error) {
	file, err := os.CreateTemp(dir, "*.json")
	if err != nil {
		return "", err
	}
	return file.Name(), file.Close()
}

// Report is what the device saw in the process of cmd, which Command prepared and which has ended. A GPU sees nothing:
// ErrHardware. A process that did not end by itself has no report, which is an error as well.
func (d *Device) Report(cmd *exec.Cmd) (*Report, error) {
	if !d.Simulated {
		return nil, ErrHardware
	}
	path := ""
	for _, entry := range cmd.Env {
		if value, found := strings.CutPrefix(entry, reportVariable+"="); found {
			path = value
		}
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("the simulated device's report on %s: %w", cmd, err)
	}
	if len(data) == 0 {
		return nil, fmt.Errorf("the simulated device wrote no report on %s: it was not used, or the process was killed", cmd)
	}
	r, err := parseReport(data)
	if err == nil && r.Device.Execute == d.idle {
		return nil, fmt.Errorf("kernels that should be executed: %t, that were: %t, by the simulated device's report on %s", !d.idle, r.Device.Execute, cmd)
	}
	return r, err
}

// parseReport refuses a report without its parts: in one of another format nothing would be a violation.
func parseReport(data []byte) (*Report, error) {
	var parts map[string]json.RawMessage
	if err := json.Unmarshal(data, &parts); err != nil {
		return nil, fmt.Errorf("the simulated device's report: %w", err)
	}
	for _, name := range []string{"device", "kernels", "violation_count", "violations", "leaks"} {
		if _, found := parts[name]; !found {
			return nil, fmt.Errorf("the simulated device's report has no %q, it is of another version: %.200s", name, data)
		}
	}
	r := &Report{}
	if err := json.Unmarshal(data, r); err != nil {
		return nil, fmt.Errorf("the simulated device's report: %w", err)
	}
	return r, nil
}
