#include "core/membership/sizes.hpp"

#include <cstdint>
#include <string>

#include "core/membership/seat_resolution.hpp"
#include "core/membership/seating.hpp"
#include "core/membership/target.hpp"

namespace orrery {

void set_bounds(JobState& job) {
  JobRow& row = job.row;
  const RoleSpec& role = job.spec->roles[row.elastic.index()];
  const std::int32_t target =
      row.elastic.index() < job.targets->size() ? (*job.targets)[row.elastic.index()] : 0;
  if (is_sized_by_policy(job, row.elastic)) {
    row.min_replicas = role.min_replicas;
    row.max_replicas = target > 0 ? target : role.max_replicas;
  } else {
    row.min_replicas = row.max_replicas = job.target(row.elastic);
  }
  if (is_seated(*job.spec)) {
    // Devices that roles share count once, so that what is left beside the elastic role can be
    // negative.
    const std::int32_t devices = devices_at_size(job, row.min_replicas);
    row.rest_devices = devices - row.min_replicas * row.demand.devices;
    row.rest_thousandths =
        std::int64_t{devices} * 1000 - row.min_replicas * row.demand.thousandths();
    return;
  }
  row.rest_devices = 0;
  row.rest_thousandths = 0;
  for (std::size_t r = 0; r < job.role_count(); ++r) {
    const RoleIndex index{static_cast<std::uint16_t>(r)};
    if (index == row.elastic) continue;
    const Bundle& bundle = job.spec->roles[r].bundle;
    row.rest_devices += job.target(index) * bundle.devices;
    row.rest_thousandths += job.target(index) * bundle.thousandths();
  }
}

void judge_feasibility(State& state, JobState& job) {
  std::string why;
  bool feasible = true;
  if (is_seated(*job.spec)) {
    feasible = resolve_seats(state, job, why) == Seating::Sound;
    set_bounds(job);
  } else {
    feasible = state.ledger.could_ever_fit(job.row.demand, job.row.min_replicas);
  }
  for (std::size_t r = 0; r < job.role_count() && feasible; ++r) {
    const RoleIndex role{static_cast<std::uint16_t>(r)};
    const bool elastic = role == job.row.elastic && !is_seated(*job.spec);
    if (!elastic && !job.spec->roles[r].is_seated())
      feasible =
          state.ledger.could_ever_fit(state.demand_of(job.spec->roles[r].bundle), job.target(role));
  }
  job.row.infeasible = !feasible;
}

}  // namespace orrery
