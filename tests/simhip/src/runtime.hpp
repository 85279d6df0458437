// The state of the process: devices, handles, threads, and the one lock for all of it.
//
// Locks, outermost first. A thread that holds one takes only locks that are further down.
//   1. Runtime::mutex          streams, events, captures, modules, orders. All waiting is on its
//   condition variables.
//   2. Allocations' own        the table of allocations; executions ask it from their threads,
//   without 1.
//   3. the host guard's        protection of pinned pages; its handler of SIGSEGV takes it
//   without 1.
//   4. the report's            lines, counters.
// No function of the application, no execution of a kernel, no copy and no sleep happens with any
// of them held.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include <hip/hip_runtime_api.h>

#include "order.hpp"

namespace simhip {

struct Capture;
struct Event;
struct Graph;
struct Module;
struct Function;
struct Stream;

using Lock = std::unique_lock<std::mutex>;
using StreamRef = std::shared_ptr<Stream>;
using EventRef = std::shared_ptr<Event>;

// Handles of one kind. A handle is a number that is no address, and is never used again, so that
// one that was destroyed is known as such and one of another kind is none of these. Guarded by
// Runtime::mutex.
template <typename T, typename Handle> class Handles {
public:
  explicit Handles(std::uint64_t kind) : next_(kind << 56 | kind << 48 | 0x10) {}

  Handle add(std::shared_ptr<T> object) {
    std::uint64_t value = next_;
    next_ += 0x10;
    live_[value] = std::move(object);
    return reinterpret_cast<Handle>(value);
  }
  std::shared_ptr<T> find(Handle handle) const {
    auto at = live_.find(reinterpret_cast<std::uint64_t>(handle));
    return at == live_.end() ? nullptr : at->second;
  }
  std::shared_ptr<T> remove(Handle handle) {
    auto at = live_.find(reinterpret_cast<std::uint64_t>(handle));
    if (at == live_.end()) {
      return nullptr;
    }
    std::shared_ptr<T> object = std::move(at->second);
    live_.erase(at);
    return object;
  }
  const std::map<std::uint64_t, std::shared_ptr<T>> &all() const {
    return live_;
  }

private:
  std::map<std::uint64_t, std::shared_ptr<T>> live_;
  std::uint64_t next_;
};

struct Device {
  StreamRef null;                 // made with the runtime
  hipError_t failed = hipSuccess; // of a kernel; stays until hipDeviceReset
};

class Runtime {
public:
  std::mutex mutex;

  // All that follows is guarded by mutex.
  std::vector<Device> devices;
  Handles<Stream, hipStream_t> streams{0x53};
  Handles<Event, hipEvent_t> events{0x45};
  Handles<Module, hipModule_t> modules{0x4D};
  Handles<Function, hipFunction_t> functions{0x46};
  Handles<Graph, hipGraph_t> graphs{0x47};
  Handles<Graph, hipGraphExec_t> executables{0x58};
  std::vector<std::weak_ptr<Stream>>
      everyStream; // with null and per-thread ones, also destroyed ones with work left
  std::vector<std::shared_ptr<Capture>> captures; // that have not ended
  VectorClock host;                               // what the host has waited for
  History history;
  std::uint64_t streamNumbers = 0, captureNumbers = 0;

private:
  friend Runtime &runtime();
  Runtime();
};

// Made at the first call, and never destroyed.
Runtime &runtime();

// What belongs to a thread of the application.
struct Thread {
  hipError_t last = hipSuccess;     // for hipGetLastError
  hipError_t lastCall = hipSuccess; // for hipExtGetLastError
  int device = 0;
  hipStreamCaptureMode captureMode = hipStreamCaptureModeGlobal;
  std::map<int, StreamRef> perThread; // hipStreamPerThread, by device
  bool inHostFunction = false; // a stream's worker while it runs a function of the application

  ~Thread();
};
Thread &thread();

// Whether the process was forked off one that had made the runtime: then nothing in here can work,
// since streams' threads and the device's state are the parent's.
bool inForkedChild();

// Whether exit handlers have run; workers take no operation any more.
extern std::atomic<bool> exiting;

} // namespace simhip
