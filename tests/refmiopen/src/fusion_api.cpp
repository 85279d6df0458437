// Entry points for fusion: plans, their operations and arguments, and the calls that fuse without a
// plan.
#include <miopen/miopen.h>

#include <algorithm>
#include <variant>

#include "activation.hpp"
#include "conv_calls.hpp"
#include "errors.hpp"
#include "fused_kernel.hpp"
#include "fusion.hpp"
#include "handle.hpp"
#include "tensor.hpp"

using miopen::deref;
using miopen::Throw;
using miopen::Try;

namespace {

// Many of these entry points of the real library answer with a status of their own for whatever
// fails inside, and with success when what fails comes last. `body` is given that status to change.
template <class Body>
miopenStatus_t TryOr(miopenStatus_t status, const char *function, Body &&body) {
  Try(function, [&] { body(status); });
  return status;
}

// Throws what a wrong dynamic_cast gives in the real library.
template <class Op> void CheckKind(const miopen::FusionOp &op) {
  if (!std::holds_alternative<Op>(op.content))
    Throw(miopenStatusUnknownError, "the operation is of another kind");
}

template <class Content>
miopenStatus_t AddOp(const char *function, miopenFusionPlanDescriptor_t plan,
                     miopenFusionOpDescriptor_t *op, Content &&content) {
  return TryOr(miopenStatusUnknownError, function, [&](miopenStatus_t &status) {
    auto made = content();
    auto &created = deref(op);
    created = &deref(plan).Add(std::move(made));
    status = miopenStatusSuccess;
  });
}

} // namespace

extern "C" {

MIOPEN_EXPORT miopenStatus_t miopenCreateFusionPlan(miopenFusionPlanDescriptor_t *fusePlanDesc,
                                                    const miopenFusionDirection_t fuseDirection,
                                                    const miopenTensorDescriptor_t inputDesc) {
  return Try(__func__, [&] {
    auto &created =
        deref(fusePlanDesc); // first: an assignment would allocate before it looks at this
    created = new miopen::FusionPlan(fuseDirection, deref(inputDesc));
  });
}

MIOPEN_EXPORT miopenStatus_t miopenDestroyFusionPlan(miopenFusionPlanDescriptor_t fusePlanDesc) {
  return Try(__func__, [&] { delete static_cast<miopen::FusionPlan *>(fusePlanDesc); });
}

MIOPEN_EXPORT miopenStatus_t miopenFusionPlanGetOp(miopenFusionPlanDescriptor_t fusePlanDesc,
                                                   const int op_idx,
                                                   miopenFusionOpDescriptor_t *op) {
  return TryOr(miopenStatusBadParm, __func__, [&](miopenStatus_t &status) {
    miopen::FusionOp &found = deref(fusePlanDesc).Op(op_idx);
    status = miopenStatusSuccess;
    deref(op) = &found;
  });
}

MIOPEN_EXPORT miopenStatus_t
miopenFusionPlanGetWorkSpaceSize(miopenHandle_t handle, miopenFusionPlanDescriptor_t fusePlanDesc,
                                 size_t *workSpaceSize, miopenConvFwdAlgorithm_t algo) {
  return TryOr(miopenStatusUnknownError, __func__, [&](miopenStatus_t &status) {
    static_cast<void>(algo); // the real library takes no notice of it either
    miopen::FusionPlan &plan = deref(fusePlanDesc);
    deref(handle);
    const std::size_t size = plan.WorkspaceSize();
    status = miopenStatusSuccess;
    deref(workSpaceSize) = size;
  });
}

MIOPEN_EXPORT miopenStatus_t miopenFusionPlanConvolutionGetAlgo(
    miopenFusionPlanDescriptor_t fusePlanDesc, const int requestAlgoCount, int *returnedAlgoCount,
    miopenConvFwdAlgorithm_t *returnedAlgos) {
  return TryOr(miopenStatusUnknownError, __func__, [&](miopenStatus_t &status) {
    // Two algorithms for every plan, whatever is in it.
    static const miopenConvFwdAlgorithm_t algorithms[] = {miopenConvolutionFwdAlgoDirect,
                                                          miopenConvolutionFwdAlgoWinograd};
    deref(fusePlanDesc);
    const int count = std::clamp(requestAlgoCount, 0, 2);
    if (count > 0)
      std::copy_n(algorithms, count, &deref(returnedAlgos));
    status = miopenStatusSuccess;
    deref(returnedAlgoCount) = count;
  });
}

MIOPEN_EXPORT miopenStatus_t miopenFusionPlanConvolutionSetAlgo(
    miopenFusionPlanDescriptor_t fusePlanDesc, miopenConvFwdAlgorithm_t algo) {
  return TryOr(miopenStatusUnknownError, __func__, [&](miopenStatus_t &status) {
    static_cast<void>(algo); // a wish that the real library passes over for fused kernels
    deref(fusePlanDesc);
    status = miopenStatusSuccess;
  });
}

MIOPEN_EXPORT miopenStatus_t miopenCompileFusionPlan(miopenHandle_t handle,
                                                     miopenFusionPlanDescriptor_t fusePlanDesc) {
  return TryOr(miopenStatusUnknownError, __func__, [&](miopenStatus_t &status) {
    miopen::FusionPlan &plan = deref(fusePlanDesc);
    deref(handle);
    status = plan.Compile();
  });
}

MIOPEN_EXPORT miopenStatus_t miopenCreateOpConvForward(miopenFusionPlanDescriptor_t fusePlanDesc,
                                                       miopenFusionOpDescriptor_t *convOp,
                                                       miopenConvolutionDescriptor_t convDesc,
                                                       const miopenTensorDescriptor_t wDesc) {
  return AddOp(__func__, fusePlanDesc, convOp, [&] {
    return miopen::ConvOp{deref(convDesc), deref(wDesc)};
  });
}

MIOPEN_EXPORT miopenStatus_t miopenCreateOpBiasForward(miopenFusionPlanDescriptor_t fusePlanDesc,
                                                       miopenFusionOpDescriptor_t *biasOp,
                                                       const miopenTensorDescriptor_t bDesc) {
  return AddOp(__func__, fusePlanDesc, biasOp, [&] { return miopen::BiasOp{deref(bDesc)}; });
}

MIOPEN_EXPORT miopenStatus_t miopenCreateOpActivationForward(
    miopenFusionPlanDescriptor_t fusePlanDesc, miopenFusionOpDescriptor_t *activFwdOp,
    miopenActivationMode_t mode) {
  return AddOp(__func__, fusePlanDesc, activFwdOp, [&] { return miopen::ActivationOp{mode}; });
}

MIOPEN_EXPORT miopenStatus_t miopenCreateOperatorArgs(miopenOperatorArgs_t *args) {
  return Try(__func__, [&] {
    auto &created = deref(args); // first: an assignment would allocate before it looks at this
    created = new miopen::OperatorArgs();
  });
}

MIOPEN_EXPORT miopenStatus_t miopenDestroyOperatorArgs(miopenOperatorArgs_t args) {
  return Try(__func__, [&] { delete static_cast<miopen::OperatorArgs *>(args); });
}

MIOPEN_EXPORT miopenStatus_t miopenSetOpArgsConvForward(miopenOperatorArgs_t args,
                                                        const miopenFusionOpDescriptor_t convOp,
                                                        const void *alpha, const void *beta,
                                                        const void *w) {
  return Try(__func__, [&] {
    const miopen::FusionOp &op = deref(convOp);
    CheckKind<miopen::ConvOp>(op);
    deref(args).by_index[op.index] =
        miopen::ConvArgs{static_cast<float>(miopen::Scale(alpha, miopenFloat, 1)),
                         static_cast<float>(miopen::Scale(beta, miopenFloat, 0)), w};
  });
}

// alpha and beta of the next two are not looked at, as in the real library.

MIOPEN_EXPORT miopenStatus_t miopenSetOpArgsBiasForward(miopenOperatorArgs_t args,
                                                        const miopenFusionOpDescriptor_t biasOp,
                                                        const void *alpha, const void *beta,
                                                        const void *bias) {
  return Try(__func__, [&] {
    static_cast<void>(alpha);
    static_cast<void>(beta);
    const miopen::FusionOp &op = deref(biasOp);
    CheckKind<miopen::BiasOp>(op);
    deref(args).by_index[op.index] = miopen::BiasArgs{bias};
  });
}

MIOPEN_EXPORT miopenStatus_t miopenSetOpArgsActivForward(
    miopenOperatorArgs_t args, const miopenFusionOpDescriptor_t activFwdOp, const void *alpha,
    const void *beta, double activAlpha, double activBeta, double activGamma) {
  return Try(__func__, [&] {
    static_cast<void>(alpha);
    static_cast<void>(beta);
    static_cast<void>(activGamma); // of modes that are not fused here
    const miopen::FusionOp &op = deref(activFwdOp);
    CheckKind<miopen::ActivationOp>(op);
    deref(args).by_index[op.index] = miopen::ActivationArgs{activAlpha, activBeta};
  });
}

#ifndef REFMIOPEN_3_4
MIOPEN_EXPORT miopenStatus_t miopenExecuteFusionPlan_v2(
    const miopenHandle_t handle, const miopenFusionPlanDescriptor_t fusePlanDesc,
    const miopenTensorDescriptor_t inputDesc, const void *input,
    const miopenTensorDescriptor_t outputDesc, void *output, miopenOperatorArgs_t args,
    void *workspace, size_t workspaceSize) {
  return Try(__func__, [&] {
    if (workspace == nullptr && workspaceSize != 0)
      Throw(miopenStatusBadParm, "a workspace that has a size and no address");
    deref(fusePlanDesc)
        .Execute(deref(handle), deref(inputDesc), input, deref(outputDesc), output, deref(args),
                 workspace, workspaceSize);
  });
}
#endif

MIOPEN_EXPORT miopenStatus_t miopenExecuteFusionPlan(
    const miopenHandle_t handle, const miopenFusionPlanDescriptor_t fusePlanDesc,
    const miopenTensorDescriptor_t inputDesc, const void *input,
    const miopenTensorDescriptor_t outputDesc, void *output, miopenOperatorArgs_t args) {
  return Try(__func__, [&] {
    deref(fusePlanDesc)
        .Execute(deref(handle), deref(inputDesc), input, deref(outputDesc), output, deref(args),
                 nullptr, 0);
  });
}

// y = relu(alpha1 * conv(x, w) + alpha2 * z + bias)
MIOPEN_EXPORT miopenStatus_t miopenConvolutionBiasActivationForward(
    miopenHandle_t handle, const void *alpha1, const miopenTensorDescriptor_t xDesc, const void *x,
    const miopenTensorDescriptor_t wDesc, const void *w,
    const miopenConvolutionDescriptor_t convDesc, miopenConvFwdAlgorithm_t algo, void *workspace,
    size_t workspaceSizeInBytes, const void *alpha2, const miopenTensorDescriptor_t zDesc,
    const void *z, const miopenTensorDescriptor_t biasDesc, const void *bias,
    const miopenActivationDescriptor_t activationDesc, const miopenTensorDescriptor_t yDesc,
    void *y) {
  miopenStatus_t compiled = miopenStatusSuccess;
  const miopenStatus_t status = Try(__func__, [&] {
    static_cast<void>(algo);
    miopen::Handle &h = deref(handle);
    const miopen::TensorDescriptor &x_desc = deref(xDesc);
    const miopen::ActivationDescriptor &activation = deref(activationDesc);
    const miopen::TensorDescriptor &y_desc = deref(yDesc);
    miopen::FusionPlan plan(miopenVerticalFusion, x_desc);
    miopen::OperatorArgs args;
    const auto add = [&](auto content, auto arguments) {
      args.by_index[plan.Add(std::move(content)).index] = arguments;
    };
    add(miopen::ConvOp{deref(convDesc), deref(wDesc)},
        miopen::ConvArgs{static_cast<float>(miopen::Scale(alpha1, miopenFloat, 1)), 0, w});
    add(miopen::ScaleAddOp{deref(zDesc)},
        miopen::ScaleAddArgs{static_cast<float>(miopen::Scale(alpha2, miopenFloat, 1)), z});
    add(miopen::BiasOp{deref(biasDesc)}, miopen::BiasArgs{bias});
    add(miopen::ActivationOp{activation.mode},
        miopen::ActivationArgs{activation.alpha, activation.beta});
    if (activation.mode != miopenActivationRELU)
      Throw(miopenStatusNotImplemented, "only ReLU is fused with convolution, bias and a tensor");
    compiled = plan.Compile();
    if (compiled == miopenStatusSuccess)
      plan.Execute(h, x_desc, x, y_desc, y, args, workspace, workspaceSizeInBytes);
  });
  return status != miopenStatusSuccess ? status : compiled;
}

MIOPEN_EXPORT miopenStatus_t miopenConvolutionForwardBias(miopenHandle_t handle, const void *alpha,
                                                          const miopenTensorDescriptor_t bDesc,
                                                          const void *b, const void *beta,
                                                          const miopenTensorDescriptor_t yDesc,
                                                          void *y) {
  return Try(__func__, [&] {
    const miopen::TensorDescriptor &y_desc = deref(yDesc);
    const miopen::TensorDescriptor &b_desc = deref(bDesc);
    const auto floating = [](miopenDataType_t type) {
      return type == miopenFloat || type == miopenHalf || type == miopenDouble;
    };
    if (y_desc.Type() == miopenBFloat16 || b_desc.Type() == miopenBFloat16)
      Throw(miopenStatusNotImplemented, "a bias in bfloat16");
    miopen::Handle &h = deref(handle);
    if (b == nullptr || y == nullptr)
      Throw(miopenStatusBadParm, "the bias or the tensor that it is added to is null");
    if (b_desc.Type() != y_desc.Type())
      Throw(miopenStatusUnknownError, "the types of bias and output differ");
    if (!floating(y_desc.Type()))
      Throw(miopenStatusNotImplemented, "a bias in integers");
    if (y_desc.Dimensions() > 5 || b_desc.Dimensions() != y_desc.Dimensions())
      Throw(miopenStatusUnknownError, "the dimensions of bias and output differ, or are too many");
    for (std::size_t i = 0; i < y_desc.Dimensions(); ++i)
      if (b_desc.Lengths()[i] != 1 && b_desc.Lengths()[i] != y_desc.Lengths()[i])
        Throw(miopenStatusUnknownError, "a length of the bias is neither 1 nor the output's");
    h.Timed([&] {
      miopen::AddBias(b_desc, b, y_desc, y, miopen::Scale(alpha, y_desc.Type(), 1),
                      miopen::Scale(beta, y_desc.Type(), 0));
    });
  });
}

} // extern "C"
