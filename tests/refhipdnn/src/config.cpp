#include "config.hpp"

#include "errors.hpp"

#include <cstdlib>
#include <limits>
#include <unistd.h>

namespace refhipdnn {
namespace {

std::string text(const char *name) {
  const char *value = std::getenv(name);
  return value != nullptr ? value : "";
}

void bad(Config &c, const std::string &name, const std::string &value, const std::string &why) {
  if (c.error.empty()) {
    c.error = name + "=" + value + ": " + why;
  }
}

bool parse_count(const std::string &s, uint64_t &out) {
  if (s.empty() || s.find_first_not_of("0123456789") != std::string::npos || s.size() > 18) {
    return false;
  }
  out = std::strtoull(s.c_str(), nullptr, 10);
  return true;
}

int64_t number(Config &c, const char *name) {
  std::string value = text(name);
  uint64_t out = 0;
  if (!value.empty() && !parse_count(value, out)) {
    bad(c, name, value, "want a number");
  }
  return static_cast<int64_t>(out);
}

// FUNCTION[/DETAIL][:N|:N+]=STATUS
bool parse_rule(const std::string &item, FailureRule &rule) {
  size_t equals = item.find('=');
  if (equals == std::string::npos) {
    return false;
  }
  int status = parse_status(item.substr(equals + 1));
  std::string where = item.substr(0, equals);
  rule.first = 1;
  rule.last = std::numeric_limits<uint64_t>::max();
  size_t colon = where.find(':');
  if (colon != std::string::npos) {
    std::string nth = where.substr(colon + 1);
    where.resize(colon);
    bool onwards = !nth.empty() && nth.back() == '+';
    if (onwards) {
      nth.pop_back();
    }
    if (!parse_count(nth, rule.first) || rule.first == 0) {
      return false;
    }
    if (!onwards) {
      rule.last = rule.first;
    }
  }
  size_t slash = where.find('/');
  rule.function = where.substr(0, slash);
  rule.detail = slash == std::string::npos ? "" : where.substr(slash + 1);
  rule.status = static_cast<hipdnnStatus_t>(status);
  return status > 0 && rule.function.rfind("hipdnn", 0) == 0;
}

void parse_failures(Config &c) {
  std::string value = text("REFHIPDNN_FAIL");
  for (size_t at = 0; at < value.size();) {
    size_t comma = std::min(value.find(',', at), value.size());
    FailureRule rule;
    if (!parse_rule(value.substr(at, comma - at), rule)) {
      bad(c, "REFHIPDNN_FAIL", value, "want FUNCTION[/DETAIL][:N|:N+]=STATUS,...");
    }
    c.failures.push_back(rule);
    at = comma + 1;
  }
}

void parse_version(Config &c) {
  // 1.x is the numbering of late 2026. Which release changed it is not known; the early snapshots
  // had no release number yet.
  c.version = text("REFHIPDNN_VERSION");
  if (c.version.empty()) {
    c.version = "1.3.0.0";
  }
  int parts = 1;
  bool digits = false, good = true;
  for (char ch : c.version) {
    if (ch == '.') {
      good = good && digits;
      parts++;
      digits = false;
    } else {
      digits = digits || (ch >= '0' && ch <= '9');
    }
  }
  if (!good || !digits || parts != 4 || c.version[0] < '0' || c.version[0] > '9') {
    bad(c, "REFHIPDNN_VERSION", c.version, "want MAJOR.MINOR.PATCH.TWEAK");
  }
  c.early = std::atoi(c.version.c_str()) < 1;
}

Config read() {
  Config c;
  parse_version(c);
  parse_failures(c);
  c.plan_ms = number(c, "REFHIPDNN_PLAN_MS");
  c.duration_us = number(c, "REFHIPDNN_DURATION_US");
  c.workspace = number(c, "REFHIPDNN_WORKSPACE");
  std::string execute = text("REFHIPDNN_EXECUTE");
  if (!execute.empty() && execute != "none") {
    bad(c, "REFHIPDNN_EXECUTE", execute, "want none");
  }
  c.idle = execute == "none";
  c.log = text("REFHIPDNN_LOG");
  c.report = text("REFHIPDNN_REPORT");
  size_t pid = c.report.find("%p");
  if (pid != std::string::npos) {
    c.report.replace(pid, 2, std::to_string(getpid()));
  }
  return c;
}

} // namespace

const Config &config() {
  // Never destroyed: calls may come from other libraries' teardown.
  static const Config *c = new Config(read());
  return *c;
}

} // namespace refhipdnn
