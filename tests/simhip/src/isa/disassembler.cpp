#include "disassembler.hpp"

#include <dlfcn.h>

#include <cstring>

namespace simhip::isa {

namespace {

// The functions that are used here, as amd_comgr.h of ROCm 6 and 7 declares them; a status of zero
// is success, and a handle is a structure of one 64-bit number, passed by value.
struct Handle {
  std::uint64_t value = 0;
};
using ReadMemory = std::uint64_t (*)(std::uint64_t from, char *to, std::uint64_t size, void *user);
using PrintInstruction = void (*)(const char *text, void *user);
using PrintAddress = void (*)(std::uint64_t address, void *user);
using Create = int (*)(const char *isa, ReadMemory, PrintInstruction, PrintAddress, Handle *);
using Disassemble = int (*)(Handle, std::uint64_t address, void *user, std::uint64_t *size);
using Destroy = int (*)(Handle);

struct Library {
  Create create = nullptr;
  Disassemble disassemble = nullptr;
  Destroy destroy = nullptr;
};

// Of the library that the process has loaded, else of one that the loader finds.
const Library &library() {
  static const Library found = [] {
    Library loaded;
    void *handle = nullptr;
    for (const int flags : {RTLD_NOW | RTLD_NOLOAD, RTLD_NOW})
      for (const char *name : {"libamd_comgr.so.3", "libamd_comgr.so.2", "libamd_comgr.so"})
        if (handle == nullptr)
          handle = dlopen(name, flags);
    if (handle == nullptr)
      return loaded;
    loaded.create = reinterpret_cast<Create>(dlsym(handle, "amd_comgr_create_disassembly_info"));
    loaded.disassemble =
        reinterpret_cast<Disassemble>(dlsym(handle, "amd_comgr_disassemble_instruction"));
    loaded.destroy = reinterpret_cast<Destroy>(dlsym(handle, "amd_comgr_destroy_disassembly_info"));
    return loaded;
  }();
  return found;
}

struct Context {
  const Image *image;
  std::uint64_t end;
  std::string text;
};

std::uint64_t read_memory(std::uint64_t from, char *to, std::uint64_t size, void *user) {
  const Context &context = *static_cast<const Context *>(user);
  if (from >= context.end)
    return 0;
  const std::uint64_t count = size < context.end - from ? size : context.end - from;
  std::memcpy(to, context.image->base() + from, count);
  return count;
}

void print_instruction(const char *text, void *user) {
  static_cast<Context *>(user)->text = text;
}

void print_address(std::uint64_t, void *) {}

} // namespace

bool disassemble(const Image &image, const Symbol &function, std::vector<Line> &lines,
                 std::string &error) {
  const Library &comgr = library();
  if (comgr.create == nullptr || comgr.disassemble == nullptr || comgr.destroy == nullptr) {
    error = "there is no libamd_comgr to disassemble with";
    return false;
  }
  Handle handle;
  if (comgr.create("amdgcn-amd-amdhsa--gfx942", read_memory, print_instruction, print_address,
                   &handle) != 0) {
    error = "libamd_comgr has no disassembler for gfx942";
    return false;
  }
  Context context{&image, function.address + function.size, {}};
  bool done = true;
  for (std::uint64_t at = function.address; at < context.end;) {
    std::uint64_t size = 0;
    context.text.clear();
    if (comgr.disassemble(handle, at, &context, &size) != 0 || size == 0 || context.text.empty()) {
      error = "the bytes at " + std::to_string(at) + " of the code object are no instruction";
      done = false;
      break;
    }
    const std::size_t begin = context.text.find_first_not_of(" \t");
    lines.push_back({at, static_cast<std::uint32_t>(size),
                     begin == std::string::npos ? context.text : context.text.substr(begin)});
    at += size;
  }
  comgr.destroy(handle);
  return done;
}

} // namespace simhip::isa
