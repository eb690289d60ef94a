// A plan as a text of the language, process ranks written out.
#include <algorithm>
#include <optional>
#include <utility>

#include "core/placement/component_rules.hpp"
#include "core/placement/plan.hpp"
#include "core/placement/rank_text.hpp"
#include "core/placement/selection.hpp"

namespace orrery::placement {
namespace {

/// Consecutive processes on consecutive resources: either several resources a process, or several
/// processes a resource.
struct Run {
  RankRange resources;
  RankRange processes;
  std::int64_t per_process = 1;
  std::int64_t per_resource = 1;
};

/// Resource ranks of devices: the reverse of the numbering.
class RankFinder {
 public:
  explicit RankFinder(const Selection& selection)
      : selection_(selection), groups_(selection.labels.size()) {
    // In a group, nodes ascend.
    for (const NodeResources& node : selection.nodes) {
      groups_[static_cast<std::size_t>(node.group)].push_back(node);
    }
  }

  /// Consecutive resources of one process; nothing where they are none.
  std::optional<RankRange> find(const Process& process) {
    const bool is_node = process.kind == ResourceKind::Node;
    if (is_node != process.devices.empty()) return std::nullopt;
    const auto first = find_first(process, is_node ? 0 : process.devices.front());
    if (!first) return std::nullopt;
    RankRange range{*first, *first};
    const auto devices = static_cast<std::int64_t>(process.devices.size());
    // Only the group of the first device is known: the others follow it or cannot be said.
    for (std::int64_t i = 1; i < devices; ++i) {
      if (!is_at(++range.last, process, process.devices[static_cast<std::size_t>(i)])) {
        return std::nullopt;
      }
    }
    return range;
  }

 private:
  std::optional<std::int64_t> find_first(const Process& process, std::int32_t local) const {
    const auto& nodes = groups_[static_cast<std::size_t>(process.group)];
    const auto node = std::lower_bound(
        nodes.begin(), nodes.end(), process.node_rank, [](const auto& n, std::int32_t rank) {
          return n.node_rank < rank;
        });
    const bool has = node != nodes.end() && node->node_rank == process.node_rank && local >= 0 &&
                     local < node->count;
    if (!has) return std::nullopt;
    return node->first + local;
  }

  bool is_at(std::int64_t rank, const Process& process, std::int32_t local) {
    if (rank >= selection_.resources) return false;
    const NodeResources& node = finder_.find(rank);
    const auto type = [&](std::int32_t group) {
      return selection_.type_ids[static_cast<std::size_t>(group)];
    };
    return node.node_rank == process.node_rank && rank - node.first == local &&
           type(node.group) == type(process.group);
  }

  const Selection& selection_;
  ResourceFinder finder_{selection_};
  std::vector<std::vector<NodeResources>> groups_;
};

/// Processes that follow each other on the same resource become one run; nothing where resources
/// do not rise.
std::optional<std::vector<Run>> runs_of(const ComponentPlan& component, RankFinder finder) {
  std::vector<Run> runs;
  for (const Process& process : component.processes) {
    const auto resources = finder.find(process);
    if (!resources) return std::nullopt;
    const bool shared = !runs.empty() && runs.back().resources == *resources;
    if (shared && resources->count() == 1) {
      ++runs.back().processes.last;
      ++runs.back().per_resource;
      continue;
    }
    if (!runs.empty() && resources->first <= runs.back().resources.last) return std::nullopt;
    runs.push_back({*resources, {process.rank, process.rank}, resources->count(), 1});
  }
  return runs;
}

/// Runs of one shape next to each other become one entry.
std::string write(const std::vector<Run>& runs) {
  std::string text;
  for (std::size_t i = 0; i < runs.size();) {
    Run entry = runs[i];
    for (++i; i < runs.size(); ++i) {
      const Run& next = runs[i];
      if (next.per_process != entry.per_process || next.per_resource != entry.per_resource ||
          next.resources.first != entry.resources.last + 1) {
        break;
      }
      entry.resources.last = next.resources.last;
      entry.processes.last = next.processes.last;
    }
    if (!text.empty()) text += ',';
    text += to_text(entry.resources) + ':' + to_text(entry.processes);
  }
  return text;
}

std::optional<std::string> explicit_text(const ComponentPlan& component,
                                         const std::vector<PlacedText>& labels,
                                         const Inventory& inventory) {
  if (component.processes.empty()) return std::nullopt;
  PlacementErrors none;
  const auto selection =
      select_groups(inventory, split_labels(labels), ErrorSink(none, Stage::Parse, component.name));
  if (!selection || selection->labels != component.groups ||
      selection->hardware_types != component.hardware_types) {
    return std::nullopt;
  }
  const auto runs = runs_of(component, RankFinder(*selection));
  if (!runs) return std::nullopt;
  return write(*runs);
}

}  // namespace

PlacementRule explicit_rule(const ComponentPlan& component, const Inventory& inventory) {
  PlacementRule rule;
  rule.components.text = component.name;
  const bool whole_cluster =
      component.groups.size() == 1 && component.groups.front() == kClusterLabel;
  if (!whole_cluster) {
    for (const std::string& label : component.groups) rule.node_groups.push_back({label, {}});
  }
  auto text = explicit_text(component, rule.node_groups, inventory);
  if (text) rule.placement = PlacedText{std::move(*text), {}};
  return rule;
}

}  // namespace orrery::placement
