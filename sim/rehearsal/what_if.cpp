#include "sim/rehearsal/what_if.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "core/driver/memory_store.hpp"
#include "core/queues/queue_text.hpp"
#include "sim/model/model_world.hpp"
#include "sim/rehearsal/recorded_world.hpp"
#include "sim/run/run_account.hpp"
#include "sim/storm/scenario_yaml.hpp"

namespace orrery::sim {
namespace {

/// What of a scenario a what-if has, and what users may therefore set.
constexpr std::array<std::string_view, 10> kSettable{"cluster",
                                                     "quotas",
                                                     "policy",
                                                     "placer",
                                                     "planner",
                                                     "controller",
                                                     "timing",
                                                     "seed",
                                                     "until",
                                                     "outputs"};

std::string_view head_of(std::string_view path) { return path.substr(0, path.find_first_of(".[")); }

bool changes(const std::vector<scenarios::Override>& overrides, std::string_view head) {
  return std::ranges::any_of(overrides, [&](const scenarios::Override& override) {
    return head_of(override.path) == head;
  });
}

Errors refused_paths(const std::vector<scenarios::Override>& overrides) {
  std::string known;
  for (const std::string_view key : kSettable)
    known += (known.empty() ? "" : ", ") + std::string(key);
  Errors errors;
  for (const scenarios::Override& override : overrides)
    if (std::ranges::find(kSettable, head_of(override.path)) == kSettable.end())
      errors.push_back({.file = "--set " + override.path + "=" + override.value,
                        .subject = override.path,
                        .message = "is no part of a what-if, whose jobs and faults are the "
                                   "journal's; set something below " +
                                   known});
  return errors;
}

/// Groups as a scenario has them, where each name stands once: nodes that are alike and were
/// declared one by one are one group.
std::vector<NodeGroup> named_groups(const std::vector<NodeGroup>& declared) {
  std::vector<NodeGroup> out;
  for (NodeGroup group : declared) {
    const auto alike = [&](const NodeGroup& other) {
      NodeGroup same = group;
      same.count = other.count;
      same.node_names = other.node_names;
      same.ports = other.ports;
      return same == other;
    };
    if (!out.empty() && alike(out.back())) {
      out.back().count += group.count;
      out.back().node_names.clear();
      continue;
    }
    const std::string name = group.name;
    for (int k = 2; std::ranges::find(out, group.name, &NodeGroup::name) != out.end(); ++k)
      group.name = name + "-" + std::to_string(k);
    group.node_names.clear();
    out.push_back(std::move(group));
  }
  return out;
}

/// The jobs of a recorded run, in the order of their submission.
class RecordedJobs final : public JobSource {
 public:
  explicit RecordedJobs(const std::vector<JobTruth>& jobs) : jobs_(jobs) {}

  std::optional<ModelJob> next() override {
    if (next_ == jobs_.size()) return std::nullopt;
    return jobs_[next_++].job;
  }

 private:
  const std::vector<JobTruth>& jobs_;
  std::size_t next_ = 0;
};

}  // namespace

Result<scenarios::Scenario> what_if_scenario(const RecordedBasis& rehearsal,
                                             const std::string& file,
                                             const std::string& placer,
                                             const std::vector<scenarios::Override>& overrides) {
  if (Errors errors = refused_paths(overrides); !errors.empty()) return errors;
  const RecordedRun& run = rehearsal.recorded;
  scenarios::Scenario base;
  base.seed = run.settings.seed;
  base.groups = named_groups(run.groups);
  base.quotas = run.quotas;
  base.settings = run.settings;
  base.timing = rehearsal.truth.timing;
  base.planner_latency = rehearsal.truth.planner_latency;
  base.policy.name = run.settings.policy.substr(0, run.settings.policy.find('/'));
  if (!run.settings.queues.empty())
    base.policy.parameters.push_back({std::string(kQueuesParameter), run.settings.queues, {}});
  base.settings.placer = placer;
  auto scenario = scenarios::parse_scenario(to_yaml(base) + "jobs: []\n", file, overrides);
  if (!scenario) return scenario.errors();
  scenario->world = scenarios::World::Model;
  // What the language does not say, or says otherwise.
  if (!changes(overrides, "cluster")) scenario->groups = run.groups;
  scenario->settings.rules = run.settings.rules;
  scenario->settings.cluster = run.settings.cluster;
  const auto nodes = static_cast<std::size_t>(scenario->node_count());
  for (const scenarios::Fault& fault : run.faults)
    if (fault.nodes.front().index() < nodes) scenario->faults.push_back(fault);
  return scenario;
}

std::optional<Duration> rescale_set_in(const scenarios::Scenario& scenario,
                                       const std::vector<scenarios::Override>& overrides) {
  const Duration rescale = scenario.timing.rescale;
  for (const scenarios::Override& override : overrides)
    if (override.path == "timing.rescale" ||
        (override.path == "timing" && rescale > Duration::zero()))
      return rescale;
  return std::nullopt;
}

void forget_what_is_set(const std::vector<scenarios::Override>& overrides,
                        std::vector<Assumption>& assumed) {
  std::erase_if(assumed, [&](const Assumption& each) {
    return std::ranges::any_of(overrides, [&](const scenarios::Override& override) {
      // The setting itself, or a map that it is in.
      return each.setting == override.path || each.setting.starts_with(override.path + ".");
    });
  });
}

Result<WhatIfRun> run_what_if(const RecordedBasis& rehearsal,
                              const scenarios::Scenario& scenario,
                              Policy& policy,
                              const RunOptions& options) {
  const RecordedRun& run = rehearsal.recorded;
  RecordedJobs source(rehearsal.truth.jobs);
  ModelWorld world(scenario, source);
  const bool same_cluster = scenario.groups == run.groups;
  RecordedWorld seen(world, run, same_cluster);
  NullStore nowhere;
  StateStore& store = options.store != nullptr ? *options.store : nowhere;
  Controller controller;
  RunAccount account(controller.state(), options, [](std::uint64_t) { return std::string(); });
  LatePlanner planner(policy,
                      scenario.planner_latency,
                      nullptr,
                      scenario.seed,
                      planner_faults(scenario),
                      {options.fresh_policy, static_cast<std::uint64_t>(scenario.planner_steps)});
  world.tell_strikes([&](std::uint32_t index) {
    for (RunListener* listener : options.listeners) listener->on_struck(index, world.now());
  });
  Driver driver(controller, seen, store, planner, &account, {});
  std::vector<Event> opening = opening_events(scenario, policy, world.now());
  if (same_cluster)
    for (Event& event : opening)
      if (auto* declared = std::get_if<NodesDeclared>(&event.body))
        declared->groups.resize(run.groups_at_begin);
  const Status opened = driver.apply(std::move(opening));
  if (!opened) return opened.errors();
  const RunEnd end = driver.run(scenario.until);
  if (end == RunEnd::StoreFailed || end == RunEnd::Deposed) return driver.store_errors();
  WhatIfRun out;
  out.report = account.close(scenario, policy, driver.chain(), driver.events(), end, world.now());
  out.report.summary.decisions = driver.plans_asked();
  out.report.warnings = world.warnings();
  out.jobs = seen.jobs();
  out.submitted = seen.answered();
  out.all_over = out.report.summary.jobs_unfinished == 0;
  return out;
}

std::vector<JobDifference> differences(const RecordedBasis& rehearsal, const WhatIfRun& run) {
  std::vector<JobDifference> out;
  out.reserve(rehearsal.recorded.jobs.size());
  const JobTable& then = rehearsal.recorded.metrics->jobs();
  const JobTable& now = run.report.metrics->jobs();
  for (std::size_t k = 0; k < rehearsal.recorded.jobs.size(); ++k) {
    const RecordedJob& job = rehearsal.recorded.jobs[k];
    JobDifference& difference = out.emplace_back();
    difference.name = std::string(display_name(job.spec->name));
    difference.known = rehearsal.truth.jobs[k].known;
    difference.sizes_assumed = rehearsal.truth.jobs[k].sizes_assumed;
    if (then.contains(job.id)) difference.recorded = &then[job.id];
    difference.submitted = run.submitted[k];
    if (now.contains(run.jobs[k])) difference.now = &now[run.jobs[k]];
  }
  return out;
}

}  // namespace orrery::sim
