// What pollux does beside its search: jobs of a fixed size, and cycles in which nothing changes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/policies/ask.hpp"
#include "tests/policies/contract.hpp"
#include "tests/support/long_form.hpp"

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

// The smallest hole for the minimum of the elastic job is on the node that the gang needs.
TEST(Pollux, AGangStartsOnTheModelThatItNamesBesideAnElasticJobOnAnother) {
  for (const std::string_view name : {"pollux", "orrery"}) {
    SCOPED_TRACE(name);
    FakeCluster cluster;
    cluster.add_nodes(1, 4, 1000, "v100");
    cluster.add_nodes(1, 2, 1000, "a100");
    const auto policy = testing::policy(name);
    const JobId elastic = cluster.submit(job().replicas(1, 3).preemptible().estimate(3000));
    cluster.set_usable(NodeId{1}, false);
    next_cycle(cluster, *policy);
    ASSERT_TRUE(runs(cluster, elastic));
    cluster.set_usable(NodeId{1}, true);
    const JobId gang = cluster.submit(job().devices(2).model("a100").preemptible().estimate(100));
    next_cycle(cluster, *policy);
    EXPECT_TRUE(runs(cluster, gang));
    EXPECT_TRUE(runs(cluster, elastic));
    EXPECT_TRUE(cluster.violations().empty());
  }
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

/// Cycles until this many run at this size each; `most` where they do not.
int cycles_until(FakeCluster& cluster,
                 Policy& pollux,
                 const std::vector<JobId>& jobs,
                 std::int32_t replicas,
                 int most) {
  for (int cycle = 0; cycle < most; ++cycle) {
    if (std::ranges::all_of(jobs, [&](JobId j) { return cluster.replicas(j) == replicas; }))
      return cycle;
    next_cycle(cluster, pollux);
  }
  return most;
}

TEST(Pollux, InBlocksJobsStartAndGrowAsFarAsTheyMay) {
  FakeCluster cluster;
  cluster.add_nodes(64, 4);
  const auto pollux = policy("pollux", {{"block_nodes", "4"}});
  std::vector<JobId> jobs;
  for (int i = 0; i < 24; ++i)
    jobs.push_back(
        submit_and_ask(cluster, *pollux, job().replicas(1, 8).preemptible(), 100 * kLong));
  // Moves cost young jobs much, and searches that find nothing pause for up to 64 cycles.
  EXPECT_LT(cycles_until(cluster, *pollux, jobs, 8, 400), 400) << "192 of 256 devices";
  EXPECT_THAT(cluster.violations(), IsEmpty());
}

TEST(Pollux, InBlocksAJobWiderThanABlockStarts) {
  FakeCluster cluster;
  cluster.add_nodes(64, 4);
  const auto pollux = policy("pollux", {{"block_nodes", "4"}});
  const JobId wide =
      submit_and_ask(cluster, *pollux, job().replicas(150, 160).preemptible(), 100 * kLong);
  EXPECT_THAT(next_cycle(cluster, *pollux), ElementsAre(wide));
}

// Gangs take what elastic jobs hold; in blocks that the budget did not reach these must give way.
TEST(Pollux, InBlocksElasticJobsGiveWayToJobsOfAFixedSize) {
  FakeCluster cluster;
  cluster.add_nodes(32, 4);
  const auto pollux = policy("pollux", {{"block_nodes", "2"}, {"budget", "1"}});
  for (int i = 0; i < 32; ++i)
    submit_and_ask(cluster, *pollux, job().replicas(1, 4).preemptible(), 100 * kLong);
  for (int cycle = 0; cycle < 300; ++cycle) next_cycle(cluster, *pollux);
  std::vector<JobId> fixed;
  for (int i = 0; i < 20; ++i)
    fixed.push_back(submit_and_ask(cluster, *pollux, job().devices(4), 100 * kLong));
  next_cycle(cluster, *pollux);
  int running = 0;
  for (const JobId id : fixed) running += runs(cluster, id);
  EXPECT_GE(running, 12) << "twelve nodes hold 32 jobs with room to spare";
  EXPECT_THAT(cluster.violations(), IsEmpty());
}

// A cycle without a report counts towards `update_after`; an update draws less often.
TEST(Pollux, WhereNothingIsReportedSearchesBecomeUpdates) {
  const auto stream_after = [](const std::map<std::string, std::string>& parameters, int cycles) {
    FakeCluster cluster;
    cluster.add_nodes(4, 4);
    const auto pollux = policy("pollux", parameters);
    for (int cycle = 0; cycle < cycles; ++cycle) {
      submit_and_ask(cluster, *pollux, job().replicas(1, 2).preemptible(), kLong);
      next_cycle(cluster, *pollux);
    }
    ByteWriter out;
    pollux->save(out);
    const auto words = std::span(out.bytes()).first(sizeof(Random::State));
    return std::vector<std::byte>(words.begin(), words.end());
  };
  const std::map<std::string, std::string> late{{"update_after", "3"}};
  const std::map<std::string, std::string> never{{"update_after", "1000"}};
  EXPECT_EQ(stream_after(late, 2), stream_after(never, 2));
  EXPECT_NE(stream_after(late, 3), stream_after(never, 3));
  const std::map<std::string, std::string> as_before{
      {"update_after", "3"}, {"update_population", "100"}, {"update_patience", "20"}};
  EXPECT_EQ(stream_after(as_before, 8), stream_after(never, 8));
}

class PolluxContract : public ::testing::TestWithParam<int> {};

// The turn of jobs, cycles without reports and what is left of a round are saved state.
TEST_P(PolluxContract, IsKeptWithEveryParameter) {
  const std::map<std::string, std::string> parameters[]{
      {{"block_nodes", "1"}, {"update_after", "3"}},
      {{"block_nodes", "2"}, {"budget", "500"}},
      {{"block_nodes", "2"},
       {"budget", "1"},
       {"avoid_interference", "false"},
       {"update_after", "9"}}};
  const PolicyMaker make = [&] { return policy("pollux", parameters[GetParam()]); };
  for (std::uint64_t seed = 1; seed <= tests::count_of(2, 10); ++seed)
    EXPECT_THAT(broken_promises(make, seed, {.quotas = false}), IsEmpty()) << "seed " << seed;
}

INSTANTIATE_TEST_SUITE_P(Parameters, PolluxContract, ::testing::Range(0, 3));

}  // namespace
}  // namespace orrery::testing
