#pragma once

// The environment, read once, at the first call. The table of the variables is in README.md.

#include "refhipdnn/hipdnn_backend.h"

#include <cstdint>
#include <string>
#include <vector>

namespace refhipdnn {

// One rule of REFHIPDNN_FAIL. Calls of function (and, where detail is not empty, of that attribute
// or kind of descriptor) are counted from 1; first to last fail.
struct FailureRule {
  std::string function;
  std::string detail;
  uint64_t first;
  uint64_t last;
  hipdnnStatus_t status;
};

struct Config {
  std::string version;
  bool early; // the numbering and the checks of early 2026
  std::vector<FailureRule> failures;
  int64_t plan_ms = 0;
  int64_t duration_us = 0;
  int64_t workspace = 0;
  bool idle = false;  // built-in engines leave all tensors as they are
  std::string report; // path, or empty
  std::string log;    // path, "stderr", or empty
  std::string error;  // a variable that could not be understood: every call fails with this text
};

const Config &config();

} // namespace refhipdnn
