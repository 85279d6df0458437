// What the kernels are made of.
#ifndef REFMIOPEN_CONV_LOOPS_HPP
#define REFMIOPEN_CONV_LOOPS_HPP

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "conv_kernel.hpp"
#include "number.hpp"

namespace miopen {

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

inline std::size_t Offset(const std::array<std::size_t, 5> &strides, std::int64_t d, std::int64_t h,
                          std::int64_t w) {
  return static_cast<std::size_t>(d) * strides[2] + static_cast<std::size_t>(h) * strides[3] +
         static_cast<std::size_t>(w) * strides[4];
}

inline bool Inside(std::int64_t i, std::int64_t length) {
  return i >= 0 && i < length;
}

// Calls visit(n, k, offset in y, sum) for every element of y, k counting across the groups.
template <class In, class Sum, class Visit>
void ForwardSums(const ConvGeometry &g, const In *x, const In *w, Visit &&visit) {
  for (std::size_t n = 0; n < g.batch; ++n)
    for (std::size_t group = 0; group < g.groups; ++group)
      for (std::size_t k = 0; k < g.k_per_group; ++k) {
        const std::size_t channel = group * g.k_per_group + k;
        const In *x_group = x + n * g.x_strides[0] + group * g.c_per_group * g.x_strides[1];
        const In *w_k = w + channel * g.w_strides[0];
        const std::size_t y_k = n * g.y_strides[0] + channel * g.y_strides[1];
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
          visit(n, channel, y_k + Offset(g.y_strides, od, oh, ow), sum);
        });
      }
}

inline std::size_t Volume(const std::array<std::int64_t, 3> &lengths) {
  return static_cast<std::size_t>(lengths[0]) * static_cast<std::size_t>(lengths[1]) *
         static_cast<std::size_t>(lengths[2]);
}

// Calls visit with a null pointer to the type of the elements and one to that of the sums.
template <class Visit> void VisitFloating(miopenDataType_t type, Visit &&visit) {
  switch (type) {
  case miopenFloat:
    return visit(static_cast<float *>(nullptr), static_cast<float *>(nullptr));
  case miopenDouble:
    return visit(static_cast<double *>(nullptr), static_cast<double *>(nullptr));
  case miopenHalf:
    return visit(static_cast<Half *>(nullptr), static_cast<float *>(nullptr));
  case miopenBFloat16:
    return visit(static_cast<BFloat16 *>(nullptr), static_cast<float *>(nullptr));
  default:
    Throw(miopenStatusInternalError, "a kernel for floating types met another one");
  }
}

} // namespace miopen

#endif // REFMIOPEN_CONV_LOOPS_HPP
