// What the entry points of the three directions have in common: find, immediate mode and the
// classic call, on a checked problem. Each throws the status that the entry point answers.
#ifndef REFMIOPEN_CONV_CALLS_HPP
#define REFMIOPEN_CONV_CALLS_HPP

#include <cstddef>
#include <cstdint>
#include <string>

#include "conv_kernel.hpp"
#include "handle.hpp"

namespace miopen {

// A convolution as the entry points receive it. `key` is what the registered invokers are looked up
// by: everything that decides which code can run.
struct ConvProblem {
  ConvGeometry geometry;
  std::string key;
};

// x, w and y are the forward convolution's tensors, or their gradients.
ConvProblem MakeProblem(ConvDirection direction, miopenConvolutionDescriptor_t conv,
                        miopenTensorDescriptor_t x, miopenTensorDescriptor_t w,
                        miopenTensorDescriptor_t y);
ConvProblem MakeProblem(ConvDirection direction, const ConvolutionDescriptor &conv,
                        const TensorDescriptor &x, const TensorDescriptor &w,
                        const TensorDescriptor &y);

// alpha and beta point to floats, or to doubles when the result's elements are doubles; null stands
// for 1 and 0. Throws when a buffer is null.
ConvBuffers MakeBuffers(const void *first, const void *second, void *result);
ConvBuffers MakeBuffers(const void *first, const void *second, void *result, const void *alpha,
                        const void *beta, miopenDataType_t type);
double Scale(const void *value, miopenDataType_t type, double neutral);

std::size_t SolutionCount(const ConvProblem &problem);
void GetSolutions(const ConvProblem &problem, std::size_t max, std::size_t *count,
                  miopenConvSolution_t *solutions);
std::size_t SolutionWorkspaceSize(const ConvProblem &problem, std::uint64_t solution);
void CompileSolution(Handle &handle, const ConvProblem &problem, std::uint64_t solution);
void RunSolution(Handle &handle, const ConvProblem &problem, const ConvBuffers &buffers,
                 void *workspace, std::size_t workspace_size, std::uint64_t solution);

// Of the most demanding solver.
std::size_t WorkspaceSize(const ConvProblem &problem);

// Runs every solver that the workspace allows, fastest first, and makes it callable.
void FindAlgorithms(Handle &handle, const ConvProblem &problem, const ConvBuffers &buffers,
                    int requested, int *returned, miopenConvAlgoPerf_t *results, void *workspace,
                    std::size_t workspace_size);

// Refuses an algorithm that was neither found nor compiled for the problem on the handle.
void RunAlgorithm(Handle &handle, const ConvProblem &problem, const ConvBuffers &buffers,
                  int algorithm, void *workspace, std::size_t workspace_size);

} // namespace miopen

#endif // REFMIOPEN_CONV_CALLS_HPP
