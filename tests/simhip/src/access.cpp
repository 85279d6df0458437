// Checks of accesses against the table of allocations.
#include "access.hpp"

#include <algorithm>

#include "report.hpp"

namespace simhip {

Place place(const std::string &what, const std::string &role, const void *pointer,
            std::size_t bytes, bool writes) {
  auto begin = reinterpret_cast<std::uintptr_t>(pointer);
  std::string access = what + (writes ? " writes " : " reads ") + std::to_string(bytes) +
                       " bytes (" + role + ") at ";
  Place result;
  result.allocation = allocations().find(begin);
  if (const AllocationRef &a = result.allocation) {
    result.ok = bytes <= a->end() - begin;
    if (!result.ok) {
      report::violation(report::Kind::overrun, access + a->describe(begin) + ", " +
                                                   std::to_string(bytes - (a->end() - begin)) +
                                                   " bytes past its end");
    }
    return result;
  }
  if (auto text = allocations().freed(begin)) {
    report::violation(report::Kind::useAfterFree, access + *text);
  } else if (auto text = allocations().guard(begin)) {
    report::violation(report::Kind::overrun, access + *text);
  } else {
    result.ok = true;
  }
  return result;
}

bool admit(const std::string &what, const std::vector<Range> &ranges) {
  bool ok = true;
  for (const Range &range : ranges) {
    if (range.bytes == 0) {
      continue;
    }
    Place found =
        place(what, range.role, reinterpret_cast<void *>(range.begin), range.bytes, range.writes);
    if (found.ok && found.allocation == nullptr) {
      report::violation(report::Kind::overrun, what + (range.writes ? " writes " : " reads ") +
                                                   std::to_string(range.bytes) + " bytes (" +
                                                   range.role + ") where there is no allocation");
    }
    ok = ok && found.ok && found.allocation != nullptr;
  }
  return ok;
}

} // namespace simhip
