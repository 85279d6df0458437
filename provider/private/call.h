/* Calls of the table's members for Go. What only MIOpen and HIP know as pointers are integers here:
 * Go's run time looks at everything that has a pointer's type and ends the process over some that
 * are none, such as hipStreamPerThread, which is 2. Every function returns miopenStatus_t. */
#ifndef MIOPEN_PROVIDER_PRIVATE_CALL_H_
#define MIOPEN_PROVIDER_PRIVATE_CALL_H_

#include "api.h"

typedef const struct miopen_private_api *miopen_table;
typedef uintptr_t object;

static inline void *p(object o) {
  return (void *)o;
}

/* A call that makes an object of MIOpen's. */
#define MAKE(o, call)                                                                              \
  void *made = NULL;                                                                               \
  int32_t status = (call);                                                                         \
  *(o) = (object)made;                                                                             \
  return status

static inline int32_t call_version(miopen_table t, size_t *major, size_t *minor, size_t *patch) {
  return t->get_version(major, minor, patch);
}
static inline int32_t call_create(miopen_table t, object *o) {
  MAKE(o, t->create(&made));
}
static inline int32_t call_destroy(miopen_table t, object o) {
  return t->destroy(p(o));
}
static inline int32_t call_set_stream(miopen_table t, object handle, uintptr_t stream) {
  return t->set_stream(p(handle), p(stream));
}

/* The calling thread's device, -1 if that cannot be said. */
static inline int32_t call_device(miopen_table t) {
  int device = -1;
  return t->get_device && !t->get_device(&device) ? device : -1;
}
static inline int32_t call_set_device(miopen_table t, int32_t device) {
  const int32_t not_supported = 801; /* hipErrorNotSupported */
  return t->set_device ? t->set_device(device) : not_supported;
}
static inline int32_t call_stream_device(miopen_table t, uintptr_t stream) {
  int device = -1;
  return t->stream_device && !t->stream_device(p(stream), &device) ? device : -1;
}

static inline int32_t call_create_tensor(miopen_table t, object *o) {
  MAKE(o, t->create_tensor(&made));
}
static inline int32_t call_set_tensor(miopen_table t, object o, int32_t type, int32_t rank,
                                      const size_t *dims, const size_t *strides) {
  return t->set_tensor(p(o), type, rank, dims, strides);
}
static inline int32_t call_destroy_tensor(miopen_table t, object o) {
  return t->destroy_tensor(p(o));
}

static inline int32_t call_create_convolution(miopen_table t, object *o) {
  MAKE(o, t->create_convolution(&made));
}
static inline int32_t call_init_convolution(miopen_table t, object o, int32_t spatial,
                                            const int *pads, const int *strides,
                                            const int *dilations, int32_t mode) {
  return t->init_convolution(p(o), spatial, pads, strides, dilations, mode);
}
static inline int32_t call_set_groups(miopen_table t, object o, int32_t groups) {
  return t->set_groups(p(o), groups);
}
static inline int32_t call_set_attribute(miopen_table t, object o, int32_t name, int32_t value) {
  return t->set_attribute(p(o), name, value);
}
static inline int32_t call_destroy_convolution(miopen_table t, object o) {
  return t->destroy_convolution(p(o));
}

/* The descriptors of a convolution by their roles, whichever of the tensors is computed. */
struct convolution {
  int32_t direction; /* index of miopen_private_api.directions */
  object x, w, y, conv;
};

/* The same in the order of MIOpen's arguments, or the addresses of their tensors. */
struct arguments {
  object a, b, c;
};

static inline struct arguments arguments(int32_t direction, object x, object w, object y) {
  switch (direction) {
  case MIOPEN_PRIVATE_BACKWARD_DATA:
    return (struct arguments){y, w, x};
  case MIOPEN_PRIVATE_BACKWARD_WEIGHTS:
    return (struct arguments){y, x, w};
  default:
    return (struct arguments){w, x, y};
  }
}

static inline int32_t call_solutions(miopen_table t, object handle, struct convolution c,
                                     size_t max, size_t *count,
                                     struct miopen_private_solution *solutions) {
  struct arguments d = arguments(c.direction, c.x, c.w, c.y);
  return t->directions[c.direction].solutions(p(handle), p(d.a), p(d.b), p(c.conv), p(d.c), max,
                                              count, solutions);
}
static inline int32_t call_solution_workspace(miopen_table t, object handle, struct convolution c,
                                              uint64_t solution, size_t *bytes) {
  struct arguments d = arguments(c.direction, c.x, c.w, c.y);
  return t->directions[c.direction].solution_workspace(p(handle), p(d.a), p(d.b), p(c.conv), p(d.c),
                                                       solution, bytes);
}
static inline int32_t call_compile(miopen_table t, object handle, struct convolution c,
                                   uint64_t solution) {
  struct arguments d = arguments(c.direction, c.x, c.w, c.y);
  return t->directions[c.direction].compile(p(handle), p(d.a), p(d.b), p(c.conv), p(d.c), solution);
}
static inline int32_t call_immediate(miopen_table t, object handle, struct convolution c,
                                     uintptr_t x, uintptr_t w, uintptr_t y, uintptr_t workspace,
                                     size_t bytes, uint64_t solution) {
  struct arguments d = arguments(c.direction, c.x, c.w, c.y);
  struct arguments at = arguments(c.direction, x, w, y);
  return t->directions[c.direction].immediate(p(handle), p(d.a), p(at.a), p(d.b), p(at.b),
                                              p(c.conv), p(d.c), p(at.c), p(workspace), bytes,
                                              solution);
}

static inline int32_t call_create_problem(miopen_table t, object *o, object conv,
                                          int32_t direction) {
  MAKE(o, t->create_problem(&made, p(conv), direction));
}
static inline int32_t call_set_problem_tensor(miopen_table t, object problem, int32_t id,
                                              object tensor) {
  return t->set_problem_tensor(p(problem), id, p(tensor));
}
static inline int32_t call_destroy_problem(miopen_table t, object o) {
  return t->destroy_problem(p(o));
}
static inline int32_t call_create_find_options(miopen_table t, object *o) {
  MAKE(o, t->create_find_options(&made));
}
static inline int32_t call_set_find_workspace_limit(miopen_table t, object o, size_t bytes) {
  return t->set_find_workspace_limit(p(o), bytes);
}
static inline int32_t call_set_find_results_order(miopen_table t, object o, int32_t order) {
  return t->set_find_results_order(p(o), order);
}
static inline int32_t call_destroy_find_options(miopen_table t, object o) {
  return t->destroy_find_options(p(o));
}
/* solutions are pointers as integers of the same size. */
static inline int32_t call_find_solutions(miopen_table t, object handle, object problem,
                                          object options, object *solutions, size_t *found,
                                          size_t max) {
  return t->find_solutions(p(handle), p(problem), p(options), (void **)solutions, found, max);
}
static inline int32_t call_get_solution_solver(miopen_table t, object o, uint64_t *solver) {
  return t->get_solution_solver(p(o), solver);
}
static inline int32_t call_get_solution_workspace(miopen_table t, object o, size_t *bytes) {
  return t->get_solution_workspace(p(o), bytes);
}
static inline int32_t call_destroy_solution(miopen_table t, object o) {
  return t->destroy_solution(p(o));
}

/* miopenVerticalFusion, the only direction that MIOpen has. */
#define VERTICAL 0

static inline int32_t call_create_fusion_plan(miopen_table t, object *o, object input) {
  MAKE(o, t->create_fusion_plan(&made, VERTICAL, p(input)));
}
static inline int32_t call_create_op_convolution(miopen_table t, object *o, object plan,
                                                 object conv, object w) {
  MAKE(o, t->create_op_convolution(p(plan), &made, p(conv), p(w)));
}
static inline int32_t call_create_op_bias(miopen_table t, object *o, object plan, object bias) {
  MAKE(o, t->create_op_bias(p(plan), &made, p(bias)));
}
static inline int32_t call_create_op_activation(miopen_table t, object *o, object plan,
                                                int32_t mode) {
  MAKE(o, t->create_op_activation(p(plan), &made, mode));
}
static inline int32_t call_compile_fusion_plan(miopen_table t, object handle, object plan) {
  return t->compile_fusion_plan(p(handle), p(plan));
}
/* The algorithm is not looked at by MIOpen, whose solutions are of one kind here. */
static inline int32_t call_fusion_plan_workspace(miopen_table t, object handle, object plan,
                                                 size_t *bytes) {
  return t->fusion_plan_workspace(p(handle), p(plan), bytes, 0);
}
static inline int32_t call_destroy_fusion_plan(miopen_table t, object o) {
  return t->destroy_fusion_plan(p(o));
}

static inline int32_t call_create_args(miopen_table t, object *o) {
  MAKE(o, t->create_args(&made));
}
/* Alpha and beta of all operations: MIOpen takes no others for fused ones. */
static const float miopen_one = 1, miopen_zero = 0;

static inline int32_t call_set_args_convolution(miopen_table t, object args, object op,
                                                uintptr_t w) {
  return t->set_args_convolution(p(args), p(op), &miopen_one, &miopen_zero, p(w));
}
static inline int32_t call_set_args_bias(miopen_table t, object args, object op, uintptr_t bias) {
  return t->set_args_bias(p(args), p(op), &miopen_one, &miopen_zero, p(bias));
}
static inline int32_t call_set_args_activation(miopen_table t, object args, object op, double alpha,
                                               double beta, double gamma) {
  return t->set_args_activation(p(args), p(op), &miopen_one, &miopen_zero, alpha, beta, gamma);
}
static inline int32_t call_destroy_args(miopen_table t, object o) {
  return t->destroy_args(p(o));
}

static inline int call_has_fusion_workspace(miopen_table t) {
  return t->execute_fusion_plan_v2 != NULL;
}
static inline int32_t call_execute_fusion(miopen_table t, object handle, object plan, object input,
                                          uintptr_t x, object output, uintptr_t y, object args,
                                          uintptr_t workspace, size_t bytes) {
  if (t->execute_fusion_plan_v2)
    return t->execute_fusion_plan_v2(p(handle), p(plan), p(input), p(x), p(output), p(y), p(args),
                                     p(workspace), bytes);
  return t->execute_fusion_plan(p(handle), p(plan), p(input), p(x), p(output), p(y), p(args));
}

/* The name of the first member that has to be set and is not, or NULL. */
const char *miopen_private_api_missing(miopen_table t);

#endif
