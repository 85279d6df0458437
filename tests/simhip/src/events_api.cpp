// The functions for events.
#include "call.hpp"
#include "capture.hpp"
#include "event.hpp"
#include "stream.hpp"

namespace simhip {
namespace {

constexpr unsigned eventFlags = hipEventBlockingSync | hipEventDisableTiming |
                                hipEventInterprocess | hipEventDisableSystemFence |
                                hipEventReleaseToDevice | hipEventReleaseToSystem;

hipError_t create(hipEvent_t *out, unsigned flags) {
  if (out == nullptr || (flags & ~eventFlags) != 0) {
    return hipErrorInvalidValue;
  }
  auto event = std::make_shared<Event>();
  event->flags = flags;
  event->device = thread().device;
  Runtime &r = runtime();
  Lock lock(r.mutex);
  *out = r.events.add(std::move(event));
  return hipSuccess;
}

hipError_t record(hipEvent_t handle, hipStream_t streamHandle) {
  Runtime &r = runtime();
  Lock lock(r.mutex);
  EventRef event = r.events.find(handle);
  StreamRef stream = streamOf(r, streamHandle);
  if (event == nullptr || stream == nullptr) {
    return hipErrorInvalidHandle;
  }
  if (hipError_t error = captureRefuses(r, *stream)) {
    return error;
  }
  if (stream->capture != nullptr) {
    recordInCapture(*event, *stream);
    return hipSuccess;
  }
  event->capture = nullptr;
  event->recording = std::make_shared<Recording>();
  Operation operation;
  operation.what = "hipEventRecord";
  operation.finished = event->recording;
  enqueue(lock, r, stream, std::move(operation));
  return hipSuccess;
}

// The event of a handle in event, or the error of a call that asks about one.
hipError_t find(Runtime &r, hipEvent_t handle, EventRef &event) {
  event = r.events.find(handle);
  if (event == nullptr) {
    return hipErrorInvalidHandle;
  }
  if (event->capture != nullptr) {
    event->capture->invalid = true;
    return hipErrorCapturedEvent;
  }
  return hipSuccess;
}

} // namespace
} // namespace simhip

using namespace simhip;

extern "C" {

hipError_t hipEventCreate(hipEvent_t *event) {
  return call(__func__, Need::device, [&] { return create(event, hipEventDefault); });
}

hipError_t hipEventCreateWithFlags(hipEvent_t *event, unsigned flags) {
  return call(__func__, Need::device, [&] { return create(event, flags); });
}

hipError_t hipEventDestroy(hipEvent_t handle) {
  return call(__func__, Need::nothing, [&] {
    Runtime &r = runtime();
    Lock lock(r.mutex);
    return r.events.remove(handle) != nullptr ? hipSuccess : hipErrorInvalidHandle;
  });
}

hipError_t hipEventRecord(hipEvent_t event, hipStream_t stream) {
  return call(__func__, Need::device, [&] { return record(event, stream); });
}

hipError_t hipEventRecordWithFlags(hipEvent_t event, hipStream_t stream, unsigned int flags) {
  return call(__func__, Need::device, [&] {
    return flags <= hipEventRecordExternal ? record(event, stream) : hipErrorInvalidValue;
  });
}

hipError_t hipEventQuery(hipEvent_t handle) {
  return call(__func__, Need::device, [&] {
    Runtime &r = runtime();
    Lock lock(r.mutex);
    EventRef event;
    if (hipError_t error = find(r, handle, event)) {
      return error;
    }
    if (event->recording == nullptr) {
      return hipSuccess;
    }
    if (!event->recording->reached) {
      return hipErrorNotReady;
    }
    // A recording of a kernel's start is reached before the operation is over.
    if (isOver(event->recording->point)) {
      observe(r, event->recording->point);
    }
    return hipSuccess;
  });
}

hipError_t hipEventSynchronize(hipEvent_t handle) {
  return call(__func__, Need::device, [&] {
    Runtime &r = runtime();
    Lock lock(r.mutex);
    EventRef event;
    if (hipError_t error = find(r, handle, event)) {
      return error;
    }
    std::shared_ptr<Recording> recording = event->recording;
    if (recording == nullptr) {
      return hipSuccess;
    }
    StreamRef stream = recording->point.stream;
    stream->progress.wait(lock, [&] { return recording->reached; });
    if (isOver(recording->point)) {
      observe(r, recording->point);
    }
    return r.devices[static_cast<std::size_t>(stream->device)].failed;
  });
}

hipError_t hipEventElapsedTime(float *milliseconds, hipEvent_t start, hipEvent_t stop) {
  return call(__func__, Need::device, [&] {
    Runtime &r = runtime();
    Lock lock(r.mutex);
    EventRef from, to;
    if (milliseconds == nullptr) {
      return hipErrorInvalidValue;
    }
    if (hipError_t error = find(r, start, from)) {
      return error;
    }
    if (hipError_t error = find(r, stop, to)) {
      return error;
    }
    if (from->recording == nullptr || to->recording == nullptr ||
        ((from->flags | to->flags) & hipEventDisableTiming) != 0) {
      return hipErrorInvalidHandle;
    }
    if (!from->recording->reached || !to->recording->reached) {
      return hipErrorNotReady;
    }
    *milliseconds = static_cast<float>(
        static_cast<double>((to->recording->time - from->recording->time).count()) * 1e-6);
    return hipSuccess;
  });
}

} // extern "C"
