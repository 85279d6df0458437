package tsc

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// TestSuspend: while the machine sleeps, CLOCK_MONOTONIC stands; the clock that is read with the counter runs on, as the
// counter does.
func TestSuspend(t *testing.T) {
	if !available {
		return
	}
	asleep := func(clock int32, to *unix.Timespec) error {
		if clock != unix.CLOCK_MONOTONIC {
			return unix.ClockGettime(clock, to)
		}
		*to = unix.Timespec{Sec: 1000}
		return nil
	}
	before := time.Now()
	a, ok := take(asleep)
	require.True(t, ok)
	time.Sleep(20 * time.Millisecond)
	b, ok := take(asleep)
	require.True(t, ok)
	passed := time.Duration(b.Boottime - a.Boottime)
	require.GreaterOrEqual(t, passed, 20*time.Millisecond)
	require.LessOrEqual(t, passed, time.Since(before))

	_, ok = take(func(int32, *unix.Timespec) error { return errors.New("no clock") })
	require.False(t, ok)
}
