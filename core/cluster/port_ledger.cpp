#include "core/cluster/port_ledger.hpp"

#include <algorithm>
#include <utility>

#include "core/base/invariant.hpp"

namespace orrery {
namespace {

/// A free place, and before which of the taken blocks it lies.
struct Gap {
  std::int32_t first = 0;
  std::size_t index = 0;
  bool found = false;
};

Gap lowest_gap(const NodePorts& ports, std::int32_t count) {
  if (count > ports.free) return {};
  std::int32_t first = ports.range.first;
  for (std::size_t i = 0; i < ports.taken.size(); ++i) {
    const PortRange& block = ports.taken[i];
    if (block.first - first >= count) return {first, i, true};
    first = block.end();
  }
  return {first, ports.taken.size(), ports.range.end() - first >= count};
}

std::int32_t longest_gap(const NodePorts& ports) {
  std::int32_t longest = 0;
  std::int32_t first = ports.range.first;
  for (const PortRange& block : ports.taken) {
    longest = std::max(longest, block.first - first);
    first = block.end();
  }
  return std::max(longest, ports.range.end() - first);
}

void check_node(const NodePorts& ports) {
  std::int32_t taken = 0;
  std::int32_t end = ports.range.first;
  for (const PortRange& block : ports.taken) {
    invariant(block.count > 0, "a taken block holds at least one port");
    invariant(block.first >= end, "taken blocks ascend and do not overlap");
    invariant(block.end() <= ports.range.end(), "taken blocks lie in the range");
    end = block.end();
    taken += block.count;
  }
  invariant(taken + ports.free == ports.range.count,
            "ports taken and ports free are all there are");
  for (const std::int32_t port : ports.avoided)
    invariant(
        std::find(ports.taken.begin(), ports.taken.end(), PortRange{port, 1}) != ports.taken.end(),
        "an avoided port is not free");
}

}  // namespace

void PortLedger::declare(NodeId node, PortRange range) {
  if (range == this->range(node)) return;
  invariant(range.first > 0 && range.count > 0 && range.end() <= kPortMax + 1,
            "a range is one of ports");
  if (node.index() >= nodes_.size()) nodes_.resize(node.index() + 1);
  NodePorts& ports = nodes_[node.index()];
  invariant(ports.taken.empty(), "a node is declared before its ports are taken");
  ports.range = range;
  ports.free = range.count;
}

PortRange PortLedger::range(NodeId node) const {
  return node.index() < nodes_.size() ? nodes_[node.index()].range : PortRange::standard();
}

bool PortLedger::fits(NodeId node, std::int32_t count) const {
  invariant(count > 0, "a block holds at least one port");
  if (node.index() >= nodes_.size()) return count <= kPortsPerNode;
  return lowest_gap(nodes_[node.index()], count).found;
}

std::int32_t PortLedger::room(NodeId node, std::int32_t count) const {
  invariant(count > 0, "a block holds at least one port");
  std::int32_t blocks = 0;
  const PortRange all = range(node);
  std::int32_t first = all.first;
  for (const PortRange& block : taken(node)) {
    blocks += (block.first - first) / count;
    first = block.end();
  }
  return blocks + (all.end() - first) / count;
}

PortBlock PortLedger::take(NodeId node, std::int32_t count) {
  invariant(!node.is_none(), "ports are taken on a node");
  if (!fits(node, count)) return PortBlock::none();
  if (node.index() >= nodes_.size()) nodes_.resize(node.index() + 1);
  NodePorts& ports = nodes_[node.index()];
  const Gap gap = lowest_gap(ports, count);
  ports.taken.insert(ports.taken.begin() + static_cast<std::ptrdiff_t>(gap.index),
                     PortRange{gap.first, count});
  ports.free -= count;
  return {node, gap.first, count};
}

void PortLedger::give(const PortBlock& block) {
  if (block.is_none()) return;
  invariant(block.node.index() < nodes_.size(), "a block given back was taken on its node");
  NodePorts& ports = nodes_[block.node.index()];
  const auto found =
      std::lower_bound(ports.taken.begin(),
                       ports.taken.end(),
                       block.first,
                       [](const PortRange& range, std::int32_t at) { return range.first < at; });
  invariant(found != ports.taken.end() && *found == PortRange({block.first, block.count}),
            "a block given back is one that was taken, whole");
  ports.taken.erase(found);
  ports.free += block.count;
}

bool PortLedger::avoid(NodeId node, std::int32_t port) {
  const PortRange all = range(node);
  if (port < all.first || port >= all.end()) return false;
  if (node.index() >= nodes_.size()) nodes_.resize(node.index() + 1);
  NodePorts& ports = nodes_[node.index()];
  if (ports.avoided.size() >= kAvoidedMax) return false;
  const auto next = std::find_if(ports.taken.begin(),
                                 ports.taken.end(),
                                 [&](const PortRange& block) { return block.end() > port; });
  if (next != ports.taken.end() && next->first <= port) return false;
  ports.taken.insert(next, PortRange{port, 1});
  ports.avoided.push_back(port);
  --ports.free;
  return true;
}

PortLedger::Exchange PortLedger::exchange(const PortBlock& block, std::int32_t port) {
  give(block);
  const bool avoids = avoid(block.node, port);
  if (avoids && fits(block.node, block.count)) return {take(block.node, block.count), true};
  if (avoids) {
    nodes_[block.node.index()].avoided.pop_back();
    give({block.node, port, 1});
  }
  return {take(block.node, block.count), false};
}

void PortLedger::forget_avoided(NodeId node) {
  if (node.index() >= nodes_.size()) return;
  for (const std::int32_t port : std::exchange(nodes_[node.index()].avoided, {}))
    give({node, port, 1});
}

std::span<const std::int32_t> PortLedger::avoided(NodeId node) const {
  if (node.index() >= nodes_.size()) return {};
  return nodes_[node.index()].avoided;
}

std::string PortLedger::refusal(NodeId node, std::int32_t count) const {
  if (fits(node, count)) return {};
  const PortRange all = range(node);
  const std::int32_t longest =
      node.index() < nodes_.size() ? longest_gap(nodes_[node.index()]) : kPortsPerNode;
  return "needs " + std::to_string(count) + " consecutive ports on node " +
         std::to_string(node.value) + ", which has " + std::to_string(free(node)) + " of " +
         std::to_string(all.first) + " to " + std::to_string(all.end() - 1) + " free, at most " +
         std::to_string(longest) +
         " in a row; ask for fewer parallel workers or place fewer workers on the node";
}

std::span<const PortRange> PortLedger::taken(NodeId node) const {
  if (node.index() >= nodes_.size()) return {};
  return nodes_[node.index()].taken;
}

std::int32_t PortLedger::free(NodeId node) const {
  return node.index() < nodes_.size() ? nodes_[node.index()].free : kPortsPerNode;
}

void PortLedger::check() const {
  for (const NodePorts& ports : nodes_) check_node(ports);
}

}  // namespace orrery
