// Entry points that compute the gradients of a convolution: find, immediate mode and the classic
// calls.
#include <miopen/miopen.h>

#include "conv_calls.hpp"
#include "errors.hpp"
#include "handle.hpp"
#include "tensor.hpp"

using miopen::ConvBuffers;
using miopen::ConvDirection;
using miopen::deref;
using miopen::MakeBuffers;
using miopen::MakeProblem;
using miopen::Try;

extern "C" {

MIOPEN_EXPORT miopenStatus_t miopenConvolutionBackwardDataGetSolutionCount(
    miopenHandle_t handle, const miopenTensorDescriptor_t dyDesc,
    const miopenTensorDescriptor_t wDesc, const miopenConvolutionDescriptor_t convDesc,
    const miopenTensorDescriptor_t dxDesc, size_t *solutionCount) {
  return Try(__func__, [&] {
    deref(handle);
    deref(solutionCount) = miopen::SolutionCount(
        MakeProblem(ConvDirection::BackwardData, convDesc, dxDesc, wDesc, dyDesc));
  });
}

MIOPEN_EXPORT miopenStatus_t miopenConvolutionBackwardDataGetSolution(
    miopenHandle_t handle, const miopenTensorDescriptor_t dyDesc,
    const miopenTensorDescriptor_t wDesc, const miopenConvolutionDescriptor_t convDesc,
    const miopenTensorDescriptor_t dxDesc, const size_t maxSolutionCount, size_t *solutionCount,
    miopenConvSolution_t *solutions) {
  return Try(__func__, [&] {
    deref(handle);
    miopen::GetSolutions(MakeProblem(ConvDirection::BackwardData, convDesc, dxDesc, wDesc, dyDesc),
                         maxSolutionCount, solutionCount, solutions);
  });
}

MIOPEN_EXPORT miopenStatus_t miopenConvolutionBackwardDataGetSolutionWorkspaceSize(
    miopenHandle_t handle, const miopenTensorDescriptor_t dyDesc,
    const miopenTensorDescriptor_t wDesc, const miopenConvolutionDescriptor_t convDesc,
    const miopenTensorDescriptor_t dxDesc, const uint64_t solution_id, size_t *workSpaceSize) {
  return Try(__func__, [&] {
    deref(handle);
    deref(workSpaceSize) = miopen::SolutionWorkspaceSize(
        MakeProblem(ConvDirection::BackwardData, convDesc, dxDesc, wDesc, dyDesc), solution_id);
  });
}

MIOPEN_EXPORT miopenStatus_t miopenConvolutionBackwardDataCompileSolution(
    miopenHandle_t handle, const miopenTensorDescriptor_t dyDesc,
    const miopenTensorDescriptor_t wDesc, const miopenConvolutionDescriptor_t convDesc,
    const miopenTensorDescriptor_t dxDesc, const uint64_t solution_id) {
  return Try(__func__, [&] {
    miopen::CompileSolution(
        deref(handle), MakeProblem(ConvDirection::BackwardData, convDesc, dxDesc, wDesc, dyDesc),
        solution_id);
  });
}

MIOPEN_EXPORT miopenStatus_t miopenConvolutionBackwardDataImmediate(
    miopenHandle_t handle, const miopenTensorDescriptor_t dyDesc, const void *dy,
    const miopenTensorDescriptor_t wDesc, const void *w,
    const miopenConvolutionDescriptor_t convDesc, const miopenTensorDescriptor_t dxDesc, void *dx,
    void *workSpace, size_t workSpaceSize, const uint64_t solution_id) {
  return Try(__func__, [&] {
    miopen::RunSolution(deref(handle),
                        MakeProblem(ConvDirection::BackwardData, convDesc, dxDesc, wDesc, dyDesc),
                        MakeBuffers(dy, w, dx), workSpace, workSpaceSize, solution_id);
  });
}

MIOPEN_EXPORT miopenStatus_t miopenConvolutionBackwardDataGetWorkSpaceSize(
    miopenHandle_t handle, const miopenTensorDescriptor_t dyDesc,
    const miopenTensorDescriptor_t wDesc, const miopenConvolutionDescriptor_t convDesc,
    const miopenTensorDescriptor_t dxDesc, size_t *workSpaceSize) {
  return Try(__func__, [&] {
    deref(handle);
    deref(workSpaceSize) = miopen::WorkspaceSize(
        MakeProblem(ConvDirection::BackwardData, convDesc, dxDesc, wDesc, dyDesc));
  });
}

MIOPEN_EXPORT miopenStatus_t miopenFindConvolutionBackwardDataAlgorithm(
    miopenHandle_t handle, const miopenTensorDescriptor_t dyDesc, const void *dy,
    const miopenTensorDescriptor_t wDesc, const void *w,
    const miopenConvolutionDescriptor_t convDesc, const miopenTensorDescriptor_t dxDesc, void *dx,
    const int requestAlgoCount, int *returnedAlgoCount, miopenConvAlgoPerf_t *perfResults,
    void *workSpace, size_t workSpaceSize, bool exhaustiveSearch) {
  return Try(__func__, [&] {
    static_cast<void>(exhaustiveSearch); // nothing here can be tuned
    miopen::FindAlgorithms(
        deref(handle), MakeProblem(ConvDirection::BackwardData, convDesc, dxDesc, wDesc, dyDesc),
        MakeBuffers(dy, w, dx), requestAlgoCount, returnedAlgoCount, perfResults, workSpace,
        workSpaceSize);
  });
}

MIOPEN_EXPORT miopenStatus_t miopenConvolutionBackwardData(
    miopenHandle_t handle, const void *alpha, const miopenTensorDescriptor_t dyDesc, const void *dy,
    const miopenTensorDescriptor_t wDesc, const void *w,
    const miopenConvolutionDescriptor_t convDesc, miopenConvBwdDataAlgorithm_t algo,
    const void *beta, const miopenTensorDescriptor_t dxDesc, void *dx, void *workSpace,
    size_t workSpaceSize) {
  return Try(__func__, [&] {
    miopen::Handle &h = deref(handle);
    const ConvBuffers buffers = MakeBuffers(dy, w, dx, alpha, beta, deref(dxDesc).Type());
    miopen::RunAlgorithm(h,
                         MakeProblem(ConvDirection::BackwardData, convDesc, dxDesc, wDesc, dyDesc),
                         buffers, algo, workSpace, workSpaceSize);
  });
}

MIOPEN_EXPORT miopenStatus_t miopenConvolutionBackwardWeightsGetSolutionCount(
    miopenHandle_t handle, const miopenTensorDescriptor_t dyDesc,
    const miopenTensorDescriptor_t xDesc, const miopenConvolutionDescriptor_t convDesc,
    const miopenTensorDescriptor_t dwDesc, size_t *solutionCount) {
  return Try(__func__, [&] {
    deref(handle);
    deref(solutionCount) = miopen::SolutionCount(
        MakeProblem(ConvDirection::BackwardWeights, convDesc, xDesc, dwDesc, dyDesc));
  });
}

MIOPEN_EXPORT miopenStatus_t miopenConvolutionBackwardWeightsGetSolution(
    miopenHandle_t handle, const miopenTensorDescriptor_t dyDesc,
    const miopenTensorDescriptor_t xDesc, const miopenConvolutionDescriptor_t convDesc,
    const miopenTensorDescriptor_t dwDesc, const size_t maxSolutionCount, size_t *solutionCount,
    miopenConvSolution_t *solutions) {
  return Try(__func__, [&] {
    deref(handle);
    miopen::GetSolutions(
        MakeProblem(ConvDirection::BackwardWeights, convDesc, xDesc, dwDesc, dyDesc),
        maxSolutionCount, solutionCount, solutions);
  });
}

MIOPEN_EXPORT miopenStatus_t miopenConvolutionBackwardWeightsGetSolutionWorkspaceSize(
    miopenHandle_t handle, const miopenTensorDescriptor_t dyDesc,
    const miopenTensorDescriptor_t xDesc, const miopenConvolutionDescriptor_t convDesc,
    const miopenTensorDescriptor_t dwDesc, const uint64_t solution_id, size_t *workSpaceSize) {
  return Try(__func__, [&] {
    deref(handle);
    deref(workSpaceSize) = miopen::SolutionWorkspaceSize(
        MakeProblem(ConvDirection::BackwardWeights, convDesc, xDesc, dwDesc, dyDesc), solution_id);
  });
}

MIOPEN_EXPORT miopenStatus_t miopenConvolutionBackwardWeightsCompileSolution(
    miopenHandle_t handle, const miopenTensorDescriptor_t dyDesc,
    const miopenTensorDescriptor_t xDesc, const miopenConvolutionDescriptor_t convDesc,
    const miopenTensorDescriptor_t dwDesc, const uint64_t solution_id) {
  return Try(__func__, [&] {
    miopen::CompileSolution(
        deref(handle), MakeProblem(ConvDirection::BackwardWeights, convDesc, xDesc, dwDesc, dyDesc),
        solution_id);
  });
}

MIOPEN_EXPORT miopenStatus_t miopenConvolutionBackwardWeightsImmediate(
    miopenHandle_t handle, const miopenTensorDescriptor_t dyDesc, const void *dy,
    const miopenTensorDescriptor_t xDesc, const void *x,
    const miopenConvolutionDescriptor_t convDesc, const miopenTensorDescriptor_t dwDesc, void *dw,
    void *workSpace, size_t workSpaceSize, const uint64_t solution_id) {
  return Try(__func__, [&] {
    miopen::RunSolution(
        deref(handle), MakeProblem(ConvDirection::BackwardWeights, convDesc, xDesc, dwDesc, dyDesc),
        MakeBuffers(dy, x, dw), workSpace, workSpaceSize, solution_id);
  });
}

MIOPEN_EXPORT miopenStatus_t miopenConvolutionBackwardWeightsGetWorkSpaceSize(
    miopenHandle_t handle, const miopenTensorDescriptor_t dyDesc,
    const miopenTensorDescriptor_t xDesc, const miopenConvolutionDescriptor_t convDesc,
    const miopenTensorDescriptor_t dwDesc, size_t *workSpaceSize) {
  return Try(__func__, [&] {
    deref(handle);
    deref(workSpaceSize) = miopen::WorkspaceSize(
        MakeProblem(ConvDirection::BackwardWeights, convDesc, xDesc, dwDesc, dyDesc));
  });
}

MIOPEN_EXPORT miopenStatus_t miopenFindConvolutionBackwardWeightsAlgorithm(
    miopenHandle_t handle, const miopenTensorDescriptor_t dyDesc, const void *dy,
    const miopenTensorDescriptor_t xDesc, const void *x,
    const miopenConvolutionDescriptor_t convDesc, const miopenTensorDescriptor_t dwDesc, void *dw,
    const int requestAlgoCount, int *returnedAlgoCount, miopenConvAlgoPerf_t *perfResults,
    void *workSpace, size_t workSpaceSize, bool exhaustiveSearch) {
  return Try(__func__, [&] {
    static_cast<void>(exhaustiveSearch); // nothing here can be tuned
    miopen::FindAlgorithms(
        deref(handle), MakeProblem(ConvDirection::BackwardWeights, convDesc, xDesc, dwDesc, dyDesc),
        MakeBuffers(dy, x, dw), requestAlgoCount, returnedAlgoCount, perfResults, workSpace,
        workSpaceSize);
  });
}

MIOPEN_EXPORT miopenStatus_t miopenConvolutionBackwardWeights(
    miopenHandle_t handle, const void *alpha, const miopenTensorDescriptor_t dyDesc, const void *dy,
    const miopenTensorDescriptor_t xDesc, const void *x,
    const miopenConvolutionDescriptor_t convDesc, miopenConvBwdWeightsAlgorithm_t algo,
    const void *beta, const miopenTensorDescriptor_t dwDesc, void *dw, void *workSpace,
    size_t workSpaceSize) {
  return Try(__func__, [&] {
    miopen::Handle &h = deref(handle);
    const ConvBuffers buffers = MakeBuffers(dy, x, dw, alpha, beta, deref(dwDesc).Type());
    miopen::RunAlgorithm(
        h, MakeProblem(ConvDirection::BackwardWeights, convDesc, xDesc, dwDesc, dyDesc), buffers,
        algo, workSpace, workSpaceSize);
  });
}

} // extern "C"
