// Rounds whose jobs are chosen before they begin.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/policies/ask.hpp"

namespace orrery::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// Rounds of 120 s that begin at multiples of it.
class RoundsAhead : public ::testing::TestWithParam<std::string> {
 protected:
  std::unique_ptr<Policy> with_ahead(const std::string& ahead) const {
    std::map<std::string, std::string> parameters{{"round", "120s"}, {"choose_ahead", ahead}};
    if (GetParam() != "shockwave") parameters["at_once"] = "true";
    return policy(GetParam(), parameters);
  }

  JobId submit(double work_s, std::int32_t priority = 0) {
    return cluster_.submit(job().preemptible().estimate(work_s).priority(priority));
  }

  /// Asks at `at_s`, carries the plan out, and says who started.
  std::vector<JobId> started(Policy& policy, std::int64_t at_s) {
    cluster_.advance_to(Instant::zero() + Duration::seconds(at_s));
    return started_by_optimize(cluster_, policy);
  }

  FakeCluster cluster_;
};

TEST_P(RoundsAhead, WhoComesAfterTheChoiceIsNotInTheRound) {
  for (const std::string ahead : {"0s", "60s"}) {
    cluster_ = FakeCluster();
    cluster_.add_nodes(1, 1);
    const auto policy = with_ahead(ahead);
    const JobId first = submit(10'000);
    EXPECT_THAT(started(*policy, 120), ElementsAre(first));
    EXPECT_THAT(started(*policy, 180), IsEmpty()) << "its device is taken";
    cluster_.advance(20);
    const JobId urgent = submit(10'000, 1);
    EXPECT_THAT(started(*policy, 200), IsEmpty()) << "the round goes on";
    const std::vector<JobId> next = started(*policy, 240);
    if (ahead == "0s") {
      EXPECT_THAT(next, ElementsAre(urgent));
      continue;
    }
    EXPECT_THAT(next, IsEmpty()) << "it was chosen at 180 s who runs";
    EXPECT_TRUE(runs(cluster_, first));
    EXPECT_THAT(started(*policy, 300), IsEmpty());
    EXPECT_THAT(started(*policy, 360), ElementsAre(urgent));
    EXPECT_THAT(cluster_.violations(), IsEmpty());
  }
}

TEST_P(RoundsAhead, WhoIsChosenStartsAsSoonAsDevicesAreFree) {
  cluster_.add_nodes(1, 2);
  const auto policy = with_ahead("60s");
  submit(10'000, 1);
  submit(30, 1);
  const JobId third = submit(100);
  EXPECT_THAT(started(*policy, 120).size(), 2U);
  EXPECT_THAT(started(*policy, 150), IsEmpty()) << "one has ended, nobody is chosen yet";
  EXPECT_THAT(started(*policy, 180), ElementsAre(third)) << "before its round begins";
  EXPECT_THAT(started(*policy, 240), IsEmpty()) << "it runs already";
  EXPECT_TRUE(runs(cluster_, third));
  EXPECT_THAT(cluster_.violations(), IsEmpty());
}

TEST_P(RoundsAhead, AStartThatWasLostIsAskedForAgain) {
  cluster_.add_nodes(1, 2);
  const auto policy = with_ahead("60s");
  submit(10'000, 1);
  submit(30, 1);
  const JobId third = submit(100);
  EXPECT_THAT(started(*policy, 120).size(), 2U);
  cluster_.advance(60);
  EXPECT_FALSE(cluster_.ask_optimize(*policy).empty()) << "and not carried out";
  EXPECT_THAT(started(*policy, 200), ElementsAre(third));
}

TEST_P(RoundsAhead, WhatComesFreeAfterTheChoiceWaitsForTheNextOne) {
  cluster_.add_nodes(1, 2);
  const auto policy = with_ahead("60s");
  submit(10'000, 1);
  submit(90, 1);
  const JobId third = submit(1'000);
  EXPECT_THAT(started(*policy, 120).size(), 2U);
  EXPECT_THAT(started(*policy, 180), IsEmpty()) << "the same two are chosen";
  EXPECT_THAT(started(*policy, 210), IsEmpty()) << "one of them has ended";
  EXPECT_THAT(started(*policy, 240), IsEmpty()) << "and was chosen for this round";
  EXPECT_THAT(started(*policy, 300), ElementsAre(third));
}

// A failover, say, keeps cycles away until jobs are to be chosen for the round after.
TEST_P(RoundsAhead, ALateCallBeginsTheRoundAtHand) {
  cluster_.add_nodes(1, 1);
  const auto policy = with_ahead("60s");
  const JobId first = submit(10'000);
  EXPECT_THAT(started(*policy, 120), ElementsAre(first));
  cluster_.advance(20);
  const JobId urgent = submit(10'000, 1);
  EXPECT_THAT(started(*policy, 180), IsEmpty());
  cluster_.advance(20);
  submit(10'000, 2);
  EXPECT_THAT(started(*policy, 310), ElementsAre(urgent)) << "it was chosen at 180 s";
}

TEST_P(RoundsAhead, AreSavedWithWhoIsChosen) {
  cluster_.add_nodes(1, 1);
  auto policy = with_ahead("60s");
  const JobId first = submit(10'000);
  EXPECT_THAT(started(*policy, 120), ElementsAre(first));
  EXPECT_THAT(started(*policy, 180), IsEmpty());
  ByteWriter out;
  policy->save(out);
  policy = with_ahead("60s");
  ByteReader in(out.bytes());
  policy->load(in);
  EXPECT_TRUE(in.ok());
  cluster_.everything_changed();
  submit(10'000, 1);
  EXPECT_THAT(started(*policy, 240), IsEmpty()) << "it was chosen at 180 s who runs";
  EXPECT_TRUE(runs(cluster_, first));
}

TEST_P(RoundsAhead, AreNoLongerThanTheRoundAndInWholeSeconds) {
  for (const std::string ahead : {"120s", "200s", "500ms"}) {
    const auto made = policies::make_policy(
        GetParam(), {.parameters = {{"round", "120s"}, {"choose_ahead", ahead}}});
    ASSERT_FALSE(made) << ahead;
    EXPECT_EQ(made.errors().front().subject, "policy.choose_ahead");
  }
}

INSTANTIATE_TEST_SUITE_P(Policies,
                         RoundsAhead,
                         ::testing::Values("gavel_isolated", "shockwave"),
                         [](const auto& row) { return row.param; });

// With its time in the present round counted, a job that runs is behind one that waits as much as
// it has run longer; one that has had its share so far is not yet.
TEST(RoundsAheadOfGavel, TheTimeOfTheRoundThatGoesOnCounts) {
  FakeCluster cluster;
  cluster.add_nodes(1, 1);
  const auto policy = testing::policy(
      "gavel_isolated", {{"round", "120s"}, {"choose_ahead", "60s"}, {"at_once", "true"}});
  const auto submit = [&] { return cluster.submit(job().preemptible().estimate(10'000)); };
  const auto running = [&](std::int64_t at_s) {
    cluster.advance_to(Instant::zero() + Duration::seconds(at_s));
    cluster.carry_out(cluster.ask_optimize(*policy));
    return cluster.holding().front();
  };
  const JobId first = submit();
  const JobId second = submit();
  EXPECT_EQ(running(120), first);
  EXPECT_EQ(running(180), first);
  EXPECT_EQ(running(240), second) << "chosen when the first had had 60 s more";
  EXPECT_EQ(running(300), second);
  EXPECT_EQ(running(360), second) << "chosen when it had had 60 s, the first 120 s";
  EXPECT_EQ(running(420), second);
  EXPECT_EQ(running(480), first) << "chosen when it had had 180 s, the first 120 s";
}

TEST(RoundsAheadOfGavel, StartsThatWereLostAreNoTime) {
  FakeCluster cluster;
  cluster.add_nodes(1, 2);
  const auto policy = testing::policy(
      "gavel_isolated", {{"round", "120s"}, {"choose_ahead", "60s"}, {"at_once", "true"}});
  const auto submit = [&](double work_s, std::int32_t priority) {
    return cluster.submit(job().preemptible().estimate(work_s).priority(priority));
  };
  const auto ask = [&](std::int64_t at_s) {
    cluster.advance_to(Instant::zero() + Duration::seconds(at_s));
    return started_by_optimize(cluster, *policy);
  };
  submit(10'000, 1);
  submit(30, 1);
  const JobId third = submit(10'000, 0);
  const JobId fourth = submit(10'000, 0);
  EXPECT_THAT(ask(120).size(), 2U);
  cluster.advance(60);
  for (int times = 0; times < 50; ++times, cluster.advance(1))
    EXPECT_EQ(cluster.ask_optimize(*policy).grants.size(), 1U) << "and it is not carried out";
  EXPECT_THAT(ask(230), ElementsAre(third));
  EXPECT_THAT(ask(240), IsEmpty());
  EXPECT_THAT(ask(300), IsEmpty());
  EXPECT_THAT(ask(360), ElementsAre(fourth)) << "it has had no time yet";
  EXPECT_THAT(ask(420), IsEmpty());
  EXPECT_THAT(ask(480), IsEmpty()) << "chosen when it had had 60 s, the other 130 s";
  EXPECT_THAT(ask(540), IsEmpty());
  EXPECT_THAT(ask(600), ElementsAre(third)) << "chosen when the fourth had had 180 s";
}

}  // namespace
}  // namespace orrery::testing
