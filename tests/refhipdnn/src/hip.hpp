#pragma once

// HIP, where the process has it: found among what is loaded, never loaded from here.

#include "refhipdnn/hipdnn_backend.h"

#include <functional>

namespace refhipdnn::hip {

// Runs work in the stream's order. With a HIP runtime in the process it is enqueued as a host
// function and this returns; without one it has run when this returns. Throws Failure when the
// runtime refuses; then the work never runs.
void enqueue(hipdnnRefStream_t stream, std::function<void()> work);

} // namespace refhipdnn::hip
