#include "core/membership/sizes.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/cluster/gang_fit.hpp"
#include "core/job/turns.hpp"
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

namespace {

// What the seats of the job at its least size take of one node.
struct SeatedHere {
  std::uint64_t devices = 0;  // Bit i: device i, which no other role can have a part of.
  MilliCpu cpu;
  Bytes memory;
};

// The declared nodes without what the job's own placements take there. Virtual clusters may be
// formed in many ways, so that they take nothing from any one node.
std::vector<NodeKind> nodes_beside_seats(const State& state, const JobState& job) {
  std::map<NodeId, SeatedHere> seated;
  for (const SizedSeats& sized : *job.seats) {
    if (static_cast<std::int32_t>(sized.seats.size()) !=
        size_of(job, sized.role, job.row.min_replicas))
      continue;
    const Bundle& bundle = job.spec->roles[sized.role.index()].bundle;
    for (const Seat& seat : sized.seats) {
      SeatedHere& here = seated[seat.node];
      if (seat.share.is_whole()) here.devices |= seat.devices;
      here.cpu = here.cpu + bundle.cpu;
      here.memory = here.memory + bundle.memory;
    }
  }
  std::vector<NodeKind> kinds = state.ledger.kinds();
  for (const auto& [id, here] : seated) {
    const LedgerNode& node = state.ledger.node(id);
    NodeFree rest{node.cpu, node.memory, node.devices, 0, node.model, true};
    const auto kind = std::find_if(
        kinds.begin(), kinds.end(), [&](const NodeKind& other) { return other.free == rest; });
    --kind->count;
    rest.cpu.count = std::max<std::int64_t>(0, node.cpu.count - here.cpu.count);
    rest.memory.count = std::max<std::int64_t>(0, node.memory.count - here.memory.count);
    rest.devices -= std::popcount(here.devices);
    kinds.push_back({rest, 1});
  }
  return kinds;
}

// Whether the roles that sit anywhere could do so all at once. A role by itself may fit, and be in
// the way of the next one for ever.
bool roles_may_fit_together(State& state, const JobState& job) {
  std::vector<GangRole> gang;
  for (std::size_t r = 0; r < job.role_count(); ++r) {
    const RoleIndex role{static_cast<std::uint16_t>(r)};
    if (job.spec->roles[r].is_seated()) continue;
    gang.push_back(
        {state.demand_of(job.spec->roles[r].bundle), size_of(job, role, job.row.min_replicas)});
  }
  if (gang.empty()) return true;
  if (!is_seated(*job.spec)) return may_fit_together(state.ledger.kinds(), gang);
  return may_fit_together(nodes_beside_seats(state, job), gang);
}

}  // namespace

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
  if (feasible && job.role_count() > 1 && state.settings.rules >= 4)
    feasible = roles_may_fit_together(state, job);
  job.row.infeasible = !feasible;
}

}  // namespace orrery
