// The table of allocations: what every address is, or was. Knows nothing of streams.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <shared_mutex>
#include <string>
#include <vector>

#include "kernels/kernel.hpp"
#include "mapping.hpp"
#include "report.hpp"

namespace simhip {

enum class Space {
  device,
  managed,
  pinned,     // host memory from hipHostMalloc
  registered, // the application's own, after hipHostRegister
};

const char *spaceName(Space space);
inline bool onHost(Space space) {
  return space == Space::pinned || space == Space::registered;
}

struct Allocation {
  std::uintptr_t begin = 0;
  std::size_t bytes = 0;
  Space space = Space::device;
  int device = 0;
  unsigned flags = 0;
  unsigned long number = 0; // counted from one, never used again: what messages call it
  const char *by = "";      // the function that made it
  Mapping mapping;          // empty when registered

  std::uintptr_t end() const {
    return begin + bytes;
  }
  // Where simhip itself reads and writes address: not the view whose protection the host guard
  // changes.
  std::byte *access(std::uintptr_t address) const {
    return mapping.block == nullptr ? reinterpret_cast<std::byte *>(address)
                                    : mapping.alias + (address - begin);
  }
  std::string describe(std::uintptr_t address) const;
};

using AllocationRef = std::shared_ptr<const Allocation>;

class Allocations : public kernels::Memory {
public:
  // All functions lock the table themselves.

  // Null when the device's memory (SIMHIP_MEMORY; device and managed memory count) or the machine's
  // is used up.
  AllocationRef allocate(std::size_t bytes, Space space, int device, unsigned flags,
                         const char *by);
  // Null when part of it is in the table already.
  AllocationRef addRegistered(void *pointer, std::size_t bytes, int device, unsigned flags,
                              const char *by);

  // The live allocation that holds address, or null. One whose freeing is enqueued is not live any
  // more.
  AllocationRef find(std::uintptr_t address) const;
  // A text about a freed allocation that held address.
  std::optional<std::string> freed(std::uintptr_t address) const;
  // A text about an allocation whose guard page holds address.
  std::optional<std::string> guard(std::uintptr_t address) const;
  // As freed() and guard(), without waiting for a lock: for a signal handler.
  std::optional<std::pair<report::Kind, std::string>> diagnose(std::uintptr_t address) const;

  // Makes the allocation one that counts as freed, by name of the function that does so. False when
  // it was not live.
  bool condemn(const AllocationRef &allocation, const char *by);
  // Gives the memory of a condemned allocation back and reports slack that was written to.
  void release(const AllocationRef &allocation);

  // Also in a condemned allocation, until it is released: work that was enqueued before may go on.
  bool contains(std::uintptr_t address, std::size_t bytes) const override;

  std::size_t used(int device) const;
  std::vector<report::Leak> leaks() const;
  // Reports slack that was written to in all live allocations.
  void checkSlack() const;

private:
  struct Grave {
    AllocationRef allocation;
    std::string by;
    bool released = false; // the memory is given back
  };

  std::optional<std::string> freedLocked(std::uintptr_t address) const;
  std::optional<std::string> guardLocked(std::uintptr_t address) const;
  AllocationRef insert(std::shared_ptr<Allocation> allocation);

  mutable std::shared_mutex mutex_;
  std::map<std::uintptr_t, AllocationRef> live_;
  std::map<std::uintptr_t, Grave> graves_;
  std::deque<std::uintptr_t> oldest_; // graves whose memory is given back
  std::map<int, std::size_t> used_;
  unsigned long count_ = 0;
};

Allocations &allocations();

} // namespace simhip
