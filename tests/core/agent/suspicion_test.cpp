#include "core/agent/suspicion.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/agent/agent_builders.hpp"

namespace orrery {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::vector<std::size_t> slow_of(const std::vector<double>& times, double factor) {
  std::vector<RankStepTime> latest;
  for (const double time : times)
    latest.push_back({Rank{static_cast<std::uint32_t>(latest.size())}, time});
  return stragglers(latest, factor);
}

TEST(Stragglers, AreFarAboveTheLowerMedian) {
  EXPECT_THAT(slow_of({.1, .2, .3}, 2), IsEmpty());
  EXPECT_THAT(slow_of({.1, 3, .3}, 2), ElementsAre(1));
  EXPECT_THAT(slow_of({.1, 3, .3, 4}, 2), ElementsAre(1, 3));
  EXPECT_THAT(slow_of({1, 2}, 2), IsEmpty()) << "exactly the factor is not beyond it";
  EXPECT_THAT(slow_of({1, 2.1}, 2), ElementsAre(1));
  EXPECT_THAT(slow_of({5}, 2), IsEmpty()) << "nothing to compare with";
  EXPECT_THAT(slow_of({.1, 3, .3}, 0), IsEmpty());
}

class SuspicionsTest : public ::testing::Test {
 protected:
  SuspicionsTest() {
    FailoverSpec wanted;
    wanted.hang_after = Duration::seconds(30);
    wanted.straggler_factor = 2;
    suspicions_.watch(JobId{7}, wanted);
    suspicions_.ordered(start_ranks(7, 1, 3));
  }

  void ready(double seconds, std::uint32_t first = 0, std::uint32_t count = 3) {
    suspicions_.reported(
        {JobId{7}, Generation{1}, Incarnation{1}, WorkerFact::Ready, Rank{first}, count, 0},
        at(seconds));
  }

  void profile(double seconds, std::uint32_t rank, double step_time, std::uint32_t generation = 1) {
    suspicions_.profiled(
        {JobId{7}, Generation{generation}, Rank{rank}, {{"step_time_s", step_time}}},
        at(seconds),
        edges_);
  }

  void pass(double seconds) { suspicions_.time_reached(at(seconds), edges_); }

  const WorkerSuspected& suspected(std::size_t i) {
    return std::get<WorkerSuspected>(edges_.at(i));
  }

  Suspicions suspicions_;
  std::vector<EventBody> edges_;
};

TEST_F(SuspicionsTest, AWorkerThatSaysNothingForTooLongHangs) {
  EXPECT_TRUE(suspicions_.next_deadline().is_never()) << "no worker is ready yet";
  ready(10);
  EXPECT_EQ(suspicions_.next_deadline(), at(40));
  profile(20, 0, 1);
  profile(20, 2, 1);
  pass(39);
  EXPECT_THAT(edges_, IsEmpty());
  pass(40);
  ASSERT_THAT(edges_, SizeIs(1));
  EXPECT_EQ(suspected(0).rank, Rank{1});
  EXPECT_EQ(suspected(0).suspicion, Suspicion::Hung);
  EXPECT_EQ(suspicions_.next_deadline(), at(50));
}

TEST_F(SuspicionsTest, AStepThatTookNoTimeIsNoMeasurement) {
  ready(0);
  profile(1, 1, 3);
  profile(1, 2, 3);
  profile(1, 0, 1);
  ASSERT_THAT(edges_, IsEmpty()) << "two of three are as slow";
  profile(2, 2, 0);
  profile(2, 1, 3);
  EXPECT_THAT(edges_, IsEmpty()) << "they still are";
}

TEST_F(SuspicionsTest, EachStartIsSuspectedOnceUntilAPeerIsReady) {
  ready(0);
  pass(30);
  EXPECT_THAT(edges_, SizeIs(3));
  pass(100);
  EXPECT_THAT(edges_, SizeIs(3));
  suspicions_.reported(
      {JobId{7}, Generation{1}, Incarnation{1}, WorkerFact::Exited, Rank{1}, 1, 137}, at(101));
  StartWorkers again{JobId{7}, Generation{2}, 3, {start_of(worker(7, 1, 2), 1)}};
  suspicions_.ordered(again);
  suspicions_.reported({JobId{7}, Generation{2}, Incarnation{2}, WorkerFact::Ready, Rank{1}, 1, 0},
                       at(110));
  EXPECT_EQ(suspicions_.next_deadline(), at(140));
  pass(140);
  ASSERT_THAT(edges_, SizeIs(6));
  EXPECT_EQ(suspected(5).incarnation, Incarnation{2});
  EXPECT_EQ(suspected(5).generation, Generation{2});
}

TEST_F(SuspicionsTest, ProgressOfTheJobIsASignOfLifeOfAll) {
  ready(0);
  ProgressReported progress{JobId{7}, Generation{1}, 100, 5};
  suspicions_.progressed(progress, at(20));
  pass(30);
  EXPECT_THAT(edges_, IsEmpty());
  EXPECT_EQ(suspicions_.next_deadline(), at(50));
  suspicions_.progressed(progress, at(40));
  pass(50);
  EXPECT_THAT(edges_, SizeIs(3)) << "the same work again is no progress";
}

TEST_F(SuspicionsTest, AMeasurementOfTheJobIsASignOfLifeOfAllOfItsGeneration) {
  ready(0);
  suspicions_.profiled(
      {JobId{7}, Generation{1}, Rank::none(), {{"step_time_s", 9}}}, at(20), edges_);
  EXPECT_EQ(suspicions_.next_deadline(), at(50));
  suspicions_.profiled({JobId{7}, Generation{2}, Rank::none(), {{"speed", 9}}}, at(30), edges_);
  EXPECT_EQ(suspicions_.next_deadline(), at(50)) << "of another generation";
  profile(40, 1, 0.1);
  profile(40, 2, 0.1);
  EXPECT_THAT(edges_, IsEmpty()) << "and not the step time of a worker";
}

TEST_F(SuspicionsTest, AStragglerIsToldOnceAndPeersDecide) {
  ready(0);
  profile(1, 0, .1);
  profile(1, 1, 3);
  EXPECT_THAT(edges_, SizeIs(1)) << "the lower median of .1 and 3 is .1";
  EXPECT_EQ(suspected(0).suspicion, Suspicion::Straggling);
  EXPECT_EQ(suspected(0).rank, Rank{1});
  profile(2, 2, .3);
  profile(3, 1, 4);
  EXPECT_THAT(edges_, SizeIs(1));
}

TEST_F(SuspicionsTest, ANewMembershipForgetsTheStepTimesAndKeepsTheNames) {
  ready(0);
  profile(1, 0, 1);
  UpdateMembership update{JobId{7}, Generation{2}, 2, {start_of(worker(7, 2), 0)}};
  suspicions_.ordered(update);
  profile(2, 0, 9, 2);
  EXPECT_THAT(edges_, IsEmpty()) << "the others are of the generation before";
  pass(31);
  ASSERT_THAT(edges_, SizeIs(2));
  pass(32);
  ASSERT_THAT(edges_, SizeIs(3));
  EXPECT_EQ(suspected(2).rank, Rank{2}) << "named as it was born";
}

TEST_F(SuspicionsTest, ANewMembershipMaySuspectTheSameWorkerAgain) {
  ready(0);
  profile(1, 0, 1);
  profile(1, 1, 9);
  ASSERT_THAT(edges_, SizeIs(1));
  UpdateMembership update{
      JobId{7}, Generation{2}, 2, {start_of(worker(7, 0), 0), start_of(worker(7, 1), 1)}};
  suspicions_.ordered(update);
  profile(2, 0, 1, 2);
  profile(2, 1, 9, 2);
  ASSERT_THAT(edges_, SizeIs(2));
  EXPECT_EQ(suspected(1).rank, Rank{1});
}

TEST_F(SuspicionsTest, JobsThatAreOverOrAskForNothingCostNothing) {
  ready(0);
  suspicions_.ordered(CleanJob{JobId{7}, CleanPodPolicy::Running});
  EXPECT_TRUE(suspicions_.next_deadline().is_never());
  suspicions_.watch(JobId{8}, FailoverSpec{});
  suspicions_.ordered(start_ranks(8, 1, 2));
  suspicions_.reported({JobId{8}, Generation{1}, Incarnation{1}, WorkerFact::Ready, Rank{0}, 2, 0},
                       at(1));
  EXPECT_TRUE(suspicions_.next_deadline().is_never());
  pass(1000);
  EXPECT_THAT(edges_, IsEmpty());
}

}  // namespace
}  // namespace orrery
