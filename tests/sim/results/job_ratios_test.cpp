#include "sim/results/job_ratios.hpp"

#include <gtest/gtest.h>

#include <optional>

#include "core/base/random.hpp"

namespace orrery::sim {
namespace {

Instant second(std::int64_t s) { return Instant::zero() + Duration::seconds(s); }

/// Times in seconds.
struct Stay {
  std::int64_t submitted = 0;
  std::int64_t started = 0;
  std::int64_t finished = 0;
  std::int32_t devices = 1;
  JobPhase phase = JobPhase::Succeeded;
};

JobTable table_of(const std::vector<Stay>& lives) {
  JobTable jobs;
  for (std::uint32_t i = 0; i < lives.size(); ++i) {
    jobs.add(JobId(i),
             {.name = "j",
              .submitted = second(lives[i].submitted),
              .devices_requested = lives[i].devices});
    jobs[JobId(i)].phase = lives[i].phase;
    if (lives[i].phase == JobPhase::Pending) continue;
    jobs[JobId(i)].started = second(lives[i].started);
    jobs[JobId(i)].finished = second(lives[i].finished);
  }
  return jobs;
}

TEST(JobRatios, TwoJobsThatWantTheWholeCluster) {
  // The second waits 100 s for the first, and asked twice the cluster for 100 of its 200 s.
  const JobTable jobs = table_of({{0, 0, 100, 8}, {0, 100, 200, 8}});
  const auto ratios = job_ratios(jobs, {}, 8, second(200));
  ASSERT_EQ(ratios.size(), 2U);
  EXPECT_DOUBLE_EQ(ratios[0].slowdown, 1);
  EXPECT_DOUBLE_EQ(ratios[0].fairness, 100 / (100 * 2.0));
  EXPECT_DOUBLE_EQ(ratios[1].slowdown, 2);
  EXPECT_DOUBLE_EQ(ratios[1].fairness, 200 / (100 * 1.5));
}

TEST(JobRatios, WhereNothingIsShortAJobThatNeverWaitsIsFairExactly) {
  const auto ratios =
      job_ratios(table_of({{0, 0, 100}, {7, 7, 37}, {9, 9, 9}}), {}, 8, second(100));
  for (const JobRatios& each : ratios) {
    EXPECT_EQ(each.slowdown, 1);
    EXPECT_EQ(each.fairness, 1);
  }
}

TEST(JobRatios, PausesAreWaiting) {
  AwayTimes away;
  away.left(JobId(0), second(30));
  away.left(JobId(0), second(31));  // Told again.
  away.back(JobId(0), second(50));
  away.back(JobId(0), second(60));
  away.left(JobId(0), second(90));
  away.back(JobId(0), second(85));  // Its end, which was before.
  EXPECT_EQ(away.of(JobId(0)), Duration::seconds(20));
  EXPECT_EQ(away.of(JobId(1)), Duration::zero());
  const auto ratios = job_ratios(table_of({{0, 20, 100}}), away, 8, second(100));
  EXPECT_DOUBLE_EQ(ratios[0].slowdown, 100 / 60.0);
}

TEST(JobRatios, ShortJobsCountTenSeconds) {
  const auto ratios = job_ratios(table_of({{0, 59, 60}, {0, 0, 1}}), {}, 8, second(60));
  EXPECT_DOUBLE_EQ(ratios[0].slowdown, 6);
  EXPECT_DOUBLE_EQ(ratios[0].fairness, 6);
  EXPECT_DOUBLE_EQ(ratios[1].slowdown, 1);
  EXPECT_DOUBLE_EQ(ratios[1].fairness, 0.1);
}

TEST(JobRatios, OthersCountWhileTheyAreThere) {
  const JobTable jobs = table_of(
      {{0, 0, 100, 4}, {0, 0, 0, 4, JobPhase::Pending}, {50, 50, 100, 8, JobPhase::Failed}});
  const auto ratios = job_ratios(jobs, {}, 4, second(100));
  ASSERT_EQ(ratios.size(), 1U);
  EXPECT_DOUBLE_EQ(ratios[0].fairness, 1 / 3.0);  // (4 + 4 + 8 / 2) / 4 devices.
  EXPECT_EQ(job_ratios(jobs, {}, 0, second(100))[0].fairness, 1);
}

TEST(JobRatiosProperty, ContentionIsTheMeanOfWhatIsAskedForSecondBySecond) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    std::vector<Stay> lives(1 + random.below(12));
    std::int64_t submitted = 0;
    constexpr std::int64_t kEnd = 120;
    for (Stay& life : lives) {
      submitted += random.between(0, 5);
      // Ids are given in the order of submissions, but nothing depends on it.
      life.submitted = seed % 2 == 0 ? submitted : random.between(0, 60);
      life.started = life.submitted + random.between(0, 20);
      life.finished = life.started + random.between(1, 40);
      life.devices = static_cast<std::int32_t>(random.between(0, 8));
      life.phase = random.chance(0.8) ? JobPhase::Succeeded : JobPhase::Pending;
    }
    const std::int64_t devices = random.between(1, 10);
    const auto ratios = job_ratios(table_of(lives), {}, devices, second(kEnd));
    for (const JobRatios& each : ratios) {
      const Stay& life = lives[each.job.value];
      double asked = 0;
      for (std::int64_t second = life.submitted; second < life.finished; ++second)
        for (const Stay& other : lives) {
          const std::int64_t end = other.phase == JobPhase::Pending ? kEnd : other.finished;
          if (other.submitted <= second && second < end) asked += other.devices;
        }
      const auto jct = static_cast<double>(life.finished - life.submitted);
      const auto alone =
          static_cast<double>(std::max<std::int64_t>(life.finished - life.started, 10));
      const double contention = std::max(1.0, asked / jct / static_cast<double>(devices));
      EXPECT_NEAR(each.fairness, jct / (alone * contention), 1e-9);
      EXPECT_NEAR(each.slowdown, std::max(1.0, jct / alone), 1e-9);
    }
  }
}

}  // namespace
}  // namespace orrery::sim
