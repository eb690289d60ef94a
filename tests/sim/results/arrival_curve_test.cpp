#include "sim/results/arrival_curve.hpp"

#include <gtest/gtest.h>

#include "sim/results/fragment_samples.hpp"

namespace orrery::sim {
namespace {

constexpr DeviceModelId kModel{0};

Bundle devices(std::int32_t count) {
  Bundle bundle;
  bundle.devices = count;
  return bundle;
}

JobSpec asks_for(std::int32_t count) {
  JobSpec spec;
  RoleSpec role;
  role.bundle = devices(count);
  role.min_replicas = role.max_replicas = 1;
  spec.roles = SharedList<RoleSpec>{role};
  return spec;
}

State two_nodes_of_four() {
  State state;
  NodeGroup group;
  group.devices = 4;
  for (int n = 0; n < 2; ++n) {
    state.ledger.add_node(group, kModel);
    state.nodes.emplace_back();
  }
  return state;
}

TEST(ArrivalCurve, LooksWhenTheNextJobComes) {
  State state = two_nodes_of_four();
  ArrivalCurve curve({{devices(4), 3}, {devices(1), 1}});
  curve.submitted(asks_for(1), state);
  state.ledger.claim(JobId{0}, NodeId{0}, {.devices = 1}, 1);
  curve.submitted(asks_for(4), state);
  state.ledger.claim(JobId{1}, NodeId{1}, {.devices = 4}, 15);
  curve.submitted(asks_for(4), state);  // Finds no room.
  const std::vector<ArrivalPoint> points = curve.close(state);
  ASSERT_EQ(points.size(), 3u);
  EXPECT_EQ(points[0].arrived_pct, 13) << "12.5, rounded";
  EXPECT_EQ(points[0].allocated_pct, 12.5);
  // Node 0 has three left, which three of four jobs cannot use.
  EXPECT_EQ(points[0].fragment_pct, 100 * 3 * 0.75 / 8);
  EXPECT_EQ(points[0].fragment_of_free_pct, 100 * 3 * 0.75 / 7);
  EXPECT_EQ(points[1].arrived_pct, 63);
  EXPECT_EQ(points[1].allocated_pct, 62.5);
  EXPECT_EQ(points[1].fragment_of_free_pct, 75);
  EXPECT_EQ(points[2].arrived_pct, 113);
  EXPECT_EQ(points[2].allocated_pct, 62.5);
}

TEST(ArrivalCurve, IsAMeanWithinAPercent) {
  State state;
  NodeGroup group;
  group.devices = 64;
  for (int n = 0; n < 8; ++n) {
    state.ledger.add_node(group, kModel);
    state.nodes.emplace_back();
  }
  ArrivalCurve curve({{devices(1), 1}});
  for (std::uint32_t job = 0; job < 4; ++job) {  // 0.2, 0.4, 0.6, 0.8 percent.
    curve.submitted(asks_for(1), state);
    state.ledger.claim(JobId{job}, NodeId{0}, {.devices = 1}, DeviceSet{1} << job);
  }
  const std::vector<ArrivalPoint> points = curve.close(state);
  ASSERT_EQ(points.size(), 2u);
  EXPECT_EQ(points[0].arrived_pct, 0);
  EXPECT_DOUBLE_EQ(points[0].allocated_pct, 100 * 1.5 / 512);
  EXPECT_DOUBLE_EQ(points[1].allocated_pct, 100 * 3.5 / 512);
  EXPECT_EQ(points[1].fragment_pct, 0);
}

TEST(ArrivalCurve, IsEmptyWithoutJobs) {
  State state = two_nodes_of_four();
  EXPECT_TRUE(ArrivalCurve({{devices(1), 1}}).close(state).empty());
}

TEST(FragmentSamples, KeepAFewPointsOfTheWholeRun) {
  State state = two_nodes_of_four();
  JobState waiting;
  waiting.row.demand.devices = 4;
  waiting.row.elastic = RoleIndex{0};
  state.count_demand(waiting);
  FragmentSamples samples(8);
  for (int s = 0; s < 100; ++s) {
    state.now = Instant::zero() + Duration::seconds(s);
    if (s == 50) state.ledger.claim(JobId{0}, NodeId{0}, {.devices = 1}, 1);
    samples.observe(state);
  }
  EXPECT_LE(samples.points().size(), 8u);
  EXPECT_GE(samples.points().size(), 4u);
  EXPECT_EQ(samples.points().front().devices, 0);
  EXPECT_EQ(samples.points().back().devices, 3) << "of no use to a job of four";
  EXPECT_EQ(samples.highest(), 3);
  EXPECT_NEAR(samples.mean(Instant::zero() + Duration::seconds(100)), 1.5, 0.5);
  EXPECT_EQ(FragmentSamples().mean(Instant::zero()), 0);
}

}  // namespace
}  // namespace orrery::sim
