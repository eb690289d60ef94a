#include "core/membership/seat_trial.hpp"

#include <algorithm>
#include <bit>
#include <map>

#include "core/job/turns.hpp"
#include "core/membership/placing.hpp"
#include "core/membership/seating.hpp"

namespace orrery {
namespace {

// What the job's seats take on one node together.
struct Taken {
  std::uint64_t devices = 0;
  MilliCpu cpu;
  Bytes memory;
};

// Takes seats from a trial node by node. A trial knows how many devices are free and not which.
// Where it has changed the node, a seat may be on devices that are held now if all who hold them
// gave all that they have there. A trial of what is expected later knows nothing of who will hold
// what.
class SeatTrial {
 public:
  SeatTrial(const State& state, const JobState& job, CapacityTrial& trial)
      : state_(state), job_(job), trial_(trial) {}

  bool take(RoleIndex role, std::span<const Seat> seats) {
    const Bundle& bundle = job_.spec->roles[role.index()].bundle;
    const Demand demand{bundle.cpu, bundle.memory, bundle.devices, bundle.share, {}};
    for (const Seat& seat : seats) {
      const bool unchanged = is_unchanged(seat.node);
      if (unchanged &&
          !state_.ledger.seat_fits(seat, demand, job_.row.id, turns_of(*job_.spec, role)))
        return false;
      Taken& here = taken_[seat.node];
      if (!unchanged && trial_.is_of_now() && !may_come_free(seat, bundle.share)) return false;
      here.devices |= seat.devices;
      here.cpu = here.cpu + bundle.cpu;
      here.memory = here.memory + bundle.memory;
    }
    return true;
  }

  // Enters what was taken so far into the trial.
  bool commit() {
    for (const auto& [node, taken] : taken_) {
      const NodeFree& free = trial_.index().at(node);
      Demand demand{taken.cpu, taken.memory, std::popcount(taken.devices), {}, {}};
      // A device of which somebody else has a part is taken as far as the count goes.
      if (is_unchanged(node)) demand.devices = std::min(demand.devices, free.devices);
      if (!free.usable || replicas_that_fit(free, demand) < 1) return false;
      trial_.take(node, demand, 1);
    }
    taken_.clear();
    return true;
  }

  // What nodes offer in the trial.
  std::vector<vcluster::NodeOffer> offers() const {
    std::vector<vcluster::NodeOffer> offers = node_offers(state_);
    for (vcluster::NodeOffer& offer : offers) {
      if (is_unchanged(offer.node)) continue;
      const NodeFree& free = trial_.index().at(offer.node);
      offer.cpu_free = free.cpu;
      offer.memory_free = free.memory;
      while (std::popcount(offer.free_devices) > free.devices)
        offer.free_devices &= offer.free_devices - 1;
      const std::uint64_t staying = trial_.is_of_now() ? kept_on(offer.node) : 0;
      while (std::popcount(offer.free_devices) < free.devices) {
        const std::uint64_t more = offer.all_devices & ~offer.free_devices & ~staying;
        if (more == 0) break;
        offer.free_devices |= more & (~more + 1);
      }
    }
    return offers;
  }

 private:
  // Thousandths of the devices of a mask that other jobs hold and have not given.
  std::int64_t kept_on(NodeId node, std::uint64_t devices) const {
    std::int64_t kept = 0;
    for (LeaseId l = state_.ledger.node(node).first; !l.is_none();) {
      const Lease& lease = state_.ledger.lease(l);
      l = lease.next;
      if (lease.owner == job_.row.id || lease.stage == LeaseStage::Releasing) continue;
      const std::uint64_t common = lease.devices & devices;
      if (common == 0 || trial_.gave(node, lease.owner)) continue;
      kept += std::int64_t{std::popcount(common)} * lease.demand.share.thousandths;
    }
    return kept;
  }

  std::uint64_t kept_on(NodeId node) const {
    std::uint64_t kept = 0;
    for (std::int32_t i = 0; i < state_.ledger.node(node).devices; ++i)
      if (kept_on(node, std::uint64_t{1} << i) > 0) kept |= std::uint64_t{1} << i;
    return kept;
  }

  // Leases that take turns, or lie beside each other, hold a device together.
  bool may_come_free(const Seat& seat, Share share) const {
    constexpr std::int64_t kWhole = 1000;
    for (std::uint64_t left = seat.devices; left != 0; left &= left - 1) {
      const std::int64_t kept = kept_on(seat.node, left & (~left + 1));
      if (std::min(kept, kWhole) + share.thousandths > kWhole) return false;
    }
    return true;
  }

  bool is_unchanged(NodeId node) const {
    return trial_.index().at(node) == state_.ledger.free().at(node);
  }

  const State& state_;
  const JobState& job_;
  CapacityTrial& trial_;
  std::map<NodeId, Taken> taken_;
};

void append_counts(std::span<const Seat> seats, std::vector<NodeCount>& out) {
  std::map<NodeId, std::int32_t> counts;
  for (const Seat& seat : seats) ++counts[seat.node];
  for (const auto& [node, count] : counts) out.push_back({node, count});
}

// What one replica of a role takes that has no seat. Devices that a role shares with another by
// taking turns are counted with that one only.
Demand anywhere(const State& state, const JobSpec& spec, RoleIndex role) {
  const Bundle& bundle = spec.roles[role.index()].bundle;
  return {
      bundle.cpu,
      bundle.memory,
      rides(spec, role) ? 0 : bundle.devices,
      bundle.share,
      bundle.device_model.empty() ? DeviceModelId::none() : state.model_named(bundle.device_model)};
}

}  // namespace

bool try_seats(const State& state,
               const JobState& job,
               std::int32_t replicas,
               CapacityTrial& trial,
               std::vector<NodeCount>& elastic) {
  const JobSpec& spec = *job.spec;
  const std::int32_t size = size_at_most(spec, job.row.elastic, replicas);
  const std::size_t mark = elastic.size();
  const std::size_t tried = trial.mark();
  SeatTrial seats(state, job, trial);
  const auto each_role = [&](const auto& act) {
    for (std::size_t r = 0; r < spec.roles.size(); ++r)
      if (!act(RoleIndex{static_cast<std::uint16_t>(r)}, spec.roles[r])) return false;
    return true;
  };
  const auto pin = [&](RoleIndex role, const RoleSpec& self) {
    if (self.placements.empty()) return true;
    const std::span<const Seat> mine = seats_at(job, role, size_of(job, role, size));
    if (role == job.row.elastic) append_counts(mine, elastic);
    return !mine.empty() && seats.take(role, mine);
  };
  const auto form = [&] {
    if (spec.virtual_clusters.empty()) return true;
    const vcluster::Forming forming =
        placer_of(state).form(seats.offers(), requests_of(state, spec));
    if (forming.outcome != vcluster::Outcome::Formed) return false;
    return each_role([&](RoleIndex role, const RoleSpec&) {
      const std::vector<Seat> mine = worker_group_seats(spec, role, forming);
      if (role == job.row.elastic) append_counts(mine, elastic);
      return seats.take(role, mine);
    });
  };
  const auto gang = [&](RoleIndex role, const RoleSpec& self) {
    if (self.is_seated()) return true;
    std::vector<NodeCount> nodes;
    const PlacementRequest request =
        placement_of(state, job, anywhere(state, spec, role), size_of(job, role, size));
    if (!placer_of(state).place(request, trial, nodes)) return false;
    if (role == job.row.elastic) elastic.insert(elastic.end(), nodes.begin(), nodes.end());
    return true;
  };
  if (size >= job.row.min_replicas && each_role(pin) && seats.commit() && form() &&
      seats.commit() && each_role(gang))
    return true;
  trial.undo(tried);
  elastic.resize(mark);
  return false;
}

}  // namespace orrery
