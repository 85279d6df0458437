// Failures inside the library are exceptions; none crosses the C boundary.
#ifndef REFMIOPEN_ERRORS_HPP
#define REFMIOPEN_ERRORS_HPP

#include <exception>
#include <new>
#include <string>

#include <miopen/miopen.h>

namespace miopen {

// A status with its reason. Exported with its type information, as the real library's is, so that
// a host which links C++ names shares one type with the library.
class MIOPEN_EXPORT Exception : public std::exception {
public:
  Exception(miopenStatus_t status, std::string message);
  ~Exception() override;
  const char *what() const noexcept override;
  miopenStatus_t Status() const noexcept {
    return status;
  }

private:
  miopenStatus_t status;
  std::string message;
};

[[noreturn]] MIOPEN_EXPORT void Throw(miopenStatus_t status, const std::string &message);

// The message of the calling thread's last failure, empty when there was none. Valid until the
// thread's next failure.
MIOPEN_EXPORT const char *LastError() noexcept;

namespace debug {
// Set by a host that expects failures: they are then recorded but not printed.
MIOPEN_EXPORT extern bool LoggingQuiet;
} // namespace debug

// Records a failure of the entry point `function` and prints it, as
// "MIOpen(REF): Error [function] message".
void ReportFailure(const char *function, const char *message) noexcept;

// With MIOPEN_ENABLE_LOGGING=1 in the environment, prints the name of an entry point that was
// reached, calls that the library makes to itself included. Route tests read these lines.
void LogEntry(const char *function) noexcept;

template <class T> T &deref(T *pointer) {
  if (pointer == nullptr)
    Throw(miopenStatusBadParm, "a required pointer is null");
  return *pointer;
}

// Runs the body of the entry point `function` and turns every exception into a status.
template <class Body> miopenStatus_t Try(const char *function, Body &&body) noexcept {
  LogEntry(function);
  try {
    body();
    return miopenStatusSuccess;
  } catch (const Exception &e) {
    ReportFailure(function, e.what());
    return e.Status();
  } catch (const std::bad_alloc &) {
    ReportFailure(function, "out of memory");
    return miopenStatusAllocFailed;
  } catch (const std::exception &e) {
    ReportFailure(function, e.what());
    return miopenStatusUnknownError;
  } catch (...) {
    ReportFailure(function, "unknown exception");
    return miopenStatusUnknownError;
  }
}

} // namespace miopen

#endif // REFMIOPEN_ERRORS_HPP
