// The simulated cluster's future: what happens when, in one order for equal instants.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/huge_pages.hpp"
#include "core/base/ids.hpp"
#include "core/base/prefetch.hpp"
#include "core/base/units.hpp"

namespace orrery::sim {

/// What an entry of the heap stands for; equal instants go by this order, then by insertion.
enum class FutureKind : std::uint8_t {
  Tick,         ///< Timing `pollux`: all jobs advance.
  Complete,     ///< A job's work is done.
  Resume,       ///< A pause of a job that works in stages is over, or a phase of its work.
  Checkpoint,   ///< Such a job writes its next checkpoint, or one of another job is to be told.
  Script,       ///< A worker's own story ends it.
  Fault,        ///< A fault of the scenario.
  Departure,    ///< A node goes down as it had announced.
  HangOver,     ///< A worker that hung goes on.
  SlowOver,     ///< A worker that was slow is as fast as the others.
  NodeQuick,    ///< The same of a whole node.
  LinkWhole,    ///< A node's link has all its bandwidth again.
  Suspect,      ///< A worker has hung for so long that it is noticed.
  NodeDown,     ///< A node fails at random.
  NodeUp,       ///< A node comes back.
  DevicesBack,  ///< Lost devices of a node work again.
  LetIn,        ///< An excluded node may be used again.
  Relaunched,   ///< The extension that replaces nodes answers.
  Stopped,      ///< Workers that were told to stop are gone.
  Ready,        ///< Started workers are up.
  Hello,        ///< A worker's program says hello to its agent.
  Request,      ///< A user's request.
  Profiling,    ///< A worker reports measurements.
  Arrival,      ///< The next submission.
  LinkSample,   ///< Who watches the links looks at them.
};

/// Whether the subject of such an entry is a job.
constexpr bool is_of_job(FutureKind kind) {
  switch (kind) {
    case FutureKind::Complete:
    case FutureKind::Resume:
    case FutureKind::Checkpoint:
    case FutureKind::Script:
    case FutureKind::HangOver:
    case FutureKind::SlowOver:
    case FutureKind::Suspect:
    case FutureKind::Hello:
    case FutureKind::Stopped:
    case FutureKind::Ready:
      return true;
    default:
      return false;
  }
}

/// One entry. `stamp` tells whether it is still meant when it comes up.
struct Future {
  Instant at;
  std::uint64_t order = 0;
  FutureKind kind = FutureKind::Arrival;
  std::uint32_t subject = 0;  ///< Job, node or list index, by kind.
  std::uint32_t stamp = 0;
  std::uint32_t detail = 0;
};

/// A heap of futures, the earliest first.
class EventHeap {
 public:
  bool empty() const { return size_ == 0; }

  /// When the first one happens; never where there is none.
  Instant next() const { return empty() ? Instant::never() : at(0).at; }

  /// The job that the first one is about; none where there is none, or it is about something else.
  JobId next_job() const { return empty() ? JobId::none() : at(0).job; }

  /// Calls `visit` with the jobs of the few of which one comes after the first.
  template <class Visit>
  void for_each_job_behind(Visit visit) const {
    for (std::size_t i = 1; i < std::min(size_, kWays + 1); ++i)
      if (const JobId job = at(i).job; !job.is_none()) visit(job);
  }

  /// What happens never is not kept.
  void push(Instant at,
            FutureKind kind,
            std::uint32_t subject,
            std::uint32_t stamp = 0,
            std::uint32_t detail = 0) {
    if (at.is_never()) return;
    const Key fresh{at,
                    put({pushed_++, kind, subject, stamp, detail}),
                    is_of_job(kind) ? JobId{subject} : JobId::none()};
    if (size_ / kWays + 2 > lines_.size()) lines_.emplace_back();
    std::size_t hole = size_++;
    while (hole > 0 && before(fresh, this->at((hole - 1) / kWays))) {
      this->at(hole) = this->at((hole - 1) / kWays);
      hole = (hole - 1) / kWays;
    }
    this->at(hole) = fresh;
  }

  Future pop() {
    const Key first = at(0);
    const Entry& entry = entries_[first.entry];
    const Future top{first.at, entry.order, entry.kind, entry.subject, entry.stamp, entry.detail};
    free_.push_back(first.entry);
    const Key last = at(--size_);
    if (size_ == 0) return top;
    sink(last);
    prefetch(&entries_[at(0).entry]);
    return top;
  }

 private:
  // Four children share a cache line: half the levels of a binary heap, and one line a level.
  static constexpr std::size_t kWays = 4;

  // What nearly always decides which of two comes first; the rest of a future is looked at when
  // it comes up, and where two are of one instant.
  struct Key {
    Instant at;
    std::uint32_t entry = 0;
    JobId job;  ///< See `next_job`.
  };

  struct alignas(64) Line {
    std::array<Key, kWays> keys;
  };

  struct Entry {
    std::uint64_t order = 0;
    FutureKind kind = FutureKind::Arrival;
    std::uint32_t subject = 0;
    std::uint32_t stamp = 0;
    std::uint32_t detail = 0;
  };

  // The root is the last of the first line, so that the children of `index` are line `index + 1`.
  Key& at(std::size_t index) { return lines_[(index + 3) / kWays].keys[(index + 3) % kWays]; }

  const Key& at(std::size_t index) const {
    return lines_[(index + 3) / kWays].keys[(index + 3) % kWays];
  }

  std::uint32_t put(const Entry& entry) {
    if (free_.empty()) {
      entries_.push_back(entry);
      return static_cast<std::uint32_t>(entries_.size() - 1);
    }
    const std::uint32_t place = free_.back();
    free_.pop_back();
    entries_[place] = entry;
    return place;
  }

  bool before(const Key& a, const Key& b) const {
    if (a.at != b.at) [[likely]]
      return a.at < b.at;
    const Entry& x = entries_[a.entry];
    const Entry& y = entries_[b.entry];
    return x.kind != y.kind ? x.kind < y.kind : x.order < y.order;
  }

  // Puts `moved` into the hole at the top and lets it sink to its place.
  void sink(const Key& moved) {
    std::size_t hole = 0;
    while (hole * kWays + 1 < size_) {
      const std::array<Key, kWays>& children = lines_[hole + 1].keys;
      const std::size_t count = std::min(kWays, size_ - (hole * kWays + 1));
      // Of which child the children are looked at next is not known yet.
      const std::size_t below = hole * kWays + 2;
      if (below + kWays <= lines_.size())
        for (std::size_t child = 0; child < kWays; ++child) prefetch(&lines_[below + child]);
      std::size_t least = 0;
      for (std::size_t child = 1; child < count; ++child)
        if (before(children[child], children[least])) least = child;
      if (!before(children[least], moved)) break;
      at(hole) = children[least];
      hole = hole * kWays + 1 + least;
    }
    at(hole) = moved;
  }

  LargeVector<Line> lines_;
  std::size_t size_ = 0;
  LargeVector<Entry> entries_;  ///< [Key::entry]
  std::vector<std::uint32_t> free_;
  std::uint64_t pushed_ = 0;
};

}  // namespace orrery::sim
