// Launches of kernels.
#include <algorithm>
#include <cstring>
#include <optional>

#include "access.hpp"
#include "call.hpp"
#include "capture.hpp"
#include "config.hpp"
#include "event.hpp"
#include "hostguard.hpp"
#include "module.hpp"
#include "report.hpp"
#include "stream.hpp"

namespace simhip {
namespace {

// What a kernel takes on the device's clock at least, so that nobody divides by zero.
constexpr Nanoseconds leastTime = std::chrono::microseconds(1);

struct Request {
  FunctionRef function;
  kernels::Dim3 grid, block, items; // work-groups, work-items of one, work-items in all
  std::size_t sharedBytes = 0;
  void **parameters = nullptr;
  void **extra = nullptr;
  hipEvent_t start = nullptr, stop = nullptr;
};

bool hidden(const kernels::Argument &argument) {
  return argument.value_kind.compare(0, 7, "hidden_") == 0;
}

// What a caller has to give: to the end of the last argument that is not the compiler's own.
std::size_t givenBytes(const kernels::Kernel &kernel) {
  std::size_t bytes = 0;
  for (const kernels::Argument &argument : kernel.arguments) {
    if (!hidden(argument)) {
      bytes = std::max(bytes, argument.offset + argument.size);
    }
  }
  return bytes;
}

// The buffer of arguments, as the code object's metadata lays it out, from one of the two forms
// that HIP has.
hipError_t pack(const Request &request, std::vector<std::byte> &buffer) {
  const kernels::Kernel *kernel = request.function->kernel;
  if (kernel != nullptr) {
    buffer.resize(kernel->argument_bytes);
  }
  if (request.extra != nullptr) {
    const void *data = nullptr;
    std::size_t size = 0;
    for (void **entry = request.extra; *entry != HIP_LAUNCH_PARAM_END; entry += 2) {
      if (entry[0] == HIP_LAUNCH_PARAM_BUFFER_POINTER) {
        data = entry[1];
      } else if (entry[0] == HIP_LAUNCH_PARAM_BUFFER_SIZE && entry[1] != nullptr) {
        size = *static_cast<std::size_t *>(entry[1]);
      } else {
        return hipErrorInvalidValue;
      }
    }
    if (data == nullptr && size != 0) {
      return hipErrorInvalidValue;
    }
    if (kernel == nullptr) {
      buffer.resize(size);
    } else if (size < givenBytes(*kernel)) { // the kernel would read what the caller never gave
      return hipErrorInvalidValue;
    }
    if (data != nullptr) {
      std::memcpy(buffer.data(), data, std::min(size, buffer.size()));
    }
    return hipSuccess;
  }
  if (kernel == nullptr) {
    return hipSuccess;
  }
  std::size_t next = 0;
  for (const kernels::Argument &argument : kernel->arguments) {
    if (hidden(argument)) {
      continue;
    }
    if (request.parameters == nullptr || argument.offset > buffer.size() ||
        argument.size > buffer.size() - argument.offset) {
      return hipErrorInvalidValue;
    }
    std::memcpy(buffer.data() + argument.offset, request.parameters[next++], argument.size);
  }
  return hipSuccess;
}

// The part of a launch that may be done again, for a graph.
struct Prepared {
  FunctionRef function;
  kernels::Launch launch;
};

bool touchesPinned(const std::vector<Range> &ranges) {
  return std::any_of(ranges.begin(), ranges.end(), [](const Range &range) {
    AllocationRef a = allocations().find(range.begin);
    return a != nullptr && a->space == Space::pinned;
  });
}

hipError_t run(const std::string &name, kernels::Execution &execution, bool lift) {
  std::optional<hostguard::Lift> lifted;
  if (lift) {
    lifted.emplace();
  }
  Nanoseconds from = now();
  std::string problem = execution.run(allocations(), config().threads);
  Nanoseconds taken = config().duration(name).value_or(now() - from);
  if (!problem.empty()) {
    report::launched(name, report::Launch::failed, taken);
    report::violation(report::Kind::kernel, name + ": " + problem);
    return hipErrorLaunchFailure;
  }
  report::launched(name, report::Launch::executed, taken);
  return hipSuccess;
}

hipError_t build(const Prepared &prepared, Operation &operation) {
  const std::string &name = prepared.function->name;
  operation.what = name;
  operation.duration = config().duration(name);
  operation.atLeast = leastTime;
  std::shared_ptr<kernels::Execution> execution;
  if (config().execute && prepared.launch.kernel != nullptr) {
    execution = kernels::prepare(prepared.launch);
  }
  if (execution == nullptr) {
    if (config().execute && config().unknownIsError) {
      report::launched(name, report::Launch::failed, Nanoseconds::zero());
      report::violation(report::Kind::kernel,
                        name + ": nobody knows how to execute it (SIMHIP_UNKNOWN=error)");
      return hipErrorNotSupported;
    }
    operation.run = [name, time = operation.duration.value_or(leastTime)] {
      report::launched(name, report::Launch::noop, time);
      return hipSuccess;
    };
    return hipSuccess;
  }
  for (kernels::Access &access : execution->accesses()) {
    operation.touches.push_back(
        Range{access.begin, access.bytes, access.writes, std::move(access.argument)});
  }
  if (!admit(name, operation.touches)) {
    operation.touches.clear();
    operation.run = [name] {
      report::launched(name, report::Launch::failed, Nanoseconds::zero());
      return hipErrorIllegalAddress;
    };
    return hipSuccess;
  }
  // An execution that does not say what it touches may touch pinned memory.
  bool lift = operation.touches.empty() || touchesPinned(operation.touches);
  operation.run = [name, execution, lift] { return run(name, *execution, lift); };
  return hipSuccess;
}

hipError_t launch(const Request &request, hipStream_t handle) {
  if (request.function == nullptr) {
    return hipErrorInvalidDeviceFunction;
  }
  const kernels::Dim3 &g = request.grid, &b = request.block;
  if (g.x == 0 || g.y == 0 || g.z == 0 || b.x == 0 || b.y == 0 || b.z == 0 ||
      std::uint64_t{b.x} * b.y * b.z > 1024) {
    return hipErrorInvalidConfiguration;
  }
  if (request.sharedBytes > 65536) {
    return hipErrorLaunchOutOfResources;
  }
  Prepared prepared;
  prepared.function = request.function;
  prepared.launch.code = request.function->code;
  prepared.launch.kernel = request.function->kernel;
  prepared.launch.grid = g;
  prepared.launch.block = b;
  prepared.launch.work_items = request.items;
  prepared.launch.dynamic_lds_bytes = static_cast<std::uint32_t>(request.sharedBytes);
  if (hipError_t error = pack(request, prepared.launch.arguments)) {
    return error;
  }
  Runtime &r = runtime();
  StreamRef stream;
  std::vector<std::pair<EventRef, std::shared_ptr<Recording>>> recordings;
  std::shared_ptr<Recording> started, finished;
  {
    Lock lock(r.mutex);
    stream = streamOf(r, handle);
    if (stream == nullptr) {
      return hipErrorInvalidHandle;
    }
    for (auto [event, recording] :
         {std::make_pair(request.start, &started), std::make_pair(request.stop, &finished)}) {
      if (event == nullptr) {
        continue;
      }
      EventRef found = r.events.find(event);
      if (found == nullptr) {
        return hipErrorInvalidHandle;
      }
      if (stream->capture !=
          nullptr) { // as events that are recorded in a capture: they get no time
        recordInCapture(*found, *stream);
        continue;
      }
      *recording = std::make_shared<Recording>();
      recordings.emplace_back(found, *recording);
    }
  }
  if (report::tracing()) {
    report::trace("launch " + request.function->name + " grid " + std::to_string(g.x) + "," +
                  std::to_string(g.y) + "," + std::to_string(g.z) + " block " +
                  std::to_string(b.x) + "," + std::to_string(b.y) + "," + std::to_string(b.z) +
                  " arguments " + std::to_string(prepared.launch.arguments.size()) + " bytes on " +
                  stream->name());
  }
  hipError_t error = submit(r, stream, [=](Operation &operation) {
    operation.started = started;
    operation.finished = finished;
    return build(prepared, operation);
  });
  if (error == hipSuccess) {
    Lock lock(r.mutex);
    for (const auto &[event, recording] : recordings) {
      event->capture = nullptr;
      event->recording = recording;
    }
  }
  return error;
}

FunctionRef find(hipFunction_t handle) {
  Runtime &r = runtime();
  Lock lock(r.mutex);
  return r.functions.find(handle);
}

kernels::Dim3 product(const kernels::Dim3 &grid, const kernels::Dim3 &block) {
  return {grid.x * block.x, grid.y * block.y, grid.z * block.z};
}

std::uint32_t groups(std::uint32_t items, std::uint32_t block) {
  return block == 0 ? 0 : items / block + (items % block != 0 ? 1 : 0);
}

} // namespace
} // namespace simhip

using namespace simhip;

extern "C" {

hipError_t hipModuleLaunchKernel(hipFunction_t function, unsigned int gridX, unsigned int gridY,
                                 unsigned int gridZ, unsigned int blockX, unsigned int blockY,
                                 unsigned int blockZ, unsigned int sharedBytes, hipStream_t stream,
                                 void **parameters, void **extra) {
  return call(__func__, Need::device, [&] {
    Request request{find(function),
                    {gridX, gridY, gridZ},
                    {blockX, blockY, blockZ},
                    {},
                    sharedBytes,
                    parameters,
                    extra};
    request.items = product(request.grid, request.block);
    return launch(request, stream);
  });
}

hipError_t hipModuleLaunchCooperativeKernel(hipFunction_t function, unsigned int gridX,
                                            unsigned int gridY, unsigned int gridZ,
                                            unsigned int blockX, unsigned int blockY,
                                            unsigned int blockZ, unsigned int sharedBytes,
                                            hipStream_t stream, void **parameters) {
  return call(__func__, Need::device, [&] {
    Request request{
        find(function), {gridX, gridY, gridZ}, {blockX, blockY, blockZ}, {}, sharedBytes,
        parameters};
    request.items = product(request.grid, request.block);
    return launch(request, stream);
  });
}

hipError_t hipExtModuleLaunchKernel(hipFunction_t function, uint32_t itemsX, uint32_t itemsY,
                                    uint32_t itemsZ, uint32_t blockX, uint32_t blockY,
                                    uint32_t blockZ, size_t sharedBytes, hipStream_t stream,
                                    void **parameters, void **extra, hipEvent_t start,
                                    hipEvent_t stop, uint32_t) {
  return call(__func__, Need::device, [&] {
    Request request{find(function),
                    {groups(itemsX, blockX), groups(itemsY, blockY), groups(itemsZ, blockZ)},
                    {blockX, blockY, blockZ},
                    {itemsX, itemsY, itemsZ},
                    sharedBytes,
                    parameters,
                    extra,
                    start,
                    stop};
    return launch(request, stream);
  });
}

hipError_t hipLaunchKernel(const void *function, dim3 grid, dim3 block, void **parameters,
                           size_t sharedBytes, hipStream_t stream) {
  return call(__func__, Need::device, [&] {
    Request request{registered(function),
                    {grid.x, grid.y, grid.z},
                    {block.x, block.y, block.z},
                    {},
                    sharedBytes,
                    parameters};
    request.items = product(request.grid, request.block);
    return launch(request, stream);
  });
}

} // extern "C"
