#include "conv_backward.hpp"

#include <algorithm>
#include <type_traits>

#include "conv_loops.hpp"

namespace miopen {

namespace {

using Position = std::array<std::int64_t, 3>;

// The input position that a filter position lies on at an output position; outside where padding
// is read.
bool InputPosition(const ConvGeometry &g, const Position &out, const Position &tap, Position &in) {
  bool inside = true;
  for (int i = 0; i < 3; ++i) {
    in[i] = out[i] * g.stride[i] - g.pad[i] + tap[i] * g.dilation[i];
    inside = inside && Inside(in[i], g.in[i]);
  }
  return inside;
}

// The output position at which a filter position lies on an input position, if there is one.
bool OutputPosition(const ConvGeometry &g, const Position &in, const Position &tap, Position &out) {
  for (int i = 0; i < 3; ++i) {
    const std::int64_t from_first = in[i] + g.pad[i] - tap[i] * g.dilation[i];
    if (from_first < 0 || from_first % g.stride[i] != 0)
      return false;
    out[i] = from_first / g.stride[i];
    if (out[i] >= g.out[i])
      return false;
  }
  return true;
}

template <class Data, class Sum> void DataDirect(const ConvGeometry &g, const ConvBuffers &b) {
  const auto *dy = static_cast<const Data *>(b.first);
  const auto *w = static_cast<const Data *>(b.second);
  auto *dx = static_cast<Data *>(b.result);
  for (std::size_t n = 0; n < g.batch; ++n)
    for (std::size_t group = 0; group < g.groups; ++group)
      for (std::size_t c = 0; c < g.c_per_group; ++c) {
        Data *dx_c = dx + n * g.x_strides[0] + (group * g.c_per_group + c) * g.x_strides[1];
        ForEach(g.in, [&](std::int64_t id, std::int64_t ih, std::int64_t iw) {
          Sum sum = 0;
          ForEach(g.filter, [&](std::int64_t fd, std::int64_t fh, std::int64_t fw) {
            Position out;
            if (!OutputPosition(g, {id, ih, iw}, {fd, fh, fw}, out))
              return;
            const Data *dy_n =
                dy + n * g.y_strides[0] + Offset(g.y_strides, out[0], out[1], out[2]);
            const Data *w_c = w + c * g.w_strides[1] + Offset(g.w_strides, fd, fh, fw);
            for (std::size_t k = group * g.k_per_group; k < (group + 1) * g.k_per_group; ++k)
              sum += static_cast<Sum>(Widen(dy_n[k * g.y_strides[1]])) *
                     static_cast<Sum>(Widen(w_c[k * g.w_strides[0]]));
          });
          Store<Data, Sum>::To(dx_c + Offset(g.x_strides, id, ih, iw), sum, b.alpha, b.beta);
        });
      }
}

// Each row of `columns` belongs to an input channel and filter position, each column to an output
// position.
template <class Data, class Sum>
void DataGemm(const ConvGeometry &g, const ConvBuffers &b, Sum *columns) {
  const auto *dy = static_cast<const Data *>(b.first);
  const auto *w = static_cast<const Data *>(b.second);
  auto *dx = static_cast<Data *>(b.result);
  const std::size_t positions = g.OutputPositions();
  const std::size_t taps = Volume(g.filter);
  for (std::size_t n = 0; n < g.batch; ++n)
    for (std::size_t group = 0; group < g.groups; ++group) {
      std::fill_n(columns, g.FilterElements() * positions, Sum{0});
      for (std::size_t k = group * g.k_per_group; k < (group + 1) * g.k_per_group; ++k) {
        Sum *row = columns;
        for (std::size_t c = 0; c < g.c_per_group; ++c)
          ForEach(g.filter, [&](std::int64_t fd, std::int64_t fh, std::int64_t fw) {
            const Sum weight =
                Widen(w[k * g.w_strides[0] + c * g.w_strides[1] + Offset(g.w_strides, fd, fh, fw)]);
            ForEach(g.out, [&](std::int64_t od, std::int64_t oh, std::int64_t ow) {
              *row++ += weight * static_cast<Sum>(Widen(dy[n * g.y_strides[0] + k * g.y_strides[1] +
                                                           Offset(g.y_strides, od, oh, ow)]));
            });
          });
      }
      for (std::size_t c = 0; c < g.c_per_group; ++c) {
        Data *dx_c = dx + n * g.x_strides[0] + (group * g.c_per_group + c) * g.x_strides[1];
        ForEach(g.in, [&](std::int64_t id, std::int64_t ih, std::int64_t iw) {
          Sum sum = 0;
          std::size_t tap = c * taps;
          ForEach(g.filter, [&](std::int64_t fd, std::int64_t fh, std::int64_t fw) {
            Position out;
            if (OutputPosition(g, {id, ih, iw}, {fd, fh, fw}, out))
              sum +=
                  columns[tap * positions + static_cast<std::size_t>(
                                                (out[0] * g.out[1] + out[1]) * g.out[2] + out[2])];
            ++tap;
          });
          Store<Data, Sum>::To(dx_c + Offset(g.x_strides, id, ih, iw), sum, b.alpha, b.beta);
        });
      }
    }
}

// Calls visit(k across the groups, c in the group, filter position, offset in dw).
template <class Visit> void ForEachWeight(const ConvGeometry &g, Visit &&visit) {
  for (std::size_t k = 0; k < g.groups * g.k_per_group; ++k)
    for (std::size_t c = 0; c < g.c_per_group; ++c)
      ForEach(g.filter, [&](std::int64_t fd, std::int64_t fh, std::int64_t fw) {
        visit(k, c, Position{fd, fh, fw},
              k * g.w_strides[0] + c * g.w_strides[1] + Offset(g.w_strides, fd, fh, fw));
      });
}

// What image n adds to the gradient of one weight.
template <class Data, class Sum>
Sum WeightSum(const ConvGeometry &g, const Data *dy, const Data *x, std::size_t n, std::size_t k,
              std::size_t c, const Position &tap) {
  const Data *dy_k = dy + n * g.y_strides[0] + k * g.y_strides[1];
  const Data *x_c =
      x + n * g.x_strides[0] + (k / g.k_per_group * g.c_per_group + c) * g.x_strides[1];
  Sum sum = 0;
  ForEach(g.out, [&](std::int64_t od, std::int64_t oh, std::int64_t ow) {
    Position in;
    if (InputPosition(g, {od, oh, ow}, tap, in))
      sum += static_cast<Sum>(Widen(dy_k[Offset(g.y_strides, od, oh, ow)])) *
             static_cast<Sum>(Widen(x_c[Offset(g.x_strides, in[0], in[1], in[2])]));
  });
  return sum;
}

template <class Data, class Sum> void WeightsDirect(const ConvGeometry &g, const ConvBuffers &b) {
  const auto *dy = static_cast<const Data *>(b.first);
  const auto *x = static_cast<const Data *>(b.second);
  auto *dw = static_cast<Data *>(b.result);
  ForEachWeight(g, [&](std::size_t k, std::size_t c, const Position &tap, std::size_t offset) {
    Sum sum = 0;
    for (std::size_t n = 0; n < g.batch; ++n)
      sum += WeightSum<Data, Sum>(g, dy, x, n, k, c, tap);
    Store<Data, Sum>::To(dw + offset, sum, b.alpha, b.beta);
  });
}

template <class Data, class Sum>
void WeightsGemm(const ConvGeometry &g, const ConvBuffers &b, Sum *workspace) {
  const auto *dy = static_cast<const Data *>(b.first);
  const auto *x = static_cast<const Data *>(b.second);
  auto *dw = static_cast<Data *>(b.result);
  const std::size_t length = g.FilterElements();
  Sum *columns = workspace; // a row of `length` inputs for each output position
  Sum *sums = workspace + length * g.OutputPositions();
  for (std::size_t group = 0; group < g.groups; ++group) {
    std::fill_n(sums, g.k_per_group * length, Sum{0});
    for (std::size_t n = 0; n < g.batch; ++n) {
      const Data *x_group = x + n * g.x_strides[0] + group * g.c_per_group * g.x_strides[1];
      Sum *cell = columns;
      ForEach(g.out, [&](std::int64_t od, std::int64_t oh, std::int64_t ow) {
        for (std::size_t c = 0; c < g.c_per_group; ++c)
          ForEach(g.filter, [&](std::int64_t fd, std::int64_t fh, std::int64_t fw) {
            Position in;
            *cell++ =
                InputPosition(g, {od, oh, ow}, {fd, fh, fw}, in)
                    ? Widen(x_group[c * g.x_strides[1] + Offset(g.x_strides, in[0], in[1], in[2])])
                    : Sum{0};
          });
      });
      for (std::size_t k = 0; k < g.k_per_group; ++k) {
        const Data *dy_k = dy + n * g.y_strides[0] + (group * g.k_per_group + k) * g.y_strides[1];
        const Sum *row = columns;
        ForEach(g.out, [&](std::int64_t od, std::int64_t oh, std::int64_t ow) {
          const Sum gradient = Widen(dy_k[Offset(g.y_strides, od, oh, ow)]);
          for (std::size_t i = 0; i < length; ++i)
            sums[k * length + i] += gradient * *row++;
        });
      }
    }
    const Sum *sum = sums;
    for (std::size_t k = group * g.k_per_group; k < (group + 1) * g.k_per_group; ++k)
      for (std::size_t c = 0; c < g.c_per_group; ++c)
        ForEach(g.filter, [&](std::int64_t fd, std::int64_t fh, std::int64_t fw) {
          Data *out =
              dw + k * g.w_strides[0] + c * g.w_strides[1] + Offset(g.w_strides, fd, fh, fw);
          Store<Data, Sum>::To(out, *sum++, b.alpha, b.beta);
        });
  }
}

template <class Data, class Sum>
void WeightsSplit(const ConvGeometry &g, const ConvBuffers &b, Sum *partial) {
  const auto *dy = static_cast<const Data *>(b.first);
  const auto *x = static_cast<const Data *>(b.second);
  auto *dw = static_cast<Data *>(b.result);
  Sum *cell = partial;
  for (std::size_t n = 0; n < g.batch; ++n)
    ForEachWeight(g, [&](std::size_t k, std::size_t c, const Position &tap, std::size_t) {
      *cell++ = WeightSum<Data, Sum>(g, dy, x, n, k, c, tap);
    });
  const std::size_t weights = g.groups * g.k_per_group * g.FilterElements();
  cell = partial;
  ForEachWeight(g, [&](std::size_t, std::size_t, const Position &, std::size_t offset) {
    // From the last image to the first: atomic additions have no order to rely on.
    Sum sum = 0;
    for (std::size_t n = g.batch; n-- > 0;)
      sum += cell[n * weights];
    Store<Data, Sum>::To(dw + offset, sum, b.alpha, b.beta);
    ++cell;
  });
}

} // namespace

void BackwardDataDirect(const ConvGeometry &g, const ConvBuffers &b) {
  VisitFloating(g.x_type, [&](auto *data, auto *sum) {
    DataDirect<std::decay_t<decltype(*data)>, std::decay_t<decltype(*sum)>>(g, b);
  });
}

void BackwardDataGemm(const ConvGeometry &g, const ConvBuffers &b, void *columns) {
  VisitFloating(g.x_type, [&](auto *data, auto *sum) {
    using Sum = std::decay_t<decltype(*sum)>;
    DataGemm<std::decay_t<decltype(*data)>>(g, b, static_cast<Sum *>(columns));
  });
}

void BackwardWeightsDirect(const ConvGeometry &g, const ConvBuffers &b) {
  VisitFloating(g.x_type, [&](auto *data, auto *sum) {
    WeightsDirect<std::decay_t<decltype(*data)>, std::decay_t<decltype(*sum)>>(g, b);
  });
}

void BackwardWeightsGemm(const ConvGeometry &g, const ConvBuffers &b, void *workspace) {
  VisitFloating(g.x_type, [&](auto *data, auto *sum) {
    using Sum = std::decay_t<decltype(*sum)>;
    WeightsGemm<std::decay_t<decltype(*data)>>(g, b, static_cast<Sum *>(workspace));
  });
}

void ConvolveSplitWeights(const ConvGeometry &g, const ConvBuffers &b, void *workspace) {
  VisitFloating(g.x_type, [&](auto *data, auto *sum) {
    using Sum = std::decay_t<decltype(*sum)>;
    WeightsSplit<std::decay_t<decltype(*data)>>(g, b, static_cast<Sum *>(workspace));
  });
}

std::size_t SplitWorkspaceBytes(const ConvGeometry &g) {
  return g.batch * g.groups * g.k_per_group * g.FilterElements() * SumSize(g.x_type);
}

std::size_t SumSize(miopenDataType_t type) {
  return type == miopenDouble ? sizeof(double) : sizeof(float);
}

} // namespace miopen
