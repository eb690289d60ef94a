// What users and workers of the scenario say in the simulated cluster: submissions, requests,
// profilings.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "core/record/command.hpp"
#include "sim/model/cluster_state.hpp"
#include "sim/model/model_job.hpp"

namespace orrery::sim {

class Submissions {
 public:
  /// Both outlive the object.
  Submissions(ClusterState& cluster, JobSource& source);

  /// Puts the next submission, if there is one, into the future.
  void schedule_next();

  /// A future of kind Arrival: a job is submitted, and the next one scheduled.
  void arrive();

  /// An accepted submission becomes a job. A second answer to a request changes nothing.
  void answer(const AnswerRequest& order);

  /// Takes the name that a submission had in the workload's file; empty where it is the job's own.
  std::string take_label(std::uint64_t request);

  /// Futures of kinds Request and Profiling.
  void request(const scenarios::TimedRequest& request);
  void profiling(const scenarios::TimedProfiling& profiling);

  bool more_to_come() const { return next_.has_value(); }

  /// Jobs that were submitted so far; the last one's number is also its request id.
  std::uint64_t submitted() const { return submitted_; }

  /// Of these, the ones that were refused.
  std::uint64_t refused() const { return refused_; }

  /// And of those the ones that are not written in the scenario.
  std::uint64_t workload_refused() const { return workload_refused_; }

 private:
  ClusterState& cluster_;
  JobSource& source_;
  std::optional<ModelJob> next_;
  std::map<std::uint64_t, ModelJob> unanswered_;  ///< By request: submitted, id not known yet.
  std::map<std::uint64_t, std::string> labels_;   ///< By request, until taken.
  std::uint64_t submitted_ = 0;
  std::uint64_t refused_ = 0;
  std::uint64_t workload_refused_ = 0;
  bool speaks_of_names_ = false;  ///< The scenario names jobs, so the table must know names.
};

}  // namespace orrery::sim
