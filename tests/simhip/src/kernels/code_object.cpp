// Code objects: the ELF file, its metadata note, and the kernels that the note describes.
//
// Facts are from LLVM's "User Guide for AMDGPU Backend": notes are named AMDGPU, type 32 holds a
// MessagePack map with amdhsa.kernels and amdhsa.target.

#include "kernel.hpp"

#include <cstring>
#include <elf.h>
#include <optional>
#include <string_view>
#include <utility>

#include "image.hpp"
#include "msgpack.hpp"
#include "target_id.hpp"

namespace simhip::kernels {

namespace {

constexpr std::uint32_t note_metadata = 32; // NT_AMDGPU_METADATA
constexpr char note_name[] = "AMDGPU";
// HIP limits arguments to some KB; this only keeps nonsense out of the runtime's allocations.
constexpr std::uint64_t most_argument_bytes = 1 << 20;

struct Range {
  const std::byte *begin = nullptr;
  std::size_t size = 0;
};

// A part of the file, or nothing when it is not wholly inside.
std::optional<Range> part(Range file, std::uint64_t offset, std::uint64_t size) {
  if (offset > file.size || size > file.size - offset)
    return std::nullopt;
  return Range{file.begin + offset, static_cast<std::size_t>(size)};
}

// The T at an offset, which the file does not need to align.
template <typename T> std::optional<T> read_at(Range file, std::uint64_t offset) {
  std::optional<Range> bytes = part(file, offset, sizeof(T));
  if (!bytes)
    return std::nullopt;
  T result;
  std::memcpy(&result, bytes->begin, sizeof result);
  return result;
}

// Looks for the metadata among the notes in a range.
std::optional<Range> metadata_in(Range notes) {
  auto padded = [](std::uint64_t size) { return (size + 3) & ~std::uint64_t{3}; };
  std::uint64_t at = 0;
  while (std::optional<Elf64_Nhdr> note = read_at<Elf64_Nhdr>(notes, at)) {
    at += sizeof *note;
    std::optional<Range> name = part(notes, at, note->n_namesz);
    at += padded(note->n_namesz);
    std::optional<Range> content = part(notes, at, note->n_descsz);
    at += padded(note->n_descsz);
    if (name && content && note->n_type == note_metadata && name->size == sizeof note_name &&
        std::memcmp(name->begin, note_name, sizeof note_name) == 0)
      return content;
  }
  return std::nullopt;
}

// Finds the metadata by the segments, or by the sections of a file that has no segments.
std::optional<Range> find_metadata(Range file, const Elf64_Ehdr &header, std::string &error) {
  for (unsigned i = 0; i < header.e_phnum; i++) {
    auto segment =
        read_at<Elf64_Phdr>(file, header.e_phoff + std::uint64_t{i} * header.e_phentsize);
    if (!segment) {
      error = "program header " + std::to_string(i) + " is not inside the file";
      return std::nullopt;
    }
    std::optional<Range> notes = part(file, segment->p_offset, segment->p_filesz);
    if (segment->p_type == PT_NOTE && notes)
      if (std::optional<Range> found = metadata_in(*notes))
        return found;
  }
  for (unsigned i = 0; i < header.e_shnum; i++) {
    auto section =
        read_at<Elf64_Shdr>(file, header.e_shoff + std::uint64_t{i} * header.e_shentsize);
    if (!section) {
      error = "section header " + std::to_string(i) + " is not inside the file";
      return std::nullopt;
    }
    std::optional<Range> notes = part(file, section->sh_offset, section->sh_size);
    if (section->sh_type == SHT_NOTE && notes)
      if (std::optional<Range> found = metadata_in(*notes))
        return found;
  }
  error = "the file has no note AMDGPU of type 32, the kernels' metadata";
  return std::nullopt;
}

std::optional<Range> open_elf(Range file, std::string &error) {
  auto header = read_at<Elf64_Ehdr>(file, 0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) {
    error = "it does not begin with an ELF header";
    return std::nullopt;
  }
  if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB ||
      header->e_machine != EM_AMDGPU) {
    error = "it is no 64-bit little-endian ELF file for an AMD GPU (machine " +
            std::to_string(header->e_machine) + ")";
    return std::nullopt;
  }
  return find_metadata(file, *header, error);
}

// Members of a kernel's or an argument's map. A missing one is its default; one of the wrong kind
// is noted.
class Members {
public:
  Members(const msgpack::Value &map, std::string owner) : map_(map), owner_(std::move(owner)) {}

  std::string text(const char *key) {
    const msgpack::Value *value = map_.member(key);
    if (!value)
      return {};
    std::optional<std::string_view> result = value->text();
    note(result.has_value(), key);
    return std::string(result.value_or(""));
  }

  std::uint64_t count(const char *key, std::uint64_t limit, std::uint64_t missing = 0) {
    const msgpack::Value *value = map_.member(key);
    if (!value)
      return missing;
    std::optional<std::uint64_t> result = value->count();
    note(result && *result <= limit, key);
    return result.value_or(0);
  }

  const msgpack::Value::Array *array(const char *key) {
    const msgpack::Value *value = map_.member(key);
    if (!value)
      return nullptr;
    note(value->array() != nullptr, key);
    return value->array();
  }

  void note(bool good, const char *key) {
    if (!good && error_.empty())
      error_ = owner_ + ": " + key + " is missing or makes no sense";
  }

  const std::string &error() const {
    return error_;
  }

private:
  const msgpack::Value &map_;
  std::string owner_;
  std::string error_;
};

Kernel describe(const msgpack::Value &map, std::size_t index, std::string &error) {
  Kernel kernel;
  Members members(map, "kernel " + std::to_string(index) + " of the metadata");
  kernel.name = members.text(".name");
  kernel.symbol = members.text(".symbol");
  members.note(!kernel.name.empty(), ".name");
  kernel.argument_bytes = members.count(".kernarg_segment_size", most_argument_bytes);
  kernel.fixed_lds_bytes =
      static_cast<std::uint32_t>(members.count(".group_segment_fixed_size", UINT32_MAX));
  kernel.scratch_bytes =
      static_cast<std::uint32_t>(members.count(".private_segment_fixed_size", UINT32_MAX));
  kernel.wavefront_size = static_cast<std::uint32_t>(members.count(".wavefront_size", 64, 64));
  members.note(kernel.wavefront_size == 32 || kernel.wavefront_size == 64, ".wavefront_size");
  error = members.error();

  const msgpack::Value::Array *arguments = members.array(".args");
  for (std::size_t i = 0; arguments && i < arguments->size() && error.empty(); i++) {
    Members fields((*arguments)[i], "argument " + std::to_string(i) + " of kernel " + kernel.name);
    Argument argument;
    argument.name = fields.text(".name");
    argument.value_kind = fields.text(".value_kind");
    fields.note(!argument.value_kind.empty(), ".value_kind");
    argument.offset = fields.count(".offset", kernel.argument_bytes);
    argument.size = fields.count(".size", kernel.argument_bytes - argument.offset);
    error = fields.error();
    kernel.arguments.push_back(std::move(argument));
  }
  if (error.empty())
    error = members.error();
  return kernel;
}

} // namespace

std::shared_ptr<const CodeObject>
CodeObject::parse(const void *image, const std::string &architecture, std::string &error) {
  error.clear();
  TargetId device = TargetId::parse(architecture);
  auto code = std::make_shared<CodeObject>();
  code->elf_ = copy_elf(image, device, error);
  if (!error.empty())
    return nullptr;

  auto refuse = [&error](const std::string &reason) {
    error = "the image is no code object that can be read: " + reason;
    return nullptr;
  };
  std::string reason;
  std::optional<Range> note = open_elf({code->elf_.data(), code->elf_.size()}, reason);
  if (!note)
    return refuse(reason);
  std::optional<msgpack::Value> metadata = msgpack::read(note->begin, note->size, reason);
  if (!metadata)
    return refuse("its metadata is no MessagePack: " + reason);

  // Code objects before version 4 do not name their target there.
  if (const msgpack::Value *target = metadata->member("amdhsa.target")) {
    std::string_view name = target->text().value_or("");
    std::size_t processor = name.find("gfx");
    if (processor == std::string_view::npos ||
        !TargetId::parse(name.substr(processor)).runs_on(device)) {
      error = "the code object is for " + std::string(name) + ", the device is " + architecture;
      return nullptr;
    }
  }
  const msgpack::Value *kernels = metadata->member("amdhsa.kernels");
  if (!kernels || !kernels->array())
    return refuse("its metadata has no array amdhsa.kernels");
  for (const msgpack::Value &kernel : *kernels->array()) {
    code->kernels_.push_back(describe(kernel, code->kernels_.size(), reason));
    if (!reason.empty())
      return refuse(reason);
  }
  return code;
}

const Kernel *CodeObject::find(const std::string &name) const {
  for (const Kernel &kernel : kernels_)
    if (kernel.name == name)
      return &kernel;
  return nullptr;
}

} // namespace simhip::kernels
