// The failover library in world `sim` at level L3: control by agents that are SimGrid actors. Every
// scenario without faults of messages meets its expectations, twice, with equal digests. And the
// scenarios of networks, message by message, against L1.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "policies/registry.hpp"
#include "scenarios/loader.hpp"
#include "sim/judging/expectations.hpp"
#include "sim/run/run.hpp"
#include "sim/simgrid/message_level.hpp"

namespace orrery {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::IsEmpty;

class Judge : public sim::RunListener {
 public:
  explicit Judge(const scenarios::Scenario& scenario) : expectations(scenario) {}

  void on_submitted(JobId id, const JobSpec& spec, const sim::JobFacts& facts) override {
    expectations.on_job(id, spec.name, facts.submitted);
  }

  void on_notices(std::span<const Notice> notices,
                  const State& state,
                  const sim::JobTable&) override {
    expectations.on_notices(notices, state);
  }

  void on_struck(std::uint32_t index, Instant now) override { expectations.on_fault(index, now); }

  sim::ExpectationJudge expectations;
};

/// A scenario that is written for instant control may name the very instant at which something is
/// so. Under agents that is a little later: messages and the store take their time, and a lost node
/// is known when its lease is over.
void allow_for_messages(scenarios::Scenario& scenario) {
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

Result<scenarios::Scenario> load(const std::string& path) {
  auto scenario = scenarios::load_scenario(path);
  if (!scenario) return scenario;
  scenario->world = scenarios::World::Sim;
  scenario->fidelity = scenarios::Fidelity::L3;
  allow_for_messages(*scenario);
  return scenario;
}

/// What a run came to.
struct Outcome {
  std::string text;      ///< What went wrong, in words; then the digest on a line of its own.
  double jct_avg_s = 0;  ///< From submission to end, mean of all jobs.
};

/// Runs the scenario here, at L3 or where it has another level, at that.
Outcome run_here(const Result<scenarios::Scenario>& scenario) {
  if (!scenario) return {scenario.errors().front().text() + "\n"};
  policies::PolicyArguments arguments;
  arguments.seed = scenario->seed;
  for (const auto& parameter : scenario->policy.parameters)
    arguments.parameters[parameter.key] = parameter.value;
  const auto policy = policies::make_policy(scenario->policy.name, arguments);
  if (!policy) return {policy.errors().front().text() + "\n"};
  const auto workload = sim::LoadedWorkload::load(*scenario);
  if (!workload) return {workload.errors().front().text() + "\n"};
  Judge judge(*scenario);
  sim::RunOptions options;
  options.listeners = {&judge};
  std::unique_ptr<sim::MessageLevel> messages;
  if (scenario->fidelity == scenarios::Fidelity::L3) {
    auto level = sim::MessageLevel::make(*scenario);
    if (!level) return {level.errors().front().text() + "\n"};
    messages = std::move(*level);
    options.carrier = &messages->carrier();
    options.fabric = &messages->fabric();
  }
  const auto report = sim::run_model(*scenario, *workload, **policy, options);
  if (!report) return {report.errors().front().text() + "\n"};
  std::string text;
  for (const std::string& sentence : judge.expectations.unmet()) text += sentence + "\n";
  return {text + "digest " + report->summary.state_digest, report->summary.jct_avg_s};
}

/// SimGrid's engine can be made once in a process: each run has a child of its own.
Outcome run_in_a_child(const std::string& path) {
  int ends[2];
  if (pipe(ends) != 0) return {"no pipe\n"};
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    const Outcome outcome = run_here(load(path));
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

/// Files of the library that have no faults of messages, sorted. A month of heartbeats, each of
/// them sent, is left out: it takes many minutes and shows nothing more.
std::vector<std::string> files_in(const char* folder) {
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(fs::path(ORRERY_SOURCE_ROOT) / folder))
    if (entry.path().extension() == ".yaml")
      files.push_back(fs::relative(entry.path(), ORRERY_SOURCE_ROOT).string());
  std::sort(files.begin(), files.end());
  std::erase_if(files, [](const std::string& file) {
    const auto scenario = load((fs::path(ORRERY_SOURCE_ROOT) / file).string());
    return !scenario || scenario->failures.any() ||
           !sim::refused_at_message_level(*scenario).empty();
  });
  return files;
}

std::vector<scenarios::FaultKind> faults_in(const std::string& file) {
  std::vector<scenarios::FaultKind> kinds;
  const auto scenario = load((fs::path(ORRERY_SOURCE_ROOT) / file).string());
  if (!scenario) return kinds;
  for (const scenarios::Fault& fault : scenario->faults) kinds.push_back(fault.kind);
  return kinds;
}

class MessageScenarios : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { fs::current_path(ORRERY_SOURCE_ROOT); }
};

std::string test_name(const testing::TestParamInfo<std::string>& file) {
  return fs::path(file.param).stem().string();
}

TEST_P(MessageScenarios, MeetExpectationsTwiceAlike) {
  const Outcome first = run_in_a_child(GetParam());
  EXPECT_EQ(first.text.rfind("digest ", 0), 0u) << first.text;
  EXPECT_EQ(run_in_a_child(GetParam()).text, first.text) << "same seed, different decisions";
}

INSTANTIATE_TEST_SUITE_P(Failover,
                         MessageScenarios,
                         testing::ValuesIn(files_in("scenarios/failover")),
                         test_name);

/// How much longer jobs may take than at L1, mean of all: 1 % for what L1 leaves out, but for those
/// that are made to show just that.
double longer_at_most(const std::string& name) {
  // A latency of 10 ms a link, for every piece of a large tree: 0.9 s of a step of 4.
  if (name == "ring_and_tree") return 0.07;
  return 0.01;
}

/// The mixes of jobs are in the table of docs/fidelity.md, which a test of its own makes.
std::vector<std::string> networks() {
  std::vector<std::string> files = files_in("scenarios/network");
  std::erase_if(files, [](const std::string& file) { return file.find("/mix_") != file.npos; });
  return files;
}

class MessageNetworks : public MessageScenarios {};

TEST_P(MessageNetworks, TakeAboutAsLongAsWithSharedLinksTwiceAlike) {
  const Outcome messages = run_in_a_child(GetParam());
  EXPECT_THAT(messages.text, HasSubstr("digest ")) << messages.text;
  EXPECT_EQ(run_in_a_child(GetParam()).text, messages.text) << "same seed, different decisions";
  auto scenario = scenarios::load_scenario(GetParam());
  ASSERT_TRUE(scenario);
  scenario->world = scenarios::World::Model;
  scenario->fidelity = scenarios::Fidelity::L1;
  const Outcome shared = run_here(scenario);
  const double longer = messages.jct_avg_s / shared.jct_avg_s - 1;
  std::printf("L3 against L1: %+.2f %%\n", 100 * longer);
  EXPECT_LT(std::abs(longer), longer_at_most(fs::path(GetParam()).stem().string()))
      << messages.jct_avg_s << " s, at L1 " << shared.jct_avg_s << " s";
}

INSTANTIATE_TEST_SUITE_P(Library, MessageNetworks, testing::ValuesIn(networks()), test_name);

TEST(MessageScenariosFound, HoldEveryKindOfFaultThatIsNotOfMessages) {
  const auto kinds_in = [](const std::vector<std::string>& files) {
    std::set<scenarios::FaultKind> kinds;
    for (const std::string& file : files)
      for (const scenarios::FaultKind kind : faults_in(file)) kinds.insert(kind);
    return kinds;
  };
  EXPECT_GE(kinds_in(files_in("scenarios/failover")).size(), 18u);
  EXPECT_GE(files_in("scenarios/failover").size(), 100u);
}

TEST(MessageScenariosRefused, AFaultOfMessagesIsNamedWithItsPlace) {
  const auto scenario = scenarios::parse_scenario(
      "cluster: {nodes: 2, gpus_per_node: 1}\njobs: [{name: a, work: 60s}]\nfaults:\n"
      "  - {at: 5s, kind: down, node: 0}\n  - {at: 5s, kind: loss, rate: 0.5, lasting: 9s}\n",
      "s.yaml",
      {});
  ASSERT_TRUE(scenario);
  const auto level = sim::MessageLevel::make(*scenario);
  ASSERT_FALSE(level);
  ASSERT_EQ(level.errors().size(), 1u);
  EXPECT_THAT(level.errors()[0].text(), HasSubstr("s.yaml:5: faults[1].kind: loss found"));
}

}  // namespace
}  // namespace orrery
