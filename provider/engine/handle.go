package engine

import (
	"reflect"
	"sync"

	"example.com/miopen_hipdnn_shim/hipdnnbridge/miopen"
	"example.com/miopen_hipdnn_shim/hipdnnbridge/translate"
	"example.com/miopen_hipdnn_shim/provider/wire"
)

// Handle is one handle of the plugin. It may be used by several goroutines; they wait for each other,
// since MIOpen's handles are for one thread at a time. Bytes that are passed to it are not kept.
//
// Plans of the two engines are compiled on two handles of MIOpen: MIOpen keeps what it compiled by a
// key in which the deterministic attribute is not, so that on one handle the second engine would run
// what the first one compiled. Strides are not in the key either, but there is nothing to tell apart:
// those of a shape in a layout are always the same (translate.Packed). Handles of MIOpen are made when
// they are needed, since each has device memory; questions are asked on any.
//
// All handles of MIOpen are of one device, and whatever is done with them is done with that device
// being the calling thread's. The thread's own is put back.
type Handle struct {
	m MIOpen

	mu        sync.Mutex
	device    int32     // -1: not known, or not yet
	compiling [2]Object // the engines' handles of MIOpen, 0 until they are needed
	answers   [2]answer // to the engines
	spare     Object    // one that no engine has yet
	stream    uintptr
	hasStream bool // SetStream was called: until then it is MIOpen's own choice
	closed    bool
}

// answer is MIOpen's list for the problem that it was last asked about. hipDNN asks several times about
// a graph before it has the plan built, which takes the answer with it: the next plan is built by what
// MIOpen says then. MIOpen's order is another one, and a better one, once somebody had it find, be it
// the application or another process, so that a list is not kept for longer, nor for other handles. Of
// an answer that no plan took one plan can be built later, whose solution is valid all the same. What a
// network computes for its list MIOpen remembers by itself.
type answer struct {
	direction Direction
	problem   miopen.Convolution
	solutions []Solution // none: there is no answer
}

// of is the index of what is an engine's own.
func of(e *Engine) int {
	if e.Deterministic {
		return 1
	}
	return 0
}

// solutions is problem.solutions, asked once for a graph. The lock is held.
func (h *Handle) solutions(e *Engine, p *problem, handle Object) ([]Solution, error) {
	a := &h.answers[of(e)]
	if a.solutions != nil && a.direction == p.conv.Direction && reflect.DeepEqual(a.problem, p.shape) {
		return a.solutions, nil
	}
	found, err := p.solutions(handle)
	*a = answer{p.conv.Direction, p.shape, found}
	return found, err
}

// candidates are the solutions that a plan may have, the one to be preferred first. The lock is held.
func (h *Handle) candidates(c *config, p *problem, handle Object) ([]Solution, error) {
	if c.benchmarking {
		h.answers = [2]answer{}
		return p.measured(handle, c.limit)
	}
	found, err := h.solutions(c.engine, p, handle)
	h.answers[of(c.engine)] = answer{}
	return found, err
}

// Open makes a handle. It calls nothing of MIOpen.
func Open(m MIOpen) (*Handle, error) {
	if m == nil {
		return nil, fail(StatusInternalError, "there is no MIOpen to run on")
	}
	return &Handle{m: m, device: -1}, nil
}

// OnDevice says which device of HIP's the handle is for, before it is used: that which was the
// thread's when hipDNN's handle was made. Without it, or with -1, it is the thread's device when
// MIOpen is first needed. A stream that is set before that has the last word.
func (h *Handle) OnDevice(device int32) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.opened() {
		return fail(StatusBadParam, "the handle has a device already")
	}
	h.device = max(device, -1)
	return nil
}

// handles calls f for each handle of MIOpen that there is, until one fails.
func (h *Handle) handles(f func(handle Object) error) error {
	for _, o := range [...]Object{h.spare, h.compiling[0], h.compiling[1]} {
		if o == 0 {
			continue
		}
		if err := f(o); err != nil {
			return err
		}
	}
	return nil
}

func (h *Handle) opened() bool {
	return h.spare != 0 || h.compiling[0] != 0 || h.compiling[1] != 0
}

// enter makes the handle's device the calling thread's, and returns the one that leave has to put
// back, -1 for none. Neither allocates. The lock is held.
func (h *Handle) enter() (left int32, err error) {
	if h.device < 0 {
		return -1, nil
	}
	now := h.m.Device()
	if now == h.device {
		return -1, nil
	}
	if s := h.m.SetDevice(h.device); s != 0 {
		return -1, fail(StatusInternalError, "hipSetDevice(%d): hipError %d", h.device, s)
	}
	return now, nil
}

// leave puts the thread's device back. What cannot be put back, the caller's next call of HIP says.
func (h *Handle) leave(left int32) {
	if left >= 0 {
		h.m.SetDevice(left)
	}
}

// Close ends the handle. Its contexts cannot be executed afterwards and still have to be closed.
func (h *Handle) Close() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return fail(StatusBadParam, "the handle is closed already")
	}
	h.closed = true
	left, first := h.enter()
	defer h.leave(left)
	h.handles(func(o Object) error {
		if s := h.m.Destroy(o); s != miopen.StatusSuccess && first == nil {
			first = failed("miopenDestroy", s, "closing a handle")
		}
		return nil
	})
	return first
}

// Numbers that HIP takes for streams: the null stream, hipStreamLegacy and hipStreamPerThread. They
// are of whatever device is the thread's.
const lastStreamNumber = 2

// SetStream makes further executions go to a stream (hipStream_t), which has to be of the handle's
// device once that was used.
func (h *Handle) SetStream(stream uintptr) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return fail(StatusBadParam, "the handle is closed")
	}
	if stream > lastStreamNumber {
		switch device := h.m.StreamDevice(stream); {
		case device < 0:
		case !h.opened():
			h.device = device
		case h.device >= 0 && device != h.device:
			return fail(StatusInvalidValue, "the stream is of device %d and the handle's plans are compiled for device %d: use a handle of its own for each device",
				device, h.device)
		}
	}
	left, err := h.enter()
	if err != nil {
		return err
	}
	defer h.leave(left)
	if err := h.handles(func(o Object) error {
		if s := h.m.SetStream(o, stream); s != miopen.StatusSuccess {
			return failed("miopenSetStream", s, "on a handle that is in use")
		}
		return nil
	}); err != nil {
		return err
	}
	h.stream, h.hasStream = stream, true
	return nil
}

// open makes a handle of MIOpen, on the thread's device. The lock is held.
func (h *Handle) open() (Object, error) {
	if h.device < 0 {
		h.device = h.m.Device()
	}
	handle, s := h.m.Create()
	if s != miopen.StatusSuccess {
		return 0, failed("miopenCreate", s, "making a handle; is there a device?")
	}
	if h.hasStream {
		if s := h.m.SetStream(handle, h.stream); s != miopen.StatusSuccess {
			h.m.Destroy(handle)
			return 0, failed("miopenSetStream", s, "making a handle")
		}
	}
	return handle, nil
}

// any is a handle of MIOpen to ask questions on, nothing that compiles. The lock is held.
func (h *Handle) any() (o Object, err error) {
	for _, o := range [...]Object{h.spare, h.compiling[0], h.compiling[1]} {
		if o != 0 {
			return o, nil
		}
	}
	h.spare, err = h.open()
	return h.spare, err
}

// compiler is an engine's own handle of MIOpen. The lock is held.
func (h *Handle) compiler(e *Engine) (Object, error) {
	own := &h.compiling[of(e)]
	if *own != 0 {
		return *own, nil
	}
	if h.spare != 0 {
		*own, h.spare = h.spare, 0
		return *own, nil
	}
	var err error
	*own, err = h.open()
	return *own, err
}

// Applicable returns the ids of the engines that can run a graph. Nothing is compiled. A graph that
// none can run is an *Error of StatusNotApplicable, which wraps a *translate.Decline: an answer, not
// a failure.
func (h *Handle) Applicable(graph []byte) ([]int64, error) {
	op, err := readOperation(graph)
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil, fail(StatusBadParam, "the handle is closed")
	}
	var ids []int64
	var reason error
	for i := range Engines {
		err := h.applies(&Engines[i], op)
		switch {
		case err == nil:
			ids = append(ids, Engines[i].ID)
		case isDecline(err):
			reason = err
		default:
			return nil, err
		}
	}
	if len(ids) == 0 {
		return nil, reason
	}
	return ids, nil
}

// applies returns nil if the engine can run the operation, or why not.
func (h *Handle) applies(e *Engine, op translate.Operation) (err error) {
	if f, ok := op.(*translate.ConvolutionBiasActivation); ok {
		return fusible(f, e.Deterministic) // MIOpen cannot say without compiling
	}
	return h.with(op, e, func(p *problem, handle Object) error {
		_, err := h.solutions(e, p, handle)
		return err
	})
}

// with calls f with the descriptors of an operation, which end afterwards, and a handle of MIOpen to
// ask questions on. The lock is held.
func (h *Handle) with(op translate.Operation, e *Engine, f func(p *problem, handle Object) error) (err error) {
	if h.closed {
		return fail(StatusBadParam, "the handle is closed")
	}
	left, err := h.enter()
	if err != nil {
		return err
	}
	defer h.leave(left)
	handle, err := h.any()
	if err != nil {
		return err
	}
	p, err := describe(h.m, op, e.Deterministic)
	if err != nil {
		return err
	}
	defer func() {
		if e := p.objects.close(); err == nil {
			err = e
		}
	}()
	return f(p, handle)
}

// Details is the serialised EngineDetails of an engine for a graph.
func (h *Handle) Details(id int64, graph []byte) ([]byte, error) {
	e, err := engineOf(id)
	if err != nil {
		return nil, err
	}
	if _, err := readOperation(graph); err != nil {
		return nil, err
	}
	return wire.WriteEngineDetails(details(e)), nil
}

// WorkspaceSize is the number of bytes of workspace that suffice for the plan that Prepare would
// make, whichever solution it takes: the most that any needs of those that MIOpen lists and that are
// within the limit. Which one it will be is known when it was compiled, and the context then says what
// it needs. With benchmarking it is an estimate, since MIOpen's find knows solutions that are not in
// its list.
func (h *Handle) WorkspaceSize(engineConfig, graph []byte) (uint64, error) {
	c, op, err := read(engineConfig, graph)
	if err != nil {
		return 0, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	var bytes uint64
	err = h.with(op, c.engine, func(p *problem, handle Object) error {
		if p.fused {
			f, err := p.fuse()
			if err != nil {
				return err
			}
			bytes, err = p.fusedWorkspace(handle, &f)
			bytes = min(bytes, c.limit) // more than the limit would not become a plan
			return err
		}
		found, err := h.solutions(c.engine, p, handle)
		if err != nil {
			return err
		}
		if found, err = p.fitting(found, c.limit); err != nil {
			return err
		}
		for _, s := range found {
			bytes = max(bytes, s.Workspace)
		}
		return nil
	})
	return bytes, err
}

// Prepare builds the plan of an engine configuration for a graph: it chooses a solution and compiles
// it. The context is of this handle.
func (h *Handle) Prepare(engineConfig, graph []byte) (*Context, error) {
	c, op, err := read(engineConfig, graph)
	if err != nil {
		return nil, err
	}
	return h.build(c, op, graph, nil)
}

func read(engineConfig, graph []byte) (config, translate.Operation, error) {
	c, err := readConfig(engineConfig)
	if err != nil {
		return c, nil, err
	}
	op, err := readOperation(graph)
	return c, op, err
}

// build makes a context, with the solution of that number if there is one.
func (h *Handle) build(c config, op translate.Operation, graph []byte, solution *uint64) (*Context, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil, fail(StatusBadParam, "the handle is closed")
	}
	left, err := h.enter()
	if err != nil {
		return nil, err
	}
	defer h.leave(left)
	version, s := h.m.Version()
	if s != miopen.StatusSuccess {
		return nil, failed("miopenGetVersion", s, "building a plan")
	}
	handle, err := h.compiler(c.engine)
	if err != nil {
		return nil, err
	}
	p, err := describe(h.m, op, c.engine.Deterministic)
	if err != nil {
		return nil, err
	}
	x := &Context{owner: h, miopen: handle, problem: p, config: c, graph: append([]byte(nil), graph...), version: version}
	switch {
	case p.fused:
		x.fusion, x.workspace, err = p.compileFused(handle, c.limit)
	case solution != nil:
		x.solution = *solution
		x.workspace, err = p.restore(handle, x.solution, c.limit)
	default:
		var found []Solution
		var s Solution
		if found, err = h.candidates(&c, p, handle); err == nil {
			s, err = p.choose(handle, found, c.limit)
		}
		x.solution, x.workspace = s.ID, s.Workspace
	}
	if err != nil {
		p.objects.close() // the failure that led here is the one to tell
		return nil, err
	}
	return x, nil
}
