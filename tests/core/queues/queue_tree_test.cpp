// What queues of a tree are entitled to, level by level.
#include "core/queues/queue_tree.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/random.hpp"
#include "core/queues/queue_text.hpp"

namespace orrery {
namespace {

QueueTree tree_of(std::string_view text) { return QueueTree(parsed_queues(text).value()); }

QueueScale devices(std::int64_t n) {
  QueueScale scale;
  scale.capacity.devices = n * 1000;
  return scale;
}

/// Shares in devices by name, where the named queues ask for so many.
class Shares {
 public:
  Shares(std::string_view text, std::int64_t all) : tree_(tree_of(text)), scale_(devices(all)) {
    wants_.resize(tree_.size());
  }

  std::uint32_t number(std::string_view name) const {
    for (std::uint32_t i = 1; i < tree_.size(); ++i)
      if (tree_.name(i) == name) return i;
    return 0;
  }

  Shares& ask(std::string_view name, std::int64_t n) {
    wants_[number(name)].devices = n * 1000;
    return *this;
  }

  double of(std::string_view name) const {
    return static_cast<double>(queue_shares(tree_, scale_, wants_, {}, turn_)[number(name)]) / 1000;
  }

  void turn(std::string_view name, std::int64_t n) { turn_ = {number(name), n * 1000}; }

 private:
  QueueTree tree_;
  QueueScale scale_;
  std::vector<QueueUse> wants_;
  QueueTurn turn_;
};

TEST(QueueShares, GoDownTheTree) {
  Shares shares(
      "research weight=3; product; vision parent=research weight=2; speech parent=research", 64);
  shares.ask("vision", 100).ask("speech", 100).ask("product", 100);
  EXPECT_EQ(shares.of("research"), 48);
  EXPECT_EQ(shares.of("vision"), 32);
  EXPECT_EQ(shares.of("speech"), 16);
  EXPECT_EQ(shares.of("product"), 16);
  shares.ask("vision", 4);
  EXPECT_EQ(shares.of("speech"), 44) << "a sibling is first to get what is left";
  shares.ask("speech", 4);
  EXPECT_EQ(shares.of("product"), 56) << "the rest goes to the others";
}

TEST(QueueShares, KeepLimitsAndBorrowing) {
  Shares shares("a limit=10; b guarantee=8 borrow=4; c weight=0", 64);
  shares.ask("a", 64).ask("b", 64).ask("c", 64);
  EXPECT_EQ(shares.of("a"), 10);
  EXPECT_EQ(shares.of("b"), 12);
  EXPECT_EQ(shares.of("c"), 42);
}

TEST(QueueShares, OfAParentHoldWhatIsGuaranteedBelowIt) {
  Shares shares("a; b; a1 parent=a guarantee=30; a2 parent=a", 64);
  shares.ask("a1", 64).ask("b", 64);
  EXPECT_EQ(shares.of("a1"), 47) << "30, and half of the rest";
  shares.ask("a2", 64);
  EXPECT_EQ(shares.of("a1"), 38.5);
  EXPECT_EQ(shares.of("b"), 17);
}

TEST(QueueShares, OfAQueueThatHasATurnLeaveGuarantees) {
  Shares shares("a guarantee=8; b; c", 16);
  shares.ask("a", 16).ask("b", 8).ask("c", 8);
  shares.turn("b", 8);
  EXPECT_EQ(shares.of("b"), 8);
  EXPECT_EQ(shares.of("a"), 8);
  EXPECT_EQ(shares.of("c"), 0);
}

TEST(QueueShares, NeverExceedWhatIsAboveOrWanted) {
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    Random random = Random::stream(seed, "shares");
    QueuesSpec spec;
    const std::int64_t n = random.between(1, 12);
    for (std::int64_t i = 0; i < n; ++i) {
      QueueSpec q;
      q.name = "q" + std::to_string(i);
      if (i > 0 && random.below(2) == 0) q.parent = "q" + std::to_string(random.below(i));
      q.weight = random.between(0, 5);
      q.priority = static_cast<std::int32_t>(random.between(0, 1));
      q.guarantee = {random.between(0, 60), true};
      if (random.below(3) == 0) q.limit = QueueAmount{random.between(100, 1000), true};
      spec.queues.push_back(std::move(q));
    }
    if (!check_queues(spec, std::nullopt).empty()) continue;
    const QueueTree tree(spec);
    QueueScale scale = devices(random.between(1, 100));
    scale.capacity.cpu = random.between(1, 1000) * 1000;
    scale.cpu = seed % 2 == 0;
    std::vector<QueueUse> wants(tree.size());
    for (std::uint32_t i = 1; i < tree.size(); ++i)
      if (tree.node(i).is_leaf())
        wants[i] = {random.between(0, 80'000), random.between(0, 800'000), 0};
    const std::vector<std::int64_t> shares = queue_shares(tree, scale, wants);
    QueueVector sums{};
    for (std::uint32_t i = 1; i < tree.size(); ++i) {
      const QueueNode& node = tree.node(i);
      EXPECT_LE(shares[i], tree.most(i, scale.total())) << "seed " << seed;
      if (!node.is_leaf()) continue;
      const QueueVector parts = scale.parts(wants[i]);
      const std::int64_t most = scale.dominant(wants[i]);
      EXPECT_LE(shares[i], most) << "seed " << seed;
      for (std::size_t r = 0; r < kQueueResources && most > 0; ++r)
        sums[r] += parts[r] * shares[i] / most;
    }
    for (const std::int64_t sum : sums)
      EXPECT_LE(sum, scale.total() + tree.size()) << "no resource is given twice; seed " << seed;
  }
}

TEST(QueueTree, KnowsTheQueueOfAJob) {
  const QueueTree tree = tree_of("default=b; a; b; c parent=a");
  EXPECT_EQ(tree.name(tree.queue_of("c")), "c");
  EXPECT_EQ(tree.name(tree.queue_of("a")), "b") << "others stand below a";
  EXPECT_EQ(tree.name(tree.queue_of("")), "b");
  const QueueTree added = tree_of("a");
  EXPECT_EQ(added.name(added.queue_of("other")), "default");
}

}  // namespace
}  // namespace orrery
