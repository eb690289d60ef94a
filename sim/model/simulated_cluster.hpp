// The machines of a modelled cluster: worker processes, the work that they do, and what goes wrong
// with both. It knows no controller, no messages and no liveness.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "core/agent/agent.hpp"
#include "core/record/command.hpp"
#include "scenarios/language/spec/scenario.hpp"
#include "sim/model/cluster_faults.hpp"
#include "sim/model/cluster_listener.hpp"
#include "sim/model/cluster_state.hpp"
#include "sim/model/fabric_links.hpp"
#include "sim/model/model_job.hpp"
#include "sim/model/node_faults.hpp"
#include "sim/model/pollux_progress.hpp"
#include "sim/model/processes.hpp"
#include "sim/model/progress.hpp"
#include "sim/model/sub_masters.hpp"
#include "sim/model/submissions.hpp"
#include "sim/model/worker_orders.hpp"
#include "sim/model/worker_scripts.hpp"
#include "sim/model/worker_speeds.hpp"

namespace orrery::sim {

/// Executes what it is told on modelled nodes. Work advances while all workers of the newest
/// generation are ready, at the rate that the job's model gives for its elastic replicas.
///
/// Costs: a start takes `timing.start` (plus `restore` when there is a checkpoint to read), a stop
/// `timing.stop`; a membership change that leaves workers running pauses them for `rescale`.
/// A stop with grace saves a checkpoint; a crash goes back to the last one.
///
/// There are two ways in. The orders of a controller (`obey`) reach every worker of every node at
/// once; the actions of an agent (`act`) reach one process of its node. A world uses one of them,
/// and both end in the same acts on processes (WorkerOrders). What comes of it is told to the
/// listener, at the cluster's present time.
///
/// Time passes only in `pass_to`; `next` tells when something will happen by itself. The cluster
/// itself only keeps the time and hands each future to the part that it belongs to:
///
///     submissions, faults          what the scenario brings
///     nodes      NodeTable, NodeFaults, FabricLinks
///     processes  Processes, WorkerOrders, WorkerScripts, SubMasters
///     progress   Progress, PolluxProgress, RoundProgress, WorkerSpeeds, StagedWork
///
/// Calls between them go downwards: orders and faults act on nodes and processes, processes on
/// progress. What the work itself brings about (a completion) is returned, and the cluster passes
/// it on to the processes.
class SimulatedCluster {
 public:
  /// All outlive the cluster. Without a fabric nothing that jobs send takes time.
  SimulatedCluster(const scenarios::Scenario& scenario,
                   JobSource& source,
                   ClusterListener& listener,
                   Fabric* fabric = nullptr);

  // The parts hold references to each other.
  SimulatedCluster(const SimulatedCluster&) = delete;
  SimulatedCluster& operator=(const SimulatedCluster&) = delete;

  // --- time ---

  Instant now() const { return state_.now; }

  /// When something happens next by itself; never where nothing does before `limit`, for what jobs
  /// send is looked at no further. At `limit` nothing may happen after all.
  Instant next(Instant limit);

  /// Whether something will happen by itself, be it after the limit of `next`.
  bool is_busy() const { return !state_.future.empty() || progress_.stages_under_way(); }

  /// Lets everything happen up to and at `until`, which never steps back.
  void pass_to(Instant until);

  /// Sets the clock to `until`, before which nothing happens.
  void wait_to(Instant until) { state_.now = std::max(state_.now, until); }

  /// Whether anything is left that jobs could wait for: submissions, faults at known times,
  /// workers, nodes to come back.
  bool work_left() const;

  /// From now on `watcher` is told every `every`, above 0, what share of each of the fabric's links
  /// is in use; less often as the run goes on, about a thousand times for each doubling of its
  /// time. Changes nothing else. There must be a fabric.
  void watch_links(Duration every, LinkWatcher watcher) { links_.watch(every, std::move(watcher)); }

  // --- orders that reach every worker at once, and actions of the agent of one node ---

  void obey(const StartWorkers& order) { orders_.obey(order); }

  void obey(const StopWorkers& order) { orders_.obey(order); }

  void obey(const UpdateMembership& order) { orders_.obey(order); }

  void obey(const TellSubMaster& order) { orders_.obey(order); }

  void act(NodeId node, const SpawnWorker& action) { orders_.act(node, action); }

  void act(NodeId node, const SignalWorker& action) { orders_.act(node, action); }

  void act(NodeId node, const TellMembership& action) { orders_.act(node, action); }

  void act(NodeId node, const PassToSubMaster& action) { orders_.act(node, action); }

  // --- orders that no worker hears, in both cases ---

  /// An accepted submission becomes a job. A second answer to a request changes nothing.
  void obey(const AnswerRequest& order) { submissions_.answer(order); }

  /// The job is over. Its truth is forgotten when the last of its processes is gone.
  void obey(const CleanJob& order);

  /// Hands the nodes to the modelled extension (`Scenario::relaunch`).
  void obey(const RelaunchNodes& order) { node_faults_.relaunch(order); }

  // --- nodes ---

  bool is_down(NodeId node) const { return state_.nodes[node].down; }

  bool is_mute(NodeId node) const { return state_.nodes[node].mute; }

  /// Devices of the node that do not work.
  std::uint64_t lost_devices(NodeId node) const { return state_.nodes[node].lost_devices; }

  /// All processes of the node end without a word; the node itself stays up.
  void kill_all(NodeId node) { processes_.kill_all(node); }

  /// Forgets the dead of the node, of whom nothing was said.
  void forget(NodeId node) { processes_.forget(node); }

  /// A mute node hears no order (`obey`) and nothing is heard of its processes, which work on.
  void mute(NodeId node, bool mute) { state_.nodes[node].mute = mute; }

  /// What the node says of itself: every process that lives there.
  std::vector<RunningWorker> complete_list(NodeId node) const {
    return processes_.complete_list(node);
  }

  /// Fault `index` of the scenario strikes at `at`, not before now.
  void strike(std::uint32_t index, Instant at);

  // --- truth ---

  /// All processes that live, by job and in order of their start.
  std::vector<LivingProcess> living() const { return processes_.living(); }

  /// The truth about a job; null where it is over or was never accepted.
  const LiveJob* job(JobId id) const { return state_.jobs.find(id); }

  /// How many times as long as it should each unit of work takes the worker.
  double slowness(const ModelWorker& worker) const { return speeds_.slowness(worker); }

  /// Something could not be modelled as asked.
  void warn(std::string sentence) { state_.warn(std::move(sentence)); }

  /// The first sentences about what could not be modelled as asked (unprofiled placements).
  const std::vector<std::string>& warnings() const { return state_.warnings; }

  /// Jobs that were submitted so far; the last one's number is also its request id.
  std::uint64_t submitted() const { return submissions_.submitted(); }

  /// Whether jobs were submitted that are not over.
  bool jobs_left() const {
    return state_.jobs.erased() + submissions_.refused() < submissions_.submitted();
  }

  /// Jobs of the workload, not those written in the scenario, that were refused so far.
  std::uint64_t workload_refused() const { return submissions_.workload_refused(); }

  /// Takes the name that a submission had in the workload's file; empty where it is the job's own.
  std::string take_label(std::uint64_t request) { return submissions_.take_label(request); }

  /// The job of this full name, as long as the scenario speaks of names; none where there is none.
  JobId job_named(const std::string& name) const { return state_.jobs.named(name); }

 private:
  void happen(const Future& future);
  void happen_to_job(LiveJob& job, const Future& future);
  void happen_to_worker(LiveJob& job, ModelWorker& worker, FutureKind kind);
  bool stages_to(Instant limit);

  ClusterState state_;
  WorkerSpeeds speeds_;
  Progress progress_;
  PolluxProgress pollux_;
  RoundProgress rounds_;
  WorkerScripts scripts_;
  SubMasters sub_masters_;
  Processes processes_;
  WorkerOrders orders_;
  FabricLinks links_;
  NodeFaults node_faults_;
  ClusterFaults faults_;
  Submissions submissions_;
};

}  // namespace orrery::sim
