// The checker's ears: what a host of leaders, a world and the notices tell, in its terms.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/driver/driver.hpp"
#include "sim/agents/world_tap.hpp"
#include "sim/control/host_watch.hpp"
#include "sim/faults/event_triggers.hpp"
#include "sim/model/simulated_cluster.hpp"
#include "sim/storm/checker.hpp"
#include "sim/storm/decisions.hpp"
#include "sim/storm/journal_fold.hpp"
#include "sim/storm/live_check.hpp"

namespace orrery::sim {

/// What the checker must know of a scenario beforehand.
CheckerFacts checker_facts(const scenarios::Scenario& scenario);

/// What one term ordered, as the journal was folded.
struct FoldedTerm {
  Epoch epoch;
  Sequence first;
  Sequence last;
  std::uint64_t orders = 0;
  Digester digester;  ///< Of each record that orders something: its number, then its orders.
};

class StormWatch final : public HostWatch,
                         public WorldTap,
                         public RunObserver,
                         public FoldListener {
 public:
  explicit StormWatch(const scenarios::Scenario& scenario);

  /// The world, before anything is told.
  void connect(const SimulatedCluster& cluster) { cluster_ = &cluster; }

  Checker& checker() { return checker_; }

  /// A look at all processes, now and then; `leader` is null where nobody leads.
  void look(const State* leader) {
    if (cluster_ != nullptr) live_.look(now(), *cluster_, leader);
  }

  EventTriggers& triggers() { return triggers_; }

  /// Takes down what is decided, from the beginning on.
  void record_decisions() { recorder_.emplace(); }

  /// What was taken down; only where that was asked for.
  const DecisionRecorder& decisions() const { return *recorder_; }

  /// Fingerprints the orders of each term, from the beginning on.
  void fingerprint_terms() { terms_.emplace(); }

  /// What the program tells of the orders of each term and is not so; `store` has the journal. Only
  /// where fingerprints were asked for.
  std::vector<std::string> false_terms(StateStore& store);

  /// The state after a record, which was appended; null where a record is none.
  const State* folded_up_to(Sequence sequence) { return fold_.state_at(sequence); }

  std::uint64_t leaders() const { return leaders_; }

  /// Plans that a policy's period has brought about.
  std::uint64_t cycles() const { return cycles_; }

  std::uint64_t plans_lost() const { return plans_lost_; }

  /// Compares a leader's state with the journal, and what it counts with what was told.
  void compare(const State& state, Digest digest);

  // Of the host.
  void on_started(LeaderNumber leader, Epoch epoch, Sequence replayed, Digest state) override;
  void on_appended(LeaderNumber leader, Epoch writer, const StoredRecord& record) override;

  void on_durable(Sequence sequence) override { checker_.durable(sequence); }

  void on_lost(Sequence last) override;
  void on_order(LeaderNumber leader, const Command& order) override;
  void on_ended(LeaderNumber leader, LeaderEnd how, Sequence stepped, Digest state) override;

  // Of the world.
  void on_process_started(Instant at, const WorldProcess& process) override;
  void on_process_ended(Instant at, const WorldProcess& process) override;

  void on_process_moved(Instant at, const WorldProcess& process) override {
    checker_.agents().moved(at, process);
  }

  void on_signal(Instant at, const WorldProcess& process, bool kill) override {
    checker_.agents().signalled(
        at, process.node, {process.job, process.incarnation, process.birth_rank}, kill);
  }

  void on_order_sent(
      Instant at, NodeId node, const Command& order, bool knows_job, bool knows_members) override {
    checker_.agents().sent(at, node, order, knows_job, knows_members);
  }

  void on_order_heard(Instant at, NodeId node, const Command& order) override {
    checker_.agents().heard(at, node, order);
  }

  void on_lease(Instant at, NodeId node, Epoch, Instant until) override {
    checker_.agents().lease(at, node, until);
  }

  void on_node(Instant at, NodeId node, bool) override { checker_.agents().machine(at, node); }

  void on_agent(Instant at, NodeId node, bool up) override {
    checker_.agents().agent(at, node, up);
  }

  // Of the journal, folded anew.
  void begin_again() override {
    checker_.fold_begins_again();
    if (terms_) terms_.emplace();
  }

  void comes(const Event& event, const State& before) override { checker_.comes(event, before); }

  void folded(Sequence sequence,
              const Event& event,
              const Commands& decided,
              const State& state) override;

  // Of the drivers.
  void on_notices(std::span<const Notice> notices, const State& state) override;
  void on_event(Sequence sequence, const Event& event) override;

 private:
  StormWatch(const scenarios::Scenario& scenario, const CheckerFacts& facts);

  Instant now() const { return cluster_ == nullptr ? Instant::zero() : cluster_->now(); }

  void fingerprint(Sequence sequence, const Event& event, const Commands& decided);
  void measure(JobId job);
  void check_lost_plan(std::span<const Notice> notices);

  Checker checker_;
  LiveCheck live_;
  EventTriggers triggers_;
  JournalFold fold_;
  std::optional<DecisionRecorder> recorder_;
  std::optional<std::vector<FoldedTerm>> terms_;
  const SimulatedCluster* cluster_ = nullptr;
  const State* state_ = nullptr;
  std::uint64_t leaders_ = 0;
  std::uint64_t cycles_ = 0;
  std::uint64_t plans_lost_ = 0;
  bool lost_plan_ = false;  ///< The event at hand says that a plan was lost.
  LeaderNumber youngest_;
};

}  // namespace orrery::sim
