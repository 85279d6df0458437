#include "errors.hpp"

#include <cstdlib>
#include <cstring>

namespace refhipdnn {
namespace {

const char *const kPrefix = "HIPDNN_STATUS_";

const char *const kNames[] = {
    "HIPDNN_STATUS_SUCCESS",
    "HIPDNN_STATUS_NOT_INITIALIZED",
    "HIPDNN_STATUS_BAD_PARAM",
    "HIPDNN_STATUS_BAD_PARAM_NULL_POINTER",
    "HIPDNN_STATUS_BAD_PARAM_NOT_FINALIZED",
    "HIPDNN_STATUS_BAD_PARAM_OUT_OF_BOUND",
    "HIPDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT",
    "HIPDNN_STATUS_BAD_PARAM_STREAM_MISMATCH",
    "HIPDNN_STATUS_NOT_SUPPORTED",
    "HIPDNN_STATUS_INTERNAL_ERROR",
    "HIPDNN_STATUS_ALLOC_FAILED",
    "HIPDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED",
    "HIPDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED",
    "HIPDNN_STATUS_EXECUTION_FAILED",
    "HIPDNN_STATUS_PLUGIN_ERROR",
    "HIPDNN_STATUS_VERSION_MISMATCH",
};
constexpr int kCount = sizeof(kNames) / sizeof(kNames[0]);

// Plain storage: a thread that exits has nothing to destroy, also after the library's own teardown.
thread_local char last_error[2048];

void copy(char *out, size_t size, const char *text) {
  size_t n = std::strlen(text);
  if (n >= size) {
    n = size - 1;
  }
  std::memmove(out, text, n);
  out[n] = '\0';
}

} // namespace

void fail(hipdnnStatus_t status, const std::string &text) {
  throw Failure(status, text);
}

const char *status_name(int status) {
  return status >= 0 && status < kCount ? kNames[status] : nullptr;
}

int parse_status(const std::string &text) {
  char *end = nullptr;
  long number = std::strtol(text.c_str(), &end, 10);
  if (!text.empty() && *end == '\0') {
    return status_name(static_cast<int>(number)) != nullptr ? static_cast<int>(number) : -1;
  }
  for (int i = 0; i < kCount; i++) {
    if (text == kNames[i] || kPrefix + text == kNames[i]) {
      return i;
    }
  }
  return -1;
}

void set_last_error(const char *text) {
  copy(last_error, sizeof(last_error), text);
}

void copy_last_error(char *out, size_t size) {
  copy(out, size, last_error);
}

void clear_last_error() {
  last_error[0] = '\0';
}

} // namespace refhipdnn
