#include "core/placement/assignment.hpp"

#include <algorithm>
#include <utility>

#include "core/placement/rank_text.hpp"

namespace orrery::placement {
namespace {

/// A resource for a message: "resource 8 (Accelerator 0 of node 1)".
std::string describe(const Selection& selection, const NodeResources& node, std::int64_t rank) {
  const auto group = static_cast<std::size_t>(node.group);
  return "resource " + std::to_string(rank) + " (" + selection.hardware_types[group] + ' ' +
         std::to_string(rank - node.first) + " of node " + std::to_string(node.node_rank) + ')';
}

}  // namespace

Assignment::Assignment(const Selection& selection, std::string component)
    : selection_(&selection), finder_(selection) {
  plan_.name = std::move(component);
  plan_.groups = selection.labels;
  plan_.hardware_types = selection.hardware_types;
}

std::optional<ProcessFault> Assignment::add(std::span<const std::int64_t> ranks) {
  return add_ranks(static_cast<std::int64_t>(ranks.size()),
                   [&](std::int64_t i) { return ranks[static_cast<std::size_t>(i)]; });
}

std::optional<ProcessFault> Assignment::add(std::int64_t first,
                                            std::int64_t count,
                                            std::int64_t stride) {
  return add_ranks(count, [&](std::int64_t i) { return first + i * stride; });
}

template <class RankAt>
std::optional<ProcessFault> Assignment::add_ranks(std::int64_t count, RankAt rank_at) {
  const std::int64_t number = attempts_++;
  const NodeResources first = finder_.find(rank_at(0));
  const auto fault = [&](ErrorKind kind, const NodeResources& other, std::int64_t i) {
    return ProcessFault{kind,
                        number,
                        0,
                        describe(*selection_, first, rank_at(0)) + " and " +
                            describe(*selection_, other, rank_at(i))};
  };
  const auto type_of = [&](const NodeResources& node) {
    return selection_->type_ids[static_cast<std::size_t>(node.group)];
  };
  keys_.clear();
  std::int64_t other_type = 0;  // The first resource of another type; 0: none.
  for (std::int64_t i = 0; i < count; ++i) {
    const NodeResources& node = finder_.find(rank_at(i));
    if (node.node_rank != first.node_rank) return fault(ErrorKind::ProcessSpansNodes, node, i);
    if (other_type == 0 && type_of(node) != type_of(first)) other_type = i;
    keys_.push_back((std::int64_t{type_of(node)} << 32) + (rank_at(i) - node.first));
  }
  // Ranks rise, so that a device can only come twice where groups share nodes or ranks repeat.
  std::sort(keys_.begin(), keys_.end());
  const auto twice = std::adjacent_find(keys_.begin(), keys_.end());
  if (twice != keys_.end()) {
    const std::int64_t local = *twice & 0xFFFFFFFF;
    return ProcessFault{ErrorKind::ProcessResourceDuplicate,
                        number,
                        0,
                        "device " + std::to_string(local) + " of node " +
                            std::to_string(first.node_rank) + " twice"};
  }
  if (other_type != 0) {
    const std::int64_t rank = rank_at(other_type);
    return fault(ErrorKind::ProcessMixedHardware, finder_.find(rank), other_type);
  }
  Process process;
  process.rank = static_cast<std::int32_t>(plan_.processes.size());
  process.node_rank = first.node_rank;
  process.group = first.group;
  process.kind = selection_->kinds[static_cast<std::size_t>(first.group)];
  if (process.kind != ResourceKind::Node) {
    process.devices.reserve(static_cast<std::size_t>(count));
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t rank = rank_at(i);
      process.devices.push_back(static_cast<std::int32_t>(rank - finder_.find(rank).first));
    }
  }
  plan_.processes.push_back(std::move(process));
  return std::nullopt;
}

ComponentPlan Assignment::finish(std::size_t cluster_nodes) {
  struct NodeTally {
    std::int32_t placement_rank = -1;
    std::int32_t processes = 0;
  };

  std::vector<NodeTally> nodes(cluster_nodes);
  std::int32_t used = 0;
  for (Process& process : plan_.processes) {
    NodeTally& node = nodes[static_cast<std::size_t>(process.node_rank)];
    if (node.placement_rank < 0) node.placement_rank = used++;
    process.placement_node_rank = node.placement_rank;
    process.local_rank = node.processes++;
  }
  for (Process& process : plan_.processes) {
    process.local_world_size = nodes[static_cast<std::size_t>(process.node_rank)].processes;
  }
  return std::move(plan_);
}

void tell_fault(const ProcessFault& fault,
                const Selection& selection,
                TextPosition at,
                const ErrorSink& errors) {
  ErrorWords words;
  words.found = fault.found + " for process " + std::to_string(fault.process);
  if (fault.others > 0) {
    words.found += ", and likewise " + counted(fault.others, "further process");
  }
  switch (fault.kind) {
    case ErrorKind::ProcessSpansNodes:
      words.needed = "resources of one node for each process: " + describe_resources(selection);
      words.remedy = "end or begin entries at node boundaries, or give a process fewer resources";
      break;
    case ErrorKind::ProcessResourceDuplicate:
      words.needed = "every device once in a process";
      words.remedy = "leave out one of the ranks that mean this device";
      break;
    default:
      words.needed = "resources of one hardware type for each process";
      words.remedy = "end the entry where the next type of hardware begins";
      break;
  }
  errors.add(fault.kind, at, std::move(words));
}

}  // namespace orrery::placement
