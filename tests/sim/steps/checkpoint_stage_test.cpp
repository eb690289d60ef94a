// What a checkpoint sends.
#include <gtest/gtest.h>

#include "tests/sim/steps/gangs.hpp"

namespace orrery::sim {
namespace {

using scenarios::TrafficSpec;

TrafficSpec saves(std::int64_t bytes) {
  TrafficSpec traffic;
  traffic.checkpoint.size = Bytes{bytes};
  return traffic;
}

TEST(CheckpointStage, EachNodeSavesItsPart) {
  Job job = Job::of({5, 2, 5}, 4);
  const Stage save = checkpoint_stage(job.sends(saves(60'000)).inputs(), false);
  const auto bytes = bytes_by_pair(save);
  EXPECT_DOUBLE_EQ(bytes.at({NodeId{5}, NodeId::none()}), 40'000);
  EXPECT_DOUBLE_EQ(bytes.at({NodeId{2}, NodeId::none()}), 20'000);
  EXPECT_FALSE(save.paced);
  EXPECT_EQ(save.compute_s, 0);
  const auto back = bytes_by_pair(checkpoint_stage(job.inputs(), true));
  EXPECT_DOUBLE_EQ(back.at({NodeId::none(), NodeId{5}}), 40'000);
}

TEST(CheckpointStage, PartsAreTheWholeForAnyGang) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    std::vector<std::uint32_t> nodes(1 + random.below(50));
    for (auto& node : nodes) node = static_cast<std::uint32_t>(random.below(30));
    Job job = Job::of(nodes, static_cast<std::int32_t>(random.below(9)));
    EXPECT_NEAR(total_bytes(checkpoint_stage(job.sends(saves(77'777'777)).inputs(), false)),
                77'777'777,
                1e-3);
  }
}

TEST(CheckpointStage, OfALoopOnlyTheTrainersSave) {
  Job job = Job::of({0, 1}, 8);
  job.spec.roles.push_back(role_named("learner", 1, 8));
  job.add(1, {9}, 8);
  TrafficSpec traffic = saves(1000);
  traffic.loop.train_role = "learner";
  const auto bytes = bytes_by_pair(checkpoint_stage(job.sends(traffic).inputs(), false));
  ASSERT_EQ(bytes.size(), 1u);
  EXPECT_DOUBLE_EQ(bytes.at({NodeId{9}, NodeId::none()}), 1000);
}

TEST(CheckpointStage, WithoutASizeNothingIsSent) {
  Job job = Job::of({0, 1}, 8);
  EXPECT_TRUE(checkpoint_stage(job.inputs(), false).exchanges.empty());
  EXPECT_TRUE(checkpoint_stage(job.sends(saves(0)).inputs(), true).exchanges.empty());
}

}  // namespace
}  // namespace orrery::sim
