// A reader of MessagePack, the encoding of a code object's metadata.
//
// It reads what the format defines except extension types, which the metadata has none of, and
// takes any bytes: what is not MessagePack, ends too early, nests too deeply or is too large is an
// error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace simhip::kernels::msgpack {

// One value. Texts point into the bytes that were read, which have to outlive it. Of values that
// metadata has no use for (truth values, negative numbers, fractions, nil) nothing is kept.
class Value {
public:
  using Array = std::vector<Value>;

  Value() = default;
  explicit Value(std::uint64_t count) : kind_(Kind::count), count_(count) {}
  explicit Value(std::string_view text) : kind_(Kind::text), text_(text) {}
  static Value of(Array elements) {
    return Value(Kind::array, std::move(elements));
  }
  // A map from its keys and values in turns.
  static Value of_entries(Array entries) {
    return Value(Kind::map, std::move(entries));
  }

  // The value as one of a kind, nothing when it is of another.
  const Array *array() const;
  std::optional<std::string_view> text() const;
  std::optional<std::uint64_t> count() const; // an integer that is not negative

  // The value of the first entry whose key is this text; null when this is no map or has none.
  const Value *member(std::string_view key) const;

private:
  enum class Kind { other, count, text, array, map };

  Value(Kind kind, Array elements) : kind_(kind), elements_(std::move(elements)) {}

  Kind kind_ = Kind::other;
  std::uint64_t count_ = 0;
  std::string_view text_;
  Array elements_; // of an array, or a map's keys and values in turns
};

// Reads exactly one value that takes up all the bytes, or says in error at which offset it cannot.
std::optional<Value> read(const std::byte *bytes, std::size_t size, std::string &error);

} // namespace simhip::kernels::msgpack
