package routing

import (
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// times are what forwarded calls of an entry point took.
type times struct {
	host   histogram
	device atomic.Uint64 // nanoseconds
	timed  atomic.Uint64 // calls whose device time is known
}

// ObserveHost takes down how long a forwarded call kept its thread.
func (r *Router) ObserveHost(e Entry, d time.Duration) { r.times[e].host.add(uint64(max(d, 0))) }

// ObserveDevice takes down how long a forwarded call kept the device, which is known only while
// profiling is on.
func (r *Router) ObserveDevice(e Entry, d time.Duration) {
	r.times[e].device.Add(uint64(max(d, 0)))
	r.times[e].timed.Add(1)
}

// Plans are the plan cache's numbers for the report, summed over all handles.
type Plans struct {
	Hits, Waits, Builds, Failures, Evictions uint64
	// Engine is the name of the engine that was preferred, "" for none; Others are the plans, built or
	// loaded, that another one serves since it could not.
	Engine string
	Others uint64
	Kept   KeptPlans
}

// KeptPlans are the plans on disk.
type KeptPlans struct {
	Dir string // "" for none
	// Loads are plans that came from there in place of a build, Refused those that hipDNN did not take,
	// Broken files that were no plan of their key, and Removed plans that made room for others.
	Loads, Refused, Saves, Broken, Removed uint64
}

// Report is what happened so far, for people: for each entry point what was forwarded, what MIOpen
// served and why, and what failed; then the plans.
func (r *Router) Report(plans Plans) string {
	counts := r.Counts()
	var b strings.Builder
	b.WriteString("MIOpen calls and hipDNN, policy " + r.settings.Policy.String() + "\n")
	if len(counts) == 0 {
		b.WriteString("no hooked operation was called\n")
	} else {
		calls := newTable("entry point", "calls", "forwarded", "native", "failed")
		causes := newTable("entry point", "native because", "calls")
		host := newTable("entry point", "host p50", "host p90", "host p99", "host max", "device, all", "device, calls")
		for i := range counts {
			c := &counts[i]
			calls.AppendRow(table.Row{c.Entry.String(), c.Forwarded + c.NativeTotal() + c.Failed, c.Forwarded, c.NativeTotal(), c.Failed})
			for _, n := range c.Native {
				causes.AppendRow(table.Row{c.Entry.String(), n.Cause.String(), n.Calls})
			}
			if c.Forwarded > 0 {
				host.AppendRow(r.times[c.Entry].row(c.Entry))
			}
		}
		for _, t := range []table.Writer{calls, causes, host} {
			if t.Length() > 0 {
				b.WriteString(t.Render() + "\n")
			}
		}
	}
	fmt.Fprintf(&b, "plans: %d hits, %d builds, %d waits for another's build, %d failures, %d evictions\n",
		plans.Hits, plans.Builds, plans.Waits, plans.Failures, plans.Evictions)
	if kept := plans.Kept; kept.Dir != "" {
		fmt.Fprintf(&b, "plans on disk: %d loaded, %d saved, %d broken, %d refused by hipDNN, %d removed, in %s\n",
			kept.Loads, kept.Saves, kept.Broken, kept.Refused, kept.Removed, kept.Dir)
	}
	if plans.Engine != "" {
		fmt.Fprintf(&b, "engines: %d plans by %s, %d by others where it could not\n", plans.Builds+plans.Kept.Loads-plans.Others, plans.Engine, plans.Others)
	}
	return b.String()
}

func (t *times) row(e Entry) table.Row {
	row := table.Row{e.String()}
	for _, q := range append(t.host.quantiles(0.5, 0.9, 0.99), t.host.largest.Load()) {
		row = append(row, time.Duration(q).String())
	}
	timed := t.timed.Load()
	if timed == 0 {
		return append(row, "not profiled", "")
	}
	return append(row, time.Duration(t.device.Load()).String(), strconv.FormatUint(timed, 10))
}

func newTable(header ...string) table.Writer {
	t := table.NewWriter()
	style := table.StyleLight
	style.Format.Header = text.FormatDefault
	t.SetStyle(style)
	row := make(table.Row, len(header))
	for i, h := range header {
		row[i] = h
	}
	t.AppendHeader(row)
	return t
}
