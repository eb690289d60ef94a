// Submissions, their names, and the declaration of nodes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/controller_harness.hpp"

namespace orrery::tests {
namespace {

using testing::HasSubstr;

TEST(Submission, ANameIsUniqueAmongLiveJobs) {
  ControllerHarness h({nodes_of(1, 4)});
  const JobId first = h.running(job("a"), 1);
  EXPECT_TRUE(h.submit(job("a")).is_none());
  EXPECT_THAT(h.last_answer().message, HasSubstr("default.a"));
  EXPECT_EQ(h.reports_ignored(Ignored::AlreadyKnown), 1u);
  h.succeed(first, 0);
  const JobId second = h.submit(job("a"));
  EXPECT_FALSE(second.is_none());
  EXPECT_EQ(h.controller.state().named("default.a"), second);
}

TEST(Submission, ARepeatedRequestIsAnsweredAgainAndAcceptedOnce) {
  ControllerHarness h({nodes_of(1, 4)});
  const JobId first = h.submit(900, job("a"));
  EXPECT_EQ(h.submit(900, job("a")), first);
  EXPECT_TRUE(h.last_answer().accepted);
  h.plan(Plan{});
  h.step(StopRequested{0, first});
  EXPECT_EQ(h.submit(900, job("a")), first) << "also when the job is over";
  EXPECT_EQ(h.controller.state().totals.submitted, 1u);
}

TEST(Submission, ALoadedStateKnowsTheYoungestOfAName) {
  ControllerHarness h({nodes_of(1, 4)});
  h.succeed(h.running(job("a"), 1), 0);
  const JobId second = h.submit(job("a"));
  Controller loaded;
  const std::string bytes = bytes_of(h.controller.state());
  ByteReader in(bytes);
  ASSERT_TRUE(loaded.load(in, kRecordVersion));
  EXPECT_EQ(loaded.state().named("default.a"), second);
}

TEST(Submission, ABadSpecificationIsRefusedWithAllThatIsWrong) {
  ControllerHarness h({nodes_of(1, 4)});
  JobBuilder builder = job("a").replicas(0).devices(99);
  EXPECT_TRUE(h.submit(builder).is_none());
  EXPECT_FALSE(h.last_answer().accepted);
  EXPECT_THAT(h.last_answer().message, HasSubstr("min_replicas"));
  EXPECT_THAT(h.last_answer().message, HasSubstr("devices"));
  EXPECT_EQ(h.reports_ignored(Ignored::BadSpecification), 1u);
  EXPECT_TRUE(h.submit(job("b").replicas(1, 2'000'000'000)).is_none()) << "sums would overflow";
}

TEST(Submission, TheOperatorsFamilyFailsABadSpecificationAtRunTime) {
  ControllerHarness h({nodes_of(1, 4)});
  const JobId id = h.submit(job("a").family(JobFamily::Tasks).role("worker", 1));
  ASSERT_FALSE(id.is_none());
  EXPECT_EQ(h.phase(id), JobPhase::Failed);
  EXPECT_EQ(h.job(id).reason, Reason::InvalidSpec);
}

TEST(Submission, AJobOfTheOperatorsFamilyWithoutRolesIsRefusedAtOnce) {
  ControllerHarness h({nodes_of(1, 4)});
  JobBuilder none = job("a").family(JobFamily::Tasks);
  none.raw().roles.clear();
  EXPECT_TRUE(h.submit(none).is_none());
  EXPECT_THAT(h.last_answer().message, HasSubstr("role"));
  EXPECT_EQ(h.controller.state().next_job(), JobId{0});
}

TEST(Submission, AJobThatCanNeverFitIsNotOfferedUntilNodesCome) {
  ControllerHarness h({nodes_of(2, 4)});
  const JobId id = h.submit(job("a").replicas(3).devices(4));
  EXPECT_TRUE(h.row(id).infeasible);
  EXPECT_EQ(h.job(id).reason, Reason::Infeasible);
  EXPECT_TRUE(h.controller.state().waiting.empty());
  h.step(NodesDeclared{{nodes_of(1, 8)}});
  EXPECT_FALSE(h.row(id).infeasible);
  EXPECT_NE(h.job(id).reason, Reason::Infeasible);
  EXPECT_EQ(h.controller.state().waiting.front(), id);
}

TEST(Submission, RolesThatTheNodesCannotHoldTogetherAreNotOffered) {
  ControllerHarness h({nodes_of(3, 2)});
  const JobId id = h.submit(job("a").replicas(4).role("side", 4));
  EXPECT_TRUE(h.row(id).infeasible) << "each fits by itself, both need 8 devices of 6";
  EXPECT_EQ(h.job(id).reason, Reason::Infeasible);
  EXPECT_TRUE(h.controller.state().waiting.empty());
  // As many devices as there are, in pieces that no two nodes hold.
  const JobId pieces = h.submit(job("b").replicas(3).devices(1).role("pair", 1, 2).role("one", 1));
  EXPECT_FALSE(h.row(pieces).infeasible);
  const JobId odd = h.submit(job("c").replicas(1).role("pair", 3, 2));
  EXPECT_TRUE(h.row(odd).infeasible) << "7 devices";
  h.step(NodesDeclared{{nodes_of(1, 2)}});
  EXPECT_FALSE(h.row(id).infeasible);
  EXPECT_FALSE(h.row(odd).infeasible);
  EXPECT_EQ(h.controller.state().waiting.front(), id);
}

TEST(Submission, RolesWhosePiecesFillNodesBadlyAreNotOffered) {
  ControllerHarness h({nodes_of(2, 4)});
  EXPECT_TRUE(h.row(h.submit(job("a").replicas(2).devices(3).role("pair", 1, 2))).infeasible)
      << "8 devices of 8, but each node has one left beside 3";
  EXPECT_FALSE(h.row(h.submit(job("b").replicas(2).devices(3).role("one", 2))).infeasible);
}

TEST(Submission, AnElasticRoleCountsWithItsLeastBesideOthers) {
  ControllerHarness h({nodes_of(1, 4)});
  EXPECT_FALSE(h.row(h.submit(job("a").elastic(1, 4).role("side", 3))).infeasible);
  EXPECT_TRUE(h.row(h.submit(job("b").elastic(2, 4).role("side", 3))).infeasible);
}

TEST(Submission, PartsOfDevicesOfSeveralRolesAddUp) {
  ControllerHarness h({nodes_of(1, 2)});
  JobBuilder fits = job("a").share(600).role("side", 2);
  fits.raw().roles[1].bundle.share = Share{400};
  EXPECT_FALSE(h.row(h.submit(fits)).infeasible);
  JobBuilder more = job("b").replicas(2).share(600).role("side", 2);
  more.raw().roles[1].bundle.share = Share{500};
  EXPECT_TRUE(h.row(h.submit(more)).infeasible) << "2.2 devices of 2";
}

// A journal from before the rule says the same facts as when it was written.
TEST(Submission, AnOlderLeaderJudgesEachRoleByItself) {
  Settings settings;
  settings.rules = 3;
  ControllerHarness h({nodes_of(3, 2)}, settings);
  EXPECT_FALSE(h.row(h.submit(job("a").replicas(4).role("side", 4))).infeasible);
}

TEST(Submission, AModelThatNoNodeHasIsInfeasible) {
  ControllerHarness h({nodes_of(2, 4)});
  JobBuilder builder = job("a");
  builder.raw().roles[0].bundle.device_model = "tpu";
  EXPECT_TRUE(h.row(h.submit(builder)).infeasible);
}

TEST(Submission, NodesThatCannotBeAreIgnored) {
  ControllerHarness h({nodes_of(1, 4)});
  h.step(NodesDeclared{{nodes_of(1, 65)}});
  h.step(NodesDeclared{{nodes_of(-1, 4)}});
  EXPECT_EQ(h.reports_ignored(Ignored::BadSpecification), 2u);
  EXPECT_EQ(h.controller.state().nodes.size(), 1u);
}

TEST(Names, AnOlderJobHasItsNameAgainOnceTheYoungerIsGone) {
  ControllerHarness h({nodes_of(1, 4)});
  std::vector<JobId> ids;
  for (int i = 0; i < 4; ++i) {
    ids.push_back(h.running(job("a"), 1));
    h.succeed(ids.back(), 0);
  }
  const State& state = h.controller.state();
  const auto remove = [&](JobId id) {
    h.step(DeleteRequested{7, id});
    EXPECT_TRUE(state.find(id) == nullptr || state.job(id).is_forgotten());
    h.step(TimeReached{});
  };
  remove(ids[3]);
  EXPECT_EQ(state.named("default.a"), ids[2]);
  remove(ids[1]);
  EXPECT_EQ(state.job(ids[2]).before, ids[0]) << "one in the middle";
  Controller loaded;
  const std::string bytes = bytes_of(state);
  ByteReader in(bytes);
  ASSERT_TRUE(loaded.load(in, kRecordVersion));
  EXPECT_EQ(loaded.state().named("default.a"), ids[2]) << "as after a takeover";
  EXPECT_EQ(loaded.state().job(ids[2]).before, ids[0]);
  remove(ids[2]);
  EXPECT_EQ(state.named("default.a"), ids[0]);
  remove(ids[0]);
  EXPECT_TRUE(state.named("default.a").is_none());
}

TEST(Declaration, GivesNodesTheirNamesAndRefusesOneThatIsTaken) {
  ControllerHarness h({nodes_of(1, 4)});
  NodeGroup group = nodes_of(2, 4);
  group.node_names = {"n1", "n2"};
  h.step(NodesDeclared{{group}});
  ASSERT_EQ(h.controller.state().nodes.size(), 3u);
  EXPECT_EQ(h.controller.state().nodes[0].name, "");
  EXPECT_EQ(h.controller.state().nodes[2].name, "n2");
  group.node_names = {"n3", "n1"};
  h.step(NodesDeclared{{group}});
  EXPECT_EQ(h.reports_ignored(Ignored::AlreadyKnown), 1u);
  group.node_names = {"n3"};
  h.step(NodesDeclared{{group}});
  EXPECT_EQ(h.reports_ignored(Ignored::BadSpecification), 1u);
  EXPECT_EQ(h.controller.state().nodes.size(), 3u);
}

}  // namespace
}  // namespace orrery::tests
