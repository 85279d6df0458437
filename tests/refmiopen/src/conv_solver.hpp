// The algorithms that a convolution can run with.
#ifndef REFMIOPEN_CONV_SOLVER_HPP
#define REFMIOPEN_CONV_SOLVER_HPP

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "conv_kernel.hpp"

namespace miopen {

// One way to compute a convolution. Stateless; every instance lives as long as the library.
class MIOPEN_EXPORT ConvSolver {
public:
  virtual std::uint64_t Id() const = 0;
  virtual miopenConvAlgorithm_t Algorithm() const = 0;
  virtual bool IsApplicable(const ConvGeometry &geometry) const = 0;
  // Bytes that Run needs.
  virtual std::size_t WorkspaceSize(const ConvGeometry &geometry) const = 0;
  // Milliseconds by a fixed cost model. Not a measurement, so that the order of the solutions is
  // the same in every run.
  virtual float EstimatedTime(const ConvGeometry &geometry) const = 0;
  // Fails when the workspace is too small.
  virtual void Run(const ConvGeometry &geometry, const ConvBuffers &buffers, void *workspace,
                   std::size_t workspace_size) const = 0;

protected:
  // Trivial and not virtual, so that the instances are constants: none is ever deleted.
  ~ConvSolver() = default;
};

// The applicable solvers, fastest first.
std::vector<const ConvSolver *> ApplicableSolvers(const ConvGeometry &geometry);

// Throws miopenStatusBadParm for an unknown id or one that cannot solve this problem.
const ConvSolver &SolverById(std::uint64_t id);
const ConvSolver &ApplicableSolverById(std::uint64_t id, const ConvGeometry &geometry);

// Null when no solver of that algorithm can run the problem.
const ConvSolver *SolverByAlgorithm(int algorithm, const ConvGeometry &geometry);

} // namespace miopen

#endif // REFMIOPEN_CONV_SOLVER_HPP
