// Package subject is what the benchmarks of the wrapper have in common: a stock MIOpen and its split, from Bazel or from
// the command line, and the start of a small C program, the worker, on one of the two. What a worker measures and what its
// rows mean is the benchmark's own.
package subject

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"example.com/miopen_hipdnn_shim/shim/split/layout"
	"example.com/miopen_hipdnn_shim/shim/split/manifest"
	"example.com/miopen_hipdnn_shim/tests/launch"
	"example.com/miopen_hipdnn_shim/tests/runfile"
)

// Flags name other libraries than those of the target. They go together.
type Flags struct {
	Miopen string `and:"libraries" placeholder:"LIB" help:"A stock libMIOpen.so.1 to use instead of the one that the target names." type:"existingfile"`
	Split  string `and:"libraries" placeholder:"DIR" help:"The folder of its split." type:"existingdir"`
}

// Subject is a stock library and its split. Close it.
type Subject struct {
	Stock   string // path of the stock library
	Wrapper string // path of the split's libMIOpen.so.1
	Private string // path of the split's libMIOpen_private.so.1

	// Folders are searched for libraries after the split, by workers that run on it.
	Folders []string

	worker string
	host   launch.Host
	home   string
}

// timeout bounds one worker.
const timeout = 5 * time.Minute

// Open finds the libraries, which the environment names in STOCK and SHIM unless there are flags, and the worker, which
// it names in WORKER.
func (f Flags) Open() (*Subject, error) {
	stock, split := f.Miopen, f.Split
	var err error
	if stock == "" {
		if stock, err = runfile.Path("STOCK"); err != nil {
			return nil, err
		}
		if split, err = runfile.Dir("SHIM", layout.Manifest); err != nil {
			return nil, err
		}
	}
	s, err := find(stock, split)
	if err != nil {
		return nil, err
	}
	if s.worker, err = runfile.Path("WORKER"); err != nil {
		return nil, err
	}
	if s.host, err = launch.HostOf(s.Stock); err != nil {
		return nil, err
	}
	s.home, err = os.MkdirTemp("", "miopen-bench-")
	return s, err
}

// find makes sure that the split is one of this stock library: another pair would be compared as readily.
func find(stock, split string) (*Subject, error) {
	record := filepath.Join(split, layout.Manifest)
	text, err := os.ReadFile(record)
	if err != nil {
		return nil, fmt.Errorf("%w: is %s the folder of a split?", err, split)
	}
	m, err := manifest.Decode(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", record, err)
	}
	digest, err := manifest.Digest(stock)
	if err != nil {
		return nil, err
	}
	if digest != m.Input.Digest {
		return nil, fmt.Errorf("%s is not a split of %s: it is one of a library with digest %s, not %s", split, stock, m.Input.Digest, digest)
	}
	s := &Subject{Stock: stock, Wrapper: filepath.Join(split, m.Wrapper.File), Private: filepath.Join(split, m.Private.File)}
	// Workers are started elsewhere, and a file's cache is that of the file, not of a link to it.
	for _, path := range []*string{&s.Stock, &s.Wrapper, &s.Private} {
		if *path, err = filepath.EvalSymlinks(*path); err != nil {
			return nil, err
		}
		if *path, err = filepath.Abs(*path); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// Close removes what the workers wrote.
func (s *Subject) Close() error { return os.RemoveAll(s.home) }

// Scratch is a directory for files of the benchmark, the same for all its workers.
func (s *Subject) Scratch() string { return s.home }

// Beside adds the folders of the files that the environment variables name, as $(rlocationpath LABEL), to Folders.
func (s *Subject) Beside(variables ...string) error {
	for _, variable := range variables {
		library, err := runfile.Path(variable)
		if err != nil {
			return err
		}
		s.Folders = append(s.Folders, filepath.Dir(library))
	}
	return nil
}

// Command prepares the worker; the split, and Folders after it, are first in its library search path if it is to run on the split.
func (s *Subject) Command(ctx context.Context, onSplit bool, args ...string) (*exec.Cmd, error) {
	var dirs []string
	if onSplit {
		dirs = append([]string{filepath.Dir(s.Wrapper)}, s.Folders...)
	}
	return s.host.Command(ctx, s.home, dirs, s.worker, args...)
}

// Run runs the worker to its end and returns the rows that it printed.
func (s *Subject) Run(onSplit bool, args ...string) (Rows, error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	cmd, err := s.Command(ctx, onSplit, args...)
	if err != nil {
		return nil, err
	}
	return Read(cmd)
}

// Rows are lines of a name and numbers, separated by tabs.
type Rows []Row

// Row is one of them.
type Row struct {
	Name   string
	Values []float64
}

// Read runs cmd, whose standard output is rows. The error has what it wrote to standard error, if that goes nowhere else.
func Read(cmd *exec.Cmd) (Rows, error) {
	var stdout, stderr bytes.Buffer
	cmd.Stdout = &stdout
	if cmd.Stderr == nil {
		cmd.Stderr = &stderr
	}
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", cmd, err, bytes.TrimSpace(stderr.Bytes()))
	}
	rows, err := parse(stdout.String())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", cmd, err)
	}
	return rows, nil
}

func parse(text string) (Rows, error) {
	var rows Rows
	for number, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		fields := strings.Split(line, "\t")
		if len(fields) < 2 {
			return nil, fmt.Errorf("line %d is not a name and numbers separated by tabs: %q", number+1, line)
		}
		row := Row{Name: fields[0]}
		for _, field := range fields[1:] {
			value, err := strconv.ParseFloat(field, 64)
			if err != nil {
				return nil, fmt.Errorf("line %d: %w", number+1, err)
			}
			row.Values = append(row.Values, value)
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// Load is the machine's load average over one minute, or 0 if it is not known: what a reader of numbers that were taken
// beside other work has to know.
func Load() float64 {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return 0
	}
	first, _, _ := strings.Cut(string(text), " ")
	load, err := strconv.ParseFloat(first, 64)
	if err != nil {
		return 0
	}
	return load
}
