// A set of dense integers that finds its next member fast.
#pragma once

#include <array>
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
  bool contains(std::size_t i) const { return i < size_ && (words_[i / 64] >> (i % 64) & 1) != 0; }

  /// True when `i` was not a member before.
  bool insert(std::size_t i) {
    invariant(i < size_, "a member of a BitsetIndex is below its size");
    if (contains(i)) return false;
    ++count_;
    for (std::size_t depth = 0; depth < depth_; ++depth) {
      std::uint64_t& word = words_[begin_[depth] + i / 64];
      const bool known_above = word != 0;
      word |= std::uint64_t{1} << (i % 64);
      if (known_above) break;
      i /= 64;
    }
    return true;
  }

  /// True when `i` was a member before.
  bool erase(std::size_t i) {
    if (!contains(i)) return false;
    --count_;
    for (std::size_t depth = 0; depth < depth_; ++depth) {
      std::uint64_t& word = words_[begin_[depth] + i / 64];
      word &= ~(std::uint64_t{1} << (i % 64));
      if (word != 0) break;
      i /= 64;
    }
    return true;
  }

  void clear() {
    words_.assign(words_.size(), 0);
    count_ = 0;
  }

  /// Smallest member, or kNone.
  std::size_t first() const { return next_from(0); }

  /// Smallest member that is `i` or more, or kNone.
  std::size_t next_from(std::size_t i) const {
    if (i >= size_ || count_ == 0) return kNone;
    // Up, until a word holds a bit at or after the wanted place; then down along the lowest bits.
    for (std::size_t depth = 0; depth < depth_; ++depth) {
      if (begin_[depth] + i / 64 >= begin_[depth + 1]) return kNone;
      const std::uint64_t at_or_after = words_[begin_[depth] + i / 64] >> (i % 64);
      if (at_or_after != 0) {
        i += static_cast<std::size_t>(std::countr_zero(at_or_after));
        while (depth-- > 0)
          i = i * 64 + static_cast<std::size_t>(std::countr_zero(words_[begin_[depth] + i]));
        return i;
      }
      i = i / 64 + 1;
    }
    return kNone;
  }

  friend bool operator==(const BitsetIndex&, const BitsetIndex&) = default;

 private:
  struct Empty {};

  static constexpr std::size_t kDepthMax = 6;  // 64 to that power is more than 32 bits say.

  BitsetIndex(Empty, std::size_t size) : size_(size) {
    invariant(size <= UINT32_MAX, "members of a BitsetIndex are 32-bit numbers");
    do {
      size = (size + 63) / 64;
      begin_[depth_ + 1] = begin_[depth_] + static_cast<std::uint32_t>(size);
      ++depth_;
    } while (size > 1);
    words_.resize(begin_[depth_]);
  }

  std::vector<std::uint64_t> words_;  // All levels, from the members up to one word.
  std::array<std::uint32_t, kDepthMax + 1> begin_{};  // [depth] -> its first word.
  std::size_t depth_ = 0;
  std::size_t size_ = 0;
  std::size_t count_ = 0;
};

}  // namespace orrery
