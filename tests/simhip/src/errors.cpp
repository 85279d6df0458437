// The table of errors. Names are the enumerators' of hip_runtime_api.h; texts are our own, except
// where MIOpen's users know the runtime's by heart.
#include "errors.hpp"

namespace simhip {
namespace {

struct Entry {
  hipError_t error;
  const char *name;
  const char *text;
};

#define ENTRY(name, text)                                                                          \
  { name, #name, text }

constexpr Entry entries[] = {
    ENTRY(hipSuccess, "no error"),
    ENTRY(hipErrorInvalidValue, "invalid argument"),
    ENTRY(hipErrorOutOfMemory, "out of memory"),
    ENTRY(hipErrorNotInitialized, "the runtime cannot be used in this process"),
    ENTRY(hipErrorDeinitialized, "the runtime has ended"),
    ENTRY(hipErrorProfilerDisabled, "the profiler is disabled"),
    ENTRY(hipErrorProfilerNotInitialized, "the profiler is not initialized"),
    ENTRY(hipErrorProfilerAlreadyStarted, "the profiler already runs"),
    ENTRY(hipErrorProfilerAlreadyStopped, "the profiler does not run"),
    ENTRY(hipErrorInvalidConfiguration, "invalid launch configuration"),
    ENTRY(hipErrorInvalidPitchValue, "invalid pitch"),
    ENTRY(hipErrorInvalidSymbol, "invalid device symbol"),
    ENTRY(hipErrorInvalidDevicePointer, "invalid device pointer"),
    ENTRY(hipErrorInvalidMemcpyDirection, "the kind of the copy does not fit its pointers"),
    ENTRY(hipErrorInsufficientDriver, "the driver is too old"),
    ENTRY(hipErrorMissingConfiguration, "a launch without its configuration"),
    ENTRY(hipErrorPriorLaunchFailure, "an earlier launch failed"),
    ENTRY(hipErrorInvalidDeviceFunction, "invalid device function"),
    ENTRY(hipErrorNoDevice, "no ROCm-capable device is detected"),
    ENTRY(hipErrorInvalidDevice, "invalid device ordinal"),
    ENTRY(hipErrorInvalidImage, "not a code object"),
    ENTRY(hipErrorInvalidContext, "invalid device context"),
    ENTRY(hipErrorMapFailed, "mapping failed"),
    ENTRY(hipErrorUnmapFailed, "unmapping failed"),
    ENTRY(hipErrorNoBinaryForGpu, "no code object for this device"),
    ENTRY(hipErrorNotMapped, "not mapped"),
    ENTRY(hipErrorUnsupportedLimit, "unsupported limit"),
    ENTRY(hipErrorPeerAccessUnsupported, "no access between these devices"),
    ENTRY(hipErrorInvalidKernelFile, "invalid kernel file"),
    ENTRY(hipErrorInvalidSource, "invalid source"),
    ENTRY(hipErrorFileNotFound, "file not found"),
    ENTRY(hipErrorSharedObjectSymbolNotFound, "symbol not found in the shared object"),
    ENTRY(hipErrorSharedObjectInitFailed, "the shared object could not be initialized"),
    ENTRY(hipErrorOperatingSystem, "a call of the operating system failed"),
    ENTRY(hipErrorInvalidHandle, "invalid resource handle"),
    ENTRY(hipErrorIllegalState, "the resource is in another state"),
    ENTRY(hipErrorNotFound, "not found"),
    ENTRY(hipErrorNotReady, "device not ready"),
    ENTRY(hipErrorIllegalAddress, "an illegal memory access was encountered"),
    ENTRY(hipErrorLaunchOutOfResources, "too many resources for a launch"),
    ENTRY(hipErrorLaunchTimeOut, "the launch took too long"),
    ENTRY(hipErrorPeerAccessAlreadyEnabled, "access between the devices is already enabled"),
    ENTRY(hipErrorPeerAccessNotEnabled, "access between the devices is not enabled"),
    ENTRY(hipErrorSetOnActiveProcess, "not possible once the process uses the device"),
    ENTRY(hipErrorContextIsDestroyed, "the context is destroyed"),
    ENTRY(hipErrorAssert, "an assertion in a kernel failed"),
    ENTRY(hipErrorHostMemoryAlreadyRegistered, "the host memory is already registered"),
    ENTRY(hipErrorHostMemoryNotRegistered, "the host memory is not registered"),
    ENTRY(hipErrorLaunchFailure, "unspecified launch failure"),
    ENTRY(hipErrorCooperativeLaunchTooLarge, "too many blocks for a cooperative launch"),
    ENTRY(hipErrorNotSupported, "operation not supported"),
    ENTRY(hipErrorStreamCaptureUnsupported, "operation not permitted when stream is capturing"),
    ENTRY(hipErrorStreamCaptureInvalidated,
          "operation failed due to a previous error during capture"),
    ENTRY(hipErrorStreamCaptureMerge, "the operation would merge two captures"),
    ENTRY(hipErrorStreamCaptureUnmatched, "the capture did not begin in this stream"),
    ENTRY(hipErrorStreamCaptureUnjoined, "a stream of the capture was not joined to its origin"),
    ENTRY(hipErrorStreamCaptureIsolation, "a dependency would cross the border of a capture"),
    ENTRY(hipErrorStreamCaptureImplicit, "the null stream would depend on a capturing stream"),
    ENTRY(hipErrorCapturedEvent, "the event was last recorded in a capturing stream"),
    ENTRY(hipErrorStreamCaptureWrongThread, "the capture began in another thread"),
    ENTRY(hipErrorGraphExecUpdateFailure, "the graph could not be updated"),
    ENTRY(hipErrorUnknown, "unknown error"),
    ENTRY(hipErrorRuntimeMemory, "the runtime failed to handle memory"),
    ENTRY(hipErrorRuntimeOther, "the runtime failed"),
};

#undef ENTRY

} // namespace

const char *errorName(hipError_t error) {
  for (const Entry &entry : entries) {
    if (entry.error == error) {
      return entry.name;
    }
  }
  return "hipErrorUnknown";
}

const char *errorText(hipError_t error) {
  for (const Entry &entry : entries) {
    if (entry.error == error) {
      return entry.text;
    }
  }
  return "unrecognized error";
}

std::optional<hipError_t> errorNamed(const std::string &name) {
  for (const Entry &entry : entries) {
    if (name == entry.name) {
      return entry.error;
    }
  }
  return std::nullopt;
}

} // namespace simhip
