// Rules of the Pollux models on small tables made by hand.
#include <gtest/gtest.h>

#include <array>
#include <utility>
#include <vector>

#include "core/models/goodput_table.hpp"
#include "core/models/pollux_job.hpp"
#include "sim/pollux/delaunay.hpp"

namespace orrery::tests {
namespace {

/// One second a step on one GPU at batches 10 to 40; runs of three epochs, each `epoch_progress`
/// iterations long at the initial batch.
PolluxTables tables(double epoch_progress) {
  PolluxTables tables;
  tables.name = "toy";
  tables.limits = {.initial_total = 10, .total_max = 40, .atomic_min = 10, .atomic_max = 40};
  tables.epochs_max = 3;
  tables.nodes_profiled_max = 16;
  tables.placements.emplace(std::vector<int>{1}, StepCurve({{10, {1, 0}}, {40, {1, 0}}}));
  tables.placements.emplace(std::vector<int>{1, 2}, StepCurve({{10, {2, 1}}, {40, {2, 1}}}));
  for (const int batch : {10, 40}) {
    TrainingRun run{batch, {}};
    for (int epoch = 1; epoch <= 3; ++epoch) {
      run.epochs.push_back({epoch * epoch_progress, epoch * 100.0 * 10 / batch, {1, 0}});
    }
    tables.runs.push_back(run);
  }
  return tables;
}

constexpr std::array<int, 1> kOneGpu = {1};
constexpr Duration kTick = Duration::seconds(60);

TEST(StepCurve, IsLinearBetweenItsPointsAndSilentOutside) {
  const StepCurve curve({{20, {4, 2}}, {10, {2, 1}}, {40, {5, 2}}});
  EXPECT_DOUBLE_EQ(curve.at(10)->step_s, 2);
  EXPECT_DOUBLE_EQ(curve.at(15)->step_s, 3);
  EXPECT_DOUBLE_EQ(curve.at(15)->sync_s, 1.5);
  EXPECT_DOUBLE_EQ(curve.at(40)->step_s, 5);
  EXPECT_FALSE(curve.at(9.9).has_value());
  EXPECT_FALSE(curve.at(40.1).has_value());
}

TEST(StepSurface, ReproducesALinearFunctionOnADegenerateGrid) {
  std::vector<SimplexMesh::Point> points;
  std::vector<StepTime> values;
  for (int x = 0; x < 4; ++x) {
    for (int y = 0; y < 4; ++y) {
      for (int z = 0; z < 4; ++z) {
        points.push_back({1.0 * x, 2.0 * y, 8.0 * z});
        values.push_back({1.0 + x + 3.0 * y, 0.5 * z});
      }
    }
  }
  Result<SimplexMesh> mesh = sim::delaunay(points);
  ASSERT_TRUE(mesh.has_value());
  const StepSurface surface(std::move(*mesh), std::move(values));
  for (double x = 0; x <= 3; x += 0.25) {
    for (double y = 0; y <= 6; y += 0.5) {
      const auto time = surface.at({x, y, 10});
      ASSERT_TRUE(time.has_value()) << x << " " << y;
      EXPECT_NEAR(time->step_s, 1 + x + 1.5 * y, 1e-12);
      EXPECT_NEAR(time->sync_s, 0.625, 1e-12);
    }
  }
  EXPECT_FALSE(surface.at({3.1, 0, 0}).has_value());
}

TEST(StepSurface, RefusesPointsInOnePlane) {
  std::vector<SimplexMesh::Point> flat;
  for (int x = 0; x < 3; ++x) {
    for (int y = 0; y < 3; ++y) flat.push_back({1.0 * x, 1.0 * y, 0});
  }
  EXPECT_FALSE(sim::delaunay(flat).has_value());
}

TEST(BatchSplit, AccumulatesBeyondTheLargestAtomicBatch) {
  const BatchLimits limits{
      .initial_total = 12, .total_max = 384, .atomic_min = 4, .atomic_max = 12};
  EXPECT_EQ(split_given_batch(384, 16, limits), (BatchSplit{12, 1}));
  EXPECT_EQ(split_given_batch(384, 12, limits), (BatchSplit{10, 2}));  // 11 would be 396 in all.
  EXPECT_EQ(split_given_batch(12, 1, limits), (BatchSplit{12, 0}));
}

TEST(BatchSplit, GivesOneReplicaTwoGradientSamplesBeyondTheInitialBatch) {
  const BatchLimits limits{.initial_total = 8, .total_max = 64, .atomic_min = 4, .atomic_max = 64};
  EXPECT_EQ(split_given_batch(8, 1, limits), (BatchSplit{8, 0}));
  EXPECT_EQ(split_given_batch(16, 1, limits), (BatchSplit{8, 1}));
}

TEST(GoodputModel, FindsNothingWhereNoBatchFits) {
  const GoodputModel model({.alpha_c = 1, .beta_c = 1},
                           {.sqr = 1, .var = 1},
                           {.initial_total = 8, .total_max = 16, .atomic_min = 4, .atomic_max = 8});
  EXPECT_FALSE(model.best_split({.nodes = 2, .replicas = 8}).has_value());
  EXPECT_TRUE(model.best_split({.nodes = 1, .replicas = 4}).has_value());
}

TEST(GoodputTable, FollowsTheGradients) {
  const ThroughputParameters speed{
      .alpha_c = 0.1, .beta_c = 0.01, .alpha_n = 0.2, .alpha_r = 0.1, .gamma = 2};
  const BatchLimits limits{.initial_total = 8, .total_max = 64, .atomic_min = 4, .atomic_max = 16};
  GoodputTable table(speed, limits);
  for (const GradientStats stats :
       {GradientStats{1, 1}, GradientStats{1, 100}, GradientStats{1, 1}}) {
    table.set_stats(stats);
    const GoodputModel model(speed, stats, limits);
    for (const ReplicaSpread spread :
         {ReplicaSpread{1, 1}, ReplicaSpread{1, 4}, ReplicaSpread{3, 4}})
      EXPECT_EQ(table.at(spread), model.best_split(spread)->goodput)
          << spread.nodes << " nodes, " << spread.replicas << " replicas, variance " << stats.var;
    EXPECT_EQ(table.at({2, 17}), model.goodput({2, 17}, {4, 0})) << "no batch is small enough";
  }
}

TEST(PolluxApplication, KnowsAPlacementInAnyRotation) {
  const PolluxApplication application(tables(100));
  const std::array<int, 2> turned = {2, 1};
  ASSERT_TRUE(application.step_time(turned, 10).has_value());
  EXPECT_DOUBLE_EQ(application.step_time(turned, 10)->step_s, 2);
  const std::array<int, 2> unknown = {2, 2};
  EXPECT_FALSE(application.step_time(unknown, 10).has_value());
}

TEST(PolluxApplication, CountsIterationsFromTheEndOfTheRunningEpoch) {
  const PolluxApplication application(tables(100));
  EXPECT_DOUBLE_EQ(application.iterations_left(10, 0), 200);
  EXPECT_DOUBLE_EQ(application.iterations_left(25, 1), 62.5);
  EXPECT_DOUBLE_EQ(application.iterations_left(10, 2), 1);
}

TEST(PolluxJob, PaysTheRescaleDelayWithItsGpusHeld) {
  const PolluxApplication application(tables(100));
  PolluxJob job(application, 10, Instant::zero());
  job.step(kTick);
  EXPECT_EQ(job.attained_gpu_seconds(), 0);
  ASSERT_TRUE(job.reallocate(kOneGpu));
  job.step(kTick);
  EXPECT_EQ(job.attained_gpu_seconds(), 60);
  EXPECT_DOUBLE_EQ(job.progress(), 30);
  EXPECT_EQ(job.now(), Instant::zero() + kTick * 2);
}

TEST(PolluxJob, StartsTheDelayAnewAtEachReallocation) {
  const PolluxApplication application(tables(100));
  PolluxJob job(application, 10, Instant::zero());
  ASSERT_TRUE(job.reallocate(kOneGpu));
  job.step(Duration::seconds(20));
  EXPECT_EQ(job.rescale_left(), Duration::seconds(10));
  ASSERT_TRUE(job.reallocate(kOneGpu));
  job.step(Duration::seconds(31));
  EXPECT_DOUBLE_EQ(job.progress(), 1);
}

TEST(PolluxJob, RoundsAnEpochsEndToTheEvenSecond) {
  const PolluxApplication application(tables(10.5));
  PolluxJob job(application, 10, Instant::zero());
  ASSERT_TRUE(job.reallocate(kOneGpu));
  job.step(Duration::seconds(30 + 20));
  // The first epoch took 10.5 s, counted as 10: ten more seconds went into the second.
  EXPECT_EQ(job.epoch(), 1);
  EXPECT_DOUBLE_EQ(job.progress(), 20.5);
  job.step(kTick);
  // Half a second was left of the second epoch, counted as none; the third counts as 10.
  EXPECT_EQ(job.completed_at(), Instant::zero() + Duration::seconds(50 + 0 + 10));
}

TEST(PolluxJob, IsSeenUnfinishedWhenItsEndRoundsBackToTheTick) {
  // Two epochs of 10.1 s count as 10 each, and 0.1 s of the third are left at the tick.
  const PolluxApplication application(tables(10.1));
  PolluxJob job(application, 10, Instant::zero());
  ASSERT_TRUE(job.reallocate(kOneGpu));
  job.step(kTick);
  EXPECT_FALSE(job.completed_at().has_value());
  EXPECT_EQ(job.epoch(), 2);
  job.step(kTick);
  EXPECT_EQ(job.completed_at(), Instant::zero() + kTick);
  EXPECT_EQ(job.attained_gpu_seconds(), 60);
}

TEST(PolluxJob, ChargesNothingAfterItsEnd) {
  const PolluxApplication application(tables(10));
  PolluxJob job(application, 10, Instant::zero());
  ASSERT_TRUE(job.reallocate(kOneGpu));
  job.step(kTick * 10);
  job.step(kTick);
  EXPECT_EQ(job.attained_gpu_seconds(), 60);
  EXPECT_EQ(job.rate(), 0);
  EXPECT_EQ(job.now(), Instant::zero() + kTick * 11);
}

TEST(PolluxJob, RefusesAPlacementThatWasNotMeasured) {
  const PolluxApplication application(tables(10));
  PolluxJob job(application, 20, Instant::zero());
  ASSERT_TRUE(job.reallocate(kOneGpu));
  const std::array<int, 2> unknown = {2, 2};
  EXPECT_FALSE(job.reallocate(unknown));
  EXPECT_EQ(job.placement(), std::vector<int>{1});
}

}  // namespace
}  // namespace orrery::tests
