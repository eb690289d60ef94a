#include "sim/steps/gang.hpp"

#include <algorithm>
#include <utility>

namespace orrery::sim {
namespace {

// Adds up entries of one node into its first one; the order of first entries stays.
void merge(std::vector<NodeDevices>& nodes) {
  std::vector<std::uint32_t> by_node(nodes.size());
  for (std::uint32_t i = 0; i < by_node.size(); ++i) by_node[i] = i;
  std::stable_sort(by_node.begin(), by_node.end(), [&](std::uint32_t a, std::uint32_t b) {
    return nodes[a].node < nodes[b].node;
  });
  std::size_t first = 0;
  for (std::size_t i = 1; i < by_node.size(); ++i) {
    NodeDevices& earlier = nodes[by_node[first]];
    NodeDevices& later = nodes[by_node[i]];
    if (earlier.node != later.node) {
      first = i;
      continue;
    }
    earlier.devices += later.devices;
    later.devices = 0;
  }
  std::erase_if(nodes, [](const NodeDevices& entry) { return entry.devices == 0; });
}

// Appends to the last entry where that is of the same node; true where the nodes came in rising
// order, so that no node can stand twice.
class Runs {
 public:
  explicit Runs(std::vector<NodeDevices>& to) : to_(to) {}

  void add(NodeId node, std::int32_t devices) {
    if (!to_.empty() && to_.back().node == node) {
      to_.back().devices += devices;
      return;
    }
    rising_ = rising_ && (to_.empty() || to_.back().node < node);
    to_.push_back({node, devices});
  }

  void finish() {
    if (!rising_) merge(to_);
  }

 private:
  std::vector<NodeDevices>& to_;
  bool rising_ = true;
};

}  // namespace

std::vector<NodeDevices> nodes_of(const std::vector<GangMember>& gang) {
  std::vector<NodeDevices> nodes;
  Runs runs(nodes);
  for (const GangMember& member : gang) runs.add(member.node, std::max(1, member.devices));
  runs.finish();
  return nodes;
}

std::vector<NodeDevices> count_nodes(const std::vector<NodeId>& nodes) {
  std::vector<NodeDevices> counted;
  Runs runs(counted);
  for (const NodeId node : nodes) runs.add(node, 1);
  runs.finish();
  return counted;
}

std::vector<NodeId> without_counts(const std::vector<NodeDevices>& nodes) {
  std::vector<NodeId> ids;
  ids.reserve(nodes.size());
  for (const NodeDevices& entry : nodes) ids.push_back(entry.node);
  return ids;
}

std::int32_t densest(const std::vector<NodeDevices>& nodes) {
  std::int32_t most = 0;
  for (const NodeDevices& entry : nodes) most = std::max(most, entry.devices);
  return most;
}

std::vector<GangMember> members_of(const std::vector<GangMember>& gang, RoleIndex role) {
  std::vector<GangMember> members;
  for (const GangMember& member : gang)
    if (member.role == role) members.push_back(member);
  return members;
}

double local_reduce_s(std::int32_t devices, double bytes, double device_bandwidth) {
  if (devices < 2) return 0;
  return 2.0 * (devices - 1) / devices * bytes / device_bandwidth;
}

void add_exchange(Stage& stage, Pattern pattern, std::vector<NodeId> members, double bytes) {
  if (members.size() < 2 || bytes <= 0) return;
  for (Exchange& exchange : stage.exchanges) {
    if (exchange.pattern != pattern || exchange.members != members) continue;
    exchange.bytes += bytes;
    return;
  }
  stage.exchanges.push_back({pattern, std::move(members), bytes, {}});
}

}  // namespace orrery::sim
