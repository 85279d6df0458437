// The functions for capture and graphs.
#include "call.hpp"
#include "capture.hpp"
#include "stream.hpp"

namespace simhip {
namespace {

hipError_t instantiate(hipGraphExec_t *out, hipGraph_t handle) {
  if (out == nullptr) {
    return hipErrorInvalidValue;
  }
  Runtime &r = runtime();
  Lock lock(r.mutex);
  std::shared_ptr<Graph> graph = r.graphs.find(handle);
  if (graph == nullptr) {
    return hipErrorInvalidValue;
  }
  *out = r.executables.add(std::make_shared<Graph>(*graph));
  return hipSuccess;
}

template <typename Body> hipError_t with(hipStream_t handle, Body body) {
  Runtime &r = runtime();
  Lock lock(r.mutex);
  StreamRef stream = streamOf(r, handle);
  return stream != nullptr ? body(r, stream) : hipErrorInvalidHandle;
}

// The state of a stream; asking for the null stream's while a blocking stream is captured is an
// error.
hipError_t captureState(hipStream_t handle, hipStreamCaptureStatus *status,
                        unsigned long long *id) {
  if (status == nullptr) {
    return hipErrorInvalidValue;
  }
  return with(handle, [&](Runtime &r, const StreamRef &stream) {
    if (stream->null) {
      for (const auto &capture : r.captures) {
        for (const auto &[number, branch] : capture->branches) {
          if (branch.stream->blocking() && branch.stream->device == stream->device) {
            return hipErrorStreamCaptureImplicit;
          }
        }
      }
    }
    const auto &capture = stream->capture;
    *status = capture == nullptr ? hipStreamCaptureStatusNone
              : capture->invalid ? hipStreamCaptureStatusInvalidated
                                 : hipStreamCaptureStatusActive;
    if (id != nullptr && capture != nullptr) {
      *id = capture->number;
    }
    return hipSuccess;
  });
}

} // namespace
} // namespace simhip

using namespace simhip;

extern "C" {

hipError_t hipStreamBeginCapture(hipStream_t handle, hipStreamCaptureMode mode) {
  return call(__func__, Need::device, [&] {
    return with(handle,
                [&](Runtime &r, const StreamRef &stream) { return beginCapture(r, stream, mode); });
  });
}

hipError_t hipStreamEndCapture(hipStream_t handle, hipGraph_t *out) {
  return call(__func__, Need::device, [&] {
    if (out == nullptr) {
      return hipErrorInvalidValue;
    }
    return with(handle, [&](Runtime &r, const StreamRef &stream) {
      *out = nullptr;
      std::shared_ptr<Graph> graph;
      hipError_t error = endCapture(r, stream, graph);
      if (error == hipSuccess) {
        *out = r.graphs.add(std::move(graph));
      }
      return error;
    });
  });
}

hipError_t hipStreamIsCapturing(hipStream_t stream, hipStreamCaptureStatus *status) {
  return call(__func__, Need::nothing, [&] { return captureState(stream, status, nullptr); });
}

hipError_t hipStreamGetCaptureInfo(hipStream_t stream, hipStreamCaptureStatus *status,
                                   unsigned long long *id) {
  return call(__func__, Need::nothing, [&] { return captureState(stream, status, id); });
}

hipError_t hipThreadExchangeStreamCaptureMode(hipStreamCaptureMode *mode) {
  return call(__func__, Need::nothing, [&] {
    if (mode == nullptr || *mode < hipStreamCaptureModeGlobal ||
        *mode > hipStreamCaptureModeRelaxed) {
      return hipErrorInvalidValue;
    }
    std::swap(*mode, thread().captureMode);
    return hipSuccess;
  });
}

hipError_t hipGraphGetNodes(hipGraph_t handle, hipGraphNode_t *nodes, size_t *count) {
  return call(__func__, Need::nothing, [&] {
    Runtime &r = runtime();
    Lock lock(r.mutex);
    std::shared_ptr<Graph> graph = r.graphs.find(handle);
    if (graph == nullptr || count == nullptr) {
      return hipErrorInvalidValue;
    }
    if (nodes != nullptr) { // nodes have no handles
      return hipErrorNotSupported;
    }
    *count = graph->nodes.size();
    return hipSuccess;
  });
}

hipError_t hipGraphInstantiate(hipGraphExec_t *executable, hipGraph_t graph,
                               hipGraphNode_t *errorNode, char *log, size_t logSize) {
  return call(__func__, Need::device, [&] {
    if (errorNode != nullptr) {
      *errorNode = nullptr;
    }
    if (log != nullptr && logSize > 0) {
      *log = '\0';
    }
    return instantiate(executable, graph);
  });
}

hipError_t hipGraphInstantiateWithFlags(hipGraphExec_t *executable, hipGraph_t graph,
                                        unsigned long long) {
  return call(__func__, Need::device, [&] { return instantiate(executable, graph); });
}

hipError_t hipGraphUpload(hipGraphExec_t executable, hipStream_t stream) {
  return call(__func__, Need::device, [&] {
    return with(stream, [&](Runtime &r, const StreamRef &) {
      return r.executables.find(executable) != nullptr ? hipSuccess : hipErrorInvalidValue;
    });
  });
}

hipError_t hipGraphLaunch(hipGraphExec_t executable, hipStream_t handle) {
  return call(__func__, Need::device, [&] {
    Runtime &r = runtime();
    std::shared_ptr<Graph> graph;
    StreamRef stream;
    {
      Lock lock(r.mutex);
      graph = r.executables.find(executable);
      stream = streamOf(r, handle);
    }
    if (graph == nullptr || stream == nullptr) {
      return stream == nullptr ? hipErrorInvalidHandle : hipErrorInvalidValue;
    }
    for (const Recipe &node : graph->nodes) {
      if (hipError_t error = submit(r, stream, node)) {
        return error;
      }
    }
    return hipSuccess;
  });
}

hipError_t hipGraphExecDestroy(hipGraphExec_t executable) {
  return call(__func__, Need::nothing, [&] {
    Runtime &r = runtime();
    Lock lock(r.mutex);
    return r.executables.remove(executable) != nullptr ? hipSuccess : hipErrorInvalidValue;
  });
}

hipError_t hipGraphDestroy(hipGraph_t graph) {
  return call(__func__, Need::nothing, [&] {
    Runtime &r = runtime();
    Lock lock(r.mutex);
    return r.graphs.remove(graph) != nullptr ? hipSuccess : hipErrorInvalidValue;
  });
}

} // extern "C"
