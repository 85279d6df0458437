#include "cpu/program.hpp"

#include "cpu/convolution.hpp"
#include "cpu/number.hpp"
#include "refhipdnn/hipdnn_backend.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace refhipdnn::cpu {
namespace {

using Array = std::vector<double>;

// Elements of a tensor, gaps included.
constexpr double kLargest = 1e10;

int64_t count(const Tensor &t) {
  int64_t n = 1;
  for (int64_t d : t.dims) {
    n *= d;
  }
  return n;
}

// Calls visit(position, offset) for every element in lexical order; offset is in elements.
template <class Visit> void each(const Tensor &t, Visit visit) {
  std::vector<int64_t> index(t.dims.size(), 0);
  int64_t offset = 0, n = count(t);
  for (int64_t position = 0; position < n; position++) {
    visit(position, offset);
    for (size_t i = index.size(); i-- > 0;) {
      offset += t.strides[i];
      if (++index[i] < t.dims[i]) {
        break;
      }
      offset -= t.strides[i] * t.dims[i];
      index[i] = 0;
    }
  }
}

Array read(const Tensor &t, const void *at) {
  Array out(count(t));
  size_t size = size_of(t.type);
  each(t, [&](int64_t position, int64_t offset) {
    out[position] = load(t.type, static_cast<const char *>(at) + offset * size);
  });
  return out;
}

void write(const Tensor &t, const Array &values, void *at) {
  size_t size = size_of(t.type);
  each(t, [&](int64_t position, int64_t offset) {
    store(t.type, static_cast<char *>(at) + offset * size, values[position]);
  });
}

bool plain(const Tensor &t, std::string &why) {
  why = "tensor " + std::to_string(t.uid) + ": ";
  if (!is_number(t.type)) {
    why += "element type " + std::to_string(static_cast<int>(t.type));
    return false;
  }
  if (t.dims.empty() || t.dims.size() != t.strides.size()) {
    why += "no dimensions, or not as many strides";
    return false;
  }
  // Ordered by stride, every dimension must step over all of the one below.
  std::vector<std::pair<int64_t, int64_t>> order;
  double size = 1;
  for (size_t i = 0; i < t.dims.size(); i++) {
    if (t.dims[i] < 1 || t.strides[i] < 1) {
      why += "a dimension or a stride below 1";
      return false;
    }
    size *= static_cast<double>(t.dims[i]);
    if (t.dims[i] > 1) {
      order.push_back({t.strides[i], t.dims[i]});
    }
  }
  std::sort(order.begin(), order.end());
  double extent = 1; // strides may be anything
  for (const auto &[stride, dim] : order) {
    if (static_cast<double>(stride) < extent) {
      why += "its elements overlap";
      return false;
    }
    extent += static_cast<double>(stride) * static_cast<double>(dim - 1);
  }
  if (size > kLargest || extent > kLargest) {
    why += "too large";
    return false;
  }
  return true;
}

bool floating(DataType t) {
  return is_number(t) && !is_integer(t);
}

bool is_fp8(DataType t) {
  return t == DataType::FP8E4M3 || t == DataType::FP8E5M2 || t == DataType::FP8E4M3Fnuz ||
         t == DataType::FP8E5M2Fnuz;
}

// a and b are multiplied, r is the result. Virtual results are held unrounded, whatever their type.
bool types_fit(DataType compute, const Tensor &a, const Tensor &b, const Tensor &r) {
  if (a.type == DataType::Int8 && b.type == DataType::Int8) {
    return compute == DataType::Int32 && (r.type == DataType::Int32 || r.type == DataType::Float);
  }
  if (!floating(a.type) || (a.type != b.type && !(is_fp8(a.type) && is_fp8(b.type)))) {
    return false;
  }
  if (a.type == DataType::Double) {
    return compute == DataType::Double && r.type == DataType::Double;
  }
  bool result = is_fp8(a.type) ? floating(r.type) && r.type != DataType::Double
                               : r.type == a.type || r.type == DataType::Float;
  return compute == DataType::Float && result;
}

struct Roles {
  std::vector<int64_t> reads;
  int64_t writes;
};

Roles roles(const Node &node) {
  if (const auto *c = std::get_if<Convolution>(&node.operation)) {
    switch (c->kind) {
    case ConvKind::Forward:
      return {{c->image, c->filter}, c->output};
    case ConvKind::BackwardData:
      return {{c->output, c->filter}, c->image};
    case ConvKind::BackwardWeights:
      return {{c->image, c->output}, c->filter};
    }
  }
  const auto &p = std::get<Pointwise>(node.operation);
  Roles r{{p.in_0}, p.out_0};
  if (p.in_1) {
    r.reads.push_back(*p.in_1);
  }
  if (p.in_2) {
    r.reads.push_back(*p.in_2);
  }
  return r;
}

bool binary(int8_t mode) {
  return mode == HIPDNN_POINTWISE_ADD || mode == HIPDNN_POINTWISE_SUB ||
         mode == HIPDNN_POINTWISE_MUL;
}

bool unary(int8_t mode) {
  return mode == HIPDNN_POINTWISE_RELU_FWD || mode == HIPDNN_POINTWISE_IDENTITY;
}

bool broadcasts(const Tensor &from, const Tensor &to) {
  if (from.dims.size() != to.dims.size()) {
    return false;
  }
  for (size_t i = 0; i < to.dims.size(); i++) {
    if (from.dims[i] != to.dims[i] && from.dims[i] != 1) {
      return false;
    }
  }
  return true;
}

bool fits(const Graph &graph, const Node &node, std::string &why) {
  if (const auto *c = std::get_if<Convolution>(&node.operation)) {
    const Tensor &image = *graph.find(c->image), &filter = *graph.find(c->filter),
                 &output = *graph.find(c->output);
    Geometry g;
    if (!geometry(*c, image, filter, output, g, why)) {
      return false;
    }
    if (c->mode == ConvMode::Unset) {
      why = "a convolution without a mode";
      return false;
    }
    Roles r = roles(node);
    if (!types_fit(node.compute, *graph.find(r.reads[0]), *graph.find(r.reads[1]),
                   *graph.find(r.writes))) {
      why = "element and compute types of a convolution do not go together";
      return false;
    }
    return true;
  }
  const auto &p = std::get<Pointwise>(node.operation);
  if ((binary(p.mode) && (!p.in_1 || p.in_2)) || (unary(p.mode) && (p.in_1 || p.in_2)) ||
      (!binary(p.mode) && !unary(p.mode))) {
    why = "pointwise mode " + std::to_string(p.mode) + " with these inputs";
    return false;
  }
  for (int64_t uid : roles(node).reads) {
    if (!broadcasts(*graph.find(uid), *graph.find(p.out_0))) {
      why = "a pointwise input does not broadcast to the output";
      return false;
    }
  }
  if (node.compute != DataType::Float && node.compute != DataType::Double) {
    why = "a pointwise compute type that is neither float nor double";
    return false;
  }
  return true;
}

double relu(const Pointwise &p, double v) {
  double lower = p.relu_lower_clip.value_or(0.0f);
  double upper = p.relu_upper_clip ? *p.relu_upper_clip : HUGE_VAL;
  double slope = p.relu_lower_clip_slope.value_or(0.0f);
  if (v < lower) {
    return lower + slope * (v - lower);
  }
  return v > upper ? upper : v; // NaN stays
}

// The position in `from` of every element of `to`.
std::vector<int64_t> sources(const Tensor &from, const Tensor &to) {
  Tensor view = to;
  int64_t step = 1;
  for (size_t i = to.dims.size(); i-- > 0;) {
    view.strides[i] = from.dims[i] == 1 ? 0 : step;
    step *= from.dims[i];
  }
  std::vector<int64_t> out(count(to));
  each(view, [&](int64_t position, int64_t offset) { out[position] = offset; });
  return out;
}

} // namespace

bool supported(const Graph &graph, std::string &why) {
  if (graph.nodes.empty()) {
    why = "no operations";
    return false;
  }
  std::set<int64_t> uids;
  for (const Tensor &t : graph.tensors) {
    if (!uids.insert(t.uid).second) {
      why = "two tensors have the uid " + std::to_string(t.uid);
      return false;
    }
    if (!plain(t, why)) {
      return false;
    }
  }
  if (graph.override_shapes) {
    why = "shapes that are given at execution";
    return false;
  }
  std::set<int64_t> written;
  bool real = false;
  for (const Node &node : graph.nodes) {
    Roles r = roles(node);
    for (int64_t uid : r.reads) {
      const Tensor *t = graph.find(uid);
      if (t == nullptr || (t->is_virtual && written.count(uid) == 0)) {
        why = "tensor " + std::to_string(uid) + " is read before it is there";
        return false;
      }
    }
    const Tensor *result = graph.find(r.writes);
    if (result == nullptr || !result->value.empty() || !written.insert(r.writes).second) {
      why = "tensor " + std::to_string(r.writes) + " cannot be written, or is written twice";
      return false;
    }
    real = real || !result->is_virtual;
    if (!fits(graph, node, why)) {
      return false;
    }
  }
  if (!real) {
    why = "no output that is not virtual";
  }
  return real;
}

void run(const Graph &graph, Method method, const std::map<int64_t, void *> &pointers,
         int threads) {
  std::map<int64_t, Array> arrays;
  auto value = [&](int64_t uid) -> Array & {
    auto found = arrays.find(uid);
    if (found == arrays.end()) {
      const Tensor &t = *graph.find(uid);
      const void *at = t.value.empty() ? pointers.at(uid) : t.value.data();
      found = arrays.emplace(uid, read(t, at)).first;
    }
    return found->second;
  };
  for (const Node &node : graph.nodes) {
    Roles r = roles(node);
    for (int64_t uid : r.reads) {
      value(uid);
    }
    const Tensor &result = *graph.find(r.writes);
    Array &out = arrays[r.writes];
    out.assign(count(result), 0.0);
    if (const auto *c = std::get_if<Convolution>(&node.operation)) {
      Geometry g;
      std::string why;
      geometry(*c, *graph.find(c->image), *graph.find(c->filter), *graph.find(c->output), g, why);
      double *image = arrays[c->image].data(), *filter = arrays[c->filter].data(),
             *output = arrays[c->output].data();
      if (method == Method::Direct) {
        direct(c->kind, g, image, filter, output, products(g) > 1e6 ? threads : 1);
      } else {
        deterministic(c->kind, g, image, filter, output);
      }
    } else {
      const auto &p = std::get<Pointwise>(node.operation);
      const Array &a = value(p.in_0);
      std::vector<int64_t> from_a = sources(*graph.find(p.in_0), result);
      if (unary(p.mode)) {
        for (size_t i = 0; i < out.size(); i++) {
          double v = a[from_a[i]];
          out[i] = p.mode == HIPDNN_POINTWISE_RELU_FWD ? relu(p, v) : v;
        }
      } else {
        const Array &b = value(*p.in_1);
        std::vector<int64_t> from_b = sources(*graph.find(*p.in_1), result);
        for (size_t i = 0; i < out.size(); i++) {
          double x = a[from_a[i]], y = b[from_b[i]];
          out[i] = p.mode == HIPDNN_POINTWISE_ADD   ? x + y
                   : p.mode == HIPDNN_POINTWISE_SUB ? x - y
                                                    : x * y;
        }
      }
    }
    if (!result.is_virtual) {
      write(result, out, pointers.at(r.writes));
      // What is read later is what memory holds.
      for (double &v : out) {
        uint8_t rounded[8];
        store(result.type, rounded, v);
        v = load(result.type, rounded);
      }
    }
  }
}

} // namespace refhipdnn::cpu
