#include "conv_calls.hpp"

#include <algorithm>
#include <vector>

#include "conv_solver.hpp"

namespace miopen {

namespace {

template <class T> void Append(std::string &key, const std::vector<T> &values) {
  for (const T v : values)
    key += std::to_string(v) + ',';
  key += ';';
}

void Append(std::string &key, const TensorDescriptor &t) {
  key += std::to_string(t.Type()) + ':';
  Append(key, t.Lengths());
  Append(key, t.Strides());
}

// The real library's word for a direction in the message about a missing invoker.
const char *Name(ConvDirection direction) {
  switch (direction) {
  case ConvDirection::Forward:
    return "forward";
  case ConvDirection::BackwardData:
    return "backward";
  case ConvDirection::BackwardWeights:
    return "weights";
  }
  Throw(miopenStatusInternalError, "unknown direction");
}

// Find and immediate mode give one type of algorithm to results of three.
void SetAlgorithm(miopenConvAlgoPerf_t &result, ConvDirection direction, int algorithm) {
  switch (direction) {
  case ConvDirection::Forward:
    result.fwd_algo = static_cast<miopenConvFwdAlgorithm_t>(algorithm);
    return;
  case ConvDirection::BackwardData:
    result.bwd_data_algo = static_cast<miopenConvBwdDataAlgorithm_t>(algorithm);
    return;
  case ConvDirection::BackwardWeights:
    result.bwd_weights_algo = static_cast<miopenConvBwdWeightsAlgorithm_t>(algorithm);
    return;
  }
}

} // namespace

ConvProblem MakeProblem(ConvDirection direction, const ConvolutionDescriptor &conv,
                        const TensorDescriptor &x, const TensorDescriptor &w,
                        const TensorDescriptor &y) {
  ConvProblem problem{MakeGeometry(direction, conv, x, w, y), Name(direction)};
  Append(problem.key, x);
  Append(problem.key, w);
  Append(problem.key, y);
  Append(problem.key, conv.Pads());
  Append(problem.key, conv.Strides());
  Append(problem.key, conv.Dilations());
  problem.key += std::to_string(conv.GroupCount());
  return problem;
}

ConvProblem MakeProblem(ConvDirection direction, miopenConvolutionDescriptor_t conv,
                        miopenTensorDescriptor_t x, miopenTensorDescriptor_t w,
                        miopenTensorDescriptor_t y) {
  return MakeProblem(direction, deref(conv), deref(x), deref(w), deref(y));
}

double Scale(const void *value, miopenDataType_t type, double neutral) {
  if (value == nullptr)
    return neutral;
  return type == miopenDouble ? *static_cast<const double *>(value)
                              : static_cast<double>(*static_cast<const float *>(value));
}

ConvBuffers MakeBuffers(const void *first, const void *second, void *result) {
  if (first == nullptr || second == nullptr || result == nullptr)
    Throw(miopenStatusBadParm, "one of the convolution's buffers is null");
  return {first, second, result, 1, 0};
}

ConvBuffers MakeBuffers(const void *first, const void *second, void *result, const void *alpha,
                        const void *beta, miopenDataType_t type) {
  ConvBuffers buffers = MakeBuffers(first, second, result);
  buffers.alpha = Scale(alpha, type, 1);
  buffers.beta = Scale(beta, type, 0);
  return buffers;
}

std::size_t SolutionCount(const ConvProblem &problem) {
  return ApplicableSolvers(problem.geometry).size();
}

void GetSolutions(const ConvProblem &problem, std::size_t max, std::size_t *count,
                  miopenConvSolution_t *solutions) {
  std::vector<const ConvSolver *> found = ApplicableSolvers(problem.geometry);
  found.resize(std::min(found.size(), max));
  if (count != nullptr)
    *count = found.size();
  if (solutions != nullptr)
    for (const ConvSolver *s : found)
      *solutions++ = {s->EstimatedTime(problem.geometry), s->WorkspaceSize(problem.geometry),
                      s->Id(), s->Algorithm()};
}

std::size_t SolutionWorkspaceSize(const ConvProblem &problem, std::uint64_t solution) {
  return ApplicableSolverById(solution, problem.geometry).WorkspaceSize(problem.geometry);
}

void CompileSolution(Handle &handle, const ConvProblem &problem, std::uint64_t solution) {
  handle.RegisterInvoker(problem.key, ApplicableSolverById(solution, problem.geometry).Algorithm());
}

void RunSolution(Handle &handle, const ConvProblem &problem, const ConvBuffers &buffers,
                 void *workspace, std::size_t workspace_size, std::uint64_t solution) {
  const ConvSolver &solver = ApplicableSolverById(solution, problem.geometry);
  handle.RegisterInvoker(problem.key, solver.Algorithm());
  handle.Timed([&] { solver.Run(problem.geometry, buffers, workspace, workspace_size); });
}

std::size_t WorkspaceSize(const ConvProblem &problem) {
  std::size_t size = 0;
  for (const ConvSolver *s : ApplicableSolvers(problem.geometry))
    size = std::max(size, s->WorkspaceSize(problem.geometry));
  return size;
}

void FindAlgorithms(Handle &handle, const ConvProblem &problem, const ConvBuffers &buffers,
                    int requested, int *returned, miopenConvAlgoPerf_t *results, void *workspace,
                    std::size_t workspace_size) {
  deref(returned);
  deref(results);
  if (requested < 1)
    Throw(miopenStatusBadParm, "at least one result must be asked for");
  *returned = 0;

  std::vector<const ConvSolver *> found;
  for (const ConvSolver *s : ApplicableSolvers(problem.geometry)) {
    if (s->WorkspaceSize(problem.geometry) > (workspace == nullptr ? 0 : workspace_size))
      continue;
    handle.Timed([&] { s->Run(problem.geometry, buffers, workspace, workspace_size); });
    handle.RegisterInvoker(problem.key, s->Algorithm());
    found.push_back(s);
  }
  if (found.empty())
    Throw(miopenStatusUnknownError, "no algorithm can run this convolution");
  for (const ConvSolver *s : found) {
    if (*returned == requested)
      break;
    miopenConvAlgoPerf_t &result = results[(*returned)++];
    SetAlgorithm(result, problem.geometry.direction, s->Algorithm());
    result.time = s->EstimatedTime(problem.geometry);
    result.memory = s->WorkspaceSize(problem.geometry);
  }
}

void RunAlgorithm(Handle &handle, const ConvProblem &problem, const ConvBuffers &buffers,
                  int algorithm, void *workspace, std::size_t workspace_size) {
  const ConvSolver *solver = SolverByAlgorithm(algorithm, problem.geometry);
  if (solver == nullptr || !handle.HasInvoker(problem.key, algorithm))
    Throw(miopenStatusUnknownError, std::string("No invoker was registered for convolution ") +
                                        Name(problem.geometry.direction) + ". Was find executed?");
  handle.Timed([&] { solver->Run(problem.geometry, buffers, workspace, workspace_size); });
}

} // namespace miopen
