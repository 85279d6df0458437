#include "log.hpp"

#include "config.hpp"
#include "errors.hpp"

#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace refhipdnn {
namespace {

// One client callback. Asynchronous ones have a thread of their own, which ends with them.
class Callback {
public:
  Callback(hipdnnUserLogCallback_t callback, hipdnnSeverity_t least, hipdnnLogCallbackMode_t mode,
           void *user)
      : user(user), callback_(callback), least_(least) {
    if (mode == HIPDNN_LOG_CALLBACK_MODE_ASYNC) {
      thread_ = std::thread([this] { deliver(); });
    }
  }
  ~Callback() {
    if (thread_.joinable()) {
      {
        std::lock_guard<std::mutex> lock(mutex_);
        ending_ = true;
      }
      changed_.notify_one();
      thread_.join();
    }
  }

  void take(hipdnnSeverity_t severity, const std::string &message) {
    if (severity < least_) {
      return;
    }
    if (!thread_.joinable()) {
      callback_(user, severity, message.c_str());
      return;
    }
    {
      std::lock_guard<std::mutex> lock(mutex_);
      queue_.emplace_back(severity, message);
    }
    changed_.notify_one();
  }

  void *const user;

private:
  void deliver() {
    std::unique_lock<std::mutex> lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return ending_ || !queue_.empty(); });
      if (queue_.empty()) {
        return;
      }
      auto [severity, message] = std::move(queue_.front());
      queue_.pop_front();
      lock.unlock();
      callback_(user, severity, message.c_str());
      lock.lock();
    }
  }

  hipdnnUserLogCallback_t callback_;
  hipdnnSeverity_t least_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::pair<hipdnnSeverity_t, std::string>> queue_;
  bool ending_ = false;
  std::thread thread_;
};

struct Log {
  std::recursive_mutex mutex; // a synchronous callback may log
  std::vector<std::unique_ptr<Callback>> callbacks;
  std::atomic<bool> listening{false};
  std::atomic<int> level{HIPDNN_SEV_INFO};
  std::FILE *file = nullptr;

  Log() {
    const std::string &path = config().log;
    if (path == "stderr") {
      file = stderr;
    } else if (!path.empty()) {
      file = std::fopen(path.c_str(), "a");
      if (file == nullptr) {
        std::fprintf(stderr, "refhipdnn: cannot write the log to %s\n", path.c_str());
      }
    }
  }
};

// Never destroyed: the client may log from its own teardown.
Log &state() {
  static Log *l = new Log;
  return *l;
}

} // namespace

bool log_wanted(hipdnnSeverity_t severity) {
  Log &l = state();
  return severity >= l.level.load(std::memory_order_relaxed) &&
         (l.file != nullptr || l.listening.load(std::memory_order_relaxed));
}

void log(hipdnnSeverity_t severity, const std::string &message) {
  if (!log_wanted(severity)) {
    return;
  }
  Log &l = state();
  std::lock_guard<std::recursive_mutex> lock(l.mutex);
  if (l.file != nullptr) {
    static const char *const kNames[] = {"info", "warn", "error", "fatal"};
    std::fprintf(l.file, "refhipdnn: %s: %s\n", kNames[severity], message.c_str());
    std::fflush(l.file);
  }
  for (const auto &c : l.callbacks) {
    c->take(severity, message);
  }
}

void set_callback(hipdnnUserLogCallback_t callback, hipdnnSeverity_t least,
                  hipdnnLogCallbackMode_t mode, void *user) {
  if (user == nullptr) {
    fail(HIPDNN_STATUS_BAD_PARAM_NULL_POINTER, "a log callback wants a user handle");
  }
  if (callback == nullptr && least != HIPDNN_SEV_OFF) {
    fail(HIPDNN_STATUS_BAD_PARAM_NULL_POINTER, "no log callback");
  }
  if (least < HIPDNN_SEV_INFO || least > HIPDNN_SEV_OFF ||
      (mode != HIPDNN_LOG_CALLBACK_MODE_SYNC && mode != HIPDNN_LOG_CALLBACK_MODE_ASYNC)) {
    fail(HIPDNN_STATUS_BAD_PARAM, "no such severity or mode of a log callback");
  }
  Log &l = state();
  std::unique_ptr<Callback> removed; // destroyed without the lock: its thread may log
  std::lock_guard<std::recursive_mutex> lock(l.mutex);
  for (auto it = l.callbacks.begin(); it != l.callbacks.end(); ++it) {
    if ((*it)->user == user) {
      removed = std::move(*it);
      l.callbacks.erase(it);
      break;
    }
  }
  if (least != HIPDNN_SEV_OFF) {
    l.callbacks.push_back(std::make_unique<Callback>(callback, least, mode, user));
  }
  l.listening = !l.callbacks.empty();
}

void set_log_level(hipdnnSeverity_t level) {
  state().level = level;
}

hipdnnSeverity_t log_level() {
  return static_cast<hipdnnSeverity_t>(state().level.load());
}

} // namespace refhipdnn
