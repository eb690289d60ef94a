// The model world's future: what happens when, in one order for equal instants.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/base/units.hpp"

namespace orrery::sim {

/// What an entry of the heap stands for; equal instants go by this order, then by insertion.
enum class FutureKind : std::uint8_t {
  Tick,       ///< Timing `pollux`: all jobs advance.
  Complete,   ///< A job's work is done.
  Script,     ///< A worker's own story ends it.
  Fault,      ///< A fault of the scenario.
  NodeDown,   ///< A node fails at random.
  NodeUp,     ///< A node comes back.
  Silence,    ///< The controller notices a node's silence.
  Stopped,    ///< Workers that were told to stop are gone.
  Ready,      ///< Started workers are up.
  Refused,    ///< Workers that could not be launched.
  Request,    ///< A user's request.
  Profiling,  ///< A worker reports measurements.
  Arrival,    ///< The next submission.
};

/// One entry. `stamp` tells whether it is still meant when it comes up.
struct Future {
  Instant at;
  std::uint64_t order = 0;
  FutureKind kind = FutureKind::Arrival;
  std::uint32_t subject = 0;  ///< Job, node or list index, by kind.
  std::uint32_t stamp = 0;
  std::uint32_t detail = 0;
};

/// A binary heap of futures, the earliest first.
class EventHeap {
 public:
  bool empty() const { return heap_.empty(); }

  const Future& top() const { return heap_.front(); }

  void push(Instant at,
            FutureKind kind,
            std::uint32_t subject,
            std::uint32_t stamp = 0,
            std::uint32_t detail = 0) {
    heap_.push_back({at, pushed_++, kind, subject, stamp, detail});
    std::push_heap(heap_.begin(), heap_.end(), later);
  }

  Future pop() {
    std::pop_heap(heap_.begin(), heap_.end(), later);
    const Future top = heap_.back();
    heap_.pop_back();
    return top;
  }

 private:
  static bool later(const Future& a, const Future& b) {
    if (a.at != b.at) return b.at < a.at;
    if (a.kind != b.kind) return b.kind < a.kind;
    return b.order < a.order;
  }

  std::vector<Future> heap_;
  std::uint64_t pushed_ = 0;
};

}  // namespace orrery::sim
