// Stream capture.
#include "capture.hpp"

#include <algorithm>

#include "event.hpp"

namespace simhip {

void Capture::record(const Stream &stream, const Recipe &recipe) {
  Branch &branch = branches.at(stream.number);
  branch.order.add(stream.number, ++branch.length);
  graph->nodes.push_back(recipe);
}

hipError_t captureRefuses(Runtime &r, const Stream &stream) {
  if (stream.capture != nullptr) {
    return stream.capture->invalid ? hipErrorStreamCaptureInvalidated : hipSuccess;
  }
  if (!stream.null) {
    return hipSuccess;
  }
  hipError_t error = hipSuccess;
  for (const auto &capture : r.captures) {
    for (const auto &[number, branch] : capture->branches) {
      if (branch.stream->device == stream.device && branch.stream->blocking()) {
        capture->invalid = true;
        error = hipErrorStreamCaptureImplicit;
      }
    }
  }
  return error;
}

hipError_t captureForbids(Runtime &r) {
  if (r.captures.empty() || thread().captureMode == hipStreamCaptureModeRelaxed) {
    return hipSuccess;
  }
  hipError_t error = hipSuccess;
  for (const auto &capture : r.captures) {
    bool mine = capture->owner == std::this_thread::get_id() &&
                capture->mode != hipStreamCaptureModeRelaxed;
    bool global = capture->mode == hipStreamCaptureModeGlobal &&
                  thread().captureMode == hipStreamCaptureModeGlobal;
    if (mine || global) {
      capture->invalid = true;
      error = hipErrorStreamCaptureUnsupported;
    }
  }
  return error;
}

hipError_t captureForbidsWaiting(Runtime &r, const Stream &stream) {
  if (stream.capture != nullptr) {
    stream.capture->invalid = true;
    return hipErrorStreamCaptureUnsupported;
  }
  return captureRefuses(r, stream);
}

hipError_t beginCapture(Runtime &r, const StreamRef &stream, hipStreamCaptureMode mode) {
  if (mode < hipStreamCaptureModeGlobal || mode > hipStreamCaptureModeRelaxed) {
    return hipErrorInvalidValue;
  }
  if (stream->null) {
    return hipErrorStreamCaptureUnsupported;
  }
  if (stream->capture != nullptr) {
    return hipErrorIllegalState;
  }
  auto capture = std::make_shared<Capture>();
  capture->number = ++r.captureNumbers;
  capture->mode = mode;
  capture->owner = std::this_thread::get_id();
  capture->origin = stream;
  capture->graph = std::make_shared<Graph>();
  capture->branches[stream->number] = Capture::Branch{stream, 0, {}};
  stream->capture = capture;
  r.captures.push_back(capture);
  return hipSuccess;
}

hipError_t endCapture(Runtime &r, const StreamRef &stream, std::shared_ptr<Graph> &graph) {
  std::shared_ptr<Capture> capture = stream->capture;
  if (capture == nullptr) {
    return hipErrorIllegalState;
  }
  if (capture->origin != stream) {
    capture->invalid = true;
    return hipErrorStreamCaptureUnmatched;
  }
  if (capture->mode != hipStreamCaptureModeRelaxed &&
      capture->owner != std::this_thread::get_id()) {
    return hipErrorStreamCaptureWrongThread;
  }
  const Capture::Branch &origin = capture->branches.at(stream->number);
  bool joined =
      std::all_of(capture->branches.begin(), capture->branches.end(), [&](const auto &entry) {
        return entry.second.stream == stream ||
               origin.order.covers(entry.first, entry.second.length);
      });
  for (const auto &[number, branch] : capture->branches) {
    branch.stream->capture = nullptr;
  }
  capture->branches.clear();
  r.captures.erase(std::find(r.captures.begin(), r.captures.end(), capture));
  if (capture->invalid) {
    return hipErrorStreamCaptureInvalidated;
  }
  if (!joined) {
    return hipErrorStreamCaptureUnjoined;
  }
  graph = capture->graph;
  return hipSuccess;
}

void recordInCapture(Event &event, const Stream &stream) {
  event.recording = nullptr;
  event.capture = stream.capture;
  event.captureOrder = stream.capture->branches.at(stream.number).order;
}

hipError_t waitInCapture(Runtime &r, const StreamRef &stream, const Event &event) {
  const std::shared_ptr<Capture> &capture = event.capture;
  if (capture == nullptr) {
    if (event.recording == nullptr) {
      return hipSuccess; // never recorded: nothing to wait for
    }
    stream->capture->invalid = true;
    return hipErrorStreamCaptureIsolation;
  }
  if (std::find(r.captures.begin(), r.captures.end(), capture) == r.captures.end()) {
    return hipErrorCapturedEvent;
  }
  if (capture->invalid) {
    return hipErrorStreamCaptureInvalidated;
  }
  if (stream->null) {
    capture->invalid = true;
    return hipErrorStreamCaptureImplicit;
  }
  if (stream->capture != nullptr && stream->capture != capture) {
    stream->capture->invalid = capture->invalid = true;
    return hipErrorStreamCaptureMerge;
  }
  Capture::Branch &branch = capture->branches[stream->number];
  if (stream->capture == nullptr) {
    stream->capture = capture;
    branch.stream = stream;
    branch.order.add(stream->number, ++branch.length);
  }
  branch.order.join(event.captureOrder);
  return hipSuccess;
}

} // namespace simhip
