// Months of failures, recorded and drawn.
#include <gmock/gmock.h>

#include <filesystem>
#include <map>
#include <numeric>

#include "sim/faults/component_failures.hpp"
#include "sim/faults/lanl_replay.hpp"
#include "tests/support/text_of_file.hpp"

namespace orrery::sim {
namespace {

using scenarios::Fault;
using scenarios::FaultKind;
using scenarios::LanlReplay;
using testing::ElementsAre;

LanlFailure failure(std::int32_t node, std::int64_t day, std::int64_t minute, std::int64_t down) {
  LanlFailure record;
  record.system = 20;
  record.nodes = 100;
  record.node = node;
  // 2003-01-01 is day 12,053 of the Unix epoch.
  record.started = Instant::zero() + Duration::seconds((12'053 + day) * 86'400 + minute * 60);
  record.down = Duration::seconds(down * 60);
  return record;
}

std::vector<std::int64_t> minutes(const std::vector<Fault>& faults, bool lasting) {
  std::vector<std::int64_t> out;
  for (const Fault& fault : faults)
    out.push_back((lasting ? fault.lasting.ns : fault.at.ns) / 60'000'000'000);
  return out;
}

std::vector<std::uint32_t> nodes(const std::vector<Fault>& faults) {
  std::vector<std::uint32_t> out;
  for (const Fault& fault : faults) out.push_back(fault.nodes.at(0).value);
  return out;
}

TEST(LanlReplay, NodesAreSpreadOverTheClusterAndTimesBeginAtTheFirstDay) {
  LanlRecords records;
  records.failures = {failure(99, 1, 30, 60),
                      failure(50, 0, 10, 0),
                      failure(7, -1, 0, 60),
                      failure(7, 30, 0, 60),
                      failure(-1, 1, 0, 60)};
  const auto faults = replay_lanl(LanlReplay{}, records, 10);
  EXPECT_THAT(nodes(faults), ElementsAre(5, 9)) << "days before and after are left out";
  EXPECT_THAT(minutes(faults, false), ElementsAre(10, 24 * 60 + 30));
  EXPECT_THAT(minutes(faults, true), ElementsAre(1, 60)) << "a zero down time is a minute";
  LanlReplay plain;
  plain.scale_nodes = false;
  EXPECT_THAT(nodes(replay_lanl(plain, records, 60)), ElementsAre(50));
}

TEST(LanlReplay, FailuresOfOneNodeThatOverlapAreOne) {
  LanlRecords records;
  records.failures = {
      failure(4, 0, 0, 60), failure(4, 0, 30, 10), failure(4, 0, 50, 60), failure(4, 0, 200, 10)};
  const auto faults = replay_lanl(LanlReplay{}, records, 100);
  EXPECT_THAT(minutes(faults, false), ElementsAre(0, 200));
  EXPECT_THAT(minutes(faults, true), ElementsAre(110, 10));
}

TEST(LanlReplay, TheReleasedRecordsGiveAMonthOfSystem20) {
  const auto path = std::filesystem::path(ORRERY_SOURCE_ROOT) /
                    "../shared/traces/failures/LA-UR-05-7318-failure-data-1996-2005.csv";
  const std::string text = text_of_file(path);
  if (text.empty()) GTEST_SKIP() << "the LANL records are not at ../shared/traces/failures";
  const auto records = parse_lanl_failures(text, "lanl.csv");
  ASSERT_TRUE(records.has_value());
  LanlReplay year;
  year.days = 365;
  std::size_t failures = 0;
  for (const LanlFailure& record : records->failures)
    failures += record.system == 20 && record.started.ns >= 1'041'379'200'000'000'000 &&
                        record.started.ns < 1'072'915'200'000'000'000
                    ? 1
                    : 0;
  const auto faults = replay_lanl(year, *records, 512);
  EXPECT_LE(faults.size(), failures);
  EXPECT_GT(faults.size(), failures * 9 / 10) << "few overlap";
  for (const Fault& fault : faults) EXPECT_LT(fault.nodes[0].value, 512U);
}

scenarios::Scenario cluster_of(std::int32_t count) {
  scenarios::Scenario scenario;
  NodeGroup group;
  group.count = count;
  group.devices = 8;
  scenario.groups = {group};
  scenario.nodes_per_switch = {0};
  return scenario;
}

TEST(ComponentFailures, TheTableAddsUpTo419) {
  const auto table = llama3_components();
  EXPECT_EQ(
      std::accumulate(
          table.begin(), table.end(), 0, [](int sum, const Component& c) { return sum + c.count; }),
      419);
}

TEST(ComponentFailures, AMonthOfTheTableSizeHasItsRates) {
  scenarios::ComponentRates rates;
  rates.lasting = Duration::seconds(54 * 86'400);
  double sum = 0;
  std::map<FaultKind, double> kinds;
  constexpr int kSeeds = 50;
  for (int seed = 1; seed <= kSeeds; ++seed) {
    scenarios::Scenario scenario = cluster_of(2048);
    scenario.seed = static_cast<std::uint64_t>(seed);
    for (const Fault& fault : draw_component_failures(rates, scenario)) {
      sum += 1.0 / kSeeds;
      kinds[fault.kind] += 1.0 / kSeeds;
      EXPECT_LT(fault.nodes[0].value, 2048U);
      EXPECT_EQ(fault.devices != 0, fault.kind == FaultKind::DeviceLost);
      EXPECT_LT(fault.devices, 256U) << "8 devices";
    }
  }
  // Four standard deviations of a mean of 50 Poisson counts.
  EXPECT_NEAR(sum, 419, 12);
  EXPECT_NEAR(kinds[FaultKind::DeviceLost], 251, 9);
  EXPECT_NEAR(kinds[FaultKind::Crash], 56, 4.3);
  EXPECT_NEAR(kinds[FaultKind::PreemptionNotice], 32, 3.3);
}

TEST(ComponentFailures, ASmallClusterMayHaveTheFailuresOfALargeOne) {
  scenarios::ComponentRates rates;
  rates.nodes = 2048;
  rates.lasting = Duration::seconds(54 * 86'400);
  const auto faults = draw_component_failures(rates, cluster_of(4));
  EXPECT_GT(faults.size(), 300U);
  for (const Fault& fault : faults) EXPECT_LT(fault.nodes[0].value, 4U);
  for (std::size_t i = 1; i < faults.size(); ++i) EXPECT_LE(faults[i - 1].at, faults[i].at);
  const auto again = draw_component_failures(rates, cluster_of(4));
  ASSERT_EQ(again.size(), faults.size());
  EXPECT_EQ(again.back().at, faults.back().at) << "the same seed, the same month";
}

}  // namespace
}  // namespace orrery::sim
