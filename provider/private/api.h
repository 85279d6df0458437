/* The private MIOpen as a table of C functions.
 *
 * The plugin is linked against libMIOpen_private.so.1 and fills the table; the forwarding library
 * runs convolutions through it and has no symbol of MIOpen itself, so that one build of it serves
 * every MIOpen. Each member is one call of MIOpen's API with that call's arguments in its order,
 * in plain C types: opaque pointers are void *, enumerations and miopenStatus_t int32_t. Numbers
 * are those of miopen/miopen.h of 3.5.1. Who fills the table includes that header, so that a
 * compiler holds each argument against it.
 *
 * A member that the MIOpen at hand does not have is NULL; which may be is said there. Every other
 * one is set. The table and what it points to live until the process ends. */
#ifndef MIOPEN_PROVIDER_PRIVATE_API_H_
#define MIOPEN_PROVIDER_PRIVATE_API_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Both sides come from one release; the number is there to refuse files of two. */
#define MIOPEN_PRIVATE_API_VERSION 1

/* miopenConvSolution_t. */
struct miopen_private_solution {
  uint64_t id;        /* solution_id */
  uint64_t workspace; /* workspace_size, bytes */
  float time;         /* milliseconds, measured or estimated */
  int32_t algorithm;  /* miopenConvAlgorithm_t */
};

/* The immediate mode of one direction. a and b are the tensors that are read and c the one that is
 * written, in the order of MIOpen's arguments:
 *   forward           w,  x, conv, y
 *   backward data     dy, w, conv, dx
 *   backward weights  dy, x, conv, dw */
struct miopen_private_direction {
  /* solutions has room for max; count gets how many there are in it. */
  int32_t (*solutions)(void *handle, void *a_desc, void *b_desc, void *conv, void *c_desc,
                       size_t max, size_t *count, struct miopen_private_solution *solutions);
  int32_t (*solution_workspace)(void *handle, void *a_desc, void *b_desc, void *conv, void *c_desc,
                                uint64_t solution, size_t *bytes);
  int32_t (*compile)(void *handle, void *a_desc, void *b_desc, void *conv, void *c_desc,
                     uint64_t solution);
  int32_t (*immediate)(void *handle, void *a_desc, const void *a, void *b_desc, const void *b,
                       void *conv, void *c_desc, void *c, void *workspace, size_t workspace_bytes,
                       uint64_t solution);
};

/* Index of miopen_private_api.directions; the numbers are miopenProblemDirection_t's. */
#define MIOPEN_PRIVATE_FORWARD 0
#define MIOPEN_PRIVATE_BACKWARD_DATA 1
#define MIOPEN_PRIVATE_BACKWARD_WEIGHTS 2

struct miopen_private_api {
  uint32_t version; /* MIOPEN_PRIVATE_API_VERSION */
  uint32_t size;    /* sizeof(struct miopen_private_api) */

  int32_t (*get_version)(size_t *major, size_t *minor, size_t *patch); /* miopenGetVersion */

  int32_t (*create)(void **handle);                  /* miopenCreate */
  int32_t (*destroy)(void *handle);                  /* miopenDestroy */
  int32_t (*set_stream)(void *handle, void *stream); /* miopenSetStream */

  /* miopenCreateTensorDescriptor, miopenSetTensorDescriptorV2, miopenDestroyTensorDescriptor */
  int32_t (*create_tensor)(void **tensor);
  int32_t (*set_tensor)(void *tensor, int32_t type, int32_t rank, const size_t *dims,
                        const size_t *strides);
  int32_t (*destroy_tensor)(void *tensor);

  /* miopenCreateConvolutionDescriptor, miopenInitConvolutionNdDescriptor,
   * miopenSetConvolutionGroupCount, miopenSetConvolutionAttribute,
   * miopenDestroyConvolutionDescriptor */
  int32_t (*create_convolution)(void **conv);
  int32_t (*init_convolution)(void *conv, int32_t spatial, const int *pads, const int *strides,
                              const int *dilations, int32_t mode);
  int32_t (*set_groups)(void *conv, int32_t groups);
  int32_t (*set_attribute)(void *conv, int32_t attribute, int32_t value);
  int32_t (*destroy_convolution)(void *conv);

  struct miopen_private_direction directions[3];

  /* Find 2.0, for benchmarking: miopenCreateConvProblem, miopenSetProblemTensorDescriptor,
   * miopenDestroyProblem, miopenCreateFindOptions, miopenSetFindOptionWorkspaceLimit,
   * miopenSetFindOptionResultsOrder, miopenDestroyFindOptions, miopenFindSolutions,
   * miopenGetSolutionSolverId, miopenGetSolutionWorkspaceSize,
   * miopenDestroySolution */
  int32_t (*create_problem)(void **problem, void *conv, int32_t direction);
  int32_t (*set_problem_tensor)(void *problem, int32_t id, void *tensor);
  int32_t (*destroy_problem)(void *problem);
  int32_t (*create_find_options)(void **options);
  int32_t (*set_find_workspace_limit)(void *options, size_t bytes);
  int32_t (*set_find_results_order)(void *options, int32_t order);
  int32_t (*destroy_find_options)(void *options);
  int32_t (*find_solutions)(void *handle, void *problem, void *options, void **solutions,
                            size_t *found, size_t max);
  int32_t (*get_solution_solver)(void *solution, uint64_t *solver);
  int32_t (*get_solution_workspace)(void *solution, size_t *bytes);
  int32_t (*destroy_solution)(void *solution);

  /* Fusion: miopenCreateFusionPlan (vertical), miopenCreateOpConvForward,
   * miopenCreateOpBiasForward, miopenCreateOpActivationForward, miopenCompileFusionPlan,
   * miopenFusionPlanGetWorkSpaceSize, miopenDestroyFusionPlan. Operations belong to their plan. */
  int32_t (*create_fusion_plan)(void **plan, int32_t direction, void *input_desc);
  int32_t (*create_op_convolution)(void *plan, void **op, void *conv, void *w_desc);
  int32_t (*create_op_bias)(void *plan, void **op, void *bias_desc);
  int32_t (*create_op_activation)(void *plan, void **op, int32_t mode);
  int32_t (*compile_fusion_plan)(void *handle, void *plan);
  int32_t (*fusion_plan_workspace)(void *handle, void *plan, size_t *bytes, int32_t algorithm);
  int32_t (*destroy_fusion_plan)(void *plan);

  /* miopenCreateOperatorArgs, miopenSetOpArgsConvForward, miopenSetOpArgsBiasForward,
   * miopenSetOpArgsActivForward, miopenDestroyOperatorArgs */
  int32_t (*create_args)(void **args);
  int32_t (*set_args_convolution)(void *args, void *op, const void *alpha, const void *beta,
                                  const void *w);
  int32_t (*set_args_bias)(void *args, void *op, const void *alpha, const void *beta,
                           const void *bias);
  int32_t (*set_args_activation)(void *args, void *op, const void *alpha, const void *beta,
                                 double activ_alpha, double activ_beta, double activ_gamma);
  int32_t (*destroy_args)(void *args);

  /* miopenExecuteFusionPlan, and miopenExecuteFusionPlan_v2, which is new in 3.5: NULL before. */
  int32_t (*execute_fusion_plan)(void *handle, void *plan, void *input_desc, const void *input,
                                 void *output_desc, void *output, void *args);
  int32_t (*execute_fusion_plan_v2)(void *handle, void *plan, void *input_desc, const void *input,
                                    void *output_desc, void *output, void *args, void *workspace,
                                    size_t workspace_bytes);

  /* hipGetDevice, hipSetDevice and hipStreamGetDevice of the HIP that the private library runs on;
   * hipError_t as int32_t. NULL where there is none, stream_device also with an older one. */
  int32_t (*get_device)(int *device);
  int32_t (*set_device)(int device);
  int32_t (*stream_device)(void *stream, int *device);
};

#ifdef __cplusplus
}
#endif

#endif
