// Package private runs MIOpen through a table of C functions, which the plugin fills with the
// private library's: an engine.MIOpen without a reference to any symbol of MIOpen.
//
// Nothing is decided here. Arguments are put in MIOpen's order and statuses are passed on.
package private

/*
#cgo CFLAGS: -O2 -std=gnu11 -Wall -Wextra
#include "call.h"
*/
import "C"

import (
	"fmt"
	"unsafe"

	"example.com/miopen_hipdnn_shim/hipdnnbridge/miopen"
	"example.com/miopen_hipdnn_shim/provider/engine"
)

// library is the table. It has no state: MIOpen's calls may be made by any thread.
type library struct{ t C.miopen_table }

// Open takes a const struct miopen_private_api *, which has to live as long as the process. It fails
// if the table is of another release or has holes.
func Open(table unsafe.Pointer) (engine.MIOpen, error) {
	t := C.miopen_table(table)
	switch {
	case t == nil:
		return nil, fmt.Errorf("private: there is no table of MIOpen's functions")
	case t.version != C.MIOPEN_PRIVATE_API_VERSION:
		return nil, fmt.Errorf("private: the table of MIOpen's functions has version %d, not %d: the plugin and this library are of different releases",
			t.version, C.MIOPEN_PRIVATE_API_VERSION)
	case uintptr(t.size) != unsafe.Sizeof(*t):
		return nil, fmt.Errorf("private: the table of MIOpen's functions has %d bytes, not %d: the plugin and this library are of different releases",
			t.size, unsafe.Sizeof(*t))
	}
	if missing := C.miopen_private_api_missing(t); missing != nil {
		return nil, fmt.Errorf("private: the table of MIOpen's functions has no %s", C.GoString(missing))
	}
	return &library{t}, nil
}

var _ engine.MIOpen = (*library)(nil)

// made is the result of a call that makes an object.
func made(o C.object, s C.int32_t) (engine.Object, miopen.Status) {
	return engine.Object(o), miopen.Status(s)
}

func (l *library) Version() ([3]uint64, miopen.Status) {
	var v [3]C.size_t
	s := C.call_version(l.t, &v[0], &v[1], &v[2])
	return [3]uint64{uint64(v[0]), uint64(v[1]), uint64(v[2])}, miopen.Status(s)
}

func (l *library) Create() (engine.Object, miopen.Status) {
	var o C.object
	s := C.call_create(l.t, &o)
	return made(o, s)
}

func (l *library) Destroy(handle engine.Object) miopen.Status {
	return miopen.Status(C.call_destroy(l.t, C.object(handle)))
}

func (l *library) SetStream(handle engine.Object, stream uintptr) miopen.Status {
	return miopen.Status(C.call_set_stream(l.t, C.object(handle), C.uintptr_t(stream)))
}

func (l *library) Device() int32 { return int32(C.call_device(l.t)) }

func (l *library) SetDevice(device int32) int32 {
	return int32(C.call_set_device(l.t, C.int32_t(device)))
}

func (l *library) StreamDevice(stream uintptr) int32 {
	return int32(C.call_stream_device(l.t, C.uintptr_t(stream)))
}

func (l *library) CreateTensor() (engine.Object, miopen.Status) {
	var o C.object
	s := C.call_create_tensor(l.t, &o)
	return made(o, s)
}

func (l *library) SetTensor(tensor engine.Object, typ miopen.DataType, dims, strides []uint64) miopen.Status {
	return miopen.Status(C.call_set_tensor(l.t, C.object(tensor), C.int32_t(typ), C.int32_t(len(dims)), sizes(dims), sizes(strides)))
}

// sizes is an array of size_t, which has 64 bits on every machine that MIOpen runs on.
func sizes(v []uint64) *C.size_t { return (*C.size_t)(unsafe.Pointer(unsafe.SliceData(v))) }

func ints(v []int32) *C.int { return (*C.int)(unsafe.Pointer(unsafe.SliceData(v))) }

func (l *library) DestroyTensor(tensor engine.Object) miopen.Status {
	return miopen.Status(C.call_destroy_tensor(l.t, C.object(tensor)))
}

func (l *library) CreateConvolution() (engine.Object, miopen.Status) {
	var o C.object
	s := C.call_create_convolution(l.t, &o)
	return made(o, s)
}

func (l *library) InitConvolution(conv engine.Object, pads, strides, dilations []int32, mode miopen.Mode) miopen.Status {
	return miopen.Status(C.call_init_convolution(l.t, C.object(conv), C.int32_t(len(pads)), ints(pads), ints(strides), ints(dilations), C.int32_t(mode)))
}

func (l *library) SetGroups(conv engine.Object, groups int32) miopen.Status {
	return miopen.Status(C.call_set_groups(l.t, C.object(conv), C.int32_t(groups)))
}

func (l *library) SetAttribute(conv engine.Object, attribute, value int32) miopen.Status {
	return miopen.Status(C.call_set_attribute(l.t, C.object(conv), C.int32_t(attribute), C.int32_t(value)))
}

func (l *library) DestroyConvolution(conv engine.Object) miopen.Status {
	return miopen.Status(C.call_destroy_convolution(l.t, C.object(conv)))
}

func convolution(c *engine.Convolution) C.struct_convolution {
	return C.struct_convolution{
		direction: C.int32_t(c.Direction),
		x:         C.object(c.X), w: C.object(c.W), y: C.object(c.Y), conv: C.object(c.Conv),
	}
}

func (l *library) Solutions(handle engine.Object, c *engine.Convolution, max uint64) ([]engine.Solution, miopen.Status) {
	found := make([]C.struct_miopen_private_solution, max)
	var n C.size_t
	s := C.call_solutions(l.t, C.object(handle), convolution(c), C.size_t(max), &n, unsafe.SliceData(found))
	if s != C.int32_t(miopen.StatusSuccess) {
		return nil, miopen.Status(s)
	}
	out := make([]engine.Solution, min(uint64(n), max))
	for i := range out {
		out[i] = engine.Solution{ID: uint64(found[i].id), Workspace: uint64(found[i].workspace)}
	}
	return out, miopen.StatusSuccess
}

func (l *library) SolutionWorkspace(handle engine.Object, c *engine.Convolution, id uint64) (uint64, miopen.Status) {
	var bytes C.size_t
	s := C.call_solution_workspace(l.t, C.object(handle), convolution(c), C.uint64_t(id), &bytes)
	return uint64(bytes), miopen.Status(s)
}

func (l *library) Compile(handle engine.Object, c *engine.Convolution, id uint64) miopen.Status {
	return miopen.Status(C.call_compile(l.t, C.object(handle), convolution(c), C.uint64_t(id)))
}

func (l *library) Run(handle engine.Object, c *engine.Convolution, at engine.Addresses, workspace uintptr, bytes, id uint64) miopen.Status {
	return miopen.Status(C.call_immediate(l.t, C.object(handle), convolution(c),
		C.uintptr_t(at.X), C.uintptr_t(at.W), C.uintptr_t(at.Y), C.uintptr_t(workspace), C.size_t(bytes), C.uint64_t(id)))
}

func (l *library) CreateProblem(conv engine.Object, direction engine.Direction) (engine.Object, miopen.Status) {
	var o C.object
	s := C.call_create_problem(l.t, &o, C.object(conv), C.int32_t(direction))
	return made(o, s)
}

func (l *library) SetProblemTensor(problem engine.Object, id int32, tensor engine.Object) miopen.Status {
	return miopen.Status(C.call_set_problem_tensor(l.t, C.object(problem), C.int32_t(id), C.object(tensor)))
}

func (l *library) DestroyProblem(problem engine.Object) miopen.Status {
	return miopen.Status(C.call_destroy_problem(l.t, C.object(problem)))
}

func (l *library) CreateFindOptions() (engine.Object, miopen.Status) {
	var o C.object
	s := C.call_create_find_options(l.t, &o)
	return made(o, s)
}

func (l *library) SetFindWorkspaceLimit(options engine.Object, bytes uint64) miopen.Status {
	return miopen.Status(C.call_set_find_workspace_limit(l.t, C.object(options), C.size_t(bytes)))
}

func (l *library) SetFindResultsOrder(options engine.Object, order int32) miopen.Status {
	return miopen.Status(C.call_set_find_results_order(l.t, C.object(options), C.int32_t(order)))
}

func (l *library) DestroyFindOptions(options engine.Object) miopen.Status {
	return miopen.Status(C.call_destroy_find_options(l.t, C.object(options)))
}

func (l *library) FindSolutions(handle, problem, options engine.Object, max uint64) ([]engine.Object, miopen.Status) {
	found := make([]C.object, max)
	var n C.size_t
	s := C.call_find_solutions(l.t, C.object(handle), C.object(problem), C.object(options), unsafe.SliceData(found), &n, C.size_t(max))
	if s != C.int32_t(miopen.StatusSuccess) {
		return nil, miopen.Status(s)
	}
	out := make([]engine.Object, min(uint64(n), max))
	for i := range out {
		out[i] = engine.Object(found[i])
	}
	return out, miopen.StatusSuccess
}

func (l *library) FoundSolver(solution engine.Object) (uint64, miopen.Status) {
	var id C.uint64_t
	s := C.call_get_solution_solver(l.t, C.object(solution), &id)
	return uint64(id), miopen.Status(s)
}

func (l *library) FoundWorkspace(solution engine.Object) (uint64, miopen.Status) {
	var bytes C.size_t
	s := C.call_get_solution_workspace(l.t, C.object(solution), &bytes)
	return uint64(bytes), miopen.Status(s)
}

func (l *library) DestroySolution(solution engine.Object) miopen.Status {
	return miopen.Status(C.call_destroy_solution(l.t, C.object(solution)))
}

func (l *library) CreateFusionPlan(input engine.Object) (engine.Object, miopen.Status) {
	var o C.object
	s := C.call_create_fusion_plan(l.t, &o, C.object(input))
	return made(o, s)
}

func (l *library) CreateOpConvolution(plan, conv, w engine.Object) (engine.Object, miopen.Status) {
	var o C.object
	s := C.call_create_op_convolution(l.t, &o, C.object(plan), C.object(conv), C.object(w))
	return made(o, s)
}

func (l *library) CreateOpBias(plan, bias engine.Object) (engine.Object, miopen.Status) {
	var o C.object
	s := C.call_create_op_bias(l.t, &o, C.object(plan), C.object(bias))
	return made(o, s)
}

func (l *library) CreateOpActivation(plan engine.Object, mode miopen.ActivationMode) (engine.Object, miopen.Status) {
	var o C.object
	s := C.call_create_op_activation(l.t, &o, C.object(plan), C.int32_t(mode))
	return made(o, s)
}

func (l *library) CompileFusionPlan(handle, plan engine.Object) miopen.Status {
	return miopen.Status(C.call_compile_fusion_plan(l.t, C.object(handle), C.object(plan)))
}

func (l *library) FusionPlanWorkspace(handle, plan engine.Object) (uint64, miopen.Status) {
	var bytes C.size_t
	s := C.call_fusion_plan_workspace(l.t, C.object(handle), C.object(plan), &bytes)
	return uint64(bytes), miopen.Status(s)
}

func (l *library) DestroyFusionPlan(plan engine.Object) miopen.Status {
	return miopen.Status(C.call_destroy_fusion_plan(l.t, C.object(plan)))
}

func (l *library) CreateArgs() (engine.Object, miopen.Status) {
	var o C.object
	s := C.call_create_args(l.t, &o)
	return made(o, s)
}

func (l *library) SetArgsConvolution(args, op engine.Object, w uintptr) miopen.Status {
	return miopen.Status(C.call_set_args_convolution(l.t, C.object(args), C.object(op), C.uintptr_t(w)))
}

func (l *library) SetArgsBias(args, op engine.Object, bias uintptr) miopen.Status {
	return miopen.Status(C.call_set_args_bias(l.t, C.object(args), C.object(op), C.uintptr_t(bias)))
}

func (l *library) SetArgsActivation(args, op engine.Object, a miopen.Activation) miopen.Status {
	return miopen.Status(C.call_set_args_activation(l.t, C.object(args), C.object(op), C.double(a.Alpha), C.double(a.Beta), C.double(a.Gamma)))
}

func (l *library) DestroyArgs(args engine.Object) miopen.Status {
	return miopen.Status(C.call_destroy_args(l.t, C.object(args)))
}

func (l *library) FusionWorkspace() bool { return C.call_has_fusion_workspace(l.t) != 0 }

func (l *library) ExecuteFusion(handle, plan, input engine.Object, x uintptr, output engine.Object, y uintptr, args engine.Object, workspace uintptr, bytes uint64) miopen.Status {
	return miopen.Status(C.call_execute_fusion(l.t, C.object(handle), C.object(plan), C.object(input), C.uintptr_t(x),
		C.object(output), C.uintptr_t(y), C.object(args), C.uintptr_t(workspace), C.size_t(bytes)))
}
