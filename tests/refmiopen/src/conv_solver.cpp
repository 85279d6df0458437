#include "conv_solver.hpp"

#include <algorithm>

namespace miopen {

namespace {

class DirectSolver final : public ConvSolver {
public:
  std::uint64_t Id() const override {
    return 85;
  }
  miopenConvAlgorithm_t Algorithm() const override {
    return miopenConvolutionAlgoDirect;
  }
  bool IsApplicable(const ConvGeometry &) const override {
    return true;
  }
  std::size_t WorkspaceSize(const ConvGeometry &) const override {
    return 0;
  }
  float EstimatedTime(const ConvGeometry &g) const override {
    return static_cast<float>(g.MultiplyAdds()) * 2e-6f;
  }
  void Run(const ConvGeometry &g, const ConvBuffers &b, void *, std::size_t) const override {
    ConvolveDirect(g, b);
  }
};

class GemmSolver final : public ConvSolver {
public:
  std::uint64_t Id() const override {
    return 91;
  }
  miopenConvAlgorithm_t Algorithm() const override {
    return miopenConvolutionAlgoGEMM;
  }
  bool IsApplicable(const ConvGeometry &g) const override {
    return g.x_type != miopenInt8;
  }
  std::size_t WorkspaceSize(const ConvGeometry &g) const override {
    return GemmWorkspaceBytes(g);
  }
  float EstimatedTime(const ConvGeometry &g) const override {
    return static_cast<float>(g.MultiplyAdds()) * 1e-6f;
  }
  void Run(const ConvGeometry &g, const ConvBuffers &b, void *workspace,
           std::size_t size) const override {
    const std::size_t need = WorkspaceSize(g);
    if (workspace == nullptr || size < need)
      Throw(miopenStatusUnknownError,
            "not enough workspace for the matrix multiplication: " + std::to_string(size) + " of " +
                std::to_string(need) + " bytes");
    if (reinterpret_cast<std::uintptr_t>(workspace) % alignof(double) != 0)
      Throw(miopenStatusBadParm, "the workspace is not aligned to 8 bytes");
    ConvolveGemm(g, b, workspace);
  }
};

// Constant-initialised: no constructor runs when the library is loaded.
constexpr DirectSolver direct;
constexpr GemmSolver gemm;
constexpr const ConvSolver *solvers[] = {&gemm, &direct};

} // namespace

std::vector<const ConvSolver *> ApplicableSolvers(const ConvGeometry &geometry) {
  std::vector<const ConvSolver *> out;
  for (const ConvSolver *s : solvers)
    if (s->IsApplicable(geometry))
      out.push_back(s);
  std::stable_sort(out.begin(), out.end(), [&](const ConvSolver *a, const ConvSolver *b) {
    return a->EstimatedTime(geometry) < b->EstimatedTime(geometry);
  });
  return out;
}

const ConvSolver &SolverById(std::uint64_t id) {
  for (const ConvSolver *s : solvers)
    if (s->Id() == id)
      return *s;
  Throw(miopenStatusBadParm, "no solver has the id " + std::to_string(id));
}

const ConvSolver &ApplicableSolverById(std::uint64_t id, const ConvGeometry &geometry) {
  const ConvSolver &s = SolverById(id);
  if (!s.IsApplicable(geometry))
    Throw(miopenStatusBadParm, "solver " + std::to_string(id) + " cannot run this convolution");
  return s;
}

const ConvSolver *SolverByAlgorithm(int algorithm, const ConvGeometry &geometry) {
  for (const ConvSolver *s : solvers)
    if (s->Algorithm() == algorithm && s->IsApplicable(geometry))
      return s;
  return nullptr;
}

} // namespace miopen
