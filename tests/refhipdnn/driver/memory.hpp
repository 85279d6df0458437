#pragma once

// Memory for the tensors of graphs, and how an execution that uses it is waited for.

#include "refhipdnn/hipdnn_backend.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

using Bytes = std::vector<uint8_t>;

// Memory that engines can be given. It starts on a 64-byte boundary.
class Buffer {
public:
  virtual ~Buffer() = default;
  virtual void *data() = 0;
  virtual void write(const Bytes &contents) = 0; // as many as it was allocated with
  virtual Bytes read() = 0;
  virtual bool intact() = 0; // nothing around it was written, as far as can be told
};

// How the work of an execution gets onto the device.
enum class Way {
  Directly,
  Captured, // into a HIP graph, which is launched
  // Controls: what the device must not let pass while it captures.
  CapturedWaiting,
  CapturedAllocating,
};

// "directly", "captured" and so on; throws for any other word.
Way way_of(const std::string &word);

// Where tensors are. Throws std::runtime_error when something fails.
class Place {
public:
  virtual ~Place() = default;
  virtual std::unique_ptr<Buffer> allocate(size_t bytes) = 0;
  // Has executions of the handle go where run waits for them.
  virtual void use(hipdnnHandle_t handle) = 0;
  // Runs what enqueue enqueues, and waits for it. What is captured runs twice, and reset is called
  // before each time; unchanged tells whether the capture itself left all memory alone.
  virtual void run(Way way, const std::function<void()> &enqueue,
                   const std::function<void()> &reset, const std::function<bool()> &unchanged) = 0;
};

// The host's memory, for engines that have run when the call returns. Buffers have guards on both
// sides.
std::unique_ptr<Place> host_memory();

// The memory of the HIP device whose runtime the process has loaded already, and a stream of its
// own. Buffers are allocations without guards, so that whoever watches the device sees each access
// outside of them.
std::unique_ptr<Place> device_memory();
