// Package render shows what package trace read: for people as a table of functions, call by call in time order, or
// thread by thread, and for programs as TSV or JSON.
//
// It decides nothing: which calls there are and in which order is package trace's, the same for every format. Text that
// comes from a traced process (its name, file names) is quoted before it reaches a terminal.
package render

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"example.com/miopen_hipdnn_shim/shim/trace"
)

// Format is a form of the report.
type Format string

// The formats.
const (
	Table   Format = "table"   // processes, then functions with their counts and times
	Calls   Format = "calls"   // a line for each call, in time order
	Threads Format = "threads" // the same lines, thread by thread
	TSV     Format = "tsv"     // a row for each call, in time order
	JSON    Format = "json"    // everything
)

// Formats are the names of all formats.
var Formats = []Format{Table, Calls, Threads, TSV, JSON}

// Write writes the report.
func Write(w io.Writer, t *trace.Trace, format Format) error {
	b := bufio.NewWriterSize(w, 64<<10)
	switch format {
	case Table:
		writeTable(b, t)
	case Calls:
		writeCalls(b, t)
	case Threads:
		writeThreads(b, t)
	case TSV:
		writeTSV(b, t)
	case JSON:
		if err := writeJSON(b, t); err != nil {
			return err
		}
	default:
		return fmt.Errorf("no format %q: there are %v", format, Formats)
	}
	return b.Flush() // holds the first error of all writes
}

// Notes are sentences on what is missing from the trace or makes it hard to compare, none when it is complete. Damage is
// not among them: it has a place and a kind of its own.
func Notes(t *trace.Trace) []string {
	var notes []string
	note := func(format string, a ...any) { notes = append(notes, fmt.Sprintf(format, a...)) }
	for _, p := range t.Processes {
		var without []string
		if p.RingsLost > 0 {
			without = append(without, fmt.Sprintf("no ring could be made for %d threads: there was no room, or the file cannot be opened any more, as after setuid or chroot", p.RingsLost))
		}
		if p.ThreadsBeyond > 0 {
			without = append(without, fmt.Sprintf("%d threads came when the file had all the rings that it may have, those of ended threads among them", p.ThreadsBeyond))
		}
		if p.CallsLost > 0 || len(without) > 0 {
			note("process %d: %d calls are not in the trace (%s)", p.PID, p.CallsLost, strings.Join(without, "; "))
		}
		if p.Clock.Unit == trace.Ticks {
			note("process %d: times are in ticks of the time stamp counter, whose rate is %s", p.PID, p.Clock.Calibration)
		}
		var n, threads counts
		backwards := 0
		missing := ""
		for _, th := range p.Threads {
			n.overwritten += th.Overwritten
			n.missing += th.Missing
			backwards += th.Backwards
			if th.Overwritten > 0 {
				threads.overwritten++
			}
			if th.Missing > 0 {
				if threads.missing++; missing == "" {
					missing = fmt.Sprintf("thread %d: %s", th.TID, gaps(th))
				}
			}
		}
		if n.overwritten > 0 {
			note("process %d: %d calls were overwritten by newer ones, the oldest of %d of its %d threads", p.PID, n.overwritten, threads.overwritten, len(p.Threads))
		}
		if n.missing > 0 {
			note("process %d: %d calls of %d threads were counted and not recorded, the process was read or ended while it made them (%s)", p.PID, n.missing, threads.missing, missing)
		}
		if backwards > 0 {
			note("process %d: the clock of %d calls is before that of their thread's call before", p.PID, backwards)
		}
	}
	return notes
}

func gaps(th *trace.Thread) string {
	const most = 4
	var s []string
	for i, g := range th.Gaps {
		if i == most {
			s = append(s, "…")
			break
		}
		if g.Count == 1 {
			s = append(s, strconv.FormatUint(g.First, 10))
		} else {
			s = append(s, fmt.Sprintf("%d to %d", g.First, g.First+g.Count-1))
		}
	}
	return "call " + strings.Join(s, ", ")
}

// span is a time for people.
func span(c trace.Clock, n int64) string {
	if c.Unit == trace.Ticks {
		return strconv.FormatInt(n, 10) + " ticks"
	}
	return time.Duration(n).String()
}

// since is a time since the start, with all its digits, so that a column of them lines up.
func since(c trace.Clock, n int64) string {
	if c.Unit == trace.Ticks {
		return strconv.FormatInt(n, 10)
	}
	var room [32]byte
	b, u := room[:0], uint64(n)
	if n < 0 {
		b, u = append(b, '-'), -u
	}
	b = append(strconv.AppendUint(b, u/1e9, 10), '.')
	digits := strconv.AppendUint(nil, 1e9+u%1e9, 10) // a leading 1, for the zeros
	return string(append(b, digits[1:]...))
}

func duration(p *trace.Process, c *trace.Call) string {
	switch c.State {
	case trace.StateReturned:
		return span(p.Clock, p.Clock.Span(c.Duration))
	case trace.StateOpen:
		return "open"
	}
	return "-"
}

func quoted(s string) string {
	if q := strconv.Quote(s); q != `"`+s+`"` {
		return q
	}
	return s
}

func newTable(w io.Writer, title string) table.Writer {
	t := table.NewWriter()
	t.SetOutputMirror(w)
	t.SetStyle(table.StyleLight)
	t.Style().Format.Header = text.FormatDefault
	t.Style().Format.Footer = text.FormatDefault
	t.SetTitle("%s", title)
	return t
}

// alignRight aligns the columns that hold numbers.
func alignRight(t table.Writer, columns ...int) {
	var c []table.ColumnConfig
	for _, n := range columns {
		c = append(c, table.ColumnConfig{Number: n, Align: text.AlignRight, AlignHeader: text.AlignRight, AlignFooter: text.AlignRight})
	}
	t.SetColumnConfigs(c)
}

func writeTable(w io.Writer, t *trace.Trace) {
	processes := newTable(w, "processes")
	processes.AppendHeader(table.Row{"pid", "parent", "command", "start", "threads", "calls", "overwritten", "missing", "damaged", "open", "lost"})
	alignRight(processes, 1, 2, 4, 5, 6, 7, 8, 9, 10, 11)
	for _, p := range t.Processes {
		n := count(p)
		processes.AppendRow(table.Row{p.PID, p.ParentPID, quoted(p.Command), since(p.Clock, p.Start()), len(p.Threads),
			n.made, n.overwritten, n.missing, n.damaged, n.open, p.CallsLost})
	}
	processes.Render()
	functions := newTable(w, "functions")
	functions.AppendHeader(table.Row{"function", "calls", "total", "mean", "p50", "p99", "first", "last"})
	alignRight(functions, 2, 3, 4, 5, 6, 7, 8)
	calls := 0
	for _, f := range Functions(t) {
		calls += f.Calls
		row := table.Row{f.Name, f.Calls, "-", "-", "-", "-", since(f.clock, f.First), since(f.clock, f.Last)}
		if f.Durations != nil {
			d := f.Durations
			for i, n := range []int64{d.Total, d.Mean, d.P50, d.P99} {
				row[2+i] = span(f.clock, n)
			}
		}
		functions.AppendRow(row)
	}
	functions.AppendFooter(table.Row{"all", calls})
	functions.Render()
}

type counts struct {
	made, overwritten, missing, damaged uint64
	open                                int
}

func count(p *trace.Process) (n counts) {
	for _, th := range p.Threads {
		n.made += th.Made
		n.overwritten += th.Overwritten
		n.missing += th.Missing
		n.damaged += th.Damaged
		n.open += th.Open()
	}
	return n
}

// Function is what a trace has of one function. Times are nanoseconds, or ticks when Unit says so; a function that was
// called under both has an entry for each.
type Function struct {
	Name      string     `json:"name"`
	Unit      string     `json:"unit"`
	Calls     int        `json:"calls"`
	Open      int        `json:"open"`
	First     int64      `json:"first"` // since the start of the trace
	Last      int64      `json:"last"`
	Durations *Durations `json:"durations,omitempty"` // nil when none is known

	clock trace.Clock
}

// Durations sums up the durations that are known of a function. The quantiles are calls' own durations: the smallest
// that at least that share of the calls does not exceed.
type Durations struct {
	Calls int   `json:"calls"`
	Total int64 `json:"total"`
	Mean  int64 `json:"mean"`
	P50   int64 `json:"p50"`
	P99   int64 `json:"p99"`
}

// Functions sums the calls up by function: those that took the most time first, then those with the most calls, then
// by name.
func Functions(t *trace.Trace) []Function {
	type key struct {
		name string
		unit trace.Unit
	}
	index := map[key]int{}
	var all []Function
	var durations [][]int64
	for _, p := range t.Processes {
		entries := make([]int, len(p.Functions)) // of all, plus one
		for _, th := range p.Threads {
			for _, c := range th.Calls {
				at := p.Clock.Since(c.Clock)
				i := entries[c.Function] - 1
				if i < 0 {
					k := key{p.Functions[c.Function], p.Clock.Unit}
					known := false
					if i, known = index[k]; !known {
						i = len(all)
						index[k] = i
						all = append(all, Function{Name: k.name, Unit: k.unit.String(), First: at, Last: at, clock: p.Clock})
						durations = append(durations, nil)
					}
					entries[c.Function] = i + 1
				}
				f := &all[i]
				f.Calls++
				f.First, f.Last = min(f.First, at), max(f.Last, at)
				switch c.State {
				case trace.StateReturned:
					durations[i] = append(durations[i], p.Clock.Span(c.Duration))
				case trace.StateOpen:
					f.Open++
				}
			}
		}
	}
	for i := range all {
		all[i].Durations = summarise(durations[i])
	}
	total := func(f Function) int64 {
		if f.Durations == nil {
			return -1
		}
		return f.Durations.Total
	}
	slices.SortFunc(all, func(a, b Function) int {
		return cmp.Or(cmp.Compare(total(b), total(a)), cmp.Compare(b.Calls, a.Calls), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Unit, b.Unit))
	})
	return all
}

func summarise(d []int64) *Durations {
	if len(d) == 0 {
		return nil
	}
	slices.Sort(d)
	s := &Durations{Calls: len(d), P50: quantile(d, 50), P99: quantile(d, 99)}
	sum := 0.0 // a damaged file can hold durations of which the sum is no int64
	for _, n := range d {
		sum += float64(n)
		s.Total += n
	}
	const largest = 1 << 62
	if sum > largest {
		s.Total = largest
	}
	s.Mean = s.Total / int64(len(d))
	return s
}

// quantile is the nearest rank in sorted durations.
func quantile(d []int64, percent int) int64 {
	return d[(len(d)*percent+99)/100-1]
}

// The columns of a call's line, right-aligned; the function follows.
var callColumns = []struct {
	title string
	width int
}{{"since start", 16}, {"pid", 10}, {"tid", 10}, {"sequence", 11}}

func writeCallsHeader(w io.Writer) {
	for _, c := range callColumns {
		fmt.Fprintf(w, "%*s", c.width, c.title)
	}
	io.WriteString(w, "  function duration\n")
}

// callWriter writes calls' lines. There may be tens of millions, so it does without package fmt.
type callWriter struct {
	w    io.Writer
	line []byte
}

func (c *callWriter) write(e trace.Event) {
	clock := e.Process.Clock
	c.line = c.line[:0]
	c.column(0, func(b []byte) []byte { return append(b, since(clock, e.Since())...) })
	c.column(1, func(b []byte) []byte { return strconv.AppendUint(b, uint64(e.Process.PID), 10) })
	c.column(2, func(b []byte) []byte { return strconv.AppendUint(b, uint64(e.Thread.TID), 10) })
	c.column(3, func(b []byte) []byte { return strconv.AppendUint(b, e.Sequence, 10) })
	c.line = append(append(append(c.line, "  "...), e.Name()...), ' ')
	c.line = append(append(c.line, duration(e.Process, e.Call)...), '\n')
	c.w.Write(c.line)
}

// column appends a text, preceded by what fills the column.
func (c *callWriter) column(n int, text func([]byte) []byte) {
	var room [32]byte
	b := text(room[:0])
	for range callColumns[n].width - len(b) {
		c.line = append(c.line, ' ')
	}
	if len(b) >= callColumns[n].width {
		c.line = append(c.line, ' ')
	}
	c.line = append(c.line, b...)
}

func writeCalls(w io.Writer, t *trace.Trace) {
	writeCallsHeader(w)
	c := callWriter{w: w}
	for e := range t.InTimeOrder() {
		c.write(e)
	}
}

func writeThreads(w io.Writer, t *trace.Trace) {
	writeCallsHeader(w)
	c := callWriter{w: w}
	for _, p := range t.Processes {
		for _, th := range p.Threads {
			fmt.Fprintf(w, "process %d (%s), thread %d: %d calls", p.PID, quoted(p.Command), th.TID, th.Made)
			for _, n := range []struct {
				what string
				n    uint64
			}{{"overwritten", th.Overwritten}, {"missing", th.Missing}, {"damaged", th.Damaged}, {"open", uint64(th.Open())}} {
				if n.n > 0 {
					fmt.Fprintf(w, ", %d %s", n.n, n.what)
				}
			}
			io.WriteString(w, "\n")
			for i := range th.Calls {
				c.write(trace.Event{Call: &th.Calls[i], Process: p, Thread: th})
			}
		}
	}
}

func writeTSV(w io.Writer, t *trace.Trace) {
	io.WriteString(w, "start\tunit\tpid\ttid\tring\tsequence\tfunction\tstate\tduration\n")
	var b []byte
	for e := range t.InTimeOrder() {
		b = append(strconv.AppendInt(b[:0], e.Since(), 10), '\t')
		b = append(append(b, e.Process.Clock.Unit.String()...), '\t')
		for _, n := range [...]uint64{uint64(e.Process.PID), uint64(e.Thread.TID), uint64(e.Thread.Ring), e.Sequence} {
			b = append(strconv.AppendUint(b, n, 10), '\t')
		}
		b = append(append(b, e.Name()...), '\t')
		b = append(append(b, e.State.String()...), '\t')
		if e.State == trace.StateReturned {
			b = strconv.AppendInt(b, e.Process.Clock.Span(e.Duration), 10)
		}
		w.Write(append(b, '\n'))
	}
}

type jsonProcess struct {
	Path        string       `json:"path"`
	PID         uint32       `json:"pid"`
	ParentPID   uint32       `json:"parent_pid"`
	Command     string       `json:"command"`
	Started     time.Time    `json:"started"`
	Start       int64        `json:"start"`
	Clock       jsonClock    `json:"clock"`
	RingsLost   uint64       `json:"rings_lost"`
	Beyond      uint64       `json:"threads_beyond"`
	CallsLost   uint64       `json:"calls_lost"`
	Threads     []jsonThread `json:"threads"`
	DamageCount int          `json:"damage_count"`
	Damage      []jsonDamage `json:"damage"`
}

type jsonClock struct {
	Source      string  `json:"source"`
	Unit        string  `json:"unit"`
	PerNano     float64 `json:"ticks_per_ns"`
	Calibration string  `json:"calibration"`
}

type jsonThread struct {
	TID         uint32    `json:"tid"`
	Ring        int       `json:"ring"`
	Made        uint64    `json:"calls"`
	Overwritten uint64    `json:"overwritten"`
	Missing     uint64    `json:"missing"`
	Damaged     uint64    `json:"damaged"`
	Open        int       `json:"open"`
	Backwards   int       `json:"clock_backwards"`
	Gaps        []jsonGap `json:"gaps"`
}

type jsonGap struct {
	First uint64 `json:"first"`
	Count uint64 `json:"count"`
}

type jsonDamage struct {
	Structure string `json:"structure"`
	Offset    int64  `json:"offset"`
	Reason    string `json:"reason"`
}

type jsonCall struct {
	Start    int64  `json:"start"`
	Unit     string `json:"unit"`
	PID      uint32 `json:"pid"`
	TID      uint32 `json:"tid"`
	Ring     int    `json:"ring"`
	Sequence uint64 `json:"sequence"`
	Function string `json:"function"`
	State    string `json:"state"`
	Duration *int64 `json:"duration,omitempty"`
}

// writeJSON writes the calls one by one: a trace may hold tens of millions.
func writeJSON(w io.Writer, t *trace.Trace) error {
	processes := make([]jsonProcess, 0, len(t.Processes))
	for _, p := range t.Processes {
		j := jsonProcess{
			Path: p.Path, PID: p.PID, ParentPID: p.ParentPID, Command: p.Command, Started: p.Started, Start: p.Start(),
			Clock:     jsonClock{p.Clock.Source.String(), p.Clock.Unit.String(), p.Clock.PerNano, p.Clock.Calibration},
			RingsLost: p.RingsLost, Beyond: p.ThreadsBeyond, CallsLost: p.CallsLost,
			Threads: []jsonThread{}, DamageCount: p.DamageCount, Damage: []jsonDamage{},
		}
		for _, th := range p.Threads {
			jt := jsonThread{
				TID: th.TID, Ring: th.Ring, Made: th.Made, Overwritten: th.Overwritten, Missing: th.Missing, Damaged: th.Damaged,
				Open: th.Open(), Backwards: th.Backwards, Gaps: []jsonGap{},
			}
			for _, g := range th.Gaps {
				jt.Gaps = append(jt.Gaps, jsonGap(g))
			}
			j.Threads = append(j.Threads, jt)
		}
		for _, d := range p.Damage {
			j.Damage = append(j.Damage, jsonDamage{d.Structure, d.Offset, d.Reason})
		}
		processes = append(processes, j)
	}
	unreadable := []string{}
	for _, err := range t.Unreadable {
		unreadable = append(unreadable, err.Error())
	}
	functions := Functions(t)
	if functions == nil {
		functions = []Function{}
	}
	write := func(prefix string, v any) error {
		b, err := json.Marshal(v)
		if err == nil {
			_, err = io.WriteString(w, prefix)
		}
		if err == nil {
			_, err = w.Write(b)
		}
		return err
	}
	if err := write("{\n\"processes\": ", processes); err != nil {
		return err
	}
	if err := write(",\n\"unreadable\": ", unreadable); err != nil {
		return err
	}
	if err := write(",\n\"functions\": ", functions); err != nil {
		return err
	}
	separator := ",\n\"calls\": [\n"
	for e := range t.InTimeOrder() {
		c := jsonCall{
			Start: e.Since(), Unit: e.Process.Clock.Unit.String(), PID: e.Process.PID, TID: e.Thread.TID, Ring: e.Thread.Ring,
			Sequence: e.Sequence, Function: e.Name(), State: e.State.String(),
		}
		if e.State == trace.StateReturned {
			n := e.Process.Clock.Span(e.Duration)
			c.Duration = &n
		}
		if err := write(separator, c); err != nil {
			return err
		}
		separator = ",\n"
	}
	if separator != ",\n" { // no call
		if _, err := io.WriteString(w, separator); err != nil {
			return err
		}
	}
	_, err := io.WriteString(w, "\n]\n}\n")
	return err
}
