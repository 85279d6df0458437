#pragma once

// FlatBuffers without the library: a builder that lays bytes out as Google's does (back to front,
// equal vtables shared, scalars equal to their default left out), and a reader that checks every
// offset and length before it follows it. It knows the encoding, not hipDNN's schemas.

#include <cstdint>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace refhipdnn::flatbuffer {

using Bytes = std::vector<uint8_t>;

// Bytes that are not a FlatBuffer of the expected form.
class Malformed : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

// Where something was put, counted from the buffer's end. 0 is nothing.
using Ref = uint32_t;

class Builder {
public:
  Ref string(const std::string &s);
  template <class T> Ref vector(const std::vector<T> &values) {
    start_vector(values.size(), sizeof(T), sizeof(T));
    for (size_t i = values.size(); i > 0; i--) {
      put(values[i - 1]);
    }
    return end_vector(values.size());
  }
  Ref vector_of(const std::vector<Ref> &refs);
  // A struct outside of any table, as unions of structs have it, aligned to its size.
  Ref plain(const void *bytes, size_t size);

  // Between start and end come the table's fields. slot is the vtable's byte offset (4, 6, ...).
  void start();
  template <class T> void field(int slot, T value, T initial) {
    if (value != initial) {
      required(slot, value);
    }
  }
  template <class T> void required(int slot, T value) {
    align(sizeof(T));
    put(value);
    fields_.push_back({slot, size()});
  }
  template <class T> void optional(int slot, const std::optional<T> &value) {
    if (value) {
      required(slot, *value);
    }
  }
  void ref(int slot, Ref target);
  // A struct, given as its bytes in memory.
  void structure(int slot, const void *bytes, size_t size, size_t alignment);
  Ref end();

  Bytes finish(Ref root, const char *identifier = nullptr);

private:
  struct Field {
    int slot;
    uint32_t at;
  };

  uint32_t size() const {
    return static_cast<uint32_t>(reversed_.size());
  }
  // The bytes are kept back to front: writing a value appends its bytes from the last one on.
  template <class T> void put(T value) {
    uint8_t bytes[sizeof(T)];
    std::memcpy(bytes, &value, sizeof(T));
    raw(bytes, sizeof(T));
  }
  void raw(const uint8_t *bytes, size_t n);
  void align(size_t alignment, size_t more = 0);
  void put_ref(Ref target);
  void start_vector(size_t count, size_t element, size_t alignment);
  Ref end_vector(size_t count);

  Bytes reversed_;
  std::vector<Field> fields_;
  uint32_t table_start_ = 0;
  std::vector<uint32_t> vtables_;
  size_t widest_ = 1;
};

// A table in a buffer that outlives it.
class Table {
public:
  static Table root(const uint8_t *data, size_t size);
  static bool has_identifier(const uint8_t *data, size_t size, const char *identifier);

  bool has(int slot) const {
    return field(slot) != 0;
  }
  template <class T> T scalar(int slot, T initial) const {
    size_t at = field(slot);
    return at == 0 ? initial : load<T>(at);
  }
  template <class T> std::optional<T> optional(int slot) const {
    size_t at = field(slot);
    return at == 0 ? std::nullopt : std::optional<T>(load<T>(at));
  }
  // Copies a struct out; false where it is absent.
  bool structure(int slot, void *out, size_t size) const;
  // Copies a struct that lies behind an offset; it has to be there.
  void pointed(int slot, void *out, size_t size) const;
  std::optional<Table> table(int slot) const;
  std::string string(int slot) const; // empty where it is absent
  template <class T> std::vector<T> vector(int slot) const {
    size_t count = 0;
    size_t at = elements(slot, sizeof(T), count);
    std::vector<T> out(count);
    if (count > 0) {
      std::memcpy(out.data(), data_ + at, count * sizeof(T));
    }
    return out;
  }
  std::vector<Table> tables(int slot) const;

private:
  Table(const uint8_t *data, size_t size, size_t at, int depth);
  template <class T> T load(size_t at) const {
    check(at, sizeof(T));
    T value;
    std::memcpy(&value, data_ + at, sizeof(T));
    return value;
  }
  void check(size_t at, size_t n) const;
  size_t field(int slot) const;
  size_t follow(size_t at) const;
  size_t elements(int slot, size_t element, size_t &count) const;

  const uint8_t *data_;
  size_t size_;
  size_t at_;
  size_t vtable_;
  uint16_t vtable_size_;
  uint16_t table_size_;
  int depth_;
};

} // namespace refhipdnn::flatbuffer
