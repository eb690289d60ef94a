#include "core/cluster/free_index.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "core/base/random.hpp"
#include "core/record/plan.hpp"
#include "tests/support/long_form.hpp"
#include "tests/support/placing.hpp"

namespace orrery {
namespace {

constexpr MilliCpu kCpu{64'000};
constexpr Bytes kMemory{1 << 20};

NodeFree node(std::int32_t devices, std::uint16_t model = 0) {
  return {
      kCpu, kMemory, devices, 0, devices == 0 ? DeviceModelId::none() : DeviceModelId{model}, true};
}

Demand devices(std::int32_t n) {
  Demand d;
  d.devices = n;
  return d;
}

Demand share(std::int32_t thousandths) {
  Demand d = devices(1);
  d.share = Share{thousandths};
  return d;
}

using Nodes = std::vector<NodeCount>;

TEST(FreeIndex, TakesTheTightestNode) {
  FreeIndex index;
  index.add(node(8));
  index.add(node(2));
  index.add(node(4));
  Nodes nodes;
  ASSERT_TRUE(take_gang(index, devices(1), 2, nodes));
  EXPECT_EQ(nodes, (Nodes{{NodeId{1}, 2}}));
}

TEST(FreeIndex, UsesAsFewNodesAsPossible) {
  FreeIndex index;
  for (const std::int32_t n : {3, 8, 5, 2}) index.add(node(n));
  Nodes nodes;
  ASSERT_TRUE(take_gang(index, devices(1), 10, nodes));
  EXPECT_EQ(nodes, (Nodes{{NodeId{1}, 8}, {NodeId{3}, 2}}));
}

TEST(FreeIndex, TakesAllOrNothing) {
  FreeIndex index;
  index.add(node(7));
  index.add(node(7));
  Nodes nodes;
  EXPECT_FALSE(take_gang(index, devices(4), 3, nodes)) << "14 devices, but only two fours";
  EXPECT_TRUE(nodes.empty());
  EXPECT_EQ(index.free_devices(), 14);
  EXPECT_TRUE(take_gang(index, devices(4), 2, nodes));
}

TEST(FreeIndex, LooksAtModelCpuAndUse) {
  FreeIndex index;
  index.add(node(8, 0));
  index.add(node(4, 1));
  Demand second = devices(2);
  second.model = DeviceModelId{1};
  Nodes nodes;
  EXPECT_FALSE(take_gang(index, second, 3, nodes));
  EXPECT_TRUE(take_gang(index, second, 2, nodes));
  Demand thirsty = devices(1);
  thirsty.cpu = MilliCpu{40'000};
  nodes.clear();
  EXPECT_TRUE(take_gang(index, thirsty, 1, nodes));
  EXPECT_EQ(nodes, (Nodes{{NodeId{0}, 1}}));
  EXPECT_FALSE(take_gang(index, thirsty, 1, nodes)) << "24 cores are left on each node at most";
  NodeFree gone = index.at(NodeId{0});
  gone.usable = false;
  index.set(NodeId{0}, gone);
  EXPECT_FALSE(take_gang(index, devices(1), 1, nodes));
  EXPECT_EQ(index.free_devices(), 0);
}

TEST(FreeIndex, JobsWithoutDevicesFitWhereTheirCpuDoes) {
  FreeIndex index;
  index.add(node(0));
  index.add(node(0));
  Demand d;
  d.cpu = MilliCpu{30'000};
  Nodes nodes;
  EXPECT_TRUE(take_gang(index, d, 4, nodes));
  EXPECT_FALSE(take_gang(index, d, 1, nodes));
}

TEST(FreeIndex, SharesOfOneDeviceAddUp) {
  FreeIndex index;
  index.add(node(1));
  Nodes nodes;
  EXPECT_TRUE(take_gang(index, share(400), 2, nodes));
  EXPECT_FALSE(take_gang(index, share(400), 1, nodes));
  EXPECT_TRUE(take_gang(index, share(200), 1, nodes));
  EXPECT_EQ(index.free_devices(), 0);
  index.give(NodeId{0}, share(400), 2);
  index.give(NodeId{0}, share(200), 1);
  EXPECT_EQ(index.free_devices(), 1);
}

TEST(FreeIndex, AShareIsGivenBackToNoDeviceThatCannotHaveHeldIt) {
  FreeIndex index;
  index.add(node(2));
  Nodes nodes;
  ASSERT_TRUE(take_gang(index, share(600), 1, nodes));
  ASSERT_TRUE(take_gang(index, share(400), 1, nodes));
  ASSERT_TRUE(take_gang(index, share(399), 1, nodes));
  index.give(NodeId{0}, share(400), 1);
  EXPECT_EQ(replicas_that_fit(index.at(NodeId{0}), share(500)), 1) << "400 and 601 are left";
}

TEST(FreeIndex, SharesFitOnEveryDeviceThatHasSoMuchLeft) {
  FreeIndex index;
  index.add(node(3));
  Nodes nodes;
  ASSERT_TRUE(take_gang(index, share(600), 3, nodes));
  EXPECT_EQ(index.free_devices(), 0);
  EXPECT_EQ(index.device_room(), 2) << "1.2 of a device";
  EXPECT_FALSE(take_gang(index, share(400), 4, nodes));
  EXPECT_TRUE(take_gang(index, share(400), 3, nodes));
  EXPECT_EQ(index.device_room(), 0);
}

TEST(FreeIndex, AShareTakesTheFullestDeviceThatHasSoMuchLeft) {
  FreeIndex index;
  index.add(node(2));
  Nodes nodes;
  ASSERT_TRUE(take_gang(index, share(700), 1, nodes));
  ASSERT_TRUE(take_gang(index, share(600), 1, nodes));
  ASSERT_TRUE(take_gang(index, share(300), 1, nodes));
  EXPECT_TRUE(take_gang(index, share(400), 1, nodes)) << "the 300 went beside the 700";
}

TEST(FreeIndex, ReplicasByDevicesAreThoseOfEachNodeByItself) {
  FreeIndex index;
  for (const std::int32_t n : {8, 3, 1}) index.add(node(n));
  EXPECT_EQ(index.replicas_by_devices(devices(2)), 5) << "4 and 1: no replica spans two nodes";
  EXPECT_EQ(index.replicas_by_devices(devices(9)), 0);
  index.add(node(6, 1));
  EXPECT_EQ(index.replicas_by_devices(devices(2)), 8) << "of any model";
  for (const std::uint16_t model : {0, 1}) {
    Demand of_model = devices(2);
    of_model.model = DeviceModelId{model};
    EXPECT_EQ(index.replicas_by_devices(of_model), model == 0 ? 5 : 3);
  }
}

TEST(FreeIndex, ATrialThatHasFollowedALargeClusterFollowsASmallOne) {
  FreeIndex large, small;
  for (int i = 0; i < 200'000; ++i) large.add(node(4));
  small.add(node(4));
  CapacityTrial trial;
  trial.sync(large);
  large.take(NodeId{199'999}, devices(1), 1);
  trial.sync(large);
  EXPECT_EQ(trial.index().at(NodeId{199'999}).devices, 3);
  trial.sync(small);
  small.take(NodeId{0}, devices(1), 1);
  trial.sync(small);
  EXPECT_EQ(trial.index().size(), 1u);
  EXPECT_EQ(trial.index().at(NodeId{0}).devices, 3);
}

TEST(FreeIndex, TellsItsLast4096Changes) {
  FreeIndex index;
  index.add(node(4));
  const std::uint64_t before = index.version();
  std::vector<NodeId> changed;
  for (int i = 0; i < 2048; ++i) {
    index.take(NodeId{0}, devices(1), 1);
    index.give(NodeId{0}, devices(1), 1);
  }
  EXPECT_TRUE(index.changed_since(before, changed));
  EXPECT_EQ(changed.size(), 4096u);
  index.take(NodeId{0}, devices(1), 1);
  EXPECT_FALSE(index.changed_since(before, changed));
}

TEST(FreeIndex, ATrialOfAnotherIndexBeginsWithNothingTried) {
  FreeIndex first, second;
  for (FreeIndex* index : {&first, &second})
    for (int i = 0; i < 2; ++i) index->add(node(4));
  CapacityTrial trial;
  trial.sync(first);
  trial.take(NodeId{1}, devices(3), 1);
  trial.sync(second);
  EXPECT_TRUE(trial.touched().empty());
  const std::size_t mark = trial.mark();
  trial.take(NodeId{0}, devices(1), 1);
  trial.undo(mark);
  EXPECT_EQ(trial.index().at(NodeId{0}).devices, 4);
  EXPECT_EQ(trial.index().at(NodeId{1}).devices, 4);
}

NodeFree with_parts(std::int32_t whole, DeviceParts parts) {
  NodeFree free = node(whole);
  set_parts(free, std::move(parts));
  return free;
}

TEST(FreeIndex, TheLeastOfTwoIsTakenDeviceByDevice) {
  EXPECT_EQ(least_of(node(3), node(2)), node(2));
  EXPECT_EQ(least_of(node(2), with_parts(1, {300})), with_parts(1, {300}));
  EXPECT_EQ(least_of(with_parts(1, {300}), node(2)), with_parts(1, {300}));
  EXPECT_EQ(least_of(with_parts(0, {200, 500}), with_parts(0, {400, 450})),
            with_parts(0, {200, 450}));
  EXPECT_EQ(least_of(with_parts(0, {500}), node(0)), node(0));
}

TEST(FreeIndex, OnTheLeastOfANodeOutOfUseNothingFits) {
  NodeFree gone = node(2);
  gone.usable = false;
  EXPECT_EQ(replicas_that_fit(least_of(gone, node(2)), devices(1)), 0);
  EXPECT_EQ(replicas_that_fit(least_of(node(2), gone), devices(1)), 0);
}

TEST(FreeIndex, WhatFitsOnTheLeastFitsOnEither) {
  Random random = Random::stream(1, "least");
  const auto drawn = [&] {
    DeviceParts parts;
    for (std::int64_t n = random.between(0, 4); n > 0; --n)
      parts.push_back(static_cast<std::int16_t>(random.between(1, 999)));
    NodeFree free = with_parts(static_cast<std::int32_t>(random.between(0, 3)), std::move(parts));
    if (random.chance(0.3)) free.parts = nullptr;  // An estimate.
    return free;
  };
  for (int i = 0; i < 2'000; ++i) {
    const NodeFree a = drawn();
    const NodeFree b = drawn();
    const NodeFree least = least_of(a, b);
    for (const Demand& demand :
         {devices(1), devices(2), share(static_cast<std::int32_t>(random.between(1, 999)))})
      ASSERT_LE(replicas_that_fit(least, demand),
                std::min(replicas_that_fit(a, demand), replicas_that_fit(b, demand)));
  }
}

/// Devices of nodes one by one, each with what is left of it; shares are placed as claims are.
class DeviceModel {
 public:
  DeviceModel(std::size_t nodes, std::size_t devices)
      : left_(nodes, std::vector<std::int32_t>(devices, 1000)) {}

  std::int64_t fit(std::int32_t thousandths) const {
    std::int64_t sum = 0;
    for (const auto& node : left_)
      for (const std::int32_t left : node) sum += left / thousandths;
    return sum;
  }

  void take(NodeId node, std::int32_t thousandths) {
    std::int32_t* best = nullptr;
    for (std::int32_t& left : left_[node.index()])
      if (left >= thousandths && (best == nullptr || left < *best)) best = &left;
    ASSERT_NE(best, nullptr);
    *best -= thousandths;
  }

  std::int64_t thousandths() const {
    std::int64_t sum = 0;
    for (const auto& node : left_)
      for (const std::int32_t left : node) sum += left;
    return sum;
  }

 private:
  std::vector<std::vector<std::int32_t>> left_;
};

TEST(CapacityTrial, KnowsWhoGaveOnANode) {
  constexpr JobId a{1};
  constexpr JobId b{2};
  FreeIndex base;
  for (int i = 0; i < 2; ++i) base.add(node(4));
  base.take(NodeId{0}, devices(1), 4);
  CapacityTrial trial;
  trial.sync(base);
  trial.give(NodeId{0}, devices(1), 2, a);
  const std::size_t mark = trial.mark();
  trial.take(NodeId{0}, devices(1), 2);
  trial.give(NodeId{0}, devices(1), 1, b);
  EXPECT_TRUE(trial.gave(NodeId{0}, a)) << "also where somebody takes it";
  EXPECT_TRUE(trial.gave(NodeId{0}, b));
  EXPECT_FALSE(trial.gave(NodeId{1}, a));
  trial.undo(mark);
  EXPECT_FALSE(trial.gave(NodeId{0}, b));
  trial.take(NodeId{0}, devices(1), 2, a);
  EXPECT_FALSE(trial.gave(NodeId{0}, a)) << "it has it back";
  trial.undo(mark);
  EXPECT_TRUE(trial.gave(NodeId{0}, a));
  trial.rollback();
  EXPECT_FALSE(trial.gave(NodeId{0}, a));
}

TEST(CapacityTrial, SharesAgreeWithAPlainArrayAndAreUndoneExactly) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random = Random::stream(seed, "shares");
    const auto nodes = static_cast<std::size_t>(random.between(1, 4));
    const auto each = static_cast<std::int32_t>(random.between(1, 4));
    FreeIndex base;
    for (std::size_t i = 0; i < nodes; ++i) base.add(node(each));
    CapacityTrial trial;
    trial.sync(base);
    DeviceModel model(nodes, static_cast<std::size_t>(each));
    for (int step = 0; step < 40; ++step) {
      const auto part = static_cast<std::int32_t>(random.between(1, 999));
      const auto replicas = static_cast<std::int32_t>(random.between(1, 6));
      const std::size_t mark = trial.mark();
      Nodes taken;
      ASSERT_EQ(take_gang(trial, share(part), replicas, taken), model.fit(part) >= replicas);
      if (random.chance(0.3)) {
        trial.undo(mark);
      } else {
        for (const NodeCount& n : taken)
          for (std::int32_t i = 0; i < n.replicas; ++i) model.take(n.node, part);
      }
      ASSERT_EQ(trial.index().device_room(), (model.thousandths() + 999) / 1000);
    }
    trial.undo(0);
    for (std::uint32_t i = 0; i < nodes; ++i)
      ASSERT_EQ(trial.index().at(NodeId{i}), base.at(NodeId{i}));
  }
}

/// Nodes as a plain array; looks at all of them each time.
class Model {
 public:
  explicit Model(std::vector<NodeFree> nodes) : nodes_(std::move(nodes)) {}

  std::int64_t fit(const Demand& demand) const {
    std::int64_t sum = 0;
    for (const NodeFree& n : nodes_) sum += replicas_that_fit(n, demand);
    return sum;
  }

  void change(const Nodes& nodes, const Demand& d, std::int32_t sign) {
    for (const NodeCount& n : nodes) {
      NodeFree& free = nodes_[n.node.index()];
      free.cpu.count -= sign * d.cpu.count * n.replicas;
      free.memory.count -= sign * d.memory.count * n.replicas;
      free.devices -= sign * d.devices * n.replicas;
    }
  }

  void set_usable(NodeId node, bool usable) { nodes_[node.index()].usable = usable; }

  void expect_equals(const FreeIndex& index) const {
    std::int64_t devices = 0;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      ASSERT_EQ(index.at(NodeId{static_cast<std::uint32_t>(i)}), nodes_[i]) << "node " << i;
      if (nodes_[i].usable) devices += nodes_[i].devices;
    }
    ASSERT_EQ(index.free_devices(), devices);
  }

 private:
  std::vector<NodeFree> nodes_;
};

struct Held {
  Demand demand;
  Nodes nodes;
};

Demand random_demand(Random& random) {
  Demand d = devices(static_cast<std::int32_t>(std::array{0, 1, 1, 2, 4, 8}[random.below(6)]));
  d.cpu = MilliCpu{static_cast<std::int64_t>(random.below(12)) * 1000};
  d.memory = Bytes{static_cast<std::int64_t>(random.below(1000))};
  if (random.below(3) == 0) d.model = DeviceModelId{static_cast<std::uint16_t>(random.below(2))};
  return d;
}

std::vector<NodeFree> random_nodes(Random& random) {
  std::vector<NodeFree> nodes;
  for (std::uint64_t i = random.below(20) + 1; i > 0; --i)
    nodes.push_back(node(static_cast<std::int32_t>(std::array{0, 4, 8, 8}[random.below(4)]),
                         static_cast<std::uint16_t>(random.below(2))));
  return nodes;
}

TEST(FreeIndex, AgreesWithAPlainArrayOnRandomHistories) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random = Random::stream(seed, "free index");
    const std::vector<NodeFree> nodes = random_nodes(random);
    FreeIndex index;
    for (const NodeFree& n : nodes) index.add(n);
    Model model(nodes);
    std::vector<Held> held;
    for (int step = 0; step < 300; ++step) {
      const std::uint64_t what = random.below(10);
      if (what < 5) {
        const Demand d = random_demand(random);
        const auto replicas = static_cast<std::int32_t>(random.between(1, 12));
        Nodes taken;
        const bool fits = take_gang(index, d, replicas, taken);
        ASSERT_EQ(fits, model.fit(d) >= replicas) << "step " << step;
        if (!fits) continue;
        model.change(taken, d, 1);
        held.push_back({d, taken});
      } else if (what < 9 && !held.empty()) {
        std::swap(held[random.below(held.size())], held.back());
        for (const NodeCount& n : held.back().nodes)
          index.give(n.node, held.back().demand, n.replicas);
        model.change(held.back().nodes, held.back().demand, -1);
        held.pop_back();
      } else {
        const NodeId n{static_cast<std::uint32_t>(random.below(nodes.size()))};
        NodeFree free = index.at(n);
        free.usable = !free.usable;
        index.set(n, free);
        model.set_usable(n, free.usable);
      }
      model.expect_equals(index);
    }
  }
}

void expect_same(const FreeIndex& a, const FreeIndex& b) {
  ASSERT_EQ(a.size(), b.size());
  ASSERT_EQ(a.free_devices(), b.free_devices());
  for (std::size_t i = 0; i < a.size(); ++i)
    ASSERT_EQ(a.at(NodeId{static_cast<std::uint32_t>(i)}),
              b.at(NodeId{static_cast<std::uint32_t>(i)}));
}

// Base, trial, and a trial of the trial: each follows the one below over short and long gaps.
TEST(CapacityTrial, FollowsItsBaseAndRollsBack) {
  for (std::uint64_t seed = 1; seed <= tests::count_of(8, 30); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random = Random::stream(seed, "trial");
    FreeIndex base;
    for (int i = 0; i < 30; ++i) base.add(node(8));
    CapacityTrial trial;
    CapacityTrial second;
    const auto churn = [&](auto& target, std::uint64_t times) {
      Nodes taken;
      for (; times > 0; --times) {
        if (random.below(2) == 0 && take_gang(target, devices(1), 3, taken)) continue;
        if (taken.empty()) continue;
        target.give(taken.back().node, devices(1), taken.back().replicas);
        taken.pop_back();
      }
    };
    for (int round = 0; round < 60; ++round) {
      churn(base, random.below(10) == 0 ? 6000 : random.below(20));
      for (std::uint32_t i = 0; i < 30; ++i)
        if (random.below(3) == 0)
          base.set(NodeId{i}, node(static_cast<std::int32_t>(random.below(9))));
      trial.sync(base);
      expect_same(trial.index(), base);
      churn(trial, random.below(20));
      const FreeIndex tried = trial.index();
      second.sync(trial.index());
      expect_same(second.index(), tried);
      churn(second, random.below(20));
      second.rollback();
      expect_same(second.index(), tried);
      if (random.below(2) == 0) {
        trial.rollback();
        expect_same(trial.index(), base);
      }
    }
  }
}

}  // namespace
}  // namespace orrery
