// A small world whose every step is chosen from outside: the real machines, nothing drawn.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/base/digest.hpp"
#include "core/job/spec.hpp"
#include "sim/explore/bounds.hpp"
#include "sim/explore/choice.hpp"
#include "sim/explore/explored_journal.hpp"
#include "sim/explore/explored_leader.hpp"
#include "sim/explore/explored_parts.hpp"
#include "sim/explore/part.hpp"
#include "sim/storm/violation.hpp"

namespace orrery::sim {

/// Up to two leaders, up to three nodes, and what is between them.
///
/// Real are the controller, its driver, the leader's session with the nodes, the agents and the
/// fence of the shims. The world has processes, connections, a store and a clock. A connection is
/// two streams: nothing on one is reordered or lost but by breaking it, and each end notices in its
/// own time. Time goes on by whole seconds once the agents and fences have done what is due, but
/// for what comes late; leaders may stand still for as long as they like. A process that is killed
/// is dead at once, and its agent hears of it later. A leader that was succeeded grants leases for
/// `kExploredGrace` at the most, which elections see to.
///
/// It judges by itself, and reads the machines for it no more than the storm's checker does: who
/// lives where, and what a client was told.
class ExploredWorld final : private LeaderSurroundings {
 public:
  /// One state, to be put back into the world that it was taken from.
  struct Snapshot {
    std::array<Part<ExploredLeader>::KeptPart, kExploredLeadersMax> leaders;
    std::array<Part<ExploredNode>::KeptPart, kExploredNodesMax> nodes;
    std::array<Part<ExploredLink>::KeptPart, kExploredLeadersMax * kExploredNodesMax> links;
    Part<ExploredJournal>::KeptPart journal;
    Part<ExploredRest>::KeptPart rest;
  };

  /// A leader leads, every node has registered, and nothing was submitted. `keeps_each`: snapshots
  /// share no parts that are merely equal.
  ExploredWorld(const ExploreBounds& bounds, ExploredPolicy policy, bool keeps_each = false);

  /// Appends everything that may happen next, always in the same order.
  void choices(std::vector<Choice>& out) const;

  /// Lets it happen. It must be one of the choices.
  void take(const Choice& choice);

  /// What is about to happen, in words.
  std::string describe(const Choice& choice) const;

  Instant now() const override { return rest_.get().now; }

  const Violations& found() const { return found_; }

  Snapshot keep();
  void put_back(const Snapshot& snapshot);

  /// Of all that decides what happens next.
  static Digest digest(const Snapshot& snapshot);

 private:
  using Leaders = std::array<Part<ExploredLeader>, kExploredLeadersMax>;

  // Requests of client `c`.
  static std::uint64_t submission_of(std::size_t c) { return 2 * c + 1; }

  static std::uint64_t stop_of(std::size_t c) { return 2 * c + 2; }

  const ExploredLink& link(std::size_t leader, std::size_t node) const {
    return links_[leader * kExploredNodesMax + node].get();
  }

  ExploredLink& edit_link(std::size_t leader, std::size_t node) {
    return links_[leader * kExploredNodesMax + node].edit();
  }

  const ExploredNode& node(std::size_t n) const { return nodes_[n].get(); }

  // explored_choices.cpp
  void everyday(std::vector<Choice>& out) const;
  void leaders_choices(std::vector<Choice>& out) const;
  void nodes_choices(std::vector<Choice>& out) const;
  void links_choices(std::vector<Choice>& out) const;
  void clients_choices(std::vector<Choice>& out) const;
  void faults(std::vector<Choice>& out) const;
  void with_delays(std::vector<Choice>& out) const;
  bool may_advance() const;
  bool is_due(const ExploredNode& node) const;
  bool may_connect(std::size_t leader, std::size_t node) const;
  std::size_t slot_of(LeaderNumber leader) const;
  std::size_t free_slot() const;

  // LeaderSurroundings
  const ExploredJournal& journal() const override { return journal_.get(); }

  ExploredJournal& journal_to_write() override { return journal_.edit(); }

  std::unique_ptr<Policy> policy() const override { return policy_(); }

  void issued(ExploredLeader& leader, const Command& command) override;
  void say(const ExploredLeader& leader, NodeId node, Message message) override;
  void hang_up(const ExploredLeader& leader, NodeId node) override;

  // Its steps.
  void start_leader(std::size_t slot, std::size_t kept);
  void end_leader(std::size_t slot);
  void turn(std::size_t slot);
  void commit();
  void to_node(std::size_t slot, std::size_t n);
  void to_leader(std::size_t slot, std::size_t n);
  void connect(std::size_t slot, std::size_t n);
  void submit(std::size_t slot, std::size_t client);
  void advance();
  void crash_agent(std::size_t n);
  void crash_node(std::size_t n);
  void take_of_node(const Choice& choice);
  void take_fault(const Choice& choice);
  void let_go(std::size_t n);

  void step(std::size_t n, const AgentEvent& event);
  void carry_out(std::size_t n);
  void act(std::size_t n, const AgentAction& action);
  void end_process(std::size_t n, const WorkerName& name, std::int32_t exit_code, bool by_fence);
  void kill_by_fence(std::size_t n);
  void send(std::size_t n, Message message);
  WorkerName process(std::size_t n, std::size_t index) const;

  // Judging.
  void check_processes();
  void check_begun(const ExploredLeader& leader);
  void check_acknowledged(const State& state, const std::string& whose);
  void answered(const AnswerRequest& answer);
  void add(ViolationKind kind, std::string text);

  ExploreBounds bounds_;
  ExploredPolicy policy_;
  Settings settings_;
  std::vector<NodeGroup> groups_;
  std::vector<std::shared_ptr<const JobSpec>> specs_;
  bool clients_wait_ = true;  ///< The beginning is not over.
  bool processes_changed_ = false;
  Violations found_;
  Leaders leaders_;
  std::array<Part<ExploredNode>, kExploredNodesMax> nodes_;
  std::array<Part<ExploredLink>, kExploredLeadersMax * kExploredNodesMax> links_;
  Part<ExploredJournal> journal_;
  Part<ExploredRest> rest_;
};

}  // namespace orrery::sim
