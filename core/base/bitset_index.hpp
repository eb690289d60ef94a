// A set of dense integers that finds its next member fast.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/invariant.hpp"

namespace orrery {

/// A set of integers 0 .. size - 1, ordered, as a tree of 64-bit words: a bit of a word says
/// whether the word below it holds any member. Insertion, erasure and search take one step a level
/// (three for 131,072); the set takes size / 63 * 8 bytes. Copies are deep.
class BitsetIndex {
 public:
  /// Returned by the searches when there is no such member.
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

  BitsetIndex() : BitsetIndex(0) {}

  /// An empty set that may hold 0 .. size - 1.
  explicit BitsetIndex(std::size_t size) { resize(size); }

  /// Changes the range of members, keeping the present ones; never below the largest of them.
  void resize(std::size_t size) {
    BitsetIndex grown(Empty{}, size);
    for (std::size_t i = first(); i != kNone; i = next_from(i + 1)) grown.insert(i);
    *this = std::move(grown);
  }

  /// Members may be 0 .. size() - 1.
  std::size_t size() const { return size_; }

  /// How many members there are.
  std::size_t count() const { return count_; }

  bool empty() const { return count_ == 0; }

  /// False also beyond the range.
  bool contains(std::size_t i) const {
    return i < size_ && (levels_[0][i / 64] >> (i % 64) & 1) != 0;
  }

  /// True when `i` was not a member before.
  bool insert(std::size_t i) {
    invariant(i < size_, "a member of a BitsetIndex is below its size");
    if (contains(i)) return false;
    ++count_;
    for (auto& level : levels_) {
      const bool known_above = level[i / 64] != 0;
      level[i / 64] |= std::uint64_t{1} << (i % 64);
      if (known_above) break;
      i /= 64;
    }
    return true;
  }

  /// True when `i` was a member before.
  bool erase(std::size_t i) {
    if (!contains(i)) return false;
    --count_;
    for (auto& level : levels_) {
      level[i / 64] &= ~(std::uint64_t{1} << (i % 64));
      if (level[i / 64] != 0) break;
      i /= 64;
    }
    return true;
  }

  void clear() {
    for (auto& level : levels_) level.assign(level.size(), 0);
    count_ = 0;
  }

  /// Smallest member, or kNone.
  std::size_t first() const { return next_from(0); }

  /// Smallest member that is `i` or more, or kNone.
  std::size_t next_from(std::size_t i) const {
    if (i >= size_ || count_ == 0) return kNone;
    // Up, until a word holds a bit at or after the wanted place; then down along the lowest bits.
    for (std::size_t depth = 0; depth < levels_.size(); ++depth) {
      const auto& level = levels_[depth];
      if (i / 64 >= level.size()) return kNone;
      const std::uint64_t at_or_after = level[i / 64] >> (i % 64);
      if (at_or_after != 0) {
        i += static_cast<std::size_t>(std::countr_zero(at_or_after));
        while (depth-- > 0) {
          i = i * 64 + static_cast<std::size_t>(std::countr_zero(levels_[depth][i]));
        }
        return i;
      }
      i = i / 64 + 1;
    }
    return kNone;
  }

  friend bool operator==(const BitsetIndex&, const BitsetIndex&) = default;

 private:
  struct Empty {};

  BitsetIndex(Empty, std::size_t size) : size_(size) {
    do {
      size = (size + 63) / 64;
      levels_.emplace_back(size);
    } while (size > 1);
  }

  std::vector<std::vector<std::uint64_t>> levels_;  // From the members up to one word.
  std::size_t size_ = 0;
  std::size_t count_ = 0;
};

}  // namespace orrery
