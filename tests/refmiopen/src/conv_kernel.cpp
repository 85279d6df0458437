#include "conv_kernel.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "number.hpp"

namespace miopen {

namespace {

bool IsFloating(miopenDataType_t type) {
  return type == miopenFloat || type == miopenHalf || type == miopenBFloat16 ||
         type == miopenDouble;
}

// The combinations of input and output types that the real library's reference kernels have.
bool IsSupported(miopenDataType_t x, miopenDataType_t y, std::size_t spatial) {
  if (x == miopenInt8)
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

// Where y = alpha * sum + beta * y meets the storage type.
template <class Out, class Sum> struct Store {
  static void To(Out *y, Sum sum, double alpha, double beta) {
    Sum value = static_cast<Sum>(alpha) * sum;
    if (beta != 0)
      value += static_cast<Sum>(beta) * Widen(*y);
    *y = Narrow<Out>(value);
  }
};

template <> struct Store<std::int32_t, std::int32_t> {
  static void To(std::int32_t *y, std::int32_t sum, double alpha, double beta) {
    double value = alpha * sum;
    if (beta != 0)
      value += beta * *y;
    constexpr std::int32_t low = std::numeric_limits<std::int32_t>::min();
    constexpr std::int32_t high = std::numeric_limits<std::int32_t>::max();
    value = std::nearbyint(value);
    *y = value >= high ? high : value <= low ? low : static_cast<std::int32_t>(value);
  }
};

template <> struct Store<float, std::int32_t> {
  static void To(float *y, std::int32_t sum, double alpha, double beta) {
    double value = alpha * sum;
    if (beta != 0)
      value += beta * static_cast<double>(*y);
    *y = static_cast<float>(value);
  }
};

// The real kernels keep the low byte of the sum; there is no saturation.
template <> struct Store<std::int8_t, std::int32_t> {
  static void To(std::int8_t *y, std::int32_t sum, double alpha, double beta) {
    std::int32_t value = beta != 0 ? *y : 0;
    Store<std::int32_t, std::int32_t>::To(&value, sum, alpha, beta);
    *y = static_cast<std::int8_t>(static_cast<std::uint8_t>(value & 0xff));
  }
};

// Calls visit(d, h, w) for every position of a volume, the last index fastest.
template <class Visit> void ForEach(const std::array<std::int64_t, 3> &volume, Visit &&visit) {
  for (std::int64_t d = 0; d < volume[0]; ++d)
    for (std::int64_t h = 0; h < volume[1]; ++h)
      for (std::int64_t w = 0; w < volume[2]; ++w)
        visit(d, h, w);
}

std::size_t Offset(const std::array<std::size_t, 5> &strides, std::int64_t d, std::int64_t h,
                   std::int64_t w) {
  return static_cast<std::size_t>(d) * strides[2] + static_cast<std::size_t>(h) * strides[3] +
         static_cast<std::size_t>(w) * strides[4];
}

bool Inside(std::int64_t i, std::int64_t length) {
  return i >= 0 && i < length;
}

template <class In, class Out, class Sum> void Direct(const ConvGeometry &g, const ConvBuffers &b) {
  const auto *x = static_cast<const In *>(b.x);
  const auto *w = static_cast<const In *>(b.w);
  auto *y = static_cast<Out *>(b.y);
  for (std::size_t n = 0; n < g.batch; ++n)
    for (std::size_t group = 0; group < g.groups; ++group)
      for (std::size_t k = 0; k < g.k_per_group; ++k) {
        const std::size_t channel = group * g.k_per_group + k;
        const In *x_group = x + n * g.x_strides[0] + group * g.c_per_group * g.x_strides[1];
        const In *w_k = w + channel * g.w_strides[0];
        Out *y_k = y + n * g.y_strides[0] + channel * g.y_strides[1];
        ForEach(g.out, [&](std::int64_t od, std::int64_t oh, std::int64_t ow) {
          const std::int64_t d0 = od * g.stride[0] - g.pad[0];
          const std::int64_t h0 = oh * g.stride[1] - g.pad[1];
          const std::int64_t w0 = ow * g.stride[2] - g.pad[2];
          Sum sum = 0;
          for (std::size_t c = 0; c < g.c_per_group; ++c) {
            const In *x_c = x_group + c * g.x_strides[1];
            const In *w_c = w_k + c * g.w_strides[1];
            for (std::int64_t fd = 0; fd < g.filter[0]; ++fd) {
              const std::int64_t id = d0 + fd * g.dilation[0];
              if (!Inside(id, g.in[0]))
                continue;
              for (std::int64_t fh = 0; fh < g.filter[1]; ++fh) {
                const std::int64_t ih = h0 + fh * g.dilation[1];
                if (!Inside(ih, g.in[1]))
                  continue;
                for (std::int64_t fw = 0; fw < g.filter[2]; ++fw) {
                  const std::int64_t iw = w0 + fw * g.dilation[2];
                  if (!Inside(iw, g.in[2]))
                    continue;
                  sum += static_cast<Sum>(Widen(x_c[Offset(g.x_strides, id, ih, iw)])) *
                         static_cast<Sum>(Widen(w_c[Offset(g.w_strides, fd, fh, fw)]));
                }
              }
            }
          }
          Store<Out, Sum>::To(y_k + Offset(g.y_strides, od, oh, ow), sum, b.alpha, b.beta);
        });
      }
}

template <class Data, class Sum>
void Gemm(const ConvGeometry &g, const ConvBuffers &b, Sum *columns) {
  const auto *x = static_cast<const Data *>(b.x);
  const auto *w = static_cast<const Data *>(b.w);
  auto *y = static_cast<Data *>(b.y);
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

std::size_t Volume(const std::array<std::int64_t, 3> &lengths) {
  return static_cast<std::size_t>(lengths[0]) * static_cast<std::size_t>(lengths[1]) *
         static_cast<std::size_t>(lengths[2]);
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

ConvGeometry MakeGeometry(const ConvolutionDescriptor &conv, const TensorDescriptor &x,
                          const TensorDescriptor &w, const TensorDescriptor &y) {
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
  if (!IsSupported(x.Type(), y.Type(), conv.SpatialDimensions()))
    Throw(miopenStatusBadParm, "this combination of data types is not supported");
  if (conv.GroupCount() < 1)
    Throw(miopenStatusBadParm, "the group count must be positive");
  const auto groups = static_cast<std::size_t>(conv.GroupCount());
  if (w.Lengths()[1] * groups != x.Lengths()[1] || w.Lengths()[0] % groups != 0)
    Throw(miopenStatusBadParm, "the channels do not divide into this number of groups");

  ConvGeometry g;
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
  switch (g.x_type) {
  case miopenFloat:
    return Direct<float, float, float>(g, b);
  case miopenDouble:
    return Direct<double, double, double>(g, b);
  case miopenHalf:
    return Direct<Half, Half, float>(g, b);
  case miopenBFloat16:
    return Direct<BFloat16, BFloat16, float>(g, b);
  case miopenInt8:
    if (g.y_type == miopenInt32)
      return Direct<std::int8_t, std::int32_t, std::int32_t>(g, b);
    if (g.y_type == miopenFloat)
      return Direct<std::int8_t, float, std::int32_t>(g, b);
    return Direct<std::int8_t, std::int8_t, std::int32_t>(g, b);
  default:
    Throw(miopenStatusInternalError, "a geometry of an unsupported type");
  }
}

void ConvolveGemm(const ConvGeometry &g, const ConvBuffers &b, void *columns) {
  switch (g.x_type) {
  case miopenFloat:
    return Gemm<float, float>(g, b, static_cast<float *>(columns));
  case miopenDouble:
    return Gemm<double, double>(g, b, static_cast<double *>(columns));
  case miopenHalf:
    return Gemm<Half, float>(g, b, static_cast<float *>(columns));
  case miopenBFloat16:
    return Gemm<BFloat16, float>(g, b, static_cast<float *>(columns));
  default:
    Throw(miopenStatusInternalError, "matrix multiplication of an unsupported type");
  }
}

std::size_t GemmWorkspaceBytes(const ConvGeometry &g) {
  const std::size_t element = g.x_type == miopenDouble ? sizeof(double) : sizeof(float);
  return g.FilterElements() * g.OutputPositions() * element;
}

} // namespace miopen
