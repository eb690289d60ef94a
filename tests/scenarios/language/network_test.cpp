#include "scenarios/language/spec/approximated.hpp"
#include "tests/scenarios/language/loading.hpp"

namespace orrery::scenarios {
namespace {

constexpr const char* kOneJob = "jobs: [{name: a, work: 60s}]\n";

Scenario load_network(const std::string& network, int nodes = 32) {
  return load("cluster: {nodes: " + std::to_string(nodes) + ", network: " + network + "}\n" +
              kOneJob);
}

TEST(Network, UnsaidIsAStarOf400Gigabits) {
  const NetworkSpec network = load(with_cluster(kOneJob)).network;
  EXPECT_FALSE(network.declared);
  EXPECT_EQ(network.topology, NetworkTopology::Star);
  EXPECT_EQ(network.nic_bandwidth, 50e9);
  EXPECT_EQ(network.device_bandwidth, 450e9);
  EXPECT_EQ(network.latency, Duration{1'000});
  EXPECT_EQ(network.storage_bandwidth, 0);
}

TEST(Network, FatTreeTakesWhatItIsGiven) {
  const NetworkSpec network = load_network(
                                  "{topology: fat-tree, nic_bandwidth: 200Gb/s, latency: 2us, "
                                  "nodes_per_leaf: 16, oversubscription: 2, storage_bandwidth: "
                                  "100GB/s, device_bandwidth: 300GB/s, stage: 30s}")
                                  .network;
  EXPECT_TRUE(network.declared);
  EXPECT_EQ(network.topology, NetworkTopology::FatTree);
  EXPECT_EQ(network.nic_bandwidth, 25e9);
  EXPECT_EQ(network.link_bandwidth, 25e9) << "as the nodes' links unless it is said";
  EXPECT_EQ(network.latency, Duration{2'000});
  EXPECT_EQ(network.nodes_per_leaf, 16);
  EXPECT_EQ(network.oversubscription, 2);
  EXPECT_EQ(network.storage_bandwidth, 100e9);
  EXPECT_EQ(network.device_bandwidth, 300e9);
  EXPECT_EQ(network.stage, Duration::seconds(30));
}

TEST(Network, TorusAndDragonflyHaveAPlaceForEachNode) {
  EXPECT_EQ(load_network("{topology: torus, torus: [4, 4, 2]}").network.torus,
            (std::vector<std::int32_t>{4, 4, 2}));
  const DragonflyShape shape = load_network(
                                   "{topology: dragonfly, dragonfly: {groups: 2, chassis: 2, "
                                   "routers: 4, nodes_per_router: 2}}")
                                   .network.dragonfly;
  EXPECT_EQ(shape.groups, 2);
  EXPECT_EQ(shape.routers, 4);
}

TEST(Network, PlatformFilesAreRelativeToTheScenario) {
  const auto scenario =
      parse_scenario("cluster: {nodes: 2, network: {topology: platform, platform: p.xml}}\n" +
                         std::string(kOneJob),
                     "some/where/test.yaml",
                     {});
  ASSERT_TRUE(scenario);
  EXPECT_EQ(scenario->network.platform, "some/where/p.xml");
}

TEST(Network, StandsBesideGroupsOfNodes) {
  const Scenario scenario = load(
      "cluster:\n  groups: [{nodes: 3, gpu: a100}, {nodes: 5, gpu: h100}]\n"
      "  network: {topology: torus, torus: [8]}\n" +
      std::string(kOneJob));
  EXPECT_EQ(scenario.network.torus, std::vector<std::int32_t>{8});
  EXPECT_EQ(scenario.network.device_bandwidth, 300e9) << "the slowest model's";
}

TEST(DeviceModels, OwnOnesGoBeforeThoseBuiltIn) {
  const Scenario scenario = load(
      "cluster: {nodes: 2, gpu: h200, devices: {h200: {bandwidth: 400GB/s}, mine: {compute: "
      "1PFLOPS, memory: 64GB}}}\n" +
      std::string(kOneJob));
  const DeviceModel* h200 = find_device_model(scenario.device_models, "h200");
  ASSERT_NE(h200, nullptr);
  EXPECT_EQ(h200->flops, 989e12);
  EXPECT_EQ(h200->bandwidth, 400e9);
  EXPECT_EQ(scenario.network.device_bandwidth, 400e9);
  EXPECT_EQ(find_device_model(scenario.device_models, "mine")->flops, 1e15);
  EXPECT_EQ(find_device_model(scenario.device_models, "b200")->flops, 2250e12);
  EXPECT_EQ(find_device_model(scenario.device_models, "abacus"), nullptr);
}

TEST(DeviceModels, HaveASpeedWithoutKnowingTheirCompute) {
  const Scenario scenario = load("cluster: {nodes: 2, gpu: mine, devices: {mine: {speed: 2.5}}}\n" +
                                 std::string(kOneJob));
  EXPECT_EQ(speed_of(scenario.device_models, "mine"), 2.5);
  EXPECT_EQ(speed_of(scenario.device_models, "h200"), 1);
}

/// What is said of a scenario with these lines: the keys.
std::vector<std::string> approximated_in(const std::string& text) {
  std::vector<std::string> keys;
  for (const Approximated& each : approximated(load(text))) keys.push_back(each.subject);
  return keys;
}

TEST(Approximated, ModelsThatAreTakenAsEqual) {
  const std::string two = "cluster:\n  groups: [{nodes: 1, gpu: a100}, {nodes: 1, gpu: h100}]\n";
  const std::vector<std::string> told{"cluster.devices"};
  EXPECT_EQ(approximated_in(two + "jobs: [{name: a, work: 60s}]\n"), told);
  EXPECT_EQ(approximated_in(two + "jobs: [{name: a, work: {units: 1, throughput: 1}}]\n"), told);
  EXPECT_EQ(approximated_in(two + "workload: {generator: {jobs: 3, arrivals: {load: 1}}}\n"), told);
  // Those that say their model, need no device, or where a speed is said.
  EXPECT_TRUE(approximated_in(two + "jobs: [{name: a, gpu: h100, work: 60s}]\n").empty());
  EXPECT_TRUE(approximated_in(two + "jobs: [{name: a, gpus: 0, work: 60s}]\n").empty());
  EXPECT_TRUE(approximated_in(two + "  devices: {h100: {speed: 1}}\njobs: [{name: a, work: 60s}]\n")
                  .empty());
  EXPECT_TRUE(
      approximated_in("cluster: {nodes: 2, gpu: a100}\njobs: [{name: a, work: 60s}]\n").empty());
}

TEST(Approximated, OversubscriptionThatNoWholeNumberOfLinksGives) {
  const auto fat_tree = [](const std::string& leaf) {
    return "cluster: {nodes: 32, network: {topology: fat-tree, " + leaf +
           "}}\njobs: [{name: a, work: 60s}]\n";
  };
  EXPECT_TRUE(approximated_in(fat_tree("nodes_per_leaf: 16, oversubscription: 2")).empty());
  const auto told = approximated(load(fat_tree("nodes_per_leaf: 4, oversubscription: 1.34")));
  ASSERT_EQ(told.size(), 1u);
  EXPECT_NE(told[0].sentence.find("the oversubscription is 2 in place of 1.34"), std::string::npos)
      << told[0].sentence;
}

TEST(Control, ABandwidthFaultIsOfTheDataNetworkWhereThatIsModelled) {
  const std::string rest =
      "jobs: [{name: a, work: 60s}]\n"
      "faults: [{at: 1s, kind: bandwidth, node: 0, factor: 0.5}]\n";
  EXPECT_TRUE(load(with_cluster(rest)).needs_agents());
  EXPECT_FALSE(load(with_cluster("fidelity: L1\n" + rest)).needs_agents());
  EXPECT_FALSE(load(with_cluster("world: sim\n" + rest)).needs_agents());
  EXPECT_TRUE(load(with_cluster("fidelity: L1\ncontrol: agents\n" + rest)).needs_agents());
}

}  // namespace
}  // namespace orrery::scenarios
