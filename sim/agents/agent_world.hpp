// The world of agents: every node has a real agent and fence, every leader its real session with
// them, and between them is a network that fails as the scenario says.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "scenarios/language/spec/scenario.hpp"
#include "sim/agents/control_transport.hpp"
#include "sim/agents/leader_port.hpp"
#include "sim/agents/messages.hpp"
#include "sim/agents/network.hpp"
#include "sim/agents/node_host.hpp"
#include "sim/agents/world_futures.hpp"
#include "sim/agents/world_tap.hpp"
#include "sim/control/leader_ports.hpp"
#include "sim/model/simulated_cluster.hpp"

namespace orrery::sim {

/// Pure-machine steps that a world has taken.
struct WorldSteps {
  std::uint64_t agents = 0;  ///< Agent::step.
  std::uint64_t ears = 0;    ///< Calls of Liveness and Suspicions.
};

/// A simulated cluster behind agents, a network and up to two leaders.
///
/// An agent keeps one connection, to the youngest leader that it finds. Orders, reports and
/// registrations go over it as a stream: in sequence and once, and one that is lost breaks the
/// connection, which the agent notices and replaces. Other messages (heartbeats, renewals) may be
/// lost, come twice and overtake each other. An older leader's connections stay open to the node
/// until it ends, so its stale orders do arrive; leases it grants for `takeover_grace` at the most.
/// A connection ends with either end's life: a new agent hears nothing that was said to the one
/// before it.
///
/// Clients repeat a request until it is answered, except those to add or remove replicas, which
/// would count twice.
///
/// Clocks: agents and leaders measure leases and deadlines by monotonic clocks of their own. A step
/// of a node's wall clock therefore changes nothing; one of the controllers' is seen by the next
/// leader, which begins with it unless the journal is later.
class AgentWorld final : public LeaderPorts, private ClusterListener, private PortOwner {
 public:
  /// All outlive the world; all but scenario and source may be null. With a `transport` messages
  /// take the time that it gives, and none is lost: the scenario must have no faults of messages.
  /// Without one times are drawn and faults act.
  AgentWorld(const scenarios::Scenario& scenario,
             JobSource& source,
             WorldTap* tap = nullptr,
             ControlTransport* transport = nullptr,
             Fabric* fabric = nullptr);
  ~AgentWorld() override;

  // --- for the host of the leaders ---

  Instant now() const override { return cluster_.now(); }

  World& port(LeaderNumber leader, Epoch epoch, const State& state) override;
  void established(LeaderNumber leader) override;
  void close(LeaderNumber leader) override;
  void advance(Instant until) override;

  // --- for the runner of the scenario ---

  /// Faults of controllers and their store that have struck since the last call.
  std::vector<scenarios::Fault> take_control_faults();

  /// Faults of the scenario that have struck since the last call, by index.
  std::vector<std::uint32_t> take_struck();

  /// The leader hears nothing until then, as one whose process stands still.
  void pause(LeaderNumber leader, Instant until);

  /// Whether something may still be reported: work, clients, messages other than
  /// heartbeats.
  bool work_left() const;

  SimulatedCluster& cluster() { return cluster_; }

  const SimulatedCluster& cluster() const { return cluster_; }

  const NodeHost& node(NodeId node) const { return nodes_[node.index()]; }

  const Network& network() const { return network_; }

  WorldSteps steps() const;

  /// The leaders and agents that should have been woken long ago and were not, as text; empty:
  /// none. A world in which this says anything does not show what its leaders and agents would do.
  std::string missed_timer() const;

 private:
  /// What connects a node with the leader that its agent follows.
  struct Following {
    LeaderNumber leader;  ///< 0: none.
    std::uint32_t connection = 0;
    std::uint32_t attempt = 0;        ///< The latest; earlier ones are void.
    Instant wake = Instant::never();  ///< The earliest future wake of the node,
    Instant due = Instant::never();   ///< and the deadline for which it is.
    Instant leaves_at = Instant::never();
    std::vector<ProgressReported>
        unsent;  ///< The latest of each job, and its last checkpoint, while there is no connection.
  };

  /// A request of a client that has not been answered.
  struct Asked {
    EventBody body;
    bool repeats = true;
    bool dropped = false;  ///< Told once, and over.
  };

  // agent_world.cpp: time and ports.
  void happen(const WorldFuture& future);
  LeaderPort* find(LeaderNumber leader);
  LeaderPort* youngest();
  void wake_port_at(LeaderPort& port);
  void wake_leaders();
  bool waits_to_be_taken(const LeaderPort& port) const;
  Instant late(Instant due);
  Instant next_until(Instant until);
  void take_arrived();

  // world_nodes.cpp: agents, and what happens in the cluster.
  void on_outside(EventBody body) override;
  void on_workers(JobId job,
                  std::span<const ModelWorker> workers,
                  WorkerFact fact,
                  std::int32_t exit_code,
                  Instant occurred_at,
                  const Diagnosis& diagnosis) override;
  void on_progress(NodeId from, ProgressReported progress) override;

  // Suspicions are the leaders' here: they hear what workers measure.
  void on_suspected(NodeId, WorkerSuspected) override {}

  void on_sub_master(NodeId node, const ModelWorker& master, SubMasterSaid said) override;
  void on_node_down(NodeId node) override;
  void on_node_up(NodeId node) override;
  void on_devices_lost(DevicesLost lost) override;
  void on_devices_back(NodeId node) override;
  void on_node_leaving(NodeLeaving leaving) override;
  void on_fault(const scenarios::Fault& fault) override;

  void on_struck(std::uint32_t index) override { struck_.push_back(index); }

  void drain();
  void step(NodeHost& node, const AgentEvent& event);
  void carry_out(NodeHost& node);
  void act(NodeHost& node, const AgentAction& action);
  void pass_signal(NodeHost& node, const SignalWorker& signal);
  void measure(const NodeHost& node, std::vector<ProfilingChanged>& measured) const;
  void wake_node_at(NodeHost& node);
  void wake_node(NodeHost& node);
  void kill_by_shims(NodeHost& node);
  void lose_agent(NodeHost& node);

  // world_links.cpp: connections and messages.
  Instant world_now() const override { return cluster_.now(); }

  void issue_from(LeaderPort& port, const Command& command) override;
  void send_renewal(LeaderPort& port, NodeId node, Instant heard_of, bool registers) override;
  void send_announcement(LeaderPort& port, NodeId node) override;
  void send_order(LeaderPort& port, NodeId node, std::shared_ptr<const Command> order) override;
  void break_connection(LeaderPort& port, NodeId node) override;
  void tell_order_sent(LeaderPort& port, NodeId node, const Command& order);
  Message* compose(LeaderPort& port, NodeId node, MessageKind kind);
  Message* compose_to_leader(NodeId node, MessageKind kind);
  void send(bool as_stream);
  void deliver(std::uint32_t slot);
  void listen(LeaderPort& port);
  void deliver_to_node(LeaderPort& port, const Message& message);
  void deliver_to_leader(LeaderPort& port, const Message& message);
  void send_fact(NodeId node, EventBody fact, bool as_stream);
  void seek_leader(NodeId node, Duration after);
  void try_to_connect(NodeId node);
  void connect(NodeId node, LeaderNumber leader);
  void ask_again(std::uint64_t request);
  void answered(LeaderPort& port, const AnswerRequest& answer);
  void make_known(LeaderPort& port, JobId job);

  const scenarios::Scenario& scenario_;
  WorldTap* tap_;
  ControlTransport* transport_;
  std::vector<std::uint32_t> arrived_;  ///< Slots that the transport has brought.
  Network network_;
  WorldFutures futures_;
  MessagePool messages_;
  std::uint32_t composing_ = 0;
  std::vector<NodeHost> nodes_;
  std::vector<Following> following_;                   ///< By node.
  std::vector<std::unique_ptr<LeaderPort>> ports_;     ///< The older one first.
  std::deque<std::pair<NodeId, AgentEvent>> pending_;  ///< For agents, in order.
  bool draining_ = false;
  std::map<std::uint64_t, Asked> asked_;  ///< By request id.
  std::uint64_t asked_ids_ = 0;           ///< Of requests other than submissions.
  std::vector<scenarios::Fault> control_faults_;
  std::vector<std::uint32_t> struck_;
  Duration wall_ahead_;  ///< Of the controllers' wall clock.
  bool interrupted_ = false;
  bool any_watched_ = false;     ///< Some job asks for hangs or stragglers to be found.
  std::uint64_t under_way_ = 0;  ///< Messages other than heartbeats and their answers.
  Random jitter_;                ///< How late wakes and batches come.
  Instant take_news_at_ = Instant::never();
  std::uint64_t ear_calls_of_past_ = 0;
  SimulatedCluster cluster_;
};

}  // namespace orrery::sim
