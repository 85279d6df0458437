package hook

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"
	"unsafe"

	"example.com/miopen_hipdnn_shim/hipdnnbridge/graph"
	"example.com/miopen_hipdnn_shim/hipdnnbridge/hipdnn"
	"example.com/miopen_hipdnn_shim/hipdnnbridge/miopen"
	"example.com/miopen_hipdnn_shim/hipdnnbridge/plan"
	"example.com/miopen_hipdnn_shim/hipdnnbridge/routing"
	"example.com/miopen_hipdnn_shim/hipdnnbridge/translate"
)

// call is a call of miopenConvolutionForward without its problem.
type call struct {
	handle         unsafe.Pointer
	scalars        miopen.Scalars
	buffers        [3]uintptr // x, w, y: in the order of the translated graph's tensors
	workspace      uintptr
	workspaceBytes uint64
	thread         uintptr // names the calling thread
	began          bool    // something may have been enqueued or written
}

func (c *call) translated() translate.Buffers {
	return translate.Buffers{X: c.buffers[0], W: c.buffers[1], Y: c.buffers[2]}
}

// Errors of the bridge's own.
var (
	// errCapturing: the stream is being captured, and the call takes memory that is not there yet.
	errCapturing = errors.New("the stream is being captured, and memory would have to be allocated")
)

// convolutionForward serves a call, or says that MIOpen is to do it: then done is false, and nothing
// was written or enqueued. On the way of a call whose plan is there nothing is allocated.
func (b *bridge) convolutionForward(c *call, problem *[miopen.FlatSize]byte) (status miopen.Status, done bool) {
	const entryPoint = routing.ConvolutionForward
	var began time.Time
	if b.measured {
		began = time.Now()
	}
	decision := b.router.Decide(entryPoint, true)
	var engine *engine
	if decision.Route == routing.HipDNN {
		if engine = b.engine(); engine.err != nil {
			decision = b.router.Decide(entryPoint, false)
		}
	}
	if b.settings.Trace() {
		if line, wanted := b.router.Line(entryPoint, decision); wanted {
			b.writeLine(line)
		}
	}
	if decision.Refuse {
		return b.fail(entryPoint, miopen.StatusInternalError, graph.StatusNotInitialized, engine.err.Error())
	}
	if decision.Route != routing.HipDNN {
		b.router.CountNative(entryPoint, routing.Cause(decision.Reason))
		return 0, false
	}
	h := b.lookup(c.handle)
	if h == nil {
		b.router.CountNative(entryPoint, routing.ByForeignHandle)
		return 0, false
	}
	if r := translate.CheckScalars(c.scalars); r != translate.NoReason {
		return b.declined(entryPoint, r, "")
	}
	p := h.pair.Load()
	if p == nil {
		var err error
		if p, err = h.paired(engine); err != nil {
			return b.failed(entryPoint, err, false)
		}
	}
	cached := p.plans.Find(problem[:])
	hit := cached != nil && !cached.Plan().failed.due()
	if !hit {
		var err error
		if cached, err = b.plan(h, p, problem[:], cached); err != nil {
			return b.failed(entryPoint, err, false)
		}
	}
	defer cached.Release()
	e := cached.Plan()
	if e.plan == nil {
		if e.decline != nil {
			return b.declined(entryPoint, e.decline.Reason, e.decline.Text)
		}
		return b.unbuilt(entryPoint, e.failed)
	}
	if r := e.binding.Check(c.translated()); r != translate.NoReason {
		return b.declined(entryPoint, r, "")
	}
	var enqueuing time.Time
	if b.measured {
		enqueuing = time.Now()
	}
	x, err := h.execute(p, e, c)
	if err != nil {
		if x.Began {
			h.forget(p, problem[:])
		}
		return b.failed(entryPoint, err, x.Began)
	}
	b.router.CountForwarded(entryPoint)
	if !hit {
		b.cold.Add(1)
	}
	if b.measured {
		now := time.Now()
		b.router.ObserveHost(entryPoint, now.Sub(began))
		b.executed(e, now.Sub(enqueuing))
	}
	return miopen.StatusSuccess, true
}

// plan builds the plan of a problem, or waits for whoever does. Stale is nil, or a failed build that is to
// be tried again, which is released.
func (b *bridge) plan(h *handle, p *pair, problem []byte, stale *plan.Entry[*entry]) (*plan.Entry[*entry], error) {
	tries := 0
	if stale != nil {
		tries = stale.Plan().failed.tries
		defer stale.Release()
	}
	h.mu.Lock()
	err := h.follow(p)
	stream := h.stream
	h.mu.Unlock()
	if err == nil {
		err = notCapturing(p.engine.device, stream)
	}
	if err != nil {
		if stale != nil {
			stale.Plan().failed.calls.Store(0) // the next call's turn
		}
		return nil, err
	}
	if stale != nil {
		p.plans.Drop(stale)
	}
	// What else a plan depends on, the process does not change: device, hipDNN, MIOpen's environment.
	var key plan.Key
	if err := key.Set(problem); err != nil {
		return nil, err
	}
	cached, _, err := p.plans.GetOrBuild(&key, func() (*entry, error) { return h.build(p, key.Bytes(), tries) })
	return cached, err
}

// build makes what is to be known of a problem, whose plan could not be built so many times before.
func (h *handle) build(p *pair, flat []byte, tries int) (*entry, error) {
	problem, err := miopen.DecodeFlat(flat)
	if err != nil {
		return nil, err
	}
	e := &entry{h: h}
	g, binding, err := translate.Problem(&problem)
	if err != nil {
		if errors.As(err, &e.decline) {
			return e, nil
		}
		return nil, err
	}
	e.binding = binding
	e.plan, err = h.planOf(p, flat, &g, func() string { return describe(&problem) })
	if err != nil {
		return &entry{h: h, failed: failedBuildOf(err, tries)}, nil
	}
	return e, nil
}

// planOf makes a plan for a graph: from the bytes of one that another handle of the device, or another
// process, has built, if there are any, or from the graph. Of all handles one builds at a time, unless
// its engine cannot share.
func (h *handle) planOf(p *pair, flat []byte, g *graph.Graph, what func() string) (*hipdnn.Plan, error) {
	var key plan.Key
	var rest [16]byte
	binary.LittleEndian.PutUint64(rest[:], uint64(h.device))
	binary.LittleEndian.PutUint64(rest[8:], h.b.settings.Digest)
	if err := key.Set(flat, rest[:]); err != nil {
		return nil, err
	}
	var own *hipdnn.Plan
	shared, _, err := h.b.blueprints.GetOrBuild(&key, func() (bytes blueprint, err error) {
		own, bytes, err = h.blueprint(p, flat, g, what)
		return bytes, err
	})
	if err != nil {
		return nil, err
	}
	defer shared.Release()
	if own != nil {
		return own, nil
	}
	if bytes := shared.Plan(); len(bytes) > 0 {
		start := time.Now()
		restored, err := h.restore(p, bytes, g)
		h.b.timing(func() string {
			return fmt.Sprintf("conv plan restored from another handle's: %v%s", time.Since(start), failureSuffix(err))
		})
		if err == nil {
			return restored, nil
		}
	}
	return h.compile(p, g, what)
}

// blueprint is a serialised plan, empty if the engine cannot serialise it.
type blueprint []byte

// Bytes implements plan.Plan.
func (b blueprint) Bytes() int64 { return int64(len(b)) }

// Close implements plan.Plan.
func (b blueprint) Close() {}

// compile builds a plan from the graph.
func (h *handle) compile(p *pair, g *graph.Graph, what func() string) (built *hipdnn.Plan, err error) {
	var phases hipdnn.Phases
	err = h.on(p.engine.device, func() (err error) {
		built, phases, err = p.hipdnn.Build(g, p.engine.preferred.id)
		return err
	})
	h.b.timing(func() string {
		return fmt.Sprintf("conv plan build: %v (descriptors %v, finalise %v, heuristics %v, config %v, compile %v) workspace %d, %s%s",
			phases.Total(), phases.Descriptors, phases.Finalise, phases.Heuristics, phases.Config, phases.Compile,
			workspaceOf(built), what(), failureSuffix(err))
	})
	if err != nil {
		h.b.buildFailures.Add(1)
		return nil, err
	}
	h.b.builds.Add(1)
	if built.Refused != nil {
		h.b.countRefusal(p, built)
	}
	return built, nil
}

func workspaceOf(p *hipdnn.Plan) uint64 {
	if p == nil {
		return 0
	}
	return p.Workspace
}

func failureSuffix(err error) string {
	if err == nil {
		return ""
	}
	return ": failed: " + err.Error()
}

// describe is a problem in a line of text.
func describe(c *miopen.Convolution) string {
	return fmt.Sprintf("%v x%v w%v y%v strides %v %v %v, pads %v strides %v dilations %v groups %d %v",
		c.X.Type, c.X.Dims, c.W.Dims, c.Y.Dims, c.X.Strides, c.W.Strides, c.Y.Strides,
		c.Pads, c.Strides, c.Dilations, c.Groups, c.Mode)
}

// declined is the end of a call that has no exact translation.
func (b *bridge) declined(entryPoint routing.Entry, r translate.Reason, seen string) (miopen.Status, bool) {
	if b.settings.Policy == routing.Strict {
		d := translate.Decline{Reason: r, Text: seen}
		return b.fail(entryPoint, miopen.StatusUnsupportedOp, graph.StatusNotSupported, d.Error())
	}
	if b.settings.Trace() {
		d := translate.Decline{Reason: r, Text: seen}
		b.sayOnce(entryPoint.String() + ": " + d.Error() + "; MIOpen serves the call")
	}
	b.router.CountNative(entryPoint, routing.CauseOf(r))
	return 0, false
}

// failed is the end of a call that the bridge or hipDNN could not serve. Began: something may have
// been enqueued, so that MIOpen must not serve the call.
func (b *bridge) failed(entryPoint routing.Entry, err error, began bool) (miopen.Status, bool) {
	if began || b.settings.Policy == routing.Strict {
		b.reportFailure(entryPoint, err, "the call fails")
		status, hipdnn, message := translated(err)
		return b.fail(entryPoint, status, hipdnn, message)
	}
	if errors.Is(err, errCapturing) {
		b.router.CountNative(entryPoint, routing.ByCapture)
		return 0, false
	}
	b.reportFailure(entryPoint, err, "MIOpen serves the call")
	b.router.CountNative(entryPoint, routing.ByFailure)
	return 0, false
}

// unbuilt is the end of a call whose plan could not be built, at this call or an earlier one.
func (b *bridge) unbuilt(entryPoint routing.Entry, f *failedBuild) (miopen.Status, bool) {
	if !f.said.Swap(true) || b.settings.Policy == routing.Strict {
		return b.failed(entryPoint, f.err, false)
	}
	b.router.CountNative(entryPoint, routing.ByFailure)
	return 0, false
}

// broken is the end of a call in which this library panicked, with a value that is not nil.
func (b *bridge) broken(entryPoint routing.Entry, c *call, value any) (miopen.Status, bool) {
	return b.failed(entryPoint, fmt.Errorf("internal error of the forwarding library: %v", value), c.began)
}

// fail is the end of a call that returns an error.
func (b *bridge) fail(entryPoint routing.Entry, status miopen.Status, hipdnn graph.Status, message string) (miopen.Status, bool) {
	setError(status, hipdnn, translate.ErrorText(entryPoint.String(), hipdnn, message))
	b.router.CountFailed(entryPoint)
	return status, true
}

// translated returns what an error is in MIOpen and in hipDNN.
func translated(err error) (miopen.Status, graph.Status, string) {
	var call *hipdnn.Error
	if errors.As(err, &call) {
		text := call.Call()
		if call.Message != "" {
			text += ": " + call.Message
		}
		return translate.Status(call.Status), call.Status, text
	}
	status := graph.StatusInternalError
	var hip *hipdnn.HIPError
	if errors.As(err, &hip) && hip.OutOfMemory() {
		status = graph.StatusDeviceAllocationFailed
	}
	return translate.Status(status), status, err.Error()
}
