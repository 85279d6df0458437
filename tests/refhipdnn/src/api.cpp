// The entry points: what comes in is counted, logged and perhaps made to fail; what is thrown
// inside becomes a status and the thread's last error.

#include "attributes.hpp"
#include "config.hpp"
#include "descriptors.hpp"
#include "errors.hpp"
#include "log.hpp"
#include "report.hpp"

#include <deque>
#include <mutex>
#include <new>

using namespace refhipdnn;

namespace {

// The rules of REFHIPDNN_FAIL with their counters.
class Injector {
public:
  Injector() {
    for (const FailureRule &rule : config().failures) {
      rules_.emplace_back(rule);
    }
  }
  // The status with which this call has to fail, or success.
  hipdnnStatus_t next(const char *function, const char *detail) {
    if (rules_.empty()) {
      return HIPDNN_STATUS_SUCCESS;
    }
    hipdnnStatus_t out = HIPDNN_STATUS_SUCCESS;
    for (Rule &r : rules_) {
      if (r.rule.function == function && (r.rule.detail.empty() || r.rule.detail == detail)) {
        uint64_t n = ++r.seen;
        if (out == HIPDNN_STATUS_SUCCESS && n >= r.rule.first && n <= r.rule.last) {
          out = r.rule.status;
        }
      }
    }
    return out;
  }

private:
  struct Rule {
    explicit Rule(const FailureRule &rule) : rule(rule) {}
    const FailureRule &rule;
    std::atomic<uint64_t> seen{0};
  };
  std::deque<Rule> rules_;
};

Injector &injector() {
  static Injector *i = new Injector;
  return *i;
}

hipdnnStatus_t failed(Function &function, hipdnnStatus_t status, const char *text, bool injected) {
  function.failed++;
  set_last_error(text);
  report_failure(function.name, status, text, injected);
  if (log_wanted(HIPDNN_SEV_ERROR)) {
    log(HIPDNN_SEV_ERROR, std::string(function.name) + ": " + status_name(status) + ": " + text);
  }
  return status;
}

// detail is what REFHIPDNN_FAIL may add to the function: an attribute or a kind of descriptor.
template <class Work>
hipdnnStatus_t call(Function &function, const char *detail, Work work) noexcept {
  try {
    function.calls++;
    if (!config().error.empty()) {
      return failed(function, HIPDNN_STATUS_INTERNAL_ERROR, config().error.c_str(), false);
    }
    if (log_wanted(HIPDNN_SEV_INFO)) {
      log(HIPDNN_SEV_INFO, std::string(function.name) + (*detail == '\0' ? "" : " ") + detail);
    }
    hipdnnStatus_t injected = injector().next(function.name, detail);
    if (injected != HIPDNN_STATUS_SUCCESS) {
      std::string text = std::string(function.name) + (*detail == '\0' ? "" : "/") + detail +
                         " fails as REFHIPDNN_FAIL says";
      return failed(function, injected, text.c_str(), true);
    }
    work();
    return HIPDNN_STATUS_SUCCESS;
  } catch (const Failure &e) {
    return failed(function, e.status(), e.what(), false);
  } catch (const flatbuffer::Malformed &e) {
    return failed(function, HIPDNN_STATUS_BAD_PARAM, e.what(), false);
  } catch (const std::bad_alloc &) {
    return failed(function, HIPDNN_STATUS_ALLOC_FAILED, "out of memory", false);
  } catch (const std::exception &e) {
    return failed(function, HIPDNN_STATUS_INTERNAL_ERROR, e.what(), false);
  } catch (...) {
    return failed(function, HIPDNN_STATUS_INTERNAL_ERROR, "an unknown exception", false);
  }
}

#define CALL(detail, work)                                                                         \
  static Function *const function = new Function(__func__);                                        \
  return call(*function, detail, work)

template <class T> void not_null(T *pointer, const char *what) {
  if (pointer == nullptr) {
    fail(HIPDNN_STATUS_BAD_PARAM_NULL_POINTER, std::string(what) + " is null");
  }
}

template <class D> std::shared_ptr<D> find_as(hipdnnBackendDescriptor_t object, Kind kind) {
  auto found = find(object);
  if (found->kind != kind) {
    fail(HIPDNN_STATUS_BAD_PARAM,
         std::string("wants ") + kind_name(kind) + ", got " + kind_name(found->kind));
  }
  return std::static_pointer_cast<D>(found);
}

// For REFHIPDNN_FAIL and the log; empty for what is no descriptor, which fails later.
const char *kind_of(hipdnnBackendDescriptor_t object) {
  auto found = find_alive(object);
  return found == nullptr ? "" : kind_name(found->kind);
}

const char *attribute_of(hipdnnBackendAttributeName_t name) {
  const char *text = attribute_name(name);
  return text != nullptr ? text : "unknown";
}

// Sizes first, then contents.
void copy_bytes(const Bytes &bytes, size_t requested, size_t *size, uint8_t *out) {
  *size = bytes.size();
  if (out == nullptr) {
    return;
  }
  if (requested < bytes.size()) {
    fail(HIPDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT, "the buffer has " + std::to_string(requested) +
                                                        " bytes, " + std::to_string(bytes.size()) +
                                                        " are needed");
  }
  std::memcpy(out, bytes.data(), bytes.size());
}

// A text of GetEngineInfo: its size where some buffer is missing, else the text.
void copy_text(const std::string &text, bool sizes, char *out, size_t *size) {
  if (sizes) {
    *size = text.size() + 1;
    return;
  }
  if (*size < text.size() + 1) {
    fail(HIPDNN_STATUS_BAD_PARAM, "a buffer of " + std::to_string(*size) + " bytes is too small");
  }
  std::memcpy(out, text.c_str(), text.size() + 1);
}

} // namespace

#define API extern "C" __attribute__((visibility("default")))

API hipdnnStatus_t hipdnnCreate(hipdnnHandle_t *handle) {
  CALL("", [&] {
    not_null(handle, "the handle's place");
    *handle = create_handle();
  });
}

API hipdnnStatus_t hipdnnDestroy(hipdnnHandle_t handle) {
  CALL("", [&] { destroy_handle(handle); });
}

API hipdnnStatus_t hipdnnSetStream(hipdnnHandle_t handle, hipdnnRefStream_t stream) {
  CALL("", [&] { get_handle(handle).set_stream(stream); });
}

API hipdnnStatus_t hipdnnGetStream(hipdnnHandle_t handle, hipdnnRefStream_t *stream) {
  CALL("", [&] {
    Handle &h = get_handle(handle);
    not_null(stream, "the stream's place");
    *stream = h.stream();
  });
}

API hipdnnStatus_t hipdnnBackendCreateDescriptor(hipdnnBackendDescriptorType_t type,
                                                 hipdnnBackendDescriptor_t *descriptor) {
  std::optional<Kind> kind = descriptor_kind(type);
  CALL(kind ? kind_name(*kind) : "", [&] {
    not_null(descriptor, "the descriptor's place");
    if (!kind) {
      fail(HIPDNN_STATUS_NOT_SUPPORTED,
           "no descriptor of type " + std::to_string(type) + " in version " + config().version);
    }
    *descriptor = hand_out(make_descriptor(*kind));
  });
}

API hipdnnStatus_t hipdnnBackendDestroyDescriptor(hipdnnBackendDescriptor_t descriptor) {
  CALL("", [&] { destroy(descriptor); });
}

API hipdnnStatus_t hipdnnBackendFinalize(hipdnnBackendDescriptor_t descriptor) {
  CALL(kind_of(descriptor), [&] { find(descriptor)->finalize(); });
}

API hipdnnStatus_t hipdnnBackendSetAttribute(hipdnnBackendDescriptor_t descriptor,
                                             hipdnnBackendAttributeName_t name,
                                             hipdnnBackendAttributeType_t type, int64_t count,
                                             const void *elements) {
  CALL(attribute_of(name), [&] {
    auto found = find(descriptor);
    found->set(Set(*found, name, type, count, elements));
  });
}

API hipdnnStatus_t hipdnnBackendGetAttribute(hipdnnBackendDescriptor_t descriptor,
                                             hipdnnBackendAttributeName_t name,
                                             hipdnnBackendAttributeType_t type, int64_t requested,
                                             int64_t *count, void *elements) {
  CALL(attribute_of(name), [&] {
    auto found = find(descriptor);
    found->get(Get(*found, name, type, requested, count, elements));
  });
}

API hipdnnStatus_t hipdnnBackendExecute(hipdnnHandle_t handle, hipdnnBackendDescriptor_t plan,
                                        hipdnnBackendDescriptor_t variant_pack) {
  CALL("", [&] {
    Handle &h = get_handle(handle);
    auto p = find_as<PlanDescriptor>(plan, Kind::Plan);
    p->execute(h, *find_as<VariantPackDescriptor>(variant_pack, Kind::VariantPack));
  });
}

API const char *hipdnnGetErrorString(hipdnnStatus_t status) {
  const char *name = status_name(status);
  return name != nullptr ? name : "HIPDNN_STATUS_UNKNOWN";
}

API void hipdnnGetLastErrorString(char *message, size_t size) {
  hipdnnPeekLastErrorString_ext(message, size);
  if (message != nullptr && size > 0) {
    clear_last_error();
  }
}

API void hipdnnPeekLastErrorString_ext(char *message, size_t size) {
  if (message == nullptr || size == 0) {
    set_last_error("no room for the last error's text");
    return;
  }
  copy_last_error(message, size);
}

API hipdnnStatus_t hipdnnBackendCreateAndDeserializeGraph_ext(hipdnnBackendDescriptor_t *descriptor,
                                                              const uint8_t *bytes, size_t size) {
  CALL("", [&] {
    not_null(descriptor, "the descriptor's place");
    not_null(bytes, "the serialised graph");
    if (size == 0) {
      fail(HIPDNN_STATUS_BAD_PARAM, "the serialised graph is empty");
    }
    if (!wire::is_container(bytes, size)) {
      *descriptor = hand_out(GraphDescriptor::of(wire::decode_graph(bytes, size)));
      return;
    }
    wire::Container parts = wire::decode_container(bytes, size);
    if (parts.graph.empty()) {
      fail(HIPDNN_STATUS_BAD_PARAM, "the container has no graph");
    }
    *descriptor =
        hand_out(GraphDescriptor::of(wire::decode_graph(parts.graph.data(), parts.graph.size())));
  });
}

API hipdnnStatus_t hipdnnBackendGetSerializedBinaryGraph_ext(hipdnnBackendDescriptor_t descriptor,
                                                             size_t requested, size_t *size,
                                                             uint8_t *bytes) {
  CALL("", [&] {
    auto graph = find_as<GraphDescriptor>(descriptor, Kind::Graph);
    not_null(size, "the size's place");
    copy_bytes(graph->serialize(), requested, size, bytes);
  });
}

API hipdnnStatus_t hipdnnBackendGetSerializedExecutionPlan_ext(hipdnnBackendDescriptor_t descriptor,
                                                               size_t requested, size_t *size,
                                                               uint8_t *bytes) {
  CALL("", [&] {
    auto plan = find_as<PlanDescriptor>(descriptor, Kind::Plan);
    not_null(size, "the size's place");
    copy_bytes(plan->serialize(), requested, size, bytes);
  });
}

API hipdnnStatus_t hipdnnBackendCreateAndDeserializeExecutionPlan_ext(
    hipdnnHandle_t handle, hipdnnBackendDescriptor_t *descriptor, const uint8_t *bytes,
    size_t size) {
  CALL("", [&] {
    Handle &h = get_handle(handle);
    not_null(descriptor, "the descriptor's place");
    not_null(bytes, "the serialised plan");
    Bytes plan(bytes, bytes + size);
    if (wire::is_container(bytes, size)) {
      plan = wire::decode_container(bytes, size).plan;
      if (plan.empty()) {
        fail(HIPDNN_STATUS_BAD_PARAM, "the container has no plan");
      }
    }
    *descriptor = hand_out(PlanDescriptor::restore(h, plan));
  });
}

API hipdnnStatus_t hipdnnBackendGetSerializedBinaryGraphAndPlan_ext(hipdnnBackendDescriptor_t graph,
                                                                    hipdnnBackendDescriptor_t plan,
                                                                    size_t requested, size_t *size,
                                                                    uint8_t *bytes) {
  CALL("", [&] {
    wire::Container parts;
    auto g = find_as<GraphDescriptor>(graph, Kind::Graph);
    not_null(size, "the size's place");
    parts.graph = g->serialize();
    if (plan != nullptr) {
      parts.plan = find_as<PlanDescriptor>(plan, Kind::Plan)->serialize();
    }
    copy_bytes(wire::encode(parts), requested, size, bytes);
  });
}

API hipdnnStatus_t hipdnnBackendGetSerializedBinaryContents_ext(const uint8_t *bytes, size_t size,
                                                                int *flags) {
  CALL("", [&] {
    not_null(bytes, "the blob");
    not_null(flags, "the flags' place");
    if (!wire::is_container(bytes, size)) {
      *flags = HIPDNN_SERIALIZED_CONTENT_GRAPH; // what blobs were before there were containers
      return;
    }
    wire::Container parts = wire::decode_container(bytes, size);
    *flags = (parts.graph.empty() ? 0 : HIPDNN_SERIALIZED_CONTENT_GRAPH) |
             (parts.plan.empty() ? 0 : HIPDNN_SERIALIZED_CONTENT_EXECUTION_PLAN);
  });
}

API void hipdnnLoggingCallback_ext(hipdnnSeverity_t severity, const char *message) {
  if (message != nullptr && severity >= HIPDNN_SEV_INFO && severity < HIPDNN_SEV_OFF) {
    log(severity, message);
  }
}

API hipdnnStatus_t hipdnnSetUserLogCallback_ext(hipdnnUserLogCallback_t callback,
                                                hipdnnSeverity_t least,
                                                hipdnnLogCallbackMode_t mode,
                                                hipdnnUserLogCallbackHandle_t user) {
  CALL("", [&] { set_callback(callback, least, mode, user); });
}

API hipdnnStatus_t hipdnnBackendSetGlobalLogLevel_ext(hipdnnSeverity_t level) {
  CALL("", [&] {
    if (level < HIPDNN_SEV_INFO || level > HIPDNN_SEV_OFF) {
      fail(HIPDNN_STATUS_BAD_PARAM, "no log level " + std::to_string(level));
    }
    set_log_level(level);
  });
}

API hipdnnStatus_t hipdnnBackendGetGlobalLogLevel_ext(hipdnnSeverity_t *level) {
  CALL("", [&] {
    if (level == nullptr) {
      fail(HIPDNN_STATUS_BAD_PARAM, "the level's place is null");
    }
    *level = log_level();
  });
}

API hipdnnStatus_t hipdnnSetEnginePluginPaths_ext(size_t count, const char *const *paths,
                                                  hipdnnPluginLoadingMode_ext_t mode) {
  CALL("", [&] {
    std::vector<std::string> copies;
    if (count > 0) {
      not_null(paths, "the paths");
    }
    for (size_t i = 0; i < count; i++) {
      not_null(paths[i], "a path");
      copies.emplace_back(paths[i]);
    }
    set_plugin_paths(std::move(copies), mode);
  });
}

API hipdnnStatus_t hipdnnSetPluginUnloadMode_ext(hipdnnPluginUnloadingMode_ext_t mode) {
  CALL("", [&] { set_unload_mode(mode); });
}

API hipdnnStatus_t hipdnnGetLoadedEnginePluginPaths_ext(hipdnnHandle_t handle, size_t *count,
                                                        char **paths, size_t *longest) {
  CALL("", [&] {
    Handle &h = get_handle(handle);
    not_null(count, "the count's place");
    not_null(longest, "the length's place");
    auto files = h.engines()->plugin_files();
    size_t need = 0;
    for (const std::string &f : files) {
      need = std::max(need, f.size() + 1);
    }
    if (paths != nullptr) {
      if (*count < files.size() || *longest < need) {
        fail(HIPDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT,
             "more or longer paths than there is room for");
      }
      for (size_t i = 0; i < files.size(); i++) {
        not_null(paths[i], "a path's buffer");
        std::memcpy(paths[i], files[i].c_str(), files[i].size() + 1);
      }
    }
    *count = files.size();
    *longest = need;
  });
}

API hipdnnStatus_t hipdnnGetEngineCount_ext(hipdnnHandle_t handle, size_t *count) {
  CALL("", [&] {
    Handle &h = get_handle(handle);
    not_null(count, "the count's place");
    *count = h.engines()->infos().size();
  });
}

API hipdnnStatus_t hipdnnGetEngineInfo_ext(hipdnnHandle_t handle, size_t index, int64_t *id,
                                           char *name, size_t *name_size, char *plugin,
                                           size_t *plugin_size, char *version, size_t *version_size,
                                           char *type, size_t *type_size) {
  CALL("", [&] {
    Handle &h = get_handle(handle);
    for (size_t *size : {name_size, plugin_size, version_size, type_size}) {
      not_null(size, "a size's place");
    }
    auto infos = h.engines()->infos();
    if (index >= infos.size()) {
      fail(HIPDNN_STATUS_BAD_PARAM,
           "engine " + std::to_string(index) + " of " + std::to_string(infos.size()));
    }
    const auto &info = infos[index];
    if (id != nullptr) {
      *id = info.id;
    }
    bool sizes = name == nullptr || plugin == nullptr || version == nullptr || type == nullptr;
    copy_text(info.name, sizes, name, name_size);
    copy_text(info.plugin, sizes, plugin, plugin_size);
    copy_text(info.version, sizes, version, version_size);
    copy_text("HIPDNN_PLUGIN_TYPE_ENGINE", sizes, type, type_size);
  });
}

API hipdnnStatus_t hipdnnGetEngineIdByName_ext(hipdnnHandle_t handle, const char *name,
                                               int64_t *id) {
  CALL("", [&] {
    Handle &h = get_handle(handle);
    not_null(name, "the name");
    not_null(id, "the id's place");
    for (const auto &info : h.engines()->infos()) {
      if (info.name == name) {
        *id = info.id;
        return;
      }
    }
    fail(HIPDNN_STATUS_NOT_SUPPORTED, std::string("no loaded engine is named ") + name);
  });
}

API hipdnnStatus_t hipdnnGetVersion_ext(const char **version) {
  CALL("", [&] {
    not_null(version, "the version's place");
    *version = config().version.c_str();
  });
}

API const char *hipdnnVersionString_ext(void) {
  return config().version.c_str();
}
