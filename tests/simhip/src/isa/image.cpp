#include "image.hpp"

#include <elf.h>

#include <algorithm>
#include <cstring>

namespace simhip::isa {

namespace {

// EF_AMDGPU_MACH of gfx942, in the low byte of e_flags (LLVM's "User Guide for AMDGPU Backend",
// table of ELF header flags).
constexpr std::uint32_t machine_gfx942 = 0x4c;
constexpr std::uint16_t machine_amdgpu = 224; // EM_AMDGPU
constexpr std::size_t alignment = 4096;
constexpr std::uint64_t largest_image = std::uint64_t{1} << 30;

template <class T> bool read(const std::vector<std::byte> &bytes, std::uint64_t offset, T &value) {
  if (offset > bytes.size() || sizeof(T) > bytes.size() - offset)
    return false;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return true;
}

std::string text_at(const std::vector<std::byte> &bytes, std::uint64_t begin, std::uint64_t end) {
  std::string text;
  for (end = std::min<std::uint64_t>(end, bytes.size());
       begin < end && bytes[begin] != std::byte{0}; ++begin)
    text += static_cast<char>(bytes[begin]);
  return text;
}

} // namespace

std::unique_ptr<Image> Image::load(const std::vector<std::byte> &elf, std::string &error) {
  Elf64_Ehdr header;
  if (!read(elf, 0, header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine != machine_amdgpu) {
    error = "the code object is no 64-bit ELF file for an AMD GPU";
    return nullptr;
  }
  if ((header.e_flags & 0xffu) != machine_gfx942) {
    error = "the code object is for another processor than gfx942";
    return nullptr;
  }
  auto image = std::make_unique<Image>();
  for (int pass = 0; pass < 2; ++pass) { // how large, then what
    for (unsigned i = 0; i < header.e_phnum; ++i) {
      Elf64_Phdr segment;
      if (!read(elf, header.e_phoff + std::uint64_t{i} * sizeof segment, segment)) {
        error = "program header " + std::to_string(i) + " lies outside of the code object";
        return nullptr;
      }
      if (segment.p_type != PT_LOAD)
        continue;
      if (segment.p_vaddr > largest_image || segment.p_memsz > largest_image ||
          segment.p_filesz > segment.p_memsz || segment.p_offset > elf.size() ||
          segment.p_filesz > elf.size() - segment.p_offset) {
        error = "segment " + std::to_string(i) + " of the code object has impossible sizes";
        return nullptr;
      }
      if (pass == 0)
        image->size_ = std::max<std::size_t>(image->size_, segment.p_vaddr + segment.p_memsz);
      else
        std::memcpy(const_cast<std::byte *>(image->base_) + segment.p_vaddr,
                    elf.data() + segment.p_offset, segment.p_filesz);
    }
    if (pass == 0) {
      image->bytes_.resize(image->size_ + alignment);
      const auto address = reinterpret_cast<std::uintptr_t>(image->bytes_.data());
      image->base_ = image->bytes_.data() + (alignment - address % alignment) % alignment;
    }
  }
  for (unsigned i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr section;
    if (!read(elf, header.e_shoff + std::uint64_t{i} * sizeof section, section)) {
      error = "section header " + std::to_string(i) + " lies outside of the code object";
      return nullptr;
    }
    if ((section.sh_type == SHT_RELA || section.sh_type == SHT_REL) &&
        (section.sh_flags & SHF_ALLOC) != 0 && section.sh_size != 0) {
      error = "the code object has relocations";
      return nullptr;
    }
    if (section.sh_type != SHT_DYNSYM)
      continue;
    Elf64_Shdr strings;
    if (!read(elf, header.e_shoff + std::uint64_t{section.sh_link} * sizeof strings, strings))
      continue;
    for (std::uint64_t at = 0; at + sizeof(Elf64_Sym) <= section.sh_size; at += sizeof(Elf64_Sym)) {
      Elf64_Sym symbol;
      if (!read(elf, section.sh_offset + at, symbol))
        break;
      image->symbols_.push_back(
          {text_at(elf, strings.sh_offset + symbol.st_name, strings.sh_offset + strings.sh_size),
           {symbol.st_value, symbol.st_size}});
    }
  }
  return image;
}

bool Image::find(const std::string &name, Symbol &symbol) const {
  for (const Named &named : symbols_)
    if (named.name == name && named.symbol.address <= size_ &&
        named.symbol.size <= size_ - named.symbol.address) {
      symbol = named.symbol;
      return true;
    }
  return false;
}

bool Image::descriptor(const std::string &name, Descriptor &descriptor, std::string &error) const {
  Symbol symbol;
  if (!find(name, symbol) || symbol.size < 64) {
    error = "the code object has no kernel descriptor " + name;
    return false;
  }
  const std::byte *at = base_ + symbol.address;
  std::int64_t entry = 0;
  std::memcpy(&descriptor.lds_bytes, at, 4);
  std::memcpy(&descriptor.scratch_bytes, at + 4, 4);
  std::memcpy(&entry, at + 16, 8);
  std::memcpy(&descriptor.resources3, at + 44, 4);
  std::memcpy(&descriptor.resources1, at + 48, 4);
  std::memcpy(&descriptor.resources2, at + 52, 4);
  std::memcpy(&descriptor.properties, at + 56, 2);
  descriptor.entry = symbol.address + static_cast<std::uint64_t>(entry);
  if (descriptor.entry >= size_) {
    error = "the entry point of " + name + " lies outside of the code object";
    return false;
  }
  return true;
}

} // namespace simhip::isa
