// Reads hipDNN's FlatBuffers and writes them again, on Google's C++ library, to compare with what
// the Go side writes.
//
//   rewrite full FORM [CONTROL]    every table and field, by the tables below
//   rewrite refhipdnn FORM         through the reference backend's own code, which knows a part
//   rewrite describe               graphs as the reference backend understands them, as text
//   rewrite draw FORM SEED COUNT   draws values and writes them
//
// FORM is graph, config or details. The first three take buffers from the standard input, each
// after its length in four bytes, and put theirs to the standard output in the same way. CONTROL
// makes a mistake: `slot` exchanges two fields of a tensor, `default` writes numbers that have
// their default, `optional` leaves out optional ones that are 0. It ends with 1 at a buffer that
// cannot be read.

#include "wire.hpp"

#include <flatbuffers/flatbuffer_builder.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <limits>
#include <random>
#include <sstream>

namespace {

using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;
using flatbuffers::voffset_t;

enum class Kind {
  Byte, // with a default, as the next three
  Int,
  Long,
  Double,
  OptionalFloat,
  OptionalLong,
  Version, // structs
  Uuid,
  Text,
  RequiredText,
  Ints,
  Longs,
  Doubles,
  Texts,
  Table,
  Tables,
  Union,
  StructUnion,
};

struct Schema;

struct Field {
  voffset_t slot;
  Kind kind;
  // The default of a number. Of a union: the first ordinal that can be drawn.
  int64_t initial = 0;
  // The largest byte that means something.
  int last = 0;
  // The table, or the union's members from ordinal 1 on.
  std::vector<const Schema *> tables = {};
  // Where it is written: its slot, but for the control.
  voffset_t out = 0;
};

struct Schema {
  std::vector<Field> fields;
};

constexpr int kBool = 1, kDataType = 17, kConvMode = 2, kPointwiseMode = 47;

// The sizes of the union TensorValue's structs.
constexpr size_t kValueSizes[] = {0, 4, 4, 4, 1, 4, 8, 8, 1};

using K = Kind;

// Longs at the slots from first to last.
std::vector<Field> longs(voffset_t first, voffset_t last) {
  std::vector<Field> out;
  for (voffset_t slot = first; slot <= last; slot += 2) {
    out.push_back({slot, K::Long});
  }
  return out;
}

Schema joined(std::vector<Field> head, const std::vector<Field> &tail) {
  head.insert(head.end(), tail.begin(), tail.end());
  return {head};
}

Schema tensor = {{{4, K::Long},
                  {6, K::Text},
                  {8, K::Byte, 0, kDataType},
                  {10, K::Longs},
                  {12, K::Longs},
                  {14, K::Byte, 0, kBool},
                  {16, K::StructUnion},
                  {20, K::Byte, 0, kBool},
                  {22, K::OptionalLong},
                  {24, K::Long, 16},
                  {26, K::Long, 1}}};
const Schema convolution = joined(longs(4, 8), {{10, K::Longs},
                                                {12, K::Longs},
                                                {14, K::Longs},
                                                {16, K::Longs},
                                                {18, K::Byte, 0, kConvMode},
                                                {20, K::Text},
                                                {22, K::Text}});
const Schema batchnorm = joined(longs(4, 10), {{12, K::Longs},
                                               {14, K::OptionalLong},
                                               {16, K::OptionalLong},
                                               {18, K::OptionalLong},
                                               {20, K::Long},
                                               {22, K::OptionalLong},
                                               {24, K::OptionalLong},
                                               {26, K::OptionalLong},
                                               {28, K::OptionalLong}});
const Schema batchnorm_backward = {{{4, K::Long},
                                    {6, K::Long},
                                    {8, K::OptionalLong},
                                    {10, K::OptionalLong},
                                    {12, K::Long},
                                    {14, K::Longs},
                                    {16, K::Long},
                                    {18, K::Long},
                                    {20, K::Long}}};
const Schema batchnorm_inference = {longs(4, 14)};
const Schema batchnorm_inference_variance = {longs(4, 16)};
const Schema matmul = joined(longs(4, 8), {{10, K::Text}, {12, K::Text}});
Schema pointwise = {{{4, K::Byte, 0, kPointwiseMode},
                     {6, K::OptionalFloat},
                     {8, K::OptionalFloat},
                     {10, K::OptionalFloat},
                     {12, K::OptionalLong},
                     {14, K::Long},
                     {16, K::OptionalLong},
                     {18, K::OptionalLong},
                     {20, K::Long},
                     {22, K::OptionalFloat},
                     {24, K::OptionalFloat},
                     {26, K::OptionalFloat}}};
const Schema opaque = {};
const Schema node = {{{4, K::Text},
                      {6, K::Byte, 0, kDataType},
                      {8,
                       K::Union,
                       1,
                       0,
                       {&batchnorm_inference,
                        &pointwise,
                        &batchnorm_backward,
                        &batchnorm,
                        &convolution,
                        &convolution,
                        &convolution,
                        &batchnorm_inference_variance,
                        &matmul,
                        &opaque,
                        &opaque,
                        &opaque,
                        &opaque,
                        &opaque,
                        &opaque,
                        &opaque,
                        &opaque,
                        &opaque,
                        &opaque,
                        &opaque,
                        &opaque,
                        &opaque,
                        &opaque}}}};
const Schema graph = {{{4, K::Text},
                       {6, K::Byte, 0, kDataType},
                       {8, K::Byte, 0, kDataType},
                       {10, K::Byte, 0, kDataType},
                       {12, K::Tables, 0, 0, {&tensor}},
                       {14, K::Tables, 0, 0, {&node}},
                       {16, K::OptionalLong},
                       {18, K::Byte, 0, kBool},
                       {20, K::Version},
                       {22, K::Uuid}}};

const Schema int_value = {{{4, K::Long}}};
const Schema float_value = {{{4, K::Double}}};
const Schema string_value = {{{4, K::Text}}};
const Schema int_constraint = {{{4, K::Long}, {6, K::Long}, {8, K::Long, 1}, {10, K::Longs}}};
const Schema float_constraint = {{{4, K::Double}, {6, K::Double}, {8, K::Doubles}}};
const Schema string_constraint = {{{4, K::Int}, {6, K::Texts}}};
const std::vector<const Schema *> knob_values = {&int_value, &float_value, &string_value};
const Schema setting = {{{4, K::Text}, {6, K::Union, 0, 0, knob_values}}};
const Schema knob = {
    {{4, K::Long},
     {6, K::Text},
     {8, K::Text},
     {10, K::Union, 0, 0, knob_values},
     {14, K::Union, 0, 0, knob_values},
     {18, K::Union, 0, 0, {&int_constraint, &float_constraint, &string_constraint}},
     {22, K::Byte, 0, kBool}}};
const Schema candidate = {
    {{4, K::RequiredText}, {6, K::Tables, 0, 0, {&setting}}, {8, K::RequiredText}}};
const Schema page = {{{4, K::RequiredText},
                      {6, K::RequiredText},
                      {8, K::RequiredText},
                      {10, K::RequiredText},
                      {12, K::RequiredText},
                      {14, K::Long},
                      {16, K::Long},
                      {18, K::Tables, 0, 0, {&candidate}},
                      {20, K::Text},
                      {22, K::Text}}};
const Schema config = {{{4, K::Long}, {6, K::Tables, 0, 0, {&setting}}, {8, K::Text}}};
const Schema details = {{{4, K::Long},
                         {6, K::Tables, 0, 0, {&knob}},
                         {8, K::Ints},
                         {10, K::Text},
                         {12, K::Table, 0, 0, {&page}}}};

// A table's contents. Each field uses what it needs of an item.
struct Item;
using Record = std::vector<Item>;
struct Item {
  bool present = false; // of optional numbers, structs, tables, and the text that is required
  int64_t number = 0;   // or the ordinal
  double real = 0;
  std::string bytes; // of texts and structs
  std::vector<int64_t> longs;
  std::vector<double> doubles;
  std::vector<std::string> texts;
  std::vector<Record> records;
};

[[noreturn]] void fail(const std::string &text) {
  std::cerr << "rewrite: " << text << "\n";
  std::exit(1);
}

class Reader {
public:
  Reader(const uint8_t *data, size_t size) : data_(data), verifier_(data, size) {}

  Record root(const Schema &schema) {
    size_t offset = verifier_.VerifyOffset(size_t{0});
    need(offset != 0);
    return table(schema, reinterpret_cast<const flatbuffers::Table *>(data_ + offset));
  }

private:
  static void need(bool ok) {
    if (!ok) {
      fail("a buffer that is not verified");
    }
  }

  template <class T> const T *pointer(const flatbuffers::Table *t, voffset_t slot) {
    need(t->VerifyOffset(verifier_, slot));
    return t->GetPointer<const T *>(slot);
  }

  template <class T> T number(const flatbuffers::Table *t, const Field &f, T initial, bool *is) {
    need(t->VerifyField<T>(verifier_, f.slot, sizeof(T)));
    *is = t->CheckField(f.slot);
    return t->GetField<T>(f.slot, initial);
  }

  template <class T, class U>
  void vector(const flatbuffers::Table *t, voffset_t slot, std::vector<U> *out) {
    const auto *v = pointer<flatbuffers::Vector<T>>(t, slot);
    need(verifier_.VerifyVector(v));
    if (v != nullptr) {
      out->assign(v->begin(), v->end());
    }
  }

  template <class T>
  const flatbuffers::Vector<Offset<T>> *offsets(const flatbuffers::Table *t, voffset_t slot) {
    const auto *v = pointer<flatbuffers::Vector<Offset<T>>>(t, slot);
    need(verifier_.VerifyVector(v));
    for (size_t i = 0; v != nullptr && i < v->size(); i++) {
      need(verifier_.VerifyOffset(v->Data() + 4 * i, 0) != 0);
    }
    return v;
  }

  std::string structure(const flatbuffers::Table *t, const Field &f, size_t size, bool *is) {
    const uint8_t *at = t->GetAddressOf(f.slot);
    *is = at != nullptr;
    if (!*is) {
      return "";
    }
    need(verifier_.VerifyFieldStruct(at, 0, size, f.kind == K::Version ? 4 : 1));
    return std::string(reinterpret_cast<const char *>(at), size);
  }

  Item field(const Field &f, const flatbuffers::Table *t) {
    Item item;
    bool ignored;
    switch (f.kind) {
    case K::Byte:
      item.number = number<uint8_t>(t, f, static_cast<uint8_t>(f.initial), &ignored);
      break;
    case K::Int:
      item.number = number<int32_t>(t, f, static_cast<int32_t>(f.initial), &ignored);
      break;
    case K::Long:
      item.number = number<int64_t>(t, f, f.initial, &ignored);
      break;
    case K::Double:
      item.real = number<double>(t, f, 0, &ignored);
      break;
    case K::OptionalFloat:
      item.number = number<uint32_t>(t, f, 0, &item.present);
      break;
    case K::OptionalLong:
      item.number = number<int64_t>(t, f, 0, &item.present);
      break;
    case K::Version:
      item.bytes = structure(t, f, 12, &item.present);
      break;
    case K::Uuid:
      item.bytes = structure(t, f, 16, &item.present);
      break;
    case K::Text:
    case K::RequiredText: {
      const auto *s = pointer<flatbuffers::String>(t, f.slot);
      need(verifier_.VerifyString(s) && (s != nullptr || f.kind == K::Text));
      item.bytes = s != nullptr ? s->str() : "";
      break;
    }
    case K::Ints:
      vector<int32_t>(t, f.slot, &item.longs);
      break;
    case K::Longs:
      vector<int64_t>(t, f.slot, &item.longs);
      break;
    case K::Doubles:
      vector<double>(t, f.slot, &item.doubles);
      break;
    case K::Texts: {
      const auto *v = offsets<flatbuffers::String>(t, f.slot);
      need(verifier_.VerifyVectorOfStrings(v));
      for (size_t i = 0; v != nullptr && i < v->size(); i++) {
        item.texts.push_back(v->Get(static_cast<flatbuffers::uoffset_t>(i))->str());
      }
      break;
    }
    case K::Table:
      if (const auto *child = pointer<flatbuffers::Table>(t, f.slot)) {
        item.records.push_back(table(*f.tables[0], child));
      }
      break;
    case K::Tables: {
      const auto *v = offsets<flatbuffers::Table>(t, f.slot);
      for (size_t i = 0; v != nullptr && i < v->size(); i++) {
        item.records.push_back(table(*f.tables[0], v->Get(static_cast<flatbuffers::uoffset_t>(i))));
      }
      break;
    }
    case K::Union:
    case K::StructUnion:
      item.number = number<uint8_t>(t, f, 0, &ignored);
      if (item.number != 0) {
        const auto *value = pointer<uint8_t>(t, f.slot + 2);
        need(value != nullptr);
        if (f.kind == K::Union) {
          need(static_cast<size_t>(item.number) <= f.tables.size());
          item.records.push_back(table(*f.tables[item.number - 1],
                                       reinterpret_cast<const flatbuffers::Table *>(value)));
        } else {
          need(static_cast<size_t>(item.number) < std::size(kValueSizes));
          size_t size = kValueSizes[item.number];
          need(verifier_.VerifyFieldStruct(value, 0, size, size));
          item.bytes.assign(reinterpret_cast<const char *>(value), size);
        }
      }
      break;
    }
    return item;
  }

  Record table(const Schema &schema, const flatbuffers::Table *t) {
    need(t->VerifyTableStart(verifier_));
    Record out;
    for (const Field &f : schema.fields) {
      out.push_back(field(f, t));
    }
    verifier_.EndTable();
    return out;
  }

  const uint8_t *data_;
  flatbuffers::Verifier verifier_;
};

// What generated code does for a table: what it points to in the order of the schema, then its
// fields by their size, each size from the last to the first.
class Writer {
public:
  std::string root(const Schema &schema, const Record &record) {
    builder_.Finish(Offset<void>(table(schema, record)));
    return std::string(reinterpret_cast<const char *>(builder_.GetBufferPointer()),
                       builder_.GetSize());
  }

  bool write_defaults = false;
  bool drop_optional = false;

private:
  struct Version {
    uint32_t numbers[3];
  };
  struct Uuid {
    uint8_t bytes[16];
  };

  uint32_t child(const Field &f, const Item &item) {
    switch (f.kind) {
    case K::Text:
    case K::RequiredText:
      return item.bytes.empty() && f.kind == K::Text ? 0 : builder_.CreateString(item.bytes).o;
    case K::Ints: {
      std::vector<int32_t> ints(item.longs.begin(), item.longs.end());
      return ints.empty() ? 0 : builder_.CreateVector(ints).o;
    }
    case K::Longs:
      return item.longs.empty() ? 0 : builder_.CreateVector(item.longs).o;
    case K::Doubles:
      return item.doubles.empty() ? 0 : builder_.CreateVector(item.doubles).o;
    case K::Texts:
      return item.texts.empty() ? 0 : builder_.CreateVectorOfStrings(item.texts).o;
    case K::Table:
      return item.records.empty() ? 0 : table(*f.tables[0], item.records[0]);
    case K::Tables: {
      std::vector<Offset<void>> all;
      for (const Record &r : item.records) {
        all.emplace_back(table(*f.tables[0], r));
      }
      return all.empty() ? 0 : builder_.CreateVector(all).o;
    }
    case K::Union:
      return item.number == 0 ? 0 : table(*f.tables[item.number - 1], item.records[0]);
    case K::StructUnion:
      if (item.number == 0) {
        return 0;
      }
      builder_.StartStruct(item.bytes.size());
      builder_.PushBytes(reinterpret_cast<const uint8_t *>(item.bytes.data()), item.bytes.size());
      return builder_.EndStruct();
    default:
      return 0;
    }
  }

  template <class T> void number(voffset_t slot, T value, T initial) {
    if (write_defaults) {
      builder_.AddElement<T>(slot, value);
    } else {
      builder_.AddElement<T>(slot, value, initial);
    }
  }

  template <class T> void optional(voffset_t slot, T value, bool present) {
    if (present && !(drop_optional && value == 0)) {
      builder_.AddElement<T>(slot, value);
    }
  }

  // Puts the part of a field that has that size in the table.
  void put(size_t size, const Field &f, const Item &item, uint32_t to) {
    voffset_t slot = f.out != 0 ? f.out : f.slot;
    switch (f.kind) {
    case K::Byte:
      if (size == 1) {
        number<uint8_t>(slot, static_cast<uint8_t>(item.number), static_cast<uint8_t>(f.initial));
      }
      break;
    case K::Int:
      if (size == 4) {
        number<int32_t>(slot, static_cast<int32_t>(item.number), static_cast<int32_t>(f.initial));
      }
      break;
    case K::Long:
      if (size == 8) {
        number<int64_t>(slot, item.number, f.initial);
      }
      break;
    case K::Double:
      if (size == 8) {
        number<double>(slot, item.real, 0);
      }
      break;
    case K::OptionalFloat:
      if (size == 4) {
        optional<uint32_t>(slot, static_cast<uint32_t>(item.number), item.present);
      }
      break;
    case K::OptionalLong:
      if (size == 8) {
        optional<int64_t>(slot, item.number, item.present);
      }
      break;
    case K::Version:
      if (size == 4 && item.present) {
        builder_.AddStruct(slot, reinterpret_cast<const Version *>(item.bytes.data()));
      }
      break;
    case K::Uuid:
      if (size == 4 && item.present) {
        builder_.AddStruct(slot, reinterpret_cast<const Uuid *>(item.bytes.data()));
      }
      break;
    case K::Union:
    case K::StructUnion:
      if (size == 1) {
        number<uint8_t>(slot, static_cast<uint8_t>(item.number), 0);
      } else if (size == 4) {
        builder_.AddOffset(slot + 2, Offset<void>(to));
      }
      break;
    default:
      if (size == 4) {
        builder_.AddOffset(slot, Offset<void>(to));
      }
    }
  }

  uint32_t table(const Schema &schema, const Record &record) {
    std::vector<uint32_t> children;
    for (size_t i = 0; i < record.size(); i++) {
      children.push_back(child(schema.fields[i], record[i]));
    }
    uint32_t start = builder_.StartTable();
    for (size_t size : {8, 4, 1}) {
      for (size_t i = record.size(); i > 0; i--) {
        put(size, schema.fields[i - 1], record[i - 1], children[i - 1]);
      }
    }
    return builder_.EndTable(start);
  }

  FlatBufferBuilder builder_;
};

// Draws values. Only the engine's own numbers are used, which are the same everywhere.
class Drawer {
public:
  explicit Drawer(uint64_t seed) : random_(seed) {}

  Record table(const Schema &schema) {
    Record out;
    for (const Field &f : schema.fields) {
      out.push_back(field(f));
    }
    return out;
  }

private:
  size_t below(size_t n) {
    return random_() % n;
  }

  int64_t integer() {
    constexpr int64_t kSpecial[] = {0, 1, 16, -1};
    size_t i = below(6);
    return i < 4 ? kSpecial[i] : i == 4 ? below(1000) : random_();
  }

  double real() {
    constexpr double kSpecial[] = {0, -0.0, std::numeric_limits<double>::infinity(), 1.5};
    size_t i = below(5);
    return i < 4 ? kSpecial[i] : std::ldexp(static_cast<double>(integer()), -40);
  }

  std::string text(size_t length) {
    std::string out(length, 0);
    for (char &c : out) {
      c = static_cast<char>(random_());
    }
    return out;
  }

  Item field(const Field &f) {
    Item item;
    item.present = below(2) == 0;
    size_t n = below(5);
    switch (f.kind) {
    case K::Byte:
      item.number = below(f.last + 1);
      break;
    case K::Int:
      item.number = static_cast<int32_t>(integer());
      break;
    case K::Long:
    case K::OptionalLong:
      item.number = integer();
      break;
    case K::Double:
      item.real = real();
      break;
    case K::OptionalFloat:
      item.number = static_cast<uint32_t>(integer());
      break;
    case K::Version:
      item.bytes = text(12);
      break;
    case K::Uuid:
      item.bytes = text(16);
      break;
    case K::Text:
    case K::RequiredText:
      item.bytes = text(below(2) == 0 ? 0 : below(20));
      break;
    case K::Ints:
    case K::Longs:
      for (size_t i = 0; i < n; i++) {
        item.longs.push_back(f.kind == K::Ints ? static_cast<int32_t>(integer()) : integer());
      }
      break;
    case K::Doubles:
      for (size_t i = 0; i < n; i++) {
        item.doubles.push_back(real());
      }
      break;
    case K::Texts:
      for (size_t i = 0; i < n; i++) {
        item.texts.push_back(text(below(9)));
      }
      break;
    case K::Table:
      n = n % 2;
      [[fallthrough]];
    case K::Tables:
      for (size_t i = 0; i < n; i++) {
        item.records.push_back(table(*f.tables[0]));
      }
      break;
    case K::Union:
      item.number = f.initial + below(f.tables.size() + 1 - f.initial);
      if (item.number != 0) {
        item.records.push_back(table(*f.tables[item.number - 1]));
      }
      break;
    case K::StructUnion:
      item.number = below(std::size(kValueSizes));
      item.bytes = text(kValueSizes[item.number]);
      if (item.number == 8) {
        item.bytes[0] &= 1;
      }
      break;
    }
    return item;
  }

  std::mt19937_64 random_;
};

const Schema &form(const std::string &name) {
  if (name == "graph") {
    return graph;
  }
  if (name == "config") {
    return config;
  }
  if (name == "details") {
    return details;
  }
  fail("no form " + name);
}

void put(const std::string &bytes) {
  uint32_t size = static_cast<uint32_t>(bytes.size());
  std::cout.write(reinterpret_cast<const char *>(&size), sizeof(size));
  std::cout.write(bytes.data(), static_cast<std::streamsize>(size));
}

// Calls with each buffer of the standard input.
template <class F> void each(F f) {
  uint32_t size;
  while (std::cin.read(reinterpret_cast<char *>(&size), sizeof(size))) {
    std::vector<uint8_t> buffer(size);
    if (!std::cin.read(reinterpret_cast<char *>(buffer.data()), size)) {
      fail("the input ends within a buffer");
    }
    put(f(buffer.data(), buffer.size()));
  }
}

std::string text_of(const refhipdnn::flatbuffer::Bytes &bytes) {
  return std::string(bytes.begin(), bytes.end());
}

std::string through_refhipdnn(const std::string &form, const uint8_t *data, size_t size) {
  using namespace refhipdnn::wire;
  if (form == "graph") {
    return text_of(encode(decode_graph(data, size)));
  }
  if (form == "config") {
    return text_of(encode(decode_engine_config(data, size)));
  }
  if (form == "details") {
    return text_of(encode(decode_engine_details(data, size)));
  }
  fail("no form " + form);
}

void list(std::ostream &out, const char *name, const std::vector<int64_t> &values) {
  out << " " << name << "=[";
  for (size_t i = 0; i < values.size(); i++) {
    out << (i == 0 ? "" : " ") << values[i];
  }
  out << "]";
}

template <class T> void maybe(std::ostream &out, const char *name, const std::optional<T> &value) {
  if (value) {
    out << " " << name << "=" << *value;
  }
}

std::string describe(const refhipdnn::Graph &g) {
  std::ostringstream out;
  out << "graph name=" << g.name << " compute=" << int(g.compute)
      << " intermediate=" << int(g.intermediate) << " io=" << int(g.io)
      << " override=" << g.override_shapes;
  maybe(out, "preferred", g.preferred_engine);
  if (g.required) {
    out << " required=" << g.required->major << "." << g.required->minor << "."
        << g.required->patch;
  }
  out << "\n";
  for (const refhipdnn::Tensor &t : g.tensors) {
    out << "tensor uid=" << t.uid << " name=" << t.name << " type=" << int(t.type)
        << " virtual=" << t.is_virtual << " alignment=" << t.alignment;
    list(out, "dims", t.dims);
    list(out, "strides", t.strides);
    out << "\n";
  }
  for (const refhipdnn::Node &n : g.nodes) {
    out << "node name=" << n.name << " compute=" << int(n.compute);
    if (const auto *c = std::get_if<refhipdnn::Convolution>(&n.operation)) {
      out << " convolution=" << int(c->kind) << " image=" << c->image << " filter=" << c->filter
          << " output=" << c->output << " mode=" << int(c->mode);
      list(out, "pre", c->pre_padding);
      list(out, "post", c->post_padding);
      list(out, "stride", c->stride);
      list(out, "dilation", c->dilation);
    } else {
      const auto &p = std::get<refhipdnn::Pointwise>(n.operation);
      out << " pointwise=" << int(p.mode) << " in_0=" << p.in_0 << " out_0=" << p.out_0;
      maybe(out, "in_1", p.in_1);
      maybe(out, "in_2", p.in_2);
      maybe(out, "lower", p.relu_lower_clip);
      maybe(out, "upper", p.relu_upper_clip);
      maybe(out, "slope", p.relu_lower_clip_slope);
    }
    out << "\n";
  }
  return out.str();
}

Field &at(Schema &schema, voffset_t slot) {
  return *std::find_if(schema.fields.begin(), schema.fields.end(),
                       [&](const Field &f) { return f.slot == slot; });
}

int run(const std::vector<std::string> &arguments) {
  const size_t n = arguments.size();
  const std::string mode = n > 0 ? arguments[0] : "";
  if (mode == "full" && (n == 2 || n == 3)) {
    const std::string control = n == 3 ? arguments[2] : "";
    if (control == "slot") {
      at(tensor, 10).out = 12;
      at(tensor, 12).out = 10;
    }
    each([&](const uint8_t *data, size_t size) {
      Writer writer;
      writer.write_defaults = control == "default";
      writer.drop_optional = control == "optional";
      return writer.root(form(arguments[1]), Reader(data, size).root(form(arguments[1])));
    });
  } else if (mode == "refhipdnn" && n == 2) {
    each([&](const uint8_t *data, size_t size) {
      return through_refhipdnn(arguments[1], data, size);
    });
  } else if (mode == "describe" && n == 1) {
    each([&](const uint8_t *data, size_t size) {
      return describe(refhipdnn::wire::decode_graph(data, size));
    });
  } else if (mode == "draw" && n == 4) {
    Drawer drawer(std::stoull(arguments[2]));
    for (int i = std::stoi(arguments[3]); i > 0; i--) {
      Writer writer;
      put(writer.root(form(arguments[1]), drawer.table(form(arguments[1]))));
    }
  } else {
    fail("see the top of rewrite.cpp for what it takes");
  }
  return std::cout.flush() ? 0 : 1;
}

} // namespace

int main(int argc, char **argv) {
  try {
    return run(std::vector<std::string>(argv + 1, argv + argc));
  } catch (const std::exception &e) {
    fail(e.what());
  }
}
