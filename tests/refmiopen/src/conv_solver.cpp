#include "conv_solver.hpp"

#include <algorithm>

namespace miopen {

namespace {

// Throws unless the workspace is as large as `need` and aligned for every type of sum.
void CheckWorkspace(const void *workspace, std::size_t size, std::size_t need, const char *what) {
  if (workspace == nullptr || size < need)
    Throw(miopenStatusUnknownError, std::string("not enough workspace for the ") + what + ": " +
                                        std::to_string(size) + " of " + std::to_string(need) +
                                        " bytes");
  if (reinterpret_cast<std::uintptr_t>(workspace) % alignof(double) != 0)
    Throw(miopenStatusBadParm, "the workspace is not aligned to 8 bytes");
}

class DirectSolver final : public ConvSolver {
public:
  constexpr DirectSolver(std::uint64_t i, ConvDirection d) : id(i), direction(d) {}
  std::uint64_t Id() const override {
    return id;
  }
  miopenConvAlgorithm_t Algorithm() const override {
    return miopenConvolutionAlgoDirect;
  }
  bool IsApplicable(const ConvGeometry &g) const override {
    return g.direction == direction;
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

private:
  std::uint64_t id;
  ConvDirection direction;
};

class GemmSolver final : public ConvSolver {
public:
  constexpr GemmSolver(std::uint64_t i, ConvDirection d) : id(i), direction(d) {}
  std::uint64_t Id() const override {
    return id;
  }
  miopenConvAlgorithm_t Algorithm() const override {
    return miopenConvolutionAlgoGEMM;
  }
  bool IsApplicable(const ConvGeometry &g) const override {
    return g.direction == direction && g.x_type != miopenInt8;
  }
  std::size_t WorkspaceSize(const ConvGeometry &g) const override {
    return GemmWorkspaceBytes(g);
  }
  float EstimatedTime(const ConvGeometry &g) const override {
    return static_cast<float>(g.MultiplyAdds()) * 1e-6f;
  }
  void Run(const ConvGeometry &g, const ConvBuffers &b, void *workspace,
           std::size_t size) const override {
    CheckWorkspace(workspace, size, WorkspaceSize(g), "matrix multiplication");
    ConvolveGemm(g, b, workspace);
  }

private:
  std::uint64_t id;
  ConvDirection direction;
};

// Stands for the kernels that add partial sums up by atomic operations: the fastest, but not for
// who asks for results that are the same in every run.
class SplitWeightsSolver final : public ConvSolver {
public:
  std::uint64_t Id() const override {
    return 156;
  }
  miopenConvAlgorithm_t Algorithm() const override {
    return miopenConvolutionAlgoImplicitGEMM;
  }
  bool IsApplicable(const ConvGeometry &g) const override {
    return g.direction == ConvDirection::BackwardWeights && !g.deterministic;
  }
  std::size_t WorkspaceSize(const ConvGeometry &g) const override {
    return SplitWorkspaceBytes(g);
  }
  float EstimatedTime(const ConvGeometry &g) const override {
    return static_cast<float>(g.MultiplyAdds()) * 5e-7f;
  }
  void Run(const ConvGeometry &g, const ConvBuffers &b, void *workspace,
           std::size_t size) const override {
    CheckWorkspace(workspace, size, WorkspaceSize(g), "partial sums");
    ConvolveSplitWeights(g, b, workspace);
  }
};

// Constant-initialised: no constructor runs when the library is loaded. The ids are those of the
// real library's ConvDirectNaiveConv*, GemmFwdRest, GemmBwdRest, GemmWrwUniversal and
// ConvHipImplicitGemmGroupWrwXdlops.
constexpr DirectSolver direct_forward{85, ConvDirection::Forward};
constexpr DirectSolver direct_data{86, ConvDirection::BackwardData};
constexpr DirectSolver direct_weights{87, ConvDirection::BackwardWeights};
constexpr GemmSolver gemm_forward{91, ConvDirection::Forward};
constexpr GemmSolver gemm_data{97, ConvDirection::BackwardData};
constexpr GemmSolver gemm_weights{102, ConvDirection::BackwardWeights};
constexpr SplitWeightsSolver split_weights;
constexpr const ConvSolver *solvers[] = {&gemm_forward,   &gemm_data,   &gemm_weights,
                                         &direct_forward, &direct_data, &direct_weights,
                                         &split_weights};

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
