// Expected ends in order of time, in chunks that are short to move.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <vector>

#include "core/base/ids.hpp"
#include "core/base/units.hpp"

namespace orrery::policies {

/// When a job is expected to end; by time, then by id. `slot` is the owner's and decides nothing.
struct EndKey {
  Instant at;
  JobId job;
  std::uint32_t slot = 0;

  friend bool operator<(const EndKey& a, const EndKey& b) {
    return a.at != b.at ? a.at < b.at : a.job < b.job;
  }
};

/// A sorted list of keys, all different. A change costs O(log keys) and the move of a few hundred
/// keys at most, and invalidates places.
class EndOrder {
 public:
  /// A place in the list, or its end.
  struct Place {
    std::size_t chunk = 0;
    std::size_t index = 0;

    friend bool operator==(Place, Place) = default;
  };

  void clear() {
    firsts_.clear();
    chunks_.clear();
  }

  void insert(const EndKey& key) {
    if (chunks_.empty()) {
      chunks_.push_back({key});
      firsts_.push_back(key);
      return;
    }
    const std::size_t c = chunk_of(key);
    std::vector<EndKey>& chunk = chunks_[c];
    chunk.insert(std::lower_bound(chunk.begin(), chunk.end(), key), key);
    firsts_[c] = chunk.front();
    if (chunk.size() > kChunkMax) split(c);
  }

  /// The key must be in the list.
  void erase(const EndKey& key) {
    const std::size_t c = chunk_of(key);
    std::vector<EndKey>& chunk = chunks_[c];
    chunk.erase(std::lower_bound(chunk.begin(), chunk.end(), key));
    if (chunk.empty()) {
      chunks_.erase(chunks_.begin() + static_cast<std::ptrdiff_t>(c));
      firsts_.erase(firsts_.begin() + static_cast<std::ptrdiff_t>(c));
    } else {
      firsts_[c] = chunk.front();
    }
  }

  Place begin() const { return {0, 0}; }

  Place end() const { return {chunks_.size(), 0}; }

  const EndKey& at(Place place) const { return chunks_[place.chunk][place.index]; }

  Place next(Place place) const {
    if (++place.index < chunks_[place.chunk].size()) return place;
    return {place.chunk + 1, 0};
  }

  /// Not of the begin.
  Place previous(Place place) const {
    if (place.index > 0) return {place.chunk, place.index - 1};
    return {place.chunk - 1, chunks_[place.chunk - 1].size() - 1};
  }

  /// The first place whose key is greater.
  Place after(const EndKey& key) const {
    if (chunks_.empty()) return end();
    const std::size_t c = chunk_of(key);
    const std::vector<EndKey>& chunk = chunks_[c];
    const auto found = std::upper_bound(chunk.begin(), chunk.end(), key);
    if (found == chunk.end()) return {c + 1, 0};
    return {c, static_cast<std::size_t>(found - chunk.begin())};
  }

 private:
  static constexpr std::size_t kChunkMax = 256;

  // The last chunk that does not begin after the key; the first where all do.
  std::size_t chunk_of(const EndKey& key) const {
    const auto found = std::upper_bound(firsts_.begin(), firsts_.end(), key);
    return found == firsts_.begin() ? 0 : static_cast<std::size_t>(found - firsts_.begin()) - 1;
  }

  void split(std::size_t c) {
    const auto middle = static_cast<std::ptrdiff_t>(kChunkMax / 2);
    std::vector<EndKey> upper(chunks_[c].begin() + middle, chunks_[c].end());
    chunks_[c].resize(kChunkMax / 2);
    const auto at = static_cast<std::ptrdiff_t>(c) + 1;
    firsts_.insert(firsts_.begin() + at, upper.front());
    chunks_.insert(chunks_.begin() + at, std::move(upper));
  }

  std::vector<EndKey> firsts_;  ///< [chunk] -> its first key: searched without a detour.
  std::vector<std::vector<EndKey>> chunks_;  ///< None is empty.
};

}  // namespace orrery::policies
