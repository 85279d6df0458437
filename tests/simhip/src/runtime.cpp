// The state of the process, and its end.
#include "runtime.hpp"

#include <chrono>
#include <pthread.h>
#include <thread>

#include "capture.hpp"
#include "config.hpp"
#include "event.hpp"
#include "hostguard.hpp"
#include "isa/isa.hpp"
#include "memory.hpp"
#include "report.hpp"
#include "stream.hpp"

namespace simhip {

std::atomic<bool> exiting{false};

namespace {

std::atomic<bool> made{false}, forked{false};

// How long a process that ends waits for what is still enqueued.
constexpr auto grace = std::chrono::seconds(2);

// Runs after the destructors of the libraries that need this one, which free memory.
__attribute__((destructor)) void finish() {
  if (!made || forked) {
    return;
  }
  Runtime &r = runtime();
  std::size_t pending = 0;
  {
    Lock lock(r.mutex);
    auto end = std::chrono::steady_clock::now() + grace;
    for (const std::weak_ptr<Stream> &weak : std::vector<std::weak_ptr<Stream>>(r.everyStream)) {
      if (StreamRef stream = weak.lock()) {
        stream->progress.wait_until(lock, end,
                                    [&] { return stream->completed == stream->enqueued; });
        pending += stream->enqueued - stream->completed;
      }
    }
    exiting = true; // workers take nothing any more, and sleep until the process is gone
  }
  new hostguard::Lift; // nobody ends the copies that are left, so nobody may wait for them
  if (pending == 0) {
    allocations().checkSlack();
  }
  for (const std::string &refusal : isa::refusals()) { // "KERNEL: reason"
    std::size_t colon = refusal.find(": ");
    if (colon != std::string::npos) {
      report::launchNote(refusal.substr(0, colon), refusal.substr(colon + 2));
    }
  }
  report::finish(allocations().leaks(), pending);
}

} // namespace

Runtime::Runtime() {
  devices.resize(static_cast<std::size_t>(config().devices));
  for (int device = 0; device < config().devices; device++) {
    devices[static_cast<std::size_t>(device)].null =
        makeStream(*this, device, hipStreamDefault, 0, true);
  }
  pthread_atfork(nullptr, nullptr, [] { forked = true; });
  made = true;
}

Runtime &runtime() {
  static auto *const instance = new Runtime;
  return *instance;
}

Thread::~Thread() {
  if (perThread.empty() || inForkedChild()) {
    return;
  }
  Lock lock(runtime().mutex);
  for (const auto &[device, stream] : perThread) {
    stream->closed = true;
    stream->work.notify_one();
  }
}

Thread &thread() {
  thread_local Thread instance;
  return instance;
}

bool inForkedChild() {
  return forked;
}

} // namespace simhip
