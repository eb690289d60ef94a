// Small inventories and rules for tests of placements.
#pragma once

#include <gmock/gmock.h>

#include <string>
#include <utility>
#include <vector>

#include "core/placement/inventory.hpp"
#include "core/placement/plan.hpp"

namespace orrery::placement {

/// Nodes with these numbers of accelerators.
inline Inventory cluster_of(const std::vector<std::int32_t>& accelerators) {
  Inventory inventory;
  for (const std::int32_t count : accelerators) {
    inventory.nodes.push_back({.accelerators = count, .accelerator_model = "H100"});
  }
  return inventory;
}

/// Adds a group without hardware of its own.
inline InventoryGroup& add_group(Inventory& inventory,
                                 std::string label,
                                 std::vector<std::int32_t> nodes) {
  InventoryGroup group;
  group.label = std::move(label);
  group.node_ranks = std::move(nodes);
  inventory.groups.push_back(std::move(group));
  return inventory.groups.back();
}

/// Adds a group of robots: one for each of `on_nodes`.
inline InventoryGroup& add_robots(Inventory& inventory,
                                  std::string label,
                                  std::vector<std::int32_t> nodes,
                                  const std::vector<std::int32_t>& on_nodes) {
  InventoryGroup& group = add_group(inventory, std::move(label), std::move(nodes));
  group.hardware_type = "Franka";
  for (const std::int32_t node : on_nodes) group.hardware.push_back({.node_rank = node});
  return group;
}

/// A rule whose key is at line 3, column 5, its labels at line 4, its text at line 5, column 20.
inline PlacementRule rule(std::string components, std::string text, std::string groups = {}) {
  PlacementRule out;
  out.components = {std::move(components), {3, 5}};
  if (!groups.empty()) out.node_groups.push_back({std::move(groups), {4, 20}});
  out.placement = PlacedText{std::move(text), {5, 20}};
  return out;
}

/// "kind@line:column" of each error, for short expectations.
inline std::vector<std::string> summary(const PlacementErrors& errors) {
  std::vector<std::string> out;
  for (const PlacementError& error : errors) {
    out.push_back(std::string(to_string(error.stage)) + ' ' + std::string(to_string(error.kind)) +
                  '@' + std::to_string(error.at.line) + ':' + std::to_string(error.at.column));
  }
  return out;
}

/// "0@0:0,1 1@0:2,3": rank, node and devices of each process.
inline std::string seats(const ComponentPlan& component) {
  std::string out;
  for (const Process& process : component.processes) {
    if (!out.empty()) out += ' ';
    out += std::to_string(process.rank) + '@' + std::to_string(process.node_rank);
    for (std::size_t i = 0; i < process.devices.size(); ++i) {
      out += (i == 0 ? ":" : ",") + std::to_string(process.devices[i]);
    }
  }
  return out;
}

/// What the pools of a model-parallel placement became.
struct ResolvedPools {
  Plan plan;
  PlacementErrors errors;

  /// The seats of a component; "nothing" where the plan has none of that name.
  std::string of(const std::string& name) const {
    for (const ComponentPlan& component : plan.components) {
      if (component.name == name) return seats(component);
    }
    return "nothing";
  }

  std::vector<std::string> told() const { return summary(errors); }

  std::vector<std::string> warned() const { return summary(plan.warnings); }
};

inline ResolvedPools resolve_pools(const Inventory& inventory,
                                   const std::vector<PlacementRule>& rules,
                                   const ParallelSizes& sizes) {
  ResolvedPools out;
  out.plan = resolve_model_parallel(inventory, rules, sizes, out.errors);
  return out;
}

/// "0:0/2 1:0/2 ...": placement node rank, local rank and local world size of each process.
inline std::string node_ranks(const ComponentPlan& component) {
  std::string out;
  for (const Process& process : component.processes) {
    if (!out.empty()) out += ' ';
    out += std::to_string(process.placement_node_rank) + ':' + std::to_string(process.local_rank) +
           '/' + std::to_string(process.local_world_size);
  }
  return out;
}

}  // namespace orrery::placement
