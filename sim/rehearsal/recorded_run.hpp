// What a journal tells of the run that it recorded: what came from outside, and what was observed
// of the work of each job. The first half of a what-if; job_truth.hpp has the second.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "core/control/controller.hpp"
#include "core/driver/state_store.hpp"
#include "scenarios/language/spec/faults.hpp"
#include "sim/model/worker_life.hpp"
#include "sim/results/job_table.hpp"
#include "sim/results/summary.hpp"
#include "sim/run/run.hpp"

namespace orrery::sim {

/// Something that was observed of a job's work.
struct WorkFact {
  enum class Kind : std::uint8_t {
    Members,  ///< Other workers are ready than before.
    Report,   ///< The job told of its progress.
    End,      ///< All work was done.
  };

  Kind kind = Kind::Members;
  Instant at;
  std::int32_t replicas = 0;  ///< Of the elastic role that are ready then.
  bool any_ready = false;     ///< Some worker is ready,
  bool whole = false;         ///< or all that are waited for are.
  Generation generation;
  double done = 0;  ///< Report: in the job's own unit,
  double rate = 0;  ///< units per second from then on,
  Duration remaining = Duration::forever();
  EstimateSource source = EstimateSource::None;
  bool checkpointed = false;  ///< Report: `done` was safe in a checkpoint.
  std::string
      device_model;  ///< Report: of all nodes where the job works; empty: there are several.
};

/// A worker that ended by itself, was removed from outside, or never came up: what happens to it
/// anywhere.
struct RecordedEnd {
  WorkerLife life;
  Instant at;  ///< When it ended.
};

/// Whether the worker ended as one does that has done its part.
inline bool is_well(const WorkerLife& life) {
  return life.fact == WorkerFact::Exited && life.exit_code == 0;
}

/// How long workers took to come up in one start of a job.
struct StartSample {
  Duration took;          ///< From the order to the last worker's readiness, or its end before.
  bool restores = false;  ///< The job had worked before.
  bool failed = false;    ///< Some worker never came up.
  Instant up_at;          ///< When it was over.
};

/// One worker that was asked to stop, and did.
struct StopSample {
  JobId job;
  Instant asked;
  Duration took;        ///< From the order to the end.
  bool killed = false;  ///< It did not end by itself in the time that it had.
};

/// One submission, whether it was accepted or not.
struct RecordedJob {
  std::shared_ptr<const JobSpec> spec;
  std::string user;  ///< May be empty.
  Instant submit;
  JobId id;  ///< None: it was refused.
  std::vector<WorkFact> facts;
  std::vector<StartSample> starts;
  std::vector<RecordedEnd> ends;
  bool is_up_by_running = false;       ///< Some worker was up before it said hello, if it ever did.
  std::vector<Duration> hellos;        ///< From running to hello, of those that said one.
  JobPhase phase = JobPhase::Pending;  ///< At the end of the journal.
  Reason reason = Reason::Submitted;
  Instant finished = Instant::never();
  bool policy_sized = false;  ///< It ran with more than one size.
  bool was_started = false;   ///< Workers of it were told to start.
};

/// A recorded run. Instants count from its first record.
struct RecordedRun {
  Instant begin;  ///< On the journal's clock.
  Instant end;    ///< Of the last record.
  std::uint64_t records = 0;
  std::uint32_t epochs = 0;
  Settings settings;  ///< Of the last epoch.
  std::vector<NodeGroup> groups;
  std::size_t groups_at_begin = 0;  ///< Those that were declared before the first submission.
  std::vector<Quota> quotas;        ///< That were declared first.
  std::vector<RecordedJob> jobs;    ///< In the order of submission.
  /// What users, nodes and workers said beside submissions and progress, with recorded ids. Faults
  /// of nodes stand in `faults`.
  std::vector<Event> requests;
  std::vector<scenarios::Fault> faults;
  std::vector<StopSample> stops;
  Duration stopping_max;  ///< Longest that one that was asked to stop had not, when it was lost.
  std::vector<Duration> plan_delays;  ///< From the view to the plan.
  std::vector<std::string> left_out;  ///< Sentences: what a what-if does not repeat.
  std::unique_ptr<Metrics> metrics;   ///< Of the run as it was.
  Summary summary;                    ///< Likewise.
};

/// Folds a journal from its first record. `name` is what its summary calls it, `listeners` hear the
/// recorded run. Errors: the journal's; it does not begin with its first record.
Result<RecordedRun> read_recorded_run(StateStore& store,
                                      const std::string& name,
                                      std::vector<RunListener*> listeners);

}  // namespace orrery::sim
