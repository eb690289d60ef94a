#include "core/job/wait_queue.hpp"

#include <algorithm>

namespace orrery {
namespace {

constexpr std::size_t kChunkMax = 256;

std::size_t place_of(const std::vector<WaitEntry>& entries, JobId job) {
  const auto found =
      std::lower_bound(entries.begin(), entries.end(), job, [](const WaitEntry& entry, JobId id) {
        return entry.job < id;
      });
  return static_cast<std::size_t>(found - entries.begin());
}

template <class Vector>
auto at(Vector& vector, std::size_t i) {
  return vector.begin() + static_cast<std::ptrdiff_t>(i);
}

}  // namespace

void WaitQueue::Chunk::count(WaitKind kind, std::int32_t more) {
  counts[kind] = static_cast<std::uint16_t>(counts[kind] + more);
  const WaitKinds bit = WaitKinds{1} << kind;
  present = counts[kind] > 0 ? present | bit : present & ~bit;
}

void WaitQueue::Chunk::insert(std::size_t place, const WaitEntry& entry, WaitKind kind) {
  entries.insert(at(entries, place), entry);
  kinds.insert(at(kinds, place), kind);
  count(kind, 1);
}

void WaitQueue::Chunk::erase(std::size_t place) {
  count(kinds[place], -1);
  entries.erase(at(entries, place));
  kinds.erase(at(kinds, place));
}

void WaitQueue::Chunk::move_to(Chunk& other, std::size_t place) {
  for (std::size_t i = place; i < kinds.size(); ++i) {
    count(kinds[i], -1);
    other.count(kinds[i], 1);
  }
  other.entries.insert(other.entries.end(), at(entries, place), entries.end());
  other.kinds.insert(other.kinds.end(), at(kinds, place), kinds.end());
  entries.resize(place);
  kinds.resize(place);
}

// The last chunk that begins at or before the job; the first one for a job before all.
std::size_t WaitQueue::chunk_of(const Lane& lane, JobId job) {
  const auto after = std::upper_bound(lane.firsts.begin(), lane.firsts.end(), job);
  return after == lane.firsts.begin() ? 0
                                      : static_cast<std::size_t>(after - lane.firsts.begin()) - 1;
}

void WaitQueue::insert(std::int32_t priority, const WaitEntry& entry, WaitKind kind) {
  Lane& lane = lanes_[priority];
  if (lane.chunks.empty()) {
    lane.chunks.emplace_back();
    lane.firsts.push_back(entry.job);
  }
  const std::size_t c = chunk_of(lane, entry.job);
  Chunk& chunk = lane.chunks[c];
  const std::size_t place = place_of(chunk.entries, entry.job);
  if (place < chunk.entries.size() && chunk.entries[place].job == entry.job) {
    chunk.count(chunk.kinds[place], -1);
    chunk.count(kind, 1);
    chunk.entries[place] = entry;
    chunk.kinds[place] = kind;
    return;
  }
  chunk.insert(place, entry, kind);
  lane.firsts[c] = chunk.entries.front().job;
  size_max_ = std::max(size_max_, ++size_);
  if (chunk.entries.size() > kChunkMax) split(lane, c);
}

// A chunk that overflows at the lane's end stays nearly full: queues grow at their end.
void WaitQueue::split(Lane& lane, std::size_t c) {
  const std::size_t keep = c + 1 == lane.chunks.size() ? kChunkMax : kChunkMax / 2;
  Chunk rest;
  rest.entries.reserve(kChunkMax + 1);
  rest.kinds.reserve(kChunkMax + 1);
  lane.chunks[c].move_to(rest, keep);
  lane.firsts.insert(at(lane.firsts, c + 1), rest.entries.front().job);
  lane.chunks.insert(at(lane.chunks, c + 1), std::move(rest));
}

bool WaitQueue::erase(std::int32_t priority, JobId job) {
  const auto found = lanes_.find(priority);
  if (found == lanes_.end()) return false;
  Lane& lane = found->second;
  const std::size_t c = chunk_of(lane, job);
  Chunk& chunk = lane.chunks[c];
  const std::size_t place = place_of(chunk.entries, job);
  if (place == chunk.entries.size() || chunk.entries[place].job != job) return false;
  chunk.erase(place);
  --size_;
  if (!chunk.entries.empty()) lane.firsts[c] = chunk.entries.front().job;
  if (chunk.entries.size() <= kChunkMax / 4) merge(lane, c);
  if (lane.chunks.empty()) lanes_.erase(found);
  return true;
}

// A chunk that is nearly empty gives its entries to the one before, where both together stay
// small; so the number of chunks follows the number of jobs.
void WaitQueue::merge(Lane& lane, std::size_t c) {
  Chunk& chunk = lane.chunks[c];
  if (!chunk.entries.empty()) {
    if (c == 0 || lane.chunks[c - 1].entries.size() + chunk.entries.size() > kChunkMax / 2) return;
    chunk.move_to(lane.chunks[c - 1], 0);
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
    for (std::size_t c = 0; c < end && before < count; ++c)
      before += lane->second.chunks[c].entries.size();
    if (!last) continue;
    for (const WaitEntry& entry : lane->second.chunks[end].entries) {
      if (before >= count || !(entry.job < job)) break;
      ++before;
    }
    break;
  }
  return before < count;
}

}  // namespace orrery
