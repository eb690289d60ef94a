// Gavel's packing: shares of pairs, their rounds, and two jobs on one device.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/models/device_speeds.hpp"
#include "policies/device_shares.hpp"
#include "policies/registry.hpp"
#include "policies/round_accounts.hpp"
#include "policies/solver/program.hpp"
#include "tests/support/fake_view.hpp"

namespace orrery::policies {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using testing::FakeCluster;
using ::testing::IsEmpty;
using testing::job;

constexpr double kNear = 1e-6;

class Packing : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!solver::is_available()) GTEST_SKIP() << "built without CLP and CBC";
  }
};

/// One device, two jobs that make a step a second alone.
Sharing two_jobs(double first, double second) {
  Sharing sharing{{}, {1}, {}};
  sharing.jobs = {{.devices = 1, .speed = {1}}, {.devices = 1, .speed = {1}}};
  sharing.pairs = {{0, 1, {first}, {second}}};
  return sharing;
}

TEST_F(Packing, APairIsMixedWithTheTimeOfOneAlone) {
  // 0.7 p = 0.6 p + (1 - p): the slower one of the pair has the rest of the time.
  const Shares shares = packed_shares(two_jobs(0.7, 0.6));
  EXPECT_THAT(shares,
              ElementsAre(ElementsAre(DoubleNear(0, kNear)),
                          ElementsAre(DoubleNear(1 - 1 / 1.1, kNear)),
                          ElementsAre(DoubleNear(1 / 1.1, kNear))));
}

TEST_F(Packing, EqualOnesAreTogetherAllTheTime) {
  const Shares shares = packed_shares(two_jobs(0.9, 0.9));
  EXPECT_THAT(shares[2], ElementsAre(DoubleNear(1, kNear)));
}

TEST_F(Packing, WithoutPairsItIsMaxMin) {
  Sharing sharing{{}, {1, 1}, {}};
  sharing.jobs = {{.devices = 1, .speed = {4, 1}}, {.devices = 1, .speed = {1, 2}}};
  const Shares shares = packed_shares(sharing);
  EXPECT_THAT(sharing.jobs[1].speed_under(shares[1]) / 1.5, DoubleNear(4.0 / 3, kNear));
}

TEST_F(Packing, ThreeGangsOnOneTypeAreAsFastAsTheirPairsAllow) {
  // Two devices each of two: by turns 1/3; each pair at 0.8 for a third of the time: 2 x 0.8 / 3.
  Sharing sharing{{}, {2}, {}};
  for (int i = 0; i < 3; ++i) sharing.jobs.push_back({.devices = 2, .speed = {5}});
  for (std::size_t a = 0; a < 3; ++a)
    for (std::size_t b = a + 1; b < 3; ++b) sharing.pairs.push_back({a, b, {4}, {4}});
  const Shares shares = packed_shares(sharing);
  for (std::size_t r = 0; r < 6; ++r)
    EXPECT_THAT(shares[r], ElementsAre(DoubleNear(r < 3 ? 0 : 1.0 / 3, kNear))) << "row " << r;
}

RoundJob row(std::uint32_t id, JobId other = JobId::none()) {
  RoundJob out{JobId{id}, 1, {1}};
  out.other = other;
  return out;
}

std::vector<std::pair<std::uint32_t, std::uint32_t>> keys(const std::vector<RoundChoice>& chosen) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> out;
  for (const RoundChoice& each : chosen) out.emplace_back(each.job.value, each.other.value);
  return out;
}

constexpr std::uint32_t kAlone = JobId::none().value;
const std::vector<std::size_t> kOnlyType{0};

TEST(PairedRounds, APairTakesBothItsJobs) {
  RoundAccounts accounts({});
  const std::vector<RoundJob> rows{row(1), row(2), row(3), row(1, JobId{2}), row(2, JobId{3})};
  accounts.update(Instant{}, rows, {2});
  accounts.set_shares(Instant{}, rows, {{0.1}, {0.2}, {0.3}, {0.8}, {0.7}});
  EXPECT_THAT(keys(accounts.choose(rows, {2}, kOnlyType)),
              ElementsAre(std::pair(1U, 2U), std::pair(3U, kAlone)));
}

TEST(PairedRounds, WhoRunsByItselfIsInNoPair) {
  RoundAccounts accounts({});
  const std::vector<RoundJob> rows{row(1), row(2), row(1, JobId{2})};
  accounts.update(Instant{}, rows, {2});
  accounts.set_shares(Instant{}, rows, {{0.9}, {0}, {0.5}});
  EXPECT_THAT(keys(accounts.choose(rows, {1}, kOnlyType)), ElementsAre(std::pair(1U, kAlone)));
}

TEST(PairedRounds, APairWithoutAShareFillsNoGap) {
  RoundAccounts accounts({});
  const std::vector<RoundJob> rows{row(1), row(2), row(1, JobId{2})};
  accounts.update(Instant{}, rows, {1});
  accounts.set_shares(Instant{}, rows, {{0}, {0}, {0}});
  EXPECT_THAT(keys(accounts.choose(rows, {1}, kOnlyType)), ElementsAre(std::pair(1U, kAlone)));
}

TEST(PairedRounds, ATimeTogetherIsNoTimeAlone) {
  RoundAccounts accounts({});
  const std::vector<RoundJob> rows{row(1), row(2), row(1, JobId{2})};
  accounts.update(Instant{}, rows, {1});
  accounts.set_shares(Instant{}, rows, {{0.4}, {0.2}, {0.4}});
  accounts.add_time({JobId{1}, JobId{2}}, 0, 360);
  EXPECT_THAT(accounts.priority(rows[0], 0), DoubleNear(0.4 / (180.0 / 900), 1e-9));
  EXPECT_THAT(accounts.priority(rows[2], 0), DoubleNear(0.4 / (540.0 / 900), 1e-9));
}

std::unique_ptr<Policy> packing(const char* beside) {
  return make_policy("gavel_packing", {.parameters = {{"beside", beside}}}).value();
}

TEST_F(Packing, TwoJobsShareADeviceWhereThatIsWorthIt) {
  for (const char* beside : {"0", "0.5", "0.6"}) {
    FakeCluster cluster;
    cluster.add_nodes(1, 1);
    const JobId a = cluster.submit(job().preemptible(), 10'000);
    const JobId b = cluster.submit(job().preemptible(), 10'000);
    const std::unique_ptr<Policy> policy = packing(beside);
    cluster.carry_out(cluster.ask_optimize(*policy));
    EXPECT_THAT(cluster.violations(), IsEmpty());
    const bool together = std::string(beside) == "0.6";
    EXPECT_EQ(cluster.replicas(a) + cluster.replicas(b), together ? 2 : 1) << beside;
    EXPECT_EQ(cluster.partner(a), together ? b : JobId::none()) << beside;
  }
}

TEST_F(Packing, FixedJobsAndOtherSizesHaveTheirDevicesAlone) {
  FakeCluster cluster;
  cluster.add_nodes(1, 2);
  const JobId fixed = cluster.submit(job(), 10'000);
  const JobId one = cluster.submit(job().preemptible(), 10'000);
  const JobId two = cluster.submit(job().devices(2).preemptible(), 10'000);
  const JobId part = cluster.submit(job().share(500).preemptible(), 10'000);
  const std::unique_ptr<Policy> policy = packing("0.9");
  for (int round = 0; round < 20; ++round) {
    cluster.carry_out(cluster.ask_optimize(*policy));
    for (const JobId id : {fixed, one, two, part}) EXPECT_TRUE(cluster.partner(id).is_none());
    cluster.advance(360);
  }
  EXPECT_THAT(cluster.violations(), IsEmpty());
}

TEST_F(Packing, ThreeGangsOfOneNodeTakeTurnsInPairs) {
  FakeCluster cluster;
  cluster.add_nodes(1, 8);
  std::vector<JobId> jobs;
  for (int i = 0; i < 3; ++i)
    jobs.push_back(cluster.submit(job().devices(8).preemptible(), 1'000'000));
  const std::unique_ptr<Policy> policy = packing("0.8");
  std::vector<int> rounds(3);
  for (int round = 0; round < 30; ++round) {
    cluster.carry_out(cluster.ask_optimize(*policy));
    ASSERT_TRUE(cluster.capacity_holds());
    for (std::size_t i = 0; i < 3; ++i)
      if (cluster.replicas(jobs[i]) > 0) {
        ++rounds[i];
        EXPECT_FALSE(cluster.partner(jobs[i]).is_none());
      }
    cluster.advance(360);
  }
  EXPECT_THAT(cluster.violations(), IsEmpty());
  EXPECT_THAT(rounds, ElementsAre(20, 20, 20));
}

TEST_F(Packing, WithoutCoresForBothOneRuns) {
  FakeCluster cluster;
  cluster.add_nodes(1, 1, 6);
  const JobId a = cluster.submit(job().cpu(4).preemptible(), 10'000);
  const JobId b = cluster.submit(job().cpu(4).preemptible(), 10'000);
  const std::unique_ptr<Policy> policy = packing("0.9");
  cluster.carry_out(cluster.ask_optimize(*policy));
  EXPECT_THAT(cluster.violations(), IsEmpty());
  EXPECT_EQ(cluster.replicas(a) + cluster.replicas(b), 1);
}

// ---- Gandiva ----

TEST(GandivaShares, PairsAndSingleJobsHaveEqualParts) {
  Sharing sharing{{}, {2, 1}, {}};
  for (int i = 0; i < 5; ++i) sharing.jobs.push_back({.devices = 1, .speed = {1, 1}});
  sharing.pairs = {{0, 3, {0.6, 0.6}, {0.6, 0.6}}, {1, 2, {0.6, 0.6}, {0.6, 0.6}}};
  const Shares shares = paired_shares(sharing);
  for (const std::size_t alone : {0U, 1U, 2U, 3U}) EXPECT_THAT(shares[alone], ElementsAre(0, 0));
  for (const std::size_t third : {4U, 5U, 6U})
    EXPECT_THAT(shares[third], ElementsAre(DoubleNear(2.0 / 3, kNear), DoubleNear(1.0 / 3, kNear)));
}

TEST(Gandiva, DrawsPairsWhereDevicesAreShort) {
  for (const std::int32_t devices : {2, 4}) {
    FakeCluster cluster;
    cluster.add_nodes(1, devices);
    std::vector<JobId> jobs;
    for (int i = 0; i < 4; ++i) jobs.push_back(cluster.submit(job().preemptible(), 10'000));
    const std::unique_ptr<Policy> policy =
        make_policy("gandiva", {.parameters = {{"beside", "0.5"}}}).value();
    cluster.carry_out(cluster.ask_optimize(*policy));
    EXPECT_THAT(cluster.violations(), IsEmpty());
    for (const JobId id : jobs) {
      EXPECT_EQ(cluster.replicas(id), 1);
      EXPECT_EQ(cluster.partner(id).is_none(), devices == 4);
    }
  }
}

/// Jobs of a kind of which two do not fit on one device.
PolicyArguments too_large_for_two() {
  auto speeds = std::make_shared<DeviceSpeeds>();
  speeds->add("gpu", "large", 1, 10);
  speeds->add_beside("gpu", "large", "large", 1, 0, 0);
  PolicyArguments arguments;
  arguments.models.speeds = speeds;
  return arguments;
}

// The artifact finds out by trying: of the 921 pairs of its table 580 fit on none of its types.
TEST(Gandiva, TwoThatDoNotFitTogetherGetWhatOthersLeave) {
  JobSpec spec = *job().preemptible().spec();
  spec.profile = "large";
  FakeCluster cluster;
  cluster.add_nodes(1, 2);
  std::vector<JobId> jobs;
  for (int i = 0; i < 3; ++i)
    jobs.push_back(cluster.submit(std::make_shared<const JobSpec>(spec), 1'000'000));
  const std::unique_ptr<Policy> policy = make_policy("gandiva", too_large_for_two()).value();
  cluster.advance(360);  // Accounts that begin at 0 begin anew with the next round.
  std::vector<int> rounds(3);
  const auto run_rounds = [&](int count) {
    for (int round = 0; round < count; ++round) {
      cluster.carry_out(cluster.ask_optimize(*policy));
      for (std::size_t i = 0; i < jobs.size(); ++i) {
        if (cluster.replicas(jobs[i]) > 0) ++rounds[i];
        EXPECT_TRUE(cluster.partner(jobs[i]).is_none());
      }
      cluster.advance(360);
    }
  };
  run_rounds(5);
  EXPECT_THAT(rounds, ::testing::UnorderedElementsAre(5, 5, 0)) << "the one in no pair, and a gap";
  run_rounds(50);
  for (const int each : rounds)
    EXPECT_GT(each, 10) << "the pair parts, though nobody comes or goes";
  EXPECT_THAT(cluster.violations(), IsEmpty());
}

TEST(Gandiva, PairsThatDoBadlyPart) {
  for (const char* beside : {"0.4", "0.6"}) {
    FakeCluster cluster;
    cluster.add_nodes(1, 2);
    std::vector<JobId> jobs;
    for (int i = 0; i < 4; ++i) jobs.push_back(cluster.submit(job().preemptible(), 1'000'000));
    const std::unique_ptr<Policy> policy =
        make_policy("gandiva", {.parameters = {{"beside", beside}}}).value();
    int changes = 0;
    JobId partner;
    for (int reset = 0; reset < 20; ++reset) {
      cluster.carry_out(cluster.ask_optimize(*policy));
      if (const JobId now = cluster.partner(jobs[0]); !now.is_none()) {
        if (!partner.is_none() && now != partner) ++changes;
        partner = now;
      }
      cluster.submit(job().preemptible(), 1);  // Shares are computed anew after a change.
      cluster.advance(2160);
    }
    EXPECT_EQ(changes > 0, std::string(beside) == "0.4") << changes;
  }
}

}  // namespace
}  // namespace orrery::policies
