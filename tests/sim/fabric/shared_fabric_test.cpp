// L0 and L1 against closed forms: which stages slow each other, and by how much.
#include "sim/fabric/shared_fabric.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/fabric/ideal_fabric.hpp"
#include "tests/sim/fabric/networks.hpp"

namespace orrery::sim {
namespace {

using test::copy_of;
using test::exchange_of;
using test::fat_tree_of;
using test::stage_of;
using test::star_of;
using test::transfer_of;
using testing::ElementsAre;
using testing::IsEmpty;

Instant at_s(double s) { return Instant::zero() + Duration::from_seconds(s); }

// Completes what is under way, in order; seconds of each.
std::vector<double> run_out(Fabric& fabric) {
  std::vector<double> times;
  while (true) {
    const Instant next = fabric.next(Instant::never());
    if (next.is_never()) return times;
    std::vector<StageId> complete;
    fabric.pass_to(next, complete);
    for (std::size_t i = 0; i < complete.size(); ++i) times.push_back(next.in_seconds());
  }
}

template <class Level>
class AloneTest : public testing::Test {};

using Levels = testing::Types<IdealFabric, SharedFabric>;
TYPED_TEST_SUITE(AloneTest, Levels);

TYPED_TEST(AloneTest, AStageTakesItsTimeAlone) {
  TypeParam fabric(Topology(star_of(100), 4));
  const Stage stage = stage_of(10, 2, exchange_of(Pattern::Ring, {0, 1, 2, 3}, 1000));
  EXPECT_DOUBLE_EQ(fabric.step_alone_s(stage), 17);
  fabric.begin(stage, at_s(5));
  EXPECT_THAT(run_out(fabric), ElementsAre(175));
}

TYPED_TEST(AloneTest, UnpacedBytesHideBehindCompute) {
  TypeParam fabric(Topology(star_of(100), 2));
  Stage stage = copy_of(NodeId(0), NodeId(1), 1000);
  stage.compute_s = 4;
  stage.overlap = 0.25;
  fabric.begin(stage, at_s(0));
  EXPECT_THAT(run_out(fabric), ElementsAre(11.5));
}

TYPED_TEST(AloneTest, ComputeAloneNeedsNoNetwork) {
  TypeParam fabric(Topology(star_of(100), 2));
  fabric.begin(stage_of(3, 2, {}), at_s(1));
  Stage unpaced = stage_of(3, 1, {});
  unpaced.paced = false;
  fabric.begin(unpaced, at_s(1));
  EXPECT_THAT(run_out(fabric), ElementsAre(4, 7));
}

TYPED_TEST(AloneTest, StepsAreCountedOnTheWay) {
  TypeParam fabric(Topology(star_of(100), 2));
  const StageId id = fabric.begin(stage_of(4, 0, transfer_of(NodeId(0), NodeId(1), 200)), at_s(0));
  EXPECT_EQ(fabric.steps_done(id, at_s(0)), 0);
  EXPECT_DOUBLE_EQ(fabric.steps_done(id, at_s(5)), 2.5);
  EXPECT_DOUBLE_EQ(fabric.pace(id), 0.5);
  EXPECT_EQ(fabric.steps_done(id, at_s(8)), 4);
  fabric.end(id, at_s(8));
  EXPECT_EQ(fabric.next(at_s(100)), at_s(100));
}

TEST(IdealFabric, NeighboursDoNotMeet) {
  IdealFabric fabric(Topology(star_of(100), 2));
  for (int i = 0; i < 3; ++i) fabric.begin(copy_of(NodeId(0), NodeId(1), 1000), at_s(0));
  EXPECT_THAT(run_out(fabric), ElementsAre(10, 10, 10));
}

TEST(SharedFabric, TwoCopiesOnOneLinkTakeTwiceAsLong) {
  SharedFabric fabric(Topology(star_of(100), 3));
  fabric.begin(copy_of(NodeId(0), NodeId(1), 1000), at_s(0));
  fabric.begin(copy_of(NodeId(0), NodeId(2), 500), at_s(0));
  // Half each until the shorter is through at 10; the longer has 500 left.
  EXPECT_THAT(run_out(fabric), ElementsAre(10, 15));
}

TEST(SharedFabric, UpAndDownDoNotMeet) {
  SharedFabric fabric(Topology(star_of(100), 2));
  fabric.begin(copy_of(NodeId(0), NodeId(1), 1000), at_s(0));
  fabric.begin(copy_of(NodeId(1), NodeId(0), 1000), at_s(0));
  EXPECT_THAT(run_out(fabric), ElementsAre(10, 10));
}

TEST(SharedFabric, PacedStagesBelowCapacitySlowNoOther) {
  SharedFabric fabric(Topology(star_of(100), 2));
  // 50 bytes a second each: compute 5 of 10 seconds.
  for (int i = 0; i < 2; ++i)
    fabric.begin(stage_of(1, 5, transfer_of(NodeId(0), NodeId(1), 500)), at_s(0));
  EXPECT_THAT(run_out(fabric), ElementsAre(10, 10));
}

TEST(SharedFabric, PacedStagesAboveCapacityShareIt) {
  SharedFabric fabric(Topology(star_of(100), 2));
  for (int i = 0; i < 4; ++i)
    fabric.begin(stage_of(1, 5, transfer_of(NodeId(0), NodeId(1), 500)), at_s(0));
  EXPECT_THAT(run_out(fabric), ElementsAre(20, 20, 20, 20));
}

TEST(SharedFabric, ASmallStageIsNotSlowedByALargeOne) {
  SharedFabric fabric(Topology(star_of(100), 2));
  // 20 bytes a second, and as many as there are: 80.
  fabric.begin(stage_of(1, 8, transfer_of(NodeId(0), NodeId(1), 200)), at_s(0));
  const StageId large = fabric.begin(copy_of(NodeId(0), NodeId(1), 4000), at_s(0));
  EXPECT_NEAR(fabric.pace(large), 0.8 / 40, 1e-12);
  EXPECT_THAT(run_out(fabric), ElementsAre(10, 42));
}

TEST(SharedFabric, NeighbourOnTheUplinkSlowsAndNowhereElse) {
  // Two leaves of 4 under one spine.
  SharedFabric fabric(Topology(fat_tree_of(4, 4), 8));
  const auto ring = [](std::uint32_t a, std::uint32_t b) {
    return stage_of(1, 0, exchange_of(Pattern::Ring, {a, b}, 1000));
  };
  const StageId across = fabric.begin(ring(0, 4), at_s(0));
  const StageId within = fabric.begin(ring(2, 3), at_s(0));
  const double alone = fabric.pace(across);
  const StageId neighbour = fabric.begin(ring(1, 5), at_s(0));
  EXPECT_DOUBLE_EQ(fabric.pace(across), alone / 2);
  EXPECT_DOUBLE_EQ(fabric.pace(within), alone);
  fabric.end(neighbour, at_s(1));
  EXPECT_EQ(fabric.pace(across), alone);
}

TEST(SharedFabric, ADegradedLinkSlowsTheStagesThatUseIt) {
  SharedFabric fabric(Topology(star_of(100), 4));
  fabric.begin(stage_of(1, 0, exchange_of(Pattern::Ring, {0, 1}, 1000)), at_s(0));
  fabric.begin(stage_of(1, 0, exchange_of(Pattern::Ring, {2, 3}, 1000)), at_s(0));
  fabric.set_link_share(NodeId(1), 0.25, at_s(4));
  fabric.set_link_share(NodeId(1), 1, at_s(8));
  // 4 seconds at full speed, 4 at a quarter, and 5 are left of 10.
  EXPECT_THAT(run_out(fabric), ElementsAre(10, 13));
}

TEST(SharedFabric, ADegradedLinkMakesTheExchangeLongerAndNotTheCompute) {
  SharedFabric fabric(Topology(star_of(100), 2));
  const Stage stage = stage_of(2, 5, transfer_of(NodeId(0), NodeId(1), 500));
  fabric.set_link_share(NodeId(0), 0.5, at_s(0));
  EXPECT_DOUBLE_EQ(fabric.step_alone_s(stage), 15);
  fabric.begin(stage, at_s(0));
  fabric.set_link_share(NodeId(0), 1, at_s(15));
  EXPECT_DOUBLE_EQ(fabric.step_alone_s(stage), 10);
  EXPECT_THAT(run_out(fabric), ElementsAre(25));
}

TEST(SharedFabric, ACheckpointStormSharesTheStorage) {
  scenarios::NetworkSpec spec = star_of(100);
  spec.storage_bandwidth = 100;
  SharedFabric fabric(Topology(spec, 4));
  for (std::uint32_t node = 0; node < 4; ++node)
    fabric.begin(copy_of(NodeId(node), NodeId::none(), 500), at_s(node));
  // The first alone for 1 s, then shared by 2, 3, and 4 of them: 2000 bytes in 20 s in all.
  const std::vector<double> times = run_out(fabric);
  ASSERT_EQ(times.size(), 4U);
  EXPECT_NEAR(times[3], 20, 1e-6);
  EXPECT_NEAR(times[0], 3 + 4 * (500 - 100 - 50 - 100.0 / 3) / 100, 1e-6);
}

TEST(SharedFabric, BytesFreeTheirLinksBeforeComputeEnds) {
  SharedFabric fabric(Topology(star_of(100), 2));
  Stage first = copy_of(NodeId(0), NodeId(1), 1000);
  first.compute_s = 50;
  first.overlap = 1;
  fabric.begin(first, at_s(0));
  fabric.begin(copy_of(NodeId(0), NodeId(1), 2000), at_s(0));
  // Both at half speed for 20 s, then the second alone with 1000 left.
  EXPECT_EQ(fabric.next(at_s(25)), at_s(25));
  EXPECT_THAT(run_out(fabric), ElementsAre(30, 50));
}

TEST(SharedFabric, ASlowedExchangeIsNotHiddenByCompute) {
  SharedFabric fabric(Topology(star_of(100), 2));
  Stage first = copy_of(NodeId(0), NodeId(1), 1000);
  first.compute_s = 4;
  fabric.begin(first, at_s(0));
  fabric.begin(copy_of(NodeId(0), NodeId(1), 1000), at_s(0));
  EXPECT_THAT(run_out(fabric), ElementsAre(20, 24));
}

TEST(SharedFabric, WithoutABandwidthTheStorageSlowsNobody) {
  SharedFabric fabric(Topology(star_of(100), 2));
  fabric.begin(copy_of(NodeId(0), NodeId::none(), 1000), at_s(0));
  fabric.begin(copy_of(NodeId(1), NodeId::none(), 3000), at_s(0));
  EXPECT_THAT(run_out(fabric), ElementsAre(10, 30));
}

TEST(SharedFabric, UseOfLinks) {
  scenarios::NetworkSpec spec = star_of(100);
  SharedFabric fabric(Topology(spec, 2));
  fabric.begin(stage_of(1, 5, transfer_of(NodeId(0), NodeId(1), 500)), at_s(0));
  EXPECT_EQ(fabric.next(at_s(1)), at_s(1));
  EXPECT_THAT(
      fabric.link_names(),
      ElementsAre(
          "node 0 up", "node 0 down", "node 1 up", "node 1 down", "storage in", "storage out"));
  std::vector<double> use;
  fabric.link_use(use);
  EXPECT_THAT(
      use, ElementsAre(testing::DoubleNear(0.5, 1e-9), 0, 0, testing::DoubleNear(0.5, 1e-9), 0, 0));
}

TEST(SharedFabric, EndedStagesLeaveNothingBehind) {
  SharedFabric fabric(Topology(star_of(100), 2));
  const StageId id = fabric.begin(copy_of(NodeId(0), NodeId(1), 1000), at_s(0));
  fabric.end(id, at_s(0));
  const StageId next = fabric.begin(copy_of(NodeId(0), NodeId(1), 1000), at_s(0));
  EXPECT_EQ(next, id);
  EXPECT_THAT(run_out(fabric), ElementsAre(10));
  std::vector<StageId> complete;
  fabric.pass_to(at_s(20), complete);
  EXPECT_THAT(complete, IsEmpty());
}

}  // namespace
}  // namespace orrery::sim
