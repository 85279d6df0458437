package hook

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"example.com/miopen_hipdnn_shim/hipdnnbridge/graph"
	"example.com/miopen_hipdnn_shim/hipdnnbridge/hipdnn"
	"example.com/miopen_hipdnn_shim/hipdnnbridge/plan"
	"example.com/miopen_hipdnn_shim/hipdnnbridge/routing"
	"example.com/miopen_hipdnn_shim/hipdnnbridge/translate"
)

// limits bound the plans of a handle. A network has some hundred shapes; what a plan holds is the
// engine's secret, entry.Bytes is a guess.
var limits = plan.Limits{Plans: 1024, Bytes: 64 << 20}

// perThread is hipStreamPerThread: another stream in each thread that passes it.
const perThread = 2

// mostSpaces is how many streams of a handle can have a workspace of the handle's own.
const mostSpaces = 4

// handle is what the bridge knows of a MIOpen handle. Calls of one handle come one at a time, as MIOpen
// wants them; where a host does otherwise, executions are in turn, and plans are built beside them.
type handle struct {
	b      *bridge
	at     unsafe.Pointer // MIOpen's
	device int            // that was current when the handle was made

	// pair is nil until a call of the handle is forwarded. pairError is why there is none; it is kept,
	// since what hipDNN does to make a handle is to load plugins, which is slow and fails the same way
	// again.
	pairing   sync.Mutex
	pair      atomic.Pointer[pair]
	pairError error

	mu        sync.Mutex
	stream    uintptr
	closing   bool
	executed  bool
	spaces    []workspace // the one used last is the last; at most mostSpaces
	retired   []retired
	profiling bool
	timer     hipdnn.Timer
	last      lastTime
}

// pair is the hipDNN handle of a MIOpen handle, and the plans that it built.
type pair struct {
	engine *engine
	hipdnn *hipdnn.Handle
	plans  *plan.Cache[*entry]
	stream uintptr // of the hipDNN handle, under handle.mu
}

// entry is what is known of a problem: a plan, or why there is none.
type entry struct {
	h       *handle
	plan    *hipdnn.Plan
	binding translate.Binding
	decline *translate.Decline // there is no exact translation
	failed  *failedBuild       // the plan could not be built

	warm atomic.Bool // it was executed before
	// Where it was executed, and whether a graph that was captured has it. Under handle.mu.
	stream   uintptr
	executed bool
	streams  bool // on more than one
	captured bool
}

// failedBuild is why there is no plan. Engines compile kernels for a plan, so that a build that fails
// is not tried at every call: at the next one, and then after twice as many calls each time. That no
// engine can run the graph is final.
type failedBuild struct {
	err   error
	final bool
	tries int
	calls atomic.Int64 // that are still to be answered with err
	said  atomic.Bool
}

// failedBuildOf is a failure after tries others.
func failedBuildOf(err error, tries int) *failedBuild {
	const most = 10
	f := &failedBuild{err: err, final: notSupported(err), tries: tries + 1}
	f.calls.Store(1<<min(tries, most) - 1)
	return f
}

// due reports whether the caller, and nobody else, is to try again.
func (f *failedBuild) due() bool { return f != nil && !f.final && f.calls.Add(-1) == -1 }

// Bytes implements plan.Plan. How much an engine keeps for a plan is not told; descriptors and the
// serialised graph are some 10 KiB.
func (e *entry) Bytes() int64 {
	if e.plan == nil {
		return 1 << 10
	}
	return 16 << 10
}

// Close implements plan.Plan.
func (e *entry) Close() {
	if e.plan != nil {
		e.h.retire(e)
	}
}

// workspace is memory of the handle's device, for the work of one stream, which is in order. An
// application that ends a stream waits for it before another one can have its address.
type workspace struct {
	stream, thread uintptr // thread is 0 unless the stream is another one in each
	memory         uintptr
	bytes          uint64
}

// retired is a plan that may still be executing.
type retired struct {
	plan     *hipdnn.Plan
	event    hipdnn.Event // when it is over, 0: not known
	captured bool
}

// lastTime is the last forwarded call's time on the device.
type lastTime struct {
	recorded bool   // the events of the timer are that call's
	native   uint32 // bits of what MIOpen had at that moment
	known    bool   // native is known
	observed bool   // it is in the report
}

// on runs f with the handle's device as the thread's; another thread's capture is let be.
func (h *handle) on(d hipdnn.Device, f func() error) error { return d.On(h.device, f) }

// paired returns the hipDNN handle, which the first caller makes.
func (h *handle) paired(e *engine) (*pair, error) {
	if p := h.pair.Load(); p != nil {
		return p, nil
	}
	h.pairing.Lock()
	defer h.pairing.Unlock()
	if p := h.pair.Load(); p != nil {
		return p, nil
	}
	if h.pairError != nil {
		return nil, h.pairError
	}
	h.mu.Lock()
	stream := h.stream
	h.mu.Unlock()
	if err := notCapturing(e.device, stream); err != nil {
		return nil, err // nothing was tried
	}
	p := &pair{engine: e, stream: stream, plans: plan.New[*entry](limits)}
	h.pairError = h.on(e.device, func() (err error) {
		h.b.meminfo(e.device, "before hipdnnCreate")
		start := time.Now()
		p.hipdnn, err = e.backend.NewHandle(e.device, h.device, stream)
		h.b.timing(func() string { return fmt.Sprintf("hipdnnCreate: %v", time.Since(start)) })
		h.b.meminfo(e.device, "after hipdnnCreate")
		return err
	})
	if h.pairError != nil {
		return nil, h.pairError
	}
	h.pair.Store(p)
	return p, nil
}

// setStream takes down which stream calls are to use. hipDNN is told when there is one: applications
// set the stream far more often than it changes, and hipDNN tells all plugins.
func (h *handle) setStream(stream uintptr) {
	h.mu.Lock()
	h.stream = stream
	h.mu.Unlock()
}

// follow makes the hipDNN handle use the stream that is set. Under h.mu.
func (h *handle) follow(p *pair) error {
	if p.stream == h.stream {
		return nil
	}
	stream := h.stream
	if err := h.on(p.engine.device, func() error { return p.hipdnn.SetStream(stream) }); err != nil {
		return err
	}
	p.stream = stream
	return nil
}

// notCapturing returns errCapturing if a graph is being recorded from the stream.
func notCapturing(d hipdnn.Device, stream uintptr) error {
	capturing, err := d.Capturing(stream)
	if err == nil && capturing {
		return errCapturing
	}
	return err
}

func (h *handle) setProfiling(enabled bool) {
	h.mu.Lock()
	h.profiling = enabled
	h.last = lastTime{}
	h.mu.Unlock()
}

// forgetTime says that the last call that was timed is not the last one any more.
func (h *handle) forgetTime() {
	h.mu.Lock()
	h.last.recorded = false
	h.mu.Unlock()
}

// kernelTime returns the milliseconds that the last forwarded call took on the device, or native if
// MIOpen served something since.
func (h *handle) kernelTime(native float32) float32 {
	h.mu.Lock()
	defer h.mu.Unlock()
	p := h.pair.Load()
	if p == nil || !h.last.recorded || h.last.known && h.last.native != math.Float32bits(native) {
		return native
	}
	var d time.Duration
	err := h.on(p.engine.device, func() (err error) {
		d, err = p.engine.device.Elapsed(h.timer.Start, h.timer.Stop)
		return err
	})
	if err != nil {
		h.b.reportFailure(routing.GetKernelTime, err, "MIOpen's own time is returned")
		h.last.recorded = false
		return native
	}
	if !h.last.observed {
		h.last.observed = true
		h.b.router.ObserveDevice(routing.ConvolutionForward, d)
	}
	return float32(d.Seconds() * 1e3)
}

// events returns the timer for the next execution, zero if it is not to be timed. Under h.mu.
func (h *handle) events(d hipdnn.Device) hipdnn.Timer {
	if !h.profiling {
		return hipdnn.Timer{}
	}
	if h.timer == (hipdnn.Timer{}) {
		h.makeTimer(d)
	}
	return h.timer
}

// makeTimer leaves the timer as it is if there are no events to be had. Under h.mu.
func (h *handle) makeTimer(d hipdnn.Device) {
	_ = h.on(d, func() error { // then the call is not timed
		start, err := d.NewEvent()
		if err != nil {
			return err
		}
		stop, err := d.NewEvent()
		if err != nil {
			_ = d.DestroyEvent(start) // it was made a moment ago and not used
			return err
		}
		h.timer = hipdnn.Timer{Start: start, Stop: stop}
		return nil
	})
}

// execute enqueues a plan. Before it returns an error without having begun, it has enqueued and
// written nothing.
func (h *handle) execute(p *pair, e *entry, c *call) (hipdnn.Execution, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.follow(p); err != nil {
		return hipdnn.Execution{}, err
	}
	memory, err := h.workspace(p, e, c)
	if err != nil {
		return hipdnn.Execution{}, err
	}
	if h.profiling {
		native, known := h.b.nativeTime(h.at)
		h.last = lastTime{native: math.Float32bits(native), known: known}
	}
	timer := h.events(p.engine.device)
	c.began = true // should the bridge itself fail from here on
	x, err := p.hipdnn.Execute(e.plan, c.buffers[:], memory, timer)
	c.began = x.Began
	if x.Began {
		h.executed = true
		e.streams = e.streams || h.stream == perThread || e.executed && e.stream != h.stream
		e.executed, e.stream = true, h.stream
		e.captured = e.captured || x.Captured
	}
	h.last.recorded = x.Timed
	return x, err
}

// workspace returns memory for a plan: the caller's if it is large enough and not in the way,
// otherwise the handle's for the stream. A graph that is captured cannot have that: it would use it
// at any time, beside what comes next on the stream. Under h.mu.
func (h *handle) workspace(p *pair, e *entry, c *call) (uintptr, error) {
	need := e.plan.Workspace
	if need == 0 {
		return 0, nil
	}
	// What hipMalloc returns is aligned, and engines may count on it.
	const alignment = 256
	if c.workspace != 0 && c.workspace%alignment == 0 && c.workspaceBytes >= need &&
		e.binding.CheckWorkspace(c.translated(), c.workspace, uintptr(need)) {
		return c.workspace, nil
	}
	d := p.engine.device
	if err := notCapturing(d, h.stream); err != nil {
		return 0, err
	}
	return h.space(d, c.thread, need)
}

// space returns memory of the handle's own for the work of its stream in a thread. Under h.mu.
func (h *handle) space(d hipdnn.Device, thread uintptr, need uint64) (uintptr, error) {
	if h.stream != perThread {
		thread = 0
	}
	last := len(h.spaces) - 1
	for i := last; i >= 0; i-- {
		if w := h.spaces[i]; w.stream == h.stream && w.thread == thread {
			if i < last {
				h.spaces = append(slices.Delete(h.spaces, i, i+1), w)
			}
			if w.bytes >= need {
				return w.memory, nil
			}
			break
		}
	}
	return h.grow(d, thread, need)
}

// grow gives the stream a workspace. Its old one, which is then the last, goes, and so does the one that
// was not used for longest if there are too many. Under h.mu.
func (h *handle) grow(d hipdnn.Device, thread uintptr, need uint64) (uintptr, error) {
	const unit = 1 << 20
	w := workspace{stream: h.stream, thread: thread, bytes: (need + unit - 1) / unit * unit}
	err := h.on(d, func() (err error) {
		if w.memory, err = d.Allocate(w.bytes); err != nil {
			return err
		}
		gone := -1
		if n := len(h.spaces); n > 0 && h.spaces[n-1].stream == w.stream && h.spaces[n-1].thread == thread {
			gone = n - 1
		} else if n == mostSpaces {
			gone = 0
		}
		if gone >= 0 {
			// Waits for the device: what is enqueued may still write there.
			if err := d.Release(h.spaces[gone].memory); err != nil {
				h.b.reportFailure(routing.ConvolutionForward, err, "a workspace is lost")
			}
			h.spaces = slices.Delete(h.spaces, gone, gone+1)
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	h.spaces = append(h.spaces, w)
	return w.memory, nil
}

// retire ends a plan that the cache has given up, when its last execution is over.
func (h *handle) retire(e *entry) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closing {
		e.plan.Close()
		return
	}
	d := h.pair.Load().engine.device
	r := retired{plan: e.plan, captured: e.captured}
	err := h.on(d, func() error {
		if !e.executed {
			r.close(d)
			return nil
		}
		// The stream of another time may be gone.
		if !e.captured && !e.streams && e.stream == h.stream {
			r.event = h.mark(d)
		}
		h.retired = append(h.retired, r)
		h.sweep(d)
		return nil
	})
	if err != nil { // it goes with the handle
		h.retired = append(h.retired, r)
	}
}

// mark returns an event that was recorded on the stream, 0 if that cannot be done. Under h.mu, on the
// handle's device.
func (h *handle) mark(d hipdnn.Device) hipdnn.Event {
	if notCapturing(d, h.stream) != nil {
		return 0
	}
	event, err := d.NewEvent()
	if err != nil {
		return 0
	}
	if err := d.Record(event, h.stream); err != nil {
		_ = d.DestroyEvent(event) // there is nothing else to be done with it
		return 0
	}
	return event
}

// sweep closes retired plans whose last execution is over. Plans for which that is not known are
// closed many at a time, since the whole device has to be waited for. Under h.mu, on the handle's device.
func (h *handle) sweep(d hipdnn.Device) {
	const most = 32
	unknown := 0
	for _, r := range h.retired {
		if r.event == 0 && !r.captured {
			unknown++
		}
	}
	idle := unknown > most && d.Synchronize() == nil
	left := h.retired[:0]
	for _, r := range h.retired {
		done := idle
		if r.event != 0 {
			var err error
			if done, err = d.Done(r.event); err != nil {
				done = false
			}
		}
		if r.captured || !done {
			left = append(left, r)
			continue
		}
		r.close(d)
	}
	clear(h.retired[len(left):])
	h.retired = left
}

func (r *retired) close(d hipdnn.Device) {
	r.plan.Close()
	if r.event != 0 {
		_ = d.DestroyEvent(r.event) // the plan is what matters
	}
}

// close frees what the handle holds. No call of the handle is under way.
func (h *handle) close() {
	h.mu.Lock()
	h.closing = true
	h.mu.Unlock()
	p := h.pair.Swap(nil)
	if p == nil {
		return
	}
	h.b.keepPlans(p.plans.Statistics())
	d := p.engine.device
	err := h.on(d, func() error {
		if h.executed {
			// Plans and workspaces of executions that are not over must not go.
			if err := d.Synchronize(); err != nil {
				return err
			}
		}
		p.plans.Close()
		for _, r := range h.retired {
			r.close(d)
		}
		start := time.Now()
		err := p.hipdnn.Close()
		h.b.timing(func() string { return fmt.Sprintf("hipdnnDestroy: %v", time.Since(start)) })
		for _, w := range h.spaces {
			if e := d.Release(w.memory); e != nil && err == nil {
				err = e
			}
		}
		for _, event := range []hipdnn.Event{h.timer.Start, h.timer.Stop} {
			if event == 0 {
				continue
			}
			if e := d.DestroyEvent(event); e != nil && err == nil {
				err = e
			}
		}
		return err
	})
	if err != nil {
		h.b.reportFailure(routing.Destroy, err, "what the handle held may be lost")
	}
}

// notSupported reports whether an error is the engines' last word about a graph.
func notSupported(err error) bool {
	var e *hipdnn.Error
	return errors.As(err, &e) && e.Status == graph.StatusNotSupported
}
