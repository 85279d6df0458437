// Names and texts of HIP's errors.
#pragma once

#include <optional>
#include <string>

#include <hip/hip_runtime_api.h>

namespace simhip {

const char *errorName(hipError_t error);
const char *errorText(hipError_t error);
std::optional<hipError_t> errorNamed(const std::string &name);

} // namespace simhip
