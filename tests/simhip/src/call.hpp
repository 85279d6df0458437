// What all functions of the API have in common: injected errors, trace, errors that stay, captures,
// the last error.
#pragma once

#include <new>

#include <hip/hip_runtime_api.h>

namespace simhip {

// What a call needs.
enum class Need {
  nothing,
  device, // fails after a kernel went wrong
  safety, // device, and not allowed during a capture
};

// The error that the call has before it does anything.
hipError_t enter(const char *function, Need need);
// Notes the call's result and returns it.
hipError_t leave(const char *function, hipError_t result);

template <typename Body> hipError_t call(const char *function, Need need, Body body) {
  hipError_t result = enter(function, need);
  if (result == hipSuccess) {
    try {
      result = body();
    } catch (const std::bad_alloc &) {
      result = hipErrorOutOfMemory;
    } catch (...) {
      result = hipErrorUnknown;
    }
  }
  return leave(function, result);
}

} // namespace simhip
