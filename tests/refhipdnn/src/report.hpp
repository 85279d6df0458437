#pragma once

// What has happened: calls, failures, objects alive, executions. Written as JSON at exit to the
// file that REFHIPDNN_REPORT names. Anything alive then is a leak of the client's, for nothing here
// keeps a client's object alive.

#include <atomic>
#include <cstdint>
#include <string>

namespace refhipdnn {

// An entry point; one static object each, known to the report from its first call on.
struct Function {
  explicit Function(const char *name);
  const char *const name;
  std::atomic<uint64_t> calls{0};
  std::atomic<uint64_t> failed{0};
  Function *next;
};

// Objects of one kind: a handle, a kind of descriptor, an execution context.
struct ObjectKind {
  explicit ObjectKind(const char *name);
  void created();
  void destroyed();
  const char *const name;
  std::atomic<int64_t> live{0};
  std::atomic<int64_t> most{0};
  std::atomic<uint64_t> total{0};
  ObjectKind *next;
};

// An entry point returned a failure. The first hundred are kept with their text.
void report_failure(const char *function, int status, const char *text, bool injected);

// The client did what the real library would not survive or not notice: used a destroyed object,
// ran a plan on another handle, destroyed a handle before its plans.
void report_misuse(const std::string &text);

// An execution ended, in the engine of that name; error is empty when it went well.
void report_execution(const std::string &engine, const std::string &error);

// A plan was made: "built" or "deserialized".
void report_plan(const char *how);

} // namespace refhipdnn
