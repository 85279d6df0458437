// Find 2.0: convolution problems, and the solutions found for them.
#ifndef REFMIOPEN_PROBLEM_HPP
#define REFMIOPEN_PROBLEM_HPP

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include <miopen/miopen.h>

#include "conv_calls.hpp"
#include "convolution.hpp"
#include "errors.hpp"
#include "tensor.hpp"

namespace miopen {

struct Problem : miopenProblem {
  ConvolutionDescriptor conv;
  ConvDirection direction = ConvDirection::Forward;
  std::map<miopenTensorArgumentId_t, TensorDescriptor> tensors;

  // Throws miopenStatusInvalidValue unless x, w and y are there and nothing else.
  ConvProblem Checked() const;
};

struct FindOptions : miopenFindOptions {
  miopenFindResultsOrder_t order = miopenFindResultsOrderByTime;
  std::size_t workspace_limit = std::numeric_limits<std::size_t>::max();
  std::optional<std::size_t> preallocated_workspace; // its size
};

struct Solution : miopenSolution {
  Problem problem;
  std::uint64_t solver = 0;
  std::size_t workspace_size = 0;
  float time = 0;
};

inline Problem &deref(miopenProblem_t problem) {
  if (problem == nullptr)
    Throw(miopenStatusBadParm, "the problem is null");
  return *static_cast<Problem *>(problem);
}

inline FindOptions &deref(miopenFindOptions_t options) {
  if (options == nullptr)
    Throw(miopenStatusBadParm, "the find options are null");
  return *static_cast<FindOptions *>(options);
}

inline Solution &deref(miopenSolution_t solution) {
  if (solution == nullptr)
    Throw(miopenStatusBadParm, "the solution is null");
  return *static_cast<Solution *>(solution);
}

} // namespace miopen

#endif // REFMIOPEN_PROBLEM_HPP
