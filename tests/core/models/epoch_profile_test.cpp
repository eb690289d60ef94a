// Shockwave's predictor, against numbers of the artifact's own functions.
#include "core/models/epoch_profile.hpp"

#include <gtest/gtest.h>

namespace orrery {
namespace {

constexpr double kExact = 1e-9;

EpochProfile static_job() {
  return {"model", 1000, std::vector<int>(10, 32), std::vector<double>(10, 100)};
}

/// Five epochs of batch 32 that take 100 s each, then five of batch 64 that take 60 s.
EpochProfile doubling_job() {
  EpochProfile profile{"model", 1000, {}, {}};
  for (int epoch = 0; epoch < 10; ++epoch) {
    profile.batches.push_back(epoch < 5 ? 32 : 64);
    profile.seconds.push_back(epoch < 5 ? 100 : 60);
  }
  return profile;
}

TEST(EpochPredictor, PredictsTheRestAsTheArtifactDoes) {
  const EpochProfile still = static_job();
  EXPECT_NEAR(EpochPredictor(still).remaining_s(0), 900, kExact);
  const EpochProfile doubling = doubling_job();
  const EpochPredictor predictor(doubling);
  EXPECT_NEAR(predictor.remaining_s(0), 7900.0 / 11, kExact);
  EXPECT_NEAR(predictor.remaining_s(4), 1100.0 / 3, kExact);
  EXPECT_NEAR(predictor.remaining_s(7), 142.2222222222222, kExact);
  EXPECT_NEAR(predictor.remaining_s(9), 0, kExact);
}

TEST(EpochPredictor, NothingLeftIsOneSecond) {
  const EpochProfile profile = doubling_job();
  EXPECT_EQ(EpochPredictor(profile).remaining_s(10), 1);
}

TEST(EpochPredictor, RoundsTimesToWholeSecondsHalvesToEven) {
  const EpochProfile profile{"model", 10, {1, 1, 1, 1}, {0.2, 2.5, 3.5, 3.51}};
  EXPECT_EQ(EpochPredictor(profile).seconds(), (std::vector<double>{1, 2, 4, 4}));
}

TEST(EpochPredictor, MeansAndSumsCountTheEpochInProgress) {
  const EpochProfile profile = doubling_job();
  const EpochPredictor predictor(profile);
  EXPECT_NEAR(predictor.elapsed_s(6), 560, kExact);
  EXPECT_NEAR(predictor.mean_s(0), 100, kExact);
  EXPECT_NEAR(predictor.mean_s(5), 560.0 / 6, kExact);
  EXPECT_NEAR(predictor.mean_s(10), 80, kExact);
}

TEST(EpochPredictor, CalibrationDriftsWhenItIsRepeated) {
  const EpochProfile profile = static_job();
  EpochPredictor predictor(profile);
  MeasuredExamples measured;
  measured.add(10, 0.1 * 32, 120);
  predictor.calibrate(measured, 120);
  EXPECT_NEAR(predictor.seconds().front(), 312.5, kExact);
  predictor.calibrate(measured, 120);
  EXPECT_NEAR(predictor.seconds().front(), 277.0833333333333, kExact);
}

TEST(EpochPredictor, CalibrationToleratesTwoFifths) {
  const EpochProfile profile = static_job();
  for (const double rate : {6.1, 13.9}) {
    EpochPredictor predictor(profile);
    MeasuredExamples measured;
    measured.add(5, rate, 120);  // 600 s promise 6000 examples, 10 a second.
    predictor.calibrate(measured, 120);
    EXPECT_EQ(predictor.factor(), 1) << rate;
  }
  EpochPredictor predictor(profile);
  MeasuredExamples measured;
  measured.add(5, 20, 120);
  predictor.calibrate(measured, 120);
  EXPECT_NEAR(predictor.factor(), 0.5, kExact);
}

TEST(EpochPredictor, NothingMeasuredChangesNothing) {
  const EpochProfile profile = static_job();
  EpochPredictor predictor(profile);
  predictor.calibrate({}, 120);
  EXPECT_EQ(predictor.factor(), 1);
}

TEST(EpochPredictor, AFactorIsAllThatARestoredOneNeeds) {
  const EpochProfile profile = doubling_job();
  EpochPredictor one(profile);
  MeasuredExamples measured;
  measured.add(2, 3, 120);
  one.calibrate(measured, 120);
  EpochPredictor other(profile);
  other.restore(one.factor());
  EXPECT_EQ(one.seconds(), other.seconds());
  EXPECT_NE(one.factor(), 1);
}

TEST(EpochsDone, ExtrapolatesTheReportWithinTheJob) {
  ProgressView progress;
  progress.done = 2;
  progress.rate = 0.01;
  progress.as_of = Instant::zero() + Duration::seconds(100);
  const auto at = [](std::int64_t seconds) { return Instant::zero() + Duration::seconds(seconds); };
  EXPECT_EQ(epochs_done(progress, at(100), 10), 2);
  EXPECT_EQ(epochs_done(progress, at(199), 10), 2);
  EXPECT_EQ(epochs_done(progress, at(200), 10), 3) << "the edge itself counts";
  EXPECT_EQ(epochs_done(progress, at(100'000), 10), 10);
}

}  // namespace
}  // namespace orrery
