// Reads code objects and launches their kernels, as the tests ask for on the standard input,
// without the runtime.
//
// Requests and answers are a byte or more each of fixed size, little-endian, and texts with their
// length in 32 bits in front:
// - 'P' image, architecture: reads a code object. Answer: error; kernels (32 bits), each: name,
//   symbol, argument bytes (64), LDS, scratch, wavefront size (32), arguments (32), each: name,
//   kind, offset, size (64).
// - 'L' image, architecture, kernel, grid (3 x 32), block (3 x 32), threads (32), run (8),
//   arguments, buffers (32), each: the offset of its pointer in the arguments (32), content.
//   Answer: outcome (8), error; accesses (32), each: buffer (32), offset, bytes (64), writes (8),
//   argument; nanoseconds of run() (64); content of each buffer.
// Outcomes: 0 nobody executes the kernel, 1 it ran, 2 it failed.
//
// Images and buffers end where a page that must not be touched begins, and buffers have one before
// them: who reads or writes outside ends the program.

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

#include "../../kernel.hpp"
#include "../../naive_conv.hpp"

namespace {

using namespace simhip::kernels;

[[noreturn]] void stop(const char *why) {
  std::fprintf(stderr, "launcher: %s\n", why);
  std::exit(2);
}

template <typename T> T take() {
  T value;
  if (std::fread(&value, sizeof value, 1, stdin) != 1)
    stop("a request ends too early");
  return value;
}

std::string take_text() {
  std::string text(take<std::uint32_t>(), '\0');
  if (!text.empty() && std::fread(text.data(), text.size(), 1, stdin) != 1)
    stop("a text ends too early");
  return text;
}

template <typename T> void give(T value) {
  std::fwrite(&value, sizeof value, 1, stdout);
}

void give_text(const std::string &text) {
  give(static_cast<std::uint32_t>(text.size()));
  std::fwrite(text.data(), 1, text.size(), stdout);
}

// Memory with a guard page on both sides.
class Guarded {
public:
  explicit Guarded(const std::string &content) : size_(content.size()) {
    page_ = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    whole_ = (size_ + page_ - 1) / page_ * page_ + 2 * page_;
    void *mapped = mmap(nullptr, whole_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED)
      stop("no memory");
    base_ = static_cast<char *>(mapped);
    if (whole_ > 2 * page_ &&
        mprotect(base_ + page_, whole_ - 2 * page_, PROT_READ | PROT_WRITE) != 0)
      stop("mprotect failed");
    std::memcpy(data(), content.data(), size_);
  }
  Guarded(const Guarded &) = delete;
  ~Guarded() {
    munmap(base_, whole_);
  }

  char *data() const {
    return base_ + whole_ - page_ - size_;
  }
  std::uintptr_t address() const {
    return reinterpret_cast<std::uintptr_t>(data());
  }
  std::size_t size() const {
    return size_;
  }
  std::string content() const {
    return std::string(data(), size_);
  }

private:
  char *base_;
  std::size_t size_, page_, whole_;
};

class Buffers : public Memory {
public:
  std::vector<std::unique_ptr<Guarded>> all;

  bool contains(std::uintptr_t address, std::size_t bytes) const override {
    for (const auto &buffer : all)
      if (address >= buffer->address() && address - buffer->address() <= buffer->size() &&
          bytes <= buffer->size() - (address - buffer->address()))
        return true;
    return false;
  }
};

void read_code_object() {
  Guarded image(take_text());
  std::string architecture = take_text(), error;
  auto code = CodeObject::parse(image.data(), architecture, error);
  if (!code && error.empty())
    stop("no code object and no error");
  give_text(error);
  give(static_cast<std::uint32_t>(code ? code->kernels().size() : 0));
  for (const Kernel &kernel : code ? code->kernels() : std::vector<Kernel>{}) {
    give_text(kernel.name);
    give_text(kernel.symbol);
    give(std::uint64_t{kernel.argument_bytes});
    give(kernel.fixed_lds_bytes);
    give(kernel.scratch_bytes);
    give(kernel.wavefront_size);
    give(static_cast<std::uint32_t>(kernel.arguments.size()));
    for (const Argument &argument : kernel.arguments) {
      give_text(argument.name);
      give_text(argument.value_kind);
      give(std::uint64_t{argument.offset});
      give(std::uint64_t{argument.size});
    }
  }
}

void launch_kernel() {
  Launch launch;
  std::string error;
  {
    Guarded image(take_text());
    std::string architecture = take_text();
    launch.code = CodeObject::parse(image.data(), architecture, error);
  }
  std::string name = take_text();
  launch.grid.x = take<std::uint32_t>();
  launch.grid.y = take<std::uint32_t>();
  launch.grid.z = take<std::uint32_t>();
  launch.block.x = take<std::uint32_t>();
  launch.block.y = take<std::uint32_t>();
  launch.block.z = take<std::uint32_t>();
  launch.work_items = {launch.grid.x * launch.block.x, launch.grid.y * launch.block.y,
                       launch.grid.z * launch.block.z};
  auto threads = take<std::uint32_t>();
  bool run = take<std::uint8_t>() != 0;
  std::string arguments = take_text();
  Buffers buffers;
  for (auto count = take<std::uint32_t>(); count > 0; count--) {
    auto offset = take<std::uint32_t>();
    buffers.all.push_back(std::make_unique<Guarded>(take_text()));
    std::uint64_t address = buffers.all.back()->address();
    if (offset + sizeof address > arguments.size())
      stop("a pointer is outside the arguments");
    std::memcpy(&arguments[offset], &address, sizeof address);
  }
  launch.arguments.resize(arguments.size());
  std::memcpy(launch.arguments.data(), arguments.data(), arguments.size());

  if (!launch.code)
    stop(error.c_str());
  launch.kernel = launch.code->find(name);
  if (!launch.kernel)
    stop("the code object has no such kernel");
  std::unique_ptr<Execution> execution = prepare_naive_convolution(launch);
  std::vector<Access> accesses;
  std::uint8_t outcome = 0;
  std::uint64_t nanoseconds = 0;
  if (execution) {
    accesses = execution->accesses();
    if (run) {
      auto start = std::chrono::steady_clock::now();
      error = execution->run(buffers, threads);
      nanoseconds = static_cast<std::uint64_t>(
          std::chrono::nanoseconds(std::chrono::steady_clock::now() - start).count());
    }
    outcome = error.empty() ? 1 : 2;
  }
  give(outcome);
  give_text(error);
  give(static_cast<std::uint32_t>(accesses.size()));
  for (const Access &access : accesses) {
    std::uint32_t buffer = 0;
    while (buffer < buffers.all.size() &&
           (access.begin < buffers.all[buffer]->address() ||
            access.begin > buffers.all[buffer]->address() + buffers.all[buffer]->size()))
      buffer++;
    give(buffer);
    give(std::uint64_t{buffer < buffers.all.size() ? access.begin - buffers.all[buffer]->address()
                                                   : access.begin});
    give(std::uint64_t{access.bytes});
    give(static_cast<std::uint8_t>(access.writes));
    give_text(access.argument);
  }
  give(nanoseconds);
  for (const auto &buffer : buffers.all)
    give_text(buffer->content());
}

} // namespace

int main() {
  for (int kind; (kind = std::getchar()) != EOF; std::fflush(stdout)) {
    if (kind == 'P')
      read_code_object();
    else if (kind == 'L')
      launch_kernel();
    else
      stop("a request is of no known kind");
  }
  return 0;
}
