#pragma once

// An operation graph as a value: what a GRAPH descriptor builds, the FlatBuffers carry, and the
// built-in engines compute.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace refhipdnn {

// Element types in the numbering of the FlatBuffers. Source: data_types.fbs @ 0f9f111b.
enum class DataType : int8_t {
  Unset = 0,
  Float = 1,
  Half = 2,
  BFloat16 = 3,
  Double = 4,
  UInt8 = 5,
  Int32 = 6,
  Int8 = 7,
  FP8E4M3 = 8,
  FP8E5M2 = 9,
  FP8E8M0 = 10,
  FP4E2M1 = 11,
  FP6E2M3 = 12,
  FP6E3M2 = 13,
  Int4 = 14,
  Int64 = 15,
  FP8E4M3Fnuz = 16,
  FP8E5M2Fnuz = 17,
};

// The C API's number for the type and back; nothing where the other side has no such type.
std::optional<int32_t> to_c(DataType type);
std::optional<DataType> from_c(int32_t number);

// Bytes of an element; 0 for types whose elements are no whole bytes and for Unset.
size_t size_of(DataType type);

// Source: convolution_common.fbs; one more than the C API's numbers.
enum class ConvMode : int8_t { Unset = 0, Convolution = 1, CrossCorrelation = 2 };

struct Tensor {
  int64_t uid = 0;
  std::string name;
  DataType type = DataType::Unset;
  std::vector<int64_t> strides;
  std::vector<int64_t> dims;
  bool is_virtual = false;
  // The value of a tensor that is passed by value: its size_of(type) bytes, or empty.
  std::vector<uint8_t> value;
  int64_t alignment = 16;

  bool operator==(const Tensor &o) const;
};

enum class ConvKind { Forward, BackwardData, BackwardWeights };

// A convolution. image is x or dx, filter is w or dw, output is y or dy.
struct Convolution {
  ConvKind kind = ConvKind::Forward;
  int64_t image = 0;
  int64_t filter = 0;
  int64_t output = 0;
  std::vector<int64_t> pre_padding;
  std::vector<int64_t> post_padding;
  std::vector<int64_t> stride;
  std::vector<int64_t> dilation;
  ConvMode mode = ConvMode::Unset;

  bool operator==(const Convolution &o) const;
};

struct Pointwise {
  int8_t mode = 0; // hipdnnPointwiseMode_t, the same number in the FlatBuffers
  std::optional<float> relu_lower_clip;
  std::optional<float> relu_upper_clip;
  std::optional<float> relu_lower_clip_slope;
  int64_t in_0 = 0;
  std::optional<int64_t> in_1;
  std::optional<int64_t> in_2;
  int64_t out_0 = 0;

  bool operator==(const Pointwise &o) const;
};

struct Node {
  std::string name;
  DataType compute = DataType::Unset;
  std::variant<Convolution, Pointwise> operation;

  bool operator==(const Node &o) const;
};

struct ApiVersion {
  uint32_t major = 1;
  uint32_t minor = 0;
  uint32_t patch = 0;

  bool operator==(const ApiVersion &o) const;
  bool operator<(const ApiVersion &o) const;
};

struct Graph {
  std::string name;
  DataType compute = DataType::Unset;
  DataType intermediate = DataType::Unset;
  DataType io = DataType::Unset;
  std::vector<Tensor> tensors;
  std::vector<Node> nodes;
  std::optional<int64_t> preferred_engine;
  bool override_shapes = false;
  std::optional<ApiVersion> required; // absent means 1.0.0
  std::optional<std::array<uint8_t, 16>> id;

  bool operator==(const Graph &o) const;
  const Tensor *find(int64_t uid) const;
};

// A knob's setting or default: an integer, a floating point number or a string.
using KnobValue = std::variant<int64_t, double, std::string>;

struct EngineConfig {
  int64_t engine = 0;
  std::vector<std::pair<std::string, KnobValue>> knobs;
};

struct Knob {
  std::string name;
  std::string description;
  KnobValue initial;
  int64_t least = 0, most = 0, step = 1; // of integers
  bool deprecated = false;
};

struct EngineDetails {
  int64_t engine = 0;
  std::vector<Knob> knobs;
  std::vector<int32_t> notes;
  std::string name;
};

} // namespace refhipdnn
