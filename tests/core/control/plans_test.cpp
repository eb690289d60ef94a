// Plans: what is carried out, clipped, dropped, and how a job changes its size and place.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "core/control/state_view.hpp"
#include "core/control/status.hpp"
#include "core/record/version.hpp"
#include "tests/support/controller_harness.hpp"

namespace orrery::tests {
namespace {

using testing::ElementsAre;

TEST(Plans, GrowingInPlaceKeepsEverybodysRank) {
  ControllerHarness h({nodes_of(2, 4)});
  const JobId id = h.running(job("a").elastic(1, 8), 3);
  const std::vector<Worker> before = h.job(id).workers;
  h.plan(grant(id, 5));
  ASSERT_EQ(h.job(id).workers.size(), 5u);
  for (std::size_t r = 0; r < 3; ++r) {
    EXPECT_EQ(h.job(id).workers[r].lease, before[r].lease);
    EXPECT_EQ(h.job(id).workers[r].state, WorkerState::Ready);
  }
  EXPECT_EQ(h.order<StartWorkers>()->workers.size(), 2u);
  EXPECT_EQ(h.order<UpdateMembership>()->world_size, 5u);
  EXPECT_EQ(h.phase(id), JobPhase::Starting);
  EXPECT_EQ(h.row(id).reschedules, 1u);
  EXPECT_EQ(h.row(id).restarts, 0u);
}

TEST(Plans, ShrinkingStopsTheHighestLocalRanks) {
  ControllerHarness h({nodes_of(2, 4)});
  const JobId id = h.running(job("a").elastic(1, 8).role("b", 1), 4);
  h.plan(grant(id, 2));
  EXPECT_EQ(h.phase(id), JobPhase::Rescheduling);
  EXPECT_THAT(h.order<StopWorkers>()->workers,
              ElementsAre(testing::Field(&WorkerStop::rank, Rank{2}),
                          testing::Field(&WorkerStop::rank, Rank{3})));
  EXPECT_EQ(h.order<UpdateMembership>(), nullptr) << "not before they are gone";
  h.stop_all();
  EXPECT_EQ(h.phase(id), JobPhase::Running);
  EXPECT_EQ(h.job(id).workers.size(), 3u);
  EXPECT_EQ(h.job(id).workers[2].role, RoleIndex{1});
  EXPECT_EQ(h.job(id).workers[2].birth_rank, Rank{4});
  EXPECT_EQ(h.row(id).devices_held, 3);
}

TEST(Plans, MovingStopsOnlyThoseWhoseNodeIsNotWanted) {
  ControllerHarness h({nodes_of(3, 4)});
  const JobId id = h.running(job("a").elastic(1, 8), 4, {on(0, 2), on(1, 2)});
  h.plan(grant(id, 4, {on(0, 2), on(2, 2)}));
  EXPECT_EQ(h.order<StopWorkers>()->workers.size(), 2u);
  h.settle();
  EXPECT_EQ(h.phase(id), JobPhase::Running);
  EXPECT_THAT(h.job(id).elastic_nodes, ElementsAre(on(0, 2), on(2, 2)));
}

TEST(Plans, ARestartingJobStartsEverybodyAnew) {
  ControllerHarness h({nodes_of(1, 4)});
  const JobId id = h.running(job("a").elastic(1, 4).rescale(RescaleMode::Restart), 2);
  h.plan(grant(id, 3));
  EXPECT_EQ(h.order<StopWorkers>()->workers.size(), 2u);
  EXPECT_EQ(h.order<StartWorkers>(), nullptr);
  h.stop_all();
  EXPECT_EQ(h.phase(id), JobPhase::Starting);
  EXPECT_EQ(h.order<StartWorkers>()->workers.size(), 3u);
  EXPECT_EQ(h.order<UpdateMembership>(), nullptr) << "no worker stays to be notified";
}

TEST(Plans, APreemptedJobIsDrainedAndWaitsAgain) {
  ControllerHarness h({nodes_of(1, 4)});
  const JobId id = h.running(job("a").elastic(1, 4), 4);
  h.plan(grant(id, 0));
  EXPECT_EQ(h.phase(id), JobPhase::Rescheduling);
  h.stop_all();
  EXPECT_EQ(h.phase(id), JobPhase::Pending);
  EXPECT_EQ(h.job(id).reason, Reason::Preempted);
  EXPECT_EQ(h.row(id).preemptions, 1u);
  EXPECT_EQ(h.controller.state().waiting.front(), id);
  h.plan(grant(id, 2));
  h.settle();
  EXPECT_EQ(h.phase(id), JobPhase::Running);
}

TEST(Plans, ADeviceIsUsedOnlyOnceItsLastUserIsGone) {
  ControllerHarness h({nodes_of(1, 4)});
  const JobId low = h.running(job("low").elastic(1, 4), 4);
  const JobId high = h.submit(job("high").replicas(4).priority(100));
  h.plan(grant(low, 0) + grant(high, 4));
  EXPECT_TRUE(h.row(high).holds);
  EXPECT_EQ(h.phase(high), JobPhase::Pending);
  EXPECT_EQ(h.job(high).blocked, 4u);
  for (int left = 3; left >= 0; --left) {
    h.step(h.cluster.end(0, WorkerFact::Exited, 143));
    EXPECT_EQ(h.job(high).blocked, static_cast<std::uint32_t>(left));
  }
  EXPECT_EQ(h.phase(high), JobPhase::Starting);
  EXPECT_EQ(h.phase(low), JobPhase::Pending);
}

TEST(Plans, AClaimThatIsTakenBackBeforeItsStartIsNoPreemption) {
  ControllerHarness h({nodes_of(1, 4)});
  const JobId low = h.running(job("low").elastic(1, 4), 4);
  const JobId next = h.submit(job("next").elastic(1, 4));
  h.plan(grant(low, 0) + grant(next, 4));
  h.plan(grant(next, 0));
  EXPECT_FALSE(h.row(next).holds);
  EXPECT_EQ(h.row(next).preemptions, 0u);
  h.stop_all();
  EXPECT_EQ(h.phase(next), JobPhase::Pending);
  EXPECT_EQ(h.controller.state().ledger.free().free_devices(), 4);
}

TEST(Plans, APlanFreesFirstAndTakesThen) {
  ControllerHarness h({nodes_of(1, 4)});
  const JobId a = h.running(job("a").elastic(1, 4), 4);
  const JobId b = h.submit(job("b").replicas(3));
  h.plan(grant(b, 3) + grant(a, 1));  // The one that takes stands first.
  h.settle();
  EXPECT_EQ(h.row(a).replicas, 1);
  EXPECT_EQ(h.phase(b), JobPhase::Running);
}

// It starts anew at each change, so it would be drained before it is known not to fit.
TEST(Plans, AChangeThatDoesNotFitDisturbsNoWorker) {
  ControllerHarness h({nodes_of(2, 4)});
  const JobId a = h.running(job("a").elastic(2, 4).rescale(RescaleMode::Restart), 2, {on(0, 2)});
  const JobId fixed = h.running(job("fixed").replicas(4), 4, {on(1, 4)});
  h.plan(grant(a, 4, {on(1, 4)}));
  EXPECT_EQ(h.grants_dropped(Ignored::DoesNotFit), 1u);
  EXPECT_EQ(h.phase(a), JobPhase::Running);
  EXPECT_EQ(h.row(a).reschedules, 0u);
  EXPECT_EQ(h.phase(fixed), JobPhase::Running);
}

// The rules 1 of older journals have it, too; before those the job was drained first.
TEST(Plans, AJournalOfRules1DisturbsNoWorkerForAChangeThatDoesNotFitEither) {
  Settings older;
  older.rules = 1;
  ControllerHarness h({nodes_of(2, 4)}, older);
  const JobId a = h.running(job("a").elastic(2, 4).rescale(RescaleMode::Restart), 2, {on(0, 2)});
  h.running(job("fixed").replicas(4), 4, {on(1, 4)});
  h.plan(grant(a, 4, {on(1, 4)}));
  EXPECT_EQ(h.grants_dropped(Ignored::DoesNotFit), 1u);
  EXPECT_EQ(h.row(a).reschedules, 0u);
}

// What the same plan takes from another job counts as free.
TEST(Plans, AChangeThatStartsAnewFitsWhereAnotherGivesWay) {
  ControllerHarness h({nodes_of(2, 4)});
  const JobId a = h.running(job("a").elastic(2, 4).rescale(RescaleMode::Restart), 2, {on(0, 2)});
  const JobId other = h.running(job("other").elastic(1, 4), 4, {on(1, 4)});
  h.plan(grant(a, 4, {on(1, 4)}) + grant(other, 0));
  EXPECT_EQ(h.grants_dropped(Ignored::DoesNotFit), 0u);
  h.settle();
  EXPECT_EQ(h.phase(a), JobPhase::Running);
  EXPECT_EQ(h.row(a).replicas, 4);
}

// Grant by grant that would be a trial of the whole plan for each.
TEST(Plans, HundredsOfChangesThatDoNotFitDisturbNobody) {
  constexpr std::int32_t kCount = 200;
  ControllerHarness h({nodes_of(kCount, 2)});
  std::vector<JobId> ids;
  Plan plan;
  for (std::int32_t i = 0; i < kCount; ++i) {
    const auto node = static_cast<std::uint32_t>(i);
    const JobBuilder each =
        job("j" + std::to_string(i)).elastic(2, 4).rescale(RescaleMode::Restart);
    ids.push_back(h.running(each, 2, {on(node, 2)}));
    plan = std::move(plan) + grant(ids.back(), 4, {on(node, 4)});
  }
  h.forget();
  h.plan(plan);
  EXPECT_EQ(h.grants_dropped(Ignored::DoesNotFit), static_cast<std::size_t>(kCount));
  for (const JobId id : ids) EXPECT_EQ(h.phase(id), JobPhase::Running);
}

TEST(Plans, WhatNoClusterHasIsDroppedForAJobThatRunsToo) {
  constexpr std::int32_t kMost = std::numeric_limits<std::int32_t>::max();
  ControllerHarness h({nodes_of(2, 4)});
  const JobId id = h.running(job("a").elastic(1, kReplicasMax), 2, {on(0, 2)});
  const JobId anew =
      h.running(job("b").elastic(1, kReplicasMax).rescale(RescaleMode::Restart), 1, {on(1, 1)});
  for (const JobId each : {id, anew}) {
    h.plan(grant(each, 3, {on(4'000'000'000, 3)}));
    h.plan(grant(each, 2, {on(NodeId::none().value, 2)}));
    h.plan(grant(each, kMost, {on(0, kMost)}));
    h.plan(grant(each, kMost));
    h.plan(grant(each, std::numeric_limits<std::int32_t>::min()));
    h.settle();
    EXPECT_EQ(h.phase(each), JobPhase::Running);
  }
  EXPECT_LE(h.row(id).devices_held + h.row(anew).devices_held, 8);
}

TEST(Plans, AJobOnANodeThatTakesNoMoreMayHaveAllThatIsLeftBeside) {
  Settings settings;
  settings.lemon_incidents = 1;
  ControllerHarness h({nodes_of(2, 8)}, settings);
  const JobId id = h.running(job("a").elastic(1, 16), 4, {on(0, 4)});
  const JobId fails = h.running(job("fails").limit(1), 1, {on(0, 1)});
  h.fail(fails, 0);
  h.step(StopRequested{0, fails});
  h.stop_all();
  ASSERT_FALSE(h.controller.state().ledger.node(NodeId{0}).usable);
  h.plan(grant(id, 12));
  h.settle();
  EXPECT_EQ(h.phase(id), JobPhase::Running);
  EXPECT_THAT(h.job(id).elastic_nodes, ElementsAre(on(0, 4), on(1, 8)));
}

TEST(Plans, TooManyReplicasAreClippedToTheMaximum) {
  ControllerHarness h({nodes_of(2, 4)});
  const JobId id = h.running(job("a").elastic(1, 3), 7);
  EXPECT_EQ(h.row(id).replicas, 3);
  EXPECT_EQ(h.ignored(NoticeKind::GrantClipped, Ignored::UnknownJob), 1u);
}

TEST(Plans, AGrantMayNameTheRoleThatThePolicySizes) {
  ControllerHarness h({nodes_of(1, 4)});
  const JobId id = h.submit(job("a").elastic(1, 4));
  Plan named = grant(id, 3);
  named.grants[0].role = RoleIndex{0};
  h.plan(named);
  EXPECT_EQ(h.row(id).replicas, 3);
}

TEST(Plans, TheViewTellsTheNodesOfEachRole) {
  ControllerHarness h({nodes_of(2, 4)});
  const JobId id = h.running(job("a").elastic(1, 8).role("b", 2), 5, {on(0, 3), on(1, 2)});
  const StateView view(h.controller.state(), {}, false);
  std::vector<NodeCount> nodes{on(7, 1)};
  view.append_nodes(id, RoleIndex{0}, nodes);
  EXPECT_THAT(nodes, ElementsAre(on(7, 1), on(0, 3), on(1, 2))) << "behind what is there";
  nodes.clear();
  view.append_nodes(id, RoleIndex{1}, nodes);
  EXPECT_THAT(nodes, ElementsAre(on(1, 2)));
}

TEST(Plans, AJobThatStartsCanBePreempted) {
  ControllerHarness h({nodes_of(1, 4)});
  const JobId id = h.submit(job("a").elastic(2, 4));
  h.plan(grant(id, 2));
  ASSERT_EQ(h.phase(id), JobPhase::Starting);
  h.plan(grant(id, 0));
  EXPECT_EQ(h.phase(id), JobPhase::Rescheduling);
  h.stop_all();
  EXPECT_EQ(h.phase(id), JobPhase::Pending);
}

TEST(Plans, AnElasticJobStartsAtItsMinimumWhereMoreHasNoRoom) {
  ControllerHarness h({nodes_of(1, 4)});
  const JobId id = h.running(job("a").elastic(2, 8), 6);
  EXPECT_EQ(h.row(id).replicas, 2);
}

TEST(Plans, EachDropHasItsReason) {
  ControllerHarness h({nodes_of(2, 4)});
  const JobId fixed = h.running(job("fixed").replicas(2), 2);
  const JobId elastic = h.running(job("elastic").elastic(2, 4), 2);
  const JobId waiting = h.submit(job("waiting").elastic(2, 3));
  const auto dropped = [&](const Plan& plan, Ignored why) {
    h.forget();
    h.plan(plan);
    EXPECT_EQ(h.grants_dropped(why), 1u) << to_string(why);
  };
  dropped(grant(fixed, 1), Ignored::FixedJob);
  dropped(grant(elastic, 1), Ignored::OutOfBounds);
  dropped(grant(elastic, 5, {on(1, 5)}), Ignored::OutOfBounds);
  dropped(grant(waiting, 1), Ignored::OutOfBounds);
  dropped(grant(waiting, 0), Ignored::AlreadyKnown);
  dropped(grant(waiting, 3, {on(0, 3)}), Ignored::DoesNotFit);
  dropped(grant(waiting, 2, {on(77, 2)}), Ignored::DoesNotFit);
  Plan other_role = grant(waiting, 2);
  other_role.grants[0].role = RoleIndex{1};
  dropped(other_role, Ignored::OutOfBounds);
  dropped(grant(waiting, 2) + grant(waiting, 3), Ignored::AlreadyKnown);
  h.settle();
  h.plan(grant(elastic, 4));
  h.settle();
  h.plan(grant(elastic, 2));
  dropped(grant(elastic, 3), Ignored::NotInThisPhase);
}

TEST(Plans, AMalformedGrantIsIgnoredWhole) {
  ControllerHarness h({nodes_of(2, 4)});
  const JobId id = h.submit(job("a").elastic(1, 8));
  h.plan(grant(id, 2, {on(0, 3)}));  // The nodes sum to something else.
  h.plan(grant(id, 2, {on(0, 3), on(1, -1)}));
  h.plan(grant(id, -1));
  Plan outside = grant(id, 2);
  outside.grants[0].node_count = 1;
  h.plan(outside);
  EXPECT_EQ(h.reports_ignored(Ignored::BadSpecification), 4u);
  EXPECT_FALSE(h.row(id).holds);
  h.plan(grant(JobId{9}, 1));
  EXPECT_EQ(h.reports_ignored(Ignored::UnknownJob), 1u);
}

TEST(Plans, ARemarkIsWhyAJobWaits) {
  ControllerHarness h({nodes_of(1, 4)});
  const JobId waits = h.submit(job("waits").replicas(4));
  const JobId runs = h.running(job("runs").replicas(2), 2);
  const auto message = [&](JobId id) { return status_of(h.controller.state(), h.job(id)).message; };
  Plan plan;
  for (const JobId id : {waits, runs, JobId{9}}) plan.remark(id, PlanRemark::NotAdmitted);
  plan.grants.push_back({waits, RoleIndex::none(), 0, 77, 0, waits});
  h.forget();
  h.plan(plan);
  EXPECT_EQ(h.job(waits).reason, Reason::NotAdmitted);
  EXPECT_EQ(h.job(waits).conditions.front().reason, Reason::NotAdmitted);
  EXPECT_THAT(message(waits),
              testing::StartsWith("its deadline cannot be guaranteed; it runs as best effort, on "
                                  "what others leave; needs 4 devices"));
  EXPECT_EQ(std::count_if(h.notices.begin(),
                          h.notices.end(),
                          [&](const Notice& notice) {
                            return notice.kind == NoticeKind::PhaseChanged && notice.job == waits &&
                                   notice.reason == Reason::NotAdmitted;
                          }),
            1)
      << "for orrery events";
  EXPECT_EQ(h.job(runs).reason, Reason::AllReady);
  EXPECT_EQ(h.reports_ignored(Ignored::NotInThisPhase), 1u);
  EXPECT_EQ(h.reports_ignored(Ignored::UnknownJob), 1u);
  EXPECT_EQ(h.reports_ignored(Ignored::BadSpecification), 1u) << "no such remark";
  h.succeed(runs, 0);
  h.succeed(runs, 1);
  h.plan(grant(waits, 4));
  EXPECT_EQ(h.job(waits).reason, Reason::Granted);
}

TEST(Plans, ANodeMayStandTwiceButIsNotFilledTwice) {
  ControllerHarness h({nodes_of(2, 4)});
  const JobId id = h.submit(job("a").elastic(1, 8));
  h.plan(grant(id, 6, {on(0, 3), on(0, 3)}));
  EXPECT_EQ(h.grants_dropped(Ignored::DoesNotFit), 1u);
  h.plan(grant(id, 3, {on(1, 1), on(0, 1), on(1, 1)}));
  EXPECT_THAT(h.job(id).elastic_nodes, ElementsAre(on(0, 1), on(1, 2)));
}

TEST(Plans, ANodeThatStandsSeveralTimesGetsWhatItLacksInAll) {
  ControllerHarness h({nodes_of(2, 4)});
  const JobId id = h.running(job("a").elastic(1, 8), 2, {on(0, 2)});
  h.plan(grant(id, 3, {on(0, 1), on(0, 1), on(0, 1)}));
  h.settle();
  EXPECT_THAT(h.job(id).elastic_nodes, ElementsAre(on(0, 3)));
}

TEST(Plans, WhatIsSoAlreadyIsNoChange) {
  ControllerHarness h({nodes_of(2, 4)});
  const JobId id = h.running(job("a").elastic(1, 8), 3, {on(1, 1), on(0, 2)});
  h.forget();
  h.plan(grant(id, 3));
  h.plan(grant(id, 3, {on(0, 2), on(1, 1)}));
  h.plan(grant(id, 3, {on(0, 1), on(1, 1), on(0, 1)}));
  EXPECT_TRUE(h.notices.empty());
  EXPECT_EQ(h.row(id).reschedules, 0u);
}

TEST(Plans, AQuotaHoldsForAllGrantsOfOnePlanTogether) {
  ControllerHarness h({nodes_of(2, 4)});
  h.step(QuotasDeclared{{{"group/g", 3}}});
  const JobId a = h.submit(job("a").replicas(2).group("g"));
  const JobId b = h.submit(job("b").replicas(2).group("g"));
  h.plan(grant(a, 2) + grant(b, 2));
  EXPECT_TRUE(h.row(a).holds);
  EXPECT_FALSE(h.row(b).holds);
  EXPECT_EQ(h.grants_dropped(Ignored::OverQuota), 1u);
  EXPECT_EQ(h.controller.state().quotas[0].held, 2);
  h.settle();
  h.succeed(a, 0);
  h.succeed(a, 1);
  h.plan(grant(b, 2));
  EXPECT_TRUE(h.row(b).holds);
}

TEST(Plans, AQuotaThatWasLoweredStillLetsAJobShrink) {
  ControllerHarness h({nodes_of(2, 4)});
  const JobId id = h.running(job("a").elastic(1, 8), 6);
  h.step(QuotasDeclared{{{"namespace/default", 2}}});
  h.plan(grant(id, 4));
  h.settle();
  EXPECT_EQ(h.row(id).replicas, 4);
  h.plan(grant(id, 5));
  EXPECT_EQ(h.grants_dropped(Ignored::OverQuota), 1u);
}

TEST(Plans, WaitingJobsStandByPriorityThenAge) {
  ControllerHarness h({nodes_of(1, 4)});
  const JobId a = h.submit(job("a"));
  const JobId b = h.submit(job("b").priority(100));
  const JobId c = h.submit(job("c"));
  const JobId d = h.submit(job("d").priority(100));
  std::vector<JobId> order;
  h.controller.state().waiting.for_each([&](const WaitEntry& entry) {
    order.push_back(entry.job);
    return true;
  });
  EXPECT_THAT(order, ElementsAre(b, d, a, c));
}

TEST(Plans, SharesOfOneDeviceAreLentTogether) {
  ControllerHarness h({nodes_of(1, 2)});
  const JobId half = h.running(job("half").share(500).replicas(2), 2);
  EXPECT_EQ(h.controller.state().ledger.free().free_devices(), 1);
  const JobId more = h.submit(job("more").share(300).replicas(4));
  h.plan(grant(more, 4));
  EXPECT_FALSE(h.row(more).holds) << "three fit on the other device";
  EXPECT_EQ(h.controller.state().ledger.free().free_devices(), 1);
  h.succeed(half, 0);
  h.plan(grant(more, 4));
  EXPECT_TRUE(h.row(more).holds);
}

// What a plan does not speak of stays, also where all of the job starts anew: the place of the
// other role is not taken from the next grant.
TEST(Plans, OtherRolesOfAJobThatStartsAnewGoBackToTheirNodes) {
  ControllerHarness h({nodes_of(3, 2)});
  JobBuilder builder =
      job("a").replicas(1, 3).preemptible().rescale(RescaleMode::Restart).role("helper", 1, 2);
  const JobId a = h.running(builder, 3, {on(0, 2), on(1, 1)});
  const NodeId helper = h.job(a).workers.back().node;
  ASSERT_EQ(helper, NodeId{2});
  h.plan(grant(a, 1, {on(1, 1)}));
  h.settle();
  EXPECT_EQ(h.job(a).workers.back().node, helper) << "node 0 fits as well, and comes first";
}

TEST(Placing, IsByThePlacerThatTheSettingsName) {
  for (const auto& [placer, node] : {std::pair{"best_fit/1", 0}, std::pair{"most_free/1", 1}}) {
    Settings settings;
    settings.placer = placer;
    ControllerHarness h({nodes_of(2, 4)}, settings);
    (void)h.running(job("first"), 1, {on(0, 1)});
    const JobId id = h.running(job("second"), 1);
    EXPECT_EQ(h.job(id).workers[0].node, NodeId{static_cast<std::uint32_t>(node)}) << placer;
  }
}

}  // namespace
}  // namespace orrery::tests
