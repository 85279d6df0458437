// Copies and fills.
#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "access.hpp"
#include "call.hpp"
#include "config.hpp"
#include "hostguard.hpp"
#include "report.hpp"
#include "stream.hpp"

namespace simhip {
namespace {

// Rows of bytes. One row, whatever the pitch, where they are contiguous.
struct Rows {
  std::size_t width = 0, height = 1;

  std::size_t span(std::size_t pitch) const {
    return pitch * (height - 1) + width;
  }
};

// More rows than these are noted as one range, gaps included.
constexpr std::size_t rowsNoted = 4096;

void note(std::vector<Range> &touches, std::uintptr_t begin, std::size_t pitch, const Rows &rows,
          bool writes, const char *role) {
  if (rows.height > rowsNoted || pitch == rows.width) {
    touches.push_back(Range{begin, rows.span(pitch), writes, role});
    return;
  }
  for (std::size_t row = 0; row < rows.height; row++) {
    touches.push_back(Range{begin + row * pitch, rows.width, writes, role});
  }
}

struct Copy {
  std::string what;
  std::uintptr_t to = 0, from = 0;
  std::size_t toPitch = 0, fromPitch = 0;
  Rows rows;
  hipMemcpyKind kind = hipMemcpyDefault;
};

bool deviceOnly(const AllocationRef &a) {
  return a != nullptr && a->space == Space::device;
}

bool fits(hipMemcpyKind kind, const AllocationRef &from, const AllocationRef &to) {
  switch (kind) {
  case hipMemcpyHostToHost:
    return !deviceOnly(from) && !deviceOnly(to);
  case hipMemcpyHostToDevice:
    return !deviceOnly(from) && to != nullptr;
  case hipMemcpyDeviceToHost:
    return from != nullptr && !deviceOnly(to);
  case hipMemcpyDeviceToDevice:
  case hipMemcpyDeviceToDeviceNoCU:
    return from != nullptr && to != nullptr;
  case hipMemcpyDefault:
    return true;
  }
  return false;
}

const char *kindName(hipMemcpyKind kind) {
  switch (kind) {
  case hipMemcpyHostToHost:
    return "host to host";
  case hipMemcpyHostToDevice:
    return "host to device";
  case hipMemcpyDeviceToHost:
    return "device to host";
  case hipMemcpyDeviceToDevice:
  case hipMemcpyDeviceToDeviceNoCU:
    return "device to device";
  case hipMemcpyDefault:
    return "default";
  }
  return "?";
}

std::string placeName(const AllocationRef &a, std::uintptr_t address) {
  return a != nullptr ? a->describe(address) : "memory of the host that is not registered";
}

std::byte *reachable(const AllocationRef &a, std::uintptr_t address) {
  return a != nullptr ? a->access(address) : reinterpret_cast<std::byte *>(address);
}

// Protects the pinned sides of a copy that the host does not wait for, until the operation is over.
void guardHost(Operation &operation, const Copy &copy, const AllocationRef &from,
               const AllocationRef &to) {
  std::vector<unsigned> tokens;
  if (to != nullptr && to->space == Space::pinned) {
    tokens.push_back(hostguard::arm(copy.to, copy.rows.span(copy.toPitch),
                                    hostguard::Use::writtenByDevice,
                                    copy.what + " into " + to->describe(copy.to)));
  }
  if (from != nullptr && from->space == Space::pinned) {
    tokens.push_back(hostguard::arm(copy.from, copy.rows.span(copy.fromPitch),
                                    hostguard::Use::readByDevice,
                                    copy.what + " out of " + from->describe(copy.from)));
  }
  if (!tokens.empty()) {
    operation.over = [tokens = std::move(tokens)] {
      std::for_each(tokens.begin(), tokens.end(), hostguard::disarm);
    };
  }
}

// Builds the copy. pageable is set when a side is memory that HIP does not know.
hipError_t build(const Copy &copy, bool guarded, Operation &operation, bool &pageable) {
  Place from = place(copy.what, "source", reinterpret_cast<void *>(copy.from),
                     copy.rows.span(copy.fromPitch), false);
  Place to = place(copy.what, "destination", reinterpret_cast<void *>(copy.to),
                   copy.rows.span(copy.toPitch), true);
  if (!from.ok || !to.ok) {
    return hipErrorInvalidValue;
  }
  if (!fits(copy.kind, from.allocation, to.allocation)) {
    report::violation(report::Kind::direction, copy.what + " of kind " + kindName(copy.kind) +
                                                   " from " +
                                                   placeName(from.allocation, copy.from) + " to " +
                                                   placeName(to.allocation, copy.to));
    return hipErrorInvalidMemcpyDirection;
  }
  pageable = from.allocation == nullptr || to.allocation == nullptr;
  operation.what = copy.what;
  if (from.allocation != nullptr) {
    note(operation.touches, copy.from, copy.fromPitch, copy.rows, false, "source");
  }
  if (to.allocation != nullptr) {
    note(operation.touches, copy.to, copy.toPitch, copy.rows, true, "destination");
  }
  operation.run = [copy, source = reachable(from.allocation, copy.from),
                   target = reachable(to.allocation, copy.to),
                   keep = std::make_pair(from.allocation, to.allocation)] {
    for (std::size_t row = 0; row < copy.rows.height; row++) {
      std::memmove(target + row * copy.toPitch, source + row * copy.fromPitch, copy.rows.width);
    }
    return hipSuccess;
  };
  if (guarded) {
    guardHost(operation, copy, from.allocation, to.allocation);
  }
  return hipSuccess;
}

enum class Host { waits, goesOn };

hipError_t copyRows(const Copy &copy, hipStream_t handle, Host host) {
  if (copy.rows.width == 0 || copy.rows.height == 0 || copy.to == copy.from) {
    return hipSuccess;
  }
  if (copy.to == 0 || copy.from == 0 || copy.kind < hipMemcpyHostToHost ||
      (copy.kind > hipMemcpyDefault && copy.kind != hipMemcpyDeviceToDeviceNoCU)) {
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
  bool pageable = false;
  Point end;
  // A graph that captures the copy runs it without a host that waits, so it is guarded there in any
  // case.
  auto flag = std::make_shared<bool>(false);
  bool guarded = host == Host::goesOn;
  hipError_t error = submit(
      r, stream,
      [copy, guarded, flag](Operation &operation) {
        return build(copy, guarded, operation, *flag);
      },
      &end);
  pageable = *flag;
  if (error != hipSuccess || end.stream == nullptr || (host == Host::goesOn && !pageable)) {
    return error;
  }
  Lock lock(r.mutex);
  wait(lock, r, end);
  return r.devices[static_cast<std::size_t>(stream->device)].failed;
}

hipError_t copyBytes(const char *what, void *to, const void *from, std::size_t bytes,
                     hipMemcpyKind kind, hipStream_t stream, Host host) {
  Copy copy;
  copy.what = what;
  copy.to = reinterpret_cast<std::uintptr_t>(to);
  copy.from = reinterpret_cast<std::uintptr_t>(from);
  copy.toPitch = copy.fromPitch = copy.rows.width = bytes;
  copy.kind = kind;
  return copyRows(copy, stream, host);
}

hipError_t copyPitched(const char *what, void *to, std::size_t toPitch, const void *from,
                       std::size_t fromPitch, std::size_t width, std::size_t height,
                       hipMemcpyKind kind, hipStream_t stream, Host host) {
  if (toPitch < width || fromPitch < width) {
    return hipErrorInvalidPitchValue;
  }
  Copy copy;
  copy.what = what;
  copy.to = reinterpret_cast<std::uintptr_t>(to);
  copy.from = reinterpret_cast<std::uintptr_t>(from);
  copy.toPitch = toPitch;
  copy.fromPitch = fromPitch;
  copy.rows = Rows{width, height};
  copy.kind = kind;
  return copyRows(copy, stream, host);
}

// Fills rows of elements of 1, 2 or 4 bytes.
hipError_t fill(const char *what, void *to, std::size_t pitch, std::uint32_t value,
                std::size_t element, std::size_t count, std::size_t height, hipStream_t handle,
                Host host) {
  if (count == 0 || height == 0) {
    return hipSuccess;
  }
  if (to == nullptr || count > SIZE_MAX / element) {
    return hipErrorInvalidValue;
  }
  Rows rows{count * element, height};
  if (pitch < rows.width) {
    return hipErrorInvalidPitchValue;
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
  auto begin = reinterpret_cast<std::uintptr_t>(to);
  Recipe recipe = [=, name = std::string(what)](Operation &operation) {
    operation.what = name;
    if (!admit(name, {Range{begin, rows.span(pitch), true, "destination"}})) {
      return hipErrorInvalidValue;
    }
    note(operation.touches, begin, pitch, rows, true, "destination");
    AllocationRef a = allocations().find(begin);
    operation.run = [=] {
      for (std::size_t row = 0; row < rows.height; row++) {
        std::byte *out = a->access(begin + row * pitch);
        if (element == 1) {
          std::memset(out, static_cast<int>(value), rows.width);
          continue;
        }
        for (std::size_t i = 0; i < count; i++) {
          std::memcpy(out + i * element, &value, element); // little endian
        }
      }
      return hipSuccess;
    };
    return hipSuccess;
  };
  Point end;
  hipError_t error = submit(r, stream, recipe, &end);
  if (error != hipSuccess || end.stream == nullptr || host == Host::goesOn) {
    return error;
  }
  Lock lock(r.mutex);
  wait(lock, r, end);
  return r.devices[static_cast<std::size_t>(stream->device)].failed;
}

} // namespace
} // namespace simhip

using namespace simhip;

extern "C" {

hipError_t hipMemcpy(void *destination, const void *source, size_t size, hipMemcpyKind kind) {
  return call(__func__, Need::safety, [&] {
    return copyBytes("hipMemcpy", destination, source, size, kind, nullptr, Host::waits);
  });
}

hipError_t hipMemcpyAsync(void *destination, const void *source, size_t size, hipMemcpyKind kind,
                          hipStream_t stream) {
  return call(__func__, Need::device, [&] {
    return copyBytes("hipMemcpyAsync", destination, source, size, kind, stream, Host::goesOn);
  });
}

hipError_t hipMemcpyWithStream(void *destination, const void *source, size_t size,
                               hipMemcpyKind kind, hipStream_t stream) {
  return call(__func__, Need::safety, [&] {
    return copyBytes("hipMemcpyWithStream", destination, source, size, kind, stream, Host::waits);
  });
}

hipError_t hipMemcpyHtoD(hipDeviceptr_t destination, const void *source, size_t size) {
  return call(__func__, Need::safety, [&] {
    return copyBytes("hipMemcpyHtoD", destination, source, size, hipMemcpyHostToDevice, nullptr,
                     Host::waits);
  });
}

hipError_t hipMemcpyDtoH(void *destination, hipDeviceptr_t source, size_t size) {
  return call(__func__, Need::safety, [&] {
    return copyBytes("hipMemcpyDtoH", destination, source, size, hipMemcpyDeviceToHost, nullptr,
                     Host::waits);
  });
}

hipError_t hipMemcpyDtoD(hipDeviceptr_t destination, hipDeviceptr_t source, size_t size) {
  return call(__func__, Need::safety, [&] {
    return copyBytes("hipMemcpyDtoD", destination, source, size, hipMemcpyDeviceToDevice, nullptr,
                     Host::waits);
  });
}

hipError_t hipMemcpyHtoDAsync(hipDeviceptr_t destination, const void *source, size_t size,
                              hipStream_t stream) {
  return call(__func__, Need::device, [&] {
    return copyBytes("hipMemcpyHtoDAsync", destination, source, size, hipMemcpyHostToDevice, stream,
                     Host::goesOn);
  });
}

hipError_t hipMemcpyDtoHAsync(void *destination, hipDeviceptr_t source, size_t size,
                              hipStream_t stream) {
  return call(__func__, Need::device, [&] {
    return copyBytes("hipMemcpyDtoHAsync", destination, source, size, hipMemcpyDeviceToHost, stream,
                     Host::goesOn);
  });
}

hipError_t hipMemcpyDtoDAsync(hipDeviceptr_t destination, hipDeviceptr_t source, size_t size,
                              hipStream_t stream) {
  return call(__func__, Need::device, [&] {
    return copyBytes("hipMemcpyDtoDAsync", destination, source, size, hipMemcpyDeviceToDevice,
                     stream, Host::goesOn);
  });
}

hipError_t hipMemcpyPeer(void *destination, int to, const void *source, int from, size_t size) {
  return call(__func__, Need::safety, [&] {
    if (to < 0 || from < 0 || to >= config().devices || from >= config().devices) {
      return hipErrorInvalidDevice;
    }
    return copyBytes("hipMemcpyPeer", destination, source, size, hipMemcpyDeviceToDevice, nullptr,
                     Host::waits);
  });
}

hipError_t hipMemcpyPeerAsync(void *destination, int to, const void *source, int from, size_t size,
                              hipStream_t stream) {
  return call(__func__, Need::device, [&] {
    if (to < 0 || from < 0 || to >= config().devices || from >= config().devices) {
      return hipErrorInvalidDevice;
    }
    return copyBytes("hipMemcpyPeerAsync", destination, source, size, hipMemcpyDeviceToDevice,
                     stream, Host::goesOn);
  });
}

hipError_t hipMemcpy2D(void *destination, size_t destinationPitch, const void *source,
                       size_t sourcePitch, size_t width, size_t height, hipMemcpyKind kind) {
  return call(__func__, Need::safety, [&] {
    return copyPitched("hipMemcpy2D", destination, destinationPitch, source, sourcePitch, width,
                       height, kind, nullptr, Host::waits);
  });
}

hipError_t hipMemcpy2DAsync(void *destination, size_t destinationPitch, const void *source,
                            size_t sourcePitch, size_t width, size_t height, hipMemcpyKind kind,
                            hipStream_t stream) {
  return call(__func__, Need::device, [&] {
    return copyPitched("hipMemcpy2DAsync", destination, destinationPitch, source, sourcePitch,
                       width, height, kind, stream, Host::goesOn);
  });
}

hipError_t hipMemset(void *destination, int value, size_t size) {
  return call(__func__, Need::safety, [&] {
    return fill("hipMemset", destination, size, static_cast<std::uint32_t>(value), 1, size, 1,
                nullptr, Host::waits);
  });
}

hipError_t hipMemsetAsync(void *destination, int value, size_t size, hipStream_t stream) {
  return call(__func__, Need::device, [&] {
    return fill("hipMemsetAsync", destination, size, static_cast<std::uint32_t>(value), 1, size, 1,
                stream, Host::goesOn);
  });
}

hipError_t hipMemsetD8(hipDeviceptr_t destination, unsigned char value, size_t count) {
  return call(__func__, Need::safety, [&] {
    return fill("hipMemsetD8", destination, count, value, 1, count, 1, nullptr, Host::waits);
  });
}

hipError_t hipMemsetD8Async(hipDeviceptr_t destination, unsigned char value, size_t count,
                            hipStream_t stream) {
  return call(__func__, Need::device, [&] {
    return fill("hipMemsetD8Async", destination, count, value, 1, count, 1, stream, Host::goesOn);
  });
}

hipError_t hipMemsetD16(hipDeviceptr_t destination, unsigned short value, size_t count) {
  return call(__func__, Need::safety, [&] {
    return fill("hipMemsetD16", destination, SIZE_MAX, value, 2, count, 1, nullptr, Host::waits);
  });
}

hipError_t hipMemsetD16Async(hipDeviceptr_t destination, unsigned short value, size_t count,
                             hipStream_t stream) {
  return call(__func__, Need::device, [&] {
    return fill("hipMemsetD16Async", destination, SIZE_MAX, value, 2, count, 1, stream,
                Host::goesOn);
  });
}

hipError_t hipMemsetD32(hipDeviceptr_t destination, int value, size_t count) {
  return call(__func__, Need::safety, [&] {
    return fill("hipMemsetD32", destination, SIZE_MAX, static_cast<std::uint32_t>(value), 4, count,
                1, nullptr, Host::waits);
  });
}

hipError_t hipMemsetD32Async(hipDeviceptr_t destination, int value, size_t count,
                             hipStream_t stream) {
  return call(__func__, Need::device, [&] {
    return fill("hipMemsetD32Async", destination, SIZE_MAX, static_cast<std::uint32_t>(value), 4,
                count, 1, stream, Host::goesOn);
  });
}

hipError_t hipMemset2D(void *destination, size_t pitch, int value, size_t width, size_t height) {
  return call(__func__, Need::safety, [&] {
    return fill("hipMemset2D", destination, pitch, static_cast<std::uint32_t>(value), 1, width,
                height, nullptr, Host::waits);
  });
}

hipError_t hipMemset2DAsync(void *destination, size_t pitch, int value, size_t width, size_t height,
                            hipStream_t stream) {
  return call(__func__, Need::device, [&] {
    return fill("hipMemset2DAsync", destination, pitch, static_cast<std::uint32_t>(value), 1, width,
                height, stream, Host::goesOn);
  });
}

} // extern "C"
