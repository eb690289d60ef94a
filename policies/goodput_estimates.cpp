#include "policies/goodput_estimates.hpp"

#include <algorithm>

namespace orrery::policies {

std::optional<double> ProfileGoodput::goodput(const ClusterView& /*view*/,
                                              const JobView& job,
                                              const KindAndSize& where) {
  if (profiles_ == nullptr) return std::nullopt;
  const auto found = profiles_->find(*job.spec.profile);
  if (found == profiles_->end()) return std::nullopt;
  const PolluxApplication& application = found->second;
  const int batch = job.spec.batch_size;
  if (batch < application.limits().initial_total || batch > application.limits().total_max)
    return std::nullopt;
  if (where.replicas > std::max(application.replicas_max(batch), 1)) return std::nullopt;
  const auto seconds = application.packed_iteration_time(batch, where.replicas, gpus_per_node_);
  if (!seconds || *seconds <= 0) return std::nullopt;
  return 1 / *seconds;
}

}  // namespace orrery::policies
