#include "sim/storm/storm_plan.hpp"

#include <algorithm>
#include <array>

#include "core/base/random.hpp"
#include "core/placer/registry.hpp"
#include "core/record/version.hpp"
#include "scenarios/language/yaml/quantities.hpp"
#include "sim/storm/plan_families.hpp"
#include "sim/storm/plan_faults.hpp"
#include "sim/storm/plan_growth.hpp"
#include "sim/storm/plan_jobs.hpp"
#include "sim/storm/plan_programs.hpp"
#include "sim/storm/plan_queues.hpp"

namespace orrery::sim {
namespace {

using scenarios::Scenario;

constexpr Bytes gib(std::int64_t n) { return Bytes{n << 30}; }

NodeGroup plan_group(Random& random, const std::string& name, std::int32_t nodes) {
  NodeGroup group;
  group.name = name;
  group.count = nodes;
  group.cpu = MilliCpu{random.between(4, 32) * 1000};
  group.memory = gib(random.between(16, 128));
  group.devices = static_cast<std::int32_t>(1U << random.below(4));
  group.device_model = random.chance(0.8) ? "gpu" : name + "-gpu";
  if (nodes > 1 && random.chance(0.4))
    group.nodes_per_rack = static_cast<std::int32_t>(random.between(1, nodes));
  if (nodes > 2 && random.chance(0.3))
    group.spares = static_cast<std::int32_t>(random.between(1, nodes / 3));
  return group;
}

void plan_cluster(Random& random, Scenario& scenario) {
  const auto nodes = static_cast<std::int32_t>(random.between(2, 12));
  const bool two = nodes >= 4 && random.chance(0.35);
  const std::int32_t first = two ? static_cast<std::int32_t>(random.between(2, nodes - 2)) : nodes;
  scenario.groups.push_back(plan_group(random, "main", first));
  if (two) scenario.groups.push_back(plan_group(random, "side", nodes - first));
  for (const NodeGroup& group : scenario.groups)
    scenario.nodes_per_switch.push_back(
        random.chance(0.2) ? static_cast<std::int32_t>(random.between(1, group.count)) : 0);
}

void plan_settings(Random& random, Scenario& scenario) {
  Settings& settings = scenario.settings;
  const std::int64_t lease_ms = random.between(4'000, 20'000);
  settings.node_lease = Duration::milliseconds(lease_ms);
  settings.fence_margin = Duration::milliseconds(random.between(200, lease_ms / 3));
  settings.takeover_grace = Duration::milliseconds(random.between(5'000, 40'000));
  if (random.chance(0.5)) settings.retain_finished = Duration::seconds(random.between(0, 120));
  if (random.chance(0.3)) settings.preemption_grace = Duration::seconds(random.between(1, 20));
  if (random.chance(0.3)) {
    settings.lemon_incidents = static_cast<std::int32_t>(random.between(2, 5));
    settings.lemon_window = Duration::seconds(random.between(30, 600));
  }
  // Nodes are let in again, or jobs could run out of them for good.
  settings.exclusion = Duration::seconds(random.between(20, 120));
  if (random.chance(0.3))
    scenario.planner_latency = Duration::milliseconds(random.between(1, 2'000));
}

void plan_timing(Random& random, scenarios::Timing& timing) {
  const auto up_to = [&](std::int64_t most_ms) {
    return random.chance(0.25) ? Duration::zero()
                               : Duration::milliseconds(random.between(1, most_ms));
  };
  timing.start = up_to(8'000);
  timing.stop = up_to(3'000);
  timing.restore = up_to(4'000);
  timing.rescale = up_to(2'000);
  if (random.chance(0.7)) {
    timing.checkpoint_interval = Duration::milliseconds(random.between(3'000, 60'000));
    timing.checkpoint_cost = up_to(800);
  }
}

// Under a policy of rounds, jobs that take turns run for a round at a time. One that may write no
// checkpoint when it is stopped would lose all of it where none came due meanwhile, for ever.
void keep_something_of_each_round(Scenario& scenario) {
  scenarios::Timing& timing = scenario.timing;
  for (const scenarios::Parameter& parameter : scenario.policy.parameters) {
    if (parameter.key != "round") continue;
    const Duration round = scenarios::parse_duration(parameter.value).value_or(Duration::zero());
    const Duration idle = timing.stop + timing.start + timing.restore + timing.rescale +
                          scenario.planner_latency + timing.checkpoint_cost;
    const Duration working = std::max(round - idle, Duration::seconds(1));
    timing.checkpoint_interval = std::min(timing.checkpoint_interval, working);
  }
}

void plan_relaunch(Random& random, scenarios::Relaunch& relaunch) {
  if (!random.chance(0.5)) return;
  using scenarios::RelaunchAnswer;
  relaunch.answer =
      static_cast<RelaunchAnswer>(random.below(EnumNames<RelaunchAnswer>::kNames.size()));
  relaunch.after = Duration::seconds(random.between(0, 40));
}

// From 1 us, so that a deadline is just missed, up to `most`.
Duration wide_range(Random& random, Duration most) {
  Duration upper = Duration{1'000};
  while (upper < most && random.chance(0.8)) upper = upper * 4;
  return std::min(Duration{random.between(1, upper.ns)}, most);
}

// Six storms of ten are as inexact as real clocks, stores and policies; the others keep to what was
// exact, for some defects show only where instants fall together.
void plan_jitter(Random random, Scenario& scenario) {
  if (!random.chance(0.6)) return;
  scenarios::Jitter& jitter = scenario.jitter;
  jitter.timers = wide_range(random, Duration::milliseconds(200));
  if (random.chance(0.5)) jitter.batches = wide_range(random, Duration::seconds(1));
  if (random.chance(0.4)) jitter.planner = wide_range(random, Duration::seconds(20));
  if (random.chance(0.5)) jitter.clocks_ppm = static_cast<std::int32_t>(random.between(1, 20'000));
  jitter = within_margin(jitter, scenario.settings);
}

// In three storms of ten the planner fails: answers are lost, or come after the deadline.
void plan_planner(Random random, Scenario& scenario) {
  if (!random.chance(0.3)) return;
  constexpr std::array kLost{0.02, 0.1, 0.3, 0.5};
  scenario.jitter.plans_lost = kLost[random.below(kLost.size())];
  // A policy that is nearly always too late plans nothing, and its jobs would wait for ever: half
  // of what jitter makes late comes in time.
  const Duration drawn = Duration::milliseconds(random.between(500, 20'000));
  scenario.planner_deadline =
      scenario.planner_latency + std::max(drawn, Duration{scenario.jitter.planner.ns / 2});
}

// In some storms plans have grants that no policy has proposed, as long as there are faults.
void plan_garbled(Random random, Scenario& scenario) {
  if (!random.chance(0.15)) return;
  constexpr std::array kGarbled{0.02, 0.1, 0.3};
  scenario.jitter.plans_garbled = kGarbled[random.below(kGarbled.size())];
  scenario.jitter.plans_garbled_until = kStormCalmFrom;
}

// In some storms few jobs that are over are kept.
void plan_kept(Random random, Settings& settings) {
  if (random.chance(0.2))
    settings.retain_finished_max = static_cast<std::int32_t>(random.between(0, 3));
}

// Some storms run under older rules, as a program of today folds journals of older ones.
void plan_rules(Random random, Settings& settings) {
  if (random.chance(0.12))
    settings.rules = static_cast<std::uint16_t>(random.below(kDecisionRules));
}

// Most storms have the placer of their policy.
void plan_placer(Random random, std::span<const std::string> placers, Settings& settings) {
  if (random.chance(0.3)) settings.placer = placers[random.below(placers.size())];
}

}  // namespace

// A quarter of the margin for each, which leaves half of it.
scenarios::Jitter within_margin(scenarios::Jitter jitter, const Settings& settings) {
  jitter.timers = std::min(jitter.timers, Duration{settings.fence_margin.ns / 4});
  const std::int64_t drift_max =
      settings.fence_margin.ns / 8 * 1'000 / (settings.node_lease.ns / 1'000);
  jitter.clocks_ppm =
      static_cast<std::int32_t>(std::min<std::int64_t>(jitter.clocks_ppm, drift_max));
  return jitter;
}

Duration storm_patience(const Scenario& scenario) {
  double work_s = 0;
  for (const scenarios::ScenarioJob& job : scenario.jobs) {
    const Duration alone = scenarios::run_time(job.work, 1);
    if (!alone.is_forever()) work_s += alone.in_seconds();
  }
  return Duration::seconds(1200) + Duration::seconds(static_cast<std::int64_t>(4 * work_s));
}

std::vector<std::string> placer_names() {
  std::vector<std::string> names;
  for (const placers::PlacerRow& row : placers::rows()) names.emplace_back(row.placer.name());
  return names;
}

Scenario plan_storm(std::uint64_t seed, std::span<const scenarios::PolicyChoice> policies) {
  return plan_storm(seed, policies, placer_names());
}

Scenario plan_storm(std::uint64_t seed,
                    std::span<const scenarios::PolicyChoice> policies,
                    std::span<const std::string> placers) {
  Random random = Random::stream(seed, "storm");
  Scenario scenario;
  scenario.name = "storm-" + std::to_string(seed);
  scenario.file = scenario.name + ".yaml";
  scenario.seed = seed;
  scenario.invariants = true;
  plan_cluster(random, scenario);
  plan_settings(random, scenario);
  plan_timing(random, scenario.timing);
  plan_relaunch(random, scenario.relaunch);
  plan_jitter(Random::stream(seed, "storm/jitter"), scenario);
  if (!policies.empty()) scenario.policy = policies[random.below(policies.size())];
  keep_something_of_each_round(scenario);
  plan_planner(Random::stream(seed, "storm/planner"), scenario);
  plan_placer(Random::stream(seed, "storm/placer"), placers, scenario.settings);
  plan_garbled(Random::stream(seed, "storm/garbled"), scenario);
  plan_kept(Random::stream(seed, "storm/kept"), scenario.settings);
  plan_rules(Random::stream(seed, "storm/rules"), scenario.settings);
  Random jobs = Random::stream(seed, "storm/jobs");
  plan_jobs(jobs, kStormCalmFrom, scenario);
  plan_families(Random::stream(seed, "storm/families"), scenario);
  plan_beside(Random::stream(seed, "storm/beside"), scenario);
  plan_programs(Random::stream(seed, "storm/programs"), scenario);
  plan_growth(Random::stream(seed, "storm/growth"), kStormCalmFrom, scenario);
  plan_never(Random::stream(seed, "storm/never"), kStormCalmFrom, scenario);
  plan_changes(Random::stream(seed, "storm/changes"), kStormCalmFrom, scenario);
  plan_replicas(Random::stream(seed, "storm/replicas"), kStormCalmFrom, scenario);
  plan_profilings(Random::stream(seed, "storm/profilings"), kStormCalmFrom, scenario);
  Random faults = Random::stream(seed, "storm/faults");
  plan_faults(faults, kStormCalmFrom, scenario);
  plan_stuck(Random::stream(seed, "storm/stuck"), kStormCalmFrom, scenario);
  plan_blames(Random::stream(seed, "storm/blames"), scenario);
  plan_queues(Random::stream(seed, "storm/queues"), scenario);
  scenario.until = kStormCalmFrom + storm_patience(scenario);
  return scenario;
}

}  // namespace orrery::sim
