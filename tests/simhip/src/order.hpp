// Who is ordered before whom, and the check that every two operations that touch the same bytes
// are.
//
// An operation is a stream's number and its place in the stream. A vector clock tells for each
// stream which of its operations are known to be before. Streams have one; the host has one for all
// its threads together, since how threads order themselves is not seen here: some missing
// synchronisation is not found for that, and none is invented. Everything in here is guarded by
// Runtime::mutex.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace simhip {

struct Operation;

class VectorClock {
public:
  // Both are about the operations up to sequence of that stream.
  void add(std::uint64_t stream, std::uint64_t sequence);
  bool covers(std::uint64_t stream, std::uint64_t sequence) const;

  void join(const VectorClock &other);

private:
  std::vector<std::pair<std::uint64_t, std::uint64_t>> known_; // sorted by stream
};

// Bytes that an operation touches.
struct Range {
  std::uintptr_t begin = 0;
  std::size_t bytes = 0;
  bool writes = false;
  std::string role; // for messages: source, destination, or an argument's name
};

// Who touched which byte last: for each byte, the last writer and the readers since.
class History {
public:
  // Notes that the operation touches range, and returns the texts of the operations before that are
  // not ordered before it, at most one for each kind of conflict. known is what is ordered before
  // it.
  std::vector<std::string> touch(const Range &range, std::uint64_t stream, std::uint64_t sequence,
                                 const VectorClock &known,
                                 const std::shared_ptr<const std::string> &what);
  // The bytes do not belong to anything any more.
  void forget(std::uintptr_t begin, std::size_t bytes);

private:
  struct Mark {
    std::uint64_t stream = 0, sequence = 0; // sequence zero: nobody
    std::shared_ptr<const std::string> what;
  };
  struct Segment {
    std::uintptr_t end = 0;
    Mark writer;
    std::vector<Mark> readers;
  };
  using Segments = std::map<std::uintptr_t, Segment>;

  // Makes address a border between segments, if it is inside of one.
  void split(std::uintptr_t address);

  Segments segments_; // by begin, without overlap
};

} // namespace simhip
