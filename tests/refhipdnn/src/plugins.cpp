// Engine plugins: finding, admitting, calling. Source: PluginCore.hpp @ 0680e2f3 (search and
// order), EnginePlugin.cpp @ 27630224 (checks of ids), EnginePluginResourceManager.cpp @ 84b06fc1
// (names, handles), EnginePluginApi.h @ 0574176a.

#include "engines.hpp"
#include "errors.hpp"
#include "log.hpp"
#include "report.hpp"

#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <iterator>
#include <mutex>
#include <set>
#include <sys/auxv.h>

namespace refhipdnn {
namespace {

namespace fs = std::filesystem;

// The functions of a plugin.
struct Api {
  decltype(&hipdnnPluginGetName) name;
  decltype(&hipdnnPluginGetVersion) version;
  decltype(&hipdnnPluginGetType) type;
  decltype(&hipdnnPluginGetLastErrorString) last_error;
  decltype(&hipdnnPluginGetApiVersion) api_version;
  decltype(&hipdnnPluginSetLoggingCallback) set_callback;
  decltype(&hipdnnPluginSetLogLevel) set_level;
  decltype(&hipdnnEnginePluginGetAllEngineIds) all_ids;
  decltype(&hipdnnEnginePluginCreate) create;
  decltype(&hipdnnEnginePluginDestroy) destroy;
  decltype(&hipdnnEnginePluginSetStream) set_stream;
  decltype(&hipdnnEnginePluginGetApplicableEngineIds) applicable;
  decltype(&hipdnnEnginePluginGetEngineDetails) details;
  decltype(&hipdnnEnginePluginDestroyEngineDetails) destroy_details;
  decltype(&hipdnnEnginePluginGetWorkspaceSize) workspace;
  decltype(&hipdnnEnginePluginCreateExecutionContext) create_context;
  decltype(&hipdnnEnginePluginDestroyExecutionContext) destroy_context;
  decltype(&hipdnnEnginePluginGetWorkspaceSizeFromExecutionContext) context_workspace;
  decltype(&hipdnnEnginePluginExecuteOpGraph) execute;
  decltype(&hipdnnEnginePluginSerializeExecutionContext) serialize;
  decltype(&hipdnnEnginePluginDestroySerializedExecutionContext) destroy_serialized;
  decltype(&hipdnnEnginePluginCreateExecutionContextFromSerialized) restore;
  decltype(&hipdnnEnginePluginGetEngineName) engine_name;
};

class Library {
public:
  explicit Library(const std::string &path) : path(path) {
    handle_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle_ == nullptr) {
      fail(HIPDNN_STATUS_PLUGIN_ERROR, dlerror());
    }
    required(api.name, "hipdnnPluginGetName");
    required(api.version, "hipdnnPluginGetVersion");
    required(api.type, "hipdnnPluginGetType");
    required(api.last_error, "hipdnnPluginGetLastErrorString");
    optional(api.api_version, "hipdnnPluginGetApiVersion");
    optional(api.set_callback, "hipdnnPluginSetLoggingCallback");
    optional(api.set_level, "hipdnnPluginSetLogLevel");
    required(api.all_ids, "hipdnnEnginePluginGetAllEngineIds");
    required(api.create, "hipdnnEnginePluginCreate");
    required(api.destroy, "hipdnnEnginePluginDestroy");
    required(api.set_stream, "hipdnnEnginePluginSetStream");
    required(api.applicable, "hipdnnEnginePluginGetApplicableEngineIds");
    required(api.details, "hipdnnEnginePluginGetEngineDetails");
    required(api.destroy_details, "hipdnnEnginePluginDestroyEngineDetails");
    required(api.workspace, "hipdnnEnginePluginGetWorkspaceSize");
    required(api.create_context, "hipdnnEnginePluginCreateExecutionContext");
    required(api.destroy_context, "hipdnnEnginePluginDestroyExecutionContext");
    required(api.context_workspace, "hipdnnEnginePluginGetWorkspaceSizeFromExecutionContext");
    required(api.execute, "hipdnnEnginePluginExecuteOpGraph");
    optional(api.serialize, "hipdnnEnginePluginSerializeExecutionContext");
    optional(api.destroy_serialized, "hipdnnEnginePluginDestroySerializedExecutionContext");
    optional(api.restore, "hipdnnEnginePluginCreateExecutionContextFromSerialized");
    optional(api.engine_name, "hipdnnEnginePluginGetEngineName");
  }
  ~Library() {
    if (handle_ != nullptr) {
      dlclose(handle_);
    }
  }
  Library(const Library &) = delete;
  Library &operator=(const Library &) = delete;

  // Throws, with the plugin's own words, unless the status is success.
  void check(hipdnnPluginStatus_t status, const char *what) const {
    if (status == HIPDNN_PLUGIN_STATUS_SUCCESS) {
      return;
    }
    const char *text = nullptr;
    api.last_error(&text);
    fail(HIPDNN_STATUS_PLUGIN_ERROR, path + ": cannot " + what + ", status " +
                                         std::to_string(status) + ": " +
                                         (text != nullptr ? text : ""));
  }

  const std::string path;
  Api api{};

private:
  template <class F> void optional(F &function, const char *name) {
    function = reinterpret_cast<F>(dlsym(handle_, name));
  }
  template <class F> void required(F &function, const char *name) {
    optional(function, name);
    if (function == nullptr) {
      dlclose(handle_);
      handle_ = nullptr;
      fail(HIPDNN_STATUS_PLUGIN_ERROR, path + " has no " + name);
    }
  }

  void *handle_;
};

hipdnnPluginConstData_t data(const Bytes &b) {
  return {b.data(), b.size()};
}

ObjectKind &contexts() {
  static auto *kind = new ObjectKind("plugin execution context");
  return *kind;
}

class PluginEngineHandle : public EngineHandle,
                           public std::enable_shared_from_this<PluginEngineHandle> {
public:
  explicit PluginEngineHandle(std::shared_ptr<Library> library,
                              const std::map<int64_t, std::string> *all, size_t ids)
      : library_(std::move(library)), engines_(all), ids_(ids) {
    check(api().create(&handle_), "create a handle");
    if (handle_ == nullptr) {
      fail(HIPDNN_STATUS_PLUGIN_ERROR, library_->path + " made a null handle");
    }
  }
  ~PluginEngineHandle() override {
    if (api().destroy(handle_) != HIPDNN_PLUGIN_STATUS_SUCCESS) {
      log(HIPDNN_SEV_WARN, library_->path + ": a handle could not be destroyed");
    }
  }

  void set_stream(hipdnnRefStream_t stream) override {
    check(api().set_stream(handle_, stream), "set the stream");
  }

  std::vector<int64_t> applicable(const Bytes &graph) override {
    std::vector<int64_t> ids(ids_);
    uint32_t n = 0;
    auto bytes = data(graph);
    check(api().applicable(handle_, &bytes, ids.data(), static_cast<uint32_t>(ids.size()), &n),
          "tell the applicable engines");
    if (n > ids.size()) {
      fail(HIPDNN_STATUS_PLUGIN_ERROR, library_->path + " offers more engines than it has");
    }
    ids.resize(n);
    std::set<int64_t> distinct(ids.begin(), ids.end());
    if (distinct.size() != ids.size()) {
      fail(HIPDNN_STATUS_PLUGIN_ERROR, library_->path + " offers an engine twice");
    }
    return ids;
  }

  EngineDetails details(int64_t engine, const Bytes &graph) override {
    auto bytes = data(graph);
    hipdnnPluginConstData_t out{nullptr, 0};
    check(api().details(handle_, engine, &bytes, &out), "give an engine's details");
    struct Destroy {
      PluginEngineHandle *opened;
      hipdnnPluginConstData_t *out;
      ~Destroy() {
        if (opened->api().destroy_details(opened->handle_, out) != HIPDNN_PLUGIN_STATUS_SUCCESS) {
          log(HIPDNN_SEV_ERROR, opened->library_->path + ": details could not be destroyed");
        }
      }
    } destroy{this, &out};
    if (out.ptr == nullptr || out.size == 0) {
      fail(HIPDNN_STATUS_PLUGIN_ERROR, library_->path + " gave empty engine details");
    }
    try {
      return wire::decode_engine_details(static_cast<const uint8_t *>(out.ptr), out.size);
    } catch (const flatbuffer::Malformed &e) {
      fail(HIPDNN_STATUS_BAD_PARAM,
           library_->path + " gave engine details that cannot be read: " + e.what());
    }
  }

  size_t workspace(const Bytes &config, const Bytes &graph) override {
    auto c = data(config), g = data(graph);
    size_t size = 0;
    check(api().workspace(handle_, &c, &g, &size), "tell the workspace size");
    return size;
  }

  std::shared_ptr<ExecutionContext> prepare(const Bytes &config, const Bytes &graph) override;
  std::shared_ptr<ExecutionContext> restore(int64_t engine, const Bytes &serialized) override;

  const Api &api() const {
    return library_->api;
  }
  void check(hipdnnPluginStatus_t status, const char *what) const {
    library_->check(status, what);
  }
  hipdnnEnginePluginHandle_t handle() const {
    return handle_;
  }
  const Library &library() const {
    return *library_;
  }
  std::string engine_name(int64_t engine) const {
    auto found = engines_->find(engine);
    return found == engines_->end() ? std::to_string(engine) : found->second;
  }
  bool serializes() const {
    return api().serialize != nullptr && api().destroy_serialized != nullptr &&
           api().restore != nullptr;
  }

private:
  std::shared_ptr<Library> library_;
  const std::map<int64_t, std::string> *engines_;
  size_t ids_;
  hipdnnEnginePluginHandle_t handle_ = nullptr;
};

class PluginContext : public ExecutionContext {
public:
  PluginContext(std::shared_ptr<PluginEngineHandle> opened, int64_t engine,
                hipdnnEnginePluginExecutionContext_t context)
      : opened_(std::move(opened)), engine_(engine), context_(context) {
    contexts().created();
    opened_->check(opened_->api().context_workspace(opened_->handle(), context_, &workspace_),
                   "tell the workspace size of a context");
  }
  ~PluginContext() override {
    contexts().destroyed();
    if (opened_->api().destroy_context(opened_->handle(), context_) !=
        HIPDNN_PLUGIN_STATUS_SUCCESS) {
      log(HIPDNN_SEV_ERROR, opened_->library().path + ": a context could not be destroyed");
    }
  }
  size_t workspace() const override {
    return workspace_;
  }
  void execute(void *workspace, const std::vector<DeviceBuffer> &buffers) const override {
    opened_->check(opened_->api().execute(opened_->handle(), context_, workspace, buffers.data(),
                                          static_cast<uint32_t>(buffers.size())),
                   "execute a graph");
    report_execution(opened_->engine_name(engine_), "");
  }
  Bytes serialize() const override {
    if (!opened_->serializes()) {
      fail(HIPDNN_STATUS_NOT_SUPPORTED, opened_->library().path + " cannot serialise contexts");
    }
    hipdnnPluginConstData_t out{nullptr, 0};
    opened_->check(opened_->api().serialize(opened_->handle(), context_, &out),
                   "serialise a context");
    const auto *p = static_cast<const uint8_t *>(out.ptr);
    Bytes bytes;
    if (p != nullptr) {
      bytes.assign(p, p + out.size);
    }
    opened_->check(opened_->api().destroy_serialized(opened_->handle(), &out),
                   "destroy a serialised context");
    if (bytes.empty()) {
      fail(HIPDNN_STATUS_PLUGIN_ERROR,
           opened_->library().path + " serialised a context to nothing");
    }
    return bytes;
  }

private:
  std::shared_ptr<PluginEngineHandle> opened_;
  int64_t engine_;
  hipdnnEnginePluginExecutionContext_t context_;
  size_t workspace_ = 0;
};

std::shared_ptr<ExecutionContext> PluginEngineHandle::prepare(const Bytes &config,
                                                              const Bytes &graph) {
  auto c = data(config), g = data(graph);
  hipdnnEnginePluginExecutionContext_t context = nullptr;
  check(api().create_context(handle_, &c, &g, &context), "create an execution context");
  if (context == nullptr) {
    fail(HIPDNN_STATUS_PLUGIN_ERROR, library_->path + " made a null execution context");
  }
  int64_t engine = wire::decode_engine_config(config.data(), config.size()).engine;
  return std::make_shared<PluginContext>(shared_from_this(), engine, context);
}

std::shared_ptr<ExecutionContext> PluginEngineHandle::restore(int64_t engine,
                                                              const Bytes &serialized) {
  if (!serializes()) {
    fail(HIPDNN_STATUS_NOT_SUPPORTED, library_->path + " cannot restore contexts");
  }
  auto s = data(serialized);
  hipdnnEnginePluginExecutionContext_t context = nullptr;
  check(api().restore(handle_, &s, &context), "restore an execution context");
  if (context == nullptr) {
    fail(HIPDNN_STATUS_PLUGIN_ERROR, library_->path + " restored a null execution context");
  }
  return std::make_shared<PluginContext>(shared_from_this(), engine, context);
}

// "M.m.p" in digits; a major version of 0 is tolerated as 1.0.0's predecessor.
ApiVersion parse_api(const std::string &path, const std::string &text) {
  unsigned numbers[3];
  int end = 0;
  if (std::sscanf(text.c_str(), "%u.%u.%u%n", &numbers[0], &numbers[1], &numbers[2], &end) != 3 ||
      static_cast<size_t>(end) != text.size()) {
    fail(HIPDNN_STATUS_PLUGIN_ERROR, path + ": plugin API version \"" + text + "\" is none");
  }
  if (numbers[0] > 1) {
    fail(HIPDNN_STATUS_PLUGIN_ERROR,
         path + ": plugin API version " + text + ", this library has 1");
  }
  return {numbers[0], numbers[1], numbers[2]};
}

class Plugin : public Provider {
public:
  // taken holds the engines of the plugins before, and gets this one's.
  Plugin(const std::string &path, std::set<int64_t> &taken)
      : library_(std::make_shared<Library>(path)) {
    const Api &api = library_->api;
    hipdnnPluginType_t type = HIPDNN_PLUGIN_TYPE_UNSPECIFIED;
    library_->check(api.type(&type), "tell its type");
    if (type != HIPDNN_PLUGIN_TYPE_ENGINE) {
      fail(HIPDNN_STATUS_PLUGIN_ERROR, path + " is a plugin of type " + std::to_string(type));
    }
    name_ = text(api.name, "tell its name");
    version_ = text(api.version, "tell its version");
    if (api.set_callback != nullptr) {
      library_->check(api.set_callback(&hipdnnLoggingCallback_ext), "take a log callback");
    }
    if (api.set_level != nullptr) {
      library_->check(api.set_level(log_level()), "take a log level");
    }
    api_ =
        parse_api(path, api.api_version != nullptr ? text(api.api_version, "tell its API version")
                                                   : std::string("1.0.0"));
    admit(taken);
  }

  std::string name() const override {
    return name_;
  }
  std::string version() const override {
    return version_;
  }
  std::string path() const override {
    return library_->path;
  }
  ApiVersion api() const override {
    return api_;
  }
  const std::map<int64_t, std::string> &engines() const override {
    return engines_;
  }
  std::shared_ptr<EngineHandle> open() override {
    return std::make_shared<PluginEngineHandle>(library_, &engines_, ids_);
  }

private:
  std::string text(hipdnnPluginStatus_t (*function)(const char **), const char *what) {
    const char *out = nullptr;
    library_->check(function(&out), what);
    if (out == nullptr) {
      fail(HIPDNN_STATUS_PLUGIN_ERROR, library_->path + ": a null string when asked to " + what);
    }
    return out;
  }

  void admit(std::set<int64_t> &taken) {
    const Api &api = library_->api;
    uint32_t n = 0;
    library_->check(api.all_ids(nullptr, 0, &n), "tell how many engines it has");
    std::vector<int64_t> ids(n);
    uint32_t again = 0;
    if (n > 0) {
      library_->check(api.all_ids(ids.data(), n, &again), "tell its engines");
    }
    std::set<int64_t> distinct(ids.begin(), ids.end());
    if (n == 0 || again != n || distinct.size() != n) {
      fail(HIPDNN_STATUS_PLUGIN_ERROR,
           library_->path + ": no engines, or not as many as it said, or one twice");
    }
    ids_ = n;
    for (int64_t id : distinct) {
      std::string name;
      if (!name_of(id, name)) {
        continue;
      }
      if (!taken.insert(id).second) {
        log(HIPDNN_SEV_ERROR, library_->path + ": engine " + name + " is there already; dropped");
        continue;
      }
      engines_.emplace(id, name);
    }
  }

  // False where the engine is to be dropped.
  bool name_of(int64_t id, std::string &name) {
    char hex[24];
    std::snprintf(hex, sizeof(hex), "0x%016llX", static_cast<unsigned long long>(id));
    name = hex;
    if (library_->api.engine_name == nullptr) {
      return true;
    }
    const char *out = nullptr;
    hipdnnPluginStatus_t status = library_->api.engine_name(id, &out);
    if (status == HIPDNN_PLUGIN_STATUS_NOT_APPLICABLE) {
      return true;
    }
    if (status != HIPDNN_PLUGIN_STATUS_SUCCESS || out == nullptr || engine_id(out) != id) {
      log(HIPDNN_SEV_ERROR, library_->path + ": engine " + name + " is named \"" +
                                (out != nullptr ? out : "") + "\", which is not its id; dropped");
      return false;
    }
    name = out;
    return true;
  }

  std::shared_ptr<Library> library_;
  std::string name_, version_;
  ApiVersion api_;
  std::map<int64_t, std::string> engines_;
  size_t ids_ = 0;
};

struct Loader {
  std::mutex mutex;
  int64_t handles = 0;
  bool loaded = false;
  std::vector<std::shared_ptr<Provider>> providers;
  std::vector<std::string> paths;
  hipdnnPluginLoadingMode_ext_t mode = HIPDNN_PLUGIN_LOADING_ADDITIVE;
  hipdnnPluginUnloadingMode_ext_t unload = HIPDNN_PLUGIN_UNLOADING_LAZY;
};

// Never destroyed: plugins stay loaded to the end of the process.
Loader &loader() {
  static Loader *l = new Loader;
  return *l;
}

fs::path own_directory() {
  Dl_info info;
  if (dladdr(reinterpret_cast<void *>(&hipdnnCreate), &info) == 0 || info.dli_fname == nullptr) {
    return ".";
  }
  std::error_code error;
  return fs::weakly_canonical(info.dli_fname, error).parent_path();
}

// The files to load, in the order of their names.
std::set<fs::path> files(const Loader &l) {
  std::vector<fs::path> places;
  if (l.mode == HIPDNN_PLUGIN_LOADING_ADDITIVE) {
    const char *variable = getauxval(AT_SECURE) != 0 ? nullptr : std::getenv("HIPDNN_PLUGIN_DIR");
    places.push_back(variable != nullptr && *variable != '\0' ? variable
                                                              : "hipdnn_plugins/engines");
  }
  places.insert(places.end(), l.paths.begin(), l.paths.end());
  std::set<fs::path> out;
  for (fs::path place : places) {
    std::error_code error;
    if (place.is_relative()) {
      place = own_directory() / place;
    }
    place = fs::weakly_canonical(place, error);
    if (!fs::is_directory(place, error)) {
      if (fs::exists(place, error)) {
        out.insert(place);
      }
      continue;
    }
    for (const auto &entry : fs::directory_iterator(place, error)) {
      // A link is not a plugin, nor is a versioned name.
      if (!entry.is_symlink(error) && entry.is_regular_file(error) &&
          entry.path().extension() == ".so") {
        out.insert(entry.path());
      }
    }
  }
  return out;
}

void load(Loader &l) {
  l.providers.clear();
  std::set<int64_t> taken;
  for (const auto &[id, name] : cpu_provider()->engines()) {
    taken.insert(id);
  }
  for (const fs::path &file : files(l)) {
    try {
      auto plugin = std::make_shared<Plugin>(file.string(), taken);
      log(HIPDNN_SEV_INFO,
          "plugin " + plugin->name() + " " + plugin->version() + " from " + file.string());
      l.providers.push_back(std::move(plugin));
    } catch (const std::exception &e) {
      log(HIPDNN_SEV_ERROR, std::string("a plugin was left out: ") + e.what());
    }
  }
  l.providers.push_back(cpu_provider());
  l.loaded = true;
}

} // namespace

std::vector<std::shared_ptr<Provider>> providers() {
  Loader &l = loader();
  std::lock_guard<std::mutex> lock(l.mutex);
  if (!l.loaded) {
    load(l);
  }
  return l.providers;
}

void handle_created() {
  Loader &l = loader();
  std::lock_guard<std::mutex> lock(l.mutex);
  l.handles++;
}

void handle_destroyed() {
  Loader &l = loader();
  std::lock_guard<std::mutex> lock(l.mutex);
  if (--l.handles == 0 && l.unload == HIPDNN_PLUGIN_UNLOADING_EAGER) {
    l.providers.clear();
    l.loaded = false;
  }
}

void set_plugin_paths(std::vector<std::string> paths, hipdnnPluginLoadingMode_ext_t mode) {
  if (mode != HIPDNN_PLUGIN_LOADING_ADDITIVE && mode != HIPDNN_PLUGIN_LOADING_ABSOLUTE) {
    fail(HIPDNN_STATUS_BAD_PARAM, "no loading mode " + std::to_string(mode));
  }
  Loader &l = loader();
  std::lock_guard<std::mutex> lock(l.mutex);
  if (l.handles != 0) {
    fail(HIPDNN_STATUS_NOT_SUPPORTED,
         "plugin paths cannot change while there are " + std::to_string(l.handles) + " handles");
  }
  if (mode == HIPDNN_PLUGIN_LOADING_ABSOLUTE) {
    l.paths.clear();
  }
  l.paths.insert(l.paths.end(), std::make_move_iterator(paths.begin()),
                 std::make_move_iterator(paths.end()));
  l.mode = mode;
  l.loaded = false;
}

void set_unload_mode(hipdnnPluginUnloadingMode_ext_t mode) {
  if (mode != HIPDNN_PLUGIN_UNLOADING_LAZY && mode != HIPDNN_PLUGIN_UNLOADING_EAGER) {
    fail(HIPDNN_STATUS_BAD_PARAM, "no unloading mode " + std::to_string(mode));
  }
  Loader &l = loader();
  std::lock_guard<std::mutex> lock(l.mutex);
  l.unload = mode;
}

} // namespace refhipdnn
