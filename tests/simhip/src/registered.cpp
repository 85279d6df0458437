// Kernels of a program's own code: what the compiler registers when a library is loaded, and
// launches by the address of a host function.
//
// Registration happens in constructors, before a process may have decided to use a device at all,
// so it only notes things; the code is read at the first launch. Its lock is a leaf of the lock
// order.
#include <cstring>
#include <map>
#include <mutex>
#include <vector>

#include "module.hpp"

namespace simhip {
namespace {

// What __hipRegisterFatBinary gets, from clang's code for HIP: a magic number, a version, and the
// image.
struct Wrapper {
  std::uint32_t magic;
  std::uint32_t version;
  const void *image;
  const void *unused;
};
constexpr std::uint32_t wrapperMagic = 0x48495046; // "HIPF"

struct FatBinary {
  const void *image = nullptr;
  bool read = false;
  std::shared_ptr<Module> module; // null when the image is none for this device
};

struct Entry {
  FatBinary *binary = nullptr;
  std::string name;
  FunctionRef function;
};

struct Configuration {
  dim3 grid, block;
  std::size_t sharedBytes = 0;
  hipStream_t stream = nullptr;
};

struct State {
  std::mutex mutex;
  std::map<const void *, Entry> entries; // by host function
};

State &state() {
  static auto *const instance = new State; // outlives exit handlers
  return *instance;
}

// Launches nest in arguments' expressions, hence a stack.
std::vector<Configuration> &configurations() {
  thread_local std::vector<Configuration> stack;
  return stack;
}

} // namespace

FunctionRef registered(const void *hostFunction) {
  State &s = state();
  std::lock_guard<std::mutex> lock(s.mutex);
  auto at = s.entries.find(hostFunction);
  if (at == s.entries.end()) {
    return nullptr;
  }
  Entry &entry = at->second;
  if (entry.function == nullptr) {
    FatBinary &binary = *entry.binary;
    if (!binary.read) {
      binary.read = true;
      hipError_t error = hipSuccess;
      binary.module = binary.image != nullptr ? loadModule(binary.image, error) : nullptr;
    }
    std::shared_ptr<const Function> function;
    if (binary.module != nullptr) {
      function = functionOf(*binary.module, entry.name);
    }
    if (function == nullptr) { // a kernel that cannot be executed, like one of a compressed bundle
      auto opaque = std::make_shared<Function>();
      opaque->name = entry.name;
      function = opaque;
    }
    entry.function = function;
  }
  return entry.function;
}

} // namespace simhip

using namespace simhip;

extern "C" {

void **__hipRegisterFatBinary(const void *data) {
  auto *binary = new FatBinary;
  const auto *wrapper = static_cast<const Wrapper *>(data);
  if (wrapper != nullptr && wrapper->magic == wrapperMagic) {
    binary->image = wrapper->image;
  }
  return reinterpret_cast<void **>(binary);
}

void __hipUnregisterFatBinary(void **handle) {
  auto *binary = reinterpret_cast<FatBinary *>(handle);
  State &s = state();
  std::lock_guard<std::mutex> lock(s.mutex);
  for (auto at = s.entries.begin(); at != s.entries.end();) {
    at = at->second.binary == binary ? s.entries.erase(at) : std::next(at);
  }
  delete binary;
}

void __hipRegisterFunction(void **handle, const void *hostFunction, char *, const char *deviceName,
                           unsigned int, void *, void *, dim3 *, dim3 *, int *) {
  State &s = state();
  std::lock_guard<std::mutex> lock(s.mutex);
  s.entries[hostFunction] = Entry{reinterpret_cast<FatBinary *>(handle), deviceName, nullptr};
}

// Variables of device code: there is nobody who could use them.
void __hipRegisterVar(void **, void *, char *, const char *, int, size_t, int, int) {}

hipError_t __hipPushCallConfiguration(dim3 grid, dim3 block, size_t sharedBytes,
                                      hipStream_t stream) {
  configurations().push_back(Configuration{grid, block, sharedBytes, stream});
  return hipSuccess;
}

hipError_t __hipPopCallConfiguration(dim3 *grid, dim3 *block, size_t *sharedBytes,
                                     hipStream_t *stream) {
  if (configurations().empty()) {
    return hipErrorMissingConfiguration;
  }
  Configuration top = configurations().back();
  configurations().pop_back();
  *grid = top.grid;
  *block = top.block;
  *sharedBytes = top.sharedBytes;
  *stream = top.stream;
  return hipSuccess;
}

} // extern "C"
