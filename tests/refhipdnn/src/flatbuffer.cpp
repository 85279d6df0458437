#include "flatbuffer.hpp"

#include <algorithm>

namespace refhipdnn::flatbuffer {
namespace {

constexpr int kDepth = 64;
constexpr size_t kLargest = 1u << 30;

} // namespace

void Builder::raw(const uint8_t *bytes, size_t n) {
  reversed_.insert(reversed_.end(), std::make_reverse_iterator(bytes + n),
                   std::make_reverse_iterator(bytes));
}

// Pads so that after `more` further bytes the position is a multiple of alignment.
void Builder::align(size_t alignment, size_t more) {
  widest_ = std::max(widest_, alignment);
  while ((size() + more) % alignment != 0) {
    reversed_.push_back(0);
  }
}

void Builder::put_ref(Ref target) {
  align(4);
  put<uint32_t>(size() - target + 4);
}

void Builder::start_vector(size_t count, size_t element, size_t alignment) {
  align(4, count * element);
  align(alignment, count * element);
}

Ref Builder::end_vector(size_t count) {
  put<uint32_t>(static_cast<uint32_t>(count));
  return size();
}

Ref Builder::string(const std::string &s) {
  align(4, s.size() + 1);
  reversed_.push_back(0);
  raw(reinterpret_cast<const uint8_t *>(s.data()), s.size());
  put<uint32_t>(static_cast<uint32_t>(s.size()));
  return size();
}

Ref Builder::vector_of(const std::vector<Ref> &refs) {
  start_vector(refs.size(), 4, 4);
  for (size_t i = refs.size(); i > 0; i--) {
    put_ref(refs[i - 1]);
  }
  return end_vector(refs.size());
}

Ref Builder::plain(const void *bytes, size_t n) {
  align(n, n);
  raw(static_cast<const uint8_t *>(bytes), n);
  return size();
}

void Builder::start() {
  fields_.clear();
  table_start_ = size();
}

void Builder::ref(int slot, Ref target) {
  if (target != 0) {
    put_ref(target);
    fields_.push_back({slot, size()});
  }
}

void Builder::structure(int slot, const void *bytes, size_t n, size_t alignment) {
  align(alignment, n);
  raw(static_cast<const uint8_t *>(bytes), n);
  fields_.push_back({slot, size()});
}

Ref Builder::end() {
  align(4);
  put<int32_t>(0); // the distance to the vtable, known below
  uint32_t table = size();
  int last = 2;
  for (const Field &f : fields_) {
    last = std::max(last, f.slot);
  }
  std::vector<uint16_t> vtable((last + 2) / 2, 0);
  vtable[0] = static_cast<uint16_t>(vtable.size() * 2);
  vtable[1] = static_cast<uint16_t>(table - table_start_);
  for (const Field &f : fields_) {
    vtable[f.slot / 2] = static_cast<uint16_t>(table - f.at);
  }
  Bytes image(vtable.size() * 2);
  std::memcpy(image.data(), vtable.data(), image.size());
  std::reverse(image.begin(), image.end());

  uint32_t at = 0;
  for (uint32_t candidate : vtables_) {
    if (candidate >= image.size() &&
        std::equal(image.begin(), image.end(), reversed_.begin() + (candidate - image.size()))) {
      // The candidate may be longer: its own size says.
      uint16_t length =
          static_cast<uint16_t>(reversed_[candidate - 1] | (reversed_[candidate - 2] << 8));
      if (length == image.size()) {
        at = candidate;
        break;
      }
    }
  }
  if (at == 0) {
    reversed_.insert(reversed_.end(), image.begin(), image.end());
    at = size();
    vtables_.push_back(at);
  }
  int32_t distance = static_cast<int32_t>(at) - static_cast<int32_t>(table);
  uint8_t bytes[4];
  std::memcpy(bytes, &distance, 4);
  for (int i = 0; i < 4; i++) {
    reversed_[table - 1 - i] = bytes[i];
  }
  fields_.clear();
  return table;
}

Bytes Builder::finish(Ref root, const char *identifier) {
  align(widest_, identifier != nullptr ? 8 : 4);
  if (identifier != nullptr) {
    raw(reinterpret_cast<const uint8_t *>(identifier), 4);
  }
  put_ref(root);
  Bytes out(reversed_.rbegin(), reversed_.rend());
  return out;
}

Table::Table(const uint8_t *data, size_t size, size_t at, int depth)
    : data_(data), size_(size), at_(at), depth_(depth) {
  if (depth > kDepth) {
    throw Malformed("tables nest too deep");
  }
  if (at % 4 != 0) {
    throw Malformed("a table at " + std::to_string(at) + " is not aligned");
  }
  int64_t vtable = static_cast<int64_t>(at) - load<int32_t>(at);
  if (vtable < 0 || static_cast<size_t>(vtable) > size || vtable % 2 != 0) {
    throw Malformed("the vtable of the table at " + std::to_string(at) + " is outside");
  }
  vtable_ = static_cast<size_t>(vtable);
  vtable_size_ = load<uint16_t>(vtable_);
  table_size_ = load<uint16_t>(vtable_ + 2);
  if (vtable_size_ < 4 || vtable_size_ % 2 != 0) {
    throw Malformed("a vtable of " + std::to_string(vtable_size_) + " bytes");
  }
  check(vtable_, vtable_size_);
  check(at_, table_size_);
}

Table Table::root(const uint8_t *data, size_t size) {
  if (data == nullptr || size < 8 || size > kLargest) {
    throw Malformed(std::to_string(size) + " bytes are no buffer");
  }
  uint32_t at;
  std::memcpy(&at, data, 4);
  if (at >= size) {
    throw Malformed("the root is outside");
  }
  return Table(data, size, at, 0);
}

bool Table::has_identifier(const uint8_t *data, size_t size, const char *identifier) {
  return data != nullptr && size >= 8 && std::memcmp(data + 4, identifier, 4) == 0;
}

void Table::check(size_t at, size_t n) const {
  if (at > size_ || n > size_ - at) {
    throw Malformed(std::to_string(n) + " bytes at " + std::to_string(at) + " of " +
                    std::to_string(size_) + " are outside");
  }
}

size_t Table::field(int slot) const {
  if (slot + 2 > vtable_size_) {
    return 0;
  }
  uint16_t offset = load<uint16_t>(vtable_ + slot);
  if (offset == 0) {
    return 0;
  }
  if (offset < 4 || offset >= table_size_) {
    throw Malformed("a field at " + std::to_string(offset) + " of a table of " +
                    std::to_string(table_size_) + " bytes");
  }
  return at_ + offset;
}

size_t Table::follow(size_t at) const {
  uint32_t distance = load<uint32_t>(at);
  if (distance == 0 || distance > size_ || at + distance >= size_) {
    throw Malformed("an offset at " + std::to_string(at) + " leads outside");
  }
  return at + distance;
}

size_t Table::elements(int slot, size_t element, size_t &count) const {
  size_t at = field(slot);
  if (at == 0) {
    count = 0;
    return 0;
  }
  size_t start = follow(at);
  count = load<uint32_t>(start);
  if (count > size_) {
    throw Malformed("a vector of " + std::to_string(count) + " elements");
  }
  check(start + 4, count * element);
  return start + 4;
}

bool Table::structure(int slot, void *out, size_t n) const {
  size_t at = field(slot);
  if (at == 0) {
    return false;
  }
  check(at, n);
  std::memcpy(out, data_ + at, n);
  return true;
}

void Table::pointed(int slot, void *out, size_t n) const {
  size_t at = field(slot);
  if (at == 0) {
    throw Malformed("a union names a kind and has no value");
  }
  at = follow(at);
  check(at, n);
  std::memcpy(out, data_ + at, n);
}

std::optional<Table> Table::table(int slot) const {
  size_t at = field(slot);
  if (at == 0) {
    return std::nullopt;
  }
  return Table(data_, size_, follow(at), depth_ + 1);
}

std::string Table::string(int slot) const {
  size_t count = 0;
  size_t at = elements(slot, 1, count);
  if (at == 0) {
    return "";
  }
  check(at + count, 1);
  if (data_[at + count] != 0) {
    throw Malformed("a string is not terminated");
  }
  return std::string(reinterpret_cast<const char *>(data_ + at), count);
}

std::vector<Table> Table::tables(int slot) const {
  size_t count = 0;
  size_t at = elements(slot, 4, count);
  std::vector<Table> out;
  for (size_t i = 0; i < count; i++) {
    out.push_back(Table(data_, size_, follow(at + 4 * i), depth_ + 1));
  }
  return out;
}

} // namespace refhipdnn::flatbuffer
