#include "flatbuffer.hpp"

namespace refhipdnn::flatbuffer {
namespace {

constexpr size_t kLargest = 1u << 30;

} // namespace

Ref Builder::vector_of(const std::vector<Ref> &refs) {
  std::vector<flatbuffers::Offset<void>> offsets(refs.begin(), refs.end());
  return builder_.CreateVector(offsets).o;
}

Ref Builder::plain(const void *bytes, size_t size) {
  builder_.StartStruct(size);
  builder_.PushBytes(static_cast<const uint8_t *>(bytes), size);
  return builder_.EndStruct();
}

Bytes Builder::finish(Ref root, const char *identifier) {
  builder_.Finish(flatbuffers::Offset<void>(root), identifier);
  return Bytes(builder_.GetBufferPointer(), builder_.GetBufferPointer() + builder_.GetSize());
}

Table::Table(Verifier verifier, const flatbuffers::Table *table)
    : verifier_(std::move(verifier)), table_(table) {
  if (!table_->VerifyTableStart(*verifier_)) {
    throw Malformed("a table or its vtable is outside");
  }
  verifier_
      ->EndTable(); // none of the schemas' tables contains its own kind, so depth needs no limit
}

Table Table::root(const uint8_t *data, size_t size) {
  if (data == nullptr || size < FLATBUFFERS_MIN_BUFFER_SIZE || size > kLargest) {
    throw Malformed(std::to_string(size) + " bytes are no buffer");
  }
  auto verifier = std::make_shared<flatbuffers::Verifier>(data, size);
  size_t offset = verifier->VerifyOffset(size_t{0});
  if (offset == 0) {
    throw Malformed("the root is outside");
  }
  return Table(std::move(verifier), reinterpret_cast<const flatbuffers::Table *>(data + offset));
}

bool Table::has_identifier(const uint8_t *data, size_t size, const char *identifier) {
  return data != nullptr && size >= 8 && flatbuffers::BufferHasIdentifier(data, identifier);
}

void Table::verify(bool ok, int slot, const char *what) {
  if (!ok) {
    throw Malformed(std::string("the ") + what + " at slot " + std::to_string(slot) +
                    " is outside, or not aligned");
  }
}

void Table::pointed(int slot, void *out, size_t size) const {
  const auto *found = pointer<uint8_t>(slot);
  if (found == nullptr) {
    throw Malformed("a union names a kind and has no value");
  }
  verify(verifier_->VerifyFieldStruct(found, 0, size, size), slot, "struct");
  std::memcpy(out, found, size);
}

std::optional<Table> Table::table(int slot) const {
  const auto *found = pointer<flatbuffers::Table>(slot);
  return found == nullptr ? std::nullopt : std::optional<Table>(Table(verifier_, found));
}

std::string Table::string(int slot) const {
  const auto *found = pointer<flatbuffers::String>(slot);
  verify(verifier_->VerifyString(found), slot, "string");
  return found == nullptr ? std::string() : found->str();
}

std::vector<Table> Table::tables(int slot) const {
  using Offsets = flatbuffers::Vector<flatbuffers::Offset<flatbuffers::Table>>;
  const auto *found = pointer<Offsets>(slot);
  verify(verifier_->VerifyVector(found), slot, "vector");
  std::vector<Table> out;
  for (flatbuffers::uoffset_t i = 0; found != nullptr && i < found->size(); i++) {
    const uint8_t *element = found->Data() + i * sizeof(flatbuffers::uoffset_t);
    verify(verifier_->VerifyOffset(element, 0) != 0, slot, "table");
    out.push_back(Table(verifier_, found->Get(i)));
  }
  return out;
}

} // namespace refhipdnn::flatbuffer
