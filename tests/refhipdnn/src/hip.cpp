#include "hip.hpp"

#include "errors.hpp"

#include <atomic>
#include <dlfcn.h>
#include <link.h>
#include <memory>

namespace refhipdnn::hip {
namespace {

// hipError_t hipLaunchHostFunc(hipStream_t, void (*)(void *), void *).
using LaunchHostFunc = int (*)(hipdnnRefStream_t, void (*)(void *), void *);

LaunchHostFunc find() {
  if (void *f = dlsym(RTLD_DEFAULT, "hipLaunchHostFunc")) {
    return reinterpret_cast<LaunchHostFunc>(f);
  }
  // Loaded RTLD_LOCAL by somebody: by SONAME only, for an unversioned name may be another file.
  for (const char *soname : {"libamdhip64.so.7", "libamdhip64.so.6"}) {
    if (void *library = dlopen(soname, RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD)) {
      if (void *f = dlsym(library, "hipLaunchHostFunc")) {
        return reinterpret_cast<LaunchHostFunc>(f); // keeps the reference: the function is kept too
      }
      dlclose(library);
    }
  }
  return nullptr;
}

// How many objects the process has loaded so far.
unsigned long long loads() {
  unsigned long long n = 0;
  dl_iterate_phdr(
      [](dl_phdr_info *info, size_t, void *out) {
        *static_cast<unsigned long long *>(out) = info->dlpi_adds;
        return 1;
      },
      &n);
  return n;
}

LaunchHostFunc launch_host_func() {
  static std::atomic<LaunchHostFunc> found{nullptr};
  static std::atomic<unsigned long long> searched{0};
  LaunchHostFunc f = found.load(std::memory_order_acquire);
  if (f != nullptr) {
    return f;
  }
  // HIP may be loaded later. A search in vain goes through the directories of the loader, so there
  // is another only when something was loaded since.
  unsigned long long now = loads();
  if (searched.load(std::memory_order_acquire) != now) {
    f = find();
    found.store(f, std::memory_order_release);
    searched.store(now, std::memory_order_release);
    return f;
  }
  return found.load(std::memory_order_acquire); // another thread may have found it meanwhile
}

void run(void *data) {
  std::unique_ptr<std::function<void()>> work(static_cast<std::function<void()> *>(data));
  (*work)();
}

} // namespace

void enqueue(hipdnnRefStream_t stream, std::function<void()> work) {
  LaunchHostFunc launch = launch_host_func();
  if (launch == nullptr) {
    work();
    return;
  }
  auto data = std::make_unique<std::function<void()>>(std::move(work));
  int error = launch(stream, run, data.get());
  if (error != 0) {
    fail(HIPDNN_STATUS_EXECUTION_FAILED,
         "hipLaunchHostFunc on the handle's stream returned " + std::to_string(error));
  }
  data.release();
}

} // namespace refhipdnn::hip
