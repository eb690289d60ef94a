// World `model` at fidelity L0: the same events as a real cluster, progress as a function of the
// allocation, no network.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/base/random.hpp"
#include "core/driver/world.hpp"
#include "scenarios/scenario.hpp"
#include "sim/model/event_heap.hpp"
#include "sim/model/live_job.hpp"
#include "sim/model/model_job.hpp"

namespace orrery::sim {

/// Executes commands on modelled nodes. Work advances while all workers of a generation are ready,
/// at the rate that the job's model gives for its elastic replicas.
///
/// Costs: a start takes `timing.start` (plus `restore` when there is a checkpoint to read), a stop
/// `timing.stop`; a membership change that leaves workers running pauses them for `rescale`.
/// A stop with grace saves a checkpoint; a crash goes back to the last one.
class ModelWorld final : public World {
 public:
  /// `scenario` and `source` outlive the world.
  ModelWorld(const scenarios::Scenario& scenario, JobSource& source);

  Instant now() const override { return now_; }

  void issue(const Command& command) override;
  bool wait_events(Instant deadline, std::vector<Event>& events) override;

  /// A sentence for each thing that could not be modelled as asked (unprofiled placements).
  const std::vector<std::string>& troubles() const { return troubles_; }

  /// Jobs that were submitted so far; the last one's number is also its request id.
  std::uint64_t submitted() const { return submissions_; }

  /// Takes the name that a submission had in the workload's file; empty where it is the job's own.
  std::string take_label(std::uint64_t request);

 private:
  void order(const StartWorkers& order);
  void order(const StopWorkers& order);
  void order(const UpdateMembership& order);
  void order(const CleanJob& order);
  void order(const AnswerRequest& order);
  void order(const TellSubMaster& order);
  void order(const RelaunchNodes& order);

  // model_world.cpp: the loop and the orders.
  void happen(const Future& future);
  void arrive();
  void come_up(LiveJob& job, const Future& future);
  void stopped(LiveJob& job, const Future& future);
  void request(const scenarios::TimedRequest& request);
  void profiling(const scenarios::TimedProfiling& profiling);
  void next_arrival();
  bool work_left() const;
  LiveJob* live(JobId id);
  ModelWorker* find(LiveJob& job, Incarnation incarnation, Rank birth_rank);
  JobId job_named(const std::string& name) const;
  void report(const LiveJob& job,
              const std::vector<ModelWorker>& workers,
              WorkerFact fact,
              std::int32_t exit_code,
              Instant occurred_at);
  void emit(Origin origin, EventBody body);
  void emit_at(Origin origin, Instant occurred_at, EventBody body);
  void remove(LiveJob& job, const ModelWorker& worker);
  void unplace(LiveJob& job);
  void drop_if_over(LiveJob& job);

  // model_progress.cpp: rates, checkpoints, completions, the Pollux tick.
  void settle_progress(LiveJob& job);
  void lose_progress(LiveJob& job);
  void tell_progress(LiveJob& job, bool checkpointed);
  void pace(LiveJob& job, bool told);
  void complete(LiveJob& job);
  void schedule_tick();
  void place_pollux(LiveJob& job);
  void tick();
  void tick_one(LiveJob& job);

  // model_faults.cpp: nodes, workers and their scripts.
  ModelWorker* find(LiveJob& job, const scenarios::WorkerRef& worker);
  bool script_is_of(const LiveJob& job,
                    const scenarios::WorkerScript& script,
                    const ModelWorker& worker) const;
  bool is_refused(LiveJob& job, const ModelWorker& worker);
  void schedule_scripts(LiveJob& job, const ModelWorker& worker);
  void strike(LiveJob& job, const Future& future);
  void end_worker(LiveJob& job, const ModelWorker& worker, WorkerFact fact, std::int32_t exit_code);
  void fault(const scenarios::Fault& fault);
  void next_random_fault(NodeId node);
  void random_fault(NodeId node, std::uint32_t process_index);
  void node_down(NodeId node, Duration lasting);
  void node_up(NodeId node);
  void notice_silence(NodeId node);
  void forget_dead(NodeId node);

  const scenarios::Scenario& scenario_;
  JobSource& source_;
  Instant now_;
  EventHeap future_;
  std::vector<Event> at_once_;                  ///< Happened at `now_`, not handed out yet.
  std::optional<ModelJob> next_;                ///< The next submission.
  std::deque<ModelJob> unanswered_;             ///< Submitted, id not known yet; in order.
  std::vector<std::unique_ptr<LiveJob>> jobs_;  ///< By JobId; null once over.
  std::map<std::string, JobId> names_;          ///< Only while the scenario speaks of names.
  std::vector<JobId> placed_;                   ///< Sorted; jobs with workers.
  std::vector<std::uint8_t> down_;              ///< Per node.
  std::vector<Instant> silent_at_;              ///< Per node: when its silence is noticed.
  std::vector<Random> node_faults_;             ///< Per process and node.
  std::vector<std::string> troubles_;
  std::map<std::uint64_t, std::string> labels_;  ///< By request, until taken.
  std::uint64_t submissions_ = 0;
  std::uint64_t over_ = 0;          ///< Submitted jobs that have ended or were refused.
  std::int64_t named_futures_ = 0;  ///< Faults and requests of the scenario still to come.
  std::int64_t nodes_down_ = 0;
  bool tick_scheduled_ = false;
  bool speaks_of_names_ = false;
};

}  // namespace orrery::sim
