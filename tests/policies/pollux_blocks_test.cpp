// How pollux cuts a large cluster into blocks, by hand and on random clusters.
#include "policies/pollux_blocks.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <set>

namespace orrery {
namespace {

using policies::Block;
using policies::BlockMaker;
using policies::BlockOptions;
using policies::BlockRow;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// Jobs on nodes of equal size, as a maker is given them.
class Cluster {
 public:
  Cluster(std::size_t nodes, std::int32_t devices) : devices_(nodes, devices) {}

  /// One replica of one device on each of these nodes; none: it waits for `least`.
  void add(const std::vector<std::uint32_t>& nodes, std::int32_t least = 1) {
    std::vector<NodeCount>& held = held_.emplace_back();
    for (const std::uint32_t node : nodes) held.push_back({NodeId{node}, 1});
    const auto replicas = static_cast<std::int32_t>(nodes.size());
    if (replicas > 0) seeds_.push_back(static_cast<std::uint32_t>(rows_.size()));
    rows_.push_back({.replicas_min = least,
                     .replicas_max = std::max(2 * replicas, least),
                     .replicas = replicas,
                     .nodes = held});
  }

  /// All blocks. The maker is as `random` was.
  std::vector<Block> blocks(const BlockOptions& options, std::uint64_t seed = 1) const {
    Random random(seed);
    BlockMaker maker(rows_, devices_, seeds_, options, random);
    std::vector<Block> out;
    while (auto block = maker.next()) out.push_back(*block);
    EXPECT_EQ(maker.seeds_passed(), seeds_.size()) << "all had their turn";
    return out;
  }

  const std::vector<BlockRow>& rows() const { return rows_; }

 private:
  std::vector<std::int32_t> devices_;
  std::deque<std::vector<NodeCount>> held_;  ///< Rows point into it.
  std::vector<BlockRow> rows_;
  std::vector<std::uint32_t> seeds_;
};

TEST(PolluxBlocks, AJobIsSearchedWithTheNodesThatItCouldUse) {
  Cluster cluster(8, 1);
  cluster.add({5});
  const auto blocks = cluster.blocks({.nodes = 4});
  ASSERT_EQ(blocks.size(), 1u);
  EXPECT_THAT(blocks[0].rows, ElementsAre(0u));
  EXPECT_THAT(blocks[0].nodes, ElementsAre(0u, 5u)) << "one more device is all that it may have";
  EXPECT_THAT(blocks[0].devices, ElementsAre(1, 1));
}

TEST(PolluxBlocks, WhereNothingIsFreeOthersMayGiveSomeUp) {
  Cluster cluster(8, 1);
  for (std::uint32_t node = 0; node < 8; ++node) cluster.add({node});
  const auto blocks = cluster.blocks({.nodes = 4});
  ASSERT_EQ(blocks.size(), 2u);
  for (const Block& block : blocks) {
    EXPECT_EQ(block.nodes.size(), 4u);
    EXPECT_EQ(block.rows.size(), 4u);
  }
}

TEST(PolluxBlocks, JobsWaitInOrderAndFewMoreThanABlockCouldStart) {
  Cluster cluster(4, 2);
  cluster.add({0});
  for (int i = 0; i < 50; ++i) cluster.add({});
  const auto blocks = cluster.blocks({.nodes = 2});
  ASSERT_EQ(blocks.size(), 2u);
  const std::size_t first = 3 + policies::kWaitingMore;
  EXPECT_EQ(blocks[0].rows.size(), 1 + first) << "four devices, one is taken";
  EXPECT_EQ(blocks[0].rows.back(), first);
  EXPECT_EQ(blocks[1].rows.front(), first + 1);
  EXPECT_EQ(blocks[1].rows.size(), 4 + policies::kWaitingMore);
}

TEST(PolluxBlocks, AJobThatNeedsMoreThanABlockGetsALargerOne) {
  Cluster cluster(32, 2);
  cluster.add({}, 40);
  const auto blocks = cluster.blocks({.nodes = 4});
  ASSERT_EQ(blocks.size(), 1u);
  EXPECT_THAT(blocks[0].rows, ElementsAre(0u));
  EXPECT_GE(blocks[0].nodes.size(), 20u);
}

TEST(PolluxBlocks, NothingIsSearchedForNobody) {
  Cluster cluster(4, 2);
  EXPECT_THAT(cluster.blocks({.nodes = 2}), IsEmpty());
}

// Without interference to avoid, what a job outside of the block holds there is not shared out.
TEST(PolluxBlocks, WhatJobsOutsideHoldStaysTheirs) {
  Cluster cluster(6, 4);
  cluster.add({0});
  cluster.add({0, 1, 2, 3, 4, 5});
  const auto blocks = cluster.blocks({.nodes = 2, .whole_jobs = false});
  ASSERT_FALSE(blocks.empty());
  EXPECT_THAT(blocks[0].rows, ElementsAre(0u));
  for (const std::int32_t devices : blocks[0].devices) EXPECT_EQ(devices, 3);
  const auto together = cluster.blocks({.nodes = 2, .whole_jobs = true});
  ASSERT_EQ(together.size(), 1u);
  EXPECT_THAT(together[0].rows, ElementsAre(0u, 1u));
}

/// Random jobs; those on several nodes share none with another of the kind.
Cluster random_cluster(Random& random) {
  constexpr std::uint32_t nodes = 40;
  Cluster cluster(nodes, 4);
  std::vector<std::uint32_t> order(nodes);
  std::iota(order.begin(), order.end(), 0u);
  random.shuffle(order);
  for (std::size_t first = 0; first + 8 < nodes;) {
    const std::size_t size = 1 + random.below(8);
    std::vector<std::uint32_t> on(order.begin() + static_cast<std::ptrdiff_t>(first),
                                  order.begin() + static_cast<std::ptrdiff_t>(first + size));
    std::sort(on.begin(), on.end());
    cluster.add(on);
    first += size;
  }
  for (int i = 0; i < 30; ++i) cluster.add({static_cast<std::uint32_t>(random.below(nodes))});
  for (int i = 0; i < 10; ++i) cluster.add({}, static_cast<std::int32_t>(random.between(1, 60)));
  return cluster;
}

TEST(PolluxBlocks, ShareNoNodeAndPartNoJob) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    Random random(seed);
    const Cluster cluster = random_cluster(random);
    std::set<std::uint32_t> nodes;
    std::set<std::uint32_t> rows;
    for (const Block& block : cluster.blocks({.nodes = 6}, seed)) {
      for (const std::uint32_t node : block.nodes)
        EXPECT_TRUE(nodes.insert(node).second) << "seed " << seed << " node " << node;
      for (const std::uint32_t row : block.rows) {
        EXPECT_TRUE(rows.insert(row).second) << "seed " << seed << " row " << row;
        for (const NodeCount& at : cluster.rows()[row].nodes)
          EXPECT_TRUE(std::binary_search(block.nodes.begin(), block.nodes.end(), at.node.value))
              << "seed " << seed << " row " << row;
      }
    }
    for (std::uint32_t row = 0; row < cluster.rows().size(); ++row)
      EXPECT_TRUE(cluster.rows()[row].replicas == 0 || rows.contains(row))
          << "seed " << seed << ": row " << row << " had no turn";
  }
}

}  // namespace
}  // namespace orrery
