#include "call.h"

#define CHECK(member)                                                                              \
  if (!t->member)                                                                                  \
  return #member

#define DIRECTION(i)                                                                               \
  CHECK(directions[i].solutions);                                                                  \
  CHECK(directions[i].solution_workspace);                                                         \
  CHECK(directions[i].compile);                                                                    \
  CHECK(directions[i].immediate)

const char *miopen_private_api_missing(miopen_table t) {
  CHECK(get_version);
  CHECK(create);
  CHECK(destroy);
  CHECK(set_stream);
  CHECK(create_tensor);
  CHECK(set_tensor);
  CHECK(destroy_tensor);
  CHECK(create_convolution);
  CHECK(init_convolution);
  CHECK(set_groups);
  CHECK(set_attribute);
  CHECK(destroy_convolution);
  DIRECTION(MIOPEN_PRIVATE_FORWARD);
  DIRECTION(MIOPEN_PRIVATE_BACKWARD_DATA);
  DIRECTION(MIOPEN_PRIVATE_BACKWARD_WEIGHTS);
  CHECK(create_problem);
  CHECK(set_problem_tensor);
  CHECK(destroy_problem);
  CHECK(create_find_options);
  CHECK(set_find_workspace_limit);
  CHECK(set_find_results_order);
  CHECK(destroy_find_options);
  CHECK(find_solutions);
  CHECK(get_solution_solver);
  CHECK(get_solution_workspace);
  CHECK(destroy_solution);
  CHECK(create_fusion_plan);
  CHECK(create_op_convolution);
  CHECK(create_op_bias);
  CHECK(create_op_activation);
  CHECK(compile_fusion_plan);
  CHECK(fusion_plan_workspace);
  CHECK(destroy_fusion_plan);
  CHECK(create_args);
  CHECK(set_args_convolution);
  CHECK(set_args_bias);
  CHECK(set_args_activation);
  CHECK(destroy_args);
  CHECK(execute_fusion_plan);
  return NULL;
}
