// Package tsc reads the processor's time stamp counter together with the system's clocks.
//
// The counter has no unit of its own; two readings of counter and clock give its rate. The clock is one that counts the
// time that the machine sleeps, in which the counter runs on when only the processors were stopped. That the counter runs
// evenly and alike on all processors is for the caller to know: the wrapper asks CPUID before it uses it.
package tsc

import "golang.org/x/sys/unix"

// Moment is one moment on three clocks.
type Moment struct {
	Ticks    uint64 // of the time stamp counter
	Boottime uint64 // CLOCK_BOOTTIME, in nanoseconds
	Realtime uint64 // CLOCK_REALTIME, in nanoseconds since 1970
}

// attempts is how often Now tries to read the counter and the clock close together.
const attempts = 16

// Now reads the clocks. It reports false on a processor without such a counter, or when the system refuses its clocks.
func Now() (Moment, bool) { return take(unix.ClockGettime) }

func take(gettime func(clock int32, t *unix.Timespec) error) (Moment, bool) {
	if !available {
		return Moment{}, false
	}
	clock := func(id int32) (uint64, bool) {
		var t unix.Timespec
		err := gettime(id, &t)
		return uint64(t.Nano()), err == nil
	}
	var best Moment
	width := ^uint64(0)
	for range attempts {
		before := read()
		boottime, ok := clock(unix.CLOCK_BOOTTIME)
		after := read()
		if !ok {
			return Moment{}, false
		}
		// The thread may have been interrupted between the readings: the closest pair counts.
		if after >= before && after-before < width {
			width = after - before
			best = Moment{Ticks: before + width/2, Boottime: boottime}
		}
	}
	boottime, ok := clock(unix.CLOCK_BOOTTIME)
	realtime, ok2 := clock(unix.CLOCK_REALTIME)
	if !ok || !ok2 || width == ^uint64(0) {
		return Moment{}, false
	}
	best.Realtime = realtime - (boottime - best.Boottime)
	return best, true
}
