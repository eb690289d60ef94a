// Control messages at level L3: controller and agents are SimGrid actors with mailboxes.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "sim/agents/control_transport.hpp"
#include "sim/simgrid/message_clock.hpp"
#include "sim/simgrid/platform.hpp"

namespace orrery::sim {

/// An agent on each node's host and the controllers on one more, each with an actor that sends and
/// one that receives, as a daemon has threads for both. A heartbeat is put on the controllers'
/// mailbox by the agent's actor, an order on the node's mailbox by theirs; both travel through the
/// platform beside the flows of jobs. A mailbox hands its messages over in the order in which they
/// were put there, whichever the sender.
///
/// The controllers' host is the storage's, or where there is none, the first node's; messages
/// between actors of one host take no time in the network and come at once.
class ActorTransport final : public ControlTransport, private ClockUser {
 public:
  /// More nodes than this need more memory maps for stacks than Linux gives a process.
  static constexpr std::size_t kNodesMax = 8'192;

  /// `clock` outlives the transport. `platform` has `kNodesMax` nodes at most.
  ActorTransport(MessageClock& clock, const Platform& platform);
  ~ActorTransport() override;
  ActorTransport(const ActorTransport&) = delete;
  ActorTransport& operator=(const ActorTransport&) = delete;

  void send(std::uint32_t number, NodeId node, Way way, std::size_t bytes, Instant now) override;
  Instant next(Instant limit) override;
  void take_arrived(Instant now, std::vector<std::uint32_t>& numbers) override;

 private:
  struct Letter {
    std::uint32_t number = 0;
    std::uint64_t bytes = 0;
    simgrid::s4u::Mailbox* to = nullptr;
  };

  /// What the world has for an actor to send.
  struct Outbox {
    simgrid::s4u::SemaphorePtr wake;
    std::deque<Letter> letters;
  };

  double wake_s() const override;

  void wake(double) override {}

  bool has_news() const override { return !arrived_.empty(); }

  std::size_t under_way() const override { return under_way_; }

  bool has_actors() const override { return true; }

  void make_sender(simgrid::s4u::Host& host, const std::string& name, Outbox& outbox);
  void make_receiver(simgrid::s4u::Host& host, simgrid::s4u::Mailbox& mailbox);

  MessageClock& clock_;
  const simgrid::s4u::Host* seat_ = nullptr;  ///< The controllers' host.
  const Platform& platform_;
  std::vector<simgrid::s4u::ActorPtr> actors_;
  simgrid::s4u::Mailbox* controllers_ = nullptr;
  std::vector<simgrid::s4u::Mailbox*> agents_;  ///< By node.
  Outbox from_controllers_;
  std::vector<std::unique_ptr<Outbox>> from_agents_;  ///< By node; actors point there.
  std::vector<std::uint32_t> arrived_;
  std::size_t under_way_ = 0;  ///< Sent, and not yet handed over by an actor.
};

}  // namespace orrery::sim
