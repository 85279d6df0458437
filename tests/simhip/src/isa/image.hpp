// A code object as it lies in memory when it is loaded, and its kernels' descriptors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace simhip::isa {

struct Symbol {
  std::uint64_t address = 0; // in the code object
  std::uint64_t size = 0;    // bytes
};

// The fields that matter of a kernel descriptor: LLVM's "User Guide for AMDGPU Backend", section on
// the kernel descriptor of code object version 3 and later.
struct Descriptor {
  std::uint32_t lds_bytes = 0;
  std::uint32_t scratch_bytes = 0; // of a work-item
  std::uint64_t entry = 0;         // address in the code object
  std::uint32_t resources1 = 0, resources2 = 0, resources3 = 0;
  std::uint16_t properties = 0;
};

class Image {
public:
  // Null with a reason in error when elf is not one for this processor, or needs more than being
  // copied.
  static std::unique_ptr<Image> load(const std::vector<std::byte> &elf, std::string &error);

  bool find(const std::string &name, Symbol &symbol) const;
  bool descriptor(const std::string &symbol, Descriptor &descriptor, std::string &error) const;

  // Where address 0 of the code object is in this process.
  const std::byte *base() const {
    return base_;
  }
  std::size_t size() const {
    return size_;
  }

private:
  struct Named {
    std::string name;
    Symbol symbol;
  };

  std::vector<std::byte> bytes_;
  const std::byte *base_ = nullptr; // in bytes_, aligned
  std::size_t size_ = 0;
  std::vector<Named> symbols_;
};

} // namespace simhip::isa
