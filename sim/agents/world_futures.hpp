// The future of a world of agents: what happens when, in one order for equal instants.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/base/units.hpp"

namespace orrery::sim {

/// What happens; equal instants go by this order, then by insertion.
enum class WorldFutureKind : std::uint8_t {
  Listen,     ///< A leader that slept hears what came meanwhile. `subject`: the leader.
  Deliver,    ///< A message arrives. `subject`: its slot.
  Ask,        ///< A client asks, perhaps again. `subject`: the request.
  FaultOver,  ///< A fault of the network ends. `subject`: what `Network::begin` gave.
  AgentUp,    ///< A dead agent is started anew. `subject`: its node.
  Attempt,    ///< An agent looks for a leader. `subject`: its node.
  Connected,  ///< It has found one. `subject`: its node; `detail`: the leader.
  WakeNode,   ///< A deadline of an agent or of the shims. `subject`: the node.
  WakePort,   ///< A deadline of a leader's session. `subject`: the leader.
  TakeNews,   ///< Leaders take what they were told since.
};

struct WorldFuture {
  Instant at;
  std::uint64_t order = 0;
  WorldFutureKind kind = WorldFutureKind::Deliver;
  std::uint64_t subject = 0;
  std::uint32_t stamp = 0;
  std::uint64_t detail = 0;
};

/// A heap of futures, the earliest first.
class WorldFutures {
 public:
  bool empty() const { return heap_.empty(); }

  Instant next() const { return heap_.empty() ? Instant::never() : heap_.front().at; }

  void push(Instant at,
            WorldFutureKind kind,
            std::uint64_t subject,
            std::uint32_t stamp = 0,
            std::uint64_t detail = 0) {
    heap_.push_back({at, pushed_++, kind, subject, stamp, detail});
    std::push_heap(heap_.begin(), heap_.end(), is_later);
  }

  WorldFuture pop() {
    std::pop_heap(heap_.begin(), heap_.end(), is_later);
    const WorldFuture first = heap_.back();
    heap_.pop_back();
    return first;
  }

 private:
  static bool is_later(const WorldFuture& a, const WorldFuture& b) {
    if (a.at != b.at) return a.at > b.at;
    if (a.kind != b.kind) return a.kind > b.kind;
    return a.order > b.order;
  }

  std::vector<WorldFuture> heap_;
  std::uint64_t pushed_ = 0;
};

}  // namespace orrery::sim
