package routing_test

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/hipdnnbridge/routing"
	"example.com/miopen_hipdnn_shim/hipdnnbridge/translate"
)

// The reasons in the order in which they are looked at: each case also has all that the ones after it
// are about.
func TestPrecedence(t *testing.T) {
	const conv = routing.ConvolutionForward
	const on, disable, strict = "MIOPEN_HIPDNN_FORWARDING=1", "MIOPEN_DISABLE_HIPDNN_FOR=*", "MIOPEN_HIPDNN_FORWARDING_POLICY=strict"
	native := func(r routing.Reason) routing.Decision { return routing.Decision{Reason: r} }
	forwarded := routing.Decision{Route: routing.HipDNN, Reason: routing.InForwardingSet}
	refused := routing.Decision{Route: routing.HipDNN, Reason: routing.Unavailable, Refuse: true}
	for _, c := range []struct {
		environ   []string
		entry     routing.Entry
		available bool
		decision  routing.Decision
	}{
		{[]string{disable, "MIOPEN_HIPDNN_FORWARDING_CONV=1"}, routing.Create, false, native(routing.ForwardingOff)},
		{[]string{"MIOPEN_HIPDNN_FORWARDING=junk"}, conv, true, native(routing.ForwardingOff)},
		{[]string{on, disable}, routing.Create, false, native(routing.NotInForwardingSet)},
		{[]string{on, disable, strict}, conv, false, native(routing.DisabledByEnv)},
		{[]string{on, "MIOPEN_HIPDNN_FORWARDING_CONV=0"}, conv, true, native(routing.DisabledByEnv)},
		{[]string{on, "MIOPEN_CHECK_NUMERICS=1"}, conv, true, native(routing.DisabledByEnv)},
		{[]string{on}, conv, false, native(routing.Unavailable)},
		{[]string{on, strict}, conv, false, refused},
		{[]string{on}, conv, true, forwarded},
		{[]string{on, strict}, conv, true, forwarded},
	} {
		require.Equal(t, c.decision, routing.New(routing.Parse(c.environ)).Decide(c.entry, c.available), "%v", c.environ)
	}
	require.Equal(t, routing.MIOpen, routing.New(parse()).Decide(200, true).Route)
}

func TestRoutingLine(t *testing.T) {
	const conv = routing.ConvolutionForward
	const six, on = "MIOPEN_LOG_LEVEL=6", "MIOPEN_HIPDNN_FORWARDING=on"
	for _, c := range []struct {
		environ   []string
		entry     routing.Entry
		available bool
		line      string
	}{
		{[]string{six}, conv, true,
			"[MIOpen] hipDNN routing: miopenConvolutionForward mode=disabled route=miopen reason=forwarding-off"},
		{[]string{six, on}, routing.Destroy, true,
			"[MIOpen] hipDNN routing: miopenDestroy mode=enabled route=miopen reason=not-in-forwarding-set"},
		{[]string{six, on, "MIOPEN_DISABLE_HIPDNN_FOR=*"}, conv, true,
			"[MIOpen] hipDNN routing: miopenConvolutionForward mode=enabled route=miopen reason=disabled-by-env"},
		{[]string{six, on}, conv, false,
			"[MIOpen] hipDNN routing: miopenConvolutionForward mode=enabled route=miopen reason=hipdnn-unavailable"},
		{[]string{six, on, "MIOPEN_HIPDNN_FORWARDING_POLICY=strict"}, conv, false,
			"[MIOpen] hipDNN routing: miopenConvolutionForward mode=enabled route=hipdnn reason=hipdnn-unavailable"},
		{[]string{six, on}, conv, true,
			"[MIOpen] hipDNN routing: miopenConvolutionForward mode=enabled route=hipdnn reason=in-forwarding-set"},
		{[]string{"MIOPEN_LOG_LEVEL=7", on}, conv, true, ""},
		{[]string{"MIOPEN_LOG_LEVEL=5", on}, conv, true, ""},
		{[]string{on}, conv, true, ""},
	} {
		r := routing.New(routing.Parse(c.environ))
		line, wanted := r.Line(c.entry, r.Decide(c.entry, c.available))
		require.Equal(t, c.line, line)
		require.Equal(t, c.line != "", wanted)
		_, again := r.Line(c.entry, r.Decide(c.entry, c.available))
		require.False(t, again, "one line for each entry point")
	}
}

func TestRoutingLineOncePerDecision(t *testing.T) {
	r := routing.New(parse("MIOPEN_LOG_LEVEL=6"))
	var lines sync.Map
	var wait sync.WaitGroup
	for range 16 {
		wait.Go(func() {
			for _, e := range []routing.Entry{routing.Create, routing.ConvolutionForward} {
				if line, ok := r.Line(e, r.Decide(e, true)); ok {
					_, twice := lines.LoadOrStore(line, true)
					require.False(t, twice, line)
				}
			}
		})
	}
	wait.Wait()
	count := 0
	lines.Range(func(_, _ any) bool { count++; return true })
	require.Equal(t, 2, count)

	// Another decision is news, and so is the first one after it.
	for _, available := range []bool{false, true} {
		_, ok := r.Line(routing.ConvolutionForward, r.Decide(routing.ConvolutionForward, available))
		require.True(t, ok)
	}
	_, ok := r.Line(200, routing.Decision{})
	require.False(t, ok)
}

func TestNames(t *testing.T) {
	seen := map[string]bool{}
	for e := range routing.Entries {
		name := routing.Entry(e).String()
		require.Regexp(t, "^miopen[A-Z]", name)
		require.False(t, seen[name])
		seen[name] = true
		back, ok := routing.EntryByName(name)
		require.True(t, ok)
		require.Equal(t, routing.Entry(e), back)
	}
	require.Equal(t, "unknown entry point", routing.Entry(routing.Entries).String())
	_, ok := routing.EntryByName("miopenFoo")
	require.False(t, ok)
	require.Equal(t, "unknown", routing.Reason(99).String())

	causes := map[string]bool{}
	for _, c := range []routing.Cause{
		routing.ByForwardingOff, routing.ByNotInForwardingSet, routing.ByDisabledByEnv, routing.ByUnavailable,
		routing.ByFailure, routing.ByCapture, routing.ByForeignHandle, routing.ByOpening,
	} {
		require.False(t, causes[c.String()], c)
		causes[c.String()] = true
	}
	require.Equal(t, "hipdnn-unavailable", routing.ByUnavailable.String())
	for r := range translate.Reasons {
		name := routing.CauseOf(translate.Reason(r)).String()
		require.False(t, causes[name], name)
		causes[name] = true
	}
	require.Equal(t, "declined:group-mismatch", routing.CauseOf(translate.GroupMismatch).String())
	require.Equal(t, routing.CauseOf(translate.NoReason), routing.CauseOf(250))
	require.Equal(t, "unknown", routing.Cause(250).String())
}

func TestCountsAndReport(t *testing.T) {
	const conv = routing.ConvolutionForward
	settings := parse("MIOPEN_HIPDNN_FORWARDING_POLICY=strict")
	r := routing.New(settings)
	require.Contains(t, r.Report(routing.Plans{}), "no hooked operation was called")
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			for range 100 {
				r.CountForwarded(conv)
				r.CountNative(conv, routing.CauseOf(translate.GroupMismatch))
			}
			r.CountNative(conv, routing.ByFailure)
			r.CountFailed(conv)
		})
	}
	wait.Wait()
	forwarded, native, failed := r.Totals()
	require.Equal(t, []uint64{800, 808, 8}, []uint64{forwarded, native, failed})
	require.Equal(t, []routing.EntryCounts{{
		Entry: conv, Forwarded: 800, Failed: 8,
		Native: []routing.NativeCount{{Cause: routing.ByFailure, Calls: 8}, {Cause: routing.CauseOf(translate.GroupMismatch), Calls: 800}},
	}}, r.Counts())

	for i := range 1000 {
		r.ObserveHost(conv, time.Duration(i)*time.Microsecond)
	}
	report := r.Report(routing.Plans{Hits: 7, Waits: 1, Builds: 2, Failures: 3, Evictions: 4})
	for _, want := range []string{
		"policy strict",
		`miopenConvolutionForward │  1616 │       800 │    808 │      8 │`,
		`│ miopenConvolutionForward │ hipdnn-failed           │     8 │`,
		`│ miopenConvolutionForward │ declined:group-mismatch │   800 │`,
		"not profiled",
		"plans: 7 hits, 2 builds, 1 waits for another's build, 3 failures, 4 evictions\n",
	} {
		require.Contains(t, report, want)
	}
	require.Regexp(t, `│ (4[89]|5[01])\d\.?\d*µs +│ (8[789]|9[01])\d\.?\d*µs +│ (9[6-9]|10[0-2])\d\.?\d*µs +│ 999µs`, report)

	r.ObserveDevice(conv, 3*time.Millisecond)
	r.ObserveDevice(conv, -time.Second)
	require.Regexp(t, `│ 3ms +│ 2 +│`, r.Report(routing.Plans{}))
}

// TestUnasked: calls that ended before the library was there are in every account, with a cause of their own.
func TestUnasked(t *testing.T) {
	const conv = routing.ConvolutionForward
	r := routing.New(parse())
	r.CountUnasked(conv, 0, 0)
	require.Empty(t, r.Counts())
	r.CountForwarded(conv)
	r.CountUnasked(conv, 2, 3)
	r.CountUnasked(conv, 1, 0)
	forwarded, native, failed := r.Totals()
	require.Equal(t, []uint64{1, 3, 3}, []uint64{forwarded, native, failed})
	report := r.Report(routing.Plans{})
	require.Contains(t, report, `miopenConvolutionForward │     7 │         1 │      3 │      3 │`)
	require.Contains(t, report, `│ miopenConvolutionForward │ library-opening │     3 │`)
}

// What happens on every call neither allocates nor takes long.
func TestEveryCallDoesNotAllocate(t *testing.T) {
	r := routing.New(parse("MIOPEN_LOG_LEVEL=6"))
	r.Line(routing.ConvolutionForward, r.Decide(routing.ConvolutionForward, true))
	require.Zero(t, testing.AllocsPerRun(100, func() {
		d := r.Decide(routing.ConvolutionForward, true)
		r.Line(routing.ConvolutionForward, d)
		r.CountForwarded(routing.ConvolutionForward)
		r.CountNative(routing.ConvolutionForward, routing.Cause(d.Reason))
		r.ObserveHost(routing.ConvolutionForward, 1234)
	}))
}

func BenchmarkDecideAndCount(b *testing.B) {
	r := routing.New(parse())
	for b.Loop() {
		if r.Decide(routing.ConvolutionForward, true).Route == routing.HipDNN {
			r.CountForwarded(routing.ConvolutionForward)
		}
	}
}
