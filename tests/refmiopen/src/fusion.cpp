#include "fusion.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "conv_calls.hpp"

namespace miopen {

namespace {

// The orders of dimensions in memory that kernels know, outermost first.
std::vector<std::size_t> ChannelsFirst(std::size_t dimensions) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < dimensions; ++i)
    order.push_back(i);
  return order;
}

std::vector<std::size_t> ChannelsLast(std::size_t dimensions) {
  std::vector<std::size_t> order{0};
  for (std::size_t i = 2; i < dimensions; ++i)
    order.push_back(i);
  order.push_back(1);
  return order;
}

std::vector<std::size_t> PackedStrides(const std::vector<std::size_t> &lengths,
                                       const std::vector<std::size_t> &order) {
  std::vector<std::size_t> strides(lengths.size());
  std::size_t stride = 1;
  for (std::size_t i = order.size(); i-- > 0;) {
    strides[order[i]] = stride;
    stride *= lengths[order[i]];
  }
  return strides;
}

bool IsPacked(const TensorDescriptor &t, const std::vector<std::size_t> &order) {
  return t.VectorLength() == 1 && t.Strides() == PackedStrides(t.Lengths(), order);
}

bool Equal(const TensorDescriptor &a, const TensorDescriptor &b) {
  return a.Type() == b.Type() && a.Lengths() == b.Lengths() && a.Strides() == b.Strides();
}

// y of a convolution is packed in the order of x.
TensorDescriptor ConvolutionOutput(const ConvOp &op, const TensorDescriptor &x) {
  const std::vector<std::size_t> lengths = op.conv.ForwardOutputLengths(x, op.w);
  const std::size_t n = lengths.size();
  const bool last = !IsPacked(x, ChannelsFirst(n)) && IsPacked(x, ChannelsLast(n));
  return TensorDescriptor(x.Type(), lengths,
                          PackedStrides(lengths, last ? ChannelsLast(n) : ChannelsFirst(n)));
}

bool IsBiasOf(const TensorDescriptor &bias, const TensorDescriptor &y) {
  std::vector<std::size_t> lengths(y.Dimensions(), 1);
  lengths[1] = y.Lengths()[1];
  return bias.Type() == y.Type() && bias.Lengths() == lengths && bias.Strides()[1] == 1;
}

// The arguments that were set for an operation, which the caller may have forgotten or mixed up.
template <class Args> const Args &Get(const OperatorArgs &args, int index) {
  const auto found = args.by_index.find(index);
  if (found == args.by_index.end())
    Throw(miopenStatusBadParm,
          "the arguments of operation " + std::to_string(index) + " were not set");
  if (!std::holds_alternative<Args>(found->second))
    Throw(miopenStatusUnknownError,
          "the arguments of operation " + std::to_string(index) + " are those of another kind");
  return std::get<Args>(found->second);
}

} // namespace

FusionOp &FusionPlan::Add(std::variant<ConvOp, ScaleAddOp, BiasOp, ActivationOp> content) {
  auto op = std::make_unique<FusionOp>();
  op->content = std::move(content);
  op->index = static_cast<int>(ops.size());
  ops.push_back(std::move(op));
  FusionOp &added = *ops.back();
  compiled.reset(); // it was another plan's kernel
  if (const auto *conv = std::get_if<ConvOp>(&added.content)) {
    try {
      output = ConvolutionOutput(*conv, output);
    } catch (const Exception &) {
      // As in the real library, the call that adds the operation succeeds.
    }
  }
  return added;
}

FusionOp &FusionPlan::Op(int index) const {
  if (index < 0 || static_cast<std::size_t>(index) >= ops.size())
    Throw(miopenStatusBadParm, "the plan has no operation " + std::to_string(index));
  return *ops[static_cast<std::size_t>(index)];
}

// Convolution, then a scaled tensor, a bias and an activation, each of them or not.
std::optional<FusionPlan::Sequence> FusionPlan::Parse() const {
  Sequence s{std::get_if<ConvOp>(&ops[0]->content), nullptr, nullptr, nullptr};
  if (s.conv == nullptr)
    return std::nullopt;
  std::size_t at = 1;
  const auto take = [&](const FusionOp *&slot, std::size_t kind) {
    if (at < ops.size() && ops[at]->content.index() == kind)
      slot = ops[at++].get();
  };
  take(s.scale_add, 1);
  take(s.bias, 2);
  take(s.activation, 3);
  if (at != ops.size())
    return std::nullopt;
  return s;
}

// Two families of kernels, as the real library has them for gfx942. One is for two dimensions,
// channels first, a single group, float and half, and takes any sequence. The other is for bfloat16
// too, both layouts, groups and three dimensions, but always ends in an activation, is not
// deterministic, and converts channels-first tensors in its workspace; only it adds a tensor, and
// that channels last. The real library's kernels have further limits of shape and alignment.
std::optional<FusionPlan::Kernel> FusionPlan::Choose() const {
  const std::optional<Sequence> s = Parse();
  if (!s || direction != miopenVerticalFusion)
    return std::nullopt;
  const std::size_t dimensions = input.Dimensions();
  const TensorDescriptor &w = s->conv->w;
  ConvGeometry geometry;
  try {
    if (dimensions < 4 || !Equal(output, ConvolutionOutput(*s->conv, input)))
      return std::nullopt;
    geometry = MakeGeometry(ConvDirection::Forward, s->conv->conv, input, w, output);
  } catch (const Exception &) {
    return std::nullopt;
  }

  const auto packed = [&](const std::vector<std::size_t> &order) {
    return IsPacked(input, order) && IsPacked(w, order) && IsPacked(output, order);
  };
  const bool first = packed(ChannelsFirst(dimensions));
  const bool last = packed(ChannelsLast(dimensions));
  const miopenDataType_t type = input.Type();
  if (s->bias != nullptr && !IsBiasOf(std::get<BiasOp>(s->bias->content).bias, output))
    return std::nullopt;
  const miopenActivationMode_t mode = s->activation != nullptr
                                          ? std::get<ActivationOp>(s->activation->content).mode
                                          : miopenActivationPASTHRU;
  if (!IsFusible(mode))
    return std::nullopt;

  if (s->scale_add == nullptr && dimensions == 4 && first && geometry.groups == 1 &&
      (type == miopenFloat || type == miopenHalf) && mode != miopenActivationCLAMP)
    return Kernel{geometry, 0};

  const bool clips = mode == miopenActivationRELU || mode == miopenActivationCLIPPEDRELU ||
                     mode == miopenActivationCLAMP;
  if (s->activation == nullptr || !clips || geometry.deterministic || !(first || last) ||
      !(type == miopenFloat || type == miopenHalf || type == miopenBFloat16))
    return std::nullopt;
  if (s->scale_add != nullptr && (!last || s->bias == nullptr || mode != miopenActivationRELU ||
                                  !Equal(std::get<ScaleAddOp>(s->scale_add->content).z, output)))
    return std::nullopt;
  return Kernel{geometry, last ? 0 : input.NumBytes() + w.NumBytes() + output.NumBytes()};
}

std::size_t FusionPlan::WorkspaceSize() const {
  if (compiled)
    return compiled->workspace_size;
  std::size_t size = 0;
  if (!ops.empty()) {
    if (const auto *conv = std::get_if<ConvOp>(&ops[0]->content))
      size = miopen::WorkspaceSize(MakeProblem(ConvDirection::Forward, conv->conv, input, conv->w,
                                               ConvolutionOutput(*conv, input)));
    if (const std::optional<Kernel> kernel = Choose())
      size = std::max(size, kernel->workspace_size);
  }
  return size;
}

miopenStatus_t FusionPlan::Compile() {
  compiled.reset();
  if (ops.empty())
    Throw(miopenStatusUnknownError, "the fusion plan has no operation");
  compiled = Choose();
  return compiled ? miopenStatusSuccess : miopenStatusUnsupportedOp;
}

void FusionPlan::Execute(Handle &handle, const TensorDescriptor &input_desc, const void *x,
                         const TensorDescriptor &output_desc, void *y, const OperatorArgs &args,
                         const void *workspace, std::size_t workspace_size) const {
  if (!Equal(output, output_desc))
    Throw(miopenStatusBadParm, "the output's descriptor is not the plan's");
  if (!Equal(input, input_desc))
    Throw(miopenStatusBadParm, "the input's descriptor is not the plan's");
  if (!compiled)
    Throw(miopenStatusBadParm, "the fusion plan was not compiled, or not with success");
  const std::size_t given = workspace == nullptr ? 0 : workspace_size;
  if (compiled->workspace_size > given)
    Throw(miopenStatusBadParm,
          "not enough workspace for the fusion plan: " + std::to_string(given) + " of " +
              std::to_string(compiled->workspace_size) + " bytes");

  const Sequence s = *Parse();
  const auto &conv = Get<ConvArgs>(args, 0);
  FusedBuffers b{x, conv.w, y, conv.alpha, nullptr, nullptr, 0, miopenActivationPASTHRU, 0, 0};
  // The real kernels differ in what they make of these, or take no notice.
  if (conv.beta != 0 || (conv.alpha != 1 && s.scale_add == nullptr))
    Throw(miopenStatusNotImplemented, "a fused convolution with other factors than 1 and 0");
  if (s.scale_add != nullptr) {
    const auto &a = Get<ScaleAddArgs>(args, s.scale_add->index);
    b.add = a.z;
    b.add_scale = a.alpha;
  }
  if (s.bias != nullptr)
    b.bias = Get<BiasArgs>(args, s.bias->index).bias;
  if (s.activation != nullptr) {
    const auto &a = Get<ActivationArgs>(args, s.activation->index);
    b.mode = std::get<ActivationOp>(s.activation->content).mode;
    b.activation_alpha = a.alpha;
    b.activation_beta = a.beta;
  }
  if (b.x == nullptr || b.w == nullptr || b.y == nullptr ||
      (s.bias != nullptr && b.bias == nullptr) || (s.scale_add != nullptr && b.add == nullptr))
    Throw(miopenStatusBadParm, "one of the fusion plan's buffers is null");
  handle.Timed([&] { ConvolveFused(compiled->geometry, b); });
}

} // namespace miopen
