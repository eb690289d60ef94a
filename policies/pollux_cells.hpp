// The cells of a search's allocations, read eight nodes at a time: a byte each, the first lowest.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/bytes.hpp"

namespace orrery::policies {

inline constexpr std::size_t kWord = 8;
inline constexpr std::uint64_t kEvenBytes = 0x00ff00ff00ff00ff;
inline constexpr std::uint64_t kSevenBits = 0x7f7f7f7f7f7f7f7f;

inline std::uint64_t word_at(const std::uint8_t* bytes) {
  return load_little_endian<std::uint64_t>(bytes);
}

inline std::int32_t sum_of_bytes(std::uint64_t word) {
  const std::uint64_t pairs = (word & kEvenBytes) + ((word >> 8) & kEvenBytes);
  return static_cast<std::int32_t>((pairs * 0x0001000100010001) >> 48);
}

/// The highest bit of every byte that is not zero.
inline std::uint64_t nonzero_marks(std::uint64_t word) {
  return (((word & kSevenBits) + kSevenBits) | word) & ~kSevenBits;
}

inline std::int32_t nonzero_bytes(std::uint64_t word) {
  return static_cast<std::int32_t>(((nonzero_marks(word) >> 7) * 0x0101010101010101) >> 56);
}

/// Devices in use on every node, two bytes each.
class NodeUse {
 public:
  void clear(std::size_t words) { lanes_.assign(2 * words, 0); }

  /// `replicas` of eight nodes from `8 word` on, of so many devices each.
  void add(std::size_t word, std::uint64_t replicas, std::uint64_t devices_each) {
    lanes_[2 * word] += (replicas & kEvenBytes) * devices_each;
    lanes_[2 * word + 1] += ((replicas >> 8) & kEvenBytes) * devices_each;
  }

  std::int32_t at(std::size_t node) const {
    const std::uint64_t lanes = lanes_[2 * (node / kWord) + node % 2];
    return static_cast<std::int32_t>((lanes >> (node % kWord / 2 * 16)) & 0xffff);
  }

 private:
  std::vector<std::uint64_t> lanes_;
};

/// The rows that have replicas on each node, in order.
class NodeRows {
 public:
  NodeRows(std::size_t nodes, std::size_t rows) : rows_(rows), counts_(nodes), all_(nodes * rows) {}

  void clear() { std::fill(counts_.begin(), counts_.end(), 0u); }

  /// `replicas` of a row on eight nodes from `8 word` on.
  void add(std::size_t word, std::uint64_t replicas, std::size_t row) {
    for (std::uint64_t marks = nonzero_marks(replicas); marks != 0; marks &= marks - 1) {
      const std::size_t node = word * kWord + static_cast<std::size_t>(std::countr_zero(marks)) / 8;
      all_[node * rows_ + counts_[node]++] = static_cast<std::uint32_t>(row);
    }
  }

  std::span<const std::uint32_t> at(std::size_t node) const {
    return std::span(all_).subspan(node * rows_, counts_[node]);
  }

 private:
  std::size_t rows_;
  std::vector<std::uint32_t> counts_;  ///< [node]
  std::vector<std::uint32_t> all_;     ///< Of each node room for every row.
};

}  // namespace orrery::policies
