// Entry points of find 2.0 for convolutions.
#include <miopen/miopen.h>

#include <algorithm>
#include <string>
#include <vector>

#include "conv_calls.hpp"
#include "conv_solver.hpp"
#include "errors.hpp"
#include "handle.hpp"
#include "problem.hpp"

using miopen::ConvDirection;
using miopen::deref;
using miopen::Throw;
using miopen::Try;

namespace miopen {

ConvProblem Problem::Checked() const {
  if (tensors.size() != 3)
    Throw(miopenStatusInvalidValue,
          "a convolution has three tensors, " + std::to_string(tensors.size()) + " were set");
  const auto tensor = [&](miopenTensorArgumentId_t id) -> const TensorDescriptor & {
    const auto found = tensors.find(id);
    if (found == tensors.end())
      Throw(miopenStatusInvalidValue, "tensor " + std::to_string(id) + " was not set");
    return found->second;
  };
  return MakeProblem(direction, conv, tensor(miopenTensorConvolutionX),
                     tensor(miopenTensorConvolutionW), tensor(miopenTensorConvolutionY));
}

} // namespace miopen

extern "C" {

MIOPEN_EXPORT miopenStatus_t miopenCreateConvProblem(miopenProblem_t *problem,
                                                     miopenConvolutionDescriptor_t operatorDesc,
                                                     miopenProblemDirection_t direction) {
  return Try(__func__, [&] {
    auto &created = deref(problem);
    const miopen::ConvolutionDescriptor &conv = deref(operatorDesc);
    if (direction != miopenProblemDirectionForward && direction != miopenProblemDirectionBackward &&
        direction != miopenProblemDirectionBackwardWeights)
      Throw(miopenStatusBadParm, "a convolution has no such direction");
    auto *made = new miopen::Problem();
    made->conv = conv;
    made->direction = static_cast<ConvDirection>(direction);
    created = made;
  });
}

MIOPEN_EXPORT miopenStatus_t miopenDestroyProblem(miopenProblem_t problem) {
  return Try(__func__, [&] { delete static_cast<miopen::Problem *>(problem); });
}

MIOPEN_EXPORT miopenStatus_t
miopenSetProblemTensorDescriptor(miopenProblem_t problem, miopenTensorArgumentId_t id,
                                 const miopenTensorDescriptor_t descriptor) {
  return Try(__func__, [&] {
    const miopen::TensorDescriptor &tensor = deref(descriptor);
    if (!deref(problem).tensors.emplace(id, tensor).second)
      Throw(miopenStatusBadParm, "tensor " + std::to_string(id) + " is already set");
  });
}

MIOPEN_EXPORT miopenStatus_t miopenCreateFindOptions(miopenFindOptions_t *options) {
  return Try(__func__, [&] {
    auto &created = deref(options); // first: an assignment would allocate before it looks at this
    created = new miopen::FindOptions();
  });
}

MIOPEN_EXPORT miopenStatus_t miopenDestroyFindOptions(miopenFindOptions_t options) {
  return Try(__func__, [&] { delete static_cast<miopen::FindOptions *>(options); });
}

// Nothing here can be tuned.
MIOPEN_EXPORT miopenStatus_t miopenSetFindOptionTuning(miopenFindOptions_t options, int value) {
  return Try(__func__, [&] {
    static_cast<void>(value);
    deref(options);
  });
}

MIOPEN_EXPORT miopenStatus_t miopenSetFindOptionResultsOrder(miopenFindOptions_t options,
                                                             miopenFindResultsOrder_t value) {
  return Try(__func__, [&] { deref(options).order = value; });
}

MIOPEN_EXPORT miopenStatus_t miopenSetFindOptionWorkspaceLimit(miopenFindOptions_t options,
                                                               size_t value) {
  return Try(__func__, [&] { deref(options).workspace_limit = value; });
}

MIOPEN_EXPORT miopenStatus_t miopenSetFindOptionPreallocatedWorkspace(miopenFindOptions_t options,
                                                                      void *buffer, size_t size) {
  return Try(__func__,
             [&] { deref(options).preallocated_workspace = buffer == nullptr ? 0 : size; });
}

// Finding runs nothing here, so that no buffer is written.
MIOPEN_EXPORT miopenStatus_t miopenSetFindOptionPreallocatedTensor(miopenFindOptions_t options,
                                                                   miopenTensorArgumentId_t id,
                                                                   void *buffer) {
  return Try(__func__, [&] {
    static_cast<void>(id);
    static_cast<void>(buffer);
    deref(options);
  });
}

MIOPEN_EXPORT miopenStatus_t miopenSetFindOptionAttachBinaries(miopenFindOptions_t options,
                                                               unsigned attach) {
  return Try(__func__, [&] {
    static_cast<void>(attach); // there are none
    deref(options);
  });
}

MIOPEN_EXPORT miopenStatus_t miopenFindSolutions(miopenHandle_t handle, miopenProblem_t problem,
                                                 miopenFindOptions_t options,
                                                 miopenSolution_t *solutions, size_t *numSolutions,
                                                 size_t maxSolutions) {
  return Try(__func__, [&] {
    miopen::Handle &h = deref(handle);
    const miopen::Problem &p = deref(problem);
    const miopen::FindOptions defaults;
    const miopen::FindOptions &o = options == nullptr ? defaults : deref(options);
    const miopen::ConvProblem checked = p.Checked();
    std::vector<miopen::Solution> found;
    for (const miopen::ConvSolver *s : miopen::ApplicableSolvers(checked.geometry)) {
      const std::size_t size = s->WorkspaceSize(checked.geometry);
      if (size > o.preallocated_workspace.value_or(o.workspace_limit))
        continue;
      found.emplace_back();
      found.back().problem = p;
      found.back().solver = s->Id();
      found.back().workspace_size = size;
      found.back().time = s->EstimatedTime(checked.geometry);
      h.RegisterInvoker(checked.key, s->Algorithm());
    }
    if (found.empty())
      Throw(miopenStatusUnknownError, "no algorithm can run this convolution");
    if (o.order == miopenFindResultsOrderByWorkspaceSize)
      std::stable_sort(found.begin(), found.end(), [](const auto &a, const auto &b) {
        return a.workspace_size < b.workspace_size;
      });
    found.resize(std::min(found.size(), maxSolutions));
    if (!found.empty())
      deref(solutions);
    for (std::size_t i = 0; i < found.size(); ++i)
      solutions[i] = new miopen::Solution(std::move(found[i]));
    if (numSolutions != nullptr)
      *numSolutions = found.size();
  });
}

MIOPEN_EXPORT miopenStatus_t miopenRunSolution(miopenHandle_t handle, miopenSolution_t solution,
                                               size_t nInputs,
                                               const miopenTensorArgument_t *tensors,
                                               void *workspace, size_t workspaceSize) {
  return Try(__func__, [&] {
    miopen::Handle &h = deref(handle);
    const miopen::Solution &s = deref(solution);
    if (workspaceSize < s.workspace_size)
      Throw(miopenStatusBadParm, "the solution needs " + std::to_string(s.workspace_size) +
                                     " bytes of workspace, not " + std::to_string(workspaceSize));
    miopen::Problem run = s.problem;
    void *buffers[3] = {};
    bool given[3] = {};
    for (std::size_t i = 0; i < nInputs; ++i) {
      const miopenTensorArgument_t &t = (&deref(tensors))[i];
      const int at = t.id - miopenTensorConvolutionX;
      if (at < 0 || at > 2)
        continue; // the real library takes no notice of others
      given[at] = true;
      buffers[at] = t.buffer;
      if (t.descriptor != nullptr)
        run.tensors[t.id] = deref(*t.descriptor);
    }
    if (!given[0] || !given[1] || !given[2])
      Throw(miopenStatusInvalidValue, "a tensor of the convolution was not given");
    void *const x = buffers[0], *const w = buffers[1], *const y = buffers[2];
    const miopen::ConvProblem checked = run.Checked();
    switch (run.direction) {
    case ConvDirection::Forward:
      return miopen::RunSolution(h, checked, miopen::MakeBuffers(x, w, y), workspace, workspaceSize,
                                 s.solver);
    case ConvDirection::BackwardData:
      return miopen::RunSolution(h, checked, miopen::MakeBuffers(y, w, x), workspace, workspaceSize,
                                 s.solver);
    case ConvDirection::BackwardWeights:
      return miopen::RunSolution(h, checked, miopen::MakeBuffers(y, x, w), workspace, workspaceSize,
                                 s.solver);
    }
  });
}

MIOPEN_EXPORT miopenStatus_t miopenDestroySolution(miopenSolution_t solution) {
  return Try(__func__, [&] { delete static_cast<miopen::Solution *>(solution); });
}

MIOPEN_EXPORT miopenStatus_t miopenGetSolutionWorkspaceSize(miopenSolution_t solution,
                                                            size_t *workspaceSize) {
  return Try(__func__, [&] { deref(workspaceSize) = deref(solution).workspace_size; });
}

MIOPEN_EXPORT miopenStatus_t miopenGetSolutionTime(miopenSolution_t solution, float *time) {
  return Try(__func__, [&] { deref(time) = deref(solution).time; });
}

MIOPEN_EXPORT miopenStatus_t miopenGetSolutionSolverId(miopenSolution_t solution,
                                                       uint64_t *solverId) {
  return Try(__func__, [&] { deref(solverId) = deref(solution).solver; });
}

} // extern "C"
