#include "core/membership/places.hpp"

#include <algorithm>
#include <numeric>

#include "core/discovery/port_demand.hpp"
#include "core/job/turns.hpp"
#include "core/membership/placing.hpp"
#include "core/membership/seating.hpp"

namespace orrery {

namespace {

bool have_ports(const Ledger& ledger, std::span<const NodeCount> blocks, std::int32_t ports) {
  return std::all_of(blocks.begin(), blocks.end(), [&](const NodeCount& n) {
    return n.replicas <= ledger.ports().room(n.node, ports);
  });
}

}  // namespace

bool ports_fit(const Ledger& ledger, const JobSpec& spec, std::span<const Placed> added) {
  std::vector<NodeCount> blocks;
  std::int32_t ports = 0;
  for (const Placed& placed : added) {
    const std::int32_t each = ports_of(spec, placed.role);
    if (each == 0) continue;
    ports = each;
    blocks.push_back(placed.at);
  }
  return have_ports(ledger, merged(blocks), ports);
}

std::vector<std::size_t> claim_order(const State& state,
                                     const JobState& job,
                                     std::span<const Placed> added) {
  const bool parts = std::any_of(added.begin(), added.end(), [&](const Placed& placed) {
    return !job.spec->roles[placed.role.index()].bundle.share.is_whole();
  });
  const bool elastic_first = parts && !is_seated(*job.spec) && state.settings.rules >= 1;
  const auto rank = [&](std::size_t i) {
    if (added[i].seat) return 0;
    return elastic_first && added[i].role == job.row.elastic ? 1 : 2;
  };
  std::vector<std::size_t> order(added.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const bool any_seat = std::any_of(
      added.begin(), added.end(), [](const Placed& placed) { return placed.seat.has_value(); });
  if (!elastic_first && !any_seat) return order;
  std::stable_sort(
      order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return rank(a) < rank(b); });
  return order;
}

namespace {

// With whom the worker that is placed may share devices.
TurnKey turns_of(const JobState& job, const Placed& placed) {
  if (placed.beside.is_none()) return turns_of(*job.spec, placed.role);
  return {0, 0, placed.beside};
}

}  // namespace

LeaseId claim(Step& step, const JobState& job, const Placed& placed) {
  const Demand demand = demand_of(step, job, placed.role);
  Ledger& ledger = step.state.ledger;
  if (!placed.seat) return claim_on(step, job, placed.at.node, demand);
  return ledger.claim_seat(job.row.id, demand, *placed.seat, turns_of(job, placed));
}

namespace {

// Before rule 1 it was tried in the order of ranks, and claimed in another.
std::vector<std::size_t> trial_order(const State& state,
                                     const JobState& job,
                                     std::span<const Placed> added) {
  if (state.settings.rules >= 1) return claim_order(state, job, added);
  std::vector<std::size_t> order(added.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  return order;
}

}  // namespace

bool fits_together(Step& step, const JobState& job, const std::vector<Placed>& added) {
  Ledger& ledger = step.state.ledger;
  std::vector<LeaseId> held;
  bool fits = true;
  for (const std::size_t next : trial_order(step.state, job, added)) {
    const Placed& placed = added[next];
    const Demand demand = demand_of(step, job, placed.role);
    for (std::int32_t i = 0; i < placed.at.replicas && fits; ++i) {
      fits = placed.seat ? ledger.seat_fits(*placed.seat, demand, job.row.id, turns_of(job, placed))
                         : replicas_that_fit(ledger.free().at(placed.at.node), demand) >= 1;
      if (fits) held.push_back(claim(step, job, placed));
    }
  }
  for (auto lease = held.rbegin(); lease != held.rend(); ++lease)
    ledger.release(*lease, step.woken);
  return fits && ports_fit(ledger, *job.spec, added);
}

void LedgerTrial::give_up(const JobState& job, std::span<const std::uint8_t> keep) {
  Ledger& ledger = step_.state.ledger;
  const auto release = [&](LeaseId lease) {
    if (!lease.is_none()) ledger.begin_release(lease, step_.woken);
  };
  for (std::size_t rank = 0; rank < job.workers.size(); ++rank)
    if (keep.empty() || keep[rank] == 0) release(job.workers[rank].lease);
  for (std::size_t i = 0; keep.empty() && i < job.next.size(); ++i)
    if (job.next_from[i] == kNew) release(job.next[i].lease);
}

void LedgerTrial::take(const JobState& job, std::span<const Placed> added) {
  for (const std::size_t i : claim_order(step_.state, job, added))
    for (std::int32_t n = 0; n < added[i].at.replicas; ++n) (void)claim(step_, job, added[i]);
}

bool fits_after(Step& step, const JobState& job, const MembershipChange& change) {
  LedgerTrial trial(step);
  trial.give_up(job, present_after(change));
  return fits_together(step, job, change.added);
}

bool fits_there(const Ledger& ledger, const Demand& demand, std::span<const NodeCount> nodes) {
  return std::all_of(nodes.begin(), nodes.end(), [&](const NodeCount& n) {
    return n.node.index() < ledger.node_count() &&
           replicas_that_fit(ledger.free().at(n.node), demand) >= n.replicas;
  });
}

namespace {

// As find_places, but ports are not looked at.
bool find_room(Step& step,
               const JobState& job,
               std::int32_t replicas,
               std::span<const NodeCount> elastic_nodes,
               std::vector<Placed>& out) {
  if (is_seated(*job.spec)) return find_seats(step, job, replicas, out);
  std::vector<NodeCount> nodes;
  const auto append = [&](RoleIndex role) {
    for (const NodeCount& n : nodes) out.push_back({role, n});
  };
  Ledger& ledger = step.state.ledger;
  if (!elastic_nodes.empty()) {
    if (!fits_there(ledger, job.row.demand, merged(elastic_nodes))) return false;
    nodes.assign(elastic_nodes.begin(), elastic_nodes.end());
  } else if (!find_nodes(step, job, job.row.demand, replicas, nodes)) {
    return false;
  }
  append(job.row.elastic);
  if (job.role_count() == 1) return true;
  // Roles are placed one after the other on what the ones before left: claimed for the moment.
  std::vector<LeaseId> held;
  bool fits = true;
  const auto hold = [&](const Demand& demand) {
    for (const NodeCount& n : nodes)
      for (std::int32_t i = 0; i < n.replicas; ++i)
        held.push_back(claim_on(step, job, n.node, demand));
  };
  hold(job.row.demand);
  for (std::size_t r = 0; r < job.role_count() && fits; ++r) {
    const RoleIndex role{static_cast<std::uint16_t>(r)};
    if (role == job.row.elastic) continue;
    const Demand demand = demand_of(step, job, role);
    nodes.clear();
    fits = find_nodes(step, job, demand, job.target(role), nodes);
    if (!fits) break;
    append(role);
    hold(demand);
  }
  for (auto lease = held.rbegin(); lease != held.rend(); ++lease)
    ledger.release(*lease, step.woken);
  if (fits)
    std::stable_sort(
        out.begin(), out.end(), [](const Placed& a, const Placed& b) { return a.role < b.role; });
  return fits;
}

}  // namespace

bool find_places(Step& step,
                 const JobState& job,
                 std::int32_t replicas,
                 std::span<const NodeCount> elastic_nodes,
                 std::vector<Placed>& out) {
  if (!find_room(step, job, replicas, elastic_nodes, out)) return false;
  if (ports_fit(step.state.ledger, *job.spec, out)) return true;
  step.state.due.ports_wanted = true;
  return false;
}

}  // namespace orrery
