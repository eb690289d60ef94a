// What a worker that fails says of whose fault it was, and what is charged for it.
#include "core/recovery/blame.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "core/control/status.hpp"
#include "tests/support/controller_harness.hpp"

namespace orrery::tests {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

const RoleIndex kWorkers{0};

Diagnosis mine() { return {Blame::Mine, {}, 0, "a bug"}; }

Diagnosis node() { return {Blame::Node, {}, 0, "row remapping failed"}; }

Diagnosis peer(std::int32_t rank, RoleIndex role = kWorkers) {
  return {Blame::Peer, role, rank, "it hung up"};
}

/// The worker says this of itself and ends with an error.
void fail(ControllerHarness& h,
          JobId id,
          std::uint32_t rank,
          const Diagnosis& diagnosis,
          std::int32_t exit_code = 1) {
  WorkersChanged report = h.cluster.end(h.process(id, rank), WorkerFact::Exited, exit_code);
  report.diagnosis = diagnosis;
  h.step(report);
}

std::uint32_t failures_of(const ControllerHarness& h,
                          JobId id,
                          std::int32_t rank,
                          RoleIndex role = kWorkers) {
  for (const ReplicaRecord& record : h.job(id).failover->replicas)
    if (record.role == role && record.local_rank == rank) return record.failures;
  return 0;
}

/// The incident that was opened last.
Notice opened(const ControllerHarness& h) {
  Notice found;
  for (const Notice& notice : h.notices)
    if (notice.kind == NoticeKind::IncidentOpened) found = notice;
  return found;
}

std::string last_message(const ControllerHarness& h, JobId id) {
  const JobStatus status = status_of(h.controller.state(), h.job(id));
  return status.failures.empty() ? "" : status.failures.back().message;
}

void recover(ControllerHarness& h, JobId id) {
  h.pass(Duration::seconds(60));
  h.settle();
  ASSERT_EQ(h.phase(id), JobPhase::Running);
}

TEST(Blame, WhoSaysNothingOrBlamesItselfIsChargedAsEver) {
  for (const Diagnosis& said : {Diagnosis{}, mine()}) {
    ControllerHarness h({nodes_of(2, 4)});
    const JobId id = h.running(job("a").replicas(2), 2);
    const NodeId before = h.job(id).workers[1].node;
    fail(h, id, 1, said);
    EXPECT_EQ(opened(h).reason, Reason::WorkerFailed);
    EXPECT_TRUE(opened(h).charged);
    EXPECT_EQ(opened(h).local_rank, 1);
    EXPECT_EQ(failures_of(h, id, 1), 1U);
    EXPECT_EQ(h.row(id).restarts, 1U);
    recover(h, id);
    EXPECT_EQ(h.job(id).workers[1].node, before);
  }
}

TEST(Blame, ANodeIsChargedToTheBudgetOfLostNodesAndItsWorkerStartsElsewhere) {
  ControllerHarness h({nodes_of(2, 4)});
  const JobId id = h.running(job("a").replicas(2).limit(0), 2, {on(0, 2)});
  const Incarnation other = h.job(id).workers[0].incarnation;
  fail(h, id, 1, node());
  ASSERT_EQ(h.phase(id), JobPhase::Restarting) << "the backoff limit of 0 is not touched";
  EXPECT_EQ(h.job(id).reason, Reason::NodeBlamed);
  EXPECT_EQ(opened(h).reason, Reason::NodeBlamed);
  EXPECT_FALSE(opened(h).charged);
  EXPECT_EQ(opened(h).node, NodeId{0});
  EXPECT_EQ(h.row(id).node_losses, 1U);
  EXPECT_EQ(h.row(id).restarts, 0U);
  EXPECT_EQ(failures_of(h, id, 1), 0U);
  recover(h, id);
  EXPECT_EQ(h.job(id).workers[1].node, NodeId{1});
  EXPECT_EQ(h.job(id).workers[0].node, NodeId{0});
  EXPECT_EQ(h.job(id).workers[0].incarnation, other) << "its peer goes on";
}

TEST(Blame, WithoutRoomElsewhereTheWorkerStartsWhereItWas) {
  ControllerHarness h({nodes_of(2, 2)});
  const JobId id = h.running(job("a").replicas(2).limit(0), 2, {on(0, 2)});
  h.running(job("b").devices(2), 1, {on(1, 1)});
  fail(h, id, 1, node());
  recover(h, id);
  EXPECT_EQ(h.job(id).workers[1].node, NodeId{0});
}

TEST(Blame, TwoWorkersGoWhereThereIsRoomForOneOneByOne) {
  ControllerHarness h({nodes_of(2, 2)});
  JobBuilder builder = job("a").replicas(2).limit(0).no_unknown();
  builder.raw().failover.edit().trigger = FailureTrigger::AtEnd;
  const JobId id = h.running(builder, 2, {on(0, 2)});
  h.running(job("b").devices(1), 1, {on(1, 1)});
  fail(h, id, 0, node());
  fail(h, id, 1, node());
  EXPECT_EQ(h.row(id).node_losses, 1U) << "one incident";
  recover(h, id);
  EXPECT_NE(h.job(id).workers[0].node, h.job(id).workers[1].node);
}

TEST(Blame, WorkersThatTradeNodesHoldWhatTheyHeld) {
  ControllerHarness h({nodes_of(2, 2)});
  JobBuilder builder = job("a").replicas(2).follower("logger", 1, 0).limit(0).no_unknown();
  builder.raw().failover.edit().trigger = FailureTrigger::AtEnd;
  const JobId id = h.running(builder, 2, {on(0, 1), on(1, 1)});
  h.forget();
  fail(h, id, 0, node());
  fail(h, id, 1, node());
  recover(h, id);
  ASSERT_EQ(h.job(id).workers[0].node, NodeId{1});
  ASSERT_EQ(h.job(id).workers[1].node, NodeId{0});
  for (const Notice& notice : h.notices) EXPECT_NE(notice.kind, NoticeKind::Allocated);
}

TEST(Blame, AProgramThatAlwaysBlamesItsNodeWaitsLongerEachTimeAndEndsAtItsLimit) {
  ControllerHarness h({nodes_of(2, 4)});
  JobBuilder builder = job("a").limit(0);
  builder.raw().failover.edit().node_losses_max = 2;
  const JobId id = h.running(builder, 1);
  std::vector<Duration> delays;
  for (int i = 0; i < 2; ++i) {
    fail(h, id, 0, node());
    delays.push_back(h.job(id).timers.at(TimerKind::Backoff) - h.now);
    recover(h, id);
  }
  EXPECT_EQ(delays[0], h.job(id).spec->backoff_base);
  EXPECT_EQ(delays[1], h.job(id).spec->backoff_base * 2);
  fail(h, id, 0, node());
  ASSERT_EQ(h.phase(id), JobPhase::Failed);
  EXPECT_EQ(h.job(id).reason, Reason::FailureLimitReached);
  EXPECT_THAT(status_of(h.controller.state(), h.job(id)).message,
              HasSubstr("node_losses_max is passed: 3 losses of nodes or devices, 2 are allowed"));
}

TEST(Blame, ANodeThatIsBlamedOftenIsALemon) {
  Settings settings;
  settings.lemon_incidents = 2;
  settings.lemon_window = Duration::seconds(1000);
  ControllerHarness h({nodes_of(1, 4)}, settings);
  const JobId first = h.running(job("a").limit(0), 1, {on(0, 1)});
  const JobId second = h.running(job("b").limit(0), 1, {on(0, 1)});
  fail(h, first, 0, node());
  EXPECT_FALSE(h.controller.state().nodes[0].excluded);
  fail(h, second, 0, node());
  EXPECT_TRUE(h.controller.state().nodes[0].excluded);
}

TEST(Blame, APeerThatLivesIsChargedAndGoesOn) {
  ControllerHarness h({nodes_of(2, 2)});
  JobBuilder builder = job("a").replicas(3);
  builder.raw().failover.edit().worker_failures_max = 1;
  const JobId id = h.running(builder, 3, {on(0, 2), on(1, 1)});
  const Incarnation living = h.job(id).workers[2].incarnation;
  fail(h, id, 0, peer(2));
  EXPECT_EQ(opened(h).reason, Reason::WorkerFailed);
  EXPECT_TRUE(opened(h).charged);
  EXPECT_EQ(opened(h).local_rank, 2);
  EXPECT_EQ(opened(h).node, h.job(id).workers[2].node);
  EXPECT_EQ(failures_of(h, id, 0), 0U);
  EXPECT_EQ(failures_of(h, id, 2), 1U);
  EXPECT_EQ(h.row(id).restarts, 1U);
  EXPECT_THAT(
      last_message(h, id),
      HasSubstr("worker 0 on node-0 ended with exit code 1; it blames worker 2: it hung up"));
  recover(h, id);
  EXPECT_EQ(h.job(id).workers[2].incarnation, living) << "only the worker that failed is replaced";
  fail(h, id, 1, peer(2));
  EXPECT_EQ(h.phase(id), JobPhase::Failed) << "the second failure of worker 2";
  EXPECT_EQ(h.job(id).failover->limit_rank, 2);
}

TEST(Blame, ThePeersNodeIsReplacedAfterTooManyFailuresThere) {
  ControllerHarness h({nodes_of(2, 2)});
  JobBuilder builder = job("a").replicas(2);
  builder.raw().failover.edit().worker_node_failures_max = 0;
  const JobId id = h.running(builder, 2, {on(0, 1), on(1, 1)});
  const NodeId of_peer = h.job(id).workers[1].node;
  fail(h, id, 0, peer(1));
  const auto* order = h.order<RelaunchNodes>();
  ASSERT_NE(order, nullptr);
  EXPECT_EQ(order->nodes, std::vector<NodeId>{of_peer});
}

TEST(Blame, ThePeersNodeIsTheLemon) {
  Settings settings;
  settings.lemon_incidents = 2;
  settings.lemon_window = Duration::seconds(1000);
  ControllerHarness h({nodes_of(2, 2)}, settings);
  const JobId id = h.running(job("a").replicas(2), 2, {on(0, 1), on(1, 1)});
  const NodeId of_teller = h.job(id).workers[0].node;
  const NodeId of_peer = h.job(id).workers[1].node;
  fail(h, id, 0, peer(1));
  recover(h, id);
  fail(h, id, 0, peer(1));
  EXPECT_TRUE(h.controller.state().nodes[of_peer.index()].excluded);
  EXPECT_FALSE(h.controller.state().nodes[of_teller.index()].excluded);
}

TEST(Blame, ARelaunchThatReplacesNothingLetsTheWorkerThatFailedRecover) {
  ControllerHarness h({nodes_of(2, 2)});
  JobBuilder builder = job("a").replicas(2);
  builder.raw().failover.edit().worker_node_failures_max = 0;
  builder.raw().failover.edit().trigger = FailureTrigger::AtEnd;
  const JobId id = h.running(builder, 2, {on(0, 1), on(1, 1)});
  const Incarnation failed = h.job(id).workers[0].incarnation;
  h.succeed(id, 1);
  fail(h, id, 0, peer(1));
  ASSERT_NE(h.order<RelaunchNodes>(), nullptr);
  h.step(NodesRelaunched{id, h.job(id).failover->open.number, {}, {}});
  recover(h, id);
  EXPECT_NE(h.job(id).workers[0].incarnation, failed);
}

/// A job of two roles of two, the first of which is led. Ranks: 0 and 1 are led, 2 is the
/// sub-master, 3 and 4 are the others.
JobBuilder led() {
  JobBuilder builder = job("a").replicas(2).follower("master", 1, 0).role("other", 2);
  builder.raw().roles[1].master_of = kWorkers;
  return builder;
}

TEST(Blame, TheSubMasterOfTheWorkerThatFailedLeads) {
  ControllerHarness h({nodes_of(1, 8)});
  const JobId id = h.running(led(), 2);
  const std::vector<Worker> before = h.job(id).workers;
  fail(h, id, 3, peer(0));
  EXPECT_EQ(h.job(id).failover->led, LedRecovery::None);
  recover(h, id);
  for (const std::uint32_t rank : {0U, 1U, 2U, 4U})
    EXPECT_EQ(h.job(id).workers[rank].incarnation, before[rank].incarnation) << rank;
  EXPECT_NE(h.job(id).workers[3].incarnation, before[3].incarnation);
  fail(h, id, 0, peer(1, RoleIndex{2}));
  const auto* told = h.order<TellSubMaster>();
  ASSERT_NE(told, nullptr);
  EXPECT_EQ(told->role, kWorkers);
}

TEST(Blame, TheScopeIsThatOfTheWorkerThatFailed) {
  ControllerHarness h({nodes_of(1, 8)});
  const JobId id = h.running(job("a").replicas(2).role("b", 2).recovery(RecoveryScope::Role), 2);
  const Incarnation mates = h.job(id).workers[1].incarnation;
  const Incarnation others = h.job(id).workers[3].incarnation;
  fail(h, id, 0, peer(0, RoleIndex{1}));
  EXPECT_EQ(failures_of(h, id, 0, RoleIndex{1}), 1U);
  recover(h, id);
  EXPECT_NE(h.job(id).workers[1].incarnation, mates);
  EXPECT_EQ(h.job(id).workers[3].incarnation, others);
}

TEST(Blame, AStrangerAndItselfAreNoPeers) {
  for (const Diagnosis& said :
       {peer(1), peer(7), peer(-1), peer(0, RoleIndex::none()), peer(0, RoleIndex{9})}) {
    ControllerHarness h({nodes_of(1, 4)});
    const JobId id = h.running(job("a").replicas(2), 2);
    const JobId beside = h.running(job("b").replicas(2), 2);
    fail(h, id, 1, said);
    EXPECT_EQ(opened(h).local_rank, 1);
    EXPECT_EQ(failures_of(h, id, 1), 1U);
    EXPECT_EQ(failures_of(h, id, 0), 0U);
    EXPECT_TRUE(h.job(beside).failover->replicas.empty());
    EXPECT_EQ(h.phase(beside), JobPhase::Running);
  }
}

TEST(Blame, ASubMasterIsNeitherHeardNorBlamed) {
  JobBuilder builder = job("a").replicas(2).follower("master", 1, 0);
  builder.raw().roles[1].master_of = kWorkers;
  for (const std::uint32_t teller : {0U, 2U}) {
    ControllerHarness h({nodes_of(1, 4)});
    const JobId id = h.running(builder, 2);
    fail(h, id, teller, teller == 0 ? peer(0, RoleIndex{1}) : node());
    EXPECT_EQ(opened(h).reason, Reason::WorkerFailed);
    EXPECT_EQ(opened(h).role, RoleIndex{static_cast<std::uint16_t>(teller == 0 ? 0 : 1)});
    EXPECT_EQ(h.row(id).node_losses, 0U);
  }
}

/// Workers of one role that fail together, each with what it says: acted upon once the last of the
/// job has ended.
struct Together {
  std::vector<std::optional<Diagnosis>> said;  ///< Nothing: it succeeds.
  std::uint32_t root;                          ///< Whom it must come to.
  Reason reason = Reason::WorkerFailed;
};

TEST(Blame, OfSeveralTheBlameIsFollowedFromTheLowestRank) {
  const std::vector<Together> cases{
      {{peer(1), mine(), std::nullopt}, 1},
      {{peer(2), mine(), mine()}, 2},
      {{peer(1), peer(2), std::nullopt}, 2},
      {{peer(2), std::nullopt, Diagnosis{}}, 2},
      {{peer(2), mine(), node()}, 2, Reason::NodeBlamed},
      {{peer(2), mine(), peer(9)}, 2},
      {{mine(), peer(2), std::nullopt}, 0},
      {{std::nullopt, peer(2), peer(1)}, 1},
      {{peer(2), peer(2), peer(1)}, 1},
      {{peer(1), peer(2), peer(0)}, 0},
      {{peer(1), peer(0), node()}, 0},
      {{peer(2), node(), peer(0)}, 0},
  };
  for (std::size_t i = 0; i < cases.size(); ++i) {
    SCOPED_TRACE(i);
    ControllerHarness h({nodes_of(1, 4)});
    JobBuilder builder = job("a").replicas(3).limit(5);
    builder.raw().failover.edit().trigger = FailureTrigger::AtEnd;
    const JobId id = h.running(builder, 3);
    for (std::uint32_t rank = 0; rank < 3; ++rank) {
      if (const auto& said = cases[i].said[rank])
        fail(h, id, rank, *said);
      else
        h.succeed(id, rank);
    }
    EXPECT_EQ(opened(h).reason, cases[i].reason);
    EXPECT_EQ(opened(h).local_rank, static_cast<std::int32_t>(cases[i].root));
    const bool by_node = cases[i].reason == Reason::NodeBlamed;
    for (std::uint32_t rank = 0; rank < 3; ++rank)
      EXPECT_EQ(failures_of(h, id, static_cast<std::int32_t>(rank)),
                rank == cases[i].root && !by_node ? 1U : 0U);
  }
}

TEST(Blame, TheOneThatNamesTheRootIsTold) {
  ControllerHarness h({nodes_of(1, 4)});
  JobBuilder builder = job("a").replicas(3);
  builder.raw().failover.edit().trigger = FailureTrigger::AtEnd;
  const JobId id = h.running(builder, 3);
  fail(h, id, 0, peer(1));
  fail(h, id, 1, peer(2));
  h.succeed(id, 2);
  const std::vector<FailureStatus> told = status_of(h.controller.state(), h.job(id)).failures;
  ASSERT_THAT(told, SizeIs(1));
  EXPECT_EQ(told[0].local_rank, 1);
  EXPECT_EQ(told[0].blame, Blame::Peer);
  EXPECT_EQ(told[0].blamed, "worker 2");
}

TEST(Blame, AWordIsOfOneStartOfItsWorker) {
  ControllerHarness h({nodes_of(1, 4)});
  const JobId id = h.running(job("a").replicas(2), 2);
  fail(h, id, 1, node());
  recover(h, id);
  fail(h, id, 1, {});
  EXPECT_EQ(opened(h).reason, Reason::WorkerFailed);
  EXPECT_EQ(h.row(id).node_losses, 1U);
  EXPECT_EQ(failures_of(h, id, 1), 1U);
}

TEST(Blame, OnlyThoseMoveWhoseNodesAreCharged) {
  // Rank 0 is the root, and blames itself: that rank 1 blames its node is not looked at.
  ControllerHarness h({nodes_of(2, 4)});
  JobBuilder builder = job("a").replicas(2);
  builder.raw().failover.edit().trigger = FailureTrigger::AtEnd;
  const JobId id = h.running(builder, 2, {on(0, 2)});
  fail(h, id, 0, mine());
  fail(h, id, 1, node());
  EXPECT_EQ(opened(h).reason, Reason::WorkerFailed);
  recover(h, id);
  EXPECT_EQ(h.job(id).workers[1].node, NodeId{0});
}

TEST(Blame, AWorkerThatIsSetAsideStaysSoThoughItBlamesItsNode) {
  ControllerHarness h({nodes_of(2, 4)});
  JobBuilder builder = job("a").replicas(2);
  builder.raw().failover.edit().trigger = FailureTrigger::Skip;
  const JobId id = h.running(builder, 2, {on(0, 2)});
  fail(h, id, 0, node());
  ASSERT_EQ(h.phase(id), JobPhase::Running);
  fail(h, id, 1, node(), 137);
  EXPECT_EQ(opened(h).reason, Reason::NodeBlamed);
  recover(h, id);
  EXPECT_EQ(h.job(id).workers[0].state, WorkerState::Failed);
  EXPECT_EQ(h.job(id).workers[1].node, NodeId{1});
}

TEST(Blame, WhatIsMissingHasTheRoomBeforeThoseWhoBlameTheirNodes) {
  ControllerHarness h({nodes_of(3, 1)});
  const JobId id = h.running(job("a").replicas(2).recovery(RecoveryScope::Job), 2);
  const NodeId blamed = h.job(id).workers[0].node;
  h.step(ExclusionRequested{1, h.job(id).workers[1].node, true});
  fail(h, id, 0, node());
  recover(h, id);
  EXPECT_EQ(h.job(id).workers[0].node, blamed) << "one node is free, and rank 1 needs it";
}

TEST(Blame, AWorkerWithASeatStaysThoughItBlamesItsNode) {
  ControllerHarness h({nodes_of(2, 2)});
  JobBuilder builder = job("a").replicas(2);
  builder.raw().roles[0].bundle.share = Share{};
  builder.raw().roles[0].placements.push_back({2, {}, "0-1"});
  const JobId id = h.running(builder, 2);
  const NodeId before = h.job(id).workers[1].node;
  fail(h, id, 1, node());
  EXPECT_EQ(opened(h).reason, Reason::NodeBlamed);
  recover(h, id);
  EXPECT_EQ(h.job(id).workers[1].node, before);
}

TEST(Blame, WhatAProgramBlamesOnItsNodeIsNoErrorOfItsOwn) {
  for (const bool blames : {false, true}) {
    ControllerHarness h({nodes_of(1, 4)});
    JobBuilder builder = job("a").replicas(2);
    builder.raw().failover.edit().response = FailureResponse::Stop;
    const JobId id = h.running(builder, 2);
    fail(h, id, 0, blames ? node() : peer(1));
    EXPECT_EQ(h.phase(id), blames ? JobPhase::Restarting : JobPhase::Failed);
    if (!blames) {
      EXPECT_THAT(status_of(h.controller.state(), h.job(id)).message,
                  HasSubstr("it blames worker 1: it hung up"));
    }
  }
}

TEST(Blame, ASuccessAndAnEndThatWasAskedForBlameNoWorker) {
  ControllerHarness h({nodes_of(2, 4)});
  const JobId id = h.running(job("a").replicas(2), 2);
  fail(h, id, 0, node(), 0);
  EXPECT_EQ(h.phase(id), JobPhase::Running);
  h.step(StopRequested{1, id});
  fail(h, id, 1, node(), 143);
  for (const Worker& worker : h.job(id).workers)
    EXPECT_EQ(worker.diagnosis->blame, Blame::None) << worker.local_rank;
  EXPECT_EQ(h.row(id).node_losses, 0U);
  EXPECT_THAT(status_of(h.controller.state(), h.job(id)).failures, SizeIs(0));
}

TEST(Blame, WhatItSaidIsInTheStatusAndOutlivesTheController) {
  ControllerHarness h({nodes_of(1, 4)});
  const JobId id = h.running(job("a").replicas(2), 2);
  Diagnosis said = node();
  said.message = std::string(2 * kDiagnosisTextMax, 'x') + "\xc3\xa4";
  fail(h, id, 1, said);
  ByteWriter out;
  h.controller.state().save(out);
  ByteReader in(out.bytes());
  State again;
  ASSERT_TRUE(again.load(in, kRecordVersion));
  const JobStatus told = status_of(again, again.job(id));
  ASSERT_THAT(told.failures, SizeIs(1));
  EXPECT_EQ(told.failures[0].reason, Reason::NodeBlamed);
  EXPECT_EQ(told.failures[0].blame, Blame::Node);
  EXPECT_EQ(told.failures[0].diagnosis, std::string(kDiagnosisTextMax, 'x'));
  EXPECT_THAT(told.message, HasSubstr("; it blames its node: xxx"));
}

TEST(Blame, OlderRulesDecideAsIfNothingHadBeenSaid) {
  const auto run = [](std::uint16_t rules, const Diagnosis& said) {
    Settings settings;
    settings.rules = rules;
    ControllerHarness h({nodes_of(2, 4)}, settings);
    const JobId id = h.running(job("a").replicas(2), 2, {on(0, 2)});
    fail(h, id, 1, said);
    return bytes_of(h.controller.state());
  };
  for (std::uint16_t rules = 0; rules < 4; ++rules)
    for (const Diagnosis& said : {mine(), node(), peer(0)})
      EXPECT_EQ(run(rules, said), run(rules, {})) << rules;
  EXPECT_NE(run(4, node()), run(4, {}));
}

TEST(Blame, ATextIsCutBetweenTwoCharacters) {
  EXPECT_EQ(cut_at_character("abc", 3), "abc");
  EXPECT_EQ(cut_at_character("abcd", 3), "abc");
  EXPECT_EQ(cut_at_character("ab\xc3\xa4", 3), "ab");
  EXPECT_EQ(cut_at_character("a\xe2\x82\xac", 3), "a");
  EXPECT_EQ(cut_at_character("\xf0\x9f\x98\x80", 3), "");
  EXPECT_EQ(cut_at_character("\xf0\x9f\x98\x80x", 4), "\xf0\x9f\x98\x80");
}

}  // namespace
}  // namespace orrery::tests
