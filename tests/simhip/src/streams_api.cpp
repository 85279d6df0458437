// The functions for streams, host functions included.
#include "call.hpp"
#include "capture.hpp"
#include "config.hpp"
#include "event.hpp"
#include "stream.hpp"

namespace simhip {
namespace {

hipError_t create(hipStream_t *out, unsigned flags, int priority) {
  if (out == nullptr || (flags & ~static_cast<unsigned>(hipStreamNonBlocking)) != 0) {
    return hipErrorInvalidValue;
  }
  Runtime &r = runtime();
  Lock lock(r.mutex);
  *out = r.streams.add(makeStream(r, thread().device, flags, priority));
  return hipSuccess;
}

// Runs body(runtime, lock, stream) for a stream that exists.
template <typename Body> hipError_t with(hipStream_t handle, Body body) {
  Runtime &r = runtime();
  Lock lock(r.mutex);
  StreamRef stream = streamOf(r, handle);
  return stream != nullptr ? body(r, lock, stream) : hipErrorInvalidHandle;
}

hipError_t enqueueFunction(hipStream_t handle, const char *what, std::function<void()> function) {
  if (!function) {
    return hipErrorInvalidValue;
  }
  Runtime &r = runtime();
  StreamRef stream;
  {
    Lock lock(r.mutex);
    stream = streamOf(r, handle);
  }
  if (stream == nullptr) {
    return hipErrorInvalidHandle;
  }
  return submit(r, stream, [=](Operation &operation) {
    operation.what = what;
    operation.tellsHost = true;
    operation.run = [function] {
      thread().inHostFunction = true;
      function();
      thread().inHostFunction = false;
      return hipSuccess;
    };
    return hipSuccess;
  });
}

} // namespace
} // namespace simhip

using namespace simhip;

extern "C" {

hipError_t hipStreamCreate(hipStream_t *stream) {
  return call(__func__, Need::device, [&] { return create(stream, hipStreamDefault, 0); });
}

hipError_t hipStreamCreateWithFlags(hipStream_t *stream, unsigned int flags) {
  return call(__func__, Need::device, [&] { return create(stream, flags, 0); });
}

hipError_t hipStreamCreateWithPriority(hipStream_t *stream, unsigned int flags, int priority) {
  return call(__func__, Need::device, [&] {
    return create(stream, flags, priority < -1 ? -1 : priority > 1 ? 1 : priority);
  });
}

// Does not wait: what is enqueued is done, and then the worker ends.
hipError_t hipStreamDestroy(hipStream_t handle) {
  return call(__func__, Need::nothing, [&] {
    if (handle == nullptr || handle == hipStreamLegacy || handle == hipStreamPerThread) {
      return hipErrorInvalidHandle;
    }
    return with(handle, [&](Runtime &r, Lock &, const StreamRef &stream) {
      if (stream->capture != nullptr) {
        stream->capture->invalid = true;
        return hipErrorStreamCaptureUnsupported;
      }
      r.streams.remove(handle);
      stream->closed = true;
      stream->work.notify_one();
      return hipSuccess;
    });
  });
}

hipError_t hipStreamQuery(hipStream_t handle) {
  return call(__func__, Need::device, [&] {
    return with(handle, [&](Runtime &r, Lock &, const StreamRef &stream) {
      if (hipError_t error = captureForbidsWaiting(r, *stream)) {
        return error;
      }
      return query(r, stream) ? r.devices[static_cast<std::size_t>(stream->device)].failed
                              : hipErrorNotReady;
    });
  });
}

hipError_t hipStreamSynchronize(hipStream_t handle) {
  return call(__func__, Need::device, [&] {
    return with(handle, [&](Runtime &r, Lock &lock, const StreamRef &stream) {
      if (hipError_t error = captureForbidsWaiting(r, *stream)) {
        return error;
      }
      synchronize(lock, r, stream);
      return r.devices[static_cast<std::size_t>(stream->device)].failed;
    });
  });
}

hipError_t hipStreamWaitEvent(hipStream_t handle, hipEvent_t eventHandle, unsigned int flags) {
  return call(__func__, Need::device, [&] {
    return with(handle, [&](Runtime &r, Lock &lock, const StreamRef &stream) {
      EventRef event = r.events.find(eventHandle);
      if (event == nullptr || flags > 1) {
        return event == nullptr ? hipErrorInvalidHandle : hipErrorInvalidValue;
      }
      if (stream->capture != nullptr || event->capture != nullptr) {
        return waitInCapture(r, stream, *event);
      }
      if (hipError_t error = captureRefuses(r, *stream)) {
        return error;
      }
      if (event->recording == nullptr) {
        return hipSuccess;
      }
      Operation operation;
      operation.what = "hipStreamWaitEvent";
      operation.after.push_back(event->recording->point);
      enqueue(lock, r, stream, std::move(operation));
      return hipSuccess;
    });
  });
}

hipError_t hipStreamGetFlags(hipStream_t handle, unsigned int *flags) {
  return call(__func__, Need::nothing, [&] {
    return with(handle, [&](Runtime &, Lock &, const StreamRef &stream) {
      if (flags == nullptr) {
        return hipErrorInvalidValue;
      }
      *flags = stream->flags;
      return hipSuccess;
    });
  });
}

hipError_t hipStreamGetPriority(hipStream_t handle, int *priority) {
  return call(__func__, Need::nothing, [&] {
    return with(handle, [&](Runtime &, Lock &, const StreamRef &stream) {
      if (priority == nullptr) {
        return hipErrorInvalidValue;
      }
      *priority = stream->priority;
      return hipSuccess;
    });
  });
}

hipError_t hipStreamGetDevice(hipStream_t handle, hipDevice_t *device) {
  return call(__func__, Need::nothing, [&] {
    return with(handle, [&](Runtime &, Lock &, const StreamRef &stream) {
      if (device == nullptr) {
        return hipErrorInvalidValue;
      }
      *device = stream->device;
      return hipSuccess;
    });
  });
}

int hipGetStreamDeviceId(hipStream_t handle) {
  int device = -1;
  call(__func__, Need::nothing, [&] {
    return with(handle, [&](Runtime &, Lock &, const StreamRef &stream) {
      device = stream->device;
      return hipSuccess;
    });
  });
  return device;
}

hipError_t hipLaunchHostFunc(hipStream_t stream, hipHostFn_t function, void *userData) {
  return call(__func__, Need::device, [&] {
    return enqueueFunction(
        stream, "hipLaunchHostFunc",
        function == nullptr ? std::function<void()>() : [=] { function(userData); });
  });
}

hipError_t hipStreamAddCallback(hipStream_t stream, hipStreamCallback_t callback, void *userData,
                                unsigned int flags) {
  return call(__func__, Need::device, [&] {
    if (flags != 0) {
      return hipErrorInvalidValue;
    }
    {
      Runtime &r = runtime();
      Lock lock(r.mutex);
      StreamRef found = streamOf(r, stream);
      if (found != nullptr && found->capture != nullptr) {
        return captureForbidsWaiting(r, *found);
      }
    }
    return enqueueFunction(
        stream, "hipStreamAddCallback", callback == nullptr ? std::function<void()>() : [=] {
          callback(stream, hipSuccess, userData);
        });
  });
}

} // extern "C"
