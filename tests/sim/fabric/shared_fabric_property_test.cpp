// What L1 promises, over random networks and stages; the seed is printed with what fails.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "core/base/random.hpp"
#include "sim/fabric/shared_fabric.hpp"
#include "tests/sim/fabric/networks.hpp"
#include "tests/sim/fabric/recomputed_fabric.hpp"

namespace orrery::sim {
namespace {

constexpr std::int32_t kNodes = 24;

Instant at_s(double s) { return Instant::zero() + Duration::from_seconds(s); }

scenarios::NetworkSpec random_network(Random& random) {
  scenarios::NetworkSpec spec;
  spec.nic_bandwidth = random.uniform(1e9, 100e9);
  spec.link_bandwidth = random.uniform(1e9, 100e9);
  spec.latency = Duration{random.between(0, 5'000)};
  switch (random.below(4)) {
    case 0:
      break;
    case 1:
      spec.topology = scenarios::NetworkTopology::FatTree;
      spec.nodes_per_leaf = static_cast<std::int32_t>(random.between(2, 8));
      spec.oversubscription = random.uniform(1, 5);
      break;
    case 2:
      spec.topology = scenarios::NetworkTopology::Torus;
      spec.torus = {4, 3, 2};
      break;
    default:
      spec.topology = scenarios::NetworkTopology::Dragonfly;
      spec.dragonfly = {2, 2, 3, 2};
  }
  if (random.chance(0.7)) spec.storage_bandwidth = random.uniform(1e9, 200e9);
  return spec;
}

Stage random_stage(Random& random) {
  std::vector<NodeId> nodes;
  for (std::uint32_t node = 0; node < kNodes; ++node) nodes.emplace_back(node);
  random.shuffle(nodes);
  Stage stage;
  stage.compute_s = random.chance(0.2) ? 0 : random.exponential(0.5);
  stage.overlap = random.uniform();
  stage.local_exchange_s = random.chance(0.5) ? 0 : random.exponential(0.05);
  stage.steps = random.uniform(0.5, 100);
  const std::uint64_t exchanges = random.below(3);
  for (std::uint64_t i = 0; i < exchanges; ++i) {
    Exchange exchange;
    exchange.pattern = static_cast<Pattern>(random.below(6));
    exchange.bytes = random.exponential(10e9);
    exchange.members.assign(nodes.begin(), nodes.begin() + random.between(1, 8));
    if (exchange.pattern == Pattern::Transfers) {
      exchange.members.clear();
      exchange.transfers = {{nodes[0], nodes[1], exchange.bytes},
                            {nodes[2], NodeId::none(), exchange.bytes},
                            {NodeId::none(), nodes[3], exchange.bytes}};
    }
    stage.exchanges.push_back(exchange);
  }
  return stage;
}

// One history through the fabric and the slow reference beside it.
class Churn {
 public:
  explicit Churn(std::uint64_t seed)
      : random_(seed),
        spec_(random_network(random_)),
        fabric_(Topology(spec_, kNodes)),
        slow_(spec_, kNodes) {}

  void step() {
    change();
    slow_.recompute(now_);
    for (const auto& [number, id] : ids_)
      EXPECT_EQ(fabric_.pace(id), slow_.pace(number)) << "stage " << number;
    check_conservation();
    pass();
  }

 private:
  void change() {
    for (std::uint64_t changes = random_.below(4); changes > 0; --changes) {
      const std::uint64_t kind = random_.below(10);
      if (kind < 5) {
        Stage stage = random_stage(random_);
        stage.paced = random_.chance(0.6);
        slow_.begin(begun_, stage, now_);
        ids_[begun_++] = fabric_.begin(stage, now_);
      } else if (kind < 8 && !ids_.empty()) {
        const auto victim =
            std::next(ids_.begin(), static_cast<std::ptrdiff_t>(random_.below(ids_.size())));
        slow_.end(victim->first, now_);
        fabric_.end(victim->second, now_);
        ids_.erase(victim);
      } else if (kind == 9) {
        const NodeId node(static_cast<std::uint32_t>(random_.below(kNodes)));
        const double share = random_.chance(0.5) ? 1 : random_.uniform(0.1, 1);
        slow_.set_link_share(node, share, now_);
        fabric_.set_link_share(node, share, now_);
      }
    }
  }

  void check_conservation() {
    EXPECT_EQ(fabric_.next(now_), now_);  // Settles the instant.
    let_bytes_through();
    std::vector<double> use;
    fabric_.link_use(use);
    const std::vector<double> expected = slow_.use();
    for (std::size_t link = 0; link < use.size(); ++link) {
      EXPECT_LE(use[link], slow_.capacity(link) * (1 + 1e-9)) << "link " << link;
      EXPECT_NEAR(use[link], expected[link], 1e-9) << "link " << link;
    }
  }

  void pass() {
    const Instant limit = now_ + Duration::from_seconds(random_.exponential(5));
    now_ = fabric_.next(limit);
    let_bytes_through();
    ASSERT_EQ(now_, std::min(limit, slow_.next()));
    std::vector<StageId> complete;
    fabric_.pass_to(now_, complete);
    const std::vector<int> expected = slow_.take_complete(now_);
    ASSERT_EQ(complete.size(), expected.size());
    for (std::size_t i = 0; i < complete.size(); ++i) {
      EXPECT_EQ(complete[i], ids_.at(expected[i]));
      ids_.erase(expected[i]);
    }
    slow_.recompute(now_);
  }

  // Ends of exchanges inside stages, which the fabric keeps to itself.
  void let_bytes_through() {
    while (true) {
      const Instant next = slow_.next();
      if (next > now_ || !slow_.pass_bytes(next)) return;
      slow_.recompute(next);
    }
  }

  Random random_;
  scenarios::NetworkSpec spec_;
  SharedFabric fabric_;
  test::RecomputedFabric slow_;
  std::map<int, StageId> ids_;
  int begun_ = 0;
  Instant now_;
};

TEST(SharedFabricProperty, EqualsRecomputingEverything) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Churn churn(seed);
    for (int i = 0; i < 120 && !testing::Test::HasFailure(); ++i) churn.step();
    if (testing::Test::HasFailure()) break;
  }
}

// Paces of all stages, by their place in `stages`, begun in the given order.
std::vector<double> paces(const scenarios::NetworkSpec& spec,
                          const std::vector<Stage>& stages,
                          const std::vector<std::size_t>& order) {
  SharedFabric fabric(Topology(spec, kNodes));
  std::vector<StageId> ids(stages.size());
  for (const std::size_t i : order) ids[i] = fabric.begin(stages[i], Instant::zero());
  std::vector<double> paces;
  for (const StageId id : ids) paces.push_back(fabric.pace(id));
  return paces;
}

TEST(SharedFabricProperty, OrderOfBeginningDoesNotMatter) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const scenarios::NetworkSpec spec = random_network(random);
    std::vector<Stage> stages;
    for (int i = 0; i < 12; ++i) {
      stages.push_back(random_stage(random));
      stages.back().paced = random.chance(0.7);
    }
    std::vector<std::size_t> order(stages.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    const std::vector<double> expected = paces(spec, stages, order);
    random.shuffle(order);
    EXPECT_EQ(paces(spec, stages, order), expected);
  }
}

TEST(SharedFabricProperty, AloneIsNeverSlowed) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    SharedFabric fabric(Topology(random_network(random), kNodes));
    Stage stage = random_stage(random);
    stage.paced = random.chance(0.5);
    const Duration expected = Duration::from_seconds(fabric.step_alone_s(stage) * stage.steps);
    const Instant begun = at_s(random.uniform(0, 1e6));
    fabric.begin(stage, begun);
    EXPECT_EQ(fabric.next(Instant::never()), begun + expected);
  }
}

TEST(SharedFabricProperty, JoiningNeverSpeedsUpAndEndingGivesBackExactly) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    SharedFabric fabric(Topology(random_network(random), kNodes));
    std::vector<StageId> ids;
    for (int i = 0; i < 10; ++i) {
      Stage stage = random_stage(random);
      stage.steps = 1e9;  // None completes.
      ids.push_back(fabric.begin(stage, Instant::zero()));
    }
    std::vector<double> before;
    for (const StageId id : ids) before.push_back(fabric.pace(id));
    const StageId guest = fabric.begin(random_stage(random), Instant::zero());
    for (std::size_t i = 0; i < ids.size(); ++i) EXPECT_LE(fabric.pace(ids[i]), before[i]);
    fabric.end(guest, fabric.next(at_s(0.001)));
    for (std::size_t i = 0; i < ids.size(); ++i) EXPECT_EQ(fabric.pace(ids[i]), before[i]);
  }
}

}  // namespace
}  // namespace orrery::sim
