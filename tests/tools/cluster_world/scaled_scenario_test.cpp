// Scaling changes how long things take, and nothing that is decided.
#include "tools/cluster_world/scaled_scenario.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "policies/registry.hpp"
#include "sim/expectations/decision_log.hpp"
#include "sim/rehearsal/rehearsed_candidates.hpp"
#include "sim/run/run.hpp"
#include "tests/tools/cluster_world/library.hpp"

namespace orrery::cli {
namespace {

using testing::IsEmpty;

class Log final : public sim::RunListener {
 public:
  void on_submitted(JobId id, const JobSpec& spec, const sim::JobFacts&) override {
    log_.on_job(id, spec.name);
  }

  void on_notices(std::span<const Notice> notices, const State&, const sim::JobTable&) override {
    for (const Notice& notice : notices) log_.on_notice(notice);
  }

  std::string text() const { return log_.text(); }

 private:
  sim::DecisionLog log_;
};

/// What is decided in world model.
std::string log_of(const scenarios::Scenario& scenario) {
  policies::PolicyArguments arguments;
  arguments.seed = scenario.seed;
  for (const auto& parameter : scenario.policy.parameters)
    arguments.parameters[parameter.key] = parameter.value;
  arguments.rehearsal = std::make_shared<sim::ForkedRehearsal>();
  const auto policy = policies::make_policy(scenario.policy.name, arguments);
  const auto workload = sim::LoadedWorkload::load(scenario);
  EXPECT_TRUE(policy.has_value());
  EXPECT_TRUE(workload.has_value());
  Log log;
  sim::RunOptions options;
  options.listeners = {&log};
  EXPECT_TRUE(sim::run_model(scenario, *workload, **policy, options).has_value());
  return log.text();
}

/// Scenarios in which something happens at an instant that scaling moves.
bool hangs_on_an_instant(const std::string& file) {
  // It ends in the middle of things, and scaled ones a slack later.
  return file.ends_with("/moved_start_device_lost.yaml") ||
         // Its plans have slots of whole seconds, which a scaled period is not.
         file.ends_with("/elasticflow.yaml") ||
         // At instant 0, where no scaled one begins, the policy's first cycle is a period away.
         file.ends_with("/seats_kept_by_a_sizing_policy.yaml");
}

class Scaling : public testing::TestWithParam<std::string> {};

TEST_P(Scaling, DecidesNothing) {
  auto scenario = scenarios::load_scenario(GetParam(), {});
  ASSERT_TRUE(scenario.has_value()) << scenario.errors()[0].text();
  // What is drawn (messages, failures) is not scaled, nor is what goes over a network.
  bool drawn = scenario->needs_agents() || scenario->jitter.any() || scenario->failures.any() ||
               !scenario->fault_processes.empty();
  for (const scenarios::ScenarioJob& job : scenario->jobs)
    drawn = drawn || job.work.traffic != nullptr || job.spec.failover->jitter > 0;
  if (drawn || hangs_on_an_instant(GetParam())) return;
  const auto differences = sim::decision_differences(log_of(scaled(*scenario)), log_of(*scenario));
  for (const sim::DecisionDifference& difference : differences)
    ADD_FAILURE() << difference.job << ": '" << difference.found << "' where '"
                  << difference.expected << "' was decided, after '" << difference.after << "'";
}

INSTANTIATE_TEST_SUITE_P(Library,
                         Scaling,
                         testing::ValuesIn(tests::library_scenarios()),
                         tests::name_of_scenario);

TEST(Scaled, DividesTimesAndKeepsUnits) {
  const auto written = scenarios::parse_scenario(R"(
time_scale: 10
cluster: {nodes: 1}
policy: fit
controller: {node_lease: 20s}
jobs:
  - {name: train, at: 30s, work: {units: 100, throughput: 5}, wait_deadline: never, drain_grace: 40s}
faults: [{at: 50s, kind: down, node: 0, lasting: 10s}]
expect: [{job: train, phase: Running, by: 60s, says: "room on node 0"}]
)",
                                                 "s.yaml");
  ASSERT_TRUE(written.has_value()) << written.errors()[0].text();
  const scenarios::Scenario fast = scaled(*written);
  EXPECT_EQ(fast.settings.node_lease, Duration::seconds(2));
  EXPECT_EQ(fast.jobs[0].submit, kScenarioBegin + Duration::seconds(3));
  EXPECT_EQ(fast.jobs[0].spec.drain_grace, Duration::seconds(4));
  EXPECT_TRUE(fast.jobs[0].spec.wait_deadline.is_forever());
  EXPECT_EQ(fast.jobs[0].spec.failover->sub_master_timeout, Duration::seconds(6));
  EXPECT_EQ(fast.jobs[0].work.units, 100);
  EXPECT_EQ(fast.jobs[0].work.base_rate, written->jobs[0].work.base_rate * 10);
  EXPECT_EQ(fast.faults[0].at, kScenarioBegin + Duration::seconds(5));
  EXPECT_EQ(fast.faults[0].lasting, Duration::seconds(1));
  EXPECT_EQ(fast.expectations[0].by, kScenarioBegin + Duration::seconds(6) + kSlack);
  EXPECT_EQ(fast.expectations[0].says, "room on node 0 (node-0)");
  // The policy's own period too, though nothing is written of it.
  const auto policy = policies::make_policy("fit", {});
  policies::PolicyArguments arguments;
  for (const auto& parameter : fast.policy.parameters)
    arguments.parameters[parameter.key] = parameter.value;
  const auto faster = policies::make_policy("fit", arguments);
  ASSERT_TRUE(faster.has_value()) << faster.errors()[0].text();
  EXPECT_EQ((*faster)->triggers().period.ns * 10, (*policy)->triggers().period.ns);
}

}  // namespace
}  // namespace orrery::cli
