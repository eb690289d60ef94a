// The digests of the states that were seen.
#pragma once

#include <cstddef>
#include <vector>

#include "core/base/digest.hpp"

namespace orrery::sim {

/// A set of digests in one table, 32 to 64 bytes each.
class SeenStates {
 public:
  SeenStates() : table_(kFirst) {}

  std::size_t size() const { return size_; }

  /// Whether it was not there before.
  bool add(const Digest& digest) {
    if (size_ * 2 >= table_.size()) grow();
    Digest& place = place_of(digest);
    if (place == digest) return false;
    place = digest;
    ++size_;
    return true;
  }

 private:
  static constexpr std::size_t kFirst = std::size_t{1} << 16;

  // The default digest marks an empty place: that of no state is equal to it.
  Digest& place_of(const Digest& digest) {
    std::size_t at = digest.low & (table_.size() - 1);
    while (table_[at] != Digest{} && table_[at] != digest) at = (at + 1) & (table_.size() - 1);
    return table_[at];
  }

  void grow() {
    std::vector<Digest> old(table_.size() * 2);
    old.swap(table_);
    for (const Digest& digest : old)
      if (digest != Digest{}) place_of(digest) = digest;
  }

  std::vector<Digest> table_;
  std::size_t size_ = 0;
};

}  // namespace orrery::sim
