#include "core/job/wait_queue.hpp"

#include <algorithm>

namespace orrery {
namespace {

constexpr std::size_t kChunkMax = 256;

auto position_of(std::vector<WaitEntry>& entries, JobId job) {
  return std::lower_bound(
      entries.begin(), entries.end(), job, [](const WaitEntry& entry, JobId id) {
        return entry.job < id;
      });
}

template <class Vector>
auto at(Vector& vector, std::size_t i) {
  return vector.begin() + static_cast<std::ptrdiff_t>(i);
}

}  // namespace

// The last chunk that begins at or before the job; the first one for a job before all.
std::size_t WaitQueue::chunk_of(const Lane& lane, JobId job) {
  const auto after = std::upper_bound(lane.firsts.begin(), lane.firsts.end(), job);
  return after == lane.firsts.begin() ? 0
                                      : static_cast<std::size_t>(after - lane.firsts.begin()) - 1;
}

void WaitQueue::insert(std::int32_t priority, const WaitEntry& entry) {
  Lane& lane = lanes_[priority];
  if (lane.chunks.empty()) {
    lane.chunks.emplace_back();
    lane.firsts.push_back(entry.job);
  }
  const std::size_t c = chunk_of(lane, entry.job);
  std::vector<WaitEntry>& chunk = lane.chunks[c];
  const auto place = position_of(chunk, entry.job);
  if (place != chunk.end() && place->job == entry.job) {
    *place = entry;
    return;
  }
  chunk.insert(place, entry);
  lane.firsts[c] = chunk.front().job;
  size_max_ = std::max(size_max_, ++size_);
  if (chunk.size() > kChunkMax) split(lane, c);
}

// A chunk that overflows at the lane's end stays nearly full: queues grow at their end.
void WaitQueue::split(Lane& lane, std::size_t c) {
  std::vector<WaitEntry>& chunk = lane.chunks[c];
  const std::size_t keep = c + 1 == lane.chunks.size() ? kChunkMax : kChunkMax / 2;
  std::vector<WaitEntry> rest;
  rest.reserve(kChunkMax + 1);
  rest.assign(at(chunk, keep), chunk.end());
  chunk.resize(keep);
  lane.firsts.insert(at(lane.firsts, c + 1), rest.front().job);
  lane.chunks.insert(at(lane.chunks, c + 1), std::move(rest));
}

bool WaitQueue::erase(std::int32_t priority, JobId job) {
  const auto found = lanes_.find(priority);
  if (found == lanes_.end()) return false;
  Lane& lane = found->second;
  const std::size_t c = chunk_of(lane, job);
  std::vector<WaitEntry>& chunk = lane.chunks[c];
  const auto place = position_of(chunk, job);
  if (place == chunk.end() || place->job != job) return false;
  chunk.erase(place);
  --size_;
  if (!chunk.empty()) lane.firsts[c] = chunk.front().job;
  if (chunk.size() <= kChunkMax / 4) merge(lane, c);
  if (lane.chunks.empty()) lanes_.erase(found);
  return true;
}

// A chunk that is nearly empty gives its entries to the one before, where both together stay
// small; so the number of chunks follows the number of jobs.
void WaitQueue::merge(Lane& lane, std::size_t c) {
  std::vector<WaitEntry>& chunk = lane.chunks[c];
  if (!chunk.empty()) {
    if (c == 0 || lane.chunks[c - 1].size() + chunk.size() > kChunkMax / 2) return;
    lane.chunks[c - 1].insert(lane.chunks[c - 1].end(), chunk.begin(), chunk.end());
  }
  lane.chunks.erase(at(lane.chunks, c));
  lane.firsts.erase(at(lane.firsts, c));
}

bool WaitQueue::among_first(std::size_t count, std::int32_t priority, JobId job) const {
  if (size_ <= count) return true;
  std::size_t before = 0;
  for (auto lane = lanes_.rbegin(); lane != lanes_.rend() && before < count; ++lane) {
    const bool last = lane->first <= priority;
    const std::size_t end = last ? chunk_of(lane->second, job) : lane->second.chunks.size();
    for (std::size_t c = 0; c < end && before < count; ++c) before += lane->second.chunks[c].size();
    if (!last) continue;
    for (const WaitEntry& entry : lane->second.chunks[end]) {
      if (before >= count || !(entry.job < job)) break;
      ++before;
    }
    break;
  }
  return before < count;
}

}  // namespace orrery
