// A scenario's jobs, loaded once and played as often as wanted.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "core/base/result.hpp"
#include "core/models/job_models.hpp"
#include "scenarios/language/spec/scenario.hpp"
#include "sim/model/model_job.hpp"
#include "sim/pollux/workload.hpp"
#include "sim/results/summary.hpp"
#include "sim/run/imported_workload.hpp"
#include "sim/shockwave/adaptive_jobs.hpp"
#include "sim/traces/lanl_failures.hpp"
#include "sim/traces/trace.hpp"

namespace orrery::sim {

/// Everything that comes from files. Immutable, so runs on several threads may share it.
class LoadedWorkload {
 public:
  /// Opens and reads what `scenario` names; all errors at once.
  static Result<LoadedWorkload> load(const scenarios::Scenario& scenario);

  /// The jobs in order of submission, those written in the scenario included, each of a name of its
  /// own: of the workload's, one whose name is written gets a number. `scenario` is the one
  /// that was loaded, except that its seed may differ; both outlive the source. `tunes_batches`:
  /// jobs of a Pollux workload choose their batch themselves (Policy::tunes_batches), and report
  /// what they measure.
  std::unique_ptr<JobSource> play(const scenarios::Scenario& scenario,
                                  bool tunes_batches = false) const;

  /// Whether a job of `scenario`, which was loaded, sends anything.
  bool sends(const scenarios::Scenario& scenario) const;

  /// `scenario` with its months of failures, recorded and drawn from its seed, as faults after its
  /// own.
  scenarios::Scenario with_failures(const scenarios::Scenario& scenario) const;

  /// Whether `with_failures` adds any.
  bool adds_faults(const scenarios::Scenario& scenario) const {
    return scenario.failures.any() || imported_.adds_faults();
  }

  /// Gives a scenario that declares no cluster the one that its workload's file describes.
  void complete(scenarios::Scenario& scenario) const { imported_.complete(scenario); }

  /// Of jobs that are to fill the cluster: what those of the trace ask for, with the number of
  /// workers; else nothing.
  std::vector<std::pair<Bundle, std::int64_t>> filling(const scenarios::Scenario& scenario) const;

  /// What became of the files' rows.
  const WorkloadAccount& account() const { return account_; }

  /// The same with the jobs that a run's controller refused as they were submitted.
  WorkloadAccount account_of_run(std::uint64_t jobs_refused) const;

  /// What is known of how the jobs train: measured applications of a Pollux workload, profiles by
  /// epoch of a Shockwave one, speeds on each model of device of a trace that names their table.
  /// Policies may consult it.
  const JobModels& models() const { return models_; }

 private:
  Errors load_profiles(const scenarios::PolluxWorkload& pollux);
  Errors check_restarts(const scenarios::Scenario& scenario) const;
  void count_used_names(const scenarios::Scenario& scenario);

  /// The jobs that are not written in the scenario; null where it names none.
  std::unique_ptr<JobSource> play_workload(const scenarios::Scenario& scenario,
                                           bool tunes_batches) const;

  JobModels models_;
  ProfiledApplications applications_;
  std::vector<PolluxSubmission> submissions_;
  std::shared_ptr<const AdaptiveWorkload> adaptive_;
  Trace trace_;
  ImportedWorkload imported_;
  LanlRecords failures_;
  WorkloadAccount account_;
};

}  // namespace orrery::sim
