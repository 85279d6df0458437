// Modules and their functions.
#include "module.hpp"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <vector>

#include "call.hpp"
#include "config.hpp"
#include "report.hpp"

namespace simhip {
namespace {

// The first bytes of a compressed offload bundle, as clang's bundler writes it.
constexpr char compressedMagic[4] = {'C', 'C', 'O', 'B'};

hipError_t load(hipModule_t *out, const void *image) {
  if (out == nullptr || image == nullptr) {
    return hipErrorInvalidValue;
  }
  hipError_t error = hipSuccess;
  std::shared_ptr<Module> module = loadModule(image, error);
  if (module == nullptr) {
    return error;
  }
  Runtime &r = runtime();
  Lock lock(r.mutex);
  *out = r.modules.add(std::move(module));
  return hipSuccess;
}

// Attributes that the code object's metadata tells; what it does not is what the device allows.
int attributeOf(const Function &function, hipFunction_attribute which) {
  const kernels::Kernel *kernel = function.kernel;
  switch (which) {
  case HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
    return 1024;
  case HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
    return kernel != nullptr ? static_cast<int>(kernel->fixed_lds_bytes) : 0;
  case HIP_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
    return kernel != nullptr ? static_cast<int>(kernel->scratch_bytes) : 0;
  case HIP_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
    return 65536 - (kernel != nullptr ? static_cast<int>(kernel->fixed_lds_bytes) : 0);
  default:
    return 0;
  }
}

// How many blocks of a size fit on a compute unit, by work-items and LDS.
int blocksPerUnit(int blockSize, std::size_t ldsBytes) {
  int blocks = 2048 / blockSize;
  if (ldsBytes > 0) {
    blocks = std::min(blocks, static_cast<int>(65536 / ldsBytes));
  }
  return blocks;
}

hipError_t occupancy(int *blocks, const FunctionRef &function, int blockSize,
                     std::size_t sharedBytes) {
  if (blocks == nullptr || blockSize <= 0 || blockSize > 1024) {
    return hipErrorInvalidValue;
  }
  if (function == nullptr) {
    return hipErrorInvalidDeviceFunction;
  }
  std::size_t fixed = function->kernel != nullptr ? function->kernel->fixed_lds_bytes : 0;
  *blocks = blocksPerUnit(blockSize, fixed + sharedBytes);
  return hipSuccess;
}

FunctionRef find(hipFunction_t handle) {
  Runtime &r = runtime();
  Lock lock(r.mutex);
  return r.functions.find(handle);
}

} // namespace

std::shared_ptr<Module> loadModule(const void *image, hipError_t &error) {
  auto module = std::make_shared<Module>();
  if (std::memcmp(image, compressedMagic, sizeof compressedMagic) == 0) {
    return module;
  }
  std::string reason;
  module->code = kernels::CodeObject::parse(image, config().processor, reason);
  if (module->code == nullptr) {
    if (report::tracing()) {
      report::trace("code object: " + reason);
    }
    // A code object for another device is recognised by its ELF header or the bundle's; anything
    // else is no image.
    bool object = std::memcmp(image, "\177ELF", 4) == 0 ||
                  std::memcmp(image, "__CLANG_OFFLOAD_BUNDLE__", 24) == 0;
    error = object ? hipErrorNoBinaryForGpu : hipErrorInvalidImage;
    return nullptr;
  }
  return module;
}

std::shared_ptr<Function> functionOf(const Module &module, const std::string &name) {
  auto function = std::make_shared<Function>();
  function->name = name;
  function->code = module.code;
  if (module.code != nullptr) {
    function->kernel = module.code->find(name);
    if (function->kernel == nullptr) {
      return nullptr;
    }
  }
  return function;
}

} // namespace simhip

using namespace simhip;

extern "C" {

hipError_t hipModuleLoadData(hipModule_t *module, const void *image) {
  return call(__func__, Need::device, [&] { return load(module, image); });
}

hipError_t hipModuleLoadDataEx(hipModule_t *module, const void *image, unsigned int, hipJitOption *,
                               void **) {
  return call(__func__, Need::device, [&] { return load(module, image); });
}

hipError_t hipModuleLoad(hipModule_t *module, const char *path) {
  return call(__func__, Need::device, [&] {
    if (module == nullptr || path == nullptr) {
      return hipErrorInvalidValue;
    }
    std::ifstream file(path, std::ios::binary);
    if (!file) {
      return hipErrorFileNotFound;
    }
    std::vector<char> image((std::istreambuf_iterator<char>(file)),
                            std::istreambuf_iterator<char>());
    // So that a truncated file's headers are read, and found wrong, and nothing behind the buffer.
    image.resize(image.size() + 4096, '\0');
    return load(module, image.data());
  });
}

hipError_t hipModuleUnload(hipModule_t module) {
  return call(__func__, Need::device, [&] {
    Runtime &r = runtime();
    Lock lock(r.mutex);
    // Functions of it, and launches that are enqueued, hold what they need of the code object.
    return r.modules.remove(module) != nullptr ? hipSuccess : hipErrorInvalidHandle;
  });
}

hipError_t hipModuleGetFunction(hipFunction_t *out, hipModule_t handle, const char *name) {
  return call(__func__, Need::device, [&] {
    if (out == nullptr || name == nullptr) {
      return hipErrorInvalidValue;
    }
    Runtime &r = runtime();
    Lock lock(r.mutex);
    std::shared_ptr<Module> module = r.modules.find(handle);
    if (module == nullptr) {
      return hipErrorInvalidHandle;
    }
    std::shared_ptr<Function> function = functionOf(*module, name);
    if (function == nullptr) {
      return hipErrorNotFound;
    }
    *out = r.functions.add(std::move(function));
    return hipSuccess;
  });
}

hipError_t hipFuncGetAttribute(int *value, hipFunction_attribute attribute, hipFunction_t handle) {
  return call(__func__, Need::device, [&] {
    if (value == nullptr || attribute < 0 || attribute >= HIP_FUNC_ATTRIBUTE_MAX) {
      return hipErrorInvalidValue;
    }
    FunctionRef function = find(handle);
    if (function == nullptr) {
      return hipErrorInvalidHandle;
    }
    *value = attributeOf(*function, attribute);
    return hipSuccess;
  });
}

hipError_t hipFuncGetAttributes(struct hipFuncAttributes *attributes, const void *hostFunction) {
  return call(__func__, Need::device, [&] {
    if (attributes == nullptr || hostFunction == nullptr) {
      return hipErrorInvalidValue;
    }
    FunctionRef function = registered(hostFunction);
    if (function == nullptr) {
      return hipErrorInvalidDeviceFunction;
    }
    std::memset(attributes, 0, sizeof *attributes);
    attributes->maxThreadsPerBlock =
        attributeOf(*function, HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
    attributes->sharedSizeBytes =
        static_cast<std::size_t>(attributeOf(*function, HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES));
    attributes->localSizeBytes =
        static_cast<std::size_t>(attributeOf(*function, HIP_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES));
    attributes->maxDynamicSharedSizeBytes =
        attributeOf(*function, HIP_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
    return hipSuccess;
  });
}

hipError_t hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, hipFunction_t function,
                                                              int blockSize, size_t sharedBytes) {
  return call(__func__, Need::device,
              [&] { return occupancy(blocks, find(function), blockSize, sharedBytes); });
}

hipError_t hipOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *function,
                                                        int blockSize, size_t sharedBytes) {
  return call(__func__, Need::device,
              [&] { return occupancy(blocks, registered(function), blockSize, sharedBytes); });
}

} // extern "C"
