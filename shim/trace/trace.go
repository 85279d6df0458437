// Package trace reads what the wrapper writes when it traces: the files of MIOPEN_HIPDNN_TRACE=ring:DIR, one for each
// process, and the lines of MIOPEN_HIPDNN_TRACE=stderr.
//
// A trace file is a header with the names of the entry points and then one ring for each thread that made a call. A
// ring holds the newest calls of its thread; what a reader learns about older ones is how many there were. The file is
// a mapping of the traced process, so it may be read while the process runs, after it was killed, or cut off by a full
// disk. Nothing in it is trusted: sizes and offsets are checked against the file before they are used, memory grows
// with what the file really holds, and what contradicts itself is reported as Damage, with its offset, while
// everything else is still read.
//
// Times are converted from the processor's time stamp counter with the pairs of clock values that the files carry (see
// Clock); the order of calls of different threads follows from them, the order within a thread from its sequence
// numbers. The package knows the files' layout; it knows neither how the wrapper writes them nor how a report looks.
package trace

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"example.com/miopen_hipdnn_shim/shim/trace/tsc"
)

// Suffix ends the name of a trace file.
const Suffix = ".trace"

// Trace is what one or more processes wrote.
type Trace struct {
	// Processes are in the order of their first moments, those of one boot of a machine together.
	Processes []*Process
	// Unreadable says which of a folder's files are not trace files at all, and why; a *FormatError or an error of
	// the operating system. Damage within a file is in its Process.
	Unreadable []error
}

// Process is one trace file.
type Process struct {
	Path      string
	PID       uint32
	ParentPID uint32 // at the moment when the file was made
	Command   string // the process's short name, as the kernel has it; may hold any bytes
	Started   time.Time
	Clock     Clock
	Functions []string  // by the index that calls carry; each is a C identifier
	Threads   []*Thread // in the order in which their rings were opened
	// RingsLost counts threads whose calls were not recorded because no ring could be made for them, ThreadsBeyond
	// those that came when the file had as many rings as it may have, and CallsLost the calls of both.
	RingsLost     uint64
	ThreadsBeyond uint64
	CallsLost     uint64
	// Damage is what in the file contradicts its layout; at most maxDamage entries.
	Damage []*Damage
	// DamageCount counts all contradictions, also those beyond the list.
	DamageCount int

	moments []tsc.Moment // the pairs of clock values in the header, one or two
	start   tsc.Moment
}

// Start is when the process made its file, in the unit of its clock, since the first process that shares the scale.
func (p *Process) Start() int64 { return p.Clock.Since(p.start.Ticks) }

// Thread is one ring. Two threads of a process have the same TID when the kernel gave the number a second time.
type Thread struct {
	TID  uint32
	Ring int // number of the ring in its file
	// Made counts the calls of the thread until the moment of reading. They are in Calls, or
	// counted by Overwritten, Missing or Damaged.
	Made        uint64
	Overwritten uint64 // the oldest calls, whose place newer ones took
	Missing     uint64 // calls that were counted but not recorded: the process was killed, or read, while it wrote
	Damaged     uint64 // calls whose record is cut off or contradicts itself
	Gaps        []Gap  // where in the sequence the missing and damaged calls are
	// Backwards counts calls whose clock is before that of the call before. A handler of a signal that arrived while
	// a call was being recorded makes one; anything else is a clock that cannot be relied on.
	Backwards int
	Calls     []Call // by sequence
}

// Open counts the calls that had not returned.
func (t *Thread) Open() int {
	n := 0
	for _, c := range t.Calls {
		if c.State == StateOpen {
			n++
		}
	}
	return n
}

// Gap is a run of sequence numbers that have no call.
type Gap struct {
	First, Count uint64
}

// State says what is known of a call beyond its beginning.
type State uint8

// The states.
const (
	StateInstant  State = iota // the beginning only: the function's signature was not known when the wrapper was made
	StateReturned              // it returned; Duration is valid
	StateOpen                  // it had not returned
)

func (s State) String() string {
	switch s {
	case StateInstant:
		return "instant"
	case StateReturned:
		return "returned"
	case StateOpen:
		return "open"
	}
	return fmt.Sprintf("State(%d)", uint8(s))
}

// Call is one call of an entry point.
type Call struct {
	Sequence uint64 // in its thread, from 0
	Clock    uint64 // at entry; the process's Clock gives it a meaning
	Duration uint64 // in the same ticks; valid in StateReturned
	Function uint32 // index into the process's Functions
	State    State
}

// Damage is a contradiction within a file.
type Damage struct {
	Path      string
	Structure string // what was being read, e.g. "ring 3" or "record of call 17 in ring 3"
	Offset    int64  // of the structure in the file
	Reason    string
}

func (d *Damage) Error() string {
	return fmt.Sprintf("%s: %s at file offset %#x: %s", d.Path, d.Structure, d.Offset, d.Reason)
}

// FormatError says that a file is not a trace file, or that its header is damaged, so that nothing of it can be read.
type FormatError struct {
	Path   string
	Offset int64
	Reason string
}

func (e *FormatError) Error() string {
	return fmt.Sprintf("%s: trace header at file offset %#x: %s", e.Path, e.Offset, e.Reason)
}

// NoFileError says that a folder holds no trace file.
type NoFileError struct {
	Dir string
}

func (e *NoFileError) Error() string {
	return fmt.Sprintf("%s holds no *%s file: give the folder that was named in MIOPEN_HIPDNN_TRACE=ring:DIR", e.Dir, Suffix)
}

// Open reads a trace file, or all regular files *.trace of a folder. The error is a *FormatError, a *NoFileError or one
// of the operating system; for a folder only when not a single file can be read.
func Open(path string) (*Trace, error) {
	return OpenAt(path, tsc.Now)
}

// OpenAt is Open with the clock that calibrates files of which the process ended too early to do so; now reports false
// when it cannot tell.
func OpenAt(path string, now func() (tsc.Moment, bool)) (*Trace, error) {
	files, err := traceFiles(path)
	if err != nil {
		return nil, err
	}
	t := &Trace{}
	for _, file := range files {
		p, err := readFile(file)
		if err != nil {
			t.Unreadable = append(t.Unreadable, err)
			continue
		}
		t.Processes = append(t.Processes, p)
	}
	if len(t.Processes) == 0 {
		return nil, errors.Join(t.Unreadable...)
	}
	calibrate(t.Processes, now)
	return t, nil
}

func traceFiles(path string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		// A FIFO would block, and nothing but a regular file can be read at any offset.
		if !info.Mode().IsRegular() {
			return nil, &FormatError{Path: path, Reason: "not a regular file"}
		}
		return []string{path}, nil
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, err
	}
	var files []string
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), Suffix) {
			continue
		}
		file := filepath.Join(path, e.Name())
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() {
			files = append(files, file)
		}
	}
	if len(files) == 0 {
		return nil, &NoFileError{Dir: path}
	}
	return files, nil
}

func readFile(path string) (*Process, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	p, err := read(f, func() (int64, error) {
		info, err := f.Stat()
		if err != nil {
			return 0, err
		}
		return info.Size(), nil
	}, path)
	var format *FormatError
	if err != nil && !errors.As(err, &format) {
		err = &fs.PathError{Op: "read", Path: path, Err: err}
	}
	return p, err
}

// Damaged counts the contradictions in all files, and the files that cannot be read.
func (t *Trace) Damaged() int {
	n := len(t.Unreadable)
	for _, p := range t.Processes {
		n += p.DamageCount
	}
	return n
}

// sortProcesses puts the processes of a domain into the order of their first moments.
func sortProcesses(processes []*Process) {
	slices.SortStableFunc(processes, func(a, b *Process) int {
		return cmp.Or(cmp.Compare(a.Clock.domain, b.Clock.domain), cmp.Compare(a.Start(), b.Start()), cmp.Compare(a.PID, b.PID))
	})
}
