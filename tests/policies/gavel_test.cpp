// Shares and rounds against the examples of Gavel's formulas.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "core/base/random.hpp"
#include "core/models/device_speeds.hpp"
#include "core/models/epoch_profile.hpp"
#include "policies/device_shares.hpp"
#include "policies/registry.hpp"
#include "policies/round_accounts.hpp"
#include "policies/share_centre.hpp"
#include "policies/share_program.hpp"
#include "policies/solver/program.hpp"
#include "tests/support/fake_view.hpp"

namespace orrery::policies {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pointwise;

constexpr double kExact = 1e-9;

/// Equal devices, one job for each steps left.
Sharing equal_jobs(double devices, const std::vector<double>& left) {
  Sharing sharing{{}, {devices}};
  for (const double steps : left)
    sharing.jobs.push_back({.devices = 1, .speed = {1}, .left = steps});
  return sharing;
}

double speed_of(const Sharing& sharing, const Shares& shares, std::size_t job) {
  return sharing.jobs[job].speed_under(shares[job]);
}

class WithSolver : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!solver::is_available()) GTEST_SKIP() << "built without CLP and CBC";
  }
};

TEST(DeviceShares, IsolatedIsThePartOfEachType) {
  const auto isolated = [](int jobs, double devices) {
    Sharing sharing{{}, {2, 1}};
    for (int i = 0; i < jobs; ++i) sharing.jobs.push_back({.devices = devices, .speed = {1, 1}});
    return isolated_shares(sharing)[0];
  };
  EXPECT_THAT(isolated(3, 1),
              ElementsAre(DoubleNear(2.0 / 3, kExact), DoubleNear(1.0 / 3, kExact)));
  EXPECT_THAT(isolated(3, 2),
              ElementsAre(DoubleNear(1.0 / 3, kExact), DoubleNear(1.0 / 6, kExact)));
  EXPECT_THAT(isolated(1, 1), ElementsAre(DoubleNear(2.0 / 3, kExact), DoubleNear(1.0 / 3, kExact)))
      << "no more than all its time";
}

TEST(DeviceShares, FifoTakesTheFastestTypeThatIsLeft) {
  Sharing sharing{{}, {1, 2}};
  sharing.jobs = {{.devices = 1, .speed = {4, 1}},
                  {.devices = 1, .speed = {4, 1}},
                  {.devices = 1, .speed = {1, 0}},
                  {.devices = 1, .speed = {0, 3}},
                  {.devices = 2, .speed = {1, 1}},
                  {.devices = 1, .speed = {1, 1}}};
  const Shares shares = fifo_shares(sharing);
  EXPECT_THAT(shares[0], ElementsAre(1, 0));
  EXPECT_THAT(shares[1], ElementsAre(0, 1)) << "the faster one is taken";
  EXPECT_THAT(shares[2], ElementsAre(0, 0)) << "what is left does not run it: passed over";
  EXPECT_THAT(shares[3], ElementsAre(0, 1));
  EXPECT_THAT(shares[4], ElementsAre(0, 0)) << "fits nowhere: ends the queue";
  EXPECT_THAT(shares[5], ElementsAre(0, 0));
}

TEST_F(WithSolver, MaxMinGivesTheLeastAsMuchAsPossible) {
  Sharing sharing{{}, {1, 1}};
  sharing.jobs = {{.devices = 1, .speed = {4, 1}}, {.devices = 1, .speed = {1, 2}}};
  const Shares shares = max_min_shares(sharing);
  EXPECT_GE(speed_of(sharing, shares, 0) / 2.5, 4.0 / 3 - 1e-6);
  EXPECT_THAT(speed_of(sharing, shares, 1) / 1.5, DoubleNear(4.0 / 3, 1e-6));
  EXPECT_THAT(shares[1], ElementsAre(DoubleNear(0, 1e-6), DoubleNear(1, 1e-6)));
}

TEST_F(WithSolver, MaxMinWithoutTypesGivesEqualTime) {
  Sharing sharing{{}, {1, 1}};
  for (int i = 0; i < 4; ++i) sharing.jobs.push_back({.devices = 1, .speed = {4, 1}});
  const Shares shares = max_min_shares(without_types(sharing));
  for (const std::vector<double>& row : shares) EXPECT_THAT(row[0] + row[1], DoubleNear(0.5, 1e-6));
}

TEST_F(WithSolver, MaxMinHonoursWeights) {
  Sharing sharing = equal_jobs(1, {1, 1});
  sharing.jobs[0].weight = 3;
  const Shares shares = max_min_shares(sharing);
  EXPECT_THAT(shares[0], ElementsAre(DoubleNear(0.75, 1e-6)));
  EXPECT_THAT(shares[1], ElementsAre(DoubleNear(0.25, 1e-6)));
}

TEST_F(WithSolver, MaxSumGivesDevicesToTheFastest) {
  Sharing sharing{{}, {1, 1}};
  sharing.jobs = {{.devices = 1, .speed = {4, 1}}, {.devices = 1, .speed = {3, 2.5}}};
  const Shares shares = max_sum_shares(sharing);
  EXPECT_THAT(shares[0], ElementsAre(DoubleNear(1, kExact), DoubleNear(0, kExact)));
  EXPECT_THAT(shares[1], ElementsAre(DoubleNear(0, kExact), DoubleNear(1, kExact)));
}

TEST_F(WithSolver, MakespanIsTheOneOfTheBisection) {
  const MakespanSearch search = search_makespan(equal_jobs(2, {1000, 3000}));
  EXPECT_EQ(search.probes, 13);
  EXPECT_DOUBLE_EQ(search.makespan_s, 3029.39453125);
}

TEST_F(WithSolver, MakespanLeavesFreeWhatNobodyNeeds) {
  Sharing sharing{{}, {1, 1}};
  sharing.jobs = {{.devices = 1, .speed = {4, 1}, .left = 1000},
                  {.devices = 1, .speed = {4, 1}, .left = 3000}};
  const double makespan_s = search_makespan(sharing).makespan_s;
  const Shares shares = makespan_shares(sharing);
  double sum = 0;
  for (std::size_t i = 0; i < sharing.jobs.size(); ++i) {
    const double needed = sharing.jobs[i].left / makespan_s;
    EXPECT_THAT(speed_of(sharing, shares, i), DoubleNear(needed, 1e-6)) << "job " << i;
    sum += shares[i][0] + shares[i][1];
  }
  EXPECT_THAT(shares[0][0] + shares[1][0], DoubleNear(1, 1e-6)) << "the fast one is used up first";
  EXPECT_THAT(sum, DoubleNear(1 + (4000 / makespan_s - 4), 1e-6));
}

/// The slacks of one job's bounds multiplied.
double slack_of(const Sharing& sharing,
                std::size_t job,
                double needed,
                const std::vector<double>& shares) {
  double product = sharing.jobs[job].speed_under(shares) - needed;
  double time = 1;
  for (const double share : shares) {
    product *= share;
    time -= share;
  }
  return product * time;
}

/// Of all bounds; 0 or less: one is broken or touched. Slacks of types are large where many jobs
/// share them, and no product of two broken bounds may pass for a good one.
double slacks(const Sharing& sharing, const std::vector<double>& needed, const Shares& shares) {
  double product = 1;
  for (std::size_t j = 0; j < sharing.devices.size(); ++j) {
    double left = sharing.devices[j];
    for (std::size_t i = 0; i < shares.size(); ++i) {
      if (shares[i][j] <= 0) return 0;
      left -= sharing.jobs[i].devices * shares[i][j];
    }
    if (left <= 0) return 0;
    product *= left;
  }
  for (std::size_t i = 0; i < shares.size(); ++i) {
    double time = 1;
    for (const double share : shares[i]) time -= share;
    if (time <= 0 || sharing.jobs[i].speed_under(shares[i]) <= needed[i]) return 0;
    product *= slack_of(sharing, i, needed[i], shares[i]);
  }
  return product;
}

TEST(ShareCentre, IsWhereItsConditionSays) {
  // Two equal jobs on one device: 1/x - 1/(1 - x) + 1/(x - r) = 1/(1 - 2 x).
  for (const auto& [needed, share] : {std::pair(0.0, 0.369398062518), {0.25, 0.422346399001}}) {
    const Shares shares =
        centre_of(equal_jobs(1, {1, 1}), {.needed = {needed, needed}}, {{0.45}, {0.48}});
    EXPECT_THAT(shares[0], ElementsAre(DoubleNear(share, kExact)));
    EXPECT_THAT(shares[1], ElementsAre(DoubleNear(share, kExact)));
  }
}

TEST(ShareCentre, NoOtherSharesHaveAGreaterProductOfSlacks) {
  Sharing sharing{{}, {2, 0, 3}};
  sharing.jobs = {{.devices = 1, .speed = {4, 1, 2}},
                  {.devices = 2, .speed = {1, 1, 0}},
                  {.devices = 1, .speed = {3, 9, 3}}};
  const std::vector<double> needed{1, 0.2, 0.5};
  const Shares centre =
      centre_of(sharing, {.needed = needed}, {{0.3, 0, 0.1}, {0.4, 0, 0.1}, {0.2, 0, 0.1}});
  for (const std::vector<double>& row : centre) EXPECT_EQ(row[1], 0) << "there are no such devices";
  sharing.devices = {2, 3};
  for (SharingJob& each : sharing.jobs) each.speed.erase(each.speed.begin() + 1);
  Shares without = centre;
  for (std::vector<double>& row : without) row.erase(row.begin() + 1);
  const double greatest = slacks(sharing, needed, without);
  ASSERT_GT(greatest, 0);
  for (std::size_t i = 0; i < without.size(); ++i)
    for (std::size_t j = 0; j < 2; ++j)
      for (const double change : {-0.05, -0.001, 0.001, 0.05}) {
        Shares other = without;
        other[i][j] += change;
        EXPECT_LT(slacks(sharing, needed, other), greatest) << i << ' ' << j << ' ' << change;
      }
}

TEST_F(WithSolver, MakespanSharesMayStandInTheMiddle) {
  const Sharing sharing = equal_jobs(2, {1000, 3000, 500});
  const double makespan_s = search_makespan(sharing).makespan_s;
  const std::vector<double> needed{1000 / makespan_s, 3000 / makespan_s, 500 / makespan_s};
  const Shares centred = makespan_shares(sharing, SpareShares::Centred);
  const double greatest = slacks(sharing, needed, centred);
  ASSERT_GT(greatest, 0) << "it holds the makespan, with something to spare everywhere";
  for (std::size_t i = 0; i < 3; ++i)
    for (const double change : {-1e-4, 1e-4}) {
      Shares other = centred;
      other[i][0] += change;
      EXPECT_LT(slacks(sharing, needed, other), greatest) << "job " << i;
    }
}

TEST_F(WithSolver, SharesOfSeveralOptimaMayStandInTheMiddle) {
  // One device and two equal jobs: any two shares that sum to 1 have the greatest sum of speeds.
  const Shares even = max_sum_shares(equal_jobs(1, {1, 1}), SpareShares::Centred);
  EXPECT_THAT(even[0], ElementsAre(DoubleNear(0.5, 1e-6)));
  EXPECT_THAT(even[1], ElementsAre(DoubleNear(0.5, 1e-6)));

  // Four devices: the job of one device is the least with all its time, the one of two may have
  // half of its time or more. Its bounds are x, 1 - x, 2 x - 1 and 3 - 2 x.
  Sharing sizes = equal_jobs(4, {1, 1});
  sizes.jobs[1].devices = 2;
  const Shares least = max_min_shares(sizes, SpareShares::Centred);
  EXPECT_THAT(least[0], ElementsAre(DoubleNear(1, 1e-6)));
  const double x = least[1][0];
  EXPECT_THAT(1 / x - 1 / (1 - x) + 2 / (2 * x - 1) - 2 / (3 - 2 * x), DoubleNear(0, 1e-4));

  // The job that has waited has all its time and a ratio of 2; the other one needs half of its
  // time for that. Its bounds are x, 1 - x, 3 - x, and (x - 1/2)^2 / x for the time that it takes.
  Sharing waited = equal_jobs(4, {100, 100});
  waited.jobs[0].age_s = 100;
  const Shares fair = finish_time_fair_shares(waited, SpareShares::Centred);
  EXPECT_THAT(fair[0], ElementsAre(DoubleNear(1, 1e-5)));
  const double y = fair[1][0];
  EXPECT_THAT(2 / (y - 0.5) - 1 / (1 - y) - 1 / (3 - y), DoubleNear(0, 1e-3));
}

TEST_F(WithSolver, TheMiddleOfOptimaIsAnOptimum) {
  constexpr std::uint64_t kSeed = 20261127;
  SCOPED_TRACE(::testing::Message() << "seed " << kSeed);
  Random random(kSeed);
  for (int run = 0; run < 50; ++run) {
    const auto below = [&](std::uint64_t n) { return static_cast<double>(random.below(n)); };
    Sharing sharing{{}, {1 + below(8), 1 + below(8)}};
    const std::uint64_t jobs = 1 + random.below(12);
    for (std::uint64_t i = 0; i < jobs; ++i)
      sharing.jobs.push_back({.devices = 1 + below(4),
                              .speed = {1 + below(9), 1 + below(9)},
                              .left = 1 + below(1000),
                              .age_s = below(100)});
    const auto sum = [&](const Shares& shares) {
      double all = 0;
      for (std::size_t i = 0; i < shares.size(); ++i) all += speed_of(sharing, shares, i);
      return all;
    };
    const auto least = [&](const Shares& shares) {
      double level = solver::kInfinity;
      for (std::size_t i = 0; i < shares.size(); ++i) {
        const SharingJob& job = sharing.jobs[i];
        const double mean = mean_speed(job, sharing.devices);
        level = std::min(level, job.devices * speed_of(sharing, shares, i) / mean);
      }
      return level;
    };
    const auto worst = [&](const Shares& shares) {
      const Shares isolated = isolated_shares(sharing);
      double ratio = 0;
      for (std::size_t i = 0; i < shares.size(); ++i) {
        const SharingJob& job = sharing.jobs[i];
        ratio = std::max(ratio,
                         (job.age_s + job.left / speed_of(sharing, shares, i)) /
                             (job.left / speed_of(sharing, isolated, i)));
      }
      return ratio;
    };
    const double greatest_sum = sum(max_sum_shares(sharing));
    EXPECT_NEAR(
        sum(max_sum_shares(sharing, SpareShares::Centred)), greatest_sum, 1e-6 * greatest_sum);
    const double greatest = least(max_min_shares(sharing));
    EXPECT_NEAR(least(max_min_shares(sharing, SpareShares::Centred)), greatest, 1e-6 * greatest);
    const double ratio = worst(finish_time_fair_shares(sharing));
    EXPECT_NEAR(worst(finish_time_fair_shares(sharing, SpareShares::Centred)), ratio, 1e-4 * ratio);
  }
}

TEST_F(WithSolver, FinishTimesAreFair) {
  const Shares even = finish_time_fair_shares(equal_jobs(1, {100, 100}));
  EXPECT_THAT(even[0], ElementsAre(DoubleNear(0.5, 1e-6)));
  EXPECT_THAT(even[1], ElementsAre(DoubleNear(0.5, 1e-6)));

  Sharing waited = equal_jobs(1, {100, 100});
  waited.jobs[0].age_s = 100;
  const Shares uneven = finish_time_fair_shares(waited);
  EXPECT_THAT(uneven[0], ElementsAre(DoubleNear(0.618034, 1e-5)));
  EXPECT_THAT(uneven[1], ElementsAre(DoubleNear(0.381966, 1e-5)));

  const Shares enough = finish_time_fair_shares(equal_jobs(2, {100, 100}));
  EXPECT_THAT(enough[0], ElementsAre(DoubleNear(1, 1e-6)));
}

// ---- rounds ----

RoundJob round_job(std::uint32_t id, double devices = 1) { return {JobId{id}, devices, {1}}; }

std::vector<std::uint32_t> ids(const std::vector<RoundChoice>& chosen) {
  std::vector<std::uint32_t> out;
  for (const RoundChoice& each : chosen) out.push_back(each.job.value);
  return out;
}

const std::vector<std::size_t> kOneType{0};

TEST(RoundAccounts, FollowSharesByPriority) {
  RoundAccounts accounts({});
  const std::vector<RoundJob> jobs{round_job(1), round_job(2)};
  ASSERT_TRUE(accounts.update(Instant{}, jobs, {1}));
  accounts.set_shares(Instant{}, jobs, {{0.75}, {0.25}});
  EXPECT_THAT(accounts.priority(jobs[0], 0), DoubleNear(1.5, kExact));
  EXPECT_THAT(accounts.priority(jobs[1], 0), DoubleNear(0.5, kExact));
  EXPECT_THAT(ids(accounts.choose(jobs, {1}, kOneType)), ElementsAre(1));

  accounts.add_time(JobId{1}, 0, 360);
  EXPECT_THAT(accounts.priority(jobs[0], 0), DoubleNear(1, kExact));
  EXPECT_THAT(accounts.priority(jobs[1], 0), DoubleNear(1, kExact));
  EXPECT_THAT(ids(accounts.choose(jobs, {1}, kOneType)), ElementsAre(1))
      << "a tie: the larger share";

  accounts.set_shares(Instant{} + Duration::seconds(720), jobs, {{0.75}, {0.25}});
  EXPECT_THAT(accounts.deficit(JobId{1}, 0), DoubleNear(180, kExact));
  EXPECT_THAT(accounts.deficit(JobId{2}, 0), DoubleNear(180, kExact));
}

TEST(RoundAccounts, ComputeSharesAnewAfterAChangeButNotTooOften) {
  RoundAccounts accounts({});
  const auto at = [](std::int64_t seconds) { return Instant{} + Duration::seconds(seconds); };
  std::vector<RoundJob> jobs{round_job(1)};
  ASSERT_TRUE(accounts.update(at(100), jobs, {1}));
  accounts.set_shares(at(100), jobs, {{1}});
  EXPECT_FALSE(accounts.update(at(5000), jobs, {1})) << "nothing has changed";
  jobs.push_back(round_job(2));
  EXPECT_FALSE(accounts.update(at(2019), jobs, {1}));
  EXPECT_TRUE(accounts.update(at(2020), jobs, {1}));
}

TEST(RoundAccounts, JobsWithoutAShareFillGapsUnlessTheyMayNot) {
  for (const bool only_shared : {false, true}) {
    RoundAccounts accounts({.only_shared = only_shared});
    std::vector<RoundJob> jobs{round_job(1)};
    accounts.update(Instant{}, jobs, {1});
    accounts.set_shares(Instant{}, jobs, {{1}});
    jobs.push_back(round_job(2));
    accounts.update(Instant{}, jobs, {1});
    const auto chosen = ids(accounts.choose(jobs, {2}, kOneType));
    if (only_shared)
      EXPECT_THAT(chosen, ElementsAre(1));
    else
      EXPECT_THAT(chosen, ElementsAre(1, 2));
  }
}

TEST(RoundAccounts, NewcomersMayHoldWhatTheyDoNotUse) {
  RoundAccounts accounts({.newcomers_run = false});
  std::vector<RoundJob> jobs{round_job(1)};
  accounts.update(Instant{}, jobs, {2});
  accounts.set_shares(Instant{}, jobs, {{0}});
  jobs.push_back(round_job(2, 2));
  accounts.update(Instant{}, jobs, {2});
  EXPECT_THAT(ids(accounts.choose(jobs, {2}, kOneType)), ElementsAre(1))
      << "the older one fills the gap, the newcomer does not fit";
  EXPECT_THAT(ids(accounts.choose(jobs, {3}, kOneType)), ElementsAre(1)) << "two devices stay idle";
}

// A fixed job is none of those that share. Its devices once came back unnoticed, and under FIFO
// those who had no share for want of them waited for ever.
TEST(RoundAccounts, DevicesThatComeBackAreAChange) {
  RoundAccounts accounts({.only_shared = true});
  const std::vector<RoundJob> jobs{round_job(1, 2)};
  accounts.update(Instant{}, jobs, {1});
  accounts.set_shares(Instant{}, jobs, {{0}});
  const Instant later = Instant{} + Duration::seconds(3600);
  EXPECT_FALSE(accounts.update(later, jobs, {1}));
  EXPECT_TRUE(accounts.update(later, jobs, {2}));
}

TEST(RoundAccounts, WhoIsOnItsWayWaitsWithItsShare) {
  RoundAccounts accounts({});
  std::vector<RoundJob> jobs{round_job(1), round_job(2)};
  jobs[0].may_run = false;
  accounts.update(Instant{}, jobs, {1});
  accounts.set_shares(Instant{}, jobs, {{0.75}, {0.25}});
  EXPECT_THAT(ids(accounts.choose(jobs, {1}, kOneType)), ElementsAre(2));
  jobs[0].may_run = true;
  EXPECT_THAT(ids(accounts.choose(jobs, {1}, kOneType)), ElementsAre(1));
}

TEST(RoundAccounts, WhatDoesNotFitIsPassedOver) {
  RoundAccounts accounts({});
  const std::vector<RoundJob> jobs{round_job(1, 2), round_job(2, 4), round_job(3, 1)};
  accounts.update(Instant{}, jobs, {1});
  accounts.set_shares(Instant{}, jobs, {{1}, {1}, {1}});
  EXPECT_THAT(ids(accounts.choose(jobs, {3}, kOneType)), ElementsAre(1, 3));
}

TEST(RoundAccounts, SharesFollowAtOnceWhereAccountsWait) {
  RoundAccounts accounts({.at_once = true});
  std::vector<RoundJob> jobs{round_job(1)};
  const auto at = [](std::int64_t seconds) { return Instant{} + Duration::seconds(seconds); };
  ASSERT_TRUE(accounts.update(at(360), jobs, {1}));
  accounts.set_shares(at(360), jobs, {{1}});
  accounts.add_time(JobId{1}, 0, 360);
  EXPECT_FALSE(accounts.update(at(720), jobs, {1})) << "nobody has come";
  jobs.push_back(round_job(2));
  ASSERT_TRUE(accounts.update(at(720), jobs, {1})) << "long before reset";
  accounts.set_shares(at(720), jobs, {{0.5}, {0.5}});
  // Of 180 + 360 s that all have had, the first has 540 and the second is taken to have 180.
  EXPECT_THAT(accounts.priority(jobs[0], 0), DoubleNear(0.5 / (540.0 / 540), kExact));
  EXPECT_THAT(accounts.priority(jobs[1], 0), DoubleNear(0.5 / (180.0 / 540), kExact));
  EXPECT_FALSE(accounts.update(at(360 + 1920), jobs, {1})) << "shares are as they were";
  EXPECT_THAT(accounts.priority(jobs[0], 0), DoubleNear(0.5 / (180.0 / 360), kExact)) << "anew";
  EXPECT_THAT(accounts.deficit(JobId{1}, 0), DoubleNear(0.5 * 1920 - 360, kExact));
}

TEST(RoundAccounts, GoOnAsTheyWereSaved) {
  RoundAccounts accounts({});
  std::vector<RoundJob> jobs{round_job(1), round_job(2)};
  accounts.update(Instant{}, jobs, {1});
  accounts.set_shares(Instant{}, jobs, {{0.75}, {0.25}});
  accounts.add_time(JobId{1}, 0, 360);
  jobs.push_back(round_job(3));
  accounts.update(Instant{} + Duration::seconds(360), jobs, {1});
  ByteWriter out;
  accounts.save(out);
  RoundAccounts loaded({});
  ByteReader in(out.bytes());
  loaded.load(in);
  EXPECT_EQ(loaded.priority(jobs[0], 0), accounts.priority(jobs[0], 0));
  EXPECT_EQ(loaded.priority(jobs[2], 0), 0);
  EXPECT_TRUE(loaded.update(Instant{} + Duration::seconds(1920), jobs, {1})) << "a job has come";
}

// ---- speeds ----

/// 4,000 epochs of 1,000 examples: at a batch of 10 until epoch 1,000, then of 100.
EpochProfile slowing(double seconds_first, double seconds_then) {
  EpochProfile profile{"toy", 1000, {}, {}};
  for (int epoch = 0; epoch < 4000; ++epoch) {
    profile.batches.push_back(epoch < 1000 ? 10 : 100);
    profile.seconds.push_back(epoch < 1000 ? seconds_first : seconds_then);
  }
  return profile;
}

TEST_F(WithSolver, AJobIsAsFastAsItsPresentBatch) {
  // 100 steps in 20 s, then 10 in 10 s; the other makes 100 in 40 s, then the same.
  auto profiles = std::make_shared<EpochProfiles>();
  profiles->emplace("first", slowing(20, 10));
  profiles->emplace("second", slowing(40, 10));
  profiles->emplace("third", slowing(80, 10));
  PolicyArguments arguments;
  arguments.models.epochs = profiles;
  const std::unique_ptr<Policy> policy = make_policy("gavel_sum", arguments).value();
  testing::FakeCluster cluster;
  cluster.add_nodes(1, 1);
  const auto submit = [&](const char* profile) {
    JobSpec spec = *testing::job().preemptible().spec();
    spec.profile = profile;
    return cluster.submit(std::make_shared<const JobSpec>(spec), 4000);
  };
  const JobId first = submit("first");
  const JobId second = submit("second");
  const auto round = [&](std::int64_t seconds) {
    cluster.carry_out(cluster.ask_optimize(*policy));
    cluster.advance(seconds);
  };
  round(360);
  EXPECT_GT(cluster.replicas(first), 0) << "5 steps a second are more than 2.5";
  for (int i = 0; i < 5; ++i) round(360);  // An epoch a second.
  EXPECT_GT(cluster.replicas(first), 0) << "1 is less, but nobody has come or gone";
  submit("third");
  round(360);
  EXPECT_EQ(cluster.replicas(first), 0);
  EXPECT_GT(cluster.replicas(second), 0);
  EXPECT_THAT(cluster.violations(), IsEmpty());
}

// Worlds report a rate when it has changed: the last one of a job that waits is not its rate now.
TEST_F(WithSolver, StepsOfAJobThatWaitsDoNotRunDown) {
  auto speeds = std::make_shared<DeviceSpeeds>();
  speeds->add("gpu", "kind", 1, 1);
  PolicyArguments arguments;
  arguments.models.speeds = speeds;
  arguments.models.speeds_of = "gpu";
  const std::unique_ptr<Policy> policy = make_policy("gavel_makespan", arguments).value();
  testing::FakeCluster cluster;
  cluster.add_nodes(1, 1);
  const auto submit = [&](std::int64_t estimate_s) {
    JobSpec spec = *testing::job().preemptible().estimate(estimate_s).spec();
    spec.profile = "kind";
    return cluster.submit(std::make_shared<const JobSpec>(spec));
  };
  const JobId longer = submit(6000);
  const JobId shorter = submit(5000);
  cluster.tell(longer, 0, 1);
  cluster.advance(4000);
  cluster.carry_out(cluster.ask_optimize(*policy));
  EXPECT_GT(cluster.replicas(longer), 0) << "6,000 steps are left of it, and not 2,000";
  EXPECT_EQ(cluster.replicas(shorter), 0);
}

}  // namespace
}  // namespace orrery::policies
