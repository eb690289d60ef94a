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
