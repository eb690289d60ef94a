// The worker processes of the simulated cluster: they start, come up, are told things, hang, and
// end.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "core/agent/agent.hpp"
#include "sim/model/cluster_state.hpp"
#include "sim/model/lasting_faults.hpp"
#include "sim/model/pollux_progress.hpp"
#include "sim/model/progress.hpp"
#include "sim/model/round_progress.hpp"
#include "sim/model/sub_masters.hpp"
#include "sim/model/worker_scripts.hpp"

namespace orrery::sim {

/// One process that lives, as ground truth for checkers.
struct LivingProcess {
  JobId job;
  RoleIndex role;
  std::int32_t local_rank = 0;
  Rank birth_rank;
  Rank rank;
  Incarnation incarnation;
  Generation born;
  Generation generation;  ///< That it knows.
  NodeId node;
  std::uint64_t devices = 0;  ///< Bit i: device i of the node.
  Share share;
  Instant since;
  bool ready = false;
  bool stopping = false;
  bool hung = false;
};

/// What happens to single processes. An action of an agent (`act` in WorkerOrders) is one of these
/// and what follows of it for the job's work; an order of a controller is as many of them as it has
/// workers, and then what follows.
class Processes {
 public:
  /// All outlive the object.
  Processes(ClusterState& cluster,
            Progress& progress,
            PolluxProgress& pollux,
            RoundProgress& rounds,
            WorkerScripts& scripts,
            SubMasters& sub_masters)
      : cluster_(cluster),
        progress_(progress),
        pollux_(pollux),
        rounds_(rounds),
        scripts_(scripts),
        sub_masters_(sub_masters) {}

  // --- acts ---

  /// A process is created now; on a node that is down or mute it is dead from the start. Its name
  /// must be new.
  void create(LiveJob& job, ModelWorker worker);

  /// The job with which this one shares devices, if any, goes at another speed from now on: this
  /// one's processes came, or will be gone.
  void tell_partner(LiveJob& job);

  /// Where progress is an artifact's: nothing is done until the job is placed anew, since a worker
  /// was told of a newer membership.
  void await_placement(LiveJob& job);

  /// And the job is placed, once all workers know it and are up.
  void place_if_whole(LiveJob& job);

  /// Processes of this start come up after the time that a start takes, if they ever do: all, or
  /// the one of this rank at its start.
  void expect_ready(LiveJob& job, Incarnation incarnation, Rank only = Rank::none());

  /// The process is told to end, and will have ended at `ends_at`.
  void ask_to_stop(LiveJob& job, ModelWorker& worker, Instant ends_at);

  /// Some were asked to stop. `saves`: they write a checkpoint first.
  void after_asking(LiveJob& job, bool saves);

  /// Ends a process at once that was told nothing before.
  void kill(LiveJob& job, ModelWorker& worker);

  /// A process ends by itself or is taken away; what that does to the job's work.
  void end(LiveJob& job,
           const ModelWorker& worker,
           WorkerFact fact,
           std::int32_t exit_code,
           const Diagnosis& diagnosis = {});

  /// The process lives from now on and does nothing.
  void hang(LiveJob& job, ModelWorker& worker, Duration lasting);

  /// The process needs `factor` times as long from now on.
  void slow_down(LiveJob& job, ModelWorker& worker, double factor, Duration lasting);

  /// The controller has ended the job. It is forgotten when its last process is gone.
  void job_over(LiveJob& job);

  // --- what the cluster's future holds for them ---

  /// A future of kind Stopped: processes that were told to stop and have had their time end.
  void end_stopped(LiveJob& job);

  /// A future of kind Ready: processes are up, or are refused.
  void come_up(LiveJob& job, const Future& future);

  /// A future of kind Script: a worker's own story ends it.
  void end_by_script(LiveJob& job, const Future& future);

  /// Futures of kinds HangOver and SlowOver.
  void hang_over(LiveJob& job, ModelWorker& worker);
  void slow_over(LiveJob& job, ModelWorker& worker);
  void say_hello(LiveJob& job, ModelWorker& worker);

  /// The job's work is done: every required process exits 0.
  void complete(LiveJob& job);

  /// The same under timing `pollux`, where all processes do, since `at`.
  void complete_pollux(LiveJob& job, Instant at);

  // --- nodes ---

  /// All processes of the node end without a word.
  void kill_all(NodeId node);

  /// Forgets the dead of the node, of whom nothing was said.
  void forget(NodeId node);

  /// The jobs on any of these devices tell what of their work is in a checkpoint.
  void tell_saved_on(NodeId node, std::uint64_t devices);

  /// The processes on any of these devices end, as their devices are gone.
  void abort_on(NodeId node, std::uint64_t devices);

  // --- truth ---

  /// All that live, by job and in order of their start.
  std::vector<LivingProcess> living() const;

  /// All that live on the node.
  std::vector<RunningWorker> complete_list(NodeId node) const;

 private:
  void lose(LiveJob& job, NodeId from);
  void take_away(LiveJob& job,
                 const ModelWorker& gone,
                 WorkerFact fact,
                 std::int32_t exit_code,
                 const Diagnosis& diagnosis = {});
  void suspect_again(LiveJob& job);
  void expect(FutureKind kind, Duration after, const LiveJob& job, const ModelWorker& worker);
  void tell(const LiveJob& job,
            std::span<const ModelWorker> workers,
            WorkerFact fact,
            std::int32_t exit_code,
            Instant occurred_at,
            const Diagnosis& diagnosis = {});
  void remove(LiveJob& job, const ModelWorker& worker);
  void release(LiveJob& job);
  void share_anew(LiveJob& job);
  bool drop_if_over(LiveJob& job);

  ClusterState& cluster_;
  Progress& progress_;
  PolluxProgress& pollux_;
  RoundProgress& rounds_;
  WorkerScripts& scripts_;
  SubMasters& sub_masters_;
  std::set<JobId> lingering_;  ///< Over, and not forgotten: some process has not gone yet.

  /// Faults that make single workers slow, by job and the worker's start; some of them past.
  std::map<JobId, std::map<std::pair<Incarnation, Rank>, LastingFaults>> slowdowns_;
};

}  // namespace orrery::sim
