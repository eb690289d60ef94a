// Which ranks have been heard of, in a pass over samples of many.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "core/base/ids.hpp"

namespace orrery {

/// Numbers ranks in the order in which they are first heard of, each in constant time. A series
/// keeps a sample of each worker at least, so that as many ranks as samples have a place; others,
/// which a report may name as well, are looked up.
class HeardRanks {
 public:
  explicit HeardRanks(std::size_t samples) : numbers_(samples, kUnheard) {}

  /// The number of the rank, from 0; equal to what `size` was where it is heard of first.
  std::uint32_t hear(Rank rank) {
    std::uint32_t& number = rank.index() < numbers_.size()
                                ? numbers_[rank.index()]
                                : others_.try_emplace(rank, kUnheard).first->second;
    if (number == kUnheard) number = size_++;
    return number;
  }

  std::uint32_t size() const { return size_; }

 private:
  static constexpr std::uint32_t kUnheard = UINT32_MAX;

  std::vector<std::uint32_t> numbers_;  ///< By rank.
  std::map<Rank, std::uint32_t> others_;
  std::uint32_t size_ = 0;
};

}  // namespace orrery
