// Recovery of a role that is led by its sub-master, which may die anywhere on the way.
#include <gtest/gtest.h>

#include "tests/support/controller_harness.hpp"

namespace orrery::tests {
namespace {

constexpr RoleIndex kLed{0};
constexpr RoleIndex kMaster{1};

/// A job with a role of two that is led, a sub-master, and a role that has nothing to do with it.
/// Ranks: 0 and 1 are led, 2 is the sub-master, 3 the other.
struct Led {
  ControllerHarness h;
  JobId id;

  explicit Led(std::int32_t limit = 3,
               std::int32_t node_failures = 100,
               const Settings& settings = {})
      : h({nodes_of(2, 8)}, settings) {
    JobBuilder builder =
        job("a").replicas(2).follower("master", 1, 0).role("other", 1).limit(limit);
    builder.raw().roles[1].master_of = kLed;
    builder.raw().failover.edit().worker_node_failures_max = node_failures;
    id = h.running(builder, 2);
    h.forget();
  }

  Incarnation master() const { return h.job(id).workers[2].incarnation; }

  void say(SubMasterMessage word) {
    h.step(SubMasterSaid{id, kLed, master(), h.job(id).failover->open.number, word});
  }

  /// Drains, lets the backoff pass and brings up the workers that start.
  void bring_up() {
    h.stop_all();
    h.pass(Duration::seconds(5));
    h.settle();
  }

  /// The last thing that a sub-master was told.
  std::optional<SubMasterOrder> told() const {
    const TellSubMaster* order = h.order<TellSubMaster>();
    if (order == nullptr) return std::nullopt;
    EXPECT_EQ(order->role, kLed);
    EXPECT_EQ(order->master, kMaster);
    EXPECT_EQ(order->incarnation, master());
    return order->word;
  }

  std::size_t started(std::int32_t role) const {
    return static_cast<std::size_t>(
        std::count_if(h.notices.begin(), h.notices.end(), [&](const Notice& n) {
          return n.kind == NoticeKind::WorkerRestarted && n.role.value == role;
        }));
  }
};

TEST(SubMaster, LeadsTheRecoveryOfItsRole) {
  Led led;
  led.h.fail(led.id, 1);
  EXPECT_EQ(led.h.phase(led.id), JobPhase::Restarting);
  EXPECT_EQ(led.told(), SubMasterOrder::Recover);
  EXPECT_EQ(led.h.order<StartWorkers>(), nullptr) << "no worker starts before it asks for that";
  led.say(SubMasterMessage::AskState);
  EXPECT_EQ(led.told(), SubMasterOrder::State);
  led.say(SubMasterMessage::AskRestart);
  led.bring_up();
  EXPECT_EQ(led.h.phase(led.id), JobPhase::Starting) << "until the sub-master has started it";
  EXPECT_EQ(led.told(), SubMasterOrder::Restarted);
  led.say(SubMasterMessage::Done);
  EXPECT_EQ(led.h.phase(led.id), JobPhase::Running);
  EXPECT_EQ(led.h.row(led.id).restarts, 1u);
  EXPECT_EQ(led.started(0), 2u);
  EXPECT_EQ(led.started(1), 0u);
  EXPECT_EQ(led.started(2), 0u);
}

TEST(SubMaster, ASecondCrashIsHandledAsTheFirst) {
  Led led;
  for (std::uint32_t round = 1; round <= 2; ++round) {
    led.h.fail(led.id, 0);
    led.say(SubMasterMessage::AskState);
    led.say(SubMasterMessage::AskRestart);
    led.bring_up();
    led.say(SubMasterMessage::Done);
    EXPECT_EQ(led.h.phase(led.id), JobPhase::Running);
    EXPECT_EQ(led.h.row(led.id).restarts, round);
  }
}

TEST(SubMaster, DiesAtEveryStepAndTheRoleRecoversOnceChargedOnce) {
  for (int dies_at = 0; dies_at < 6; ++dies_at) {
    SCOPED_TRACE("dies at step " + std::to_string(dies_at));
    Led led;
    const auto die = [&](int step) {
      if (step != dies_at) return;
      led.h.fail(led.id, 2);
      led.bring_up();
    };
    led.h.fail(led.id, 0);
    die(0);
    if (led.h.job(led.id).failover->led == LedRecovery::Asked) led.say(SubMasterMessage::AskState);
    die(1);
    led.say(SubMasterMessage::AskState);
    die(2);
    led.say(SubMasterMessage::AskRestart);
    die(3);
    led.bring_up();
    EXPECT_EQ(led.h.job(led.id).failover->led, LedRecovery::Restarted);
    die(4);
    led.say(SubMasterMessage::Done);
    EXPECT_EQ(led.h.phase(led.id), JobPhase::Running);
    die(5);
    EXPECT_EQ(led.h.phase(led.id), JobPhase::Running);
    EXPECT_EQ(led.h.row(led.id).restarts, 1u);
    EXPECT_EQ(led.started(0), 2u);
    EXPECT_EQ(led.started(1), 1u);
    EXPECT_EQ(led.started(2), 0u);
  }
}

TEST(SubMaster, ThatIsLateIsReplacedAndTheControllerDoesItItself) {
  Led led;
  led.h.fail(led.id, 0);
  led.h.pass(Duration::seconds(60));
  led.bring_up();
  EXPECT_EQ(led.told(), SubMasterOrder::Restarted);
  led.say(SubMasterMessage::Done);
  EXPECT_EQ(led.h.phase(led.id), JobPhase::Running);
  EXPECT_EQ(led.h.row(led.id).restarts, 1u);
  EXPECT_EQ(led.started(0), 2u);
  EXPECT_EQ(led.started(1), 1u);
  EXPECT_EQ(led.h.job(led.id).failover->role_restarts[0], 1u);
  EXPECT_EQ(led.h.job(led.id).failover->role_restarts[1], 0u);
}

TEST(SubMaster, ThatDoesNotStartItsRoleIsStartedAgain) {
  Led led;
  led.h.fail(led.id, 0);
  led.say(SubMasterMessage::AskRestart);
  led.bring_up();
  ASSERT_EQ(led.told(), SubMasterOrder::Restarted);
  led.h.pass(Duration::seconds(60));
  led.bring_up();
  ASSERT_EQ(led.told(), SubMasterOrder::Restarted);
  led.say(SubMasterMessage::Done);
  EXPECT_EQ(led.h.phase(led.id), JobPhase::Running);
  EXPECT_EQ(led.started(0), 2u);
  EXPECT_EQ(led.started(1), 1u);
}

TEST(SubMaster, WordsOfAnOldStartOrAnOldRecoveryChangeNothing) {
  Led led;
  const Incarnation old = led.master();
  led.h.step(SubMasterSaid{led.id, kLed, old, 7, SubMasterMessage::AskRestart});
  EXPECT_EQ(led.h.reports_ignored(Ignored::StaleIncident), 1u);
  led.h.fail(led.id, 0);
  led.h.fail(led.id, 2);
  led.bring_up();
  const std::uint32_t incident = led.h.job(led.id).failover->open.number;
  led.h.step(SubMasterSaid{led.id, kLed, old, incident, SubMasterMessage::AskRestart});
  EXPECT_EQ(led.h.reports_ignored(Ignored::StaleIncarnation), 1u);
  led.say(SubMasterMessage::Done);
  EXPECT_EQ(led.h.reports_ignored(Ignored::NotInThisPhase), 1u);
  EXPECT_EQ(led.h.phase(led.id), JobPhase::Restarting);
}

TEST(SubMaster, ThatFailsForeverEndsTheJob) {
  Led led(2);
  for (int i = 0; i < 20 && !is_final(led.h.phase(led.id)); ++i) {
    led.h.fail(led.id, 2);
    led.h.pass(Duration::seconds(300));
    led.h.settle();
  }
  EXPECT_EQ(led.h.phase(led.id), JobPhase::Failed);
  EXPECT_EQ(led.h.row(led.id).restarts, 0u);
}

TEST(SubMaster, ThatDiesJustBeforeItsRoleFailsDoesNotCoverThat) {
  Led led;
  led.h.fail(led.id, 2);
  led.h.fail(led.id, 0);
  led.bring_up();
  led.say(SubMasterMessage::AskRestart);
  led.bring_up();
  led.say(SubMasterMessage::Done);
  EXPECT_EQ(led.h.phase(led.id), JobPhase::Running);
  EXPECT_EQ(led.h.row(led.id).restarts, 1u);
  EXPECT_EQ(led.started(0), 2u);
  EXPECT_EQ(led.started(1), 1u);
}

TEST(SubMaster, ThatFailsTogetherWithAWorkerIsNotWhatIsCharged) {
  Led led;
  WorkersChanged both = led.h.cluster.end(led.h.process(led.id, 2), WorkerFact::Exited, 1);
  (void)led.h.cluster.end(led.h.process(led.id, 3), WorkerFact::Exited, 1);
  both.count = 2;
  led.h.step(both);
  EXPECT_EQ(led.h.job(led.id).failover->open.role, RoleIndex{2}) << "the user's own";
  EXPECT_TRUE(led.h.job(led.id).failover->open.charged);
  EXPECT_EQ(led.h.row(led.id).restarts, 1u);
}

TEST(SubMaster, ThatWasOutOfContactHasItsTimeAgain) {
  for (const std::uint16_t rules : {std::uint16_t{3}, kDecisionRules}) {
    SCOPED_TRACE(rules);
    Settings settings;
    settings.rules = rules;
    Led led(3, 100, settings);
    led.h.fail(led.id, 1);
    led.say(SubMasterMessage::AskRestart);
    led.bring_up();
    ASSERT_EQ(led.told(), SubMasterOrder::Restarted);
    const Incarnation silent = led.master();
    for (const std::uint32_t node : {0U, 1U}) led.h.step(NodeSilent{NodeId{node}});
    ASSERT_EQ(led.h.phase(led.id), JobPhase::Unknown);
    for (const std::uint32_t node : {0U, 1U}) led.h.node_up(node);
    ASSERT_EQ(led.h.phase(led.id), JobPhase::Starting);
    led.h.pass(led.h.job(led.id).spec->failover->sub_master_timeout);
    led.bring_up();
    EXPECT_NE(led.master(), silent) << "it has not said that it is done: another takes its place";
    led.say(SubMasterMessage::Done);
    EXPECT_EQ(led.h.phase(led.id), JobPhase::Running);
  }
}

TEST(SubMaster, IsOneWhateverAUserAsksFor) {
  Led led;
  led.h.step(ScaleRequested{1, led.id, kMaster, ScaleMode::Add, 3});
  EXPECT_FALSE(led.h.last_answer().accepted);
  led.h.step(ScaleRequested{1, led.id, RoleIndex::none(), ScaleMode::Add, 1});
  EXPECT_TRUE(led.h.last_answer().accepted);
  led.h.settle();
  EXPECT_EQ(*led.h.job(led.id).targets, (std::vector{3, 0, 2}));
  EXPECT_EQ(led.h.job(led.id).workers.size(), 6u) << "3 led, 2 others, one sub-master";
}

// Storms found a job in Starting that nothing would have ended.
TEST(SubMaster, WhoStartsWhenItIsDoneHasTheTimeOfAStart) {
  Led led;
  led.h.fail(led.id, 1);
  led.say(SubMasterMessage::AskRestart);
  led.bring_up();
  led.h.lose(led.id, 3);
  led.h.pass(Duration::seconds(5));
  ASSERT_EQ(led.h.phase(led.id), JobPhase::Starting);
  led.say(SubMasterMessage::Done);
  ASSERT_EQ(led.h.phase(led.id), JobPhase::Starting) << "one of another role is not up";
  led.h.pass(led.h.job(led.id).spec->start_deadline);
  EXPECT_EQ(led.h.row(led.id).restarts, 2u) << "its start was late";
}

// Storms found a job that went back to its old places, of which nothing was told.
TEST(SubMaster, WhatItsRecoveryWouldHaveMovedIsToldToBeBackWhereAnotherTakesItsPlace) {
  Led led(3, 1);
  led.h.fail(led.id, 0);
  led.say(SubMasterMessage::AskRestart);
  led.bring_up();
  led.say(SubMasterMessage::Done);
  ASSERT_EQ(led.h.phase(led.id), JobPhase::Running);
  const NodeId before = led.h.job(led.id).workers[2].node;
  led.h.step(ExclusionRequested{0, before, true});
  led.h.fail(led.id, 2);
  const auto allocated = [&] {
    return std::count_if(led.h.notices.begin(), led.h.notices.end(), [](const Notice& n) {
      return n.kind == NoticeKind::Allocated;
    });
  };
  ASSERT_EQ(allocated(), 1) << "the sub-master is to move";
  ASSERT_EQ(led.h.job(led.id).after_drain, AfterDrain::Start);
  led.h.fail(led.id, 0);
  ASSERT_NE(led.h.order<RelaunchNodes>(), nullptr);
  EXPECT_EQ(led.h.job(led.id).workers[2].node, before);
  EXPECT_EQ(allocated(), 2) << "it moves no more";
}

TEST(SubMaster, IsAskedAgainByTheNextLeader) {
  Led led;
  led.h.fail(led.id, 0);
  led.h.take_over(2);
  EXPECT_EQ(led.told(), SubMasterOrder::Recover);
  led.h.node_up(0);
  led.h.node_up(1);
  led.say(SubMasterMessage::AskState);
  led.say(SubMasterMessage::AskRestart);
  led.bring_up();
  led.h.take_over(3);
  led.h.node_up(0);
  led.h.node_up(1);
  led.say(SubMasterMessage::Done);
  EXPECT_EQ(led.h.phase(led.id), JobPhase::Running);
  EXPECT_EQ(led.h.row(led.id).restarts, 1u);
}

}  // namespace
}  // namespace orrery::tests
