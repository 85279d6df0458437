#include "wire.hpp"

#include "cpu/number.hpp"
#include "flatbuffer.hpp"

namespace refhipdnn::wire {
namespace {

using flatbuffer::Builder;
using flatbuffer::Malformed;
using flatbuffer::Ref;
using flatbuffer::Table;

// The union NodeAttributes of graph.fbs.
enum NodeKind : uint8_t {
  kPointwise = 2,
  kConvolutionForward = 5,
  kConvolutionBackwardData = 6,
  kConvolutionBackwardWeights = 7,
  kLastNodeKind = 23,
};

// The union TensorValue of tensor_attributes.fbs. All are structs; the 16-bit ones hold a float.
enum ValueKind : uint8_t {
  kFloat32Value = 1,
  kFloat16Value = 2,
  kBFloat16Value = 3,
  kFloat8Value = 4,
  kInt32Value = 5,
  kFloat64Value = 6,
  kInt64Value = 7,
};

uint8_t value_kind(DataType type) {
  switch (type) {
  case DataType::Float:
    return kFloat32Value;
  case DataType::Half:
    return kFloat16Value;
  case DataType::BFloat16:
    return kBFloat16Value;
  case DataType::Int32:
    return kInt32Value;
  case DataType::Double:
    return kFloat64Value;
  case DataType::Int64:
    return kInt64Value;
  default:
    return kFloat8Value;
  }
}

// The struct of a value: its own bytes, or the float that 16-bit types travel as.
Bytes value_struct(const Tensor &t) {
  if (t.type != DataType::Half && t.type != DataType::BFloat16) {
    return t.value;
  }
  float value = static_cast<float>(cpu::load(t.type, t.value.data()));
  Bytes out(sizeof(value));
  std::memcpy(out.data(), &value, sizeof(value));
  return out;
}

template <class T> Ref vector_or_none(Builder &b, const std::vector<T> &v) {
  return v.empty() ? 0 : b.vector(v);
}

Ref string_or_none(Builder &b, const std::string &s) {
  return s.empty() ? 0 : b.string(s);
}

Ref write(Builder &b, const Tensor &t) {
  Ref name = string_or_none(b, t.name);
  Ref strides = vector_or_none(b, t.strides);
  Ref dims = vector_or_none(b, t.dims);
  Ref value = 0;
  if (!t.value.empty()) {
    Bytes bytes = value_struct(t);
    value = b.plain(bytes.data(), bytes.size());
  }
  b.start();
  b.field<int64_t>(24, t.alignment, 16);
  b.field<int64_t>(4, t.uid, 0);
  b.ref(18, value);
  b.ref(12, dims);
  b.ref(10, strides);
  b.ref(6, name);
  b.field<uint8_t>(16, value != 0 ? value_kind(t.type) : 0, 0);
  b.field<uint8_t>(14, t.is_virtual ? 1 : 0, 0);
  b.field<int8_t>(8, static_cast<int8_t>(t.type), 0);
  return b.end();
}

Tensor read_tensor(const Table &table) {
  Tensor t;
  t.uid = table.scalar<int64_t>(4, 0);
  t.name = table.string(6);
  t.type = static_cast<DataType>(table.scalar<int8_t>(8, 0));
  if (t.type != DataType::Unset && !to_c(t.type)) {
    throw Malformed("tensor " + std::to_string(t.uid) + " has the element type " +
                    std::to_string(static_cast<int>(t.type)));
  }
  t.strides = table.vector<int64_t>(10);
  t.dims = table.vector<int64_t>(12);
  t.is_virtual = table.scalar<uint8_t>(14, 0) != 0;
  t.alignment = table.scalar<int64_t>(24, 16);
  uint8_t kind = table.scalar<uint8_t>(16, 0);
  if (kind != 0) {
    if (kind != value_kind(t.type)) {
      throw Malformed("tensor " + std::to_string(t.uid) + " has a value of kind " +
                      std::to_string(kind) + " and another element type");
    }
    t.value.resize(size_of(t.type));
    if (t.type == DataType::Half || t.type == DataType::BFloat16) {
      float value = 0;
      table.pointed(18, &value, sizeof(value));
      cpu::store(t.type, t.value.data(), value);
    } else {
      table.pointed(18, t.value.data(), t.value.size());
    }
  }
  return t;
}

// The three tensors in the order of each schema.
struct ConvolutionSlots {
  NodeKind kind;
  int image, filter, output;
};

const ConvolutionSlots &slots(ConvKind kind) {
  static const ConvolutionSlots kSlots[] = {
      {kConvolutionForward, 4, 6, 8},
      {kConvolutionBackwardData, 8, 6, 4},
      {kConvolutionBackwardWeights, 4, 8, 6},
  };
  return kSlots[static_cast<int>(kind)];
}

Ref write(Builder &b, const Convolution &c) {
  Ref pre = vector_or_none(b, c.pre_padding);
  Ref post = vector_or_none(b, c.post_padding);
  Ref stride = vector_or_none(b, c.stride);
  Ref dilation = vector_or_none(b, c.dilation);
  const ConvolutionSlots &s = slots(c.kind);
  b.start();
  for (int slot : {8, 6, 4}) {
    b.field<int64_t>(slot, slot == s.image ? c.image : slot == s.filter ? c.filter : c.output, 0);
  }
  b.ref(16, dilation);
  b.ref(14, stride);
  b.ref(12, post);
  b.ref(10, pre);
  b.field<int8_t>(18, static_cast<int8_t>(c.mode), 0);
  return b.end();
}

Convolution read_convolution(const Table &table, ConvKind kind) {
  Convolution c;
  c.kind = kind;
  const ConvolutionSlots &s = slots(kind);
  c.image = table.scalar<int64_t>(s.image, 0);
  c.filter = table.scalar<int64_t>(s.filter, 0);
  c.output = table.scalar<int64_t>(s.output, 0);
  c.pre_padding = table.vector<int64_t>(10);
  c.post_padding = table.vector<int64_t>(12);
  c.stride = table.vector<int64_t>(14);
  c.dilation = table.vector<int64_t>(16);
  int8_t mode = table.scalar<int8_t>(18, 0);
  if (mode < 0 || mode > 2) {
    throw Malformed("a convolution has the mode " + std::to_string(mode));
  }
  c.mode = static_cast<ConvMode>(mode);
  return c;
}

Ref write(Builder &b, const Pointwise &p) {
  b.start();
  b.field<int64_t>(20, p.out_0, 0);
  b.optional(18, p.in_2);
  b.optional(16, p.in_1);
  b.field<int64_t>(14, p.in_0, 0);
  b.optional(10, p.relu_lower_clip_slope);
  b.optional(8, p.relu_upper_clip);
  b.optional(6, p.relu_lower_clip);
  b.field<int8_t>(4, p.mode, 0);
  return b.end();
}

Pointwise read_pointwise(const Table &table) {
  Pointwise p;
  p.mode = table.scalar<int8_t>(4, 0);
  p.relu_lower_clip = table.optional<float>(6);
  p.relu_upper_clip = table.optional<float>(8);
  p.relu_lower_clip_slope = table.optional<float>(10);
  p.in_0 = table.scalar<int64_t>(14, 0);
  p.in_1 = table.optional<int64_t>(16);
  p.in_2 = table.optional<int64_t>(18);
  p.out_0 = table.scalar<int64_t>(20, 0);
  return p;
}

Ref write(Builder &b, const Node &n) {
  Ref name = string_or_none(b, n.name);
  uint8_t kind = kPointwise;
  Ref operation;
  if (const auto *c = std::get_if<Convolution>(&n.operation)) {
    kind = slots(c->kind).kind;
    operation = write(b, *c);
  } else {
    operation = write(b, std::get<Pointwise>(n.operation));
  }
  b.start();
  b.ref(10, operation);
  b.ref(4, name);
  b.field<uint8_t>(8, kind, 0);
  b.field<int8_t>(6, static_cast<int8_t>(n.compute), 0);
  return b.end();
}

Node read_node(const Table &table) {
  Node n;
  n.name = table.string(4);
  n.compute = static_cast<DataType>(table.scalar<int8_t>(6, 0));
  uint8_t kind = table.scalar<uint8_t>(8, 0);
  auto operation = table.table(10);
  if (!operation) {
    throw Malformed("a node has no attributes");
  }
  switch (kind) {
  case kPointwise:
    n.operation = read_pointwise(*operation);
    break;
  case kConvolutionForward:
    n.operation = read_convolution(*operation, ConvKind::Forward);
    break;
  case kConvolutionBackwardData:
    n.operation = read_convolution(*operation, ConvKind::BackwardData);
    break;
  case kConvolutionBackwardWeights:
    n.operation = read_convolution(*operation, ConvKind::BackwardWeights);
    break;
  default:
    throw Malformed(
        "a node of kind " + std::to_string(kind) +
        (kind <= kLastNodeKind ? ", which is not implemented here" : ", which does not exist"));
  }
  return n;
}

// The union KnobValue: tables with one field.
Ref write(Builder &b, const KnobValue &value) {
  Ref text = 0;
  if (const auto *s = std::get_if<std::string>(&value)) {
    text = string_or_none(b, *s);
  }
  b.start();
  if (const auto *i = std::get_if<int64_t>(&value)) {
    b.field<int64_t>(4, *i, 0);
  } else if (const auto *d = std::get_if<double>(&value)) {
    b.field<double>(4, *d, 0);
  } else {
    b.ref(4, text);
  }
  return b.end();
}

uint8_t kind_of(const KnobValue &value) {
  return static_cast<uint8_t>(value.index() + 1);
}

KnobValue read_knob_value(const Table &table, int kind_slot, int slot) {
  auto value = table.table(slot);
  switch (value ? table.scalar<uint8_t>(kind_slot, 0) : 0) {
  case 1:
    return value->scalar<int64_t>(4, 0);
  case 2:
    return value->scalar<double>(4, 0);
  case 3:
    return value->string(4);
  }
  throw Malformed("a knob without a value, or with one of an unknown kind");
}

Ref write(Builder &b, const Knob &k) {
  Ref name = string_or_none(b, k.name);
  Ref description = string_or_none(b, k.description);
  const KnobValue types[] = {int64_t{0}, 0.0, std::string()};
  Ref type = write(b, types[k.initial.index()]);
  Ref initial = write(b, k.initial);
  b.start(); // IntConstraint
  b.field<int64_t>(8, k.step, 1);
  b.field<int64_t>(6, k.most, 0);
  b.field<int64_t>(4, k.least, 0);
  Ref constraint = b.end();
  b.start();
  b.ref(20, constraint);
  b.ref(16, initial);
  b.ref(12, type);
  b.ref(8, description);
  b.ref(6, name);
  b.field<uint8_t>(22, k.deprecated ? 1 : 0, 0);
  b.field<uint8_t>(18, 1, 0);
  b.field<uint8_t>(14, kind_of(k.initial), 0);
  b.field<uint8_t>(10, kind_of(k.initial), 0);
  return b.end();
}

Knob read_knob(const Table &table) {
  Knob k;
  k.name = table.string(6);
  k.description = table.string(8);
  k.initial = read_knob_value(table, 14, 16);
  k.deprecated = table.scalar<uint8_t>(22, 0) != 0;
  if (table.scalar<uint8_t>(18, 0) == 1) {
    if (auto constraint = table.table(20)) {
      k.least = constraint->scalar<int64_t>(4, 0);
      k.most = constraint->scalar<int64_t>(6, 0);
      k.step = constraint->scalar<int64_t>(8, 1);
    }
  }
  return k;
}

} // namespace

Bytes encode(const Graph &g) {
  Builder b;
  Ref name = string_or_none(b, g.name);
  std::vector<Ref> refs;
  for (const Tensor &t : g.tensors) {
    refs.push_back(write(b, t));
  }
  Ref tensors = refs.empty() ? 0 : b.vector_of(refs);
  refs.clear();
  for (const Node &n : g.nodes) {
    refs.push_back(write(b, n));
  }
  Ref nodes = refs.empty() ? 0 : b.vector_of(refs);
  b.start();
  b.optional(16, g.preferred_engine);
  if (g.id) {
    b.structure(22, *g.id);
  }
  if (g.required) {
    b.structure(20, std::array{g.required->major, g.required->minor, g.required->patch});
  }
  b.ref(14, nodes);
  b.ref(12, tensors);
  b.ref(4, name);
  b.field<uint8_t>(18, g.override_shapes ? 1 : 0, 0);
  b.field<int8_t>(10, static_cast<int8_t>(g.io), 0);
  b.field<int8_t>(8, static_cast<int8_t>(g.intermediate), 0);
  b.field<int8_t>(6, static_cast<int8_t>(g.compute), 0);
  return b.finish(b.end());
}

Graph decode_graph(const uint8_t *data, size_t size) {
  Table table = Table::root(data, size);
  Graph g;
  g.name = table.string(4);
  g.compute = static_cast<DataType>(table.scalar<int8_t>(6, 0));
  g.intermediate = static_cast<DataType>(table.scalar<int8_t>(8, 0));
  g.io = static_cast<DataType>(table.scalar<int8_t>(10, 0));
  for (const Table &t : table.tables(12)) {
    g.tensors.push_back(read_tensor(t));
  }
  for (const Table &n : table.tables(14)) {
    g.nodes.push_back(read_node(n));
  }
  g.preferred_engine = table.optional<int64_t>(16);
  g.override_shapes = table.scalar<uint8_t>(18, 0) != 0;
  if (auto version = table.structure<uint32_t, 3>(20)) {
    g.required = ApiVersion{(*version)[0], (*version)[1], (*version)[2]};
  }
  g.id = table.structure<uint8_t, 16>(22);
  return g;
}

Bytes encode(const EngineConfig &config) {
  Builder b;
  std::vector<Ref> refs;
  for (const auto &[name, value] : config.knobs) {
    Ref id = string_or_none(b, name);
    Ref content = write(b, value);
    b.start();
    b.ref(8, content);
    b.ref(4, id);
    b.field<uint8_t>(6, kind_of(value), 0);
    refs.push_back(b.end());
  }
  Ref knobs = refs.empty() ? 0 : b.vector_of(refs);
  b.start();
  b.field<int64_t>(4, config.engine, 0);
  b.ref(6, knobs);
  return b.finish(b.end());
}

EngineConfig decode_engine_config(const uint8_t *data, size_t size) {
  Table table = Table::root(data, size);
  EngineConfig config;
  config.engine = table.scalar<int64_t>(4, 0);
  for (const Table &knob : table.tables(6)) {
    config.knobs.emplace_back(knob.string(4), read_knob_value(knob, 6, 8));
  }
  return config;
}

Bytes encode(const EngineDetails &details) {
  Builder b;
  std::vector<Ref> refs;
  for (const Knob &k : details.knobs) {
    refs.push_back(write(b, k));
  }
  Ref knobs = refs.empty() ? 0 : b.vector_of(refs);
  Ref notes = vector_or_none(b, details.notes);
  Ref name = string_or_none(b, details.name);
  b.start();
  b.field<int64_t>(4, details.engine, 0);
  b.ref(10, name);
  b.ref(8, notes);
  b.ref(6, knobs);
  return b.finish(b.end());
}

EngineDetails decode_engine_details(const uint8_t *data, size_t size) {
  Table table = Table::root(data, size);
  EngineDetails details;
  details.engine = table.scalar<int64_t>(4, 0);
  for (const Table &knob : table.tables(6)) {
    details.knobs.push_back(read_knob(knob));
  }
  details.notes = table.vector<int32_t>(8);
  details.name = table.string(10);
  return details;
}

bool is_container(const uint8_t *data, size_t size) {
  return Table::has_identifier(data, size, "HDGP");
}

Bytes encode(const Container &container) {
  Builder b;
  Ref graph = vector_or_none(b, container.graph);
  Ref plan = vector_or_none(b, container.plan);
  b.start();
  b.ref(6, plan);
  b.ref(4, graph);
  return b.finish(b.end(), "HDGP");
}

Container decode_container(const uint8_t *data, size_t size) {
  Table table = Table::root(data, size);
  return {table.vector<uint8_t>(4), table.vector<uint8_t>(6)};
}

} // namespace refhipdnn::wire
