#include "engines.hpp"

#include "errors.hpp"
#include "log.hpp"

#include <algorithm>
#include <tuple>

namespace refhipdnn {
namespace {

// The order of hipDNN's static policy (EngineOrdering.cpp @ 320b8258): MIOPEN_ENGINE first,
// MIOPEN_ENGINE_DETERMINISTIC last, the others as they come. Here they come plugins first.
const int64_t kMiopen = engine_id("MIOPEN_ENGINE");
const int64_t kMiopenDeterministic = engine_id("MIOPEN_ENGINE_DETERMINISTIC");

int rank(int64_t id) {
  return id == kMiopen ? 0 : id == kMiopenDeterministic ? 2 : 1;
}

} // namespace

int64_t engine_id(const std::string &name) {
  if (name.empty()) {
    return 0;
  }
  uint64_t hash = 0xcbf29ce484222325u;
  for (unsigned char c : name) {
    hash = (hash ^ c) * 0x100000001b3u;
  }
  return static_cast<int64_t>(hash);
}

Engines::Engines() {
  for (const auto &provider : providers()) {
    try {
      entries_.push_back({provider, provider->open()});
    } catch (const Failure &e) {
      log(HIPDNN_SEV_ERROR, provider->name() + ": no handle, left out: " + e.what());
    }
  }
}

Engines::~Engines() = default;

void Engines::set_stream(hipdnnRefStream_t stream) {
  for (const Entry &e : entries_) {
    e.opened->set_stream(stream);
  }
}

std::vector<int64_t> Engines::applicable(const Graph &graph, const Bytes &bytes, bool first) const {
  std::vector<int64_t> out;
  ApiVersion required = graph.required.value_or(ApiVersion{});
  for (const Entry &e : entries_) {
    if (e.provider->api() < required) {
      log(HIPDNN_SEV_INFO, e.provider->name() + ": plugin API too old for the graph, skipped");
      continue;
    }
    for (int64_t id : e.opened->applicable(bytes)) {
      if (e.provider->engines().count(id) != 0) { // dropped engines may still be offered
        out.push_back(id);
      }
    }
    if (first && !out.empty()) {
      break;
    }
  }
  std::stable_sort(out.begin(), out.end(), [](int64_t a, int64_t b) { return rank(a) < rank(b); });
  return out;
}

EngineHandle &Engines::of(int64_t engine) const {
  for (const Entry &e : entries_) {
    if (e.provider->engines().count(engine) != 0) {
      return *e.opened;
    }
  }
  fail(HIPDNN_STATUS_INTERNAL_ERROR, "no loaded engine has the id " + std::to_string(engine));
}

std::vector<Engines::Info> Engines::infos() const {
  std::vector<Info> out;
  for (const Entry &e : entries_) {
    for (const auto &[id, name] : e.provider->engines()) {
      out.push_back({id, name, e.provider->name(), e.provider->version()});
    }
  }
  std::sort(out.begin(), out.end(), [](const Info &a, const Info &b) {
    return std::tie(a.name, a.id) < std::tie(b.name, b.id);
  });
  return out;
}

std::vector<std::string> Engines::plugin_files() const {
  std::vector<std::string> out;
  for (const Entry &e : entries_) {
    if (!e.provider->path().empty()) {
      out.push_back(e.provider->path());
    }
  }
  std::sort(out.begin(), out.end());
  return out;
}

} // namespace refhipdnn
