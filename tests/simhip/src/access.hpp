// The checks of what an operation is about to touch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "memory.hpp"
#include "order.hpp"

namespace simhip {

// What a pointer is, where bytes from it on are to be touched.
struct Place {
  bool ok = false;          // otherwise a violation was reported
  AllocationRef allocation; // null: memory of the application that HIP does not know
};

// Looks a pointer up and checks that the bytes are inside of its allocation. what and role are for
// the report.
Place place(const std::string &what, const std::string &role, const void *pointer,
            std::size_t bytes, bool writes);

// Checks that each range is inside of a live allocation, and reports those that are not.
bool admit(const std::string &what, const std::vector<Range> &ranges);

} // namespace simhip
