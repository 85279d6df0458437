// Address space: what an allocation is made of. Knows pages, and nothing of HIP.
#pragma once

#include <cstddef>
#include <cstdint>

namespace simhip {

std::size_t pageBytes();

// A block whose end, rounded up to alignment, is followed by a page without access, and whose first
// page follows one. What lies between the block and its pages' borders is slack.
struct Mapping {
  std::byte *reserved = nullptr; // address space, guard pages included
  std::size_t reservedBytes = 0;
  std::byte *pages = nullptr; // accessible
  std::size_t pagesBytes = 0;
  std::byte *block = nullptr;
  std::byte *alias =
      nullptr; // of block, at another address; equal to block when there is only one view
  std::byte *aliasPages = nullptr;
};

// Alignment of every block; HIP promises at least this.
constexpr std::size_t blockAlignment = 256;

// A block of so many bytes, at least one, filled with 0xFF. Large ones take memory only as they are
// written. With aliased there is a second view of the same memory, which stays accessible whatever
// is done to the protection of the first. False when there is no memory; then mapping is not
// changed.
bool map(std::size_t bytes, bool aliased, Mapping &mapping);

// Gives the memory back and leaves the address space reserved and without access.
void retire(Mapping &mapping);

// Gives a retired mapping's address space back.
void unmap(Mapping &mapping);

} // namespace simhip
