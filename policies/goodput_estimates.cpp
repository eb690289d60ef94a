#include "policies/goodput_estimates.hpp"

#include <algorithm>

namespace orrery::policies {

namespace {

/// Iterations a second of the job's batch on packed nodes.
std::optional<double> iterations(const PolluxApplication& application,
                                 int batch,
                                 std::int32_t replicas,
                                 int gpus_per_node) {
  if (batch < application.limits().initial_total || batch > application.limits().total_max)
    return std::nullopt;
  if (replicas > std::max(application.replicas_max(batch), 1)) return std::nullopt;
  const auto seconds = application.packed_iteration_time(batch, replicas, gpus_per_node);
  if (!seconds || *seconds <= 0) return std::nullopt;
  return 1 / *seconds;
}

}  // namespace

std::optional<double> ProfileGoodput::goodput(const ClusterView& /*view*/,
                                              const JobView& job,
                                              const KindAndSize& where) {
  if (profiles_ == nullptr) return std::nullopt;
  const auto found = profiles_->find(*job.spec.profile);
  if (found == profiles_->end()) return std::nullopt;
  return iterations(found->second, job.spec.batch_size, where.replicas, gpus_per_node_);
}

std::optional<double> DeviceGoodput::goodput(const ClusterView& view,
                                             const JobView& job,
                                             const KindAndSize& where) {
  const std::int32_t gpus_per_node = (where.replicas + where.nodes - 1) / where.nodes;
  for (const auto& [model, profiles] : *profiles_) {
    if (view.model_named(model) != where.kind) continue;
    const auto found = profiles.find(*job.spec.profile);
    if (found == profiles.end()) return std::nullopt;
    int batch = job.spec.batch_size;
    if (batch == 0 && tuned_ == TunedJobs::SmallestBatch)
      batch = found->second.limits().initial_total;
    return iterations(found->second, batch, where.replicas, gpus_per_node);
  }
  return std::nullopt;
}

}  // namespace orrery::policies
