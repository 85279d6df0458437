package trace

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"golang.org/x/sys/unix"

	"example.com/miopen_hipdnn_shim/shim/trace/tsc"
)

// file is a trace file that is being read, and perhaps written at the same time.
type file struct {
	r      io.ReaderAt
	size   func() (int64, error)
	header []byte // headerEnd bytes
	p      *Process

	ringsAt  int64
	stride   int64
	capacity uint64
	records  []byte // of one ring; used again for the next
}

// read reads a whole file. The error is a *FormatError, or r's own.
func read(r io.ReaderAt, size func() (int64, error), path string) (*Process, error) {
	f := &file{r: r, size: size, p: &Process{Path: path}}
	if err := f.readHeader(); err != nil {
		return nil, err
	}
	if err := f.readRings(); err != nil {
		return nil, err
	}
	return f.p, nil
}

func (f *file) u32(at int) uint32 { return binary.LittleEndian.Uint32(f.header[at:]) }
func (f *file) u64(at int) uint64 { return binary.LittleEndian.Uint64(f.header[at:]) }

// at fills b from offset and returns how much the file had. Only errors other than its end are errors.
func (f *file) at(b []byte, offset int64) (int, error) {
	n, err := f.r.ReadAt(b, offset)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return n, err
}

func (f *file) readHeader() error {
	bad := func(at int, format string, a ...any) error {
		return &FormatError{Path: f.p.Path, Offset: int64(at), Reason: fmt.Sprintf(format, a...)}
	}
	f.header = make([]byte, headerEnd)
	n, err := f.at(f.header, 0)
	switch {
	case err != nil:
		return err
	case n < headerEnd:
		return bad(0, "the file ends after %d of %d bytes: it is cut off, or its process ended while it made the file", n, headerEnd)
	case bytes.Equal(f.header[:len(magic)], make([]byte, len(magic))):
		return bad(0, "it is not written yet: the process is about to, or ended before it did")
	case string(f.header[:len(magic)]) != magic:
		return bad(0, "it begins with %q, a trace file with %q: not a trace file, or one of another version", f.header[:len(magic)], magic)
	}
	headerBytes, capacity, stride := f.u32(headerBytesAt), f.u32(capacityAt), f.u32(strideAt)
	functions := f.u32(functionCountAt)
	switch source := Source(f.u32(sourceAt)); {
	case headerBytes < pageBytes || headerBytes%pageBytes != 0 || headerBytes > maxHeaderBytes:
		return bad(headerBytesAt, "header and names take %d bytes, which is not a multiple of %d up to %d", headerBytes, pageBytes, maxHeaderBytes)
	case f.u32(recordBytesAt) != recordBytes:
		return bad(recordBytesAt, "a record takes %d bytes, not %d", f.u32(recordBytesAt), recordBytes)
	case capacity == 0 || capacity&(capacity-1) != 0 || capacity > maxCapacity:
		return bad(capacityAt, "a ring has %d records, which is not a power of two up to %d", capacity, maxCapacity)
	case stride != pageBytes+capacity*recordBytes:
		return bad(strideAt, "a ring of %d records takes %d bytes, not %d", capacity, pageBytes+capacity*recordBytes, stride)
	case source > SourceTSC:
		return bad(sourceAt, "the clock is %d, which is neither %d (CLOCK_BOOTTIME) nor %d (time stamp counter)", source, SourceBoottime, SourceTSC)
	case functions == 0 || functions > maxFunctions:
		return bad(functionCountAt, "there are %d functions, not 1 to %d", functions, maxFunctions)
	}
	names, namesBytes := f.u32(namesAt), f.u32(namesBytesAt)
	if names < headerEnd || uint64(names)+uint64(namesBytes) > uint64(headerBytes) {
		return bad(namesAt, "the names are at %#x to %#x, outside of the %d bytes of the header", names, uint64(names)+uint64(namesBytes), headerBytes)
	}
	text := make([]byte, namesBytes)
	switch n, err := f.at(text, int64(names)); {
	case err != nil:
		return err
	case n < len(text):
		return bad(int(names), "the file ends after %d of the names' %d bytes", n, len(text))
	}
	list := bytes.Split(text, []byte{0})
	if len(list) != int(functions)+1 || len(list[functions]) != 0 {
		return bad(int(names), "there are not exactly %d names, each ended by a NUL", functions)
	}
	at := int(names)
	for i, name := range list[:functions] {
		if !identifier(name) {
			return bad(at, "name %d is %q, which is not a C identifier", i, name)
		}
		f.p.Functions = append(f.p.Functions, string(name))
		at += len(name) + 1
	}

	f.ringsAt, f.stride, f.capacity = int64(headerBytes), int64(stride), uint64(capacity)
	f.p.PID, f.p.ParentPID = f.u32(pidAt), f.u32(parentAt)
	command, _, _ := bytes.Cut(f.header[commandAt:commandAt+commandBytes], []byte{0})
	f.p.Command = string(command)
	f.p.RingsLost, f.p.ThreadsBeyond, f.p.CallsLost = f.u64(ringsLostAt), f.u64(beyondAt), f.u64(callsLostAt)
	f.p.Clock.Source = Source(f.u32(sourceAt))
	f.p.Started = time.Unix(0, int64(f.u64(realtimeAt))).UTC()
	f.p.start = tsc.Moment{Ticks: f.u64(startClockAt), Boottime: f.u64(startNanosAt), Realtime: f.u64(realtimeAt)}
	f.p.moments = []tsc.Moment{f.p.start}
	if last := (tsc.Moment{Ticks: f.u64(lastClockAt), Boottime: f.u64(lastNanosAt)}); last.Ticks != 0 || last.Boottime != 0 {
		f.p.moments = append(f.p.moments, last)
	}
	return nil
}

func identifier(name []byte) bool {
	for i, c := range name {
		letter := c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return len(name) > 0
}

func (f *file) damage(structure string, offset int64, format string, a ...any) {
	f.p.DamageCount++
	if len(f.p.Damage) < maxDamage {
		f.p.Damage = append(f.p.Damage, &Damage{Path: f.p.Path, Structure: structure, Offset: offset, Reason: fmt.Sprintf(format, a...)})
	}
}

// ringCount asks the file again, since a live process opens more: how many rings were given a place, how many of them the
// file has at least a part of, and takes down how many could not be made.
func (f *file) ringCount() (opened, begun uint64, err error) {
	var b [8]byte
	if _, err = f.at(b[:], ringsOpenedAt); err != nil {
		return 0, 0, err
	}
	opened = binary.LittleEndian.Uint64(b[:])
	size, err := f.size()
	if err != nil {
		return 0, 0, err
	}
	if size > f.ringsAt {
		begun = uint64((size - f.ringsAt + f.stride - 1) / f.stride)
	}
	if _, err = f.at(b[:], ringsLostAt); err != nil {
		return 0, 0, err
	}
	f.p.RingsLost = binary.LittleEndian.Uint64(b[:])
	return opened, begun, nil
}

// settledRingCount is ringCount when no ring has a place and is still being made, as far as that can be waited for: in a
// process that lives it takes a moment.
func (f *file) settledRingCount() (opened, begun uint64, err error) {
	const patience, pause = time.Second, 5 * time.Millisecond
	for deadline := time.Now().Add(patience); ; time.Sleep(pause) {
		opened, begun, err = f.ringCount()
		missing := opened > begun && opened-begun > f.p.RingsLost
		if err != nil || !missing || time.Now().After(deadline) || !lives(f.p.PID) {
			return opened, begun, err
		}
	}
}

func lives(pid uint32) bool {
	return pid > 0 && pid <= math.MaxInt32 && !errors.Is(unix.Kill(int(pid), 0), unix.ESRCH)
}

func (f *file) readRings() error {
	opened, begun, err := f.settledRingCount()
	if err != nil {
		return err
	}
	count := opened
	if opened > maxRings {
		f.damage("number of rings", ringsOpenedAt, "%d rings were opened; %d are read at most", opened, maxRings)
		count = maxRings
	}
	// A ring that could not be made may have been counted.
	if opened > begun && opened-begun > f.p.RingsLost {
		f.damage("number of rings", ringsOpenedAt, "%d rings were opened and %d could not be made, and the file ends within or before number %d: it is cut off",
			opened, f.p.RingsLost, begun)
	}
	count = min(count, begun)
	for k := range count {
		t, err := f.readRing(int(k))
		if err != nil {
			return err
		}
		if t != nil {
			f.p.Threads = append(f.p.Threads, t)
		}
	}
	return f.checkBeyond(count, min(begun, maxRings))
}

// checkBeyond looks for rings in use that the header does not count.
func (f *file) checkBeyond(count, begun uint64) error {
	for k := count; k < begun; k++ {
		offset := f.ringsAt + int64(k)*f.stride
		_, next, ok, err := f.ringHeader(offset)
		if err != nil {
			return err
		}
		if !ok || next == 0 {
			continue
		}
		opened, _, err := f.ringCount()
		if err != nil {
			return err
		}
		if opened <= k {
			f.damage(fmt.Sprintf("ring %d", k), offset, "it holds calls, and the header counts %d rings", opened)
		}
	}
	return nil
}

func (f *file) ringHeader(offset int64) (thread uint32, next uint64, ok bool, err error) {
	var b [ringFieldEnd]byte
	n, err := f.at(b[:], offset)
	return binary.LittleEndian.Uint32(b[ringThreadAt:]), binary.LittleEndian.Uint64(b[ringNextAt:]), n == len(b), err
}

// readChunk is how many bytes of records are read at once. Records behind the last call are empty; those in its chunk
// are looked at, so a counter that was set back does not go unnoticed.
const readChunk = 128 << 10

// readRing reads one thread, nil when the ring was never used.
//
// The thread may be making calls meanwhile. It counts a call before it records it. So the counter is read before and
// after the records: calls between the two are left for the next reader, and those whose place they took count as
// overwritten.
func (f *file) readRing(k int) (*Thread, error) {
	offset := f.ringsAt + int64(k)*f.stride
	name := fmt.Sprintf("ring %d", k)
	tid, next, ok, err := f.ringHeader(offset)
	if err != nil {
		return nil, err
	}
	if !ok {
		f.damage(name, offset, "the file ends within its header: it is cut off")
		return nil, nil
	}
	available, err := f.readRecords(offset+pageBytes, next)
	if err != nil {
		return nil, err
	}
	_, after, ok, err := f.ringHeader(offset)
	if err != nil {
		return nil, err
	}
	if !ok || after < next {
		f.damage(name, offset, "the number of calls went from %d to %d while it was read", next, after)
		after = next
	}
	if next == 0 && tid == 0 {
		return nil, nil
	}

	t := &Thread{TID: tid, Ring: k, Made: next}
	if after > f.capacity {
		t.Overwritten = min(after-f.capacity, next)
	}
	wanted := min(next, f.capacity)
	if available < wanted {
		f.damage(name, offset+pageBytes+int64(available)*recordBytes, "the file ends after %d of %d records: it is cut off", available, wanted)
	}
	t.Calls = make([]Call, 0, f.written(available)) // not by the counter, which may say anything
	for q := t.Overwritten; q < next; q++ {
		place := q % f.capacity
		if place >= available {
			t.Damaged++
			t.gap(q)
			continue
		}
		r := f.record(place)
		if r.sequence == 0 || r.sequence <= q && (r.sequence-1)%f.capacity == place {
			t.Missing++
			t.gap(q)
			continue
		}
		if reason := f.contradiction(r, q); reason != "" {
			f.damage(fmt.Sprintf("record of call %d in ring %d", q, k), offset+pageBytes+int64(place)*recordBytes, "%s", reason)
			t.Damaged++
			t.gap(q)
			continue
		}
		c := Call{Sequence: q, Clock: r.clock, Function: r.function}
		switch r.flags {
		case flagReturned:
			c.State, c.Duration = StateReturned, r.duration
		case flagOpen:
			c.State = StateOpen
		}
		if n := len(t.Calls); n > 0 && c.Clock < t.Calls[n-1].Clock {
			t.Backwards++
		}
		t.Calls = append(t.Calls, c)
	}
	if next < f.capacity && next == after {
		for place := next; place < available; place++ {
			if r := f.record(place); r.sequence != 0 {
				f.damage(fmt.Sprintf("ring %d", k), offset+pageBytes+int64(place)*recordBytes,
					"there is a record of call %d, and the ring counts %d calls", r.sequence-1, next)
				break
			}
		}
	}
	return t, nil
}

// readRecords reads the records of the calls that a ring counts, and some behind them. It returns how many of its
// places the file had.
func (f *file) readRecords(offset int64, next uint64) (available uint64, err error) {
	wanted := int(min(next+1, f.capacity)) * recordBytes
	if next >= f.capacity { // next+1 may wrap
		wanted = int(f.capacity) * recordBytes
	}
	f.records = f.records[:0]
	for len(f.records) < wanted {
		chunk := min(readChunk, int(f.capacity)*recordBytes-len(f.records))
		old := len(f.records)
		if cap(f.records)-old < chunk {
			grown := make([]byte, old, 2*cap(f.records)+chunk)
			copy(grown, f.records)
			f.records = grown
		}
		n, err := f.at(f.records[old:old+chunk], offset+int64(old))
		if err != nil {
			return 0, err
		}
		f.records = f.records[:old+n]
		if n < chunk {
			break
		}
	}
	return uint64(len(f.records) / recordBytes), nil
}

// written counts the first places that have a record.
func (f *file) written(places uint64) (n int) {
	for place := range places {
		if binary.LittleEndian.Uint64(f.records[place*recordBytes:]) != 0 {
			n++
		}
	}
	return n
}

// record is one record as it is in the file.
type record struct {
	sequence uint64 // plus one
	clock    uint64
	function uint32
	flags    uint32
	duration uint64
}

func (f *file) record(place uint64) record {
	b := f.records[place*recordBytes:][:recordBytes]
	return record{
		sequence: binary.LittleEndian.Uint64(b[recordSequenceAt:]),
		clock:    binary.LittleEndian.Uint64(b[recordClockAt:]),
		function: binary.LittleEndian.Uint32(b[recordFunctionAt:]),
		flags:    binary.LittleEndian.Uint32(b[recordFlagsAt:]),
		duration: binary.LittleEndian.Uint64(b[recordDurationAt:]),
	}
}

// contradiction says what is wrong with a record in the place of call q, "" when nothing is.
func (f *file) contradiction(r record, q uint64) string {
	switch {
	case r.sequence-1 != q:
		return fmt.Sprintf("it says that it is call %d", r.sequence-1)
	case r.function >= uint32(len(f.p.Functions)):
		return fmt.Sprintf("its function is number %d of %d", r.function, len(f.p.Functions))
	case r.flags&^(flagReturned|flagOpen) != 0 || r.flags == flagReturned|flagOpen:
		return fmt.Sprintf("its flags are %#x", r.flags)
	}
	return ""
}

func (t *Thread) gap(q uint64) {
	if n := len(t.Gaps); n > 0 && t.Gaps[n-1].First+t.Gaps[n-1].Count == q {
		t.Gaps[n-1].Count++
		return
	}
	t.Gaps = append(t.Gaps, Gap{First: q, Count: 1})
}
