// A step's bytes and seconds against the formulas of docs/workloads.md.
#include <gtest/gtest.h>

#include <numeric>
#include <set>

#include "tests/sim/steps/gangs.hpp"

namespace orrery::sim {
namespace training_step_tests {

using scenarios::AllReduce;
using scenarios::StepSpec;

constexpr double kGiga = 1e9;

StepSpec data_parallel(std::int64_t gradient) {
  StepSpec step;
  step.units = 2;
  step.gradient = Bytes{gradient};
  return step;
}

const Stage& only_stage(const Cycle& cycle) {
  EXPECT_EQ(cycle.stages.size(), 1u);
  return cycle.stages.front();
}

TEST(DataParallel, NodesSumInARingWhatTheirDevicesHaveSummed) {
  Job job = Job::of({3, 4, 5, 6}, 8);
  const Cycle cycle = job.sends(data_parallel(10'000'000'000)).cycle();
  const Stage& stage = only_stage(cycle);
  EXPECT_EQ(cycle.units, 2);
  EXPECT_DOUBLE_EQ(stage.compute_s, 2);
  EXPECT_TRUE(stage.paced);
  ASSERT_EQ(stage.exchanges.size(), 1u);
  EXPECT_EQ(stage.exchanges[0].pattern, Pattern::Ring);
  EXPECT_EQ(stage.exchanges[0].bytes, 10 * kGiga);
  for (const auto& [pair, bytes] : bytes_by_pair(stage)) EXPECT_DOUBLE_EQ(bytes, 15 * kGiga);
  // 2 x 7/8 x 10 GB over 450 GB/s.
  EXPECT_DOUBLE_EQ(stage.local_exchange_s, 17.5 / 450);
  // 15 GB over 50 GB/s as well.
  EXPECT_DOUBLE_EQ(alone_rate(cycle, OneSwitch(50 * kGiga)), 2 / (2 + 0.3 + 17.5 / 450));
}

TEST(DataParallel, TreesSendTheBytesUpAndDownEachEdge) {
  StepSpec step = data_parallel(1'000'000'000);
  step.all_reduce = AllReduce::Tree;
  const Stage stage = only_stage(Job::of({0, 1, 2, 3, 4}, 1).sends(step).cycle());
  EXPECT_DOUBLE_EQ(total_bytes(stage), 2 * 4 * kGiga);
  EXPECT_EQ(stage.local_exchange_s, 0);
}

TEST(DataParallel, OneNodeSendsNothing) {
  const Stage stage = only_stage(Job::of({7, 7}, 4).sends(data_parallel(1'000'000'000)).cycle());
  EXPECT_TRUE(stage.exchanges.empty());
  EXPECT_DOUBLE_EQ(stage.local_exchange_s, 2 * 7.0 / 8 / 450);
}

TEST(DataParallel, BytesAreThoseOfTheFormulaWhereverTheWorkersAre) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    std::vector<std::uint32_t> nodes(1 + random.below(40));
    for (auto& node : nodes) node = static_cast<std::uint32_t>(random.below(16));
    const auto n = static_cast<double>(std::set<std::uint32_t>(nodes.begin(), nodes.end()).size());
    const Stage stage = only_stage(Job::of(nodes, 1).sends(data_parallel(1'000'000'000)).cycle());
    EXPECT_NEAR(total_bytes(stage), 2 * (n - 1) * kGiga, 1);
    for (const auto& [pair, bytes] : bytes_by_pair(stage)) {
      // Two nodes have one edge each way; a ring of more has each edge once.
      EXPECT_NEAR(bytes, 2 * (n - 1) / n * kGiga, 1);
      EXPECT_LE(bytes, 2 * kGiga);
    }
  }
}

TEST(DataParallel, OnlyTheElasticRoleSums) {
  Job job = Job::of({0, 1}, 4);
  job.spec.roles.push_back(role_named("collector", 2, 1));
  job.spec.roles[0].max_replicas = 4;
  job.add(1, {2, 3}, 1);
  EXPECT_DOUBLE_EQ(total_bytes(only_stage(job.sends(data_parallel(1'000'000'000)).cycle())),
                   2 * kGiga);
}

TEST(DataParallel, MoreReplicasComputeFasterAndSendAboutAsMuchEach) {
  std::vector<std::uint32_t> nodes;
  double compute_before = 1e9;
  double edge_before = 0;
  for (std::uint32_t node = 0; node < 64; ++node) {
    nodes.push_back(node);
    Job job = Job::of(nodes, 8);
    job.work.base_replicas = 1;
    const Stage stage = only_stage(job.sends(data_parallel(1'000'000'000)).cycle());
    EXPECT_LT(stage.compute_s, compute_before);
    compute_before = stage.compute_s;
    EXPECT_DOUBLE_EQ(stage.compute_s, 2.0 / static_cast<double>(nodes.size()));
    if (nodes.size() < 2) continue;
    const double edge = bytes_by_pair(stage).begin()->second;
    EXPECT_GT(edge, edge_before);
    EXPECT_LT(edge, 2 * kGiga);
    edge_before = edge;
  }
}

TEST(TensorParallel, InsideANodeOnlyTheGradientsLeaveIt) {
  StepSpec step = data_parallel(8'000'000'000);
  step.tensor_parallel = 4;
  step.tensor = Bytes{3'000'000'000};
  const Stage stage = only_stage(Job::of({0, 1, 2}, 8).sends(step).cycle());
  // Two replicas a node; each of four places sums a quarter of the gradient.
  EXPECT_NEAR(total_bytes(stage), 2 * 2 * 8 * kGiga, 1);
  ASSERT_EQ(stage.exchanges.size(), 1u) << "equal rings are one";
  EXPECT_DOUBLE_EQ(stage.local_exchange_s, (2 * 0.5 * 2 + 2 * 0.75 * 3) / 450);
}

TEST(TensorParallel, AcrossNodesTheGroupSumsInARing) {
  StepSpec step = data_parallel(0);
  step.tensor_parallel = 16;
  step.tensor = Bytes{3'000'000'000};
  const Stage stage = only_stage(Job::of({0, 1, 2, 3}, 8).sends(step).cycle());
  ASSERT_EQ(stage.exchanges.size(), 2u);
  for (const auto& [pair, bytes] : bytes_by_pair(stage)) EXPECT_DOUBLE_EQ(bytes, 3 * kGiga);
  EXPECT_DOUBLE_EQ(stage.local_exchange_s, 2 * 7.0 / 8 * 3 / 450);
}

TEST(PipelineParallel, StagesPassEachMicrobatchOnAndWaitForTheFirstAndLast) {
  StepSpec step = data_parallel(0);
  step.pipeline_parallel = 4;
  step.microbatches = 12;
  step.activation = Bytes{50'000'000};
  const Cycle cycle = Job::of({0, 1, 2, 3}, 1).sends(step).cycle();
  const Stage& stage = only_stage(cycle);
  EXPECT_DOUBLE_EQ(stage.compute_s, 2 * 15.0 / 12);
  ASSERT_EQ(stage.exchanges.size(), 1u);
  EXPECT_EQ(stage.exchanges[0].pattern, Pattern::Chain);
  EXPECT_DOUBLE_EQ(stage.exchanges[0].bytes, 12 * 0.05 * kGiga);
  EXPECT_DOUBLE_EQ(total_bytes(stage), 2 * 3 * 12 * 0.05 * kGiga);
  EXPECT_EQ(stage.local_exchange_s, 0);
  // A middle stage sends 0.6 GB to each side.
  EXPECT_DOUBLE_EQ(alone_rate(cycle, OneSwitch(1 * kGiga)), 2 / (2.5 + 1.2));
}

TEST(PipelineParallel, WholeNodesAsStagesShareTheActivationsAmongTheirDevices) {
  StepSpec step = data_parallel(32'000'000'000);
  step.tensor_parallel = 8;
  step.pipeline_parallel = 2;
  step.microbatches = 4;
  step.activation = Bytes{100'000'000};
  const Stage stage = only_stage(Job::of({0, 1, 2, 3}, 8).sends(step).cycle());
  // Two replicas of two nodes: gradients go between 0 and 2, 1 and 3; activations 0-1, 2-3.
  const auto bytes = bytes_by_pair(stage);
  EXPECT_EQ(bytes.size(), 8u);
  const auto sent = [&](std::uint32_t a, std::uint32_t b) {
    const auto found = bytes.find({NodeId{a}, NodeId{b}});
    return found == bytes.end() ? 0.0 : found->second;
  };
  EXPECT_DOUBLE_EQ(sent(0, 1), 0.4 * kGiga);
  EXPECT_DOUBLE_EQ(sent(3, 2), 0.4 * kGiga);
  EXPECT_DOUBLE_EQ(sent(0, 2), 16 * kGiga);
  EXPECT_DOUBLE_EQ(sent(3, 1), 16 * kGiga);
  EXPECT_EQ(sent(1, 2), 0);
}

TEST(PipelineParallel, AChainThatComesBackToANodeStillCountsEveryByte) {
  StepSpec step = data_parallel(0);
  step.pipeline_parallel = 4;
  step.activation = Bytes{1'000'000'000};
  const Stage stage = only_stage(Job::of({0, 1, 0, 0}, 1).sends(step).cycle());
  EXPECT_DOUBLE_EQ(total_bytes(stage), 4 * kGiga);
  EXPECT_DOUBLE_EQ(stage.local_exchange_s, 2.0 / 450);
}

// Whatever the shape: the bytes of each ring by definition, device by device.
TEST(ThreeParallelisms, BytesAreThoseOfEachGroupByItself) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    StepSpec step = data_parallel(6'000'000'000);
    step.tensor_parallel = 1 << random.below(4);
    step.tensor = Bytes{step.tensor_parallel > 1 ? 1'000'000'000 : 0};
    step.pipeline_parallel = static_cast<std::int32_t>(1 + random.below(4));
    step.microbatches = 5;
    step.activation = Bytes{step.pipeline_parallel > 1 ? 70'000'000 : 0};
    const auto group = static_cast<std::size_t>(step.tensor_parallel) *
                       static_cast<std::size_t>(step.pipeline_parallel);
    const std::size_t replicas = 1 + random.below(6);
    std::vector<std::uint32_t> nodes(group * replicas);
    std::uint32_t node = 0;
    for (auto& at : nodes)
      at = random.chance(0.3) ? node = static_cast<std::uint32_t>(random.below(9)) : node;

    const auto distinct = [&](const std::vector<std::size_t>& devices) {
      std::set<std::uint32_t> found;
      for (const std::size_t device : devices) found.insert(nodes[device]);
      return static_cast<double>(found.size());
    };
    double expected = 0;
    const auto tp = static_cast<std::size_t>(step.tensor_parallel);
    for (std::size_t place = 0; place < group; ++place) {
      std::vector<std::size_t> peers;
      for (std::size_t r = 0; r < replicas; ++r) peers.push_back(r * group + place);
      expected += 2 * (distinct(peers) - 1) * 6 * kGiga / static_cast<double>(group);
    }
    for (std::size_t first = 0; tp > 1 && first < nodes.size(); first += tp) {
      std::vector<std::size_t> lanes(tp);
      std::iota(lanes.begin(), lanes.end(), first);
      expected += 2 * (distinct(lanes) - 1) * kGiga;
    }
    for (std::size_t device = 0; device + tp < nodes.size(); ++device)
      if (device % group + tp < group && nodes[device] != nodes[device + tp])
        expected += 2 * 5 * 0.07 * kGiga / static_cast<double>(tp);
    const Stage stage = only_stage(Job::of(nodes, 1).sends(step).cycle());
    EXPECT_NEAR(total_bytes(stage), expected, 1e-6 * kGiga);
  }
}

TEST(Plain, WorkThatSendsNothingIsASecondOfIt) {
  Job job = Job::of({0, 1}, 4);
  job.work.base_rate = 3;
  const Cycle cycle = job.cycle();
  EXPECT_DOUBLE_EQ(alone_rate(cycle, OneSwitch(kGiga)), 3);
  EXPECT_TRUE(only_stage(cycle).exchanges.empty());
}

}  // namespace training_step_tests
}  // namespace orrery::sim
