#include "conv_kernel.hpp"

#include <type_traits>
#include <vector>

#include "conv_backward.hpp"
#include "conv_loops.hpp"

namespace miopen {

namespace {

bool IsFloating(miopenDataType_t type) {
  return type == miopenFloat || type == miopenHalf || type == miopenBFloat16 ||
         type == miopenDouble;
}

// The combinations of input and output types that the real library's reference kernels have.
bool IsSupported(ConvDirection direction, miopenDataType_t x, miopenDataType_t y,
                 std::size_t spatial) {
  if (x == miopenInt8 && direction == ConvDirection::Forward)
    return y == miopenInt32 || y == miopenFloat || (y == miopenInt8 && spatial <= 2);
  return IsFloating(x) && x == y;
}

// Lengths or strides of the spatial dimensions moved to the end of three, the others filled.
template <class To, class From>
std::array<To, 3> Spatial(const std::vector<From> &values, std::size_t skip, To fill) {
  std::array<To, 3> out{fill, fill, fill};
  const std::size_t n = values.size() - skip;
  for (std::size_t i = 0; i < n; ++i)
    out[3 - n + i] = static_cast<To>(values[skip + i]);
  return out;
}

std::array<std::size_t, 5> Strides(const TensorDescriptor &t) {
  const auto spatial = Spatial<std::size_t>(t.Strides(), 2, 0);
  return {t.Strides()[0], t.Strides()[1], spatial[0], spatial[1], spatial[2]};
}

template <class In, class Out, class Sum>
void ForwardDirect(const ConvGeometry &g, const ConvBuffers &b) {
  auto *y = static_cast<Out *>(b.result);
  ForwardSums<In, Sum>(g, static_cast<const In *>(b.first), static_cast<const In *>(b.second),
                       [&](std::size_t, std::size_t, std::size_t offset, Sum sum) {
                         Store<Out, Sum>::To(y + offset, sum, b.alpha, b.beta);
                       });
}

template <class Data, class Sum>
void ForwardGemm(const ConvGeometry &g, const ConvBuffers &b, Sum *columns) {
  const auto *x = static_cast<const Data *>(b.first);
  const auto *w = static_cast<const Data *>(b.second);
  auto *y = static_cast<Data *>(b.result);
  const std::size_t length = g.FilterElements();
  std::vector<Sum> row(length);
  for (std::size_t n = 0; n < g.batch; ++n)
    for (std::size_t group = 0; group < g.groups; ++group) {
      const Data *x_group = x + n * g.x_strides[0] + group * g.c_per_group * g.x_strides[1];
      Sum *cell = columns;
      ForEach(g.out, [&](std::int64_t od, std::int64_t oh, std::int64_t ow) {
        for (std::size_t c = 0; c < g.c_per_group; ++c)
          ForEach(g.filter, [&](std::int64_t fd, std::int64_t fh, std::int64_t fw) {
            const std::int64_t id = od * g.stride[0] - g.pad[0] + fd * g.dilation[0];
            const std::int64_t ih = oh * g.stride[1] - g.pad[1] + fh * g.dilation[1];
            const std::int64_t iw = ow * g.stride[2] - g.pad[2] + fw * g.dilation[2];
            const bool inside = Inside(id, g.in[0]) && Inside(ih, g.in[1]) && Inside(iw, g.in[2]);
            *cell++ = inside ? Widen(x_group[c * g.x_strides[1] + Offset(g.x_strides, id, ih, iw)])
                             : Sum{0};
          });
      });
      for (std::size_t k = 0; k < g.k_per_group; ++k) {
        const std::size_t channel = group * g.k_per_group + k;
        Sum *weight = row.data();
        for (std::size_t c = 0; c < g.c_per_group; ++c)
          ForEach(g.filter, [&](std::int64_t fd, std::int64_t fh, std::int64_t fw) {
            *weight++ = Widen(
                w[channel * g.w_strides[0] + c * g.w_strides[1] + Offset(g.w_strides, fd, fh, fw)]);
          });
        const Sum *column = columns;
        ForEach(g.out, [&](std::int64_t od, std::int64_t oh, std::int64_t ow) {
          Sum sum = 0;
          for (std::size_t i = 0; i < length; ++i)
            sum += row[i] * column[i];
          column += length;
          Data *out =
              y + n * g.y_strides[0] + channel * g.y_strides[1] + Offset(g.y_strides, od, oh, ow);
          Store<Data, Sum>::To(out, sum, b.alpha, b.beta);
        });
      }
    }
}

} // namespace

std::size_t ConvGeometry::FilterElements() const {
  return c_per_group * Volume(filter);
}

std::size_t ConvGeometry::OutputPositions() const {
  return Volume(out);
}

std::size_t ConvGeometry::MultiplyAdds() const {
  return batch * groups * k_per_group * OutputPositions() * FilterElements();
}

ConvGeometry MakeGeometry(ConvDirection direction, const ConvolutionDescriptor &conv,
                          const TensorDescriptor &x, const TensorDescriptor &w,
                          const TensorDescriptor &y) {
  if (conv.Mode() != miopenConvolution)
    Throw(miopenStatusNotImplemented, "transposed convolutions are not implemented here");
  if (x.CastType() || w.CastType() || y.CastType())
    Throw(miopenStatusNotImplemented, "cast types are not implemented here");
  if (x.VectorLength() != 1 || w.VectorLength() != 1 || y.VectorLength() != 1)
    Throw(miopenStatusNotImplemented, "vectorised layouts are not implemented here");
  if (x.Dimensions() < 3 || x.Dimensions() > 5)
    Throw(miopenStatusBadParm, "a convolution has one to three spatial dimensions");
  if (y.Dimensions() != x.Dimensions())
    Throw(miopenStatusBadParm, "input and output differ in their number of dimensions");
  const std::vector<std::size_t> out = conv.ForwardOutputLengths(x, w);
  if (out != y.Lengths())
    Throw(miopenStatusBadParm, "the output's lengths do not fit the convolution");
  if (!IsSupported(direction, x.Type(), y.Type(), conv.SpatialDimensions()))
    Throw(miopenStatusBadParm, "this combination of data types is not supported");
  if (conv.GroupCount() < 1)
    Throw(miopenStatusBadParm, "the group count must be positive");
  const auto groups = static_cast<std::size_t>(conv.GroupCount());
  if (w.Lengths()[1] * groups != x.Lengths()[1] || w.Lengths()[0] % groups != 0)
    Throw(miopenStatusBadParm, "the channels do not divide into this number of groups");

  ConvGeometry g;
  g.direction = direction;
  g.deterministic = conv.Attribute(MIOPEN_CONVOLUTION_ATTRIB_DETERMINISTIC) != 0;
  g.x_type = x.Type();
  g.y_type = y.Type();
  g.batch = x.Lengths()[0];
  g.groups = groups;
  g.c_per_group = w.Lengths()[1];
  g.k_per_group = w.Lengths()[0] / groups;
  g.in = Spatial<std::int64_t>(x.Lengths(), 2, 1);
  g.filter = Spatial<std::int64_t>(w.Lengths(), 2, 1);
  g.out = Spatial<std::int64_t>(y.Lengths(), 2, 1);
  g.pad = Spatial<std::int64_t>(conv.Pads(), 0, 0);
  g.stride = Spatial<std::int64_t>(conv.Strides(), 0, 1);
  g.dilation = Spatial<std::int64_t>(conv.Dilations(), 0, 1);
  g.x_strides = Strides(x);
  g.w_strides = Strides(w);
  g.y_strides = Strides(y);
  return g;
}

void ConvolveDirect(const ConvGeometry &g, const ConvBuffers &b) {
  switch (g.direction) {
  case ConvDirection::BackwardData:
    return BackwardDataDirect(g, b);
  case ConvDirection::BackwardWeights:
    return BackwardWeightsDirect(g, b);
  case ConvDirection::Forward:
    break;
  }
  if (g.x_type != miopenInt8)
    return VisitFloating(g.x_type, [&](auto *data, auto *sum) {
      using Data = std::decay_t<decltype(*data)>;
      ForwardDirect<Data, Data, std::decay_t<decltype(*sum)>>(g, b);
    });
  if (g.y_type == miopenInt32)
    return ForwardDirect<std::int8_t, std::int32_t, std::int32_t>(g, b);
  if (g.y_type == miopenFloat)
    return ForwardDirect<std::int8_t, float, std::int32_t>(g, b);
  return ForwardDirect<std::int8_t, std::int8_t, std::int32_t>(g, b);
}

void ConvolveGemm(const ConvGeometry &g, const ConvBuffers &b, void *workspace) {
  switch (g.direction) {
  case ConvDirection::BackwardData:
    return BackwardDataGemm(g, b, workspace);
  case ConvDirection::BackwardWeights:
    return BackwardWeightsGemm(g, b, workspace);
  case ConvDirection::Forward:
    break;
  }
  VisitFloating(g.x_type, [&](auto *data, auto *sum) {
    using Sum = std::decay_t<decltype(*sum)>;
    ForwardGemm<std::decay_t<decltype(*data)>>(g, b, static_cast<Sum *>(workspace));
  });
}

std::size_t GemmWorkspaceBytes(const ConvGeometry &g) {
  const std::size_t columns = g.FilterElements() * g.OutputPositions();
  // The weights' sums run over all images, the matrix over one.
  const std::size_t sums =
      g.direction == ConvDirection::BackwardWeights ? g.k_per_group * g.FilterElements() : 0;
  return (columns + sums) * SumSize(g.x_type);
}

} // namespace miopen
