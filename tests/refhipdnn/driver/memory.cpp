#include "memory.hpp"

#include "backend.hpp"

#include <cstdlib>
#include <cstring>
#include <dlfcn.h>

namespace {

class HostBuffer : public Buffer {
public:
  explicit HostBuffer(size_t size)
      : memory_(static_cast<uint8_t *>(std::aligned_alloc(64, (size + 191) / 64 * 64))),
        size_(size) {
    std::memset(memory_, kGuard, size_ + 128);
  }
  ~HostBuffer() override {
    std::free(memory_);
  }
  HostBuffer(const HostBuffer &) = delete;
  void *data() override {
    return memory_ + 64;
  }
  void write(const Bytes &contents) override {
    std::copy(contents.begin(), contents.end(), memory_ + 64);
  }
  Bytes read() override {
    return Bytes(memory_ + 64, memory_ + 64 + size_);
  }
  bool intact() override {
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

class Host : public Place {
public:
  std::unique_ptr<Buffer> allocate(size_t bytes) override {
    return std::make_unique<HostBuffer>(bytes);
  }
  void use(hipdnnHandle_t) override {}
  void run(Way way, const std::function<void()> &enqueue, const std::function<void()> &,
           const std::function<bool()> &) override {
    if (way != Way::Directly) {
      throw std::runtime_error("only a device can capture");
    }
    enqueue();
  }
};

// The functions of HIP that are used, with the types of hip_runtime_api.h: handles are pointers and
// hipError_t is an int, 0 for success.
struct Hip {
  int (*hipMalloc)(void **, size_t);
  int (*hipFree)(void *);
  int (*hipMemcpy)(void *, const void *, size_t, int kind);
  int (*hipStreamCreate)(void **);
  int (*hipStreamDestroy)(void *);
  int (*hipStreamSynchronize)(void *);
  int (*hipStreamBeginCapture)(void *, int mode);
  int (*hipStreamEndCapture)(void *, void **graph);
  int (*hipGraphInstantiate)(void **executable, void *graph, void *node, char *log, size_t);
  int (*hipGraphLaunch)(void *executable, void *stream);
  int (*hipGraphExecDestroy)(void *);
  int (*hipGraphDestroy)(void *);

  Hip() {
    void *library = nullptr;
    // An unversioned name may be another file than the one that is loaded.
    for (const char *soname : {"libamdhip64.so.7", "libamdhip64.so.6"}) {
      if (library == nullptr) {
        library = dlopen(soname, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
      }
    }
    if (library == nullptr) {
      throw std::runtime_error("no HIP runtime is loaded: no plugin needs one");
    }
#define FIND(name)                                                                                 \
  name = reinterpret_cast<decltype(name)>(dlsym(library, #name));                                  \
  if (name == nullptr) {                                                                           \
    throw std::runtime_error("the HIP runtime has no " #name);                                     \
  }
    FIND(hipMalloc)
    FIND(hipFree)
    FIND(hipMemcpy)
    FIND(hipStreamCreate)
    FIND(hipStreamDestroy)
    FIND(hipStreamSynchronize)
    FIND(hipStreamBeginCapture)
    FIND(hipStreamEndCapture)
    FIND(hipGraphInstantiate)
    FIND(hipGraphLaunch)
    FIND(hipGraphExecDestroy)
    FIND(hipGraphDestroy)
#undef FIND
  }
};

void hip_check(int error, const char *call) {
  if (error != 0) {
    throw std::runtime_error(std::string(call) + " gave hipError_t " + std::to_string(error));
  }
}
#define HIP(function, ...) hip_check(hip_.function(__VA_ARGS__), #function)

class DeviceBuffer : public Buffer {
public:
  DeviceBuffer(const Hip &hip, size_t size) : hip_(hip), size_(size) {
    if (size > 0) {
      HIP(hipMalloc, &memory_, size);
    }
  }
  ~DeviceBuffer() override {
    if (memory_ != nullptr) {
      hip_.hipFree(memory_);
    }
  }
  DeviceBuffer(const DeviceBuffer &) = delete;
  void *data() override {
    return memory_;
  }
  void write(const Bytes &contents) override {
    constexpr int kHostToDevice = 1;
    HIP(hipMemcpy, memory_, contents.data(), contents.size(), kHostToDevice);
  }
  Bytes read() override {
    constexpr int kDeviceToHost = 2;
    Bytes out(size_);
    HIP(hipMemcpy, out.data(), memory_, size_, kDeviceToHost);
    return out;
  }
  bool intact() override {
    return true; // the device tells
  }

private:
  const Hip &hip_;
  void *memory_ = nullptr;
  size_t size_;
};

class Device : public Place {
public:
  Device() {
    HIP(hipStreamCreate, &stream_);
  }
  ~Device() override {
    hip_.hipStreamDestroy(stream_);
  }
  Device(const Device &) = delete;

  std::unique_ptr<Buffer> allocate(size_t bytes) override {
    return std::make_unique<DeviceBuffer>(hip_, bytes);
  }

  void use(hipdnnHandle_t handle) override {
    CHECK(hipdnnSetStream, handle, static_cast<hipdnnRefStream_t>(stream_));
  }

  void run(Way way, const std::function<void()> &enqueue, const std::function<void()> &reset,
           const std::function<bool()> &unchanged) override {
    if (way == Way::Directly) {
      enqueue();
      HIP(hipStreamSynchronize, stream_);
      return;
    }
    Graph graph(hip_);
    capture(way, enqueue, &graph.graph);
    if (!unchanged()) {
      throw std::runtime_error("something was executed while it was captured");
    }
    HIP(hipGraphInstantiate, &graph.executable, graph.graph, nullptr, nullptr, 0);
    for (int i = 0; i < 2; i++) {
      reset();
      HIP(hipGraphLaunch, graph.executable, stream_);
      HIP(hipStreamSynchronize, stream_);
    }
  }

private:
  struct Graph {
    explicit Graph(const Hip &hip) : hip(hip) {}
    ~Graph() {
      if (executable != nullptr) {
        hip.hipGraphExecDestroy(executable);
      }
      if (graph != nullptr) {
        hip.hipGraphDestroy(graph);
      }
    }
    Graph(const Graph &) = delete;
    const Hip &hip;
    void *graph = nullptr;
    void *executable = nullptr;
  };

  void capture(Way way, const std::function<void()> &enqueue, void **graph) {
    constexpr int kGlobal = 0; // the mode that forbids most
    HIP(hipStreamBeginCapture, stream_, kGlobal);
    try {
      enqueue();
      if (way == Way::CapturedWaiting) {
        HIP(hipStreamSynchronize, stream_);
      }
      if (way == Way::CapturedAllocating) {
        void *memory = nullptr;
        HIP(hipMalloc, &memory, 64);
        HIP(hipFree, memory);
      }
    } catch (...) {
      hip_.hipStreamEndCapture(stream_, graph); // or no further execution would be possible
      throw;
    }
    HIP(hipStreamEndCapture, stream_, graph);
  }

  Hip hip_;
  void *stream_ = nullptr;
};

} // namespace

Way way_of(const std::string &word) {
  const std::pair<const char *, Way> ways[] = {{"directly", Way::Directly},
                                               {"captured", Way::Captured},
                                               {"captured-waiting", Way::CapturedWaiting},
                                               {"captured-allocating", Way::CapturedAllocating}};
  for (const auto &[name, way] : ways) {
    if (word == name) {
      return way;
    }
  }
  throw std::runtime_error("no such way to run: " + word);
}

std::unique_ptr<Place> host_memory() {
  return std::make_unique<Host>();
}

std::unique_ptr<Place> device_memory() {
  return std::make_unique<Device>();
}
