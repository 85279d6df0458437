// What the runtime and the executors of kernels know of each other.
//
// The runtime (streams, memory, modules) hands a launch to prepare() in the caller's thread, checks
// the memory that the execution says it will touch, and calls run() in the stream's worker when the
// launch's turn comes. The executors know code objects and arithmetic, and nothing of streams or
// allocations.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace simhip::kernels {

// One entry of a kernel's .args in the code object's metadata (note NT_AMDGPU_METADATA).
struct Argument {
  std::string name;       // empty where the compiler left it out, as for hidden arguments
  std::string value_kind; // global_buffer, by_value, hidden_block_count_x, ...
  std::size_t offset = 0; // bytes, in the buffer of arguments
  std::size_t size = 0;   // bytes
};

// One kernel of a code object, as its metadata describes it.
struct Kernel {
  std::string name;                  // .name: what hipModuleGetFunction is asked for
  std::string symbol;                // .symbol: the kernel descriptor's, NAME.kd
  std::size_t argument_bytes = 0;    // .kernarg_segment_size, hidden arguments included
  std::uint32_t fixed_lds_bytes = 0; // .group_segment_fixed_size
  std::uint32_t scratch_bytes = 0;   // .private_segment_fixed_size, per work-item
  std::uint32_t wavefront_size = 64; // .wavefront_size
  std::vector<Argument> arguments;
};

// A loaded code object: an ELF file for one AMD GPU, or the one for our architecture out of a
// bundle.
class CodeObject {
public:
  // Reads the code object at image, whose length only its own headers tell; keeps a copy.
  // architecture is the one that the device reports, such as gfx942, and chooses among a bundle's.
  // Null with a reason in error when image is none: then the runtime answers hipErrorNoBinaryForGpu
  // or hipErrorInvalidImage.
  static std::shared_ptr<const CodeObject> parse(const void *image, const std::string &architecture,
                                                 std::string &error);

  const Kernel *
  find(const std::string &name) const; // null when there is none; lives as long as the code object
  const std::vector<Kernel> &kernels() const {
    return kernels_;
  }
  const std::vector<std::byte> &elf() const {
    return elf_;
  }

private:
  std::vector<Kernel> kernels_;
  std::vector<std::byte> elf_;
};

struct Dim3 {
  std::uint32_t x = 1, y = 1, z = 1;
};

struct Launch {
  std::shared_ptr<const CodeObject> code;
  const Kernel *kernel = nullptr;
  Dim3 grid;  // in work-groups
  Dim3 block; // in work-items
  // In work-items, when not a multiple of the block as hipExtModuleLaunchKernel allows; else grid *
  // block.
  Dim3 work_items;
  std::uint32_t dynamic_lds_bytes = 0;
  std::vector<std::byte>
      arguments; // packed as .args says; explicit ones given by the caller, hidden ones zero
};

// A range of device memory that an execution will touch.
struct Access {
  std::uintptr_t begin = 0;
  std::size_t bytes = 0;
  bool writes = false;
  std::string argument; // for messages: the argument's name
};

// Device memory as an execution sees it while it runs.
class Memory {
public:
  virtual ~Memory() = default;
  // Whether all bytes are inside one live allocation. Any thread.
  virtual bool contains(std::uintptr_t address, std::size_t bytes) const = 0;
};

// A launch that can be executed. prepare() made it from a Launch, which it owns.
class Execution {
public:
  virtual ~Execution() = default;
  // What it will read and write, when that is known before it runs; empty when only run() finds
  // out.
  virtual std::vector<Access> accesses() const = 0;
  // Runs to the end with at most threads threads. Empty, or what went wrong: an access outside
  // memory, an instruction that is not known. After an error the contents of what it writes are
  // unspecified.
  virtual std::string run(const Memory &memory, unsigned threads) = 0;
};

// The execution of a launch, or null for a kernel that nobody here knows how to run: the runtime
// counts it as a no-op. A known kernel whose arguments make no sense is an execution whose run()
// says so.
std::unique_ptr<Execution> prepare(Launch launch);

} // namespace simhip::kernels
