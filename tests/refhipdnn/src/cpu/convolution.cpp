#include "cpu/convolution.hpp"

#include <algorithm>
#include <atomic>
#include <thread>

namespace refhipdnn::cpu {
namespace {

// With tensors of at most 1e10 elements, nothing below overflows.
constexpr int64_t kLargest = int64_t{1} << 28;

std::string list(const std::vector<int64_t> &v) {
  std::string out;
  for (int64_t n : v) {
    out += (out.empty() ? "" : ",") + std::to_string(n);
  }
  return "[" + out + "]";
}

int64_t count(const int64_t n[3]) {
  return n[0] * n[1] * n[2];
}

// The outputs [first, end) whose input for this tap is inside, in one dimension. The input of
// output o is o * stride + shift.
struct Range {
  int64_t first, end, shift;
};

Range reach(const Geometry &g, int dim, int64_t tap) {
  int64_t shift = tap * g.dilation[dim] - g.pad[dim];
  int64_t s = g.stride[dim];
  int64_t first = shift >= 0 ? 0 : (-shift + s - 1) / s;
  int64_t room = g.in[dim] - 1 - shift;
  int64_t end = room < 0 ? 0 : std::min(g.out[dim], room / s + 1);
  return {first, end, shift};
}

// Where the filter's element for the tap lies in its plane.
int64_t tap_at(const Geometry &g, int64_t d, int64_t h, int64_t w) {
  if (g.flipped) {
    d = g.taps[0] - 1 - d;
    h = g.taps[1] - 1 - h;
    w = g.taps[2] - 1 - w;
  }
  return (d * g.taps[1] + h) * g.taps[2] + w;
}

// Calls row(tap, in, out, n) for every tap and every row of outputs that it reaches: n outputs from
// `out` on in their plane take the inputs from `in` on, a stride apart, in theirs.
template <class Row> void each_row(const Geometry &g, Row row) {
  for (int64_t td = 0; td < g.taps[0]; td++) {
    Range d = reach(g, 0, td);
    for (int64_t th = 0; th < g.taps[1]; th++) {
      Range h = reach(g, 1, th);
      for (int64_t tw = 0; tw < g.taps[2]; tw++) {
        Range w = reach(g, 2, tw);
        if (w.first >= w.end) {
          continue;
        }
        int64_t tap = tap_at(g, td, th, tw);
        for (int64_t od = d.first; od < d.end; od++) {
          for (int64_t oh = h.first; oh < h.end; oh++) {
            int64_t id = od * g.stride[0] + d.shift;
            int64_t ih = oh * g.stride[1] + h.shift;
            int64_t iw = w.first * g.stride[2] + w.shift;
            row(tap, (id * g.in[1] + ih) * g.in[2] + iw, (od * g.out[1] + oh) * g.out[2] + w.first,
                w.end - w.first);
          }
        }
      }
    }
  }
}

template <class Work> void in_parallel(int threads, int64_t items, Work work) {
  std::atomic<int64_t> next{0};
  auto loop = [&] {
    for (int64_t i; (i = next++) < items;) {
      work(i);
    }
  };
  std::vector<std::thread> others;
  for (int64_t t = 1; t < std::min<int64_t>(threads, items); t++) {
    others.emplace_back(loop);
  }
  loop();
  for (std::thread &t : others) {
    t.join();
  }
}

} // namespace

bool geometry(const Convolution &c, const Tensor &image, const Tensor &filter, const Tensor &output,
              Geometry &g, std::string &why) {
  size_t rank = image.dims.size();
  size_t spatial = rank - 2;
  if (rank < 3 || rank > 5 || filter.dims.size() != rank || output.dims.size() != rank) {
    why = "ranks " + std::to_string(rank) + ", " + std::to_string(filter.dims.size()) + " and " +
          std::to_string(output.dims.size()) + ": want 1 to 3 spatial dimensions, the same in all";
    return false;
  }
  for (const auto *v : {&c.pre_padding, &c.post_padding, &c.stride, &c.dilation}) {
    if (v->size() != spatial) {
      why = "paddings, strides and dilations want " + std::to_string(spatial) + " values each";
      return false;
    }
  }
  int64_t n = image.dims[0], ch = image.dims[1], k = filter.dims[0], per_group = filter.dims[1];
  if (per_group < 1 || ch % per_group != 0 || k % (ch / per_group) != 0 || output.dims[0] != n ||
      output.dims[1] != k) {
    why = "dimensions " + list(image.dims) + ", " + list(filter.dims) + ", " + list(output.dims) +
          ": batches, channels and groups do not fit";
    return false;
  }
  g.images = n;
  g.groups = ch / per_group;
  g.channels = per_group;
  g.filters = k / g.groups;
  g.flipped = c.mode == ConvMode::Convolution;
  for (int i = 0; i < 3; i++) {
    int from = i - 3 + static_cast<int>(spatial);
    if (from < 0) {
      g.in[i] = g.taps[i] = g.out[i] = g.stride[i] = g.dilation[i] = 1;
      g.pad[i] = 0;
      continue;
    }
    g.in[i] = image.dims[2 + from];
    g.taps[i] = filter.dims[2 + from];
    g.out[i] = output.dims[2 + from];
    g.pad[i] = c.pre_padding[from];
    g.stride[i] = c.stride[from];
    g.dilation[i] = c.dilation[from];
    int64_t post = c.post_padding[from];
    if (g.stride[i] < 1 || g.dilation[i] < 1 || g.pad[i] < 0 || post < 0 ||
        std::max({g.stride[i], g.dilation[i], g.pad[i], post}) > kLargest) {
      why = "strides and dilations are at least 1, paddings at least 0, and none enormous";
      return false;
    }
    int64_t room = g.in[i] + g.pad[i] + post - (g.dilation[i] * (g.taps[i] - 1) + 1);
    if (room < 0 || room / g.stride[i] + 1 != g.out[i]) {
      why = "spatial dimension " + std::to_string(from) + ": the output has " +
            std::to_string(g.out[i]) + " elements, the convolution gives " +
            std::to_string(room < 0 ? 0 : room / g.stride[i] + 1);
      return false;
    }
  }
  return true;
}

double products(const Geometry &g) {
  return static_cast<double>(g.images) * static_cast<double>(g.groups * g.filters) *
         static_cast<double>(count(g.out)) * static_cast<double>(g.channels * count(g.taps));
}

void direct(ConvKind kind, const Geometry &g, double *image, double *filter, double *output,
            int threads) {
  const int64_t in = count(g.in), taps = count(g.taps), out = count(g.out);
  const int64_t all_channels = g.groups * g.channels, all_filters = g.groups * g.filters;
  const int64_t step = g.stride[2];
  switch (kind) {
  case ConvKind::Forward:
    in_parallel(threads, g.images * all_filters, [&](int64_t item) {
      int64_t n = item / all_filters, k = item % all_filters, group = k / g.filters;
      double *y = output + item * out;
      std::fill(y, y + out, 0.0);
      for (int64_t c = 0; c < g.channels; c++) {
        const double *x = image + (n * all_channels + group * g.channels + c) * in;
        const double *w = filter + (k * g.channels + c) * taps;
        each_row(g, [&](int64_t tap, int64_t from, int64_t to, int64_t length) {
          double weight = w[tap];
          for (int64_t i = 0; i < length; i++) {
            y[to + i] += weight * x[from + i * step];
          }
        });
      }
    });
    return;
  case ConvKind::BackwardData:
    in_parallel(threads, g.images * all_channels, [&](int64_t item) {
      int64_t n = item / all_channels, channel = item % all_channels;
      int64_t group = channel / g.channels, c = channel % g.channels;
      double *dx = image + item * in;
      std::fill(dx, dx + in, 0.0);
      for (int64_t k = group * g.filters; k < (group + 1) * g.filters; k++) {
        const double *dy = output + (n * all_filters + k) * out;
        const double *w = filter + (k * g.channels + c) * taps;
        each_row(g, [&](int64_t tap, int64_t from, int64_t to, int64_t length) {
          double weight = w[tap];
          for (int64_t i = 0; i < length; i++) {
            dx[from + i * step] += weight * dy[to + i];
          }
        });
      }
    });
    return;
  case ConvKind::BackwardWeights:
    in_parallel(threads, all_filters * g.channels, [&](int64_t item) {
      int64_t k = item / g.channels, c = item % g.channels, group = k / g.filters;
      double *dw = filter + item * taps;
      std::fill(dw, dw + taps, 0.0);
      for (int64_t n = 0; n < g.images; n++) {
        const double *x = image + (n * all_channels + group * g.channels + c) * in;
        const double *dy = output + (n * all_filters + k) * out;
        each_row(g, [&](int64_t tap, int64_t from, int64_t to, int64_t length) {
          double sum = 0;
          for (int64_t i = 0; i < length; i++) {
            sum += x[from + i * step] * dy[to + i];
          }
          dw[tap] += sum;
        });
      }
    });
    return;
  }
}

void deterministic(ConvKind kind, const Geometry &g, double *image, double *filter,
                   double *output) {
  const int64_t in = count(g.in), taps = count(g.taps), out = count(g.out);
  double *result = kind == ConvKind::Forward        ? output
                   : kind == ConvKind::BackwardData ? image
                                                    : filter;
  int64_t size = kind == ConvKind::Forward        ? g.images * g.groups * g.filters * out
                 : kind == ConvKind::BackwardData ? g.images * g.groups * g.channels * in
                                                  : g.groups * g.filters * g.channels * taps;
  std::fill(result, result + size, 0.0);
  // Every product, from the definition: which input a tap of an output meets.
  for (int64_t n = 0; n < g.images; n++) {
    for (int64_t k = 0; k < g.groups * g.filters; k++) {
      for (int64_t o = 0; o < out; o++) {
        int64_t position[3] = {o / (g.out[1] * g.out[2]), o / g.out[2] % g.out[1], o % g.out[2]};
        for (int64_t t = 0; t < taps; t++) {
          int64_t tap[3] = {t / (g.taps[1] * g.taps[2]), t / g.taps[2] % g.taps[1], t % g.taps[2]};
          int64_t at = 0;
          bool inside = true;
          for (int i = 0; i < 3; i++) {
            int64_t where = position[i] * g.stride[i] - g.pad[i] +
                            (g.flipped ? g.taps[i] - 1 - tap[i] : tap[i]) * g.dilation[i];
            inside = inside && where >= 0 && where < g.in[i];
            at = at * g.in[i] + where;
          }
          if (!inside) {
            continue;
          }
          for (int64_t c = 0; c < g.channels; c++) {
            int64_t channel = k / g.filters * g.channels + c;
            double &x = image[(n * g.groups * g.channels + channel) * in + at];
            double &w = filter[(k * g.channels + c) * taps + t];
            double &y = output[(n * g.groups * g.filters + k) * out + o];
            switch (kind) {
            case ConvKind::Forward:
              y += x * w;
              break;
            case ConvKind::BackwardData:
              x += w * y;
              break;
            case ConvKind::BackwardWeights:
              w += x * y;
              break;
            }
          }
        }
      }
    }
  }
}

} // namespace refhipdnn::cpu
