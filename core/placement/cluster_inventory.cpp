#include "core/placement/cluster_inventory.hpp"

#include <algorithm>
#include <numeric>

namespace orrery::placement {
namespace {

InventoryGroup& group_of(Inventory& inventory, std::string_view label) {
  for (InventoryGroup& group : inventory.groups)
    if (group.label == label) return group;
  InventoryGroup& group = inventory.groups.emplace_back();
  group.label = label;
  return group;
}

void add_hardware(InventoryGroup& to, const HardwareCount& hardware, std::int32_t node_rank) {
  to.hardware_type = hardware.type;
  to.node_ranks.push_back(node_rank);
  for (std::int32_t i = 0; i < hardware.count; ++i) {
    HardwareEntry& entry = to.hardware.emplace_back();
    entry.node_rank = node_rank;
  }
}

bool is_reserved(std::string_view label) { return label == kClusterLabel || label == kNodeLabel; }

}  // namespace

Inventory inventory_of(std::span<const NodeGroup> groups) {
  Inventory inventory;
  for (const NodeGroup& group : groups) {
    const auto first = static_cast<std::int32_t>(inventory.nodes.size());
    inventory.nodes.insert(inventory.nodes.end(),
                           static_cast<std::size_t>(group.count),
                           InventoryNode{group.devices, group.device_model, group.vendor});
    if (is_reserved(group.name)) continue;
    std::vector<std::int32_t>& ranks = group_of(inventory, group.name).node_ranks;
    const std::size_t before = ranks.size();
    ranks.resize(before + static_cast<std::size_t>(group.count));
    std::iota(ranks.begin() + static_cast<std::ptrdiff_t>(before), ranks.end(), first);
  }
  const std::size_t named = inventory.groups.size();
  std::int32_t first = 0;
  for (const NodeGroup& group : groups) {
    for (const HardwareCount& hardware : group.hardware) {
      const bool taken =
          std::any_of(inventory.groups.begin(),
                      inventory.groups.begin() + static_cast<std::ptrdiff_t>(named),
                      [&](const InventoryGroup& other) { return other.label == hardware.type; });
      if (taken || is_reserved(hardware.type)) continue;
      InventoryGroup& to = group_of(inventory, hardware.type);
      for (std::int32_t i = 0; i < group.count; ++i) add_hardware(to, hardware, first + i);
    }
    first += group.count;
  }
  return inventory;
}

}  // namespace orrery::placement
