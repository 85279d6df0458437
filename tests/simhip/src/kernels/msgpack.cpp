#include "msgpack.hpp"

namespace simhip::kernels::msgpack {

namespace {

// Far more than metadata needs; they bound the stack and the memory that hostile bytes can ask for.
constexpr unsigned deepest = 16;
constexpr std::size_t most_values = std::size_t{1} << 22;

class Reader {
public:
  Reader(const std::byte *bytes, std::size_t size) : bytes_(bytes), size_(size) {}

  std::optional<Value> all(std::string &error) {
    std::optional<Value> result = value(0);
    if (result && position_ != size_) {
      problem_ = "bytes follow the value";
      result.reset();
    }
    if (!result)
      error = std::string(problem_) + " at offset " + std::to_string(position_) + " of " +
              std::to_string(size_);
    return result;
  }

private:
  std::nullopt_t fail(const char *problem) {
    problem_ = problem;
    return std::nullopt;
  }

  // The next integer of so many bytes, most significant first.
  std::optional<std::uint64_t> big_endian(std::size_t bytes) {
    if (size_ - position_ < bytes)
      return fail("the data ends too early");
    std::uint64_t result = 0;
    for (std::size_t i = 0; i < bytes; i++)
      result = result << 8 | std::to_integer<std::uint64_t>(bytes_[position_++]);
    return result;
  }

  std::optional<Value> value(unsigned depth) {
    if (depth > deepest)
      return fail("the data nests too deeply");
    if (++count_ > most_values)
      return fail("the data has too many values");
    std::optional<std::uint64_t> first = big_endian(1);
    if (!first)
      return std::nullopt;
    unsigned tag = static_cast<unsigned>(*first);
    if (tag <= 0x7f)
      return Value(std::uint64_t{tag});
    if (tag <= 0x8f)
      return map(tag & 0xf, depth);
    if (tag <= 0x9f)
      return array(tag & 0xf, depth);
    if (tag <= 0xbf)
      return text(tag & 0x1f);
    if (tag >= 0xe0)
      return Value(); // a negative number
    switch (tag) {
    case 0xc0: // nil, false, true
    case 0xc2:
    case 0xc3:
      return Value();
    case 0xc4: // bytes, with a length of 1, 2 or 4 bytes
    case 0xc5:
    case 0xc6:
      return sized(1u << (tag - 0xc4), [this](std::size_t n) { return text(n); });
    case 0xca: // fractions
    case 0xcb:
      return sized(4u << (tag - 0xca), [](std::uint64_t) { return Value(); });
    case 0xcc: // integers that are not negative
    case 0xcd:
    case 0xce:
    case 0xcf:
      return sized(1u << (tag - 0xcc), [](std::uint64_t n) { return Value(n); });
    case 0xd0: // integers with a sign
    case 0xd1:
    case 0xd2:
    case 0xd3:
      return sized(1u << (tag - 0xd0), [tag](std::uint64_t n) {
        bool negative = n >> ((8u << (tag - 0xd0)) - 1) != 0;
        return negative ? Value() : Value(n);
      });
    case 0xd9: // texts
    case 0xda:
    case 0xdb:
      return sized(1u << (tag - 0xd9), [this](std::size_t n) { return text(n); });
    case 0xdc:
    case 0xdd:
      return sized(2u << (tag - 0xdc), [this, depth](std::size_t n) { return array(n, depth); });
    case 0xde:
    case 0xdf:
      return sized(2u << (tag - 0xde), [this, depth](std::size_t n) { return map(n, depth); });
    default: // 0xc1 is never used, the rest are extension types
      position_--;
      return fail("there is a tag that metadata does not use");
    }
  }

  template <typename Make> std::optional<Value> sized(std::size_t bytes, Make make) {
    std::optional<std::uint64_t> n = big_endian(bytes);
    if (!n)
      return std::nullopt;
    return make(*n);
  }

  std::optional<Value> text(std::size_t length) {
    if (size_ - position_ < length)
      return fail("a text or a number of bytes is longer than the data");
    std::string_view result(reinterpret_cast<const char *>(bytes_) + position_, length);
    position_ += length;
    return Value(result);
  }

  std::optional<Value> array(std::size_t count, unsigned depth) {
    std::optional<Value::Array> elements = values(count, depth);
    return elements ? std::optional(Value::of(std::move(*elements))) : std::nullopt;
  }

  std::optional<Value> map(std::size_t count, unsigned depth) {
    std::optional<Value::Array> entries = values(2 * count, depth);
    return entries ? std::optional(Value::of_entries(std::move(*entries))) : std::nullopt;
  }

  // Nothing is reserved for the count: only what is really there takes up memory.
  std::optional<Value::Array> values(std::size_t count, unsigned depth) {
    Value::Array result;
    for (std::size_t i = 0; i < count; i++) {
      std::optional<Value> element = value(depth + 1);
      if (!element)
        return std::nullopt;
      result.push_back(std::move(*element));
    }
    return result;
  }

  const std::byte *bytes_;
  std::size_t size_;
  std::size_t position_ = 0;
  std::size_t count_ = 0;
  const char *problem_ = "";
};

} // namespace

const Value::Array *Value::array() const {
  return kind_ == Kind::array ? &elements_ : nullptr;
}

std::optional<std::string_view> Value::text() const {
  return kind_ == Kind::text ? std::optional(text_) : std::nullopt;
}

std::optional<std::uint64_t> Value::count() const {
  return kind_ == Kind::count ? std::optional(count_) : std::nullopt;
}

const Value *Value::member(std::string_view key) const {
  for (std::size_t i = 0; kind_ == Kind::map && i < elements_.size(); i += 2)
    if (elements_[i].text() == key)
      return &elements_[i + 1];
  return nullptr;
}

std::optional<Value> read(const std::byte *bytes, std::size_t size, std::string &error) {
  return Reader(bytes, size).all(error);
}

} // namespace simhip::kernels::msgpack
