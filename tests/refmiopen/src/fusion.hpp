// Fusion plans: a sequence of operations that runs as one kernel.
#ifndef REFMIOPEN_FUSION_HPP
#define REFMIOPEN_FUSION_HPP

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include <miopen/miopen.h>

#include "activation.hpp"
#include "convolution.hpp"
#include "errors.hpp"
#include "fused_kernel.hpp"
#include "handle.hpp"
#include "tensor.hpp"

namespace miopen {

// The operations. Each keeps copies of the descriptors that it was made from.
struct ConvOp {
  ConvolutionDescriptor conv;
  TensorDescriptor w;
};
struct ScaleAddOp { // alpha * z is added; only miopenConvolutionBiasActivationForward makes one
  TensorDescriptor z;
};
struct BiasOp {
  TensorDescriptor bias;
};
struct ActivationOp {
  miopenActivationMode_t mode;
};

struct FusionOp : miopenFusionOpDescriptor {
  std::variant<ConvOp, ScaleAddOp, BiasOp, ActivationOp> content;
  int index = 0; // in its plan
};

// The arguments of an operation that change from one execution to the next.
struct ConvArgs {
  float alpha;
  float beta;
  const void *w;
};
struct ScaleAddArgs {
  float alpha;
  const void *z;
};
struct BiasArgs {
  const void *bias;
};
struct ActivationArgs {
  double alpha;
  double beta;
};

// By the operation's index: arguments of operations of two plans do not go together.
struct OperatorArgs : miopenOperatorArgs {
  std::map<int, std::variant<ConvArgs, ScaleAddArgs, BiasArgs, ActivationArgs>> by_index;
};

class FusionPlan : public miopenFusionPlanDescriptor {
public:
  FusionPlan(miopenFusionDirection_t d, TensorDescriptor i)
      : direction(d), input(std::move(i)), output(input) {}

  // A convolution whose filter does not fit the input is added, and the plan then not compiled.
  FusionOp &Add(std::variant<ConvOp, ScaleAddOp, BiasOp, ActivationOp> content);
  FusionOp &Op(int index) const;

  // Before compilation, of the most demanding kernel there is for the convolution or the plan;
  // afterwards what the compiled kernel needs.
  std::size_t WorkspaceSize() const;

  // miopenStatusUnsupportedOp when no kernel does what the plan says. Throws when it says nothing.
  miopenStatus_t Compile();

  void Execute(Handle &handle, const TensorDescriptor &input_desc, const void *x,
               const TensorDescriptor &output_desc, void *y, const OperatorArgs &args,
               const void *workspace, std::size_t workspace_size) const;

private:
  // What a kernel is chosen by; null pointers stand for absent operations.
  struct Sequence {
    const ConvOp *conv;
    const FusionOp *scale_add;
    const FusionOp *bias;
    const FusionOp *activation;
  };
  // A kernel that was chosen.
  struct Kernel {
    ConvGeometry geometry;
    std::size_t workspace_size;
  };

  std::optional<Sequence> Parse() const;
  std::optional<Kernel> Choose() const;

  miopenFusionDirection_t direction;
  TensorDescriptor input;
  TensorDescriptor output; // of the last operation
  std::vector<std::unique_ptr<FusionOp>> ops;
  std::optional<Kernel> compiled;
};

inline FusionPlan &deref(miopenFusionPlanDescriptor_t plan) {
  if (plan == nullptr)
    Throw(miopenStatusBadParm, "the fusion plan is null");
  return *static_cast<FusionPlan *>(plan);
}

inline FusionOp &deref(miopenFusionOpDescriptor_t op) {
  if (op == nullptr)
    Throw(miopenStatusBadParm, "the operation is null");
  return *static_cast<FusionOp *>(op);
}

inline OperatorArgs &deref(miopenOperatorArgs_t args) {
  if (args == nullptr)
    Throw(miopenStatusBadParm, "the operations' arguments are null");
  return *static_cast<OperatorArgs *>(args);
}

} // namespace miopen

#endif // REFMIOPEN_FUSION_HPP
