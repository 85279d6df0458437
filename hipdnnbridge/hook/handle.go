package hook

import (
	"encoding/binary"
	"fmt"
	"math"
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

// handle is what the bridge knows of a MIOpen handle.
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
	spaces    map[uintptr]*workspace // by stream: work on one stream is in order, so that it can share
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
	digest [8]byte // of the environment, for the plans' keys
	stream uintptr // of the hipDNN handle, under handle.mu
}

// entry is what is known of a problem: a plan, or why there is none.
type entry struct {
	h       *handle
	plan    *hipdnn.Plan
	binding translate.Binding
	decline *translate.Decline // there is no exact translation
	failure error              // no engine can run it

	warm atomic.Bool // it was executed before
	// Where it was executed last, and whether a graph that was captured has it. Under handle.mu.
	stream   uintptr
	executed bool
	captured bool
}

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

// workspace is memory of the handle's device.
type workspace struct {
	memory uintptr
	bytes  uint64
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

// on runs f with the handle's device as the thread's.
func (h *handle) on(d hipdnn.Device, f func() error) error {
	before, err := d.Current()
	if err != nil {
		return err
	}
	if before == h.device {
		return f()
	}
	if err := d.Use(h.device); err != nil {
		return err
	}
	// If the thread's device cannot be set back, the next call of HIP tells the application.
	defer func() { _ = d.Use(before) }()
	return f()
}

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
	if capturing, err := e.device.Capturing(stream); err != nil || capturing {
		return nil, errCapturing // nothing was tried
	}
	p := &pair{engine: e, stream: stream, plans: plan.New[*entry](limits)}
	binary.LittleEndian.PutUint64(p.digest[:], h.b.settings.Digest)
	h.pairError = h.on(e.device, func() (err error) {
		h.b.meminfo(e.device, "before hipdnnCreate")
		start := time.Now()
		p.hipdnn, err = e.backend.NewHandle(e.device, stream)
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
	if err := p.hipdnn.SetStream(h.stream); err != nil {
		return err
	}
	p.stream = h.stream
	return nil
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
	d, err := p.engine.device.Elapsed(h.timer.Start, h.timer.Stop)
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
		start, err := d.NewEvent()
		if err != nil {
			return hipdnn.Timer{}
		}
		stop, err := d.NewEvent()
		if err != nil {
			_ = d.DestroyEvent(start) // it was made a moment ago and not used
			return hipdnn.Timer{}
		}
		h.timer = hipdnn.Timer{Start: start, Stop: stop}
	}
	return h.timer
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
	x, err := p.hipdnn.Execute(e.plan, c.buffers[:], memory, h.events(p.engine.device))
	if x.Began {
		h.executed = true
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
	if capturing, err := d.Capturing(h.stream); err != nil || capturing {
		return 0, errCapturing
	}
	own := h.spaces[h.stream]
	if own == nil || own.bytes < need {
		var err error
		if own, err = h.grow(d, own, need); err != nil {
			return 0, err
		}
	}
	return own.memory, nil
}

// grow gives the stream a larger workspace than old.
func (h *handle) grow(d hipdnn.Device, old *workspace, need uint64) (*workspace, error) {
	const unit = 1 << 20
	w := &workspace{bytes: (need + unit - 1) / unit * unit}
	err := h.on(d, func() (err error) {
		w.memory, err = d.Allocate(w.bytes)
		return err
	})
	if err != nil {
		return nil, err
	}
	if old != nil {
		if err := d.Release(old.memory); err != nil { // waits for the device
			h.b.reportFailure(routing.ConvolutionForward, err, "a workspace is lost")
		}
	}
	if h.spaces == nil {
		h.spaces = map[uintptr]*workspace{}
	}
	h.spaces[h.stream] = w
	return w, nil
}

// retire ends a plan that the cache has given up, when its last execution is over.
func (h *handle) retire(e *entry) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closing || !e.executed {
		e.plan.Close()
		return
	}
	d := h.pair.Load().engine.device
	r := retired{plan: e.plan, captured: e.captured}
	// The stream of another time may be gone.
	if !e.captured && e.stream == h.stream {
		r.event = h.mark(d)
	}
	h.retired = append(h.retired, r)
	h.sweep(d)
}

// mark returns an event that was recorded on the stream, 0 if that cannot be done. Under h.mu.
func (h *handle) mark(d hipdnn.Device) hipdnn.Event {
	if capturing, err := d.Capturing(h.stream); err != nil || capturing {
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
// closed many at a time, since the whole device has to be waited for. Under h.mu.
func (h *handle) sweep(d hipdnn.Device) {
	const most = 32
	unknown := 0
	for _, r := range h.retired {
		if r.event == 0 && !r.captured {
			unknown++
		}
	}
	idle := unknown > most && h.on(d, d.Synchronize) == nil
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
	e, ok := err.(*hipdnn.Error)
	return ok && e.Status == graph.StatusNotSupported
}
