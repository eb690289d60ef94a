// The waiting jobs in the order that every policy starts from: priority first, then age.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "core/base/ids.hpp"
#include "core/base/units.hpp"

namespace orrery {

/// One waiting job with what a backfilling scan reads, so that the scan stays in few cache lines.
struct WaitEntry {
  JobId job;
  std::int32_t devices = 0;  ///< Free devices without which it cannot start (JobRow::gang_room).
  Duration estimate;         ///< Stated run time; zero where none.
};

/// Jobs that wait and may be granted, ordered by (priority descending, JobId ascending).
/// A job that comes back takes its old place. Insertion and removal cost O(log jobs) and the move
/// of a few hundred entries at most; a scan reads dense memory, without gaps.
class WaitQueue {
 public:
  /// Adds a job, or replaces the entry that waits with this priority under the same id.
  void insert(std::int32_t priority, const WaitEntry& entry);

  /// Removes a job that waits with this priority; false if it does not.
  bool erase(std::int32_t priority, JobId job);

  std::size_t size() const { return size_; }

  bool empty() const { return size_ == 0; }

  /// The longest that the queue ever was.
  std::size_t size_max() const { return size_max_; }

  /// Calls `visit(const WaitEntry&)` in queue order until it returns false.
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (auto lane = lanes_.rbegin(); lane != lanes_.rend(); ++lane)
      for (const auto& chunk : lane->second.chunks)
        for (const WaitEntry& entry : chunk)
          if (!visit(entry)) return;
  }

  /// Whether the job, which waits with this priority, is among the first `count` in order.
  bool among_first(std::size_t count, std::int32_t priority, JobId job) const;

  /// The first in order; none where the queue is empty.
  JobId front() const {
    return lanes_.empty() ? JobId::none() : lanes_.rbegin()->second.firsts.front();
  }

 private:
  /// The waiting jobs of one priority by id, in chunks so that none is long to move. A lane that
  /// runs empty is dropped, and so is an empty chunk.
  struct Lane {
    std::vector<JobId> firsts;  ///< [chunk] -> id of its first entry: searched without a detour.
    std::vector<std::vector<WaitEntry>> chunks;
  };

  static std::size_t chunk_of(const Lane& lane, JobId job);
  static void split(Lane& lane, std::size_t chunk);
  static void merge(Lane& lane, std::size_t chunk);

  std::map<std::int32_t, Lane> lanes_;  ///< By priority; few.
  std::size_t size_ = 0;
  std::size_t size_max_ = 0;
};

}  // namespace orrery
