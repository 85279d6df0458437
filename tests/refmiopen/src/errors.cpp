#include "errors.hpp"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace miopen {

namespace debug {
bool LoggingQuiet;
} // namespace debug

namespace {

// Plain characters, so that a thread's exit runs no destructor of this library.
thread_local char last_error[512];

enum class Logging : int { unread, off, on };
std::atomic<Logging> logging{Logging::unread};

bool LoggingEnabled() noexcept {
  Logging state = logging.load(std::memory_order_relaxed);
  if (state == Logging::unread) {
    const char *value = std::getenv("MIOPEN_ENABLE_LOGGING");
    state = value != nullptr && std::strcmp(value, "1") == 0 ? Logging::on : Logging::off;
    logging.store(state, std::memory_order_relaxed);
  }
  return state == Logging::on;
}

} // namespace

Exception::Exception(miopenStatus_t s, std::string m) : status(s), message(std::move(m)) {}

// Out of line: it is the class's key function and places the vtable in this file.
Exception::~Exception() = default;

const char *Exception::what() const noexcept {
  return message.c_str();
}

void Throw(miopenStatus_t status, const std::string &message) {
  throw Exception(status, message);
}

const char *LastError() noexcept {
  return last_error;
}

void ReportFailure(const char *function, const char *message) noexcept {
  std::snprintf(last_error, sizeof last_error, "[%s] %s", function, message);
  if (!debug::LoggingQuiet)
    std::fprintf(stderr, "MIOpen(REF): Error %s\n", last_error);
}

void LogEntry(const char *function) noexcept {
  if (LoggingEnabled())
    std::fprintf(stderr, "MIOpen(REF): %s\n", function);
}

} // namespace miopen
