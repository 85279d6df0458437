// Devices and errors: what the simulated GPU says about itself.
//
// The numbers are an MI300X's (gfx942), from its data sheet and what HIP reports there, except for
// those that SIMHIP_ARCH, SIMHIP_CU and SIMHIP_MEMORY change. Warps have 32 lanes on gfx10 and
// later, 64 before.
#include <cstdio>
#include <cstring>

#include "call.hpp"
#include "capture.hpp"
#include "config.hpp"
#include "errors.hpp"
#include "memory.hpp"
#include "runtime.hpp"
#include "stream.hpp"

namespace simhip {
namespace {

constexpr int runtimeVersion = HIP_VERSION;
constexpr std::size_t ldsBytes = 65536;
constexpr int threadsPerBlock = 1024, threadsPerUnit = 2048, registers = 65536;
constexpr int clockKilohertz = 2100000, memoryClockKilohertz = 1300000, memoryBusBits = 8192;
constexpr int timerKilohertz = 100000;
constexpr int l2Bytes = 4 << 20;
constexpr int gridX = 2147483647, gridYZ = 65536;

bool known(int device) {
  return device >= 0 && device < config().devices;
}

// The processor's name is gfx, the major version in decimal, and a hexadecimal digit each for minor
// and stepping.
int majorVersion() {
  const std::string &p = config().processor;
  return std::atoi(p.substr(3, p.size() - 5).c_str());
}

int minorVersion() {
  const std::string &p = config().processor;
  return static_cast<int>(std::strtol(p.substr(p.size() - 2, 1).c_str(), nullptr, 16));
}

int warpSize() {
  return majorVersion() >= 10 ? 32 : 64;
}

void name(char *out, std::size_t size) {
  std::snprintf(out, size, "AMD Instinct MI300X (simhip)");
}

hipUUID uuid(int device) {
  hipUUID id{};
  std::snprintf(id.bytes, sizeof id.bytes, "simhip-%08x", static_cast<unsigned>(device));
  return id;
}

void describe(hipDeviceProp_t &p, int device) {
  std::memset(static_cast<void *>(&p), 0, sizeof p);
  name(p.name, sizeof p.name);
  p.uuid = uuid(device);
  std::snprintf(p.gcnArchName, sizeof p.gcnArchName, "%s", config().architecture.c_str());
  p.totalGlobalMem = config().memory;
  p.sharedMemPerBlock = p.sharedMemPerBlockOptin = p.sharedMemPerMultiprocessor = ldsBytes;
  p.maxSharedMemoryPerMultiProcessor = ldsBytes;
  p.regsPerBlock = p.regsPerMultiprocessor = registers;
  p.warpSize = warpSize();
  p.memPitch = 2147483647;
  p.maxThreadsPerBlock = threadsPerBlock;
  p.maxThreadsDim[0] = p.maxThreadsDim[1] = p.maxThreadsDim[2] = threadsPerBlock;
  p.maxGridSize[0] = gridX;
  p.maxGridSize[1] = p.maxGridSize[2] = gridYZ;
  p.clockRate = clockKilohertz;
  p.clockInstructionRate = timerKilohertz;
  p.memoryClockRate = memoryClockKilohertz;
  p.memoryBusWidth = memoryBusBits;
  p.totalConstMem = 2147483647;
  p.major = majorVersion();
  p.minor = minorVersion();
  p.textureAlignment = p.texturePitchAlignment = blockAlignment;
  p.multiProcessorCount = config().computeUnits;
  p.canMapHostMemory = p.unifiedAddressing = p.hostRegisterSupported = 1;
  p.concurrentKernels = p.asyncEngineCount = p.deviceOverlap = 1;
  p.pciBusID = device + 1;
  p.l2CacheSize = l2Bytes;
  p.maxThreadsPerMultiProcessor = threadsPerUnit;
  p.maxBlocksPerMultiProcessor = 2;
  p.streamPrioritiesSupported = p.managedMemory = p.memoryPoolsSupported = 1;
  p.canUseHostPointerForRegisteredMem = p.cooperativeLaunch = 1;
  p.arch.hasGlobalInt32Atomics = p.arch.hasSharedInt32Atomics = p.arch.hasGlobalInt64Atomics = 1;
  p.arch.hasGlobalFloatAtomicExch = p.arch.hasSharedFloatAtomicExch = p.arch.hasFloatAtomicAdd = 1;
  p.arch.hasSharedInt64Atomics = p.arch.hasDoubles = p.arch.hasWarpVote = p.arch.hasWarpBallot = 1;
  p.arch.hasWarpShuffle = p.arch.hasThreadFenceSystem = p.arch.hasSyncThreadsExt =
      p.arch.has3dGrid = 1;
}

// Attributes of HIP that are not a number of the property structure are answered here; others that
// HIP has are zero, as where a device lacks something.
int attribute(hipDeviceAttribute_t which, int device) {
  hipDeviceProp_t p;
  describe(p, device);
  switch (which) {
  case hipDeviceAttributeWarpSize:
    return p.warpSize;
  case hipDeviceAttributeMultiprocessorCount:
  case hipDeviceAttributePhysicalMultiProcessorCount:
    return p.multiProcessorCount;
  case hipDeviceAttributeMaxSharedMemoryPerBlock:
  case hipDeviceAttributeSharedMemPerBlockOptin:
  case hipDeviceAttributeSharedMemPerMultiprocessor:
  case hipDeviceAttributeMaxSharedMemoryPerMultiprocessor:
    return static_cast<int>(ldsBytes);
  case hipDeviceAttributeMaxThreadsPerBlock:
  case hipDeviceAttributeMaxBlockDimX:
  case hipDeviceAttributeMaxBlockDimY:
  case hipDeviceAttributeMaxBlockDimZ:
    return threadsPerBlock;
  case hipDeviceAttributeMaxGridDimX:
    return gridX;
  case hipDeviceAttributeMaxGridDimY:
  case hipDeviceAttributeMaxGridDimZ:
    return gridYZ;
  case hipDeviceAttributeMaxThreadsPerMultiProcessor:
    return threadsPerUnit;
  case hipDeviceAttributeMaxBlocksPerMultiProcessor:
    return p.maxBlocksPerMultiProcessor;
  case hipDeviceAttributeMaxRegistersPerBlock:
  case hipDeviceAttributeMaxRegistersPerMultiprocessor:
    return registers;
  case hipDeviceAttributeComputeCapabilityMajor:
    return p.major;
  case hipDeviceAttributeComputeCapabilityMinor:
    return p.minor;
  case hipDeviceAttributeMaxPitch:
  case hipDeviceAttributeTotalConstantMemory:
    return 2147483647;
  case hipDeviceAttributeClockRate:
    return clockKilohertz;
  case hipDeviceAttributeClockInstructionRate:
  case hipDeviceAttributeWallClockRate:
    return timerKilohertz;
  case hipDeviceAttributeMemoryClockRate:
    return memoryClockKilohertz;
  case hipDeviceAttributeMemoryBusWidth:
    return memoryBusBits;
  case hipDeviceAttributeL2CacheSize:
    return l2Bytes;
  case hipDeviceAttributeTextureAlignment:
  case hipDeviceAttributeTexturePitchAlignment:
    return static_cast<int>(blockAlignment);
  case hipDeviceAttributePciBusId:
    return p.pciBusID;
  case hipDeviceAttributeNumberOfXccs:
    return config().processor == "gfx942" ? 8 : 1;
  case hipDeviceAttributeAsyncEngineCount:
  case hipDeviceAttributeCanMapHostMemory:
  case hipDeviceAttributeCanUseHostPointerForRegisteredMem:
  case hipDeviceAttributeConcurrentKernels:
  case hipDeviceAttributeCooperativeLaunch:
  case hipDeviceAttributeManagedMemory:
  case hipDeviceAttributeStreamPrioritiesSupported:
  case hipDeviceAttributeUnifiedAddressing:
  case hipDeviceAttributeMemoryPoolsSupported:
  case hipDeviceAttributeHostRegisterSupported:
  case hipDeviceAttributeFineGrainSupport:
    return 1;
  case hipDeviceAttributeHostNumaId:
    return -1;
  default:
    return 0;
  }
}

hipError_t takeLast(hipError_t Thread::*which) {
  if (inForkedChild()) {
    return hipErrorNotInitialized;
  }
  hipError_t error = thread().*which;
  thread().*which = hipSuccess;
  return error;
}

// The error of a kernel that went wrong on the thread's device.
hipError_t lasting() {
  if (inForkedChild() || !known(thread().device)) {
    return hipSuccess;
  }
  Runtime &r = runtime();
  Lock lock(r.mutex);
  return r.devices[static_cast<std::size_t>(thread().device)].failed;
}

} // namespace
} // namespace simhip

using namespace simhip;

extern "C" {

hipError_t hipGetLastError() {
  hipError_t stays = lasting(), error = takeLast(&Thread::last);
  return stays != hipSuccess ? stays : error;
}

hipError_t hipExtGetLastError() {
  return takeLast(&Thread::lastCall);
}

hipError_t hipPeekAtLastError() {
  if (inForkedChild()) {
    return hipErrorNotInitialized;
  }
  hipError_t stays = lasting();
  return stays != hipSuccess ? stays : thread().last;
}

const char *hipGetErrorName(hipError_t error) {
  return errorName(error);
}

const char *hipGetErrorString(hipError_t error) {
  return errorText(error);
}

hipError_t hipInit(unsigned int flags) {
  return call(__func__, Need::nothing, [&] {
    if (flags != 0) {
      return hipErrorInvalidValue;
    }
    return config().devices > 0 ? hipSuccess : hipErrorNoDevice;
  });
}

hipError_t hipRuntimeGetVersion(int *version) {
  return call(__func__, Need::nothing, [&] {
    if (version == nullptr) {
      return hipErrorInvalidValue;
    }
    *version = runtimeVersion;
    return hipSuccess;
  });
}

hipError_t hipDriverGetVersion(int *version) {
  return call(__func__, Need::nothing, [&] {
    if (version == nullptr) {
      return hipErrorInvalidValue;
    }
    *version = runtimeVersion;
    return hipSuccess;
  });
}

hipError_t hipGetDeviceCount(int *count) {
  return call(__func__, Need::nothing, [&] {
    if (count == nullptr) {
      return hipErrorInvalidValue;
    }
    *count = config().devices;
    return *count > 0 ? hipSuccess : hipErrorNoDevice;
  });
}

hipError_t hipGetDevice(int *device) {
  return call(__func__, Need::nothing, [&] {
    if (device == nullptr) {
      return hipErrorInvalidValue;
    }
    if (config().devices == 0) {
      return hipErrorNoDevice;
    }
    *device = thread().device;
    return hipSuccess;
  });
}

hipError_t hipSetDevice(int device) {
  return call(__func__, Need::nothing, [&] {
    if (!known(device)) {
      return config().devices == 0 ? hipErrorNoDevice : hipErrorInvalidDevice;
    }
    thread().device = device;
    return hipSuccess;
  });
}

hipError_t hipDeviceGet(hipDevice_t *device, int ordinal) {
  return call(__func__, Need::nothing, [&] {
    if (device == nullptr || !known(ordinal)) {
      return device == nullptr ? hipErrorInvalidValue : hipErrorInvalidDevice;
    }
    *device = ordinal;
    return hipSuccess;
  });
}

hipError_t hipDeviceGetName(char *out, int length, hipDevice_t device) {
  return call(__func__, Need::nothing, [&] {
    if (out == nullptr || length <= 0) {
      return hipErrorInvalidValue;
    }
    if (!known(device)) {
      return hipErrorInvalidDevice;
    }
    name(out, static_cast<std::size_t>(length));
    return hipSuccess;
  });
}

hipError_t hipDeviceGetUuid(hipUUID *out, hipDevice_t device) {
  return call(__func__, Need::nothing, [&] {
    if (out == nullptr || !known(device)) {
      return out == nullptr ? hipErrorInvalidValue : hipErrorInvalidDevice;
    }
    *out = uuid(device);
    return hipSuccess;
  });
}

hipError_t hipDeviceGetPCIBusId(char *bus, int length, int device) {
  return call(__func__, Need::nothing, [&] {
    if (bus == nullptr || length <= 0) {
      return hipErrorInvalidValue;
    }
    if (!known(device)) {
      return hipErrorInvalidDevice;
    }
    std::snprintf(bus, static_cast<std::size_t>(length), "0000:%02x:00.0",
                  static_cast<unsigned>(device + 1));
    return hipSuccess;
  });
}

hipError_t hipDeviceTotalMem(size_t *bytes, hipDevice_t device) {
  return call(__func__, Need::nothing, [&] {
    if (bytes == nullptr || !known(device)) {
      return bytes == nullptr ? hipErrorInvalidValue : hipErrorInvalidDevice;
    }
    *bytes = config().memory;
    return hipSuccess;
  });
}

hipError_t hipDeviceComputeCapability(int *major, int *minor, hipDevice_t device) {
  return call(__func__, Need::nothing, [&] {
    if (major == nullptr || minor == nullptr || !known(device)) {
      return known(device) ? hipErrorInvalidValue : hipErrorInvalidDevice;
    }
    *major = majorVersion();
    *minor = minorVersion();
    return hipSuccess;
  });
}

hipError_t hipDeviceGetAttribute(int *value, hipDeviceAttribute_t which, int device) {
  return call(__func__, Need::nothing, [&] {
    if (value == nullptr || !known(device)) {
      return value == nullptr ? hipErrorInvalidValue : hipErrorInvalidDevice;
    }
    *value = attribute(which, device);
    return hipSuccess;
  });
}

hipError_t hipGetDevicePropertiesR0600(hipDeviceProp_tR0600 *properties, int device) {
  return call(__func__, Need::nothing, [&] {
    if (properties == nullptr || !known(device)) {
      return properties == nullptr ? hipErrorInvalidValue : hipErrorInvalidDevice;
    }
    describe(*properties, device);
    return hipSuccess;
  });
}

hipError_t hipDeviceCanAccessPeer(int *can, int device, int peer) {
  return call(__func__, Need::nothing, [&] {
    if (can == nullptr || !known(device) || !known(peer)) {
      return can == nullptr ? hipErrorInvalidValue : hipErrorInvalidDevice;
    }
    *can = device != peer ? 1 : 0;
    return hipSuccess;
  });
}

hipError_t hipDeviceGetStreamPriorityRange(int *least, int *greatest) {
  return call(__func__, Need::nothing, [&] {
    if (least != nullptr) {
      *least = 1;
    }
    if (greatest != nullptr) {
      *greatest = -1;
    }
    return hipSuccess;
  });
}

hipError_t hipDeviceSynchronize() {
  return call(__func__, Need::safety, [&] {
    Runtime &r = runtime();
    Lock lock(r.mutex);
    int device = thread().device;
    synchronizeDevice(lock, r, device);
    return r.devices[static_cast<std::size_t>(device)].failed;
  });
}

hipError_t hipDeviceReset() {
  return call(__func__, Need::nothing, [&] {
    int device = thread().device;
    if (!known(device)) {
      return hipErrorNoDevice;
    }
    Runtime &r = runtime();
    Lock lock(r.mutex);
    synchronizeDevice(lock, r, device);
    r.devices[static_cast<std::size_t>(device)].failed = hipSuccess;
    // Memory that is still in use is a leak; it stays, so that the list at exit has it.
    return hipSuccess;
  });
}

} // extern "C"
