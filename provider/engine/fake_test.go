package engine_test

import (
	"fmt"

	"example.com/miopen_hipdnn_shim/hipdnnbridge/miopen"
	"example.com/miopen_hipdnn_shim/provider/engine"
)

// fake is a MIOpen that computes nothing. It knows which objects exist, panics when one is used that
// does not or is of another kind, and fails at the call that it is told to.
type fake struct {
	next engine.Object
	live map[engine.Object]string // kind by object

	calls  []string
	failAt int // index into calls; -1: none
	status miopen.Status

	version      [3]uint64
	solutions    []engine.Solution
	found        []engine.Solution // by find 2.0
	fusedBytes   uint64
	oldFusion    bool // cannot give a workspace to fused plans
	uncompilable map[uint64]bool

	stream     uintptr
	streams    map[engine.Object]uintptr // by handle
	attributes map[int32]int32
	own        map[engine.Object]bool // convolutions that are to be deterministic
	compiled   map[string]string      // what was compiled, by handle and what MIOpen takes for the same problem
	devices    devices
	tensors    map[engine.Object]tensor
	run        []string
	ran        string // what was compiled that ran last
	solution   map[engine.Object]engine.Solution
}

// devices are HIP's, as one thread sees them.
type devices struct {
	current int32 // -1: HIP cannot say
	streams map[uintptr]int32
	refused bool                    // no device can be made the current one
	of      map[engine.Object]int32 // where handles were made
	sets    int
}

type tensor struct {
	typ           miopen.DataType
	dims, strides []uint64
}

func newFake() *fake {
	return &fake{
		live: map[engine.Object]string{}, failAt: -1, version: [3]uint64{3, 5, 1},
		solutions: []engine.Solution{{ID: 91, Workspace: 4096}, {ID: 85, Workspace: 0}},
		found:     []engine.Solution{{ID: 85, Workspace: 0}, {ID: 91, Workspace: 4096}},
		tensors:   map[engine.Object]tensor{}, attributes: map[int32]int32{}, solution: map[engine.Object]engine.Solution{},
		streams: map[engine.Object]uintptr{}, own: map[engine.Object]bool{}, compiled: map[string]string{},
		devices: devices{current: -1, streams: map[uintptr]int32{}, of: map[engine.Object]int32{}},
	}
}

// step is the beginning of every call: its status.
func (f *fake) step(call string) miopen.Status {
	f.calls = append(f.calls, call)
	if len(f.calls)-1 == f.failAt {
		return f.status
	}
	return miopen.StatusSuccess
}

func (f *fake) make(call, kind string) (engine.Object, miopen.Status) {
	if s := f.step(call); s != miopen.StatusSuccess {
		return 0, s
	}
	f.next++
	f.live[f.next] = kind
	return f.next, miopen.StatusSuccess
}

func (f *fake) need(o engine.Object, kind string) {
	if f.live[o] != kind {
		panic(fmt.Sprintf("object %d is a %q, not a %q", o, f.live[o], kind))
	}
}

// end destroys an object also when it is to fail: MIOpen leaves nothing that could be tried again.
func (f *fake) end(call string, o engine.Object, kind string) miopen.Status {
	f.need(o, kind)
	delete(f.live, o)
	return f.step(call)
}

func (f *fake) Version() ([3]uint64, miopen.Status) { return f.version, f.step("miopenGetVersion") }
func (f *fake) Create() (engine.Object, miopen.Status) {
	h, s := f.make("miopenCreate", "handle")
	f.devices.of[h] = f.devices.current
	return h, s
}
func (f *fake) Device() int32 { return f.devices.current }
func (f *fake) SetDevice(device int32) int32 {
	if f.devices.refused {
		return 101
	}
	f.devices.current = device
	f.devices.sets++
	return 0
}
func (f *fake) StreamDevice(stream uintptr) int32 {
	if device, ok := f.devices.streams[stream]; ok {
		return device
	}
	return -1
}

// needHandle says that a handle is used while another device is the thread's: MIOpen would change that behind the
// caller's back.
func (f *fake) needHandle(h engine.Object) {
	f.need(h, "handle")
	if f.devices.of[h] != f.devices.current {
		panic(fmt.Sprintf("a handle of device %d is used on device %d", f.devices.of[h], f.devices.current))
	}
}
func (f *fake) Destroy(h engine.Object) miopen.Status {
	f.needHandle(h)
	return f.end("miopenDestroy", h, "handle")
}
func (f *fake) SetStream(h engine.Object, stream uintptr) miopen.Status {
	f.needHandle(h)
	s := f.step("miopenSetStream")
	if s == miopen.StatusSuccess {
		f.stream, f.streams[h] = stream, stream
	}
	return s
}

func (f *fake) CreateTensor() (engine.Object, miopen.Status) {
	return f.make("miopenCreateTensorDescriptor", "tensor")
}
func (f *fake) SetTensor(o engine.Object, typ miopen.DataType, dims, strides []uint64) miopen.Status {
	f.need(o, "tensor")
	f.tensors[o] = tensor{typ, dims, strides}
	return f.step("miopenSetTensorDescriptorV2")
}
func (f *fake) DestroyTensor(o engine.Object) miopen.Status {
	return f.end("miopenDestroyTensorDescriptor", o, "tensor")
}
func (f *fake) CreateConvolution() (engine.Object, miopen.Status) {
	return f.make("miopenCreateConvolutionDescriptor", "convolution")
}
func (f *fake) InitConvolution(o engine.Object, pads, strides, dilations []int32, _ miopen.Mode) miopen.Status {
	f.need(o, "convolution")
	if len(pads) < 2 || len(pads) != len(strides) || len(pads) != len(dilations) {
		panic("pads, strides and dilations")
	}
	return f.step("miopenInitConvolutionNdDescriptor")
}
func (f *fake) SetGroups(o engine.Object, _ int32) miopen.Status {
	f.need(o, "convolution")
	return f.step("miopenSetConvolutionGroupCount")
}
func (f *fake) SetAttribute(o engine.Object, name, value int32) miopen.Status {
	f.need(o, "convolution")
	f.attributes[name], f.own[o] = value, value == 1
	return f.step("miopenSetConvolutionAttribute")
}
func (f *fake) DestroyConvolution(o engine.Object) miopen.Status {
	return f.end("miopenDestroyConvolutionDescriptor", o, "convolution")
}

var calls = [...]string{"miopenConvolutionForward", "miopenConvolutionBackwardData", "miopenConvolutionBackwardWeights"}

func (f *fake) immediate(h engine.Object, c *engine.Convolution, suffix string) miopen.Status {
	f.needHandle(h)
	for _, t := range []engine.Object{c.X, c.W, c.Y} {
		f.need(t, "tensor")
	}
	f.need(c.Conv, "convolution")
	return f.step(calls[c.Direction] + suffix)
}
func (f *fake) Solutions(h engine.Object, c *engine.Convolution, max uint64) ([]engine.Solution, miopen.Status) {
	return f.solutions[:min(max, uint64(len(f.solutions)))], f.immediate(h, c, "GetSolution")
}
func (f *fake) SolutionWorkspace(h engine.Object, c *engine.Convolution, id uint64) (uint64, miopen.Status) {
	if s := f.immediate(h, c, "GetSolutionWorkspaceSize"); s != miopen.StatusSuccess {
		return 0, s
	}
	for _, s := range f.solutions {
		if s.ID == id {
			return s.Workspace, miopen.StatusSuccess
		}
	}
	return 0, miopen.StatusSuccess // MIOpen does not ask a solver that needs none whether it is one for the problem
}

// key is what MIOpen takes for the same problem and solver: strides and attributes are not in it.
func (f *fake) key(h engine.Object, c *engine.Convolution, id uint64) string {
	return fmt.Sprint(h, c.Direction, f.tensors[c.X].dims, f.tensors[c.W].dims, f.tensors[c.Y].dims, id)
}

// Compile takes every solution, and what it finds compiled already.
func (f *fake) Compile(h engine.Object, c *engine.Convolution, id uint64) miopen.Status {
	s := f.immediate(h, c, "CompileSolution")
	if f.uncompilable[id] {
		return miopen.StatusUnknownError
	}
	if _, ok := f.compiled[f.key(h, c, id)]; !ok {
		f.compiled[f.key(h, c, id)] = fmt.Sprintf("deterministic %v", f.own[c.Conv])
	}
	return s
}
func (f *fake) Run(h engine.Object, c *engine.Convolution, at engine.Addresses, workspace uintptr, bytes, id uint64) miopen.Status {
	s := f.immediate(h, c, "Immediate")
	f.record(fmt.Sprintf("%s %v %d/%d solution %d", calls[c.Direction], at, workspace, bytes, id))
	f.ran = f.compiled[f.key(h, c, id)]
	return s
}

// record keeps the last executions; the array is there so that it does not allocate forever.
func (f *fake) record(s string) { f.run = append(f.run, s) }

func (f *fake) CreateProblem(conv engine.Object, _ engine.Direction) (engine.Object, miopen.Status) {
	f.need(conv, "convolution")
	return f.make("miopenCreateConvProblem", "problem")
}
func (f *fake) SetProblemTensor(o engine.Object, _ int32, t engine.Object) miopen.Status {
	f.need(o, "problem")
	f.need(t, "tensor")
	return f.step("miopenSetProblemTensorDescriptor")
}
func (f *fake) DestroyProblem(o engine.Object) miopen.Status {
	return f.end("miopenDestroyProblem", o, "problem")
}
func (f *fake) CreateFindOptions() (engine.Object, miopen.Status) {
	return f.make("miopenCreateFindOptions", "options")
}
func (f *fake) SetFindWorkspaceLimit(o engine.Object, _ uint64) miopen.Status {
	f.need(o, "options")
	return f.step("miopenSetFindOptionWorkspaceLimit")
}
func (f *fake) SetFindResultsOrder(o engine.Object, _ int32) miopen.Status {
	f.need(o, "options")
	return f.step("miopenSetFindOptionResultsOrder")
}
func (f *fake) DestroyFindOptions(o engine.Object) miopen.Status {
	return f.end("miopenDestroyFindOptions", o, "options")
}
func (f *fake) FindSolutions(h, problem, options engine.Object, max uint64) ([]engine.Object, miopen.Status) {
	f.needHandle(h)
	f.need(problem, "problem")
	f.need(options, "options")
	if s := f.step("miopenFindSolutions"); s != miopen.StatusSuccess {
		return nil, s
	}
	var out []engine.Object
	for _, s := range f.found[:min(max, uint64(len(f.found)))] {
		f.next++
		f.live[f.next], f.solution[f.next] = "solution", s
		out = append(out, f.next)
	}
	return out, miopen.StatusSuccess
}
func (f *fake) FoundSolver(o engine.Object) (uint64, miopen.Status) {
	f.need(o, "solution")
	return f.solution[o].ID, f.step("miopenGetSolutionSolverId")
}
func (f *fake) FoundWorkspace(o engine.Object) (uint64, miopen.Status) {
	f.need(o, "solution")
	return f.solution[o].Workspace, f.step("miopenGetSolutionWorkspaceSize")
}
func (f *fake) DestroySolution(o engine.Object) miopen.Status {
	return f.end("miopenDestroySolution", o, "solution")
}

// Operations of a plan are told by numbers of their own: nobody destroys them.
const opBase = 1 << 20

func (f *fake) CreateFusionPlan(input engine.Object) (engine.Object, miopen.Status) {
	f.need(input, "tensor")
	return f.make("miopenCreateFusionPlan", "plan")
}
func (f *fake) CreateOpConvolution(plan, conv, w engine.Object) (engine.Object, miopen.Status) {
	f.need(plan, "plan")
	f.need(conv, "convolution")
	f.need(w, "tensor")
	return opBase + 1, f.step("miopenCreateOpConvForward")
}
func (f *fake) CreateOpBias(plan, bias engine.Object) (engine.Object, miopen.Status) {
	f.need(plan, "plan")
	f.need(bias, "tensor")
	return opBase + 2, f.step("miopenCreateOpBiasForward")
}
func (f *fake) CreateOpActivation(plan engine.Object, _ miopen.ActivationMode) (engine.Object, miopen.Status) {
	f.need(plan, "plan")
	return opBase + 3, f.step("miopenCreateOpActivationForward")
}
func (f *fake) CompileFusionPlan(h, plan engine.Object) miopen.Status {
	f.needHandle(h)
	f.need(plan, "plan")
	return f.step("miopenCompileFusionPlan")
}
func (f *fake) FusionPlanWorkspace(h, plan engine.Object) (uint64, miopen.Status) {
	f.needHandle(h)
	f.need(plan, "plan")
	return f.fusedBytes, f.step("miopenFusionPlanGetWorkSpaceSize")
}
func (f *fake) DestroyFusionPlan(o engine.Object) miopen.Status {
	return f.end("miopenDestroyFusionPlan", o, "plan")
}
func (f *fake) CreateArgs() (engine.Object, miopen.Status) {
	return f.make("miopenCreateOperatorArgs", "args")
}
func (f *fake) op(args, op, want engine.Object, call string) miopen.Status {
	f.need(args, "args")
	if op != want {
		panic("another operation's arguments")
	}
	return f.step(call)
}
func (f *fake) SetArgsConvolution(args, op engine.Object, w uintptr) miopen.Status {
	f.record(fmt.Sprintf("w %d", w))
	return f.op(args, op, opBase+1, "miopenSetOpArgsConvForward")
}
func (f *fake) SetArgsBias(args, op engine.Object, bias uintptr) miopen.Status {
	f.record(fmt.Sprintf("bias %d", bias))
	return f.op(args, op, opBase+2, "miopenSetOpArgsBiasForward")
}
func (f *fake) SetArgsActivation(args, op engine.Object, a miopen.Activation) miopen.Status {
	f.record(fmt.Sprintf("%v %v %v", a.Mode, a.Alpha, a.Beta))
	return f.op(args, op, opBase+3, "miopenSetOpArgsActivForward")
}
func (f *fake) DestroyArgs(o engine.Object) miopen.Status {
	return f.end("miopenDestroyOperatorArgs", o, "args")
}
func (f *fake) FusionWorkspace() bool { return !f.oldFusion }
func (f *fake) ExecuteFusion(h, plan, input engine.Object, x uintptr, output engine.Object, y uintptr, args engine.Object, workspace uintptr, bytes uint64) miopen.Status {
	f.needHandle(h)
	f.need(plan, "plan")
	f.need(input, "tensor")
	f.need(output, "tensor")
	f.need(args, "args")
	f.record(fmt.Sprintf("fused x %d y %d %d/%d", x, y, workspace, bytes))
	return f.step("miopenExecuteFusionPlan")
}

var _ engine.MIOpen = (*fake)(nil)

// still is a MIOpen whose executions do nothing, for counting what the engine itself allocates.
type still struct{ *fake }

func (still) Run(engine.Object, *engine.Convolution, engine.Addresses, uintptr, uint64, uint64) miopen.Status {
	return miopen.StatusSuccess
}
func (still) SetArgsConvolution(_, _ engine.Object, _ uintptr) miopen.Status {
	return miopen.StatusSuccess
}
func (still) SetArgsBias(_, _ engine.Object, _ uintptr) miopen.Status { return miopen.StatusSuccess }
func (still) SetArgsActivation(_, _ engine.Object, _ miopen.Activation) miopen.Status {
	return miopen.StatusSuccess
}
func (still) ExecuteFusion(_, _, _ engine.Object, _ uintptr, _ engine.Object, _ uintptr, _ engine.Object, _ uintptr, _ uint64) miopen.Status {
	return miopen.StatusSuccess
}
