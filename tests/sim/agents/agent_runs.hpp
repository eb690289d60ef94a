// Runs under control by agents, with what truly happened beside what was decided.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/base/enum_names.hpp"
#include "core/job/turns.hpp"
#include "policies/registry.hpp"
#include "scenarios/language/loader.hpp"
#include "sim/agents/world_tap.hpp"
#include "sim/expectations/expectations.hpp"
#include "sim/rehearsal/rehearsed_candidates.hpp"
#include "sim/run/run.hpp"

namespace orrery::sim {

/// Watches living processes: no whole device of a node may be two processes' at once, unless they
/// are of roles that take turns.
class TruthTap final : public WorldTap {
 public:
  TruthTap() = default;

  /// The jobs of `scenario` say which roles take turns; ids are in the order of submission.
  explicit TruthTap(const scenarios::Scenario& scenario) {
    std::vector<scenarios::ScenarioJob> jobs = scenario.jobs;
    std::stable_sort(
        jobs.begin(), jobs.end(), [](const auto& a, const auto& b) { return a.submit < b.submit; });
    for (const scenarios::ScenarioJob& job : jobs) specs_.push_back(job.spec);
  }

  void on_process_started(Instant now, const WorldProcess& process) override {
    ++started;
    for (const auto& [name, other] : living_) {
      if (other.node != process.node) continue;
      const bool shared =
          (other.share != Share{} && process.share != Share{}) || take_turns(other, process);
      if ((other.devices & process.devices) != 0 && !shared)
        found.push_back(std::to_string(now.in_seconds()) + " s: a device of node " +
                        std::to_string(process.node.value) + " is held twice");
    }
    living_[name_of(process)] = process;
  }

  void on_process_ended(Instant, const WorldProcess& process) override {
    living_.erase(name_of(process));
  }

  void on_fenced(Instant, NodeId, bool by_shim) override { ++(by_shim ? by_shims : by_agents); }

  std::size_t living() const { return living_.size(); }

  std::vector<std::string> found;
  int started = 0;
  int by_agents = 0;  ///< Workers fenced by their agent, and nodes by their shims.
  int by_shims = 0;

 private:
  bool take_turns(const WorldProcess& a, const WorldProcess& b) const {
    if (a.job != b.job || a.role == b.role || a.job.index() >= specs_.size()) return false;
    const TurnKey key = turns_of(specs_[a.job.index()], a.role);
    return key.group != 0 && key.group == turns_of(specs_[b.job.index()], b.role).group;
  }

  using Name = std::tuple<JobId, Incarnation, Rank>;

  static Name name_of(const WorldProcess& process) {
    return {process.job, process.incarnation, process.birth_rank};
  }

  std::map<Name, WorldProcess> living_;
  std::vector<JobSpec> specs_;  ///< By job id.
};

/// What a run came to.
struct AgentOutcome {
  std::string digest;
  std::uint64_t jobs_finished = 0;
  std::uint64_t restarts = 0;
  std::uint64_t steps = 0;
  std::vector<std::string> unmet;
  std::map<std::string, std::vector<std::string>> phases;  ///< Of each job, by name, in order.
};

/// Hears a run.
class PhaseListener final : public RunListener {
 public:
  explicit PhaseListener(const scenarios::Scenario& scenario) : judge(scenario) {}

  void on_submitted(JobId id, const JobSpec& spec, const JobFacts& facts) override {
    names_[id] = spec.name;
    judge.on_job(id, spec.name, facts.submitted);
  }

  void on_notices(std::span<const Notice> notices, const State& state, const JobTable&) override {
    judge.on_notices(notices, state);
    for (const Notice& notice : notices)
      if (notice.kind == NoticeKind::PhaseChanged)
        phases[names_[notice.job]].push_back(std::string(orrery::to_string(notice.to)) + " " +
                                             std::string(orrery::to_string(notice.reason)));
  }

  void on_struck(std::uint32_t index, Instant now) override { judge.on_fault(index, now); }

  ExpectationJudge judge;
  std::map<std::string, std::vector<std::string>> phases;

 private:
  std::map<JobId, std::string> names_;
};

/// One run with the scenario's own policy. `tap` and `transport` may be null.
inline AgentOutcome run_scenario(const scenarios::Scenario& scenario,
                                 TruthTap* tap = nullptr,
                                 ControlTransport* transport = nullptr) {
  policies::PolicyArguments arguments;
  arguments.seed = scenario.seed;
  for (const auto& parameter : scenario.policy.parameters)
    arguments.parameters[parameter.key] = parameter.value;
  arguments.rehearsal = std::make_shared<ForkedRehearsal>();
  const auto policy = policies::make_policy(scenario.policy.name, arguments);
  const auto workload = LoadedWorkload::load(scenario);
  if (!policy || !workload) {
    ADD_FAILURE() << "no policy or workload";
    return {};
  }
  PhaseListener listener(scenario);
  RunOptions options;
  options.listeners = {&listener};
  options.tap = tap;
  options.transport = transport;
  const auto report = run_model(scenario, *workload, **policy, options);
  if (!report) {
    ADD_FAILURE() << report.errors().front().text();
    return {};
  }
  return {report->summary.state_digest,
          report->summary.jobs_finished,
          report->summary.restarts,
          report->steps,
          listener.judge.unmet(),
          listener.phases};
}

}  // namespace orrery::sim
