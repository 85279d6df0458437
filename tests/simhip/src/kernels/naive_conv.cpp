// MIOpen's naive convolution kernels:
// naive_conv_ab_{packed,nonpacked}_{fwd,bwd,wrw}_{layout}_{types}.
//
// What they compute is known from the kernels' source that libMIOpen.so carries (naive_conv.cpp;
// the same in 3.4.0 and 3.5.1) and from the machine code that comes of it:
//
// - The types are source, accumulator and destination. ushort is bfloat16; a half result is rounded
//   once, from the double, and a bfloat16 by way of a float, both to the nearest even (MIOpen
//   compiles with MIOPEN_USE_RNE_BFLOAT16).
// - alpha 1 with beta 0 stores the sum. Anything else also reads the destination, so not-a-number
//   there stays even if beta is 0.
// - Sums run over channels, then over the filter; in the layouts with channels last the other way
//   round. Gradients of the filter run over images, then over positions, in every layout.
// - Strides are in elements, innermost dimension first, with the group as a dimension of its own.
//   The packed kernels get them too but derive theirs from the lengths.
//
// The compiler leaves arguments' names out of the metadata, so that arguments are known by their
// order. Kinds and sizes of all of them have to be the expected ones, and so have the names where
// there are any; otherwise the kernel is one that only bears a known name, and is not executed.
//
// Not here: the kernels for 8-bit floating point, naive_conv_nonpacked_{direction}_nchw_{types}.
// The type that they round their operands to is a macro of their compilation and can be told from
// neither name nor arguments: they are executed from their machine code (../isa).

#include "naive_conv.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "contraction.hpp"

namespace simhip::kernels {

namespace {

enum class Direction { forward, backward_data, backward_weights };

// What a kernel's name says.
struct Variant {
  Direction direction = Direction::forward;
  bool packed = false;
  bool channels_last = false;
  unsigned spatial = 2; // dimensions
  Element source = Element::float32, destination = Element::float32;
  Accumulator accumulator = Accumulator::float64;
};

// Takes a prefix off the name.
bool take(std::string_view &name, std::string_view prefix) {
  if (name.substr(0, prefix.size()) != prefix)
    return false;
  name.remove_prefix(prefix.size());
  return true;
}

std::optional<Variant> parse(std::string_view name) {
  Variant v;
  if (take(name, "naive_conv_ab_packed_"))
    v.packed = true;
  else if (!take(name, "naive_conv_ab_nonpacked_"))
    return std::nullopt;

  if (take(name, "bwd_"))
    v.direction = Direction::backward_data;
  else if (take(name, "wrw_"))
    v.direction = Direction::backward_weights;
  else if (!take(name, "fwd_"))
    return std::nullopt;

  if (take(name, "nhwc_"))
    v.channels_last = true;
  else if (take(name, "ndhwc_"))
    v.channels_last = true, v.spatial = 3;
  else if (take(name, "ncdhw_"))
    v.spatial = 3;
  else if (!take(name, "nchw_"))
    return std::nullopt;

  if (name == "float_double_float") {
    v.source = v.destination = Element::float32;
  } else if (name == "half_double_half") {
    v.source = v.destination = Element::float16;
  } else if (name == "ushort_double_ushort") {
    v.source = v.destination = Element::bfloat16;
  } else if (v.direction == Direction::forward && take(name, "int8_t_int32_t_")) {
    v.source = Element::int8;
    v.accumulator = Accumulator::int32;
    if (name == "int8_t" && v.spatial == 2)
      v.destination = Element::int8;
    else if (name == "int32_t")
      v.destination = Element::int32;
    else if (name == "float")
      v.destination = Element::float32;
    else
      return std::nullopt;
  } else {
    return std::nullopt;
  }
  return v;
}

struct Parameter {
  std::string name;
  std::size_t size;
  bool pointer;
};

// The parameters of a kernel for so many spatial dimensions, in order.
std::vector<Parameter> parameters(unsigned spatial) {
  const std::size_t strides = (spatial + 3) * sizeof(std::uint64_t);
  std::vector<Parameter> result = {
      {"p_in", 8, true},
      {"p_wei", 8, true},
      {"alpha", 8, false},
      {"beta", 8, false},
      {"p_out", 8, true},
      {"in_strides", strides, false},
      {"wei_strides", strides, false},
      {"out_strides", strides, false},
  };
  auto per_dimension = [&](std::array<const char *, 3> names) {
    for (unsigned i = 3 - spatial; i < 3; i++)
      result.push_back({names[i], 4, false});
  };
  per_dimension({"di", "hi", "wi"});
  for (const char *name : {"n", "k_per_group", "c_per_group"})
    result.push_back({name, 4, false});
  per_dimension({"do_", "ho", "wo"});
  per_dimension({"sz", "sy", "sx"});
  per_dimension({"dz", "dy", "dx"});
  per_dimension({"pz", "py", "px"});
  per_dimension({"fz", "fy", "fx"});
  result.push_back({"group", 4, false});
  return result;
}

// The arguments of a launch by the parameters' names.
class Arguments {
public:
  // Nothing when the kernel has other parameters than these.
  static std::optional<Arguments> match(const Launch &launch,
                                        const std::vector<Parameter> &parameters) {
    Arguments result(launch);
    auto parameter = parameters.begin();
    for (const Argument &argument : launch.kernel->arguments) {
      if (argument.value_kind.compare(0, 7, "hidden_") == 0)
        continue;
      if (parameter == parameters.end() || argument.size != parameter->size ||
          argument.value_kind != (parameter->pointer ? "global_buffer" : "by_value") ||
          (!argument.name.empty() && argument.name != parameter->name))
        return std::nullopt;
      result.offsets_.emplace_back(parameter->name, argument.offset);
      result.end_ = std::max(result.end_, argument.offset + argument.size);
      ++parameter;
    }
    return parameter == parameters.end() ? std::optional(result) : std::nullopt;
  }

  // Whether the launch gave all of them.
  bool complete() const {
    return end_ <= launch_->arguments.size();
  }

  // The index-th T of the argument. There has to be a parameter of the name.
  template <typename T> T get(std::string_view name, std::size_t index = 0) const {
    std::size_t i = 0;
    while (offsets_[i].first != name)
      i++;
    T result;
    std::memcpy(&result, launch_->arguments.data() + offsets_[i].second + index * sizeof result,
                sizeof result);
    return result;
  }

private:
  explicit Arguments(const Launch &launch) : launch_(&launch) {}

  const Launch *launch_;
  std::vector<std::pair<std::string, std::size_t>> offsets_;
  std::size_t end_ = 0;
};

// A convolution's tensors have these dimensions, each tensor some of them. Channels are those of
// one group.
enum Dimension : std::size_t { group, image, out_channel, in_channel, depth, height, width };
constexpr std::size_t dimensions = 7;

struct Tensor {
  const char *name = ""; // the argument's
  Element element = Element::float32;
  std::uintptr_t address = 0;
  std::array<Axis, dimensions> axes;

  View view(std::array<Dimension, 6> order) const {
    View result{element, address, {}};
    for (std::size_t i = 0; i < order.size(); i++)
      result.axes[i] = axes[order[i]];
    return result;
  }
};

// The lengths of all of a convolution. A 2-D one has depth 1.
struct Geometry {
  using Lengths = std::array<std::int32_t, 3>; // depth, height, width

  std::int32_t images, out_channels, in_channels, groups;
  Lengths in, out, filter, stride, dilation;
  Lengths pad;

  Geometry(const Arguments &arguments, unsigned spatial)
      : images(arguments.get<std::int32_t>("n")),
        out_channels(arguments.get<std::int32_t>("k_per_group")),
        in_channels(arguments.get<std::int32_t>("c_per_group")),
        groups(arguments.get<std::int32_t>("group")) {
    auto read = [&](std::array<const char *, 3> names, std::int32_t of_missing_depth) {
      Lengths lengths;
      for (unsigned i = 0; i < 3; i++)
        lengths[i] = i < 3 - spatial ? of_missing_depth : arguments.get<std::int32_t>(names[i]);
      return lengths;
    };
    in = read({"di", "hi", "wi"}, 1);
    out = read({"do_", "ho", "wo"}, 1);
    filter = read({"fz", "fy", "fx"}, 1);
    stride = read({"sz", "sy", "sx"}, 1);
    dilation = read({"dz", "dy", "dx"}, 1);
    pad = read({"pz", "py", "px"}, 0);
  }

  // What is wrong with it, empty for nothing.
  std::string problem() const {
    for (auto [what, value] : {std::pair("n", images), std::pair("k_per_group", out_channels),
                               std::pair("c_per_group", in_channels), std::pair("group", groups)})
      if (value < 1)
        return std::string(what) + " is " + std::to_string(value);
    for (unsigned i = 0; i < 3; i++) {
      for (auto [what, value] :
           {std::pair("input length", in[i]), std::pair("output length", out[i]),
            std::pair("filter length", filter[i]), std::pair("stride", stride[i]),
            std::pair("dilation", dilation[i])})
        if (value < 1)
          return std::string("the ") + what + " in dimension " + "zyx"[i] + " is " +
                 std::to_string(value);
      if (pad[i] < 0)
        return std::string("the padding in dimension ") + "zyx"[i] + " is " +
               std::to_string(pad[i]);
    }
    return {};
  }
};

// A tensor's dimensions from the innermost outwards, as its strides are given.
std::vector<Dimension> order(bool filter, Dimension channel, bool channels_last, unsigned spatial) {
  std::vector<Dimension> positions = {width, height};
  if (spatial == 3)
    positions.push_back(depth);
  std::vector<Dimension> result;
  if (filter) {
    if (channels_last)
      result.push_back(in_channel);
    result.insert(result.end(), positions.begin(), positions.end());
    if (!channels_last)
      result.push_back(in_channel);
    result.insert(result.end(), {out_channel, group});
  } else if (channels_last) {
    result = {channel, group};
    result.insert(result.end(), positions.begin(), positions.end());
    result.push_back(image);
  } else {
    result = positions;
    result.insert(result.end(), {channel, group, image});
  }
  return result;
}

// Bytes from the first to the last element; nothing when they do not fit in the address space.
std::optional<std::size_t> extent(const View &view) {
  std::size_t last = 0, elements = 1;
  for (const Axis &axis : view.axes) {
    std::size_t reach;
    if (__builtin_mul_overflow(axis.count - 1, axis.stride, &reach) ||
        __builtin_add_overflow(last, reach, &last) ||
        __builtin_mul_overflow(elements, axis.count, &elements))
      return std::nullopt;
  }
  std::size_t bytes, end;
  if (__builtin_add_overflow(last, 1, &bytes) ||
      __builtin_mul_overflow(bytes, size_of(view.element), &bytes) ||
      __builtin_add_overflow(view.address, bytes, &end))
    return std::nullopt;
  return bytes;
}

// The work-groups that compute the whole result.
std::uint64_t work_groups(const Variant &v, const Geometry &g) {
  std::uint64_t groups = static_cast<std::uint64_t>(g.groups),
                images = static_cast<std::uint64_t>(g.images);
  if (v.direction == Direction::backward_weights)
    return groups * static_cast<std::uint64_t>(g.out_channels);
  bool forward = v.direction == Direction::forward;
  if (!v.channels_last)
    return groups * images * static_cast<std::uint64_t>(forward ? g.out_channels : g.in_channels);
  const Geometry::Lengths &lengths = forward ? g.out : g.in;
  return v.spatial == 3 ? groups * images * static_cast<std::uint64_t>(lengths[0])
                        : images * static_cast<std::uint64_t>(lengths[1]);
}

// The links in one dimension. A filter's tap, an output and an input position belong together when
//     input = stride * output - pad + dilation * tap
// and each direction looks at that from another side.
Links links(Direction direction, std::int64_t in, std::int64_t out, std::int64_t taps,
            std::int64_t stride, std::int64_t dilation, std::int64_t pad) {
  Links result(static_cast<std::size_t>(direction == Direction::forward         ? out
                                        : direction == Direction::backward_data ? in
                                                                                : taps));
  for (std::int64_t tap = 0; tap < taps; tap++)
    for (std::int64_t o = 0; o < out; o++) {
      std::int64_t i = stride * o - pad + dilation * tap;
      if (i < 0)
        continue;
      if (i >= in)
        break;
      auto input = static_cast<std::uint32_t>(i), output = static_cast<std::uint32_t>(o),
           of_filter = static_cast<std::uint32_t>(tap);
      switch (direction) {
      case Direction::forward:
        result[output].push_back({input, of_filter});
        break;
      case Direction::backward_data:
        result[input].push_back({output, of_filter});
        break;
      case Direction::backward_weights:
        result[of_filter].push_back({input, output});
        break;
      }
    }
  return result;
}

class NaiveConvolution : public Execution {
public:
  NaiveConvolution(const std::string &kernel, const Variant &variant, const Arguments &arguments,
                   const Launch &launch)
      : kernel_(kernel), direction_(variant.direction) {
    problem_ = set_up(variant, arguments, launch);
  }

  std::vector<Access> accesses() const override {
    return accesses_;
  }

  std::string run(const Memory &memory, unsigned threads) override {
    if (!problem_.empty())
      return kernel_ + ": " + problem_;
    for (const Access &access : accesses_)
      if (!memory.contains(access.begin, access.bytes))
        return kernel_ + ": the tensor " + access.argument + " of " + std::to_string(access.bytes) +
               " bytes is not inside one allocation";
    try {
      const Geometry &g = *geometry_;
      for (unsigned i = 0; i < 3; i++)
        contraction_.links[i] =
            links(direction_, g.in[i], g.out[i], g.filter[i], g.stride[i], g.dilation[i], g.pad[i]);
      contract(contraction_, threads);
    } catch (const std::bad_alloc &) {
      return kernel_ + ": there is not enough memory for copies of the operands";
    }
    return {};
  }

private:
  std::string set_up(const Variant &v, const Arguments &arguments, const Launch &launch) {
    if (!arguments.complete())
      return "the launch has only " + std::to_string(launch.arguments.size()) +
             " bytes of arguments";
    geometry_.emplace(arguments, v.spatial);
    const Geometry &g = *geometry_;
    if (std::string problem = g.problem(); !problem.empty())
      return problem;

    std::uint64_t wanted = work_groups(v, g);
    std::uint64_t given = std::uint64_t{launch.grid.x} * launch.grid.y * launch.grid.z;
    if (given != wanted || launch.grid.y != 1 || launch.grid.z != 1)
      return "the launch has " + std::to_string(given) + " work-groups, the convolution needs " +
             std::to_string(wanted) + " in a row";
    if (launch.block.y != 1 || launch.block.z != 1 || launch.block.x == 0 ||
        launch.work_items.x != std::uint64_t{launch.grid.x} * launch.block.x)
      return "the launch has work-groups of more than one dimension, or a partial one";

    Tensor in = tensor("p_in", image, in_channel, v, g, arguments);
    Tensor wei = tensor("p_wei", out_channel, in_channel, v, g, arguments);
    Tensor out = tensor("p_out", image, out_channel, v, g, arguments);
    for (const Tensor *t : {&in, &wei, &out}) {
      if (t->address == 0)
        return std::string(t->name) + " is a null pointer";
      if (t->address % size_of(t->element) != 0)
        return std::string(t->name) + " is not aligned to its elements";
    }

    Contraction &c = contraction_;
    c.accumulator = v.accumulator;
    c.alpha = arguments.get<double>("alpha");
    c.beta = arguments.get<double>("beta");
    const Tensor *scalar = &in, *vector = &wei, *result = &out;
    switch (v.direction) {
    case Direction::forward:
      c.scalar = in.view({group, image, in_channel, depth, height, width});
      c.vector = wei.view({group, in_channel, depth, height, width, out_channel});
      c.result = out.view({group, image, depth, height, width, out_channel});
      c.links_inside = !v.channels_last;
      break;
    case Direction::backward_data:
      scalar = &out, result = &in;
      c.scalar = out.view({group, image, out_channel, depth, height, width});
      c.vector = wei.view({group, out_channel, depth, height, width, in_channel});
      c.result = in.view({group, image, depth, height, width, in_channel});
      c.links_inside = !v.channels_last;
      break;
    case Direction::backward_weights:
      vector = &out, result = &wei;
      c.scalar = in.view({group, in_channel, image, depth, height, width});
      c.vector = out.view({group, image, depth, height, width, out_channel});
      c.result = wei.view({group, in_channel, depth, height, width, out_channel});
      break;
    }
    for (const Axis &axis : c.result.axes)
      if (axis.count > 1 && axis.stride == 0)
        return std::string("elements of ") + result->name + " lie on top of each other";

    for (auto [of, view, writes] :
         {std::tuple(scalar, &c.scalar, false), std::tuple(vector, &c.vector, false),
          std::tuple(result, &c.result, true)}) {
      std::optional<std::size_t> bytes = extent(*view);
      if (!bytes) {
        accesses_.clear();
        return std::string(of->name) + " with its strides is larger than all of memory";
      }
      accesses_.push_back({of->address, *bytes, writes, of->name});
      if (writes && c.reads_result())
        accesses_.push_back({of->address, *bytes, false, of->name});
    }
    return {};
  }

  // A tensor, by the name of its pointer. outer is its outermost dimension besides the group.
  static Tensor tensor(const char *pointer, Dimension outer, Dimension channel, const Variant &v,
                       const Geometry &g, const Arguments &arguments) {
    const std::string name(pointer + 2); // after "p_"
    const bool filter = outer == out_channel;
    Tensor result;
    result.name = pointer;
    const bool written = v.direction == Direction::forward         ? name == "out"
                         : v.direction == Direction::backward_data ? name == "in"
                                                                   : filter;
    result.element = written ? v.destination : v.source;
    result.address = arguments.get<std::uint64_t>(pointer);
    auto count = [&result](Dimension dimension, std::int32_t length) {
      result.axes[dimension].count = static_cast<std::size_t>(length);
    };
    count(group, g.groups);
    count(outer, filter ? g.out_channels : g.images);
    count(channel, channel == out_channel ? g.out_channels : g.in_channels);
    const Geometry::Lengths &lengths = filter ? g.filter : name == "in" ? g.in : g.out;
    for (Dimension dimension : {depth, height, width})
      count(dimension, lengths[dimension - depth]);

    std::size_t dense = 1, index = 0;
    for (Dimension dimension : order(filter, channel, v.channels_last, v.spatial)) {
      Axis &axis = result.axes[dimension];
      axis.stride = v.packed ? dense : arguments.get<std::uint64_t>(name + "_strides", index++);
      dense *= axis.count;
    }
    return result;
  }

  std::string kernel_;
  Direction direction_;
  std::string problem_;
  std::optional<Geometry> geometry_;
  Contraction contraction_;
  std::vector<Access> accesses_;
};

} // namespace

std::unique_ptr<Execution> prepare_naive_convolution(const Launch &launch) {
  std::optional<Variant> variant = parse(launch.kernel->name);
  if (!variant)
    return nullptr;
  std::optional<Arguments> arguments = Arguments::match(launch, parameters(variant->spatial));
  if (!arguments)
    return nullptr;
  return std::make_unique<NaiveConvolution>(launch.kernel->name, *variant, *arguments, launch);
}

} // namespace simhip::kernels
