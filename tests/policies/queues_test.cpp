// What queues in front of a policy do, step by step.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "core/queues/queue_text.hpp"
#include "policies/queues/queue_books.hpp"
#include "policies/registry.hpp"
#include "tests/policies/played_queues.hpp"
#include "tests/support/fake_view.hpp"

namespace orrery {
namespace {

using testing::FakeCluster;
using testing::in;
using testing::job;
using testing::JobBuilder;
using testing::Queues;

TEST_F(Queues, ShareByWeightWhenBothAsk) {
  use("fifo", "a weight=3; b weight=1");
  submit(16, in("a").preemptible());
  submit(16, in("b").preemptible());
  EXPECT_EQ(held("a"), 16) << "what no other asks for is borrowed";
  pass(60);
  EXPECT_EQ(held("a"), 12) << "taken back within one period";
  EXPECT_EQ(held("b"), 4);
  pass(60);
  EXPECT_EQ(held("a"), 12) << "and stays so";
}

TEST_F(Queues, NeverExceedALimitOrAUsersLimit) {
  use("fifo", "a limit=6 user_limit=4; b");
  submit(10, in("a").preemptible());
  pass(60);
  EXPECT_EQ(held("a"), 4) << "all are of one user";
  use("fifo", "a limit=6; b");
  cluster_.everything_changed();
  pass(60);
  EXPECT_EQ(held("a"), 6);
}

// Tiresias asks for all waiting jobs of as many devices at once, where quotas alone bar them.
TEST_F(Queues, TiresiasPassesOverAJobThatItsQueueBars) {
  use("tiresias", "a user_limit=4; b");
  submit(6, in("a").preemptible());
  JobSpec other = *in("a").preemptible().spec();
  other.name = "other.job";
  const JobId id = cluster_.submit(std::make_shared<const JobSpec>(other));
  pass(60);
  EXPECT_TRUE(cluster_.row(id).holds) << "its user holds nothing";
  EXPECT_EQ(held("a"), 5);
}

// What it had been promised was taken off what it asked for: it was to have more than the limit,
// and got nothing.
TEST_F(Queues, ElasticFlowStartsAndGrowsJobsUpToALimit) {
  for (const char* const queues : {"a user_limit=1", "a limit=1"}) {
    SCOPED_TRACE(queues);
    use("elasticflow", queues);
    const auto id = submit(1, job().group("a").replicas(1, 4).preemptible()).front();
    pass(60);
    EXPECT_EQ(cluster_.replicas(id), 1);
    cluster_.end_now(id);
  }
  use("elasticflow", "a user_limit=3");
  const auto id = submit(1, job().group("a").replicas(1, 8).preemptible()).front();
  pass(60);
  EXPECT_EQ(cluster_.replicas(id), 2) << "sizes are doubled";
}

TEST_F(Queues, FixedJobsBorrowNothingThatIsGuaranteed) {
  use("easy", "a; b guarantee=6");
  submit(16, in("a"));
  pass(60);
  EXPECT_EQ(held("a"), 10);
  submit(6, in("b"));
  EXPECT_EQ(held("b"), 6) << "at once";
}

TEST_F(Queues, AQueueThatMayNotBorrowKeepsToItsGuarantee) {
  use("fifo", "a guarantee=4 borrow=0; b");
  submit(16, in("a").preemptible());
  pass(60);
  EXPECT_EQ(held("a"), 4);
}

TEST_F(Queues, AQueueWithoutReclaimWaits) {
  use("fifo", "a; b reclaim=false");
  submit(16, in("a").preemptible());
  submit(16, in("b").preemptible());
  pass(60);
  EXPECT_EQ(held("b"), 0);
}

TEST_F(Queues, ElasticJobsShrinkToTheShareOfTheirQueue) {
  use("fit", "a; b");
  const JobId wide = submit(1, in("a").replicas(1, 16).preemptible()).front();
  pass(60);
  EXPECT_EQ(cluster_.replicas(wide), 16);
  submit(4, in("b").devices(2).preemptible());
  pass(60);
  EXPECT_EQ(cluster_.replicas(wide), 8);
  EXPECT_EQ(held("b"), 8);
  EXPECT_EQ(cluster_.preemptions(), 0U);
}

TEST_F(Queues, AnElasticJobOfAQueueBehindGrowsByWhatOthersGiveUp) {
  use("fit", "patience=864000s; a; b");
  submit(1, in("a").replicas(1, 16).preemptible());
  pass(60);
  const JobId late = submit(1, in("b").replicas(1, 16).preemptible()).front();
  for (int i = 0; i < 4; ++i) pass(60);
  EXPECT_EQ(cluster_.replicas(late), 8);
  EXPECT_EQ(held("a"), 8);
}

// Shares of 5 1/3 devices each, in replicas of two and of four; then 3.2 for each job of one queue.
TEST_F(Queues, NothingIsIdleForReplicasOfSeveralDevices) {
  for (const int devices : {2, 4}) {
    use("fit", "a; b; c");
    cluster_.everything_changed();
    std::vector<JobId> jobs;
    for (const char* queue : {"a", "b", "c"})
      jobs.push_back(
          submit(1, in(queue).devices(devices).replicas(1, 16 / devices).preemptible()).front());
    for (int minute = 0; minute < 10; ++minute) {
      pass(60);
      EXPECT_EQ(held("a") + held("b") + held("c"), 16)
          << "in replicas of " << devices << " after " << minute << " min";
    }
    for (const JobId id : jobs)
      EXPECT_LE(cluster_.replicas(id) * devices, 8) << "one more than 5 1/3";
    EXPECT_EQ(cluster_.preemptions(), 0U);
    for (const JobId id : jobs) cluster_.end_now(id);
  }
  use("fit", "a; b");
  cluster_.everything_changed();
  submit(5, in("a").replicas(1, 16).preemptible());
  pass(60);
  EXPECT_EQ(held("a"), 16) << "what five jobs are dealt is put together";
}

TEST_F(Queues, FreeDevicesAreNoRoomToGrowWhereTheRestIsShort) {
  use("fit", "resources=devices,cpu; a; b");
  const JobId first = submit(1, in("a").cpu(250).replicas(1, 16).preemptible()).front();
  pass(60);
  EXPECT_EQ(cluster_.replicas(first), 8) << "devices are left, cores are not";
  const JobId second = submit(1, in("b").cpu(250).replicas(1, 16).preemptible()).front();
  for (int minute = 0; minute < 5; ++minute) pass(60);
  EXPECT_EQ(cluster_.replicas(first), 4);
  EXPECT_EQ(cluster_.replicas(second), 4);
}

TEST_F(Queues, ElasticJobsMakeRoomBelowTheLimitOfTheirQueue) {
  for (const std::string_view policy : {"fit", "orrery"}) {
    SCOPED_TRACE(policy);
    cluster_ = FakeCluster();
    cluster_.add_nodes(2, 8);
    use(policy, "a limit=8; b");
    const JobId wide = submit(1, in("a").replicas(1, 16).preemptible()).front();
    for (int i = 0; i < 4; ++i) pass(60);
    EXPECT_EQ(cluster_.replicas(wide), 8);
    submit(2, in("a").devices(2).preemptible());
    for (int i = 0; i < 4; ++i) pass(60);
    EXPECT_EQ(cluster_.holding().size(), 3U);
    EXPECT_EQ(held("a"), 8);
    EXPECT_EQ(cluster_.replicas(wide), 4);
    EXPECT_EQ(cluster_.preemptions(), 0U);
    // It would have to go as a whole, which is its policy's to say.
    submit(1, in("a").devices(8).preemptible());
    for (int i = 0; i < 4; ++i) pass(60);
    EXPECT_EQ(cluster_.replicas(wide), 4) << "nothing is given in vain";
  }
}

TEST_F(Queues, ElasticJobsMakeRoomForQueuesBesideThemBelowALimit) {
  use("fit", "team limit=8; a parent=team; b parent=team; c");
  const JobId wide = submit(1, in("a").replicas(1, 16).preemptible()).front();
  for (int i = 0; i < 4; ++i) pass(60);
  EXPECT_EQ(cluster_.replicas(wide), 8);
  submit(2, in("b").devices(2).preemptible());
  for (int i = 0; i < 4; ++i) pass(60);
  EXPECT_EQ(held("b"), 4);
  EXPECT_EQ(held("a"), 4);
  submit(1, in("b").devices(2).preemptible());
  for (int i = 0; i < 4; ++i) pass(60);
  EXPECT_EQ(held("a"), 4) << "no more than its share allows";
}

TEST_F(Queues, ElasticJobsMakeRoomBelowTheLimitOfTheirUser) {
  use("fit", "a user_limit=4; b");
  const JobId wide = submit(1, in("a").replicas(1, 16).preemptible()).front();
  JobSpec other = *in("a").replicas(1, 16).preemptible().spec();
  other.name = "other.job";
  const JobId others = cluster_.submit(std::make_shared<const JobSpec>(other));
  for (int i = 0; i < 8; ++i) pass(60);
  EXPECT_EQ(cluster_.replicas(wide), 4);
  EXPECT_EQ(cluster_.replicas(others), 4);
  submit(1, in("a").devices(2).preemptible());
  for (int i = 0; i < 4; ++i) pass(60);
  EXPECT_EQ(cluster_.replicas(wide), 2);
  EXPECT_EQ(cluster_.replicas(others), 4) << "another user's";
}

TEST_F(Queues, AJobThatItsUsersLimitBlocksStopsNoGrowth) {
  use("fit", "patience=864000s; a; b guarantee=8 user_limit=4");
  submit(1, in("a").replicas(1, 16).preemptible());
  pass(60);
  submit_of("bob", in("b").devices(4).preemptible());
  submit_of("bob", in("b").devices(2).preemptible());
  const JobId late = submit_of("eve", in("b").replicas(1, 4).preemptible());
  for (int i = 0; i < 4; ++i) pass(60);
  EXPECT_EQ(cluster_.replicas(late), 4);
  EXPECT_EQ(held("a"), 8);
}

TEST_F(Queues, ManyBlockedJobsDoNotKeepTheOneBehindThemFromItsClaim) {
  use("fit", "patience=864000s; a; b guarantee=8 user_limit=4");
  submit(16, in("a").preemptible());
  pass(60);
  for (int i = 0; i < 40; ++i) submit_of("bob", in("b").devices(4).preemptible());
  const JobId last = submit_of("eve", in("b").devices(4).preemptible());
  pass(60);
  EXPECT_TRUE(cluster_.row(last).holds) << "a guarantee is denied for one period at most";
  EXPECT_EQ(held("b"), 8);
}

TEST_F(Queues, NothingIsTakenForGrowthThatAQuotaForbids) {
  use("fit", "patience=864000s; a; b");
  cluster_.set_quota("b", 4);
  const JobId wide = submit(1, in("a").replicas(1, 16).preemptible()).front();
  pass(60);
  const JobId late = submit(1, in("b").replicas(1, 16).preemptible()).front();
  for (int i = 0; i < 4; ++i) pass(60);
  EXPECT_EQ(cluster_.replicas(late), 4);
  EXPECT_EQ(cluster_.replicas(wide), 12) << "nothing is idle for what may not grow";
}

// Elastic jobs grow into what a queue would be dealt for jobs that nobody else can help.
TEST_F(Queues, WhatIsAskedForInVainIsLentToGrow) {
  struct Case {
    const char* tree;
    const char* why;
  };

  for (const auto& [tree, why] : {Case{"a limit=8; b", "the limit of its queue"},
                                  Case{"a user_limit=8; b", "its user's limit"},
                                  Case{"p limit=3; a parent=p; b", "less above than it needs"}}) {
    SCOPED_TRACE(why);
    cluster_ = FakeCluster();
    cluster_.add_nodes(2, 8);
    use("fit", tree);
    if (std::string_view(tree).starts_with("a")) submit(1, in("a").devices(6).preemptible());
    submit(1, in("a").devices(4).preemptible());
    const JobId wide = submit(1, in("b").replicas(1, 16).preemptible()).front();
    for (int i = 0; i < 4; ++i) pass(60);
    EXPECT_EQ(held("a") + cluster_.replicas(wide), 16);
    EXPECT_LE(held("a"), 6);
  }
}

TEST_F(Queues, WhatAQuotaForbidsIsLentToGrow) {
  use("fit", "a; b");
  cluster_.set_quota("a", 4);
  submit(1, in("a").replicas(1, 16).preemptible());
  submit(1, in("a").devices(8).preemptible());
  const JobId wide = submit(1, in("b").replicas(1, 16).preemptible()).front();
  for (int i = 0; i < 4; ++i) pass(60);
  EXPECT_EQ(held("a"), 4);
  EXPECT_EQ(cluster_.replicas(wide), 12);
}

// Fixed jobs hold four of the eight that are not guaranteed; another five would be too many.
TEST_F(Queues, WhatIsGuaranteedToOthersIsNotKeptForAFixedJob) {
  use("fit", "a; b guarantee=8; c weight=0");
  submit(1, in("a").devices(4));
  submit(1, in("a").devices(5));
  const JobId wide = submit(1, in("c").replicas(1, 16).preemptible()).front();
  for (int i = 0; i < 4; ++i) pass(60);
  EXPECT_EQ(cluster_.replicas(wide), 12);
}

TEST_F(Queues, AJobThatOthersKeepBelowALimitAboveIsHelped) {
  use("fit", "p limit=8; a parent=p; b parent=p; c");
  submit(1, in("b").replicas(1, 16).preemptible());
  submit(1, in("c").replicas(1, 16).preemptible());
  pass(60);
  pass(60);
  const JobId late = submit(1, in("a").devices(4).preemptible()).front();
  pass(60);
  pass(60);
  EXPECT_TRUE(cluster_.row(late).holds);
  EXPECT_EQ(held("b"), 4);
}

TEST_F(Queues, AGangWiderThanItsShareRunsInTurn) {
  use("fifo", "patience=600s; a; b");
  submit(30, in("b").preemptible());
  const JobId wide = submit(1, in("a").devices(8).replicas(2).preemptible()).front();
  pass(60);
  EXPECT_EQ(cluster_.replicas(wide), 0) << "its share is half of that";
  int first = 0;
  int minutes = 0;
  int of_b = 0;
  for (int minute = 1; minute <= 240; ++minute) {
    pass(60);
    if (cluster_.replicas(wide) == 2 && minutes++ == 0) first = minute;
    of_b += held("b") == 16 ? 1 : 0;
  }
  EXPECT_LE(first, 12);
  EXPECT_NEAR(minutes, 120, 20) << "half of the time";
  EXPECT_EQ(minutes + of_b, 240) << "and b has the other half";
}

class QueuesInTurn : public Queues, public ::testing::WithParamInterface<const char*> {};

// A turn is one job's: the others of the queue stay within its share, however many wait.
TEST_P(QueuesInTurn, AreGivenOneJobMoreAndNotTheCluster) {
  use(GetParam(), "patience=600s; a; b weight=3");
  submit(30, in("b").preemptible());
  submit(10, in("a").devices(3).preemptible());
  std::int32_t most = 0;
  std::int64_t sum = 0;
  for (int minute = 0; minute < 240; ++minute) {
    pass(60);
    most = std::max(most, held("a"));
    sum += held("a");
  }
  // It is entitled to 6 with a turn, and to as much with what it is owed; its last job may cross
  // it.
  EXPECT_LE(most, 9);
  EXPECT_NEAR(static_cast<double>(sum) / 240, 4, 0.2);
}

INSTANTIATE_TEST_SUITE_P(Policies,
                         QueuesInTurn,
                         ::testing::Values("fifo", "fit", "las", "easy", "orrery"));

TEST_P(QueuesInTurn, MoveOneDeviceAtATime) {
  use(GetParam(), "patience=1800s; a; b; c");
  const std::vector<std::string> queues{"a", "b", "c"};
  for (const std::string& queue : queues) submit(16, in(queue).preemptible());
  for (int minute = 0; minute < 60; ++minute) pass(60);
  std::int32_t gained = 0;
  for (int minute = 60; minute < 1440; ++minute) {
    std::map<std::string, std::int32_t> before;
    for (const std::string& queue : queues) before[queue] = held(queue);
    pass(60);
    for (const std::string& queue : queues) {
      EXPECT_GE(held(queue), 4) << "minute " << minute;
      EXPECT_LE(held(queue), 7) << "minute " << minute;
      gained += std::max(0, held(queue) - before[queue]);
    }
  }
  EXPECT_LE(gained, 1380 / 20) << "shares are 5 and a third";
}

// Of two queues whose jobs are of 16 and of one device, the wide one would come and go with each
// device that the other one misses.
TEST_F(Queues, AWideJobDoesNotGoForAFractionOfIt) {
  use("fifo", "patience=1800s; a weight=15; b");
  const JobBuilder long_one = job().preemptible().estimate(10'000'000);
  const JobId wide = submit(1, JobBuilder(long_one).group("a").devices(8).replicas(2)).front();
  submit(16, JobBuilder(long_one).group("b"));
  std::int64_t minutes = 0;
  for (int minute = 0; minute < 4800; ++minute) {
    pass(60);
    minutes += cluster_.replicas(wide) == 2 ? 1 : 0;
  }
  EXPECT_NEAR(static_cast<double>(minutes) / 4800, 15.0 / 16, 0.01);
  EXPECT_LE(cluster_.row(wide).preemptions, 4800 / (30 * 16));
}

TEST_F(Queues, AJobThatIsWiderThanWhatIsLeftOfTheClusterStopsNobody) {
  use("fifo", "patience=600s; a; b");
  cluster_.set_usable(NodeId{1}, false);
  const JobId wide = submit(1, in("a").devices(8).replicas(2)).front();
  for (int minute = 0; minute < 120; ++minute) pass(60);
  const JobId small = submit(1, in("b").devices(8)).front();
  EXPECT_EQ(cluster_.replicas(small), 1);
  cluster_.end_now(small);
  cluster_.set_usable(NodeId{1}, true);
  pass(60);
  EXPECT_EQ(cluster_.replicas(wide), 2);
}

TEST_F(Queues, ATurnEndsWhereItsJobMayBorrowNoLonger) {
  use("fifo", "patience=300s; owner guarantee=1; wide; small");
  const JobId run = submit(1, in("owner")).front();
  const JobId never = submit(1, in("wide").devices(8).replicas(2)).front();
  for (int minute = 0; minute < 30; ++minute) pass(60);
  cluster_.end_now(run);
  for (int minute = 0; minute < 30; ++minute) pass(60);
  const JobId other = submit(1, in("small").devices(8)).front();
  pass(60);
  EXPECT_EQ(cluster_.replicas(other), 1) << "nobody else asks for what is idle";
  EXPECT_EQ(cluster_.replicas(never), 0) << "a device is guaranteed to another queue";
}

// A fixed job runs for a day, so that the turns of the gang are in vain until then.
TEST_F(Queues, TurnsInVainLetOthersHaveTheirsUntilTheyAreLongEnough) {
  use("fifo", "patience=600s; a; b; c");
  const JobId day = submit(1, in("a")).front();
  const JobId gang = submit(1, in("b").devices(8).replicas(2)).front();
  int ran = 0;
  for (int minute = 0; minute < 2880 && cluster_.replicas(gang) == 0; ++minute) {
    // More than the share of its queue.
    if (held("c") == 0 && minute % 60 == 0) submit(1, in("c").devices(7));
    if (minute == 1440) cluster_.end_now(day);
    pass(60);
    for (const JobId id : cluster_.holding())
      if (*cluster_.job(id).spec.group == "c" &&
          cluster_.now() - cluster_.row(id).allocated_at >= Duration::seconds(900)) {
        cluster_.end_now(id);
        ++ran;
        break;
      }
  }
  EXPECT_EQ(cluster_.replicas(gang), 2) << "a turn is long enough in the end";
  EXPECT_GE(ran, 6) << "others had theirs meanwhile";
}

TEST_F(Queues, ATurnShieldsNothingFromWhatIsGuaranteedToOthers) {
  use("fifo", "own guarantee=4; b; c weight=2");
  submit(12, in("b").preemptible());
  submit(12, in("c").preemptible());
  submit(1, in("own").devices(4));
  policies::QueueBooks books(parsed_queues("own guarantee=4; b; c weight=2").value());
  books.begin(cluster_);
  const std::uint32_t own = books.tree().queue_of("own");
  const std::uint32_t b = books.tree().queue_of("b");
  ASSERT_EQ(books.used(b), 12'000);
  EXPECT_TRUE(books.owes(b, {own}));
  books.give_turn({b, 16'000});
  EXPECT_EQ(books.share(b), 12'000);
  EXPECT_FALSE(books.owes(b, {own})) << "what it has for its turn";
  EXPECT_TRUE(books.owes(b, {.queue = own, .guaranteed = own}))
      << "more than it is entitled to without";
}

TEST_F(Queues, TheMeanOfUseIsTheShareThoughJobsAreWide) {
  use("fifo", "a weight=3; b weight=2");
  submit(8, in("a").devices(8).preemptible());
  submit(8, in("b").devices(8).preemptible());
  std::int64_t of_a = 0;
  for (int minute = 0; minute < 1440; ++minute) {
    pass(60);
    of_a += held("a");
  }
  EXPECT_NEAR(static_cast<double>(of_a) / 1440, 9.6, 0.2);
}

TEST_F(Queues, SmallJobsMoveTogetherForAWideOne) {
  use("fifo", "a; b");
  submit(16, in("b").preemptible().estimate(100'000));
  pass(60);
  use("fifo", "a guarantee=8; b limit=8");
  cluster_.everything_changed();
  submit(1, in("a").devices(8).preemptible());
  for (int i = 0; i < 3; ++i) pass(60);
  EXPECT_EQ(held("a"), 8);
  EXPECT_EQ(held("b"), 8);
}

TEST_F(Queues, ThePolicyChoosesInsideAQueue) {
  use("srtf", "a; b");
  const auto slow = submit(8, in("a").preemptible());
  submit(8, in("b").preemptible());
  pass(60);
  const auto quick = submit(8, job().group("a").estimate(50).preemptible());
  plan();
  for (const JobId id : quick) EXPECT_EQ(cluster_.replicas(id), 1);
  for (const JobId id : slow) EXPECT_EQ(cluster_.replicas(id), 0);
  EXPECT_EQ(held("b"), 8) << "of its own jobs alone";
}

// When the head of a queue fits, jobs of other queues say as well.
class QueuesWithAHead : public Queues, public ::testing::WithParamInterface<const char*> {};

TEST_P(QueuesWithAHead, CountsOnTheEndsOfOtherQueuesJobs) {
  use(GetParam(), "a; b");
  const JobId other = submit(1, in("a").devices(8).estimate(7'200)).front();
  submit(1, in("b").devices(8).replicas(2));
  pass(3'700);
  const JobId too_long = submit(1, in("b").devices(2).estimate(90'000)).front();
  const JobId short_one = submit(1, in("b").devices(4).estimate(1'000)).front();
  pass(60);
  EXPECT_TRUE(cluster_.row(other).holds);
  EXPECT_TRUE(cluster_.row(short_one).holds) << "it ends before the head can start";
  EXPECT_FALSE(cluster_.row(too_long).holds) << "it would hold the head up";
}

INSTANTIATE_TEST_SUITE_P(Policies, QueuesWithAHead, ::testing::Values("easy", "orrery"));

TEST_F(Queues, PastUseIsMadeUpFor) {
  use("fifo", "half_life=3600s; a; b");
  submit(16, in("a").preemptible());
  for (int i = 0; i < 60; ++i) pass(60);
  submit(16, in("b").preemptible());
  pass(60);
  EXPECT_GT(held("b"), 9) << "b had nothing for an hour";
  EXPECT_LT(held("a"), 7);
}

TEST_F(Queues, TreesAreRefusedWhole) {
  const auto made = policies::make_policy(
      "las", {.parameters = {{"queues", "a parent=b; b parent=a"}, {"quantum", "x"}}});
  ASSERT_FALSE(made);
  ASSERT_EQ(made.errors().size(), 3U);
  EXPECT_EQ(made.errors()[0].subject, "policy.quantum");
  EXPECT_EQ(made.errors()[1].subject, "policy.queues");
}

}  // namespace
}  // namespace orrery
