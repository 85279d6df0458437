#ifndef REFMIOPEN_HANDLE_HPP
#define REFMIOPEN_HANDLE_HPP

#include <chrono>
#include <map>
#include <mutex>
#include <set>
#include <string>

#include <miopen/miopen.h>

#include "errors.hpp"

namespace miopen {

// What one application context holds. Safe for concurrent calls.
class MIOPEN_EXPORT Handle : public miopenHandle {
public:
  explicit Handle(miopenAcceleratorQueue_t stream);

  miopenAcceleratorQueue_t Stream() const;
  void SetStream(miopenAcceleratorQueue_t s);

  // Stored for fidelity; the library itself never allocates device memory.
  void SetAllocator(miopenAllocatorFunction allocate, miopenDeallocatorFunction release,
                    void *context);

  void EnableProfiling(bool enable);
  // Milliseconds of the last timed operation.
  float KernelTime() const;

  // Runs `operation` and records how long it took when profiling is on.
  template <class Operation> void Timed(Operation &&operation) {
    const auto start = std::chrono::steady_clock::now();
    operation();
    Record(std::chrono::duration<float, std::milli>(std::chrono::steady_clock::now() - start));
  }

  // The algorithms that were made callable for a problem by find or by compilation.
  void RegisterInvoker(const std::string &problem, int algorithm);
  bool HasInvoker(const std::string &problem, int algorithm) const;

#ifndef REFMIOPEN_3_4
  miopenTuningPolicy_t TuningPolicy() const;
  void SetTuningPolicy(miopenTuningPolicy_t policy);
#endif

private:
  void Record(std::chrono::duration<float, std::milli> time);

  mutable std::mutex mutex; // guards every field below
  miopenAcceleratorQueue_t stream;
  miopenAllocatorFunction allocator = nullptr;
  miopenDeallocatorFunction deallocator = nullptr;
  void *allocator_context = nullptr;
  bool profiling = false;
  float kernel_time = 0;
  std::map<std::string, std::set<int>> invokers;
#ifndef REFMIOPEN_3_4
  miopenTuningPolicy_t tuning_policy = miopenTuningPolicyNone;
#endif
};

inline Handle &deref(miopenHandle_t handle) {
  if (handle == nullptr)
    Throw(miopenStatusBadParm, "the handle is null");
  return *static_cast<Handle *>(handle);
}

// The directory that this library was loaded from, found through the address of miopenCreate, the
// way in which the real library finds its databases. A split must leave it pointing at the file
// that holds the implementation.
MIOPEN_EXPORT std::string LibraryDirectory();

} // namespace miopen

#endif // REFMIOPEN_HANDLE_HPP
