package engine

import (
	"fmt"
	"slices"
	"strings"

	"example.com/miopen_hipdnn_shim/hipdnnbridge/graph"
	"example.com/miopen_hipdnn_shim/hipdnnbridge/miopen"
	"example.com/miopen_hipdnn_shim/hipdnnbridge/translate"
)

// owned is an object of MIOpen's and how it ends.
type owned struct {
	object  Object
	destroy func(Object) miopen.Status
	call    string
}

// objects are destroyed in the reverse order of their making.
type objects []owned

// add takes an object over from the call that made it.
func (o *objects) add(object Object, destroy func(Object) miopen.Status, call string) Object {
	*o = append(*o, owned{object, destroy, call})
	return object
}

// close destroys all and returns the first failure.
func (o *objects) close() error {
	var first error
	for i := len(*o) - 1; i >= 0; i-- {
		if s := (*o)[i].destroy((*o)[i].object); s != miopen.StatusSuccess && first == nil {
			first = failed((*o)[i].call, s, "at the end of its use")
		}
	}
	*o = nil
	return first
}

// problem is an operation as MIOpen's descriptors.
type problem struct {
	m       MIOpen
	objects objects
	conv    Convolution
	// names are those of the tensors of conv, X, W and Y.
	names [3]graph.UID

	// What a fused convolution has besides; bias is 0 and activation nil where there is none.
	fused      bool
	bias       Object
	biasName   graph.UID
	activation *miopen.Activation

	shape miopen.Convolution // for messages
}

var directions = [...]struct{ name, calls string }{
	Forward:         {"forward", "miopenConvolutionForward"},
	BackwardData:    {"backward data", "miopenConvolutionBackwardData"},
	BackwardWeights: {"backward weights", "miopenConvolutionBackwardWeights"},
}

// call is the name of a call of immediate mode.
func (p *problem) call(suffix string) string { return directions[p.conv.Direction].calls + suffix }

// String describes the operation for messages.
func (p *problem) String() string {
	var b strings.Builder
	c := &p.shape
	fmt.Fprintf(&b, "%s convolution of %v, x %v strides %v, w %v strides %v, y %v strides %v, pads %v, strides %v, dilations %v, %d groups",
		directions[p.conv.Direction].name, c.X.Type, c.X.Dims, c.X.Strides, c.W.Dims, c.W.Strides, c.Y.Dims, c.Y.Strides,
		c.Pads, c.Strides, c.Dilations, c.Groups)
	if p.bias != 0 {
		b.WriteString(", with bias")
	}
	if p.activation != nil {
		fmt.Fprintf(&b, ", with %v", p.activation.Mode)
	}
	return b.String()
}

// describe makes the descriptors of an operation. Whoever gets the problem closes its objects.
func describe(m MIOpen, op translate.Operation, deterministic bool) (*problem, error) {
	p := &problem{m: m}
	var bias *translate.Bias
	switch op := op.(type) {
	case *translate.ConvolutionForward:
		p.shape, p.names = op.Problem, [3]graph.UID{op.X, op.W, op.Y}
	case *translate.ConvolutionBackwardData:
		p.shape, p.names, p.conv.Direction = op.Problem, [3]graph.UID{op.DX, op.W, op.DY}, BackwardData
	case *translate.ConvolutionBackwardWeights:
		p.shape, p.names, p.conv.Direction = op.Problem, [3]graph.UID{op.X, op.DW, op.DY}, BackwardWeights
	case *translate.ConvolutionBiasActivation:
		if err := fusible(op, deterministic); err != nil {
			return nil, err
		}
		p.shape, p.names, p.fused = op.Problem, [3]graph.UID{op.X, op.W, op.Y}, true
		p.activation, bias = op.Activation, op.Bias
	default:
		return nil, fail(StatusInternalError, "no descriptors for a %T", op)
	}
	if err := p.make(bias, deterministic); err != nil {
		p.objects.close() // the failure that led here is the one to tell
		return nil, err
	}
	return p, nil
}

func (p *problem) make(bias *translate.Bias, deterministic bool) (err error) {
	layout := translate.Packed
	if p.fused {
		layout = translate.Fusable
	}
	c, _ := layout(&p.shape) // or it would have been declined
	for _, t := range []struct {
		to   *Object
		from *miopen.Tensor
	}{{&p.conv.X, &c.X}, {&p.conv.W, &c.W}, {&p.conv.Y, &c.Y}} {
		if *t.to, err = p.tensor(t.from); err != nil {
			return err
		}
	}
	if bias != nil {
		t := translate.PaddedTensor(&bias.Tensor)
		t.Strides = miopen.PackedStrides(t.Dims)
		if p.bias, err = p.tensor(&t); err != nil {
			return err
		}
		p.biasName = bias.UID
	}

	conv, s := p.m.CreateConvolution()
	if s != miopen.StatusSuccess {
		return failed("miopenCreateConvolutionDescriptor", s, p.String())
	}
	p.conv.Conv = p.objects.add(conv, p.m.DestroyConvolution, "miopenDestroyConvolutionDescriptor")
	if s := p.m.InitConvolution(conv, int32s(c.Pads), int32s(c.Strides), int32s(c.Dilations), c.Mode); s != miopen.StatusSuccess {
		return failed("miopenInitConvolutionNdDescriptor", s, p.String())
	}
	if s := p.m.SetGroups(conv, c.Groups); s != miopen.StatusSuccess {
		return failed("miopenSetConvolutionGroupCount", s, p.String())
	}
	if deterministic {
		if s := p.m.SetAttribute(conv, AttributeDeterministic, 1); s != miopen.StatusSuccess {
			return failed("miopenSetConvolutionAttribute(MIOPEN_CONVOLUTION_ATTRIB_DETERMINISTIC, 1)", s, p.String())
		}
	}
	return nil
}

func (p *problem) tensor(t *miopen.Tensor) (Object, error) {
	o, s := p.m.CreateTensor()
	if s != miopen.StatusSuccess {
		return 0, failed("miopenCreateTensorDescriptor", s, p.String())
	}
	p.objects.add(o, p.m.DestroyTensor, "miopenDestroyTensorDescriptor")
	if s := p.m.SetTensor(o, t.Type, uint64s(t.Dims), uint64s(t.Strides)); s != miopen.StatusSuccess {
		return 0, failed("miopenSetTensorDescriptorV2", s, p.String())
	}
	return o, nil
}

// What is converted was checked by translate: it fits.
func int32s(v []int64) []int32 {
	out := make([]int32, len(v))
	for i := range v {
		out[i] = int32(v[i])
	}
	return out
}

func uint64s(v []int64) []uint64 {
	out := make([]uint64, len(v))
	for i := range v {
		out[i] = uint64(v[i])
	}
	return out
}

// unfit are statuses with which MIOpen says of a query that a problem is not for it.
func unfit(s miopen.Status) bool {
	switch s {
	case miopen.StatusBadParm, miopen.StatusInvalidValue, miopen.StatusNotImplemented, miopen.StatusUnsupportedOp:
		return true
	}
	return false
}

// maxSolutions bounds what is asked for; MIOpen has some tens of solvers. Asking it how many there are
// would make it list them.
const maxSolutions = 1 << 8

// solutions asks MIOpen for its solutions, in its own order. None at all is a decline.
func (p *problem) solutions(handle Object) ([]Solution, error) {
	found, s := p.m.Solutions(handle, &p.conv, maxSolutions)
	switch {
	case unfit(s):
		return nil, decline(translate.NoSolution, "MIOpen: %s: %v: %v", p.call("GetSolution"), s, p)
	case s != miopen.StatusSuccess:
		return nil, failed(p.call("GetSolution"), s, p.String())
	case len(found) == 0:
		return nil, decline(translate.NoSolution, "MIOpen has none for a %v", p)
	}
	return found, nil
}

// measured are the solutions that MIOpen measured on the device, the fastest first.
func (p *problem) measured(handle Object, limit uint64) (found []Solution, err error) {
	const most = 32
	var made objects
	defer func() {
		if e := made.close(); err == nil {
			err = e
		}
	}()
	check := func(call string, s miopen.Status) {
		if s != miopen.StatusSuccess && err == nil {
			err = failed(call, s, "benchmarking a "+p.String())
		}
	}
	problem, s := p.m.CreateProblem(p.conv.Conv, p.conv.Direction)
	if check("miopenCreateConvProblem", s); err != nil {
		return nil, err
	}
	made.add(problem, p.m.DestroyProblem, "miopenDestroyProblem")
	for _, t := range []struct {
		id     int32
		tensor Object
	}{{TensorX, p.conv.X}, {TensorW, p.conv.W}, {TensorY, p.conv.Y}} {
		if check("miopenSetProblemTensorDescriptor", p.m.SetProblemTensor(problem, t.id, t.tensor)); err != nil {
			return nil, err
		}
	}
	options, s := p.m.CreateFindOptions()
	if check("miopenCreateFindOptions", s); err != nil {
		return nil, err
	}
	made.add(options, p.m.DestroyFindOptions, "miopenDestroyFindOptions")
	if check("miopenSetFindOptionWorkspaceLimit", p.m.SetFindWorkspaceLimit(options, limit)); err != nil {
		return nil, err
	}
	if check("miopenSetFindOptionResultsOrder", p.m.SetFindResultsOrder(options, ByTime)); err != nil {
		return nil, err
	}
	solutions, s := p.m.FindSolutions(handle, problem, options, most)
	if check("miopenFindSolutions", s); err != nil {
		return nil, err
	}
	for _, o := range solutions {
		made.add(o, p.m.DestroySolution, "miopenDestroySolution")
	}
	for _, o := range solutions {
		id, s := p.m.FoundSolver(o)
		check("miopenGetSolutionSolverId", s)
		bytes, s := p.m.FoundWorkspace(o)
		check("miopenGetSolutionWorkspaceSize", s)
		if err != nil {
			return nil, err
		}
		found = append(found, Solution{id, bytes})
	}
	if len(found) == 0 {
		return nil, decline(translate.NoSolution, "MIOpen's find has none within %d bytes of workspace for a %v", limit, p)
	}
	return found, nil
}

// fitting are the solutions whose workspace is within the limit.
func (p *problem) fitting(found []Solution, limit uint64) ([]Solution, error) {
	fit := make([]Solution, 0, len(found))
	least := uint64(0)
	for i, s := range found {
		if s.Workspace <= limit {
			fit = append(fit, s)
		}
		if i == 0 || s.Workspace < least {
			least = s.Workspace
		}
	}
	if len(fit) == 0 {
		return nil, fail(StatusNotApplicable, "%d bytes of workspace are less than any of %d solutions of MIOpen needs, the least %d: %v",
			limit, len(found), least, p)
	}
	return fit, nil
}

// compile compiles one solution and returns the workspace that it needs.
func (p *problem) compile(handle Object, id, limit uint64) (uint64, error) {
	tried := func() string { return fmt.Sprintf("solution %d of a %v", id, p) }
	bytes, s := p.m.SolutionWorkspace(handle, &p.conv, id)
	if s != miopen.StatusSuccess {
		return 0, failed(p.call("GetSolutionWorkspaceSize"), s, tried())
	}
	if bytes > limit {
		return 0, fail(StatusNotApplicable, "%d bytes of workspace are needed, the limit is %d: %s", bytes, limit, tried())
	}
	if s := p.m.Compile(handle, &p.conv, id); s != miopen.StatusSuccess {
		return 0, failed(p.call("CompileSolution"), s, tried())
	}
	return bytes, nil
}

// restore compiles the solution of a plan that was built before. It has to be one that MIOpen has here
// and now, as it need not be with another device, driver or setting: MIOpen itself compiles any number
// that stands for a solver, for problems that the solver cannot compute, and for solvers of something
// else.
func (p *problem) restore(handle Object, id, limit uint64) (uint64, error) {
	found, err := p.solutions(handle)
	if err != nil {
		return 0, err
	}
	if !slices.ContainsFunc(found, func(s Solution) bool { return s.ID == id }) {
		return 0, fail(StatusInvalidValue, "the serialised context's solution %d is none of the %d that MIOpen has here: build the plan anew: %v",
			id, len(found), p)
	}
	return p.compile(handle, id, limit)
}

// choose compiles the first of the solutions that is within the limit and compiles.
func (p *problem) choose(handle Object, found []Solution, limit uint64) (Solution, error) {
	found, err := p.fitting(found, limit)
	if err != nil {
		return Solution{}, err
	}
	var first error
	var all strings.Builder
	for _, s := range found {
		bytes, err := p.compile(handle, s.ID, limit)
		if err == nil {
			return Solution{s.ID, bytes}, nil
		}
		if first == nil {
			first = err
		} else {
			all.WriteString("; then: " + err.Error())
		}
	}
	e := *first.(*Error)
	e.Text += all.String()
	return Solution{}, &e
}

// fusion is a fusion plan and its operations; those that the problem has not are 0.
type fusion struct {
	plan, args                    Object
	convolution, bias, activation Object
}

// fuse makes the problem's fusion plan, not yet compiled.
func (p *problem) fuse() (f fusion, err error) {
	check := func(call string, s miopen.Status) bool {
		if s != miopen.StatusSuccess {
			err = failed(call, s, p.String())
		}
		return err == nil
	}
	var s miopen.Status
	if f.plan, s = p.m.CreateFusionPlan(p.conv.X); !check("miopenCreateFusionPlan", s) {
		return f, err
	}
	p.objects.add(f.plan, p.m.DestroyFusionPlan, "miopenDestroyFusionPlan")
	if f.convolution, s = p.m.CreateOpConvolution(f.plan, p.conv.Conv, p.conv.W); !check("miopenCreateOpConvForward", s) {
		return f, err
	}
	if p.bias != 0 {
		if f.bias, s = p.m.CreateOpBias(f.plan, p.bias); !check("miopenCreateOpBiasForward", s) {
			return f, err
		}
	}
	if p.activation != nil {
		if f.activation, s = p.m.CreateOpActivation(f.plan, p.activation.Mode); !check("miopenCreateOpActivationForward", s) {
			return f, err
		}
	}
	return f, nil
}

// fusedWorkspace is what MIOpen says that a fusion plan needs: exact after it was compiled, the most
// of all solutions before.
func (p *problem) fusedWorkspace(handle Object, f *fusion) (uint64, error) {
	bytes, s := p.m.FusionPlanWorkspace(handle, f.plan)
	if s != miopen.StatusSuccess {
		return 0, failed("miopenFusionPlanGetWorkSpaceSize", s, p.String())
	}
	return bytes, nil
}

// compileFused makes and compiles the problem's fusion plan, and its arguments.
func (p *problem) compileFused(handle Object, limit uint64) (f fusion, workspace uint64, err error) {
	if f, err = p.fuse(); err != nil {
		return f, 0, err
	}
	if s := p.m.CompileFusionPlan(handle, f.plan); s != miopen.StatusSuccess {
		return f, 0, failed("miopenCompileFusionPlan", s, p.String())
	}
	if workspace, err = p.fusedWorkspace(handle, &f); err != nil {
		return f, 0, err
	}
	switch {
	case workspace > limit:
		return f, 0, fail(StatusNotApplicable, "%d bytes of workspace are needed, the limit is %d: %v", workspace, limit, p)
	case workspace > 0 && !p.m.FusionWorkspace():
		return f, 0, fail(StatusNotApplicable, "%d bytes of workspace are needed, which this MIOpen cannot be given (3.5 can): %v", workspace, p)
	}
	args, s := p.m.CreateArgs()
	if s != miopen.StatusSuccess {
		return f, 0, failed("miopenCreateOperatorArgs", s, p.String())
	}
	f.args = p.objects.add(args, p.m.DestroyArgs, "miopenDestroyOperatorArgs")
	return f, workspace, nil
}
