// Turns of a reinforcement learning loop.
#include "sim/steps/loop_turn.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/sim/steps/gangs.hpp"

namespace orrery::sim {
namespace {

using scenarios::LoopSpec;

constexpr double kGiga = 1e9;

LoopSpec loop_of(std::int32_t sequences, std::int32_t concurrent, double sigma) {
  LoopSpec loop;
  loop.generate_role = "rollout";
  loop.sequences = sequences;
  loop.tokens_per_second = 50;
  loop.concurrent = concurrent;
  loop.length_median = 800;
  loop.length_sigma = sigma;
  loop.length_max = 8192;
  loop.reward_role = "reward";
  loop.reward = Duration::seconds(6);
  loop.train_role = "learner";
  loop.train = Duration::seconds(40);
  loop.gradient = Bytes{14'000'000'000};
  loop.weights = Bytes{7'000'000'000};
  return loop;
}

/// Learners on nodes 0 and 1, one reward model on 2, rollouts on `rollouts`.
Job loop_job(const LoopSpec& loop, const std::vector<std::uint32_t>& rollouts) {
  Job job;
  job.spec.roles = {
      role_named("learner", 2, 8), role_named("reward", 1, 1), role_named("rollout", 2, 8)};
  job.spec.roles[2].max_replicas = 64;
  job.add(0, {0, 1}, 8);
  job.add(1, {2}, 1);
  job.add(2, rollouts, 8);
  scenarios::TrafficSpec traffic;
  traffic.loop = loop;
  job.sends(std::move(traffic));
  return job;
}

TEST(LoopTurn, HasAStageForEachPart) {
  const Cycle cycle = loop_job(loop_of(64, 16, 0), {3, 4}).cycle();
  EXPECT_EQ(cycle.units, 1);
  ASSERT_EQ(cycle.stages.size(), 4u);
  // 32 sequences a replica in 16 slots: two after the other.
  EXPECT_DOUBLE_EQ(cycle.stages[0].compute_s, 2 * 800 / 50.0);
  EXPECT_TRUE(cycle.stages[0].exchanges.empty());
  EXPECT_DOUBLE_EQ(cycle.stages[1].compute_s, 6);
  EXPECT_DOUBLE_EQ(cycle.stages[2].compute_s, 40);
  EXPECT_DOUBLE_EQ(total_bytes(cycle.stages[2]), 2 * 14 * kGiga);
  EXPECT_DOUBLE_EQ(cycle.stages[2].local_exchange_s, 2 * 7.0 / 8 * 14 / 450);
  EXPECT_EQ(cycle.stages[3].compute_s, 0);
  ASSERT_EQ(cycle.stages[3].exchanges.size(), 1u);
  EXPECT_EQ(cycle.stages[3].exchanges[0].pattern, Pattern::Broadcast);
  EXPECT_DOUBLE_EQ(total_bytes(cycle.stages[3]), 2 * 7 * kGiga);
  EXPECT_TRUE(cycle.stages[2].paced) << "gradients are sent all through the training";
  EXPECT_FALSE(cycle.stages[3].paced) << "weights as fast as they can";
  // Node 0 sends its weights to both others: 14 GB.
  EXPECT_DOUBLE_EQ(alone_rate(cycle, OneSwitch(50 * kGiga)),
                   1 / (32 + 6 + 40 + 14.0 / 50 + 24.5 / 450 + 14.0 / 50));
}

TEST(LoopTurn, RolesThatShareNodesSendEachOtherNothing) {
  const Cycle cycle = loop_job(loop_of(64, 16, 0), {0, 1}).cycle();
  ASSERT_EQ(cycle.stages.size(), 3u) << "there are no weights to send";
  const Cycle half = loop_job(loop_of(64, 16, 0), {1, 5}).cycle();
  ASSERT_EQ(half.stages.size(), 4u);
  EXPECT_DOUBLE_EQ(total_bytes(half.stages[3]), 7 * kGiga);
}

TEST(LoopTurn, PartsShrinkAsReplicasAreAdded) {
  Job job = loop_job(loop_of(64, 4, 0), {3, 4, 5, 6});
  job.add(0, {7, 8}, 8);
  const Cycle cycle = job.cycle();
  EXPECT_DOUBLE_EQ(cycle.stages[0].compute_s, 4 * 800 / 50.0);
  EXPECT_DOUBLE_EQ(cycle.stages[2].compute_s, 20);
}

TEST(LoopTurn, LengthsAreThoseOfSeedAndTurn) {
  const Job job = loop_job(loop_of(64, 4, 1), {3, 4});
  const double once = job.cycle(7, 3).stages[0].compute_s;
  EXPECT_EQ(once, job.cycle(7, 3).stages[0].compute_s);
  EXPECT_NE(once, job.cycle(7, 4).stages[0].compute_s);
  EXPECT_NE(once, job.cycle(8, 3).stages[0].compute_s);
  EXPECT_TRUE(is_random(job.work));
  EXPECT_FALSE(is_random(loop_job(loop_of(64, 4, 0), {3}).work));
}

TEST(Generate, TheLongestSequenceEndsItWhereAllBeginAtOnce) {
  const LoopSpec loop = loop_of(96, 96, 1.2);
  double longest = 0;
  Random lengths(11);
  for (std::int32_t i = 0; i < loop.sequences; ++i)
    longest = std::max(longest, std::min(8192.0, 800 * std::exp(1.2 * lengths.normal())) / 50);
  for (const std::int32_t replicas : {1, 3, 96}) {
    Random random(11);
    EXPECT_NEAR(generate_seconds(loop, replicas, random), longest, 1e-9) << replicas;
  }
}

TEST(Generate, StaysWithinTheBoundsOfListScheduling) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random draw(seed);
    const LoopSpec loop = loop_of(static_cast<std::int32_t>(1 + draw.below(300)),
                                  static_cast<std::int32_t>(1 + draw.below(20)),
                                  draw.uniform(0, 2));
    const auto replicas = static_cast<std::int32_t>(1 + draw.below(6));
    Random random(seed);
    Random again(seed);
    const double seconds = generate_seconds(loop, replicas, random);
    // Graham 1966: no worse than the mean load and one longest sequence, for each replica.
    std::vector<double> load(static_cast<std::size_t>(replicas));
    double longest = 0;
    for (std::int32_t i = 0; i < loop.sequences; ++i) {
      const double length =
          std::min(8192.0, 800 * std::exp(loop.length_sigma * again.normal())) / 50;
      load[static_cast<std::size_t>(i % replicas)] += length;
      longest = std::max(longest, length);
    }
    const double busiest = *std::max_element(load.begin(), load.end()) / loop.concurrent;
    EXPECT_GE(seconds, std::max(busiest, longest) - 1e-9);
    EXPECT_LE(seconds, busiest + longest + 1e-9);
  }
}

TEST(Generate, TheMeanIsThatOfManyTurns) {
  for (const auto& [sequences, concurrent, replicas] :
       {std::tuple{64, 8, 4}, {64, 64, 2}, {512, 32, 4}}) {
    SCOPED_TRACE(std::to_string(sequences) + " sequences, " + std::to_string(concurrent) +
                 " at once, " + std::to_string(replicas) + " replicas");
    const LoopSpec loop = loop_of(sequences, concurrent, 1);
    double sum = 0;
    double squares = 0;
    constexpr int kTurns = 2'000;
    for (int turn = 0; turn < kTurns; ++turn) {
      Random random = Random::stream(99, "turn " + std::to_string(turn));
      const double seconds = generate_seconds(loop, replicas, random);
      sum += seconds;
      squares += seconds * seconds;
    }
    const double mean = sum / kTurns;
    const double deviation = std::sqrt(squares / kTurns - mean * mean);
    RecordProperty("mean_s", std::to_string(mean));
    const double found = mean_generate_seconds(loop, replicas);
    EXPECT_NEAR(found, mean, 0.02 * mean) << "deviation of one turn " << deviation;
  }
}

}  // namespace
}  // namespace orrery::sim
