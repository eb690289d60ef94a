#include "core/membership/seating.hpp"

#include <algorithm>

#include "core/job/turns.hpp"
#include "core/membership/places.hpp"
#include "core/membership/placing.hpp"
#include "core/placement/reservation.hpp"
#include "core/vcluster/seats.hpp"

namespace orrery {
namespace {

// Claims for the time of a search; all of it is given back at its end.
class TrialClaims {
 public:
  TrialClaims(Step& step, const JobState& job) : step_(step), job_(job) {}

  TrialClaims(const TrialClaims&) = delete;
  TrialClaims& operator=(const TrialClaims&) = delete;

  ~TrialClaims() {
    for (auto lease = held_.rbegin(); lease != held_.rend(); ++lease)
      step_.state.ledger.release(*lease, step_.woken);
  }

  bool take(const Placed& placed) {
    const Ledger& ledger = step_.state.ledger;
    const Demand demand = demand_of(step_, job_, placed.role);
    if (placed.seat &&
        !ledger.seat_fits(*placed.seat, demand, job_.row.id, turns_of(*job_.spec, placed.role)))
      return false;
    for (std::int32_t i = 0; i < placed.at.replicas; ++i) {
      if (!placed.seat && replicas_that_fit(ledger.free().at(placed.at.node), demand) < 1)
        return false;
      held_.push_back(claim(step_, job_, placed));
    }
    return true;
  }

 private:
  Step& step_;
  const JobState& job_;
  std::vector<LeaseId> held_;
};

Placed placed_on(RoleIndex role, const Seat& seat) { return {role, {seat.node, 1}, seat}; }

bool take_pinned(const JobState& job,
                 std::int32_t replicas,
                 TrialClaims& claims,
                 std::vector<Placed>& out) {
  for (std::size_t r = 0; r < job.role_count(); ++r) {
    if (job.spec->roles[r].placements.empty()) continue;
    const RoleIndex role{static_cast<std::uint16_t>(r)};
    const std::span<const Seat> seats = seats_at(job, role, size_of(job, role, replicas));
    if (seats.empty()) return false;
    for (const Seat& seat : seats)
      if (!claims.take(out.emplace_back(placed_on(role, seat)))) return false;
  }
  return true;
}

bool take_virtual_clusters(Step& step,
                           const JobState& job,
                           TrialClaims& claims,
                           std::vector<Placed>& out) {
  const JobSpec& spec = *job.spec;
  if (spec.virtual_clusters.empty()) return true;
  const vcluster::Forming forming =
      placer_of(step.state).form(node_offers(step.state), requests_of(step.state, spec));
  if (forming.outcome != vcluster::Outcome::Formed) return false;
  for (std::size_t r = 0; r < spec.roles.size(); ++r) {
    const RoleIndex role{static_cast<std::uint16_t>(r)};
    for (const Seat& seat : worker_group_seats(spec, role, forming))
      if (!claims.take(out.emplace_back(placed_on(role, seat)))) return false;
  }
  return true;
}

bool take_others(Step& step,
                 const JobState& job,
                 std::int32_t replicas,
                 TrialClaims& claims,
                 std::vector<Placed>& out) {
  for (std::size_t r = 0; r < job.role_count(); ++r) {
    if (job.spec->roles[r].is_seated()) continue;
    const RoleIndex role{static_cast<std::uint16_t>(r)};
    std::vector<NodeCount> nodes;
    if (!find_nodes(step, job, demand_of(step, job, role), size_of(job, role, replicas), nodes))
      return false;
    for (const NodeCount& n : nodes)
      if (!claims.take(out.emplace_back(Placed{role, n}))) return false;
  }
  return true;
}

}  // namespace

std::int32_t size_of(const JobState& job, RoleIndex role, std::int32_t replicas) {
  return role == job.row.elastic ? replicas : job.target(role);
}

std::span<const Seat> seats_at(const JobState& job, RoleIndex role, std::int32_t replicas) {
  for (const SizedSeats& sized : *job.seats)
    if (sized.role == role && static_cast<std::int32_t>(sized.seats.size()) == replicas)
      return sized.seats;
  return {};
}

std::int32_t size_at_most(const JobSpec& spec, RoleIndex role, std::int32_t replicas) {
  const RoleSpec& self = spec.roles[role.index()];
  if (self.placements.empty()) return replicas;
  std::int32_t best = 0;
  for (const RolePlacement& placement : self.placements)
    if (placement.replicas <= replicas) best = std::max(best, placement.replicas);
  return best;
}

std::string sizes_text(const RoleSpec& role) {
  std::string text;
  for (std::size_t i = 0; i < role.placements.size(); ++i)
    text += (i == 0                            ? ""
             : i + 1 == role.placements.size() ? " or "
                                               : ", ") +
            std::to_string(role.placements[i].replicas);
  return text;
}

bool find_seats(Step& step, const JobState& job, std::int32_t replicas, std::vector<Placed>& out) {
  const std::size_t mark = out.size();
  TrialClaims claims(step, job);
  if (take_pinned(job, replicas, claims, out) && take_virtual_clusters(step, job, claims, out) &&
      take_others(step, job, replicas, claims, out)) {
    std::stable_sort(out.begin() + static_cast<std::ptrdiff_t>(mark),
                     out.end(),
                     [](const Placed& a, const Placed& b) { return a.role < b.role; });
    return true;
  }
  out.resize(mark);
  return false;
}

std::vector<vcluster::BundleRequest> requests_of(const State& state, const JobSpec& spec) {
  std::vector<vcluster::BundleRequest> requests;
  for (const VirtualClusterSpec& cluster : spec.virtual_clusters)
    requests.push_back({&cluster,
                        cluster.device_model.empty() ? DeviceModelId::none()
                                                     : state.model_named(cluster.device_model)});
  return requests;
}

std::vector<Seat> worker_group_seats(const JobSpec& spec,
                                     RoleIndex role,
                                     const vcluster::Forming& forming) {
  const WorkerGroupSpec& group = spec.roles[role.index()].workers;
  std::vector<Seat> seats;
  for (std::size_t v = 0; group.is_set() && v < spec.virtual_clusters.size(); ++v)
    if (spec.virtual_clusters[v].name == group.virtual_cluster)
      for (const vcluster::WorkerSeat& worker :
           vcluster::worker_seats(spec.virtual_clusters[v], group, forming.clusters[v]))
        seats.push_back(worker.seat);
  return seats;
}

bool sits_right(const JobState& job, const Worker& worker, std::int32_t replicas) {
  const std::span<const Seat> seats = seats_at(job, worker.role, replicas);
  if (worker.local_rank >= static_cast<std::int32_t>(seats.size())) return false;
  const Seat& seat = seats[static_cast<std::size_t>(worker.local_rank)];
  return seat == Seat{worker.node, worker.devices, worker.hardware, worker.share};
}

void add_missing_seats(const JobState& job,
                       RoleIndex role,
                       std::int32_t replicas,
                       std::span<const std::uint8_t> kept,
                       std::vector<Placed>& out) {
  const std::span<const Seat> seats = seats_at(job, role, replicas);
  std::vector<std::uint8_t> taken(seats.size(), 0);
  for (std::size_t rank = 0; rank < job.workers.size(); ++rank) {
    const Worker& worker = job.workers[rank];
    if (worker.role == role && kept[rank] != 0 &&
        worker.local_rank < static_cast<std::int32_t>(seats.size()))
      taken[static_cast<std::size_t>(worker.local_rank)] = 1;
  }
  for (std::size_t i = 0; i < seats.size(); ++i)
    if (taken[i] == 0) out.push_back(placed_on(role, seats[i]));
}

bool seats_fit_instead(const State& state, const JobState& job, std::span<const Placed> places) {
  return std::all_of(places.begin(), places.end(), [&](const Placed& placed) {
    const Bundle& bundle = job.spec->roles[placed.role.index()].bundle;
    const Demand demand{bundle.cpu, bundle.memory, bundle.devices, bundle.share, {}};
    return placed.seat &&
           state.ledger.seat_fits(
               *placed.seat, demand, job.row.id, turns_of(*job.spec, placed.role), job.row.id);
  });
}

namespace {

// What workers have: the seats of some, and what the bundles of the others say.
struct Occupied {
  std::vector<Seat> seats;
  std::int32_t devices = 0;
  std::int64_t thousandths = 0;
};

Occupied occupied(const JobState& job, std::span<const Worker> workers) {
  Occupied out;
  for (const Worker& worker : workers) {
    const RoleSpec& role = job.spec->roles[worker.role.index()];
    if (role.is_seated()) {
      out.seats.push_back({worker.node, worker.devices, worker.hardware, worker.share});
    } else {
      out.devices += role.bundle.devices;
      out.thousandths += role.bundle.thousandths();
    }
  }
  return out;
}

}  // namespace

std::int32_t distinct_devices(const JobState& job, std::span<const Worker> workers) {
  const Occupied all = occupied(job, workers);
  return all.devices + placement::distinct_devices(all.seats);
}

std::int64_t held_thousandths(const JobState& job, std::span<const Worker> workers) {
  const Occupied all = occupied(job, workers);
  return all.thousandths + placement::distinct_thousandths(all.seats);
}

std::int32_t devices_at_size(const JobState& job, std::int32_t replicas) {
  const JobSpec& spec = *job.spec;
  std::vector<Seat> seats;
  std::int32_t devices = 0;
  for (std::size_t r = 0; r < spec.roles.size(); ++r) {
    const RoleIndex role{static_cast<std::uint16_t>(r)};
    const std::int32_t size = size_of(job, role, replicas);
    if (!spec.roles[r].placements.empty()) {
      const std::span<const Seat> more = seats_at(job, role, size);
      seats.insert(seats.end(), more.begin(), more.end());
    } else if (!rides(spec, role)) {
      devices += size * spec.roles[r].bundle.devices;
    }
  }
  return devices + placement::distinct_devices(seats);
}

std::vector<vcluster::NodeOffer> node_offers(const State& state) {
  std::vector<vcluster::NodeOffer> offers;
  offers.reserve(state.nodes.size());
  for (std::size_t n = 0; n < state.nodes.size(); ++n) {
    const NodeId id{static_cast<std::uint32_t>(n)};
    const LedgerNode& node = state.ledger.node(id);
    const NodeFree& free = state.ledger.free().at(id);
    const std::uint64_t all =
        node.devices == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << node.devices) - 1;
    offers.push_back({id,
                      node.whole_unclaimed,
                      all,
                      node.devices > 0 ? node.model : DeviceModelId::none(),
                      free.cpu,
                      node.cpu,
                      free.memory,
                      node.memory,
                      state.nodes[n].rack,
                      state.nodes[n].nvlink_domain,
                      node.usable});
  }
  return offers;
}

}  // namespace orrery
