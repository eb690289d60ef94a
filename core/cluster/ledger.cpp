#include "core/cluster/ledger.hpp"

#include <algorithm>
#include <bit>
#include <span>

#include "core/base/invariant.hpp"
#include "core/base/planted.hpp"

namespace orrery {
namespace {

bool takes_share(const Demand& demand) { return demand.devices == 1 && !demand.share.is_whole(); }

constexpr std::uint64_t bit(int device) { return std::uint64_t{1} << device; }

constexpr std::uint64_t low_bits(int count) {
  return count == 64 ? ~std::uint64_t{0} : bit(count) - 1;
}

// Units of a node: its devices, then its custom hardware.
constexpr int kHardware = 64;

// Thousandths of the unit that the lease takes.
std::int32_t amount_of(const Lease& lease, int unit) {
  if (unit >= kHardware)
    return (lease.hardware & bit(unit - kHardware)) == 0 ? 0 : lease.hardware_share.thousandths;
  if ((lease.devices & bit(unit)) == 0) return 0;
  return takes_share(lease.demand) ? lease.demand.share.thousandths : 1000;
}

// Whether what the index has for the node follows from the demand alone.
bool is_plain(const LedgerNode& node, const Lease& lease) {
  return !takes_share(lease.demand) && lease.turns.group == 0 && node.beside == 0;
}

// Whether a lease that is not Claimed has its devices to itself: it takes them whole, and only what
// is Claimed may wait for them. Its neighbours need no look then, each of which is a line of
// memory.
bool is_alone(const LedgerNode& node, const Lease& lease) {
  return node.claimed == 0 && is_plain(node, lease);
}

// What leases that take turns use of one unit: members of a group one at a time.
class TurnSums {
 public:
  void add(const Lease& lease, std::int32_t amount) {
    for (Sum& sum : sums_) {
      if (sum.owner != lease.owner || sum.turns != lease.turns) continue;
      sum.amount += amount;
      return;
    }
    sums_.push_back({lease.owner, lease.turns, amount});
  }

  // The largest member of each group, summed over groups.
  std::int32_t total() const {
    std::int32_t total = 0;
    for (const Sum& sum : sums_)
      if (is_largest(sum)) total += sum.amount;
    return total;
  }

 private:
  struct Sum {
    JobId owner;
    TurnKey turns;
    std::int32_t amount = 0;
  };

  bool is_largest(const Sum& sum) const {
    return std::none_of(sums_.begin(), sums_.end(), [&](const Sum& other) {
      return other.owner == sum.owner && other.turns.group == sum.turns.group &&
             (other.amount > sum.amount ||
              (other.amount == sum.amount && other.turns.member < sum.turns.member));
    });
  }

  std::vector<Sum> sums_;
};

// What leases use of one unit where some sit beside another job's: two that do count once, a third
// beside either of them counts anew.
class BesideSums {
 public:
  void add(const Lease& lease, std::int32_t amount) {
    const auto pairs_with = [&](const Seated& other) {
      return !other.is_joined && other.owner != lease.owner && other.amount == amount &&
             (lease.turns.beside == other.owner || other.beside == lease.owner);
    };
    const auto other = std::find_if(seated_.begin(), seated_.end(), pairs_with);
    if (other != seated_.end()) {
      other->is_joined = true;
      return;
    }
    seated_.push_back({lease.owner, lease.turns.beside, amount, false});
    total_ += amount;
  }

  std::int32_t total() const { return total_; }

 private:
  struct Seated {
    JobId owner;
    JobId beside;
    std::int32_t amount = 0;
    bool is_joined = false;
  };

  std::vector<Seated> seated_;
  std::int32_t total_ = 0;
};

}  // namespace

NodeId Ledger::add_node(const NodeGroup& group, DeviceModelId model) {
  LedgerNode node;
  node.cpu = node.cpu_unused = group.cpu;
  node.memory = node.memory_unused = group.memory;
  node.devices = group.devices;
  node.model = model;
  node.whole_unclaimed = node.whole_unused = low_bits(group.devices);
  for (const HardwareCount& hardware : group.hardware) node.hardware += hardware.count;
  nodes_.push_back(node);
  ports_.declare(NodeId{static_cast<std::uint32_t>(nodes_.size() - 1)}, group.ports);
  count_kind(node);
  devices_usable_ += group.devices;
  devices_total_ += group.devices;
  return free_.add({group.cpu, group.memory, group.devices, 0, model, true});
}

void Ledger::count_kind(const LedgerNode& node) {
  const NodeFree whole{node.cpu, node.memory, node.devices, 0, node.model, true};
  for (NodeKind& kind : kinds_) {
    if (!(kind.free == whole)) continue;
    ++kind.count;
    return;
  }
  kinds_.push_back({whole, 1});
}

bool Ledger::could_ever_fit(const Demand& demand, std::int64_t replicas) const {
  return replicas_on(kinds_, demand) >= replicas;
}

MilliCpu Ledger::cpu_most() const {
  MilliCpu most;
  for (const NodeKind& kind : kinds_) most = std::max(most, kind.free.cpu);
  return most;
}

std::int32_t Ledger::devices_most() const {
  std::int32_t most = 0;
  for (const NodeKind& kind : kinds_) most = std::max(most, kind.free.devices);
  return most;
}

// Thousandths of a unit taken by leases, and by one more that is about to join them.
std::int32_t Ledger::thousandths_taken(
    NodeId node, int unit, Count count, const Lease* joining, JobId except) const {
  const LeaseStage uncounted = count == Count::Used ? LeaseStage::Claimed : LeaseStage::Releasing;
  const bool shares =
      nodes_[node.index()].beside > 0 || (joining != nullptr && !joining->turns.beside.is_none());
  std::int32_t sum = 0;
  TurnSums turns;
  BesideSums beside;
  const auto add = [&](const Lease& lease) {
    const std::int32_t amount = amount_of(lease, unit);
    if (amount == 0) return;
    if (lease.turns.group != 0) {
      turns.add(lease, amount);
    } else if (shares) {
      beside.add(lease, amount);
    } else {
      sum += amount;
    }
  };
  for (LeaseId id = nodes_[node.index()].first; !id.is_none(); id = leases_[id.index()].next) {
    const Lease& lease = leases_[id.index()];
    if (lease.stage != uncounted && &lease != joining &&
        (except.is_none() || lease.owner != except))
      add(lease);
  }
  if (joining != nullptr) add(*joining);
  return sum + turns.total() + beside.total();
}

// Whether everything the lease names has room for it.
bool Ledger::units_allow(const Lease& lease, Count count, JobId except) const {
  const auto allow = [&](std::uint64_t units, int offset) {
    for (; units != 0; units &= units - 1)
      if (thousandths_taken(lease.node, std::countr_zero(units) + offset, count, &lease, except) >
          1000)
        return false;
    return true;
  };
  return allow(lease.devices, 0) && allow(lease.hardware, kHardware);
}

NodeFree Ledger::free_of(NodeId id) const {
  const LedgerNode& node = nodes_[id.index()];
  NodeFree free{
      node.cpu, node.memory, std::popcount(node.whole_unclaimed), 0, node.model, node.usable};
  bool shares = false;
  for (LeaseId l = node.first; !l.is_none(); l = leases_[l.index()].next) {
    const Lease& lease = leases_[l.index()];
    if (lease.stage == LeaseStage::Releasing) continue;
    free.cpu = free.cpu - lease.demand.cpu;
    free.memory = free.memory - lease.demand.memory;
    shares = shares || takes_share(lease.demand);
  }
  if (!shares) return free;
  DeviceParts parts;
  for (int d = 0; d < node.devices; ++d) {
    if ((node.whole_unclaimed & bit(d)) != 0) continue;
    const std::int32_t left = 1000 - thousandths_taken(id, d, Count::Promised);
    if (left > 0) parts.push_back(static_cast<std::int16_t>(left));
  }
  set_parts(free, std::move(parts));
  if (!counts_parts_) free.parts = nullptr;
  return free;
}

void Ledger::count_parts(bool all) {
  if (counts_parts_ == all) return;
  counts_parts_ = all;
  for (std::uint32_t n = 0; n < free_.size(); ++n)  // None yet after loading.
    if (free_.at(NodeId{n}).partial_max > 0) free_.set(NodeId{n}, free_of(NodeId{n}));
}

NodeDevices Ledger::devices_of(NodeId id, const Demand& demand) const {
  const LedgerNode& node = nodes_[id.index()];
  NodeDevices devices{node.whole_unclaimed, node.whole_unclaimed & node.whole_unused, {}};
  if (!takes_share(demand)) return devices;
  for (int d = 0; d < node.devices; ++d) {
    if ((node.whole_unclaimed & bit(d)) != 0) continue;
    const std::int32_t left =
        1000 - thousandths_taken(id, d, Count::Promised) + (planted(Bug::ShareRounding) ? 1 : 0);
    devices.left[static_cast<std::size_t>(d)] = static_cast<std::int16_t>(left);
  }
  return devices;
}

bool Ledger::can_hold(const Lease& lease) const {
  const LedgerNode& node = nodes_[lease.node.index()];
  if (lease.demand.cpu > node.cpu_unused || lease.demand.memory > node.memory_unused) return false;
  if (is_plain(node, lease) && lease.hardware == 0)
    return (lease.devices & ~node.whole_unused) == 0;
  return units_allow(lease, Count::Used);
}

void Ledger::hold(Lease& lease) {
  LedgerNode& node = nodes_[lease.node.index()];
  lease.stage = LeaseStage::Held;
  node.cpu_unused = node.cpu_unused - lease.demand.cpu;
  node.memory_unused = node.memory_unused - lease.demand.memory;
  node.whole_unused &= ~lease.devices;
}

void Ledger::count_beside(const Lease& lease, int one) {
  if (lease.turns.beside.is_none()) return;
  nodes_[lease.node.index()].beside += static_cast<std::uint32_t>(one);
  beside_ += static_cast<std::size_t>(one);
}

// Enters a lease that fits, at the end of its node's list.
LeaseId Ledger::add_lease(const Lease& added) {
  LedgerNode& node = nodes_[added.node.index()];
  LeaseId id;
  if (free_leases_.empty()) {
    id = LeaseId{static_cast<std::uint32_t>(leases_.size())};
    leases_.emplace_back();
  } else {
    id = free_leases_.back();
    free_leases_.pop_back();
  }
  Lease& lease = leases_[id.index()];
  lease = added;
  lease.previous = node.last;
  (node.last.is_none() ? node.first : leases_[node.last.index()].next) = id;
  node.last = id;
  node.whole_unclaimed &= ~lease.devices;
  count_beside(lease, 1);
  if (can_hold(lease)) {
    hold(lease);
  } else {
    ++node.claimed;
  }
  return id;
}

LeaseId Ledger::claim(JobId owner, NodeId node, const Demand& demand, DeviceSet devices) {
  invariant(replicas_that_fit(free_.at(node), demand) >= 1, "a claim fits where it is made");
  Lease lease;
  lease.owner = owner;
  lease.node = node;
  lease.devices = devices;
  lease.demand = demand;
  const LeaseId id = add_lease(lease);
  if (takes_share(demand)) {
    free_.set(node, free_of(node));
  } else {
    free_.take(node, demand, 1);
  }
  return id;
}

namespace {

Lease lease_of(const Seat& seat, const Demand& demand, JobId owner, TurnKey turns) {
  Lease lease;
  lease.owner = owner;
  lease.node = seat.node;
  lease.devices = seat.devices;
  lease.demand = demand;
  lease.demand.devices = std::popcount(seat.devices);
  lease.demand.share = lease.demand.devices == 1 ? seat.share : Share{};
  lease.hardware = seat.hardware;
  lease.hardware_share = seat.share;
  lease.turns = turns;
  return lease;
}

}  // namespace

bool Ledger::seat_fits(
    const Seat& seat, const Demand& demand, JobId owner, TurnKey turns, JobId except) const {
  if (seat.node.index() >= nodes_.size()) return false;
  const LedgerNode& node = nodes_[seat.node.index()];
  if (!node.usable || (seat.devices & ~low_bits(node.devices)) != 0 ||
      (seat.hardware & ~low_bits(node.hardware)) != 0 ||
      (!demand.model.is_none() && seat.devices != 0 && demand.model != node.model))
    return false;
  MilliCpu cpu = free_.at(seat.node).cpu;
  Bytes memory = free_.at(seat.node).memory;
  for (LeaseId l = node.first; !except.is_none() && !l.is_none(); l = leases_[l.index()].next) {
    const Lease& lease = leases_[l.index()];
    if (lease.owner != except || lease.stage == LeaseStage::Releasing) continue;
    cpu = cpu + lease.demand.cpu;
    memory = memory + lease.demand.memory;
  }
  return demand.cpu <= cpu && demand.memory <= memory &&
         units_allow(lease_of(seat, demand, owner, turns), Count::Promised, except);
}

LeaseId Ledger::claim_seat(JobId owner, const Demand& demand, const Seat& seat, TurnKey turns) {
  invariant(seat_fits(seat, demand, owner, turns), "a seat is free when it is claimed");
  const LeaseId id = add_lease(lease_of(seat, demand, owner, turns));
  free_.set(seat.node, free_of(seat.node));
  return id;
}

bool Ledger::take_ports(LeaseId id, std::int32_t count) {
  Lease& lease = leases_[id.index()];
  invariant(!lease.owner.is_none() && lease.ports.count == 0, "a living lease takes ports once");
  const PortBlock block = ports_.take(lease.node, count);
  lease.ports = {block.first, block.count};
  return !block.is_none();
}

bool Ledger::exchange_ports(LeaseId id, std::int32_t port) {
  Lease& lease = leases_[id.index()];
  const PortRange old = lease.ports;
  if (lease.owner.is_none() || port < old.first || port >= old.end()) return false;
  const PortLedger::Exchange exchange = ports_.exchange({lease.node, old.first, old.count}, port);
  lease.ports = {exchange.block.first, exchange.block.count};
  return exchange.avoids;
}

// Which of these devices a claim may take whole, and which are unused, after a lease changed.
void Ledger::recompute_masks(NodeId id, std::uint64_t devices) {
  LedgerNode& node = nodes_[id.index()];
  std::uint64_t claimed = 0;
  std::uint64_t used = 0;
  for (LeaseId l = node.first; !l.is_none(); l = leases_[l.index()].next) {
    const Lease& lease = leases_[l.index()];
    if (lease.stage != LeaseStage::Releasing) claimed |= lease.devices;
    if (lease.stage != LeaseStage::Claimed) used |= lease.devices;
  }
  node.whole_unclaimed = (node.whole_unclaimed & ~devices) | (devices & ~claimed);
  node.whole_unused = (node.whole_unused & ~devices) | (devices & ~used);
}

void Ledger::begin_release(LeaseId id, std::vector<JobId>& ready) {
  Lease& lease = leases_[id.index()];
  if (lease.stage == LeaseStage::Releasing) return;
  if (lease.stage == LeaseStage::Claimed) {
    release(id, ready);
    return;
  }
  lease.stage = LeaseStage::Releasing;
  LedgerNode& node = nodes_[lease.node.index()];
  if (is_alone(node, lease)) {
    node.whole_unclaimed |= lease.devices;
  } else {
    recompute_masks(lease.node, lease.devices);
  }
  make_free(lease.node, lease);
}

// The index counts what the lease took as free.
void Ledger::make_free(NodeId id, const Lease& lease) {
  if (is_plain(nodes_[id.index()], lease)) {
    free_.give(id, lease.demand, 1);
  } else {
    free_.set(id, free_of(id));
  }
}

void Ledger::unlink(LeaseId id) {
  Lease& lease = leases_[id.index()];
  LedgerNode& node = nodes_[lease.node.index()];
  (lease.previous.is_none() ? node.first : leases_[lease.previous.index()].next) = lease.next;
  (lease.next.is_none() ? node.last : leases_[lease.next.index()].previous) = lease.previous;
}

void Ledger::release(LeaseId id, std::vector<JobId>& ready) {
  const Lease lease = leases_[id.index()];
  invariant(!lease.owner.is_none(), "a lease is released once");
  LedgerNode& node = nodes_[lease.node.index()];
  unlink(id);
  leases_[id.index()] = Lease{};
  free_leases_.push_back(id);
  ports_.give({lease.node, lease.ports.first, lease.ports.count});
  if (lease.stage == LeaseStage::Claimed) {
    --node.claimed;
  } else {
    node.cpu_unused = node.cpu_unused + lease.demand.cpu;
    node.memory_unused = node.memory_unused + lease.demand.memory;
  }
  if (lease.stage != LeaseStage::Claimed && is_alone(node, lease)) {
    node.whole_unclaimed |= lease.devices;
    node.whole_unused |= lease.devices;
  } else {
    recompute_masks(lease.node, lease.devices);
  }
  if (!is_plain(node, lease) || lease.stage != LeaseStage::Releasing) make_free(lease.node, lease);
  count_beside(lease, -1);
  if (node.claimed > 0) promote(lease.node, ready);
}

// Those that waited longest first; a later one may overtake only where it needs nothing of theirs.
void Ledger::promote(NodeId id, std::vector<JobId>& ready) {
  LedgerNode& node = nodes_[id.index()];
  for (LeaseId l = node.first; !l.is_none() && node.claimed > 0; l = leases_[l.index()].next) {
    Lease& lease = leases_[l.index()];
    if (lease.stage != LeaseStage::Claimed || !can_hold(lease)) continue;
    hold(lease);
    --node.claimed;
    ready.push_back(lease.owner);
  }
}

void Ledger::set_usable(NodeId id, bool usable) {
  LedgerNode& node = nodes_[id.index()];
  if (node.usable == usable) return;
  node.usable = usable;
  devices_usable_ += usable ? node.devices : -node.devices;
  NodeFree free = free_.at(id);
  free.usable = usable;
  free_.set(id, free);
}

// Every port that is taken belongs to one lease of the node.
void Ledger::check_ports(NodeId id) const {
  std::vector<PortRange> of_leases;
  for (LeaseId l = nodes_[id.index()].first; !l.is_none(); l = leases_[l.index()].next)
    if (leases_[l.index()].ports.count > 0) of_leases.push_back(leases_[l.index()].ports);
  for (const std::int32_t port : ports_.avoided(id)) of_leases.push_back({port, 1});
  std::sort(of_leases.begin(), of_leases.end(), [](const PortRange& a, const PortRange& b) {
    return a.first < b.first;
  });
  const std::span<const PortRange> taken = ports_.taken(id);
  invariant(std::equal(of_leases.begin(), of_leases.end(), taken.begin(), taken.end()),
            "the ports taken are those of the node's leases, or avoided");
}

void Ledger::check() const {
  ports_.check();
  for (std::size_t n = 0; n < nodes_.size(); ++n) {
    const NodeId id{static_cast<std::uint32_t>(n)};
    const LedgerNode& node = nodes_[n];
    MilliCpu cpu = node.cpu_unused;
    Bytes memory = node.memory_unused;
    for (LeaseId l = node.first; !l.is_none(); l = leases_[l.index()].next) {
      const Lease& lease = leases_[l.index()];
      invariant(lease.node == id, "a lease stands in its node's list");
      if (lease.stage == LeaseStage::Claimed) continue;
      cpu = cpu + lease.demand.cpu;
      memory = memory + lease.demand.memory;
    }
    invariant(cpu == node.cpu && memory == node.memory, "CPU and memory are conserved");
    check_ports(id);
    for (int h = 0; h < node.hardware; ++h) {
      const int unit = kHardware + h;
      invariant(thousandths_taken(id, unit, Count::Promised) <= 1000,
                "no hardware is promised twice");
      invariant(thousandths_taken(id, unit, Count::Used) <= 1000, "no hardware is used twice");
    }
    for (int d = 0; d < node.devices; ++d) {
      invariant(thousandths_taken(id, d, Count::Promised) <= 1000, "no device is promised twice");
      invariant(thousandths_taken(id, d, Count::Used) <= 1000, "no device is used twice");
    }
    NodeFree expected = free_of(id);
    NodeFree indexed = free_.at(id);
    expected.partial_max = indexed.partial_max = 0;
    invariant(expected == indexed, "the free index agrees with the leases");
  }
}

void Ledger::rebuild() {
  free_ = FreeIndex{};
  kinds_.clear();
  devices_usable_ = devices_total_ = 0;
  beside_ = 0;
  for (LedgerNode& node : nodes_) node.beside = 0;
  for (const Lease& lease : leases_)
    if (!lease.owner.is_none()) count_beside(lease, 1);
  for (std::size_t n = 0; n < nodes_.size(); ++n) {
    count_kind(nodes_[n]);
    devices_total_ += nodes_[n].devices;
    if (nodes_[n].usable) devices_usable_ += nodes_[n].devices;
    free_.add(free_of(NodeId{static_cast<std::uint32_t>(n)}));
  }
}

std::vector<JobId> owners_on(const Ledger& ledger, NodeId node) {
  std::vector<JobId> owners;
  for (LeaseId l = ledger.node(node).first; !l.is_none(); l = ledger.lease(l).next)
    owners.push_back(ledger.lease(l).owner);
  std::sort(owners.begin(), owners.end());
  owners.erase(std::unique(owners.begin(), owners.end()), owners.end());
  return owners;
}

}  // namespace orrery
