// What the jobs of traces and generators are made of.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/base/units.hpp"
#include "core/job/spec.hpp"
#include "scenarios/language/spec/scenario.hpp"
#include "sim/results/summary.hpp"

namespace orrery::sim {

/// Devices on the largest node, at least 1: what one replica of a big job takes.
std::int32_t devices_per_node(const scenarios::Scenario& scenario);

/// Devices of all nodes.
std::int64_t devices_of(const scenarios::Scenario& scenario);

/// A rigid job as processes that each fit on a node: whole nodes where it can be, else the largest
/// equal parts.
RoleSpec rigid_role(std::int32_t gpus, std::int32_t per_node);

/// Makes one list of the roles of jobs that ask for the same: what differs between the jobs of a
/// trace is seldom that.
class SharedRoles {
 public:
  /// Knows the latest `kinds_max` kinds, at least 1; each is compared.
  explicit SharedRoles(std::size_t kinds_max = 32) : kinds_max_(kinds_max) {}

  /// A list of this role alone; one that was made before where it is among the latest kinds.
  SharedList<RoleSpec> of(RoleSpec role);

 private:
  std::size_t kinds_max_;
  std::vector<SharedList<RoleSpec>> kinds_;
  std::size_t oldest_ = 0;
};

/// What every such job has in common: data-parallel training that restarts from its checkpoint when
/// it moves or loses a worker.
std::shared_ptr<JobSpec> training_job(std::string name);

/// Tells `spec` what policies may know: nothing, the `truth`, or what is `stated`.
void set_estimate(JobSpec& spec,
                  scenarios::TraceEstimates estimates,
                  Duration truth,
                  Duration stated);

/// Work that takes `duration` with so many replicas.
scenarios::WorkSpec work_for(Duration duration, std::int32_t replicas);

/// A full job name made of a trace's own id; the id itself goes to `label` where they differ.
std::string job_name(const std::string& id, std::string& label);

/// Keeps the first `limit` of `jobs` (0: all) and counts the others.
template <class Jobs>
void keep_first(Jobs& jobs, std::int64_t limit, WorkloadAccount& account) {
  if (limit <= 0 || jobs.size() <= static_cast<std::size_t>(limit)) return;
  account.dropped.push_back({"beyond-limit", jobs.size() - static_cast<std::size_t>(limit)});
  jobs.resize(static_cast<std::size_t>(limit));
}

}  // namespace orrery::sim
