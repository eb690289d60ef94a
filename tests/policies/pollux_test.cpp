// What pollux does beside its search: jobs of a fixed size, and cycles in which nothing changes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/policies/ask.hpp"

namespace orrery::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr double kLong = 1e6;

/// The next cycle; the jobs that it gave something.
std::vector<JobId> next_cycle(FakeCluster& cluster, Policy& pollux) {
  cluster.advance(60);
  return started_by_optimize(cluster, pollux);
}

TEST(Pollux, JobsOfAFixedSizeStartInQueueOrderAndKeepWhatTheyHold) {
  FakeCluster cluster;
  cluster.add_nodes(1, 8);
  const auto pollux = policy("pollux");
  const auto fixed = [&](std::int32_t devices) {
    return submit_and_ask(cluster, *pollux, job().replicas(devices).preemptible(), kLong);
  };
  const JobId small = fixed(2);
  fixed(8);
  const JobId last = fixed(6);
  EXPECT_THAT(next_cycle(cluster, *pollux), ElementsAre(small, last))
      << "what does not fit is passed over";
  fixed(1);
  for (int cycle = 0; cycle < 5; ++cycle) EXPECT_THAT(next_cycle(cluster, *pollux), IsEmpty());
  EXPECT_TRUE(runs(cluster, small));
  EXPECT_TRUE(runs(cluster, last));
}

TEST(Pollux, AJobOfAFixedSizePushesOutOnlyWhatStandsInItsWay) {
  FakeCluster cluster;
  cluster.add_nodes(2, 4);
  const auto pollux = policy("pollux");
  submit_and_ask(cluster, *pollux, job().devices(3), kLong);
  const JobId wide = submit_and_ask(cluster, *pollux, job().devices(4).preemptible(), kLong);
  const JobId beside = submit_and_ask(cluster, *pollux, job().devices(1).preemptible(), kLong);
  next_cycle(cluster, *pollux);
  submit_and_ask(cluster, *pollux, job().devices(4).preemptible(), kLong);
  EXPECT_THAT(next_cycle(cluster, *pollux), IsEmpty()) << "nobody of its own priority gives way";
  const JobId high = submit_and_ask(cluster, *pollux, job().devices(4).priority(100), kLong);
  EXPECT_THAT(next_cycle(cluster, *pollux), ElementsAre(high));
  EXPECT_FALSE(runs(cluster, wide));
  EXPECT_TRUE(runs(cluster, beside)) << "tried first, as it is younger, and spared";
  EXPECT_THAT(cluster.violations(), IsEmpty());
}

TEST(Pollux, ElasticJobsGiveWayToAJobOfAFixedSize) {
  FakeCluster cluster;
  cluster.add_nodes(1, 4);
  const auto pollux = policy("pollux");
  const JobId elastic = submit_and_ask(cluster, *pollux, job().replicas(1, 4).preemptible(), kLong);
  for (int cycle = 0; cycle < 10; ++cycle) next_cycle(cluster, *pollux);
  ASSERT_EQ(cluster.replicas(elastic), 4) << "alone, it gets all";
  const JobId fixed = submit_and_ask(cluster, *pollux, job().devices(3), kLong);
  next_cycle(cluster, *pollux);
  EXPECT_TRUE(runs(cluster, fixed));
  next_cycle(cluster, *pollux);
  EXPECT_EQ(cluster.replicas(elastic), 1);
}

TEST(Pollux, AWideJobThatFitsNowhereKeepsNoOtherOutOfTheSearch) {
  FakeCluster cluster;
  cluster.add_nodes(1, 4);
  const auto pollux = policy("pollux");
  submit_and_ask(cluster, *pollux, job().devices(1), kLong);
  next_cycle(cluster, *pollux);
  submit_and_ask(cluster, *pollux, job().replicas(4, 8).preemptible(), kLong);
  const JobId small = submit_and_ask(cluster, *pollux, job().replicas(1, 2).preemptible(), kLong);
  EXPECT_THAT(next_cycle(cluster, *pollux), ElementsAre(small));
}

/// Whether the next cycle draws from the policy's stream, as every search does.
bool searches(FakeCluster& cluster, Policy& pollux) {
  const auto stream = [&] {
    ByteWriter out;
    pollux.save(out);
    const auto words = std::span(out.bytes()).first(sizeof(Random::State));
    return std::vector<std::byte>(words.begin(), words.end());
  };
  const auto before = stream();
  next_cycle(cluster, pollux);
  return stream() != before;
}

TEST(Pollux, SearchesAtGrowingIntervalsWhileNothingChanges) {
  FakeCluster cluster;
  cluster.add_nodes(1, 4);
  const auto pollux = policy("pollux");
  const auto quiet = [&] { return !searches(cluster, *pollux); };
  submit_and_ask(cluster, *pollux, job().replicas(1, 2).preemptible(), kLong);
  EXPECT_FALSE(quiet());
  int cycles = 0;
  while (!quiet()) ASSERT_LT(++cycles, 20) << "it has all it may have, and is left alone";
  // Found nothing, and the next ones after 2, 4 and 8 cycles.
  std::vector<int> searched;
  for (int cycle = 2; cycle <= 16; ++cycle)
    if (!quiet()) searched.push_back(cycle);
  EXPECT_THAT(searched, ElementsAre(2, 6, 14));
  submit_and_ask(cluster, *pollux, job().replicas(1, 2).preemptible(), kLong);
  EXPECT_FALSE(quiet()) << "something has changed";
}

TEST(Pollux, WithoutElasticJobsNothingIsSearched) {
  FakeCluster cluster;
  cluster.add_nodes(1, 4);
  const auto pollux = policy("pollux");
  for (const std::int32_t replicas : {1, 2, 4}) {
    submit_and_ask(cluster, *pollux, job().replicas(replicas).preemptible(), kLong);
    EXPECT_FALSE(searches(cluster, *pollux));
  }
}

}  // namespace
}  // namespace orrery::testing
