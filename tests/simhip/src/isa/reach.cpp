#include "reach.hpp"

namespace simhip::isa {

namespace {
constexpr std::size_t largest_step = std::size_t{1} << 38;
constexpr std::size_t smallest_step = 4096;
} // namespace

void Reach::add_constant(const void *begin, std::size_t size) {
  const auto address = reinterpret_cast<std::uintptr_t>(begin);
  ranges_.push_back({address, address + size, false});
}

bool Reach::learn(std::uintptr_t address, std::size_t size) {
  if (address + size < address || !memory_->contains(address, size))
    return false;
  Range range{address, address + size, true};
  // Nobody tells where an allocation ends: find out, near enough, by halving.
  for (std::size_t step = largest_step; step >= smallest_step; step /= 2) {
    if (range.end + step > range.end &&
        memory_->contains(range.begin, range.end - range.begin + step))
      range.end += step;
    if (range.begin > step && memory_->contains(range.begin - step, range.end - range.begin + step))
      range.begin -= step;
  }
  for (Range &known : ranges_)
    if (known.writable && range.begin <= known.end && known.begin <= range.end) {
      const std::uintptr_t begin = range.begin < known.begin ? range.begin : known.begin;
      const std::uintptr_t end = range.end > known.end ? range.end : known.end;
      if (memory_->contains(begin, end - begin)) {
        known.begin = begin;
        known.end = end;
        return true;
      }
    }
  ranges_.push_back(range);
  return true;
}

} // namespace simhip::isa
