// What one leader hears and says: its ear, its clock, and its connections to the nodes.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "core/agent/leader_ear.hpp"
#include "core/control/state.hpp"
#include "core/driver/world.hpp"
#include "sim/agents/messages.hpp"
#include "sim/agents/network.hpp"
#include "sim/control/host_watch.hpp"

namespace orrery::sim {

class LeaderPort;

/// Carries out what a leader says.
class PortOwner {
 public:
  virtual ~PortOwner() = default;
  virtual Instant world_now() const = 0;
  virtual void issue_from(LeaderPort& port, const Command& command) = 0;
};

/// A leader's connection to one node's agent.
struct PortLink {
  std::uint32_t connection = 0;  ///< Counted up; 0: there was none yet.
  bool open = false;
  bool registered = false;  ///< The agent has registered on it: orders may go out.
  MessageStream to_node;
  MessageStream from_node;
  std::vector<std::shared_ptr<const Command>> waiting;  ///< Orders until then.
};

/// The world as one leader has it. Soft state: a successor begins with an empty port.
///
/// The leader reads the wall clock once, when it begins, never takes less than the journal's last
/// time, and goes by a monotonic clock from then on; so no step of a clock moves its deadlines.
class LeaderPort final : public World {
 public:
  /// `owner` and `state` outlive the port; `ahead`: the leader's clock less the world's.
  LeaderPort(PortOwner& owner,
             LeaderNumber number,
             Epoch epoch,
             const State& state,
             const Settings& settings,
             std::uint32_t nodes,
             Duration ahead);

  Instant now() const override { return owner_.world_now() + ahead_; }

  void issue(const Command& command) override { owner_.issue_from(*this, command); }

  bool wait_events(Instant, std::vector<Event>& events) override {
    ear_.take_news(events);
    return true;
  }

  LeaderNumber number() const { return number_; }

  Epoch epoch() const { return epoch_; }

  const State& state() const { return state_; }

  bool is_established() const { return established_; }

  /// From now on it may grant leases. What it knows of workers is taken from its state.
  void establish();

  /// It hears nothing until then; messages wait for it.
  void sleep_until(Instant until) { asleep_until_ = std::max(asleep_until_, until); }

  Instant asleep_until() const { return asleep_until_; }

  /// Messages that came while it slept, in the order in which they came: streams keep theirs.
  std::vector<std::uint32_t>& unheard() { return unheard_; }

  bool has_news() const { return ear_.has_news(); }

  /// The deadline for which a call of `time_reached` is under way in the world's queue; never: for
  /// none. Kept here, for a port whose nodes are all silent has nothing to wait for until one of
  /// them is heard again, and then its deadline may be earlier than the one of the others.
  Instant awaited() const { return awaited_; }

  void set_awaited(Instant deadline) { awaited_ = deadline; }

  PortLink& link(NodeId node) { return links_[node.index()]; }

  const LeaderEar& ear() const { return ear_; }

  // --- the ear ---

  void connected(NodeId node);

  /// An order goes out, or waits for its connection.
  void ordered(const CommandBody& body) { ear_.ordered(body); }

  HeartbeatVerdict heard(const Message& message);
  void reported(const Message& message);
  void told(const Message& message);

  /// What the controller hears from elsewhere than nodes.
  void told(Origin origin, EventBody body);

  void time_reached();

 private:
  PortOwner& owner_;
  LeaderNumber number_;
  Epoch epoch_;
  const State& state_;
  Duration ahead_;
  bool established_ = false;
  Instant awaited_ = Instant::never();
  Instant asleep_until_;
  std::vector<std::uint32_t> unheard_;
  LeaderEar ear_;
  std::vector<PortLink> links_;
};

}  // namespace orrery::sim
