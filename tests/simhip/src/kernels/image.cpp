#include "image.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <elf.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace simhip::kernels {

namespace {

// The largest code objects of ROCm's libraries have some 100 MB.
constexpr std::uint64_t largest = std::uint64_t{1} << 30;

// Reads this process's memory through the kernel, which answers EFAULT where there is none. A pipe
// needs no permission that a container may withhold from process_vm_readv.
class Prober {
public:
  explicit Prober(const void *image) : image_(reinterpret_cast<std::uintptr_t>(image)) {
    if (pipe2(ends_, O_CLOEXEC) != 0)
      ends_[0] = ends_[1] = -1;
  }
  Prober(const Prober &) = delete;
  ~Prober() {
    if (ends_[0] >= 0) {
      close(ends_[0]);
      close(ends_[1]);
    }
  }

  bool works() const {
    return ends_[0] >= 0;
  }

  // Copies size bytes at the offset in the image, false when one of them is not there.
  bool copy(std::uint64_t offset, void *to, std::size_t size) {
    auto *target = static_cast<std::byte *>(to);
    while (size > 0) {
      if (offset > UINTPTR_MAX - image_)
        return false;
      // No more than a pipe holds when it is empty, so that this does not wait for a reader.
      // Sanitizers would check what write() is given, which is the very question here.
      long sent = syscall(SYS_write, ends_[1], image_ + offset, std::min<std::size_t>(size, 4096));
      if (sent <= 0)
        return false;
      offset += static_cast<std::uint64_t>(sent);
      for (ssize_t got; sent > 0; sent -= got, target += got, size -= static_cast<std::size_t>(got))
        if ((got = read(ends_[0], target, static_cast<std::size_t>(sent))) <= 0)
          return false;
    }
    return true;
  }

private:
  std::uintptr_t image_;
  int ends_[2];
};

// Raises end to where a table of the file ends, false when that is more than a file can have.
bool reach(std::uint64_t &end, std::uint64_t offset, std::uint64_t size) {
  if (offset > largest || size > largest - offset)
    return false;
  end = std::max(end, offset + size);
  return true;
}

// How long the ELF file at the offset is, 0 with a reason in error.
std::uint64_t elf_size(Prober &prober, std::uint64_t offset, std::string &error) {
  Elf64_Ehdr header;
  if (!prober.copy(offset, &header, sizeof header)) {
    error = "the image ends within the ELF header";
    return 0;
  }
  std::uint64_t end = sizeof header;
  if (!reach(end, header.e_shoff, std::uint64_t{header.e_shentsize} * header.e_shnum) ||
      !reach(end, header.e_phoff, std::uint64_t{header.e_phentsize} * header.e_phnum)) {
    error = "the ELF header puts a table beyond the largest file, " + std::to_string(largest) +
            " bytes";
    return 0;
  }
  // Section headers are the end of what linkers write, but not of a file that lost them.
  for (unsigned i = 0; i < header.e_phnum && header.e_phentsize == sizeof(Elf64_Phdr); i++) {
    Elf64_Phdr segment;
    if (!prober.copy(offset + header.e_phoff + i * sizeof segment, &segment, sizeof segment)) {
      error = "the image ends within the program headers";
      return 0;
    }
    if (!reach(end, segment.p_offset, segment.p_filesz)) {
      error = "program header " + std::to_string(i) + " goes beyond the largest file, " +
              std::to_string(largest) + " bytes";
      return 0;
    }
  }
  return end;
}

constexpr char bundle_magic[] = "__CLANG_OFFLOAD_BUNDLE__"; // 24 characters, no terminator
constexpr char compressed_magic[] = "CCOB";

struct Place {
  std::uint64_t offset = 0;
  std::uint64_t size = 0; // 0: not known
};

// The place of the bundle's most specific code object for the device. The bundle is the magic, a
// count, and for each entry its offset, its size, the length of its identifier (all of 64 bits) and
// the identifier, such as hipv4-amdgcn-amd-amdhsa--gfx942:xnack-.
bool find_in_bundle(Prober &prober, const TargetId &device, Place &place, std::string &error) {
  constexpr std::uint64_t most_entries = 4096, longest_id = 4096;
  std::uint64_t at = sizeof bundle_magic - 1, count;
  if (!prober.copy(at, &count, sizeof count) || count > most_entries) {
    error = "the offload bundle has no sensible number of entries";
    return false;
  }
  at += sizeof count;
  std::string there;
  std::size_t best = 0;
  for (std::uint64_t i = 0; i < count; i++) {
    struct {
      std::uint64_t offset, size, id_length;
    } entry;
    std::string id;
    if (prober.copy(at, &entry, sizeof entry) && entry.id_length <= longest_id)
      id.resize(entry.id_length);
    if (id.empty() || !prober.copy(at + sizeof entry, id.data(), id.size())) {
      error = "entry " + std::to_string(i) + " of the offload bundle cannot be read";
      return false;
    }
    at += sizeof entry + id.size();
    there += (there.empty() ? "" : ", ") + id;
    std::size_t triple = id.find("amdgcn-amd-amdhsa");
    std::size_t processor = triple == std::string::npos ? triple : id.find("gfx", triple);
    if (processor == std::string::npos)
      continue; // the host's, or another maker's
    TargetId target = TargetId::parse(std::string_view(id).substr(processor));
    if (target.runs_on(device) && target.features.size() + 1 > best) {
      best = target.features.size() + 1;
      place = {entry.offset, entry.size};
    }
  }
  if (best == 0) {
    error = "the offload bundle has no code object for " + device.processor + ", only " + there;
    return false;
  }
  if (place.offset > largest || place.size > largest || place.size < sizeof(Elf64_Ehdr)) {
    error = "the offload bundle says that its code object for " + device.processor + " has " +
            std::to_string(place.size) + " bytes at offset " + std::to_string(place.offset);
    return false;
  }
  return true;
}

} // namespace

std::vector<std::byte> copy_elf(const void *image, const TargetId &device, std::string &error) {
  Prober prober(image);
  if (!prober.works()) {
    error = std::string("cannot make a pipe to read the image through: ") + std::strerror(errno);
    return {};
  }
  char magic[sizeof bundle_magic - 1] = {};
  if (image == nullptr || !prober.copy(0, magic, SELFMAG)) {
    error = "there is no memory at the image's address";
    return {};
  }
  Place place;
  if (std::memcmp(magic, ELFMAG, SELFMAG) != 0) {
    if (std::memcmp(magic, compressed_magic, sizeof compressed_magic - 1) == 0) {
      error = "the image is a compressed offload bundle, which is not supported";
      return {};
    }
    if (!prober.copy(0, magic, sizeof magic) ||
        std::memcmp(magic, bundle_magic, sizeof magic) != 0) {
      error = "the image is neither an ELF file nor an offload bundle";
      return {};
    }
    if (!find_in_bundle(prober, device, place, error))
      return {};
  }
  if (place.size == 0 && (place.size = elf_size(prober, place.offset, error)) == 0)
    return {};

  // Grown in steps, so that a size that is not true costs no memory.
  constexpr std::uint64_t step = 1 << 20;
  std::vector<std::byte> elf;
  while (elf.size() < place.size) {
    std::uint64_t at = elf.size(), next = std::min(step, place.size - at);
    elf.resize(at + next);
    if (!prober.copy(place.offset + at, elf.data() + at, next)) {
      error = "the image ends before its " + std::to_string(place.size) + " bytes do";
      return {};
    }
  }
  return elf;
}

} // namespace simhip::kernels
