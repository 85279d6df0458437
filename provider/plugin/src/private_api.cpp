// The table of provider/private/api.h over the library that the plugin is linked against. This file
// is compiled with the interface copts of that library: miopenFoo is miopenFoo_impl here. It is C++
// since miopen.h has functions that only C++ can read, and uses nothing of C++'s run time.

// Where tensors are set with sizes of more than 32 bits.
#define MIOPEN_BETA_API 1

#include "private_api.h"

#include <miopen/miopen.h>
#include <miopen/version.h>

#include <cstdlib>
#include <dlfcn.h>
#include <pthread.h>

#define VERSION_AT_LEAST(major, minor)                                                             \
  (MIOPEN_VERSION_MAJOR > (major) ||                                                               \
   (MIOPEN_VERSION_MAJOR == (major) && MIOPEN_VERSION_MINOR >= (minor)))

namespace {

// From the table's types to MIOpen's: pointers to its structures, and enumerations.
struct Opaque {
  void *pointer;
  template <class Object> operator Object *() const {
    return static_cast<Object *>(pointer);
  }
};
Opaque in(void *pointer) {
  return {pointer};
}

struct OpaqueOut {
  void **pointer;
  template <class Object> operator Object **() const {
    return reinterpret_cast<Object **>(pointer);
  }
};
OpaqueOut out(void **pointer) {
  return {pointer};
}

static_assert(sizeof(miopenStatus_t) == sizeof(int32_t), "statuses are passed as 32 bits");
static_assert(MIOPEN_PRIVATE_FORWARD == miopenProblemDirectionForward, "");
static_assert(MIOPEN_PRIVATE_BACKWARD_DATA == miopenProblemDirectionBackward, "");
static_assert(MIOPEN_PRIVATE_BACKWARD_WEIGHTS == miopenProblemDirectionBackwardWeights, "");
// What provider/engine (miopen.go) has as numbers. A test holds this list against that one.
static_assert(MIOPEN_CONVOLUTION_ATTRIB_DETERMINISTIC == 1, "AttributeDeterministic");
static_assert(miopenTensorConvolutionX == 1, "TensorX");
static_assert(miopenTensorConvolutionW == 2, "TensorW");
static_assert(miopenTensorConvolutionY == 3, "TensorY");
static_assert(miopenFindResultsOrderByTime == 0, "ByTime");

// miopenConvSolution_t has another layout.
template <class Get>
int32_t get_solutions(size_t max, size_t *count, miopen_private_solution *solutions, Get get) {
  auto *own = static_cast<miopenConvSolution_t *>(calloc(max ? max : 1, sizeof *own));
  if (!own)
    return miopenStatusAllocFailed;
  miopenStatus_t status = get(own);
  if (status == miopenStatusSuccess) {
    if (*count > max)
      *count = max;
    for (size_t i = 0; i < *count; i++)
      solutions[i] = {own[i].solution_id, own[i].workspace_size, own[i].time, own[i].algorithm};
  }
  free(own);
  return status;
}

int32_t get_version(size_t *major, size_t *minor, size_t *patch) {
  return miopenGetVersion(major, minor, patch);
}

int32_t create(void **handle) {
  return miopenCreate(out(handle));
}
int32_t destroy(void *handle) {
  return miopenDestroy(in(handle));
}
int32_t set_stream(void *handle, void *stream) {
  return miopenSetStream(in(handle), in(stream));
}

int32_t create_tensor(void **tensor) {
  return miopenCreateTensorDescriptor(out(tensor));
}
int32_t set_tensor(void *tensor, int32_t type, int32_t rank, const size_t *dims,
                   const size_t *strides) {
  return miopenSetTensorDescriptorV2(in(tensor), static_cast<miopenDataType_t>(type), rank, dims,
                                     strides);
}
int32_t destroy_tensor(void *tensor) {
  return miopenDestroyTensorDescriptor(in(tensor));
}

int32_t create_convolution(void **conv) {
  return miopenCreateConvolutionDescriptor(out(conv));
}
int32_t init_convolution(void *conv, int32_t spatial, const int *pads, const int *strides,
                         const int *dilations, int32_t mode) {
  return miopenInitConvolutionNdDescriptor(in(conv), spatial, pads, strides, dilations,
                                           static_cast<miopenConvolutionMode_t>(mode));
}
int32_t set_groups(void *conv, int32_t groups) {
  return miopenSetConvolutionGroupCount(in(conv), groups);
}
int32_t set_attribute(void *conv, int32_t attribute, int32_t value) {
  return miopenSetConvolutionAttribute(in(conv), static_cast<miopenConvolutionAttrib_t>(attribute),
                                       value);
}
int32_t destroy_convolution(void *conv) {
  return miopenDestroyConvolutionDescriptor(in(conv));
}

// The four functions of a direction differ in their names only. Their tensors all have one type, so
// that it is on api.h to give their order.
#define DIRECTION(prefix)                                                                          \
  struct prefix {                                                                                  \
    static int32_t solutions(void *handle, void *a_desc, void *b_desc, void *conv, void *c_desc,   \
                             size_t max, size_t *count, miopen_private_solution *solutions) {      \
      return get_solutions(max, count, solutions, [=](miopenConvSolution_t *own) {                 \
        return miopenConvolution##prefix##GetSolution(in(handle), in(a_desc), in(b_desc),          \
                                                      in(conv), in(c_desc), max, count, own);      \
      });                                                                                          \
    }                                                                                              \
    static int32_t solution_workspace(void *handle, void *a_desc, void *b_desc, void *conv,        \
                                      void *c_desc, uint64_t solution, size_t *bytes) {            \
      return miopenConvolution##prefix##GetSolutionWorkspaceSize(                                  \
          in(handle), in(a_desc), in(b_desc), in(conv), in(c_desc), solution, bytes);              \
    }                                                                                              \
    static int32_t compile(void *handle, void *a_desc, void *b_desc, void *conv, void *c_desc,     \
                           uint64_t solution) {                                                    \
      return miopenConvolution##prefix##CompileSolution(in(handle), in(a_desc), in(b_desc),        \
                                                        in(conv), in(c_desc), solution);           \
    }                                                                                              \
    static int32_t immediate(void *handle, void *a_desc, const void *a, void *b_desc,              \
                             const void *b, void *conv, void *c_desc, void *c, void *workspace,    \
                             size_t workspace_bytes, uint64_t solution) {                          \
      return miopenConvolution##prefix##Immediate(in(handle), in(a_desc), a, in(b_desc), b,        \
                                                  in(conv), in(c_desc), c, workspace,              \
                                                  workspace_bytes, solution);                      \
    }                                                                                              \
    static constexpr miopen_private_direction table() {                                            \
      return {solutions, solution_workspace, compile, immediate};                                  \
    }                                                                                              \
  }
DIRECTION(Forward);
DIRECTION(BackwardData);
DIRECTION(BackwardWeights);
#undef DIRECTION

int32_t create_problem(void **problem, void *conv, int32_t direction) {
  return miopenCreateConvProblem(out(problem), in(conv),
                                 static_cast<miopenProblemDirection_t>(direction));
}
int32_t set_problem_tensor(void *problem, int32_t id, void *tensor) {
  return miopenSetProblemTensorDescriptor(in(problem), static_cast<miopenTensorArgumentId_t>(id),
                                          in(tensor));
}
int32_t destroy_problem(void *problem) {
  return miopenDestroyProblem(in(problem));
}
int32_t create_find_options(void **options) {
  return miopenCreateFindOptions(out(options));
}
int32_t set_find_workspace_limit(void *options, size_t bytes) {
  return miopenSetFindOptionWorkspaceLimit(in(options), bytes);
}
int32_t set_find_results_order(void *options, int32_t order) {
  return miopenSetFindOptionResultsOrder(in(options), static_cast<miopenFindResultsOrder_t>(order));
}
int32_t destroy_find_options(void *options) {
  return miopenDestroyFindOptions(in(options));
}
int32_t find_solutions(void *handle, void *problem, void *options, void **solutions, size_t *found,
                       size_t max) {
  return miopenFindSolutions(in(handle), in(problem), in(options), out(solutions), found, max);
}
int32_t get_solution_solver(void *solution, uint64_t *solver) {
  return miopenGetSolutionSolverId(in(solution), solver);
}
int32_t get_solution_workspace(void *solution, size_t *bytes) {
  return miopenGetSolutionWorkspaceSize(in(solution), bytes);
}
int32_t destroy_solution(void *solution) {
  return miopenDestroySolution(in(solution));
}

int32_t create_fusion_plan(void **plan, int32_t direction, void *input_desc) {
  return miopenCreateFusionPlan(out(plan), static_cast<miopenFusionDirection_t>(direction),
                                in(input_desc));
}
int32_t create_op_convolution(void *plan, void **op, void *conv, void *w_desc) {
  return miopenCreateOpConvForward(in(plan), out(op), in(conv), in(w_desc));
}
int32_t create_op_bias(void *plan, void **op, void *bias_desc) {
  return miopenCreateOpBiasForward(in(plan), out(op), in(bias_desc));
}
int32_t create_op_activation(void *plan, void **op, int32_t mode) {
  return miopenCreateOpActivationForward(in(plan), out(op),
                                         static_cast<miopenActivationMode_t>(mode));
}
int32_t compile_fusion_plan(void *handle, void *plan) {
  return miopenCompileFusionPlan(in(handle), in(plan));
}
int32_t fusion_plan_workspace(void *handle, void *plan, size_t *bytes, int32_t algorithm) {
  return miopenFusionPlanGetWorkSpaceSize(in(handle), in(plan), bytes,
                                          static_cast<miopenConvFwdAlgorithm_t>(algorithm));
}
int32_t destroy_fusion_plan(void *plan) {
  return miopenDestroyFusionPlan(in(plan));
}

int32_t create_args(void **args) {
  return miopenCreateOperatorArgs(out(args));
}
int32_t set_args_convolution(void *args, void *op, const void *alpha, const void *beta,
                             const void *w) {
  return miopenSetOpArgsConvForward(in(args), in(op), alpha, beta, w);
}
int32_t set_args_bias(void *args, void *op, const void *alpha, const void *beta, const void *bias) {
  return miopenSetOpArgsBiasForward(in(args), in(op), alpha, beta, bias);
}
int32_t set_args_activation(void *args, void *op, const void *alpha, const void *beta,
                            double activ_alpha, double activ_beta, double activ_gamma) {
  return miopenSetOpArgsActivForward(in(args), in(op), alpha, beta, activ_alpha, activ_beta,
                                     activ_gamma);
}
int32_t destroy_args(void *args) {
  return miopenDestroyOperatorArgs(in(args));
}

int32_t execute_fusion_plan(void *handle, void *plan, void *input_desc, const void *input,
                            void *output_desc, void *output, void *args) {
  return miopenExecuteFusionPlan(in(handle), in(plan), in(input_desc), input, in(output_desc),
                                 output, in(args));
}
#if VERSION_AT_LEAST(3, 5)
int32_t execute_fusion_plan_v2(void *handle, void *plan, void *input_desc, const void *input,
                               void *output_desc, void *output, void *args, void *workspace,
                               size_t workspace_bytes) {
  return miopenExecuteFusionPlan_v2(in(handle), in(plan), in(input_desc), input, in(output_desc),
                                    output, in(args), workspace, workspace_bytes);
}
#endif

constexpr miopen_private_api make() {
  miopen_private_api t{};
  t.version = MIOPEN_PRIVATE_API_VERSION;
  t.size = sizeof t;
#define MEMBER(name) t.name = name
  MEMBER(get_version);
  MEMBER(create);
  MEMBER(destroy);
  MEMBER(set_stream);
  MEMBER(create_tensor);
  MEMBER(set_tensor);
  MEMBER(destroy_tensor);
  MEMBER(create_convolution);
  MEMBER(init_convolution);
  MEMBER(set_groups);
  MEMBER(set_attribute);
  MEMBER(destroy_convolution);
  t.directions[MIOPEN_PRIVATE_FORWARD] = Forward::table();
  t.directions[MIOPEN_PRIVATE_BACKWARD_DATA] = BackwardData::table();
  t.directions[MIOPEN_PRIVATE_BACKWARD_WEIGHTS] = BackwardWeights::table();
  MEMBER(create_problem);
  MEMBER(set_problem_tensor);
  MEMBER(destroy_problem);
  MEMBER(create_find_options);
  MEMBER(set_find_workspace_limit);
  MEMBER(set_find_results_order);
  MEMBER(destroy_find_options);
  MEMBER(find_solutions);
  MEMBER(get_solution_solver);
  MEMBER(get_solution_workspace);
  MEMBER(destroy_solution);
  MEMBER(create_fusion_plan);
  MEMBER(create_op_convolution);
  MEMBER(create_op_bias);
  MEMBER(create_op_activation);
  MEMBER(compile_fusion_plan);
  MEMBER(fusion_plan_workspace);
  MEMBER(destroy_fusion_plan);
  MEMBER(create_args);
  MEMBER(set_args_convolution);
  MEMBER(set_args_bias);
  MEMBER(set_args_activation);
  MEMBER(destroy_args);
  MEMBER(execute_fusion_plan);
#if VERSION_AT_LEAST(3, 5)
  MEMBER(execute_fusion_plan_v2);
#endif
#undef MEMBER
  return t;
}

miopen_private_api api = make();

// HIP is found at run time: which one it is, is the private library's affair. hipError_t and
// hipStream_t as plain types.
int (*hip_get_device)(int *device);
int (*hip_set_device)(int device);
int (*hip_stream_get_device)(void *stream, int *device);
int (*hip_get_last_error)();

// An error that is answered is not to be the thread's last one, which the application would take
// for its own.
int32_t quietly(int error) {
  if (error && hip_get_last_error)
    hip_get_last_error();
  return error;
}
int32_t get_device(int *device) {
  return quietly(hip_get_device(device));
}
int32_t set_device(int device) {
  return quietly(hip_set_device(device));
}
int32_t stream_device(void *stream, int *device) {
  return quietly(hip_stream_get_device(stream, device));
}

template <class Function> void find(void *library, const char *name, Function *&function) {
  function = reinterpret_cast<Function *>(dlsym(library, name));
}

void find_hip() {
  // dlsym on the private library searches it and what it depends on, and nobody else's HIP. The
  // handle is kept: the functions are.
  Dl_info info;
  void *library = dladdr(private_api_address(), &info) && info.dli_fname
                      ? dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD)
                      : nullptr;
  if (library) {
    find(library, "hipGetDevice", hip_get_device);
    find(library, "hipSetDevice", hip_set_device);
    find(library, "hipStreamGetDevice", hip_stream_get_device);
    find(library, "hipGetLastError", hip_get_last_error);
  }
  dlerror(); // the host is not to find it
  if (!hip_get_device || !hip_set_device)
    return;
  api.get_device = get_device;
  api.set_device = set_device;
  if (hip_stream_get_device)
    api.stream_device = stream_device;
}

} // namespace

const miopen_private_api *private_api() {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, find_hip);
  return &api;
}

const void *private_api_address() {
  return reinterpret_cast<const void *>(&miopenCreate);
}
