// The placement language takes any cluster and any texts: every plan keeps the rules and written
// out in explicit form it is itself; whatever is refused has a place and words.
//
// The first line gives the accelerators of each node, a digit each. Further lines:
//   g LABEL | NODE RANKS | HARDWARE | ENVIRONMENT   a node group: HARDWARE is i (ignored), empty or
//                                                   the node ranks of robots, a digit each
//   r COMPONENTS | LABELS | PLACEMENT               a rule; without the last part it has no
//   placement p START END NUMBER STRIDE                       a packed strategy, a letter each, on
//   the cluster m ACTOR ROLLOUT PIPELINE MODE                   parallel sizes, a letter each: all
//   rules follow a mode
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/invariant.hpp"
#include "core/placement/inventory.hpp"
#include "core/placement/plan.hpp"

namespace orrery::placement {
namespace {

/// What a fuzzed text asks for.
struct Request {
  std::vector<InventoryNode> nodes;
  std::vector<GroupDeclaration> groups;
  std::vector<PlacementRule> rules;
  std::vector<PackedStrategy> packed;
  std::vector<ParallelSizes> sizes;
};

std::string_view take(std::string_view& rest, char end) {
  const std::size_t cut = rest.find(end);
  const std::string_view part = rest.substr(0, cut);
  rest.remove_prefix(cut == std::string_view::npos ? rest.size() : cut + 1);
  return part;
}

/// The letter at `i` as a small number, also below 0.
std::int32_t number(std::string_view text, std::size_t i) {
  return i < text.size() ? text[i] - '0' : 1;
}

void read_group(Request& request, std::string_view line) {
  GroupDeclaration group;
  group.label = {std::string(take(line, '|')), {1, 1}};
  group.node_ranks = {std::string(take(line, '|')), {2, 1}};
  const std::string_view hardware = take(line, '|');
  group.ignore_hardware = hardware.starts_with('i');
  if (!hardware.empty() && !group.ignore_hardware) {
    group.hardware = GroupHardware{{"Franka", {3, 1}}, {}};
    for (std::size_t i = 0; i < hardware.size(); ++i) {
      const std::string serial = std::to_string(i);
      group.hardware->entries.push_back(
          {number(hardware, i), {{"camera_serials", serial}}, {4, 1}});
    }
  }
  if (!line.empty()) {
    GroupEnvironment environment;
    environment.node_ranks = {std::string(line), {5, 1}};
    environment.at = {5, 1};
    group.environments.push_back(std::move(environment));
  }
  request.groups.push_back(std::move(group));
}

void read_rule(Request& request, std::string_view line) {
  PlacementRule rule;
  rule.components = {std::string(take(line, '|')), {6, 1}};
  const std::string_view labels = take(line, '|');
  if (!labels.empty()) rule.node_groups.push_back({std::string(labels), {7, 1}});
  if (!line.empty()) rule.placement = PlacedText{std::string(line), {8, 1}};
  request.rules.push_back(std::move(rule));
}

void read_sizes(Request& request, std::string_view line) {
  ParallelSizes sizes;
  sizes.actor_tensor = number(line, 0);
  sizes.rollout_tensor = number(line, 1);
  sizes.rollout_pipeline = number(line, 2);
  const std::int32_t mode = number(line, 3);
  sizes.auto_scheduler = (mode & 1) != 0;
  sizes.use_pre_process_policy = (mode & 2) != 0;
  sizes.recompute_logprobs = (mode & 4) == 0;
  request.sizes.push_back(sizes);
}

Request read_request(std::string_view text) {
  Request request;
  for (const char c : take(text, '\n').substr(0, 64)) {
    request.nodes.push_back({.accelerators = c >= '0' && c <= '9' ? c - '0' : 0});
  }
  while (!text.empty()) {
    std::string_view line = take(text, '\n');
    const char verb = line.empty() ? ' ' : line.front();
    line.remove_prefix(line.empty() ? 0 : 1);
    if (verb == 'g') read_group(request, line);
    if (verb == 'r') read_rule(request, line);
    if (verb == 'm') read_sizes(request, line);
    if (verb == 'p') {
      request.packed.push_back(
          {number(line, 0), number(line, 1), number(line, 2), number(line, 3)});
    }
  }
  return request;
}

void check_errors(const PlacementErrors& errors, const Request& request) {
  Stage stage = Stage::Config;
  for (const PlacementError& error : errors) {
    invariant(error.stage >= stage, "errors come by stage");
    stage = error.stage;
    invariant(!error.subject.empty() && !error.found.empty() && !error.needed.empty() &&
                  !error.remedy.empty(),
              "every error has words");
    if (error.at.line != 8) continue;
    bool inside = false;
    for (const PlacementRule& rule : request.rules) {
      const std::size_t size = rule.placement ? rule.placement->text.size() : 0;
      inside = inside || (error.at.column >= 1 && error.at.column <= static_cast<int>(size) + 1);
    }
    invariant(inside, "an error of a text lies in it");
  }
}

void check_process(const Inventory& inventory, const ComponentPlan& plan, std::size_t i) {
  const Process& process = plan.processes[i];
  invariant(process.rank == static_cast<std::int32_t>(i), "ranks count from 0");
  invariant(process.node_rank >= 0 &&
                static_cast<std::size_t>(process.node_rank) < inventory.nodes.size(),
            "a process is on a node of the cluster");
  invariant(process.local_rank >= 0 && process.local_rank < process.local_world_size,
            "local ranks count from 0");
  invariant((process.kind == ResourceKind::Node) == process.devices.empty(),
            "all but nodes have devices");
  const std::int32_t accelerators =
      inventory.nodes[static_cast<std::size_t>(process.node_rank)].accelerators;
  for (std::size_t a = 0; a < process.devices.size(); ++a) {
    invariant(process.devices[a] >= 0, "devices count from 0");
    invariant(process.kind != ResourceKind::Accelerator || process.devices[a] < accelerators,
              "accelerators are of the node");
    for (std::size_t b = 0; b < a; ++b) {
      invariant(process.devices[a] != process.devices[b], "a device comes once in a process");
    }
  }
  visible_devices(inventory, process, true);
  local_accelerator_rank(inventory, process);
  environment_of(inventory, plan, process);
}

/// `of_text`: the plan came from a text, so it can be written as one.
void check_plan(const Inventory& inventory, const ComponentPlan& plan, bool of_text) {
  invariant(!plan.processes.empty(), "a component has processes");
  for (std::size_t i = 0; i < plan.processes.size(); ++i) check_process(inventory, plan, i);
  const PlacementRule again = explicit_rule(plan, inventory);
  invariant(again.placement || !of_text, "what a text says can be written as a text");
  if (!again.placement) return;
  PlacementErrors errors;
  const auto plans = resolve_components(inventory, {again}, errors);
  invariant(errors.empty() && plans.size() == 1 && plans[0] == plan,
            "the explicit form resolves to its plan");
}

void check(const Request& request) {
  PlacementErrors errors;
  const Inventory inventory =
      make_inventory(request.nodes, request.groups, built_in_hardware_types(), errors);
  invariant(
      inventory.groups.size() == request.groups.size() || !errors.empty() || request.nodes.empty(),
      "a group is made or told about");
  const auto plans = resolve_components(inventory, request.rules, errors);
  check_errors(errors, request);
  for (const ComponentPlan& plan : plans) check_plan(inventory, plan, true);
  for (const PackedStrategy& packed : request.packed) {
    PlacementErrors told;
    const ComponentPlan plan = resolve_strategy(inventory, packed, {}, told);
    check_errors(told, request);
    invariant(inventory.nodes.empty() || told.empty() != plan.processes.empty(),
              "a strategy is placed or told about");
    if (!plan.processes.empty()) check_plan(inventory, plan, packed.stride == 1);
  }
  for (const ParallelSizes& sizes : request.sizes) {
    PlacementErrors told;
    const Plan plan = resolve_model_parallel(inventory, request.rules, sizes, told);
    check_errors(told, request);
    for (const ComponentPlan& component : plan.components) {
      check_plan(inventory, component, false);
    }
  }
}

}  // namespace
}  // namespace orrery::placement

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using orrery::placement::check;
  using orrery::placement::read_request;
  check(read_request({reinterpret_cast<const char*>(data), size}));
  return 0;
}
