// Parsing of the environment variables.
#include "config.hpp"

#include <cctype>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fnmatch.h>
#include <regex>
#include <thread>
#include <unistd.h>

#include "errors.hpp"

namespace simhip {
namespace {

[[noreturn]] void reject(const char *variable, const char *value, const char *expected) {
  std::fprintf(stderr, "simhip: %s=%s: expected %s\n", variable, value, expected);
  _exit(2);
}

std::string text(const char *variable, const char *otherwise) {
  const char *value = std::getenv(variable);
  return value != nullptr && *value != '\0' ? value : otherwise;
}

unsigned long number(const char *variable, unsigned long otherwise, unsigned long least,
                     unsigned long most, const char *expected) {
  std::string value = text(variable, "");
  if (value.empty()) {
    return otherwise;
  }
  char *end = nullptr;
  errno = 0;
  unsigned long result = std::strtoul(value.c_str(), &end, 10);
  if (errno != 0 || *end != '\0' || !std::isdigit(static_cast<unsigned char>(value[0])) ||
      result < least || result > most) {
    reject(variable, value.c_str(), expected);
  }
  return result;
}

bool choice(const char *variable, const char *otherwise, std::initializer_list<const char *> no,
            std::initializer_list<const char *> yes, const char *expected) {
  std::string value = text(variable, otherwise);
  for (const char *name : no) {
    if (value == name) {
      return false;
    }
  }
  for (const char *name : yes) {
    if (value == name) {
      return true;
    }
  }
  reject(variable, value.c_str(), expected);
}

std::vector<std::string> split(const std::string &list) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  while (begin < list.size()) {
    std::size_t end = std::min(list.find(',', begin), list.size());
    if (end > begin) {
      parts.push_back(list.substr(begin, end - begin));
    }
    begin = end + 1;
  }
  return parts;
}

std::size_t bytes(const char *variable, std::size_t otherwise) {
  const char *expected = "a number of bytes, with K, M or G behind it if you like";
  std::string value = text(variable, "");
  if (value.empty()) {
    return otherwise;
  }
  char *end = nullptr;
  errno = 0;
  unsigned long result = std::strtoul(value.c_str(), &end, 10);
  int shift = *end == 'K' ? 10 : *end == 'M' ? 20 : *end == 'G' ? 30 : 0;
  if (errno != 0 || end == value.c_str() || !std::isdigit(static_cast<unsigned char>(value[0])) ||
      end[shift != 0 ? 1 : 0] != '\0' || result > (SIZE_MAX >> shift)) {
    reject(variable, value.c_str(), expected);
  }
  return result << shift;
}

std::vector<Duration> durations() {
  const char *variable = "SIMHIP_DURATION";
  std::string value = text(variable, "");
  std::vector<Duration> all;
  for (const std::string &part : split(value)) {
    std::size_t equals = part.rfind('=');
    char *end = nullptr;
    double microseconds =
        equals == std::string::npos ? -1 : std::strtod(part.c_str() + equals + 1, &end);
    if (equals == 0 || !(microseconds >= 0 && microseconds <= 3.6e9) ||
        end == part.c_str() + equals + 1 || *end != '\0') {
      reject(variable, value.c_str(), "PATTERN=MICROSECONDS,..., at most an hour each");
    }
    all.push_back({part.substr(0, equals),
                   std::chrono::nanoseconds(static_cast<long long>(microseconds * 1e3))});
  }
  return all;
}

std::vector<Failure> failures() {
  const char *variable = "SIMHIP_FAIL";
  const char *expected = "FUNCTION:CALL=ERROR,..., where CALL is 1, 2, ... or with a + behind it, "
                         "and ERROR is the name "
                         "of an error of HIP";
  std::string value = text(variable, "");
  std::vector<Failure> all;
  for (const std::string &part : split(value)) {
    std::size_t colon = part.find(':'), equals = part.find('=');
    if (colon == std::string::npos || equals == std::string::npos || colon == 0 || equals < colon) {
      reject(variable, value.c_str(), expected);
    }
    Failure failure;
    failure.function = part.substr(0, colon);
    char *end = nullptr;
    failure.call = std::strtoul(part.c_str() + colon + 1, &end, 10);
    failure.onwards = *end == '+';
    std::optional<hipError_t> error = errorNamed(part.substr(equals + 1));
    if (failure.call == 0 || end + (failure.onwards ? 1 : 0) != part.c_str() + equals || !error ||
        *error == hipSuccess) {
      reject(variable, value.c_str(), expected);
    }
    if (dlsym(RTLD_DEFAULT, failure.function.c_str()) == nullptr) {
      reject(variable, value.c_str(), "FUNCTION is none that is exported");
    }
    failure.error = *error;
    all.push_back(failure);
  }
  return all;
}

// Whether it is a target ID of AMD GPUs, as LLVM's user guide for AMDGPU defines them: the
// features that there are, in that order.
bool isTarget(const std::string &architecture) {
  static const std::regex target("gfx[1-9][0-9]?[0-9a-f]{2}(:sramecc[+-])?(:xnack[+-])?");
  return std::regex_match(architecture, target);
}

Config *read() {
  auto *c = new Config; // never destroyed: threads and exit handlers may still ask
  c->architecture = text("SIMHIP_ARCH", "gfx942:sramecc+:xnack-");
  c->processor = c->architecture.substr(0, c->architecture.find(':'));
  if (!isTarget(c->architecture)) {
    reject("SIMHIP_ARCH", c->architecture.c_str(),
           "a processor such as gfx942, with or without :sramecc+ or - and :xnack+ or -");
  }
  c->computeUnits =
      static_cast<int>(number("SIMHIP_CU", 304, 1, 4096, "a number of compute units, 1 to 4096"));
  c->devices = static_cast<int>(number("SIMHIP_DEVICES", 1, 0, 64, "a number of devices, 0 to 64"));
  c->memory = bytes("SIMHIP_MEMORY", std::size_t{192} << 30);
  unsigned cores = std::max(1U, std::thread::hardware_concurrency());
  c->threads = static_cast<unsigned>(
      number("SIMHIP_THREADS", cores, 1, 1024, "a number of threads, 1 to 1024"));
  // isa is for the executors, which read the variable themselves: they then leave out kernels
  // written by hand.
  c->execute = choice("SIMHIP_EXECUTE", "known", {"none"}, {"known", "isa"}, "known, isa or none");
  c->unknownIsError = choice("SIMHIP_UNKNOWN", "count", {"count"}, {"error"}, "count or error");
  c->abortOnViolation =
      choice("SIMHIP_VIOLATION", "report", {"report"}, {"abort"}, "report or abort");
  c->durations = durations();
  c->failures = failures();
  c->report = text("SIMHIP_REPORT", "");
  c->trace = text("SIMHIP_TRACE", "");
  return c;
}

} // namespace

std::optional<std::chrono::nanoseconds> Config::duration(const std::string &kernel) const {
  for (const Duration &entry : durations) {
    if (fnmatch(entry.pattern.c_str(), kernel.c_str(), 0) == 0) {
      return entry.time;
    }
  }
  return std::nullopt;
}

const Config &config() {
  static const Config *const instance = read();
  return *instance;
}

} // namespace simhip
