// When stages under way will have come to something: a heap in which each stage stands once and can
// be moved or taken out.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/base/units.hpp"

namespace orrery::sim {

/// The earliest first; equal instants go by `order`, which no two stages share.
class StageHeap {
 public:
  struct Entry {
    Instant at;
    std::uint64_t order = 0;
    std::uint32_t slot = 0;
  };

  bool empty() const { return heap_.empty(); }

  const Entry& top() const { return heap_.front(); }

  /// Puts the stage in, or moves it to another instant.
  void set(std::uint32_t slot, Instant at, std::uint64_t order) {
    if (slot >= place_.size()) place_.resize(slot + 1, kNowhere);
    if (place_[slot] == kNowhere) {
      place_[slot] = static_cast<std::uint32_t>(heap_.size());
      heap_.emplace_back();
    }
    settle(place_[slot], {at, order, slot});
  }

  /// Takes the stage out; nothing where it is not in.
  void remove(std::uint32_t slot) {
    if (slot >= place_.size() || place_[slot] == kNowhere) return;
    const std::uint32_t hole = place_[slot];
    place_[slot] = kNowhere;
    const Entry last = heap_.back();
    heap_.pop_back();
    if (hole < heap_.size()) settle(hole, last);
  }

  /// The instant of a stage that is in.
  Instant at(std::uint32_t slot) const { return heap_[place_[slot]].at; }

 private:
  static constexpr std::size_t kWays = 4;
  static constexpr std::uint32_t kNowhere = 0xffffffff;

  static bool before(const Entry& a, const Entry& b) {
    return a.at != b.at ? a.at < b.at : a.order < b.order;
  }

  void put(std::size_t place, const Entry& entry) {
    heap_[place] = entry;
    place_[entry.slot] = static_cast<std::uint32_t>(place);
  }

  // Lets `entry` rise or sink from the hole to its place.
  void settle(std::size_t hole, const Entry& entry) {
    while (hole > 0 && before(entry, heap_[(hole - 1) / kWays])) {
      put(hole, heap_[(hole - 1) / kWays]);
      hole = (hole - 1) / kWays;
    }
    while (true) {
      const std::size_t first = hole * kWays + 1;
      if (first >= heap_.size()) break;
      std::size_t least = first;
      for (std::size_t child = first + 1; child < std::min(first + kWays, heap_.size()); ++child)
        if (before(heap_[child], heap_[least])) least = child;
      if (!before(heap_[least], entry)) break;
      put(hole, heap_[least]);
      hole = least;
    }
    put(hole, entry);
  }

  std::vector<Entry> heap_;
  std::vector<std::uint32_t> place_;  // By slot.
};

}  // namespace orrery::sim
