#include "sim/model/fabric_links.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace orrery::sim {
namespace {

// After so many looks at the links the next ones are twice as far apart.
constexpr std::int64_t kLinkSamples = 1000;

}  // namespace

void FabricLinks::slow(const scenarios::Fault& fault) {
  if (staged_ == nullptr || cluster_.scenario.fidelity == scenarios::Fidelity::L0) return;
  for (const NodeId node : fault.nodes) slow_one(node, fault);
  if (!fault.nodes.empty()) return;
  for (std::uint32_t n = 0; n < cluster_.nodes.size(); ++n) slow_one(NodeId{n}, fault);
}

void FabricLinks::slow_one(NodeId id, const scenarios::Fault& fault) {
  const Instant until = cluster_.now + fault.lasting;
  cluster_.nodes[id].link_faults.add(fault.factor, until);
  if (!until.is_never()) cluster_.future.push(until, FutureKind::LinkWhole, id.value);
  set_share(id);
}

void FabricLinks::set_share(NodeId id) {
  ModelNode& node = cluster_.nodes[id];
  const double share = node.link_faults.smallest(cluster_.now);
  if (share == node.link_share) return;
  node.link_share = share;
  staged_->set_link_share(id, share, cluster_.now);
}

void FabricLinks::watch(Duration every, LinkWatcher watcher) {
  samples_every_ = every;
  watcher_ = std::move(watcher);
  cluster_.future.push(cluster_.now, FutureKind::LinkSample, 0);
}

void FabricLinks::tell_watcher() {
  std::vector<double> shares;
  staged_->fabric().link_use(shares);
  watcher_(cluster_.now, shares);
  if (++samples_ % kLinkSamples == 0) samples_every_ = samples_every_ * 2;
}

}  // namespace orrery::sim
