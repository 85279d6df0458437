// Package tsc reads the processor's time stamp counter together with the system's clocks.
//
// The counter has no unit of its own; two readings of counter and clock give its rate. That the counter runs evenly and
// alike on all processors is for the caller to know: the wrapper asks CPUID before it uses it.
package tsc

import "golang.org/x/sys/unix"

// Moment is one moment on three clocks.
type Moment struct {
	Ticks     uint64 // of the time stamp counter
	Monotonic uint64 // CLOCK_MONOTONIC, in nanoseconds
	Realtime  uint64 // CLOCK_REALTIME, in nanoseconds since 1970
}

// attempts is how often Now tries to read the counter and the clock close together.
const attempts = 16

// Now reads the clocks. It reports false on a processor without such a counter, or when the system refuses its clocks.
func Now() (Moment, bool) {
	if !available {
		return Moment{}, false
	}
	var best Moment
	width := ^uint64(0)
	for range attempts {
		before := read()
		monotonic, ok := clock(unix.CLOCK_MONOTONIC)
		after := read()
		if !ok {
			return Moment{}, false
		}
		// The thread may have been interrupted between the readings: the closest pair counts.
		if after >= before && after-before < width {
			width = after - before
			best = Moment{Ticks: before + width/2, Monotonic: monotonic}
		}
	}
	monotonic, ok := clock(unix.CLOCK_MONOTONIC)
	realtime, ok2 := clock(unix.CLOCK_REALTIME)
	if !ok || !ok2 || width == ^uint64(0) {
		return Moment{}, false
	}
	best.Realtime = realtime - (monotonic - best.Monotonic)
	return best, true
}

func clock(id int32) (nanoseconds uint64, ok bool) {
	var t unix.Timespec
	if err := unix.ClockGettime(id, &t); err != nil {
		return 0, false
	}
	return uint64(t.Nano()), true
}
