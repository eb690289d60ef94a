// A workload of another simulator, loaded once and played as often as wanted.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "scenarios/language/spec/scenario.hpp"
#include "sim/import/batsim_events.hpp"
#include "sim/import/batsim_jobs.hpp"
#include "sim/import/elastisim_jobs.hpp"
#include "sim/model/model_job.hpp"
#include "sim/results/summary.hpp"

namespace orrery::sim {

/// Batsim's jobs and events, or ElastiSim's jobs, as a scenario names them; empty where it names
/// none. Immutable once loaded, and copies share what was read.
class ImportedWorkload {
 public:
  /// Reads what `scenario` names and adds what became of it to `account`; all errors at once.
  static Result<ImportedWorkload> load(const scenarios::Scenario& scenario,
                                       WorkloadAccount& account);

  bool any() const { return batsim_ != nullptr || elastisim_ != nullptr; }

  bool adds_faults() const { return !faults_.empty(); }

  /// Whether any job has stages of work.
  bool sends() const { return sends_; }

  /// Machines that go and come back.
  const std::vector<scenarios::Fault>& faults() const { return faults_; }

  /// Gives a scenario without a cluster one of as many nodes as Batsim's workload has hosts.
  void complete(scenarios::Scenario& scenario) const;

  /// The jobs by submission. The workload outlives the source. Not without `any`.
  std::unique_ptr<JobSource> play(const scenarios::Scenario& scenario) const;

 private:
  struct Batsim {
    BatsimFile file;
    std::optional<BatsimJobs> jobs;  ///< Of `file`.
    std::size_t limit = 0;           ///< Jobs that are played.
  };

  struct Elastisim {
    ElastisimJobs jobs;
    std::map<std::string, ElastisimApplication> applications;  ///< By path as jobs write it.
    std::optional<ElastisimPlan> plan;                         ///< Of both.
    std::size_t limit = 0;                                     ///< Jobs that are played.
  };

  static Result<ImportedWorkload> load_elastisim(const scenarios::ElastisimWorkload& workload,
                                                 const scenarios::Scenario& scenario,
                                                 WorkloadAccount& account);
  static Result<ImportedWorkload> load_batsim(const scenarios::BatsimWorkload& workload,
                                              const scenarios::Scenario& scenario,
                                              WorkloadAccount& account);

  std::shared_ptr<const Batsim> batsim_;
  std::shared_ptr<const Elastisim> elastisim_;
  std::vector<scenarios::Fault> faults_;
  bool sends_ = false;
};

}  // namespace orrery::sim
