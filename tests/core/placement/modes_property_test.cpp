// Random pools and sizes: the mode against sets of devices, and what holds in each mode.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/base/random.hpp"
#include "tests/core/placement/placement_builders.hpp"
#include "tests/support/long_form.hpp"

namespace orrery::placement {
namespace {

using Devices = std::set<std::pair<std::int32_t, std::int32_t>>;

/// A node and a device of it for each rank, in the order of ranks.
using Ranks = std::vector<std::pair<std::int32_t, std::int32_t>>;

/// One random case: pools on "cluster" or on the group "tail", all nodes but the first.
struct Case {
  Inventory inventory;
  std::vector<PlacementRule> rules;
  ParallelSizes sizes;
  std::map<std::string, Ranks> pools;
};

Ranks ranks_of(const Inventory& inventory, std::size_t first_node) {
  Ranks ranks;
  for (std::size_t node = first_node; node < inventory.nodes.size(); ++node) {
    for (std::int32_t i = 0; i < inventory.nodes[node].accelerators; ++i) {
      ranks.emplace_back(static_cast<std::int32_t>(node), i);
    }
  }
  return ranks;
}

void add_pool(Case& c, const std::string& name, std::int64_t first, std::int64_t last, bool tail) {
  const Ranks all = ranks_of(c.inventory, tail ? 1 : 0);
  const auto ranks = static_cast<std::int64_t>(all.size());
  first = std::min(first, ranks - 1);
  last = std::clamp(last, first, ranks - 1);
  c.rules.push_back(
      rule(name, std::to_string(first) + '-' + std::to_string(last), tail ? "tail" : ""));
  c.pools[name] = Ranks(all.begin() + first, all.begin() + last + 1);
}

Case random_case(Random& random) {
  Case c;
  const std::int32_t devices = 4 << random.between(0, 1);
  c.inventory = cluster_of({devices, random.chance(0.2) ? 2 : devices, devices});
  add_group(c.inventory, "tail", {1, 2});
  const auto total = static_cast<std::int64_t>(ranks_of(c.inventory, 0).size());
  const std::int64_t cut = random.between(1, total - 2);
  const std::int64_t second = random.chance(0.5) ? total - 1 : random.between(cut, total - 2);
  const bool shared = random.chance(0.3);
  add_pool(c, "actor", random.chance(0.9) ? 0 : 1, shared ? second : cut - 1, false);
  add_pool(c, "rollout", shared && random.chance(0.9) ? 0 : cut, second, random.chance(0.1));
  if (random.chance(shared ? 0.1 : 0.6)) {
    add_pool(c, "inference", random.chance(0.9) ? second + 1 : second, total - 1, false);
  }
  add_pool(c, "reward", random.between(0, total - 1), total - 1, random.chance(0.3));
  random.shuffle(c.rules);
  const auto power = [&] { return static_cast<std::int32_t>(1U << random.below(3)); };
  c.sizes.actor_tensor = random.chance(0.1) ? 3 : power();
  c.sizes.rollout_tensor = power();
  c.sizes.rollout_pipeline = random.chance(0.2) ? 2 : 1;
  c.sizes.inference_tensor = power();
  c.sizes.recompute_logprobs = random.chance(0.9);
  c.sizes.auto_scheduler = random.chance(0.3);
  c.sizes.use_pre_process_policy = random.chance(0.5);
  return c;
}

Devices set_of(const Ranks& ranks) { return {ranks.begin(), ranks.end()}; }

bool disjoint(const Case& c) {
  std::size_t sum = 0;
  Devices all;
  for (const char* name : {"actor", "rollout", "inference"}) {
    const auto pool = c.pools.find(name);
    if (pool == c.pools.end()) continue;
    sum += pool->second.size();
    all.insert(pool->second.begin(), pool->second.end());
  }
  return all.size() == sum;
}

/// The pools one after the other are all devices of the cluster.
bool cover_in_order(const Case& c) {
  Ranks joined;
  for (const char* name : {"actor", "rollout", "inference"}) {
    const auto pool = c.pools.find(name);
    if (pool != c.pools.end()) {
      joined.insert(joined.end(), pool->second.begin(), pool->second.end());
    }
  }
  return joined == ranks_of(c.inventory, 0);
}

/// Kinds that the rules allow for this case in stage parse; empty: a mode must be found.
std::set<ErrorKind> expected_kinds(const Case& c, Mode& mode) {
  const auto& actor = c.pools.at("actor");
  const auto& rollout = c.pools.at("rollout");
  const bool inference = c.pools.contains("inference");
  const bool same = set_of(actor) == set_of(rollout);
  std::set<ErrorKind> kinds;
  const auto count = [](const Ranks& ranks) { return static_cast<std::int32_t>(ranks.size()); };
  const auto engines = [&](const Ranks& pool, std::int32_t size) {
    if (count(pool) % size != 0) kinds.insert(ErrorKind::NotDivisible);
  };
  const std::int32_t engine = c.sizes.rollout_tensor * c.sizes.rollout_pipeline;
  const auto apart = [&] {
    if (inference && c.sizes.inference_tensor > count(c.pools.at("inference"))) {
      kinds.insert(ErrorKind::InferenceTpTooLarge);
    }
    if (inference && !c.sizes.recompute_logprobs) {
      kinds.insert(ErrorKind::InferenceWithoutRecompute);
    }
    engines(rollout, engine);
  };
  if (c.sizes.auto_scheduler) {
    mode = Mode::Auto;
    if (!same && !disjoint(c)) return {ErrorKind::ModeAmbiguous};
    if (!cover_in_order(c)) return {ErrorKind::AutoOrder};
    apart();
    if (c.sizes.use_pre_process_policy) engines(actor, engine);
  } else if (same) {
    mode = Mode::Collocated;
    if (inference) kinds.insert(ErrorKind::ModeAmbiguous);
    const std::int32_t wider = std::max(c.sizes.actor_tensor, c.sizes.rollout_tensor);
    if (wider % c.sizes.rollout_tensor != 0) {
      kinds.insert(ErrorKind::TpNotDivisible);
    } else {
      engines(rollout, wider);
    }
  } else {
    mode = Mode::Disaggregated;
    if (!disjoint(c)) return {ErrorKind::ModeAmbiguous};
    apart();
  }
  if (c.sizes.actor_tensor > count(actor)) kinds.insert(ErrorKind::NotDivisible);
  return kinds;
}

Devices devices_of(const Process& process) {
  Devices devices;
  for (const std::int32_t device : process.devices) devices.insert({process.node_rank, device});
  return devices;
}

/// Devices of a component, process by process.
Ranks used(const ComponentPlan& component) {
  Ranks ranks;
  for (const Process& process : component.processes) {
    for (const auto& device : devices_of(process)) ranks.push_back(device);
  }
  return ranks;
}

void expect_components(const Case& c, const Plan& plan) {
  for (const ComponentPlan& component : plan.components) {
    SCOPED_TRACE(component.name);
    Ranks ranks = c.pools.at(component.name);
    const bool dynamic = plan.mode == Mode::Auto;
    if (dynamic && component.name == "actor") ranks = ranks_of(c.inventory, 0);
    if (dynamic && component.name == "rollout" && c.sizes.use_pre_process_policy) {
      const Ranks& actor = c.pools.at("actor");
      ranks.insert(ranks.begin(), actor.begin(), actor.end());
    }
    const Ranks devices = used(component);
    EXPECT_EQ(devices.size(), ranks.size()) << "each device is used once";
    EXPECT_EQ(set_of(devices), set_of(ranks));
    const bool engine = component.name == "rollout";
    const std::int32_t size =
        !engine ? 1
                : c.sizes.rollout_tensor *
                      (plan.mode == Mode::Collocated ? 1 : c.sizes.rollout_pipeline);
    for (const Process& process : component.processes) {
      EXPECT_EQ(process.devices.size(), static_cast<std::size_t>(size));
    }
    if (!engine || plan.mode != Mode::Collocated) {
      EXPECT_EQ(devices, ranks) << "in the order of ranks";
    }
  }
}

TEST(ModesProperty, ModesAgreeWithSetsOfDevices) {
  std::map<std::string, std::uint64_t> met;
  const std::uint64_t seeds = tests::count_of(2000, 8000);
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    Random random = Random::stream(seed, "modes");
    const Case c = random_case(random);
    SCOPED_TRACE("seed " + std::to_string(seed));
    PlacementErrors errors;
    const Plan plan = resolve_model_parallel(c.inventory, c.rules, c.sizes, errors);
    Mode mode = Mode::Hybrid;
    const std::set<ErrorKind> expected = expected_kinds(c, mode);
    std::set<ErrorKind> parse;
    bool spans = false;
    for (const PlacementError& error : errors) {
      if (error.stage == Stage::Parse) parse.insert(error.kind);
      spans = spans || error.kind == ErrorKind::ProcessSpansNodes;
    }
    EXPECT_EQ(parse, expected);
    for (const ErrorKind kind : expected) ++met[std::string(to_string(kind))];
    if (expected.empty()) {
      EXPECT_EQ(plan.mode, mode);
      EXPECT_EQ(plan.components.size() + (spans ? 1 : 0), c.rules.size());
      expect_components(c, plan);
      ++met[std::string(to_string(mode))];
    } else {
      EXPECT_TRUE(plan.components.empty());
    }
    ASSERT_FALSE(HasFailure());
  }
  for (const char* name : {"collocated",
                           "disaggregated",
                           "auto",
                           "mode_ambiguous",
                           "auto_order",
                           "not_divisible",
                           "tp_not_divisible",
                           "inference_tp_too_large",
                           "inference_without_recompute"}) {
    EXPECT_GT(met[name], seeds / 200) << name;
  }
}

}  // namespace
}  // namespace orrery::placement
