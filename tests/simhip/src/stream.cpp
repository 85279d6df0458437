// Streams: enqueueing, the worker, waiting.
#include "stream.hpp"

#include <algorithm>
#include <ctime>
#include <thread>
#include <unistd.h>

#include "capture.hpp"
#include "config.hpp"
#include "memory.hpp"
#include "report.hpp"

namespace simhip {
namespace {

[[noreturn]] void sleepForever() {
  for (;;) {
    pause();
  }
}

// The last part is spun, since a wake-up may come 50 us late.
void sleepUntil(Nanoseconds when) {
  constexpr Nanoseconds spin = std::chrono::microseconds(60);
  Nanoseconds wake = when - spin;
  if (now() < wake) {
    timespec at{};
    at.tv_sec = static_cast<std::time_t>(wake.count() / 1000000000);
    at.tv_nsec = static_cast<long>(wake.count() % 1000000000);
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, nullptr) == EINTR) {
    }
  }
  while (now() < when) {
  }
}

void reach(const std::shared_ptr<Recording> &recording, Nanoseconds time) {
  if (recording != nullptr) {
    recording->reached = true;
    recording->time = time;
  }
}

// Runs one operation from its beginning to its end.
void perform(Lock &lock, Runtime &r, Stream &stream, Operation &operation, Nanoseconds ready) {
  Device &device = r.devices[static_cast<std::size_t>(stream.device)];
  bool failed = device.failed != hipSuccess;
  if (operation.started != nullptr) {
    reach(operation.started, ready);
    stream.progress.notify_all();
  }
  hipError_t error = hipSuccess;
  Nanoseconds taken{};
  if (operation.run && !failed) {
    if (operation.tellsHost) {
      r.host.join(*operation.order);
    }
    lock.unlock();
    Nanoseconds from = now();
    error = operation.run();
    taken = now() - from;
    lock.lock();
  }
  if (error != hipSuccess && device.failed == hipSuccess) {
    device.failed = error;
  }
  Nanoseconds end = ready;
  if (!failed) {
    end += operation.duration ? *operation.duration : std::max(taken, operation.atLeast);
  }
  if (now() < end) {
    lock.unlock();
    sleepUntil(end);
    lock.lock();
  }
  stream.clock = end;
  stream.completed++;
  reach(operation.finished, end);
  if (operation.over) {
    operation.over();
  }
  stream.progress.notify_all();
}

void serve(StreamRef stream) {
  Runtime &r = runtime();
  Lock lock(r.mutex);
  for (;;) {
    while (stream->queue.empty()) {
      if (stream->closed) {
        stream->working = false;
        return;
      }
      stream->work.wait(lock);
    }
    Operation operation = std::move(stream->queue.front());
    stream->queue.pop_front();
    Nanoseconds ready = std::max(stream->enqueuedAt.front(), stream->clock);
    stream->enqueuedAt.pop_front();
    for (const Point &point : operation.after) {
      point.stream->progress.wait(lock, [&] { return isOver(point); });
      // The other stream may be further already: then this operation begins later than it had to,
      // but never before the end of what it waited for.
      ready = std::max(ready, std::min(point.stream->clock, now()));
    }
    if (exiting) {
      lock.unlock();
      sleepForever();
    }
    perform(lock, r, *stream, operation, ready);
    // What operation holds may take locks, or be the last reference to a stream.
    lock.unlock();
    operation = Operation{};
    lock.lock();
  }
}

std::vector<StreamRef> blockingStreams(Runtime &r, int device) {
  std::vector<StreamRef> streams;
  for (const std::weak_ptr<Stream> &weak : r.everyStream) {
    StreamRef stream = weak.lock();
    if (stream != nullptr && stream->device == device && stream->blocking()) {
      streams.push_back(stream);
    }
  }
  return streams;
}

void noteAccesses(Runtime &r, const Stream &stream, const Operation &operation) {
  if (operation.touches.empty()) {
    return;
  }
  auto what = std::make_shared<const std::string>(operation.what + " on " + stream.name());
  for (const Range &range : operation.touches) {
    if (range.bytes == 0) {
      continue;
    }
    for (const std::string &other :
         r.history.touch(range, stream.number, stream.enqueued, stream.order, what)) {
      AllocationRef a = allocations().find(range.begin);
      report::violation(report::Kind::race,
                        *what + (range.writes ? " writes " : " reads ") +
                            std::to_string(range.bytes) + " bytes (" + range.role + ") at " +
                            (a != nullptr ? a->describe(range.begin) : "freed memory") +
                            ", some of which " + other + ", and nothing orders the two");
    }
  }
}

} // namespace

Nanoseconds now() {
  timespec at{};
  clock_gettime(CLOCK_MONOTONIC, &at);
  return Nanoseconds(at.tv_sec * 1000000000LL + at.tv_nsec);
}

std::string Stream::name() const {
  return null ? "the null stream" : "stream " + std::to_string(number);
}

StreamRef makeStream(Runtime &r, int device, unsigned flags, int priority, bool null) {
  auto stream = std::make_shared<Stream>();
  stream->number = ++r.streamNumbers;
  stream->device = device;
  stream->flags = flags;
  stream->priority = priority;
  stream->null = null;
  r.everyStream.erase(
      std::remove_if(r.everyStream.begin(), r.everyStream.end(),
                     [](const std::weak_ptr<Stream> &other) { return other.expired(); }),
      r.everyStream.end());
  r.everyStream.push_back(stream);
  return stream;
}

StreamRef streamOf(Runtime &r, hipStream_t handle) {
  Thread &t = thread();
  if (handle == nullptr || handle == hipStreamLegacy) {
    return static_cast<std::size_t>(t.device) < r.devices.size()
               ? r.devices[static_cast<std::size_t>(t.device)].null
               : nullptr;
  }
  if (handle == hipStreamPerThread) {
    StreamRef &stream = t.perThread[t.device];
    if (stream == nullptr) {
      stream = makeStream(r, t.device, hipStreamDefault, 0);
    }
    return stream;
  }
  return r.streams.find(handle);
}

Point enqueue(Lock &, Runtime &r, const StreamRef &stream, Operation operation) {
  stream->order.join(r.host);
  for (const Point &point : operation.after) {
    stream->order.join(*point.order);
  }
  // The null stream waits for all that is in blocking streams of its device, and they for all that
  // is in it.
  auto follow = [&](const StreamRef &other) {
    stream->order.join(other->order);
    if (other->completed < other->enqueued) {
      operation.after.push_back(last(other));
    }
  };
  if (stream->null) {
    for (const StreamRef &other : blockingStreams(r, stream->device)) {
      follow(other);
    }
  } else if (stream->blocking()) {
    follow(r.devices[static_cast<std::size_t>(stream->device)].null);
  }
  ++stream->enqueued;
  noteAccesses(r, *stream, operation);
  stream->order.add(stream->number, stream->enqueued);
  Point point = last(stream);
  for (const auto &recording : {operation.started, operation.finished}) {
    if (recording != nullptr) {
      recording->point = point;
    }
  }
  operation.order = point.order;
  stream->queue.push_back(std::move(operation));
  stream->enqueuedAt.push_back(now());
  if (!stream->working) {
    std::thread(serve, stream).detach();
    stream->working = true;
  }
  stream->work.notify_one();
  return point;
}

bool isOver(const Point &point) {
  return point.stream->completed >= point.sequence;
}

Point last(const StreamRef &stream) {
  return Point{stream, stream->enqueued, std::make_shared<const VectorClock>(stream->order)};
}

void wait(Lock &lock, Runtime &r, const Point &point) {
  point.stream->progress.wait(lock, [&] { return isOver(point); });
  observe(r, point);
}

void observe(Runtime &r, const Point &point) {
  r.host.join(*point.order);
}

namespace {

// What a wait for the stream waits for: the null stream's work is the blocking streams' too.
std::vector<Point> pending(Runtime &r, const StreamRef &stream) {
  std::vector<Point> points{last(stream)};
  if (stream->null) {
    for (const StreamRef &other : blockingStreams(r, stream->device)) {
      points.push_back(last(other));
    }
  }
  return points;
}

} // namespace

void synchronize(Lock &lock, Runtime &r, const StreamRef &stream) {
  for (const Point &point : pending(r, stream)) {
    wait(lock, r, point);
  }
}

bool query(Runtime &r, const StreamRef &stream) {
  std::vector<Point> points = pending(r, stream);
  if (!std::all_of(points.begin(), points.end(), isOver)) {
    return false;
  }
  for (const Point &point : points) {
    observe(r, point);
  }
  return true;
}

void synchronizeDevices(Lock &lock, Runtime &r) {
  for (int device = 0; device < config().devices; device++) {
    synchronizeDevice(lock, r, device);
  }
}

void synchronizeDevice(Lock &lock, Runtime &r, int device) {
  std::vector<Point> points;
  for (const std::weak_ptr<Stream> &weak : r.everyStream) {
    StreamRef stream = weak.lock();
    if (stream != nullptr && stream->device == device) {
      points.push_back(last(stream));
    }
  }
  for (const Point &point : points) {
    wait(lock, r, point);
  }
}

hipError_t submit(Runtime &r, const StreamRef &stream, const Recipe &recipe, Point *point) {
  {
    Lock lock(r.mutex);
    if (hipError_t refused = captureRefuses(r, *stream)) {
      return refused;
    }
    if (stream->capture != nullptr) {
      stream->capture->record(*stream, recipe);
      return hipSuccess;
    }
  }
  Operation operation;
  if (hipError_t error = recipe(operation)) {
    return error;
  }
  Lock lock(r.mutex);
  Point end = enqueue(lock, r, stream, std::move(operation));
  if (point != nullptr) {
    *point = end;
  }
  return hipSuccess;
}

} // namespace simhip
