// Programs of importers as stages.
#include "sim/steps/program_round.hpp"

#include <gtest/gtest.h>

#include "tests/sim/steps/gangs.hpp"

namespace orrery::sim {
namespace {

using scenarios::Program;
using scenarios::ProgramStage;
using scenarios::RankPattern;
using scenarios::TrafficSpec;

Job with_stage(const std::vector<std::uint32_t>& nodes, ProgramStage stage) {
  Job job = Job::of(nodes, 1);
  TrafficSpec traffic;
  traffic.programs = {Program{{std::move(stage)}}};
  job.sends(std::move(traffic));
  return job;
}

TEST(ProgramRound, WaitsForTheSlowestRank) {
  Job job = with_stage({0, 1, 2}, {.seconds = 2, .flops = {4e9, 9e9, 1e9}});
  EXPECT_DOUBLE_EQ(job.cycle().stages[0].compute_s, 9) << "the nodes' speed is not declared";
  job.flops = {1e9, 3e9, 0};
  EXPECT_DOUBLE_EQ(job.cycle().stages[0].compute_s, 4);
  job.flops = {4e9, 9e9, 1e9};
  EXPECT_DOUBLE_EQ(job.cycle().stages[0].compute_s, 2) << "the fixed time goes on beside it";
}

TEST(ProgramRound, ComputeAndTransfersGoOnTogether) {
  const Job job = with_stage({0, 1}, {.seconds = 3, .pattern = RankPattern::Ring, .bytes = 4e9});
  const Cycle cycle = job.cycle();
  EXPECT_DOUBLE_EQ(alone_seconds(cycle, OneSwitch(1e9)), 4);
  EXPECT_DOUBLE_EQ(alone_seconds(cycle, OneSwitch(2e9)), 3);
}

TEST(ProgramRound, RanksOfOneNodeSendTogether) {
  const Job job = with_stage({0, 0, 1}, {.pattern = RankPattern::AllToAll, .bytes = 5});
  const auto bytes = bytes_by_pair(job.cycle().stages[0]);
  ASSERT_EQ(bytes.size(), 2u);
  for (const auto& [pair, sent] : bytes) EXPECT_EQ(sent, 10);
  const Job apart = with_stage({0, 2, 1}, {.pattern = RankPattern::AllToAll, .bytes = 5});
  EXPECT_EQ(total_bytes(apart.cycle().stages[0]), 30);
}

TEST(ProgramRound, TransfersAreByRankAndStorage) {
  const Job job = with_stage({4, 4, 6},
                             {.pattern = RankPattern::Transfers,
                              .transfers = {{0, 2, 7}, {0, 1, 9}, {-1, 1, 3}, {2, 8, 1}}});
  const auto bytes = bytes_by_pair(job.cycle().stages[0]);
  ASSERT_EQ(bytes.size(), 2u) << "rank 1 is at home, rank 8 nowhere";
  EXPECT_EQ(bytes.at({NodeId{4}, NodeId{6}}), 7);
  EXPECT_EQ(bytes.at({NodeId::none(), NodeId{4}}), 3);
}

TEST(ProgramRound, IsThatOfAsManyReplicas) {
  TrafficSpec traffic;
  for (const double seconds : {20.0, 10.0}) traffic.programs.push_back({{{.seconds = seconds}}});
  traffic.programs_from = 2;
  for (const auto& [replicas, seconds] : {std::pair{1, 20.0}, {2, 20.0}, {3, 10.0}, {7, 10.0}}) {
    Job job = Job::of(std::vector<std::uint32_t>(static_cast<std::size_t>(replicas), 0), 1);
    EXPECT_EQ(job.sends(traffic).cycle().stages[0].compute_s, seconds) << replicas;
  }
}

TEST(ProgramRound, ARoundOfNothingStillEnds) {
  Job job = Job::of({0}, 1);
  TrafficSpec traffic;
  traffic.programs = {Program{}};
  EXPECT_GT(alone_rate(job.sends(traffic).cycle(), OneSwitch(1e9)), 1e6);
}

}  // namespace
}  // namespace orrery::sim
