// Address space of allocations.
#include "mapping.hpp"

#include <algorithm>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

namespace simhip {
namespace {

// Blocks from this size on are copy-on-write views of one file of 0xFF bytes.
constexpr std::size_t largeBytes = std::size_t{4} << 20;
constexpr std::size_t fillBytes = std::size_t{16} << 20;

int memoryFile(std::size_t bytes) {
  int file = memfd_create("simhip", MFD_CLOEXEC);
  if (file >= 0 && ftruncate(file, static_cast<off_t>(bytes)) != 0) {
    close(file);
    return -1;
  }
  return file;
}

// The file of 0xFF bytes, or -1.
int fillFile() {
  static const int file = [] {
    int made = memoryFile(fillBytes);
    if (made < 0) {
      return -1;
    }
    void *view = mmap(nullptr, fillBytes, PROT_READ | PROT_WRITE, MAP_SHARED, made, 0);
    if (view == MAP_FAILED) {
      close(made);
      return -1;
    }
    std::memset(view, 0xFF, fillBytes);
    munmap(view, fillBytes);
    return made;
  }();
  return file;
}

bool viewAt(std::byte *where, std::size_t bytes, int flags, int file) {
  return mmap(where, bytes, PROT_READ | PROT_WRITE, MAP_FIXED | flags, file, 0) == where;
}

bool populate(const Mapping &m, bool aliased, std::byte *&aliasPages) {
  if (aliased) {
    int file = memoryFile(m.pagesBytes);
    if (file < 0) {
      return false;
    }
    void *second = mmap(nullptr, m.pagesBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    bool ok = second != MAP_FAILED && viewAt(m.pages, m.pagesBytes, MAP_SHARED, file);
    close(file);
    if (!ok) {
      if (second != MAP_FAILED) {
        munmap(second, m.pagesBytes);
      }
      return false;
    }
    aliasPages = static_cast<std::byte *>(second);
    std::memset(aliasPages, 0xFF, m.pagesBytes);
    return true;
  }
  if (m.pagesBytes >= largeBytes && fillFile() >= 0) {
    for (std::size_t at = 0; at < m.pagesBytes; at += fillBytes) {
      if (!viewAt(m.pages + at, std::min(fillBytes, m.pagesBytes - at), MAP_PRIVATE, fillFile())) {
        return false;
      }
    }
    return true;
  }
  // All pages are written below: one call is cheaper than a fault for each.
  if (!viewAt(m.pages, m.pagesBytes, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1)) {
    return false;
  }
  std::memset(m.pages, 0xFF, m.pagesBytes);
  return true;
}

} // namespace

std::size_t pageBytes() {
  static const auto bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

bool map(std::size_t bytes, bool aliased, Mapping &mapping) {
  std::size_t page = pageBytes();
  if (bytes > SIZE_MAX / 2) {
    return false;
  }
  std::size_t aligned = (bytes + blockAlignment - 1) / blockAlignment * blockAlignment;
  Mapping m;
  m.pagesBytes = (aligned + page - 1) / page * page;
  m.reservedBytes = m.pagesBytes + 2 * page;
  void *space =
      mmap(nullptr, m.reservedBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (space == MAP_FAILED) {
    return false;
  }
  m.reserved = static_cast<std::byte *>(space);
  m.pages = m.reserved + page;
  m.block = m.pages + (m.pagesBytes - aligned);
  if (!populate(m, aliased, m.aliasPages)) {
    munmap(m.reserved, m.reservedBytes);
    return false;
  }
  m.alias = m.aliasPages != nullptr ? m.aliasPages + (m.block - m.pages) : m.block;
  mapping = m;
  return true;
}

void retire(Mapping &mapping) {
  if (mapping.aliasPages != nullptr) {
    munmap(mapping.aliasPages, mapping.pagesBytes);
    mapping.aliasPages = nullptr;
    mapping.alias = nullptr;
  }
  mmap(mapping.reserved, mapping.reservedBytes, PROT_NONE,
       MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}

void unmap(Mapping &mapping) {
  munmap(mapping.reserved, mapping.reservedBytes);
  mapping = Mapping{};
}

} // namespace simhip
