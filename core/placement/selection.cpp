#include "core/placement/selection.hpp"

#include <algorithm>
#include <set>

#include "core/base/invariant.hpp"
#include "core/placement/rank_text.hpp"

namespace orrery::placement {
namespace {

/// A group to select; `group` is null for the reserved labels, which hold all nodes.
struct Member {
  std::string_view label;
  const InventoryGroup* group = nullptr;
};

std::int32_t node_count(const Inventory& inventory, const Member& member) {
  return static_cast<std::int32_t>(member.group == nullptr ? inventory.nodes.size()
                                                           : member.group->node_ranks.size());
}

std::int32_t node_rank(const Member& member, std::int32_t i) {
  return member.group == nullptr ? i : member.group->node_ranks[static_cast<std::size_t>(i)];
}

ResourceKind kind_of(const Inventory& inventory, const Member& member) {
  if (member.label == kNodeLabel) return ResourceKind::Node;
  if (member.group != nullptr) {
    if (!member.group->hardware_type.empty()) return ResourceKind::Custom;
    if (member.group->ignore_hardware) return ResourceKind::Node;
  }
  for (std::int32_t i = 0; i < node_count(inventory, member); ++i) {
    const auto node = static_cast<std::size_t>(node_rank(member, i));
    if (inventory.nodes[node].accelerators > 0) return ResourceKind::Accelerator;
  }
  return ResourceKind::Node;
}

std::string type_name(const Member& member, ResourceKind kind) {
  switch (kind) {
    case ResourceKind::Accelerator:
      return std::string(kAcceleratorType);
    case ResourceKind::Node:
      return std::string(kNodeType);
    case ResourceKind::Custom:
      return member.group->hardware_type;
  }
  return {};
}

/// Appends the resources of a group on its next node.
void add_resources(Selection& out, std::int32_t node, std::int32_t group, std::int32_t count) {
  if (count <= 0) return;
  out.nodes.push_back({out.resources, count, node, group});
  out.resources += count;
}

void add_custom(Selection& out, const InventoryGroup& group, std::int32_t index) {
  for (std::size_t i = 0; i < group.hardware.size();) {
    std::size_t end = i;
    while (end < group.hardware.size() &&
           group.hardware[end].node_rank == group.hardware[i].node_rank) {
      ++end;
    }
    add_resources(out, group.hardware[i].node_rank, index, static_cast<std::int32_t>(end - i));
    i = end;
  }
}

void add_group(Selection& out, const Inventory& inventory, const Member& member) {
  const auto index = static_cast<std::int32_t>(out.labels.size());
  const ResourceKind kind = out.kinds[static_cast<std::size_t>(index)];
  const std::string type = type_name(member, kind);
  const auto known = std::find(out.hardware_types.begin(), out.hardware_types.end(), type);
  out.type_ids.push_back(static_cast<std::int32_t>(known - out.hardware_types.begin()));
  out.labels.emplace_back(member.label);
  out.hardware_types.push_back(type);
  if (kind == ResourceKind::Custom) {
    add_custom(out, *member.group, index);
    return;
  }
  for (std::int32_t i = 0; i < node_count(inventory, member); ++i) {
    const std::int32_t node = node_rank(member, i);
    const std::int32_t devices = inventory.nodes[static_cast<std::size_t>(node)].accelerators;
    add_resources(out, node, index, kind == ResourceKind::Node ? 1 : devices);
  }
}

std::string known_labels(const Inventory& inventory) {
  constexpr std::size_t kShown = 8;
  std::string text = std::string(kClusterLabel) + ", " + std::string(kNodeLabel);
  for (std::size_t i = 0; i < inventory.groups.size() && i < kShown; ++i) {
    text += ", " + inventory.groups[i].label;
  }
  if (inventory.groups.size() > kShown) text += ", ...";
  return text;
}

void tell_unknown(const Inventory& inventory, const PlacedLabel& label, const ErrorSink& errors) {
  errors.add(ErrorKind::NodeGroupNotFound,
             label.at,
             {"node group " + in_quotes(label.label),
              "a label of the cluster: " + known_labels(inventory),
              "declare the group under node_groups or correct the label"});
}

void tell_repeated(const PlacedLabel& label, const ErrorSink& errors) {
  errors.add(ErrorKind::NodeGroupRepeated,
             label.at,
             {"node group " + in_quotes(label.label) + " a second time",
              "every group once, for its resources are numbered once",
              "remove the second " + in_quotes(label.label) +
                  "; processes share a device by explicit process ranks"});
}

/// The groups behind `labels`; nothing where one cannot be used.
std::optional<std::vector<Member>> find_members(const Inventory& inventory,
                                                const std::vector<PlacedLabel>& labels,
                                                const ErrorSink& errors) {
  std::vector<Member> members;
  std::vector<std::size_t> repeated;
  std::set<std::string_view> seen;
  bool sound = !inventory.nodes.empty();
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const InventoryGroup* group = inventory.find(labels[i].label);
    members.push_back({labels[i].label, group});
    const bool unsound = inventory.is_unsound(labels[i].label);
    const bool unknown = !unsound && group == nullptr && !is_reserved_label(labels[i].label);
    const bool again = !seen.insert(labels[i].label).second;
    if (again && !unknown) repeated.push_back(i);
    if (unknown && !again) tell_unknown(inventory, labels[i], errors);
    sound = sound && !unsound && !unknown && !again;
  }
  for (const std::size_t i : repeated) tell_repeated(labels[i], errors);
  if (!sound) return std::nullopt;
  return members;
}

Selection number_resources(const Inventory& inventory,
                           const std::vector<Member>& members,
                           bool nodes_only) {
  Selection out;
  for (const Member& member : members) {
    out.kinds.push_back(nodes_only ? ResourceKind::Node : kind_of(inventory, member));
  }
  // Rule P15: one group without hardware turns all of them into nodes.
  if (std::find(out.kinds.begin(), out.kinds.end(), ResourceKind::Node) != out.kinds.end()) {
    std::fill(out.kinds.begin(), out.kinds.end(), ResourceKind::Node);
  }
  for (const Member& member : members) add_group(out, inventory, member);
  return out;
}

}  // namespace

std::vector<PlacedLabel> split_labels(const std::vector<PlacedText>& labels) {
  std::vector<PlacedLabel> out;
  for (const PlacedText& text : labels) {
    for (const TextPiece& piece : split_trimmed({text.text, 0}, ',')) {
      out.push_back({std::string(piece.text), text.at.plus(piece.offset)});
    }
  }
  if (out.empty()) out.push_back({std::string(kClusterLabel), {}});
  return out;
}

std::optional<Selection> select_groups(const Inventory& inventory,
                                       const std::vector<PlacedLabel>& labels,
                                       const ErrorSink& errors) {
  const auto members = find_members(inventory, labels, errors);
  if (!members) return std::nullopt;
  return number_resources(inventory, *members, false);
}

std::optional<Selection> select_nodes(const Inventory& inventory,
                                      const std::vector<PlacedLabel>& labels,
                                      const ErrorSink& errors) {
  const auto members = find_members(inventory, labels, errors);
  if (!members) return std::nullopt;
  return number_resources(inventory, *members, true);
}

std::optional<SharedNode> find_shared_node(const Selection& selection, std::size_t cluster_nodes) {
  if (selection.labels.size() < 2) return std::nullopt;
  std::vector<bool> seen(cluster_nodes, false);
  for (const NodeResources& node : selection.nodes) {
    const auto at = static_cast<std::size_t>(node.node_rank);
    if (seen[at]) return SharedNode{node.group, node.node_rank};
    seen[at] = true;
  }
  return std::nullopt;
}

void tell_shared_node(const SharedNode& shared,
                      const Selection& selection,
                      TextPosition at,
                      const ErrorSink& errors) {
  errors.add(ErrorKind::NodeGroupsOverlap,
             at,
             {"node " + std::to_string(shared.node_rank) + " in group " +
                  in_quotes(selection.labels[static_cast<std::size_t>(shared.group)]) +
                  " and in a group before it",
              "groups that share no node, for their nodes are the resource",
              "choose groups that do not overlap, or one of them"});
}

const NodeResources& ResourceFinder::find(std::int64_t rank) {
  const std::vector<NodeResources>& nodes = selection_->nodes;
  invariant(rank >= 0 && rank < selection_->resources, "a resource rank is below the count");
  const auto has = [&](std::size_t i) {
    return rank >= nodes[i].first && rank - nodes[i].first < nodes[i].count;
  };
  if (has(at_)) return nodes[at_];
  if (at_ + 1 < nodes.size() && has(at_ + 1)) return nodes[++at_];
  const auto after = std::upper_bound(
      nodes.begin(), nodes.end(), rank, [](std::int64_t r, const NodeResources& node) {
        return r < node.first;
      });
  at_ = static_cast<std::size_t>(after - nodes.begin()) - 1;
  return nodes[at_];
}

std::string describe_resources(const Selection& selection) {
  constexpr std::size_t kShown = 4;
  if (selection.nodes.empty()) return "no resources";
  std::string text;
  for (std::size_t i = 0; i < selection.nodes.size() && i < kShown; ++i) {
    const NodeResources& node = selection.nodes[i];
    if (!text.empty()) text += ", ";
    text += to_text({node.first, node.first + node.count - 1}) + " on node " +
            std::to_string(node.node_rank);
  }
  if (selection.nodes.size() > kShown) text += ", ...";
  return text;
}

}  // namespace orrery::placement
