// The machines of a modelled cluster: worker processes, the work that they do, and what goes wrong
// with both. It knows no controller, no messages and no liveness.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/agent/agent.hpp"
#include "core/record/command.hpp"
#include "scenarios/language/spec/scenario.hpp"
#include "sim/faults/fault_processes.hpp"
#include "sim/model/event_heap.hpp"
#include "sim/model/live_job.hpp"
#include "sim/model/model_job.hpp"
#include "sim/model/room_listener.hpp"
#include "sim/model/staged_work.hpp"

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

/// Executes what it is told on modelled nodes. Work advances while all workers of the newest
/// generation are ready, at the rate that the job's model gives for its elastic replicas.
///
/// Costs: a start takes `timing.start` (plus `restore` when there is a checkpoint to read), a stop
/// `timing.stop`; a membership change that leaves workers running pauses them for `rescale`.
/// A stop with grace saves a checkpoint; a crash goes back to the last one.
///
/// There are two ways in. The orders of a controller (`obey`) reach every worker of every node at
/// once; the actions of an agent (`act`) reach one process of its node. A world uses one of them.
/// What comes of it is told to the listener, at the room's present time.
///
/// Time passes only in `pass_to`; `next` tells when something will happen by itself.
class MachineRoom {
 public:
  /// All outlive the room. Without a fabric nothing that jobs send takes time.
  MachineRoom(const scenarios::Scenario& scenario,
              JobSource& source,
              RoomListener& listener,
              Fabric* fabric = nullptr);

  // --- time ---

  Instant now() const { return now_; }

  /// When something happens next by itself; never where nothing does before `limit`, for what jobs
  /// send is looked at no further. At `limit` nothing may happen after all.
  Instant next(Instant limit);

  /// Whether something will happen by itself, be it after the limit of `next`.
  bool is_busy() const { return !future_.empty() || (staged_ && staged_->is_under_way()); }

  /// Lets everything happen up to and at `until`, which never steps back.
  void pass_to(Instant until);

  /// Sets the clock to `until`, before which nothing happens.
  void wait_to(Instant until) { now_ = std::max(now_, until); }

  /// Whether anything is left that jobs could wait for: submissions, faults at known times,
  /// workers, nodes to come back.
  bool work_left() const;

  /// From now on `watcher` is told every `every`, above 0, what share of each of the fabric's links
  /// is in use; less often as the run goes on, about a thousand times for each doubling of its
  /// time. Changes nothing else. There must be a fabric.
  using LinkWatcher = std::function<void(Instant, std::span<const double>)>;
  void watch_links(Duration every, LinkWatcher watcher);

  // --- orders that reach every worker at once ---

  void obey(const StartWorkers& order);
  void obey(const StopWorkers& order);
  void obey(const UpdateMembership& order);
  void obey(const TellSubMaster& order);

  // --- actions of the agent of one node ---

  void act(NodeId node, const SpawnWorker& action);
  void act(NodeId node, const SignalWorker& action);
  void act(NodeId node, const TellMembership& action);
  void act(NodeId node, const PassToSubMaster& action);

  // --- orders that no worker hears, in both cases ---

  /// An accepted submission becomes a job. A second answer to a request changes nothing.
  void obey(const AnswerRequest& order);

  /// The job is over. Its truth is forgotten when the last of its processes is gone.
  void obey(const CleanJob& order);

  /// Hands the nodes to the modelled extension (`Scenario::relaunch`).
  void obey(const RelaunchNodes& order);

  // --- nodes ---

  bool is_down(NodeId node) const { return nodes_[node.index()].down; }

  bool is_mute(NodeId node) const { return nodes_[node.index()].mute; }

  /// Devices of the node that do not work.
  std::uint64_t lost_devices(NodeId node) const { return nodes_[node.index()].lost_devices; }

  /// All processes of the node end without a word; the node itself stays up.
  void kill_all(NodeId node);

  /// Forgets the dead of the node, of whom nothing was said.
  void bury(NodeId node);

  /// A mute node hears no order (`obey`) and nothing is heard of its processes, which work on.
  void mute(NodeId node, bool mute) { nodes_[node.index()].mute = mute; }

  /// What the node says of itself: every process that lives there.
  std::vector<RunningWorker> complete_list(NodeId node) const;

  /// Fault `index` of the scenario strikes at `at`, not before now.
  void strike(std::uint32_t index, Instant at);

  // --- truth ---

  /// All processes that live, by job and in order of their start.
  std::vector<LivingProcess> living() const;

  /// The truth about a job; null where it is over or was never accepted.
  const LiveJob* job(JobId id) const {
    return id.index() < jobs_.size() ? jobs_[id.index()].get() : nullptr;
  }

  /// How many times as long as it should each unit of work takes the worker.
  double slowness(const ModelWorker& worker) const;

  /// One past the highest JobId that was accepted.
  std::uint32_t jobs_end() const { return static_cast<std::uint32_t>(jobs_.size()); }

  /// A sentence for each thing that could not be modelled as asked (unprofiled placements).
  std::vector<std::string>& troubles() { return troubles_; }

  const std::vector<std::string>& troubles() const { return troubles_; }

  /// Jobs that were submitted so far; the last one's number is also its request id.
  std::uint64_t submitted() const { return submissions_; }

  /// Whether jobs were submitted that are not over.
  bool jobs_left() const { return over_ < submissions_; }

  /// Takes the name that a submission had in the workload's file; empty where it is the job's own.
  std::string take_label(std::uint64_t request);

  /// The job of this full name, as long as the scenario speaks of names; none where there is none.
  JobId job_named(const std::string& name) const;

 private:
  struct Node {
    bool down = false;
    bool mute = false;
    double slow = 1;   ///< Of every process here.
    double speed = 1;  ///< Of its devices, by their model.
    std::uint64_t lost_devices = 0;
    Instant up_at;          ///< Down: when it comes back.
    Instant whole_at;       ///< Devices lost: when they work again.
    Instant quick_at;       ///< Slow: when it is not any more.
    double link_share = 1;  ///< Of its link's bandwidth that is left.
    Instant link_whole_at;  ///< Below 1: when all of it is.
  };

  /// A node that has announced that it goes down.
  struct Departure {
    Duration lasting;
  };

  /// The so many next messages of this kind are each the death of the role's sub-master.
  struct ArmedCrash {
    std::string job;
    std::string role;  ///< Of the sub-master, or the one that it leads.
    scenarios::RoleArrow arrow;
    std::int32_t times = 1;
  };

  // machine_room.cpp: time, submissions, requests.
  void happen(const Future& future);
  void happen_to_job(LiveJob& job, const Future& future);

  Instant own_next() const { return future_.empty() ? Instant::never() : future_.top().at; }

  void arrive();
  void next_arrival();
  void request(const scenarios::TimedRequest& request);
  void profiling(const scenarios::TimedProfiling& profiling);
  LiveJob* live(JobId id);

  // room_workers.cpp: processes start, are told things, and end.
  Duration start_delay(const LiveJob& job) const;
  void place(LiveJob& job);
  void unplace(LiveJob& job);
  void come_up(LiveJob& job, const Future& future);
  bool is_refused(LiveJob& job, const ModelWorker& worker);
  void raise(LiveJob& job, Generation generation, std::uint32_t world_size);
  void save_before_stop(LiveJob& job);
  void after_stop(LiveJob& job);
  void stopped(LiveJob& job);
  void tell(const LiveJob& job,
            std::span<const ModelWorker> workers,
            WorkerFact fact,
            std::int32_t exit_code,
            Instant occurred_at);
  void remove(LiveJob& job, const ModelWorker& worker);
  void end_worker(LiveJob& job, const ModelWorker& worker, WorkerFact fact, std::int32_t exit_code);
  void drop_if_over(LiveJob& job);

  // room_progress.cpp: rates, checkpoints, completions, the Pollux tick.
  void settle_progress(LiveJob& job);
  void lose_progress(LiveJob& job);
  void tell_progress(LiveJob& job, bool checkpointed);
  double rate_now(const LiveJob& job) const;
  void pace(LiveJob& job, bool told);
  void finish_what_is_done(LiveJob& job);
  void complete(LiveJob& job);
  void schedule_tick();
  void place_pollux(LiveJob& job);
  void tick();
  void tick_one(LiveJob& job);

  // room_stages.cpp: work that goes over the fabric.
  bool has_stages(const LiveJob& job) const;
  void form_stages(LiveJob& job);
  Duration checkpoint_interval(const LiveJob& job) const;
  bool stages_to(Instant limit);
  void stage_ended(const StageEnd& end);
  void pace_stages(LiveJob& job, bool told);
  void go_on(LiveJob& job, bool told);
  void checkpoint(LiveJob& job);
  void drop_stages(LiveJob& job);
  void slow_links(const scenarios::Fault& fault);
  void sample_links();

  // room_faults.cpp: faults of workers and their scripts.
  ModelWorker* find(LiveJob& job, const scenarios::WorkerRef& worker);
  bool script_is_of(const LiveJob& job,
                    const scenarios::WorkerScript& script,
                    const ModelWorker& worker) const;
  void schedule_scripts(LiveJob& job, const ModelWorker& worker);
  void end_by_script(LiveJob& job, const Future& future);
  void fault(const scenarios::Fault& fault);
  void worker_fault(const scenarios::Fault& fault);
  void workers_of_nodes_fault(const scenarios::Fault& fault, std::optional<std::uint32_t> pick);
  void hit(LiveJob& job, ModelWorker& worker, const scenarios::Fault& fault);
  void hang(LiveJob& job, ModelWorker& worker, Duration lasting);
  void hang_over(LiveJob& job, ModelWorker& worker);
  void suspect(LiveJob& job, ModelWorker& worker, Suspicion suspicion);
  void push_for(FutureKind kind, Duration after, const LiveJob& job, const ModelWorker& worker);
  double hamper(LiveJob& job);
  double device_speed(const LiveJob& job) const;
  double pace_factor(LiveJob& job);
  void suspect_again(LiveJob& job);
  void look_for_stragglers(LiveJob& job);

  // room_nodes.cpp: faults of nodes.
  void next_random_fault(std::size_t process, NodeId node, Instant from);
  void random_fault(NodeId node, std::size_t process);
  void node_fault(NodeId node, const scenarios::Fault& fault);
  void node_down(NodeId node, Duration lasting);
  void node_up(NodeId node);
  void come_back(NodeId node);
  void lose_devices(NodeId node, std::uint64_t devices, Duration lasting);
  void devices_back(NodeId node);
  void slow_node(NodeId node, const scenarios::Fault& fault);
  void pace_all_on(NodeId node);

  // room_failover.cpp: sub-masters, and nodes that are replaced.
  void say(LiveJob& job, const ModelWorker& master, const LedRole& led, SubMasterWord word);
  void tell_sub_master(LiveJob& job,
                       ModelWorker& master,
                       RoleIndex role,
                       std::uint32_t incident,
                       SubMasterOrder word);
  bool dies_at(const LiveJob& job, RoleIndex role, scenarios::RoleArrow arrow);
  void die_at_report(LiveJob& job, const ModelWorker& failed);
  void forget_lead(LiveJob& job, const ModelWorker& master);
  void relaunched(const RelaunchNodes& order);
  void replace(NodeId node);

  const scenarios::Scenario& scenario_;
  JobSource& source_;
  RoomListener& listener_;
  Instant now_;
  EventHeap future_;
  std::optional<StagedWork> staged_;  ///< Where there is a fabric.
  LinkWatcher link_watcher_;
  Duration link_samples_every_;
  std::int64_t link_samples_ = 0;
  std::optional<ModelJob> next_;                  ///< The next submission.
  std::map<std::uint64_t, ModelJob> unanswered_;  ///< By request: submitted, id not known yet.
  std::vector<std::unique_ptr<LiveJob>> jobs_;    ///< By JobId; null once over.
  std::map<std::string, JobId> names_;            ///< Only while the scenario speaks of names.
  std::vector<JobId> placed_;                     ///< Sorted; jobs with workers.
  std::vector<Node> nodes_;
  FaultProcesses processes_;
  std::vector<Departure> departures_;
  std::vector<RelaunchNodes> relaunches_;  ///< In the order in which they were asked for.
  std::vector<ArmedCrash> armed_;          ///< Of sub-masters, waiting for their arrow.
  std::vector<std::string> troubles_;
  std::map<std::uint64_t, std::string> labels_;  ///< By request, until taken.
  std::uint64_t submissions_ = 0;
  std::uint64_t over_ = 0;          ///< Submitted jobs that have ended or were refused.
  std::int64_t named_futures_ = 0;  ///< Faults and requests of the scenario still to come.
  std::int64_t comebacks_ = 0;      ///< Nodes and devices that will be back.
  bool tick_scheduled_ = false;
  bool speeds_differ_ = false;  ///< Some node's devices are not as fast as the times say.
  bool speaks_of_names_ = false;
};

}  // namespace orrery::sim
