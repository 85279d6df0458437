#include "isa.hpp"

#include <map>
#include <mutex>
#include <utility>

#include "assembler.hpp"
#include "disassembler.hpp"
#include "dispatch.hpp"
#include "image.hpp"

namespace simhip::isa {

namespace {

// Families of kernels whose results tests/hardware holds against the CPU; the part before an
// asterisk is enough. Others may be executable, and are not executed unchecked.
constexpr const char *executed[] = {
    "MIOpenActiveFwd*",
    "MIOpenActiveBwd*",
    // Convolutions of 8-bit floating point: what they round to is in the code alone.
    "naive_conv_nonpacked_fwd_nchw_*",
    "naive_conv_nonpacked_bwd_nchw_*",
    "naive_conv_nonpacked_wrw_nchw_*",
};

bool listed(const std::string &name) {
  for (const std::string pattern : executed) {
    const bool open = pattern.back() == '*';
    const std::string stem = open ? pattern.substr(0, pattern.size() - 1) : pattern;
    if (open ? name.compare(0, stem.size(), stem) == 0 : name == stem)
      return true;
  }
  return false;
}

// A code object that some launch came from.
struct Module {
  std::weak_ptr<const kernels::CodeObject> code;
  std::shared_ptr<Image> image;                                 // null when it cannot be loaded
  std::map<std::string, std::shared_ptr<const Loaded>> kernels; // null when it cannot be executed
};

struct Cache {
  std::mutex lock;
  std::map<const kernels::CodeObject *, Module> modules;
  std::vector<std::string> refusals;
};

Cache &cache() {
  static Cache *const instance = new Cache; // outlives the worker threads of a process that exits
  return *instance;
}

std::shared_ptr<const Loaded> load(const Image &image, const kernels::Kernel &kernel,
                                   std::string &error) {
  auto loaded = std::make_shared<Loaded>();
  loaded->image = image.base();
  loaded->image_bytes = image.size();
  const std::string symbol = kernel.symbol.empty() ? kernel.name + ".kd" : kernel.symbol;
  if (!image.descriptor(symbol, loaded->descriptor, error) || !supported(loaded->descriptor, error))
    return nullptr;
  Symbol function;
  if (!image.find(symbol.substr(0, symbol.size() - 3), function)) {
    error = "the code object has no function of this name";
    return nullptr;
  }
  std::vector<Line> lines;
  if (!disassemble(image, function, lines, error) || !assemble(lines, loaded->program, error))
    return nullptr;
  for (std::size_t i = 0; i < lines.size(); ++i)
    if (lines[i].address == loaded->descriptor.entry) {
      loaded->entry = static_cast<std::uint32_t>(i);
      return loaded;
    }
  error = "the entry point is none of the function's instructions";
  return nullptr;
}

struct Ready {
  std::shared_ptr<Image> image;
  std::shared_ptr<const Loaded> kernel;
};

Ready find_or_load(const kernels::Launch &launch) {
  Cache &all = cache();
  const std::lock_guard<std::mutex> hold(all.lock);
  for (auto module = all.modules.begin(); module != all.modules.end();)
    module = module->second.code.expired() ? all.modules.erase(module) : std::next(module);
  std::string error;
  const auto [module, is_new] = all.modules.try_emplace(launch.code.get());
  if (is_new) {
    module->second.code = launch.code;
    module->second.image = Image::load(launch.code->elf(), error);
  }
  const std::string &name = launch.kernel->name;
  const auto [kernel, is_new_kernel] = module->second.kernels.try_emplace(name);
  if (is_new_kernel) {
    if (module->second.image != nullptr)
      kernel->second = load(*module->second.image, *launch.kernel, error);
    if (kernel->second == nullptr)
      all.refusals.push_back(name + ": " +
                             (error.empty() ? "the code object cannot be loaded" : error));
  }
  return {module->second.image, kernel->second};
}

class MachineCode : public kernels::Execution {
public:
  MachineCode(kernels::Launch launch, Ready ready)
      : launch_(std::move(launch)), ready_(std::move(ready)),
        arguments_(complete_arguments(launch_)) {}

  std::vector<kernels::Access> accesses() const override {
    return {};
  }

  std::string run(const kernels::Memory &memory, unsigned threads) override {
    return dispatch(*ready_.kernel, launch_, arguments_, memory, threads);
  }

private:
  kernels::Launch launch_;
  Ready ready_;
  std::vector<std::byte> arguments_;
};

} // namespace

std::unique_ptr<kernels::Execution> prepare_any(kernels::Launch launch) {
  if (launch.code == nullptr || launch.kernel == nullptr || launch.block.x == 0 ||
      launch.block.y == 0 || launch.block.z == 0)
    return nullptr;
  Ready ready = find_or_load(launch);
  if (ready.kernel == nullptr)
    return nullptr;
  return std::make_unique<MachineCode>(std::move(launch), std::move(ready));
}

std::unique_ptr<kernels::Execution> prepare(kernels::Launch launch) {
  if (launch.kernel == nullptr || !listed(launch.kernel->name))
    return nullptr;
  return prepare_any(std::move(launch));
}

std::vector<std::string> refusals() {
  Cache &all = cache();
  const std::lock_guard<std::mutex> hold(all.lock);
  return all.refusals;
}

} // namespace simhip::isa
