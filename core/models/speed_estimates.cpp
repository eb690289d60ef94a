#include "core/models/speed_estimates.hpp"

#include <algorithm>

#include "core/base/invariant.hpp"

namespace orrery {

std::optional<Duration> LinearEstimates::iteration_time(const JobSpec& /*spec*/,
                                                        std::int32_t replicas) {
  return Duration::from_seconds(1.0 / replicas);
}

double LinearEstimates::iterations_left(const JobSpec& spec, const JobRow& row) {
  constexpr double unknown_s = 3600;
  const bool reported = row.progress.source != EstimateSource::None;
  if (reported && !row.progress.remaining.is_forever()) {
    const std::int32_t replicas = row.holds ? row.replicas : row.min_replicas;
    return std::max(row.progress.remaining.in_seconds() * replicas, 1.0);
  }
  const bool stated = spec.estimate_source != EstimateSource::None;
  return (stated ? spec.estimate.in_seconds() : unknown_s) * rigid_replicas(spec);
}

PolluxEstimates::PolluxEstimates(std::shared_ptr<const PolluxProfiles> profiles, int gpus_per_node)
    : profiles_(std::move(profiles)), gpus_per_node_(gpus_per_node) {
  invariant(gpus_per_node >= 1, "replicas are packed one to a node at least");
}

const PolluxApplication* PolluxEstimates::application_of(const JobSpec& spec) const {
  const auto found = profiles_->find(*spec.profile);
  if (found == profiles_->end()) return nullptr;
  const BatchLimits& limits = found->second.limits();
  const bool trained =
      spec.batch_size >= limits.initial_total && spec.batch_size <= limits.total_max;
  return trained ? &found->second : nullptr;
}

std::optional<Duration> PolluxEstimates::iteration_time(const JobSpec& spec,
                                                        std::int32_t replicas) {
  const PolluxApplication* application = application_of(spec);
  if (application == nullptr) return linear_.iteration_time(spec, replicas);
  // The first replica is always possible: it accumulates.
  if (replicas > std::max(application->replicas_max(spec.batch_size), 1)) return std::nullopt;
  Times& times = times_[{application, spec.batch_size}];
  while (times.size() < static_cast<std::size_t>(replicas)) {
    const auto seconds = application->packed_iteration_time(
        spec.batch_size, static_cast<int>(times.size()) + 1, gpus_per_node_);
    times.push_back(seconds ? std::optional(Duration::from_seconds(*seconds)) : std::nullopt);
  }
  return times[static_cast<std::size_t>(replicas) - 1];
}

double PolluxEstimates::iterations_left(const JobSpec& spec, const JobRow& row) {
  const PolluxApplication* application = application_of(spec);
  if (application == nullptr) return linear_.iterations_left(spec, row);
  return application->iterations_left(spec.batch_size, row.progress.epoch);
}

}  // namespace orrery
