package engine

import "example.com/miopen_hipdnn_shim/hipdnnbridge/miopen"

// Object is something of MIOpen's: a handle, a descriptor, a plan. 0 is none.
type Object uintptr

// Direction is miopenProblemDirection_t: what of a convolution is computed.
type Direction int32

// The values of miopenProblemDirection_t.
const (
	Forward         Direction = 0
	BackwardData    Direction = 1
	BackwardWeights Direction = 2
)

// Convolution are the descriptors of a convolution. X is what it reads and Y what it gives, whichever
// of the tensors Direction computes.
type Convolution struct {
	Direction     Direction
	X, W, Y, Conv Object
}

// Addresses are where the tensors of a Convolution are.
type Addresses struct {
	X, W, Y uintptr
}

// Solution is miopenConvSolution_t without what nobody asks for.
type Solution struct {
	ID        uint64
	Workspace uint64 // bytes
}

// The numbers of miopenConvolutionAttrib_t, miopenTensorArgumentId_t and miopenFindResultsOrder_t that
// are used.
const (
	AttributeDeterministic = 1 // MIOPEN_CONVOLUTION_ATTRIB_DETERMINISTIC

	TensorX = 1 // miopenTensorConvolutionX
	TensorW = 2 // miopenTensorConvolutionW
	TensorY = 3 // miopenTensorConvolutionY

	ByTime = 0 // miopenFindResultsOrderByTime
)

// MIOpen is the private library of this process. Each method is a call of MIOpen; its name in the
// header is given where it is not the method's. Methods may be called by any number of threads, as
// long as no two use one handle, or an object that one of them changes, at a time.
type MIOpen interface {
	Descriptors
	Immediate
	Find
	Fusion
	Devices

	Version() (v [3]uint64, status miopen.Status) // major, minor, patch
	Create() (handle Object, status miopen.Status)
	Destroy(handle Object) miopen.Status
	SetStream(handle Object, stream uintptr) miopen.Status
}

// Devices is what HIP, which MIOpen runs on, knows of devices. A MIOpen without HIP has none of it.
type Devices interface {
	// Device is the calling thread's device, -1 if that cannot be said.
	Device() int32
	// SetDevice makes a device the calling thread's. The status is hipError_t, 0 for success.
	SetDevice(device int32) (status int32)
	// StreamDevice is the device that a stream is of, -1 if that cannot be said.
	StreamDevice(stream uintptr) int32
}

// Descriptors makes descriptors.
type Descriptors interface {
	CreateTensor() (Object, miopen.Status)
	SetTensor(tensor Object, typ miopen.DataType, dims, strides []uint64) miopen.Status // SetTensorDescriptorV2
	DestroyTensor(tensor Object) miopen.Status

	CreateConvolution() (Object, miopen.Status)
	InitConvolution(conv Object, pads, strides, dilations []int32, mode miopen.Mode) miopen.Status
	SetGroups(conv Object, groups int32) miopen.Status
	SetAttribute(conv Object, attribute, value int32) miopen.Status
	DestroyConvolution(conv Object) miopen.Status
}

// Immediate is MIOpen's immediate mode.
type Immediate interface {
	// Solutions returns at most max solutions, in MIOpen's order.
	Solutions(handle Object, c *Convolution, max uint64) ([]Solution, miopen.Status)
	SolutionWorkspace(handle Object, c *Convolution, id uint64) (uint64, miopen.Status)
	Compile(handle Object, c *Convolution, id uint64) miopen.Status
	// Run enqueues a compiled solution.
	Run(handle Object, c *Convolution, at Addresses, workspace uintptr, bytes, id uint64) miopen.Status
}

// Find is find 2.0, which measures solutions on memory that MIOpen allocates.
type Find interface {
	CreateProblem(conv Object, direction Direction) (Object, miopen.Status)
	SetProblemTensor(problem Object, id int32, tensor Object) miopen.Status
	DestroyProblem(problem Object) miopen.Status
	CreateFindOptions() (Object, miopen.Status)
	SetFindWorkspaceLimit(options Object, bytes uint64) miopen.Status
	SetFindResultsOrder(options Object, order int32) miopen.Status
	DestroyFindOptions(options Object) miopen.Status
	// FindSolutions returns at most max solutions.
	FindSolutions(handle, problem, options Object, max uint64) ([]Object, miopen.Status)
	// FoundSolver is the solution's number in immediate mode.
	FoundSolver(solution Object) (uint64, miopen.Status)
	FoundWorkspace(solution Object) (uint64, miopen.Status)
	DestroySolution(solution Object) miopen.Status
}

// Fusion is MIOpen's fusion of operations. Operations belong to their plan; alpha and beta of all of
// them are 1 and 0.
type Fusion interface {
	CreateFusionPlan(input Object) (Object, miopen.Status)
	CreateOpConvolution(plan, conv, w Object) (Object, miopen.Status)
	CreateOpBias(plan, bias Object) (Object, miopen.Status)
	CreateOpActivation(plan Object, mode miopen.ActivationMode) (Object, miopen.Status)
	CompileFusionPlan(handle, plan Object) miopen.Status
	FusionPlanWorkspace(handle, plan Object) (uint64, miopen.Status)
	DestroyFusionPlan(plan Object) miopen.Status

	CreateArgs() (Object, miopen.Status)
	SetArgsConvolution(args, op Object, w uintptr) miopen.Status
	SetArgsBias(args, op Object, bias uintptr) miopen.Status
	SetArgsActivation(args, op Object, a miopen.Activation) miopen.Status
	DestroyArgs(args Object) miopen.Status

	// FusionWorkspace reports whether fused plans can be given a workspace: MIOpen can from 3.5 on.
	FusionWorkspace() bool
	// ExecuteFusion enqueues a compiled plan.
	ExecuteFusion(handle, plan, input Object, x uintptr, output Object, y uintptr, args Object, workspace uintptr, bytes uint64) miopen.Status
}
