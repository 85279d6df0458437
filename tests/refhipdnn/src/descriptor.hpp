#pragma once

// What all descriptors have in common, and the checks of attributes' types and counts.
//
// Which status a mistake gets follows projects/hipdnn/backend/src/descriptors, one file per
// descriptor (DescriptorAttributeUtils.cpp @ f5c37b54 has the common checks). In short: set after
// finalise and get before it are NOT_INITIALIZED; a wrong type or count is BAD_PARAM; a null array
// is BAD_PARAM_NULL_POINTER; a descriptor of another kind is BAD_PARAM, one that is not finalised
// BAD_PARAM_NOT_FINALIZED; an attribute that the descriptor does not have is NOT_SUPPORTED.

#include "refhipdnn/hipdnn_backend.h"

#include "graph.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace refhipdnn {

enum class Kind {
  Tensor,
  ConvolutionForward,
  ConvolutionBackwardData,
  ConvolutionBackwardWeights,
  Pointwise,
  Graph,
  Heuristics,
  Engine,
  EngineConfig,
  KnobChoice,
  KnobInfo,
  Plan,
  VariantPack,
};

// The name that the report, the log and REFHIPDNN_FAIL use.
const char *kind_name(Kind kind);

class Descriptor;

// A call of SetAttribute, with the checks in the order in which hipDNN makes them.
class Set {
public:
  Set(const Descriptor &on, hipdnnBackendAttributeName_t name, hipdnnBackendAttributeType_t type,
      int64_t count, const void *elements)
      : name(name), type(type), count(count), elements(elements), on_(on) {}

  template <class T> T scalar(hipdnnBackendAttributeType_t wanted) const {
    array(wanted);
    one();
    T value;
    std::memcpy(&value, elements, sizeof(T));
    return value;
  }
  template <class T> std::vector<T> vector(hipdnnBackendAttributeType_t wanted) const {
    array(wanted);
    if (count <= 0) {
      fail(HIPDNN_STATUS_BAD_PARAM, "wants at least one element, got " + std::to_string(count));
    }
    std::vector<T> out(static_cast<size_t>(count));
    std::memcpy(out.data(), elements, out.size() * sizeof(T));
    return out;
  }
  DataType data_type() const;
  std::string string(size_t least = 0) const;

  // A descriptor of the kind, finalised. null is the status for a null pointer in the array.
  template <class D> std::shared_ptr<D> descriptor(Kind kind, hipdnnStatus_t null) const {
    return std::static_pointer_cast<D>(unpack(0, kind, null));
  }
  std::shared_ptr<Descriptor> unpack(int64_t index, Kind kind, hipdnnStatus_t null) const;

  void array(hipdnnBackendAttributeType_t wanted) const;
  void is(hipdnnBackendAttributeType_t wanted) const;
  void one() const;
  [[noreturn]] void unsupported() const;
  [[noreturn]] void fail(hipdnnStatus_t status, const std::string &why) const;

  const hipdnnBackendAttributeName_t name;
  const hipdnnBackendAttributeType_t type;
  const int64_t count;
  const void *const elements;

private:
  const Descriptor &on_;
};

// A call of GetAttribute.
class Get {
public:
  Get(const Descriptor &on, hipdnnBackendAttributeName_t name, hipdnnBackendAttributeType_t type,
      int64_t requested, int64_t *count, void *elements)
      : name(name), type(type), requested(requested), count(count), elements(elements), on_(on) {}

  // Asked for no elements, says how many there are; else copies what fits and says how many.
  template <class T>
  void vector(hipdnnBackendAttributeType_t wanted, const std::vector<T> &values) const {
    is(wanted);
    if (asks_count(static_cast<int64_t>(values.size()))) {
      return;
    }
    int64_t n = std::min<int64_t>(requested, static_cast<int64_t>(values.size()));
    std::memcpy(elements, values.data(), static_cast<size_t>(n) * sizeof(T));
    say(n);
  }
  template <class T> void scalar(hipdnnBackendAttributeType_t wanted, T value) const {
    is(wanted);
    if (asks_count(1)) {
      return;
    }
    std::memcpy(elements, &value, sizeof(T));
    say(1);
  }
  template <class T>
  void optional(hipdnnBackendAttributeType_t wanted, const std::optional<T> &value) const {
    if (value) {
      return scalar(wanted, *value);
    }
    is(wanted);
    say(0);
  }
  // The stricter form of engines and plans: exactly one element, no asking for the count.
  template <class T> void exactly(hipdnnBackendAttributeType_t wanted, T value) const {
    is(wanted);
    if (requested != 1) {
      fail(HIPDNN_STATUS_BAD_PARAM, "wants exactly one element requested");
    }
    pointer();
    std::memcpy(elements, &value, sizeof(T));
    say(1);
  }
  void data_type(DataType type) const;
  void string(const std::string &value) const;
  // Hands out new descriptors, which the caller destroys.
  void descriptor(const std::shared_ptr<Descriptor> &value) const;
  void exact_descriptor(const std::shared_ptr<Descriptor> &value) const;
  void hand_out(int64_t index, const std::shared_ptr<Descriptor> &value) const;

  void is(hipdnnBackendAttributeType_t wanted) const;
  bool asks_count(int64_t available) const;
  void pointer() const;
  void say(int64_t n) const;
  [[noreturn]] void unsupported() const;
  [[noreturn]] void fail(hipdnnStatus_t status, const std::string &why) const;

  const hipdnnBackendAttributeName_t name;
  const hipdnnBackendAttributeType_t type;
  const int64_t requested;
  int64_t *const count;
  void *const elements;

private:
  const Descriptor &on_;
};

class Descriptor {
public:
  explicit Descriptor(Kind kind) : kind(kind) {}
  Descriptor(const Descriptor &) = delete;
  Descriptor &operator=(const Descriptor &) = delete;
  virtual ~Descriptor() = default;

  void finalize();
  void set(const Set &call);
  void get(const Get &call) const;
  bool finalized() const {
    return finalized_;
  }

  const Kind kind;

protected:
  // Some descriptors may be finalised again, some may not.
  virtual bool once() const {
    return true;
  }
  // A graph's attributes, for example, can be read at any time.
  virtual bool readable() const {
    return finalized_;
  }
  // What reading too early is called.
  virtual hipdnnStatus_t unreadable() const {
    return HIPDNN_STATUS_NOT_INITIALIZED;
  }
  // For what comes complete from elsewhere.
  void mark_finalized() {
    finalized_ = true;
  }
  virtual void do_finalize() = 0;
  virtual void do_set(const Set &call) = 0;
  virtual void do_get(const Get &call) const = 0;

  [[noreturn]] void bad(const std::string &why,
                        hipdnnStatus_t status = HIPDNN_STATUS_BAD_PARAM) const;
  void want(bool there, const char *what) const {
    if (!there) {
      bad(std::string(what) + " not set");
    }
  }

private:
  bool finalized_ = false;
};

// What the number means in the numbering of the version that is played; nothing where it has none.
std::optional<Kind> descriptor_kind(int number);
std::shared_ptr<Descriptor> make_descriptor(Kind kind); // empty

// The client's side: an object for a descriptor, and the way back. find throws Failure for null and
// for anything that is not alive, which is reported as misuse.
hipdnnBackendDescriptor_t hand_out(std::shared_ptr<Descriptor> descriptor);
std::shared_ptr<Descriptor> find(hipdnnBackendDescriptor_t object);
std::shared_ptr<Descriptor> find_alive(hipdnnBackendDescriptor_t object); // null where find throws
void destroy(hipdnnBackendDescriptor_t object);

} // namespace refhipdnn
