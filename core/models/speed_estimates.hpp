// What a policy may believe about how a job's speed follows its replicas.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/job/row.hpp"
#include "core/job/spec.hpp"
#include "core/models/pollux_application.hpp"

namespace orrery {

/// Estimates for the jobs of one run. Not const: answers may be kept for the next question.
class SpeedEstimates {
 public:
  virtual ~SpeedEstimates() = default;

  /// Time of one iteration of the job on `replicas` (1 or more) packed replicas. Nothing where the
  /// job cannot run on so many, or it is unknown.
  virtual std::optional<Duration> iteration_time(const JobSpec& spec, std::int32_t replicas) = 0;

  /// Iterations that are left, above 0.
  virtual double iterations_left(const JobSpec& spec, const JobRow& row) = 0;
};

/// For jobs without a profile: speed in proportion to the replicas. One iteration is one second of
/// one replica; what is left comes from the last report, else from the stated run time, else an
/// hour.
class LinearEstimates : public SpeedEstimates {
 public:
  std::optional<Duration> iteration_time(const JobSpec& spec, std::int32_t replicas) override;
  double iterations_left(const JobSpec& spec, const JobRow& row) override;
};

/// From Pollux profiles, by `JobSpec::profile` and `JobSpec::batch_size`; jobs without either are
/// taken as linear.
class PolluxEstimates : public SpeedEstimates {
 public:
  /// `gpus_per_node`: how densely replicas are thought to be packed, 1 or more.
  PolluxEstimates(std::shared_ptr<const PolluxProfiles> profiles, int gpus_per_node);

  std::optional<Duration> iteration_time(const JobSpec& spec, std::int32_t replicas) override;
  double iterations_left(const JobSpec& spec, const JobRow& row) override;

 private:
  using Times = std::vector<std::optional<Duration>>;  ///< [replicas - 1].

  const PolluxApplication* application_of(const JobSpec& spec) const;

  std::shared_ptr<const PolluxProfiles> profiles_;
  int gpus_per_node_;
  LinearEstimates linear_;
  std::map<std::pair<const PolluxApplication*, int>, Times> times_;
};

}  // namespace orrery
