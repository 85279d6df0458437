// Everything that simhip tells: violations on stderr, the trace, and the report in JSON at exit.
// Nothing goes to stdout. All functions may be called from any thread, with the runtime's locks
// held; the report's own lock is the innermost.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

namespace simhip::report {

// Kinds of misuse, each with the name that the report has for it.
enum class Kind {
  overrun,      // outside of an allocation
  useAfterFree, // in memory that was freed
  wrongFree,    // freed twice, or by the wrong function
  direction,    // a copy whose kind does not fit its pointers
  race,         // no order between two accesses
  hostRace,     // the host touched memory that a copy still uses
  kernel,       // a kernel that went wrong
  hostFunction, // a call of HIP from a function that a stream runs
};

// A line on stderr, `simhip: KIND: TEXT`, and an entry of the report. Equal texts are printed once.
// Ends the process with SIGABRT under SIMHIP_VIOLATION=abort.
void violation(Kind kind, const std::string &text);

// How a launch ended.
enum class Launch { executed, noop, failed };
void launched(const std::string &kernel, Launch how, std::chrono::nanoseconds time);

// Says why a kernel is not executed, for the report. The last word on a kernel counts.
void launchNote(const std::string &kernel, const std::string &note);

bool tracing();
void trace(const std::string &line);

// Called once at exit, with the sizes of allocations that were not freed and the number of
// operations that were still in a queue: prints leaks, writes SIMHIP_REPORT.
struct Leak {
  std::string what; // device, pinned, managed
  std::size_t bytes = 0;
  std::string by; // the function that allocated
};
void finish(const std::vector<Leak> &leaks, std::size_t pending);

} // namespace simhip::report
