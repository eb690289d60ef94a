#include "core/cluster/ledger.hpp"

#include <algorithm>
#include <bit>

#include "core/base/invariant.hpp"
#include "core/plan/plan.hpp"

namespace orrery {
namespace {

bool is_share(const Demand& demand) { return demand.devices == 1 && !demand.share.is_whole(); }

constexpr std::uint64_t bit(int device) { return std::uint64_t{1} << device; }

}  // namespace

NodeId Ledger::add_node(const NodeGroup& group, DeviceModelId model) {
  LedgerNode node;
  node.cpu = node.cpu_unused = group.cpu;
  node.memory = node.memory_unused = group.memory;
  node.devices = group.devices;
  node.model = model;
  node.whole_unclaimed = node.whole_unused =
      group.devices == 64 ? ~std::uint64_t{0} : bit(group.devices) - 1;
  nodes_.push_back(node);
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
  std::int64_t fit = 0;
  for (const NodeKind& kind : kinds_) fit += kind.count * replicas_that_fit(kind.free, demand);
  return fit >= replicas;
}

// Thousandths of a device taken by leases; `used`: only by those Held or Releasing, else only by
// those that a new claim must respect (Claimed or Held).
std::int32_t Ledger::thousandths_taken(NodeId node, int device, bool used) const {
  std::int32_t sum = 0;
  for (LeaseId id = nodes_[node.index()].first; !id.is_none(); id = leases_[id.index()].next) {
    const Lease& lease = leases_[id.index()];
    if ((lease.devices & bit(device)) == 0) continue;
    if (lease.stage == (used ? LeaseStage::Claimed : LeaseStage::Releasing)) continue;
    sum += is_share(lease.demand) ? lease.demand.share.thousandths : 1000;
  }
  return sum;
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
    shares = shares || is_share(lease.demand);
  }
  if (!shares) return free;
  for (int d = 0; d < node.devices; ++d)
    if ((node.whole_unclaimed & bit(d)) == 0)
      free.partial_max = std::max(free.partial_max, 1000 - thousandths_taken(id, d, false));
  return free;
}

// Devices for a demand: of those that a claim may take, first those that nobody uses any more.
std::uint64_t Ledger::choose(const LedgerNode& node, NodeId id, const Demand& demand) const {
  if (demand.devices == 0) return 0;
  if (is_share(demand)) {
    int best = -1;
    std::int32_t best_left = 1001;
    for (int d = 0; d < node.devices; ++d) {
      if ((node.whole_unclaimed & bit(d)) != 0) continue;
      const std::int32_t left = 1000 - thousandths_taken(id, d, false);
      if (left >= demand.share.thousandths && left < best_left) {
        best = d;
        best_left = left;
      }
    }
    if (best >= 0) return bit(best);
  }
  std::uint64_t chosen = 0;
  for (const std::uint64_t from :
       {node.whole_unclaimed & node.whole_unused, node.whole_unclaimed & ~node.whole_unused}) {
    std::uint64_t left = from;
    while (left != 0 && std::popcount(chosen) < demand.devices) {
      chosen |= left & (~left + 1);
      left &= left - 1;
    }
  }
  invariant(std::popcount(chosen) == demand.devices, "a claim finds the devices it was promised");
  return chosen;
}

bool Ledger::can_hold(const Lease& lease) const {
  const LedgerNode& node = nodes_[lease.node.index()];
  if (lease.demand.cpu > node.cpu_unused || lease.demand.memory > node.memory_unused) return false;
  if (!is_share(lease.demand)) return (lease.devices & ~node.whole_unused) == 0;
  return 1000 - thousandths_taken(lease.node, std::countr_zero(lease.devices), true) >=
         lease.demand.share.thousandths;
}

void Ledger::hold(Lease& lease) {
  LedgerNode& node = nodes_[lease.node.index()];
  lease.stage = LeaseStage::Held;
  node.cpu_unused = node.cpu_unused - lease.demand.cpu;
  node.memory_unused = node.memory_unused - lease.demand.memory;
  node.whole_unused &= ~lease.devices;
}

bool Ledger::find_gang(const Demand& demand, std::int32_t replicas, std::vector<NodeCount>& out) {
  const std::size_t mark = out.size();
  if (!free_.take_gang(demand, replicas, out)) return false;
  for (std::size_t i = mark; i < out.size(); ++i) {
    // A share is only estimated by the index, so what it gave back is counted anew.
    if (is_share(demand)) {
      free_.set(out[i].node, free_of(out[i].node));
    } else {
      free_.give(out[i].node, demand, out[i].replicas);
    }
  }
  return true;
}

LeaseId Ledger::claim(JobId owner, NodeId node_id, const Demand& demand) {
  invariant(replicas_that_fit(free_.at(node_id), demand) >= 1, "a claim fits where it is made");
  LedgerNode& node = nodes_[node_id.index()];
  LeaseId id;
  if (free_leases_.empty()) {
    id = LeaseId{static_cast<std::uint32_t>(leases_.size())};
    leases_.emplace_back();
  } else {
    id = free_leases_.back();
    free_leases_.pop_back();
  }
  Lease& lease = leases_[id.index()];
  lease = Lease{owner, node_id, LeaseStage::Claimed, choose(node, node_id, demand), demand, {}, {}};
  lease.previous = node.last;
  (node.last.is_none() ? node.first : leases_[node.last.index()].next) = id;
  node.last = id;
  node.whole_unclaimed &= ~lease.devices;
  if (can_hold(lease)) {
    hold(lease);
  } else {
    ++node.claimed;
  }
  if (is_share(demand)) {
    free_.set(node_id, free_of(node_id));
  } else {
    free_.take(node_id, demand, 1);
  }
  return id;
}

// Which of these devices a claim may take whole, and which nobody uses, after a lease changed.
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
  recompute_masks(lease.node, lease.devices);
  if (is_share(lease.demand)) {
    free_.set(lease.node, free_of(lease.node));
  } else {
    free_.give(lease.node, lease.demand, 1);
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
  if (lease.stage == LeaseStage::Claimed) {
    --node.claimed;
  } else {
    node.cpu_unused = node.cpu_unused + lease.demand.cpu;
    node.memory_unused = node.memory_unused + lease.demand.memory;
  }
  recompute_masks(lease.node, lease.devices);
  if (is_share(lease.demand)) {
    free_.set(lease.node, free_of(lease.node));
  } else if (lease.stage != LeaseStage::Releasing) {
    free_.give(lease.node, lease.demand, 1);
  }
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

void Ledger::check() const {
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
    for (int d = 0; d < node.devices; ++d) {
      invariant(thousandths_taken(id, d, false) <= 1000, "no device is promised twice");
      invariant(thousandths_taken(id, d, true) <= 1000, "no device is used twice");
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
  for (std::size_t n = 0; n < nodes_.size(); ++n) {
    count_kind(nodes_[n]);
    devices_total_ += nodes_[n].devices;
    if (nodes_[n].usable) devices_usable_ += nodes_[n].devices;
    free_.add(free_of(NodeId{static_cast<std::uint32_t>(n)}));
  }
}

}  // namespace orrery
