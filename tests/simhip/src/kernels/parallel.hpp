// A loop over independent parts, shared out to threads.
#pragma once

#include <cstddef>
#include <functional>

namespace simhip::kernels {

// Calls body(begin, end) for ranges of at most chunk that together are [0, count), in at most
// threads threads, the caller's included. An exception of body ends the loop and is thrown on.
void in_parallel(std::size_t count, std::size_t chunk, unsigned threads,
                 const std::function<void(std::size_t, std::size_t)> &body);

} // namespace simhip::kernels
