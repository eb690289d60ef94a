#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/policies/ask.hpp"

namespace orrery::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// 4 x 100 device-seconds stand behind 1 x 300.
TEST(Srsf, CountsTimeTimesDevices) {
  FakeCluster cluster;
  cluster.add_nodes(1, 4);
  const auto srsf = policy("srsf");
  const JobId wide = cluster.submit(job().replicas(4).estimate(100));
  const JobId narrow = cluster.submit(job().replicas(1).estimate(300));
  const JobId unknown = cluster.submit(job().replicas(1));
  EXPECT_THAT(started_by_optimize(cluster, *srsf), ElementsAre(narrow, unknown));
  EXPECT_FALSE(runs(cluster, wide));
  const auto srtf = policy("srtf");
  FakeCluster other;
  other.add_nodes(1, 4);
  const JobId first = other.submit(job().replicas(4).estimate(100));
  other.submit(job().replicas(1).estimate(300));
  EXPECT_THAT(started_by_optimize(other, *srtf), ElementsAre(first));
}

// After 150 s the wide one has 4 x 50 left and the narrow one 1 x 250: what has more left changes
// as time passes.
TEST(Srsf, PreemptsWhoHasMostLeftNow) {
  for (const std::int64_t after : {0, 150}) {
    FakeCluster cluster;
    cluster.add_nodes(1, 5);
    const auto srsf = policy("srsf");
    const JobId wide =
        submit_and_ask(cluster, *srsf, job().replicas(4).estimate(200).preemptible());
    const JobId narrow =
        submit_and_ask(cluster, *srsf, job().replicas(1).estimate(400).preemptible());
    cluster.advance(after);
    const JobId shorter = submit_and_ask(cluster, *srsf, job().estimate(10));
    EXPECT_TRUE(runs(cluster, shorter));
    EXPECT_EQ(runs(cluster, wide), after > 0);
    EXPECT_EQ(runs(cluster, narrow), after == 0);
  }
}

TEST(Srsf, DoesNotSwapEquals) {
  FakeCluster cluster;
  cluster.add_nodes(1, 2);
  const auto srsf = policy("srsf");
  const JobId wide = submit_and_ask(cluster, *srsf, job().replicas(2).estimate(100).preemptible());
  const JobId narrow = submit_and_ask(cluster, *srsf, job().estimate(200));
  EXPECT_THAT(started_by_optimize(cluster, *srsf), IsEmpty());
  EXPECT_TRUE(runs(cluster, wide));
  EXPECT_FALSE(runs(cluster, narrow));
}

TEST(Srsf, JobsWithoutDevicesComeByTheirTime) {
  FakeCluster cluster;
  cluster.add_nodes(1, 0, 1);
  const auto srsf = policy("srsf");
  const JobId slow = cluster.submit(job().devices(0).cpu(1).estimate(100));
  const JobId quick = cluster.submit(job().devices(0).cpu(1).estimate(10));
  EXPECT_THAT(started_by_optimize(cluster, *srsf), ElementsAre(quick));
  EXPECT_FALSE(runs(cluster, slow));
}

}  // namespace
}  // namespace orrery::testing
