// The simulated cluster's future: what happens when, in one order for equal instants.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/base/units.hpp"

namespace orrery::sim {

/// What an entry of the heap stands for; equal instants go by this order, then by insertion.
enum class FutureKind : std::uint8_t {
  Tick,         ///< Timing `pollux`: all jobs advance.
  Complete,     ///< A job's work is done.
  Resume,       ///< A pause of a job that works in stages is over, or a phase of its work.
  Checkpoint,   ///< Such a job writes its next checkpoint.
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
  bool empty() const { return heap_.empty(); }

  const Future& top() const { return heap_.front(); }

  void push(Instant at,
            FutureKind kind,
            std::uint32_t subject,
            std::uint32_t stamp = 0,
            std::uint32_t detail = 0) {
    heap_.emplace_back();
    const Future fresh{at, pushed_++, kind, subject, stamp, detail};
    std::size_t hole = heap_.size() - 1;
    while (hole > 0 && before(fresh, heap_[(hole - 1) / kWays])) {
      heap_[hole] = heap_[(hole - 1) / kWays];
      hole = (hole - 1) / kWays;
    }
    heap_[hole] = fresh;
  }

  Future pop() {
    const Future top = heap_.front();
    const Future last = heap_.back();
    heap_.pop_back();
    if (!heap_.empty()) sink(last);
    return top;
  }

 private:
  // Four children lie beside each other: half the levels of a binary heap, and fewer cache lines.
  static constexpr std::size_t kWays = 4;

  static bool before(const Future& a, const Future& b) {
    if (a.at != b.at) [[likely]]
      return a.at < b.at;
    return a.kind != b.kind ? a.kind < b.kind : a.order < b.order;
  }

  // Puts `moved` into the hole at the top and lets it sink to its place.
  void sink(const Future& moved) {
    std::size_t hole = 0;
    while (true) {
      const std::size_t first = hole * kWays + 1;
      if (first >= heap_.size()) break;
      std::size_t least = first;
      for (std::size_t child = first + 1; child < std::min(first + kWays, heap_.size()); ++child)
        if (before(heap_[child], heap_[least])) least = child;
      if (!before(heap_[least], moved)) break;
      heap_[hole] = heap_[least];
      hole = least;
    }
    heap_[hole] = moved;
  }

  std::vector<Future> heap_;
  std::uint64_t pushed_ = 0;
};

}  // namespace orrery::sim
