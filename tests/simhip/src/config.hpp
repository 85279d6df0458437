// What the environment sets, read once. The table of variables is in README.md.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <hip/hip_runtime_api.h>

namespace simhip {

// One entry of SIMHIP_FAIL.
struct Failure {
  std::string function;
  unsigned long call = 0; // counted from one
  bool onwards = false;   // that call and all after it
  hipError_t error = hipSuccess;
};

// One entry of SIMHIP_DURATION.
struct Duration {
  std::string pattern; // fnmatch(3), of the kernel's name
  std::chrono::nanoseconds time{};
};

struct Config {
  std::string architecture; // with features, such as gfx942:sramecc+:xnack-
  std::string processor;    // without them
  int computeUnits = 0;
  int devices = 0;
  std::size_t memory = 0; // bytes of each device
  unsigned threads = 0;   // of one kernel's execution
  bool execute = false;   // false: every kernel is a no-op
  bool unknownIsError = false;
  bool abortOnViolation = false;
  std::vector<Duration> durations;
  std::vector<Failure> failures;
  std::string report; // path, empty for none
  std::string trace;

  // How long a kernel takes on the device's clock, when that is set.
  std::optional<std::chrono::nanoseconds> duration(const std::string &kernel) const;
};

// The first call reads the environment. A value that makes no sense ends the process with status 2
// and a line that says which: a test whose injected failure has a typing error must not pass.
const Config &config();

} // namespace simhip
