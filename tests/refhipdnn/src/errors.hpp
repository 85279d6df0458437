#pragma once

// Failures: what an entry point throws inside and returns outside, and the thread's last error
// text.

#include "refhipdnn/hipdnn_backend.h"

#include <exception>
#include <string>

namespace refhipdnn {

// A call that fails with a status and a text for hipdnnGetLastErrorString.
class Failure : public std::exception {
public:
  Failure(hipdnnStatus_t status, std::string text) : status_(status), text_(std::move(text)) {}
  hipdnnStatus_t status() const noexcept {
    return status_;
  }
  const char *what() const noexcept override {
    return text_.c_str();
  }

private:
  hipdnnStatus_t status_;
  std::string text_;
};

[[noreturn]] void fail(hipdnnStatus_t status, const std::string &text);

// The name of the status with its prefix, or null where the number is no status.
const char *status_name(int status);

// Finds a status by its number, or by its name with or without the prefix; -1 where there is none.
int parse_status(const std::string &text);

// The calling thread's text. Setting truncates; taking copies at most size bytes, terminated.
void set_last_error(const char *text);
void copy_last_error(char *out, size_t size);
void clear_last_error();

} // namespace refhipdnn
