// The built-in engines. They get what a plugin gets, serialised graphs and configurations.

#include "config.hpp"
#include "cpu/program.hpp"
#include "engines.hpp"
#include "errors.hpp"
#include "hip.hpp"
#include "report.hpp"

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <thread>

namespace refhipdnn {
namespace {

const char *const kDirect = "REF_DIRECT";
const char *const kDeterministic = "REF_DETERMINISTIC";
const char *const kThreads = "ref.threads";
constexpr int64_t kMostThreads = 64;

[[noreturn]] void refuse(const std::string &text) {
  fail(HIPDNN_STATUS_PLUGIN_ERROR, "built-in engine: " + text);
}

Graph read_graph(const Bytes &bytes) {
  try {
    return wire::decode_graph(bytes.data(), bytes.size());
  } catch (const flatbuffer::Malformed &e) {
    refuse(std::string("the graph cannot be read: ") + e.what());
  }
}

EngineConfig read_config(const Bytes &bytes) {
  try {
    return wire::decode_engine_config(bytes.data(), bytes.size());
  } catch (const flatbuffer::Malformed &e) {
    refuse(std::string("the configuration cannot be read: ") + e.what());
  }
}

const std::map<int64_t, std::string> &names() {
  static const auto *all = new std::map<int64_t, std::string>{
      {engine_id(kDirect), kDirect}, {engine_id(kDeterministic), kDeterministic}};
  return *all;
}

int64_t threads_of(const EngineConfig &config) {
  int64_t threads = 2;
  for (const auto &[name, value] : config.knobs) {
    const auto *n = std::get_if<int64_t>(&value);
    if (name != kThreads || config.engine != engine_id(kDirect)) {
      refuse("no knob " + name);
    }
    if (n == nullptr || *n < 1 || *n > kMostThreads) {
      refuse("knob " + name + " wants an integer from 1 to " + std::to_string(kMostThreads));
    }
    threads = *n;
  }
  return threads;
}

// Keeps the stream busy until the set time is over, the last bit spinning, for sleeps end late.
void occupy(std::chrono::steady_clock::time_point start) {
  auto end = start + std::chrono::microseconds(config().duration_us);
  auto sleep_until = end - std::chrono::microseconds(100);
  if (std::chrono::steady_clock::now() < sleep_until) {
    std::this_thread::sleep_until(sleep_until);
  }
  while (std::chrono::steady_clock::now() < end) {
  }
}

uint8_t scratch(size_t i) {
  return static_cast<uint8_t>(i * 167 + (i >> 8) + 13);
}

struct Plan {
  Graph graph;
  int64_t engine;
  int64_t threads;
  size_t workspace;

  std::string run(void *workspace_at, const std::map<int64_t, void *> &pointers) const {
    auto start = std::chrono::steady_clock::now();
    auto *bytes = static_cast<uint8_t *>(workspace_at);
    for (size_t i = 0; i < workspace; i++) {
      bytes[i] = scratch(i);
    }
    if (!config().idle) {
      cpu::run(graph,
               engine == engine_id(kDirect) ? cpu::Method::Direct : cpu::Method::Deterministic,
               pointers, static_cast<int>(threads));
    }
    occupy(start);
    for (size_t i = 0; i < workspace; i++) {
      if (bytes[i] != scratch(i)) {
        return "byte " + std::to_string(i) + " of the workspace changed during the execution";
      }
    }
    return "";
  }
};

ObjectKind &contexts() {
  static auto *kind = new ObjectKind("execution context");
  return *kind;
}

class CpuEngineHandle;

class CpuContext : public ExecutionContext {
public:
  CpuContext(std::shared_ptr<CpuEngineHandle> opened, Plan plan)
      : opened_(std::move(opened)), plan_(std::make_shared<Plan>(std::move(plan))) {
    contexts().created();
  }
  ~CpuContext() override {
    contexts().destroyed();
  }
  size_t workspace() const override {
    return plan_->workspace;
  }
  void execute(void *workspace, const std::vector<DeviceBuffer> &buffers) const override;
  Bytes serialize() const override {
    EngineConfig config{plan_->engine, {}};
    if (plan_->engine == engine_id(kDirect)) {
      config.knobs.emplace_back(kThreads, plan_->threads);
    }
    return wire::encode(wire::Container{wire::encode(plan_->graph), wire::encode(config)});
  }

private:
  std::shared_ptr<CpuEngineHandle> opened_;
  std::shared_ptr<const Plan> plan_; // work in a stream outlives the context
};

class CpuEngineHandle : public EngineHandle, public std::enable_shared_from_this<CpuEngineHandle> {
public:
  void set_stream(hipdnnRefStream_t stream) override {
    stream_ = stream;
  }
  hipdnnRefStream_t stream() const {
    return stream_;
  }

  std::vector<int64_t> applicable(const Bytes &bytes) override {
    std::string why;
    if (!cpu::supported(read_graph(bytes), why)) {
      return {};
    }
    return {engine_id(kDirect), engine_id(kDeterministic)};
  }

  EngineDetails details(int64_t engine, const Bytes &) override {
    EngineDetails d;
    d.engine = engine;
    d.name = names().at(engine);
    if (engine == engine_id(kDirect)) {
      Knob k;
      k.name = kThreads;
      k.description = "threads that compute";
      k.initial = int64_t{2};
      k.least = 1;
      k.most = kMostThreads;
      d.knobs.push_back(k);
    }
    return d;
  }

  size_t workspace(const Bytes &config, const Bytes &graph) override {
    return plan(read_config(config), graph).workspace;
  }

  std::shared_ptr<ExecutionContext> prepare(const Bytes &config, const Bytes &graph) override {
    return std::make_shared<CpuContext>(shared_from_this(), plan(read_config(config), graph));
  }

  std::shared_ptr<ExecutionContext> restore(int64_t engine, const Bytes &serialized) override {
    wire::Container parts;
    try {
      parts = wire::decode_container(serialized.data(), serialized.size());
    } catch (const flatbuffer::Malformed &e) {
      refuse(std::string("the plan cannot be read: ") + e.what());
    }
    EngineConfig config = read_config(parts.plan);
    if (config.engine != engine) {
      refuse("the plan is another engine's");
    }
    return std::make_shared<CpuContext>(shared_from_this(), plan(config, parts.graph));
  }

private:
  Plan plan(const EngineConfig &config, const Bytes &graph) const {
    Plan p;
    p.graph = read_graph(graph);
    p.engine = config.engine;
    p.threads = threads_of(config);
    p.workspace = static_cast<size_t>(refhipdnn::config().workspace);
    std::string why;
    if (names().count(p.engine) == 0 || !cpu::supported(p.graph, why)) {
      refuse("the graph is not applicable: " + why);
    }
    return p;
  }

  std::atomic<hipdnnRefStream_t> stream_{nullptr};
};

void CpuContext::execute(void *workspace, const std::vector<DeviceBuffer> &buffers) const {
  if (plan_->workspace > 0 && workspace == nullptr) {
    refuse("the plan wants " + std::to_string(plan_->workspace) + " bytes of workspace, got none");
  }
  std::map<int64_t, void *> pointers;
  for (const DeviceBuffer &b : buffers) {
    const Tensor *t = plan_->graph.find(b.uid);
    if (t == nullptr || t->is_virtual || !t->value.empty()) {
      refuse("no buffer is wanted for uid " + std::to_string(b.uid));
    }
    if (!pointers.emplace(b.uid, b.ptr).second) {
      refuse("two buffers for uid " + std::to_string(b.uid));
    }
  }
  for (const Tensor &t : plan_->graph.tensors) {
    auto found = pointers.find(t.uid);
    if (!t.is_virtual && t.value.empty() && (found == pointers.end() || found->second == nullptr)) {
      refuse("no buffer for uid " + std::to_string(t.uid));
    }
  }
  hip::enqueue(opened_->stream(), [plan = plan_, workspace, pointers = std::move(pointers)] {
    report_execution(names().at(plan->engine), plan->run(workspace, pointers));
  });
}

class CpuProvider : public Provider {
public:
  std::string name() const override {
    return "refhipdnn CPU engines";
  }
  std::string version() const override {
    return "1.0.0";
  }
  std::string path() const override {
    return "";
  }
  ApiVersion api() const override {
    return {1, 4, 0};
  }
  const std::map<int64_t, std::string> &engines() const override {
    return names();
  }
  std::shared_ptr<EngineHandle> open() override {
    return std::make_shared<CpuEngineHandle>();
  }
};

} // namespace

std::shared_ptr<Provider> cpu_provider() {
  static auto *provider = new std::shared_ptr<Provider>(std::make_shared<CpuProvider>());
  return *provider;
}

} // namespace refhipdnn
