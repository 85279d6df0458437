package engine

import (
	"sync"

	"example.com/miopen_hipdnn_shim/hipdnnbridge/miopen"
	"example.com/miopen_hipdnn_shim/hipdnnbridge/translate"
	"example.com/miopen_hipdnn_shim/provider/wire"
)

// Handle is one handle of the plugin, and one of MIOpen, which is made when it is first needed. It
// may be used by several goroutines; they wait for each other, since MIOpen's handles are for one
// thread at a time. Bytes that are passed to it are not kept.
type Handle struct {
	m MIOpen

	mu        sync.Mutex
	miopen    Object // 0 until it is needed
	version   [3]uint64
	stream    uintptr
	hasStream bool // SetStream was called: until then it is MIOpen's own choice
	closed    bool
}

// Open makes a handle. It calls nothing of MIOpen.
func Open(m MIOpen) (*Handle, error) {
	if m == nil {
		return nil, fail(StatusInternalError, "there is no MIOpen to run on")
	}
	return &Handle{m: m}, nil
}

// Close ends the handle. Its contexts cannot be executed afterwards and still have to be closed.
func (h *Handle) Close() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return fail(StatusBadParam, "the handle is closed already")
	}
	h.closed = true
	if h.miopen == 0 {
		return nil
	}
	if s := h.m.Destroy(h.miopen); s != miopen.StatusSuccess {
		return failed("miopenDestroy", s, "closing a handle")
	}
	return nil
}

// SetStream makes further executions go to a stream (hipStream_t).
func (h *Handle) SetStream(stream uintptr) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return fail(StatusBadParam, "the handle is closed")
	}
	if h.miopen != 0 {
		if s := h.m.SetStream(h.miopen, stream); s != miopen.StatusSuccess {
			return failed("miopenSetStream", s, "on a handle that is in use")
		}
	}
	h.stream, h.hasStream = stream, true
	return nil
}

// open makes MIOpen's handle if it is not there yet. The lock is held.
func (h *Handle) open() error {
	if h.closed {
		return fail(StatusBadParam, "the handle is closed")
	}
	if h.miopen != 0 {
		return nil
	}
	version, s := h.m.Version()
	if s != miopen.StatusSuccess {
		return failed("miopenGetVersion", s, "making a handle")
	}
	handle, s := h.m.Create()
	if s != miopen.StatusSuccess {
		return failed("miopenCreate", s, "making a handle; is there a device?")
	}
	if h.hasStream {
		if s := h.m.SetStream(handle, h.stream); s != miopen.StatusSuccess {
			h.m.Destroy(handle)
			return failed("miopenSetStream", s, "making a handle")
		}
	}
	h.miopen, h.version = handle, version
	return nil
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
	return h.with(op, e.Deterministic, func(p *problem) error {
		_, err := p.solutions(h.miopen, 1)
		return err
	})
}

// with calls f with the descriptors of an operation, which end afterwards. The lock is held.
func (h *Handle) with(op translate.Operation, deterministic bool, f func(p *problem) error) (err error) {
	if err := h.open(); err != nil {
		return err
	}
	p, err := describe(h.m, op, deterministic)
	if err != nil {
		return err
	}
	defer func() {
		if e := p.objects.close(); err == nil {
			err = e
		}
	}()
	return f(p)
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
// make. It is exact for a convolution alone without benchmarking, and the most of all solutions
// otherwise, since which one it will be is known when they were measured.
func (h *Handle) WorkspaceSize(engineConfig, graph []byte) (uint64, error) {
	c, op, err := read(engineConfig, graph)
	if err != nil {
		return 0, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	var bytes uint64
	err = h.with(op, c.engine.Deterministic, func(p *problem) error {
		if p.fused {
			f, err := p.fuse()
			if err != nil {
				return err
			}
			bytes, err = p.fusedWorkspace(h.miopen, &f)
			bytes = min(bytes, c.limit) // more than the limit would not become a plan
			return err
		}
		found, err := p.solutions(h.miopen, maxSolutions)
		if err != nil {
			return err
		}
		if found, err = p.fitting(found, c.limit); err != nil {
			return err
		}
		if !c.benchmarking {
			found = found[:1]
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
	if err := h.open(); err != nil {
		return nil, err
	}
	p, err := describe(h.m, op, c.engine.Deterministic)
	if err != nil {
		return nil, err
	}
	x := &Context{owner: h, problem: p, config: c, graph: append([]byte(nil), graph...)}
	switch {
	case p.fused:
		x.fusion, x.workspace, err = p.compileFused(h.miopen, c.limit)
	case solution != nil:
		x.solution = *solution
		x.workspace, err = p.compile(h.miopen, x.solution, c.limit)
	default:
		var s Solution
		s, err = p.choose(h.miopen, &c)
		x.solution, x.workspace = s.ID, s.Workspace
	}
	if err != nil {
		p.objects.close() // the failure that led here is the one to tell
		return nil, err
	}
	return x, nil
}
