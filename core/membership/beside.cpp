#include "core/membership/beside.hpp"

#include <algorithm>
#include <bit>

#include "core/base/coverage_mark.hpp"
#include "core/job/turns.hpp"
#include "core/membership/places.hpp"

namespace orrery {
namespace {

/// A worker that has a place, or will have it in the membership to come.
struct Member {
  std::int32_t local_rank = 0;
  LeaseId lease;  ///< None: it has given its place back.
};

std::vector<Member> members_of(const JobState& job) {
  std::vector<Member> members;
  if (job.after_drain != AfterDrain::Start) {
    for (const Worker& worker : job.workers) members.push_back({worker.local_rank, worker.lease});
    return members;
  }
  // What those who stay hold is known of them as they are now.
  for (std::size_t i = 0; i < job.next.size(); ++i) {
    const std::uint32_t from = job.next_from[i];
    const Worker& holder = from == kNew ? job.next[i] : job.workers[from];
    members.push_back({job.next[i].local_rank, holder.lease});
  }
  return members;
}

bool can_share(const JobState& job) {
  return job.role_count() == 1 && !job.row.elastic.is_none() && !is_seated(*job.spec) &&
         job.row.demand.devices > 0 && job.row.demand.share.is_whole();
}

// The other job on the devices of the lease. Jobs with parts of one device are no partners; up to
// rules 3 they were, where any two of the node were.
JobId partner_on(const State& state, const Lease& lease) {
  const LedgerNode& node = state.ledger.node(lease.node);
  if (node.beside == 0) return JobId::none();
  const bool any = state.settings.rules < 4;
  for (LeaseId l = node.first; !l.is_none(); l = state.ledger.lease(l).next) {
    const Lease& other = state.ledger.lease(l);
    if (other.owner != lease.owner && other.stage != LeaseStage::Releasing &&
        (other.devices & lease.devices) != 0 &&
        (any || other.turns.beside == lease.owner || lease.turns.beside == other.owner))
      return other.owner;
  }
  return JobId::none();
}

}  // namespace

JobId partner_of(const State& state, const JobState& job) {
  if (state.ledger.beside() == 0) return JobId::none();
  for (const Member& member : members_of(job)) {
    if (member.lease.is_none()) continue;
    const Lease& lease = state.ledger.lease(member.lease);
    if (lease.stage == LeaseStage::Releasing) continue;
    const JobId partner = partner_on(state, lease);
    if (!partner.is_none()) return partner;
  }
  return JobId::none();
}

bool find_places_beside(Step& step,
                        const JobState& job,
                        std::int32_t replicas,
                        JobId host_id,
                        std::vector<Placed>& out) {
  const JobState* const host = step.state.find(host_id);
  if (host == nullptr || host_id == job.row.id || !host->row.holds ||
      host->after_drain == AfterDrain::Wait || !can_share(job) || !can_share(*host))
    return false;
  const Ledger& ledger = step.state.ledger;
  std::vector<Placed> places(static_cast<std::size_t>(replicas));
  std::int32_t found = 0;
  for (const Member& member : members_of(*host)) {
    if (member.lease.is_none() || member.local_rank >= replicas) return false;
    const Lease& lease = ledger.lease(member.lease);
    const JobId partner = partner_on(step.state, lease);
    if (lease.stage == LeaseStage::Releasing ||
        std::popcount(lease.devices) != job.row.demand.devices ||
        !(partner.is_none() || partner == job.row.id))
      return false;
    Placed& place = places[static_cast<std::size_t>(member.local_rank)];
    place.role = job.row.elastic;
    place.at = {lease.node, 1};
    place.seat = Seat{lease.node, lease.devices, 0, Share{}};
    place.beside = host_id;
    ++found;
  }
  if (found != replicas || !fits_together(step, job, places)) return false;
  reached(Mark::PutBeside);
  out.insert(out.end(), places.begin(), places.end());
  return true;
}

}  // namespace orrery
