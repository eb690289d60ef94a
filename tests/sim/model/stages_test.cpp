// Work that goes over a fabric in the model world: stages, what slows them, checkpoints, restores.
#include <gmock/gmock.h>

#include "tests/sim/model/world_harness.hpp"
#include "tests/support/scripted_fabric.hpp"

namespace orrery::tests {
namespace {

using scenarios::FaultKind;
using scenarios::Fidelity;
using testing::DoubleNear;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr double kBandwidth = 1e9;
constexpr double kNear = 1e-6;

/// One job of 2 replicas on nodes 0 and 1 that computes a step of 2 units in 1 s (each replica does
/// a unit a second) and then sends 1 GB to and fro over links of 1 GB/s: 2 s a step. 100 units are
/// 50 steps, so 100 s.
class Stages : public testing::Test {
 protected:
  static constexpr double kAlone_s = 100;

  void begin(Fidelity fidelity, std::vector<scenarios::Fault> faults = {}) {
    scenarios::Scenario scenario = four_nodes(std::move(faults));
    scenario.fidelity = fidelity;
    scenario.network.stage = Duration::seconds(30);
    scenario.timing = timing_;
    world_.emplace(std::move(scenario), std::vector{model()}, &fabric_);
    world().pass_to(0);
    world().start(1, 0, 1);
  }

  sim::ModelJob model() {
    sim::ModelJob model = modelled(job("train").elastic(1, 4).spec(), 100);
    traffic_.step.units = 2;
    traffic_.step.gradient = Bytes{1'000'000'000};
    model.work.traffic = std::make_shared<const scenarios::TrafficSpec>(traffic_);
    return model;
  }

  /// When the job's workers exited by themselves.
  std::vector<double> ends() {
    std::vector<double> out;
    for (const auto& [at, body] : world().reported(WorkerFact::Exited))
      if (body.exit_code == 0) out.push_back(at);
    return out;
  }

  static scenarios::Fault waits_for_a_checkpoint() {
    scenarios::Fault fault = worker_fault(0, FaultKind::Crash);
    fault.after = scenarios::AfterEvent{scenarios::ObservedEvent::Checkpoint};
    return fault;
  }

  WorldHarness& world() { return *world_; }

  scenarios::TrafficSpec traffic_;
  scenarios::Timing timing_;
  ScriptedFabric fabric_{kBandwidth};

 private:
  std::optional<WorldHarness> world_;
};

TEST_F(Stages, AtL0TheExchangeTakesItsTimeAndTheFabricCarriesNothing) {
  begin(Fidelity::L0);
  world().pass_to(200);
  EXPECT_THAT(ends(), ElementsAre(DoubleNear(kAlone_s, kNear)));
  EXPECT_EQ(fabric_.begun(), 0u);
}

TEST_F(Stages, AtL1TheWholeWorkIsOneStage) {
  begin(Fidelity::L1);
  world().pass_to(200);
  EXPECT_THAT(ends(), ElementsAre(DoubleNear(kAlone_s, kNear)));
  EXPECT_EQ(fabric_.begun(), 1u);
  EXPECT_EQ(fabric_.under_way(), 0u);
}

TEST_F(Stages, AtL2FlowsAreRenewedAfterEachStage) {
  begin(Fidelity::L2);
  world().pass_to(200);
  EXPECT_THAT(ends(), ElementsAre(DoubleNear(kAlone_s, kNear)));
  EXPECT_EQ(fabric_.begun(), 4u);  // 30, 30, 30 and 10 s.
}

TEST_F(Stages, ABusyNetworkSlowsTheWork) {
  fabric_.script(at_s(50), 0.5);
  begin(Fidelity::L2);
  world().pass_to(300);
  EXPECT_THAT(ends(), ElementsAre(DoubleNear(150, kNear)));
}

TEST_F(Stages, AChangedRateIsToldOnceItIsFound) {
  fabric_.script(at_s(30), 0.5);
  begin(Fidelity::L2);
  world().pass_to(300);
  std::vector<std::pair<double, double>> told;
  for (const auto& [at, body] : world().of<ProgressReported>()) told.emplace_back(at, body.rate);
  // 1 unit a second alone; the stage from 30 s on takes 60 s.
  EXPECT_THAT(told,
              ElementsAre(testing::Pair(0, DoubleNear(1, kNear)),
                          testing::Pair(DoubleNear(90, kNear), DoubleNear(0.5, kNear))));
}

TEST_F(Stages, GangsOnOneNodeStayOffTheFabric) {
  scenarios::Scenario scenario = four_nodes();
  scenario.fidelity = Fidelity::L2;
  WorldHarness world(std::move(scenario), {model()}, &fabric_);
  world.pass_to(0);
  world.start(1, 0, 0);
  world.pass_to(200);
  const auto exits = world.reported(WorkerFact::Exited);
  ASSERT_THAT(exits, SizeIs(1));
  EXPECT_NEAR(exits[0].first, 100, kNear);  // One replica, no exchange.
  EXPECT_EQ(fabric_.begun(), 0u);
}

TEST_F(Stages, ANodeLostInMidStageTakesItsFlowsAlongAndTheWorkGoesOnFromWhatIsSafe) {
  begin(Fidelity::L2, {node_fault(45, FaultKind::Down, 1)});
  world().pass_to(50);
  EXPECT_EQ(fabric_.under_way(), 0u);
  EXPECT_NEAR(world().job().done, 45, kNear);
  world().pass_to(56);     // Its lease has run out.
  world().start(2, 2, 3);  // A recovery elsewhere; the one on node 0 counts as well.
  world().pass_to(57);
  EXPECT_EQ(fabric_.under_way(), 1u);
}

TEST_F(Stages, SlowWorkersSlowTheComputeAndNotTheExchange) {
  scenarios::Fault slow = worker_fault(0, FaultKind::Slow);
  slow.at = at_s(1);
  slow.factor = 3;
  begin(Fidelity::L1, {slow});
  world().pass_to(400);
  // 1 s at 2 s a step, then 3 s of compute and 1 s of exchange.
  EXPECT_THAT(ends(), ElementsAre(DoubleNear(1 + 49.5 * 4, kNear)));
}

TEST_F(Stages, AHungWorkerStopsTheFlows) {
  scenarios::Fault hang = worker_fault(10, FaultKind::Hang);
  hang.lasting = Duration::seconds(20);
  begin(Fidelity::L2, {hang});
  world().pass_to(15);
  EXPECT_EQ(fabric_.under_way(), 0u);
  world().pass_to(300);
  EXPECT_THAT(ends(), ElementsAre(DoubleNear(kAlone_s + 20, kNear)));
}

TEST_F(Stages, BlockingCheckpointsGoToTheStorageBetweenStretchesOfWork) {
  traffic_.checkpoint.size = Bytes{4'000'000'000};  // 2 GB a node: 2 s.
  traffic_.checkpoint.interval = Duration::seconds(40);
  begin(Fidelity::L2);
  world().pass_to(41);
  EXPECT_EQ(fabric_.last().exchanges[0].transfers.size(), 2u);
  EXPECT_TRUE(fabric_.last().exchanges[0].transfers[0].to.is_none());
  world().pass_to(300);
  EXPECT_THAT(ends(), ElementsAre(DoubleNear(kAlone_s + 4, kNear)));
}

TEST_F(Stages, AtL0BlockingCheckpointsTakeAsLong) {
  traffic_.checkpoint.size = Bytes{4'000'000'000};
  traffic_.checkpoint.interval = Duration::seconds(40);
  begin(Fidelity::L0);
  world().pass_to(300);
  EXPECT_THAT(ends(), ElementsAre(DoubleNear(kAlone_s + 4, kNear)));
}

TEST_F(Stages, AtL0AsMuchIsLostAsOnAFabric) {
  traffic_.checkpoint.size = Bytes{4'000'000'000};
  traffic_.checkpoint.interval = Duration::seconds(40);
  begin(Fidelity::L0, {worker_fault(70, FaultKind::Crash)});
  world().pass_to(71);
  EXPECT_NEAR(world().job().lost, 28, kNear);
}

TEST_F(Stages, CheckpointsBesideTheWorkCostItNothingHere) {
  traffic_.checkpoint.size = Bytes{4'000'000'000};
  traffic_.checkpoint.interval = Duration::seconds(40);
  traffic_.checkpoint.blocking = false;
  begin(Fidelity::L2, {worker_fault(85, FaultKind::Crash)});
  world().pass_to(41);
  EXPECT_EQ(fabric_.under_way(), 2u);
  world().pass_to(84);
  EXPECT_EQ(world().job().safe, 80);  // Written since 82 s.
  world().pass_to(86);
  EXPECT_NEAR(world().job().lost, 5, kNear);
  EXPECT_EQ(fabric_.under_way(), 0u);
}

TEST_F(Stages, CheckpointsAreToldAsTheyAreWrittenWhereAFaultWaitsForOne) {
  traffic_.checkpoint.size = Bytes{4'000'000'000};
  traffic_.checkpoint.interval = Duration::seconds(40);
  begin(Fidelity::L2, {waits_for_a_checkpoint()});
  world().pass_to(43);
  const auto told = world().of<ProgressReported>().back();
  EXPECT_NEAR(told.first, 42, kNear);
  EXPECT_TRUE(told.second.checkpointed);
  EXPECT_NEAR(told.second.done, 40, kNear);
}

TEST_F(Stages, ACheckpointBesideTheWorkIsToldOfTheWorkThatIsInIt) {
  traffic_.checkpoint.size = Bytes{4'000'000'000};
  traffic_.checkpoint.interval = Duration::seconds(40);
  traffic_.checkpoint.blocking = false;
  begin(Fidelity::L2, {waits_for_a_checkpoint()});
  world().pass_to(43);
  const auto told = world().of<ProgressReported>();
  ASSERT_GE(told.size(), 2u);
  EXPECT_TRUE(told[told.size() - 2].second.checkpointed);
  EXPECT_NEAR(told[told.size() - 2].second.done, 40, kNear);
  EXPECT_NEAR(told.back().second.done, 42, kNear);
  EXPECT_FALSE(told.back().second.checkpointed);
}

TEST_F(Stages, WhatIsLostIsWhatWasNotInACheckpoint) {
  traffic_.checkpoint.size = Bytes{4'000'000'000};
  traffic_.checkpoint.interval = Duration::seconds(40);
  begin(Fidelity::L2, {worker_fault(70, FaultKind::Crash)});
  world().pass_to(71);
  EXPECT_NEAR(world().job().lost, 28, kNear);  // Since 40 s of work; the checkpoint took 2 s.
}

TEST_F(Stages, ARestartReadsTheCheckpointBackFirst) {
  traffic_.checkpoint.size = Bytes{4'000'000'000};
  traffic_.checkpoint.interval = Duration::seconds(40);
  begin(Fidelity::L2, {worker_fault(50, FaultKind::Crash)});
  world().pass_to(55);
  world().stop(1, 1, Duration::zero());
  world().pass_to(60);
  world().start(2, 0, 1);
  world().pass_to(61);
  ASSERT_EQ(fabric_.under_way(), 1u);
  EXPECT_TRUE(fabric_.last().exchanges[0].transfers[0].from.is_none());
  world().pass_to(300);
  // 60 units left, 2 s to read, a checkpoint at 102 s.
  EXPECT_THAT(ends(), ElementsAre(DoubleNear(60 + 2 + 60 + 2, kNear)));
}

TEST_F(Stages, ShuffledNodesSendFromPlacesThatTheSeedDraws) {
  const auto places = [&](std::uint64_t seed) {
    scenarios::Scenario scenario = four_nodes();
    scenario.seed = seed;
    scenario.fidelity = Fidelity::L1;
    scenario.network.wiring = scenarios::Wiring::Shuffled;
    WorldHarness world(std::move(scenario), {model()}, &fabric_);
    world.pass_to(0);
    world.start(1, 0, 3);
    world.pass_to(1);
    std::vector<std::uint32_t> out;
    for (const NodeId node : fabric_.last().exchanges[0].members) out.push_back(node.value);
    return out;
  };
  std::vector<std::vector<std::uint32_t>> drawn;
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    drawn.push_back(places(seed));
    EXPECT_THAT(drawn.back(), testing::UnorderedElementsAre(0, 1, 2, 3)) << "seed " << seed;
  }
  EXPECT_EQ(drawn.front(), places(1));
  EXPECT_THAT(drawn, testing::Contains(testing::Ne(drawn.front())));
}

TEST_F(Stages, BandwidthFaultsReachTheLinksAndEnd) {
  scenarios::Fault weak = node_fault(10, FaultKind::Bandwidth, 1, Duration::seconds(20));
  weak.factor = 0.25;
  begin(Fidelity::L1, {weak});
  world().pass_to(15);
  EXPECT_EQ(fabric_.link_share(NodeId{1}), 0.25);
  EXPECT_EQ(fabric_.link_share(NodeId{0}), 1);
  world().pass_to(31);
  EXPECT_EQ(fabric_.link_share(NodeId{1}), 1);
}

}  // namespace
}  // namespace orrery::tests
