// Where Gavel's rounds put jobs: by count devices suffice, and nodes decide.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/policies/played_jobs.hpp"

namespace orrery::testing {
namespace {

/// One rule after the other; rounds of six minutes.
class GavelPlaces : public PlayedJobs, public ::testing::WithParamInterface<std::string_view> {
 protected:
  void SetUp() override {
    Result<std::unique_ptr<Policy>> made = policies::make_policy(GetParam(), {});
    if (!made) GTEST_SKIP() << "needs a solver of linear programs";
    policy_ = std::move(made.value());
  }

  static bool stops_at_the_first() { return GetParam() == "gavel_fifo"; }
};

// Four devices of one node are on the second type alone, which has eight of them to spare.
TEST_P(GavelPlaces, AGangHasNoShareOfATypeWhoseNodesDoNotHoldIt) {
  cluster_.add_nodes(3, 2, 1000, "p100");
  cluster_.add_nodes(2, 8, 1000, "k80");
  comes(0, job().devices(4).replicas(2).preemptible(), 10 * kHour_s);
  comes(1, job().devices(2).replicas(3).preemptible(), 10 * kHour_s);
  const JobId four = comes(400, job().devices(4).preemptible(), kHour_s);
  run_until(3 * kHour_s);
  EXPECT_TRUE(has_ended(four));
}

// Six cores. What of the two larger ones finds none goes, and what it was in the way of is tried
// again: two devices and a core are free.
TEST_P(GavelPlaces, WhoWasInTheWayOfOthersAndGoesLeavesThemTheirPlace) {
  if (stops_at_the_first()) GTEST_SKIP() << "the first that does not fit ends it for the others";
  cluster_.add_nodes(1, 6, 6);
  comes(1, job().cpu(2).preemptible(), 5 * kHour_s);
  comes(370, job().replicas(3).cpu(1).preemptible(), 5 * kHour_s);
  comes(2000, job().replicas(2).cpu(1).preemptible(), kHour_s);
  comes(2001, job().replicas(2).cpu(2).preemptible(), kHour_s);
  const JobId one = comes(2002, job().cpu(1).preemptible(), kHour_s);
  run_until(2 * kHour_s);
  EXPECT_TRUE(has_started(one));
}

// Three that each find no cores at first, one for the other.
TEST_P(GavelPlaces, WhoIsLeftOutHasAnotherTryWhenTheRestIsPlaced) {
  if (stops_at_the_first()) GTEST_SKIP() << "the first that does not fit ends it for the others";
  cluster_.add_nodes(2, 8, 8);
  comes(0, job().devices(2).replicas(3).cpu(1), 5 * kHour_s);
  comes(0, job().devices(4).cpu(1).preemptible(), 5 * kHour_s);
  comes(0, job().replicas(4).cpu(2).preemptible(), 5 * kHour_s);
  comes(0, job().replicas(2).cpu(2).preemptible(), 5 * kHour_s);
  comes(0, job().replicas(2).cpu(2).preemptible(), 5 * kHour_s);
  const JobId one = comes(0, job().cpu(2).preemptible(), 5 * kHour_s);
  int idle = 0;
  for (std::int64_t at_s = 1; at_s < 4 * kHour_s; at_s += 360) {
    run_until(at_s);
    const FreeIndex& nodes = cluster().capacity();
    const auto has_room = [&](std::uint32_t node) {
      return replicas_that_fit(nodes.at(NodeId{node}), cluster().row(one).demand) > 0;
    };
    if (!cluster().row(one).holds && (has_room(0) || has_room(1))) ++idle;
  }
  EXPECT_EQ(idle, 0);
}

// One device of each node is held: four of one node are free where the smaller job moves, which it
// does for a job of its own priority, too.
TEST_P(GavelPlaces, AJobThatWouldFitElsewhereMakesRoomForAGang) {
  if (stops_at_the_first()) GTEST_SKIP() << "who has a share keeps its devices";
  for (const std::int32_t priority : {1, 0}) {
    SCOPED_TRACE("priority " + std::to_string(priority));
    begin_anew();
    SetUp();
    cluster_.add_nodes(2, 4);
    const JobId other = comes(0, job().preemptible(), 600);
    comes(0, job().devices(3), 10 * kHour_s);
    const JobId small = comes(100, job().preemptible(), 5 * kHour_s);
    const JobId gang = comes(1500, job().devices(4).priority(priority).preemptible(), kHour_s);
    run_until(1400);
    ASSERT_TRUE(has_ended(other));
    ASSERT_EQ(cluster().job(small).nodes[0].node, NodeId{1});
    run_until(2 * kHour_s);
    EXPECT_TRUE(has_ended(gang));
    EXPECT_TRUE(cluster().row(small).holds);
  }
}

// Of two that cannot both have a place the one of higher priority has it.
TEST_P(GavelPlaces, AGangOfHigherPriorityTakesANodeFromALowerJob) {
  if (stops_at_the_first()) GTEST_SKIP() << "who has a share keeps its devices";
  cluster_.add_nodes(2, 4);
  comes(0, job().devices(3), 10 * kHour_s);
  const JobId low = comes(0, job().devices(2).preemptible(), 5 * kHour_s);
  const JobId high = comes(1500, job().devices(3).priority(1).preemptible(), kHour_s);
  run_until(2 * kHour_s);
  EXPECT_TRUE(has_ended(high));
  run_until(8 * kHour_s);
  EXPECT_TRUE(has_ended(low));
}

// The coordinator of the first job stays on the node to which its workers are to move, and has a
// core that they need.
TEST_P(GavelPlaces, OfAJobOfTwoRolesOnlyWhatMovesIsGivenBack) {
  cluster_.add_nodes(1, 4, 8, "v100");
  cluster_.add_nodes(1, 4, 8, "p100");
  JobBuilder two = job().replicas(4).cpu(2).preemptible();
  const JobId of_two_roles = comes(0, two.also(1, 0, 1), 5 * kHour_s);
  const JobId one = comes(1, job().replicas(4).cpu(1).preemptible(), 5 * kHour_s);
  run_until(6 * kHour_s);
  EXPECT_TRUE(has_ended(of_two_roles));
  EXPECT_TRUE(has_ended(one));
}

INSTANTIATE_TEST_SUITE_P(Rules,
                         GavelPlaces,
                         ::testing::Values("gavel_fifo",
                                           "gavel_las",
                                           "gavel_packing",
                                           "gavel_sum",
                                           "gavel_makespan",
                                           "gavel_isolated",
                                           "themis",
                                           "gandiva",
                                           "allox"),
                         [](const auto& row) { return std::string(row.param); });

}  // namespace
}  // namespace orrery::testing
