// Vector clocks and the history of accesses.
#include "order.hpp"

#include <algorithm>

namespace simhip {

void VectorClock::add(std::uint64_t stream, std::uint64_t sequence) {
  auto at =
      std::lower_bound(known_.begin(), known_.end(), std::make_pair(stream, std::uint64_t{0}));
  if (at != known_.end() && at->first == stream) {
    at->second = std::max(at->second, sequence);
  } else {
    known_.insert(at, {stream, sequence});
  }
}

bool VectorClock::covers(std::uint64_t stream, std::uint64_t sequence) const {
  auto at =
      std::lower_bound(known_.begin(), known_.end(), std::make_pair(stream, std::uint64_t{0}));
  return at != known_.end() && at->first == stream && at->second >= sequence;
}

void VectorClock::join(const VectorClock &other) {
  // Mostly other has nothing new, so look before making anything.
  auto mine = known_.begin();
  bool more = false;
  for (const auto &[stream, sequence] : other.known_) {
    while (mine != known_.end() && mine->first < stream) {
      ++mine;
    }
    if (mine == known_.end() || mine->first != stream) {
      more = true;
      break;
    }
    mine->second = std::max(mine->second, sequence);
  }
  if (!more) {
    return;
  }
  std::vector<std::pair<std::uint64_t, std::uint64_t>> both;
  both.reserve(known_.size() + other.known_.size());
  auto a = known_.cbegin();
  auto b = other.known_.cbegin();
  while (a != known_.cend() || b != other.known_.cend()) {
    if (b == other.known_.cend() || (a != known_.cend() && a->first < b->first)) {
      both.push_back(*a++);
    } else if (a == known_.cend() || b->first < a->first) {
      both.push_back(*b++);
    } else {
      both.emplace_back(a->first, std::max(a->second, b->second));
      ++a;
      ++b;
    }
  }
  known_ = std::move(both);
}

void History::split(std::uintptr_t address) {
  auto next = segments_.upper_bound(address);
  if (next == segments_.begin()) {
    return;
  }
  auto at = std::prev(next);
  if (at->first == address || at->second.end <= address) {
    return;
  }
  Segment behind = at->second;
  at->second.end = address;
  segments_.emplace_hint(next, address, std::move(behind));
}

std::vector<std::string> History::touch(const Range &range, std::uint64_t stream,
                                        std::uint64_t sequence, const VectorClock &known,
                                        const std::shared_ptr<const std::string> &what) {
  std::uintptr_t begin = range.begin, end = range.begin + range.bytes;
  split(begin);
  split(end);
  std::vector<std::string> conflicts;
  bool writeSeen = false, readSeen = false;
  auto unordered = [&](const Mark &mark) {
    return mark.sequence != 0 && mark.stream != stream && !known.covers(mark.stream, mark.sequence);
  };
  Mark mine{stream, sequence, what};
  std::uintptr_t covered = begin;
  auto at = segments_.lower_bound(begin);
  auto fill = [&](std::uintptr_t until) { // bytes that nobody touched before
    if (covered < until && !range.writes) {
      segments_.emplace_hint(at, covered, Segment{until, Mark{}, {mine}});
    }
  };
  while (at != segments_.end() && at->first < end) {
    Segment &segment = at->second;
    if (unordered(segment.writer) && !writeSeen) {
      writeSeen = true;
      conflicts.push_back(*segment.writer.what + " writes");
    }
    if (range.writes) {
      for (const Mark &reader : segment.readers) {
        if (unordered(reader) && !readSeen) {
          readSeen = true;
          conflicts.push_back(*reader.what + " reads");
        }
      }
      at = segments_.erase(at);
      continue;
    }
    fill(at->first);
    covered = segment.end;
    auto same = std::find_if(segment.readers.begin(), segment.readers.end(),
                             [&](const Mark &reader) { return reader.stream == stream; });
    if (same != segment.readers.end()) {
      *same = mine;
    } else {
      segment.readers.push_back(mine);
    }
    ++at;
  }
  fill(end);
  if (range.writes) {
    segments_[begin] = Segment{end, mine, {}};
  }
  return conflicts;
}

void History::forget(std::uintptr_t begin, std::size_t bytes) {
  split(begin);
  split(begin + bytes);
  segments_.erase(segments_.lower_bound(begin), segments_.lower_bound(begin + bytes));
}

} // namespace simhip
