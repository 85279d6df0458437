// Streams and what is enqueued in them.
//
// A stream's worker, a thread that is made for the first operation, runs the operations in order.
// The device's clock is CLOCK_MONOTONIC, but times are those of a device that loses none between
// operations: an operation begins when it was enqueued, or when what it waits for ended, whichever
// is later, and not when a thread of this machine got round to it. It takes as long as its
// execution took, or as SIMHIP_DURATION says; then the worker sleeps until that is over.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "order.hpp"
#include "runtime.hpp"

namespace simhip {

using Nanoseconds = std::chrono::nanoseconds;

Nanoseconds now();

// The end of an operation: number sequence of the stream.
struct Point {
  StreamRef stream;
  std::uint64_t sequence = 0;
  std::shared_ptr<const VectorClock> order; // what is over when it is, itself included
};

// One recording of an event. Guarded by Runtime::mutex, except for begins.
struct Recording {
  Point point;
  bool reached = false;
  Nanoseconds time{}; // when it was reached
};

struct Operation {
  std::string what;           // the call or the kernel, for messages
  std::vector<Range> touches; // all in one live allocation each (see access.hpp)
  std::function<hipError_t()>
      run; // without any lock; not called once the device failed; may be empty
  std::optional<Nanoseconds> duration;
  Nanoseconds atLeast{};      // where duration is not set
  std::function<void()> over; // with Runtime::mutex held, also when run was not called
  std::shared_ptr<Recording> started, finished;
  bool tellsHost = false; // run is a function of the application, which may tell its threads
  std::shared_ptr<const VectorClock> order; // set by enqueue(): as Point's
  std::vector<Point> after;                 // besides what the streams' rules ask for
};

// Builds an operation; called again for each launch of a graph that captured it. It checks its
// accesses (access.hpp), and returns the error of the call. Called without locks.
using Recipe = std::function<hipError_t(Operation &)>;

struct Stream {
  std::uint64_t number = 0; // what messages call it, and its place in vector clocks
  int device = 0;
  unsigned flags = 0;
  int priority = 0;
  bool null = false;

  bool blocking() const {
    return !null && (flags & hipStreamNonBlocking) == 0;
  }
  std::string name() const;

  // Guarded by Runtime::mutex.
  std::deque<Operation> queue;
  std::uint64_t enqueued = 0, completed = 0;
  Nanoseconds clock{}; // when the last one that completed ended
  VectorClock order;   // what is before the next operation
  std::shared_ptr<Capture> capture;
  bool closed = false;  // destroyed: the worker ends after the last operation
  bool working = false; // the worker is there
  std::condition_variable work, progress;
  std::deque<Nanoseconds> enqueuedAt; // of queue
};

// All with lock held.
StreamRef makeStream(Runtime &r, int device, unsigned flags, int priority, bool null = false);
// The stream of a handle, for the calling thread and its device. Null for one that is not known.
StreamRef streamOf(Runtime &r, hipStream_t handle);
Point enqueue(Lock &lock, Runtime &r, const StreamRef &stream, Operation operation);
bool isOver(const Point &point);
// The last operation that is in the stream.
Point last(const StreamRef &stream);
// Waits, and notes that the host has.
void wait(Lock &lock, Runtime &r, const Point &point);
// Notes that the host knows point, which is over, to be over.
void observe(Runtime &r, const Point &point);
// Whether all is over that synchronize() would wait for; if so, the host knows.
bool query(Runtime &r, const StreamRef &stream);
void synchronize(Lock &lock, Runtime &r, const StreamRef &stream);
void synchronizeDevice(Lock &lock, Runtime &r, int device);
void synchronizeDevices(Lock &lock, Runtime &r); // all of them

// Takes the lock itself. Enqueues what recipe builds, or adds it to the stream's capture; point is
// set in the first case and its stream is null in the second.
hipError_t submit(Runtime &r, const StreamRef &stream, const Recipe &recipe,
                  Point *point = nullptr);

} // namespace simhip
