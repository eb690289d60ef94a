// Faults of nodes in the model world, and what the leader's session hears of them.
#include <gmock/gmock.h>

#include "tests/sim/model/world_harness.hpp"

namespace orrery::tests {
namespace {

using scenarios::FaultKind;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

/// One job of 1000 s, a worker each on nodes 0 and 1, started at 0 s.
class NodeFaults : public testing::Test {
 protected:
  void play(std::vector<scenarios::Fault> faults, double until_s) {
    const JobSpec spec = job("train").elastic(1, 2).spec();
    world_.emplace(four_nodes(std::move(faults)), std::vector{modelled(spec, 1000)});
    world().pass_to(0);
    world().start(1, 0, 1);
    world().pass_to(until_s);
  }

  WorldHarness& world() { return *world_; }

  /// When a node was noticed to be silent, and to be back.
  std::vector<double> silent() { return times<NodeSilent>(); }

  std::vector<double> returned() { return times<NodeReturned>(); }

  std::vector<NodeId> alive_on() {
    std::vector<NodeId> out;
    for (const sim::LivingProcess& p : world().world.cluster().living()) out.push_back(p.node);
    return out;
  }

 private:
  template <class Body>
  std::vector<double> times() {
    std::vector<double> out;
    for (const auto& [at, body] : world().of<Body>()) out.push_back(at);
    return out;
  }

  std::optional<WorldHarness> world_;
};

constexpr Duration kShort = Duration::seconds(5);
constexpr Duration kLong = Duration::seconds(60);

TEST_F(NodeFaults, ANodeThatComesBackWithinItsLeaseIsHeardWithNothing) {
  play({node_fault(20, FaultKind::Down, 1, kShort)}, 100);
  EXPECT_THAT(silent(), IsEmpty());
  EXPECT_THAT(returned(), ElementsAre(25));
  EXPECT_THAT(world().of<NodeReturned>()[0].second.workers, IsEmpty());
  EXPECT_THAT(alive_on(), ElementsAre(NodeId{0}));
}

TEST_F(NodeFaults, ANodeThatStaysAwayIsSilentAfterItsLease) {
  play({node_fault(20, FaultKind::Down, 1, kLong)}, 100);
  EXPECT_THAT(silent(), ElementsAre(30));
  EXPECT_THAT(returned(), ElementsAre(80));
}

TEST_F(NodeFaults, ASecondFailureOfANodeThatIsDownKeepsItDown) {
  play({node_fault(20, FaultKind::Down, 1, kLong), node_fault(40, FaultKind::Down, 1, kLong)}, 200);
  EXPECT_THAT(silent(), ElementsAre(30));
  EXPECT_THAT(returned(), ElementsAre(100));
}

TEST_F(NodeFaults, AnOldRepairDoesNotBringBackANodeThatBrokeAgain) {
  play({node_fault(20, FaultKind::Down, 1, kLong),
        node_fault(30, FaultKind::Up, 1),
        node_fault(40, FaultKind::Down, 1, kLong)},
       200);
  EXPECT_THAT(silent(), ElementsAre(50));
  EXPECT_THAT(returned(), ElementsAre(30, 100));
}

TEST_F(NodeFaults, ARebootLoopIsHeardEachTime) {
  scenarios::Fault loop = node_fault(20, FaultKind::Down, 1, kShort);
  loop.times = 3;
  loop.every = Duration::seconds(15);
  play({loop}, 100);
  EXPECT_THAT(silent(), IsEmpty());
  EXPECT_THAT(returned(), ElementsAre(25, 40, 55));
}

TEST_F(NodeFaults, ALostDeviceTakesItsWorkerAndIsToldBeforeThat) {
  scenarios::Fault lost = node_fault(20, FaultKind::DeviceLost, 1, kLong);
  lost.devices = 3;
  play({lost}, 20);
  const auto losses = world().of<DevicesLost>();
  ASSERT_THAT(losses, SizeIs(1));
  EXPECT_EQ(losses[0].second.devices, 3u);
  ASSERT_THAT(world().reported(WorkerFact::Exited), SizeIs(1));
  EXPECT_EQ(world().reported(WorkerFact::Exited)[0].second.exit_code, 134);
  const auto at = [&](auto is) {
    return std::find_if(world().events.begin(), world().events.end(), is) - world().events.begin();
  };
  EXPECT_LT(at([](const Event& e) { return std::holds_alternative<DevicesLost>(e.body); }),
            at([](const Event& e) {
              const auto* changed = std::get_if<WorkersChanged>(&e.body);
              return changed != nullptr && changed->fact == WorkerFact::Exited;
            }));
}

TEST_F(NodeFaults, AnotherDeviceEndsNoWorker) {
  scenarios::Fault lost = node_fault(20, FaultKind::DeviceLost, 1, kLong);
  lost.devices = 8;
  play({lost}, 100);
  EXPECT_THAT(world().reported(WorkerFact::Exited), IsEmpty());
  ASSERT_THAT(world().of<DevicesLost>(), SizeIs(2));
  EXPECT_EQ(world().of<DevicesLost>()[1].first, 80);
  EXPECT_EQ(world().of<DevicesLost>()[1].second.devices, 0u) << "all work again";
}

TEST_F(NodeFaults, NoWorkerStartsOnALostDevice) {
  scenarios::Fault lost = node_fault(20, FaultKind::DeviceLost, 1, kLong);
  lost.devices = 1;
  play({lost}, 21);
  world().start(2, 1, 1);
  world().pass_to(22);
  EXPECT_THAT(world().reported(WorkerFact::LaunchFailed), SizeIs(1));
}

TEST_F(NodeFaults, ANodeThatWasDownComesBackWithAllItsDevices) {
  scenarios::Fault lost = node_fault(20, FaultKind::DeviceLost, 1);
  lost.devices = 1;
  play({lost, node_fault(40, FaultKind::Down, 1, kLong)}, 200);
  EXPECT_EQ(world().world.cluster().lost_devices(NodeId{1}), 0u);
  EXPECT_EQ(world().of<DevicesLost>().back().second.devices, 0u);
}

TEST_F(NodeFaults, APreemptionNoticeComesTrue) {
  scenarios::Fault notice = node_fault(20, FaultKind::PreemptionNotice, 1, kLong);
  notice.notice = Duration::seconds(30);
  play({notice}, 200);
  ASSERT_THAT(world().of<NodeLeaving>(), SizeIs(1));
  EXPECT_EQ(world().of<NodeLeaving>()[0].first, 20);
  EXPECT_EQ(world().of<NodeLeaving>()[0].second.until, at_s(50));
  EXPECT_THAT(silent(), ElementsAre(60));
  EXPECT_THAT(returned(), ElementsAre(110));
}

TEST_F(NodeFaults, AnExclusionIsAskedForAndTakenBack) {
  play({node_fault(20, FaultKind::Cordon, 1, kLong), node_fault(90, FaultKind::Uncordon, 2)}, 100);
  const auto asked = world().of<ExclusionRequested>();
  ASSERT_THAT(asked, SizeIs(3));
  EXPECT_EQ(asked[0].first, 20);
  EXPECT_TRUE(asked[0].second.excluded);
  EXPECT_EQ(asked[1].first, 80);
  EXPECT_FALSE(asked[1].second.excluded);
  EXPECT_EQ(asked[2].second.node, NodeId{2});
  EXPECT_THAT(alive_on(), SizeIs(2)) << "what runs there goes on";
}

class OutOfContact : public NodeFaults, public testing::WithParamInterface<FaultKind> {};

TEST_P(OutOfContact, ForLessThanTheLeaseNothingComesOfIt) {
  play({node_fault(20, GetParam(), 1, kShort)}, 100);
  EXPECT_THAT(silent(), IsEmpty());
  EXPECT_THAT(returned(), IsEmpty());
  EXPECT_THAT(alive_on(), SizeIs(2));
  EXPECT_EQ(world().job().lost, 0);
}

TEST_P(OutOfContact, WorkersAreFencedBeforeTheNodeIsSilent) {
  play({node_fault(20, GetParam(), 1, kLong)}, 27.9);
  EXPECT_THAT(alive_on(), SizeIs(2)) << "they work on until their lease runs out";
  world().pass_to(28);
  EXPECT_THAT(alive_on(), ElementsAre(NodeId{0}));
  EXPECT_THAT(silent(), IsEmpty());
  world().pass_to(100);
  EXPECT_THAT(silent(), ElementsAre(30));
  EXPECT_THAT(returned(), ElementsAre(80));
  EXPECT_THAT(world().of<NodeReturned>()[0].second.workers, IsEmpty());
  EXPECT_THAT(world().reported(WorkerFact::Exited), IsEmpty());
}

TEST_P(OutOfContact, OrdersDoNotArrive) {
  play({node_fault(20, GetParam(), 1, kLong)}, 21);
  world().stop(1, 1, Duration::seconds(1));
  world().pass_to(27);
  EXPECT_THAT(alive_on(), SizeIs(2));
  world().start(2, 1, 1);
  world().pass_to(28);
  EXPECT_THAT(alive_on(), ElementsAre(NodeId{0}));
  world().pass_to(100);
  EXPECT_THAT(world().reported(WorkerFact::Ready), SizeIs(1));
}

TEST_P(OutOfContact, AnEndThatIsNeverReportedIsALossOfTheNode) {
  play({node_fault(20, GetParam(), 1, kLong), worker_fault(22, FaultKind::Crash, 1)}, 40);
  EXPECT_THAT(world().reported(WorkerFact::Exited), IsEmpty());
  EXPECT_THAT(alive_on(), ElementsAre(NodeId{0}));
  EXPECT_THAT(silent(), ElementsAre(30));
}

TEST_P(OutOfContact, ANodeThatDiesMeanwhileIsHeardWhenBothAreOver) {
  play({node_fault(20, GetParam(), 1, kLong), node_fault(30, FaultKind::Down, 1, kLong)}, 100);
  EXPECT_THAT(silent(), ElementsAre(30));
  EXPECT_THAT(returned(), ElementsAre(90));
}

TEST_P(OutOfContact, ANodeThatIsHeardAgainSaysWhatItStillLacks) {
  scenarios::Fault lost = node_fault(15, FaultKind::DeviceLost, 1);
  lost.devices = 8;
  play({lost, node_fault(20, GetParam(), 1, kLong)}, 100);
  EXPECT_THAT(returned(), ElementsAre(80));
  const auto losses = world().of<DevicesLost>();
  ASSERT_THAT(losses, SizeIs(2));
  EXPECT_EQ(losses[1].first, 80);
  EXPECT_EQ(losses[1].second.devices, 8u);
}

INSTANTIATE_TEST_SUITE_P(Kinds,
                         OutOfContact,
                         testing::Values(FaultKind::LinkCut, FaultKind::AgentCrash),
                         [](const auto& kind) {
                           return kind.param == FaultKind::LinkCut ? "LinkCut" : "AgentCrash";
                         });

TEST_F(NodeFaults, WhatNeedsMessagesOrAControllerIsLeftOutInWords) {
  std::vector<scenarios::Fault> faults;
  for (const FaultKind kind : {FaultKind::Latency,
                               FaultKind::Loss,
                               FaultKind::Duplication,
                               FaultKind::Reordering,
                               FaultKind::Bandwidth,
                               FaultKind::ControllerCrash,
                               FaultKind::SecondLeader,
                               FaultKind::ControllerPause,
                               FaultKind::StoreSlow,
                               FaultKind::StoreFail,
                               FaultKind::StoreTorn,
                               FaultKind::ClockStep})
    faults.push_back(fault_at(20, kind));
  play(faults, 30);
  EXPECT_THAT(world().world.warnings(), SizeIs(faults.size()));
}

}  // namespace
}  // namespace orrery::tests
