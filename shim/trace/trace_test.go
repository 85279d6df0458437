package trace_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/shim/trace"
	"example.com/miopen_hipdnn_shim/shim/trace/tracetest"
	"example.com/miopen_hipdnn_shim/shim/trace/tsc"
)

// noClock stands for a machine on which the counter's rate cannot be learned.
func noClock() (tsc.Moment, bool) { return tsc.Moment{}, false }

// open reads data as a file.
func open(t testing.TB, data []byte) (*trace.Trace, error) {
	t.Helper()
	return trace.OpenAt(tracetest.Write(t, t.TempDir(), "1.0.trace", data), noClock)
}

func process(t *testing.T, data []byte) *trace.Process {
	t.Helper()
	tr, err := open(t, data)
	require.NoError(t, err)
	require.Len(t, tr.Processes, 1)
	return tr.Processes[0]
}

func put32(b []byte, at int, v uint32) { binary.LittleEndian.PutUint32(b[at:], v) }
func put64(b []byte, at int, v uint64) { binary.LittleEndian.PutUint64(b[at:], v) }

// lines renders the calls in time order.
func lines(tr *trace.Trace) (all []string) {
	for e := range tr.InTimeOrder() {
		all = append(all, fmt.Sprintf("%d %d %d %d %s %d %s", e.Since(), e.Process.PID, e.Thread.TID, e.Sequence, e.Name(),
			e.Process.Clock.Span(e.Duration), e.State))
	}
	return all
}

func TestSample(t *testing.T) {
	tr, err := open(t, tracetest.Sample().Bytes())
	require.NoError(t, err)
	p := tr.Processes[0]
	require.Equal(t, []any{uint32(100), uint32(1), "sample", 0, 0}, []any{p.PID, p.ParentPID, p.Command, p.DamageCount, tr.Damaged()})
	require.Equal(t, time.Unix(1_700_000_000, 0).UTC(), p.Started)
	require.Equal(t, 2.0, p.Clock.PerNano)
	require.Equal(t, trace.Nanoseconds, p.Clock.Unit)
	require.Len(t, p.Threads, 2)
	require.Equal(t, []uint64{3, 0, 0, 0}, []uint64{p.Threads[0].Made, p.Threads[0].Overwritten, p.Threads[0].Missing, p.Threads[0].Damaged})
	require.Equal(t, []uint64{10, 2, 0, 0}, []uint64{p.Threads[1].Made, p.Threads[1].Overwritten, p.Threads[1].Missing, p.Threads[1].Damaged})
	require.Equal(t, 1, p.Threads[0].Open())
	require.Zero(t, p.Threads[1].Open())
	require.Equal(t, []string{
		"1000 100 100 0 miopenAlpha 0 instant",
		"2000 100 100 1 miopenBeta 500 returned",
		"3500 100 101 2 miopenBeta 300 returned",
		"4500 100 101 3 miopenBeta 400 returned",
		"5500 100 101 4 miopenBeta 500 returned",
		"6500 100 101 5 miopenBeta 600 returned",
		"7500 100 101 6 miopenBeta 700 returned",
		"8500 100 101 7 miopenBeta 800 returned",
		"9500 100 101 8 miopenBeta 900 returned",
		"10500 100 101 9 miopenBeta 1000 returned",
		"20000 100 100 2 miopenGamma 0 open",
	}, lines(tr))
	for range tr.InTimeOrder() {
		break // stopping early is allowed
	}
}

// TestHeader: each field that nothing can be read without, damaged; the error names the file and the place.
func TestHeader(t *testing.T) {
	for _, c := range []struct {
		name   string
		offset int64
		reason string
		damage func(b []byte) []byte
	}{
		{"empty", 0, "ends after 0 of 136", func([]byte) []byte { return nil }},
		{"short", 0, "ends after 135 of 136", func(b []byte) []byte { return b[:135] }},
		{"not written", 0, "not written yet", func([]byte) []byte { return make([]byte, 8192) }},
		{"other magic", 0, "another version", func(b []byte) []byte { b[7]++; return b }},
		{"the version before", 0, "another version", func(b []byte) []byte { copy(b, "MIOTRC01"); return b }},
		{"header bytes", 8, "not a multiple", func(b []byte) []byte { put32(b, 8, 8191); return b }},
		{"header bytes 0", 8, "not a multiple", func(b []byte) []byte { put32(b, 8, 0); return b }},
		{"header bytes large", 8, "not a multiple", func(b []byte) []byte { put32(b, 8, 1<<31); return b }},
		{"record bytes", 12, "takes 33 bytes", func(b []byte) []byte { put32(b, 12, 33); return b }},
		{"capacity 0", 16, "power of two", func(b []byte) []byte { put32(b, 16, 0); return b }},
		{"capacity 7", 16, "power of two", func(b []byte) []byte { put32(b, 16, 7); return b }},
		{"capacity large", 16, "power of two", func(b []byte) []byte { put32(b, 16, 1<<27); put32(b, 20, 4096); return b }},
		{"stride", 20, "takes 4352 bytes, not 0", func(b []byte) []byte { put32(b, 20, 0); return b }},
		{"clock", 32, "the clock is 2", func(b []byte) []byte { put32(b, 32, 2); return b }},
		{"no function", 36, "0 functions", func(b []byte) []byte { put32(b, 36, 0); return b }},
		{"many functions", 36, "functions, not 1 to", func(b []byte) []byte { put32(b, 36, 1<<31); return b }},
		{"one function more", 4096, "not exactly 4 names", func(b []byte) []byte { put32(b, 36, 4); return b }},
		{"names in the fields", 80, "outside", func(b []byte) []byte { put32(b, 80, 127); return b }},
		{"names outside", 80, "outside", func(b []byte) []byte { put32(b, 80, 1<<32-1); put32(b, 84, 1<<32-1); return b }},
		{"names cut off", 4096, "ends after 10 of the names'", func(b []byte) []byte { return b[:4106] }},
		{"name of a terminal's command", 4108, `name 1 is "\x1b[2J`, func(b []byte) []byte { copy(b[4108:], "\x1b[2J"); return b }},
		{"empty name", 4108, "name 1 is", func(b []byte) []byte {
			copy(b[4096:], "aaaaaaaaaaa\x00\x00bbbbbbbbb\x00ccccccccccc\x00")
			put32(b, 36, 4)
			return b
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			tr, err := open(t, c.damage(tracetest.Sample().Bytes()))
			require.Nil(t, tr)
			var format *trace.FormatError
			require.ErrorAs(t, err, &format)
			require.Equal(t, c.offset, format.Offset, err)
			require.ErrorContains(t, err, c.reason)
			require.ErrorContains(t, err, "1.0.trace")
		})
	}
}

// TestDamage: what contradicts itself is reported with its place, and the rest is read.
func TestDamage(t *testing.T) {
	sample := tracetest.Sample()
	swap := func(b []byte, x, y int) {
		tmp := append([]byte{}, b[x:x+32]...)
		copy(b[x:x+32], b[y:y+32])
		copy(b[y:y+32], tmp)
	}
	for _, c := range []struct {
		name   string
		offset int
		reason string
		read   int // calls that are still read, of 11
		damage func(b []byte) []byte
	}{
		{"sequence", sample.RecordOffset(0, 1), "record of call 1 in ring 0 at file offset 0x3020: it says that it is call 6", 10,
			func(b []byte) []byte { put64(b, sample.RecordOffset(0, 1), 7); return b }},
		{"a later sequence", sample.RecordOffset(1, 9), "it says that it is call 17", 10,
			func(b []byte) []byte { put64(b, sample.RecordOffset(1, 9), 18); return b }},
		{"swapped records", sample.RecordOffset(1, 3), "it says that it is call 4", 9,
			func(b []byte) []byte { swap(b, sample.RecordOffset(1, 3), sample.RecordOffset(1, 4)); return b }},
		{"function", sample.RecordOffset(0, 2), "its function is number 3 of 3", 10,
			func(b []byte) []byte { put32(b, sample.RecordOffset(0, 2)+16, 3); return b }},
		{"flags", sample.RecordOffset(0, 2), "its flags are 0x3", 10,
			func(b []byte) []byte { put32(b, sample.RecordOffset(0, 2)+20, 3); return b }},
		{"unknown flag", sample.RecordOffset(0, 2), "its flags are 0x4", 10,
			func(b []byte) []byte { put32(b, sample.RecordOffset(0, 2)+20, 4); return b }},
		{"counter set back", sample.RecordOffset(0, 1), "a record of call 1, and the ring counts 1 calls", 9,
			func(b []byte) []byte { put64(b, sample.RingOffset(0)+8, 1); return b }},
		{"counter of a full ring set back", sample.RecordOffset(1, 9), "it says that it is call 9", 10,
			func(b []byte) []byte { put64(b, sample.RingOffset(1)+8, 9); return b }},
		{"rings not counted", sample.RingOffset(1), "the header counts 1 rings", 3,
			func(b []byte) []byte { put64(b, 88, 1); return b }},
		{"rings that are not there", 88, "3 rings were opened", 11,
			func(b []byte) []byte { put64(b, 88, 3); return b }},
		{"very many rings", 88, "are read at most", 11,
			func(b []byte) []byte { put64(b, 88, 1<<63); return b }},
		{"cut off in a record", sample.RecordOffset(1, 5), "ends after 5 of 8 records", 8,
			func(b []byte) []byte { return b[:sample.RecordOffset(1, 5)+31] }},
		{"cut off in a ring's header", sample.RingOffset(1), "ends within its header", 3,
			func(b []byte) []byte { return b[:sample.RingOffset(1)+15] }},
		{"cut off before a ring", 88, "number 1: it is cut off", 3,
			func(b []byte) []byte { return b[:sample.RingOffset(1)] }},
	} {
		t.Run(c.name, func(t *testing.T) {
			data := c.damage(sample.Bytes())
			tr, err := open(t, data)
			require.NoError(t, err)
			p := tr.Processes[0]
			require.NotZero(t, p.DamageCount)
			require.Equal(t, p.DamageCount, tr.Damaged())
			require.NotEmpty(t, p.Damage)
			require.Equal(t, int64(c.offset), p.Damage[0].Offset, p.Damage[0])
			require.ErrorContains(t, p.Damage[0], c.reason)
			require.ErrorContains(t, p.Damage[0], "1.0.trace")
			require.Len(t, lines(tr), c.read)
			for _, thread := range p.Threads {
				requireAdds(t, thread)
			}
		})
	}
}

// requireAdds: every call of a thread is somewhere.
func requireAdds(t testing.TB, thread *trace.Thread) {
	require.Equal(t, thread.Made, uint64(len(thread.Calls))+thread.Overwritten+thread.Missing+thread.Damaged)
	var gaps uint64
	for _, g := range thread.Gaps {
		gaps += g.Count
	}
	require.Equal(t, thread.Missing+thread.Damaged, gaps)
}

// TestDamageIsBounded: a ring full of nonsense gives its count, and a list that can be read.
func TestDamageIsBounded(t *testing.T) {
	f := tracetest.Sample()
	f.Capacity = 64
	f.Rings = f.Rings[:1]
	f.Rings[0].Calls = make([]tracetest.Call, 64)
	for i := range f.Rings[0].Calls {
		f.Rings[0].Calls[i].Function = 9
	}
	p := process(t, f.Bytes())
	require.Equal(t, 64, p.DamageCount)
	require.Len(t, p.Damage, 16)
	require.Equal(t, []trace.Gap{{First: 0, Count: 64}}, p.Threads[0].Gaps)
}

// TestKilled: a process that ended while it wrote. None of it is damage.
func TestKilled(t *testing.T) {
	sample := tracetest.Sample()
	t.Run("record not written", func(t *testing.T) {
		b := sample.Bytes()
		put64(b, sample.RecordOffset(0, 1), 0)
		p := process(t, b)
		require.Zero(t, p.DamageCount)
		require.Equal(t, uint64(1), p.Threads[0].Missing)
		require.Equal(t, []trace.Gap{{First: 1, Count: 1}}, p.Threads[0].Gaps)
		requireAdds(t, p.Threads[0])
	})
	t.Run("the old record is still there", func(t *testing.T) {
		b := sample.Bytes()
		put64(b, sample.RecordOffset(1, 9), 2)
		p := process(t, b)
		require.Zero(t, p.DamageCount)
		require.Equal(t, uint64(1), p.Threads[1].Missing)
		requireAdds(t, p.Threads[1])
	})
	t.Run("ring not used", func(t *testing.T) {
		f := sample
		f.Rings = append(f.Rings[:2:2], tracetest.Ring{})
		p := process(t, f.Bytes())
		require.Zero(t, p.DamageCount)
		require.Len(t, p.Threads, 2)
	})
	t.Run("lost rings", func(t *testing.T) {
		f := sample
		f.RingsLost, f.ThreadsBeyond, f.CallsLost = 2, 5, 70
		b := f.Bytes()
		put64(b, 88, 4) // counted before they could not be made
		p := process(t, b)
		require.Zero(t, p.DamageCount)
		require.Equal(t, []uint64{2, 5, 70}, []uint64{p.RingsLost, p.ThreadsBeyond, p.CallsLost})
		put64(b, 88, 5) // threads without a place explain no place without a ring
		require.Equal(t, 1, process(t, b).DamageCount)
	})
}

func TestClockGoingBack(t *testing.T) {
	f := tracetest.Sample()
	f.Rings[0].Calls[1].Clock = f.Rings[0].Calls[0].Clock - 1
	tr, err := open(t, f.Bytes())
	require.NoError(t, err)
	require.Equal(t, 1, tr.Processes[0].Threads[0].Backwards)
	// The thread's own order stays.
	all := lines(tr)
	require.Contains(t, all[0], " 100 0 miopenAlpha")
	require.Contains(t, all[1], " 100 1 miopenBeta")
}

func TestFolder(t *testing.T) {
	dir := t.TempDir()
	_, err := trace.Open(dir)
	var none *trace.NoFileError
	require.ErrorAs(t, err, &none)
	require.ErrorContains(t, err, dir)

	// A forked child that began 2 ms later; its threads' calls fall between the parent's.
	parent, child := tracetest.Sample(), tracetest.Sample()
	child.PID, child.ParentPID = 200, 100
	child.StartClock, child.StartNanos = parent.StartClock+20_000, parent.StartNanos+10_000
	child.Realtime += 10_000
	child.LastClock, child.LastNanos = 0, 0 // killed: it uses its parent's pairs
	child.Rings = []tracetest.Ring{{TID: 200, Calls: []tracetest.Call{{Clock: 1_020_001}, {Clock: 1_041_000}}}}
	child.Write(t, dir, "200.0.trace")
	parent.Write(t, dir, "100.0.trace")
	tracetest.Write(t, dir, "notes.txt", []byte("not a trace"))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "folder.trace"), 0o700))
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "fifo.trace"), 0o600)) // opening it would block
	tr, err := trace.OpenAt(dir, noClock)
	require.NoError(t, err)
	require.Empty(t, tr.Unreadable)
	require.Len(t, tr.Processes, 2)
	require.Equal(t, []uint32{100, 200}, []uint32{tr.Processes[0].PID, tr.Processes[1].PID})
	require.Equal(t, 2.0, tr.Processes[1].Clock.PerNano)
	all := lines(tr)
	require.Len(t, all, 13)
	require.Equal(t, "10000 200 200 0 miopenAlpha 0 instant", all[9])
	require.Equal(t, "20500 200 200 1 miopenAlpha 0 instant", all[12])

	tracetest.Write(t, dir, "300.0.trace", []byte("MIOTRC03"))
	tr, err = trace.OpenAt(dir, noClock)
	require.NoError(t, err)
	require.Len(t, tr.Processes, 2, "what can be read is")
	require.Len(t, tr.Unreadable, 1)
	require.Equal(t, 1, tr.Damaged())

	for _, path := range []string{filepath.Join(dir, "fifo.trace"), "/dev/zero"} {
		_, err = trace.Open(path)
		require.ErrorContains(t, err, "not a regular file")
	}
	_, err = trace.Open(filepath.Join(dir, "none"))
	require.ErrorIs(t, err, os.ErrNotExist)
}

// TestCalibration: where the rate comes from.
func TestCalibration(t *testing.T) {
	killed := tracetest.Sample()
	killed.LastClock, killed.LastNanos = 0, 0
	brief := tracetest.Sample()
	brief.LastClock, brief.LastNanos = brief.StartClock+600_000, brief.StartNanos+200_000
	at := func(ms uint64) tsc.Moment {
		return tsc.Moment{Ticks: killed.StartClock + ms*3_000_000, Boottime: killed.StartNanos + ms*1_000_000, Realtime: killed.Realtime + ms*1_000_000}
	}
	later := func(moments ...tsc.Moment) func() (tsc.Moment, bool) {
		return func() (tsc.Moment, bool) {
			m := moments[0]
			if len(moments) > 1 {
				moments = moments[1:]
			}
			return m, true
		}
	}
	otherBoot := at(50)
	otherBoot.Realtime += 3_000_000_000
	contradiction := tracetest.Sample()
	contradiction.PID, contradiction.StartNanos = 7, contradiction.StartNanos+300_000_000
	contradiction.Realtime += 300_000_000
	contradiction.StartClock++
	backwards := tracetest.Sample()
	backwards.LastNanos = backwards.StartNanos - 1
	for _, c := range []struct {
		name  string
		files []tracetest.File
		now   func() (tsc.Moment, bool)
		rate  float64
		why   string
	}{
		{"own pairs", []tracetest.File{tracetest.Sample()}, later(at(50)), 2, "2 pairs of clock values in the files, 20ms apart"},
		{"one pair", []tracetest.File{killed}, later(at(50)), 3, "one taken now, 50ms apart"},
		{"one pair, just now", []tracetest.File{killed}, later(at(1), at(11)), 3, "one taken now, 11ms apart"},
		{"one pair, no clock", []tracetest.File{killed}, noClock, 0, "cannot be read now"},
		{"one pair, booted since", []tracetest.File{killed}, later(otherBoot), 0, "not of this machine's current boot"},
		{"one pair, in the past", []tracetest.File{killed}, later(tsc.Moment{Ticks: 5, Boottime: killed.StartNanos + 20_000_000, Realtime: killed.Realtime + 20_000_000}), 0, "contradicts them"},
		{"pairs close together, booted since", []tracetest.File{brief}, later(otherBoot), 3, "only 200µs apart"},
		{"pairs close together", []tracetest.File{brief}, later(at(50)), 3, "one taken now"},
		{"clock went back", []tracetest.File{backwards}, noClock, 0, "unknown"},
		{"contradiction", []tracetest.File{tracetest.Sample(), contradiction}, later(at(50)), 0, "contradict each other"},
		{"pooled", []tracetest.File{killed, tracetest.Sample()}, noClock, 2, "3 pairs"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			for i, f := range c.files {
				f.Write(t, dir, fmt.Sprintf("%d.0.trace", i))
			}
			tr, err := trace.OpenAt(dir, c.now)
			require.NoError(t, err)
			for _, p := range tr.Processes {
				require.InDelta(t, c.rate, p.Clock.PerNano, 1e-9)
				require.Contains(t, p.Clock.Calibration, c.why)
				require.Equal(t, c.rate == 0, p.Clock.Unit == trace.Ticks)
			}
			if c.rate == 0 {
				// Ticks still order the calls.
				require.Equal(t, int64(2000), first(tr).Since())
				require.Equal(t, int64(1000), tr.Processes[0].Clock.Span(1000))
			}
		})
	}
}

func first(tr *trace.Trace) trace.Event {
	for e := range tr.InTimeOrder() {
		return e
	}
	panic("no call")
}

// TestScales: processes whose clocks cannot be compared come one after the other, those that can are merged.
func TestScales(t *testing.T) {
	counter := tracetest.Sample()
	boottime := tracetest.Sample()
	boottime.PID, boottime.TSC = 50, false
	boottime.StartClock, boottime.LastClock = boottime.StartNanos, boottime.LastNanos
	boottime.Rings = []tracetest.Ring{{TID: 50, Calls: []tracetest.Call{{Clock: boottime.StartNanos + 2500}, {Clock: boottime.StartNanos + 90_000}}}}
	earlier := counter
	earlier.PID, earlier.Realtime = 400, counter.Realtime-3600e9
	order := func(files ...tracetest.File) (pids []uint32) {
		dir := t.TempDir()
		for _, f := range files {
			f.Write(t, dir, fmt.Sprintf("%d.0.trace", f.PID))
		}
		tr, err := trace.OpenAt(dir, noClock)
		require.NoError(t, err)
		for e := range tr.InTimeOrder() {
			if n := len(pids); n == 0 || pids[n-1] != e.Process.PID {
				pids = append(pids, e.Process.PID)
			}
		}
		return pids
	}
	require.Equal(t, []uint32{100, 50, 100, 50}, order(counter, boottime))
	require.Equal(t, []uint32{400, 100}, order(counter, earlier))
	counter.LastClock, counter.LastNanos = 0, 0
	require.Equal(t, []uint32{100, 50}, order(counter, boottime), "no rate, no common order")
}

// TestGrowing reads a file again and again while another goroutine writes calls into it as the wrapper does: each
// reading is one of the states that the file went through.
func TestGrowing(t *testing.T) {
	f := tracetest.Sample()
	f.Rings = f.Rings[:1]
	f.Rings[0].Calls = nil
	path := f.Write(t, t.TempDir(), "1.0.trace")
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	require.NoError(t, err)
	defer file.Close()
	mapped, err := syscall.Mmap(int(file.Fd()), 0, f.RingOffset(1), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	require.NoError(t, err)
	defer func() { require.NoError(t, syscall.Munmap(mapped)) }()
	const total = 200_000
	done := make(chan struct{})
	go func() {
		defer close(done)
		w := tracetest.Writer{Mapped: mapped, File: f}
		for q := range uint64(total) {
			w.Write(0, q, tracetest.Call{Clock: 2_000_000 + 10*q, Function: uint32(q % 3), Flags: 1, Duration: 3 * q})
		}
	}()
	for readings := 0; ; readings++ {
		ended := false
		select {
		case <-done:
			ended = true
		default:
		}
		tr, err := trace.OpenAt(path, noClock)
		require.NoError(t, err)
		p := tr.Processes[0]
		require.Zero(t, p.DamageCount, "%v", p.Damage)
		for _, thread := range p.Threads {
			requireAdds(t, thread)
			require.LessOrEqual(t, thread.Missing, uint64(1))
			for _, c := range thread.Calls {
				require.Equal(t, []uint64{2_000_000 + 10*c.Sequence, c.Sequence % 3, 3 * c.Sequence}, []uint64{c.Clock, uint64(c.Function), c.Duration})
			}
		}
		if ended {
			require.Equal(t, uint64(total), p.Threads[0].Made)
			require.Equal(t, uint64(total-8), p.Threads[0].Overwritten)
			t.Logf("%d readings", readings)
			return
		}
	}
}

func TestReadLines(t *testing.T) {
	text := strings.Join([]string{
		"[MIOPEN_HIPDNN_WRAPPER] miopenCreate",
		"MIOpen(HIP): Info [get_device_name] Raw device name: gfx942",
		"[MIOPEN_HIPDNN_WRAPPER] forwarding is enabled, and nothing is forwarded yet",
		"[MIOPEN_HIPDNN_WRAPPER] miopenAlpha: not a call",
		"[MIOPEN_HIPDNN_WRAPPER] ",
		"",
		"progress 10 %\rprogress 20 %[MIOPEN_HIPDNN_WRAPPER] miopen_sqlite3_memvfs_init",
		strings.Repeat("x", 200_000) + "[MIOPEN_HIPDNN_WRAPPER] miopenDestroy",
		strings.Repeat("y", 200_000),
		"miopenFoo",
		"[MIOPEN_HIPDNN_WRAPPER] miopenCreate",
		"[MIOPEN_HIPDNN_WRAPPER] miopenCut",
	}, "\n")
	got, err := trace.ReadLines(strings.NewReader(text))
	require.NoError(t, err)
	require.Equal(t, []string{"miopenCreate", "miopen_sqlite3_memvfs_init", "miopenDestroy", "miopenCreate"}, got)

	got, err = trace.ReadLines(failing{})
	require.ErrorIs(t, err, errFailing)
	require.Empty(t, got)
}

type failing struct{}

var errFailing = errors.New("failing")

func (failing) Read([]byte) (int, error) { return 0, errFailing }

func TestCompare(t *testing.T) {
	a := []string{"miopenA", "miopenB", "miopenC", "miopenD", "miopenE"}
	require.Nil(t, trace.Compare(a, append([]string{}, a...)))
	require.Nil(t, trace.Compare(nil, nil))
	for _, c := range []struct {
		b    []string
		want string
	}{
		{[]string{"miopenA", "miopenB", "miopenC", "miopenE", "miopenD"},
			"call 3 differs: the first has miopenD, the second miopenE; before it both have miopenA, miopenB, miopenC; both have the same calls, in another order"},
		{a[:4], "call 4 differs: the first has miopenE, the second nothing more after 4 calls; before it both have miopenB, miopenC, miopenD; the first has this one call more, and is the same after it"},
		{[]string{"miopenX", "miopenA", "miopenB", "miopenC", "miopenD", "miopenE"},
			"call 0 differs: the first has miopenA, the second miopenX; the second has this one call more, and is the same after it"},
		{[]string{"miopenA", "miopenX", "miopenY", "miopenD", "miopenE"}, "call 1 differs: the first has miopenB, the second miopenX; before it both have miopenA"},
		{nil, "call 0 differs: the first has miopenA, the second nothing more after 0 calls"},
	} {
		require.EqualError(t, trace.Compare(a, c.b), c.want)
	}
}

// TestRingBeingMade: a ring has its place before the file has grown to it. While its process lives, that is waited for; a file
// that stays as it is, or whose process is gone, is cut off.
func TestRingBeingMade(t *testing.T) {
	sample := tracetest.Sample()
	whole := sample.Bytes()
	const pidAt = 24
	read := func(pid uint32, grows bool) (*trace.Trace, time.Duration) {
		data := append([]byte{}, whole...)
		put32(data, pidAt, pid)
		path := tracetest.Write(t, t.TempDir(), "1.0.trace", data[:sample.RingOffset(1)])
		if grows {
			time.AfterFunc(50*time.Millisecond, func() {
				file, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
				if err == nil {
					_, _ = file.Write(data[sample.RingOffset(1):])
					_ = file.Close()
				}
			})
		}
		start := time.Now()
		tr, err := trace.OpenAt(path, noClock)
		require.NoError(t, err)
		return tr, time.Since(start)
	}
	tr, _ := read(uint32(os.Getpid()), true)
	require.Zero(t, tr.Damaged(), "%v", tr.Processes[0].Damage)
	tr, _ = read(uint32(os.Getpid()), false)
	require.Positive(t, tr.Damaged())
	const nobody = 1<<31 - 1 // above all that Linux gives out
	tr, took := read(nobody, false)
	require.Positive(t, tr.Damaged())
	require.Less(t, took, time.Second, "nothing was waited for")
}
