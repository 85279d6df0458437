// The frame of every call.
#include "call.hpp"

#include <map>
#include <mutex>
#include <string>

#include "capture.hpp"
#include "config.hpp"
#include "errors.hpp"
#include "report.hpp"
#include "runtime.hpp"

namespace simhip {
namespace {

// The error that SIMHIP_FAIL has for this call.
hipError_t injected(const char *function) {
  const std::vector<Failure> &failures = config().failures;
  if (failures.empty()) {
    return hipSuccess;
  }
  static auto *const mutex = new std::mutex; // a leaf of the lock order
  static auto *const calls = new std::map<std::string, unsigned long>;
  unsigned long number = 0;
  {
    std::lock_guard<std::mutex> lock(*mutex);
    number = ++(*calls)[function];
  }
  for (const Failure &failure : failures) {
    if (failure.function == function &&
        (failure.onwards ? number >= failure.call : number == failure.call)) {
      return failure.error;
    }
  }
  return hipSuccess;
}

} // namespace

hipError_t enter(const char *function, Need need) {
  if (inForkedChild()) {
    return hipErrorNotInitialized;
  }
  if (thread().inHostFunction) {
    report::violation(report::Kind::hostFunction,
                      std::string(function) +
                          " from a function that a stream runs, where HIP allows no calls");
    return hipErrorNotSupported;
  }
  if (hipError_t error = injected(function)) {
    return error;
  }
  if (need == Need::nothing) {
    return hipSuccess;
  }
  Runtime &r = runtime();
  Lock lock(r.mutex);
  auto device = static_cast<std::size_t>(thread().device);
  if (device >= r.devices.size()) {
    return hipErrorNoDevice;
  }
  if (r.devices[device].failed != hipSuccess) {
    return r.devices[device].failed;
  }
  return need == Need::safety ? captureForbids(r) : hipSuccess;
}

hipError_t leave(const char *function, hipError_t result) {
  Thread &t = thread();
  t.lastCall = result;
  if (result != hipSuccess && result != hipErrorNotReady) {
    t.last = result;
  }
  if (report::tracing()) {
    report::trace(std::string(function) + " = " + errorName(result));
  }
  return result;
}

} // namespace simhip
