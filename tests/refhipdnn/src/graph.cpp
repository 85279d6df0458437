#include "graph.hpp"

#include "refhipdnn/hipdnn_backend.h"

#include <tuple>

namespace refhipdnn {
namespace {

struct TypeRow {
  DataType wire;
  int32_t c;
  size_t size;
};

const TypeRow kTypes[] = {
    {DataType::Float, HIPDNN_DATA_FLOAT, 4},
    {DataType::Double, HIPDNN_DATA_DOUBLE, 8},
    {DataType::Half, HIPDNN_DATA_HALF, 2},
    {DataType::Int8, HIPDNN_DATA_INT8, 1},
    {DataType::Int32, HIPDNN_DATA_INT32, 4},
    {DataType::UInt8, HIPDNN_DATA_UINT8, 1},
    {DataType::BFloat16, HIPDNN_DATA_BFLOAT16, 2},
    {DataType::FP8E4M3, HIPDNN_DATA_FP8_E4M3, 1},
    {DataType::FP8E5M2, HIPDNN_DATA_FP8_E5M2, 1},
    {DataType::FP8E8M0, HIPDNN_DATA_FP8_E8M0, 1},
    {DataType::FP4E2M1, HIPDNN_DATA_FP4_E2M1, 0},
    {DataType::Int4, HIPDNN_DATA_INT4, 0},
    {DataType::FP6E2M3, HIPDNN_DATA_FP6_E2M3_EXT, 0},
    {DataType::FP6E3M2, HIPDNN_DATA_FP6_E3M2_EXT, 0},
    {DataType::Int64, HIPDNN_DATA_INT64, 8},
    {DataType::FP8E4M3Fnuz, HIPDNN_DATA_FP8_E4M3_FNUZ, 1},
    {DataType::FP8E5M2Fnuz, HIPDNN_DATA_FP8_E5M2_FNUZ, 1},
};

auto fields(const Tensor &t) {
  return std::tie(t.uid, t.name, t.type, t.strides, t.dims, t.is_virtual, t.value, t.alignment);
}
auto fields(const Convolution &c) {
  return std::tie(c.kind, c.image, c.filter, c.output, c.pre_padding, c.post_padding, c.stride,
                  c.dilation, c.mode);
}
auto fields(const Pointwise &p) {
  return std::tie(p.mode, p.relu_lower_clip, p.relu_upper_clip, p.relu_lower_clip_slope, p.in_0,
                  p.in_1, p.in_2, p.out_0);
}
auto fields(const Node &n) {
  return std::tie(n.name, n.compute, n.operation);
}
auto fields(const ApiVersion &v) {
  return std::tie(v.major, v.minor, v.patch);
}
auto fields(const Graph &g) {
  return std::tie(g.name, g.compute, g.intermediate, g.io, g.tensors, g.nodes, g.preferred_engine,
                  g.override_shapes, g.required, g.id);
}

} // namespace

std::optional<int32_t> to_c(DataType type) {
  for (const TypeRow &row : kTypes) {
    if (row.wire == type) {
      return row.c;
    }
  }
  return std::nullopt;
}

std::optional<DataType> from_c(int32_t number) {
  for (const TypeRow &row : kTypes) {
    if (row.c == number) {
      return row.wire;
    }
  }
  return std::nullopt;
}

size_t size_of(DataType type) {
  for (const TypeRow &row : kTypes) {
    if (row.wire == type) {
      return row.size;
    }
  }
  return 0;
}

bool Tensor::operator==(const Tensor &o) const {
  return fields(*this) == fields(o);
}
bool Convolution::operator==(const Convolution &o) const {
  return fields(*this) == fields(o);
}
bool Pointwise::operator==(const Pointwise &o) const {
  return fields(*this) == fields(o);
}
bool Node::operator==(const Node &o) const {
  return fields(*this) == fields(o);
}
bool ApiVersion::operator==(const ApiVersion &o) const {
  return fields(*this) == fields(o);
}
bool ApiVersion::operator<(const ApiVersion &o) const {
  return fields(*this) < fields(o);
}
bool Graph::operator==(const Graph &o) const {
  return fields(*this) == fields(o);
}

const Tensor *Graph::find(int64_t uid) const {
  for (const Tensor &t : tensors) {
    if (t.uid == uid) {
      return &t;
    }
  }
  return nullptr;
}

} // namespace refhipdnn
