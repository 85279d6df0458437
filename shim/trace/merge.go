package trace

import (
	"container/heap"
	"iter"
)

// Event is a call with where it was made.
type Event struct {
	*Call
	Process *Process
	Thread  *Thread
}

// Name is the function's.
func (e Event) Name() string { return e.Process.Functions[e.Function] }

// Since is when the call began, in the unit of the process's clock.
func (e Event) Since() int64 { return e.Process.Clock.Since(e.Clock) }

// InTimeOrder yields every call of all processes and threads in the order of their times. Within a thread the order is
// that of the sequence numbers, whatever the clock says. Processes whose clocks cannot be compared, because they ran
// before and after a boot of the machine, or because the rate of their counter is not known, come one after the other.
func (t *Trace) InTimeOrder() iter.Seq[Event] {
	return func(yield func(Event) bool) {
		var h heads
		for i, p := range t.Processes {
			for _, thread := range p.Threads {
				if len(thread.Calls) > 0 {
					h = append(h, head{process: p, thread: thread, order: i, since: p.Clock.Since(thread.Calls[0].Clock)})
				}
			}
		}
		heap.Init(&h)
		for len(h) > 0 {
			top := &h[0]
			if !yield(Event{Call: &top.thread.Calls[top.next], Process: top.process, Thread: top.thread}) {
				return
			}
			top.next++
			if top.next == len(top.thread.Calls) {
				heap.Pop(&h)
				continue
			}
			top.since = top.process.Clock.Since(top.thread.Calls[top.next].Clock)
			heap.Fix(&h, 0)
		}
	}
}

// head is the next call of a thread.
type head struct {
	process *Process
	thread  *Thread
	order   int // of the process
	next    int
	since   int64
}

type heads []head

func (h heads) Len() int { return len(h) }

func (h heads) Less(i, j int) bool {
	a, b := &h[i], &h[j]
	switch {
	case a.process.Clock.domain != b.process.Clock.domain:
		return a.process.Clock.domain < b.process.Clock.domain
	case a.since != b.since:
		return a.since < b.since
	case a.order != b.order:
		return a.order < b.order
	}
	return a.thread.Ring < b.thread.Ring
}

func (h heads) Swap(i, j int) { h[i], h[j] = h[j], h[i] }

// Push is never called: the heap only shrinks.
func (h *heads) Push(x any) { *h = append(*h, x.(head)) }

// Pop takes the last one off.
func (h *heads) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}
