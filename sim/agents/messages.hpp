// What travels between controllers and agents.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "core/agent/heartbeat.hpp"
#include "core/base/enum_names.hpp"
#include "core/base/ids.hpp"
#include "core/base/units.hpp"
#include "core/record/command.hpp"
#include "core/record/event.hpp"
#include "sim/agents/network.hpp"
#include "sim/control/host_watch.hpp"

namespace orrery::sim {

enum class MessageKind : std::uint8_t {
  // To a node.
  Order,
  Renewal,       ///< The lease is renewed.
  Announcement,  ///< A controller of another epoch is here.
  // From a node.
  Beat,     ///< A heartbeat.
  Reports,  ///< Of single workers.
  Fact,     ///< What a worker or the node says otherwise.
};

/// One message on one connection. Only the fields that its kind names are meaningful.
struct Message {
  MessageKind kind = MessageKind::Beat;
  LeaderNumber leader;           ///< At the controllers' end.
  NodeId node;                   ///< At the agents' end.
  std::uint32_t connection = 0;  ///< It arrives on this one or not at all.
  std::uint8_t arrivals = 0;     ///< Still to come.
  Instant sent_at;               ///< The world's time.
  std::shared_ptr<const Command> order;
  Epoch epoch;       ///< Renewal, Announcement.
  Instant heard_of;  ///< Renewal: when the heartbeat left, by the agent's clock.
  Heartbeat beat;
  std::vector<ProfilingChanged>
      measured;  ///< Beat: raw, of workers that are watched for hangs or stragglers.
  std::uint64_t lost_devices = 0;        ///< Registering Beat: those that do not work.
  Instant leaves_at = Instant::never();  ///< Registering Beat: the node has announced this.
  std::vector<WorkersChanged> reports;
  EventBody fact;  ///< Instants in it are the world's.

  Way way() const { return kind < MessageKind::Beat ? Way::ToNode : Way::FromNode; }

  /// About how many bytes it takes.
  std::size_t bytes() const;
};

/// Messages under way, in slots that are used again.
class MessagePool {
 public:
  Message& operator[](std::uint32_t slot) { return slots_[slot]; }

  /// A slot whose content is left over from its last use.
  std::uint32_t take() {
    if (free_.empty()) {
      slots_.emplace_back();
      return static_cast<std::uint32_t>(slots_.size() - 1);
    }
    const std::uint32_t slot = free_.back();
    free_.pop_back();
    return slot;
  }

  /// Gives a slot back.
  void drop(std::uint32_t slot) {
    slots_[slot].order.reset();
    free_.push_back(slot);
  }

 private:
  std::deque<Message> slots_;  ///< References stay valid while it grows.
  std::vector<std::uint32_t> free_;
};

}  // namespace orrery::sim

template <>
struct orrery::EnumNames<orrery::sim::MessageKind> {
  static constexpr std::array kNames{"order", "renewal", "announcement", "beat", "reports", "fact"};
};
