#include "sim/agents/leader_port.hpp"

#include <algorithm>

namespace orrery::sim {

LeaderPort::LeaderPort(PortOwner& owner,
                       LeaderNumber number,
                       Epoch epoch,
                       const State& state,
                       const Settings& settings,
                       std::uint32_t nodes,
                       Duration ahead)
    : owner_(owner),
      number_(number),
      epoch_(epoch),
      state_(state),
      ahead_(ahead),
      ear_(epoch, state, settings, nodes, owner.world_now(), ahead),
      links_(nodes) {}

void LeaderPort::establish() {
  established_ = true;
  ear_.establish(owner_.world_now());
}

void LeaderPort::connected(NodeId node) {
  std::vector<const CommandBody*> waiting;
  for (const auto& order : link(node).waiting) waiting.push_back(&order->body);
  ear_.connected(node, waiting);
}

HeartbeatVerdict LeaderPort::heard(const Message& message) {
  const HeardBeat heard{
      message.beat, message.measured, message.lost_devices, message.leaves_at, message.sent_at};
  return ear_.heard(heard, owner_.world_now());
}

void LeaderPort::reported(const Message& message) {
  ear_.reported(message.node, message.reports, message.sent_at, owner_.world_now());
}

void LeaderPort::told(const Message& message) {
  ear_.told(message.origin, message.fact, message.sent_at, owner_.world_now());
}

void LeaderPort::told(Origin origin, EventBody body) {
  const Instant now = owner_.world_now();
  ear_.told(origin, std::move(body), now, now);
}

void LeaderPort::time_reached() {
  std::vector<NodeId> silent;
  ear_.time_reached(owner_.world_now(), silent);
  for (const NodeId node : silent) {
    // The controller gives up what waits for the node.
    link(node).waiting.clear();
    link(node).registered = false;
  }
}

}  // namespace orrery::sim
