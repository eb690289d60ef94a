// The jobs of an ElastiSim workload as jobs that a modelled world runs.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "scenarios/language/spec/network_spec.hpp"
#include "sim/import/elastisim_file.hpp"
#include "sim/import/elastisim_stages.hpp"
#include "sim/import/import_notes.hpp"
#include "sim/model/model_job.hpp"

namespace orrery::sim {

/// Plays a workload's jobs by submission, equal times in the order of the file.
///
/// A job is one replica on each of its nodes, from `num_nodes_min` to `num_nodes_max`, and one
/// program for each number of them. Rigid and moldable jobs keep their first size, and their
/// program is the whole job, `on_init` in front. All others may be resized; their work is counted
/// in iterations where they have one phase, and a start takes the time of `on_reconfiguration`.
class ElastisimPlan {
 public:
  struct Options {
    ElastisimNode node;
    scenarios::NetworkSpec network;
  };

  /// Checks that every job can be played on each number of nodes it may have. `jobs` and
  /// `applications`, by their path as jobs write it, outlive the object. Errors: models that are
  /// not there, formulas that give nothing, sizes that lists do not fit.
  static Result<ElastisimPlan> make_plan(
      const ElastisimJobs& jobs,
      const std::map<std::string, ElastisimApplication>& applications,
      const Options& options);

  std::size_t size() const { return order_.size(); }

  /// The job at a place of the order. `devices` each of its nodes has, for jobs that ask for no
  /// GPUs and so take nodes whole.
  ModelJob make(std::size_t place, std::int32_t devices) const;

  const ImportNotes& notes() const { return notes_; }

 private:
  /// What a job does on so many nodes.
  struct Shape {
    scenarios::Program program;
    double units = 1;    ///< Rounds of the program.
    double alone_s = 0;  ///< All rounds, with the network to itself. Above 0.
    double start_s = 0;  ///< `on_reconfiguration` or `on_init`, where they are not in the program.
  };

  ElastisimPlan(const ElastisimJobs& jobs,
                const std::map<std::string, ElastisimApplication>& applications,
                const Options& options)
      : jobs_(&jobs), applications_(&applications), options_(options) {}

  const ElastisimApplication& application_of(const ElastisimJob& job) const {
    return applications_->find(job.application)->second;
  }

  bool counts_iterations(const ElastisimJob& job) const;
  std::string check(const ElastisimJob& job) const;
  std::string shape(const ElastisimJob& job, std::int32_t nodes, Shape& shape) const;
  std::string append_all(const ElastisimJob& job,
                         ElastisimStages& stages,
                         scenarios::Program& program) const;
  void note(const ElastisimJob& job);

  const ElastisimJobs* jobs_;
  const std::map<std::string, ElastisimApplication>* applications_;
  Options options_;
  std::vector<std::uint32_t> order_;  ///< By submission.
  ImportNotes notes_;
};

}  // namespace orrery::sim
