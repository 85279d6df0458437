// Runs graphs that are given on standard input:
//
//   case NAME
//   tensor UID TYPE DIMS STRIDES real|virtual HEX          (HEX: the contents, or -)
//   convolution forward|data|weights IMAGE FILTER OUTPUT PRE POST STRIDES DILATIONS MODE COMPUTE
//   pointwise MODE IN_0 IN_1|- OUT COMPUTE [LOWER UPPER SLOPE]       (a clip may be -)
//   workspace BYTES              (handed over; else what the plan asks for)
//   knob NAME NUMBER             (of the engine's configuration)
//   run ENGINE|- [WAY]           (- is the first that heuristics offer; WAY as in memory.hpp)
//   restore HEX [WAY]            (a serialised plan in place of operations and run)
//
// TYPE, MODE and COMPUTE are numbers of the C API, lists have commas. Answers with
//
//   engines NAME...       (of run)
//   plan HEX              (serialised)            plan and workspace if the way is given
//   workspace BYTES       (that the plan needs)
//   tensor UID HEX        (every real tensor, after the execution)
//   status NUMBER FUNCTION TEXT

#include "scenarios.hpp"

#include "backend.hpp"
#include "memory.hpp"

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <sstream>

namespace {

std::vector<int64_t> numbers(const std::string &text) {
  std::vector<int64_t> out;
  std::stringstream in(text);
  for (std::string item; std::getline(in, item, ',');) {
    out.push_back(std::strtoll(item.c_str(), nullptr, 10));
  }
  return out;
}

std::string hex(const Bytes &data) {
  static const char digits[] = "0123456789abcdef";
  std::string out(2 * data.size(), '0');
  for (size_t i = 0; i < data.size(); i++) {
    out[2 * i] = digits[data[i] >> 4];
    out[2 * i + 1] = digits[data[i] & 15];
  }
  return out;
}

Bytes unhex(const std::string &text) {
  Bytes out;
  for (size_t i = 0; text != "-" && i + 1 < text.size(); i += 2) {
    out.push_back(static_cast<uint8_t>(std::stoi(text.substr(i, 2), nullptr, 16)));
  }
  return out;
}

struct TensorLine {
  int64_t uid;
  Object object;
  Bytes contents;                 // before the execution
  std::unique_ptr<Buffer> buffer; // null when virtual
};

struct Case {
  std::vector<TensorLine> tensors;
  std::vector<Object> operations;
  std::vector<std::pair<std::string, int64_t>> knobs;
  int64_t workspace = -1;

  const Object &tensor(const std::string &uid) {
    for (TensorLine &t : tensors) {
      if (t.uid == std::stoll(uid)) {
        return t.object;
      }
    }
    throw std::runtime_error("no tensor " + uid);
  }
};

void add_convolution(Case &c, std::istream &line) {
  std::string kind, image, filter, output, pre, post, strides, dilations;
  int mode, compute;
  line >> kind >> image >> filter >> output >> pre >> post >> strides >> dilations >> mode >>
      compute;
  int type = HIPDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR;
  auto i = HIPDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
       f = HIPDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
       o = HIPDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y;
  if (kind == "data") {
    type = descriptor_type(HIPDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR);
    i = HIPDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX;
    f = HIPDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W;
    o = HIPDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY;
  } else if (kind == "weights") {
    type = HIPDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR;
    i = HIPDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X;
    f = HIPDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW;
    o = HIPDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY;
  }
  Object op(type);
  op.set(i, c.tensor(image));
  op.set(f, c.tensor(filter));
  op.set(o, c.tensor(output));
  set_convolution(op, {numbers(pre), numbers(post), numbers(strides), numbers(dilations), mode,
                       static_cast<hipdnnDataType_t>(compute)});
  op.finalize();
  c.operations.push_back(std::move(op));
}

void add_pointwise(Case &c, std::istream &line) {
  std::string in_0, in_1, out;
  int mode, compute;
  line >> mode >> in_0 >> in_1 >> out >> compute;
  Object op(HIPDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
  op.set(HIPDNN_ATTR_POINTWISE_MODE, HIPDNN_TYPE_POINTWISE_MODE, 1, &mode);
  op.set(HIPDNN_ATTR_POINTWISE_MATH_PREC, static_cast<hipdnnDataType_t>(compute));
  op.set(HIPDNN_ATTR_OPERATION_POINTWISE_IN_0_EXT, c.tensor(in_0));
  if (in_1 != "-") {
    op.set(HIPDNN_ATTR_OPERATION_POINTWISE_IN_1_EXT, c.tensor(in_1));
  }
  op.set(HIPDNN_ATTR_OPERATION_POINTWISE_OUT_0_EXT, c.tensor(out));
  const hipdnnBackendAttributeName_t clips[] = {HIPDNN_ATTR_POINTWISE_RELU_LOWER_CLIP,
                                                HIPDNN_ATTR_POINTWISE_RELU_UPPER_CLIP,
                                                HIPDNN_ATTR_POINTWISE_RELU_LOWER_CLIP_SLOPE};
  std::string clip;
  for (int i = 0; i < 3 && line >> clip; i++) {
    if (clip != "-") {
      op.set(clips[i], std::stof(clip));
    }
  }
  op.finalize();
  c.operations.push_back(std::move(op));
}

// The configuration of an engine for the case's graph; prints all that there are.
Object configuration(Case &c, hipdnnHandle_t handle, const std::string &engine) {
  std::vector<const Object *> operations;
  for (const Object &o : c.operations) {
    operations.push_back(&o);
  }
  Object graph = make_graph(handle, operations);
  std::vector<Object> configs = engine_configs(graph);
  std::string names;
  Object *chosen = nullptr;
  for (Object &config : configs) {
    // Only finalised descriptors can be asked for their engine.
    config.finalize();
    std::string name = engine_name(handle, engine_of(config));
    names += " " + name;
    if (chosen == nullptr && (engine == "-" || engine == name)) {
      chosen = &config;
    }
  }
  std::printf("engines%s\n", names.c_str());
  if (chosen == nullptr) {
    throw std::runtime_error("no engine");
  }
  if (c.knobs.empty()) {
    return std::move(*chosen);
  }
  Object engine_object = chosen->object(HIPDNN_ATTR_ENGINECFG_ENGINE);
  Object config(HIPDNN_BACKEND_ENGINECFG_DESCRIPTOR);
  config.set(HIPDNN_ATTR_ENGINECFG_ENGINE, engine_object);
  std::vector<Object> choices;
  std::vector<hipdnnBackendDescriptor_t> objects;
  for (const auto &[knob, value] : c.knobs) {
    Object choice(HIPDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR);
    choice.set(HIPDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, HIPDNN_TYPE_CHAR,
               static_cast<int64_t>(knob.size()), knob.data());
    choice.set(HIPDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, value);
    choice.finalize();
    objects.push_back(choice.get());
    choices.push_back(std::move(choice));
  }
  config.set(HIPDNN_ATTR_ENGINECFG_KNOB_CHOICES, HIPDNN_TYPE_BACKEND_DESCRIPTOR,
             static_cast<int64_t>(objects.size()), objects.data());
  config.finalize();
  return config;
}

Object build(Case &c, hipdnnHandle_t handle, const std::string &engine) {
  Object config = configuration(c, handle, engine);
  Object plan = make_plan(config);
  // An engine may need less than it told before it built the plan.
  if (plan.number(HIPDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE) >
      config.number(HIPDNN_ATTR_ENGINECFG_WORKSPACE_SIZE)) {
    throw std::runtime_error("the plan needs more workspace than its configuration told");
  }
  return plan;
}

void execute(Case &c, hipdnnHandle_t handle, Object &plan, Place &place, Way way) {
  int64_t need = plan.number(HIPDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE);
  if (c.workspace >= 0) {
    need = c.workspace;
  }
  std::unique_ptr<Buffer> workspace = place.allocate(static_cast<size_t>(need));
  std::vector<int64_t> uids;
  std::vector<void *> pointers;
  for (TensorLine &t : c.tensors) {
    if (t.buffer != nullptr) {
      uids.push_back(t.uid);
      pointers.push_back(t.buffer->data());
    }
  }
  auto reset = [&] {
    for (TensorLine &t : c.tensors) {
      if (t.buffer != nullptr) {
        t.buffer->write(t.contents);
      }
    }
  };
  auto unchanged = [&] {
    for (TensorLine &t : c.tensors) {
      if (t.buffer != nullptr && t.buffer->read() != t.contents) {
        return false;
      }
    }
    return true;
  };
  {
    Object pack = make_pack(uids, pointers, need > 0 ? workspace->data() : nullptr);
    place.run(
        way, [&] { CHECK(hipdnnBackendExecute, handle, plan.get(), pack.get()); }, reset,
        unchanged);
  }
  if (!workspace->intact()) {
    throw std::runtime_error("written outside of the workspace");
  }
  for (TensorLine &t : c.tensors) {
    if (t.buffer == nullptr) {
      continue;
    }
    if (!t.buffer->intact()) {
      throw std::runtime_error("written outside of tensor " + std::to_string(t.uid));
    }
    std::printf("tensor %lld %s\n", static_cast<long long>(t.uid), hex(t.buffer->read()).c_str());
  }
}

} // namespace

int run_graphs(bool device) {
  std::unique_ptr<Place> place; // outlives the handle, which has its stream
  HandleObject handle;          // its engines load the HIP runtime
  place = device ? device_memory() : host_memory();
  place->use(handle.get());
  std::unique_ptr<Case> c;
  bool failed = false;
  auto guarded = [&](auto work) {
    if (failed) {
      return;
    }
    try {
      work();
    } catch (const CallFailed &e) {
      failed = true;
      std::printf("status %d %s %s\n", e.status, e.function, e.what());
    } catch (const std::exception &e) {
      failed = true;
      std::printf("status -1 - %s\n", e.what());
    }
  };
  for (std::string text; std::getline(std::cin, text);) {
    std::istringstream line(text);
    std::string word;
    line >> word;
    if (word == "case") {
      c = std::make_unique<Case>();
      failed = false;
      line >> word;
      std::printf("case %s\n", word.c_str());
    } else if (c == nullptr) {
      std::fprintf(stderr, "%s: outside of a case\n", word.c_str());
      return 2;
    } else if (word == "tensor") {
      guarded([&] {
        TensorLine t;
        int type;
        std::string dims, strides, kind, content;
        line >> t.uid >> type >> dims >> strides >> kind >> content;
        bool is_virtual = kind == "virtual";
        t.object = make_tensor(t.uid, static_cast<hipdnnDataType_t>(type), numbers(dims),
                               numbers(strides), is_virtual);
        if (!is_virtual) {
          t.contents = unhex(content);
          t.buffer = place->allocate(t.contents.size());
          t.buffer->write(t.contents);
        }
        c->tensors.push_back(std::move(t));
      });
    } else if (word == "convolution") {
      guarded([&] { add_convolution(*c, line); });
    } else if (word == "pointwise") {
      guarded([&] { add_pointwise(*c, line); });
    } else if (word == "knob") {
      std::pair<std::string, int64_t> knob;
      line >> knob.first >> knob.second;
      c->knobs.push_back(std::move(knob));
    } else if (word == "workspace") {
      line >> c->workspace;
    } else if (word == "run" || word == "restore") {
      std::string what, way;
      line >> what >> way;
      guarded([&] {
        Object plan =
            word == "run" ? build(*c, handle.get(), what) : plan_from(handle.get(), unhex(what));
        if (!way.empty()) {
          std::printf("plan %s\n", hex(plan_bytes(plan)).c_str());
          std::printf("workspace %lld\n", static_cast<long long>(plan.number(
                                              HIPDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE)));
        }
        execute(*c, handle.get(), plan, *place, way_of(way.empty() ? "directly" : way));
        std::printf("status 0 - -\n");
      });
      c.reset();
    } else {
      std::fprintf(stderr, "%s: no such line\n", word.c_str());
      return 2;
    }
  }
  return 0;
}
