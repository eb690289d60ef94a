#include "policies/parts_given.hpp"

#include <algorithm>
#include <bit>
#include <set>
#include <vector>

#include "core/cluster/ledger.hpp"

namespace orrery::policies {
namespace {

/// Nodes where the job has anything.
void add_nodes(const ClusterView& view, JobId id, std::set<NodeId>& nodes) {
  const JobView job = view.job(id);
  for (const NodeCount& n : job.nodes) nodes.insert(n.node);
  std::vector<NodeCount> others;
  for (std::size_t r = 0; job.spec.roles.size() > 1 && r < job.spec.roles.size(); ++r)
    view.append_nodes(id, RoleIndex{static_cast<std::uint16_t>(r)}, others);
  for (const NodeCount& n : others) nodes.insert(n.node);
}

/// `now` with the devices that the node has when the jobs have gone.
NodeFree without(const Ledger& ledger, NodeId id, std::span<const JobId> gone, NodeFree now) {
  constexpr std::int32_t kWhole = 1000;
  Demand some_part;
  some_part.devices = 1;
  some_part.share.thousandths = 1;
  const NodeDevices devices = ledger.devices_of(id, some_part);
  std::vector<std::int32_t> left(devices.left.begin(), devices.left.end());
  const LedgerNode& node = ledger.node(id);
  for (LeaseId each = node.first; !each.is_none(); each = ledger.lease(each).next) {
    const Lease& lease = ledger.lease(each);
    if (lease.stage == LeaseStage::Releasing) continue;  // It counts as free already.
    if (!std::binary_search(gone.begin(), gone.end(), lease.owner)) continue;
    for (DeviceSet rest = lease.devices; rest != 0; rest &= rest - 1)
      left[static_cast<std::size_t>(std::countr_zero(rest))] +=
          is_share(lease.demand) ? lease.demand.share.thousandths : kWhole;
  }
  now.devices = std::popcount(devices.whole);
  DeviceParts parts;
  for (std::int32_t d = 0; d < node.devices; ++d) {
    const std::int32_t part = left[static_cast<std::size_t>(d)];
    if ((devices.whole >> d & 1) != 0 || part == 0) continue;
    if (part >= kWhole)
      ++now.devices;
    else
      parts.push_back(static_cast<std::int16_t>(part));
  }
  set_parts(now, std::move(parts));
  return now;
}

}  // namespace

void settle_parts(const ClusterView& view, std::span<const JobId> given, CapacityTrial& trial) {
  std::set<NodeId> nodes;
  for (const JobId id : given)
    if (view.row(id).has_parts()) add_nodes(view, id, nodes);
  if (nodes.empty()) return;
  const Ledger* const ledger =
      view.placement(given.front(), view.row(given.front()).demand, 1).ledger;
  if (ledger == nullptr) return;
  for (const NodeId node : nodes)
    trial.reduce(node, without(*ledger, node, given, trial.index().at(node)));
}

void settle_parts_of(const ClusterView& view,
                     std::initializer_list<std::span<const JobId>> given,
                     CapacityTrial& trial) {
  if (std::ranges::none_of(given, [&](const auto& jobs) { return have_parts(view, jobs); })) return;
  std::vector<JobId> all;
  for (const std::span<const JobId> jobs : given) all.insert(all.end(), jobs.begin(), jobs.end());
  std::sort(all.begin(), all.end());
  settle_parts(view, all, trial);
}

bool have_parts(const ClusterView& view, std::span<const JobId> jobs) {
  return std::any_of(jobs.begin(), jobs.end(), [&](JobId id) { return view.row(id).has_parts(); });
}

}  // namespace orrery::policies
