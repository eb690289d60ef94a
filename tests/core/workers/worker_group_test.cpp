// Worker groups on virtual clusters: names, order, tied groups, leaders, ports of engines.
#include "core/workers/worker_group.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "core/workers/port_bands.hpp"
#include "tests/core/workers/grids.hpp"

namespace orrery::workers {
namespace worker_group_tests {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

VirtualClusterSpec cluster_of(std::vector<std::int32_t> bundles, bool unified = false) {
  VirtualClusterSpec out;
  out.name = "train";
  out.bundles_per_node = std::move(bundles);
  out.unified = unified;
  return out;
}

WorkerGroupSpec per_node(std::vector<std::int32_t> workers) {
  WorkerGroupSpec out;
  out.virtual_cluster = "train";
  out.workers_per_node = std::move(workers);
  return out;
}

WorkerGroupSpec tied(std::vector<TiedBundles> groups) {
  WorkerGroupSpec out;
  out.virtual_cluster = "train";
  out.tied = std::move(groups);
  return out;
}

std::vector<std::string> names(const Result<WorkerGroupLayout>& layout) {
  if (!layout) return refusals(layout);
  std::vector<std::string> out;
  for (const GroupWorker& worker : layout->workers) out.push_back(worker.name);
  return out;
}

TEST(WorkerGroup, HasOneWorkerPerBundleUnlessToldOtherwise) {
  EXPECT_THAT(names(lay_out("policy", cluster_of({2, 3}), per_node({}))),
              ElementsAre("policy-0-0", "policy-0-1", "policy-1-0", "policy-1-1", "policy-1-2"));
  EXPECT_THAT(names(lay_out("policy", cluster_of({2, 3}), per_node({1}))),
              ElementsAre("policy-0-0", "policy-1-0"));
  EXPECT_THAT(names(lay_out("policy", cluster_of({2, 3}), per_node({0, 2}))),
              ElementsAre("policy-1-0", "policy-1-1"));
}

TEST(WorkerGroup, NodesWithoutBundlesAreNotCounted) {
  EXPECT_THAT(names(lay_out("p", cluster_of({0, 1, 0, 2}), per_node({1, 2}))),
              ElementsAre("p-0-0", "p-1-0", "p-1-1"));
}

TEST(WorkerGroup, AUnifiedClusterIsOneGroupOfBundles) {
  EXPECT_THAT(names(lay_out("p", cluster_of({2, 2}, true), per_node({3}))),
              ElementsAre("p-0-0", "p-0-1", "p-0-2"));
}

TEST(WorkerGroup, TheFirstOfATiedGroupLeadsItAndIsToldItsBundles) {
  const WorkerGroupLayout layout =
      lay_out("vllm", cluster_of({4, 4}), tied({{1, {2, 3}}, {0, {0}}, {0, {1, 3, 2}}})).value();
  EXPECT_THAT(
      names(layout),
      ElementsAre(
          "vllm-grp0-0", "vllm-grp0-1", "vllm-0-0", "vllm-grp2-0", "vllm-grp2-1", "vllm-grp2-2"));
  EXPECT_THAT(layout.leaders(), ElementsAre(0, 2, 3));
  EXPECT_THAT(layout.bundles_of(0), ElementsAre(2, 3));
  EXPECT_THAT(layout.bundles_of(1), IsEmpty());
  EXPECT_THAT(layout.bundles_of(2), ElementsAre(0));
  EXPECT_THAT(layout.bundles_of(3), ElementsAre(1, 3, 2));
  EXPECT_EQ(layout.workers[4], (GroupWorker{"vllm-grp2-1", 0, 3, 2, 1}));
  EXPECT_EQ(layout.tied[2], (TiedGroup{0, {1, 3, 2}, 3}));
}

TEST(WorkerGroup, AnEngineMayCrossNodesOfAUnifiedCluster) {
  const WorkerGroupLayout layout =
      lay_out("g", cluster_of({2, 2}, true), tied({{0, {0, 1, 2, 3}}})).value();
  EXPECT_THAT(layout.leaders(), ElementsAre(0));
  EXPECT_THAT(layout.bundles_of(0), ElementsAre(0, 1, 2, 3));
}

TEST(WorkerGroup, RefusesWhatDoesNotFitAllAtOnce) {
  EXPECT_THAT(names(lay_out("p", cluster_of({2, 1}), per_node({2}))),
              ElementsAre("worker group p: found 2 workers per node, but logical node 1 has 1 "
                          "bundle, needed 0 to that many; lower workers_per_node or add bundles"));
  EXPECT_THAT(names(lay_out("p", cluster_of({2, 2}), per_node({1, 1, 1}))),
              ElementsAre("worker group p: found workers_per_node for 3 nodes, needed 1 or 2 "
                          "values; give one per node that has bundles"));
  EXPECT_THAT(names(lay_out("p", cluster_of({2}), per_node({-1}))),
              ElementsAre(HasSubstr("found -1 workers per node")));
  EXPECT_THAT(
      names(lay_out("p", cluster_of({2, 2}), tied({{2, {0}}, {0, {}}, {1, {0, 2}}, {1, {0}}}))),
      ElementsAre(HasSubstr("tied group 0: found logical node 2, needed 0 to 1"),
                  HasSubstr("tied group 1: found no bundles"),
                  HasSubstr("tied group 2: found bundle 2, but logical node 1 has 2 bundles"),
                  HasSubstr("tied group 3: found bundle 0 of node 1 a second time")));
  WorkerGroupSpec both = tied({{0, {0}}});
  both.workers_per_node = {1};
  EXPECT_THAT(names(lay_out("p", cluster_of({2}), both)),
              ElementsAre(HasSubstr("found tied groups and workers_per_node")));
}

TEST(DataLeaders, AreTheWorkersAtIndexZeroOfEveryOtherAxis) {
  const WorkerGroupLayout layout = lay_out("p", cluster_of({4, 4}), per_node({})).value();
  EXPECT_EQ(layout.leaders().size(), 8U) << "without a sharding each worker takes its own data";
  const NamedSharding sharding = NamedSharding::grid({"pp", "dp", "tp"}, {2, 2, 2}).value();
  EXPECT_THAT(data_leaders(layout, sharding, "dp").value(), ElementsAre(0, 2));
  EXPECT_THAT(data_leaders(layout, sharding, "pp").value(), ElementsAre(0, 4));
  EXPECT_THAT(refusals(data_leaders(layout, sharding, "xx")), ElementsAre(HasSubstr("axis 'xx'")));
}

TEST(DataLeaders, MustOwnAnEngine) {
  const WorkerGroupLayout layout =
      lay_out("g", cluster_of({4}), tied({{0, {0, 1}}, {0, {2, 3}}})).value();
  const auto by = [&](std::vector<std::int32_t> shape, std::vector<std::int32_t> ranks) {
    return data_leaders(
        layout,
        NamedSharding::make({"dp", "tp"}, std::move(shape), std::move(ranks)).value(),
        "dp");
  };
  EXPECT_THAT(by({2, 2}, {0, 1, 2, 3}).value(), ElementsAre(0, 2));
  EXPECT_THAT(refusals(by({2, 2}, {0, 2, 1, 3})),
              ElementsAre(HasSubstr("found worker 1 at index 1 of axis dp, which leads no tied")));
  EXPECT_THAT(refusals(by({2, 1}, {0, 2})), ElementsAre(HasSubstr("found 2 ranks, needed 4")));
  EXPECT_THAT(refusals(by({2, 2}, {0, 1, 5, 3})), ElementsAre(HasSubstr("found rank 5")));
}

TEST(EnginePorts, StandAHundredApartByIndexOnTheNode) {
  const NodeId a{0};
  const NodeId b{1};
  // Three engines begin on one node and two on the other, listed in any order.
  const std::vector<EngineSeat> engines{{a, 3}, {a, 0}, {b, 4}, {b, 0}, {a, 7}};
  EXPECT_THAT(engine_indexes(engines), ElementsAre(1, 0, 1, 0, 2));
  EXPECT_EQ(engine_port(0).value(), 7000);
  EXPECT_EQ(engine_port(7).value(), 7700);
  EXPECT_EQ(engine_port(19).value(), 8900);
  EXPECT_THAT(refusals(engine_port(20)), ElementsAre(HasSubstr("needed an engine 0 to 19")));
  EXPECT_THAT(engine_indexes({}), IsEmpty());
}

TEST(EnginePorts, EnginesOfDifferentSizeOrOnTheSameDevicesDoNotMeet) {
  const NodeId node{4};
  // First device / size would give 0, 0 and 1 to engines of 2, 4 and 2 devices.
  EXPECT_THAT(engine_indexes(std::vector<EngineSeat>{{node, 0}, {node, 2}, {node, 6}}),
              ElementsAre(0, 1, 2));
  EXPECT_THAT(engine_indexes(std::vector<EngineSeat>{{node, 0}, {node, 0}}), ElementsAre(0, 1));
}

TEST(PortBands, HoldEveryPortGivenAndMeetNowhere) {
  for (std::uint32_t job = 0; job < 2000; ++job)
    EXPECT_TRUE(kMasterPorts.contains(master_port(JobId{job})));
  EXPECT_NE(master_port(JobId{0}), master_port(JobId{1}));
  std::set<std::int32_t> ports;
  for (const PortBand& band : kPortBands)
    for (std::int32_t port = band.first; port < band.end; ++port) {
      EXPECT_TRUE(ports.insert(port).second) << port;
      EXPECT_LT(port, kPortLimit);
    }
  for (std::int32_t engine = 0; engine < kEnginesPerNode; ++engine)
    EXPECT_TRUE(kEnginePorts.contains(engine_port(engine).value() + kPortsPerEngine - 1));
}

/// Checks each worker against its tied group; returns how many bundles are told to leaders.
std::size_t expect_one_to_one(const WorkerGroupLayout& layout) {
  std::set<std::string> names_seen;
  std::set<std::pair<std::int32_t, std::int32_t>> places;
  std::size_t told = 0;
  for (std::int32_t rank = 0; rank < layout.world_size(); ++rank) {
    const GroupWorker& worker = layout.workers[static_cast<std::size_t>(rank)];
    const TiedGroup& group = layout.tied[static_cast<std::size_t>(worker.tied_group)];
    EXPECT_TRUE(names_seen.insert(worker.name).second) << worker.name;
    EXPECT_TRUE(places.emplace(worker.node, worker.bundle).second);
    EXPECT_EQ(group.first_rank + worker.local_rank, rank);
    EXPECT_EQ(group.bundles[static_cast<std::size_t>(worker.local_rank)], worker.bundle);
    EXPECT_EQ(group.node, worker.node);
    told += layout.bundles_of(rank).size();
  }
  return told;
}

TEST(WorkerGroupProperty, RanksNamesAndBundlesAreOneToOneAndTiedGroupsPartitionTheWorkers) {
  const std::uint64_t seed = 4242;
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  for (int round = 0; round < 300; ++round) {
    std::vector<std::int32_t> bundles(static_cast<std::size_t>(random.between(1, 4)));
    for (std::int32_t& count : bundles) count = static_cast<std::int32_t>(random.between(1, 8));
    const VirtualClusterSpec cluster = cluster_of(bundles, random.chance(0.3));
    const bool is_tied = random.chance(0.7);
    const std::vector<TiedBundles> groups =
        random_tied_groups(bundles_by_logical_node(cluster), random);
    const WorkerGroupLayout layout =
        lay_out("w", cluster, is_tied ? tied(groups) : per_node({})).value();
    std::size_t all = 0;
    for (const std::int32_t count : bundles) all += static_cast<std::size_t>(count);
    EXPECT_EQ(layout.workers.size(), all);
    EXPECT_EQ(expect_one_to_one(layout), all) << "every bundle is told to exactly one leader";
    EXPECT_EQ(layout.leaders().size(), is_tied ? groups.size() : all);
  }
}

}  // namespace worker_group_tests
}  // namespace orrery::workers
