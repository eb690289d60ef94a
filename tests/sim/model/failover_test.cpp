// Failover in the model world: a role's sub-master leads, and nodes are replaced.
#include <gmock/gmock.h>

#include "tests/sim/model/world_harness.hpp"

namespace orrery::tests {
namespace {

using scenarios::FaultKind;
using scenarios::RoleArrow;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr RoleIndex kWorkers{0};
constexpr RoleIndex kMaster{1};

/// Two workers on nodes 0 and 1, and their sub-master, rank 2, on node 2.
class SubMasters : public testing::Test {
 protected:
  void play(std::vector<scenarios::Fault> faults = {}) {
    JobSpec spec = job("train").replicas(2).follower("master", 1).spec();
    spec.roles[1].master_of = kWorkers;
    world_.emplace(four_nodes(std::move(faults)), std::vector{modelled(spec, 1000)});
    world().pass_to(0);
    world().start(1, 0, 2, {0, 0, 1});
    world().pass_to(10);
  }

  WorldHarness& world() { return *world_; }

  void tell(SubMasterOrder word, std::uint32_t incarnation = 1) {
    world().issue(
        TellSubMaster{JobId{0}, kWorkers, kMaster, NodeId{2}, Incarnation{incarnation}, 1, word});
    world().pass_to(world().world.now().in_seconds());
  }

  std::vector<SubMasterMessage> said() {
    std::vector<SubMasterMessage> out;
    for (const auto& [at, said] : world().of<SubMasterSaid>()) out.push_back(said.word);
    return out;
  }

  std::size_t masters() {
    const auto all = world().world.cluster().living();
    return static_cast<std::size_t>(std::count_if(
        all.begin(), all.end(), [](const sim::LivingProcess& p) { return p.role == kMaster; }));
  }

  static scenarios::Fault crash_at(RoleArrow arrow, std::int32_t times = 1) {
    scenarios::Fault fault = fault_at(0, FaultKind::SubMasterCrash);
    fault.job = "default.train";
    fault.worker.role = "worker";
    fault.arrow = arrow;
    fault.times = times;
    return fault;
  }

 private:
  std::optional<WorldHarness> world_;
};

TEST_F(SubMasters, ASubMasterIsNoneOfTheWorkers) {
  play();
  EXPECT_EQ(world().job().world_size, 2u);
  EXPECT_EQ(world().done(), 20);
}

TEST_F(SubMasters, LeadsItsRoleThroughTheProtocol) {
  play();
  tell(SubMasterOrder::Recover);
  EXPECT_THAT(said(), ElementsAre(SubMasterMessage::AskState));
  world().pass_to(20);
  EXPECT_EQ(world().done(), 20) << "a role that is led does not work";
  tell(SubMasterOrder::State);
  world().pass_to(30);
  tell(SubMasterOrder::Restarted);
  EXPECT_THAT(
      said(),
      ElementsAre(
          SubMasterMessage::AskState, SubMasterMessage::AskRestart, SubMasterMessage::Done));
  world().pass_to(40);
  EXPECT_EQ(world().done(), 40);
}

TEST_F(SubMasters, OnlyTheIncarnationThatIsMeantAnswers) {
  play();
  tell(SubMasterOrder::Recover, 2);
  EXPECT_THAT(said(), IsEmpty());
}

TEST_F(SubMasters, ASuccessorGoesOnFromAnyWord) {
  play();
  tell(SubMasterOrder::Recover);
  tell(SubMasterOrder::Restarted);
  EXPECT_THAT(said(), ElementsAre(SubMasterMessage::AskState, SubMasterMessage::Done));
}

TEST_F(SubMasters, ASubMasterThatIsToldToStopLeadsNoMore) {
  play();
  tell(SubMasterOrder::Recover);
  world().stop(1, 2, Duration::seconds(1));
  world().pass_to(20);
  EXPECT_EQ(world().done(), 40);
}

TEST_F(SubMasters, ACrashOfTheSubMasterDoesNotTouchTheWork) {
  play({worker_fault(15, FaultKind::Crash, 2)});
  world().pass_to(20);
  EXPECT_EQ(masters(), 0u);
  EXPECT_EQ(world().done(), 40);
  EXPECT_EQ(world().job().lost, 0);
}

TEST_F(SubMasters, MayDieBeforeItHearsAWord) {
  for (const auto& [arrow, word] : {std::pair{RoleArrow::Asked, SubMasterOrder::Recover},
                                    {RoleArrow::Restored, SubMasterOrder::State},
                                    {RoleArrow::Restarted, SubMasterOrder::Restarted}}) {
    play({crash_at(arrow)});
    tell(word);
    EXPECT_THAT(said(), IsEmpty()) << to_string(arrow);
    EXPECT_EQ(masters(), 0u) << to_string(arrow);
  }
}

TEST_F(SubMasters, MayDieAfterItHasAskedForTheRestart) {
  play({crash_at(RoleArrow::RestartAsked)});
  tell(SubMasterOrder::Recover);
  tell(SubMasterOrder::State);
  EXPECT_THAT(said(), ElementsAre(SubMasterMessage::AskState, SubMasterMessage::AskRestart));
  EXPECT_EQ(masters(), 0u);
  EXPECT_EQ(world().job().led.size(), 1u) << "its role is led still";
}

TEST_F(SubMasters, MayDieWithItsRoleStartedAndTheLastWordUnsaid) {
  play({crash_at(RoleArrow::Started)});
  tell(SubMasterOrder::Recover);
  tell(SubMasterOrder::State);
  tell(SubMasterOrder::Restarted);
  EXPECT_THAT(said(), ElementsAre(SubMasterMessage::AskState, SubMasterMessage::AskRestart));
  EXPECT_EQ(masters(), 0u);
  world().pass_to(20);
  EXPECT_EQ(world().done(), 40);
}

TEST_F(SubMasters, MayDieAfterItsLastWord) {
  play({crash_at(RoleArrow::Done)});
  tell(SubMasterOrder::Restarted);
  EXPECT_THAT(said(), ElementsAre(SubMasterMessage::Done));
  EXPECT_EQ(masters(), 0u);
}

TEST_F(SubMasters, MayDieJustBeforeAWorkersEndIsReported) {
  play({crash_at(RoleArrow::Report), worker_fault(15, FaultKind::Crash, 0)});
  world().pass_to(20);
  const auto exits = world().reported(WorkerFact::Exited);
  ASSERT_THAT(exits, SizeIs(2));
  EXPECT_EQ(exits[0].second.first, Rank{2});
  EXPECT_EQ(exits[1].second.first, Rank{0});
}

TEST_F(SubMasters, DiesAsOftenAsTheFaultSays) {
  play({crash_at(RoleArrow::Asked, 2)});
  for (std::uint32_t start = 2; start < 5; ++start) {
    tell(SubMasterOrder::Recover, start - 1);
    world().start(start, 2, 2, {0, 0, 1});
    world().pass_to(world().world.now().in_seconds() + 1);
  }
  EXPECT_THAT(said(), ElementsAre(SubMasterMessage::AskState));
}

// --- nodes that are replaced ---

class Relaunch : public testing::Test {
 protected:
  void play(scenarios::RelaunchAnswer answer) {
    scenarios::Scenario scenario = four_nodes();
    scenario.relaunch = {answer, Duration::seconds(30), 1};
    world_.emplace(std::move(scenario),
                   std::vector{modelled(job("train").elastic(1, 2).spec(), 1000)});
    world().pass_to(0);
    world().start(1, 0, 1);
    world().pass_to(10);
    world().issue(RelaunchNodes{JobId{0}, 3, {NodeId{0}, NodeId{1}}, Duration::seconds(60)});
    world().pass_to(100);
  }

  WorldHarness& world() { return *world_; }

  std::vector<std::pair<double, NodesRelaunched>> answers() {
    return world().of<NodesRelaunched>();
  }

 private:
  std::optional<WorldHarness> world_;
};

TEST_F(Relaunch, ReplacedNodesLoseAllAndComeBackEmpty) {
  play(scenarios::RelaunchAnswer::Replaced);
  ASSERT_THAT(answers(), SizeIs(1));
  EXPECT_EQ(answers()[0].first, 40);
  EXPECT_EQ(answers()[0].second.incident, 3u);
  EXPECT_THAT(answers()[0].second.replaced, ElementsAre(NodeId{0}, NodeId{1}));
  EXPECT_THAT(world().world.cluster().living(), IsEmpty());
  const auto returned = world().of<NodeReturned>();
  ASSERT_THAT(returned, SizeIs(2));
  EXPECT_EQ(returned[0].first, 40);
  EXPECT_THAT(returned[0].second.workers, IsEmpty());
  EXPECT_THAT(world().of<NodeSilent>(), IsEmpty());
}

TEST_F(Relaunch, OnlyThoseReplacedAreTouched) {
  play(scenarios::RelaunchAnswer::Partial);
  ASSERT_THAT(answers(), SizeIs(1));
  EXPECT_THAT(answers()[0].second.replaced, ElementsAre(NodeId{0}));
  ASSERT_THAT(world().world.cluster().living(), SizeIs(1));
  EXPECT_EQ(world().world.cluster().living()[0].node, NodeId{1});
}

TEST_F(Relaunch, NoneMayBeReplaced) {
  play(scenarios::RelaunchAnswer::None);
  ASSERT_THAT(answers(), SizeIs(1));
  EXPECT_THAT(answers()[0].second.replaced, IsEmpty());
  EXPECT_EQ(answers()[0].second.error, "");
  EXPECT_THAT(world().world.cluster().living(), SizeIs(2));
}

TEST_F(Relaunch, TheExtensionMayFailOrNeverAnswer) {
  play(scenarios::RelaunchAnswer::Fails);
  ASSERT_THAT(answers(), SizeIs(1));
  EXPECT_NE(answers()[0].second.error, "");
  play(scenarios::RelaunchAnswer::TimesOut);
  EXPECT_THAT(answers(), IsEmpty());
}

}  // namespace
}  // namespace orrery::tests
