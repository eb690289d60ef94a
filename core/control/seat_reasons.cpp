#include "core/control/seat_reasons.hpp"

#include "core/job/turns.hpp"
#include "core/membership/seat_resolution.hpp"
#include "core/membership/seating.hpp"
#include "core/placement/reservation.hpp"

namespace orrery {
namespace {

// Who has a part of what the seat names: the first job other than this one; none where none has.
JobId holder_of(const State& state, const JobState& job, const Seat& seat) {
  const Ledger& ledger = state.ledger;
  for (LeaseId l = ledger.node(seat.node).first; !l.is_none(); l = ledger.lease(l).next) {
    const Lease& lease = ledger.lease(l);
    const bool meets = (lease.devices & seat.devices) != 0 || (lease.hardware & seat.hardware) != 0;
    if (meets && lease.owner != job.row.id && lease.stage != LeaseStage::Releasing)
      return lease.owner;
  }
  return JobId::none();
}

std::string why_seat_is_taken(const State& state,
                              const JobState& job,
                              RoleIndex role,
                              const Seat& seat) {
  const RoleSpec& self = job.spec->roles[role.index()];
  // Placements count nodes, and everything else calls them by their names.
  const std::string& name = state.nodes[seat.node.index()].name;
  const std::string also = name.empty() ? "" : " (" + name + ")";
  const std::string node = "node " + std::to_string(seat.node.value) + also;
  if (state.nodes[seat.node.index()].spare)
    return "role " + self.name + " waits for " + node +
           ", which stands by as a spare until another node fails; submit the job anew for nodes "
           "that are in use";
  if (!state.ledger.node(seat.node).usable)
    return "role " + self.name + " waits for " + node + ", which is not usable";
  const Demand demand{self.bundle.cpu, self.bundle.memory, self.bundle.devices, {}, {}};
  if (state.ledger.seat_fits(seat, demand, job.row.id, turns_of(*job.spec, role))) return {};
  const JobId holder = holder_of(state, job, seat);
  if (holder.is_none())
    return "role " + self.name + " waits for CPU or memory of " + node + ", which others use";
  const std::string what =
      (seat.devices | seat.hardware) == 0
          ? node
          : placement::describe({seat.node, seat.devices, seat.hardware}) + also;
  return "role " + self.name + " waits for " + what + "; job " + state.job(holder).spec->name +
         " holds that, or a part of it";
}

}  // namespace

std::string why_not_seated(const State& state, const JobState& job) {
  if (job.row.infeasible) {
    JobState again;
    again.spec = job.spec;
    std::string why;
    resolve_seats(state, again, why);
    return why;
  }
  for (const SizedSeats& sized : *job.seats) {
    const std::int32_t size = size_of(job, sized.role, job.row.min_replicas);
    if (static_cast<std::int32_t>(sized.seats.size()) != size) continue;
    for (const Seat& seat : sized.seats)
      if (std::string why = why_seat_is_taken(state, job, sized.role, seat); !why.empty())
        return why;
  }
  if (job.spec->virtual_clusters.empty()) return {};
  return vcluster::form(node_offers(state), requests_of(state, *job.spec)).reason;
}

}  // namespace orrery
