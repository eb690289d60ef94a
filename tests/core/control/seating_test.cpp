// Jobs that say where their workers sit: seats, turns, virtual clusters, and what becomes of them.
#include "core/membership/seating.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/control/state_view.hpp"
#include "core/control/status.hpp"
#include "tests/support/controller_harness.hpp"

namespace orrery::tests {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

JobBuilder pinned(const std::string& name, std::int32_t replicas, const std::string& text) {
  JobBuilder b = job(name);
  b.replicas(replicas);
  b.raw().roles[0].placements.push_back({replicas, {}, text});
  return b;
}

JobBuilder sized(const std::string& name) {
  JobBuilder b = job(name);
  b.elastic(2, 8);
  b.raw().roles[0].placements = {{2, {}, "0-1"}, {4, {}, "0-3"}, {8, {}, "0-7"}};
  return b;
}

std::vector<std::uint64_t> devices_of(const JobState& job) {
  std::vector<std::uint64_t> out;
  for (const Worker& w : job.workers) out.push_back(w.devices);
  return out;
}

VirtualClusterSpec bundles(const std::string& name, std::vector<std::int32_t> per_node) {
  VirtualClusterSpec cluster;
  cluster.name = name;
  cluster.bundles_per_node = std::move(per_node);
  cluster.cpu_per_bundle = MilliCpu{1000};
  cluster.memory_per_bundle = Bytes{1};
  return cluster;
}

TEST(Seating, WorkersSitExactlyWhereTheTextSays) {
  ControllerHarness h({nodes_of(2, 4)});
  const JobId id = h.running(pinned("a", 3, "2,5-6"), 3);
  EXPECT_THAT(h.job(id).elastic_nodes, ElementsAre(on(0, 1), on(1, 2)));
  EXPECT_THAT(devices_of(h.job(id)), ElementsAre(0b100, 0b10, 0b100));
  EXPECT_EQ(h.row(id).devices_held, 3);
}

TEST(Seating, APlanCannotMoveASeatedJob) {
  ControllerHarness h({nodes_of(2, 4)});
  const JobId id = h.submit(pinned("a", 2, "0-1"));
  h.plan(grant(id, 2, {on(1, 2)}));
  h.settle();
  EXPECT_THAT(h.job(id).elastic_nodes, ElementsAre(on(0, 2)));
}

TEST(Seating, ProcessesShareADeviceInParts) {
  ControllerHarness h({nodes_of(1, 4)});
  const JobId id = h.running(pinned("a", 4, "2-3:0-3").share(500), 4);
  EXPECT_THAT(devices_of(h.job(id)), ElementsAre(0b100, 0b100, 0b1000, 0b1000));
  EXPECT_EQ(h.row(id).devices_held, 2) << "a device counts once";
  EXPECT_EQ(h.controller.state().ledger.free().at(NodeId{0}).devices, 2);
}

TEST(Seating, ATakenSeatIsWaitedFor) {
  ControllerHarness h({nodes_of(1, 4)});
  const JobId first = h.running(pinned("a", 2, "0-1"), 2);
  const JobId second = h.submit(pinned("b", 2, "1-2"));
  h.plan(grant(second, 2));
  EXPECT_EQ(h.phase(second), JobPhase::Pending);
  EXPECT_EQ(h.grants_dropped(Ignored::DoesNotFit), 1u);
  h.succeed(first, 0);
  h.succeed(first, 1);
  h.plan(grant(second, 2));
  h.settle();
  EXPECT_EQ(h.phase(second), JobPhase::Running);
}

// Storms found workers without devices where a policy had moved a virtual cluster.
TEST(Seating, APlanThatNamesOtherNodesMovesNoSeats) {
  for (const std::uint16_t rules : {std::uint16_t{3}, kDecisionRules}) {
    Settings settings;
    settings.rules = rules;
    ControllerHarness h({nodes_of(2, 4)}, settings);
    const JobId id = h.running(pinned("a", 2, "0-1").elastic(2, 2), 2);
    h.plan(grant(id, 2, {on(1, 2)}));
    h.settle();
    EXPECT_EQ(h.row(id).reschedules, rules < 4 ? 1u : 0u);
    EXPECT_EQ(h.phase(id), JobPhase::Running);
    EXPECT_THAT(devices_of(h.job(id)), ElementsAre(1, 2));
  }
}

TEST(Seating, OldRulesLeaveAJobAsItIsWhoseNewSeatsAreTaken) {
  Settings settings;
  settings.rules = 0;
  ControllerHarness h({nodes_of(1, 8)}, settings);
  const JobId grows = h.running(sized("a"), 2);
  h.running(pinned("b", 2, "2-3"), 2);
  h.plan(grant(grows, 4));
  EXPECT_EQ(h.grants_dropped(Ignored::DoesNotFit), 1u);
  EXPECT_EQ(h.phase(grows), JobPhase::Running);
  EXPECT_EQ(h.row(grows).replicas, 2);
}

TEST(Seating, ANodeOfSixtyFourDevicesOffersEachOfThem) {
  ControllerHarness h({nodes_of(1, 64), nodes_of(1, 63)});
  const std::vector<vcluster::NodeOffer> offers = node_offers(h.controller.state());
  ASSERT_EQ(offers.size(), 2u);
  EXPECT_EQ(offers[0].all_devices, ~std::uint64_t{0});
  EXPECT_EQ(offers[1].all_devices, ~std::uint64_t{0} >> 1);
}

TEST(Seating, PoliciesSeeWhetherTheSeatsAreFree) {
  ControllerHarness h({nodes_of(1, 4)});
  h.running(pinned("a", 1, "3"), 1);
  const JobId taken = h.submit(pinned("b", 2, "2-3"));
  const JobId free = h.submit(pinned("c", 2, "1-2"));
  const StateView view(h.controller.state(), {}, false);
  CapacityTrial trial;
  trial.sync(view.capacity());
  EXPECT_FALSE(try_start(view, view.job(taken), 2, trial)) << "three devices are free, one is not";
  EXPECT_EQ(trial.index().at(NodeId{0}).devices, 3) << "nothing is left behind";
  std::vector<NodeCount> nodes;
  EXPECT_TRUE(try_start(view, view.job(free), 2, trial, &nodes));
  EXPECT_THAT(nodes, ElementsAre(on(0, 2)));
  EXPECT_EQ(trial.index().at(NodeId{0}).devices, 1);
}

TEST(Seating, SeatsComeFreeOnlyWithWhoMayLeaveThem) {
  ControllerHarness h({nodes_of(1, 8)});
  h.running(pinned("stays", 1, "3"), 1);
  const JobId leaves = h.running(pinned("leaves", 2, "4-5").preemptible(), 2);
  const JobId goes_on = h.running(pinned("onward", 1, "6").preemptible(), 1);
  const JobId aside = h.running(pinned("aside", 1, "7").preemptible(), 1);
  const JobId beside_it = h.submit(pinned("beside", 2, "4-5"));
  const JobId on_the_fixed = h.submit(pinned("fixed", 2, "3-4"));
  const JobId on_both = h.submit(pinned("both", 3, "4-6"));
  const StateView view(h.controller.state(), {}, false);
  CapacityTrial trial;
  trial.sync(view.capacity());
  const std::size_t mark = trial.mark();
  give_back(view, view.job(leaves), trial);
  EXPECT_FALSE(try_start(view, view.job(on_the_fixed), 2, trial)) << "device 3 is kept";
  EXPECT_FALSE(try_start(view, view.job(on_both), 3, trial)) << "two came free, three are held";
  give_back(view, view.job(aside), trial);
  EXPECT_FALSE(try_start(view, view.job(on_both), 3, trial)) << "three came free, one of others";
  EXPECT_TRUE(try_start(view, view.job(beside_it), 2, trial));
  trial.undo(mark);
  give_back(view, view.job(leaves), trial);
  give_back(view, view.job(goes_on), trial);
  EXPECT_TRUE(try_start(view, view.job(on_both), 3, trial));
}

TEST(Seating, DevicesThatRolesTakeTurnsOnComeFreeOnce) {
  ControllerHarness h({nodes_of(1, 4)});
  JobBuilder turns = pinned("turns", 4, "0-3").role("rollout", 2, 2).preemptible();
  turns.raw().roles[1].placements.push_back({2, {}, "0-3:0-1"});
  turns.raw().take_turns.push_back({{"worker", "rollout"}});
  const JobId holds = h.running(turns, 4);
  const JobId waits = h.submit(pinned("waits", 4, "0-3"));
  const StateView view(h.controller.state(), {}, false);
  CapacityTrial trial;
  trial.sync(view.capacity());
  EXPECT_FALSE(try_start(view, view.job(waits), 4, trial));
  give_back(view, view.job(holds), trial);
  EXPECT_TRUE(try_start(view, view.job(waits), 4, trial));
}

TEST(Seating, PartsComeFreeOnlyWithWhoMayLeaveThem) {
  ControllerHarness h({nodes_of(1, 4)});
  const auto part = [](const char* name, const char* where, std::int32_t thousandths) {
    JobBuilder b = pinned(name, 1, where);
    b.raw().roles[0].bundle.share = Share{thousandths};
    return b;
  };
  h.running(part("stays", "0", 600), 1);
  const JobId leaves = h.running(part("leaves", "1", 600).preemptible(), 1);
  const JobId light = h.running(JobBuilder("light").replicas(1).devices(0).preemptible(), 1);
  const JobId on_the_fixed = h.submit(part("fixed", "0", 500));
  const JobId in_its_place = h.submit(part("place", "1", 500));
  const StateView view(h.controller.state(), {}, false);
  CapacityTrial trial;
  trial.sync(view.capacity());
  give_back(view, view.job(light), trial);
  EXPECT_FALSE(try_start(view, view.job(in_its_place), 1, trial)) << "nothing came free of it";
  give_back(view, view.job(leaves), trial);
  EXPECT_FALSE(try_start(view, view.job(on_the_fixed), 1, trial)) << "0.4 are left beside it";
  EXPECT_TRUE(try_start(view, view.job(in_its_place), 1, trial));
}

TEST(Seating, RolesThatTakeTurnsSitOnTheSameDevices) {
  ControllerHarness h({nodes_of(1, 4)});
  JobBuilder b = pinned("a", 4, "0-3").role("rollout", 2, 2);
  b.raw().roles[1].placements.push_back({2, {}, "0-3:0-1"});
  b.raw().take_turns.push_back({{"worker", "rollout"}});
  const JobId id = h.running(b, 4);
  EXPECT_THAT(devices_of(h.job(id)), ElementsAre(1, 2, 4, 8, 0b11, 0b1100));
  EXPECT_EQ(h.row(id).devices_held, 4);
  EXPECT_EQ(h.row(id).gang_devices(), 4);
  for (std::uint32_t rank = 0; rank < 6; ++rank) h.succeed(id, rank);
  EXPECT_EQ(h.phase(id), JobPhase::Succeeded);
  EXPECT_EQ(h.controller.state().ledger.free().at(NodeId{0}).devices, 4);
}

TEST(Seating, AnUndeclaredOverlapIsRefusedWithItsRemedy) {
  ControllerHarness h({nodes_of(1, 4)});
  JobBuilder b = pinned("a", 2, "0-1").role("rollout", 2);
  b.raw().roles[1].placements.push_back({2, {}, "1-2"});
  EXPECT_TRUE(h.submit(b).is_none());
  EXPECT_FALSE(h.last_answer().accepted);
  EXPECT_THAT(h.last_answer().message, HasSubstr("device 1 of node 0"));
  EXPECT_THAT(h.last_answer().message, HasSubstr("take_turns: [[worker, rollout]]"));
}

TEST(Seating, ATextThatContradictsItselfIsRefused) {
  ControllerHarness h({nodes_of(1, 4)});
  EXPECT_TRUE(h.submit(pinned("a", 2, "0-2:0-1")).is_none());
  EXPECT_TRUE(h.submit(pinned("b", 2, "0-2")).is_none()) << "three processes for two replicas";
}

TEST(Seating, ADeviceThatTheClusterLacksIsInfeasibleUntilItComes) {
  ControllerHarness h({nodes_of(1, 4)});
  const JobId id = h.submit(pinned("a", 2, "4-5"));
  ASSERT_FALSE(id.is_none());
  EXPECT_TRUE(h.row(id).infeasible);
  h.step(NodesDeclared{{nodes_of(1, 4)}});
  EXPECT_FALSE(h.row(id).infeasible);
  h.plan(grant(id, 2));
  h.settle();
  EXPECT_THAT(h.job(id).elastic_nodes, ElementsAre(on(1, 2)));
}

TEST(Seating, ARoleThatFindsNoDevicesBesideItsJobsSeatsIsInfeasible) {
  ControllerHarness h({nodes_of(1, 4)});
  EXPECT_FALSE(h.row(h.submit(pinned("a", 3, "0-2").role("side", 1))).infeasible);
  const JobId id = h.submit(pinned("b", 3, "0-2").role("side", 2));
  EXPECT_TRUE(h.row(id).infeasible);
  EXPECT_EQ(status_of(h.controller.state(), h.job(id)).message,
            "needs 5 devices at once, the declared nodes have 4: more than they can ever give "
            "together");
}

TEST(Seating, RolesThatTakeTurnsNeedTheirDevicesOnce) {
  ControllerHarness h({nodes_of(1, 4)});
  JobBuilder b = pinned("a", 4, "0-3").role("rollout", 2, 2).role("side", 1, 0);
  b.raw().roles[1].placements.push_back({2, {}, "0-3:0-1"});
  b.raw().take_turns.push_back({{"worker", "rollout"}});
  const JobId id = h.submit(b);
  ASSERT_FALSE(id.is_none());
  EXPECT_FALSE(h.row(id).infeasible);
  b.raw().name = "default.b";
  b.raw().roles[2].bundle.devices = 1;
  const JobId more = h.submit(b);
  EXPECT_TRUE(h.row(more).infeasible);
  EXPECT_THAT(status_of(h.controller.state(), h.job(more)).message,
              HasSubstr("needs 5 devices at once, the declared nodes have 4"));
}

TEST(Seating, MoreCpuThanItsNodeHasIsInfeasible) {
  ControllerHarness h({nodes_of(2, 4)});
  JobBuilder b = pinned("a", 2, "0-1").cpu(33000);
  const JobId id = h.submit(b);
  EXPECT_TRUE(h.row(id).infeasible);
  EXPECT_EQ(status_of(h.controller.state(), h.job(id)).message,
            "its workers on node 0 need more CPU or memory than the node has; place fewer of "
            "them there");
  const JobId fits = h.submit(pinned("b", 2, "0-1").cpu(32000));
  EXPECT_FALSE(h.row(fits).infeasible);
}

TEST(Seating, SeatsThatComeFreeAreNotTakenBeyondTheQuota) {
  ControllerHarness h({nodes_of(2, 4)});
  h.step(QuotasDeclared{{{"group/x", 4}}});
  JobBuilder b = sized("a").group("x");
  b.raw().preemptible = false;
  const JobId id = h.running(b, 2);
  const JobId other = h.running(pinned("other", 1, "3"), 1);
  h.step(ScaleRequested{9, id, RoleIndex{0}, ScaleMode::Set, 4});
  ASSERT_TRUE(h.last_answer().accepted);
  ASSERT_EQ(h.row(id).replicas, 2) << "a seat is taken";
  h.step(QuotasDeclared{{{"group/x", 3}}});
  h.succeed(other, 0);
  h.settle();
  EXPECT_EQ(h.row(id).replicas, 2) << "the seats are free, the quota does not allow them";
  EXPECT_EQ(h.row(id).reschedules, 0u);
}

TEST(Seating, AFailedWorkerStartsAgainOnItsSeat) {
  ControllerHarness h({nodes_of(2, 4)});
  const JobId id = h.running(pinned("a", 3, "1,3-4"), 3);
  const std::vector<std::uint64_t> before = devices_of(h.job(id));
  h.fail(id, 1);
  h.pass(Duration::seconds(10));
  h.settle();
  EXPECT_EQ(h.phase(id), JobPhase::Running);
  EXPECT_EQ(devices_of(h.job(id)), before);
}

TEST(Seating, AfterANodeLossTheJobWaitsForItsNode) {
  ControllerHarness h({nodes_of(2, 4)});
  const JobId id = h.running(pinned("a", 3, "1,3-4"), 3);
  h.node_down(1);
  h.settle();
  h.plan(grant(id, 3));
  EXPECT_EQ(h.phase(id), JobPhase::Pending) << "there is room on node 0, but not its seat";
  h.node_up(1);
  h.plan(grant(id, 3));
  h.settle();
  EXPECT_EQ(h.phase(id), JobPhase::Running);
  EXPECT_THAT(h.job(id).elastic_nodes, ElementsAre(on(0, 2), on(1, 1)));
}

TEST(Seating, AnElasticJobGoesBetweenItsNamedSizes) {
  ControllerHarness h({nodes_of(2, 4)});
  const JobId id = h.running(sized("a"), 2);
  h.plan(grant(id, 7));
  h.settle();
  EXPECT_EQ(h.row(id).replicas, 4) << "the largest named size that is not above";
  h.plan(grant(id, 8));
  h.settle();
  EXPECT_THAT(h.job(id).elastic_nodes, ElementsAre(on(0, 4), on(1, 4)));
  h.plan(grant(id, 3));
  h.settle();
  EXPECT_EQ(h.row(id).replicas, 2);
  EXPECT_THAT(h.job(id).elastic_nodes, ElementsAre(on(0, 2)));
  EXPECT_EQ(h.row(id).restarts, 0u);
}

TEST(Seating, GrowingKeepsThoseWhoSitRight) {
  ControllerHarness h({nodes_of(2, 4)});
  const JobId id = h.running(sized("a"), 2);
  const std::vector<Worker> before = h.job(id).workers;
  h.plan(grant(id, 4));
  EXPECT_EQ(h.order<StartWorkers>()->workers.size(), 2u);
  EXPECT_EQ(h.job(id).workers[1].lease, before[1].lease);
}

TEST(Seating, ASizeOfOtherSeatsMovesTheWorkers) {
  ControllerHarness h({nodes_of(2, 4)});
  JobBuilder b = job("a");
  b.elastic(2, 4);
  b.raw().roles[0].placements = {{2, {}, "0-1"}, {4, {}, "4-7"}};
  const JobId id = h.running(b, 2);
  h.plan(grant(id, 4));
  h.settle();
  EXPECT_EQ(h.phase(id), JobPhase::Running);
  EXPECT_THAT(h.job(id).elastic_nodes, ElementsAre(on(1, 4)));
  EXPECT_EQ(h.controller.state().ledger.free().at(NodeId{0}).devices, 4);
}

TEST(Seating, NoJobIsMadeSmallerForAStartThatDoesNotFit) {
  ControllerHarness h({nodes_of(1, 4)});
  JobBuilder b = job("a");
  b.elastic(1, 2);
  b.raw().roles[0].placements = {{1, {}, "0"}, {2, {}, "0-1"}};
  const JobId id = h.running(b, 2);
  const JobId four = h.submit(job("four").replicas(4));
  h.plan(grant(id, 1) + grant(four, 4));
  EXPECT_EQ(h.grants_dropped(Ignored::DoesNotFit), 2u);
  EXPECT_EQ(h.phase(id), JobPhase::Running);
  EXPECT_EQ(h.row(id).reschedules, 0u);
  const JobId three = h.submit(job("three").replicas(3));
  h.plan(grant(id, 1) + grant(three, 3));
  h.settle();
  EXPECT_EQ(h.row(id).replicas, 1) << "it is of use to this one";
  EXPECT_EQ(h.phase(three), JobPhase::Running);
}

TEST(Seating, AUserScalesToNamedSizesOnly) {
  ControllerHarness h({nodes_of(2, 4)});
  JobBuilder b = sized("a");
  b.raw().preemptible = false;
  const JobId id = h.running(b, 2);
  h.step(ScaleRequested{9, id, RoleIndex{0}, ScaleMode::Set, 3});
  EXPECT_FALSE(h.last_answer().accepted);
  EXPECT_THAT(h.last_answer().message, HasSubstr("2, 4 or 8"));
  h.step(ScaleRequested{10, id, RoleIndex{0}, ScaleMode::Set, 4});
  EXPECT_TRUE(h.last_answer().accepted);
  h.settle();
  EXPECT_EQ(h.row(id).replicas, 4);
}

TEST(Seating, RobotsAreTakenPieceByPiece) {
  NodeGroup group = nodes_of(2, 2);
  group.hardware = {{"Franka", 2}};
  ControllerHarness h({group});
  JobBuilder b = pinned("a", 3, "1-3").devices(0);
  b.raw().roles[0].placements[0].node_groups = {"Franka"};
  const JobId id = h.running(b, 3);
  EXPECT_THAT(h.job(id).elastic_nodes, ElementsAre(on(0, 1), on(1, 2)));
  EXPECT_EQ(h.job(id).workers[0].hardware, 0b10u);
  JobBuilder other = pinned("b", 1, "2").devices(0);
  other.raw().roles[0].placements[0].node_groups = {"Franka"};
  const JobId second = h.submit(other);
  h.plan(grant(second, 1));
  EXPECT_EQ(h.phase(second), JobPhase::Pending);
}

TEST(Seating, AVirtualClusterLiesOnWholeLogicalNodes) {
  ControllerHarness h({nodes_of(3, 4)});
  h.running(job("filler").replicas(2), 2, {on(0, 1), on(1, 1)});
  JobBuilder b = job("a");
  b.raw().virtual_clusters.push_back(bundles("train", {3, 3}));
  b.replicas(6);
  b.raw().roles[0].workers.virtual_cluster = "train";
  const JobId id = h.running(b, 6);
  for (const NodeCount& n : h.job(id).elastic_nodes) EXPECT_EQ(n.replicas, 3);
  EXPECT_EQ(h.row(id).devices_held, 6);
}

TEST(Seating, WorkerGroupsOfOneVirtualClusterTakeTurns) {
  ControllerHarness h({nodes_of(1, 4)});
  JobBuilder b = job("a");
  b.raw().virtual_clusters.push_back(bundles("all", {4}));
  b.raw().virtual_clusters[0].max_worker_groups = 2;
  b.replicas(4).role("generation", 4);
  b.raw().roles[0].workers.virtual_cluster = "all";
  b.raw().roles[1].workers.virtual_cluster = "all";
  const JobId id = h.running(b, 4);
  EXPECT_THAT(devices_of(h.job(id)), ElementsAre(1, 2, 4, 8, 1, 2, 4, 8));
  EXPECT_EQ(h.row(id).devices_held, 4);
}

TEST(Seating, SeparateVirtualClustersShareNothing) {
  ControllerHarness h({nodes_of(2, 4)});
  JobBuilder b = job("a");
  b.raw().virtual_clusters = {bundles("train", {2, 2}), bundles("generation", {2, 2})};
  b.replicas(4).role("generation", 4);
  b.raw().roles[0].workers.virtual_cluster = "train";
  b.raw().roles[1].workers.virtual_cluster = "generation";
  const JobId id = h.running(b, 4);
  EXPECT_EQ(h.row(id).devices_held, 8);
}

TEST(Seating, AVirtualClusterThatLostANodeIsFormedAnew) {
  ControllerHarness h({nodes_of(3, 4)});
  JobBuilder b = job("a");
  b.raw().virtual_clusters.push_back(bundles("train", {4, 4}));
  b.replicas(8);
  b.raw().roles[0].workers.virtual_cluster = "train";
  const JobId id = h.running(b, 8);
  const NodeId lost = h.job(id).elastic_nodes.front().node;
  h.node_down(lost.value);
  h.settle();
  EXPECT_EQ(h.phase(id), JobPhase::Pending);
  h.plan(grant(id, 8));
  h.settle();
  EXPECT_EQ(h.phase(id), JobPhase::Running);
  for (const NodeCount& n : h.job(id).elastic_nodes) EXPECT_NE(n.node, lost);
}

TEST(Seating, InfeasibleAndWaitingAreToldApart) {
  ControllerHarness h({nodes_of(2, 4)});
  const JobId filler = h.running(job("filler").replicas(1), 1);
  JobBuilder b = job("a");
  b.raw().virtual_clusters.push_back(bundles("train", {4, 4}));
  b.replicas(8);
  b.raw().roles[0].workers.virtual_cluster = "train";
  const JobId waits = h.submit(b);
  EXPECT_FALSE(h.row(waits).infeasible);
  h.plan(grant(waits, 8));
  EXPECT_EQ(h.phase(waits), JobPhase::Pending);
  JobBuilder c = job("c");
  c.raw().virtual_clusters.push_back(bundles("train", {5}));
  c.replicas(5);
  c.raw().roles[0].workers.virtual_cluster = "train";
  EXPECT_TRUE(h.row(h.submit(c)).infeasible) << "no node has five devices";
  h.succeed(filler, 0);
  h.plan(grant(waits, 8));
  h.settle();
  EXPECT_EQ(h.phase(waits), JobPhase::Running);
}

}  // namespace
}  // namespace orrery::tests
