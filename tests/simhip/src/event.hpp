// Events. What one was last recorded at; guarded by Runtime::mutex.
#pragma once

#include <memory>

#include "stream.hpp"

namespace simhip {

struct Event {
  unsigned flags = 0;
  int device = 0;
  std::shared_ptr<Recording> recording; // null before the first
  std::shared_ptr<Capture>
      capture; // of the stream that it was last recorded in, if that was capturing
  VectorClock captureOrder;
};

} // namespace simhip
