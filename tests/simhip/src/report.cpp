// Violations, counters of kernels, trace, and the report in JSON.
#include "report.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <map>
#include <mutex>
#include <set>
#include <sys/syscall.h>
#include <unistd.h>

#include "config.hpp"

namespace simhip::report {
namespace {

constexpr std::size_t linesPrinted = 100; // of violations; the report has all up to entriesKept
constexpr std::size_t entriesKept = 10000;

struct Counter {
  unsigned long executed = 0, noop = 0, failed = 0;
  std::chrono::nanoseconds time{};
  std::string note;
};

struct State {
  std::mutex mutex;
  std::map<std::string, Counter> kernels;
  std::vector<std::pair<Kind, std::string>> violations;
  std::set<std::string> printed;
  unsigned long total = 0;
  int trace = -1;
};

State &state() {
  static auto *const instance = new State; // outlives exit handlers
  return *instance;
}

const char *name(Kind kind) {
  switch (kind) {
  case Kind::overrun:
    return "out of bounds";
  case Kind::useAfterFree:
    return "use after free";
  case Kind::wrongFree:
    return "wrong free";
  case Kind::direction:
    return "wrong direction";
  case Kind::race:
    return "missing synchronisation";
  case Kind::hostRace:
    return "missing synchronisation with the host";
  case Kind::kernel:
    return "kernel failed";
  case Kind::hostFunction:
    return "call in a host function";
  }
  return "?";
}

// One write(2), so that lines of several threads stay whole.
void put(int file, std::string line) {
  line += '\n';
  const char *rest = line.data();
  std::size_t left = line.size();
  while (left > 0) {
    ssize_t written = ::write(file, rest, left);
    if (written <= 0) {
      return;
    }
    rest += written;
    left -= static_cast<std::size_t>(written);
  }
}

std::string quoted(const std::string &text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", static_cast<unsigned char>(c));
      out += escape;
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string document(State &s, const std::vector<Leak> &leaks, std::size_t pending) {
  const Config &c = config();
  std::string out = "{\n  \"device\": {\"architecture\": " + quoted(c.architecture) +
                    ", \"compute_units\": " + std::to_string(c.computeUnits) +
                    ", \"devices\": " + std::to_string(c.devices) +
                    ", \"memory\": " + std::to_string(c.memory) +
                    ", \"execute\": " + (c.execute ? "true" : "false") + "},\n  \"kernels\": [";
  const char *separator = "\n    ";
  for (const auto &[kernel, count] : s.kernels) {
    out += separator;
    out += "{\"name\": " + quoted(kernel) + ", \"executed\": " + std::to_string(count.executed) +
           ", \"noop\": " + std::to_string(count.noop) +
           ", \"failed\": " + std::to_string(count.failed) +
           ", \"microseconds\": " + std::to_string(static_cast<double>(count.time.count()) * 1e-3);
    if (!count.note.empty()) {
      out += ", \"note\": " + quoted(count.note);
    }
    out += "}";
    separator = ",\n    ";
  }
  out += "],\n  \"violation_count\": " + std::to_string(s.total) + ",\n  \"violations\": [";
  separator = "\n    ";
  for (const auto &[kind, text] : s.violations) {
    out += separator;
    out += "{\"kind\": " + quoted(name(kind)) + ", \"text\": " + quoted(text) + "}";
    separator = ",\n    ";
  }
  std::size_t bytes = 0;
  for (const Leak &leak : leaks) {
    bytes += leak.bytes;
  }
  out += "],\n  \"leaks\": {\"count\": " + std::to_string(leaks.size()) +
         ", \"bytes\": " + std::to_string(bytes) + ", \"allocations\": [";
  separator = "\n    ";
  for (const Leak &leak : leaks) {
    out += separator;
    out += "{\"what\": " + quoted(leak.what) + ", \"bytes\": " + std::to_string(leak.bytes) +
           ", \"by\": " + quoted(leak.by) + "}";
    separator = ",\n    ";
  }
  return out + "]},\n  \"pending\": " + std::to_string(pending) + "\n}\n";
}

// Written beside and renamed, so that a reader never sees a half.
void write(const std::string &path, const std::string &text) {
  std::string draft = path + "." + std::to_string(getpid()) + ".tmp";
  std::FILE *file = std::fopen(draft.c_str(), "we");
  bool ok = file != nullptr && std::fwrite(text.data(), 1, text.size(), file) == text.size();
  ok = (file == nullptr || std::fclose(file) == 0) && ok;
  if (!ok || std::rename(draft.c_str(), path.c_str()) != 0) {
    put(STDERR_FILENO, "simhip: SIMHIP_REPORT=" + path + ": cannot write: " + std::strerror(errno));
    std::remove(draft.c_str());
  }
}

} // namespace

void violation(Kind kind, const std::string &text) {
  State &s = state();
  std::string line = std::string("simhip: ") + name(kind) + ": " + text;
  bool print = false, last = false;
  {
    std::lock_guard<std::mutex> lock(s.mutex);
    s.total++;
    if (s.violations.size() < entriesKept) {
      s.violations.emplace_back(kind, text);
    }
    print = s.printed.size() <= linesPrinted && s.printed.insert(text).second;
    last = s.printed.size() > linesPrinted;
  }
  if (print) {
    put(STDERR_FILENO,
        last ? "simhip: further violations are only in the report (SIMHIP_REPORT)" : line);
  }
  if (tracing()) {
    trace(line);
  }
  if (config().abortOnViolation) {
    std::abort();
  }
}

void launched(const std::string &kernel, Launch how, std::chrono::nanoseconds time) {
  State &s = state();
  std::lock_guard<std::mutex> lock(s.mutex);
  Counter &counter = s.kernels[kernel];
  counter.time += time;
  (how == Launch::executed ? counter.executed
   : how == Launch::noop   ? counter.noop
                           : counter.failed)++;
}

void launchNote(const std::string &kernel, const std::string &note) {
  State &s = state();
  std::lock_guard<std::mutex> lock(s.mutex);
  s.kernels[kernel].note = note;
}

bool tracing() {
  return !config().trace.empty();
}

void trace(const std::string &line) {
  State &s = state();
  std::lock_guard<std::mutex> lock(s.mutex);
  if (s.trace == -1) {
    const std::string &path = config().trace;
    s.trace = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (s.trace == -1) {
      put(STDERR_FILENO, "simhip: SIMHIP_TRACE=" + path + ": cannot open: " + std::strerror(errno));
      s.trace = -2;
    }
  }
  if (s.trace >= 0) {
    put(s.trace, std::to_string(::syscall(SYS_gettid)) + " " + line);
  }
}

void finish(const std::vector<Leak> &leaks, std::size_t pending) {
  State &s = state();
  std::lock_guard<std::mutex> lock(s.mutex);
  std::size_t bytes = 0;
  std::map<std::string, std::size_t> same; // in the order of the text
  for (const Leak &leak : leaks) {
    bytes += leak.bytes;
    same[std::to_string(leak.bytes) + " bytes of " + leak.what + " memory from " + leak.by]++;
  }
  if (!leaks.empty()) {
    put(STDERR_FILENO, "simhip: leak: " + std::to_string(leaks.size()) + " allocations, " +
                           std::to_string(bytes) + " bytes in all");
    std::size_t lines = 0;
    for (const auto &[text, count] : same) {
      if (++lines > linesPrinted) {
        put(STDERR_FILENO, "simhip: leak: further ones are only in the report (SIMHIP_REPORT)");
        break;
      }
      put(STDERR_FILENO, "simhip: leak: " + std::to_string(count) + " x " + text);
    }
  }
  if (!config().report.empty()) {
    write(config().report, document(s, leaks, pending));
  }
}

} // namespace simhip::report
