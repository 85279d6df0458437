#include "scenarios.hpp"

#include "expect.hpp"
#include "world.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <mutex>
#include <thread>

std::atomic<int> failures;

namespace {

using Clock = std::chrono::steady_clock;

double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

std::string text_of(Object &o, hipdnnBackendAttributeName_t name) {
  int64_t size = 0;
  CHECK(hipdnnBackendGetAttribute, o.get(), name, HIPDNN_TYPE_CHAR, 0, &size, nullptr);
  std::string out(static_cast<size_t>(size), '\0');
  CHECK(hipdnnBackendGetAttribute, o.get(), name, HIPDNN_TYPE_CHAR, size, &size, out.data());
  out.resize(static_cast<size_t>(size) - 1);
  return out;
}

std::vector<int64_t> list_of(Object &o, hipdnnBackendAttributeName_t name) {
  int64_t n = 0;
  CHECK(hipdnnBackendGetAttribute, o.get(), name, HIPDNN_TYPE_INT64, 0, &n, nullptr);
  std::vector<int64_t> out(static_cast<size_t>(n));
  CHECK(hipdnnBackendGetAttribute, o.get(), name, HIPDNN_TYPE_INT64, n, &n, out.data());
  return out;
}

std::vector<uint8_t> graph_bytes(Object &graph) {
  size_t size = 0;
  CHECK(hipdnnBackendGetSerializedBinaryGraph_ext, graph.get(), 0, &size, nullptr);
  std::vector<uint8_t> out(size);
  CHECK(hipdnnBackendGetSerializedBinaryGraph_ext, graph.get(), size, &size, out.data());
  return out;
}

// What was set is what is read back, through every kind of descriptor.
void attributes(char **) {
  HandleObject handle;
  Problem p(handle.get(), 0, 3);
  EXPECT(p.tx.number(HIPDNN_ATTR_TENSOR_UNIQUE_ID) == 1, "uid");
  EXPECT(list_of(p.tx, HIPDNN_ATTR_TENSOR_STRIDES) == (std::vector<int64_t>{9, 9, 3, 1}),
         "strides");
  EXPECT(p.tx.number(HIPDNN_ATTR_TENSOR_BYTE_ALIGNMENT) == 16, "alignment");
  EXPECT(list_of(p.conv, HIPDNN_ATTR_CONVOLUTION_DILATIONS) == (std::vector<int64_t>{1, 1}),
         "dilations");
  // The tensor of an operation is a new object for the same tensor.
  Object again = p.conv.object(HIPDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W);
  EXPECT(again.get() != p.tw.get() && again.number(HIPDNN_ATTR_TENSOR_UNIQUE_ID) == 2, "w again");

  int32_t mode = -1;
  int64_t n = 0, wide = -1;
  if (backend->early) {
    CHECK(hipdnnBackendGetAttribute, p.conv.get(), HIPDNN_ATTR_CONVOLUTION_CONV_MODE,
          HIPDNN_TYPE_INT64, 1, &n, &wide);
    EXPECT(wide == 2, "early mode %lld", static_cast<long long>(wide));
  } else {
    CHECK(hipdnnBackendGetAttribute, p.conv.get(), HIPDNN_ATTR_CONVOLUTION_CONV_MODE,
          HIPDNN_TYPE_CONVOLUTION_MODE, 1, &n, &mode);
    EXPECT(mode == HIPDNN_CONVOLUTION_MODE_CROSS_CORRELATION, "mode %d", mode);
  }

  Object named(HIPDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  named.set(HIPDNN_ATTR_OPERATIONGRAPH_NAME_EXT, HIPDNN_TYPE_CHAR, 5, "hello");
  named.set(HIPDNN_ATTR_OPERATIONGRAPH_PREFERRED_ENGINE_ID_EXT, int64_t{-7});
  named.set(HIPDNN_ATTR_OPERATIONGRAPH_COMPUTE_DATA_TYPE_EXT, HIPDNN_DATA_FLOAT);
  EXPECT(text_of(named, HIPDNN_ATTR_OPERATIONGRAPH_NAME_EXT) == "hello", "name");
  EXPECT(named.number(HIPDNN_ATTR_OPERATIONGRAPH_PREFERRED_ENGINE_ID_EXT) == -7, "preferred");
  // An optional that is not set has no elements.
  CHECK(hipdnnBackendGetAttribute, p.graph.get(),
        HIPDNN_ATTR_OPERATIONGRAPH_PREFERRED_ENGINE_ID_EXT, HIPDNN_TYPE_INT64, 1, &n, &wide);
  EXPECT(n == 0, "%lld preferred engines", static_cast<long long>(n));

  Object engine = p.config.object(HIPDNN_ATTR_ENGINECFG_ENGINE);
  EXPECT(text_of(engine, HIPDNN_ATTR_ENGINE_NAME_EXT) == "REF_DIRECT", "engine's name");
  int64_t id = 0;
  CHECK(hipdnnGetEngineIdByName_ext, handle.get(), "REF_DIRECT", &id);
  EXPECT(engine.number(HIPDNN_ATTR_ENGINE_GLOBAL_INDEX) == id, "engine's id");
  Object knob = engine.object(HIPDNN_ATTR_ENGINE_KNOB_INFO);
  EXPECT(text_of(knob, HIPDNN_ATTR_KNOB_INFO_TYPE) == "ref.threads", "knob's name");
  EXPECT(knob.number(HIPDNN_ATTR_KNOB_INFO_MAXIMUM_VALUE) == 64, "knob's maximum");
  EXPECT(knob.number(HIPDNN_ATTR_KNOB_INFO_DEFAULT_VALUE_TYPE) == HIPDNN_TYPE_INT64, "knob's type");
  EXPECT(knob.number(HIPDNN_ATTR_KNOB_INFO_DEFAULT_VALUE) == 2, "knob's default");

  Object plan = make_plan(p.config);
  EXPECT(list_of(plan, HIPDNN_ATTR_EXECUTION_PLAN_TENSOR_UIDS_EXT) ==
             (std::vector<int64_t>{1, 2, 3}),
         "plan's uids");
  EXPECT(plan.number(HIPDNN_ATTR_EXECUTION_PLAN_ENGINE_GLOBAL_INDEX_EXT) == id, "plan's engine");
  Object config = plan.object(HIPDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
  EXPECT(engine_of(config) == id, "plan's configuration");
  EXPECT(p.run(handle.get(), plan), "y");

  // Descriptors may go as soon as something finalised holds on to what they say.
  Object kept = [&] {
    Problem q(handle.get());
    return make_plan(q.config);
  }();
  p.reset(2);
  EXPECT(p.run(handle.get(), kept), "y after the descriptors went");

  hipdnnRefStream_t stream = nullptr, token = reinterpret_cast<hipdnnRefStream_t>(&n);
  CHECK(hipdnnSetStream, handle.get(), token);
  CHECK(hipdnnGetStream, handle.get(), &stream);
  EXPECT(stream == token, "stream");
}

// Serialised graphs and plans, whole and damaged. With an argument, the plan is written there.
void serial(char **argv) {
  HandleObject handle;
  Problem p(handle.get(), 0, 5);
  Object plan = make_plan(p.config);
  std::vector<uint8_t> graph = graph_bytes(p.graph), compiled = plan_bytes(plan);
  if (argv[0] != nullptr) {
    std::ofstream(argv[0], std::ios::binary)
        .write(reinterpret_cast<const char *>(compiled.data()),
               static_cast<std::streamsize>(compiled.size()));
  }

  HandleObject other;
  Object restored = plan_from(other.get(), compiled);
  EXPECT(p.run(other.get(), restored), "y of a restored plan");
  EXPECT(plan_bytes(restored) == compiled, "a restored plan serialises to the same bytes");

  hipdnnBackendDescriptor_t d = nullptr;
  CHECK(hipdnnBackendCreateAndDeserializeGraph_ext, &d, graph.data(), graph.size());
  Object read(d);
  EXPECT(graph_bytes(read) == graph, "a restored graph serialises to the same bytes");
  hipdnnHandle_t h = other.get();
  read.set(HIPDNN_ATTR_OPERATIONGRAPH_HANDLE, HIPDNN_TYPE_HANDLE, 1, &h);
  read.finalize();
  std::vector<Object> configs = engine_configs(read);
  configs.at(0).finalize();
  Object replanned = make_plan(configs.at(0));
  p.reset(3);
  EXPECT(p.run(other.get(), replanned), "y of a restored graph");

  size_t size = 0;
  int flags = 0;
  CHECK(hipdnnBackendGetSerializedBinaryGraphAndPlan_ext, p.graph.get(), plan.get(), 0, &size,
        nullptr);
  std::vector<uint8_t> both(size);
  CHECK(hipdnnBackendGetSerializedBinaryGraphAndPlan_ext, p.graph.get(), plan.get(), size, &size,
        both.data());
  EXPECT(std::memcmp(both.data() + 4, "HDGP", 4) == 0, "the container's identifier");
  CHECK(hipdnnBackendGetSerializedBinaryContents_ext, both.data(), both.size(), &flags);
  EXPECT(flags == 3, "flags %d", flags);
  CHECK(hipdnnBackendGetSerializedBinaryContents_ext, graph.data(), graph.size(), &flags);
  EXPECT(flags == 1, "flags %d", flags);
  Object from_both = plan_from(other.get(), both);
  p.reset(4);
  EXPECT(p.run(other.get(), from_both), "y of a plan out of a container");

  // One bit of a plan at a time: always refused, for it carries a checksum.
  for (size_t i = 0; i < compiled.size() * 8; i++) {
    std::vector<uint8_t> damaged = compiled;
    damaged[i / 8] = static_cast<uint8_t>(damaged[i / 8] ^ (1u << (i % 8)));
    hipdnnStatus_t status = backend->hipdnnBackendCreateAndDeserializeExecutionPlan_ext(
        other.get(), &d, damaged.data(), damaged.size());
    EXPECT(status == HIPDNN_STATUS_BAD_PARAM, "bit %zu of a plan: %d", i, status);
  }
  for (size_t n = 0; n < compiled.size(); n++) {
    EXPECT(backend->hipdnnBackendCreateAndDeserializeExecutionPlan_ext(
               other.get(), &d, compiled.data(), n) != HIPDNN_STATUS_SUCCESS,
           "%zu bytes of a plan", n);
  }
  // A graph has none: bytes that still are a graph are accepted, others refused, and nothing else.
  size_t accepted = 0, refused = 0;
  for (size_t i = 0; i < graph.size() * 8; i++) {
    std::vector<uint8_t> damaged = graph;
    damaged[i / 8] = static_cast<uint8_t>(damaged[i / 8] ^ (1u << (i % 8)));
    hipdnnStatus_t status =
        backend->hipdnnBackendCreateAndDeserializeGraph_ext(&d, damaged.data(), damaged.size());
    if (status == HIPDNN_STATUS_SUCCESS) {
      accepted++;
      Object o(d);
    } else {
      refused++;
      EXPECT(status == HIPDNN_STATUS_BAD_PARAM || status == HIPDNN_STATUS_NOT_SUPPORTED,
             "bit %zu of a graph: %d", i, status);
    }
  }
  EXPECT(accepted > 100 && refused > 100, "%zu accepted, %zu refused", accepted, refused);
}

// Reads a plan that another process wrote and runs it.
void restore(char **argv) {
  std::ifstream in(argv[0], std::ios::binary);
  std::vector<uint8_t> bytes{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  HandleObject handle;
  Problem p(handle.get());
  Object plan = plan_from(handle.get(), bytes);
  EXPECT(p.run(handle.get(), plan), "y");
}

// The text belongs to the thread, stays until it is read, and peeking does not read it.
void errors(char **) {
  char text[64];
  auto peek = [&] {
    backend->hipdnnPeekLastErrorString_ext(text, sizeof(text));
    return std::string(text);
  };
  EXPECT(peek().empty(), "text before any error: %s", text);
  EXPECT(backend->hipdnnDestroy(nullptr) != HIPDNN_STATUS_SUCCESS, "destroyed null");
  std::string mine = peek();
  EXPECT(!mine.empty() && peek() == mine, "peek took \"%s\" away", mine.c_str());
  {
    HandleObject handle; // a success
  }
  EXPECT(peek() == mine, "a success changed the text to \"%s\"", text);
  std::thread([&] {
    EXPECT(last_error().empty(), "another thread sees it");
    backend->hipdnnBackendFinalize(nullptr);
    EXPECT(!last_error().empty(), "another thread has none of its own");
  }).join();
  EXPECT(peek() == mine, "another thread's error came in as \"%s\"", text);
  backend->hipdnnGetLastErrorString(text, 5);
  EXPECT(std::strlen(text) == 4 && mine.compare(0, 4, text) == 0, "cut to \"%s\"", text);
  EXPECT(peek().empty(), "reading did not clear: \"%s\"", text);
  EXPECT(std::string(backend->hipdnnGetErrorString(HIPDNN_STATUS_PLUGIN_ERROR)) ==
             "HIPDNN_STATUS_PLUGIN_ERROR",
         "name of 14");
}

struct Messages {
  std::mutex mutex;
  std::vector<std::pair<hipdnnSeverity_t, std::thread::id>> seen;
  static void take(void *self, hipdnnSeverity_t severity, const char *) {
    auto *m = static_cast<Messages *>(self);
    std::lock_guard<std::mutex> lock(m->mutex);
    m->seen.emplace_back(severity, std::this_thread::get_id());
  }
};

void log_callbacks(char **) {
  for (auto mode : {HIPDNN_LOG_CALLBACK_MODE_SYNC, HIPDNN_LOG_CALLBACK_MODE_ASYNC}) {
    Messages all, bad;
    CHECK(hipdnnSetUserLogCallback_ext, &Messages::take, HIPDNN_SEV_INFO, mode, &all);
    CHECK(hipdnnSetUserLogCallback_ext, &Messages::take, HIPDNN_SEV_ERROR, mode, &bad);
    { HandleObject handle; }
    backend->hipdnnDestroy(nullptr);
    CHECK(hipdnnSetUserLogCallback_ext, nullptr, HIPDNN_SEV_OFF, mode, &all);
    CHECK(hipdnnSetUserLogCallback_ext, nullptr, HIPDNN_SEV_OFF, mode, &bad);
    size_t before = all.seen.size();
    EXPECT(before >= 4, "%zu messages", before);
    EXPECT(bad.seen.size() == 1 && bad.seen[0].first == HIPDNN_SEV_ERROR, "%zu errors",
           bad.seen.size());
    for (auto &[severity, thread] : all.seen) {
      EXPECT((thread == std::this_thread::get_id()) == (mode == HIPDNN_LOG_CALLBACK_MODE_SYNC),
             "the other thread, severity %d", severity);
    }
    backend->hipdnnDestroy(nullptr);
    EXPECT(all.seen.size() == before, "a removed callback was called");
  }
  Messages none;
  CHECK(hipdnnSetUserLogCallback_ext, &Messages::take, HIPDNN_SEV_INFO,
        HIPDNN_LOG_CALLBACK_MODE_SYNC, &none);
  CHECK(hipdnnBackendSetGlobalLogLevel_ext, HIPDNN_SEV_OFF);
  hipdnnSeverity_t level;
  CHECK(hipdnnBackendGetGlobalLogLevel_ext, &level);
  EXPECT(level == HIPDNN_SEV_OFF, "level %d", level);
  size_t before = none.seen.size();
  backend->hipdnnDestroy(nullptr);
  EXPECT(none.seen.size() == before, "logged while off");
  CHECK(hipdnnSetUserLogCallback_ext, nullptr, HIPDNN_SEV_OFF, HIPDNN_LOG_CALLBACK_MODE_SYNC,
        &none);
}

// Sixteen threads on one handle: graphs and plans of their own, and one plan that all execute.
void threads(char **) {
  HandleObject handle;
  Problem shared(handle.get());
  Object plan = make_plan(shared.config);
  std::atomic<int> wrong{0}, runs{0};
  std::vector<std::thread> all;
  for (int t = 0; t < 16; t++) {
    all.emplace_back([&, t] {
      try {
        for (int round = 0; round < 20; round++) {
          Problem own(handle.get(), round % 2);
          Object own_plan = make_plan(own.config);
          own.reset(static_cast<float>(t + 1));
          wrong += !own.run(handle.get(), own_plan);
          own.reset(static_cast<float>(100 * t + round));
          wrong += !own.run(handle.get(), plan);
          runs += 2;
        }
      } catch (const std::exception &e) {
        wrong++;
        std::printf("thread %d: %s\n", t, e.what());
      }
    });
  }
  for (std::thread &t : all) {
    t.join();
  }
  EXPECT(wrong == 0, "%d wrong", wrong.load());
  EXPECT(runs == 640, "%d runs", runs.load());
}

// Plan building takes at least so many ms, and other threads' plans do not wait for it.
void plan_time(char **argv) {
  double want = std::atof(argv[0]);
  HandleObject handle;
  Problem p(handle.get());
  auto start = Clock::now();
  std::vector<std::thread> all;
  for (int i = 0; i < 8; i++) {
    all.emplace_back([&] {
      auto own = Clock::now();
      Object plan = make_plan(p.config);
      EXPECT(ms_since(own) >= want, "a plan in %.1f ms", ms_since(own));
    });
  }
  for (std::thread &t : all) {
    t.join();
  }
  EXPECT(ms_since(start) < 3 * want + 500, "eight plans in %.1f ms", ms_since(start));
}

void execution_time(char **argv) {
  double want = std::atof(argv[0]);
  HandleObject handle;
  Problem p(handle.get());
  Object plan = make_plan(p.config);
  auto start = Clock::now();
  EXPECT(p.run(handle.get(), plan), "y");
  EXPECT(ms_since(start) >= want, "an execution in %.3f ms", ms_since(start));
}

// The workspace is asked for, wanted, and written to from end to end.
void workspace(char **argv) {
  int64_t want = std::atoll(argv[0]);
  HandleObject handle;
  Problem p(handle.get());
  Object plan = make_plan(p.config);
  EXPECT(plan.number(HIPDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE) == want, "plan's workspace");
  EXPECT(p.config.number(HIPDNN_ATTR_ENGINECFG_WORKSPACE_SIZE) == want,
         "configuration's workspace");
  Object none = p.pack(nullptr);
  EXPECT(backend->hipdnnBackendExecute(handle.get(), plan.get(), none.get()) ==
             HIPDNN_STATUS_PLUGIN_ERROR,
         "executed without a workspace");
  std::vector<uint8_t> bytes(static_cast<size_t>(want) + 32, 0xa5);
  EXPECT(p.run(handle.get(), plan, bytes.data()), "y");
  size_t touched = 0;
  for (int64_t i = 0; i < want; i++) {
    touched += bytes[static_cast<size_t>(i)] != 0xa5;
  }
  EXPECT(touched > static_cast<size_t>(want) * 9 / 10, "%zu of %lld bytes written", touched,
         static_cast<long long>(want));
  for (int i = 0; i < 32; i++) {
    EXPECT(bytes[static_cast<size_t>(want) + static_cast<size_t>(i)] == 0xa5, "byte %d behind", i);
  }
}

// Misuse that the real library would not survive, and objects left behind, for the report.
void leaks(char **) {
  static HandleObject *handle = new HandleObject;
  auto *p = new Problem(handle->get());
  auto *plan = new Object(make_plan(p->config));
  EXPECT(p->run(handle->get(), *plan), "y");
  static HandleObject *early = new HandleObject;
  Problem q(early->get());
  Object orphan = make_plan(q.config);
  delete early; // before its plan
}

// HIP of which the tests need very little.
struct Hip {
  int (*stream_create)(hipdnnRefStream_t *);
  int (*stream_synchronize)(hipdnnRefStream_t);
  int (*stream_destroy)(hipdnnRefStream_t);
  int (*launch_host_func)(hipdnnRefStream_t, void (*)(void *), void *);
  int (*malloc)(void **, size_t);
  int (*free)(void *);
  int (*event_create)(void **);
  int (*event_record)(void *, hipdnnRefStream_t);
  int (*event_synchronize)(void *);
  int (*event_elapsed)(float *, void *, void *);
  int (*event_destroy)(void *);

  explicit Hip(const char *path) {
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      throw std::runtime_error(dlerror());
    }
    find(library, stream_create, "hipStreamCreate");
    find(library, stream_synchronize, "hipStreamSynchronize");
    find(library, stream_destroy, "hipStreamDestroy");
    find(library, launch_host_func, "hipLaunchHostFunc");
    find(library, malloc, "hipMalloc");
    find(library, free, "hipFree");
    find(library, event_create, "hipEventCreate");
    find(library, event_record, "hipEventRecord");
    find(library, event_synchronize, "hipEventSynchronize");
    find(library, event_elapsed, "hipEventElapsedTime");
    find(library, event_destroy, "hipEventDestroy");
  }
  template <class F> static void find(void *library, F &f, const char *name) {
    f = reinterpret_cast<F>(dlsym(library, name));
    if (f == nullptr) {
      throw std::runtime_error(std::string("HIP has no ") + name);
    }
  }
};

// With a HIP runtime in the process (its path is the argument) executions wait for the stream's
// earlier work, do not hold the caller up, and keep to their stream.
void stream(char **argv) {
  Hip hip(argv[0]);
  HandleObject handle;
  Problem p(handle.get());
  Object plan = make_plan(p.config);
  hipdnnRefStream_t first = nullptr, second = nullptr;
  EXPECT(hip.stream_create(&first) == 0 && hip.stream_create(&second) == 0, "streams");

  // Earlier work of the stream is not over, so the execution may not have begun.
  std::atomic<bool> gate{false};
  auto wait = [](void *data) {
    auto *open = static_cast<std::atomic<bool> *>(data);
    while (!*open) {
      std::this_thread::yield();
    }
  };
  CHECK(hipdnnSetStream, handle.get(), first);
  EXPECT(hip.launch_host_func(first, wait, &gate) == 0, "host function");
  {
    Object pack = p.pack();
    CHECK(hipdnnBackendExecute, handle.get(), plan.get(), pack.get());
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT(p.y[0] == -1, "executed before the stream's earlier work");

  // Another stream is free.
  Problem q(handle.get());
  Object other_plan = make_plan(q.config);
  CHECK(hipdnnSetStream, handle.get(), second);
  {
    Object pack = q.pack();
    CHECK(hipdnnBackendExecute, handle.get(), other_plan.get(), pack.get());
  }
  EXPECT(hip.stream_synchronize(second) == 0, "synchronise");
  EXPECT(q.right() && p.y[0] == -1, "the second stream's y, or the first's too early");

  // The plan may go while its work waits.
  plan = Object();
  gate = true;
  EXPECT(hip.stream_synchronize(first) == 0, "synchronise");
  EXPECT(p.right(), "y of the first stream");
  EXPECT(hip.stream_destroy(first) == 0 && hip.stream_destroy(second) == 0, "destroy");
}

// Events around an execution tell the duration that was set (in us, the second argument), within 5
// % and 5 us. A busy machine makes it longer now and then, so one of many tries has to do.
void device_time(char **argv) {
  Hip hip(argv[0]);
  double want = std::atof(argv[1]);
  HandleObject handle;
  Problem p(handle.get());
  Object plan = make_plan(p.config), pack = p.pack();
  hipdnnRefStream_t stream = nullptr;
  void *before = nullptr, *after = nullptr;
  EXPECT(hip.stream_create(&stream) == 0, "stream");
  EXPECT(hip.event_create(&before) == 0 && hip.event_create(&after) == 0, "events");
  CHECK(hipdnnSetStream, handle.get(), stream);
  double best = 1e9, shortest = 1e9;
  for (int i = 0; i < 50; i++) {
    float ms = 0;
    EXPECT(hip.event_record(before, stream) == 0, "record");
    CHECK(hipdnnBackendExecute, handle.get(), plan.get(), pack.get());
    EXPECT(hip.event_record(after, stream) == 0, "record");
    EXPECT(hip.event_synchronize(after) == 0, "synchronise");
    EXPECT(hip.event_elapsed(&ms, before, after) == 0, "elapsed");
    best = std::min(best, std::abs(1000 * static_cast<double>(ms) - want));
    shortest = std::min(shortest, 1000 * static_cast<double>(ms));
  }
  std::printf("nearest %.2f us off, shortest %.2f us\n", best, shortest);
  EXPECT(best <= 0.05 * want + 5, "%.2f us off", best);
  EXPECT(shortest >= want - 1, "only %.2f us", shortest);
  EXPECT(hip.event_destroy(before) == 0 && hip.event_destroy(after) == 0, "events");
  EXPECT(hip.stream_destroy(stream) == 0, "stream");
}

// Engines of a plugin: arguments are the directory and the engine names that have to be there.
void plugins(char **argv) {
  const char *path = argv[0];
  CHECK(hipdnnSetEnginePluginPaths_ext, 1, &path, HIPDNN_PLUGIN_LOADING_ABSOLUTE);
  HandleObject handle;
  size_t count = 0, files = 0, longest = 0;
  CHECK(hipdnnGetEngineCount_ext, handle.get(), &count);
  CHECK(hipdnnGetLoadedEnginePluginPaths_ext, handle.get(), &files, nullptr, &longest);
  std::printf("files %zu engines %zu\n", files, count);
  std::vector<std::string> names;
  for (size_t i = 0; i < count; i++) {
    int64_t id = 0;
    char name[256], plugin[256], version[256], type[256];
    size_t a = sizeof(name), b = sizeof(plugin), c = sizeof(version), d = sizeof(type);
    CHECK(hipdnnGetEngineInfo_ext, handle.get(), i, &id, name, &a, plugin, &b, version, &c, type,
          &d);
    std::printf("engine %s\n", name);
    names.push_back(name);
  }
  EXPECT(std::is_sorted(names.begin(), names.end()), "engines are not sorted by name");
  for (argv++; *argv != nullptr; argv++) {
    int64_t id = 0;
    CHECK(hipdnnGetEngineIdByName_ext, handle.get(), *argv, &id);
    // The plugin's engine comes before the built-in ones.
    Problem p(handle.get());
    EXPECT(engine_of(p.config) == id, "%s is not first", *argv);
    Object plan = make_plan(p.config);
    int64_t need = plan.number(HIPDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE);
    std::vector<uint8_t> bytes(static_cast<size_t>(need) + 1);
    EXPECT(p.run(handle.get(), plan, bytes.data()), "y of %s", *argv);
    Object restored = plan_from(handle.get(), plan_bytes(plan));
    p.reset(2);
    EXPECT(p.run(handle.get(), restored, bytes.data()), "y of %s, restored", *argv);
  }
}

// Buffers that are aligned to less than usual, where the tensors say so. The argument is the
// directory of a plugin that is too old for such graphs.
void alignment(char **argv) {
  CHECK(hipdnnSetEnginePluginPaths_ext, 1, argv, HIPDNN_PLUGIN_LOADING_ABSOLUTE);
  HandleObject handle;
  for (int64_t bytes : {4, 16}) {
    Object tensors[3];
    for (int64_t i = 0; i < 3; i++) {
      tensors[i] = make_tensor(i, HIPDNN_DATA_FLOAT, {1, 1, 1}, {1, 1, 1}, false, false);
      tensors[i].set(HIPDNN_ATTR_TENSOR_BYTE_ALIGNMENT, bytes);
      tensors[i].finalize();
    }
    Object op(HIPDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR);
    op.set(HIPDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, tensors[0]);
    op.set(HIPDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, tensors[1]);
    op.set(HIPDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, tensors[2]);
    set_convolution(op, {{0}, {0}, {1}, {1}, 1, HIPDNN_DATA_FLOAT});
    op.finalize();
    Object graph = make_graph(handle.get(), {&op});
    std::vector<Object> configs = engine_configs(graph);
    EXPECT(configs.size() == (bytes == 16 ? 3 : 2), "%zu engines for %lld bytes", configs.size(),
           static_cast<long long>(bytes));
    Object &config = configs.back();
    config.finalize();
    Object plan = make_plan(config);
    alignas(16) float memory[4] = {0, 3, 5, 0};
    Object pack = make_pack({0, 1, 2}, {memory + 1, memory + 2, memory + 3}, nullptr);
    hipdnnStatus_t status = backend->hipdnnBackendExecute(handle.get(), plan.get(), pack.get());
    EXPECT(status == (bytes == 16 ? HIPDNN_STATUS_BAD_PARAM : HIPDNN_STATUS_SUCCESS),
           "status %d for %lld bytes", status, static_cast<long long>(bytes));
    EXPECT(memory[3] == (bytes == 16 ? 0 : 15), "y is %g", memory[3]);
  }
}

// The version decides about numbers.
void version(char **argv) {
  const char *text = nullptr;
  CHECK(hipdnnGetVersion_ext, &text);
  EXPECT(std::string(text) == argv[0] && std::string(backend->hipdnnVersionString_ext()) == argv[0],
         "version %s", text);
  // 19 is backward data late and nothing early, 18 pointwise late and backward data early.
  hipdnnBackendDescriptor_t d = nullptr;
  hipdnnStatus_t status = backend->hipdnnBackendCreateDescriptor(
      HIPDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR, &d);
  EXPECT(status == (backend->early ? HIPDNN_STATUS_NOT_SUPPORTED : HIPDNN_STATUS_SUCCESS), "19: %d",
         status);
  if (status == HIPDNN_STATUS_SUCCESS) {
    Object o(d);
  }
  Object eighteen(18);
  Problem unused(HandleObject().get());
  Object t = make_tensor(1, HIPDNN_DATA_FLOAT, {1}, {1}, false);
  hipdnnBackendDescriptor_t tensor = t.get();
  status = backend->hipdnnBackendSetAttribute(eighteen.get(),
                                              HIPDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
                                              HIPDNN_TYPE_BACKEND_DESCRIPTOR, 1, &tensor);
  EXPECT(status == (backend->early ? HIPDNN_STATUS_SUCCESS : HIPDNN_STATUS_NOT_SUPPORTED),
         "18 takes DX: %d", status);
}

} // namespace

int run_scenario(const char *name, char **argv) {
  static const std::map<std::string, std::function<void(char **)>> all = {
      {"attributes", attributes}, {"serial", serial},
      {"restore", restore},       {"errors", errors},
      {"log", log_callbacks},     {"threads", threads},
      {"plan-time", plan_time},   {"execution-time", execution_time},
      {"workspace", workspace},   {"leaks", leaks},
      {"stream", stream},         {"device-time", device_time},
      {"plugins", plugins},       {"alignment", alignment},
      {"version", version},
  };
  auto found = all.find(name);
  if (found == all.end()) {
    std::fprintf(stderr, "refdriver: no scenario %s\n", name);
    return 2;
  }
  try {
    found->second(argv);
  } catch (const CallFailed &e) {
    std::printf("status %d %s %s\n", e.status, e.function, e.what());
    return 1;
  }
  std::printf("%s\n", failures == 0 ? "ok" : "failed");
  return failures == 0 ? 0 : 1;
}
