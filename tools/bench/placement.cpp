// What it takes to resolve placements: 20,000 processes on 16,384 nodes of 8 devices.
//
//   bench_placement [rounds]     50 where none is given
//
// Prints for each placement the best time of all rounds from text to plan, its parts, and beside it
// two times of the same run: to copy the finished plan, which is the least that making it can take,
// and to number all devices one by one, as a flat list, before looking anything up in it.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "core/placement/plan.hpp"

namespace orrery::bench {
namespace {

using placement::ComponentPlan;
using placement::Inventory;
using placement::PlacementRule;

constexpr std::int32_t kNodes = 16'384;
constexpr std::int32_t kDevices = 8;
constexpr double kTargetMs = 50.0;

/// The best wall time in milliseconds that `work` takes; its result is used.
template <class Work>
double best_ms(int rounds, std::size_t& used, Work work) {
  double best = 1e18;
  for (int i = 0; i < rounds; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    used += work();
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
    best = std::min(best, took.count());
  }
  return best;
}

Inventory make_cluster() {
  Inventory inventory;
  inventory.nodes.assign(kNodes, {.accelerators = kDevices, .accelerator_model = "H100"});
  for (const bool even : {true, false}) {
    placement::InventoryGroup group;
    group.label = even ? "even" : "odd";
    for (std::int32_t node = even ? 0 : 1; node < kNodes; node += 2) {
      group.node_ranks.push_back(node);
    }
    inventory.groups.push_back(std::move(group));
  }
  return inventory;
}

PlacementRule rule(std::string name, std::string text, std::string groups = {}) {
  PlacementRule out;
  out.components.text = std::move(name);
  if (!groups.empty()) out.node_groups.push_back({std::move(groups), {}});
  out.placement = placement::PlacedText{std::move(text), {1, 1}};
  return out;
}

/// Single devices, six apart, each with its process: 20,000 entries.
std::string single_entries() {
  std::string text;
  for (std::int32_t i = 0; i < 20'000; ++i) {
    text += std::to_string(6 * i) + ':' + std::to_string(i) + ',';
  }
  return text;
}

/// One entry per device of the cluster, as a resolver without ranges would have it.
std::size_t number_one_by_one(const Inventory& inventory) {
  std::vector<std::pair<std::int32_t, std::int32_t>> devices;
  for (std::size_t node = 0; node < inventory.nodes.size(); ++node) {
    for (std::int32_t i = 0; i < inventory.nodes[node].accelerators; ++i) {
      devices.emplace_back(static_cast<std::int32_t>(node), i);
    }
  }
  return devices.size();
}

std::vector<ComponentPlan> resolve(const Inventory& inventory,
                                   const std::vector<PlacementRule>& rules) {
  placement::PlacementErrors errors;
  auto plans = placement::resolve_components(inventory, rules, errors);
  for (const auto& error : errors) std::fprintf(stderr, "%s\n", error.message().c_str());
  if (!errors.empty()) std::exit(1);
  return plans;
}

void measure(const char* name,
             const Inventory& inventory,
             const std::vector<PlacementRule>& rules,
             int rounds) {
  std::size_t used = 0;
  const auto plans = resolve(inventory, rules);
  std::size_t processes = 0;
  for (const ComponentPlan& plan : plans) processes += plan.processes.size();
  const double ms = best_ms(rounds, used, [&] { return resolve(inventory, rules).size(); });
  const double copy = best_ms(rounds, used, [&] { return std::vector(plans).size(); });
  const double flat = best_ms(rounds, used, [&] { return number_one_by_one(inventory); });
  const double text = best_ms(rounds, used, [&] {
    std::size_t bytes = 0;
    for (const ComponentPlan& plan : plans) {
      bytes += placement::explicit_rule(plan, inventory).placement->text.size();
    }
    return bytes;
  });
  std::printf(
      "%-34s %6zu processes %8.3f ms   %5.2f of a copy   %5.2f of a flat list   "
      "written out %7.3f ms%s\n",
      name,
      processes,
      ms,
      ms / copy,
      ms / flat,
      text,
      ms < kTargetMs ? "" : "   ABOVE THE TARGET");
  if (used == 0) std::printf("nothing was done\n");
}

int main_of(int rounds) {
  const Inventory cluster = make_cluster();
  std::printf(
      "%d nodes of %d devices, best of %d; target %.0f ms\n", kNodes, kDevices, rounds, kTargetMs);
  measure("one range", cluster, {rule("actor", "0-19999")}, rounds);
  measure("every node, all devices",
          cluster,
          {rule("actor", "0-28927:0-7231,28928-131071:7232-19999")},
          rounds);
  measure("two groups, every node",
          cluster,
          {rule("actor", "0-28927:0-7231,28928-131071:7232-19999", "odd,even")},
          rounds);
  measure("nodes", cluster, {rule("agent", "0-9999:0-19999", "node")}, rounds);
  measure("20,000 entries", cluster, {rule("actor", single_entries())}, rounds);
  std::vector<PlacementRule> many;
  for (int i = 0; i < 100; ++i) {
    const std::string first = std::to_string(200 * i);
    many.push_back(
        rule("c" + std::to_string(i), first + '-' + std::to_string(200 * i + 199), "even"));
  }
  measure("100 components of 200", cluster, many, rounds);
  return 0;
}

}  // namespace
}  // namespace orrery::bench

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 50;
  return orrery::bench::main_of(std::max(1, rounds));
}
