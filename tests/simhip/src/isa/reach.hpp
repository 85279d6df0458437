// What memory a worker thread may touch: the device's allocations and, for reading, what the
// dispatch itself provides.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "../kernels/kernel.hpp"

namespace simhip::isa {

// Asks kernels::Memory once for each allocation and remembers the answer, since every lane of every
// access asks. Not for more than one thread, and not beyond one run.
class Reach {
public:
  explicit Reach(const kernels::Memory &memory) : memory_(&memory) {}

  // Bytes that may be read and not written: arguments, the code object's image.
  void add_constant(const void *begin, std::size_t size);

  bool allows(std::uintptr_t address, std::size_t size, bool writes) {
    for (const Range &range : ranges_)
      if (address >= range.begin && size <= range.end - range.begin &&
          address - range.begin <= range.end - range.begin - size)
        return range.writable || !writes;
    return learn(address, size);
  }

private:
  struct Range {
    std::uintptr_t begin, end;
    bool writable;
  };

  bool learn(std::uintptr_t address, std::size_t size);

  const kernels::Memory *memory_;
  std::vector<Range> ranges_;
};

} // namespace simhip::isa
