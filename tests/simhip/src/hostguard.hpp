// Finds a host that touches pinned memory which a copy still uses.
//
// While a copy into pinned memory is enqueued and not over, the pages have no access in the
// application's view; while one out of it is, they are read-only. A fault there waits until the
// copies are over, so that the application goes on with what it would have found on a device that
// was fast enough; the violation is reported when the byte itself belongs to a copy and not only
// its page. Copies are done through another view of the memory (Allocation::access).
//
// The lock in here is taken with Runtime::mutex held, or alone, and inside of it only the report's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace simhip::hostguard {

// Installs the handler of SIGSEGV, before the one that is there, which gets all faults that are not
// ours.
void install();

enum class Use { readByDevice, writtenByDevice };

// Protects so many bytes at begin, in pinned memory (Space::pinned), until disarm() gets the
// result. text says what the operation is, for messages.
unsigned arm(std::uintptr_t begin, std::size_t bytes, Use use, const std::string &text);
void disarm(unsigned token);

// While one lives, nothing is protected: for kernels, which use the application's view.
class Lift {
public:
  Lift();
  ~Lift();
  Lift(const Lift &) = delete;
  Lift &operator=(const Lift &) = delete;
};

} // namespace simhip::hostguard
