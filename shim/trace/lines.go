package trace

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// LinePrefix begins every line that the wrapper writes to standard error.
const LinePrefix = "[MIOPEN_HIPDNN_WRAPPER] "

// functionPrefix begins every entry point's name; lines that go on otherwise are the wrapper's notes.
const functionPrefix = "miopen"

// maxLine bounds what is kept of a line. Only its end is looked at, which no entry point's name fills.
const maxLine = 4096

// ReadLines returns the functions that a trace of the form MIOPEN_HIPDNN_TRACE=stderr names, in its order.
//
// The host writes to the same stream: lines that are not a traced call are skipped, however long they are. A call that
// was written behind a host's unfinished line is still found, since the wrapper writes each of its lines at once. A last
// line without its end is not a call.
func ReadLines(r io.Reader) ([]string, error) {
	var functions []string
	var line []byte
	b := bufio.NewReaderSize(r, 64<<10)
	for {
		part, err := b.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case err == nil:
			if name, ok := tracedCall(line[:len(line)-1]); ok {
				functions = append(functions, name)
			}
			line = line[:0]
		case errors.Is(err, bufio.ErrBufferFull):
			if n := len(line); n > maxLine {
				line = append(line[:0], line[n-maxLine:]...)
			}
		case errors.Is(err, io.EOF):
			return functions, nil
		default:
			return functions, err
		}
	}
}

func tracedCall(line []byte) (string, bool) {
	at := bytes.LastIndex(line, []byte(LinePrefix))
	if at < 0 {
		return "", false
	}
	name := line[at+len(LinePrefix):]
	if !bytes.HasPrefix(name, []byte(functionPrefix)) || !identifier(name) {
		return "", false
	}
	return string(name), true
}

// Difference is where two sequences of calls part.
type Difference struct {
	At     int      // number of the first call that differs, from 0
	A, B   string   // the call there, "" where the sequence has ended
	Before []string // the last calls that both have before it
	LenA   int
	LenB   int
	Hint   string // what would explain it, "" for nothing simple
}

// contextCalls is how many calls before a difference are named.
const contextCalls = 3

// Compare returns nil when a and b are the same calls in the same order, and the first difference otherwise.
func Compare(a, b []string) *Difference {
	at := 0
	for at < len(a) && at < len(b) && a[at] == b[at] {
		at++
	}
	if at == len(a) && at == len(b) {
		return nil
	}
	d := &Difference{At: at, LenA: len(a), LenB: len(b), Before: a[max(0, at-contextCalls):at]}
	if at < len(a) {
		d.A = a[at]
	}
	if at < len(b) {
		d.B = b[at]
	}
	switch {
	case len(a) == len(b) && maps.Equal(tally(a), tally(b)):
		d.Hint = "both have the same calls, in another order"
	case at < len(b) && slices.Equal(a[at:], b[at+1:]):
		d.Hint = "the second has this one call more, and is the same after it"
	case at < len(a) && slices.Equal(a[at+1:], b[at:]):
		d.Hint = "the first has this one call more, and is the same after it"
	}
	return d
}

func tally(functions []string) map[string]int {
	n := map[string]int{}
	for _, f := range functions {
		n[f]++
	}
	return n
}

func (d *Difference) Error() string {
	var b strings.Builder
	name := func(function string, length int) string {
		if function == "" {
			return fmt.Sprintf("nothing more after %d calls", length)
		}
		return function
	}
	fmt.Fprintf(&b, "call %d differs: the first has %s, the second %s", d.At, name(d.A, d.LenA), name(d.B, d.LenB))
	if len(d.Before) > 0 {
		fmt.Fprintf(&b, "; before it both have %s", strings.Join(d.Before, ", "))
	}
	if d.Hint != "" {
		fmt.Fprintf(&b, "; %s", d.Hint)
	}
	return b.String()
}
