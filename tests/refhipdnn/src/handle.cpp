#include "handle.hpp"

#include "errors.hpp"
#include "report.hpp"

#include <mutex>
#include <unordered_map>

namespace refhipdnn {
namespace {

struct Handles {
  std::mutex mutex;
  std::unordered_map<hipdnnHandle_t, std::unique_ptr<Handle>> alive;
  ObjectKind kind{"handle"};
};

Handles &handles() {
  static Handles *h = new Handles;
  return *h;
}

[[noreturn]] void dead() {
  report_misuse("a handle was used that is destroyed or never was one");
  fail(HIPDNN_STATUS_BAD_PARAM, "the handle is destroyed or never was one");
}

} // namespace

Handle::Handle() {
  handle_created();
  try {
    engines_ = std::make_shared<Engines>();
  } catch (...) {
    handle_destroyed();
    throw;
  }
}

Handle::~Handle() {
  if (engines_.use_count() > 1) {
    report_misuse("a handle was destroyed before " + std::to_string(engines_.use_count() - 1) +
                  " of its plans");
  }
  engines_.reset();
  handle_destroyed();
}

void Handle::set_stream(hipdnnRefStream_t stream) {
  stream_ = stream;
  engines_->set_stream(stream);
}

hipdnnRefStream_t Handle::stream() const {
  return stream_;
}

hipdnnHandle_t create_handle() {
  auto handle = std::make_unique<Handle>();
  auto object = reinterpret_cast<hipdnnHandle_t>(handle.get());
  Handles &h = handles();
  std::lock_guard<std::mutex> lock(h.mutex);
  h.alive.emplace(object, std::move(handle));
  h.kind.created();
  return object;
}

Handle &get_handle(hipdnnHandle_t handle) {
  if (handle == nullptr) {
    fail(HIPDNN_STATUS_BAD_PARAM_NULL_POINTER, "the handle is null");
  }
  Handles &h = handles();
  std::lock_guard<std::mutex> lock(h.mutex);
  auto found = h.alive.find(handle);
  if (found == h.alive.end()) {
    dead();
  }
  return *found->second;
}

void destroy_handle(hipdnnHandle_t handle) {
  get_handle(handle);
  Handles &h = handles();
  std::unique_ptr<Handle> last; // destroyed without the lock: engines may take their time
  {
    std::lock_guard<std::mutex> lock(h.mutex);
    auto found = h.alive.find(handle);
    if (found != h.alive.end()) {
      last = std::move(found->second);
      h.alive.erase(found);
      h.kind.destroyed();
    }
  }
  if (last == nullptr) {
    dead();
  }
}

} // namespace refhipdnn
