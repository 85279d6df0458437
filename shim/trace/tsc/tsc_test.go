package tsc_test

import (
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/shim/trace/tsc"
)

func TestNow(t *testing.T) {
	before := time.Now()
	a, ok := tsc.Now()
	require.Equal(t, runtime.GOARCH == "amd64", ok)
	if !ok {
		return
	}
	time.Sleep(20 * time.Millisecond)
	b, ok := tsc.Now()
	require.True(t, ok)
	after := time.Now()
	require.Greater(t, b.Ticks, a.Ticks)
	passed := time.Duration(b.Boottime - a.Boottime)
	require.GreaterOrEqual(t, passed, 20*time.Millisecond)
	require.LessOrEqual(t, passed, after.Sub(before))
	require.InDelta(t, before.UnixNano(), int64(a.Realtime), float64(10*time.Second))
	rate := float64(b.Ticks-a.Ticks) / float64(passed)
	require.Greater(t, rate, 0.005)
	require.Less(t, rate, 20.0)
}
