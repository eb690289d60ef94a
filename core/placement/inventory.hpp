// What placements are resolved against: nodes with their accelerators and custom hardware, and
// labelled groups of nodes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/cluster/resources.hpp"
#include "core/job/spec.hpp"
#include "core/placement/placement_error.hpp"

namespace orrery::placement {

/// One node; its cluster node rank is its index in `Inventory::nodes`.
struct InventoryNode {
  std::int32_t accelerators = 0;  ///< At least 0.
  std::string accelerator_model;  ///< "H100"; may be empty.
  DeviceVendor vendor = DeviceVendor::Nvidia;
};

/// A kind of custom hardware known by name, with the fields that its entries may have.
struct HardwareType {
  std::string name;
  std::vector<std::string> fields;    ///< Beside node_rank.
  std::vector<std::string> required;  ///< Of `fields`.
  bool any_field = false;  ///< Whatever is written is kept: for types declared in a file.
};

/// The types known without a declaration: the robots that RLinf registers.
std::vector<HardwareType> built_in_hardware_types();

/// One piece of custom hardware as declared.
struct HardwareEntry {
  std::int32_t node_rank = 0;
  std::vector<KeyValue> fields;  ///< Without node_rank; sorted by key.
  TextPosition at;
};

/// Custom hardware of one type in a group.
struct GroupHardware {
  PlacedText type;
  std::vector<HardwareEntry> entries;
};

/// Variables and interpreter for some nodes of a group, as declared.
struct GroupEnvironment {
  PlacedText node_ranks;  ///< Rank text or "all".
  std::vector<KeyValue> variables;
  std::vector<TextPosition> variables_at;  ///< One per variable.
  std::string interpreter;                 ///< Path; empty: as everywhere else.
  TextPosition at;
};

/// A labelled group of nodes as declared; its shape (mappings, known fields) was checked by its
/// reader.
struct GroupDeclaration {
  PlacedText label;
  PlacedText node_ranks;  ///< Rank text or "all".
  std::optional<GroupHardware> hardware;
  bool ignore_hardware = false;
  std::vector<GroupEnvironment> environments;
};

/// A resolved node environment.
struct NodeEnvironment {
  std::int32_t node_rank = 0;
  std::vector<KeyValue> variables;  ///< In the order of declaration.
  std::string interpreter;
};

/// A sound group: ranks ascending and inside the cluster.
struct InventoryGroup {
  std::string label;
  std::vector<std::int32_t> node_ranks;
  std::string hardware_type;                  ///< Empty: none declared.
  std::vector<HardwareEntry> hardware;        ///< By node rank, in order of declaration.
  bool ignore_hardware = false;               ///< Nodes are the resource.
  std::vector<NodeEnvironment> environments;  ///< Ascending by node, each node at most once.
};

/// Everything that placements refer to.
struct Inventory {
  std::vector<InventoryNode> nodes;
  std::vector<InventoryGroup> groups;  ///< Sound ones, in order of declaration, without the
                                       ///< reserved ones. Labels are unique.
  std::vector<std::string> unsound;    ///< Labels declared with an error that was told already:
                                       ///< what is placed on them is only read, not resolved.

  /// The sound group of this label, or null; never a reserved one.
  const InventoryGroup* find(std::string_view label) const;

  /// Whether an error about a group of this label was told already.
  bool is_unsound(std::string_view label) const;
};

/// Labels that always exist: all nodes with automatic kind, and all nodes as the resource.
inline constexpr std::string_view kClusterLabel = "cluster";
inline constexpr std::string_view kNodeLabel = "node";

/// Whether `label` is one of the two.
constexpr bool is_reserved_label(std::string_view label) {
  return label == kClusterLabel || label == kNodeLabel;
}

/// Checks declarations against rules C1, C2, C4, C5 and makes the inventory of what is sound; all
/// that is wrong is appended to `errors` in stage config, group by group, last what concerns
/// several groups. Node ranks count from 0 to nodes - 1. Without nodes (rule C3 is the reader's)
/// nothing can be looked up: every group is unsound, and nothing is told twice.
Inventory make_inventory(std::vector<InventoryNode> nodes,
                         const std::vector<GroupDeclaration>& groups,
                         const std::vector<HardwareType>& types,
                         PlacementErrors& errors);

}  // namespace orrery::placement
