package trace

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"time"

	"example.com/miopen_hipdnn_shim/shim/trace/tsc"
)

// Source is the clock that a process stamped its calls with.
type Source uint32

// The sources, with the numbers that they have in a file.
const (
	SourceBoottime Source = 0 // CLOCK_BOOTTIME, nanoseconds
	SourceTSC      Source = 1 // the processor's time stamp counter
)

func (s Source) String() string {
	switch s {
	case SourceBoottime:
		return "CLOCK_BOOTTIME"
	case SourceTSC:
		return "time stamp counter"
	}
	return fmt.Sprintf("Source(%d)", uint32(s))
}

// Unit is what times of a process are in.
type Unit uint8

// The units.
const (
	Nanoseconds Unit = iota
	Ticks            // of a time stamp counter whose rate is not known
)

func (u Unit) String() string {
	if u == Ticks {
		return "ticks"
	}
	return "ns"
}

// Clock converts a process's clock values. All processes that ran on a machine between two boots share one scale, so
// that their calls can be put into one order.
//
// The rate of a time stamp counter comes from the pairs of counter and CLOCK_BOOTTIME in the files; when they are too
// close together, from the first pair and one that is taken while reading, provided that the machine was not booted in
// between. If neither is there, times are in ticks.
type Clock struct {
	Source      Source
	Unit        Unit
	PerNano     float64 // ticks in a nanosecond; 0 when it is not known
	Calibration string  // where the rate comes from, or why there is none

	// A clock value x is at offset + (x-base)*num/den since the trace's start.
	base     uint64
	offset   int64
	num, den uint64
	domain   int // processes with different domains cannot be put into one order
}

// Since converts a clock value to the time since the first process started that shares the scale.
func (c Clock) Since(value uint64) int64 {
	if value < c.base {
		return saturate(c.offset, -scale(c.base-value, c.num, c.den))
	}
	return saturate(c.offset, scale(value-c.base, c.num, c.den))
}

// Span converts a number of ticks.
func (c Clock) Span(ticks uint64) int64 {
	return scale(ticks, c.num, c.den)
}

// scale is n*num/den, at most math.MaxInt64.
func scale(n, num, den uint64) int64 {
	hi, lo := bits.Mul64(n, num)
	if hi >= den {
		return math.MaxInt64
	}
	q, _ := bits.Div64(hi, lo, den)
	return int64(min(q, math.MaxInt64))
}

// saturate adds without wrapping.
func saturate(a, b int64) int64 {
	s := a + b
	switch {
	case a > 0 && b > 0 && s < 0:
		return math.MaxInt64
	case a < 0 && b < 0 && s >= 0:
		return math.MinInt64
	}
	return s
}

const (
	// sameBoot is by how much two estimates of the time of boot may differ. CLOCK_REALTIME is stepped now and then.
	sameBoot = 2 * time.Second
	// goodBaseline is the time between two pairs from which on their rate is better than one part in a thousand,
	// though a process was interrupted for some microseconds between the two readings of a pair; poorBaseline is
	// for the case that there is nothing better.
	goodBaseline = 10 * time.Millisecond
	poorBaseline = 100 * time.Microsecond
	// Rates of real counters are between tens of MHz (virtual machines) and the processor's frequency, in ticks per
	// nanosecond.
	minRate, maxRate = 0.005, 20
	// A pair may be off the line through the outermost ones by how long a process can be interrupted between its
	// two readings.
	maxDeviation = 250 * time.Millisecond
)

// calibrate gives every process its clock and sorts them.
func calibrate(processes []*Process, now func() (tsc.Moment, bool)) {
	slices.SortStableFunc(processes, func(a, b *Process) int { return cmp.Compare(bootTime(a.start), bootTime(b.start)) })
	domain := 0
	for first := 0; first < len(processes); {
		end := first + 1
		for end < len(processes) && saturate(bootTime(processes[end].start), -bootTime(processes[first].start)) < int64(sameBoot) {
			end++
		}
		domain = calibrateBoot(processes[first:end], domain, now)
		first = end
	}
	sortProcesses(processes)
}

// bootTime is when CLOCK_BOOTTIME was 0, in CLOCK_REALTIME's nanoseconds.
func bootTime(m tsc.Moment) int64 { return int64(m.Realtime - m.Boottime) }

// calibrateBoot calibrates the processes of one boot and returns the next free domain.
func calibrateBoot(processes []*Process, domain int, now func() (tsc.Moment, bool)) int {
	var counters, clocks []*Process
	for _, p := range processes {
		if p.Clock.Source == SourceTSC {
			counters = append(counters, p)
		} else {
			clocks = append(clocks, p)
		}
	}
	rate, why := counterRate(counters, now)
	together := counters
	if rate.known() {
		together = processes
	}

	// In nanoseconds where the rate is known, from the first start of all.
	origin := uint64(math.MaxUint64)
	for _, p := range together {
		origin = min(origin, p.start.Boottime)
	}
	for _, p := range counters {
		p.Clock.Calibration, p.Clock.domain = why, domain
		if rate.known() {
			p.Clock.PerNano = float64(rate.ticks) / float64(rate.nanos)
			p.Clock.base, p.Clock.num, p.Clock.den = rate.base.Ticks, rate.nanos, rate.ticks
			p.Clock.offset = int64(rate.base.Boottime - origin)
			continue
		}
		p.Clock.Unit, p.Clock.num, p.Clock.den = Ticks, 1, 1
		p.Clock.base = slices.MinFunc(counters, func(a, b *Process) int { return cmp.Compare(a.start.Ticks, b.start.Ticks) }).start.Ticks
	}
	if len(counters) > 0 && !rate.known() {
		domain++
		origin = math.MaxUint64
		for _, p := range clocks {
			origin = min(origin, p.start.Boottime)
		}
	}
	if len(counters) == 0 {
		for _, p := range clocks {
			origin = min(origin, p.start.Boottime)
		}
	}
	for _, p := range clocks {
		p.Clock.PerNano, p.Clock.Calibration = 1, "none needed"
		p.Clock.base, p.Clock.num, p.Clock.den, p.Clock.domain = origin, 1, 1, domain
	}
	return domain + 1
}

// ratio is a counter's rate as the distance between two moments, and the first of them.
type ratio struct {
	base         tsc.Moment
	ticks, nanos uint64
}

func (r ratio) known() bool { return r.ticks != 0 }

func between(a, b tsc.Moment) ratio {
	if b.Ticks <= a.Ticks || b.Boottime <= a.Boottime {
		return ratio{}
	}
	r := ratio{base: a, ticks: b.Ticks - a.Ticks, nanos: b.Boottime - a.Boottime}
	if perNano := float64(r.ticks) / float64(r.nanos); perNano < minRate || perNano > maxRate {
		return ratio{}
	}
	return r
}

// counterRate is the rate of the time stamp counter that the processes share, and where it comes from.
func counterRate(processes []*Process, now func() (tsc.Moment, bool)) (ratio, string) {
	var moments []tsc.Moment
	for _, p := range processes {
		moments = append(moments, p.moments...)
	}
	if len(moments) == 0 {
		return ratio{}, ""
	}
	slices.SortFunc(moments, func(a, b tsc.Moment) int { return cmp.Compare(a.Ticks, b.Ticks) })
	first, last := moments[0], moments[len(moments)-1]
	own := between(first, last)
	if own.nanos >= uint64(goodBaseline) {
		if m, ok := offLine(own, moments); ok {
			return ratio{}, fmt.Sprintf("unknown: the files' pairs of clock values contradict each other at tick %d", m.Ticks)
		}
		return own, fmt.Sprintf("%d pairs of clock values in the files, %v apart", len(moments), time.Duration(own.nanos))
	}
	why := "the clock cannot be read now"
	if fresh, ok := now(); ok {
		why = "they are not of this machine's current boot"
		// The first pair of a process is the one with a CLOCK_REALTIME.
		apart := saturate(bootTime(fresh), -bootTime(processes[0].start))
		if apart < int64(sameBoot) && apart > -int64(sameBoot) {
			why = "the clock's reading now contradicts them"
			// The process may have ended a moment ago.
			if passed := fresh.Boottime - first.Boottime; passed < uint64(goodBaseline) {
				time.Sleep(goodBaseline - time.Duration(passed))
				fresh, _ = now()
			}
			if r := between(first, fresh); r.nanos >= uint64(goodBaseline) {
				return r, fmt.Sprintf("the first pair of clock values in the files and one taken now, %v apart", time.Duration(r.nanos))
			}
		}
	}
	if own.nanos >= uint64(poorBaseline) {
		return own, fmt.Sprintf("%d pairs of clock values in the files, only %v apart", len(moments), time.Duration(own.nanos))
	}
	return ratio{}, "unknown: the files have no two pairs of clock values that are far enough apart, and " + why
}

// offLine finds a moment that is not where the rate puts it.
func offLine(r ratio, moments []tsc.Moment) (tsc.Moment, bool) {
	for _, m := range moments {
		want := saturate(int64(r.base.Boottime), scale(m.Ticks-r.base.Ticks, r.nanos, r.ticks))
		if d := saturate(int64(m.Boottime), -want); d > int64(maxDeviation) || d < -int64(maxDeviation) {
			return m, true
		}
	}
	return tsc.Moment{}, false
}
