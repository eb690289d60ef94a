// Gangs of several roles on empty nodes: what is called impossible is, by trying everything.
#include "core/cluster/gang_fit.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "core/base/random.hpp"

namespace orrery {
namespace {

NodeKind kind(std::int64_t count, std::int32_t devices, std::uint16_t model = 0) {
  return {{MilliCpu{8000}, Bytes{8}, devices, 0, DeviceModelId{model}, true}, count};
}

GangRole role(std::int64_t replicas, std::int32_t devices) {
  GangRole role;
  role.replicas = replicas;
  role.demand.devices = devices;
  return role;
}

/// One node, device by device.
struct Node {
  std::int64_t cpu = 0;
  std::int64_t memory = 0;
  DeviceModelId model;
  std::vector<std::int32_t> devices;  ///< Thousandths left.
};

/// Tries every place of every replica.
class Everything {
 public:
  Everything(const std::vector<NodeKind>& kinds, const std::vector<GangRole>& gang) {
    for (const NodeKind& kind : kinds)
      for (std::int64_t n = 0; n < kind.count; ++n)
        nodes_.push_back(
            {kind.free.cpu.count,
             kind.free.memory.count,
             kind.free.model,
             std::vector<std::int32_t>(static_cast<std::size_t>(kind.free.devices), 1000)});
    for (const GangRole& role : gang)
      for (std::int64_t r = 0; r < role.replicas; ++r) replicas_.push_back(role.demand);
  }

  bool finds(std::size_t next = 0) {
    if (next == replicas_.size()) return true;
    const Demand& demand = replicas_[next];
    for (Node& node : nodes_) {
      if (node.cpu < demand.cpu.count || node.memory < demand.memory.count) continue;
      if (demand.devices > 0 && !demand.model.is_none() && demand.model != node.model) continue;
      const Node before = node;
      node.cpu -= demand.cpu.count;
      node.memory -= demand.memory.count;
      if (takes_devices(node, demand, next)) return true;
      node = before;
    }
    return false;
  }

 private:
  bool takes_devices(Node& node, const Demand& demand, std::size_t next) {
    if (is_share(demand)) {
      for (std::int32_t& left : node.devices) {
        if (left < demand.share.thousandths) continue;
        left -= demand.share.thousandths;
        if (finds(next + 1)) return true;
        left += demand.share.thousandths;
      }
      return false;
    }
    std::int32_t lacks = demand.devices;
    for (std::int32_t& left : node.devices)
      if (lacks > 0 && left == 1000) {
        left = 0;
        --lacks;
      }
    return lacks == 0 && finds(next + 1);
  }

  std::vector<Node> nodes_;
  std::vector<Demand> replicas_;
};

std::vector<NodeKind> draw_nodes(Random& random) {
  std::vector<NodeKind> kinds;
  for (std::int64_t left = random.between(1, 2); left > 0; --left) {
    NodeKind drawn = kind(random.between(1, 2),
                          static_cast<std::int32_t>(random.between(0, 4)),
                          static_cast<std::uint16_t>(random.below(2)));
    drawn.free.cpu = MilliCpu{random.between(1, 6) * 1000};
    drawn.free.memory = Bytes{random.between(1, 6)};
    if (drawn.free.devices == 0) drawn.free.model = DeviceModelId::none();
    kinds.push_back(drawn);
  }
  return kinds;
}

std::vector<GangRole> draw_gang(Random& random, bool parts) {
  std::vector<GangRole> gang;
  for (std::int64_t left = random.between(2, 3); left > 0; --left) {
    GangRole drawn = role(random.between(1, 3), static_cast<std::int32_t>(random.between(0, 3)));
    if (random.chance(0.5)) drawn.demand.cpu = MilliCpu{random.between(0, 3) * 1000};
    if (random.chance(0.5)) drawn.demand.memory = Bytes{random.between(0, 3)};
    if (drawn.demand.devices > 0 && random.chance(0.4))
      drawn.demand.model = DeviceModelId{static_cast<std::uint16_t>(random.below(2))};
    if (parts && drawn.demand.devices == 1)
      drawn.demand.share = Share{static_cast<std::int32_t>(random.between(1, 4) * 250)};
    gang.push_back(drawn);
  }
  return gang;
}

TEST(GangFit, WhatIsCalledImpossibleHasNoPlacement) {
  int impossible = 0;
  int possible = 0;
  for (std::uint64_t seed = 1; seed <= 4000; ++seed) {
    Random random(seed);
    const std::vector<NodeKind> nodes = draw_nodes(random);
    const std::vector<GangRole> gang = draw_gang(random, true);
    if (may_fit_together(nodes, gang)) {
      ++possible;
      continue;
    }
    ++impossible;
    ASSERT_FALSE(Everything(nodes, gang).finds()) << "seed " << seed;
  }
  EXPECT_GT(impossible, 1000);
  EXPECT_GT(possible, 500);
}

TEST(GangFit, SmallGangsOfWholeDevicesAreJudgedExactly) {
  for (std::uint64_t seed = 1; seed <= 4000; ++seed) {
    Random random(seed);
    const std::vector<NodeKind> nodes = draw_nodes(random);
    const std::vector<GangRole> gang = draw_gang(random, false);
    ASSERT_EQ(may_fit_together(nodes, gang), Everything(nodes, gang).finds()) << "seed " << seed;
  }
}

TEST(GangFit, PiecesThatFillNodesBadlyDoNotFit) {
  const std::vector<NodeKind> nodes{kind(100, 3)};
  EXPECT_FALSE(may_fit_together(nodes, std::vector{role(60, 2), role(41, 2)}));
  EXPECT_TRUE(may_fit_together(nodes, std::vector{role(60, 2), role(40, 2)}));
  EXPECT_FALSE(may_fit_together(nodes, std::vector{role(99, 2), role(2, 3)}));
  EXPECT_TRUE(may_fit_together(nodes, std::vector{role(99, 2), role(99, 1), role(1, 3)}));
}

TEST(GangFit, ASearchThatIsTooLongCallsNothingImpossible) {
  std::vector<NodeKind> nodes;
  std::vector<GangRole> gang;
  for (std::int32_t size = 1; size <= 6; ++size) {
    nodes.push_back(kind(100, 20 + size));
    gang.push_back(role(100 - 10 * size, 2 * size + 1));
  }
  EXPECT_TRUE(may_fit_together(nodes, gang));
  for (std::int32_t size = 7; size <= 12; ++size) gang.push_back(role(1, size));
  EXPECT_TRUE(may_fit_together(nodes, gang));
}

TEST(GangFit, WhatAsksForNothingFitsEverywhere) {
  const std::vector<NodeKind> nodes{kind(1, 0)};
  EXPECT_TRUE(may_fit_together(nodes, std::vector{role(1'000'000, 0), role(1'000'000, 0)}));
  EXPECT_FALSE(may_fit_together(nodes, std::vector{role(1, 0), role(1, 1)}));
}

}  // namespace
}  // namespace orrery
