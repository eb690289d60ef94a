// One leader in a world of agents: its session with the nodes, its clock, and its connections.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "core/driver/world.hpp"
#include "core/leader/leader.hpp"
#include "core/state/state.hpp"
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
  virtual void send_renewal(LeaderPort& port, NodeId node, Instant heard_of, bool registers) = 0;
  virtual void send_announcement(LeaderPort& port, NodeId node) = 0;
  virtual void send_order(LeaderPort& port, NodeId node, std::shared_ptr<const Command> order) = 0;
  virtual void break_connection(LeaderPort& port, NodeId node) = 0;
};

/// What carries a leader's stream to one node's agent.
struct PortLink {
  std::uint32_t connection = 0;  ///< Counted up; 0: there was none yet.
  std::uint64_t session = 0;     ///< The life of the agent that has it.
  MessageStream to_node;
  MessageStream from_node;
  /// Jobs that the node has been told of, with the generation whose members it knows; 0: none.
  std::map<JobId, Generation> told;
};

/// The world as one leader has it. Soft state: a successor begins with an empty port.
///
/// The leader reads the wall clock once, when it begins, never takes less than the journal's last
/// time, and goes by a monotonic clock from then on; so no step of a clock moves its deadlines.
///
/// Agents of the simulation know of each job what the cluster knows: nothing needs to be sent, and
/// what would be is only noted.
class LeaderPort final : public World, private NodeStreams {
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

  void withheld(JobId job, Incarnation incarnation) override { leader_.withheld(job, incarnation); }

  bool wait_events(Instant, std::vector<Event>& events) override {
    leader_.take_news(events);
    return true;
  }

  LeaderNumber number() const { return number_; }

  Epoch epoch() const { return epoch_; }

  const State& state() const { return state_; }

  /// It hears nothing until then; messages wait for it.
  void sleep_until(Instant until) { asleep_until_ = std::max(asleep_until_, until); }

  Instant asleep_until() const { return asleep_until_; }

  /// Messages that came while it slept, in the order in which they came: streams keep theirs.
  std::vector<std::uint32_t>& unheard() { return unheard_; }

  /// The deadline for which a call of `time_reached` is under way in the world's queue; never: for
  /// none. Kept here, for a port whose nodes are all silent has nothing to wait for until one of
  /// them is heard again, and then its deadline may be earlier than the one of the others.
  Instant awaited() const { return awaited_; }

  void set_awaited(Instant deadline) { awaited_ = deadline; }

  /// It was succeeded, and grants no lease from then on: what every election sees to, and what its
  /// successor counts on.
  void grant_until(Instant until) { grants_until_ = std::min(grants_until_, until); }

  PortLink& link(NodeId node) { return links_[node.index()]; }

  Leader& leader() { return leader_; }

  const Leader& leader() const { return leader_; }

  /// What a node's agent says.
  void heard(const Message& message);

  /// What the controller hears from elsewhere than nodes.
  void told(Origin origin, EventBody body);

 private:
  // NodeStreams
  void renew(NodeId node, Instant heard_of, bool registers) override {
    owner_.send_renewal(*this, node, heard_of, registers);
  }

  void announce(NodeId node) override { owner_.send_announcement(*this, node); }

  void tell_job(NodeId node, const JobState& job) override {
    links_[node.index()].told[job.row.id] = Generation{};
  }

  void tell_members(NodeId node, const JobState& job) override {
    links_[node.index()].told[job.row.id] = job.row.generation;
  }

  void order(NodeId node, const std::shared_ptr<const Command>& command) override {
    owner_.send_order(*this, node, command);
  }

  void close(NodeId node, std::string_view) override { owner_.break_connection(*this, node); }

  PortOwner& owner_;
  LeaderNumber number_;
  Epoch epoch_;
  const State& state_;
  Duration ahead_;
  Instant awaited_ = Instant::never();
  Instant asleep_until_;
  Instant grants_until_ = Instant::never();
  std::vector<std::uint32_t> unheard_;
  Leader leader_;
  std::vector<PortLink> links_;
};

}  // namespace orrery::sim
