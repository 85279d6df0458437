#pragma once

// Where engines come from. A provider is the built-in CPU engines or a loaded plugin; it exists
// once in a process. An engine handle is what a hipDNN handle has of a provider.

#include "refhipdnn/engine_plugin.h"

#include "graph.hpp"
#include "wire.hpp"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace refhipdnn {

using flatbuffer::Bytes;
using DeviceBuffer = hipdnnPluginDeviceBuffer_t;

// FNV-1a over 64 bits, as RFC 0003 of hipDNN names engines; the empty name has the id 0.
int64_t engine_id(const std::string &name);

// A graph made ready for execution. Immutable; any number of threads may execute it.
class ExecutionContext {
public:
  virtual ~ExecutionContext() = default;
  virtual size_t workspace() const = 0;
  // Enqueues on the stream of the engine handle.
  virtual void execute(void *workspace, const std::vector<DeviceBuffer> &buffers) const = 0;
  virtual Bytes serialize() const = 0;
};

// Everything here throws Failure, PLUGIN_ERROR unless something more exact is known.
class EngineHandle {
public:
  virtual ~EngineHandle() = default;
  virtual void set_stream(hipdnnRefStream_t stream) = 0;
  virtual std::vector<int64_t> applicable(const Bytes &graph) = 0;
  virtual EngineDetails details(int64_t engine, const Bytes &graph) = 0;
  virtual size_t workspace(const Bytes &config, const Bytes &graph) = 0;
  // The context keeps the engine handle alive.
  virtual std::shared_ptr<ExecutionContext> prepare(const Bytes &config, const Bytes &graph) = 0;
  virtual std::shared_ptr<ExecutionContext> restore(int64_t engine, const Bytes &serialized) = 0;
};

class Provider {
public:
  virtual ~Provider() = default;
  virtual std::string name() const = 0;
  virtual std::string version() const = 0;
  virtual std::string path() const = 0; // empty for the built-in one
  virtual ApiVersion api() const = 0;
  // Ids with the names under which they were admitted.
  virtual const std::map<int64_t, std::string> &engines() const = 0;
  virtual std::shared_ptr<EngineHandle> open() = 0;
};

std::shared_ptr<Provider> cpu_provider();

// The providers of the process, loaded when the first handle asks, the built-in one last. Plugins
// that cannot be used are logged and left out.
std::vector<std::shared_ptr<Provider>> providers();

// Call around the life of every handle: paths can change only while there is none.
void handle_created();
void handle_destroyed();

void set_plugin_paths(std::vector<std::string> paths, hipdnnPluginLoadingMode_ext_t mode);
void set_unload_mode(hipdnnPluginUnloadingMode_ext_t mode);

// The engines of one handle.
class Engines {
public:
  struct Info {
    int64_t id;
    std::string name;
    std::string plugin;
    std::string version;
  };

  Engines();
  ~Engines();
  void set_stream(hipdnnRefStream_t stream);
  std::vector<int64_t> applicable(const Graph &graph, const Bytes &bytes, bool first) const;
  EngineHandle &of(int64_t engine) const;
  // Sorted by name.
  std::vector<Info> infos() const;
  std::vector<std::string> plugin_files() const;

private:
  struct Entry {
    std::shared_ptr<Provider> provider;
    std::shared_ptr<EngineHandle> opened;
  };
  std::vector<Entry> entries_;
};

} // namespace refhipdnn
