// Runs of scenarios in world `sim`, each in a process of its own.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "policies/registry.hpp"
#include "scenarios/language/loader.hpp"
#include "sim/run/run.hpp"
#include "sim/simgrid/make_fluid_fabric.hpp"
#include "sim/simgrid/message_level.hpp"
#include "tests/support/judge.hpp"

namespace orrery::test {

/// A scenario that is written for instant control may name the very instant at which something is
/// so. Under agents that is a little later: messages and the store take their time, and a lost node
/// is known when its lease is over.
inline void allow_for_messages(scenarios::Scenario& scenario) {
  if (scenario.needs_agents()) return;
  Duration late = Duration::milliseconds(100);
  for (const scenarios::Fault& fault : scenario.faults)
    if (fault.kind == scenarios::FaultKind::Down)
      late = scenario.settings.node_lease + Duration::milliseconds(100);
  for (scenarios::Expectation& expected : scenario.expectations) {
    expected.by = expected.by + late;
    if (!expected.within.is_forever()) expected.within += late;
    if (expected.mttr_less_than) *expected.mttr_less_than += late;
    if (expected.recovered_within) *expected.recovered_within += late;
  }
}

/// The scenario in world `sim`, L2 or L3.
inline Result<scenarios::Scenario> load_in_sim(const std::string& path,
                                               scenarios::Fidelity fidelity) {
  auto scenario = scenarios::load_scenario(path);
  if (!scenario) return scenario;
  scenario->world = scenarios::World::Sim;
  scenario->fidelity = fidelity;
  if (fidelity == scenarios::Fidelity::L3) allow_for_messages(*scenario);
  return scenario;
}

/// What a run came to.
struct Outcome {
  std::string text;      ///< What went wrong, in words; then the digest on a line of its own.
  double jct_avg_s = 0;  ///< From submission to end, mean of all jobs.
};

/// Runs the scenario here, at its level. At L2 and L3 once per process.
inline Outcome run_here(const Result<scenarios::Scenario>& scenario) {
  if (!scenario) return {scenario.errors().front().text() + "\n"};
  policies::PolicyArguments arguments;
  arguments.seed = scenario->seed;
  for (const auto& parameter : scenario->policy.parameters)
    arguments.parameters[parameter.key] = parameter.value;
  const auto policy = policies::make_policy(scenario->policy.name, arguments);
  if (!policy) return {policy.errors().front().text() + "\n"};
  const auto workload = sim::LoadedWorkload::load(*scenario);
  if (!workload) return {workload.errors().front().text() + "\n"};
  tests::Judge judge(*scenario);
  sim::RunOptions options;
  options.listeners = {&judge};
  std::unique_ptr<sim::MessageLevel> messages;
  std::unique_ptr<sim::Fabric> fluid;
  if (scenario->fidelity == scenarios::Fidelity::L3) {
    auto level = sim::MessageLevel::make(*scenario);
    if (!level) return {level.errors().front().text() + "\n"};
    messages = std::move(*level);
    options.transport = &messages->transport();
    options.fabric = &messages->fabric();
  } else if (scenario->fidelity == scenarios::Fidelity::L2) {
    auto fabric = sim::make_fluid_fabric(*scenario);
    if (!fabric) return {fabric.errors().front().text() + "\n"};
    fluid = std::move(*fabric);
    options.fabric = fluid.get();
  }
  const auto report = sim::run_model(*scenario, *workload, **policy, options);
  if (!report) return {report.errors().front().text() + "\n"};
  std::string text;
  for (const std::string& sentence : judge.expectations.unmet()) text += sentence + "\n";
  return {text + "digest " + report->summary.state_digest, report->summary.jct_avg_s};
}

/// One run in a child of its own: SimGrid's engine can be made once in a process.
inline Outcome run_in_a_child(const std::string& path, scenarios::Fidelity fidelity) {
  int ends[2];
  if (pipe(ends) != 0) return {"no pipe\n"};
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    const Outcome outcome = run_here(load_in_sim(path, fidelity));
    std::string bytes(sizeof(double), ' ');
    std::memcpy(bytes.data(), &outcome.jct_avg_s, sizeof(double));
    bytes += outcome.text;
    const auto written = write(ends[1], bytes.data(), bytes.size());
    _exit(written == static_cast<ssize_t>(bytes.size()) ? 0 : 1);
  }
  close(ends[1]);
  std::string bytes;
  char buffer[4096];
  ssize_t got = 0;
  while ((got = read(ends[0], buffer, sizeof buffer)) > 0)
    bytes.append(buffer, static_cast<std::size_t>(got));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0 || bytes.size() < sizeof(double))
    return {"the run died\n"};
  Outcome outcome{bytes.substr(sizeof(double))};
  std::memcpy(&outcome.jct_avg_s, bytes.data(), sizeof(double));
  return outcome;
}

}  // namespace orrery::test
