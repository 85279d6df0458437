#include "report.hpp"

#include "config.hpp"
#include "errors.hpp"

#include <cstdio>
#include <map>
#include <mutex>
#include <unistd.h>
#include <vector>

namespace refhipdnn {
namespace {

std::atomic<Function *> functions{nullptr};
std::atomic<ObjectKind *> kinds{nullptr};

template <class T> void push(std::atomic<T *> &head, T *item) {
  item->next = head.load();
  while (!head.compare_exchange_weak(item->next, item)) {
  }
}

struct FailedCall {
  std::string function;
  int status;
  std::string text;
  bool injected;
};

struct Events {
  std::mutex mutex;
  std::vector<FailedCall> failures;
  std::vector<std::string> misuse;
  std::map<std::string, uint64_t> executions;
  std::vector<std::string> execution_errors;
  std::map<std::string, uint64_t> plans;
};

// Never destroyed: the report is written when static objects may be gone.
Events &events() {
  static Events *e = new Events;
  return *e;
}

constexpr size_t kKept = 100;

std::string quoted(const std::string &s) {
  std::string out = "\"";
  for (unsigned char c : s) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += static_cast<char>(c);
    } else if (c < 0x20) {
      char escape[8];
      std::snprintf(escape, sizeof(escape), "\\u%04x", c);
      out += escape;
    } else {
      out += static_cast<char>(c);
    }
  }
  return out + "\"";
}

// A JSON object or array being written, with its commas.
class List {
public:
  List(std::string &out, char open, char close) : out_(out), close_(close) {
    out_ += open;
  }
  void item(const std::string &text) {
    out_ += first_ ? "\n    " : ",\n    ";
    first_ = false;
    out_ += text;
  }
  void pair(const std::string &key, const std::string &value) {
    item(quoted(key) + ": " + value);
  }
  void end() {
    out_ += first_ ? "" : "\n  ";
    out_ += close_;
  }

private:
  std::string &out_;
  char close_;
  bool first_ = true;
};

std::string json() {
  Events &e = events();
  std::lock_guard<std::mutex> lock(e.mutex);
  std::string out = "{\n  \"version\": " + quoted(config().version);
  out += ",\n  \"pid\": " + std::to_string(getpid());

  out += ",\n  \"calls\": ";
  List calls(out, '{', '}');
  for (const Function *f = functions.load(); f != nullptr; f = f->next) {
    calls.pair(f->name, "{\"count\": " + std::to_string(f->calls) +
                            ", \"failed\": " + std::to_string(f->failed) + "}");
  }
  calls.end();

  out += ",\n  \"objects\": ";
  List objects(out, '{', '}');
  for (const ObjectKind *k = kinds.load(); k != nullptr; k = k->next) {
    objects.pair(k->name, "{\"created\": " + std::to_string(k->total) +
                              ", \"live\": " + std::to_string(k->live) +
                              ", \"most\": " + std::to_string(k->most) + "}");
  }
  objects.end();

  out += ",\n  \"plans\": ";
  List plans(out, '{', '}');
  for (const auto &[how, count] : e.plans) {
    plans.pair(how, std::to_string(count));
  }
  plans.end();

  out += ",\n  \"executions\": ";
  List executions(out, '{', '}');
  for (const auto &[engine, count] : e.executions) {
    executions.pair(engine, std::to_string(count));
  }
  executions.end();

  out += ",\n  \"execution_errors\": ";
  List errors(out, '[', ']');
  for (const auto &text : e.execution_errors) {
    errors.item(quoted(text));
  }
  errors.end();

  out += ",\n  \"misuse\": ";
  List misuse(out, '[', ']');
  for (const auto &text : e.misuse) {
    misuse.item(quoted(text));
  }
  misuse.end();

  out += ",\n  \"failures\": ";
  List failures(out, '[', ']');
  for (const auto &f : e.failures) {
    failures.item("{\"function\": " + quoted(f.function) + ", \"status\": " +
                  std::to_string(f.status) + ", \"injected\": " + (f.injected ? "true" : "false") +
                  ", \"text\": " + quoted(f.text) + "}");
  }
  failures.end();
  return out + "\n}\n";
}

__attribute__((destructor)) void write_report() {
  const std::string &path = config().report;
  if (path.empty()) {
    return;
  }
  std::string text = json();
  std::FILE *f = std::fopen(path.c_str(), "w");
  if (f == nullptr || std::fwrite(text.data(), 1, text.size(), f) != text.size()) {
    std::fprintf(stderr, "refhipdnn: cannot write the report to %s\n", path.c_str());
  }
  if (f != nullptr) {
    std::fclose(f);
  }
}

} // namespace

Function::Function(const char *name) : name(name) {
  push(functions, this);
}

ObjectKind::ObjectKind(const char *name) : name(name) {
  push(kinds, this);
}

void ObjectKind::created() {
  total++;
  int64_t now = ++live;
  int64_t before = most;
  while (now > before && !most.compare_exchange_weak(before, now)) {
  }
}

void ObjectKind::destroyed() {
  live--;
}

void report_failure(const char *function, int status, const char *text, bool injected) {
  Events &e = events();
  std::lock_guard<std::mutex> lock(e.mutex);
  if (e.failures.size() < kKept) {
    e.failures.push_back({function, status, text, injected});
  }
}

void report_misuse(const std::string &text) {
  Events &e = events();
  std::lock_guard<std::mutex> lock(e.mutex);
  if (e.misuse.size() < kKept) {
    e.misuse.push_back(text);
  }
}

void report_execution(const std::string &engine, const std::string &error) {
  Events &e = events();
  std::lock_guard<std::mutex> lock(e.mutex);
  e.executions[engine]++;
  if (!error.empty() && e.execution_errors.size() < kKept) {
    e.execution_errors.push_back(engine + ": " + error);
  }
}

void report_plan(const char *how) {
  Events &e = events();
  std::lock_guard<std::mutex> lock(e.mutex);
  e.plans[how]++;
}

} // namespace refhipdnn
