// Nodes that take no workers any more while a change of a job's workers is under way.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "tests/support/controller_harness.hpp"

namespace orrery::tests {
namespace {

using testing::Each;
using testing::Ne;

const Duration kBackoff = Duration::seconds(1);

struct Case {
  const char* name;
  std::function<void(ControllerHarness&, NodeId, std::uint64_t devices)> strike;
};

void PrintTo(const Case& value, std::ostream* out) { *out << value.name; }

/// What becomes of a node that goes on running what it runs.
const Case kCases[]{
    {"excluded",
     [](ControllerHarness& h, NodeId node, std::uint64_t) {
       h.step(ExclusionRequested{1, node, true});
     }},
    {"leaving",
     [](ControllerHarness& h, NodeId node, std::uint64_t) {
       h.step(NodeLeaving{node, h.now + Duration::seconds(600)});
     }},
    {"device_lost",
     [](ControllerHarness& h, NodeId node, std::uint64_t devices) {
       h.step(DevicesLost{node, devices});
     }},
    {"held",
     [](ControllerHarness& h, NodeId node, std::uint64_t) {
       h.step(NodeHeld{node, 0});
     }},
};

std::vector<NodeId> nodes_of_workers(const ControllerHarness& h, JobId id) {
  std::vector<NodeId> nodes;
  for (const Worker& worker : h.job(id).workers) nodes.push_back(worker.node);
  return nodes;
}

class UnusableNode : public testing::TestWithParam<std::tuple<Case, RecoveryScope>> {
 protected:
  void strike(ControllerHarness& h, NodeId node, std::uint64_t devices) const {
    std::get<Case>(GetParam()).strike(h, node, devices);
  }

  RecoveryScope scope() const { return std::get<RecoveryScope>(GetParam()); }
};

TEST_P(UnusableNode, TakesNoWorkerThatWaitsForItsBackoff) {
  ControllerHarness h({nodes_of(3, 2)});
  const JobId id =
      h.running(job("a").replicas(2).recovery(scope()).limit(3), 2, {on(0, 1), on(1, 1)});
  const std::uint64_t devices = h.job(id).workers[0].devices;
  h.fail(id, 0);
  h.stop_all();
  ASSERT_EQ(h.phase(id), JobPhase::Restarting);
  strike(h, NodeId{0}, devices);
  EXPECT_EQ(h.phase(id), JobPhase::Restarting);
  h.pass(kBackoff);
  h.settle();
  EXPECT_EQ(h.phase(id), JobPhase::Running);
  EXPECT_THAT(nodes_of_workers(h, id), Each(Ne(NodeId{0})));
  EXPECT_EQ(h.row(id).restarts, 1u) << "charged once";
  EXPECT_EQ(h.row(id).node_losses, 0u) << "nothing was lost";
  EXPECT_LE(h.job(id).failover->job_restarts, 1u);
}

TEST_P(UnusableNode, TakesNoWorkerThatWaitsForAPlaceThere) {
  ControllerHarness h({nodes_of(2, 2)});
  const JobId first =
      h.running(job("first").replicas(2).recovery(scope()).preemptible(), 2, {on(0, 2)});
  const JobId second = h.submit(job("second").recovery(scope()));
  h.plan(grant(first, 0) + grant(second, 1, {on(0, 1)}));
  ASSERT_EQ(h.job(second).blocked, 1u) << "what it waits for still stops";
  strike(h, NodeId{0}, 1);
  h.stop_all();
  EXPECT_EQ(h.phase(second), JobPhase::Pending);
  EXPECT_FALSE(h.row(second).holds) << "it waits for another plan";
}

INSTANTIATE_TEST_SUITE_P(Kinds,
                         UnusableNode,
                         testing::Combine(testing::ValuesIn(kCases),
                                          testing::Values(RecoveryScope::Worker,
                                                          RecoveryScope::Role,
                                                          RecoveryScope::Job)),
                         [](const auto& each) {
                           return std::string(std::get<Case>(each.param).name) + "_" +
                                  std::string(to_string(std::get<RecoveryScope>(each.param)));
                         });

TEST(UnusableNodes, OlderRulesKeepThePlace) {
  Settings older;
  older.rules = 3;
  ControllerHarness h({nodes_of(2, 2)}, older);
  const JobId id = h.running(job("a").limit(3), 1, {on(0, 1)});
  h.fail(id, 0);
  h.step(ExclusionRequested{1, NodeId{0}, true});
  h.pass(kBackoff);
  h.settle();
  EXPECT_EQ(h.job(id).workers[0].node, NodeId{0});
}

TEST(UnusableNodes, WithoutOtherRoomTheJobWaitsAgain) {
  ControllerHarness h({nodes_of(2, 2)});
  const JobId id = h.running(job("a").replicas(4).limit(3), 4);
  h.fail(id, 0);
  h.step(ExclusionRequested{1, h.job(id).workers[0].node, true});
  h.pass(kBackoff);
  h.stop_all();
  EXPECT_EQ(h.phase(id), JobPhase::Pending);
  EXPECT_EQ(h.processes_of(id), 0u);
}

TEST(UnusableNodes, ARecoveryThatLeftTheJobSmallerBeginsAgainFromTheQueue) {
  ControllerHarness h({nodes_of(3, 1)});
  const JobId id = h.running(job("a").elastic(1, 3).no_unknown().limit(3), 3);
  h.fail(id, 1);
  h.node_down(2);
  ASSERT_EQ(h.phase(id), JobPhase::Restarting);
  ASSERT_EQ(h.job(id).next.size(), 2u) << "there is no other node";
  ASSERT_TRUE(h.job(id).workers[0].is_alive());
  h.step(ExclusionRequested{1, NodeId{1}, true});
  h.pass(kBackoff);
  h.stop_all();
  EXPECT_EQ(h.phase(id), JobPhase::Pending);
  h.plan(grant(id, 1));
  h.settle();
  EXPECT_THAT(nodes_of_workers(h, id), testing::ElementsAre(NodeId{0}));
}

TEST(UnusableNodes, WhoRunsOnALeavingNodeMovesWhenTheRecoveryIsDone) {
  ControllerHarness h({nodes_of(3, 2)});
  const JobId id = h.running(job("a").replicas(2).limit(3), 2, {on(0, 1), on(1, 1)});
  h.fail(id, 0);
  h.step(NodeLeaving{NodeId{1}, h.now + Duration::seconds(600)});
  EXPECT_EQ(h.job(id).workers[1].node, NodeId{1});
  h.pass(kBackoff);
  h.settle();
  EXPECT_EQ(h.phase(id), JobPhase::Running);
  EXPECT_THAT(nodes_of_workers(h, id), Each(Ne(NodeId{1})));
  EXPECT_EQ(h.row(id).preemptions, 1u) << "as at once, were it not in a recovery";
}

TEST(UnusableNodes, ANodeThatTakesWorkersAgainInTimeKeepsThem) {
  ControllerHarness h({nodes_of(2, 2)});
  const JobId id = h.running(job("a").limit(3), 1, {on(0, 1)});
  h.fail(id, 0);
  h.step(ExclusionRequested{1, NodeId{0}, true});
  h.step(ExclusionRequested{2, NodeId{0}, false});
  h.pass(kBackoff);
  h.settle();
  EXPECT_EQ(h.job(id).workers[0].node, NodeId{0});
}

}  // namespace
}  // namespace orrery::tests
