// AlloX: assignments against every one there is, and who runs first.
#include "policies/allox.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "core/base/random.hpp"
#include "tests/policies/ask.hpp"

namespace orrery::policies {
namespace {

using ::testing::ElementsAre;
using testing::FakeCluster;
using ::testing::IsEmpty;
using testing::job;

/// The least sum over all ways to give each row a column of its own.
double least_sum(const std::vector<std::vector<double>>& costs) {
  std::vector<std::size_t> columns(costs.front().size());
  std::iota(columns.begin(), columns.end(), std::size_t{0});
  double least = 1e300;
  do {
    double sum = 0;
    for (std::size_t row = 0; row < costs.size(); ++row) sum += costs[row][columns[row]];
    least = std::min(least, sum);
  } while (std::next_permutation(columns.begin(), columns.end()));
  return least;
}

TEST(LeastAssignment, IsAsGoodAsEveryOther) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Random random = Random::stream(seed, "assignment");
    const std::size_t rows = 1 + random.below(5);
    const std::size_t columns = rows + random.below(3);
    std::vector<std::vector<double>> costs(rows, std::vector<double>(columns));
    for (std::vector<double>& row : costs)
      for (double& cost : row) cost = static_cast<double>(random.below(20));
    const std::vector<std::size_t> found = least_assignment(costs);
    std::vector<std::size_t> once = found;
    std::sort(once.begin(), once.end());
    EXPECT_EQ(std::adjacent_find(once.begin(), once.end()), once.end()) << "seed " << seed;
    double sum = 0;
    for (std::size_t row = 0; row < rows; ++row) sum += costs[row][found[row]];
    EXPECT_EQ(sum, least_sum(costs)) << "seed " << seed;
  }
}

Sharing jobs_on(std::vector<double> devices, const std::vector<std::vector<double>>& seconds) {
  Sharing sharing{{}, std::move(devices), {}};
  for (const std::vector<double>& of_job : seconds) {
    SharingJob each{.devices = 1, .left = 1000};
    for (const double s : of_job) each.speed.push_back(s > 0 ? each.left / s : 0);
    sharing.jobs.push_back(std::move(each));
  }
  return sharing;
}

Shares no_shares(const Sharing& sharing) { return Shares(sharing.jobs.size()); }

TEST(AlloXShares, TheShorterOneRunsFirst) {
  const Sharing sharing = jobs_on({1}, {{10}, {20}});
  EXPECT_THAT(allox_shares(sharing, no_shares(sharing), {}),
              ElementsAre(ElementsAre(1), ElementsAre(0)));
  const Sharing other = jobs_on({1}, {{20}, {10}});
  EXPECT_THAT(allox_shares(other, no_shares(other), {}),
              ElementsAre(ElementsAre(0), ElementsAre(1)));
}

TEST(AlloXShares, WhoGainsMostFromATypeHasIt) {
  // 10 + 30 and not 20 + 60: the first is nearly as fast on the second type.
  const Sharing sharing = jobs_on({1, 1}, {{20, 30}, {10, 60}});
  EXPECT_THAT(allox_shares(sharing, no_shares(sharing), {}),
              ElementsAre(ElementsAre(0, 1), ElementsAre(1, 0)));
}

TEST(AlloXShares, WaitingForAFastDeviceMayBeBest) {
  // Both on the first: 10 + 20. The second would take 100 elsewhere.
  const Sharing sharing = jobs_on({1, 1}, {{10, 100}, {10, 100}});
  EXPECT_THAT(allox_shares(sharing, no_shares(sharing), {}),
              ElementsAre(ElementsAre(1, 0), ElementsAre(0, 0)));
}

TEST(AlloXShares, WhoHasADeviceKeepsIt) {
  const Sharing sharing = jobs_on({1}, {{100}, {10}});
  EXPECT_THAT(allox_shares(sharing, {{1}, {0}}, {}), ElementsAre(ElementsAre(1), ElementsAre(0)));
  Sharing gone = sharing;
  gone.devices = {0};
  EXPECT_THAT(allox_shares(gone, {{1}, {0}}, {}), ElementsAre(ElementsAre(0), ElementsAre(0)))
      << "its device is gone";
}

TEST(AlloXShares, OnlyTheOldestAreMatched) {
  const Sharing sharing = jobs_on({1}, {{50}, {40}, {30}, {20}, {10}});
  const auto runs = [&](const AlloXSettings& settings) {
    const Shares shares = allox_shares(sharing, no_shares(sharing), settings);
    const auto at = std::find(shares.begin(), shares.end(), std::vector<double>{1});
    return at - shares.begin();
  };
  EXPECT_EQ(runs({}), 4);
  EXPECT_EQ(runs({.considered = 0.5}), 1) << "the shorter one of two";
  EXPECT_EQ(runs({.considered = 0}), 0) << "as many as devices are free";
  EXPECT_EQ(runs({.depth = 3}), 2);
}

TEST(AlloXShares, AGangHasItsPart) {
  Sharing sharing = jobs_on({4}, {{10}, {20}});
  sharing.jobs[1].devices = 2;
  EXPECT_THAT(allox_shares(sharing, no_shares(sharing), {}),
              ElementsAre(ElementsAre(1), ElementsAre(0.5)));
  sharing.jobs[1].devices = 0.5;
  EXPECT_THAT(allox_shares(sharing, no_shares(sharing), {}),
              ElementsAre(ElementsAre(1), ElementsAre(1)))
      << "no more than all its time";
}

/// The sum of all completion times where each device runs its jobs one after the other.
double best_sum(const std::vector<std::vector<double>>& seconds, std::size_t devices) {
  std::vector<std::size_t> order(seconds.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  double best = 1e300;
  std::size_t ways = 1;
  for (std::size_t i = 0; i < seconds.size(); ++i) ways *= devices;
  do {
    for (std::size_t way = 0; way < ways; ++way) {
      std::vector<double> ends(devices);
      double sum = 0;
      std::size_t rest = way;
      for (const std::size_t i : order) {
        const std::size_t device = rest % devices;
        rest /= devices;
        ends[device] += seconds[i][device];
        sum += ends[device];
      }
      best = std::min(best, sum);
    }
  } while (std::next_permutation(order.begin(), order.end()));
  return best;
}

/// The same where those at the front of the two queues are given; none: its queue is empty.
double best_sum_behind(const std::vector<std::vector<double>>& seconds,
                       const std::vector<std::size_t>& front) {
  std::vector<std::size_t> order;
  std::vector<double> starts(2);
  double first = 0;
  for (std::size_t j = 0; j < 2; ++j)
    if (front[j] < seconds.size()) first += starts[j] = seconds[front[j]][j];
  for (std::size_t i = 0; i < seconds.size(); ++i)
    if (i != front[0] && i != front[1]) order.push_back(i);
  double best = 1e300;
  do {
    for (std::size_t way = 0; way < (std::size_t{1} << order.size()); ++way) {
      std::vector<double> ends = starts;
      double sum = first;
      bool possible = true;
      for (std::size_t n = 0; n < order.size(); ++n) {
        const std::size_t device = (way >> n) & 1;
        possible = possible && front[device] < seconds.size();
        ends[device] += seconds[order[n]][device];
        sum += ends[device];
      }
      if (possible) best = std::min(best, sum);
    }
  } while (std::next_permutation(order.begin(), order.end()));
  return best;
}

/// Runs jobs on two equal devices as shares say until all have ended; the sum of their ends.
double sum_by_shares(std::vector<double> seconds) {
  double now = 0;
  double sum = 0;
  Shares before(seconds.size());
  while (!seconds.empty()) {
    std::vector<std::vector<double>> on_type;
    for (const double each : seconds) on_type.push_back({each});
    const Shares shares = allox_shares(jobs_on({2}, on_type), before, {});
    double step = 1e300;
    for (std::size_t i = 0; i < shares.size(); ++i)
      if (shares[i][0] == 1) step = std::min(step, seconds[i]);
    now += step;
    std::vector<double> left;
    before.clear();
    for (std::size_t i = 0; i < shares.size(); ++i) {
      const double rest = seconds[i] - (shares[i][0] == 1 ? step : 0);
      if (rest <= 0) {
        sum += now;
        continue;
      }
      left.push_back(rest);
      before.push_back(shares[i]);
    }
    seconds = std::move(left);
  }
  return sum;
}

TEST(AlloXShares, CompletionTimesAreTheLeastOnEqualDevices) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    Random random = Random::stream(seed, "allox");
    std::vector<double> seconds(2 + random.below(4));
    for (double& each : seconds) each = 1 + static_cast<double>(random.below(50));
    std::vector<std::vector<double>> on_device;
    for (const double each : seconds) on_device.push_back({each, each});
    EXPECT_EQ(sum_by_shares(seconds), best_sum(on_device, 2)) << "seed " << seed;
  }
}

TEST(AlloXShares, AQueueIsAsGoodAsEveryOtherOnDevicesThatDiffer) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    Random random = Random::stream(seed, "allox/queues");
    std::vector<std::vector<double>> seconds(1 + random.below(4));
    for (std::vector<double>& of_job : seconds)
      for (int j = 0; j < 2; ++j) of_job.push_back(1 + static_cast<double>(random.below(50)));
    // Who runs first: the rest behind them cannot be better arranged than with them in front.
    const Sharing sharing = jobs_on({1, 1}, seconds);
    const Shares shares = allox_shares(sharing, no_shares(sharing), {});
    std::vector<std::size_t> front(2, seconds.size());
    for (std::size_t i = 0; i < shares.size(); ++i)
      for (std::size_t j = 0; j < 2; ++j)
        if (shares[i][j] == 1) front[j] = i;
    EXPECT_NEAR(best_sum_behind(seconds, front), best_sum(seconds, 2), 1e-9) << "seed " << seed;
  }
}

TEST(AlloX, RunsTheShortestAndLetsThemEnd) {
  FakeCluster cluster;
  cluster.add_nodes(1, 2);
  const auto allox = testing::policy("allox", {{"round", "60s"}, {"reset", "0s"}});
  std::vector<JobId> jobs;
  for (const std::int64_t seconds : {3600, 1200, 600, 2400})
    jobs.push_back(cluster.submit(job().preemptible().estimate(seconds)));
  cluster.carry_out(cluster.ask_optimize(*allox));
  EXPECT_EQ(cluster.replicas(jobs[1]), 1);
  EXPECT_EQ(cluster.replicas(jobs[2]), 1);
  const JobId shorter = cluster.submit(job().preemptible().estimate(60));
  cluster.advance(60);
  cluster.carry_out(cluster.ask_optimize(*allox));
  EXPECT_EQ(cluster.replicas(jobs[1]), 1) << "it keeps its device";
  EXPECT_EQ(cluster.replicas(shorter), 0);
  cluster.advance(540);
  cluster.carry_out(cluster.ask_optimize(*allox));
  EXPECT_FALSE(cluster.is_live(jobs[2]));
  EXPECT_EQ(cluster.replicas(shorter), 1);
  EXPECT_THAT(cluster.violations(), IsEmpty());
}

}  // namespace
}  // namespace orrery::policies
