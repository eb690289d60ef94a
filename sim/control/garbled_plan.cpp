#include "sim/control/garbled_plan.hpp"

#include <vector>

namespace orrery::sim {
namespace {

JobId any_job(Random& random, const State& state) {
  if (random.chance(0.05)) return JobId{state.next_job().value + 5};
  std::vector<JobId> jobs;
  state.for_each_job([&](const JobState& job) { jobs.push_back(job.row.id); });
  return jobs.empty() ? JobId::none() : jobs[random.below(jobs.size())];
}

// About half of them name nodes, most of these as many replicas as are granted.
void name_nodes(Random& random, const State& state, Plan& plan, Grant& grant) {
  grant.first_node = static_cast<std::uint32_t>(plan.nodes.size());
  std::int32_t left = grant.replicas;
  while (left > 0 && grant.node_count < 4) {
    const auto node = static_cast<std::uint32_t>(
        random.chance(0.05) ? state.nodes.size() + 3 : random.below(state.nodes.size()));
    const auto here = static_cast<std::int32_t>(random.between(1, left));
    plan.nodes.push_back({NodeId{node}, here});
    ++grant.node_count;
    left -= here;
  }
  if (grant.node_count == 0) return;
  if (left > 0) plan.nodes.back().replicas += left;
  if (random.chance(0.05)) plan.nodes.back().replicas += random.chance(0.5) ? 1 : -1;
  if (random.chance(0.02)) grant.node_count += 7;
}

}  // namespace

Plan garbled_plan(Random& random, const State& state) {
  Plan plan;
  for (std::uint64_t left = random.between(1, 3); left > 0; --left) {
    Grant grant;
    grant.job = any_job(random, state);
    const JobState* job = state.find(grant.job);
    const std::int32_t most = job == nullptr ? 1 : job->row.max_replicas;
    grant.replicas = static_cast<std::int32_t>(random.chance(0.9) ? random.between(0, most)
                                                                  : random.between(-1, most + 3));
    if (random.chance(0.01)) grant.replicas = INT32_MAX;
    if (job != nullptr && random.chance(0.1))
      grant.role = RoleIndex{static_cast<std::uint16_t>(random.below(job->role_count() + 1))};
    if (random.chance(0.1))
      grant.beside = any_job(random, state);
    else if (random.chance(0.5) && !state.nodes.empty())
      name_nodes(random, state, plan, grant);
    plan.grants.push_back(grant);
  }
  return plan;
}

void add_grants(const Plan& more, Plan& plan) {
  const auto behind = static_cast<std::uint32_t>(plan.nodes.size());
  plan.nodes.insert(plan.nodes.end(), more.nodes.begin(), more.nodes.end());
  for (Grant grant : more.grants) {
    grant.first_node += behind;
    plan.grants.push_back(grant);
  }
}

}  // namespace orrery::sim
