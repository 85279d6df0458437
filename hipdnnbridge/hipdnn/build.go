package hipdnn

// #include "backend.h"
import "C"

import (
	"fmt"
	"time"
	"unsafe"

	"example.com/miopen_hipdnn_shim/hipdnnbridge/graph"
)

// Plan is an engine's execution plan for a graph. It does not change after it was built.
type Plan struct {
	session
	plan descriptor
	uids []graph.UID // of the tensors that need memory, in the graph's order
	// Workspace is how many bytes of device memory an execution needs.
	Workspace uint64
	// Refused is why the plan is not of the engine that Build was told to prefer, nil if it is or if
	// none was named.
	Refused error
}

// Phases is how long the steps of a build took.
type Phases struct {
	Descriptors time.Duration // tensors and operations
	Finalise    time.Duration // of the operation graph
	Heuristics  time.Duration // which engines can run it
	Config      time.Duration // of the engines that were tried
	Compile     time.Duration // of the execution plans: engines find and compile kernels here
}

// Total is the time of all phases.
func (p Phases) Total() time.Duration {
	return p.Descriptors + p.Finalise + p.Heuristics + p.Config + p.Compile
}

// lap returns the time since start and moves start to now.
func lap(start *time.Time) time.Duration {
	now := time.Now()
	d := now.Sub(*start)
	*start = now
	return d
}

// Build makes a plan for a graph: with the preferred engine, unless that is 0 or cannot, otherwise with
// the first one of hipDNN's choice that can. The phases are those that were reached, also with an
// error.
func (h *Handle) Build(g *graph.Graph, preferred int64) (*Plan, Phases, error) {
	p := &Plan{session: session{b: h.b}}
	var t Phases
	if err := h.build(g, preferred, p, &t); err != nil {
		p.release()
		return nil, t, err
	}
	return p, t, nil
}

// Serialise returns the plan as bytes, from which Restore makes one for another handle on the same
// device. Not every engine can do that.
func (p *Plan) Serialise() ([]byte, error) {
	var f C.struct_hipdnn_failure
	var size C.size_t
	if C.hipdnn_serialize_plan(p.b.c, p.plan.at, 0, &size, nil, &f) != C.HIPDNN_STATUS_SUCCESS {
		return nil, failureOf(&f, p.plan.what)
	}
	if size == 0 {
		return nil, &Error{graph.StatusInternalError, "hipdnnBackendGetSerializedExecutionPlan_ext", p.plan.what, "no bytes"}
	}
	bytes := make([]byte, size)
	if C.hipdnn_serialize_plan(p.b.c, p.plan.at, size, &size, (*C.uint8_t)(unsafe.SliceData(bytes)), &f) != C.HIPDNN_STATUS_SUCCESS {
		return nil, failureOf(&f, p.plan.what)
	}
	return bytes[:min(int(size), len(bytes))], nil
}

// Restore makes a plan from the bytes of another one that was built for the same graph, by a handle of
// the same device.
func (h *Handle) Restore(bytes []byte, g *graph.Graph) (*Plan, error) {
	p := &Plan{session: session{b: h.b}, plan: descriptor{what: "execution plan"}}
	var f C.struct_hipdnn_failure
	if C.hipdnn_deserialize_plan(h.b.c, h.call.handle, &p.plan.at, (*C.uint8_t)(unsafe.SliceData(bytes)), C.size_t(len(bytes)), &f) != C.HIPDNN_STATUS_SUCCESS {
		return nil, failureOf(&f, "")
	}
	p.made = append(p.made, p.plan)
	p.bind(g)
	p.workspace()
	if p.failure != nil {
		p.release()
		return nil, p.failure
	}
	return p, nil
}

// Close destroys the plan, of which no execution may be pending.
func (p *Plan) Close() { p.release() }

func (h *Handle) build(g *graph.Graph, preferred int64, p *Plan, t *Phases) error {
	clock := time.Now()
	ops, err := p.operations(g)
	t.Descriptors = lap(&clock)
	if err != nil {
		return err
	}
	operations := p.create(C.HIPDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, "operation graph")
	p.set(operations, C.HIPDNN_ATTR_OPERATIONGRAPH_OPS, C.HIPDNN_TYPE_BACKEND_DESCRIPTOR, len(ops), unsafe.Pointer(unsafe.SliceData(ops)))
	p.set(operations, C.HIPDNN_ATTR_OPERATIONGRAPH_HANDLE, C.HIPDNN_TYPE_HANDLE, 1, unsafe.Pointer(&h.call.handle))
	if g.ComputeType.Valid() {
		p.setNumber(operations, C.HIPDNN_ATTR_OPERATIONGRAPH_COMPUTE_DATA_TYPE_EXT, C.HIPDNN_TYPE_DATA_TYPE, g.ComputeType.API())
	}
	if preferred != 0 {
		// What reads the graph is told: engines, and hipDNN's own dumps. It does not change hipDNN's order
		// (EngineHeuristicDescriptor.cpp), so a hipDNN that does not know the attribute is no worse.
		p.offer(operations, C.HIPDNN_ATTR_OPERATIONGRAPH_PREFERRED_ENGINE_ID_EXT, preferred)
	}
	p.finalize(operations)
	t.Finalise = lap(&clock)
	if p.failure != nil {
		return p.failure
	}
	var refused *Error
	if preferred != 0 {
		if refused = p.prefer(operations, preferred, t); refused == nil {
			return nil
		}
		p.Refused = refused
		clock = time.Now()
	}

	heuristics := p.create(C.HIPDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, "engine heuristics")
	p.setDescriptor(heuristics, C.HIPDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, operations)
	p.setNumber(heuristics, C.HIPDNN_ATTR_ENGINEHEUR_MODE, C.HIPDNN_TYPE_HEUR_MODE, C.HIPDNN_HEUR_MODE_FALLBACK)
	p.finalize(heuristics)
	configs := p.configs(heuristics)
	t.Heuristics += lap(&clock)
	if p.failure != nil {
		return p.failure
	}
	none := &Error{graph.StatusNotSupported, "hipdnnBackendGetAttribute", "engine heuristics", "no engine can run the graph"}
	if len(configs) == 0 {
		return refused.weightier(none)
	}
	config, failed := p.choose(configs, t)
	if failed != nil {
		return refused.weightier(failed)
	}
	// What else the heuristics proposed is not needed any more.
	p.dropIf(func(d descriptor) bool {
		return d.at == heuristics.at || d.what == config.what && d.at != config.at
	})
	return nil
}

// configs returns the engine configurations that the heuristics propose, the best first. They are
// descriptors that the caller makes and hipDNN fills.
func (p *Plan) configs(heuristics descriptor) []descriptor {
	const most = 1024 // whatever hipDNN says, more are not tried
	count := min(max(p.get(heuristics, C.HIPDNN_ATTR_ENGINEHEUR_RESULTS, C.HIPDNN_TYPE_BACKEND_DESCRIPTOR, 0, nil), 0), most)
	configs := make([]descriptor, count)
	list := make([]C.uintptr_t, count)
	for i := range configs {
		configs[i] = p.create(C.HIPDNN_BACKEND_ENGINECFG_DESCRIPTOR, "engine configuration")
		list[i] = configs[i].at
	}
	if count == 0 || p.failure != nil {
		return nil
	}
	got := p.get(heuristics, C.HIPDNN_ATTR_ENGINEHEUR_RESULTS, C.HIPDNN_TYPE_BACKEND_DESCRIPTOR, count, unsafe.Pointer(&list[0]))
	return configs[:min(max(got, 0), count)]
}

// prefer makes the plan with one engine, or returns why that cannot be done.
func (p *Plan) prefer(operations descriptor, id int64, t *Phases) *Error {
	made := len(p.made)
	clock := time.Now()
	engine := p.create(C.HIPDNN_BACKEND_ENGINE_DESCRIPTOR, "preferred engine")
	p.setDescriptor(engine, C.HIPDNN_ATTR_ENGINE_OPERATION_GRAPH, operations)
	p.setInt64(engine, C.HIPDNN_ATTR_ENGINE_GLOBAL_INDEX, id)
	p.finalize(engine)
	if p.failure != nil && p.failure.Status == graph.StatusBadParam {
		p.failure.Status = graph.StatusNotSupported // what hipDNN says of an engine that is not there or not applicable
	}
	config := p.create(C.HIPDNN_BACKEND_ENGINECFG_DESCRIPTOR, "engine configuration")
	p.setDescriptor(config, C.HIPDNN_ATTR_ENGINECFG_ENGINE, engine)
	t.Heuristics += lap(&clock)
	if failed := p.attempt(config, t); failed != nil {
		p.drop(made)
		return failed
	}
	p.dropIf(func(d descriptor) bool { return d.at == engine.at })
	return nil
}

// choose makes the plan with the first configuration that works, which it returns, or an error when
// none does.
func (p *Plan) choose(configs []descriptor, t *Phases) (descriptor, *Error) {
	var failed *Error
	for _, config := range configs {
		made := len(p.made)
		err := p.attempt(config, t)
		if err == nil {
			return config, nil
		}
		failed = failed.weightier(err)
		p.drop(made)
	}
	return descriptor{}, failed
}

// attempt makes the plan with a configuration, or returns what failed in that or before it.
func (p *Plan) attempt(config descriptor, t *Phases) *Error {
	clock := time.Now()
	p.finalize(config)
	t.Config += lap(&clock)
	plan := p.create(C.HIPDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, "execution plan")
	p.setDescriptor(plan, C.HIPDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, config)
	p.finalize(plan)
	t.Compile += lap(&clock)
	p.plan = plan
	p.workspace()
	failed := p.failure
	p.failure = nil
	return failed
}

// workspace asks for the size.
func (p *Plan) workspace() {
	var size int64
	p.get(p.plan, C.HIPDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, C.HIPDNN_TYPE_INT64, 1, unsafe.Pointer(&size))
	if p.failure == nil && size < 0 {
		p.failure = &Error{graph.StatusInternalError, "hipdnnBackendGetAttribute", p.plan.what, fmt.Sprintf("a workspace of %d bytes", size)}
	}
	p.Workspace = uint64(size)
}

// bind takes down which tensors need memory.
func (p *Plan) bind(g *graph.Graph) {
	for i := range g.Tensors {
		if !g.Tensors[i].Virtual {
			p.uids = append(p.uids, g.Tensors[i].UID)
		}
	}
}

// operations makes the descriptors of the tensors and nodes, and returns those of the nodes.
func (p *Plan) operations(g *graph.Graph) ([]C.uintptr_t, error) {
	tensors := make(map[graph.UID]descriptor, len(g.Tensors))
	for i := range g.Tensors {
		tensor := &g.Tensors[i]
		tensors[tensor.UID] = p.tensor(tensor)
	}
	p.bind(g)
	if len(p.uids) > MaxTensors {
		return nil, fmt.Errorf("hipdnn: a graph of %d tensors in memory, more than %d", len(p.uids), MaxTensors)
	}
	var ops []C.uintptr_t
	for _, node := range g.Nodes {
		op, err := p.operation(node, tensors)
		if err != nil {
			return nil, err
		}
		p.finalize(op)
		ops = append(ops, op.at)
	}
	return ops, p.error()
}

func (p *Plan) tensor(t *graph.Tensor) descriptor {
	d := p.create(C.HIPDNN_BACKEND_TENSOR_DESCRIPTOR, "tensor "+t.Name)
	p.setInt64(d, C.HIPDNN_ATTR_TENSOR_UNIQUE_ID, int64(t.UID))
	p.setNumber(d, C.HIPDNN_ATTR_TENSOR_DATA_TYPE, C.HIPDNN_TYPE_DATA_TYPE, t.Type.API())
	p.setInt64s(d, C.HIPDNN_ATTR_TENSOR_DIMENSIONS, t.Dims)
	p.setInt64s(d, C.HIPDNN_ATTR_TENSOR_STRIDES, t.Strides)
	virtual := t.Virtual
	p.set(d, C.HIPDNN_ATTR_TENSOR_IS_VIRTUAL, C.HIPDNN_TYPE_BOOLEAN, 1, unsafe.Pointer(&virtual))
	p.finalize(d)
	return d
}

// operand is a tensor of an operation.
type operand struct {
	name C.int
	uid  graph.UID
}

// operation makes an operation's descriptor and leaves the finalising to the caller. It returns an
// error for what this hipDNN has no operation for.
func (p *Plan) operation(node graph.Node, tensors map[graph.UID]descriptor) (descriptor, error) {
	var kind C.int
	var operands []operand
	var geometry *graph.Geometry
	switch n := node.(type) {
	case *graph.ConvolutionForward:
		kind, geometry = C.HIPDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR, &n.Geometry
		operands = []operand{{C.HIPDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, n.X}, {C.HIPDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, n.W},
			{C.HIPDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, n.Y}}
	case *graph.ConvolutionBackwardData:
		kind, geometry = p.b.numbering.backwardData, &n.Geometry
		operands = []operand{{C.HIPDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY, n.DY}, {C.HIPDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W, n.W},
			{C.HIPDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX, n.DX}}
	case *graph.ConvolutionBackwardWeights:
		kind, geometry = C.HIPDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR, &n.Geometry
		operands = []operand{{C.HIPDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X, n.X}, {C.HIPDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY, n.DY},
			{C.HIPDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW, n.DW}}
	}
	if kind == 0 {
		return descriptor{}, &Error{graph.StatusNotSupported, "hipdnnBackendCreateDescriptor", node.Kind(),
			"no descriptor type is known for it in hipDNN " + p.b.Version}
	}
	d := p.create(kind, node.Kind())
	for _, o := range operands {
		p.setDescriptor(d, o.name, tensors[o.uid])
	}
	p.setNumber(d, C.HIPDNN_ATTR_CONVOLUTION_COMP_TYPE, C.HIPDNN_TYPE_DATA_TYPE, geometry.Compute.API())
	p.set(d, C.HIPDNN_ATTR_CONVOLUTION_CONV_MODE, p.b.numbering.modeType, 1, p.b.numbering.mode(geometry.Mode))
	p.setInt64s(d, C.HIPDNN_ATTR_CONVOLUTION_DILATIONS, geometry.Dilations)
	p.setInt64s(d, C.HIPDNN_ATTR_CONVOLUTION_FILTER_STRIDES, geometry.Strides)
	p.setInt64s(d, C.HIPDNN_ATTR_CONVOLUTION_PRE_PADDINGS, geometry.PrePads)
	p.setInt64s(d, C.HIPDNN_ATTR_CONVOLUTION_POST_PADDINGS, geometry.PostPads)
	return d, nil
}
