// The strategies that code asks for by name (rules S1 to S3).
#include <algorithm>
#include <optional>
#include <utility>

#include "core/placement/assignment.hpp"
#include "core/placement/packing.hpp"
#include "core/placement/plan.hpp"
#include "core/placement/rank_text.hpp"
#include "core/placement/selection.hpp"

namespace orrery::placement {
namespace {

constexpr std::string_view kComponent = "_";

/// What every strategy has: groups to choose from, and a place for its errors.
struct StrategyContext {
  const Inventory& inventory;
  std::vector<PlacedLabel> labels;
  TextPosition at;
  PlacementErrors& errors;
  ErrorSink parse;
  ErrorSink resolve;
  std::size_t before;  ///< Errors that were there.

  StrategyContext(const Inventory& cluster,
                  const std::vector<PlacedText>& groups,
                  std::string_view name,
                  PlacementErrors& out)
      : inventory(cluster),
        labels(split_labels(groups)),
        at(labels.front().at),
        errors(out),
        parse(out, Stage::Parse, std::string(name) + " strategy"),
        resolve(parse.in(Stage::Resolve)),
        before(out.size()) {}

  bool sound() const { return errors.size() == before; }

  ComponentPlan nothing() const {
    sort_by_stage(errors);
    ComponentPlan plan;
    plan.name = kComponent;
    return plan;
  }

  /// A selection of devices; nothing where the groups have none.
  std::optional<Selection> select_devices() const {
    auto selection = select_groups(inventory, labels, parse);
    if (!selection || !selection->is_nodes()) return selection;
    resolve.add(ErrorKind::NoHardware,
                at,
                {"node groups without devices",
                 "accelerators or custom hardware in every group",
                 "choose groups with devices or the node strategy"});
    return std::nullopt;
  }

  void tell_out_of_range(RankRange ranks, const Selection& selection) const {
    resolve.add(
        ErrorKind::ResourceOutOfRange,
        at,
        {"resource ranks " + to_text(ranks) + " of " + counted(selection.resources, "resource"),
         "ranks that exist: " + describe_resources(selection),
         "choose ranks below " + std::to_string(selection.resources)});
  }
};

bool check_packed(const PackedStrategy& strategy, const StrategyContext& context) {
  const std::string range =
      "ranks " + std::to_string(strategy.start) + " to " + std::to_string(strategy.end);
  if (strategy.start < 0 || strategy.end < 0) {
    context.parse.add(ErrorKind::ResourceOutOfRange,
                      context.at,
                      {range, "ranks counted from 0", "choose a start and an end from 0 on"});
    return false;
  }
  if (strategy.end < strategy.start) {
    context.parse.add(ErrorKind::RangeReversed,
                      context.at,
                      {range, "a start that is not above the end", "exchange start and end"});
    return false;
  }
  const Packing packing{{strategy.start, strategy.end}, strategy.per_process, strategy.stride};
  if (packing.per_process < 1 || packing.stride < 1 || !packing.divides()) {
    context.parse.add(ErrorKind::NotDivisible,
                      context.at,
                      {counted(packing.resources.count(), "resource") + " for " +
                           std::to_string(strategy.per_process) + " per process at stride " +
                           std::to_string(strategy.stride),
                       "a number of resources that is a multiple of both together, each at least 1",
                       "change the end of the range, the number per process or the stride"});
    return false;
  }
  return true;
}

/// Rule S2: the devices of each process ascend, and so do the first devices of the processes.
std::vector<std::vector<std::int64_t>> in_order(const FlexibleStrategy& strategy) {
  std::vector<std::vector<std::int64_t>> processes;
  for (const std::vector<std::int32_t>& devices : strategy.devices) {
    processes.emplace_back(devices.begin(), devices.end());
    std::sort(processes.back().begin(), processes.back().end());
  }
  std::stable_sort(processes.begin(), processes.end(), [](const auto& a, const auto& b) {
    return a.front() < b.front();
  });
  return processes;
}

bool check_flexible(const FlexibleStrategy& strategy, const StrategyContext& context) {
  if (strategy.devices.empty()) {
    context.parse.add(ErrorKind::PlacementEmpty,
                      context.at,
                      {"a list without processes",
                       "the devices of at least one process",
                       "add a list of device ranks for each process"});
    return false;
  }
  bool sound = true;
  for (std::size_t i = 0; i < strategy.devices.size(); ++i) {
    const std::vector<std::int32_t>& devices = strategy.devices[i];
    const std::string list = "list " + std::to_string(i);
    if (devices.empty()) {
      sound = false;
      context.parse.add(ErrorKind::ResourceEmpty,
                        context.at,
                        {"no devices in " + list,
                         "at least one device for each process",
                         "add device ranks or remove the list"});
    } else if (const auto least = *std::min_element(devices.begin(), devices.end()); least < 0) {
      sound = false;
      context.parse.add(ErrorKind::ResourceOutOfRange,
                        context.at,
                        {"rank " + std::to_string(least) + " in " + list,
                         "ranks counted from 0",
                         "choose ranks from 0 on"});
    }
  }
  return sound;
}

}  // namespace

ComponentPlan resolve_strategy(const Inventory& inventory,
                               const PackedStrategy& strategy,
                               const std::vector<PlacedText>& labels,
                               PlacementErrors& errors) {
  const StrategyContext context(inventory, labels, "packed", errors);
  const bool sound = check_packed(strategy, context);
  const auto selection = context.select_devices();
  if (!sound || !selection) return context.nothing();
  const RankRange ranks{strategy.start, strategy.end};
  if (ranks.last >= selection->resources) {
    context.tell_out_of_range(ranks, *selection);
    return context.nothing();
  }
  Assignment assignment(*selection, std::string(kComponent));
  if (const auto fault = add_packed(assignment, {ranks, strategy.per_process, strategy.stride})) {
    tell_fault(*fault, *selection, context.at, context.resolve);
    return context.nothing();
  }
  return assignment.finish(inventory.nodes.size());
}

ComponentPlan resolve_strategy(const Inventory& inventory,
                               const FlexibleStrategy& strategy,
                               const std::vector<PlacedText>& labels,
                               PlacementErrors& errors) {
  const StrategyContext context(inventory, labels, "flexible", errors);
  const bool sound = check_flexible(strategy, context);
  const auto selection = context.select_devices();
  if (!sound || !selection) return context.nothing();
  Assignment assignment(*selection, std::string(kComponent));
  for (const std::vector<std::int64_t>& devices : in_order(strategy)) {
    if (devices.back() >= selection->resources) {
      context.tell_out_of_range({devices.front(), devices.back()}, *selection);
    } else if (const auto fault = assignment.add(devices)) {
      tell_fault(*fault, *selection, context.at, context.resolve);
    }
  }
  if (!context.sound()) return context.nothing();
  return assignment.finish(inventory.nodes.size());
}

ComponentPlan resolve_strategy(const Inventory& inventory,
                               const NodeStrategy& strategy,
                               const std::vector<PlacedText>& labels,
                               PlacementErrors& errors) {
  const StrategyContext context(inventory, labels, "node", errors);
  if (strategy.nodes.empty()) {
    context.parse.add(ErrorKind::PlacementEmpty,
                      context.at,
                      {"a list without nodes",
                       "the node of at least one process",
                       "add a node rank for each process"});
  }
  const auto selection = select_nodes(inventory, context.labels, context.parse);
  if (!selection) return context.nothing();
  if (const auto shared = find_shared_node(*selection, inventory.nodes.size())) {
    tell_shared_node(*shared, *selection, context.labels.back().at, context.resolve);
  }
  std::vector<std::int32_t> nodes = strategy.nodes;
  std::sort(nodes.begin(), nodes.end());
  Assignment assignment(*selection, std::string(kComponent));
  std::optional<std::int32_t> told;
  for (const std::int32_t node : nodes) {
    if (node >= 0 && node < selection->resources) {
      assignment.add(node, 1, 1);
    } else if (told != node) {
      told = node;
      context.resolve.add(
          ErrorKind::NodeOutOfRange,
          context.at,
          {"node rank " + std::to_string(node) + " of " + counted(selection->resources, "node"),
           "ranks from 0 to " + std::to_string(selection->resources - 1) + " in the chosen groups",
           "choose nodes that the groups have"});
    }
  }
  if (!context.sound()) return context.nothing();
  return assignment.finish(inventory.nodes.size());
}

}  // namespace orrery::placement
