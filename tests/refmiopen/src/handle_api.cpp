#include <miopen/miopen.h>
#include <miopen/version.h>

#include "errors.hpp"
#include "handle.hpp"

using miopen::deref;
using miopen::Try;

extern "C" {

MIOPEN_EXPORT const char *miopenGetErrorString(miopenStatus_t error) {
  miopen::LogEntry(__func__);
  switch (error) {
  case miopenStatusSuccess:
    return "miopenStatusSuccess";
  case miopenStatusNotInitialized:
    return "miopenStatusNotInitialized";
  case miopenStatusInvalidValue:
    return "miopenStatusInvalidValue";
  case miopenStatusBadParm:
    return "miopenStatusBadParm";
  case miopenStatusAllocFailed:
    return "miopenStatusAllocFailed";
  case miopenStatusInternalError:
    return "miopenStatusInternalError";
  case miopenStatusNotImplemented:
    return "miopenStatusNotImplemented";
  case miopenStatusUnknownError:
    return "miopenStatusUnknownError";
  case miopenStatusUnsupportedOp:
    return "miopenStatusUnsupportedOp";
  case miopenStatusGpuOperationsSkipped:
    return "miopenStatusGpuOperationsSkipped";
  case miopenStatusVersionMismatch:
    return "miopenStatusVersionMismatch";
  }
  return "Unknown error status";
}

MIOPEN_EXPORT miopenStatus_t miopenGetVersion(size_t *major, size_t *minor, size_t *patch) {
  return Try(__func__, [&] {
    if (major != nullptr)
      *major = MIOPEN_VERSION_MAJOR;
    if (minor != nullptr)
      *minor = MIOPEN_VERSION_MINOR;
    if (patch != nullptr)
      *patch = MIOPEN_VERSION_PATCH;
  });
}

MIOPEN_EXPORT miopenStatus_t miopenCreateWithStream(miopenHandle_t *handle,
                                                    miopenAcceleratorQueue_t stream) {
  return Try(__func__, [&] {
    auto &created = deref(handle); // first: an assignment would allocate before it looks at this
    created = new miopen::Handle(stream);
  });
}

// The exported name, not a shared helper: the real library calls itself through the PLT, and a
// split has to keep such calls inside the private library.
MIOPEN_EXPORT miopenStatus_t miopenCreate(miopenHandle_t *handle) {
  miopen::LogEntry(__func__);
  return miopenCreateWithStream(handle, nullptr);
}

MIOPEN_EXPORT miopenStatus_t miopenDestroy(miopenHandle_t handle) {
  return Try(__func__, [&] { delete static_cast<miopen::Handle *>(handle); });
}

MIOPEN_EXPORT miopenStatus_t miopenSetStream(miopenHandle_t handle,
                                             miopenAcceleratorQueue_t streamID) {
  return Try(__func__, [&] { deref(handle).SetStream(streamID); });
}

MIOPEN_EXPORT miopenStatus_t miopenGetStream(miopenHandle_t handle,
                                             miopenAcceleratorQueue_t *streamID) {
  return Try(__func__, [&] { deref(streamID) = deref(handle).Stream(); });
}

MIOPEN_EXPORT miopenStatus_t miopenSetAllocator(miopenHandle_t handle,
                                                miopenAllocatorFunction allocator,
                                                miopenDeallocatorFunction deallocator,
                                                void *allocatorContext) {
  return Try(__func__,
             [&] { deref(handle).SetAllocator(allocator, deallocator, allocatorContext); });
}

MIOPEN_EXPORT miopenStatus_t miopenGetKernelTime(miopenHandle_t handle, float *time) {
  return Try(__func__, [&] { deref(time) = deref(handle).KernelTime(); });
}

MIOPEN_EXPORT miopenStatus_t miopenEnableProfiling(miopenHandle_t handle, bool enable) {
  return Try(__func__, [&] { deref(handle).EnableProfiling(enable); });
}

#ifndef REFMIOPEN_3_4
MIOPEN_EXPORT miopenStatus_t miopenSetTuningPolicy(miopenHandle_t handle,
                                                   miopenTuningPolicy_t newValue) {
  return Try(__func__, [&] { deref(handle).SetTuningPolicy(newValue); });
}

MIOPEN_EXPORT miopenStatus_t miopenGetTuningPolicy(miopenHandle_t handle,
                                                   miopenTuningPolicy_t *value) {
  return Try(__func__, [&] { deref(value) = deref(handle).TuningPolicy(); });
}
#endif

// Exported by the real library although no header declares it: an entry point of the SQLite
// extension that is linked in. 1 is SQLITE_ERROR; the arguments are never looked at.
MIOPEN_EXPORT int miopen_sqlite3_memvfs_init(void *, char **, const void *) {
  return 1;
}

} // extern "C"
