#include "core/plan/wait_queue.hpp"

#include <algorithm>

namespace orrery {
namespace {

auto position_of(std::vector<WaitEntry>& entries, JobId job) {
  return std::lower_bound(
      entries.begin(), entries.end(), job, [](const WaitEntry& entry, JobId id) {
        return entry.job < id;
      });
}

}  // namespace

void WaitQueue::insert(std::int32_t priority, const WaitEntry& entry) {
  Lane& lane = lanes_[priority];
  const auto at = lane.entries.empty() || lane.entries.back().job < entry.job
                      ? lane.entries.end()
                      : position_of(lane.entries, entry.job);
  const auto index = static_cast<std::size_t>(at - lane.entries.begin());
  if (at != lane.entries.end() && at->job == entry.job) {
    if (!at->is_gap()) {
      *at = entry;
      return;
    }
    *at = entry;
  } else {
    lane.entries.insert(at, entry);
  }
  lane.begin = lane.live == 0 ? index : std::min(lane.begin, index);
  ++lane.live;
  size_max_ = std::max(size_max_, ++size_);
}

bool WaitQueue::erase(std::int32_t priority, JobId job) {
  const auto found = lanes_.find(priority);
  if (found == lanes_.end()) return false;
  Lane& lane = found->second;
  const auto at = position_of(lane.entries, job);
  if (at == lane.entries.end() || at->job != job || at->is_gap()) return false;
  at->devices = -1;
  --size_;
  if (--lane.live == 0) {
    lane.entries.clear();
    lane.begin = 0;
    return true;
  }
  while (lane.entries[lane.begin].is_gap()) ++lane.begin;
  // Amortised: each close pays for itself by the gaps it drops.
  if (lane.entries.size() > 2 * lane.live + 64) close_gaps(lane);
  return true;
}

void WaitQueue::close_gaps(Lane& lane) {
  std::erase_if(lane.entries, [](const WaitEntry& entry) { return entry.is_gap(); });
  lane.begin = 0;
}

JobId WaitQueue::front() const {
  JobId first;
  for_each([&](const WaitEntry& entry) {
    first = entry.job;
    return false;
  });
  return first;
}

}  // namespace orrery
