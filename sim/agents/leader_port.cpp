#include "sim/agents/leader_port.hpp"

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
      leader_(epoch, state, settings, nodes, owner.world_now(), ahead, *this),
      links_(nodes) {}

void LeaderPort::heard(const Message& message) {
  const Instant now = owner_.world_now();
  const NodeId node = message.node;
  if (message.kind == MessageKind::Beat) {
    leader_.beat(node,
                 {message.beat,
                  message.measured,
                  message.lost_devices,
                  false,
                  message.leaves_at,
                  message.sent_at},
                 now < grants_until_,
                 now);
  } else if (message.kind == MessageKind::Reports) {
    leader_.reported(node, message.reports, message.sent_at, now);
  } else if (const auto* leaving = std::get_if<NodeLeaving>(&message.fact)) {
    leader_.leaving(node, leaving->until, message.sent_at, now);
  } else {
    leader_.said(node, message.fact, message.sent_at, now);
  }
}

void LeaderPort::told(Origin origin, EventBody body) {
  const Instant now = owner_.world_now();
  leader_.told(origin, std::move(body), now, now);
}

}  // namespace orrery::sim
