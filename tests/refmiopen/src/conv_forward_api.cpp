// Entry points that run forward convolutions: find, immediate mode and the classic call.
#include <miopen/miopen.h>

#include "conv_calls.hpp"
#include "conv_solver.hpp"
#include "errors.hpp"
#include "handle.hpp"
#include "tensor.hpp"

using miopen::ConvBuffers;
using miopen::ConvDirection;
using miopen::deref;
using miopen::MakeBuffers;
using miopen::MakeProblem;
using miopen::Throw;
using miopen::Try;

extern "C" {

MIOPEN_EXPORT miopenStatus_t miopenConvolutionForwardGetSolutionCount(
    miopenHandle_t handle, const miopenTensorDescriptor_t wDesc,
    const miopenTensorDescriptor_t xDesc, const miopenConvolutionDescriptor_t convDesc,
    const miopenTensorDescriptor_t yDesc, size_t *solutionCount) {
  return Try(__func__, [&] {
    deref(handle);
    deref(solutionCount) =
        miopen::SolutionCount(MakeProblem(ConvDirection::Forward, convDesc, xDesc, wDesc, yDesc));
  });
}

MIOPEN_EXPORT miopenStatus_t miopenConvolutionForwardGetSolution(
    miopenHandle_t handle, const miopenTensorDescriptor_t wDesc,
    const miopenTensorDescriptor_t xDesc, const miopenConvolutionDescriptor_t convDesc,
    const miopenTensorDescriptor_t yDesc, const size_t maxSolutionCount, size_t *solutionCount,
    miopenConvSolution_t *solutions) {
  return Try(__func__, [&] {
    deref(handle);
    miopen::GetSolutions(MakeProblem(ConvDirection::Forward, convDesc, xDesc, wDesc, yDesc),
                         maxSolutionCount, solutionCount, solutions);
  });
}

MIOPEN_EXPORT miopenStatus_t miopenConvolutionForwardGetSolutionWorkspaceSize(
    miopenHandle_t handle, const miopenTensorDescriptor_t wDesc,
    const miopenTensorDescriptor_t xDesc, const miopenConvolutionDescriptor_t convDesc,
    const miopenTensorDescriptor_t yDesc, const uint64_t solution_id, size_t *workSpaceSize) {
  return Try(__func__, [&] {
    deref(handle);
    deref(workSpaceSize) = miopen::SolutionWorkspaceSize(
        MakeProblem(ConvDirection::Forward, convDesc, xDesc, wDesc, yDesc), solution_id);
  });
}

MIOPEN_EXPORT miopenStatus_t miopenConvolutionForwardCompileSolution(
    miopenHandle_t handle, const miopenTensorDescriptor_t wDesc,
    const miopenTensorDescriptor_t xDesc, const miopenConvolutionDescriptor_t convDesc,
    const miopenTensorDescriptor_t yDesc, const uint64_t solution_id) {
  return Try(__func__, [&] {
    miopen::CompileSolution(deref(handle),
                            MakeProblem(ConvDirection::Forward, convDesc, xDesc, wDesc, yDesc),
                            solution_id);
  });
}

MIOPEN_EXPORT miopenStatus_t miopenConvolutionForwardImmediate(
    miopenHandle_t handle, const miopenTensorDescriptor_t wDesc, const void *w,
    const miopenTensorDescriptor_t xDesc, const void *x,
    const miopenConvolutionDescriptor_t convDesc, const miopenTensorDescriptor_t yDesc, void *y,
    void *workSpace, size_t workSpaceSize, const uint64_t solution_id) {
  return Try(__func__, [&] {
    miopen::RunSolution(deref(handle),
                        MakeProblem(ConvDirection::Forward, convDesc, xDesc, wDesc, yDesc),
                        MakeBuffers(x, w, y), workSpace, workSpaceSize, solution_id);
  });
}

MIOPEN_EXPORT miopenStatus_t miopenConvolutionForwardGetWorkSpaceSize(
    miopenHandle_t handle, const miopenTensorDescriptor_t wDesc,
    const miopenTensorDescriptor_t xDesc, const miopenConvolutionDescriptor_t convDesc,
    const miopenTensorDescriptor_t yDesc, size_t *workSpaceSize) {
  return Try(__func__, [&] {
    deref(handle);
    deref(workSpaceSize) =
        miopen::WorkspaceSize(MakeProblem(ConvDirection::Forward, convDesc, xDesc, wDesc, yDesc));
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
    miopen::FindAlgorithms(deref(handle),
                           MakeProblem(ConvDirection::Forward, convDesc, xDesc, wDesc, yDesc),
                           MakeBuffers(x, w, y), requestAlgoCount, returnedAlgoCount, perfResults,
                           workSpace, workSpaceSize);
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

    const ConvBuffers buffers = MakeBuffers(x, w, y, alpha, beta, deref(yDesc).Type());
    miopen::RunAlgorithm(h, MakeProblem(ConvDirection::Forward, convDesc, xDesc, wDesc, yDesc),
                         buffers, algo, workSpace, workSpaceSize);
  });
}

MIOPEN_EXPORT miopenStatus_t miopenGetSolverIdConvAlgorithm(uint64_t solverId,
                                                            miopenConvAlgorithm_t *result) {
  return Try(__func__, [&] { deref(result) = miopen::SolverById(solverId).Algorithm(); });
}

} // extern "C"
