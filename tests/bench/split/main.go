// Command split measures `miopen-shim split` and `miopen-shim verify` as a user runs them: whole processes, on
// the reference library or on the one that --miopen names.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"example.com/miopen_hipdnn_shim/tests/bench/bar"
	"example.com/miopen_hipdnn_shim/tests/runfile"
)

type arguments struct {
	Miopen string `placeholder:"LIB" help:"A stock libMIOpen.so.1 to use instead of the one that the target names."`
	Runs   int    `help:"Measured runs, after one that is not." default:"9"`
}

func main() {
	var args arguments
	bar.Parse(&args, "Time of the split of one library.")
	bar.Run("split", func() (*bar.Report, error) { return measure(args) })
}

func measure(args arguments) (*bar.Report, error) {
	tool, err := runfile.Path("TOOL")
	if err != nil {
		return nil, err
	}
	library := runfile.UserPath(args.Miopen)
	if library == "" {
		if library, err = runfile.Path("STOCK"); err != nil {
			return nil, err
		}
	}
	dir, err := os.MkdirTemp("", "split-bench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	out := filepath.Join(dir, "split")

	var split, verify bar.Samples
	for run := -1; run < args.Runs; run++ {
		splitTime, err := timed(exec.Command(tool, "split", "--quiet", "--in", library, "--out", out))
		if err != nil {
			return nil, err
		}
		verifyTime, err := timed(exec.Command(tool, "verify", "--stock", library, "--dir", out))
		if err != nil {
			return nil, err
		}
		if run >= 0 { // the first run warms the page cache
			split.Seconds(splitTime)
			verify.Seconds(verifyTime)
		}
	}
	entryPoints, err := countEntryPoints(filepath.Join(out, "manifest.json"))
	if err != nil {
		return nil, err
	}
	var report bar.Report
	report.Row(fmt.Sprintf("split, %d entry points", entryPoints), split, "s")
	report.Row("verify", verify, "s")
	report.AtMost("split-time", split.Median(), "s", 1)
	return &report, nil
}

func timed(cmd *exec.Cmd) (time.Duration, error) {
	start := time.Now()
	if out, err := cmd.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("%s: %w\n%s", cmd, err, out)
	}
	return time.Since(start), nil
}

func countEntryPoints(path string) (int, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	var manifest struct {
		EntryPoints []json.RawMessage `json:"entry_points"`
	}
	if err := json.Unmarshal(text, &manifest); err != nil {
		return 0, err
	}
	if len(manifest.EntryPoints) == 0 {
		return 0, fmt.Errorf("%s has no entry points", path)
	}
	return len(manifest.EntryPoints), nil
}
