// L2 against closed forms, within 1 %.
#include "sim/simgrid/fluid_fabric.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "core/base/random.hpp"
#include "sim/simgrid/make_fluid_fabric.hpp"

namespace orrery::sim {
namespace {

using Topology = scenarios::NetworkTopology;

NodeId node(std::uint32_t n) { return NodeId(n); }

Instant at(double seconds) { return Instant::zero() + Duration::from_seconds(seconds); }

scenarios::NetworkSpec star() {
  scenarios::NetworkSpec network;
  network.nic_bandwidth = 10e9;
  network.link_bandwidth = 10e9;
  network.storage_bandwidth = 20e9;
  network.latency = Duration{1'000};
  return network;
}

scenarios::NetworkSpec fat_tree(std::int32_t per_leaf, double oversubscription) {
  scenarios::NetworkSpec network = star();
  network.topology = Topology::FatTree;
  network.nodes_per_leaf = per_leaf;
  network.oversubscription = oversubscription;
  return network;
}

Stage sends(std::vector<Transfer> transfers) {
  Stage stage;
  stage.paced = false;
  stage.exchanges.push_back({Pattern::Transfers, {}, 0, std::move(transfers)});
  return stage;
}

Stage rings(std::uint32_t first, std::uint32_t count, double bytes, double steps) {
  Stage stage;
  Exchange ring{Pattern::Ring, {}, bytes, {}};
  for (std::uint32_t i = 0; i < count; ++i) ring.members.push_back(node(first + i));
  stage.exchanges.push_back(ring);
  stage.steps = steps;
  return stage;
}

class FluidFabricTest : public testing::TestWithParam<bool> {
 protected:
  FluidFabric& make(const scenarios::NetworkSpec& network, std::int64_t nodes) {
    auto engine = std::make_unique<SimGridEngine>();
    Result<Platform> platform = Platform::make(*engine, network, nodes);
    if (!platform) ADD_FAILURE() << platform.errors()[0].text();
    fabric_ = std::make_unique<FluidFabric>(
        std::move(engine), std::move(platform).value(), FluidFabric::Options{GetParam()});
    return *fabric_;
  }

  // Lets everything finish; when each stage did, in seconds.
  std::map<std::uint32_t, double> run(double until = 1e6) {
    std::map<std::uint32_t, double> ends;
    std::vector<StageId> complete;
    for (Instant now; now < at(until);) {
      now = fabric_->next(at(until));
      complete.clear();
      fabric_->pass_to(now, complete);
      for (const StageId id : complete) ends[id.value] = now.in_seconds();
    }
    return ends;
  }

  std::unique_ptr<FluidFabric> fabric_;
};

// The same with flows that go by our own clock where they can, and with all of them in SimGrid.
INSTANTIATE_TEST_SUITE_P(Ways, FluidFabricTest, testing::Values(false, true), [](const auto& way) {
  return way.param ? std::string("EverythingInSimGrid") : std::string("ContendedInSimGrid");
});

TEST_P(FluidFabricTest, OneJobAloneTakesItsClosedForm) {
  FluidFabric& fabric = make(star(), 4);
  Stage stage = rings(0, 4, 40e9, 100);
  stage.compute_s = 3;
  stage.overlap = 0.5;
  // 2 x 3/4 x 40 GB at 10 GB/s is 6 s; 3 s of them hide behind the compute.
  EXPECT_NEAR(fabric.step_alone_s(stage), 6, 6e-4);
  const StageId id = fabric.begin(stage, Instant::zero());
  EXPECT_NEAR(run().at(id.value), 600, 0.1);
}

TEST_P(FluidFabricTest, StageWithoutTransfersIsItsCompute) {
  FluidFabric& fabric = make(star(), 2);
  Stage stage;
  stage.compute_s = 2;
  stage.local_exchange_s = 1;
  stage.overlap = 1;
  stage.steps = 10;
  const StageId id = fabric.begin(stage, at(5));
  EXPECT_NEAR(fabric.steps_done(id, at(15)), 5, 1e-9);
  EXPECT_NEAR(run().at(id.value), 25, 1e-9);
}

TEST_P(FluidFabricTest, TwoJobsOnOneLinkGetHalfEach) {
  FluidFabric& fabric = make(star(), 3);
  const StageId a = fabric.begin(sends({{node(0), node(2), 50e9}}), Instant::zero());
  const StageId b = fabric.begin(sends({{node(1), node(2), 50e9}}), Instant::zero());
  EXPECT_NEAR(fabric.steps_done(a, at(5)), 0.5, 0.005);
  const auto ends = run();
  EXPECT_NEAR(ends.at(a.value), 10, 0.01);
  EXPECT_NEAR(ends.at(b.value), 10, 0.01);
}

TEST_P(FluidFabricTest, SharingIsEqualWhateverTheDistance) {
  FluidFabric& fabric = make(fat_tree(2, 1), 8);
  // From the same leaf and from another one to the same node.
  const StageId near = fabric.begin(sends({{node(1), node(0), 50e9}}), Instant::zero());
  const StageId far = fabric.begin(sends({{node(7), node(0), 50e9}}), Instant::zero());
  EXPECT_NEAR(fabric.steps_done(near, at(5)), 0.5, 0.005);
  EXPECT_NEAR(fabric.steps_done(far, at(5)), 0.5, 0.005);
}

TEST_P(FluidFabricTest, NeighbourSlowsWhereALinkIsSharedAndNowhereElse) {
  FluidFabric& fabric = make(star(), 6);
  const StageId a = fabric.begin(sends({{node(0), node(2), 100e9}}), Instant::zero());
  const StageId elsewhere = fabric.begin(sends({{node(4), node(5), 100e9}}), Instant::zero());
  (void)fabric.begin(sends({{node(1), node(2), 50e9}}), Instant::zero());
  const auto ends = run();
  EXPECT_NEAR(ends.at(a.value), 15, 0.01) << "half for 10 s, then all";
  EXPECT_NEAR(ends.at(elsewhere.value), 10, 0.01);
}

TEST_P(FluidFabricTest, RingAllReduceOnAFatTree) {
  scenarios::NetworkSpec network = fat_tree(4, 1);
  network.latency = Duration::milliseconds(1);
  FluidFabric& fabric = make(network, 16);
  Stage stage = rings(0, 16, 16e9, 20);
  // 2 (N - 1) / N G / bw, and 2 (N - 1) rounds over ways of at most 4 links.
  const double expected = 2 * 15.0 / 16 * 16e9 / 10e9 + 2 * 15 * 4 * 1e-3;
  EXPECT_NEAR(fabric.step_alone_s(stage), expected, expected * 1e-9);
  const StageId id = fabric.begin(stage, Instant::zero());
  EXPECT_NEAR(run().at(id.value), 20 * expected, 20 * expected * 0.01);
}

TEST_P(FluidFabricTest, OversubscribedUplinksSlowWhatCrossesThem) {
  FluidFabric& fabric = make(fat_tree(4, 4), 8);  // One spine, so one link up for four nodes.
  std::vector<Transfer> all;
  for (std::uint32_t i = 0; i < 4; ++i) all.push_back({node(i), node(4 + i), 10e9});
  const StageId crossing = fabric.begin(sends(all), Instant::zero());
  const auto ends = run();
  EXPECT_NEAR(ends.at(crossing.value), 4, 0.04);
}

TEST_P(FluidFabricTest, DegradedLinkSlowsByWhatItLost) {
  FluidFabric& fabric = make(star(), 4);
  Stage stage = rings(0, 4, 40e9, 100);
  stage.compute_s = 3;  // A step of 9 s alone, of 15 s with half a link.
  const StageId id = fabric.begin(stage, Instant::zero());
  EXPECT_NEAR(fabric.steps_done(id, at(450)), 50, 0.1);
  fabric.set_link_share(node(2), 0.5, at(450));
  EXPECT_NEAR(fabric.step_alone_s(stage), 15, 0.01);
  EXPECT_NEAR(fabric.steps_done(id, at(600)), 60, 0.1);
  fabric.set_link_share(node(2), 1, at(600));
  EXPECT_NEAR(run().at(id.value), 600 + 40 * 9, 1) << "as fast as before";
}

TEST_P(FluidFabricTest, ALinkThatDegradesTimeAndAgainNeverHangs) {
  FluidFabric& fabric = make(star(), 4);
  const StageId a = fabric.begin(sends({{node(0), node(1), 100e9}}), Instant::zero());
  const StageId b = fabric.begin(sends({{node(2), node(1), 100e9}}), Instant::zero());
  for (int i = 0; i < 10; ++i) {
    fabric.set_link_share(node(1), 0.25, at(i));
    fabric.set_link_share(node(1), 1, at(i + 0.5));
  }
  // In 10 s 10 x (0.5 x 2.5 + 0.5 x 10) = 62.5 GB of 200.
  const auto ends = run();
  EXPECT_NEAR(ends.at(a.value), 10 + 137.5 / 10, 0.1);
  EXPECT_NEAR(ends.at(b.value), 10 + 137.5 / 10, 0.1);
}

TEST_P(FluidFabricTest, CheckpointStormSharesTheStorage) {
  for (const Topology topology : {Topology::FatTree}) {
    scenarios::NetworkSpec network = fat_tree(8, 1);
    network.topology = topology;
    FluidFabric& fabric = make(network, 16);
    std::vector<StageId> jobs;
    for (std::uint32_t i = 0; i < 16; ++i)
      jobs.push_back(fabric.begin(sends({{node(i), NodeId::none(), 10e9}}), Instant::zero()));
    const auto ends = run();
    // 160 GB into 20 GB/s.
    for (const StageId id : jobs) EXPECT_NEAR(ends.at(id.value), 8, 0.08);
  }
}

TEST_P(FluidFabricTest, CheckpointsOnATorusGoBesideTheNetwork) {
  scenarios::NetworkSpec network = star();
  network.topology = Topology::Torus;
  network.torus = {3, 3};
  FluidFabric& fabric = make(network, 9);
  const StageId alone = fabric.begin(sends({{node(0), NodeId::none(), 10e9}}), Instant::zero());
  EXPECT_NEAR(run(2).at(alone.value), 1, 0.01) << "a node's link is slower than the storage";
  std::vector<StageId> jobs;
  for (std::uint32_t i = 0; i < 9; ++i)
    jobs.push_back(fabric.begin(sends({{node(i), NodeId::none(), 10e9}}), at(2)));
  const auto ends = run();
  for (const StageId id : jobs) EXPECT_NEAR(ends.at(id.value), 2 + 4.5, 0.05);
}

TEST_P(FluidFabricTest, WithoutABandwidthTheStorageSlowsNobody) {
  scenarios::NetworkSpec network = star();
  network.storage_bandwidth = 0;
  FluidFabric& fabric = make(network, 4);
  std::vector<StageId> jobs;
  for (std::uint32_t i = 0; i < 4; ++i)
    jobs.push_back(fabric.begin(sends({{node(i), NodeId::none(), 20e9}}), Instant::zero()));
  const auto ends = run();
  // 20 GB over the node's own 10 GB/s.
  for (const StageId id : jobs) EXPECT_NEAR(ends.at(id.value), 2, 0.02);
}

TEST_P(FluidFabricTest, StageEndedMidTransferKeepsItsProgressAndSpeedsTheNeighbourUp) {
  FluidFabric& fabric = make(star(), 3);
  const StageId lost = fabric.begin(sends({{node(0), node(2), 100e9}}), Instant::zero());
  const StageId other = fabric.begin(sends({{node(1), node(2), 100e9}}), Instant::zero());
  EXPECT_NEAR(fabric.steps_done(lost, at(8)), 0.4, 0.004);
  fabric.end(lost, at(8));
  const auto ends = run();
  EXPECT_EQ(ends.count(lost.value), 0u);
  EXPECT_NEAR(ends.at(other.value), 14, 0.1) << "half for 8 s, then all";
}

TEST_P(FluidFabricTest, PacedFlowsLeaveRoomForOthers) {
  FluidFabric& fabric = make(star(), 3);
  Stage paced = sends({{node(0), node(2), 10e9}});
  paced.paced = true;
  paced.compute_s = 3;
  paced.steps = 25;  // 4 s a step: 2.5 GB/s.
  const StageId a = fabric.begin(paced, Instant::zero());
  const StageId b = fabric.begin(sends({{node(1), node(2), 75e9}}), Instant::zero());
  const auto ends = run();
  EXPECT_NEAR(ends.at(a.value), 100, 0.1) << "not slowed: half of the link is more than it asks";
  EXPECT_NEAR(ends.at(b.value), 10, 0.1) << "75 GB at what is left, 7.5 GB/s";
}

TEST_P(FluidFabricTest, EqualPairsOfSeveralExchangesAreOneFlow) {
  FluidFabric& fabric = make(star(), 3);
  Stage stage = sends({{node(0), node(1), 10e9}});
  stage.exchanges.push_back(stage.exchanges[0]);
  stage.exchanges.push_back({Pattern::Transfers, {}, 0, {{node(1), node(0), 5e9}}});
  const StageId id = fabric.begin(stage, Instant::zero());
  EXPECT_EQ(fabric.flows_begun(), 2u);
  EXPECT_NEAR(run().at(id.value), 2, 0.01);
}

TEST_P(FluidFabricTest, LinkUseIsWhatFlows) {
  FluidFabric& fabric = make(star(), 3);
  (void)fabric.begin(sends({{node(0), node(2), 50e9}}), Instant::zero());
  (void)fabric.begin(sends({{node(1), node(2), 50e9}}), Instant::zero());
  (void)fabric.next(at(1));
  std::vector<double> use;
  fabric.link_use(use);
  const auto names = fabric.link_names();
  ASSERT_EQ(use.size(), names.size());
  const auto use_of = [&](const std::string& name) {
    return use[static_cast<std::size_t>(std::find(names.begin(), names.end(), name) -
                                        names.begin())];
  };
  EXPECT_NEAR(use_of("node 2 down"), 1, 1e-9);
  EXPECT_NEAR(use_of("node 0 up"), 0.5, 1e-9);
  EXPECT_EQ(use_of("node 0 down"), 0);
}

// A stage may be ended at the instant at which it is complete, before the caller has heard.
TEST_P(FluidFabricTest, EndedAtTheInstantOfItsCompletion) {
  FluidFabric& fabric = make(star(), 2);
  const StageId id = fabric.begin(sends({{node(0), node(1), 10e9}}), Instant::zero());
  const Instant done = fabric.next(at(100));
  EXPECT_LT(done, at(2));
  EXPECT_EQ(fabric.steps_done(id, done), 1);
  fabric.end(id, done);
  std::vector<StageId> complete;
  fabric.pass_to(done, complete);
  EXPECT_TRUE(complete.empty());
  EXPECT_EQ(fabric.next(at(100)), at(100));
}

TEST_P(FluidFabricTest, NodesOfAPlatformFileWithoutNetworkExchangeInNoTime) {
  scenarios::NetworkSpec network;
  network.topology = Topology::Platform;
  network.platform = std::string(ORRERY_SOURCE_ROOT) +
                     "/../shared/traces/batsim/platforms/"
                     "energy_platform_homogeneous_no_net_128.xml";
  if (FILE* file = std::fopen(network.platform.c_str(), "r"))
    std::fclose(file);
  else
    GTEST_SKIP() << "the traces are not here";
  FluidFabric& fabric = make(network, 128);
  Stage stage = sends({{node(0), node(1), 10e9}});
  stage.compute_s = 2;
  const StageId id = fabric.begin(stage, Instant::zero());
  EXPECT_NEAR(run().at(id.value), 2, 1e-6);
  EXPECT_EQ(fabric.node_flops(node(3)), 100e6);
}

TEST(MakeFluidFabric, RefusesAShapeThatDoesNotFit) {
  scenarios::Scenario scenario;
  scenario.file = "some.yaml";
  scenario.groups.resize(1);
  scenario.groups[0].count = 5;
  scenario.network.topology = Topology::Torus;
  scenario.network.torus = {2, 3};
  const auto made = make_fluid_fabric(scenario);
  ASSERT_FALSE(made);
  EXPECT_THAT(made.errors()[0].text(), testing::HasSubstr("some.yaml: cluster.network.torus"));
}

}  // namespace
}  // namespace orrery::sim
