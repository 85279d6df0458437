// Runs graphs that are given on standard input:
//
//   case NAME
//   tensor UID TYPE DIMS STRIDES real|virtual HEX          (HEX: the contents, or -)
//   convolution forward|data|weights IMAGE FILTER OUTPUT PRE POST STRIDES DILATIONS MODE COMPUTE
//   pointwise MODE IN_0 IN_1|- OUT COMPUTE [LOWER UPPER SLOPE]       (a clip may be -)
//   workspace BYTES                                       (handed over; else what the plan asks
//   for) run ENGINE|-                                          (- is the first that heuristics
//   offer)
//
// TYPE, MODE and COMPUTE are numbers of the C API, lists have commas. Answers with
//
//   engines NAME...
//   tensor UID HEX        (every real tensor, after the execution)
//   status NUMBER FUNCTION TEXT

#include "scenarios.hpp"

#include "backend.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
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

std::string hex(const uint8_t *data, size_t n) {
  static const char digits[] = "0123456789abcdef";
  std::string out(2 * n, '0');
  for (size_t i = 0; i < n; i++) {
    out[2 * i] = digits[data[i] >> 4];
    out[2 * i + 1] = digits[data[i] & 15];
  }
  return out;
}

// Memory on a 64-byte boundary with a guard on both sides.
class Buffer {
public:
  explicit Buffer(const std::string &text) : size_(text == "-" ? 0 : text.size() / 2) {
    memory_ = static_cast<uint8_t *>(std::aligned_alloc(64, (size_ + 64 + 191) / 64 * 64));
    std::memset(memory_, kGuard, size_ + 128);
    for (size_t i = 0; i < size_; i++) {
      data()[i] = static_cast<uint8_t>(std::stoi(text.substr(2 * i, 2), nullptr, 16));
    }
  }
  ~Buffer() {
    std::free(memory_);
  }
  Buffer(const Buffer &) = delete;
  uint8_t *data() {
    return memory_ + 64;
  }
  size_t size() const {
    return size_;
  }
  bool intact() const {
    for (size_t i = 0; i < 64; i++) {
      if (memory_[i] != kGuard || memory_[64 + size_ + i] != kGuard) {
        return false;
      }
    }
    return true;
  }

private:
  static constexpr uint8_t kGuard = 0xa5;
  uint8_t *memory_;
  size_t size_;
};

struct TensorLine {
  int64_t uid;
  Object object;
  std::unique_ptr<Buffer> buffer; // null when virtual
};

struct Case {
  std::vector<TensorLine> tensors;
  std::vector<Object> operations;
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

void run(Case &c, hipdnnHandle_t handle, const std::string &engine) {
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
  Object plan = make_plan(*chosen);
  int64_t need = plan.number(HIPDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE);
  if (need != chosen->number(HIPDNN_ATTR_ENGINECFG_WORKSPACE_SIZE)) {
    throw std::runtime_error("the plan and its configuration want different workspaces");
  }
  if (c.workspace >= 0) {
    need = c.workspace;
  }
  Buffer workspace(std::string(static_cast<size_t>(2 * need), '0'));
  std::vector<int64_t> uids;
  std::vector<void *> pointers;
  for (TensorLine &t : c.tensors) {
    if (t.buffer != nullptr) {
      uids.push_back(t.uid);
      pointers.push_back(t.buffer->data());
    }
  }
  {
    Object pack = make_pack(uids, pointers, need > 0 ? workspace.data() : nullptr);
    CHECK(hipdnnBackendExecute, handle, plan.get(), pack.get());
  }
  if (!workspace.intact()) {
    throw std::runtime_error("written outside of the workspace");
  }
  for (TensorLine &t : c.tensors) {
    if (t.buffer == nullptr) {
      continue;
    }
    if (!t.buffer->intact()) {
      throw std::runtime_error("written outside of tensor " + std::to_string(t.uid));
    }
    std::printf("tensor %lld %s\n", static_cast<long long>(t.uid),
                hex(t.buffer->data(), t.buffer->size()).c_str());
  }
}

} // namespace

int run_graphs() {
  HandleObject handle;
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
          t.buffer = std::make_unique<Buffer>(content);
        }
        c->tensors.push_back(std::move(t));
      });
    } else if (word == "convolution") {
      guarded([&] { add_convolution(*c, line); });
    } else if (word == "pointwise") {
      guarded([&] { add_pointwise(*c, line); });
    } else if (word == "workspace") {
      line >> c->workspace;
    } else if (word == "run") {
      line >> word;
      guarded([&] {
        run(*c, handle.get(), word);
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
