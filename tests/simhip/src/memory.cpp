// The table of allocations.
//
// Freed memory stays without access, in a quarantine of the last graveLimit allocations, so that a
// pointer into it can be told from any other, and is never given out again meanwhile.
#include "memory.hpp"

#include <algorithm>
#include <cstring>
#include <mutex>

#include "config.hpp"

namespace simhip {
namespace {

constexpr std::size_t graveLimit = 8192;
constexpr std::byte canary{0xCA};

// The slack of an allocation is at most a page before and blockAlignment after the block.
template <typename Visit> void slack(const Allocation &a, Visit visit) {
  const Mapping &m = a.mapping;
  if (m.block == nullptr) {
    return;
  }
  std::byte *pages = m.aliasPages != nullptr ? m.aliasPages : m.pages;
  visit(pages, static_cast<std::size_t>(m.block - m.pages), "before its beginning");
  std::byte *end = m.alias + a.bytes;
  visit(end, static_cast<std::size_t>(pages + m.pagesBytes - end), "past its end");
}

void checkSlackOf(const Allocation &a) {
  slack(a, [&](std::byte *from, std::size_t bytes, const char *where) {
    auto changed = static_cast<std::size_t>(
        std::count_if(from, from + bytes, [](std::byte value) { return value != canary; }));
    if (changed != 0) {
      report::violation(report::Kind::overrun, std::to_string(changed) + " bytes were written " +
                                                   where + ": " + a.describe(a.begin) +
                                                   ", found by the pattern around it");
    }
  });
}

} // namespace

const char *spaceName(Space space) {
  switch (space) {
  case Space::device:
    return "device";
  case Space::managed:
    return "managed";
  case Space::pinned:
    return "pinned";
  case Space::registered:
    return "registered";
  }
  return "?";
}

std::string Allocation::describe(std::uintptr_t address) const {
  return "offset " + std::to_string(static_cast<std::intptr_t>(address - begin)) + " of " +
         spaceName(space) + " allocation " + std::to_string(number) + " (" + std::to_string(bytes) +
         " bytes from " + by + ")";
}

AllocationRef Allocations::insert(std::shared_ptr<Allocation> allocation) {
  allocation->number = ++count_;
  AllocationRef ref = std::move(allocation);
  live_[ref->begin] = ref;
  return ref;
}

AllocationRef Allocations::allocate(std::size_t bytes, Space space, int device, unsigned flags,
                                    const char *by) {
  {
    std::unique_lock<std::shared_mutex> lock(mutex_);
    if (!onHost(space)) {
      std::size_t &used = used_[device];
      if (bytes > config().memory - std::min(used, config().memory)) {
        return nullptr;
      }
      used += bytes;
    }
  }
  auto a = std::make_shared<Allocation>();
  bool ok = map(bytes, space == Space::pinned, a->mapping);
  if (ok) {
    a->begin = reinterpret_cast<std::uintptr_t>(a->mapping.block);
    a->bytes = bytes;
    a->space = space;
    a->device = device;
    a->flags = flags;
    a->by = by;
    slack(*a, [](std::byte *from, std::size_t count, const char *) {
      std::fill_n(from, count, canary);
    });
  }
  std::unique_lock<std::shared_mutex> lock(mutex_);
  if (!ok) {
    if (!onHost(space)) {
      used_[device] -= bytes;
    }
    return nullptr;
  }
  return insert(std::move(a));
}

AllocationRef Allocations::addRegistered(void *pointer, std::size_t bytes, int device,
                                         unsigned flags, const char *by) {
  auto begin = reinterpret_cast<std::uintptr_t>(pointer);
  std::unique_lock<std::shared_mutex> lock(mutex_);
  auto next = live_.lower_bound(begin + bytes);
  if (next != live_.begin() && std::prev(next)->second->end() > begin) {
    return nullptr;
  }
  auto a = std::make_shared<Allocation>();
  a->begin = begin;
  a->bytes = bytes;
  a->space = Space::registered;
  a->device = device;
  a->flags = flags;
  a->by = by;
  return insert(std::move(a));
}

AllocationRef Allocations::find(std::uintptr_t address) const {
  std::shared_lock<std::shared_mutex> lock(mutex_);
  auto next = live_.upper_bound(address);
  if (next == live_.begin()) {
    return nullptr;
  }
  const AllocationRef &a = std::prev(next)->second;
  return address < a->end() ? a : nullptr;
}

std::optional<std::string> Allocations::freedLocked(std::uintptr_t address) const {
  auto next = graves_.upper_bound(address);
  if (next == graves_.begin()) {
    return std::nullopt;
  }
  const Grave &grave = std::prev(next)->second;
  if (address >= grave.allocation->end()) {
    return std::nullopt;
  }
  return grave.allocation->describe(address) + ", freed by " + grave.by;
}

std::optional<std::string> Allocations::guardLocked(std::uintptr_t address) const {
  auto next = live_.upper_bound(address);
  for (int step = 0; step < 2; step++) { // the one that begins behind address, and the one before
    if (next != live_.end()) {
      const Mapping &m = next->second->mapping;
      auto from = reinterpret_cast<std::uintptr_t>(m.reserved);
      if (m.reserved != nullptr && address - from < m.reservedBytes) {
        return next->second->describe(address);
      }
    }
    if (next == live_.begin()) {
      break;
    }
    --next;
  }
  return std::nullopt;
}

std::optional<std::string> Allocations::freed(std::uintptr_t address) const {
  std::shared_lock<std::shared_mutex> lock(mutex_);
  return freedLocked(address);
}

std::optional<std::string> Allocations::guard(std::uintptr_t address) const {
  std::shared_lock<std::shared_mutex> lock(mutex_);
  return guardLocked(address);
}

std::optional<std::pair<report::Kind, std::string>>
Allocations::diagnose(std::uintptr_t address) const {
  std::shared_lock<std::shared_mutex> lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) {
    return std::nullopt;
  }
  if (std::optional<std::string> text = freedLocked(address)) {
    return std::make_pair(report::Kind::useAfterFree, *text);
  }
  if (std::optional<std::string> text = guardLocked(address)) {
    return std::make_pair(report::Kind::overrun, *text);
  }
  return std::nullopt;
}

bool Allocations::condemn(const AllocationRef &allocation, const char *by) {
  std::unique_lock<std::shared_mutex> lock(mutex_);
  auto at = live_.find(allocation->begin);
  if (at == live_.end() || at->second != allocation) {
    return false;
  }
  live_.erase(at);
  if (!onHost(allocation->space)) {
    used_[allocation->device] -= allocation->bytes;
  }
  if (allocation->space != Space::registered) { // registered memory goes on to be the application's
    graves_[allocation->begin] = Grave{allocation, by, false};
  }
  return true;
}

void Allocations::release(const AllocationRef &allocation) {
  if (allocation->space == Space::registered) {
    return;
  }
  checkSlackOf(*allocation);
  std::unique_lock<std::shared_mutex> lock(mutex_);
  Grave &grave = graves_.at(allocation->begin);
  // The application may hold a reference for a moment longer only in operations that were refused,
  // which do not look at the mapping.
  retire(const_cast<Allocation &>(*allocation).mapping);
  grave.released = true;
  oldest_.push_back(allocation->begin);
  while (oldest_.size() > graveLimit) {
    auto at = graves_.find(oldest_.front());
    oldest_.pop_front();
    unmap(const_cast<Allocation &>(*at->second.allocation).mapping);
    graves_.erase(at);
  }
}

bool Allocations::contains(std::uintptr_t address, std::size_t bytes) const {
  std::shared_lock<std::shared_mutex> lock(mutex_);
  auto inside = [&](const Allocation &a) {
    return address < a.end() && bytes <= a.end() - address;
  };
  auto live = live_.upper_bound(address);
  if (live != live_.begin() && inside(*std::prev(live)->second)) {
    return true;
  }
  auto grave = graves_.upper_bound(address);
  return grave != graves_.begin() && !std::prev(grave)->second.released &&
         inside(*std::prev(grave)->second.allocation);
}

std::size_t Allocations::used(int device) const {
  std::shared_lock<std::shared_mutex> lock(mutex_);
  auto at = used_.find(device);
  return at == used_.end() ? 0 : at->second;
}

std::vector<report::Leak> Allocations::leaks() const {
  std::shared_lock<std::shared_mutex> lock(mutex_);
  std::vector<report::Leak> all;
  for (const auto &[begin, a] : live_) {
    all.push_back({spaceName(a->space), a->bytes, a->by});
  }
  return all;
}

void Allocations::checkSlack() const {
  std::shared_lock<std::shared_mutex> lock(mutex_);
  for (const auto &[begin, a] : live_) {
    checkSlackOf(*a);
  }
}

Allocations &allocations() {
  static auto *const instance = new Allocations; // outlives exit handlers
  return *instance;
}

} // namespace simhip
