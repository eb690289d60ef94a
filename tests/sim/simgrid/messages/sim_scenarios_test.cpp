// The libraries of failover and placement in world `sim`. At L2, as it is. At level L3, with
// control by agents that are SimGrid's actors, every scenario without faults of messages. All meet
// their expectations, twice, with equal digests. And the scenarios of networks, message by message,
// against L1. The short form draws one of four, of networks one of six, and holds every kind of
// fault.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "tests/sim/simgrid/messages/sim_runs.hpp"
#include "tests/support/drawn.hpp"

namespace orrery {
namespace {

namespace fs = std::filesystem;
using scenarios::FaultKind;
using scenarios::Fidelity;
using test::load_in_sim;
using test::Outcome;
using test::run_here;
using test::run_in_a_child;
using testing::HasSubstr;

std::vector<std::string> all_in(const char* folder) {
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(fs::path(ORRERY_SOURCE_ROOT) / folder))
    if (entry.path().extension() == ".yaml")
      files.push_back(fs::relative(entry.path(), ORRERY_SOURCE_ROOT).string());
  std::sort(files.begin(), files.end());
  return files;
}

/// Those that have no faults of messages. A month of heartbeats, each of them sent, is left out: it
/// takes the better part of an hour and shows nothing more.
std::vector<std::string> files_in(const char* folder) {
  std::vector<std::string> files = all_in(folder);
  std::erase_if(files, [](const std::string& file) {
    const auto scenario = load_in_sim((fs::path(ORRERY_SOURCE_ROOT) / file).string(), Fidelity::L3);
    return !scenario || scenario->failures.any() ||
           !sim::refused_at_message_level(*scenario).empty();
  });
  return files;
}

std::vector<FaultKind> faults_in(const std::string& file) {
  std::vector<FaultKind> kinds;
  const auto scenario = load_in_sim((fs::path(ORRERY_SOURCE_ROOT) / file).string(), Fidelity::L3);
  if (!scenario) return kinds;
  for (const scenarios::Fault& fault : scenario->faults) kinds.push_back(fault.kind);
  return kinds;
}

std::vector<std::string> drawn(const std::vector<std::string>& files, std::size_t every = 4) {
  return tests::drawn<FaultKind>(files, every, faults_in);
}

/// Twice in processes that know nothing of each other; the case has one of its own.
void meets_expectations_twice_alike(const std::string& file, Fidelity fidelity) {
  const Outcome first = run_in_a_child(file, fidelity);
  EXPECT_EQ(first.text.rfind("digest ", 0), 0u) << first.text;
  EXPECT_EQ(run_here(load_in_sim(file, fidelity)).text, first.text)
      << "same seed, different decisions";
}

class MessageScenarios : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { fs::current_path(ORRERY_SOURCE_ROOT); }
};

std::string test_name(const testing::TestParamInfo<std::string>& file) {
  return fs::path(file.param).stem().string();
}

TEST_P(MessageScenarios, MeetExpectationsTwiceAlike) {
  meets_expectations_twice_alike(GetParam(), Fidelity::L3);
}

INSTANTIATE_TEST_SUITE_P(Failover,
                         MessageScenarios,
                         testing::ValuesIn(drawn(files_in("scenarios/failover"))),
                         test_name);

INSTANTIATE_TEST_SUITE_P(Placement,
                         MessageScenarios,
                         testing::ValuesIn(drawn(files_in("scenarios/placement"))),
                         test_name);

class FluidScenarios : public MessageScenarios {};

TEST_P(FluidScenarios, MeetExpectationsTwiceAlike) {
  const auto scenario = scenarios::load_scenario(GetParam());
  ASSERT_TRUE(scenario);
  if (scenario->failures.lanl && !fs::exists(scenario->failures.lanl->file))
    GTEST_SKIP() << "there is no " << scenario->failures.lanl->file;
  meets_expectations_twice_alike(GetParam(), Fidelity::L2);
}

INSTANTIATE_TEST_SUITE_P(Failover,
                         FluidScenarios,
                         testing::ValuesIn(drawn(all_in("scenarios/failover"))),
                         test_name);

INSTANTIATE_TEST_SUITE_P(Placement,
                         FluidScenarios,
                         testing::ValuesIn(drawn(all_in("scenarios/placement"))),
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
  const Outcome messages = run_in_a_child(GetParam(), Fidelity::L3);
  EXPECT_THAT(messages.text, HasSubstr("digest ")) << messages.text;
  EXPECT_EQ(run_here(load_in_sim(GetParam(), Fidelity::L3)).text, messages.text)
      << "same seed, different decisions";
  auto scenario = scenarios::load_scenario(GetParam());
  ASSERT_TRUE(scenario);
  scenario->world = scenarios::World::Model;
  scenario->fidelity = Fidelity::L1;
  const Outcome shared = run_here(scenario);
  const double longer = messages.jct_avg_s / shared.jct_avg_s - 1;
  std::printf("L3 against L1: %+.2f %%\n", 100 * longer);
  EXPECT_LT(std::abs(longer), longer_at_most(fs::path(GetParam()).stem().string()))
      << messages.jct_avg_s << " s, at L1 " << shared.jct_avg_s << " s";
}

INSTANTIATE_TEST_SUITE_P(Library,
                         MessageNetworks,
                         testing::ValuesIn(drawn(networks(), 6)),
                         test_name);

TEST(MessageScenariosFound, HoldEveryKindOfFaultThatIsNotOfMessages) {
  const auto kinds_in = [](const std::vector<std::string>& files) {
    std::set<FaultKind> kinds;
    for (const std::string& file : files)
      for (const FaultKind kind : faults_in(file)) kinds.insert(kind);
    return kinds;
  };
  const std::vector<std::string> files = files_in("scenarios/failover");
  EXPECT_GE(files.size(), 100u);
  EXPECT_GE(kinds_in(files).size(), 18u);
  EXPECT_EQ(kinds_in(drawn(files)), kinds_in(files));
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

TEST(MessageScenariosRefused, APlatformWithoutAWayIsToldWithItsHosts) {
  const std::string file = testing::TempDir() + "no_ways.xml";
  std::ofstream(file) << "<?xml version='1.0'?>\n"
                         "<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
                         "<platform version=\"4.1\"><zone id=\"all\" routing=\"Full\">\n"
                         "<host id=\"h0\" speed=\"1Gf\"/><host id=\"h1\" speed=\"1Gf\"/>"
                         "<host id=\"h2\" speed=\"1Gf\"/>"
                         "<link id=\"l\" bandwidth=\"1GBps\" latency=\"1us\"/>"
                         "<route src=\"h0\" dst=\"h1\"><link_ctn id=\"l\"/></route>"
                         "</zone></platform>";
  const auto scenario = scenarios::parse_scenario(
      "cluster: {nodes: 3, gpus_per_node: 1, network: {topology: platform, platform: " + file +
          "}}\njobs: [{name: a, work: 60s}]\n",
      "s.yaml",
      {});
  ASSERT_TRUE(scenario);
  const auto level = sim::MessageLevel::make(*scenario);
  ASSERT_FALSE(level);
  ASSERT_EQ(level.errors().size(), 1u);
  EXPECT_THAT(level.errors()[0].text(), HasSubstr("no way from or to h0 for h2, needed"));
}

}  // namespace
}  // namespace orrery
