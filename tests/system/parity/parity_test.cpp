// The same scenario in world model and with real processes: equal canonical decision logs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/driver/memory_store.hpp"
#include "core/driver/replay.hpp"
#include "policies/registry.hpp"
#include "scenarios/language/loader.hpp"
#include "sim/expectations/decision_log.hpp"
#include "sim/expectations/expectations.hpp"
#include "sim/run/run.hpp"
#include "tools/local_run/local_run.hpp"

namespace orrery {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// Writes down what was decided, and judges it.
class Listener final : public sim::RunListener {
 public:
  explicit Listener(const scenarios::Scenario& scenario) : judge_(scenario) {}

  void on_submitted(JobId id, const JobSpec& spec, const sim::JobFacts& facts) override {
    log_.on_job(id, spec.name);
    judge_.on_job(id, spec.name, facts.submitted);
  }

  void on_notices(std::span<const Notice> notices, const State&, const sim::JobTable&) override {
    for (const Notice& notice : notices) {
      log_.on_notice(notice);
      judge_.on_notice(notice);
    }
  }

  std::string log() const { return log_.text(); }

  std::vector<std::string> unmet() const { return judge_.unmet(); }

 private:
  sim::DecisionLog log_;
  sim::ExpectationJudge judge_;
};

/// A scenario of the library, ready to run.
struct Loaded {
  scenarios::Scenario scenario;
  sim::LoadedWorkload workload;

  static Loaded open(const std::string& name) {
    auto scenario = scenarios::load_scenario(
        std::string(ORRERY_SOURCE_ROOT) + "/scenarios/lifecycle/" + name + ".yaml", {});
    EXPECT_TRUE(scenario.has_value()) << scenario.errors()[0].text();
    auto workload = sim::LoadedWorkload::load(*scenario);
    EXPECT_TRUE(workload.has_value());
    return {std::move(*scenario), std::move(*workload)};
  }

  std::unique_ptr<Policy> policy() const {
    policies::PolicyArguments arguments;
    arguments.seed = scenario.seed;
    auto made = policies::make_policy(scenario.policy.name, arguments);
    EXPECT_TRUE(made.has_value());
    return std::move(made).value();
  }
};

class Parity : public ::testing::TestWithParam<const char*> {};

TEST_P(Parity, BothWorldsDecideAlikeAndTheJournalFoldsToTheSameState) {
  Loaded loaded = Loaded::open(GetParam());
  Listener in_model(loaded.scenario);
  sim::RunOptions model_options;
  model_options.listeners = {&in_model};
  const auto model_policy = loaded.policy();
  const auto modelled =
      sim::run_model(loaded.scenario, loaded.workload, *model_policy, model_options);
  ASSERT_TRUE(modelled.has_value());
  EXPECT_THAT(in_model.unmet(), IsEmpty());

  loaded.scenario.world = scenarios::World::Cluster;
  Listener in_processes(loaded.scenario);
  MemoryStore journal;
  sim::RunOptions local_options;
  local_options.listeners = {&in_processes};
  local_options.store = &journal;
  const auto local_policy = loaded.policy();
  const auto run = cli::run_local(loaded.scenario, loaded.workload, *local_policy, local_options);
  ASSERT_TRUE(run.has_value()) << run.errors()[0].text();
  EXPECT_THAT(run->report.warnings, IsEmpty());
  EXPECT_THAT(in_processes.unmet(), IsEmpty());
  EXPECT_EQ(in_processes.log(), in_model.log());

  const auto fresh = loaded.policy();
  const auto recomputed = recompute(journal, *fresh);
  ASSERT_TRUE(recomputed.has_value()) << recomputed.errors()[0].text();
  EXPECT_EQ(recomputed->different, 0U);
  EXPECT_GT(recomputed->plans, 0U);
  RecordProperty("max_renewal_gap_us", std::to_string(run->counters.max_renewal_gap.ns / 1000));
  RecordProperty("max_completion_delay_us",
                 std::to_string(run->counters.max_completion_delay.ns / 1000));
}

INSTANTIATE_TEST_SUITE_P(Lifecycle,
                         Parity,
                         ::testing::Values("succeed", "fail", "scale"),
                         [](const auto& test) { return std::string(test.param); });

TEST(LocalRun, NamesEverythingThatItCannotDo) {
  const auto scenario = scenarios::parse_scenario(R"(
cluster: {nodes: 2, gpus_per_node: 4}
jobs:
  - {name: train, replicas: 1, work: 1s}
faults:
  - {at: 1s, node: 1, kind: down}
)",
                                                  "unfit.yaml");
  ASSERT_TRUE(scenario.has_value()) << scenario.errors()[0].text();
  const auto workload = sim::LoadedWorkload::load(*scenario);
  ASSERT_TRUE(workload.has_value());
  const Errors errors = cli::unfit_for_local(*scenario, *workload);
  ASSERT_EQ(errors.size(), 3U);
  EXPECT_THAT(errors[0].text(), HasSubstr("unfit.yaml: cluster.nodes: 2 found"));
  EXPECT_THAT(errors[1].text(), HasSubstr("faults: world cluster makes none"));
  EXPECT_THAT(errors[2].text(),
              HasSubstr("unfit.yaml:4: job default.train, role worker: it has no"));
}

}  // namespace
}  // namespace orrery
