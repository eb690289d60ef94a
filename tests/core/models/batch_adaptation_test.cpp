// Batches of training jobs by epoch, against the artifact's rules.
#include "core/models/batch_adaptation.hpp"

#include <gtest/gtest.h>

namespace orrery {
namespace {

using Batches = std::vector<int>;

Batches repeated(std::initializer_list<std::pair<int, int>> runs) {
  Batches out;
  for (const auto& [batch, epochs] : runs)
    out.insert(out.end(), static_cast<std::size_t>(epochs), batch);
  return out;
}

TEST(BatchAdaptation, StaticJobsKeepTheirBatch) {
  const AdaptiveTraining training{"ResNet-18", 32, 1, BatchAdaptation::Static, 90};
  EXPECT_EQ(profiled_batches(training), Batches(90, 32));
  EXPECT_EQ(trained_batches(training), Batches(90, 32));
}

TEST(BatchAdaptation, AccordionIsLargeOutsideItsCriticalRegimes) {
  const AdaptiveTraining training{"ResNet-18", 32, 1, BatchAdaptation::Accordion, 170};
  EXPECT_EQ(trained_batches(training), repeated({{32, 10}, {256, 140}, {32, 10}, {256, 10}}));
  EXPECT_EQ(profiled_batches(training), repeated({{32, 52}, {256, 98}, {32, 10}, {256, 10}}))
      << "the profile keeps the first 30 % (51 epochs, and the one at 0.3 E) at the first batch";
}

TEST(BatchAdaptation, AccordionFollowsLearningRateDecaysOfResNet50) {
  const AdaptiveTraining training{"ResNet-50", 64, 1, BatchAdaptation::Accordion, 45};
  EXPECT_EQ(trained_batches(training), repeated({{64, 10}, {128, 20}, {64, 10}, {128, 5}}));
}

TEST(BatchAdaptation, RecommendationHasMoreCriticalRegimesInItsProfile) {
  const AdaptiveTraining training{"Recommendation", 512, 1, BatchAdaptation::Accordion, 100};
  EXPECT_EQ(trained_batches(training), repeated({{512, 30}, {8192, 70}}));
  EXPECT_EQ(profiled_batches(training),
            repeated({{512, 31}, {8192, 29}, {512, 10}, {8192, 10}, {512, 10}, {8192, 10}}));
}

TEST(BatchAdaptation, GradientNoiseDoublesTheBatchAtMeasuredEpochs) {
  const AdaptiveTraining training{"LM", 10, 1, BatchAdaptation::Gns, 50};
  EXPECT_EQ(trained_batches(training), repeated({{10, 10}, {20, 10}, {40, 20}, {80, 10}}))
      << "asked for one epoch before the table says so";
  EXPECT_EQ(profiled_batches(training), repeated({{10, 11}, {20, 10}, {40, 20}, {80, 8}, {10, 1}}))
      << "the profile's last epoch falls back";
}

TEST(BatchAdaptation, NoBatchExceedsTheLargest) {
  const AdaptiveTraining training{"LM", 40, 1, BatchAdaptation::Gns, 30};
  EXPECT_EQ(trained_batches(training), repeated({{40, 10}, {80, 20}}));
}

TEST(BatchAdaptation, ModelsWithoutATableKeepTheirBatch) {
  for (const char* model : {"Transformer", "CycleGAN", "A3C", "unknown"}) {
    const AdaptiveTraining training{model, 4, 2, BatchAdaptation::Gns, 40};
    EXPECT_EQ(trained_batches(training), Batches(40, 4)) << model;
    EXPECT_EQ(profiled_batches(training), Batches(40, 4)) << model;
  }
  EXPECT_EQ(examples_of("unknown"), 0);
  EXPECT_EQ(steps_of_epoch(examples_of("LM"), 10), 5968);
}

}  // namespace
}  // namespace orrery
