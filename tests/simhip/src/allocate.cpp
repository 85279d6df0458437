// Allocating, freeing, and asking about memory.
#include <cstring>

#include "access.hpp"
#include "call.hpp"
#include "capture.hpp"
#include "config.hpp"
#include "hostguard.hpp"
#include "memory.hpp"
#include "report.hpp"
#include "stream.hpp"

namespace simhip {
namespace {

// What hipDeviceGetDefaultMemPool gives out: a pool has no state, so the device's number says it
// all.
constexpr std::uintptr_t poolBase = 0x5050000000000000;

hipMemPool_t poolOf(int device) {
  return reinterpret_cast<hipMemPool_t>(poolBase + static_cast<std::uintptr_t>(device + 1) * 16);
}

bool isPool(hipMemPool_t pool) {
  for (int device = 0; device < config().devices; device++) {
    if (pool == poolOf(device)) {
      return true;
    }
  }
  return false;
}

hipError_t allocate(const char *by, void **pointer, std::size_t bytes, Space space, unsigned flags,
                    AllocationRef *made = nullptr) {
  if (pointer == nullptr) {
    return hipErrorInvalidValue;
  }
  *pointer = nullptr;
  if (bytes == 0) {
    return hipSuccess;
  }
  hostguard::install();
  AllocationRef a = allocations().allocate(bytes, space, thread().device, flags, by);
  if (a == nullptr) {
    return hipErrorOutOfMemory;
  }
  if (made != nullptr) {
    *made = a;
  }
  *pointer = reinterpret_cast<void *>(a->begin);
  return hipSuccess;
}

// The allocation that begins at pointer and that a function for host or device memory may free.
// Otherwise null, and reported.
AllocationRef toFree(const char *by, void *pointer, bool host) {
  auto address = reinterpret_cast<std::uintptr_t>(pointer);
  AllocationRef a = allocations().find(address);
  if (a == nullptr) {
    auto freed = allocations().freed(address);
    report::violation(report::Kind::wrongFree,
                      std::string(by) + (freed ? " of " + *freed + " before"
                                               : " of a pointer that is no allocation"));
    return nullptr;
  }
  if (a->begin != address || onHost(a->space) != host || a->space == Space::registered) {
    report::violation(report::Kind::wrongFree, std::string(by) + " of " + a->describe(address));
    return nullptr;
  }
  return a;
}

// Waits for the device, as HIP's functions do, and for the others, which may use the memory too,
// and gives it back.
hipError_t freeNow(const char *by, void *pointer, bool host) {
  if (pointer == nullptr) {
    return hipSuccess;
  }
  AllocationRef a = toFree(by, pointer, host);
  if (a == nullptr || !allocations().condemn(a, by)) {
    return hipErrorInvalidValue;
  }
  Runtime &r = runtime();
  {
    Lock lock(r.mutex);
    synchronizeDevices(lock, r);
    r.history.forget(a->begin, a->bytes);
  }
  allocations().release(a);
  return hipSuccess;
}

hipError_t freeInOrder(void *pointer, hipStream_t handle) {
  const char *by = "hipFreeAsync";
  Runtime &r = runtime();
  StreamRef stream;
  {
    Lock lock(r.mutex);
    stream = streamOf(r, handle);
    if (stream != nullptr && stream->capture != nullptr) {
      return captureForbidsWaiting(r, *stream);
    }
  }
  if (stream == nullptr) {
    return hipErrorInvalidHandle;
  }
  if (pointer == nullptr) {
    return hipErrorInvalidValue;
  }
  AllocationRef a = toFree(by, pointer, false);
  if (a == nullptr) {
    return hipErrorInvalidValue;
  }
  return submit(r, stream, [=, &r](Operation &operation) {
    if (!allocations().condemn(a, by)) {
      return hipErrorInvalidValue;
    }
    operation.what = by;
    operation.touches.push_back(Range{a->begin, a->bytes, true, "all of it"});
    operation.over = [=, &r] { // also after an error, when nothing runs
      r.history.forget(a->begin, a->bytes);
      allocations().release(a);
    };
    return hipSuccess;
  });
}

hipError_t allocateInOrder(const char *by, void **pointer, std::size_t bytes, hipStream_t handle) {
  Runtime &r = runtime();
  StreamRef stream;
  {
    Lock lock(r.mutex);
    stream = streamOf(r, handle);
    if (stream != nullptr && stream->capture != nullptr) {
      return captureForbidsWaiting(r, *stream);
    }
  }
  if (stream == nullptr) {
    return hipErrorInvalidHandle;
  }
  AllocationRef a;
  hipError_t error = allocate(by, pointer, bytes, Space::device, 0, &a);
  if (error != hipSuccess || a == nullptr) {
    return error;
  }
  // Who uses the memory must be ordered behind its allocation.
  return submit(r, stream, [=](Operation &operation) {
    operation.what = by;
    operation.touches.push_back(Range{a->begin, a->bytes, true, "all of it"});
    return hipSuccess;
  });
}

hipError_t attributesOf(hipPointerAttribute_t &out, const void *pointer) {
  std::memset(&out, 0, sizeof out);
  AllocationRef a = allocations().find(reinterpret_cast<std::uintptr_t>(pointer));
  if (a == nullptr) {
    return hipErrorInvalidValue;
  }
  auto *address = const_cast<void *>(pointer);
  out.type = onHost(a->space)             ? hipMemoryTypeHost
             : a->space == Space::managed ? hipMemoryTypeManaged
                                          : hipMemoryTypeDevice;
  out.device = a->device;
  out.devicePointer = address;
  out.hostPointer = a->space == Space::device ? nullptr : address;
  out.isManaged = a->space == Space::managed ? 1 : 0;
  out.allocationFlags = a->flags;
  return hipSuccess;
}

} // namespace
} // namespace simhip

using namespace simhip;

extern "C" {

hipError_t hipMalloc(void **pointer, size_t size) {
  return call(__func__, Need::safety,
              [&] { return allocate("hipMalloc", pointer, size, Space::device, 0); });
}

hipError_t hipExtMallocWithFlags(void **pointer, size_t size, unsigned int flags) {
  return call(__func__, Need::safety, [&] {
    return allocate("hipExtMallocWithFlags", pointer, size, Space::device, flags);
  });
}

hipError_t hipMallocManaged(void **pointer, size_t size, unsigned int flags) {
  return call(__func__, Need::safety, [&] {
    if (flags != hipMemAttachGlobal && flags != hipMemAttachHost) {
      return hipErrorInvalidValue;
    }
    return allocate("hipMallocManaged", pointer, size, Space::managed, flags);
  });
}

hipError_t hipMallocPitch(void **pointer, size_t *pitch, size_t width, size_t height) {
  return call(__func__, Need::safety, [&] {
    if (pitch == nullptr || width > SIZE_MAX - blockAlignment) {
      return hipErrorInvalidValue;
    }
    std::size_t aligned = (width + blockAlignment - 1) / blockAlignment * blockAlignment;
    if (height != 0 && aligned > SIZE_MAX / height) {
      return hipErrorOutOfMemory;
    }
    *pitch = aligned;
    return allocate("hipMallocPitch", pointer, aligned * height, Space::device, 0);
  });
}

hipError_t hipHostMalloc(void **pointer, size_t size, unsigned int flags) {
  return call(__func__, Need::safety,
              [&] { return allocate("hipHostMalloc", pointer, size, Space::pinned, flags); });
}

hipError_t hipHostAlloc(void **pointer, size_t size, unsigned int flags) {
  return call(__func__, Need::safety,
              [&] { return allocate("hipHostAlloc", pointer, size, Space::pinned, flags); });
}

hipError_t hipMallocHost(void **pointer, size_t size) {
  return call(__func__, Need::safety,
              [&] { return allocate("hipMallocHost", pointer, size, Space::pinned, 0); });
}

hipError_t hipFree(void *pointer) {
  return call(__func__, Need::safety, [&] { return freeNow("hipFree", pointer, false); });
}

hipError_t hipHostFree(void *pointer) {
  return call(__func__, Need::safety, [&] { return freeNow("hipHostFree", pointer, true); });
}

hipError_t hipFreeHost(void *pointer) {
  return call(__func__, Need::safety, [&] { return freeNow("hipFreeHost", pointer, true); });
}

hipError_t hipHostRegister(void *pointer, size_t size, unsigned int flags) {
  return call(__func__, Need::safety, [&] {
    if (pointer == nullptr || size == 0) {
      return hipErrorInvalidValue;
    }
    return allocations().addRegistered(pointer, size, thread().device, flags, "hipHostRegister") !=
                   nullptr
               ? hipSuccess
               : hipErrorHostMemoryAlreadyRegistered;
  });
}

hipError_t hipHostUnregister(void *pointer) {
  return call(__func__, Need::safety, [&] {
    AllocationRef a = allocations().find(reinterpret_cast<std::uintptr_t>(pointer));
    if (a == nullptr || a->space != Space::registered ||
        reinterpret_cast<void *>(a->begin) != pointer) {
      return hipErrorHostMemoryNotRegistered;
    }
    Runtime &r = runtime();
    Lock lock(r.mutex);
    synchronizeDevices(lock, r);
    r.history.forget(a->begin, a->bytes);
    allocations().condemn(a, "hipHostUnregister");
    return hipSuccess;
  });
}

hipError_t hipHostGetDevicePointer(void **device, void *host, unsigned int flags) {
  return call(__func__, Need::device, [&] {
    AllocationRef a = allocations().find(reinterpret_cast<std::uintptr_t>(host));
    if (device == nullptr || flags != 0 || a == nullptr || !onHost(a->space)) {
      return hipErrorInvalidValue;
    }
    *device = host;
    return hipSuccess;
  });
}

hipError_t hipHostGetFlags(unsigned int *flags, void *pointer) {
  return call(__func__, Need::device, [&] {
    AllocationRef a = allocations().find(reinterpret_cast<std::uintptr_t>(pointer));
    if (flags == nullptr || a == nullptr || a->space != Space::pinned) {
      return hipErrorInvalidValue;
    }
    *flags = a->flags;
    return hipSuccess;
  });
}

hipError_t hipMemGetInfo(size_t *available, size_t *total) {
  return call(__func__, Need::device, [&] {
    if (available == nullptr || total == nullptr) {
      return hipErrorInvalidValue;
    }
    *total = config().memory;
    *available = config().memory - allocations().used(thread().device);
    return hipSuccess;
  });
}

hipError_t hipMemPtrGetInfo(void *pointer, size_t *size) {
  return call(__func__, Need::device, [&] {
    AllocationRef a = allocations().find(reinterpret_cast<std::uintptr_t>(pointer));
    if (size == nullptr || a == nullptr) {
      return hipErrorInvalidValue;
    }
    *size = a->bytes;
    return hipSuccess;
  });
}

hipError_t hipMemGetAddressRange(hipDeviceptr_t *base, size_t *size, hipDeviceptr_t pointer) {
  return call(__func__, Need::device, [&] {
    AllocationRef a = allocations().find(reinterpret_cast<std::uintptr_t>(pointer));
    if (a == nullptr) {
      return hipErrorNotFound;
    }
    if (base != nullptr) {
      *base = reinterpret_cast<void *>(a->begin);
    }
    if (size != nullptr) {
      *size = a->bytes;
    }
    return hipSuccess;
  });
}

hipError_t hipPointerGetAttributes(hipPointerAttribute_t *attributes, const void *pointer) {
  return call(__func__, Need::device, [&] {
    return attributes != nullptr && pointer != nullptr ? attributesOf(*attributes, pointer)
                                                       : hipErrorInvalidValue;
  });
}

hipError_t hipMallocAsync(void **pointer, size_t size, hipStream_t stream) {
  return call(__func__, Need::device,
              [&] { return allocateInOrder("hipMallocAsync", pointer, size, stream); });
}

hipError_t hipMallocFromPoolAsync(void **pointer, size_t size, hipMemPool_t pool,
                                  hipStream_t stream) {
  return call(__func__, Need::device, [&] {
    return isPool(pool) ? allocateInOrder("hipMallocFromPoolAsync", pointer, size, stream)
                        : hipErrorInvalidValue;
  });
}

hipError_t hipFreeAsync(void *pointer, hipStream_t stream) {
  return call(__func__, Need::device, [&] { return freeInOrder(pointer, stream); });
}

hipError_t hipDeviceGetDefaultMemPool(hipMemPool_t *pool, int device) {
  return call(__func__, Need::nothing, [&] {
    if (pool == nullptr || device < 0 || device >= config().devices) {
      return pool == nullptr ? hipErrorInvalidValue : hipErrorInvalidDevice;
    }
    *pool = poolOf(device);
    return hipSuccess;
  });
}

hipError_t hipDeviceGetMemPool(hipMemPool_t *pool, int device) {
  return call(__func__, Need::nothing, [&] {
    if (pool == nullptr || device < 0 || device >= config().devices) {
      return pool == nullptr ? hipErrorInvalidValue : hipErrorInvalidDevice;
    }
    *pool = poolOf(device);
    return hipSuccess;
  });
}

hipError_t hipMemPoolTrimTo(hipMemPool_t pool, size_t) {
  return call(__func__, Need::nothing,
              [&] { return isPool(pool) ? hipSuccess : hipErrorInvalidValue; });
}

} // extern "C"
