#include "sim/run/job_parts.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace orrery::sim {

using scenarios::Scenario;
using scenarios::TraceEstimates;

std::int32_t devices_per_node(const Scenario& scenario) {
  std::int32_t most = 1;
  for (const NodeGroup& group : scenario.groups) most = std::max(most, group.devices);
  return most;
}

std::int64_t devices_of(const Scenario& scenario) {
  std::int64_t devices = 0;
  for (const NodeGroup& group : scenario.groups)
    devices += std::int64_t{group.count} * group.devices;
  return devices;
}

RoleSpec rigid_role(std::int32_t gpus, std::int32_t per_node) {
  RoleSpec role;
  role.name = "worker";
  role.bundle.devices = gpus <= per_node ? gpus : std::gcd(gpus, per_node);
  role.min_replicas = role.max_replicas =
      role.bundle.devices == 0 ? 1 : std::max(1, gpus / role.bundle.devices);
  return role;
}

SharedList<RoleSpec> SharedRoles::of(RoleSpec role) {
  for (const SharedList<RoleSpec>& kind : kinds_)
    if (kind.front() == role) return kind;
  SharedList<RoleSpec> fresh{std::move(role)};
  if (kinds_.size() < kinds_max_) return kinds_.emplace_back(std::move(fresh));
  return kinds_[std::exchange(oldest_, (oldest_ + 1) % kinds_max_)] = std::move(fresh);
}

std::shared_ptr<JobSpec> training_job(std::string name) {
  auto spec = std::make_shared<JobSpec>();
  spec->name = std::move(name);
  spec->rescale = RescaleMode::Restart;
  spec->recovery = RecoveryScope::Job;
  return spec;
}

void set_estimate(JobSpec& spec, TraceEstimates estimates, Duration truth, Duration stated) {
  if (estimates == TraceEstimates::None) return;
  const bool oracle = estimates == TraceEstimates::Oracle;
  spec.estimate = oracle ? truth : stated;
  spec.estimate_source = oracle ? EstimateSource::Oracle : EstimateSource::Declared;
}

scenarios::WorkSpec work_for(Duration duration, std::int32_t replicas) {
  scenarios::WorkSpec work;
  work.units = duration.in_seconds();
  work.base_replicas = replicas;
  work.follows_model = true;
  return work;
}

std::string job_name(const std::string& id, std::string& label) {
  std::string name = "default.";
  for (const char c : id)
    name += (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ? c
            : c >= 'A' && c <= 'Z'                           ? static_cast<char>(c - 'A' + 'a')
                                                             : '-';
  if (name.compare(8, std::string::npos, id) != 0) label = id;
  return name;
}

}  // namespace orrery::sim
