#include "parallel.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace simhip::kernels {

void in_parallel(std::size_t count, std::size_t chunk, unsigned threads,
                 const std::function<void(std::size_t, std::size_t)> &body) {
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  std::exception_ptr failure;
  auto work = [&] {
    try {
      for (std::size_t begin; (begin = next.fetch_add(chunk)) < count;)
        body(begin, std::min(begin + chunk, count));
    } catch (...) {
      next = count;
      std::lock_guard<std::mutex> lock(mutex);
      if (!failure)
        failure = std::current_exception();
    }
  };
  std::size_t chunks = (count + chunk - 1) / chunk;
  std::vector<std::thread> helpers;
  try {
    while (helpers.size() + 1 < std::min<std::size_t>(threads, chunks))
      helpers.emplace_back(work);
  } catch (const std::system_error &) {
    // With fewer threads it takes longer.
  }
  work();
  for (std::thread &helper : helpers)
    helper.join();
  if (failure)
    std::rethrow_exception(failure);
}

} // namespace simhip::kernels
