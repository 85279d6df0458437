package routing

import (
	"sync/atomic"

	"example.com/miopen_hipdnn_shim/hipdnnbridge/translate"
)

// Route is who serves a call.
type Route uint8

// The routes.
const (
	MIOpen Route = iota
	HipDNN
)

// String is the route's name in the routing line.
func (r Route) String() string {
	if r == HipDNN {
		return "hipdnn"
	}
	return "miopen"
}

// Reason is why a call takes its route, in upstream's words and precedence.
type Reason uint8

// The reasons; the first that holds is the one that is given.
const (
	ForwardingOff Reason = iota
	NotInForwardingSet
	DisabledByEnv
	Unavailable
	InForwardingSet
	routeReasons
)

var routeReasonNames = [routeReasons]string{
	ForwardingOff:      "forwarding-off",
	NotInForwardingSet: "not-in-forwarding-set",
	DisabledByEnv:      "disabled-by-env",
	Unavailable:        "hipdnn-unavailable",
	InForwardingSet:    "in-forwarding-set",
}

// String is the reason's name in the routing line.
func (r Reason) String() string {
	if r >= routeReasons {
		return "unknown"
	}
	return routeReasonNames[r]
}

// Decision is where calls of an entry point go.
type Decision struct {
	Route  Route
	Reason Reason
	// Refuse: hipDNN is not there and the policy is strict, so the call fails with
	// miopenStatusInternalError. Its route is hipdnn all the same, since MIOpen does not serve it.
	Refuse bool
}

// Router decides and counts for one process.
type Router struct {
	settings  *Settings
	decisions [2][Entries]Decision // by whether hipDNN is there
	said      [Entries]atomic.Uint32
	counters  [Entries]counters
	times     [Entries]times
}

// New returns a router with these settings, which are not to be changed any more.
func New(settings *Settings) *Router {
	r := &Router{settings: settings}
	for e := range entries {
		r.decisions[0][e] = settings.decide(e, false)
		r.decisions[1][e] = settings.decide(e, true)
	}
	return r
}

func (s *Settings) decide(e Entry, available bool) Decision {
	switch {
	case !s.Forwarding:
		return Decision{Reason: ForwardingOff}
	case !e.forwarded():
		return Decision{Reason: NotInForwardingSet}
	case s.Disabled[e], entryTable[e].family == convolutions && !s.Conv, s.Native != "":
		return Decision{Reason: DisabledByEnv}
	case !available && s.Policy == Strict:
		return Decision{Route: HipDNN, Reason: Unavailable, Refuse: true}
	case !available:
		return Decision{Reason: Unavailable}
	}
	return Decision{Route: HipDNN, Reason: InForwardingSet}
}

// Decide says where calls of an entry point go, given whether hipDNN could be opened. It is an array
// access.
func (r *Router) Decide(e Entry, available bool) Decision {
	if e >= entries {
		return Decision{Reason: NotInForwardingSet}
	}
	if available {
		return r.decisions[1][e]
	}
	return r.decisions[0][e]
}

// Line returns the routing line of a decision, without newline, and whether it is to be written: when
// routing lines are wanted, for the first call of an entry point and whenever its decision has changed
// since.
func (r *Router) Line(e Entry, d Decision) (string, bool) {
	if !r.settings.Trace() || e >= entries {
		return "", false
	}
	mark := 1 + uint32(d.Route)*uint32(routeReasons) + uint32(d.Reason)
	if r.said[e].Swap(mark) == mark {
		return "", false
	}
	mode := "disabled"
	if r.settings.Forwarding {
		mode = "enabled"
	}
	return "[MIOpen] hipDNN routing: " + e.String() + " mode=" + mode + " route=" + d.Route.String() + " reason=" + d.Reason.String(), true
}

// Outcome is what became of a call in the end.
type Outcome uint8

// The outcomes.
const (
	Forwarded Outcome = iota // hipDNN served it
	Native                   // MIOpen served it
	Failed                   // it was forwarded and returned an error
)

// Cause is why MIOpen served a call.
type Cause uint8

// The causes: a decision's reason, or what came after a decision for hipDNN.
const (
	ByForwardingOff      = Cause(ForwardingOff)
	ByNotInForwardingSet = Cause(NotInForwardingSet)
	ByDisabledByEnv      = Cause(DisabledByEnv)
	ByUnavailable        = Cause(Unavailable)
	// ByFailure: hipDNN failed before anything was enqueued, and the policy is to fall back.
	ByFailure = Cause(routeReasons)
	// ByCapture: the stream is being captured, and serving the call would have needed memory.
	ByCapture = Cause(routeReasons) + 1
	// ByForeignHandle: the handle is not the application's. Engines of hipDNN that run on MIOpen make
	// handles of their own, whose calls must not come back to hipDNN, whatever the policy.
	ByForeignHandle = Cause(routeReasons) + 2
	// ByOpening: the forwarding library was being opened, by a thread that this call could not wait for.
	ByOpening = Cause(routeReasons) + 3
	// ByDecline is the first cause that is a decline; use CauseOf.
	firstDecline = Cause(routeReasons) + 4
	causes       = firstDecline + Cause(translate.Reasons)
)

// CauseOf is the cause of a decline.
func CauseOf(r translate.Reason) Cause {
	if int(r) >= translate.Reasons {
		r = translate.NoReason
	}
	return firstDecline + Cause(r)
}

// String is the cause's name in the report.
func (c Cause) String() string {
	switch {
	case c < Cause(routeReasons):
		return Reason(c).String()
	case c == ByFailure:
		return "hipdnn-failed"
	case c == ByCapture:
		return "capturing-needs-workspace"
	case c == ByForeignHandle:
		return "foreign-handle"
	case c == ByOpening:
		return "library-opening"
	case c < causes:
		return "declined:" + translate.Reason(c-firstDecline).String()
	}
	return "unknown"
}

type counters struct {
	forwarded, failed atomic.Uint64
	native            [causes]atomic.Uint64
}

// CountForwarded counts a call that hipDNN served.
func (r *Router) CountForwarded(e Entry) { r.counters[e].forwarded.Add(1) }

// CountFailed counts a forwarded call that returned an error.
func (r *Router) CountFailed(e Entry) { r.counters[e].failed.Add(1) }

// CountNative counts a call that MIOpen is to serve.
func (r *Router) CountNative(e Entry, c Cause) { r.counters[e].native[c].Add(1) }

// CountUnasked counts calls that ended without the router being asked, since it was not there yet.
func (r *Router) CountUnasked(e Entry, native, failed uint64) {
	r.counters[e].native[ByOpening].Add(native)
	r.counters[e].failed.Add(failed)
}

// NativeCount is a number of calls that MIOpen served for one cause.
type NativeCount struct {
	Cause Cause
	Calls uint64
}

// EntryCounts are the calls of one entry point.
type EntryCounts struct {
	Entry             Entry
	Forwarded, Failed uint64
	Native            []NativeCount // without causes that did not occur
}

// NativeTotal is the number of calls that MIOpen served.
func (c *EntryCounts) NativeTotal() uint64 {
	total := uint64(0)
	for _, n := range c.Native {
		total += n.Calls
	}
	return total
}

// Counts returns what was counted, for entry points that were called. The numbers are of about one
// moment while calls go on.
func (r *Router) Counts() []EntryCounts {
	var out []EntryCounts
	for e := range entries {
		c := EntryCounts{Entry: e, Forwarded: r.counters[e].forwarded.Load(), Failed: r.counters[e].failed.Load()}
		for cause := range causes {
			if n := r.counters[e].native[cause].Load(); n > 0 {
				c.Native = append(c.Native, NativeCount{cause, n})
			}
		}
		if c.Forwarded+c.Failed > 0 || len(c.Native) > 0 {
			out = append(out, c)
		}
	}
	return out
}

// Totals are the sums over all entry points.
func (r *Router) Totals() (forwarded, native, failed uint64) {
	for e := range entries {
		forwarded += r.counters[e].forwarded.Load()
		failed += r.counters[e].failed.Load()
		for cause := range causes {
			native += r.counters[e].native[cause].Load()
		}
	}
	return forwarded, native, failed
}
