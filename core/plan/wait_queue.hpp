// The waiting jobs in the order that every policy starts from: priority first, then age.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "core/base/ids.hpp"
#include "core/base/units.hpp"

namespace orrery {

/// One waiting job with what a backfilling scan reads, so that the scan stays in few cache lines.
struct WaitEntry {
  JobId job;
  std::int32_t devices = 0;  ///< Devices of the whole gang at its minimum; -1: a gap, job started.
  Duration estimate;         ///< Stated run time; zero where none.

  bool is_gap() const { return devices < 0; }
};

/// Jobs that wait and may be granted, ordered by (priority descending, JobId ascending).
/// Insertion at the end and removal are cheap; a job that comes back takes its old place.
class WaitQueue {
 public:
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
      for (std::size_t i = lane->second.begin; i < lane->second.entries.size(); ++i) {
        const WaitEntry& entry = lane->second.entries[i];
        if (!entry.is_gap() && !visit(entry)) return;
      }
  }

  /// The first in order; none where the queue is empty.
  JobId front() const;

 private:
  /// The waiting jobs of one priority.
  struct Lane {
    std::vector<WaitEntry> entries;  ///< Sorted by job, gaps included.
    std::size_t begin = 0;           ///< First position that is no gap.
    std::size_t live = 0;            ///< Entries that are no gap.
  };

  static void close_gaps(Lane& lane);

  std::map<std::int32_t, Lane> lanes_;  ///< By priority; few.
  std::size_t size_ = 0;
  std::size_t size_max_ = 0;
};

}  // namespace orrery
