// Real processes on the loopback: sums agree, a dead or stopped peer is an error on everybody, and
// fewer or more of them go on in the next generation. For each backend of this build.
#include <gtest/gtest.h>

#include <csignal>
#include <vector>

#include "tests/runtime/workers/child.hpp"

namespace orrery::worker {
namespace {

class CollectiveTest : public testing::TestWithParam<std::string> {
 protected:
  /// Starts ranks that wait for commands; an operation takes at most so long.
  void start(int ranks, int operation_ms = kPatience_ms) {
    for (int i = 0; i < ranks; ++i)
      ranks_.emplace_back(
          std::vector<std::string>{
              COLLECTIVE_RANK, GetParam(), std::to_string(build_ms_), std::to_string(operation_ms)},
          std::vector<std::string>{});
  }

  /// Has the processes `members` build a generation, in this order.
  void build(int generation, const std::vector<int>& members) {
    for (std::size_t rank = 0; rank < members.size(); ++rank)
      at(members[rank]).tell(build_command(generation, static_cast<int>(rank), members.size()));
    for (const int member : members) EXPECT_EQ(at(member).next_line(), "Done");
  }

  std::string build_command(int generation, int rank, std::size_t size) const {
    return "build " + std::to_string(generation) + " " + std::to_string(rank) + " " +
           std::to_string(size) + " " + std::to_string(port_.number());
  }

  void reduce(const std::vector<int>& members, int floats) {
    for (const int member : members) at(member).tell("reduce " + std::to_string(floats));
    for (const int member : members)
      EXPECT_EQ(at(member).next_line(), "Done right") << floats << " floats, process " << member;
  }

  Child& at(int index) { return ranks_[static_cast<std::size_t>(index)]; }

  ReservedPort port_;
  int build_ms_ = kPatience_ms;
  std::vector<Child> ranks_;
};

TEST_P(CollectiveTest, SumsAgreeOnAllRanks) {
  start(4);
  build(1, {0, 1, 2, 3});
  for (const int floats : {1, 3, 4, 5, 1000, 100'003, 1'000'000}) reduce({0, 1, 2, 3}, floats);
}

TEST_P(CollectiveTest, OneRankIsItsOwnSum) {
  start(1);
  build(1, {0});
  reduce({0}, 10);
}

TEST_P(CollectiveTest, ABarrierWaitsForTheLast) {
  start(3);
  build(1, {0, 1, 2});
  at(0).tell("barrier");
  at(1).tell("barrier");
  at(2).signal(SIGKILL);  // It never comes: the others must not get through on their own.
  for (const int survivor : {0, 1}) EXPECT_NE(at(survivor).next_line(), "Done");
}

TEST_P(CollectiveTest, AKilledPeerIsAnErrorOnAllSurvivors) {
  start(4);
  build(1, {0, 1, 2, 3});
  reduce({0, 1, 2, 3}, 1000);
  for (const int survivor : {0, 1, 3}) at(survivor).tell("reduce 100000");
  at(2).signal(SIGKILL);
  for (const int survivor : {0, 1, 3}) {
    const auto said = at(survivor).next_line();
    ASSERT_TRUE(said);
    EXPECT_TRUE(said->starts_with("PeerLost")) << *said;
  }
}

TEST_P(CollectiveTest, AStoppedPeerIsAnErrorAtTheTimeLimit) {
  start(3, 500);
  build(1, {0, 1, 2});
  at(2).signal(SIGSTOP);
  for (const int survivor : {0, 1}) at(survivor).tell("reduce 1000");
  for (const int survivor : {0, 1}) {
    const auto said = at(survivor).next_line();
    ASSERT_TRUE(said);
    // The first to give up closes its connections, which the other may hear before its own limit.
    EXPECT_TRUE(said->starts_with("TimedOut") || said->starts_with("PeerLost")) << *said;
  }
  at(2).signal(SIGCONT);
}

TEST_P(CollectiveTest, AMissingPeerIsAnErrorAtTheTimeLimit) {
  build_ms_ = 500;
  start(2);
  at(0).tell(build_command(1, 0, 3));
  at(1).tell(build_command(1, 1, 3));
  for (const int rank : {0, 1}) {
    const auto said = at(rank).next_line();
    ASSERT_TRUE(said);
    EXPECT_TRUE(said->starts_with("TimedOut") || said->starts_with("PeerLost")) << *said;
  }
}

TEST_P(CollectiveTest, FewerGoOnInTheNextGenerationThenMore) {
  start(5);
  build(1, {0, 1, 2});
  reduce({0, 1, 2}, 5000);
  at(1).signal(SIGKILL);
  for (const int survivor : {0, 2}) at(survivor).tell("reduce 10");
  for (const int survivor : {0, 2}) EXPECT_NE(at(survivor).next_line(), "Done right");
  build(2, {0, 2});
  reduce({0, 2}, 5000);
  build(3, {2, 0, 3, 4});  // Another rank 0: the meeting place moves from process to process.
  reduce({0, 2, 3, 4}, 5000);
}

TEST_P(CollectiveTest, AnOperationIsRefusedOnceTheGroupWasLeft) {
  start(2);
  build(1, {0, 1});
  at(1).signal(SIGKILL);
  at(0).tell("reduce 10");
  EXPECT_NE(at(0).next_line(), "Done right");
  at(0).tell("reduce 10");
  EXPECT_EQ(at(0).next_line(), "PeerLost the group was left; build the next generation first");
}

TEST_P(CollectiveTest, ANewerGenerationCancelsWhatIsUnderWay) {
  start(2);
  build(1, {0, 1});
  at(0).tell("reduce 10");  // Its peer never joins in.
  at(0).tell("cancel 2");
  EXPECT_EQ(at(0).next_line(), "Cancelled a newer generation has begun");
  at(1).tell("cancel 2");
  build(2, {0, 1});
  reduce({0, 1}, 10);
}

TEST_P(CollectiveTest, BuildingForAnOldGenerationIsCancelledToo) {
  start(1);
  at(0).tell(build_command(4, 0, 2));
  at(0).tell("cancel 5");
  EXPECT_EQ(at(0).next_line(), "Cancelled a newer generation has begun");
  at(0).tell(build_command(4, 0, 2));
  EXPECT_EQ(at(0).next_line(), "Cancelled a newer generation has begun");
}

std::vector<std::string> backends() {
#ifdef ORRERY_HAS_GLOO
  return {"ring", "gloo"};
#else
  return {"ring"};
#endif
}

INSTANTIATE_TEST_SUITE_P(Backends,
                         CollectiveTest,
                         testing::ValuesIn(backends()),
                         [](const auto& backend) { return backend.param; });

TEST(RingCollectiveTest, DifferentNumbersOfFloatsAreNamed) {
  const ReservedPort port;
  std::vector<Child> ranks;
  const std::string patience = std::to_string(kPatience_ms);
  for (int rank = 0; rank < 2; ++rank) {
    ranks.emplace_back(std::vector<std::string>{COLLECTIVE_RANK, "ring", patience, patience},
                       std::vector<std::string>{});
    ranks.back().tell("build 1 " + std::to_string(rank) + " 2 " + std::to_string(port.number()));
  }
  for (Child& rank : ranks) EXPECT_EQ(rank.next_line(), "Done");
  ranks[0].tell("reduce 10");
  ranks[1].tell("reduce 20");
  EXPECT_EQ(ranks[0].next_line(),
            "Fatal rank 1 is at operation 2 with 20 floats, this rank at 2 with 10; give all ranks "
            "the same options");
}

#ifndef ORRERY_HAS_GLOO
TEST(GlooCollectiveTest, Skipped) { GTEST_SKIP() << "Gloo was not found at configure time"; }
#endif

}  // namespace
}  // namespace orrery::worker
