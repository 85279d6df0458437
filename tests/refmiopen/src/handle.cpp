#include "handle.hpp"

#include <cstdlib>
#include <dlfcn.h>
#include <memory>

namespace miopen {

Handle::Handle(miopenAcceleratorQueue_t s) : stream(s) {}

miopenAcceleratorQueue_t Handle::Stream() const {
  const std::lock_guard<std::mutex> lock(mutex);
  return stream;
}

void Handle::SetStream(miopenAcceleratorQueue_t s) {
  const std::lock_guard<std::mutex> lock(mutex);
  stream = s;
}

void Handle::SetAllocator(miopenAllocatorFunction allocate, miopenDeallocatorFunction release,
                          void *context) {
  const std::lock_guard<std::mutex> lock(mutex);
  allocator = allocate;
  deallocator = release;
  allocator_context = context;
}

void Handle::EnableProfiling(bool enable) {
  const std::lock_guard<std::mutex> lock(mutex);
  profiling = enable;
}

float Handle::KernelTime() const {
  const std::lock_guard<std::mutex> lock(mutex);
  return kernel_time;
}

void Handle::Record(std::chrono::duration<float, std::milli> time) {
  const std::lock_guard<std::mutex> lock(mutex);
  if (profiling)
    kernel_time = time.count();
}

void Handle::RegisterInvoker(const std::string &problem, int algorithm) {
  const std::lock_guard<std::mutex> lock(mutex);
  invokers[problem].insert(algorithm);
}

bool Handle::HasInvoker(const std::string &problem, int algorithm) const {
  const std::lock_guard<std::mutex> lock(mutex);
  const auto found = invokers.find(problem);
  return found != invokers.end() && found->second.count(algorithm) != 0;
}

#ifndef REFMIOPEN_3_4
miopenTuningPolicy_t Handle::TuningPolicy() const {
  const std::lock_guard<std::mutex> lock(mutex);
  return tuning_policy;
}

void Handle::SetTuningPolicy(miopenTuningPolicy_t policy) {
  if (policy < miopenTuningPolicyNone || policy > miopenTuningPolicyDbClean)
    Throw(miopenStatusBadParm, "unknown tuning policy");
  const std::lock_guard<std::mutex> lock(mutex);
  tuning_policy = policy;
}
#endif

std::string LibraryDirectory() {
  Dl_info info;
  if (dladdr(reinterpret_cast<void *>(&miopenCreate), &info) == 0 || info.dli_fname == nullptr)
    Throw(miopenStatusInternalError, "dladdr does not know miopenCreate");
  const std::unique_ptr<char, decltype(&std::free)> path(realpath(info.dli_fname, nullptr),
                                                         &std::free);
  if (path == nullptr)
    Throw(miopenStatusInternalError, std::string("no such file: ") + info.dli_fname);
  const std::string file = path.get();
  return file.substr(0, file.rfind('/'));
}

} // namespace miopen
