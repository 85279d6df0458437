// Stream capture: streams that note their operations instead of running them, and the graphs that
// come of it.
//
// A graph is a list of recipes in the order of the calls, which is an order that all dependencies
// allow; a launch runs them one after the other. What forks and joins matter for is whether a
// capture may end. All is guarded by Runtime::mutex.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <thread>
#include <vector>

#include "order.hpp"
#include "stream.hpp"

namespace simhip {

struct Graph {
  std::vector<Recipe> nodes;
};

struct Capture {
  std::uint64_t number = 0;
  hipStreamCaptureMode mode = hipStreamCaptureModeGlobal;
  std::thread::id owner;
  StreamRef origin;
  bool invalid = false;
  std::shared_ptr<Graph> graph;

  struct Branch {
    StreamRef stream;
    std::uint64_t length = 0; // operations, one for joining the capture included
    VectorClock order;        // of branches
  };
  std::map<std::uint64_t, Branch> branches; // by the stream's number

  void record(const Stream &stream, const Recipe &recipe);
};

// The error of a call that enqueues in stream, which it cannot while that or another one is
// captured. Invalidates.
hipError_t captureRefuses(Runtime &r, const Stream &stream);
// The error of a call that is not safe while the calling thread, or another one in the global mode,
// captures. Invalidates these captures.
hipError_t captureForbids(Runtime &r);
// The error of a call that waits for stream, or asks whether it is done.
hipError_t captureForbidsWaiting(Runtime &r, const Stream &stream);

hipError_t beginCapture(Runtime &r, const StreamRef &stream, hipStreamCaptureMode mode);
hipError_t endCapture(Runtime &r, const StreamRef &stream, std::shared_ptr<Graph> &graph);
// Events in captures: the stream's capture notes the event, or the stream joins the event's
// capture.
void recordInCapture(Event &event, const Stream &stream);
hipError_t waitInCapture(Runtime &r, const StreamRef &stream, const Event &event);

} // namespace simhip
