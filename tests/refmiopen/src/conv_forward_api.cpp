// Entry points that run forward convolutions: find, immediate mode and the classic call.
#include <miopen/miopen.h>

#include <algorithm>
#include <string>
#include <vector>

#include "conv_kernel.hpp"
#include "conv_solver.hpp"
#include "convolution.hpp"
#include "errors.hpp"
#include "handle.hpp"
#include "tensor.hpp"

using miopen::ConvBuffers;
using miopen::ConvGeometry;
using miopen::ConvSolver;
using miopen::deref;
using miopen::Throw;
using miopen::Try;

namespace {

template <class T> void Append(std::string &key, const std::vector<T> &values) {
  for (const T v : values)
    key += std::to_string(v) + ',';
  key += ';';
}

void Append(std::string &key, const miopen::TensorDescriptor &t) {
  key += std::to_string(t.Type()) + ':';
  Append(key, t.Lengths());
  Append(key, t.Strides());
}

// What the registered invokers are looked up by: everything that decides which code can run.
std::string ProblemKey(const miopen::ConvolutionDescriptor &conv, const miopen::TensorDescriptor &x,
                       const miopen::TensorDescriptor &w, const miopen::TensorDescriptor &y) {
  std::string key;
  Append(key, x);
  Append(key, w);
  Append(key, y);
  Append(key, conv.Pads());
  Append(key, conv.Strides());
  Append(key, conv.Dilations());
  return key + std::to_string(conv.GroupCount());
}

// A forward problem as the entry points receive it.
struct Problem {
  ConvGeometry geometry;
  std::string key;
};

Problem MakeProblem(miopenConvolutionDescriptor_t convDesc, miopenTensorDescriptor_t xDesc,
                    miopenTensorDescriptor_t wDesc, miopenTensorDescriptor_t yDesc) {
  const miopen::ConvolutionDescriptor &conv = deref(convDesc);
  const miopen::TensorDescriptor &x = deref(xDesc);
  const miopen::TensorDescriptor &w = deref(wDesc);
  const miopen::TensorDescriptor &y = deref(yDesc);
  return {miopen::MakeGeometry(conv, x, w, y), ProblemKey(conv, x, w, y)};
}

// alpha and beta are floats, except for doubles. Null stands for the neutral value.
double Scale(const void *value, miopenDataType_t type, double neutral) {
  if (value == nullptr)
    return neutral;
  return type == miopenDouble ? *static_cast<const double *>(value)
                              : static_cast<double>(*static_cast<const float *>(value));
}

ConvBuffers Buffers(const void *x, const void *w, void *y, double alpha, double beta) {
  if (x == nullptr || w == nullptr || y == nullptr)
    Throw(miopenStatusBadParm, "one of the convolution's buffers is null");
  return {x, w, y, alpha, beta};
}

} // namespace

extern "C" {

MIOPEN_EXPORT miopenStatus_t miopenConvolutionForwardGetSolutionCount(
    miopenHandle_t handle, const miopenTensorDescriptor_t wDesc,
    const miopenTensorDescriptor_t xDesc, const miopenConvolutionDescriptor_t convDesc,
    const miopenTensorDescriptor_t yDesc, size_t *solutionCount) {
  return Try(__func__, [&] {
    deref(handle);
    const Problem problem = MakeProblem(convDesc, xDesc, wDesc, yDesc);
    deref(solutionCount) = miopen::ApplicableSolvers(problem.geometry).size();
  });
}

MIOPEN_EXPORT miopenStatus_t miopenConvolutionForwardGetSolution(
    miopenHandle_t handle, const miopenTensorDescriptor_t wDesc,
    const miopenTensorDescriptor_t xDesc, const miopenConvolutionDescriptor_t convDesc,
    const miopenTensorDescriptor_t yDesc, const size_t maxSolutionCount, size_t *solutionCount,
    miopenConvSolution_t *solutions) {
  return Try(__func__, [&] {
    deref(handle);
    const Problem problem = MakeProblem(convDesc, xDesc, wDesc, yDesc);
    std::vector<const ConvSolver *> found = miopen::ApplicableSolvers(problem.geometry);
    found.resize(std::min(found.size(), maxSolutionCount));
    if (solutionCount != nullptr)
      *solutionCount = found.size();
    if (solutions != nullptr)
      for (const ConvSolver *s : found)
        *solutions++ = {s->EstimatedTime(problem.geometry), s->WorkspaceSize(problem.geometry),
                        s->Id(), s->Algorithm()};
  });
}

MIOPEN_EXPORT miopenStatus_t miopenConvolutionForwardGetSolutionWorkspaceSize(
    miopenHandle_t handle, const miopenTensorDescriptor_t wDesc,
    const miopenTensorDescriptor_t xDesc, const miopenConvolutionDescriptor_t convDesc,
    const miopenTensorDescriptor_t yDesc, const uint64_t solution_id, size_t *workSpaceSize) {
  return Try(__func__, [&] {
    deref(handle);
    const Problem problem = MakeProblem(convDesc, xDesc, wDesc, yDesc);
    deref(workSpaceSize) =
        miopen::ApplicableSolverById(solution_id, problem.geometry).WorkspaceSize(problem.geometry);
  });
}

MIOPEN_EXPORT miopenStatus_t miopenConvolutionForwardCompileSolution(
    miopenHandle_t handle, const miopenTensorDescriptor_t wDesc,
    const miopenTensorDescriptor_t xDesc, const miopenConvolutionDescriptor_t convDesc,
    const miopenTensorDescriptor_t yDesc, const uint64_t solution_id) {
  return Try(__func__, [&] {
    miopen::Handle &h = deref(handle);
    const Problem problem = MakeProblem(convDesc, xDesc, wDesc, yDesc);
    const ConvSolver &solver = miopen::ApplicableSolverById(solution_id, problem.geometry);
    h.RegisterInvoker(problem.key, solver.Algorithm());
  });
}

MIOPEN_EXPORT miopenStatus_t miopenConvolutionForwardImmediate(
    miopenHandle_t handle, const miopenTensorDescriptor_t wDesc, const void *w,
    const miopenTensorDescriptor_t xDesc, const void *x,
    const miopenConvolutionDescriptor_t convDesc, const miopenTensorDescriptor_t yDesc, void *y,
    void *workSpace, size_t workSpaceSize, const uint64_t solution_id) {
  return Try(__func__, [&] {
    miopen::Handle &h = deref(handle);
    const Problem problem = MakeProblem(convDesc, xDesc, wDesc, yDesc);
    const ConvSolver &solver = miopen::ApplicableSolverById(solution_id, problem.geometry);
    const ConvBuffers buffers = Buffers(x, w, y, 1, 0);
    h.RegisterInvoker(problem.key, solver.Algorithm());
    h.Timed([&] { solver.Run(problem.geometry, buffers, workSpace, workSpaceSize); });
  });
}

MIOPEN_EXPORT miopenStatus_t miopenConvolutionForwardGetWorkSpaceSize(
    miopenHandle_t handle, const miopenTensorDescriptor_t wDesc,
    const miopenTensorDescriptor_t xDesc, const miopenConvolutionDescriptor_t convDesc,
    const miopenTensorDescriptor_t yDesc, size_t *workSpaceSize) {
  return Try(__func__, [&] {
    deref(handle);
    const Problem problem = MakeProblem(convDesc, xDesc, wDesc, yDesc);
    std::size_t size = 0;
    for (const ConvSolver *s : miopen::ApplicableSolvers(problem.geometry))
      size = std::max(size, s->WorkspaceSize(problem.geometry));
    deref(workSpaceSize) = size;
  });
}

MIOPEN_EXPORT miopenStatus_t miopenFindConvolutionForwardAlgorithm(
    miopenHandle_t handle, const miopenTensorDescriptor_t xDesc, const void *x,
    const miopenTensorDescriptor_t wDesc, const void *w,
    const miopenConvolutionDescriptor_t convDesc, const miopenTensorDescriptor_t yDesc, void *y,
    const int requestAlgoCount, int *returnedAlgoCount, miopenConvAlgoPerf_t *perfResults,
    void *workSpace, size_t workSpaceSize, bool exhaustiveSearch) {
  return Try(__func__, [&] {
    static_cast<void>(exhaustiveSearch); // nothing here can be tuned
    miopen::Handle &h = deref(handle);
    const ConvBuffers buffers = Buffers(x, w, y, 1, 0);
    int &returned = deref(returnedAlgoCount);
    deref(perfResults);
    if (requestAlgoCount < 1)
      Throw(miopenStatusBadParm, "at least one result must be asked for");
    returned = 0;

    const Problem problem = MakeProblem(convDesc, xDesc, wDesc, yDesc);
    std::vector<const ConvSolver *> found;
    for (const ConvSolver *s : miopen::ApplicableSolvers(problem.geometry)) {
      if (s->WorkspaceSize(problem.geometry) > (workSpace == nullptr ? 0 : workSpaceSize))
        continue;
      h.Timed([&] { s->Run(problem.geometry, buffers, workSpace, workSpaceSize); });
      h.RegisterInvoker(problem.key, s->Algorithm());
      found.push_back(s);
    }
    if (found.empty())
      Throw(miopenStatusUnknownError, "no algorithm can run this convolution");
    for (const ConvSolver *s : found) {
      if (returned == requestAlgoCount)
        break;
      miopenConvAlgoPerf_t &result = perfResults[returned++];
      result.fwd_algo = static_cast<miopenConvFwdAlgorithm_t>(s->Algorithm());
      result.time = s->EstimatedTime(problem.geometry);
      result.memory = s->WorkspaceSize(problem.geometry);
    }
  });
}

MIOPEN_EXPORT miopenStatus_t miopenConvolutionForward(
    miopenHandle_t handle, const void *alpha, const miopenTensorDescriptor_t xDesc, const void *x,
    const miopenTensorDescriptor_t wDesc, const void *w,
    const miopenConvolutionDescriptor_t convDesc, miopenConvFwdAlgorithm_t algo, const void *beta,
    const miopenTensorDescriptor_t yDesc, void *y, void *workSpace, size_t workSpaceSize) {
  return Try(__func__, [&] {
    miopen::Handle &h = deref(handle);
    // A nested call through the exported names, as the real library has them elsewhere: a split
    // must keep it inside the private library, and a tracer in front of the wrapper must not see
    // it.
    int dimensions = 0;
    if (const miopenStatus_t status = miopenGetTensorDescriptorSize(xDesc, &dimensions);
        status != miopenStatusSuccess)
      Throw(status, "the input's descriptor is unusable");
    if (dimensions < 3)
      Throw(miopenStatusBadParm, "the input has fewer than three dimensions");

    const miopenDataType_t y_type = deref(yDesc).Type();
    const ConvBuffers buffers = Buffers(x, w, y, Scale(alpha, y_type, 1), Scale(beta, y_type, 0));
    const Problem problem = MakeProblem(convDesc, xDesc, wDesc, yDesc);
    const ConvSolver *solver = miopen::SolverByAlgorithm(algo, problem.geometry);
    if (solver == nullptr || !h.HasInvoker(problem.key, algo))
      Throw(miopenStatusUnknownError,
            "No invoker was registered for convolution forward. Was find executed?");
    h.Timed([&] { solver->Run(problem.geometry, buffers, workSpace, workSpaceSize); });
  });
}

MIOPEN_EXPORT miopenStatus_t miopenGetSolverIdConvAlgorithm(uint64_t solverId,
                                                            miopenConvAlgorithm_t *result) {
  return Try(__func__, [&] { deref(result) = miopen::SolverById(solverId).Algorithm(); });
}

} // extern "C"
