// Every scenario of the regression library: it meets its expectations, decides what its golden log
// says, and does so again when run again. Negative ones must miss their expectations, in words.
//
// After a change of decisions that is meant, write the golden files anew, read the difference line
// by line against the reference, and commit it with the reason:
//
//   ORRERY_BLESS=1 ctest --preset release -L scenario
#include <gmock/gmock.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "policies/registry.hpp"
#include "scenarios/language/loader.hpp"
#include "sim/expectations/decision_log.hpp"
#include "sim/rehearsal/rehearsed_candidates.hpp"
#include "sim/run/run.hpp"
#include "tests/support/judge.hpp"
#include "tests/support/text_of_file.hpp"

namespace orrery {
namespace {

namespace fs = std::filesystem;
using testing::IsEmpty;

/// Feeds the judge and the log.
class Judges : public tests::Judge {
 public:
  using Judge::Judge;

  void on_submitted(JobId id, const JobSpec& spec, const sim::JobFacts& facts) override {
    Judge::on_submitted(id, spec, facts);
    log.on_job(id, spec.name);
  }

  void on_notices(std::span<const Notice> notices,
                  const State& state,
                  const sim::JobTable& jobs) override {
    Judge::on_notices(notices, state, jobs);
    for (const Notice& notice : notices) log.on_notice(notice, state.chosen.choice.candidate);
  }

  sim::DecisionLog log;
};

struct Outcome {
  std::string digest;
  std::string log;
  std::vector<std::string> unmet;
  std::vector<std::string> warnings;
};

/// How a scenario file is run, beside what it says.
struct HowRun {
  Duration timers_late_max = Duration::zero();  ///< As in sim::RunOptions.
  bool by_agents = false;                       ///< Under control by agents whatever the file says.
};

/// One run of a scenario file with its own policy; failures are reported and give an empty outcome.
Outcome run(const std::string& path, const HowRun& how = {}) {
  auto scenario = scenarios::load_scenario(path);
  if (!scenario) {
    for (const Error& error : scenario.errors()) ADD_FAILURE() << error.text();
    return {};
  }
  if (how.by_agents) scenario->control = scenarios::Control::Agents;
  policies::PolicyArguments arguments;
  arguments.seed = scenario->seed;
  for (const auto& parameter : scenario->policy.parameters)
    arguments.parameters[parameter.key] = parameter.value;
  arguments.rehearsal = std::make_shared<sim::ForkedRehearsal>();
  const auto policy = policies::make_policy(scenario->policy.name, arguments);
  const auto workload = sim::LoadedWorkload::load(*scenario);
  if (!policy || !workload) {
    ADD_FAILURE() << (policy ? workload.errors() : policy.errors()).front().text();
    return {};
  }
  Judges judges(*scenario);
  sim::RunOptions options;
  options.listeners = {&judges};
  options.timers_late_max = how.timers_late_max;
  const auto report = sim::run_model(*scenario, *workload, **policy, options);
  if (!report) {
    ADD_FAILURE() << report.errors().front().text();
    return {};
  }
  return {report->summary.state_digest,
          judges.log.text(),
          judges.expectations.unmet(),
          report->warnings};
}

bool blessing() { return std::getenv("ORRERY_BLESS") != nullptr; }

std::vector<std::string> scenarios_in(const char* folder) {
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(fs::path(ORRERY_SOURCE_ROOT) / folder))
    if (entry.path().extension() == ".yaml")
      files.push_back(fs::relative(entry.path(), ORRERY_SOURCE_ROOT).string());
  std::sort(files.begin(), files.end());
  return files;
}

std::string test_name(const testing::TestParamInfo<std::string>& file) {
  return fs::path(file.param).stem().string();
}

/// Runs where paths are relative to the repository, so that none of this machine's enters a text.
class ScenarioTest : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { fs::current_path(ORRERY_SOURCE_ROOT); }

  /// Compares with the golden file, or writes it when blessing.
  static void expect_golden(const std::string& text, const std::string& extension) {
    const fs::path golden = fs::path(GetParam()).replace_extension(extension);
    if (blessing())
      std::ofstream(golden, std::ios::binary) << text;
    else
      EXPECT_EQ(text, text_of_file(golden)) << golden;
  }
};

class Lifecycle : public ScenarioTest {};

TEST_P(Lifecycle, MeetsExpectationsAndRepeats) {
  const Outcome first = run(GetParam());
  const Outcome again = run(GetParam());
  EXPECT_EQ(first.digest, again.digest) << "same seed, different decisions";
  EXPECT_THAT(first.unmet, IsEmpty()) << first.log;
  EXPECT_THAT(first.warnings, IsEmpty());
  expect_golden(first.log, ".log");
}

INSTANTIATE_TEST_SUITE_P(Scenarios,
                         Lifecycle,
                         testing::ValuesIn(scenarios_in("scenarios/lifecycle")),
                         test_name);

/// Simulated instants fall exactly on what was asked for, real ones never do: what a policy does by
/// the clock is done all the same when every wake of the controller is late.
class LateTimersTest : public ScenarioTest {};

TEST_P(LateTimersTest, MeetsExpectationsWhereEveryWakeIsLate) {
  for (const Duration late_max : {Duration{1}, Duration{900'000}}) {
    for (const bool by_agents : {false, true}) {
      SCOPED_TRACE(std::to_string(late_max.ns) + " ns late at most, " +
                   (by_agents ? "by agents" : "by the model world"));
      const Outcome outcome = run(GetParam(), {late_max, by_agents});
      EXPECT_THAT(outcome.unmet, IsEmpty()) << outcome.log;
      EXPECT_THAT(outcome.warnings, IsEmpty());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Scenarios,
                         LateTimersTest,
                         testing::ValuesIn(std::vector<std::string>{
                             "scenarios/lifecycle/node_loss_elastic.yaml",
                             "scenarios/lifecycle/periodic_share.yaml"}),
                         test_name);

class Failover : public ScenarioTest {};

/// What a scenario reads that lies beside the project; empty where it is there or none is needed.
std::string missing_file(const std::string& path) {
  const auto scenario = scenarios::load_scenario(path);
  if (!scenario || !scenario->failures.lanl) return "";
  const std::string& file = scenario->failures.lanl->file;
  return fs::exists(file) ? "" : file;
}

/// Logs of months are long, and those of messages change with every time that a message takes.
bool has_golden_log(const std::string& path) {
  const auto scenario = scenarios::load_scenario(path);
  return scenario && !scenario->needs_agents() && !scenario->failures.any();
}

TEST_P(Failover, MeetsExpectationsAndRepeats) {
  if (const std::string file = missing_file(GetParam()); !file.empty())
    GTEST_SKIP() << "there is no " << file;
  const Outcome first = run(GetParam());
  const Outcome again = run(GetParam());
  EXPECT_EQ(first.digest, again.digest) << "same seed, different decisions";
  EXPECT_EQ(first.log, again.log);
  EXPECT_THAT(first.unmet, IsEmpty()) << first.log;
  if (has_golden_log(GetParam())) expect_golden(first.log, ".log");
}

INSTANTIATE_TEST_SUITE_P(Scenarios,
                         Failover,
                         testing::ValuesIn(scenarios_in("scenarios/failover")),
                         test_name);

INSTANTIATE_TEST_SUITE_P(Placement,
                         Failover,
                         testing::ValuesIn(scenarios_in("scenarios/placement")),
                         test_name);

class Negative : public ScenarioTest {};

TEST_P(Negative, MissesItsExpectationsInWords) {
  const Outcome outcome = run(GetParam());
  std::string text;
  for (const std::string& sentence : outcome.unmet) text += sentence + "\n";
  EXPECT_NE(text, "") << "a scenario that must fail was met";
  expect_golden(text, ".unmet");
}

INSTANTIATE_TEST_SUITE_P(Scenarios,
                         Negative,
                         testing::ValuesIn(scenarios_in("scenarios/negative")),
                         test_name);

}  // namespace
}  // namespace orrery
