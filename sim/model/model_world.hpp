// World `model` at fidelity L0: the same events as a real cluster, progress as a function of the
// allocation, no network.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "core/agent/shim_fence.hpp"
#include "core/driver/world.hpp"
#include "scenarios/language/spec/scenario.hpp"
#include "sim/model/event_heap.hpp"
#include "sim/model/simulated_cluster.hpp"

namespace orrery::sim {

/// A simulated cluster under instant control: orders reach every worker at once, what happens is
/// known at once, and silence is noticed when a lease runs out.
///
/// Without messages a cut link or a dead agent is a node out of contact, whichever way: for less
/// than the lease less the fence margin nothing comes of it; for longer its workers are fenced
/// then, orders do not reach it, and it is silent when its lease runs out. Faults of single
/// messages, of the controller, its store and clocks are left out, and `warnings` says so.
class ModelWorld final : public World, private ClusterListener {
 public:
  /// `scenario`, `source` and `fabric` (which may be null) outlive the world.
  ModelWorld(const scenarios::Scenario& scenario, JobSource& source, Fabric* fabric = nullptr);

  Instant now() const override { return cluster_.now(); }

  void issue(const Command& command) override;
  void never_started(const StartWorkers& left_out) override;
  bool wait_events(Instant deadline, std::vector<Event>& events) override;

  Instant quiet_until() override;

  /// A sentence for each thing that could not be modelled as asked (unprofiled placements).
  const std::vector<std::string>& warnings() const { return cluster_.warnings(); }

  /// Jobs that were submitted so far; the last one's number is also its request id.
  std::uint64_t submitted() const { return cluster_.submitted(); }

  /// Takes the name that a submission had in the workload's file; empty where it is the job's own.
  std::string take_label(std::uint64_t request) { return cluster_.take_label(request); }

  /// As SimulatedCluster::workload_refused.
  std::uint64_t workload_refused() const { return cluster_.workload_refused(); }

  /// Fault `index` of the scenario strikes at `at`, not before now.
  void strike(std::uint32_t index, Instant at) { cluster_.strike(index, at); }

  /// `struck` is told of each fault of the scenario that has struck; it may call `strike`.
  void tell_strikes(std::function<void(std::uint32_t)> struck) { struck_ = std::move(struck); }

  /// See SimulatedCluster.
  void watch_links(Duration every, LinkWatcher watcher) {
    cluster_.watch_links(every, std::move(watcher));
  }

  /// The truth, for checkers.
  const SimulatedCluster& cluster() const { return cluster_; }

 private:
  void on_outside(EventBody body) override;
  void on_workers(JobId job,
                  std::span<const ModelWorker> workers,
                  WorkerFact fact,
                  std::int32_t exit_code,
                  Instant occurred_at,
                  const Diagnosis& diagnosis) override;
  void on_progress(NodeId from, ProgressReported progress) override;
  void on_suspected(NodeId node, WorkerSuspected suspicion) override;
  void on_sub_master(NodeId node, const ModelWorker& master, SubMasterSaid said) override;
  void on_node_down(NodeId node) override;
  void on_node_up(NodeId node) override;
  void on_devices_lost(DevicesLost lost) override;
  void on_devices_back(NodeId node) override;
  void on_node_leaving(NodeLeaving leaving) override;
  void on_fault(const scenarios::Fault& fault) override;
  void on_struck(std::uint32_t index) override;

  void emit(Origin origin, Instant occurred_at, EventBody body);
  void watch_until(Instant now);
  void lose_contact(NodeId node);
  void notice_silence(NodeId node);
  void cut(NodeId node, Duration lasting);
  void fence(NodeId node);
  void heal(NodeId node);
  void hear_again(NodeId node, Sequence seen);

  /// Between the controller and a node. Only a node that is mute is cut off.
  struct Contact {
    Instant lost_at = Instant::never();  ///< Since when nothing is heard; never: it is heard.
    Instant cut_until;
    ShimFence fence;  ///< Renewed by every instant of contact, so written down only when that ends.
  };

  const scenarios::Scenario& scenario_;
  std::function<void(std::uint32_t)> struck_;  ///< May be empty.
  std::vector<Event> at_once_;                 ///< Happened now, not handed out yet.
  std::vector<Contact> contacts_;              ///< Per node.
  EventHeap watch_;  ///< When silence is noticed, workers are fenced, links healed.
  SimulatedCluster cluster_;
};

}  // namespace orrery::sim
