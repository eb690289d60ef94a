// Shockwave's program against the artifact's numbers and against every schedule there is.
#include "policies/shockwave.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <vector>

#include "core/base/random.hpp"
#include "policies/present_progress.hpp"
#include "policies/shockwave_counts.hpp"
#include "tests/policies/ask.hpp"
#include "tests/support/fake_run.hpp"

namespace orrery {
namespace {

using policies::WindowJob;
using policies::WindowPath;
using policies::WindowPlace;
using policies::WindowSchedule;
using policies::WindowSettings;
using testing::FakeCluster;
using testing::job;

constexpr double kWindowExact = 1e-9;

TEST(ShockwaveFormulas, UtilityIsTheLogarithmByStraightLines) {
  EXPECT_NEAR(policies::log_utility(0), std::log(1e-6), kWindowExact);
  EXPECT_NEAR(policies::log_utility(0.10), -7.712474235199187, kWindowExact);
  EXPECT_NEAR(policies::log_utility(0.50), -0.7135581778200729, kWindowExact);
  EXPECT_NEAR(policies::log_utility(0.85), -0.16735766348565732, kWindowExact);
  EXPECT_EQ(policies::log_utility(1), 0);
}

TEST(ShockwaveFormulas, FairFinishWeighsEstimatesByTheirTime) {
  const auto finish = [](std::vector<std::pair<std::int64_t, double>> series, std::int64_t round) {
    policies::FairFinish out;
    for (const auto& [since, estimate_s] : series) out.add(since, estimate_s);
    return out.at(round);
  };
  EXPECT_NEAR(finish({{0, 1000}, {10, 1600}}, 10), 1060, kWindowExact);
  EXPECT_NEAR(finish({{0, 1000}, {10, 1600}}, 20), 1330, kWindowExact);
  EXPECT_NEAR(finish({{0, 1000}, {5, 1200}, {15, 900}}, 20), 1057.5, kWindowExact);
  EXPECT_NEAR(finish({{7, 1234}}, 7), 1234, kWindowExact);
}

TEST(ShockwaveFormulas, LateJobsWeighMore) {
  EXPECT_NEAR(policies::late_weight(1.2, false, 1, 12), 8.916100448256, kWindowExact);
  EXPECT_NEAR(policies::late_weight(1.2, true, 1, 12) / 82817974.522014, 1, kWindowExact);
  EXPECT_EQ(policies::late_weight(0.9, true, 1, 12), 1);
  EXPECT_EQ(policies::late_weight(1.5, false, 2, 12), 1);
}

WindowSettings few_rounds(int rounds) {
  WindowSettings settings;
  settings.rounds = rounds;
  settings.round_s = 100;
  return settings;
}

WindowPlace window_place(const WindowSettings& settings, std::int64_t devices, double share) {
  return {0,
          share,
          std::vector<std::int64_t>(static_cast<std::size_t>(settings.rounds), devices * 1000)};
}

/// The published objective of a schedule in which jobs have so many rounds.
double window_objective(const std::vector<WindowJob>& jobs,
                        const std::vector<int>& rounds,
                        const WindowSettings& settings,
                        const std::vector<double>& weights = {}) {
  double sum = 0;
  double worst = 0;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const WindowJob& job = jobs[i];
    const double epochs =
        std::min<double>(job.epochs - job.done, rounds[i] * settings.round_s / job.mean_s);
    sum += (weights.empty() ? 1 : weights[i]) *
           policies::log_utility((job.done + epochs) / job.epochs);
    worst = std::max(worst, job.remaining_s - epochs * job.mean_s);
  }
  return sum / (static_cast<double>(jobs.size()) * settings.rounds) -
         settings.makespan_weight * worst;
}

/// The best objective over all numbers of rounds that the devices of all rounds together hold.
double best_window(const std::vector<WindowJob>& jobs,
                   std::int64_t devices,
                   const WindowSettings& settings,
                   const std::vector<double>& weights = {}) {
  std::vector<int> rounds(jobs.size(), 0);
  double best = -1e300;
  for (;;) {
    std::int64_t room = 0;
    for (std::size_t i = 0; i < jobs.size(); ++i) room += jobs[i].room * rounds[i];
    if (room <= devices * 1000 * settings.rounds)
      best = std::max(best, window_objective(jobs, rounds, settings, weights));
    std::size_t at = 0;
    while (at < rounds.size() && ++rounds[at] > settings.rounds) rounds[at++] = 0;
    if (at == rounds.size()) return best;
  }
}

std::vector<WindowJob> window_jobs(Random& random, int count) {
  std::vector<WindowJob> jobs;
  for (int i = 0; i < count; ++i) {
    WindowJob job;
    job.epochs = static_cast<int>(random.between(2, 12));
    job.done = static_cast<int>(random.between(0, job.epochs - 1));
    job.mean_s = static_cast<double>(random.between(20, 200));
    job.remaining_s = job.mean_s * (job.epochs - job.done);
    job.fair_finish_s = 1e6;
    jobs.push_back(job);
  }
  return jobs;
}

void expect_within_rooms(const std::vector<WindowJob>& jobs,
                         const WindowPlace& place,
                         const WindowSchedule& schedule) {
  for (std::size_t round = 0; round < place.rooms.size(); ++round) {
    std::int64_t taken = 0;
    for (std::size_t i = 0; i < jobs.size(); ++i)
      taken += schedule.runs[i][round] != 0 ? jobs[i].room : 0;
    EXPECT_LE(taken, place.rooms[round]) << "round " << round;
  }
}

TEST(ShockwaveWindow, IsAsGoodAsEverySchedule) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    Random random = Random::stream(seed, "window");
    const std::vector<WindowJob> jobs = window_jobs(random, 4);
    WindowSettings settings = few_rounds(3);
    settings.makespan_weight = seed % 2 == 0 ? 1e-3 : 1e-6;
    const WindowPlace place = window_place(settings, 2, 0.5);
    const WindowSchedule schedule = policies::solve_window(jobs, place, settings);
    EXPECT_EQ(schedule.path, WindowPath::Fair) << "seed " << seed;
    EXPECT_NEAR(schedule.objective, best_window(jobs, 2, settings), 1e-9) << "seed " << seed;
    expect_within_rooms(jobs, place, schedule);
    for (std::size_t i = 0; i < jobs.size(); ++i)
      EXPECT_EQ(std::count(schedule.runs[i].begin(), schedule.runs[i].end(), 1), schedule.rounds[i])
          << "jobs of one device always get the rounds that the program gave, seed " << seed;
  }
}

TEST(ShockwaveWindow, SizesArePackedIntoRounds) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    Random random = Random::stream(seed, "sizes");
    std::vector<WindowJob> jobs = window_jobs(random, 9);
    for (WindowJob& job : jobs) job.room = 1000 << random.below(3);
    const WindowSettings settings = few_rounds(6);
    const WindowPlace place = window_place(settings, 8, 0.5);
    expect_within_rooms(jobs, place, policies::solve_window(jobs, place, settings));
  }
}

TEST(ShockwaveWindow, WhatRoundsDoMayBeKeptFromAnEarlierSchedule) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    Random random = Random::stream(seed, "kept");
    std::vector<WindowJob> jobs = window_jobs(random, 9);
    for (WindowJob& job : jobs) job.fair_finish_s = static_cast<double>(random.between(300, 900));
    const WindowSettings settings = few_rounds(6);
    const auto made_anew = policies::solve_window(jobs, window_place(settings, 4, 0.5), settings);
    std::vector<policies::RoundsAhead> kept;
    kept.reserve(jobs.size());
    for (WindowJob& job : jobs) {
      if (random.below(3) == 0) continue;
      kept.push_back(policies::rounds_ahead(job, settings));
      job.ahead = &kept.back();
    }
    const auto schedule = policies::solve_window(jobs, window_place(settings, 4, 0.5), settings);
    EXPECT_EQ(schedule.path, made_anew.path) << "seed " << seed;
    EXPECT_EQ(schedule.rounds, made_anew.rounds) << "seed " << seed;
    EXPECT_EQ(schedule.objective, made_anew.objective) << "seed " << seed;
  }
}

TEST(ShockwaveWindow, KeepsFinishTimesWhereItCan) {
  // One device, two jobs of 300 s; the second one has to be done when the window ends.
  WindowJob first{1000, 10, 0, 30, 300, 1e6};
  WindowJob second{1000, 10, 0, 30, 300, 300};
  const WindowSettings settings = few_rounds(3);
  const WindowSchedule schedule =
      policies::solve_window({first, second}, window_place(settings, 1, 0.5), settings);
  EXPECT_EQ(schedule.path, WindowPath::Fair);
  EXPECT_EQ(schedule.rounds, (std::vector<int>{0, 3}));
}

TEST(ShockwaveWindow, WhereNotAllCanBeInTimeTheLateComeFirst) {
  WindowJob early{1000, 10, 0, 30, 300, 1200};
  WindowJob late{1000, 10, 0, 30, 200, 250};
  WindowSettings settings = few_rounds(4);
  settings.makespan_weight = 0;
  const WindowSchedule schedule =
      policies::solve_window({early, late}, window_place(settings, 1, 0.5), settings);
  EXPECT_EQ(schedule.path, WindowPath::Relaxed);
  ASSERT_GE(schedule.rounds[1], 1);
  EXPECT_EQ(schedule.runs[1][0], 1) << "the late job has the first round";
}

// The second program: weight x mean round, of every way to give jobs so many rounds.
double least_lateness(const std::vector<WindowJob>& jobs,
                      const std::vector<int>& counts,
                      const std::vector<double>& weights,
                      std::vector<std::int64_t> rooms,
                      std::size_t job = 0) {
  if (job == jobs.size()) return 0;
  double best = 1e300;
  for (unsigned set = 0; set < 1U << rooms.size(); ++set) {
    if (std::popcount(set) != counts[job]) continue;
    std::vector<std::int64_t> left = rooms;
    double cost = 0;
    bool fits = true;
    for (std::size_t round = 0; round < rooms.size(); ++round) {
      if ((set >> round & 1U) == 0) continue;
      left[round] -= jobs[job].room;
      fits = fits && left[round] >= 0;
      cost += weights[job] * static_cast<double>(round) / counts[job];
    }
    if (fits) best = std::min(best, cost + least_lateness(jobs, counts, weights, left, job + 1));
  }
  return best;
}

TEST(ShockwaveWindow, WeightedJobsAreNearlyAsEarlyAsTheyCanBe) {
  double sum = 0;
  double least = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    Random random = Random::stream(seed, "order");
    std::vector<WindowJob> jobs = window_jobs(random, 7);
    for (WindowJob& job : jobs) {
      job.room = 1000 << random.below(3);
      job.fair_finish_s = static_cast<double>(random.between(300, 900));
    }
    const WindowSettings settings = few_rounds(4);
    const WindowPlace place = window_place(settings, 6, 0.5);
    const WindowSchedule schedule = policies::solve_window(jobs, place, settings);
    if (schedule.path != WindowPath::Relaxed) continue;
    std::vector<int> counts;
    std::vector<double> weights;
    double late = 0;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      const WindowJob& job = jobs[i];
      const auto& runs = schedule.runs[i];
      const double rho = job.remaining_s / place.share / job.fair_finish_s;
      counts.push_back(static_cast<int>(std::count(runs.begin(), runs.end(), 1)));
      weights.push_back(std::min(policies::late_weight(rho, job.remaining_s < 100, 1, 12), 1e7));
      for (std::size_t round = 0; round < runs.size(); ++round)
        late += runs[round] != 0 ? weights[i] * static_cast<double>(round) / counts[i] : 0;
    }
    const double best = least_lateness(jobs, counts, weights, place.rooms);
    EXPECT_GE(late, best * (1 - 1e-9)) << "seed " << seed;
    sum += best > 0 ? late / best : 1;
    least += 1;
  }
  ASSERT_GT(least, 20) << "windows that cannot keep all finish times";
  std::printf("late by %.6f of the least, mean of %.0f\n", sum / least, least);
  EXPECT_LT(sum / least, 1.001);
}

TEST(ShockwaveWindow, WeightedCountsAreAsGoodAsEverySchedule) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    Random random = Random::stream(seed, "weighted");
    std::vector<WindowJob> jobs = window_jobs(random, 5);
    std::vector<double> weights;
    for (WindowJob& job : jobs) {
      job.room = 1000 * random.between(1, 3);
      weights.push_back(static_cast<double>(random.between(1, 50)));
    }
    WindowSettings settings = few_rounds(4);
    settings.makespan_weight = seed % 2 == 0 ? 1e-3 : 1e-1;
    const WindowPlace place = window_place(settings, 6, 0.5);
    policies::KnapsackSolver solver;
    const auto found = policies::best_counts(jobs, place, settings, weights, solver);
    ASSERT_TRUE(found.has_value());
    const auto best = best_window(jobs, 6, settings, weights);
    EXPECT_NEAR(found->objective, best, 1e-9) << "seed " << seed;
    EXPECT_NEAR(window_objective(jobs, found->rounds, settings, weights), best, 1e-9)
        << "seed " << seed;
  }
}

TEST(ShockwaveWindow, JobsOfMoreThanHalfARoundNeedOneEach) {
  // Three jobs of 5 of 8 devices: at most one in each of 4 rounds, though 6 rounds have room in
  // all.
  const std::vector<WindowJob> jobs(3, WindowJob{5000, 10, 0, 100, 1000, 1e6});
  const WindowSettings settings = few_rounds(4);
  const WindowPlace place = window_place(settings, 8, 0.5);
  policies::KnapsackSolver solver;
  const auto found = policies::best_counts(jobs, place, settings, {1, 1, 1}, solver);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(std::accumulate(found->rounds.begin(), found->rounds.end(), 0), 4);
}

TEST(ShockwaveWindow, OneAfterTheOtherIsAsEachAlone) {
  policies::WindowSolver solver;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    Random random = Random::stream(seed, "windows in turn");
    std::vector<WindowJob> jobs = window_jobs(random, static_cast<int>(random.between(1, 40)));
    for (WindowJob& job : jobs) {
      job.room = 1000 * (std::int64_t{1} << random.between(0, 3));
      job.fair_finish_s = static_cast<double>(random.between(100, 3000));
    }
    const WindowSettings settings = few_rounds(static_cast<int>(random.between(1, 12)));
    const WindowPlace place = window_place(settings, 16, 0.5);
    const WindowSchedule schedule = solver.solve(jobs, place, settings);
    const WindowSchedule alone = policies::solve_window(jobs, place, settings);
    EXPECT_EQ(schedule.rounds, alone.rounds) << "seed " << seed;
    EXPECT_EQ(schedule.objective, alone.objective) << "seed " << seed;
    for (std::size_t i = 0; i < jobs.size(); ++i)
      EXPECT_TRUE(std::ranges::equal(schedule.runs[i], alone.runs[i])) << "seed " << seed;
    expect_within_rooms(jobs, place, schedule);
  }
}

// ---- The policy ----

// Worlds tell a rate when it has changed: a rigid job that starts again has the one of before. It
// once stood in the schedule's eyes until its batch changed, and long jobs were put off for ever.
TEST(Shockwave, AJobThatStartsAgainGoesOnWithoutANewReport) {
  const auto at = [](std::int64_t seconds) { return Instant{} + Duration::seconds(seconds); };
  JobRow row;
  row.progress.done = 3;
  row.progress.rate = 0.01;
  row.progress.as_of = at(300);
  row.allocated_at = at(0);
  row.holds = true;
  EXPECT_EQ(epochs_done(policies::present_progress(row), at(600), 20), 6) << "it runs on";
  row.holds = false;
  EXPECT_EQ(epochs_done(policies::present_progress(row), at(900), 20), 3) << "it waits";
  row.holds = true;
  row.allocated_at = at(1000);
  EXPECT_EQ(epochs_done(policies::present_progress(row), at(1200), 20), 5) << "it runs again";
}

TEST(Shockwave, ChangesNothingWithinARound) {
  FakeCluster cluster;
  cluster.add_nodes(1, 4);
  const auto policy = testing::policy("shockwave");
  cluster.advance(120);
  const JobId first = testing::submit_and_ask(cluster, *policy, job().preemptible().estimate(1000));
  EXPECT_FALSE(testing::runs(cluster, first)) << "a job starts with a round";
  cluster.carry_out(cluster.ask_optimize(*policy));
  EXPECT_TRUE(testing::runs(cluster, first));
  const JobId second =
      testing::submit_and_ask(cluster, *policy, job().preemptible().estimate(1000));
  cluster.advance(60);
  EXPECT_TRUE(cluster.ask_optimize(*policy).empty()) << "the round goes on";
  cluster.advance(60);
  cluster.carry_out(cluster.ask_optimize(*policy));
  EXPECT_TRUE(testing::runs(cluster, second));
  EXPECT_TRUE(testing::runs(cluster, first));
  EXPECT_THAT(cluster.violations(), ::testing::IsEmpty());
}

TEST(Shockwave, IdleDevicesGoToTheJobOfMostRest) {
  FakeCluster cluster;
  cluster.add_nodes(1, 1);
  // Nobody is scheduled in a window of which the program has no values and all rounds are taken.
  const auto policy = testing::policy("shockwave");
  const JobId small = cluster.submit(job().preemptible().estimate(100));
  const JobId large = cluster.submit(job().preemptible().estimate(5000));
  cluster.advance(120);
  cluster.carry_out(cluster.ask_optimize(*policy));
  EXPECT_TRUE(testing::runs(cluster, small) != testing::runs(cluster, large))
      << "one device runs one job";
  EXPECT_EQ(cluster.capacity().free_devices(), 0) << "and is never left idle";
}

// Two devices are free on each node: by count the job that needs four of a node takes all of them.
TEST(Shockwave, WhatFitsOnNoNodeKeepsNoDevicesIdle) {
  FakeCluster cluster;
  cluster.add_nodes(2, 8);
  const auto policy = testing::policy("shockwave");
  for (int i = 0; i < 2; ++i) cluster.submit(job().devices(6), 1e6);
  const JobId whole = cluster.submit(job().devices(4).preemptible().estimate(7200));
  const JobId pair = cluster.submit(job().devices(2).preemptible().estimate(10'800));
  for (int i = 0; i < 20; ++i) {
    cluster.advance(120);
    cluster.carry_out(cluster.ask_optimize(*policy));
    EXPECT_FALSE(testing::runs(cluster, whole));
    EXPECT_TRUE(testing::runs(cluster, pair)) << "round " << i;
  }
  EXPECT_THAT(cluster.violations(), ::testing::IsEmpty());
}

TEST(Shockwave, HigherPrioritiesArePlannedFirst) {
  FakeCluster cluster;
  cluster.add_nodes(1, 1);
  const auto policy = testing::policy("shockwave");
  const JobId normal = cluster.submit(job().preemptible().estimate(100));
  const JobId high = cluster.submit(job().preemptible().priority(100).estimate(5000));
  cluster.advance(120);
  cluster.carry_out(cluster.ask_optimize(*policy));
  EXPECT_TRUE(testing::runs(cluster, high));
  EXPECT_FALSE(testing::runs(cluster, normal));
}

}  // namespace
}  // namespace orrery
