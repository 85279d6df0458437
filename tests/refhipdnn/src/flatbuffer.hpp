#pragma once

// Tables of FlatBuffers without generated code, on Google's library: fields are named by their
// slot, the offset in the vtable (4, 6, ...). Whatever is read was verified before. It knows the
// encoding, not hipDNN's schemas.

#include "bytes.hpp"

#include <flatbuffers/flatbuffer_builder.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace refhipdnn::flatbuffer {

// Where something was put, counted from the buffer's end. 0 is nothing.
using Ref = flatbuffers::uoffset_t;

class Builder {
public:
  Ref string(const std::string &s) {
    return builder_.CreateString(s).o;
  }
  template <class T> Ref vector(const std::vector<T> &values) {
    return builder_.CreateVector(values).o;
  }
  Ref vector_of(const std::vector<Ref> &refs);
  // A struct outside of any table, as unions of structs have it, aligned to its size.
  Ref plain(const void *bytes, size_t size);

  // Between start and end come the table's fields.
  void start() {
    start_ = builder_.StartTable();
  }
  template <class T> void field(int slot, T value, T initial) {
    builder_.AddElement<T>(static_cast<flatbuffers::voffset_t>(slot), value, initial);
  }
  template <class T> void optional(int slot, const std::optional<T> &value) {
    if (value) {
      builder_.AddElement<T>(static_cast<flatbuffers::voffset_t>(slot), *value);
    }
  }
  void ref(int slot, Ref target) {
    builder_.AddOffset(static_cast<flatbuffers::voffset_t>(slot),
                       flatbuffers::Offset<void>(target));
  }
  // A struct whose members are all of the type T.
  template <class T, size_t N> void structure(int slot, const std::array<T, N> &members) {
    builder_.AddStruct(static_cast<flatbuffers::voffset_t>(slot), &members);
  }
  Ref end() {
    return builder_.EndTable(start_);
  }

  Bytes finish(Ref root, const char *identifier = nullptr);

private:
  flatbuffers::FlatBufferBuilder builder_;
  flatbuffers::uoffset_t start_ = 0;
};

// A table in a buffer that outlives it.
class Table {
public:
  static Table root(const uint8_t *data, size_t size);
  static bool has_identifier(const uint8_t *data, size_t size, const char *identifier);

  template <class T> T scalar(int slot, T initial) const {
    verify(table_->VerifyField<T>(*verifier_, at(slot), sizeof(T)), slot, "scalar");
    return table_->GetField<T>(at(slot), initial);
  }
  template <class T> std::optional<T> optional(int slot) const {
    if (!table_->CheckField(at(slot))) {
      return std::nullopt;
    }
    return scalar<T>(slot, T());
  }
  // A struct whose members are all of the type T.
  template <class T, size_t N> std::optional<std::array<T, N>> structure(int slot) const {
    using S = std::array<T, N>;
    verify(table_->VerifyField<S>(*verifier_, at(slot), alignof(S)), slot, "struct");
    const S *found = table_->GetStruct<const S *>(at(slot));
    return found != nullptr ? std::optional<S>(*found) : std::nullopt;
  }
  // Copies a struct that lies behind an offset; it has to be there.
  void pointed(int slot, void *out, size_t size) const;
  std::optional<Table> table(int slot) const;
  std::string string(int slot) const; // empty where it is absent
  template <class T> std::vector<T> vector(int slot) const {
    const auto *found = pointer<flatbuffers::Vector<T>>(slot);
    verify(verifier_->VerifyVector(found), slot, "vector");
    return found == nullptr ? std::vector<T>() : std::vector<T>(found->begin(), found->end());
  }
  std::vector<Table> tables(int slot) const;

private:
  using Verifier = std::shared_ptr<flatbuffers::Verifier>;
  Table(Verifier verifier, const flatbuffers::Table *table);

  static flatbuffers::voffset_t at(int slot) {
    return static_cast<flatbuffers::voffset_t>(slot);
  }
  static void verify(bool ok, int slot, const char *what);
  template <class T> const T *pointer(int slot) const {
    verify(table_->VerifyOffset(*verifier_, at(slot)), slot, "offset");
    return table_->GetPointer<const T *>(at(slot));
  }

  Verifier verifier_;
  const flatbuffers::Table *table_;
};

} // namespace refhipdnn::flatbuffer
