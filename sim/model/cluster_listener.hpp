// What happens in a simulated cluster, told to what connects it with the controller.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/record/event.hpp"
#include "scenarios/language/spec/faults.hpp"
#include "sim/model/live_job.hpp"

namespace orrery::sim {

/// Hears what happens in a SimulatedCluster, while it happens: during `pass_to` and during the
/// calls that carry orders out. It may note and schedule; it must not call the cluster's other
/// functions except `forget`, `mute`, `kill_all`, `complete_list`, `strike` and those that only
/// look.
class ClusterListener {
 public:
  virtual ~ClusterListener() = default;

  /// What reaches the controller without a node's help: submissions, requests of users, profilings
  /// of a scenario and of Pollux's jobs, the answer of the extension that relaunches nodes.
  virtual void on_outside(EventBody body) = 0;

  /// Processes of one job, in order of their start, became ready, ended with `exit_code`, were
  /// removed from outside (Lost) or never came up (LaunchFailed). Each is on `worker.node`. It
  /// happened at `occurred_at`, at most now. `diagnosis`: what each said before it exited.
  virtual void on_workers(JobId job,
                          std::span<const ModelWorker> workers,
                          WorkerFact fact,
                          std::int32_t exit_code,
                          Instant occurred_at,
                          const Diagnosis& diagnosis) = 0;

  /// What the job's first worker, on node `from`, tells of its progress.
  virtual void on_progress(NodeId from, ProgressReported progress) = 0;

  /// A worker on `node` is found to do nothing, or far less than its peers.
  virtual void on_suspected(NodeId node, WorkerSuspected suspicion) = 0;

  /// A sub-master on `node` speaks to its controller.
  virtual void on_sub_master(NodeId node, const ModelWorker& master, SubMasterSaid said) = 0;

  /// The node died with all it ran; `forget` forgets these workers once nothing will be said of
  /// them.
  virtual void on_node_down(NodeId node) = 0;

  /// The node is up again, and runs nothing.
  virtual void on_node_up(NodeId node) = 0;

  /// `lost.devices` of the node do not work now (workers on them crash next); or all of them
  /// work again, after `on_node_up` where the node was mended.
  virtual void on_devices_lost(DevicesLost lost) = 0;
  virtual void on_devices_back(NodeId node) = 0;

  virtual void on_node_leaving(NodeLeaving leaving) = 0;

  /// A fault that is not of workers or nodes strikes: agents, network, controller, store, clocks.
  virtual void on_fault(const scenarios::Fault& fault) = 0;

  /// Whatever it was, fault `index` of the scenario has struck.
  virtual void on_struck(std::uint32_t index) = 0;
};

}  // namespace orrery::sim
